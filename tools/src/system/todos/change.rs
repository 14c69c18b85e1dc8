//! Changes of to-dos that are there: done, later, otherwise, away. Only the lines that a change means are touched.

use std::path::{Path, PathBuf};

use jiff::{Zoned, civil::DateTime, tz::TimeZone};

use super::{Timing, alarm, document, is_snooze, time, utc, wall};
use crate::{
    contract::ToolError,
    system::{
        calendar::{self, Due, Todo},
        journal::Step,
        lines::{Bounds, Component, Document, Line},
        store,
        vdir::{Collection, MAX_FILE},
    },
    when,
};

/// What is to be otherwise; nothing stays as it is.
#[derive(Debug, Clone, Default)]
pub struct Change {
    /// A new title.
    pub title: Option<String>,
    /// A new time, or none.
    pub timing: Option<Timing>,
    /// A new priority; 0 takes it away.
    pub priority: Option<u8>,
    /// Another list.
    pub list: Option<Collection>,
}

/// Marks a to-do as done. One that comes back moves to its next time, which is returned, and what was done is kept as a
/// to-do of its own.
///
/// # Errors
/// What keeps the file from being written.
pub fn complete(step: &Step, todo: &Todo, now: &Zoned) -> Result<Option<Zoned>, ToolError> {
    const WHAT: &str = "mark it as done";
    let before = store::read_bounded(&todo.path, MAX_FILE).map_err(|e| e.tool(WHAT))?;
    let next = calendar::following(&before, &todo.uid, now).and_then(|f| f.next);
    if next.is_some() {
        let document = Document::parse(&before, Bounds::default()).map_err(broken)?;
        let done = done_copy(&document, todo, now)?;
        let folder = todo.path.parent().unwrap_or(Path::new("."));
        let path = folder.join(format!("{}.ics", calendar::new_uid(now)));
        step.create(&path, &done.to_bytes()).map_err(|e| e.tool(WHAT))?;
    }
    step.edit(&todo.path, WHAT, |before| {
        edited(before, &todo.uid, |component| {
            match calendar::following(before, &todo.uid, now) {
                Some(calendar::Following {
                    next: Some(next),
                    passed,
                }) => advance(component, &next, passed),
                _ => finish(component, now),
            }
            touch(component, now);
            Ok(())
        })
    })?;
    Ok(next)
}

/// Changes a to-do.
///
/// # Errors
/// What keeps the file from being written.
pub fn update(step: &Step, todo: &Todo, change: &Change, now: &Zoned) -> Result<(), ToolError> {
    const WHAT: &str = "change it";
    let edit = |before: &[u8]| {
        edited(before, &todo.uid, |component| {
            if let Some(title) = &change.title {
                component.set_value("SUMMARY", Line::text("SUMMARY", title).value());
            }
            match change.priority {
                Some(0) => _ = component.remove("PRIORITY"),
                Some(n) => component.set_value("PRIORITY", &n.to_string()),
                None => {}
            }
            if let Some(timing) = &change.timing {
                retime(component, timing, now)?;
            }
            touch(component, now);
            Ok(())
        })
    };
    let Some(list) = change
        .list
        .as_ref()
        .filter(|list| !todo.path.starts_with(&list.path))
    else {
        return step.edit(&todo.path, WHAT, edit);
    };
    let before = store::read_bounded(&todo.path, MAX_FILE).map_err(|e| e.tool(WHAT))?;
    if !is_alone(&before, &todo.uid) {
        return Err(ToolError::tell(
            "It shares its file with others, so I cannot move it to another list.",
        ));
    }
    let name = todo.path.file_name().map(PathBuf::from).unwrap_or_default();
    step.create(&list.path.join(name), &edit(&before)?)
        .and_then(|()| step.remove(&todo.path, &before))
        .map_err(|e| e.tool(WHAT))
}

/// Takes a to-do away.
///
/// # Errors
/// What keeps the file from being written.
pub fn remove(step: &Step, path: &Path, uid: &str) -> Result<(), ToolError> {
    const WHAT: &str = "delete it";
    let before = store::read_bounded(path, MAX_FILE).map_err(|e| e.tool(WHAT))?;
    if is_alone(&before, uid) {
        return step.remove(path, &before).map_err(|e| e.tool(WHAT));
    }
    step.edit(path, WHAT, |before| {
        let mut document = Document::parse(before, Bounds::default()).map_err(broken)?;
        for calendar in document.components_mut() {
            calendar.retain(|component| !is_item(component) || uid_of(component) != uid);
        }
        Ok(document.to_bytes())
    })
}

/// Lets an item (a to-do or an alarm) ring once more at a moment: an alarm of its own, as RFC 9074 has it, so that the
/// item's own time stays what it was.
///
/// # Errors
/// What keeps the file from being written.
pub fn snooze(step: &Step, path: &Path, uid: &str, until: &Zoned, now: &Zoned) -> Result<(), ToolError> {
    step.edit(path, "snooze it", |before| {
        edited(before, uid, |component| {
            component.retain(|c| !is_snooze(c));
            let title = component.get("SUMMARY").map(Line::to_text).unwrap_or_default();
            // An item without an alarm rings at its time; with the snooze alone it would not any more.
            if !component.components().any(|c| c.is("VALARM")) {
                let related = if component.is("VTODO") { "END" } else { "START" };
                let trigger = Line::new("TRIGGER", "PT0S").with_param("RELATED", related);
                component.push(alarm(&title, trigger));
            }
            let trigger = Line::new("TRIGGER", &utc(until)).with_param("VALUE", "DATE-TIME");
            let mut snooze = alarm(&title, trigger);
            snooze.add(Line::text("RELATED-TO", uid).with_param("RELTYPE", "SNOOZE"));
            component.push(snooze);
            touch(component, now);
            Ok(())
        })
    })
}

/// The file with one of its items changed.
pub fn edited(
    before: &[u8],
    uid: &str,
    edit: impl FnOnce(&mut Component) -> Result<(), ToolError>,
) -> Result<Vec<u8>, ToolError> {
    let mut document = Document::parse(before, Bounds::default()).map_err(broken)?;
    let item = document
        .components_mut()
        .flat_map(Component::components_mut)
        .find(|c| is_item(c) && uid_of(c) == uid && c.get("RECURRENCE-ID").is_none())
        .ok_or_else(|| ToolError::tell("It is not there any more."))?;
    edit(item)?;
    Ok(document.to_bytes())
}

/// Moves what comes back to its next time; times keep the form that they are written in.
fn advance(component: &mut Component, next: &Zoned, passed: usize) {
    let zone = next.time_zone();
    let read = |component: &Component, name: &str| component.get(name).and_then(|line| civil(line, zone));
    let gap = match (read(component, "DTSTART"), read(component, "DUE")) {
        (Some(start), Some(due)) => start.duration_until(due),
        _ => jiff::SignedDuration::ZERO,
    };
    let due = next.datetime().checked_add(gap).ok();
    let due = due
        .and_then(|due| when::in_zone(due, zone))
        .map_or_else(|| next.clone(), |d| d.0);
    for (name, at) in [("DTSTART", next), ("DUE", &due)] {
        if let Some(line) = component.get(name).map(|old| as_written(old, at)) {
            component.set(line);
        }
    }
    let rrule = component.value("RRULE").map(|rule| {
        let parts = rule.split(';').map(|part| match part.split_once('=') {
            Some((key, count)) if key.eq_ignore_ascii_case("COUNT") => {
                let left = count
                    .trim()
                    .parse::<usize>()
                    .unwrap_or(1)
                    .saturating_sub(passed)
                    .max(1);
                format!("COUNT={left}")
            }
            _ => part.to_owned(),
        });
        parts.collect::<Vec<_>>().join(";")
    });
    if let Some(rrule) = rrule {
        component.set_value("RRULE", &rrule);
    }
    component.remove("PERCENT-COMPLETE");
    component.remove("STATUS");
    component.retain(|c| !is_snooze(c));
}

fn finish(component: &mut Component, now: &Zoned) {
    component.set_value("STATUS", "COMPLETED");
    component.set_value("COMPLETED", &utc(now));
    component.set_value("PERCENT-COMPLETE", "100");
    component.retain(|c| !is_snooze(c));
}

/// What was done of what comes back: the same to-do without rule and alarms, with the zones that its times name.
fn done_copy(document: &Document, todo: &Todo, now: &Zoned) -> Result<Document, ToolError> {
    let mut done = document
        .find("VTODO")
        .into_iter()
        .find(|c| uid_of(c) == todo.uid && c.get("RECURRENCE-ID").is_none())
        .cloned()
        .ok_or_else(|| ToolError::tell("It is not there any more."))?;
    for name in ["RRULE", "RDATE", "EXDATE", "SEQUENCE"] {
        done.remove(name);
    }
    done.retain(|component| !component.is("VALARM"));
    done.set(Line::text("UID", &calendar::new_uid(now)));
    done.add(Line::text("RELATED-TO", &todo.uid).with_param("RELTYPE", "SIBLING"));
    finish(&mut done, now);
    touch(&mut done, now);
    let mut copy = self::document(done);
    for calendar in copy.components_mut() {
        for zone in document.find("VTIMEZONE") {
            calendar.push(zone.clone());
        }
    }
    Ok(copy)
}

/// A new time. What comes back keeps its rule when only the time of day is another.
fn retime(component: &mut Component, timing: &Timing, now: &Zoned) -> Result<(), ToolError> {
    let rule = component.value("RRULE").map(str::to_owned);
    let mut timing = timing.clone();
    if let (Some(rule), None, Some(due)) = (rule, &timing.rrule, &timing.due) {
        let zone = now.time_zone();
        let start = ["DTSTART", "DUE"]
            .iter()
            .find_map(|name| civil(component.get(name)?, zone));
        let at = match (start, due) {
            (Some(start), Due::At(at)) if timing.time_only || start.date() == at.date() => {
                when::in_zone(start.date().to_datetime(at.time()), zone)
            }
            _ => None,
        };
        let (at, _) = at.ok_or_else(|| {
            ToolError::tell(format!(
                "It comes back {}. Say how often it shall be, as in every friday at nine.",
                super::again(&rule)
            ))
        })?;
        timing.due = Some(Due::At(at));
        timing.rrule = Some(rule);
    }
    time(component, &timing);
    Ok(())
}

/// The wall time of a line in the reader's zone.
pub fn civil(line: &Line, local: &TimeZone) -> Option<DateTime> {
    let value = line.value().trim();
    if let Ok(date) = jiff::civil::Date::strptime("%Y%m%d", value) {
        return Some(date.at(0, 0, 0, 0));
    }
    if let Some(value) = value.strip_suffix('Z') {
        let at = DateTime::strptime("%Y%m%dT%H%M%S", value).ok()?;
        let at = at.to_zoned(TimeZone::UTC).ok()?;
        return Some(at.with_time_zone(local.clone()).datetime());
    }
    let at = DateTime::strptime("%Y%m%dT%H%M%S", value).ok()?;
    match line.param("TZID").and_then(|id| TimeZone::get(&id).ok()) {
        Some(zone) => Some(
            when::in_zone(at, &zone)?
                .0
                .with_time_zone(local.clone())
                .datetime(),
        ),
        None => Some(at),
    }
}

/// A moment in the form that a line has: a date, UTC, a wall time with or without a zone.
fn as_written(old: &Line, at: &Zoned) -> Line {
    let (name, value) = (old.name(), old.value().trim());
    if value.len() == 8 {
        return Line::new(name, &at.strftime("%Y%m%d").to_string()).with_param("VALUE", "DATE");
    }
    let zone = old.param("TZID").map(|id| (TimeZone::get(&id), id));
    match zone {
        _ if value.ends_with('Z') => Line::new(name, &utc(at)),
        None => Line::new(name, &wall(at)),
        Some((Ok(zone), id)) => Line::new(name, &wall(&at.with_time_zone(zone))).with_param("TZID", &id),
        // A name that only its file explains.
        Some((Err(_), _)) => Line::new(name, &utc(at)),
    }
}

fn touch(component: &mut Component, now: &Zoned) {
    component.set_value("LAST-MODIFIED", &utc(now));
}

fn is_item(component: &Component) -> bool {
    component.is("VTODO") || component.is("VEVENT")
}

fn uid_of(component: &Component) -> String {
    component
        .get("UID")
        .map(|line| line.to_text().trim().to_owned())
        .unwrap_or_default()
}

/// Whether nothing else is in the file.
fn is_alone(bytes: &[u8], uid: &str) -> bool {
    Document::parse(bytes, Bounds::default()).is_ok_and(|document| {
        let mut items = document
            .components()
            .flat_map(Component::components)
            .filter(|c| is_item(c));
        items.all(|item| uid_of(item) == uid)
    })
}

fn broken(error: impl std::fmt::Display) -> ToolError {
    ToolError::tell(format!("I cannot change it: its file is broken ({error})."))
}
