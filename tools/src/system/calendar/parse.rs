//! One iCalendar file to components and texts. Files come from other programs and other people: bounded, and what is
//! broken in one is said and hides nothing else.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    path::Path,
};

use calcard::{
    Entry, Parser,
    icalendar::{
        ICalendar, ICalendarComponent, ICalendarEntry, ICalendarParameterName, ICalendarProperty,
        ICalendarTransparency,
    },
};

use jiff::tz::TimeZone;

use super::{Series, moment, vdir::MAX_FILE};
use crate::system::{
    lines::{Bounds, Document},
    plain, store,
};

/// Texts are cut to this; a title of a megabyte is an attack, not a title.
const MAX_TEXT: usize = 4000;
/// Organizer and attendees that are kept.
const MAX_PEOPLE: usize = 200;
/// What is said of a file whose components do not nest, until its line is found.
const CUT: &str = "it ends in the middle";
/// Objects in one file.
const MAX_OBJECTS: usize = 10_000;

/// What a file holds.
#[derive(Debug, Default)]
pub struct File {
    /// Its VCALENDAR objects.
    pub calendars: Vec<ICalendar>,
    /// The zones that it defines, by the names that it uses for them.
    pub zones: Vec<(String, TimeZone)>,
    /// What was wrong in it, when something could be read all the same.
    pub trouble: Option<String>,
}

/// Reads and parses a file.
///
/// # Errors
/// A sentence that names the file.
pub fn file(path: &Path) -> Result<File, String> {
    let bytes = store::read_bounded(path, MAX_FILE).map_err(|e| e.to_string())?;
    let file = parse(&String::from_utf8_lossy(&bytes));
    match &file.trouble {
        Some(trouble) if file.calendars.is_empty() => Err(format!("{}: {trouble}", path.display())),
        _ => Ok(file),
    }
}

/// Parses a text.
pub fn parse(text: &str) -> File {
    // The parser is fuzzed by its makers, but a panic on one hostile invitation must not take the assistant along.
    catch_unwind(AssertUnwindSafe(|| objects(text))).unwrap_or_else(|_| File {
        trouble: Some("the parser failed on it".to_owned()),
        ..File::default()
    })
}

fn objects(text: &str) -> File {
    let mut file = File::default();
    let mut parser = Parser::new(text);
    let mut anything = false;
    for _ in 0..MAX_OBJECTS {
        match parser.entry() {
            Entry::ICalendar(mut calendar) => {
                file.zones.extend(moment::defined(&mut calendar));
                file.calendars.push(calendar);
            }
            Entry::Eof => break,
            Entry::VCard(_) => file.trouble = Some("it holds a contact, not a calendar".to_owned()),
            Entry::InvalidLine(line) if line.trim().is_empty() => {}
            Entry::InvalidLine(_) if anything => {}
            Entry::InvalidLine(_) => file.trouble = Some("it is not an iCalendar file".to_owned()),
            Entry::UnterminatedComponent(_) | Entry::UnexpectedComponentEnd { .. } => {
                file.trouble = Some(CUT.to_owned());
            }
            _ => file.trouble = Some("it holds too much".to_owned()),
        }
        anything = true;
    }
    // The parser closes what is left open; a file that was cut off in transit shall be said to be, and where.
    let lines = |word: &str| {
        text.lines()
            .filter(|line| {
                line.get(..word.len())
                    .is_some_and(|start| start.eq_ignore_ascii_case(word))
            })
            .count()
    };
    let cut = file.trouble.as_deref() == Some(CUT);
    if (cut || lines("BEGIN:") != lines("END:"))
        && let Err(error) = Document::parse(text.as_bytes(), Bounds::default())
    {
        file.trouble = Some(format!("it is broken in {error}"));
    }
    if file.calendars.is_empty() && file.trouble.is_none() {
        file.trouble = Some("it is empty".to_owned());
    }
    if file.trouble.is_none() {
        file.trouble = unknown_zone(&file);
    }
    file
}

/// Names a zone that the file uses and that nobody knows, neither we nor the file.
fn unknown_zone(file: &File) -> Option<String> {
    let entries = file
        .calendars
        .iter()
        .flat_map(|c| &c.components)
        .flat_map(|c| &c.entries);
    let unknown = entries
        .filter_map(ICalendarEntry::tz_id)
        .find(|id| moment::zone(id, &file.zones).is_none())?;
    Some(format!(
        "its time zone \"{}\" is unknown, so its times are taken as local ones",
        plain::one_line(unknown, 60)
    ))
}

impl File {
    /// The components of one kind by UID.
    pub fn series(&self, kind: &str) -> Vec<Series<'_>> {
        let components = self.calendars.iter().flat_map(|c| &c.components);
        Series::group(components.filter(|c| c.component_type.as_str() == kind))
    }
}

/// A property's text, trimmed and cut; `None` when there is none.
pub fn text(component: &ICalendarComponent, name: &ICalendarProperty) -> Option<String> {
    let text = component.property(name)?.values.first()?.as_text()?;
    let text = plain::lines(&text.chars().take(MAX_TEXT).collect::<String>());
    let text = text.trim();
    (!text.is_empty()).then(|| text.to_owned())
}

/// The title on one line.
pub fn title(component: &ICalendarComponent) -> String {
    match text(component, &ICalendarProperty::Summary) {
        Some(title) => plain::one_line(&title, 200),
        None => "untitled".to_owned(),
    }
}

/// Whether its time is taken: not by what is declared to take none (RFC 5545 3.8.2.7).
pub fn is_busy(component: &ICalendarComponent) -> bool {
    component.transparency() != Some(&ICalendarTransparency::Transparent)
}

/// Names, else addresses, of organizer and attendees.
pub fn people(component: &ICalendarComponent) -> Vec<String> {
    let roles = [ICalendarProperty::Organizer, ICalendarProperty::Attendee];
    let mut people = Vec::new();
    for entry in component.entries.iter().filter(|e| roles.contains(&e.name)) {
        let name = entry
            .parameter(&ICalendarParameterName::Cn)
            .and_then(|name| name.as_text())
            .or_else(|| entry.calendar_address())
            .map(|name| plain::one_line(name, 80));
        people.extend(name.filter(|name| !name.is_empty() && !people.contains(name)));
        if people.len() >= MAX_PEOPLE {
            break;
        }
    }
    people
}
