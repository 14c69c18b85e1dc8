//! What somebody sees who glances at Tiro: the status icon shows it.

use tools::system::plain;

use super::{Daemon, front::lock};
use crate::reply::State;

/// Longest answer that is kept to be shown.
const MAX_ANSWER: usize = 300;

/// How the daemon looks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Look {
    /// What goes on.
    pub state: State,
    /// Whether the person muted the microphone.
    pub muted: bool,
    /// Whether a question is open.
    pub asks: bool,
    /// Whether there is something to cancel.
    pub busy: bool,
    /// Whether something is wrong that `tiro status` tells.
    pub problem: bool,
    /// The last answer, on one line; empty before the first.
    pub answer: String,
}

impl Default for Look {
    fn default() -> Look {
        Look {
            state: State::Idle,
            muted: false,
            asks: false,
            busy: false,
            problem: false,
            answer: String::new(),
        }
    }
}

impl Daemon {
    /// Shows how it is now, if that is new.
    pub(super) fn show(&self) {
        let now = Look {
            state: self.shown(),
            muted: self.mute.is(),
            asks: lock(&self.questions).open().is_some(),
            busy: self.running.is_some() || self.speaks() || self.open.is_some() || !self.closing.is_empty(),
            problem: self.notices.any(),
            answer: self.answer.clone(),
        };
        self.look.send_if_modified(|look| {
            let new = *look != now;
            *look = now;
            new
        });
    }

    /// Keeps what was answered.
    pub(super) fn keep_answer(&mut self, reply: &str) {
        self.answer = plain::one_line(reply, MAX_ANSWER);
    }
}
