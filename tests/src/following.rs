//! What every client of the daemon is told: states, what rings, what is noticed; on the bus and in `tiro status --follow`.

use std::{
    io::{BufRead as _, BufReader},
    process::{Child, Stdio},
    sync::mpsc::{Receiver, channel},
    time::{Duration, Instant},
};

use daemon::{
    bus::{self, Tiro1Proxy},
    reply::{Happening, State},
    run::{Event, Source},
    status::Status,
};
use futures_util::StreamExt as _;
use models::scripted::{Reply, ScriptedLlm};
use rustix::process::{Pid, Signal, kill_process};
use zbus::MessageStream;

use crate::{
    chat::rang,
    daemon_loop::{Running, call},
    program::{Tiro, terminate, wait},
};

/// Longest that anything may take, on a loaded machine.
const PATIENCE: Duration = Duration::from_secs(60);

async fn running() -> Running {
    let script = ScriptedLlm::replies([Reply::Text(call("calendar.query", r#"{"when": "tomorrow"}"#))]);
    Running::start_with(script, |parts| {
        parts.settings.loading.core.push("calendar.query".into());
    })
    .await
}

fn wrong(texts: &[&str]) -> Event {
    Event::Noticed {
        source: Source::Account("home".into()),
        texts: texts.iter().map(|t| (*t).to_owned()).collect(),
    }
}

#[tokio::test]
async fn every_client_is_told_the_states_of_a_turn_what_rings_and_what_is_new() {
    let running = running().await;
    let (asks, looks) = (running.client().await, running.client().await);
    let mut signals = MessageStream::from(&looks);
    let proxy = Tiro1Proxy::new(&looks).await.unwrap();
    // Answered once the daemon knows the client.
    proxy.status().await.unwrap();
    let asking = Tiro1Proxy::new(&asks).await.unwrap();
    let report = asking
        .ask("what do I have tomorrow".into(), Default::default())
        .await
        .unwrap();
    assert!(report.contains("Dentist"), "{report}");
    running.happens(rang("Your tea timer is up.")).await;
    running.happens(wrong(&["The login failed."])).await;
    // The same is wrong after the next run, and something new.
    running
        .happens(wrong(&["The login failed.", "Both were kept."]))
        .await;

    let mut told = Vec::new();
    while told
        .last()
        .is_none_or(|last: &String| last != "! Both were kept.")
    {
        let message = tokio::time::timeout(PATIENCE, signals.next()).await;
        let message = message
            .unwrap_or_else(|_| panic!("only {told:?}"))
            .unwrap()
            .unwrap();
        match bus::happening(&message) {
            Some(Happening::State { state }) => told.push(state.name().to_owned()),
            Some(Happening::Rang { text, .. }) => told.push(text),
            Some(Happening::Noticed { text }) => told.push(format!("! {text}")),
            Some(other) => panic!("what belongs to the turn of another client: {other:?}"),
            None => {}
        }
    }
    told.dedup();
    let idle = told.iter().position(|t| t == State::Idle.name()).unwrap();
    assert_eq!(told[0], "thinking", "{told:?}");
    assert!(told[..idle].contains(&"acting".to_owned()), "{told:?}");
    assert_eq!(
        told[idle + 1..],
        [
            "Your tea timer is up.",
            "! The login failed.",
            "! Both were kept."
        ]
    );
    let problems = async || {
        let status: Status = serde_json::from_str(&proxy.status().await.unwrap()).unwrap();
        status.problems
    };
    assert_eq!(problems().await, ["The login failed.", "Both were kept."]);
    running.happens(wrong(&[])).await;
    assert_eq!(problems().await, [""; 0]);
}

/// The lines that a program writes, as they come.
fn lines(child: &mut Child) -> Receiver<String> {
    let (tell, told) = channel();
    let out = BufReader::new(child.stdout.take().unwrap());
    std::thread::spawn(move || {
        for line in out.lines().map_while(Result::ok) {
            let _ = tell.send(line);
        }
    });
    told
}

#[tokio::test(flavor = "multi_thread")]
async fn real_status_follows_until_it_is_stopped() {
    let Some(tiro) = Tiro::find() else { return };
    let running = running().await;
    let follow = |args: &[&str]| {
        let mut command = tiro.command(args);
        command.env("TIRO_HOME", running.home.path());
        let mut child = command.spawn().unwrap();
        let lines = lines(&mut child);
        (child, lines)
    };
    let (json, in_json) = follow(&["status", "--json", "--follow"]);
    let (plain, in_words) = follow(&["status", "--follow"]);
    let status: Status = serde_json::from_str(&in_json.recv_timeout(PATIENCE).unwrap()).unwrap();
    assert_eq!((status.state.as_str(), status.pid), ("idle", std::process::id()));
    assert!(in_words.recv_timeout(PATIENCE).unwrap().starts_with("idle, "));

    let client = running.client().await;
    let proxy = Tiro1Proxy::new(&client).await.unwrap();
    proxy
        .ask("what do I have tomorrow".into(), Default::default())
        .await
        .unwrap();
    running.happens(rang("Your tea timer is up.")).await;
    running.happens(wrong(&["The login failed."])).await;
    let mut happened = Vec::new();
    while !matches!(happened.last(), Some(Happening::Noticed { .. })) {
        let line = in_json.recv_timeout(PATIENCE).unwrap();
        happened.push(serde_json::from_str::<Happening>(&line).unwrap_or_else(|e| panic!("{e}: {line}")));
    }
    let states = happened.iter().filter(|h| matches!(h, Happening::State { .. }));
    assert!(states.count() >= 3, "{happened:?}");
    let rung = happened
        .iter()
        .any(|h| matches!(h, Happening::Rang { text, .. } if text == "Your tea timer is up."));
    assert!(rung, "{happened:?}");
    let mut said = Vec::new();
    while said
        .last()
        .is_none_or(|last: &String| last != "! The login failed.")
    {
        said.push(in_words.recv_timeout(PATIENCE).unwrap());
    }
    for line in ["thinking", "acting", "idle", "Your tea timer is up."] {
        assert!(said.contains(&line.to_owned()), "{line} in {said:?}");
    }

    // Ctrl-C ends it.
    for mut child in [json, plain] {
        kill_process(Pid::from_child(&child), Signal::INT).unwrap();
        assert_eq!(wait(&mut child), Some(0));
    }
}

/// A program that does not outlive its test.
struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn real_status_follows_until_the_daemon_goes() {
    let Some(tiro) = Tiro::find() else { return };
    // No question is asked, so nobody waits for its model.
    let mut command = tiro.command(["daemon"]);
    let mut daemon = Ended(
        command
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap(),
    );
    let status = |line: &str| serde_json::from_str::<Status>(line).unwrap();
    let began = Instant::now();
    while status(&tiro.run(["status", "--json"]).expect_code(0).out).pid == 0 {
        assert!(began.elapsed() < PATIENCE, "the daemon does not start");
        std::thread::sleep(Duration::from_millis(20));
    }
    let mut child = tiro.command(["status", "--json", "--follow"]).spawn().unwrap();
    let lines = lines(&mut child);
    assert_eq!(status(&lines.recv_timeout(PATIENCE).unwrap()).pid, daemon.0.id());
    terminate(daemon.0.id());
    assert_eq!(wait(&mut daemon.0), Some(0));
    assert_eq!(status(&lines.recv_timeout(PATIENCE).unwrap()), Status::off());
    assert_eq!(wait(&mut child), Some(0));
    // Without a daemon there is nothing to follow.
    let ran = tiro.run(["status", "--json", "--follow"]);
    assert_eq!(status(&ran.expect_code(0).out), Status::off());
}
