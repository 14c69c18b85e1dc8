//! The wake word in the loop: the microphone that stays open, who is listened to after it, and when it is the person's
//! turn without a word: after an answer, and after a question.

use std::{
    sync::{
        Arc, Mutex as StdMutex,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use models::stt::SAMPLE_RATE;
use prompts::words;
use tokio::{
    sync::{mpsc, watch},
    task::JoinHandle,
};

use super::{
    Daemon, Event, Running, Source,
    front::lock,
    listening::Way,
    spotting::{Spotter, clips, load},
};
use crate::listen::{
    endpoint::Style,
    hearing,
    standing::{Begins, Ended, Standing},
    wake::{Phrases, Watch},
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
    pub(super) microphone: u64,
    /// How often somebody had been listened to when it was said.
    pub(super) listenings: u64,
    /// How long ago that was.
    pub(super) age: Duration,
    /// What of the sound the recogniser was given: its first sample, and the one behind its last.
    pub(super) clip: (u64, u64),
    /// Whether the person went on in the same breath.
    pub(super) goes_on: bool,
    /// Whether Tiro spoke meanwhile, so that what is heard behind the phrase may be its own words.
    pub(super) over_own: bool,
}

/// The microphone that stays open. Dropping it closes it.
pub(super) struct Waking {
    number: u64,
    standing: Standing,
    watch: Arc<StdMutex<Watch>>,
    /// Whether somebody is listened to anyway, so that what they say is no call.
    listened: Arc<AtomicBool>,
    /// How often somebody was: a clip that was cut before that holds what they were listened to for.
    listenings: Arc<AtomicU64>,
    /// Samples since it opened, and up to which of them somebody was listened to.
    total: Arc<AtomicU64>,
    heard: Arc<AtomicU64>,
    /// Whether sound came from it.
    awake: bool,
    since: Instant,
    tasks: Vec<JoinHandle<()>>,
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
    /// How often that was so since the phrase was said.
    rounds: u32,
    /// The question for whose answer the microphone was opened, and how often.
    asked: Option<(u64, u32)>,
    /// When Tiro last fell silent.
    pub(super) silent: Option<Instant>,
}

/// A clip that ends with a pause has so much of it, and what is said next begins behind that: 200 ms, in samples.
const PAUSE: u64 = SAMPLE_RATE as u64 / 5;
/// A recogniser that had to be loaded first may be so late that what was said since is not meant for Tiro.
const LATE: Duration = Duration::from_secs(4);
/// What an utterance has before the moment that it was wanted, where the microphone is open anyway.
const PRE_ROLL: Duration = Duration::from_millis(500);
/// A room echoes, and a sound server plays out what it has: what comes so soon after Tiro's own words is still they.
pub(super) const ECHO: Duration = Duration::from_millis(400);
/// How many answers may be gone on from without saying the phrase again.
const ROUNDS: u32 = 5;
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
        let (send, clips) = clips();
        let watch = Arc::<StdMutex<Watch>>::default();
        let (listened, listenings) = (Arc::<AtomicBool>::default(), Arc::<AtomicU64>::default());
        let (total, heard) = (Arc::<AtomicU64>::default(), Arc::<AtomicU64>::default());
        let until = Arc::clone(&heard);
        let (busy, listening, counted) = (Arc::clone(&listened), Arc::clone(&listenings), Arc::clone(&total));
        let (spied, mut first) = (Arc::clone(&watch), Some(self.events.clone()));
        let own = self.parts.speak.own();
        let spy = move |samples: &[f32]| {
            if let Some(events) = first.take_if(|_| !samples.is_empty()) {
                let _ = events.blocking_send(Event::Awake(number));
            }
            counted.fetch_add(samples.len() as u64, Ordering::AcqRel);
            let mut watch = lock(&spied);
            watch.over_own(own.borrow().speaking);
            // Who is listened to anyway does not call.
            watch.hear(samples, |clip| {
                let begins = clip.at + clip.onset as u64;
                if !busy.load(Ordering::Acquire) && begins >= until.load(Ordering::Acquire) {
                    let _ = send.send((listening.load(Ordering::Acquire), clip));
                }
            });
        };
        let (standing, ended) = Standing::open(&self.parts.listen, Box::new(spy));
        let events = self.events.clone();
        let ending = tokio::spawn(async move {
            let why = ended.await;
            let _ = events.send(Event::Deaf { number, why }).await;
        });
        let spotter = Spotter {
            number,
            stt: Arc::clone(&self.engines.stt),
            watch: Arc::clone(&watch),
            total: Arc::clone(&total),
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
            listenings,
            total,
            heard,
            awake: false,
            since: Instant::now(),
            tasks: vec![ending, tokio::spawn(spotter.run(clips))],
        });
    }

    /// Closes it.
    pub(super) fn sleep(&mut self) {
        self.waking = None;
        self.hands_free = HandsFree::default();
        // Nobody waits to be heard any more.
        self.noticed(Source::Recogniser, Vec::new());
        self.noticed(Source::Silenced, Vec::new());
    }

    /// Sound comes from it.
    pub(super) fn awake(&mut self, number: u64) {
        if let Some(waking) = self.waking.as_mut().filter(|waking| waking.number == number) {
            waking.awake = true;
            // The model is there before the first clip is, and whoever cannot be woken hears so before they call in vain.
            let loading = load(Arc::clone(&self.engines.stt), self.events.clone());
            waking.tasks.push(tokio::spawn(loading));
            let muted = tell_muted(waking.standing.muted(), self.events.clone());
            waking.tasks.push(tokio::spawn(muted));
            self.noticed(Source::Microphone, Vec::new());
        }
    }

    /// It went away: it is looked for again, ever more seldom, and the person is told once. Another one that the desktop chose
    /// takes its place at once.
    pub(super) fn deaf(&mut self, number: u64, why: Ended) {
        let Some(waking) = self.waking.take_if(|waking| waking.number == number) else {
            return;
        };
        let why = match why {
            Ended::Failed(why) => why,
            Ended::Changed => return self.stay_awake(),
            Ended::Wanted => return,
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
        // There is none that could be muted.
        self.noticed(Source::Silenced, Vec::new());
        self.noticed(Source::Microphone, vec![why]);
    }

    /// Somebody said the phrase: they are listened to, and what Tiro does is interrupted, as by the key.
    pub(super) fn woken(&mut self, woken: &Woken) {
        // Whoever was listened to meanwhile has been heard, and is not heard again.
        let heard = |waking: &Waking| {
            waking.number == woken.microphone && waking.listenings.load(Ordering::Acquire) == woken.listenings
        };
        if !self.waking.as_ref().is_some_and(heard) || self.open.is_some() || self.mute.is() {
            return;
        }
        self.hands_free.on = true;
        self.hands_free.rounds = 0;
        self.hands_free.asked = None;
        let (first, behind) = woken.clip;
        let way = match woken.goes_on {
            // They may have turned to somebody else since: the tone says that they are heard from now on.
            _ if woken.age > LATE => Way::After(Begins::In(Duration::ZERO)),
            // What Tiro reads aloud, a mail perhaps, never becomes what somebody asks for.
            _ if woken.over_own => Way::After(Begins::In(ECHO)),
            true => Way::Woken(Begins::Sample(first)),
            false => Way::After(Begins::Sample(behind.saturating_sub(PAUSE))),
        };
        self.open(Style::Tap, way, super::listening::NOBODY, None);
    }

    /// Where what is said begins when a key was pressed: a moment ago, but not in Tiro's own words, of which one may be the
    /// answer that it waits for.
    pub(super) fn begins_now(&self, asked: bool) -> Begins {
        match self.hands_free.silent.map(|silent| silent.elapsed()) {
            Some(since) if since < ECHO && asked => Begins::In(ECHO - since),
            Some(since) if since < ECHO => Begins::In(ECHO / 4),
            Some(since) if since < ECHO + PRE_ROLL => Begins::In(Duration::ZERO),
            _ => Begins::Now,
        }
    }

    /// A question that was answered in another way needs nobody to listen for an answer.
    fn leave_answered_question(&mut self) {
        let open = lock(&self.questions).open().map(|(id, _)| id);
        let over = |listening: &mut super::listening::Open| {
            !matches!(listening.way, Way::Key) && listening.is_for_another_question(open)
        };
        if self.open.take_if(over).is_some() {
            self.rest();
        }
    }

    /// The standing microphone's share of a listening, where there is one.
    pub(super) fn listen_on_standing(
        &self,
        settings: &hearing::Settings,
        style: Style,
        begins: Begins,
    ) -> Option<(hearing::Listening, hearing::Hearing)> {
        // One that is not open yet may never be.
        let waking = self.waking.as_ref().filter(|waking| waking.awake)?;
        waking.listened.store(true, Ordering::Release);
        waking.listenings.fetch_add(1, Ordering::AcqRel);
        // What is said now is no call.
        lock(&waking.watch).pause(Duration::ZERO);
        waking.standing.listen(settings, style, begins)
    }

    /// The turn that runs was answered, well or not. Whoever typed it does not go on by voice, and nobody goes on for ever: a
    /// television would.
    pub(super) fn may_go_on(&mut self, well: bool) {
        let Some(follow_up) = self.parts.wake.as_ref().map(|wake| wake.follow_up) else {
            return;
        };
        if !self.running.as_ref().is_some_and(|running| running.spoken) || !self.hands_free.on {
            return;
        }
        let rounds = self.hands_free.rounds;
        if follow_up.is_zero() || rounds >= ROUNDS || !well && rounds > 0 {
            return self.leave_hands_free();
        }
        self.hands_free.rounds += 1;
        self.hands_free.answered = true;
    }

    /// Nobody said anything more.
    pub(super) fn leave_hands_free(&mut self) {
        self.hands_free.on = false;
        self.hands_free.answered = false;
        self.hands_free.rounds = 0;
    }

    /// The person pressed a key, and presses it again when they want to.
    pub(super) fn by_hand(&mut self) {
        self.leave_hands_free();
    }

    /// Listens without a word to whoever spoke by voice, when it is their turn: after an answer, and to a question. Called
    /// after everything that happens.
    pub(super) fn listen_on(&mut self) {
        if let Some(waking) = &self.waking {
            let listened = self.open.is_some() || !self.closing.is_empty();
            if waking.listened.swap(listened, Ordering::AcqRel) && !listened {
                let now = waking.total.load(Ordering::Acquire);
                waking.heard.store(now, Ordering::Release);
            }
        }
        self.leave_answered_question();
        let Some(settings) = self.parts.wake.as_ref().filter(|_| self.hands_free.on) else {
            return;
        };
        if self.open.is_some() || !self.closing.is_empty() || self.mute.is() || self.speaks() {
            return;
        }
        let follow_up = settings.follow_up;
        let spoken = |running: &&Running| running.at_desktop && running.spoken;
        let question = self.running.as_ref().filter(spoken);
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

/// Tells whenever the desktop mutes the microphone or lets it be heard again.
async fn tell_muted(mut muted: watch::Receiver<bool>, events: mpsc::Sender<Event>) {
    loop {
        let texts = match *muted.borrow_and_update() {
            true => vec![words::turned_off()],
            false => Vec::new(),
        };
        let source = Source::Silenced;
        if events.send(Event::Noticed { source, texts }).await.is_err() || muted.changed().await.is_err() {
            return;
        }
    }
}
