//! The recogniser in its own process.

use std::{ffi::OsString, path::PathBuf, sync::Arc, time::Duration};

use async_trait::async_trait;

use super::{
    Limits,
    process::Connection,
    supervisor::{Supervisor, heavier},
};
use crate::{
    EngineError,
    llm::EngineStats,
    protocol::{MAX_FRAME, SttAnswer, SttDialect, SttLoad, SttRequest},
    stt::{OnSegment, SAMPLE_RATE, Stt, SttInfo, Transcribe, Transcript, patience},
};

/// An encoder that has begun cannot be stopped, and the whole window takes base 1.5 s on two cores.
const GIVE_UP: Duration = Duration::from_secs(20);
/// The weights that these times are for, base with 8 bits, in bytes: who has larger ones has as many times as long.
const USUAL: u64 = 82 << 20;

/// How to run a recogniser.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SttConfig {
    /// Folder of `tiro-stt`; `None` looks in the usual places.
    pub engines_dir: Option<PathBuf>,
    /// The ggml file.
    pub model: PathBuf,
    /// Threads; `None` is one for each physical core.
    pub threads: Option<u32>,
    /// Whether a GPU is used when the build has one.
    pub gpu: bool,
    /// How long things may take.
    pub limits: Limits,
}

impl SttConfig {
    /// A model with the defaults.
    pub fn new(model: impl Into<PathBuf>) -> SttConfig {
        let model = model.into();
        SttConfig {
            engines_dir: None,
            threads: None,
            gpu: true,
            limits: Limits {
                give_up: heavier(&model, USUAL, GIVE_UP),
                ..Limits::default()
            },
            model,
        }
    }
}

/// The recogniser in its own process; see [`Stt`]. Nothing is started before the first use.
pub struct SttEngine {
    config: SttConfig,
    keeper: Arc<Supervisor<SttDialect, (SttInfo, f32)>>,
}

impl SttEngine {
    /// An engine for one model.
    pub fn new(config: SttConfig) -> SttEngine {
        let arguments: Vec<OsString> = vec!["--model".into(), config.model.clone().into()];
        SttEngine {
            keeper: Supervisor::new(config.engines_dir.clone(), arguments, config.limits),
            config,
        }
    }

    /// Also says how long loading took, when this call had to load.
    async fn ready(&self) -> Result<(Arc<Connection<SttDialect>>, SttInfo, f32), EngineError> {
        let path = &self.config.model;
        if !path.exists() {
            return Err(EngineError::NoModel { path: path.clone() });
        }
        let load = SttRequest::Load(SttLoad {
            path: path.clone(),
            threads: self.config.threads,
            gpu: self.config.gpu,
        });
        let mut loaded_now = false;
        let load = async |engine: Arc<Connection<SttDialect>>| match engine.call(load)?.answer(drop).await? {
            SttAnswer::Loaded(info, ms) => {
                loaded_now = true;
                Ok((info, ms))
            }
            other => Err(unexpected(&other)),
        };
        let (engine, (info, ms)) = self.keeper.ready(load).await?;
        Ok((engine, info, if loaded_now { ms } else { 0.0 }))
    }
}

#[async_trait]
impl Stt for SttEngine {
    async fn info(&self) -> Result<SttInfo, EngineError> {
        Ok(self.ready().await?.1)
    }

    async fn load(&self) -> Result<(), EngineError> {
        self.ready().await.map(|_| ())
    }

    fn patience(&self, samples: usize) -> Duration {
        heavier(&self.config.model, USUAL, patience(samples))
    }

    async fn transcribe(
        &self,
        request: Transcribe,
        on_segment: OnSegment<'_>,
    ) -> Result<Transcript, EngineError> {
        let seconds = request.samples.len() / SAMPLE_RATE as usize;
        let longest = MAX_FRAME / size_of::<f32>() / SAMPLE_RATE as usize - 1;
        if seconds > longest {
            return Err(EngineError::Refused(format!(
                "The recording is {} minutes long and {} is the most. Cut it into parts.",
                seconds / 60,
                longest / 60
            )));
        }
        let (engine, _, load_ms) = self.ready().await?;
        let request = SttRequest::Transcribe(request);
        match self
            .keeper
            .ask(&engine, request, |segment| on_segment(&segment))
            .await?
        {
            SttAnswer::Transcript(transcript) => Ok(Transcript {
                load_ms,
                ..transcript
            }),
            other => Err(unexpected(&other)),
        }
    }

    fn stats(&self) -> EngineStats {
        self.keeper.stats()
    }
}

fn unexpected(answer: &SttAnswer) -> EngineError {
    EngineError::Protocol(format!("an answer that was not asked for: {answer:.80?}"))
}
