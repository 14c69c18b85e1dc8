//! Scenarios that are heard: written ones that a synthetic voice says, and recordings of people.

use std::{path::Path, sync::Arc, time::Duration};

use daemon::{
    agent::Settings,
    eval::{
        Player,
        rehearsal::{self, Lines},
        scenario::{Reader, Scenario, Words},
        spoken::Spoken,
        summary::Outcome,
    },
    listen::{vad, wav},
};
use models::scripted::ScriptedStt;
use serde_json::{Value, json};
use tools::discover::Index;

use crate::{
    home::Home,
    microphone::recording,
    program::{Tiro, finish_within},
    scenarios::files,
};

/// Longest run of a part, on a loaded machine.
const LONG: Duration = Duration::from_secs(840);

fn has_voice() -> bool {
    let there = std::process::Command::new("espeak-ng").arg("--version").output();
    let there = there.is_ok_and(|out| out.status.success());
    if !there {
        let required = std::env::var_os("TIRO_REQUIRE_REAL").is_some();
        assert!(!required, "espeak-ng is missing");
        println!("SKIPPED: espeak-ng is missing; run `cargo xtask setup`");
    }
    there
}

fn read(folder: &Path, lines: &[Value]) -> Vec<Scenario> {
    let file = folder.join("scenarios.jsonl");
    let lines: Vec<String> = lines.iter().map(Value::to_string).collect();
    std::fs::write(&file, lines.join("\n")).unwrap();
    Reader::new("say", tools::ALL).read(&file).unwrap()
}

/// Without weights: each turn becomes a recording of its own in which somebody speaks, and is heard.
#[tokio::test]
async fn what_is_written_is_said_and_heard() {
    if !has_voice() {
        return;
    }
    let home = Home::empty("2026-11-20T09:00[Europe/Berlin]");
    let folder = tempfile::tempdir().unwrap();
    let said = [
        "twelve minutes on the clock",
        "have I got any timers going",
        "order me a taxi",
    ];
    let written = read(
        folder.path(),
        &[
            json!({"id": "timers", "turns": [
                {"say": said[0], "accept": ["timers.set"], "args": {"timers.set": {"duration": {"time": "twelve minutes"}}}},
                {"say": said[1], "accept": ["timers.list"]},
            ]}),
            json!({"id": "taxi", "say": said[2], "accept": []}),
        ],
    );
    let spoken = Spoken::of(&written).await.unwrap();
    let turns = || spoken.scenarios().iter().flat_map(|scenario| &scenario.turns);
    let mut recordings = Vec::new();
    for turn in turns() {
        let Words::Wav(file) = &turn.words else {
            panic!("{turn:?} is not heard");
        };
        let samples = wav::read(file).unwrap();
        let speech = vad::speech(&samples).expect("somebody speaks");
        assert!(speech.len() > 8_000, "{} samples", speech.len());
        recordings.push(file.clone());
    }
    let lines = Lines::default();
    let stt = Arc::new(ScriptedStt::replies(said));
    let player = Player {
        llm: Arc::new(lines.model()),
        stt: stt.clone(),
        parts: home.parts(rehearsal::settings(Settings::default())),
        index: Arc::new(Index::of(tools::ALL)),
        lines: Some(lines.clone()),
    };
    let mut rows = Vec::new();
    for scenario in spoken.scenarios() {
        lines.learn(scenario);
        rows.extend(player.play(scenario).await.unwrap());
    }
    let heard: Vec<&str> = rows.iter().map(|row| row.say.as_str()).collect();
    assert_eq!(heard, said);
    assert!(rows.iter().all(|row| row.passed), "{rows:#?}");
    assert_eq!(stt.requests().len(), 3);
    // What is a recording already is not said again, and what was said goes with those who said it.
    let again = Spoken::of(spoken.scenarios()).await.unwrap();
    let same = again.scenarios()[1].turns[0].words.clone();
    assert!(matches!(same, Words::Wav(file) if file == recordings[2]));
    drop(spoken);
    assert!(!recordings[0].exists());
}

/// `tiro eval` on these lines, or files.
fn eval(tiro: &Tiro, args: &[&str]) -> Outcome {
    let args = [&["eval", "--json"], args].concat();
    let ran = finish_within(LONG, tiro.command(args).spawn().unwrap());
    let outcome: Outcome = serde_json::from_str(&ran.out).unwrap_or_else(|error| panic!("{error}: {ran:?}"));
    println!("{}", outcome.summary.table(&outcome.beside));
    for row in outcome.rows.iter().filter(|row| !row.passed) {
        println!("{} {}: {} {:?}", row.id, row.turn, row.say, row.problems);
    }
    outcome
}

/// The recordings of people, with what is right: they order coffee, which nothing here can serve, ask for this and that, and
/// read aloud. How many of the orders depends on `step`.
fn recordings_of_people(step: usize) -> Option<Vec<Value>> {
    let orders = recording("commands/labels.jsonl")?;
    let read = recording("read/manifest.jsonl")?;
    let lines = |path: &Path| -> Vec<Value> {
        let text = std::fs::read_to_string(path).unwrap();
        text.lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    };
    let scenario = |path: &Path, file: &Value, accept: &[&str]| {
        let wav = std::path::absolute(path.with_file_name(file.as_str().unwrap())).unwrap();
        json!({"id": file, "wav": wav, "accept": accept})
    };
    let mut all: Vec<Value> = lines(&orders)
        .iter()
        .step_by(step)
        .map(|line| scenario(&orders, &line["file"], &[]))
        .collect();
    for line in lines(&read) {
        let file = &line["file"];
        let accept: &[&str] = match line["transcript"].as_str().unwrap() {
            "what time is it" => &["clock.now"],
            "launch firefox" => &["system.open_app"],
            _ => &[],
        };
        // The others are not WAV.
        if file
            .as_str()
            .is_some_and(|name| name.ends_with(".wav") || name.ends_with(".riff"))
        {
            all.push(scenario(&read, file, accept));
        }
    }
    Some(all)
}

/// Real people, real recogniser, real model: what they want and Tiro can do it does, and nothing else.
#[test]
fn real_recordings_of_people_are_understood() {
    let Some(tiro) = Tiro::find() else { return };
    // All of them with TIRO_TEST_ALL, for a report.
    let step = if std::env::var_os("TIRO_TEST_ALL").is_some() {
        1
    } else {
        10
    };
    let Some(lines) = recordings_of_people(step) else {
        return;
    };
    let file = tiro.home().join("people.jsonl");
    let text: Vec<String> = lines.iter().map(Value::to_string).collect();
    std::fs::write(&file, text.join("\n")).unwrap();
    let outcome = eval(&tiro, &[file.to_str().unwrap()]);
    let summary = &outcome.summary;
    assert_eq!(summary.n, lines.len());
    assert!(summary.hearing_ms.is_some_and(|ms| ms.p50 > 0.0), "{summary:?}");
    assert_eq!(summary.tool_accuracy, Some(1.0), "{summary:?}");
    assert!(summary.false_actions.unwrap() <= FALSE_ACTIONS, "{summary:?}");
}

/// The same scenarios as text and heard from a synthetic voice. Seen with base and the 1.5B model: right tool for 69 % of the turns
/// heard and 92 % read, right arguments for 33 % and 78 %; the difference are words that were misheard.
#[test]
fn real_scenarios_are_heard_as_well_as_before() {
    let Some(tiro) = Tiro::find() else { return };
    if !has_voice() {
        return;
    }
    let files = files();
    let mut args = vec!["--spoken", "--sample", "12"];
    args.extend(files.iter().map(|file| file.to_str().unwrap()));
    let outcome = eval(&tiro, &args);
    let (heard, written) = (&outcome.summary, &outcome.beside["written"]);
    assert!(heard.scenarios == 12 && heard.n == written.n, "{heard:?}");
    assert!(heard.hearing_ms.is_some() && written.hearing_ms.is_none());
    for row in &outcome.rows {
        assert!(row.say.chars().any(char::is_alphabetic), "{row:?}");
    }
    assert!(heard.tool_accuracy.unwrap() >= HEARD, "{heard:?}");
}

/// Share of the recordings that nothing serves on which something was done, at most.
const FALSE_ACTIONS: f64 = 0.1;
/// Turns with the right tool, of those that have one, when they are heard, at least.
const HEARD: f64 = 0.4;
