//! Which stretches of what the microphone delivers may begin with a wake phrase: speech that begins after a pause, or that is
//! much louder than the speech before it, as that of somebody who calls while a television talks, or while Tiro does.
//!
//! Pure and bounded: samples go in, at any hour of the day and in blocks of any size, and now and then a clip of two or
//! three seconds comes out, while Tiro speaks of one, too. Nothing older than the ring is kept anywhere.

use std::{collections::VecDeque, time::Duration};

use models::stt::SAMPLE_RATE;

use crate::listen::vad::{Ear, FRAME, Frame, LEAST, LEAST_CLEAR, Sound, WINDOW};

/// What is kept before the first sound of speech, samples: half a second, so that a soft first sound is in the clip.
pub const PRE_ROLL: usize = SAMPLE_RATE as usize / 2;
/// A clip ends so many frames after speech began, 1.8 s, when nobody pauses before: a phrase of a few words is over by
/// then, and what follows helps the recogniser.
const LOOK: u64 = 112;
/// While Tiro speaks a clip comes out after so many frames, 1 s, as well, because then nobody pauses: its own voice goes on. Whoever
/// interrupts it wants silence, and a phrase of three syllables is over by then; the whole clip follows for longer ones.
const EARLY: u64 = 62;
/// After so many frames more the whole clip is near enough.
const LATE: u64 = 70;
/// A pause of so many frames, 0.3 s, ends a stretch of speech.
const PAUSE: u64 = 19;
/// Of so many frames, an eighth of a second ...
const RECENT: usize = 8;
/// ... so many must be speech for it to go on: single hits in noise do not.
const ENOUGH: usize = 4;
/// Over so many frames, an eighth of a second, what is said now ...
const NOW: usize = 8;
/// ... is compared with so many before it, a second and a half ...
const BEFORE: usize = 94;
/// ... or, while Tiro speaks, with what was said since speech began, which must be so many, 0.4 s: less of a voice says little of
/// how loud it is ...
const ENOUGH_BEFORE: usize = 25;
/// ... and whoever has so many times their power, 8 dB more, is somebody else. With 6 dB one or two fewer of 20 who called over a
/// television were heard (`tests/src/wake.rs`), because more clips of it were in the way.
const LOUDER: f32 = 6.3;
/// What is kept before such a louder sound, frames: what was said before it is what others say.
const BRIEF_ROLL: u64 = 10;
/// What the ring holds, samples: 6 s in whole frames, which is a clip and the longest time that it may have to wait.
pub const KEPT: usize = 375 * FRAME;
/// Clips that may come out at once, whole ones and early ones each ...
const BURST: f64 = 6.0;
/// ... and one more each time so many frames went by, 4 s: who talks all day, or lets a radio do it, costs no more than
/// fifteen recognitions a minute.
const EVERY: f64 = 250.0;

/// Speech that begins after a pause: the first seconds of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Candidate {
    /// Where the clip begins, samples since the watch began.
    pub at: u64,
    /// Where speech begins in it, samples from the beginning of the clip.
    pub onset: usize,
    /// Mono, 16 kHz, -1 to 1.
    pub samples: Vec<f32>,
    /// Whether more of it follows in a clip that is whole.
    pub early: bool,
}

impl Candidate {
    /// Where the clip ends, samples since the watch began.
    pub fn end(&self) -> u64 {
        self.at + self.samples.len() as u64
    }
}

/// Listens for speech that begins after a pause.
pub struct Watch {
    ear: Ear,
    /// What does not fill a frame yet.
    rest: Vec<f32>,
    /// The last seconds.
    ring: VecDeque<f32>,
    /// Frames so far.
    frames: u64,
    /// What the last frames sounded like.
    window: VecDeque<Sound>,
    /// Powers of the last frames.
    powers: VecDeque<f32>,
    /// The last frame in which somebody still spoke.
    last: u64,
    /// Since which frame somebody speaks, if anybody does.
    since: Option<u64>,
    /// Clips that are not complete yet, the oldest first. Few, because a louder voice takes `ENOUGH_BEFORE` to follow another.
    begun: VecDeque<Span>,
    /// Complete ones that wait until they may come out.
    waits: VecDeque<Span>,
    /// How many may come out now, and how many early ones, which take nothing of what whole ones are allowed.
    allowed: f64,
    early: f64,
    /// Until this frame nothing comes out.
    deaf: u64,
    /// Whether Tiro speaks now.
    over_own: bool,
    /// Clips that were not looked at because there were too many.
    dropped: u64,
}

/// Frames of a clip.
#[derive(Debug, Clone, Copy)]
struct Span {
    from: u64,
    onset: u64,
    to: u64,
    /// Whether its voice is louder than the one before.
    louder: bool,
    /// Whether its beginning came out already.
    early: bool,
}

impl Span {
    fn new(from: u64, onset: u64, louder: bool) -> Span {
        Span {
            from,
            onset,
            to: onset + LOOK,
            louder,
            early: false,
        }
    }
}

impl Default for Watch {
    fn default() -> Watch {
        Watch {
            ear: Ear::lasting(),
            rest: Vec::with_capacity(FRAME),
            ring: VecDeque::with_capacity(KEPT + FRAME),
            frames: 0,
            window: VecDeque::with_capacity(WINDOW),
            powers: VecDeque::with_capacity(BEFORE + NOW),
            last: 0,
            since: None,
            begun: VecDeque::new(),
            waits: VecDeque::new(),
            allowed: BURST,
            early: BURST,
            deaf: 0,
            over_own: false,
            dropped: 0,
        }
    }
}

impl Watch {
    /// Takes the next samples (mono, 16 kHz, -1 to 1) and hands out each clip that may begin with a phrase.
    pub fn hear(&mut self, mut samples: &[f32], mut candidate: impl FnMut(Candidate)) {
        while self.rest.len() + samples.len() >= FRAME {
            let (now, later) = samples.split_at(FRAME - self.rest.len());
            self.rest.extend_from_slice(now);
            samples = later;
            self.ring.extend(&self.rest);
            let surplus = self.ring.len().saturating_sub(KEPT);
            self.ring.drain(..surplus);
            let mut frame = None;
            self.ear.hear(&self.rest, |heard| frame = Some(heard));
            self.rest.clear();
            if let Some(clip) = frame.and_then(|frame| self.frame(frame)) {
                candidate(clip);
            }
        }
        self.rest.extend_from_slice(samples);
    }

    /// In the last clip nobody said a word: what sounded like speech was noise, and whoever speaks now has just begun.
    pub fn was_noise(&mut self) {
        // Who has begun since is being looked at.
        if self.begun.is_empty() {
            self.since = None;
        }
    }

    /// Whether Tiro speaks while the next samples are heard. Speech that just began is its own then, and a louder voice within that is
    /// somebody who calls; at other times it may be a word that the same person stresses.
    pub fn over_own(&mut self, speaks: bool) {
        self.over_own = speaks;
    }

    /// A phrase was heard: for so long nothing is looked for, because it may be said twice, and what follows is the
    /// request.
    pub fn pause(&mut self, time: Duration) {
        let frames = (time.as_secs_f64() * f64::from(SAMPLE_RATE) / FRAME as f64).ceil();
        self.deaf = self.deaf.max(self.frames.saturating_add(frames as u64));
        self.begun.clear();
        self.waits.clear();
    }

    /// Clips that were not looked at because there were too many.
    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    /// The next frame, whose samples are in the ring already.
    fn frame(&mut self, Frame { sound, level }: Frame) -> Option<Candidate> {
        self.frames += 1;
        for allowed in [&mut self.allowed, &mut self.early] {
            *allowed = (*allowed + 1.0 / EVERY).min(BURST);
        }
        if self.window.len() == WINDOW {
            self.window.pop_front();
        }
        self.window.push_back(sound);
        if self.powers.len() == BEFORE + NOW {
            self.powers.pop_front();
        }
        self.powers.push_back(level * level);
        if self.at_least(Sound::Speech, RECENT) >= ENOUGH {
            self.last = self.frames;
        }
        match self.since {
            None if self.begins() => {
                let first = self.window.iter().position(|s| *s >= Sound::Speech);
                let onset = self.frames - (self.window.len() - first.unwrap_or(0)) as u64;
                self.since = Some(onset);
                let from = onset.saturating_sub((PRE_ROLL / FRAME) as u64);
                self.begun.push_back(Span::new(from, onset, false));
            }
            // A clip that began with the speech before stays: that may be a call, too.
            Some(since) if (self.over_own || self.frames - since > LOOK) && self.is_louder(since) => {
                let onset = self.frames - NOW as u64;
                self.since = Some(onset);
                let from = onset.saturating_sub(BRIEF_ROLL);
                self.begun.push_back(Span::new(from, onset, true));
            }
            Some(_) if self.frames - self.last >= PAUSE => {
                self.since = None;
                // What was said before the pause does not make the next sound speech.
                self.window.clear();
                for span in &mut self.begun {
                    span.to = self.frames;
                }
            }
            _ => {}
        }
        while let Some(span) = self.begun.pop_front_if(|span| self.frames >= span.to) {
            if self.frames >= self.deaf {
                self.waits.push_back(span);
            }
        }
        self.out().or_else(|| self.beginning())
    }

    /// The beginning of a clip, where Tiro is to be interrupted soon.
    fn beginning(&mut self) -> Option<Candidate> {
        if !self.over_own || self.frames < self.deaf {
            return None;
        }
        let (now, allowed) = (self.frames, self.early);
        // Tiro's own sentences begin clips, too. One is left for whoever is louder than it.
        let due = |span: &&mut Span| {
            let needed = if span.louder { 1.0 } else { 2.0 };
            !span.early && (EARLY..LATE).contains(&(now - span.onset)) && allowed >= needed
        };
        let span = self.begun.iter_mut().rev().find(due)?;
        span.early = true;
        let span = *span;
        self.early -= 1.0;
        Some(self.clip(Span { to: now, ..span }))
    }

    /// The next clip that waits, if it may come out.
    fn out(&mut self) -> Option<Candidate> {
        let oldest = self.oldest();
        let waited = self.waits.len();
        self.waits.retain(|span| span.from >= oldest);
        // The newest count: what was said before them is no longer new.
        let may = (self.allowed as usize).max(1);
        self.waits.drain(..self.waits.len().saturating_sub(may));
        self.dropped += (waited - self.waits.len()) as u64;
        let span = self.waits.pop_front_if(|_| self.allowed >= 1.0)?;
        self.allowed -= 1.0;
        let whole = Span { early: false, ..span };
        Some(self.clip(whole))
    }

    /// The oldest frame that is kept.
    fn oldest(&self) -> u64 {
        self.frames - (self.ring.len() / FRAME) as u64
    }

    /// The clip of these frames, which are kept.
    fn clip(&self, span: Span) -> Candidate {
        let at = |frame: u64| (frame - self.oldest()) as usize * FRAME;
        Candidate {
            at: span.from * FRAME as u64,
            onset: (span.onset - span.from) as usize * FRAME,
            samples: self.ring.range(at(span.from)..at(span.to)).copied().collect(),
            early: span.early,
        }
    }

    /// Whether somebody speaks: the same that makes a whole recording speech.
    fn begins(&self) -> bool {
        self.at_least(Sound::Speech, WINDOW) >= LEAST && self.at_least(Sound::Clear, WINDOW) >= LEAST_CLEAR
    }

    /// Whether somebody speaks much louder than anybody did before, since speech began.
    fn is_louder(&self, since: u64) -> bool {
        let spoken = usize::try_from(self.frames - since).unwrap_or(usize::MAX);
        let count = spoken.saturating_sub(NOW).min(BEFORE);
        if count < ENOUGH_BEFORE {
            return false;
        }
        // They are all kept: a frame is, before it is asked about.
        debug_assert!(self.powers.len() >= NOW + count);
        let mean = |powers: &mut dyn Iterator<Item = &f32>, count: usize| powers.sum::<f32>() / count as f32;
        let now = mean(&mut self.powers.iter().rev().take(NOW), NOW);
        let before = mean(&mut self.powers.iter().rev().skip(NOW).take(count), count);
        self.at_least(Sound::Clear, NOW) > NOW / 2 && now > LOUDER * before
    }

    /// How many of the last `count` frames are at least this.
    fn at_least(&self, sound: Sound, count: usize) -> usize {
        self.window
            .iter()
            .rev()
            .take(count)
            .filter(|s| **s >= sound)
            .count()
    }
}

#[cfg(test)]
mod tests {
    use std::f32::consts::TAU;

    use proptest::prelude::*;

    use super::*;
    use crate::listen::{recordings, wav, wavs};

    /// All are as loud as each other.
    fn heard_as(sound: Sound) -> Frame {
        Frame { sound, level: 0.1 }
    }

    /// What comes out when it is heard in blocks of these lengths, over and over.
    fn heard(watch: &mut Watch, samples: &[f32], blocks: &[usize]) -> Vec<Candidate> {
        let (mut found, mut at) = (Vec::new(), 0);
        for block in blocks.iter().cycle() {
            let end = samples.len().min(at + block);
            watch.hear(&samples[at..end], |clip| found.push(clip));
            at = end;
            if at == samples.len() {
                return found;
            }
        }
        found
    }

    /// Somebody says a word, with silence around it.
    fn word() -> Option<Vec<f32>> {
        let folder = recordings()?.join("wake").join("jarvis");
        let mut samples = vec![0.0; 16_000];
        samples.extend(wav::read(&wavs(&folder)[0]).unwrap());
        samples.extend([0.0; 16_000]);
        Some(samples)
    }

    #[test]
    fn a_word_after_silence_comes_out_once_and_whole() {
        let Some(word) = word() else { return };
        let found = heard(&mut Watch::default(), &word, &[word.len()]);
        assert_eq!(found.len(), 1);
        let clip = &found[0];
        let speech = crate::listen::vad::speech(&word).unwrap();
        // `speech` leaves 300 ms of room before it.
        let first = speech.start as u64 + 4800;
        assert!(
            clip.at + 4800 <= first && clip.end() > first + 4800,
            "{} {first}",
            clip.at
        );
        assert_eq!(clip.samples, word[clip.at as usize..clip.end() as usize]);
        assert!(clip.onset <= PRE_ROLL && clip.samples.len() < 3 * 16_000);
    }

    #[test]
    fn after_a_phrase_nothing_comes_out_for_a_while() {
        let Some(word) = word() else { return };
        let mut watch = Watch::default();
        assert_eq!(heard(&mut watch, &word, &[1000]).len(), 1);
        watch.pause(Duration::from_secs(60));
        assert_eq!(heard(&mut watch, &word, &[1000]), []);
        let mut again = Watch::default();
        assert_eq!(heard(&mut again, &word, &[1000]).len(), 1);
        assert_eq!(heard(&mut again, &word, &[1000]).len(), 1);
    }

    #[test]
    fn who_talks_all_the_time_is_looked_at_a_bounded_number_of_times() {
        // Two words a second for ten minutes, as far as the detector goes.
        let mut watch = Watch::default();
        let mut found = 0;
        let minutes = 10;
        for frame in 0..minutes * 60 * 1000 / 16 {
            watch.ring.extend([0.1; FRAME]);
            let surplus = watch.ring.len().saturating_sub(KEPT);
            watch.ring.drain(..surplus);
            let sound = if frame % 45 < 24 {
                Sound::Clear
            } else {
                Sound::Silence
            };
            found += usize::from(watch.frame(heard_as(sound)).is_some());
        }
        println!("{found} clips of {minutes} minutes, {} dropped", watch.dropped());
        assert!(
            found <= minutes * 15 + BURST as usize + 1 && found >= minutes * 14,
            "{found}"
        );
        assert!(watch.dropped() > 500);
    }

    #[test]
    fn ten_hours_of_sound_leave_only_the_last_seconds() {
        let mut watch = Watch::default();
        // Every sample of ten hours, in blocks as a server that was asleep might send them; the detector is what takes
        // time, and its state does not grow, so most of it goes past it.
        let tone: Vec<f32> = (0..16_000)
            .map(|n| (n as f32 / 16_000.0 * 220.0 * TAU).sin() * 0.3)
            .collect();
        for _ in 0..60 {
            watch.hear(&tone, |_| {});
        }
        for _ in 0..10 * 3600 * 16_000 / FRAME {
            watch.ring.extend(&tone[..FRAME]);
            let surplus = watch.ring.len().saturating_sub(KEPT);
            watch.ring.drain(..surplus);
            watch.frame(heard_as(Sound::Clear));
        }
        assert_eq!(watch.ring.len(), KEPT);
        assert!(watch.ring.capacity() <= 2 * (KEPT + FRAME) && watch.window.len() <= WINDOW);
    }

    #[test]
    fn noise_in_which_nobody_said_a_word_does_not_hide_who_speaks_next() {
        let mut watch = Watch::default();
        let frames = |watch: &mut Watch, sound, n: usize| {
            let mut found = Vec::new();
            for _ in 0..n {
                watch.ring.extend([0.1; FRAME]);
                found.extend(watch.frame(heard_as(sound)));
            }
            found
        };
        assert_eq!(frames(&mut watch, Sound::Clear, 300).len(), 1);
        assert_eq!(frames(&mut watch, Sound::Clear, 300).len(), 0);
        watch.was_noise();
        assert_eq!(frames(&mut watch, Sound::Clear, 300).len(), 1);
    }

    #[test]
    fn who_calls_soon_after_tiro_began_to_speak_is_looked_at() {
        let Some(folder) = recordings() else { return };
        let voiced = |path: &std::path::Path| {
            let samples = wav::read(path).unwrap();
            let speech = crate::listen::vad::speech(&samples).unwrap();
            // It leaves 300 ms of room around it.
            samples[speech.start + 4800..speech.end - 4800].to_vec()
        };
        let power = |samples: &[f32]| samples.iter().map(|s| s * s).sum::<f32>() / samples.len() as f32;
        let other = voiced(&wavs(&folder.join("read"))[0]);
        let (mut looked_at, mut unasked, mut calls) = (0, 0, 0);
        for path in wavs(&folder.join("wake").join("computer")).iter().step_by(4) {
            let call = voiced(path);
            // 15 dB softer than who calls.
            let gain = (power(&call) / power(&other)).sqrt() * 10f32.powf(-15.0 / 20.0);
            for after in [0.5, 0.7, 1.0, 1.3, 1.6] {
                let mut samples = vec![0.0; 16_000];
                samples.extend(other.iter().map(|s| s * gain));
                let at = 16_000 + (after * 16_000.0) as usize;
                for (sample, called) in samples[at..].iter_mut().zip(&call) {
                    *sample += called;
                }
                // The clip begins with the call, but for the moment that is kept before it.
                let is_call = |clip: &Candidate| {
                    let begins = clip.at as usize;
                    begins + 4800 > at && begins < at + 1600
                };
                let mut watch = Watch::default();
                watch.over_own(true);
                let found = heard(&mut watch, &samples, &[1600]);
                assert!(!is_call(&found[0]), "what began before is looked at, too");
                looked_at += usize::from(found.iter().any(is_call));
                let found = heard(&mut Watch::default(), &samples, &[1600]);
                unasked += usize::from(found.iter().any(is_call));
                calls += 1;
            }
        }
        println!("{looked_at} of {calls} calls, {unasked} where it is not Tiro that speaks");
        assert!(looked_at * 10 >= calls * 9, "{looked_at} of {calls}");
    }

    #[test]
    fn a_voice_that_gets_louder_is_one_clip_and_over_tiro_two_of_which_the_newest_count() {
        let heard = |over_own: bool, allowed: f64| {
            let mut watch = Watch::default();
            watch.over_own(over_own);
            watch.allowed = allowed;
            // Whole ones are counted here.
            watch.early = 0.0;
            let mut found = Vec::new();
            let mut frames = |n: usize, sound, level: f32| {
                for _ in 0..n {
                    watch.ring.extend([level; FRAME]);
                    found.extend(watch.frame(Frame { sound, level }));
                }
            };
            frames(40, Sound::Silence, 0.0);
            frames(40, Sound::Clear, 0.01);
            frames(40, Sound::Clear, 0.1);
            // With the pause both are complete.
            frames(30, Sound::Silence, 0.0);
            found
                .iter()
                .map(|clip| clip.at as usize / FRAME)
                .collect::<Vec<_>>()
        };
        // 31 frames before the first, and 10 before the second, which is known after a few of its own.
        let one = heard(false, BURST);
        assert_eq!(one.len(), 1);
        assert!(one[0] < 40, "{one:?}");
        let two = heard(true, BURST);
        assert_eq!((two.len(), two[0]), (2, one[0]));
        assert!((55..75).contains(&two[1]), "{two:?}");
        assert_eq!(heard(true, 1.0), two[1..]);
    }

    #[test]
    fn while_tiro_speaks_a_clip_comes_out_early_too() {
        let heard = |over_own: bool, called_at: Option<usize>| {
            let mut watch = Watch::default();
            watch.over_own(over_own);
            let mut found = Vec::new();
            for frame in 0..300 {
                watch.ring.extend([0.1; FRAME]);
                let sound = if frame < 40 { Sound::Silence } else { Sound::Clear };
                if let Some(clip) = watch.frame(heard_as(sound)) {
                    found.push((clip.early, clip.samples.len() / FRAME - clip.onset / FRAME));
                }
                if called_at == Some(frame) {
                    watch.pause(Duration::from_secs(1));
                }
            }
            found
        };
        let (early, whole) = (EARLY as usize, LOOK as usize);
        assert_eq!(heard(true, None), [(true, early), (false, whole)]);
        // Who was heard by then need not be heard again.
        assert_eq!(heard(true, Some(40 + early + 20)), [(true, early)]);
        assert_eq!(heard(false, None), [(false, whole)]);
    }

    #[test]
    fn early_clips_are_bounded_and_take_none_from_whole_ones() {
        let minutes = 5;
        let count = |over_own: bool| {
            let mut watch = Watch::default();
            watch.over_own(over_own);
            let (mut early, mut whole) = (0, 0);
            for frame in 0..minutes * 60 * 1000 / 16 {
                watch.ring.extend([0.1; FRAME]);
                let surplus = watch.ring.len().saturating_sub(KEPT);
                watch.ring.drain(..surplus);
                // Sentences of 1.6 s.
                let sound = if frame % 130 < 100 {
                    Sound::Clear
                } else {
                    Sound::Silence
                };
                if let Some(clip) = watch.frame(heard_as(sound)) {
                    *(if clip.early { &mut early } else { &mut whole }) += 1;
                }
            }
            (early, whole)
        };
        let (early, whole) = count(true);
        println!("{early} early, {whole} whole clips in {minutes} minutes");
        assert!((minutes * 10..=minutes * 15 + BURST as usize).contains(&early));
        assert_eq!(count(false), (0, whole));
    }

    #[test]
    fn of_early_clips_one_is_left_for_who_is_louder_than_tiro() {
        let heard = |louder: f32| {
            let mut watch = Watch::default();
            watch.over_own(true);
            watch.early = 1.5;
            let mut found = Vec::new();
            for frame in 0..220 {
                let (sound, level) = match frame {
                    ..40 => (Sound::Silence, 0.0),
                    40..80 => (Sound::Clear, 0.01),
                    _ => (Sound::Clear, louder),
                };
                watch.ring.extend([level; FRAME]);
                found.extend(watch.frame(Frame { sound, level }));
            }
            found.retain(|clip| clip.early);
            let onsets = found.iter().map(|clip| (clip.at as usize + clip.onset) / FRAME);
            onsets.collect::<Vec<_>>()
        };
        assert_eq!(heard(0.01), [0_usize; 0]);
        let [caller] = heard(0.1)[..] else {
            panic!("{:?}", heard(0.1))
        };
        assert!((70..85).contains(&caller), "{caller}");
    }

    #[test]
    fn silence_and_noise_are_nobody() {
        let mut watch = Watch::default();
        assert_eq!(heard(&mut watch, &vec![0.0; 160_000], &[1600]), []);
        let Some(folder) = recordings() else { return };
        let noise = wav::read(&folder.join("kitchen-noise.wav")).unwrap();
        let clips = heard(&mut watch, &noise, &[1600]).len();
        println!("{clips} clips of {} s of kitchen noise", noise.len() / 16_000);
        assert!(clips <= 4);
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 8, ..ProptestConfig::default() })]
        #[test]
        fn blocks_of_any_size_give_the_same(blocks in prop::collection::vec(1usize..5000, 1..20)) {
            let Some(word) = word() else { return Ok(()) };
            let whole = heard(&mut Watch::default(), &word, &[word.len()]);
            prop_assert_eq!(heard(&mut Watch::default(), &word, &blocks), whole);
        }
    }
}
