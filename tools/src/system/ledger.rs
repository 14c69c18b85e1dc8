//! What a synchroniser remembers of an account: one SQLite file, and the lock that lets one process at a time work on it.

use std::{
    fs::{File, TryLockError},
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use rusqlite::Connection;

use super::store::{self, StoreError};

/// How long another run of the same account is waited for.
const PATIENCE: Duration = Duration::from_secs(20);
const LOOK: Duration = Duration::from_millis(100);

/// Why it cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum LedgerError {
    /// Another process synchronises the same account.
    #[error("another process synchronises this account")]
    Running,
    /// A newer version wrote it.
    #[error("{} was written by a newer version of Tiro", .0.display())]
    Newer(PathBuf),
    /// The disk.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The database.
    #[error(transparent)]
    Base(#[from] rusqlite::Error),
}

/// Opens the file of an account, whose name is a part of the file's, in a folder that is made when needed. The lock is held
/// as long as the returned file lives.
///
/// # Errors
/// When another process has it, a newer version wrote it, or the disk does not let us.
pub fn open(
    folder: &Path,
    account: &str,
    layout: &str,
    version: i64,
) -> Result<(Connection, File), LedgerError> {
    store::make_folder(folder)?;
    let lock = folder.join(format!("{account}.lock"));
    let file = File::options()
        .create(true)
        .truncate(false)
        .write(true)
        .open(&lock)
        .map_err(|e| StoreError::of(&lock, e))?;
    let begun = Instant::now();
    loop {
        match file.try_lock() {
            Ok(()) => break,
            Err(TryLockError::WouldBlock) if begun.elapsed() < PATIENCE => std::thread::sleep(LOOK),
            Err(TryLockError::WouldBlock) => return Err(LedgerError::Running),
            Err(TryLockError::Error(e)) => return Err(StoreError::of(&lock, e).into()),
        }
    }
    let path = folder.join(format!("{account}.sqlite"));
    if !path.exists() {
        // Made by us, so that it is closed to others from the start.
        store::create_new(&path, b"")?;
    }
    let base = Connection::open(&path)?;
    base.pragma_update(None, "journal_mode", "WAL")?;
    // The last rows may be lost with the power; that costs comparing, not what the rows are about.
    base.pragma_update(None, "synchronous", "NORMAL")?;
    let written: i64 = base.pragma_query_value(None, "user_version", |row| row.get(0))?;
    if written > version {
        return Err(LedgerError::Newer(path));
    }
    base.execute_batch(layout)?;
    base.pragma_update(None, "user_version", version)?;
    Ok((base, file))
}
