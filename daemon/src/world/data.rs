//! The world file: JSON, every field known, every day relative.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use serde::Deserialize;
use tools::system::store;

/// Everything that a world holds.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct World {
    pub(super) calendars: Vec<Calendar>,
    pub(super) contacts: Vec<Contact>,
    pub(super) reminders: Vec<List>,
    pub(super) mail: Vec<Mail>,
    pub(super) notes: Vec<Text>,
    pub(super) files: Vec<Text>,
    pub(super) applications: Vec<Application>,
}

impl World {
    /// Reads a world file.
    ///
    /// # Errors
    /// When it is missing, too large, or anything in it is not known.
    pub fn load(path: &Path) -> anyhow::Result<World> {
        let bytes = store::read_bounded(path, super::MAX_BYTES)?;
        serde_json::from_slice(&bytes).with_context(|| format!("{} is not a world.", path.display()))
    }

    pub(super) fn counts(&self) -> Vec<(&'static str, usize)> {
        vec![
            ("events", self.calendars.iter().map(|c| c.events.len()).sum()),
            ("contacts", self.contacts.len()),
            ("reminders", self.reminders.iter().map(|l| l.items.len()).sum()),
            ("messages", self.mail.len()),
            ("notes", self.notes.len()),
            ("files", self.files.len()),
            ("applications", self.applications.len()),
        ]
    }
}

/// A day as a world names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub(super) enum Day {
    /// So many days from today.
    Offset(i32),
    /// The next such day after today.
    Next(jiff::civil::Weekday),
}

impl TryFrom<String> for Day {
    type Error = String;

    fn try_from(text: String) -> Result<Day, String> {
        use jiff::civil::Weekday::{Friday, Monday, Saturday, Sunday, Thursday, Tuesday, Wednesday};
        Ok(match text.as_str() {
            "yesterday" => Day::Offset(-1),
            "today" => Day::Offset(0),
            "tomorrow" => Day::Offset(1),
            "monday" => Day::Next(Monday),
            "tuesday" => Day::Next(Tuesday),
            "wednesday" => Day::Next(Wednesday),
            "thursday" => Day::Next(Thursday),
            "friday" => Day::Next(Friday),
            "saturday" => Day::Next(Saturday),
            "sunday" => Day::Next(Sunday),
            number => match number.parse() {
                Ok(days) if number.starts_with(['+', '-']) => Day::Offset(days),
                _ => {
                    return Err(format!(
                        "`{text}` is not a day; write yesterday, today, tomorrow, a weekday, or days from today as +3 or -2"
                    ));
                }
            },
        })
    }
}

impl Day {
    /// The date, seen from `today`.
    pub(super) fn date(self, today: jiff::civil::Date) -> anyhow::Result<jiff::civil::Date> {
        Ok(match self {
            Day::Offset(days) => today.checked_add(jiff::Span::new().try_days(days)?)?,
            Day::Next(weekday) => today.nth_weekday(1, weekday)?,
        })
    }
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Calendar {
    pub id: String,
    pub name: String,
    pub color: String,
    pub events: Vec<Event>,
}

/// Without `start` it lasts all day.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Event {
    pub id: String,
    pub title: String,
    pub day: Day,
    pub start: Option<jiff::civil::Time>,
    pub end: Option<jiff::civil::Time>,
    pub location: Option<String>,
    pub notes: Option<String>,
    /// An RFC 5545 rule.
    pub repeat: Option<String>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Contact {
    pub id: String,
    pub given: String,
    #[serde(default)]
    pub family: String,
    #[serde(default)]
    pub nicknames: Vec<String>,
    #[serde(default)]
    pub phones: Vec<Phone>,
    #[serde(default)]
    pub emails: Vec<String>,
    pub birthday: Option<jiff::civil::Date>,
    pub company: Option<String>,
    pub notes: Option<String>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Phone {
    Cell(String),
    Home(String),
    Work(String),
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct List {
    pub id: String,
    pub name: String,
    pub items: Vec<Reminder>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Reminder {
    pub id: String,
    pub text: String,
    pub day: Option<Day>,
    pub time: Option<jiff::civil::Time>,
    #[serde(default)]
    pub done: bool,
}

/// Its time is hours before now, so that no message comes from the future.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Mail {
    pub id: String,
    pub from: Address,
    pub to: Address,
    pub subject: String,
    pub hours_ago: u32,
    #[serde(default)]
    pub unread: bool,
    pub text: String,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Address {
    pub name: String,
    pub address: String,
}

/// A note or a file.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Text {
    pub path: PathBuf,
    pub text: String,
}

/// A desktop entry.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Application {
    pub id: String,
    pub name: String,
    pub about: String,
    pub exec: String,
    #[serde(default)]
    pub keywords: Vec<String>,
}
