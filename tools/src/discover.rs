//! The discovery index: the right tool for what was said, misheard words included.

pub mod learned;
mod lens;
mod lift;
mod mix;
mod near;
mod rank;
pub mod words;

#[cfg(test)]
mod measure;

use std::{collections::BTreeSet, sync::Arc};

use crate::contract::Entry;
use learned::Learned;
pub use lens::Lens;
pub use lift::{Lifts, lift};
pub use mix::Weights;
use mix::{Fit, Own};

/// The score under which a match is more likely noise than help. Seen on the misheard commands of slurp: 85 % of what no tool
/// serves finds nothing, and 1.2 % of the rest lose a right tool among five.
pub const MIN_SCORE: f32 = 0.10;
/// The score from which on a schema is worth its tokens; 89 % and 2.4 %.
pub const SHOW_SCORE: f32 = 0.15;
/// The score from which on a tool is to be called rather than talked about: 95.5 % of what no tool serves stays under it, and
/// 7.8 % of the rest; at 0.30 it is 93.9 % of the one and 7.2 % of the other. With a second opinion it is 95.5 and 5.5 %.
pub const ACT_SCORE: f32 = 0.31;

/// Scores of the best tool at which a second opinion is asked for, for four requests of ten. Asked for from 0.05 to 0.78, two of
/// three, the training before this one moved the first place in none of the sets of `docs/eval.md` by more than one in a thousand.
const UNSURE: std::ops::RangeInclusive<f32> = 0.08..=0.75;

/// The probabilities of intents.
fn probabilities(learned: &[f32]) -> Vec<f32> {
    learned.iter().map(|log| log.exp()).collect()
}

/// How unlikely a score can make something at most, so that no number is infinite.
const UNLIKELY: f32 = 0.01;

/// The logarithm of the odds that a tool is acceptable, by its score: where the index is all but certain they are far from
/// those of the next, which the logarithms of the two probabilities are not.
pub fn log_odds(score: f32) -> f32 {
    let probability = (score - rank::LOWEST) / (rank::HIGHEST - rank::LOWEST);
    let probability = probability.clamp(UNLIKELY, 1.0 - UNLIKELY);
    (probability / (1.0 - probability)).ln()
}

/// What the index knows of one tool; foreign tools are added in the same form.
#[derive(Debug, Clone)]
pub struct Doc {
    /// `domain.verb`.
    pub name: String,
    /// One line.
    pub summary: String,
    /// Names of the parameters.
    pub parameters: Vec<String>,
    /// What people say.
    pub examples: Vec<String>,
}

impl Doc {
    /// The part of the name before the first dot.
    pub fn domain(&self) -> &str {
        self.name.split('.').next().unwrap_or(&self.name)
    }
}

/// A tool that fits a query.
#[derive(Debug, Clone, PartialEq)]
pub struct Match {
    /// `domain.verb`.
    pub name: String,
    /// 0 to 1. From 0.80 up the deterministic tier speaks. Below it stands the probability that this tool is acceptable
    /// and none above it is, times 0.79.
    pub score: f32,
    /// Which tier found it.
    pub tier: Tier,
    /// What the score rests on, for logs: `"create", "event" of the name`.
    pub why: String,
}

/// Which part of the index found a match.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tier {
    /// The query is the name.
    Exact,
    /// The query is part of the name, or nearly is the name.
    Name,
    /// Words or domain agree.
    Keyword,
    /// Ranked, mostly by what public requests taught.
    Learned,
    /// Ranked by BM25, since nobody taught this tool.
    Bm25,
}

/// An immutable index; building it for a hundred tools takes a few milliseconds.
pub struct Index {
    docs: Vec<Doc>,
    ranking: rank::Ranking,
    learned: &'static Learned,
    near: near::Near,
    mix: mix::Mix,
    reader: Option<Arc<dyn Reads>>,
}

/// Gives a second opinion on which tools are meant.
pub trait Reads: Send + Sync {
    /// The names of the tools of each intent that it knows, as in [`learned::Head::intents`].
    fn intents(&self) -> &[Vec<String>];

    /// Natural logarithm of the probability of each intent for a request of these lower-cased words; nothing when it has no opinion.
    fn read(&self, words: &[String]) -> Option<Vec<f32>>;
}

impl Index {
    /// An index over these tools.
    pub fn build(docs: Vec<Doc>) -> Index {
        Index::with(docs, Learned::shipped(), Weights::default())
    }

    /// An index that was taught something else than the shipped one, for those who train and compare.
    pub fn with(docs: Vec<Doc>, learned: &'static Learned, weights: Weights) -> Index {
        let mut ranking = rank::Ranking::build(&docs);
        let near = near::Near::build(&docs, ranking.lexicon_mut());
        let mix = mix::Mix::new(&docs, learned, weights);
        Index {
            docs,
            ranking,
            learned,
            near,
            mix,
            reader: None,
        }
    }

    /// The same index with a second opinion on what it is not sure of, from somebody who learned of the same intents.
    #[must_use]
    pub fn reading(self, reader: Option<Arc<dyn Reads>>) -> Index {
        let reader = reader.filter(|reader| reader.intents() == self.learned.head().intents);
        Index { reader, ..self }
    }

    /// An index over entries of the catalogue.
    pub fn of(entries: &[Entry]) -> Index {
        Index::build(entries.iter().map(Doc::from).collect())
    }

    /// The documents, in the order they were given.
    pub fn docs(&self) -> &[Doc] {
        &self.docs
    }

    /// What it was taught.
    pub fn learned(&self) -> &'static Learned {
        self.learned
    }

    /// Every domain once, sorted.
    pub fn domains(&self) -> BTreeSet<&str> {
        self.docs.iter().map(Doc::domain).collect()
    }

    /// The best matches, best first, none below `min_score`, at most `top_k`; equal scores by name.
    /// `domain` is a hint that lifts its tools and shuts nobody out, because the model may guess it wrong.
    /// An empty answer means that no tool fits: better than noise. [`MIN_SCORE`] is the calibrated floor.
    pub fn search(&self, query: &str, domain: Option<&str>, top_k: usize, min_score: f32) -> Vec<Match> {
        let query = self.ranking.parse(query);
        if query.words().is_empty() {
            return Vec::new();
        }
        let features = learned::features_of(query.words(), query.forms());
        let mut learned = self.learned.log_probabilities(&features);
        let named = self.named(&query, &probabilities(&learned));
        let fits = match named.len() < top_k {
            true => self.fits(&query, &features, domain),
            false => Vec::new(),
        };
        let mut hits = self.hits(&named, &learned, &fits, top_k);
        if let Some(both) = self.second(&query, &learned, &hits) {
            hits = self.hits(&named, &both, &fits, top_k);
            learned = both;
        }
        let taught = probabilities(&learned);
        hits.into_iter()
            .filter(|hit| hit.score >= min_score)
            .map(|hit| {
                let mut why = self.ranking.why(&query, &hit);
                if matches!(hit.tier, Tier::Learned | Tier::Bm25) {
                    let (taught, near) = (self.mix.taught_odds(&taught, hit.doc), fits[hit.doc].near);
                    why = format!("taught {taught:.2}, like an example {near:.2}, {why}");
                }
                Match {
                    name: self.docs[hit.doc].name.clone(),
                    score: hit.score,
                    tier: hit.tier,
                    why,
                }
            })
            .collect()
    }

    /// The tools whose names were said, best first, unless the intents, with these probabilities, are sure of another.
    fn named(&self, query: &rank::Query<'_>, taught: &[f32]) -> Vec<rank::Hit> {
        let mut hits = self.ranking.named(query);
        // "What's the appointments from my calendar" has words of how events are made and deleted, and wants neither: where tools
        // are described so of which more is known, it is left to that.
        let known = |hit: &rank::Hit| hit.described && self.mix.taught(hit.doc);
        if hits.iter().any(known) {
            hits.retain(|hit| !hit.described);
        }
        hits.retain(|hit| {
            // "What time are my alarms set for" sets none. Of tools that nobody taught the model cannot know better.
            let meant = hit.whole && !(hit.within && self.mix.taught(hit.doc));
            meant || !self.mix.overrules(taught, hit.doc, hit.whole)
        });
        hits.sort_by(|a, b| {
            b.score
                .total_cmp(&a.score)
                .then_with(|| {
                    self.mix
                        .taught_odds(taught, b.doc)
                        .total_cmp(&self.mix.taught_odds(taught, a.doc))
                })
                .then_with(|| b.likeness.total_cmp(&a.likeness))
                .then_with(|| self.docs[a.doc].name.cmp(&self.docs[b.doc].name))
        });
        hits
    }

    /// How well each tool fits by its own words.
    fn fits(&self, query: &rank::Query<'_>, features: &[u32], domain: Option<&str>) -> Vec<Fit> {
        let near = self.near.likeness(features, self.docs.len());
        let words = self.ranking.bm25(query, domain);
        let mut fits: Vec<Fit> = words
            .into_iter()
            .zip(near)
            .map(|(words, near)| Fit {
                words,
                near,
                own: Own::No,
            })
            .collect();
        for doc in self.ranking.opened(query) {
            fits[doc].own = Own::Opening;
        }
        // "Trash the second one" is an example of one tool and may be said to another, after what was found with that.
        let points = |word: &String| word == "one" || word != "this" && words::is_pointer(word);
        let asks = query.words().first().is_some_and(|word| words::asks(word));
        let whole = asks || !query.words().iter().any(points);
        for doc in self.ranking.examples(query) {
            fits[*doc].own = if whole { Own::Example } else { Own::Opening };
        }
        fits
    }

    /// The best tools: those that were named, and behind them those that fit when the intents have these logarithms of probabilities.
    fn hits(&self, named: &[rank::Hit], learned: &[f32], fits: &[Fit], top_k: usize) -> Vec<rank::Hit> {
        let mut hits = named.to_vec();
        if hits.len() < top_k {
            let first: Vec<usize> = hits.iter().map(|hit| hit.doc).collect();
            let ranked = self.mix.rank(learned, fits, &first, top_k - first.len());
            hits.extend(ranked.into_iter().map(|r| self.ranked(r)));
        }
        hits.truncate(top_k);
        hits
    }

    /// What the intents are worth when the reader has a say, where the index alone is not sure: the logarithms of their
    /// probabilities.
    fn second(&self, query: &rank::Query<'_>, counted: &[f32], hits: &[rank::Hit]) -> Option<Vec<f32>> {
        let reader = self.reader.as_ref()?;
        let best = hits.first().map_or(0.0, |hit| hit.score);
        if !UNSURE.contains(&best) {
            return None;
        }
        let read = reader.read(query.words())?;
        Some(mix::both(counted, &read))
    }

    fn ranked(&self, (doc, odds): (usize, f32)) -> rank::Hit {
        rank::Hit {
            doc,
            score: rank::LOWEST + (rank::HIGHEST - rank::LOWEST) * odds.min(1.0),
            tier: if self.mix.taught(doc) {
                Tier::Learned
            } else {
                Tier::Bm25
            },
            likeness: 0.0,
            whole: false,
            within: false,
            described: false,
        }
    }

    /// Names near this one, nearest first, for "did you mean". Unlike `search` it always has something to offer
    /// when a name shares a word or most letters.
    pub fn nearest(&self, name: &str, top_k: usize) -> Vec<String> {
        let mut near = self.ranking.nearest(name);
        near.sort_by(|a, b| {
            b.1.total_cmp(&a.1)
                .then_with(|| self.docs[a.0].name.cmp(&self.docs[b.0].name))
        });
        near.into_iter()
            .take(top_k)
            .map(|(doc, _)| self.docs[doc].name.clone())
            .collect()
    }
}

impl From<&Entry> for Doc {
    fn from(entry: &Entry) -> Doc {
        let parameters = entry.parameters();
        Doc {
            name: entry.name.to_owned(),
            summary: entry.summary.to_owned(),
            parameters: parameters
                .get("properties")
                .and_then(serde_json::Value::as_object)
                .map(|p| p.keys().cloned().collect())
                .unwrap_or_default(),
            examples: entry.examples.iter().map(|e| (*e).to_owned()).collect(),
        }
    }
}
