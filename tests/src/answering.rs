//! Answers that are spoken: the person's time while they speak, an answer that comes too late, more than can wait.

use std::time::Duration;

use daemon::{
    bus::Tiro1Proxy,
    reply::{Happening, State},
    report::Report,
    room::Parts,
};
use models::scripted::{Reply, ScriptedLlm, ScriptedStt};
use tokio::task::JoinHandle;

use crate::{
    daemon_loop::{asking_tools, note},
    microphone::{COMMAND, Talk, alone_in, recording, tomorrow},
    pulse::Pulse,
};

/// Asks for something that is asked about on the desktop, and waits until it is.
async fn ask(talk: &Talk) -> JoinHandle<Report> {
    let client = talk.running.client().await;
    let turn = tokio::spawn(async move {
        let proxy = Tiro1Proxy::new(&client).await.unwrap();
        let notify = ("notify".to_owned(), true.into());
        let report = proxy.ask("note milk".into(), [notify].into()).await.unwrap();
        serde_json::from_str(&report).unwrap()
    });
    talk.running.until("asking", |s| s.state == "confirming").await;
    turn
}

/// The microphone opens while the question stays.
async fn begin(talk: &Talk, pulse: &Pulse) {
    assert_eq!(talk.listen("start").await, "listening");
    pulse.until_recorders(1);
}

fn patient(parts: &mut Parts, patience: Duration) {
    asking_tools(parts);
    parts.limits.patience = patience;
}

fn replied(happening: Happening) -> Option<String> {
    match happening {
        Happening::Replied { text } => Some(text),
        _ => None,
    }
}

#[test]
fn nobodys_time_runs_out_while_they_speak() {
    alone_in(
        "answering",
        "nobodys_time_runs_out_while_they_speak",
        async |_, pulse| {
            let Some(command) = recording(COMMAND) else { return };
            let patience = Duration::from_secs(8);
            let llm = ScriptedLlm::replies([note("milk"), note("milk")]);
            let stt = ScriptedStt::replies(["Yes."]);
            let talk = Talk::with(llm, stt, |parts| patient(parts, patience)).await;
            let turn = ask(&talk).await;
            begin(&talk, &pulse).await;
            tokio::time::sleep(patience + Duration::from_secs(1)).await;
            assert!(!turn.is_finished());
            pulse.speak(&command);
            assert_eq!(talk.listen("stop").await, "transcribing");
            assert_eq!(turn.await.unwrap().calls[0].status, "ok");

            // Who only listened and said nothing has the rest of their time.
            let turn = ask(&talk).await;
            begin(&talk, &pulse).await;
            talk.listen("cancel").await;
            assert_eq!(turn.await.unwrap().calls[0].status, "declined");
        },
    );
}

#[test]
fn an_answer_that_comes_too_late_is_told_so() {
    alone_in(
        "answering",
        "an_answer_that_comes_too_late_is_told_so",
        async |_, pulse| {
            let Some(command) = recording(COMMAND) else { return };
            let (open, gate) = std::sync::mpsc::channel::<()>();
            let stt = ScriptedStt::answering(move |_| {
                // The recogniser is slow.
                tokio::task::block_in_place(|| gate.recv().unwrap());
                Reply::Text("Yes.".to_owned())
            });
            let llm = ScriptedLlm::replies([note("milk")]);
            let mut talk = Talk::with(llm, stt, |parts| patient(parts, Duration::from_secs(600))).await;
            let before = talk.running.home.files();
            let turn = ask(&talk).await;
            begin(&talk, &pulse).await;
            pulse.speak(&command);
            assert_eq!(talk.listen("stop").await, "transcribing");
            talk.told("that it was heard", |h| {
                (h == Happening::State {
                    state: State::Transcribing,
                })
                .then_some(())
            })
            .await;
            // Meanwhile somebody answers in the terminal.
            let terminal = talk.running.client().await;
            let proxy = Tiro1Proxy::new(&terminal).await.unwrap();
            let question: serde_json::Value = serde_json::from_str(&proxy.question().await.unwrap()).unwrap();
            assert!(
                proxy
                    .confirm(question["id"].as_u64().unwrap(), false)
                    .await
                    .unwrap()
            );
            assert_eq!(turn.await.unwrap().calls[0].status, "declined");
            open.send(()).unwrap();
            let told = talk.told("that it is late", replied).await;
            assert_eq!(told, "I heard your answer, but the question is over.");
            assert_eq!(talk.running.home.files(), before);
        },
    );
}

#[test]
fn more_than_anybody_means_is_refused_and_the_rest_is_answered() {
    alone_in(
        "answering",
        "more_than_anybody_means_is_refused_and_the_rest_is_answered",
        async |_, pulse| {
            const MOST: usize = 8;
            let Some(command) = recording(COMMAND) else { return };
            let llm = ScriptedLlm::replies((0..=MOST).map(|_| tomorrow()));
            let stt = ScriptedStt::replies((0..=MOST).map(|n| format!("request {n}")));
            let mut talk = Talk::with(llm, stt, |_| ()).await;
            begin(&talk, &pulse).await;
            for n in 0..=MOST {
                pulse.speak(&command);
                assert_eq!(talk.listen("stop").await, "transcribing");
                // As long as somebody may be speaking, nothing begins.
                if n < MOST {
                    assert_eq!(talk.listen("start").await, "listening");
                    pulse.until_recorders(1);
                    talk.running.until("waiting", |s| s.waiting == n + 1).await;
                }
            }
            let (mut refused, mut answered) = (0, 0);
            while refused + answered < MOST + 1 {
                match talk.told("all of it", replied).await.as_str() {
                    "I have not finished what you asked for before. Please say that again later." => {
                        refused += 1
                    }
                    _ => answered += 1,
                }
            }
            assert_eq!((refused, answered), (1, MOST));
            talk.running.until("done", |s| s.turns == MOST as u64).await;
            assert_eq!(talk.heard().len(), MOST, "the last one was not made out");
        },
    );
}
