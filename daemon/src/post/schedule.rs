//! What the daemon does by itself: mail in the outbox goes when it is due, and each account is read every interval, when
//! its server says that something came, and some seconds after something changed here; what came is indexed (`indexing`).
//! What is wrong reaches the person.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant, SystemTime},
};

use jiff::Timestamp;
use tokio::{
    sync::{Notify, mpsc, watch},
    task::JoinSet,
};
use tools::{
    Dirs, Mail,
    system::{
        mail::outbox::Outbox,
        post::{PostError, Protocol, Report, next_due, wait_for_news},
    },
};

use super::{access, indexing, run, send};
use crate::{
    config::MailAccount,
    run::{Event, Source},
};

/// How often the outbox is looked at; a mail goes out at most so long after its time.
const LOOK: Duration = Duration::from_secs(1);
/// How often the folders of an account are looked at.
const LOOK_HERE: Duration = Duration::from_secs(2);
/// A change here goes out when nothing has followed it for this long.
const QUIET: Duration = Duration::from_secs(3);
/// After a run that went wrong the next waits this long, twice as long each time.
const PAUSE: (Duration, Duration) = (Duration::from_secs(30), Duration::from_secs(5 * 60));
/// As many sentences are kept of one account.
const MAX_FOUND: usize = 50;
/// As many folders as are looked at.
const MAX_FOLDERS: usize = 200;

/// Everything that the daemon has to do with mail.
#[derive(Debug, Clone)]
pub struct Post {
    /// The accounts.
    pub accounts: Vec<MailAccount>,
    /// What the tools know of them.
    pub mail: Mail,
    /// Where everything is.
    pub dirs: Dirs,
}

/// Sends and reads until `stop` says so. A mail that is on its way is waited for by whoever ends the program.
pub async fn keep_in_step(post: Post, events: mpsc::Sender<Event>, mut stop: watch::Receiver<bool>) {
    let post = Arc::new(post);
    let mut tasks = JoinSet::new();
    tasks.spawn(empty_the_outbox(Arc::clone(&post), events.clone()));
    tasks.spawn(indexing::keep_indexed(post.dirs.clone(), indexing::BEGIN));
    let reading =
        post.accounts.iter().enumerate().filter(|(_, account)| {
            !account.imap.as_str().is_empty() && account.interval.unless_zero().is_some()
        });
    for (at, _) in reading {
        let news = Arc::new(Notify::new());
        tasks.spawn(listen(Arc::clone(&post), at, Arc::clone(&news)));
        tasks.spawn(read(Arc::clone(&post), at, events.clone(), news));
    }
    let _ = stop.wait_for(|stop| *stop).await;
    tasks.shutdown().await;
}

async fn empty_the_outbox(post: Arc<Post>, events: mpsc::Sender<Event>) {
    let outbox = Outbox::at(&post.dirs.state);
    let (mut begun, mut told) = (false, Vec::new());
    loop {
        // Once at the start, since a kill may have left something to settle.
        let due = match looked(&outbox).await {
            Ok((due, _)) => due || !begun,
            Err(error) => {
                tracing::warn!(error, "the outbox cannot be read");
                false
            }
        };
        if due {
            begun = true;
            match send(&post.accounts, &post.mail, &post.dirs, false).await {
                Ok(done) if done.sent + done.later + done.stuck > 0 => {
                    tracing::info!(sent = done.sent, later = done.later, stuck = done.stuck, "outbox");
                }
                Ok(_) => {}
                Err(error) => tracing::warn!(%error, "the outbox was not emptied"),
            }
        }
        if let Ok((_, texts)) = looked(&outbox).await
            && told != texts
        {
            told.clone_from(&texts);
            let source = Source::Outbox;
            // Fails only when the daemon is stopping.
            let _ = events.send(Event::Noticed { source, texts }).await;
        }
        tokio::time::sleep(LOOK).await;
    }
}

/// Whether a mail is due, and what the person should know.
async fn looked(outbox: &Outbox) -> Result<(bool, Vec<String>), String> {
    let outbox = outbox.clone();
    let look = move || {
        let entries = outbox.entries()?;
        let due = next_due(&entries).is_some_and(|due| due <= Timestamp::now());
        let unfiled = entries.iter().any(|entry| entry.state.is_unfinished());
        let problems = entries.iter().filter_map(|entry| entry.problem()).take(MAX_FOUND);
        Ok((due || unfiled, problems.collect()))
    };
    let looked = tokio::task::spawn_blocking(look).await;
    looked
        .map_err(|e| e.to_string())?
        .map_err(|e: tools::system::mail::outbox::OutboxError| e.to_string())
}

/// Says when something came. What ends the connection is tried again, ever later.
async fn listen(post: Arc<Post>, at: usize, news: Arc<Notify>) {
    let account = &post.accounts[at];
    let mut pause = PAUSE.0;
    loop {
        let begun = Instant::now();
        let ended = match access(account, account.imap.as_str(), Protocol::Imap).await {
            Ok(access) => wait_for_news(&access, &|| news.notify_one()).await,
            // The run of the account says what is wrong with its password.
            Err(_) => Err(PostError::Stopped),
        };
        match ended {
            // The server cannot say; the interval has to do.
            Ok(()) => return,
            Err(error) => tracing::debug!(account = account.name.as_str(), %error, "no news any more"),
        }
        pause = match begun.elapsed() > PAUSE.1 {
            true => PAUSE.0,
            false => (pause * 2).min(PAUSE.1),
        };
        tokio::time::sleep(pause).await;
    }
}

async fn read(post: Arc<Post>, at: usize, events: mpsc::Sender<Event>, news: Arc<Notify>) {
    let account = &post.accounts[at];
    let every = account.interval.get();
    let known = post
        .mail
        .accounts
        .iter()
        .find(|k| k.name == account.name.as_str());
    let Some(maildir) = known.map(|known| known.maildir.clone()) else {
        return;
    };
    let mut pause = PAUSE.0;
    loop {
        let seen = folders(&maildir);
        let report = run(account, &post.mail, &post.dirs, false).await;
        log(&report);
        let ok = report.ok();
        if let Some(texts) = problems(&report) {
            let source = Source::Mail(report.account.clone());
            let _ = events.send(Event::Noticed { source, texts }).await;
        }
        // What the run itself wrote is one more change, and the short run that follows finds nothing to do.
        match ok {
            true => {
                pause = PAUSE.0;
                tokio::select! {
                    () = tokio::time::sleep(every) => {}
                    () = news.notified() => {}
                    () = changed(&maildir, seen) => {}
                }
            }
            false => {
                tokio::time::sleep(pause.min(every)).await;
                pause = (pause * 2).min(PAUSE.1);
            }
        }
    }
}

/// Waits until something is different from what was seen, and has come to rest.
async fn changed(maildir: &Path, seen: Folders) {
    let mut last: Option<(Folders, Instant)> = None;
    loop {
        tokio::time::sleep(LOOK_HERE).await;
        let now = folders(maildir);
        if now == seen {
            last = None;
            continue;
        }
        match &last {
            Some((same, since)) if *same == now => {
                if since.elapsed() >= QUIET {
                    return;
                }
            }
            _ => last = Some((now, Instant::now())),
        }
    }
}

/// When each folder last changed.
type Folders = BTreeMap<PathBuf, Option<SystemTime>>;

/// Every change of a Maildir renames a file in one of these.
fn folders(maildir: &Path) -> Folders {
    let below = std::fs::read_dir(maildir).into_iter().flatten().flatten();
    let subfolders = below.map(|entry| entry.path()).filter(|path| {
        path.file_name()
            .is_some_and(|n| n.as_encoded_bytes().starts_with(b"."))
    });
    std::iter::once(maildir.to_owned())
        .chain(subfolders)
        .take(MAX_FOLDERS)
        .flat_map(|folder| ["cur", "new"].map(|part| folder.join(part)))
        .map(|path| {
            let changed = std::fs::metadata(&path).and_then(|meta| meta.modified()).ok();
            (path, changed)
        })
        .collect()
}

/// All that is wrong with an account. Nothing is said when its server cannot be reached: what was wrong before may still
/// be, and mail that waits says so itself.
fn problems(report: &Report) -> Option<Vec<String>> {
    if report.offline {
        return None;
    }
    let account = report.account.as_str();
    let whole = report
        .error
        .iter()
        .map(|error| format!("Mail account {account}: {error}"));
    let parts = report.folders.iter().filter_map(|folder| {
        let error = folder.error.as_ref()?;
        Some(format!("{} in the mail account {account}: {error}", folder.name))
    });
    Some(whole.chain(parts).take(MAX_FOUND).collect())
}

/// Numbers only: who writes to whom is nobody's business in a log.
fn log(report: &Report) {
    let account = report.account.as_str();
    for folder in &report.folders {
        let (pulled, pushed, moved, removed) = (folder.pulled, folder.pushed, folder.moved, folder.removed);
        if pulled + pushed + moved + removed > 0 {
            tracing::info!(account, pulled, pushed, moved, removed, "mail");
        }
        if folder.error.is_some() {
            tracing::warn!(
                account,
                "a mail folder was not synchronised; `tiro sync` says why"
            );
        }
    }
    match (&report.error, report.offline) {
        (Some(error), true) => tracing::debug!(account, error, "offline"),
        (Some(error), false) => tracing::warn!(account, error, "mail was not synchronised"),
        (None, _) => {}
    }
}

#[cfg(test)]
mod tests {
    use std::{
        io::{BufRead as _, BufReader, Write as _},
        net::{TcpListener, TcpStream},
        sync::atomic::{AtomicUsize, Ordering},
    };

    use tools::{
        Journal, Retention,
        system::mail::outbox::{Outgoing, State},
    };

    use super::*;
    use crate::{config::Config, paths::Paths};

    /// Takes every message; counts them.
    fn server(got: Arc<AtomicUsize>) -> u16 {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        std::thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                let _ = converse(&client, &got);
            }
        });
        port
    }

    fn converse(mut client: &TcpStream, got: &AtomicUsize) -> std::io::Result<()> {
        client.write_all(b"220 here\r\n")?;
        let mut in_message = false;
        for line in BufReader::new(client).lines() {
            let line = line?;
            let answer = match (in_message, line.split(' ').next().unwrap_or_default()) {
                (true, ".") => {
                    got.fetch_add(1, Ordering::SeqCst);
                    in_message = false;
                    "250 taken"
                }
                (true, _) => continue,
                (false, "EHLO") => "250-here\r\n250 AUTH PLAIN",
                (false, "AUTH") => "235 welcome",
                (false, "DATA") => {
                    in_message = true;
                    "354 go on"
                }
                (false, "QUIT") => "221 bye",
                (false, _) => "250 fine",
            };
            client.write_all(format!("{answer}\r\n").as_bytes())?;
        }
        Ok(())
    }

    fn queue(post: &Post, account: &str) {
        let journal = Journal::at(&post.dirs.state, Retention::default());
        let mail = Outgoing {
            account: account.to_owned(),
            from: "ada@example.org".to_owned(),
            to: vec!["bob@example.org".to_owned()],
            message: format!(
                "From: ada@example.org\nSubject: {account}\nMessage-ID: <{account}@tiro>\n\nHi.\n"
            )
            .into_bytes(),
        };
        let outbox = Outbox::at(&post.dirs.state);
        outbox
            .queue(&journal.step("mail.send"), &mail, Duration::ZERO)
            .unwrap();
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn what_waits_goes_and_what_cannot_go_reaches_the_person() {
        let got = Arc::new(AtomicUsize::new(0));
        let port = server(Arc::clone(&got));
        let home = tempfile::tempdir().unwrap();
        let paths = Paths::under(home.path());
        let account = |name: &str, password: &str| {
            format!(
                "[[accounts.mail]]\nname = '{name}'\naddress = 'ada@example.org'\nsmtp = 'smtp://127.0.0.1:{port}'\n\
                 password_command = '{password}'\n"
            )
        };
        let toml = account("good", "echo x") + &account("bad", "false");
        let config: Config = toml::from_str(&toml).unwrap();
        let post = Post {
            accounts: super::super::accounts(&config).unwrap(),
            mail: config.mail(&paths),
            dirs: config.dirs(&paths),
        };
        for account in ["good", "bad", "unknown"] {
            queue(&post, account);
        }
        let (tell, stop) = watch::channel(false);
        let (events, mut told) = mpsc::channel(64);
        let running = tokio::spawn(keep_in_step(post.clone(), events, stop));
        let both = async {
            loop {
                let Some(Event::Noticed { source, texts }) = told.recv().await else {
                    panic!("something else happened");
                };
                assert_eq!(source, Source::Outbox);
                if texts.len() == 2 {
                    return texts;
                }
            }
        };
        let texts = tokio::time::timeout(Duration::from_secs(120), both)
            .await
            .unwrap();
        assert!(
            texts[0].contains("\"bad\" to bob@example.org waits. The password_command of the account bad"),
            "{texts:?}"
        );
        assert!(
            texts[1].contains("There is no account \"unknown\" that sends."),
            "{texts:?}"
        );
        tell.send(true).unwrap();
        tokio::time::timeout(Duration::from_secs(60), running)
            .await
            .unwrap()
            .unwrap();
        assert_eq!(got.load(Ordering::SeqCst), 1);
        let sent = std::fs::read_dir(post.dirs.mail.join(".Sent/cur"))
            .unwrap()
            .count();
        assert_eq!(sent, 1);
        let left = Outbox::at(&post.dirs.state).entries().unwrap();
        let left: Vec<_> = left
            .iter()
            .map(|e| (e.ticket.account.as_str(), e.state))
            .collect();
        assert_eq!(left, [("bad", State::Queued), ("unknown", State::Queued)]);
    }

    #[tokio::test]
    async fn a_change_of_a_mailbox_is_seen_once_it_rests() {
        let home = tempfile::tempdir().unwrap();
        let cur = home.path().join(".Sent/cur");
        std::fs::create_dir_all(&cur).unwrap();
        let seen = folders(home.path());
        assert_eq!(seen.len(), 4);
        std::fs::write(cur.join("1:2,S"), "x").unwrap();
        let waited = tokio::time::timeout(Duration::from_secs(120), changed(home.path(), seen)).await;
        assert!(waited.is_ok());
    }
}
