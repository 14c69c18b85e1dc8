//! Whether what sounds like speech is as loud as whoever speaks here: a television, or others in the room, are farther away.
//!
//! Pure and bounded. Levels are mean powers over an eighth of a second, in dB below full scale.

use std::collections::VecDeque;

use super::vad::{Frame, Sound};

/// Frames over which loudness is measured, an eighth of a second: a syllable.
const SYLLABLE: usize = 8;
/// What is softer by so many dB than the loud syllables of whoever speaks is somebody else. Of 60 commands beside a television
/// that is 12 dB softer (`endpoint.rs` repeats it) 7 go on for three seconds and more, and 23 when everybody counts; where it is
/// 18 dB softer none do, and 14 when everybody counts. Nobody is cut off.
const FARTHER: usize = 15;
/// A soft syllable, 0.2 s of frames, is still theirs: only what goes on so softly is not.
const SOFTLY: usize = 12;
/// The loud syllables are those that one in so many is louder than. The loudest of all may be a laugh, or a door.
const LOUDER: u32 = 10;
/// Softest level that is told apart, in dB below full scale.
const SOFTEST: usize = 99;
/// Before so many clear frames, a quarter of a second, nobody knows how loud they are.
const KNOWN: u32 = 16;
/// Who was loud for so many clear frames at most, 0.3 s, and then softer for ...
const BRIEF: u32 = 20;
/// ... more than so many times as long, was not who speaks: the last of what Tiro said, a call to somebody else, or a microphone
/// that only found its volume. A request of one word beside a television is over before that.
const LONGER: u32 = 2;

/// How loud whoever speaks is, from the first sound of an utterance to its last.
#[derive(Debug)]
pub(super) struct Loudness {
    /// Powers of the last frames.
    recent: VecDeque<f32>,
    /// Frames since the last that was loud enough.
    soft: usize,
    /// Clear frames. All of them, so that a shout is soon one in many.
    all: Levels,
    /// Those that were too soft for whoever speaks.
    far: Levels,
    /// Whether what was only loud at first may not have been whoever speaks.
    doubts: bool,
}

/// How many frames there were of each level, in dB below full scale.
#[derive(Debug, Clone)]
struct Levels {
    counts: [u32; SOFTEST + 1],
    sum: u32,
}

impl Loudness {
    /// Nothing was heard yet. Who answers a question says one word, and what goes on after it is a television: with `doubts` off
    /// that is never taken for them.
    pub(super) fn new(doubts: bool) -> Loudness {
        Loudness {
            recent: VecDeque::with_capacity(SYLLABLE),
            soft: 0,
            all: Levels::default(),
            far: Levels::default(),
            doubts,
        }
    }

    /// The next frame. Whether it is loud enough to be of whoever speaks.
    pub(super) fn hear(&mut self, frame: Frame) -> bool {
        if self.recent.len() == SYLLABLE {
            self.recent.pop_front();
        }
        let power = frame.level * frame.level;
        self.recent.push_back(power);
        let syllable = self.recent.iter().sum::<f32>() / self.recent.len() as f32;
        let (known, loud) = (self.all.sum >= KNOWN, self.all.loud());
        let near = |power| !known || decibels(power) <= loud + FARTHER;
        self.soft = if near(syllable) { 0 } else { self.soft + 1 };
        if frame.sound >= Sound::Clear {
            // Each frame by itself: a door is no speech, but whoever speaks after it is.
            self.all.add(power);
            if !near(power) {
                self.far.add(power);
            }
            let near = self.all.sum - self.far.sum;
            if self.doubts && near <= BRIEF && self.far.sum > LONGER * near {
                self.all = std::mem::take(&mut self.far);
            }
        }
        self.soft <= SOFTLY
    }
}

impl Default for Levels {
    fn default() -> Levels {
        Levels {
            counts: [0; SOFTEST + 1],
            sum: 0,
        }
    }
}

impl Levels {
    fn add(&mut self, power: f32) {
        self.counts[decibels(power)] += 1;
        self.sum += 1;
    }

    /// How loud the loud ones are, in dB below full scale.
    fn loud(&self) -> usize {
        let mut louder = self.sum / LOUDER;
        let at = self.counts.iter().position(|count| {
            let here = *count > louder;
            louder = louder.saturating_sub(*count);
            here
        });
        at.unwrap_or(SOFTEST)
    }
}

/// How far below full scale. What is no number and what is louder than full scale are as loud as can be, what is silent as
/// soft.
fn decibels(power: f32) -> usize {
    (-10.0 * power.log10()).clamp(0.0, SOFTEST as f32) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    use Sound::{Clear, Silence};

    /// The loud syllable is still in the mean, and a soft one belongs to it.
    const LAST: usize = SYLLABLE + SOFTLY;

    /// Of these stretches (what they sound like, dB below full scale, frames), the frames that are of whoever speaks.
    fn near(stretches: &[(Sound, f32, usize)]) -> Vec<bool> {
        let mut loudness = Loudness::new(true);
        let frames = stretches
            .iter()
            .flat_map(|(sound, level, frames)| std::iter::repeat_n((*sound, *level), *frames));
        frames
            .map(|(sound, level)| {
                loudness.hear(Frame {
                    sound,
                    level: 10f32.powf(-level / 20.0),
                })
            })
            .collect()
    }

    #[test]
    fn who_is_much_softer_is_somebody_else() {
        let heard = near(&[(Clear, 20.0, 60), (Clear, 38.0, 60)]);
        assert!(heard[..60].iter().all(|near| *near));
        assert!(heard[60 + LAST..].iter().all(|near| !near));
        let softer = near(&[(Clear, 20.0, 60), (Clear, 32.0, 60)]);
        assert!(softer.iter().all(|near| *near), "they only speak more softly");
    }

    #[test]
    fn a_bang_does_not_make_the_person_somebody_else() {
        let heard = near(&[(Clear, 30.0, 60), (Silence, 2.0, 10), (Clear, 30.0, 60)]);
        assert!(heard.iter().all(|near| *near));
    }

    #[test]
    fn a_loud_moment_before_the_person_does_not_make_them_somebody_else() {
        // What was left of Tiro's own voice from the speaker, a laugh.
        let heard = near(&[(Clear, 15.0, 18), (Clear, 35.0, 200)]);
        assert!(heard[18 + SYLLABLE + 36..].iter().all(|near| *near));
        // Half a second is a request of its own, and what goes on softly after it is a television.
        let heard = near(&[(Clear, 15.0, 31), (Clear, 35.0, 150)]);
        assert!(heard[31 + LAST..].iter().all(|near| !near));
        // In the middle of what they say, too: after a quarter of a second they are heard again.
        let heard = near(&[(Clear, 38.0, 60), (Clear, 18.0, 8), (Clear, 38.0, 200)]);
        assert!(heard[68 + SYLLABLE + 16..].iter().all(|near| *near));
    }

    #[test]
    fn one_word_beside_a_television_is_a_whole_answer() {
        let mut loudness = Loudness::new(false);
        let mut hear = |level: f32, frames: usize| {
            let level = 10f32.powf(-level / 20.0);
            let frame = Frame { sound: Clear, level };
            (0..frames).map(|_| loudness.hear(frame)).collect::<Vec<_>>()
        };
        hear(20.0, 18);
        assert!(hear(38.0, 100)[LAST..].iter().all(|near| !near));
    }

    #[test]
    fn who_comes_after_a_television_is_who_speaks() {
        let heard = near(&[(Clear, 45.0, 300), (Clear, 25.0, 60), (Clear, 45.0, 60)]);
        assert!(heard[..360].iter().all(|near| *near));
        assert!(heard[360 + LAST..].iter().all(|near| !near));
    }

    #[test]
    fn any_level_is_fine() {
        for level in [0.0, -0.0, f32::NAN, f32::INFINITY, f32::MIN_POSITIVE, 2.0, -1.0] {
            let mut loudness = Loudness::new(true);
            for _ in 0..100 {
                loudness.hear(Frame { sound: Clear, level });
            }
            assert!(loudness.all.loud() <= SOFTEST);
        }
    }
}
