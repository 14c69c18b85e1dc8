//! What one request sees of the index: tools that rules hide are not there, tools that keep failing sink.

use std::collections::{BTreeMap, BTreeSet};

use super::{Index, Match, Tier};

/// A view on an index that lasts for one request.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Lens {
    /// Tools that no search of this request finds.
    pub hidden: BTreeSet<String>,
    /// What the score of a tool is multiplied with, 0 to 1; one that is not here keeps its score.
    pub weights: BTreeMap<String, f32>,
}

impl Lens {
    /// As [`Index::search`], through the lens. The whole name of a tool finds it however it has fared: whoever says it
    /// wants that one.
    pub fn search(
        &self,
        index: &Index,
        query: &str,
        domain: Option<&str>,
        top_k: usize,
        min_score: f32,
    ) -> Vec<Match> {
        if self.hidden.is_empty() && self.weights.is_empty() {
            return index.search(query, domain, top_k, min_score);
        }
        // What sinks or is not there makes room for tools that would not have been among the best.
        self.look(
            index.search(query, domain, index.docs().len(), 0.0),
            top_k,
            min_score,
        )
    }

    /// The same for matches that were found without it; there must be as many as could matter.
    pub fn look(&self, mut hits: Vec<Match>, top_k: usize, min_score: f32) -> Vec<Match> {
        hits.retain(|hit| !self.hidden.contains(&hit.name));
        for hit in &mut hits {
            if let Some(weight) = self.weights.get(&hit.name)
                && hit.tier != Tier::Exact
            {
                hit.score *= weight;
                hit.why = format!("{}, failed lately: {weight:.2}", hit.why);
            }
        }
        hits.sort_by(|a, b| b.score.total_cmp(&a.score));
        hits.retain(|hit| hit.score >= min_score);
        hits.truncate(top_k);
        hits
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(hits: &[Match]) -> Vec<&str> {
        hits.iter().map(|hit| hit.name.as_str()).collect()
    }

    #[test]
    fn what_is_hidden_is_not_found_and_what_fails_sinks() {
        let index = Index::of(crate::ALL);
        let words = "set a timer for ten minutes";
        let plain = Lens::default().search(&index, words, None, 3, 0.0);
        assert_eq!(plain, index.search(words, None, 3, 0.0));
        let first = plain[0].name.clone();
        let hiding = Lens {
            hidden: [first.clone()].into(),
            ..Lens::default()
        };
        let without = hiding.search(&index, words, None, 3, 0.0);
        assert_eq!(without.len(), 3);
        assert!(!names(&without).contains(&first.as_str()));
        assert_eq!(
            hiding
                .search(&index, &first, None, 3, 0.0)
                .iter()
                .find(|h| h.name == first),
            None
        );
        let sinking = Lens {
            weights: [(first.clone(), 0.001)].into(),
            ..Lens::default()
        };
        let after = sinking.search(&index, words, None, 3, 0.0);
        assert_ne!(after[0].name, first);
        // Its whole name still finds it, at its full score.
        assert_eq!(sinking.search(&index, &first, None, 1, 0.0)[0].score, 1.0);
        let all = sinking.search(&index, words, None, usize::MAX, 0.0);
        let sunk = all.iter().find(|hit| hit.name == first).unwrap();
        assert!(sunk.why.contains("failed lately"), "{}", sunk.why);
    }
}
