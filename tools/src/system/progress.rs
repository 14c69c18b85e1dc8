//! How far a piece of work is that takes its time, and whether anybody still wants it. A thread that copies a disk can be
//! told by nothing else: whoever runs the call holds one end, the work the other.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use tokio::sync::watch;

/// One call's work; cheap to clone, and every clone is the same one.
#[derive(Debug, Clone, Default)]
pub struct Progress(Arc<State>);

#[derive(Debug)]
struct State {
    stopped: AtomicBool,
    abandoned: AtomicBool,
    percent: watch::Sender<u8>,
}

impl Default for State {
    fn default() -> State {
        State {
            stopped: AtomicBool::default(),
            abandoned: AtomicBool::default(),
            percent: watch::Sender::new(0),
        }
    }
}

impl Progress {
    /// So much of all is done.
    pub fn tell(&self, done: u64, all: u64) {
        let share = u128::from(done) * 100 / u128::from(all.max(1));
        let percent = u8::try_from(share.min(100)).unwrap_or(100);
        self.0
            .percent
            .send_if_modified(|told| std::mem::replace(told, percent) != percent);
    }

    /// In percent, as it was told last and from now on.
    pub fn percent(&self) -> watch::Receiver<u8> {
        self.0.percent.subscribe()
    }

    /// Nobody wants it any more. Work that cannot stop halfway goes on.
    pub fn stop(&self) {
        self.0.stopped.store(true, Ordering::Release);
    }

    /// Whether somebody still wants it.
    pub fn is_wanted(&self) -> bool {
        !self.0.stopped.load(Ordering::Acquire)
    }

    /// The work has stopped because nobody wanted it, and everything is as it was before.
    pub fn abandon(&self) {
        self.0.abandoned.store(true, Ordering::Release);
    }

    /// Whether it has.
    pub fn is_abandoned(&self) -> bool {
        self.0.abandoned.load(Ordering::Acquire)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_share_is_told_when_it_changes() {
        let progress = Progress::default();
        let mut percent = progress.percent();
        for (done, all, expect) in [
            (0, 0, None),
            (1, 1000, None),
            (10, 1000, Some(1)),
            (19, 1000, None),
            (u64::MAX, u64::MAX, Some(100)),
            (9, 3, None),
        ] {
            progress.tell(done, all);
            let news = percent
                .has_changed()
                .unwrap()
                .then(|| *percent.borrow_and_update());
            assert_eq!(news, expect, "{done} of {all}");
        }
        let other = progress.clone();
        assert!(progress.is_wanted() && !progress.is_abandoned());
        other.stop();
        other.abandon();
        assert!(!progress.is_wanted() && progress.is_abandoned());
    }
}
