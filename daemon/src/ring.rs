//! What rings: looks at timers, alarms and reminders, rings what is due, and hears the answer.
//!
//! What rings when is decided in `tools::system::rings`, over files that all processes share; here are the clock, the
//! sound and the notification. Nothing sleeps until a moment: wall clocks are set and machines suspended, so it is
//! looked four times a second, against a list that is made anew every minute, when the clock jumps, and when a folder
//! changes.

mod desk;
mod sound;

use std::{
    collections::{BTreeMap, HashSet},
    path::PathBuf,
    sync::Arc,
    time::{Duration, Instant, SystemTime},
};

use desk::{Answer, Desk, Pressed};
use jiff::{SignedDuration, Timestamp, Zoned};
use tokio::{
    sync::mpsc,
    task::{JoinHandle, spawn_blocking},
};
use tools::{
    Ctx, Dirs,
    discover::Index,
    system::{
        rings::{self, Again, Kind, LATE, Ring, Stage, Taken},
        timers, vdir,
    },
};

use crate::{
    reply::Happening,
    room::{Clock, Parts},
    run::Event,
};

/// How it rings.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// Whether there is a sound.
    pub sound: bool,
    /// How loud, 0 to 1.
    pub volume: f32,
    /// How long an alarm or a timer sounds each time.
    pub length: Duration,
    /// How long a snooze is when nobody says.
    pub snooze: Duration,
    /// After how long what nobody answers rings again.
    pub again: Duration,
    /// How many times in all.
    pub times: u32,
    /// The session bus with the notifications, where it is not the one of the environment.
    pub bus: Option<String>,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            sound: true,
            volume: 0.6,
            length: Duration::from_secs(20),
            snooze: Ctx::SNOOZE,
            again: Duration::from_secs(3 * 60),
            times: 3,
            bus: None,
        }
    }
}

/// How often it is looked; half of this is how late something rings on average.
const TICK: Duration = Duration::from_millis(250);
/// How often the list of what will ring is made anew.
const PLAN: Duration = Duration::from_secs(60);
/// How far ahead the list reaches.
const AHEAD: SignedDuration = SignedDuration::from_hours(2);
/// When the wall clock and the machine's own differ by more, the clock was set or the machine slept.
const JUMP: SignedDuration = SignedDuration::from_secs(2);
/// How often it is asked whether what waits for an answer is due again.
const WAIT: Duration = Duration::from_secs(1);
/// That everything up to now was looked at is written down this often.
const NOTE: Duration = Duration::from_secs(10 * 60);
/// As many missed ones are told one by one; the rest together.
const MAX_MISSED: usize = 5;
/// The sound of a reminder, and of what was missed.
const SHORT: Duration = Duration::from_millis(1200);

/// Rings until the task is dropped.
pub async fn run(parts: Parts, index: Arc<Index>, events: mpsc::Sender<Event>) {
    let (pressed, mut answers) = mpsc::channel(16);
    let mut ringer = Ringer::new(parts, index, events, pressed);
    let mut ticks = tokio::time::interval(TICK);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            _ = ticks.tick() => ringer.look().await,
            answer = answers.recv() => match answer {
                Some(answer) => ringer.answer(answer).await,
                None => return,
            },
        }
    }
}

struct Ringer {
    parts: Parts,
    index: Arc<Index>,
    events: mpsc::Sender<Event>,
    desk: Desk,
    plan: Option<Plan>,
    /// When it was last looked, by both clocks.
    looked: Option<(Timestamp, Instant)>,
    /// When it was last written down.
    noted: Option<Instant>,
    /// When it was last asked what is due.
    taken: Option<Instant>,
    /// Since when somebody is there to ring.
    since: Option<Timestamp>,
    /// The file of what rang as we know it.
    stamp: Option<SystemTime>,
    /// What waits for an answer, and its sound.
    ringing: BTreeMap<String, Option<JoinHandle<()>>>,
    /// What rang although it could not be written down.
    unwritten: HashSet<String>,
}

/// What will ring, and what that was read from.
#[derive(Debug, Clone, Default)]
struct Plan {
    rings: Vec<Ring>,
    until: Timestamp,
    zone: Option<String>,
    made: Option<Instant>,
    /// The folders and when they changed.
    folders: Vec<(PathBuf, Option<SystemTime>)>,
    /// Every file with its size and when it changed.
    files: Vec<(PathBuf, u64, Option<SystemTime>)>,
}

impl Ringer {
    fn new(
        parts: Parts,
        index: Arc<Index>,
        events: mpsc::Sender<Event>,
        pressed: mpsc::Sender<Answer>,
    ) -> Ringer {
        Ringer {
            desk: Desk::start(parts.ring.clone(), pressed),
            parts,
            index,
            events,
            plan: None,
            looked: None,
            noted: None,
            taken: None,
            since: None,
            stamp: None,
            ringing: BTreeMap::new(),
            unwritten: HashSet::new(),
        }
    }

    /// Looks once.
    async fn look(&mut self) {
        let ctx = self.parts.ctx(&self.index);
        let now = ctx.now.clone();
        let jumped = self.jumped(now.timestamp());
        self.refresh(&ctx, jumped).await;
        let plan = self.plan.get_or_insert_default();
        let due = plan.rings.iter().any(|ring| ring.at <= now.timestamp());
        let note = self.noted.is_none_or(|noted| noted.elapsed() >= NOTE);
        let timers = timers::all(&ctx.dirs).unwrap_or_default();
        let timers = timers.iter().any(|timer| timer.is_due(&now));
        // What waits for an answer may be due again.
        let waits = !self.ringing.is_empty() && self.taken.is_none_or(|taken| taken.elapsed() >= WAIT);
        if due || note || timers || waits {
            self.taken = Some(Instant::now());
            self.take(&ctx).await;
        }
        self.hear_of_others(&ctx.dirs);
    }

    /// Whether the wall clock went another way than the machine's own.
    fn jumped(&mut self, now: Timestamp) -> bool {
        let looked = self.looked.replace((now, Instant::now()));
        let since = *self.since.get_or_insert(now);
        let (Some((wall, own)), Clock::Real) = (looked, &self.parts.clock) else {
            return false;
        };
        let own = SignedDuration::try_from(own.elapsed()).unwrap_or_default();
        let jump = now.duration_since(wall) - own;
        if jump.abs() <= JUMP {
            return false;
        }
        tracing::info!(seconds = jump.as_secs(), "the clock jumped");
        self.since = Some(if jump.is_positive() { now } else { since.min(now) });
        true
    }

    /// Makes the list anew when it is time to, or when something changed.
    async fn refresh(&mut self, ctx: &Ctx, jumped: bool) {
        let changed = |plan: &Plan| {
            plan.made.is_none_or(|made| made.elapsed() >= PLAN)
                || plan.folders.iter().any(|(path, stamp)| modified(path) != *stamp)
        };
        let old = match &self.plan {
            Some(plan) if !jumped && !changed(plan) => return,
            Some(plan) => plan.clone(),
            None => Plan::default(),
        };
        let (dirs, now) = (ctx.dirs.clone(), ctx.now.clone());
        match spawn_blocking(move || plan(&dirs, &now, old, jumped)).await {
            Ok(plan) => self.plan = Some(plan),
            Err(error) => tracing::error!(%error, "what will ring could not be read"),
        }
    }

    /// Takes what is due and rings it.
    async fn take(&mut self, ctx: &Ctx) {
        let now = ctx.now.clone();
        let rings = self.plan.as_ref().map(|p| p.rings.clone()).unwrap_or_default();
        let again = Again {
            after: self.parts.ring.again,
            times: self.parts.ring.times,
        };
        let (dirs, at) = (ctx.dirs.clone(), now.clone());
        let taken = spawn_blocking(move || rings::take(&dirs, &rings, &at, again)).await;
        let taken = match taken {
            Ok(Ok(taken)) => {
                self.noted = Some(Instant::now());
                if let Some(plan) = &mut self.plan {
                    plan.rings.retain(|ring| ring.at > now.timestamp());
                }
                taken
            }
            Ok(Err(error)) => {
                tracing::warn!(%error, "what rings cannot be written down");
                self.unwritten(&now)
            }
            Err(error) => {
                tracing::error!(%error, "what rings could not be taken");
                return;
            }
        };
        let missed = |ring: &Ring| late(ring, &now) > LATE;
        let (missed, fresh): (Vec<Ring>, Vec<Ring>) = taken.fresh.into_iter().partition(missed);
        for ring in fresh {
            self.ring(&ring, 1, &now).await;
        }
        for open in taken.again {
            self.ring(&open.ring, open.times, &now).await;
        }
        self.missed(&missed, &now).await;
    }

    /// A full disk is no reason not to be woken: what is due just now rings, once in this process.
    fn unwritten(&mut self, now: &Zoned) -> Taken {
        let rings = self.plan.as_ref().map(|p| p.rings.clone()).unwrap_or_default();
        let due = |ring: &Ring| ring.at <= now.timestamp() && late(ring, now) <= LATE;
        let fresh = rings.into_iter().filter(due);
        Taken {
            fresh: fresh.filter(|ring| self.unwritten.insert(ring.key())).collect(),
            again: Vec::new(),
        }
    }

    /// Rings one thing.
    async fn ring(&mut self, ring: &Ring, times: u32, now: &Zoned) {
        let key = ring.key();
        let text = ring.say(Duration::ZERO, false, now);
        let length = match ring.kind {
            Kind::Reminder => SHORT,
            Kind::Timer | Kind::Alarm => self.parts.ring.length,
        };
        let sound = self.sound(length);
        if let Some(Some(earlier)) = self.ringing.insert(key.clone(), sound) {
            earlier.abort();
        }
        self.desk.show(&key, &text, ring.kind);
        self.tell(ring.kind, key, text, times, false).await;
    }

    /// Tells what was missed: a few one by one, many together.
    async fn missed(&mut self, missed: &[Ring], now: &Zoned) {
        if missed.is_empty() {
            return;
        }
        drop(self.sound(SHORT));
        let away = |ring: &Ring| self.since.is_some_and(|since| ring.at < since);
        let line = |ring: &Ring| ring.say(late(ring, now), away(ring), now);
        let told = missed.len().min(MAX_MISSED);
        let mut lines: Vec<(Kind, String, String)> = missed[missed.len() - told..]
            .iter()
            .map(|ring| (ring.kind, ring.key(), line(ring)))
            .collect();
        if missed.len() > told {
            let rest = &missed[..missed.len() - told];
            let names: Vec<String> = rest.iter().map(Ring::name).collect();
            let names = tools::system::speech::some_of(&names, MAX_MISSED);
            lines.insert(
                0,
                (
                    rest[0].kind,
                    rest[0].key(),
                    format!("Before that there was {names}."),
                ),
            );
        }
        for (kind, key, text) in lines {
            self.desk.show(&key, &text, kind);
            self.tell(kind, key, text, 1, true).await;
        }
    }

    async fn tell(&self, what: Kind, id: String, text: String, times: u32, missed: bool) {
        let rang = Happening::Rang {
            id,
            what,
            text,
            times,
            missed,
        };
        // Fails only when the daemon is stopping.
        let _ = self.events.send(Event::Rang(rang)).await;
    }

    fn sound(&self, length: Duration) -> Option<JoinHandle<()>> {
        let settings = &self.parts.ring;
        let volume = settings.volume;
        settings.sound.then(|| tokio::spawn(sound::play(length, volume)))
    }

    /// The person pressed a button.
    async fn answer(&mut self, answer: Answer) {
        let ctx = self.parts.ctx(&self.index);
        let Answer { key, pressed } = answer;
        self.silence(&key);
        let snooze = self.parts.ring.snooze;
        let done = spawn_blocking(move || match pressed {
            Pressed::Stop => rings::stop(&ctx.dirs, |ring| ring.key() == key)
                .map(drop)
                .map_err(|e| e.to_string()),
            Pressed::Snooze => {
                let Some(open) = rings::known(&ctx.dirs, &key) else {
                    return Ok(());
                };
                let length = SignedDuration::try_from(snooze).unwrap_or_default();
                let until = ctx.now.checked_add(length).map_err(|e| e.to_string())?;
                let step = ctx.step.journal().step("reminders.snooze");
                let done = rings::snooze(&step, &ctx.dirs, &open.ring, &until, &ctx.now);
                step.did(&format!("Snoozed {}.", open.ring.name()), false);
                done.map_err(|e| e.to_string())
            }
        })
        .await;
        match done {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::warn!(%error, "an answer to a ring could not be kept"),
            Err(error) => tracing::error!(%error, "an answer to a ring failed"),
        }
    }

    /// What was answered elsewhere, by voice or by another process, is silent here, too.
    fn hear_of_others(&mut self, dirs: &Dirs) {
        let stamp = rings::stamp(dirs);
        if self.ringing.is_empty() || stamp == self.stamp {
            self.stamp = stamp;
            return;
        }
        self.stamp = stamp;
        let known = |key: &&String| !self.unwritten.contains(*key);
        let keys: Vec<String> = self.ringing.keys().filter(known).cloned().collect();
        for key in &keys {
            match rings::known(dirs, key).map(|open| open.stage) {
                Some(Stage::Ringing) => {}
                Some(Stage::Answered) => {
                    self.silence(key);
                    self.desk.close(key);
                }
                // Its notification stays, so that the person sees what they did not hear.
                Some(Stage::Over) | None => self.silence(key),
            }
        }
    }

    fn silence(&mut self, key: &str) {
        if let Some(Some(sound)) = self.ringing.remove(key) {
            sound.abort();
        }
    }
}

impl Drop for Ringer {
    fn drop(&mut self) {
        for sound in self.ringing.values().flatten() {
            sound.abort();
        }
    }
}

fn late(ring: &Ring, now: &Zoned) -> Duration {
    let late = now.timestamp().duration_since(ring.at);
    Duration::try_from(late).unwrap_or_default()
}

/// The list of what will ring; the old one where nothing changed on disk and it reaches far enough.
fn plan(dirs: &Dirs, now: &Zoned, old: Plan, jumped: bool) -> Plan {
    let lists = vdir::collections(&dirs.reminders).unwrap_or_default();
    let mut folders = vec![dirs.alarms.clone(), dirs.reminders.clone()];
    folders.extend(lists.into_iter().map(|list| list.path));
    // Looked at before the files are read: what changes in between is seen the next time.
    let folders: Vec<_> = folders.into_iter().map(|path| (modified(&path), path)).collect();
    let folders: Vec<_> = folders.into_iter().map(|(stamp, path)| (path, stamp)).collect();
    let files = files(&folders);
    let zone = now.time_zone().iana_name().map(str::to_owned);
    let soon = now.timestamp().checked_add(SignedDuration::from_mins(3));
    let reaches = soon.is_ok_and(|soon| old.until > soon);
    let made = Some(Instant::now());
    if !jumped && reaches && old.files == files && old.zone == zone {
        return Plan { made, folders, ..old };
    }
    let to = now.checked_add(AHEAD).unwrap_or_else(|_| now.clone());
    Plan {
        rings: rings::agenda(dirs, now, &to),
        until: to.timestamp(),
        zone,
        made,
        folders,
        files,
    }
}

fn files(folders: &[(PathBuf, Option<SystemTime>)]) -> Vec<(PathBuf, u64, Option<SystemTime>)> {
    let entries = folders
        .iter()
        .filter_map(|(path, _)| std::fs::read_dir(path).ok())
        .flatten()
        .take(vdir::MAX_FILES)
        .filter_map(Result::ok);
    let mut files: Vec<_> = entries
        .filter_map(|entry| {
            let meta = entry.metadata().ok().filter(std::fs::Metadata::is_file)?;
            Some((entry.path(), meta.len(), meta.modified().ok()))
        })
        .collect();
    files.sort();
    files
}

fn modified(path: &std::path::Path) -> Option<SystemTime> {
    std::fs::metadata(path).ok()?.modified().ok()
}

#[cfg(test)]
mod tests;
