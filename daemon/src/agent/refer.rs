//! What "it", "that" and "her" stand for where a call needs a name: what the call before was about.
//!
//! A small model copies the word itself ("name": "her", "title": "that again"), and no tool knows anybody of that name.

use serde_json::Value;
use tools::Entry;

use super::{Call, names::words, schema};

/// Words that stand for what was spoken of.
const POINTERS: &[&str] = &[
    "he", "her", "him", "his", "it", "its", "she", "that", "their", "them", "these", "they", "this", "those",
];
/// Words around them that name nothing. No verbs: "give it to her" is a thing to do.
const IDLE: &[&str] = &[
    "a", "after", "again", "all", "an", "do", "for", "from", "just", "my", "now", "of", "okay", "one",
    "please", "the", "then", "to", "too", "yes",
];

/// Puts what the call before was about into the arguments that only point at it. `done`: whether that call came to something.
/// `opens` tells the verbs that begin requests.
pub fn settle(call: &mut Call, entry: &Entry, before: (&Call, &Entry, bool), opens: &dyn Fn(&str) -> bool) {
    let parameters = entry.parameters();
    let Some(given) = call.arguments.as_object() else {
        return;
    };
    let points = |name: &&str| {
        let text = given.get(*name).and_then(Value::as_str);
        text.is_some_and(|text| only_points(text, opens))
    };
    let pointing: Vec<&str> = may_point(entry, &parameters).filter(points).collect();
    if pointing.is_empty() {
        return;
    }
    let (last, of, done) = before;
    let found: Vec<(String, Value)> = match last.arguments.as_object() {
        // "Do delete it after all": what was not done is asked for once more, with all that was said of it. What is said now wins.
        Some(said) if last.name == call.name && !done => {
            let is_open = |name: &str| pointing.contains(&name) || !given.contains_key(name);
            let said = said.iter().filter(|(name, _)| is_open(name));
            said.map(|(name, value)| (name.clone(), value.clone())).collect()
        }
        _ => {
            let subject = |name: &str| Some((name.to_owned(), subject(entry, name, last, of)?));
            pointing.into_iter().filter_map(subject).collect()
        }
    };
    if let Some(given) = call.arguments.as_object_mut() {
        given.extend(found);
    }
}

/// What the call before was about, as this argument wants it: of the same kind, of the same name, or what a tool of the same
/// domain cannot be called without.
fn subject(entry: &Entry, name: &str, last: &Call, of: &Entry) -> Option<Value> {
    let kind = |entry: &Entry, name: &str| {
        let named = entry.named.iter().find(|(named, _)| *named == name);
        named.map(|(_, kind)| *kind)
    };
    let text = |name: &str| {
        let value = last.arguments.get(name)?;
        value
            .as_str()
            .is_some_and(|text| !text.is_empty())
            .then(|| value.clone())
    };
    let wanted = kind(entry, name);
    let alike = of.named.iter().filter(|(_, kind)| Some(*kind) == wanted);
    let mut alike = alike.filter_map(|(named, _)| text(named));
    if let Some(value) = alike.next() {
        return Some(value);
    }
    if of.domain() != entry.domain() {
        return None;
    }
    let parameters = of.parameters();
    let is_time = |name: &&str| of.times.iter().any(|(time, _)| time == name);
    let mut needed = schema::required(&parameters).filter(|name| !is_time(name));
    text(name).or_else(|| needed.find_map(text))
}

/// The free texts that a tool cannot be called without, times and what the person dictates aside.
fn may_point<'s>(entry: &Entry, parameters: &'s Value) -> impl Iterator<Item = &'s str> {
    schema::required(parameters).filter(|name| {
        schema::is_free_text(&parameters["properties"][*name])
            && entry.times.iter().all(|(time, _)| time != name)
            && !entry.worded.contains(name)
    })
}

/// Whether a text has a word that points back, and none that names anything.
fn only_points(text: &str, opens: &dyn Fn(&str) -> bool) -> bool {
    let mut points = false;
    for word in words(text) {
        let word = word.trim_end_matches("'s");
        match POINTERS.contains(&word) {
            true => points = true,
            false if IDLE.contains(&word) || opens(word) => {}
            false => return false,
        }
    }
    points
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn entry(name: &str) -> &'static Entry {
        tools::ALL.iter().find(|entry| entry.name == name).unwrap()
    }

    #[track_caller]
    fn check(before: (&str, Value, bool), now: (&str, Value), expect: Value) {
        let call = |name: &str, arguments| Call {
            name: name.to_owned(),
            arguments,
        };
        let (name, arguments, done) = before;
        let last = call(name, arguments);
        let mut settled = call(now.0, now.1);
        let opens = |word: &str| ["delete", "remove", "forget"].contains(&word);
        settle(&mut settled, entry(now.0), (&last, entry(name), done), &opens);
        assert_eq!(settled.arguments, expect, "{} after {name}", now.0);
    }

    #[test]
    fn a_word_that_points_stands_for_what_the_call_before_was_about() {
        check(
            (
                "contacts.create",
                json!({"name": "Ada Stern", "phone": "0123"}),
                true,
            ),
            (
                "contacts.update",
                json!({"name": "her", "field": "birthday", "value": "may first"}),
            ),
            json!({"name": "Ada Stern", "field": "birthday", "value": "may first"}),
        );
        check(
            (
                "reminders.create",
                json!({"title": "water the fern", "due": "tonight"}),
                true,
            ),
            ("reminders.delete", json!({"title": "that again"})),
            json!({"title": "water the fern"}),
        );
        // Of another name there.
        check(
            ("memory.remember", json!({"fact": "the gate code is 4410"}), true),
            ("memory.forget", json!({"about": "that"})),
            json!({"about": "the gate code is 4410"}),
        );
        // A file is what it is in every tool for files.
        check(
            ("files.read", json!({"file": "lease"}), true),
            ("files.open", json!({"file": "it"})),
            json!({"file": "lease"}),
        );
    }

    #[test]
    fn what_was_not_done_is_done_after_all_as_it_was_asked_for() {
        check(
            (
                "calendar.delete_event",
                json!({"event": "rowing", "when": "friday"}),
                false,
            ),
            ("calendar.delete_event", json!({"event": "delete it after all"})),
            json!({"event": "rowing", "when": "friday"}),
        );
    }

    #[test]
    fn what_is_said_now_wins_over_what_was_not_done() {
        check(
            (
                "reminders.update",
                json!({"title": "rent", "due": "the blue day"}),
                false,
            ),
            ("reminders.update", json!({"title": "it", "due": "friday"})),
            json!({"title": "rent", "due": "friday"}),
        );
        check(
            ("messages.send", json!({"to": "Ada", "text": "I'm late"}), false),
            ("messages.send", json!({"to": "her", "text": "there at six"})),
            json!({"to": "Ada", "text": "there at six"}),
        );
    }

    #[test]
    fn what_is_dictated_may_be_full_of_pointers() {
        check(
            ("reminders.create", json!({"title": "water the fern"}), true),
            ("reminders.create", json!({"title": "give it to her"})),
            json!({"title": "give it to her"}),
        );
        check(
            ("messages.send", json!({"to": "Ada", "text": "I'm late"}), true),
            ("messages.send", json!({"to": "Ben", "text": "that's it"})),
            json!({"to": "Ben", "text": "that's it"}),
        );
        check(
            ("web.search", json!({"words": "rowing clubs"}), true),
            ("web.search", json!({"words": "let it go"})),
            json!({"words": "let it go"}),
        );
    }

    #[test]
    fn what_names_something_is_left_alone() {
        check(
            ("calendar.delete_event", json!({"event": "rowing"}), false),
            ("calendar.delete_event", json!({"event": "that swim"})),
            json!({"event": "that swim"}),
        );
        // Nothing of another domain is taken for it, nor what the call before did not name.
        check(
            ("calendar.query", json!({"when": "today"}), true),
            ("calendar.delete_event", json!({"event": "it"})),
            json!({"event": "it"}),
        );
        check(
            ("memory.remember", json!({"fact": "the gate code is 4410"}), true),
            ("reminders.delete", json!({"title": "that"})),
            json!({"title": "that"}),
        );
    }
}
