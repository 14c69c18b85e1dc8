//! The person's address book: vCards 2.1, 3.0 and 4.0 in vdir folders, read leniently and within bounds, changed so
//! that what other programs wrote stays byte for byte.

mod card;
mod find;
mod relations;
mod spoken;
mod write;

use std::{
    collections::HashMap,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use super::{heard, stamp::Stamp, store, watch::Tree};
use crate::contract::ToolError;
pub use card::parse;
pub use find::{Asked, birthdays, find, nobody, one, which};
pub(crate) use find::{digits, same_number};
pub use relations::Relation;
pub use spoken::{mail as spoken_mail, phone as spoken_phone};
pub use write::{Change, How, Kind, Label, New, create, delete, twins, update};

/// Largest file, in bytes: an exported book with photos.
const MAX_FILE: u64 = 10 * 1024 * 1024;
/// Most cards that are held.
const MAX_CARDS: usize = 25_000;
/// Most values of one kind in one card.
const MAX_VALUES: usize = 10;
/// Longest value, in characters; of a note.
const MAX_TEXT: usize = 120;
const MAX_NOTE: usize = 1000;
const BOUNDS: store::Bounds = store::Bounds {
    depth: 3,
    entries: 50_000,
    file_links: true,
};

/// One person or organisation.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Contact {
    /// As it is displayed.
    pub name: String,
    /// Other names that people use.
    pub nicknames: Vec<String>,
    /// Company.
    pub organisation: String,
    /// What they do there.
    pub title: String,
    /// Numbers with their kind.
    pub phones: Vec<Labelled>,
    /// Addresses with their kind.
    pub mails: Vec<Labelled>,
    /// Postal addresses in one line, with their kind.
    pub addresses: Vec<Labelled>,
    /// Day of birth.
    pub birthday: Option<Birthday>,
    /// The longer text.
    pub note: String,
    /// What they are to the person, by their own card: "sister".
    pub is: Vec<String>,
    /// Who is what to them: label and name or UID. On the person's own card these are the person's relations.
    pub relations: Vec<(String, String)>,
    /// Whether this is marked as the person's own card.
    pub own: bool,
    /// Without `urn:uuid:`.
    pub uid: String,
    /// 21, 30 or 40.
    pub version: u8,
    /// The file that it stands in.
    pub path: PathBuf,
    /// Which card of that file, from 0.
    pub index: usize,
    /// Its names, worked out for comparing, with how much each is worth.
    names: Vec<(heard::Name, f64)>,
}

/// A value and what it is for: `mobile`, `home`, `work`, or nothing.
#[derive(Debug, Clone, PartialEq)]
pub struct Labelled {
    /// `mobile`, `home`, `work` or empty.
    pub label: &'static str,
    /// As it stands in the card.
    pub value: String,
}

/// A day of birth; many cards leave the year out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Birthday {
    /// Calendar year, if known.
    pub year: Option<i16>,
    /// 1 to 12.
    pub month: i8,
    /// 1 to 31.
    pub day: i8,
}

/// Why a card or a whole file was left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The file.
    pub path: PathBuf,
    /// From 1; 0 when the file could not be read at all.
    pub line: usize,
    /// What is wrong there.
    pub what: String,
}

/// Everything that was read.
#[derive(Debug, Clone, Default)]
pub struct Book {
    /// Sorted by name.
    pub contacts: Vec<Arc<Contact>>,
    /// What was left out; one broken card does not hide the others.
    pub problems: Vec<Problem>,
}

/// Reads every card under a folder. Where nothing was touched since the last call nothing is looked at; else files that
/// did not change are not read again.
///
/// # Errors
/// When the folder itself cannot be read. A folder that is not there is an empty book.
pub fn read(folder: &Path) -> Result<Book, ToolError> {
    static LAST: Mutex<Option<Last>> = Mutex::new(None);
    let mut guard = LAST.lock().unwrap_or_else(PoisonError::into_inner);
    // Taken out until it is right again, so that what fails half-way is not trusted.
    let mut last = guard
        .take()
        .filter(|last| last.folder == folder)
        .unwrap_or_default();
    if last.watch.is_quiet() {
        let book = last.book.clone();
        *guard = Some(last);
        return Ok(book);
    }
    let walk = || store::walk(folder, BOUNDS).map_err(|e| e.tool("read your contacts"));
    let found = last.watch.walk(walk)?;
    let mut whole = !found.unsure;
    let mut book = Book::default();
    let mut fresh = Known::with_capacity(last.known.len());
    for path in found.files {
        if !path.extension().is_some_and(|e| e.eq_ignore_ascii_case("vcf")) {
            continue;
        }
        let (stamp, alone) = stamp(&path);
        whole &= alone;
        let file = match last.known.remove(&path) {
            Some((old, file)) if stamp.is_some() && Some(old) == stamp => file,
            _ => Arc::new(read_file(&path)),
        };
        book.contacts.extend(file.contacts.iter().cloned());
        book.problems.extend(file.problems.iter().cloned());
        if let Some(stamp) = stamp {
            fresh.insert(path, (stamp, file));
        }
        if book.contacts.len() >= MAX_CARDS {
            tracing::warn!(max = MAX_CARDS, "the address book is larger than what is read");
            book.contacts.truncate(MAX_CARDS);
            break;
        }
    }
    book.contacts.sort_by(|a, b| a.name.cmp(&b.name));
    if !whole {
        last.watch.distrust();
    }
    *guard = Some(Last {
        folder: folder.to_owned(),
        watch: last.watch,
        known: fresh,
        book: book.clone(),
    });
    Ok(book)
}

/// What the last call came to.
#[derive(Default)]
struct Last {
    folder: PathBuf,
    watch: Tree,
    known: Known,
    book: Book,
}

type Known = HashMap<PathBuf, (Stamp, Arc<Book>)>;

/// Nothing while the file may still be changing; and whether it has only this name, under which it is watched.
fn stamp(path: &Path) -> (Option<Stamp>, bool) {
    let Ok(meta) = std::fs::metadata(path) else {
        return (None, false);
    };
    (
        Some(Stamp::of(&meta)).filter(Stamp::is_settled),
        meta.nlink() == 1,
    )
}

fn read_file(path: &Path) -> Book {
    let mut book = match store::read_bounded(path, MAX_FILE) {
        Ok(bytes) => parse(&bytes),
        Err(error) => Book {
            problems: vec![Problem {
                path: PathBuf::new(),
                line: 0,
                what: error.to_string(),
            }],
            ..Book::default()
        },
    };
    for contact in &mut book.contacts {
        // Nobody else holds it yet, so nothing is copied.
        Arc::make_mut(contact).path = path.to_owned();
    }
    for problem in &mut book.problems {
        path.clone_into(&mut problem.path);
        tracing::debug!(line = problem.line, what = problem.what, "a contact was left out");
    }
    book
}

impl Birthday {
    /// `3 May 1980`, or without the year when that is unknown.
    pub fn spoken(self) -> String {
        const MONTHS: [&str; 12] = [
            "January",
            "February",
            "March",
            "April",
            "May",
            "June",
            "July",
            "August",
            "September",
            "October",
            "November",
            "December",
        ];
        let month = MONTHS[usize::from((self.month - 1).unsigned_abs()) % 12];
        match self.year {
            Some(year) => format!("{} {month} {year}", self.day),
            None => format!("{} {month}", self.day),
        }
    }

    /// `1980-05-03`, or `--05-03` as vCard writes it without the year.
    pub fn iso(self) -> String {
        match self.year {
            Some(year) => format!("{year:04}-{:02}-{:02}", self.month, self.day),
            None => format!("--{:02}-{:02}", self.month, self.day),
        }
    }

    /// Nothing when the month has no such day; year 1604 is how Apple writes "no year".
    pub fn new(year: Option<i16>, month: i8, day: i8) -> Option<Birthday> {
        let year = year.filter(|y| *y > 1604);
        jiff::civil::Date::new(year.unwrap_or(2000), month, day).ok()?;
        Some(Birthday { year, month, day })
    }
}

#[cfg(test)]
mod measure;
#[cfg(test)]
mod tests;
