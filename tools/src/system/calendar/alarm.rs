//! When events and to-dos ring: their VALARMs (RFC 5545 3.6.6), over all occurrences. Alarms and to-dos without one ring
//! when they begin or are due; an event of a calendar rings only when it says so.

use std::{
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

use calcard::icalendar::{
    ICalendar, ICalendarAction, ICalendarComponent, ICalendarComponentType, ICalendarDuration,
    ICalendarParameterName, ICalendarParameterValue, ICalendarProperty, ICalendarRelated, ICalendarStatus,
    ICalendarValue,
};
use jiff::{SignedDuration, Span, Timestamp, ToSpan, Zoned};

use super::{
    Collection, Reading, Series, Source, Zones, each_file_of,
    index::{self, Within},
    moment,
    moment::Moment,
    parse, recur,
};

/// All recurrences of one look may take this long together.
const MAX_EXPANDING: Duration = Duration::from_secs(2);
/// A trigger farther from its item than this is not kept; a month before is the most that programs offer.
const MAX_OFFSET: SignedDuration = SignedDuration::from_hours(32 * 24);
/// Alarms of one item.
const MAX_ALARMS: usize = 20;
/// Rings of one look; more is no life but an attack.
const MAX_RINGING: usize = 20_000;
/// How far ahead the next occurrence is looked for: a 29 February is within eight years.
const AHEAD_YEARS: i64 = 9;

/// How much longer than its seconds a trigger that counts days may be: a clock change.
const SLACK: SignedDuration = SignedDuration::from_hours(26);

/// What rings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Items {
    /// Events that are alarms: without a VALARM they ring when they begin.
    Alarms,
    /// To-dos: without a VALARM they ring when they are due.
    Reminders,
    /// Events of calendars, which ring by their VALARMs only.
    Events,
}

/// One moment at which an item rings.
#[derive(Debug, Clone, PartialEq)]
pub struct Ringing {
    /// The item's identity.
    pub uid: String,
    /// As written.
    pub title: String,
    /// When, in the reader's zone.
    pub at: Zoned,
    /// When what it rings for begins, in the reader's zone; nothing for a to-do without a time.
    pub start: Option<Zoned>,
    /// Whether that is a day and no time.
    pub all_day: bool,
    /// Whether it comes back.
    pub repeats: bool,
    /// Its file.
    pub path: Arc<Path>,
}

/// When items ring, after `from` and not after `to`, in order.
pub fn ringing(collections: &[Collection], what: Items, from: &Zoned, to: &Zoned) -> Reading<Ringing> {
    let window = recur::Window {
        from: from.clone(),
        to: to.clone(),
        deadline: Instant::now() + MAX_EXPANDING,
    };
    let within = match what {
        Items::Events => Within::Rings(index::Span::of(from, to)),
        // One that has no VALARM rings, too, and they are few.
        Items::Alarms | Items::Reminders => Within::All,
    };
    let mut warnings = Vec::new();
    let mut items = each_file_of(
        collections,
        within,
        &mut warnings,
        |file, name, path, warnings, out| {
            let zones = Zones::new(&file.zones, from.time_zone());
            let source = Source {
                zones: &zones,
                calendar: name.clone(),
                path: path.clone(),
            };
            for calendar in &file.calendars {
                let own = calendar
                    .components
                    .iter()
                    .filter(|c| c.component_type.as_str() == what.component());
                for series in Series::group(own) {
                    of_series(&series, calendar, what, &source, &window, warnings, out);
                }
            }
        },
    );
    items.sort_by(|a: &Ringing, b| (&a.at, &a.title).cmp(&(&b.at, &b.title)));
    items.truncate(MAX_RINGING);
    Reading { items, warnings }
}

/// Between which moments the alarms of a file's events may ring; nothing when they have none. `events` is the span of
/// the events themselves.
pub fn span(file: &parse::File, events: Option<index::Span>) -> Option<index::Span> {
    let utc = jiff::tz::TimeZone::UTC;
    let zones = Zones::new(&file.zones, &utc);
    let mut whole: Option<index::Span> = None;
    let mut with = |own: index::Span| whole = Some(whole.map_or(own, |whole| whole.with(own)));
    for calendar in &file.calendars {
        let events_of = calendar
            .components
            .iter()
            .filter(|c| c.component_type == ICalendarComponentType::VEvent);
        for trigger in events_of.flat_map(|event| triggers(event, calendar, &zones)) {
            match trigger.when {
                When::At(at) => with(index::Span {
                    from: earlier(at.timestamp(), SLACK),
                    to: later(at.timestamp(), SLACK),
                }),
                When::Offset { .. } => {
                    if let Some(events) = events {
                        with(index::Span {
                            from: earlier(events.from, MAX_OFFSET),
                            to: later(events.to, MAX_OFFSET),
                        });
                    }
                }
            }
        }
    }
    whole
}

fn earlier(at: Timestamp, by: SignedDuration) -> Timestamp {
    at.checked_sub(by).unwrap_or(Timestamp::MIN)
}

fn later(at: Timestamp, by: SignedDuration) -> Timestamp {
    at.checked_add(by).unwrap_or(Timestamp::MAX)
}

/// What comes after an occurrence of an item that repeats.
#[derive(Debug, Clone, PartialEq)]
pub struct Following {
    /// The next one; nothing when that was the last.
    pub next: Option<Zoned>,
    /// How many lie before it, the first one counted.
    pub passed: usize,
}

/// The next occurrence of a to-do after its own first one and after `after`; `None` when it does not repeat.
pub fn following(bytes: &[u8], uid: &str, after: &Zoned) -> Option<Following> {
    let file = parse::parse(&String::from_utf8_lossy(bytes));
    let zones = Zones::new(&file.zones, after.time_zone());
    let series = file.series("VTODO").into_iter();
    let component = series
        .filter_map(|s| s.master)
        .find(|c| c.uid().unwrap_or_default() == uid)?;
    if !component.is_recurrent() {
        return None;
    }
    let first = begin(component, &zones)?;
    let anchor = first.zoned(zones.local())?;
    let after = after.max(&anchor).clone();
    let counted = component
        .entries
        .iter()
        .flat_map(|e| &e.values)
        .any(|v| matches!(v, ICalendarValue::RecurrenceRule(rule) if rule.count.is_some()));
    let window = recur::Window {
        from: if counted { anchor.clone() } else { after.clone() },
        to: after.checked_add(AHEAD_YEARS.years()).ok()?,
        deadline: Instant::now() + MAX_EXPANDING,
    };
    let source = Source {
        zones: &zones,
        calendar: "".into(),
        path: Arc::from(Path::new("")),
    };
    let length = recur::Length::Exact(SignedDuration::ZERO);
    let starts = recur::starts(component, &source, &window, &first, length).starts;
    let mut starts: Vec<Zoned> = starts.iter().filter_map(|s| s.zoned(zones.local())).collect();
    starts.sort();
    let next = starts.iter().find(|at| **at > after).cloned();
    let passed = starts.iter().filter(|at| **at <= after).count();
    Some(Following { next, passed })
}

/// A VALARM that is ours to ring.
struct Trigger {
    when: When,
    /// Some program noted that the person saw what rang up to then (RFC 9074, 6.1).
    seen: Option<Timestamp>,
}

enum When {
    /// From the beginning, or from the end.
    Offset {
        span: Span,
        from_end: bool,
    },
    At(Zoned),
}

impl Items {
    fn component(self) -> &'static str {
        match self {
            Items::Alarms | Items::Events => "VEVENT",
            Items::Reminders => "VTODO",
        }
    }
}

fn of_series(
    series: &Series,
    calendar: &ICalendar,
    what: Items,
    source: &Source,
    window: &recur::Window,
    warnings: &mut Vec<String>,
    out: &mut Vec<Ringing>,
) {
    let local = source.zones.local();
    let bounds = |component: &ICalendarComponent| bounds(component, what, source);
    let components = series.overrides.iter().chain(&series.master);
    let alarms: Vec<(&ICalendarComponent, Vec<Trigger>)> = components
        .map(|component| (*component, of_component(component, calendar, what, source.zones)))
        .collect();
    let mut ring = |component: &ICalendarComponent, trigger: &Trigger, at: Zoned, from: Option<Begin>| {
        let seen = trigger.seen.is_some_and(|seen| seen >= at.timestamp());
        if at > window.from && at <= window.to && !seen {
            out.push(Ringing {
                uid: component.uid().unwrap_or_default().to_owned(),
                title: parse::title(component),
                at,
                all_day: from.as_ref().is_some_and(|from| from.all_day),
                repeats: from.as_ref().is_some_and(|from| from.repeats),
                start: from.map(|from| from.start),
                path: source.path.clone(),
            });
        }
    };
    let mut offsets: Vec<SignedDuration> = Vec::new();
    for (component, triggers) in &alarms {
        for trigger in triggers {
            match &trigger.when {
                When::At(at) => {
                    let start = bounds(component)
                        .and_then(|(start, _)| Begin::of(&start, local, component.is_recurrent()));
                    ring(component, trigger, at.clone(), start);
                }
                When::Offset { span, .. } => offsets.extend(length_of(span)),
            }
        }
    }
    let (Some(first), Some(last)) = (offsets.iter().min(), offsets.iter().max()) else {
        return;
    };
    let from = window.from.checked_sub(last.saturating_add(SLACK));
    let to = window.to.checked_sub(first.saturating_sub(SLACK));
    let (Ok(from), Ok(to)) = (from, to) else {
        return;
    };
    let deadline = window.deadline;
    let shifted = recur::Window { from, to, deadline };
    for placed in recur::placed(series, source, &shifted, bounds, warnings) {
        let Some(from) = Begin::of(&placed.start, local, placed.repeats) else {
            continue;
        };
        let own = alarms.iter().filter(|(c, _)| std::ptr::eq(*c, placed.component));
        for trigger in own.flat_map(|(_, triggers)| triggers) {
            let When::Offset { span, from_end } = &trigger.when else {
                continue;
            };
            let base = match from_end {
                true => recur::end(&placed.start, placed.length, local),
                false => Some(from.start.clone()),
            };
            // Days are counted on the calendar: a day before nine is nine, on both sides of a clock change.
            if let Some(at) = base.and_then(|base| base.checked_add(*span).ok()) {
                ring(placed.component, trigger, at, Some(from.clone()));
            }
        }
    }
}

/// What something rings for.
#[derive(Clone)]
struct Begin {
    start: Zoned,
    all_day: bool,
    repeats: bool,
}

impl Begin {
    fn of(start: &Moment, local: &jiff::tz::TimeZone, repeats: bool) -> Option<Begin> {
        Some(Begin {
            start: start.zoned(local)?,
            all_day: matches!(start, Moment::Day(_)),
            repeats,
        })
    }
}

/// What of a component rings: nothing once it is done or called off; where there is no alarm, its beginning or, for a
/// to-do, when it is due. An alarm that only sends a mail is none.
fn of_component(
    component: &ICalendarComponent,
    calendar: &ICalendar,
    what: Items,
    zones: &Zones,
) -> Vec<Trigger> {
    let over = matches!(
        component.status(),
        Some(ICalendarStatus::Completed | ICalendarStatus::Cancelled)
    ) || component.has_property(&ICalendarProperty::Completed);
    if over {
        return Vec::new();
    }
    let says_when = alarms(component, calendar).any(|alarm| !only_mails(alarm));
    let timed = || matches!(begin(component, zones), Some(Moment::Wall(..)));
    if !says_when && what != Items::Events && timed() {
        return vec![Trigger {
            when: When::Offset {
                span: Span::new(),
                from_end: what == Items::Reminders,
            },
            seen: None,
        }];
    }
    triggers(component, calendar, zones)
}

/// When an item begins and how long it lasts; a to-do lasts until it is due.
fn bounds(component: &ICalendarComponent, what: Items, source: &Source) -> Option<(Moment, recur::Length)> {
    if what != Items::Reminders {
        return recur::bounds(component, source);
    }
    let local = source.zones.local();
    let first = begin(component, source.zones)?;
    let due = moment::of(component, &ICalendarProperty::Due, source.zones).and_then(|due| due.zoned(local));
    let length = match (first.zoned(local), due) {
        (Some(start), Some(due)) => start.duration_until(&due),
        _ => return recur::bounds(component, source),
    };
    Some((first, recur::Length::Exact(length)))
}

/// When an item begins; a to-do without a start begins when it is due.
fn begin(component: &ICalendarComponent, zones: &Zones) -> Option<Moment> {
    [ICalendarProperty::Dtstart, ICalendarProperty::Due]
        .iter()
        .find_map(|name| moment::of(component, name, zones))
}

fn alarms<'a>(
    component: &'a ICalendarComponent,
    calendar: &'a ICalendar,
) -> impl Iterator<Item = &'a ICalendarComponent> {
    component
        .component_ids
        .iter()
        .filter_map(|id| calendar.components.get(usize::try_from(*id).ok()?))
        .filter(|c| c.component_type == ICalendarComponentType::VAlarm)
        .take(MAX_ALARMS)
}

/// The alarms of a component that show or sound something.
fn triggers(component: &ICalendarComponent, calendar: &ICalendar, zones: &Zones) -> Vec<Trigger> {
    alarms(component, calendar)
        .filter(|alarm| is_heard(alarm))
        .filter_map(|alarm| trigger(alarm, zones))
        .collect()
}

fn action(alarm: &ICalendarComponent) -> Option<&ICalendarValue> {
    alarm.property(&ICalendarProperty::Action)?.values.first()
}

/// Whether an alarm is for eyes or ears. One without an action is taken for one, and what nobody knows is left out
/// (RFC 5545, 3.8.6.1).
fn is_heard(alarm: &ICalendarComponent) -> bool {
    matches!(
        action(alarm),
        None | Some(ICalendarValue::Action(
            ICalendarAction::Audio | ICalendarAction::Display
        ))
    )
}

fn only_mails(alarm: &ICalendarComponent) -> bool {
    action(alarm) == Some(&ICalendarValue::Action(ICalendarAction::Email))
}

fn trigger(alarm: &ICalendarComponent, zones: &Zones) -> Option<Trigger> {
    let entry = alarm.property(&ICalendarProperty::Trigger)?;
    let from_end = matches!(
        entry.parameter(&ICalendarParameterName::Related),
        Some(ICalendarParameterValue::Related(ICalendarRelated::End))
    );
    let when = match entry.values.first()? {
        ICalendarValue::Duration(offset) => When::Offset {
            span: span_of(offset)?,
            from_end,
        },
        _ => When::At(zones.moments(entry).first()?.zoned(zones.local())?),
    };
    let seen = alarm
        .property(&ICalendarProperty::Acknowledged)
        .and_then(|entry| Some(zones.moments(entry).first()?.zoned(zones.local())?.timestamp()));
    Some(Trigger { when, seen })
}

/// A trigger's offset, unless it is farther than anybody means.
fn span_of(offset: &ICalendarDuration) -> Option<Span> {
    if SignedDuration::from_secs(offset.as_seconds()).abs() > MAX_OFFSET {
        return None;
    }
    let days = i64::from(offset.weeks) * 7 + i64::from(offset.days);
    let seconds = i64::from(offset.hours) * 3600 + i64::from(offset.minutes) * 60 + i64::from(offset.seconds);
    let sign = if offset.neg { -1 } else { 1 };
    let span = Span::new().try_days(sign * days).ok()?;
    span.try_seconds(sign * seconds).ok()
}

/// About how long it is: a day has 24 hours here.
fn length_of(span: &Span) -> Option<SignedDuration> {
    let days = SignedDuration::from_hours(i64::from(span.get_days()) * 24);
    days.checked_add(SignedDuration::from_secs(span.get_seconds()))
}

#[cfg(test)]
mod tests;
