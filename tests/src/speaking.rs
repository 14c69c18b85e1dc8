//! Tiro speaks: the real loop with a voice that follows a script, real voices that are heard on a real sound server, and music
//! that steps back meanwhile.

mod ahead;
pub mod ear;
mod errands;
mod players;
mod voices;

use std::{
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use async_trait::async_trait;
use daemon::{
    bus::Tiro1Proxy,
    reply::{Happening, State},
    room::Parts,
    speak::{Pieces, Settings, Speaker, Trouble, Voice},
};
use futures_util::FutureExt as _;
use models::scripted::{Reply, ScriptedLlm, ScriptedStt};
use tokio::sync::Semaphore;
use zbus::MessageStream;

use crate::{
    daemon_loop::{Running, ask, asking_tools, note},
    microphone::{COMMAND, Talk, alone_in, recording, tomorrow},
    session::told,
};

const PATIENCE: Duration = Duration::from_secs(60);
/// From the key to the end of what is being said, on a machine that is busy with other tests; on a quiet one it is some
/// milliseconds.
const AT_ONCE: Duration = Duration::from_millis(500);

/// A voice that says a piece whenever it may.
#[derive(Clone)]
struct Puppet {
    /// What it was given.
    given: Arc<Mutex<Vec<String>>>,
    /// What it said to the end.
    said: Arc<Mutex<Vec<String>>>,
    /// How often it was stopped before that was all.
    stopped: Arc<Mutex<usize>>,
    may: Arc<Semaphore>,
    trouble: Arc<Mutex<Option<Trouble>>>,
}

impl Puppet {
    /// One that says so many pieces, and more when it may.
    fn that_says(pieces: usize) -> Puppet {
        Puppet {
            given: Arc::default(),
            said: Arc::default(),
            stopped: Arc::default(),
            may: Arc::new(Semaphore::new(pieces)),
            trouble: Arc::default(),
        }
    }

    fn speaker(&self, always: bool) -> Speaker {
        let settings = Settings {
            always,
            earcons: false,
            duck: 1.0,
            ..Settings::default()
        };
        Speaker::with(settings, vec![Arc::new(self.clone())])
    }

    fn given(&self) -> Vec<String> {
        self.given.lock().unwrap().clone()
    }

    fn said(&self) -> Vec<String> {
        self.said.lock().unwrap().clone()
    }

    fn stopped(&self) -> usize {
        *self.stopped.lock().unwrap()
    }

    /// Waits until it has that many pieces.
    async fn until_given(&self, count: usize) {
        let began = Instant::now();
        while self.given().len() < count {
            assert!(
                began.elapsed() < PATIENCE,
                "never given {count}: {:?}",
                self.given()
            );
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    async fn until_stopped(&self, count: usize) {
        let began = Instant::now();
        while self.stopped() < count {
            assert!(began.elapsed() < PATIENCE, "never stopped: {:?}", self.said());
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    }
}

/// Counts who is dropped before it has finished.
struct Talking<'a>(&'a Puppet, bool);

impl Drop for Talking<'_> {
    fn drop(&mut self) {
        if !self.1 {
            *self.0.stopped.lock().unwrap() += 1;
        }
    }
}

#[async_trait]
impl Voice for Puppet {
    fn name(&self) -> &str {
        "puppet"
    }

    async fn there(&self) -> Result<String, Trouble> {
        Ok("A puppet.".to_owned())
    }

    async fn say(&self, pieces: &Pieces) -> Result<(), Trouble> {
        let mut talking = Talking(self, false);
        while let Some(piece) = pieces.next().await {
            self.given.lock().unwrap().push(piece.clone());
            if let Some(trouble) = self.trouble.lock().unwrap().clone() {
                talking.1 = true;
                return Err(trouble);
            }
            self.may.acquire().await.unwrap().forget();
            self.said.lock().unwrap().push(piece);
            pieces.spoken();
        }
        talking.1 = true;
        Ok(())
    }
}

fn speaks(puppet: &Puppet, always: bool) -> impl FnOnce(&mut Parts) {
    let speaker = puppet.speaker(always);
    move |parts| parts.speak = speaker
}

/// The states that a client was told of.
pub async fn states(signals: &mut MessageStream, client: &zbus::Connection) -> Vec<State> {
    let told = told(signals, client).await;
    let state = |happening| match happening {
        Happening::State { state } => Some(state),
        _ => None,
    };
    told.into_iter().filter_map(state).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn typed_answers_are_silent_unless_they_are_wanted_aloud() {
    let quiet = Puppet::that_says(100);
    let running = Running::start_with(ScriptedLlm::replies([tomorrow()]), speaks(&quiet, false)).await;
    let report = ask(&running.client().await, "what is on tomorrow").await.unwrap();
    assert!(report.reply.contains("Dentist"), "{report:?}");
    running.until("idle", |s| s.state == "idle" && s.turns == 1).await;
    assert_eq!(quiet.given(), [""; 0]);
    running.stop().await;

    let aloud = Puppet::that_says(0);
    let running = Running::start_with(ScriptedLlm::replies([tomorrow()]), speaks(&aloud, true)).await;
    let (asks, looks) = (running.client().await, running.client().await);
    let mut signals = MessageStream::from(&looks);
    Tiro1Proxy::new(&looks).await.unwrap().status().await.unwrap();
    let report = ask(&asks, "what is on tomorrow").await.unwrap();
    // Whoever asked has the answer before it has been spoken.
    aloud.until_given(1).await;
    running
        .until("speaking", |s| s.state == "speaking" && s.turns == 1)
        .await;
    aloud.may.add_permits(100);
    running.until("idle", |s| s.state == "idle").await;
    let spoken = aloud.said().join(" ");
    assert!(
        report.reply.contains("09:30") && spoken.contains("nine thirty"),
        "{spoken}"
    );
    assert!(
        spoken.contains("Dentist") && !spoken.contains("09:30"),
        "{spoken}"
    );
    assert_eq!(aloud.stopped(), 0);
    let states = states(&mut signals, &looks).await;
    let at = states.iter().position(|state| *state == State::Speaking).unwrap();
    assert_eq!(states.last(), Some(&State::Idle), "{states:?}");
    assert!(states[..at].contains(&State::Thinking), "{states:?}");
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn cancelling_stops_what_is_spoken_and_nothing_else() {
    let puppet = Puppet::that_says(0);
    let llm = ScriptedLlm::replies([
        Reply::Text(tomorrow()),
        Reply::Hang("Let me".to_owned()),
        Reply::Text(tomorrow()),
    ]);
    let running = Running::start_with(llm, speaks(&puppet, true)).await;
    let (one, two) = (running.client().await, running.client().await);
    ask(&one, "what is on tomorrow").await.unwrap();
    puppet.until_given(1).await;
    let other = tokio::spawn(async move { ask(&two, "and what else is on tomorrow").await });
    running.until_asked(2).await;
    // A key that is bound to `tiro listen cancel`.
    let key = running.client().await;
    let key = Tiro1Proxy::new(&key).await.unwrap();
    let began = Instant::now();
    assert_eq!(
        key.listen("cancel").await.unwrap(),
        "thinking",
        "the other turn goes on"
    );
    puppet.until_stopped(1).await;
    let silent = began.elapsed();
    println!("stopped after {} ms", silent.as_millis());
    assert!(silent < AT_ONCE, "{silent:?}");
    assert_eq!(
        key.listen("cancel").await.unwrap(),
        "idle",
        "now there is only that to stop"
    );
    assert!(other.await.unwrap().is_err());
    ask(&one, "what is on tomorrow").await.unwrap();
    puppet.until_given(2).await;
    running.until("speaking", |s| s.state == "speaking").await;
    // A client that asked for nothing stops the answer of another.
    key.cancel().await.unwrap();
    puppet.until_stopped(2).await;
    running.until("idle", |s| s.state == "idle").await;
    assert_eq!(puppet.said(), [""; 0]);
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_question_is_put_aloud_until_it_is_answered() {
    let puppet = Puppet::that_says(0);
    let speaker = puppet.speaker(true);
    let running = Running::start_with(ScriptedLlm::replies([note("milk")]), |parts| {
        asking_tools(parts);
        // Shorter than the question is put.
        parts.limits.patience = Duration::from_millis(600);
        parts.speak = speaker;
    })
    .await;
    let client = running.client().await;
    let mut signals = MessageStream::from(&client);
    let asking = {
        let client = client.clone();
        tokio::spawn(
            async move { crate::daemon_loop::ask_with(&client, "note milk", &["interactive"]).await },
        )
    };
    let id = crate::daemon_loop::question(&mut signals).await;
    puppet.until_given(1).await;
    // That the person is being asked is what counts.
    assert_eq!(running.status().await.state, "confirming");
    tokio::time::sleep(Duration::from_millis(1500)).await;
    assert_eq!(
        running.status().await.state,
        "confirming",
        "nobody could answer yet"
    );
    let confirmed = Tiro1Proxy::new(&client)
        .await
        .unwrap()
        .confirm(id, true)
        .await
        .unwrap();
    assert!(confirmed);
    puppet.until_stopped(1).await;
    let report = asking.await.unwrap().unwrap();
    assert_eq!(report.calls[0].status, "ok", "{report:?}");
    puppet.until_given(2).await;
    assert!(puppet.given()[0].contains("milk"), "{:?}", puppet.given());
    running.stop().await;
    assert_eq!(puppet.stopped(), 2, "the end of the daemon is silent");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_voice_that_is_missing_is_a_note_and_no_failure() {
    let puppet = Puppet::that_says(100);
    *puppet.trouble.lock().unwrap() = Some(Trouble::Absent("There is no voice. Install one.".to_owned()));
    let llm = ScriptedLlm::replies([tomorrow(), tomorrow(), tomorrow()]);
    let running = Running::start_with(llm, speaks(&puppet, true)).await;
    let client = running.client().await;
    let mut signals = MessageStream::from(&client);
    for turn in 1..=2 {
        let report = ask(&client, "what is on tomorrow").await.unwrap();
        assert!(report.reply.contains("Dentist"));
        running
            .until("told", |s| {
                s.state == "idle" && s.turns == turn && s.problems == ["There is no voice. Install one."]
            })
            .await;
        puppet.until_given(turn as usize).await;
    }
    let notes = told(&mut signals, &client).await;
    let notes = notes
        .iter()
        .filter(|happening| matches!(happening, Happening::Noticed { .. }))
        .count();
    assert_eq!(notes, 1, "once");
    *puppet.trouble.lock().unwrap() = None;
    ask(&client, "what is on tomorrow").await.unwrap();
    running
        .until("well", |s| s.state == "idle" && s.problems.is_empty())
        .await;
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn speech_that_hangs_is_cut() {
    let puppet = Puppet::that_says(0);
    let speaker = puppet.speaker(true);
    let mut own = speaker.own();
    let began = Instant::now();
    let trouble = speaker.say("Done.").await.unwrap_err();
    assert!(
        matches!(&trouble, Trouble::Hangs(text) if text.contains("puppet")),
        "{trouble:?}"
    );
    assert!(
        (9..30).contains(&began.elapsed().as_secs()),
        "{:?}",
        began.elapsed()
    );
    assert!(!own.borrow_and_update().speaking && puppet.stopped() == 1);
}

#[test]
fn who_begins_to_speak_is_not_spoken_to() {
    alone_in(
        "speaking",
        "who_begins_to_speak_is_not_spoken_to",
        async |_, pulse| {
            let Some(command) = recording(COMMAND) else { return };
            let puppet = Puppet::that_says(0);
            let llm = ScriptedLlm::replies([tomorrow(), tomorrow()]);
            let stt = ScriptedStt::replies(["what do I have tomorrow", "what do I have tomorrow"]);
            let mut talk = Talk::with(llm, stt, speaks(&puppet, false)).await;
            talk.open("start", &pulse).await;
            pulse.speak(&command);
            talk.listen("stop").await;
            let reply = talk.reply().await;
            assert!(reply.contains("Dentist"), "{reply}");
            puppet.until_given(1).await;
            talk.running.until("speaking", |s| s.state == "speaking").await;
            pulse.until_recorders(0);

            // The key goes down in the middle of the answer: that ends before the microphone is open.
            let began = Instant::now();
            assert_eq!(talk.listen("start").await, "listening");
            puppet.until_stopped(1).await;
            let silent = began.elapsed();
            println!("silent after {} ms", silent.as_millis());
            assert!(silent < AT_ONCE, "{silent:?}");
            pulse.until_recorders(1);
            assert_eq!(talk.running.status().await.state, "listening");
            pulse.speak(&command);
            // Nobody talks into that, and what is muted is the microphone.
            assert_eq!(puppet.given().len(), 1);
            talk.listen("stop").await;
            puppet.until_given(2).await;
            assert_eq!(talk.listen("mute").await, "speaking");
            puppet.may.add_permits(100);
            talk.running.until("muted", |s| s.state == "muted").await;
            assert!(puppet.said().join(" ").contains("Dentist"), "{:?}", puppet.said());
        },
    );
}

#[test]
fn a_spoken_question_is_put_aloud_and_its_answer_is_heard() {
    alone_in(
        "speaking",
        "a_spoken_question_is_put_aloud_and_its_answer_is_heard",
        async |_, pulse| {
            let Some(command) = recording(COMMAND) else { return };
            let puppet = Puppet::that_says(0);
            let speaker = puppet.speaker(false);
            let stt = ScriptedStt::replies(["note milk", "the weather is fine", "Yes."]);
            let mut talk = Talk::with(ScriptedLlm::replies([note("milk")]), stt, |parts| {
                asking_tools(parts);
                parts.speak = speaker;
            })
            .await;
            for (nth, expect) in [(1, "milk"), (2, "Please answer yes or no.")] {
                talk.open("start", &pulse).await;
                pulse.speak(&command);
                talk.listen("stop").await;
                puppet.until_given(nth).await;
                assert!(puppet.given()[nth - 1].contains(expect), "{:?}", puppet.given());
                pulse.until_recorders(0);
            }
            // Who does not wait for the end of the question interrupts it.
            talk.open("start", &pulse).await;
            puppet.until_stopped(2).await;
            pulse.speak(&command);
            talk.listen("stop").await;
            talk.running.until("done", |s| s.turns == 1).await;
            talk.told("what was said", |h| {
                matches!(h, Happening::Replied { .. }).then_some(())
            })
            .now_or_never();
            puppet.until_given(3).await;
            assert!(puppet.given()[2].contains("saved"), "{:?}", puppet.given());
        },
    );
}
