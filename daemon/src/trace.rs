//! The trace: each request with its words, one JSON object a line, only when the person asked for it in the config.
//!
//! Everything else that Tiro logs holds no content. A file is a day, readable by its owner only, and deleted after
//! the time that the config says.

use std::{
    fs::{self, OpenOptions},
    io::Write as _,
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use anyhow::Context as _;

use crate::report::Report;

/// Where requests are kept, if at all.
#[derive(Debug, Clone)]
pub struct Trace {
    folder: PathBuf,
    retention: Duration,
}

impl Trace {
    /// A trace in this folder. What is older than `retention` is deleted now and with each new day.
    pub fn new(folder: PathBuf, retention: Duration) -> Trace {
        Trace { folder, retention }
    }

    /// Appends a request. A trace that cannot be written is no reason to fail the request.
    pub fn keep(&self, report: &Report, now: &jiff::Zoned) {
        if let Err(error) = self.append(report, now) {
            tracing::warn!(%error, "the trace was not written");
        }
    }

    fn append(&self, report: &Report, now: &jiff::Zoned) -> anyhow::Result<()> {
        crate::paths::create_private(&self.folder)?;
        let file = self.folder.join(format!("{}.jsonl", now.date()));
        if !file.exists() {
            self.prune()?;
        }
        let mut line = serde_json::to_value(report)?;
        line["at"] = now.to_string().into();
        let mut open = OpenOptions::new();
        let mut file = open
            .create(true)
            .append(true)
            .mode(0o600)
            .open(&file)
            .context("cannot open it")?;
        // One write, so that two processes do not mix their lines.
        Ok(file.write_all(format!("{line}\n").as_bytes())?)
    }

    fn prune(&self) -> anyhow::Result<()> {
        let oldest = SystemTime::now().checked_sub(self.retention);
        for entry in fs::read_dir(&self.folder)? {
            let path = entry?.path();
            if is_trace(&path) && oldest.is_some_and(|oldest| modified(&path).is_some_and(|at| at < oldest)) {
                fs::remove_file(&path)?;
            }
        }
        Ok(())
    }
}

fn is_trace(path: &Path) -> bool {
    path.extension().is_some_and(|e| e == "jsonl")
}

fn modified(path: &Path) -> Option<SystemTime> {
    fs::metadata(path).ok()?.modified().ok()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn a_day_is_a_private_file_and_old_days_go() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("trace");
        let trace = Trace::new(folder.clone(), Duration::from_secs(3600));
        fs::create_dir_all(&folder).unwrap();
        let old = folder.join("2020-01-01.jsonl");
        fs::write(&old, "{}\n").unwrap();
        let hours_ago = SystemTime::now() - Duration::from_secs(7200);
        fs::File::open(&old).unwrap().set_modified(hours_ago).unwrap();
        fs::write(folder.join("notes.txt"), "not ours").unwrap();
        let now = "2026-11-21T09:00[Europe/Berlin]".parse().unwrap();
        let report = Report {
            say: "what time is it".into(),
            ..Report::default()
        };
        trace.keep(&report, &now);
        trace.keep(&report, &now);
        let today = folder.join("2026-11-21.jsonl");
        let lines = fs::read_to_string(&today).unwrap();
        assert_eq!(lines.lines().count(), 2);
        assert!(
            lines.contains("what time is it") && lines.contains("2026-11-21T09:00"),
            "{lines}"
        );
        assert_eq!(fs::metadata(&today).unwrap().permissions().mode() & 0o777, 0o600);
        assert!(!old.exists() && folder.join("notes.txt").exists());
    }
}
