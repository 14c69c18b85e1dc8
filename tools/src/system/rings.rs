//! What rings, and when: timers, alarms, reminders and events of calendars. Who takes a ring rings it; a file that all processes share says
//! what was taken and what still waits for an answer, so that each rings once, also after a restart.

mod snoozes;

use std::{collections::BTreeMap, path::PathBuf, time::Duration};

use jiff::{SignedDuration, Timestamp, ToSpan, Zoned};
use serde::{Deserialize, Serialize};

use super::{
    alarms::{self, NewAlarm},
    calendar::{self, Due, Items},
    journal::Step,
    plain, speech,
    store::{self, StoreError, Turn},
    timers::{self, Timer},
    todos, vdir,
};
use crate::contract::{Dirs, ToolError};
pub use snoozes::folder as snoozed;

/// A ring that was taken is remembered so long; what comes to light later than that does not ring any more.
const REMEMBER: SignedDuration = SignedDuration::from_hours(24);
/// What was missed longer ago than this is not announced.
const LONGEST_AWAY: SignedDuration = SignedDuration::from_hours(30 * 24);
/// How long one can still say "snooze that" after it was stopped.
const LATEST: SignedDuration = SignedDuration::from_hours(1);
/// An event that began longer ago is not announced any more.
const BYGONE: SignedDuration = SignedDuration::from_hours(24);
/// An event that begins later than this is told by its day and not by what is left until then.
const SOON: SignedDuration = SignedDuration::from_mins(90);
/// That everything up to now was looked at is written down this often.
const NOTE: SignedDuration = SignedDuration::from_mins(5);
/// Rings that are remembered and that are open; more is no life but an attack.
const MAX_RUNG: usize = 20_000;
const MAX_OPEN: usize = 50;
const MAX_BYTES: u64 = 10 * 1024 * 1024;

/// What rings at a moment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ring {
    /// What it is.
    pub kind: Kind,
    /// Its identity: the UID of an item, the number of a timer.
    pub uid: String,
    /// What it is for; nothing for a timer or an alarm without a label.
    pub title: Option<String>,
    /// When it is to ring.
    pub at: Timestamp,
    /// How long a timer was set for, in seconds; else 0.
    pub seconds: u64,
    /// When the event begins that it rings for; nothing for all else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub starts: Option<Timestamp>,
    /// Whether that event has days and no times.
    #[serde(default)]
    pub all_day: bool,
    /// Its file.
    pub path: PathBuf,
}

/// What rings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// A timer.
    Timer,
    /// An alarm.
    Alarm,
    /// A reminder.
    Reminder,
    /// An event of a calendar.
    Event,
}

impl Ring {
    /// The same for one ring of one item only, in every process.
    pub fn key(&self) -> String {
        let uid: String = self.uid.chars().take(200).collect();
        format!("{:?}/{uid}@{}", self.kind, self.at.as_second()).to_lowercase()
    }

    /// What it is, without when: "eggs timer", "alarm", "Call mum".
    pub fn name(&self) -> String {
        match (self.kind, &self.title) {
            (Kind::Timer, Some(label)) => format!("{label} timer"),
            (Kind::Timer, None) => format!("timer for {}", timers::spoken(self.seconds)),
            (Kind::Alarm, Some(label)) => format!("{label} alarm"),
            (Kind::Alarm, None) => "alarm".to_owned(),
            (Kind::Reminder, title) => title.clone().unwrap_or_else(|| "reminder".to_owned()),
            (Kind::Event, title) => title.clone().unwrap_or_else(|| "event".to_owned()),
        }
    }

    /// What the person hears. `late` is what it should have rung before; `away` whether nobody was there to ring it.
    pub fn say(&self, late: Duration, away: bool, now: &Zoned) -> String {
        let at = self.at.to_zoned(now.time_zone().clone());
        if let (Kind::Event, Some(starts)) = (self.kind, self.starts) {
            return self.say_event(&starts.to_zoned(now.time_zone().clone()), late, away, now);
        }
        if late > LATE {
            let name = match self.kind {
                Kind::Reminder => format!("\"{}\"", self.name()),
                _ => format!("Your {}", self.name()),
            };
            let minutes = late.as_secs() / 60 * 60;
            let ago = match late.as_secs() / 86_400 {
                0 => format!("{} ago", timers::spoken(minutes)),
                _ => speech::moment(&at, now),
            };
            let why = if away { ", while I was not running" } else { "" };
            return format!("{name} was due {ago}{why}.");
        }
        match (self.kind, &self.title) {
            (Kind::Timer, Some(label)) => {
                format!("Your {label} timer for {} is up.", timers::spoken(self.seconds))
            }
            (Kind::Timer, None) => format!("Your {} is up.", self.name()),
            (Kind::Alarm, Some(label)) => format!("It is {}: {label}.", now.strftime("%H:%M")),
            (Kind::Alarm, None) => format!("It is {}. Your alarm is ringing.", now.strftime("%H:%M")),
            (Kind::Reminder | Kind::Event, _) => {
                format!("Reminder: {}.", self.name().trim_end_matches('.'))
            }
        }
    }

    /// What the person hears of an event: "Standup begins in 15 minutes, at 10:00."
    fn say_event(&self, starts: &Zoned, late: Duration, away: bool, now: &Zoned) -> String {
        let name = self.name();
        let name = name.trim_end_matches('.');
        let left = starts.timestamp().duration_since(now.timestamp());
        // To the nearest minute: a ring is always a moment late.
        let minutes = (left + SignedDuration::from_secs(30)).as_mins();
        if self.all_day {
            let verb = if starts.date() < now.date() { "was" } else { "is" };
            return format!("{name} {verb} {}.", speech::on_day(starts.date(), now));
        }
        let at = || todos::at_words(&Due::At(starts.clone()), now);
        match minutes {
            0 if late <= LATE => format!("{name} begins now."),
            1.. if left <= SOON => {
                let left = timers::spoken(minutes.unsigned_abs() * 60);
                format!("{name} begins in {left}, at {}.", speech::time(starts.time()))
            }
            1.. => format!("{name} begins {}.", at()),
            _ => {
                let why = if late > LATE && away {
                    ", while I was not running"
                } else {
                    ""
                };
                format!("{name} began {}{why}.", at())
            }
        }
    }

    /// Whether it is still worth saying: an event that began is not, unless nobody was there to ring it in time, and
    /// not long after.
    pub fn is_news(&self, away: bool, now: &Zoned) -> bool {
        let Some(starts) = self.starts.filter(|_| self.kind == Kind::Event) else {
            return true;
        };
        let since = now.timestamp().duration_since(starts);
        match self.all_day {
            true => since < BYGONE,
            false => since <= SignedDuration::ZERO || (away && since < BYGONE),
        }
    }
}

/// What rings later than this after its time was missed.
pub const LATE: Duration = Duration::from_secs(60);

/// A ring that was taken and waits for an answer, or was answered a moment ago.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Open {
    /// What rings.
    pub ring: Ring,
    /// How many times it rang.
    pub times: u32,
    /// When it rang last.
    pub last: Timestamp,
    /// Whether it waits for an answer.
    pub stage: Stage,
}

/// Where a ring is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Stage {
    /// It waits for an answer.
    Ringing,
    /// Nobody answered, and it rang often enough.
    Over,
    /// It was stopped or snoozed.
    Answered,
}

/// How what nobody answers rings again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Again {
    /// After how long.
    pub after: Duration,
    /// How many times in all.
    pub times: u32,
}

/// What is to be rung now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Taken {
    /// For the first time.
    pub fresh: Vec<Ring>,
    /// Once more.
    pub again: Vec<Open>,
}

/// What all processes share.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Shared {
    /// Everything before that was looked at.
    seen: Option<Timestamp>,
    /// Keys of what was taken, with their times.
    rung: BTreeMap<String, Timestamp>,
    /// What rang lately.
    open: Vec<Open>,
}

/// What alarms, reminders and events ring up to `to`, from as far back as may not have been rung yet; in order of time.
pub fn agenda(dirs: &Dirs, now: &Zoned, to: &Zoned) -> Vec<Ring> {
    let from = read(dirs).from(now.timestamp()).to_zoned(now.time_zone().clone());
    let ring = |kind: Kind| {
        move |found: calendar::Ringing| Ring {
            kind,
            title: match kind {
                Kind::Alarm => alarms::label(&found.title),
                _ => Some(plain::one_line(&found.title, 120)),
            },
            uid: found.uid,
            at: found.at.timestamp(),
            seconds: 0,
            starts: found
                .start
                .filter(|_| kind == Kind::Event)
                .map(|at| at.timestamp()),
            all_day: found.all_day,
            path: found.path.to_path_buf(),
        }
    };
    let within = |root: &std::path::Path| {
        vdir::collections(root).unwrap_or_else(|error| {
            tracing::warn!(%error, "what rings in a folder cannot be read");
            Vec::new()
        })
    };
    let alarms = calendar::ringing(&alarms::collection(dirs), Items::Alarms, &from, to).items;
    let reminders = calendar::ringing(&within(&dirs.reminders), Items::Reminders, &from, to).items;
    let events = calendar::ringing(&within(&dirs.calendars), Items::Events, &from, to).items;
    let mut rings: Vec<Ring> = alarms
        .into_iter()
        .map(ring(Kind::Alarm))
        .chain(reminders.into_iter().map(ring(Kind::Reminder)))
        .chain(events.into_iter().map(ring(Kind::Event)))
        .chain(snoozes::all(dirs).into_iter().map(|(_, ring)| ring))
        .filter(|ring| ring.at <= to.timestamp())
        .collect();
    rings.sort_by_key(|r| r.at);
    rings
}

/// Takes what is to ring now: it is this process's to ring, and nobody else's any more.
///
/// # Errors
/// When what was taken cannot be written down; then nothing is taken.
pub fn take(dirs: &Dirs, agenda: &[Ring], now: &Zoned, again: Again) -> Result<Taken, StoreError> {
    let turn = Turn::take(&dirs.state)?;
    let mut shared = read(dirs);
    let at = now.timestamp();
    let (first, from) = (shared.seen.is_none(), shared.from(at));
    shared.rung.retain(|_, rung| *rung >= from);
    let known_before = shared.rung.len();
    let mut fresh: Vec<Ring> = Vec::new();
    for ring in agenda.iter().filter(|r| r.at <= at && r.at > from) {
        let known = shared.rung.len() >= MAX_RUNG || shared.rung.insert(ring.key(), ring.at).is_some();
        // What was due before anybody looked for the first time was never ours to ring.
        if known || (first && at.duration_since(ring.at) > SignedDuration::from_secs(60)) {
            continue;
        }
        // Of what was missed many times, the last time is told.
        fresh.retain(|earlier| earlier.path != ring.path || earlier.uid != ring.uid);
        fresh.push(ring.clone());
    }
    let mut due = timers::all(dirs)?;
    due.retain(|timer| timer.is_due(now));
    fresh.extend(due.iter().map(|timer| of_timer(timer, dirs)).filter(|ring| {
        // Written down and not removed yet: the process that took it was killed in between.
        !shared.open.iter().any(|open| open.ring == *ring)
    }));
    let mut rings_again = Vec::new();
    let mut changed = first || shared.rung.len() != known_before || !fresh.is_empty();
    for open in shared.open.iter_mut().filter(|open| open.stage == Stage::Ringing) {
        if at.duration_since(open.last).unsigned_abs() < again.after {
            continue;
        }
        changed = true;
        let once = matches!(open.ring.kind, Kind::Reminder | Kind::Event);
        if once || open.times >= again.times {
            open.stage = Stage::Over;
        } else {
            open.times += 1;
            open.last = at;
            rings_again.push(open.clone());
        }
    }
    shared
        .open
        .retain(|open| open.stage == Stage::Ringing || at.duration_since(open.last).abs() < LATEST);
    shared.open.extend(fresh.iter().map(|ring| Open {
        ring: ring.clone(),
        times: 1,
        last: at,
        // What was missed is told once.
        stage: match at.duration_since(ring.at).unsigned_abs() > LATE {
            true => Stage::Over,
            false => Stage::Ringing,
        },
    }));
    let surplus = shared.open.len().saturating_sub(MAX_OPEN);
    shared.open.drain(..surplus);
    let noted = shared
        .seen
        .is_some_and(|seen| at.duration_since(seen).abs() < NOTE);
    if changed || !noted {
        shared.seen = Some(at);
        write(dirs, &shared)?;
    }
    timers::take_due(dirs, now, &turn)?;
    // They were written down as taken. One that cannot be removed is known by its key and rings no more.
    for (path, before) in snoozes::due(dirs, now) {
        if let Err(error) = store::remove_known(&path, &before) {
            tracing::debug!(%error, "a snooze that rang stays");
        }
    }
    Ok(Taken {
        fresh,
        again: rings_again,
    })
}

/// What rings and was not answered yet.
pub fn open(dirs: &Dirs) -> Vec<Open> {
    let mut open = read(dirs).open;
    open.retain(|open| open.stage == Stage::Ringing);
    open
}

/// What rang last, if that is not long ago, answered or not.
pub fn latest(dirs: &Dirs, now: &Zoned) -> Option<Open> {
    let open = read(dirs).open.into_iter();
    let recent = open.filter(|o| now.timestamp().duration_since(o.last).abs() < LATEST);
    // What still rings is meant before what was stopped.
    recent.max_by_key(|o| (o.stage == Stage::Ringing, o.last))
}

/// The ring of that key, if it rang lately.
pub fn known(dirs: &Dirs, key: &str) -> Option<Open> {
    read(dirs).open.into_iter().find(|open| open.ring.key() == key)
}

/// Stops what rings and `which` means; says what that was. An alarm that rings only once is over then and goes.
///
/// # Errors
/// When it cannot be written down.
pub fn stop(
    step: &Step,
    dirs: &Dirs,
    now: &Zoned,
    which: impl Fn(&Ring) -> bool,
) -> Result<Vec<Ring>, StoreError> {
    let stopped = silence(dirs, which)?;
    for ring in stopped.iter().filter(|ring| ring.kind == Kind::Alarm) {
        if let Err(error) = alarms::over(step, dirs, &ring.path, &ring.uid, now) {
            // It is silent, which is what was asked for, and it is not listed any more either.
            tracing::warn!(%error, "an alarm that is over could not be taken away");
        }
    }
    Ok(stopped)
}

fn silence(dirs: &Dirs, which: impl Fn(&Ring) -> bool) -> Result<Vec<Ring>, StoreError> {
    let _turn = Turn::take(&dirs.state)?;
    let mut shared = read(dirs);
    let mut stopped = Vec::new();
    let meant = |o: &&mut Open| o.stage != Stage::Answered && which(&o.ring);
    for open in shared.open.iter_mut().filter(meant) {
        open.stage = Stage::Answered;
        stopped.push(open.ring.clone());
    }
    if !stopped.is_empty() {
        write(dirs, &shared)?;
    }
    Ok(stopped)
}

/// Lets what rang ring once more at a moment, and stops it until then.
///
/// # Errors
/// `Tell` when it is gone; what keeps its file from being written.
pub fn snooze(step: &Step, dirs: &Dirs, ring: &Ring, until: &Zoned, now: &Zoned) -> Result<(), ToolError> {
    match ring.kind {
        Kind::Timer => {
            let length = until.timestamp().duration_since(now.timestamp()).unsigned_abs();
            timers::set(step, dirs, now, length, ring.title.clone())?;
        }
        // It was stopped a moment ago, and was one that rings only once.
        Kind::Alarm if !ring.path.exists() => {
            let new = NewAlarm {
                at: until.clone(),
                rrule: None,
                label: ring.title.clone(),
            };
            alarms::set(step, dirs, &new, now)?;
        }
        Kind::Alarm | Kind::Reminder => todos::snooze(step, &ring.path, &ring.uid, until, now)?,
        // Its calendar may be somebody else's, who wants no part in this.
        Kind::Event => snoozes::set(step, dirs, ring, until, now)?,
    }
    silence(dirs, |other| other.key() == ring.key()).map_err(|e| e.tool("stop it"))?;
    Ok(())
}

/// When the file was written last; who watches it sees an answer that came from elsewhere.
pub fn stamp(dirs: &Dirs) -> Option<std::time::SystemTime> {
    std::fs::metadata(file(dirs)).ok()?.modified().ok()
}

/// The ring of a timer whose time is up.
pub fn of_timer(timer: &Timer, dirs: &Dirs) -> Ring {
    Ring {
        kind: Kind::Timer,
        uid: timer.id.to_string(),
        title: timer.label.as_deref().map(|l| plain::one_line(l, 80)),
        at: timer.rings,
        seconds: timer.seconds,
        starts: None,
        all_day: false,
        path: timers::file(dirs, timer.id),
    }
}

impl Shared {
    /// What rings later than this may not have been taken yet. A clock that was wrong for a while does not count.
    fn from(&self, now: Timestamp) -> Timestamp {
        let seen = self.seen.unwrap_or(now).min(now);
        let oldest = now.checked_sub(LONGEST_AWAY).unwrap_or(Timestamp::MIN);
        seen.checked_sub(REMEMBER).unwrap_or(Timestamp::MIN).max(oldest)
    }
}

fn read(dirs: &Dirs) -> Shared {
    match store::read_bounded(&file(dirs), MAX_BYTES) {
        Ok(bytes) => serde_json::from_slice(&bytes).unwrap_or_else(|error| {
            // Nobody else writes it; what is lost is only what rang lately.
            tracing::warn!(%error, "the file of what rang is broken and is started anew");
            Shared::default()
        }),
        Err(StoreError::Missing(_)) => Shared::default(),
        Err(error) => {
            tracing::warn!(%error, "what rang cannot be read");
            Shared::default()
        }
    }
}

fn write(dirs: &Dirs, shared: &Shared) -> Result<(), StoreError> {
    let bytes = serde_json::to_vec(shared).map_err(|e| StoreError::Io {
        path: file(dirs),
        cause: std::io::Error::other(e),
    })?;
    store::replace(&file(dirs), &bytes)
}

fn file(dirs: &Dirs) -> PathBuf {
    dirs.state.join("rings.json")
}

/// Until when to snooze: a length from now, or a moment; a day means its morning.
///
/// # Errors
/// `Tell`: it is no time, or it is over.
pub fn until(said: &str, now: &Zoned) -> Result<Zoned, ToolError> {
    use crate::when::{self, Hint, When};
    let bare = said.trim().to_lowercase();
    let bare = ["until ", "till ", "for ", "by "]
        .iter()
        .find_map(|word| bare.strip_prefix(word))
        .unwrap_or(&bare);
    // "ten" is ten minutes, and "ten o'clock" is not.
    let hints = [Hint::Length, Hint::Future];
    let value = hints
        .iter()
        .find_map(|hint| match when::resolve(bare, now, *hint) {
            Ok(found) => match found.value {
                When::Duration { .. } => Some(found.value),
                other if *hint == Hint::Future => Some(other),
                _ => None,
            },
            Err(_) => None,
        });
    let ask = || ToolError::tell("For how long? Say it as in ten minutes, or until six.");
    let outside = || ToolError::tell("That is outside the calendar.");
    let at = match value.ok_or_else(ask)? {
        When::Duration { span, .. } => now.checked_add(span.0).map_err(|_| outside())?,
        When::Date(date) => when::day_start(date, now.time_zone())
            .and_then(|start| start.checked_add(9.hours()).ok())
            .ok_or_else(outside)?,
        When::Recurrence { .. } => return Err(ask()),
        other => other
            .stretch(now)
            .and_then(|(start, end)| start.filter(|s| s > now).or(end))
            .ok_or_else(outside)?,
    };
    if at <= *now {
        return Err(ToolError::tell("That is over already. Until when shall I wait?"));
    }
    Ok(at)
}

#[cfg(test)]
mod tests;
