//! To-dos as tools make and change them: VTODOs (RFC 5545), one file each, in the lists of a store. Changes are made line
//! by line, so that what other programs wrote beside stays as it is; `calendar` reads and expands.
//!
//! Moments are written in UTC; what comes back is written as a wall time without a zone, so that nine stays nine on
//! both sides of a clock change. Every reminder with a time has a VALARM, so that other programs ring too.

mod change;

use std::{fs, path::Path};

use jiff::{Zoned, civil::Date};

use super::{
    calendar::{self, Due, Todo},
    journal::{JournalError, Step},
    lines::{Component, Document, Line},
    plain, speech,
    store::StoreError,
    vdir::{self, Collection},
    which::{self, Kind},
};
use crate::{
    contract::ToolError,
    when::{self, Hint, When},
};
pub use change::{Change, civil, complete, edited, remove, snooze, update};

/// How reminders are talked about.
pub const REMINDER: Kind = Kind {
    one: "reminder",
    many: "reminders",
};

/// When on a day without a time it rings: hours after midnight.
const MORNING: &str = "PT9H";

/// A to-do to be made.
#[derive(Debug, Clone, Default)]
pub struct NewTodo {
    /// What is to be done.
    pub title: String,
    /// When.
    pub timing: Timing,
    /// 1 (highest) to 9; 0 when not said.
    pub priority: u8,
}

/// When something is due, and whether it comes back.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Timing {
    /// When it is due, for what comes back the first time.
    pub due: Option<Due>,
    /// The value of an RRULE.
    pub rrule: Option<String>,
    /// Whether only a time of day was said.
    pub time_only: bool,
}

/// Writes a to-do into a file named after its new UID.
///
/// # Errors
/// What keeps the file from being written.
pub fn create(step: &Step, list: &Collection, todo: &NewTodo, now: &Zoned) -> Result<String, ToolError> {
    let uid = calendar::new_uid(now);
    let mut component = Component::new("VTODO");
    component.add(Line::text("UID", &uid));
    component.add(Line::new("DTSTAMP", &utc(now)));
    component.add(Line::new("CREATED", &utc(now)));
    component.add(Line::text("SUMMARY", &todo.title));
    if todo.priority > 0 {
        component.add(Line::new("PRIORITY", &todo.priority.to_string()));
    }
    time(&mut component, &todo.timing);
    let path = list.path.join(format!("{uid}.ics"));
    step.create(&path, &document(component).to_bytes())
        .map_err(|e| e.tool("save it"))?;
    Ok(uid)
}

/// A file of one component.
pub fn document(component: Component) -> Document {
    let mut calendar = Component::new("VCALENDAR");
    calendar.add(Line::new("VERSION", "2.0"));
    calendar.add(Line::new("PRODID", "-//Tiro//Tiro//EN"));
    calendar.push(component);
    Document::of(calendar)
}

/// What a person said about when: a day, a moment, or again and again.
///
/// # Errors
/// `Tell`: it is no time, or it is over.
pub fn timing(said: &str, now: &Zoned) -> Result<Timing, ToolError> {
    timed(&resolved(said, now)?.value, now)
}

/// What a person said instead of when it is due until now: a time of day alone is on the day that it is due.
///
/// # Errors
/// As `timing`.
pub fn timing_instead(said: &str, due: Option<&Due>, now: &Zoned) -> Result<Timing, ToolError> {
    let resolved = resolved(said, now)?;
    let before = match due {
        Some(Due::At(at)) => Some(at.with_time_zone(now.time_zone().clone())),
        // Of a whole day it is the hours around noon that are likely.
        Some(Due::Day(date)) => when::in_zone(date.at(12, 0, 0, 0), now.time_zone()).map(|(at, _)| at),
        None => None,
    };
    let time_only = matches!(resolved.value, When::Time(_));
    let value = match before {
        Some(before) if before.date() >= now.date() => resolved.instead_of(&before, now),
        _ => resolved.value.clone(),
    };
    match value {
        When::DateTime { at, .. } if time_only && at < *now => timed(&When::Time(at.time()), now),
        value => timed(&value, now),
    }
    .map(|timing| Timing { time_only, ..timing })
}

/// As to-dos are put down: what is said of the end of a month is its last day.
fn resolved(said: &str, now: &Zoned) -> Result<when::Resolved, ToolError> {
    when::resolve(said, now, Hint::Schedule)
        .map_err(|e| ToolError::tell(format!("{e} Say it as in tomorrow at five.")))
}

fn timed(value: &When, now: &Zoned) -> Result<Timing, ToolError> {
    let outside = || ToolError::tell("That is outside the calendar.");
    let mut rrule = None;
    let due = match value {
        When::Date(date) => Due::Day(*date),
        When::Recurrence {
            rrule: rule,
            first,
            all_day,
            ..
        } => {
            rrule = Some(rule.clone());
            if *all_day {
                Due::Day(first.date())
            } else {
                Due::At(first.clone())
            }
        }
        When::Duration { span, .. } => Due::At(now.checked_add(span.0).map_err(|_| outside())?),
        other => match other.stretch(now).ok_or_else(outside)? {
            (Some(start), Some(end)) if start < end => within(&start, &end, now),
            (Some(at), _) => Due::At(at),
            (None, Some(end)) if is_midnight(&end) => Due::Day(last_day(&end)),
            (None, Some(end)) => Due::At(end),
            (None, None) => return Err(outside()),
        },
    };
    let over = match &due {
        Due::Day(date) => *date < now.date(),
        Due::At(at) => at < now,
    };
    if over {
        return Err(ToolError::tell(format!(
            "{} is over already. When shall it be?",
            speech::sentence(&at_words(&due, now))
        )));
    }
    Ok(Timing {
        due: Some(due),
        rrule,
        time_only: matches!(value, When::Time(_)),
    })
}

/// A stretch as something to be due: days that are to come by their first, those that have begun by their last; of a
/// part of a day its beginning, or its end when it has begun.
fn within(start: &Zoned, end: &Zoned, now: &Zoned) -> Due {
    // "Later this week" begins now and is still of days.
    let days = is_midnight(end) && (is_midnight(start) || start.date() < last_day(end));
    match (days, start > now) {
        (true, true) => Due::Day(start.date()),
        (true, false) => Due::Day(last_day(end)),
        (false, true) => Due::At(start.clone()),
        (false, false) => Due::At(end.clone()),
    }
}

fn is_midnight(at: &Zoned) -> bool {
    when::day_start(at.date(), at.time_zone()).is_some_and(|midnight| midnight == *at)
}

fn last_day(end: &Zoned) -> Date {
    end.date().yesterday().unwrap_or(end.date())
}

/// "tomorrow", "on Friday 27 November at 12:00".
pub fn at_words(due: &Due, now: &Zoned) -> String {
    match due {
        Due::Day(date) => speech::on_day(*date, now),
        Due::At(at) => {
            let at = at.with_time_zone(now.time_zone().clone());
            format!(
                "{} at {}",
                speech::on_day(at.date(), now),
                speech::time(at.time())
            )
        }
    }
}

/// "Call mum tomorrow at 09:00".
pub fn described(todo: &Todo, now: &Zoned) -> String {
    let title = plain::one_line(&todo.title, 80);
    match &todo.due {
        Some(due) => format!("{title} {}", at_words(due, now)),
        None => title,
    }
}

/// The rule as people say it: "every day", "every Monday and Friday", "on weekdays"; "again and again" for what has no
/// short words.
pub fn again(rrule: &str) -> String {
    let part = |name: &str| {
        rrule.split(';').find_map(|part| {
            let (key, value) = part.split_once('=')?;
            key.eq_ignore_ascii_case(name).then(|| value.to_uppercase())
        })
    };
    let interval: u32 = part("INTERVAL").and_then(|n| n.parse().ok()).unwrap_or(1);
    let plain = ["BYMONTHDAY", "BYSETPOS", "BYMONTH", "BYYEARDAY", "BYWEEKNO"]
        .iter()
        .all(|name| part(name).is_none());
    let every = |unit: &str| match interval {
        1 => format!("every {unit}"),
        2 => format!("every second {unit}"),
        n => format!("every {n} {unit}s"),
    };
    let days = part("BYDAY").unwrap_or_default();
    match (part("FREQ").as_deref(), days.as_str()) {
        (Some("DAILY"), "") if plain => every("day"),
        (Some("WEEKLY" | "DAILY"), "MO,TU,WE,TH,FR") if interval == 1 => "on weekdays".to_owned(),
        (Some("WEEKLY" | "DAILY"), "SA,SU") if interval == 1 => "at weekends".to_owned(),
        (Some("WEEKLY"), "") if plain => every("week"),
        (Some("WEEKLY"), days) if interval <= 2 => {
            let names: Option<Vec<String>> = days.split(',').map(|d| weekday(d).map(str::to_owned)).collect();
            match names {
                Some(names) => every(&plain::listed(&names, "and")),
                None => "again and again".to_owned(),
            }
        }
        (Some("MONTHLY"), "") => every("month"),
        (Some("YEARLY"), "") => every("year"),
        _ => "again and again".to_owned(),
    }
}

fn weekday(short: &str) -> Option<&'static str> {
    Some(match short {
        "MO" => "Monday",
        "TU" => "Tuesday",
        "WE" => "Wednesday",
        "TH" => "Thursday",
        "FR" => "Friday",
        "SA" => "Saturday",
        "SU" => "Sunday",
        _ => return None,
    })
}

/// A priority as people say it, as iCalendar counts it (RFC 5545 3.8.1.9); nothing when nothing was said.
///
/// # Errors
/// `Tell` when it is none.
pub fn priority(said: Option<&str>) -> Result<Option<u8>, ToolError> {
    let said = said.unwrap_or_default().trim().to_lowercase();
    Ok(match said.trim_end_matches(" priority") {
        "" => None,
        "none" | "no" => Some(0),
        "high" | "highest" | "urgent" | "important" => Some(1),
        "medium" | "normal" => Some(5),
        "low" | "lowest" => Some(9),
        _ => return Err(ToolError::tell("A priority is high, medium or low.")),
    })
}

/// The open to-dos of one list, or of all.
///
/// # Errors
/// `Tell` for a list that is not there; when the store cannot be read.
pub fn open(root: &Path, list: Option<&str>, now: &Zoned) -> Result<Vec<Todo>, ToolError> {
    const WHAT: &str = "read your reminders";
    let mut todos = calendar::todos(root, now).map_err(|e| e.tool(WHAT))?.items;
    if let Some(wanted) = list.filter(|l| !l.trim().is_empty()) {
        let all = vdir::collections(root).map_err(|e| e.tool(WHAT))?;
        let list = vdir::choose(wanted, "list", &all).map_err(ToolError::tell)?;
        todos.retain(|todo| todo.path.starts_with(&list.path));
    }
    Ok(todos)
}

/// The reminder that somebody means among the open ones.
///
/// # Errors
/// `Tell`: none, none of that name, or it asks which.
pub fn choose<'a>(said: &str, todos: &'a [Todo], now: &Zoned) -> Result<&'a Todo, ToolError> {
    which::one(said, REMINDER, todos, |t| &t.title, |t| described(t, now))
}

/// Lists that people keep for themselves, by the names that programs give them.
const OWN: [&str; 6] = ["personal", "default", "reminders", "tasks", "inbox", "home"];

/// The list for what was said without one; nothing when there is none yet.
pub fn own(mut all: Vec<Collection>) -> Option<Collection> {
    let is_own = |c: &Collection| {
        let folder = c.path.file_name().unwrap_or_default();
        OWN.iter()
            .any(|own| c.name.eq_ignore_ascii_case(own) || folder.eq_ignore_ascii_case(own))
    };
    let own = all.iter().position(is_own).unwrap_or(0);
    (own < all.len()).then(|| all.swap_remove(own))
}

/// Makes a list: a folder with a name in it. One that is there without a name gets it.
///
/// # Errors
/// What keeps the folder from being made.
pub fn make_list(step: &Step, root: &Path, name: &str) -> Result<Collection, ToolError> {
    let name = plain::one_line(name, 60);
    let slug: String = name
        .to_lowercase()
        .chars()
        .map(|c| if c.is_alphanumeric() { c } else { '-' })
        .collect();
    let slug = slug.trim_matches('-');
    let slug = if slug.is_empty() { "list" } else { slug };
    // Another list may have the folder already under another name.
    for n in 1..100 {
        let folder = if n == 1 {
            slug.to_owned()
        } else {
            format!("{slug}-{n}")
        };
        let path = root.join(folder);
        match step.create(&path.join("displayname"), name.as_bytes()) {
            Ok(()) => {
                return Ok(Collection {
                    name,
                    color: None,
                    path,
                });
            }
            Err(JournalError::Store(StoreError::Exists(_))) => {}
            Err(error) => return Err(error.tool("make the list")),
        }
    }
    Err(ToolError::tell(format!(
        "There are too many lists called {name}."
    )))
}

/// The lists of a store. A folder without a name and without entries is what an undone list leaves, and none.
///
/// # Errors
/// When the store cannot be read.
pub fn lists(root: &Path) -> Result<Vec<Collection>, ToolError> {
    let mut all = vdir::collections(root).map_err(|e| e.tool("read your lists"))?;
    all.retain(|list| {
        list.path.join("displayname").exists()
            || vdir::items(list, "ics").is_ok_and(|found| !found.files.is_empty())
    });
    Ok(all)
}

/// Takes a list away with all that is in it; the folder goes when nothing else is left there.
///
/// # Errors
/// What keeps a file from being removed; what was removed before can be undone.
pub fn remove_list(step: &Step, list: &Collection) -> Result<(), ToolError> {
    const WHAT: &str = "delete the list";
    let mut paths = vdir::items(list, "ics").map_err(|e| e.tool(WHAT))?.files;
    paths.extend(["displayname", "color"].map(|name| list.path.join(name)));
    for path in paths {
        match super::store::read_bounded(&path, vdir::MAX_FILE) {
            Ok(before) => step.remove(&path, &before).map_err(|e| e.tool(WHAT))?,
            Err(StoreError::Missing(_)) => {}
            Err(error) => return Err(error.tool(WHAT)),
        }
    }
    // Fails where something else is left, and that is as it should be.
    let _ = fs::remove_dir(&list.path);
    Ok(())
}

/// Puts due time, rule and alarm into a component, in place of those that are there.
fn time(component: &mut Component, timing: &Timing) {
    for name in ["DUE", "DTSTART", "DURATION", "RRULE", "RDATE", "EXDATE"] {
        component.remove(name);
    }
    component.retain(|alarm| !is_ours(alarm));
    let Some(due) = &timing.due else {
        return;
    };
    let line = |name: &str| match (due, &timing.rrule) {
        (Due::Day(date), _) => {
            Line::new(name, &date.strftime("%Y%m%d").to_string()).with_param("VALUE", "DATE")
        }
        (Due::At(at), Some(_)) => Line::new(name, &wall(at)),
        (Due::At(at), None) => Line::new(name, &utc(at)),
    };
    if let Some(rrule) = &timing.rrule {
        // A rule counts from DTSTART (RFC 5545 3.8.5.3).
        component.add(line("DTSTART"));
        component.add(Line::new("RRULE", rrule));
    }
    component.add(line("DUE"));
    if !component.components().any(|c| c.is("VALARM")) {
        let title = component.get("SUMMARY").map(Line::to_text).unwrap_or_default();
        let trigger = match due {
            Due::Day(_) => MORNING,
            Due::At(_) => "PT0S",
        };
        component.push(alarm(
            &title,
            Line::new("TRIGGER", trigger).with_param("RELATED", "END"),
        ));
    }
}

/// A VALARM that shows the title.
pub fn alarm(title: &str, trigger: Line) -> Component {
    let mut alarm = Component::new("VALARM");
    alarm.add(Line::new("ACTION", "DISPLAY"));
    alarm.add(Line::text("DESCRIPTION", title));
    alarm.add(trigger);
    alarm
}

/// Whether an alarm is the one that [`time`] makes, or a snooze: those go when the time changes.
fn is_ours(component: &Component) -> bool {
    let trigger = component.get("TRIGGER");
    let standard = trigger.is_some_and(|t| {
        matches!(t.value().trim(), "PT0S" | MORNING)
            && t.param("RELATED").is_some_and(|r| r.eq_ignore_ascii_case("END"))
    });
    component.is("VALARM") && (standard || is_snooze(component))
}

/// Whether an alarm is a snooze (RFC 9074 section 7).
fn is_snooze(component: &Component) -> bool {
    component.all("RELATED-TO").any(|line| {
        line.param("RELTYPE")
            .is_some_and(|t| t.eq_ignore_ascii_case("SNOOZE"))
    })
}

/// A moment as iCalendar has it in UTC.
pub fn utc(at: &Zoned) -> String {
    at.with_time_zone(jiff::tz::TimeZone::UTC)
        .strftime("%Y%m%dT%H%M%SZ")
        .to_string()
}

/// The same as a wall time without a zone.
pub fn wall(at: &Zoned) -> String {
    at.strftime("%Y%m%dT%H%M%S").to_string()
}

#[cfg(test)]
mod tests;
