//! How tools have fared: one that keeps failing is found less, and rises again when it works or when time has passed.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use jiff::Timestamp;
use rusqlite::{Connection, params};

use super::store::{self, StoreError};

/// After so long a trouble counts half.
const HALF_LIFE: f64 = 6.0 * 3600.0;
/// Troubles up to this are bad luck.
const LUCK: f64 = 1.5;
/// What each further one leaves of the score, and what is left at the worst, so that it can be tried again.
const LEAVES: f64 = 0.7;
const LEAST: f64 = 0.25;
/// Success takes so much of the trouble away.
const HEALS: f64 = 0.5;
/// Under this nothing is remembered.
const FORGOTTEN: f64 = 0.2;
/// More tools than anybody has; what is over that is not read.
const MOST: i64 = 10_000;

const LAYOUT: &str = "CREATE TABLE IF NOT EXISTS health (
    tool TEXT PRIMARY KEY,
    trouble REAL NOT NULL,
    at INTEGER NOT NULL
) STRICT";

/// How the tools have fared, kept in `health.db`.
#[derive(Debug, Clone, Default)]
pub struct Health {
    file: PathBuf,
    known: BTreeMap<String, Trouble>,
}

/// Failures, older ones less, and when they were last counted.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Trouble {
    count: f64,
    at: Timestamp,
}

/// What is to be written down about a tool.
#[derive(Debug)]
#[must_use = "it is not written down yet"]
pub struct Noted {
    file: PathBuf,
    tool: String,
    trouble: Option<Trouble>,
}

impl Noted {
    /// Writes it down. Blocks for as long as a row takes.
    ///
    /// # Errors
    /// When the disk or the database does not let us.
    pub fn write(self) -> Result<(), HealthError> {
        if let Some(folder) = self.file.parent() {
            store::make_folder(folder)?;
        }
        if !self.file.exists() {
            // Made by us, so that it is closed to others from the start.
            store::create_new(&self.file, b"")?;
        }
        let base = Connection::open(&self.file)?;
        base.execute_batch(LAYOUT)?;
        match self.trouble {
            None => base.execute("DELETE FROM health WHERE tool = ?1", [self.tool])?,
            Some(Trouble { count, at }) => base.execute(
                "INSERT OR REPLACE INTO health (tool, trouble, at) VALUES (?1, ?2, ?3)",
                params![self.tool, count, at.as_second()],
            )?,
        };
        Ok(())
    }
}

/// Why it could not be kept.
#[derive(Debug, thiserror::Error)]
pub enum HealthError {
    /// The folder or the file.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The database.
    #[error(transparent)]
    Base(#[from] rusqlite::Error),
}

impl Health {
    /// What was kept below this folder. What cannot be read is as if there were nothing: it only ranks.
    pub fn at(state: &Path) -> Health {
        let file = state.join("health.db");
        let known = if file.exists() {
            read(&file).unwrap_or_else(|error| {
                tracing::warn!(%error, "how tools have fared cannot be read");
                BTreeMap::new()
            })
        } else {
            BTreeMap::new()
        };
        Health { file, known }
    }

    /// Notes how a call of a tool ended. What is returned has to be written down; nothing is, for tools that work and always
    /// did.
    pub fn note(&mut self, tool: &str, worked: bool, now: Timestamp) -> Option<Noted> {
        let before = self.known.get(tool).map_or(0.0, |trouble| trouble.now(now));
        if worked && before == 0.0 {
            return None;
        }
        let count = if worked { before * HEALS } else { before + 1.0 };
        let trouble = Some(Trouble { count, at: now }).filter(|_| count >= FORGOTTEN);
        match trouble {
            Some(trouble) => _ = self.known.insert(tool.to_owned(), trouble),
            None => _ = self.known.remove(tool),
        }
        Some(Noted {
            file: self.file.clone(),
            tool: tool.to_owned(),
            trouble,
        })
    }

    /// What to multiply scores with, for those that keep failing.
    pub fn weights(&self, now: Timestamp) -> BTreeMap<String, f32> {
        let weight = |trouble: &Trouble| LEAVES.powf(trouble.now(now) - LUCK).clamp(LEAST, 1.0) as f32;
        self.known
            .iter()
            .map(|(tool, trouble)| (tool.clone(), weight(trouble)))
            .filter(|(_, weight)| *weight < 1.0)
            .collect()
    }
}

impl Trouble {
    /// What is left of it now; a clock that was put back does not make it grow.
    fn now(&self, now: Timestamp) -> f64 {
        let passed = now.duration_since(self.at).as_secs_f64().max(0.0);
        self.count * 0.5_f64.powf(passed / HALF_LIFE)
    }
}

fn read(file: &Path) -> Result<BTreeMap<String, Trouble>, HealthError> {
    let base = Connection::open(file)?;
    base.execute_batch(LAYOUT)?;
    let mut rows = base.prepare("SELECT tool, trouble, at FROM health LIMIT ?1")?;
    let rows = rows.query_map([MOST], |row| {
        Ok((
            row.get::<_, String>(0)?,
            row.get::<_, f64>(1)?,
            row.get::<_, i64>(2)?,
        ))
    })?;
    let mut known = BTreeMap::new();
    for row in rows {
        let (tool, count, at) = row?;
        if let (Ok(at), true) = (Timestamp::from_second(at), count.is_finite() && count > 0.0) {
            known.insert(tool, Trouble { count, at });
        }
    }
    Ok(known)
}

#[cfg(test)]
mod tests {
    use jiff::ToSpan as _;

    use super::*;

    fn noon() -> Timestamp {
        "2026-11-21T12:00:00Z".parse().unwrap()
    }

    fn note(health: &mut Health, worked: bool) {
        if let Some(noted) = health.note("web.search", worked, noon()) {
            noted.write().unwrap();
        }
    }

    #[test]
    fn a_tool_that_keeps_failing_sinks_and_heals_when_it_works() {
        let home = tempfile::tempdir().unwrap();
        let mut health = Health::at(home.path());
        let weight = |health: &Health, at| health.weights(at).get("web.search").copied().unwrap_or(1.0);
        note(&mut health, true);
        assert!(
            !home.path().join("health.db").exists(),
            "what works is not written down"
        );
        note(&mut health, false);
        assert_eq!(weight(&health, noon()), 1.0, "once is bad luck");
        note(&mut health, false);
        let twice = weight(&health, noon());
        note(&mut health, false);
        let thrice = weight(&health, noon());
        assert!(thrice < twice && twice < 1.0, "{thrice} {twice}");
        for _ in 0..100 {
            note(&mut health, false);
        }
        assert_eq!(weight(&health, noon()), LEAST as f32);
        // Another process knows it, too.
        assert_eq!(weight(&Health::at(home.path()), noon()), LEAST as f32);
        for _ in 0..10 {
            note(&mut health, true);
        }
        assert_eq!(weight(&health, noon()), 1.0);
        assert!(Health::at(home.path()).known.is_empty());
    }

    #[test]
    fn troubles_pass_with_time_and_no_clock_makes_them_grow() {
        let home = tempfile::tempdir().unwrap();
        let mut health = Health::at(home.path());
        for _ in 0..3 {
            note(&mut health, false);
        }
        let now = health.weights(noon());
        assert_eq!(health.weights(noon() - 48.hours()), now);
        assert!(health.weights(noon() + 48.hours()).is_empty());
    }

    #[test]
    fn what_cannot_be_read_only_costs_the_memory() {
        let home = tempfile::tempdir().unwrap();
        std::fs::write(
            home.path().join("health.db"),
            "no database at all, whatever its name says",
        )
        .unwrap();
        let mut health = Health::at(home.path());
        assert!(health.weights(noon()).is_empty());
        for _ in 0..3 {
            // It is not thrown away either: somebody may know what it is.
            assert!(health.note("web.search", false, noon()).unwrap().write().is_err());
        }
        assert!(!health.weights(noon()).is_empty());
    }
}
