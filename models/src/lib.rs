//! What Tiro thinks and hears with: engines as child processes, and the weights they load.
//!
//! This library is the client side and names no native crate; `src/bin/` holds the two engines.

pub mod error;
pub mod llm;
pub mod stt;

pub use error::EngineError;
