//! New events: one valid VCALENDAR with one VEVENT in a file of its own, written atomically and read back.

use std::{
    hash::{BuildHasher, RandomState},
    path::PathBuf,
};

use calcard::{
    common::PartialDateTime,
    icalendar::{
        ICalendar, ICalendarComponent, ICalendarComponentType, ICalendarEntry, ICalendarParameter,
        ICalendarProperty, ICalendarValue, ICalendarValueType,
    },
};
use jiff::{Zoned, civil::DateTime};

use super::{Collection, Zones, moment, parse};
use crate::{contract::ToolError, system::journal::Step};

/// An event to be made.
#[derive(Debug, Clone)]
pub struct NewEvent {
    /// What it is.
    pub title: String,
    /// When it starts; its zone is written along.
    pub start: Zoned,
    /// When it is over; not before `start`.
    pub end: Zoned,
    /// Whether only the dates count.
    pub all_day: bool,
    /// Where.
    pub location: Option<String>,
    /// The longer text.
    pub description: Option<String>,
}

/// Writes the event into a file named after its new UID; returns both.
///
/// # Errors
/// `Tell` for a store that takes no writes, `Broken` when what is read back is not what was written.
pub fn create(
    step: &Step,
    calendar: &Collection,
    event: &NewEvent,
    now: &Zoned,
) -> Result<(String, PathBuf), ToolError> {
    const WHAT: &str = "save the event";
    let uid = new_uid(now);
    let text = render(event, &uid, now);
    let path = calendar.path.join(format!("{uid}.ics"));
    step.create(&path, text.as_bytes()).map_err(|e| e.tool(WHAT))?;
    if let Err(difference) = verify(&path, event, now) {
        // A file that says something else than was asked for is worse than none.
        step.remove(&path, text.as_bytes()).map_err(|e| e.tool(WHAT))?;
        return Err(ToolError::broken(WHAT, difference));
    }
    Ok((uid, path))
}

/// Random enough to be unique among all events of the world: two hashes of differently keyed SipHash.
fn new_uid(now: &Zoned) -> String {
    let nanos = now.timestamp().as_nanosecond();
    let random = || RandomState::new().hash_one((nanos, std::process::id(), std::time::SystemTime::now()));
    format!("{:016x}{:016x}", random(), random())
}

fn render(event: &NewEvent, uid: &str, now: &Zoned) -> String {
    use ICalendarProperty as P;
    let mut component = ICalendarComponent::new(ICalendarComponentType::VEvent);
    component.add_uid(uid);
    component.add_dtstamp(partial(
        now.with_time_zone(jiff::tz::TimeZone::UTC).datetime(),
        true,
    ));
    component
        .entries
        .push(point(P::Dtstart, &event.start, event.all_day));
    component.entries.push(point(P::Dtend, &event.end, event.all_day));
    component.add_property(P::Summary, ICalendarValue::Text(event.title.clone()));
    let texts = [
        (P::Location, &event.location),
        (P::Description, &event.description),
    ];
    for (name, text) in texts {
        if let Some(text) = text {
            component.add_property(name, ICalendarValue::Text(text.clone()));
        }
    }
    let mut root = ICalendarComponent::new(ICalendarComponentType::VCalendar);
    root.add_property(P::Version, ICalendarValue::Text("2.0".to_owned()));
    root.add_property(P::Prodid, ICalendarValue::Text("-//Tiro//Tiro//EN".to_owned()));
    root.component_ids = vec![1];
    let mut calendar = ICalendar {
        components: vec![root, component],
    };
    // Other programs may not know the zone by its name alone.
    calendar.add_missing_timezones();
    calendar.to_string()
}

/// A day, a wall time with its zone, or UTC where the zone has no name that other programs know.
fn point(name: ICalendarProperty, at: &Zoned, all_day: bool) -> ICalendarEntry {
    let entry = ICalendarEntry::new(name);
    if all_day {
        let mut day = partial(at.datetime(), false);
        (day.hour, day.minute, day.second) = (None, None, None);
        return entry
            .with_param(ICalendarParameter::value(ICalendarValueType::Date))
            .with_value(ICalendarValue::PartialDateTime(Box::new(day)));
    }
    let known = at.time_zone().iana_name().filter(|name| *name != "UTC");
    match known {
        Some(zone) => entry
            .with_param(ICalendarParameter::tzid(zone.to_owned()))
            .with_value(ICalendarValue::PartialDateTime(Box::new(partial(
                at.datetime(),
                false,
            )))),
        None => {
            let utc = at.with_time_zone(jiff::tz::TimeZone::UTC).datetime();
            entry.with_value(ICalendarValue::PartialDateTime(Box::new(partial(utc, true))))
        }
    }
}

fn partial(civil: DateTime, utc: bool) -> PartialDateTime {
    let small = |n: i8| u8::try_from(n).ok();
    PartialDateTime {
        year: u16::try_from(civil.year()).ok(),
        month: small(civil.month()),
        day: small(civil.day()),
        hour: small(civil.hour()),
        minute: small(civil.minute()),
        second: small(civil.second()),
        tz_hour: utc.then_some(0),
        tz_minute: utc.then_some(0),
        tz_minus: false,
    }
}

/// Compares what a reader sees with what was asked for.
fn verify(path: &std::path::Path, event: &NewEvent, now: &Zoned) -> Result<(), String> {
    let file = parse::file(path)?;
    let series = file.series("VEVENT");
    let [one] = series.as_slice() else {
        return Err(format!("{} events were read back instead of one", series.len()));
    };
    let component = one.current();
    let zones = Zones::new(&file.zones, now.time_zone());
    let at = |name| moment::of(component, &name, &zones).and_then(|m| m.zoned(event.start.time_zone()));
    let same = at(ICalendarProperty::Dtstart).as_ref() == Some(&event.start)
        && at(ICalendarProperty::Dtend).as_ref() == Some(&event.end)
        && parse::title(component) == event.title
        && parse::text(component, &ICalendarProperty::Location) == event.location
        && parse::text(component, &ICalendarProperty::Description) == event.description;
    if same {
        Ok(())
    } else {
        Err("what was read back differs".to_owned())
    }
}
