//! Files that are only ever whole: room before, locks while, hashes, and a rename at the end.

use std::{
    fs::{self, File, TryLockError},
    io::{self, Read, Write},
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    sync::atomic::{AtomicBool, Ordering},
};

use sha2::{Digest, Sha256};

use crate::{
    progress::Progress,
    registry::{Model, WeightsError},
};

/// Bytes moved at a time, between two looks at the cancel flag.
pub(crate) const CHUNK: usize = 1 << 18;

/// The beginning of a file in the making, with its hash so far. It survives a crash and is taken up again.
pub(crate) struct Part {
    file: File,
    path: PathBuf,
    length: u64,
    hash: Sha256,
}

impl Part {
    /// Opens or creates it. `keep` says how many of the bytes that are there are of use.
    pub(crate) fn open(path: &Path, keep: impl FnOnce(u64) -> u64) -> Result<Part, WeightsError> {
        let open = || {
            let mut file = File::options()
                .read(true)
                .write(true)
                .create(true)
                .truncate(false)
                .open(path)?;
            let there = file.metadata()?.len();
            let length = keep(there).min(there);
            file.set_len(length)?;
            let mut hash = Sha256::new();
            let mut buffer = vec![0; CHUNK];
            while let count @ 1.. = file.read(&mut buffer)? {
                hash.update(&buffer[..count]);
            }
            Ok(Part {
                file,
                path: path.to_owned(),
                length,
                hash,
            })
        };
        open().map_err(failed("opened", path))
    }

    /// Bytes so far.
    pub(crate) fn length(&self) -> u64 {
        self.length
    }

    /// Throws away what there is.
    pub(crate) fn restart(&mut self) -> Result<(), WeightsError> {
        self.cut(0)
    }

    /// Throws away what comes after `length`.
    pub(crate) fn cut(&mut self, length: u64) -> Result<(), WeightsError> {
        *self = Part::open(&self.path, |_| length)?;
        Ok(())
    }

    /// Appends; a full disk is `NoSpace`, with what `total` still needs.
    pub(crate) fn append(&mut self, bytes: &[u8], total: u64) -> Result<(), WeightsError> {
        self.write_all(bytes)
            .map_err(|cause| write_failed(cause, &self.path, total.saturating_sub(self.length)))
    }

    /// Makes it durable and answers its hash.
    pub(crate) fn finish(self) -> Result<String, WeightsError> {
        self.file.sync_all().map_err(failed("written", &self.path))?;
        Ok(hexadecimal(self.hash))
    }
}

impl Write for Part {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.write(bytes)?;
        self.hash.update(&bytes[..written]);
        self.length += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Gives a finished file its name, durably.
pub(crate) fn publish(from: &Path, to: &Path) -> Result<(), WeightsError> {
    let publish = || {
        fs::rename(from, to)?;
        File::open(to.parent().unwrap_or(Path::new(".")))?.sync_all()
    };
    publish().map_err(failed("written", to))
}

/// Refuses when fewer than `needed` bytes and some slack are free.
pub(crate) fn require(dir: &Path, needed: u64) -> Result<(), WeightsError> {
    const SLACK: u64 = 4 << 20;
    let free = free(dir);
    if free < needed.saturating_add(SLACK) {
        return Err(WeightsError::NoSpace {
            dir: dir.to_owned(),
            needed: needed + SLACK,
            free,
        });
    }
    Ok(())
}

/// Turns an error of writing into words; a full disk says how much is missing.
pub(crate) fn write_failed(cause: io::Error, path: &Path, needed: u64) -> WeightsError {
    let full = [
        io::ErrorKind::StorageFull,
        io::ErrorKind::QuotaExceeded,
        io::ErrorKind::FileTooLarge,
    ];
    if full.contains(&cause.kind()) {
        let dir = path.parent().unwrap_or(path);
        return WeightsError::NoSpace {
            dir: dir.to_owned(),
            needed,
            free: free(dir),
        };
    }
    WeightsError::Disk {
        what: "written",
        path: path.to_owned(),
        cause,
    }
}

/// Held while a model is being pulled or removed; the file goes away with it.
pub(crate) struct Lock {
    path: PathBuf,
    _file: File,
}

/// Locks a model, or says that somebody else holds it.
pub(crate) fn lock(model: &Model, dir: &Path) -> Result<Lock, WeightsError> {
    let path = dir.join(format!(".{}.lock", model.file));
    loop {
        let file = File::options()
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path);
        let file = file.map_err(failed("locked", &path))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(WeightsError::Busy { id: model.id.clone() }),
            Err(TryLockError::Error(cause)) => return Err(failed("locked", &path)(cause)),
        }
        // The one who held it before may have removed the file between our opening and our locking it.
        let same = |there: &fs::Metadata| file.metadata().is_ok_and(|ours| ours.ino() == there.ino());
        if fs::metadata(&path).is_ok_and(|there| same(&there)) {
            return Ok(Lock { path, _file: file });
        }
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // Still locked here: whoever opened it meanwhile notices that it is gone.
        let _ = fs::remove_file(&self.path);
    }
}

/// Size and hash of a file.
pub(crate) fn hash(
    path: &Path,
    on_total: impl FnOnce(u64),
    progress: &dyn Progress,
    cancel: &AtomicBool,
) -> Result<(u64, String), WeightsError> {
    let mut file = File::open(path).map_err(failed("read", path))?;
    let total = file.metadata().map_err(failed("read", path))?.len();
    on_total(total);
    let (mut hash, mut buffer) = (Sha256::new(), vec![0; CHUNK]);
    loop {
        if cancel.load(Ordering::Relaxed) {
            return Err(WeightsError::Cancelled);
        }
        match file.read(&mut buffer).map_err(failed("read", path))? {
            0 => return Ok((total, hexadecimal(hash))),
            count => {
                hash.update(&buffer[..count]);
                progress.advance(count as u64);
            }
        }
    }
}

/// Deletes a file or folder if it is there; answers its bytes.
pub(crate) fn remove(path: &Path) -> Result<u64, WeightsError> {
    let removed = match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(0),
        Err(error) => Err(error),
        Ok(meta) if meta.is_dir() => fs::remove_dir_all(path).map(|()| 0),
        Ok(meta) => fs::remove_file(path).map(|()| meta.len()),
    };
    removed.map_err(failed("removed", path))
}

/// An error of the disk, in words.
pub(crate) fn failed(what: &'static str, path: &Path) -> impl FnOnce(io::Error) -> WeightsError + use<> {
    let path = path.to_owned();
    move |cause| WeightsError::Disk { what, path, cause }
}

/// Bytes that an ordinary user may still write there; when nobody knows, plenty.
fn free(dir: &Path) -> u64 {
    rustix::fs::statvfs(dir).map_or(u64::MAX, |stat| stat.f_bavail.saturating_mul(stat.f_frsize))
}

fn hexadecimal(hash: Sha256) -> String {
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_is_taken_up_again_with_its_hash() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x.part");
        let mut part = Part::open(&path, |there| there).unwrap();
        part.append(b"hello wo", 11).unwrap();
        drop(part);
        let mut part = Part::open(&path, |there| there - 3).unwrap();
        assert_eq!(part.length(), 5);
        part.append(b" world", 11).unwrap();
        let (bytes, expected) =
            hash(&path, |_| (), &crate::progress::Quiet, &AtomicBool::new(false)).unwrap();
        assert_eq!((bytes, part.finish().unwrap()), (11, expected));
    }

    #[test]
    fn a_full_disk_is_named_with_numbers() {
        let full = Path::new("/dev/full");
        if !full.exists() {
            eprintln!("SKIPPED: there is no /dev/full on this system");
            return;
        }
        let file = File::options().write(true).open(full).unwrap();
        let mut part = Part {
            file,
            path: full.to_owned(),
            length: 0,
            hash: Sha256::new(),
        };
        let error = part.append(&[1; 100], 5 << 20).unwrap_err();
        assert!(
            matches!(
                error,
                WeightsError::NoSpace {
                    needed: 5_242_880,
                    ..
                }
            ),
            "{error:?}"
        );
        assert!(error.to_string().contains("5 MiB needed"), "{error}");
    }

    #[test]
    fn room_is_required_beforehand() {
        let dir = tempfile::tempdir().unwrap();
        require(dir.path(), 1).unwrap();
        assert!(
            matches!(require(dir.path(), 1 << 62), Err(WeightsError::NoSpace { needed, .. }) if needed > 1 << 62)
        );
    }
}
