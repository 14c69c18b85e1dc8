//! The language model in its own process.

use std::{
    ffi::OsString,
    path::PathBuf,
    sync::Arc,
    time::{Duration, Instant},
};

use async_trait::async_trait;

use super::{
    Limits,
    process::Connection,
    supervisor::{Supervisor, heavier},
};
use crate::{
    EngineError,
    llm::{EngineStats, Generate, Generated, Llm, ModelInfo, OnText, Piece, Prepared},
    protocol::{KvType, LlmAnswer, LlmDialect, LlmLoad, LlmReport, LlmRequest},
    snapshot::{Keys, Parameters, Snapshots},
};

/// How to run a language model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LlmConfig {
    /// Folder of `tiro-llm`; `None` looks in the usual places.
    pub engines_dir: Option<PathBuf>,
    /// The GGUF file.
    pub model: PathBuf,
    /// Window in tokens.
    pub context: u32,
    /// Threads; `None` is one for each physical core.
    pub threads: Option<u32>,
    /// Layers on the GPU; `None` is as many as fit its free memory.
    pub gpu_layers: Option<u32>,
    /// Element type of the KV cache.
    pub kv: KvType,
    /// Folder for states of the static prefix; `None` keeps none.
    pub snapshots: Option<PathBuf>,
    /// How long things may take.
    pub limits: Limits,
}

impl LlmConfig {
    /// A model with the defaults: a window of 32,768 tokens and no snapshots.
    pub fn new(model: impl Into<PathBuf>) -> LlmConfig {
        let model = model.into();
        LlmConfig {
            engines_dir: None,
            context: 32_768,
            threads: None,
            gpu_layers: None,
            kv: KvType::F16,
            snapshots: None,
            limits: Limits {
                give_up: heavier(&model, USUAL, GIVE_UP),
                ..Limits::default()
            },
            model,
        }
    }
}

/// It looks up only between two chunks of its prompt: one of 256 tokens takes 1.5B two and a half seconds on two cores.
const GIVE_UP: Duration = Duration::from_secs(60);
/// Weights that this is for, 7B with 4 bits, in bytes: who has larger ones has as many times as long.
const USUAL: u64 = 4 << 30;

/// The language model in its own process; see [`Llm`]. Nothing is started before the first use.
pub struct LlmEngine {
    config: LlmConfig,
    keeper: Arc<Supervisor<LlmDialect, ModelInfo>>,
    snapshots: Option<Snapshots>,
    /// The tools that the engine keeps in the same folder.
    tools: Option<Snapshots>,
}

impl LlmEngine {
    /// An engine for one model.
    pub fn new(config: LlmConfig) -> LlmEngine {
        let mut arguments: Vec<OsString> = vec!["--model".into(), config.model.clone().into()];
        if let Some(folder) = &config.snapshots {
            arguments.extend(["--snapshots".into(), folder.clone().into()]);
            // The engine confines itself to folders that exist.
            if let Err(error) = std::fs::create_dir_all(folder) {
                tracing::warn!(%error, ?folder, "there will be no snapshots");
            }
        }
        LlmEngine {
            keeper: Supervisor::new(config.engines_dir.clone(), arguments, config.limits),
            snapshots: config.snapshots.clone().map(Snapshots::of_prefixes),
            tools: config.snapshots.clone().map(Snapshots::of_tools),
            config,
        }
    }

    /// What the engine holds: tokens and memory. Starts and loads it if need be.
    ///
    /// # Errors
    /// What loading says.
    pub async fn report(&self) -> Result<LlmReport, EngineError> {
        match self.ask(LlmRequest::Stats).await? {
            LlmAnswer::Report(report) => Ok(report),
            other => Err(unexpected(&other)),
        }
    }

    async fn ready(&self) -> Result<(Arc<Connection<LlmDialect>>, ModelInfo), EngineError> {
        let load = LlmRequest::Load(LlmLoad {
            path: self.config.model.clone(),
            context: self.config.context,
            threads: self.config.threads,
            gpu_layers: self.config.gpu_layers,
            kv: self.config.kv,
        });
        let path = &self.config.model;
        if !path.exists() {
            return Err(EngineError::NoModel { path: path.clone() });
        }
        let load = async |engine: Arc<Connection<LlmDialect>>| match engine.call(load)?.answer(drop).await? {
            LlmAnswer::Loaded(info) => Ok(info),
            other => Err(unexpected(&other)),
        };
        self.keeper.ready(load).await
    }

    async fn ask(&self, request: LlmRequest) -> Result<LlmAnswer, EngineError> {
        let (engine, _) = self.ready().await?;
        self.keeper.ask(&engine, request, drop).await
    }

    async fn restore(&self, path: PathBuf, prefix: &[Piece]) -> Result<Option<u32>, EngineError> {
        let request = LlmRequest::Restore {
            path: path.clone(),
            prefix: prefix.to_vec(),
        };
        let restored = match self.ask(request).await {
            Ok(LlmAnswer::Restored(tokens)) => Ok(tokens),
            Ok(other) => Err(unexpected(&other)),
            // A state that crashes the engine must not do so again; the prefill that follows starts a new one.
            Err(EngineError::Crashed { how, .. }) => {
                tracing::warn!(how, "a snapshot crashed the engine and is deleted");
                Ok(None)
            }
            Err(error) => Err(error),
        };
        if matches!(restored, Ok(None)) {
            drop(std::fs::remove_file(path));
        }
        restored
    }

    /// Never fails: without a snapshot the next start is slower, and that is all.
    async fn save(&self, snapshots: &Snapshots, key: &str) {
        let saved = async {
            let path = snapshots.temporary(key).map_err(|e| e.to_string())?;
            let bytes = match self.ask(LlmRequest::Save { path: path.clone() }).await {
                Ok(LlmAnswer::Saved(bytes)) => bytes,
                Ok(other) => return Err(unexpected(&other).to_string()),
                Err(error) => {
                    drop(std::fs::remove_file(path));
                    return Err(error.to_string());
                }
            };
            let (snapshots, key) = (snapshots.clone(), key.to_owned());
            blocking(move || snapshots.keep(&key, &path, bytes))
                .await?
                .map_err(|e| e.to_string())
        };
        if let Err(error) = saved.await {
            tracing::warn!(
                error,
                "the prompt's state was not saved; the next start will be slower"
            );
        }
    }
}

#[async_trait]
impl Llm for LlmEngine {
    async fn info(&self) -> Result<ModelInfo, EngineError> {
        Ok(self.ready().await?.1)
    }

    async fn count(&self, pieces: &[Piece]) -> Result<Vec<u32>, EngineError> {
        match self.ask(LlmRequest::Count(pieces.to_vec())).await? {
            LlmAnswer::Counted(counts) => Ok(counts),
            other => Err(unexpected(&other)),
        }
    }

    async fn prepare(&self, prefix: &[Piece]) -> Result<Prepared, EngineError> {
        let start = Instant::now();
        let (_, info) = self.ready().await?;
        let ms = || start.elapsed().as_secs_f32() * 1000.0;
        let mut key = None;
        if let Some(snapshots) = self.snapshots.clone() {
            let (model, pieces) = (self.config.model.clone(), prefix.to_vec());
            let kv = self.config.kv;
            let found = blocking(move || {
                let parameters = Parameters {
                    context: info.context,
                    kv,
                    binding: &info.binding,
                    device: &info.device,
                };
                let key = Keys::new(&model, parameters).ok()?.of_pieces(&pieces);
                let file = snapshots.find(&key);
                Some((key, file, snapshots))
            });
            if let Ok(Some((name, file, snapshots))) = found.await {
                if let Some(path) = file
                    && let Some(tokens) = self.restore(path, prefix).await?
                {
                    return Ok(Prepared {
                        tokens,
                        prefilled: 0,
                        restored: true,
                        ms: ms(),
                    });
                }
                key = Some((name, snapshots));
            }
        }
        let (tokens, cached, exact) = match self.ask(LlmRequest::Prefill(prefix.to_vec())).await? {
            LlmAnswer::Prefilled {
                tokens,
                cached,
                exact,
            } => (tokens, cached, exact),
            other => return Err(unexpected(&other)),
        };
        if let Some((key, snapshots)) = key
            && exact
        {
            self.save(&snapshots, &key).await;
        }
        Ok(Prepared {
            tokens,
            prefilled: tokens - cached.min(tokens),
            restored: false,
            ms: ms(),
        })
    }

    async fn generate(&self, request: Generate, on_text: OnText<'_>) -> Result<Generated, EngineError> {
        let (engine, _) = self.ready().await?;
        let request = LlmRequest::Generate(request);
        match self.keeper.ask(&engine, request, |text| on_text(&text)).await? {
            LlmAnswer::Generated(generated) => Ok(generated),
            other => Err(unexpected(&other)),
        }
    }

    fn keeps_states(&self) -> bool {
        self.tools.as_ref().is_some_and(Snapshots::has_room)
    }

    fn stats(&self) -> EngineStats {
        self.keeper.stats()
    }
}

async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, String> {
    tokio::task::spawn_blocking(work).await.map_err(|e| e.to_string())
}

fn unexpected(answer: &LlmAnswer) -> EngineError {
    EngineError::Protocol(format!("an answer that was not asked for: {answer:.80?}"))
}
