//! What is to stay as it is: "take the bins off my reminders but leave the electrician" names two of them, and a small model takes the
//! last one. A call never changes what was named only to be left alone.

use prompts::words as phrases;
use serde_json::Value;
use tools::{Effect, Entry, discover::words::is_stop_word, system::known::Kind};

use super::{Agent, Call, Ending, Step, ground::words, schema::requires, toolbox::Toolbox};

/// What leads to what is to stay, behind which only articles may stand. Not "instead of", which leads to what goes.
const LEADS: [&[&str]; 12] = [
    &["and", "keep"],
    &["and", "leave"],
    &["apart", "from"],
    &["aside", "from"],
    &["but", "keep"],
    &["but", "leave"],
    &["except", "for"],
    &["other", "than"],
    &["but", "not"],
    &["except"],
    &["not"],
    &["but"],
];
/// What may stand between such a word and a name.
const ARTICLES: [&str; 10] = [
    "a", "all", "an", "her", "his", "my", "our", "that", "the", "their",
];
/// Behind these "but" leads to what is meant: "nothing but the dentist", "not the lunch but the dentist"; "t" ends "don't".
const TURNS: [&str; 7] = ["any", "anything", "no", "none", "not", "nothing", "t"];

impl Agent {
    /// Takes out of a call what the person said shall stay, and returns a question where that leaves nothing to go by. Where the tool
    /// asks before it does anything it gets the one other thing that they named.
    pub(super) fn spares(&mut self, call: &mut Call, entry: &Entry) -> Option<Step> {
        let said = self.talk.said().last().map(|said| (*said).to_owned())?;
        let stays = spare(&mut call.arguments, entry, &self.toolbox, &said)?;
        Some(self.reply(phrases::spared(&stays), Ending::CouldNot))
    }
}

/// What is to stay, where a call has nothing else.
fn spare(arguments: &mut Value, entry: &Entry, toolbox: &Toolbox, said: &str) -> Option<String> {
    let given = arguments
        .as_object_mut()
        .filter(|_| entry.effect != Effect::Read)?;
    let schema = entry.parameters();
    for (name, kind) in entry.named {
        match given.get_mut(*name) {
            Some(Value::String(text)) if stays(said, text) => match other(*kind, toolbox, said) {
                Some(other) if entry.confirm => *text = other.to_owned(),
                _ => return Some(text.clone()),
            },
            Some(Value::Array(all)) => {
                let before = all.clone();
                all.retain(|one| one.as_str().is_none_or(|text| !stays(said, text)));
                if let (true, [first, ..]) = (all.is_empty(), &before[..]) {
                    if requires(&schema, name) {
                        return Some(first.as_str().unwrap_or_default().to_owned());
                    }
                    given.shift_remove(*name);
                }
            }
            _ => {}
        }
    }
    None
}

/// The only thing of this kind that was named and need not stay.
fn other<'a>(kind: Kind, toolbox: &Toolbox, said: &'a str) -> Option<&'a str> {
    let places = toolbox.stretches(kind, said).into_iter();
    let mut others = places.filter_map(|place| said.get(place).filter(|text| !stays(said, text)));
    match (others.next(), others.next()) {
        (one, None) => one,
        _ => None,
    }
}

/// Whether this was named, and wherever it was, to be left alone.
fn stays(said: &str, text: &str) -> bool {
    let said: Vec<String> = words(said).collect();
    let named: Vec<String> = words(text)
        .filter(|word| !is_stop_word(word) && !ARTICLES.contains(&word.as_str()))
        .collect();
    let leads_here = |at: usize| {
        let around = |word: &String| ARTICLES.contains(&word.as_str()) || named.contains(word);
        let before = &said[..at];
        let before = &before[..before
            .iter()
            .rposition(|word| !around(word))
            .map_or(0, |last| last + 1)];
        let lead = LEADS.iter().find(|lead| ends_with(before, lead));
        let turns = || before.iter().any(|word| TURNS.contains(&word.as_str()));
        lead.is_some_and(|lead| **lead != ["but"] || !turns())
    };
    let mut places = (0..said.len()).filter(|at| named.contains(&said[*at])).peekable();
    places.peek().is_some() && places.all(leads_here)
}

fn ends_with(words: &[String], end: &[&str]) -> bool {
    let rest = words.len().checked_sub(end.len());
    rest.is_some_and(|rest| words[rest..].iter().eq(end.iter()))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::json;
    use tools::{discover::Index, system::known::Known};

    use super::*;
    use crate::agent::{rules::Asked, toolbox::Loading};

    fn toolbox() -> Toolbox {
        let index = Arc::new(Index::of(tools::ALL));
        let mut toolbox = Toolbox::new(tools::ALL, index, &Loading::default());
        let names = [
            (Kind::Reminder, "Water the orchids"),
            (Kind::Reminder, "Post the parcel"),
            (Kind::Event, "Dentist"),
            (Kind::Event, "Pottery"),
            (Kind::Item, "walnuts"),
            (Kind::Timer, "pasta"),
        ];
        let asked = Asked {
            known: Arc::new(Known::of(names, Arc::default())),
            ..Asked::default()
        };
        toolbox.ask(asked, false);
        toolbox
    }

    #[track_caller]
    fn check(tool: &str, said: &str, given: Value, expect: Value, stays: Option<&str>) {
        let mut spared = given;
        let question = spare(&mut spared, tools::find(tool).unwrap(), &toolbox(), said);
        assert_eq!(question.as_deref(), stays, "{said}");
        if stays.is_none() {
            assert_eq!(spared, expect, "{said}");
        }
    }

    #[test]
    fn what_is_to_stay_is_not_what_goes() {
        // The tool asks, so the other thing is what was meant.
        let (given, expect) = (json!({"title": "parcel"}), json!({"title": "the orchids"}));
        let said = "take the orchids off my reminders but leave the parcel";
        check("reminders.delete", said, given.clone(), expect.clone(), None);
        check(
            "reminders.delete",
            "drop the orchids and keep the parcel",
            given,
            expect,
            None,
        );
        let pottery = json!({"event": "pottery"});
        check(
            "calendar.delete_event",
            "cancel the dentist, not pottery",
            pottery.clone(),
            json!({"event": "dentist"}),
            None,
        );
        // It does not, or nothing else was named.
        let said = "clear my calendar on friday except for the pottery";
        check(
            "calendar.delete_event",
            said,
            pottery.clone(),
            json!({}),
            Some("pottery"),
        );
        check(
            "timers.cancel",
            "stop all timers but the pasta one",
            json!({"timer": "pasta"}),
            json!({}),
            Some("pasta"),
        );
        let said = "take everything off but the walnuts";
        check(
            "lists.remove",
            said,
            json!({"items": ["walnuts"]}),
            json!({}),
            Some("walnuts"),
        );
        check(
            "lists.remove",
            "oats and tea go but not the walnuts",
            json!({"items": ["oats", "tea", "walnuts"]}),
            json!({"items": ["oats", "tea"]}),
            None,
        );
        check(
            "mail.send",
            "mail Tom but not Nina that I am late",
            json!({"to": ["Tom", "Nina"], "text": "I am late"}),
            json!({"to": ["Tom"], "text": "I am late"}),
            None,
        );
    }

    #[test]
    fn what_is_named_to_be_changed_is() {
        let same = |tool, said, given: Value| check(tool, said, given.clone(), given, None);
        let pottery = || json!({"event": "pottery"});
        for said in [
            "cancel pottery but leave the dentist",
            "cancel nothing but the pottery",
            "not the dentist but pottery",
            "I can't make it, but pottery can go",
            "do not forget to cancel pottery",
            "cancel pottery, I would keep pottery if I could",
            "cancel it",
        ] {
            same("calendar.delete_event", said, pottery());
        }
        // What is only looked at changes nothing.
        same(
            "calendar.query",
            "what is on but pottery",
            json!({"text": "pottery"}),
        );
        same(
            "calendar.create_event",
            "dinner, not the usual pottery",
            json!({"title": "dinner", "start": "friday"}),
        );
    }
}
