//! Dialects: how a family of models is shown its tools, writes a call and reads a result.
//! One file, one implementation; a new family is a new file and a line in `detect`.

pub mod functiongemma;
pub mod gemma;
pub mod hermes;
pub mod lfm2;
pub mod llama3;
pub mod messages;
pub mod mistral;
mod loose;
mod read;
mod shown;
#[cfg(test)]
mod tests;

pub use read::{defuse, shield};
pub use shown::Shown;

use std::borrow::Cow;

use serde_json::{Value, json};

use crate::{Card, Piece, json::spaced, render::Text};

/// The tool syntax that a family of models was trained on.
pub trait Dialect: Send + Sync {
    /// For `doctor` and the log: "hermes".
    fn name(&self) -> &'static str;

    /// Section 1, with the family's own instruction on how to call. Stands in the system message.
    fn tools(&self, cards: &[Card]) -> Vec<Piece>;

    /// Section 3: tools found later, without the instruction. Ends with a line break.
    fn found(&self, cards: &[Card]) -> Shown;

    /// A call as the model would have written it.
    fn call(&self, name: &str, arguments: &Value) -> Vec<Piece>;

    /// A tool's answer, with the marks that the family was trained on, as a message of `result_role`. The answer ends with a line
    /// break, but not where it stands in the model's own turn.
    fn result(&self, name: &str, content: Vec<Piece>) -> Vec<Piece>;

    /// The role of messages that carry results. [`OWN_TURN`] where they are no message: they stand in the turn of the model,
    /// which goes on behind them.
    fn result_role(&self) -> &'static str;

    /// The text around a call's name and arguments, for the grammar.
    fn frame(&self) -> Frame;

    /// A call as an example stands among words: without the marks that would make it one.
    fn example(&self, name: &str, arguments: &Value) -> Vec<Piece> {
        let frame = self.frame();
        let from = frame.open.find('{').unwrap_or(0);
        let to = frame.close.rfind('}').map_or(0, |at| at + 1);
        let wire = (frame.wire_name)(name);
        let mut text = Text::default();
        text.words(&defuse(
            &format!("{}{wire}{}", &frame.open[from..], frame.middle),
            self.tags(),
        ));
        frame.form.write(&mut text, arguments, self.tags());
        text.words(&frame.close[..to]);
        text.into_pieces()
    }

    /// Reads what the model wrote, whether a grammar held it or not.
    ///
    /// # Errors
    /// When the output begins a call that cannot be read, or is longer than any answer may be.
    fn parse(&self, output: &str) -> Result<Parsed, ParseError>;

    /// How the tags begin that structure the prompt, without their `<`. Text of others never holds them intact: a tokenizer may
    /// turn user-defined tokens like `<tool_call>` into one token even with special tokens off (llama.cpp does). One that begins
    /// with `[` stands in square brackets.
    fn tags(&self) -> &'static [&'static str];

    /// Whether the model is sent messages and tools instead of a prompt: its server has the template.
    fn takes_messages(&self) -> bool {
        false
    }
}

/// What stands for the architecture of a model that takes messages.
pub const MESSAGES: &str = "messages";

/// The role of what the model says; as a role of results, see [`Dialect::result_role`].
pub const OWN_TURN: &str = "assistant";

/// The literal text of a call: `open` NAME `middle` ARGUMENTS `close`, where the arguments are an object in this form.
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
    /// How the family writes the arguments. Each dialect reads them as JSON, too, because that is what a grammar may hold it to.
    pub form: Form,
}

/// How the arguments of a call are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// As JSON.
    Json,
    /// As `{key:value,key:value}`: keys are bare, and text stands as it is between two of these marks. All else is as in JSON.
    Marked(&'static str),
}

impl Form {
    /// Adds a value. What is in it is text of others, only the marks count.
    fn write(self, text: &mut Text, value: &Value, tags: &[&str]) {
        match (self, value) {
            (Form::Marked(mark), Value::String(words)) => {
                text.mark(mark).words(&defuse(words, tags)).mark(mark);
            }
            (Form::Marked(_), Value::Object(object)) => {
                text.words("{");
                for (i, (key, value)) in object.iter().enumerate() {
                    let comma = if i == 0 { "" } else { "," };
                    text.words(&defuse(&format!("{comma}{key}:"), tags));
                    self.write(text, value, tags);
                }
                text.words("}");
            }
            (Form::Marked(_), Value::Array(items)) => {
                text.words("[");
                for (i, item) in items.iter().enumerate() {
                    text.words(if i == 0 { "" } else { "," });
                    self.write(text, item, tags);
                }
                text.words("]");
            }
            _ => _ = text.words(&defuse(&spaced(value), tags)),
        }
    }
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
    /// Neither JSON nor the family's own form.
    #[error("the call cannot be read ({0})")]
    Form(&'static str),
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
    if has("<start_function_call>") || has("<start_function_declaration>") {
        return &functiongemma::FUNCTION_GEMMA;
    }
    if has("<|tool_call>") {
        return &functiongemma::GEMMA_4;
    }
    if has("<tool_call>") {
        return &hermes::Hermes;
    }
    // Its messages are those of ChatML, so this comes before the mark of that. A template of LFM2.5 may have no mark for tools.
    if has("<|tool_list_start|>") {
        return &lfm2::LFM2;
    }
    if has("<|tool_call_start|>") || architecture.starts_with("lfm2") {
        return &lfm2::LFM2_5;
    }
    if has("<|im_start|>") {
        return &hermes::Hermes;
    }
    // The header is easily borrowed for another family; the training on tools is not.
    if has("<|start_header_id|>") && architecture.contains("llama") {
        return &llama3::Llama3;
    }
    // The template tells the version of the tokenizer. `[INST]` alone is older than the training on tools.
    if has("[ARGS]") {
        return if has("[CALL_ID]") {
            &mistral::V11
        } else {
            &mistral::V13
        };
    }
    if has("[SYSTEM_PROMPT]") {
        return &mistral::V7;
    }
    if has("[TOOL_CALLS]") || has("[AVAILABLE_TOOLS]") {
        return &mistral::V3;
    }
    if has("<start_of_turn>") && architecture.contains("gemma") {
        return &gemma::Gemma;
    }
    // Tags that are explained in the prompt with an example of a call: what an unknown model follows best.
    &hermes::Hermes
}

/// A tool as data, in the form in which the families' own templates are given it.
fn signature(card: &Card, frame: &Frame) -> Value {
    json!({"type": "function", "function": function(card, frame)})
}

/// The same without saying that it is a function.
fn function(card: &Card, frame: &Frame) -> Value {
    let mut parameters = card.parameters.clone();
    hide_lower_bounds(&mut parameters);
    json!({"name": (frame.wire_name)(&card.name), "description": card.summary, "parameters": parameters})
}

/// Tools as data, with this text between them.
fn listed(cards: &[Card], between: &str, dialect: &dyn Dialect, data: fn(&Card, &Frame) -> Value) -> String {
    let frame = dialect.frame();
    let one = |card| defuse(&spaced(&data(card, &frame)), dialect.tags());
    let all: Vec<String> = cards.iter().map(one).collect();
    all.join(between)
}

/// A tool's answer without the line break at its end, for marks that stand right behind it.
pub(crate) fn flush(mut content: Vec<Piece>) -> Vec<Piece> {
    if let Some(last) = content.last_mut() {
        last.text.truncate(last.text.trim_end().len());
    }
    content.retain(|piece| !piece.text.is_empty());
    content
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

/// Longest name of a tool where it is letters, digits, `_` and `-`.
const MAX_NAME: usize = 64;

/// A name for those who take nothing but letters, digits, `_` and `-`, and so no dot.
fn plain_name(name: &str) -> Cow<'_, str> {
    let fine = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let one = |c| if fine(c) { c } else { '_' };
    Cow::Owned(name.chars().take(MAX_NAME).map(one).collect())
}
