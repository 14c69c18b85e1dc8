//! LFM2 and LFM2.5: a list of calls between `<|tool_call_start|>` and `<|tool_call_end|>`, results from `tool`.
//!
//! The marks are those of Liquid's guide to tool use (Liquid4All/docs, docs/key-concepts/tool-use.mdx) and of llama.cpp's
//! template (models/templates/llama-cpp-lfm2.jinja). The family writes calls in Python or in JSON, and a sentence of that guide
//! tells it to use JSON, which a grammar can hold to a schema. Python is read, too: left to itself it writes that.

use serde_json::{Value, json};

use super::{Dialect, Form, Frame, ParseError, Parsed, Shown, flush, function, listed, read, same_name};
use crate::{Card, Piece, json::spaced, render::Text};

/// See the top of the file.
pub struct Lfm2 {
    name: &'static str,
    /// What stands before and after the tools.
    list: [&'static str; 2],
}

/// LFM2: the tools stand between marks.
pub static LFM2: Lfm2 = Lfm2 {
    name: "lfm2",
    list: ["List of tools: <|tool_list_start|>", "<|tool_list_end|>"],
};

/// LFM2.5: they do not, and no marks stand around results.
pub static LFM2_5: Lfm2 = Lfm2 {
    name: "lfm2.5",
    list: ["List of tools: ", ""],
};

const START: &str = "<|tool_call_start|>";
const END: &str = "<|tool_call_end|>";

impl Dialect for Lfm2 {
    fn name(&self) -> &'static str {
        self.name
    }

    fn tools(&self, cards: &[Card]) -> Vec<Piece> {
        let [before, after] = self.list;
        let mut text = Text::default();
        text.control(before)
            .words(&format!("[{}]", listed(cards, ", ", self, function)))
            .control(after)
            .control("\n\nOutput function calls as JSON.");
        text.into_pieces()
    }

    fn found(&self, cards: &[Card]) -> Shown {
        Shown::as_words(cards, self)
    }

    fn call(&self, name: &str, arguments: &Value) -> Vec<Piece> {
        let calls = json!([{"name": name, "arguments": arguments}]);
        let mut text = Text::default();
        text.control(START)
            .words(&read::defuse(&spaced(&calls), self.tags()))
            .control(END);
        text.into_pieces()
    }

    /// The template of LFM2 writes the marks around it, `<|tool_response_start|>` and `<|tool_response_end|>`.
    fn result(&self, _name: &str, content: Vec<Piece>) -> Vec<Piece> {
        flush(content)
    }

    fn result_role(&self) -> &'static str {
        "tool"
    }

    fn frame(&self) -> Frame {
        Frame {
            open: "<|tool_call_start|>[{\"name\": \"",
            middle: "\", \"arguments\": ",
            close: "}]<|tool_call_end|>",
            wire_name: same_name,
            form: Form::Json,
        }
    }

    fn parse(&self, output: &str) -> Result<Parsed, ParseError> {
        read::tagged(output, START, read::json_or_python)
    }

    fn tags(&self) -> &'static [&'static str] {
        &["|tool_", "think", "untrusted"]
    }
}
