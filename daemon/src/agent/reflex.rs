//! Requests that need no model: their words are, completely, a pattern of a tool's own (`tools::reflex`).
//!
//! What they call goes the way of every other call: rules, consent, journal. Only the decision is not the model's, so
//! nothing that could make the words mean something else may stand open: a question of Tiro's, or a doubt about them.

use prompts::Renderer;
use tools::reflex::{Reflex, Reflexes};

use super::{Agent, Answer, Ask, Call, Settings, Step, rules::Phase, toolbox::Toolbox};

/// The patterns of the tools that this agent knows; none when the person wants the model to decide everything.
pub(super) fn of(settings: &Settings, toolbox: &Toolbox) -> Reflexes {
    match settings.reflex {
        true => Reflexes::of(&toolbox.entries()),
        false => Reflexes::default(),
    }
}

impl Answer {
    /// Whose words answer, when the model was not asked.
    pub(super) fn unless(self, reflex: bool) -> Answer {
        match reflex {
            true => Answer::Tool,
            false => self,
        }
    }
}

impl Agent {
    /// Whether each request of the last turn was decided by its words alone.
    pub fn by_reflex(&self) -> bool {
        self.by_reflex
    }

    /// Whether what is said next may be the answer to a question.
    pub fn is_asking(&self) -> bool {
        self.talk.asks()
    }

    /// Whether these words need nobody to decide, so that nothing has to be looked up for them.
    pub fn is_reflex(&self, text: &str) -> bool {
        self.reflexes.find(text).is_some()
    }

    /// Whether these words are a whole request that this conversation answers by itself.
    pub fn is_whole(&self, text: &str) -> bool {
        self.reflex(text).is_some()
    }

    /// Speaks to another model from now on: the conversation goes on.
    pub fn speak(&mut self, renderer: Renderer) {
        self.renderer = renderer;
    }

    /// The question of the open turn, rendered anew: for a model that was not there when it was asked.
    pub fn ask_again(&self) -> Ask {
        self.ask()
    }

    /// The call that these words are by themselves, where this request may make it.
    pub(super) fn reflex(&self, text: &str) -> Option<Call> {
        // After a question, words are an answer first.
        if self.talk.asks() {
            return None;
        }
        let Reflex { name, arguments } = self.reflexes.find(text)?;
        if self.may_go_on_from_another(text, name) {
            return None;
        }
        let forbidden = [Phase::Search, Phase::Load, Phase::Active]
            .into_iter()
            .any(|phase| self.toolbox.forbids(phase, name));
        (!forbidden).then(|| Call {
            name: name.to_owned(),
            arguments,
        })
    }

    /// Whether one word is said after something was done that has a tool of the same verb: "resume" after a timer was paused may
    /// mean the timer and not the music.
    fn may_go_on_from_another(&self, text: &str, name: &str) -> bool {
        let (Some((domain, verb)), Some(deed)) = (name.split_once('.'), &self.deed) else {
            return false;
        };
        let Some((before, _)) = deed.call.name.split_once('.') else {
            return false;
        };
        text.split_whitespace().count() == 1
            && before != domain
            && self.toolbox.find(&format!("{before}.{verb}")).is_some()
    }

    /// Makes such a call. The conversation then looks as if the model had made it: the tool is loaded, so that what goes on
    /// from here finds it in the prompt.
    pub(super) fn call_by_reflex(
        &mut self,
        call: Call,
        text: String,
        context: String,
        mut discovered: Vec<prompts::Card>,
    ) -> Step {
        let before = self.toolbox.loaded_tokens();
        // The call itself follows: nothing better to go by.
        discovered.extend(self.load(vec![call.name.clone()], None));
        self.found.ahead = self.toolbox.loaded_tokens().saturating_sub(before);
        let crowded = self.make_room();
        discovered.retain(|card| !crowded.iter().any(|gone| gone.name == card.name));
        self.open(text, context, discovered);
        tracing::debug!(tool = call.name, "by reflex");
        self.turn.reflex = true;
        // What the person said to the word nobody can mend: what the tool then tells is the answer.
        self.turn.own_words = true;
        self.turn.seen.insert(format!("{}{}", call.name, call.arguments));
        self.rest.calls += 1;
        self.rest.reflexes += 1;
        self.toolbox.touch(&call.name);
        // Until it comes back nobody knows what was done last.
        self.deed = None;
        Step::Call(call)
    }
}
