//! The turn as the client that asked sees it: its happenings become signals, its questions wait for an answer.

use std::{
    collections::hash_map::RandomState,
    hash::BuildHasher as _,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use async_trait::async_trait;
use prompts::words;
use tokio::sync::{mpsc, oneshot, watch};

use super::{desktop_front::DesktopFront, listening::Told, making_way::Way, speaking::Mouth};
use crate::{
    consent::Question,
    reply::{Confirmation, Front, Happening, State},
    run::Event,
};

/// A client on the bus.
pub struct BusFront {
    /// What happens, for the task that signals it.
    pub signals: mpsc::UnboundedSender<Happening>,
    /// Where an answer comes in.
    pub questions: Arc<Mutex<Questions>>,
    /// Where the turn is; its own, so that what is left of an aborted turn says nothing about the next one.
    pub state: Arc<Mutex<State>>,
    /// Who asked, and the loop that tells the others where the turn is.
    pub entered: (u64, mpsc::Sender<Event>),
    /// Whether the answer was told.
    pub told: Arc<Told>,
    /// How it gives way to the person, if it is a guest's.
    pub way: Option<Way>,
    /// Every question is answered with yes.
    pub yes: bool,
    /// The client answers questions.
    pub interactive: bool,
    /// The desktop, where the person is asked too.
    pub desktop: Option<DesktopFront>,
    /// The program that asked, if it does not stand for the person.
    pub guest: Option<String>,
    /// Whether nobody can answer by speaking now.
    pub muted: Arc<AtomicBool>,
    /// Says questions and the answer aloud.
    pub mouth: Option<Mouth>,
}

/// The question that is open, if there is one, whoever started the turn that asks it.
pub struct Questions {
    /// Id of the last question; they count up.
    last: u64,
    open: Option<Open>,
    /// How many answers are being spoken, or made out.
    spoken: watch::Sender<usize>,
}

/// An answer is being spoken as long as this is there.
pub struct Speaking(watch::Sender<usize>);

impl Drop for Speaking {
    fn drop(&mut self) {
        self.0.send_modify(|spoken| *spoken = spoken.saturating_sub(1));
    }
}

struct Open {
    question: Question,
    tell: oneshot::Sender<Confirmation>,
}

impl Default for Questions {
    /// The ids begin anywhere: a question of the daemon before this one may still stand somewhere, and a yes to it must not
    /// be a yes to one of these. They are short enough to be typed.
    fn default() -> Questions {
        Questions {
            last: 10_000 + RandomState::new().hash_one(0) % 80_000,
            open: None,
            spoken: watch::Sender::default(),
        }
    }
}

impl Questions {
    /// Answers the open question, and says whether it was that one; an answer to any other one comes too late and is
    /// ignored.
    pub fn answer(&mut self, id: u64, answer: Confirmation) -> bool {
        if id != self.last {
            return false;
        }
        self.open
            .take()
            .is_some_and(|open| open.tell.send(answer).is_ok())
    }

    /// The open question and its id.
    pub fn open(&self) -> Option<(u64, &Question)> {
        self.open.as_ref().map(|open| (self.last, &open.question))
    }

    /// Somebody begins to speak the answer.
    pub fn speak(&self) -> Speaking {
        self.spoken.send_modify(|spoken| *spoken += 1);
        Speaking(self.spoken.clone())
    }

    /// Opens a question.
    pub fn ask(&mut self, question: &Question) -> (u64, oneshot::Receiver<Confirmation>) {
        let (tell, told) = oneshot::channel();
        self.last += 1;
        self.open = Some(Open {
            question: question.clone(),
            tell,
        });
        (self.last, told)
    }
}

#[async_trait]
impl Front for BusFront {
    fn show(&mut self, happening: &Happening) {
        if matches!(happening, Happening::Replied { .. }) && !self.told.tell() {
            return;
        }
        if let Some(way) = &self.way
            && begins(happening)
        {
            way.begin();
        }
        if let Happening::State { state } = happening {
            *lock(&self.state) = *state;
            let (client, events) = &self.entered;
            let entered = Event::Entered {
                client: *client,
                state: *state,
            };
            // A loop that has no room now has more to do than to tell this.
            let _ = events.try_send(entered);
        }
        match (happening, &mut self.mouth) {
            (Happening::Saying { text }, Some(mouth)) => mouth.begin(text),
            (Happening::Replied { text }, Some(mouth)) => mouth.answer(text),
            _ => {}
        }
        // Fails only when the client does not read its signals, and then nobody looks.
        let _ = self.signals.send(happening.clone());
    }

    fn is_for_guest(&self) -> bool {
        self.guest.is_some()
    }

    fn speaks(&self) -> bool {
        self.mouth.is_some()
    }

    fn speaking(&self) -> watch::Receiver<usize> {
        lock(&self.questions).spoken.subscribe()
    }

    async fn confirm(&mut self, question: &Question) -> Confirmation {
        if self.yes {
            return Confirmation::Yes;
        }
        if !self.interactive && self.desktop.is_none() {
            return Confirmation::Nobody;
        }
        let mut question = question.clone();
        if let Some(program) = &self.guest {
            // Before all else, because the person did not ask for it.
            question.because.insert(0, words::asked_by(program));
        }
        // Before it is open, so that nobody is listened to before it has been put.
        let coming = self.mouth.as_ref().map(Mouth::coming);
        let (id, told) = lock(&self.questions).ask(&question);
        let _closing = Closing(Arc::clone(&self.questions));
        self.show(&Happening::State {
            state: State::Confirming,
        });
        if self.interactive {
            self.show(&Happening::Asked {
                id,
                question: question.clone(),
            });
        }
        if let (Some(mouth), Some(coming)) = (&mut self.mouth, coming) {
            mouth.ask(id, &question, coming);
        }
        let _on_the_desktop = self.desktop.as_ref().map(|desktop| {
            desktop.ask(
                id,
                &question,
                !self.muted.load(Ordering::Relaxed),
                self.guest.is_some(),
            )
        });
        let answer = told.await.unwrap_or(Confirmation::No);
        // Whoever agreed is not asked again.
        if let (Some(way), Confirmation::Yes | Confirmation::Change(_)) = (&self.way, &answer) {
            way.begin();
        }
        answer
    }
}

/// Whether a turn in which this happens is not begun a second time.
fn begins(happening: &Happening) -> bool {
    match happening {
        // What only reads is dropped with the turn, and read again.
        Happening::Acting { tool, .. } => {
            tools::find(tool).is_none_or(|entry| entry.effect != tools::Effect::Read)
        }
        Happening::Saying { .. } | Happening::Replied { .. } => true,
        _ => false,
    }
}

/// Closes the question when nobody waits for its answer any more.
struct Closing(Arc<Mutex<Questions>>);

impl Drop for Closing {
    fn drop(&mut self) {
        lock(&self.0).open = None;
    }
}

/// A lock that a panic elsewhere does not poison for the daemon: what it guards is plain data.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_questions_of_two_daemons_have_other_numbers() {
        let question = Question {
            tool: "mail.send".into(),
            action: "Send it.".into(),
            because: Vec::new(),
        };
        let first: std::collections::BTreeSet<u64> =
            (0..8).map(|_| Questions::default().ask(&question).0).collect();
        assert!(first.len() > 1, "{first:?}");
        assert!(first.iter().all(|id| (10_001..=90_000).contains(id)), "{first:?}");
        let mut questions = Questions::default();
        let (one, _) = questions.ask(&question);
        let (two, told) = questions.ask(&question);
        assert_eq!(two, one + 1);
        assert!(!questions.answer(one, Confirmation::Yes) && questions.answer(two, Confirmation::Yes));
        assert_eq!(told.blocking_recv(), Ok(Confirmation::Yes));
    }
}
