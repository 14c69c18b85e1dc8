//! Short forms of given names: Bob for Robert, Kate for Katherine.

use std::{collections::HashMap, sync::LazyLock};

/// A name a line, its short forms after it; the file names its source.
const SOURCE: &str = include_str!("diminutives.csv");

/// Most names that one word is taken for: "al" is short for dozens.
const MOST: usize = 24;

/// The names that a lower-cased word may stand for, in either direction; without itself.
pub fn also(word: &str) -> &'static [&'static str] {
    static ALSO: LazyLock<HashMap<&str, Vec<&str>>> = LazyLock::new(|| {
        let mut also: HashMap<&str, Vec<&str>> = HashMap::new();
        for line in SOURCE.lines().filter(|line| !line.starts_with('#')) {
            let mut names = line.split(',');
            let Some(name) = names.next() else { continue };
            for short in names {
                for (from, to) in [(name, short), (short, name)] {
                    let known = also.entry(from).or_default();
                    if known.len() < MOST && !known.contains(&to) {
                        known.push(to);
                    }
                }
            }
        }
        also
    });
    ALSO.get(word).map_or(&[], Vec::as_slice)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_forms_go_both_ways() {
        for (a, b) in [
            ("bob", "robert"),
            ("kate", "katherine"),
            ("bill", "william"),
            ("liz", "elizabeth"),
        ] {
            assert!(also(a).contains(&b) && also(b).contains(&a), "{a} {b}");
        }
        assert_eq!(also("xyz"), [""; 0]);
        assert!(also("al").len() <= MOST);
    }
}
