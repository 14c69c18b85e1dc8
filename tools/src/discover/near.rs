//! How near a request comes to the example utterances of each tool: what a tool knows of itself speaks for it where
//! nobody taught the model, and no training is needed when a tool is added.

use std::collections::HashMap;

use super::{
    Doc,
    learned::features,
    words::{self, Normaliser},
};

/// A feature that more than this share of all examples has tells nothing and would cost the most time.
const COMMON: f32 = 0.25;

/// The examples of every tool as vectors of unit length.
pub struct Near {
    /// Which examples have a feature, and what it weighs there.
    postings: HashMap<u32, (f32, Vec<(u32, f32)>)>,
    /// Whose each example is.
    owners: Vec<usize>,
    /// What a feature weighs that no example has.
    unheard: f32,
}

impl Near {
    /// Weighs each feature by how few examples have it.
    pub fn build(docs: &[Doc], normal: &Normaliser) -> Near {
        let mut owners = Vec::new();
        let mut texts = Vec::new();
        for (doc, example) in docs
            .iter()
            .enumerate()
            .flat_map(|(i, d)| d.examples.iter().map(move |e| (i, e)))
        {
            owners.push(doc);
            texts.push(features(normal, &words::split(example)));
        }
        let mut postings: HashMap<u32, (f32, Vec<(u32, f32)>)> = HashMap::new();
        for (example, text) in (0..).zip(&texts) {
            for feature in text {
                postings.entry(*feature).or_default().1.push((example, 0.0));
            }
        }
        let n = texts.len().max(1) as f32;
        postings.retain(|_, p| p.1.len() as f32 <= (COMMON * n).max(3.0));
        for (idf, examples) in postings.values_mut() {
            *idf = (1.0 + n / examples.len() as f32).ln();
        }
        let idf = |f: &u32| postings.get(f).map_or(0.0, |p| p.0);
        let lengths: Vec<f32> = texts
            .iter()
            .map(|t| t.iter().map(|f| idf(f).powi(2)).sum::<f32>().sqrt())
            .collect();
        for (idf, examples) in postings.values_mut() {
            for (example, weight) in examples {
                *weight = *idf * *idf / lengths[*example as usize].max(f32::MIN_POSITIVE);
            }
        }
        Near {
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
            let Some((idf, examples)) = self.postings.get(feature) else {
                length += self.unheard * self.unheard;
                continue;
            };
            length += idf * idf;
            for (example, weight) in examples {
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
