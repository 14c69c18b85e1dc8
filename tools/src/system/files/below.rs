//! Opening what is below a folder so that no link, no `..` and nothing but a plain file can come of it.

use std::{
    fs::File,
    io::{self, Read as _},
    os::fd::OwnedFd,
    path::{Component, Path, PathBuf},
};

use rustix::{
    fs::{AtFlags, CWD, FileType, Mode, OFlags, fstat, openat, statat},
    io::Errno,
};

use super::Item;
use crate::system::store::StoreError;

/// Opens a plain file below a root to be read. Every folder on the way is opened through the one above it and without
/// following links, so a name that is exchanged meanwhile leads nowhere else; it works on every Unix, and where the
/// kernel has `openat2` it is the same as `RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS`.
///
/// # Errors
/// `NotAFile` for links, folders, pipes, sockets and devices, which are not even opened; `Missing`, `Denied`, `Io`.
pub fn open(root: &Path, below: &Path) -> Result<File, StoreError> {
    let path = root.join(below);
    let fail = |errno: Errno| match errno {
        // A link where none may be: one error for the last part of a path, another for those before it.
        Errno::LOOP | Errno::NOTDIR | Errno::MLINK => StoreError::NotAFile(path.clone()),
        errno => StoreError::of(&path, errno.into()),
    };
    let mut parts = Vec::new();
    for part in below.components() {
        match part {
            Component::Normal(name) => parts.push(name),
            _ => return Err(StoreError::NotAFile(path.clone())),
        }
    }
    let Some((name, folders)) = parts.split_last() else {
        return Err(StoreError::NotAFile(path.clone()));
    };
    let flags = OFlags::RDONLY | OFlags::CLOEXEC;
    let mut at: OwnedFd = openat(CWD, root, flags | OFlags::DIRECTORY, Mode::empty()).map_err(fail)?;
    for folder in folders {
        at = openat(
            &at,
            *folder,
            flags | OFlags::DIRECTORY | OFlags::NOFOLLOW,
            Mode::empty(),
        )
        .map_err(fail)?;
    }
    // To open a device can have effects, and to open a pipe waits for its writer.
    let is_file = |mode| FileType::from_raw_mode(mode) == FileType::RegularFile;
    let stat = statat(&at, *name, AtFlags::SYMLINK_NOFOLLOW).map_err(fail)?;
    if !is_file(stat.st_mode) {
        return Err(StoreError::NotAFile(path));
    }
    let careful = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
    let file = openat(&at, *name, flags | careful, Mode::empty()).map_err(fail)?;
    match fstat(&file) {
        Ok(stat) if is_file(stat.st_mode) => Ok(File::from(file)),
        Ok(_) => Err(StoreError::NotAFile(path)),
        Err(errno) => Err(fail(errno)),
    }
}

/// The front of a file, at most `max` bytes, and whether that is all of it.
///
/// # Errors
/// As [`open`].
pub fn read(item: &Item, max: u64) -> Result<(Vec<u8>, bool), StoreError> {
    let path = item.path();
    let file = open(&item.root, &item.below)?;
    let mut bytes = Vec::new();
    file.take(max.saturating_add(1))
        .read_to_end(&mut bytes)
        .map_err(|e| StoreError::of(&path, e))?;
    let whole = bytes.len() as u64 <= max;
    bytes.truncate(usize::try_from(max).unwrap_or(usize::MAX));
    Ok((bytes, whole))
}

/// Whether a path has no link in it and no `..`: it is what it says.
///
/// # Errors
/// When it cannot be looked at.
pub fn is_straight(path: &Path) -> io::Result<bool> {
    let plain = path
        .components()
        .all(|part| matches!(part, Component::Normal(_) | Component::RootDir));
    Ok(plain && path.canonicalize()? == path)
}

/// A path with `.` and doubled slashes taken out; nothing when it goes up anywhere.
pub fn tidy(path: &Path) -> Option<PathBuf> {
    let mut tidy = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => return None,
            Component::CurDir => {}
            part => tidy.push(part),
        }
    }
    Some(tidy)
}
