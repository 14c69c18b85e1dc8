//! What a voice is: it says pieces one after the other, and stops when its future is dropped.
//!
//! A voice is one file with one `impl Voice`; `speak::Speaker` tries several until one speaks.

use std::{
    collections::VecDeque,
    fmt,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use async_trait::async_trait;
use tokio::{
    sync::{mpsc, watch},
    time::Instant,
};

use super::Own;

/// Something that speaks.
#[async_trait]
pub trait Voice: Send + Sync {
    /// What it is called in the config and by `tiro doctor`: "espeak-ng".
    fn name(&self) -> &str;

    /// Whether it could speak now, and through what, as a sentence. Makes no sound and ends within a few seconds.
    ///
    /// # Errors
    /// Why it could not, and what to do.
    async fn there(&self) -> Result<String, Trouble>;

    /// Says what `pieces` gives, in its order, and tells it after each that this was `spoken`. A voice that works ahead may take
    /// the next one before. Dropping the future ends the sound within 300 ms and leaves no process behind. How long a piece
    /// may take is bounded by who calls this; how long nothing may happen before the first sound, by the voice itself.
    ///
    /// # Errors
    /// Why not all was spoken. What was taken and not `spoken` is then said by the next voice.
    async fn say(&self, pieces: &Pieces) -> Result<(), Trouble>;
}

/// Why nothing is spoken. The texts are sentences for the person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Trouble {
    /// It is not installed, or not set up: what to do.
    Absent(String),
    /// It is there and could not speak.
    Failed(String),
    /// It began to speak, and takes far longer than that takes.
    Hangs(String),
    /// The person silenced it by other means, such as the key of their screen reader: nothing is wrong.
    Silenced,
}

impl Trouble {
    /// The same for who wanted to hear something, with what they can do.
    pub fn advice(&self) -> String {
        match self {
            Trouble::Absent(why) => format!("{why} `tiro doctor` shows what there is."),
            trouble => trouble.to_string(),
        }
    }
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Trouble::Absent(text) | Trouble::Failed(text) | Trouble::Hangs(text) => f.write_str(text),
            Trouble::Silenced => f.write_str("It was silenced."),
        }
    }
}

/// What is to be said, sentence by sentence, while it is still being written.
pub struct Pieces {
    inbox: tokio::sync::Mutex<mpsc::UnboundedReceiver<String>>,
    open: Mutex<Open>,
    /// When the oldest piece that a voice has should have been spoken.
    due: watch::Sender<Option<Instant>>,
    /// Who wants to know what is said.
    own: watch::Sender<Own>,
    /// How fast it is spoken; 1 is usual.
    rate: f32,
}

/// What is not spoken yet.
#[derive(Default)]
struct Open {
    pieces: VecDeque<String>,
    /// How many of them a voice has.
    given: usize,
}

impl Open {
    fn has_more(&self) -> bool {
        self.given < self.pieces.len()
    }
}

/// For a voice to begin, and for what it takes whatever the length is.
const BEGINNING: Duration = Duration::from_secs(10);
/// For one character. People and voices say 12 to 15 in a second; numbers take longer than they look.
const CHARACTER: Duration = Duration::from_millis(150);

impl Pieces {
    /// What comes in there. `own` is told each piece that a voice takes.
    pub(super) fn new(inbox: mpsc::UnboundedReceiver<String>, own: watch::Sender<Own>, rate: f32) -> Pieces {
        Pieces {
            inbox: tokio::sync::Mutex::new(inbox),
            open: Mutex::default(),
            due: watch::Sender::new(None),
            own,
            rate,
        }
    }

    /// All of this, for a test of a voice.
    pub fn of(texts: impl IntoIterator<Item = impl Into<String>>) -> Pieces {
        let (send, inbox) = mpsc::unbounded_channel();
        for text in texts {
            // The other end is just below.
            let _ = send.send(text.into());
        }
        Pieces::new(inbox, watch::Sender::default(), 1.0)
    }

    /// The next piece, one line of plain text without any markup; nothing when that was all. Waits for one that is still being
    /// written, and may be dropped meanwhile.
    pub async fn next(&self) -> Option<String> {
        let piece = loop {
            if let Some(piece) = self.give() {
                break piece;
            }
            if !self.any().await {
                return None;
            }
        };
        self.own.send_modify(|own| own.says(&piece));
        Some(piece)
    }

    /// The oldest piece that was taken has been spoken to its end.
    pub fn spoken(&self) {
        let mut open = self.open();
        if open.given == 0 {
            return;
        }
        open.given -= 1;
        open.pieces.pop_front();
        let next = open.pieces.front().filter(|_| open.given > 0);
        self.due.send_replace(next.map(|piece| self.deadline(piece)));
    }

    /// Whether there is, or will be, a piece that no voice has. Waits for it.
    pub(super) async fn any(&self) -> bool {
        let mut inbox = self.inbox.lock().await;
        if self.open().has_more() {
            return true;
        }
        match inbox.recv().await {
            Some(piece) => {
                self.open().pieces.push_back(piece);
                true
            }
            None => false,
        }
    }

    /// The voice gave up: another one gets what it took.
    pub(super) fn again(&self) {
        self.open().given = 0;
        self.due.send_replace(None);
    }

    /// Comes to its end when a piece takes far longer than it should.
    pub(super) async fn overdue(&self) {
        let mut due = self.due.subscribe();
        loop {
            let at = *due.borrow_and_update();
            tokio::select! {
                () = until(at) => return,
                // Its sender is here.
                _ = due.changed() => {}
            }
        }
    }

    fn give(&self) -> Option<String> {
        let mut open = self.open();
        let piece = open.pieces.get(open.given)?.clone();
        open.given += 1;
        if open.given == 1 {
            self.due.send_replace(Some(self.deadline(&piece)));
        }
        Some(piece)
    }

    fn deadline(&self, piece: &str) -> Instant {
        Instant::now() + BEGINNING + (CHARACTER * characters(piece)).div_f32(self.rate.clamp(0.1, 1.0))
    }

    fn open(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How long it takes to say this at most, at the usual rate.
pub fn allowance(piece: &str) -> Duration {
    BEGINNING + CHARACTER * characters(piece)
}

fn characters(piece: &str) -> u32 {
    u32::try_from(piece.chars().count()).unwrap_or(u32::MAX / 1000)
}

async fn until(at: Option<Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at).await,
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_a_voice_did_not_finish_the_next_one_gets() {
        let pieces = Pieces::of(["one", "two", "three"]);
        assert_eq!(pieces.next().await.as_deref(), Some("one"));
        assert_eq!(pieces.next().await.as_deref(), Some("two"), "one may work ahead");
        pieces.spoken();
        pieces.again();
        assert_eq!(pieces.next().await.as_deref(), Some("two"));
        pieces.spoken();
        assert_eq!(pieces.next().await.as_deref(), Some("three"));
        pieces.spoken();
        pieces.spoken();
        assert_eq!(pieces.next().await, None);
        pieces.again();
        assert_eq!(pieces.next().await, None, "what was spoken is not said twice");
    }

    #[tokio::test]
    async fn what_is_said_is_known_as_soon_as_a_voice_has_it() {
        let own = watch::Sender::default();
        let (send, inbox) = mpsc::unbounded_channel();
        let pieces = Pieces::new(inbox, own.clone(), 1.0);
        send.send("You have mail.".to_owned()).unwrap();
        assert!(pieces.any().await);
        assert_eq!(own.borrow().text, "", "no voice has it yet");
        pieces.next().await;
        assert_eq!(own.borrow().text, "You have mail.");
        send.send("It is from Anna.".to_owned()).unwrap();
        pieces.next().await;
        assert_eq!(own.borrow().text, "You have mail. It is from Anna.");
    }

    #[tokio::test]
    async fn time_runs_only_while_a_voice_has_something_to_say() {
        let (send, inbox) = mpsc::unbounded_channel();
        let pieces = Pieces::new(inbox, watch::Sender::default(), 1.0);
        let left = || {
            pieces
                .due
                .borrow()
                .map(|due| due.duration_since(Instant::now()).as_secs())
        };
        assert_eq!(left(), None, "nobody has anything to say");
        for length in [100, 20] {
            send.send("x".repeat(length)).unwrap();
            pieces.next().await;
        }
        assert!((24..=25).contains(&left().unwrap()), "{:?}", left());
        pieces.spoken();
        assert!((12..=13).contains(&left().unwrap()), "{:?}", left());
        let short = Duration::from_millis(50);
        assert!(tokio::time::timeout(short, pieces.overdue()).await.is_err());
        pieces.due.send_replace(Some(Instant::now()));
        pieces.overdue().await;
        pieces.spoken();
        assert_eq!(left(), None);
        assert!(tokio::time::timeout(short, pieces.overdue()).await.is_err());
        // Slow speech has longer.
        let slow = Pieces::new(mpsc::unbounded_channel().1, watch::Sender::default(), 0.5);
        assert!(slow.deadline("x") < slow.deadline("xxxx"));
        assert!(slow.deadline("xxxx") > pieces.deadline("xxxx"));
    }
}
