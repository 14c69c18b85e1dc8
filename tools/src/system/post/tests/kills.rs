//! A mail on its way through the outbox, killed between every two steps of it, one after the other: a process of its own
//! does it, and dies at the point that it was given as if somebody had killed it. What it leaves is taken up by the next one.

use std::{
    fs,
    io::Write as _,
    os::unix::process::ExitStatusExt as _,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::Duration,
};

use futures_util::future::BoxFuture;
use jiff::{SignedDuration, Timestamp};

use super::super::*;
use crate::system::{
    journal::{Journal, Retention},
    mail::outbox::{Outbox, Outgoing, State, Ticket},
    store::kill,
};

/// What the process is to do: what the server does, whether the mail is to be queued first, after how many points it dies, and
/// where all of it is.
const VICTIM: &str = "TIRO_TEST_OUTBOX_VICTIM";

/// What a server does with the message.
const ACTS: [&str; 7] = [
    "accept",
    "busy",
    "never",
    "full",
    "cut half-way",
    "cut taken",
    "cut lost",
];

/// A machine whose files outlive the processes on it.
struct Home {
    root: PathBuf,
    journal: Journal,
    outbox: Outbox,
}

impl Home {
    fn at(root: &Path) -> Home {
        let state = root.join("state");
        Home {
            journal: Journal::at(&state, Retention::default()),
            outbox: Outbox::at(&state),
            root: root.to_owned(),
        }
    }

    fn queue(&self) {
        let mail = Outgoing {
            account: "home".to_owned(),
            from: "ada@example.org".to_owned(),
            to: vec!["bob@example.org".to_owned()],
            message: b"From: ada@example.org\nSubject: one\nMessage-ID: <one>\n\nHello.\n".to_vec(),
        };
        let step = self.journal.step("mail.send");
        self.outbox.queue(&step, &mail, Duration::ZERO).unwrap();
        step.did("I sent the mail to Bob.", false);
    }

    fn drain(&self, act: &'static str) -> Result<Drained, DrainError> {
        let accounts = [Sending {
            name: "home".to_owned(),
            maildir: self.root.join("mail"),
            save_sent: true,
        }];
        let server = Server {
            got: self.root.join("got"),
            act,
        };
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(drain(&self.outbox, &accounts, &server, true, &|| Ok(())))
    }

    /// How often the mail arrived, and how often it is among the sent mail.
    fn arrived(&self) -> (usize, usize) {
        let got = fs::read_to_string(self.root.join("got")).unwrap_or_default();
        let copies = maildir::list(&self.root.join("mail/.Sent"))
            .unwrap()
            .unwrap_or_default();
        assert!(
            copies
                .values()
                .all(|held| fs::read(&held.path).unwrap().ends_with(b"Hello.\r\n"))
        );
        (got.lines().count(), copies.len())
    }

    fn was_confirmed(&self) -> bool {
        self.root.join("confirmed").exists()
    }

    /// What must hold when another process has taken up what this one left.
    #[track_caller]
    fn verify(&self, how: &str) {
        assert_eq!(self.journal.verify_invariants().unwrap(), [""; 0], "{how}");
        let (arrived, copied) = self.arrived();
        let entries = self.outbox.entries().unwrap();
        match entries.first() {
            None if self.was_confirmed() => assert_eq!((arrived, copied), (1, 1), "{how}"),
            // Nobody was told that it goes: it may have gone all the same, and then it went whole.
            None => assert!(
                matches!((arrived, copied), (0, 0) | (1, 1)),
                "{how}: {arrived}, {copied}"
            ),
            Some(entry) if entry.state == State::Unsure => {
                assert!(arrived <= 1 && copied == 0, "{how}: {arrived}, {copied}");
                assert!(
                    entry.problem().unwrap().contains("may or may not have gone out"),
                    "{how}"
                );
            }
            Some(entry) if entry.state == State::Failed => {
                assert_eq!((arrived, copied), (0, 0), "{how}");
                assert!(entry.problem().unwrap().contains("was not sent. Never."), "{how}");
            }
            Some(entry) => panic!("{how}: {entry:?} does not wait for the person"),
        }
        // Of what a kill left nothing stays for good.
        let later = Timestamp::now() + SignedDuration::from_hours(2);
        self.outbox.sender().unwrap().unwrap().settle(later).unwrap();
        let mut left: Vec<String> = fs::read_dir(self.root.join("state/outbox"))
            .map(|all| {
                all.map(|entry| entry.unwrap().file_name().into_string().unwrap())
                    .collect()
            })
            .unwrap_or_default();
        let id = entries.first().map(|entry| entry.ticket.id.clone());
        left.retain(|name| name != "lock" && !id.as_ref().is_some_and(|id| name.starts_with(id.as_str())));
        assert_eq!(left, [""; 0], "{how}");
    }
}

/// A server that remembers what it got.
struct Server {
    got: PathBuf,
    act: &'static str,
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
            kill::point();
            match self.act {
                "busy" => return Ok(Delivery::Later("Busy.".to_owned())),
                "never" => return Ok(Delivery::Refused("Never.".to_owned())),
                _ => handing()?,
            }
            kill::point();
            if matches!(self.act, "accept" | "cut taken") {
                let mut got = fs::File::options()
                    .append(true)
                    .create(true)
                    .open(&self.got)
                    .unwrap();
                got.write_all(format!("{}\n", ticket.message_id).as_bytes())
                    .unwrap();
                kill::point();
            }
            Ok(match self.act {
                "full" | "cut half-way" => Delivery::Later("Later.".to_owned()),
                "cut taken" | "cut lost" => Delivery::Unsure("Cut.".to_owned()),
                _ => Delivery::Sent,
            })
        })
    }
}

#[test]
fn victim_kills_itself_at_the_point_that_it_was_given() {
    let Ok(orders) = std::env::var(VICTIM) else { return };
    let [act, queue, left, root] = orders.split('|').collect::<Vec<_>>()[..] else {
        panic!("{orders}");
    };
    let act = ACTS.into_iter().find(|known| *known == act).unwrap();
    let home = Home::at(Path::new(root));
    kill::arm(left.parse().unwrap());
    if queue == "true" {
        home.queue();
        kill::point();
        fs::write(home.root.join("confirmed"), "").unwrap();
        kill::point();
    }
    home.drain(act).unwrap();
    fs::write(home.root.join("finished"), "").unwrap();
}

/// Lets a process do all of it up to a point. Whether it was killed there; it had finished where there are not so many.
fn kill_at(point: usize, act: &str, queue: bool, root: &Path) -> bool {
    let name = "system::post::tests::kills::victim_kills_itself_at_the_point_that_it_was_given";
    let ended = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", name])
        .env(VICTIM, format!("{act}|{queue}|{point}|{}", root.display()))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .unwrap();
    let finished = root.join("finished").exists();
    assert_eq!(
        ended.signal() == Some(9),
        !finished,
        "{act}, point {point}: {ended}"
    );
    assert_eq!(ended.success(), finished, "{act}, point {point}: {ended}");
    !finished
}

/// Every point of the way, from before the first file of the outbox to behind the last.
#[test]
fn killed_between_every_two_steps_from_the_yes_to_the_copy_a_mail_goes_once() {
    let (mut point, mut unconfirmed, mut unsure, mut undone) = (0, 0, 0, 0);
    loop {
        let how = format!("killed at point {point}");
        let root = tempfile::tempdir().unwrap();
        let killed = kill_at(point, "accept", true, root.path());
        let home = Home::at(root.path());
        for _ in 0..3 {
            home.drain("accept").unwrap();
        }
        home.verify(&how);
        unconfirmed += usize::from(!home.was_confirmed());
        unsure += home.outbox.entries().unwrap().len();
        if !killed {
            assert_eq!(home.arrived(), (1, 1));
            break;
        }
        // The same once more, and the person takes it back instead.
        let root = tempfile::tempdir().unwrap();
        kill_at(point, "accept", true, root.path());
        let home = Home::at(root.path());
        let before = home.arrived();
        let taken_back = home.journal.undo(None).is_ok();
        for _ in 0..3 {
            home.drain("accept").unwrap();
        }
        match taken_back {
            true => {
                assert_eq!((before, home.arrived()), ((0, 0), (0, 0)), "{how} and taken back");
                assert!(home.outbox.entries().unwrap().is_empty(), "{how} and taken back");
                undone += 1;
            }
            false => home.verify(&how),
        }
        point += 1;
    }
    println!(
        "{point} points: {unconfirmed} before anybody was told, {unsure} unsure, {undone} can be taken back"
    );
    assert!(
        unconfirmed > 10 && point - unconfirmed > 15,
        "{point}, {unconfirmed}"
    );
    // The server is being asked, has it, and has said so: only these cannot be told apart afterwards.
    assert!((1..=8).contains(&unsure), "{unsure}");
    assert!(undone > 3, "{undone}");
}

/// Whatever the server does, between the note and the rename, too.
#[test]
fn killed_between_every_two_steps_of_a_no_or_a_cut_a_mail_goes_once_or_waits() {
    for act in &ACTS[1..] {
        let (mut point, mut gone, mut waits) = (0, 0, 0);
        loop {
            let how = format!("{act}, killed at point {point}");
            let root = tempfile::tempdir().unwrap();
            let home = Home::at(root.path());
            home.queue();
            fs::write(root.path().join("confirmed"), "").unwrap();
            let killed = kill_at(point, act, false, root.path());
            for _ in 0..3 {
                home.drain("accept").unwrap();
            }
            home.verify(&how);
            match home.outbox.entries().unwrap().len() {
                0 => gone += 1,
                _ => waits += 1,
            }
            if !killed {
                break;
            }
            point += 1;
        }
        println!("{act}: {point} points, {gone} gone in the end, {waits} wait for the person");
        assert!(point >= 8, "{act}: {point}");
    }
}
