//! The person's files: which there are below the folders that they allowed, which one was meant, and what can be done
//! with it. Nothing here follows a link, and what is hidden or secret does not exist.

pub mod below;
pub mod kind;
pub mod secret;
pub mod find;
pub mod words;
pub mod text;
mod pdf;
pub mod change;
pub mod trash;

#[cfg(test)]
mod tests;

use std::{
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use ignore::WalkBuilder;
use jiff::{Timestamp, Zoned};
use serde_json::{Value, json};

pub use kind::Kind;

use super::{plain, speech};
use crate::{
    contract::{Dirs, ToolError},
    when::{self, Hint},
};

/// Most files and folders that are looked at.
const MAX_ENTRIES: usize = 200_000;
/// How long that may take; a network disk can be slow.
const WALK: Duration = Duration::from_secs(3);
/// Folders below a root that are entered.
const MAX_DEPTH: usize = 32;

/// The text of a PDF, in this process; `system::helper` says when. May panic.
///
/// # Errors
/// Why there is none, to be put behind a colon.
pub fn read_pdf_here(bytes: &[u8]) -> Result<String, String> {
    pdf::extract(bytes)
}

/// A folder that the person allowed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Root {
    /// Where it really is, no link in it.
    pub path: PathBuf,
    /// How it is called: "Documents".
    pub name: String,
}

/// A file or folder below a root, or a root itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    /// The root's path.
    pub root: PathBuf,
    /// The path below the root; empty for the root itself.
    pub below: PathBuf,
    /// Its name, fit to be shown.
    pub name: String,
    /// The folder that it is in, as people say it: "Documents/Hamburg"; empty for a root.
    pub folder: String,
    /// Whether it is a folder.
    pub is_folder: bool,
    /// In bytes; 0 for a folder.
    pub size: u64,
    /// When it was changed last.
    pub modified: Timestamp,
}

impl Item {
    /// Where it is.
    pub fn path(&self) -> PathBuf {
        self.root.join(&self.below)
    }

    /// What kind of file it is.
    pub fn kind(&self) -> Kind {
        match self.is_folder {
            true => Kind::Folder,
            false => Kind::of(&self.below),
        }
    }

    /// With its folder: "Documents/Hamburg/itinerary.txt". What [`find::meant`] finds it by.
    pub fn label(&self) -> String {
        match self.folder.is_empty() {
            true => self.name.clone(),
            false => format!("{}/{}", self.folder, self.name),
        }
    }

    /// As data of a result.
    pub fn data(&self, now: &Zoned) -> Value {
        let changed = self.modified.to_zoned(now.time_zone().clone());
        json!({
            "file": self.label(),
            "kind": self.kind().word(),
            "bytes": self.size,
            "changed": changed.strftime("%Y-%m-%dT%H:%M").to_string(),
        })
    }
}

/// What there is.
#[derive(Debug, Default)]
pub struct Listing {
    /// Folders and files, the roots among them, newest first.
    pub items: Vec<Item>,
    /// Whether a bound was reached, so that there is more.
    pub partial: bool,
}

/// The folders that are there, each once; one inside another is left to that.
///
/// # Errors
/// `Tell` when there is none.
pub fn roots(dirs: &Dirs) -> Result<Vec<Root>, ToolError> {
    let mut roots: Vec<Root> = Vec::new();
    for folder in &dirs.files {
        let Ok(path) = folder.canonicalize() else {
            continue;
        };
        if path.is_dir() && !roots.iter().any(|known| path.starts_with(&known.path)) {
            roots.retain(|known| !known.path.starts_with(&path));
            let name = folder.file_name().unwrap_or(folder.as_os_str());
            roots.push(Root {
                name: shown(name),
                path,
            });
        }
    }
    match roots.is_empty() {
        true => Err(ToolError::tell(
            "None of the folders for files is there. Name some with files.dirs in the config.",
        )),
        false => Ok(roots),
    }
}

/// Everything below the roots that is neither hidden nor secret nor a link. What a repository ignores is left out, too:
/// nobody means what a compiler made.
///
/// # Errors
/// As [`roots`].
pub fn list(dirs: &Dirs) -> Result<Listing, ToolError> {
    let mut listing = Listing::default();
    let started = Instant::now();
    for root in roots(dirs)? {
        let walk = WalkBuilder::new(&root.path)
            .hidden(true)
            .parents(false)
            .ignore(false)
            .git_global(false)
            .git_exclude(false)
            .follow_links(false)
            .max_depth(Some(MAX_DEPTH))
            .skip_stdout(false)
            .filter_entry(|entry| entry.depth() == 0 || !secret::is_secret(Path::new(entry.file_name())))
            .build();
        // What cannot be read is passed over: a folder of another user hides no others.
        for entry in walk.filter_map(Result::ok) {
            if listing.items.len() >= MAX_ENTRIES || started.elapsed() > WALK {
                listing.partial = true;
                break;
            }
            let Ok(below) = entry.path().strip_prefix(&root.path) else {
                continue;
            };
            if let Ok(meta) = entry.metadata()
                && let Some(item) = item(&root, below, &meta)
            {
                listing.items.push(item);
            }
        }
    }
    listing.items.sort_by_key(|item| std::cmp::Reverse(item.modified));
    Ok(listing)
}

/// What is at a place; nothing for what is neither file nor folder.
fn item(root: &Root, below: &Path, meta: &std::fs::Metadata) -> Option<Item> {
    if !meta.is_dir() && !meta.is_file() {
        return None;
    }
    let modified = meta.modified().ok().and_then(|at| Timestamp::try_from(at).ok());
    let folder = match below.parent() {
        None => String::new(),
        Some(above) if above.as_os_str().is_empty() => root.name.clone(),
        Some(above) => format!("{}/{}", root.name, shown(above.as_os_str())),
    };
    Some(Item {
        name: below.file_name().map_or_else(|| root.name.clone(), shown),
        root: root.path.clone(),
        below: below.to_owned(),
        folder,
        is_folder: meta.is_dir(),
        size: if meta.is_file() { meta.len() } else { 0 },
        modified: modified.unwrap_or_default(),
    })
}

/// A name fit to be shown; bytes that are no UTF-8 are marked.
fn shown(name: &std::ffi::OsStr) -> String {
    plain::one_line(&name.to_string_lossy(), 300)
}

/// Since when and until when something was changed, as it was said.
///
/// # Errors
/// `Tell` for what is no time.
pub fn changed(said: &str, now: &Zoned) -> Result<(Timestamp, Timestamp), ToolError> {
    let resolved = when::resolve(said, now, Hint::Past)
        .map_err(|e| ToolError::tell(format!("{e} Say it as in yesterday, or last week.")))?;
    let (from, to) = resolved
        .value
        .stretch(now)
        .ok_or_else(|| ToolError::tell("That is outside the calendar."))?;
    let from = from.map_or(Timestamp::MIN, |at| at.timestamp());
    let to = to.map_or(Timestamp::MAX, |at| at.timestamp());
    // A bare moment, or a length that ends now: "since nine", "the last two hours".
    let now = now.timestamp();
    Ok(match from {
        from if to <= from => (from, now.max(from)),
        from if from >= now && from != Timestamp::MIN => (now - (to.duration_since(from)), now),
        from => (from, to),
    })
}

/// "3.4 megabytes", as it is said.
pub fn size(bytes: u64) -> String {
    let units = [
        (1_000_000_000, "gigabytes"),
        (1_000_000, "megabytes"),
        (1000, "kilobytes"),
    ];
    match units.into_iter().find(|(unit, _)| bytes >= *unit) {
        None => speech::count(usize::try_from(bytes).unwrap_or(usize::MAX), "byte", "bytes"),
        Some((unit, name)) => {
            let amount = bytes as f64 / unit as f64;
            let amount = if amount < 10.0 {
                format!("{amount:.1}")
            } else {
                format!("{amount:.0}")
            };
            format!("{} {name}", amount.trim_end_matches(".0"))
        }
    }
}

/// "budget.csv in Documents": how a file is told from others of its name.
pub fn spoken(item: &Item) -> String {
    match item.folder.is_empty() {
        true => item.name.clone(),
        false => format!("{} in {}", item.name, item.folder),
    }
}
