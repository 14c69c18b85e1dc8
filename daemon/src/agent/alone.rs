//! Requests that stand for themselves.
//!
//! Where nothing in the words points back and no question of Tiro's is open, the model is asked about the request alone. What was said
//! before would only distract a small model from it, and a tool that is found then stands where it stands in every new conversation,
//! so its state comes from disk. Taint, rules and consent look at the whole conversation as ever. The turn is part of it all the same, and
//! what goes on from it sees all of it.

use prompts::{Card, Placement};

use super::{Agent, Ask, Turn, conversation::points_back, toolbox::Toolbox};

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
        // After the turn of somebody else such words go on from the turn before that.
        let alone = self.talk.has_past() && !points_back(text);
        (there && can && alone).then(|| self.shown_again(found, text))
    }

    /// What is shown of found tools in this step, if the model is asked about the request alone. The model may be another one than when
    /// the turn was opened.
    pub(super) fn alone(&self) -> Option<&[Card]> {
        let alone = self.turn.alone.as_deref();
        alone.filter(|_| !self.renderer.dialect().takes_messages())
    }

    /// The question of the open turn with all of the conversation, because another request of the same sentence goes on from it: the
    /// conversation is then evaluated up to there.
    pub(super) fn with_conversation(&mut self) -> Ask {
        self.turn.alone = None;
        self.ask()
    }
}

impl Turn {
    /// From now on the model sees these found tools and the core ones, and is offered no others.
    pub(super) fn show_alone(&mut self, shown: Vec<Card>, toolbox: &Toolbox) {
        self.must_call
            .retain(|(name, _)| toolbox.is_core(name) || shown.iter().any(|card| card.name == *name));
        self.alone = Some(shown);
    }

    /// From now on the model is free, after a mistake or a search: it may want any tool of the conversation.
    pub(super) fn frees(&mut self) {
        self.must_call.clear();
        self.alone = None;
    }
}
