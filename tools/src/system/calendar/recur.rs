//! Recurrences within a window. Rules come from strangers, and some are bombs, so everything is bounded: which rules
//! are taken at all, how far they are followed, how many occurrences they give, and how long that takes.
//!
//! The rule crate is only shown wall times, on UTC as a carrier: an event at nine is at nine on both sides of a clock
//! change, and what a wall time means is decided by jiff alone, as everywhere else.

use std::{
    collections::HashSet,
    panic::{AssertUnwindSafe, catch_unwind},
    time::{Duration, Instant},
};

use calcard::icalendar::{
    ICalendarComponent, ICalendarDay, ICalendarFrequency, ICalendarProperty, ICalendarRecurrenceRule,
    ICalendarStatus, ICalendarValue, ICalendarWeekday,
};
use chrono::TimeZone as _;
use jiff::{
    SignedDuration, Span, ToSpan, Zoned,
    civil::{DateTime, date},
    tz::TimeZone,
};

use super::{Event, Series, Source, moment, moment::Moment, parse};

/// Occurrences of one event within the window.
const MAX_OCCURRENCES: usize = 1000;
/// Occurrences of one event that are stepped over before the window.
const MAX_STEPS: usize = 100_000;
/// One event may take this long.
const MAX_TIME: Duration = Duration::from_millis(250);
/// Entries of one BYxxx list, and additional or excluded dates of one event.
const MAX_LIST: usize = 400;
const MAX_DATES: usize = 10_000;
/// Times of day that one rule may name (BYHOUR x BYMINUTE x BYSECOND).
const MAX_TIMES: usize = 48;

/// What is asked for.
pub struct Window {
    /// In the reader's zone.
    pub from: Zoned,
    /// Exclusive.
    pub to: Zoned,
    /// When to stop expanding altogether.
    pub deadline: Instant,
}

/// How long an event lasts.
#[derive(Debug, Clone, Copy)]
enum Length {
    Days(i64),
    Exact(SignedDuration),
}

/// Adds the occurrences of a series that overlap the window.
pub fn expand(
    series: &Series,
    source: &Source,
    window: &Window,
    warnings: &mut Vec<String>,
    out: &mut Vec<Event>,
) {
    let local = source.zones.local();
    let mut replaced = HashSet::new();
    for single in &series.overrides {
        let id = moment::of(single, &ICalendarProperty::RecurrenceId, source.zones);
        replaced.extend(id.and_then(|id| id.zoned(local)).map(|at| at.timestamp()));
        if let Some((start, length)) = bounds(single, source) {
            out.extend(occurrence(single, source, window, &start, length, true));
        }
    }
    let Some(master) = series.master else {
        return;
    };
    let Some((start, length)) = bounds(master, source) else {
        return;
    };
    let repeats = master.is_recurrent();
    let starts = if repeats {
        let found = starts(master, source, window, &start, length);
        if let Some(trouble) = found.trouble {
            warnings.push(format!("{}: {trouble}", source.path.display()));
        }
        found.starts
    } else {
        vec![start]
    };
    for start in starts {
        let kept = start
            .zoned(local)
            .is_some_and(|at| !replaced.contains(&at.timestamp()));
        if kept {
            out.extend(occurrence(master, source, window, &start, length, repeats));
        }
    }
}

/// One occurrence, unless it is cancelled or outside the window.
fn occurrence(
    component: &ICalendarComponent,
    source: &Source,
    window: &Window,
    start: &Moment,
    length: Length,
    repeats: bool,
) -> Option<Event> {
    if component.status() == Some(&ICalendarStatus::Cancelled) {
        return None;
    }
    let local = source.zones.local();
    let begin = start.zoned(local)?;
    let end = match (start, length) {
        (Moment::Day(day), Length::Days(days)) => {
            crate::when::day_start(day.checked_add(span_of_days(days)?).ok()?, local)?
        }
        (_, Length::Days(days)) => {
            let civil = start.civil().checked_add(span_of_days(days)?).ok()?;
            crate::when::in_zone(civil, start.zone(local))?
                .0
                .with_time_zone(local.clone())
        }
        (_, Length::Exact(length)) => begin.checked_add(length).ok()?,
    };
    let inside = begin < window.to && (end > window.from || (begin == end && begin >= window.from));
    inside.then(|| Event {
        uid: component.uid().unwrap_or_default().to_owned(),
        title: parse::title(component),
        start: begin,
        end,
        all_day: matches!(start, Moment::Day(_)),
        location: parse::text(component, &ICalendarProperty::Location),
        description: parse::text(component, &ICalendarProperty::Description),
        people: parse::people(component),
        invited: component.has_property(&ICalendarProperty::Organizer),
        repeats,
        calendar: source.calendar.clone(),
        path: source.path.clone(),
    })
}

/// Start and length of a component; an event without DTEND and DURATION lasts its day, or no time (RFC 5545, 3.6.1).
fn bounds(component: &ICalendarComponent, source: &Source) -> Option<(Moment, Length)> {
    let start = moment::of(component, &ICalendarProperty::Dtstart, source.zones)?;
    let end = moment::of(component, &ICalendarProperty::Dtend, source.zones);
    let duration = component
        .property(&ICalendarProperty::Duration)
        .and_then(|p| match p.values.first()? {
            ICalendarValue::Duration(duration) => Some(duration),
            _ => None,
        });
    let length = match (&start, end, duration) {
        (Moment::Day(first), Some(end), _) => {
            let days = first.until(end.civil().date()).ok()?.get_days();
            Length::Days(i64::from(days).max(1))
        }
        (_, Some(end), _) => {
            let local = source.zones.local();
            let length = start.zoned(local)?.duration_until(&end.zoned(local)?);
            Length::Exact(length.max(SignedDuration::ZERO))
        }
        (_, None, Some(d)) if !d.neg && d.hours == 0 && d.minutes == 0 && d.seconds == 0 => {
            Length::Days(i64::from(d.weeks) * 7 + i64::from(d.days))
        }
        (Moment::Wall(..), None, Some(d)) => Length::Exact(SignedDuration::from_secs(d.as_seconds().max(0))),
        (Moment::Day(_), None, _) => Length::Days(1),
        (Moment::Wall(..), None, None) => Length::Exact(SignedDuration::ZERO),
    };
    Some((start, length))
}

struct Starts {
    starts: Vec<Moment>,
    trouble: Option<String>,
}

/// The starts of a repeating event that may overlap the window.
fn starts(
    component: &ICalendarComponent,
    source: &Source,
    window: &Window,
    first: &Moment,
    length: Length,
) -> Starts {
    let local = source.zones.local();
    let zone = first.zone(local);
    let moment = |civil: DateTime| match first {
        Moment::Day(_) => Moment::Day(civil.date()),
        Moment::Wall(..) => Moment::Wall(civil, zone.clone()),
    };
    let (after, before) = wall_window(window, zone, length);
    let mut trouble = None;
    let mut found: Vec<DateTime> = vec![first.civil()];
    for rule in rules(component) {
        let result = if Instant::now() >= window.deadline {
            Err("its repetitions were not followed for lack of time".to_owned())
        } else {
            by_rule(rule, first, zone, local, after, before)
        };
        match result {
            Ok((civil, complete)) => {
                found.extend(civil);
                if !complete {
                    trouble = Some("it repeats too often; some repetitions were left out".to_owned());
                }
            }
            Err(reason) => trouble = Some(reason),
        }
    }
    let mut starts: Vec<Moment> = found.into_iter().map(moment).collect();
    for entry in component
        .entries
        .iter()
        .filter(|e| e.name == ICalendarProperty::Rdate)
    {
        starts.extend(source.zones.moments(entry).into_iter().take(MAX_DATES));
    }
    let mut excluded_days = HashSet::new();
    let mut excluded = HashSet::new();
    for entry in component
        .entries
        .iter()
        .filter(|e| e.name == ICalendarProperty::Exdate)
    {
        for moment in source.zones.moments(entry).into_iter().take(MAX_DATES) {
            match &moment {
                Moment::Day(date) => _ = excluded_days.insert(*date),
                timed => excluded.extend(timed.zoned(local).map(|at| at.timestamp())),
            }
        }
    }
    let mut seen = HashSet::new();
    starts.retain(|start| {
        start.zoned(local).is_some_and(|at| {
            !excluded_days.contains(&start.civil().date())
                && !excluded.contains(&at.timestamp())
                && seen.insert(at.timestamp())
        })
    });
    Starts { starts, trouble }
}

fn rules(component: &ICalendarComponent) -> impl Iterator<Item = &ICalendarRecurrenceRule> {
    component
        .entries
        .iter()
        .filter(|entry| entry.name == ICalendarProperty::Rrule)
        .flat_map(|entry| &entry.values)
        .filter_map(|value| match value {
            ICalendarValue::RecurrenceRule(rule) => Some(rule.as_ref()),
            _ => None,
        })
        .take(4)
}

/// The window in the event's wall time, wide enough for an occurrence that began before it and for clock changes.
fn wall_window(window: &Window, zone: &TimeZone, length: Length) -> (DateTime, DateTime) {
    let days = match length {
        Length::Days(days) => days,
        Length::Exact(length) => length.as_hours() / 24,
    };
    // An occurrence that lasts more than a year is found by its start only within a year.
    let back = span_of_days(days.clamp(0, 366) + 2).unwrap_or_default();
    let wall = |at: &Zoned| at.with_time_zone(zone.clone()).datetime();
    (
        wall(&window.from).checked_sub(back).unwrap_or(DateTime::MIN),
        wall(&window.to).checked_add(2.days()).unwrap_or(DateTime::MAX),
    )
}

/// Occurrences of a rule between two wall times, and whether they are all.
fn by_rule(
    rule: &ICalendarRecurrenceRule,
    first: &Moment,
    zone: &TimeZone,
    local: &TimeZone,
    after: DateTime,
    before: DateTime,
) -> Result<(Vec<DateTime>, bool), String> {
    refuse_bombs(rule)?;
    let begin = first.civil();
    let start = forward(rule, begin, after);
    let mut rule = rule.clone();
    if matches!(first, Moment::Day(_)) {
        // A day has no hours to repeat at (RFC 5545, 3.3.10).
        rule.byhour.clear();
        rule.byminute.clear();
        rule.bysecond.clear();
    }
    let by_day = rule.byday.len() + rule.bymonthday.len() + rule.byyearday.len() + rule.bymonth.len();
    if !rule.byweekno.is_empty() && by_day == 0 {
        // What the rule leaves open comes from DTSTART; the crate would take every day of the week.
        rule.byday.push(ICalendarDay {
            ordwk: None,
            weekday: weekday(begin.weekday()),
        });
    }
    if let Some(until) = &rule.until {
        rule.until = Some(until_on_carrier(until, zone, local).ok_or("it repeats until no date")?);
    }
    let text = rule.to_string();
    let carrier = carry(start).ok_or("it starts at no date")?;
    // The crate asserts here and there; a rule that trips it is refused, not fatal.
    catch_unwind(AssertUnwindSafe(|| {
        let rule: rrule::RRule<rrule::Unvalidated> =
            text.parse().map_err(|e: rrule::RRuleError| e.to_string())?;
        let set = rule.build(carrier).map_err(|e| e.to_string())?.limit();
        let deadline = Instant::now() + MAX_TIME;
        let mut out = Vec::new();
        for (step, at) in set.into_iter().enumerate() {
            let civil = uncarry(&at).ok_or("it repeats outside the calendar")?;
            if civil >= before {
                return Ok((out, true));
            }
            if civil >= after {
                out.push(civil);
            }
            if out.len() >= MAX_OCCURRENCES || step >= MAX_STEPS || Instant::now() >= deadline {
                return Ok((out, false));
            }
        }
        Ok((out, true))
    }))
    .unwrap_or_else(|_| Err("its rule cannot be followed".to_owned()))
    .map_err(|e: String| format!("its repetitions were left out ({e})"))
}

/// Rules that nobody makes for a calendar, and that cost without bound.
fn refuse_bombs(rule: &ICalendarRecurrenceRule) -> Result<(), String> {
    let quick = matches!(
        rule.freq,
        ICalendarFrequency::Secondly | ICalendarFrequency::Minutely
    );
    if quick && rule.count.is_none_or(|count| count > 1000) {
        return Err("it repeats every minute or second; only its first time is shown".to_owned());
    }
    let times = rule.byhour.len().max(1) * rule.byminute.len().max(1) * rule.bysecond.len().max(1);
    let longest = [
        rule.byday.len(),
        rule.bymonthday.len(),
        rule.byyearday.len(),
        rule.byweekno.len(),
        rule.bymonth.len(),
        rule.bysetpos.len(),
    ];
    if times > MAX_TIMES || longest.iter().any(|n| *n > MAX_LIST) {
        return Err("its rule for repeating is too large; only its first time is shown".to_owned());
    }
    if never(rule) {
        return Err("its rule for repeating fits no day; only its first time is shown".to_owned());
    }
    Ok(())
}

/// Days that do not exist in the months named ("30 February"): looking for one would take until the end of time.
fn never(rule: &ICalendarRecurrenceRule) -> bool {
    if rule.bymonth.is_empty() || rule.bymonthday.is_empty() {
        return false;
    }
    let days = |month: u8| {
        i8::try_from(month)
            .ok()
            .and_then(|m| date(2024, 1, 1).with().month(m).build().ok())
    };
    let fits = |month: u8| {
        days(month).is_none_or(|first| {
            rule.bymonthday
                .iter()
                .any(|d| d.unsigned_abs() <= first.days_in_month().unsigned_abs())
        })
    };
    !rule.bymonth.iter().any(|month| fits(month.month()))
}

/// Moves the start of an endless rule near the window, by whole steps, so that a daily event of ten years ago is not
/// followed day by day. Only where a step is always the same: a count must be counted, and months differ.
fn forward(rule: &ICalendarRecurrenceRule, start: DateTime, after: DateTime) -> DateTime {
    let interval = i64::from(rule.interval.unwrap_or(1).max(1));
    let step = match rule.freq {
        ICalendarFrequency::Daily => interval,
        ICalendarFrequency::Weekly => interval * 7,
        // Twenty-four steps of n hours are n days.
        ICalendarFrequency::Hourly => interval,
        _ => return start,
    };
    if rule.count.is_some() || !rule.bysetpos.is_empty() {
        return start;
    }
    let days = start
        .date()
        .until(after.date())
        .map_or(0, |s| i64::from(s.get_days()));
    let steps = (days / step - 1).max(0);
    span_of_days(steps * step)
        .and_then(|span| start.checked_add(span).ok())
        .unwrap_or(start)
}

/// UNTIL as the wall time of the event that the rule crate is shown; a date means its whole day.
fn until_on_carrier(
    until: &calcard::common::PartialDateTime,
    zone: &TimeZone,
    local: &TimeZone,
) -> Option<calcard::common::PartialDateTime> {
    let zones = super::Zones::new(&[], local);
    let civil = match zones.moment(until, Some(zone))? {
        Moment::Day(date) => date.at(23, 59, 59, 0),
        Moment::Wall(civil, from) => crate::when::in_zone(civil, &from)?
            .0
            .with_time_zone(zone.clone())
            .datetime(),
    };
    Some(calcard::common::PartialDateTime {
        year: u16::try_from(civil.year()).ok(),
        month: u8::try_from(civil.month()).ok(),
        day: u8::try_from(civil.day()).ok(),
        hour: u8::try_from(civil.hour()).ok(),
        minute: u8::try_from(civil.minute()).ok(),
        second: u8::try_from(civil.second()).ok(),
        tz_hour: Some(0),
        tz_minute: Some(0),
        tz_minus: false,
    })
}

fn weekday(day: jiff::civil::Weekday) -> ICalendarWeekday {
    use jiff::civil::Weekday;
    match day {
        Weekday::Monday => ICalendarWeekday::Monday,
        Weekday::Tuesday => ICalendarWeekday::Tuesday,
        Weekday::Wednesday => ICalendarWeekday::Wednesday,
        Weekday::Thursday => ICalendarWeekday::Thursday,
        Weekday::Friday => ICalendarWeekday::Friday,
        Weekday::Saturday => ICalendarWeekday::Saturday,
        Weekday::Sunday => ICalendarWeekday::Sunday,
    }
}

fn carry(civil: DateTime) -> Option<chrono::DateTime<rrule::Tz>> {
    let part = |n: i8| u32::try_from(n).ok();
    rrule::Tz::UTC
        .with_ymd_and_hms(
            i32::from(civil.year()),
            part(civil.month())?,
            part(civil.day())?,
            part(civil.hour())?,
            part(civil.minute())?,
            part(civil.second())?,
        )
        .single()
}

fn uncarry(at: &chrono::DateTime<rrule::Tz>) -> Option<DateTime> {
    let at = jiff::Timestamp::from_second(at.timestamp()).ok()?;
    Some(TimeZone::UTC.to_datetime(at))
}

fn span_of_days(days: i64) -> Option<Span> {
    Span::new().try_days(days).ok()
}
