//! What Tiro thinks and hears with: engines as child processes, and the weights they load.
//!
//! This library is the client side and names no native crate; `src/bin/` holds the two engines.

pub mod error;
pub mod llm;
pub mod stt;

pub mod engine;
pub mod ghosts;
pub mod machine;
#[cfg(any(feature = "llm", feature = "stt"))]
pub mod nativelog;
pub mod protocol;
pub mod sandbox;
pub mod scripted;
pub mod serve;
pub mod text;

pub mod convert;
pub mod ggml_whisper;
pub mod gguf;
pub mod header;

pub use error::EngineError;
