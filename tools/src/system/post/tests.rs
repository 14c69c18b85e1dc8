//! The outbox going out, killed between every two steps: each mail arrives once, or waits and says so.

mod kills;

use std::{
    path::Path,
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use futures_util::future::BoxFuture;
use proptest::prelude::*;

use super::*;
use crate::system::{
    journal::{Journal, Retention},
    mail::outbox::{Outbox, Outgoing, State, Ticket},
};

/// What a server does with one message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Act {
    Accept,
    /// Refuses before the message, for now.
    Busy,
    /// Refuses before the message, for good.
    Never,
    /// Takes the message and says no for now.
    Full,
    /// The line is cut in the middle of the message.
    CutHalfWay,
    /// The server has it, and the line is cut before it said so.
    CutTaken,
    /// The server has it not, and the line is cut before it said so.
    CutLost,
    /// The server has it, and this process is killed before it hears so.
    KilledTaken,
    /// This process is killed in the middle of the message.
    KilledHalfWay,
}

/// A server that counts.
#[derive(Default)]
struct Server {
    acts: Mutex<Vec<Act>>,
    got: Mutex<Vec<String>>,
}

impl Deliver for Server {
    fn deliver<'d>(
        &'d self,
        ticket: &'d Ticket,
        message: &'d [u8],
        handing: Handing<'d>,
    ) -> BoxFuture<'d, Result<Delivery, OutboxError>> {
        Box::pin(async move {
            assert!(message.ends_with(b"Hello.\r\n"));
            let act = self.acts.lock().unwrap().pop().unwrap_or(Act::Accept);
            let killed = || OutboxError::Unknown {
                id: "killed".to_owned(),
            };
            let take = || self.got.lock().unwrap().push(ticket.message_id.clone());
            match act {
                Act::Busy => return Ok(Delivery::Later("Busy.".to_owned())),
                Act::Never => return Ok(Delivery::Refused("Never.".to_owned())),
                _ => handing()?,
            }
            match act {
                Act::Accept | Act::CutTaken | Act::KilledTaken => take(),
                _ => {}
            }
            match act {
                Act::KilledTaken | Act::KilledHalfWay => Err(killed()),
                Act::Full | Act::CutHalfWay => Ok(Delivery::Later("Later.".to_owned())),
                Act::CutTaken | Act::CutLost => Ok(Delivery::Unsure("Cut.".to_owned())),
                _ => Ok(Delivery::Sent),
            }
        })
    }
}

struct Home {
    root: tempfile::TempDir,
    journal: Journal,
    outbox: Outbox,
    accounts: Vec<Sending>,
}

impl Home {
    fn new() -> Home {
        let root = tempfile::tempdir().unwrap();
        let state = root.path().join("state");
        Home {
            journal: Journal::at(&state, Retention::default()),
            outbox: Outbox::at(&state),
            accounts: vec![Sending {
                name: "home".to_owned(),
                maildir: root.path().join("mail"),
                save_sent: true,
            }],
            root,
        }
    }

    fn queue(&self, name: &str, recall: Duration) -> Ticket {
        let mail = Outgoing {
            account: "home".to_owned(),
            from: "ada@example.org".to_owned(),
            to: vec!["bob@example.org".to_owned()],
            message: format!("From: ada@example.org\nSubject: {name}\nMessage-ID: <{name}>\n\nHello.\n")
                .into_bytes(),
        };
        let step = self.journal.step("mail.send");
        self.outbox.queue(&step, &mail, recall).unwrap()
    }

    /// One run that is killed at its step `kill`.
    fn drain(&self, server: &Server, kill: usize) -> Result<Drained, DrainError> {
        let steps = AtomicUsize::new(0);
        let watch = || match steps.fetch_add(1, Ordering::Relaxed) == kill {
            true => Err(Stop),
            false => Ok(()),
        };
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(drain(&self.outbox, &self.accounts, server, true, &watch))
    }

    fn copies(&self) -> Vec<String> {
        let mut subjects: Vec<String> = maildir::list(&self.root.path().join("mail/.Sent"))
            .unwrap()
            .unwrap_or_default()
            .values()
            .map(|held| {
                assert_eq!(held.flags, "S");
                let text = std::fs::read_to_string(&held.path).unwrap();
                text.lines()
                    .nth(1)
                    .unwrap()
                    .trim_start_matches("Subject: ")
                    .to_owned()
            })
            .collect();
        subjects.sort();
        subjects
    }

    /// What must hold at any moment.
    fn verify(&self, server: &Server, all: &[&str]) {
        let got = server.got.lock().unwrap().clone();
        let entries = self.outbox.entries().unwrap();
        let copies = self.copies();
        for name in all {
            let arrived = got.iter().filter(|id| *id == name).count();
            let copied = copies.iter().filter(|subject| subject == name).count();
            assert!(arrived <= 1, "{name} arrived {arrived} times");
            assert!(copied <= arrived, "{name} was copied {copied} times");
            match entries.iter().find(|entry| entry.ticket.message_id == **name) {
                None => assert_eq!((arrived, copied), (1, 1), "{name} is nowhere"),
                Some(entry) if entry.state == State::Queued || entry.state == State::Failed => {
                    assert_eq!(arrived, 0, "{name} would be sent again");
                }
                Some(entry) if entry.state == State::Unsure => {
                    assert!(entry.problem().unwrap().contains("may or may not"));
                }
                Some(_) => {}
            }
        }
    }
}

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        4 => Just(Act::Accept),
        1 => Just(Act::Busy),
        1 => Just(Act::Never),
        1 => Just(Act::Full),
        1 => Just(Act::CutHalfWay),
        1 => Just(Act::CutTaken),
        1 => Just(Act::CutLost),
        1 => Just(Act::KilledTaken),
        1 => Just(Act::KilledHalfWay),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn each_mail_arrives_once_or_waits_and_says_so(
        acts in proptest::collection::vec(act(), 0..8),
        kills in proptest::collection::vec(0usize..14, 0..6),
    ) {
        let home = Home::new();
        let names = ["one", "two", "three"];
        for name in names {
            home.queue(name, Duration::ZERO);
        }
        let server = Server { acts: Mutex::new(acts), ..Server::default() };
        for kill in kills {
            let _ = home.drain(&server, kill);
            home.verify(&server, &names);
        }
        // Nothing more goes wrong: what can go, goes.
        for _ in 0..12 {
            let _ = home.drain(&server, usize::MAX);
            home.verify(&server, &names);
        }
        prop_assert!(server.acts.lock().unwrap().is_empty() || home.outbox.entries().unwrap().iter().all(|e| e.state != State::Queued));
        for entry in home.outbox.entries().unwrap() {
            prop_assert!(matches!(entry.state, State::Failed | State::Unsure), "{entry:?}");
            prop_assert!(entry.problem().is_some());
        }
    }
}

#[test]
fn killed_at_every_step_a_mail_still_goes_once() {
    let mut steps = 0;
    loop {
        let home = Home::new();
        home.queue("one", Duration::ZERO);
        let server = Server::default();
        let killed = home.drain(&server, steps).is_err();
        home.verify(&server, &["one"]);
        home.drain(&server, usize::MAX).unwrap();
        home.verify(&server, &["one"]);
        let entries = home.outbox.entries().unwrap();
        if !killed {
            assert_eq!((entries.len(), home.copies()), (0, vec!["one".to_owned()]));
            break;
        }
        // Only a kill while the server has it leaves something to decide.
        let unsure = entries.iter().any(|entry| entry.state == State::Unsure);
        assert!(unsure || home.copies() == ["one"], "killed at step {steps}");
        steps += 1;
    }
    assert!(steps >= 4, "{steps}");
}

#[test]
fn the_recall_delay_always_holds() {
    let home = Home::new();
    home.queue("one", Duration::from_secs(3600));
    let server = Server::default();
    assert_eq!(home.drain(&server, usize::MAX).unwrap(), Drained::default());
    assert!(server.got.lock().unwrap().is_empty());
    home.journal.undo(None).unwrap();
    assert!(home.outbox.entries().unwrap().is_empty());
}

#[test]
fn what_the_server_has_is_settled_and_what_no_account_sends_waits() {
    let mut home = Home::new();
    let ticket = home.queue("one", Duration::ZERO);
    let server = Server {
        acts: Mutex::new(vec![Act::CutTaken]),
        ..Server::default()
    };
    assert_eq!(home.drain(&server, usize::MAX).unwrap().stuck, 1);
    assert_eq!(home.outbox.problems().unwrap().len(), 1);
    settle_arrived(&home.outbox, &["other".to_owned(), ticket.message_id]).unwrap();
    assert!(home.outbox.entries().unwrap().is_empty());
    assert_eq!(home.copies(), [""; 0], "the server has the copy already");
    home.queue("two", Duration::ZERO);
    home.accounts.clear();
    assert_eq!(home.drain(&server, usize::MAX).unwrap().later, 1);
    let problems = home.outbox.problems().unwrap();
    assert!(problems[0].contains("no account \"home\""), "{problems:?}");
    let entries = home.outbox.entries().unwrap();
    let next = entries[0].note.next.unwrap();
    assert_eq!(next_due(&entries), Some(next));
    assert!(next > entries[0].ticket.after);
}

#[test]
fn a_copy_that_cannot_be_written_is_tried_again() {
    let home = Home::new();
    home.queue("one", Duration::ZERO);
    let server = Server::default();
    let mail = home.root.path().join("mail");
    std::fs::write(&mail, "a file stands here").unwrap();
    assert!(home.drain(&server, usize::MAX).is_err());
    assert_eq!(home.outbox.entries().unwrap()[0].state, State::Sent);
    std::fs::remove_file(&mail).unwrap();
    home.drain(&server, usize::MAX).unwrap();
    home.verify(&server, &["one"]);
    assert_eq!(home.copies(), ["one"]);
}

#[test]
fn maildirs_keep_flags_and_never_write_twice() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join(".Sent");
    assert_eq!(maildir::list(&folder).unwrap(), None);
    for _ in 0..2 {
        maildir::put_once(&folder, "1.a", "S", b"x", None).unwrap();
    }
    maildir::put(&folder, "2.b", "", b"y", None).unwrap();
    let all = maildir::list(&folder).unwrap().unwrap();
    let shown = |held: &maildir::Held, at: &Path| held.path.strip_prefix(at).unwrap().display().to_string();
    assert_eq!(shown(&all["1.a"], &folder), "cur/1.a:2,S");
    assert_eq!(shown(&all["2.b"], &folder), "new/2.b");
    assert!(maildir::set_flags(&folder, "2.b", &all["2.b"], "RS").unwrap());
    assert!(
        !maildir::set_flags(&folder, "2.b", &all["2.b"], "S").unwrap(),
        "it moved meanwhile"
    );
    let all = maildir::list(&folder).unwrap().unwrap();
    assert_eq!(shown(&all["2.b"], &folder), "cur/2.b:2,RS");
    assert!(maildir::set_flags(&folder, "2.b", &all["2.b"], "").unwrap());
    let all = maildir::list(&folder).unwrap().unwrap();
    assert_eq!(shown(&all["2.b"], &folder), "cur/2.b:2,");
}
