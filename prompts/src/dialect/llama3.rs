//! Llama 3.1 to 3.3: a bare JSON object with `name` and `parameters`, results from `ipython`.
//! The wording is that of the family's own chat template with tools in the system message.

use serde_json::{Value, json};

use super::{Dialect, Frame, ParseError, Parsed, found, read, same_name, signature};
use crate::{Card, Piece, json::spaced, render::Text};

/// See the top of the file.
pub struct Llama3;

const HEAD: &str = "You have access to the following functions. To call a function, please respond with JSON for a \
function call. Respond in the format {\"name\": function name, \"parameters\": dictionary of argument name and its \
value}. Do not use variables.\n\n";

impl Dialect for Llama3 {
    fn name(&self) -> &'static str {
        "llama3"
    }

    fn tools(&self, cards: &[Card]) -> Vec<Piece> {
        let mut text = Text::default();
        text.control(HEAD).words(&self.signatures(cards));
        text.into_pieces()
    }

    fn found(&self, cards: &[Card]) -> Vec<Piece> {
        let (mut text, whole) = found(cards, &self.frame(), self.tags());
        if !whole.is_empty() {
            // Not a stretch of words, which would be taken for one of the tools above.
            text.control("\n")
                .words(&format!("{}\n", self.signatures(&whole)));
        }
        text.into_pieces()
    }

    fn call(&self, name: &str, arguments: &Value) -> Vec<Piece> {
        let call = json!({"name": name, "parameters": arguments});
        let mut text = Text::default();
        text.words(&read::defuse(&spaced(&call), self.tags()));
        text.into_pieces()
    }

    fn result(&self, _name: &str, content: Vec<Piece>) -> Vec<Piece> {
        content
    }

    fn result_role(&self) -> &'static str {
        "ipython"
    }

    fn frame(&self) -> Frame {
        Frame {
            open: "{\"name\": \"",
            middle: "\", \"parameters\": ",
            close: "}",
            wire_name: same_name,
        }
    }

    fn parse(&self, output: &str) -> Result<Parsed, ParseError> {
        read::output(output, "<|python_tag|>")
    }

    fn tags(&self) -> &'static [&'static str] {
        &["tools", "untrusted"]
    }
}

impl Llama3 {
    fn signatures(&self, cards: &[Card]) -> String {
        let lines: Vec<String> = cards
            .iter()
            .map(|card| read::defuse(&spaced(&signature(card)), self.tags()))
            .collect();
        lines.join("\n\n")
    }
}
