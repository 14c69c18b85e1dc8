//! Every command of a first day, with a daemon and without one: the same answers, the same exit codes, the shapes of
//! DESIGN section 6.

use std::{collections::BTreeSet, io::Write as _, process::Stdio};

use models::scripted::ScriptedLlm;
use serde_json::Value;

use crate::{
    daemon_loop::{Running, call},
    home::root,
    program::{Ran, Tiro, finish},
};

/// A command with what it must answer.
struct Verb {
    args: &'static [&'static str],
    /// What is typed into it.
    typed: &'static str,
    code: i32,
    /// What it prints among other things.
    prints: &'static [&'static str],
    /// Paths into the JSON that it prints, `[]` stands for each of a list; none where it prints none.
    shape: &'static [&'static str],
}

const fn verb(
    args: &'static [&'static str],
    code: i32,
    prints: &'static [&'static str],
    shape: &'static [&'static str],
) -> Verb {
    Verb {
        args,
        typed: "",
        code,
        prints,
        shape,
    }
}

const QUESTION: &str = "what do I have on my calendar tomorrow";
const EVENTS: &[&str] = &["Dentist", "Lunch with Anna", "Project review"];
const TURN: &[&str] = &[
    "say",
    "reply",
    "calls[].name",
    "calls[].arguments",
    "calls[].result",
    "calls[].status",
    "steps",
    "tokens.prompt",
    "tokens.cached",
    "tokens.generated",
    "ms.stt",
    "ms.llm",
    "ms.tools",
    "ms.total",
];
/// In the place of a recording that is in the repository.
const RECORDING: &str = "calendar-tomorrow.wav";

const VERBS: &[Verb] = &[
    verb(&["ask", QUESTION], 0, EVENTS, &[]),
    verb(&["ask", "--json", QUESTION], 0, EVENTS, TURN),
    verb(&["ask", "--json", "--wav", RECORDING], 0, EVENTS, TURN),
    Verb {
        args: &["chat"],
        typed: "what do I have on my calendar tomorrow\n",
        code: 0,
        prints: EVENTS,
        shape: &[],
    },
    verb(&["transcribe", RECORDING], 0, &["calendar", "tomorrow"], &[]),
    verb(
        &["transcribe", "--json", RECORDING],
        0,
        &["calendar"],
        &[
            "text",
            "segments[].start",
            "segments[].end",
            "segments[].text",
            "language",
            "ms.load",
            "ms.decode",
            "rtf",
        ],
    ),
    verb(&["tools"], 0, &["calendar.query", "mail.send"], &[]),
    verb(
        &["tools", "--json"],
        0,
        &["calendar.query"],
        &[
            "tools[].name",
            "tools[].domain",
            "tools[].summary",
            "tools[].policy",
            "tools[].effect",
            "tools[].parameters",
            "tools[].examples",
            "tools[].tokens",
            "totals.core",
            "totals.catalog",
            "totals.eager",
        ],
    ),
    verb(
        &["discover", "--json", "wake me at seven"],
        0,
        &["alarms.set"],
        &["query", "hits[].name", "hits[].score", "hits[].tier", "micros"],
    ),
    verb(
        &["call", "calc.evaluate", r#"{"expression": "6 * 7"}"#],
        0,
        &["42"],
        &[],
    ),
    verb(
        &["call", "notes.delete", r#"{"note": "wifi"}"#],
        3,
        &["I need your yes first", "Guest Wi-Fi"],
        &[],
    ),
    verb(
        &["call", "notes.delete", r#"{"note": "zebra crossings"}"#],
        1,
        &["zebra"],
        &[],
    ),
    verb(&["call", "notes.dilate", "{}"], 1, &["notes.delete"], &[]),
    verb(&["call", "notes.create", "[]"], 1, &["JSON object"], &[]),
    verb(&["history", "--json"], 0, &[], &["steps"]),
    verb(&["undo"], 1, &["nothing to undo"], &[]),
    verb(
        &["status", "--json"],
        0,
        &[],
        &[
            "state",
            "pid",
            "rss",
            "turns",
            "tokens.cached",
            "llm.pid",
            "stt.peak_rss",
        ],
    ),
    verb(&["config", "path"], 0, &["config.toml"], &[]),
    verb(&["config", "show"], 0, &["[llm]", "[stt]"], &[]),
    verb(
        &["config", "set", "llm.max_tokens", "many"],
        1,
        &["llm.max_tokens"],
        &[],
    ),
    verb(
        &["config", "set", "llm.max_token", "256"],
        1,
        &["max_tokens"],
        &[],
    ),
    verb(&["completions", "bash"], 0, &["_tiro"], &[]),
    verb(&["models", "list"], 0, &["whisper-base"], &[]),
    verb(&["outbox", "--json"], 0, &[], &["mails"]),
    verb(&["listen", "sideways"], 2, &["sideways"], &[]),
    verb(&["frobnicate"], 2, &["frobnicate"], &[]),
];

fn run(tiro: &Tiro, verb: &Verb) -> Ran {
    let recording = root().join("tests/audio").join(RECORDING);
    let args = verb.args.iter().map(|arg| match *arg {
        RECORDING => recording.to_str().unwrap(),
        arg => arg,
    });
    let mut command = tiro.command(args);
    if verb.typed.is_empty() {
        return finish(command.spawn().unwrap());
    }
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(verb.typed.as_bytes())
        .unwrap();
    finish(child)
}

/// Every value that a path leads to; fails where one does not.
fn follow<'a>(value: &'a Value, path: &str) -> Vec<&'a Value> {
    let mut found = vec![value];
    for step in path.split('.') {
        let (key, each) = step.strip_suffix("[]").map_or((step, false), |key| (key, true));
        found = found
            .into_iter()
            .map(|v| v.get(key).unwrap_or_else(|| panic!("{path} is not in {value}")))
            .collect();
        if each {
            found = found.into_iter().flat_map(|v| v.as_array().unwrap()).collect();
            assert!(!found.is_empty(), "{path} leads to nothing in {value}");
        }
    }
    found
}

#[track_caller]
fn check(tiro: &Tiro, verb: &Verb) -> Ran {
    let ran = run(tiro, verb);
    ran.expect_code(verb.code).says(verb.prints);
    // Answers go to stdout; what could not be done is said on stderr, and nothing else is printed then.
    assert_eq!(
        ran.out.trim().is_empty(),
        verb.code != 0,
        "{:?}: {ran:?}",
        verb.args
    );
    if !verb.shape.is_empty() {
        let json: Value = serde_json::from_str(&ran.out).unwrap_or_else(|e| panic!("{e}: {ran:?}"));
        verb.shape.iter().for_each(|path| drop(follow(&json, path)));
    }
    ran
}

/// The rows of the engines, as doctor prints them.
fn engines(doctor: &Ran) -> Vec<(String, String, String)> {
    let report: Value = serde_json::from_str(&doctor.out).unwrap_or_else(|e| panic!("{e}: {doctor:?}"));
    let sections = report["sections"].as_array().unwrap();
    let section = sections.iter().find(|s| s["name"] == "engines").unwrap();
    let rows = section["checks"].as_array().unwrap().iter();
    let text = |row: &Value, key: &str| row[key].as_str().unwrap().to_owned();
    rows.map(|row| (text(row, "name"), text(row, "severity"), text(row, "says")))
        .collect()
}

#[test]
fn real_every_command_does_the_same_with_a_daemon_and_without_one() {
    let Some(tiro) = Tiro::in_the_demo_world() else {
        return;
    };
    let alone: Vec<Ran> = VERBS.iter().map(|verb| check(&tiro, verb)).collect();
    let examined = engines(&tiro.run(["doctor", "--json"]));

    let (daemon, _) = tiro.daemon();
    let before = daemon.status();
    let beside: Vec<Ran> = VERBS.iter().map(|verb| check(&tiro, verb)).collect();
    let tokens = |runs: &[Ran]| {
        let at = VERBS.iter().position(|v| v.args == ["tools", "--json"]).unwrap();
        serde_json::from_str::<Value>(&runs[at].out).unwrap()
    };
    assert_eq!(tokens(&alone), tokens(&beside), "counted by the same tokenizer");
    // A second model beside the daemon's would take its memory twice, so what needs one asks the daemon. Where there are no
    // engines to start it still answers.
    let nowhere = tempfile::tempdir().unwrap();
    let without_engines = |args: &[&str]| {
        let mut command = tiro.command(args);
        finish(command.env("TIRO_ENGINES", nowhere.path()).spawn().unwrap())
    };
    without_engines(&["tools", "--json"]).expect_code(0);
    let there = engines(&without_engines(&["doctor", "--json"]));
    let names = |rows: &[(String, String, String)]| -> BTreeSet<(String, String)> {
        rows.iter()
            .map(|(name, severity, _)| (name.clone(), severity.clone()))
            .collect()
    };
    assert_eq!(names(&examined), names(&there));
    for rows in [&examined, &there] {
        for (engine, model) in [("llm", "Qwen"), ("stt", "base")] {
            let row = rows.iter().find(|(name, ..)| name == engine).unwrap();
            assert!(
                row.1 == "ok" && row.2.contains(model) && row.2.contains("CPU"),
                "{row:?}"
            );
            println!("{engine}: {}", row.2);
        }
    }
    assert_eq!(
        daemon.status().llm.pid,
        before.llm.pid,
        "the same engine all along"
    );
    assert_eq!(daemon.stop(), Some(0));
}

/// What asks first and finds nobody to ask ends with 3, and nothing is done; who agreed beforehand gets it done.
#[tokio::test(flavor = "multi_thread")]
async fn real_a_turn_that_nobody_agreed_to_exits_with_3() {
    let Some(tiro) = Tiro::find() else { return };
    let delete = || call("notes.delete", r#"{"note": "wifi"}"#);
    let running = Running::start_with(ScriptedLlm::replies([delete(), delete()]), |parts| {
        parts.settings.loading.core.push("notes.delete".into());
    })
    .await;
    let note = running.home.dirs().notes.join("wifi.md");
    let ask = |args: &[&str]| {
        let mut command = tiro.command([&["ask", "delete the wifi note"], args].concat());
        let child = command.env("TIRO_HOME", running.home.path()).spawn().unwrap();
        tokio::task::spawn_blocking(move || finish(child))
    };
    ask(&[]).await.unwrap().expect_code(3).says(&["Guest Wi-Fi"]);
    assert!(note.exists());
    ask(&["--yes"]).await.unwrap().expect_code(0);
    assert!(!note.exists());
}
