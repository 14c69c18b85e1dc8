//! What takes longer than it may ends in a sentence, and Tiro is there again.

use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};

use daemon::{reply::State, room::Parts};
use models::scripted::{Reply, ScriptedLlm};
use prompts::words;
use tools::{Ctx, Effect, Entry, Output, Tool, ToolError};
use zbus::MessageStream;

use crate::{
    daemon_loop::{Running, ask, call},
    microphone::tomorrow,
    speaking::states,
};

/// What a tool may take here.
const TIMEOUT: Duration = Duration::from_millis(300);
/// What these take, if nobody stops them.
const LONG: Duration = Duration::from_secs(3);

/// Reads, and does not come to an end.
struct Reads;

impl Tool for Reads {
    type Args = BTreeMap<String, String>;
    const NAME: &'static str = "test.reads";
    const SUMMARY: &'static str = "Read for too long";
    const EFFECT: Effect = Effect::Read;
    const EXAMPLES: &'static [&'static str] = &["read for too long"];
    const TIMEOUT: Duration = TIMEOUT;

    async fn run(_: Self::Args, ctx: &Ctx) -> Result<Output, ToolError> {
        tokio::time::sleep(LONG).await;
        std::fs::write(ctx.dirs.notes.join("read.md"), "to the end").unwrap();
        Ok(Output::new("Read.", serde_json::json!({})))
    }
}

/// Writes, and comes to an end later than it may.
struct Writes;

impl Tool for Writes {
    type Args = BTreeMap<String, String>;
    const NAME: &'static str = "test.writes";
    const SUMMARY: &'static str = "Write for too long";
    const EFFECT: Effect = Effect::Write;
    const EXAMPLES: &'static [&'static str] = &["write for too long"];
    const TIMEOUT: Duration = TIMEOUT;

    async fn run(_: Self::Args, ctx: &Ctx) -> Result<Output, ToolError> {
        tokio::time::sleep(LONG).await;
        std::fs::write(ctx.dirs.notes.join("written.md"), "to the end").unwrap();
        Ok(Output::new("Written.", serde_json::json!({})))
    }
}

fn long_tools(parts: &mut Parts) {
    let mut tools = tools::ALL.to_vec();
    tools.extend([Entry::of::<Reads>(), Entry::of::<Writes>()]);
    parts.tools = tools.leak();
    parts.settings.loading.core = vec![Reads::NAME.into(), Writes::NAME.into(), "calendar.query".into()];
}

/// One turn that takes too long: what it ends with, how long that was, and the states on the way. The next one is answered.
async fn ends(reply: Reply, change: impl FnOnce(&mut Parts)) -> (String, Duration, Vec<State>, Running) {
    let running = Running::start_with(ScriptedLlm::replies([reply, Reply::Text(tomorrow())]), change).await;
    let (client, looks) = (running.client().await, running.client().await);
    let mut signals = MessageStream::from(&looks);
    daemon::bus::Tiro1Proxy::new(&looks)
        .await
        .unwrap()
        .status()
        .await
        .unwrap();
    let began = Instant::now();
    let report = ask(&client, "do what takes long").await.unwrap();
    let took = began.elapsed();
    println!("{:?} after {} ms", report.reply, took.as_millis());
    running.until("idle", |s| s.state == "idle" && s.turns == 1).await;
    let states = states(&mut signals, &looks).await;
    let next = ask(&client, "what is on tomorrow").await.unwrap();
    assert!(next.reply.contains("Dentist"), "{next:?}");
    running.until("idle", |s| s.state == "idle" && s.turns == 2).await;
    (report.reply, took, states, running)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_model_that_does_not_come_to_an_end_costs_a_sentence() {
    let (reply, took, states, running) = ends(Reply::Hang("Once upon".to_owned()), |parts| {
        parts.limits.generate = Duration::from_millis(700);
    })
    .await;
    assert_eq!(reply, words::timed_out("answer that"));
    assert!(took >= Duration::from_millis(700), "{took:?}");
    assert!(took < Duration::from_secs(10), "{took:?}");
    assert!(states.contains(&State::Thinking), "{states:?}");
    assert_eq!(states.last(), Some(&State::Idle), "{states:?}");
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tool_that_does_not_come_to_an_end_costs_a_sentence() {
    let (reply, took, states, running) = ends(Reply::Text(call(Reads::NAME, "{}")), long_tools).await;
    assert_eq!(reply, words::timed_out("do that"));
    assert!(took >= TIMEOUT && took < Duration::from_secs(10), "{took:?}");
    assert!(states.contains(&State::Acting), "{states:?}");
    assert_eq!(states.last(), Some(&State::Idle), "{states:?}");
    // Nobody waits for it, and it is ended.
    tokio::time::sleep(LONG).await;
    assert!(!running.home.dirs().notes.join("read.md").exists());
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tool_that_writes_for_too_long_is_said_to_go_on_and_does() {
    let (reply, took, states, running) = ends(Reply::Text(call(Writes::NAME, "{}")), long_tools).await;
    assert_eq!(reply, words::still_working());
    assert!(took >= TIMEOUT && took < LONG, "{took:?}");
    assert_eq!(states.last(), Some(&State::Idle), "{states:?}");
    let written = running.home.dirs().notes.join("written.md");
    let began = Instant::now();
    while !written.exists() {
        assert!(
            began.elapsed() < Duration::from_secs(30),
            "it never came to an end"
        );
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    running.stop().await;
}
