//! "From one to the other": each side completes the other before both are resolved.

use jiff::{
    ToSpan, Zoned,
    civil::{Date, Time},
};

use super::{
    Hint, When, calendar,
    clock::Clock,
    expr::{Day, Edge, Parts, Period, Year},
    value::{self, Env},
};

/// The ranges between two times, the best first.
pub fn between(start: &Parts, end: &Parts, env: &Env) -> Option<Vec<When>> {
    let (mut start, mut end) = (start.clone(), end.clone());
    complete(&mut start, &mut end)?;
    let timed = |parts: &Parts| parts.clock.is_some();
    if timed(&start) && timed(&end) {
        return clocks(&start, &end, env);
    }
    if timed(&start) || timed(&end) || exact(&start) || exact(&end) {
        return mixed(&start, &end, env);
    }
    dates(&start, &end, env)
}

fn exact(parts: &Parts) -> bool {
    parts.now || parts.away.is_some()
}

/// Gives each side what only the other said.
fn complete(start: &mut Parts, end: &mut Parts) -> Option<()> {
    let (said_first, said_last) = (start.clone(), end.clone());
    for (from, to) in [(said_last, &mut *start), (said_first, &mut *end)] {
        if let (
            Some(number),
            Some(Day::Numbered {
                weekday: None,
                year,
                month,
                ..
            }),
            None,
        ) = (to.bare, &from.day, from.clock)
        {
            // "between 3 and 12 of september".
            to.bare = None;
            to.day = Some(Day::Numbered {
                rel: None,
                weekday: None,
                year: *year,
                month: *month,
                day: i8::try_from(number).ok()?,
            });
        }
    }
    // "10:30 to 3 on may 5": beside a time of day it is one.
    let timed = start.clock.is_some() || end.clock.is_some();
    for parts in [&mut *start, &mut *end] {
        if timed && let Some(number) = parts.bare.take() {
            parts.clock = Some(Clock::new(number, 0, 0)?);
        }
        value::settle_bare(parts)?;
    }
    let (said_first, said_last) = (start.clone(), end.clone());
    for (from, to) in [(said_last, &mut *start), (said_first, &mut *end)] {
        to.part = to.part.or(from.part);
        if to.clock.is_some() && to.day.is_none() && to.period.is_none() {
            to.day = from.day;
        }
    }
    // "the ninth to the seventeenth of april": the month is said once, at the end.
    if let Some(Day::Numbered {
        year,
        month: month @ None,
        weekday: None,
        ..
    }) = &mut start.day
        && let Some(Day::Numbered {
            year: end_year,
            month: end_month,
            ..
        }) = &end.day
    {
        *month = *end_month;
        *year = year.or(*end_year);
    }
    Some(())
}

/// Both sides have a time of day.
fn clocks(start: &Parts, end: &Parts, env: &Env) -> Option<Vec<When>> {
    let (first, last) = (start.clock?, end.clock?);
    let from = match &start.day {
        Some(day) => calendar::days(day, env)?,
        None => vec![env.today()],
    };
    let mut out = Vec::new();
    for date in from {
        for (a, b) in pairs(first, last, start, end, date, env) {
            let until = match &end.day {
                Some(day) if start.day != end.day => {
                    calendar::days(day, env)?.into_iter().find(|d| *d >= date)?
                }
                _ if b > a => date,
                _ => date.tomorrow().ok()?,
            };
            let mut range = (env.zoned(date.to_datetime(a))?, env.zoned(until.to_datetime(b))?);
            // With no day said, a stretch that is over is tomorrow's.
            if start.day.is_none() && env.hint != Hint::Past && range.1 <= *env.now {
                range = (
                    env.zoned(date.tomorrow().ok()?.to_datetime(a))?,
                    env.zoned(until.tomorrow().ok()?.to_datetime(b))?,
                );
            }
            out.extend(ordered(range.0, range.1));
        }
    }
    Some(out)
}

/// Readings of two times of day, so that the second follows the first soon: "10:30 to 3" ends in the afternoon.
fn pairs(first: Clock, last: Clock, start: &Parts, end: &Parts, date: Date, env: &Env) -> Vec<(Time, Time)> {
    let mut starts = value::on_day(first, start.part, date, env);
    let ends = value::on_day(last, end.part, date, env);
    let length = |a: &Time, b: &Time| {
        let minutes = |t: &Time| i32::from(t.hour()) * 60 + i32::from(t.minute());
        (minutes(b) - minutes(a)).rem_euclid(24 * 60)
    };
    if last.fixed && !first.fixed && start.part.is_none() {
        // "3 to 8 pm": the latest start before the end.
        if let [b] = ends.as_slice() {
            starts.sort_by_key(|a| (a >= b, length(a, b)));
            return starts.iter().take(1).map(|a| (*a, *b)).collect();
        }
    }
    let nearest = |a: &Time| ends.iter().min_by_key(|b| (length(a, b), **b)).copied();
    starts.iter().filter_map(|a| Some((*a, nearest(a)?))).collect()
}

/// A moment on at least one side, and a day, period or moment on the other.
fn mixed(start: &Parts, end: &Parts, env: &Env) -> Option<Vec<When>> {
    let point = |parts: &Parts, at_end: bool| -> Option<Vec<Zoned>> {
        let mut out = Vec::new();
        if parts.day.is_none() && parts.clock.is_some() {
            for time in value::times(parts.clock?, parts.part, env) {
                out.extend(env.zoned(env.today().to_datetime(time)));
            }
            return Some(out);
        }
        for value in value::one(parts, env)? {
            let (from, to) = value.stretch(env.now)?;
            out.extend(if at_end && env.inclusive() { to } else { from });
        }
        Some(out)
    };
    let (starts, ends) = (point(start, false)?, point(end, true)?);
    Some(choose(&starts, &ends).into_iter().collect())
}

/// Days and periods on both sides.
fn dates(start: &Parts, end: &Parts, env: &Env) -> Option<Vec<When>> {
    let mut start = start.clone();
    let year = year_said(end);
    if let Some(year) = year {
        give_year(&mut start, year);
    }
    let mut starts = points(&start, false, env)?;
    // "april 27th to the third": the first such day after the start, in its month or the next.
    let ends = if let (
        Some(Day::Numbered {
            weekday: None,
            month: None,
            day,
            ..
        }),
        Some(Day::Numbered { month: Some(_), .. }),
    ) = (&end.day, &start.day)
    {
        let first = *starts.first()?;
        let mut months = (0..3).filter_map(|n| {
            let month = first
                .first_of_month()
                .checked_add(jiff::Span::new().months(n))
                .ok()?;
            Date::new(month.year(), month.month(), *day).ok()
        });
        let date = months.find(|d| *d > first)?;
        vec![if env.inclusive() {
            date.tomorrow().ok()?
        } else {
            date
        }]
    } else {
        points(end, true, env)?
    };
    // "november to february 2017" begins the year before.
    let before: Vec<Date> = starts
        .iter()
        .filter_map(|d| d.checked_sub(1.year()).ok())
        .collect();
    if year.is_none() || ends.first() < starts.first() {
        starts.extend(before);
    }
    let zoned = |dates: &[Date]| -> Vec<Zoned> { dates.iter().filter_map(|d| env.start_of(*d)).collect() };
    Some(choose(&zoned(&starts), &zoned(&ends)).into_iter().collect())
}

/// Where a side begins or ends. The end of a range of days is its last day's start in the form that programs use, and
/// its last day's end for who searches.
fn points(parts: &Parts, at_end: bool, env: &Env) -> Option<Vec<Date>> {
    if let Some(day) = &parts.day {
        let dates = calendar::days(day, env)?;
        return Some(if at_end && env.inclusive() {
            dates.iter().filter_map(|d| d.tomorrow().ok()).collect()
        } else {
            dates
        });
    }
    let period = parts.period.as_ref()?;
    let (edge, of) = match period {
        Period::Edge { edge, of } => (Some(*edge), of.as_ref()),
        other => (None, other),
    };
    let pick = |stretch: calendar::Stretch| match edge {
        Some(Edge::Start) => Some(stretch.0),
        Some(Edge::Middle) => calendar::middle(stretch),
        Some(Edge::End) => Some(stretch.1),
        _ if at_end && env.inclusive() => Some(stretch.1),
        _ => Some(stretch.0),
    };
    Some(calendar::periods(of, env)?.into_iter().filter_map(pick).collect())
}

fn year_said(parts: &Parts) -> Option<i16> {
    match (&parts.day, &parts.period) {
        (Some(Day::Numbered { year, .. }), _) => *year,
        (
            _,
            Some(Period::Month {
                year: Some(Year::Number(year)),
                ..
            }),
        ) => Some(*year),
        _ => None,
    }
}

fn give_year(parts: &mut Parts, given: i16) {
    if let Some(Day::Numbered {
        year: year @ None,
        month: Some(_),
        weekday: None,
        ..
    }) = &mut parts.day
    {
        *year = Some(given);
    }
    if let Some(Period::Month {
        year: year @ None, ..
    }) = &mut parts.period
    {
        *year = Some(Year::Number(given));
    }
}

/// The best end with the latest start before it.
fn choose(starts: &[Zoned], ends: &[Zoned]) -> Option<When> {
    ends.iter().find_map(|end| {
        let start = starts.iter().filter(|start| *start < end).max()?;
        ordered(start.clone(), end.clone())
    })
}

fn ordered(start: Zoned, end: Zoned) -> Option<When> {
    (start < end).then_some(When::Range {
        start: Some(start),
        end: Some(end),
    })
}
