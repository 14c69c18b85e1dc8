//! Text becomes speech: the first voice that is there says it, sentence by sentence, and stops when nobody wants it any more.
//!
//! `aloud` words it as people say it and `sentences` cuts it, both pure; a `voice` sounds it. Voices are tried in their order,
//! and one that fails leaves the rest of the text to the next. Nothing in here decides what is said: the loop does.

pub mod voice;
pub mod sentences;
pub mod aloud;
pub mod dispatcher;
pub mod clip;
pub mod program;
pub mod earcon;
pub mod duck;

use std::{
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError, atomic::AtomicUsize},
    time::{Duration, Instant},
};

use tokio::sync::{mpsc, watch};

use crate::wyoming::{RemoteVoice, VoiceServer};
use aloud::Shown;
pub use voice::{Pieces, Trouble, Voice};

/// How Tiro speaks.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// Which voice.
    pub choice: Choice,
    /// Whether typed requests are answered aloud, too.
    pub always: bool,
    /// The voice's own name for one of its speakers; empty leaves it to the voice.
    pub name: String,
    /// 1 is usual, 2 is twice as fast.
    pub rate: f32,
    /// 0 to 1.
    pub volume: f32,
    /// A program that speaks what it reads, and its arguments; or what is wrong with it.
    pub command: Result<Vec<String>, String>,
    /// A voice on another machine; or why there is none.
    pub server: Result<RemoteVoice, String>,
    /// Whether there are short tones when listening begins and ends.
    pub earcons: bool,
    /// What is left of the volume of media players meanwhile; 1 leaves them alone.
    pub duck: f32,
    /// The socket of speech-dispatcher, where it is not the one of the environment; such a one is not started by us.
    pub socket: Option<PathBuf>,
    /// The PulseAudio server to play on, where it is not the one of the environment.
    pub speaker: Option<String>,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            choice: Choice::Auto,
            always: false,
            name: String::new(),
            rate: 1.0,
            volume: 1.0,
            command: Ok(Vec::new()),
            server: Err("No voice on a server is wanted (speech.voice).".to_owned()),
            earcons: true,
            duck: 0.3,
            socket: None,
            speaker: None,
        }
    }
}

/// Which voice speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the words of the config, explained there")]
pub enum Choice {
    Auto,
    SpeechDispatcher,
    EspeakNg,
    Say,
    Command,
    Wyoming,
    Off,
}

/// What Tiro says itself: for whoever listens, so that its own words are neither a request nor an answer nor its name.
#[derive(Debug, Clone, Default)]
pub struct Own {
    /// Whether it speaks now.
    pub speaking: bool,
    /// What was said since it last began to, or the end of that; the last words may still be to come.
    pub text: String,
    /// What was said before that, and when each of these ended: what was heard meanwhile may still be judged.
    before: Vec<(String, Instant)>,
    /// When it last began or ended. A room echoes for a moment, and a sound server plays out what it has.
    pub changed: Option<Instant>,
}

impl Own {
    /// What it says, or said no longer ago than this.
    pub fn lately(&self, ago: Duration) -> Option<String> {
        let near = |ended: &Instant| ended.elapsed() < ago;
        let now = self.speaking || self.changed.as_ref().is_some_and(near);
        let before = self.before.iter().filter(|(_, ended)| near(ended));
        let texts = before.map(|(text, _)| text).chain(now.then_some(&self.text));
        let texts: Vec<&str> = texts
            .map(String::as_str)
            .filter(|text| !text.is_empty())
            .collect();
        (!texts.is_empty()).then(|| texts.join(" "))
    }

    /// It begins to say something else.
    fn begins(&mut self) {
        let text = std::mem::take(&mut self.text);
        if let Some(ended) = self.changed.filter(|_| !text.is_empty()) {
            self.before.push((text, ended));
        }
        self.before.retain(|(_, ended)| ended.elapsed() < JUDGED);
        while self.before.iter().map(|(text, _)| text.len()).sum::<usize>() > AUDIBLE {
            self.before.remove(0);
        }
        self.speaking = true;
        self.changed = Some(Instant::now());
    }

    fn says(&mut self, piece: &str) {
        if !self.text.is_empty() {
            self.text.push(' ');
        }
        self.text.push_str(piece);
        let surplus = self.text.len().saturating_sub(AUDIBLE);
        self.text.drain(..self.text.ceil_char_boundary(surplus));
    }
}

/// What was said ended so long ago that nothing which was heard meanwhile is judged any more: a clip is at most 6 s old when the
/// recogniser may have it (`listen::wake::watch`), and two that take their 5 s may come first.
const JUDGED: Duration = Duration::from_secs(16);
/// What is remembered of a text, in bytes: what is said in three minutes, and a voice is told no more than a few sentences before
/// they sound.
const AUDIBLE: usize = 3000;

/// Longest that is said at once, in characters: an hour and a half. What is longer is cut.
const LONGEST: usize = 100_000;
/// A voice that failed is tried last for so long: it would only fail again, and that takes time.
const REST: Duration = Duration::from_secs(60);

/// Said where there is no voice at all.
const NO_VOICE: &str =
    "I have no voice here. Install speech-dispatcher with its espeak-ng module, or espeak-ng alone.";

/// Speaks; cheap to clone. One text at a time: another one waits for its end.
#[derive(Clone)]
pub struct Speaker(Arc<Inner>);

struct Inner {
    settings: Settings,
    voices: Vec<Arc<dyn Voice>>,
    /// When each last failed.
    failed: Mutex<Vec<Option<Instant>>>,
    own: watch::Sender<Own>,
    turn: tokio::sync::Mutex<()>,
    /// How many earcons sound; more than one would be noise.
    sounding: AtomicUsize,
}

impl Speaker {
    /// The voices that the settings ask for.
    pub fn of(settings: Settings) -> Speaker {
        let voices = voices(&settings);
        Speaker::with(settings, voices)
    }

    /// Nobody: what is to be said is not.
    pub fn off() -> Speaker {
        Speaker::of(Settings {
            choice: Choice::Off,
            earcons: false,
            duck: 1.0,
            ..Settings::default()
        })
    }

    /// These voices, the first one that speaks.
    pub fn with(settings: Settings, voices: Vec<Arc<dyn Voice>>) -> Speaker {
        Speaker(Arc::new(Inner {
            failed: Mutex::new(vec![None; voices.len()]),
            settings,
            voices,
            own: watch::Sender::default(),
            turn: tokio::sync::Mutex::default(),
            sounding: AtomicUsize::new(0),
        }))
    }

    /// How it speaks.
    pub fn settings(&self) -> &Settings {
        &self.0.settings
    }

    /// Whether there is anybody to speak.
    pub fn is_off(&self) -> bool {
        self.0.voices.is_empty()
    }

    /// Whether it speaks now.
    pub fn speaking(&self) -> bool {
        self.0.own.borrow().speaking
    }

    /// What it says, from now on.
    pub fn own(&self) -> watch::Receiver<Own> {
        self.0.own.subscribe()
    }

    /// The voices, the likeliest first.
    pub fn voices(&self) -> &[Arc<dyn Voice>] {
        &self.0.voices
    }

    /// Says a text that is there, as people say it. Ends when it has been spoken; dropping the future stops the sound at once.
    ///
    /// # Errors
    /// Why it was not, or not all of it. Without a voice that is wanted nothing is wrong.
    pub async fn say(&self, text: &str) -> Result<(), Trouble> {
        self.spoken(&aloud::aloud(text, LONGEST)).await
    }

    /// The same for an answer, of which only so much is said as anybody listens to.
    ///
    /// # Errors
    /// As [`Speaker::say`].
    pub async fn answer(&self, text: &str) -> Result<(), Trouble> {
        self.spoken(&aloud::answer(text)).await
    }

    /// Waits until nothing is said any more; bounded, because what speaks was stopped.
    pub async fn silent(&self) {
        let turn = self.0.turn.lock();
        if tokio::time::timeout(Duration::from_secs(1), turn).await.is_err() {
            tracing::warn!("a voice does not stop");
        }
    }

    async fn spoken(&self, text: &str) -> Result<(), Trouble> {
        let (send, inbox) = mpsc::unbounded_channel();
        for piece in sentences::split(text) {
            // The other end is just above.
            let _ = send.send(piece);
        }
        drop(send);
        self.utter(inbox).await
    }

    /// Begins to say an answer that is still being written. The future ends when all was spoken that was said to the `Writing`
    /// before that was dropped; dropping the future stops the sound at once.
    pub fn begin(&self) -> (Writing, impl Future<Output = Result<(), Trouble>> + Send + use<>) {
        let (pieces, inbox) = mpsc::unbounded_channel();
        let writing = Writing {
            pieces,
            shown: Shown::default(),
        };
        let speaker = self.clone();
        (writing, async move { speaker.utter(inbox).await })
    }

    async fn utter(&self, inbox: mpsc::UnboundedReceiver<String>) -> Result<(), Trouble> {
        let inner = &self.0;
        if self.is_off() {
            return Ok(());
        }
        let _turn = inner.turn.lock().await;
        let pieces = Pieces::new(inbox, inner.own.clone(), inner.settings.rate);
        if !pieces.any().await {
            return Ok(());
        }
        let _speaks = Speaks::now(&inner.own);
        let mut last = None;
        for n in self.order() {
            let voice = &inner.voices[n];
            let outcome = tokio::select! {
                outcome = voice.say(&pieces) => outcome,
                () = pieces.overdue() => Err(Trouble::Hangs(format!("The voice {} does not come to an end.", voice.name()))),
            };
            match outcome {
                Ok(()) | Err(Trouble::Silenced) => {
                    self.fared(n, true);
                    return Ok(());
                }
                Err(trouble) => {
                    tracing::info!(voice = voice.name(), %trouble, "a voice could not speak");
                    self.fared(n, false);
                    pieces.again();
                    match (trouble, &last) {
                        // Whatever it still had to say, nobody waits for it any more.
                        (hangs @ Trouble::Hangs(_), _) => return Err(hangs),
                        // That one is not installed is worth less than why another one could not speak.
                        (Trouble::Absent(_), Some(Trouble::Failed(_))) => {}
                        (trouble, _) => last = Some(trouble),
                    }
                }
            }
        }
        Err(match last {
            Some(Trouble::Absent(_)) | None if inner.voices.len() > 1 => Trouble::Absent(NO_VOICE.to_owned()),
            Some(trouble) => trouble,
            None => Trouble::Absent(NO_VOICE.to_owned()),
        })
    }

    /// The voices by number: those that failed just now come last.
    fn order(&self) -> Vec<usize> {
        let failed = self.0.failed.lock().unwrap_or_else(PoisonError::into_inner);
        let rests = |n: &usize| failed[*n].is_some_and(|at| at.elapsed() < REST);
        let (last, first): (Vec<usize>, Vec<usize>) = (0..failed.len()).partition(rests);
        [first, last].concat()
    }

    fn fared(&self, n: usize, well: bool) {
        let mut failed = self.0.failed.lock().unwrap_or_else(PoisonError::into_inner);
        failed[n] = (!well).then(Instant::now);
    }
}

/// An answer that is being written, and said meanwhile. Dropping it says that this was all.
pub struct Writing {
    pieces: mpsc::UnboundedSender<String>,
    shown: Shown,
}

impl Writing {
    /// The next sentences of it, which are whole. As with one that is said at once, the end of a long answer is only shown.
    pub fn say(&mut self, text: &str) {
        for piece in aloud::sentences(text, &mut self.shown) {
            // Nobody may want it any more.
            let _ = self.pieces.send(piece);
        }
    }
}

/// Tiro speaks as long as this is there.
struct Speaks<'a>(&'a watch::Sender<Own>);

impl Speaks<'_> {
    fn now(own: &watch::Sender<Own>) -> Speaks<'_> {
        own.send_modify(Own::begins);
        Speaks(own)
    }
}

impl Drop for Speaks<'_> {
    fn drop(&mut self) {
        self.0.send_modify(|own| {
            own.speaking = false;
            own.changed = Some(Instant::now());
        });
    }
}

/// The voices that these settings ask for, the likeliest first.
fn voices(settings: &Settings) -> Vec<Arc<dyn Voice>> {
    let dispatcher = || -> Arc<dyn Voice> { Arc::new(dispatcher::Dispatcher::of(settings)) };
    let program = |voice: program::Program| -> Arc<dyn Voice> { Arc::new(voice) };
    match settings.choice {
        Choice::Off => Vec::new(),
        Choice::SpeechDispatcher => vec![dispatcher()],
        Choice::EspeakNg => vec![program(program::espeak(settings))],
        Choice::Say => vec![program(program::say(settings))],
        Choice::Command => vec![program(program::command(settings))],
        // A server may be off when Tiro has something to say.
        Choice::Wyoming => {
            let own = voices(&Settings {
                choice: Choice::Auto,
                // What it is called there it is not called here.
                name: String::new(),
                ..settings.clone()
            });
            let server: Arc<dyn Voice> = Arc::new(VoiceServer::of(settings));
            [vec![server], own].concat()
        }
        Choice::Auto => {
            let given = settings.command.as_ref().map_or(true, |words| !words.is_empty());
            let command = given.then(|| program(program::command(settings)));
            let own = match cfg!(target_os = "macos") {
                true => program(program::say(settings)),
                false => dispatcher(),
            };
            let espeak = program(program::espeak(settings));
            command.into_iter().chain([own, espeak]).collect()
        }
    }
}

#[cfg(test)]
mod tests;
