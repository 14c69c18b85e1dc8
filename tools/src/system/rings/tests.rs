//! Rings under a clock that the tests hold.

use super::*;
use crate::{
    Ctx,
    testing::{ctx, run, said},
};
use serde_json::json;

const AGAIN: Again = Again {
    after: Duration::from_secs(180),
    times: 3,
};

/// The same context at a later moment of Monday 23 November 2026.
fn at(ctx: &Ctx, time: &str) -> Ctx {
    Ctx {
        now: format!("2026-11-{time}[Europe/Berlin]").parse().unwrap(),
        ..ctx.clone()
    }
}

/// What rings for the first time and once more at a moment.
fn look(ctx: &Ctx) -> (Vec<String>, Vec<String>) {
    let to = ctx.now.checked_add(1.hours()).unwrap();
    let agenda = agenda(&ctx.dirs, &ctx.now, &to);
    let taken = take(&ctx.dirs, &agenda, &ctx.now, AGAIN).unwrap();
    let late = |r: &Ring| ctx.now.timestamp().duration_since(r.at).unsigned_abs();
    (
        taken
            .fresh
            .iter()
            .map(|r| r.say(late(r), true, &ctx.now))
            .collect(),
        taken.again.iter().map(|o| o.ring.name()).collect(),
    )
}

fn fresh(ctx: &Ctx) -> Vec<String> {
    look(ctx).0
}

#[tokio::test]
async fn each_rings_once_in_all_processes_and_after_a_restart() {
    let root = tempfile::tempdir().unwrap();
    let ctx = ctx(root.path());
    assert_eq!(fresh(&ctx), [""; 0]);
    said(
        run(
            "timers.set",
            json!({"duration": "10 minutes", "label": "eggs"}),
            &ctx,
        )
        .await,
    );
    said(run("alarms.set", json!({"time": "ten am", "label": "gym"}), &ctx).await);
    said(
        run(
            "reminders.create",
            json!({"title": "Call mum", "due": "at 10:30 am"}),
            &ctx,
        )
        .await,
    );
    assert_eq!(fresh(&at(&ctx, "23T09:39:59")), [""; 0]);
    assert_eq!(
        fresh(&at(&ctx, "23T09:40:00")),
        ["Your eggs timer for 10 minutes is up."]
    );
    assert_eq!(fresh(&at(&ctx, "23T09:40:01")), [""; 0]);
    assert_eq!(fresh(&at(&ctx, "23T10:00:01")), ["It is 10:00: gym."]);
    assert_eq!(fresh(&at(&ctx, "23T10:00:01")), [""; 0]);
    assert_eq!(fresh(&at(&ctx, "23T10:30:00")), ["Reminder: Call mum."]);
    assert_eq!(fresh(&at(&ctx, "24T10:30:00")), [""; 0]);
}

#[tokio::test]
async fn what_was_missed_is_told_once_and_a_clock_that_jumps_rings_nothing_twice() {
    let root = tempfile::tempdir().unwrap();
    let ctx = ctx(root.path());
    assert_eq!(fresh(&ctx), [""; 0]);
    said(
        run(
            "alarms.set",
            json!({"time": "every day at seven am", "label": "up"}),
            &ctx,
        )
        .await,
    );
    said(
        run(
            "reminders.create",
            json!({"title": "Pills", "due": "today at 11 am"}),
            &ctx,
        )
        .await,
    );
    // Two days later; of the two alarms that were missed the last is told.
    let mut told = fresh(&at(&ctx, "25T09:00:00"));
    told.sort();
    assert_eq!(
        told,
        [
            "\"Pills\" was due Monday 23 November at 11:00, while I was not running.",
            "Your up alarm was due 2 hours ago, while I was not running.",
        ]
    );
    // The clock goes back to before, and forward again.
    assert_eq!(fresh(&at(&ctx, "25T06:59:00")), [""; 0]);
    assert_eq!(fresh(&at(&ctx, "25T07:00:30")), [""; 0]);
    assert_eq!(fresh(&at(&ctx, "25T09:00:00")), [""; 0]);
    assert_eq!(fresh(&at(&ctx, "26T07:00:00")), ["It is 07:00: up."]);
}

#[tokio::test]
async fn what_was_due_before_the_first_start_does_not_ring() {
    let root = tempfile::tempdir().unwrap();
    let ctx = ctx(root.path());
    let list = root.path().join("reminders/old");
    std::fs::create_dir_all(&list).unwrap();
    let todo =
        "BEGIN:VCALENDAR\nBEGIN:VTODO\nUID:1\nSUMMARY:Old\nDUE:20261123T060000Z\nEND:VTODO\nEND:VCALENDAR\n";
    std::fs::write(list.join("1.ics"), todo).unwrap();
    assert_eq!(fresh(&ctx), [""; 0]);
    // One that another program brings in late rings late.
    std::fs::write(
        list.join("2.ics"),
        todo.replace("UID:1", "UID:2").replace("0600", "0815"),
    )
    .unwrap();
    assert_eq!(
        fresh(&ctx),
        ["\"Old\" was due 15 minutes ago, while I was not running."]
    );
}

#[tokio::test]
async fn nobody_answers_and_it_rings_again_but_not_for_ever() {
    let root = tempfile::tempdir().unwrap();
    let ctx = ctx(root.path());
    fresh(&ctx);
    said(run("alarms.set", json!({"time": "ten am"}), &ctx).await);
    said(
        run(
            "reminders.create",
            json!({"title": "Call mum", "due": "ten am"}),
            &ctx,
        )
        .await,
    );
    let mut rang = Vec::new();
    for minute in 0..20 {
        let (fresh, again) = look(&at(&ctx, &format!("23T10:{minute:02}:00")));
        rang.extend(fresh.iter().map(|_| minute));
        rang.extend(again.iter().map(|_| minute));
    }
    assert_eq!(rang, [0, 0, 3, 6], "the alarm three times, the reminder once");
    assert_eq!(open(&ctx.dirs), []);
}

#[tokio::test]
async fn a_snooze_rings_again_and_can_be_undone() {
    let root = tempfile::tempdir().unwrap();
    let ctx = ctx(root.path());
    fresh(&ctx);
    said(
        run(
            "reminders.create",
            json!({"title": "Call mum", "due": "ten am"}),
            &ctx,
        )
        .await,
    );
    said(run("alarms.set", json!({"time": "every day at 10:05 am"}), &ctx).await);
    said(
        run(
            "timers.set",
            json!({"duration": "40 minutes", "label": "bread"}),
            &ctx,
        )
        .await,
    );
    for (time, expect, after) in [
        ("23T10:00:00", "Reminder: Call mum.", "23T10:10:00"),
        (
            "23T10:05:00",
            "It is 10:05. Your alarm is ringing.",
            "23T10:15:00",
        ),
    ] {
        let now = at(&ctx, time);
        assert_eq!(fresh(&now), [expect]);
        let until = until("ten minutes", &now.now).unwrap();
        let latest = latest(&ctx.dirs, &now.now).unwrap().ring;
        snooze(&now.step, &ctx.dirs, &latest, &until, &now.now).unwrap();
        assert_eq!(open(&ctx.dirs), []);
        let again = agenda(&ctx.dirs, &now.now, &now.now.checked_add(1.hours()).unwrap());
        let until = at(&ctx, after).now.timestamp();
        assert!(
            again.iter().any(|r| r.at == until && r.uid == latest.uid),
            "{again:?}"
        );
    }
    let now = at(&ctx, "23T10:10:00");
    let mut both = fresh(&now);
    both.sort();
    assert_eq!(
        both,
        ["Reminder: Call mum.", "Your bread timer for 40 minutes is up."]
    );
    assert_eq!(
        fresh(&at(&ctx, "23T10:15:00")),
        ["It is 10:15. Your alarm is ringing."]
    );
    assert_eq!(
        fresh(&at(&ctx, "24T10:05:00")),
        ["It is 10:05. Your alarm is ringing."]
    );
}

#[test]
fn snoozes_are_lengths_moments_or_days() {
    #[track_caller]
    fn check(said: &str, expect: &str) {
        let now: Zoned = "2026-11-23T09:30[Europe/Berlin]".parse().unwrap();
        let found = match until(said, &now) {
            Ok(at) => at.strftime("%d %H:%M").to_string(),
            Err(error) => error.to_string(),
        };
        assert_eq!(found, expect, "{said:?}");
    }
    check("ten minutes", "23 09:40");
    check("for an hour", "23 10:30");
    check("10", "23 09:40");
    check("until six pm", "23 18:00");
    check("tomorrow", "24 09:00");
    check("tomorrow morning", "24 08:00");
    check("purple", "For how long? Say it as in ten minutes, or until six.");
}

#[test]
fn a_broken_or_hostile_file_is_started_anew() {
    let root = tempfile::tempdir().unwrap();
    let ctx = ctx(root.path());
    std::fs::create_dir_all(&ctx.dirs.state).unwrap();
    for junk in [
        "",
        "{",
        "[1]",
        r#"{"seen":"9999-12-31T00:00:00Z","rung":{},"open":[]}"#,
    ] {
        std::fs::write(file(&ctx.dirs), junk).unwrap();
        assert_eq!(fresh(&ctx), [""; 0], "{junk}");
    }
}
