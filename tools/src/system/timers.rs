//! Running timers: one small file that every Tiro process shares, so that a timer outlives the process that set it.

use std::{path::PathBuf, time::Duration};

use jiff::{Timestamp, Zoned};
use serde::{Deserialize, Serialize};

use crate::{
    contract::{Dirs, ToolError},
    system::store::{self, StoreError},
};

/// At most this many timers run at once; more is a mistake, not a kitchen.
pub const MAX_TIMERS: usize = 50;

/// Largest file that is read: fifty timers with the longest labels are far smaller.
const MAX_BYTES: u64 = 64 * 1024;

/// A running timer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Timer {
    /// Counts up; never used twice while a timer runs.
    pub id: u64,
    /// What it is for, if the person said so.
    pub label: Option<String>,
    /// How long it was set for, in seconds.
    pub seconds: u64,
    /// When it rings.
    pub rings: Timestamp,
}

/// Starts a timer.
///
/// # Errors
/// `Tell` when too many run, `Broken` when the file cannot be read or written.
pub fn set(dirs: &Dirs, now: &Zoned, length: Duration, label: Option<String>) -> Result<Timer, ToolError> {
    change(dirs, "set the timer", |timers| {
        if timers.len() >= MAX_TIMERS {
            return Err(ToolError::tell(format!(
                "{MAX_TIMERS} timers are running already."
            )));
        }
        let length = jiff::SignedDuration::try_from(length).map_err(|e| ToolError::tell(e.to_string()))?;
        let rings = now.timestamp().checked_add(length);
        let rings = rings.map_err(|_| ToolError::tell("That is too long for a timer."))?;
        let id = timers.iter().map(|t| t.id).max().unwrap_or(0) + 1;
        let seconds = length.as_secs().unsigned_abs();
        let timer = Timer {
            id,
            label: label.clone(),
            seconds,
            rings,
        };
        timers.push(timer.clone());
        Ok(timer)
    })
}

/// The timers that run, the next to ring first.
///
/// # Errors
/// `Broken` when the file cannot be read.
pub fn running(dirs: &Dirs) -> Result<Vec<Timer>, ToolError> {
    let mut timers = read(dirs).map_err(|e| e.tool("read the timers"))?.0;
    timers.sort_by_key(|t| (t.rings, t.id));
    Ok(timers)
}

/// Takes out the timers that are due. The caller rings them: once taken they are gone, so that nothing rings twice.
///
/// # Errors
/// `Broken` when the file cannot be read or written.
pub fn take_due(dirs: &Dirs, now: &Zoned) -> Result<Vec<Timer>, ToolError> {
    let due = |timer: &Timer| timer.rings <= now.timestamp();
    // Most looks find nothing, and then nothing is written.
    if !running(dirs)?.iter().any(due) {
        return Ok(Vec::new());
    }
    change(dirs, "ring the timer", |timers| {
        Ok(timers.extract_if(.., |t| due(t)).collect())
    })
}

fn change<T>(
    dirs: &Dirs,
    what: &str,
    edit: impl FnOnce(&mut Vec<Timer>) -> Result<T, ToolError>,
) -> Result<T, ToolError> {
    // Processes take turns: comparing the file before replacing it leaves a moment in which both of two could.
    let _turn = store::Turn::take(&dirs.state).map_err(|e| e.tool(what))?;
    let (mut timers, before) = read(dirs).map_err(|e| e.tool(what))?;
    let result = edit(&mut timers)?;
    let bytes = serde_json::to_vec(&timers).map_err(|e| ToolError::broken(what, e))?;
    let written = match &before {
        Some(before) => store::replace_known(&file(dirs), before, &bytes),
        None => store::create_new(&file(dirs), &bytes),
    };
    written.map_err(|e| e.tool(what))?;
    Ok(result)
}

fn read(dirs: &Dirs) -> Result<(Vec<Timer>, Option<Vec<u8>>), StoreError> {
    match store::read_bounded(&file(dirs), MAX_BYTES) {
        Ok(bytes) => {
            let timers = serde_json::from_slice(&bytes).unwrap_or_else(|error| {
                // Nobody else writes this file. A broken one holds nothing that a person could miss more than
                // being able to set the next timer.
                tracing::warn!(%error, "the file of running timers is broken and is started anew");
                Vec::new()
            });
            Ok((timers, Some(bytes)))
        }
        Err(StoreError::Missing(_)) => Ok((Vec::new(), None)),
        Err(error) => Err(error),
    }
}

fn file(dirs: &Dirs) -> PathBuf {
    dirs.state.join("timers.json")
}

/// A length as people say it: "1 hour 30 minutes".
pub fn spoken(seconds: u64) -> String {
    let parts = [
        (seconds / 3600, "hour"),
        (seconds / 60 % 60, "minute"),
        (seconds % 60, "second"),
    ];
    let said = parts.iter().filter(|(n, _)| *n > 0);
    let said: Vec<_> = said
        .map(|(n, unit)| format!("{n} {unit}{}", if *n == 1 { "" } else { "s" }))
        .collect();
    said.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::ctx;

    fn minutes(n: u64) -> Duration {
        Duration::from_secs(n * 60)
    }

    #[test]
    fn a_timer_is_taken_once_when_it_is_due() {
        let root = tempfile::tempdir().unwrap();
        let ctx = ctx(root.path());
        let long = set(&ctx.dirs, &ctx.now, minutes(10), Some("eggs".into())).unwrap();
        let short = set(&ctx.dirs, &ctx.now, minutes(5), None).unwrap();
        assert_eq!(running(&ctx.dirs).unwrap(), [short.clone(), long.clone()]);
        let later = |m: u64| ctx.now.checked_add(minutes(m)).unwrap();
        assert_eq!(take_due(&ctx.dirs, &later(4)).unwrap(), []);
        assert_eq!(take_due(&ctx.dirs, &later(5)).unwrap(), [short]);
        assert_eq!(take_due(&ctx.dirs, &later(5)).unwrap(), []);
        assert_eq!(take_due(&ctx.dirs, &later(60)).unwrap(), [long]);
        assert_eq!(running(&ctx.dirs).unwrap(), []);
    }

    #[test]
    fn threads_that_set_timers_at_once_lose_none() {
        let root = tempfile::tempdir().unwrap();
        let ctx = ctx(root.path());
        std::thread::scope(|scope| {
            for _ in 0..20 {
                scope.spawn(|| set(&ctx.dirs, &ctx.now, minutes(1), None).unwrap());
            }
        });
        let ids: Vec<_> = running(&ctx.dirs).unwrap().iter().map(|t| t.id).collect();
        assert_eq!(ids, (1..=20).collect::<Vec<_>>());
    }

    #[test]
    fn a_broken_file_is_started_anew_and_too_many_are_refused() {
        let root = tempfile::tempdir().unwrap();
        let ctx = ctx(root.path());
        std::fs::create_dir_all(&ctx.dirs.state).unwrap();
        std::fs::write(file(&ctx.dirs), b"[{\"id\": 1}").unwrap();
        for _ in 0..MAX_TIMERS {
            set(&ctx.dirs, &ctx.now, minutes(1), None).unwrap();
        }
        assert!(matches!(
            set(&ctx.dirs, &ctx.now, minutes(1), None),
            Err(ToolError::Tell(_))
        ));
    }

    #[test]
    fn lengths_are_said_as_people_do() {
        #[track_caller]
        fn check(seconds: u64, expect: &str) {
            assert_eq!(spoken(seconds), expect);
        }
        check(600, "10 minutes");
        check(5400, "1 hour 30 minutes");
        check(61, "1 minute 1 second");
        check(7200, "2 hours");
    }
}
