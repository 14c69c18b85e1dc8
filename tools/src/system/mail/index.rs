//! The index of all mail in SQLite with FTS5: what the headers say, the words of the texts, the flags. It is made of the
//! Maildirs and can be thrown away at any time; a version that is not ours is.
//!
//! It keeps up by the stamps of folders: a Maildir's file never changes, only its name does, and every such change changes
//! the stamp of the folder that it is in. So a question looks at two stamps for each folder, and where one is new at the
//! names in it, those of a large `cur` only when that has changed; only files with new names are opened. While the daemon
//! runs it does the same by itself (daemon/src/post/indexing.rs), so that a question finds most of it done. Headers are read first and texts only for who asks for words, both
//! the newest first and within a time, so that a large mailbox answers before all of it is read.

mod database;
mod search;
mod terms;
mod writers;

use std::{
    collections::{HashMap, HashSet},
    fs::{self, File},
    io::{ErrorKind, Read as _},
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use jiff::Timestamp;
use rusqlite::{Connection, Row, Transaction, TransactionBehavior, params};

use super::{
    folders::{self, Folder, Role},
    message::{Head, Letter, MAX_HEADER, MAX_MESSAGE, Person, topic},
};
use crate::{
    contract::{Dirs, ToolError},
    system::{stamp::Stamp, store},
};
pub use search::{Found, Query, Who};
use terms::Terms;
pub use writers::writers;

/// Most messages of one folder; of a larger one the newest by name.
const MAX_MESSAGES: usize = 200_000;
/// Messages that are written in one transaction, for which other processes wait.
const BATCH: usize = 200;
/// Recipients of one message that are looked for.
const MAX_RECIPIENTS: usize = 50;
/// Longest text of which the words are kept, in bytes.
const MAX_WORDS: usize = 64 * 1024;
/// What is being done, for the person.
pub(super) const WHAT: &str = "read your mail";

/// How much of each message must be known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Depth {
    /// Who, what about, when.
    Headers,
    /// Its words and whether something is attached, too.
    Text,
}

/// A message as the index knows it. Everything in it was written by somebody else.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    id: i64,
    /// What stays of its file's name as long as it is there.
    pub base: String,
    /// Its file.
    pub path: PathBuf,
    /// Maildir flags.
    pub flags: String,
    /// Whether it has not been opened.
    pub unread: bool,
    /// Who wrote it.
    pub from: Person,
    /// May be empty.
    pub subject: String,
    /// When it was written.
    pub date: Timestamp,
    /// Without its brackets; may be empty.
    pub message_id: String,
    /// How many files are attached, where its text was read.
    pub attachments: Option<u32>,
    /// The folder that it is in.
    pub folder: Folder,
}

/// What happened to the messages of a folder that are known.
#[derive(Default)]
struct Changes {
    gone: Vec<i64>,
    /// Those whose file has another name now.
    renamed: Vec<(i64, String)>,
}

/// Why the index is not up to date.
enum Failure {
    Told(ToolError),
    Base(rusqlite::Error),
}

impl Failure {
    fn tool(self) -> ToolError {
        match self {
            Failure::Told(error) => error,
            Failure::Base(error) => ToolError::broken(WHAT, error),
        }
    }
}

impl From<ToolError> for Failure {
    fn from(error: ToolError) -> Failure {
        Failure::Told(error)
    }
}

impl From<rusqlite::Error> for Failure {
    fn from(error: rusqlite::Error) -> Failure {
        Failure::Base(error)
    }
}

/// The index, as new as the folders were when it was opened.
pub struct Index {
    pub(super) db: Connection,
    /// Where the database is, if it is on the disk.
    file: PathBuf,
    /// All folders that there are, by their numbers.
    folders: HashMap<i64, Folder>,
    /// How many messages are not read yet, because time ran out.
    pub left: usize,
}

impl Index {
    /// Opens the index and brings it up to date, for at most `patience`.
    ///
    /// # Errors
    /// `Tell` when there is no mailbox; `Broken` when a folder or the database cannot be read.
    pub fn open(dirs: &Dirs, depth: Depth, patience: Duration) -> Result<Index, ToolError> {
        let until = Instant::now() + patience;
        let all = folders::folders(&dirs.mail)?;
        match Index::up_to_date(&dirs.state, all.clone(), depth, until) {
            Err(Failure::Base(error)) if database::is_spoilt(&error) => {
                tracing::warn!(%error, "the index of mail is made anew");
                database::throw_away(&dirs.state.join(database::FILE));
                Index::up_to_date(&dirs.state, all, depth, until)
            }
            other => other,
        }
        .map_err(Failure::tool)
    }

    fn up_to_date(state: &Path, all: Vec<Folder>, depth: Depth, until: Instant) -> Result<Index, Failure> {
        let mut index = Index {
            db: database::open(state)?,
            file: state.join(database::FILE),
            folders: HashMap::new(),
            left: 0,
        };
        index.number(all)?;
        for (id, folder) in index.folders.clone() {
            let left = index.headers(id, &folder, until)?;
            index.left += left;
        }
        if depth == Depth::Text && index.left == 0 {
            index.left = index.texts(until)?;
            index.sweep()?;
        }
        Ok(index)
    }

    /// As the tools' error. A database that turns out to be broken goes, so that the next question makes it anew.
    fn failed(&self, error: rusqlite::Error) -> ToolError {
        if database::is_spoilt(&error) {
            database::throw_away(&self.file);
        }
        ToolError::broken(WHAT, error)
    }

    /// All folders of all accounts.
    pub fn folders(&self) -> Vec<Folder> {
        let mut all: Vec<Folder> = self.folders.values().cloned().collect();
        all.sort_by(|a, b| (&a.account, a.role as i64, &a.name).cmp(&(&b.account, b.role as i64, &b.name)));
        all
    }

    /// The message of that name, wherever it is now.
    pub fn by_base(&self, base: &str) -> Option<Entry> {
        let sql = format!("{ENTRY} WHERE base = ?1 ORDER BY mail.id DESC LIMIT 1");
        let mut rows = self.db.prepare_cached(&sql).ok()?;
        rows.query_row([base], |row| self.entry(row)).ok()
    }

    /// Gives every folder its number, and forgets folders that are gone.
    fn number(&mut self, all: Vec<Folder>) -> rusqlite::Result<()> {
        let known: HashMap<String, i64> = self
            .db
            .prepare("SELECT path, id FROM folder")?
            .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?
            .collect::<rusqlite::Result<_>>()?;
        let named: Vec<(String, Folder)> = all
            .into_iter()
            .filter_map(|folder| Some((folder.path.to_str()?.to_owned(), folder)))
            .collect();
        let there: HashSet<&String> = named.iter().map(|(path, _)| path).collect();
        if known.len() != named.len() || !known.keys().all(|path| there.contains(path)) {
            let write = self
                .db
                .transaction_with_behavior(TransactionBehavior::Immediate)?;
            for (path, id) in known.iter().filter(|(path, _)| !there.contains(path)) {
                tracing::debug!(path, "a mail folder is gone");
                let rows = "SELECT id FROM mail WHERE folder = ?1";
                let gone = ids(&write, rows, *id)?;
                for mail in &gone {
                    forget(&write, *mail)?;
                }
                terms::went(&write, gone.len())?;
                write.execute("DELETE FROM folder WHERE id = ?1", [id])?;
            }
            for (path, _) in &named {
                write.execute("INSERT OR IGNORE INTO folder (path) VALUES (?1)", [path])?;
            }
            write.commit()?;
        }
        let mut numbers = self.db.prepare("SELECT id FROM folder WHERE path = ?1")?;
        for (path, folder) in named {
            let id = numbers.query_row([path], |row| row.get(0))?;
            self.folders.insert(id, folder);
        }
        Ok(())
    }

    /// Takes in what came and went in one folder. Says how many new messages were left out because time ran out.
    fn headers(&mut self, id: i64, folder: &Folder, until: Instant) -> Result<usize, Failure> {
        let stamps = PARTS.map(|part| stamp(&folder.path.join(part)));
        let stamp = stamps.join("\n");
        let known: String = self
            .db
            .query_row("SELECT stamp FROM folder WHERE id = ?1", [id], |row| row.get(0))?;
        let mut before = known.split('\n');
        let [cur, new] = stamps.map(|now| before.next() != Some(now.as_str()) || now.is_empty());
        // Mail arrives in `new`, which is small; `cur` has all that was ever kept.
        let mut parts: &[&str] = match (cur, new) {
            (false, false) => return Ok(0),
            (false, true) => &PARTS[1..],
            (true, _) => &PARTS,
        };
        let (there, changes) = loop {
            let mut there = list(&folder.path, parts)?;
            let changes = self.compare(id, &mut there, parts)?;
            // What has left `new` may be in `cur` since that was looked at.
            if changes.gone.is_empty() || parts.len() == PARTS.len() {
                break (there, changes);
            }
            parts = &PARTS;
        };
        let write = self
            .db
            .transaction_with_behavior(TransactionBehavior::Immediate)?;
        terms::went(&write, changes.gone.len())?;
        for mail in changes.gone {
            forget(&write, mail)?;
        }
        for (mail, file) in changes.renamed {
            let (flags, unread) = state(&file);
            let sql = "UPDATE mail SET file = ?2, flags = ?3, unread = ?4 WHERE id = ?1";
            write.execute(sql, params![mail, file, flags, unread])?;
        }
        write.commit()?;
        // The newest first: Maildir names begin with the time of arrival.
        let mut fresh: Vec<(String, String)> = there.into_iter().collect();
        fresh.sort_by(|a, b| number(&b.0).cmp(&number(&a.0)).then_with(|| b.0.cmp(&a.0)));
        let mut done = 0;
        for batch in fresh.chunks(BATCH) {
            if done > 0 && Instant::now() > until {
                return Ok(fresh.len() - done);
            }
            // What is slow is reading, and for that nobody has to wait.
            let heads: Vec<_> = batch
                .iter()
                .filter_map(|(base, file)| Some((base, file, head(&folder.path.join(file))?)))
                .collect();
            let write = self
                .db
                .transaction_with_behavior(TransactionBehavior::Immediate)?;
            for (base, file, head) in heads {
                insert(&write, id, base, file, &head)?;
            }
            write.commit()?;
            done += batch.len();
        }
        if stamp != known {
            let sql = "UPDATE folder SET stamp = ?2 WHERE id = ?1";
            self.db.execute(sql, params![id, stamp])?;
        }
        Ok(0)
    }

    /// Takes what is known of these parts of a folder out of `there`, which leaves what is new.
    fn compare(
        &self,
        folder: i64,
        there: &mut HashMap<String, String>,
        parts: &[&str],
    ) -> rusqlite::Result<Changes> {
        let mut changes = Changes::default();
        let mut rows = self.db.prepare_cached(
            "SELECT id, base, file FROM mail WHERE folder = ?1 AND (?2 OR substr(file, 1, 4) = 'new/')",
        )?;
        let mut rows = rows.query(params![folder, parts.len() == PARTS.len()])?;
        while let Some(row) = rows.next()? {
            // Borrowed: most of thousands of rows say what was known already.
            let (id, base, file) = (row.get(0)?, row.get_ref(1)?.as_str()?, row.get_ref(2)?.as_str()?);
            match there.remove(base) {
                None => changes.gone.push(id),
                Some(now) if now != file => changes.renamed.push((id, now)),
                Some(_) => {}
            }
        }
        Ok(changes)
    }

    /// Reads texts that were not read yet. Says how many were left because time ran out.
    fn texts(&mut self, until: Instant) -> rusqlite::Result<usize> {
        loop {
            let sql = format!("{ENTRY} WHERE attachments IS NULL ORDER BY date DESC LIMIT {BATCH}");
            let unread: Vec<Entry> = {
                let mut rows = self.db.prepare_cached(&sql)?;
                let rows = rows.query_map([], |row| self.entry(row))?;
                rows.collect::<rusqlite::Result<_>>()?
            };
            if unread.is_empty() {
                return Ok(0);
            }
            let mut letters = Vec::with_capacity(unread.len());
            for entry in &unread {
                // At least one each time, so that every question gets further.
                if !letters.is_empty() && Instant::now() > until {
                    break;
                }
                letters.push((entry, letter(&entry.path)));
            }
            let cut = letters.len() < unread.len();
            let write = self
                .db
                .transaction_with_behavior(TransactionBehavior::Immediate)?;
            let mut terms = Terms::default();
            for (entry, letter) in letters {
                take_in(&write, &mut terms, entry, letter.as_ref())?;
            }
            terms.keep(&write)?;
            write.commit()?;
            if cut {
                let sql = "SELECT count(*) FROM mail WHERE attachments IS NULL";
                let left: i64 = self.db.query_row(sql, [], |row| row.get(0))?;
                return Ok(usize::try_from(left).unwrap_or(0));
            }
        }
    }

    /// Takes out words of mail that went.
    fn sweep(&mut self) -> rusqlite::Result<()> {
        if !terms::is_due(&self.db)? {
            return Ok(());
        }
        let write = self
            .db
            .transaction_with_behavior(TransactionBehavior::Immediate)?;
        terms::sweep(&write)?;
        write.commit()
    }

    /// A row of [`ENTRY`].
    fn entry(&self, row: &Row<'_>) -> rusqlite::Result<Entry> {
        let folder = self.folders.get(&row.get(1)?);
        let folder = folder.ok_or(rusqlite::Error::QueryReturnedNoRows)?.clone();
        let file: String = row.get(3)?;
        Ok(Entry {
            id: row.get(0)?,
            base: row.get(2)?,
            path: folder.path.join(file),
            flags: row.get(4)?,
            unread: row.get(5)?,
            from: Person {
                name: row.get(6)?,
                address: row.get(7)?,
            },
            subject: row.get(8)?,
            date: Timestamp::from_second(row.get(9)?).unwrap_or(Timestamp::UNIX_EPOCH),
            message_id: row.get(10)?,
            attachments: row.get(11)?,
            folder,
        })
    }
}

const ENTRY: &str = "SELECT mail.id, folder, base, file, flags, unread, name, address, subject, date, message_id, attachments FROM mail";

fn ids(db: &Connection, sql: &str, of: i64) -> rusqlite::Result<Vec<i64>> {
    db.prepare_cached(sql)?
        .query_map([of], |row| row.get(0))?
        .collect()
}

fn forget(write: &Transaction<'_>, mail: i64) -> rusqlite::Result<()> {
    write
        .prepare_cached("DELETE FROM words WHERE rowid = ?1")?
        .execute([mail])?;
    write
        .prepare_cached("DELETE FROM mail WHERE id = ?1")?
        .execute([mail])?;
    Ok(())
}

fn insert(write: &Transaction<'_>, folder: i64, base: &str, file: &str, head: &Head) -> rusqlite::Result<()> {
    let (flags, unread) = state(file);
    let mut insert = write.prepare_cached(
        "INSERT OR IGNORE INTO mail (folder, base, file, flags, unread, name, address, subject, topic, date, message_id)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
    )?;
    let made = insert.execute(params![
        folder,
        base,
        file,
        flags,
        unread,
        head.from.name,
        head.from.address.to_lowercase(),
        head.subject,
        topic(&head.subject),
        head.date.as_second(),
        head.message_id
    ])?;
    if made == 0 {
        // Another process was faster.
        return Ok(());
    }
    let mail = write.last_insert_rowid();
    let mut to = write.prepare_cached("INSERT INTO recipient (mail, name, address) VALUES (?1, ?2, ?3)")?;
    for person in head.to.iter().chain(&head.cc).take(MAX_RECIPIENTS) {
        to.execute(params![mail, person.name, person.address.to_lowercase()])?;
    }
    let mut link = write.prepare_cached("INSERT INTO link (mail, id) VALUES (?1, ?2)")?;
    for id in &head.references {
        link.execute(params![mail, id])?;
    }
    Ok(())
}

/// Writes the words of a message. Of one that cannot be read the header's are kept.
fn take_in(
    write: &Transaction<'_>,
    terms: &mut Terms,
    entry: &Entry,
    letter: Option<&Letter>,
) -> rusqlite::Result<()> {
    let sql = "UPDATE mail SET attachments = ?2 WHERE id = ?1 AND attachments IS NULL";
    let attachments = letter.map_or(0, |letter| {
        u32::try_from(letter.attachments.len()).unwrap_or(u32::MAX)
    });
    if write
        .prepare_cached(sql)?
        .execute(params![entry.id, attachments])?
        == 0
    {
        // Another process was faster.
        return Ok(());
    }
    let people = |people: &[Person]| -> String {
        people
            .iter()
            .take(MAX_RECIPIENTS)
            .map(|p| format!("{} {} ", p.name, p.address))
            .collect()
    };
    let recipients = letter
        .map(|l| people(&l.head.to) + &people(&l.head.cc))
        .unwrap_or_default();
    let attached: String = letter
        .map(|l| l.attachments.iter().map(|a| format!("{} ", a.name)).collect())
        .unwrap_or_default();
    let body = letter.map_or("", |l| super::cut(&l.text, MAX_WORDS));
    let sender = format!("{} {}", entry.from.name, entry.from.address);
    for text in [&*sender, &*recipients, &*entry.subject, body, &*attached] {
        terms.add(text);
    }
    write
        .prepare_cached(
            "INSERT INTO words (rowid, sender, recipients, subject, body, attached) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        )?
        .execute(params![entry.id, sender, recipients, entry.subject, body, attached])?;
    Ok(())
}

/// The parts of a Maildir that messages are in, in the order of their stamps.
static PARTS: [&str; 2] = ["cur", "new"];

/// What changes when anything comes to a part of a folder, leaves it or gets another name; empty while that may go unnoticed.
fn stamp(part: &Path) -> String {
    match fs::metadata(part) {
        Ok(meta) => Some(Stamp::of(&meta))
            .filter(Stamp::is_settled)
            .map_or_else(String::new, |stamp| format!("{stamp:?}")),
        Err(e) if e.kind() == ErrorKind::NotFound => "-".to_owned(),
        Err(_) => String::new(),
    }
}

/// The messages in these parts of a folder: what stays of the name, and the file below the folder.
fn list(folder: &Path, parts: &[&str]) -> Result<HashMap<String, String>, ToolError> {
    let mut found = HashMap::new();
    // One that another program is moving from `new` to `cur` may be seen twice; `cur` is right then.
    for name in parts.iter().rev() {
        let entries = match fs::read_dir(folder.join(name)) {
            Ok(entries) => entries,
            Err(e) if e.kind() == ErrorKind::NotFound => continue,
            Err(e) => return Err(store::StoreError::of(&folder.join(name), e).tool(WHAT)),
        };
        for entry in entries.flatten() {
            let Ok(file) = entry.file_name().into_string() else {
                continue;
            };
            if file.starts_with('.') || found.len() >= MAX_MESSAGES {
                continue;
            }
            if entry.file_type().is_ok_and(|kind| kind.is_file()) {
                let base = folders::split(&file).0.to_owned();
                found.insert(base, format!("{name}/{file}"));
            }
        }
    }
    if found.len() >= MAX_MESSAGES {
        tracing::warn!(max = MAX_MESSAGES, "a mail folder is larger than what is read");
    }
    Ok(found)
}

/// The time of arrival that a name begins with.
fn number(name: &str) -> u64 {
    let digits = name
        .split(|c: char| !c.is_ascii_digit())
        .next()
        .unwrap_or_default();
    digits.parse().unwrap_or(0)
}

/// Flags and whether it is unread, by the file below its folder.
fn state(file: &str) -> (&str, bool) {
    let (_, flags) = folders::split(file);
    (flags, file.starts_with("new/") || !flags.contains('S'))
}

fn head(path: &Path) -> Option<Head> {
    let read = || -> std::io::Result<Option<Head>> {
        let mut file = File::open(path)?;
        let arrived = file.metadata()?.mtime();
        Ok(Head::read(&header(&mut file)?, arrived))
    };
    read()
        .inspect_err(|error| {
            // Another program moved it meanwhile; it will be there next time.
            if error.kind() != ErrorKind::NotFound {
                tracing::warn!(%error, "a mail was left out");
            }
        })
        .ok()?
}

/// The beginning of a file up to the empty line that ends a header, so that a large attachment costs nothing.
fn header(file: &mut File) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut block = [0; 4096];
    while bytes.len() < MAX_HEADER {
        let read = file.read(&mut block)?;
        let seen = bytes.len().saturating_sub(3);
        bytes.extend_from_slice(&block[..read]);
        let ended = bytes[seen..].windows(2).any(|w| w == b"\n\n")
            || bytes[seen..].windows(4).any(|w| w == b"\r\n\r\n");
        if read == 0 || ended {
            break;
        }
    }
    bytes.truncate(MAX_HEADER);
    Ok(bytes)
}

fn letter(path: &Path) -> Option<Letter> {
    let bytes = store::read_bounded(path, MAX_MESSAGE)
        .inspect_err(|error| tracing::debug!(%error, "the text of a mail was left out"))
        .ok()?;
    let arrived = fs::metadata(path).map_or(0, |meta| meta.mtime());
    Letter::read(&bytes, arrived)
        .inspect_err(|error| tracing::debug!(%error, "the text of a mail was left out"))
        .ok()
}

impl Entry {
    /// Reads the whole message.
    ///
    /// # Errors
    /// `Tell`: why it cannot be read.
    pub fn letter(&self) -> Result<Letter, ToolError> {
        let arrived = fs::metadata(&self.path).map_or(0, |meta| meta.mtime());
        Letter::read(&self.bytes()?, arrived)
            .map_err(|why| ToolError::tell(format!("I cannot read that mail. {why}")))
    }

    /// The message as it is.
    ///
    /// # Errors
    /// `Tell`: why it cannot be read.
    pub fn bytes(&self) -> Result<Vec<u8>, ToolError> {
        store::read_bounded(&self.path, MAX_MESSAGE).map_err(|e| match e {
            store::StoreError::Missing(_) => {
                ToolError::tell("Another program moved that mail just now. Ask again.")
            }
            store::StoreError::TooBig { .. } => ToolError::tell("I cannot read that mail: it is too large."),
            other => other.tool(WHAT),
        })
    }

    /// Whether it is among what a search looks at.
    pub fn is_deleted(&self) -> bool {
        self.flags.contains('T') || self.folder.role == Role::Trash
    }
}
