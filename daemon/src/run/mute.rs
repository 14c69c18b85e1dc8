//! The microphone muted by the person: kept over restarts, because who muted it in the evening counts on it in the morning.

use std::{
    io::ErrorKind,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
};

use prompts::words;
use tokio::sync::mpsc;
use tools::system::store::{self, StoreError};

use super::{Event, Source, front::lock};
use crate::act::Writing;

/// The file that is there while it is muted.
const FILE: &str = "microphone-muted";

/// Whether the microphone is muted.
pub struct Mute {
    now: Arc<AtomicBool>,
    /// Writes come one after the other, and the last one writes what holds.
    turn: Arc<Mutex<()>>,
    state: PathBuf,
    events: mpsc::Sender<Event>,
}

/// Whether it was left muted below this folder. Where that cannot be told it is, which harms less than the opposite.
pub fn is_muted(state: &Path) -> bool {
    let file = state.join(FILE).symlink_metadata();
    !file.is_err_and(|error| error.kind() == ErrorKind::NotFound)
}

impl Mute {
    /// As it was left below this folder.
    pub fn kept(state: &Path, events: mpsc::Sender<Event>) -> Mute {
        Mute {
            now: Arc::new(AtomicBool::new(is_muted(state))),
            turn: Arc::default(),
            state: state.to_owned(),
            events,
        }
    }

    /// Whether it is.
    pub fn is(&self) -> bool {
        self.now.load(Ordering::Relaxed)
    }

    /// Asked for by others, for whom it holds at that moment.
    pub fn watched(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.now)
    }

    /// Mutes it or opens it again, and keeps that. What cannot be kept holds all the same, and the person is told.
    /// Whether that is new.
    pub fn set(&self, muted: bool) -> bool {
        let new = self.now.swap(muted, Ordering::Relaxed) != muted;
        let (now, turn, state) = (self.watched(), Arc::clone(&self.turn), self.state.clone());
        let (events, writing) = (self.events.clone(), Writing::begin());
        tokio::task::spawn_blocking(move || {
            let _writing = writing;
            let _turn = lock(&turn);
            let kept = keep(&state, now.load(Ordering::Relaxed));
            if let Err(error) = &kept {
                tracing::warn!(%error, "the microphone's state cannot be kept");
            }
            let noticed = Event::Noticed {
                source: Source::Mute,
                texts: kept.err().map(|_| words::mute_not_kept()).into_iter().collect(),
            };
            // A loop that is full has more to do, and it stands in the log.
            let _ = events.try_send(noticed);
        });
        new
    }
}

fn keep(state: &Path, muted: bool) -> Result<(), StoreError> {
    let path = state.join(FILE);
    if muted {
        store::make_folder(state)?;
        return store::replace(&path, b"`tiro listen unmute` takes this file away.\n");
    }
    match std::fs::remove_file(&path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(StoreError::of(&path, error)),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    /// Waits until nothing is written any more.
    async fn settled(inbox: &mut mpsc::Receiver<Event>) -> Vec<String> {
        match inbox.recv().await {
            Some(Event::Noticed { source, texts }) => {
                assert_eq!(source, Source::Mute);
                texts
            }
            _ => panic!("not told"),
        }
    }

    #[tokio::test]
    async fn what_was_muted_stays_so_over_a_restart() {
        let home = tempfile::tempdir().unwrap();
        let state = home.path().join("state");
        let (events, mut inbox) = mpsc::channel(8);
        let kept = || Mute::kept(&state, events.clone());
        let mute = kept();
        assert!(!mute.is());
        assert!(
            mute.set(true) && !mute.set(true),
            "the second time is nothing new"
        );
        for _ in 0..2 {
            assert_eq!(settled(&mut inbox).await, [""; 0]);
        }
        assert!(mute.is() && kept().is());
        let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&state), mode(&state.join(FILE))), (0o700, 0o600));
        // The last word counts, however they overtake one another.
        for muted in [false, true, false] {
            mute.set(muted);
        }
        for _ in 0..3 {
            assert_eq!(settled(&mut inbox).await, [""; 0]);
        }
        assert!(!mute.is() && !kept().is());
    }

    #[tokio::test]
    async fn what_cannot_be_kept_holds_and_is_told() {
        let home = tempfile::tempdir().unwrap();
        let state = home.path().join("state");
        std::fs::write(&state, "a file where the folder should be").unwrap();
        let (events, mut inbox) = mpsc::channel(8);
        let mute = Mute::kept(&state, events);
        assert!(mute.is(), "nobody can tell that it was not");
        mute.set(false);
        settled(&mut inbox).await;
        assert!(mute.set(true) && mute.is());
        assert_eq!(settled(&mut inbox).await, [words::mute_not_kept()]);
    }
}
