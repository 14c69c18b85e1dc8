//! Time expressions as people say them, resolved against a moment and a zone. Knows no tool.
//!
//! Text becomes tokens (`lexer`, `words`), tokens become an expression that knows nothing of today (`grammar`, `days`,
//! `periods`, `clock`, `amount`; `expr` is its shape), and the expression becomes values for a given now (`value`, `calendar`,
//! `span`). What comes back has a parser (`repeat`) and an evaluation (`rule`) of its own. A new kind of expression is
//! one parser in `grammar` and one arm in `value`.

mod words;
mod lexer;
mod cursor;
mod amount;
mod clock;
mod expr;
mod holidays;
mod days;
mod periods;
mod repeat;
mod grammar;
mod value;
mod calendar;
mod span;
mod rule;
mod find;
mod amend;

pub use amend::{amended, count, is_time, joined, names_hours, same};
pub use find::{Kind, Mention, asks_when, mentions, said_times};
use jiff::{
    Span, SpanFieldwise, Zoned,
    civil::{Date, DateTime, Time},
    tz::{AmbiguousOffset, TimeZone},
};
pub use words::{CARDINALS, TENS, recurs, sounds_like};

/// The longest text that is looked at, in characters.
pub const MAX_CHARS: usize = 200;

/// Resolves what somebody said, or an ISO 8601 text, against `now` and its zone.
///
/// # Errors
/// `TooLong`, `NotATime` for words that are not (only) a time, `Unsettled` for "this summer", `NoSuchDate` for a day that does not exist or lies
/// outside the calendar.
pub fn resolve(text: &str, now: &Zoned, hint: Hint) -> Result<Resolved, WhenError> {
    let text = text.trim();
    if text.chars().count() > MAX_CHARS {
        return Err(WhenError::TooLong);
    }
    if let Some(value) = iso(text, now) {
        return Ok(Resolved::only(value));
    }
    let not_a_time = || WhenError::NotATime(text.to_owned());
    let tokens = lexer::tokens(text).ok_or_else(not_a_time)?;
    let expression = grammar::parse(&tokens, hint).ok_or_else(not_a_time)?;
    if expression.unsettled() {
        return Err(WhenError::Unsettled(text.to_owned()));
    }
    let mut values = value::evaluate(&expression, &value::Env { now, hint })
        .ok_or_else(|| WhenError::NoSuchDate(text.to_owned()))?;
    if values.is_empty() {
        return Err(WhenError::NoSuchDate(text.to_owned()));
    }
    let value = values.remove(0);
    let mut alternatives = Vec::new();
    for other in values {
        if other != value && !alternatives.contains(&other) {
            alternatives.push(other);
        }
    }
    let shift = match &value {
        When::DateTime { shift, .. } => *shift,
        _ => None,
    };
    Ok(Resolved {
        value,
        alternatives,
        shift,
        dayless: expression.dayless(),
    })
}

/// A whole number in figures or words: "30", "thirty", "one hundred and five". Nothing for "third", or for more than a number.
pub fn whole_number(text: &str) -> Option<u32> {
    match lexer::tokens(text)?.as_slice() {
        [lexer::Token::Number(number)] if !number.ordinal => Some(number.value),
        _ => None,
    }
}

/// What an expression means.
#[derive(Debug, Clone, PartialEq)]
pub enum When {
    /// A whole day.
    Date(Date),
    /// A time of day with no day said.
    Time(Time),
    /// A moment.
    DateTime {
        /// The moment, in the zone of now.
        at: Zoned,
        /// Set when the clock was being put forward or back then.
        shift: Option<Shift>,
    },
    /// From a moment to a moment, the end exclusive; one side may be open, never both.
    Range {
        /// The first moment.
        start: Option<Zoned>,
        /// The first moment after it.
        end: Option<Zoned>,
    },
    /// A length.
    Duration {
        /// In calendar units, to be added to a moment.
        span: SpanFieldwise,
        /// The nominal length: a day has 24 hours, a month 30 days, a year 365.
        seconds: i64,
    },
    /// Again and again.
    Recurrence {
        /// The value of an RFC 5545 `RRULE`: `FREQ=WEEKLY;BYDAY=MO`. Its `UNTIL` is a date where `all_day`, else UTC.
        rrule: String,
        /// The first occurrence that is not over: the `DTSTART`, in the zone of now; of a whole day its first moment.
        first: Zoned,
        /// Whether it is whole days, since no time of day was said.
        all_day: bool,
        /// How long each occurrence lasts, where that was said ("from nine to ten", "for an hour", "every morning").
        seconds: Option<i64>,
    },
}

/// What the clocks did at a resolved moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shift {
    /// That wall time does not exist (clocks go forward); the moment is as much later as they jump.
    Skipped,
    /// That wall time happens twice (clocks go back); the first is meant.
    Twice,
}

/// A resolved expression: the best reading and the others that the words allow.
#[derive(Debug, Clone, PartialEq)]
pub struct Resolved {
    /// The best reading.
    pub value: When,
    /// Other readings, better ones first: "at five" in the morning, last Friday for "Friday".
    pub alternatives: Vec<When>,
    /// What the clocks did at `value`.
    pub shift: Option<Shift>,
    /// Whether no day was said: "from three to five", whose days are then only the next ones.
    pub dayless: bool,
}

/// What the expression is for; it decides between readings that the words allow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hint {
    /// When something shall happen: the coming reading wins.
    Future,
    /// When to put something down: as `Future`, and "to Wednesday" holds Wednesday.
    Schedule,
    /// When to ring: as `Future`, and a bare hour of another day, or of every day, is the one in the morning from five on.
    Wake,
    /// When something happened: the latest reading that is over wins.
    Past,
    /// Where to look: as `Schedule`, and edges are taken generously ("morning" begins at 05:00, "until Friday" holds Friday).
    Search,
    /// How long: "thirty second" is thirty seconds, and a bare number is minutes.
    Length,
}

/// Why an expression could not be resolved.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WhenError {
    /// More than [`MAX_CHARS`].
    #[error("A time must be at most {MAX_CHARS} characters long.")]
    TooLong,
    /// The words are not a time, or not only.
    #[error("I do not understand the time \"{0}\".")]
    NotATime(String),
    /// A season, a school year, a fiscal year.
    #[error("\"{0}\" is not the same for everybody. Say from which day to which.")]
    Unsettled(String),
    /// The day does not exist.
    #[error("There is no such date as \"{0}\".")]
    NoSuchDate(String),
}

impl Resolved {
    fn only(value: When) -> Resolved {
        Resolved {
            value,
            alternatives: Vec::new(),
            shift: None,
            dayless: false,
        }
    }

    /// What is said instead of a moment that something has until now. A bare hour leaves it in the half of the day that it is
    /// nearer to ("half past seven" for what is at six in the evening), except where that is over or would wake somebody; with
    /// no day said it stays on its day.
    pub fn instead_of(&self, before: &Zoned, now: &Zoned) -> When {
        let day = |value: &When| match value {
            _ if self.dayless => None,
            When::DateTime { at, .. } | When::Range { start: Some(at), .. } => Some(at.date()),
            _ => None,
        };
        let others = self.alternatives.iter();
        std::iter::once(&self.value)
            .chain(others.filter(|other| day(other) == day(&self.value)))
            .filter_map(|value| {
                let value = if self.dayless {
                    value.on(before.date(), now.time_zone())?
                } else {
                    value.clone()
                };
                let (When::DateTime { at: start, .. }
                | When::Range {
                    start: Some(start), ..
                }) = &value
                else {
                    return None;
                };
                let over = start < now && start.date() == now.date();
                let wakes = start.hour() < 7 && before.hour() >= 7;
                let away = start.time().duration_until(before.time()).abs();
                Some(((over, wakes, away), value))
            })
            .min_by_key(|(order, _)| *order)
            .map_or_else(|| self.value.clone(), |(_, value)| value)
    }
}

impl When {
    /// A time of day, or from one to another, on a day.
    fn on(&self, date: Date, zone: &TimeZone) -> Option<When> {
        match self {
            When::Time(time) => {
                let (at, shift) = in_zone(date.to_datetime(*time), zone)?;
                Some(When::DateTime { at, shift })
            }
            When::Range {
                start: Some(start),
                end: Some(end),
            } => {
                let by = start.date().until(date).ok()?;
                let moved = |at: &Zoned| in_zone(at.datetime().checked_add(by).ok()?, zone);
                Some(When::Range {
                    start: Some(moved(start)?.0),
                    end: Some(moved(end)?.0),
                })
            }
            _ => None,
        }
    }

    /// The stretch of time that this covers in the zone of `now`: a day is a day long, a moment is empty, a bare time
    /// is its next occurrence, a duration begins now, of what comes back it is the first.
    pub fn stretch(&self, now: &Zoned) -> Option<(Option<Zoned>, Option<Zoned>)> {
        let zone = now.time_zone();
        match self {
            When::Date(date) => Some((
                Some(day_start(*date, zone)?),
                Some(day_start(date.tomorrow().ok()?, zone)?),
            )),
            When::Time(time) => {
                let today = in_zone(now.date().to_datetime(*time), zone)?.0;
                let at = if today < *now {
                    in_zone(now.date().tomorrow().ok()?.to_datetime(*time), zone)?.0
                } else {
                    today
                };
                Some((Some(at.clone()), Some(at)))
            }
            When::DateTime { at, .. } => Some((Some(at.clone()), Some(at.clone()))),
            When::Range { start, end } => Some((start.clone(), end.clone())),
            When::Duration { span, .. } => Some((Some(now.clone()), Some(now.checked_add(span.0).ok()?))),
            When::Recurrence {
                first,
                all_day,
                seconds,
                ..
            } => {
                let end = match seconds {
                    Some(seconds) => first.checked_add(Span::new().try_seconds(*seconds).ok()?).ok()?,
                    None if *all_day => day_start(first.date().tomorrow().ok()?, zone)?,
                    None => first.clone(),
                };
                Some((Some(first.clone()), Some(end)))
            }
        }
    }
}

/// The first moment of a day; not always midnight, since clocks may change then.
pub fn day_start(date: Date, zone: &TimeZone) -> Option<Zoned> {
    in_zone(date.to_datetime(Time::midnight()), zone).map(|(at, _)| at)
}

/// A wall time as a moment, with what the clocks did then: a skipped time moves forward, a doubled one is the first.
pub fn in_zone(civil: DateTime, zone: &TimeZone) -> Option<(Zoned, Option<Shift>)> {
    let ambiguous = zone.to_ambiguous_zoned(civil);
    let shift = match ambiguous.offset() {
        AmbiguousOffset::Unambiguous { .. } => None,
        AmbiguousOffset::Gap { .. } => Some(Shift::Skipped),
        AmbiguousOffset::Fold { .. } => Some(Shift::Twice),
    };
    Some((ambiguous.compatible().ok()?, shift))
}

/// ISO 8601 and RFC 9557, as models and programs write it: dates, times, moments, `PT30M`, `start/end`.
fn iso(text: &str, now: &Zoned) -> Option<When> {
    let first = text.as_bytes().first()?;
    if matches!(first, b'P' | b'p') && text[1..].starts_with(|c: char| c.is_ascii_digit() || c == 'T') {
        let span: Span = text.parse().ok()?;
        return amount::Amount::of_span(&span)?.duration();
    }
    if !first.is_ascii_digit() || !text.get(4..)?.starts_with('-') {
        return None;
    }
    let zone = now.time_zone();
    let moment = |text: &str| -> Option<When> {
        if let Ok(date) = text.parse::<Date>()
            && text.len() == 10
        {
            return Some(When::Date(date));
        }
        if let Ok(at) = text.parse::<jiff::Timestamp>() {
            return Some(When::DateTime {
                at: at.to_zoned(zone.clone()),
                shift: None,
            });
        }
        let (at, shift) = in_zone(text.parse::<DateTime>().ok()?, zone)?;
        Some(When::DateTime { at, shift })
    };
    if let Some((start, end)) = text.split_once('/') {
        let start = moment(start)?.stretch(now)?.0;
        let end = moment(end)?.stretch(now)?.0;
        return (start < end).then_some(When::Range { start, end });
    }
    moment(text)
}

#[cfg(test)]
mod tests;
