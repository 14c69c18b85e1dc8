//! Hermes: `<tools>`, `<tool_call>`, `<tool_response>`. Qwen 2.5 and 3, Hermes 2 and 3, and what was tuned like them.
//! The bytes are those of Qwen2.5-Instruct's own chat template.

use serde_json::{Value, json};

use super::{Dialect, Form, Frame, ParseError, Parsed, Shown, listed, read, same_name, signature};
use crate::{Card, Piece, json::spaced, render::Text};

/// See the top of the file.
pub struct Hermes;

const HEAD: &str = "# Tools\n\nYou may call one or more functions to assist with the user query.\n\n\
You are provided with function signatures within <tools></tools> XML tags:\n<tools>\n";
const FOOT: &str = "</tools>\n\nFor each function call, return a json object with function name and arguments \
within <tool_call></tool_call> XML tags:\n<tool_call>\n{\"name\": <function-name>, \"arguments\": <args-json-object>}\n\
</tool_call>";

impl Dialect for Hermes {
    fn name(&self) -> &'static str {
        "hermes"
    }

    fn tools(&self, cards: &[Card]) -> Vec<Piece> {
        let mut text = Text::default();
        text.control(HEAD).words(&self.signatures(cards)).control(FOOT);
        text.into_pieces()
    }

    fn found(&self, cards: &[Card]) -> Shown {
        let (mut shown, whole) = Shown::of(cards, self);
        if !whole.is_empty() {
            let mut text = Text::default();
            text.control("<tools>\n")
                .words(&self.signatures(&whole))
                .control("</tools>\n");
            shown.whole(text, &whole, self);
        }
        shown
    }

    fn call(&self, name: &str, arguments: &Value) -> Vec<Piece> {
        let call = json!({"name": name, "arguments": arguments});
        let mut text = Text::default();
        // The line break goes with the text before it, as the tokenizer would have merged it.
        text.control("<tool_call>\n");
        text.words(&format!("{}\n", read::defuse(&spaced(&call), self.tags())));
        text.control("</tool_call>");
        text.into_pieces()
    }

    fn result(&self, _name: &str, content: Vec<Piece>) -> Vec<Piece> {
        let mut text = Text::default();
        text.control("<tool_response>\n")
            .pieces(content)
            .control("</tool_response>");
        text.into_pieces()
    }

    fn result_role(&self) -> &'static str {
        "user"
    }

    fn frame(&self) -> Frame {
        Frame {
            open: "<tool_call>\n{\"name\": \"",
            middle: "\", \"arguments\": ",
            close: "}\n</tool_call>",
            wire_name: same_name,
            form: Form::Json,
        }
    }

    fn parse(&self, output: &str) -> Result<Parsed, ParseError> {
        read::output(output, "<tool_call>")
    }

    fn tags(&self) -> &'static [&'static str] {
        &["tool_call", "tool_response", "tools", "think", "untrusted"]
    }
}

impl Hermes {
    fn signatures(&self, cards: &[Card]) -> String {
        format!("{}\n", listed(cards, "\n", self, signature))
    }
}
