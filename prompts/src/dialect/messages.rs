//! Messages: no dialect of a family but the way to servers that take messages and tools apart and render the prompt
//! themselves, with the template of their own model (`chat.rs` makes those). What is rendered here only tells about how
//! long the prompt is; calls come back framed as in Hermes, whoever wrote them.

use serde_json::Value;

use super::{Dialect, Frame, ParseError, Parsed, Shown, hermes::Hermes, plain_name};
use crate::{Card, Piece};

/// See the top of the file.
pub struct Messages;

impl Dialect for Messages {
    fn name(&self) -> &'static str {
        "messages"
    }

    fn tools(&self, cards: &[Card]) -> Vec<Piece> {
        Hermes.tools(cards)
    }

    fn found(&self, cards: &[Card]) -> Shown {
        Hermes.found(cards)
    }

    fn call(&self, name: &str, arguments: &Value) -> Vec<Piece> {
        Hermes.call(name, arguments)
    }

    fn result(&self, name: &str, content: Vec<Piece>) -> Vec<Piece> {
        Hermes.result(name, content)
    }

    fn result_role(&self) -> &'static str {
        Hermes.result_role()
    }

    fn frame(&self) -> Frame {
        Frame {
            // Names have letters, digits, `_` and `-` there, and no dot.
            wire_name: plain_name,
            ..Hermes.frame()
        }
    }

    /// Servers whose own reading of calls fails pass them on as text, so calls in text count here, too.
    fn parse(&self, output: &str) -> Result<Parsed, ParseError> {
        Hermes.parse(output)
    }

    fn tags(&self) -> &'static [&'static str] {
        Hermes.tags()
    }

    fn takes_messages(&self) -> bool {
        true
    }
}
