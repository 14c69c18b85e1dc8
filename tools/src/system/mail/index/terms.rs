//! The different words of all mail as they are written, for what was misheard. FTS5 can list its own words, but for each it
//! walks over every place where that word stands, so the list of a mailbox costs as much as reading all of it; this one
//! costs only its own length. (5,000 mails with 250 words each: 50 ms for the one, 3 ms for the other.)

use std::collections::HashSet;

use rusqlite::{Connection, OptionalExtension as _, Transaction, params};

use super::super::cut;
use crate::discover::words;

/// Shortest and longest words that are kept, in bytes: shorter ones are like too many, longer ones are nothing that people say.
const SHORTEST: usize = 3;
const LONGEST: usize = 48;
/// Words that are compared with one that was heard and is nowhere.
const MAX_COMPARED: usize = 60_000;
/// How alike a word of the mailbox must be to one that was heard and is nowhere.
const ALIKE: f64 = 0.88;
/// Such words that are taken for it.
const MAX_ALIKE: usize = 6;
/// The likest are looked up until enough of them still stand somewhere.
const MAX_LOOKED_UP: usize = 60;
/// Words that are looked through for each message that went, because no mail may have them any more.
const SWEPT_FOR_EACH: i64 = 100;
/// Words that are looked through at once.
const SWEPT_AT_ONCE: i64 = 500;

/// Beside the schema of the index.
pub(super) const SCHEMA: &str = "
    CREATE TABLE term (term TEXT PRIMARY KEY) STRICT, WITHOUT ROWID;
    CREATE TABLE sweep (one INTEGER PRIMARY KEY CHECK (one = 1), after TEXT NOT NULL, due INTEGER NOT NULL) STRICT;
    INSERT INTO sweep (one, after, due) VALUES (1, '', 0);
";

/// The words of some messages, each once.
#[derive(Default)]
pub(super) struct Terms(HashSet<String>);

impl Terms {
    /// Takes in the words of a text.
    pub(super) fn add(&mut self, text: &str) {
        let mut lower = String::new();
        for word in text.split(|c: char| !c.is_alphanumeric()) {
            if !(SHORTEST..=LONGEST).contains(&word.len()) {
                continue;
            }
            lower.clear();
            lower.extend(word.chars().flat_map(char::to_lowercase));
            if !self.0.contains(&lower) {
                self.0.insert(lower.clone());
            }
        }
    }

    /// Writes them down.
    pub(super) fn keep(self, write: &Transaction<'_>) -> rusqlite::Result<()> {
        let mut insert = write.prepare_cached("INSERT OR IGNORE INTO term (term) VALUES (?1)")?;
        // In the order of the table, so that each page of it is touched once.
        let mut all: Vec<String> = self.0.into_iter().collect();
        all.sort_unstable();
        for term in all {
            insert.execute([term])?;
        }
        Ok(())
    }
}

/// Notes that messages went, whose words may be nowhere now.
pub(super) fn went(write: &Transaction<'_>, messages: usize) -> rusqlite::Result<()> {
    if messages == 0 {
        return Ok(());
    }
    let due = i64::try_from(messages)
        .unwrap_or(i64::MAX)
        .saturating_mul(SWEPT_FOR_EACH);
    // More than all of them need not be looked through.
    let sql = "UPDATE sweep SET due = min(due + ?1, (SELECT count(*) FROM term))";
    write.prepare_cached(sql)?.execute([due])?;
    Ok(())
}

/// Whether there are words to be looked through.
pub(super) fn is_due(db: &Connection) -> rusqlite::Result<bool> {
    db.prepare_cached("SELECT due > 0 FROM sweep")?
        .query_row([], |row| row.get(0))
}

/// Takes out words that stand in no mail any more, some each time, so that no question waits for all of them. In one
/// transaction with the look at the mails: another process may be writing one that has the word.
pub(super) fn sweep(write: &Transaction<'_>) -> rusqlite::Result<()> {
    let (after, due): (String, i64) = write
        .prepare_cached("SELECT after, due FROM sweep")?
        .query_row([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let some = due.clamp(0, SWEPT_AT_ONCE);
    let terms: Vec<String> = write
        .prepare_cached("SELECT term FROM term WHERE term > ?1 ORDER BY term LIMIT ?2")?
        .query_map(params![after, some], |row| row.get(0))?
        .collect::<rusqlite::Result<_>>()?;
    for term in &terms {
        if !stands(write, &quoted(term))? {
            write
                .prepare_cached("DELETE FROM term WHERE term = ?1")?
                .execute([term])?;
        }
    }
    let ended = (terms.len() as i64) < some;
    let after = terms.last().filter(|_| !ended).map_or("", String::as_str);
    write
        .prepare_cached("UPDATE sweep SET after = ?1, due = ?2")?
        .execute(params![after, due - some])?;
    Ok(())
}

/// What to look for where a word was heard: the word, or words like it where no mail has it.
pub(super) fn group(db: &Connection, word: &str) -> rusqlite::Result<String> {
    let said = quoted(word);
    let (Some(first), false) = (word.chars().next(), word.len() < 4 || stands(db, &said)?) else {
        return Ok(said);
    };
    let sql = "SELECT term FROM term WHERE term >= ?1 AND term < ?2 LIMIT ?3";
    let after = char::from_u32(u32::from(first) + 1).unwrap_or(char::MAX);
    let mut rows = db.prepare_cached(sql)?;
    let most = MAX_COMPARED as i64;
    let mut rows = rows.query(params![first.to_string(), after.to_string(), most])?;
    // What was heard may be another form of what was written.
    let normal = words::Normaliser::new();
    let stem = normal.stem(word);
    let (letters, stem_letters) = (Letters::of(word), Letters::of(&stem));
    let mut alike: Vec<(f64, String)> = Vec::new();
    while let Some(row) = rows.next()? {
        let term = row.get_ref(0)?.as_str()?;
        let there = Letters::of(term);
        let mut likeness: f64 = 0.0;
        if letters.may_be_alike(&there) {
            likeness = strsim::jaro_winkler(word, term);
        }
        if stem != word && stem_letters.may_be_alike(&there) {
            likeness = likeness.max(strsim::jaro_winkler(&stem, term));
        }
        if likeness >= ALIKE {
            alike.push((likeness, term.to_owned()));
        }
    }
    alike.sort_by(|a, b| b.0.total_cmp(&a.0));
    let mut taken: Vec<String> = Vec::new();
    let mut stems = HashSet::new();
    for (_, term) in alike.iter().take(MAX_LOOKED_UP) {
        // Forms of one word find the same mails, and a word of a mail that went finds none.
        let term_is_new = stems.insert(normal.stem(term));
        if term_is_new && stands(db, &quoted(term))? {
            taken.push(quoted(term));
        }
        if taken.len() == MAX_ALIKE {
            break;
        }
    }
    match taken.is_empty() {
        true => Ok(said),
        false => Ok(format!("({})", taken.join(" OR "))),
    }
}

/// A word as FTS5 is asked for it. It has only letters and digits, so nothing in it could end the quotation.
fn quoted(word: &str) -> String {
    format!("\"{}\"", cut(word, 4 * LONGEST))
}

/// Whether any mail has it.
fn stands(db: &Connection, quoted: &str) -> rusqlite::Result<bool> {
    let there: Option<i64> = db
        .prepare_cached("SELECT 1 FROM words WHERE words MATCH ?1 LIMIT 1")?
        .query_row([quoted], |row| row.get(0))
        .optional()?;
    Ok(there.is_some())
}

/// How often each letter is in a word, to pass over most words of a mailbox without comparing them.
struct Letters {
    counts: [u8; 32],
    length: f64,
}

impl Letters {
    /// Letters that share a place only make words seem more alike than they are.
    fn of(word: &str) -> Letters {
        let mut counts = [0u8; 32];
        let mut length = 0.0;
        for letter in word.chars() {
            let count = &mut counts[(u32::from(letter) % 32) as usize];
            *count = count.saturating_add(1);
            length += 1.0;
        }
        Letters { counts, length }
    }

    /// False only where Jaro and Winkler's likeness is below [`ALIKE`] for certain: with c letters in common the first is at
    /// most (c/m + c/n + 1) / 3, and the second takes away at most four tenths of what is missing to one.
    fn may_be_alike(&self, other: &Letters) -> bool {
        let common: u32 = (self.counts.iter().zip(&other.counts))
            .map(|(a, b)| u32::from(*a.min(b)))
            .sum();
        let common = f64::from(common);
        let jaro = (common / self.length.max(1.0) + common / other.length.max(1.0) + 1.0) / 3.0;
        1.0 - 0.6 * (1.0 - jaro) >= ALIKE
    }
}

#[cfg(test)]
mod tests {
    use std::{
        fs,
        path::Path,
        time::{Duration, Instant},
    };

    use proptest::prelude::*;

    use super::{
        super::{Depth, Index, Query},
        *,
    };
    use crate::testing::{ctx, deliver};

    const LONG: Duration = Duration::from_secs(60);

    fn put(root: &Path, n: usize, body: &str) {
        let date = "Mon, 23 Nov 2026 05:00:00 +0000";
        let file = format!("cur/{n}.a:2,S");
        deliver(root, &file, "anna@x.org", &format!("Mail {n}"), date, body);
    }

    fn open(root: &Path) -> Index {
        Index::open(&ctx(root).dirs, Depth::Text, LONG).unwrap()
    }

    #[track_caller]
    fn finds(root: &Path, said: &str, expect: &[&str]) {
        let query = Query {
            words: said.to_owned(),
            ..Query::default()
        };
        let found = open(root).find(&query, 50).unwrap();
        let mut subjects: Vec<&str> = found.entries.iter().map(|entry| entry.subject.as_str()).collect();
        subjects.sort_unstable();
        assert_eq!(subjects, expect, "{said}");
    }

    fn kept(root: &Path) -> Vec<String> {
        let index = open(root);
        let mut rows = index.db.prepare("SELECT term FROM term ORDER BY term").unwrap();
        let rows = rows.query_map([], |row| row.get(0)).unwrap();
        rows.collect::<rusqlite::Result<_>>().unwrap()
    }

    #[test]
    fn words_that_were_misheard_find_what_was_written() {
        let home = tempfile::tempdir().unwrap();
        let root = home.path();
        put(root, 1, "The itinerary for the invoices of Hamburg");
        put(root, 2, "Grüße an die Königin");
        put(root, 3, "Nothing of it.");
        finds(root, "itinary", &["Mail 1"]);
        finds(root, "hamberg", &["Mail 1"]);
        finds(root, "invoise", &["Mail 1"]);
        finds(root, "königen", &["Mail 2"]);
        finds(root, "konigin", &["Mail 2"]);
        finds(root, "zebras", &[]);
        finds(root, "itx", &[]);
    }

    #[test]
    fn words_of_mail_that_went_are_forgotten_and_never_in_the_way() {
        let home = tempfile::tempdir().unwrap();
        let root = home.path();
        put(root, 1, "itinerary");
        // Each is liker to what is heard than the word that stays.
        for n in 2..20 {
            put(root, n, &format!("itinar{} walrus", char::from(b'a' + n as u8)));
        }
        assert!(kept(root).contains(&"walrus".to_owned()));
        for n in 2..20 {
            fs::remove_file(root.join(format!("mail/cur/{n}.a:2,S"))).unwrap();
        }
        finds(root, "itinary", &["Mail 1"]);
        assert_eq!(kept(root), ["anna", "itinerary", "mail", "org"]);
        finds(root, "itinary", &["Mail 1"]);
        put(root, 30, "walrus");
        finds(root, "walrusse", &["Mail 30"]);
    }

    /// What 5,000 messages of 250 words took 50 to 76 ms for, with FTS5's own list of its words.
    #[test]
    fn a_word_that_is_nowhere_costs_no_walk_over_all_mail() {
        let home = tempfile::tempdir().unwrap();
        let root = home.path();
        for n in 0..1_000 {
            let body: String = (0..250)
                .map(|w| {
                    let draw = (n * 7919 + w * 104_729) % 9973;
                    format!("word{} ", draw * draw / 9973)
                })
                .collect();
            put(root, n, &body);
        }
        let index = open(root);
        let measured = |word: &str| {
            let mut times: Vec<Duration> = (0..9)
                .map(|_| {
                    let begun = Instant::now();
                    group(&index.db, word).unwrap();
                    begun.elapsed()
                })
                .collect();
            times.sort_unstable();
            times[4]
        };
        // The old way, on the same data.
        index
            .db
            .execute_batch("CREATE VIRTUAL TABLE temp.vocabulary USING fts5vocab(main, words, row)")
            .unwrap();
        let begun = Instant::now();
        let walked: i64 = index
            .db
            .query_row("SELECT count(*) FROM vocabulary", [], |row| row.get(0))
            .unwrap();
        let walk = begun.elapsed();
        let own: i64 = index
            .db
            .query_row("SELECT count(*) FROM term", [], |row| row.get(0))
            .unwrap();
        let misheard = measured("wort9999");
        println!("{own} words: misheard {misheard:?}; FTS5's own list of {walked}: {walk:?}");
        assert!(own > 5_000, "{own}");
        assert!(misheard < Duration::from_millis(500), "{misheard:?}");
    }

    proptest! {
        /// Passing over words without comparing them loses none.
        #[test]
        fn no_word_that_is_alike_is_passed_over(a in "[a-dü]{1,12}", b in "[a-dü]{1,12}", tail in "[a-f]{0,4}") {
            for (a, b) in [(a.clone(), b), (a.clone(), format!("{a}{tail}"))] {
                if strsim::jaro_winkler(&a, &b) >= ALIKE {
                    prop_assert!(Letters::of(&a).may_be_alike(&Letters::of(&b)), "{} {}", a, b);
                }
            }
        }
    }
}
