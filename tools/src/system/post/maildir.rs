//! A Maildir as a mailbox that two sides write: files are added whole, renamed for their flags, and never overwritten.
//! <https://cr.yp.to/proto/maildir.html>, folders as in Maildir++.

use std::{
    collections::BTreeMap,
    fs::{self, File},
    io::{ErrorKind, Write as _},
    path::{Path, PathBuf},
    time::SystemTime,
};

use crate::system::store::{self, StoreError, kill};

/// Most messages of one folder that are looked at.
const MAX_MESSAGES: usize = 200_000;

/// A message in a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Held {
    /// Where it is.
    pub path: PathBuf,
    /// Its flags, letters in order: D draft, F flagged, R replied, S seen, T trashed.
    pub flags: String,
    /// How large it is, in bytes.
    pub size: u64,
}

/// The messages of a folder by their names without flags. `None` when the folder is not there.
///
/// # Errors
/// When it cannot be listed.
pub fn list(folder: &Path) -> Result<Option<BTreeMap<String, Held>>, StoreError> {
    let mut all = BTreeMap::new();
    for part in ["cur", "new"] {
        let folder = folder.join(part);
        let entries = match fs::read_dir(&folder) {
            Ok(entries) => entries,
            Err(e) if e.kind() == ErrorKind::NotFound && part == "cur" => return Ok(None),
            Err(e) if e.kind() == ErrorKind::NotFound => continue,
            Err(e) => return Err(StoreError::of(&folder, e)),
        };
        for entry in entries.flatten().take(MAX_MESSAGES) {
            let Ok(name) = entry.file_name().into_string() else {
                continue;
            };
            let Some(meta) = entry.metadata().ok().filter(fs::Metadata::is_file) else {
                continue;
            };
            if name.starts_with('.') {
                continue;
            }
            let (base, flags) = split(&name);
            let held = Held {
                path: entry.path(),
                flags: sorted(flags),
                size: meta.len(),
            };
            all.insert(base.to_owned(), held);
        }
    }
    Ok(Some(all))
}

/// Makes a folder with its three parts.
///
/// # Errors
/// As [`store::make_folder`].
pub fn make(folder: &Path) -> Result<(), StoreError> {
    for part in ["tmp", "new", "cur"] {
        store::make_folder(&folder.join(part))?;
    }
    Ok(())
}

/// Adds a message under a name that nothing has yet, with these flags and this time. A message without flags is new.
///
/// # Errors
/// `Full`, `ReadOnly`, `Denied`, `Io`.
pub fn put(
    folder: &Path,
    base: &str,
    flags: &str,
    bytes: &[u8],
    when: Option<SystemTime>,
) -> Result<PathBuf, StoreError> {
    make(folder)?;
    // What a kill left under this name is written anew.
    let part = folder.join("tmp").join(base);
    let write = || -> std::io::Result<()> {
        use std::os::unix::fs::OpenOptionsExt as _;
        kill::point();
        let mut file = File::options()
            .create(true)
            .truncate(true)
            .write(true)
            .mode(0o600)
            .open(&part)?;
        kill::point();
        file.write_all(bytes)?;
        if let Some(when) = when {
            file.set_modified(when)?;
        }
        kill::point();
        file.sync_all()
    };
    write().map_err(|e| StoreError::of(&part, e))?;
    let path = place(folder, base, flags);
    store::rename(&part, &path)?;
    Ok(path)
}

/// The same unless a message of that name is there already.
///
/// # Errors
/// As [`put`].
pub fn put_once(
    folder: &Path,
    base: &str,
    flags: &str,
    bytes: &[u8],
    when: Option<SystemTime>,
) -> Result<(), StoreError> {
    match list(folder)?.is_some_and(|all| all.contains_key(base)) {
        true => Ok(()),
        false => put(folder, base, flags, bytes, when).map(drop),
    }
}

/// Gives a message other flags. False when it was moved or changed meanwhile.
///
/// # Errors
/// `ReadOnly`, `Denied`, `Io`.
pub fn set_flags(folder: &Path, base: &str, held: &Held, flags: &str) -> Result<bool, StoreError> {
    let path = match flags.is_empty() && held.path.parent().is_some_and(|p| p.ends_with("cur")) {
        // It was seen here before; it does not become new again.
        true => folder.join("cur").join(format!("{base}:2,")),
        false => place(folder, base, flags),
    };
    if path == held.path {
        return Ok(true);
    }
    match store::rename(&held.path, &path) {
        Err(StoreError::Missing(_)) => Ok(false),
        other => other.map(|()| true),
    }
}

/// Letters in order, each once, only those that both sides know.
pub fn sorted(flags: &str) -> String {
    let has = |flag: &char| flags.contains(*flag);
    ['D', 'F', 'R', 'S', 'T'].into_iter().filter(has).collect()
}

fn place(folder: &Path, base: &str, flags: &str) -> PathBuf {
    match flags {
        "" => folder.join("new").join(base),
        flags => folder.join("cur").join(format!("{base}:2,{flags}")),
    }
}

/// Name and flags; `;` and `!` stand for the colon on file systems that have none.
fn split(name: &str) -> (&str, &str) {
    match name.rsplit_once([':', ';', '!']) {
        Some((base, info)) => (base, info.strip_prefix("2,").unwrap_or_default()),
        None => (name, ""),
    }
}
