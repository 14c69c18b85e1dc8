//! Tools found later, as the message shows them that found them: in a few lines (`short`), each with some of its calls to go by, and
//! behind them, as in section 1, what has no such form.

use super::{Dialect, defuse, listed, signature};
use crate::{Card, Piece, render::Text, short};

/// What a message shows of the tools that it found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Shown {
    /// Each tool in a few lines, and each of its calls behind it. Such a stretch is the same in whatever conversation shows it, and
    /// so are its tokens: it begins and ends with pieces of its own.
    pub stretches: Vec<Vec<Piece>>,
    /// What has no such form, with its calls.
    pub rest: Vec<Piece>,
}

impl Shown {
    /// The tools in a few lines, and those that cannot be shown so.
    pub(super) fn of(cards: &[Card], dialect: &dyn Dialect) -> (Shown, Vec<Card>) {
        let (mut shown, mut whole) = (Shown::default(), Vec::new());
        for card in cards {
            match short::short(card, &(dialect.frame().wire_name)(&card.name)) {
                Some(text) => {
                    // The line break goes with the tool, so that its tokens are the same whatever follows.
                    let text = format!("{}\n", defuse(&text, dialect.tags()));
                    shown.stretches.push(vec![Piece::text(text)]);
                    shown.stretches.extend(calls(card, dialect));
                }
                None => whole.push(card.clone()),
            }
        }
        (shown, whole)
    }

    /// The same where the family has no marks for the others, or marks that cannot stand everywhere.
    pub(super) fn as_words(cards: &[Card], dialect: &dyn Dialect) -> Shown {
        let (mut shown, whole) = Shown::of(cards, dialect);
        if !whole.is_empty() {
            let mut text = Text::default();
            text.control("\n")
                .words(&format!("{}\n", listed(&whole, "\n\n", dialect, signature)));
            shown.whole(text, &whole, dialect);
        }
        shown
    }

    /// Adds tools that stand in `text` whole.
    pub(super) fn whole(&mut self, text: Text, cards: &[Card], dialect: &dyn Dialect) {
        let calls = cards.iter().flat_map(|card| calls(card, dialect)).flatten();
        self.rest = text.into_pieces().into_iter().chain(calls).collect();
    }

    /// All of it, in order.
    pub fn into_pieces(self) -> Vec<Piece> {
        self.stretches.into_iter().flatten().chain(self.rest).collect()
    }
}

/// How some requests for a tool are carried out, each a stretch: which ones they are depends on the request.
fn calls(card: &Card, dialect: &dyn Dialect) -> Vec<Vec<Piece>> {
    let call = |(n, (said, arguments)): (usize, &(String, serde_json::Value))| {
        let head = if n == 0 { "For example:\n" } else { "" };
        let mut text = Text::default();
        text.words(&format!("{head}{}", defuse(&format!("{said}\n"), dialect.tags())))
            .pieces(dialect.example(&card.name, arguments))
            .words("\n");
        text.into_pieces()
    };
    card.calls.iter().enumerate().map(call).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::dialect::{functiongemma::FUNCTION_GEMMA, hermes::Hermes};

    #[test]
    fn a_tool_and_each_of_its_calls_are_stretches() {
        let call = |said: &str, when: &str| (said.to_owned(), json!({"when": when}));
        let mut card = Card {
            name: "notes.create".to_owned(),
            summary: "Write a note".to_owned(),
            parameters: json!({"type": "object", "properties": {"when": {"type": "string"}}}),
            confirm: false,
            calls: vec![call("note at ten", "ten"), call("note at one", "one")],
        };
        let families: [&dyn Dialect; 2] = [&Hermes, &FUNCTION_GEMMA];
        for dialect in families {
            let texts = |card: &Card| -> Vec<String> {
                let shown = dialect.found(std::slice::from_ref(card));
                let text = |stretch: &Vec<Piece>| stretch.iter().map(|piece| piece.text.as_str()).collect();
                shown.stretches.iter().map(text).collect()
            };
            let both = texts(&card);
            assert_eq!(both.len(), 3, "{both:?}");
            assert!(both[1].starts_with("For example:\nnote at ten\n"), "{both:?}");
            assert!(both[2].starts_with("note at one\n"), "{both:?}");
            assert!(both.iter().all(|text| text.ends_with('\n')), "{both:?}");
            card.calls.truncate(1);
            assert_eq!(texts(&card), both[..2]);
            card.calls.push(call("note at one", "one"));
        }
    }
}
