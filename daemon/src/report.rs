//! What a turn did and cost: the shape of `tiro ask --json` (DESIGN section 6), stable.

use std::time::Duration;

use models::llm::Usage;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::agent::{Call, Ending, Reply};

/// One turn.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// What the person said, as recognised.
    pub say: String,
    /// The answer.
    pub reply: String,
    /// The beginning of the answer that was said aloud before the rest of it was there; with the blanks behind it.
    #[serde(skip)]
    pub ahead: String,
    /// Tool calls in order, discovery among them.
    pub calls: Vec<CallReport>,
    /// Generation steps.
    pub steps: u32,
    /// Whether the words alone decided what was called, without asking the model.
    #[serde(default)]
    pub reflex: bool,
    /// Tokens over all steps.
    pub tokens: Tokens,
    /// What lazy loading of tools saved, once the model's tokenizer has counted them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub savings: Option<Savings>,
    /// Milliseconds.
    pub ms: Times,
    /// How the turn ended: `done`, `could_not`, `needs_confirmation`.
    pub end: Ending,
}

/// One tool call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CallReport {
    /// `domain.verb`.
    pub name: String,
    /// An object.
    pub arguments: Value,
    /// The tool's data, or the sentence that says why not.
    pub result: Value,
    /// `ok`, `told`, `broken`, `declined`, `unconfirmed`.
    pub status: String,
}

/// Tokens over all steps of a turn.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tokens {
    /// Prompt tokens.
    pub prompt: u32,
    /// Of which were in the KV cache.
    pub cached: u32,
    /// Written by the model.
    pub generated: u32,
}

/// What it saved not to show the model every tool, in tokens by the model's own tokenizer: of a turn, or of all turns since
/// the start.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Savings {
    /// The static prefix if every schema stood in it.
    pub eager: u64,
    /// The static prefix as it is.
    pub prefix: u64,
    /// Schemas that this turn added.
    pub marginal: u64,
    /// Schemas added so far that stand in the prompt at the end of the turn.
    pub loaded: u64,
    /// What finding tools cost besides their schemas: calls of `tools.discover` and of tools not yet loaded, and what came back.
    pub discovery: u64,
    /// Prompt tokens that the KV cache had already.
    pub reused: u64,
    /// Tokens that the window did not have to hold: `eager - prefix - loaded - discovery`. Less than zero when it did not pay.
    pub net: i64,
}

impl Savings {
    /// Adds those of another turn.
    pub fn add(&mut self, turn: &Savings) {
        self.eager += turn.eager;
        self.prefix += turn.prefix;
        self.marginal += turn.marginal;
        self.loaded += turn.loaded;
        self.discovery += turn.discovery;
        self.reused += turn.reused;
        self.net += turn.net;
    }

    /// One line for people.
    pub fn summary(&self) -> String {
        format!(
            "{} tokens instead of {}: {} from the start, {} for tools found, {} for finding them",
            self.prefix + self.loaded + self.discovery,
            self.eager,
            self.prefix,
            self.loaded,
            self.discovery
        )
    }
}

/// Milliseconds of a turn.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Times {
    /// Speech recognition.
    pub stt: f32,
    /// Prefill and decode.
    pub llm: f32,
    /// Tools, questions to the person included.
    pub tools: f32,
    /// From the end of speech, or from the text, to the answer.
    pub total: f32,
}

impl Default for Report {
    fn default() -> Report {
        Report {
            say: String::new(),
            reply: String::new(),
            ahead: String::new(),
            calls: Vec::new(),
            steps: 0,
            reflex: false,
            tokens: Tokens::default(),
            savings: None,
            ms: Times::default(),
            end: Ending::CouldNot,
        }
    }
}

impl Report {
    /// Adds a generation step.
    pub fn generated(&mut self, usage: &Usage, took: Duration) {
        self.steps += 1;
        self.tokens.prompt += usage.prompt;
        self.tokens.cached += usage.cached;
        self.tokens.generated += usage.generated;
        self.ms.llm += millis(took);
    }

    /// Adds a call.
    pub fn called(&mut self, call: &Call, status: &str, result: Value, ms: f32) {
        self.ms.tools += ms;
        self.calls.push(CallReport {
            name: call.name.clone(),
            arguments: call.arguments.clone(),
            result,
            status: status.to_owned(),
        });
    }

    /// Sets the answer.
    pub fn finish(&mut self, reply: Reply, took: Duration) {
        self.reply = reply.text;
        self.end = reply.end;
        self.ms.total = millis(took);
    }

    /// The times in one line for people.
    pub fn summary(&self) -> String {
        let Times {
            stt,
            llm,
            tools,
            total,
        } = self.ms;
        let Tokens {
            prompt,
            cached,
            generated,
        } = self.tokens;
        format!(
            "times    hearing {stt:.0} ms, thinking {llm:.0} ms, acting {tools:.0} ms, in all {total:.0} ms; \
             {cached} of {prompt} prompt tokens cached, {generated} written"
        )
    }
}

/// A duration in milliseconds.
pub fn millis(took: Duration) -> f32 {
    took.as_secs_f32() * 1e3
}
