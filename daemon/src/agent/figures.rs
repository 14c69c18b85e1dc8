//! Which one and how many, as it was said: small models leave out the one number of a sentence, or write one that nobody said.
//!
//! Where a place in a list ("the second one", "both of them") or a percentage stands in a sentence is known without a model. An
//! argument that its own description wants only if it was said is not made up.

use serde_json::{Map, Value};
use tools::{
    discover::words::is_number,
    system::sums::expression,
    when::{is_time, sounds_like, whole_number},
};

use super::{names::words, schema::is_free_text};

/// The argument that says which of several is meant.
const WHICH: &str = "which";
/// The one that says how many.
const COUNT: &str = "count";
/// The one that is calculated, and how many words may say what is done with the numbers.
const SUM: &str = "expression";
const LONGEST_LEAD: usize = 4;
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
/// The same of several.
const MANY: &[&str] = &["ones", "mails", "emails", "messages"];
/// What stands for them.
const THEM: &[&str] = &["them", "these", "those"];
/// So far behind "both" its kind may stand: "both Garden Weekly mails".
const BETWEEN: usize = 3;
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
    settle_sum(given, schema, said);
    let said: Vec<String> = words(&said.replace('%', " percent ")).collect();
    settle_percent(given, schema, &said);
    settle_which(given, schema, &said);
    settle_count(given, schema, &said);
    let counted = said
        .iter()
        .any(|word| is_number(word) || PLACES.contains(&word.as_str()) || COUNTS.contains(&word.as_str()));
    if !counted {
        // One is how many a single thing is: "my last mail".
        given.retain(|name, value| value.as_u64().is_none_or(|n| n < 2) || !only_if_said(schema, name));
    }
}

/// How many was said before their place: "the two newest files", where a recogniser may have heard "to" or "for". Weeks are no
/// things that are listed.
fn settle_count(given: &mut Map<String, Value>, schema: &Value, said: &[String]) {
    if schema["properties"][COUNT]["type"] != "integer" {
        return;
    }
    let number = |word: &String| match word.as_str() {
        "to" | "too" | "for" => sounds_like(word),
        _ => whole_number(word),
    };
    let counted = said.windows(4).find_map(|run| {
        let several = ["the", "my", "your"].contains(&run[0].as_str())
            && PLACES.contains(&run[2].as_str())
            && run[3].ends_with('s')
            && !is_time(&format!("two {}", run[3]));
        number(&run[1]).filter(|number| several && *number > 1)
    });
    if let Some(number) = counted {
        given.insert(COUNT.into(), number.into());
    }
}

/// What is done with the numbers of a sum, where the model left it out: "add up 12, 8 and 31" without the adding.
fn settle_sum(given: &mut Map<String, Value>, schema: &Value, said: &str) {
    let written = given.get(SUM).and_then(Value::as_str);
    let Some(written) = written.filter(|text| is_free_text(&schema["properties"][SUM]) && !is_sum(text))
    else {
        return;
    };
    let Some(at) = said.find(written) else { return };
    let before = said[..at].rmatch_indices(char::is_whitespace);
    let starts = before.map(|(at, space)| at + space.len()).chain([0]);
    let whole = starts
        .skip(1)
        .take(LONGEST_LEAD)
        .map(|start| said[start..at + written.len()].trim())
        .find(|text| is_sum(text));
    if let Some(whole) = whole.map(str::to_owned) {
        given.insert(SUM.into(), whole.into());
    }
}

fn is_sum(text: &str) -> bool {
    expression(text).is_ok()
}

fn only_if_said(schema: &Value, name: &str) -> bool {
    let description = schema["properties"][name]["description"].as_str();
    description.is_some_and(|text| IF_SAID.iter().any(|said| text.contains(said)))
}

/// Where one percentage was said, it is the one, unless the model took another number of the sentence or it says how things are.
/// "To twenty percent" is where it ends, whichever way that is.
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
    let Some((start, number)) = number_before(said, sign) else {
        return;
    };
    let is_said = |wanted: u64| {
        (1..=said.len())
            .any(|end| number_before(said, end).is_some_and(|(_, number)| u64::from(number) == wanted))
    };
    if given.get(PERCENT).and_then(Value::as_u64).is_some_and(is_said) {
        return;
    }
    let lead = said[..start].last().map_or("", String::as_str);
    if STATES.contains(&lead) || (lead == "at" && said[..start].iter().any(|word| is_state(word))) {
        return;
    }
    if ["to", "at"].contains(&lead) {
        given.shift_remove(DIRECTION);
    }
    given.insert(PERCENT.into(), number.into());
}

/// The longest number that ends before this word, and where it begins.
pub(super) fn number_before(said: &[String], end: usize) -> Option<(usize, u32)> {
    (1..=LONGEST_NUMBER.min(end)).rev().find_map(|length| {
        let number = whole_number(&said[end - length..end].join(" "))?;
        Some((end - length, number))
    })
}

/// What stands before a number that says how things are.
const STATES: &[&str] = &["from", "is", "was", "currently", "already"];

fn is_state(word: &str) -> bool {
    STATES.contains(&word) || word.ends_with("'s") && word != "let's"
}

/// Which one of a list was said, where the model left it out: it takes "the second one" for the thing itself.
fn settle_which(given: &mut Map<String, Value>, schema: &Value, said: &[String]) {
    let which = &schema["properties"][WHICH];
    // What the model wrote stays where the person said it.
    let is_said = |text: &str| {
        let mut all = words(text).peekable();
        all.peek().is_some() && all.all(|word| said.contains(&word))
    };
    let written = given.get(WHICH).and_then(Value::as_str);
    if !is_free_text(which) || written.is_some_and(is_said) {
        return;
    }
    // What was dictated, or names the thing otherwise, counts none of the list.
    let elsewhere = |run: &[String]| {
        let texts = given.iter().filter(|(name, _)| *name != WHICH);
        let texts = texts.filter_map(|(_, value)| Some(words(value.as_str()?).collect::<Vec<_>>()));
        texts
            .into_iter()
            .any(|text| text.windows(run.len()).any(|part| part == run))
    };
    let word = |at: usize| said.get(at).map_or("", String::as_str);
    let placed = (1..said.len()).find(|at| {
        let last = at + 1 == said.len();
        let lead = LEADS.contains(&word(at - 1)) && (!last || !["that", "this"].contains(&word(at - 1)));
        PLACES.contains(&word(*at))
            && lead
            && (last || THINGS.contains(&word(at + 1)))
            && !elsewhere(&said[*at..(at + 2).min(said.len())])
    });
    let several = which["description"]
        .as_str()
        .is_some_and(|text| text.contains("all"));
    let place = match placed {
        // "The second one" and not "the second", which may be of a minute.
        Some(at) if at + 1 < said.len() => format!("{} one", word(at)),
        Some(at) => word(at).to_owned(),
        None if several && !matches!(written, Some("this" | "it" | "that")) => {
            let found = (0..said.len()).find(|at| is_every(said, *at) && !elsewhere(&said[*at..=*at]));
            match found {
                Some(at) => word(at).to_owned(),
                None => return,
            }
        }
        None => return,
    };
    given.insert(WHICH.into(), place.into());
}

/// Whether the word there means all of a list: "both of them", "both newsletter mails", "delete them all", and not "that's all".
fn is_every(said: &[String], at: usize) -> bool {
    let is_them = |word: Option<&String>| word.is_some_and(|word| THEM.contains(&word.as_str()));
    let behind = &said[at + 1..];
    match said[at].as_str() {
        "both" => {
            let next = behind.first();
            let kind = behind
                .iter()
                .take(BETWEEN)
                .any(|word| MANY.contains(&word.as_str()));
            next.is_none_or(|next| next == "of") || is_them(next) || kind
        }
        "all" => {
            let behind = behind.iter().find(|word| *word != "of");
            is_them(behind) || is_them(said[..at].last())
        }
        _ => false,
    }
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
        // Nor does what is dictated, or "first" for "before the rest", count a mail.
        check(
            "mail.reply",
            "reply to Tom that I prefer the second one",
            json!({"from": "Tom", "text": "I prefer the second one"}),
            json!({"from": "Tom", "text": "I prefer the second one"}),
        );
        check("mail.archive", "archive this first", json!({}), json!({}));
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
            ("put both newsletter mails in the bin", json!({"which": "both"})),
            ("throw both Garden Weekly mails away", json!({"which": "both"})),
            ("delete all of them", json!({"which": "all"})),
            ("delete them all", json!({"which": "all"})),
            ("delete the mail about all hands", json!({})),
            ("delete the mail from Anna, that's all", json!({})),
            ("delete it after all", json!({})),
            ("delete the mail about both schools", json!({})),
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
        // How it is now is not how it shall be.
        check(
            tool,
            "the volume is at eighty percent, turn it down",
            json!({"direction": "down"}),
            json!({"direction": "down"}),
        );
        check(
            tool,
            "take it down from eighty percent to twenty",
            json!({"percent": 20}),
            json!({"percent": 20}),
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
    fn how_many_there_were_is_said_before_their_place() {
        for said in ["show me the two newest files", "show me the to newest files"] {
            check("files.recent", said, json!({"count": 5}), json!({"count": 2}));
        }
        check(
            "files.recent",
            "the newest files",
            json!({"count": 5}),
            json!({"count": 5}),
        );
        check("files.recent", "the one newest file", json!({}), json!({}));
        let slots = "find half an hour in the two next weeks";
        check("calendar.find_slots", slots, json!({}), json!({}));
    }

    #[test]
    fn what_is_done_with_the_numbers_belongs_to_the_sum() {
        let check = |said: &str, given: &str, expect: &str| {
            let given = json!({"expression": given});
            check("calc.evaluate", said, given, json!({"expression": expect}));
        };
        check(
            "add up 12.50, 8.75 and 31",
            "12.50, 8.75 and 31",
            "add up 12.50, 8.75 and 31",
        );
        check("please add five and six", "five and six", "add five and six");
        check("what is five plus six", "five plus six", "five plus six");
        check("tell me about five and six", "five and six", "five and six");
        check("tell me\u{a0}about five and six", "five and six", "five and six");
        check(
            "add\u{3000}up five and six",
            "five and six",
            "add\u{3000}up five and six",
        );
    }

    #[test]
    fn a_number_that_nobody_said_is_left_out_where_it_has_to_be_said() {
        // The next part is gone on to without its number.
        check("mail.read", "go on", json!({"part": 2}), json!({"part": 2}));
        check(
            "mail.recent",
            "mail of the school",
            json!({"count": 2}),
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
