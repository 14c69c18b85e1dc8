//! Who waits for whom: the person's own requests go before those of guests, and a guest's turn that has changed and said nothing
//! yet gives way to the person and is begun again. So what makes the person wait is at most something that they agreed to.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use tokio::sync::Notify;

use super::{Asking, Daemon};

/// Requests of the person, and as many of guests, that may wait. A person does not have more on their mind, a broken script may.
pub(super) const MAX_WAITING: usize = 8;

/// How a turn is told that the person wants something.
#[derive(Clone, Default)]
pub(super) struct Way {
    wanted: Arc<Notify>,
    /// Whether the turn changed or said something, or the person agreed to that: then it is not begun a second time.
    begun: Arc<AtomicBool>,
}

impl Way {
    /// From now on it is not begun a second time. Called from within the turn itself, so that nothing comes between this and
    /// what it does.
    pub(super) fn begin(&self) {
        self.begun.store(true, Ordering::Release);
    }

    /// Comes to its end when the turn has to make way, and can. To be waited for in the same task as the turn.
    pub(super) async fn given(&self) {
        loop {
            self.wanted.notified().await;
            if !self.begun.load(Ordering::Acquire) {
                return;
            }
        }
    }
}

impl Daemon {
    /// Begins a turn, or lets it wait for its place.
    pub(super) fn ask(&mut self, asking: Asking) {
        if self.running.is_none() && !self.listens() {
            return self.begin(asking);
        }
        let is_guest = asking.guest.is_some();
        let alike = self.waiting.iter().filter(|one| one.guest.is_some() == is_guest);
        if alike.count() >= MAX_WAITING {
            let _ = asking
                .reply
                .send(Err(format!("{MAX_WAITING} requests are waiting already")));
        } else if is_guest {
            self.waiting.push_back(asking);
        } else {
            self.wait_before_guests(asking);
            self.make_way();
        }
    }

    fn wait_before_guests(&mut self, asking: Asking) {
        let guest = self.waiting.iter().position(|one| one.guest.is_some());
        self.waiting.insert(guest.unwrap_or(self.waiting.len()), asking);
    }

    /// The person wants something: a guest's turn is not in their way.
    pub(super) fn make_way(&self) {
        if let Some(way) = self.running.as_ref().and_then(|running| running.way.as_ref()) {
            way.wanted.notify_one();
        }
    }

    /// A guest's turn gave way; it is begun again as soon as the person wants nothing more.
    pub(super) fn gave_way(&mut self, number: u64, asking: Asking) {
        if self
            .running
            .as_ref()
            .is_none_or(|running| running.number != number)
        {
            // It was withdrawn meanwhile.
            return;
        }
        self.wait_before_guests(asking);
        self.next();
    }
}
