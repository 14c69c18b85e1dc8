//! The outbox on disk: every step, what undo can and cannot do, what a kill leaves.

use std::time::SystemTime;

use super::*;
use crate::system::journal::{Journal, Retention};

fn mail(subject: &str) -> Outgoing {
    Outgoing {
        account: "home".to_owned(),
        from: "ada@example.org".to_owned(),
        to: vec!["bob@example.org".to_owned(), "eve@example.org".to_owned()],
        message: format!(
            "From: ada@example.org\nTo: bob@example.org\nSubject: {subject}\nMessage-ID: <{subject}@tiro>\n\nHello.\n"
        )
        .into_bytes(),
    }
}

struct Home {
    root: tempfile::TempDir,
    journal: Journal,
    outbox: Outbox,
}

impl Home {
    fn new() -> Home {
        let root = tempfile::tempdir().unwrap();
        let state = root.path().join("state");
        Home {
            journal: Journal::at(&state, Retention::default()),
            outbox: Outbox::at(&state),
            root,
        }
    }

    fn queue(&self, subject: &str) -> Ticket {
        let step = self.journal.step("mail.send");
        let ticket = self
            .outbox
            .queue(&step, &mail(subject), Duration::from_secs(10))
            .unwrap();
        step.did("I sent the mail to Bob.", false);
        ticket
    }

    fn states(&self) -> Vec<State> {
        self.outbox.entries().unwrap().iter().map(|e| e.state).collect()
    }

    fn files(&self) -> Vec<String> {
        let mut names = self.outbox.names().unwrap();
        names.retain(|name| name != "lock");
        names.sort();
        names
    }

    fn undo(&self) -> String {
        match self.journal.undo(None) {
            Ok(undone) => format!("undone: {}", undone.say.unwrap()),
            Err(error) => error.to_string(),
        }
    }
}

#[test]
fn a_mail_is_queued_whole_and_with_line_ends_of_the_protocol() {
    let home = Home::new();
    let ticket = home.queue("one");
    assert_eq!(
        ticket.after.duration_since(ticket.at),
        SignedDuration::from_secs(10)
    );
    assert_eq!(
        (ticket.message_id.as_str(), ticket.subject.as_str()),
        ("one@tiro", "one")
    );
    let message = home.outbox.message(&ticket.id).unwrap();
    assert_eq!(message, crlf(&mail("one").message));
    assert!(message.ends_with(b"Hello.\r\n"));
    assert_eq!(crlf(b"a\r\nb\rc\n"), b"a\r\nb\r\nc\r\n");
    let second = home.queue("two");
    let all = home.outbox.entries().unwrap();
    assert_eq!(
        all.iter().map(|e| &e.ticket).collect::<Vec<_>>(),
        [&ticket, &second]
    );
    assert_eq!(home.outbox.problems().unwrap(), [""; 0]);
    assert_eq!(all[0].title(), "The mail \"one\" to bob@example.org and 1 more");
}

#[test]
fn what_cannot_go_is_refused_and_leaves_nothing() {
    let home = Home::new();
    #[track_caller]
    fn check(home: &Home, change: impl FnOnce(&mut Outgoing), expect: &str) {
        let mut mail = mail("one");
        change(&mut mail);
        let step = home.journal.step("mail.send");
        let error = home.outbox.queue(&step, &mail, Duration::ZERO).unwrap_err();
        assert!(error.to_string().contains(expect), "{error}");
        assert_eq!(home.files(), [""; 0]);
    }
    check(&home, |m| m.to.clear(), "no recipient");
    for address in [
        "bob",
        "@b",
        "a@",
        "a b@c",
        "a@b\r\nRCPT TO:<x@y>",
        "<a@b>",
        "a@b,c@d",
    ] {
        check(&home, |m| m.to[1] = address.to_owned(), "is no mail address");
    }
    check(&home, |m| m.from = String::new(), "is no mail address");
    check(&home, |m| m.to = vec!["a@b".to_owned(); 101], "at most 100");
    check(&home, |m| m.message = b"Subject: x\n\n".to_vec(), "Message-ID");
    check(
        &home,
        |m| m.message.resize(37 << 20, b'x'),
        "too large; at most 36 MiB",
    );
}

#[test]
fn undo_takes_back_what_no_server_has_seen() {
    let home = Home::new();
    let ticket = home.queue("one");
    {
        // Tried in vain: it still waits, and can still be taken back.
        let sender = home.outbox.sender().unwrap().unwrap();
        assert!(sender.claim(&ticket.id).unwrap());
        let note = Note {
            tries: 1,
            next: Some(ticket.after),
            why: "The server cannot be reached.".to_owned(),
        };
        sender.later(&ticket.id, State::Claimed, &note).unwrap();
    }
    assert_eq!(
        home.outbox.problems().unwrap(),
        ["The mail \"one\" to bob@example.org and 1 more waits. The server cannot be reached."]
    );
    assert_eq!(home.undo(), "undone: I sent the mail to Bob.");
    let sender = home.outbox.sender().unwrap().unwrap();
    assert!(!sender.claim(&ticket.id).unwrap(), "it was taken back");
    assert_eq!(home.states(), []);
}

#[test]
fn undo_says_where_a_mail_is_that_has_left() {
    use State::{Claimed, Failed, Handed, Queued, Sent, Unsure};
    #[track_caller]
    fn check(steps: &[State], expect: &str) {
        let home = Home::new();
        let ticket = home.queue("one");
        let id = &ticket.id;
        let sender = home.outbox.sender().unwrap().unwrap();
        let mut at = Queued;
        for state in steps {
            match state {
                Claimed => assert!(sender.claim(id).unwrap()),
                Handed => sender.handing(id).unwrap(),
                Sent => sender.sent(id, at).unwrap(),
                Failed => sender.failed(id, at, "No.").unwrap(),
                Unsure => sender.unsure(id, "Cut.").unwrap(),
                Queued => sender.filed(id).unwrap(),
            }
            at = *state;
        }
        let said = home.undo();
        assert!(
            said.starts_with("I could not take back \"I sent the mail to Bob.\"."),
            "{said}"
        );
        assert!(said.contains(expect), "{said}");
        assert_eq!(home.undo(), "There is nothing to undo.");
    }
    check(&[Claimed], "It is on its way already.");
    check(&[Claimed, Handed], "It is on its way already.");
    check(&[Claimed, Handed, Sent], "It has gone out already.");
    check(&[Claimed, Handed, Sent, Queued], "It has gone out already.");
    check(&[Claimed, Failed], "It was not sent");
    check(&[Claimed, Handed, Unsure], "It may have gone out already");
}

#[test]
fn a_kill_leaves_what_can_be_settled() {
    let home = Home::new();
    let (claimed, handed, sent) = (home.queue("claimed"), home.queue("handed"), home.queue("sent"));
    {
        let sender = home.outbox.sender().unwrap().unwrap();
        for ticket in [&claimed, &handed, &sent] {
            assert!(sender.claim(&ticket.id).unwrap());
        }
        for ticket in [&handed, &sent] {
            sender.handing(&ticket.id).unwrap();
        }
        sender.sent(&sent.id, State::Handed).unwrap();
        assert!(home.outbox.sender().unwrap().is_none(), "one at a time");
    }
    let orphan = home.outbox.message_path("123-abc");
    fs::write(&orphan, "x").unwrap();
    let sender = home.outbox.sender().unwrap().unwrap();
    sender.settle(Timestamp::now()).unwrap();
    assert_eq!(home.states(), [State::Queued, State::Unsure, State::Sent]);
    assert!(orphan.exists(), "it may be about to get its ticket");
    let old = SystemTime::now() - Duration::from_secs(2 * 3600);
    File::open(&orphan).unwrap().set_modified(old).unwrap();
    sender.settle(Timestamp::now()).unwrap();
    assert!(!orphan.exists());
    sender.filed(&sent.id).unwrap();
    let problems = home.outbox.problems().unwrap();
    assert!(
        problems.len() == 1 && problems[0].contains("may or may not have gone out. Tiro was stopped"),
        "{problems:?}"
    );
    // The person decides; nothing else moves it.
    home.outbox.retry(&handed.id).unwrap();
    assert_eq!(home.states(), [State::Queued, State::Queued]);
    home.outbox.discard(&handed.id).unwrap();
    assert_eq!(
        home.files(),
        [format!("{}.eml", claimed.id), format!("{}.queued", claimed.id)]
    );
    for id in [handed.id.as_str(), "..", "../x", ""] {
        for result in [
            home.outbox.retry(id),
            home.outbox.discard(id),
            home.outbox.arrived(id),
        ] {
            assert!(matches!(result, Err(OutboxError::Unknown { .. })), "{id}");
        }
    }
    assert!(home.root.path().exists());
}

#[test]
fn tickets_that_others_spoiled_stop_nothing() {
    let home = Home::new();
    home.queue("good");
    let folder = home.root.path().join("state/outbox");
    for (name, text) in [
        ("1-a.queued", "{"),
        ("1-b.queued", ""),
        ("1-c.handed", "{\"id\":\"other\"}"),
        ("../../x.queued", "x"),
        ("strange.name", "x"),
        ("1-d.note", "not json"),
    ] {
        let _ = fs::write(folder.join(name), text);
    }
    fs::create_dir(folder.join("1-e.queued")).unwrap();
    assert_eq!(home.states(), [State::Queued]);
    let step = home.journal.step("mail.send");
    home.outbox.queue(&step, &mail("two"), Duration::ZERO).unwrap();
    assert_eq!(home.states(), [State::Queued, State::Queued]);
}

#[test]
fn a_folder_that_takes_nothing_says_so() {
    let root = tempfile::tempdir().unwrap();
    let state = root.path().join("state");
    fs::write(&state, "a file stands here").unwrap();
    let journal = Journal::at(&root.path().join("other"), Retention::default());
    let queued = Outbox::at(&state).queue(&journal.step("mail.send"), &mail("one"), Duration::ZERO);
    assert!(queued.is_err());
    assert!(
        journal.history(5).unwrap().is_empty(),
        "a step that wrote nothing leaves no trace"
    );
}
