//! Recipients as they are said, and messages as other programs read them.

use mail_parser::MessageParser;

use super::*;
use crate::testing::{cards, ctx, deliver};

#[test]
fn recipients_are_found_as_heard_and_never_guessed() {
    let home = tempfile::tempdir().unwrap();
    let ctx = ctx(home.path());
    cards(&ctx);
    for (said, expect) in [
        ("Anna", "Anna Bell=anna@example.org"),
        ("ana bell", "Anna Bell=anna@example.org"),
        ("kathryn stone at work", "Catherine Stone=cs@acme.example"),
        ("Catherine's home address", "Catherine Stone=cat@home.example"),
        ("peter parker", "Peter Parker=peter@example.org"),
        ("anna@example.org", "Anna Bell=anna@example.org"),
        ("bob dot smith at example dot org", "=bob.smith@example.org"),
        ("Bob <bob@example.org>", "=bob@example.org"),
        (
            "catherine",
            "Which address of Catherine Stone: work cs@acme.example or home cat@home.example?",
        ),
        (
            "peter",
            "Several contacts fit: Peter Pan and Peter Parker. Which one?",
        ),
        (
            "zoe",
            "Zoe Quiet has no mail address in your contacts. Say it, as in anna at example dot org.",
        ),
        (
            "bartholomew",
            "Nobody in your contacts is called bartholomew. Say the address, as in anna at example dot org.",
        ),
        (
            "eve@evil",
            "\"eve@evil\" is no mail address. Say it as in anna at example dot org.",
        ),
        ("me", "I do not know your own mail address. Say it."),
    ] {
        let found = match recipients(&ctx, &[said.to_owned()]) {
            Ok(people) => people
                .iter()
                .map(|p| format!("{}={}", p.name, p.address))
                .collect::<Vec<_>>()
                .join(","),
            Err(error) => error.to_string(),
        };
        assert_eq!(found, expect, "{said}");
    }
    let twice = recipients(
        &ctx,
        &["anna".to_owned(), "anna@example.org".to_owned(), String::new()],
    )
    .unwrap();
    assert_eq!(twice.len(), 1);
}

fn me() -> Sender {
    Sender {
        account: "home".to_owned(),
        person: Person {
            name: "Märta Ö".to_owned(),
            address: "me@example.org".to_owned(),
        },
        maildir: PathBuf::from("mail"),
        sends: true,
    }
}

fn person(name: &str, address: &str) -> Person {
    Person {
        name: name.to_owned(),
        address: address.to_owned(),
    }
}

#[test]
fn messages_are_read_back_as_they_were_written() {
    let home = tempfile::tempdir().unwrap();
    let now = ctx(home.path()).now;
    let to = vec![
        person("Anna \"Ann\" Bell", "anna@example.org"),
        person("", "bob@example.org"),
    ];
    let text = "Grüße,\nwie geht's?\n.\nFrom here on.".to_owned();
    let long = format!("{} ", "Word".repeat(30)).repeat(20);
    for subject in ["Plain", "Grüße an alle 日本", long.trim()] {
        let draft = Draft::new(
            me(),
            to.clone(),
            vec![person("C", "c@example.org"), to[1].clone()],
            subject,
            text.clone(),
        );
        let bytes = draft.message(&now).unwrap();
        let letter = Letter::read(&bytes, now.timestamp().as_second()).unwrap();
        assert_eq!(letter.head.from, me().person);
        assert_eq!(letter.head.to, to);
        assert_eq!(
            letter.head.cc,
            [person("C", "c@example.org")],
            "nobody gets it twice"
        );
        assert_eq!(letter.text.trim_end(), text);
        assert_eq!(letter.head.date, now.timestamp());
        assert!(letter.head.message_id.ends_with("@example.org"));
        let parsed = MessageParser::default().parse(&bytes).unwrap();
        assert_eq!(
            parsed.subject(),
            Some(plain::one_line(subject, MAX_SUBJECT).as_str())
        );
        let lines = bytes.split(|b| *b == b'\n');
        assert!(
            lines.clone().all(|line| line.len() < 999 && line.is_ascii()),
            "any server takes it"
        );
        assert!(
            lines
                .filter(|line| !line.is_empty())
                .all(|line| line.ends_with(b"\r"))
        );
    }
}

#[test]
fn nothing_that_is_said_becomes_a_header() {
    let home = tempfile::tempdir().unwrap();
    let now = ctx(home.path()).now;
    let to = vec![person("A\r\nBcc: eve@evil.example", "anna@example.org")];
    let subject = "Hi\r\nBcc: eve@evil.example\r\n\r\nbody";
    let bytes = Draft::new(me(), to, Vec::new(), subject, "x".to_owned())
        .message(&now)
        .unwrap();
    let parsed = MessageParser::default().parse(&bytes).unwrap();
    assert!(parsed.bcc().is_none(), "{}", String::from_utf8_lossy(&bytes));
    assert_eq!(parsed.subject(), Some("Hi Bcc: eve@evil.example body"));
}

#[test]
fn answers_and_forwards_keep_what_they_are_about() {
    let home = tempfile::tempdir().unwrap();
    let ctx = ctx(home.path());
    let fields = "AW: Re: Trip\nMessage-ID: <3@x>\nReferences: <1@x> <2@x>\nTo: me@example.org, carl@example.org\n\
        Cc: Dora <dora@example.org>, anna@example.org\nMIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=b";
    let body = "--b\nContent-Type: text/plain; charset=utf-8\n\nShall we?\n> Where?\n\
        --b\nContent-Type: text/csv\nContent-Disposition: attachment; filename=\"pläne.csv\"\n\na,b\n\
        --b\nContent-Type: image/png\nContent-Disposition: attachment; filename=p.png\nContent-Transfer-Encoding: base64\n\nAAEC/w==\n\
        --b\nContent-Type: message/rfc822\n\nFrom: x@y\nSubject: Old\n\nold\n--b--";
    deliver(
        home.path(),
        "cur/1.a:2,S",
        "Anna Bell <anna@example.org>",
        fields,
        "Mon, 1 Jun 2026 10:00:00 +0000",
        body,
    );
    let index = super::super::Index::open(
        &ctx.dirs,
        super::super::Depth::Headers,
        std::time::Duration::from_secs(9),
    )
    .unwrap();
    let entry = index.by_base("1.a").unwrap();
    let letter = entry.letter().unwrap();
    let mut ctx = ctx;
    ctx.mail.accounts = vec![crate::MailAccount {
        name: "home".to_owned(),
        address: "Me@example.org".to_owned(),
        sender: String::new(),
        maildir: ctx.dirs.mail.clone(),
        sends: true,
    }];
    let one = reply(&ctx, &entry, &letter, "Yes.".to_owned(), false).unwrap();
    assert_eq!(
        (one.readers(), one.subject.as_str()),
        ("Anna Bell (anna@example.org)".to_owned(), "Re: Trip")
    );
    let all = reply(&ctx, &entry, &letter, "Yes.".to_owned(), true).unwrap();
    assert_eq!(
        all.readers(),
        "Anna Bell (anna@example.org), with a copy to carl@example.org and Dora (dora@example.org)"
    );
    let read = Letter::read(&one.message(&ctx.now).unwrap(), i64::MAX / 2).unwrap();
    assert_eq!(read.head.references, ["1@x", "2@x", "3@x"]);
    assert_eq!(
        read.text.trim_end(),
        "Yes.\n\nOn Monday, 1 June 2026 at 12:00, Anna Bell wrote:\n> Shall we?\n>> Where?"
    );
    assert_eq!(super::super::fold(&read.text).text, "Yes.");
    let answers = |draft: &Draft| {
        let bytes = draft.message(&ctx.now).unwrap();
        let parsed = MessageParser::default().parse(&bytes).unwrap();
        parsed.in_reply_to().as_text().map(str::to_owned)
    };
    assert_eq!(answers(&one).as_deref(), Some("3@x"));

    let to = vec![person("", "eve@example.org")];
    let passed = forward(&ctx, &entry, &letter, to, "See below.".to_owned()).unwrap();
    assert_eq!((passed.subject.as_str(), passed.files()), ("Fwd: Trip", 3));
    let bytes = passed.message(&ctx.now).unwrap();
    let read = Letter::read(&bytes, i64::MAX / 2).unwrap();
    assert!(
        read.text
            .starts_with("See below.\n\n---------- Forwarded message"),
        "{}",
        read.text
    );
    assert!(
        read.text.contains("From: Anna Bell <anna@example.org>\n")
            && read.text.contains("Shall we?\n> Where?")
    );
    assert_eq!(
        (&read.head.references[..], answers(&passed)),
        (["1@x", "2@x", "3@x"].map(str::to_owned).as_slice(), None),
        "it stays in the conversation and answers nobody"
    );
    let files = contents(&bytes).unwrap();
    let named: Vec<_> = files
        .iter()
        .map(|(file, bytes)| (file.name.as_str(), bytes.as_slice()))
        .collect();
    assert_eq!(named[0].0, "pläne.csv");
    assert_eq!(named[0].1.trim_ascii_end(), b"a,b");
    assert_eq!(named[1], ("p.png", [0, 1, 2, 255].as_slice()));
    assert_eq!(named[2].0, "Old.eml");
    assert!(named[2].1.starts_with(b"From: x@y"));
}

#[test]
fn an_answer_goes_where_the_sender_wants_it() {
    let home = tempfile::tempdir().unwrap();
    let ctx = ctx(home.path());
    let date = "Mon, 1 Jun 2026 10:00:00 +0000";
    deliver(
        home.path(),
        "cur/1.a:2,S",
        "Anna <anna@example.org>",
        "Hi\nReply-To: list@example.org",
        date,
        "x",
    );
    deliver(home.path(), "cur/2.a:2,S", "nobody", "Hi", date, "x");
    let index = super::super::Index::open(
        &ctx.dirs,
        super::super::Depth::Headers,
        std::time::Duration::from_secs(9),
    )
    .unwrap();
    let answer = |base: &str| {
        let entry = index.by_base(base).unwrap();
        let letter = entry.letter().unwrap();
        reply(&ctx, &entry, &letter, "x".to_owned(), false).map(|draft| draft.readers())
    };
    assert_eq!(answer("1.a").unwrap(), "list@example.org");
    assert_eq!(
        answer("2.a").unwrap_err().to_string(),
        "That mail does not say where an answer would go."
    );
}

#[test]
fn subjects_are_marked_once() {
    for (subject, expect) in [
        ("Trip", "Re: Trip"),
        ("RE: re: Trip", "Re: Trip"),
        ("", "Re:"),
        ("Aw: ÄÖ", "Re: ÄÖ"),
    ] {
        assert_eq!(with_mark("Re", subject), expect);
    }
}
