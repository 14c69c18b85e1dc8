//! Mail with a real Dovecot and a real aiosmtpd, which the tests start and end themselves.
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "all of this is a test: it fails where something is not as it should be, and skips aloud"
)]

mod clear;
mod large;
mod reading;
mod sending;
mod servers;
mod tokens;

use std::{
    fs,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    thread::JoinHandle,
    time::{Duration, Instant},
};

use futures_util::future::BoxFuture;
use servers::{Dovecot, Line, access};
use tools::{
    Journal, Retention,
    system::{
        mail::outbox::{Outbox, OutboxError, Outgoing, State, Ticket},
        post::{
            Access, Deliver, Delivery, Handing, PostError, Protocol, Reading, Report, Sending, Smtp, drain,
            sync, wait_for_news,
        },
    },
};

const LONG: Duration = Duration::from_secs(120);

/// One machine of the person.
struct Home {
    root: PathBuf,
    _folder: Option<tempfile::TempDir>,
    outbox: Outbox,
    journal: Journal,
}

impl Home {
    fn new() -> Home {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::at(folder.path());
        Home {
            _folder: Some(folder),
            ..home
        }
    }

    /// In a folder of somebody else.
    fn at(root: &Path) -> Home {
        let state = root.join("state");
        Home {
            outbox: Outbox::at(&state),
            journal: Journal::at(&state, Retention::default()),
            root: root.to_owned(),
            _folder: None,
        }
    }

    fn state(&self) -> PathBuf {
        self.root.join("state")
    }

    fn mail(&self) -> PathBuf {
        self.root.join("mail")
    }

    fn account(&self, access: Access) -> Reading {
        Reading {
            name: "home".to_owned(),
            access,
            maildir: self.mail(),
            messages: 5000,
            max_size: 1 << 20,
            force: false,
        }
    }

    fn sync(&self, access: Access) -> Report {
        run(sync(&self.account(access), &self.state(), &[], &|| Ok(())))
    }

    /// One run that has to go well.
    #[track_caller]
    fn in_step(&self, access: Access) -> Report {
        let report = self.sync(access);
        assert!(report.ok(), "{report:?}");
        report
    }

    fn queue(&self, subject: &str, to: &[&str], body: &str) -> Ticket {
        let mail = Outgoing {
            account: "home".to_owned(),
            from: "ada@example.org".to_owned(),
            to: to.iter().map(|to| (*to).to_owned()).collect(),
            message: message(subject, body).into_bytes(),
        };
        let step = self.journal.step("mail.send");
        self.outbox.queue(&step, &mail, Duration::ZERO).unwrap()
    }

    fn deliver(&self, server: &dyn Deliver) -> State {
        let accounts = [Sending {
            name: "home".to_owned(),
            maildir: self.mail(),
            save_sent: true,
        }];
        run(drain(&self.outbox, &accounts, server, true, &|| Ok(()))).unwrap();
        let entries = self.outbox.entries().unwrap();
        entries.first().map_or(State::Sent, |entry| entry.state)
    }

    fn why(&self) -> String {
        self.outbox.entries().unwrap()[0].note.why.clone()
    }

    /// Names of the files of a folder, and the messages' subjects with their flags.
    fn subjects(&self, folder: &str) -> Vec<String> {
        let mut all: Vec<String> = files(&self.mail().join(folder))
            .iter()
            .map(|path| subject(path))
            .collect();
        all.sort();
        all
    }

    #[track_caller]
    fn file(&self, folder: &str, subject: &str) -> PathBuf {
        let starts = |path: &PathBuf| self::subject(path).split(' ').next() == Some(subject);
        files(&self.mail().join(folder)).into_iter().find(starts).unwrap()
    }
}

/// aiosmtpd as the outbox sees it.
struct Sender(Smtp);

impl Deliver for Sender {
    fn deliver<'d>(
        &'d self,
        ticket: &'d Ticket,
        message: &'d [u8],
        handing: Handing<'d>,
    ) -> BoxFuture<'d, Result<Delivery, OutboxError>> {
        Box::pin(self.0.deliver(ticket, message, handing))
    }
}

fn sender(access: Access) -> Sender {
    Sender(Smtp {
        account: "home".to_owned(),
        access,
    })
}

fn smtp(scheme: &str, port: u16) -> Access {
    access(&format!("{scheme}://localhost:{port}"), Protocol::Smtp)
}

/// The mailbox at the other end of a line.
fn through(line: &Line) -> Access {
    access(&format!("imaps://localhost:{}", line.port), Protocol::Imap)
}

/// Waits for what has to come.
#[track_caller]
fn until(what: &str, has_come: impl Fn() -> bool) {
    let begun = Instant::now();
    while !has_come() {
        assert!(begun.elapsed() < LONG, "it never was that {what}");
        std::thread::sleep(Duration::from_micros(200));
    }
}

/// Somebody who waits for a mailbox to say that something came.
struct News {
    count: Arc<AtomicUsize>,
    waiting: JoinHandle<Result<(), PostError>>,
}

impl News {
    fn of(access: Access) -> News {
        let count = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&count);
        let waiting = std::thread::spawn(move || {
            run(wait_for_news(&access, &|| {
                _ = counted.fetch_add(1, Ordering::SeqCst)
            }))
        });
        News { count, waiting }
    }

    #[track_caller]
    fn until(&self, count: usize) {
        until("something was said", || {
            self.count.load(Ordering::SeqCst) >= count
        });
    }

    /// Why there will be no more.
    fn ended(self) -> PostError {
        self.waiting.join().unwrap().unwrap_err()
    }
}

fn message(subject: &str, body: &str) -> String {
    format!(
        "From: Ada <ada@example.org>\nTo: bob@example.org\nSubject: {subject}\nMessage-ID: <{subject}@example.org>\n\
         Date: Mon, 1 Jun 2026 10:00:00 +0000\n\n{body}\n"
    )
}

fn run<T>(work: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async { tokio::time::timeout(LONG * 4, work).await.unwrap() })
}

fn files(folder: &Path) -> Vec<PathBuf> {
    ["cur", "new"]
        .iter()
        .filter_map(|part| fs::read_dir(folder.join(part)).ok())
        .flatten()
        .map(|entry| entry.unwrap().path())
        .collect()
}

/// `subject flags`.
fn subject(path: &Path) -> String {
    let text = fs::read_to_string(path).unwrap();
    let subject = text
        .lines()
        .find_map(|line| line.strip_prefix("Subject: "))
        .unwrap_or("none");
    let name = path.file_name().unwrap().to_string_lossy().into_owned();
    let flags = name.rsplit_once(":2,").map_or("", |(_, flags)| flags);
    // Dovecot writes its own letters for keywords; those that count are capitals.
    format!("{subject} {flags}").trim().to_owned()
}

fn there(server: &Dovecot, folder: &str) -> Vec<String> {
    let mut all: Vec<String> = server.files(folder).iter().map(|path| subject(path)).collect();
    all.sort();
    all
}
