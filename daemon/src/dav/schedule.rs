//! The daemon's own runs: one for each account every interval, and one some seconds after a file changed here. What
//! they find reaches the person.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant, SystemTime},
};

use tokio::sync::{mpsc, watch};
use tools::{Dirs, system::dav::Report};

use super::{Progress, run};
use crate::{
    config::DavAccount,
    run::{Event, Source},
};

/// How often the folders are looked at. A write replaces a file, which changes the time of its folder, so this costs
/// a few calls and sees what any program writes.
const LOOK: Duration = Duration::from_secs(2);
/// A change goes out when nothing has followed it for this long.
const QUIET: Duration = Duration::from_secs(5);
/// After a run that went wrong, a change here waits this long before it is tried again.
const PAUSE: Duration = Duration::from_secs(120);
/// What a run did on the way, such as keeping both of two versions, is shown for this long.
const SHOWN: Duration = Duration::from_secs(24 * 60 * 60);
/// As many sentences are kept of one account.
const MAX_FOUND: usize = 50;
/// As many collections as are looked at.
const MAX_FOLDERS: usize = 2000;

/// Keeps the accounts in step until `stop` says so. A run that goes on then ends at its next step, with all whole.
pub async fn keep_in_step(
    accounts: Vec<DavAccount>,
    dirs: Dirs,
    events: mpsc::Sender<Event>,
    mut stop: watch::Receiver<bool>,
) {
    let mut plans: Vec<(DavAccount, Plan, Found)> = accounts
        .into_iter()
        .filter_map(|account| {
            let every = account.interval.unless_zero()?;
            Some((account, Plan::new(every, Instant::now()), Found::default()))
        })
        .collect();
    if plans.is_empty() {
        return;
    }
    let quiet: Progress = Arc::new(|_| ());
    loop {
        for (account, plan, found) in &mut plans {
            let folders = folders(&dirs);
            if !plan.is_due(Instant::now(), &folders) {
                continue;
            }
            let report = tokio::select! {
                report = run(account, &dirs, false, Arc::clone(&quiet)) => report,
                _ = stop.wait_for(|stop| *stop) => return,
            };
            log(&report);
            let noticed = Event::Noticed {
                source: Source::Account(report.account.clone()),
                texts: found.of(&report, Instant::now()),
            };
            // Fails only when the daemon is stopping.
            let _ = events.send(noticed).await;
            plan.ran(Instant::now(), folders, &report);
        }
        tokio::select! {
            () = tokio::time::sleep(LOOK) => {}
            _ = stop.wait_for(|stop| *stop) => return,
        }
    }
}

/// When each folder last changed.
type Folders = BTreeMap<PathBuf, Option<SystemTime>>;

/// When one account is next.
#[derive(Debug)]
struct Plan {
    every: Duration,
    next: Instant,
    /// The folders as they were when the last run began.
    seen: Option<Folders>,
    /// The folders as they were a look ago, and since when.
    changed: Option<(Folders, Instant)>,
    /// No change goes out before this.
    not_before: Instant,
}

impl Plan {
    fn new(every: Duration, now: Instant) -> Plan {
        Plan {
            every,
            next: now,
            seen: None,
            changed: None,
            not_before: now,
        }
    }

    /// Whether it is time: the interval is over, or something changed here and has come to rest.
    fn is_due(&mut self, now: Instant, folders: &Folders) -> bool {
        if now >= self.next {
            return true;
        }
        if self.seen.as_ref() == Some(folders) {
            self.changed = None;
            return false;
        }
        match &self.changed {
            Some((same, since)) if same == folders => {
                now.duration_since(*since) >= QUIET && now >= self.not_before
            }
            _ => {
                self.changed = Some((folders.clone(), now));
                false
            }
        }
    }

    /// A run ended; `folders` is how they were before it. What the run itself wrote looks like one more change, and
    /// the short run that follows it finds nothing to do.
    fn ran(&mut self, now: Instant, folders: Folders, report: &Report) {
        self.next = now + self.every;
        self.seen = Some(folders);
        self.changed = None;
        self.not_before = if report.ok() { now } else { now + PAUSE };
    }
}

/// What the runs of one account found that the person should know.
#[derive(Debug, Default)]
struct Found {
    /// What happened on the way, and when it was said last.
    notes: Vec<(String, Instant)>,
    /// What is wrong as long as no run went well.
    errors: Vec<String>,
}

impl Found {
    /// Everything after one more run. A server that cannot be reached is no news: what changed here goes out later, and
    /// what was wrong before may still be.
    fn of(&mut self, report: &Report, now: Instant) -> Vec<String> {
        let account = report.account.as_str();
        if !report.offline {
            let whole = report
                .error
                .iter()
                .map(|error| format!("Account {account}: {error}"));
            let parts = report.collections.iter().filter_map(|synced| {
                let error = synced.error.as_ref()?;
                Some(format!("{} in the account {account}: {error}", synced.name))
            });
            self.errors = whole.chain(parts).take(MAX_FOUND).collect();
        }
        let notes = report.collections.iter().flat_map(|synced| {
            let name = &synced.name;
            let say = move |note: &String| format!("{name} in the account {account}: {note}");
            synced.notes.iter().map(say)
        });
        for note in notes {
            self.notes.retain(|(earlier, _)| *earlier != note);
            self.notes.push((note, now));
        }
        self.notes.retain(|(_, said)| now.duration_since(*said) < SHOWN);
        let surplus = self.notes.len().saturating_sub(MAX_FOUND);
        self.notes.drain(..surplus);
        let notes = self.notes.iter().map(|(note, _)| note.clone());
        self.errors.iter().cloned().chain(notes).collect()
    }
}

fn folders(dirs: &Dirs) -> Folders {
    let roots = [&dirs.calendars, &dirs.reminders, &dirs.contacts];
    let below = |root: &&PathBuf| std::fs::read_dir(root).into_iter().flatten().flatten();
    roots
        .iter()
        .flat_map(below)
        .take(MAX_FOLDERS)
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
        .map(|entry| {
            let path = entry.path();
            let changed = modified(&path);
            (path, changed)
        })
        .collect()
}

fn modified(path: &Path) -> Option<SystemTime> {
    std::fs::metadata(path).ok()?.modified().ok()
}

/// Numbers only: what the items are about is nobody's business in a log.
fn log(report: &Report) {
    let account = report.account.as_str();
    for synced in &report.collections {
        let (pulled, pushed, conflicts) = (synced.pulled, synced.pushed, synced.conflicts);
        let removed = synced.removed_here + synced.removed_there;
        if pulled + pushed + conflicts + removed > 0 {
            tracing::info!(account, pulled, pushed, removed, conflicts, "synchronised");
        }
        if synced.error.is_some() {
            tracing::warn!(account, "a collection was not synchronised; `tiro sync` says why");
        }
        tracing::debug!(account, ?synced, "synchronised");
    }
    match (&report.error, report.offline) {
        (Some(error), true) => tracing::debug!(account, error, "offline"),
        (Some(error), false) => tracing::warn!(account, error, "not synchronised"),
        (None, _) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(time: u64) -> Folders {
        let changed = SystemTime::UNIX_EPOCH + Duration::from_secs(time);
        BTreeMap::from([(PathBuf::from("/c"), Some(changed))])
    }

    #[test]
    fn changes_wait_for_rest_and_failures_for_a_pause() {
        let start = Instant::now();
        let after = |seconds| start + Duration::from_secs(seconds);
        let (good, bad) = (
            Report::default(),
            Report {
                error: Some("no".into()),
                ..Report::default()
            },
        );
        let mut plan = Plan::new(Duration::from_secs(900), start);
        assert!(plan.is_due(start, &at(0)), "at the start");
        plan.ran(start, at(0), &good);
        assert!(!plan.is_due(after(10), &at(0)), "nothing changed");
        assert!(!plan.is_due(after(20), &at(1)), "just changed");
        assert!(!plan.is_due(after(24), &at(1)), "not at rest");
        assert!(!plan.is_due(after(25), &at(2)), "changed again");
        assert!(plan.is_due(after(30), &at(2)), "at rest");
        plan.ran(after(31), at(2), &bad);
        assert!(!plan.is_due(after(40), &at(3)));
        assert!(!plan.is_due(after(60), &at(3)), "the server failed a moment ago");
        assert!(plan.is_due(after(152), &at(3)));
        plan.ran(after(153), at(3), &good);
        assert!(!plan.is_due(after(1000), &at(3)));
        assert!(plan.is_due(after(1053), &at(3)), "the interval is over");
    }

    #[test]
    fn what_is_found_lasts_as_long_as_it_is_so() {
        let start = Instant::now();
        let after = |hours: u64| start + Duration::from_secs(hours * 3600);
        let report = |error: Option<&str>, offline: bool, note: Option<&str>| Report {
            account: "home".into(),
            error: error.map(Into::into),
            offline,
            collections: vec![tools::system::dav::Synced {
                name: "Work".into(),
                notes: note.into_iter().map(Into::into).collect(),
                ..Default::default()
            }],
        };
        let mut found = Found::default();
        let login = "Account home: no login";
        let kept = "Work in the account home: Both were kept.";
        assert_eq!(found.of(&report(None, false, None), start), [""; 0]);
        assert_eq!(
            found.of(&report(Some("no login"), false, None), after(1)),
            [login]
        );
        assert_eq!(
            found.of(&report(Some("unreachable"), true, None), after(2)),
            [login],
            "offline says nothing"
        );
        let with = report(None, false, Some("Both were kept."));
        assert_eq!(found.of(&with, after(3)), [kept]);
        assert_eq!(found.of(&with, after(4)), [kept], "not twice");
        assert_eq!(found.of(&report(None, false, None), after(27)), [kept]);
        assert_eq!(found.of(&report(None, false, None), after(29)), [""; 0]);
        for n in 0..200 {
            let found = found.of(&report(None, false, Some(&n.to_string())), after(30));
            assert!(found.len() <= MAX_FOUND);
        }
    }

    #[tokio::test]
    async fn an_account_that_cannot_log_in_reaches_the_person() {
        let server = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = server.local_addr().unwrap();
        std::thread::spawn(move || {
            use std::io::{Read as _, Write as _};
            for mut client in server.incoming().map_while(Result::ok) {
                let _ = client.read(&mut [0; 4096]);
                let _ = client.write_all(
                    b"HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
                );
            }
        });
        let home = tempfile::tempdir().unwrap();
        let (_tell, stop) = watch::channel(false);
        let (events, mut told) = mpsc::channel(8);
        let config: crate::config::Config = toml::from_str(&format!(
            "[[accounts.dav]]\nname = 'home'\nurl = 'http://{address}'\nuser = 'a'\npassword_command = 'echo x'"
        ))
        .unwrap();
        let dirs = Dirs::under(home.path());
        let running = tokio::spawn(keep_in_step(config.accounts.dav, dirs, events, stop));
        let event = tokio::time::timeout(Duration::from_secs(60), told.recv()).await;
        let Some(Event::Noticed { source, texts }) = event.unwrap() else {
            panic!("something else happened");
        };
        assert_eq!(source, Source::Account("home".into()));
        assert_eq!(texts.len(), 1, "{texts:?}");
        assert!(
            texts[0].contains("refused the user name or the password"),
            "{texts:?}"
        );
        running.abort();
    }

    #[tokio::test]
    async fn it_ends_when_told() {
        let home = tempfile::tempdir().unwrap();
        let (tell, stop) = watch::channel(false);
        let (events, _told) = mpsc::channel(8);
        let config: crate::config::Config = toml::from_str(
            "[[accounts.dav]]\nname = 'home'\nurl = 'http://127.0.0.1:9'\nuser = 'a'\npassword_command = 'echo x'",
        )
        .unwrap();
        let running = tokio::spawn(keep_in_step(
            config.accounts.dav,
            Dirs::under(home.path()),
            events,
            stop,
        ));
        tokio::time::sleep(Duration::from_millis(50)).await;
        tell.send(true).unwrap();
        tokio::time::timeout(Duration::from_secs(10), running)
            .await
            .unwrap()
            .unwrap();
    }
}
