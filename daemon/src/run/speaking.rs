//! Speech in the loop: what a spoken request is answered with is said aloud, and stops at once when the person wants to speak.

use std::{
    panic::AssertUnwindSafe,
    sync::{
        Arc,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
    time::Instant,
};

use futures_util::{FutureExt as _, future::BoxFuture};
use tokio::{
    sync::{
        mpsc::{self, error::TrySendError},
        oneshot,
    },
    task::JoinHandle,
};

use super::{Daemon, Event, Source, front, front::lock};
use crate::{
    consent::Question,
    reply::ask_aloud,
    speak::{Speaker, Trouble, Writing, duck::Ducking},
};

/// What is to be said.
pub struct Saying {
    /// Says it.
    words: BoxFuture<'static, Result<(), Trouble>>,
    /// Who asked for what it answers.
    client: u64,
    what: What,
    /// The turn that still writes it.
    turn: Option<u64>,
    /// Told what became of it.
    tell: Option<Tell>,
    _coming: Coming,
}

/// A text that a client wants said, as `tiro say` does: only what the daemon says it knows as its own words.
pub struct Errand {
    /// The text.
    pub text: String,
    /// Who wants that; when it leaves, nobody does.
    pub client: u64,
    /// Told when it was said, or why it was not; dropped when it was stopped.
    pub tell: Tell,
}

type Tell = oneshot::Sender<Result<(), String>>;

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
    /// What a client wants said.
    Errand,
}

/// Something that is being said. Dropping it stops that.
pub(super) struct Aloud {
    number: u64,
    client: u64,
    what: What,
    /// The turn that still writes it, unless that has ended meanwhile.
    turn: Option<u64>,
    tell: Option<Tell>,
    /// Holds up the time for an answer while the question is still being put.
    _asking: Option<front::Speaking>,
    task: JoinHandle<()>,
}

impl Drop for Aloud {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Texts that may wait until something else has been said. A broken script may have more.
const MAX_ERRANDS: usize = 8;
/// Said where the voice was switched on after the daemon had begun.
const VOICELESS: &str =
    "The daemon does not speak, because speech.voice was \"off\" when it began. Start it anew.";

/// How many texts were begun.
static BEGUN: AtomicU64 = AtomicU64::new(0);

/// The way from a turn to the voice, for turns that are answered aloud.
pub(super) struct Mouth {
    client: u64,
    turn: u64,
    coming: Arc<AtomicUsize>,
    events: mpsc::Sender<Event>,
    speaker: Speaker,
    /// What was said of the answer so far.
    said: String,
    /// Takes more of it.
    writing: Option<Writing>,
}

impl Mouth {
    /// Something will be said; from now on nobody is listened to before that.
    pub(super) fn coming(&self) -> Coming {
        Coming::new(&self.coming)
    }

    /// The next sentences of the answer, of which more is to come.
    pub(super) fn begin(&mut self, text: &str) {
        self.said.push_str(text);
        let mut writing = self.writing.take().unwrap_or_else(|| {
            let (writing, words) = self.speaker.begin();
            self.say(words.boxed(), What::Answer, Some(self.turn), self.coming());
            writing
        });
        writing.say(text);
        self.writing = Some(writing);
    }

    /// The answer: what of it was not said yet is.
    pub(super) fn answer(&mut self, text: &str) {
        let rest = text.strip_prefix(self.said.trim_end()).unwrap_or(text);
        match self.writing.take() {
            Some(mut writing) => writing.say(rest),
            None => {
                let words = answer(&self.speaker, rest.to_owned());
                self.say(words, What::Answer, None, self.coming());
            }
        }
    }

    /// A question that is open; it is put when what was begun has been said.
    pub(super) fn ask(&mut self, id: u64, question: &Question, coming: Coming) {
        self.writing = None;
        let words = answer(&self.speaker, ask_aloud(question));
        self.say(words, What::Question(id), None, coming);
    }

    fn say(
        &self,
        words: BoxFuture<'static, Result<(), Trouble>>,
        what: What,
        turn: Option<u64>,
        coming: Coming,
    ) {
        let saying = Saying {
            words,
            client: self.client,
            what,
            turn,
            tell: None,
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

/// Says a text that is there.
fn answer(speaker: &Speaker, text: String) -> BoxFuture<'static, Result<(), Trouble>> {
    let speaker = speaker.clone();
    async move { speaker.answer(&text).await }.boxed()
}

impl Daemon {
    /// Whether Tiro speaks, or is about to. What is heard meanwhile is its own voice.
    pub(super) fn speaks(&self) -> bool {
        self.aloud.is_some() || self.coming.load(Ordering::Acquire) > 0
    }

    /// Whether the turn that runs has begun to say its answer.
    pub(super) fn tells(&self) -> bool {
        let turn = self.aloud.as_ref().and_then(|aloud| aloud.turn);
        turn.is_some() && turn == self.running.as_ref().map(|running| running.number)
    }

    /// How a turn is answered aloud: one that was spoken always, and one that was typed if the person wants that. What another
    /// program asked for is not.
    pub(super) fn mouth(&self, asking: &super::Asking) -> Option<Mouth> {
        let speaker = &self.parts.speak;
        let wanted = asking.speech.is_some() || speaker.settings().always;
        (wanted && asking.guest.is_none() && !speaker.is_off()).then(|| Mouth {
            client: asking.client,
            turn: self.begun,
            coming: Arc::clone(&self.coming),
            events: self.events.clone(),
            speaker: speaker.clone(),
            said: String::new(),
            writing: None,
        })
    }

    /// Says something in place of what is being said. Not while the microphone is open: it would hear that.
    pub(super) fn say(&mut self, saying: Saying) {
        let speaker: &Speaker = &self.parts.speak;
        if speaker.is_off() || self.open.is_some() || !self.closing.is_empty() {
            return;
        }
        let asking = match saying.what {
            What::Answer | What::Errand => None,
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
        let events = self.events.clone();
        let Saying {
            words,
            client,
            what,
            turn,
            tell,
            _coming,
        } = saying;
        // What is asked about the second thing does not cut off what became of the first.
        let before = match what {
            What::Question(_) => self.aloud.take_if(|aloud| aloud.turn.is_some()),
            What::Answer | What::Errand => None,
        };
        let task = tokio::spawn(async move {
            if let Some(mut before) = before {
                // What went wrong with it goes wrong with the question, too.
                let _ = (&mut before.task).await;
            }
            let saying = AssertUnwindSafe(words).catch_unwind();
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
            turn,
            tell,
            _asking: asking,
            task,
        });
        self.rest();
    }

    /// A remark that belongs to what somebody said.
    pub(super) fn remark(&mut self, text: &str, client: u64) {
        self.say(Saying {
            words: answer(&self.parts.speak, text.to_owned()),
            client,
            what: What::Answer,
            turn: None,
            tell: None,
            _coming: Coming::new(&self.coming),
        });
    }

    /// A client wants something said.
    pub(super) fn errand(&mut self, errand: Errand) {
        let why = match self.errands.len() {
            _ if self.parts.speak.is_off() => VOICELESS.to_owned(),
            MAX_ERRANDS.. => format!("{MAX_ERRANDS} texts are waiting already."),
            _ => return self.errands.push_back(errand),
        };
        // Who has left meanwhile need not know.
        let _ = errand.tell.send(Err(why));
    }

    /// Says the next text that a client wants said, when nothing else is and nobody is listened to. Called after everything
    /// that happens. It waits for no turn, which may run the very program that wants it said.
    pub(super) fn run_errand(&mut self) {
        if self.speaks() || self.open.is_some() || !self.closing.is_empty() {
            return;
        }
        let Some(Errand { text, client, tell }) = self.errands.pop_front() else {
            return;
        };
        let speaker = self.parts.speak.clone();
        self.say(Saying {
            words: async move { speaker.say(&text).await }.boxed(),
            client,
            what: What::Errand,
            turn: None,
            tell: Some(tell),
            _coming: Coming::new(&self.coming),
        });
        self.keep_quiet();
    }

    /// Says nothing more of what this client wanted said; whether there was something.
    pub(super) fn withdraw_errands(&mut self, client: u64) -> bool {
        let waiting = self.errands.len();
        self.errands.retain(|errand| errand.client != client);
        let said = self.stop_saying(|aloud| aloud.what == What::Errand && aloud.client == client);
        said.is_some() || self.errands.len() < waiting
    }

    /// Something was said to its end, or could not be: then the person is told once, and can read it.
    pub(super) fn said(&mut self, number: u64, trouble: Option<Trouble>) {
        let Some(mut aloud) = self.aloud.take_if(|aloud| aloud.number == number) else {
            return;
        };
        self.hands_free.silent = Some(Instant::now());
        let trouble = trouble.filter(|trouble| *trouble != Trouble::Silenced);
        match (aloud.tell.take(), trouble) {
            // Who is told need not be told by the desktop, too.
            (Some(tell), Some(trouble)) => drop(tell.send(Err(trouble.advice()))),
            (tell, trouble) => {
                if let Some(tell) = tell {
                    let _ = tell.send(Ok(()));
                }
                let texts = trouble.map(|trouble| trouble.to_string()).into_iter().collect();
                self.noticed(Source::Voice, texts);
            }
        }
        self.rest();
    }

    /// Stops what is being said; whether something was. The microphone opens only after that.
    pub(super) fn hush(&mut self) -> bool {
        self.stop_saying(|_| true).is_some()
    }

    /// Stops what is said to this client, or to anybody; whether that was all there was to stop. A question is not, nor an
    /// answer whose end is still being written. Who wants quiet does not want the next text, either.
    pub(super) fn hush_for(&mut self, client: u64, any: bool) -> bool {
        let tells = self.tells();
        if any {
            self.errands.clear();
        }
        let what = self.stop_saying(|aloud| any || aloud.client == client);
        matches!(what, Some(What::Answer | What::Errand)) && !tells
    }

    fn stop_saying(&mut self, meant: impl Fn(&Aloud) -> bool) -> Option<What> {
        let aloud = self.aloud.take_if(|aloud| meant(aloud))?;
        let what = aloud.what;
        drop(aloud);
        self.hands_free.silent = Some(Instant::now());
        self.rest();
        Some(what)
    }

    /// Stops a question that is over, and turns players down as long as somebody speaks. What rings is silent while the
    /// person does.
    pub(super) fn keep_quiet(&mut self) {
        let open = lock(&self.questions).open().map(|(id, _)| id);
        self.stop_saying(|aloud| matches!(aloud.what, What::Question(id) if Some(id) != open));
        let listens = self.open.is_some();
        self.hushed_rings
            .send_if_modified(|hushed| std::mem::replace(hushed, listens) != listens);
        if let Some(ducking) = &self.ducking {
            ducking.quiet(listens || self.speaks());
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
