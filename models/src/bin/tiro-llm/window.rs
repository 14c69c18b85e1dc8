//! The window of a model: a KV cache that starts small and grows when a conversation needs it.
//!
//! llama.cpp writes zeros over the whole cache when it makes a context. For a window of 32,768 tokens that is a gigabyte
//! and a quarter of the time of a start, and most conversations never need it.

use std::path::PathBuf;

use llama_cpp_2::{
    LlamaStateSeqFlags,
    context::{
        LlamaContext,
        params::{KvCacheType, LlamaContextParams},
    },
    llama_backend::LlamaBackend,
    model::LlamaModel,
};
use models::{
    EngineError,
    gguf::GgufInfo,
    nativelog,
    protocol::{KvType, LlmLoad},
};

use crate::weights::{Weights, bad};

/// Tokens that the cache has room for at first: the static prompt and a few turns.
const FIRST: u32 = 4096;

/// Makes contexts of one model.
pub(crate) struct Window<'m> {
    backend: &'m LlamaBackend,
    weights: &'m Weights,
    path: PathBuf,
    params: LlamaContextParams,
}

impl<'m> Window<'m> {
    pub(crate) fn new(
        backend: &'m LlamaBackend,
        weights: &'m Weights,
        load: &LlmLoad,
        threads: u32,
    ) -> Window<'m> {
        let kv = match load.kv {
            KvType::F16 => KvCacheType::F16,
            KvType::Q8_0 => KvCacheType::Q8_0,
        };
        let threads = threads.try_into().unwrap_or(1);
        let params = LlamaContextParams::default()
            .with_n_threads(threads)
            .with_n_threads_batch(threads)
            .with_type_k(kv)
            .with_type_v(kv)
            // One for what is asked, one that carries a part of it to disk and back, one for the conversation that is put aside. They
            // share all of the cells.
            .with_n_seq_max(3)
            .with_kv_unified(true)
            .with_no_perf(true);
        Window {
            backend,
            weights,
            path: load.path.clone(),
            params,
        }
    }

    /// An empty context with room for so many tokens.
    ///
    /// # Errors
    /// `BadModel` when llama.cpp makes none.
    pub(crate) fn of(&self, tokens: u32) -> Result<LlamaContext<'m>, EngineError> {
        let params = self.params.clone().with_n_ctx(tokens.try_into().ok());
        let made = self.weights.model.new_context(self.backend, params);
        made.map_err(|e| {
            let said = nativelog::take_last_error();
            bad(&self.path, format!("{}.", said.unwrap_or_else(|| e.to_string())))
        })
    }

    /// A context with room for `tokens`, and whether it took over the `held` tokens of `old`. If it did not it is empty
    /// and has the whole window, so that this cannot happen twice.
    ///
    /// # Errors
    /// `BadModel` when llama.cpp makes none; `old` is as it was.
    pub(crate) fn wider(
        &self,
        old: &LlamaContext<'_>,
        held: usize,
        tokens: usize,
    ) -> Result<(LlamaContext<'m>, bool), EngineError> {
        let whole = self.weights.context;
        let size = u32::try_from(tokens.next_power_of_two()).map_or(whole, |size| size.min(whole));
        let mut wider = self.of(size)?;
        tracing::info!(from = old.n_ctx(), to = wider.n_ctx(), held, "the KV cache grows");
        if held == 0 {
            return Ok((wider, true));
        }
        let state = old.state_seq_get(0, LlamaStateSeqFlags::empty());
        let moved = state.and_then(|state| wider.state_seq_set(&state, 0));
        let edges =
            |context: &LlamaContext<'_>| (context.kv_cache_seq_pos_min(0), context.kv_cache_seq_pos_max(0));
        if moved.is_ok() && edges(&wider) == edges(old) {
            return Ok((wider, true));
        }
        tracing::warn!(error = ?moved.err(), "the KV cache cannot be moved; the conversation is evaluated again");
        drop(wider);
        Ok((self.of(whole)?, false))
    }
}

/// How large the cache is at first, for a window of `whole` tokens. All of it at once where growing could go wrong: in
/// recurrent and hybrid models, where the rotation of positions changes once the context passes the length that the
/// model was first trained for (LongRoPE), and where memory would be short while both caches and the state
/// between them exist.
pub(crate) fn first(model: &LlamaModel, header: &GgufInfo, whole: u32, roomy: bool) -> u32 {
    let key = format!("{}.rope.scaling.original_context_length", header.architecture);
    let original: Option<u32> = model.meta_val_str(&key).ok().and_then(|text| text.parse().ok());
    let grows = roomy
        && !model.is_recurrent()
        && !model.is_hybrid()
        && original.is_none_or(|original| original >= whole);
    if grows { FIRST.min(whole) } else { whole }
}
