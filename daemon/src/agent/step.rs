//! What goes into the agent and what comes out, as data.

use prompts::{Chat, Piece};
use serde_json::Value;

use super::rules::Asked;

/// What moves a turn on.
#[derive(Debug, Clone)]
pub enum Input {
    /// The person said or typed something; opens a turn.
    Said {
        /// The words.
        text: String,
        /// Date, time and place for the user turn; never part of the static prefix.
        context: String,
        /// What else is known about the request.
        asked: Asked,
    },
    /// The model wrote something.
    Generated(String),
    /// A tool call came to an end.
    Did {
        /// The call.
        call: Call,
        /// How it ended.
        outcome: Outcome,
    },
}

/// What to do next.
#[derive(Debug, Clone)]
pub enum Step {
    /// Ask the model.
    Generate(Ask),
    /// Run a tool, through `act`.
    Call(Call),
    /// The same, but what was done before is taken back first, all of it or nothing.
    Instead(Call, Undo),
    /// Say this; the turn is over.
    Reply(Reply),
}

/// A prompt with the grammar of its answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Ask {
    /// The whole prompt.
    pub prompt: Vec<Piece>,
    /// How many leading pieces are the static prefix.
    pub static_len: usize,
    /// The texts of tools that were found.
    pub found: prompts::Found,
    /// Whether the prompt leaves out the conversation before this request.
    pub alone: bool,
    /// Calls of which one must be made, each with what the index says for it. Empty leaves the choice to the model.
    pub openings: Vec<Opening>,
    /// GBNF of the whole answer where there are no openings.
    pub grammar: Option<String>,
    /// The same in messages, for a model that takes those; it has neither openings nor a grammar then.
    pub chat: Option<Chat>,
}

/// How a call may begin.
#[derive(Debug, Clone, PartialEq)]
pub struct Opening {
    /// Up to the arguments.
    pub text: String,
    /// What the index says for it: the logarithm of odds, on top of the model's own of a probability.
    pub prior: f32,
    /// GBNF of the rest.
    pub grammar: String,
}

/// A tool call that the model decided on.
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    /// `domain.verb`; known to the toolbox.
    pub name: String,
    /// An object; not yet checked against the tool's own type.
    pub arguments: Value,
}

/// Something that was done and can be taken back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Undo {
    /// Its number in the journal.
    pub step: i64,
    /// What it said it did.
    pub say: String,
    /// Whether that quotes somebody else's words.
    pub untrusted: bool,
}

/// How a tool call ended.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// It worked.
    Done(tools::Output),
    /// It could not, and the model may try again or the person can help.
    Tell(String),
    /// The same, with words of others in it.
    TellOthers(String),
    /// The arguments do not fit the schema; only the model can mend that.
    Misfit(String),
    /// It could not, and nobody in the conversation can mend it. The sentence is for the person.
    Broken(String),
    /// What it was to replace was taken back, and then it could not be done.
    TakenBack {
        /// What the person hears.
        text: String,
        /// Whether others wrote some of it.
        untrusted: bool,
    },
    /// The person was asked and said no.
    Declined,
    /// The person wanted something else than what they were asked about, and it is not clear what. The sentence is for them.
    Unclear(String),
    /// The person would have to be asked and nobody is there.
    NeedsConfirmation(String),
}

/// The answer that ends a turn.
#[derive(Debug, Clone, PartialEq)]
pub struct Reply {
    /// What the person hears.
    pub text: String,
    /// How the turn ended, for exit codes and status lines.
    pub end: Ending,
}

/// How a turn ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ending {
    /// Answered or done.
    Done,
    /// Could not.
    CouldNot,
    /// A confirmation was needed and not given.
    NeedsConfirmation,
}
