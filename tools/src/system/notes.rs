//! The person's notes: Markdown files in one folder and its sub-folders, also those of other programs (Obsidian, Joplin
//! exports, a text editor). What Tiro did not write it leaves as it is.

mod aloud;
mod index;
mod write;

use std::{
    fs::File,
    io::Read as _,
    path::{Path, PathBuf},
    time::Duration,
};

use jiff::Timestamp;

use super::{
    heard::{self, search::Search},
    plain,
    store::Bounds,
};
use crate::contract::ToolError;
pub use aloud::{aloud, body};
use index::Index;
pub(super) use write::file_name;
pub use write::{append, create, remove};

/// Longest note, in bytes.
pub const MAX_NOTE: usize = 64 * 1024;
/// Longest title, in characters.
const MAX_TITLE: usize = 120;
/// Bytes at the front of a file that hold its title.
const HEAD: u64 = 4 * 1024;
/// Other names that are read from one note.
const MAX_ALIASES: usize = 10;
/// How long a search reads; what is older than the notes looked at by then is not found, and it says so.
const PATIENCE: Duration = Duration::from_secs(4);
const BOUNDS: Bounds = Bounds {
    depth: 8,
    entries: 50_000,
    file_links: false,
};

/// A note that is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    /// Its title: from the front matter, else the first heading, else the file's name.
    pub title: String,
    /// What else it may be called: the file's name, and `aliases` of the front matter.
    pub names: Vec<String>,
    /// Below the notes' folder.
    pub file: PathBuf,
    /// The whole path.
    pub path: PathBuf,
    /// When it was last changed.
    pub modified: Timestamp,
    /// Whether a program saved it from the web, so that somebody else wrote it.
    pub clipped: bool,
}

/// What a search came to.
#[derive(Debug, Default)]
pub struct Searched {
    /// Best first, with the place in the text that fits.
    pub found: Vec<(Note, String)>,
    /// Whether time ran out before all notes were read.
    pub partial: bool,
}

/// All notes, newest first.
///
/// # Errors
/// When the folder cannot be read. One that is not there holds none.
pub fn list(folder: &Path) -> Result<Vec<Note>, ToolError> {
    Index::with(folder, |index| index.notes().collect())
}

/// The newest notes only; no other is opened. Also says how many there are.
///
/// # Errors
/// As [`list`].
pub fn newest(folder: &Path, most: usize) -> Result<(Vec<Note>, usize), ToolError> {
    Index::with(folder, |index| {
        let count = index.count();
        (index.notes().take(most).collect(), count)
    })
}

/// Looks for words in titles and texts, newest first where they fit equally.
///
/// # Errors
/// As [`list`].
pub fn search(folder: &Path, heard: &str, most: usize) -> Result<Searched, ToolError> {
    let (found, partial) = Index::with(folder, |index| index.search(heard, most, PATIENCE))?;
    let found = found.into_iter().map(|note| {
        let text = read_head(&note.path, MAX_NOTE as u64).unwrap_or_default();
        let place = place(body(&text), heard);
        (note, place)
    });
    Ok(Searched {
        found: found.collect(),
        partial,
    })
}

/// The note that somebody named, also when it was misheard.
///
/// # Errors
/// What to say when there is none or more than one such.
pub fn choose(notes: &[Note], heard: &str) -> Result<Note, ToolError> {
    let wanted = plain::one_line(heard, 80);
    if notes.is_empty() {
        return Err(ToolError::tell("You have no notes yet."));
    }
    // "my garden note" is the one called Garden.
    let lower = wanted.to_lowercase();
    let name = lower.strip_suffix("note").map_or(lower.as_str(), str::trim_end);
    if name.is_empty() {
        return Err(ToolError::tell("Which note? Say its title."));
    }
    let names = |note: &Note| -> Vec<String> {
        let mut names = vec![note.title.clone()];
        names.extend(note.names.iter().cloned());
        names
    };
    // A title that is just what was said wins over those that only begin like it.
    let same = |note: &&Note| {
        names(note)
            .iter()
            .any(|n| n.to_lowercase() == lower || n.to_lowercase() == name)
    };
    let mut fits: Vec<&Note> = notes.iter().filter(same).collect();
    if fits.is_empty() {
        let found = heard::pick(name, notes, |note| {
            let others = note.names.iter().map(|n| (n.as_str(), 0.99));
            std::iter::once((note.title.as_str(), 1.0))
                .chain(others)
                .collect()
        });
        fits = found[..heard::contenders(&found)].iter().map(|f| f.1).collect();
    }
    match fits[..] {
        [one] => Ok(one.clone()),
        [] => Err(ToolError::tell(format!(
            "There is no note called \"{wanted}\". Search for a word in it, or list the notes."
        ))),
        _ => {
            let named: Vec<String> = fits.iter().take(5).map(|note| distinct(note, &fits)).collect();
            let more = if fits.len() > named.len() {
                " or another"
            } else {
                ""
            };
            Err(ToolError::tell(format!(
                "Which note: {}{more}?",
                plain::listed(&named, "or")
            )))
        }
    }
}

/// The text of a note. Bytes that are no UTF-8 are read as Latin-1, as old editors wrote them.
///
/// # Errors
/// When it cannot be read any more.
pub fn text(note: &Note) -> Result<String, ToolError> {
    read_head(&note.path, MAX_NOTE as u64)
        .ok_or_else(|| ToolError::tell(format!("I could not read the note \"{}\".", note.title)))
}

/// The front of a file as text; nothing when it cannot be read, which must not hide its neighbours.
fn read_head(path: &Path, max: u64) -> Option<String> {
    let mut bytes = Vec::new();
    let read = File::open(path).and_then(|file| file.take(max).read_to_end(&mut bytes));
    if let Err(error) = read {
        tracing::debug!(%error, "a note was left out");
        return None;
    }
    let bytes = bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(&bytes);
    Some(match std::str::from_utf8(bytes) {
        Ok(text) => text.to_owned(),
        // Cut in the middle of a character.
        Err(e) if e.error_len().is_none() => String::from_utf8_lossy(&bytes[..e.valid_up_to()]).into_owned(),
        Err(_) => bytes.iter().map(|&b| char::from(b)).collect(),
    })
}

fn note(folder: &Path, path: PathBuf, modified: Timestamp, head: &str) -> Note {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let stem = if stem.contains(' ') {
        stem.into_owned()
    } else {
        stem.replace(['-', '_'], " ")
    };
    let stem = plain::one_line(&stem, MAX_TITLE);
    let (front, body) = aloud::front_matter(head).unwrap_or(("", head));
    let fields = fields(front);
    let first = body
        .lines()
        .find(|line| !line.trim().is_empty())
        .unwrap_or_default();
    let title = fields
        .title
        .clone()
        .unwrap_or_else(|| match first.trim().strip_prefix("# ") {
            Some(heading) => plain::one_line(heading, MAX_TITLE),
            None => String::new(),
        });
    let mut names = fields.aliases;
    let title = if title.is_empty() {
        stem
    } else {
        names.insert(0, stem);
        title
    };
    Note {
        names,
        title,
        file: path.strip_prefix(folder).unwrap_or(&path).to_owned(),
        path,
        modified,
        clipped: fields.clipped,
    }
}

/// What the front matter says of interest.
#[derive(Default)]
struct Fields {
    title: Option<String>,
    aliases: Vec<String>,
    clipped: bool,
}

/// Reads the few keys of front matter that matter here, line by line: YAML proper is far more, and a note must not
/// become unreadable over it.
fn fields(front: &str) -> Fields {
    let mut fields = Fields::default();
    let mut in_aliases = false;
    let clean = |text: &str| plain::one_line(text.trim().trim_matches(['"', '\'']), MAX_TITLE);
    for line in front.lines().take(100) {
        if let (true, Some(item)) = (in_aliases, line.trim_start().strip_prefix("- ")) {
            fields.aliases.push(clean(item));
            continue;
        }
        let Some((key, value)) = line.split_once(':') else {
            continue;
        };
        in_aliases = false;
        match key.trim().to_ascii_lowercase().as_str() {
            "title" => fields.title = Some(clean(value)).filter(|t| !t.is_empty()),
            "aliases" | "alias" => {
                in_aliases = value.trim().is_empty();
                let list = value.trim().trim_start_matches('[').trim_end_matches(']');
                fields.aliases.extend(list.split(',').map(clean));
            }
            // Web clippers write where a page came from.
            "source" | "url" | "source_url" => fields.clipped |= value.contains("://"),
            _ => {}
        }
    }
    fields.aliases.retain(|alias| !alias.is_empty());
    fields.aliases.truncate(MAX_ALIASES);
    fields
}

/// The title, with the file where another note is called the same.
fn distinct(note: &Note, among: &[&Note]) -> String {
    let twins = among
        .iter()
        .filter(|n| n.title.eq_ignore_ascii_case(&note.title))
        .count();
    match twins {
        0 | 1 => note.title.clone(),
        _ => format!(
            "{} in {}",
            note.title,
            plain::one_line(&note.file.to_string_lossy(), 80)
        ),
    }
}

/// The line of a text that fits best, without its markup.
fn place(text: &str, heard: &str) -> String {
    let mut search = Search::new(heard);
    // Headings are what the title says already.
    let mut lines = text
        .lines()
        .filter(|l| !l.trim().is_empty() && !l.starts_with('#'));
    for line in lines.clone() {
        search.look(line, "", line);
    }
    let best = search.ranked().first().map(|(_, line)| *line);
    let line = best.or_else(|| lines.next());
    line.map(|line| aloud(line, 160).0).unwrap_or_default()
}

#[cfg(test)]
mod tests;
