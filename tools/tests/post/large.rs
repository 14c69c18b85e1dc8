//! What is large: a mailbox of 5,000 messages, and a message with 200 attachments, from a real Dovecot to the answer that is
//! spoken, and out again through a real aiosmtpd. And servers that are gone in the middle of it.

use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    sync::{Arc, atomic::Ordering},
    time::{Duration, Instant},
};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use mail_parser::{MessageParser, MimeHeaders as _};
use serde_json::{Value, json};
use tools::{
    Ctx, Dirs, MailAccount, discover,
    system::{
        mail::{Depth, Index, Query, outbox::State},
        post::{Reading, sync},
    },
};

use crate::{
    Home, LONG, message, run, sender,
    servers::{Dovecot, Line, Smtpd},
    smtp, through, until,
};

const MAILS: usize = 5_000;
const FILES: usize = 200;

fn dirs(home: &Home) -> Dirs {
    Dirs {
        mail: home.mail(),
        state: home.state(),
        ..Dirs::under(&home.root)
    }
}

fn ctx(home: &Home) -> Ctx {
    let now = "2026-11-23T09:30:00[Europe/Berlin]".parse().unwrap();
    let index = Arc::new(discover::Index::of(tools::ALL));
    let mut ctx = Ctx::new(now, dirs(home), index, home.journal.step("test"));
    ctx.mail.recall = Duration::ZERO;
    ctx.mail.accounts = vec![MailAccount {
        name: "home".to_owned(),
        address: "ada@example.org".to_owned(),
        sender: "Ada".to_owned(),
        maildir: home.mail(),
        sends: true,
    }];
    ctx
}

#[track_caller]
fn ask(home: &Home, tool: &str, args: Value) -> (String, Value) {
    let ctx = ctx(home);
    let output = run(tools::find(tool).unwrap().run(args, &ctx)).unwrap();
    (output.say, output.data)
}

#[test]
fn a_mailbox_of_five_thousand_is_mirrored_indexed_and_searched_in_good_time() {
    let Some(server) = Dovecot::start("localhost.pem") else {
        return;
    };
    // Other clients' way is slow; the server's own folder is as good.
    let text = |n: usize| {
        let words: String = (0..60)
            .map(|w| format!("word{} ", (n * 7919 + w * 104_729) % 4973))
            .collect();
        message(&format!("m{n}"), &format!("{words}\nThe walrus is number {n}."))
    };
    server.add("INBOX", "", &text(0));
    let folder = server.files("")[0].parent().unwrap().parent().unwrap().to_owned();
    for n in 1..MAILS {
        let path = folder
            .join("new")
            .join(format!("{}.M{n}.host", 1_780_000_000 + n));
        fs::write(&path, text(n)).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o666)).unwrap();
    }
    let home = Home::new();
    let begun = Instant::now();
    home.in_step(server.tls_access());
    let first = begun.elapsed();
    assert_eq!(home.subjects("").len(), MAILS);
    let begun = Instant::now();
    assert_eq!(home.in_step(server.tls_access()).folders, []);
    println!(
        "{MAILS} messages in {first:?}, nothing new in {:?}",
        begun.elapsed()
    );
    assert!(first < LONG && begun.elapsed() < LONG);

    let dirs = dirs(&home);
    let begun = Instant::now();
    assert_eq!(Index::open(&dirs, Depth::Text, LONG).unwrap().left, 0);
    let indexed = begun.elapsed();
    assert!(indexed < Duration::from_secs(30), "{indexed:?}");
    let search = |words: &str| {
        let begun = Instant::now();
        let index = Index::open(&dirs, Depth::Text, LONG).unwrap();
        let query = Query {
            words: words.to_owned(),
            ..Query::default()
        };
        let found = index.find(&query, 10).unwrap();
        drop(index);
        (begun.elapsed(), found.count)
    };
    std::thread::sleep(Duration::from_millis(150));
    let mut warm: Vec<Duration> = (0..21)
        .map(|n| {
            let (time, count) = search(&format!("walrus {}", n * 200 + 100));
            assert_eq!(count, 1);
            time
        })
        .collect();
    // A word that is nowhere is compared with all that there are.
    let mut misheard: Vec<Duration> = (0..5)
        .map(|_| {
            let (time, count) = search("wallruss 4711");
            assert_eq!(count, 1);
            time
        })
        .collect();
    misheard.sort();
    // One more comes through the server, and is asked for at once.
    let mut fresh: Vec<Duration> = (0..5)
        .map(|n| {
            server.add(
                "INBOX",
                "",
                &message(&format!("late{n}"), &format!("An octopus{n}.")),
            );
            home.in_step(server.tls_access());
            let (time, count) = search(&format!("octopus{n}"));
            assert_eq!(count, 1);
            time
        })
        .collect();
    warm.sort();
    fresh.sort();
    println!(
        "indexed in {indexed:?}; searched in {:?} (at most {:?}), right after a new one in {:?} (at most {:?}), a misheard \
         word in {:?} (at most {:?})",
        warm[10], warm[20], fresh[2], fresh[4], misheard[2], misheard[4]
    );
    // The benchmark has the target, 50 ms, for a program that is built to be fast.
    let bound = Duration::from_millis(500);
    assert!(warm[10] < bound && fresh[2] < bound && misheard[2] < bound);

    // Only the newest are wanted: the others stay on both sides.
    let few = Reading {
        messages: 100,
        ..home.account(server.tls_access())
    };
    let report = run(sync(&few, &home.state(), &[], &|| Ok(())));
    assert!(report.ok() && report.folders.is_empty(), "{report:?}");
    assert_eq!(
        (home.subjects("").len(), server.files("").len()),
        (MAILS + 5, MAILS + 5)
    );
}

/// What is in a file of the message: bytes of all kinds, and of each another length.
fn content(n: usize) -> Vec<u8> {
    (0..200 + n * 7)
        .map(|at| ((at * 31 + n * 17) % 256) as u8)
        .collect()
}

fn packed() -> String {
    let mut text = message("plans", "x").replace("\n\nx\n", "\nMIME-Version: 1.0\n");
    text.push_str("Content-Type: multipart/mixed; boundary=b\n\n--b\nContent-Type: text/plain\n\nAll plans are attached.\n");
    for n in 0..FILES {
        let encoded = STANDARD.encode(content(n));
        text.push_str(&format!(
            "--b\nContent-Type: application/octet-stream\nContent-Transfer-Encoding: base64\n\
             Content-Disposition: attachment; filename=\"plan {n}.bin\"\n\n"
        ));
        for line in encoded.as_bytes().chunks(76) {
            text.push_str(std::str::from_utf8(line).unwrap());
            text.push('\n');
        }
    }
    text + "--b--\n"
}

#[test]
fn a_message_with_two_hundred_attachments_comes_is_told_and_goes_on_whole() {
    let (Some(server), Some(smtpd)) = (
        Dovecot::start("localhost.pem"),
        Smtpd::start("starttls", "localhost.pem"),
    ) else {
        return;
    };
    let home = Home::new();
    server.add("INBOX", "", &packed());
    home.in_step(server.tls_access());
    let begun = Instant::now();
    let (say, data) = ask(&home, "mail.read", json!({"about": "plans"}));
    assert!(
        say.contains("All plans are attached. 200 files are attached, the first: plan 0.bin, 200 bytes; plan 1.bin, 207 bytes"),
        "{say}"
    );
    assert!(say.len() < 400, "it is spoken: {say}");
    assert_eq!(data["attachment_count"], FILES);
    let (_, found) = ask(
        &home,
        "mail.search",
        json!({"words": "plan 177.bin", "attachments": true}),
    );
    assert_eq!(
        (&found["found"], &found["mails"][0]["attachments"]),
        (&json!(1), &json!(FILES))
    );
    let (say, _) = ask(
        &home,
        "mail.forward",
        json!({"to": ["bob@example.org"], "about": "plans"}),
    );
    assert!(
        say.starts_with("The mail to bob@example.org about Fwd: plans"),
        "{say}"
    );
    assert!(begun.elapsed() < LONG, "{:?}", begun.elapsed());

    assert_eq!(
        home.deliver(&sender(smtp("smtp", smtpd.port))),
        State::Sent,
        "{:?}",
        home.outbox.entries()
    );
    let got = smtpd.got();
    assert_eq!(got.len(), 1);
    let parsed = MessageParser::default().parse(got[0].content.as_bytes()).unwrap();
    let files: Vec<_> = parsed
        .attachments()
        .map(|part| {
            (
                part.attachment_name().unwrap().to_owned(),
                part.contents().to_vec(),
            )
        })
        .collect();
    assert_eq!(files.len(), FILES);
    for (n, (name, bytes)) in files.iter().enumerate() {
        assert_eq!(*name, format!("plan {n}.bin"));
        assert!(*bytes == content(n), "{name}");
    }
}

#[test]
fn a_server_that_dies_while_it_sends_the_mailbox_costs_time_and_no_mail() {
    let Some(mut server) = Dovecot::start("localhost.pem") else {
        return;
    };
    for n in 0..20 {
        server.add("INBOX", "", &message(&format!("m{n}"), &"y\n".repeat(200_000)));
    }
    let home = Home::new();
    let line = Line::to(server.tls);
    let through = through(&line);
    // The line is slow enough for the server to be in the middle when it dies.
    line.pace.store(1_000, Ordering::SeqCst);
    let begun = line.down.clone();
    begun.store(u64::MAX - 1, Ordering::SeqCst);
    let account = home.account(through.clone());
    let state = home.state();
    let syncing = std::thread::spawn(move || run(sync(&account, &state, &[], &|| Ok(()))));
    until("something comes", || {
        u64::MAX - begun.load(Ordering::SeqCst) >= 300_000
    });
    server.kill();
    let report = syncing.join().unwrap();
    let whole = home.subjects("").len();
    println!(
        "{whole} of 20 had come when the server was killed: {:?}",
        report.error
    );
    assert!(!report.ok() && report.offline, "{report:?}");
    assert!(whole < 20);
    assert!(home.subjects("").iter().all(|subject| subject.starts_with('m')));
    server.up();
    line.pace.store(0, Ordering::SeqCst);
    line.down.store(u64::MAX, Ordering::SeqCst);
    home.in_step(through);
    assert_eq!(home.subjects("").len(), 20);
    assert_eq!(home.in_step(server.tls_access()).folders, []);
}

#[test]
fn a_server_that_dies_while_it_is_given_a_mail_leaves_it_in_the_outbox() {
    let Some(mut server) = Smtpd::start("starttls", "localhost.pem") else {
        return;
    };
    let home = Home::new();
    // More than the buffers on the way hold, so that its end has not left us.
    let body = format!("{}\n", "x".repeat(70)).repeat(340_000);
    home.queue("large", &["bob@example.org"], &body);
    let line = Line::to(server.port);
    line.pace.store(1_000, Ordering::SeqCst);
    line.up.store(u64::MAX - 1, Ordering::SeqCst);
    let sent = line.up.clone();
    let through = sender(smtp("smtp", line.port));
    std::thread::scope(|scope| {
        let delivering = scope.spawn(|| home.deliver(&through));
        until("something is sent", || {
            u64::MAX - sent.load(Ordering::SeqCst) >= 200_000
        });
        server.kill();
        assert_eq!(
            delivering.join().unwrap(),
            State::Queued,
            "{:?}",
            home.outbox.entries()
        );
    });
    assert!(home.why().contains("half-way"), "{}", home.why());
    assert!(server.got().is_empty());
    let Some(other) = Smtpd::start("starttls", "localhost.pem") else {
        return;
    };
    assert_eq!(home.deliver(&sender(smtp("smtp", other.port))), State::Sent);
    assert_eq!(other.got().len(), 1);
}
