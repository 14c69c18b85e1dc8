//! Maildirs and a real Dovecot: both ways, cut, killed, emptied.

use std::{
    fs,
    sync::atomic::{AtomicUsize, Ordering},
};

use tools::system::{
    mail::outbox::State,
    post::{Access, Protocol, Report, Secret, Server, Stop, sync},
};

use crate::{
    Home, News, message, run, sender,
    servers::{Dovecot, Line, Smtpd, access},
    smtp, there, through,
};

#[test]
fn a_mailbox_is_mirrored_both_ways() {
    let Some(server) = Dovecot::start("localhost.pem") else {
        return;
    };
    let home = Home::new();
    server.add("INBOX", "", &message("one", "x"));
    server.add("INBOX", "\\Seen \\Answered", &message("two", "x"));
    server.add("Gesendet", "\\Seen", &message("old", "x"));
    server.add("Spam", "", &message("junk", "x"));
    server.other_client(&["CREATE Lists/Rust"]);
    server.add("Lists/Rust", "", &message("list", "x"));
    server.add("INBOX", "", &message("large", &"x".repeat(2 << 20)));
    let first = home.in_step(server.tls_access());
    assert_eq!(home.subjects(""), ["one", "two RS"]);
    assert_eq!(home.subjects(".Sent"), ["old S"]);
    assert_eq!(home.subjects(".Lists.Rust"), ["list"]);
    assert!(!home.mail().join(".Spam").exists() && !home.mail().join(".Junk").exists());
    assert_eq!(
        first.folders[0].notes,
        ["1 messages are larger than 1 MiB and stay on the server."]
    );
    let quiet = home.in_step(server.plain_access());
    assert_eq!(
        (quiet.folders.len(), quiet.folders[0].pulled),
        (1, 0),
        "only the note: {quiet:?}"
    );

    // Flags from both sides at once.
    let one = home.file("", "one");
    fs::rename(
        &one,
        home.mail()
            .join("cur")
            .join(format!("{}:2,F", one.file_name().unwrap().to_str().unwrap())),
    )
    .unwrap();
    server.other_client(&[
        "SELECT INBOX",
        "STORE 1 +FLAGS (\\Seen)",
        "STORE 2 -FLAGS (\\Answered)",
    ]);
    home.in_step(server.tls_access());
    assert_eq!(home.subjects(""), ["one FS", "two S"]);
    let flags = server.other_client(&["SELECT INBOX", "FETCH 1:2 (FLAGS)"]);
    assert!(flags.contains("\\Flagged \\Seen"), "{flags}");

    // Archived here, deleted there, written here.
    let two = home.file("", "two");
    fs::create_dir_all(home.mail().join(".Archive/cur")).unwrap();
    fs::rename(
        &two,
        home.mail().join(".Archive/cur").join(two.file_name().unwrap()),
    )
    .unwrap();
    server.other_client(&["SELECT Lists/Rust", "STORE 1 +FLAGS (\\Deleted)", "EXPUNGE"]);
    fs::write(
        home.mail().join(".Drafts/cur/1.draft:2,DS"),
        message("draft", "y"),
    )
    .unwrap();
    let report = home.in_step(server.tls_access());
    assert_eq!(home.subjects(".Archive"), ["two S"]);
    assert_eq!(home.subjects(".Lists.Rust"), [""; 0]);
    assert_eq!(there(&server, ".Archive"), ["two S"]);
    assert_eq!(there(&server, ".Drafts"), ["draft DS"]);
    assert_eq!(home.subjects(".Drafts"), ["draft DS"]);
    assert_eq!(
        report.folders.iter().map(|f| f.moved).sum::<usize>(),
        1,
        "{report:?}"
    );
    let quiet = home.in_step(server.tls_access());
    assert_eq!(quiet.folders.len(), 1, "{quiet:?}");

    // And back again, and thrown away, and a draft that is no more.
    let two = home.file(".Archive", "two");
    fs::rename(&two, home.mail().join("cur").join(two.file_name().unwrap())).unwrap();
    let one = home.file("", "one");
    fs::create_dir_all(home.mail().join(".Trash/cur")).unwrap();
    fs::rename(&one, home.mail().join(".Trash/cur/another name:2,FS")).unwrap();
    fs::remove_file(home.file(".Drafts", "draft")).unwrap();
    home.in_step(server.tls_access());
    assert_eq!(home.subjects(""), ["two S"]);
    assert_eq!(there(&server, ".Archive"), [""; 0]);
    assert_eq!(there(&server, ".Drafts"), [""; 0]);
    assert_eq!(there(&server, ".Trash"), ["draft DS", "one FS"]);
    home.in_step(server.tls_access());
    assert_eq!(home.subjects(".Trash"), ["draft DS", "one FS"]);
    assert_eq!(
        there(&server, ".Trash"),
        ["draft DS", "one FS"],
        "nothing is ever expunged"
    );
    assert_eq!(home.in_step(server.tls_access()).folders.len(), 1);
}

#[test]
fn a_copy_of_what_was_sent_reaches_the_server_once() {
    let (Some(server), Some(smtpd)) = (
        Dovecot::start("localhost.pem"),
        Smtpd::start("starttls", "localhost.pem"),
    ) else {
        return;
    };
    let home = Home::new();
    home.in_step(server.tls_access());
    home.queue("hello", &["bob@example.org"], "x");
    assert_eq!(home.deliver(&sender(smtp("smtp", smtpd.port))), State::Sent);
    for _ in 0..3 {
        home.in_step(server.tls_access());
        assert_eq!(
            (there(&server, ".Gesendet"), home.subjects(".Sent")),
            (vec!["hello S".into()], vec!["hello S".into()])
        );
    }
    // A server that files by itself already has it.
    home.queue("filed", &["bob@example.org"], "x");
    server.add("Gesendet", "\\Seen", &message("filed", "x"));
    assert_eq!(home.deliver(&sender(smtp("smtp", smtpd.port))), State::Sent);
    home.in_step(server.tls_access());
    assert_eq!(there(&server, ".Gesendet"), ["filed S", "hello S"]);
    assert_eq!(home.subjects(".Sent"), ["filed S", "hello S"]);
    // And what is among the sent mail there has gone.
    let asked = ["filed@example.org".to_owned(), "never@example.org".to_owned()];
    let report = run(sync(
        &home.account(server.tls_access()),
        &home.state(),
        &asked,
        &|| Ok(()),
    ));
    assert_eq!(report.arrived, asked[..1]);
}

#[test]
fn killed_between_every_two_steps_the_next_run_makes_up_for_it() {
    let Some(server) = Dovecot::start("localhost.pem") else {
        return;
    };
    let mut step = 0;
    let begun = std::time::Instant::now();
    let home = Home::new();
    home.in_step(server.tls_access());
    loop {
        // Some of everything, each time anew.
        let name = |what: &str| format!("{what}{step}");
        for what in ["keep", "read", "archive", "trash", "gone"] {
            server.add("INBOX", "", &message(&name(what), "x"));
        }
        home.in_step(server.tls_access());
        let put = |what: &str, to: &str, flags: &str| {
            let from = home.file("", &name(what));
            let base = from
                .file_name()
                .unwrap()
                .to_str()
                .unwrap()
                .split(':')
                .next()
                .unwrap()
                .to_owned();
            fs::create_dir_all(home.mail().join(to)).unwrap();
            fs::rename(&from, home.mail().join(to).join(format!("{base}:2,{flags}"))).unwrap();
        };
        put("read", "cur", "S");
        put("archive", ".Archive/cur", "S");
        put("trash", ".Trash/cur", "");
        fs::write(
            home.mail().join(format!(".Drafts/cur/1.{step}:2,D")),
            message(&name("draft"), "x"),
        )
        .unwrap();
        let search = server.other_client(&["SELECT INBOX", &format!("UID SEARCH SUBJECT {}", name("gone"))]);
        let uid = search
            .split("* SEARCH ")
            .nth(1)
            .unwrap()
            .split_whitespace()
            .next()
            .unwrap()
            .to_owned();
        server.other_client(&[
            "SELECT INBOX",
            &format!("UID STORE {uid} +FLAGS (\\Deleted)"),
            &format!("UID EXPUNGE {uid}"),
        ]);
        server.add("INBOX", "\\Flagged", &message(&name("new"), "x"));

        let count = AtomicUsize::new(0);
        let watch = || match count.fetch_add(1, Ordering::SeqCst) == step {
            true => Err(Stop),
            false => Ok(()),
        };
        let report = run(sync(
            &home.account(server.tls_access()),
            &home.state(),
            &[],
            &watch,
        ));
        let whole = report.ok();
        for _ in 0..2 {
            home.in_step(server.tls_access());
        }
        let quiet = home.in_step(server.tls_access());
        assert_eq!(quiet.folders, [], "killed at step {step}");
        for (folder, remote) in [
            ("", ""),
            (".Archive", ".Archive"),
            (".Trash", ".Trash"),
            (".Drafts", ".Drafts"),
        ] {
            assert_eq!(
                home.subjects(folder),
                there(&server, remote),
                "killed at step {step}"
            );
        }
        let all: Vec<String> = ["", ".Archive", ".Trash", ".Drafts"]
            .iter()
            .flat_map(|f| home.subjects(f))
            .collect();
        for (what, expect) in [
            ("keep", 1),
            ("read", 1),
            ("archive", 1),
            ("trash", 1),
            ("draft", 1),
            ("new", 1),
            ("gone", 0),
        ] {
            let mine = name(what);
            let count = all
                .iter()
                .filter(|s| s.split(' ').next() == Some(mine.as_str()))
                .count();
            assert_eq!(count, expect, "{what}, killed at step {step}: {all:?}");
        }
        if whole {
            break;
        }
        step += 1;
    }
    println!("killed at each of {step} steps in {:?}", begun.elapsed());
    assert!(step > 10);
}

#[test]
fn nothing_here_is_lost_with_the_server() {
    let Some(server) = Dovecot::start("localhost.pem") else {
        return;
    };
    let home = Home::new();
    for n in 0..30 {
        server.add("INBOX", "", &message(&format!("m{n}"), "x"));
    }
    home.in_step(server.tls_access());
    assert_eq!(home.subjects("").len(), 30);
    // Most of it is gone there at once.
    server.other_client(&["SELECT INBOX", "STORE 1:25 +FLAGS (\\Deleted)", "EXPUNGE"]);
    let report = home.sync(server.tls_access());
    let error = report.folders[0].error.clone().unwrap();
    assert!(
        error.contains("The server has lost 25 of the 30 messages here. Nothing was deleted."),
        "{error}"
    );
    assert_eq!(home.subjects("").len(), 30);
    // The folder is another one now, with other numbers.
    server.other_client(&["CREATE Old", "SELECT INBOX", "MOVE 1:* Old"]);
    for n in 26..32 {
        server.add("INBOX", "\\Seen", &message(&format!("m{n}"), "x"));
    }
    let inbox = server
        .files("")
        .first()
        .unwrap()
        .parent()
        .unwrap()
        .parent()
        .unwrap()
        .to_owned();
    let list = fs::read_to_string(inbox.join("dovecot-uidlist")).unwrap();
    let validity = list
        .split(" V")
        .nth(1)
        .unwrap()
        .split(' ')
        .next()
        .unwrap()
        .to_owned();
    fs::write(
        inbox.join("dovecot-uidlist"),
        list.replacen(&format!(" V{validity}"), " V77", 1),
    )
    .unwrap();
    for index in ["dovecot.index", "dovecot.index.log", "dovecot.index.cache"] {
        let _ = fs::remove_file(inbox.join(index));
    }
    let told = server.other_client(&["SELECT INBOX"]);
    assert!(told.contains("UIDVALIDITY 77"), "{told}");
    home.in_step(server.tls_access());
    // What is on both sides was recognised, what is only here stays, what is only there came.
    assert_eq!(home.subjects("").len(), 32);
    assert_eq!(there(&server, "").len(), 6);
    home.in_step(server.tls_access());
    assert_eq!((home.subjects("").len(), there(&server, "").len()), (32, 6));
    // A disk that is not there takes nothing away on the server.
    fs::rename(home.mail(), home.root.join("unmounted")).unwrap();
    let report = home.sync(server.tls_access());
    assert!(!report.ok(), "{report:?}");
    assert_eq!(there(&server, "").len(), 6);
}

#[test]
fn an_account_that_cannot_be_read_says_why() {
    let Some(server) = Dovecot::start_with("localhost.pem", "xoauth2", None) else {
        return;
    };
    #[track_caller]
    fn check(access: Access, expect: &str) -> Report {
        let home = Home::new();
        let report = home.sync(access);
        let error = report.error.clone().unwrap();
        assert!(error.contains(expect), "{error}");
        report
    }
    let mut wrong = server.tls_access();
    wrong.login.secret = Secret::Password("nonsense".to_owned());
    check(wrong, "Localhost refused the user name or the password.");
    let mut token = server.tls_access();
    token.login.secret = Secret::Token("nonsense".to_owned());
    check(token, "refused");
    let mut stranger = server.tls_access();
    stranger.certificates = None;
    check(stranger, "comes from an authority that is not trusted here");
    let mut other = server.tls_access();
    other.server = Server::parse(&format!("imaps://127.0.0.2:{}", server.tls), Protocol::Imap).unwrap();
    assert!(check(other, "127.0.0.2").error.is_some());
    assert!(
        check(
            access("imap://localhost:1", Protocol::Imap),
            "nothing listens there"
        )
        .offline
    );
    let mut crossed = server.tls_access();
    crossed.server = Server::parse(&format!("imaps://localhost:{}", server.plain), Protocol::Imap).unwrap();
    check(crossed, "no encryption begins there");
    let Some(expired) = Dovecot::start("expired.pem") else {
        return;
    };
    check(expired.tls_access(), "The certificate of localhost has expired.");
    check(
        expired.plain_access(),
        "The certificate of localhost has expired.",
    );
}

#[test]
fn a_line_that_is_cut_costs_time_and_no_mail() {
    let Some(server) = Dovecot::start("localhost.pem") else {
        return;
    };
    for n in 0..20 {
        server.add("INBOX", "", &message(&format!("m{n}"), &"y".repeat(20_000)));
    }
    let home = Home::new();
    let line = Line::to(server.tls);
    let access = through(&line);
    for cut in [0, 500, 3000, 5000, 50_000, 200_000] {
        line.down.store(cut, Ordering::SeqCst);
        let report = home.sync(access.clone());
        assert!(!report.ok() && report.offline, "{cut}: {report:?}");
        assert!(
            home.subjects("").iter().all(|s| s.starts_with('m')),
            "no half message"
        );
    }
    line.down.store(u64::MAX, Ordering::SeqCst);
    home.in_step(access);
    assert_eq!(home.subjects("").len(), 20);
    assert_eq!(there(&server, "").len(), 20);
}

#[test]
fn the_inbox_says_when_something_comes() {
    let Some(mut server) = Dovecot::start("localhost.pem") else {
        return;
    };
    let news = News::of(server.tls_access());
    news.until(1);
    for n in 0..2 {
        server.add("INBOX", "", &message(&format!("m{n}"), "x"));
        news.until(2 + n);
    }
    server.down();
    assert!(news.ended().is_offline());
}
