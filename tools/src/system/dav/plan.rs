//! The plan: what to do about every item, decided from what is here, what was last in step, and what the server says.
//!
//! Pure: no files, no requests, no clock. Two rules are proved by the tests below: a version that one side has and the
//! other has not seen is never removed, and an item that is the same on both sides is left alone.

use std::collections::{BTreeMap, BTreeSet};

/// SHA-256 of an item's bytes.
pub type Hash = [u8; 32];

/// Where an item lies here: which of the collection's folders, and the file's name in it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct File {
    /// The folder.
    pub place: Place,
    /// The name, with its extension.
    pub name: String,
}

/// Which of Tiro's stores an item belongs to. One calendar of a server may hold events and to-dos.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Place {
    /// `calendars/`.
    Events,
    /// `reminders/`.
    Todos,
    /// `contacts/`.
    Cards,
}

/// A file as it is now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Here {
    /// Its bytes; nothing when it cannot be read, and then it is left alone.
    pub hash: Option<Hash>,
    /// The UID in it.
    pub uid: Option<String>,
}

/// What is remembered of an item since both sides last agreed on it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Known {
    /// Its address on the server, a path.
    pub href: String,
    /// The server's version; empty when the server did not say.
    pub etag: String,
    /// Its file and the bytes of it that were last in step; nothing for an item that was kept away.
    pub file: Option<(File, Hash)>,
    /// The UID in it.
    pub uid: Option<String>,
    /// Why it was kept away.
    pub trouble: Option<String>,
}

/// What the server says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Changes {
    /// Whether `present` is all that the server has; else only what changed since the token.
    pub full: bool,
    /// Versions by address.
    pub present: BTreeMap<String, String>,
    /// What is gone since the token.
    pub gone: BTreeSet<String>,
    /// What to ask with the next time.
    pub token: Option<String>,
}

/// What to do about one item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// Take the server's version, which nobody here has changed; `file` is where it was.
    Pull {
        /// Its address.
        href: String,
        /// Its file.
        file: Option<File>,
    },
    /// Both sides changed it.
    Reconcile {
        /// Its address.
        href: String,
        /// Its file.
        file: File,
    },
    /// Send our version, over the server's version `etag`; over nothing when there is none.
    Push {
        /// Its file.
        file: File,
        /// Its address, when it had one.
        href: Option<String>,
        /// The version that it replaces.
        etag: Option<String>,
    },
    /// The server deleted it; nobody here changed it.
    RemoveHere {
        /// Its address.
        href: String,
        /// Its file.
        file: File,
    },
    /// It was deleted here; nobody changed it on the server.
    RemoveThere {
        /// Its address.
        href: String,
        /// Its file, which is gone.
        file: File,
        /// The version that may be removed.
        etag: String,
    },
    /// The file has another name now.
    Rename {
        /// Its address.
        href: String,
        /// Its new file.
        file: File,
    },
    /// Gone on both sides.
    Forget {
        /// Its address.
        href: String,
    },
}

/// What the plan may do.
#[derive(Debug, Clone, Copy, Default)]
pub struct Bounds {
    /// Do it although one side became empty all at once.
    pub force: bool,
    /// A folder that had items is not there at all.
    pub folder_missing: bool,
}

/// Why nothing is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Alarm {
    /// The server shows nothing where there were so many items.
    EmptyThere(usize),
    /// The server shows so many items no more, of so many that are here.
    LostThere(usize, usize),
    /// There is nothing here where there were so many items.
    EmptyHere(usize),
}

/// As many items may disappear at once without a question; here, of as many any number but all.
pub const FEW: usize = 10;

/// Decides. Actions come in the order in which they are safe: what is taken before what is sent, removals last.
///
/// # Errors
/// When one side became empty, so that the other would be.
pub fn plan(
    known: &[Known],
    here: &BTreeMap<File, Here>,
    there: &Changes,
    bounds: Bounds,
) -> Result<Vec<Action>, Alarm> {
    let mut actions = Vec::new();
    let mut used: BTreeSet<&File> = known
        .iter()
        .filter_map(|k| k.file.as_ref())
        .map(|(file, _)| file)
        .collect();
    let renamed = renames(known, here, &used);
    for item in known {
        let moved = renamed.get(item.href.as_str()).copied();
        if let Some(file) = moved {
            used.insert(file);
            actions.push(Action::Rename {
                href: item.href.clone(),
                file: file.clone(),
            });
        }
        actions.extend(decide(item, moved, here, there));
    }
    let hrefs: BTreeSet<&str> = known.iter().map(|k| k.href.as_str()).collect();
    let new_there = there.present.keys().filter(|h| !hrefs.contains(h.as_str()));
    actions.extend(new_there.map(|href| Action::Pull {
        href: href.clone(),
        file: None,
    }));
    let new_here = here
        .iter()
        .filter(|(file, now)| now.hash.is_some() && !used.contains(file));
    actions.extend(new_here.map(|(file, _)| Action::Push {
        file: file.clone(),
        href: None,
        etag: None,
    }));
    actions.sort_by_key(Action::rank);
    if !bounds.force {
        alarm(&actions, known, here, there, bounds)?;
    }
    Ok(actions)
}

impl Action {
    /// Names first, so that what follows finds its file; an item is never absent from both sides on the way.
    fn rank(&self) -> u8 {
        match self {
            Action::Rename { .. } => 0,
            Action::Pull { .. } | Action::Reconcile { .. } => 1,
            Action::Push { href: Some(_), .. } => 2,
            Action::RemoveThere { .. } => 3,
            // After removals, because a server refuses a second item with the same UID: a file that was moved
            // between names and edited on the way arrives as one removal and one new item.
            Action::Push { href: None, .. } => 4,
            Action::RemoveHere { .. } | Action::Forget { .. } => 5,
        }
    }
}

/// One item: the table that this room is about.
fn decide(
    item: &Known,
    moved: Option<&File>,
    here: &BTreeMap<File, Here>,
    there: &Changes,
) -> Option<Action> {
    let href = item.href.clone();
    let there = match there.present.get(&href) {
        // A server that names no versions has to be asked each time.
        Some(etag) if *etag == item.etag && !etag.is_empty() => Side::Same,
        Some(_) => Side::Changed,
        None if there.full || there.gone.contains(&href) => Side::Gone,
        None => Side::Same,
    };
    let Some((file, hash)) = &item.file else {
        return match there {
            Side::Same => None,
            Side::Changed => Some(Action::Pull { href, file: None }),
            Side::Gone => Some(Action::Forget { href }),
        };
    };
    let file = moved.unwrap_or(file).clone();
    let here = match here.get(&file).map(|now| now.hash) {
        // What cannot be read is neither changed nor gone.
        Some(None) => return None,
        Some(Some(now)) if now == *hash => Side::Same,
        Some(Some(_)) => Side::Changed,
        None => Side::Gone,
    };
    let etag = || item.etag.clone();
    match (here, there) {
        (Side::Same, Side::Same) => None,
        (Side::Same | Side::Gone, Side::Changed) => Some(Action::Pull {
            href,
            file: Some(file),
        }),
        (Side::Same, Side::Gone) => Some(Action::RemoveHere { href, file }),
        (Side::Changed, Side::Same) => Some(Action::Push {
            file,
            href: Some(href),
            etag: Some(etag()),
        }),
        (Side::Changed, Side::Changed) => Some(Action::Reconcile { href, file }),
        (Side::Changed, Side::Gone) => Some(Action::Push {
            file,
            href: Some(href),
            etag: None,
        }),
        (Side::Gone, Side::Same) => Some(Action::RemoveThere {
            href,
            file,
            etag: etag(),
        }),
        (Side::Gone, Side::Gone) => Some(Action::Forget { href }),
    }
}

/// How one side of an item stands to what is remembered.
#[derive(Clone, Copy)]
enum Side {
    Same,
    Changed,
    Gone,
}

/// Files that are gone under one name and here under another: the same UID, in one file only.
fn renames<'h>(
    known: &[Known],
    here: &'h BTreeMap<File, Here>,
    used: &BTreeSet<&File>,
) -> BTreeMap<String, &'h File> {
    let mut new: BTreeMap<&str, Vec<&'h File>> = BTreeMap::new();
    for (file, now) in here.iter().filter(|(file, _)| !used.contains(file)) {
        if let Some(uid) = &now.uid {
            new.entry(uid).or_default().push(file);
        }
    }
    let lost = |item: &&Known| {
        item.file
            .as_ref()
            .is_some_and(|(file, _)| !here.contains_key(file))
    };
    let mut renamed = BTreeMap::new();
    for item in known.iter().filter(lost) {
        let found = item.uid.as_deref().and_then(|uid| new.remove(uid));
        if let Some([file]) = found.as_deref() {
            renamed.insert(item.href.clone(), *file);
        }
    }
    renamed
}

/// Removals here are looked at more closely, because they are somebody else's: the person knows what they deleted.
/// An empty side is more often a disk that was not mounted or a server that lost its data than somebody's wish.
fn alarm(
    actions: &[Action],
    known: &[Known],
    here: &BTreeMap<File, Here>,
    there: &Changes,
    bounds: Bounds,
) -> Result<(), Alarm> {
    let count = |wanted: fn(&Action) -> bool| actions.iter().filter(|a| wanted(a)).count();
    let removed_here = count(|a| matches!(a, Action::RemoveHere { .. }));
    let removed_there = count(|a| matches!(a, Action::RemoveThere { .. }));
    let left_there = match there.full {
        true => there.present.len(),
        false => known.iter().filter(|k| !there.gone.contains(&k.href)).count() + there.present.len(),
    };
    let is_here = |item: &&Known| {
        item.file
            .as_ref()
            .is_some_and(|(file, _)| here.contains_key(file))
    };
    let held = known.iter().filter(is_here).count();
    if removed_here > 0 && held > 1 && left_there == 0 {
        return Err(Alarm::EmptyThere(held));
    }
    if held > FEW && removed_here > held / 2 {
        return Err(Alarm::LostThere(removed_here, held));
    }
    if (removed_there > FEW && here.is_empty()) || (removed_there > 0 && bounds.folder_missing) {
        return Err(Alarm::EmptyHere(removed_there));
    }
    Ok(())
}

#[cfg(test)]
mod tests;
