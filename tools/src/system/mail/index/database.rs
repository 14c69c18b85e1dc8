//! The database of the index: its tables, and what is done where there is none, where it is of another version or broken, and
//! where the disk takes no files.

use std::{
    fs,
    io::ErrorKind,
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
    time::Duration,
};

use rusqlite::{Connection, TransactionBehavior, config::DbConfig};

use super::terms;
use crate::system::store;

/// What `PRAGMA user_version` says; any other is thrown away.
pub(super) const VERSION: i64 = 2;
/// How long another process may write.
const BUSY: Duration = Duration::from_secs(5);
/// The database, in the folder that Tiro keeps for itself.
pub(super) const FILE: &str = "mail.db";
const SCHEMA: &str = "
    CREATE TABLE folder (id INTEGER PRIMARY KEY, path TEXT NOT NULL UNIQUE, stamp TEXT NOT NULL DEFAULT '') STRICT;
    CREATE TABLE mail (
        id INTEGER PRIMARY KEY,
        folder INTEGER NOT NULL REFERENCES folder ON DELETE CASCADE,
        base TEXT NOT NULL,
        file TEXT NOT NULL,
        flags TEXT NOT NULL,
        unread INTEGER NOT NULL,
        name TEXT NOT NULL,
        address TEXT NOT NULL,
        subject TEXT NOT NULL,
        topic TEXT NOT NULL,
        date INTEGER NOT NULL,
        message_id TEXT NOT NULL,
        attachments INTEGER
    ) STRICT;
    CREATE UNIQUE INDEX mail_of_folder ON mail (folder, base);
    CREATE INDEX mail_by_date ON mail (folder, date DESC);
    CREATE INDEX mail_by_base ON mail (base);
    CREATE INDEX mail_by_id ON mail (message_id);
    CREATE INDEX mail_by_topic ON mail (topic, date);
    CREATE INDEX mail_by_sender ON mail (address, name);
    CREATE INDEX mail_to_read ON mail (date DESC) WHERE attachments IS NULL;
    CREATE TABLE recipient (mail INTEGER NOT NULL REFERENCES mail ON DELETE CASCADE, name TEXT NOT NULL, address TEXT NOT NULL) STRICT;
    CREATE INDEX recipient_of_mail ON recipient (mail);
    CREATE INDEX recipient_by_address ON recipient (address, name);
    CREATE TABLE link (mail INTEGER NOT NULL REFERENCES mail ON DELETE CASCADE, id TEXT NOT NULL) STRICT;
    CREATE INDEX link_of_mail ON link (mail);
    CREATE INDEX link_by_id ON link (id);
    CREATE VIRTUAL TABLE words USING fts5(sender, recipients, subject, body, attached,
        content='', contentless_delete=1, tokenize='porter unicode61 remove_diacritics 2');
    CREATE TABLE shown (place INTEGER PRIMARY KEY, base TEXT NOT NULL, at INTEGER NOT NULL) STRICT;
    CREATE TABLE focus (one INTEGER PRIMARY KEY CHECK (one = 1), place INTEGER NOT NULL, at INTEGER NOT NULL) STRICT;
";

/// The database in the folder that Tiro keeps for itself; in memory where that takes no files, because reading mail must
/// work on a full or read-only disk, too.
pub(super) fn open(state: &Path) -> rusqlite::Result<Connection> {
    let file = state.join(FILE);
    match on_disk(state, &file).or_else(|error| {
        if !is_spoilt(&error) {
            return Err(error);
        }
        throw_away(&file);
        on_disk(state, &file)
    }) {
        Ok(db) => Ok(db),
        Err(error) => {
            tracing::warn!(%error, "the index of mail is kept in memory");
            let db = Connection::open_in_memory()?;
            make(&db)?;
            Ok(db)
        }
    }
}

/// Makes the tables in an empty database.
fn make(db: &Connection) -> rusqlite::Result<()> {
    db.execute_batch(SCHEMA)?;
    db.execute_batch(terms::SCHEMA)?;
    db.pragma_update(None, "user_version", VERSION)
}

/// Whether the file of the database, or a page of it, is none.
pub(super) fn is_spoilt(error: &rusqlite::Error) -> bool {
    matches!(
        error.sqlite_error_code(),
        Some(rusqlite::ErrorCode::NotADatabase | rusqlite::ErrorCode::DatabaseCorrupt)
    )
}

fn on_disk(state: &Path, file: &Path) -> rusqlite::Result<Connection> {
    let failed = |e: &dyn std::fmt::Display| rusqlite::Error::InvalidPath(PathBuf::from(e.to_string()));
    store::make_folder(state).map_err(|e| failed(&e))?;
    // SQLite gives its side files the permissions of the database, so that is made private first.
    let made = fs::OpenOptions::new()
        .create(true)
        .truncate(false)
        .write(true)
        .mode(0o600)
        .open(file);
    made.map_err(|e| failed(&e))?;
    for again in [false, true] {
        let mut db = Connection::open(file)?;
        db.busy_timeout(BUSY)?;
        // All of it can be made anew, so no commit waits for the disk; in this mode a power cut costs the last commits and
        // nothing else. Another process may be setting it at this moment, which does as well.
        let _ = db.pragma_update(None, "journal_mode", "WAL");
        db.pragma_update(None, "synchronous", "NORMAL")?;
        db.pragma_update(None, "foreign_keys", true)?;
        // Else whoever asks after a new mail waits until the disk has all of it; what is beside the database is as good,
        // and goes into it when it has become a thousand pages.
        db.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
        let write = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let version: i64 = write.pragma_query_value(None, "user_version", |row| row.get(0))?;
        match version {
            // Written although it is there already: so a database that takes no writes is noticed here.
            VERSION => write.pragma_update(None, "user_version", VERSION)?,
            0 => make(&write)?,
            _ if again => return Err(failed(&"the index of mail is of another version")),
            _ => {
                drop(write);
                drop(db);
                throw_away(file);
                continue;
            }
        }
        write.commit()?;
        return Ok(db);
    }
    Err(failed(&"the index of mail cannot be made"))
}

pub(super) fn throw_away(file: &Path) {
    for ending in ["db-wal", "db-shm", "db-journal", "db"] {
        if let Err(error) = fs::remove_file(file.with_extension(ending))
            && error.kind() != ErrorKind::NotFound
        {
            tracing::warn!(%error, "the old index of mail stays");
        }
    }
}
