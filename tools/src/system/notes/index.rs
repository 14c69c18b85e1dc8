//! What is known of the notes between questions: which there are, their titles, and how often each word is in them. It is
//! trusted while the kernel says that nothing was touched; else the stamp of every file is compared.

use std::{
    collections::HashMap,
    fs,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use jiff::Timestamp;

use super::{BOUNDS, HEAD, MAX_NOTE, Note, body, note, read_head};
use crate::{
    contract::ToolError,
    system::{
        heard::search::{Count, Search, Vocabulary},
        stamp::Stamp,
        store,
        watch::Tree,
    },
};

/// Counts of words that are kept, eight bytes each; what does not fit is read anew by every search.
const MAX_COUNTS: usize = 4_000_000;

/// All notes below a folder.
#[derive(Default)]
pub struct Index {
    folder: PathBuf,
    watch: Tree,
    /// Newest first.
    files: Vec<File>,
    vocabulary: Vocabulary,
    counts: usize,
}

struct File {
    path: PathBuf,
    modified: Timestamp,
    /// Nothing while the file may still be changing.
    stamp: Option<Stamp>,
    /// Nothing before it was asked for, and for what cannot be read.
    note: Option<Note>,
    /// Nothing before it was searched, and for what there is no room for.
    words: Option<Box<[Count]>>,
}

impl Index {
    /// The notes of a folder as they are now.
    ///
    /// # Errors
    /// When the folder cannot be read.
    pub fn with<T>(folder: &Path, ask: impl FnOnce(&mut Index) -> T) -> Result<T, ToolError> {
        static LAST: Mutex<Option<Index>> = Mutex::new(None);
        let mut guard = LAST.lock().unwrap_or_else(PoisonError::into_inner);
        // Taken out until it is right again, so that what fails half-way is not trusted.
        let last = guard.take().filter(|last| last.folder == folder);
        let mut index = last.unwrap_or_else(|| Index {
            folder: folder.to_owned(),
            ..Index::default()
        });
        if !index.watch.is_quiet() {
            index.look()?;
        }
        let answer = ask(&mut index);
        *guard = Some(index);
        Ok(answer)
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.files.len()
    }

    /// The notes, newest first; no file is opened before its turn comes, and none twice.
    pub fn notes(&mut self) -> impl Iterator<Item = Note> {
        let folder = &self.folder;
        self.files.iter_mut().filter_map(|file| {
            if file.note.is_none() {
                let head = read_head(&file.path, HEAD)?;
                file.note = Some(note(folder, file.path.clone(), file.modified, &head));
            }
            file.note.clone()
        })
    }

    /// Notes that hold what was heard, best first, and whether time ran out before all were read.
    pub fn search(&mut self, heard: &str, most: usize, patience: Duration) -> (Vec<Note>, bool) {
        let started = Instant::now();
        let mut partial = false;
        for file in self.files.iter_mut().filter(|file| file.words.is_none()) {
            partial = started.elapsed() > patience;
            if partial || self.counts >= MAX_COUNTS {
                break;
            }
            if let Some((known, counts)) = read(&self.folder, file, &mut self.vocabulary) {
                self.counts += counts.as_ref().map_or(0, |counts| counts.len());
                (file.note, file.words) = (Some(known), counts);
            }
        }
        let mut search = Search::new(heard);
        let alike = search.among(&self.vocabulary);
        for (at, file) in self.files.iter().enumerate() {
            match &file.words {
                Some(counts) => search.look_at_counts(at, counts, &alike),
                None if started.elapsed() > patience => partial = true,
                None => {
                    if let Some(text) = read_head(&file.path, MAX_NOTE as u64) {
                        let note = note(&self.folder, file.path.clone(), file.modified, &text);
                        search.look(at, &title(&note), body(&text));
                    }
                }
            }
        }
        let best: Vec<usize> = search
            .ranked()
            .into_iter()
            .take(most)
            .map(|found| found.1)
            .collect();
        let notes = best.into_iter().filter_map(|at| {
            let file = &self.files[at];
            file.note.clone().or_else(|| {
                let head = read_head(&file.path, HEAD)?;
                Some(note(&self.folder, file.path.clone(), file.modified, &head))
            })
        });
        (notes.collect(), partial)
    }

    /// Lists the folder; what is known of files that are as they were stays.
    fn look(&mut self) -> Result<(), ToolError> {
        let walk = || store::walk(&self.folder, BOUNDS).map_err(|e| e.tool("read your notes"));
        let found = self.watch.walk(walk)?;
        if let Some(warning) = found.warnings.first() {
            tracing::debug!(warning, count = found.warnings.len(), "some notes were left out");
        }
        let old = std::mem::take(&mut self.files).into_iter();
        let mut old: HashMap<PathBuf, File> = old.map(|file| (file.path.clone(), file)).collect();
        let mut alone = !found.unsure;
        for path in found.files {
            let is = |kind: &str| path.extension().is_some_and(|e| e.eq_ignore_ascii_case(kind));
            if !is("md") && !is("markdown") {
                continue;
            }
            let meta = fs::metadata(&path).ok();
            // A file that has another name elsewhere can be written there.
            alone &= meta.as_ref().is_some_and(|meta| meta.nlink() == 1);
            let modified = meta.as_ref().and_then(|meta| meta.modified().ok());
            let stamp = meta.as_ref().map(Stamp::of).filter(Stamp::is_settled);
            self.files.push(match old.remove(&path) {
                Some(known) if stamp.is_some() && known.stamp == stamp => known,
                _ => File {
                    path,
                    modified: modified
                        .and_then(|at| Timestamp::try_from(at).ok())
                        .unwrap_or(Timestamp::UNIX_EPOCH),
                    stamp,
                    note: None,
                    words: None,
                },
            });
        }
        self.counts = self.files.iter().flat_map(|f| &f.words).map(|w| w.len()).sum();
        if self.vocabulary.is_full() {
            // Most of it may be words of notes that are gone.
            self.vocabulary = Vocabulary::default();
            self.files.iter_mut().for_each(|file| file.words = None);
            self.counts = 0;
        }
        self.files
            .sort_by(|a, b| b.modified.cmp(&a.modified).then_with(|| a.path.cmp(&b.path)));
        if !alone {
            self.watch.distrust();
        }
        Ok(())
    }
}

/// A note and its words, which are nothing where the vocabulary has no room for them.
fn read(folder: &Path, file: &File, vocabulary: &mut Vocabulary) -> Option<(Note, Option<Box<[Count]>>)> {
    let text = read_head(&file.path, MAX_NOTE as u64)?;
    let note = note(folder, file.path.clone(), file.modified, &text);
    let counts = vocabulary.count(&title(&note), body(&text));
    Some((note, counts))
}

fn title(note: &Note) -> String {
    format!("{} {}", note.title, note.names.join(" "))
}
