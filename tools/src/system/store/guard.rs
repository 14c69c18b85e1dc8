//! Changes to files that other programs write, too: only what was read is replaced or removed, and a change that
//! another program makes in the same moment is never lost.

use std::{
    fs::{self, File, OpenOptions},
    io,
    os::unix::fs::OpenOptionsExt as _,
    path::Path,
    time::{Duration, Instant},
};

use tempfile::NamedTempFile;

use rustix::fs::{CWD, RenameFlags, renameat_with};
use rustix::io::Errno;

use super::{
    StoreError, TEMPORARY, folder_of, make_folder, mode_of, read_bounded, sync_folder, write_beside,
};

/// The largest file that is compared before it is changed, in bytes.
pub const MAX_GUARDED: u64 = 10 * 1024 * 1024;

/// How long another process may hold the turn; it needs it for milliseconds.
const PATIENCE: Duration = Duration::from_secs(5);

/// The turn to write, of which there is one for all processes of Tiro. It ends when it is dropped, or with the process.
#[derive(Debug)]
pub struct Turn(#[expect(dead_code, reason = "held for its lock")] File);

impl Turn {
    /// Waits for the turn, at most five seconds. `state` is the folder that Tiro keeps for itself.
    ///
    /// # Errors
    /// When the folder takes no files, and when another process keeps the turn.
    pub fn take(state: &Path) -> Result<Turn, StoreError> {
        make_folder(state)?;
        let path = state.join("write.lock");
        let fail = |e| StoreError::of(&path, e);
        let open = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .mode(0o600)
            .open(&path);
        let file = open.map_err(fail)?;
        let started = Instant::now();
        while file.try_lock().is_err() {
            if started.elapsed() > PATIENCE {
                return Err(fail(io::Error::new(
                    io::ErrorKind::TimedOut,
                    "another process keeps the turn to write",
                )));
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        Ok(Turn(file))
    }
}

/// Replaces a file in one step if it still holds `before`. Old and new are exchanged, and what came out is compared
/// once more: a program that wrote in the last moment gets its version back.
///
/// # Errors
/// `Changed` when another program wrote or removed it; else as [`replace`](super::replace).
pub fn replace_known(path: &Path, before: &[u8], after: &[u8]) -> Result<(), StoreError> {
    known(path, before)?;
    let (folder, temporary) = write_beside(path, after, mode_of(path)?)?;
    match exchange(temporary.path(), path) {
        Ok(()) => {
            if known(temporary.path(), before).is_err() {
                give_back(temporary, path, after, exchange)?;
                return Err(StoreError::Changed(path.to_owned()));
            }
        }
        Err(e) if cannot_exchange(&e) => {
            // Some file systems know no exchange; there the comparison above has to do.
            temporary
                .persist(path)
                .map_err(|e| StoreError::of(path, e.error))?;
        }
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Err(StoreError::Changed(path.to_owned())),
        Err(e) => return Err(StoreError::of(path, e)),
    }
    sync_folder(folder)
}

/// Removes a file if it still holds `before`. It is moved aside and compared once more before it is gone for good.
///
/// # Errors
/// `Changed` when another program wrote or removed it; `ReadOnly`, `Denied`, `Io`.
pub fn remove_known(path: &Path, before: &[u8]) -> Result<(), StoreError> {
    known(path, before)?;
    let fail = |e| StoreError::of(path, e);
    let folder = folder_of(path);
    let aside = tempfile::Builder::new()
        .prefix(TEMPORARY.0)
        .suffix(TEMPORARY.1)
        .make_in(folder, |aside| fs::rename(path, aside))
        .map_err(|e| match e.kind() {
            io::ErrorKind::NotFound => StoreError::Changed(path.to_owned()),
            _ => StoreError::of(folder, e),
        })?;
    if known(aside.path(), before).is_err() {
        aside.persist_noclobber(path).or_else(|e| match e.error.kind() {
            // That program wrote once more, over what we took out.
            io::ErrorKind::AlreadyExists => Ok(()),
            _ => Err(fail(e.error)),
        })?;
        return Err(StoreError::Changed(path.to_owned()));
    }
    aside.close().map_err(fail)?;
    sync_folder(folder)
}

/// How often the version of another program is put back when that program keeps writing newer ones.
const OVERTAKEN: usize = 8;

/// Puts back the version of another program that is in `temporary`; at `path` is ours, `after`. What comes out of there
/// must be what was put there last: anything else was written in between, is newer, and goes back in turn.
fn give_back(
    temporary: NamedTempFile,
    path: &Path,
    after: &[u8],
    mut exchange: impl FnMut(&Path, &Path) -> io::Result<()>,
) -> Result<(), StoreError> {
    let read = |path: &Path| read_bounded(path, MAX_GUARDED).ok();
    let mut placed = Some(after.to_vec());
    for _ in 0..OVERTAKEN {
        let held = read(temporary.path());
        match exchange(temporary.path(), path) {
            Ok(()) => {}
            // That program removed the file since, so it does not want its own version either.
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(e) => {
                keep_beside(temporary, path)?;
                return Err(StoreError::of(path, e));
            }
        }
        let out = read(temporary.path());
        if out.is_some() && out == placed {
            return Ok(());
        }
        placed = held;
    }
    keep_beside(temporary, path)
}

/// Keeps a version that nobody else may have under a name that says where it belongs.
fn keep_beside(mut temporary: NamedTempFile, path: &Path) -> Result<(), StoreError> {
    for number in 1..=MAX_KEPT {
        let mut name = path.file_name().unwrap_or_default().to_owned();
        name.push(format!(".kept-{number}"));
        let beside = path.with_file_name(name);
        match temporary.persist_noclobber(&beside) {
            Ok(_) => {
                tracing::warn!(path = %beside.display(), "a version of another program was kept beside its file");
                return Ok(());
            }
            Err(e) => temporary = e.file,
        }
    }
    // Under its hidden name it is not lost either.
    temporary
        .keep()
        .map(drop)
        .map_err(|e| StoreError::of(path, e.error))
}

/// So many versions of one file are kept beside it.
const MAX_KEPT: usize = 100;

fn known(path: &Path, expected: &[u8]) -> Result<(), StoreError> {
    match read_bounded(path, MAX_GUARDED) {
        Ok(bytes) if bytes == expected => mode_of(path).map(|_| ()),
        Ok(_) | Err(StoreError::Missing(_) | StoreError::TooBig { .. }) => {
            Err(StoreError::Changed(path.to_owned()))
        }
        Err(error) => Err(error),
    }
}

fn exchange(a: &Path, b: &Path) -> io::Result<()> {
    Ok(renameat_with(CWD, a, CWD, b, RenameFlags::EXCHANGE)?)
}

fn cannot_exchange(error: &io::Error) -> bool {
    let errno = Errno::from_io_error(error);
    errno.is_some_and(|e| matches!(e, Errno::INVAL | Errno::NOSYS | Errno::NOTSUP))
}

#[cfg(test)]
mod tests {
    use super::{super::replace, *};

    #[test]
    fn only_what_was_read_is_replaced_or_removed() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("a");
        fs::write(&path, b"other").unwrap();
        assert!(matches!(
            replace_known(&path, b"one", b"mine"),
            Err(StoreError::Changed(_))
        ));
        assert!(matches!(remove_known(&path, b"one"), Err(StoreError::Changed(_))));
        assert_eq!(fs::read(&path).unwrap(), b"other");
        replace_known(&path, b"other", b"mine").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"mine");
        remove_known(&path, b"mine").unwrap();
        assert!(matches!(
            replace_known(&path, b"mine", b"again"),
            Err(StoreError::Changed(_))
        ));
        assert_eq!(fs::read_dir(home.path()).unwrap().count(), 0);
    }

    /// A program that knows nothing of our turns writes as fast as it can, by rename as programs should. Each of its
    /// versions must either be what we read before we wrote, or still be there.
    #[test]
    fn a_write_of_another_program_is_never_lost() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("count");
        fs::write(&path, b"theirs 0").unwrap();
        let (mut seen, mut won) = (std::collections::BTreeSet::new(), 0);
        const THEIRS: u32 = 400;
        std::thread::scope(|scope| {
            let other = scope.spawn(|| {
                for n in 1..=THEIRS {
                    replace(&path, format!("theirs {n}").as_bytes()).unwrap();
                    // They wait until we have seen it, for a while; so most of their writes meet one of ours.
                    std::thread::sleep(Duration::from_micros(u64::from(n % 7) * 100));
                }
            });
            while !other.is_finished() {
                let before = fs::read(&path).unwrap();
                if replace_known(&path, &before, b"ours").is_ok() {
                    seen.insert(before);
                    won += 1;
                }
            }
        });
        let last = fs::read(&path).unwrap();
        let final_one = format!("theirs {THEIRS}").into_bytes();
        assert!(
            last == final_one || seen.contains(&final_one),
            "their last version is lost"
        );
        assert!(won > 0, "we never wrote, so nothing was tried");
        assert_eq!(fs::read_dir(home.path()).unwrap().count(), 1);
    }

    /// Runs `give_back` while another program writes `theirs 2`, `theirs 3`, ... each right before an exchange; gives
    /// what is in the folder then.
    #[track_caller]
    fn overtaken(times: usize) -> Vec<(String, String)> {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("count");
        fs::write(&path, b"ours").unwrap();
        let (_, temporary) = write_beside(&path, b"theirs 1", None).unwrap();
        let mut written = 1;
        give_back(temporary, &path, b"ours", |a, b| {
            if written <= times {
                written += 1;
                replace(&path, format!("theirs {written}").as_bytes()).unwrap();
            }
            exchange(a, b)
        })
        .unwrap();
        let files = fs::read_dir(home.path()).unwrap().map(|entry| {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            (name, fs::read_to_string(path).unwrap())
        });
        let mut files: Vec<_> = files.collect();
        files.sort();
        files
    }

    #[test]
    fn a_program_that_writes_once_more_while_it_gets_its_version_back_keeps_the_newest() {
        for times in 0..OVERTAKEN {
            let newest = format!("theirs {}", times + 1);
            assert_eq!(overtaken(times), [("count".to_owned(), newest)]);
        }
        let newest = format!("theirs {}", OVERTAKEN + 1);
        let all = overtaken(usize::MAX);
        assert_eq!(all.len(), 2, "{all:?}");
        assert_eq!(all[1], ("count.kept-1".to_owned(), newest));
    }

    #[test]
    fn turns_exclude_each_other() {
        let home = tempfile::tempdir().unwrap();
        let turn = Turn::take(home.path()).unwrap();
        let (sender, receiver) = std::sync::mpsc::channel();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let _turn = Turn::take(home.path()).unwrap();
                sender.send(()).unwrap();
            });
            assert!(receiver.recv_timeout(Duration::from_millis(100)).is_err());
            drop(turn);
            assert!(receiver.recv_timeout(Duration::from_secs(4)).is_ok());
        });
    }
}
