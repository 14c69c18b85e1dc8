//! When events and to-dos ring: their VALARMs (RFC 5545 3.6.6), over all occurrences; without one, when they begin or
//! are due.

use std::{
    collections::HashSet,
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

use calcard::icalendar::{
    ICalendar, ICalendarComponent, ICalendarComponentType, ICalendarParameterName, ICalendarParameterValue,
    ICalendarProperty, ICalendarRelated, ICalendarStatus, ICalendarValue,
};
use jiff::{SignedDuration, ToSpan, Zoned};

use super::{Collection, Reading, Series, Source, Zones, each_file_of, moment, moment::Moment, parse, recur};

/// All recurrences of one look may take this long together.
const MAX_EXPANDING: Duration = Duration::from_secs(2);
/// A trigger farther from its item than this is not kept; a month before is the most that programs offer.
const MAX_OFFSET: SignedDuration = SignedDuration::from_hours(32 * 24);
/// Alarms of one item.
const MAX_ALARMS: usize = 20;
/// How far ahead the next occurrence is looked for: a 29 February is within eight years.
const AHEAD_YEARS: i64 = 9;

/// One moment at which an item rings.
#[derive(Debug, Clone, PartialEq)]
pub struct Ringing {
    /// The item's identity.
    pub uid: String,
    /// As written.
    pub title: String,
    /// When, in the reader's zone.
    pub at: Zoned,
    /// Whether it comes back.
    pub repeats: bool,
    /// Its file.
    pub path: Arc<Path>,
}

/// When the items of one kind (`VEVENT`, `VTODO`) ring, after `from` and not after `to`, in order.
pub fn ringing(collections: &[Collection], kind: &str, from: &Zoned, to: &Zoned) -> Reading<Ringing> {
    let deadline = Instant::now() + MAX_EXPANDING;
    let mut warnings = Vec::new();
    let mut items = each_file_of(
        collections,
        None,
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
                    .filter(|c| c.component_type.as_str() == kind);
                for series in Series::group(own) {
                    let window = recur::Window {
                        from: from.clone(),
                        to: to.clone(),
                        deadline,
                    };
                    of_series(&series, calendar, &source, &window, warnings, out);
                }
            }
        },
    );
    items.sort_by(|a: &Ringing, b| (&a.at, &a.title).cmp(&(&b.at, &b.title)));
    Reading { items, warnings }
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

enum Trigger {
    /// From the beginning, or from the end.
    Offset(SignedDuration, bool),
    At(Zoned),
}

fn of_series(
    series: &Series,
    calendar: &ICalendar,
    source: &Source,
    window: &recur::Window,
    warnings: &mut Vec<String>,
    out: &mut Vec<Ringing>,
) {
    let local = source.zones.local();
    let mut replaced = HashSet::new();
    for single in &series.overrides {
        let id = moment::of(single, &ICalendarProperty::RecurrenceId, source.zones);
        replaced.extend(id.and_then(|id| id.zoned(local)).map(|at| at.timestamp()));
        of_component(single, calendar, source, window, &HashSet::new(), warnings, out);
    }
    if let Some(master) = series.master {
        of_component(master, calendar, source, window, &replaced, warnings, out);
    }
}

fn of_component(
    component: &ICalendarComponent,
    calendar: &ICalendar,
    source: &Source,
    window: &recur::Window,
    replaced: &HashSet<jiff::Timestamp>,
    warnings: &mut Vec<String>,
    out: &mut Vec<Ringing>,
) {
    let local = source.zones.local();
    let over = matches!(
        component.status(),
        Some(ICalendarStatus::Completed | ICalendarStatus::Cancelled)
    ) || component.has_property(&ICalendarProperty::Completed);
    let first = begin(component, source.zones);
    if over {
        return;
    }
    let repeats = component.is_recurrent() && !component.has_property(&ICalendarProperty::RecurrenceId);
    let mut ring = |at: Zoned| {
        if at > window.from && at <= window.to {
            out.push(Ringing {
                uid: component.uid().unwrap_or_default().to_owned(),
                title: parse::title(component),
                at,
                repeats,
                path: source.path.clone(),
            });
        }
    };
    let ends = [ICalendarProperty::Due, ICalendarProperty::Dtend];
    let end = ends
        .iter()
        .find_map(|name| moment::of(component, name, source.zones));
    let length = match (&first, end.and_then(|end| end.zoned(local))) {
        (Some(first), Some(end)) => first
            .zoned(local)
            .map_or(SignedDuration::ZERO, |start| start.duration_until(&end)),
        _ => SignedDuration::ZERO,
    };
    for trigger in triggers(component, calendar, source.zones, first.as_ref()) {
        let (offset, first) = match (trigger, &first) {
            (Trigger::At(at), _) => {
                ring(at);
                continue;
            }
            (Trigger::Offset(offset, true), Some(first)) => (offset + length, first),
            (Trigger::Offset(offset, false), Some(first)) => (offset, first),
            (Trigger::Offset(..), None) => continue,
        };
        if offset.abs() > MAX_OFFSET {
            continue;
        }
        let starts = if repeats {
            let (Ok(from), Ok(to)) = (window.from.checked_sub(offset), window.to.checked_sub(offset)) else {
                continue;
            };
            let deadline = window.deadline;
            let shifted = recur::Window { from, to, deadline };
            let length = recur::Length::Exact(SignedDuration::ZERO);
            let found = recur::starts(component, source, &shifted, first, length);
            if let Some(trouble) = found.trouble {
                warnings.push(format!("{}: {trouble}", source.path.display()));
            }
            found.starts
        } else {
            vec![first.clone()]
        };
        for start in starts.iter().filter_map(|s| s.zoned(local)) {
            if !replaced.contains(&start.timestamp())
                && let Ok(at) = start.checked_add(offset)
            {
                ring(at);
            }
        }
    }
}

/// When an item begins; a to-do without a start begins when it is due.
fn begin(component: &ICalendarComponent, zones: &Zones) -> Option<Moment> {
    [ICalendarProperty::Dtstart, ICalendarProperty::Due]
        .iter()
        .find_map(|name| moment::of(component, name, zones))
}

/// Its alarms; an item with a time and without one rings when it begins, a to-do when it is due.
fn triggers(
    component: &ICalendarComponent,
    calendar: &ICalendar,
    zones: &Zones,
    first: Option<&Moment>,
) -> Vec<Trigger> {
    let alarms = component
        .component_ids
        .iter()
        .filter_map(|id| calendar.components.get(usize::try_from(*id).ok()?))
        .filter(|c| c.component_type == ICalendarComponentType::VAlarm);
    let triggers: Vec<Trigger> = alarms
        .take(MAX_ALARMS)
        .filter_map(|alarm| {
            let entry = alarm.property(&ICalendarProperty::Trigger)?;
            let from_end = matches!(
                entry.parameter(&ICalendarParameterName::Related),
                Some(ICalendarParameterValue::Related(ICalendarRelated::End))
            );
            match entry.values.first()? {
                ICalendarValue::Duration(offset) => {
                    let offset = SignedDuration::from_secs(offset.as_seconds());
                    Some(Trigger::Offset(offset, from_end))
                }
                _ => zones
                    .moments(entry)
                    .first()?
                    .zoned(zones.local())
                    .map(Trigger::At),
            }
        })
        .collect();
    if triggers.is_empty() && matches!(first, Some(Moment::Wall(..))) {
        let is_todo = component.component_type == ICalendarComponentType::VTodo;
        return vec![Trigger::Offset(SignedDuration::ZERO, is_todo)];
    }
    triggers
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::system::vdir;

    /// The moments on which an item rings between Monday 23 November 2026, 09:30, and a week later, in Berlin.
    #[track_caller]
    fn check(kind: &str, lines: &str, expect: &[&str]) {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir(root.path().join("x")).unwrap();
        let text = format!(
            "BEGIN:VCALENDAR\nVERSION:2.0\nBEGIN:{kind}\nUID:u\nSUMMARY:T\n{}\nEND:{kind}\nEND:VCALENDAR\n",
            lines.trim()
        );
        fs::write(root.path().join("x/1.ics"), text).unwrap();
        let from: Zoned = "2026-11-23T09:30[Europe/Berlin]".parse().unwrap();
        let to = from.checked_add(7.days()).unwrap();
        let found = ringing(&vdir::collections(root.path()).unwrap(), kind, &from, &to);
        let seen: Vec<String> = found
            .items
            .iter()
            .map(|r| r.at.strftime("%d %H:%M").to_string())
            .collect();
        assert_eq!(seen, expect, "{lines}\n{:?}", found.warnings);
    }

    const ALARM: &str = "BEGIN:VALARM\nACTION:DISPLAY\nTRIGGER";

    #[test]
    fn items_ring_at_their_alarms_else_at_their_time() {
        check("VTODO", "DUE:20261124T080000Z", &["24 09:00"]);
        check("VTODO", "DUE;VALUE=DATE:20261124", &[]);
        check("VTODO", "SUMMARY:no time", &[]);
        check("VTODO", "DUE:20261124T080000Z\nSTATUS:COMPLETED", &[]);
        check("VEVENT", "DTSTART:20261124T070000", &["24 07:00"]);
        check(
            "VTODO",
            &format!("DUE:20261124T080000Z\n{ALARM}:-PT15M\nEND:VALARM\n{ALARM}:PT0S\nEND:VALARM"),
            &["24 08:45", "24 09:00"],
        );
        check(
            "VTODO",
            &format!("DUE;VALUE=DATE:20261124\n{ALARM};RELATED=END:PT9H\nEND:VALARM"),
            &["24 09:00"],
        );
        check(
            "VTODO",
            &format!("DTSTART:20261124T080000Z\nDUE:20261124T100000Z\n{ALARM};RELATED=END:PT0S\nEND:VALARM"),
            &["24 11:00"],
        );
        check(
            "VTODO",
            &format!("SUMMARY:x\n{ALARM};VALUE=DATE-TIME:20261125T113000Z\nEND:VALARM"),
            &["25 12:30"],
        );
        check(
            "VTODO",
            &format!("DUE:20261124T080000Z\n{ALARM}:-P5000000D\nEND:VALARM\n{ALARM}:junk\nEND:VALARM"),
            &[],
        );
    }

    #[test]
    fn what_repeats_rings_each_time_but_where_it_is_moved_or_left_out() {
        check(
            "VEVENT",
            "DTSTART:20200101T070000\nRRULE:FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR\nEXDATE:20261126T070000",
            &["24 07:00", "25 07:00", "27 07:00", "30 07:00"],
        );
        check(
            "VTODO",
            &format!(
                "DTSTART:20261120T200000\nDUE:20261120T200000\nRRULE:FREQ=DAILY;INTERVAL=3\n{ALARM}:-PT1H\nEND:VALARM"
            ),
            &["23 19:00", "26 19:00", "29 19:00"],
        );
        check(
            "VEVENT",
            "DTSTART:20261120T100000\nRRULE:FREQ=DAILY;INTERVAL=4\nEND:VEVENT\nBEGIN:VEVENT\nUID:u\n\
             RECURRENCE-ID:20261124T100000\nDTSTART:20261125T180000",
            &["25 18:00", "28 10:00"],
        );
    }

    #[test]
    fn what_follows_is_found_and_counted() {
        #[track_caller]
        fn check(lines: &str, after: &str, expect: Option<(&str, usize)>) {
            let text = format!("BEGIN:VCALENDAR\nBEGIN:VTODO\nUID:u\n{lines}\nEND:VTODO\nEND:VCALENDAR\n");
            let after: Zoned = format!("{after}[Europe/Berlin]").parse().unwrap();
            let found = following(text.as_bytes(), "u", &after).map(|f| {
                (
                    f.next
                        .map_or("never".to_owned(), |at| at.strftime("%F %H:%M").to_string()),
                    f.passed,
                )
            });
            let found = found.as_ref().map(|(next, passed)| (next.as_str(), *passed));
            assert_eq!(found.map(|f| f.0), expect.map(|e| e.0), "{lines}");
            if lines.contains("COUNT") {
                assert_eq!(found, expect, "{lines}");
            }
        }
        check("DUE:20261123T090000", "2026-11-23T10:00", None);
        let daily = "DTSTART:20261123T090000\nDUE:20261123T090000\nRRULE:FREQ=DAILY";
        check(daily, "2026-11-23T08:00", Some(("2026-11-24 09:00", 1)));
        check(daily, "2026-11-30T10:00", Some(("2026-12-01 09:00", 1)));
        check(
            &format!("{daily};COUNT=3"),
            "2026-11-23T10:00",
            Some(("2026-11-24 09:00", 1)),
        );
        check(
            &format!("{daily};COUNT=3"),
            "2026-11-30T10:00",
            Some(("never", 3)),
        );
        check(
            "DUE;VALUE=DATE:20280229\nDTSTART;VALUE=DATE:20280229\nRRULE:FREQ=YEARLY",
            "2028-03-01T10:00",
            Some(("2032-02-29 00:00", 1)),
        );
    }
}
