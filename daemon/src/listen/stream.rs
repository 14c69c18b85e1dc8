//! What the thread that has the microphone makes of its sound: utterances, and what was said of them so far. It may be
//! kept by a sound server that hangs; nobody waits for it.

use std::{
    collections::VecDeque,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering},
        mpsc::{Receiver, RecvTimeoutError, TryRecvError},
    },
    time::{Duration, Instant},
};

use models::stt::SAMPLE_RATE;
use tokio::sync::{oneshot, watch};

use super::{
    capture::Block,
    endpoint::{End, Endpointer, Rules},
    pipe::Reader,
    resample::Resampler,
    vad::{self, FRAME, PADDING},
};

/// So many looks in a row without sound, 3 s, and the microphone is dead: one by radio or over a network may pause for a second or two.
/// Looks are counted and not seconds: when the whole program stood still, sound waits that only has to be taken.
const DEAD: u32 = 30;
/// How often a wish is looked for while nothing comes. With each piece of sound it is, too, so this counts where pieces are long or
/// the microphone hangs; a shorter time would only wake a processor between the pieces, all day.
const LOOK: Duration = Duration::from_millis(100);
/// Sound comes in pieces, which may be long where there is no sound server: what was said before the key was let go may
/// still be on its way. The first piece that arrives so much later ...
const TAIL: Duration = Duration::from_millis(100);
/// ... and no later than this, is the last.
const LONG_TAIL: Duration = Duration::from_millis(500);
/// So many frames, half a second, are worth recognising anew while somebody speaks on.
const FURTHER: usize = 31;

pub(super) const NO_SOUND: &str = "The microphone is open but no sound comes from it.";
pub(crate) const LOST: &str = "The microphone went away while I listened.";

/// What the person wants of an utterance that goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Wish {
    GoOn,
    Stop,
    Discard,
    LetGo,
}

/// How an utterance is steered from elsewhere.
#[derive(Debug, Default)]
pub(super) struct Reins {
    wish: AtomicU8,
    /// The last frame of speech that the pace was chosen for, and the pace, in percent: 0 is none.
    pace: AtomicU64,
    /// Whether the longest length ended it, and not the person or silence.
    full: AtomicBool,
}

impl Reins {
    pub(super) fn wish(&self) -> Wish {
        match self.wish.load(Ordering::Acquire) {
            1 => Wish::Stop,
            2 => Wish::Discard,
            3 => Wish::LetGo,
            _ => Wish::GoOn,
        }
    }

    /// What was stopped or discarded stays so, but that what was stopped may still be discarded.
    pub(super) fn set(&self, wish: Wish) {
        let goes_on = |now| match now {
            now if now == Wish::GoOn as u8 || now == Wish::LetGo as u8 => Some(wish as u8),
            _ => None,
        };
        if wish == Wish::Discard {
            self.wish.store(wish as u8, Ordering::Release);
        } else {
            let _ = self
                .wish
                .fetch_update(Ordering::AcqRel, Ordering::Acquire, goes_on);
        }
    }

    /// Whether the longest length ended it.
    pub(super) fn is_full(&self) -> bool {
        self.full.load(Ordering::Acquire)
    }

    /// After the speech up to this frame, silence has to last so many percent of the usual time.
    pub(super) fn set_pace(&self, spoken: usize, percent: u8) {
        let pace = (spoken as u64) << 8 | u64::from(percent);
        // What was found out about words that others have followed since comes too late.
        let newer = |now: u64| (now >> 8 <= spoken as u64).then_some(pace);
        let _ = self.pace.fetch_update(Ordering::AcqRel, Ordering::Acquire, newer);
    }

    /// The pace for the silence after this frame.
    pub(super) fn pace(&self, spoken: usize) -> u32 {
        let pace = self.pace.load(Ordering::Acquire);
        match pace & 0xff {
            percent if percent > 0 && pace >> 8 == spoken as u64 => percent as u32,
            _ => 100,
        }
    }
}

/// What was said so far.
#[derive(Debug, Clone)]
pub(super) struct SoFar {
    pub(super) samples: Arc<[f32]>,
    /// The last frame in which somebody spoke. While this is the same, nothing more was said.
    pub(super) spoken: usize,
    /// Frames that may have been speech.
    pub(super) hits: usize,
    /// Whether they may have finished.
    pub(super) pause: bool,
}

/// What an utterance leaves behind.
#[derive(Debug)]
pub(super) enum Left {
    /// Sound, in which there may be somebody; the last frame in which there was, and the frames that may have been speech.
    Sound(Vec<f32>, usize, usize),
    /// It was discarded.
    Nothing,
    /// It could not be listened; why, as one sentence.
    Failed(String),
}

/// An utterance that somebody wants.
pub(super) struct Take {
    pub(super) rules: Rules,
    pub(super) reins: Arc<Reins>,
    /// Whether it is told what was said so far.
    pub(super) early: bool,
    pub(super) so_far: watch::Sender<Option<SoFar>>,
    pub(super) tell: oneshot::Sender<Left>,
}

/// An utterance that is being followed.
struct Following {
    take: Take,
    endpointer: Endpointer,
    ear: vad::Ear,
    /// Samples that are still to be left out.
    skip: usize,
    samples: Vec<f32>,
    end: Option<End>,
    stopped: Option<Instant>,
    /// The frame up to which it was last told what was said, and the last frame of speech of that pause.
    told: usize,
    paused: Option<usize>,
}

impl Following {
    fn new(take: Take, begins: Begins) -> Following {
        let skip = match begins {
            Begins::In(time) => (time.as_secs_f64() * f64::from(SAMPLE_RATE)) as usize,
            Begins::Now | Begins::Sample(_) => 0,
        };
        Following {
            endpointer: Endpointer::new(take.rules),
            ear: vad::Ear::default(),
            skip,
            samples: Vec::new(),
            end: None,
            stopped: None,
            told: 0,
            paused: None,
            take,
        }
    }

    fn most(&self) -> usize {
        self.take.rules.longest.as_secs() as usize * SAMPLE_RATE as usize
    }

    /// Takes the next sound.
    fn hear(&mut self, samples: &[f32]) {
        let skipped = self.skip.min(samples.len());
        self.skip -= skipped;
        let samples = &samples[skipped..];
        self.samples.extend_from_slice(samples);
        let (endpointer, reins, end) = (&mut self.endpointer, &self.take.reins, &mut self.end);
        self.ear.hear(samples, |frame| {
            endpointer.set_pace(reins.pace(endpointer.spoken()));
            *end = end.or(endpointer.frame(frame));
        });
        self.tell_so_far();
    }

    /// Whether the wish or the sound says that it is over. `fresh` is whether sound has just come.
    fn over(&mut self, fresh: bool) -> bool {
        match self.take.reins.wish() {
            Wish::Discard => return true,
            Wish::Stop => _ = self.stopped.get_or_insert_with(Instant::now),
            Wish::LetGo => self.endpointer.let_go(),
            Wish::GoOn => {}
        }
        let tail = self.stopped.map(|stopped| stopped.elapsed());
        fresh && (self.end.is_some() || self.samples.len() >= self.most() || tail.is_some_and(|t| t > TAIL))
            || tail.is_some_and(|t| t > LONG_TAIL)
    }

    /// Copies of what was said are worth something where somebody speaks: when they pause, and now and then before that.
    fn tell_so_far(&mut self) {
        if !self.take.early || !self.endpointer.begun() {
            return;
        }
        let (now, spoken) = (self.samples.len() / FRAME, self.endpointer.spoken());
        let pause = self.endpointer.pauses();
        let wanted = match pause {
            true => self.paused != Some(spoken),
            false => now >= self.told + FURTHER,
        };
        if !wanted {
            return;
        }
        if pause {
            self.paused = Some(spoken);
        }
        self.told = now;
        self.take.so_far.send_replace(Some(SoFar {
            samples: self.samples.as_slice().into(),
            spoken,
            hits: self.endpointer.hits(),
            pause,
        }));
    }

    /// It cannot be listened any more. Whoever had come to the end of a sentence, or ended it themselves, has said what they wanted.
    fn fail(self, why: &str) {
        let said = match self.take.reins.wish() {
            Wish::Discard => true,
            Wish::Stop => self.endpointer.all_hits() > 0,
            Wish::LetGo | Wish::GoOn => self.endpointer.may_be_over(),
        };
        if said {
            self.finish();
            return;
        }
        let _ = self.take.tell.send(Left::Failed(why.to_owned()));
    }

    /// Tells what was said. How many of the last samples do not belong to it.
    fn finish(mut self) -> usize {
        let heard = self.samples.len();
        let mut behind = 0;
        let left = match self.take.reins.wish() {
            Wish::Discard => Left::Nothing,
            wish => {
                let went_on = wish != Wish::Stop && self.end != Some(End::Said) && self.endpointer.begun();
                let full = went_on && self.samples.len() >= self.most();
                self.take.reins.full.store(full, Ordering::Release);
                self.samples.truncate(self.most());
                let ear = &self.endpointer;
                if wish != Wish::Stop && self.end == Some(End::Said) {
                    // What somebody else says meanwhile, farther away, is not theirs.
                    self.samples.truncate(ear.last_hit() * FRAME + PADDING);
                }
                behind = heard - self.samples.len();
                let hits = match wish {
                    // Whoever ends it themselves has spoken until then, however softly.
                    Wish::Stop => ear.all_hits(),
                    _ => ear.hits(),
                };
                Left::Sound(self.samples, ear.spoken(), hits)
            }
        };
        let _ = self.take.tell.send(left);
        behind
    }
}

/// The sound of an open microphone, at 16 kHz.
pub(crate) struct Sounds<'a> {
    blocks: &'a mut Reader,
    resampler: Resampler,
    /// Looks without sound that are left to it.
    left: u32,
    /// What came last.
    pub(crate) fresh: Vec<f32>,
}

impl<'a> Sounds<'a> {
    /// Of blocks with so many samples a second.
    ///
    /// # Errors
    /// When nobody can resample that.
    pub(crate) fn new(blocks: &'a mut Reader, rate: u32) -> anyhow::Result<Sounds<'a>> {
        Ok(Sounds {
            blocks,
            resampler: Resampler::new(rate)?,
            left: DEAD,
            fresh: Vec::new(),
        })
    }

    /// Waits a moment for sound. Whether some came, or why none will come any more.
    pub(crate) fn wait(&mut self) -> Result<bool, &'static str> {
        self.fresh.clear();
        match self.blocks.recv_timeout(LOOK) {
            Ok(Block::Sound(sound)) => {
                if !sound.is_empty() {
                    self.left = DEAD;
                }
                self.resampler
                    .push(&sound, &mut self.fresh)
                    .map_err(|error| broken(&error))?;
                return Ok(true);
            }
            Ok(Block::Lost(why)) => {
                tracing::warn!(why, "the microphone went away");
                return Err(LOST);
            }
            Err(RecvTimeoutError::Disconnected) => return Err(LOST),
            Err(RecvTimeoutError::Timeout) => {}
        }
        self.left = self.left.saturating_sub(1);
        match self.left {
            0 => Err(NO_SOUND),
            _ => Ok(false),
        }
    }
}

fn broken(error: &anyhow::Error) -> &'static str {
    tracing::warn!(%error, "listening failed");
    LOST
}

/// Listens to an open microphone until the utterance is over; what it leaves is told.
pub(super) fn follow(blocks: &mut Reader, rate: u32, (take, begins): Order) {
    let mut following = Following::new(take, begins);
    let mut sounds = match Sounds::new(blocks, rate) {
        Ok(sounds) => sounds,
        Err(error) => return following.fail(broken(&error)),
    };
    while !following.over(false) {
        match sounds.wait() {
            Ok(true) => {
                following.hear(&sounds.fresh);
                if following.over(true) {
                    break;
                }
            }
            Ok(false) => {}
            Err(why) => return following.fail(why),
        }
    }
    sounds.fresh.clear();
    match sounds.resampler.finish(&mut sounds.fresh) {
        Ok(()) => following.samples.extend_from_slice(&sounds.fresh),
        Err(error) => tracing::debug!(%error, "the last milliseconds are lost"),
    }
    following.finish();
}

/// An utterance that is wanted, and where it begins.
pub(super) type Order = (Take, Begins);

/// Where an utterance begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Begins {
    /// A moment ago: who presses a key or answers may have begun to speak.
    Now,
    /// At this sample since the microphone opened, as far as that is still kept.
    Sample(u64),
    /// After so much more sound: what comes before that is none of the person's.
    In(Duration),
}

/// What is kept of an open microphone, samples: 8 s, for an utterance whose beginning is recognised late.
const KEPT: usize = 8 * SAMPLE_RATE as usize;
/// What an utterance has before the moment that it was wanted, samples: half a second, so that its first sound is there.
const PRE_ROLL: usize = SAMPLE_RATE as usize / 2;

/// Listens to an open microphone for as long as somebody can send orders: all sound goes to `spy`, and the utterances that
/// are ordered are followed, one at a time; `in_use` says whether one is. Why it ended, when that was not wanted.
pub(super) fn keep_listening(
    blocks: &mut Reader,
    rate: u32,
    orders: &Receiver<Order>,
    in_use: &AtomicBool,
    mut spy: impl FnMut(&[f32]),
) -> Option<&'static str> {
    let mut sounds = match Sounds::new(blocks, rate) {
        Ok(sounds) => sounds,
        Err(error) => return Some(broken(&error)),
    };
    let mut ring = Ring::default();
    let mut following: Option<Following> = None;
    loop {
        match orders.try_recv() {
            Ok((take, from)) => {
                // Whoever wants another one does not want this one any more, unless it is over anyway.
                if let Some(before) = following.take() {
                    ring.was_said(before.finish());
                }
                let mut begun = Following::new(take, from);
                begun.hear(&ring.since(from));
                following = Some(begun);
            }
            Err(TryRecvError::Empty) => {}
            // What is being said is still followed to its end.
            Err(TryRecvError::Disconnected) if following.is_some() => {}
            Err(TryRecvError::Disconnected) => return None,
        }
        in_use.store(following.is_some(), Ordering::Release);
        let fresh = match sounds.wait() {
            Ok(fresh) => fresh,
            Err(why) => {
                if let Some(following) = following {
                    following.fail(why);
                }
                return Some(why);
            }
        };
        ring.push(&sounds.fresh);
        spy(&sounds.fresh);
        if let Some(mut now) = following.take() {
            now.hear(&sounds.fresh);
            match now.over(fresh) {
                true => ring.was_said(now.finish()),
                false => following = Some(now),
            }
        }
    }
}

/// The last seconds of an open microphone.
#[derive(Default)]
struct Ring {
    samples: VecDeque<f32>,
    /// Samples since the microphone opened.
    total: u64,
    /// Up to which of them somebody was listened to. Nobody says the same twice, so no utterance reaches back before that.
    said: u64,
}

impl Ring {
    fn push(&mut self, samples: &[f32]) {
        self.total += samples.len() as u64;
        let surplus = (self.samples.len() + samples.len()).saturating_sub(KEPT);
        self.samples.drain(..surplus.min(self.samples.len()));
        self.samples
            .extend(&samples[samples.len().saturating_sub(KEPT)..]);
    }

    /// An utterance is over, to which so many of the last samples do not belong.
    fn was_said(&mut self, behind: usize) {
        self.said = self.total.saturating_sub(behind as u64);
    }

    /// What is kept since then.
    fn since(&self, from: Begins) -> Vec<f32> {
        let at = match from {
            Begins::Now => self.total.saturating_sub(PRE_ROLL as u64),
            Begins::In(_) => self.total,
            Begins::Sample(at) => at,
        };
        let wanted = usize::try_from(self.total.saturating_sub(at.max(self.said))).unwrap_or(usize::MAX);
        let skipped = self.samples.len().saturating_sub(wanted);
        self.samples.range(skipped..).copied().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::listen::{
        endpoint::Style,
        hearing::{Settings, wanted},
        pipe::pipe,
    };

    /// Frames of a tenth of a second.
    const BLOCK: usize = SAMPLE_RATE as usize / 10;

    /// Who lets the key go and presses it again within half a second does not say the last word of the first request twice.
    #[test]
    fn an_utterance_does_not_reach_back_into_the_one_before() {
        let (mut writer, mut reader) = pipe(64, SAMPLE_RATE);
        let (orders, ordered) = std::sync::mpsc::channel();
        let (mut listening, mut left) = (None, Vec::new());
        let mut number = 0;
        let mut write = |writer: &mut crate::listen::pipe::Writer| {
            number += 1;
            writer.write(std::iter::repeat_n(number as f32 / 100.0, BLOCK));
        };
        write(&mut writer);
        let spy = |samples: &[f32]| {
            // Each block leads to the next thing that happens.
            match samples
                .first()
                .map_or(0, |first| (first * 100.0).round() as usize)
            {
                4 | 10 => {
                    let (listens, take, hearing) = wanted(&Settings::default(), Style::Hold);
                    orders.send((take, Begins::Now)).unwrap();
                    listening = Some(listens);
                    left.push(hearing.left);
                }
                8 | 14 => listening.as_ref().unwrap().stop(),
                9 | 15 => std::thread::sleep(2 * TAIL),
                18 => return writer.teller().lost("that is all".to_owned()),
                _ => {}
            }
            if !samples.is_empty() {
                write(&mut writer);
            }
        };
        keep_listening(&mut reader, SAMPLE_RATE, &ordered, &AtomicBool::default(), spy);
        let said = left.iter_mut().map(|left| {
            let Left::Sound(samples, ..) = left.try_recv().unwrap() else {
                panic!("nothing was left");
            };
            let number = |sample: &f32| (sample * 100.0).round() as usize;
            (number(&samples[0]), number(samples.last().unwrap()))
        });
        let said: Vec<(usize, usize)> = said.collect();
        println!("{said:?}");
        let [(first, last), (again, _)] = said[..] else {
            panic!("{said:?}")
        };
        assert_eq!(first, 1, "what was said just before counts");
        assert!(last >= 8 && again == last + 1, "{said:?}");
    }

    #[test]
    fn what_came_after_an_utterance_is_there_for_the_next() {
        let mut ring = Ring::default();
        ring.push(&[0.1; 10_000]);
        assert_eq!(ring.since(Begins::Now).len(), PRE_ROLL);
        ring.was_said(300);
        assert_eq!(ring.since(Begins::Now).len(), 300);
        assert_eq!(ring.since(Begins::Sample(0)).len(), 300);
        ring.push(&[0.1; 1000]);
        assert_eq!(ring.since(Begins::Now).len(), 1300);
        assert_eq!(ring.since(Begins::Sample(10_500)).len(), 500);
        assert_eq!(ring.since(Begins::In(Duration::from_secs(3))).len(), 0);
        ring.push(&[0.1; 10_000]);
        assert_eq!(ring.since(Begins::Now).len(), PRE_ROLL);
    }
}
