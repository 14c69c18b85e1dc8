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

/// Samples of one position of the encoder.
const STEP: usize = 320;
/// Encoder positions beyond the end of a clip at the first look. The fewer, the more often the decoder does not see that speech ends,
/// and loops; the more, the longer every clip takes.
pub const MARGIN: u32 = 64;
/// ggml multiplies floats in tiles only where a number like this divides the sides of the matrices (16 with AVX-512, less without), and
/// attention has the positions as one of them. Rounded up to it, the encoder looks at up to 15 more, and a recognition takes 260 ms
/// and not 301 (as in `native.cmake`). Where nothing is done in tiles it is only the more.
const TILE: u32 = 16;
/// Encoder positions of the whole window, 30 s.
pub const WHOLE: u32 = 1500;

/// Whether so many samples fill the whole window.
pub fn fills_the_window(samples: usize) -> bool {
    samples >= WHOLE as usize * STEP
}

/// The window to look through for so many samples, in encoder positions, with at least so many beyond their end; 0 where that is the
/// whole one. With it as `audio_ctx` there is no second look, but for clips that nearly fill the whole window.
pub fn window(samples: usize, margin: u32) -> u32 {
    let positions = u32::try_from(samples.div_ceil(STEP)).unwrap_or(u32::MAX);
    let window = positions.saturating_add(margin).checked_next_multiple_of(TILE);
    window.filter(|window| *window < WHOLE).unwrap_or(0)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_holds_the_clip_and_its_margin_and_fits_the_tiles() {
        for (samples, margin, positions) in [
            (0, 64, 64),
            (1, 64, 80),
            (32_000, 256, 368),
            (48_000, 64, 224),
            // 1,424 positions and 64 more are 93 times 16; with one more it would be 1,504.
            (455_680, 64, 1488),
            (455_681, 64, 0),
            (479_999, 0, 0),
            (usize::MAX, u32::MAX, 0),
        ] {
            assert_eq!(window(samples, margin), positions, "{samples} {margin}");
        }
        assert!(fills_the_window(480_000) && !fills_the_window(479_999));
    }
}
