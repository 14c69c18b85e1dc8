//! What rings: looks at timers, alarms, reminders and calendars, rings what is due, and hears the answer.
//!
//! What rings when is decided in `tools::system::rings`, over files that all processes share; here are the clock, the
//! sound and the notification. Nothing sleeps until a moment: wall clocks are set and machines suspended, so it is
//! looked four times a second, against a list that is made anew every minute, when the clock jumps, and when a folder
//! changes.

mod clock;
mod plan;
pub mod desk;
pub mod sound;

use std::{
    collections::{BTreeMap, HashSet},
    sync::Arc,
    time::{Duration, Instant, SystemTime},
};

use clock::{Jump, Watch};
use desk::{Answer, Desk, Pressed};
use jiff::{SignedDuration, Timestamp, Zoned};
use plan::Plan;
use tokio::{
    sync::{mpsc, watch},
    task::{JoinHandle, spawn_blocking},
};
use tools::{
    Ctx, Dirs,
    discover::Index,
    system::{
        rings::{self, Again, Kind, LATE, Ring, Stage, Taken},
        timers,
    },
};

use crate::{
    reply::Happening,
    room::Parts,
    run::{Event, Source},
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
    /// The PulseAudio server to play on, where it is not the one of the environment.
    pub speaker: Option<String>,
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
            speaker: None,
        }
    }
}

/// How often it is looked; half of this is how late something rings on average.
const TICK: Duration = Duration::from_millis(250);
/// How often it is asked whether what waits for an answer is due again.
const WAIT: Duration = Duration::from_secs(1);
/// That everything up to now was looked at is written down this often.
const NOTE: Duration = Duration::from_secs(10 * 60);
/// As many missed ones are told one by one; the rest together.
const MAX_MISSED: usize = 5;
/// The sound of a reminder, of an event, and of what was missed.
const SHORT: Duration = Duration::from_millis(1200);

/// Rings until the task is dropped; without a sound as long as `hushed` says so, because somebody speaks.
pub async fn run(
    parts: Parts,
    index: Arc<Index>,
    events: mpsc::Sender<Event>,
    mut hushed: watch::Receiver<bool>,
) {
    let (pressed, mut answers) = mpsc::channel(16);
    let mut ringer = Ringer::new(parts, index, events, pressed);
    let mut ticks = tokio::time::interval(TICK);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            _ = ticks.tick() => ringer.look().await,
            // Nobody changes it any more when the daemon is ending.
            Ok(()) = hushed.changed() => {
                let now = *hushed.borrow_and_update();
                ringer.hush(now);
            }
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
    clock: Watch,
    /// When it was last written down.
    noted: Option<Instant>,
    /// When it was last asked what is due.
    taken: Option<Instant>,
    /// Since when somebody is there to ring.
    since: Option<Timestamp>,
    /// The file of what rang as we know it.
    stamp: Option<SystemTime>,
    /// The timers as they were at the last look: when each rings, and whether it was set since we look.
    timers: Option<BTreeMap<u64, (Timestamp, bool)>>,
    /// What waits for an answer, and its sound.
    ringing: BTreeMap<String, Sound>,
    /// Whether somebody speaks, so that nothing sounds for now.
    hushed: bool,
    /// What rang although it could not be written down.
    unwritten: HashSet<String>,
    /// Whether the last attempt to write it down failed.
    failing: bool,
}

impl Ringer {
    fn new(
        parts: Parts,
        index: Arc<Index>,
        events: mpsc::Sender<Event>,
        pressed: mpsc::Sender<Answer>,
    ) -> Ringer {
        Ringer {
            desk: Desk::start(parts.ring.clone(), Some(pressed)),
            clock: Watch::of(&parts.clock),
            parts,
            index,
            events,
            plan: None,
            noted: None,
            taken: None,
            since: None,
            stamp: None,
            timers: None,
            ringing: BTreeMap::new(),
            hushed: false,
            unwritten: HashSet::new(),
            failing: false,
        }
    }

    /// Looks once.
    async fn look(&mut self) {
        let ctx = self.parts.ctx(&self.index);
        let now = ctx.now.clone();
        let jump = self.jumped(&ctx).await;
        self.refresh(&ctx, jump != Jump::None).await;
        let plan = self.plan.get_or_insert_default();
        let due = plan.rings.iter().any(|ring| ring.at <= now.timestamp());
        let note = self.noted.is_none_or(|noted| noted.elapsed() >= NOTE);
        let timers = timers::all(&ctx.dirs).unwrap_or_default();
        self.know(&timers);
        let timers = timers.iter().any(|timer| timer.is_due(&now));
        // What waits for an answer may be due again, and a disk that was full may have room.
        let rested = self.taken.is_none_or(|taken| taken.elapsed() >= WAIT);
        let waits = !self.ringing.is_empty() && rested;
        if ((due || note || timers) && (rested || !self.failing)) || waits {
            self.taken = Some(Instant::now());
            self.take(&ctx).await;
        }
        self.hear_of_others(&ctx.dirs);
    }

    /// Whether the wall clock was set or the machine slept. A timer that was set while we look keeps its length when the
    /// clock is set; of an earlier one nobody knows by which clock it was set, so the wall clock counts.
    async fn jumped(&mut self, ctx: &Ctx) -> Jump {
        let now = ctx.now.timestamp();
        let since = *self.since.get_or_insert(now);
        let jump = self.clock.look(now);
        match jump {
            Jump::None => {}
            Jump::Slept => self.since = Some(now),
            Jump::Set(by) => {
                tracing::info!(seconds = by.as_secs(), "the clock was set");
                self.since = Some(since.min(now));
                let known = self.timers.iter().flatten();
                let own: Vec<(u64, Timestamp)> = known
                    .filter(|(_, (_, own))| *own)
                    .map(|(id, (rings, _))| (*id, *rings))
                    .collect();
                let dirs = ctx.dirs.clone();
                if let Ok(Err(error)) = spawn_blocking(move || timers::shift(&dirs, &own, by)).await {
                    tracing::warn!(%error, "a timer could not be moved with the clock");
                }
                // By as much as they were moved they are not new.
                for (rings, own) in self.timers.iter_mut().flat_map(BTreeMap::values_mut) {
                    if *own {
                        *rings = rings.checked_add(by).unwrap_or(*rings);
                    }
                }
            }
        }
        jump
    }

    /// Keeps in mind which timers are there.
    fn know(&mut self, timers: &[timers::Timer]) {
        let before = self.timers.take();
        let running = timers.iter().filter(|timer| timer.paused.is_none());
        let known = running.map(|timer| {
            let own = before.as_ref().is_some_and(|before| {
                let same = before.get(&timer.id).filter(|(rings, _)| *rings == timer.rings);
                same.is_none_or(|(_, own)| *own)
            });
            (timer.id, (timer.rings, own))
        });
        self.timers = Some(known.collect());
    }

    /// Makes the list anew when it is time to, or when something changed.
    async fn refresh(&mut self, ctx: &Ctx, jumped: bool) {
        let old = match &self.plan {
            Some(plan) if !jumped && !plan.is_old() => return,
            Some(plan) => plan.clone(),
            None => Plan::default(),
        };
        let (dirs, now) = (ctx.dirs.clone(), ctx.now.clone());
        match spawn_blocking(move || plan::make(&dirs, &now, old, jumped)).await {
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
            Ok(Ok(mut taken)) => {
                if std::mem::take(&mut self.failing) {
                    // What rang meanwhile is written down now, and does not ring anew.
                    taken.fresh.retain(|ring| !self.unwritten.remove(&ring.key()));
                    self.notice(None).await;
                }
                self.noted = Some(Instant::now());
                if let Some(plan) = &mut self.plan {
                    plan.rings.retain(|ring| ring.at > now.timestamp());
                }
                taken
            }
            Ok(Err(error)) => {
                if !std::mem::replace(&mut self.failing, true) {
                    tracing::warn!(%error, "what rings cannot be written down");
                    let text = format!(
                        "I cannot write down what rang, so it may ring again when I am started anew: {error}."
                    );
                    self.notice(Some(text)).await;
                }
                self.unwritten(&ctx.dirs, &now)
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
    fn unwritten(&mut self, dirs: &Dirs, now: &Zoned) -> Taken {
        let rings = self.plan.as_ref().map(|p| p.rings.clone()).unwrap_or_default();
        let due = |ring: &Ring| ring.at <= now.timestamp() && late(ring, now) <= LATE;
        let timers = timers::all(dirs).unwrap_or_default();
        let timers = timers.iter().filter(|timer| timer.is_due(now));
        let timers = timers.map(|timer| rings::of_timer(timer, dirs));
        let fresh = rings.into_iter().filter(due).chain(timers);
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
            Kind::Reminder | Kind::Event => SHORT,
            Kind::Timer | Kind::Alarm => self.parts.ring.length,
        };
        let mut sound = Sound {
            left: length,
            playing: None,
        };
        if !self.hushed {
            sound.go_on(&self.parts.ring);
        }
        self.ringing.insert(key.clone(), sound);
        self.desk.show(&key, &text, ring.kind);
        self.tell(ring.kind, key, text, times, false).await;
    }

    /// Tells what was missed: a few one by one, many together.
    async fn missed(&mut self, missed: &[Ring], now: &Zoned) {
        let away = |ring: &Ring| self.since.is_some_and(|since| ring.at < since);
        let missed: Vec<&Ring> = missed
            .iter()
            .filter(|ring| ring.is_news(away(ring), now))
            .collect();
        if missed.is_empty() {
            return;
        }
        if !self.hushed {
            // It is over by itself.
            drop(play(&self.parts.ring, SHORT));
        }
        let line = |ring: &Ring| ring.say(late(ring, now), away(ring), now);
        let told = missed.len().min(MAX_MISSED);
        let mut lines: Vec<(Kind, String, String)> = missed[missed.len() - told..]
            .iter()
            .map(|ring| (ring.kind, ring.key(), line(ring)))
            .collect();
        if missed.len() > told {
            let rest = &missed[..missed.len() - told];
            let names: Vec<String> = rest.iter().map(|ring| ring.name()).collect();
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

    /// Says that something is wrong here, or that it is well again.
    async fn notice(&self, text: Option<String>) {
        let source = Source::Rings;
        let texts = text.into_iter().collect();
        // Fails only when the daemon is stopping.
        let _ = self.events.send(Event::Noticed { source, texts }).await;
    }

    /// Somebody begins to speak, or has finished.
    fn hush(&mut self, hushed: bool) {
        self.hushed = hushed;
        for sound in self.ringing.values_mut() {
            match hushed {
                true => sound.pause(),
                false => sound.go_on(&self.parts.ring),
            }
        }
    }

    /// The person pressed a button.
    async fn answer(&mut self, answer: Answer) {
        let ctx = self.parts.ctx(&self.index);
        let Answer { key, pressed } = answer;
        self.silence(&key);
        let snooze = self.parts.ring.snooze;
        let done = spawn_blocking(move || match pressed {
            Pressed::Stop => {
                let step = ctx.step.journal().step("alarms.cancel");
                let stopped = rings::stop(&step, &ctx.dirs, &ctx.now, |ring| ring.key() == key);
                let stopped = stopped.map_err(|e| e.to_string())?;
                for ring in stopped.iter().filter(|_| step.wrote()) {
                    step.did(&format!("I stopped your {}.", ring.name()), false);
                }
                Ok(())
            }
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
        self.ringing.remove(key);
    }
}

/// The sound of one thing that rings; it ends when this is dropped.
struct Sound {
    /// How long it was to go on when it began last.
    left: Duration,
    /// Since when it sounds.
    playing: Option<(JoinHandle<()>, Instant)>,
}

impl Sound {
    fn pause(&mut self) {
        if let Some((task, since)) = self.playing.take() {
            task.abort();
            self.left = self.left.saturating_sub(since.elapsed());
        }
    }

    fn go_on(&mut self, settings: &Settings) {
        if self.playing.is_none() && !self.left.is_zero() {
            self.playing = play(settings, self.left).map(|task| (task, Instant::now()));
        }
    }
}

impl Drop for Sound {
    fn drop(&mut self) {
        self.pause();
    }
}

/// Sounds for so long, if anything is to sound.
fn play(settings: &Settings, length: Duration) -> Option<JoinHandle<()>> {
    let (volume, speaker) = (settings.volume, settings.speaker.clone());
    settings
        .sound
        .then(|| tokio::spawn(sound::play(length, volume, speaker)))
}

fn late(ring: &Ring, now: &Zoned) -> Duration {
    let late = now.timestamp().duration_since(ring.at);
    Duration::try_from(late).unwrap_or_default()
}

#[cfg(test)]
mod tests;
