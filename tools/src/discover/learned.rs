//! What public requests taught about tools: a linear model over words and pieces of words, shipped as data.
//!
//! A class is an intent: the set of tools that people who label requests accept for it, by the names of the contract, and
//! one class for what no tool serves. The catalogue may lack tools of an intent; such an intent only takes its share of
//! the probability, and the tool profits as soon as it is there. `src/bin/train_discovery` writes the file, and
//! `tools/data/README.md` says what it was made from.

use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

use super::words::{Forms, Normaliser, Spread};

/// The shipped model.
static SHIPPED: &[u8] = include_bytes!("../../data/discovery.bin");
/// One byte names an intent.
const MAX_INTENTS: usize = 255;
const MAGIC: &[u8; 8] = b"TIRODSC3";
/// No stretch of the file is longer than this once it is inflated, whatever it says of itself: 32 MiB.
const MAX_INFLATED: usize = 32 << 20;
/// How hard it is tried to make the file small, 0 to 10. It is written once.
const EFFORT: u8 = 10;
/// Shortest and longest pieces of words, in characters, the marks at both ends counted.
const PIECES: std::ops::RangeInclusive<usize> = 3..=5;
/// A longer word is looked at as far as this, in characters.
const MAX_WORD: usize = 24;
/// Lengths of the stretches of sounds, in letters of double metaphone. They run across words, because a recogniser that
/// mishears mostly gets the sounds right and the words and their borders wrong.
const SOUNDS: std::ops::RangeInclusive<usize> = 3..=4;

/// A linear model from the features of a text to intents.
#[derive(Default)]
pub struct Learned {
    head: Head,
    bias: Vec<f32>,
    rows: Spread<Stretch>,
    /// Intent and weight in steps, row after row.
    weights: Vec<[u8; 2]>,
}

/// Where the weights of one feature stand.
struct Stretch {
    /// First and behind the last.
    from: u32,
    to: u32,
    /// What one step of a weight is worth.
    step: f32,
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
        static MODEL: LazyLock<Learned> = LazyLock::new(|| Learned::read(SHIPPED).unwrap_or_default());
        &MODEL
    }

    /// A model as [`Learned::write`] writes it. Nothing when the bytes are anything else.
    pub fn read(bytes: &[u8]) -> Option<Learned> {
        let mut rest = bytes.strip_prefix(MAGIC)?;
        let head: Head = serde_json::from_slice(taken(&mut rest)?).ok()?;
        let (n, classes) = (head.features, head.intents.len());
        let numbers = inflated(&mut rest)?;
        let [intents, rounded] = [inflated(&mut rest)?, inflated(&mut rest)?];
        let (bias, numbers) = numbers.split_at_checked(classes * 4)?;
        let (gaps, numbers) = numbers.split_at_checked(n.checked_mul(4)?)?;
        let (steps, counts) = numbers.split_at_checked(n * 4)?;
        if counts.len() != n || intents.len() != rounded.len() || !rest.is_empty() {
            return None;
        }
        let mut rows = Spread::with_capacity_and_hasher(n, Default::default());
        let mut weights = Vec::with_capacity(intents.len());
        let mut feature = 0_u32;
        for ((gap, step), count) in words(gaps).zip(words(steps)).zip(counts) {
            feature = feature.checked_add(u32::from_le_bytes(gap))?;
            let from = weights.len();
            let row = from..from + usize::from(*count);
            let mut intent = 0_u8;
            for (gap, rounded) in intents.get(row.clone())?.iter().zip(rounded.get(row)?) {
                intent = intent.checked_add(*gap)?;
                if usize::from(intent) >= classes {
                    return None;
                }
                weights.push([intent, *rounded]);
            }
            let (from, to) = (u32::try_from(from).ok()?, u32::try_from(weights.len()).ok()?);
            let step = f32::from_le_bytes(step);
            rows.insert(feature, Stretch { from, to, step });
        }
        let bias = words(bias).map(f32::from_le_bytes).collect();
        (weights.len() == intents.len()).then_some(Learned {
            head,
            bias,
            rows,
            weights,
        })
    }

    /// The bytes of a model: magic, head, and three deflated streams, each with its length in front: numbers, intents and
    /// weights; all little endian. The numbers are bias, features, steps and how many weights each feature has. Weights are
    /// rounded to 8 bits, each row with a step of its own, and those that are zero then are left out. Features, and the
    /// intents of a row, are sorted and stand as the difference to the one before: small numbers deflate well.
    ///
    /// # Errors
    /// When the head cannot be written as JSON, there are more intents than a byte can name, or the features are not
    /// sorted.
    pub fn write(mut head: Head, bias: &[f32], rows: &[Row]) -> serde_json::Result<Vec<u8>> {
        if bias.len() > MAX_INTENTS {
            return Err(serde::ser::Error::custom("too many intents"));
        }
        head.features = rows.len();
        let mut out = MAGIC.to_vec();
        put(&mut out, &serde_json::to_vec(&head)?);
        let mut numbers: Vec<u8> = bias.iter().flat_map(|b| b.to_le_bytes()).collect();
        let mut before = 0;
        for row in rows {
            let gap = row.feature.checked_sub(before);
            let gap = gap.ok_or_else(|| serde::ser::Error::custom("features that are not sorted"))?;
            numbers.extend(gap.to_le_bytes());
            before = row.feature;
        }
        let steps: Vec<f32> = rows.iter().map(|r| peak(&r.weights) / 127.0).collect();
        numbers.extend(steps.iter().flat_map(|s| s.to_le_bytes()));
        let (mut intents, mut weights) = (Vec::new(), Vec::new());
        for (row, step) in rows.iter().zip(steps) {
            let (first, mut before) = (weights.len(), 0);
            for (intent, weight) in (0_u8..).zip(&row.weights) {
                let rounded = if step > 0.0 {
                    (weight / step).round() as i8
                } else {
                    0
                };
                if rounded != 0 {
                    intents.push(intent - before);
                    weights.push(rounded.cast_unsigned());
                    before = intent;
                }
            }
            numbers.push((weights.len() - first) as u8);
        }
        for stream in [numbers, intents, weights] {
            put(&mut out, &miniz_oxide::deflate::compress_to_vec(&stream, EFFORT));
        }
        Ok(out)
    }

    /// Where the model comes from.
    pub fn head(&self) -> &Head {
        &self.head
    }

    /// Natural logarithm of the probability of each intent for a text of these features.
    pub fn log_probabilities(&self, features: &[u32]) -> Vec<f32> {
        // As many as a byte can name, so that no place has to be checked.
        let mut sums = [0.0_f32; 256];
        for row in features.iter().filter_map(|f| self.rows.get(f)) {
            let weights = &self.weights[row.from as usize..row.to as usize];
            for &[intent, weight] in weights {
                sums[usize::from(intent)] += row.step * f32::from(weight.cast_signed());
            }
        }
        let mut sums = sums[..self.bias.len()].to_vec();
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

/// What a text shows to the model: hashes of its stems, pairs of stems, pieces of words, sounds of words and stretches of
/// sounds; sorted, each once.
pub fn features(normal: &Normaliser, words: &[String]) -> Vec<u32> {
    let forms: Vec<Forms> = words.iter().map(|w| normal.forms(w)).collect();
    features_of(words, forms.iter())
}

/// The same of words whose forms are known.
pub fn features_of<'a>(words: &[String], forms: impl Iterator<Item = &'a Forms> + Clone) -> Vec<u32> {
    let mut found = Vec::with_capacity(words.len() * 24);
    let mut before = "^";
    for stem in forms.clone().map(|f| &*f.stem).chain(["$"]) {
        found.push(hash(b'b', &[before, " ", stem]));
        before = stem;
    }
    let mut letters = Vec::new();
    for (word, stem) in words.iter().zip(forms.clone().map(|f| &*f.stem)) {
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
    let sounds = forms.map(|f| &*f.sound);
    found.extend(sounds.clone().filter(|s| !s.is_empty()).map(|s| hash(b'p', &[s])));
    let sounds: String = sounds.collect();
    for n in SOUNDS {
        let stretches = sounds.as_bytes().windows(n);
        found.extend(stretches.map(|s| s.iter().copied().fold(step(SEED, b'q'), step)));
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

/// Takes one stretch off the front, which has its length in front of it.
fn taken<'a>(rest: &mut &'a [u8]) -> Option<&'a [u8]> {
    let (length, behind) = rest.split_first_chunk::<4>()?;
    let (stretch, behind) = behind.split_at_checked(u32::from_le_bytes(*length) as usize)?;
    *rest = behind;
    Some(stretch)
}

/// The same for one that is deflated.
fn inflated(rest: &mut &[u8]) -> Option<Vec<u8>> {
    miniz_oxide::inflate::decompress_to_vec_with_limit(taken(rest)?, MAX_INFLATED).ok()
}

fn put(out: &mut Vec<u8>, stretch: &[u8]) {
    out.extend((stretch.len() as u32).to_le_bytes());
    out.extend(stretch);
}

fn words(bytes: &[u8]) -> impl Iterator<Item = [u8; 4]> {
    bytes.as_chunks::<4>().0.iter().copied()
}
