//! What Tiro says to the model: the three sections, the dialects of model families, chat templates, wording.
//! Loads and renders; decides nothing.

pub mod dialect;
mod catalog;
mod chat;
pub mod render;
pub mod template;
pub mod words;
mod json;
mod short;
#[cfg(test)]
mod tests;

pub use chat::{Chat, ChatMessage};
pub use dialect::{Dialect, Frame, ParseError, Parsed, detect};
pub use json::spaced;
pub use render::{Found, Rendered, Renderer};
pub use template::{PromptError, Template};

use serde_json::Value;

/// A stretch of prompt text; see `models::llm::Piece`, which this becomes. Rooms below the daemon do not know each other.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Piece {
    /// UTF-8 text.
    pub text: String,
    /// Whether control tokens in it count. Never for text of the person, a tool or a file.
    pub special: bool,
}

impl Piece {
    /// Text whose control tokens count.
    pub fn control(text: impl Into<String>) -> Piece {
        Piece {
            text: text.into(),
            special: true,
        }
    }

    /// Text that is only text.
    pub fn text(text: impl Into<String>) -> Piece {
        Piece {
            text: text.into(),
            special: false,
        }
    }
}

/// What the prompt needs to know of a tool.
#[derive(Debug, Clone, PartialEq)]
pub struct Card {
    /// `domain.verb`.
    pub name: String,
    /// One line.
    pub summary: String,
    /// JSON schema of the arguments.
    pub parameters: Value,
    /// Whether the catalogue row carries `[confirm]`.
    pub confirm: bool,
    /// Requests and the arguments that each is called with, the one to go by most last.
    pub calls: Vec<(String, Value)>,
}

/// The tool part of the prompt. 1 and 2 belong to the static prefix, 3 only grows.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Sections {
    /// Section 1: full schemas.
    pub core: Vec<Card>,
    /// Section 2: one row each, grouped by domain.
    pub catalog: Vec<Card>,
    /// Section 3: full schemas found so far, in the order found.
    pub discovered: Vec<Card>,
    /// Where section 3 stands.
    pub placement: Placement,
    /// Whether catalogue rows carry summaries.
    pub catalog_summaries: bool,
    /// About how many tokens the catalogue may take; over that it says less of the largest domains.
    pub catalog_tokens: Option<u32>,
}

/// Where the discovered schemas stand.
///
/// Seen with the 1.5B model in 48 turns of conversations of six misheard requests each (`models/bench/placement.py`): the tail
/// evaluates 141 tokens a turn (at most 379) and calls an acceptable tool first for 34 of 40 requests that one serves; in
/// the system message it is 256 (at most 735) and 33. Both leave the other eight alone. So the tail is the default: a
/// discovery costs its own schemas and nothing that was said before.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Placement {
    /// After the catalogue, before the conversation: each discovery re-evaluates the conversation.
    System,
    /// In the message after which they were found: nothing is evaluated again.
    #[default]
    Tail,
}

/// One message of the conversation.
#[derive(Debug, Clone, PartialEq)]
pub enum Message {
    /// The person. `context` is what Tiro adds: date, time, place.
    User {
        /// What was said; untrusted as tokens.
        text: String,
        /// Date, time, place.
        context: String,
        /// Schemas found for this message before the model saw it (placement `Tail`).
        discovered: Vec<Card>,
    },
    /// The model answered in words.
    Assistant(String),
    /// The model called a tool.
    Call {
        /// Tool name.
        name: String,
        /// Its arguments.
        arguments: Value,
    },
    /// What the tool answered.
    Result {
        /// Tool name.
        name: String,
        /// The answer, already capped in length.
        content: String,
        /// Whether somebody else wrote parts of it: then it is delimited.
        untrusted: bool,
        /// Schemas this result loaded (placement `Tail`).
        discovered: Vec<Card>,
    },
}
