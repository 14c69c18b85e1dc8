//! What is remembered between two runs, in one SQLite file an account: which folder belongs to which collection, and
//! what each item was when both sides last agreed on it.
//!
//! Every row is written right after the step that it describes. A run that is killed in between finds both sides with
//! the same content and no row, or an old one, and only remembers; losing the whole file is no worse.

use std::{fs::File as Disk, path::Path};

use rusqlite::{Connection, OptionalExtension as _, params};

use super::{
    DavError, Kind,
    plan::{File, Hash, Known, Place},
};
use crate::system::ledger;

/// Of this layout; another number is a newer Tiro's.
const VERSION: i64 = 1;

/// The memory of one account. Nobody else has it open.
pub struct Memory {
    base: Connection,
    /// Held as long as the memory lives.
    _lock: Disk,
}

/// A collection as it is remembered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Paired {
    /// Its row.
    pub id: i64,
    /// Its path on the server.
    pub href: String,
    /// The name of its folder in each of the stores.
    pub folder: String,
    /// What the server called it.
    pub name: Option<String>,
    /// The colour that the server gave it.
    pub color: Option<String>,
    /// Where the last complete run ended.
    pub token: Option<String>,
}

impl Memory {
    /// Opens the memory of an account, whose name is a part of a file's name, in a folder that is made when needed.
    ///
    /// # Errors
    /// When another process synchronises the same account, or the disk does not let us.
    pub fn open(folder: &Path, account: &str) -> Result<Memory, DavError> {
        let (base, lock) = ledger::open(folder, account, LAYOUT, VERSION)?;
        Ok(Memory { base, _lock: lock })
    }

    /// The collections of a kind, by address.
    ///
    /// # Errors
    /// When the file cannot be read; likewise below.
    pub fn collections(&self, kind: Kind) -> Result<Vec<Paired>, DavError> {
        let mut all = self.base.prepare_cached(
            "SELECT id, href, folder, name, color, token FROM collection WHERE kind = ?1 ORDER BY href",
        )?;
        let rows = all.query_map([kind.word()], |row| {
            Ok(Paired {
                id: row.get(0)?,
                href: row.get(1)?,
                folder: row.get(2)?,
                name: row.get(3)?,
                color: row.get(4)?,
                token: row.get(5)?,
            })
        })?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// Remembers a new pair.
    ///
    /// # Errors
    /// When the file cannot be written; likewise below.
    pub fn pair(&self, kind: Kind, href: &str, folder: &str) -> Result<Paired, DavError> {
        self.base.execute(
            "INSERT INTO collection (kind, href, folder) VALUES (?1, ?2, ?3)",
            params![kind.word(), href, folder],
        )?;
        Ok(Paired {
            id: self.base.last_insert_rowid(),
            href: href.to_owned(),
            folder: folder.to_owned(),
            name: None,
            color: None,
            token: None,
        })
    }

    /// What the server calls it now.
    ///
    /// # Errors
    /// As `pair`.
    pub fn describe(&self, id: i64, name: Option<&str>, color: Option<&str>) -> Result<(), DavError> {
        self.base.execute(
            "UPDATE collection SET name = ?2, color = ?3 WHERE id = ?1",
            params![id, name, color],
        )?;
        Ok(())
    }

    /// Where a complete run ended.
    ///
    /// # Errors
    /// As `pair`.
    pub fn set_token(&self, id: i64, token: Option<&str>) -> Result<(), DavError> {
        self.base.execute(
            "UPDATE collection SET token = ?2 WHERE id = ?1",
            params![id, token],
        )?;
        Ok(())
    }

    /// The items of a collection.
    ///
    /// # Errors
    /// As `collections`.
    pub fn items(&self, id: i64) -> Result<Vec<Known>, DavError> {
        let mut all = self.base.prepare_cached(
            "SELECT href, etag, place, name, hash, uid, trouble FROM item WHERE collection = ?1 ORDER BY href",
        )?;
        let rows = all.query_map([id], |row| {
            let place: Option<i64> = row.get(2)?;
            let name: Option<String> = row.get(3)?;
            let hash: Option<Hash> = row.get(4)?;
            let file = match (place.and_then(place_of), name, hash) {
                (Some(place), Some(name), Some(hash)) => Some((File { place, name }, hash)),
                _ => None,
            };
            Ok(Known {
                href: row.get(0)?,
                etag: row.get(1)?,
                file,
                uid: row.get(5)?,
                trouble: row.get(6)?,
            })
        })?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// Remembers an item.
    ///
    /// # Errors
    /// As `pair`.
    pub fn know(&self, id: i64, item: &Known) -> Result<(), DavError> {
        let file = item.file.as_ref();
        let mut put = self.base.prepare_cached(
            "INSERT OR REPLACE INTO item (collection, href, etag, place, name, hash, uid, trouble)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
        )?;
        put.execute(params![
            id,
            item.href,
            item.etag,
            file.map(|(file, _)| number(file.place)),
            file.map(|(file, _)| &file.name),
            file.map(|(_, hash)| hash),
            item.uid,
            item.trouble,
        ])?;
        Ok(())
    }

    /// Forgets an item.
    ///
    /// # Errors
    /// As `pair`.
    pub fn forget(&self, id: i64, href: &str) -> Result<(), DavError> {
        self.base.execute(
            "DELETE FROM item WHERE collection = ?1 AND href = ?2",
            params![id, href],
        )?;
        Ok(())
    }

    /// Whether something is told for the first time: what, of which file, in which state.
    ///
    /// # Errors
    /// As `pair`.
    pub fn tell_once(&self, id: i64, file: &File, state: &[u8]) -> Result<bool, DavError> {
        let old: Option<Vec<u8>> = self
            .base
            .query_row(
                "SELECT state FROM told WHERE collection = ?1 AND place = ?2 AND name = ?3",
                params![id, number(file.place), file.name],
                |row| row.get(0),
            )
            .optional()?;
        if old.as_deref() == Some(state) {
            return Ok(false);
        }
        self.base.execute(
            "INSERT OR REPLACE INTO told (collection, place, name, state) VALUES (?1, ?2, ?3, ?4)",
            params![id, number(file.place), file.name, state],
        )?;
        Ok(true)
    }
}

const LAYOUT: &str = "
    CREATE TABLE IF NOT EXISTS collection (
        id INTEGER PRIMARY KEY, kind TEXT NOT NULL, href TEXT NOT NULL, folder TEXT NOT NULL,
        name TEXT, color TEXT, token TEXT, UNIQUE (kind, href), UNIQUE (kind, folder)
    ) STRICT;
    CREATE TABLE IF NOT EXISTS item (
        collection INTEGER NOT NULL REFERENCES collection (id), href TEXT NOT NULL, etag TEXT NOT NULL,
        place INTEGER, name TEXT, hash BLOB, uid TEXT, trouble TEXT, PRIMARY KEY (collection, href)
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS told (
        collection INTEGER NOT NULL REFERENCES collection (id), place INTEGER NOT NULL, name TEXT NOT NULL,
        state BLOB NOT NULL, PRIMARY KEY (collection, place, name)
    ) STRICT, WITHOUT ROWID;";

fn number(place: Place) -> i64 {
    match place {
        Place::Events => 0,
        Place::Todos => 1,
        Place::Cards => 2,
    }
}

fn place_of(number: i64) -> Option<Place> {
    [Place::Events, Place::Todos, Place::Cards]
        .into_iter()
        .find(|place| self::number(*place) == number)
}
