//! The discovery index: the right tool for what was said, misheard words included.

mod rank;
pub(crate) mod words;

#[cfg(test)]
mod measure;

use std::collections::BTreeSet;

use crate::contract::Entry;

/// The score under which a match is more likely noise than help. Chosen on the training split with the first eleven
/// tools, where four in five commands that none of them serves found nothing; `discover/measure.rs` watches what it
/// does on misheard commands. It depends on the catalogue: choose it anew when that has grown.
pub const MIN_SCORE: f32 = 0.38;

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
    /// 0 to 1. From 0.80 up the deterministic tier speaks; below, BM25.
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
    /// Ranked by BM25.
    Bm25,
}

/// An immutable index; building it for a hundred tools takes a few milliseconds.
pub struct Index {
    docs: Vec<Doc>,
    ranking: rank::Ranking,
}

impl Index {
    /// An index over these tools.
    pub fn build(docs: Vec<Doc>) -> Index {
        let ranking = rank::Ranking::build(&docs);
        Index { docs, ranking }
    }

    /// An index over entries of the catalogue.
    pub fn of(entries: &[Entry]) -> Index {
        Index::build(entries.iter().map(Doc::from).collect())
    }

    /// The documents, in the order they were given.
    pub fn docs(&self) -> &[Doc] {
        &self.docs
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
        let mut hits = self.ranking.search(&query, domain);
        hits.retain(|hit| hit.score >= min_score);
        hits.sort_by(|a, b| {
            b.score
                .total_cmp(&a.score)
                .then_with(|| b.likeness.total_cmp(&a.likeness))
                .then_with(|| self.docs[a.doc].name.cmp(&self.docs[b.doc].name))
        });
        hits.truncate(top_k);
        hits.into_iter()
            .map(|hit| Match {
                name: self.docs[hit.doc].name.clone(),
                score: hit.score,
                tier: hit.tier,
                why: self.ranking.why(&query, &hit),
            })
            .collect()
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
