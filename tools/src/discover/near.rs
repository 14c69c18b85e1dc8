//! How near a request comes to the example utterances of each tool: what a tool knows of itself speaks for it where
//! nobody taught the model, and no training is needed when a tool is added.

use super::{
    Doc,
    learned::features_of,
    words::{self, Forms, Lexicon, Spread},
};

/// A feature that more than this share of all examples has tells nothing and would cost the most time.
const COMMON: f32 = 0.25;

/// The examples of every tool as vectors of unit length.
pub struct Near {
    /// What a feature weighs in a text, and where in `postings` its examples stand.
    rows: Spread<(f32, std::ops::Range<u32>)>,
    /// Examples that have a feature, and what it weighs there.
    postings: Vec<(u32, f32)>,
    /// Whose each example is.
    owners: Vec<usize>,
    /// What a feature weighs that no example has.
    unheard: f32,
}

impl Near {
    /// Weighs each feature by how few examples have it. The words of the examples are remembered.
    pub fn build(docs: &[Doc], lexicon: &mut Lexicon) -> Near {
        let mut owners = Vec::new();
        let mut texts = Vec::new();
        for (doc, example) in docs
            .iter()
            .enumerate()
            .flat_map(|(i, d)| d.examples.iter().map(move |e| (i, e)))
        {
            owners.push(doc);
            let words = words::split(example);
            let forms: Vec<Forms> = words.iter().map(|w| lexicon.meet(w).clone()).collect();
            texts.push(features_of(&words, forms.iter()));
        }
        let mut all: Vec<(u32, u32)> = (0..)
            .zip(&texts)
            .flat_map(|(example, text)| text.iter().map(move |f| (*f, example)))
            .collect();
        all.sort_unstable();
        let n = texts.len().max(1) as f32;
        let (mut rows, mut postings) = (Spread::default(), Vec::with_capacity(all.len()));
        for having in all.chunk_by(|a, b| a.0 == b.0) {
            if having.len() as f32 > (COMMON * n).max(3.0) {
                continue;
            }
            let idf = (1.0 + n / having.len() as f32).ln();
            let from = postings.len() as u32;
            postings.extend(having.iter().map(|(_, example)| (*example, idf * idf)));
            rows.insert(having[0].0, (idf, from..postings.len() as u32));
        }
        let idf = |f: &u32| rows.get(f).map_or(0.0, |row| row.0);
        let lengths: Vec<f32> = texts
            .iter()
            .map(|t| t.iter().map(|f| idf(f).powi(2)).sum::<f32>().sqrt())
            .collect();
        for (example, weight) in &mut postings {
            *weight /= lengths[*example as usize].max(f32::MIN_POSITIVE);
        }
        Near {
            rows,
            postings,
            owners,
            unheard: (1.0 + n).ln(),
        }
    }

    /// The cosine between a text of these features and the nearest example of each of so many tools.
    pub fn likeness(&self, features: &[u32], tools: usize) -> Vec<f32> {
        let mut sums = vec![0.0; self.owners.len()];
        let mut length = 0.0;
        for feature in features {
            let Some((idf, range)) = self.rows.get(feature) else {
                length += self.unheard * self.unheard;
                continue;
            };
            length += idf * idf;
            for (example, weight) in &self.postings[range.start as usize..range.end as usize] {
                sums[*example as usize] += weight;
            }
        }
        let length = length.sqrt().max(f32::MIN_POSITIVE);
        let mut best = vec![0.0_f32; tools];
        for (sum, owner) in sums.into_iter().zip(&self.owners) {
            best[*owner] = best[*owner].max(sum / length);
        }
        best
    }
}
