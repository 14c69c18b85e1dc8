//! What people say about events, resolved: where to look, how long, when instead, and which one.

use jiff::{SignedDuration, ToSpan, Zoned};

use super::{Event, events, tell};
use crate::{
    contract::ToolError,
    discover::words,
    system::{
        heard::{self, Ear},
        plain, speech,
    },
    when::{self, Hint, When},
};
use std::path::Path;

/// How far a question without a time looks ahead.
pub const DAYS_AHEAD: i64 = 365;
/// As many events are named in a question.
const MAX_ASKED: usize = 5;
/// Words for any event; they tell none from another.
const ANY: [&str; 16] = [
    "event",
    "events",
    "meeting",
    "meetings",
    "appointment",
    "appointments",
    "calls",
    "it",
    "that",
    "this",
    "one",
    "entry",
    "call",
    "thing",
    "next",
    "calendar",
];

/// A stretch of time.
#[derive(Debug, Clone, PartialEq)]
pub struct Window {
    /// The first moment.
    pub from: Zoned,
    /// Exclusive.
    pub to: Zoned,
}

impl Window {
    /// Where to look for what somebody said.
    ///
    /// # Errors
    /// `Tell` for what is no time, or none that can be looked at.
    pub fn said(said: &str, now: &Zoned) -> Result<Window, ToolError> {
        let resolved = when::resolve(said, now, Hint::Search)
            .map_err(|e| ToolError::tell(format!("{e} Say it as in tomorrow, or next friday afternoon.")))?;
        let (from, to) = resolved.value.stretch(now).ok_or_else(outside)?;
        // An open side ends where nobody asks any more; a bare moment is the hour that it begins.
        let from = from.unwrap_or_else(|| now.clone());
        let to = match to {
            Some(to) if to > from => to,
            Some(_) if matches!(resolved.value, When::Range { .. }) => {
                return Err(ToolError::tell("That time is over already."));
            }
            Some(_) => from.checked_add(1.hour()).map_err(|_| outside())?,
            None => from.checked_add(DAYS_AHEAD.days()).map_err(|_| outside())?,
        };
        Ok(Window { from, to })
    }

    /// The days to come.
    ///
    /// # Errors
    /// `Tell` at the end of the calendar.
    pub fn ahead(now: &Zoned, days: i64) -> Result<Window, ToolError> {
        Ok(Window {
            from: now.clone(),
            to: now.checked_add(days.days()).map_err(|_| outside())?,
        })
    }
}

/// An end or a length, seen from the start; and whether it is a time of day.
///
/// # Errors
/// `Tell` for what is no time.
pub fn end(said: &str, begin: &Zoned, all_day: bool) -> Result<(Zoned, bool), ToolError> {
    let resolved = when::resolve(said, begin, Hint::Schedule).map_err(|e| ToolError::tell(e.to_string()))?;
    let timed = match &resolved.value {
        When::Date(_) => false,
        When::Duration { span, .. } => {
            span.0.get_hours() + i32::try_from(span.0.get_seconds()).unwrap_or(1) != 0
        }
        other => !other.stretch(begin).is_some_and(|(from, to)| is_days(&from, &to)),
    };
    let (from, to) = resolved.value.stretch(begin).ok_or_else(outside)?;
    let end = match (&resolved.value, from, to) {
        // "until six", and the last day of an event of whole days.
        (When::Range { start: None, .. }, _, Some(to)) => to,
        (When::Date(_), _, Some(to)) if all_day => to,
        (When::Duration { .. }, _, Some(to)) => to,
        (_, Some(from), _) => from,
        _ => return Err(outside()),
    };
    Ok((end, timed))
}

/// Whether a stretch begins and ends with whole days.
pub fn is_days(from: &Option<Zoned>, to: &Option<Zoned>) -> bool {
    let starts_day =
        |at: &Zoned| when::day_start(at.date(), at.time_zone()).is_some_and(|midnight| midnight == *at);
    matches!((from, to), (Some(from), Some(to)) if from < to && starts_day(from) && starts_day(to))
}

/// A length: "an hour", "30 minutes".
///
/// # Errors
/// `Tell` for anything else, and for nothing.
pub fn length(said: &str, now: &Zoned) -> Result<SignedDuration, ToolError> {
    match when::resolve(said, now, Hint::Length) {
        Ok(when::Resolved {
            value: When::Duration { seconds, .. },
            ..
        }) if seconds > 0 => Ok(SignedDuration::from_secs(seconds)),
        _ => Err(ToolError::tell(format!(
            "\"{}\" is no length of time. Say it as in an hour, or 30 minutes.",
            plain::one_line(said, 60)
        ))),
    }
}

/// Whether a word is said of any event and tells none from another: "meetings".
pub fn is_any_event(word: &str) -> bool {
    ANY.contains(&word.to_lowercase().as_str()) || ["the", "my", "any"].contains(&word)
}

/// Words that say that all of a series are meant.
const WHOLE: [&str; 5] = ["all", "every", "each", "whole", "series"];

/// Whether the words for an event say that all of its series are meant ("every yoga"), where they are not of its title.
pub fn is_whole_series(words: &str, event: &Event) -> bool {
    let title = words::split(&event.title);
    event.repeats
        && words::split(words)
            .iter()
            .any(|word| WHOLE.contains(&word.as_str()) && !title.contains(word))
}

/// When an event shall be instead.
#[derive(Debug, Clone, PartialEq)]
pub struct Moved {
    /// The new start.
    pub start: Zoned,
    /// The new end, where one was said.
    pub end: Option<Zoned>,
    /// Whether it is whole days then.
    pub all_day: bool,
}

/// Where an event is moved to, seen from where it is: "five" is that day at five, "friday" is the same time on Friday,
/// "an hour later" is what it says.
///
/// # Errors
/// `Tell` for what is no time, or not enough of one.
pub fn moved(said: &str, event: &Event, now: &Zoned) -> Result<Moved, ToolError> {
    let plain = said.trim().to_lowercase();
    let shift = [
        ("later", 1),
        ("earlier", -1),
        ("sooner", -1),
        ("backwards", 1),
        ("back", 1),
        ("forwards", -1),
        ("forward", -1),
        ("ahead", -1),
    ]
    .iter()
    .find_map(|(word, sign)| {
        // "An hour back", and "back by an hour".
        let before = plain.strip_prefix(word).and_then(|rest| rest.strip_prefix(' '));
        Some((plain.strip_suffix(word).or(before)?, *sign))
    })
    .or_else(|| Some((plain.strip_prefix("by ")?, 1)));
    if let Some((amount, sign)) = shift
        && let Ok(by) = length(amount.trim().trim_start_matches("by "), now)
    {
        let start = event.start.checked_add(by * sign).map_err(|_| outside())?;
        return Ok(Moved {
            start,
            end: None,
            all_day: event.all_day,
        });
    }
    let resolved = when::resolve(said, now, Hint::Schedule)
        .map_err(|e| ToolError::tell(format!("{e} Say it as in friday at five.")))?;
    // What takes whole days has no time of day that another could be nearer to.
    let value = match event.all_day {
        true => resolved.value,
        false => resolved.instead_of(&event.start, now),
    };
    let zone = now.time_zone();
    let on = |date: jiff::civil::Date, time| when::in_zone(date.to_datetime(time), zone).map(|(at, _)| at);
    let (start, end, all_day) = match value {
        When::Time(time) => (on(event.start.date(), time), None, false),
        When::Date(date) if event.all_day => (when::day_start(date, zone), None, true),
        When::Date(date) => (on(date, event.start.time()), None, false),
        When::DateTime { at, .. } => (Some(at), None, false),
        When::Range {
            start: Some(start),
            end,
        } => {
            let days = is_days(&Some(start.clone()), &end);
            // "Friday afternoon" names no time to begin at; "from three to five" does.
            let exact = ["to", "until", "till", "and", "for"]
                .iter()
                .any(|word| plain.split_whitespace().any(|w| w == *word))
                || plain.contains(['-', '/']);
            if !(exact || days && event.all_day) {
                let title = plain::one_line(&event.title, 80);
                return Err(tell(format!("At what time exactly shall {title} be?"), [event]));
            }
            (Some(start), end, days)
        }
        When::Recurrence { .. } => {
            return Err(ToolError::tell(
                "I cannot change how often an event repeats. Delete it and make a new one.",
            ));
        }
        When::Range { start: None, .. } | When::Duration { .. } => (None, None, false),
    };
    let start = start.ok_or_else(|| ToolError::tell("When shall it be? Say it as in friday at five."))?;
    Ok(Moved { start, end, all_day })
}

/// The one event that somebody means: by its words, misheard or not, and by when it is. Of a series it is the next
/// occurrence unless another day is said.
///
/// # Errors
/// `Tell`: there is none, or several; then it names them with day and time.
pub fn which(root: &Path, words: &str, said: Option<&str>, now: &Zoned) -> Result<Event, ToolError> {
    let words = plain::one_line(words, 80);
    let window = match said.filter(|said| !said.trim().is_empty()) {
        Some(said) => Window::said(said, now)?,
        None => Window::ahead(now, DAYS_AHEAD)?,
    };
    let reading = events(root, &window.from, &window.to).map_err(|e| e.tool("read your calendar"))?;
    let mut all = reading.items;
    if let Some(by_id) = all
        .iter()
        .position(|event| event.uid == words && !words.is_empty())
    {
        return Ok(all.swap_remove(by_id));
    }
    // What begins then is meant rather than what has not ended yet.
    if said.is_some() && all.iter().any(|event| event.start >= window.from) {
        all.retain(|event| event.start >= window.from);
    }
    let mut seen = std::collections::HashSet::new();
    all.retain(|event| event.uid.is_empty() || seen.insert((event.path.clone(), event.uid.clone())));
    let names: Vec<String> = words
        .to_lowercase()
        .split_whitespace()
        .map(str::to_owned)
        .collect();
    let telling: Vec<&str> = names
        .iter()
        .map(String::as_str)
        .filter(|word| !is_any_event(word) && !["a", "with", "our"].contains(word))
        .filter(|word| {
            !WHOLE.contains(word)
                || all
                    .iter()
                    .any(|e| words::split(&e.title).iter().any(|w| w == word))
        })
        .collect();
    let found: Vec<&Event> = if telling.is_empty() && (said.is_some() || names.contains(&"next".to_owned())) {
        let next = said.is_none();
        all.iter().take(if next { 1 } else { usize::MAX }).collect()
    } else {
        alike(if telling.is_empty() { &words } else { "" }, &telling, &all)
    };
    let when = said
        .map(|said| format!(" {}", plain::one_line(said, 40)))
        .unwrap_or_default();
    match found[..] {
        [only] => Ok(only.clone()),
        [] if telling.is_empty() => Err(ToolError::tell(format!(
            "There is no event in your calendar{when}."
        ))),
        [] => Err(ToolError::tell(format!(
            "I found no event called \"{words}\"{when}. Say its title, or another day."
        ))),
        ref several => {
            let names: Vec<String> = several.iter().take(MAX_ASKED).map(|e| spoken(e, now)).collect();
            let asked = several.iter().take(MAX_ASKED).copied();
            Err(tell(
                format!("Which one: {}?", plain::listed(&names, "or")),
                asked,
            ))
        }
    }
}

/// The likeliest by title, then by place and people, which are said less often.
fn alike<'a>(whole: &str, telling: &[&str], all: &'a [Event]) -> Vec<&'a Event> {
    let heard = if telling.is_empty() {
        whole.to_owned()
    } else {
        telling.join(" ")
    };
    let exact: Vec<&Event> = all
        .iter()
        .filter(|e| e.title.eq_ignore_ascii_case(&heard))
        .collect();
    if !exact.is_empty() {
        return exact;
    }
    let ear = Ear::new(&heard);
    let likeness = |event: &Event| {
        let others = event.people.iter().chain(&event.location);
        let others = others.map(|name| ear.likeness(name)).fold(0.0, f64::max) * 0.96;
        // Words of both: "lunch with anna".
        let together = format!("{} {}", event.title, event.people.join(" "));
        ear.likeness(&event.title)
            .max(ear.likeness(&together) * 0.98)
            .max(others)
    };
    let mut found: Vec<(f64, &Event)> = all
        .iter()
        .map(|event| (likeness(event), event))
        .filter(|(likeness, _)| *likeness >= heard::HEARD)
        .collect();
    found.sort_by(|a, b| b.0.total_cmp(&a.0));
    found.truncate(heard::contenders(&found));
    found.into_iter().map(|(_, event)| event).collect()
}

/// "Dentist tomorrow at 09:30", "Holiday on Friday 27 November".
pub fn spoken(event: &Event, now: &Zoned) -> String {
    let title = plain::one_line(&event.title, 80);
    let day = speech::on_day(event.start.date(), now);
    if event.all_day {
        format!("{title} {day}")
    } else {
        format!("{title} {day} at {}", speech::time(event.start.time()))
    }
}

fn outside() -> ToolError {
    ToolError::tell("That is outside the calendar.")
}
