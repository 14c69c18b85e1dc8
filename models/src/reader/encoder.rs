//! The encoder: a BERT of six layers that was trained to give sentences of one meaning one direction (all-MiniLM-L6-v2,
//! Wang et al. 2020, Reimers and Gurevych 2019). Sentences are a dozen pieces long, so this takes about twenty milliseconds of one core.

use ndarray::{Array1, Array2, Axis, s};

use super::{ReaderError, tuned::Tuned, weights::Weights};

/// Numbers of a piece, of a piece inside a layer, and of a head.
pub(super) const HIDDEN: usize = 384;
pub(super) const INNER: usize = 1536;
const HEADS: usize = 12;
const HEAD: usize = HIDDEN / HEADS;
pub(super) const LAYERS: usize = 6;
/// Longest sentence, in pieces. The encoder knows 512 places; a request that is longer than this says early what it wants.
pub(super) const MOST: usize = 64;
const POSITIONS: usize = 512;
const PIECES: usize = 30_522;

/// Added to a variance before its root is taken.
const EPSILON: f32 = 1e-12;

/// From pieces to one vector.
pub(super) struct Encoder<'a> {
    pub(super) weights: &'a Weights,
    /// What was learned for Tiro.
    pub(super) tuned: &'a Tuned<'static>,
    /// Room for the largest of its matrices, one after the other. Given a room of its own, each would be asked of the system anew or
    /// kept by the allocator of every thread.
    pub(super) room: &'a mut Vec<f32>,
}

impl Encoder<'_> {
    /// The mean of what the last layer makes of each piece, at most [`MOST`].
    ///
    /// # Errors
    /// `Bad` where the file is not of the model that is meant or cannot be read, or for a piece that there is none of.
    pub(super) fn encode(&mut self, pieces: &[u32]) -> Result<Array1<f32>, ReaderError> {
        let pieces = &pieces[..pieces.len().min(MOST)];
        let place = |name: &str, length: usize, count: usize| {
            let name = format!("embeddings.{name}_embeddings.weight");
            self.weights.rows(&name, [length, HIDDEN], 0, count)
        };
        let mut rows = place("position", POSITIONS, pieces.len())?;
        rows += &place("token_type", 2, 1)?.row(0);
        for (mut row, piece) in rows.rows_mut().into_iter().zip(pieces) {
            let words = "embeddings.word_embeddings.weight";
            let word = self.weights.rows(words, [PIECES, HIDDEN], *piece as usize, 1)?;
            row += &word.row(0);
        }
        self.norm("embeddings.LayerNorm", &mut rows)?;
        for layer in 0..LAYERS {
            rows = self.layer(layer, rows)?;
        }
        Ok(rows.mean_axis(Axis(0)).unwrap_or_else(|| Array1::zeros(HIDDEN)))
    }

    fn layer(&mut self, number: usize, rows: Array2<f32>) -> Result<Array2<f32>, ReaderError> {
        let name = |part: &str| format!("encoder.layer.{number}.{part}");
        let linear = |this: &mut Self, part: &str, rows: &Array2<f32>, outputs: usize| {
            this.linear(&name(part), rows, outputs)
        };
        let query = linear(self, "attention.self.query", &rows, HIDDEN)?;
        let key = linear(self, "attention.self.key", &rows, HIDDEN)?;
        let value = linear(self, "attention.self.value", &rows, HIDDEN)?;
        let mut heads = Array2::zeros(rows.raw_dim());
        for head in 0..HEADS {
            let part = s![.., head * HEAD..(head + 1) * HEAD];
            let mut scores = query.slice(part).dot(&key.slice(part).t());
            scores.mapv_inplace(|score| score / (HEAD as f32).sqrt());
            for mut row in scores.rows_mut() {
                let top = row.fold(f32::NEG_INFINITY, |top, score| top.max(*score));
                row.mapv_inplace(|score| (score - top).exp());
                let sum = row.sum();
                row.mapv_inplace(|score| score / sum);
            }
            heads.slice_mut(part).assign(&scores.dot(&value.slice(part)));
        }
        let mut rows = rows + linear(self, "attention.output.dense", &heads, HIDDEN)?;
        self.norm(&name("attention.output.LayerNorm"), &mut rows)?;
        let mut wide = linear(self, "intermediate.dense", &rows, INNER)?;
        wide.mapv_inplace(gelu);
        let mut rows = rows + linear(self, "output.dense", &wide, HIDDEN)?;
        self.norm(&name("output.LayerNorm"), &mut rows)?;
        Ok(rows)
    }

    /// A matrix of the file, with what was learned added, and its bias.
    fn linear(&mut self, name: &str, rows: &Array2<f32>, outputs: usize) -> Result<Array2<f32>, ReaderError> {
        let shape = [outputs, rows.ncols()];
        let bias = self.weights.vector(&format!("{name}.bias"), outputs)?;
        let weight = self.weights.matrix(&format!("{name}.weight"), shape, self.room)?;
        let mut out = rows.dot(&weight.t()) + &bias;
        if let Some([first, second]) = self.tuned.change(name) {
            out += &rows.dot(&first).dot(&second);
        }
        Ok(out)
    }

    fn norm(&self, name: &str, rows: &mut Array2<f32>) -> Result<(), ReaderError> {
        let gain = self.weights.vector(&format!("{name}.weight"), HIDDEN)?;
        let bias = self.weights.vector(&format!("{name}.bias"), HIDDEN)?;
        for mut row in rows.rows_mut() {
            let n = row.len() as f32;
            let mean = row.sum() / n;
            let variance = row.fold(0.0, |sum, x| sum + (x - mean) * (x - mean)) / n;
            let scale = (variance + EPSILON).sqrt().recip();
            row.mapv_inplace(|x| (x - mean) * scale);
            row *= &gain;
            row += &bias;
        }
        Ok(())
    }
}

/// The form with the hyperbolic tangent, as in training.
fn gelu(x: f32) -> f32 {
    /// The root of 2 / pi.
    const ROOT: f32 = 0.797_884_6;
    0.5 * x * (1.0 + (ROOT * (x + 0.044_715 * x * x * x)).tanh())
}
