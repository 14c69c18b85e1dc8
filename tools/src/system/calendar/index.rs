//! What calendar files hold, kept between questions: ten thousand files take seconds to read, and a question waits.
//!
//! Nothing is trusted longer than one look: each question asks the kernel what was touched since the last one, and where
//! that is not known lists the folder and compares a stamp of every file, so that what another program wrote is seen,
//! however it wrote it. A file outside the window that is asked about is not opened.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    ffi::OsString,
    fs::{self, Metadata},
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    sync::{Arc, LazyLock, Mutex, PoisonError},
};

use jiff::{Timestamp, Zoned};

use super::{Collection, alarm, parse, recur};
use crate::system::{
    stamp::Stamp,
    store::StoreError,
    vdir::MAX_FILES,
    watch::{News, Watch},
};

/// Folders that are kept; more are forgotten together, which costs one slow question.
const MAX_FOLDERS: usize = 64;
/// Text of the files that one folder keeps parsed, in bytes; parsed it takes some six times as much. Beyond it a file is
/// parsed again whenever it is needed.
const MAX_KEPT: u64 = 16 << 20;

/// Files by path.
pub type Files = Vec<(Arc<Path>, Arc<parse::File>)>;

type Shared = Arc<Mutex<Folder>>;

static FOLDERS: LazyLock<Mutex<HashMap<PathBuf, Shared>>> = LazyLock::new(Mutex::default);

/// What one folder holds.
#[derive(Default)]
struct Folder {
    /// By name, so that answers are in order.
    files: BTreeMap<OsString, Known>,
    /// Tells what was touched since `files` was right; nothing where that cannot be relied on.
    watch: Option<Watch>,
    kept: u64,
    look: u64,
}

struct Known {
    stamp: Stamp,
    /// Whether the stamp can be trusted to change with the next write.
    settled: bool,
    span: Option<Span>,
    rings: Option<Span>,
    trouble: Option<String>,
    /// `None` for what cannot be read, and for what there is no room for.
    file: Option<Arc<parse::File>>,
    look: u64,
}

/// From the first to the last moment at which a file's events may happen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// A day early, since a time without a zone is another moment for each reader.
    pub from: Timestamp,
    /// A day late.
    pub to: Timestamp,
}

impl Span {
    /// Everything between two moments.
    pub fn of(from: &Zoned, to: &Zoned) -> Span {
        Span {
            from: from.timestamp(),
            to: to.timestamp(),
        }
    }

    /// The least that holds both.
    pub fn with(self, other: Span) -> Span {
        Span {
            from: self.from.min(other.from),
            to: self.to.max(other.to),
        }
    }

    fn touches(&self, other: &Span) -> bool {
        self.from <= other.to && other.from <= self.to
    }
}

/// Which files are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Within {
    /// All.
    All,
    /// Those with an event in the stretch.
    Events(Span),
    /// Those with an event whose alarm may ring in the stretch.
    Rings(Span),
}

/// The files of a collection that are wanted; sorted. What cannot be read is a warning.
///
/// # Errors
/// When the folder cannot be listed.
pub fn files(
    collection: &Collection,
    within: Within,
    warnings: &mut Vec<String>,
) -> Result<Files, StoreError> {
    let folder = folder(&collection.path);
    let mut folder = folder.lock().unwrap_or_else(PoisonError::into_inner);
    // Taken out until everything is known again, so that what fails half-way is not trusted.
    let watch = folder.watch.take();
    match watch.as_ref().map(|watch| watch.news(&collection.path)) {
        Some(News::Files(names)) => {
            if folder.look_again(&collection.path, names) {
                folder.watch = watch;
            }
        }
        // The old watch has to go first: one folder has only one.
        Some(News::Lost) | None => {
            drop(watch);
            folder.look_at_all(&collection.path, warnings)?;
        }
    }
    Ok(folder.wanted(&collection.path, within, warnings))
}

impl Folder {
    /// Lists the folder and looks at every file. It is watched from before that on, if all that is in it can be.
    fn look_at_all(&mut self, path: &Path, warnings: &mut Vec<String>) -> Result<(), StoreError> {
        let watch = Watch::on(path);
        let mut whole = true;
        self.look += 1;
        let entries = match fs::read_dir(path) {
            Ok(entries) => entries,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => {
                self.forget();
                return Ok(());
            }
            Err(e) => return Err(StoreError::of(path, e)),
        };
        for (count, entry) in entries.enumerate() {
            if count >= MAX_FILES {
                warnings.push(format!(
                    "{} holds more than {MAX_FILES} files; the rest was left out",
                    path.display()
                ));
                whole = false;
                break;
            }
            let Ok(entry) = entry else {
                whole = false;
                continue;
            };
            let name = entry.file_name();
            if !is_item(&name) {
                continue;
            }
            match entry.metadata() {
                Ok(meta) if meta.is_file() => whole &= self.look_at(name, &meta, path),
                Ok(meta) if meta.is_symlink() => {
                    warnings.push(format!(
                        "{} is a link and was left out",
                        path.join(&name).display()
                    ));
                    whole = false;
                }
                Ok(_) => {}
                Err(e) => {
                    warnings.push(StoreError::of(&path.join(&name), e).to_string());
                    whole = false;
                }
            }
        }
        self.forget();
        self.watch = watch.filter(|_| whole);
        Ok(())
    }

    /// Looks at the files that were touched. Says whether what is known is all there is, as after [`Folder::look_at_all`].
    fn look_again(&mut self, path: &Path, names: HashSet<OsString>) -> bool {
        let mut whole = true;
        for name in names.into_iter().filter(is_item) {
            // Whatever its stamp says: it was touched.
            self.drop_one(&name);
            match fs::symlink_metadata(path.join(&name)) {
                Ok(meta) if meta.is_file() => whole &= self.look_at(name, &meta, path),
                Err(e) if e.kind() == std::io::ErrorKind::NotFound => {}
                // The next look says what is wrong with it.
                other => whole &= other.is_ok_and(|meta| meta.is_dir()),
            }
        }
        whole
    }

    /// Reads a file unless it is known as it is. Says whether a watch over the folder tells all that happens to it: a
    /// file that has another name elsewhere can be written there.
    fn look_at(&mut self, name: OsString, meta: &Metadata, folder: &Path) -> bool {
        let stamp = Stamp::of(meta);
        let fresh = self
            .files
            .get(&name)
            .is_some_and(|known| known.stamp == stamp && known.settled);
        if fresh {
            if let Some(known) = self.files.get_mut(&name) {
                known.look = self.look;
            }
        } else {
            self.drop_one(&name);
            let known = self.read(stamp, &folder.join(&name));
            self.kept += known.file.as_ref().map_or(0, |_| stamp.length());
            self.files.insert(name, known);
        }
        meta.nlink() == 1
    }

    /// The parsed files that are asked for; the trouble with any of them is a warning.
    fn wanted(&self, folder: &Path, within: Within, warnings: &mut Vec<String>) -> Files {
        let mut found = Files::new();
        for (name, known) in &self.files {
            if let Some(trouble) = &known.trouble {
                warnings.push(format!("{}: {trouble}", folder.join(name).display()));
            }
            let touches = |span: &Option<Span>, within: Span| span.is_some_and(|span| span.touches(&within));
            let wanted = match within {
                Within::All => true,
                Within::Events(within) => touches(&known.span, within),
                Within::Rings(within) => touches(&known.rings, within),
            };
            if !wanted {
                continue;
            }
            let path = folder.join(name);
            let file = match &known.file {
                Some(file) => Some(file.clone()),
                // There was no room for it; what was told about it above stays true.
                None => parse::file(&path).ok().map(Arc::new),
            };
            found.extend(file.map(|file| (Arc::from(path), file)));
        }
        found
    }

    fn read(&self, stamp: Stamp, path: &Path) -> Known {
        // Taken before the file is read: a write in between makes the stamp of the next look another one.
        let settled = stamp.is_settled();
        let (file, trouble) = match parse::file(path) {
            Ok(file) => {
                let trouble = file.trouble.clone();
                (Some(Arc::new(file)), trouble)
            }
            Err(trouble) => (None, Some(trouble)),
        };
        let span = file.as_ref().and_then(|file| recur::span(file));
        let rings = file.as_ref().and_then(|file| alarm::span(file, span));
        Known {
            stamp,
            settled,
            span,
            rings,
            trouble,
            file: file.filter(|_| self.kept + stamp.length() <= MAX_KEPT),
            look: self.look,
        }
    }

    /// Forgets what was not seen in this look.
    fn forget(&mut self) {
        let look = self.look;
        let gone: Vec<OsString> = self
            .files
            .iter()
            .filter(|(_, known)| known.look != look)
            .map(|(name, _)| name.clone())
            .collect();
        for name in gone {
            self.drop_one(&name);
        }
    }

    fn drop_one(&mut self, name: &OsString) {
        if let Some(old) = self.files.remove(name)
            && old.file.is_some()
        {
            self.kept = self.kept.saturating_sub(old.stamp.length());
        }
    }
}

fn folder(path: &Path) -> Shared {
    let mut folders = FOLDERS.lock().unwrap_or_else(PoisonError::into_inner);
    if folders.len() >= MAX_FOLDERS && !folders.contains_key(path) {
        folders.clear();
    }
    folders.entry(path.to_owned()).or_default().clone()
}

fn is_item(name: &OsString) -> bool {
    let name = Path::new(name);
    let bytes = name.as_os_str().as_encoded_bytes();
    !bytes.starts_with(b".") && name.extension().is_some_and(|e| e.eq_ignore_ascii_case("ics"))
}
