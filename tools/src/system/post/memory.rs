//! What is remembered between two runs, in one SQLite file an account: which folder here is which on the server, and
//! which message here is which there. Every row is written right after the step that it describes; losing the file costs
//! comparing, not mail.

use std::{fs::File, path::Path};

use rusqlite::{Connection, OptionalExtension as _, params};

use super::PostError;
use crate::system::ledger;

/// Of this layout; a higher number is a newer Tiro's.
const VERSION: i64 = 1;

const LAYOUT: &str = "
    CREATE TABLE IF NOT EXISTS folder (
        id INTEGER PRIMARY KEY,
        remote TEXT NOT NULL UNIQUE,
        local TEXT NOT NULL UNIQUE,
        validity INTEGER
    ) STRICT;
    CREATE TABLE IF NOT EXISTS message (
        folder INTEGER NOT NULL REFERENCES folder ON DELETE CASCADE,
        uid INTEGER NOT NULL,
        base TEXT NOT NULL,
        flags TEXT NOT NULL,
        hash BLOB NOT NULL,
        PRIMARY KEY (folder, uid),
        UNIQUE (folder, base)
    ) STRICT;
    CREATE TABLE IF NOT EXISTS pushed (
        folder INTEGER NOT NULL REFERENCES folder ON DELETE CASCADE,
        base TEXT NOT NULL,
        done INTEGER NOT NULL,
        PRIMARY KEY (folder, base)
    ) STRICT;
";

/// The memory of one account. Nobody else has it open.
pub struct Memory {
    base: Connection,
    _lock: File,
}

/// A folder that is on both sides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pair {
    /// Its row.
    pub id: i64,
    /// Its name on the server.
    pub remote: String,
    /// Its folder below the Maildir; empty for the inbox.
    pub local: String,
    /// The server's word that its numbers still mean the same messages.
    pub validity: Option<u32>,
}

/// A message that is on both sides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Known {
    /// Its number on the server.
    pub uid: u32,
    /// Its file's name without flags.
    pub base: String,
    /// The flags that both sides had last.
    pub flags: String,
    /// SHA-256 of its file.
    pub hash: Vec<u8>,
}

impl Memory {
    /// Opens the memory of an account, whose name is a part of a file's name.
    ///
    /// # Errors
    /// When another process synchronises the same account, or the disk does not let us; likewise below.
    pub fn open(state: &Path, account: &str) -> Result<Memory, PostError> {
        let (base, lock) = ledger::open(&state.join("mail"), account, LAYOUT, VERSION)?;
        // Of a folder that goes its messages go, too.
        base.pragma_update(None, "foreign_keys", true)?;
        Ok(Memory { base, _lock: lock })
    }

    /// All pairs of folders.
    pub fn folders(&self) -> Result<Vec<Pair>, PostError> {
        let mut all = self
            .base
            .prepare_cached("SELECT id, remote, local, validity FROM folder ORDER BY id")?;
        let rows = all.query_map([], |row| {
            Ok(Pair {
                id: row.get(0)?,
                remote: row.get(1)?,
                local: row.get(2)?,
                validity: row.get(3)?,
            })
        })?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// Remembers that two folders belong together.
    pub fn pair(&self, remote: &str, local: &str) -> Result<Pair, PostError> {
        self.base.execute(
            "INSERT INTO folder (remote, local) VALUES (?1, ?2)",
            params![remote, local],
        )?;
        Ok(Pair {
            id: self.base.last_insert_rowid(),
            remote: remote.to_owned(),
            local: local.to_owned(),
            validity: None,
        })
    }

    /// The numbers of a folder mean other messages from now on: what was remembered of them is forgotten, and nothing
    /// else happens to the files.
    pub fn renumber(&self, folder: i64, validity: u32) -> Result<(), PostError> {
        let both = self.base.unchecked_transaction()?;
        both.execute("DELETE FROM message WHERE folder = ?1", [folder])?;
        both.execute(
            "UPDATE folder SET validity = ?2 WHERE id = ?1",
            params![folder, validity],
        )?;
        Ok(both.commit()?)
    }

    /// The messages of a folder that are on both sides.
    pub fn known(&self, folder: i64) -> Result<Vec<Known>, PostError> {
        let mut all = self
            .base
            .prepare_cached("SELECT uid, base, flags, hash FROM message WHERE folder = ?1 ORDER BY uid")?;
        let rows = all.query_map([folder], |row| {
            Ok(Known {
                uid: row.get(0)?,
                base: row.get(1)?,
                flags: row.get(2)?,
                hash: row.get(3)?,
            })
        })?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// Both sides agree on a message.
    pub fn agree(&self, folder: i64, known: &Known) -> Result<(), PostError> {
        self.base
            .prepare_cached(
                "INSERT OR REPLACE INTO message (folder, uid, base, flags, hash) VALUES (?1, ?2, ?3, ?4, ?5)",
            )?
            .execute(params![folder, known.uid, known.base, known.flags, known.hash])?;
        Ok(())
    }

    /// A message is no longer on both sides.
    pub fn forget(&self, folder: i64, uid: u32) -> Result<(), PostError> {
        self.base
            .prepare_cached("DELETE FROM message WHERE folder = ?1 AND uid = ?2")?
            .execute(params![folder, uid])?;
        Ok(())
    }

    /// Whether a message of ours was given to the server before; nothing when it was never tried, false when nobody knows.
    pub fn pushed(&self, folder: i64, base: &str) -> Result<Option<bool>, PostError> {
        Ok(self
            .base
            .prepare_cached("SELECT done FROM pushed WHERE folder = ?1 AND base = ?2")?
            .query_row(params![folder, base], |row| row.get(0))
            .optional()?)
    }

    /// A message of ours is about to be given to the server, or was.
    pub fn push(&self, folder: i64, base: &str, done: bool) -> Result<(), PostError> {
        self.base
            .prepare_cached("INSERT OR REPLACE INTO pushed (folder, base, done) VALUES (?1, ?2, ?3)")?
            .execute(params![folder, base, done])?;
        Ok(())
    }
}
