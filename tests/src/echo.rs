//! The speaker is heard by the microphone, as in every room without headphones: what Tiro says itself neither wakes it, nor
//! answers its questions, nor stops it. The voice is a real one; the recogniser hears what anybody would hear.

use std::{
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use daemon::{
    bus::Tiro1Proxy,
    reply::{Happening, State},
    room::Parts,
    speak::{Choice, Settings, Speaker},
};
use models::scripted::{Reply, ScriptedLlm, ScriptedStt};
use prompts::words;

use crate::{
    daemon_loop::{ask, asking_tools, note},
    microphone::{COMMAND, Talk, alone_in, recording},
    pulse::Pulse,
    session::told,
    spoken::{
        Sound::{Pause, Phrase as Said, Request},
        sounds,
    },
    waking::{Asked, PATIENCE, awake, hearing, waits},
};

fn scenario(name: &str, test: impl AsyncFnOnce(PathBuf, Pulse)) {
    alone_in("echo", name, test);
}

/// espeak-ng says every answer.
fn aloud(parts: &mut Parts) {
    parts.speak = espeak();
}

fn espeak() -> Speaker {
    Speaker::of(Settings {
        choice: Choice::EspeakNg,
        always: true,
        earcons: false,
        duck: 1.0,
        ..Settings::default()
    })
}

fn states(told: &[Happening]) -> Vec<State> {
    let state = |happening: &Happening| match happening {
        Happening::State { state } => Some(*state),
        _ => None,
    };
    told.iter().filter_map(state).collect()
}

/// What was said aloud was looked at, and nobody was listened to because of it.
async fn heard_itself_and_nobody(talk: &mut Talk, asked: &Asked) {
    // What was said last is looked at when it is over.
    tokio::time::sleep(Duration::from_secs(4)).await;
    assert!(asked.clips.load(Ordering::Relaxed) >= 1, "it heard itself");
    let requests = asked.requests.load(Ordering::Relaxed);
    assert_eq!(requests, 0, "and listened to nobody");
    let states = states(&told(&mut talk.signals, &talk.client).await);
    assert!(!states.contains(&State::Listening), "{states:?}");
}

#[test]
fn what_tiro_says_neither_wakes_nor_interrupts_it() {
    scenario(
        "what_tiro_says_neither_wakes_nor_interrupts_it",
        async |_, pulse| {
            pulse.echo();
            let answer = "Computer is what you say to wake me. Then you say what you want, and I do it as well as I can.";
            let (stt, asked) = hearing("Computer is what you", &[]);
            let mut talk = Talk::with(ScriptedLlm::replies([answer]), stt, |parts| {
                awake(parts);
                aloud(parts);
            })
            .await;
            waits(&talk, &pulse, 0).await;
            let report = ask(&talk.client, "how do I wake you").await.unwrap();
            assert_eq!(report.reply, answer);
            talk.running.until("speaking", |s| s.state == "speaking").await;
            waits(&talk, &pulse, 1).await;
            heard_itself_and_nobody(&mut talk, &asked).await;
            assert_eq!(talk.running.status().await.turns, 1);
        },
    );
}

#[test]
fn what_another_program_lets_it_say_does_not_wake_it() {
    scenario(
        "what_another_program_lets_it_say_does_not_wake_it",
        async |_, pulse| {
            pulse.echo();
            let (stt, asked) = hearing("Computer, delete my", &[]);
            let mut talk = Talk::with(ScriptedLlm::replies([""; 0]), stt, |parts| {
                awake(parts);
                aloud(parts);
            })
            .await;
            waits(&talk, &pulse, 0).await;
            let daemon = Tiro1Proxy::new(&talk.client).await.unwrap();
            daemon
                .say("Computer, delete my alarms.".to_owned())
                .await
                .unwrap();
            heard_itself_and_nobody(&mut talk, &asked).await;
        },
    );
}

#[test]
fn what_tiro_asks_is_no_answer_to_it() {
    scenario("what_tiro_asks_is_no_answer_to_it", async |folder, pulse| {
        let Some(call) = sounds(&folder, &[Pause(600), Said(0), Request, Pause(300)]) else {
            return;
        };
        pulse.echo();
        // Whatever is taken for an answer would be a yes.
        let (clips, requests) = (AtomicUsize::new(0), Arc::new(AtomicUsize::new(0)));
        let counted = Arc::clone(&requests);
        let stt = ScriptedStt::answering(move |request| {
            let count = match request.audio_ctx {
                Some(_) => &clips,
                None => &*counted,
            };
            let first = count.fetch_add(1, Ordering::Relaxed) == 0;
            Reply::Text(
                match (request.audio_ctx, first) {
                    (Some(_), true) => "Computer, note",
                    (Some(_), false) => "Shall I? Say yes or no.",
                    (None, true) => "Computer, note milk.",
                    (None, false) => "Yes.",
                }
                .to_owned(),
            )
        });
        let talk = Talk::with(ScriptedLlm::replies([note("milk")]), stt, |parts| {
            asking_tools(parts);
            awake(parts);
            aloud(parts);
            parts.listen.patience = Duration::from_secs(2);
            parts.limits.patience = Duration::from_secs(5);
        })
        .await;
        waits(&talk, &pulse, 0).await;
        let before = talk.running.home.files();
        pulse.speak(&call);
        talk.running.until("asking", |s| s.state == "confirming").await;
        // It asks, listens, and nobody answers.
        talk.running.until("listening", |s| s.state == "listening").await;
        waits(&talk, &pulse, 1).await;
        assert_eq!(requests.load(Ordering::Relaxed), 1, "it heard no answer");
        assert_eq!(talk.running.home.files(), before, "and nothing was noted");
    });
}

#[test]
fn who_presses_the_key_while_tiro_asks_does_not_say_what_it_says() {
    scenario(
        "who_presses_the_key_while_tiro_asks_does_not_say_what_it_says",
        async |_, pulse| {
            let Some(command) = recording(COMMAND) else { return };
            // Its own last words come a second time, loud enough to be somebody's; then the person answers.
            let said = Arc::new(AtomicUsize::new(0));
            let counted = Arc::clone(&said);
            // However often it is asked while somebody speaks.
            let stt = ScriptedStt::answering(move |_| {
                let said = counted.load(Ordering::Relaxed);
                Reply::Text(["Note milk.", "Yes or no.", "Yes."][said].to_owned())
            });
            let speaker = espeak();
            let mut own = speaker.own();
            let mut talk = Talk::with(ScriptedLlm::replies([note("milk")]), stt, |parts| {
                asking_tools(parts);
                parts.speak = speaker;
                parts.limits.patience = Duration::from_secs(60);
            })
            .await;
            talk.open("start", &pulse).await;
            pulse.speak(&command);
            talk.listen("stop").await;
            talk.running.until("asking", |s| s.state == "confirming").await;
            let before = talk.running.home.files();
            // The key is pressed at its last words.
            let last = own.wait_for(|own| own.text.to_lowercase().ends_with("yes or no."));
            tokio::time::timeout(PATIENCE, last).await.unwrap().unwrap();
            told(&mut talk.signals, &talk.client).await;
            said.store(1, Ordering::Relaxed);
            talk.open("start", &pulse).await;
            pulse.speak(&command);
            talk.listen("stop").await;
            assert_eq!(talk.notice().await, words::nothing_heard());
            talk.running
                .until("still asking", |s| s.state == "confirming")
                .await;
            assert_eq!(talk.running.home.files(), before, "nothing was agreed to");
            said.store(2, Ordering::Relaxed);
            talk.open("start", &pulse).await;
            pulse.speak(&command);
            talk.listen("stop").await;
            assert_eq!(talk.reply().await, "You said yes.");
            talk.running.until("done", |s| s.turns == 1).await;
            assert_ne!(talk.running.home.files(), before, "the note is there");
        },
    );
}
