//! What public requests taught about tools: a linear model over words and pieces of words, shipped as data.
//!
//! A class is an intent: the set of tools that people who label requests accept for it, by the names of the contract, and
//! one class for what no tool serves. The catalogue may lack tools of an intent; such an intent only takes its share of
//! the probability, and the tool profits as soon as it is there. `examples/train_discovery` writes the file, and
//! `tools/data/README.md` says what it was made from.

use std::{borrow::Cow, collections::HashMap, sync::LazyLock};

use serde::{Deserialize, Serialize};

use super::words::Normaliser;

/// The shipped model.
static SHIPPED: &[u8] = include_bytes!("../../data/discovery.bin");
const MAGIC: &[u8; 8] = b"TIRODSC1";
/// Shortest and longest pieces of words, in characters, the marks at both ends counted.
const PIECES: std::ops::RangeInclusive<usize> = 3..=5;
/// A longer word is looked at as far as this, in characters.
const MAX_WORD: usize = 24;

/// A linear model from the features of a text to intents.
#[derive(Default)]
pub struct Learned {
    head: Head,
    bias: Vec<f32>,
    /// Row of each feature.
    rows: HashMap<u32, u32>,
    /// What one step of a weight of this row is worth.
    steps: Vec<f32>,
    /// One row of as many weights as there are intents for each feature.
    weights: Cow<'static, [u8]>,
}

/// What the file says of itself, as JSON in front of the numbers.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Head {
    /// Names of the tools of each intent, sorted; the one without any is for what nothing serves.
    pub intents: Vec<Vec<String>>,
    /// How many features have weights.
    pub features: usize,
    /// SHA-256 of the utterances that it was trained on, as they lie on the disk.
    pub trained_on: String,
    /// How many of them were used.
    pub utterances: usize,
}

/// One feature and its weights, one for each intent.
pub struct Row {
    /// Its hash.
    pub feature: u32,
    /// In the order of the intents.
    pub weights: Vec<f32>,
}

impl Learned {
    /// The model that Tiro ships with, read once.
    pub fn shipped() -> &'static Learned {
        static MODEL: LazyLock<Learned> =
            LazyLock::new(|| Learned::read(Cow::Borrowed(SHIPPED)).unwrap_or_default());
        &MODEL
    }

    /// A model as [`Learned::write`] writes it: magic, length of the head, head, bias, features, steps, weights, all
    /// little endian. Nothing when the bytes are anything else.
    pub fn read(bytes: Cow<'static, [u8]>) -> Option<Learned> {
        let (length, rest) = bytes.strip_prefix(MAGIC)?.split_first_chunk::<4>()?;
        let (head, rest) = rest.split_at_checked(u32::from_le_bytes(*length) as usize)?;
        let head: Head = serde_json::from_slice(head).ok()?;
        let (n, classes) = (head.features, head.intents.len());
        let (bias, rest) = rest.split_at_checked(classes * 4)?;
        let (features, rest) = rest.split_at_checked(n.checked_mul(4)?)?;
        let (steps, weights) = rest.split_at_checked(n * 4)?;
        if weights.len() != n * classes {
            return None;
        }
        let floats = |bytes: &[u8]| words(bytes).map(f32::from_le_bytes).collect::<Vec<f32>>();
        let rows = words(features).map(u32::from_le_bytes).zip(0..).collect();
        let (bias, steps) = (floats(bias), floats(steps));
        let start = bytes.len() - weights.len();
        let weights = match bytes {
            Cow::Borrowed(all) => Cow::Borrowed(&all[start..]),
            Cow::Owned(mut all) => Cow::Owned(all.split_off(start)),
        };
        Some(Learned {
            head,
            bias,
            rows,
            steps,
            weights,
        })
    }

    /// The bytes of a model, weights rounded to 8 bits, each row with a step of its own.
    pub fn write(mut head: Head, bias: &[f32], rows: &[Row]) -> serde_json::Result<Vec<u8>> {
        head.features = rows.len();
        let described = serde_json::to_vec(&head)?;
        let mut out = MAGIC.to_vec();
        out.extend((described.len() as u32).to_le_bytes());
        out.extend(described);
        out.extend(bias.iter().flat_map(|b| b.to_le_bytes()));
        out.extend(rows.iter().flat_map(|r| r.feature.to_le_bytes()));
        let steps: Vec<f32> = rows.iter().map(|r| peak(&r.weights) / 127.0).collect();
        out.extend(steps.iter().flat_map(|s| s.to_le_bytes()));
        for (row, step) in rows.iter().zip(steps) {
            let steps = row
                .weights
                .iter()
                .map(|w| if step > 0.0 { (w / step).round() } else { 0.0 });
            out.extend(steps.map(|w| (w as i8).cast_unsigned()));
        }
        Ok(out)
    }

    /// Where the model comes from.
    pub fn head(&self) -> &Head {
        &self.head
    }

    /// Natural logarithm of the probability of each intent for a text of these features.
    pub fn log_probabilities(&self, features: &[u32]) -> Vec<f32> {
        let classes = self.bias.len();
        let mut sums = vec![0.0; classes];
        for row in features.iter().filter_map(|f| self.rows.get(f)) {
            let row = *row as usize;
            let step = self.steps[row];
            let weights = &self.weights[row * classes..(row + 1) * classes];
            for (sum, weight) in sums.iter_mut().zip(weights) {
                *sum += step * f32::from(weight.cast_signed());
            }
        }
        let share = share(features.len());
        for (sum, bias) in sums.iter_mut().zip(&self.bias) {
            *sum = *sum * share + bias;
        }
        let top = sums.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let total = top + sums.iter().map(|s| (s - top).exp()).sum::<f32>().ln();
        sums.iter_mut().for_each(|s| *s -= total);
        sums
    }
}

/// What a text shows to the model: hashes of its stems, pairs of stems and pieces of words, sorted, each once.
pub fn features(normal: &Normaliser, words: &[String]) -> Vec<u32> {
    let mut found = Vec::with_capacity(words.len() * 16);
    let stems: Vec<String> = words.iter().map(|w| normal.stem(w)).collect();
    let mut before = "^";
    for stem in stems.iter().map(String::as_str).chain(["$"]) {
        found.push(hash(b'b', &[before, " ", stem]));
        before = stem;
    }
    let mut letters = Vec::new();
    for (word, stem) in words.iter().zip(&stems) {
        found.push(hash(b'w', &[stem]));
        // Values have been replaced by their class; how they are spelt says nothing.
        if stem.starts_with('#') {
            continue;
        }
        letters.clear();
        letters.push('<');
        letters.extend(word.chars().take(MAX_WORD));
        letters.push('>');
        for n in PIECES {
            for piece in letters.windows(n) {
                let mut bytes = [0; 4];
                let start = step(SEED, b'c');
                found.push(
                    piece
                        .iter()
                        .fold(start, |h, c| c.encode_utf8(&mut bytes).bytes().fold(h, step)),
                );
            }
        }
    }
    found.sort_unstable();
    found.dedup();
    found
}

/// What one of `n` features counts, so that long texts weigh no more than short ones.
pub fn share(n: usize) -> f32 {
    1.0 / (n.max(1) as f32).sqrt()
}

const SEED: u32 = 0x811c_9dc5;

/// FNV-1a of 32 bits.
fn hash(kind: u8, parts: &[&str]) -> u32 {
    let bytes = parts.iter().flat_map(|p| p.bytes());
    bytes.fold(step(SEED, kind), step)
}

fn step(hash: u32, byte: u8) -> u32 {
    (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
}

fn peak(weights: &[f32]) -> f32 {
    weights.iter().fold(0.0, |peak, w| peak.max(w.abs()))
}

fn words(bytes: &[u8]) -> impl Iterator<Item = [u8; 4]> {
    bytes.as_chunks::<4>().0.iter().copied()
}
