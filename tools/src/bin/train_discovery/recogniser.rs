//! What a poor speech recogniser makes of a sentence: it loses words, hears others, or takes one for another that looks alike.

use std::collections::{BTreeMap, BTreeSet};

use super::random::Random;

/// Share of words that are heard wrongly; a little less than the word error rate of the recordings that people give up on.
const WRONG: f32 = 0.2;
/// Of these, how many are lost, and how many become any other word; the rest become one that is spelt alike.
const LOST: f32 = 0.3;
const OTHER: f32 = 0.25;
/// So many words of the same initial are looked at for one that is spelt alike.
const LOOKS: usize = 40;

/// Mishears with the words of a corpus.
pub struct Recogniser {
    random: Random,
    /// Every word as often as it occurs.
    words: Vec<String>,
    by_initial: BTreeMap<char, Vec<String>>,
}

impl Recogniser {
    pub fn new(said: &[Vec<String>], seed: u64) -> Recogniser {
        let words: Vec<String> = said.iter().flatten().cloned().collect();
        let mut by_initial: BTreeMap<char, Vec<String>> = BTreeMap::new();
        for word in words.iter().collect::<BTreeSet<_>>() {
            let initial = word.chars().next().unwrap_or(' ');
            by_initial.entry(initial).or_default().push(word.clone());
        }
        Recogniser {
            random: Random(seed),
            words,
            by_initial,
        }
    }

    /// The same sentence, heard badly; never nothing at all.
    pub fn hears(&mut self, said: &[String]) -> Vec<String> {
        let mut heard = Vec::with_capacity(said.len());
        for word in said {
            if self.random.unit() >= WRONG {
                heard.push(word.clone());
                continue;
            }
            let kind = self.random.unit();
            if kind < LOST {
                continue;
            }
            heard.push(if kind < LOST + OTHER {
                self.words[self.random.below(self.words.len())].clone()
            } else {
                self.alike(word)
            });
        }
        if heard.is_empty() { said.to_vec() } else { heard }
    }

    fn alike(&mut self, word: &str) -> String {
        let initial = word.chars().next().unwrap_or(' ');
        let Some(known) = self.by_initial.get(&initial) else {
            return word.to_owned();
        };
        let mut best = (f64::MIN, word);
        for _ in 0..LOOKS {
            let other = &known[self.random.below(known.len())];
            let likeness = strsim::jaro_winkler(other, word);
            if other != word && likeness > best.0 {
                best = (likeness, other);
            }
        }
        best.1.to_owned()
    }
}
