//! What many prompts go on with behind the static prefix: the tools that were found first, each with calls to go by. Their state is
//! kept on disk, a tool or a call in a file, and taken from there instead of being evaluated: an evaluated token of a 1.5B model takes
//! 12 ms on two cores, one from disk a twentieth of a millisecond.
//!
//! A state depends on every token before it. So a file is named by all of them and holds the cells of the last ones, from
//! where the one before it ends.
//!
//! To take the same cells for a tool that is found later in a conversation, with their keys turned to its place (Gim et al., "Prompt
//! Cache", MLSys 2024), was tried and given up: a tool that has not seen the conversation, or the tool beside it, is filled in with less
//! sense and taken for its neighbour more often. `docs/eval.md` has the numbers.

use std::path::{Path, PathBuf};

use llama_cpp_2::token::LlamaToken;
use models::{
    llm::ModelInfo,
    nativelog,
    protocol::LlmLoad,
    snapshot::{Keys, Parameters, Snapshots},
};

use crate::{aside::common, session::Session};

/// The sequence of what is asked.
pub(crate) const MAIN: i32 = 0;
/// The sequence that carries a part of it to disk and back; empty but for that.
const SPARE: i32 = 1;

/// The folder, and what is to be written to it.
pub(crate) struct Again {
    files: Snapshots,
    keys: Keys,
    missing: Vec<Part>,
}

/// Some of the tokens that stand at the beginning of a prompt.
struct Part {
    /// Names its file.
    key: String,
    /// All tokens up to the end of the part.
    tokens: Vec<LlamaToken>,
    /// Where it begins.
    from: usize,
}

impl Again {
    /// `None` when the file of the model cannot be read.
    pub(crate) fn new(folder: PathBuf, load: &LlmLoad, info: &ModelInfo) -> Option<Again> {
        let parameters = Parameters {
            context: info.context,
            kv: load.kv,
            binding: &info.binding,
            device: &info.device,
        };
        Some(Again {
            files: Snapshots::of_tools(folder),
            keys: Keys::new(&load.path, parameters).ok()?,
            missing: Vec::new(),
        })
    }

    fn key(&self, tokens: &[LlamaToken]) -> String {
        self.keys.of_tokens(tokens.iter().map(|token| token.0))
    }
}

impl Session<'_> {
    /// Takes from disk what of a prompt is there and not yet in the cache. `ends` are the ends of its parts in tokens; what
    /// stands before the first must be in the cache already.
    pub(crate) fn recall(&mut self, prompt: &[LlamaToken], ends: &[usize]) {
        let Some(mut again) = self.again.take() else {
            return;
        };
        again.missing.clear();
        let mut held = common(&self.held, prompt);
        for part in ends.windows(2) {
            let [from, to] = *part else { continue };
            let tokens = prompt.get(..to).unwrap_or_default();
            if held >= to || from >= tokens.len() {
                continue;
            }
            let key = again.key(tokens);
            match again.files.find(&key) {
                Some(file) if held >= from => {
                    // What cannot be cut back is evaluated as a whole, and that is not the file's fault.
                    let begun = self.cut_back(from) == from;
                    if begun && !self.take_up(&file, tokens, from) {
                        drop(std::fs::remove_file(file));
                    }
                    held = self.held.len();
                }
                Some(_) => {}
                None => again.missing.push(Part {
                    key,
                    tokens: tokens.to_vec(),
                    from,
                }),
            }
        }
        self.again = Some(again);
    }

    /// Brings the last of these tokens into the cache, which holds the first `from`. When that cannot be done, it holds those
    /// or nothing.
    fn take_up(&mut self, file: &Path, tokens: &[LlamaToken], from: usize) -> bool {
        let part = &tokens[from..];
        let loaded = self.context.state_seq_load_file(file, SPARE, part.len());
        let good =
            matches!(&loaded, Ok((stored, _)) if stored == part) && self.spans(SPARE, from, tokens.len());
        let copied = good && self.copy(SPARE, MAIN, from, tokens.len());
        self.empty(SPARE);
        if copied && self.spans(MAIN, 0, tokens.len()) {
            self.held.extend_from_slice(part);
            return true;
        }
        tracing::warn!(error = ?loaded.err(), said = ?nativelog::take_last_error(), "the state of a tool cannot be used");
        if copied {
            self.clear();
        }
        false
    }

    /// Writes what was missing when the last prompt was begun, if it is in the cache now. Where that fails the tool is evaluated
    /// again the next time, and that is all.
    pub(crate) fn settle(&mut self) {
        let Some(mut again) = self.again.take() else {
            return;
        };
        for part in again.missing.drain(..) {
            if self.held.starts_with(&part.tokens)
                && let Err(error) = self.put_away(&again.files, &part)
            {
                tracing::warn!(error, "the state of a tool was not saved");
            }
        }
        self.again = Some(again);
    }

    fn put_away(&mut self, files: &Snapshots, part: &Part) -> Result<(), String> {
        let temporary = files.temporary(&part.key).map_err(|e| e.to_string())?;
        if !self.copy(MAIN, SPARE, part.from, part.tokens.len()) {
            return Err("the cache has no second sequence".into());
        }
        let saved = self
            .context
            .state_seq_save_file(&temporary, SPARE, &part.tokens[part.from..]);
        self.empty(SPARE);
        match saved {
            Ok(bytes) => files
                .keep(&part.key, &temporary, bytes as u64)
                .map_err(|e| e.to_string()),
            Err(error) => {
                drop(std::fs::remove_file(temporary));
                Err(nativelog::take_last_error().unwrap_or_else(|| error.to_string()))
            }
        }
    }

    /// Lets one sequence have these cells of another as well.
    pub(crate) fn copy(&mut self, from: i32, to: i32, begin: usize, end: usize) -> bool {
        let edges = (u32::try_from(begin), u32::try_from(end));
        let (Ok(begin), Ok(end)) = edges else { return false };
        self.context
            .copy_kv_cache_seq(from, to, Some(begin), Some(end))
            .is_ok()
    }

    /// Whether a sequence begins and ends with these cells.
    pub(crate) fn spans(&self, sequence: i32, begin: usize, end: usize) -> bool {
        let edges = (
            usize::try_from(self.context.kv_cache_seq_pos_min(sequence)),
            usize::try_from(self.context.kv_cache_seq_pos_max(sequence)),
        );
        edges == (Ok(begin), Ok(end - 1))
    }

    pub(crate) fn empty(&mut self, sequence: i32) {
        let emptied = self
            .context
            .clear_kv_cache_seq(u32::try_from(sequence).ok(), None, None);
        if emptied != Ok(true) {
            tracing::warn!(sequence, ?emptied, "a sequence is not empty");
        }
    }
}
