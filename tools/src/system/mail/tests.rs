//! Mail as it really is: messages of the evaluation data, broken ones, bombs, and an index over many.

mod accounts;
mod stated;
mod writers;

use std::{
    fs,
    path::Path,
    time::{Duration, Instant},
};

use proptest::prelude::*;

use super::*;
use crate::{
    system::plain,
    testing::{ctx, data, deliver, files},
};

const NOON: i64 = 1_790_000_000;

#[track_caller]
fn head(header: &str, from: &str, subject: &str, date: i64) {
    let head = Head::read(header.as_bytes(), NOON).unwrap();
    assert_eq!(
        (head.from.shown(), head.subject.as_str(), head.date.as_second()),
        (from, subject, date),
        "{header:?}"
    );
}

#[test]
fn headers_say_who_what_and_when() {
    head(
        "From: Anna Bell <anna@example.org>\nSubject: =?utf-8?q?Caf=C3=A9?= at\n noon\nDate: Mon, 1 Jun 2026 10:00:00 +0200\n\nbody",
        "Anna Bell",
        "Café at noon",
        1_780_300_800,
    );
    head(
        "From: bob@example.org\nSubject: Hi\n\n",
        "bob@example.org",
        "Hi",
        NOON,
    );
    head("Subject: only that\n\n", "somebody unknown", "only that", NOON);
}

#[test]
fn names_that_nobody_encoded_are_read_and_the_first_sender_counts() {
    let header = b"From: \"J\xfcrgen\" <j@x.org>\r\nSubject: Fr\xf6sche\r\nTo: \xc3\x9cnal <u@x.org>\r\nFrom: Eve <eve@x.org>\r\n\r\nbody \xe4";
    let head = Head::read(header, NOON).unwrap();
    assert_eq!(
        (head.from.name.as_str(), head.subject.as_str()),
        ("Jürgen", "Frösche")
    );
    assert_eq!(head.to[0].name, "Ünal", "a line that is UTF-8 stays so");
    let letter = Letter::read(header, NOON).unwrap();
    assert_eq!(letter.head.from, head.from);
    assert!(letter.text.starts_with("body "), "{}", letter.text);
}

#[test]
fn impossible_dates_give_way_to_the_arrival() {
    for date in [
        "Fri, 1 Jan 2038 00:00:00 +0000",
        "Thu, 99 Foo 9999 99:99:99",
        "nonsense",
        "1 Jan 1901 00:00:00 +0000",
    ] {
        head(
            &format!("From: a@b\nSubject: s\nDate: {date}\n\n"),
            "a@b",
            "s",
            NOON,
        );
    }
}

#[test]
fn hostile_headers_are_cleaned_and_capped() {
    head(
        "From: \"A\u{202e}nna\u{7}\" <a@b>\nSubject: x\u{202e}y\n\n",
        "Anna",
        "xy",
        NOON,
    );
    let long = format!("From: a@b\nSubject: {}\n\n", "x".repeat(50_000));
    assert_eq!(
        Head::read(long.as_bytes(), 0).unwrap().subject.chars().count(),
        MAX_TEXT + 1
    );
    assert_eq!(Head::read(b"", 0), None);
    assert_eq!(Head::read(&[0xff; 5000], 0), None);
    let many: String = (0..5000).map(|n| format!("<{n}@x> ")).collect();
    let head = Head::read(
        format!("From: a@b\nReferences: {many}\nIn-Reply-To: <4999@x>\n\n").as_bytes(),
        0,
    )
    .unwrap();
    assert_eq!(head.references.len(), 50);
    assert_eq!(
        (head.references[0].as_str(), head.references[49].as_str()),
        ("0@x", "4999@x")
    );
}

#[test]
fn every_encoding_becomes_text() {
    #[track_caller]
    fn check(fields: &str, body: &[u8], expect: &str) {
        let message = [
            b"From: a@b\nMIME-Version: 1.0\n",
            fields.as_bytes(),
            b"\n\n",
            body,
        ]
        .concat();
        let letter = Letter::read(&message, NOON).unwrap();
        assert_eq!(letter.text.trim(), expect, "{fields}");
    }
    check(
        "Content-Type: text/plain; charset=iso-8859-1",
        b"Gr\xfc\xdfe",
        "Grüße",
    );
    check(
        "Content-Type: text/plain; charset=windows-1252",
        b"\x93hi\x94",
        "“hi”",
    );
    check(
        "Content-Type: text/plain; charset=shift_jis",
        b"\x93\xfa\x96\x7b",
        "日本",
    );
    check(
        "Content-Type: text/plain; charset=utf-8\nContent-Transfer-Encoding: quoted-printable",
        b"Caf=C3=A9 =\nau lait",
        "Café au lait",
    );
    check(
        "Content-Type: text/plain; charset=utf-8\nContent-Transfer-Encoding: base64",
        b"R3LDvMOfZQ==",
        "Grüße",
    );
    check(
        "Content-Type: text/html; charset=utf-8",
        "<b>Grüße</b>&nbsp;&euro;5".as_bytes(),
        "Grüße €5",
    );
    check(
        "Content-Type: text/plain; charset=x-nobody-knows",
        b"plain",
        "plain",
    );
    check(
        "Content-Type: multipart/alternative; boundary=b",
        b"--b\nContent-Type: text/plain\n\nplain\n--b\nContent-Type: text/html\n\n<b>rich</b>\n--b--\n",
        "plain",
    );
    check(
        "Content-Type: multipart/mixed; boundary=b",
        b"--b\nContent-Type: message/rfc822\n\nFrom: c@d\nSubject: x\n\nforwarded\n--b--\n",
        "forwarded",
    );
}

#[test]
fn bombs_are_refused_before_they_go_off() {
    #[track_caller]
    fn check(message: &[u8], expect: Refused) {
        let begun = Instant::now();
        assert_eq!(Letter::read(message, NOON).unwrap_err(), expect);
        assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
    }
    let nested = "Content-Type: message/rfc822\n\n".repeat(100_000);
    check(format!("From: a@b\n{nested}").as_bytes(), Refused::TooManyParts);
    let boxes: String = (0..5_000)
        .map(|n| format!("Content-Type: multipart/mixed; boundary=b{n}\n\n--b{n}\n"))
        .collect();
    check(format!("From: a@b\n{boxes}").as_bytes(), Refused::TooManyParts);
    let parts = format!(
        "From: a@b\nContent-Type: multipart/mixed; boundary=b\n\n{}",
        "--b\n\n".repeat(100_000)
    );
    check(parts.as_bytes(), Refused::TooManyParts);
    check(&vec![b'x'; MAX_MESSAGE as usize + 1], Refused::TooLarge);
    check(b"", Refused::NoMail);
    check(&[0; 10_000], Refused::NoMail);
}

/// What costs a little more than it should for each byte would stop all other mail.
#[test]
fn large_and_hostile_messages_take_no_long_time() {
    #[track_caller]
    fn check(what: &str, message: &[u8]) {
        let begun = Instant::now();
        let letter = Letter::read(message, NOON);
        let said = letter.map(|letter| aloud(&fold(&letter.text).text).len());
        let took = begun.elapsed();
        println!("{what}, {} KB: {said:?} in {took:.1?}", message.len() / 1024);
        assert!(took < Duration::from_secs(20), "{what}: {took:?}");
    }
    let header = |field: &str, times: usize| format!("From: a@b\n{}\n\nbody\n", field.repeat(times));
    check(
        "one long field",
        header(&format!("Subject: {}\n", "x".repeat(1 << 20)), 8).as_bytes(),
    );
    check("many fields", header("X-A: b\n", 1 << 19).as_bytes());
    check(
        "a folded field",
        format!("From: a@b\nSubject: {}\n\n", "x\n ".repeat(1 << 19)).as_bytes(),
    );
    check(
        "many recipients",
        format!("From: a@b\nTo: {}\n\n", "A B <c@d>, ".repeat(1 << 18)).as_bytes(),
    );
    check(
        "comments in comments",
        format!("From: {}\n\n", "(".repeat(1 << 20)).as_bytes(),
    );
    check(
        "open quotations",
        format!("From: {}\n\n", "\"a ".repeat(1 << 18)).as_bytes(),
    );
    check(
        "encoded words",
        format!(
            "From: a@b\nSubject: {}\n\n",
            "=?utf-8?q?=C3=A9?= ".repeat(1 << 17)
        )
        .as_bytes(),
    );
    check(
        "half encoded words",
        format!("From: a@b\nSubject: {}\n\n", "=?utf-8?q?".repeat(1 << 17)).as_bytes(),
    );
    check(
        "many parameters",
        format!(
            "From: a@b\nContent-Type: text/plain{}\n\n",
            "; a*0*=b".repeat(1 << 17)
        )
        .as_bytes(),
    );
    check(
        "no lines",
        &[b"From: a@b\n\n".as_slice(), &vec![b'y'; 4 << 20]].concat(),
    );
    check(
        "only lines",
        &[b"From: a@b\n\n".as_slice(), &vec![b'\n'; 4 << 20]].concat(),
    );
    check(
        "only quotations",
        format!("From: a@b\n\n{}", "> > >\n".repeat(1 << 20)).as_bytes(),
    );
    for piece in [
        "<!--",
        "<",
        "<div>",
        "<p style='display:none'>",
        "</div>",
        "<blockquote>",
        "&amp",
        "&#x",
        "<a href=\"",
        "<!-- -->",
        "<td><tr><table>",
        "<style>",
        "<br><img>",
        "\u{e000}<",
        "<div style=\"font-size:0",
    ] {
        let html = piece.repeat((1 << 20) / piece.len());
        check(
            piece,
            format!("From: a@b\nContent-Type: text/html\n\n{html}").as_bytes(),
        );
    }
    for (how, piece) in [
        ("quoted-printable", "=\n"),
        ("base64", "AAAA"),
        ("x-uuencode", "begin 644 a\nM\n"),
    ] {
        let fields = format!("From: a@b\nContent-Type: text/plain\nContent-Transfer-Encoding: {how}\n\n");
        check(how, (fields + &piece.repeat((8 << 20) / piece.len())).as_bytes());
    }
    let dashes = format!(
        "From: a@b\nContent-Type: multipart/mixed; boundary=\"-\"\n\n{}",
        "-".repeat(4 << 20)
    );
    check("dashes", dashes.as_bytes());
}

/// Real messages of before MIME, with their files in the text; and parts whose bytes are written in that way.
#[test]
fn files_that_stand_in_the_text_are_attached_and_passed_on() {
    let Some(folder) = data("mail") else {
        return;
    };
    let all = files(&folder);
    for (message, expect, begins) in [
        (
            "m0018.txt",
            &["blueball.png", "greenball.png", "redball.png"][..],
            &b"\x89PNG"[..],
        ),
        (
            "m1014.txt",
            &["redball.png", "greenball.png", "blueball.png"],
            b"\x89PNG",
        ),
        ("uu-zeegee.msg", &["up.gif", "zeegee.gif"], b"GIF8"),
        ("sig-uu.msg", &[".signature", "a file without a name"], b""),
    ] {
        let (_, bytes) = all
            .iter()
            .find(|(path, _)| path.to_string_lossy().ends_with(&format!("-{message}")))
            .unwrap();
        let letter = Letter::read(bytes, NOON).unwrap();
        let held = message::contents(bytes).unwrap();
        let names: Vec<&str> = held.iter().map(|(file, _)| file.name.as_str()).collect();
        assert_eq!(names, expect, "{message}");
        let attached: Vec<&Attachment> = held.iter().map(|(file, _)| file).collect();
        assert_eq!(
            attached,
            letter.attachments.iter().collect::<Vec<_>>(),
            "{message}"
        );
        assert!(!letter.text.contains("begin 6"), "{message}: {}", letter.text);
        for (file, bytes) in &held {
            assert!(
                bytes.starts_with(begins) && bytes.len() == file.size && file.size > 20,
                "{message}"
            );
        }
    }
    // The picture is the same whichever program wrote it down.
    let ball = |message: &str| {
        let (_, bytes) = all
            .iter()
            .find(|(path, _)| path.to_string_lossy().ends_with(message))
            .unwrap();
        let held = message::contents(bytes).unwrap();
        held.into_iter()
            .find(|(file, _)| file.name == "redball.png")
            .unwrap()
            .1
    };
    assert!(ball("-m0018.txt") == ball("-m0020.txt") && ball("-m1014.txt") == ball("-m0020.txt"));
}

#[test]
fn as_deep_as_is_allowed_is_read() {
    let nested = "Content-Type: message/rfc822\n\n".repeat(400);
    let message = format!("From: a@b\n{nested}Subject: deepest\n\nbottom");
    assert!(Letter::read(message.as_bytes(), NOON).is_ok());
}

#[test]
fn attachments_have_harmless_names() {
    let message = "From: a@b\nContent-Type: multipart/mixed; boundary=b\n\n\
        --b\nContent-Type: application/pdf; name=\"../../etc/pass\u{202e}wd\"\nContent-Disposition: attachment\n\nabc\n\
        --b\nContent-Type: image/png\nContent-Disposition: attachment\n\nabcd\n\
        --b\nContent-Type: message/rfc822\n\nFrom: c@d\nSubject: Old\n\ntext\n--b--\n";
    let letter = Letter::read(message.as_bytes(), NOON).unwrap();
    let named: Vec<_> = letter
        .attachments
        .iter()
        .map(|a| (a.name.as_str(), a.kind.as_str(), a.size))
        .collect();
    assert_eq!(named[0], ("passwd", "application/pdf", 3));
    assert_eq!(named[1], ("a picture", "image/png", 4));
    assert_eq!(named[2].0, "the mail \"Old\"");
}

#[test]
fn real_messages_are_read_or_refused() {
    let Some(folder) = data("mail") else {
        return;
    };
    let (mut read, mut all, mut empty) = (0, 0, 0);
    for (path, bytes) in files(&folder) {
        all += 1;
        match Letter::read(&bytes, NOON) {
            Ok(letter) => {
                read += 1;
                empty += usize::from(letter.text.trim().is_empty() && letter.attachments.is_empty());
                for text in [&letter.head.from.name, &letter.head.subject] {
                    assert_eq!(*text, plain::one_line(text, MAX_TEXT + 1), "{path:?}");
                }
                let said = aloud(&fold(&letter.text).text);
                assert!(!said.contains(['\n', '\u{202e}', '\0']), "{path:?}");
            }
            Err(why) => {
                println!("{}: {why}", path.display());
                let name = path.file_name().unwrap().to_str().unwrap();
                assert!(stated::NO_MAIL.contains(&name), "{name} is a message: {why}");
            }
        }
    }
    println!("{read} of {all} messages are read, {empty} of them have neither text nor attachments");
    assert_eq!(all - read, stated::NO_MAIL.len(), "what is no mail is refused");
}

/// Where the source has the text of an attachment in a file of its own, the attachment is that text.
#[test]
fn attachments_hold_what_the_source_says() {
    let Some(folder) = data("mail/zbateson") else {
        return;
    };
    let all = files(&folder);
    let named = |end: &str| -> Vec<u8> {
        let mut fits = all
            .iter()
            .filter(|(path, _)| path.to_string_lossy().ends_with(end));
        fits.next().unwrap().1.clone()
    };
    let words = |bytes: &[u8]| -> Vec<u8> {
        bytes
            .iter()
            .copied()
            .filter(|b| !b.is_ascii_whitespace())
            .collect()
    };
    for (message, story) in [
        ("m1016.txt", "farmerandstork.txt"),
        ("m2012.txt", "farmerandstork.txt"),
        ("m0022.txt", "aaa.txt"),
    ] {
        let files = message::contents(&named(message)).unwrap();
        let (_, bytes) = files.iter().find(|(file, _)| file.name == story).unwrap();
        assert!(words(bytes) == words(&named(story)), "{message}");
    }
}

#[test]
fn mutated_messages_are_survived() {
    let Some(folder) = data("mail") else {
        return;
    };
    let mut random = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = move |below: usize| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        (random % below.max(1) as u64) as usize
    };
    let all = files(&folder);
    let mut read = 0;
    for (_, bytes) in all.iter().filter(|(_, bytes)| bytes.len() < 40_000) {
        for _ in 0..20 {
            let mut bytes = bytes.clone();
            for _ in 0..=next(12) {
                let at = next(bytes.len());
                match next(5) {
                    0 => bytes.truncate(at),
                    1 if at < bytes.len() => bytes[at] = next(256) as u8,
                    2 => {
                        let (_, other) = &all[next(all.len())];
                        let from = next(other.len());
                        let piece = other[from..other.len().min(from + next(400))].to_vec();
                        bytes.splice(at..at, piece);
                    }
                    3 => {
                        let to = (at + next(200)).min(bytes.len());
                        bytes.drain(at..to);
                    }
                    _ => {
                        let piece = bytes[at..bytes.len().min(at + 300)].to_vec();
                        bytes.extend(piece);
                    }
                }
            }
            read += usize::from(Letter::read(&bytes, NOON).is_ok());
        }
    }
    assert!(read > 1000, "{read} mutated messages were read");
}

proptest! {
    #[test]
    fn any_bytes_are_survived(bytes in proptest::collection::vec(any::<u8>(), 0..600)) {
        let _ = Letter::read(&bytes, NOON);
        let _ = Letter::read(&[b"From: ".as_slice(), &bytes, b"\nDate: ", &bytes].concat(), NOON);
        let html = [b"From: a@b\nContent-Type: text/html\n\n".as_slice(), &bytes].concat();
        if let Ok(letter) = Letter::read(&html, NOON) {
            aloud(&fold(&letter.text).text);
        }
    }
}

fn found(root: &Path, words: &str) -> Vec<String> {
    let index = Index::open(&ctx(root).dirs, Depth::Text, PATIENCE).unwrap();
    let query = Query {
        words: words.to_owned(),
        ..Query::default()
    };
    index
        .find(&query, 50)
        .unwrap()
        .entries
        .into_iter()
        .map(|entry| entry.subject)
        .collect()
}

const DATE: &str = "Mon, 23 Nov 2026 05:00:00 +0000";

#[test]
fn conversations_hang_together_by_references_or_by_subject() {
    let home = tempfile::tempdir().unwrap();
    let put = |file: &str, from: &str, fields: &str| deliver(home.path(), file, from, fields, DATE, "x");
    put(
        "cur/1.a:2,S",
        "anna@x.org",
        "Trip\nMessage-ID: <1@x>\nTo: me@x.org",
    );
    put(
        ".Sent/cur/2.a:2,S",
        "me@x.org",
        "Re: Trip\nMessage-ID: <2@x>\nIn-Reply-To: <1@x>\nTo: anna@x.org",
    );
    put(
        "cur/3.a:2,S",
        "anna@x.org",
        "New words\nMessage-ID: <3@x>\nReferences: <1@x> <2@x>\nTo: me@x.org",
    );
    put(
        "cur/4.a:2,S",
        "eve@x.org",
        "Trip\nMessage-ID: <4@x>\nTo: other@x.org",
    );
    put("cur/5.a:2,S", "bob@x.org", "Plan\nTo: me@x.org");
    put("cur/6.a:2,S", "me@x.org", "RE: plan\nTo: bob@x.org");
    put("cur/7.a:2,S", "news@x.org", "Weekly\nTo: me@x.org");
    put("cur/8.a:2,S", "news@x.org", "Weekly\nTo: me@x.org");
    let index = Index::open(&ctx(home.path()).dirs, Depth::Headers, PATIENCE).unwrap();
    for (base, expect) in [
        ("1.a", vec!["1.a", "2.a", "3.a"]),
        ("3.a", vec!["1.a", "2.a", "3.a"]),
        ("4.a", vec!["4.a"]),
        ("5.a", vec!["5.a", "6.a"]),
        ("7.a", vec!["7.a"]),
    ] {
        let entry = index.by_base(base).unwrap();
        let mut thread: Vec<String> = index
            .conversation(&entry)
            .unwrap()
            .into_iter()
            .map(|e| e.base)
            .collect();
        thread.sort();
        assert_eq!(thread, expect, "{base}");
    }
}

#[test]
fn a_mail_that_another_program_moved_is_left_alone() {
    let home = tempfile::tempdir().unwrap();
    deliver(home.path(), "cur/1.a:2,", "anna@x.org", "One", DATE, "x");
    let ctx = ctx(home.path());
    let index = Index::open(&ctx.dirs, Depth::Headers, PATIENCE).unwrap();
    let entry = index.by_base("1.a").unwrap();
    let (here, there) = (entry.path.clone(), entry.path.with_file_name("1.a:2,F"));
    fs::rename(&here, &there).unwrap();
    assert_eq!(
        mark(&ctx.step, &entry, true).unwrap_err().to_string(),
        "I did not mark the mail: another program moved it meanwhile. Try again."
    );
    fs::rename(&there, &here).unwrap();
    let step = ctx.step.journal().step("mail.archive");
    move_to(&step, &index.folders(), &entry, Role::Archive).unwrap();
    step.did("Archived One.", false);
    drop(step);
    let archive = ctx.dirs.mail.join(".Archive/cur");
    fs::rename(archive.join("1.a:2,"), archive.join("1.a:2,S")).unwrap();
    let error = ctx.step.journal().undo(None).unwrap_err().to_string();
    assert!(
        error.starts_with("I did not undo \"Archived One.\": the mail was changed since"),
        "{error}"
    );
    assert!(archive.join("1.a:2,S").is_file());
}

#[test]
fn an_index_that_is_broken_or_of_another_version_is_made_anew() {
    let home = tempfile::tempdir().unwrap();
    deliver(home.path(), "cur/1.a:2,S", "anna@x.org", "Trip", DATE, "walrus");
    assert_eq!(found(home.path(), "walrus"), ["Trip"]);
    let file = home.path().join("state/mail.db");
    use std::os::unix::fs::PermissionsExt as _;
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    fs::write(&file, vec![7; 20_000]).unwrap();
    assert_eq!(found(home.path(), "walrus"), ["Trip"]);
    let old = rusqlite::Connection::open(&file).unwrap();
    old.pragma_update(None, "user_version", 99).unwrap();
    drop(old);
    assert_eq!(found(home.path(), "walrus"), ["Trip"]);
    let kept = rusqlite::Connection::open(&file).unwrap();
    let version: i64 = kept
        .pragma_query_value(None, "user_version", |row| row.get(0))
        .unwrap();
    assert_eq!(version, 2);
    // Where nothing can be kept mail is read all the same.
    fs::remove_dir_all(home.path().join("state")).unwrap();
    fs::write(home.path().join("state"), "no folder").unwrap();
    assert_eq!(found(home.path(), "walrus"), ["Trip"]);
}

/// Pages in the middle that the header does not know of: what was indexed is lost, and is read again.
#[test]
fn an_index_of_which_pages_are_spoilt_is_made_anew() {
    let home = tempfile::tempdir().unwrap();
    for n in 0..300 {
        let body = format!(
            "walrus {}",
            (0..40).map(|w| format!("w{n}x{w} ")).collect::<String>()
        );
        deliver(
            home.path(),
            &format!("cur/{n}.a:2,S"),
            "anna@x.org",
            "Trip",
            DATE,
            &body,
        );
    }
    assert_eq!(found(home.path(), "walrus").len(), 50);
    let file = home.path().join("state/mail.db");
    rusqlite::Connection::open(&file)
        .unwrap()
        .pragma_update(None, "wal_checkpoint", "TRUNCATE")
        .unwrap();
    let mut bytes = fs::read(&file).unwrap();
    assert!(bytes.len() > 100_000, "{}", bytes.len());
    bytes[8192..].fill(7);
    fs::write(&file, &bytes).unwrap();
    let dirs = ctx(home.path()).dirs;
    let query = Query {
        words: "walrus".to_owned(),
        ..Query::default()
    };
    // The first question may be the one that notices.
    let asked = || Index::open(&dirs, Depth::Text, PATIENCE)?.find(&query, 5);
    let first = asked();
    let found = first.or_else(|_| asked()).unwrap();
    assert_eq!(found.count, 300);
}

/// What comes, moves and goes while the rest of the mailbox has long been known.
#[test]
fn new_mail_is_seen_in_whatever_part_of_a_folder_it_comes_to() {
    let home = tempfile::tempdir().unwrap();
    let mail = home.path().join("mail");
    let settle = || std::thread::sleep(Duration::from_millis(150));
    let put = |file: &str, subject: &str| deliver(home.path(), file, "anna@x.org", subject, DATE, "walrus");
    let seen = || {
        let index = Index::open(&ctx(home.path()).dirs, Depth::Text, PATIENCE).unwrap();
        let query = Query {
            words: "walrus".to_owned(),
            ..Query::default()
        };
        let mut all: Vec<String> = (index.find(&query, 50).unwrap().entries.iter())
            .map(|entry| format!("{}{}", entry.subject, if entry.unread { " unread" } else { "" }))
            .collect();
        all.sort();
        all
    };
    put("cur/1.a:2,S", "One");
    fs::create_dir_all(mail.join("new")).unwrap();
    for settled in [true, false] {
        let pause = || {
            if settled {
                settle();
            }
        };
        pause();
        assert_eq!(seen(), ["One"]);
        pause();
        put("new/2.a", "Two");
        assert_eq!(seen(), ["One", "Two unread"]);
        pause();
        put("new/3.a", "Three");
        assert_eq!(seen(), ["One", "Three unread", "Two unread"]);
        pause();
        fs::rename(mail.join("new/2.a"), mail.join("cur/2.a:2,S")).unwrap();
        assert_eq!(seen(), ["One", "Three unread", "Two"]);
        pause();
        // Only what is in `new` goes, and only what is in `cur` comes.
        fs::remove_file(mail.join("new/3.a")).unwrap();
        assert_eq!(seen(), ["One", "Two"]);
        pause();
        put("cur/4.a:2,", "Four");
        assert_eq!(seen(), ["Four unread", "One", "Two"]);
        pause();
        fs::remove_file(mail.join("cur/4.a:2,")).unwrap();
        fs::rename(mail.join("cur/2.a:2,S"), mail.join("cur/2.a:2,FRS")).unwrap();
        assert_eq!(seen(), ["One", "Two"]);
        pause();
        fs::remove_file(mail.join("cur/2.a:2,FRS")).unwrap();
    }
}

#[test]
fn folders_that_go_take_their_mail_with_them() {
    let home = tempfile::tempdir().unwrap();
    deliver(home.path(), "cur/1.a:2,S", "anna@x.org", "One", DATE, "walrus");
    deliver(
        home.path(),
        "accounts/office/cur/2.a:2,S",
        "anna@x.org",
        "Two",
        DATE,
        "walrus",
    );
    deliver(
        home.path(),
        "accounts/office/.Old/cur/3.a:2,S",
        "anna@x.org",
        "Three",
        DATE,
        "walrus",
    );
    let mut all = found(home.path(), "walrus");
    all.sort();
    assert_eq!(all, ["One", "Three", "Two"]);
    fs::remove_dir_all(home.path().join("mail/accounts/office")).unwrap();
    assert_eq!(found(home.path(), "walrus"), ["One"]);
}

#[test]
fn what_time_does_not_suffice_for_is_read_by_the_next_question() {
    let home = tempfile::tempdir().unwrap();
    for n in 0..220 {
        deliver(
            home.path(),
            &format!("cur/{}.a:2,S", 1000 + n),
            "anna@x.org",
            &format!("Mail {n}"),
            DATE,
            "walrus",
        );
    }
    let dirs = ctx(home.path()).dirs;
    let mut left = Vec::new();
    for _ in 0..600 {
        let index = Index::open(&dirs, Depth::Text, Duration::ZERO).unwrap();
        left.push(index.left);
        if index.left == 0 {
            break;
        }
    }
    assert_eq!(left.last(), Some(&0), "{left:?}");
    assert!(left.len() > 3, "{left:?}");
    let index = Index::open(&dirs, Depth::Text, Duration::ZERO).unwrap();
    let query = Query {
        words: "walrus".to_owned(),
        ..Query::default()
    };
    assert_eq!(index.find(&query, 5).unwrap().count, 220);
}

#[test]
fn files_that_are_no_mail_are_passed_over() {
    let home = tempfile::tempdir().unwrap();
    deliver(home.path(), "cur/1.a:2,S", "anna@x.org", "One", DATE, "walrus");
    let cur = home.path().join("mail/cur");
    fs::write(cur.join("2.a:2,S"), [0xff; 400]).unwrap();
    fs::write(cur.join(".hidden"), "From: a@b\nSubject: walrus\n\n").unwrap();
    fs::create_dir(cur.join("folder")).unwrap();
    std::os::unix::fs::symlink("/dev/zero", cur.join("3.a:2,S")).unwrap();
    rustix::fs::mknodat(
        rustix::fs::CWD,
        cur.join("4.a:2,S"),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RUSR,
        0,
    )
    .unwrap();
    assert_eq!(found(home.path(), "walrus"), ["One"]);
}
