//! Names as a recogniser hears them: which of the names that exist was probably meant.

mod diminutives;
pub mod search;

use std::{
    collections::HashMap,
    sync::{Arc, OnceLock},
};

use rphonetic::DoubleMetaphone;

use crate::discover::words;

/// From here on a name counts as heard.
pub const HEARD: f64 = 0.85;
/// Names whose likeness differs by less than this are equally likely: ask, do not guess.
pub const TOO_CLOSE: f64 = 0.03;
/// How alike the letters of two words must be for their sound to count.
const SOUND: f64 = 0.55;
/// What a word is worth that means the same name: Bob for Robert.
const SHORT_FORM: f64 = 0.95;

/// A name with what is compared of it worked out, for stores that compare one heard name with thousands.
#[derive(Debug, Clone, PartialEq)]
pub struct Name {
    words: Vec<Arc<Word>>,
    joined: Word,
}

#[derive(Debug, Clone)]
struct Word {
    text: Box<str>,
    /// Both codes of double metaphone; empty for what has no English sound. Most words are never compared by it.
    sounds: OnceLock<[Box<str>; 2]>,
    /// Which letters are in it, a bit each; what is no plain letter shares the last bit.
    letters: u32,
}

impl PartialEq for Word {
    fn eq(&self, other: &Word) -> bool {
        // The rest follows from it.
        self.text == other.text
    }
}

impl Name {
    /// Works out words and sounds.
    pub fn new(name: &str) -> Name {
        Names::default().name(name)
    }

    /// Its words, lower-cased.
    pub fn words(&self) -> impl Iterator<Item = &str> {
        self.words.iter().map(|word| &*word.text)
    }
}

/// Names that are compared once, of which many share words: the files of a folder. Each word is worked out once.
#[derive(Default)]
pub struct Names(HashMap<String, Arc<Word>>);

impl Names {
    /// One more of them.
    pub fn name(&mut self, name: &str) -> Name {
        let words = words::split(name);
        let joined = Word::new(&words.concat());
        let known = |word: String| {
            let word = self.0.entry(word);
            Arc::clone(word.or_insert_with_key(|word| Arc::new(Word::new(word))))
        };
        Name {
            joined,
            words: words.into_iter().map(known).collect(),
        }
    }
}

impl Word {
    fn sounds(&self) -> &[Box<str>; 2] {
        self.sounds.get_or_init(|| sounds(&self.text))
    }

    fn new(text: &str) -> Word {
        let letters = text.bytes().map(|b| match b {
            b'a'..=b'z' => 1u32 << (b - b'a'),
            _ => 1 << 31,
        });
        Word {
            sounds: OnceLock::new(),
            letters: letters.fold(0, |all, letter| all | letter),
            text: text.into(),
        }
    }
}

fn sounds(word: &str) -> [Box<str>; 2] {
    if word.is_empty() || !word.bytes().all(|b| b.is_ascii_alphabetic()) {
        return Default::default();
    }
    let codes = DoubleMetaphone::default().double_metaphone(words::clip(word, 32));
    [codes.primary().into(), codes.alternate().into()]
}

/// Compares one heard name with many.
pub struct Ear {
    words: Vec<Word>,
    joined: Word,
    /// For each word, what else it may stand for.
    also: Vec<Vec<String>>,
}

impl Ear {
    /// Articles, possessives and the like are left out; "my mom's number" listens for "mom number".
    pub fn new(heard: &str) -> Ear {
        let all = words::split(heard);
        let mut words: Vec<String> = all.iter().filter(|w| !words::is_stop_word(w)).cloned().collect();
        if words.is_empty() {
            words = all;
        }
        Ear::of(&words)
    }

    /// The same with every word, for names that are given with articles and the like: "what i owe".
    pub fn to_the_word(heard: &str) -> Ear {
        Ear::of(&words::split(heard))
    }

    fn of(words: &[String]) -> Ear {
        Ear {
            joined: Word::new(&words.concat()),
            also: vec![Vec::new(); words.len()],
            words: words.iter().map(|w| Word::new(w)).collect(),
        }
    }

    /// The same for the name of a person: a short form stands for the name, and the other way round. `more` gives
    /// other words that mean the same.
    pub fn of_person(heard: &str, more: impl Fn(&str) -> Vec<String>) -> Ear {
        let mut ear = Ear::new(heard);
        for (word, also) in ear.words.iter().zip(&mut ear.also) {
            also.extend(diminutives::also(&word.text).iter().map(|&name| name.to_owned()));
            also.extend(more(&word.text));
        }
        ear
    }

    /// Whether there is anything to listen for.
    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// How alike heard and name are, as [`Ear::likeness_of`].
    pub fn likeness(&self, name: &str) -> f64 {
        self.likeness_of(&Name::new(name))
    }

    /// How alike heard and name are: 1 the same, 0 nothing in common. Every heard word must find its word in the
    /// name; the name may have more ("anna" is nearly "Anna Bell"). Words that were split or merged compare as one
    /// ("fire fox", "Firefox").
    pub fn likeness_of(&self, name: &Name) -> f64 {
        if name.words.is_empty() || self.words.is_empty() {
            return 0.0;
        }
        if name.joined.text == self.joined.text {
            return 1.0;
        }
        let mut sum = 0.0;
        for (word, also) in self.words.iter().zip(&self.also) {
            let mut best = 0.0;
            for other in &name.words {
                let short = also.iter().any(|a| **a == *other.text);
                best = f64::max(best, if short { SHORT_FORM } else { alike(word, other) });
            }
            // One word that is not there cannot be outweighed by those that are.
            sum += if best >= 0.80 { best } else { best - 0.5 };
        }
        let by_word = (sum / self.words.len() as f64).max(0.0);
        // A name that has more words is a little less likely than one that is heard whole.
        let surplus = name.words.len().saturating_sub(self.words.len()) as f64;
        let by_word = by_word * (1.0 - 0.01 * surplus.min(5.0));
        let whole = match self.joined.text.len() >= 5 {
            true => alike(&self.joined, &name.joined) * 0.99,
            false => 0.0,
        };
        by_word.max(whole).min(0.99)
    }
}

/// Looks and sounds of one word. Sound alone counts less than the same spelling, and only together with some likeness
/// of the letters: double metaphone puts very different short words into one class.
fn alike(heard: &Word, name: &Word) -> f64 {
    if heard.text == name.text {
        return 1.0;
    }
    // Comparing sounds and letters is what costs, and most names of a large book share too few letters.
    let most = at_most(heard, name);
    if most < SOUND {
        return 0.0;
    }
    let sound = heard
        .sounds()
        .iter()
        .any(|s| !s.is_empty() && name.sounds().contains(s));
    if !sound && most < 0.8 {
        return 0.0;
    }
    let letters = strsim::jaro_winkler(&heard.text, &name.text);
    let sound = sound && letters >= SOUND;
    // A long beginning is how people shorten names: "chris" for "Christopher".
    let shortened = heard.text.len() >= 3 && name.text.starts_with(&*heard.text);
    match (sound, shortened) {
        (true, _) => letters.max(0.93),
        (false, true) => letters.max(0.90),
        (false, false) => letters * 0.97,
    }
}

/// No Jaro-Winkler likeness of two words is above this: letters that only one of them has cannot match.
fn at_most(a: &Word, b: &Word) -> f64 {
    let matching = |own: &Word, other: &Word| {
        let missing = (own.letters & !other.letters).count_ones() as usize;
        own.text.len().saturating_sub(missing)
    };
    let matches = matching(a, b).min(matching(b, a)) as f64;
    // Lengths in bytes are no shorter than in characters, so for other scripts the bound is only looser.
    let (la, lb) = (a.text.chars().count() as f64, b.text.chars().count() as f64);
    let jaro = ((matches / la).min(1.0) + (matches / lb).min(1.0) + 1.0) / 3.0;
    let prefix = a
        .text
        .chars()
        .zip(b.text.chars())
        .take(4)
        .take_while(|(x, y)| x == y)
        .count();
    jaro + 0.1 * prefix as f64 * (1.0 - jaro)
}

/// The items whose best name is likely enough, best first; equal ones in the order given.
pub fn pick<'a, T>(heard: &str, items: &'a [T], names: impl Fn(&T) -> Vec<(&str, f64)>) -> Vec<(f64, &'a T)> {
    let ear = Ear::new(heard);
    let mut found: Vec<(f64, &T)> = items
        .iter()
        .filter_map(|item| {
            let best = names(item)
                .into_iter()
                .map(|(name, weight)| ear.likeness(name) * weight)
                .fold(0.0, f64::max);
            (best >= HEARD).then_some((best, item))
        })
        .collect();
    found.sort_by(|a, b| b.0.total_cmp(&a.0));
    found
}

/// How many of the best are too close to tell apart.
pub fn contenders<T>(found: &[(f64, T)]) -> usize {
    let best = found.first().map_or(0.0, |f| f.0);
    found.iter().take_while(|f| best - f.0 < TOO_CLOSE).count()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check(heard: &str, names: &[&str], expect: &[&str]) {
        let found = pick(heard, names, |n| vec![(*n, 1.0)]);
        let best: Vec<&str> = found.iter().take(contenders(&found)).map(|f| *f.1).collect();
        assert_eq!(best, expect, "{heard:?}: {found:?}");
    }

    const PEOPLE: &[&str] = &[
        "Anna Bell",
        "Anne Marsh",
        "Christopher Lee",
        "Catherine Stone",
        "John Smith",
        "Joan Smythe",
        "Siobhan O'Neill",
        "Mehmet Yılmaz",
        "Peter Parker",
    ];

    #[test]
    fn names_are_found_as_said_and_as_heard() {
        check("Anna Bell", PEOPLE, &["Anna Bell"]);
        check("peter", PEOPLE, &["Peter Parker"]);
        check("petter parkar", PEOPLE, &["Peter Parker"]);
        check("chris lee", PEOPLE, &["Christopher Lee"]);
        check("kathryn stone", PEOPLE, &["Catherine Stone"]);
        check("catherine's", PEOPLE, &["Catherine Stone"]);
        check("john smith", PEOPLE, &["John Smith"]);
        check("fire fox", &["Firefox", "Files"], &["Firefox"]);
        check(
            "libre office writer",
            &["LibreOffice Writer", "LibreOffice Calc"],
            &["LibreOffice Writer"],
        );
    }

    #[test]
    fn doubtful_names_give_several() {
        check(
            "anna",
            &["Anna Bell", "Anna Berg", "Peter"],
            &["Anna Bell", "Anna Berg"],
        );
        check(
            "libre office",
            &["LibreOffice Writer", "LibreOffice Calc"],
            &["LibreOffice Writer", "LibreOffice Calc"],
        );
    }

    #[test]
    fn strangers_are_not_found() {
        for stranger in ["bartholomew", "anna karenina", "zz", "", "..", "\u{202e}"] {
            check(stranger, PEOPLE, &[]);
        }
    }

    #[test]
    fn short_forms_are_the_same_person() {
        let ear = |heard: &str| Ear::of_person(heard, |_| Vec::new());
        for (heard, name) in [
            ("bob smith", "Robert Smith"),
            ("robert", "Bob"),
            ("liz", "Elizabeth Hall"),
        ] {
            assert!(ear(heard).likeness(name) >= HEARD, "{heard} {name}");
        }
        assert!(ear("bob smith").likeness("Robert Hall") < HEARD);
        assert!(ear("robert").likeness("Robert Smith") > ear("robert").likeness("Bob Smith"));
    }

    proptest! {
        #[test]
        fn the_bound_holds(a in "[a-zäö]{1,12}", b in "[a-zäö]{1,12}") {
            let (x, y) = (Word::new(&a), Word::new(&b));
            prop_assert!(strsim::jaro_winkler(&a, &b) <= at_most(&x, &y) + 1e-9);
        }

        #[test]
        fn likeness_is_a_fraction(heard in ".{0,80}", name in ".{0,80}") {
            let likeness = Ear::new(&heard).likeness(&name);
            prop_assert!((0.0..=1.0).contains(&likeness));
        }
    }
}
