//! The scenarios of `tests/scenarios`: that they can be met, without weights, and how many of a fixed part the real
//! model meets.

use std::{collections::BTreeSet, path::PathBuf, sync::Arc, time::Duration};

use daemon::{
    agent::Settings,
    eval::{
        Player,
        judge::Row,
        rehearsal::{self, Lines},
        scenario::{Reader, Scenario, Words},
        summary::Outcome,
    },
};
use models::scripted::ScriptedStt;
use tools::discover::Index;

use crate::{
    home::{Home, root},
    program::{Tiro, finish_within},
};

/// What Tiro cannot do yet, even with a model that makes no mistakes. One that passes must leave this list.
const NOT_YET: &[&str] = &[
    // Sentences that are not taken apart: neither part is sure, or one goes on in the words of the other.
    "several-volume-next",
    "several-on-and-off",
    "several-note-mail",
];

/// The scenario files of this repository.
pub fn files() -> Vec<PathBuf> {
    let folder = root().join("tests/scenarios");
    let mut files: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    files.retain(|file| file.extension().is_some_and(|end| end == "jsonl"));
    files.sort();
    files
}

/// All of them.
pub fn scenarios() -> Vec<Scenario> {
    let mut reader = Reader::new("say", tools::ALL);
    let all = files()
        .iter()
        .flat_map(|file| reader.read(file).unwrap())
        .collect();
    assert_eq!(reader.left_out, BTreeSet::new(), "every field is known");
    all
}

#[test]
fn the_scenarios_cover_every_tool_and_many_dialogues() {
    let all = scenarios();
    let turns = || all.iter().flat_map(|scenario| &scenario.turns);
    assert!(all.len() >= 150, "{} scenarios", all.len());
    let talks = all.iter().filter(|scenario| scenario.turns.len() > 1).count();
    assert!(talks >= 30, "{talks} dialogues");
    let refusals = turns().filter(|turn| turn.accept.is_empty()).count();
    assert!(refusals >= 25, "{refusals} turns in which nothing may act");
    let accepted: BTreeSet<&str> = turns()
        .flat_map(|turn| &turn.accept)
        .map(String::as_str)
        .collect();
    let business = tools::ALL
        .iter()
        .map(|tool| tool.name)
        .filter(|name| *name != "tools.discover");
    let missing: Vec<&str> = business.filter(|name| !accepted.contains(name)).collect();
    assert_eq!(missing, Vec::<&str>::new(), "tools without a scenario");
}

/// What a model is shown to go by is none of what it is judged on.
#[test]
fn no_call_to_go_by_is_a_request_of_the_scenarios() {
    let words = |text: &str| -> Vec<String> {
        let words = text
            .split(|c: char| !c.is_alphanumeric())
            .filter(|word| !word.is_empty());
        words.map(str::to_lowercase).collect()
    };
    let all = scenarios();
    let said: BTreeSet<Vec<String>> = all
        .iter()
        .flat_map(|scenario| &scenario.turns)
        .filter_map(|turn| match &turn.words {
            Words::Text(said) => Some(words(said)),
            _ => None,
        })
        .collect();
    assert!(said.len() > 300, "{} requests", said.len());
    let shown = tools::ALL.iter().flat_map(|tool| tool.calls);
    let both: Vec<&str> = shown
        .map(|(request, _)| *request)
        .filter(|request| said.contains(&words(request)))
        .collect();
    assert_eq!(both, Vec::<&str>::new());
}

/// The lines that `docs/eval.md` shows are scenarios.
#[test]
fn the_scenarios_of_the_manual_are_read() {
    let manual = std::fs::read_to_string(root().join("docs/eval.md")).unwrap();
    let lines: Vec<&str> = manual
        .lines()
        .filter(|line| line.starts_with("{\"id\""))
        .collect();
    let home = tempfile::tempdir().unwrap();
    let [scenarios, worlds] = ["scenarios", "worlds"].map(|name| home.path().join(name));
    std::fs::create_dir(&scenarios).unwrap();
    std::fs::create_dir(&worlds).unwrap();
    std::fs::copy(root().join("tests/worlds/demo.json"), worlds.join("demo.json")).unwrap();
    let file = scenarios.join("manual.jsonl");
    std::fs::write(&file, lines.join("\n")).unwrap();
    let read = Reader::new("say", tools::ALL).read(&file).unwrap();
    assert!(
        read.len() == lines.len() && read.len() > 10,
        "{} lines",
        read.len()
    );
}

/// Tools, harness, state machine and the scenarios themselves: with a model that does what is wanted, everything that is
/// expected comes about. A line with a slip of the pen, a check that cannot hold, a tool that takes no such argument
/// shows here.
#[tokio::test]
async fn the_scenarios_can_be_met() {
    let home = Home::empty("2026-11-20T09:00[Europe/Berlin]");
    let lines = Lines::default();
    let player = Player {
        llm: Arc::new(lines.model()),
        stt: Arc::new(ScriptedStt::replies::<&str>([])),
        parts: home.parts(rehearsal::settings(Settings::default())),
        index: Arc::new(Index::of(tools::ALL)),
        lines: Some(lines.clone()),
    };
    let (mut wrong, mut mended) = (Vec::new(), Vec::new());
    for scenario in scenarios() {
        lines.learn(&scenario);
        let rows = player.play(&scenario).await.unwrap();
        let failed: Vec<&Row> = rows.iter().filter(|row| !row.passed).collect();
        match (failed.is_empty(), NOT_YET.contains(&scenario.id.as_str())) {
            (false, false) => wrong.push(format!("{failed:#?}")),
            (true, true) => mended.push(scenario.id),
            _ => {}
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
    assert_eq!(
        mended,
        Vec::<String>::new(),
        "these pass now: take them off the list"
    );
}

/// A fixed part with the real model. The floors are what was seen, less what five or six scenarios weigh; they guard against
/// falling back and are not what is aimed at.
#[test]
fn real_scenarios_are_met_as_often_as_before() {
    let Some(tiro) = Tiro::find() else { return };
    let page = tiro.home().join("report.html");
    let files = files();
    let mut args = vec![
        "eval",
        "--json",
        "--sample",
        "40",
        "--html",
        page.to_str().unwrap(),
    ];
    args.extend(files.iter().map(|file| file.to_str().unwrap()));
    // Two minutes when nothing else runs, and longer than any other command here.
    let ran = finish_within(Duration::from_secs(840), tiro.command(args).spawn().unwrap());
    let outcome: Outcome = serde_json::from_str(&ran.out).unwrap_or_else(|error| panic!("{error}: {ran:?}"));
    let summary = &outcome.summary;
    println!("{}", summary.table(&outcome.beside));
    for row in outcome.rows.iter().filter(|row| !row.passed) {
        println!("{} {}: {} {:?}", row.id, row.turn, row.say, row.problems);
    }
    assert!(summary.scenarios == 40 && summary.n >= 40, "{summary:?}");
    assert!(summary.tool_accuracy.unwrap() >= TOOLS, "{summary:?}");
    assert!(summary.argument_accuracy.unwrap() >= ARGUMENTS, "{summary:?}");
    assert!(summary.passed >= PASSED, "{summary:?}");
    assert!(std::fs::read_to_string(page).unwrap().contains("</svg>"));
}

/// Turns with the right tool, of those that have one: 0.902 was seen.
const TOOLS: f64 = 0.8;
/// Turns with the right arguments, of those that say what they are; 0.895 was seen.
const ARGUMENTS: f64 = 0.75;
/// Scenarios right in everything, of 40; 35 was seen. Which 40 they are changes with every scenario that is added.
const PASSED: usize = 29;
