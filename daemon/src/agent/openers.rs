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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verbs_open_requests_and_what_stands_elsewhere_does_not() {
        let openers = of(tools::ALL.iter());
        for verb in ["add", "play", "remind", "set", "show"] {
            assert!(openers.contains(verb), "{verb}");
        }
        // They begin a request too seldom beside all other places where they stand.
        for word in ["calendar", "tomorrow", "volume", "to", "my"] {
            assert!(!openers.contains(word), "{word}");
        }
        assert!(of(std::iter::empty()).is_empty());
    }

    #[test]
    fn one_example_teaches_no_verb() {
        // "Secure the screen" begins one of its examples, and "lock" all but one of the others.
        let lock = tools::ALL.iter().filter(|entry| entry.name == "system.lock");
        assert_eq!(of(lock), HashSet::from(["lock"]));
    }
}
