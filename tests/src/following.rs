//! What every client of the daemon is told: states, what rings, what is noticed; on the bus and in `tiro status --follow`.

use std::{
    io::{BufRead as _, BufReader},
    path::PathBuf,
    process::{Child, Stdio},
    sync::mpsc::{Receiver, channel},
    time::{Duration, Instant},
};

use daemon::{
    bus::{self, Tiro1Proxy},
    cli::status,
    reply::{Happening, State},
    run::{Event, Source},
    status::Status,
};
use futures_util::StreamExt as _;
use models::scripted::{Reply, ScriptedLlm};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
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

/// The lines of `tiro status --follow`, as they come.
struct Followed {
    lines: Receiver<String>,
    task: tokio::task::JoinHandle<anyhow::Result<()>>,
}

impl Followed {
    fn of(socket: PathBuf, json: bool) -> Followed {
        let (tell, lines) = channel();
        let mut out = move |line: &str| {
            let told = tell.send(line.to_owned());
            told.map_err(|_| std::io::ErrorKind::BrokenPipe.into())
        };
        let task = tokio::spawn(async move { status::follow(&socket, json, &mut out).await });
        Followed { lines, task }
    }

    /// The next line.
    async fn next(&self) -> String {
        let began = Instant::now();
        loop {
            if let Ok(line) = self.lines.try_recv() {
                return line;
            }
            assert!(began.elapsed() < PATIENCE, "no line comes");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// Lines until one is of this class; each is whole.
    async fn until(&self, class: &str) -> Vec<Value> {
        let mut lines = Vec::new();
        loop {
            let line: Value = serde_json::from_str(&self.next().await).unwrap();
            for key in ["text", "alt", "class", "tooltip"] {
                assert!(line[key].as_str().is_some_and(|s| !s.is_empty()), "{key}: {line}");
            }
            assert_eq!(
                (&line["text"], &line["alt"]),
                (&line["class"], &line["class"]),
                "{line}"
            );
            lines.push(line);
            if lines.last().is_some_and(|line| line["class"] == class) {
                return lines;
            }
        }
    }
}

#[tokio::test]
async fn a_status_bar_reads_every_line_through_daemons_that_come_and_go() {
    let home = tempfile::tempdir().unwrap();
    std::fs::create_dir(home.path().join("run")).unwrap();
    let socket = home.path().join("run/tiro.sock");
    let bar = Followed::of(socket.clone(), true);
    let words = Followed::of(socket.clone(), false);
    let off = bar.until("off").await;
    assert_eq!(off[0]["tooltip"], "Tiro is not running.");
    assert_eq!(
        serde_json::from_value::<Status>(off[0].clone()).unwrap(),
        Status::off()
    );
    assert!(words.next().await.contains("not running"));

    let running = running().await;
    // The bar was started before the daemon, which now comes to where the bar looks.
    std::os::unix::fs::symlink(running.home.path().join("run/tiro.sock"), &socket).unwrap();
    let status = bar.until("idle").await.pop().unwrap();
    assert_eq!(status["pid"], std::process::id());
    assert!(words.next().await.starts_with("idle, "));

    let client = running.client().await;
    let proxy = Tiro1Proxy::new(&client).await.unwrap();
    proxy
        .ask("what do I have tomorrow".into(), Default::default())
        .await
        .unwrap();
    let turn = bar.until("idle").await;
    assert!(turn.iter().any(|line| line["class"] == "acting"), "{turn:?}");
    assert!(
        turn.iter()
            .all(|line| line["kind"] == "state" && line["state"] == line["class"])
    );
    assert!(
        !format!("{turn:?}").contains("Dentist"),
        "no words of the turn: {turn:?}"
    );
    // A name that somebody else may have given.
    running.happens(rang("<b>Party</b> & more\nnow.")).await;
    let rung = bar.until("ringing").await.pop().unwrap();
    assert_eq!(rung["tooltip"], "<b>Party</b> & more now.");
    assert_eq!((&rung["kind"], &rung["times"]), (&"rang".into(), &1.into()));
    running.happens(wrong(&["The login failed."])).await;
    let noticed = bar.until("noticed").await.pop().unwrap();
    assert_eq!(noticed["tooltip"], "The login failed.");
    // What is over is not shown for ever.
    let after = bar.until("idle").await.pop().unwrap();
    assert_eq!(
        (&after["kind"], &after["state"]),
        (&"state".into(), &"idle".into())
    );

    running.stop().await;
    std::fs::remove_file(&socket).unwrap();
    assert_eq!(bar.until("off").await.len(), 1);
    // A reader that is gone ends it at the next line.
    let Followed { lines, task } = bar;
    drop(lines);
    let again = self::running().await;
    std::os::unix::fs::symlink(again.home.path().join("run/tiro.sock"), &socket).unwrap();
    task.await.unwrap().unwrap();
    words.task.abort();
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
        .any(|h| matches!(h, Happening::Rang { times: 1, .. }));
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
fn real_status_follows_through_daemons_that_come_and_go() {
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
    let daemon = Ended(
        tiro.command(["daemon"])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap(),
    );
    assert_eq!(status(&lines.recv_timeout(PATIENCE).unwrap()).pid, daemon.0.id());
    terminate(child.id());
    assert_eq!(wait(&mut child), Some(0));
}
