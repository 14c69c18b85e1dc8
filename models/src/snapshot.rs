//! States of the KV cache on disk, so that what every prompt begins with is evaluated once and not after every start.
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

/// How many prefixes stay: a few models and a few prompts.
const PREFIXES: usize = 4;
/// Bytes of the tools that stay. A tool's text has 40 to 130 tokens, each of its calls about 30, in each order in which they may
/// stand, and a token takes 28 KiB of a 1.5B model: a hundred tools fit, and some of the pairs that are found together.
const TOOLS: u64 = 640 << 20;
/// A temporary file this old was left by a crash.
const STALE: Duration = Duration::from_secs(3600);
/// What was used this long ago may go for something new.
const FRESH: Duration = Duration::from_secs(3600);
/// Bytes hashed at each end of a model file. Hashing a gigabyte would cost more than the prefill that it saves.
const ENDS: u64 = 64 * 1024;

/// What a state depends on besides the file of the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parameters<'a> {
    /// Window, tokens.
    pub context: u32,
    /// Element type of the KV cache.
    pub kv: KvType,
    /// Version of the binding.
    pub binding: &'a str,
    /// What the model runs on.
    pub device: &'a str,
}

/// The part of a key that is the model's, for any number of keys.
#[derive(Debug, Clone)]
pub struct Keys(Sha256);

impl Keys {
    /// Keys for states of this model.
    ///
    /// # Errors
    /// When its file cannot be read.
    pub fn new(model: &Path, parameters: Parameters<'_>) -> io::Result<Keys> {
        let mut hash = Sha256::new();
        fingerprint(model, &mut hash)?;
        hash.update(format!("{parameters:?}"));
        Ok(Keys(hash))
    }

    /// The key of a prefix: 32 hexadecimal digits.
    pub fn of_pieces(&self, prefix: &[Piece]) -> String {
        let mut hash = self.0.clone();
        for piece in prefix {
            hash.update((piece.text.len() as u64).to_le_bytes());
            hash.update([u8::from(piece.special)]);
            hash.update(&piece.text);
        }
        hex(&hash.finalize()[..16])
    }

    /// The key of the state of these tokens, each by its number.
    pub fn of_tokens(&self, tokens: impl IntoIterator<Item = i32>) -> String {
        let mut hash = self.0.clone();
        hash.update("tokens");
        for token in tokens {
            hash.update(token.to_le_bytes());
        }
        hex(&hash.finalize()[..16])
    }
}

/// The folder, and the files in it of one kind.
#[derive(Debug, Clone)]
pub struct Snapshots {
    folder: PathBuf,
    /// What their names end with.
    ending: &'static str,
    most: Most,
}

/// How much stays.
#[derive(Debug, Clone, Copy)]
enum Most {
    Files(usize),
    Bytes(u64),
}

impl Snapshots {
    /// States of static prefixes.
    pub fn of_prefixes(folder: PathBuf) -> Snapshots {
        Snapshots {
            folder,
            ending: "kv",
            most: Most::Files(PREFIXES),
        }
    }

    /// States of what stands behind a prefix: tools that were found.
    pub fn of_tools(folder: PathBuf) -> Snapshots {
        Snapshots {
            folder,
            ending: "tool",
            most: Most::Bytes(TOOLS),
        }
    }

    /// Whether one more would push out nothing that was used just now. Who reads ahead ends there: a large model's states are so
    /// many bytes that the last ones would take the place of the first, at every start anew.
    pub fn has_room(&self) -> bool {
        let files = self.files(self.ending);
        let bytes = |path: &PathBuf| fs::metadata(path).map_or(0, |m| m.len());
        let full = match self.most {
            Most::Files(most) => files.len() >= most,
            Most::Bytes(most) => {
                let largest = files.iter().map(bytes).max().unwrap_or_default();
                files.iter().map(bytes).sum::<u64>() + largest > most
            }
        };
        !full || files.iter().filter_map(age).any(|age| age > FRESH)
    }

    /// The whole and undamaged file for a key; marked as used.
    pub fn find(&self, key: &str) -> Option<PathBuf> {
        let prefix = format!("{key}-");
        for path in self.files(self.ending) {
            let Some(sum) = name(&path).strip_prefix(&prefix).map(str::to_owned) else {
                continue;
            };
            if sum_of(&path).is_ok_and(|actual| format!("{actual}.{}", self.ending) == sum) {
                drop(File::open(&path).and_then(|f| f.set_modified(SystemTime::now())));
                return Some(path);
            }
            tracing::warn!(?path, "a damaged snapshot is deleted");
            drop(fs::remove_file(&path));
        }
        None
    }

    /// Where an engine writes a new state. The folder is made if need be.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn temporary(&self, key: &str) -> io::Result<PathBuf> {
        fs::create_dir_all(&self.folder)?;
        Ok(self.folder.join(format!("{key}-{}.tmp", std::process::id())))
    }

    /// Gives a complete temporary file its name, for good, and drops what was not used for longest beyond what stays.
    ///
    /// # Errors
    /// When it is not as long as it should be, or the disk fails; then it is gone.
    pub fn keep(&self, key: &str, temporary: &Path, bytes: u64) -> io::Result<()> {
        let kept = (|| {
            let file = File::open(temporary)?;
            if file.metadata()?.len() != bytes {
                return Err(io::Error::other(
                    "the file is shorter than what was written; is the disk full?",
                ));
            }
            file.sync_all()?;
            let sum = sum_of(temporary)?;
            fs::rename(
                temporary,
                self.folder.join(format!("{key}-{sum}.{}", self.ending)),
            )?;
            File::open(&self.folder)?.sync_all()
        })();
        if kept.is_err() {
            drop(fs::remove_file(temporary));
        }
        self.prune();
        kept
    }

    fn prune(&self) {
        let mut files = self.files(self.ending);
        // A key that is read anew at each comparison could change meanwhile.
        files.sort_by_cached_key(age);
        let mut bytes = 0;
        let stay = files.iter().enumerate().take_while(|(before, path)| {
            bytes += fs::metadata(path).map_or(0, |m| m.len());
            match self.most {
                Most::Files(most) => *before < most,
                Most::Bytes(most) => bytes <= most,
            }
        });
        let stay = stay.count();
        let stale = self
            .files("tmp")
            .into_iter()
            .filter(|p| age(p).is_some_and(|a| a > STALE));
        for path in files.into_iter().skip(stay).chain(stale) {
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

/// How long ago a file was used.
fn age(path: &PathBuf) -> Option<Duration> {
    fs::metadata(path).and_then(|m| m.modified()).ok()?.elapsed().ok()
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
        let keys = |parameters| Keys::new(&model, parameters).unwrap();
        let key = |prefix: &[Piece], parameters| keys(parameters).of_pieces(prefix);
        let mut all_keys = vec![
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
        assert_eq!(all_keys[0], key(&prefix("a", true), PARAMETERS));
        let tokens = [
            keys(PARAMETERS).of_tokens([1, 2]),
            keys(PARAMETERS).of_tokens([1]),
        ];
        assert_eq!(tokens[0], keys(PARAMETERS).of_tokens([1, 2]));
        all_keys.extend(tokens);
        fs::write(&model, "heavier weights").unwrap();
        all_keys.push(key(&prefix("a", true), PARAMETERS));
        let all = all_keys.len();
        all_keys.sort_unstable();
        all_keys.dedup();
        assert_eq!(all_keys.len(), all);
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
        let snapshots = Snapshots::of_prefixes(folder.path().join("new"));
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
        let snapshots = Snapshots::of_prefixes(folder.path().into());
        let temporary = snapshots.temporary("k").unwrap();
        fs::write(&temporary, "sta").unwrap();
        assert!(snapshots.keep("k", &temporary, 5).is_err());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn the_newest_stay() {
        let folder = tempfile::tempdir().unwrap();
        let snapshots = Snapshots::of_prefixes(folder.path().into());
        let left = folder.path().join("left-1.tmp");
        fs::write(&left, "").unwrap();
        let long_ago = SystemTime::now() - 2 * STALE;
        File::open(&left).unwrap().set_modified(long_ago).unwrap();
        for i in 0..PREFIXES + 2 {
            let path = save(&snapshots, &format!("k{i}"), "state");
            let then = long_ago + Duration::from_secs(i as u64);
            File::open(path).unwrap().set_modified(then).unwrap();
        }
        save(&snapshots, "last", "state");
        assert!(snapshots.find("k0").is_none() && snapshots.find("k2").is_none());
        assert!(snapshots.find("last").is_some() && snapshots.find("k5").is_some());
        assert!(!left.exists());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), PREFIXES);
    }

    #[test]
    fn tools_stay_while_they_fit_and_the_prefixes_beside_them() {
        let folder = tempfile::tempdir().unwrap();
        let mut tools = Snapshots::of_tools(folder.path().into());
        tools.most = Most::Bytes(12);
        let prefixes = Snapshots::of_prefixes(folder.path().into());
        save(&prefixes, "prefix", "state");
        let long_ago = SystemTime::now() - STALE;
        for i in 0..6 {
            let path = save(&tools, &format!("t{i}"), "tools");
            let then = long_ago + Duration::from_secs(i);
            File::open(path).unwrap().set_modified(then).unwrap();
        }
        let left: Vec<bool> = (0..6).map(|i| tools.find(&format!("t{i}")).is_some()).collect();
        assert_eq!(left, [false, false, false, false, true, true]);
        assert!(prefixes.find("prefix").is_some());
    }

    #[test]
    fn who_reads_ahead_ends_before_that_pushes_out_what_was_just_read() {
        let folder = tempfile::tempdir().unwrap();
        let mut tools = Snapshots::of_tools(folder.path().join("new"));
        tools.most = Most::Bytes(12);
        assert!(tools.has_room());
        let first = save(&tools, "t0", "tools");
        assert!(tools.has_room());
        save(&tools, "t1", "tools");
        assert!(!tools.has_room());
        // What nobody used for an hour may go.
        let long_ago = SystemTime::now() - 2 * FRESH;
        File::open(first).unwrap().set_modified(long_ago).unwrap();
        assert!(tools.has_room());
    }
}
