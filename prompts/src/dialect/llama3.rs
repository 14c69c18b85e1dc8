//! Llama 3.1 to 3.3: a bare JSON object with `name` and `parameters`, results from `ipython`.
//! The wording is that of the family's own chat template with tools in the system message.

use serde_json::{Value, json};

use super::{Dialect, Form, Frame, ParseError, Parsed, Shown, listed, read, same_name, signature};
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
        text.control(HEAD).words(&listed(cards, "\n\n", self, signature));
        text.into_pieces()
    }

    fn found(&self, cards: &[Card]) -> Shown {
        Shown::as_words(cards, self)
    }

    fn call(&self, name: &str, arguments: &Value) -> Vec<Piece> {
        bare_call(name, arguments, self.tags())
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
            form: Form::Json,
        }
    }

    fn parse(&self, output: &str) -> Result<Parsed, ParseError> {
        read::output(output, "<|python_tag|>")
    }

    fn tags(&self) -> &'static [&'static str] {
        &["tools", "untrusted"]
    }
}

/// A call that no tag tells from other JSON.
pub(super) fn bare_call(name: &str, arguments: &Value, tags: &[&str]) -> Vec<Piece> {
    let call = json!({"name": name, "parameters": arguments});
    let mut text = Text::default();
    text.words(&read::defuse(&spaced(&call), tags));
    text.into_pieces()
}
