//! Which one and how many, as it was said: small models leave out the one number of a sentence, or write one that nobody said.
//!
//! Where a place in a list ("the second one", "both of them") or a percentage stands in a sentence is known without a model. An
//! argument that its own description wants only if it was said is not made up.

use serde_json::{Map, Value};
use tools::{discover::words::is_number, when::whole_number};

use super::names::words;

/// The argument that says which of several is meant.
const WHICH: &str = "which";
/// The argument that is a percentage, and the one that says which way it goes.
const PERCENT: &str = "percent";
const DIRECTION: &str = "direction";
/// What an argument says of itself that is only there where the person gave it.
const IF_SAID: [&str; 2] = ["unless said", "if the person said"];
/// Words of one number at most: "a hundred and twenty five".
const LONGEST_NUMBER: usize = 5;

/// Places in a list.
const PLACES: &[&str] = &[
    "first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth", "last",
    "latest", "newest", "oldest", "next", "previous",
];
/// What is counted by its place where it stands behind it.
const THINGS: &[&str] = &[
    "one", "ones", "mail", "mails", "email", "emails", "message", "messages",
];
/// What a place begins with.
const LEADS: &[&str] = &["the", "that", "this", "my", "your", "number"];
/// What says that a number is meant although none was named.
const COUNTS: &[&str] = &[
    "all",
    "both",
    "couple",
    "dozen",
    "every",
    "everything",
    "few",
    "half",
    "once",
    "pair",
    "several",
    "twice",
];

/// Puts the arguments of a call right that count something.
pub fn settle(arguments: &mut Value, schema: &Value, said: &str) {
    let Some(given) = arguments.as_object_mut() else {
        return;
    };
    let said: Vec<String> = words(&said.replace('%', " percent ")).collect();
    settle_percent(given, schema, &said);
    settle_which(given, schema, &said);
    let counted = said
        .iter()
        .any(|word| is_number(word) || PLACES.contains(&word.as_str()) || COUNTS.contains(&word.as_str()));
    if !counted {
        // One is how many a single thing is: "my last mail".
        given.retain(|name, value| value.as_u64().is_none_or(|n| n < 2) || !only_if_said(schema, name));
    }
}

fn only_if_said(schema: &Value, name: &str) -> bool {
    let description = schema["properties"][name]["description"].as_str();
    description.is_some_and(|text| IF_SAID.iter().any(|said| text.contains(said)))
}

/// Where one percentage was said, it is the one. "To twenty percent" is where it ends, whichever way that is.
fn settle_percent(given: &mut Map<String, Value>, schema: &Value, said: &[String]) {
    if schema["properties"][PERCENT]["type"] != "integer" {
        return;
    }
    let signs: Vec<usize> = (0..said.len())
        .filter(|at| {
            let next = said.get(at + 1).map(String::as_str);
            said[*at] == "percent" || (said[*at] == "per" && next == Some("cent"))
        })
        .collect();
    let [sign] = signs[..] else { return };
    let numbers = (1..=LONGEST_NUMBER.min(sign)).rev().find_map(|length| {
        let number = whole_number(&said[sign - length..sign].join(" "))?;
        Some((sign - length, number))
    });
    let Some((start, number)) = numbers else { return };
    let ends_there = said[..start]
        .last()
        .is_some_and(|word| ["to", "at"].contains(&word.as_str()));
    if ends_there {
        given.shift_remove(DIRECTION);
    }
    given.insert(PERCENT.into(), number.into());
}

/// Which one of a list was said, where the model left it out: it takes "the second one" for the thing itself.
fn settle_which(given: &mut Map<String, Value>, schema: &Value, said: &[String]) {
    let which = &schema["properties"][WHICH];
    // What the model wrote stays where the person said it.
    let is_said = |text: &str| {
        let mut all = words(text).peekable();
        all.peek().is_some() && all.all(|word| said.contains(&word))
    };
    let has = given.get(WHICH).and_then(Value::as_str).is_some_and(is_said);
    if which["type"] != "string" || which.get("enum").is_some() || has {
        return;
    }
    let word = |at: usize| said.get(at).map_or("", String::as_str);
    let is_thing = |at: usize| at >= said.len() || THINGS.contains(&word(at));
    let placed = (1..said.len())
        .find(|at| PLACES.contains(&word(*at)) && LEADS.contains(&word(at - 1)) && is_thing(at + 1));
    let several = which["description"]
        .as_str()
        .is_some_and(|text| text.contains("all"));
    let both = || {
        let them = |at: usize| at >= said.len() || ["of", "them", "these", "those"].contains(&word(at));
        (0..said.len())
            .find(|at| word(*at) == "both" || (word(*at) == "all" && them(at + 1)))
            .filter(|_| several)
    };
    let place = match placed {
        // "The second one" and not "the second", which may be of a minute.
        Some(at) if at + 1 < said.len() => format!("{} one", word(at)),
        Some(at) => word(at).to_owned(),
        None => match both() {
            Some(at) => word(at).to_owned(),
            None => return,
        },
    };
    given.insert(WHICH.into(), place.into());
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(tool: &str, said: &str, given: Value, expect: Value) {
        let entry = tools::ALL.iter().find(|entry| entry.name == tool).unwrap();
        let mut settled = given.clone();
        settle(&mut settled, &entry.parameters(), said);
        assert_eq!(settled, expect, "{tool} {said:?} {given}");
    }

    #[test]
    fn the_one_that_was_counted_is_meant() {
        for (said, which) in [
            ("read me the second one", Some("second one")),
            ("open the latest mail please", Some("latest one")),
            ("and the last", Some("last")),
            ("the next one", Some("next one")),
            // Neither counts mails.
            ("what did she write on the first of May", None),
            ("the mail about the second floor", None),
            ("next week's mail", None),
            ("read the mail from Tom", None),
            // This one reads a single mail.
            ("read both of them", None),
        ] {
            let expect = which.map_or(json!({}), |which| json!({"which": which}));
            check("mail.read", said, json!({}), expect);
        }
        // What nobody said gives way.
        check(
            "mail.read",
            "the second one",
            json!({"which": "this"}),
            json!({"which": "second one"}),
        );
        check(
            "mail.read",
            "this one, not the second one",
            json!({"which": "this one"}),
            json!({"which": "this one"}),
        );
        check("timers.set", "the second one", json!({}), json!({}));
    }

    #[test]
    fn all_of_them_may_be_meant_where_several_can() {
        for (said, which) in [
            ("put both newsletters in the bin", json!({"which": "both"})),
            ("delete all of them", json!({"which": "all"})),
            ("delete them all", json!({"which": "all"})),
            ("delete the mail about all hands", json!({})),
        ] {
            check("mail.delete", said, json!({}), which);
        }
        check("system.list_apps", "both of them", json!({}), json!({}));
    }

    #[test]
    fn the_percentage_that_was_said_is_meant() {
        let tool = "system.set_volume";
        check(
            tool,
            "volume to thirty five percent",
            json!({}),
            json!({"percent": 35}),
        );
        check(
            tool,
            "turn it down to 20%",
            json!({"direction": "down"}),
            json!({"percent": 20}),
        );
        check(
            tool,
            "turn it down by twenty per cent",
            json!({"direction": "down", "percent": 80}),
            json!({"direction": "down", "percent": 20}),
        );
        // A half was not said to be one, nor is it known which of two is meant.
        check(
            tool,
            "half as loud",
            json!({"percent": 50}),
            json!({"percent": 50}),
        );
        check(
            tool,
            "from ten percent to twenty percent",
            json!({"percent": 20}),
            json!({"percent": 20}),
        );
        check("timers.set", "ten percent", json!({}), json!({}));
    }

    #[test]
    fn a_number_that_nobody_said_is_left_out_where_it_has_to_be_said() {
        check(
            "mail.read",
            "read the school's mail",
            json!({"part": 2}),
            json!({}),
        );
        check(
            "mail.read",
            "part two of it",
            json!({"part": 2}),
            json!({"part": 2}),
        );
        check(
            "mail.recent",
            "my newest mail",
            json!({"count": 1}),
            json!({"count": 1}),
        );
        check("mail.recent", "any new mail", json!({"count": 10}), json!({}));
        check(
            "assistant.undo",
            "undo all of that",
            json!({"steps": 3}),
            json!({"steps": 3}),
        );
        check(
            "calendar.find_slots",
            "when am I free",
            json!({"count": 3}),
            json!({"count": 3}),
        );
        check("mail.recent", "any mail", json!([5]), json!([5]));
    }
}
