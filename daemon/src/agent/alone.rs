//! Requests that stand for themselves.
//!
//! Where nothing in the words points back and no question of Tiro's is open, the model is asked about the request alone. What was said
//! before would only distract a small model from it, and a tool that is found then stands where it stands in every new conversation,
//! so its state comes from disk. Such a request is answered the same whatever was said before it. The turn is part of the conversation
//! all the same, and what goes on from it sees all of it.

use prompts::{Card, Placement};

use super::{Agent, Turn, toolbox::Toolbox};

impl Agent {
    /// What the model is shown of found tools when it is asked about these words alone; `None` where that is the whole prompt anyway, or
    /// where the tool that fits best is not among them. `found` are the tools that the words found, best first.
    pub(super) fn stands_alone(
        &self,
        must_call: &[(String, f32)],
        found: &[String],
        text: &str,
    ) -> Option<Vec<Card>> {
        let (best, _) = must_call.first()?;
        let there = self.toolbox.is_core(best) || found.contains(best);
        // A server keeps the state of its own prompts, and section 3 shows what the whole conversation has found.
        let can = self.settings.placement == Placement::Tail && !self.renderer.dialect().takes_messages();
        (there && can && self.talk.has_past()).then(|| self.shown_again(found, text))
    }

    /// What is shown of found tools in this step, if the model is asked about the request alone. A model that is free again, after a
    /// mistake or a search, may want any tool of the conversation.
    pub(super) fn alone(&self) -> Option<&[Card]> {
        let alone = self.turn.alone.as_deref();
        alone.filter(|_| !self.turn.must_call.is_empty())
    }
}

impl Turn {
    /// From now on the model sees these found tools and the core ones, and is offered no others.
    pub(super) fn show_alone(&mut self, shown: Vec<Card>, toolbox: &Toolbox) {
        self.must_call
            .retain(|(name, _)| toolbox.is_core(name) || shown.iter().any(|card| card.name == *name));
        self.alone = Some(shown);
    }
}
