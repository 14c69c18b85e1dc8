//! The list of what will ring soon, and what it was read from: made anew when a folder changes, whoever wrote into it.

use std::{
    path::{Path, PathBuf},
    time::{Duration, Instant, SystemTime},
};

use jiff::{SignedDuration, Timestamp, Zoned};
use tools::{
    Dirs,
    system::{
        rings::{self, Ring},
        vdir,
    },
};

/// How often the list is made anew at the latest: a file that is written in place does not change its folder.
const PLAN: Duration = Duration::from_secs(60);
/// How far ahead the list reaches.
const AHEAD: SignedDuration = SignedDuration::from_hours(2);
/// As many folders are looked at four times a second; the others only when the list is made anew.
const MAX_FOLDERS: usize = 200;

/// What will ring.
#[derive(Debug, Clone, Default)]
pub struct Plan {
    /// In order of time.
    pub rings: Vec<Ring>,
    until: Timestamp,
    zone: Option<String>,
    made: Option<Instant>,
    /// The folders and when they changed.
    folders: Vec<(PathBuf, Option<SystemTime>)>,
    /// Every file with its size and when it changed.
    files: Vec<(PathBuf, u64, Option<SystemTime>)>,
}

impl Plan {
    /// Whether it is time to look again, or a folder changed.
    pub fn is_old(&self) -> bool {
        let watched = self.folders.iter().take(MAX_FOLDERS);
        self.made.is_none_or(|made| made.elapsed() >= PLAN)
            || watched.into_iter().any(|(path, stamp)| modified(path) != *stamp)
    }
}

/// The list; the old one where nothing changed on disk and it reaches far enough.
pub fn make(dirs: &Dirs, now: &Zoned, old: Plan, jumped: bool) -> Plan {
    let mut folders = vec![
        dirs.alarms.clone(),
        dirs.reminders.clone(),
        dirs.calendars.clone(),
        rings::snoozed(dirs),
    ];
    for store in [&dirs.reminders, &dirs.calendars] {
        let collections = vdir::collections(store).unwrap_or_default();
        folders.extend(collections.into_iter().map(|collection| collection.path));
    }
    // Looked at before the files are read: what changes in between is seen the next time.
    let stamps: Vec<_> = folders.iter().map(|path| modified(path)).collect();
    let folders: Vec<_> = folders.into_iter().zip(stamps).collect();
    let files = files(&folders);
    let zone = now.time_zone().iana_name().map(str::to_owned);
    let soon = now.timestamp().checked_add(SignedDuration::from_mins(3));
    let reaches = soon.is_ok_and(|soon| old.until > soon);
    let made = Some(Instant::now());
    if !jumped && reaches && old.files == files && old.zone == zone {
        return Plan { made, folders, ..old };
    }
    let to = now.checked_add(AHEAD).unwrap_or_else(|_| now.clone());
    Plan {
        rings: rings::agenda(dirs, now, &to),
        until: to.timestamp(),
        zone,
        made,
        folders,
        files,
    }
}

fn files(folders: &[(PathBuf, Option<SystemTime>)]) -> Vec<(PathBuf, u64, Option<SystemTime>)> {
    let entries = folders
        .iter()
        .filter_map(|(path, _)| std::fs::read_dir(path).ok())
        .flatten()
        .take(vdir::MAX_FILES)
        .filter_map(Result::ok);
    let mut files: Vec<_> = entries
        .filter_map(|entry| {
            let meta = entry.metadata().ok().filter(std::fs::Metadata::is_file)?;
            Some((entry.path(), meta.len(), meta.modified().ok()))
        })
        .collect();
    files.sort();
    files
}

fn modified(path: &Path) -> Option<SystemTime> {
    std::fs::metadata(path).ok()?.modified().ok()
}
