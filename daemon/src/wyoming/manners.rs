//! One recogniser for the person and for guests: the person is heard at once, and a guest gives way and is heard anew.
//!
//! An engine recognises one clip after the other. A minute that a satellite sends takes seconds, in which the person at the desktop
//! would wait for their own words.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use models::{
    EngineError,
    llm::EngineStats,
    stt::{OnSegment, Stt, SttInfo, Transcribe, Transcript},
};
use tokio::sync::watch;

/// So often a guest gives way. Whoever lives beside a television that wants to be heard again and again gets through after that.
const PATIENCE: usize = 5;

/// Makes two of a recogniser: the person's own, and the one for guests.
pub fn shared(stt: Arc<dyn Stt>) -> (Arc<dyn Stt>, Arc<dyn Stt>) {
    let wanted = watch::Sender::new(Clips::default());
    let guests = Guests {
        stt: Arc::clone(&stt),
        wanted: wanted.subscribe(),
    };
    (Arc::new(Person { stt, wanted }), Arc::new(guests))
}

/// The clips of the person.
#[derive(Default)]
struct Clips {
    /// Those that are being recognised.
    open: usize,
    /// All so far.
    begun: usize,
}

/// The recogniser as the person has it.
struct Person {
    stt: Arc<dyn Stt>,
    wanted: watch::Sender<Clips>,
}

/// The recogniser as guests have it.
struct Guests {
    stt: Arc<dyn Stt>,
    wanted: watch::Receiver<Clips>,
}

/// A clip of the person's that is being recognised.
struct Wanting<'a>(&'a watch::Sender<Clips>);

impl Wanting<'_> {
    fn begin(wanted: &watch::Sender<Clips>) -> Wanting<'_> {
        wanted.send_modify(|clips| {
            clips.open += 1;
            clips.begun += 1;
        });
        Wanting(wanted)
    }
}

impl Drop for Wanting<'_> {
    fn drop(&mut self) {
        self.0.send_modify(|clips| clips.open -= 1);
    }
}

/// Waits until the person wants nothing, and tells how many clips they had so far. One who is gone for good wants nothing.
async fn quiet(wanted: &mut watch::Receiver<Clips>) -> usize {
    let _ = wanted.wait_for(|clips| clips.open == 0).await;
    wanted.borrow().begun
}

/// Waits until the person had more clips than so many.
async fn more(wanted: &mut watch::Receiver<Clips>, than: usize) {
    if wanted.wait_for(|clips| clips.begun > than).await.is_err() {
        std::future::pending().await
    }
}

#[async_trait]
impl Stt for Person {
    async fn info(&self) -> Result<SttInfo, EngineError> {
        self.stt.info().await
    }

    async fn load(&self) -> Result<(), EngineError> {
        self.stt.load().await
    }

    fn patience(&self, samples: usize) -> Duration {
        self.stt.patience(samples)
    }

    async fn transcribe(
        &self,
        request: Transcribe,
        on_segment: OnSegment<'_>,
    ) -> Result<Transcript, EngineError> {
        let _wanting = Wanting::begin(&self.wanted);
        self.stt.transcribe(request, on_segment).await
    }

    fn stats(&self) -> EngineStats {
        self.stt.stats()
    }
}

#[async_trait]
impl Stt for Guests {
    async fn info(&self) -> Result<SttInfo, EngineError> {
        self.stt.info().await
    }

    async fn load(&self) -> Result<(), EngineError> {
        self.stt.load().await
    }

    fn patience(&self, samples: usize) -> Duration {
        self.stt.patience(samples)
    }

    async fn transcribe(
        &self,
        request: Transcribe,
        on_segment: OnSegment<'_>,
    ) -> Result<Transcript, EngineError> {
        let mut wanted = self.wanted.clone();
        for _ in 0..PATIENCE {
            let before = quiet(&mut wanted).await;
            // Told when it is whole, because it may begin anew.
            let mut segments = Vec::new();
            let mut keep = |segment: &_| segments.push(Clone::clone(segment));
            let done = tokio::select! {
                biased;
                () = more(&mut wanted, before) => None,
                done = self.stt.transcribe(request.clone(), &mut keep) => Some(done),
            };
            if let Some(done) = done {
                segments.iter().for_each(on_segment);
                return done;
            }
        }
        quiet(&mut wanted).await;
        self.stt.transcribe(request, on_segment).await
    }

    fn stats(&self) -> EngineStats {
        self.stt.stats()
    }
}

#[cfg(test)]
mod tests {
    use models::scripted::{Reply, ScriptedStt};

    use super::*;

    /// Long enough for a task to come to where it waits.
    const A_WHILE: Duration = Duration::from_millis(50);

    async fn text(stt: &Arc<dyn Stt>) -> String {
        let heard = stt.transcribe(Transcribe::default(), &mut |_| {}).await;
        heard.unwrap().text
    }

    #[tokio::test]
    async fn the_person_is_heard_at_once_and_the_guest_after_them() {
        let script = Arc::new(ScriptedStt::replies([
            Reply::Hang(String::new()),
            Reply::Text("the person".to_owned()),
            Reply::Text("the guest".to_owned()),
        ]));
        let (person, guests) = shared(script.clone());
        let guest = tokio::spawn(async move { text(&guests).await });
        while script.requests().is_empty() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        // It would hang for ever.
        assert_eq!(
            tokio::time::timeout(A_WHILE * 20, text(&person)).await,
            Ok("the person".to_owned())
        );
        assert_eq!(guest.await.unwrap(), "the guest");
        assert_eq!(script.requests().len(), 3);
    }

    #[tokio::test]
    async fn a_guest_waits_for_the_person_and_is_heard_when_they_are_gone() {
        let script = Arc::new(ScriptedStt::replies([
            Reply::Hang(String::new()),
            Reply::Text("the guest".to_owned()),
        ]));
        let (person, guests) = shared(script.clone());
        let speaking = tokio::spawn(async move { text(&person).await });
        while script.requests().is_empty() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        let guest = tokio::spawn(async move { text(&guests).await });
        tokio::time::sleep(A_WHILE).await;
        assert_eq!(script.requests().len(), 1, "the guest is not heard meanwhile");
        speaking.abort();
        assert_eq!(guest.await.unwrap(), "the guest");
    }

    #[tokio::test]
    async fn nobody_gives_way_for_ever() {
        let hangs = (0..PATIENCE).flat_map(|_| [Reply::Hang(String::new()), Reply::Text("tv".to_owned())]);
        let last = [Reply::Text("the guest".to_owned())];
        let script = Arc::new(ScriptedStt::replies(hangs.chain(last)));
        let (person, guests) = shared(script.clone());
        let guest = tokio::spawn(async move { text(&guests).await });
        for round in 0..PATIENCE {
            while script.requests().len() < round * 2 + 1 {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            assert_eq!(text(&person).await, "tv");
        }
        assert_eq!(guest.await.unwrap(), "the guest");
    }
}
