//! Reads a request: a small encoder of sentences says which set of tools is meant, as a second opinion beside the discovery index.
//!
//! The index counts words and pieces of words; what it never saw says nothing to it. The encoder was trained on a thousand million
//! pairs of sentences before it saw a request for a tool. It is a file of 91 MB that need not be there, and it runs in the process
//! that asks: it is pure Rust, keeps next to nothing in memory, and is done before an engine would have been asked.

mod encoder;
mod tuned;
mod weights;
mod wordpiece;

use std::{
    collections::VecDeque,
    io::ErrorKind,
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};

use encoder::Encoder;
use tuned::Tuned;
use weights::Weights;
pub(crate) use weights::inspect;

use crate::header::BadFile;

/// Why a request cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ReaderError {
    /// The file is not there, or not the encoder.
    #[error("{path}: {reason}", path = path.display())]
    Bad {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: BadFile,
    },
    /// What was learned for the encoder cannot be read.
    #[error("models/data/reader.bin is damaged; train it again")]
    Damaged,
}

/// The model that reads, by its name in `models.toml`.
pub const MODEL: &str = "all-minilm-l6-v2";

/// So many requests are remembered: those of a turn, since each is looked up several times.
const REMEMBERED: usize = 16;

/// Reads requests. Its file is opened for each, so that it may come and go.
pub struct Reader {
    path: PathBuf,
    /// What was read last, newest last.
    last: Mutex<VecDeque<(Vec<String>, Vec<f32>)>>,
    /// Room for a matrix, kept from one request to the next; who reads takes it along.
    room: Mutex<Vec<f32>>,
}

impl Reader {
    /// A reader with the encoder of this file, which need not be there.
    pub fn at(path: PathBuf) -> Reader {
        Reader {
            path,
            last: Mutex::default(),
            room: Mutex::default(),
        }
    }

    /// The names of the tools of each intent, sorted; the one without any is for what nothing serves.
    pub fn intents(&self) -> &'static [Vec<String>] {
        Tuned::shipped().map_or(&[], |tuned| &tuned.head.intents)
    }

    /// Natural logarithm of the probability of each intent for a request of these lower-cased words. `None` when there is
    /// no encoder; when it cannot be used, the log has why.
    pub fn log_probabilities(&self, words: &[String]) -> Option<Vec<f32>> {
        let known = |last: &VecDeque<(Vec<String>, Vec<f32>)>| {
            let found = last.iter().find(|(known, _)| known == words);
            found.map(|(_, read)| read.clone())
        };
        if let Some(read) = known(&self.last.lock().unwrap_or_else(PoisonError::into_inner)) {
            return Some(read);
        }
        let kept = || self.room.lock().unwrap_or_else(PoisonError::into_inner);
        let mut room = std::mem::take(&mut *kept());
        let read = read_in(&mut room, &self.path, words);
        *kept() = room;
        let read = match read {
            Ok(read) => read,
            Err(ReaderError::Bad {
                reason: BadFile::Io(cause),
                ..
            }) if cause.kind() == ErrorKind::NotFound => return None,
            Err(error) => {
                tracing::warn!(%error, "a request cannot be read");
                return None;
            }
        };
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        last.push_back((words.to_vec(), read.clone()));
        if last.len() > REMEMBERED {
            last.pop_front();
        }
        Some(read)
    }
}

/// Reads these words with the encoder of this file: the logarithms of the probabilities of the intents.
///
/// # Errors
/// Why it cannot be done.
pub fn read(path: &Path, words: &[String]) -> Result<Vec<f32>, ReaderError> {
    read_in(&mut Vec::new(), path, words)
}

/// The same with room for a matrix.
fn read_in(room: &mut Vec<f32>, path: &Path, words: &[String]) -> Result<Vec<f32>, ReaderError> {
    let tuned = Tuned::shipped().ok_or(ReaderError::Damaged)?;
    let weights = Weights::open(path)?;
    let mut encoder = Encoder {
        weights: &weights,
        tuned,
        room,
    };
    let vector = encoder.encode(&wordpiece::pieces(words, encoder::MOST))?;
    let mut sums = vector.dot(&tuned.weight) + &tuned.bias;
    let top = sums.fold(f32::NEG_INFINITY, |top, sum| top.max(*sum));
    let total = top + sums.mapv(|sum| (sum - top).exp()).sum().ln();
    sums.mapv_inplace(|sum| sum - total);
    if sums.iter().any(|sum| !sum.is_finite()) {
        return Err(ReaderError::Bad {
            path: path.to_owned(),
            reason: BadFile::Damaged("what comes of its numbers is no number".to_owned()),
        });
    }
    Ok(sums.to_vec())
}
