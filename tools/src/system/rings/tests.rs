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

/// Writes an event that other programs made; `lines` are its own and its alarms.
fn event(ctx: &Ctx, name: &str, lines: &str) -> PathBuf {
    let folder = ctx.dirs.calendars.join("work");
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join(format!("{name}.ics"));
    let text = format!(
        "BEGIN:VCALENDAR\nBEGIN:VEVENT\nUID:{name}\nSUMMARY:{name}\n{lines}\nEND:VEVENT\nEND:VCALENDAR\n"
    );
    std::fs::write(&path, text).unwrap();
    path
}

fn before(trigger: &str) -> String {
    format!("BEGIN:VALARM\nACTION:DISPLAY\nTRIGGER:{trigger}\nEND:VALARM")
}

#[test]
fn events_of_calendars_ring_once_and_say_when_they_begin() {
    #[track_caller]
    fn check(lines: &str, time: &str, expect: &str) {
        let root = tempfile::tempdir().unwrap();
        let ctx = ctx(root.path());
        fresh(&ctx);
        event(&ctx, "Standup", lines);
        let now = at(&ctx, time);
        let expect: Vec<&str> = Some(expect).into_iter().filter(|e| !e.is_empty()).collect();
        assert_eq!(fresh(&now), expect, "{lines} at {time}");
        assert_eq!(fresh(&now), [""; 0], "once");
    }
    let ten = "DTSTART:20261123T090000Z\nDTEND:20261123T091500Z";
    let with = |start: &str, trigger: &str| format!("{start}\n{}", before(trigger));
    check(ten, "23T10:00:00", "");
    check(&with(ten, "-PT15M"), "23T09:44:59", "");
    check(
        &with(ten, "-PT15M"),
        "23T09:45:00",
        "Standup begins in 15 minutes, at 10:00.",
    );
    check(
        &with(ten, "-PT15M"),
        "23T09:45:03",
        "Standup begins in 15 minutes, at 10:00.",
    );
    // Late, and it is still to come.
    check(
        &with(ten, "-PT15M"),
        "23T09:55:00",
        "Standup begins in 5 minutes, at 10:00.",
    );
    check(&with(ten, "PT0S"), "23T10:00:01", "Standup begins now.");
    check(&with(ten, "PT5M"), "23T10:05:00", "Standup began today at 10:00.");
    check(
        &with(ten, "-PT15M"),
        "23T12:00:00",
        "Standup began today at 10:00, while I was not running.",
    );
    check(
        &with("DTSTART:20261124T090000Z", "-P1D"),
        "23T10:00:00",
        "Standup begins tomorrow at 10:00.",
    );
    check(
        &with("DTSTART;VALUE=DATE:20261124", "-PT12H"),
        "23T12:00:00",
        "Standup is tomorrow.",
    );
    check(
        &with("DTSTART:20200103T090000Z\nRRULE:FREQ=DAILY", "-PT5M"),
        "23T09:55:00",
        "Standup begins in 5 minutes, at 10:00.",
    );
}

#[test]
fn an_event_that_began_is_news_only_to_who_was_away_and_only_for_a_day() {
    let now: Zoned = "2026-11-23T12:00[Europe/Berlin]".parse().unwrap();
    #[track_caller]
    fn check(starts: &str, all_day: bool, away: bool, expect: bool) {
        let now: Zoned = "2026-11-23T12:00[Europe/Berlin]".parse().unwrap();
        let starts: Zoned = format!("2026-11-{starts}[Europe/Berlin]").parse().unwrap();
        let ring = Ring {
            kind: Kind::Event,
            uid: "u".into(),
            title: None,
            at: starts.timestamp(),
            seconds: 0,
            starts: Some(starts.timestamp()),
            all_day,
            path: PathBuf::new(),
        };
        assert_eq!(ring.is_news(away, &now), expect, "{starts} {all_day} {away}");
    }
    check("23T12:30", false, false, true);
    check("23T11:30", false, false, false);
    check("23T11:30", false, true, true);
    check("22T12:30", false, true, true);
    check("22T11:30", false, true, false);
    check("23T00:00", true, false, true);
    check("22T00:00", true, true, false);
    let timer = Ring {
        kind: Kind::Timer,
        uid: "1".into(),
        title: None,
        at: now.timestamp(),
        seconds: 60,
        starts: None,
        all_day: false,
        path: PathBuf::new(),
    };
    assert!(timer.is_news(false, &now));
}

#[tokio::test]
async fn a_snoozed_event_rings_again_and_its_calendar_is_not_touched() {
    let root = tempfile::tempdir().unwrap();
    let ctx = ctx(root.path());
    fresh(&ctx);
    let path = event(
        &ctx,
        "Standup",
        &format!("DTSTART:20261123T090000Z\n{}", before("-PT15M")),
    );
    let written = std::fs::read(&path).unwrap();
    let now = at(&ctx, "23T09:45:00");
    assert_eq!(fresh(&now).len(), 1);
    assert_eq!(
        said(run("reminders.snooze", json!({"until": "ten minutes"}), &now).await),
        "Snoozed until 09:55: Standup."
    );
    assert_eq!(open(&ctx.dirs), []);
    // The second snooze takes the place of the first one.
    said(run("reminders.snooze", json!({"until": "twelve minutes"}), &now).await);
    assert_eq!(std::fs::read(&path).unwrap(), written);
    ctx.step.journal().undo(None).unwrap();
    assert_eq!(
        fresh(&at(&ctx, "23T09:55:00")),
        ["Standup begins in 5 minutes, at 10:00."]
    );
    assert_eq!(fresh(&at(&ctx, "23T09:57:00")), [""; 0]);
    assert_eq!(
        said(run("alarms.cancel", json!({}), &at(&ctx, "23T09:57:00")).await),
        "I stopped your reminder of Standup."
    );
    assert_eq!(open(&ctx.dirs), []);
    // One whose event is taken away meanwhile does not ring.
    let now = at(&ctx, "23T09:57:00");
    said(run("reminders.snooze", json!({"until": "ten minutes"}), &now).await);
    std::fs::remove_file(&path).unwrap();
    assert_eq!(fresh(&at(&ctx, "23T10:07:00")), [""; 0]);
    assert_eq!(std::fs::read(&path).ok(), None);
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
