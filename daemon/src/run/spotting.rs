//! Clips of the open microphone go to the recogniser, which says whether they begin with the phrase. Who waits for nothing but
//! that hears nothing of a recogniser that does not work, so the person is told.

use std::{
    sync::{
        Arc, Mutex as StdMutex,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use models::{
    EngineError,
    stt::{SAMPLE_RATE, Stt},
};
use prompts::words;
use tokio::sync::{
    broadcast::{self, error::RecvError},
    mpsc, watch,
};

use super::{
    Event, Source,
    front::lock,
    waking::{ECHO, Settings, Woken},
};
use crate::{
    listen::wake::{Candidate, Looked, Watch, look, patience},
    speak::Own,
};

/// A recogniser that has to load its model first may take so long for that.
const LOADING: Duration = Duration::from_secs(30);
/// Clips that may wait while one is recognised; older ones are of no use.
const CLIPS: usize = 2;
/// A recogniser may fail once, and be started again for the next clip. Who fails so often in a row does not work; one that was
/// only too late may have had something else to do, which counts for half.
const FAILURES: u32 = 2;

/// Asks the recogniser whether clips begin with a phrase, one after the other.
pub(super) struct Spotter {
    pub(super) number: u64,
    pub(super) stt: Arc<dyn Stt>,
    pub(super) watch: Arc<StdMutex<Watch>>,
    pub(super) total: Arc<AtomicU64>,
    pub(super) settings: Settings,
    /// What Tiro says itself.
    pub(super) own: watch::Receiver<Own>,
    pub(super) language: Option<String>,
    pub(super) events: mpsc::Sender<Event>,
}

/// How often somebody had been listened to, and a clip that may begin with the phrase.
pub(super) type Heard = (u64, Candidate);

/// The way of clips to the spotter. Where too many wait, the oldest is lost: the newest may be the call.
pub(super) fn clips() -> (broadcast::Sender<Heard>, broadcast::Receiver<Heard>) {
    broadcast::channel(CLIPS)
}

impl Spotter {
    /// Until nobody has clips any more.
    pub(super) async fn run(self, mut clips: broadcast::Receiver<Heard>) {
        let mut health = Health::default();
        // Where the last clip ended in which the phrase was heard.
        let mut called = 0;
        loop {
            let (listenings, clip) = match clips.recv().await {
                Ok(heard) => heard,
                Err(RecvError::Lagged(_)) => continue,
                Err(RecvError::Closed) => return,
            };
            // The same call once more, and the recogniser has the request to hear now.
            if clip.at < called {
                continue;
            }
            let age = |at: u64| {
                let samples = self.total.load(Ordering::Acquire).saturating_sub(at);
                Duration::from_secs_f64(samples as f64 / f64::from(SAMPLE_RATE))
            };
            // What may be in the clip, and no more: who calls after that is not to be asked twice.
            let own = self.own.borrow().lately(ECHO + age(clip.at));
            let looked = self.looked(&clip, own.as_deref()).await;
            if let Some(texts) = health.after(looked.as_ref().err()) {
                let source = Source::Recogniser;
                let _ = self.events.send(Event::Noticed { source, texts }).await;
            }
            match looked {
                Ok(Looked::Phrase(spotted)) => {
                    lock(&self.watch).pause(self.settings.refractory);
                    called = clip.end();
                    let woken = Woken {
                        microphone: self.number,
                        listenings,
                        age: age(clip.end()),
                        clip: (clip.at, clip.end()),
                        goes_on: !spotted.rest.is_empty(),
                        over_own: own.is_some(),
                    };
                    tracing::info!(score = spotted.score, "woken");
                    let _ = self.events.send(Event::Woken(woken)).await;
                }
                Ok(Looked::Noise) if !clip.early => lock(&self.watch).was_noise(),
                Ok(Looked::Noise | Looked::Speech) => {}
                Err(error) => tracing::debug!(%error, "a clip was not looked at"),
            }
        }
    }

    /// What a clip turned out to be; `own` is what Tiro said meanwhile.
    async fn looked(&self, clip: &Candidate, own: Option<&str>) -> Result<Looked, EngineError> {
        // A task of its own, because one that takes too long goes on: it has loaded for the next clip.
        let stt = Arc::clone(&self.stt);
        let loading = tokio::spawn(async move { stt.load().await });
        match tokio::time::timeout(LOADING, loading).await {
            Ok(loaded) => loaded.unwrap_or(Ok(()))?,
            Err(_) => return Err(EngineError::TimedOut(LOADING)),
        }
        let (language, phrases) = (self.language.as_deref(), &self.settings.phrases);
        let patience = patience(&*self.stt, clip);
        look(&*self.stt, clip, language, phrases, own, patience).await
    }
}

/// Loads the recogniser, and tells what keeps it from that.
pub(super) async fn load(stt: Arc<dyn Stt>, events: mpsc::Sender<Event>) {
    if let Err(error) = stt.info().await {
        tracing::warn!(%error, "the recogniser is not ready");
        let (source, texts) = (Source::Recogniser, told(&error));
        let _ = events.send(Event::Noticed { source, texts }).await;
    }
}

fn told(error: &EngineError) -> Vec<String> {
    vec![words::nobody_wakes_me(&error.to_string())]
}

/// How the recogniser has done lately.
#[derive(Debug, Default)]
struct Health {
    /// How often in a row it failed, in halves.
    failures: u32,
    /// Whether it is known that it works.
    works: bool,
}

impl Health {
    /// It was asked again. What is wrong now, where that may be something else than before.
    fn after(&mut self, error: Option<&EngineError>) -> Option<Vec<String>> {
        let Some(error) = error else {
            self.failures = 0;
            return (!std::mem::replace(&mut self.works, true)).then(Vec::new);
        };
        self.failures = self.failures.saturating_add(match error {
            EngineError::TimedOut(_) => 1,
            _ => 2,
        });
        (self.failures >= 2 * FAILURES).then(|| {
            self.works = false;
            told(error)
        })
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use models::scripted::ScriptedStt;

    use super::*;
    use crate::listen::wake::Phrases;

    const SECOND: usize = SAMPLE_RATE as usize;
    /// So much was heard since the microphone opened.
    const TOTAL: usize = 100 * SECOND;

    /// Lets clips of these lengths, in samples, be judged, one behind the other, of which the last ends now; whether each phrase
    /// that was heard was over own words, and how long the clips are that the recogniser was given.
    async fn judged(own: Own, lengths: &[usize]) -> (Vec<bool>, Vec<usize>) {
        let end = |n: usize| TOTAL - lengths[n + 1..].iter().sum::<usize>();
        let spans = lengths
            .iter()
            .enumerate()
            .map(|(n, length)| (end(n) - length, *length));
        judged_at(own, &spans.collect::<Vec<_>>()).await
    }

    /// The same of clips that begin at these samples.
    async fn judged_at(own: Own, spans: &[(usize, usize)]) -> (Vec<bool>, Vec<usize>) {
        let stt = Arc::new(ScriptedStt::answering(|_| "Computer!".to_owned().into()));
        let (events, mut happened) = mpsc::channel(16);
        let spotter = Spotter {
            number: 1,
            stt: stt.clone(),
            watch: Arc::default(),
            total: Arc::new(AtomicU64::new(TOTAL as u64)),
            settings: Settings {
                phrases: Phrases::new(vec!["computer".parse().unwrap()], 0.5).into(),
                refractory: Duration::ZERO,
                follow_up: Duration::ZERO,
            },
            own: watch::Sender::new(own).subscribe(),
            language: None,
            events,
        };
        let (send, heard) = clips();
        for &(at, length) in spans {
            let clip = Candidate {
                at: at as u64,
                onset: SECOND / 2,
                samples: vec![0.0; length],
                early: false,
            };
            send.send((0, clip)).unwrap();
        }
        drop(send);
        spotter.run(heard).await;
        let mut over = Vec::new();
        while let Ok(event) = happened.try_recv() {
            if let Event::Woken(woken) = event {
                over.push(woken.over_own);
            }
        }
        let given = stt
            .requests()
            .iter()
            .map(|request| request.samples.len())
            .collect();
        (over, given)
    }

    /// It fell silent so long ago.
    fn silent_for(seconds: f32) -> Own {
        let mut own = Own::default();
        own.text = "Computer is what you say.".to_owned();
        own.changed = Instant::now().checked_sub(Duration::from_secs_f32(seconds));
        own
    }

    #[tokio::test]
    async fn who_calls_two_seconds_after_an_answer_is_judged_as_usual() {
        // They began two seconds after it, with what is kept before the first sound 1.5 s; the clip is 2.3 s long.
        let length = 23 * SECOND / 10;
        let (over_own, _) = judged(silent_for(3.8), &[length]).await;
        assert_eq!(over_own, [false], "they are heard, and no own words are in that");
        // In this clip are the last words, which nobody else said.
        let (over_own, _) = judged(silent_for(2.0), &[length]).await;
        assert_eq!(over_own, [false; 0]);
    }

    #[tokio::test]
    async fn where_too_many_clips_wait_the_newest_are_judged() {
        let lengths = [5, 4, 3, 2].map(|seconds| seconds * SECOND);
        let (heard, given) = judged(Own::default(), &lengths).await;
        assert_eq!(given, lengths[2..]);
        assert_eq!(heard.len(), 2);
    }

    #[tokio::test]
    async fn who_called_is_not_heard_again_in_a_clip_of_the_same_call() {
        let call = (TOTAL - 3 * SECOND, 2 * SECOND);
        let inside = (call.0 + SECOND / 2, 2 * SECOND);
        let (heard, given) = judged_at(Own::default(), &[call, inside]).await;
        assert_eq!((heard.len(), given), (1, vec![call.1]));
    }

    #[test]
    fn one_failure_is_none_two_are_told_and_the_first_success_takes_that_back() {
        let error = EngineError::Server("the recogniser at 127.0.0.1:1 is not there".to_owned());
        let mut health = Health::default();
        let mut after = |fails: bool| health.after(Some(&error).filter(|_| fails));
        assert_eq!(
            after(false),
            Some(Vec::new()),
            "what was wrong at the start is over"
        );
        assert_eq!(
            [after(false), after(true), after(false), after(true)],
            [const { None }; 4]
        );
        let wrong = after(true).unwrap();
        assert!(wrong[0].contains("127.0.0.1:1 is not there."), "{wrong:?}");
        assert_eq!(after(true), Some(wrong));
        assert_eq!([after(false), after(false)], [Some(Vec::new()), None]);
    }
}
