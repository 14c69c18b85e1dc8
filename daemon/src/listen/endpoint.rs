//! When an utterance is over. Pure: it is told what each frame sounds like, and counts.

use std::{collections::VecDeque, time::Duration};

use models::stt::SAMPLE_RATE;

use super::{
    loudness::Loudness,
    vad::{FRAME, Frame, LEAST, LEAST_CLEAR, Sound, WINDOW},
};

/// Who says when it is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    /// The person, by letting the key go: pauses end nothing.
    Hold,
    /// Silence after they spoke.
    Tap,
}

/// What ends an utterance.
#[derive(Debug, Clone, Copy)]
pub struct Rules {
    /// Who says so.
    pub style: Style,
    /// Silence after speech that ends it.
    pub silence: Duration,
    /// How long to wait for somebody to speak.
    pub patience: Duration,
    /// Longest utterance.
    pub longest: Duration,
    /// Whether everything counts that is said until it is over, however softly: who agrees to something may take that back.
    pub answer: bool,
}

/// Why an utterance is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// Somebody spoke, and then it was silent.
    Said,
    /// Nobody spoke.
    Nobody,
    /// It is as long as it may be.
    Full,
}

/// Who has not yet spoken for so long, 0.8 s, is looking for words: the silence must then last half as long again.
const BRIEF: usize = 50;
/// Of so many frames, an eighth of a second ...
const RECENT: usize = 8;
/// ... so many must be speech for it to go on: single hits in noise do not keep an utterance open.
const ENOUGH: usize = 4;

/// So many frames without speech, 48 ms, may be the end: it is worth recognising what was said. Over 60 orders (`people.rs` of the
/// tests) it finds 401 of 430 words, as after 96 ms, which was noticed 48 ms later; the recogniser is asked 1.38 times for each
/// and not 1.22 times.
const PAUSE: usize = 3;
/// After 10 s it is a little, after 30 s a quarter of a second more: to recognise all of that takes longer.
const MUCH: usize = 120;

/// Counts frames until the utterance is over.
#[derive(Debug)]
pub struct Endpointer {
    rules: Rules,
    /// Frames so far.
    frames: usize,
    /// The last ones.
    window: VecDeque<Sound>,
    /// How loud whoever speaks is.
    loudness: Loudness,
    /// Frames of speech since somebody began to speak; nothing before.
    spoken: Option<usize>,
    /// The last frame in which somebody still spoke, for how long the silence lasts.
    last: usize,
    /// Frames without speech since the last one with it.
    silent: usize,
    /// The last frame of what somebody said. It comes before `last`, which waits whether more follows.
    said: usize,
    /// Frames so far that may have been speech of whoever speaks, each by itself, and of anybody.
    hits: usize,
    all_hits: usize,
    /// How long the silence has to be, in percent of what the rules say.
    pace: u32,
}

impl Endpointer {
    /// Nothing was heard yet.
    pub fn new(rules: Rules) -> Endpointer {
        Endpointer {
            rules,
            frames: 0,
            window: VecDeque::with_capacity(WINDOW),
            loudness: Loudness::new(!rules.answer),
            spoken: None,
            last: 0,
            silent: 0,
            said: 0,
            hits: 0,
            all_hits: 0,
            pace: 100,
        }
    }

    /// Whether somebody has begun to speak.
    pub fn begun(&self) -> bool {
        self.spoken.is_some()
    }

    /// The last frame, counted from 1, of what somebody said; 0 when nobody did. Single hits after it do not count, so that
    /// it is the same for as long as nothing more is said.
    pub fn spoken(&self) -> usize {
        self.said
    }

    /// Frames so far that may have been speech, also single ones, which soft words are made of. Those of others in the room do not
    /// count, but where everything does.
    pub fn hits(&self) -> usize {
        match self.rules.answer {
            true => self.all_hits,
            false => self.hits,
        }
    }

    /// The same of anybody, however soft.
    pub fn all_hits(&self) -> usize {
        self.all_hits
    }

    /// The last frame, counted from 1, that may have been speech of whoever speaks, by itself; the last of all where everything
    /// counts.
    pub fn last_hit(&self) -> usize {
        match self.rules.answer {
            true => self.frames,
            false => self.frames - self.silent,
        }
    }

    /// Whether this may be the end: it is worth recognising what was said.
    pub fn pauses(&self) -> bool {
        // All so far is recognised at each pause, so for who has said much it has to be a longer one.
        self.begun() && self.frames - self.said >= PAUSE.max(self.frames / MUCH)
    }

    /// Whether this is the end as far as anybody can tell who will hear no more. Half of the silence that would have ended it has
    /// to be there, and all of it where a pause says nothing, because the key is held.
    pub fn may_be_over(&self) -> bool {
        let silence = frames(self.rules.silence) * self.pace as usize / 100;
        let enough = match self.rules.style {
            Style::Hold => silence,
            Style::Tap => silence / 2,
        };
        self.begun() && self.frames - self.said >= enough
    }

    /// The silence that ends it has to last so many percent of what the rules say.
    pub fn set_pace(&mut self, percent: u32) {
        self.pace = percent;
    }

    /// From now on silence ends it.
    pub fn let_go(&mut self) {
        self.rules.style = Style::Tap;
    }

    /// The next frame. Says when it is over, and again with every frame after that. Speech that is much softer than what whoever
    /// speaks has said is not theirs, so that a television does not keep an utterance open.
    pub fn frame(&mut self, frame: Frame) -> Option<End> {
        self.frames += 1;
        self.all_hits += usize::from(frame.sound >= Sound::Speech);
        // Who holds a key says themselves who is listened to.
        let near = self.loudness.hear(frame) || self.rules.style == Style::Hold;
        let sound = if near { frame.sound } else { Sound::Silence };
        self.hits += usize::from(sound >= Sound::Speech);
        self.silent = if sound >= Sound::Speech {
            0
        } else {
            self.silent + 1
        };
        if self.window.len() == WINDOW {
            self.window.pop_front();
        }
        self.window.push_back(sound);
        // The same that makes a whole recording speech: what begins here is not refused at the end.
        let begun = self.at_least(Sound::Speech, WINDOW) >= LEAST
            && self.at_least(Sound::Clear, WINDOW) >= LEAST_CLEAR;
        if self.spoken.is_none() && begun {
            self.spoken = Some(self.at_least(Sound::Speech, WINDOW));
            self.speaks();
        } else if let Some(spoken) = &mut self.spoken
            && sound >= Sound::Speech
        {
            *spoken += 1;
        }
        if self.at_least(Sound::Speech, RECENT) >= ENOUGH {
            self.speaks();
        }
        self.end()
    }

    /// Somebody speaks, or has just done so.
    fn speaks(&mut self) {
        self.last = self.frames;
        self.said = self.frames - self.silent;
    }

    fn end(&self) -> Option<End> {
        if self.frames >= frames(self.rules.longest) {
            return Some(End::Full);
        }
        if self.rules.style == Style::Hold {
            return None;
        }
        match self.spoken {
            None => (self.frames >= frames(self.rules.patience)).then_some(End::Nobody),
            Some(spoken) => {
                let silence = frames(self.rules.silence);
                // Whoever is known to have said all does not look for words.
                let brief = spoken < BRIEF && self.pace >= 100;
                let silence = if brief { silence * 3 / 2 } else { silence };
                let silence = silence * self.pace as usize / 100;
                (self.frames - self.last >= silence).then_some(End::Said)
            }
        }
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

/// As frames, at least one.
fn frames(time: Duration) -> usize {
    (time.as_millis() as usize * SAMPLE_RATE as usize / 1000)
        .div_ceil(FRAME)
        .max(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::listen::{recordings, vad, wav, wavs};

    const RULES: Rules = Rules {
        style: Style::Tap,
        silence: Duration::from_millis(800),
        patience: Duration::from_secs(8),
        longest: Duration::from_secs(60),
        answer: false,
    };

    /// All are as loud as each other.
    fn loud(sound: Sound) -> Frame {
        Frame { sound, level: 0.1 }
    }

    /// When it is over, in seconds; `stretches` are seconds of clear speech (true) or silence.
    fn over(rules: Rules, stretches: &[(bool, f64)]) -> Option<(End, f64)> {
        let mut endpointer = Endpointer::new(rules);
        let mut frame = 0;
        for (speech, seconds) in stretches {
            for _ in 0..(seconds / 0.016) as usize {
                frame += 1;
                let sound = if *speech { Sound::Clear } else { Sound::Silence };
                if let Some(end) = endpointer.frame(loud(sound)) {
                    return Some((end, f64::from(frame) * 0.016));
                }
            }
        }
        None
    }

    #[track_caller]
    fn check(rules: Rules, stretches: &[(bool, f64)], expect: Option<(End, f64)>) {
        let got = over(rules, stretches);
        match (got, expect) {
            (None, None) => {}
            (Some((end, at)), Some((wanted, when))) => {
                assert_eq!(end, wanted, "{stretches:?}");
                assert!(
                    (at - when).abs() < 0.12,
                    "over at {at}, not at {when}: {stretches:?}"
                );
            }
            _ => panic!("{got:?}, not {expect:?}: {stretches:?}"),
        }
    }

    #[test]
    fn a_tap_ends_by_silence_after_speech() {
        use End::{Full, Nobody, Said};
        check(
            RULES,
            &[(false, 1.0), (true, 2.0), (false, 3.0)],
            Some((Said, 3.8)),
        );
        // Pauses between words end nothing.
        let halting = [
            (true, 1.0),
            (false, 0.6),
            (true, 1.0),
            (false, 0.6),
            (true, 0.3),
            (false, 3.0),
        ];
        check(RULES, &halting, Some((Said, 4.3)));
        // One word, and then a thought.
        check(
            RULES,
            &[(true, 0.5), (false, 1.0), (true, 1.0), (false, 3.0)],
            Some((Said, 3.3)),
        );
        check(RULES, &[(true, 0.5), (false, 3.0)], Some((Said, 1.7)));
        check(RULES, &[(false, 20.0)], Some((Nobody, 8.0)));
        // A knock is no speech, and does not make the patience longer.
        check(
            RULES,
            &[(false, 3.0), (true, 0.1), (false, 20.0)],
            Some((Nobody, 8.0)),
        );
        check(RULES, &[(true, 100.0)], Some((Full, 60.0)));
        check(RULES, &[(true, 2.0), (false, 0.7)], None);
    }

    #[test]
    fn the_pace_makes_the_silence_shorter_or_longer() {
        for (seconds, percent, wanted) in [
            (2.0, 100, 0.8),
            (2.0, 200, 1.6),
            (2.0, 60, 0.48),
            // One word: who may look for more is waited for, who has said all is not.
            (0.5, 100, 1.2),
            (0.5, 60, 0.48),
        ] {
            let mut endpointer = Endpointer::new(RULES);
            for _ in 0..(seconds / 0.016) as usize {
                assert_eq!(endpointer.frame(loud(Sound::Clear)), None);
            }
            endpointer.set_pace(percent);
            let silence = (1..).find(|_| endpointer.frame(loud(Sound::Silence)).is_some());
            let silence = f64::from(silence.unwrap()) * 0.016;
            assert!((silence - wanted).abs() < 0.12, "{silence}, not {wanted}");
        }
    }

    #[test]
    fn who_holds_the_key_may_be_silent() {
        let hold = Rules {
            style: Style::Hold,
            ..RULES
        };
        check(hold, &[(false, 20.0), (true, 1.0), (false, 20.0)], None);
        check(hold, &[(true, 1.0), (false, 100.0)], Some((End::Full, 60.0)));
    }

    #[test]
    fn single_hits_in_noise_neither_begin_nor_keep_open() {
        let mut endpointer = Endpointer::new(RULES);
        let noise = |n: usize| {
            if n.is_multiple_of(4) {
                Sound::Speech
            } else {
                Sound::Silence
            }
        };
        let end = (0..1000).find_map(|n| endpointer.frame(loud(noise(n))));
        assert_eq!(end, Some(End::Nobody));
        let mut endpointer = Endpointer::new(RULES);
        for _ in 0..100 {
            assert_eq!(endpointer.frame(loud(Sound::Clear)), None);
        }
        let end = (0..1000).position(|n| endpointer.frame(loud(noise(n))).is_some());
        assert!(end.is_some_and(|n| n < 70), "{end:?}");
    }

    /// Where it is over, in seconds, when this is heard, and then this for three seconds more.
    fn heard(samples: &[f32], room: impl FnMut(usize) -> f32) -> Option<(End, f64)> {
        heard_at(100, samples, room)
    }

    /// The same at another pace from the beginning to the end.
    fn heard_at(pace: u32, samples: &[f32], mut room: impl FnMut(usize) -> f32) -> Option<(End, f64)> {
        let mut all = samples.to_vec();
        all.extend(std::iter::repeat_n(0.0, 48_000));
        for (n, sample) in all.iter_mut().enumerate() {
            *sample += room(n);
        }
        let (mut ear, mut endpointer) = (vad::Ear::default(), Endpointer::new(RULES));
        endpointer.set_pace(pace);
        let (mut frame, mut over) = (0_u32, None);
        ear.hear(&all, |heard| {
            frame += 1;
            if let (None, Some(end)) = (over, endpointer.frame(heard)) {
                over = Some((end, f64::from(frame) * 0.016));
            }
        });
        over
    }

    /// The last sound of what somebody says, in seconds.
    fn last(samples: &[f32]) -> f64 {
        let speech = vad::speech(samples).unwrap();
        // `speech` leaves 300 ms of room around it.
        speech.end.min(samples.len()).saturating_sub(4800) as f64 / 16_000.0
    }

    /// Noise as every room has it.
    fn hiss() -> impl FnMut(usize) -> f32 {
        let mut seed = 1u32;
        move |_| {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            ((seed >> 8) as f32 / 8_388_608.0 - 1.0) * 0.002
        }
    }

    /// Commands of people, then silence as a room has it: over soon, and not before they have spoken.
    #[test]
    fn commands_of_people_are_heard_to_their_end() {
        let Some(folder) = recordings() else { return };
        let commands = wavs(&folder.join("commands"));
        assert!(commands.len() > 20, "only {} commands", commands.len());
        let (mut cut, mut waits) = (Vec::new(), Vec::new());
        for path in &commands {
            let samples = wav::read(path).unwrap();
            let spoken = last(&samples);
            let over = heard(&samples, hiss());
            let (end, at) = over.unwrap_or_else(|| panic!("{} never ends", path.display()));
            assert_eq!(end, End::Said, "{}", path.display());
            match at < spoken {
                true => cut.push((path.file_name().unwrap(), spoken - at)),
                false => waits.push(at - spoken),
            }
        }
        waits.sort_by(f64::total_cmp);
        let (p50, most) = (waits[waits.len() / 2], waits[waits.len() - 1]);
        println!(
            "{} commands: over {p50:.2} s after the last sound (at most {most:.2} s), cut off: {cut:?}",
            commands.len()
        );
        assert!(cut.len() * 20 <= commands.len(), "cut off: {cut:?}");
        assert!(p50 < 1.0 && most < 2.0);
    }

    /// Who pauses in the middle of an order for longer than the shorter silences that end one, if what they said until then were
    /// taken for all: an upper bound, because it seldom is a request that lacks nothing.
    #[test]
    fn few_pause_longer_than_what_ends_a_whole_request() {
        let Some(folder) = recordings() else { return };
        let commands = wavs(&folder.join("commands"));
        let mut cut = [100, 80, 60].map(|pace| (pace, 0));
        for path in &commands {
            let samples = wav::read(path).unwrap();
            let spoken = last(&samples);
            for (pace, cut) in &mut cut {
                let (_, at) = heard_at(*pace, &samples, hiss()).unwrap();
                *cut += usize::from(at < spoken);
            }
        }
        println!(
            "of {} orders, cut off at so many percent: {cut:?}",
            commands.len()
        );
        assert!(cut[2].1 <= 2, "{cut:?}");
    }

    /// Of somebody who goes on so much more softly: whether it is over before they do, and whether that is noticed.
    fn softly(rules: Rules) -> (bool, bool) {
        let mut endpointer = Endpointer::new(rules);
        let mut stretch = |sound, level, frames| {
            let over = (0..frames).any(|_| endpointer.frame(Frame { sound, level }).is_some());
            (over, endpointer.hits(), endpointer.last_hit())
        };
        stretch(Sound::Clear, 0.1, 60);
        let (_, hits, _) = stretch(Sound::Silence, 0.001, 20);
        let (over, more, last) = stretch(Sound::Clear, 0.01, 30);
        (over, more > hits + 10 && last >= 100)
    }

    #[test]
    fn soft_words_count_while_the_key_is_held_and_in_answers() {
        assert_eq!(softly(RULES), (false, false));
        let hold = Rules {
            style: Style::Hold,
            ..RULES
        };
        assert_eq!(softly(hold), (false, true));
        let answer = Rules {
            answer: true,
            ..RULES
        };
        assert_eq!(softly(answer), (false, true));
    }

    /// Somebody asks for something while a television talks on and on, farther away.
    #[test]
    fn a_television_keeps_nobody_waiting() {
        let Some(folder) = recordings() else { return };
        let read = wavs(&folder.join("read"));
        let television: Vec<f32> = read.iter().flat_map(|path| wav::read(path).unwrap()).collect();
        let commands = wavs(&folder.join("commands"));
        for farther in [12.0, 18.0, 24.0_f32] {
            let (mut cut, mut waits, mut goes_on) = (0, Vec::new(), 0);
            for (n, path) in commands.iter().enumerate() {
                let samples = wav::read(path).unwrap();
                let spoken = &samples[vad::speech(&samples).unwrap()];
                let gain = vad::level(spoken) / vad::level(&television) * 10f32.powf(-farther / 20.0);
                // Another part of the programme for each.
                let at = |k: usize| television[(n * 48_000 + k) % television.len()] * gain;
                let end = last(&samples);
                match heard(&samples, at) {
                    None => goes_on += 1,
                    Some((_, over)) if over < end => cut += 1,
                    Some((_, over)) => waits.push(over - end),
                }
            }
            waits.sort_by(f64::total_cmp);
            println!(
                "{farther} dB farther away: of {} commands {goes_on} go on for 3 s, {cut} are cut off, over after {:.2} s (p50), {:.2} s (p90)",
                commands.len(),
                waits[waits.len() / 2],
                waits[waits.len() * 9 / 10],
            );
            if farther > 15.0 {
                assert!(goes_on * 10 <= commands.len(), "{goes_on} go on");
                assert!(waits[waits.len() / 2] < 1.2);
            }
            assert!(cut * 20 <= commands.len(), "{cut} are cut off");
        }
    }
}
