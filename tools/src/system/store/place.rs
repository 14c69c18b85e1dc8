//! Files and folders that get a place: moved to a free name, made under a temporary one, told from others by a mark.

use std::{
    fmt::Write as _,
    fs,
    io::{self, ErrorKind},
    os::unix::{ffi::OsStrExt as _, fs::MetadataExt as _},
    path::{Path, PathBuf},
    sync::atomic::{AtomicU64, Ordering},
};

use rustix::{
    fs::{CWD, RenameFlags, renameat_with},
    io::Errno,
};
use sha2::{Digest as _, Sha256};

use super::{StoreError, TEMPORARY, folder_of, sync_folder};

/// Most entries of a folder that go into its mark.
const MAX_MARKED: usize = 200_000;

/// Moves a file or folder to a name that is free, on the same disk; never overwrites, also not in a race.
///
/// # Errors
/// `Missing`, `Exists`, `ReadOnly`, `Denied`, `Io`: among these that the places are on different disks.
pub fn rename_new(from: &Path, to: &Path) -> Result<(), StoreError> {
    match renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
        Ok(()) => {}
        // Some file systems know no such thing; there it has to do that it was looked at just before.
        Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {
            if fs::symlink_metadata(to).is_ok() {
                return Err(StoreError::Exists(to.to_owned()));
            }
            fs::rename(from, to).map_err(|e| of_two(from, to, e))?;
        }
        Err(error) => return Err(of_two(from, to, error.into())),
    }
    sync_folder(folder_of(from))?;
    sync_folder(folder_of(to))
}

/// A name in the same folder that nothing has and that our walks pass over.
pub fn temporary_beside(path: &Path) -> PathBuf {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let moment = jiff::Timestamp::now().as_nanosecond();
    let name = format!(
        "{}{}-{moment:x}-{count}{}",
        TEMPORARY.0,
        std::process::id(),
        TEMPORARY.1
    );
    path.with_file_name(name)
}

/// Whether a name is one of [`temporary_beside`] or of the files that are written to replace others.
pub fn is_temporary(path: &Path) -> bool {
    path.file_name().is_some_and(|name| {
        let name = name.as_bytes();
        name.starts_with(TEMPORARY.0.as_bytes()) && name.ends_with(TEMPORARY.1.as_bytes())
    })
}

/// Removes a file or folder for good; one that is not there is no error.
///
/// # Errors
/// `ReadOnly`, `Denied`, `Io`.
pub fn discard(path: &Path) -> Result<(), StoreError> {
    let gone = match fs::symlink_metadata(path) {
        Ok(meta) if meta.is_dir() => fs::remove_dir_all(path),
        Ok(_) => fs::remove_file(path),
        Err(error) => Err(error),
    };
    match gone {
        Err(e) if e.kind() != ErrorKind::NotFound => Err(StoreError::of(path, e)),
        _ => Ok(()),
    }
}

/// What is at a place, in short: kind, size and time of a file, and of a folder those of everything in it with its
/// names. The same mark means that nobody changed it. Moving it keeps it.
///
/// # Errors
/// `Missing`, `Denied`, `Io`: among these that a folder holds more than 200,000 entries.
pub fn mark_of(path: &Path) -> Result<String, StoreError> {
    let fail = |e| StoreError::of(path, e);
    let mut hash = Sha256::new();
    let mut pending = vec![PathBuf::new()];
    let mut left = MAX_MARKED;
    while let Some(below) = pending.pop() {
        // Joined to nothing, a path would end in a slash, which no file may.
        let full = match below.as_os_str().is_empty() {
            true => path.to_owned(),
            false => path.join(&below),
        };
        let meta = fs::symlink_metadata(&full).map_err(fail)?;
        hash.update(below.as_os_str().as_bytes());
        hash.update([0, u8::from(meta.is_dir()), u8::from(meta.is_symlink())]);
        if !meta.is_dir() {
            hash.update(meta.len().to_le_bytes());
            hash.update(meta.mtime().to_le_bytes());
            hash.update(meta.mtime_nsec().to_le_bytes());
            continue;
        }
        let mut names = Vec::new();
        for entry in fs::read_dir(&full).map_err(fail)? {
            left = left
                .checked_sub(1)
                .ok_or_else(|| fail(io::Error::other("the folder holds too much")))?;
            names.push(below.join(entry.map_err(fail)?.file_name()));
        }
        names.sort();
        pending.extend(names);
    }
    let mut mark = String::new();
    for byte in hash.finalize().iter().take(16) {
        write!(mark, "{byte:02x}").map_err(|e| fail(io::Error::other(e)))?;
    }
    Ok(mark)
}

/// An error of a rename, by the path that it is about.
fn of_two(from: &Path, to: &Path, error: io::Error) -> StoreError {
    match error.kind() {
        ErrorKind::NotFound if fs::symlink_metadata(from).is_err() => StoreError::Missing(from.to_owned()),
        ErrorKind::DirectoryNotEmpty => StoreError::Exists(to.to_owned()),
        _ => StoreError::of(to, error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_move_never_overwrites() {
        let home = tempfile::tempdir().unwrap();
        let at = |name: &str| home.path().join(name);
        fs::write(at("a"), "a").unwrap();
        fs::write(at("b"), "b").unwrap();
        fs::create_dir(at("c")).unwrap();
        for taken in ["b", "c"] {
            assert!(matches!(
                rename_new(&at("a"), &at(taken)),
                Err(StoreError::Exists(_))
            ));
        }
        assert!(matches!(rename_new(&at("x"), &at("y")), Err(StoreError::Missing(p)) if p == at("x")));
        rename_new(&at("a"), &at("c/a")).unwrap();
        rename_new(&at("c"), &at("d")).unwrap();
        assert_eq!(fs::read_to_string(at("d/a")).unwrap(), "a");
        assert_eq!(fs::read_to_string(at("b")).unwrap(), "b");
    }

    #[test]
    fn a_mark_tells_every_change_and_survives_a_move() {
        let home = tempfile::tempdir().unwrap();
        let at = |name: &str| home.path().join(name);
        fs::create_dir_all(at("f/sub")).unwrap();
        fs::write(at("f/sub/a"), "1").unwrap();
        let mark = || mark_of(&at("f")).unwrap();
        let first = mark();
        rename_new(&at("f"), &at("g")).unwrap();
        assert_eq!(mark_of(&at("g")).unwrap(), first);
        rename_new(&at("g"), &at("f")).unwrap();
        let changes: [&dyn Fn(); 4] = [
            &|| fs::write(at("f/sub/a"), "22").unwrap(),
            &|| fs::write(at("f/b"), "").unwrap(),
            &|| fs::rename(at("f/b"), at("f/c")).unwrap(),
            &|| fs::create_dir(at("f/sub/d")).unwrap(),
        ];
        let mut seen = vec![first];
        for change in changes {
            change();
            let now = mark();
            assert!(!seen.contains(&now), "{seen:?}");
            seen.push(now);
        }
        assert!(matches!(mark_of(&at("none")), Err(StoreError::Missing(_))));
    }

    #[test]
    fn what_is_temporary_is_known_by_its_name_and_goes() {
        let home = tempfile::tempdir().unwrap();
        let temporary = temporary_beside(&home.path().join("a"));
        assert!(is_temporary(&temporary) && !is_temporary(&home.path().join("a.tmp")));
        assert_ne!(temporary, temporary_beside(&home.path().join("a")));
        discard(&temporary).unwrap();
        fs::create_dir_all(temporary.join("x")).unwrap();
        discard(&temporary).unwrap();
        assert_eq!(fs::read_dir(home.path()).unwrap().count(), 0);
    }
}
