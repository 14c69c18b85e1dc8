//! The conversation, put aside while something is asked that does not go on from it.
//!
//! Its cells stay in the cache under a sequence of their own; nothing is copied. What comes next goes on from the conversation again,
//! and finds it evaluated.

use llama_cpp_2::token::LlamaToken;

use crate::{again::MAIN, session::Session};

/// The sequence of the conversation while it is aside; else empty.
const ASIDE: i32 = 2;

impl Session<'_> {
    /// Takes up the line that this prompt belongs to: puts the conversation aside for a prompt that stands beside it, and brings it
    /// back for one that goes on from it.
    pub(crate) fn turn_to(&mut self, prompt: &[LlamaToken], beside: bool) {
        match (beside, self.aside.is_empty()) {
            (true, true) => self.put_aside(prompt),
            (false, false) => self.bring_back(prompt),
            (true, false) | (false, true) => {}
        }
    }

    /// How many cells the conversation takes besides those that it still shares with what is held when that is cut back for this prompt.
    pub(crate) fn beside(&self, prompt: &[LlamaToken]) -> usize {
        let shared = self.shared.min(common(&self.held, prompt));
        self.aside.len().saturating_sub(shared)
    }

    /// Forgets the conversation that is aside.
    pub(crate) fn drop_aside(&mut self) {
        self.shared = 0;
        if !std::mem::take(&mut self.aside).is_empty() {
            self.empty(ASIDE);
        }
    }

    /// Puts the conversation aside for a prompt that does not go on from it.
    pub(crate) fn put_aside(&mut self, prompt: &[LlamaToken]) {
        let length = self.held.len();
        // What the prompt goes on from is not lost, and a cache that cannot be cut back cannot be divided either.
        if !self.whole || common(&self.held, prompt) == length {
            return;
        }
        if self.copy(MAIN, ASIDE, 0, length) && self.spans(ASIDE, 0, length) {
            self.aside.clone_from(&self.held);
            self.shared = length;
        } else {
            tracing::warn!("the conversation cannot be put aside");
            self.empty(ASIDE);
        }
    }

    fn bring_back(&mut self, prompt: &[LlamaToken]) {
        // A new conversation may have begun meanwhile.
        match common(&self.aside, prompt) > common(&self.held, prompt) {
            true => self.hold_aside(),
            false => self.drop_aside(),
        }
    }

    /// Holds the conversation again instead of what was asked beside it.
    pub(crate) fn hold_aside(&mut self) {
        let length = self.aside.len();
        self.clear();
        if self.copy(ASIDE, MAIN, 0, length) && self.spans(MAIN, 0, length) {
            self.held.clone_from(&self.aside);
        } else {
            tracing::warn!("the conversation cannot be brought back");
            self.clear();
        }
        self.drop_aside();
    }
}

/// How many tokens both begin with.
pub(crate) fn common(a: &[LlamaToken], b: &[LlamaToken]) -> usize {
    a.iter().zip(b).take_while(|(a, b)| a == b).count()
}
