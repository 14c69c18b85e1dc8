//! The recogniser as the daemon sees it.

use std::time::Duration;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use crate::{EngineError, llm::EngineStats};

/// Samples per second that recognisers take.
pub const SAMPLE_RATE: u32 = 16_000;

/// However little was said, its recognition may take so long ...
const RECOGNISING: Duration = Duration::from_secs(10);
/// ... and so many times as long as it: on two busy cores base takes half of it.
const TIMES: f32 = 3.0;

/// How long base may take for so many samples; who needs longer hangs.
pub fn patience(samples: usize) -> Duration {
    RECOGNISING + Duration::from_secs_f32(TIMES * samples as f32 / SAMPLE_RATE as f32)
}

/// Encoder positions a second.
pub const POSITIONS: f32 = 50.0;
/// Encoder positions beyond the end of a clip. The fewer, the more often the decoder does not see that speech ends, and loops; the
/// more, the longer every clip takes.
pub const MARGIN: f32 = 64.0;

/// The window that is looked through first for so many samples, in encoder positions. With it as `audio_ctx` there is no second look,
/// but for clips that nearly fill the whole window.
pub fn window(samples: usize) -> u32 {
    (samples as f32 / SAMPLE_RATE as f32 * POSITIONS + MARGIN).ceil() as u32
}

/// What to recognise.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Transcribe {
    /// Mono, 16 kHz, -1 to 1.
    pub samples: Vec<f32>,
    /// ISO 639-1, or nothing to detect it.
    pub language: Option<String>,
    /// Text to go on from, as the recogniser is to write it. Its echo is dropped.
    pub prompt: Option<String>,
    /// Names to expect. They are written so where something much like them was said, and never echoed. Beside a `prompt` they do nothing.
    pub names: Vec<String>,
    /// Encoder window: `None` trims it to the clip (DESIGN section 8), `Some(0)` is the full 30 s.
    pub audio_ctx: Option<u32>,
}

/// A stretch of recognised speech.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Segment {
    /// Seconds from the start.
    pub start: f32,
    /// Seconds from the start.
    pub end: f32,
    /// What was said.
    pub text: String,
}

/// What was recognised.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Transcript {
    /// The whole text, trimmed.
    pub text: String,
    /// Its parts.
    pub segments: Vec<Segment>,
    /// ISO 639-1.
    pub language: String,
    /// Milliseconds to load the model; 0 when it was loaded.
    pub load_ms: f32,
    /// Milliseconds to recognise.
    pub decode_ms: f32,
    /// Whether the full window had to be used after a doubtful first try.
    pub retried: bool,
}

/// What the engine says of the model it loaded.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct SttInfo {
    /// "tiny.en", "base", ..., by the file's own dimensions.
    pub name: String,
    /// Whether it knows other languages than English.
    pub multilingual: bool,
    /// Bytes of the file.
    pub bytes: u64,
    /// What it runs on.
    pub device: String,
    /// Landlock and the like, for doctor.
    pub sandbox: String,
    /// Version of the binding.
    pub binding: String,
}

/// Gets segments as they come; a name for the same reason as [`crate::llm::OnText`].
pub type OnSegment<'a> = &'a mut (dyn FnMut(&Segment) + Send);

/// A recogniser. Dropping a future that one of these returned cancels the work in the engine.
#[async_trait]
pub trait Stt: Send + Sync {
    /// Loads the model if it is not loaded, and says what it is.
    async fn info(&self) -> Result<SttInfo, EngineError>;

    /// Loads the model where that takes time of its own and was not done yet: how long a recognition takes says something of
    /// the recogniser only without it.
    async fn load(&self) -> Result<(), EngineError> {
        Ok(())
    }

    /// How long so many samples may take once the model is loaded: who needs longer hangs. A recogniser that is somewhere else has
    /// all the time that somebody gives it.
    fn patience(&self, _samples: usize) -> Duration {
        Duration::MAX
    }

    /// Recognises; `on_segment` gets segments as they come.
    async fn transcribe(
        &self,
        request: Transcribe,
        on_segment: OnSegment<'_>,
    ) -> Result<Transcript, EngineError>;

    /// Memory and counters; never starts anything.
    fn stats(&self) -> EngineStats {
        EngineStats::default()
    }
}
