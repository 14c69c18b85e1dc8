//! The words with which requests begin, learned from the examples of the tools.

use std::collections::{HashMap, HashSet};

use tools::Entry;

/// The verbs that stand at the beginning of these tools' examples, and seldom elsewhere.
pub(super) fn of<'e>(tools: impl Iterator<Item = &'e Entry>) -> HashSet<&'static str> {
    let mut counts: HashMap<&str, (usize, usize)> = HashMap::new();
    for example in tools.flat_map(|entry| entry.examples) {
        let words = example.split(|c: char| !c.is_alphanumeric());
        for (at, word) in words.filter(|word| !word.is_empty()).enumerate() {
            let (first, all) = counts.entry(word).or_default();
            *first += usize::from(at == 0);
            *all += 1;
        }
    }
    counts
        .into_iter()
        .filter(|(_, (first, all))| *first > 1 && *first * 2 > *all)
        .map(|(word, _)| word)
        .collect()
}
