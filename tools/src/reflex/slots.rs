//! What may stand in a slot of a pattern. Every kind is read completely or not at all; there is no kind for free text,
//! because nothing could tell where it ends, or whether it says something else than what it is for.

use jiff::Zoned;
use serde_json::Value;

use crate::{
    system::{places, sums, units},
    when::{self, Hint, When},
};

/// Words that leave open how much is meant.
const VAGUE: &[&str] = &[
    "about",
    "approximately",
    "around",
    "few",
    "roughly",
    "several",
    "some",
];

/// What may stand in a slot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kind {
    /// One of these, word for word: an enumeration of the schema, or one of the pattern's own.
    One(Vec<Vec<String>>),
    /// "on" or "off".
    Switch,
    /// A whole number within bounds, in figures or words.
    Number(u32, u32),
    /// How long: "ten minutes".
    Length,
    /// A time of day, with its day or its repetition where they are said: "seven tomorrow", "six on weekdays".
    Moment,
    /// A day or days: "tomorrow", "this weekend".
    Day,
    /// One day: "next friday", "christmas".
    Date,
    /// A sum with at least one operator.
    Sum,
    /// How much, in figures or words: "two and a half".
    Amount,
    /// A unit of measure by one of its own names.
    Unit,
    /// A city, a country or a time zone by one of its own names.
    Place,
}

impl Kind {
    /// The kind of an argument, from its schema and what the pattern says of it. `None` for what cannot be checked.
    pub fn of(property: &Value, said: Option<&str>) -> Option<Kind> {
        let list = |text: &str| Kind::One(text.split('|').map(split).collect());
        match (property["type"].as_str()?, said) {
            ("boolean", None) => Some(Kind::Switch),
            ("integer", bounds) => {
                let schema = |key: &str| property[key].as_u64().and_then(|n| u32::try_from(n).ok());
                let (mut least, mut most) = (
                    schema("minimum").unwrap_or(0),
                    schema("maximum").unwrap_or(u32::MAX),
                );
                if let Some(bounds) = bounds {
                    let (from, to) = bounds.split_once('-')?;
                    (least, most) = (least.max(from.parse().ok()?), most.min(to.parse().ok()?));
                }
                Some(Kind::Number(least, most))
            }
            ("string", said) => match (property["enum"].as_array(), said) {
                (Some(all), None) => {
                    let all = all.iter().filter_map(Value::as_str);
                    Some(Kind::One(all.map(split).collect()))
                }
                (Some(all), Some(some)) => {
                    let known = some.split('|').all(|one| all.iter().any(|value| value == one));
                    known.then(|| list(some))
                }
                (None, Some("length")) => Some(Kind::Length),
                (None, Some("moment")) => Some(Kind::Moment),
                (None, Some("day")) => Some(Kind::Day),
                (None, Some("date")) => Some(Kind::Date),
                (None, Some("sum")) => Some(Kind::Sum),
                (None, Some("amount")) => Some(Kind::Amount),
                (None, Some("unit")) => Some(Kind::Unit),
                (None, Some("place")) => Some(Kind::Place),
                (None, Some(some)) if some.contains('|') => Some(list(some)),
                (None, _) => None,
            },
            _ => None,
        }
    }

    /// The value that these words are; none unless they surely are one.
    pub fn read(&self, words: &[String]) -> Option<Value> {
        let text = words.join(" ");
        let vague = || words.iter().any(|word| VAGUE.contains(&word.as_str()));
        let fits = match self {
            Kind::One(all) => all.iter().any(|one| one == words),
            Kind::Switch => {
                return match text.as_str() {
                    "on" => Some(Value::Bool(true)),
                    "off" => Some(Value::Bool(false)),
                    _ => None,
                };
            }
            Kind::Number(least, most) => {
                let number = when::whole_number(&text)?;
                return (*least..=*most).contains(&number).then(|| Value::from(number));
            }
            Kind::Length => !vague() && is_length(&text),
            Kind::Moment => !vague() && is_moment(&text),
            Kind::Day => is_day(&text),
            Kind::Date => matches!(resolved(&text, Hint::Future), Some(When::Date(_))),
            Kind::Sum => sums::expression(&text).is_ok_and(|sum| is_sum(&text, &sum)),
            Kind::Amount => !text.contains(['+', '*', '/']) && sums::expression(&text).is_ok(),
            Kind::Unit => units::is_name(&text),
            Kind::Place => places::is_name(&text),
        };
        fits.then(|| Value::from(text))
    }
}

fn split(text: &str) -> Vec<String> {
    text.split_whitespace().map(str::to_owned).collect()
}

/// A moment like any other: whether words are a time does not depend on when they are said.
fn some_moment() -> Zoned {
    let noon = jiff::civil::datetime(2026, 6, 10, 12, 0, 0, 0);
    // A fixed offset exists on every machine.
    noon.to_zoned(jiff::tz::TimeZone::UTC).unwrap_or_default()
}

fn resolved(text: &str, hint: Hint) -> Option<When> {
    when::resolve(text, &some_moment(), hint)
        .ok()
        .map(|found| found.value)
}

/// Whether anything is surely done with the numbers: a bare one is no question, and "9/11", "24/7", "555-1234" and
/// "2026-11-30" are no sums.
fn is_sum(said: &str, expression: &str) -> bool {
    let bytes = said.as_bytes();
    let digit = |at: Option<usize>| at.and_then(|at| bytes.get(at)).is_some_and(u8::is_ascii_digit);
    let joined = (0..bytes.len())
        .any(|at| matches!(bytes[at], b'-' | b'/') && digit(at.checked_sub(1)) && digit(Some(at + 1)));
    !joined && expression.contains(|c: char| c.is_alphabetic() || "+-*/^!".contains(c))
}

fn is_length(text: &str) -> bool {
    // A bare number is a length only where nothing else can be meant, and here a clock time can.
    let plain = matches!(resolved(text, Hint::Future), Some(When::Duration { .. }));
    plain
        && matches!(
            resolved(text, Hint::Length),
            Some(When::Duration { seconds: 1.., .. })
        )
}

/// Not "an hour from now", which may as well be a length: what is meant must not depend on the minute in which it is said.
fn is_moment(text: &str) -> bool {
    let now = some_moment();
    let later = &now + jiff::SignedDuration::from_mins(1);
    let at = |now: &Zoned| {
        when::resolve(text, now, Hint::Future)
            .ok()
            .map(|found| found.value)
    };
    match at(&now) {
        Some(When::Time(_) | When::Recurrence { all_day: false, .. }) => true,
        moment @ Some(When::DateTime { .. }) => moment == at(&later),
        _ => false,
    }
}

fn is_day(text: &str) -> bool {
    matches!(
        resolved(text, Hint::Search),
        Some(
            When::Date(_)
                | When::Range {
                    start: Some(_),
                    end: Some(_)
                }
        )
    )
}
