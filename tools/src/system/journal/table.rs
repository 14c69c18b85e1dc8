//! The journal's two tables in SQLite. A commit is on the disk when it returns.

use std::{
    ffi::OsStr,
    fs, io,
    os::unix::{
        ffi::OsStrExt as _,
        fs::{OpenOptionsExt as _, PermissionsExt as _},
    },
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use jiff::{Timestamp, ToSpan as _};
use rusqlite::{Connection, ErrorCode, OptionalExtension as _, Row, params};

use super::{BUSY, JournalError, Past, Retention, SYNC, Said};
use crate::system::store::{StoreError, kill};

/// What `PRAGMA user_version` says; a higher one was written by a newer Tiro.
const VERSION: i64 = 2;

const SCHEMA: &str = "
    CREATE TABLE step (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        at INTEGER NOT NULL,
        tool TEXT NOT NULL,
        say TEXT,
        others INTEGER NOT NULL DEFAULT 0,
        state INTEGER NOT NULL,
        owner INTEGER NOT NULL,
        undoes INTEGER
    ) STRICT;
    CREATE TABLE change (
        id INTEGER PRIMARY KEY,
        step INTEGER NOT NULL REFERENCES step ON DELETE CASCADE,
        path BLOB NOT NULL,
        before BLOB,
        after BLOB,
        mode INTEGER,
        origin BLOB,
        mark TEXT
    ) STRICT;
    CREATE INDEX change_of_step ON change (step);
    PRAGMA user_version = 2;
";

/// What the first version lacked: nothing was moved then.
const FROM_1: &str = "
    ALTER TABLE change ADD COLUMN origin BLOB;
    ALTER TABLE change ADD COLUMN mark TEXT;
    PRAGMA user_version = 2;
";

/// How far a step is. The numbers are on disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// Its process may still write.
    Open = 0,
    /// It stands.
    Done = 1,
    /// It was undone.
    Undone = 2,
    /// It stands, and only its number undoes it.
    Passed = 3,
    /// It changed no file, and nothing undoes it.
    Beyond = 4,
}

/// One thing that a step does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// A file gets another content.
    Content(Content),
    /// A file or folder gets another place.
    Move(Move),
}

/// One file before and after; `None` is a file that is not there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Content {
    pub path: PathBuf,
    pub before: Option<Vec<u8>>,
    pub after: Option<Vec<u8>>,
    /// Permissions of the file before.
    pub mode: Option<u32>,
}

/// A file or folder that goes from one place to another. What comes from a temporary name was made there; undoing moves
/// it back to that name, and then it is removed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Move {
    pub from: PathBuf,
    pub to: PathBuf,
    /// What was made, in short: it is only removed while it is still that.
    pub mark: Option<String>,
}

/// A step, without its changes.
#[derive(Debug, Clone)]
pub struct Head {
    pub id: i64,
    pub at: Timestamp,
    pub tool: String,
    pub say: Option<String>,
    pub others: bool,
    pub owner: i64,
    pub undoes: Option<i64>,
    /// Whether it changed no file.
    pub beyond: bool,
}

/// The open database.
pub struct Table {
    db: Connection,
}

impl Table {
    /// Opens or makes it. One that is broken is put aside with its content and started anew, because a journal that
    /// cannot be read must not keep the person from writing.
    pub fn open(path: &Path) -> Result<Table, JournalError> {
        match Table::try_open(path) {
            Err(JournalError::Table(rusqlite::Error::SqliteFailure(failure, _)))
                if matches!(failure.code, ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt) =>
            {
                let aside = path.with_extension(format!("broken-{}", Timestamp::now().as_second()));
                tracing::warn!(aside = %aside.display(), "the undo journal is broken and was put aside");
                fs::rename(path, &aside).map_err(|e| StoreError::of(path, e))?;
                for beside in ["db-wal", "db-shm"] {
                    match fs::remove_file(path.with_extension(beside)) {
                        Err(e) if e.kind() != io::ErrorKind::NotFound => {
                            return Err(StoreError::of(path, e).into());
                        }
                        _ => {}
                    }
                }
                Table::try_open(path)
            }
            other => other,
        }
    }

    fn try_open(path: &Path) -> Result<Table, JournalError> {
        // SQLite gives its side files the permissions of the database, so that is made private first.
        let fail = |e| StoreError::of(path, e);
        let file = fs::OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .mode(0o600)
            .open(path)
            .map_err(fail)?;
        file.set_permissions(fs::Permissions::from_mode(0o600))
            .map_err(fail)?;
        let mut db = Connection::open(path)?;
        db.busy_timeout(BUSY)?;
        db.pragma_update(None, "auto_vacuum", "INCREMENTAL")?;
        to_wal(&db)?;
        db.pragma_update(None, "synchronous", "FULL")?;
        db.pragma_update(None, "foreign_keys", true)?;
        let made = db.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
        let version: i64 = made.pragma_query_value(None, "user_version", |row| row.get(0))?;
        match version {
            0 => made.execute_batch(SCHEMA)?,
            1 => made.execute_batch(FROM_1)?,
            VERSION => {}
            newer => {
                let newer = format!("version {newer}, written by a newer Tiro");
                return Err(fail(io::Error::new(io::ErrorKind::Unsupported, newer)).into());
            }
        }
        made.commit()?;
        Ok(Table { db })
    }

    /// Begins a step.
    pub fn begin(&mut self, tool: &str, at: Timestamp) -> rusqlite::Result<i64> {
        kill::point();
        begin(&self.db, tool, None, at)
    }

    /// Writes down what is about to be done.
    pub fn intend(&mut self, step: i64, change: &Change) -> rusqlite::Result<i64> {
        kill::point();
        intend(&self.db, step, change)
    }

    /// Begins to undo a step: all that it takes is written down at once, so that one that was cut short can be
    /// finished.
    pub fn begin_undo(&mut self, undoes: i64, changes: &[Change], at: Timestamp) -> rusqlite::Result<i64> {
        let begun = self.db.transaction()?;
        let step = begin(&begun, "assistant.undo", Some(undoes), at)?;
        for change in changes {
            intend(&begun, step, change)?;
        }
        begun.commit()?;
        Ok(step)
    }

    /// Says what was made, once it is.
    pub fn mark(&mut self, change: i64, mark: &str) -> rusqlite::Result<()> {
        self.db
            .execute("UPDATE change SET mark = ?2 WHERE id = ?1", params![change, mark])?;
        Ok(())
    }

    /// Takes an intent back.
    pub fn withdraw(&mut self, change: i64) -> rusqlite::Result<()> {
        self.db.execute("DELETE FROM change WHERE id = ?1", [change])?;
        Ok(())
    }

    /// Ends a step; one that changed nothing leaves no trace.
    pub fn close(&mut self, id: i64, say: Option<&Said>) -> rusqlite::Result<()> {
        kill::point();
        let done = self.db.transaction()?;
        set_state(&done, id, State::Done)?;
        if let Some(said) = say {
            done.execute(
                "UPDATE step SET say = ?2, others = ?3 WHERE id = ?1",
                params![id, said.text, said.others],
            )?;
        }
        done.execute(
            "DELETE FROM step WHERE id = ?1 AND NOT EXISTS (SELECT 1 FROM change WHERE step = ?1)",
            [id],
        )?;
        done.commit()
    }

    /// Ends an undoing step together with the step that it undoes.
    pub fn close_undo(&mut self, id: i64, undoes: i64, say: &str) -> rusqlite::Result<()> {
        let done = self.db.transaction()?;
        set_state(&done, id, State::Done)?;
        set_state(&done, undoes, State::Undone)?;
        done.execute("UPDATE step SET say = ?2 WHERE id = ?1", params![id, say])?;
        done.commit()
    }

    /// The latest step that stands, or the one of that number if it does. What undid another is no such step.
    pub fn undoable(&mut self, id: Option<i64>) -> rusqlite::Result<Option<Head>> {
        let sql = format!(
            "{HEAD} WHERE undoes IS NULL
             AND (?1 IS NULL AND state IN (?2, ?5) AND tool <> ?4 OR id = ?1 AND state IN (?2, ?3, ?5))
             ORDER BY id DESC LIMIT 1"
        );
        self.db
            .query_row(
                &sql,
                params![
                    id,
                    State::Done as i64,
                    State::Passed as i64,
                    SYNC,
                    State::Beyond as i64
                ],
                head,
            )
            .optional()
    }

    /// Writes down what changed no file.
    pub fn note(&mut self, tool: &str, at: Timestamp, say: Option<&Said>) -> rusqlite::Result<()> {
        self.db.execute(
            "INSERT INTO step (at, tool, say, others, state, owner) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
            params![
                at.as_millisecond(),
                tool,
                say.map(|said| &said.text),
                say.is_some_and(|said| said.others),
                State::Beyond as i64,
                own_pid()
            ],
        )?;
        Ok(())
    }

    /// Forgets a step.
    pub fn forget(&mut self, id: i64) -> rusqlite::Result<()> {
        self.db.execute("DELETE FROM step WHERE id = ?1", [id])?;
        Ok(())
    }

    /// Leaves a step to its number.
    pub fn pass_over(&mut self, id: i64) -> rusqlite::Result<()> {
        set_state(&self.db, id, State::Passed)
    }

    /// Leaves all steps to their numbers that made this file since it came to be the last time.
    pub fn spend(&mut self, path: &Path) -> rusqlite::Result<()> {
        let spent = self.db.transaction()?;
        let changes: Vec<(i64, bool, bool)> = spent
            .prepare(
                "SELECT step.id, before IS NULL, after IS NULL FROM change JOIN step ON step.id = change.step
                 WHERE path = ?1 AND state = ?2 AND undoes IS NULL ORDER BY change.id DESC",
            )?
            .query_map(params![path.as_os_str().as_bytes(), State::Done as i64], |row| {
                Ok((row.get(0)?, row.get(1)?, row.get(2)?))
            })?
            .collect::<rusqlite::Result<_>>()?;
        for (step, made, removed) in changes {
            if removed {
                break;
            }
            set_state(&spent, step, State::Passed)?;
            if made {
                break;
            }
        }
        spent.commit()
    }

    /// Steps that may have been cut short.
    pub fn open_steps(&mut self) -> rusqlite::Result<Vec<Head>> {
        let mut rows = self.db.prepare(&format!("{HEAD} WHERE state = ?1 ORDER BY id"))?;
        rows.query_map([State::Open as i64], head)?.collect()
    }

    /// The changes of a step in the order in which they were made, with their numbers.
    pub fn changes(&mut self, step: i64) -> rusqlite::Result<Vec<(i64, Change)>> {
        let sql =
            "SELECT id, path, before, after, mode, origin, mark FROM change WHERE step = ?1 ORDER BY id";
        let path = |bytes: Vec<u8>| PathBuf::from(OsStr::from_bytes(&bytes));
        self.db
            .prepare_cached(sql)?
            .query_map([step], |row| {
                let change = match row.get::<_, Option<Vec<u8>>>(5)? {
                    Some(origin) => Change::Move(Move {
                        from: path(origin),
                        to: path(row.get(1)?),
                        mark: row.get(6)?,
                    }),
                    None => Change::Content(Content {
                        path: path(row.get(1)?),
                        before: row.get(2)?,
                        after: row.get(3)?,
                        mode: row.get(4)?,
                    }),
                };
                Ok((row.get(0)?, change))
            })?
            .collect()
    }

    /// Newest first; what undid another step is told by that step.
    pub fn history(&mut self, limit: usize) -> rusqlite::Result<Vec<Past>> {
        let sql = "SELECT id, at, tool, say, others, state FROM step WHERE undoes IS NULL ORDER BY id DESC LIMIT ?1";
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let mut rows = self.db.prepare(sql)?;
        rows.query_map([limit], |row| {
            let (tool, state): (String, i64) = (row.get(2)?, row.get(5)?);
            Ok(Past {
                id: row.get(0)?,
                at: moment(row, 1)?,
                say: row.get(3)?,
                others: row.get(4)?,
                undone: state == State::Undone as i64,
                passed: state == State::Passed as i64 || (tool == SYNC && state == State::Done as i64),
                tool,
            })
        })?
        .collect()
    }

    /// Forgets closed steps that are too old, then the oldest until the contents fit. Returns how many steps went.
    pub fn prune(&mut self, keep: Retention, now: Timestamp) -> rusqlite::Result<usize> {
        let oldest = now
            .checked_sub((i64::from(keep.days) * 24).hours())
            .unwrap_or(Timestamp::MIN);
        let mut gone = self.db.execute(
            "DELETE FROM step WHERE state <> ?1 AND at < ?2",
            params![State::Open as i64, oldest.as_millisecond()],
        )?;
        let bytes = i64::try_from(keep.bytes).unwrap_or(i64::MAX);
        // The running sum from the newest says which steps no longer fit.
        gone += self.db.execute(
            "DELETE FROM step WHERE state <> ?1 AND id IN (
                 SELECT step FROM (
                     SELECT step, sum(sum(coalesce(length(before), 0) + coalesce(length(after), 0)))
                         OVER (ORDER BY step DESC) AS held
                     FROM change GROUP BY step)
                 WHERE held > ?2)",
            params![State::Open as i64, bytes],
        )?;
        if gone > 0 {
            self.db.execute_batch("PRAGMA incremental_vacuum")?;
        }
        Ok(gone)
    }

    /// What does not hold that always should.
    pub fn problems(&mut self) -> rusqlite::Result<Vec<String>> {
        let mut problems = Vec::new();
        let integrity: String = self
            .db
            .query_row("PRAGMA integrity_check", [], |row| row.get(0))?;
        if integrity != "ok" {
            problems.push(integrity);
        }
        let rules = [
            (
                "a change belongs to no step",
                "SELECT count(*) FROM change WHERE step NOT IN (SELECT id FROM step)",
            ),
            (
                "a closed step changed nothing",
                "SELECT count(*) FROM step WHERE state NOT IN (0, 4) AND undoes IS NULL AND id NOT IN (SELECT step FROM change)",
            ),
            (
                "a step is undone and nothing undid it",
                "SELECT count(*) FROM step AS s WHERE state = 2
                 AND NOT EXISTS (SELECT 1 FROM step WHERE undoes = s.id AND state = 1)",
            ),
            (
                "a step stands that was undone",
                "SELECT count(*) FROM step AS s WHERE state = 1
                 AND EXISTS (SELECT 1 FROM step WHERE undoes = s.id AND state = 1)",
            ),
        ];
        for (problem, count) in rules {
            let found: i64 = self.db.query_row(count, [], |row| row.get(0))?;
            if found > 0 {
                problems.push(format!("{problem} ({found} times)"));
            }
        }
        Ok(problems)
    }
}

fn begin(db: &Connection, tool: &str, undoes: Option<i64>, at: Timestamp) -> rusqlite::Result<i64> {
    db.execute(
        "INSERT INTO step (at, tool, state, owner, undoes) VALUES (?1, ?2, ?3, ?4, ?5)",
        params![at.as_millisecond(), tool, State::Open as i64, own_pid(), undoes],
    )?;
    Ok(db.last_insert_rowid())
}

fn set_state(db: &Connection, step: i64, state: State) -> rusqlite::Result<()> {
    db.execute(
        "UPDATE step SET state = ?2 WHERE id = ?1",
        params![step, state as i64],
    )?;
    Ok(())
}

fn intend(db: &Connection, step: i64, change: &Change) -> rusqlite::Result<i64> {
    let columns = "INSERT INTO change (step, path, before, after, mode, origin, mark)";
    let mut row = db.prepare_cached(&format!("{columns} VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)"))?;
    match change {
        Change::Content(Content {
            path,
            before,
            after,
            mode,
        }) => {
            let nothing = None::<&str>;
            let path = path.as_os_str().as_bytes();
            row.insert(params![step, path, before, after, mode, nothing, nothing])
        }
        Change::Move(Move { from, to, mark }) => {
            let nothing = None::<&[u8]>;
            let (from, to) = (from.as_os_str().as_bytes(), to.as_os_str().as_bytes());
            row.insert(params![step, to, nothing, nothing, None::<u32>, from, mark])
        }
    }
}

const HEAD: &str = "SELECT id, at, tool, say, others, owner, undoes, state FROM step";

fn head(row: &Row<'_>) -> rusqlite::Result<Head> {
    Ok(Head {
        id: row.get(0)?,
        at: moment(row, 1)?,
        tool: row.get(2)?,
        say: row.get(3)?,
        others: row.get(4)?,
        owner: row.get(5)?,
        undoes: row.get(6)?,
        beyond: row.get::<_, i64>(7)? == State::Beyond as i64,
    })
}

fn moment(row: &Row<'_>, column: usize) -> rusqlite::Result<Timestamp> {
    let millis: i64 = row.get(column)?;
    Timestamp::from_millisecond(millis).map_err(|e| {
        rusqlite::Error::FromSqlConversionFailure(column, rusqlite::types::Type::Integer, Box::new(e))
    })
}

/// The number of this process.
pub fn own_pid() -> i64 {
    i64::from(std::process::id())
}

/// SQLite waits for nobody when it changes a new database to WAL, so this does.
fn to_wal(db: &Connection) -> rusqlite::Result<()> {
    let began = Instant::now();
    loop {
        match db.pragma_update(None, "journal_mode", "WAL") {
            Err(rusqlite::Error::SqliteFailure(failure, _))
                if failure.code == ErrorCode::DatabaseBusy && began.elapsed() < BUSY =>
            {
                std::thread::sleep(Duration::from_millis(10));
            }
            other => return other,
        }
    }
}
