//! The words with which a tool is asked for, which name nothing that it could be asked for: "diary" is no event, and "unread" nobody who
//! writes mails.

use std::collections::HashSet;

use serde_json::Value;
use strsim::jaro_winkler;
use tools::{
    Entry,
    discover::words::{Normaliser, is_stop_word},
    reflex::synonyms,
};

use super::{
    checked::strings,
    ground::{ALIKE, words},
};

/// Letters of a word whose sound tells it from others: "Theo" sounds like "the".
const SOUNDS: usize = 5;

/// A tool's own words.
pub struct Own {
    /// Those of its name.
    name: Vec<String>,
    /// Those with which it is asked for.
    asked: Asked,
}

/// Words by stem and by sound.
#[derive(Default)]
struct Asked {
    stems: HashSet<String>,
    all: HashSet<String>,
    normal: Normaliser,
}

impl Own {
    /// The words of a tool's name and what its patterns take for the same, of the names of its arguments, and of its calls where they
    /// are not the value of an argument. Not those of its other examples, since nobody says where in them a value stands.
    pub fn of(entry: &Entry, schema: &Value) -> Own {
        let mut own = Own::named(entry.name);
        let calls = entry.calls.iter().flat_map(|(request, call)| {
            let call = serde_json::from_str(call).unwrap_or_default();
            let values: HashSet<String> = strings(&call).into_iter().flat_map(words).collect();
            words(request).filter(move |word| !values.contains(word))
        });
        let patterns = entry.patterns.iter();
        let synonyms = patterns.flat_map(|pattern| synonyms(pattern, |word| own.is_name(word)));
        let names = schema["properties"]
            .as_object()
            .into_iter()
            .flat_map(|all| all.keys());
        let all = calls.chain(synonyms).chain(names.flat_map(|name| words(name)));
        let mut asked = Asked::default();
        for word in all.filter(|word| !is_stop_word(word)) {
            asked.stems.extend(asked.stem(&word));
            asked.all.insert(word);
        }
        own.asked = asked;
        own
    }

    /// The words of a name alone.
    pub fn named(tool: &str) -> Own {
        Own {
            name: words(tool).filter(|word| word.len() > 2).collect(),
            asked: Asked::default(),
        }
    }

    /// Whether a word is one of the name.
    pub fn is_name(&self, word: &str) -> bool {
        self.name.iter().any(|own| jaro_winkler(own, word) >= ALIKE)
    }

    /// Whether the tool is asked for with this word, as it is written or as it sounds.
    pub fn is_asked(&self, word: &str) -> bool {
        let Asked { stems, all, normal } = &self.asked;
        let sounds_like = |own: &String| {
            own.len() >= SOUNDS
                && word.len() >= SOUNDS
                && normal.sound(own) == normal.sound(word)
                && jaro_winkler(own, word) >= ALIKE
        };
        self.asked.stem(word).is_some_and(|stem| stems.contains(&stem)) || all.iter().any(sounds_like)
    }
}

impl Asked {
    /// Nothing for a word that says which or how many.
    fn stem(&self, word: &str) -> Option<String> {
        let stem = self.normal.stem(word);
        (!stem.starts_with('#')).then_some(stem)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{super::ground::ground, *};

    #[track_caller]
    fn check(tool: &str, said: &str, given: &Value, expect: &Value) {
        let entry = tools::ALL.iter().find(|entry| entry.name == tool).unwrap();
        let (schema, mut kept) = (entry.parameters(), given.clone());
        let own = Own::of(entry, &schema);
        ground(&own, &mut kept, &schema, &[said], &[said], &[], entry.worded);
        assert_eq!(kept, *expect, "{said:?} {given}");
    }

    #[test]
    fn what_a_tool_is_asked_for_with_names_nothing() {
        for (tool, said, given, expect) in [
            (
                "calendar.query",
                "how does my wednesday look",
                json!({"when": "wednesday", "text": "Look"}),
                json!({"when": "wednesday"}),
            ),
            (
                "calendar.query",
                "is there something in the diary for wednesday",
                json!({"when": "wednesday", "text": " diary"}),
                json!({"when": "wednesday"}),
            ),
            (
                "mail.recent",
                "show me the males that are un red",
                json!({"from": "unred", "unread": true}),
                json!({"unread": true}),
            ),
            (
                "system.bluetooth",
                "blue tooth on again please",
                json!({"action": "on", "device": "again please"}),
                json!({"action": "on"}),
            ),
        ] {
            check(tool, said, &given, &expect);
        }
    }

    #[test]
    fn what_is_asked_for_stays() {
        for (tool, said, given) in [
            // Some of the words are the tool's.
            (
                "calendar.query",
                "when is the diary club meeting",
                json!({"text": "diary club meeting"}),
            ),
            // Part of a name that sounds like a small word, or like another of the tool's.
            ("mail.recent", "is there mail from Theo", json!({"from": "Theo"})),
            (
                "calendar.query",
                "when is the planning meeting",
                json!({"text": "planning meeting"}),
            ),
            (
                "calendar.query",
                "when is the reading",
                json!({"text": "reading"}),
            ),
            (
                "system.power_profile",
                "put the laptop in power saving mode",
                json!({"profile": "power saving"}),
            ),
            // The model may word it, so it need not be what was said.
            (
                "mail.forward",
                "forward it to Tom and say pass it on",
                json!({"to": ["Tom"], "text": "pass it on"}),
            ),
            // The schema says that it is an answer.
            ("timers.cancel", "stop all timers", json!({"timer": "all"})),
            (
                "clock.convert",
                "what time is it in Oslo now",
                json!({"to": "Oslo", "time": "now"}),
            ),
            (
                "alarms.set",
                "set an alarm for seven called pool",
                json!({"time": "seven", "label": "pool"}),
            ),
        ] {
            check(tool, said, &given, &given);
        }
    }
}
