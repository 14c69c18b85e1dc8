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
const POSITIONS: f32 = 50.0;
/// Encoder positions beyond the end of a clip at the first look. The fewer, the more often the decoder does not see that speech ends, and loops; the
/// more, the longer every clip takes.
pub const MARGIN: u32 = 64;
/// ggml multiplies matrices in tiles only where so many divide their sides, and attention has the positions as one of them. Rounded
/// up to it, the encoder looks at a little more and is done a sixth sooner.
const TILE: u32 = 16;
/// Encoder positions of the whole window, 30 s.
pub const WHOLE: u32 = 1500;

/// The window to look through for so many samples, in encoder positions, with so many beyond their end; 0 where that is the whole
/// one. With it as `audio_ctx` there is no second look, but for clips that nearly fill the whole window.
pub fn window(samples: usize, margin: u32) -> u32 {
    let positions = (samples as f32 / SAMPLE_RATE as f32 * POSITIONS).ceil() as u32;
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
        for samples in (1..480_000).step_by(777) {
            for margin in [0, MARGIN, 256] {
                let (window, positions) = (window(samples, margin), samples as f32 / 320.0);
                if window == 0 {
                    assert!(positions as u32 + margin + TILE >= WHOLE, "{samples} {margin}");
                    continue;
                }
                assert_eq!(window % TILE, 0, "{samples} {margin}");
                let beyond = window as f32 - positions - margin as f32;
                assert!(
                    (0.0..=TILE as f32).contains(&beyond),
                    "{samples} {margin} {beyond}"
                );
            }
        }
        assert_eq!(window(usize::MAX, u32::MAX), 0);
    }
}
