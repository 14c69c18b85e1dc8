//! Names that a recogniser is told to expect, and what they make likelier of a transcript that grows.
//!
//! Telling whisper names in a prompt makes it slower, changes what else it writes, and now and then comes back as an echo. Here
//! they only raise the scores of tokens that go on with a name as it is written, letter by letter: "shallow fusion", as in
//! Zhao and others, "Shallow-Fusion End-to-End Contextual Biasing" (Interspeech 2019). So a name is written only where the
//! model hears something much like it, and never where nobody speaks.

use std::collections::HashSet;

use crate::decode::Vocabulary;

/// Most names that are expected.
pub const MOST: usize = 500;
/// Fewer letters make no name that could be told from other words; more are no name.
const SHORTEST: usize = 3;
const LONGEST: usize = 60;
/// A token has at most so many letters of a name, in bytes.
const TOKEN: usize = 16;
/// So many words back a name may have begun.
const WORDS: usize = 4;
/// What is added to the logarithm of the probability of a token that is all of a name; of one that only begins it, so much less as
/// it leaves open.
const BEGINS: f32 = 1.0;
/// The same for one that goes on with a name.
const GOES_ON: f32 = 2.0;

/// Names, as whisper would write them in a sentence: each with a blank in front of it.
#[derive(Debug, Clone, Default)]
pub struct Expected {
    names: Vec<Vec<u8>>,
}

impl Expected {
    /// These names, and the words that they are made of.
    pub fn of<'n>(names: impl IntoIterator<Item = &'n str>) -> Expected {
        let (mut expected, mut known) = (Vec::new(), HashSet::new());
        for name in names {
            let words: Vec<&str> = name.split_whitespace().collect();
            let whole = words.join(" ");
            for part in words.into_iter().chain([whole.as_str()]) {
                let part = part.trim_matches(|c: char| !c.is_alphanumeric());
                let letters = part.chars().filter(|c| c.is_alphabetic()).count();
                let part = format!(" {part}").into_bytes();
                if (SHORTEST..=LONGEST).contains(&letters) && known.insert(part.clone()) {
                    expected.push(part);
                }
            }
        }
        // The first are the ones that matter most.
        expected.truncate(MOST);
        Expected { names: expected }
    }

    /// Tokens that go on with a name after this text, and what each of them gets; each once.
    pub fn next(&self, said: &[u8], vocabulary: &Vocabulary) -> Vec<(usize, f32)> {
        let mut found: Vec<(usize, f32)> = Vec::new();
        if self.names.is_empty() {
            return found;
        }
        let blanks = said.iter().enumerate().rev().filter(|(_, byte)| **byte == b' ');
        let begun: Vec<&[u8]> = blanks.take(WORDS).map(|(at, _)| &said[at..]).collect();
        for name in &self.names {
            for begun in begun.iter().copied().chain([&[][..]]) {
                let Some(rest) = name.strip_prefix(begun).filter(|rest| !rest.is_empty()) else {
                    continue;
                };
                // One or two letters begin too many other words: "A" is no Aoife yet.
                let least = if begun.is_empty() { SHORTEST + 1 } else { 1 };
                for length in least..=rest.len().min(TOKEN) {
                    let Some(token) = vocabulary.token(&rest[..length]) else {
                        continue;
                    };
                    let bonus = match begun {
                        [] => BEGINS * length as f32 / name.len() as f32,
                        _ => GOES_ON,
                    };
                    match found.iter_mut().find(|(other, _)| *other == token) {
                        Some((_, most)) => *most = most.max(bonus),
                        None => found.push((token, bonus)),
                    }
                }
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vocabulary() -> Vocabulary {
        let texts = [" ", " An", " Anne", "liese", "a", " M", "\u{fc}ller", " call"];
        Vocabulary::new(
            texts.len(),
            texts.len() + 1,
            texts.map(|text| text.as_bytes().to_vec()),
        )
    }

    /// What goes on with one of these names, by its text.
    #[track_caller]
    fn check(names: &[&str], said: &str, expect: &[&str]) {
        let vocabulary = vocabulary();
        let expected = Expected::of(names.iter().copied());
        let found = expected.next(said.as_bytes(), &vocabulary);
        let wanted: Vec<usize> = expect
            .iter()
            .map(|text| vocabulary.token(text.as_bytes()).unwrap())
            .collect();
        let mut tokens: Vec<usize> = found.iter().map(|(token, _)| *token).collect();
        tokens.sort_unstable();
        assert_eq!(tokens, wanted, "{names:?} after {said:?}");
        assert!(found.iter().all(|(_, bonus)| *bonus > 0.0));
    }

    #[test]
    fn a_name_goes_on_where_it_began() {
        let names = ["Anneliese M\u{fc}ller"];
        check(&names, "", &[" Anne"]);
        check(&names, " call An", &[" Anne"]);
        check(&names, " call Anne", &[" Anne", "liese"]);
        check(&names, " call Anneliese M", &[" Anne", "\u{fc}ller"]);
        check(&names, " call Anneliese M\u{fc}ller", &[" Anne"]);
        // A word that only ends like the beginning of a name is not one.
        check(&names, " Susanne", &[" Anne"]);
        check(&[], " call An", &[]);
    }

    #[test]
    fn what_is_no_name_is_not_expected() {
        check(&["Al", "42", "", "   ", "--", &"x".repeat(100)], "", &[]);
        assert_eq!(Expected::of(["\"Anne\"", "Anne", "Anne "]).names.len(), 1);
        let many: Vec<String> = (0..2_000_u32)
            .map(|n| format!("abc{}", char::from_u32(0x4e00 + n).unwrap()))
            .collect();
        assert_eq!(Expected::of(many.iter().map(String::as_str)).names.len(), MOST);
    }

    #[test]
    fn all_of_a_name_counts_more_than_its_beginning() {
        let vocabulary = vocabulary();
        let bonus = |name: &str| Expected::of([name]).next(b"", &vocabulary)[0].1;
        assert!(bonus("Anne") > bonus("Anneliese") && bonus("Anne") <= BEGINS);
    }
}
