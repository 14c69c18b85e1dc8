//! Short tones that say without words what the microphone does. Made here, and played by what plays the sound of alarms.

use std::{sync::atomic::Ordering, time::Duration};

use super::Speaker;
use crate::ring::sound;

/// What a tone says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Earcon {
    /// The microphone is open: speak.
    Begins,
    /// It is closed, and something was heard.
    Ends,
    /// It is closed, and nothing comes of it: cancelled, nobody spoke, or it failed.
    Nothing,
}

impl Earcon {
    /// Its notes: when each begins and how long it is, in seconds, and its pitch in hertz. Up is open, down is closed, and twice
    /// the same low one is nothing.
    fn notes(self) -> &'static [(f32, f32, f32)] {
        match self {
            Earcon::Begins => &[(0.0, 0.07, 587.3), (0.07, 0.09, 880.0)],
            Earcon::Ends => &[(0.0, 0.07, 880.0), (0.07, 0.09, 587.3)],
            Earcon::Nothing => &[(0.0, 0.08, 330.0), (0.12, 0.1, 330.0)],
        }
    }

    fn seconds(self) -> f32 {
        let ends = self.notes().iter().map(|(start, length, _)| start + length);
        ends.fold(0.0, f32::max)
    }

    /// The sound as a WAV file.
    fn wav(self, volume: f32) -> Vec<u8> {
        sound::wav(self.seconds(), |time| {
            let notes = self.notes().iter();
            let sum: f32 = notes
                .map(|(start, length, pitch)| sound::tone(*pitch, *length, time - start))
                .sum();
            sum * volume
        })
    }
}

/// Loud enough to be noticed and quiet enough to be liked, beside speech at full volume.
const LOUDNESS: f32 = 0.25;
/// Tones that may sound at once; a key that is pressed in a rage makes no noise.
const MOST: usize = 2;

impl Speaker {
    /// Sounds a tone if that is wanted, and returns at once: nobody waits for it, and a machine without sound is silent.
    pub fn earcon(&self, earcon: Earcon) {
        let settings = self.settings();
        if !settings.earcons {
            return;
        }
        let inner = std::sync::Arc::clone(&self.0);
        if inner.sounding.fetch_add(1, Ordering::AcqRel) >= MOST {
            inner.sounding.fetch_sub(1, Ordering::AcqRel);
            return;
        }
        let wav = earcon.wav(LOUDNESS * settings.volume);
        let length = Duration::from_secs_f32(earcon.seconds());
        tokio::spawn(async move {
            if let Err(silent) = sound::play_wav(wav, length, inner.settings.speaker.as_deref()).await {
                tracing::debug!(%silent, "no earcon");
            }
            inner.sounding.fetch_sub(1, Ordering::AcqRel);
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_short_soft_and_unlike_the_others() {
        let all = [Earcon::Begins, Earcon::Ends, Earcon::Nothing].map(|earcon| earcon.wav(LOUDNESS));
        for (n, wav) in all.iter().enumerate() {
            let reader = hound::WavReader::new(&wav[..]).unwrap();
            let samples: Vec<i16> = reader.into_samples().map(Result::unwrap).collect();
            assert!((1600..4800).contains(&samples.len()), "{}", samples.len());
            let peak = samples.iter().map(|s| s.unsigned_abs()).max().unwrap();
            assert!((4000..9000).contains(&peak), "{peak}");
            assert_eq!(samples[0], 0, "it does not click");
            assert!(all[..n].iter().all(|other| other != wav));
        }
    }

    #[tokio::test]
    async fn where_none_is_wanted_none_is_made() {
        let speaker = Speaker::off();
        speaker.earcon(Earcon::Begins);
        assert_eq!(speaker.0.sounding.load(Ordering::Acquire), 0);
    }
}
