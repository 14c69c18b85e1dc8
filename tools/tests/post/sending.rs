//! The outbox and a real aiosmtpd: encrypted, refused, cut, killed.

use std::{fs, io::Write as _, path::Path, sync::atomic::Ordering, time::Duration};

use tools::system::{
    mail::outbox::State,
    post::{Access, Protocol, Secret, Server},
};

use crate::{
    Home, LONG, sender,
    servers::{Line, Smtpd},
    smtp,
};

#[test]
fn mail_is_delivered_encrypted_and_copied_once() {
    for (mode, scheme) in [("starttls", "smtp"), ("tls", "smtps"), ("plain", "smtp")] {
        let Some(server) = Smtpd::start(mode, "localhost.pem") else {
            return;
        };
        let home = Home::new();
        let ticket = home.queue(
            "hello",
            &["bob@example.org", "eve@example.org"],
            ".dots\n..at the beginning\nend.",
        );
        assert_eq!(
            home.deliver(&sender(smtp(scheme, server.port))),
            State::Sent,
            "{mode}: {:?}",
            home.outbox.entries()
        );
        let got = server.got();
        assert_eq!(got.len(), 1, "{mode}");
        assert_eq!(
            (got[0].from.as_str(), got[0].tls),
            ("ada@example.org", mode != "plain")
        );
        assert_eq!(got[0].to, ["bob@example.org", "eve@example.org"]);
        let copy = fs::read(home.file(".Sent", "hello")).unwrap();
        assert_eq!(got[0].content.as_bytes(), copy, "{mode}");
        assert!(
            got[0]
                .content
                .ends_with("\r\n.dots\r\n..at the beginning\r\nend.\r\n")
        );
        assert_eq!(home.subjects(".Sent"), ["hello S"]);
        assert!(
            home.outbox.message(&ticket.id).is_err(),
            "nothing of it stays in the outbox"
        );
    }
}

#[test]
fn what_the_server_says_no_to_waits_and_says_why() {
    let Some(server) = Smtpd::start("starttls", "localhost.pem") else {
        return;
    };
    let good = smtp("smtp", server.port);
    #[track_caller]
    fn check(access: &Access, subject: &str, to: &[&str], state: State, why: &str) {
        let home = Home::new();
        home.queue(subject, to, "x");
        assert_eq!(
            home.deliver(&sender(access.clone())),
            state,
            "{:?}",
            home.outbox.entries()
        );
        let said = home.why();
        assert!(said.contains(why), "{said}");
        assert_eq!(home.subjects(".Sent"), [""; 0]);
    }
    let bob = &["bob@example.org"][..];
    check(
        &good,
        "x",
        &["bob@example.org", "nobody@example.org"],
        State::Failed,
        "nobody@example.org cannot be reached. localhost answered 550",
    );
    check(&good, "x", &["later@example.org"], State::Queued, "answered 450");
    check(
        &good,
        "refuse me",
        bob,
        State::Failed,
        "answered 554: 5.7.1 Looks like junk.",
    );
    check(&good, "defer me", bob, State::Queued, "answered 451");
    let mut wrong = good.clone();
    wrong.login.secret = Secret::Password("nonsense".to_owned());
    check(
        &wrong,
        "x",
        bob,
        State::Queued,
        "Localhost refused the user name or the password. Check user and password of the account \"home\".",
    );
    let mut stranger = good.clone();
    stranger.certificates = None;
    check(
        &stranger,
        "x",
        bob,
        State::Queued,
        "authority that is not trusted here",
    );
    let mut gone = good.clone();
    gone.server = Server::parse("smtp://localhost:1", Protocol::Smtp).unwrap();
    check(
        &gone,
        "x",
        bob,
        State::Queued,
        "cannot be reached (nothing listens there)",
    );
    let mut other = good.clone();
    other.server = Server::parse(&format!("smtps://localhost:{}", server.port), Protocol::Smtp).unwrap();
    check(&other, "x", bob, State::Queued, "no encryption begins there");
    assert_eq!(server.got().len(), 0);
    let Some(expired) = Smtpd::start("tls", "expired.pem") else {
        return;
    };
    check(
        &smtp("smtps", expired.port),
        "x",
        bob,
        State::Queued,
        "The certificate of localhost has expired.",
    );
    let Some(expired) = Smtpd::start("starttls", "expired.pem") else {
        return;
    };
    check(
        &smtp("smtp", expired.port),
        "x",
        bob,
        State::Queued,
        "The certificate of localhost has expired.",
    );
    assert_eq!(expired.got().len(), 0);
}

#[test]
fn a_line_that_is_cut_anywhere_sends_nothing_twice() {
    let Some(server) = Smtpd::start("plain", "localhost.pem") else {
        return;
    };
    let body = "x".repeat(70).repeat(60).replace("xxxxxxx", "xxxxxx\n");
    let (mut sent, mut unsure, mut waited) = (0, 0, 0);
    let cuts = (0..700).step_by(53).chain((700..5200).step_by(450));
    let mut subjects = Vec::new();
    for (n, (cut, up)) in cuts.flat_map(|cut| [(cut, true), (cut, false)]).enumerate() {
        let line = Line::to(server.port);
        let home = Home::new();
        let name = format!("cut{n}");
        home.queue(&name, &["bob@example.org"], &body);
        match up {
            true => line.up.store(cut, Ordering::SeqCst),
            false => line.down.store(cut, Ordering::SeqCst),
        }
        let sender = sender(smtp("smtp", line.port));
        let state = home.deliver(&sender);
        let first = server
            .got()
            .iter()
            .filter(|got| got.content.contains(&format!("Subject: {name}\r")))
            .count();
        match state {
            State::Sent => assert_eq!(first, 1, "{name}"),
            State::Queued => assert_eq!(first, 0, "{name} is queued and has arrived, cut at {cut}"),
            State::Unsure => assert!(home.outbox.problems().unwrap()[0].contains("may or may not")),
            other => panic!("{name}: {other:?}"),
        }
        line.up.store(u64::MAX, Ordering::SeqCst);
        line.down.store(u64::MAX, Ordering::SeqCst);
        let last = home.deliver(&sender);
        assert_eq!(
            last,
            if state == State::Unsure {
                State::Unsure
            } else {
                State::Sent
            },
            "{name}"
        );
        match (state, last) {
            (State::Sent, _) => sent += 1,
            (_, State::Unsure) => unsure += 1,
            _ => waited += 1,
        }
        subjects.push((name, last));
    }
    let got = server.got();
    for (name, state) in subjects {
        let count = got
            .iter()
            .filter(|got| got.content.contains(&format!("Subject: {name}\r")))
            .count();
        match state {
            State::Unsure => assert!(count <= 1, "{name} arrived {count} times"),
            _ => assert_eq!(count, 1, "{name}"),
        }
    }
    println!("{sent} went at once, {waited} went later, {unsure} wait for the person");
    assert!(sent > 0 && waited > 5 && unsure > 0);
}

const VICTIM: &str = "TIRO_TEST_POST_VICTIM";

#[test]
fn victim_sends_until_it_is_killed() {
    let Ok(place) = std::env::var(VICTIM) else { return };
    let (port, root) = place.split_once(' ').unwrap();
    let home = Home::at(Path::new(root));
    let sender = sender(smtp("smtp", port.parse().unwrap()));
    fs::write(Path::new(root).join("ready"), "").unwrap();
    for n in 0.. {
        let name = format!("v{}x{n}", std::process::id());
        home.queue(&name, &["bob@example.org"], &"x\n".repeat(3000));
        let mut confirmed = fs::File::options()
            .append(true)
            .create(true)
            .open(Path::new(root).join("confirmed"))
            .unwrap();
        confirmed.write_all(format!("{name}\n").as_bytes()).unwrap();
        home.deliver(&sender);
    }
}

#[test]
fn a_process_that_is_killed_while_it_sends_sends_nothing_twice() {
    let Some(server) = Smtpd::start("plain", "localhost.pem") else {
        return;
    };
    let home = Home::new();
    let root = home.root.clone();
    let begun = std::time::Instant::now();
    for round in 0..25u64 {
        let mut victim = std::process::Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "sending::victim_sends_until_it_is_killed"])
            .env(VICTIM, format!("{} {}", server.port, root.display()))
            .stdout(std::process::Stdio::null())
            .stderr(std::process::Stdio::null())
            .spawn()
            .unwrap();
        while fs::remove_file(root.join("ready")).is_err() {
            assert!(begun.elapsed() < LONG * 3, "the victim does not begin");
            std::thread::sleep(Duration::from_millis(2));
        }
        std::thread::sleep(Duration::from_millis(20 + round * 41 % 250));
        assert!(victim.try_wait().unwrap().is_none(), "the victim died by itself");
        victim.kill().unwrap();
        victim.wait().unwrap();
    }
    home.deliver(&sender(smtp("smtp", server.port)));
    let left = home.outbox.entries().unwrap();
    assert!(
        left.iter()
            .all(|entry| entry.state == State::Unsure && entry.problem().is_some()),
        "{left:?}"
    );
    let got: Vec<String> = server.got().into_iter().map(|got| got.content).collect();
    let copies = home.subjects(".Sent");
    let confirmed = fs::read_to_string(root.join("confirmed")).unwrap();
    for name in confirmed.lines() {
        let arrived = got
            .iter()
            .filter(|text| text.contains(&format!("Subject: {name}\r")))
            .count();
        let copied = copies.iter().filter(|copy| **copy == format!("{name} S")).count();
        match left.iter().any(|entry| entry.ticket.subject == name) {
            true => assert!(arrived <= 1 && copied == 0, "{name} arrived {arrived} times"),
            false => assert_eq!((arrived, copied), (1, 1), "{name}"),
        }
    }
    println!(
        "{} confirmed, {} arrived, {} wait for the person",
        confirmed.lines().count(),
        got.len(),
        left.len()
    );
    assert!(got.len() > 25);
}
