//! What an argument should be: a value, or a few ways to say less than that.

use jiff::Zoned;
use serde::Deserialize;
use serde_json::Value;
use tools::when::{self, Hint};

/// What an argument should be.
///
/// A text matches whatever the case, punctuation and articles, or when both are the same time; a number also as digits
/// in a text; a list in any order; `null` when the argument is left out. An object says more: `{"time": "friday at
/// three"}` is what the time module makes of these words, `{"has": "dentist"}` a part of the text, `{"any": [...]}` one of
/// several.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(from = "Value")]
pub enum Matcher {
    /// This value.
    Is(Value),
    /// The same time as these words.
    Time(String),
    /// A text that holds this.
    Has(String),
    /// One of these.
    Any(Vec<Matcher>),
}

impl From<Value> for Matcher {
    fn from(value: Value) -> Matcher {
        let Value::Object(fields) = &value else {
            return Matcher::Is(value);
        };
        let only = match fields.len() {
            1 => fields.iter().next(),
            _ => None,
        };
        match only {
            Some((key, Value::String(words))) if key == "time" => Matcher::Time(words.clone()),
            Some((key, Value::String(part))) if key == "has" => Matcher::Has(part.clone()),
            Some((key, Value::Array(all))) if key == "any" => {
                Matcher::Any(all.iter().cloned().map(Matcher::from).collect())
            }
            _ => Matcher::Is(value),
        }
    }
}

impl Matcher {
    /// Whether the argument is as it should be; `None` when it was left out.
    pub fn matches(&self, given: Option<&Value>, now: &Zoned) -> bool {
        match (self, given.filter(|value| !value.is_null())) {
            (Matcher::Is(Value::Null | Value::Bool(false)), None) => true,
            (Matcher::Any(several), given) => several.iter().any(|one| one.matches(given, now)),
            (_, None) => false,
            (Matcher::Is(wanted), Some(given)) => same(wanted, given, now),
            (Matcher::Time(words), Some(given)) => {
                given.as_str().is_some_and(|given| same_time(words, given, now))
            }
            (Matcher::Has(part), Some(given)) => {
                let (part, given) = (plain(part), plain(&text(given)));
                format!(" {given} ").contains(&format!(" {part} "))
            }
        }
    }

    /// Whether it is about a time.
    pub fn is_time(&self) -> bool {
        match self {
            Matcher::Time(_) => true,
            Matcher::Any(several) => several.iter().any(Matcher::is_time),
            Matcher::Is(_) | Matcher::Has(_) => false,
        }
    }

    /// An argument that matches, for a model that makes no mistakes. `None` leaves it out.
    pub fn witness(&self) -> Option<Value> {
        match self {
            Matcher::Is(Value::Null) => None,
            Matcher::Is(value) => Some(value.clone()),
            Matcher::Time(words) | Matcher::Has(words) => Some(Value::from(words.as_str())),
            Matcher::Any(several) => several.first().and_then(Matcher::witness),
        }
    }
}

fn same(wanted: &Value, given: &Value, now: &Zoned) -> bool {
    match (wanted, given) {
        (Value::String(wanted), Value::String(given)) => {
            plain(wanted) == plain(given) || same_time(wanted, given, now)
        }
        (Value::Number(_), Value::String(text)) => text
            .trim()
            .parse::<f64>()
            .is_ok_and(|number| Some(number) == wanted.as_f64()),
        (Value::Number(_), Value::Number(_)) => wanted.as_f64() == given.as_f64(),
        // One thing on a list may be given without the list.
        (Value::Array(wanted), Value::String(_)) => {
            wanted.len() == 1 && wanted.iter().all(|wanted| same(wanted, given, now))
        }
        (Value::String(_), Value::Array(given)) => {
            given.len() == 1 && given.iter().all(|given| same(wanted, given, now))
        }
        (Value::Array(wanted), Value::Array(given)) => {
            let mut left: Vec<&Value> = given.iter().collect();
            wanted.len() == given.len()
                && wanted.iter().all(|wanted| {
                    let found = left.iter().position(|given| same(wanted, given, now));
                    found.map(|at| left.swap_remove(at)).is_some()
                })
        }
        _ => wanted == given,
    }
}

/// Whether two texts are the same time to a tool, whatever it is for.
fn same_time(one: &str, other: &str, now: &Zoned) -> bool {
    let hints = [Hint::Schedule, Hint::Search, Hint::Past, Hint::Length, Hint::Wake];
    hints.into_iter().any(|hint| {
        let of = |text: &str| when::resolve(text, now, hint).map(|time| time.value);
        matches!((of(one), of(other)), (Ok(one), Ok(other)) if one == other)
    })
}

/// Words without case, punctuation and articles.
fn plain(text: &str) -> String {
    let lower = text.to_lowercase();
    let words = lower
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty() && !matches!(*word, "the" | "a" | "an" | "my"));
    words.collect::<Vec<_>>().join(" ")
}

fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(all) => all.iter().map(text).collect::<Vec<_>>().join(" "),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn arguments_are_matched() {
        #[track_caller]
        fn check(matcher: Value, given: Value, expect: bool) {
            let now: Zoned = "2026-11-20T09:00[Europe/Berlin]".parse().unwrap();
            let matcher: Matcher = serde_json::from_value(matcher).unwrap();
            let given = Some(given).filter(|given| *given != json!("left out"));
            assert_eq!(
                matcher.matches(given.as_ref(), &now),
                expect,
                "{matcher:?} {given:?}"
            );
            if expect && let Some(witness) = matcher.witness() {
                assert!(
                    matcher.matches(Some(&witness), &now),
                    "{matcher:?} and its own {witness}"
                );
            }
        }
        check(json!("Call the plumber"), json!("call plumber."), true);
        check(json!("call the plumber"), json!("call the dentist"), false);
        check(json!("tomorrow at 3 pm"), json!("tomorrow at 15:00"), true);
        check(
            json!({"time": "friday at three pm"}),
            json!("2026-11-20T15:00"),
            true,
        );
        check(
            json!({"time": "friday at three pm"}),
            json!("friday at four pm"),
            false,
        );
        check(json!({"time": "10 minutes"}), json!("ten minutes"), true);
        check(json!({"time": "tomorrow"}), json!("whenever"), false);
        check(json!({"time": "tomorrow"}), json!("left out"), false);
        check(json!({"has": "plumber"}), json!("to call the Plumber!"), true);
        check(json!({"has": "plum"}), json!("plumber"), false);
        check(json!({"any": ["on", true]}), json!(true), true);
        check(json!({"any": ["on", true]}), json!("off"), false);
        check(json!({"any": ["on", null]}), json!("left out"), true);
        check(json!(30), json!("30"), true);
        check(json!(30), json!(30.0), true);
        check(json!(30), json!(31), false);
        check(json!(null), json!("left out"), true);
        check(json!(null), json!("something"), false);
        check(json!(false), json!("left out"), true);
        check(json!(["eggs", "milk"]), json!(["Milk", "the eggs"]), true);
        check(json!(["eggs", "milk"]), json!(["milk"]), false);
        check(json!(["milk", "milk"]), json!(["milk", "eggs"]), false);
        check(json!(["milk"]), json!("milk"), true);
        check(json!({"a": 1, "b": 2}), json!({"a": 1, "b": 2}), true);
    }
}
