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
use tokio::{sync::watch, time::timeout};

/// While somebody speaks, what they said so far is recognised again and again, half a second apart; their sentence is over when
/// nothing was for so long.
const PAUSE: Duration = Duration::from_secs(2);
/// So often a guest gives way. Whoever lives beside a television that wants to be heard again and again gets through after that.
const PATIENCE: usize = 5;

/// Makes two of a recogniser: the person's own, and the one for guests.
pub fn shared(stt: Arc<dyn Stt>) -> (Arc<dyn Stt>, Arc<dyn Stt>) {
    sharing(stt, PAUSE)
}

fn sharing(stt: Arc<dyn Stt>, pause: Duration) -> (Arc<dyn Stt>, Arc<dyn Stt>) {
    let clips = watch::Sender::new(Clips::default());
    let guests = Side::Guests(clips.subscribe(), pause);
    let of = |side| -> Arc<dyn Stt> {
        let stt = Arc::clone(&stt);
        Arc::new(Shared { stt, side })
    };
    (of(Side::Person(clips)), of(guests))
}

/// The clips of the person.
#[derive(Default)]
struct Clips {
    /// Those that are being recognised.
    open: usize,
    /// All so far.
    begun: usize,
}

/// The recogniser as one side has it.
struct Shared {
    stt: Arc<dyn Stt>,
    side: Side,
}

/// Whose it is.
enum Side {
    Person(watch::Sender<Clips>),
    /// And how long the person has to be silent after they were given way.
    Guests(watch::Receiver<Clips>, Duration),
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

/// Waits until the person wants nothing and has wanted nothing for so long, and tells how many clips they had so far. One who is
/// gone for good wants nothing.
async fn quiet(wanted: &mut watch::Receiver<Clips>, pause: Duration) -> usize {
    loop {
        let so_far = wanted
            .wait_for(|clips| clips.open == 0)
            .await
            .map(|clips| clips.begun);
        let Ok(so_far) = so_far else {
            return wanted.borrow().begun;
        };
        if pause.is_zero() || timeout(pause, more(wanted, so_far)).await.is_err() {
            return so_far;
        }
    }
}

/// Waits until the person had more clips than so many.
async fn more(wanted: &mut watch::Receiver<Clips>, than: usize) {
    if wanted.wait_for(|clips| clips.begun > than).await.is_err() {
        std::future::pending().await
    }
}

/// Recognises for a guest, anew whenever the person wanted something meanwhile.
async fn yielding(
    stt: &dyn Stt,
    mut wanted: watch::Receiver<Clips>,
    silence: Duration,
    request: Transcribe,
    on_segment: OnSegment<'_>,
) -> Result<Transcript, EngineError> {
    let mut pause = Duration::ZERO;
    for _ in 0..PATIENCE {
        let before = quiet(&mut wanted, pause).await;
        pause = silence;
        // Told when it is whole, because it may begin anew.
        let mut segments = Vec::new();
        let mut keep = |segment: &_| segments.push(Clone::clone(segment));
        let done = tokio::select! {
            biased;
            () = more(&mut wanted, before) => None,
            done = stt.transcribe(request.clone(), &mut keep) => Some(done),
        };
        if let Some(done) = done {
            segments.iter().for_each(on_segment);
            return done;
        }
    }
    quiet(&mut wanted, Duration::ZERO).await;
    stt.transcribe(request, on_segment).await
}

#[async_trait]
impl Stt for Shared {
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
        match &self.side {
            Side::Person(clips) => {
                let _wanting = Wanting::begin(clips);
                self.stt.transcribe(request, on_segment).await
            }
            Side::Guests(clips, pause) => {
                yielding(&*self.stt, clips.clone(), *pause, request, on_segment).await
            }
        }
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

    async fn until(script: &ScriptedStt, asked: usize) {
        while script.requests().len() < asked {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }

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
        let (person, guests) = sharing(script.clone(), A_WHILE);
        let guest = tokio::spawn(async move { text(&guests).await });
        until(&script, 1).await;
        // It would hang for ever.
        assert_eq!(
            timeout(A_WHILE * 20, text(&person)).await,
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
        let (person, guests) = sharing(script.clone(), A_WHILE);
        let speaking = tokio::spawn(async move { text(&person).await });
        until(&script, 1).await;
        let guest = tokio::spawn(async move { text(&guests).await });
        tokio::time::sleep(A_WHILE).await;
        assert_eq!(script.requests().len(), 1, "the guest is not heard meanwhile");
        speaking.abort();
        assert_eq!(guest.await.unwrap(), "the guest");
    }

    #[tokio::test]
    async fn a_sentence_that_is_recognised_as_it_grows_costs_a_guest_one_beginning() {
        let own = (0..PATIENCE + 2).map(|n| Reply::Text(format!("so far {n}")));
        let first = [Reply::Hang(String::new())];
        let last = [Reply::Hang(String::new()), Reply::Text("the guest".to_owned())];
        let script = first.into_iter().chain(own).chain(last);
        let script = Arc::new(ScriptedStt::replies(script));
        let (person, guests) = sharing(script.clone(), A_WHILE * 4);
        let guest = tokio::spawn(async move { text(&guests).await });
        until(&script, 1).await;
        for n in 0..PATIENCE + 2 {
            assert_eq!(text(&person).await, format!("so far {n}"));
            tokio::time::sleep(A_WHILE / 5).await;
        }
        until(&script, PATIENCE + 4).await;
        // It still gives way.
        assert_eq!(text(&person).await, "the guest");
        guest.abort();
    }

    #[tokio::test]
    async fn nobody_gives_way_for_ever() {
        let hangs = (0..PATIENCE).flat_map(|_| [Reply::Hang(String::new()), Reply::Text("tv".to_owned())]);
        let last = [Reply::Text("the guest".to_owned())];
        let script = Arc::new(ScriptedStt::replies(hangs.chain(last)));
        let (person, guests) = sharing(script.clone(), A_WHILE);
        let guest = tokio::spawn(async move { text(&guests).await });
        for round in 0..PATIENCE {
            until(&script, round * 2 + 1).await;
            assert_eq!(text(&person).await, "tv");
        }
        assert_eq!(guest.await.unwrap(), "the guest");
    }
}
