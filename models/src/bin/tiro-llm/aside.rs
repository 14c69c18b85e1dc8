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

    /// How many cells the conversation takes besides those that it shares with this prompt.
    pub(crate) fn beside(&self, prompt: &[LlamaToken]) -> usize {
        self.aside.len() - common(&self.aside, prompt)
    }

    /// Forgets the conversation that is aside.
    pub(crate) fn drop_aside(&mut self) {
        if !std::mem::take(&mut self.aside).is_empty() {
            self.empty(ASIDE);
        }
    }

    pub(crate) fn put_aside(&mut self, prompt: &[LlamaToken]) {
        let length = self.held.len();
        // What the prompt goes on from is not lost, and a cache that cannot be cut back cannot be divided either.
        if !self.whole || common(&self.held, prompt) == length {
            return;
        }
        if self.copy(MAIN, ASIDE, 0, length) && self.spans(ASIDE, 0, length) {
            self.aside.clone_from(&self.held);
        } else {
            tracing::warn!("the conversation cannot be put aside");
            self.empty(ASIDE);
        }
    }

    fn bring_back(&mut self, prompt: &[LlamaToken]) {
        // A new conversation may have begun meanwhile.
        if common(&self.aside, prompt) > common(&self.held, prompt) {
            let length = self.aside.len();
            self.clear();
            if self.copy(ASIDE, MAIN, 0, length) && self.spans(MAIN, 0, length) {
                self.held.clone_from(&self.aside);
            } else {
                tracing::warn!("the conversation cannot be brought back");
                self.clear();
            }
        }
        self.drop_aside();
    }
}

/// How many tokens both begin with.
pub(crate) fn common(a: &[LlamaToken], b: &[LlamaToken]) -> usize {
    a.iter().zip(b).take_while(|(a, b)| a == b).count()
}
