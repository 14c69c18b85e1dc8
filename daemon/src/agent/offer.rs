//! What the model is offered: the prompt as it is now, and what it may write next.

use std::borrow::Cow;

use prompts::{Placement, Sections};
use serde_json::Value;
use tools::Effect;

use super::{Agent, Ask, Opening, grammar, toolbox::DISCOVER};

impl Agent {
    /// The next question to the model.
    pub(super) fn ask(&self) -> Ask {
        let rendered = self.renderer.render(&self.sections(), &self.talk.messages());
        let frame = self.renderer.dialect().frame();
        let opening = |(name, score): &(String, f32)| {
            let (text, grammar) =
                grammar::call(&frame, name, &self.shaped(name, self.toolbox.parameters(name)?));
            Some(Opening {
                text,
                prior: self.settings.rank_weight * score.ln(),
                grammar,
            })
        };
        let openings: Vec<Opening> = self.turn.must_call.iter().filter_map(opening).collect();
        let grammar = openings.is_empty().then(|| {
            let callable = self
                .toolbox
                .callable(self.turn.discovers >= self.settings.max_discover);
            let choices: Vec<_> = callable
                .iter()
                .map(|(name, schema)| (name.as_str(), self.shaped(name, schema)))
                .collect();
            grammar::grammar(&frame, &choices)
        });
        Ask {
            prompt: rendered.pieces,
            static_len: rendered.static_len,
            openings,
            grammar,
        }
    }

    /// The schema of a call in this turn: the times that were named, and texts in the person's own words.
    fn shaped<'a>(&self, name: &str, schema: &'a Value) -> Cow<'a, Value> {
        let Some(entry) = self.toolbox.find(name) else {
            return Cow::Borrowed(schema);
        };
        // A tool that looks for a time looks for one that was named, and where a time can mean nothing else it is not
        // called without: small models leave it out, or write a date that nobody said. Not again once a call failed,
        // because that may have been why.
        let timely = match entry.effect == Effect::Read && self.turn.mistakes == 0 {
            true => grammar::timely(schema, &self.turn.times, entry.timed),
            false => Cow::Borrowed(schema),
        };
        // Where the request goes on from what was said or found before, its words may stand there.
        let copied = match self.talk.heard()[..] {
            // A time that was said in parts ("tomorrow with Anna at ten") is no stretch of it.
            [said] if entry.name != DISCOVER && self.turn.times.len() < 2 => {
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
