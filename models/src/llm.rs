//! The language model as the daemon sees it, whether a child process, a scripted fake or a server.

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use crate::EngineError;

/// A stretch of prompt text. Stretches are tokenised one by one, so that a boundary never merges
/// and a shared prefix of stretches is a shared prefix of tokens.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Piece {
    /// UTF-8 text.
    pub text: String,
    /// Whether `<|im_start|>` and the like in it are control tokens. Never true for text that came from the
    /// person, a tool or a file: there they stay text.
    pub special: bool,
}

/// What to generate.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Generate {
    /// The whole prompt; the engine evaluates only what differs from what it already holds.
    pub prompt: Vec<Piece>,
    /// Numbers of leading pieces after which the state of the model is worth keeping on disk, for other prompts that begin alike,
    /// rising. The first is the static prefix, which is kept already. Nothing that anybody said may stand before the last.
    pub again: Vec<u32>,
    /// Whether the prompt stands beside the conversation: what the engine holds of that is put aside meanwhile, and is there again for
    /// the next prompt that goes on from it.
    pub beside: bool,
    /// Whether nobody waits for it. Then it is evaluated in small steps: who asks meanwhile waits for one of them.
    pub idle: bool,
    /// Ways in which the answer may begin; none begins another. The one that is likeliest, by the model and its own
    /// prior, stands at the start of the answer, and its grammar holds for the rest. Empty leaves the model free.
    pub openings: Vec<Opening>,
    /// GBNF, strict from the first token; `root` is the start rule. Not used where there are openings.
    pub grammar: Option<String>,
    /// Ends generation when it appears in the output; not part of the text.
    pub stop: Vec<String>,
    /// Upper bound of generated tokens.
    pub max_tokens: u32,
    /// 0 is greedy.
    pub temperature: f32,
    /// For temperatures above 0.
    pub seed: u32,
    /// The same question in messages, for servers; no engine is ever sent it.
    #[serde(skip)]
    pub chat: Option<Chat>,
}

/// A question in messages, for servers that render the prompt themselves.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Chat {
    /// Oldest first.
    pub messages: Vec<ChatMessage>,
    /// What may be called, best first.
    pub tools: Vec<ChatTool>,
    /// Whether one of them has to be called.
    pub must_call: bool,
    /// How a call stands in the text that comes back: what is before the name, between it and the arguments, and behind.
    pub frame: [&'static str; 3],
}

/// One message of a [`Chat`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChatMessage {
    /// Who the model is, and its rules.
    System(String),
    /// The person.
    User(String),
    /// The model, in words.
    Assistant(String),
    /// The model called a tool.
    Call {
        /// Names the call in its result.
        id: String,
        /// The tool.
        name: String,
        /// A JSON object.
        arguments: String,
    },
    /// What the tool answered.
    Result {
        /// The call.
        id: String,
        /// The answer.
        content: String,
    },
}

/// A tool that a model may call.
#[derive(Debug, Clone, PartialEq)]
pub struct ChatTool {
    /// Letters, digits, `_` and `-`.
    pub name: String,
    /// What it does, in a line.
    pub description: String,
    /// JSON schema of the arguments.
    pub parameters: serde_json::Value,
}

/// A way in which an answer may begin.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Opening {
    /// How it begins. Written by the program and never by others: special tokens in it are special.
    pub text: String,
    /// What speaks for it besides the model: a logarithm, added to the model's own log-probability.
    pub prior: f32,
    /// GBNF of what follows it.
    pub grammar: Option<String>,
}

/// What was generated.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Generated {
    /// The text, without stop strings and end-of-turn tokens.
    pub text: String,
    /// Why it ended.
    pub end: End,
    /// What it cost.
    pub usage: Usage,
}

/// Why generation ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum End {
    /// The model ended its turn.
    Turn,
    /// A stop string appeared.
    Stop,
    /// `max_tokens` were generated.
    Length,
    /// The caller cancelled.
    Cancelled,
}

/// Tokens and times of one generation.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Usage {
    /// Tokens of the whole prompt.
    pub prompt: u32,
    /// How many of them were already in the KV cache.
    pub cached: u32,
    /// Tokens generated, those of the opening included.
    pub generated: u32,
    /// Prefill and the choice of the opening, milliseconds.
    pub prefill_ms: f32,
    /// Decode, milliseconds.
    pub decode_ms: f32,
}

/// What the engine says of the model it loaded.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ModelInfo {
    /// `general.name`, else the file name.
    pub name: String,
    /// `general.architecture`.
    pub architecture: String,
    /// The GGUF's own Jinja template, if it has one.
    pub chat_template: Option<String>,
    /// Text of the beginning-of-sequence token; empty when the model adds none.
    pub bos: String,
    /// Text of the end-of-sequence token.
    pub eos: String,
    /// Context window in tokens, as loaded.
    pub context: u32,
    /// Bytes of the file.
    pub bytes: u64,
    /// What it runs on: "CPU (AVX2, FMA), 2 threads", "Metal: 25 of 25 layers".
    pub device: String,
    /// Landlock and the like, for doctor: "landlock ABI 7", "none".
    pub sandbox: String,
    /// Version of the binding, part of the snapshot key.
    pub binding: String,
}

/// How the static prefix came into the KV cache.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Prepared {
    /// Tokens of the prefix.
    pub tokens: u32,
    /// Tokens that had to be evaluated; 0 after a restored snapshot.
    pub prefilled: u32,
    /// Whether the state came from disk.
    pub restored: bool,
    /// Milliseconds.
    pub ms: f32,
}

/// Memory and counters, for `status` and `doctor`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct EngineStats {
    /// Whether a process is running now.
    pub running: bool,
    /// Its process id.
    pub pid: Option<u32>,
    /// Resident memory, bytes.
    pub rss: u64,
    /// Peak resident memory, bytes.
    pub peak_rss: u64,
    /// Restarts after a crash since the daemon started.
    pub restarts: u32,
}

impl EngineStats {
    /// Tells one life of the engine from another: its process id while it runs.
    pub fn life(&self) -> Option<u32> {
        self.pid.filter(|_| self.running)
    }
}

/// Gets text as it comes. Named, because async-trait would tie the lifetime of the text to that of the call.
pub type OnText<'a> = &'a mut (dyn FnMut(&str) + Send);

/// A language model. Dropping a future that one of these returned cancels the work in the engine.
#[async_trait]
pub trait Llm: Send + Sync {
    /// Loads the model if it is not loaded, and says what it is.
    async fn info(&self) -> Result<ModelInfo, EngineError>;

    /// Tokens of each stretch, by the model's own tokenizer.
    async fn count(&self, pieces: &[Piece]) -> Result<Vec<u32>, EngineError>;

    /// Brings the static prefix into the KV cache: from the snapshot on disk when there is one for exactly this
    /// model, prefix and parameters, else by prefilling it and writing the snapshot.
    async fn prepare(&self, prefix: &[Piece]) -> Result<Prepared, EngineError>;

    /// Generates; `on_text` gets the text as it comes.
    async fn generate(&self, request: Generate, on_text: OnText<'_>) -> Result<Generated, EngineError>;

    /// Whether it keeps the states that [`Generate::again`] names for the next start and has room for more of them, so that it pays to
    /// read them ahead.
    fn keeps_states(&self) -> bool {
        false
    }

    /// Memory and counters; never starts anything.
    fn stats(&self) -> EngineStats {
        EngineStats::default()
    }

    /// The server that it is, `https://host:port`, where it is no process of this machine.
    fn server(&self) -> Option<&str> {
        None
    }
}
