//! Whole runs against a small server in memory, cut off at every place where a process or a network can be.

mod fake;

use std::{cell::Cell, collections::BTreeMap, fs, path::Path};

use fake::Fake;
use proptest::prelude::*;

use super::*;
use crate::{
    contract::Dirs,
    system::journal::{Journal, Retention},
};

fn event(uid: &str, title: &str) -> String {
    format!(
        "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:-//Test//EN\r\nBEGIN:VEVENT\r\nUID:{uid}\r\nDTSTAMP:20260101T000000Z\r\n\
         DTSTART:20260102T100000Z\r\nSUMMARY:{title}\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n"
    )
}

/// A home with one account on a server of its own.
struct Home {
    folder: tempfile::TempDir,
    server: Fake,
    force: bool,
}

impl Home {
    fn new() -> Home {
        Home {
            folder: tempfile::tempdir().unwrap(),
            server: Fake::default(),
            force: false,
        }
    }

    fn dirs(&self) -> Dirs {
        Dirs::under(self.folder.path())
    }

    fn calendar(&self) -> PathBuf {
        self.folder.path().join("calendars/home-cal")
    }

    fn sync(&self) -> Report {
        self.sync_until(usize::MAX)
    }

    /// Runs until so many steps were taken.
    fn sync_until(&self, steps: usize) -> Report {
        let left = Cell::new(steps);
        let watch = |_: &Step| match left.get() {
            0 => Err(Stop),
            n => {
                left.set(n - 1);
                Ok(())
            }
        };
        sync(&self.account(), &self.dirs(), &self.server, &watch)
    }

    fn account(&self) -> Account {
        Account {
            name: "home".into(),
            origin: fake::ORIGIN.into(),
            path: "/".into(),
            kinds: vec![Kind::Calendar],
            collections: Vec::new(),
            force: self.force,
            allow_http: false,
        }
    }

    /// One run that has to go well.
    #[track_caller]
    fn good(&self) -> Synced {
        let report = self.sync();
        assert!(report.ok(), "{report:?}");
        report.collections.into_iter().next().unwrap()
    }

    fn write(&self, name: &str, text: &str) {
        fs::create_dir_all(self.calendar()).unwrap();
        fs::write(self.calendar().join(name), text).unwrap();
    }

    fn read(&self, name: &str) -> Option<String> {
        fs::read_to_string(self.calendar().join(name)).ok()
    }

    /// Every file of the calendar.
    fn files(&self) -> BTreeMap<String, String> {
        files(&self.calendar())
    }

    /// Titles on both sides, sorted: each must be there once.
    #[track_caller]
    fn expect(&self, titles: &[&str]) {
        let of = |texts: Vec<String>| {
            let mut titles: Vec<String> = texts.iter().map(|t| title(t)).collect();
            titles.sort();
            titles
        };
        let here = of(self.files().into_values().collect());
        let there = of(self.server.texts());
        assert_eq!(
            (here, there),
            (
                titles.iter().map(|t| (*t).to_owned()).collect(),
                titles.iter().map(|t| (*t).to_owned()).collect()
            )
        );
    }
}

fn files(folder: &Path) -> BTreeMap<String, String> {
    let Ok(entries) = fs::read_dir(folder) else {
        return BTreeMap::new();
    };
    entries
        .map(|e| e.unwrap())
        .filter(|e| e.path().extension().is_some_and(|x| x == "ics"))
        .map(|e| {
            (
                e.file_name().into_string().unwrap(),
                fs::read_to_string(e.path()).unwrap(),
            )
        })
        .collect()
}

fn title(text: &str) -> String {
    item::read(text.as_bytes()).unwrap().title()
}

#[test]
fn items_go_both_ways_and_come_to_rest() {
    let home = Home::new();
    home.server.put("a.ics", &event("a", "from there"));
    assert_eq!(home.good().pulled, 1);
    home.write("b.ics", &event("b", "from here"));
    let synced = home.good();
    assert_eq!((synced.pulled, synced.pushed), (0, 1), "{synced:?}");
    home.expect(&["from here", "from there"]);
    let before = home.server.requests();
    let synced = home.good();
    assert_eq!((synced.pulled, synced.pushed, synced.notes.len()), (0, 0, 0));
    assert!(
        home.server.requests() - before <= 5,
        "a run without news is short"
    );
    assert_eq!(home.read("a.ics").unwrap(), event("a", "from there"));
    assert_eq!(
        fs::read_to_string(home.calendar().join("displayname")).unwrap(),
        "Cal"
    );
}

#[test]
fn changes_and_deletions_go_both_ways() {
    let home = Home::new();
    for n in 0..4 {
        home.server
            .put(&format!("{n}.ics"), &event(&n.to_string(), &format!("old {n}")));
    }
    home.good();
    home.write("0.ics", &event("0", "changed here"));
    home.server.put("1.ics", &event("1", "changed there"));
    fs::remove_file(home.calendar().join("2.ics")).unwrap();
    home.server.remove("3.ics");
    let synced = home.good();
    assert_eq!(
        (
            synced.pulled,
            synced.pushed,
            synced.removed_here,
            synced.removed_there
        ),
        (1, 1, 1, 1)
    );
    home.expect(&["changed here", "changed there"]);
}

#[test]
fn what_both_changed_is_there_twice() {
    let home = Home::new();
    home.server.put("a.ics", &event("a", "old"));
    home.good();
    home.write("a.ics", &event("a", "mine"));
    home.server.put("a.ics", &event("a", "theirs"));
    let synced = home.good();
    assert_eq!((synced.conflicts, synced.notes.len()), (1, 1));
    assert!(
        synced.notes[0].starts_with("\"theirs\" was changed here and on the server."),
        "{synced:?}"
    );
    home.expect(&["mine (conflicted copy)", "theirs"]);
    assert_eq!(title(&home.read("a.ics").unwrap()), "theirs");
    assert_eq!(home.good().conflicts, 0);
}

#[test]
fn a_change_wins_over_a_deletion() {
    let home = Home::new();
    home.server.put("a.ics", &event("a", "old a"));
    home.server.put("b.ics", &event("b", "old b"));
    home.good();
    fs::remove_file(home.calendar().join("a.ics")).unwrap();
    home.server.put("a.ics", &event("a", "new a"));
    home.write("b.ics", &event("b", "new b"));
    home.server.remove("b.ics");
    home.good();
    home.expect(&["new a", "new b"]);
}

#[test]
fn the_same_item_on_both_sides_is_one() {
    let home = Home::new();
    home.good();
    // An invitation that both clients took up, with what a server adds.
    home.server
        .put("x.ics", &event("a", "meeting").replace("-//Test//EN", "server"));
    home.write("y.ics", &event("a", "meeting"));
    let synced = home.good();
    assert_eq!(
        (synced.conflicts, home.server.texts().len(), home.files().len()),
        (0, 1, 1)
    );
    home.write("y.ics", &event("a", "meeting moved"));
    home.good();
    home.expect(&["meeting moved"]);
}

#[test]
fn what_a_run_took_away_can_be_taken_back_by_its_number() {
    let home = Home::new();
    for name in ["a", "b", "c"] {
        home.server.put(&format!("{name}.ics"), &event(name, name));
    }
    home.good();
    let journal = Journal::at(&home.dirs().state, Retention::default());
    assert!(journal.history(9).unwrap().is_empty(), "what came new is no loss");
    home.server.remove("a.ics");
    home.server.put("b.ics", &event("b", "theirs"));
    home.good();
    let steps = journal.history(9).unwrap();
    assert_eq!(
        steps
            .iter()
            .map(|s| (&*s.tool, s.say.as_deref()))
            .collect::<Vec<_>>(),
        [(
            "sync",
            Some("Synchronised Cal: 1 item replaced and 1 item deleted here.")
        )]
    );
    assert!(steps[0].others && steps[0].passed && !steps[0].undone);
    // "Undo that" means what the person did.
    assert!(matches!(journal.undo(None), Err(JournalError::Nothing)));
    journal.undo(Some(steps[0].id)).unwrap();
    assert_eq!(title(&home.read("b.ics").unwrap()), "b");
    home.good();
    home.expect(&["a", "b", "c"]);
    assert_eq!(journal.verify_invariants().unwrap(), [""; 0]);
}

#[test]
fn a_server_that_was_reset_takes_nothing_away() {
    let home = Home::new();
    for name in ["a", "b"] {
        home.server.put(&format!("{name}.ics"), &event(name, name));
    }
    home.good();
    home.server.remove("a.ics");
    home.server.remove("b.ics");
    let error = home.sync().collections[0].error.clone().unwrap();
    assert!(error.contains("there are 2 items here"), "{error}");
    assert_eq!(home.files().len(), 2);
}

#[test]
fn an_empty_side_does_not_empty_the_other() {
    let home = Home::new();
    for n in 0..12 {
        home.server.put(&format!("{n}.ics"), &event(&n.to_string(), "x"));
    }
    home.good();
    for n in 0..12 {
        home.server.remove(&format!("{n}.ics"));
    }
    let report = home.sync();
    let error = report.collections[0].error.clone().unwrap();
    assert!(
        error.contains("12 items here") && error.contains("tiro sync --force home"),
        "{error}"
    );
    assert_eq!(home.files().len(), 12);
    let home = Home { force: true, ..home };
    assert_eq!(home.good().removed_here, 12);

    // A disk that is not there.
    let home = Home { force: false, ..home };
    home.server.put("a.ics", &event("a", "x"));
    home.good();
    fs::rename(home.calendar(), home.folder.path().join("away")).unwrap();
    let error = home.sync().collections[0].error.clone().unwrap();
    assert!(error.starts_with("Its folder here is empty or gone"), "{error}");
    assert_eq!(home.server.texts().len(), 1);
    fs::rename(home.folder.path().join("away"), home.calendar()).unwrap();
    home.good();
    home.expect(&["x"]);
}

#[test]
fn what_may_not_be_changed_is_kept_and_told_once() {
    let home = Home::new();
    home.server.put("a.ics", &event("a", "theirs"));
    home.server.put("b.ics", &event("b", "gone here"));
    home.server.read_only(true);
    home.good();
    home.write("a.ics", &event("a", "mine"));
    home.write("c.ics", &event("c", "new"));
    fs::remove_file(home.calendar().join("b.ics")).unwrap();
    assert_eq!(home.good().notes.len(), 3);
    assert_eq!(home.good().notes.len(), 0, "told once");
    assert_eq!(title(&home.read("a.ics").unwrap()), "mine");
    assert_eq!((home.server.texts().len(), home.files().len()), (2, 2));
    home.server.put("a.ics", &event("a", "theirs again"));
    assert_eq!(home.good().conflicts, 1);
    let titles: Vec<String> = home.files().values().map(|t| title(t)).collect();
    assert!(
        titles.contains(&"mine (conflicted copy)".to_owned()) && titles.contains(&"theirs again".to_owned())
    );
}

#[test]
fn what_nobody_can_read_is_kept_away_and_hides_nothing() {
    let home = Home::new();
    home.server.put("good.ics", &event("g", "good"));
    home.server.put("bad.ics", "no calendar at all");
    home.server
        .put("card.ics", "BEGIN:VCARD\r\nVERSION:4.0\r\nFN:x\r\nEND:VCARD\r\n");
    let synced = home.good();
    assert_eq!((synced.pulled, synced.notes.len()), (1, 2), "{synced:?}");
    assert_eq!(
        synced.notes[0],
        "The item bad.ics on the server is neither a calendar item nor a contact, so it was left out."
    );
    assert_eq!(home.good().notes.len(), 2, "until it is mended");
    home.server.put("bad.ics", &event("b", "mended"));
    let synced = home.good();
    assert_eq!((synced.pulled, synced.notes.len()), (1, 1));
    // Ours became unreadable while the server's changed: the server's takes its place, and ours is kept beside it.
    home.write("good.ics", "BEGIN:VCALENDAR\r\nmine");
    home.server.put("good.ics", &event("g", "better"));
    assert_eq!(home.good().conflicts, 1);
    let files = home.files();
    assert_eq!(title(&files["good.ics"]), "better");
    assert!(files.values().any(|text| text.ends_with("mine")), "{files:?}");
    home.write("broken.ics", "BEGIN:VCALENDAR");
    assert!(home.good().notes[0].contains("broken.ics ends in the middle, so it was not sent."));
}

#[test]
fn a_token_that_is_refused_costs_a_listing() {
    let home = Home::new();
    home.server.put("a.ics", &event("a", "old"));
    home.good();
    home.server.forget_tokens();
    home.server.put("a.ics", &event("a", "new"));
    home.server.remove("never.ics");
    assert_eq!(home.good().pulled, 1);
    home.server.without_sync(true);
    home.server.put("b.ics", &event("b", "b"));
    assert_eq!(home.good().pulled, 1);
    home.expect(&["b", "new"]);
}

#[test]
fn a_server_that_names_no_version_after_writing() {
    let home = Home::new();
    home.server.silent_and_rewriting(true);
    home.good();
    home.write("a.ics", &event("a", "mine"));
    let synced = home.good();
    assert_eq!((synced.pushed, synced.conflicts), (1, 0));
    home.write("a.ics", &event("a", "mine again"));
    let synced = home.good();
    assert_eq!((synced.pushed, synced.conflicts), (1, 0));
    home.expect(&["mine again"]);
}

#[test]
fn lost_memory_costs_no_item() {
    let home = Home::new();
    home.server.put("a.ics", &event("a", "a"));
    home.write("b.ics", &event("b", "b"));
    fs::remove_dir_all(home.calendar()).unwrap();
    home.good();
    home.write("b.ics", &event("b", "b"));
    home.good();
    fs::remove_dir_all(home.folder.path().join("state")).unwrap();
    home.write("a.ics", &event("a", "a changed"));
    let synced = home.good();
    assert_eq!(synced.conflicts, 1, "nobody knows any more who changed it");
    home.expect(&["a", "a changed (conflicted copy)", "b"]);
    assert_eq!(
        fs::read_dir(home.folder.path().join("calendars"))
            .unwrap()
            .count(),
        1
    );
}

#[test]
fn a_folder_of_the_persons_own_is_never_taken() {
    let home = Home::new();
    home.write("private.ics", &event("p", "private"));
    let synced = home.good();
    assert_eq!(synced.folder, "home-cal-2");
    assert!(home.server.texts().is_empty());
}

#[test]
fn a_store_that_is_no_folder_is_told() {
    let home = Home::new();
    home.server.put("a.ics", &event("a", "a"));
    fs::write(home.folder.path().join("calendars"), "no folder").unwrap();
    let error = home.sync().collections[0].error.clone().unwrap();
    assert!(error.contains("calendars/home-cal"), "{error}");
}

#[test]
fn addresses_do_not_lead_out_of_the_folder() {
    let home = Home::new();
    let hostile = [
        "..%2F..%2F..%2Fescape.ics",
        "%2Fetc%2Fpasswd.ics",
        ".hidden.ics",
        "a%00b.ics",
        "CON.ics",
        "a%5Cb.ics",
    ];
    for (n, name) in hostile.iter().enumerate() {
        home.server.put(name, &event(&n.to_string(), name));
    }
    home.server
        .put(&format!("{}.ics", "long".repeat(200)), &event("long", "long"));
    home.server.put("../up.ics", &event("up", "up"));
    let synced = home.good();
    assert_eq!(
        synced.pulled,
        hostile.len() + 1 - 1,
        "NUL and up are no addresses: {synced:?}"
    );
    let mut outside = Vec::new();
    for entry in fs::read_dir(home.folder.path()).unwrap() {
        outside.push(entry.unwrap().file_name().into_string().unwrap());
    }
    outside.sort();
    assert_eq!(outside, ["calendars", "state"]);
    let before = home.files();
    home.good();
    assert_eq!(home.files(), before, "names stay");
}

#[test]
fn errors_say_what_to_do() {
    #[track_caller]
    fn check(error: DavError, expect: &str) {
        assert_eq!(run::sentence(&error, "home"), expect);
    }
    check(
        DavError::Login,
        "The server refused the user name or the password. Check user and password of the account \"home\".",
    );
    check(
        DavError::Net(NetError::Unreachable {
            origin: "https://a".into(),
            why: "host not found".into(),
        }),
        "https://a cannot be reached (host not found). What changed here is kept and goes out with the next run.",
    );
}

#[test]
fn a_password_goes_unencrypted_to_nobody_outside() {
    #[track_caller]
    fn check(origin: &str, goes: bool) {
        let home = Home::new();
        let mut account = home.account();
        account.origin = origin.to_owned();
        let run = |account: &Account| sync(account, &home.dirs(), &home.server, &|_| Ok(()));
        let refused = run(&account).error;
        assert_eq!(home.server.requests() > 0, goes, "{origin}");
        if !goes {
            let expect = format!(
                "{origin} would get your password unencrypted, for everybody on the way to read. Use https:// in the \
                 url of the account \"home\", or set its allow_http = true if the way is safe."
            );
            assert_eq!(refused, Some(expect));
            account.allow_http = true;
            run(&account);
            assert!(home.server.requests() > 0, "{origin}");
        }
    }
    for near in [
        "https://dav.example.com",
        "http://localhost:5232",
        "http://127.0.0.1",
        "http://192.168.1.5:80",
        "http://169.254.3.4",
        "http://[::1]:5232",
        "http://[fd00::1]",
        "http://[fe80::1%eth0]:80",
        "http://[::ffff:10.0.0.1]",
        "http://nas",
        "http://nas.local:8080",
        "http://nas.local.",
    ] {
        check(near, true);
    }
    for far in [
        "http://dav.example.com",
        "http://dav.example.com:8080",
        "http://8.8.8.8",
        "http://172.32.0.1",
        "http://134744072",
        "http://0x08080808",
        "http://[2001:db8::1]:80",
        "http://[::ffff:8.8.8.8]",
        "http://local.example.com",
        "http://notlocal.com",
        "http://localhost:80:evil",
    ] {
        check(far, false);
    }
}

#[test]
fn addresses_of_accounts() {
    #[track_caller]
    fn check(url: &str, expect: Result<(&str, &str), &str>) {
        let got = Account::place(url);
        let got = got
            .as_ref()
            .map(|(o, p)| (o.as_str(), p.as_str()))
            .map_err(String::as_str);
        assert_eq!(got, expect);
    }
    check("https://dav.example.com", Ok(("https://dav.example.com", "/")));
    check(
        "HTTPS://Dav.Example.com:8443/a b/",
        Ok(("https://dav.example.com:8443", "/a%20b/")),
    );
    check(
        "http://localhost:5232/ada/",
        Ok(("http://localhost:5232", "/ada/")),
    );
    check(
        "https://ada:secret@dav.example.com/",
        Err("The address \"https://ada:secret@dav.example.com/\" should not hold a user name or a password."),
    );
    check(
        "dav.example.com",
        Err("The address \"dav.example.com\" should begin with https://."),
    );
    check(
        "ftp://a",
        Err("The address \"ftp://a\" should begin with https://."),
    );
    check("https:///x", Err("The address \"https:///x\" names no server."));
}

/// What one of the two sides does between runs.
#[derive(Debug, Clone, Copy)]
enum Op {
    WriteHere(u8),
    WriteThere(u8),
    RemoveHere(u8),
    RemoveThere(u8),
    Sync,
    /// Killed before a step of ours.
    KilledHere(usize),
    /// The line breaks before a request arrives, or after it was carried out.
    Cut(usize, bool),
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        4 => (0..4u8).prop_map(Op::WriteHere),
        4 => (0..4u8).prop_map(Op::WriteThere),
        1 => (0..4u8).prop_map(Op::RemoveHere),
        1 => (0..4u8).prop_map(Op::RemoveThere),
        2 => Just(Op::Sync),
        3 => (0..25usize).prop_map(Op::KilledHere),
        3 => (0..12usize, any::<bool>()).prop_map(|(n, after)| Op::Cut(n, after)),
    ]
}

/// Every text that either side has.
fn titles(home: &Home) -> std::collections::BTreeSet<String> {
    let texts = home.files().into_values().chain(home.server.texts());
    texts.map(|t| title(&t).replace(item::SUFFIX, "")).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    /// Titles are unique, so that each stands for one version; a version may only disappear by being replaced or
    /// removed by somebody who had it, never by a run.
    #[test]
    fn runs_that_are_cut_off_lose_nothing_and_double_nothing(ops in prop::collection::vec(op(), 1..25), rewriting: bool) {
        // Four items are few enough for one side to become empty on purpose.
        let home = Home { force: true, ..Home::new() };
        home.server.silent_and_rewriting(rewriting);
        home.good();
        let mut synced = BTreeMap::new();
        for (n, op) in ops.into_iter().enumerate() {
            let (before, version) = (titles(&home), format!("v{n}"));
            match op {
                Op::WriteHere(i) => home.write(&format!("{i}.ics"), &event(&i.to_string(), &version)),
                Op::WriteThere(i) => home.server.put(&format!("{i}.ics"), &event(&i.to_string(), &version)),
                Op::RemoveHere(i) => drop(fs::remove_file(home.calendar().join(format!("{i}.ics")))),
                Op::RemoveThere(i) => home.server.remove(&format!("{i}.ics")),
                Op::Sync => drop(home.good()),
                Op::KilledHere(steps) => drop(home.sync_until(steps)),
                Op::Cut(requests, after) => {
                    home.server.cut(requests, after);
                    drop(home.sync());
                    home.server.mend();
                }
            }
            if matches!(op, Op::Sync | Op::KilledHere(_) | Op::Cut(..)) {
                let now = titles(&home);
                for lost in before.difference(&now) {
                    // It was in step on both sides once, and one side let it go since.
                    prop_assert!(synced.contains_key(lost), "{lost} is lost");
                }
            }
            let (here, there) = (home.files(), home.server.texts());
            for text in here.values() {
                if there.iter().any(|t| title(t) == title(text)) {
                    synced.insert(title(text).replace(item::SUFFIX, ""), ());
                }
            }
        }
        home.good();
        let mut here: Vec<String> = home.files().values().map(|t| title(t)).collect();
        let mut there: Vec<String> = home.server.texts().iter().map(|t| title(t)).collect();
        here.sort();
        there.sort();
        prop_assert_eq!(&here, &there);
        let mut once = here.clone();
        once.dedup();
        prop_assert_eq!(once, here, "something is there twice");
    }
}
