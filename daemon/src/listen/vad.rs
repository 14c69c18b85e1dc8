//! Speech or silence: what stands before the recogniser, which invents words when nothing was said.
//!
//! The constants were chosen on 152 recordings of people (commands, read sentences, single wake words; also 20 dB
//! softer and under kitchen noise down to 0 dB) against that noise alone and synthetic noise, hum and tones: the
//! tests below repeat it.

use std::ops::Range;

use earshot::Detector;

/// Samples of one decision: 16 ms at 16 kHz, as the detector wants it.
pub const FRAME: usize = 256;
/// From this score on a frame may be speech; the detector's own recommendation.
const SPEECH: f32 = 0.5;
/// From this score on it clearly is: noise and tones seldom get there, vowels nearly always.
const CLEAR: f32 = 0.8;
/// Frames of an utterance, 250 ms ...
pub(super) const LEAST: usize = 16;
/// ... of which so many, 160 ms, must be clear ...
pub(super) const LEAST_CLEAR: usize = 10;
/// ... all within so many, half a second: scattered hits are noise.
pub(super) const WINDOW: usize = 31;
/// Loudness (root mean square) above which sound is turned down: loud hum and noise look like speech to the detector.
const LOUD: f32 = 0.05;
/// What is left around the speech, samples: 300 ms, so that soft first and last sounds stay.
pub(super) const PADDING: usize = 4800;

/// The stretch of `samples` (mono, 16 kHz, -1 to 1) from the first to the last speech with some room around it, or
/// nothing when nobody spoke for at least 250 ms.
pub fn speech(samples: &[f32]) -> Option<Range<usize>> {
    let scores = scores(samples);
    let spoken = scores.windows(WINDOW.min(scores.len()).max(1)).any(|window| {
        let at_least = |score| window.iter().filter(|s| **s >= score).count();
        at_least(SPEECH) >= LEAST && at_least(CLEAR) >= LEAST_CLEAR
    });
    if !spoken {
        return None;
    }
    let first = scores.iter().position(|s| *s >= SPEECH)?;
    let last = scores.iter().rposition(|s| *s >= SPEECH)?;
    Some((first * FRAME).saturating_sub(PADDING)..((last + 1) * FRAME + PADDING).min(samples.len()))
}

/// What a frame sounds like.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Sound {
    /// Nobody speaks.
    Silence,
    /// Somebody may speak.
    Speech,
    /// Somebody speaks.
    Clear,
}

/// One frame: what it sounds like, and how loud it is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Frame {
    /// What it sounds like.
    pub sound: Sound,
    /// Its root mean square, 0 to 1.
    pub level: f32,
}

/// What is left after a frame of how loud the loudest were, for an ear that listens all day: half of it after 10 s.
const FADING: f32 = 0.998_891;

/// Hears sound while it comes in, frame by frame.
#[derive(Default)]
pub struct Ear {
    detector: Detector,
    /// The levels of the loudest frames so far, loudest first.
    loudest: [f32; LEAST],
    /// Whether it forgets how loud it was.
    lasting: bool,
    /// What does not fill a frame yet.
    rest: Vec<f32>,
}

impl Ear {
    /// One that listens for hours: after a loud moment it soon hears soft voices again.
    pub fn lasting() -> Ear {
        Ear {
            lasting: true,
            ..Ear::default()
        }
    }

    /// Takes the next samples (mono, 16 kHz, -1 to 1) and tells of each whole frame.
    pub fn hear(&mut self, mut samples: &[f32], mut frame: impl FnMut(Frame)) {
        while self.rest.len() + samples.len() >= FRAME {
            let (now, later) = samples.split_at(FRAME - self.rest.len());
            self.rest.extend_from_slice(now);
            samples = later;
            let level = level(&self.rest);
            if self.lasting {
                self.loudest.iter_mut().for_each(|loud| *loud *= FADING);
            }
            let place = self.loudest.partition_point(|louder| *louder >= level);
            if let Some(from) = self.loudest.get_mut(place..).filter(|from| !from.is_empty()) {
                from.rotate_right(1);
                from[0] = level;
            }
            let score = score(&mut self.detector, &self.rest, gain(self.loudest[LEAST - 1]));
            self.rest.clear();
            let sound = match score {
                score if score >= CLEAR => Sound::Clear,
                score if score >= SPEECH => Sound::Speech,
                _ => Sound::Silence,
            };
            frame(Frame { sound, level });
        }
        self.rest.extend_from_slice(samples);
    }
}

/// How much each frame sounds like speech, 0 to 1.
fn scores(samples: &[f32]) -> Vec<f32> {
    let mut levels: Vec<f32> = samples.chunks(FRAME).map(level).collect();
    levels.sort_unstable_by(|a, b| b.total_cmp(a));
    let gain = gain(levels.get(LEAST - 1).copied().unwrap_or(0.0));
    let mut detector = Detector::default();
    samples
        .chunks(FRAME)
        .map(|part| score(&mut detector, part, gain))
        .collect()
}

/// How far sound is turned down. What is said takes `LEAST` frames, so the level of the loudest but so many counts, and
/// a knock that is louder does not.
fn gain(level: f32) -> f32 {
    if level > LOUD { LOUD / level } else { 1.0 }
}

fn score(detector: &mut Detector, part: &[f32], gain: f32) -> f32 {
    let mut frame = [0.0; FRAME];
    frame
        .iter_mut()
        .zip(part)
        .for_each(|(to, from)| *to = (from * gain).clamp(-1.0, 1.0));
    detector.predict_f32(&frame)
}

/// The root mean square.
pub(super) fn level(frame: &[f32]) -> f32 {
    (frame.iter().map(|s| s * s).sum::<f32>() / frame.len() as f32).sqrt()
}

#[cfg(test)]
mod tests {
    use std::f32::consts::TAU;

    use super::*;
    use crate::listen::{recordings, wav, wavs};

    /// Recordings of people, with what folder they are from.
    fn people() -> Option<Vec<(String, Vec<f32>)>> {
        let folder = recordings()?;
        let read = |path: &std::path::PathBuf| (path.display().to_string(), wav::read(path).unwrap());
        let people: Vec<_> = ["commands", "read", "wake"]
            .iter()
            .flat_map(|f| wavs(&folder.join(f)))
            .collect();
        assert!(people.len() > 150, "only {} recordings", people.len());
        Some(people.iter().map(read).collect())
    }

    fn rms(samples: &[f32]) -> f32 {
        level(samples)
    }

    #[test]
    fn people_are_heard() {
        let Some(people) = people() else { return };
        for (name, samples) in &people {
            let range = speech(samples).unwrap_or_else(|| panic!("nobody speaks in {name}"));
            assert!(range.start < range.end && range.end <= samples.len());
            // What is cut away is much softer than what stays.
            let spoken = rms(&samples[range.clone()]);
            for rest in [&samples[..range.start], &samples[range.end..]] {
                assert!(
                    rest.len() < 8000 || rms(rest) < 0.5 * spoken,
                    "speech was cut away from {name}"
                );
            }
        }
        let soft = people
            .iter()
            .filter(|(_, s)| speech(&s.iter().map(|x| x * 0.1).collect::<Vec<_>>()).is_some());
        let share = soft.count() as f64 / people.len() as f64;
        println!(
            "heard {} recordings, and {share:.3} of them 20 dB softer",
            people.len()
        );
        assert!(share > 0.9, "{share}");
    }

    #[test]
    fn people_are_heard_in_a_noisy_kitchen_and_the_kitchen_alone_is_not() {
        let Some(folder) = recordings() else { return };
        let noise = wav::read(&folder.join("kitchen-noise.wav")).unwrap();
        assert_eq!(speech(&noise), None);
        let pieces: Vec<bool> = noise
            .chunks_exact(8 * 16_000)
            .map(|piece| speech(piece).is_some())
            .collect();
        let alarms = pieces.iter().filter(|p| **p).count();
        println!(
            "{alarms} of {} pieces of 8 s of noise pass for speech",
            pieces.len()
        );
        assert!(alarms * 10 <= pieces.len(), "{alarms} of {}", pieces.len());
        for path in wavs(&folder.join("commands")).iter().step_by(4) {
            let clean = wav::read(path).unwrap();
            let gain = rms(&clean) / rms(&noise[..clean.len()]);
            let noisy: Vec<f32> = clean
                .iter()
                .zip(&noise)
                .map(|(s, n)| (s + gain * n).clamp(-1.0, 1.0))
                .collect();
            assert!(
                speech(&noisy).is_some(),
                "{} is not heard at 0 dB",
                path.display()
            );
        }
    }

    #[test]
    fn silence_noise_and_tones_are_no_speech() {
        #[track_caller]
        fn check(what: &str, wave: impl FnMut(usize) -> f32) {
            let samples: Vec<f32> = (0..80_000).map(wave).collect();
            for gain in [0.001, 0.01, 0.1, 0.5, 1.0f32] {
                let samples: Vec<f32> = samples.iter().map(|s| (s * gain).clamp(-1.0, 1.0)).collect();
                assert_eq!(speech(&samples), None, "{what}, {gain}");
            }
        }
        let mut seed = 1u32;
        let mut random = move || {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (seed >> 8) as f32 / 8_388_608.0 - 1.0
        };
        let angle = |n: usize, hertz: f32| n as f32 / 16_000.0 * hertz * TAU;
        check("silence", |_| 0.0);
        check("white noise", |_| random());
        let mut brown = 0.0;
        check("rumble", |_| {
            brown = 0.99 * brown + 0.1 * random();
            brown
        });
        for hertz in [50.0, 100.0, 220.0, 440.0, 1000.0, 3000.0] {
            check(&format!("a tone of {hertz} Hz"), |n| angle(n, hertz).sin());
            check(&format!("a hum of {hertz} Hz"), |n| {
                (1..10)
                    .map(|h| angle(n, hertz * h as f32).sin() / h as f32)
                    .sum::<f32>()
                    * 0.4
            });
        }
        check("clicks", |n| if n % 8000 < 40 { 1.0 } else { 0.0 });
        check("an offset", |_| 0.7);
    }

    #[test]
    fn any_length_is_fine() {
        for length in [0, 1, 255, 256, 257, 16 * 256] {
            assert_eq!(speech(&vec![0.1; length]), None);
        }
    }
}
