//! Written scenarios as recordings: a synthetic voice says what is written, so that the same requests can be heard.
//!
//! It is no person: it never hesitates, mumbles or has an accent, and recognisers make other mistakes with it. What it shows is
//! what recognition costs the rest, and that the way from a recording to the world is whole.

use std::path::Path;

use anyhow::{Context as _, anyhow};
use tools::system::store;

use super::scenario::{Scenario, Words};
use crate::speak::{
    Choice, Settings,
    clip::Maker as _,
    program::{self, Program},
};

/// The voice of espeak-ng that recognisers understand best, and its speed.
const VOICE: &str = "en-us";
const RATE: f32 = 0.85;

/// Scenarios in which everything is said aloud. Its recordings go with it.
pub struct Spoken {
    scenarios: Vec<Scenario>,
    _folder: tempfile::TempDir,
}

impl Spoken {
    /// Says what is written in these scenarios. What is a recording already stays one.
    ///
    /// # Errors
    /// When there is no espeak-ng, or it fails, or the disk is full.
    pub async fn of(scenarios: &[Scenario]) -> anyhow::Result<Spoken> {
        let voice = program::espeak(&Settings {
            choice: Choice::EspeakNg,
            name: VOICE.to_owned(),
            rate: RATE,
            ..Settings::default()
        });
        let folder = tempfile::Builder::new().prefix("tiro-spoken-").tempdir()?;
        let mut scenarios = scenarios.to_vec();
        let turns = scenarios.iter_mut().flat_map(|scenario| &mut scenario.turns);
        for (n, turn) in turns.enumerate() {
            if let Words::Text(text) = &turn.words {
                let file = folder.path().join(format!("{n}.wav"));
                say(&voice, text, &file)
                    .await
                    .with_context(|| format!("\"{text}\" cannot be said"))?;
                turn.words = Words::Wav(file);
            }
        }
        Ok(Spoken {
            scenarios,
            _folder: folder,
        })
    }

    /// The scenarios.
    pub fn scenarios(&self) -> &[Scenario] {
        &self.scenarios
    }
}

async fn say(voice: &Program, text: &str, file: &Path) -> anyhow::Result<()> {
    let made = voice.make(text).await.map_err(|trouble| anyhow!("{trouble}"))?;
    let clip = made.context("espeak-ng made no sound of it")?;
    store::replace(file, clip.wav())?;
    Ok(())
}
