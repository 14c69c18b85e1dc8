//! Times that a tool cannot have. Who says "lock the screen in ten minutes" does not want it locked now, and a tool that knows no
//! time would do just that: they are asked. Who says "mute it for an hour" does want it now, and hears that nobody ends it.
//!
//! Only what takes effect in the moment is looked at: the machine, what plays, what leaves the machine, what nothing takes
//! back. A list or a note keeps whatever was said.

use std::ops::Range;

use prompts::words;
use serde_json::Value;
use tools::{
    Effect, Entry,
    reflex::POLITE,
    when::{self, Kind, said_times},
};

use super::{Agent, Call, Ending, Step, figures::number_before, times, unsure::Unsure};

/// What becomes of a time that no argument has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Untimed {
    /// It was to be done then.
    Later,
    /// It was to be so for that long, or until then.
    Lasting,
}

impl Agent {
    /// Asks whether it is to be done now. Nobody's yes does what a guest said.
    pub(super) fn asks_whether_now(&mut self, call: Call) -> Step {
        if !self.guest {
            self.unsure = Some(Unsure {
                said: self.talk.said().last().copied().unwrap_or_default().to_owned(),
                tool: call.name.clone(),
                call: Some(call),
            });
        }
        self.reply(words::only_now(), Ending::CouldNot)
    }

    /// What the sentence says of time and the call has no place for.
    pub(super) fn untimed(&self, call: &Call, entry: &Entry) -> Option<Untimed> {
        let said = self.talk.said();
        untimed(&call.arguments, entry, said.last()?, &|word| {
            self.toolbox.opens(word)
        })
    }
}

fn untimed(arguments: &Value, entry: &Entry, said: &str, opens: &dyn Fn(&str) -> bool) -> Option<Untimed> {
    if !entry.times.is_empty() || !is_done_at_once(entry) {
        return None;
    }
    said_times(said).into_iter().find_map(|one| {
        let text = &said[one.place.clone()];
        let meant = is_of_the_deed(said, &one.place, opens)
            && !is_now_or_past(said, &one.place)
            && !stands_in(arguments, text)
            && (entry.effect != Effect::Egress || comes_before_a_text(arguments, said, one.place.end));
        if !meant {
            return None;
        }
        match one.kind {
            _ if lasts(said, &one.place) => is_state(entry).then_some(Untimed::Lasting),
            // A bare number may be a volume.
            Kind::Time => when::mentions(said).contains(&text).then_some(Untimed::Later),
            Kind::Often => Some(Untimed::Later),
            Kind::Length => None,
        }
    })
}

/// Whether it takes effect when it is called, and keeps nothing of what was said.
fn is_done_at_once(entry: &Entry) -> bool {
    let of_the_moment = ["media", "system"].contains(&entry.domain());
    match entry.effect {
        Effect::Read => false,
        Effect::Write => of_the_moment,
        Effect::Irreversible | Effect::Egress => true,
    }
}

/// Whether it sets how something is, and not what happens once.
fn is_state(entry: &Entry) -> bool {
    let schema = entry.parameters();
    ["action", "on", "percent"]
        .iter()
        .any(|state| !schema["properties"][state].is_null())
}

/// Whether a time is said of what is to be done: the sentence begins with a verb of ours, before or behind that time, and
/// nobody does anything else in between: "pause it, I'll go on tomorrow".
fn is_of_the_deed(said: &str, place: &Range<usize>, opens: &dyn Fn(&str) -> bool) -> bool {
    const SOMEBODY: [&str; 9] = ["i", "we", "he", "she", "they", "it's", "that's", "who", "which"];
    const JOINTS: [&str; 9] = [
        "because", "so", "since", "as", "while", "when", "if", "before", "after",
    ];
    const SMALL: [&str; 8] = ["in", "at", "on", "for", "until", "till", "just", "the"];
    let content = |text: &str| -> Vec<String> {
        let all = times::words(text);
        all.skip_while(|word| POLITE.contains(&word.as_str()) || SMALL.contains(&word.as_str()))
            .collect()
    };
    let before = content(&said[..place.start]);
    let begins = |words: &[String]| words.first().is_some_and(|word| opens(word));
    if before.is_empty() {
        return begins(&content(&said[place.end..]));
    }
    let between = |word: &String| {
        let whole = word.as_str();
        let subject = whole.split('\'').next().unwrap_or_default();
        SOMEBODY.contains(&whole) || SOMEBODY.contains(&subject) || JOINTS.contains(&whole)
    };
    begins(&before) && !before.iter().any(between)
}

/// Whether it is the present, over, or only names something: "yesterday's", "the one from monday".
fn is_now_or_past(said: &str, place: &Range<usize>) -> bool {
    const PRESENT: [&str; 7] = ["now", "today", "moment", "ago", "yesterday", "last", "once"];
    let named = said[place.end..].starts_with("'s") || said[place.end..].starts_with('\u{2019}');
    let led = times::words(&said[..place.start]).last();
    named
        || led.is_some_and(|word| ["about", "concerning", "from", "of", "regarding"].contains(&word.as_str()))
        || times::words(&said[place.clone()]).any(|word| PRESENT.contains(&word.as_str()))
}

/// Whether it says how long something is to be so.
fn lasts(said: &str, place: &Range<usize>) -> bool {
    let before: Vec<String> = times::words(&said[..place.start]).collect();
    let lead = before
        .iter()
        .rev()
        .find(|word| !["the", "next", "another"].contains(&word.as_str()));
    let first = times::words(&said[place.clone()]).next();
    let is = |word: Option<&String>| {
        word.is_some_and(|word| ["for", "until", "till", "til"].contains(&word.as_str()))
    };
    is(lead) || is(first.as_ref())
}

/// Whether an argument has these words, or their number: "the brightness at seven".
fn stands_in(value: &Value, text: &str) -> bool {
    match value {
        Value::Number(own) => {
            let words: Vec<String> = times::words(text).collect();
            let said = number_before(&words, words.len());
            said.is_some_and(|(_, number)| own.as_f64() == Some(f64::from(number)))
        }
        Value::String(own) => times::holds(own, text) || times::holds(text, own),
        Value::Array(all) => all.iter().any(|one| stands_in(one, text)),
        Value::Object(all) => all.values().any(|one| stands_in(one, text)),
        _ => false,
    }
}

/// Whether something that is to be sent is said behind this place. What is said in front of a time may go on with it.
fn comes_before_a_text(arguments: &Value, said: &str, end: usize) -> bool {
    let texts = arguments.as_object().into_iter().flat_map(|all| all.values());
    texts
        .filter_map(Value::as_str)
        .filter_map(|text| times::place(said, text))
        .any(|place| place.start >= end)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::json;
    use tools::discover::Index;

    use super::*;
    use crate::agent::{Toolbox, toolbox::Loading};

    #[track_caller]
    fn check(tool: &str, arguments: Value, said: &str, expect: Option<Untimed>) {
        let toolbox = Toolbox::new(tools::ALL, Arc::new(Index::of(tools::ALL)), &Loading::default());
        let entry = toolbox.find(tool).unwrap();
        let found = untimed(&arguments, entry, said, &|word| toolbox.opens(word));
        assert_eq!(found, expect, "{said:?}");
    }

    #[test]
    fn what_was_to_be_done_later_is_not_done_now() {
        let later = Some(Untimed::Later);
        check("system.lock", json!({}), "lock the screen in ten minutes", later);
        check(
            "system.lock",
            json!({}),
            "in half an hour please lock the screen",
            later,
        );
        check(
            "media.pause",
            json!({}),
            "Could you pause the music at ten o'clock?",
            later,
        );
        check(
            "system.shutdown",
            json!({}),
            "shut down the computer tomorrow at nine",
            later,
        );
        check(
            "system.dark_mode",
            json!({"on": true}),
            "switch dark mode on every evening",
            later,
        );
        let mail = json!({"to": ["Anna"], "body": "I am late"});
        check(
            "mail.send",
            mail,
            "send Anna a mail tomorrow at nine that I am late",
            later,
        );
    }

    #[test]
    fn what_is_to_last_is_done_now_and_said() {
        let lasting = Some(Untimed::Lasting);
        check(
            "system.mute",
            json!({"on": true}),
            "please mute for five minutes",
            lasting,
        );
        check(
            "system.do_not_disturb",
            json!({"on": true}),
            "turn on do not disturb until six o'clock",
            lasting,
        );
        check(
            "system.wifi",
            json!({"on": false}),
            "turn off the wifi for the next hour",
            lasting,
        );
    }

    #[test]
    fn other_times_are_no_reason_to_ask() {
        for (tool, arguments, said) in [
            ("system.lock", json!({}), "lock the screen now"),
            ("system.lock", json!({}), "lock it, I'm back in ten minutes"),
            (
                "system.quit_app",
                json!({"app": "steam"}),
                "steam has been hanging for ten minutes force it to stop",
            ),
            (
                "system.sleep",
                json!({}),
                "I'll be away for an hour so send the computer into standby",
            ),
            (
                "system.shutdown",
                json!({}),
                "turn off the computer, I won't use it until monday",
            ),
            (
                "system.set_volume",
                json!({"percent": 10}),
                "turn the volume to ten",
            ),
            (
                "system.set_brightness",
                json!({"percent": 7}),
                "set the brightness at seven",
            ),
            (
                "media.play",
                json!({"query": "Friday I'm in Love"}),
                "play Friday I'm in Love",
            ),
            (
                "media.play",
                json!({"query": "ten minutes of silence"}),
                "play ten minutes of silence",
            ),
            ("media.play", json!({"query": "news"}), "play today's news"),
            ("media.next", json!({}), "skip two minutes"),
            (
                "system.open_app",
                json!({"name": "calendar"}),
                "open the calendar for tomorrow",
            ),
            (
                "shortcuts.run",
                json!({"name": "backup"}),
                "run my backup for friday",
            ),
            (
                "messages.send",
                json!({"to": "Anna", "text": "I can make it"}),
                "text Anna about tomorrow that I can make it",
            ),
            (
                "shortcuts.run",
                json!({"name": "good morning"}),
                "run my good morning shortcut",
            ),
            (
                "mail.send",
                json!({"to": ["Rohit"], "body": "I am busy"}),
                "send a mail to Rohit saying I am busy tomorrow",
            ),
            (
                "lists.add",
                json!({"items": ["eggs"]}),
                "put eggs on the list for saturday",
            ),
            (
                "notes.create",
                json!({"text": "tyres"}),
                "note that the tyres are changed tomorrow",
            ),
            (
                "timers.set",
                json!({"duration": "ten minutes"}),
                "set a timer for ten minutes",
            ),
        ] {
            check(tool, arguments, said, None);
        }
    }
}
