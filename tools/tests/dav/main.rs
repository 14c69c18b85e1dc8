//! Synchronising with a real Radicale 3.9, which the tests start and end themselves.
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "all of this is a test: it fails where something is not as it should be, and skips aloud"
)]

mod radicale;

use std::{
    cell::Cell,
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Instant,
};

use radicale::Radicale;
use tools::{
    Dirs,
    system::dav::{
        Account, Http, Kind, Login, NetError, Patience, Report, Request, Response, Stop, Synced, Transport,
        sync,
    },
};

/// One machine of the person.
struct Home(tempfile::TempDir);

impl Home {
    fn new() -> Home {
        Home(tempfile::tempdir().unwrap())
    }

    fn path(&self, rest: &str) -> PathBuf {
        self.0.path().join(rest)
    }

    fn account(server: &Radicale) -> Account {
        Account {
            name: "home".into(),
            origin: server.origin(),
            path: "/".into(),
            kinds: vec![Kind::Calendar, Kind::Contacts],
            collections: Vec::new(),
            force: false,
            allow_http: false,
        }
    }

    fn sync_over(&self, server: &Radicale, transport: &dyn Transport) -> Report {
        sync(
            &Home::account(server),
            &Dirs::under(self.0.path()),
            transport,
            &|_| Ok(()),
        )
    }

    fn sync(&self, server: &Radicale) -> Report {
        self.sync_over(server, &server.http())
    }

    /// A run that has to go well, by folder.
    #[track_caller]
    fn good(&self, server: &Radicale) -> BTreeMap<String, Synced> {
        let report = self.sync(server);
        assert!(report.ok(), "{report:?}");
        report
            .collections
            .into_iter()
            .map(|c| (c.folder.clone(), c))
            .collect()
    }

    fn write(&self, rest: &str, text: &str) {
        fs::write(self.path(rest), text).unwrap();
    }

    #[track_caller]
    fn says(&self, rest: &str, part: &str) {
        let text = fs::read_to_string(self.path(rest)).unwrap();
        assert!(text.contains(part), "{text}");
    }

    /// Titles in a folder, sorted.
    fn titles(&self, folder: &str) -> Vec<String> {
        titles(&self.path(folder))
    }
}

fn titles(folder: &Path) -> Vec<String> {
    let mut titles = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|e| e == "ics" || e == "vcf") {
            let text = fs::read_to_string(&path)
                .unwrap()
                .replace("\r\n ", "")
                .replace("\n ", "");
            let line = text
                .lines()
                .find_map(|l| l.strip_prefix("SUMMARY:").or(l.strip_prefix("FN:")));
            titles.push(line.unwrap().to_owned());
        }
    }
    titles.sort();
    titles
}

fn event(uid: &str, title: &str) -> String {
    format!(
        "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:-//Test//EN\r\nBEGIN:VEVENT\r\nUID:{uid}\r\nDTSTAMP:20260101T000000Z\r\n\
         DTSTART;TZID=Europe/Berlin:20260102T100000\r\nSUMMARY:{title}\r\nX-FOREIGN;X-P=1:kept\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n"
    )
}

fn todo(uid: &str, title: &str) -> String {
    event(uid, title).replace("VEVENT", "VTODO")
}

fn card(uid: &str, name: &str) -> String {
    format!("BEGIN:VCARD\r\nVERSION:4.0\r\nUID:{uid}\r\nFN:{name}\r\nEND:VCARD\r\n")
}

#[test]
fn real_radicale_both_ways_with_events_todos_and_contacts() {
    let Some(server) = Radicale::start() else { return };
    server.calendar("Tasks");
    server.book("Friends");
    server.put("/ada/tasks/a.ics", &event("a", "Standup"));
    server.put("/ada/tasks/t.ics", &todo("t", "Buy milk"));
    server.put("/ada/friends/ada.vcf", &card("c1", "Ada Lovelace"));
    let home = Home::new();

    let first = home.good(&server);
    assert_eq!(first.keys().collect::<Vec<_>>(), ["home-friends", "home-tasks"]);
    assert_eq!((first["home-tasks"].pulled, first["home-friends"].pulled), (2, 1));
    home.says("calendars/home-tasks/a.ics", "X-FOREIGN;X-P=1:kept");
    home.says("calendars/home-tasks/displayname", "Tasks");
    home.says("calendars/home-tasks/color", "#ff8800");
    assert_eq!(home.titles("reminders/home-tasks"), ["Buy milk"]);
    assert_eq!(home.titles("contacts/home-friends"), ["Ada Lovelace"]);

    home.write("calendars/home-tasks/new one.ics", &event("n", "Lunch"));
    home.write("reminders/home-tasks/n2.ics", &todo("n2", "Call Bob"));
    home.write("contacts/home-friends/bob.vcf", &card("c2", "Bob"));
    home.write("calendars/home-tasks/a.ics", &event("a", "Standup moved"));
    fs::remove_file(home.path("reminders/home-tasks/t.ics")).unwrap();
    let second = home.good(&server);
    assert_eq!(
        (second["home-tasks"].pushed, second["home-tasks"].removed_there),
        (3, 1)
    );
    assert!(server.get("/ada/tasks/a.ics").unwrap().contains("Standup moved"));
    assert!(
        server
            .get("/ada/tasks/new%20one.ics")
            .unwrap()
            .contains("X-FOREIGN;X-P=1:kept")
    );
    assert!(server.get("/ada/friends/bob.vcf").unwrap().contains("FN:Bob"));
    assert_eq!(server.get("/ada/tasks/t.ics"), None);

    server.put("/ada/friends/ada.vcf", &card("c1", "Ada King"));
    assert_eq!(server.ask("DELETE", "/ada/tasks/a.ics", &[], "").status, 200);
    let third = home.good(&server);
    assert_eq!(
        (third["home-friends"].pulled, third["home-tasks"].removed_here),
        (1, 1)
    );
    assert_eq!(home.titles("contacts/home-friends"), ["Ada King", "Bob"]);
    for synced in home.good(&server).values() {
        let moved =
            synced.pulled + synced.pushed + synced.removed_here + synced.removed_there + synced.notes.len();
        assert_eq!(moved, 0, "at rest: {synced:?}");
    }
}

#[test]
fn real_radicale_two_clients_change_the_same_and_keep_both() {
    let Some(server) = Radicale::start() else { return };
    server.calendar("Tasks");
    server.put("/ada/tasks/a.ics", &event("a", "Old"));
    let (one, two) = (Home::new(), Home::new());
    one.good(&server);
    two.good(&server);
    one.write("calendars/home-tasks/a.ics", &event("a", "By one"));
    two.write("calendars/home-tasks/a.ics", &event("a", "By two"));
    one.good(&server);
    let synced = two.good(&server);
    assert_eq!(synced["home-tasks"].conflicts, 1);
    assert!(synced["home-tasks"].notes[0].contains("\"By one\" was changed here and on the server."));
    one.good(&server);
    for home in [&one, &two] {
        assert_eq!(
            home.titles("calendars/home-tasks"),
            ["By one", "By two (conflicted copy)"]
        );
    }
    // The guard itself, and a change that comes between our listing and our writing.
    let stale = server.ask(
        "PUT",
        "/ada/tasks/a.ics",
        &[("If-Match", "\"stale\"")],
        &event("a", "x"),
    );
    assert_eq!(stale.status, 412);
    let hasty = Between {
        http: server.http(),
        method: "PUT",
        act: &|| server.put("/ada/tasks/a.ics", &event("a", "By a third")),
        left: AtomicUsize::new(0),
    };
    one.write("calendars/home-tasks/a.ics", &event("a", "By one again"));
    let report = one.sync_over(&server, &hasty);
    assert!(report.ok(), "{report:?}");
    let expect = [
        "By a third",
        "By one again (conflicted copy)",
        "By two (conflicted copy)",
    ];
    assert_eq!(one.titles("calendars/home-tasks"), expect);
    assert_eq!(titles(&server.storage("tasks")), expect);
}

#[test]
fn real_radicale_offline_changes_go_out_later() {
    let Some(mut server) = Radicale::start() else {
        return;
    };
    server.calendar("Tasks");
    server.put("/ada/tasks/a.ics", &event("a", "A"));
    let home = Home::new();
    home.good(&server);
    server.down();
    home.write("calendars/home-tasks/b.ics", &event("b", "B"));
    fs::remove_file(home.path("calendars/home-tasks/a.ics")).unwrap();
    let report = home.sync(&server);
    let error = report.error.unwrap();
    assert!(report.offline && error.contains("cannot be reached"), "{error}");
    assert!(
        error.ends_with("What changed here is kept and goes out with the next run."),
        "{error}"
    );
    server.up();
    home.good(&server);
    assert_eq!(titles(&server.storage("tasks")), ["B"]);
}

#[test]
fn real_radicale_killed_at_every_request_and_resumed() {
    let Some(mut server) = Radicale::start() else {
        return;
    };
    server.calendar("Tasks");
    let home = Home::new();
    home.good(&server);
    let mut expect = Vec::new();
    // More cuts than a run of this size has requests, so that each of them is hit.
    for n in 0..10 {
        server.put(
            &format!("/ada/tasks/t{n}.ics"),
            &event(&format!("t{n}"), &format!("There {n:02}")),
        );
        home.write(
            &format!("calendars/home-tasks/h{n}.ics"),
            &event(&format!("h{n}"), &format!("Here {n:02}")),
        );
        expect.extend([format!("There {n:02}"), format!("Here {n:02}")]);
        let cut = Cut {
            http: server.http(),
            left: AtomicUsize::new(n),
            server: Mutex::new(&mut server),
        };
        let dirs = Dirs::under(home.0.path());
        let account = Account {
            origin: cut.server.lock().unwrap().origin(),
            path: "/".into(),
            name: "home".into(),
            kinds: vec![Kind::Calendar],
            collections: Vec::new(),
            force: false,
            allow_http: false,
        };
        let report = sync(&account, &dirs, &cut, &|_| Ok(()));
        let was_cut = cut.left.load(Ordering::Relaxed) == usize::MAX;
        assert_eq!(report.offline, was_cut, "{report:?}");
        if was_cut {
            server.up();
        }
    }
    // And our own end, at every step.
    for steps in 0..14usize {
        home.write(
            &format!("calendars/home-tasks/s{steps}.ics"),
            &event(&format!("s{steps}"), &format!("Step {steps:02}")),
        );
        expect.push(format!("Step {steps:02}"));
        let left = Cell::new(steps);
        let watch = |_: &_| match left.replace(left.get().saturating_sub(1)) {
            0 => Err(Stop),
            _ => Ok(()),
        };
        let dirs = Dirs::under(home.0.path());
        sync(&Home::account(&server), &dirs, &server.http(), &watch);
    }
    home.good(&server);
    expect.sort();
    assert_eq!(home.titles("calendars/home-tasks"), expect);
    assert_eq!(titles(&server.storage("tasks")), expect);
}

#[test]
fn real_radicale_refuses_and_tokens_end() {
    let Some(server) = Radicale::start() else { return };
    server.calendar("Tasks");
    server.put("/ada/tasks/a.ics", &event("a", "A"));
    let home = Home::new();
    home.good(&server);
    let wrong = Login::Basic {
        user: "ada".into(),
        password: "wrong".into(),
    };
    let report = home.sync_over(&server, &Http::new(&server.origin(), &wrong, Patience::default()));
    assert_eq!(
        report.error.as_deref(),
        Some(
            "The server refused the user name or the password. Check user and password of the account \"home\"."
        )
    );
    // The server forgets what our token meant.
    fs::remove_dir_all(server.storage("tasks").join(".Radicale.cache")).unwrap();
    server.put("/ada/tasks/b.ics", &event("b", "B"));
    assert_eq!(server.ask("DELETE", "/ada/tasks/a.ics", &[], "").status, 200);
    let synced = home.good(&server);
    assert_eq!(
        (synced["home-tasks"].pulled, synced["home-tasks"].removed_here),
        (1, 1)
    );
    assert_eq!(home.titles("calendars/home-tasks"), ["B"]);
}

#[test]
fn real_radicale_collection_that_may_not_be_changed() {
    let Some(server) = Radicale::start() else { return };
    let shared = server.storage("shared");
    fs::create_dir_all(&shared).unwrap();
    fs::write(
        shared.join(".Radicale.props"),
        r#"{"tag": "VCALENDAR", "D:displayname": "Shared"}"#,
    )
    .unwrap();
    fs::write(shared.join("a.ics"), event("a", "Holiday")).unwrap();
    let home = Home::new();
    assert_eq!(home.good(&server)["home-shared"].pulled, 1);
    home.write("calendars/home-shared/b.ics", &event("b", "Mine"));
    let synced = home.good(&server);
    assert!(
        synced["home-shared"].notes[0].contains("may not be changed on the server"),
        "{synced:?}"
    );
    assert_eq!(home.good(&server)["home-shared"].notes.len(), 0);
    assert_eq!(home.titles("calendars/home-shared"), ["Holiday", "Mine"]);
    assert_eq!(titles(&shared), ["Holiday"]);
}

#[test]
fn real_radicale_broken_items_hide_no_others() {
    let Some(server) = Radicale::start() else { return };
    server.calendar("Tasks");
    server.put("/ada/tasks/good.ics", &event("g", "Good"));
    // XML cannot carry this character, so the answer for all of them breaks on it.
    fs::write(server.storage("tasks").join("odd.ics"), event("o", "Odd\u{b}")).unwrap();
    fs::write(
        server.storage("tasks").join("bytes.ics"),
        b"BEGIN:VCALENDAR\xff\xfe",
    )
    .unwrap();
    let home = Home::new();
    let synced = home.good(&server);
    println!("{:?}", synced["home-tasks"]);
    assert!(home.titles("calendars/home-tasks").contains(&"Good".to_owned()));
    assert!(!home.path("calendars/home-tasks/bytes.ics").exists());
}

#[test]
fn real_radicale_two_thousand_items() {
    let Some(server) = Radicale::start() else { return };
    server.calendar("Tasks");
    for n in 0..2000 {
        // In UTC, because Radicale takes twenty times as long to read an event in a zone.
        let event = event(&n.to_string(), &format!("Event {n}"))
            .replace(";TZID=Europe/Berlin:20260102T100000", ":20260102T090000Z");
        assert!(!event.contains("TZID"), "{event}");
        fs::write(server.storage("tasks").join(format!("{n}.ics")), event).unwrap();
    }
    // Files that were put there behind its back are read by Radicale one by one, once; that is not our time.
    server.warm("/ada/tasks/");
    let home = Home::new();
    let begun = Instant::now();
    let synced = home.good(&server);
    println!(
        "first pull of 2,000 items: {:.1} s",
        begun.elapsed().as_secs_f64()
    );
    assert_eq!(synced["home-tasks"].pulled, 2000);
    let begun = Instant::now();
    assert_eq!(home.good(&server)["home-tasks"].pulled, 0);
    println!("a run without news: {:.2} s", begun.elapsed().as_secs_f64());
    // Somebody empties the server.
    for entry in fs::read_dir(server.storage("tasks")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|e| e == "ics") {
            fs::remove_file(path).unwrap();
        }
    }
    let report = home.sync(&server);
    let error = report.collections[0].error.as_deref().unwrap();
    assert!(
        error.starts_with("The server shows it empty, but there are 2000 items here."),
        "{error}"
    );
    assert_eq!(home.titles("calendars/home-tasks").len(), 2000);
}

#[test]
fn real_radicale_behind_an_unknown_certificate() {
    let Some(server) = Radicale::start_with(true) else {
        return;
    };
    let report = Home::new().sync(&server);
    let error = report.error.unwrap();
    assert!(
        !report.offline && error.contains("is not trusted here"),
        "{error}"
    );
    assert!(
        error.ends_with("add its certificate authority to this system's trusted ones."),
        "{error}"
    );
}

/// Lets somebody else act right before the first request of a kind.
struct Between<'b> {
    http: Http,
    method: &'static str,
    act: &'b (dyn Fn() + Sync),
    left: AtomicUsize,
}

// The closure only borrows the server, whose requests are independent of each other.
impl Transport for Between<'_> {
    fn send(&self, request: &Request) -> Result<Response, NetError> {
        if request.method == self.method && self.left.fetch_add(1, Ordering::Relaxed) == 0 {
            (self.act)();
        }
        self.http.send(request)
    }
}

/// Kills the server after so many requests.
struct Cut<'s> {
    http: Http,
    left: AtomicUsize,
    server: Mutex<&'s mut Radicale>,
}

impl Transport for Cut<'_> {
    fn send(&self, request: &Request) -> Result<Response, NetError> {
        match self.left.load(Ordering::Relaxed) {
            0 => {
                self.left.store(usize::MAX, Ordering::Relaxed);
                self.server.lock().unwrap().down();
            }
            usize::MAX => {}
            n => self.left.store(n - 1, Ordering::Relaxed),
        }
        self.http.send(request)
    }
}
