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
use tokio::sync::{mpsc, watch};

use super::{
    Event, Source,
    front::lock,
    waking::{ECHO, Settings, Woken},
};
use crate::{
    listen::wake::{Candidate, Looked, PATIENCE, Watch, look},
    speak::Own,
};

/// A recogniser that has to load its model first may take so long for that.
const LOADING: Duration = Duration::from_secs(30);
/// A clip is looked at when it is over, and has to wait for the one before: what Tiro said so long ago may be in it.
const HEARD: Duration = Duration::from_secs(6);
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

impl Spotter {
    /// Until nobody has clips any more.
    pub(super) async fn run(self, mut clips: mpsc::Receiver<(u64, Candidate)>) {
        let mut health = Health::default();
        while let Some((listenings, clip)) = clips.recv().await {
            let age = |at: u64| {
                let samples = self.total.load(Ordering::Acquire).saturating_sub(at);
                Duration::from_secs_f64(samples as f64 / f64::from(SAMPLE_RATE))
            };
            let (own, over_own) = {
                let own = self.own.borrow();
                let in_clip = own.lately(ECHO + age(clip.at)).is_some();
                (own.lately(ECHO + HEARD), in_clip)
            };
            let looked = self.looked(&clip, own.as_deref()).await;
            if let Some(texts) = health.after(looked.as_ref().err()) {
                let source = Source::Recogniser;
                let _ = self.events.send(Event::Noticed { source, texts }).await;
            }
            match looked {
                Ok(Looked::Phrase(spotted)) => {
                    lock(&self.watch).pause(self.settings.refractory);
                    let woken = Woken {
                        microphone: self.number,
                        listenings,
                        age: age(clip.end()),
                        clip: (clip.at, clip.end()),
                        goes_on: !spotted.rest.is_empty(),
                        over_own,
                    };
                    tracing::info!(score = spotted.score, "woken");
                    let _ = self.events.send(Event::Woken(woken)).await;
                }
                Ok(Looked::Noise) => lock(&self.watch).was_noise(),
                Ok(Looked::Speech) => {}
                Err(error) => tracing::debug!(%error, "a clip was not looked at"),
            }
        }
    }

    /// What a clip turned out to be; `own` is what Tiro said lately.
    async fn looked(&self, clip: &Candidate, own: Option<&str>) -> Result<Looked, EngineError> {
        // A task of its own, because one that takes too long goes on: it has loaded for the next clip.
        let stt = Arc::clone(&self.stt);
        let loading = tokio::spawn(async move { stt.load().await });
        match tokio::time::timeout(LOADING, loading).await {
            Ok(loaded) => loaded.unwrap_or(Ok(()))?,
            Err(_) => return Err(EngineError::TimedOut(LOADING)),
        }
        let patience = match self.stt.patience(clip.samples.len()) {
            // Somewhere else.
            Duration::MAX => PATIENCE,
            time => PATIENCE.max(time / 4).min(LOADING),
        };
        let (language, phrases) = (self.language.as_deref(), &self.settings.phrases);
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
    use super::*;

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
