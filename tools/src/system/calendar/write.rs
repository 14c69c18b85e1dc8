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
use jiff::{SignedDuration, Zoned, civil::DateTime};

use super::{Collection, Zones, moment, parse};
use crate::{
    contract::ToolError,
    system::{
        journal::Step,
        lines::{Bounds, Component, Document, Line, LineError},
        plain,
    },
};

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
    /// How it repeats, as the value of an RRULE.
    pub rule: Option<String>,
    /// Who takes part.
    pub people: Vec<Person>,
    /// How long before its start somebody is reminded.
    pub remind: Option<SignedDuration>,
}

/// Somebody who takes part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Person {
    /// As they are called.
    pub name: String,
    /// Where they get their mail, when that is known.
    pub mail: Option<String>,
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
    let text = complete(event, render(event, &uid, now)).map_err(|e| ToolError::broken(WHAT, e))?;
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
pub fn new_uid(now: &Zoned) -> String {
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

/// The same with what is a line of its own: rule, people, alarm.
fn complete(event: &NewEvent, text: String) -> Result<String, LineError> {
    let mut document = Document::parse(text.as_bytes(), Bounds::default())?;
    let components = document.components_mut().flat_map(Component::components_mut);
    for component in components.filter(|c| c.is("VEVENT")) {
        if let Some(rule) = &event.rule {
            component.add(Line::new("RRULE", rule));
        }
        for person in &event.people {
            // Programs write this for somebody without an address; an attendee must have one.
            let address = person
                .mail
                .as_ref()
                .map_or("invalid:nomail".to_owned(), |mail| format!("mailto:{mail}"));
            component.add(Line::new("ATTENDEE", &address).with_param("CN", &person.name));
        }
        if let Some(before) = event.remind {
            let mut alarm = Component::new("VALARM");
            alarm.add(Line::new("ACTION", "DISPLAY"));
            alarm.add(Line::text("DESCRIPTION", &event.title));
            alarm.add(Line::new("TRIGGER", &trigger(before)));
            component.push(alarm);
        }
    }
    Ok(String::from_utf8_lossy(&document.to_bytes()).into_owned())
}

/// `-PT10M`, `-P1D`: so long before the start.
fn trigger(before: SignedDuration) -> String {
    let minutes = before.as_secs().unsigned_abs() / 60;
    match (minutes % 1440, minutes % 60) {
        (0, _) if minutes > 0 => format!("-P{}D", minutes / 1440),
        (_, 0) if minutes > 0 => format!("-PT{}H", minutes / 60),
        _ => format!("-PT{minutes}M"),
    }
}

/// A rule in words: "every second week on Monday and Friday".
pub fn said_rule(event: &NewEvent) -> String {
    let part = |name: &str| {
        let rule = event.rule.as_deref().unwrap_or_default();
        rule.split(';')
            .find_map(|part| part.strip_prefix(name)?.strip_prefix('='))
    };
    let unit = match part("FREQ") {
        Some("YEARLY") => "year",
        Some("MONTHLY") => "month",
        Some("WEEKLY") => "week",
        Some("DAILY") => "day",
        Some("HOURLY") => "hour",
        _ => "time",
    };
    let every = match part("INTERVAL").unwrap_or("1") {
        "1" => format!("every {unit}"),
        "2" => format!("every second {unit}"),
        n => format!("every {n} {unit}s"),
    };
    const NAMES: [(&str, &str); 7] = [
        ("MO", "Monday"),
        ("TU", "Tuesday"),
        ("WE", "Wednesday"),
        ("TH", "Thursday"),
        ("FR", "Friday"),
        ("SA", "Saturday"),
        ("SU", "Sunday"),
    ];
    let day = |code: &str| {
        let (place, code) = code.split_at_checked(code.len().checked_sub(2)?)?;
        let name = NAMES.iter().find(|(short, _)| *short == code)?.1;
        Some(match place {
            "" => name.to_owned(),
            "1" => format!("the first {name}"),
            "2" => format!("the second {name}"),
            "3" => format!("the third {name}"),
            "4" => format!("the fourth {name}"),
            "-1" => format!("the last {name}"),
            _ => return None,
        })
    };
    let days: Vec<String> = part("BYDAY")
        .map(|list| list.split(',').filter_map(day).collect())
        .unwrap_or_default();
    let on = if days.is_empty() {
        String::new()
    } else {
        format!(" on {}", plain::listed(&days, "and"))
    };
    let times = part("COUNT")
        .map(|count| format!(", {count} times"))
        .unwrap_or_default();
    let until = part("UNTIL").and_then(|until| {
        let day = jiff::civil::Date::strptime("%Y%m%d", until.get(..8)?).ok()?;
        Some(format!(" until {}", day.strftime("%-d %B %Y")))
    });
    format!("{every}{on}{times}{}", until.unwrap_or_default())
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
