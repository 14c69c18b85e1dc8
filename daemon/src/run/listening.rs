//! Push to talk in the loop: the microphone opens and closes, what was said becomes a turn or answers a question.

use std::sync::{Arc, atomic::AtomicU64};

use clap::ValueEnum;
use models::stt::Stt;
use prompts::words;
use tokio::{sync::oneshot, task::JoinHandle};

use super::{Asking, Daemon, Event, Source, front::lock};
use crate::{
    bus::Client,
    listen::{
        Speech,
        endpoint::Style,
        hearing::{Heard, Listening},
    },
    reply::{Happening, State, yes_or_no},
    room::{Limits, transcribe},
};

/// What push to talk can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Action {
    /// Listen until `stop`, however long the pauses are: for a key that is held.
    Start,
    /// Stop listening and answer what was said.
    Stop,
    /// Listen until you are silent, or stop listening: for a key that is tapped.
    Toggle,
    /// Forget what was said; when nobody listens, stop the answer.
    Cancel,
}

impl Action {
    /// From its word on the bus.
    pub fn named(word: &str) -> Option<Action> {
        Action::from_str(word, false).ok()
    }

    /// Its word on the bus.
    pub fn name(self) -> &'static str {
        match self {
            Action::Start => "start",
            Action::Stop => "stop",
            Action::Toggle => "toggle",
            Action::Cancel => "cancel",
        }
    }
}

/// Push to talk, as a client asks for it.
pub struct Push {
    /// What to do.
    pub action: Action,
    /// Who asks; 0 is nobody. The turn is theirs, should they still be there; it goes on without them.
    pub client: u64,
    /// Gets the signals of that turn.
    pub connection: Option<Client>,
    /// Told the state that this leads to, at once.
    pub tell: oneshot::Sender<State>,
}

/// A microphone that is open, or about to be.
pub(super) struct Open {
    number: u64,
    listening: Listening,
    client: u64,
    connection: Option<Client>,
    /// The question that what is said answers.
    question: Option<u64>,
    /// Waits for what comes of it.
    waiting: JoinHandle<()>,
}

/// Listenings so far.
static BEGUN: AtomicU64 = AtomicU64::new(0);

/// Neither yes nor no.
const UNCLEAR: &str = "Please answer yes or no.";

impl Daemon {
    /// Push to talk.
    pub(super) fn push(&mut self, push: Push) {
        let state = match (push.action, &self.open) {
            (Action::Start, Some(_)) => State::Listening,
            (Action::Stop | Action::Toggle, Some(open)) => {
                open.listening.stop();
                State::Transcribing
            }
            (Action::Start, None) => self.open(Style::Hold, push.client, push.connection),
            (Action::Toggle, None) => self.open(Style::Tap, push.client, push.connection),
            (Action::Stop, None) => *lock(&self.state),
            (Action::Cancel, _) => {
                if !self.close() {
                    let (done, _) = oneshot::channel();
                    self.cancel(push.client, done);
                }
                *lock(&self.state)
            }
        };
        let _ = push.tell.send(state);
    }

    /// Opens the microphone. Whoever speaks while a turn runs interrupts it, unless it waits for their answer.
    fn open(&mut self, style: Style, client: u64, connection: Option<Client>) -> State {
        let question = self
            .running
            .as_ref()
            .filter(|running| running.at_desktop)
            .and_then(|_| lock(&self.questions).open().map(|(id, _)| id));
        let interrupted = self.running.take_if(|_| question.is_none());
        let (listening, heard) = Listening::begin(&self.parts.listen, style);
        let number = BEGUN.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let events = self.events.clone();
        let waiting = tokio::spawn(async move {
            let heard = heard.await;
            let _ = events.send(Event::Listened { number, heard }).await;
        });
        self.open = Some(Open {
            number,
            listening,
            client,
            connection,
            question,
            waiting,
        });
        self.tell(
            &Happening::State {
                state: State::Listening,
            },
            None,
        );
        if let Some(running) = interrupted {
            running.task.abort();
            self.next();
        }
        // The recogniser loads while the person speaks.
        let stt = Arc::clone(&self.engines.stt);
        tokio::spawn(async move {
            if let Err(error) = stt.info().await {
                tracing::debug!(%error, "the recogniser is not ready");
            }
        });
        State::Listening
    }

    /// Closes the microphone and forgets what was said. Whether it was open.
    pub(super) fn close(&mut self) -> bool {
        let Some(open) = self.open.take() else {
            return false;
        };
        open.waiting.abort();
        self.rest();
        true
    }

    /// A listening came to its end.
    pub(super) fn listened(&mut self, number: u64, heard: Heard) {
        let Some(open) = self.open.take_if(|open| open.number == number) else {
            return;
        };
        if let Heard::Failed(_) = heard {
            // Said each time, because the person has just asked for it.
            self.notices.now(Source::Microphone, Vec::new());
        } else {
            self.noticed(Source::Microphone, Vec::new());
        }
        match heard {
            Heard::Speech(speech) => match open.question {
                Some(id) => {
                    self.rest();
                    self.answered(id, speech);
                }
                None => self.spoken(speech, open.client, open.connection),
            },
            Heard::Nobody => {
                self.mention(words::nothing_heard(), open.client);
                self.rest();
            }
            Heard::Failed(why) => {
                self.noticed(Source::Microphone, vec![why]);
                self.rest();
            }
            Heard::Discarded => self.rest(),
        }
    }

    /// What was said becomes a turn. It belongs to the person, who may have asked for it with a key: it is told by a
    /// notification, and to the client that asked, should it still be there.
    fn spoken(&mut self, speech: Speech, client: u64, connection: Option<Client>) {
        let (reply, _) = oneshot::channel();
        self.ask(Asking {
            text: String::new(),
            wav: None,
            speech: Some(speech),
            yes: false,
            interactive: true,
            notify: true,
            now: None,
            client,
            connection,
            reply,
        });
    }

    /// What was said answers a question, should it be yes or no.
    fn answered(&self, id: u64, speech: Speech) {
        let (stt, limits) = (Arc::clone(&self.engines.stt), self.parts.limits.clone());
        let (questions, events) = (Arc::clone(&self.questions), self.events.clone());
        tokio::spawn(async move {
            match yes_or_no_spoken(&*stt, &limits, &speech).await {
                Some(yes) => _ = lock(&questions).answer(id, yes),
                // The question stays, until its time is over.
                None => _ = events.send(Event::Mention(UNCLEAR.to_owned())).await,
            }
        });
    }

    /// Something that is over as soon as it is said: on the desktop, and to the client that asked.
    fn mention(&mut self, text: String, client: u64) {
        self.notices.desk().say(&text);
        if let Some(signals) = self.clients.get(&client) {
            let _ = signals.try_send(Happening::Noticed { text });
        }
    }

    /// Nobody listens any more: everybody is told what goes on instead.
    fn rest(&self) {
        let state = *lock(&self.state);
        self.tell(&Happening::State { state }, None);
    }

    /// A question is over with its turn, and nobody need answer it any more.
    pub(super) fn no_question(&mut self) {
        if self.open.as_ref().is_some_and(|open| open.question.is_some()) {
            self.close();
        }
    }

    /// What goes on when no turn does.
    pub(super) fn resting(&self) -> State {
        match self.open {
            Some(_) => State::Listening,
            None => State::Idle,
        }
    }
}

async fn yes_or_no_spoken(stt: &dyn Stt, limits: &Limits, speech: &Speech) -> Option<bool> {
    match transcribe(stt, limits, speech).await {
        Ok(transcript) => yes_or_no(&transcript.text),
        Err(error) => {
            tracing::warn!(%error, "an answer was not understood");
            None
        }
    }
}
