//! When things ring, over files in a temporary folder.

use std::fs;

use super::*;
use crate::system::vdir;

/// The moments on which an item rings between Monday 23 November 2026, 09:30, and a week later, in Berlin.
#[track_caller]
fn check(what: Items, lines: &str, expect: &[&str]) {
    let kind = what.component();
    let root = tempfile::tempdir().unwrap();
    fs::create_dir(root.path().join("x")).unwrap();
    let text = format!(
        "BEGIN:VCALENDAR\nVERSION:2.0\nBEGIN:{kind}\nUID:u\nSUMMARY:T\n{}\nEND:{kind}\nEND:VCALENDAR\n",
        lines.trim()
    );
    fs::write(root.path().join("x/1.ics"), text).unwrap();
    let from: Zoned = "2026-11-23T09:30[Europe/Berlin]".parse().unwrap();
    let to = from.checked_add(7.days()).unwrap();
    let found = ringing(&vdir::collections(root.path()).unwrap(), what, &from, &to);
    let seen: Vec<String> = found
        .items
        .iter()
        .map(|r| r.at.strftime("%d %H:%M").to_string())
        .collect();
    assert_eq!(seen, expect, "{lines}\n{:?}", found.warnings);
}

const ALARM: &str = "BEGIN:VALARM\nACTION:DISPLAY\nTRIGGER";

#[test]
fn items_ring_at_their_alarms_else_at_their_time() {
    check(Items::Reminders, "DUE:20261124T080000Z", &["24 09:00"]);
    check(Items::Reminders, "DUE;VALUE=DATE:20261124", &[]);
    check(Items::Reminders, "SUMMARY:no time", &[]);
    check(Items::Reminders, "DUE:20261124T080000Z\nSTATUS:COMPLETED", &[]);
    check(Items::Alarms, "DTSTART:20261124T070000", &["24 07:00"]);
    check(
        Items::Reminders,
        &format!("DUE:20261124T080000Z\n{ALARM}:-PT15M\nEND:VALARM\n{ALARM}:PT0S\nEND:VALARM"),
        &["24 08:45", "24 09:00"],
    );
    check(
        Items::Reminders,
        &format!("DUE;VALUE=DATE:20261124\n{ALARM};RELATED=END:PT9H\nEND:VALARM"),
        &["24 09:00"],
    );
    check(
        Items::Reminders,
        &format!("DTSTART:20261124T080000Z\nDUE:20261124T100000Z\n{ALARM};RELATED=END:PT0S\nEND:VALARM"),
        &["24 11:00"],
    );
    check(
        Items::Reminders,
        &format!("SUMMARY:x\n{ALARM};VALUE=DATE-TIME:20261125T113000Z\nEND:VALARM"),
        &["25 12:30"],
    );
    check(
        Items::Reminders,
        &format!("DUE:20261124T080000Z\n{ALARM}:-P5000000D\nEND:VALARM\n{ALARM}:junk\nEND:VALARM"),
        &[],
    );
}

#[test]
fn what_repeats_rings_each_time_but_where_it_is_moved_or_left_out() {
    check(
        Items::Alarms,
        "DTSTART:20200101T070000\nRRULE:FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR\nEXDATE:20261126T070000",
        &["24 07:00", "25 07:00", "27 07:00", "30 07:00"],
    );
    check(
        Items::Reminders,
        &format!(
            "DTSTART:20261120T200000\nDUE:20261120T200000\nRRULE:FREQ=DAILY;INTERVAL=3\n{ALARM}:-PT1H\nEND:VALARM"
        ),
        &["23 19:00", "26 19:00", "29 19:00"],
    );
    check(
        Items::Alarms,
        "DTSTART:20261120T100000\nRRULE:FREQ=DAILY;INTERVAL=4\nEND:VEVENT\nBEGIN:VEVENT\nUID:u\n\
         RECURRENCE-ID:20261124T100000\nDTSTART:20261125T180000",
        &["25 18:00", "28 10:00"],
    );
}

#[test]
fn events_ring_by_their_alarms_only() {
    let event = |alarms: &str| format!("DTSTART:20261124T080000Z\nDTEND:20261124T100000Z\n{alarms}");
    check(Items::Events, &event(""), &[]);
    check(
        Items::Events,
        &event(&format!("{ALARM}:-PT15M\nEND:VALARM")),
        &["24 08:45"],
    );
    check(
        Items::Events,
        &event(&format!("{ALARM};RELATED=END:-PT5M\nEND:VALARM")),
        &["24 10:55"],
    );
    // A length in place of an end, a day without one, and the other words for what is heard.
    check(
        Items::Events,
        &format!("DTSTART:20261124T080000Z\nDURATION:PT1H\n{ALARM};RELATED=END:PT0S\nEND:VALARM"),
        &["24 10:00"],
    );
    check(
        Items::Events,
        &format!(
            "DTSTART;VALUE=DATE:20261125\n{ALARM}:-PT15H\nEND:VALARM\n{ALARM};RELATED=END:-PT1H\nEND:VALARM"
        ),
        &["24 09:00", "25 23:00"],
    );
    check(
        Items::Events,
        &event(
            "BEGIN:VALARM\nACTION:AUDIO\nTRIGGER:-PT1M\nEND:VALARM\nBEGIN:VALARM\nTRIGGER:-PT2M\nEND:VALARM",
        ),
        &["24 08:58", "24 08:59"],
    );
    check(
        Items::Events,
        &event(
            "BEGIN:VALARM\nACTION:EMAIL\nTRIGGER:-PT1M\nEND:VALARM\nBEGIN:VALARM\nACTION:X-NONE\n\
             TRIGGER:-PT2M\nEND:VALARM\nBEGIN:VALARM\nACTION:PROCEDURE\nTRIGGER:-PT3M\nEND:VALARM",
        ),
        &[],
    );
    check(
        Items::Events,
        &event(&format!(
            "{ALARM};VALUE=DATE-TIME:20261123T200000Z\nEND:VALARM\n{ALARM};VALUE=DATE-TIME:20200101T000000Z\nEND:VALARM"
        )),
        &["23 21:00"],
    );
    // Weeks before, and called off.
    check(
        Items::Events,
        &format!("DTSTART:20261222T080000Z\n{ALARM}:-P4W\nEND:VALARM"),
        &["24 09:00"],
    );
    check(
        Items::Events,
        &event(&format!("STATUS:CANCELLED\n{ALARM}:-PT15M\nEND:VALARM")),
        &[],
    );
    // Seen in another program, up to then.
    let seen = |until: &str| event(&format!("{ALARM}:-PT15M\nACKNOWLEDGED:{until}\nEND:VALARM"));
    check(Items::Events, &seen("20261124T074500Z"), &[]);
    check(Items::Events, &seen("20261124T074459Z"), &["24 08:45"]);
}

#[test]
fn events_that_repeat_ring_where_they_are() {
    let daily = |rest: &str| {
        format!(
            "DTSTART;TZID=Europe/Berlin:20261101T090000\nDTEND;TZID=Europe/Berlin:20261101T100000\n\
             RRULE:FREQ=DAILY;INTERVAL=2\n{rest}{ALARM}:-PT30M\nEND:VALARM"
        )
    };
    check(Items::Events, &daily(""), &["25 08:30", "27 08:30", "29 08:30"]);
    check(
        Items::Events,
        &daily("EXDATE;TZID=Europe/Berlin:20261127T090000\n"),
        &["25 08:30", "29 08:30"],
    );
    let changed = |id: &str, rest: &str| {
        format!(
            "{}\nEND:VEVENT\nBEGIN:VEVENT\nUID:u\nRECURRENCE-ID{id}\n{rest}",
            daily("")
        )
    };
    // Moved with an alarm of its own, without any, and called off.
    check(
        Items::Events,
        &changed(
            ";TZID=Europe/Berlin:20261127T090000",
            &format!("DTSTART:20261127T150000Z\n{ALARM}:-PT1H\nEND:VALARM"),
        ),
        &["25 08:30", "27 15:00", "29 08:30"],
    );
    check(
        Items::Events,
        &changed(";TZID=Europe/Berlin:20261127T090000", "DTSTART:20261127T150000Z"),
        &["25 08:30", "29 08:30"],
    );
    check(
        Items::Events,
        &changed(
            ";TZID=Europe/Berlin:20261127T090000",
            &format!("DTSTART:20261127T080000Z\nSTATUS:CANCELLED\n{ALARM}:-PT1H\nEND:VALARM"),
        ),
        &["25 08:30", "29 08:30"],
    );
    // This one and what follows is an hour later.
    check(
        Items::Events,
        &changed(
            ";RANGE=THISANDFUTURE;TZID=Europe/Berlin:20261127T090000",
            &format!("DTSTART;TZID=Europe/Berlin:20261127T100000\n{ALARM}:-PT10M\nEND:VALARM"),
        ),
        &["25 08:30", "27 09:50", "29 09:50"],
    );
}

#[test]
fn a_day_before_is_the_same_hour_on_both_sides_of_a_clock_change() {
    let root = tempfile::tempdir().unwrap();
    fs::create_dir(root.path().join("x")).unwrap();
    let text = format!(
        "BEGIN:VCALENDAR\nBEGIN:VEVENT\nUID:u\nDTSTART;TZID=Europe/Berlin:20261025T090000\n{ALARM}:-P1D\n\
         END:VALARM\n{ALARM}:-PT24H\nEND:VALARM\nEND:VEVENT\nEND:VCALENDAR\n"
    );
    fs::write(root.path().join("x/1.ics"), text).unwrap();
    let from: Zoned = "2026-10-23T09:30[Europe/Berlin]".parse().unwrap();
    let to = from.checked_add(7.days()).unwrap();
    let found = ringing(
        &vdir::collections(root.path()).unwrap(),
        Items::Events,
        &from,
        &to,
    );
    let seen: Vec<String> = found
        .items
        .iter()
        .map(|r| r.at.strftime("%d %H:%M").to_string())
        .collect();
    assert_eq!(seen, ["24 09:00", "24 10:00"]);
}

#[test]
fn what_follows_is_found_and_counted() {
    #[track_caller]
    fn check(lines: &str, after: &str, expect: Option<(&str, usize)>) {
        let text = format!("BEGIN:VCALENDAR\nBEGIN:VTODO\nUID:u\n{lines}\nEND:VTODO\nEND:VCALENDAR\n");
        let after: Zoned = format!("{after}[Europe/Berlin]").parse().unwrap();
        let found = following(text.as_bytes(), "u", &after).map(|f| {
            (
                f.next
                    .map_or("never".to_owned(), |at| at.strftime("%F %H:%M").to_string()),
                f.passed,
            )
        });
        let found = found.as_ref().map(|(next, passed)| (next.as_str(), *passed));
        assert_eq!(found.map(|f| f.0), expect.map(|e| e.0), "{lines}");
        if lines.contains("COUNT") {
            assert_eq!(found, expect, "{lines}");
        }
    }
    check("DUE:20261123T090000", "2026-11-23T10:00", None);
    let daily = "DTSTART:20261123T090000\nDUE:20261123T090000\nRRULE:FREQ=DAILY";
    check(daily, "2026-11-23T08:00", Some(("2026-11-24 09:00", 1)));
    check(daily, "2026-11-30T10:00", Some(("2026-12-01 09:00", 1)));
    check(
        &format!("{daily};COUNT=3"),
        "2026-11-23T10:00",
        Some(("2026-11-24 09:00", 1)),
    );
    check(
        &format!("{daily};COUNT=3"),
        "2026-11-30T10:00",
        Some(("never", 3)),
    );
    check(
        "DUE;VALUE=DATE:20280229\nDTSTART;VALUE=DATE:20280229\nRRULE:FREQ=YEARLY",
        "2028-03-01T10:00",
        Some(("2032-02-29 00:00", 1)),
    );
}
