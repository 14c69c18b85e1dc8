//! Keeps the index of mail up while nobody asks, so that the first question of the day finds what came in the night, and one
//! right after a new mail has nothing to read. Whoever asks does the same work where this has not come to it yet; each takes
//! over from the other, a batch at a time.

use std::{
    path::PathBuf,
    time::{Duration, Instant, SystemTime},
};

use tools::{
    Dirs,
    system::mail::{self, Depth, Index},
};

/// When the daemon is ready the first words may be on their way, and they come first.
pub const BEGIN: Duration = Duration::from_secs(20);
/// How often the folders are looked at.
const LOOK: Duration = Duration::from_secs(2);
/// How long one go reads; the daemon ends no sooner.
const GO: Duration = Duration::from_secs(1);
/// Between two goes of a long work, for everything else that this machine does.
const REST: Duration = Duration::from_secs(1);
/// A folder that changed this short a time ago may have changed again unnoticed: some file systems count in two seconds.
const UNSETTLED: Duration = Duration::from_secs(3);

/// Reads what is new until it is dropped.
pub async fn keep_indexed(dirs: Dirs, begin: Duration) {
    tokio::time::sleep(begin).await;
    let mut known = Known::default();
    loop {
        let dirs = dirs.clone();
        let step = tokio::task::spawn_blocking(move || {
            let left = known.step(&dirs);
            (known, left)
        });
        let Ok((next, left)) = step.await else {
            tracing::warn!("mail is indexed when it is asked for");
            return;
        };
        known = next;
        tokio::time::sleep(if left > 0 { REST } else { LOOK }).await;
    }
}

/// What the folders were like when all in them had been read.
#[derive(Debug, Default)]
struct Known(Option<Vec<(PathBuf, Option<SystemTime>)>>);

impl Known {
    /// Reads what is new, for a while. Says how many messages are left to be read.
    fn step(&mut self, dirs: &Dirs) -> usize {
        // Before it is read: what comes meanwhile is new the next time.
        let now = stamps(dirs);
        if self.0.as_ref() == Some(&now) || now.is_empty() {
            return 0;
        }
        let begun = Instant::now();
        match Index::open(dirs, Depth::Text, GO) {
            Ok(index) => {
                tracing::debug!(
                    left = index.left,
                    ms = begun.elapsed().as_millis(),
                    "mail indexed"
                );
                self.0 = (index.left == 0 && is_settled(&now)).then_some(now);
                index.left
            }
            // Whoever asks is told; here it would be said every two seconds.
            Err(error) => {
                tracing::debug!(%error, "mail is not indexed");
                self.0 = Some(now);
                0
            }
        }
    }
}

/// When each folder last changed: every change of a Maildir gives a file in one of these another name.
fn stamps(dirs: &Dirs) -> Vec<(PathBuf, Option<SystemTime>)> {
    let folders = mail::folders(&dirs.mail).unwrap_or_default();
    let parts = folders
        .iter()
        .flat_map(|folder| ["cur", "new"].map(|part| folder.path.join(part)));
    parts
        .map(|path| {
            let changed = std::fs::metadata(&path).and_then(|meta| meta.modified()).ok();
            (path, changed)
        })
        .collect()
}

fn is_settled(stamps: &[(PathBuf, Option<SystemTime>)]) -> bool {
    let settled = |changed: &SystemTime| changed.elapsed().is_ok_and(|age| age > UNSETTLED);
    stamps
        .iter()
        .filter_map(|(_, changed)| changed.as_ref())
        .all(settled)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use tools::system::mail::Query;

    use super::*;

    const MAILS: usize = 450;

    fn put(dirs: &Dirs, file: &str, word: &str) {
        let path = dirs.mail.join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(
            path,
            format!("From: anna@x.org\nSubject: {file}\n\nThe {word}.\n"),
        )
        .unwrap();
    }

    /// What is known without reading anything more than one batch now.
    fn known(dirs: &Dirs) -> usize {
        Index::open(dirs, Depth::Text, Duration::ZERO).unwrap().left
    }

    #[test]
    fn each_step_reads_what_is_new_and_then_there_is_nothing_to_do() {
        let home = tempfile::tempdir().unwrap();
        let dirs = Dirs::under(home.path());
        let mut state = Known::default();
        assert_eq!(state.step(&dirs), 0, "there is no mailbox");
        assert!(!dirs.state.join("mail.db").exists());
        for n in 0..MAILS {
            put(&dirs, &format!("cur/{n}.a:2,S"), "walrus");
        }
        let begun = Instant::now();
        while state.step(&dirs) > 0 {
            assert!(begun.elapsed() < Duration::from_secs(120));
        }
        assert_eq!(state.0, None, "what changed this moment is looked at again");
        let old = SystemTime::now() - Duration::from_secs(60);
        fs::File::open(dirs.mail.join("cur"))
            .unwrap()
            .set_modified(old)
            .unwrap();
        while state.step(&dirs) > 0 {}
        let seen = state.0.clone().unwrap();
        assert_eq!(seen.len(), 2);
        assert_eq!(state.step(&dirs), 0);
        assert_eq!(known(&dirs), 0, "nothing is left for who asks");
        // It is not opened again while nothing changes.
        let file = dirs.state.join("mail.db-wal");
        let before = fs::metadata(&file).unwrap().modified().unwrap();
        std::thread::sleep(Duration::from_millis(20));
        assert_eq!(state.step(&dirs), 0);
        assert_eq!(fs::metadata(&file).unwrap().modified().unwrap(), before);
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn mail_that_comes_is_indexed_though_nobody_asks() {
        let home = tempfile::tempdir().unwrap();
        let dirs = Dirs::under(home.path());
        for n in 0..MAILS {
            put(&dirs, &format!("cur/{n}.a:2,S"), "walrus");
        }
        let keeping = tokio::spawn(keep_indexed(dirs.clone(), Duration::ZERO));
        // Not asked but looked at, since asking reads a batch itself: it has written after this moment, and rests.
        let rests = async |since: SystemTime| {
            let begun = Instant::now();
            let written = || fs::metadata(dirs.state.join("mail.db-wal")).and_then(|meta| meta.modified());
            while !written().is_ok_and(|at| at > since && at.elapsed().is_ok_and(|age| age > LOOK * 3)) {
                assert!(
                    begun.elapsed() < Duration::from_secs(120),
                    "it does not come to rest"
                );
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        };
        rests(SystemTime::UNIX_EPOCH).await;
        assert_eq!(known(&dirs), 0, "three batches were read, and asking reads one");
        let since = SystemTime::now();
        for n in 0..MAILS {
            put(&dirs, &format!("new/{n}.b"), "octopus");
        }
        rests(since).await;
        let index = Index::open(&dirs, Depth::Text, Duration::ZERO).unwrap();
        assert_eq!(index.left, 0);
        let query = Query {
            words: "octopus".to_owned(),
            ..Query::default()
        };
        assert_eq!(index.find(&query, 1).unwrap().count, MAILS);
        keeping.abort();
    }
}
