//! Where an utterance comes from: typed, or recorded and brought to mono 16 kHz.

pub mod hearing;
pub mod early;
pub mod standing;
mod loudness;
mod pace;
mod stream;
pub mod capture;
pub mod pipe;
#[cfg(target_os = "linux")]
mod cookie;
pub mod endpoint;
pub mod vad;
pub mod wake;
pub mod wav;
pub mod resample;

use std::{path::PathBuf, sync::Arc};

use anyhow::Context as _;
use models::stt::Transcript;

/// One thing that the person said.
#[derive(Debug, Clone)]
pub enum Utterance {
    /// Typed.
    Text(String),
    /// Spoken.
    Speech(Speech),
}

/// Recorded speech.
#[derive(Debug, Clone, PartialEq)]
pub struct Speech {
    /// Mono, 16 kHz, -1 to 1.
    pub samples: Vec<f32>,
    /// What was said, where it was recognised while the person still spoke.
    pub transcript: Option<Transcript>,
    /// The phrases of which one comes first, where it was not recognised yet.
    pub after: Option<Arc<wake::Phrases>>,
}

impl Utterance {
    /// Reads a recording without blocking the runtime.
    ///
    /// # Errors
    /// What is wrong with the file, and what to do.
    pub async fn read_wav(path: PathBuf) -> anyhow::Result<Utterance> {
        let samples = tokio::task::spawn_blocking(move || wav::read(&path))
            .await
            .context("reading audio failed")??;
        Ok(Utterance::Speech(Speech {
            samples,
            transcript: None,
            after: None,
        }))
    }
}

impl Speech {
    /// Length in seconds.
    pub fn seconds(&self) -> f32 {
        self.samples.len() as f32 / models::stt::SAMPLE_RATE as f32
    }

    /// The part in which somebody speaks; `None` when nobody does, because a recogniser invents speech in silence.
    pub fn voiced(&self) -> Option<&[f32]> {
        vad::speech(&self.samples).map(|range| &self.samples[range])
    }
}

/// Where the recordings of the evaluation data are; says so when they are not there, and fails where `TIRO_DATA` names a folder.
#[cfg(test)]
pub(crate) fn recordings() -> Option<PathBuf> {
    let named = std::env::var_os("TIRO_DATA").map(PathBuf::from);
    let required = named.is_some();
    let beside = || PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../shared/data"));
    let folder = named.unwrap_or_else(beside).join("speech");
    if folder.is_dir() {
        return Some(folder);
    }
    assert!(!required, "TIRO_DATA has no {}", folder.display());
    eprintln!(
        "SKIPPED: there are no recordings in {}; set TIRO_DATA.",
        folder.display()
    );
    None
}

/// Every WAV below a folder, whatever its name, in order.
#[cfg(test)]
pub(crate) fn wavs(folder: &std::path::Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder)
        .expect("the folder can be read")
        .flatten()
    {
        let path = entry.path();
        if path.is_dir() {
            found.extend(wavs(&path));
        } else if path.extension().is_some_and(|e| e == "wav" || e == "riff") {
            found.push(path);
        }
    }
    found.sort();
    found
}
