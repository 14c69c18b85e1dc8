//! Names as a recogniser hears them: which of the names that exist was probably meant.

pub mod search;

use crate::discover::words::{self, Normaliser};

/// From here on a name counts as heard.
pub const HEARD: f64 = 0.85;
/// Names whose likeness differs by less than this are equally likely: ask, do not guess.
pub const TOO_CLOSE: f64 = 0.03;

/// Compares one heard name with many.
pub struct Ear {
    words: Vec<String>,
    joined: String,
    sounds: Vec<String>,
    joined_sound: String,
    normal: Normaliser,
}

impl Ear {
    /// Articles, possessives and the like are left out; "my mom's number" listens for "mom number".
    pub fn new(heard: &str) -> Ear {
        let normal = Normaliser::new();
        let all = words::split(heard);
        let mut words: Vec<String> = all.iter().filter(|w| !words::is_stop_word(w)).cloned().collect();
        if words.is_empty() {
            words = all;
        }
        let joined = words.concat();
        Ear {
            sounds: words.iter().map(|w| normal.sound(w)).collect(),
            joined_sound: normal.sound(&joined),
            joined,
            words,
            normal,
        }
    }

    /// Whether there is anything to listen for.
    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// How alike heard and name are: 1 the same, 0 nothing in common. Every heard word must find its word in the
    /// name; the name may have more ("anna" is nearly "Anna Bell"). Words that were split or merged compare as one
    /// ("fire fox", "Firefox").
    pub fn likeness(&self, name: &str) -> f64 {
        let name = words::split(name);
        if name.is_empty() || self.words.is_empty() {
            return 0.0;
        }
        let joined = name.concat();
        if joined == self.joined {
            return 1.0;
        }
        let mut sum = 0.0;
        for (word, sound) in self.words.iter().zip(&self.sounds) {
            let best = name.iter().map(|n| self.word(word, sound, n)).fold(0.0, f64::max);
            // One word that is not there cannot be outweighed by those that are.
            sum += if best >= 0.80 { best } else { best - 0.5 };
        }
        let by_word = (sum / self.words.len() as f64).max(0.0);
        // A name that has more words is a little less likely than one that is heard whole.
        let surplus = name.len().saturating_sub(self.words.len()) as f64;
        let by_word = by_word * (1.0 - 0.01 * surplus.min(5.0));
        let whole = self.word(&self.joined, &self.joined_sound, &joined) * 0.99;
        by_word
            .max(if self.joined.len() >= 5 { whole } else { 0.0 })
            .min(0.99)
    }

    /// Looks and sounds of one word. Sound alone counts less than the same spelling, and only together with some
    /// likeness of the letters: double metaphone puts very different short words into one class.
    fn word(&self, heard: &str, sound: &str, name: &str) -> f64 {
        if heard == name {
            return 1.0;
        }
        let letters = strsim::jaro_winkler(heard, name);
        let alike = !sound.is_empty() && letters >= 0.55 && self.normal.sound(name) == sound;
        // A long beginning is how people shorten names: "chris" for "Christopher".
        let shortened = heard.len() >= 3 && name.starts_with(heard);
        match (alike, shortened) {
            (true, _) => letters.max(0.93),
            (false, true) => letters.max(0.90),
            (false, false) => letters * 0.97,
        }
    }
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

    proptest! {
        #[test]
        fn likeness_is_a_fraction(heard in ".{0,80}", name in ".{0,80}") {
            let likeness = Ear::new(&heard).likeness(&name);
            prop_assert!((0.0..=1.0).contains(&likeness));
        }
    }
}
