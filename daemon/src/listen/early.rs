//! Recognises what is said while it is said, so that the words are there when the person has finished: at each pause all
//! so far is recognised, and when nothing more was said after it, that is the transcript.

use std::{
    pin::Pin,
    time::{Duration, Instant},
};

use models::{
    EngineError,
    stt::{Stt, Transcript},
};

use super::{
    Speech,
    hearing::{Heard, Hearing, judge},
    pace,
    stream::{LOST, Left, SoFar},
};
use crate::room::{Limits, draft, transcribe};

/// While somebody speaks on without a pause, what they said is recognised at most so often ...
const AT_MOST: Duration = Duration::from_millis(600);
/// ... and for at most one part in so many of the time: the processor has other things to do.
const SHARE: u32 = 3;

/// What is told of an utterance before it is over.
#[derive(Debug)]
pub enum Early<'a> {
    /// What was said so far. At a pause it may be all.
    SoFar {
        /// The transcript.
        transcript: &'a Transcript,
        /// Whether the person paused after it.
        pause: bool,
        /// The last frame in which they spoke.
        spoken: usize,
    },
    /// The microphone is closed; what was said last is being recognised.
    Closed,
}

impl Hearing {
    /// What came of it, always; with its transcript, if the recogniser is there. What was said so far is told as it
    /// becomes known.
    pub async fn recognised(
        mut self,
        stt: &dyn Stt,
        limits: &Limits,
        mut tell: impl FnMut(Early<'_>) + Send,
    ) -> Heard {
        let mut work: Option<Work<'_>> = None;
        // What was said up to the last pause.
        let mut known: Option<(Said, Transcript)> = None;
        let mut shown = None;
        // The pause that was looked at last, whatever came of it: a recogniser that fails is not asked on and on.
        let mut tried = None;
        let mut rest = Instant::now();
        let left = loop {
            let due = work.is_none().then_some(rest);
            tokio::select! {
                biased;
                left = &mut self.left => break left.unwrap_or_else(|_| Left::Failed(LOST.to_owned())),
                // When the sender is gone, what is left is there as well.
                Ok(()) = self.so_far.changed() => {}
                done = finished(&mut work) => {
                    let took = done.began.elapsed();
                    rest = Instant::now() + AT_MOST.max(took * SHARE).saturating_sub(took);
                    match done.result {
                        Ok(transcript) => {
                            if done.pause {
                                self.reins.set_pace(done.said.spoken, pace::after(&transcript.text));
                            }
                            tell(Early::SoFar {
                                transcript: &transcript,
                                pause: done.pause,
                                spoken: done.said.spoken,
                            });
                            shown = Some(done.said.spoken);
                            if done.pause {
                                known = Some((done.said, transcript));
                            }
                        }
                        Err(error) => tracing::debug!(%error, "what was said so far was not recognised"),
                    }
                }
                () = at(due), if due.is_some_and(|due| due > Instant::now()) => {}
            }
            let Some(now) = self.so_far.borrow().clone() else {
                continue;
            };
            let wanted = match (&work, now.pause) {
                // A pause is worth dropping what was begun while the person spoke.
                (Some(work), true) => !(work.pause && work.said.spoken == now.spoken),
                (Some(_), false) => false,
                (None, true) => tried != Some(now.spoken),
                (None, false) => shown != Some(now.spoken) && Instant::now() >= rest,
            };
            if wanted {
                tried = now.pause.then_some(now.spoken);
                work = Some(Work::begin(stt, limits, now));
            }
        };
        let Left::Sound(samples, spoken, hits) = left else {
            return judge(left).await;
        };
        let heard = judge(Left::Sound(samples, spoken, hits)).await;
        let Heard::Speech(speech) = heard else {
            return heard;
        };
        tell(Early::Closed);
        // What was begun while the person spoke lacks their last words.
        let all = Said { spoken, hits };
        let mut work = work.filter(|work| work.pause && work.said.is_all(all));
        let transcript = match known.filter(|known| known.0.is_all(all) && work.is_none()) {
            Some((_, transcript)) => Ok(transcript),
            None if work.is_some() => finished(&mut work).await.result,
            None => transcribe(stt, limits, &speech).await,
        };
        let transcript = transcript
            .inspect_err(|error| tracing::debug!(%error, "not recognised; the turn will try again"))
            .ok();
        Heard::Speech(Speech { transcript, ..speech })
    }
}

/// How much was said.
#[derive(Debug, Clone, Copy)]
struct Said {
    /// The last frame in which somebody surely spoke.
    spoken: usize,
    /// Frames that may have been speech.
    hits: usize,
}

/// So many single frames after a pause are noise; a soft word has more.
const NOISE: usize = 4;

impl Said {
    /// Whether this was all, when so much was said in the end: nobody surely spoke after it, and nobody softly.
    fn is_all(self, end: Said) -> bool {
        self.spoken == end.spoken && end.hits <= self.hits + NOISE
    }
}

/// A recognition that goes on. Dropping it stops the recogniser.
struct Work<'a> {
    said: Said,
    pause: bool,
    began: Instant,
    result: Pin<Box<dyn Future<Output = Result<Transcript, EngineError>> + Send + 'a>>,
}

struct Done {
    said: Said,
    pause: bool,
    began: Instant,
    result: Result<Transcript, EngineError>,
}

impl<'a> Work<'a> {
    fn begin(stt: &'a dyn Stt, limits: &'a Limits, so_far: SoFar) -> Work<'a> {
        let (said, pause) = (
            Said {
                spoken: so_far.spoken,
                hits: so_far.hits,
            },
            so_far.pause,
        );
        let result = Box::pin(async move {
            let speech = Speech {
                samples: so_far.samples.to_vec(),
                transcript: None,
                after: None,
            };
            match pause {
                true => transcribe(stt, limits, &speech).await,
                false => draft(stt, limits, &speech).await,
            }
        });
        Work {
            said,
            pause,
            began: Instant::now(),
            result,
        }
    }
}

/// Waits for the work, for ever if there is none; it is gone then.
async fn finished(work: &mut Option<Work<'_>>) -> Done {
    let Some(now) = work else {
        return std::future::pending().await;
    };
    let result = now.result.as_mut().await;
    let done = Done {
        said: now.said,
        pause: now.pause,
        began: now.began,
        result,
    };
    *work = None;
    done
}

async fn at(due: Option<Instant>) {
    if let Some(due) = due {
        tokio::time::sleep_until(due.into()).await;
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use models::scripted::{Reply, ScriptedStt};
    use tokio::sync::{oneshot, watch};

    use super::*;
    use crate::listen::{recordings, stream::Reins, wav};

    const STEP: Duration = Duration::from_millis(50);

    /// What a thread with a microphone holds.
    struct Thread {
        left: oneshot::Sender<Left>,
        so_far: watch::Sender<Option<SoFar>>,
        samples: Vec<f32>,
    }

    fn begun() -> Option<(Thread, Hearing, Arc<Reins>)> {
        let folder = recordings()?;
        let samples = wav::read(&folder.join("read/81e4d2-what_time_is_it.wav")).unwrap();
        let (left, is_left) = oneshot::channel();
        let (so_far, is_so_far) = watch::channel(None);
        let reins = Arc::<Reins>::default();
        let hearing = Hearing {
            left: is_left,
            so_far: is_so_far,
            reins: Arc::clone(&reins),
        };
        let thread = Thread {
            left,
            so_far,
            samples,
        };
        Some((thread, hearing, reins))
    }

    impl Thread {
        async fn says(&self, spoken: usize, pause: bool) {
            self.so_far.send_replace(Some(SoFar {
                samples: self.samples.as_slice().into(),
                spoken,
                hits: spoken,
                pause,
            }));
            // Long enough for the scripted recogniser.
            tokio::time::sleep(STEP).await;
        }

        async fn ends(self, spoken: usize) {
            self.softly(spoken, 0);
        }

        /// After the last word somebody says something so softly that only so many frames show it.
        fn softly(self, spoken: usize, hits: usize) {
            let left = Left::Sound(self.samples, spoken, spoken + hits);
            self.left.send(left).unwrap();
        }
    }

    fn limits() -> Limits {
        Limits {
            budget: 1000,
            max_tokens: 10,
            temperature: 0.0,
            generate: Duration::from_secs(10),
            transcribe: Duration::from_secs(10),
            patience: Duration::from_secs(10),
            language: None,
            bias: None,
            names: crate::room::Expecting::none(),
            read_ahead: None,
        }
    }

    /// What is recognised when this happens, and how often the recogniser was asked.
    async fn heard(
        stt: ScriptedStt,
        happens: impl AsyncFnOnce(Thread),
    ) -> Option<(Option<String>, usize, Vec<String>)> {
        let (thread, hearing, _) = begun()?;
        let (limits, mut told) = (limits(), Vec::new());
        let listen = hearing.recognised(&stt, &limits, |early| {
            told.push(match early {
                Early::SoFar {
                    transcript, pause, ..
                } => format!("{} {pause}", transcript.text),
                Early::Closed => "closed".to_owned(),
            });
        });
        let (heard, ()) = tokio::join!(listen, happens(thread));
        let Heard::Speech(speech) = heard else {
            panic!("{heard:?}")
        };
        Some((speech.transcript.map(|t| t.text), stt.requests().len(), told))
    }

    #[tokio::test]
    async fn what_was_recognised_at_the_last_pause_is_the_transcript() {
        let stt = ScriptedStt::replies(["what time is it"]);
        let Some(got) = heard(stt, async |thread| {
            thread.says(90, true).await;
            thread.ends(90).await;
        })
        .await
        else {
            return;
        };
        let told = vec!["what time is it true".to_owned(), "closed".to_owned()];
        assert_eq!(got, (Some("what time is it".to_owned()), 1, told));
    }

    #[tokio::test]
    async fn what_is_not_finished_gets_one_look() {
        let Some((thread, hearing, _)) = begun() else {
            return;
        };
        let (stt, limits) = (ScriptedStt::replies(["what", "what time is it"]), limits());
        let listen = hearing.recognised(&stt, &limits, |_| {});
        let happens = async {
            thread.says(40, false).await;
            thread.says(90, true).await;
            thread.ends(90).await;
        };
        tokio::join!(listen, happens);
        let windows: Vec<Option<u32>> = stt.requests().iter().map(|asked| asked.audio_ctx).collect();
        assert!(matches!(windows[..], [Some(1..1500), None]), "{windows:?}");
    }

    #[tokio::test]
    async fn words_after_the_pause_are_not_lost() {
        let stt = ScriptedStt::replies(["what time", "what time is it"]);
        let Some((text, asked, _)) = heard(stt, async |thread| {
            thread.says(40, true).await;
            thread.ends(90).await;
        })
        .await
        else {
            return;
        };
        assert_eq!((text.as_deref(), asked), (Some("what time is it"), 2));
    }

    #[tokio::test]
    async fn a_soft_word_after_the_pause_is_not_lost_either() {
        for (hits, asks) in [(NOISE, 1), (NOISE + 1, 2)] {
            let stt = ScriptedStt::replies(["delete it", "delete it, no"]);
            let Some((text, asked, _)) = heard(stt, async |thread| {
                thread.says(90, true).await;
                thread.softly(90, hits);
            })
            .await
            else {
                return;
            };
            assert_eq!(asked, asks, "{text:?}");
        }
    }

    #[tokio::test]
    async fn what_was_recognised_while_somebody_spoke_on_is_shown_and_not_believed() {
        let stt = ScriptedStt::replies(["what", "what time is it"]);
        let Some((text, asked, told)) = heard(stt, async |thread| {
            thread.says(90, false).await;
            // The key was let go at once: nothing was said after that frame, but it may lack its end.
            thread.ends(90).await;
        })
        .await
        else {
            return;
        };
        assert_eq!((text.as_deref(), asked), (Some("what time is it"), 2));
        assert_eq!(told, ["what false", "closed"]);
    }

    #[tokio::test]
    async fn a_recogniser_that_fails_early_is_asked_again_and_then_left_to_the_turn() {
        let stt = ScriptedStt::answering(|_| Reply::Fail(EngineError::Refused("no".into())));
        let Some((text, asked, told)) = heard(stt, async |thread| {
            thread.says(90, true).await;
            thread.ends(90).await;
        })
        .await
        else {
            return;
        };
        assert_eq!((text, asked), (None, 2));
        assert_eq!(told, ["closed"]);
    }

    #[tokio::test]
    async fn a_pause_drops_what_was_begun_before_it() {
        let mut first = true;
        let stt = ScriptedStt::answering(move |_| match std::mem::take(&mut first) {
            true => Reply::Hang("what".into()),
            false => Reply::Text("what time is it".into()),
        });
        let Some((text, asked, _)) = heard(stt, async |thread| {
            thread.says(60, false).await;
            thread.says(90, true).await;
            thread.ends(90).await;
        })
        .await
        else {
            return;
        };
        assert_eq!((text.as_deref(), asked), (Some("what time is it"), 2));
    }

    #[tokio::test]
    async fn who_talks_on_is_recognised_now_and_then_only() {
        let stt = ScriptedStt::answering(|_| Reply::Text("and so on".into()));
        let Some((_, asked, _)) = heard(stt, async |thread| {
            for frame in 0..30 {
                thread.says(60 + frame * 3, false).await;
            }
            thread.ends(2000).await;
        })
        .await
        else {
            return;
        };
        // One of them is the last.
        assert!((3..=5).contains(&asked), "{asked} times in 1.5 s");
    }

    #[tokio::test]
    async fn who_looks_for_words_gets_time() {
        let Some((thread, hearing, reins)) = begun() else {
            return;
        };
        let stt = ScriptedStt::replies(["add milk and", "add milk and bread"]);
        let limits = limits();
        let listen = hearing.recognised(&stt, &limits, |_| ());
        let (_, ()) = tokio::join!(listen, async {
            thread.says(50, true).await;
            assert_eq!(reins.pace(50), 200);
            assert_eq!(reins.pace(51), 100, "for this pause only");
            thread.says(90, true).await;
            assert_eq!(reins.pace(90), 100);
            thread.ends(90).await;
        });
    }
}
