//! To-dos before and after a change, as they stand in the file.

use std::fs;

use super::*;
use crate::testing::{ctx, step};

/// The lines of a to-do of another program, and the same after a change on Monday 23 November 2026, 09:30 in Berlin.
/// What the change does not mean must be the same to the byte.
#[track_caller]
fn check(before: &str, change: impl Fn(&Step, &Todo, &Zoned), expect: &str) {
    let root = tempfile::tempdir().unwrap();
    let ctx = ctx(root.path());
    let file = |lines: &str| {
        let lines = lines.trim().replace('\n', "\r\n");
        format!(
            "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nX-ODD;X-P=\"a:b\":kept\r\nBEGIN:VTODO\r\nUID:u1\r\n{lines}\r\n\
             X-FOREIGN:very long line that some other program folded in its own w\r\n  ay\r\nEND:VTODO\r\nEND:VCALENDAR\r\n"
        )
    };
    let path = root.path().join("reminders/home/a.ics");
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, file(before)).unwrap();
    let todos = open(&ctx.dirs.reminders, None, &ctx.now).unwrap();
    let step = step(root.path());
    change(&step, &todos[0], &ctx.now);
    let after = fs::read_to_string(&path).unwrap();
    let stamp = "LAST-MODIFIED:20261123T083000Z\r\n";
    assert!(after.contains(stamp), "{after}");
    let sorted = |text: &str| {
        let mut lines: Vec<String> = text.split("\r\n").map(str::to_owned).collect();
        lines.sort();
        lines
    };
    assert_eq!(sorted(&after.replace(stamp, "")), sorted(&file(expect)));
    let journal = step.journal().clone();
    drop(step);
    journal.undo(None).unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), file(before));
    assert_eq!(open(&ctx.dirs.reminders, None, &ctx.now).unwrap(), todos);
}

const DONE: &str = "STATUS:COMPLETED\nCOMPLETED:20261123T083000Z\nPERCENT-COMPLETE:100";

#[test]
fn what_is_done_says_so_and_keeps_the_rest() {
    let done = |step: &Step, todo: &Todo, now: &Zoned| assert_eq!(complete(step, todo, now).unwrap(), None);
    check("SUMMARY:Pay rent", done, &format!("SUMMARY:Pay rent\n{DONE}"));
    check(
        "SUMMARY:Pay rent\nSTATUS:IN-PROCESS\nPERCENT-COMPLETE:40\nDUE:20261120T080000Z",
        done,
        &format!("SUMMARY:Pay rent\nDUE:20261120T080000Z\n{DONE}"),
    );
    // The last of a series.
    check(
        "SUMMARY:Pills\nDTSTART:20261122T090000\nDUE:20261122T090000\nRRULE:FREQ=DAILY;COUNT=1",
        done,
        &format!(
            "SUMMARY:Pills\nDTSTART:20261122T090000\nDUE:20261122T090000\nRRULE:FREQ=DAILY;COUNT=1\n{DONE}"
        ),
    );
}

#[test]
fn what_comes_back_moves_to_its_next_time_in_the_form_that_it_has() {
    #[track_caller]
    fn moves(before: &str, expect: &str, next: &str) {
        let change = |step: &Step, todo: &Todo, now: &Zoned| {
            let at = complete(step, todo, now).unwrap().unwrap();
            assert_eq!(at.strftime("%F %H:%M").to_string(), next);
            let folder = todo.path.parent().unwrap();
            let files: Vec<_> = fs::read_dir(folder).unwrap().map(|f| f.unwrap().path()).collect();
            let done = files
                .iter()
                .find(|p| **p != *todo.path)
                .expect("the done one is kept");
            let done = fs::read_to_string(done).unwrap();
            assert!(
                done.contains("STATUS:COMPLETED") && !done.contains("RRULE"),
                "{done}"
            );
            assert!(
                done.contains("X-FOREIGN") && !done.contains("UID:u1\r\n"),
                "{done}"
            );
            let open = open(folder.parent().unwrap(), None, now).unwrap();
            assert_eq!(open.len(), 1, "the done one is not open");
        };
        check(before, change, expect);
    }
    moves(
        "SUMMARY:Pills\nDTSTART:20261122T090000\nDUE:20261122T090000\nRRULE:FREQ=DAILY",
        "SUMMARY:Pills\nDTSTART:20261124T090000\nDUE:20261124T090000\nRRULE:FREQ=DAILY",
        "2026-11-24 09:00",
    );
    moves(
        "SUMMARY:Bins\nDTSTART;TZID=Europe/London:20261119T180000\nDUE;TZID=Europe/London:20261119T190000\nRRULE:FREQ=WEEKLY;COUNT=5",
        "SUMMARY:Bins\nDTSTART;TZID=Europe/London:20261126T180000\nDUE;TZID=Europe/London:20261126T190000\nRRULE:FREQ=WEEKLY;COUNT=4",
        "2026-11-26 19:00",
    );
    moves(
        "SUMMARY:Rent\nDTSTART;VALUE=DATE:20261001\nDUE;VALUE=DATE:20261001\nRRULE:FREQ=MONTHLY",
        "SUMMARY:Rent\nDTSTART;VALUE=DATE:20261201\nDUE;VALUE=DATE:20261201\nRRULE:FREQ=MONTHLY",
        "2026-12-01 00:00",
    );
}

#[test]
fn a_change_changes_what_it_means_only() {
    let due = |text: &str| {
        let now = "2026-11-23T09:30[Europe/Berlin]".parse().unwrap();
        timing(text, &now).unwrap()
    };
    let change = |change: Change| {
        move |step: &Step, todo: &Todo, now: &Zoned| update(step, todo, &change, now).unwrap()
    };
    check(
        "SUMMARY;LANGUAGE=en:Call, mum\nPRIORITY:5",
        change(Change {
            title: Some("Call; dad".into()),
            priority: Some(1),
            ..Change::default()
        }),
        "SUMMARY;LANGUAGE=en:Call\\; dad\nPRIORITY:1",
    );
    let alarm = |trigger: &str| {
        format!("BEGIN:VALARM\nACTION:DISPLAY\nDESCRIPTION:Call\nTRIGGER;RELATED=END:{trigger}\nEND:VALARM")
    };
    check(
        "SUMMARY:Call",
        change(Change {
            timing: Some(due("tomorrow at ten am")),
            ..Change::default()
        }),
        &format!("SUMMARY:Call\nDUE:20261124T090000Z\n{}", alarm("PT0S")),
    );
    check(
        &format!("SUMMARY:Call\nDUE:20261124T090000Z\n{}", alarm("PT0S")),
        change(Change {
            timing: Some(due("friday")),
            ..Change::default()
        }),
        &format!("SUMMARY:Call\nDUE;VALUE=DATE:20261127\n{}", alarm("PT9H")),
    );
    // What comes back keeps its rule when only its time of day is another.
    check(
        &format!(
            "SUMMARY:Call\nDTSTART:20261123T090000\nDUE:20261123T090000\nRRULE:FREQ=DAILY\n{}",
            alarm("PT0S")
        ),
        change(Change {
            timing: Some(due("at six pm")),
            ..Change::default()
        }),
        &format!(
            "SUMMARY:Call\nDTSTART:20261123T180000\nDUE:20261123T180000\nRRULE:FREQ=DAILY\n{}",
            alarm("PT0S")
        ),
    );
}

#[test]
fn rules_are_said_in_short() {
    #[track_caller]
    fn check(rule: &str, expect: &str) {
        assert_eq!(again(rule), expect, "{rule}");
    }
    check("FREQ=DAILY", "every day");
    check("FREQ=DAILY;INTERVAL=2", "every second day");
    check("FREQ=WEEKLY;BYDAY=MO", "every Monday");
    check("FREQ=WEEKLY;BYDAY=MO,FR", "every Monday and Friday");
    check("FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR", "on weekdays");
    check("FREQ=WEEKLY;BYDAY=SA,SU", "at weekends");
    check("FREQ=WEEKLY;INTERVAL=3", "every 3 weeks");
    check("FREQ=MONTHLY;BYMONTHDAY=1", "every month");
    check("FREQ=MONTHLY;BYDAY=-1FR", "again and again");
    check("junk", "again and again");
}

#[test]
fn times_are_taken_as_people_mean_them() {
    #[track_caller]
    fn check(said: &str, expect: &str) {
        let now: Zoned = "2026-11-23T09:30[Europe/Berlin]".parse().unwrap();
        let found = match timing(said, &now) {
            Ok(timing) => {
                at_words(&timing.due.unwrap(), &now)
                    + &timing.rrule.map(|r| format!(" {r}")).unwrap_or_default()
            }
            Err(error) => error.to_string(),
        };
        assert_eq!(found, expect, "{said:?}");
    }
    check("tomorrow", "tomorrow");
    check("at five", "today at 17:00");
    check("in twenty minutes", "today at 09:50");
    check("tomorrow morning", "tomorrow at 08:00");
    check("before friday", "on Thursday 26 November");
    check("next week", "on Monday 30 November");
    check("this week", "on Sunday 29 November");
    check(
        "every monday at nine",
        "on Monday 30 November at 09:00 FREQ=WEEKLY;BYDAY=MO",
    );
    check("every day at six pm", "today at 18:00 FREQ=DAILY");
    check("yesterday", "Yesterday is over already. When shall it be?");
    check(
        "purple",
        "I do not understand the time \"purple\". Say it as in tomorrow at five.",
    );
}
