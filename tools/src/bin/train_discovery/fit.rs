//! The fit itself: multinomial logistic regression by AdaGrad, with dropout of features and a little weight decay.
//!
//! Fixed seeds and a fixed order, and nothing of the platform's mathematics but the square root, which IEEE defines to the
//! bit: the result is the same everywhere.

use std::{collections::BTreeMap, thread};

use tools::discover::{
    learned::{Row, features, share},
    words::{self, Normaliser},
};

use super::{Utterance, random::Random, recogniser::Recogniser};

/// Chosen by cross-validation (`--cross`).
const EPOCHS: usize = 20;
const RATE: f32 = 0.3;
/// What a weight has seen from the start, in squared gradients: with little the many intents that a word has nothing to do
/// with all get weights as large as the one that it speaks for.
const SEEN: f32 = 0.01;
const DECAY: f32 = 0.000_03;
/// Share of features that are left out at each look, so that no single word is relied upon.
const DROPOUT: f32 = 0.2;
/// Each request is learned as it was written and as a recogniser may have heard it, in turn.
const HEARINGS: usize = 9;
/// A weight that is less than this share of the largest of its feature is left out.
const FAINT: f32 = 0.15;
/// A feature must occur in so many requests.
const MIN_COUNT: usize = 2;
/// So many features are kept, those that sway most requests: the size of what ships.
const KEEP: usize = 50_000;
/// What chance has a part in, order, dropout and hearing, is drawn anew for each of these, and the weights are averaged: one
/// draw alone moves the share of commands that are ranked right by half a point either way.
const SEEDS: [u64; 4] = [
    0x9e37_79b9_7f4a_7c15,
    0xbf58_476d_1ce4_e5b9,
    0x94d0_49bb_1331_11eb,
    0x2545_f491_4f6c_dd1d,
];

/// Bias and weights for these intents.
pub fn fit(utterances: &[Utterance], intents: &[Vec<String>]) -> (Vec<f32>, Vec<Row>) {
    let normal = Normaliser::new();
    let said: Vec<Vec<String>> = utterances.iter().map(|u| words::split(&u.say)).collect();
    let texts: Vec<Vec<u32>> = said.iter().map(|words| features(&normal, words)).collect();
    let mut counts: BTreeMap<u32, usize> = BTreeMap::new();
    for feature in texts.iter().flatten() {
        *counts.entry(*feature).or_default() += 1;
    }
    counts.retain(|_, n| *n >= MIN_COUNT);
    let task = Task {
        ids: counts.keys().copied().zip(0..).collect(),
        intended: utterances
            .iter()
            .map(|u| intents.iter().position(|i| *i == u.accept))
            .collect(),
        weights: utterances.iter().map(|u| u.weight).collect(),
        intents: intents.len(),
        normal,
        said,
        texts,
    };
    let mut draws = SEEDS.map(|_| None);
    thread::scope(|scope| {
        for (draw, seed) in draws.iter_mut().zip(SEEDS) {
            let task = &task;
            scope.spawn(move || *draw = Some(task.descend(seed)));
        }
    });
    let mut model = Descent::new(task.ids.len(), task.intents);
    for draw in draws.iter().flatten() {
        let sums = model.weights.iter_mut().chain(&mut model.bias);
        for (sum, weight) in sums.zip(draw.weights.iter().chain(&draw.bias)) {
            *sum += weight / SEEDS.len() as f32;
        }
    }
    // What was dropped while learning is all there when it is used.
    let scale = (1.0 - DROPOUT).sqrt();
    let mut rows: Vec<(f32, Row)> = counts
        .iter()
        .zip(model.weights.chunks(intents.len()))
        .map(|((&feature, &count), weights)| {
            let (low, high) = weights
                .iter()
                .fold((f32::MAX, f32::MIN), |(l, h), w| (l.min(*w), h.max(*w)));
            let faint = FAINT * low.abs().max(high.abs());
            let weights = weights
                .iter()
                .map(|w| if w.abs() < faint { 0.0 } else { w * scale })
                .collect();
            ((high - low) * (count as f32).sqrt(), Row { feature, weights })
        })
        .collect();
    rows.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.feature.cmp(&b.1.feature)));
    rows.truncate(KEEP);
    let mut rows: Vec<Row> = rows.into_iter().map(|r| r.1).collect();
    rows.sort_by_key(|r| r.feature);
    (model.bias, rows)
}

/// What is learned, the same for each draw.
struct Task {
    normal: Normaliser,
    said: Vec<Vec<String>>,
    texts: Vec<Vec<u32>>,
    ids: BTreeMap<u32, usize>,
    intended: Vec<Option<usize>>,
    /// What each counts.
    weights: Vec<f32>,
    intents: usize,
}

impl Task {
    fn descend(&self, seed: u64) -> Descent {
        let mut recogniser = Recogniser::new(&self.said, seed);
        let mut samples: Vec<Sample> = (self.texts.iter().zip(&self.intended))
            .map(|(text, intent)| self.sample(text, *intent))
            .collect();
        for _ in 0..HEARINGS {
            samples.extend(self.said.iter().zip(&self.intended).map(|(words, intent)| {
                self.sample(&features(&self.normal, &recogniser.hears(words)), *intent)
            }));
        }
        let mut model = Descent::new(self.ids.len(), self.intents);
        let mut random = Random(seed);
        let mut order: Vec<usize> = (0..self.said.len()).collect();
        for epoch in 0..EPOCHS {
            for i in (1..order.len()).rev() {
                order.swap(i, random.below(i + 1));
            }
            for &i in &order {
                let sample = &samples[(epoch * order.len() + i) % samples.len()];
                model.learn(sample, self.weights[i], &mut random);
            }
        }
        model
    }

    fn sample(&self, text: &[u32], intent: Option<usize>) -> Sample {
        Sample {
            rows: text.iter().filter_map(|f| self.ids.get(f).copied()).collect(),
            share: share(text.len()) / (1.0 - DROPOUT).sqrt(),
            intent,
        }
    }
}

/// One request, ready to be looked at.
struct Sample {
    rows: Vec<usize>,
    share: f32,
    intent: Option<usize>,
}

/// Weights and the squared gradients that they have seen.
struct Descent {
    weights: Vec<f32>,
    seen: Vec<f32>,
    bias: Vec<f32>,
    bias_seen: Vec<f32>,
    sums: Vec<f32>,
    active: Vec<usize>,
}

impl Descent {
    fn new(features: usize, intents: usize) -> Descent {
        Descent {
            weights: vec![0.0; features * intents],
            seen: vec![SEEN; features * intents],
            bias: vec![0.0; intents],
            bias_seen: vec![1e-6; intents],
            sums: vec![0.0; intents],
            active: Vec::new(),
        }
    }

    fn learn(&mut self, sample: &Sample, weight: f32, random: &mut Random) {
        let n = self.bias.len();
        self.active.clear();
        self.active
            .extend(sample.rows.iter().filter(|_| random.unit() >= DROPOUT));
        self.sums.fill(0.0);
        for &row in &self.active {
            for (sum, weight) in self.sums.iter_mut().zip(&self.weights[row * n..]) {
                *sum += weight;
            }
        }
        let mut top = f32::MIN;
        for (sum, bias) in self.sums.iter_mut().zip(&self.bias) {
            *sum = *sum * sample.share + bias;
            top = top.max(*sum);
        }
        let mut total = 0.0;
        for sum in &mut self.sums {
            *sum = exp(*sum - top);
            total += *sum;
        }
        for (k, sum) in self.sums.iter_mut().enumerate() {
            *sum = weight * (*sum / total - f32::from(u8::from(sample.intent == Some(k))));
            self.bias_seen[k] += *sum * *sum;
            self.bias[k] -= 0.3 * RATE * *sum / self.bias_seen[k].sqrt();
        }
        for &row in &self.active {
            let rows = row * n..(row + 1) * n;
            let weights = self.weights[rows.clone()].iter_mut().zip(&mut self.seen[rows]);
            for ((weight, seen), error) in weights.zip(&self.sums) {
                let slope = error * sample.share + DECAY * *weight;
                *seen += slope * slope;
                *weight -= RATE * slope / seen.sqrt();
            }
        }
    }
}

/// e to the x for x <= 0, by halving the exponent until eight terms of the series are exact enough, then squaring.
fn exp(x: f32) -> f32 {
    let small = x.max(-80.0) / 128.0;
    let series = (1..=8).rev().fold(1.0, |sum, n| 1.0 + sum * small / n as f32);
    (0..7).fold(series, |power, _| power * power)
}
