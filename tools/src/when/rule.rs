//! A recurrence to its rule (RFC 5545) and its first occurrence.

use std::fmt::Write as _;

use jiff::{
    ToSpan, Zoned,
    civil::{Date, Time, Weekday},
    tz::TimeZone,
};

use super::{
    Hint, When, calendar,
    expr::Repeat,
    in_zone,
    value::{self, Env},
    words::Unit,
};

/// Days that are looked through for the first occurrence: a 29 February comes within eight years, and nothing else that a
/// rule can name is rarer.
const REACH: i64 = 8 * 366 + 1;

/// All readings, the best first. `None` or empty when it never happens.
pub fn readings(repeat: &Repeat, env: &Env) -> Option<Vec<When>> {
    let bounds = Bounds::of(repeat, env)?;
    let mut out: Vec<When> = starts(repeat, env)?
        .into_iter()
        .filter_map(|start| one(repeat, &start, &bounds, env))
        .collect();
    if repeat.counted {
        // "every second tuesday": mostly each but one, and for some that of the month.
        let each = Repeat {
            unit: Some(Unit::Week),
            interval: 2,
            nth: None,
            counted: false,
            ..repeat.clone()
        };
        let mut first = readings(&each, env)?;
        first.append(&mut out);
        out = first;
    }
    Some(out)
}

/// When it starts on its days, and how long it lasts.
struct Start {
    /// None for whole days.
    at: Option<Time>,
    seconds: Option<i64>,
}

fn starts(repeat: &Repeat, env: &Env) -> Option<Vec<Start>> {
    let lasting = match &repeat.length {
        Some(length) if !length.whole_days() => Some(nominal(length.duration()?)?),
        _ => None,
    };
    let Some(clock) = repeat.clock else {
        let Some(part) = repeat.part else {
            return Some(vec![Start {
                at: None,
                seconds: None,
            }]);
        };
        let (from, to) = part.hours(env.generous());
        return Some(vec![Start {
            at: Some(Time::new(from, 0, 0, 0).ok()?),
            seconds: lasting.or(Some(i64::from(to - from) * 3600)),
        }]);
    };
    // A day far off has no "already over", so the hours when people are about come first.
    let times = |clock| value::on_day(clock, repeat.part, Date::MAX, env);
    Some(
        times(clock)
            .into_iter()
            .map(|at| {
                let until = repeat
                    .end
                    .and_then(|end| times(end).iter().map(|end| seconds_between(at, *end)).min());
                Start {
                    at: Some(at),
                    seconds: until.or(lasting),
                }
            })
            .collect(),
    )
}

fn seconds_between(from: Time, to: Time) -> i64 {
    let of_day = |t: Time| i64::from(t.hour()) * 3600 + i64::from(t.minute()) * 60 + i64::from(t.second());
    match (of_day(to) - of_day(from)).rem_euclid(86_400) {
        0 => 86_400,
        some => some,
    }
}

fn nominal(length: When) -> Option<i64> {
    match length {
        When::Duration { seconds, .. } => Some(seconds),
        _ => None,
    }
}

/// From when on, and until when (exclusive).
struct Bounds {
    from: Zoned,
    /// Whether that was said, or is now.
    said: bool,
    until: Option<Zoned>,
}

impl Bounds {
    fn of(repeat: &Repeat, env: &Env) -> Option<Bounds> {
        let schedule = Env {
            now: env.now,
            hint: Hint::Schedule,
        };
        let mut bounds = Bounds {
            from: env.now.clone(),
            said: false,
            until: None,
        };
        if let Some(since) = &repeat.since {
            let value = value::evaluate(since, &schedule)?.into_iter().next()?;
            bounds.from = value.stretch(env.now)?.0?;
            bounds.said = true;
        }
        if let Some(until) = &repeat.until {
            let value = value::evaluate(until, &schedule)?.into_iter().next()?;
            // A moment itself still counts, as UNTIL has it.
            bounds.until = match &value {
                When::DateTime { at, .. } => Some(at.checked_add(1.second()).ok()?),
                other => other.stretch(env.now)?.1,
            };
        }
        if let Some(window) = &repeat.window {
            let (start, end) = *calendar::periods(window, env)?.first()?;
            let start = env.start_of(start)?;
            bounds.said |= start > bounds.from;
            bounds.from = bounds.from.max(start);
            bounds.until = Some(env.start_of(end)?);
        }
        Some(bounds)
    }
}

fn one(repeat: &Repeat, start: &Start, bounds: &Bounds, env: &Env) -> Option<When> {
    let unit = repeat.unit?;
    let first = match (unit, start.at) {
        (Unit::Minute | Unit::Hour, _) if bounds.said => bounds.from.clone(),
        (Unit::Minute | Unit::Hour, _) => {
            let amount = super::amount::Amount::of(f64::from(repeat.interval), unit);
            env.now.checked_add(amount.span()?).ok()?
        }
        (_, at) => first_day(repeat, at, bounds, env)?,
    };
    let all_day = start.at.is_none() && !matches!(unit, Unit::Minute | Unit::Hour);
    let mut until = bounds.until.clone();
    if let Some(length) = repeat.length.filter(|l| l.whole_days()) {
        // "every day for two weeks".
        until = Some(first.checked_add(length.span()?).ok()?);
    }
    if until.as_ref().is_some_and(|until| *until <= first) {
        return None;
    }
    Some(When::Recurrence {
        rrule: written(repeat, until.as_ref(), all_day)?,
        first,
        all_day,
        seconds: start.seconds,
    })
}

/// The first day of the pattern whose moment is not over; a rule that names no day goes by the day that it begins on.
fn first_day(repeat: &Repeat, at: Option<Time>, bounds: &Bounds, env: &Env) -> Option<Zoned> {
    let zone = env.now.time_zone();
    let open = repeat.weekdays.is_empty() && repeat.day.is_none() && repeat.month.is_none();
    let anchor = bounds.from.date();
    let step = match repeat.unit? {
        Unit::Week if open => 7.days(),
        Unit::Month if open => 1.month(),
        Unit::Year if open => 1.year(),
        _ => 1.day(),
    };
    let reach = anchor.checked_add(REACH.days()).unwrap_or(Date::MAX);
    anchor
        .series(step)
        .take_while(|date| *date <= reach)
        .filter(|date| falls_on(repeat, *date))
        .find_map(|date| {
            // Without a time it is midnight, as jiff has it.
            let moment = in_zone(date.to_datetime(at.unwrap_or_default()), zone)?.0;
            (at.is_none() || moment >= bounds.from).then_some(moment)
        })
}

fn falls_on(repeat: &Repeat, date: Date) -> bool {
    let counted = match repeat.nth {
        Some(nth) if repeat.one_of => nth_of_set(repeat, nth, date),
        Some(nth) => {
            i8::try_from(nth)
                .ok()
                .and_then(|nth| date.nth_weekday_of_month(nth, *repeat.weekdays.first()?).ok())
                == Some(date)
        }
        None => repeat.weekdays.is_empty() || repeat.weekdays.contains(&date.weekday()),
    };
    let day = repeat.day.is_none_or(|day| {
        let from_end = date.day() - date.days_in_month() - 1;
        day == if day < 0 { from_end } else { date.day() }
    });
    counted && day && repeat.month.is_none_or(|month| date.month() == month)
}

/// "the last weekday of the month".
fn nth_of_set(repeat: &Repeat, nth: i32, date: Date) -> bool {
    let fits = |d: &Date| repeat.weekdays.contains(&d.weekday());
    let skip = usize::try_from(nth.unsigned_abs()).unwrap_or(0).saturating_sub(1);
    let found = if nth > 0 {
        let days = date.first_of_month().series(1.day()).take(31);
        days.filter(fits).nth(skip)
    } else {
        let days = date.last_of_month().series(-1.day()).take(31);
        days.filter(fits).nth(skip)
    };
    found == Some(date)
}

/// The rule as RFC 5545 writes it. UNTIL is a day where the first occurrence is one, else a moment in UTC.
fn written(repeat: &Repeat, until: Option<&Zoned>, all_day: bool) -> Option<String> {
    let frequency = match repeat.unit? {
        Unit::Minute => "MINUTELY",
        Unit::Hour => "HOURLY",
        Unit::Day => "DAILY",
        Unit::Week => "WEEKLY",
        Unit::Month => "MONTHLY",
        _ => "YEARLY",
    };
    let mut rule = format!("FREQ={frequency}");
    if repeat.interval > 1 {
        let _ = write!(rule, ";INTERVAL={}", repeat.interval);
    }
    if let Some(count) = repeat.count {
        let _ = write!(rule, ";COUNT={count}");
    } else if let Some(until) = until {
        let last = until.checked_sub(1.second()).ok()?;
        let last = if all_day {
            last.strftime("%Y%m%d").to_string()
        } else {
            last.with_time_zone(TimeZone::UTC)
                .strftime("%Y%m%dT%H%M%SZ")
                .to_string()
        };
        let _ = write!(rule, ";UNTIL={last}");
    }
    if let Some(month) = repeat.month {
        let _ = write!(rule, ";BYMONTH={month}");
    }
    if let Some(day) = repeat.day {
        let _ = write!(rule, ";BYMONTHDAY={day}");
    }
    if !repeat.weekdays.is_empty() {
        let nth = repeat
            .nth
            .filter(|_| !repeat.one_of)
            .map(|n| n.to_string())
            .unwrap_or_default();
        let days: Vec<String> = repeat
            .weekdays
            .iter()
            .map(|d| format!("{nth}{}", code(*d)))
            .collect();
        let _ = write!(rule, ";BYDAY={}", days.join(","));
    }
    if let Some(nth) = repeat.nth.filter(|_| repeat.one_of) {
        let _ = write!(rule, ";BYSETPOS={nth}");
    }
    Some(rule)
}

fn code(weekday: Weekday) -> &'static str {
    match weekday {
        Weekday::Monday => "MO",
        Weekday::Tuesday => "TU",
        Weekday::Wednesday => "WE",
        Weekday::Thursday => "TH",
        Weekday::Friday => "FR",
        Weekday::Saturday => "SA",
        Weekday::Sunday => "SU",
    }
}
