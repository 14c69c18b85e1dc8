//! What "it", "that" and "her" stand for where a call needs a name: what the call before was about.
//!
//! A small model copies the word itself ("name": "her", "title": "that again"), and no tool knows anybody of that name.

use serde_json::{Map, Value};
use tools::{
    Entry,
    discover::words::{is_pointer, is_stop_word},
};

use super::{Call, names::words, schema};

/// Those of the words that stand for what was spoken of that are what something is done with.
const OBJECTS: &[&str] = &["her", "him", "it", "that", "them", "these", "this", "those"];
/// Who does something.
const SUBJECTS: &[&str] = &["he", "i", "she", "they", "we", "you"];
/// Words around them that name nothing. No verbs: "give it to her" is a thing to do.
const IDLE: &[&str] = &[
    "a", "after", "again", "all", "an", "do", "exactly", "for", "from", "just", "my", "now", "of", "okay",
    "one", "please", "the", "then", "to", "too", "yes",
];

/// What was done with it, and it: "moved it".
const DEED: usize = 2;

/// Puts what the call before was about into the arguments that only point at it. `done`: whether that call came to something.
/// `opens` tells the verbs that begin requests, `is_there` whether something of the kind that an argument names is called so.
pub fn settle(
    call: &mut Call,
    entry: &Entry,
    said: &str,
    before: (&Call, &Entry, bool),
    opens: &dyn Fn(&str) -> bool,
    is_there: &dyn Fn(&str, &str) -> bool,
) {
    let parameters = entry.parameters();
    let Some(given) = call.arguments.as_object() else {
        return;
    };
    let points = |name: &&str| {
        let text = given.get(*name).and_then(Value::as_str);
        text.is_some_and(|text| {
            only_points(text, opens)
                || is_deed(text, said)
                || (begins_pointing(said) && !is_there(name, text) && repeats(name, text, given, entry, said))
        })
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
        match is_pointer(word) {
            true => points = true,
            false if IDLE.contains(&word) || opens(word) => {}
            false => return false,
        }
    }
    points
}

/// Whether a text says what was done with a thing and not which: "I moved it, so forget that" has nothing by that name.
fn is_deed(text: &str, said: &str) -> bool {
    let (text, said): (Vec<String>, Vec<String>) = (words(text).collect(), words(said).collect());
    // Without who did it, it may be the name of a song: "beat it".
    let is_told = |run: &[String]| run[1..] == text[..] && SUBJECTS.contains(&run[0].as_str());
    text.len() == DEED
        && text.last().is_some_and(|word| OBJECTS.contains(&word.as_str()))
        && said.windows(DEED + 1).any(is_told)
}

/// Whether a sentence begins with what was spoken of, or with what is done to it: "it's at the Anchor", "add that ...".
fn begins_pointing(said: &str) -> bool {
    words(said)
        .filter(|word| !IDLE.contains(&word.as_str()) && word != "and")
        .take(2)
        .any(|word| is_pointer(word.trim_end_matches("'s")))
}

/// Whether the words of an argument that names something are part of another one, which says what is new: a model that misses what
/// "it" stands for takes them from there.
fn repeats(name: &str, text: &str, given: &Map<String, Value>, entry: &Entry, said: &str) -> bool {
    let is_named = |argument: &str| entry.named.iter().any(|(named, _)| *named == argument);
    let content = |text: &str| -> Vec<String> { words(text).filter(|word| !is_stop_word(word)).collect() };
    let own = content(text);
    // Who says "change Anna's name to Anna Smith" named her.
    let twice = own.iter().any(|word| {
        words(said)
            .filter(|one| one.trim_end_matches("'s") == word)
            .count()
            > 1
    });
    is_named(name)
        && !own.is_empty()
        && !twice
        && given
            .iter()
            .filter(|(other, _)| *other != name && !is_named(other))
            .filter_map(|(_, value)| value.as_str())
            .any(|other| {
                let other = content(other);
                own.iter().all(|word| other.contains(word))
            })
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
        check_said("delete it", before, now, expect);
    }

    #[track_caller]
    fn check_said(said: &str, before: (&str, Value, bool), now: (&str, Value), expect: Value) {
        let call = |name: &str, arguments| Call {
            name: name.to_owned(),
            arguments,
        };
        let (name, arguments, done) = before;
        let last = call(name, arguments);
        let mut settled = call(now.0, now.1);
        let opens = |word: &str| ["delete", "remove", "forget"].contains(&word);
        settle(
            &mut settled,
            entry(now.0),
            said,
            (&last, entry(name), done),
            &opens,
            &|_, text| text == "Bens",
        );
        assert_eq!(settled.arguments, expect, "{} after {name}", now.0);
    }

    #[test]
    fn what_repeats_the_news_or_says_what_was_done_names_nothing() {
        let dinner = (
            "calendar.create_event",
            json!({"title": "dinner with Grace", "start": "saturday"}),
            true,
        );
        check_said(
            "it's at the Anchor",
            dinner.clone(),
            (
                "calendar.update_event",
                json!({"event": "Anchor", "location": "the Anchor"}),
            ),
            json!({"event": "dinner with Grace", "location": "the Anchor"}),
        );
        check_said(
            "the tea with Tom is at the Anchor",
            dinner,
            (
                "calendar.update_event",
                json!({"event": "tea with Tom", "location": "the Anchor"}),
            ),
            json!({"event": "tea with Tom", "location": "the Anchor"}),
        );
        check_said(
            "add that the plumber comes on Monday",
            ("notes.read", json!({"note": "Heating"}), true),
            (
                "notes.append",
                json!({"note": "Plumber", "text": "The plumber comes on Monday"}),
            ),
            json!({"note": "Heating", "text": "The plumber comes on Monday"}),
        );
        // What is there by that name is meant, and a new thing is what it is called.
        check_said(
            "it's at Bens",
            ("calendar.query", json!({"text": "dinner"}), true),
            (
                "calendar.update_event",
                json!({"event": "Bens", "location": "Bens"}),
            ),
            json!({"event": "Bens", "location": "Bens"}),
        );
        check_said(
            "and text Anna that I'm running late",
            (
                "messages.send",
                json!({"to": "Ben", "text": "I'm on my way"}),
                true,
            ),
            (
                "messages.send",
                json!({"to": "Anna", "text": "Hi Anna, I'm running late"}),
            ),
            json!({"to": "Anna", "text": "Hi Anna, I'm running late"}),
        );
        check_said(
            "I'm at the dentist this friday at ten",
            ("calendar.create_event", json!({"title": "lunch with Anna"}), true),
            (
                "calendar.create_event",
                json!({"title": "dentist", "location": "the dentist"}),
            ),
            json!({"title": "dentist", "location": "the dentist"}),
        );
        check_said(
            "that's Anna's married name, change Anna to Anna Smith",
            ("contacts.read", json!({"name": "Ben"}), true),
            (
                "contacts.update",
                json!({"name": "Anna", "field": "name", "value": "Anna Smith"}),
            ),
            json!({"name": "Anna", "field": "name", "value": "Anna Smith"}),
        );
        check_said(
            "search the web for beat it",
            ("web.search", json!({"words": "rowing clubs"}), true),
            ("web.search", json!({"words": "beat it"})),
            json!({"words": "beat it"}),
        );
        check_said(
            "I moved it, so forget that",
            ("memory.recall", json!({"about": "spare key"}), true),
            ("memory.forget", json!({"about": "moved it"})),
            json!({"about": "spare key"}),
        );
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
