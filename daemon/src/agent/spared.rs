//! What is to stay as it is: "take the bins off my reminders but leave the electrician" names two of them, and a small model takes the
//! last one. What was named only to be left alone is not what is removed, and where some are to stay not all are.

use prompts::words as phrases;
use serde_json::Value;
use strsim::jaro_winkler;
use tools::{Entry, discover::words::is_stop_word};

use super::{
    Agent, Call, Ending, Step,
    ground::{ALIKE, words},
    own::Own,
    schema::requires,
};

/// What tools that take something away are called, behind their domain. Of others a name may be corrected: "brunch, not lunch".
const REMOVING: [&str; 6] = ["cancel", "complete", "delete", "quit", "remove", "trash"];
/// What leads to what is to stay, behind which only articles may stand. Not "instead of", which leads to what goes.
const LEADS: [&[&str]; 11] = [
    &["and", "keep"],
    &["and", "leave"],
    &["and", "not"],
    &["apart", "from"],
    &["aside", "from"],
    &["but", "keep"],
    &["but", "leave"],
    &["but", "not"],
    &["except"],
    &["except", "for"],
    &["other", "than"],
];
/// With these a request begins that names first what is to stay: "keep the dentist and cancel pottery".
const BEGINNINGS: [&str; 2] = ["keep", "leave"];
/// Behind these "but" leads to what is to stay; else it leads to anything: "I can't come, but pottery can go".
const ALL: [&str; 4] = ["all", "every", "everyone", "everything"];
/// What may stand between such a word and a name.
const ARTICLES: [&str; 9] = ["a", "an", "her", "his", "my", "our", "that", "the", "their"];
/// Words behind such a word that say what is to stay, at most, where it is asked about.
const MOST: usize = 4;

impl Agent {
    /// The question where a call would remove what the person said shall stay; nothing else is left of such a call. From a list
    /// only that is taken out.
    pub(super) fn spares(&mut self, call: &mut Call, entry: &Entry) -> Option<Step> {
        let stays = spare(&mut call.arguments, entry, self.talk.said().last()?)?;
        Some(self.reply(phrases::spared(&stays), Ending::CouldNot))
    }
}

/// What is to stay, where a call has nothing else.
fn spare(arguments: &mut Value, entry: &Entry, said: &str) -> Option<String> {
    let given = arguments
        .as_object_mut()
        .filter(|_| REMOVING.contains(&verb_of(entry)))?;
    let (schema, own) = (entry.parameters(), Own::named(entry.name));
    let sentence = Sentence {
        said: words(said).collect(),
        own: &own,
    };
    for (name, _) in entry.named {
        match given.get_mut(*name) {
            Some(Value::String(text)) => {
                if let Some(stays) = sentence.stays(text) {
                    return Some(stays);
                }
            }
            Some(Value::Array(all)) => {
                let mut stays = Vec::new();
                all.retain(|one| match one.as_str().and_then(|text| sentence.stays(text)) {
                    Some(text) => {
                        stays.push(text);
                        false
                    }
                    None => true,
                });
                if all.is_empty() && requires(&schema, name) && !stays.is_empty() {
                    return Some(stays.remove(0));
                }
            }
            _ => {}
        }
    }
    None
}

/// "delete" of `calendar.delete_event`.
fn verb_of(entry: &Entry) -> &'static str {
    entry.name.split(['.', '_']).nth(1).unwrap_or_default()
}

/// What was said, to a tool with words of its own.
struct Sentence<'a> {
    said: Vec<String>,
    own: &'a Own,
}

impl Sentence<'_> {
    /// What is to stay where this text would take it along: what was named, wherever it was, to be left alone, and all there is where
    /// something of it was.
    fn stays(&self, text: &str) -> Option<String> {
        if !text.is_empty() && words(text).all(|word| is_all(&word)) {
            let exception = (0..self.said.len()).find(|at| self.leads(&self.said[..*at]))?;
            let stays: Vec<&str> = self.said[exception..]
                .iter()
                .map(String::as_str)
                .take(MOST)
                .collect();
            return Some(stays.join(" "));
        }
        let named: Vec<String> = words(text)
            .filter(|word| !is_stop_word(word) && !self.own.is_name(word))
            .collect();
        let is_named = |word: &String| named.iter().any(|named| is_alike(named, word));
        let leads_here = |at: usize| {
            let around = |word: &String| is_article(word) || is_named(word);
            let before = &self.said[..at];
            let lead = before.iter().rposition(|word| !around(word));
            self.leads(&before[..lead.map_or(0, |lead| lead + 1)])
        };
        let mut places = (0..self.said.len())
            .filter(|at| is_named(&self.said[*at]))
            .peekable();
        (places.peek().is_some() && places.all(leads_here)).then(|| text.to_owned())
    }

    /// Whether these words lead to what is to stay.
    fn leads(&self, before: &[String]) -> bool {
        let all_but = || ends_with(before, &["but"]) && before.iter().any(|word| is_all(word));
        LEADS.iter().any(|lead| ends_with(before, lead))
            || all_but()
            || matches!(before, [first] if BEGINNINGS.contains(&first.as_str()))
    }
}

fn is_all(word: &str) -> bool {
    ALL.contains(&word)
}

fn is_article(word: &str) -> bool {
    ARTICLES.contains(&word)
}

fn is_alike(one: &str, other: &str) -> bool {
    jaro_winkler(one, other) >= ALIKE
}

fn ends_with(words: &[String], end: &[&str]) -> bool {
    let rest = words.len().checked_sub(end.len());
    rest.is_some_and(|rest| words[rest..].iter().eq(end.iter()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn spared(tool: &str, said: &str, given: &Value) -> (Option<String>, Value) {
        let mut spared = given.clone();
        (spare(&mut spared, tools::find(tool).unwrap(), said), spared)
    }

    /// A verb that no tool has would look after nothing.
    #[test]
    fn each_verb_is_that_of_a_tool_with_names() {
        for verb in REMOVING {
            let mut named = tools::ALL.iter().filter(|entry| !entry.named.is_empty());
            assert!(named.any(|entry| verb_of(entry) == verb), "{verb}");
        }
    }

    #[test]
    fn what_is_to_stay_is_not_removed() {
        for (tool, said, given, stays) in [
            (
                "reminders.delete",
                "take the orchids off my reminders but leave the parcel",
                json!({"title": "parcel"}),
                "parcel",
            ),
            (
                "reminders.complete",
                "keep the parcel and tick off the orchids",
                json!({"title": "the parcel"}),
                "the parcel",
            ),
            (
                "calendar.delete_event",
                "clear my calendar on friday except for the pottery class",
                json!({"event": "pottery class"}),
                "pottery class",
            ),
            (
                "timers.cancel",
                "I can't cook any more, stop all timers but the pasta one",
                json!({"timer": "pasta"}),
                "pasta",
            ),
            (
                "timers.cancel",
                "stop the egg timer but not the pasta timer",
                json!({"timer": "pasta timer"}),
                "pasta timer",
            ),
            (
                "timers.cancel",
                "stop all timers but the pasta one",
                json!({"timer": "all"}),
                "the pasta one",
            ),
            (
                "lists.remove",
                "take everything off but the walnuts",
                json!({"items": ["walnut"]}),
                "walnut",
            ),
            (
                "lists.remove",
                "take everything off but the walnuts",
                json!({"items": ["everything"]}),
                "the walnuts",
            ),
        ] {
            assert_eq!(spared(tool, said, &given).0.as_deref(), Some(stays), "{said}");
        }
        let said = "the oats and the tea go but not the walnuts";
        let (question, left) = spared(
            "lists.remove",
            said,
            &json!({"items": ["oats", "tea", "walnuts"]}),
        );
        assert_eq!((question, left), (None, json!({"items": ["oats", "tea"]})));
    }

    #[test]
    fn what_is_named_to_go_goes() {
        let pottery = || json!({"event": "pottery"});
        for (tool, said, given) in [
            (
                "calendar.delete_event",
                "cancel pottery but leave the dentist",
                pottery(),
            ),
            (
                "calendar.delete_event",
                "cancel nothing but the pottery",
                pottery(),
            ),
            ("calendar.delete_event", "not the dentist but pottery", pottery()),
            (
                "calendar.delete_event",
                "the dentist stays but pottery can go",
                pottery(),
            ),
            (
                "calendar.delete_event",
                "I can't make it, sorry but pottery has to go",
                pottery(),
            ),
            (
                "calendar.delete_event",
                "do not forget to cancel pottery",
                pottery(),
            ),
            ("calendar.delete_event", "cancel it", pottery()),
            (
                "reminders.delete",
                "delete the reminder to not forget milk",
                json!({"title": "milk"}),
            ),
            (
                "lists.remove",
                "take everything off the list",
                json!({"items": ["everything"]}),
            ),
            ("lists.remove", "all but gone", json!({"items": []})),
            // Corrected, not removed.
            (
                "calendar.update_event",
                "call it brunch and not lunch",
                json!({"event": "lunch", "title": "brunch"}),
            ),
        ] {
            assert_eq!(spared(tool, said, &given), (None, given.clone()), "{said}");
        }
    }
}
