//! What the tools of the person's own data answer where they cannot do what was asked: one table over all of them, so that
//! a tool that is added without a row is noticed.

use std::{collections::BTreeSet, fs, path::PathBuf};

use serde_json::{Value, json};

use crate::{
    Ctx, Dirs, Effect, ToolError,
    testing::{ReadOnly, ctx, files, run, said, unprivileged},
};

/// The rooms that this is about.
const DOMAINS: [&str; 11] = [
    "alarms",
    "assistant",
    "calc",
    "calendar",
    "clock",
    "contacts",
    "lists",
    "memory",
    "notes",
    "reminders",
    "timers",
];

/// What there is in each store before a tool is tried.
fn world(domain: &str) -> Vec<(&'static str, Value)> {
    match domain {
        "alarms" => vec![
            ("alarms.set", json!({"time": "seven am", "label": "gym"})),
            ("alarms.set", json!({"time": "every weekday at eight am"})),
        ],
        "calendar" => vec![(
            "calendar.create_event",
            json!({"title": "Dentist", "start": "every friday at ten"}),
        )],
        "contacts" => vec![(
            "contacts.create",
            json!({"name": "Anna Berg", "phone": "0171 2345678"}),
        )],
        "lists" => vec![
            (
                "lists.add",
                json!({"items": ["milk", "eggs"], "list": "shopping"}),
            ),
            ("lists.create", json!({"name": "packing"})),
        ],
        "memory" => vec![("memory.remember", json!({"fact": "my locker code is 4411"}))],
        "notes" => vec![("notes.create", json!({"title": "Garden", "text": "Tulips."}))],
        "reminders" => vec![
            (
                "reminders.create",
                json!({"title": "Call mum", "due": "tomorrow at nine"}),
            ),
            (
                "reminders.create",
                json!({"title": "Pay rent", "due": "every month"}),
            ),
        ],
        "timers" => vec![
            ("timers.set", json!({"duration": "ten minutes", "label": "eggs"})),
            ("timers.set", json!({"duration": "an hour", "label": "roast"})),
            ("timers.pause", json!({"timer": "roast"})),
        ],
        _ => Vec::new(),
    }
}

/// Every tool that writes, with arguments that it can do in that world.
fn writers() -> Vec<(&'static str, Value)> {
    vec![
        ("alarms.set", json!({"time": "nine am"})),
        ("alarms.cancel", json!({"alarm": "gym"})),
        // Leaves one time out, which is another write than taking an alarm away.
        ("alarms.cancel", json!({"alarm": "tomorrow at eight am"})),
        ("alarms.cancel", json!({"alarm": "all"})),
        (
            "calendar.create_event",
            json!({"title": "Lunch", "start": "tomorrow at twelve"}),
        ),
        (
            "calendar.create_event",
            json!({"title": "Lunch", "start": "tomorrow at twelve", "calendar": "personal"}),
        ),
        (
            "calendar.update_event",
            json!({"event": "dentist", "start": "eleven"}),
        ),
        (
            "calendar.update_event",
            json!({"event": "dentist", "start": "eleven", "series": "following"}),
        ),
        (
            "calendar.delete_event",
            json!({"event": "dentist", "series": "this"}),
        ),
        (
            "calendar.delete_event",
            json!({"event": "dentist", "series": "all"}),
        ),
        (
            "contacts.create",
            json!({"name": "Carl", "phone": "0171 1111111"}),
        ),
        (
            "contacts.update",
            json!({"name": "anna", "field": "mail", "value": "anna@example.org"}),
        ),
        ("contacts.delete", json!({"name": "anna berg"})),
        (
            "lists.add",
            json!({"items": ["bread", "tea"], "list": "shopping"}),
        ),
        ("lists.add", json!({"items": ["rope"], "list": "climbing"})),
        ("lists.create", json!({"name": "climbing"})),
        ("lists.remove", json!({"items": ["milk"], "list": "shopping"})),
        ("lists.delete", json!({"list": "shopping"})),
        ("memory.remember", json!({"fact": "mum likes tulips"})),
        ("memory.remember", json!({"fact": "my locker code is 5522"})),
        ("memory.forget", json!({"about": "locker code"})),
        ("notes.create", json!({"text": "Roses."})),
        ("notes.append", json!({"note": "garden", "text": "Roses."})),
        ("notes.delete", json!({"note": "garden"})),
        ("reminders.create", json!({"title": "Water the plants"})),
        ("reminders.complete", json!({"title": "mum"})),
        // What comes back writes twice: what was done, and the next time.
        ("reminders.complete", json!({"title": "rent"})),
        (
            "reminders.update",
            json!({"title": "mum", "due": "friday at ten"}),
        ),
        ("reminders.snooze", json!({"title": "mum", "until": "in an hour"})),
        ("reminders.delete", json!({"title": "mum"})),
        ("timers.set", json!({"duration": "five minutes"})),
        ("timers.cancel", json!({"timer": "eggs"})),
        ("timers.cancel", json!({"timer": "all"})),
        ("timers.pause", json!({"timer": "eggs"})),
        ("timers.resume", json!({"timer": "roast"})),
    ]
}

fn store(name: &str, dirs: &Dirs) -> PathBuf {
    match domain(name) {
        "alarms" => dirs.alarms.clone(),
        "calendar" => dirs.calendars.clone(),
        "contacts" => dirs.contacts.clone(),
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

async fn make(domain: &str, ctx: &Ctx) {
    for (name, args) in world(domain) {
        said(run(name, args, ctx).await);
    }
}

#[test]
fn every_writer_is_tried() {
    let tried: BTreeSet<&str> = writers().iter().map(|(name, _)| *name).collect();
    let there: BTreeSet<&str> = crate::ALL
        .iter()
        .filter(|tool| DOMAINS.contains(&tool.domain()) && tool.effect != Effect::Read)
        // It writes where others wrote, and is tried below.
        .filter(|tool| tool.name != "assistant.undo")
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
    let folder = |list: &str| ctx.dirs.reminders.join(list);
    unprivileged(async || make("reminders", &ctx).await);
    fs::create_dir(folder("work")).unwrap();
    fs::write(folder("work").join("displayname"), "Work").unwrap();
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
