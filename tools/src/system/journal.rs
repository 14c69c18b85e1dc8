//! The undo journal: what each write of a tool was before and after, on disk before the write itself is.
//!
//! Tools change the person's files through [`Step`] and nothing else. A step holds all writes of one call. Order of
//! each write: take the turn, read what is there, commit the intent (path, before, after) to SQLite with a sync, then
//! change the file. So after a kill at any moment the file shows which side of the write it is on, and [`Journal`]
//! settles the step when it is next opened. Undo compares before it writes: what something else changed since is
//! refused, never overwritten.
//!
//! What is too large to be kept as bytes, and whole folders, are moved: to another name, to the trash, or from the
//! temporary name under which a copy was made.

mod table;
mod undo;

use std::{
    fs,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicI64, Ordering},
    },
    time::Duration,
};

use jiff::{SignedDuration, Timestamp};
use rusqlite::ErrorCode;
use serde::Serialize;

use super::{
    desktop::{Desk, settings::Setting},
    mail::outbox,
    store::{self, MAX_GUARDED, StoreError, Turn},
};
use crate::contract::ToolError;
use table::{Change, Content, Move, Table};
pub use undo::Undone;

/// Said when the latest step cannot be undone.
const AGAIN: &str = " To take back the change before it, say undo again.";

/// Why the journal could not.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// A file.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The database.
    #[error("the undo journal: {0}")]
    Table(rusqlite::Error),
    /// A setting of the desktop cannot be read or set.
    #[error(transparent)]
    Setting(#[from] ToolError),
    /// Nothing is left that could be undone, or nothing of that number.
    #[error("There is nothing to undo.")]
    Nothing,
    /// It was no change of a file: a program that was started, a ring that was stopped.
    #[error(
        "\"{what}\" is nothing that I can undo.{}",
        if *.passed { AGAIN } else { "" }
    )]
    Beyond {
        /// What it was, as it was said.
        what: String,
        /// Whether "undo that" goes on with the step before it from now on.
        passed: bool,
    },
    /// Something else changed an item since.
    #[error(
        "I did not undo \"{what}\": {} was changed since, and undoing would lose that change.{}",
        spoken(.path),
        if *.passed { AGAIN } else { "" }
    )]
    Since {
        /// What would have been undone, as it was said.
        what: String,
        /// The file that is not as Tiro left it.
        path: PathBuf,
        /// Whether "undo that" goes on with the step before it from now on.
        passed: bool,
    },
    /// It was a mail, and it has left.
    #[error(
        "I could not take back \"{what}\". {why}{}",
        if *.passed { AGAIN } else { "" }
    )]
    Gone {
        /// What would have been undone, as it was said.
        what: String,
        /// Where the mail is.
        why: &'static str,
        /// Whether "undo that" goes on with the step before it from now on.
        passed: bool,
    },
}

/// What a file is called. The names of mails in a Maildir are made for programs.
fn spoken(path: &Path) -> String {
    let folder = path.parent().and_then(Path::file_name);
    match folder.is_some_and(|name| name == "cur" || name == "new") {
        true => "the mail".to_owned(),
        false => path
            .file_name()
            .unwrap_or(path.as_os_str())
            .to_string_lossy()
            .into_owned(),
    }
}

impl JournalError {
    /// Turns it into a tool's error. `what` is what was being done, for the person.
    pub fn tool(self, what: &str) -> ToolError {
        match self {
            JournalError::Store(error) => error.tool(what),
            JournalError::Setting(error) => error,
            JournalError::Table(error) => ToolError::broken(what, error),
            JournalError::Nothing
            | JournalError::Since { .. }
            | JournalError::Beyond { .. }
            | JournalError::Gone { .. } => ToolError::tell(self.to_string()),
        }
    }
}

/// A full disk is said as one, whichever part of the database came to feel it.
impl From<rusqlite::Error> for JournalError {
    fn from(error: rusqlite::Error) -> JournalError {
        match &error {
            rusqlite::Error::SqliteFailure(code, _)
                if code.code == ErrorCode::DiskFull || code.extended_code == SHMSIZE =>
            {
                JournalError::Store(StoreError::Full(PathBuf::from("journal.db")))
            }
            _ => JournalError::Table(error),
        }
    }
}

/// The memory that the users of a database share is a file beside it, and could not be made as long as it has to be: before the first
/// byte is written, this is how SQLite meets a full disk (`SQLITE_IOERR_SHMSIZE`).
const SHMSIZE: i32 = rusqlite::ffi::SQLITE_IOERR_SHMSIZE;

/// What the journal keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retention {
    /// Older steps are forgotten and can no longer be undone.
    pub days: u32,
    /// The oldest steps are forgotten when all contents together pass this, in bytes.
    pub bytes: u64,
}

impl Default for Retention {
    fn default() -> Retention {
        Retention {
            days: 90,
            bytes: 256 << 20,
        }
    }
}

/// One step as `tiro history` shows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Past {
    /// Counts up; what `tiro undo` takes.
    pub id: i64,
    /// When, in UTC.
    pub at: Timestamp,
    /// The tool.
    pub tool: String,
    /// What it said it did; nothing when it was interrupted.
    pub say: Option<String>,
    /// Whether that quotes somebody else's words.
    pub others: bool,
    /// Whether it was undone.
    pub undone: bool,
    /// Whether only its number undoes it: "undo that" passed over it, or a synchronisation did it.
    pub passed: bool,
}

/// The journal of one person; cheap to clone. Nothing is opened or made before the first use.
#[derive(Clone)]
pub struct Journal {
    shared: Arc<Shared>,
    /// Where settings are set back.
    desk: Desk,
}

struct Shared {
    state: PathBuf,
    /// Nothing where forgetting is left to others.
    retention: Option<Retention>,
    clock: Clock,
    table: Mutex<Option<Opened>>,
}

/// What time it is, so that tests can let it pass.
type Clock = Arc<dyn Fn() -> Timestamp + Send + Sync>;

/// The open database, and when retention was last looked at.
struct Opened {
    table: Table,
    pruned: Timestamp,
}

/// A process that lives long forgets what retention says this often.
const PRUNE: SignedDuration = SignedDuration::from_hours(24);

impl Journal {
    /// The journal in the folder that Tiro keeps for itself.
    pub fn at(state: &Path, retention: Retention) -> Journal {
        Journal::by_clock(state, Some(retention), Arc::new(Timestamp::now))
    }

    /// The same journal for who only adds to it and does not know what the person wants to be kept.
    pub fn beside(state: &Path) -> Journal {
        Journal::by_clock(state, None, Arc::new(Timestamp::now))
    }

    fn by_clock(state: &Path, retention: Option<Retention>, clock: Clock) -> Journal {
        undo::note_start();
        Journal {
            shared: Arc::new(Shared {
                state: state.to_owned(),
                retention,
                clock,
                table: Mutex::new(None),
            }),
            desk: Desk::nowhere(),
        }
    }

    /// The same journal for who may also change settings of this desktop.
    pub fn on(self, desk: Desk) -> Journal {
        Journal { desk, ..self }
    }

    /// The writes of one call of a tool. It leaves no trace unless something is written.
    pub fn step(&self, tool: &str) -> Step {
        Step {
            inner: Arc::new(Inner {
                journal: self.clone(),
                tool: tool.to_owned(),
                id: AtomicI64::new(0),
                beyond: AtomicBool::new(false),
                said: Mutex::new(None),
            }),
        }
    }

    /// The latest steps, newest first.
    ///
    /// # Errors
    /// When the journal cannot be read.
    pub fn history(&self, limit: usize) -> Result<Vec<Past>, JournalError> {
        self.with(|table| Ok(table.history(limit)?))
    }

    /// Undoes one step: the latest that stands, or the one of that number. All of it or nothing. The latest that is
    /// refused because something else changed it is passed over by the next call; its number still reaches it.
    ///
    /// # Errors
    /// `Nothing`, `Since`, `Gone`, and what keeps files or the journal from being written.
    pub fn undo(&self, id: Option<i64>) -> Result<Undone, JournalError> {
        self.open()?;
        let _turn = Turn::take(&self.shared.state)?;
        let undone = self.with(|table| undo::undo(table, id, &self.desk));
        undone.map_err(|error| match error {
            JournalError::Since { what, path, passed } => match outbox::too_late(&self.shared.state, &path) {
                Some(why) => JournalError::Gone { what, why, passed },
                None => JournalError::Since { what, path, passed },
            },
            error => error,
        })
    }

    /// Forgets what retention says. Without being asked this is done when the journal is opened, and once a day after.
    ///
    /// # Errors
    /// When the journal cannot be written.
    pub fn prune(&self) -> Result<usize, JournalError> {
        let Some(retention) = self.shared.retention else {
            return Ok(0);
        };
        let now = (self.shared.clock)();
        self.with(|table| Ok(table.prune(retention, now)?))
    }

    /// Checks what must always hold, for tests and `tiro doctor`: the database is whole, every change belongs to a
    /// step, every undone step names what undid it. Says what does not.
    ///
    /// # Errors
    /// When the journal cannot be read.
    pub fn verify_invariants(&self) -> Result<Vec<String>, JournalError> {
        self.with(|table| Ok(table.problems()?))
    }

    fn with<T>(&self, work: impl FnOnce(&mut Table) -> Result<T, JournalError>) -> Result<T, JournalError> {
        let mut guard = self.table()?;
        let Some(opened) = guard.as_mut() else {
            return Err(JournalError::Nothing);
        };
        work(&mut opened.table)
    }

    /// Opens the journal. Whoever takes the turn does this first, because settling takes it, too.
    fn open(&self) -> Result<(), JournalError> {
        self.table().map(drop)
    }

    /// Opens the database at the first use, and settles what a killed process left open. Once a day it forgets what
    /// retention says.
    fn table(&self) -> Result<MutexGuard<'_, Option<Opened>>, JournalError> {
        let now = (self.shared.clock)();
        let mut guard = self.shared.table.lock().unwrap_or_else(PoisonError::into_inner);
        if guard.is_none() {
            store::make_folder(&self.shared.state)?;
            let mut table = Table::open(&self.shared.state.join(FILE)).map_err(|error| match error {
                JournalError::Table(cause) if is_denied(&cause) => {
                    StoreError::Denied(self.shared.state.clone()).into()
                }
                error => error,
            })?;
            undo::settle(&mut table, &self.shared.state, &self.desk)?;
            if let Some(retention) = self.shared.retention {
                table.prune(retention, now)?;
            }
            *guard = Some(Opened { table, pruned: now });
        }
        if let (Some(opened), Some(retention)) = (guard.as_mut(), self.shared.retention)
            // A clock that was set back counts, too.
            && now.duration_since(opened.pruned).abs() >= PRUNE
        {
            opened.pruned = now;
            if let Err(error) = opened.table.prune(retention, now) {
                tracing::warn!(%error, "what is old stays in the journal for another day");
            }
        }
        Ok(guard)
    }
}

impl std::fmt::Debug for Journal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Journal").field(&self.shared.state).finish()
    }
}

/// The writes of one call; cheap to clone into a blocking task. Clones are the same step.
#[derive(Debug, Clone)]
pub struct Step {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    journal: Journal,
    tool: String,
    /// The row's number; 0 until something is written.
    id: AtomicI64,
    /// Whether it did what cannot be undone.
    beyond: AtomicBool,
    said: Mutex<Option<Said>>,
}

/// What a step said it did, and whether that quotes somebody else's words.
#[derive(Debug)]
struct Said {
    text: String,
    others: bool,
}

impl Step {
    /// Writes a file that must not be there yet; its folder is made when it is missing.
    ///
    /// # Errors
    /// `Exists`; else as [`store::create_new`].
    pub fn create(&self, path: &Path, bytes: &[u8]) -> Result<(), JournalError> {
        self.write(path, None, Some(bytes))
    }

    /// Replaces a file that holds `before`, the bytes that were read.
    ///
    /// # Errors
    /// `Changed` when another program wrote or removed it meanwhile; else as [`store::replace_known`].
    pub fn replace(&self, path: &Path, before: &[u8], after: &[u8]) -> Result<(), JournalError> {
        if before == after {
            return Ok(());
        }
        self.write(path, Some(before), Some(after))
    }

    /// Removes a file that holds `before`, the bytes that were read.
    ///
    /// # Errors
    /// `Changed` when another program wrote or removed it meanwhile; else as [`store::remove_known`].
    pub fn remove(&self, path: &Path, before: &[u8]) -> Result<(), JournalError> {
        self.write(path, Some(before), None)
    }

    /// Moves a file or folder to a name that must be free, on the same disk. A step names what it moves only once.
    ///
    /// # Errors
    /// `Missing`, `Exists`; else as [`store::rename_new`].
    pub fn rename(&self, from: &Path, to: &Path) -> Result<(), JournalError> {
        let absolute = |path: &Path| std::path::absolute(path).map_err(|e| StoreError::of(path, e));
        let change = Change::Move(Move {
            from: absolute(from)?,
            to: absolute(to)?,
            mark: None,
        });
        self.inner.journal.open()?;
        let _turn = Turn::take(&self.inner.journal.shared.state)?;
        self.make(&change)
    }

    /// Makes a file or folder that may be large: `build` makes it under the temporary name that it is given, which is
    /// on the same disk, and then it goes to its place, which must be free. Undoing removes it, unless something else
    /// changed it since. Others may write while it is being made.
    ///
    /// # Errors
    /// What `build` says, and then nothing is left of it; `Exists`; else as [`store::rename_new`].
    pub fn place(
        &self,
        path: &Path,
        build: impl FnOnce(&Path) -> Result<(), StoreError>,
    ) -> Result<(), JournalError> {
        let inner = &self.inner;
        let to = std::path::absolute(path).map_err(|e| StoreError::of(path, e))?;
        let from = store::temporary_beside(&to);
        if fs::symlink_metadata(&to).is_ok() {
            return Err(StoreError::Exists(to).into());
        }
        inner.journal.open()?;
        let change = Change::Move(Move {
            from: from.clone(),
            to: to.clone(),
            mark: None,
        });
        let intent = {
            let _turn = Turn::take(&inner.journal.shared.state)?;
            self.note(&change)?
        };
        let built = build(&from).and_then(|()| store::mark_of(&from));
        let placed = built.map_err(JournalError::from).and_then(|mark| {
            inner.journal.with(|table| Ok(table.mark(intent.0, &mark)?))?;
            let _turn = Turn::take(&inner.journal.shared.state)?;
            undo::apply(&change, &inner.journal.desk)
        });
        placed.inspect_err(|_| {
            if let Err(error) = store::discard(&from) {
                tracing::warn!(%error, "half of a copy stays");
            }
            self.strike(intent);
        })
    }

    /// Reads a file, lets `edit` make the new content of what is there, and replaces it. When another program writes
    /// in between, the edit is made anew from what it wrote, at most three times: so its change and ours both stay.
    ///
    /// # Errors
    /// What `edit` says; `Missing`, `TooBig` and the errors of [`Step::replace`], as a tool's error for `what`.
    pub fn edit(
        &self,
        path: &Path,
        what: &str,
        mut edit: impl FnMut(&[u8]) -> Result<Vec<u8>, ToolError>,
    ) -> Result<(), ToolError> {
        let mut left = 3;
        loop {
            let before = store::read_bounded(path, MAX_GUARDED).map_err(|e| e.tool(what))?;
            let after = edit(&before)?;
            match self.replace(path, &before, &after) {
                Err(JournalError::Store(StoreError::Changed(_))) if left > 1 => left -= 1,
                result => return result.map_err(|e| e.tool(what)),
            }
        }
    }

    /// Says what the step did, for the history. `others` when that quotes somebody else's words.
    pub fn did(&self, say: &str, others: bool) {
        let text = say.to_owned();
        *self.inner.said.lock().unwrap_or_else(PoisonError::into_inner) = Some(Said { text, others });
    }

    /// Takes back what the step has written so far, because the call failed: what was told to have failed has changed
    /// nothing, and there is nothing of it to undo. What something else changed since stays.
    ///
    /// # Errors
    /// What keeps files or the journal from being written; what stays can be undone then.
    pub fn take_back(&self) -> Result<(), JournalError> {
        let id = self.inner.id.load(Ordering::Acquire);
        if id == 0 {
            return Ok(());
        }
        let _turn = Turn::take(&self.inner.journal.shared.state)?;
        let journal = &self.inner.journal;
        journal.with(|table| undo::take_back(table, id, &journal.desk))
    }

    /// Says that the call has an effect that no file shows. So "undo that" right after it says that this cannot be undone,
    /// instead of taking back an older change that nobody meant.
    pub fn beyond(&self) {
        self.inner.beyond.store(true, Ordering::Release);
    }

    /// Whether anything was written.
    pub fn wrote(&self) -> bool {
        self.number().is_some()
    }

    /// Its number, once something was written.
    pub fn number(&self) -> Option<i64> {
        Some(self.inner.id.load(Ordering::Acquire)).filter(|id| *id != 0)
    }

    /// The journal that it is written in.
    pub fn journal(&self) -> &Journal {
        &self.inner.journal
    }

    fn write(&self, path: &Path, before: Option<&[u8]>, after: Option<&[u8]>) -> Result<(), JournalError> {
        let inner = &self.inner;
        let shared = &inner.journal.shared;
        if after.is_some_and(|bytes| bytes.len() as u64 > MAX_GUARDED) {
            return Err(StoreError::TooBig {
                path: path.to_owned(),
                max: MAX_GUARDED,
            }
            .into());
        }
        inner.journal.open()?;
        let _turn = Turn::take(&shared.state)?;
        let change = Change::Content(Content {
            path: std::path::absolute(path).map_err(|e| StoreError::of(path, e))?,
            before: before.map(<[u8]>::to_vec),
            after: after.map(<[u8]>::to_vec),
            mode: undo::mode(path),
        });
        self.make(&change)
    }

    /// Writes down what is about to be done, and does it. The caller has the turn.
    fn make(&self, change: &Change) -> Result<(), JournalError> {
        let intent = self.note(change)?;
        undo::apply(change, &self.inner.journal.desk).inspect_err(|_| self.strike(intent))
    }

    /// Strikes out what did not happen; if it cannot, the next opening settles it.
    fn strike(&self, intent: Intent) {
        if let Err(error) = self.withdraw(intent) {
            tracing::warn!(%error, "an intent stays in the journal");
        }
    }

    /// Writes down that a setting of the desktop is about to be changed; what goes wrong is withdrawn.
    ///
    /// # Errors
    /// When the journal cannot be written, and then the setting must not be changed.
    pub fn intend(&self, setting: Setting, before: &str, after: &str) -> Result<Intent, JournalError> {
        self.inner.journal.open()?;
        self.note(&Change::Content(Content {
            path: setting.path(),
            before: Some(before.into()),
            after: Some(after.into()),
            mode: None,
        }))
    }

    /// Strikes out what did not happen.
    ///
    /// # Errors
    /// When the journal cannot be written.
    pub fn withdraw(&self, intent: Intent) -> Result<(), JournalError> {
        self.inner.journal.with(|table| Ok(table.withdraw(intent.0)?))
    }

    fn note(&self, change: &Change) -> Result<Intent, JournalError> {
        let inner = &self.inner;
        inner.journal.with(|table| {
            let mut id = inner.id.load(Ordering::Acquire);
            if id == 0 {
                id = table.begin(&inner.tool, (inner.journal.shared.clock)())?;
                inner.id.store(id, Ordering::Release);
            }
            Ok(Intent(table.intend(id, change)?))
        })
    }
}

/// A change that is written down and not made yet.
#[derive(Debug, Clone, Copy)]
pub struct Intent(i64);

/// Whether a database cannot be opened because of permissions. It has no path, so the folder is named instead.
fn is_denied(error: &rusqlite::Error) -> bool {
    matches!(
        error.sqlite_error_code(),
        Some(ErrorCode::CannotOpen | ErrorCode::ReadOnly | ErrorCode::PermissionDenied)
    )
}

impl Drop for Inner {
    /// Closes the step when its last clone goes, also when the call was dropped by its time-out.
    fn drop(&mut self) {
        let id = self.id.load(Ordering::Acquire);
        if id == 0 && !self.beyond.load(Ordering::Acquire) {
            return;
        }
        let said = self.said.get_mut().unwrap_or_else(PoisonError::into_inner).take();
        let now = (self.journal.shared.clock)();
        let closed = self.journal.with(|table| {
            match id {
                0 => table.note(&self.tool, now, said.as_ref())?,
                id => table.close(id, said.as_ref())?,
            }
            Ok(())
        });
        if let Err(error) = closed {
            tracing::warn!(%error, "a step stays open in the journal");
        }
    }
}

/// Marks the steps that made this file what it was as passed over, because Tiro itself took it away: a timer that rang
/// is nothing that "undo that" could mean. Makes no journal where there is none.
///
/// # Errors
/// When the journal cannot be written.
pub fn spend(state: &Path, path: &Path) -> Result<(), JournalError> {
    let file = state.join(FILE);
    if !file.exists() {
        return Ok(());
    }
    let path = std::path::absolute(path).map_err(|e| StoreError::of(path, e))?;
    Ok(Table::open(&file)?.spend(&path)?)
}

/// The tool of steps that nobody asked for by voice: what a server's changes did to files here. "Undo that" never means
/// them, and their numbers reach them.
pub const SYNC: &str = "sync";

/// The database, in the folder that Tiro keeps for itself.
const FILE: &str = "journal.db";

/// How long a statement waits for another process.
const BUSY: Duration = Duration::from_secs(5);

#[cfg(test)]
mod tests;
