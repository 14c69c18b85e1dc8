//! One listening: the microphone opens, somebody speaks, the microphone closes. On a thread of its own, which a sound
//! server that hangs may keep without anybody waiting for it.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU8, AtomicUsize, Ordering},
        mpsc::{Receiver, RecvTimeoutError, sync_channel},
    },
    thread,
    time::{Duration, Instant},
};

use models::stt::SAMPLE_RATE;
use tokio::sync::oneshot;

use super::{
    Speech,
    capture::{Block, find},
    endpoint::{Endpointer, Rules, Style},
    resample::Resampler,
    vad,
};

/// How it is listened.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The name of the microphone; empty for the one that the desktop chose.
    pub device: String,
    /// Silence after speech that ends a tap.
    pub silence: Duration,
    /// How long a tap waits for somebody to speak.
    pub patience: Duration,
    /// Longest utterance.
    pub longest: Duration,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            device: String::new(),
            silence: Duration::from_millis(800),
            patience: Duration::from_secs(8),
            longest: Duration::from_secs(60),
        }
    }
}

/// What came of it.
#[derive(Debug, PartialEq)]
pub enum Heard {
    /// Somebody spoke.
    Speech(Speech),
    /// Nobody did.
    Nobody,
    /// Nobody wants to know any more.
    Discarded,
    /// It could not be listened; why, as one sentence.
    Failed(String),
}

/// What a listening leaves behind.
enum Left {
    /// Sound, in which there may be somebody.
    Sound(Vec<f32>),
    /// Nothing to look through.
    Nothing(Heard),
}

/// A microphone that has opened.
pub struct Hearing(oneshot::Receiver<Left>);

impl Hearing {
    /// What came of it, always.
    pub async fn heard(self) -> Heard {
        match self.0.await {
            Ok(Left::Sound(samples)) => tokio::task::spawn_blocking(move || judge(samples))
                .await
                .unwrap_or_else(|_| Heard::Failed(LOST.to_owned())),
            Ok(Left::Nothing(heard)) => heard,
            Err(_) => Heard::Failed(LOST.to_owned()),
        }
    }
}

/// A listening that goes on. Dropping it discards what was heard.
pub struct Listening {
    wish: Arc<AtomicU8>,
}

const GO_ON: u8 = 0;
const STOP: u8 = 1;
const DISCARD: u8 = 2;
const LET_GO: u8 = 3;

/// How long the microphone may take to open.
const OPENING: Duration = Duration::from_secs(5);
/// How long an open microphone may deliver nothing.
const SILENT: Duration = Duration::from_secs(3);
/// How often a wish is looked for while nothing comes.
const LOOK: Duration = Duration::from_millis(20);
/// A sound server delivers in pieces, a quarter of a second on PulseAudio: what was said before the key was let go may
/// still be on its way. The first piece that arrives so much later ...
const TAIL: Duration = Duration::from_millis(100);
/// ... and no later than this, is the last.
const LONG_TAIL: Duration = Duration::from_millis(500);
/// Blocks that may wait while this thread has no processor; on a quiet machine there is never more than one.
const BLOCKS: usize = 512;
/// Threads that servers may hold on to; more would only hang, too.
const MAX_HELD: usize = 4;

const NO_ANSWER: &str = "The sound server does not answer, so I cannot hear you.";
const NO_SOUND: &str = "The microphone is open but no sound comes from it.";
const LOST: &str = "The microphone went away while I listened.";

/// Threads that have the microphone, or try to get or to leave it.
static HELD: AtomicUsize = AtomicUsize::new(0);

impl Listening {
    /// Begins to listen; the future ends when the microphone is open, or says why it is not.
    pub fn begin(
        settings: &Settings,
        style: Style,
    ) -> (
        Listening,
        impl Future<Output = Result<Hearing, Heard>> + Send + use<>,
    ) {
        let wish = Arc::new(AtomicU8::new(GO_ON));
        let (open, opened) = oneshot::channel();
        let (tell, told) = oneshot::channel();
        let rules = Rules {
            style,
            silence: settings.silence,
            patience: settings.patience,
            longest: settings.longest,
        };
        let (device, wishes) = (settings.device.clone(), Arc::clone(&wish));
        let held = Held::one();
        let started = held.map(|held| {
            thread::Builder::new()
                .name("microphone".to_owned())
                .spawn(move || {
                    let _held = held;
                    listen(&device, rules, &wishes, open, tell);
                })
        });
        let wishes = Arc::clone(&wish);
        let hearing = Hearing(told);
        let opening = async move {
            match started {
                None => return Err(Heard::Failed(NO_ANSWER.to_owned())),
                Some(Err(error)) => return Err(Heard::Failed(format!("I cannot listen: {error}."))),
                Some(Ok(_)) => {}
            }
            match tokio::time::timeout(OPENING, opened).await {
                Ok(Ok(())) => Ok(hearing),
                Ok(Err(_)) => Err(hearing.heard().await),
                Err(_) => {
                    wishes.store(DISCARD, Ordering::Release);
                    Err(Heard::Failed(NO_ANSWER.to_owned()))
                }
            }
        };
        (Listening { wish }, opening)
    }

    /// The person has finished: what was said so far counts.
    pub fn stop(&self) {
        self.wish(STOP);
    }

    /// From now on silence ends it, whatever its style was.
    pub fn let_go(&self) {
        self.wish(LET_GO);
    }

    /// What was stopped or discarded stays so.
    fn wish(&self, wish: u8) {
        let goes_on = |now| (now == GO_ON || now == LET_GO).then_some(wish);
        let _ = self
            .wish
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, goes_on);
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        self.wish.store(DISCARD, Ordering::Release);
    }
}

/// A place among those that may have the microphone.
struct Held;

impl Held {
    fn one() -> Option<Held> {
        let before = HELD.fetch_add(1, Ordering::AcqRel);
        // Dropped, and so given back, where it is one too many.
        Some(Held).filter(|_| before < MAX_HELD)
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        HELD.fetch_sub(1, Ordering::AcqRel);
    }
}

/// The whole of one listening. What it leaves is told before the microphone is closed, which may take for ever, and is
/// looked through elsewhere, so that the microphone is closed at once.
fn listen(
    device: &str,
    rules: Rules,
    wish: &AtomicU8,
    opened: oneshot::Sender<()>,
    tell: oneshot::Sender<Left>,
) {
    let (send, blocks) = sync_channel(BLOCKS);
    let began = Instant::now();
    let microphone = find(device).and_then(|m| Ok((m.open(send)?, m)));
    let (stream, microphone) = match microphone {
        Ok(open) => open,
        Err(error) => {
            tracing::warn!("no microphone");
            tracing::debug!(error = format!("{error:#}"), "no microphone");
            let _ = tell.send(Left::Nothing(Heard::Failed(sentence(&error))));
            return;
        }
    };
    tracing::info!(%microphone, ms = began.elapsed().as_millis() as u64, "the microphone is open");
    let _ = opened.send(());
    let left = follow(&blocks, microphone.rate(), rules, wish).unwrap_or_else(|error| {
        tracing::warn!(%error, "listening failed");
        Left::Nothing(Heard::Failed(LOST.to_owned()))
    });
    let _ = tell.send(left);
    drop(stream);
    tracing::debug!("the microphone is closed");
}

/// Listens to an open microphone until the utterance is over.
fn follow(blocks: &Receiver<Block>, rate: u32, rules: Rules, wish: &AtomicU8) -> anyhow::Result<Left> {
    let most = rules.longest.as_secs() as usize * SAMPLE_RATE as usize;
    let (mut resampler, mut ear) = (Resampler::new(rate)?, vad::Ear::default());
    let (mut endpointer, mut end) = (Endpointer::new(rules), None);
    let mut samples = Vec::new();
    let (mut last, mut stopped) = (Instant::now(), None::<Instant>);
    loop {
        match wish.load(Ordering::Acquire) {
            DISCARD => return Ok(Left::Nothing(Heard::Discarded)),
            STOP if stopped.is_none() => stopped = Some(Instant::now()),
            LET_GO => endpointer.let_go(),
            _ => {}
        }
        match blocks.recv_timeout(LOOK) {
            Ok(Block::Sound(sound)) => {
                if !sound.is_empty() {
                    last = Instant::now();
                }
                let from = samples.len();
                resampler.push(&sound, &mut samples)?;
                ear.hear(&samples[from..], |frame| end = end.or(endpointer.frame(frame)));
                if end.is_some() || samples.len() >= most || stopped.is_some_and(|s| s.elapsed() > TAIL) {
                    break;
                }
            }
            Ok(Block::Lost(why)) => {
                tracing::warn!(why, "the microphone went away");
                return failed(LOST);
            }
            Err(RecvTimeoutError::Disconnected) => return failed(LOST),
            Err(RecvTimeoutError::Timeout) => {}
        }
        if stopped.is_some_and(|s| s.elapsed() > LONG_TAIL) {
            break;
        }
        if last.elapsed() > SILENT {
            return failed(NO_SOUND);
        }
    }
    resampler.finish(&mut samples)?;
    samples.truncate(most);
    Ok(Left::Sound(samples))
}

fn failed(why: &str) -> anyhow::Result<Left> {
    Ok(Left::Nothing(Heard::Failed(why.to_owned())))
}

/// Whether somebody spoke.
fn judge(samples: Vec<f32>) -> Heard {
    match vad::speech(&samples) {
        Some(_) => Heard::Speech(Speech { samples }),
        None => Heard::Nobody,
    }
}

/// What the person is told: our own words, and what the system said behind them.
fn sentence(error: &anyhow::Error) -> String {
    let text = format!("{error:#}");
    match text.ends_with('.') {
        true => text,
        false => format!("{text}."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULES: Rules = Rules {
        style: Style::Tap,
        silence: Duration::from_millis(800),
        patience: Duration::from_millis(500),
        longest: Duration::from_secs(2),
    };

    /// What comes of these blocks, at 16 kHz.
    fn followed(wish: u8, blocks: Vec<Block>, open: bool) -> Heard {
        followed_by(RULES, wish, blocks, open)
    }

    fn followed_by(rules: Rules, wish: u8, blocks: Vec<Block>, open: bool) -> Heard {
        let (send, receive) = sync_channel(BLOCKS);
        for block in blocks {
            send.try_send(block).unwrap();
        }
        let _still_open = open.then_some(send);
        match follow(&receive, SAMPLE_RATE, rules, &AtomicU8::new(wish)).unwrap() {
            Left::Sound(samples) => judge(samples),
            Left::Nothing(heard) => heard,
        }
    }

    fn silence(seconds: usize) -> Vec<Block> {
        (0..seconds * 10).map(|_| Block::Sound(vec![0.0; 1600])).collect()
    }

    #[test]
    fn silence_is_nobody_and_a_lost_microphone_is_said() {
        assert_eq!(followed(GO_ON, silence(1), true), Heard::Nobody);
        assert_eq!(followed(STOP, silence(0), true), Heard::Nobody);
        let hold = Rules {
            style: Style::Hold,
            ..RULES
        };
        // The key is let go at once, and nobody speaks: it ends long before its time is over.
        let (send, receive) = sync_channel(BLOCKS);
        for block in silence(1) {
            send.try_send(block).unwrap();
        }
        let left = follow(&receive, SAMPLE_RATE, hold, &AtomicU8::new(LET_GO)).unwrap();
        assert!(matches!(left, Left::Sound(samples) if samples.len() < 16_000));
        assert_eq!(followed(DISCARD, silence(1), true), Heard::Discarded);
        let lost = vec![Block::Lost("gone".to_owned())];
        assert_eq!(followed(GO_ON, lost, true), Heard::Failed(LOST.to_owned()));
        assert_eq!(followed(GO_ON, Vec::new(), false), Heard::Failed(LOST.to_owned()));
    }

    #[test]
    fn a_microphone_without_sound_is_said() {
        let began = Instant::now();
        assert_eq!(
            followed(GO_ON, Vec::new(), true),
            Heard::Failed(NO_SOUND.to_owned())
        );
        assert!(began.elapsed() >= SILENT);
    }

    #[test]
    fn an_utterance_has_a_longest_length_and_no_more_is_kept() {
        let Some(folder) = crate::listen::recordings() else {
            return;
        };
        let spoken = crate::listen::wavs(&folder.join("commands"))
            .iter()
            .map(|path| crate::listen::wav::read(path).unwrap())
            .find(|samples| samples.len() > 24_000)
            .unwrap();
        let blocks = spoken.iter().copied().cycle().take(80_000).collect::<Vec<_>>();
        let blocks = blocks.chunks(1600).map(|b| Block::Sound(b.to_vec())).collect();
        let hold = Rules {
            style: Style::Hold,
            ..RULES
        };
        match followed_by(hold, GO_ON, blocks, true) {
            Heard::Speech(speech) => assert_eq!(speech.samples.len(), 32_000),
            other => panic!("{other:?}"),
        }
    }
}
