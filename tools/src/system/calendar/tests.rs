//! Stores made for each test, and all public calendar files.

use std::fs;

use jiff::{ToSpan, civil::date};
use serde_json::Value;
use tempfile::TempDir;

use super::*;
use crate::testing::{data, step};

fn at(civil: &str, zone: &str) -> Zoned {
    let civil: jiff::civil::DateTime = civil.parse().unwrap();
    civil.to_zoned(TimeZone::get(zone).unwrap()).unwrap()
}

/// A store with one calendar "home" that holds these files.
fn store(files: &[&str]) -> TempDir {
    let root = tempfile::tempdir().unwrap();
    fs::create_dir(root.path().join("home")).unwrap();
    for (n, body) in files.iter().enumerate() {
        let text = if body.contains("BEGIN:VCALENDAR") {
            (*body).to_owned()
        } else {
            format!(
                "BEGIN:VCALENDAR\r\nVERSION:2.0\r\n{}\r\nEND:VCALENDAR\r\n",
                body.trim().replace('\n', "\r\n")
            )
        };
        fs::write(root.path().join(format!("home/{n}.ics")), text).unwrap();
    }
    root
}

fn event(lines: &str) -> String {
    format!("BEGIN:VEVENT\nUID:u1\nSUMMARY:E\n{}\nEND:VEVENT", lines.trim())
}

fn read(root: &TempDir, zone: &str, from: &str, to: &str) -> Reading<Event> {
    events(root.path(), &at(from, zone), &at(to, zone)).unwrap()
}

/// Starts (and ends, when they differ in more than an hour) of one event in a window, in a zone.
#[track_caller]
fn check(lines: &str, zone: &str, from: &str, to: &str, expect: &[&str]) {
    let root = store(&[&event(lines)]);
    let reading = read(&root, zone, from, to);
    let seen: Vec<String> = reading
        .items
        .iter()
        .map(|e| {
            format!(
                "{}/{}",
                e.start.strftime("%m-%dT%H:%M"),
                e.end.strftime("%m-%dT%H:%M")
            )
        })
        .collect();
    assert_eq!(seen, expect, "{lines}\n{:?}", reading.warnings);
}

#[test]
fn times_are_read_in_their_zone() {
    let day = ("2026-12-01T00:00", "2026-12-02T00:00");
    let check = |lines: &str, expect: &[&str]| check(lines, "Europe/Berlin", day.0, day.1, expect);
    check(
        "DTSTART:20261201T083000Z\nDTEND:20261201T093000Z",
        &["12-01T09:30/12-01T10:30"],
    );
    check(
        "DTSTART;TZID=America/New_York:20261201T040000\nDURATION:PT1H",
        &["12-01T10:00/12-01T11:00"],
    );
    check(
        "DTSTART;TZID=Eastern Standard Time:20261201T040000\nDURATION:PT1H",
        &["12-01T10:00/12-01T11:00"],
    );
    check(
        "DTSTART;TZID=/softwarestudio.org/Olson_20011030_5/America/New_York:20261201T040000",
        &["12-01T10:00/12-01T10:00"],
    );
    check(
        "DTSTART:20261201T093000\nDTEND:20261201T103000",
        &["12-01T09:30/12-01T10:30"],
    );
    check(
        "DTSTART;TZID=Nowhere/Known:20261201T093000",
        &["12-01T09:30/12-01T09:30"],
    );
    check("DTSTART;VALUE=DATE:20261201", &["12-01T00:00/12-02T00:00"]);
    check(
        "DTSTART;VALUE=DATE:20261130\nDTEND;VALUE=DATE:20261203",
        &["11-30T00:00/12-03T00:00"],
    );
    check(
        "DTSTART:20261130T230000Z\nDTEND:20261201T000000Z",
        &["12-01T00:00/12-01T01:00"],
    );
    // It ended the moment the window opens, began the moment it closes, or ends before it begins.
    check("DTSTART:20261130T220000Z\nDTEND:20261130T230000Z", &[]);
    check("DTSTART:20261201T230000Z\nDTEND:20261202T000000Z", &[]);
    check(
        "DTSTART:20261201T100000Z\nDTEND:20261201T080000Z",
        &["12-01T11:00/12-01T11:00"],
    );
    check("DTSTART:20261201T083000Z\nSTATUS:CANCELLED", &[]);
    check("SUMMARY:nothing but a title", &[]);
    check("DTSTART:2026", &[]);
}

#[test]
fn repetitions_follow_the_wall_clock() {
    let check = |lines: &str, expect: &[&str]| {
        check(
            lines,
            "Europe/Berlin",
            "2026-10-19T00:00",
            "2026-11-02T00:00",
            expect,
        );
    };
    // Clocks go back on 25 October: nine stays nine.
    check(
        "DTSTART;TZID=Europe/Berlin:20200106T090000\nDURATION:PT1H\nRRULE:FREQ=WEEKLY",
        &["10-19T09:00/10-19T10:00", "10-26T09:00/10-26T10:00"],
    );
    // An event of New York is an hour off for that week.
    check(
        "DTSTART;TZID=America/New_York:20260105T090000\nDURATION:PT1H\nRRULE:FREQ=WEEKLY",
        &["10-19T15:00/10-19T16:00", "10-26T14:00/10-26T15:00"],
    );
    check(
        "DTSTART;VALUE=DATE:20100101\nRRULE:FREQ=MONTHLY;BYDAY=-1FR",
        &["10-30T00:00/10-31T00:00"],
    );
    check(
        "DTSTART:20261019T080000Z\nRRULE:FREQ=DAILY;COUNT=3\nEXDATE:20261020T080000Z\nRDATE:20261028T080000Z",
        &[
            "10-19T10:00/10-19T10:00",
            "10-21T10:00/10-21T10:00",
            "10-28T09:00/10-28T09:00",
        ],
    );
    // The excluded date is a day; UNTIL is UTC and holds the last one.
    check(
        "DTSTART;TZID=Europe/Berlin:20261019T090000\nRRULE:FREQ=DAILY;UNTIL=20261021T070000Z\nEXDATE;VALUE=DATE:20261020",
        &["10-19T09:00/10-19T09:00", "10-21T09:00/10-21T09:00"],
    );
    check(
        "DTSTART;VALUE=DATE:20261020\nRRULE:FREQ=DAILY;UNTIL=20261021",
        &["10-20T00:00/10-21T00:00", "10-21T00:00/10-22T00:00"],
    );
    // Every second week, counted from long ago.
    check(
        "DTSTART;TZID=Europe/Berlin:20200106T090000\nRRULE:FREQ=WEEKLY;INTERVAL=2;BYDAY=MO,FR",
        &["10-19T09:00/10-19T09:00", "10-23T09:00/10-23T09:00"],
    );
    // It began before the window and lasts into it.
    check(
        "DTSTART;VALUE=DATE:20260918\nDTEND;VALUE=DATE:20260922\nRRULE:FREQ=MONTHLY",
        &["10-18T00:00/10-22T00:00"],
    );
}

#[test]
fn single_occurrences_are_replaced() {
    let master = "BEGIN:VEVENT\nUID:u\nSUMMARY:weekly\nDTSTART;TZID=Europe/Berlin:20261005T090000\nDURATION:PT1H\nRRULE:FREQ=WEEKLY;COUNT=4\nEND:VEVENT";
    let moved = "BEGIN:VEVENT\nUID:u\nSUMMARY:moved\nRECURRENCE-ID;TZID=Europe/Berlin:20261012T090000\nDTSTART;TZID=Europe/Berlin:20261013T110000\nEND:VEVENT";
    let gone = "BEGIN:VEVENT\nUID:u\nRECURRENCE-ID:20261019T070000Z\nDTSTART:20261019T070000Z\nSTATUS:CANCELLED\nEND:VEVENT";
    let root = store(&[&format!("{moved}\n{master}\n{gone}")]);
    let reading = read(&root, "Europe/Berlin", "2026-10-01T00:00", "2026-11-01T00:00");
    let seen: Vec<String> = reading
        .items
        .iter()
        .map(|e| format!("{} {}", e.title, e.start.strftime("%d %H:%M")))
        .collect();
    assert_eq!(seen, ["weekly 05 09:00", "moved 13 11:00", "weekly 26 09:00"]);
    assert!(reading.items.iter().all(|e| e.repeats && e.uid == "u"));
}

#[test]
fn a_change_of_what_follows_moves_what_follows() {
    let master = "BEGIN:VEVENT\nUID:u\nSUMMARY:old\nDTSTART;TZID=Europe/Berlin:20261005T090000\nDURATION:PT1H\nRRULE:FREQ=WEEKLY;COUNT=5\nEXDATE;TZID=Europe/Berlin:20261019T090000\nEND:VEVENT";
    let onwards = "BEGIN:VEVENT\nUID:u\nSUMMARY:new\nRECURRENCE-ID;RANGE=THISANDFUTURE;TZID=Europe/Berlin:20261012T090000\nDTSTART;TZID=Europe/Berlin:20261013T103000\nDURATION:PT2H\nEND:VEVENT";
    let root = store(&[&format!("{master}\n{onwards}")]);
    let reading = read(&root, "Europe/Berlin", "2026-10-01T00:00", "2026-11-30T00:00");
    let seen: Vec<String> = reading
        .items
        .iter()
        .map(|e| {
            format!(
                "{} {}-{}",
                e.title,
                e.start.strftime("%d %H:%M"),
                e.end.strftime("%H:%M")
            )
        })
        .collect();
    assert_eq!(
        seen,
        [
            "old 05 09:00-10:00",
            "new 13 10:30-12:30",
            "new 27 10:30-12:30",
            "new 03 10:30-12:30"
        ]
    );
}

#[test]
fn a_zone_is_known_by_its_name_else_by_its_rules() {
    let zone = |id: &str, more: &str| {
        format!(
            "BEGIN:VCALENDAR\nBEGIN:VTIMEZONE\nTZID:{id}\n{more}\nEND:VTIMEZONE\n{}\nEND:VCALENDAR\n",
            event(&format!(
                "DTSTART;TZID={id}:20260701T120000\nRRULE:FREQ=MONTHLY;BYMONTHDAY=1"
            ))
        )
    };
    let seen = |text: String| {
        let root = store(&[&text]);
        let reading = read(&root, "UTC", "2026-07-01T00:00", "2027-01-02T00:00");
        let hour = |e: &Event| e.start.strftime("%m-%d %H:%M").to_string();
        let items = &reading.items;
        (hour(&items[0]), hour(&items[items.len() - 1]), reading.warnings)
    };
    let rules = "BEGIN:STANDARD\nDTSTART:19701101T020000\nTZOFFSETFROM:-0430\nTZOFFSETTO:-0530\nRRULE:FREQ=YEARLY;BYMONTH=11;BYDAY=1SU\nEND:STANDARD\nBEGIN:DAYLIGHT\nDTSTART:19700308T020000\nTZOFFSETFROM:-0530\nTZOFFSETTO:-0430\nRRULE:FREQ=YEARLY;BYMONTH=3;BYDAY=2SU\nEND:DAYLIGHT";
    let fixed = "BEGIN:STANDARD\nDTSTART:19700101T000000\nTZOFFSETFROM:+0545\nTZOFFSETTO:+0545\nEND:STANDARD";
    for (text, summer, winter) in [
        (zone("Our Office", rules), "07-01 16:30", "01-01 17:30"),
        (zone("Our Office", fixed), "07-01 06:15", "01-01 06:15"),
        (
            zone("Custom", "X-LIC-LOCATION:Europe/Berlin"),
            "07-01 10:00",
            "01-01 11:00",
        ),
    ] {
        let found = seen(text.clone());
        assert_eq!((found.0.as_str(), found.1.as_str()), (summer, winter), "{text}");
        assert_eq!(found.2, [""; 0], "{text}");
    }
    let found = seen(zone("Nowhere/Known", "X-COMMENT:nothing"));
    assert_eq!(found.0, "07-01 12:00", "it counts as local");
    assert!(
        found.2.len() == 1 && found.2[0].contains("time zone \"Nowhere/Known\" is unknown"),
        "{:?}",
        found.2
    );
}

/// Another program writes, rewrites in place without a change of length, renames, and removes.
#[test]
fn what_other_programs_change_is_seen_at_once() {
    let root = store(&[]);
    let folder = root.path().join("home");
    let titles = || {
        let reading = read(&root, "UTC", "2026-12-01T00:00", "2026-12-02T00:00");
        reading.items.into_iter().map(|e| e.title).collect::<Vec<_>>()
    };
    let put = |name: &str, title: &str| {
        let text = format!(
            "BEGIN:VCALENDAR\nBEGIN:VEVENT\nUID:{name}\nSUMMARY:{title}\nDTSTART:20261201T120000Z\nEND:VEVENT\nEND:VCALENDAR\n"
        );
        fs::write(folder.join(name), text).unwrap();
    };
    assert_eq!(titles(), [""; 0]);
    put("a.ics", "one");
    assert_eq!(titles(), ["one"]);
    put("a.ics", "two");
    assert_eq!(titles(), ["two"]);
    std::thread::sleep(Duration::from_millis(150));
    assert_eq!(titles(), ["two"]);
    put("a.ics", "six");
    assert_eq!(titles(), ["six"]);
    put(".b.ics", "hidden");
    fs::rename(folder.join(".b.ics"), folder.join("b.ics")).unwrap();
    assert_eq!(titles(), ["hidden", "six"]);
    fs::remove_file(folder.join("a.ics")).unwrap();
    assert_eq!(titles(), ["hidden"]);
    fs::write(folder.join("b.ics"), "junk").unwrap();
    assert_eq!(titles(), [""; 0]);
    fs::remove_dir_all(&folder).unwrap();
    assert_eq!(titles(), [""; 0]);
}

/// A generous bound on what `examples/calendar_speed.rs` measures, in a slow build on a busy machine.
#[test]
fn a_week_of_many_events_is_quick_after_the_first_look() {
    let root = store(&[]);
    for n in 0..2000_i64 {
        let start = date(2022, 1, 1).checked_add((n % 1800).days()).unwrap();
        let rule = if n % 20 == 0 { "\nRRULE:FREQ=WEEKLY" } else { "" };
        let text = format!(
            "BEGIN:VCALENDAR\nBEGIN:VEVENT\nUID:{n}\nSUMMARY:E{n}\nDTSTART;TZID=Europe/Berlin:{}T090000\nDURATION:PT1H{rule}\nEND:VEVENT\nEND:VCALENDAR\n",
            start.strftime("%Y%m%d")
        );
        fs::write(root.path().join(format!("home/{n}.ics")), text).unwrap();
    }
    let week = || read(&root, "Europe/Berlin", "2026-11-23T00:00", "2026-11-30T00:00").items;
    std::thread::sleep(Duration::from_millis(200));
    let begun = Instant::now();
    let first = week();
    let indexing = begun.elapsed();
    let begun = Instant::now();
    assert_eq!(week(), first);
    let again = begun.elapsed();
    eprintln!(
        "2,000 events: first look {indexing:?}, then {again:?}, {} found",
        first.len()
    );
    assert!(first.len() >= 100, "{}", first.len());
    assert!(
        again < indexing && again < Duration::from_secs(1),
        "{again:?} after {indexing:?}"
    );
}

#[test]
fn bombs_are_bounded() {
    let day = ("2026-12-01T00:00", "2026-12-02T00:00");
    let many: Vec<String> = (1..=5000).map(|n| (n % 366).to_string()).collect();
    for (rule, expect) in [
        ("FREQ=SECONDLY", "every minute or second"),
        ("FREQ=MINUTELY;INTERVAL=1", "every minute or second"),
        ("RSCALE=CHINESE;FREQ=YEARLY", "another calendar"),
        (
            "FREQ=DAILY;BYSECOND=0,1,2,3,4,5,6,7,8,9;BYMINUTE=0,1,2,3,4,5,6",
            "too large",
        ),
        (&format!("FREQ=YEARLY;BYYEARDAY={}", many.join(",")), "too large"),
    ] {
        let begun = Instant::now();
        let root = store(&[
            &event(&format!("DTSTART:19700101T000000Z\nRRULE:{rule}")),
            &event("DTSTART:20261201T120000Z"),
        ]);
        let reading = read(&root, "UTC", day.0, day.1);
        assert_eq!(reading.items.len(), 1, "the others stay: {rule}");
        let [warning] = reading.warnings.as_slice() else {
            panic!("{rule}: {:?}", reading.warnings);
        };
        assert!(warning.contains(expect) && warning.contains("0.ics"), "{warning}");
        assert!(
            begun.elapsed() < Duration::from_secs(3),
            "{rule} took {:?}",
            begun.elapsed()
        );
    }
    // These are followed, within bounds.
    for (rule, from, to) in [
        (
            "FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30",
            "2026-01-01T00:00",
            "2027-01-01T00:00",
        ),
        (
            "FREQ=DAILY;BYMONTH=2,4;BYMONTHDAY=31;COUNT=3",
            "2026-01-01T00:00",
            "9999-01-01T00:00",
        ),
        ("FREQ=HOURLY", "2026-01-01T00:00", "2027-01-01T00:00"),
        (
            "FREQ=DAILY;COUNT=4000000000",
            "2026-01-01T00:00",
            "2027-01-01T00:00",
        ),
        (
            "FREQ=YEARLY;BYYEARDAY=366;BYMONTH=1",
            "2026-01-01T00:00",
            "2027-01-01T00:00",
        ),
        (
            "FREQ=YEARLY;BYWEEKNO=20;BYMONTH=12",
            "2026-01-01T00:00",
            "2027-01-01T00:00",
        ),
        (
            "FREQ=MONTHLY;BYDAY=MO;BYSETPOS=366",
            "2026-01-01T00:00",
            "2027-01-01T00:00",
        ),
        (
            "FREQ=DAILY;INTERVAL=65535",
            "2026-01-01T00:00",
            "9999-01-01T00:00",
        ),
        (
            "FREQ=DAILY;UNTIL=99991231T235959Z",
            "2026-01-01T00:00",
            "9999-01-01T00:00",
        ),
    ] {
        let begun = Instant::now();
        let root = store(&[&event(&format!("DTSTART:19000101T000000Z\nRRULE:{rule}"))]);
        let reading = read(&root, "UTC", from, to);
        assert!(reading.items.len() <= 1000, "{rule}: {}", reading.items.len());
        assert!(
            begun.elapsed() < Duration::from_secs(5),
            "{rule} took {:?}",
            begun.elapsed()
        );
    }
}

#[test]
fn a_broken_file_hides_no_other() {
    let root = store(&["", "", "", "", &event("DTSTART:20261201T120000Z")]);
    fs::write(
        root.path().join("home/0.ics"),
        "BEGIN:VCALENDAR\nBEGIN:VEVENT\nSUMMARY:cut",
    )
    .unwrap();
    fs::write(
        root.path().join("home/3.ics"),
        "BEGIN:VCARD\nVERSION:4.0\nFN:Anna\nEND:VCARD\n",
    )
    .unwrap();
    fs::write(root.path().join("home/1.ics"), "").unwrap();
    fs::write(root.path().join("home/2.ics"), [0xff, 0xfe, 0, 1]).unwrap();
    fs::write(root.path().join("home/5.ics"), vec![b'x'; 11 << 20]).unwrap();
    let reading = read(&root, "UTC", "2026-12-01T00:00", "2026-12-02T00:00");
    assert_eq!(reading.items.len(), 1);
    for name in ["0.ics", "1.ics", "2.ics", "3.ics", "5.ics"] {
        let named = reading.warnings.iter().filter(|w| w.contains(name)).count();
        assert_eq!(named, 1, "{name} in {:?}", reading.warnings);
    }
    let line = "0.ics: it is broken in line 2: BEGIN:VEVENT without its END";
    assert!(
        reading.warnings.iter().any(|w| w.ends_with(line)),
        "{:?}",
        reading.warnings
    );
}

#[test]
fn an_invitation_is_marked() {
    let root = store(&[&event(
        "DTSTART:20261201T120000Z\nORGANIZER;CN=\"Bob \u{202e}Stone\":mailto:bob@example.org\nATTENDEE:mailto:me@example.org",
    )]);
    let reading = read(&root, "UTC", "2026-12-01T00:00", "2026-12-02T00:00");
    assert!(reading.items[0].invited);
    assert_eq!(reading.items[0].people, ["Bob Stone", "me@example.org"]);
}

#[test]
fn what_is_written_is_read_back() {
    let root = store(&[]);
    let calendar = &collections(root.path()).unwrap()[0];
    let long = "Grüße, 日本語; \\n backslash \"quotes\" ".repeat(8);
    for (zone, all_day) in [
        ("Europe/Berlin", false),
        ("America/New_York", true),
        ("UTC", false),
        ("Asia/Kathmandu", false),
    ] {
        let now = at("2026-10-02T10:00", zone);
        let new = NewEvent {
            title: plain::one_line(&long, 150),
            start: at(
                if all_day {
                    "2026-12-01T00:00"
                } else {
                    "2026-12-01T09:30"
                },
                zone,
            ),
            end: at(
                if all_day {
                    "2026-12-02T00:00"
                } else {
                    "2026-12-01T10:30"
                },
                zone,
            ),
            all_day,
            location: Some("Room 5, 2nd floor; left".to_owned()),
            description: Some("First line\nBEGIN:VEVENT\nDTSTART:19700101T000000Z".to_owned()),
            rule: None,
            people: Vec::new(),
            remind: None,
        };
        let (uid, path) = create(&step(root.path()), calendar, &new, &now).unwrap();
        assert_eq!(path.file_stem().unwrap().to_str(), Some(uid.as_str()));
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.lines().all(|l| l.len() <= 75), "lines are folded");
        assert_eq!(text.matches("\r\n").count(), text.matches('\n').count());
        assert_eq!(text.matches("BEGIN:VEVENT\r\n").count(), 1, "text stays text");
        for needed in [
            "VERSION:2.0",
            "PRODID:",
            "UID:",
            "DTSTAMP:",
            "DTSTART",
            "DTEND",
            "SUMMARY:",
        ] {
            assert!(text.contains(needed), "{needed} in {text}");
        }
        assert_eq!(
            text.contains("BEGIN:VTIMEZONE"),
            !all_day && zone != "UTC",
            "{text}"
        );
        let reading = events(
            root.path(),
            &at("2026-12-01T00:00", zone),
            &at("2026-12-02T00:00", zone),
        )
        .unwrap();
        let event = reading.items.iter().find(|e| e.uid == uid).unwrap();
        assert_eq!(
            (&event.title, &event.start, &event.end),
            (&new.title, &new.start, &new.end)
        );
        assert_eq!((event.all_day, &event.location), (all_day, &new.location));
        fs::remove_file(path).unwrap();
    }
}

#[test]
fn todos_are_open_ones_in_order() {
    let todo = |uid: &str, lines: &str| format!("BEGIN:VTODO\nUID:{uid}\nSUMMARY:{uid}\n{lines}\nEND:VTODO");
    let root = store(&[
        &todo("later", "DUE;VALUE=DATE:20261203"),
        &todo("any", "PRIORITY:5"),
        &todo("urgent", "PRIORITY:1"),
        &todo("soon", "DUE;TZID=America/New_York:20261201T030000"),
        &todo("done", "STATUS:COMPLETED"),
        &todo("also-done", "COMPLETED:20260101T000000Z"),
        &todo("dropped", "STATUS:CANCELLED"),
    ]);
    let reading = todos(root.path(), &at("2026-12-01T00:00", "Europe/Berlin")).unwrap();
    let seen: Vec<_> = reading.items.iter().map(|t| t.title.as_str()).collect();
    assert_eq!(seen, ["soon", "later", "urgent", "any"]);
    assert_eq!(
        reading.items[0].due,
        Some(Due::At(at("2026-12-01T09:00", "Europe/Berlin")))
    );
}

/// Real and broken files of four libraries: none panics or hangs, and most hold something.
#[test]
fn public_files_neither_panic_nor_hang() {
    let Some(folder) = data("ics") else {
        return;
    };
    let (from, to) = (
        at("1900-01-01T00:00", "Europe/Berlin"),
        at("2100-01-01T00:00", "Europe/Berlin"),
    );
    let begun = Instant::now();
    let files: usize = collections(&folder)
        .unwrap()
        .iter()
        .map(|c| vdir::items(c, "ics").unwrap().files.len())
        .sum();
    let reading = events(&folder, &from, &to).unwrap();
    let todos = todos(&folder, &from).unwrap();
    if std::env::var_os("TIRO_SHOW").is_some() {
        eprintln!("{:#?}", reading.warnings);
    }
    eprintln!(
        "{files} files: {} occurrences, {} to-dos, {} warnings, {:?}",
        reading.items.len(),
        todos.items.len(),
        reading.warnings.len(),
        begun.elapsed()
    );
    assert!(begun.elapsed() < Duration::from_secs(60), "{:?}", begun.elapsed());
    assert!(
        files > 150 && reading.items.len() > 300,
        "{files} files, {} occurrences",
        reading.items.len()
    );
}

/// The rules of libical's own tests against the instances that it expects.
#[test]
fn public_rules_give_their_instances() {
    let Some(path) = data("rrule/libical.jsonl") else {
        return;
    };
    let (mut right, mut all) = (0, 0);
    for line in fs::read_to_string(path).unwrap().lines() {
        let row: Value = serde_json::from_str(line).unwrap();
        let (rule, start) = (row["rrule"].as_str().unwrap(), row["dtstart"].as_str().unwrap());
        let expected: Vec<String> = row["instances"]
            .as_str()
            .unwrap()
            .split(',')
            .map(|at| at.trim_end_matches('Z').to_owned())
            .collect();
        let root = store(&[&event(&format!("DTSTART:{start}\nRRULE:{rule}"))]);
        let reading = read(&root, "UTC", "1990-01-01T00:00", "2300-01-01T00:00");
        let mut seen: Vec<String> = reading
            .items
            .iter()
            .map(|e| {
                let shape = if e.all_day || !expected[0].contains('T') {
                    "%Y%m%d"
                } else {
                    "%Y%m%dT%H%M%S"
                };
                e.start.strftime(shape).to_string()
            })
            .collect();
        // Rules without an end are expected up to some instance; and RFC 5545 counts DTSTART where the rule misses it.
        if seen.first().is_some_and(|first| !expected.contains(first)) {
            seen.remove(0);
        }
        seen.truncate(expected.len());
        all += 1;
        if seen == expected {
            right += 1;
        } else {
            eprintln!(
                "{rule} from {start}: {:?} instead of {:?} {:?}",
                &seen[..seen.len().min(4)],
                &expected[..expected.len().min(4)],
                reading.warnings
            );
        }
    }
    eprintln!("{right} of {all} rules");
    assert!(right * 100 >= all * RULES_FLOOR, "{right} of {all}");
}

/// Percent of libical's rules that give the expected instances.
const RULES_FLOOR: u32 = 100;
