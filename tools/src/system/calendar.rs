//! Events and to-dos in vdir folders of iCalendar files (RFC 5545): read, expanded, written.

mod parse;
mod moment;
mod rule;
mod recur;
mod index;
mod alarm;
mod write;
mod edit;
mod said;
mod show;

use std::{
    collections::BTreeMap,
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

use calcard::icalendar::{ICalendarComponent, ICalendarProperty, ICalendarStatus};
use jiff::{Zoned, civil::Date, tz::TimeZone};

use super::{
    plain,
    store::StoreError,
    vdir::{self, Collection},
};
pub use alarm::{Following, Items, Ringing, following, ringing};
pub use edit::{Change, Scope, remove, update};
use index::Within;
use moment::{Moment, Zones};
pub use said::{
    DAYS_AHEAD, Moved, Window, end, is_any_event, is_days, is_whole_series, length, moved, spoken, which,
};
pub use show::{is_about, place, read, shown, tell};
pub use write::{NewEvent, Person, create, new_uid, said_rule};

/// More events than this in one answer are of no use to anybody.
const MAX_EVENTS: usize = 10_000;
/// All recurrences of one reading may take this long together; those that are left then are shown once, with a warning.
const MAX_EXPANDING: Duration = Duration::from_secs(2);

/// One occurrence of an event.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    /// The same for all occurrences.
    pub uid: String,
    /// As written; somebody else's words when `invited`.
    pub title: String,
    /// In the zone that the reader asked for; a day begins at its first moment.
    pub start: Zoned,
    /// Exclusive; equal to `start` for an event without a length.
    pub end: Zoned,
    /// Whether it has dates and no times.
    pub all_day: bool,
    /// Where, when said.
    pub location: Option<String>,
    /// The longer text.
    pub description: Option<String>,
    /// Names, else addresses, of organizer and attendees.
    pub people: Vec<String>,
    /// Whether an organizer is named, so that the words may be theirs.
    pub invited: bool,
    /// Whether it repeats.
    pub repeats: bool,
    /// When this occurrence of a series would be if nobody had moved it: what names it.
    pub original: Option<Zoned>,
    /// Whether it takes the person's time.
    pub busy: bool,
    /// The calendar's name.
    pub calendar: Arc<str>,
    /// Its file.
    pub path: Arc<Path>,
}

/// A to-do that is not done.
#[derive(Debug, Clone, PartialEq)]
pub struct Todo {
    /// Its identity.
    pub uid: String,
    /// As written.
    pub title: String,
    /// When it is due.
    pub due: Option<Due>,
    /// 1 (highest) to 9; 0 when not said.
    pub priority: u8,
    /// The longer text.
    pub description: Option<String>,
    /// The list's name.
    pub list: Arc<str>,
    /// Its file.
    pub path: Arc<Path>,
}

/// When a to-do is due.
#[derive(Debug, Clone, PartialEq)]
pub enum Due {
    /// Some time that day.
    Day(Date),
    /// At that moment.
    At(Zoned),
}

/// What a store holds, and what in it could not be read.
#[derive(Debug)]
pub struct Reading<T> {
    /// In order of time.
    pub items: Vec<T>,
    /// One for each file, link or recurrence that was left out; names the file.
    pub warnings: Vec<String>,
}

/// The calendars or lists of a store.
///
/// # Errors
/// When the store cannot be read.
pub fn collections(root: &Path) -> Result<Vec<Collection>, StoreError> {
    vdir::collections(root)
}

/// All occurrences that overlap the stretch, cancelled ones left out, in order of start. Times without a zone are in
/// the zone of `from`, and so are the results.
///
/// # Errors
/// When the store cannot be read; a broken file in it is a warning.
pub fn events(root: &Path, from: &Zoned, to: &Zoned) -> Result<Reading<Event>, StoreError> {
    let window = recur::Window {
        from: from.clone(),
        to: to.with_time_zone(from.time_zone().clone()),
        deadline: Instant::now() + MAX_EXPANDING,
    };
    let mut warnings = Vec::new();
    let collections = vdir::collections(root)?;
    let within = Within::Events(index::Span::of(&window.from, &window.to));
    let mut items: Vec<Event> = each_file_of(
        &collections,
        within,
        &mut warnings,
        |file, calendar, path, warnings, out| {
            let zones = Zones::new(&file.zones, window.from.time_zone());
            let source = Source {
                zones: &zones,
                calendar: calendar.clone(),
                path: path.clone(),
            };
            for series in file.series("VEVENT") {
                recur::expand(&series, &source, &window, warnings, out);
            }
        },
    );
    if items.len() > MAX_EVENTS {
        warnings.push(format!(
            "more than {MAX_EVENTS} events; the later ones were left out"
        ));
    }
    items.sort_by(|a, b| (&a.start, &a.end, &a.title).cmp(&(&b.start, &b.end, &b.title)));
    items.truncate(MAX_EVENTS);
    Ok(Reading { items, warnings })
}

/// How many events and to-dos a calendar holds, each series as one.
pub fn count(collection: &Collection) -> usize {
    let files = index::files(collection, Within::All, &mut Vec::new()).unwrap_or_default();
    let series = |kind| {
        files
            .iter()
            .map(|(_, file)| file.series(kind).len())
            .sum::<usize>()
    };
    series("VEVENT") + series("VTODO")
}

/// Whether an event can be changed.
///
/// # Errors
/// `Tell` that names the calendar which is read-only.
pub fn writable(event: &Event) -> Result<(), crate::ToolError> {
    match event.path.parent() {
        Some(folder) if vdir::is_read_only(folder) => {
            let text = format!(
                "The calendar {} is read-only, so I cannot change {}.",
                plain::one_line(&event.calendar, 60),
                plain::one_line(&event.title, 80)
            );
            Err(tell(text, [event]))
        }
        _ => Ok(()),
    }
}

/// All to-dos that are neither done nor cancelled: those with a due time first, in its order, then by priority.
///
/// # Errors
/// When the store cannot be read; a broken file in it is a warning.
pub fn todos(root: &Path, now: &Zoned) -> Result<Reading<Todo>, StoreError> {
    let mut warnings = Vec::new();
    let collections = vdir::collections(root)?;
    let mut items = each_file_of(
        &collections,
        Within::All,
        &mut warnings,
        |file, list, path, _, out| {
            let zones = Zones::new(&file.zones, now.time_zone());
            for series in file.series("VTODO") {
                out.extend(todo(series.current(), &zones, list, path));
            }
        },
    );
    items.sort_by_cached_key(|todo: &Todo| {
        let due = todo.due.as_ref().and_then(|due| due.end(now.time_zone()));
        let priority = if todo.priority == 0 { 10 } else { todo.priority };
        (due.is_none(), due, priority, todo.title.clone())
    });
    items.truncate(MAX_EVENTS);
    Ok(Reading { items, warnings })
}

impl Due {
    /// The moment from which on it is late.
    pub fn end(&self, zone: &TimeZone) -> Option<Zoned> {
        match self {
            Due::Day(date) => crate::when::day_start(date.tomorrow().ok()?, zone),
            Due::At(at) => Some(at.clone()),
        }
    }

    /// The day of it.
    pub fn date(&self) -> Date {
        match self {
            Due::Day(date) => *date,
            Due::At(at) => at.date(),
        }
    }
}

/// Where a component came from.
struct Source<'a> {
    zones: &'a Zones<'a>,
    calendar: Arc<str>,
    path: Arc<Path>,
}

/// Runs over those files of collections that are wanted; what cannot be read is a warning and hides nothing else.
fn each_file_of<T>(
    collections: &[Collection],
    within: Within,
    warnings: &mut Vec<String>,
    mut read: impl FnMut(&parse::File, &Arc<str>, &Arc<Path>, &mut Vec<String>, &mut Vec<T>),
) -> Vec<T> {
    let mut out = Vec::new();
    for collection in collections {
        let name: Arc<str> = collection.name.as_str().into();
        match index::files(collection, within, warnings) {
            Ok(files) => {
                for (path, file) in files {
                    read(&file, &name, &path, warnings, &mut out);
                }
            }
            Err(error) => warnings.push(error.to_string()),
        }
    }
    // Names of files and what is in them are the person's own, so they stay out of the usual log.
    if !warnings.is_empty() {
        tracing::warn!(count = warnings.len(), "entries were left out of the calendars");
    }
    for warning in warnings.iter() {
        tracing::debug!(%warning, "left out of a calendar");
    }
    out
}

fn todo(component: &ICalendarComponent, zones: &Zones, list: &Arc<str>, path: &Arc<Path>) -> Option<Todo> {
    let done = matches!(
        component.status(),
        Some(ICalendarStatus::Completed | ICalendarStatus::Cancelled)
    ) || component.has_property(&ICalendarProperty::Completed);
    if done {
        return None;
    }
    let due = moment::of(component, &ICalendarProperty::Due, zones).and_then(|due| match due {
        Moment::Day(date) => Some(Due::Day(date)),
        timed => timed.zoned(zones.local()).map(Due::At),
    });
    let priority = component
        .property(&ICalendarProperty::Priority)
        .and_then(|p| p.values.first()?.as_integer());
    Some(Todo {
        uid: component.uid().unwrap_or_default().to_owned(),
        title: parse::title(component),
        due,
        priority: priority
            .and_then(|p| u8::try_from(p).ok())
            .filter(|p| *p <= 9)
            .unwrap_or(0),
        description: parse::text(component, &ICalendarProperty::Description),
        list: list.clone(),
        path: path.clone(),
    })
}

/// Components of one UID: the master and those that replace single occurrences of it.
struct Series<'a> {
    master: Option<&'a ICalendarComponent>,
    overrides: Vec<&'a ICalendarComponent>,
}

impl<'a> Series<'a> {
    /// Groups components by UID; one without is a series of its own. A later revision (SEQUENCE) wins.
    fn group(components: impl Iterator<Item = &'a ICalendarComponent>) -> Vec<Series<'a>> {
        let mut by_uid: BTreeMap<&str, Series<'a>> = BTreeMap::new();
        let mut out = Vec::new();
        for component in components {
            let is_override = component.has_property(&ICalendarProperty::RecurrenceId);
            let Some(uid) = component.uid() else {
                out.push(Series {
                    master: Some(component),
                    overrides: Vec::new(),
                });
                continue;
            };
            let series = by_uid.entry(uid).or_insert_with(|| Series {
                master: None,
                overrides: Vec::new(),
            });
            if is_override {
                series.overrides.push(component);
            } else if series
                .master
                .is_none_or(|old| sequence(old) <= sequence(component))
            {
                series.master = Some(component);
            }
        }
        out.extend(by_uid.into_values());
        out
    }

    /// What stands for all of it where occurrences do not matter.
    fn current(&self) -> &'a ICalendarComponent {
        static EMPTY: std::sync::LazyLock<ICalendarComponent> =
            std::sync::LazyLock::new(ICalendarComponent::default);
        self.master
            .or_else(|| self.overrides.first().copied())
            .unwrap_or(&EMPTY)
    }
}

fn sequence(component: &ICalendarComponent) -> i64 {
    component
        .property(&ICalendarProperty::Sequence)
        .and_then(|p| p.values.first()?.as_integer())
        .unwrap_or(0)
}

#[cfg(test)]
mod tests;
