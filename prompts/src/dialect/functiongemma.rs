//! FunctionGemma and Gemma 4: declarations, calls and results as `{key:value}` in marks of their own, with a mark before and
//! after every text instead of quotes.
//!
//! The form is that of Google's page on FunctionGemma (ai.google.dev/gemma/docs/functiongemma/formatting-and-best-practices)
//! and of Gemma 4's own template (llama.cpp, models/templates/gemma4.jinja), which differ in nothing but the marks. Gemma 4's
//! sorts keys; here they keep the order of the schema, because that is the one in which a grammar has them written.
//! A result is no message: it stands behind the call, and the model goes on behind it (LiteRT-LM, prompt_template_utils.cc).

use serde_json::{Map, Value};

use super::{Dialect, Form, Frame, OWN_TURN, ParseError, Parsed, Shown, function, loose, plain_name, read};
use crate::{Card, Piece, render::Text};

/// See the top of the file.
pub struct FunctionGemma {
    name: &'static str,
    /// What stands before the tools.
    head: &'static str,
    /// The marks around a tool, a call and a result.
    tool: [&'static str; 2],
    call: [&'static str; 2],
    response: [&'static str; 2],
    /// The mark on both sides of a text.
    mark: &'static str,
    /// The first mark of a call with what stands before the name.
    open: &'static str,
    tags: &'static [&'static str],
}

/// FunctionGemma 270M.
pub static FUNCTION_GEMMA: FunctionGemma = FunctionGemma {
    name: "functiongemma",
    // It tells the model that it may call, says the page.
    head: "You are a model that can do function calling with the following functions",
    tool: ["<start_function_declaration>", "<end_function_declaration>"],
    call: ["<start_function_call>", "<end_function_call>"],
    response: ["<start_function_response>", "<end_function_response>"],
    mark: "<escape>",
    open: "<start_function_call>call:",
    tags: &[
        "start_function_",
        "end_function_",
        "escape",
        "start_of_turn",
        "end_of_turn",
        "untrusted",
    ],
};

/// Gemma 4.
pub static GEMMA_4: FunctionGemma = FunctionGemma {
    name: "gemma4",
    head: "",
    tool: ["<|tool>", "<tool|>"],
    call: ["<|tool_call>", "<tool_call|>"],
    response: ["<|tool_response>", "<tool_response|>"],
    mark: "<|\"|>",
    open: "<|tool_call>call:",
    tags: &[
        "|tool",
        "tool|",
        "tool_call|",
        "tool_response|",
        "|\"|",
        "|turn",
        "turn|",
        "|channel",
        "channel|",
        "|think",
        "untrusted",
    ],
};

impl Dialect for FunctionGemma {
    fn name(&self) -> &'static str {
        self.name
    }

    fn tools(&self, cards: &[Card]) -> Vec<Piece> {
        let mut text = Text::default();
        text.control(self.head);
        for card in cards {
            self.declare(&mut text, card);
        }
        text.into_pieces()
    }

    /// A declaration would end the text in which a result stands, so what has no short form is shown as data.
    fn found(&self, cards: &[Card]) -> Shown {
        Shown::as_words(cards, self)
    }

    fn call(&self, name: &str, arguments: &Value) -> Vec<Piece> {
        let [start, end] = self.call;
        let mut text = Text::default();
        text.control(start)
            .pieces(self.example(name, arguments))
            .control(end);
        text.into_pieces()
    }

    fn result(&self, name: &str, content: Vec<Piece>) -> Vec<Piece> {
        let [start, end] = self.response;
        let mut text = Text::default();
        text.control(start)
            .words(&format!("response:{}{{value:", plain_name(name)))
            .mark(self.mark)
            .pieces(content)
            .mark(self.mark)
            .words("}")
            .control(end);
        text.into_pieces()
    }

    fn result_role(&self) -> &'static str {
        OWN_TURN
    }

    fn frame(&self) -> Frame {
        Frame {
            open: self.open,
            middle: "",
            close: self.call[1],
            // Google's own readers take letters, digits and `_`.
            wire_name: plain_name,
            form: Form::Marked(self.mark),
        }
    }

    /// Here the marks around the texts count as they do in a call.
    fn example(&self, name: &str, arguments: &Value) -> Vec<Piece> {
        let mut text = Text::default();
        text.words(&format!("call:{}", plain_name(name)));
        Form::Marked(self.mark).write(&mut text, arguments, self.tags);
        text.into_pieces()
    }

    fn parse(&self, output: &str) -> Result<Parsed, ParseError> {
        read::tagged(output, self.call[0], |body| loose::call(body, self.mark))
    }

    fn tags(&self) -> &'static [&'static str] {
        self.tags
    }
}

impl FunctionGemma {
    /// `declaration:name{description:...,parameters:{...}}`.
    fn declare(&self, text: &mut Text, card: &Card) {
        let [start, end] = self.tool;
        let mut data = function(card, &self.frame());
        let schema = declared(&data["parameters"]);
        text.control(start)
            .words(&format!("declaration:{}", plain_name(&card.name)));
        if let Some(data) = data.as_object_mut() {
            data.shift_remove("name");
            data.insert("parameters".to_owned(), schema);
        }
        Form::Marked(self.mark).write(text, &data, self.tags);
        text.control(end);
    }
}

/// A schema as it is declared: what it describes first, its type last and in capitals, and nothing that says nothing. What the
/// templates leave out, as the largest number, is said all the same.
fn declared(schema: &Value) -> Value {
    let Value::Object(schema) = schema else {
        return schema.clone();
    };
    let mut out = Map::new();
    out.extend(schema.get_key_value("description").map(owned));
    for (key, value) in schema {
        let value = match (key.as_str(), value) {
            ("description" | "type" | "$schema" | "additionalProperties", _) => continue,
            (_, Value::Object(inside)) if inside.is_empty() => continue,
            (_, Value::Array(items)) if items.is_empty() => continue,
            ("properties", Value::Object(inside)) => {
                let one = |(key, value): (&String, &Value)| (key.clone(), declared(value));
                Value::Object(inside.iter().map(one).collect())
            }
            ("anyOf" | "oneOf" | "allOf", Value::Array(items)) => {
                Value::Array(items.iter().map(declared).collect())
            }
            ("items", value) => declared(value),
            (_, value) => value.clone(),
        };
        out.insert(key.clone(), value);
    }
    let mut kinds: Vec<&str> = match schema.get("type") {
        Some(Value::Array(kinds)) => kinds.iter().filter_map(Value::as_str).collect(),
        kind => kind.and_then(Value::as_str).into_iter().collect(),
    };
    let all = kinds.len();
    kinds.retain(|kind| all == 1 || *kind != "null");
    if kinds.len() < all {
        out.insert("nullable".to_owned(), true.into());
    }
    if let Some(kind) = kinds.first() {
        out.insert("type".to_owned(), kind.to_uppercase().into());
    }
    Value::Object(out)
}

fn owned((key, value): (&String, &Value)) -> (String, Value) {
    (key.clone(), value.clone())
}
