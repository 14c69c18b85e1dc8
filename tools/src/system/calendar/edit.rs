//! Changes of events in the files of other programs: on their lines, so that everything that is not meant stays.

use jiff::{SignedDuration, Span, Timestamp, Zoned, tz::TimeZone};

use super::{Event, moment, parse, rule};
use crate::{
    contract::ToolError,
    system::{
        journal::Step,
        lines::{Bounds, Component, Document, Line, escape},
        store,
    },
};

const CHANGE: &str = "change the event";
const DELETE: &str = "delete the event";

/// How much of a series is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// This occurrence.
    One,
    /// This one and those after it.
    Onwards,
    /// All of them.
    All,
}

/// What shall be different; `None` stays.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Change {
    /// What it is.
    pub title: Option<String>,
    /// Where.
    pub location: Option<String>,
    /// Start, end, and whether it is whole days.
    pub time: Option<(Zoned, Zoned, bool)>,
}

/// Changes an event, or as much of its series as is meant.
///
/// # Errors
/// `Tell` for a file that takes no writes or cannot be edited, and for a series that cannot be changed so.
pub fn update(
    step: &Step,
    event: &Event,
    scope: Scope,
    change: &Change,
    now: &Zoned,
) -> Result<(), ToolError> {
    let mut rest = None;
    step.edit(&event.path, CHANGE, |before| {
        let mut file = File::read(before, event, CHANGE)?;
        rest = None;
        match scope {
            _ if !file.repeats() => file.change_all(change, now)?,
            Scope::One => file.change_one(change, now)?,
            Scope::All => file.change_all(change, now)?,
            // "From the first on" is all of them.
            Scope::Onwards if file.is_first() => file.change_all(change, now)?,
            Scope::Onwards => rest = Some(file.split(change, now)?),
        }
        file.written()
    })?;
    if let Some(rest) = rest {
        let uid = super::write::new_uid(now);
        let path = event.path.with_file_name(format!("{uid}.ics"));
        let bytes = rest.with_uid(&uid);
        step.create(&path, &bytes).map_err(|e| e.tool(CHANGE))?;
    }
    Ok(())
}

/// Removes an event, or as much of its series as is meant.
///
/// # Errors
/// As [`update`].
pub fn remove(step: &Step, event: &Event, scope: Scope, now: &Zoned) -> Result<(), ToolError> {
    let before = store::read_bounded(&event.path, store::MAX_GUARDED).map_err(|e| e.tool(DELETE))?;
    let mut file = File::read(&before, event, DELETE)?;
    match scope {
        Scope::One if file.repeats() => file.leave_out(now)?,
        Scope::Onwards if file.repeats() && !file.is_first() => {
            file.end_before(now)?;
        }
        _ => {
            file.calendar()?.retain(|c| !is_of(c, &event.uid));
            let left = file.document.find("VEVENT").len() + file.document.find("VTODO").len();
            if left == 0 {
                return step.remove(&event.path, &before).map_err(|e| e.tool(DELETE));
            }
        }
    }
    step.replace(&event.path, &before, &file.written()?)
        .map_err(|e| e.tool(DELETE))
}

/// A file, its zones, and the event of it that is meant.
struct File<'a> {
    document: Document,
    zones: Vec<(String, TimeZone)>,
    event: &'a Event,
}

impl<'a> File<'a> {
    fn read(bytes: &[u8], event: &'a Event, what: &str) -> Result<File<'a>, ToolError> {
        let document = Document::parse(bytes, Bounds::default()).map_err(|error| {
            let name = event
                .path
                .file_name()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned();
            ToolError::tell(format!("I could not {what}: {name} is broken in {error}."))
        })?;
        let file = File {
            document,
            zones: parse::parse(&String::from_utf8_lossy(bytes)).zones,
            event,
        };
        if file.document.find("VEVENT").iter().any(|c| is_of(c, &event.uid)) {
            Ok(file)
        } else {
            Err(ToolError::tell(format!(
                "I could not {what}: it is not there any more."
            )))
        }
    }

    /// What is written; checked to be readable, because a file that no program reads loses everything in it.
    fn written(&self) -> Result<Vec<u8>, ToolError> {
        let bytes = self.document.to_bytes();
        let read = parse::parse(&String::from_utf8_lossy(&bytes));
        match read.trouble {
            Some(trouble) if read.calendars.is_empty() => Err(ToolError::broken(CHANGE, trouble)),
            _ => Ok(bytes),
        }
    }

    fn repeats(&self) -> bool {
        self.event.original.is_some()
    }

    /// The VCALENDAR that holds it.
    fn calendar(&mut self) -> Result<&mut Component, ToolError> {
        let uid = &self.event.uid;
        self.document
            .components_mut()
            .find(|c| c.components().any(|c| is_of(c, uid)))
            .ok_or_else(|| ToolError::broken(CHANGE, "the event is in no VCALENDAR"))
    }

    /// Its component that is no replaced occurrence.
    fn master(&mut self) -> Result<&mut Component, ToolError> {
        let uid = self.event.uid.clone();
        self.calendar()?
            .components_mut()
            .find(|c| is_of(c, &uid) && c.get("RECURRENCE-ID").is_none())
            .ok_or_else(|| ToolError::tell("Only single occurrences of that series are in your calendar."))
    }

    fn original(&self) -> Zoned {
        self.event
            .original
            .clone()
            .unwrap_or_else(|| self.event.start.clone())
    }

    /// Whether the occurrence is the first of its series.
    fn is_first(&mut self) -> bool {
        let (zones, original) = (self.zones.clone(), self.original());
        let start = self
            .master()
            .ok()
            .and_then(|m| read_point(m.get("DTSTART")?, &zones, &original));
        start.is_some_and(|start| start >= original)
    }

    /// Changes the replaced occurrence, or replaces it by a copy of its series.
    fn change_one(&mut self, change: &Change, now: &Zoned) -> Result<(), ToolError> {
        let (event, zones, original) = (self.event, self.zones.clone(), self.original());
        let is_this = |c: &Component| {
            is_of(c, &event.uid)
                && c.get("RECURRENCE-ID")
                    .and_then(|line| read_point(line, &zones, &original))
                    .is_some_and(|at| at.timestamp() == original.timestamp())
        };
        if let Some(single) = self.calendar()?.components_mut().find(|c| is_this(c)) {
            apply(single, change, event, &zones, now);
            return Ok(());
        }
        let master = self.master()?;
        let like = master.get("DTSTART").cloned();
        let mut single = master.clone();
        for name in ["RRULE", "RDATE", "EXDATE", "EXRULE"] {
            single.remove(name);
        }
        single.add(point(
            "RECURRENCE-ID",
            like.as_ref(),
            &original,
            is_day(like.as_ref()),
            &zones,
        ));
        let time = (event.start.clone(), event.end.clone(), event.all_day);
        place(&mut single, &time, event, &zones);
        apply(&mut single, change, event, &zones, now);
        self.calendar()?.push(single);
        Ok(())
    }

    /// Changes the series, or the event that is none. What it leaves out and replaces moves along.
    fn change_all(&mut self, change: &Change, now: &Zoned) -> Result<(), ToolError> {
        let (event, zones) = (self.event, self.zones.clone());
        if !self.repeats() {
            apply(self.master()?, change, event, &zones, now);
            return Ok(());
        }
        let uid = event.uid.clone();
        let mut own = change.clone();
        if let Some((start, end, all_day)) = &change.time {
            let by = shift(&event.start, start);
            if *all_day != event.all_day {
                return Err(ToolError::tell(
                    "I cannot make a whole series all-day, or timed. Make a new one.",
                ));
            }
            let length = end.duration_since(start);
            let master = self.master()?;
            turn_days(master, by)?;
            let first = master
                .get("DTSTART")
                .and_then(|line| read_point(line, &zones, start));
            let first = first.and_then(|first| later(&first, by));
            let last = first.as_ref().and_then(|first| first.checked_add(length).ok());
            own.time = first.zip(last).map(|(first, last)| (first, last, *all_day));
            for component in self.calendar()?.components_mut().filter(|c| is_of(c, &uid)) {
                move_points(
                    component,
                    &["EXDATE", "RDATE", "RECURRENCE-ID"],
                    by,
                    &zones,
                    start,
                );
            }
        }
        apply(self.master()?, &own, event, &zones, now);
        Ok(())
    }

    /// Ends the series before the occurrence, and gives what follows as a series of its own.
    fn split(&mut self, change: &Change, now: &Zoned) -> Result<Rest, ToolError> {
        let (event, zones, original) = (self.event, self.zones.clone(), self.original());
        let mut master = self.master()?.clone();
        let passed = passed(&master, &zones, &original);
        let (later_ones, head) = (self.end_before(now)?, self.document.clone());
        let time = change.time.clone();
        let (start, end, all_day) = time.unwrap_or((event.start.clone(), event.end.clone(), event.all_day));
        let by = shift(&original, &start);
        turn_days(&mut master, by)?;
        if let Some(rule) = master.get("RRULE").map(|line| line.value().to_owned()) {
            master.set_value("RRULE", &counted(&rule, passed));
        }
        place(&mut master, &(start.clone(), end.clone(), all_day), event, &zones);
        let mut parts = vec![master];
        parts.extend(later_ones);
        for part in &mut parts {
            move_points(part, &["EXDATE", "RDATE", "RECURRENCE-ID"], by, &zones, &original);
        }
        let words = Change {
            time: None,
            ..change.clone()
        };
        if let Some(first) = parts.first_mut() {
            apply(first, &words, event, &zones, now);
        }
        Ok(Rest {
            head,
            parts,
            uid: event.uid.clone(),
        })
    }

    /// Ends the series before the occurrence; gives the replaced occurrences that went with it.
    fn end_before(&mut self, now: &Zoned) -> Result<Vec<Component>, ToolError> {
        let (event, zones, original) = (self.event, self.zones.clone(), self.original());
        let master = self.master()?;
        let like = master.get("DTSTART").cloned();
        let last = original
            .checked_sub(Span::new().seconds(1))
            .map_err(|e| ToolError::broken(CHANGE, e))?;
        let until = match like.as_ref() {
            Some(line) if is_day(Some(line)) => last.strftime("%Y%m%d").to_string(),
            Some(line) if line.param("TZID").is_none() && !line.value().ends_with('Z') => {
                last.strftime("%Y%m%dT%H%M%S").to_string()
            }
            _ => utc(&last),
        };
        if let Some(rule) = master.get("RRULE").map(|line| line.value().to_owned()) {
            let kept: Vec<&str> = rule
                .split(';')
                .filter(|part| !starts_with(part, "UNTIL=") && !starts_with(part, "COUNT="))
                .collect();
            master.set_value("RRULE", &format!("{};UNTIL={until}", kept.join(";")));
        }
        retain_points(master, "RDATE", &zones, &original, |at| *at < original);
        touch(master, now);
        let mut later_ones = Vec::new();
        self.calendar()?.retain(|component| {
            let after = is_of(component, &event.uid)
                && component
                    .get("RECURRENCE-ID")
                    .and_then(|line| read_point(line, &zones, &original))
                    .is_some_and(|at| at >= original);
            if after {
                later_ones.push(component.clone());
            }
            !after
        });
        Ok(later_ones)
    }

    /// Leaves the occurrence out of its series.
    fn leave_out(&mut self, now: &Zoned) -> Result<(), ToolError> {
        let (event, zones, original) = (self.event, self.zones.clone(), self.original());
        let master = self.master()?;
        let like = master.get("DTSTART").cloned();
        master.add(point(
            "EXDATE",
            like.as_ref(),
            &original,
            is_day(like.as_ref()),
            &zones,
        ));
        touch(master, now);
        self.calendar()?.retain(|component| {
            let this = is_of(component, &event.uid)
                && component
                    .get("RECURRENCE-ID")
                    .and_then(|line| read_point(line, &zones, &original))
                    .is_some_and(|at| at.timestamp() == original.timestamp());
            !this
        });
        Ok(())
    }
}

/// What follows a split, to be a file of its own.
struct Rest {
    /// The file that it was split from, for its zones and other foreign parts.
    head: Document,
    parts: Vec<Component>,
    uid: String,
}

impl Rest {
    fn with_uid(mut self, uid: &str) -> Vec<u8> {
        let old = self.uid;
        if let Some(calendar) = self
            .head
            .components_mut()
            .find(|calendar| calendar.components().any(|c| is_of(c, &old)))
        {
            calendar.retain(|c| !(c.is("VEVENT") || c.is("VTODO") || c.is("VJOURNAL")));
            for mut part in self.parts {
                part.set_value("UID", uid);
                calendar.push(part);
            }
        }
        self.head
            .retain(|calendar| calendar.components().any(|c| is_of(c, uid)));
        self.head.to_bytes()
    }
}

fn is_of(component: &Component, uid: &str) -> bool {
    component.is("VEVENT")
        && component
            .get("UID")
            .map_or("", |line| line.value().trim())
            .eq(uid)
}

/// Puts a change into a component and marks it as changed.
fn apply(
    component: &mut Component,
    change: &Change,
    event: &Event,
    zones: &[(String, TimeZone)],
    now: &Zoned,
) {
    if let Some(title) = &change.title {
        component.set_value("SUMMARY", &escape(title));
    }
    if let Some(location) = &change.location {
        component.set_value("LOCATION", &escape(location));
    }
    if let Some(time) = &change.time {
        place(component, time, event, zones);
    }
    touch(component, now);
}

/// Start and end, each as it was written before: in its zone, in UTC, floating, or as a day.
fn place(
    component: &mut Component,
    time: &(Zoned, Zoned, bool),
    event: &Event,
    zones: &[(String, TimeZone)],
) {
    let (start, end, all_day) = time;
    let like = component.get("DTSTART").cloned();
    let end_like = component.get("DTEND").cloned().or_else(|| like.clone());
    component.set(point("DTSTART", like.as_ref(), start, *all_day, zones));
    let same_length =
        start.duration_until(end) == event.start.duration_until(&event.end) && *all_day == event.all_day;
    let has_end = component.get("DTEND").is_some();
    if !has_end && same_length {
        // A length, or none, stays what it is.
        return;
    }
    component.remove("DURATION");
    component.set(point("DTEND", end_like.as_ref(), end, *all_day, zones));
}

/// Counts the revision up, as programs that synchronise expect.
fn touch(component: &mut Component, now: &Zoned) {
    let revision = component
        .value("SEQUENCE")
        .and_then(|n| n.trim().parse::<u32>().ok())
        .unwrap_or(0);
    component.set_value("SEQUENCE", &revision.saturating_add(1).to_string());
    for name in ["DTSTAMP", "LAST-MODIFIED"] {
        component.set(Line::new(name, &utc(now)));
    }
}

fn utc(at: &Zoned) -> String {
    at.timestamp().strftime("%Y%m%dT%H%M%SZ").to_string()
}

/// A moment in the form of another line.
fn point(name: &str, like: Option<&Line>, at: &Zoned, all_day: bool, zones: &[(String, TimeZone)]) -> Line {
    if all_day {
        return Line::new(name, &at.strftime("%Y%m%d").to_string()).with_param("VALUE", "DATE");
    }
    let wall = |at: &Zoned| at.strftime("%Y%m%dT%H%M%S").to_string();
    let id = like.and_then(|line| line.param("TZID"));
    if let Some((zone, id)) = id.and_then(|id| Some((moment::zone(&id, zones)?, id))) {
        return Line::new(name, &wall(&at.with_time_zone(zone))).with_param("TZID", &id);
    }
    match like {
        Some(line) if !line.value().ends_with('Z') && !is_day(Some(line)) => Line::new(name, &wall(at)),
        _ => Line::new(name, &utc(at)),
    }
}

fn is_day(line: Option<&Line>) -> bool {
    line.is_some_and(|line| line.value().trim().len() == 8)
}

/// The moment of a line in the zone of `local`; its first where it has several.
fn read_point(line: &Line, zones: &[(String, TimeZone)], local: &Zoned) -> Option<Zoned> {
    read_value(line.value().split(',').next()?, line, zones, local)
}

fn read_value(value: &str, line: &Line, zones: &[(String, TimeZone)], local: &Zoned) -> Option<Zoned> {
    let value = value.trim();
    if value.len() == 8 {
        let day = jiff::civil::Date::strptime("%Y%m%d", value).ok()?;
        return crate::when::day_start(day, local.time_zone());
    }
    if let Some(civil) = value.strip_suffix('Z') {
        let civil = jiff::civil::DateTime::strptime("%Y%m%dT%H%M%S", civil).ok()?;
        let at: Timestamp = civil.to_zoned(TimeZone::UTC).ok()?.timestamp();
        return Some(at.to_zoned(local.time_zone().clone()));
    }
    let civil = jiff::civil::DateTime::strptime("%Y%m%dT%H%M%S", value).ok()?;
    let zone = line.param("TZID").and_then(|id| moment::zone(&id, zones));
    let (at, _) = crate::when::in_zone(civil, zone.as_ref().unwrap_or(local.time_zone()))?;
    Some(at.with_time_zone(local.time_zone().clone()))
}

/// How far wall clocks move: nine stays nine over a clock change.
fn shift(from: &Zoned, to: &Zoned) -> SignedDuration {
    from.datetime().duration_until(to.datetime())
}

fn later(at: &Zoned, by: SignedDuration) -> Option<Zoned> {
    let civil = at.datetime().checked_add(by).ok()?;
    crate::when::in_zone(civil, at.time_zone()).map(|(at, _)| at)
}

/// Moves the dates of some lines; one that cannot be read stays.
fn move_points(
    component: &mut Component,
    names: &[&str],
    by: SignedDuration,
    zones: &[(String, TimeZone)],
    local: &Zoned,
) {
    if by.is_zero() {
        return;
    }
    for line in component
        .lines_mut()
        .filter(|line| names.iter().any(|name| line.is(name)))
    {
        let moved: Vec<String> = line
            .value()
            .split(',')
            .map(|value| {
                let at = read_value(value, line, zones, local).and_then(|at| later(&at, by));
                at.map_or_else(
                    || value.to_owned(),
                    |at| {
                        let all_day = value.trim().len() == 8;
                        point("X", Some(line), &at, all_day, zones).value().to_owned()
                    },
                )
            })
            .collect();
        line.set_value(&moved.join(","));
    }
}

/// Keeps the dates of a list that `keep` wants.
fn retain_points(
    component: &mut Component,
    name: &str,
    zones: &[(String, TimeZone)],
    local: &Zoned,
    keep: impl Fn(&Zoned) -> bool,
) {
    for line in component.lines_mut().filter(|line| line.is(name)) {
        let kept: Vec<String> = line
            .value()
            .split(',')
            .filter(|value| read_value(value, line, zones, local).is_none_or(|at| keep(&at)))
            .map(str::to_owned)
            .collect();
        line.set_value(&kept.join(","));
    }
    component.retain_lines(|line| !(line.is(name) && line.value().is_empty()));
}

/// Turns the weekdays of a rule when its series moves to other days.
fn turn_days(component: &mut Component, by: SignedDuration) -> Result<(), ToolError> {
    let days = by.as_secs().div_euclid(24 * 3600);
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

fn turned(name: &str, days: i64) -> Option<&'static str> {
    const NAMES: [&str; 7] = ["MO", "TU", "WE", "TH", "FR", "SA", "SU"];
    let place = NAMES.iter().position(|n| *n == name.trim())?;
    let turned = (i64::try_from(place).ok()? + days).rem_euclid(7);
    NAMES.get(usize::try_from(turned).ok()?).copied()
}

/// How many times a series happens by its rule before a moment.
fn passed(master: &Component, zones: &[(String, TimeZone)], before: &Zoned) -> usize {
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
        return 0;
    };
    let zone = line.param("TZID").and_then(|id| moment::zone(&id, zones));
    let zone = match (zone, line.value().ends_with('Z')) {
        (_, true) => TimeZone::UTC,
        (Some(zone), _) => zone,
        (None, _) => before.time_zone().clone(),
    };
    let Some(begin) = read_point(line, zones, before) else {
        return 0;
    };
    let wall = |at: &Zoned| at.with_time_zone(zone.clone()).datetime();
    let stretch = rule::Stretch {
        begin: wall(&begin),
        all_day: is_day(Some(line)),
        until: None,
        after: wall(&begin),
        before: wall(before),
    };
    rule::times(rule, &stretch).map_or(0, |(times, _)| times.len())
}

/// A rule whose COUNT is what is left of it.
fn counted(rule: &str, passed: usize) -> String {
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

fn starts_with(part: &str, name: &str) -> bool {
    part.get(..name.len())
        .is_some_and(|start| start.eq_ignore_ascii_case(name))
}
