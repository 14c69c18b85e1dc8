//! What was learned for Tiro on top of the encoder, shipped as data: a small change of each of its matrices (LoRA, Hu et al.
//! 2021), and a linear model from a sentence's vector to intents. `models/data/README.md` says how it was made.

use std::sync::LazyLock;

use ndarray::{Array1, Array2, ArrayView2};
use serde::Deserialize;

use super::encoder::{HIDDEN, INNER, LAYERS};

/// The shipped file.
static SHIPPED: &[u8] = include_bytes!("../../data/reader.bin");
const MAGIC: &[u8; 8] = b"TIRORDR1";

/// The matrices of a layer with their inputs and outputs, in the order of the file.
const MATRICES: [(&str, usize, usize); 6] = [
    ("attention.self.query", HIDDEN, HIDDEN),
    ("attention.self.key", HIDDEN, HIDDEN),
    ("attention.self.value", HIDDEN, HIDDEN),
    ("attention.output.dense", HIDDEN, HIDDEN),
    ("intermediate.dense", HIDDEN, INNER),
    ("output.dense", INNER, HIDDEN),
];

/// What the file says of itself, as JSON in front of the numbers; of what else stands there tests read.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Head {
    /// Names of the tools of each intent, as the discovery index has them.
    pub(super) intents: Vec<Vec<String>>,
    /// Columns of the first and rows of the second matrix of a change.
    rank: usize,
}

/// The parts of the file.
pub(super) struct Tuned<'file> {
    pub(super) head: Head,
    /// Vector to intents.
    pub(super) weight: Array2<f32>,
    pub(super) bias: Array1<f32>,
    /// In the order of the layers and of [`MATRICES`].
    changes: Vec<[Narrow<'file>; 2]>,
}

/// A matrix as it stands in the file, the upper halves of 32-bit floats. It is made wide for each use: kept wide, all of them would
/// take three megabytes of a daemon for good.
type Narrow<'file> = ArrayView2<'file, [u8; 2]>;

fn wide(matrix: &Narrow<'_>) -> Array2<f32> {
    matrix.map(|half| f32::from_bits(u32::from(u16::from_le_bytes(*half)) << 16))
}

impl<'file> Tuned<'file> {
    /// The file that Tiro ships with, read once. `None` when it is not what it should be.
    pub(super) fn shipped() -> Option<&'static Tuned<'static>> {
        static TUNED: LazyLock<Option<Tuned<'static>>> = LazyLock::new(|| Tuned::read(SHIPPED));
        TUNED.as_ref()
    }

    /// A file as `models/data/train_reader.py` writes it: magic, the length of the head as `u32`, the head, and the numbers, the upper
    /// halves of 32-bit floats; all little endian.
    pub(super) fn read(bytes: &'file [u8]) -> Option<Tuned<'file>> {
        let rest = bytes.strip_prefix(MAGIC)?;
        let (length, rest) = rest.split_first_chunk::<4>()?;
        let (head, rest) = rest.split_at_checked(u32::from_le_bytes(*length) as usize)?;
        let head: Head = serde_json::from_slice(head).ok()?;
        let (mut numbers, odd) = rest.as_chunks::<2>();
        if !odd.is_empty() || head.rank > HIDDEN {
            return None;
        }
        let mut matrix = |rows: usize, columns: usize| {
            let (halves, rest) = numbers.split_at_checked(rows * columns)?;
            numbers = rest;
            Narrow::from_shape((rows, columns), halves).ok()
        };
        let mut changes = Vec::with_capacity(LAYERS * MATRICES.len());
        for _ in 0..LAYERS {
            for (_, inputs, outputs) in MATRICES {
                changes.push([matrix(inputs, head.rank)?, matrix(head.rank, outputs)?]);
            }
        }
        let weight = wide(&matrix(HIDDEN, head.intents.len())?);
        let bias = wide(&matrix(1, head.intents.len())?).row(0).to_owned();
        numbers.is_empty().then_some(Tuned {
            head,
            weight,
            bias,
            changes,
        })
    }

    /// The product of these two, inputs by outputs, is added to a matrix of the encoder.
    pub(super) fn change(&self, name: &str) -> Option<[Array2<f32>; 2]> {
        let (layer, part) = name.strip_prefix("encoder.layer.")?.split_once('.')?;
        let layer: usize = layer.parse().ok()?;
        let place = MATRICES.iter().position(|(name, ..)| *name == part)?;
        let both = self.changes.get(layer * MATRICES.len() + place)?;
        Some(both.each_ref().map(wide))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The head of the shipped file, whole.
    fn head() -> serde_json::Value {
        let rest = SHIPPED.strip_prefix(MAGIC).unwrap();
        let (length, rest) = rest.split_first_chunk::<4>().unwrap();
        serde_json::from_slice(&rest[..u32::from_le_bytes(*length) as usize]).unwrap()
    }

    #[test]
    fn the_shipped_file_is_of_the_model_that_is_pulled() {
        let registry = crate::registry::Registry::builtin();
        assert_eq!(
            head()["encoder"],
            registry.find(super::super::MODEL).unwrap().sha256
        );
        let tuned = Tuned::shipped().unwrap();
        // Something was learned of every matrix.
        for layer in 0..LAYERS {
            for (name, inputs, outputs) in MATRICES {
                let name = format!("encoder.layer.{layer}.{name}");
                let [first, second] = tuned.change(&name).unwrap();
                let change = first.dot(&second);
                assert_eq!(change.dim(), (inputs, outputs));
                let largest = change.fold(0.0_f32, |top, x| top.max(x.abs()));
                assert!((1e-4..10.0).contains(&largest), "{name}: {largest}");
            }
        }
    }

    #[test]
    fn what_is_cut_or_longer_is_not_taken() {
        for cut in [
            0,
            7,
            8,
            11,
            40,
            SHIPPED.len() / 2,
            SHIPPED.len() - 1,
            SHIPPED.len() - 2,
        ] {
            assert!(Tuned::read(&SHIPPED[..cut]).is_none(), "{cut}");
        }
        assert!(Tuned::read(&[SHIPPED, &[0, 0]].concat()).is_none());
        let mut long = SHIPPED.to_vec();
        long[8..12].copy_from_slice(&u32::MAX.to_le_bytes());
        assert!(Tuned::read(&long).is_none());
    }
}
