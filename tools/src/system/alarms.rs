//! Alarms: VEVENTs with a VALARM, one file each, in a vdir collection of their own. Their times have no zone: seven is
//! seven wherever one wakes up.

use jiff::{ToSpan, Zoned, civil::Time};

use super::{
    calendar::{self, Ringing},
    journal::Step,
    lines::{Bounds, Component, Document, Line},
    plain, speech,
    store::{self, StoreError},
    todos,
    vdir::{self, Collection},
    which::{self, Kind},
};
use crate::{
    contract::{Dirs, ToolError},
    when::{self, Hint, When},
};

/// How alarms are talked about.
pub const KIND: Kind = Kind {
    one: "alarm",
    many: "alarms",
};

/// At most this many alarms are to ring.
pub const MAX_ALARMS: usize = 100;

/// How far ahead the next ring is looked for, in days: an alarm of every year rings within them.
const AHEAD: i32 = 367;

/// What stands for a label that nobody gave.
const UNNAMED: &str = "Alarm";

/// An alarm that will ring.
#[derive(Debug, Clone, PartialEq)]
pub struct Alarm {
    /// Its identity.
    pub uid: String,
    /// What it is for, if the person said so.
    pub label: Option<String>,
    /// When it rings next.
    pub next: Zoned,
    /// Its time of day, also when a snooze rings sooner.
    pub time: Time,
    /// The value of its RRULE.
    pub rrule: Option<String>,
    /// Its file.
    pub path: std::path::PathBuf,
}

impl Alarm {
    /// "the alarm for 07:00 on weekdays", "the gym alarm for tomorrow at 06:30".
    pub fn name(&self, now: &Zoned) -> String {
        let label = self.label.as_ref().map(|l| format!("{l} ")).unwrap_or_default();
        match &self.rrule {
            Some(rule) => format!(
                "the {label}alarm for {} {}",
                speech::time(self.time),
                todos::again(rule)
            ),
            None => format!("the {label}alarm for {}", speech::moment(&self.next, now)),
        }
    }
}

/// An alarm to be set.
#[derive(Debug, Clone, PartialEq)]
pub struct NewAlarm {
    /// When it rings the first time.
    pub at: Zoned,
    /// The value of an RRULE.
    pub rrule: Option<String>,
    /// What it is for.
    pub label: Option<String>,
}

/// Sets an alarm.
///
/// # Errors
/// `Tell` when there are too many; what keeps the file from being written.
pub fn set(step: &Step, dirs: &Dirs, new: &NewAlarm, now: &Zoned) -> Result<String, ToolError> {
    let uid = calendar::new_uid(now);
    let title = new.label.as_deref().unwrap_or(UNNAMED);
    let mut event = Component::new("VEVENT");
    event.add(Line::text("UID", &uid));
    event.add(Line::new("DTSTAMP", &todos::utc(now)));
    event.add(Line::new("DTSTART", &todos::wall(&new.at)));
    if let Some(rrule) = &new.rrule {
        event.add(Line::new("RRULE", rrule));
    }
    event.add(Line::text("SUMMARY", title));
    // An alarm is no appointment: it makes nobody busy.
    event.add(Line::new("TRANSP", "TRANSPARENT"));
    event.push(todos::alarm(title, Line::new("TRIGGER", "PT0S")));
    step.create(
        &dirs.alarms.join(format!("{uid}.ics")),
        &todos::document(event).to_bytes(),
    )
    .map_err(|e| e.tool("set the alarm"))?;
    Ok(uid)
}

/// The alarms that will ring, the next one first.
///
/// # Errors
/// When the folder cannot be read.
pub fn all(dirs: &Dirs, now: &Zoned) -> Result<Vec<Alarm>, ToolError> {
    const WHAT: &str = "read your alarms";
    let to = now
        .checked_add(AHEAD.days())
        .map_err(|e| ToolError::broken(WHAT, e))?;
    let mut alarms: Vec<Alarm> = Vec::new();
    for ringing in calendar::ringing(&collection(dirs), calendar::Items::Alarms, now, &to).items {
        // Sorted by time, so the first is the next.
        if !alarms
            .iter()
            .any(|a| a.uid == ringing.uid && *a.path == *ringing.path)
        {
            alarms.push(alarm(ringing, now));
        }
    }
    Ok(alarms)
}

/// The collection that alarms are in, for who reads them.
pub fn collection(dirs: &Dirs) -> [Collection; 1] {
    [Collection {
        name: "Alarms".to_owned(),
        color: None,
        path: dirs.alarms.clone(),
    }]
}

/// What the person named an alarm; nothing for what stands there otherwise.
pub fn label(title: &str) -> Option<String> {
    let title = plain::one_line(title, 80);
    (!title.is_empty() && title != UNNAMED && title != "untitled").then_some(title)
}

/// Takes an alarm away, with all its repetitions.
///
/// # Errors
/// What keeps the file from being removed.
pub fn cancel(step: &Step, alarm: &Alarm) -> Result<(), ToolError> {
    todos::remove(step, &alarm.path, &alarm.uid)
}

/// Takes an alarm away that rings only once and has rung; one that comes back, or was snoozed, stays.
///
/// # Errors
/// What keeps the file from being removed.
pub fn over(
    step: &Step,
    dirs: &Dirs,
    path: &std::path::Path,
    uid: &str,
    now: &Zoned,
) -> Result<(), ToolError> {
    let Ok(bytes) = store::read_bounded(path, vdir::MAX_FILE) else {
        return Ok(());
    };
    let comes_back = Document::parse(&bytes, Bounds::default()).is_ok_and(|document| {
        let mut events = document.find("VEVENT").into_iter();
        events.any(|event| event.get("RRULE").is_some() || event.get("RDATE").is_some())
    });
    if comes_back || all(dirs, now)?.iter().any(|alarm| alarm.path == path) {
        return Ok(());
    }
    todos::remove(step, path, uid)
}

/// Leaves out the one time at which a repeating alarm rings next.
///
/// # Errors
/// What keeps the file from being written.
pub fn skip(step: &Step, alarm: &Alarm) -> Result<(), ToolError> {
    let at = alarm.next.date().to_datetime(alarm.time);
    step.edit(&alarm.path, "skip the alarm", |before| {
        todos::edited(before, &alarm.uid, |event| {
            let line = match event.get("DTSTART").and_then(|start| start.param("TZID")) {
                Some(zone) => Line::new("EXDATE", &written(at)).with_param("TZID", &zone),
                None => Line::new("EXDATE", &written(at)),
            };
            event.add(line);
            Ok(())
        })
    })
}

/// What of some alarms somebody means.
#[derive(Debug, Clone, PartialEq)]
pub enum Meant<'a> {
    /// These, with all their repetitions.
    All(Vec<&'a Alarm>),
    /// This one's next time only.
    Next(&'a Alarm),
}

/// The alarms that somebody means: by time ("the seven o'clock one", "tomorrow's"), by label, all, or the only one.
///
/// # Errors
/// `Tell`: none is there, none is meant, or it asks which.
pub fn choose<'a>(said: Option<&str>, alarms: &'a [Alarm], now: &Zoned) -> Result<Meant<'a>, ToolError> {
    let said = said.unwrap_or_default();
    if alarms.is_empty() {
        return Err(ToolError::tell("No alarm is set."));
    }
    if which::is_all(said, KIND) {
        return Ok(Meant::All(alarms.iter().collect()));
    }
    let describe = |a: &Alarm| a.name(now);
    let bare = which::bare(said, KIND);
    let bare = bare.trim_end_matches("'s");
    let named = alarms
        .iter()
        .any(|a| a.label.as_deref().is_some_and(|l| l.eq_ignore_ascii_case(bare)));
    if !bare.is_empty()
        && !named
        && let Ok(resolved) = when::resolve(bare, now, Hint::Future)
    {
        let values = || std::iter::once(&resolved.value).chain(&resolved.alternatives);
        let fits: Vec<&Alarm> = alarms
            .iter()
            .filter(|a| values().any(|value| rings_at(a, value)))
            .collect();
        let only_once = matches!(resolved.value, When::Date(_) | When::DateTime { .. });
        return match fits[..] {
            [one] if one.rrule.is_some() && only_once => Ok(Meant::Next(one)),
            [one] => Ok(Meant::All(vec![one])),
            [] => Err(ToolError::tell(format!(
                "No alarm is set for {}. There is {}.",
                plain::one_line(bare, 60),
                plain::listed(&alarms.iter().take(5).map(describe).collect::<Vec<_>>(), "and")
            ))),
            _ => {
                let names: Vec<String> = fits.iter().map(|a| describe(a)).collect();
                let names = plain::listed(&names, "or");
                Err(ToolError::tell(format!("Which alarm: {names}?")))
            }
        };
    }
    let name = |a: &Alarm| a.label.clone().unwrap_or_else(|| speech::time(a.time));
    let names: Vec<(String, &Alarm)> = alarms.iter().map(|a| (name(a), a)).collect();
    which::one(said, KIND, &names, |n| &n.0, |n| describe(n.1)).map(|n| Meant::All(vec![n.1]))
}

fn rings_at(alarm: &Alarm, value: &When) -> bool {
    match value {
        When::Time(time) => alarm.time == *time,
        When::Date(date) => alarm.next.date() == *date,
        When::DateTime { at, .. } => alarm.next == *at,
        When::Range {
            start: Some(start),
            end: Some(end),
        } => alarm.next >= *start && alarm.next < *end,
        When::Recurrence { rrule, first, .. } => {
            alarm.rrule.as_ref() == Some(rrule) && first.time() == alarm.time
        }
        _ => false,
    }
}

fn alarm(ringing: Ringing, now: &Zoned) -> Alarm {
    let event = store::read_bounded(&ringing.path, vdir::MAX_FILE)
        .and_then(|bytes| {
            Document::parse(&bytes, Bounds::default())
                .map_err(|_| StoreError::NotAFile(ringing.path.to_path_buf()))
        })
        .ok()
        .and_then(|document| document.find("VEVENT").into_iter().next().cloned());
    let line = |name: &str| event.as_ref().and_then(|e| e.get(name).cloned());
    let start = line("DTSTART").and_then(|line| todos::civil(&line, now.time_zone()));
    Alarm {
        label: label(&ringing.title),
        time: start.map_or(ringing.at.time(), |start| start.time()),
        rrule: line("RRULE")
            .map(|line| line.value().to_owned())
            .filter(|_| ringing.repeats),
        uid: ringing.uid,
        next: ringing.at,
        path: ringing.path.to_path_buf(),
    }
}

fn written(at: jiff::civil::DateTime) -> String {
    at.strftime("%Y%m%dT%H%M%S").to_string()
}
