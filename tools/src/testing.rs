//! What tests of this room share: a context over a folder of its own, and the evaluation data.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use serde_json::Value;

use crate::{
    Ctx, Dirs, Output, ToolError,
    discover::Index,
    system::journal::{Journal, Retention, Step},
};

/// A context whose folders are under `root`, at a fixed moment.
pub fn ctx(root: &Path) -> Ctx {
    Ctx {
        now: "2026-11-23T09:30:00[Europe/Berlin]".parse().unwrap(),
        dirs: Dirs::under(root),
        index: Arc::new(Index::of(crate::ALL)),
        search: crate::Search::default(),
        daemon: true,
        work: crate::Work::default(),
        last: None,
        snooze: Ctx::SNOOZE,
        step: step(root),
    }
}

/// Writes with a journal under `root`.
pub fn step(root: &Path) -> Step {
    Journal::at(&root.join("state"), Retention::default()).step("test")
}

/// Runs one tool by name.
pub async fn run(name: &str, args: Value, ctx: &Ctx) -> Result<Output, ToolError> {
    crate::find(name).unwrap().run(args, ctx).await
}

/// What it says when it works.
#[track_caller]
pub fn said(result: Result<Output, ToolError>) -> String {
    result.unwrap().say
}

/// What it tells when it does not.
#[track_caller]
pub fn told(result: Result<Output, ToolError>) -> String {
    match result {
        Err(ToolError::Tell(text) | ToolError::Misfit(text)) => text,
        other => panic!("expected to be told, got {other:?}"),
    }
}

/// A folder or file of the evaluation data: `$TIRO_DATA`, else beside the workspace.
pub fn data(name: &str) -> Option<PathBuf> {
    let root = match std::env::var_os("TIRO_DATA") {
        Some(root) => PathBuf::from(root),
        None => Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/data"),
    };
    let path = root.join(name);
    if !path.exists() {
        println!("SKIPPED: {} is not there; set TIRO_DATA.", path.display());
        return None;
    }
    Some(path)
}

/// Every file under a folder with its content, sorted.
pub fn files(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    let mut pending = vec![folder.to_owned()];
    while let Some(folder) = pending.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                pending.push(path);
            } else {
                let bytes = fs::read(&path).unwrap();
                found.push((path, bytes));
            }
        }
    }
    found.sort();
    assert!(!found.is_empty(), "{} holds no files", folder.display());
    found
}
