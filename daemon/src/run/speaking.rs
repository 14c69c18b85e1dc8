//! Speech in the loop: what a spoken request is answered with is said aloud, and stops at once when the person wants to speak.

use std::{
    panic::AssertUnwindSafe,
    sync::{
        Arc,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
    time::Instant,
};

use futures_util::FutureExt as _;
use tokio::{
    sync::mpsc::{self, error::TrySendError},
    task::JoinHandle,
};

use super::{Daemon, Event, Source, front, front::lock};
use crate::{
    consent::Question,
    reply::ask_aloud,
    speak::{Speaker, Trouble, duck::Ducking},
};

/// What is to be said.
#[derive(Debug)]
pub struct Saying {
    /// The text.
    text: String,
    /// Who asked for what it answers.
    client: u64,
    what: What,
    _coming: Coming,
}

/// Something is about to be said as long as this is there: nobody is listened to in between.
#[derive(Debug)]
pub(super) struct Coming(Arc<AtomicUsize>);

impl Coming {
    fn new(count: &Arc<AtomicUsize>) -> Coming {
        count.fetch_add(1, Ordering::AcqRel);
        Coming(Arc::clone(count))
    }
}

impl Drop for Coming {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

/// What it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum What {
    /// An answer, or a remark that belongs to what was said.
    Answer,
    /// A question of consent; said until it is answered.
    Question(u64),
}

/// Something that is being said. Dropping it stops that.
pub(super) struct Aloud {
    number: u64,
    client: u64,
    what: What,
    /// Holds up the time for an answer while the question is still being put.
    _asking: Option<front::Speaking>,
    task: JoinHandle<()>,
}

impl Drop for Aloud {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// How many texts were begun.
static BEGUN: AtomicU64 = AtomicU64::new(0);

/// The way from a turn to the voice, for turns that are answered aloud.
#[derive(Clone)]
pub(super) struct Mouth {
    client: u64,
    coming: Arc<AtomicUsize>,
    events: mpsc::Sender<Event>,
}

impl Mouth {
    /// Something will be said; from now on nobody is listened to before that.
    pub(super) fn coming(&self) -> Coming {
        Coming::new(&self.coming)
    }

    /// The answer.
    pub(super) fn answer(&self, text: &str) {
        self.say(text.to_owned(), What::Answer, self.coming());
    }

    /// A question that is open.
    pub(super) fn ask(&self, id: u64, question: &Question, coming: Coming) {
        self.say(ask_aloud(question), What::Question(id), coming);
    }

    fn say(&self, text: String, what: What, coming: Coming) {
        let saying = Saying {
            text,
            client: self.client,
            what,
            _coming: coming,
        };
        let say = Event::Say(Box::new(saying));
        // A turn does not wait until the loop has room.
        if let Err(TrySendError::Full(say)) = self.events.try_send(say) {
            let events = self.events.clone();
            tokio::spawn(async move { events.send(say).await.is_ok() });
        }
    }
}

impl Daemon {
    /// Whether Tiro speaks, or is about to. What is heard meanwhile is its own voice.
    pub(super) fn speaks(&self) -> bool {
        self.aloud.is_some() || self.coming.load(Ordering::Acquire) > 0
    }

    /// How a turn is answered aloud: one that was spoken always, and one that was typed if the person wants that. What another
    /// program asked for is not.
    pub(super) fn mouth(&self, asking: &super::Asking) -> Option<Mouth> {
        let speaker = &self.parts.speak;
        let wanted = asking.speech.is_some() || speaker.settings().always;
        (wanted && asking.guest.is_none() && !speaker.is_off()).then(|| Mouth {
            client: asking.client,
            coming: Arc::clone(&self.coming),
            events: self.events.clone(),
        })
    }

    /// Says something in place of what is being said. Not while the microphone is open: it would hear that.
    pub(super) fn say(&mut self, saying: Saying) {
        let speaker: &Speaker = &self.parts.speak;
        if speaker.is_off() || self.open.is_some() || !self.closing.is_empty() {
            return;
        }
        let asking = match saying.what {
            What::Answer => None,
            What::Question(id) => {
                let questions = lock(&self.questions);
                match questions.open() {
                    Some((open, _)) if open == id => Some(questions.speak()),
                    // It was answered before it could be put.
                    _ => return,
                }
            }
        };
        let number = BEGUN.fetch_add(1, Ordering::Relaxed);
        let (speaker, events) = (speaker.clone(), self.events.clone());
        let Saying {
            text,
            client,
            what,
            _coming,
        } = saying;
        let task = tokio::spawn(async move {
            let saying = AssertUnwindSafe(speaker.answer(&text)).catch_unwind();
            let said = saying.await.unwrap_or_else(|_| {
                tracing::error!("a voice panicked");
                Err(Trouble::Failed("Something went wrong while I spoke.".to_owned()))
            });
            let trouble = said.err();
            let _ = events.send(Event::Said { number, trouble }).await;
        });
        self.aloud = Some(Aloud {
            number,
            client,
            what,
            _asking: asking,
            task,
        });
        self.rest();
    }

    /// A remark that belongs to what somebody said.
    pub(super) fn remark(&mut self, text: &str, client: u64) {
        self.say(Saying {
            text: text.to_owned(),
            client,
            what: What::Answer,
            _coming: Coming::new(&self.coming),
        });
    }

    /// Something was said to its end, or could not be: then the person is told once, and can read it.
    pub(super) fn said(&mut self, number: u64, trouble: Option<Trouble>) {
        if self.aloud.take_if(|aloud| aloud.number == number).is_none() {
            return;
        }
        self.hands_free.silent = Some(Instant::now());
        let trouble = trouble.filter(|trouble| *trouble != Trouble::Silenced);
        let texts = trouble.map(|trouble| trouble.to_string()).into_iter().collect();
        self.noticed(Source::Voice, texts);
        self.rest();
    }

    /// Stops what is being said; whether something was. The microphone opens only after that.
    pub(super) fn hush(&mut self) -> bool {
        self.stop_saying(|_| true).is_some()
    }

    /// Stops what is said to this client, or to anybody; whether that was an answer, and so all there was to stop.
    pub(super) fn hush_for(&mut self, client: u64, any: bool) -> bool {
        self.stop_saying(|aloud| any || aloud.client == client) == Some(What::Answer)
    }

    fn stop_saying(&mut self, meant: impl Fn(&Aloud) -> bool) -> Option<What> {
        let aloud = self.aloud.take_if(|aloud| meant(aloud))?;
        let what = aloud.what;
        drop(aloud);
        self.hands_free.silent = Some(Instant::now());
        self.rest();
        Some(what)
    }

    /// Stops a question that is over, and turns players down as long as somebody speaks.
    pub(super) fn keep_quiet(&mut self) {
        let open = lock(&self.questions).open().map(|(id, _)| id);
        self.stop_saying(|aloud| matches!(aloud.what, What::Question(id) if Some(id) != open));
        if let Some(ducking) = &self.ducking {
            ducking.quiet(self.open.is_some() || self.speaks());
        }
    }

    /// Begins to look after the players, and restores those that an earlier daemon turned down.
    pub(super) fn look_after_players(&mut self) {
        let parts = &self.parts;
        let share = parts.speak.settings().duck;
        self.ducking = Some(Ducking::start(parts.desk.clone(), &parts.dirs.state, share));
    }

    /// The end: silence, and players as loud as they were.
    pub(super) async fn fall_silent(&mut self) {
        drop(self.aloud.take());
        self.parts.speak.silent().await;
        if let Some(ducking) = self.ducking.take() {
            ducking.end().await;
        }
    }
}
