//! The tools that are loaded, kept for the next start: names and times, no words of anybody.

use std::path::Path;

use serde::{Deserialize, Serialize};
use tools::system::store::{self, StoreError};

use crate::agent::toolbox::Loaded;

const FILE: &str = "loaded-tools.json";
/// More than every tool there is takes.
const MAX_BYTES: u64 = 1 << 20;
const VERSION: u32 = 1;

#[derive(Serialize, Deserialize)]
struct Shelf {
    version: u32,
    loaded: Vec<Loaded>,
}

/// What was kept below this folder. What cannot be read is as if there were nothing: every tool is found again.
pub fn read(state: &Path) -> Vec<Loaded> {
    let path = state.join(FILE);
    if !path.exists() {
        return Vec::new();
    }
    let shelf = store::read_bounded(&path, MAX_BYTES)
        .map_err(|error| error.to_string())
        .and_then(|bytes| serde_json::from_slice::<Shelf>(&bytes).map_err(|error| error.to_string()));
    match shelf {
        Ok(shelf) if shelf.version == VERSION => shelf.loaded,
        Ok(_) => Vec::new(),
        Err(error) => {
            tracing::warn!(error, "the tools in use cannot be read");
            Vec::new()
        }
    }
}

/// Keeps them.
///
/// # Errors
/// When the disk does not let us.
pub fn write(state: &Path, loaded: &[Loaded]) -> Result<(), StoreError> {
    let shelf = Shelf {
        version: VERSION,
        loaded: loaded.to_vec(),
    };
    store::make_folder(state)?;
    let bytes = serde_json::to_vec(&shelf).unwrap_or_default();
    store::replace(&state.join(FILE), &bytes)
}

/// Keeps nothing any more.
pub fn clear(state: &Path) {
    // Most often there is none; one that cannot be removed names tools and nothing else.
    let _ = std::fs::remove_file(state.join(FILE));
}
