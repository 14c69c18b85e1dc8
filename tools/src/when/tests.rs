//! Tables of expressions and what they mean, properties, and the public recogniser set.

use std::collections::BTreeMap;

use jiff::{Zoned, civil::DateTime, tz::TimeZone};
use proptest::prelude::*;
use serde_json::Value;

use super::*;

mod again;
mod holidays;
mod spoken;

/// A Friday.
fn now() -> Zoned {
    at("2026-10-02T10:20:00", "Europe/Berlin")
}

fn at(civil: &str, zone: &str) -> Zoned {
    let civil: DateTime = civil.parse().unwrap();
    civil.to_zoned(TimeZone::get(zone).unwrap()).unwrap()
}

/// Writes a value as the tables do: local times without a zone, `start..end`, seconds.
fn short(value: &When) -> String {
    let civil = |z: &Zoned| z.datetime().strftime("%Y-%m-%dT%H:%M").to_string();
    let side = |z: &Option<Zoned>| z.as_ref().map(civil).unwrap_or_default();
    match value {
        When::Date(date) => date.to_string(),
        When::Time(time) => time.strftime("%H:%M").to_string(),
        When::DateTime { at, .. } => civil(at),
        When::Range { start, end } => {
            let (start, end) = (side(start), side(end));
            let day = |s: String| s.strip_suffix("T00:00").map(str::to_owned).unwrap_or(s);
            format!("{}..{}", day(start), day(end))
        }
        When::Duration { seconds, .. } => format!("{seconds}s"),
        When::Recurrence {
            rrule,
            first,
            all_day,
            seconds,
        } => {
            let first = if *all_day {
                first.date().to_string()
            } else {
                civil(first)
            };
            let long = seconds.map(|s| format!(" {s}s")).unwrap_or_default();
            format!("{rrule} {first}{long}")
        }
    }
}

fn said(text: &str, hint: Hint) -> String {
    match resolve(text, &now(), hint) {
        Ok(resolved) => short(&resolved.value),
        Err(error) => format!("{error:?}"),
    }
}

#[track_caller]
fn table(hint: Hint, rows: &[(&str, &str)]) {
    let wrong: Vec<String> = rows
        .iter()
        .filter(|(text, expect)| said(text, hint) != *expect)
        .map(|(text, expect)| format!("{text:?}: {} instead of {expect}", said(text, hint)))
        .collect();
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn days() {
    table(
        Hint::Future,
        &[
            ("today", "2026-10-02"),
            ("Tomorrow", "2026-10-03"),
            ("the day after tomorrow", "2026-10-04"),
            ("the day before yesterday", "2026-09-30"),
            ("monday", "2026-10-05"),
            ("friday", "2026-10-02"),
            ("this sunday", "2026-10-04"),
            ("next tuesday", "2026-10-06"),
            ("last wednesday", "2026-09-23"),
            ("monday next week", "2026-10-05"),
            ("the 3rd of may", "2027-05-03"),
            ("march 5", "2027-03-05"),
            ("march the fifth", "2027-03-05"),
            ("december twenty fourth twenty twenty six", "2026-12-24"),
            ("friday the 13th", "2026-11-13"),
            ("5/3", "2027-05-03"),
            ("25/12", "2026-12-25"),
            ("the last friday of march", "2027-03-26"),
            ("first monday of next month", "2026-11-02"),
            ("in two weeks", "2026-10-16"),
            ("three weeks from tomorrow", "2026-10-24"),
            ("a week ago", "2026-09-25"),
            ("2026-12-01", "2026-12-01"),
        ],
    );
}

#[test]
fn times() {
    table(
        Hint::Future,
        &[
            ("half past nine", "21:30"),
            ("half past ten", "10:30"),
            ("9:30 am", "09:30"),
            ("9 30", "21:30"),
            ("five p m", "17:00"),
            ("5 p.m.", "17:00"),
            ("at five", "17:00"),
            ("noon", "12:00"),
            ("midnight", "00:00"),
            ("quarter to six", "17:45"),
            ("a quarter past six", "18:15"),
            ("at five to seven", "18:55"),
            ("twenty to nine", "20:40"),
            ("five hundred and thirty am", "05:30"),
            ("three and forty five pm", "15:45"),
            ("mid day", "12:00"),
            ("nine oh five", "21:05"),
            ("seventeen thirty", "17:30"),
            ("seven in the morning", "07:00"),
            ("eleven o'clock", "11:00"),
            ("12:30 am", "00:30"),
        ],
    );
}

#[test]
fn moments() {
    table(
        Hint::Future,
        &[
            ("next tuesday at half past nine", "2026-10-06T09:30"),
            ("tomorrow at five", "2026-10-03T17:00"),
            ("tomorrow at nine", "2026-10-03T09:00"),
            ("friday at nine am", "2026-10-09T09:00"),
            ("friday at noon", "2026-10-02T12:00"),
            ("in 20 minutes", "2026-10-02T10:40"),
            ("in an hour and a half", "2026-10-02T11:50"),
            ("half an hour from now", "2026-10-02T10:50"),
            ("an hour ago", "2026-10-02T09:20"),
            ("tonight at eight", "2026-10-02T20:00"),
            ("tonight at one", "2026-10-03T01:00"),
            ("on wednesday eight hundred am", "2026-10-07T08:00"),
            ("tomorrow saturday at eight am", "2026-10-03T08:00"),
            ("five thirty tomorrow evening", "2026-10-03T17:30"),
            ("march 5 9 30", "2027-03-05T09:30"),
            ("march fifth at nine a m", "2027-03-05T09:00"),
            ("9am on tuesday", "2026-10-06T09:00"),
            ("now", "2026-10-02T10:20"),
            ("2026-12-01T09:30", "2026-12-01T09:30"),
            ("2026-12-01T09:30:00Z", "2026-12-01T10:30"),
            ("2026-12-01 09:30", "2026-12-01T09:30"),
        ],
    );
}

#[test]
fn ranges() {
    table(
        Hint::Future,
        &[
            ("this week", "2026-09-28..2026-10-05"),
            ("next week", "2026-10-05..2026-10-12"),
            ("this weekend", "2026-10-03..2026-10-05"),
            ("next month", "2026-11-01..2026-12-01"),
            ("march", "2027-03-01..2027-04-01"),
            ("the next three days", "2026-10-03..2026-10-06"),
            ("the first week of june", "2027-05-31..2027-06-07"),
            ("tomorrow morning", "2026-10-03T08:00..2026-10-03T12:00"),
            ("this afternoon", "2026-10-02T12:00..2026-10-02T16:00"),
            ("tomorrow from 3 to 5", "2026-10-03T15:00..2026-10-03T17:00"),
            (
                "from three to five tomorrow",
                "2026-10-03T15:00..2026-10-03T17:00",
            ),
            (
                "between 10 and 11:30 tomorrow",
                "2026-10-03T10:00..2026-10-03T11:30",
            ),
            ("monday 3-8 pm", "2026-10-05T15:00..2026-10-05T20:00"),
            (
                "tomorrow at nine for two hours",
                "2026-10-03T09:00..2026-10-03T11:00",
            ),
            ("tomorrow before 5pm", "..2026-10-03T17:00"),
            ("after lunch", "2026-10-02T13:00.."),
            ("from monday to wednesday", "2026-10-05..2026-10-07"),
            ("2026-12-01/2026-12-03", "2026-12-01..2026-12-03"),
        ],
    );
    table(
        Hint::Schedule,
        &[
            ("tomorrow morning", "2026-10-03T08:00..2026-10-03T12:00"),
            ("from monday to wednesday", "2026-10-05..2026-10-08"),
        ],
    );
    table(
        Hint::Search,
        &[
            ("tomorrow morning", "2026-10-03T05:00..2026-10-03T12:00"),
            ("from monday to wednesday", "2026-10-05..2026-10-08"),
            ("the next three days", "2026-10-02..2026-10-06"),
            ("until sunday", "..2026-10-05"),
            ("the rest of the day", "2026-10-02T10:20..2026-10-03"),
            ("for the rest of the week", "2026-10-02T10:20..2026-10-05"),
            ("in the month of march", "2027-03-01..2027-04-01"),
            (
                "on between three and four pm today",
                "2026-10-02T15:00..2026-10-02T16:00",
            ),
        ],
    );
}

#[test]
fn lengths() {
    table(
        Hint::Length,
        &[
            ("an hour and a half", "5400s"),
            ("an hour and ten", "4200s"),
            ("two hours and twenty five", "8700s"),
            ("20 minutes", "1200s"),
            ("thirty second", "30s"),
            ("ten", "600s"),
            ("two and a half hours", "9000s"),
            ("2.5 hrs", "9000s"),
            ("an hour and twenty minutes", "4800s"),
            ("three quarters of an hour", "2700s"),
            ("half an hour", "1800s"),
            ("1h 30m", "5400s"),
            ("90 seconds", "90s"),
            ("PT30M", "1800s"),
            ("a couple of days", "172800s"),
        ],
    );
}

#[test]
fn what_is_no_time_is_refused() {
    for text in [
        "",
        " ",
        "hello",
        "the dentist",
        "tomorrow and the dentist",
        "25:00",
        "9:75",
        "feb 30 2027",
        "13:00 am",
        "🦀",
        "the",
        "99999999999999999999",
        "in 99999999 years",
        "0th of may",
        "5555555 weeks ago",
    ] {
        assert!(
            resolve(text, &now(), Hint::Future).is_err(),
            "{text:?} gave {}",
            said(text, Hint::Future)
        );
    }
    assert_eq!(
        resolve(&"a".repeat(201), &now(), Hint::Future),
        Err(WhenError::TooLong)
    );
    assert!(matches!(
        resolve("feb 30 2027", &now(), Hint::Future),
        Err(WhenError::NoSuchDate(_))
    ));
}

#[test]
fn other_readings_are_kept() {
    let resolved = resolve("at five", &now(), Hint::Future).unwrap();
    assert_eq!(
        resolved.alternatives.iter().map(short).collect::<Vec<_>>(),
        ["05:00"]
    );
    let resolved = resolve("next monday", &at("2026-09-30T09:00:00", "UTC"), Hint::Future).unwrap();
    assert_eq!(short(&resolved.value), "2026-10-05");
    let resolved = resolve("next friday", &at("2026-09-30T09:00:00", "UTC"), Hint::Future).unwrap();
    assert_eq!(short(&resolved.value), "2026-10-09");
    assert_eq!(
        resolved.alternatives.iter().map(short).collect::<Vec<_>>(),
        ["2026-10-02"]
    );
}

#[test]
fn the_past_wins_where_something_happened() {
    table(
        Hint::Past,
        &[
            ("monday", "2026-09-28"),
            ("march", "2026-03-01..2026-04-01"),
            ("the 5th", "2026-09-05"),
        ],
    );
}

#[test]
fn clocks_that_jump_are_said() {
    // Clocks in New York go forward at 02:00 on 8 March 2026 and back at 02:00 on 1 November 2026.
    let check = |now: &str, text: &str, expect: &str, shift: Option<Shift>| {
        let resolved = resolve(text, &at(now, "America/New_York"), Hint::Future).unwrap();
        assert_eq!(
            (short(&resolved.value).as_str(), resolved.shift),
            (expect, shift),
            "{text}"
        );
    };
    check(
        "2026-03-07T12:00:00",
        "tomorrow at 2:30 am",
        "2026-03-08T03:30",
        Some(Shift::Skipped),
    );
    check(
        "2026-10-31T12:00:00",
        "tomorrow at 1:30 am",
        "2026-11-01T01:30",
        Some(Shift::Twice),
    );
    check(
        "2026-10-31T12:00:00",
        "tomorrow at 3 am",
        "2026-11-01T03:00",
        None,
    );
    // An hour is an hour, whatever the clocks show: 00:30 EDT plus two hours is 01:30 EST.
    check("2026-11-01T00:30:00", "in two hours", "2026-11-01T01:30", None);
    // A day in 24 hours by the clock is not a day by the calendar.
    check("2026-03-07T12:00:00", "in a day", "2026-03-08", None);
    // In Santiago midnight itself is skipped, and the day starts at one.
    let santiago = at("2026-09-05T12:00:00", "America/Santiago");
    let tomorrow = resolve("tomorrow", &santiago, Hint::Future).unwrap().value;
    let start = tomorrow.stretch(&santiago).unwrap().0.unwrap();
    assert_eq!(start.datetime().to_string(), "2026-09-06T01:00:00");
}

proptest! {
    #[test]
    fn nothing_panics(text in "\\PC{0,60}") {
        let _ = resolve(&text, &now(), Hint::Future);
    }

    #[test]
    fn no_mixture_of_its_own_words_panics(
        words in proptest::collection::vec(
            proptest::sample::select(vec![
                "next", "last", "this", "friday", "may", "the", "3rd", "29", "feb", "at", "half", "past", "quarter", "to", "of",
                "week", "weekend", "month", "year", "century", "in", "and", "a", "from", "between", "until", "9", "30", "9999",
                "2026", "99999999", ":", "/", "-", ".", "pm", "am", "noon", "tonight", "morning", "second", "twenty", "thousand",
                "hundred", "minutes", "days", "ago", "before", "after", "end", "late", "q", "4", "1990", "s", "years", "now", "eod",
                "every", "each", "other", "except", "for", "times", "daily", "mondays", "weekday", "once", "starting",
                "christmas", "easter", "eve", "new", "less", "more", "than", "business", "summer", ">", "=", "last", "christmas",
                "fortnight", "hours", "1600", "16.30", "today", "tomorrow", "to morrow", "ate", "first", "o'clock", "oh", "zero",
                "on", "monday", "monday week", "passed", "of the month",
            ]),
            0..9,
        ),
        hint in proptest::sample::select(vec![
            Hint::Future, Hint::Schedule, Hint::Wake, Hint::Past, Hint::Search, Hint::Length,
        ]),
    ) {
        let _ = resolve(&words.join(" "), &now(), hint);
        let _ = resolve(&words.join(" "), &at("9998-12-30T23:00:00", "UTC"), hint);
        let _ = resolve(&words.join(""), &at("-009998-01-02T00:00:00", "UTC"), hint);
        let sentence = words.join(" ");
        let mut rest = sentence.as_str();
        for mention in mentions(&sentence) {
            // In order, as it was said, and a time on its own.
            let place = rest.find(mention);
            prop_assert!(place.is_some(), "{mention:?} in {rest:?}");
            rest = &rest[place.unwrap_or_default() + mention.len()..];
            let understood = !matches!(
                resolve(mention, &now(), Hint::Search),
                Err(WhenError::NotATime(_) | WhenError::TooLong)
            );
            prop_assert!(understood, "{mention:?} in {sentence:?}");
        }
        let mut end = 0;
        for one in said_times(&sentence) {
            prop_assert!(one.place.start >= end && one.place.end > one.place.start, "{one:?} in {sentence:?}");
            end = one.place.end;
            prop_assert!(sentence.get(one.place.clone()).is_some(), "{one:?} in {sentence:?}");
        }
    }

    #[test]
    fn every_moment_reads_back(seconds in 0i64..4_000_000_000) {
        let then = jiff::Timestamp::from_second(seconds).unwrap().to_zoned(TimeZone::UTC);
        let text = then.datetime().to_string();
        let value = resolve(&text, &at("2026-10-02T10:20:00", "UTC"), Hint::Future).unwrap().value;
        prop_assert_eq!(value, When::DateTime { at: then.clone(), shift: None });
        let text = then.strftime("%-d %B %Y at %-I:%M %p").to_string();
        let value = resolve(&text, &at("2026-10-02T10:20:00", "UTC"), Hint::Future).unwrap().value;
        prop_assert_eq!(short(&value), then.strftime("%Y-%m-%dT%H:%M").to_string());
    }
}

#[test]
fn long_texts_take_little_time() {
    for words in [
        "every 9 to ",
        "9 ",
        "from 9 - ",
        "every day except ",
        "the first of ",
        "until ",
        "end of the ",
        "christmas ",
        "a hundred ",
        "a week on monday ",
        "monday week ",
        "at for ",
        "at for pm ",
        "16.30 ",
        "first of the ",
        "1600 hours ",
    ] {
        let text: String = words.chars().cycle().take(MAX_CHARS).collect();
        let start = std::time::Instant::now();
        for hint in [Hint::Future, Hint::Search, Hint::Wake, Hint::Length] {
            let _ = resolve(&text, &now(), hint);
        }
        assert!(
            start.elapsed().as_millis() < 1000,
            "{words:?} took {:?}",
            start.elapsed()
        );
    }
}

/// Microsoft's Recognizers-Text set: the share right by type. The floor is what was reached, so that it cannot sink unseen.
#[test]
fn recognizers() {
    let Some(path) = crate::testing::data("datetime/recognizers.jsonl") else {
        return;
    };
    let lines = std::fs::read_to_string(path).unwrap();
    let mut by_type: BTreeMap<String, (u32, u32, u32)> = BTreeMap::new();
    for line in lines.lines() {
        let row: Value = serde_json::from_str(line).unwrap();
        let text = row["say"].as_str().unwrap();
        let now = at(row["now"].as_str().unwrap(), "UTC");
        let kind = row["type"].as_str().unwrap();
        let expected: Vec<String> = row["values"].as_array().unwrap().iter().map(expected).collect();
        let resolved = resolve(text, &now, Hint::Future);
        let (got, others) = match &resolved {
            Ok(r) => (
                shown(&r.value, kind),
                r.alternatives.iter().map(|v| shown(v, kind)).collect(),
            ),
            Err(WhenError::NoSuchDate(_) | WhenError::Unsettled(_)) => {
                ("not resolved".to_owned(), Vec::new())
            }
            Err(_) => ("?".to_owned(), Vec::new()),
        };
        let count = by_type.entry(kind.to_owned()).or_default();
        count.0 += 1;
        if expected.contains(&got) {
            count.1 += 1;
            count.2 += 1;
        } else if others.iter().any(|o| expected.contains(o)) {
            count.2 += 1;
        } else if std::env::var_os("TIRO_SHOW").is_some() {
            eprintln!(
                "{kind:14} {text:?} at {}: {got} instead of {expected:?}",
                row["now"]
            );
        }
    }
    let mut total = (0, 0, 0);
    for (kind, (all, best, any)) in &by_type {
        eprintln!("{kind:14} {best:3} of {all:3} ({any} with the other readings)");
        total = (total.0 + all, total.1 + best, total.2 + any);
    }
    eprintln!("together       {} of {} ({})", total.1, total.0, total.2);
    assert!(total.1 * 100 >= total.0 * FLOOR, "{} of {}", total.1, total.0);
}

/// Percent of the recogniser set whose best reading is right.
const FLOOR: u32 = 97;

/// The set's values in the form of `shown`: what is not resolved is so in both.
fn expected(value: &Value) -> String {
    let field = |name: &str| value[name].as_str().map(str::to_owned);
    if value["type"] == "duration" {
        return format!("{}s", field("value").unwrap());
    }
    match field("value") {
        Some(value) if value.starts_with("not") => value,
        Some(value) => value.replace(' ', "T"),
        None => {
            let side = |name| field(name).unwrap_or_default().replace(' ', "T");
            format!("{}..{}", last_second(&side("start")), last_second(&side("end")))
        }
    }
}

/// The set ends a night a second early; our ends are exclusive.
fn last_second(text: &str) -> String {
    if text == "23:59:59" {
        return "00:00:00".to_owned();
    }
    match text.strip_suffix("T23:59:59") {
        Some(date) => format!("{}T00:00:00", date.parse::<Date>().unwrap().tomorrow().unwrap()),
        None => text.to_owned(),
    }
}

fn shown(value: &When, kind: &str) -> String {
    let civil = |z: &Zoned| z.datetime().strftime("%Y-%m-%dT%H:%M:%S").to_string();
    let side = |z: &Option<Zoned>| match (z, kind) {
        (None, _) => String::new(),
        (Some(z), "daterange") => z.date().to_string(),
        (Some(z), "timerange") => z.time().strftime("%H:%M:%S").to_string(),
        (Some(z), _) => civil(z),
    };
    match value {
        When::Date(date) => date.to_string(),
        When::Time(time) => time.strftime("%H:%M:%S").to_string(),
        When::DateTime { at, .. } if kind == "time" => at.time().strftime("%H:%M:%S").to_string(),
        When::DateTime { at, .. } => civil(at),
        When::Range { start, end } => format!("{}..{}", side(start), side(end)),
        When::Duration { seconds, .. } => format!("{seconds}s"),
        When::Recurrence { rrule, .. } => rrule.clone(),
    }
}
