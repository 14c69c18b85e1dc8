//! Recurrences within a window. Rules come from strangers, and some are bombs, so everything is bounded: which rules
//! are taken at all, how far they are followed, how many occurrences they give, and how long that takes.
//!
//! Rules are followed in wall time: an event at nine is at nine on both sides of a clock change.

use std::{collections::HashSet, path::Path, time::Instant};

use calcard::icalendar::{
    ICalendarComponent, ICalendarComponentType, ICalendarParameterName, ICalendarProperty,
    ICalendarRecurrenceRule, ICalendarStatus, ICalendarValue,
};
use jiff::{SignedDuration, Span, Timestamp, ToSpan, Zoned, civil::DateTime, tz::TimeZone};

use super::{Event, Series, Source, index, moment, moment::Moment, parse, rule};

/// Additional or excluded dates of one event.
const MAX_DATES: usize = 10_000;

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
pub enum Length {
    /// Whole days.
    Days(i64),
    /// To the second.
    Exact(SignedDuration),
}

/// One beginning of a series, before anybody looks whether it matters.
pub struct Placed<'a> {
    /// The component that says what it is: the master, or what replaces it here.
    pub component: &'a ICalendarComponent,
    /// When it begins.
    pub start: Moment,
    /// How long it lasts.
    pub length: Length,
    /// When it would be if nobody had moved it: what names it. Nothing for what does not repeat.
    pub original: Option<Zoned>,
    /// Whether it comes back.
    pub repeats: bool,
}

/// Adds the occurrences of a series that overlap the window.
pub fn expand(
    series: &Series,
    source: &Source,
    window: &Window,
    warnings: &mut Vec<String>,
    out: &mut Vec<Event>,
) {
    let placed = placed(series, source, window, |c| bounds(c, source), warnings);
    out.extend(placed.into_iter().filter_map(|p| occurrence(p, source, window)));
}

/// The beginnings of a series that may overlap the window, and all single occurrences that replace others; `bounds`
/// says when a component begins and how long it lasts.
pub fn placed<'a>(
    series: &Series<'a>,
    source: &Source,
    window: &Window,
    bounds: impl Fn(&ICalendarComponent) -> Option<(Moment, Length)>,
    warnings: &mut Vec<String>,
) -> Vec<Placed<'a>> {
    let local = source.zones.local();
    let mut out = Vec::new();
    let mut replaced = HashSet::new();
    let mut onwards = Vec::new();
    for single in &series.overrides {
        let id = moment::of(single, &ICalendarProperty::RecurrenceId, source.zones);
        let id = id.and_then(|id| id.zoned(local));
        replaced.extend(id.as_ref().map(Zoned::timestamp));
        let Some((start, length)) = bounds(single) else {
            continue;
        };
        if let Some(id) = id.clone().filter(|_| is_onwards(single)) {
            onwards.push((id, *single, start.clone(), length));
        }
        out.push(Placed {
            component: single,
            start,
            length,
            original: id,
            repeats: true,
        });
    }
    onwards.sort_by(|a, b| a.0.cmp(&b.0));
    let Some(master) = series.master else {
        return out;
    };
    let Some((first, length)) = bounds(master) else {
        return out;
    };
    let repeats = master.is_recurrent();
    let starts = if repeats {
        let found = starts(master, source, window, &first, length);
        if let Some(trouble) = found.trouble {
            warnings.push(format!("{}: {trouble}", source.path.display()));
        }
        found.starts
    } else {
        vec![first]
    };
    for start in starts {
        let Some(id) = start
            .zoned(local)
            .filter(|at| !replaced.contains(&at.timestamp()))
        else {
            continue;
        };
        // A change of "this and what follows" (RANGE=THISANDFUTURE) moves what follows as far as itself.
        let changed = onwards.iter().rev().find(|(from, ..)| *from <= id);
        let (component, start, length) = match changed {
            Some((from, single, to, length)) => {
                let moved = to.zoned(local).and_then(|to| start.moved(from, &to, local));
                let Some(start) = moved else {
                    continue;
                };
                (*single, start, *length)
            }
            None => (master, start, length),
        };
        out.push(Placed {
            component,
            start,
            length,
            original: repeats.then_some(id),
            repeats,
        });
    }
    out
}

/// When something ends that begins then; days are counted on the calendar.
pub fn end(start: &Moment, length: Length, local: &TimeZone) -> Option<Zoned> {
    match (start, length) {
        (Moment::Day(day), Length::Days(days)) => {
            crate::when::day_start(day.checked_add(span_of_days(days)?).ok()?, local)
        }
        (_, Length::Days(days)) => {
            let civil = start.civil().checked_add(span_of_days(days)?).ok()?;
            let (at, _) = crate::when::in_zone(civil, start.zone(local))?;
            Some(at.with_time_zone(local.clone()))
        }
        (_, Length::Exact(length)) => start.zoned(local)?.checked_add(length).ok(),
    }
}

/// From the first to the last moment of a file's events, a day wider each way; nothing when it holds none.
pub fn span(file: &parse::File) -> Option<index::Span> {
    let utc = TimeZone::UTC;
    let zones = super::Zones::new(&file.zones, &utc);
    let source = Source {
        zones: &zones,
        calendar: "".into(),
        path: Path::new("").into(),
    };
    let day = SignedDuration::from_hours(26);
    let mut whole: Option<index::Span> = None;
    for component in file.calendars.iter().flat_map(|c| &c.components) {
        if component.component_type != ICalendarComponentType::VEvent {
            continue;
        }
        let Some((start, length)) = bounds(component, &source) else {
            continue;
        };
        let Some(begin) = start.zoned(&utc).map(|at| at.timestamp()) else {
            continue;
        };
        let lasts = match length {
            Length::Days(days) => SignedDuration::from_hours(days.clamp(0, 1_000_000) * 24),
            Length::Exact(length) => length,
        };
        let late = |at: Timestamp| {
            at.checked_add(lasts.saturating_add(day))
                .unwrap_or(Timestamp::MAX)
        };
        let extra = component.has_property(&ICalendarProperty::Rdate) || is_onwards(component);
        let to = if component.is_recurrent() || extra {
            // A count would have to be counted, so it counts as endless here; most rules have neither.
            let until = |rule: &ICalendarRecurrenceRule| {
                let until = zones.moment(rule.until.as_ref()?, None)?;
                Some(late(until.zoned(&utc)?.timestamp()))
            };
            let ends = rules(component).map(until).collect::<Option<Vec<_>>>();
            ends.filter(|ends| !extra && !ends.is_empty())
                .and_then(|ends| ends.into_iter().max())
                .map_or(Timestamp::MAX, |to| to.max(late(begin)))
        } else {
            late(begin)
        };
        let from = if extra {
            Timestamp::MIN
        } else {
            begin.checked_sub(day).unwrap_or(Timestamp::MIN)
        };
        let own = index::Span { from, to };
        whole = Some(whole.map_or(own, |whole| whole.with(own)));
    }
    whole
}

/// Whether a replaced occurrence stands for those after it, too.
fn is_onwards(component: &ICalendarComponent) -> bool {
    component
        .property(&ICalendarProperty::RecurrenceId)
        .is_some_and(|entry| entry.parameter(&ICalendarParameterName::Range).is_some())
}

/// One occurrence, unless it is cancelled or outside the window.
fn occurrence(placed: Placed, source: &Source, window: &Window) -> Option<Event> {
    let component = placed.component;
    if component.status() == Some(&ICalendarStatus::Cancelled) {
        return None;
    }
    let local = source.zones.local();
    let begin = placed.start.zoned(local)?;
    let end = end(&placed.start, placed.length, local)?;
    let inside = begin < window.to && (end > window.from || (begin == end && begin >= window.from));
    inside.then(|| Event {
        uid: component.uid().unwrap_or_default().to_owned(),
        title: parse::title(component),
        start: begin,
        end,
        all_day: matches!(placed.start, Moment::Day(_)),
        location: parse::text(component, &ICalendarProperty::Location),
        description: parse::text(component, &ICalendarProperty::Description),
        people: parse::people(component),
        invited: component.has_property(&ICalendarProperty::Organizer),
        repeats: placed.repeats,
        original: placed.original,
        busy: parse::is_busy(component),
        calendar: source.calendar.clone(),
        path: source.path.clone(),
    })
}

/// Start and length of a component; an event without DTEND and DURATION lasts its day, or no time (RFC 5545, 3.6.1).
pub fn bounds(component: &ICalendarComponent, source: &Source) -> Option<(Moment, Length)> {
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

/// When a component begins, again and again.
pub struct Starts {
    /// Not all of them lie in the window.
    pub starts: Vec<Moment>,
    /// What was left out.
    pub trouble: Option<String>,
}

/// The starts of a repeating component that may overlap the window.
pub fn starts(
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
    let until = match &rule.until {
        Some(until) => Some(last_moment(until, zone, local).ok_or("it repeats until no date")?),
        None => None,
    };
    let stretch = rule::Stretch {
        begin: first.civil(),
        all_day: matches!(first, Moment::Day(_)),
        until,
        after,
        before,
    };
    rule::times(rule, &stretch)
}

/// UNTIL as the wall time of the event; a date means its whole day.
fn last_moment(
    until: &calcard::common::PartialDateTime,
    zone: &TimeZone,
    local: &TimeZone,
) -> Option<DateTime> {
    let zones = super::Zones::new(&[], local);
    Some(match zones.moment(until, Some(zone))? {
        Moment::Day(date) => date.at(23, 59, 59, 0),
        Moment::Wall(civil, from) => crate::when::in_zone(civil, &from)?
            .0
            .with_time_zone(zone.clone())
            .datetime(),
    })
}

fn span_of_days(days: i64) -> Option<Span> {
    Span::new().try_days(days).ok()
}
