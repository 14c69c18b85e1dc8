//! States of prompt prefixes on disk, so that a cold start evaluates nothing.
//!
//! A file is named by what it depends on and by the hash of its content: `KEY-SUM.kv`. Native code aborts on some
//! damaged states, so a file whose content does not match its name is deleted and never handed to an engine.

use std::{
    fs::{self, File},
    io::{self, Read, Seek, SeekFrom},
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use sha2::{Digest, Sha256};

use crate::{llm::Piece, protocol::KvType};

/// How many snapshots stay: a few models and a few prompts.
const KEPT: usize = 4;
/// A temporary file this old was left by a crash.
const STALE: Duration = Duration::from_secs(3600);
/// Bytes hashed at each end of a model file. Hashing a gigabyte would cost more than the prefill that it saves.
const ENDS: u64 = 64 * 1024;

/// What a state depends on besides the file of the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Parameters<'a> {
    pub(super) context: u32,
    pub(super) kv: KvType,
    pub(super) binding: &'a str,
    pub(super) device: &'a str,
}

/// The folder.
#[derive(Debug, Clone)]
pub(super) struct Snapshots {
    folder: PathBuf,
}

impl Snapshots {
    pub(super) fn new(folder: PathBuf) -> Snapshots {
        Snapshots { folder }
    }

    /// The key of a prefix: 32 hexadecimal digits.
    pub(super) fn key(model: &Path, prefix: &[Piece], parameters: Parameters<'_>) -> io::Result<String> {
        let mut hash = Sha256::new();
        fingerprint(model, &mut hash)?;
        hash.update(format!("{parameters:?}"));
        for piece in prefix {
            hash.update((piece.text.len() as u64).to_le_bytes());
            hash.update([u8::from(piece.special)]);
            hash.update(&piece.text);
        }
        Ok(hex(&hash.finalize()[..16]))
    }

    /// The whole and undamaged file for a key; marked as used.
    pub(super) fn find(&self, key: &str) -> Option<PathBuf> {
        let prefix = format!("{key}-");
        for path in self.files("kv") {
            let Some(sum) = name(&path).strip_prefix(&prefix).map(str::to_owned) else {
                continue;
            };
            if sum_of(&path).is_ok_and(|actual| format!("{actual}.kv") == sum) {
                drop(File::open(&path).and_then(|f| f.set_modified(SystemTime::now())));
                return Some(path);
            }
            tracing::warn!(?path, "a damaged snapshot is deleted");
            drop(fs::remove_file(&path));
        }
        None
    }

    /// Where an engine writes a new state. The folder is made if need be.
    pub(super) fn temporary(&self, key: &str) -> io::Result<PathBuf> {
        fs::create_dir_all(&self.folder)?;
        Ok(self.folder.join(format!("{key}-{}.tmp", std::process::id())))
    }

    /// Gives a complete temporary file its name, for good, and drops the oldest beyond [`KEPT`].
    pub(super) fn keep(&self, key: &str, temporary: &Path, bytes: u64) -> io::Result<()> {
        let kept = (|| {
            let file = File::open(temporary)?;
            if file.metadata()?.len() != bytes {
                return Err(io::Error::other(
                    "the file is shorter than what was written; is the disk full?",
                ));
            }
            file.sync_all()?;
            let sum = sum_of(temporary)?;
            fs::rename(temporary, self.folder.join(format!("{key}-{sum}.kv")))?;
            File::open(&self.folder)?.sync_all()
        })();
        if kept.is_err() {
            drop(fs::remove_file(temporary));
        }
        self.prune();
        kept
    }

    fn prune(&self) {
        let age = |path: &PathBuf| fs::metadata(path).and_then(|m| m.modified()).ok()?.elapsed().ok();
        let mut files = self.files("kv");
        files.sort_by_key(age);
        let stale = self
            .files("tmp")
            .into_iter()
            .filter(|p| age(p).is_some_and(|a| a > STALE));
        for path in files.into_iter().skip(KEPT).chain(stale) {
            drop(fs::remove_file(path));
        }
    }

    fn files(&self, extension: &str) -> Vec<PathBuf> {
        let entries = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        entries
            .map(|entry| entry.path())
            .filter(|path| path.extension().is_some_and(|e| e == extension))
            .collect()
    }
}

fn fingerprint(model: &Path, hash: &mut Sha256) -> io::Result<()> {
    let mut file = File::open(model)?;
    let metadata = file.metadata()?;
    let size = metadata.len();
    hash.update(size.to_le_bytes());
    let modified = metadata.modified()?.duration_since(SystemTime::UNIX_EPOCH);
    hash.update(modified.map_or(0, |d| d.as_nanos()).to_le_bytes());
    for start in [0, size.saturating_sub(ENDS)] {
        let mut end = Vec::new();
        file.seek(SeekFrom::Start(start))?;
        (&file).take(ENDS).read_to_end(&mut end)?;
        hash.update(&end);
    }
    Ok(())
}

fn sum_of(path: &Path) -> io::Result<String> {
    let mut file = File::open(path)?;
    let mut hash = Sha256::new();
    let mut buffer = vec![0; 1 << 20];
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(hex(&hash.finalize()[..8])),
            n => hash.update(&buffer[..n]),
        }
    }
}

fn name(path: &Path) -> &str {
    path.file_name().and_then(|n| n.to_str()).unwrap_or_default()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PARAMETERS: Parameters<'_> = Parameters {
        context: 4096,
        kv: KvType::F16,
        binding: "1",
        device: "CPU",
    };

    fn prefix(text: &str, special: bool) -> Vec<Piece> {
        vec![Piece {
            text: text.into(),
            special,
        }]
    }

    #[test]
    fn a_key_depends_on_everything_that_shapes_the_state() {
        let folder = tempfile::tempdir().unwrap();
        let model = folder.path().join("m");
        fs::write(&model, "weights").unwrap();
        let key = |prefix: &[Piece], parameters| Snapshots::key(&model, prefix, parameters).unwrap();
        let mut keys = vec![
            key(&prefix("a", true), PARAMETERS),
            key(&prefix("a", false), PARAMETERS),
            key(&prefix("b", true), PARAMETERS),
            key(&[prefix("a", true), prefix("", true)].concat(), PARAMETERS),
            key(
                &prefix("a", true),
                Parameters {
                    context: 8192,
                    ..PARAMETERS
                },
            ),
            key(
                &prefix("a", true),
                Parameters {
                    kv: KvType::Q8_0,
                    ..PARAMETERS
                },
            ),
            key(
                &prefix("a", true),
                Parameters {
                    binding: "2",
                    ..PARAMETERS
                },
            ),
        ];
        assert_eq!(keys[0], key(&prefix("a", true), PARAMETERS));
        fs::write(&model, "heavier weights").unwrap();
        keys.push(key(&prefix("a", true), PARAMETERS));
        let all = keys.len();
        keys.sort_unstable();
        keys.dedup();
        assert_eq!(keys.len(), all);
    }

    fn save(snapshots: &Snapshots, key: &str, content: &str) -> PathBuf {
        let temporary = snapshots.temporary(key).unwrap();
        fs::write(&temporary, content).unwrap();
        snapshots.keep(key, &temporary, content.len() as u64).unwrap();
        snapshots.find(key).unwrap()
    }

    #[test]
    fn what_was_kept_is_found_and_what_was_damaged_is_deleted() {
        let folder = tempfile::tempdir().unwrap();
        let snapshots = Snapshots::new(folder.path().join("new"));
        assert_eq!(snapshots.find("k"), None);
        let path = save(&snapshots, "k", "state");
        assert_eq!(fs::read_to_string(&path).unwrap(), "state");
        assert_eq!(snapshots.find("other"), None);
        fs::write(&path, "stale").unwrap();
        assert_eq!(snapshots.find("k"), None);
        assert!(!path.exists());
    }

    #[test]
    fn a_short_file_is_not_kept() {
        let folder = tempfile::tempdir().unwrap();
        let snapshots = Snapshots::new(folder.path().into());
        let temporary = snapshots.temporary("k").unwrap();
        fs::write(&temporary, "sta").unwrap();
        assert!(snapshots.keep("k", &temporary, 5).is_err());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn the_newest_stay() {
        let folder = tempfile::tempdir().unwrap();
        let snapshots = Snapshots::new(folder.path().into());
        let left = folder.path().join("left-1.tmp");
        fs::write(&left, "").unwrap();
        let long_ago = SystemTime::now() - 2 * STALE;
        File::open(&left).unwrap().set_modified(long_ago).unwrap();
        for i in 0..KEPT + 2 {
            let path = save(&snapshots, &format!("k{i}"), "state");
            let then = long_ago + Duration::from_secs(i as u64);
            File::open(path).unwrap().set_modified(then).unwrap();
        }
        save(&snapshots, "last", "state");
        assert!(snapshots.find("k0").is_none() && snapshots.find("k2").is_none());
        assert!(snapshots.find("last").is_some() && snapshots.find("k5").is_some());
        assert!(!left.exists());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), KEPT);
    }
}
