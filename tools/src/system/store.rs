//! Files as tools read and write them: bounded, atomic, never half-written, never over somebody else's change.
//!
//! Tools change the person's files through `journal::Step` only, which stands on `guard`.

mod guard;
mod place;
pub(super) mod kill;

use std::{
    fs::{self, File},
    io::{self, ErrorKind, Read, Write},
    os::unix::fs::{MetadataExt, PermissionsExt},
    path::{Path, PathBuf},
};

use super::plain;
use crate::contract::ToolError;
pub use guard::{MAX_GUARDED, Turn, remove_known, replace_known};
pub use place::{discard, is_temporary, mark_of, rename_new, temporary_beside};

/// Why a file could not be read or written. Every variant names the file.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// There is no such file or folder.
    #[error("{} is not there", .0.display())]
    Missing(PathBuf),
    /// A new file would have replaced one that is there.
    #[error("{} is there already", .0.display())]
    Exists(PathBuf),
    /// The file is larger than its reader allows.
    #[error("{} has more than {max} bytes", .path.display())]
    TooBig {
        /// Which file.
        path: PathBuf,
        /// The bound in bytes.
        max: u64,
    },
    /// A folder, link, pipe or device stands where a file is expected.
    #[error("{} is not a plain file", .0.display())]
    NotAFile(PathBuf),
    /// Another program wrote the file after it was read.
    #[error("{} was changed by another program", .0.display())]
    Changed(PathBuf),
    /// The file system takes no writes.
    #[error("{} is on a read-only disk", .0.display())]
    ReadOnly(PathBuf),
    /// The permissions say no.
    #[error("no permission for {}", .0.display())]
    Denied(PathBuf),
    /// No space, or over quota.
    #[error("no space left for {}", .0.display())]
    Full(PathBuf),
    /// Anything else.
    #[error("{}: {cause}", .path.display())]
    Io {
        /// Which file.
        path: PathBuf,
        /// What the system said.
        #[source]
        cause: io::Error,
    },
}

impl StoreError {
    /// Turns it into a tool's error. `what` is what was being done, for the person: "save the event".
    /// What the person can mend is told; the rest is for the log.
    pub fn tool(self, what: &str) -> ToolError {
        let name = |path: &Path| {
            let name = path.file_name().unwrap_or(path.as_os_str());
            name.to_string_lossy().into_owned()
        };
        match &self {
            StoreError::ReadOnly(path) => ToolError::tell(format!(
                "I could not {what}: the disk that holds {} is read-only. Make it writable, then try again.",
                name(path)
            )),
            StoreError::Denied(path) => ToolError::tell(format!(
                "I could not {what}: I have no permission for {}. Allow it for your user, then try again.",
                plain::one_line(&path.display().to_string(), 200)
            )),
            StoreError::Full(_) => ToolError::tell(format!(
                "I could not {what}: the disk is full. Free some space, then try again."
            )),
            StoreError::Changed(path) => ToolError::tell(format!(
                "I did not {what}: another program changed {} meanwhile. Try again.",
                name(path)
            )),
            StoreError::TooBig { path, .. } => {
                ToolError::tell(format!("I could not {what}: {} is too large.", name(path)))
            }
            StoreError::Missing(_)
            | StoreError::Exists(_)
            | StoreError::NotAFile(_)
            | StoreError::Io { .. } => ToolError::broken(what, self),
        }
    }

    /// What an error of the system means for this file.
    pub fn of(path: &Path, cause: io::Error) -> StoreError {
        let path = path.to_owned();
        match cause.kind() {
            ErrorKind::NotFound => StoreError::Missing(path),
            ErrorKind::AlreadyExists => StoreError::Exists(path),
            ErrorKind::ReadOnlyFilesystem => StoreError::ReadOnly(path),
            ErrorKind::PermissionDenied => StoreError::Denied(path),
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded => StoreError::Full(path),
            _ => StoreError::Io { path, cause },
        }
    }
}

/// Reads a plain file of at most `max` bytes.
///
/// # Errors
/// `Missing`, `TooBig`, `NotAFile`, `Denied`, `Io`.
pub fn read_bounded(path: &Path, max: u64) -> Result<Vec<u8>, StoreError> {
    let fail = |e| StoreError::of(path, e);
    // Opening a pipe waits for its writer, so the kind is looked at first.
    if !fs::metadata(path).map_err(fail)?.is_file() {
        return Err(StoreError::NotAFile(path.to_owned()));
    }
    let file = File::open(path).map_err(fail)?;
    let len = file.metadata().map_err(fail)?.len();
    let mut bytes = Vec::with_capacity(usize::try_from(len.min(max)).unwrap_or(0));
    file.take(max.saturating_add(1))
        .read_to_end(&mut bytes)
        .map_err(fail)?;
    if bytes.len() as u64 > max {
        return Err(StoreError::TooBig {
            path: path.to_owned(),
            max,
        });
    }
    Ok(bytes)
}

/// Writes a file, replacing what is there in one step: a reader sees the old or the new, never a mixture, also
/// after a power cut. A new file is for the person only (0600); an old one keeps its mode. The folder must exist.
/// Only for files that nobody but Tiro writes; the person's own go through [`replace_known`].
///
/// # Errors
/// `Missing` (no folder), `NotAFile`, `ReadOnly`, `Denied`, `Full`, `Io`.
pub fn replace(path: &Path, bytes: &[u8]) -> Result<(), StoreError> {
    let (folder, temporary) = write_beside(path, bytes, mode_of(path)?)?;
    kill::point();
    temporary
        .persist(path)
        .map_err(|e| StoreError::of(path, e.error))?;
    sync_folder(folder)
}

/// Writes a file that must not be there yet; never overwrites, also not in a race.
///
/// # Errors
/// `Exists`; else as [`replace`].
pub fn create_new(path: &Path, bytes: &[u8]) -> Result<(), StoreError> {
    let (folder, temporary) = write_beside(path, bytes, None)?;
    kill::point();
    temporary
        .persist_noclobber(path)
        .map_err(|e| StoreError::of(path, e.error))?;
    sync_folder(folder)
}

/// Renames a file inside its folder; what stands at the new name is replaced.
///
/// # Errors
/// `Missing`, `ReadOnly`, `Denied`, `Io`.
pub fn rename(from: &Path, to: &Path) -> Result<(), StoreError> {
    kill::point();
    fs::rename(from, to).map_err(|e| StoreError::of(from, e))?;
    sync_folder(folder_of(to))
}

/// Makes a folder and its parents, for the person only (0700); one that is there is left as it is.
///
/// # Errors
/// `ReadOnly`, `Denied`, `Full`, `Exists` (a file stands there), `Io`.
pub fn make_folder(path: &Path) -> Result<(), StoreError> {
    use std::os::unix::fs::DirBuilderExt;
    kill::point();
    fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(path)
        .map_err(|e| StoreError::of(path, e))
}

/// How the names of temporary files begin and end.
const TEMPORARY: (&str, &str) = (".tiro-", ".tmp");

/// How far [`walk`] goes.
#[derive(Debug, Clone, Copy)]
pub struct Bounds {
    /// Folders below the root that are entered; 0 lists the root alone.
    pub depth: usize,
    /// At most so many entries are looked at, files or not.
    pub entries: usize,
    /// Whether a link to a file counts as that file. Folders are never entered through a link.
    pub file_links: bool,
}

/// What [`walk`] found.
#[derive(Debug, Default)]
pub struct Found {
    /// Plain files, sorted within each folder; hidden ones (a leading dot) are left out.
    pub files: Vec<PathBuf>,
    /// What was left out and why, for the person: a link, a folder that cannot be read, a bound that was reached.
    pub warnings: Vec<String>,
    /// The folders that were listed, the root among them.
    pub folders: Vec<PathBuf>,
    /// Whether something may come, go or change here without an event in one of these folders: what a link leads to,
    /// what could not be listed.
    pub unsure: bool,
}

/// Lists the files under a folder. A folder that is not there has none.
///
/// # Errors
/// `Denied` and `Io` for the root itself; trouble below it is a warning.
pub fn walk(root: &Path, bounds: Bounds) -> Result<Found, StoreError> {
    let mut found = Found::default();
    let mut left = bounds.entries;
    let mut pending = vec![(root.to_owned(), 0)];
    while let Some((folder, depth)) = pending.pop() {
        let entries = match fs::read_dir(&folder) {
            Ok(entries) => entries,
            Err(e) if depth == 0 && e.kind() == ErrorKind::NotFound => return Ok(found),
            Err(e) if depth == 0 => return Err(StoreError::of(&folder, e)),
            Err(e) => {
                found.unsure = true;
                found.warnings.push(StoreError::of(&folder, e).to_string());
                continue;
            }
        };
        found.folders.push(folder.clone());
        let mut names = Vec::new();
        for entry in entries {
            if left == 0 {
                found.unsure = true;
                found.warnings.push(format!(
                    "{} holds more than {} entries; the rest was left out",
                    root.display(),
                    bounds.entries
                ));
                pending.clear();
                break;
            }
            left -= 1;
            match entry.and_then(|e| Ok((e.path(), e.file_type()?))) {
                Ok(named) => names.push(named),
                Err(e) => {
                    found.unsure = true;
                    found.warnings.push(StoreError::of(&folder, e).to_string());
                }
            }
        }
        names.sort_by(|a, b| a.0.cmp(&b.0));
        let mut below = Vec::new();
        for (path, kind) in names {
            if path
                .file_name()
                .is_some_and(|n| n.as_encoded_bytes().starts_with(b"."))
            {
                continue;
            }
            found.unsure |= kind.is_symlink() && bounds.file_links;
            if kind.is_dir() && depth < bounds.depth {
                below.push((path, depth + 1));
            } else if kind.is_file() || (kind.is_symlink() && bounds.file_links && path.is_file()) {
                found.files.push(path);
            } else if kind.is_symlink() {
                found
                    .warnings
                    .push(format!("{} is a link and was left out", path.display()));
            }
        }
        // The last pushed is taken first, so the order is turned to keep the listing sorted.
        if left > 0 {
            pending.extend(below.into_iter().rev());
        }
    }
    Ok(found)
}

/// The permissions of the file that is there, if one is.
fn mode_of(path: &Path) -> Result<Option<u32>, StoreError> {
    match fs::symlink_metadata(path) {
        Ok(meta) if meta.is_file() => Ok(Some(meta.mode() & 0o777)),
        Ok(_) => Err(StoreError::NotAFile(path.to_owned())),
        Err(e) if e.kind() == ErrorKind::NotFound => Ok(None),
        Err(e) => Err(StoreError::of(path, e)),
    }
}

/// A complete, synced temporary file in the folder of `path`; it removes itself unless it is persisted.
fn write_beside<'a>(
    path: &'a Path,
    bytes: &[u8],
    mode: Option<u32>,
) -> Result<(&'a Path, tempfile::NamedTempFile), StoreError> {
    let fail = |e| StoreError::of(path, e);
    let folder = folder_of(path);
    kill::point();
    // Hidden, so that neither our own walk nor other readers of the folder take it for data.
    let mut temporary = tempfile::Builder::new()
        .prefix(TEMPORARY.0)
        .suffix(TEMPORARY.1)
        .tempfile_in(folder)
        // What is refused here is refused by the folder, whatever the file's own permissions.
        .map_err(|e| StoreError::of(folder, e))?;
    kill::point();
    temporary.write_all(bytes).map_err(fail)?;
    if let Some(mode) = mode {
        let mode = fs::Permissions::from_mode(mode);
        temporary.as_file().set_permissions(mode).map_err(fail)?;
    }
    kill::point();
    temporary.as_file().sync_all().map_err(fail)?;
    Ok((folder, temporary))
}

/// Removes temporary files that a killed process left in a folder and whose content is known. Only for whoever has
/// the turn.
///
/// # Errors
/// When the folder cannot be read.
pub fn sweep(folder: &Path, known: impl Fn(&[u8]) -> bool) -> Result<(), StoreError> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(e) if e.kind() == ErrorKind::NotFound => return Ok(()),
        Err(e) => return Err(StoreError::of(folder, e)),
    };
    for path in entries.filter_map(Result::ok).map(|entry| entry.path()) {
        let name = path
            .file_name()
            .map(|n| n.to_string_lossy().into_owned())
            .unwrap_or_default();
        let temporary = name.starts_with(TEMPORARY.0) && name.ends_with(TEMPORARY.1);
        if temporary && known(&read_bounded(&path, MAX_GUARDED)?) {
            fs::remove_file(&path).map_err(|e| StoreError::of(&path, e))?;
        }
    }
    Ok(())
}

fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    }
}

fn sync_folder(folder: &Path) -> Result<(), StoreError> {
    kill::point();
    File::open(folder)
        .and_then(|f| f.sync_all())
        .map_err(|e| StoreError::of(folder, e))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: Bounds = Bounds {
        depth: 3,
        entries: 100,
        file_links: false,
    };

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().mode() & 0o777
    }

    fn names(root: &Path, bounds: Bounds) -> Vec<String> {
        let found = walk(root, bounds).unwrap();
        let relative = |p: &PathBuf| p.strip_prefix(root).unwrap().display().to_string();
        found.files.iter().map(relative).collect()
    }

    #[test]
    fn reads_are_bounded_and_of_files_only() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("a");
        fs::write(&path, b"12345").unwrap();
        assert_eq!(read_bounded(&path, 5).unwrap(), b"12345");
        assert!(matches!(
            read_bounded(&path, 4),
            Err(StoreError::TooBig { max: 4, .. })
        ));
        assert!(matches!(
            read_bounded(home.path(), 9),
            Err(StoreError::NotAFile(_))
        ));
        assert!(matches!(
            read_bounded(&home.path().join("b"), 9),
            Err(StoreError::Missing(_))
        ));
    }

    #[test]
    fn replace_keeps_the_mode_and_leaves_nothing_behind() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("a");
        replace(&path, b"one").unwrap();
        assert_eq!(mode(&path), 0o600, "new files are private");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        replace(&path, b"two").unwrap();
        assert_eq!((mode(&path), fs::read(&path).unwrap()), (0o644, b"two".to_vec()));
        assert_eq!(fs::read_dir(home.path()).unwrap().count(), 1);
    }

    #[test]
    fn create_new_never_overwrites() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("a");
        create_new(&path, b"one").unwrap();
        assert!(matches!(create_new(&path, b"two"), Err(StoreError::Exists(_))));
        assert_eq!((mode(&path), fs::read(&path).unwrap()), (0o600, b"one".to_vec()));
        assert_eq!(fs::read_dir(home.path()).unwrap().count(), 1);
    }

    #[test]
    fn links_are_neither_written_through_nor_followed_out() {
        let outside = tempfile::tempdir().unwrap();
        let home = tempfile::tempdir().unwrap();
        fs::write(outside.path().join("secret"), b"s").unwrap();
        let file = home.path().join("file-link");
        std::os::unix::fs::symlink(outside.path().join("secret"), &file).unwrap();
        std::os::unix::fs::symlink(outside.path(), home.path().join("folder-link")).unwrap();
        assert!(matches!(replace(&file, b"x"), Err(StoreError::NotAFile(_))));
        assert!(matches!(create_new(&file, b"x"), Err(StoreError::Exists(_))));
        assert_eq!(fs::read(outside.path().join("secret")).unwrap(), b"s");
        assert_eq!(names(home.path(), ALL), [""; 0]);
        assert_eq!(walk(home.path(), ALL).unwrap().warnings.len(), 2);
        let with_links = Bounds {
            file_links: true,
            ..ALL
        };
        assert_eq!(names(home.path(), with_links), ["file-link"]);
    }

    #[test]
    fn walking_is_sorted_and_bounded() {
        let home = tempfile::tempdir().unwrap();
        for folder in ["b/deep/er/still", "a"] {
            fs::create_dir_all(home.path().join(folder)).unwrap();
        }
        for file in [
            "b/2",
            "b/1",
            "a/3",
            ".hidden",
            "top",
            "b/deep/er/4",
            "b/deep/er/still/5",
        ] {
            fs::write(home.path().join(file), b"").unwrap();
        }
        assert_eq!(
            names(home.path(), ALL),
            ["top", "a/3", "b/1", "b/2", "b/deep/er/4"]
        );
        assert_eq!(names(home.path(), Bounds { depth: 0, ..ALL }), ["top"]);
        let few = walk(home.path(), Bounds { entries: 5, ..ALL }).unwrap();
        assert!(few.files.len() <= 5 && few.warnings.len() == 1, "{few:?}");
        assert_eq!(names(&home.path().join("none"), ALL), [""; 0]);
    }

    #[test]
    fn errors_are_told_by_what_the_person_can_do() {
        #[track_caller]
        fn check(kind: ErrorKind, expect: &str) {
            let error =
                StoreError::of(Path::new("/x/home.ics"), io::Error::from(kind)).tool("save the event");
            assert_eq!(error.to_string(), expect);
        }
        check(
            ErrorKind::ReadOnlyFilesystem,
            "I could not save the event: the disk that holds home.ics is read-only. Make it writable, then try again.",
        );
        check(
            ErrorKind::StorageFull,
            "I could not save the event: the disk is full. Free some space, then try again.",
        );
        check(
            ErrorKind::PermissionDenied,
            "I could not save the event: I have no permission for /x/home.ics. Allow it for your user, then try again.",
        );
        check(
            ErrorKind::InvalidData,
            "save the event: /x/home.ics: invalid data",
        );
    }
}
