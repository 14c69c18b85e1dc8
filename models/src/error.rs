//! What can go wrong with an engine, by what the person or the supervisor can do about it.

use std::path::PathBuf;

/// Why an engine could not.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, serde::Serialize, serde::Deserialize)]
pub enum EngineError {
    /// The engine program is not where it was looked for.
    #[error("the engine {engine} was not found in {looked:?}; build it with `cargo xtask setup`")]
    NoEngine {
        /// `tiro-llm` or `tiro-stt`.
        engine: String,
        /// Folders searched.
        looked: Vec<PathBuf>,
    },
    /// The model file is missing.
    #[error("no model at {path}; run `tiro models pull`")]
    NoModel {
        /// Where it was expected.
        path: PathBuf,
    },
    /// The file is there but is not a model that this engine can load.
    #[error("{path} cannot be loaded: {reason}")]
    BadModel {
        /// The file.
        path: PathBuf,
        /// What is wrong with it, and what to do.
        reason: String,
    },
    /// The machine has too little memory for this model.
    #[error("{path} needs about {needed_mib} MiB and {free_mib} MiB are free; choose a smaller model")]
    TooLittleMemory {
        /// The file.
        path: PathBuf,
        /// Estimate for weights and context, MiB.
        needed_mib: u64,
        /// Available memory, MiB.
        free_mib: u64,
    },
    /// The engine process ended or hung in the middle of something; the supervisor restarts it.
    #[error("the engine {engine} stopped: {how}")]
    Crashed {
        /// `tiro-llm` or `tiro-stt`.
        engine: String,
        /// Signal, exit code or time-out.
        how: String,
    },
    /// The request itself cannot be served: prompt longer than the window, broken grammar, ...
    #[error("{0}")]
    Refused(String),
    /// It took longer than it may; the engine is well.
    #[error("no answer within {0:?}")]
    TimedOut(std::time::Duration),
    /// The caller cancelled.
    #[error("cancelled")]
    Cancelled,
    /// The two sides do not understand each other (version, frame, order).
    #[error("engine protocol: {0}")]
    Protocol(String),
    /// A model server cannot be used: which one, why, and what to do; no dot at the end. It never crosses a socket.
    #[error("{0}")]
    #[serde(skip)]
    Server(String),
    /// What a model server was sent does not fit the window of its model. It never crosses a socket.
    #[error("{0}")]
    #[serde(skip)]
    TooLong(String),
}
