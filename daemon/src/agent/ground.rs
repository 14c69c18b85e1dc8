//! What nobody said does not count: optional words that a model filled in by itself are left out.
//!
//! Small models fill every argument that a schema offers ("label": "for a meeting"). An optional free-text argument is
//! kept only when its words come from what the person said or from what a trusted tool answered. Required arguments,
//! numbers, enumerations and switches stay: the tool itself checks those.

use std::collections::HashSet;

use serde_json::Value;
use strsim::jaro_winkler;
use tools::discover::words::is_number;

/// Words that carry no content of their own; an argument made of these alone says nothing.
const EMPTY: &[&str] = &[
    "a", "an", "and", "any", "are", "as", "at", "be", "by", "do", "for", "from", "have", "i", "in", "is",
    "it", "me", "my", "of", "on", "or", "s", "the", "this", "to", "what", "with", "you", "your",
];

/// How alike a word must be to one that was said: "reminder" and "reminders", "Ana" and "Anna".
const ALIKE: f64 = 0.9;

/// Leaves out optional text arguments that do not come from `heard`, and returns their names.
pub fn ground(arguments: &mut Value, schema: &Value, heard: &[&str]) -> Vec<String> {
    let Some(given) = arguments.as_object_mut() else {
        return Vec::new();
    };
    let heard: HashSet<String> = heard.iter().flat_map(|text| with_pairs(text)).collect();
    let required = |name: &str| {
        schema["required"]
            .as_array()
            .is_some_and(|names| names.iter().any(|n| n == name))
    };
    let free_text = |name: &str| {
        let property = &schema["properties"][name];
        property["type"] == "string" && property.get("enum").is_none() && property.get("const").is_none()
    };
    let invented = |name: &str, value: &Value| {
        value
            .as_str()
            .is_some_and(|text| free_text(name) && !required(name) && !grounded(text, &heard))
    };
    let dropped: Vec<String> = given
        .iter()
        .filter(|(name, value)| invented(name, value))
        .map(|(name, _)| name.clone())
        .collect();
    for name in &dropped {
        given.shift_remove(name);
    }
    dropped
}

/// Whether the content words of a text were all heard, and there is at least one. Digits may have been said as words, where
/// any number was said: the prompt names the time of day, which models copy.
fn grounded(text: &str, heard: &HashSet<String>) -> bool {
    let counted = || heard.iter().any(|word| is_number(word));
    let mut content = words(text)
        .filter(|word| !EMPTY.contains(&word.as_str()))
        .peekable();
    content.peek().is_some()
        && content.all(|word| {
            (word.chars().all(|c| c.is_ascii_digit()) && counted())
                || heard.contains(&word)
                || heard.iter().any(|h| jaro_winkler(h, &word) >= ALIKE)
        })
}

/// Words, and neighbours written together: recognisers hear "p m" and "to do".
fn with_pairs(text: &str) -> Vec<String> {
    let words: Vec<String> = words(text).collect();
    let pairs = words.windows(2).map(|pair| pair.concat()).collect::<Vec<_>>();
    [words, pairs].concat()
}

/// Lower-case words; letters and digits are apart, so that "5pm" and "5 pm" are the same.
fn words(text: &str) -> impl Iterator<Item = String> {
    let mut words: Vec<String> = Vec::new();
    let mut kind = None;
    for c in text.to_lowercase().chars() {
        let this = c.is_alphanumeric().then(|| c.is_ascii_digit());
        match (this, words.last_mut()) {
            (Some(_), Some(word)) if this == kind => word.push(c),
            (Some(_), _) => words.push(c.into()),
            (None, _) => {}
        }
        kind = this;
    }
    words.into_iter()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(heard: &str, arguments: Value, expect: Value) {
        let schema = json!({
            "properties": {
                "title": {"type": "string"}, "when": {"type": "string"}, "label": {"type": "string"},
                "want": {"type": "string", "enum": ["phone", "mail"]}, "count": {"type": "integer"},
            },
            "required": ["title"],
        });
        let mut kept = arguments;
        ground(&mut kept, &schema, &[heard]);
        assert_eq!(kept, expect, "{heard:?}");
    }

    #[test]
    fn what_was_said_stays_and_what_was_made_up_goes() {
        check(
            "set a timer for ten minutes",
            json!({"title": "x", "label": "for a meeting"}),
            json!({"title": "x"}),
        );
        check(
            "what is on tomorrow",
            json!({"when": "tomorrow", "label": "what it is"}),
            json!({"when": "tomorrow"}),
        );
        check("an egg timer", json!({"label": "Eggs"}), json!({"label": "Eggs"}));
        check(
            "call at five p m",
            json!({"when": "5 PM"}),
            json!({"when": "5 PM"}),
        );
        check(
            "call at 5pm",
            json!({"when": "at 5 pm"}),
            json!({"when": "at 5 pm"}),
        );
        check(
            "next tuesday",
            json!({"when": "next Tuesday"}),
            json!({"when": "next Tuesday"}),
        );
        check("next tuesday", json!({"when": "next Wednesday"}), json!({}));
        check("do I have any appointments", json!({"label": "10:30"}), json!({}));
        check(
            "the meeting at half past ten",
            json!({"label": "10:30"}),
            json!({"label": "10:30"}),
        );
        check(
            "mails from ana",
            json!({"label": "Anna"}),
            json!({"label": "Anna"}),
        );
    }

    #[test]
    fn what_is_required_or_no_free_text_is_left_to_the_tool() {
        check(
            "hello",
            json!({"title": "made up", "want": "phone", "count": 5}),
            json!({"title": "made up", "want": "phone", "count": 5}),
        );
        check("hello", json!([1]), json!([1]));
        check("hello", json!({"unknown": "words"}), json!({"unknown": "words"}));
    }
}
