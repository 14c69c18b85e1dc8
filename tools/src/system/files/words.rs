//! What is in the files: an index of their words in SQLite (FTS5), brought up to date by each search as far as its time
//! goes, newest files first. It keeps words and no texts, in a folder that can be emptied at any time.

use std::{
    collections::{HashMap, HashSet},
    fs::{self, OpenOptions},
    os::unix::{ffi::OsStrExt as _, fs::OpenOptionsExt as _},
    path::Path,
    time::{Duration, Instant},
};

use rusqlite::{Connection, OptionalExtension as _, params};

use super::{Item, Listing, text};
use crate::{contract::Reach, discover::words, system::store};

/// Most bytes of one file whose words are kept.
const MAX_FILE: u64 = 256 << 10;
/// Most bytes of all files together whose words are kept.
const MAX_ALL: i64 = 256 << 20;
/// How long one search reads files that are new to it.
const PATIENCE: Duration = Duration::from_secs(2);
/// Files whose words are written at once.
const COMMIT: usize = 64;
/// Most words that are looked for.
const MAX_WORDS: usize = 12;
/// Most files that are found.
const MOST: usize = 50;
/// Different words of all files that a misheard word is compared with.
const MAX_KNOWN: usize = 300_000;
/// From this likeness on a word of a file is what was heard.
const ALIKE: f64 = 0.9;

const VERSION: i64 = 1;
const SCHEMA: &str = "
    CREATE TABLE file (
        id INTEGER PRIMARY KEY,
        path BLOB NOT NULL UNIQUE,
        changed INTEGER NOT NULL,
        size INTEGER NOT NULL,
        kept INTEGER NOT NULL
    ) STRICT;
    CREATE VIRTUAL TABLE body USING fts5(text, content='', contentless_delete=1, tokenize='unicode61 remove_diacritics 2');
    CREATE VIRTUAL TABLE known USING fts5vocab(body, 'row');
    PRAGMA user_version = 1;
";

/// What a search came to.
#[derive(Debug, Default)]
pub struct Found {
    /// Which items, by their place among them, best first.
    pub items: Vec<usize>,
    /// Whether there are files whose words are not known yet.
    pub partial: bool,
}

/// Looks for words in the texts of the files `among` all that there are.
///
/// # Errors
/// When the index cannot be used.
pub fn search(
    cache: &Path,
    all: &Listing,
    among: &Listing,
    said: &str,
    reach: &Reach,
) -> rusqlite::Result<Found> {
    let mut wanted: Vec<String> = words::split(said);
    if wanted.iter().any(|word| !words::is_stop_word(word)) {
        wanted.retain(|word| !words::is_stop_word(word));
    }
    wanted.truncate(MAX_WORDS);
    if wanted.is_empty() {
        return Ok(Found::default());
    }
    let mut db = open(cache)?;
    let partial = update(&mut db, all, reach)?;
    let mut places: HashMap<&[u8], usize> = HashMap::new();
    let paths: Vec<_> = among.items.iter().map(Item::path).collect();
    for (at, path) in paths.iter().enumerate() {
        places.insert(path.as_os_str().as_bytes(), at);
    }
    let terms = wanted
        .iter()
        .map(|word| term(&db, word))
        .collect::<rusqlite::Result<Vec<_>>>()?;
    let mut items = Vec::new();
    // All words first; of many words some may have been misheard, and then those with most of them come first.
    for glue in [" AND ", " OR "] {
        let query = terms.join(glue);
        let mut rows = db.prepare_cached(
            "SELECT file.path FROM body JOIN file ON file.id = body.rowid WHERE body MATCH ?1 ORDER BY rank LIMIT ?2",
        )?;
        let most = i64::try_from(MOST).unwrap_or(i64::MAX);
        let found = rows.query_map(params![query, most], |row| row.get::<_, Vec<u8>>(0))?;
        for path in found {
            items.extend(places.get(&path?[..]).copied());
        }
        if !items.is_empty() || terms.len() < 3 {
            break;
        }
    }
    Ok(Found { items, partial })
}

/// A word as the index is asked for it: what begins with it, and words that it may have been misheard for.
fn term(db: &Connection, word: &str) -> rusqlite::Result<String> {
    let quoted = |word: &str| format!("\"{}\"", word.replace('"', ""));
    // "invoices" finds "invoice" and the other way round.
    let stem = words::Normaliser::new().stem(word);
    let stem = match stem.len() >= 3 && word.starts_with(&stem) {
        true => stem,
        false => word.to_owned(),
    };
    let there: Option<i64> = db
        .prepare_cached("SELECT 1 FROM body WHERE body MATCH ?1 LIMIT 1")?
        .query_row([format!("{} *", quoted(&stem))], |row| row.get(0))
        .optional()?;
    if there.is_some() || word.len() < 4 {
        return Ok(format!("{} *", quoted(&stem)));
    }
    let normal = words::Normaliser::new();
    let sound = normal.sound(word);
    let mut alike: Vec<(f64, String)> = Vec::new();
    let mut rows = db.prepare_cached("SELECT term FROM known LIMIT ?1")?;
    let known = rows.query_map([i64::try_from(MAX_KNOWN).unwrap_or(i64::MAX)], |row| {
        row.get::<_, String>(0)
    })?;
    for other in known {
        let other = other?;
        if other.len().abs_diff(word.len()) > 3 {
            continue;
        }
        let letters = strsim::jaro_winkler(word, &other);
        let likeness = match letters >= 0.75 && !sound.is_empty() && normal.sound(&other) == sound {
            true => letters.max(0.93),
            false => letters,
        };
        if likeness >= ALIKE {
            alike.push((likeness, other));
        }
    }
    alike.sort_by(|a, b| b.0.total_cmp(&a.0));
    let mut choices: Vec<String> = alike.iter().take(4).map(|(_, other)| quoted(other)).collect();
    if choices.is_empty() {
        choices.push(quoted(word));
    }
    Ok(format!("({})", choices.join(" OR ")))
}

/// Takes out what is gone or changed, and reads what is new, for a while. Whether something is left to be read.
fn update(db: &mut Connection, listing: &Listing, reach: &Reach) -> rusqlite::Result<bool> {
    let started = Instant::now();
    let mut known: HashMap<Vec<u8>, (i64, i64, i64)> = HashMap::new();
    let mut kept = 0;
    {
        let mut rows = db.prepare("SELECT path, id, changed, size, kept FROM file")?;
        let all = rows.query_map([], |row| {
            Ok((
                row.get(0)?,
                (row.get(1)?, row.get(2)?, row.get(3)?),
                row.get::<_, i64>(4)?,
            ))
        })?;
        for row in all {
            let (path, stamp, bytes) = row?;
            known.insert(path, stamp);
            kept += bytes;
        }
    }
    let mut new = Vec::new();
    let mut there = HashSet::new();
    for item in listing.items.iter().filter(|item| !item.is_folder) {
        let path = item.path().into_os_string();
        let stamp = (
            item.modified.as_millisecond(),
            i64::try_from(item.size).unwrap_or(i64::MAX),
        );
        match known.get(path.as_bytes()) {
            Some((id, changed, size)) if (*changed, *size) == stamp => drop(there.insert(*id)),
            _ => new.push((item, path)),
        }
    }
    let change = db.transaction()?;
    // An incomplete listing says nothing about what it does not hold.
    for (id, ..) in known
        .values()
        .filter(|(id, ..)| !listing.partial && !there.contains(id))
    {
        change.execute("DELETE FROM body WHERE rowid = ?1", [id])?;
        change.execute("DELETE FROM file WHERE id = ?1", [id])?;
    }
    change.commit()?;
    for some in new.chunks(COMMIT) {
        let change = db.transaction()?;
        for (item, path) in some {
            if started.elapsed() > PATIENCE || kept > MAX_ALL {
                change.commit()?;
                return Ok(true);
            }
            // What cannot be read is remembered as empty, so that it is not tried again before it changes.
            let text = match item.kind() {
                super::Kind::Picture | super::Kind::Music | super::Kind::Video | super::Kind::Archive => {
                    String::new()
                }
                _ => text::read(item, MAX_FILE, reach)
                    .map(|read| read.text)
                    .unwrap_or_default(),
            };
            let bytes = i64::try_from(text.len()).unwrap_or(i64::MAX);
            kept += bytes;
            let path = path.as_bytes();
            let old: Option<i64> = change
                .query_row("SELECT id FROM file WHERE path = ?1", [path], |row| row.get(0))
                .optional()?;
            if let Some(old) = old {
                change.execute("DELETE FROM body WHERE rowid = ?1", [old])?;
                change.execute("DELETE FROM file WHERE id = ?1", [old])?;
            }
            change
                .prepare_cached("INSERT INTO file (path, changed, size, kept) VALUES (?1, ?2, ?3, ?4)")?
                .execute(params![
                    path,
                    item.modified.as_millisecond(),
                    i64::try_from(item.size).unwrap_or(i64::MAX),
                    bytes
                ])?;
            if !text.is_empty() {
                let id = change.last_insert_rowid();
                change
                    .prepare_cached("INSERT INTO body (rowid, text) VALUES (?1, ?2)")?
                    .execute(params![id, text])?;
            }
        }
        change.commit()?;
    }
    Ok(false)
}

/// The index, made anew where it is broken or of another version: it can always be.
fn open(cache: &Path) -> rusqlite::Result<Connection> {
    let path = cache.join("files.db");
    match try_open(cache, &path) {
        Ok(db) => Ok(db),
        Err(error) => {
            tracing::info!(%error, "the words of files are collected anew");
            for ending in ["db", "db-wal", "db-shm"] {
                // What is not there need not go, and what cannot go fails again below.
                let _ = fs::remove_file(path.with_extension(ending));
            }
            try_open(cache, &path)
        }
    }
}

fn try_open(cache: &Path, path: &Path) -> rusqlite::Result<Connection> {
    let fail = |error: &dyn std::fmt::Display| {
        rusqlite::Error::SqliteFailure(
            rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_CANTOPEN),
            Some(error.to_string()),
        )
    };
    store::make_folder(cache).map_err(|e| fail(&e))?;
    // Nobody else learns which words the person's files hold.
    OpenOptions::new()
        .create(true)
        .truncate(false)
        .write(true)
        .mode(0o600)
        .open(path)
        .map_err(|e| fail(&e))?;
    let mut db = Connection::open(path)?;
    db.busy_timeout(Duration::from_secs(2))?;
    db.pragma_update(None, "journal_mode", "WAL")?;
    db.pragma_update(None, "synchronous", "OFF")?;
    let made = db.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
    match made.pragma_query_value(None, "user_version", |row| row.get::<_, i64>(0))? {
        0 => made.execute_batch(SCHEMA)?,
        VERSION => {}
        other => return Err(fail(&format!("version {other}"))),
    }
    made.commit()?;
    Ok(db)
}
