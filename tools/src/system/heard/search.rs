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

/// Words of many texts, each with its number, so that texts can be kept as counts of them.
#[derive(Default)]
pub struct Vocabulary {
    normal: Normaliser,
    numbers: HashMap<Box<str>, u32>,
    /// Words with their stems, by number.
    words: Vec<(Box<str>, Box<str>)>,
}

/// How often a word is in a text and in its title.
#[derive(Debug, Clone, Copy)]
pub struct Count {
    word: u32,
    title: u16,
    text: u16,
}

impl Vocabulary {
    /// Counts the words of a text; nothing when there is no room for them.
    pub fn count(&mut self, title: &str, text: &str) -> Option<Box<[Count]>> {
        let mut counts: HashMap<u32, Count> = HashMap::new();
        for (part, in_title) in [(title, true), (text, false)] {
            each_word(part, |word| {
                let Some(word) = self.number(word) else {
                    return false;
                };
                let (title, text) = (0, 0);
                let count = counts.entry(word).or_insert(Count { word, title, text });
                let times = if in_title {
                    &mut count.title
                } else {
                    &mut count.text
                };
                *times = times.saturating_add(1);
                true
            })?;
        }
        Some(counts.into_values().collect())
    }

    /// Whether it takes no new words.
    pub fn is_full(&self) -> bool {
        self.words.len() >= MAX_KNOWN
    }

    fn number(&mut self, word: &str) -> Option<u32> {
        if let Some(number) = self.numbers.get(word) {
            return Some(*number);
        }
        if self.is_full() {
            return None;
        }
        let number = u32::try_from(self.words.len()).ok()?;
        self.numbers.insert(word.into(), number);
        self.words.push((word.into(), self.normal.stem(word).into()));
        Some(number)
    }
}

/// How alike each word of a vocabulary is to what was heard, by its number; most are not at all.
pub struct Among(Vec<Option<Box<Alike>>>);

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

    /// Compares what was heard with all words of a vocabulary, once for all texts that are counted in it.
    pub fn among(&self, vocabulary: &Vocabulary) -> Among {
        let words = vocabulary.words.iter();
        Among(
            words
                .map(|(word, stem)| self.alike(word, stem).map(Box::new))
                .collect(),
        )
    }

    /// Looks at one text as its counts; the same as [`Search::look`] at the text.
    pub fn look_at_counts(&mut self, item: T, counts: &[Count], among: &Among) {
        self.looked += 1;
        let mut found = Vec::new();
        let mut any = false;
        for count in counts {
            let Some(Some(alike)) = among.0.get(count.word as usize) else {
                continue;
            };
            any = true;
            found.resize(self.count, Strength::default());
            for (strength, likeness) in found.iter_mut().zip(&**alike) {
                if count.title > 0 {
                    strength.title = strength.title.max(*likeness);
                }
                if count.text > 0 {
                    strength.text = strength.text.max(*likeness);
                }
                strength.times += likeness * (f32::from(count.title) + f32::from(count.text));
            }
        }
        self.hit(item, found, any);
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
        self.hit(item, found, any);
    }

    fn hit(&mut self, item: T, found: Vec<Strength>, any: bool) {
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
        each_word(text, |word| {
            let alike = match self.known.get(word) {
                Some(alike) => *alike,
                None => {
                    let alike = self.alike(word, &self.normal.stem(word));
                    if self.known.len() < MAX_KNOWN {
                        self.known.insert(word.into(), alike);
                    }
                    alike
                }
            };
            if let Some(alike) = alike {
                found(&alike[..self.count]);
            }
            true
        });
    }

    fn alike(&self, word: &str, stem: &str) -> Option<Alike> {
        let mut alike = [0.0; MAX_HEARD];
        for heard in &self.heard {
            let likeness = self.likeness(heard, word, stem);
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

/// Calls back for each word of a text in small letters, until it says that this was enough; then nothing is returned.
fn each_word(text: &str, mut found: impl FnMut(&str) -> bool) -> Option<()> {
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
        if !found(&lower) {
            return None;
        }
    }
    Some(())
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
        let ranked = search.ranked();
        let found: Vec<&str> = ranked.iter().map(|f| f.1).collect();
        assert_eq!(found, expect, "{heard:?}");
        let mut vocabulary = Vocabulary::default();
        let counted = NOTES
            .iter()
            .map(|(title, text)| (*title, vocabulary.count(title, text).unwrap()))
            .collect::<Vec<_>>();
        let mut search = Search::new(heard);
        let among = search.among(&vocabulary);
        for (title, counts) in &counted {
            search.look_at_counts(*title, counts, &among);
        }
        assert_eq!(search.ranked(), ranked, "{heard:?} by counts");
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
            let ranked = search.ranked();
            for (score, ()) in &ranked {
                prop_assert!(score.is_finite() && *score >= 0.0);
            }
            let mut vocabulary = Vocabulary::default();
            let counts = vocabulary.count(&title, &text).unwrap();
            let mut search = Search::new(&heard);
            let among = search.among(&vocabulary);
            search.look_at_counts((), &counts, &among);
            let counted = search.ranked();
            prop_assert_eq!(ranked.len(), counted.len());
            // Sums of floats in another order differ in their last digits.
            prop_assert!(ranked.iter().zip(&counted).all(|(a, b)| (a.0 - b.0).abs() < 1e-4));
        }
    }
}
