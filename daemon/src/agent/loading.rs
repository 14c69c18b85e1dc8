//! Which schemas the conversation shows: loaded ahead, loaded because the model asked, loaded again, and taken out.

use prompts::{Message, Placement, Rendered};
use serde_json::Value;
use tools::discover::Match;

use super::{Agent, calls, rules::Phase, toolbox::Loaded};

/// A deferred tool is loaded ahead when it is at least this share as likely as the best one: to take one that is less
/// likely the model would have to be very sure against the index, and its schema costs a hundred tokens each time.
const NEAR_BEST: f32 = 0.5;

/// The same when the best one is a core tool, whose schema the model has anyway: then another is likelier to be a
/// waste of a hundred tokens.
const NEAR_CORE: f32 = 0.5;

impl Agent {
    /// Loads again what was loaded before this conversation.
    pub(super) fn take_up(&mut self, said: &str) -> Vec<prompts::Card> {
        let kept = std::mem::take(&mut self.kept);
        let cards = self.load(kept.iter().map(|one| one.name.clone()).collect(), Some(said));
        for one in kept {
            if self.toolbox.is_loaded(&one.name) {
                self.toolbox.used(&one.name, one.used);
            } else if self.toolbox.forbids(Phase::Load, &one.name) {
                // Not for this request.
                self.kept.push(one);
            }
        }
        cards
    }

    /// Takes schemas out of the messages that showed them.
    pub(super) fn unload(&mut self, gone: &[Loaded]) {
        if !gone.is_empty() {
            let names: Vec<&str> = gone.iter().map(|one| one.name.as_str()).collect();
            tracing::debug!(?names, "unloaded");
            self.talk.unload(&names);
        }
    }

    /// Unloads what is over the budget.
    pub(super) fn make_room(&mut self) -> Vec<Loaded> {
        let crowded = self.toolbox.make_room();
        self.unload(&crowded);
        crowded
    }

    /// What the person's own words fit and is loaded ahead, best first, so that most deferred requests need no discovery round trip. A
    /// tool that fits much worse than the best one only costs tokens.
    pub(super) fn near(&self, fit: Vec<Match>) -> Vec<String> {
        if !self.settings.loading.lazy || !self.settings.pre_discover {
            return Vec::new();
        }
        let Some(best) = fit.first() else {
            return Vec::new();
        };
        let near = if self.toolbox.is_core(&best.name) {
            NEAR_CORE
        } else {
            NEAR_BEST
        };
        let enough = self.settings.show_score.max(best.score * near);
        let near = fit
            .into_iter()
            .take(self.settings.top_k)
            .filter(|hit| hit.score >= enough)
            // What a match rests on are words that somebody said.
            .inspect(|hit| tracing::debug!(tool = hit.name, score = hit.score, why = hit.why, "found ahead"));
        near.map(|hit| hit.name).collect()
    }

    /// Loads schemas, best first, each with the calls that are most like what was said, if that stands for itself: where it goes
    /// on from something, the words of the calls would be copied from there. A tool that is loaded keeps what it came with. With
    /// placement `System` they stand in section 3, so the message that found them carries none.
    pub(super) fn load(&mut self, names: Vec<String>, said: Option<&str>) -> Vec<prompts::Card> {
        let mut cards = self.toolbox.load(&names);
        choose_calls(&mut cards, names.first(), said);
        match self.settings.placement {
            Placement::Tail => cards,
            Placement::System => Vec::new(),
        }
    }

    /// What the model is shown of tools that are loaded, where their messages are left out: the same as if they had been found now.
    pub(super) fn shown_again(&self, names: &[String], said: &str) -> Vec<prompts::Card> {
        let cards = names.iter().filter(|name| self.toolbox.is_loaded(name));
        let mut cards: Vec<_> = cards.filter_map(|name| self.toolbox.found_card(name)).collect();
        choose_calls(&mut cards, names.first(), Some(said));
        cards
    }

    /// In how many orders the calls of a tool may be the nearest to what is said.
    pub fn beginnings(&self, tool: &str) -> usize {
        self.orders(tool).len()
    }

    /// What new conversations begin with that find this tool first, up to the end of what is shown of it, with its calls in the order of
    /// this number. Nothing where such conversations have no beginning in common.
    pub fn beginning(&self, tool: &str, order: usize) -> Option<Rendered> {
        let calls = self.orders(tool).into_iter().nth(order)?;
        let mut new = self.clone();
        new.forget();
        let cards = new.load(vec![tool.to_owned()], None).into_iter();
        let shown = cards.map(|card| prompts::Card {
            calls: calls.clone(),
            ..card
        });
        let mut rendered = new.showing(shown.collect());
        let end = rendered.found.stretches.last()?.end;
        rendered.pieces.truncate(end);
        Some(rendered)
    }

    fn orders(&self, tool: &str) -> Vec<Vec<(String, Value)>> {
        let all = self.toolbox.found_card(tool).map(|card| card.calls);
        calls::orders(&all.unwrap_or_default())
    }

    /// What the next request goes on from, to be evaluated while nobody waits: the conversation so far, and what stands before the first
    /// tool that such a request finds.
    pub fn next(&self) -> Rendered {
        let unseen = self.toolbox.deferred().find(|name| !self.toolbox.is_loaded(name));
        let unseen = unseen.into_iter().map(str::to_owned).collect();
        let mut new = self.clone();
        let unseen = new.load(unseen, None);
        let (so_far, mut rendered) = (self.transcript(), new.showing(unseen));
        // There is no such place where tools are shown otherwise.
        match rendered.found.stretches.pop() {
            Some(tool) if rendered.found.stretches.len() == so_far.found.stretches.len() => {
                rendered.pieces.truncate(tool.start);
                rendered
            }
            _ => so_far,
        }
    }

    /// The prompt with a message behind it that finds these tools and says nothing.
    fn showing(&self, discovered: Vec<prompts::Card>) -> Rendered {
        let mut messages = self.talk.messages();
        messages.push(Message::User {
            text: String::new(),
            context: String::new(),
            discovered,
        });
        self.renderer.render(&self.sections(), &messages)
    }

    /// Loads what the model asked for.
    pub(super) fn load_later(&mut self, names: Vec<String>) -> Vec<prompts::Card> {
        let before = self.toolbox.loaded_tokens();
        let said = self.talk.said().last().copied().unwrap_or_default().to_owned();
        let cards = self.load(names, Some(&said));
        self.found.later += self.toolbox.loaded_tokens().saturating_sub(before);
        self.make_room();
        cards
    }

    /// With placement `Tail` a schema lives in the message that found it: what no message shows is not loaded.
    pub(super) fn forget_unshown(&mut self) {
        if self.settings.placement == Placement::Tail {
            let gone = self.toolbox.keep_only(&self.talk.shown());
            if self.toolbox.keeps() {
                // The turn that showed them was taken back; the next one shows them again.
                self.kept.extend(gone);
            }
        }
    }
}

/// Leaves of the calls to go by those that are most like what was said; more of the tool that fits best.
fn choose_calls(cards: &mut [prompts::Card], best: Option<&String>, said: Option<&str>) {
    for card in cards {
        let all = std::mem::take(&mut card.calls);
        let most = match best == Some(&card.name) {
            true => calls::OF_BEST,
            false => calls::OF_OTHERS,
        };
        card.calls = said.map_or_else(Vec::new, |said| calls::nearest(all, said, most));
    }
}
