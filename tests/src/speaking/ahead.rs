//! An answer is heard from its first sentence on, while the model still writes: a model that writes when it may, and a voice
//! that keeps what it was given.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use daemon::{bus::Tiro1Proxy, reply::State, room::Parts, speak::aloud};
use models::scripted::{Reply, ScriptedLlm, ScriptedStt};
use tokio::sync::Semaphore;
use zbus::MessageStream;

use super::{AT_ONCE, Puppet, states};
use crate::{
    daemon_loop::{Running, ask, ask_with, asking_tools, call, note, question},
    microphone::{COMMAND, Talk, alone_in, recording, tomorrow},
};

/// Cut where the end of a sentence is not known yet. It is general: what is so today is not believed of a model that looked nowhere.
const TEA: &[&str] = &[
    "The English drink tea at 3:30",
    " p.m. in old books. It",
    " comes with scones. Then they",
    " walk to the sea.",
];

/// Tools are there without being looked for, and nothing is spoken but by the puppet.
fn ready(parts: &mut Parts, puppet: &Puppet) {
    parts.settings.loading.lazy = false;
    parts.speak = puppet.speaker(true);
}

fn scripted(reply: &Reply) -> ScriptedLlm {
    ScriptedLlm::replies([reply.clone(), Reply::Text(tomorrow())])
}

#[tokio::test(flavor = "multi_thread")]
async fn the_first_sentence_is_said_before_the_answer_is_complete() {
    let (puppet, may) = (Puppet::that_says(100), Arc::new(Semaphore::new(1)));
    let llm = scripted(&Reply::stepwise(TEA, &may));
    let running = Running::start_with(llm, |parts| ready(parts, &puppet)).await;
    let (asks, looks) = (running.client().await, running.client().await);
    let mut signals = MessageStream::from(&looks);
    Tiro1Proxy::new(&looks).await.unwrap().status().await.unwrap();
    let asking = tokio::spawn(async move { ask(&asks, "tell me about tea").await });
    running.until_asked(1).await;
    assert_eq!(puppet.given(), [""; 0], "the first sentence is not over");
    may.add_permits(1);
    puppet.until_given(1).await;
    running.until("speaking", |s| s.state == "speaking").await;
    assert!(
        puppet.given()[0].contains("three thirty PM in old books"),
        "{:?}",
        puppet.given()
    );
    assert_eq!(puppet.given().len(), 1);
    assert!(!asking.is_finished() && running.status().await.turns == 0);
    may.add_permits(2);
    let report = asking.await.unwrap().unwrap();
    running.until("idle", |s| s.state == "idle" && s.turns == 1).await;
    assert_eq!(report.reply, TEA.concat());
    assert_eq!(
        puppet.said().join(" "),
        aloud::answer(&report.reply),
        "the same words, once"
    );
    assert_eq!((puppet.given().len(), puppet.stopped()), (3, 0));
    let states = states(&mut signals, &looks).await;
    let at = |state: State| states.iter().position(|s| *s == state);
    assert!(
        at(State::Thinking) < at(State::Speaking) && at(State::Speaking).is_some(),
        "{states:?}"
    );
    assert_eq!(states.last(), Some(&State::Idle), "{states:?}");
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn cancelling_in_the_middle_stops_voice_and_model() {
    for by_key in [false, true] {
        let (puppet, may) = (Puppet::that_says(0), Arc::new(Semaphore::new(2)));
        let llm = scripted(&Reply::stepwise(TEA, &may));
        let running = Running::start_with(llm, |parts| ready(parts, &puppet)).await;
        let (asks, key) = (running.client().await, running.client().await);
        let asking = tokio::spawn({
            let asks = asks.clone();
            async move { ask(&asks, "tell me about tea").await }
        });
        running.until("speaking", |s| s.state == "speaking").await;
        puppet.until_given(1).await;
        let began = Instant::now();
        let key = Tiro1Proxy::new(&key).await.unwrap();
        match by_key {
            true => assert_eq!(key.listen("cancel").await.unwrap(), "idle"),
            false => _ = key.cancel().await.unwrap(),
        }
        puppet.until_stopped(1).await;
        assert!(
            asking
                .await
                .unwrap()
                .unwrap_err()
                .to_string()
                .contains("cancelled")
        );
        println!("stopped after {} ms", began.elapsed().as_millis());
        running.until("idle", |s| s.state == "idle").await;
        // Nobody writes any more, and nothing of what was not said comes later.
        may.add_permits(5);
        tokio::time::sleep(Duration::from_millis(300)).await;
        assert_eq!(may.available_permits(), 5);
        assert_eq!((puppet.given().len(), puppet.said().len()), (1, 0));
        let next = ask(&asks, "what is on tomorrow").await.unwrap();
        assert!(next.reply.contains("Dentist"), "{next:?}");
        let prompts = running.llm.prompts();
        assert!(
            !prompts.last().unwrap().contains("scones"),
            "the cancelled turn left no trace"
        );
        running.stop().await;
    }
}

#[test]
fn who_speaks_into_an_answer_ends_it() {
    alone_in(
        "speaking::ahead",
        "who_speaks_into_an_answer_ends_it",
        async |_, pulse| {
            let Some(command) = recording(COMMAND) else { return };
            let (puppet, may) = (Puppet::that_says(0), Arc::new(Semaphore::new(2)));
            let llm = scripted(&Reply::stepwise(TEA, &may));
            let stt = ScriptedStt::replies(["tell me about tea", "what do I have tomorrow"]);
            let mut talk = Talk::with(llm, stt, |parts| ready(parts, &puppet)).await;
            talk.open("start", &pulse).await;
            pulse.speak(&command);
            talk.listen("stop").await;
            puppet.until_given(1).await;
            talk.running.until("speaking", |s| s.state == "speaking").await;
            pulse.until_recorders(0);

            let began = Instant::now();
            assert_eq!(talk.listen("start").await, "listening");
            puppet.until_stopped(1).await;
            let silent = began.elapsed();
            println!("silent after {} ms", silent.as_millis());
            assert!(silent < AT_ONCE, "{silent:?}");
            pulse.until_recorders(1);
            assert_eq!(talk.reply().await, prompts::words::cancelled());
            may.add_permits(5);
            pulse.speak(&command);
            talk.listen("stop").await;
            puppet.until_given(2).await;
            assert_eq!(may.available_permits(), 5, "nobody writes any more");
            let reply = talk.reply().await;
            assert!(reply.contains("Dentist"), "{reply}");
            assert!(puppet.given()[1].contains("Dentist"), "{:?}", puppet.given());
        },
    );
}

/// What is heard is what is shown, however the turn ends.
async fn ends_otherwise(reply: &Reply, said: &str, rest: String) {
    let puppet = Puppet::that_says(100);
    let llm = scripted(reply);
    let running = Running::start_with(llm, |parts| ready(parts, &puppet)).await;
    let client = running.client().await;
    let report = ask(&client, "tell me about tea").await.unwrap();
    running.until("idle", |s| s.state == "idle" && s.turns == 1).await;
    assert_eq!(report.reply, format!("{said} {rest}"));
    assert_eq!(puppet.said().join(" "), aloud::answer(&report.reply));
    let next = ask(&client, "what is on tomorrow").await.unwrap();
    assert!(next.reply.contains("Dentist"), "{next:?}");
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_engine_that_dies_in_the_middle_costs_one_sentence() {
    let may = Arc::new(Semaphore::new(100));
    let crashing = Reply::crashing(&["It comes in. It goes", " out at"], &may);
    ends_otherwise(&crashing, "It comes in.", prompts::words::engine_crashed()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sentence_that_is_no_answer_is_not_said() {
    let may = Arc::new(Semaphore::new(100));
    let talks = Reply::stepwise(
        &["It comes in. Now I use cal", "endar.query. It", " goes out."],
        &may,
    );
    ends_otherwise(&talks, "It comes in.", prompts::words::no_tool()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_done_is_told_while_the_next_request_is_thought_about() {
    let (puppet, may) = (Puppet::that_says(100), Arc::new(Semaphore::new(0)));
    let llm = ScriptedLlm::replies([
        Reply::Text(call("timers.set", r#"{"duration": "ten minutes"}"#)),
        Reply::stepwise(&[&tomorrow()], &may),
    ]);
    let running = Running::start_with(llm, |parts| ready(parts, &puppet)).await;
    let client = running.client().await;
    let asking = tokio::spawn(async move {
        let both = "set a timer for ten minutes and tell me what is on my calendar tomorrow";
        ask(&client, both).await
    });
    puppet.until_given(1).await;
    assert!(puppet.given()[0].contains("ten minutes"), "{:?}", puppet.given());
    assert!(!asking.is_finished() && running.status().await.turns == 0);
    may.add_permits(1);
    let report = asking.await.unwrap().unwrap();
    running.until("idle", |s| s.state == "idle" && s.turns == 1).await;
    assert!(report.reply.contains("Dentist"), "{report:?}");
    assert_eq!(puppet.said().join(" "), aloud::answer(&report.reply));
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_question_waits_for_what_was_begun_and_what_comes_of_it_is_said_after_it() {
    let puppet = Puppet::that_says(0);
    let llm = ScriptedLlm::replies([
        call("timers.set", r#"{"duration": "ten minutes"}"#),
        note("buy milk"),
    ]);
    let running = Running::start_with(llm, |parts| {
        asking_tools(parts);
        ready(parts, &puppet);
    })
    .await;
    let client = running.client().await;
    let mut signals = MessageStream::from(&client);
    let asking = {
        let client = client.clone();
        tokio::spawn(async move {
            let both = "Set a timer for ten minutes. Take a note to buy milk.";
            ask_with(&client, both, &["interactive"]).await
        })
    };
    let id = question(&mut signals).await;
    puppet.until_given(1).await;
    assert!(puppet.given()[0].contains("ten minutes"), "{:?}", puppet.given());
    assert_eq!(running.status().await.state, "confirming");
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert_eq!(
        (puppet.given().len(), puppet.stopped()),
        (1, 0),
        "it is said to its end"
    );
    // Two sentences: that it runs, and when it rings.
    puppet.may.add_permits(2);
    puppet.until_given(3).await;
    assert!(puppet.given()[2].contains("milk"), "{:?}", puppet.given());
    let proxy = Tiro1Proxy::new(&client).await.unwrap();
    assert!(proxy.confirm(id, true).await.unwrap());
    puppet.until_stopped(1).await;
    let report = asking.await.unwrap().unwrap();
    puppet.until_given(4).await;
    assert!(
        report.reply.contains("10 minutes") && report.reply.ends_with("I saved the note."),
        "{report:?}"
    );
    assert_eq!(puppet.given()[3], "I saved the note.");
    running.stop().await;
}
