//! One model, one sequence: the KV cache and the list of tokens that stand in it.
//!
//! Invariant: `held` is exactly what the cache holds, after every way out of every function, and `aside` what it holds besides.

use std::{path::Path, time::Instant};

use llama_cpp_2::{
    LlamaStateSeqFlags, SeqState, context::LlamaContext, llama_backend::LlamaBackend,
    llama_batch::LlamaBatch, token::LlamaToken,
};
use models::{
    EngineError,
    jump::{self, Jump},
    llm::{End, Generate, Generated, ModelInfo, Opening, Piece, Usage},
    machine, openings,
    protocol::{LlmAnswer, LlmLoad, LlmReport},
    text::Stream,
};

use crate::{
    Place,
    again::Again,
    aside,
    choose::{self, Chooser},
    tokens::Tokens,
    weights::Weights,
    window::Window,
};

/// Tokens evaluated between two looks at `Cancel`: 256 prefill some 10 % faster than 128, and 512 no faster than that.
/// A cancelled prefill goes on for one chunk at most, two and a half seconds of a 1.5B model on two cores; the binding
/// has no way into llama.cpp's abort callback.
const CHUNK: usize = 256;
/// The same where nobody waits: whoever asks meanwhile should wait for half a second at most.
const CHUNK_IDLE: usize = 48;

/// The version of the binding in Cargo.toml, part of every snapshot's key.
const BINDING: &str = "llama-cpp-2 0.1.160";

/// A loaded model at work.
pub(crate) struct Session<'m> {
    pub(crate) info: ModelInfo,
    weights: &'m Weights,
    window: Window<'m>,
    pub(crate) context: LlamaContext<'m>,
    tokens: Tokens<'m>,
    batch: LlamaBatch<'static>,
    pub(crate) held: Vec<LlamaToken>,
    /// The conversation, while something is asked that does not go on from it.
    pub(crate) aside: Vec<LlamaToken>,
    /// So many cells at the beginning are the same for both.
    pub(crate) shared: usize,
    /// Whether the cache can be cut back and divided: not those of recurrent and hybrid models.
    pub(crate) whole: bool,
    /// What many prompts go on with behind the prefix; `None` where there is no folder, or the cache cannot be taken apart.
    pub(crate) again: Option<Again>,
    /// Tokens evaluated between two looks at `Cancel`.
    chunk: usize,
    /// The last prefix, for models whose cache cannot be cut back: they return to it instead of to nothing.
    prefix: Option<(Vec<LlamaToken>, SeqState)>,
}

/// The prompt and the beginning of the answer are evaluated.
struct Begun<'r> {
    /// What the answer begins with: the opening.
    text: &'r str,
    /// Of what follows the opening.
    grammar: Option<&'r str>,
    /// What the grammar makes of it, and what it forces right after the opening.
    jump: Option<Jump>,
    forced: Vec<LlamaToken>,
    /// Tokens of the prompt that were there already.
    cached: usize,
}

/// Whether the caller still wants the answer.
type Cancelled<'a> = &'a dyn Fn() -> bool;

impl<'m> Session<'m> {
    /// # Errors
    /// `BadModel` when llama.cpp makes no context for it.
    pub(crate) fn new(
        backend: &'m LlamaBackend,
        weights: &'m Weights,
        load: &LlmLoad,
        place: &Place,
    ) -> Result<Session<'m>, EngineError> {
        let threads = load.threads.unwrap_or_else(machine::cores).max(1);
        let window = Window::new(backend, weights, load, threads);
        let context = window.of(weights.first)?;
        let tokens = Tokens::new(&weights.model);
        let (bos, eos) = tokens.edges();
        let file_name = load.path.file_stem().unwrap_or_default().to_string_lossy();
        let plural = if threads == 1 { "" } else { "s" };
        let info = ModelInfo {
            name: weights
                .header
                .name
                .clone()
                .unwrap_or_else(|| file_name.into_owned()),
            architecture: weights.header.architecture.clone(),
            chat_template: weights.header.chat_template.clone(),
            bos,
            eos,
            context: weights.context,
            bytes: weights.header.bytes,
            device: format!("{}, {threads} thread{plural}", weights.device),
            sandbox: place.sandbox.clone(),
            binding: BINDING.into(),
        };
        let whole = !weights.model.is_recurrent() && !weights.model.is_hybrid();
        let folder = place.snapshots.clone().filter(|_| whole);
        Ok(Session {
            again: folder.and_then(|folder| Again::new(folder, load, &info)),
            info,
            weights,
            window,
            context,
            tokens,
            batch: LlamaBatch::new(CHUNK, 1),
            held: Vec::new(),
            aside: Vec::new(),
            shared: 0,
            whole,
            chunk: CHUNK,
            prefix: None,
        })
    }

    pub(crate) fn count(&self, pieces: &[Piece]) -> Vec<u32> {
        pieces
            .iter()
            .map(|piece| number(self.tokens.of(piece).len()))
            .collect()
    }

    pub(crate) fn report(&self) -> LlmReport {
        LlmReport {
            held: number(self.held.len()),
            context: self.weights.context,
            room: self.context.n_ctx(),
            weights: self.weights.header.weights,
            kv: self.weights.kv_bytes / u64::from(self.weights.context.max(1))
                * u64::from(self.context.n_ctx()),
        }
    }

    /// Brings a prefix into the cache. A conversation that already stands behind it stays.
    pub(crate) fn prefill(
        &mut self,
        prefix: &[Piece],
        cancelled: Cancelled<'_>,
    ) -> Result<LlmAnswer, EngineError> {
        let prefix = self.tokens.prompt(prefix);
        self.make_room(&prefix, 0, 0)?;
        self.chunk = CHUNK;
        let cached = if self.held.starts_with(&prefix) {
            prefix.len()
        } else {
            let cached = self.evaluate(&prefix, prefix.len(), cancelled)?;
            self.remember_prefix()?;
            cached
        };
        Ok(LlmAnswer::Prefilled {
            tokens: number(prefix.len()),
            cached: number(cached),
            exact: self.held.len() == prefix.len(),
        })
    }

    pub(crate) fn generate(
        &mut self,
        request: &Generate,
        cancelled: Cancelled<'_>,
        on_text: &mut dyn FnMut(String),
    ) -> Result<Generated, EngineError> {
        let (prompt, ends) = self.tokens.prompt_with_ends(&request.prompt, &request.again);
        if prompt.is_empty() {
            return Err(EngineError::Refused("The prompt is empty.".into()));
        }
        let start = Instant::now();
        self.chunk = if request.idle { CHUNK_IDLE } else { CHUNK };
        self.turn_to(&prompt, request.beside);
        let begun = self.begin(&prompt, &ends, request, cancelled)?;
        let mut chooser = Chooser::new(&self.weights.model, begun.grammar, request)?;
        let mut jump = begun.jump;
        let room = self.room(&prompt);
        let mut usage = Usage {
            prompt: number(prompt.len()),
            cached: number(begun.cached),
            generated: number(self.held.len() - prompt.len()),
            prefill_ms: millis(start),
            ..Usage::default()
        };
        let start = Instant::now();
        let mut stream = Stream::new(&request.stop);
        let mut text = String::new();
        let mut tell = |part: String| {
            if !part.is_empty() {
                text.push_str(&part);
                on_text(part);
            }
        };
        tell(begun.text.to_owned());
        for token in begun.forced {
            chooser.accept(token)?;
            tell(stream.push(&self.tokens.bytes(token)));
        }
        let end = loop {
            if cancelled() {
                break End::Cancelled;
            }
            if stream.stopped() {
                break End::Stop;
            }
            let forced = jump.as_ref().map(Jump::forced).unwrap_or_default();
            if forced.ends {
                // Nothing is left to choose, so the model need not see it before the next turn does.
                tell(stream.push(forced.text.as_bytes()));
                break match stream.stopped() {
                    true => End::Stop,
                    false => End::Turn,
                };
            }
            if usage.generated >= request.max_tokens || self.held.len() >= self.weights.context as usize {
                break End::Length;
            }
            let token = chooser.choose(&self.context)?;
            if self.tokens.ends(token) {
                break End::Turn;
            }
            let written = self.go_on(token, &mut chooser, jump.as_mut())?;
            for token in &written {
                tell(stream.push(&self.tokens.bytes(*token)));
                if stream.stopped() {
                    break;
                }
            }
            usage.generated += number(written.len());
            if stream.stopped() {
                continue;
            }
            if usage.generated >= request.max_tokens || self.held.len() + written.len() > room {
                break End::Length;
            }
            self.decode(&written, true)?;
        };
        tell(stream.finish());
        usage.decode_ms = millis(start);
        Ok(Generated { text, end, usage })
    }

    /// A token that was chosen, and what the grammar forces behind it.
    fn go_on(
        &self,
        token: LlamaToken,
        chooser: &mut Chooser,
        jump: Option<&mut Jump>,
    ) -> Result<Vec<LlamaToken>, EngineError> {
        let mut written = vec![token];
        if let Some(jump) = jump {
            jump.take(&self.tokens.bytes(token));
            for forced in forced(&self.tokens, jump) {
                chooser.accept(forced)?;
                written.push(forced);
            }
        }
        Ok(written)
    }

    /// Evaluates the prompt and, where there are openings, the one that the answer takes.
    fn begin<'r>(
        &mut self,
        prompt: &[LlamaToken],
        ends: &[usize],
        request: &'r Generate,
        cancelled: Cancelled<'_>,
    ) -> Result<Begun<'r>, EngineError> {
        let begin_with = |opening: &Opening| {
            let text = Piece {
                text: opening.text.clone(),
                special: true,
            };
            self.tokens.of(&text)
        };
        let paths: Vec<Vec<LlamaToken>> = request.openings.iter().map(begin_with).collect();
        let priors: Vec<f32> = request.openings.iter().map(|opening| opening.prior).collect();
        let longest = paths.iter().map(Vec::len).max().unwrap_or_default();
        self.make_room(prompt, longest, request.max_tokens)?;
        self.recall(prompt, ends);
        let mut cached = None;
        let mut go_to = |this: &mut Self, path: &[LlamaToken]| {
            let whole = [prompt, path].concat();
            // The last token is always evaluated: its output is what the next choice is made from.
            let kept = this.evaluate(&whole, whole.len() - 1, cancelled)?;
            cached.get_or_insert(kept.min(prompt.len()));
            Ok::<_, EngineError>(())
        };
        let chosen = openings::choose(&paths, &priors, |path, next| {
            go_to(self, path)?;
            Ok::<_, EngineError>(choose::likely(self.context.get_logits_ith(-1), next))
        })?;
        let opening = chosen.map(|chosen| (&request.openings[chosen], paths[chosen].as_slice()));
        if opening.is_none() && !paths.is_empty() {
            return Err(EngineError::Refused(
                "One opening begins another, so they cannot be told apart.".into(),
            ));
        }
        let (text, grammar) = opening.map_or(("", &request.grammar), |(opening, _)| {
            (opening.text.as_str(), &opening.grammar)
        });
        let mut jump = grammar.as_deref().and_then(Jump::new);
        let mut forced = jump
            .as_mut()
            .map(|jump| forced(&self.tokens, jump))
            .unwrap_or_default();
        let path = opening.map_or(&[][..], |(_, path)| path);
        if prompt.len() + path.len() + forced.len() >= self.room(prompt) {
            // No room for a beginning that nobody has to choose is none for an answer.
            (jump, forced) = (None, Vec::new());
        }
        go_to(self, &[path, &forced].concat())?;
        Ok(Begun {
            text,
            grammar: grammar.as_deref(),
            jump,
            forced,
            cached: cached.unwrap_or_default(),
        })
    }

    /// Writes the state of what is held; gives the bytes written.
    pub(crate) fn save(&self, path: &Path) -> Result<u64, EngineError> {
        let saved = self.context.state_seq_save_file(path, 0, &self.held);
        saved.map(|bytes| bytes as u64).map_err(|e| {
            let said = models::nativelog::take_last_error();
            EngineError::Refused(format!(
                "The state was not written: {}.",
                said.unwrap_or_else(|| e.to_string())
            ))
        })
    }

    /// Reads a state. `None` when the file does not hold exactly this prefix; then nothing is held.
    pub(crate) fn restore(&mut self, path: &Path, prefix: &[Piece]) -> Result<Option<u32>, EngineError> {
        let prefix = self.tokens.prompt(prefix);
        self.make_room(&prefix, 0, 0)?;
        let tokens = number(prefix.len());
        if self.held.starts_with(&prefix) {
            return Ok(Some(tokens));
        }
        self.clear();
        match self.context.state_seq_load_file(path, 0, prefix.len()) {
            Ok((stored, _)) if stored == prefix => {
                self.held = prefix;
                self.remember_prefix()?;
                Ok(Some(tokens))
            }
            other => {
                tracing::warn!(error = ?other.err(), "a snapshot holds something else");
                self.clear();
                Ok(None)
            }
        }
    }

    /// Makes the cache hold exactly these tokens, keeping at most `keep` of what is there; gives how many were kept.
    fn evaluate(
        &mut self,
        tokens: &[LlamaToken],
        keep: usize,
        cancelled: Cancelled<'_>,
    ) -> Result<usize, EngineError> {
        let common = aside::common(&self.held, tokens);
        let cached = self.cut_back(common.min(keep));
        for chunk in tokens[cached..].chunks(self.chunk) {
            if cancelled() {
                return Err(EngineError::Cancelled);
            }
            let last = self.held.len() + chunk.len() == tokens.len();
            self.decode(chunk, last)?;
        }
        Ok(cached)
    }

    /// Drops what stands behind the first `length` tokens. Recurrent and hybrid models cannot forget a part, and
    /// sliding windows have already forgotten the beginning: those return to the remembered prefix or to nothing,
    /// never to a wrong state. Gives how many tokens are left.
    pub(crate) fn cut_back(&mut self, length: usize) -> usize {
        if length == self.held.len() {
            return length;
        }
        let from = u32::try_from(length).ok();
        let cut = length > 0
            && self.context.clear_kv_cache_seq(Some(0), from, None) == Ok(true)
            && self.context.kv_cache_seq_pos_min(0) == 0
            && self.context.kv_cache_seq_pos_max(0) == i32::try_from(length).unwrap_or(0) - 1;
        if cut {
            self.held.truncate(length);
            self.shared = self.shared.min(length);
            return length;
        }
        let wanted = self.held[..length].to_vec();
        self.clear();
        if let Some((prefix, state)) = &self.prefix
            && wanted.starts_with(prefix)
        {
            if self.context.state_seq_set(state, 0).is_ok() {
                self.held.clone_from(prefix);
            } else {
                self.clear();
            }
        }
        self.held.len()
    }

    /// Keeps the state of the prefix in memory where the cache cannot be cut back; elsewhere it is not needed.
    fn remember_prefix(&mut self) -> Result<(), EngineError> {
        let model = &self.weights.model;
        if model.is_recurrent() || model.is_hybrid() {
            let state = self.context.state_seq_get(0, LlamaStateSeqFlags::empty());
            let state = state.map_err(|e| EngineError::Protocol(e.to_string()))?;
            self.prefix = Some((self.held.clone(), state));
        }
        Ok(())
    }

    fn decode(&mut self, tokens: &[LlamaToken], logits: bool) -> Result<(), EngineError> {
        self.batch.clear();
        for (i, token) in tokens.iter().enumerate() {
            let position = i32::try_from(self.held.len() + i).unwrap_or(i32::MAX);
            let wanted = logits && i + 1 == tokens.len();
            let added = self.batch.add(*token, position, &[0], wanted);
            added.map_err(|e| EngineError::Protocol(e.to_string()))?;
        }
        match self.context.decode(&mut self.batch) {
            Ok(()) => {
                self.held.extend_from_slice(tokens);
                Ok(())
            }
            Err(error) => {
                // Part of the batch may have gone in.
                self.clear();
                Err(EngineError::Refused(format!(
                    "The model could not go on: {error}."
                )))
            }
        }
    }

    /// Forgets the cells. `clear_kv_cache` would also write zeros over all of the cache, which is most of the time of
    /// a restore.
    pub(crate) fn clear(&mut self) {
        if self.context.clear_kv_cache_seq(Some(0), None, None) != Ok(true) {
            self.context.clear_kv_cache();
            self.aside.clear();
        }
        self.held.clear();
        self.shared = 0;
    }

    /// How many tokens the cache can hold of this prompt and what comes behind it.
    fn room(&self, prompt: &[LlamaToken]) -> usize {
        (self.context.n_ctx() as usize).saturating_sub(self.beside(prompt))
    }

    /// Makes the cache large enough for a prompt, so many tokens behind it and the answer; the answer may end early at the window. The
    /// conversation that is aside stays where there is room for it as well.
    fn make_room(&mut self, prompt: &[LlamaToken], behind: usize, answer: u32) -> Result<(), EngineError> {
        let window = self.weights.context as usize;
        let asked = prompt.len() + behind;
        if asked >= window {
            return Err(EngineError::Refused(format!(
                "The prompt has {asked} tokens and the window holds {window}."
            )));
        }
        let tokens = asked.saturating_add(answer as usize).min(window);
        if tokens + self.beside(prompt) > window {
            self.drop_aside();
        }
        let tokens = tokens + self.beside(prompt);
        if tokens > self.context.n_ctx() as usize {
            // Only what is held moves along, and the conversation is more than what was asked beside it.
            let beside = !self.aside.is_empty();
            if beside {
                self.hold_aside();
            }
            let (context, taken_over) = self.window.wider(&self.context, self.held.len(), tokens)?;
            self.context = context;
            if !taken_over {
                self.held.clear();
            } else if beside {
                self.put_aside(prompt);
            }
        }
        Ok(())
    }
}

/// The tokens of what a grammar forces now, unless that is the end.
fn forced(tokens: &Tokens<'_>, jump: &mut Jump) -> Vec<LlamaToken> {
    let forced = jump.forced();
    let whole = match forced.ends {
        true => "",
        false => jump::whole(&forced.text),
    };
    if whole.is_empty() {
        return Vec::new();
    }
    jump.take(whole.as_bytes());
    tokens.of(&Piece {
        text: whole.to_owned(),
        special: false,
    })
}

fn number(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

fn millis(since: Instant) -> f32 {
    since.elapsed().as_secs_f32() * 1000.0
}
