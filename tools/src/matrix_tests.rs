//! What the tools of the person's own data answer where they cannot do what was asked: one table over all of them, so that
//! a tool that is added without a row is noticed.

use std::{collections::BTreeSet, fs, path::PathBuf};

use serde_json::{Value, json};

use crate::{
    Answered, Ctx, Dirs, Effect, ToolError,
    system::todos,
    testing::{ReadOnly, ctx, files, run, said, unprivileged},
};

/// The rooms that this is about.
const DOMAINS: [&str; 12] = [
    "alarms",
    "assistant",
    "calc",
    "calendar",
    "clock",
    "contacts",
    "files",
    "lists",
    "memory",
    "notes",
    "reminders",
    "timers",
];

/// Calls of tools, as data.
fn calls(text: &'static str) -> Vec<(&'static str, Value)> {
    rows(text)
        .map(|row| (row[0], serde_json::from_str(row[1]).unwrap()))
        .collect()
}

fn rows(text: &'static str) -> impl Iterator<Item = Vec<&'static str>> {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines.map(|line| line.split('\t').collect())
}

/// What there is in a store before a tool is tried.
fn world(domain: &str) -> Vec<(&'static str, Value)> {
    let mut all = calls(include_str!("matrix_tests/world.tsv"));
    all.retain(|(name, _)| self::domain(name) == domain);
    all
}

/// Every tool that writes, with arguments that it can do in that world.
fn writers() -> Vec<(&'static str, Value)> {
    calls(include_str!("matrix_tests/writers.tsv"))
}

fn store(name: &str, dirs: &Dirs) -> PathBuf {
    match domain(name) {
        "alarms" => dirs.alarms.clone(),
        "calendar" => dirs.calendars.clone(),
        "contacts" => dirs.contacts.clone(),
        "files" => dirs.files[0].clone(),
        "lists" => dirs.lists.clone(),
        "memory" => dirs.memory.clone(),
        "notes" => dirs.notes.clone(),
        "reminders" => dirs.reminders.clone(),
        "timers" => dirs.state.join("timers"),
        other => panic!("{other} has no store"),
    }
}

fn domain(name: &str) -> &str {
    name.split('.').next().unwrap()
}

/// No tool makes files, so these are there already. Two of them share a word.
fn make_files(ctx: &Ctx) {
    let root = &ctx.dirs.files[0];
    fs::create_dir_all(root.join("Garden")).unwrap();
    for (file, text) in [
        ("report.txt", "The supplier is late."),
        ("Garden/plan one.txt", "Tulips."),
        ("Garden/plan two.txt", "Roses."),
    ] {
        fs::write(root.join(file), text).unwrap();
    }
}

async fn make(domain: &str, ctx: &Ctx) {
    if domain == "files" {
        make_files(ctx);
    }
    for (name, args) in world(domain) {
        said(run(name, args, ctx).await);
    }
}

/// They show something on the screen, and write nothing.
const SHOWING: [&str; 2] = ["files.open", "files.reveal"];

#[test]
fn every_writer_is_tried() {
    let tried: BTreeSet<&str> = writers().iter().map(|(name, _)| *name).collect();
    let there: BTreeSet<&str> = crate::ALL
        .iter()
        .filter(|tool| DOMAINS.contains(&tool.domain()) && tool.effect != Effect::Read)
        // It writes where others wrote, and is tried below.
        .filter(|tool| tool.name != "assistant.undo" && !SHOWING.contains(&tool.name))
        .map(|tool| tool.name)
        .collect();
    assert_eq!(tried, there);
}

/// Runs a writer while a folder takes no writes. It must tell what cannot be written and what to do, change nothing, and
/// leave nothing in the journal; and once the folder takes writes again it must work.
#[track_caller]
fn refused(name: &str, args: &Value, folder: impl Fn(&Dirs) -> PathBuf, place: &str) {
    let root = tempfile::tempdir().unwrap();
    unprivileged(async || make(domain(name), &ctx(root.path())).await);
    let dirs = Dirs::under(root.path());
    let mut before = files(&store(name, &dirs));
    let past = ctx(root.path()).step.journal().history(50).unwrap();
    let guard = ReadOnly::of(&folder(&dirs));
    let result = unprivileged(async || run(name, args.clone(), &ctx(root.path())).await);
    drop(guard);
    let text = match result {
        Err(ToolError::Tell(text)) => text,
        other => panic!("{name} {args}: {other:?}"),
    };
    assert!(text.contains(place), "{name} {args}: {text}");
    assert!(
        ["then try again", "read-only"]
            .iter()
            .any(|hint| text.contains(hint)),
        "{name} {args}: {text}"
    );
    assert_eq!(files(&store(name, &dirs)), before, "{name} {args}");
    let journal = ctx(root.path()).step.journal().clone();
    assert_eq!(journal.history(50).unwrap(), past, "{name} {args}");
    assert_eq!(journal.verify_invariants().unwrap(), [""; 0], "{name} {args}");
    let again = unprivileged(async || run(name, args.clone(), &ctx(root.path())).await);
    assert!(again.is_ok(), "{name} {args}: {again:?}");
    journal.undo(None).unwrap();
    let mut after = files(&store(name, &dirs));
    before.sort();
    after.sort();
    assert_eq!(after, before, "{name} {args}: undone");
}

#[test]
fn a_store_that_takes_no_writes_is_told_and_stays_as_it_is() {
    for (name, args) in writers() {
        let place = match domain(name) {
            "calendar" => "ersonal".to_owned(),
            domain => domain.to_owned(),
        };
        refused(name, &args, |dirs| store(name, dirs), &place);
    }
}

#[test]
fn without_a_journal_nothing_is_written() {
    for (name, args) in writers() {
        refused(name, &args, |dirs| dirs.state.clone(), "state");
    }
}

#[test]
fn an_undo_that_may_not_write_is_told_and_can_be_done_later() {
    for domain in DOMAINS.iter().filter(|domain| !world(domain).is_empty()) {
        let root = tempfile::tempdir().unwrap();
        unprivileged(async || make(domain, &ctx(root.path())).await);
        let folder = store(domain, &Dirs::under(root.path()));
        let before = files(&folder);
        let guard = ReadOnly::of(&folder);
        let undo = || unprivileged(async || run("assistant.undo", json!({}), &ctx(root.path())).await);
        let told = undo();
        drop(guard);
        assert!(
            matches!(&told, Err(ToolError::Tell(text)) if text.contains("then try again")),
            "{domain}: {told:?}"
        );
        assert_eq!(files(&folder), before, "{domain}");
        assert!(undo().is_ok(), "{domain}");
        let past = ctx(root.path()).step.journal().history(1).unwrap();
        assert!(past[0].undone, "{domain}: {past:?}");
    }
}

/// Moving to another list makes one file and removes another; here only the first is possible.
#[test]
fn what_fails_half_way_is_taken_back() {
    let root = tempfile::tempdir().unwrap();
    let ctx = ctx(root.path());
    unprivileged(async || make("reminders", &ctx).await);
    let other = ctx.step.journal().step("another list");
    todos::make_list(&other, &ctx.dirs.reminders, "Work").unwrap();
    drop(other);
    let before = (
        files(&ctx.dirs.reminders),
        ctx.step.journal().history(50).unwrap(),
    );
    let guard = ReadOnly::of(files(&ctx.dirs.reminders)[0].0.parent().unwrap());
    let result = unprivileged(async || {
        let args = json!({"title": "mum", "list": "work"});
        run("reminders.update", args, &ctx).await
    });
    drop(guard);
    assert!(matches!(result, Err(ToolError::Tell(_))), "{result:?}");
    let after = (
        files(&ctx.dirs.reminders),
        ctx.step.journal().history(50).unwrap(),
    );
    assert_eq!(after, before);
    assert_eq!(ctx.step.journal().verify_invariants().unwrap(), [""; 0]);
}

/// Where a tool is tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Case {
    /// What a tool that only reads is for; those that write are above.
    Happy,
    /// Nothing is there yet.
    Empty,
    /// Things are there, but not this one.
    Unknown,
    /// Several fit what was said: it asks which.
    Ambiguous,
    /// An argument is no such thing, or one contradicts another or what is there.
    Contradictory,
}
use Case::{Ambiguous, Contradictory, Empty, Happy, Unknown};

const CASES: [Case; 5] = [Happy, Empty, Unknown, Ambiguous, Contradictory];

/// What each tool answers, told or said.
fn answers() -> Vec<(&'static str, Case, Value, &'static str)> {
    rows(include_str!("matrix_tests/answers.tsv"))
        .map(|row| match row[..] {
            [name, case, args, expect] => {
                let case = CASES.iter().find(|known| format!("{known:?}") == case);
                (name, *case.unwrap(), serde_json::from_str(args).unwrap(), expect)
            }
            _ => panic!("{row:?}"),
        })
        .collect()
}

#[tokio::test]
async fn each_case_is_answered_and_none_changes_anything() {
    let (empty, full) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let mut empty = ctx(empty.path());
    let mut full = ctx(full.path());
    make_files(&full);
    for (name, args) in calls(include_str!("matrix_tests/twins.tsv")) {
        said(run(name, args, &full).await);
    }
    full.last = Some(Answered {
        text: "Two and two is four.".into(),
        untrusted: false,
    });
    empty.last = None;
    let state = |ctx: &Ctx| {
        let stores = [
            "alarms",
            "calendar",
            "contacts",
            "files",
            "lists",
            "memory",
            "notes",
            "reminders",
            "timers",
        ];
        let there = stores
            .map(|name| store(name, &ctx.dirs))
            .into_iter()
            .filter(|path| path.exists());
        let all: Vec<_> = there.flat_map(|path| files(&path)).collect();
        (all, ctx.step.journal().history(100).unwrap())
    };
    let mut wrong = Vec::new();
    for (name, case, args, expect) in answers() {
        let ctx = if case == Empty { &empty } else { &full };
        let before = state(ctx);
        let result = run(name, args.clone(), ctx).await;
        // What reads answers that it found nothing; what writes must not say that it did something.
        let (text, right) = match &result {
            Ok(output) => (
                &output.say,
                case != Contradictory
                    || output.say.contains("already")
                    || crate::find(name).unwrap().effect == Effect::Read,
            ),
            Err(ToolError::Tell(text) | ToolError::TellOthers(text)) => (text, case != Happy),
            Err(other) => panic!("{name} {args}: {other:?}"),
        };
        if !right || !text.contains(expect) {
            wrong.push(format!("{name} {case:?} {args}: {result:?}"));
        }
        if state(ctx) != before {
            wrong.push(format!("{name} {case:?} {args} changed something"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A tool that names one of several things asks which; one that takes arguments minds what they say.
#[test]
fn no_case_is_forgotten() {
    const NAMING: [&str; 13] = [
        "append",
        "cancel",
        "complete",
        "delete",
        "delete_event",
        "forget",
        "pause",
        "read",
        "remove",
        "resume",
        "snooze",
        "update",
        "update_event",
    ];
    let rows = answers();
    let has = |tool: &str, case: Case| rows.iter().any(|row| row.0 == tool && row.1 == case);
    for tool in crate::ALL.iter().filter(|tool| DOMAINS.contains(&tool.domain())) {
        let (name, verb) = (tool.name, tool.name.split('.').nth(1).unwrap());
        if NAMING.contains(&verb) {
            for case in [Empty, Unknown, Ambiguous] {
                assert!(has(name, case), "{name}: {case:?}");
            }
        }
        let takes = tool.parameters()["properties"].as_object().unwrap().len();
        assert!(
            takes == 0 || has(name, Contradictory) || has(name, Unknown),
            "{name}"
        );
        assert!(tool.effect != Effect::Read || has(name, Happy), "{name}");
    }
}

/// Arguments that are missing, unknown or of another type are the model's to mend: it is told which, and nothing runs.
#[tokio::test]
async fn arguments_that_do_not_fit_are_named() {
    let root = tempfile::tempdir().unwrap();
    let ctx = ctx(root.path());
    let misfit = async |name: &str, args: Value, expect: &str| match run(name, args.clone(), &ctx).await {
        Err(ToolError::Misfit(text)) => assert!(
            text.contains(name) && text.contains(expect),
            "{name} {args}: {text}"
        ),
        other => panic!("{name} {args}: {other:?}"),
    };
    for tool in crate::ALL.iter().filter(|tool| DOMAINS.contains(&tool.domain())) {
        misfit(tool.name, json!({"purple": 1}), "purple").await;
        let schema = tool.parameters();
        let required: Vec<&str> = schema["required"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        if let Some(first) = required.first() {
            misfit(tool.name, json!({}), first).await;
        }
        for (argument, _) in schema["properties"].as_object().unwrap() {
            misfit(tool.name, json!({argument: {"not": "that"}}), "").await;
        }
    }
    assert_eq!(fs::read_dir(root.path()).unwrap().count(), 0);
}
