//! What the model is offered: the prompt as it is now, and what it may write next.

use std::borrow::Cow;

use prompts::{Card, Chat, Placement, Sections};
use serde_json::Value;
use tools::{Effect, Entry};

use super::{Agent, Answer, Ask, Opening, grammar, toolbox::DISCOVER};

/// A server chooses among at most so many tools: the right one was among the five best for 97 % (DESIGN section 8), and each costs
/// a hundred tokens.
const OFFERED: usize = 5;

/// What is much less likely than the best one is not offered to a server, which cannot be told how likely each is.
const OFFERED_SHARE: f32 = 0.05;

impl Agent {
    /// The next question to the model.
    pub(super) fn ask(&self) -> Ask {
        let alone = self.alone();
        let messages = match alone {
            Some(shown) => self.talk.alone(shown),
            None => self.talk.messages(),
        };
        let rendered = self.renderer.render(&self.sections(), &messages);
        if self.renderer.dialect().takes_messages() {
            return Ask {
                prompt: rendered.pieces,
                static_len: rendered.static_len,
                found: rendered.found,
                alone: false,
                openings: Vec::new(),
                grammar: None,
                chat: Some(self.chat()),
            };
        }
        let frame = self.renderer.dialect().frame();
        let opening = |(name, score): &(String, f32)| {
            let (text, grammar) =
                grammar::call(&frame, name, &self.shaped(name, self.toolbox.parameters(name)?));
            Some(Opening {
                text,
                prior: self.settings.rank_weight * tools::discover::log_odds(*score),
                grammar,
            })
        };
        let openings: Vec<Opening> = self.turn.must_call.iter().filter_map(opening).collect();
        let grammar = openings.is_empty().then(|| {
            let callable = self.callable();
            let choices: Vec<_> = callable
                .iter()
                .map(|(name, schema)| (name.as_str(), self.shaped(name, schema)))
                .collect();
            grammar::grammar(&frame, &choices)
        });
        Ask {
            prompt: rendered.pieces,
            static_len: rendered.static_len,
            found: rendered.found,
            alone: alone.is_some(),
            openings,
            grammar,
            chat: None,
        }
    }

    /// Whether the model need not know what time it is: it has to call a tool, and every time is passed on as it was said. A clock in
    /// the prompt is sixteen tokens to evaluate, and a small model copies it into arguments.
    pub(super) fn goes_without_time(&self, must_call: &[(String, f32)]) -> bool {
        let worded =
            matches!(self.settings.answer, Answer::Model) || self.renderer.dialect().takes_messages();
        !must_call.is_empty() && !worded
    }

    /// What may be called now.
    fn callable(&self) -> Vec<(String, Value)> {
        self.toolbox
            .callable(self.rest.discovers >= self.settings.max_discover)
    }

    /// The same question in messages. Its tools are those of which one must be called, best first, else all whose schemas
    /// are loaded: a server holds its model to the tools that it is given, so the index's choice is made here.
    fn chat(&self) -> Chat {
        let callable = self.callable();
        let scores = &self.turn.must_call;
        let enough = scores.first().map_or(0.0, |(_, best)| best * OFFERED_SHARE);
        let chosen = scores.iter().filter(|(_, score)| *score >= enough).take(OFFERED);
        let mut names: Vec<&str> = chosen.map(|(name, _)| name.as_str()).collect();
        names.retain(|name| self.toolbox.parameters(name).is_some());
        let must_call = !names.is_empty();
        if !must_call {
            let loaded = callable.iter().map(|(name, _)| name.as_str());
            names = loaded.filter(|name| self.toolbox.is_loaded(name)).collect();
        }
        let card = |name: &str| {
            let (entry, schema) = (self.toolbox.find(name)?, self.toolbox.parameters(name)?);
            Some(Card {
                name: name.to_owned(),
                summary: entry.summary.to_owned(),
                parameters: self.timed(entry, schema).into_owned(),
                confirm: entry.confirm,
                calls: Vec::new(),
            })
        };
        let cards = names.into_iter().filter_map(card).collect();
        self.renderer
            .chat(&self.sections(), &self.talk.messages(), cards, must_call)
    }

    /// The schema of a call in this turn: the times that were named, and texts in the person's own words.
    fn shaped<'a>(&self, name: &str, schema: &'a Value) -> Cow<'a, Value> {
        let Some(entry) = self.toolbox.find(name) else {
            return Cow::Borrowed(schema);
        };
        let timely = self.timed(entry, schema);
        // Where the request goes on from what was said or found before, its words may stand there.
        let copied = match (&self.talk.heard()[..], self.talk.said().last()) {
            (_, Some(said)) if self.turn.copies => grammar::copied(timely, said, &[]),
            // A time that was said in parts ("tomorrow with Anna at ten") is no stretch of it.
            ([said], _) if entry.name != DISCOVER && self.turn.times.len() < 2 => {
                grammar::copied(timely, said, entry.worded)
            }
            _ => timely,
        };
        let names = self
            .talk
            .said()
            .last()
            .map(|said| self.toolbox.named(entry, said));
        grammar::named(copied, &names.unwrap_or_default())
    }

    /// The schema of a call with the times that were named.
    fn timed<'a>(&self, entry: &Entry, schema: &'a Value) -> Cow<'a, Value> {
        // A tool that looks for a time looks for one that was named, and where a time can mean nothing else it is not
        // called without: small models leave it out, or write a date that nobody said. Not again once a call failed,
        // because that may have been why.
        match entry.effect == Effect::Read && self.turn.mistakes == 0 {
            true => grammar::timely(schema, &self.turn.times, entry.timed),
            false => Cow::Borrowed(schema),
        }
    }

    /// The three sections as they are now.
    pub(super) fn sections(&self) -> Sections {
        Sections {
            core: self.toolbox.core_cards(),
            catalog: self.toolbox.catalog_cards(),
            discovered: match self.settings.placement {
                Placement::System => self.toolbox.loaded_cards(),
                Placement::Tail => Vec::new(),
            },
            placement: self.settings.placement,
            catalog_summaries: self.settings.catalog_summaries,
            catalog_tokens: self.settings.catalog_tokens,
        }
    }
}
