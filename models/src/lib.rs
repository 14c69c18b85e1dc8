//! What Tiro thinks and hears with: engines as child processes, the weights they load, and servers in their place.
//!
//! This library is the client side and names no native crate; `src/bin/` holds the two engines.

pub mod error;
pub mod llm;
pub mod stt;

pub mod engine;
pub mod server;
pub mod ghosts;
pub mod decode;
pub mod expected;
pub mod jump;
pub mod logits;
pub mod machine;
#[cfg(any(feature = "llm", feature = "stt"))]
pub mod nativelog;
pub mod openings;
pub mod protocol;
pub mod sandbox;
pub mod scripted;
pub mod serve;
pub mod snapshot;
pub mod text;

pub mod registry;
pub mod pull;
mod fetch;
mod wheel;
mod disk;
pub mod progress;
pub mod convert;
pub mod gguf;
pub mod ggml_whisper;
pub mod reader;
pub mod header;

pub use error::EngineError;

/// Whether tests on real files fail instead of being skipped where the files are missing.
#[cfg(test)]
fn real_files_required() -> bool {
    std::env::var_os("TIRO_REQUIRE_REAL").is_some() || std::env::var("CI").is_ok_and(|ci| ci == "true")
}
