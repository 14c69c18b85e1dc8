//! What the model looks for: tools that it has no schema of yet.

use prompts::words;
use serde_json::Value;

use super::{Agent, Call, Ending, Step, toolbox};

impl Agent {
    /// A search for tools is free of the budget of business calls, but the same capability is not searched twice,
    /// and a conversation that holds other people's words searches with the person's words only.
    pub(super) fn discovers(&mut self, mut call: Call) -> Step {
        if self.talk.tainted()
            && let (Some(arguments), Some(said)) = (call.arguments.as_object_mut(), self.talk.said().last())
        {
            // Nor do the words of others say where and how widely to look.
            arguments.clear();
            arguments.insert("query".into(), Value::from(*said));
        }
        let query = call
            .arguments
            .get("query")
            .and_then(Value::as_str)
            .unwrap_or_default();
        let domain = call.arguments.get("domain").and_then(Value::as_str);
        let key = toolbox::search_key(query, domain);
        let again = !self.rest.searched.insert(key);
        if again || self.rest.discovers >= self.settings.max_discover {
            let note = "You searched for that already. Use what you found, or answer in words.".to_owned();
            return self.mistake(call, note);
        }
        self.rest.discovers += 1;
        Step::Call(call)
    }

    /// The model named a tool from the catalogue without its schema. The step is not wasted: the schema is loaded
    /// and the model goes on, unless other people's words may have put the name into its head.
    pub(super) fn just_in_time(&mut self, call: Call) -> Step {
        if self.talk.tainted() && !self.toolbox.serves(&call.name, self.talk.said().last().copied()) {
            let note = format!("{} does not fit what the person asked for.", call.name);
            return self.mistake(call, note);
        }
        let cards = self.load_later(vec![call.name.clone()]);
        if !self.toolbox.is_loaded(&call.name) {
            return self.reply(words::not_allowed(), Ending::CouldNot);
        }
        self.found.searching = true;
        if !self.may_go_on() {
            return self.give_up();
        }
        let content = format!("{} is loaded now. Call it with its arguments.", call.name);
        self.note(call, content, false, cards);
        Step::Generate(self.ask())
    }
}
