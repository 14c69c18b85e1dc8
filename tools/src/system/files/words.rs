//! What is in the files: an index of their words in SQLite (FTS5), brought up to date by each search as far as its time
//! goes, newest files first. It keeps words and no texts, in a folder that can be emptied at any time.
//!
//! It keeps to a budget. Where that is full the words of the files that were changed longest ago make room, and come back
//! when others have gone.

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
const MAX_ALL: u64 = 256 << 20;
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

/// Pages of the index that are put in order at once where words were taken out, so that their room is used again.
const TIDIED: i64 = 64;

const VERSION: i64 = 2;
/// Of each file how many bytes of text it has, and whether their words are kept: not those of an empty text, nor those for
/// which there was no room.
const SCHEMA: &str = "
    CREATE TABLE file (
        id INTEGER PRIMARY KEY,
        path BLOB NOT NULL UNIQUE,
        changed INTEGER NOT NULL,
        size INTEGER NOT NULL,
        bytes INTEGER NOT NULL,
        kept INTEGER NOT NULL
    ) STRICT;
    CREATE INDEX oldest ON file (changed, id) WHERE kept = 1;
    CREATE VIRTUAL TABLE body USING fts5(text, content='', contentless_delete=1, tokenize='unicode61 remove_diacritics 2');
    CREATE VIRTUAL TABLE known USING fts5vocab(body, 'row');
    PRAGMA user_version = 2;
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
    let partial = update(&mut db, all, reach, MAX_ALL)?;
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

/// Takes out what is gone or changed, and reads what is new, for a while; at most so many bytes of text are kept the words
/// of. Whether there are files whose words are not.
fn update(db: &mut Connection, listing: &Listing, reach: &Reach, budget: u64) -> rusqlite::Result<bool> {
    let started = Instant::now();
    let budget = i64::try_from(budget).unwrap_or(i64::MAX);
    let known = known(db)?;
    let (mut new, mut there) = (Vec::new(), HashSet::new());
    for item in listing.items.iter().filter(|item| !item.is_folder) {
        let path = item.path().into_os_string();
        match known.get(path.as_bytes()) {
            Some(known) if (known.changed, known.size) == stamp(item) => {
                there.insert(known.id);
                if known.left_out() {
                    new.push((item, path, Some(known.bytes)));
                }
            }
            _ => new.push((item, path, None)),
        }
    }
    let change = db.transaction()?;
    let mut kept: i64 = known.values().map(Known::weight).sum();
    // An incomplete listing says nothing about what it does not hold.
    for known in known
        .values()
        .filter(|known| !listing.partial && !there.contains(&known.id))
    {
        forget(&change, known.id)?;
        kept -= known.weight();
    }
    // The budget may have been larger.
    make_room(&change, &mut kept, budget, i64::MAX)?;
    change.commit()?;
    let newer = Newer::of(known.values().filter(|known| there.contains(&known.id)));
    let mut added = 0;
    for some in new.chunks(COMMIT) {
        let change = db.transaction()?;
        for (item, path, bytes) in some {
            let (changed, size) = stamp(item);
            // There was no room for it, and as long as there is none it is not read again.
            if bytes.is_some_and(|bytes| newer.than(changed) + added + bytes > budget) {
                continue;
            }
            if started.elapsed() > PATIENCE {
                change.commit()?;
                return Ok(true);
            }
            kept -= replace(&change, path.as_bytes())?;
            let text = words_of(item, reach);
            let bytes = i64::try_from(text.len()).unwrap_or(i64::MAX);
            let fits = bytes > 0 && make_room(&change, &mut kept, budget - bytes, changed)?;
            change
                .prepare_cached(
                    "INSERT INTO file (path, changed, size, bytes, kept) VALUES (?1, ?2, ?3, ?4, ?5)",
                )?
                .execute(params![path.as_bytes(), changed, size, bytes, fits])?;
            if fits {
                kept += bytes;
                added += bytes;
                let id = change.last_insert_rowid();
                change
                    .prepare_cached("INSERT INTO body (rowid, text) VALUES (?1, ?2)")?
                    .execute(params![id, text])?;
            }
        }
        change.commit()?;
    }
    let left_out = "SELECT EXISTS (SELECT 1 FROM file WHERE bytes > 0 AND kept = 0)";
    db.query_row(left_out, [], |row| row.get(0))
}

/// A file as the index knows it.
struct Known {
    id: i64,
    changed: i64,
    size: i64,
    bytes: i64,
    kept: bool,
}

impl Known {
    /// What it takes of the budget.
    fn weight(&self) -> i64 {
        if self.kept { self.bytes } else { 0 }
    }

    /// Whether it has words that are not kept.
    fn left_out(&self) -> bool {
        !self.kept && self.bytes > 0
    }
}

/// What takes room that older files cannot have: moments of files whose words are kept, the newest first, each with the
/// bytes of all up to it.
struct Newer(Vec<(i64, i64)>);

impl Newer {
    fn of<'k>(known: impl Iterator<Item = &'k Known>) -> Newer {
        let mut all: Vec<(i64, i64)> = known.map(|known| (known.changed, known.weight())).collect();
        all.sort_unstable_by_key(|(changed, _)| std::cmp::Reverse(*changed));
        let mut sum = 0;
        for (_, bytes) in &mut all {
            sum += *bytes;
            *bytes = sum;
        }
        Newer(all)
    }

    /// The bytes of those that were not changed before this moment.
    fn than(&self, changed: i64) -> i64 {
        let count = self.0.partition_point(|(at, _)| *at >= changed);
        count.checked_sub(1).map_or(0, |last| self.0[last].1)
    }
}

fn known(db: &Connection) -> rusqlite::Result<HashMap<Vec<u8>, Known>> {
    let mut rows = db.prepare("SELECT path, id, changed, size, bytes, kept FROM file")?;
    let all = rows.query_map([], |row| {
        let known = Known {
            id: row.get(1)?,
            changed: row.get(2)?,
            size: row.get(3)?,
            bytes: row.get(4)?,
            kept: row.get(5)?,
        };
        Ok((row.get(0)?, known))
    })?;
    all.collect()
}

/// What changes when a file does.
fn stamp(item: &Item) -> (i64, i64) {
    (
        item.modified.as_millisecond(),
        i64::try_from(item.size).unwrap_or(i64::MAX),
    )
}

/// The text of which the words are kept. What cannot be read is remembered as empty, so that it is not tried again before
/// it changes.
fn words_of(item: &Item, reach: &Reach) -> String {
    match item.kind() {
        super::Kind::Picture | super::Kind::Music | super::Kind::Video | super::Kind::Archive => {
            String::new()
        }
        _ => text::read(item, MAX_FILE, reach)
            .map(|read| read.text)
            .unwrap_or_default(),
    }
}

/// Takes out the words of files that were changed before this moment, those of the oldest first, until no more than so many
/// bytes are kept. Whether that was enough; where it is not, nothing is taken out.
fn make_room(db: &Connection, kept: &mut i64, most: i64, before: i64) -> rusqlite::Result<bool> {
    if *kept <= most {
        return Ok(true);
    }
    let (mut going, mut left) = (Vec::new(), *kept);
    {
        let mut oldest = db.prepare_cached(
            "SELECT id, bytes FROM file WHERE kept = 1 AND changed < ?1 ORDER BY changed, id",
        )?;
        let mut rows = oldest.query([before])?;
        while left > most {
            let Some(row) = rows.next()? else {
                return Ok(false);
            };
            going.push(row.get::<_, i64>(0)?);
            left -= row.get::<_, i64>(1)?;
        }
    }
    for id in going {
        db.prepare_cached("DELETE FROM body WHERE rowid = ?1")?
            .execute([id])?;
        db.prepare_cached("UPDATE file SET kept = 0 WHERE id = ?1")?
            .execute([id])?;
    }
    *kept = left;
    tidy(db)?;
    Ok(true)
}

/// Takes out what is known of a path, because it is read anew. What it took of the budget.
fn replace(db: &Connection, path: &[u8]) -> rusqlite::Result<i64> {
    let old: Option<(i64, i64)> = db
        .prepare_cached("SELECT id, bytes * kept FROM file WHERE path = ?1")?
        .query_row([path], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    match old {
        None => Ok(0),
        Some((id, weight)) => {
            forget(db, id)?;
            Ok(weight)
        }
    }
}

fn forget(db: &Connection, id: i64) -> rusqlite::Result<()> {
    db.prepare_cached("DELETE FROM body WHERE rowid = ?1")?
        .execute([id])?;
    db.prepare_cached("DELETE FROM file WHERE id = ?1")?
        .execute([id])?;
    Ok(())
}

/// Words that are taken out leave a mark until the parts of the index that hold them are merged.
fn tidy(db: &Connection) -> rusqlite::Result<()> {
    db.prepare_cached("INSERT INTO body (body, rank) VALUES ('merge', ?1)")?
        .execute([TIDIED])?;
    Ok(())
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

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use proptest::prelude::*;

    use super::*;
    use crate::{system::files, testing::ctx};

    const BUDGET: u64 = 5000;

    /// Files of which each has a word of its own; the higher its number the later it was changed.
    struct Home(tempfile::TempDir);

    impl Home {
        fn new() -> Home {
            let home = tempfile::tempdir().unwrap();
            fs::create_dir(home.path().join("files")).unwrap();
            Home(home)
        }

        fn path(&self, number: u64) -> std::path::PathBuf {
            self.0.path().join(format!("files/n{number}.txt"))
        }

        fn write(&self, number: u64, bytes: usize, day: u64) {
            let text = format!("walrus{number} ").repeat(bytes / 8 + 1);
            fs::write(self.path(number), &text[..bytes]).unwrap();
            let at = SystemTime::UNIX_EPOCH + Duration::from_secs(86_400 * (1000 + day));
            fs::File::open(self.path(number))
                .unwrap()
                .set_modified(at)
                .unwrap();
        }

        /// Brings the index up to date and says which files are found by their words; what must hold at any time does.
        fn found(&self, budget: u64) -> (Vec<u64>, bool) {
            let ctx = ctx(self.0.path());
            let cache = self.0.path().join("cache");
            let listing = files::list(&ctx.dirs).unwrap();
            let mut db = open(&cache).unwrap();
            let partial = update(&mut db, &listing, &ctx.reach, budget).unwrap();
            let number = |sql: &str| db.query_row(sql, [], |row| row.get::<_, i64>(0)).unwrap();
            let kept = number("SELECT coalesce(sum(bytes), 0) FROM file WHERE kept = 1");
            assert!(kept <= budget as i64, "{kept} bytes of {budget}");
            assert_eq!(
                number("SELECT count(*) FROM file WHERE kept = 1"),
                number("SELECT count(*) FROM body"),
                "each file that is kept has its words, and no other"
            );
            assert_eq!(
                number("SELECT count(*) FROM body WHERE rowid NOT IN (SELECT id FROM file WHERE kept = 1)"),
                0
            );
            let there = listing.items.iter().filter(|item| !item.is_folder).count();
            assert_eq!(number("SELECT count(*) FROM file") as usize, there);
            let left_out = number("SELECT count(*) FROM file WHERE kept = 0 AND bytes > 0");
            assert_eq!(partial, left_out > 0, "what is left out is said to be");
            db.execute_batch("INSERT INTO body (body) VALUES ('integrity-check')")
                .unwrap();
            drop(db);
            let found = (0..40).filter(|number| {
                let db = open(&cache).unwrap();
                let sql = "SELECT count(*) FROM body JOIN file ON file.id = body.rowid WHERE body MATCH ?1";
                let count: i64 = db
                    .query_row(sql, [format!("walrus{number}")], |row| row.get(0))
                    .unwrap();
                assert!(count <= 1);
                count == 1
            });
            (found.collect(), partial)
        }
    }

    #[test]
    fn where_the_budget_is_full_what_was_changed_longest_ago_makes_room() {
        let home = Home::new();
        for number in 0..4 {
            home.write(number, 1000, number);
        }
        assert_eq!(home.found(BUDGET), (vec![0, 1, 2, 3], false));
        for number in 4..20 {
            home.write(number, 1000, number);
        }
        assert_eq!(home.found(BUDGET), (vec![15, 16, 17, 18, 19], true));
        assert_eq!(
            home.found(BUDGET),
            (vec![15, 16, 17, 18, 19], true),
            "and it stays so"
        );
        // One that is changed comes in, and the oldest goes.
        home.write(3, 1000, 30);
        assert_eq!(home.found(BUDGET), (vec![3, 16, 17, 18, 19], true));
        // As many as it takes do the same for a large one.
        home.write(4, 1900, 31);
        assert_eq!(home.found(BUDGET), (vec![3, 4, 18, 19], true));
        // An old one takes nobody's room, and one that is larger than all of it neither.
        home.write(5, 1000, 0);
        home.write(6, 6000, 32);
        assert_eq!(home.found(BUDGET), (vec![3, 4, 18, 19], true));
        // What goes leaves room for the newest of those that were left out.
        for number in [3, 4, 6] {
            fs::remove_file(home.path(number)).unwrap();
        }
        assert_eq!(home.found(BUDGET), (vec![15, 16, 17, 18, 19], true));
        // A smaller budget, and a larger one.
        assert_eq!(home.found(2000), (vec![18, 19], true));
        assert_eq!(home.found(0), (vec![], true));
        assert!(!home.found(1 << 20).1);
        assert_eq!(home.found(1 << 20).0.len(), 17);
    }

    #[test]
    fn an_index_whose_files_come_and_go_does_not_grow() {
        let home = Home::new();
        let size = || -> u64 {
            let all = fs::read_dir(home.0.path().join("cache")).unwrap();
            all.map(|entry| entry.unwrap().metadata().unwrap().len()).sum()
        };
        let mut sizes = Vec::new();
        for round in 0..60u64 {
            for number in 0..10 {
                home.write(number, 1000, round * 10 + number);
            }
            assert_eq!(home.found(BUDGET).0, [5, 6, 7, 8, 9]);
            sizes.push(size());
        }
        let (early, late) = (sizes[10], sizes[59]);
        assert!(late <= early * 2, "{sizes:?}");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]
        /// Whatever is written, removed and forgotten: what is kept is within the budget, and the newest are among it.
        #[test]
        fn the_index_keeps_to_its_budget(
            steps in prop::collection::vec((0u64..8, 0usize..3000, 0u64..40, any::<bool>()), 1..12),
            budget in prop_oneof![Just(0), Just(700), Just(BUDGET)],
        ) {
            let home = Home::new();
            for (number, bytes, day, look) in steps {
                match bytes < 300 {
                    true => drop(fs::remove_file(home.path(number))),
                    false => home.write(number, bytes, day),
                }
                if look {
                    home.found(budget);
                }
            }
            let (found, _) = home.found(budget);
            let newest = files::list(&ctx(home.0.path()).dirs).unwrap().items.into_iter().find(|item| !item.is_folder);
            if let Some(newest) = newest.filter(|newest| newest.size <= budget) {
                let number: u64 = newest.name.trim_matches(|c: char| !c.is_ascii_digit()).parse().unwrap();
                let equal = home.path(number).metadata().unwrap().modified().unwrap();
                let rivals = (0..8).filter(|other| {
                    home.path(*other).metadata().is_ok_and(|meta| meta.modified().unwrap() == equal)
                });
                prop_assert!(found.contains(&number) || rivals.count() > 1, "{number} is not among {found:?}");
            }
        }
    }
}
