//! How a recurrence rule changes when its series moves or is divided.

use jiff::{SignedDuration, Zoned, tz::TimeZone};

use super::{
    super::{parse, rule},
    Moved,
    points::{is_day, moved_value, read_point, zone_of},
};
use crate::{
    contract::ToolError,
    system::lines::{Component, Document, Line},
};

/// Turns the weekdays of a rule when its series moves to other days.
pub(super) fn turn_days(component: &mut Component, days: i64) -> Result<(), ToolError> {
    let Some(rule) = component.get("RRULE").map(|line| line.value().to_uppercase()) else {
        return Ok(());
    };
    if days == 0 {
        return Ok(());
    }
    let fixed = ["BYMONTHDAY=", "BYYEARDAY=", "BYWEEKNO=", "BYSETPOS=", "BYMONTH="];
    let turned: Option<Vec<String>> = rule
        .split(';')
        .map(|part| {
            if fixed.iter().any(|name| part.starts_with(name)) {
                return None;
            }
            match part.strip_prefix("BYDAY=") {
                Some(names) => {
                    let names: Option<Vec<&str>> = names.split(',').map(|name| turned(name, days)).collect();
                    Some(format!("BYDAY={}", names?.join(",")))
                }
                None => Some(part.to_owned()),
            }
        })
        .collect();
    let turned = turned.ok_or_else(|| {
        ToolError::tell(
            "I can only change the time of that series, not its days. Delete it and make a new one.",
        )
    })?;
    component.set_value("RRULE", &turned.join(";"));
    Ok(())
}

pub(super) fn turned(name: &str, days: i64) -> Option<&'static str> {
    const NAMES: [&str; 7] = ["MO", "TU", "WE", "TH", "FR", "SA", "SU"];
    let place = NAMES.iter().position(|n| *n == name.trim())?;
    let turned = (i64::try_from(place).ok()? + days).rem_euclid(7);
    NAMES.get(usize::try_from(turned).ok()?).copied()
}

/// How many times a series happens by its rule before a moment.
pub(super) fn passed(
    master: &Component,
    zones: &[(String, TimeZone)],
    before: &Zoned,
) -> Result<usize, ToolError> {
    let text = String::from_utf8_lossy(&Document::of(master.clone()).to_bytes()).into_owned();
    let file = parse::parse(&format!("BEGIN:VCALENDAR\r\n{text}END:VCALENDAR\r\n"));
    let components = file.calendars.iter().flat_map(|c| &c.components);
    let rule = components
        .flat_map(|c| &c.entries)
        .flat_map(|e| &e.values)
        .find_map(|value| match value {
            calcard::icalendar::ICalendarValue::RecurrenceRule(rule) => Some(rule),
            _ => None,
        });
    let Some((rule, line)) = rule.zip(master.get("DTSTART")) else {
        return Ok(0);
    };
    let zone = zone_of(line, zones, before.time_zone());
    let Some(begin) = read_point(line, zones, before) else {
        return Ok(0);
    };
    let wall = |at: &Zoned| at.with_time_zone(zone.clone()).datetime();
    let stretch = rule::Stretch {
        begin: wall(&begin),
        all_day: is_day(Some(line)),
        until: None,
        after: wall(&begin),
        before: wall(before),
    };
    rule::count(rule, &stretch).ok_or_else(|| {
        ToolError::tell(
            "That series repeats too often for me to divide it. Change all of it, or only this occurrence.",
        )
    })
}

/// A rule whose COUNT is what is left of it.
pub(super) fn counted(rule: &str, passed: usize) -> String {
    let parts: Vec<String> = rule
        .split(';')
        .map(
            |part| match part.get(6..).and_then(|count| count.trim().parse::<usize>().ok()) {
                Some(count) if starts_with(part, "COUNT=") => {
                    format!("COUNT={}", count.saturating_sub(passed).max(1))
                }
                _ => part.to_owned(),
            },
        )
        .collect();
    parts.join(";")
}

pub(super) fn starts_with(part: &str, name: &str) -> bool {
    part.get(..name.len())
        .is_some_and(|start| start.eq_ignore_ascii_case(name))
}

/// Moves the end of a rule along with its series, so that no occurrence is lost at its end.
pub(super) fn move_until(
    component: &mut Component,
    moved: &Moved,
    zones: &[(String, TimeZone)],
    local: &Zoned,
) {
    let Some(rule) = component.get("RRULE").map(|line| line.value().to_owned()) else {
        return;
    };
    let parts = rule.split(';').map(|part| {
        let until = part
            .get(6..)
            .filter(|_| starts_with(part, "UNTIL="))
            .map(str::trim);
        let shifted = until.and_then(|until| {
            let day = SignedDuration::from_hours(24);
            let by = if until.len() == 8 {
                day.checked_mul(i32::try_from(moved.days).ok()?)?
            } else {
                moved.by
            };
            moved_value(until, &Line::new("UNTIL", until), by, zones, local)
        });
        shifted.map_or_else(|| part.to_owned(), |until| format!("UNTIL={until}"))
    });
    let parts: Vec<String> = parts.collect();
    component.set_value("RRULE", &parts.join(";"));
}
