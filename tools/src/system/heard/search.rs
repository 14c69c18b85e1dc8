//! Texts ranked by the words that were heard: by stem, by sound and by letters, because a recogniser misspells. A word
//! in the title counts more than one in the text, a rare word more than one that every text has.

use std::collections::HashMap;

use crate::discover::words::{self, Normaliser};

/// Most heard words that are looked for.
const MAX_HEARD: usize = 16;
/// Different words of all texts whose likeness is remembered; beyond them each is compared anew.
const MAX_KNOWN: usize = 100_000;
/// Words of text that are longer are no words.
const MAX_WORD: usize = 40;
/// How much of what was asked for a text must hold, by weight of the words.
const ENOUGH: f64 = 0.5;

/// One search over many texts.
pub struct Search<T> {
    heard: Vec<Heard>,
    /// How many words were heard; entries of `heard` beyond them are neighbours written as one.
    count: usize,
    normal: Normaliser,
    known: HashMap<Box<str>, Option<Alike>>,
    looked: usize,
    /// In how many texts each word was.
    texts: Vec<usize>,
    hits: Vec<(T, Vec<Strength>)>,
}

/// A word to look for and the heard words that it stands for.
struct Heard {
    word: String,
    stem: String,
    sound: String,
    from: usize,
    to: usize,
}

/// How alike a word of a text is to each heard word, 0 to 1.
type Alike = [f32; MAX_HEARD];

/// How much of one heard word a text has.
#[derive(Debug, Clone, Copy, Default)]
struct Strength {
    title: f32,
    text: f32,
    times: f32,
}

impl<T> Search<T> {
    /// Function words are not looked for, unless nothing else was said.
    pub fn new(heard: &str) -> Search<T> {
        let normal = Normaliser::new();
        let all = words::split(heard);
        let mut content: Vec<String> = all.iter().filter(|w| !words::is_stop_word(w)).cloned().collect();
        if content.is_empty() {
            content = all;
        }
        content.truncate(MAX_HEARD);
        let entry = |word: String, from, to| Heard {
            stem: normal.stem(&word),
            sound: normal.sound(&word),
            word,
            from,
            to,
        };
        let singles = content
            .iter()
            .enumerate()
            .map(|(i, w)| entry(w.clone(), i, i + 1));
        let pairs = content
            .windows(2)
            .enumerate()
            .map(|(i, pair)| entry(pair.concat(), i, i + 2));
        let heard = singles.chain(pairs).collect();
        Search {
            heard,
            count: content.len(),
            normal,
            known: HashMap::new(),
            looked: 0,
            texts: vec![0; content.len()],
            hits: Vec::new(),
        }
    }

    /// Whether there is anything to look for.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Looks at one text; `item` is what the answer names it by.
    pub fn look(&mut self, item: T, title: &str, text: &str) {
        self.looked += 1;
        let mut found = vec![Strength::default(); self.count];
        let mut any = false;
        for (part, in_title) in [(title, true), (text, false)] {
            self.each_word(part, |alike| {
                any = true;
                for (strength, likeness) in found.iter_mut().zip(alike) {
                    let best = if in_title {
                        &mut strength.title
                    } else {
                        &mut strength.text
                    };
                    *best = best.max(*likeness);
                    strength.times += likeness;
                }
            });
        }
        if any {
            for (count, strength) in self.texts.iter_mut().zip(&found) {
                *count += usize::from(strength.times > 0.0);
            }
            self.hits.push((item, found));
        }
    }

    /// What holds enough of what was heard, best first; equally good ones in the order in which they were looked at.
    pub fn ranked(self) -> Vec<(f64, T)> {
        // As in BM25, with half the weight for a word that no text has: it may have been misheard altogether.
        let rarity = |texts: usize| (1.0 + (self.looked as f64 + 0.5) / (texts as f64 + 0.5)).ln();
        let weights: Vec<f64> = self
            .texts
            .iter()
            .map(|&n| rarity(n) * if n == 0 { 0.5 } else { 1.0 })
            .collect();
        let total: f64 = weights.iter().sum();
        let mut ranked: Vec<(f64, T)> = self
            .hits
            .into_iter()
            .filter_map(|(item, found)| {
                let (mut covered, mut score) = (0.0, 0.0);
                for (strength, weight) in found.iter().zip(&weights) {
                    covered += weight * f64::from(strength.title.max(strength.text));
                    let often = strength.times / (strength.times + 1.2);
                    score += weight * f64::from(strength.title * 2.0 + strength.text * often);
                }
                let covered = covered / total;
                (covered >= ENOUGH).then_some((covered * covered * score / total, item))
            })
            .collect();
        ranked.sort_by(|a, b| b.0.total_cmp(&a.0));
        ranked
    }

    /// Calls back for each word of a text that is like a heard one.
    fn each_word(&mut self, text: &str, mut found: impl FnMut(&[f32])) {
        let mut lower = String::new();
        for word in text.split(|c: char| !c.is_alphanumeric()) {
            if word.is_empty() || word.len() > MAX_WORD {
                continue;
            }
            lower.clear();
            if word.is_ascii() {
                lower.push_str(word);
                lower.make_ascii_lowercase();
            } else {
                lower.extend(word.chars().flat_map(char::to_lowercase));
            }
            let alike = match self.known.get(lower.as_str()) {
                Some(alike) => *alike,
                None => {
                    let alike = self.alike(&lower);
                    if self.known.len() < MAX_KNOWN {
                        self.known.insert(lower.as_str().into(), alike);
                    }
                    alike
                }
            };
            if let Some(alike) = alike {
                found(&alike[..self.count]);
            }
        }
    }

    fn alike(&self, word: &str) -> Option<Alike> {
        let mut alike = [0.0; MAX_HEARD];
        let stem = self.normal.stem(word);
        for heard in &self.heard {
            let likeness = self.likeness(heard, word, &stem);
            for slot in &mut alike[heard.from..heard.to] {
                *slot = likeness.max(*slot);
            }
        }
        alike.iter().any(|l| *l > 0.0).then_some(alike)
    }

    /// Stems first, then sounds that also look alike, then letters of long words.
    fn likeness(&self, heard: &Heard, word: &str, stem: &str) -> f32 {
        if heard.word == word {
            return 1.0;
        }
        // Numbers are one term elsewhere; here 4411 and 5522 are different words.
        if heard.stem == stem && !stem.starts_with('#') {
            return 0.95;
        }
        if heard.word.len() < 4 || word.len() < 4 || stem.starts_with('#') {
            return 0.0;
        }
        let letters = strsim::jaro_winkler(&heard.word, word);
        if letters >= 0.7 && !heard.sound.is_empty() && self.normal.sound(word) == heard.sound {
            0.8
        } else if letters >= 0.93 && heard.word.len() >= 5 {
            0.75
        } else {
            0.0
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const NOTES: &[(&str, &str)] = &[
        ("Packing list", "socks, charger, passport"),
        ("Garden", "Plant the tomatoes in April. Order bulbs."),
        ("Shopping", "milk, eggs, tomatoes"),
        ("Ideas", "A greenhouse for the garden."),
        ("Locker", "The code is 4411."),
    ];

    #[track_caller]
    fn check(heard: &str, expect: &[&str]) {
        let mut search = Search::new(heard);
        for (title, text) in NOTES {
            search.look(*title, title, text);
        }
        let found: Vec<&str> = search.ranked().iter().map(|f| f.1).collect();
        assert_eq!(found, expect, "{heard:?}");
    }

    #[test]
    fn words_are_found_by_stem_sound_and_letters() {
        check("packing list", &["Packing list"]);
        check("the garden", &["Garden", "Ideas"]);
        check("tomato", &["Garden", "Shopping"]);
        check("gardening", &["Garden", "Ideas"]);
        check("pasport", &["Packing list"]);
        check("green house", &["Ideas"]);
        check("4411", &["Locker"]);
        check("order bulbs for the garden", &["Garden"]);
    }

    #[test]
    fn what_is_not_there_is_not_found() {
        for heard in ["insurance", "", "..", "zz", "5522"] {
            check(heard, &[]);
        }
    }

    proptest! {
        #[test]
        fn any_text_is_survived(heard in ".{0,200}", title in ".{0,80}", text in ".{0,300}") {
            let mut search = Search::new(&heard);
            search.look((), &title, &text);
            for (score, ()) in search.ranked() {
                prop_assert!(score.is_finite() && score >= 0.0);
            }
        }
    }
}
