//! What holds for every pattern of the catalogue, and what becomes of words that are nearly one.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    sync::LazyLock,
    time::Instant,
};

use proptest::prelude::*;
use serde_json::json;

use super::{pattern::readings, slots::Kind, *};
use crate::{ALL, discover::Index, testing};

static REFLEXES: LazyLock<Reflexes> = LazyLock::new(|| Reflexes::of(ALL));

/// Values as people say them, of every kind.
fn samples(kind: &Kind) -> Vec<&'static str> {
    match kind {
        Kind::One(_) | Kind::Switch | Kind::Number(..) => Vec::new(),
        Kind::Length => vec![
            "ten minutes",
            "an hour and a half",
            "90 seconds",
            "twenty five minutes",
            "2 hours",
        ],
        Kind::Moment => vec![
            "seven",
            "half past six",
            "7:30 am",
            "eight o'clock tomorrow",
            "a quarter to nine",
        ],
        Kind::Day => vec!["tomorrow", "today", "this weekend", "friday", "next week"],
        Kind::Date => vec!["next friday", "easter", "christmas eve", "tomorrow"],
        Kind::Sum => vec![
            "fifteen percent of two hundred",
            "12 times 7",
            "2 + 2",
            "nine minus three",
        ],
        Kind::Amount => vec!["ten", "2.5", "three"],
        Kind::Unit => vec!["miles", "cm", "kilograms"],
        Kind::Place => vec!["tokyo", "new york"],
    }
}

/// Words with which a slot can be filled, and the value that they are.
fn values(kind: &Kind) -> Vec<(String, Value)> {
    match kind {
        Kind::One(all) => all
            .iter()
            .map(|one| (one.join(" "), json!(one.join(" "))))
            .collect(),
        Kind::Switch => vec![("on".into(), json!(true)), ("off".into(), json!(false))],
        Kind::Number(least, most) => {
            let some = [("2", 2), ("thirty", 30), ("75", 75), ("one", 1)];
            let fits = some.iter().filter(|(_, n)| (least..=most).contains(&n));
            fits.map(|(said, n)| ((*said).to_owned(), json!(n))).collect()
        }
        kind => samples(kind)
            .into_iter()
            .map(|said| (said.to_owned(), json!(said)))
            .collect(),
    }
}

/// A reading filled with values: what is said, and the arguments that it means. Each turn has other values.
fn filled(reading: &Reading, turn: usize) -> (String, Value) {
    let mut words = Vec::new();
    let mut arguments = reading.fixed.clone();
    for part in &reading.parts {
        match part {
            Part::Word(word) => words.push(word.clone()),
            Part::Slot { name, kind } => {
                let all = values(kind);
                let (said, value) = all[(turn + arguments.len()) % all.len()].clone();
                words.push(said);
                arguments.insert(name.clone(), value);
            }
        }
    }
    (words.join(" "), Value::Object(arguments))
}

/// Every reading with every value at least once.
fn everything() -> impl Iterator<Item = (&'static Reading, String, Value)> {
    REFLEXES.readings.iter().flat_map(|reading| {
        let slots = reading.parts.iter().any(|part| matches!(part, Part::Slot { .. }));
        let turns = if slots { 6 } else { 1 };
        (0..turns).map(move |turn| {
            let (said, arguments) = filled(reading, turn);
            (reading, said, arguments)
        })
    })
}

/// Each pattern can be read, names arguments that exist with a type that can be checked, and fills all that are required:
/// else it would have been left out.
#[test]
fn every_pattern_is_of_use() {
    let mut count = 0;
    for entry in ALL {
        let schema = entry.parameters();
        for pattern in entry.patterns {
            let all = readings(entry.name, pattern, &schema);
            count += all
                .unwrap_or_else(|error| panic!("{}: {pattern:?}: {error}", entry.name))
                .len();
        }
    }
    let tools = ALL.iter().filter(|entry| !entry.patterns.is_empty()).count();
    println!("{tools} tools, {count} ways to say something");
    assert!(tools > 40 && count > 500, "{tools} tools, {count} readings");
}

/// Whatever is said by a pattern is the call of its own tool with the arguments that were said, whatever the other tools
/// declare; and the tool takes these arguments.
#[test]
fn a_pattern_is_its_own_call_and_no_other_tools() {
    let root = tempfile::tempdir().unwrap();
    let ctx = testing::ctx(root.path());
    let mut wrong = Vec::new();
    for (reading, said, arguments) in everything() {
        let found = REFLEXES.find(&said);
        let expect = Reflex {
            name: reading.tool,
            arguments,
        };
        if found.as_ref() != Some(&expect) {
            wrong.push(format!("{said:?}: {found:?} instead of {expect:?}"));
        }
        let entry = crate::find(reading.tool).unwrap();
        if let Err(crate::ToolError::Misfit(why)) = entry.preview(expect.arguments, &ctx) {
            wrong.push(format!("{said:?}: {why}"));
        }
    }
    assert!(
        wrong.is_empty(),
        "{} are wrong:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

/// The index and the patterns do not disagree about what somebody wants: each finds the tool that the other finds.
#[test]
fn the_index_ranks_the_same_tool_first() {
    let index = Index::of(ALL);
    let mut wrong = Vec::new();
    for reading in &REFLEXES.readings {
        let (said, _) = filled(reading, 0);
        let best = index.search(&said, None, 1, 0.0);
        let best = best.first().map_or("nothing", |hit| hit.name.as_str());
        if best != reading.tool {
            wrong.push(format!("{said:?} is {}, the index says {best}", reading.tool));
        }
    }
    assert!(
        wrong.is_empty(),
        "{} are wrong:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

#[track_caller]
fn check(said: &str, expect: Option<(&str, Value)>) {
    let found = REFLEXES.find(said).map(|found| (found.name, found.arguments));
    assert_eq!(found, expect, "{said:?}");
}

#[test]
fn complete_requests_are_calls() {
    let timer = |length: &str| Some(("timers.set", json!({ "duration": length })));
    check("set a timer for ten minutes", timer("ten minutes"));
    check(
        "Could you please set a timer for 10 minutes, please?",
        timer("10 minutes"),
    );
    check("Set a twenty-five minute timer.", timer("twenty five minute"));
    check("pause", Some(("media.pause", json!({}))));
    check("Pause!", Some(("media.pause", json!({}))));
    check(
        "volume thirty percent",
        Some(("system.set_volume", json!({"percent": 30}))),
    );
    check("Volume 30%", Some(("system.set_volume", json!({"percent": 30}))));
    check(
        "set the volume to 30",
        Some(("system.set_volume", json!({"percent": 30}))),
    );
    check(
        "turn on the Wi-Fi",
        Some(("system.wifi", json!({"action": "on"}))),
    );
    check(
        "What's on my calendar tomorrow?",
        Some(("calendar.query", json!({"when": "tomorrow"}))),
    );
    check("what’s the time", Some(("clock.now", json!({}))));
    check("whats the time", Some(("clock.now", json!({}))));
    check(
        "wake me up at seven",
        Some(("alarms.set", json!({"time": "seven"}))),
    );
}

#[test]
fn anything_less_than_complete_is_left_to_the_model() {
    for said in [
        "",
        "please",
        "...",
        "don't set a timer for ten minutes",
        "do not pause",
        "no pause",
        "set a timer",
        "set a timer for a while",
        "set a timer for a few minutes",
        "set a timer for ten",
        "set a timer for ten minutes called eggs",
        "set a timer for ten minutes and pause",
        "set a timer for ten minutes no twenty",
        "set an alarm for ten minutes",
        "set an alarm for tomorrow",
        "pause it when the song is over",
        "pause spotify",
        "volume",
        "volume a lot",
        "volume 130 percent",
        "volume thirty percent louder",
        "turn the wifi list",
        "what is on my work list",
        "what is ten",
        "what is love",
        "what time is it in narnia",
        "how many crows are in 10 murders",
        "lock the screen in ten minutes",
        "why is the screen locked",
        "can i set a timer for ten minutes",
    ] {
        check(said, None);
    }
    let long = "set a timer for ten minutes ".repeat(2000);
    assert_eq!(REFLEXES.find(&long), None);
}

#[test]
fn patterns_that_say_nothing_sure_are_refused() {
    let schema = json!({
        "properties": {
            "text": {"type": "string"}, "count": {"type": "integer", "minimum": 1},
            "mode": {"type": "string", "enum": ["fast", "slow"]}, "on": {"type": "boolean"},
            "items": {"type": "array", "items": {"type": "string"}}
        },
        "required": ["mode"]
    });
    for (pattern, why) in [
        ("go {mode} {text}", "nothing can check"),
        ("go {mode} {text:words}", "nothing can check"),
        ("go {mode} {items}", "nothing can check"),
        ("go {mode:quick}", "nothing can check"),
        ("go {speed}", "no argument"),
        ("go", "mode is required"),
        ("go [{mode}]", "mode is required"),
        ("{mode}", "alone"),
        ("go {mode} {mode}", "twice"),
        ("go {mode} -> mode=fast", "twice"),
        ("go -> mode=quick", "no value"),
        ("go -> mode", "argument=value"),
        ("go {mode} (now", "not closed"),
        ("go {mode} now)", "closes nothing"),
        ("go {mode", "not closed"),
        ("Go {mode}", "lower case"),
        ("go, {mode}", "lower case"),
        ("", "alone"),
    ] {
        let found = readings("test.go", pattern, &schema);
        let error = found.expect_err(pattern).to_string();
        assert!(error.contains(why), "{pattern:?}: {error}");
    }
    let many = format!("go {{mode}} {}", "[a|b|c|d] ".repeat(6));
    assert!(
        readings("test.go", &many, &schema).is_err(),
        "a bound on the ways to say it"
    );
    let deep = format!("go {{mode}} {}a{}", "[".repeat(50), "]".repeat(50));
    assert!(
        readings("test.go", &deep, &schema).is_err(),
        "a bound on the depth"
    );
    let good = readings(
        "test.go",
        "[now] go {mode} (at once|soon) -> on=true, count=2",
        &schema,
    )
    .unwrap();
    assert_eq!(good.len(), 4);
    assert_eq!(
        Value::Object(good[0].fixed.clone()),
        json!({"on": true, "count": 2})
    );
}

/// Patterns stand for ways to speak that others have, too: none of what thousands of people said, who did not know them,
/// becomes a call of a tool that does not serve it, but for those that somebody looked at (each with its reason).
#[test]
fn what_people_said_is_matched_rightly_or_not_at_all() {
    /// What the labels of the data say otherwise, and why a pattern is right about it.
    const LABELLED_OTHERWISE: &[(&str, &str)] = &[
        // Conversions, labelled as sums or as served by nothing; the same words with other units are labelled as conversions.
        ("convert one kilo to pound", "calc.convert_units"),
        ("convert ten inches to centimeters", "calc.convert_units"),
        ("convert ten miles to kilometers", "calc.convert_units"),
        ("how many cups are in a quart", "calc.convert_units"),
        ("how many cups in a quart", "calc.convert_units"),
        (
            "how many kilograms is two hundred and ten pounds",
            "calc.convert_units",
        ),
        ("how many months in a year", "calc.convert_units"),
        ("how many tablespoons are there in a cup", "calc.convert_units"),
        ("how many teaspoons are in a cup", "calc.convert_units"),
        // Nothing in the data is labelled as a call of the assistant's own tools, whose examples these are.
        ("could you repeat that.", "assistant.repeat"),
        ("please repeat that.", "assistant.repeat"),
        ("please would you repeat that.", "assistant.repeat"),
        ("repeat that.", "assistant.repeat"),
        ("say that again.", "assistant.repeat"),
        ("what can you do", "assistant.help"),
        // Labelled as the volume, the next song, the radio or the alarm by those who had no tool to pause, to unmute or to
        // snooze.
        ("pause the music", "media.pause"),
        ("please pause the song", "media.pause"),
        ("stop playing", "media.pause"),
        ("please skip to the next song", "media.next"),
        ("snooze", "reminders.snooze"),
        ("unmute", "system.mute"),
        // The date is no event, and reminders are none.
        ("what date is it", "clock.now"),
        ("what day is it", "clock.now"),
        ("what date is tomorrow", "clock.resolve"),
        ("what is today's date", "clock.now"),
        ("what reminders do i have", "reminders.list"),
    ];
    let mut lines: Vec<(&str, String, String, Vec<String>)> = Vec::new();
    for (file, field) in [
        ("slurp/commands.jsonl", "say"),
        ("slurp/commands.jsonl", "asr"),
        ("train/utterances.jsonl", "say"),
    ] {
        let Some(path) = testing::data(file) else { return };
        for line in fs::read_to_string(path).unwrap().lines() {
            let line: Value = serde_json::from_str(line).unwrap();
            let accept = line["accept"].as_array().unwrap();
            let accept = accept
                .iter()
                .map(|name| name.as_str().unwrap().to_owned())
                .collect();
            lines.push((
                file,
                field.to_owned(),
                line[field].as_str().unwrap().to_owned(),
                accept,
            ));
        }
    }
    let started = Instant::now();
    let found: Vec<Option<Reflex>> = lines.iter().map(|(_, _, said, _)| REFLEXES.find(said)).collect();
    let each = started.elapsed() / u32::try_from(lines.len()).unwrap();
    let (mut right, mut wrong) = (BTreeMap::<&str, usize>::new(), Vec::new());
    let (mut otherwise, mut seen) = (0, BTreeSet::new());
    for ((_, _, said, accept), found) in lines.iter().zip(&found) {
        let Some(found) = found else { continue };
        if accept.iter().any(|name| name == found.name) {
            *right.entry(found.name).or_default() += 1;
        } else if LABELLED_OTHERWISE.contains(&(said.as_str(), found.name)) {
            otherwise += 1;
            seen.insert(said.as_str());
        } else {
            wrong.push(format!(
                "{said:?} is {} {}, not {accept:?}",
                found.name, found.arguments
            ));
        }
    }
    let good: usize = right.values().sum();
    println!(
        "of {} requests {good} match as labelled, {otherwise} otherwise but rightly, {} wrongly; {each:?} each\n{right:#?}",
        lines.len(),
        wrong.len()
    );
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert_eq!(
        seen.len(),
        LABELLED_OTHERWISE.len(),
        "each of the exceptions is one"
    );
    assert!(good > 600, "patterns that nobody says are of no use: {good}");
}

proptest! {
    /// Words of patterns in any order, with values between them: nothing panics, and what is found is what a reading of
    /// the tool says.
    #[test]
    fn any_words_are_looked_at_safely(words in prop::collection::vec(
        prop::sample::select(vec![
            "set", "a", "timer", "for", "ten", "minutes", "pause", "the", "volume", "percent", "what", "is", "on", "my",
            "calendar", "tomorrow", "wake", "me", "up", "at", "seven", "how", "many", "miles", "in", "km", "-", "%", "’s",
        ]), 0..12)
    ) {
        let said = words.join(" ");
        if let Some(found) = REFLEXES.find(&said) {
            let entry = crate::find(found.name).unwrap();
            prop_assert!(!entry.patterns.is_empty());
            prop_assert!(found.arguments.is_object());
        }
    }

    #[test]
    fn hostile_text_is_looked_at_safely(said in "\\PC{0,200}") {
        let _ = REFLEXES.find(&said);
    }
}
