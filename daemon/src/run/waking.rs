//! The wake word in the loop: the microphone that stays open, who is listened to after it, and when it is the person's
//! turn without a word: after an answer, and after a question.

use std::{
    sync::{
        Arc, Mutex as StdMutex,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use models::stt::{SAMPLE_RATE, Stt};
use tokio::{
    sync::{mpsc, watch},
    task::JoinHandle,
};

use super::{Daemon, Event, Running, Source, front::lock, listening::Way};
use crate::{
    listen::{
        endpoint::Style,
        hearing,
        standing::{Begins, Standing},
        wake::{Candidate, Looked, PATIENCE, Phrases, Watch, look},
    },
    speak::Own,
};

/// How the person wakes Tiro by words.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The words.
    pub phrases: Arc<Phrases>,
    /// For how long they are not listened for again.
    pub refractory: Duration,
    /// How long somebody may go on without them after an answer; zero is never.
    pub follow_up: Duration,
}

/// A phrase that was heard.
#[derive(Debug)]
pub struct Woken {
    /// The microphone that heard it.
    microphone: u64,
    /// What of the sound the recogniser was given: its first sample, and the one behind its last.
    clip: (u64, u64),
    /// Whether the person went on in the same breath.
    goes_on: bool,
}

/// The microphone that stays open. Dropping it closes it.
pub(super) struct Waking {
    number: u64,
    standing: Standing,
    watch: Arc<StdMutex<Watch>>,
    /// Whether somebody is listened to anyway, so that what they say is no call.
    listened: Arc<AtomicBool>,
    since: Instant,
    tasks: [JoinHandle<()>; 2],
}

impl Drop for Waking {
    fn drop(&mut self) {
        self.tasks.iter().for_each(JoinHandle::abort);
    }
}

/// Where the person and Tiro are in a conversation by voice.
#[derive(Debug, Default)]
pub(super) struct HandsFree {
    /// Whether the last turn began with a wake word, or followed one that did.
    on: bool,
    /// A turn was answered, and it may be gone on.
    answered: bool,
    /// The question for whose answer the microphone was opened, and how often.
    asked: Option<(u64, u32)>,
    /// When Tiro last fell silent.
    pub(super) silent: Option<Instant>,
}

/// Clips that may wait while one is recognised; older ones are of no use.
const CLIPS: usize = 2;
/// A recogniser that has to load its model first may take so much longer.
const LOADING: Duration = Duration::from_secs(30);
/// A clip that ends with a pause has so much of it, and what is said next begins behind that: 200 ms, in samples.
const PAUSE: u64 = SAMPLE_RATE as u64 / 5;
/// A room echoes, and a sound server plays out what it has: what comes so soon after Tiro's own words is still they.
const ECHO: Duration = Duration::from_millis(400);
/// A clip is looked at when it is over, and has to wait for the one before: what Tiro said so long ago may be in it.
const HEARD: Duration = Duration::from_secs(6);
/// How often a question is listened for again when nobody answered, or nobody understood the answer.
const ATTEMPTS: u32 = 3;
/// The first time after which a microphone that went is looked for again; it doubles ...
const AGAIN: Duration = Duration::from_secs(1);
/// ... up to this.
const SELDOM: Duration = Duration::from_secs(30);
/// A microphone that stayed for so long was well.
const WELL: Duration = Duration::from_secs(60);

impl Daemon {
    /// Opens the microphone for the wake word, where the person wants that and has not muted it.
    pub(super) fn stay_awake(&mut self) {
        let Some(settings) = &self.parts.wake else { return };
        if self.mute.is() || self.waking.is_some() {
            return;
        }
        self.wakings += 1;
        let number = self.wakings;
        let (send, clips) = mpsc::channel(CLIPS);
        let watch = Arc::<StdMutex<Watch>>::default();
        let (spied, mut first) = (Arc::clone(&watch), Some(self.events.clone()));
        let spy = move |samples: &[f32]| {
            if let Some(events) = first.take_if(|_| !samples.is_empty()) {
                let _ = events.blocking_send(Event::Awake(number));
            }
            // Where too many wait, the oldest are looked at first and this one is lost: it is one of many.
            lock(&spied).hear(samples, |clip| drop(send.try_send(clip)));
        };
        let listened = Arc::<AtomicBool>::default();
        let (standing, ended) = Standing::open(&self.parts.listen, Box::new(spy));
        let events = self.events.clone();
        let ending = tokio::spawn(async move {
            if let Some(why) = ended.await {
                let _ = events.send(Event::Deaf { number, why }).await;
            }
        });
        let spotter = Spotter {
            number,
            stt: Arc::clone(&self.engines.stt),
            watch: Arc::clone(&watch),
            listened: Arc::clone(&listened),
            settings: settings.clone(),
            own: self.parts.speak.own(),
            language: self.parts.limits.language.clone(),
            events: self.events.clone(),
        };
        self.waking = Some(Waking {
            number,
            standing,
            watch,
            listened,
            since: Instant::now(),
            tasks: [ending, tokio::spawn(spotter.run(clips))],
        });
    }

    /// Closes it.
    pub(super) fn sleep(&mut self) {
        self.waking = None;
        self.hands_free = HandsFree::default();
    }

    /// Sound comes from it.
    pub(super) fn awake(&mut self, number: u64) {
        if self.waking.as_ref().is_some_and(|waking| waking.number == number) {
            self.noticed(Source::Microphone, Vec::new());
        }
    }

    /// It went away: it is looked for again, ever more seldom, and the person is told once.
    pub(super) fn deaf(&mut self, number: u64, why: String) {
        let Some(waking) = self.waking.take_if(|waking| waking.number == number) else {
            return;
        };
        self.deafness = match waking.since.elapsed() > WELL {
            true => 0,
            false => (self.deafness + 1).min(16),
        };
        let again = AGAIN.saturating_mul(1 << self.deafness).min(SELDOM);
        let events = self.events.clone();
        tokio::spawn(async move {
            tokio::time::sleep(again).await;
            let _ = events.send(Event::StayAwake).await;
        });
        self.noticed(Source::Microphone, vec![why]);
    }

    /// Somebody said the phrase: they are listened to, and what Tiro does is interrupted, as by the key.
    pub(super) fn woken(&mut self, woken: &Woken) {
        let heard = |waking: &Waking| waking.number == woken.microphone;
        if !self.waking.as_ref().is_some_and(heard) || self.open.is_some() || self.mute.is() {
            return;
        }
        self.hands_free.on = true;
        self.hands_free.asked = None;
        let (first, behind) = woken.clip;
        let way = match woken.goes_on {
            true => Way::Woken(Begins::Sample(first)),
            false => Way::After(Begins::Sample(behind.saturating_sub(PAUSE))),
        };
        self.open(Style::Tap, way, super::listening::NOBODY, None);
    }

    /// Where what is said begins when a key was pressed: a moment ago, but not in Tiro's own words.
    pub(super) fn begins_now(&self) -> Begins {
        match self.hands_free.silent.map(|silent| silent.elapsed()) {
            Some(since) if since < ECHO => Begins::In(ECHO / 4),
            _ => Begins::Now,
        }
    }

    /// The standing microphone's share of a listening, where there is one.
    pub(super) fn listen_on_standing(
        &self,
        settings: &hearing::Settings,
        style: Style,
        begins: Begins,
    ) -> Option<(hearing::Listening, hearing::Hearing)> {
        let waking = self.waking.as_ref()?;
        // What is said now is no call.
        lock(&waking.watch).pause(Duration::ZERO);
        waking.standing.listen(settings, style, begins)
    }

    /// The turn that runs was answered. Whoever typed it does not go on by voice.
    pub(super) fn may_go_on(&mut self) {
        let spoken = |running: &Running| running.client == super::listening::NOBODY;
        self.hands_free.answered = self.hands_free.on && self.running.as_ref().is_some_and(spoken);
    }

    /// Nobody said anything more.
    pub(super) fn leave_hands_free(&mut self) {
        self.hands_free.on = false;
        self.hands_free.answered = false;
    }

    /// The person pressed a key, and presses it again when they want to.
    pub(super) fn by_hand(&mut self) {
        self.leave_hands_free();
    }

    /// Listens without a word to whoever spoke by voice, when it is their turn: after an answer, and to a question. Called
    /// after everything that happens.
    pub(super) fn listen_on(&mut self) {
        if let Some(waking) = &self.waking {
            waking.listened.store(self.open.is_some(), Ordering::Relaxed);
        }
        let Some(settings) = self.parts.wake.as_ref().filter(|_| self.hands_free.on) else {
            return;
        };
        if self.open.is_some() || !self.closing.is_empty() || self.mute.is() || self.speaks() {
            return;
        }
        let follow_up = settings.follow_up;
        let question = self.running.as_ref().filter(|running| running.at_desktop);
        let question = question.and_then(|_| lock(&self.questions).open().map(|(id, _)| id));
        // Its own last words come first.
        let since = self.hands_free.silent.map_or(ECHO, |silent| silent.elapsed());
        let begins = Begins::In(ECHO.saturating_sub(since));
        if let Some(id) = question {
            let attempts = match self.hands_free.asked {
                Some((asked, attempts)) if asked == id => attempts,
                _ => 0,
            };
            if attempts < ATTEMPTS {
                self.hands_free.asked = Some((id, attempts + 1));
                self.open(Style::Tap, Way::After(begins), super::listening::NOBODY, None);
            }
        } else if self.running.is_none()
            && self.waiting.is_empty()
            && std::mem::take(&mut self.hands_free.answered)
            && !follow_up.is_zero()
        {
            let way = Way::FollowUp(begins, follow_up);
            self.open(Style::Tap, way, super::listening::NOBODY, None);
        }
    }
}

/// Asks the recogniser whether clips begin with a phrase, one after the other.
struct Spotter {
    number: u64,
    stt: Arc<dyn Stt>,
    watch: Arc<StdMutex<Watch>>,
    listened: Arc<AtomicBool>,
    settings: Settings,
    /// What Tiro says itself.
    own: watch::Receiver<Own>,
    language: Option<String>,
    events: mpsc::Sender<Event>,
}

impl Spotter {
    async fn run(self, mut clips: mpsc::Receiver<Candidate>) {
        while let Some(clip) = clips.recv().await {
            // The recogniser has what they say to do already.
            if self.listened.load(Ordering::Relaxed) {
                continue;
            }
            let patience = match self.stt.stats().life() {
                Some(_) => PATIENCE,
                None => PATIENCE + LOADING,
            };
            let (stt, phrases) = (&*self.stt, &self.settings.phrases);
            let own = self.own.borrow().lately(ECHO + HEARD);
            match look(
                stt,
                &clip,
                self.language.as_deref(),
                phrases,
                own.as_deref(),
                patience,
            )
            .await
            {
                Ok(Looked::Phrase(spotted)) => {
                    lock(&self.watch).pause(self.settings.refractory);
                    let woken = Woken {
                        microphone: self.number,
                        clip: (clip.at, clip.end()),
                        goes_on: !spotted.rest.is_empty(),
                    };
                    tracing::info!(score = spotted.score, "woken");
                    let _ = self.events.send(Event::Woken(woken)).await;
                }
                Ok(Looked::Noise) => lock(&self.watch).was_noise(),
                Ok(Looked::Speech) => {}
                // Said by whatever needs the recogniser for more than this.
                Err(error) => tracing::debug!(%error, "a clip was not looked at"),
            }
        }
    }
}
