//! One listening: the microphone opens, somebody speaks, the microphone closes. On a thread of its own, which a sound
//! server that hangs may keep without anybody waiting for it.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use tokio::sync::{oneshot, watch};

use super::{
    Speech,
    capture::find,
    endpoint::{Rules, Style},
    pace,
    pipe::pipe,
    stream::{Begins, Left, Reins, SoFar, Take, Wish, follow},
    vad,
};
use crate::room::Foreseen;

pub(crate) use super::stream::{LOST, Sounds};

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
    /// Whether what is said is recognised while the person still speaks.
    pub early: bool,
    /// Whether it is the answer to a question: everything counts then that is said, however softly.
    pub answer: bool,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            device: String::new(),
            silence: Duration::from_millis(800),
            patience: Duration::from_secs(8),
            longest: Duration::from_secs(60),
            early: true,
            answer: false,
        }
    }
}

impl Settings {
    fn rules(&self, style: Style) -> Rules {
        Rules {
            style,
            silence: self.silence,
            patience: self.patience,
            longest: self.longest,
            answer: self.answer,
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
    /// Nobody could, because the microphone is muted in the settings of the desktop.
    Muted,
    /// Nobody wants to know any more.
    Discarded,
    /// It could not be listened; why, as one sentence.
    Failed(String),
}

impl Heard {
    /// The words, where they are known already.
    pub fn text(&self) -> Option<&str> {
        match self {
            Heard::Speech(speech) => speech
                .transcript
                .as_ref()
                .map(|transcript| transcript.text.as_str()),
            _ => None,
        }
    }
}

/// A microphone that has opened.
pub struct Hearing {
    pub(super) left: oneshot::Receiver<Left>,
    pub(super) so_far: watch::Receiver<Option<SoFar>>,
    pub(super) reins: Arc<Reins>,
}

impl Hearing {
    /// What came of it, always.
    pub async fn heard(self) -> Heard {
        let left = self.left.await;
        judge(left.unwrap_or_else(|_| Left::Failed(LOST.to_owned()))).await
    }
}

/// A listening that goes on. Dropping it discards what was heard.
pub struct Listening {
    reins: Arc<Reins>,
}

/// How long the microphone may take to open.
pub(super) const OPENING: Duration = Duration::from_secs(5);
/// Blocks that may wait while this thread has no processor, 16 s at the most (`pipe`); on a quiet machine there is never
/// more than one.
pub(super) const BLOCKS: usize = 512;
/// Threads that servers may hold on to; more would only hang, too.
const MAX_HELD: usize = 4;

pub(super) const NO_ANSWER: &str = "The sound server does not answer, so I cannot hear you.";
/// Threads that have the microphone, or try to get or to leave it.
static HELD: AtomicUsize = AtomicUsize::new(0);

impl Listening {
    /// Begins to listen; the future ends when the microphone is open, or says why it is not.
    pub fn begin(
        settings: &Settings,
        style: Style,
        begins: Begins,
    ) -> (
        Listening,
        impl Future<Output = Result<Hearing, Heard>> + Send + use<>,
    ) {
        let (listening, take, hearing) = wanted(settings, style);
        let (open, opened) = oneshot::channel();
        let device = settings.device.clone();
        let held = Held::one();
        let started = held.map(|held| {
            thread::Builder::new()
                .name("microphone".to_owned())
                .spawn(move || {
                    let _held = held;
                    listen(&device, take, begins, open);
                })
        });
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
                    hearing.reins.set(Wish::Discard);
                    Err(Heard::Failed(NO_ANSWER.to_owned()))
                }
            }
        };
        (listening, opening)
    }

    /// The person has finished: what was said so far counts.
    pub fn stop(&self) {
        self.reins.set(Wish::Stop);
    }

    /// What to call with what becomes known of the words up to this frame: less silence then ends a request that lacks nothing,
    /// unless the words sound as if more should come.
    pub fn known(&self, spoken: usize, text: &str) -> impl Fn(Foreseen) + Send + use<> {
        let (reins, text) = (Arc::clone(&self.reins), text.to_owned());
        move |known| reins.set_pace(spoken, pace::after_known(&text, known))
    }

    /// Whether the longest length ended it while the person may have had more to say.
    pub fn was_cut_off(&self) -> bool {
        self.reins.is_full()
    }

    /// From now on silence ends it, whatever its style was.
    pub fn let_go(&self) {
        self.reins.set(Wish::LetGo);
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        self.reins.set(Wish::Discard);
    }
}

/// An utterance that is wanted, and what is given to whom.
pub(super) fn wanted(settings: &Settings, style: Style) -> (Listening, Take, Hearing) {
    let reins = Arc::<Reins>::default();
    let (tell, left) = oneshot::channel();
    let (told, so_far) = watch::channel(None);
    let take = Take {
        rules: settings.rules(style),
        reins: Arc::clone(&reins),
        early: settings.early,
        so_far: told,
        tell,
    };
    let hearing = Hearing {
        left,
        so_far,
        reins: Arc::clone(&reins),
    };
    (Listening { reins }, take, hearing)
}

/// A place among those that may have the microphone.
pub(super) struct Held;

impl Held {
    pub(super) fn one() -> Option<Held> {
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

/// Whether the microphone of this name is muted in the settings of the desktop, as far as that can be told soon.
pub async fn is_muted(device: &str) -> bool {
    let (tell, told) = oneshot::channel();
    let (device, held) = (device.to_owned(), Held::one());
    // On a thread, because a sound server that hangs keeps it. Without one the answer is that nobody knows.
    let looking = held.map(|held| {
        thread::Builder::new()
            .name("microphone".to_owned())
            .spawn(move || {
                let _held = held;
                let _ = tell.send(find(&device).is_ok_and(|microphone| microphone.is_muted()));
            })
    });
    matches!(looking, Some(Ok(_))) && matches!(tokio::time::timeout(OPENING, told).await, Ok(Ok(true)))
}

/// The whole of one listening. What it leaves is told before the microphone is closed, which may take for ever, and is
/// looked through elsewhere, so that the microphone is closed at once.
fn listen(device: &str, take: Take, begins: Begins, opened: oneshot::Sender<()>) {
    let began = Instant::now();
    let microphone = find(device).and_then(|m| {
        let (writer, reader) = pipe(BLOCKS, m.rate());
        Ok((m.open(writer)?, m, reader))
    });
    let (stream, microphone, mut blocks) = match microphone {
        Ok(open) => open,
        Err(error) => {
            tracing::warn!("no microphone");
            tracing::debug!(error = format!("{error:#}"), "no microphone");
            let _ = take.tell.send(Left::Failed(sentence(&error)));
            return;
        }
    };
    tracing::info!(%microphone, ms = began.elapsed().as_millis() as u64, "the microphone is open");
    let _ = opened.send(());
    follow(&mut blocks, microphone.rate(), (take, begins));
    drop(stream);
    tracing::debug!("the microphone is closed");
}

/// Whether somebody spoke.
pub(super) async fn judge(left: Left) -> Heard {
    let samples = match left {
        Left::Sound(samples, ..) => samples,
        Left::Nothing => return Heard::Discarded,
        Left::Failed(why) => return Heard::Failed(why),
    };
    let looked = tokio::task::spawn_blocking(move || match vad::speech(&samples) {
        Some(_) => Heard::Speech(Speech {
            samples,
            transcript: None,
            after: None,
        }),
        None => Heard::Nobody,
    });
    looked.await.unwrap_or_else(|_| Heard::Failed(LOST.to_owned()))
}

/// What the person is told: our own words, and what the system said behind them.
pub(super) fn sentence(error: &anyhow::Error) -> String {
    let text = format!("{error:#}");
    match text.ends_with('.') {
        true => text,
        false => format!("{text}."),
    }
}

#[cfg(test)]
mod tests {
    use models::stt::SAMPLE_RATE;

    use super::*;
    use crate::listen::{capture::Block, stream::NO_SOUND};

    const RULES: Rules = Rules {
        style: Style::Tap,
        silence: Duration::from_millis(800),
        patience: Duration::from_millis(500),
        longest: Duration::from_secs(2),
        answer: false,
    };

    /// What comes of these blocks, at 16 kHz.
    fn followed(wish: Wish, blocks: Vec<Block>, open: bool) -> Heard {
        followed_by(RULES, wish, blocks, open)
    }

    fn followed_by(rules: Rules, wish: Wish, blocks: Vec<Block>, open: bool) -> Heard {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(judge(left_by(rules, wish, blocks, open)))
    }

    fn left_by(rules: Rules, wish: Wish, blocks: Vec<Block>, open: bool) -> Left {
        left_from(rules, wish, blocks, open, Begins::Now).0
    }

    /// What is left, and whether the person was cut off.
    fn left_from(rules: Rules, wish: Wish, blocks: Vec<Block>, open: bool, begins: Begins) -> (Left, bool) {
        let (mut writer, mut reader) = pipe(BLOCKS, SAMPLE_RATE);
        for block in blocks {
            match block {
                Block::Sound(sound) => writer.write(sound.into_iter()),
                Block::Lost(why) => writer.teller().lost(why),
            }
        }
        assert_eq!(reader.missed(), 0);
        let _still_open = open.then_some(writer);
        let (listening, mut take, mut hearing) = wanted(&Settings::default(), rules.style);
        take.rules = rules;
        listening.reins.set(wish);
        follow(&mut reader, SAMPLE_RATE, (take, begins));
        (hearing.left.try_recv().unwrap(), listening.was_cut_off())
    }

    fn silence(seconds: usize) -> Vec<Block> {
        (0..seconds * 10).map(|_| Block::Sound(vec![0.0; 1600])).collect()
    }

    #[test]
    fn silence_is_nobody_and_a_lost_microphone_is_said() {
        assert_eq!(followed(Wish::GoOn, silence(1), true), Heard::Nobody);
        assert_eq!(followed(Wish::Stop, silence(0), true), Heard::Nobody);
        let hold = Rules {
            style: Style::Hold,
            ..RULES
        };
        // The key is let go at once, and nobody speaks: it ends long before its time is over.
        let left = left_by(hold, Wish::LetGo, silence(1), true);
        assert!(matches!(left, Left::Sound(samples, ..) if samples.len() < 16_000));
        assert_eq!(followed(Wish::Discard, silence(1), true), Heard::Discarded);
        let lost = vec![Block::Lost("gone".to_owned())];
        assert_eq!(followed(Wish::GoOn, lost, true), Heard::Failed(LOST.to_owned()));
        assert_eq!(
            followed(Wish::GoOn, Vec::new(), false),
            Heard::Failed(LOST.to_owned())
        );
    }

    const HOLD: Rules = Rules {
        style: Style::Hold,
        ..RULES
    };

    /// Somebody asks for the time, and so much silence, in blocks of a tenth of a second.
    fn request(silence: usize) -> Option<Vec<Block>> {
        let file = crate::listen::recordings()?.join("read/81e4d2-what_time_is_it.wav");
        let samples = crate::listen::wav::read(&file).unwrap();
        let spoken = &samples[vad::speech(&samples).unwrap()];
        // Without the silence that a whole recording keeps around what is said.
        let spoken = &spoken[..spoken.len() - SAMPLE_RATE as usize / 4];
        let all: Vec<f32> = (spoken.iter().copied())
            .chain(std::iter::repeat_n(0.0, silence))
            .collect();
        Some(
            all.chunks(1600)
                .map(|block| Block::Sound(block.to_vec()))
                .collect(),
        )
    }

    #[test]
    fn what_was_said_before_the_microphone_went_away_counts_where_the_sentence_was_over() {
        const LONG: Rules = Rules {
            longest: Duration::from_secs(10),
            ..HOLD
        };
        let lost = || Block::Lost("unplugged".to_owned());
        let (Some(mut over), Some(middle)) = (request(16_000), request(0)) else {
            return;
        };
        let whole = over.len();
        over.push(lost());
        let heard = followed_by(LONG, Wish::GoOn, over, true);
        assert!(
            matches!(&heard, Heard::Speech(speech) if speech.samples.len() > (whole - 2) * 1600),
            "{heard:?}"
        );
        // Who was in the middle of a word has to say it again.
        let words = middle.len();
        let half = |middle: Vec<Block>| {
            let half = middle.into_iter().take(words / 2);
            half.chain([lost()]).collect()
        };
        assert_eq!(
            followed_by(LONG, Wish::GoOn, half(middle), true),
            Heard::Failed(LOST.to_owned())
        );
        // But who had ended it themselves had said what they wanted.
        let ended = followed_by(LONG, Wish::Stop, half(request(0).unwrap()), true);
        assert!(matches!(&ended, Heard::Speech(_)), "{ended:?}");
        // A cable that is loose while nobody speaks is no request.
        let mut nothing = silence(1);
        nothing.push(lost());
        assert_eq!(
            followed_by(LONG, Wish::GoOn, nothing, true),
            Heard::Failed(LOST.to_owned())
        );
    }

    #[test]
    fn who_is_cut_off_is_known() {
        let Some(said) = request(0) else { return };
        let short = Rules {
            longest: Duration::from_secs(1),
            ..HOLD
        };
        let (left, cut) = left_from(short, Wish::GoOn, said, true, Begins::Now);
        assert!(cut && matches!(left, Left::Sound(samples, ..) if samples.len() == SAMPLE_RATE as usize));
        for (rules, wish, sound) in [
            (RULES, Wish::GoOn, request(32_000)),
            (HOLD, Wish::Stop, request(0)),
            (short, Wish::GoOn, Some(silence(2))),
        ] {
            let (_, cut) = left_from(rules, wish, sound.unwrap(), true, Begins::Now);
            assert!(!cut, "{rules:?}");
        }
    }

    #[test]
    fn what_tiro_still_says_is_left_out_of_a_microphone_that_opens() {
        let (Some(all), Some(some)) = (request(32_000), request(32_000)) else {
            return;
        };
        let heard = |blocks, begins| match left_from(RULES, Wish::GoOn, blocks, true, begins).0 {
            Left::Sound(samples, ..) => samples,
            other => panic!("{other:?}"),
        };
        let (all, some) = (
            heard(all, Begins::Now),
            heard(some, Begins::In(Duration::from_millis(400))),
        );
        assert_eq!(some[..1600], all[6400..8000]);
    }

    #[test]
    fn a_microphone_without_sound_is_said() {
        let failed = || Heard::Failed(NO_SOUND.to_owned());
        let patient = Rules {
            patience: Duration::from_mins(1),
            ..RULES
        };
        let began = Instant::now();
        assert_eq!(followed_by(patient, Wish::GoOn, silence(0), true), failed());
        assert_eq!(followed_by(patient, Wish::GoOn, silence(1), true), failed());
        assert!(began.elapsed() >= Duration::from_secs(6), "{:?}", began.elapsed());
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
        match followed_by(hold, Wish::GoOn, blocks, true) {
            Heard::Speech(speech) => assert_eq!(speech.samples.len(), 32_000),
            other => panic!("{other:?}"),
        }
    }
}
