//! Events that were snoozed: one small file each among what Tiro keeps for itself. The event stays as it is: its calendar
//! may be read-only or shared, and others who see it want no alarm of ours.

use std::path::{Path, PathBuf};

use jiff::Zoned;

use super::Ring;
use crate::{
    contract::{Dirs, ToolError},
    system::{
        calendar,
        journal::Step,
        store::{self, Bounds},
    },
};

/// As many are looked at; nobody snoozes more at once.
const MAX: usize = 200;
/// A ring is far smaller.
const MAX_BYTES: u64 = 64 * 1024;

/// Lets an event ring once more at a moment, in place of an earlier such moment.
///
/// # Errors
/// What keeps the file from being written.
pub fn set(step: &Step, dirs: &Dirs, ring: &Ring, until: &Zoned, now: &Zoned) -> Result<(), ToolError> {
    const WHAT: &str = "snooze it";
    for (path, earlier) in all(dirs) {
        if earlier.uid == ring.uid
            && earlier.starts == ring.starts
            && let Ok(before) = store::read_bounded(&path, MAX_BYTES)
        {
            step.remove(&path, &before).map_err(|e| e.tool(WHAT))?;
        }
    }
    let snoozed = Ring {
        at: until.timestamp(),
        ..ring.clone()
    };
    let bytes = serde_json::to_vec(&snoozed).map_err(|e| ToolError::broken(WHAT, e))?;
    let path = folder(dirs).join(format!("{}.json", calendar::new_uid(now)));
    step.create(&path, &bytes).map_err(|e| e.tool(WHAT))
}

/// What is snoozed, with its files. What is no such file is left out, and so is an event that was taken away meanwhile.
pub fn all(dirs: &Dirs) -> Vec<(PathBuf, Ring)> {
    let mut rings = read(dirs);
    rings.retain(|(_, ring)| ring.path.exists());
    rings
}

/// The files of those that are due, with what is in them.
pub fn due(dirs: &Dirs, now: &Zoned) -> Vec<(PathBuf, Vec<u8>)> {
    let due = read(dirs)
        .into_iter()
        .filter(|(_, ring)| ring.at <= now.timestamp());
    due.filter_map(|(path, _)| Some((path.clone(), store::read_bounded(&path, MAX_BYTES).ok()?)))
        .collect()
}

/// Where they lie.
pub fn folder(dirs: &Dirs) -> PathBuf {
    dirs.state.join("snoozes")
}

fn read(dirs: &Dirs) -> Vec<(PathBuf, Ring)> {
    let bounds = Bounds {
        depth: 0,
        entries: MAX,
        file_links: false,
    };
    let files = store::walk(&folder(dirs), bounds).map(|found| found.files);
    let ring = |path: &Path| -> Option<Ring> {
        let bytes = store::read_bounded(path, MAX_BYTES).ok()?;
        serde_json::from_slice(&bytes).ok()
    };
    files
        .unwrap_or_default()
        .into_iter()
        .filter_map(|path| ring(&path).map(|ring| (path, ring)))
        .collect()
}
