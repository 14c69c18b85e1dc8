//! Changes of events in the files of other programs: on their lines, so that everything that is not meant stays.

mod points;
mod rules;

use std::path::Path;

use jiff::{SignedDuration, Span, Zoned, tz::TimeZone};

use self::{
    points::{is_day, later, move_points, point, read_point, retain_points, shift, utc, zone_of},
    rules::{counted, move_until, passed, starts_with, turn_days},
};
use super::{Event, parse};
use crate::{
    contract::ToolError,
    system::{
        journal::{JournalError, Step},
        lines::{Bounds, Component, Document, Line, escape},
        store::{self, StoreError},
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
    if scope == Scope::Onwards && event.original.is_some() {
        return update_onwards(step, event, change, now);
    }
    step.edit(&event.path, CHANGE, |before| {
        let mut file = File::read(before, event, CHANGE)?;
        match scope {
            Scope::One if file.repeats() => file.change_one(change, now)?,
            _ => file.change_all(change, now)?,
        }
        file.written()
    })
}

/// Changes an occurrence and those after it, which become a file of their own.
fn update_onwards(step: &Step, event: &Event, change: &Change, now: &Zoned) -> Result<(), ToolError> {
    let mut left = 3;
    loop {
        let before = store::read_bounded(&event.path, store::MAX_GUARDED).map_err(|e| e.tool(CHANGE))?;
        let mut file = File::read(&before, event, CHANGE)?;
        let result = if file.is_first() {
            // "From the first on" is all of them.
            file.change_all(change, now)?;
            step.replace(&event.path, &before, &file.written()?)
        } else {
            let rest = file.split(change, now)?;
            let uid = super::write::new_uid(now);
            let path = event.path.with_file_name(format!("{uid}.ics"));
            let tail = rest.with_uid(&uid);
            write_both(step, (&path, &tail), (&event.path, &before, &file.written()?))
        };
        match result {
            Err(JournalError::Store(StoreError::Changed(_))) if left > 1 => left -= 1,
            result => return result.map_err(|e| e.tool(CHANGE)),
        }
    }
}

/// Writes what follows, and only then ends the series before it: whatever stops this in between, no occurrence is lost,
/// and what was written is taken away again.
fn write_both(
    step: &Step,
    (path, tail): (&Path, &[u8]),
    (head, before, after): (&Path, &[u8], &[u8]),
) -> Result<(), JournalError> {
    step.create(path, tail)?;
    step.replace(head, before, after).inspect_err(|_| {
        if step.take_back().is_err() {
            tracing::warn!("the following events stay in a file of their own, too");
        }
    })
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
        let end = single.get("DTEND").is_some().then_some(&event.end);
        place(&mut single, &event.start, end, event.all_day, &zones);
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
        let moved = self.moved(change)?;
        let master = self.master()?;
        let old = master.clone();
        self.shift_master(&moved)?;
        set_words(self.master()?, change);
        touch(self.master()?, now);
        let original = self.original();
        for component in self.calendar()?.components_mut().filter(|c| is_of(c, &event.uid)) {
            change_part(component, &old, change, &moved, (&original, &zones));
        }
        Ok(())
    }

    /// How far a change moves the series, seen from where the occurrence would be if nobody had moved it.
    fn moved(&mut self, change: &Change) -> Result<Moved, ToolError> {
        let (event, zones, original) = (self.event, self.zones.clone(), self.original());
        let Some((start, end, all_day)) = &change.time else {
            return Ok(Moved::default());
        };
        if *all_day != event.all_day {
            return Err(ToolError::tell(
                "I cannot make a whole series all-day, or timed. Make a new one.",
            ));
        }
        let length = (!same_length(event, start, end, *all_day)).then(|| Length::of(start, end, *all_day));
        // Only another length was asked for.
        if length.is_some() && *start == event.start {
            return Ok(Moved {
                length,
                ..Moved::default()
            });
        }
        let zone = self
            .master()?
            .get("DTSTART")
            .map(|line| zone_of(line, &zones, original.time_zone()));
        let zone = zone.unwrap_or_else(|| original.time_zone().clone());
        let day = |at: &Zoned| at.with_time_zone(zone.clone()).date();
        Ok(Moved {
            by: shift(&original, start),
            days: day(&original)
                .until(day(start))
                .map_or(0, |span| i64::from(span.get_days())),
            length,
        })
    }

    /// Moves the beginning, the rule and the length of the series.
    fn shift_master(&mut self, moved: &Moved) -> Result<(), ToolError> {
        let (zones, original, all_day) = (self.zones.clone(), self.original(), self.event.all_day);
        let master = self.master()?;
        turn_days(master, moved.days)?;
        move_until(master, moved, &zones, &original);
        let first = master
            .get("DTSTART")
            .and_then(|line| read_point(line, &zones, &original));
        if let Some(first) = first.and_then(|first| later(&first, moved.by))
            && (!moved.by.is_zero() || moved.length.is_some())
        {
            let end = moved.length.and_then(|length| length.after(&first));
            place(master, &first, end.as_ref(), all_day, &zones);
        }
        Ok(())
    }

    /// Ends the series before the occurrence, and gives what follows as a series of its own.
    fn split(&mut self, change: &Change, now: &Zoned) -> Result<Rest, ToolError> {
        let (event, zones, original) = (self.event, self.zones.clone(), self.original());
        let moved = self.moved(change)?;
        let old = self.master()?.clone();
        let mut master = old.clone();
        let (later_ones, head) = (self.end_before(now)?, self.document.clone());
        if let Some(rule) = master.get("RRULE").map(|line| line.value().to_owned())
            && rule.to_uppercase().contains("COUNT=")
        {
            master.set_value("RRULE", &counted(&rule, passed(&old, &zones, &original)?));
        }
        turn_days(&mut master, moved.days)?;
        move_until(&mut master, &moved, &zones, &original);
        retain_points(&mut master, "RDATE", &zones, &original, |at| *at >= original);
        let start = later(&original, moved.by).unwrap_or_else(|| original.clone());
        let end = moved.length.and_then(|length| length.after(&start));
        place(&mut master, &start, end.as_ref(), event.all_day, &zones);
        set_words(&mut master, change);
        touch(&mut master, now);
        let mut parts = vec![master];
        parts.extend(later_ones);
        for part in &mut parts {
            change_part(part, &old, change, &moved, (&original, &zones));
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

/// How far a series moves, and how long it lasts then; nothing stays as it is.
#[derive(Debug, Clone, Copy, Default)]
struct Moved {
    /// On the wall clock.
    by: SignedDuration,
    /// The same in days of the series' zone.
    days: i64,
    /// Only when another was asked for.
    length: Option<Length>,
}

/// How long something lasts.
#[derive(Debug, Clone, Copy)]
enum Length {
    /// Whole days, which clock changes make no shorter.
    Days(SignedDuration),
    Exact(SignedDuration),
}

impl Length {
    fn of(start: &Zoned, end: &Zoned, all_day: bool) -> Length {
        if all_day {
            Length::Days(shift(start, end))
        } else {
            Length::Exact(start.duration_until(end))
        }
    }

    fn after(self, start: &Zoned) -> Option<Zoned> {
        match self {
            Length::Days(length) => later(start, length),
            Length::Exact(length) => start.checked_add(length).ok(),
        }
    }
}

/// Whether a time is as long as the event is, so that nobody asked for another length.
fn same_length(event: &Event, start: &Zoned, end: &Zoned, all_day: bool) -> bool {
    let exact = start.duration_until(end) == event.start.duration_until(&event.end);
    all_day == event.all_day && (exact || all_day && shift(start, end) == shift(&event.start, &event.end))
}

/// Puts a change into a component and marks it as changed.
fn apply(
    component: &mut Component,
    change: &Change,
    event: &Event,
    zones: &[(String, TimeZone)],
    now: &Zoned,
) {
    set_words(component, change);
    if let Some((start, end, all_day)) = &change.time {
        let end = (!same_length(event, start, end, *all_day)).then_some(end);
        place(component, start, end, *all_day, zones);
    }
    touch(component, now);
}

fn set_words(component: &mut Component, change: &Change) {
    for (name, text) in [("SUMMARY", &change.title), ("LOCATION", &change.location)] {
        if let Some(text) = text {
            component.set_value(name, &escape(text));
        }
    }
}

/// What a change of a series does to one of its components: what it leaves out, adds and replaces moves along. The
/// occurrence that was named changes as its series does; others that were replaced keep their own time, and words that
/// are not those of the series.
fn change_part(
    part: &mut Component,
    old: &Component,
    change: &Change,
    moved: &Moved,
    (original, zones): (&Zoned, &[(String, TimeZone)]),
) {
    let id = part
        .get("RECURRENCE-ID")
        .and_then(|line| read_point(line, zones, original));
    if let Some(id) = id {
        let named = id.timestamp() == original.timestamp();
        for (name, text) in [("SUMMARY", &change.title), ("LOCATION", &change.location)] {
            if let Some(text) = text
                && (named || part.value(name) == old.value(name))
            {
                part.set_value(name, &escape(text));
            }
        }
        if let Some((start, end, all_day)) = change.time.as_ref().filter(|_| named) {
            let end = moved.length.is_some().then_some(end);
            place(part, start, end, *all_day, zones);
        }
    }
    move_points(
        part,
        &["EXDATE", "RDATE", "RECURRENCE-ID"],
        moved.by,
        zones,
        original,
    );
}

/// Start and end, each as it was written before: in its zone, in UTC, floating, or as a day. Without an end it lasts as
/// long as before.
fn place(
    component: &mut Component,
    start: &Zoned,
    end: Option<&Zoned>,
    all_day: bool,
    zones: &[(String, TimeZone)],
) {
    let like = component.get("DTSTART").cloned();
    let own_end = component.get("DTEND").cloned();
    component.set(point("DTSTART", like.as_ref(), start, all_day, zones));
    let own = || {
        let from = read_point(like.as_ref()?, zones, start)?;
        let to = read_point(own_end.as_ref()?, zones, start)?;
        Length::of(&from, &to, all_day).after(start)
    };
    // A length, or none, stays what it is.
    if let Some(end) = end.cloned().or_else(own) {
        component.remove("DURATION");
        let like = own_end.as_ref().or(like.as_ref());
        component.set(point("DTEND", like, &end, all_day, zones));
    }
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

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::testing::{files, step};

    #[test]
    fn what_follows_is_taken_away_when_the_series_cannot_be_ended() {
        let root = tempfile::tempdir().unwrap();
        let step = step(root.path());
        let folder = root.path().join("calendars/home");
        fs::create_dir_all(&folder).unwrap();
        let (head, tail) = (folder.join("head.ics"), folder.join("tail.ics"));
        fs::write(&head, "changed since").unwrap();
        let before = files(&folder);
        let result = write_both(&step, (&tail, b"tail"), (&head, b"as it was read", b"ended"));
        assert!(
            matches!(result, Err(JournalError::Store(StoreError::Changed(_)))),
            "{result:?}"
        );
        assert_eq!(files(&folder), before);
        // And when what follows cannot be written, the series is not ended.
        fs::write(&tail, "somebody else's").unwrap();
        let before = files(&folder);
        let result = write_both(&step, (&tail, b"tail"), (&head, b"changed since", b"ended"));
        assert!(
            matches!(result, Err(JournalError::Store(StoreError::Exists(_)))),
            "{result:?}"
        );
        assert_eq!(files(&folder), before);
        assert_eq!(step.journal().verify_invariants().unwrap(), [""; 0]);
        assert!(step.journal().undo(None).is_err(), "nothing is left to undo");
    }
}
