//! Dialects: how a family of models is shown its tools, writes a call and reads a result.
//! One file, one implementation; a new family is a new file and a line in `detect`.

pub mod hermes;
pub mod llama3;
pub mod messages;
mod read;

pub use read::{defuse, shield};

use std::borrow::Cow;

use serde_json::{Value, json};

use crate::{Card, Piece, render::Text, short};

/// The tool syntax that a family of models was trained on.
pub trait Dialect: Send + Sync {
    /// For `doctor` and the log: "hermes".
    fn name(&self) -> &'static str;

    /// Section 1, with the family's own instruction on how to call. Stands in the system message.
    fn tools(&self, cards: &[Card]) -> Vec<Piece>;

    /// Section 3: tools found later, without the instruction: in a few lines (`short`), each tool a stretch of words, and behind
    /// them, as in section 1, what has no such form. Ends with a line break.
    fn found(&self, cards: &[Card]) -> Vec<Piece>;

    /// A call as the model would have written it.
    fn call(&self, name: &str, arguments: &Value) -> Vec<Piece>;

    /// A tool's answer, with the marks that the family was trained on, as a message of `result_role`.
    fn result(&self, name: &str, content: Vec<Piece>) -> Vec<Piece>;

    /// The role of messages that carry results.
    fn result_role(&self) -> &'static str;

    /// The text around a call's name and arguments, for the grammar.
    fn frame(&self) -> Frame;

    /// Reads what the model wrote, whether a grammar held it or not.
    ///
    /// # Errors
    /// When the output begins a call that cannot be read, or is longer than any answer may be.
    fn parse(&self, output: &str) -> Result<Parsed, ParseError>;

    /// Names of tags that structure the prompt. Text of others never holds them intact: a tokenizer may turn
    /// user-defined tokens like `<tool_call>` into one token even with special tokens off (llama.cpp does).
    fn tags(&self) -> &'static [&'static str];

    /// Whether the model is sent messages and tools instead of a prompt: its server has the template.
    fn takes_messages(&self) -> bool {
        false
    }
}

/// What stands for the architecture of a model that takes messages.
pub const MESSAGES: &str = "messages";

/// The literal text of a call: `open` NAME `middle` ARGUMENTS `close`, where the arguments are a JSON object.
#[derive(Debug, Clone, Copy)]
pub struct Frame {
    /// Up to the tool's name.
    pub open: &'static str,
    /// Between name and arguments.
    pub middle: &'static str,
    /// After the arguments.
    pub close: &'static str,
    /// How the model writes a tool's name; families that cannot take a dot write something else.
    pub wire_name: fn(&str) -> Cow<'_, str>,
}

/// What the model wrote.
#[derive(Debug, Clone, PartialEq)]
pub enum Parsed {
    /// Words.
    Text(String),
    /// The first call of the output. Small models repeat themselves; the agent takes one step at a time.
    Call {
        /// The name as the model wrote it; not yet known to exist.
        name: String,
        /// An object; not yet checked against any schema.
        arguments: Value,
    },
}

/// Why a call could not be read; worded for the model.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ParseError {
    /// Not JSON.
    #[error("the call is not valid JSON ({0})")]
    Json(String),
    /// JSON, but not a call.
    #[error("the call needs a \"name\" and an \"arguments\" object")]
    Shape,
    /// Longer than `read::MAX_OUTPUT`.
    #[error("the output has {0} bytes, more than any call needs")]
    TooLong(usize),
}

/// The dialect of a model, by the marks in its chat template and the `general.architecture` of its file.
pub fn detect(template: Option<&str>, architecture: &str) -> &'static dyn Dialect {
    if architecture == MESSAGES {
        return &messages::Messages;
    }
    let template = template.unwrap_or_default();
    let has = |mark: &str| template.contains(mark);
    if has("<tool_call>") || has("<|im_start|>") {
        return &hermes::Hermes;
    }
    // The header is easily borrowed for another family; the training on tools is not.
    if has("<|start_header_id|>") && architecture.contains("llama") {
        return &llama3::Llama3;
    }
    // Tags that are explained in the prompt with an example of a call: what an unknown model follows best.
    &hermes::Hermes
}

/// A tool as data, in the form in which the families' own templates are given it.
fn signature(card: &Card) -> Value {
    let mut parameters = card.parameters.clone();
    hide_lower_bounds(&mut parameters);
    json!({"type": "function", "function": {
        "name": card.name, "description": card.summary, "parameters": parameters,
    }})
}

/// Tools found later: in a few lines, each a stretch of its own, and those for which the family's own form has to do.
fn found(cards: &[Card], frame: &Frame, tags: &[&str]) -> (Text, Vec<Card>) {
    let mut short = Text::default();
    let mut whole = Vec::new();
    for card in cards {
        match short::short(card, &(frame.wire_name)(&card.name)) {
            // The line break goes with the tool, so that its tokens are the same whatever follows.
            Some(text) => _ = short.apart(&format!("{}\n", defuse(&text, tags))),
            None => whole.push(card.clone()),
        }
    }
    (short, whole)
}

/// That a number counts something goes without saying: the grammar lets nothing below zero through, and a tool of which one is
/// the least refuses zero. Saying it costs six tokens each time.
fn hide_lower_bounds(schema: &mut Value) {
    match schema {
        Value::Object(object) => {
            object.retain(|key, value| key != "minimum" || !matches!(value.as_u64(), Some(0 | 1)));
            object.values_mut().for_each(hide_lower_bounds);
        }
        Value::Array(items) => items.iter_mut().for_each(hide_lower_bounds),
        _ => {}
    }
}

/// Finds the tool that a name written by the model stands for.
pub fn restore_name<'a>(
    frame: &Frame,
    wire: &str,
    known: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    known
        .into_iter()
        .find(|name| *name == wire || (frame.wire_name)(name) == wire)
}

/// A name that goes over the wire as it is.
fn same_name(name: &str) -> Cow<'_, str> {
    Cow::Borrowed(name)
}
