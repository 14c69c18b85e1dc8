//! From text to index terms: splitting, stop words, stems, sounds. Everything is bounded and nothing fails.

use rphonetic::{DoubleMetaphone, Encoder};
use rust_stemmers::{Algorithm, Stemmer};

/// Longest query that is looked at, in bytes; a request is a sentence, and what follows is ignored.
pub const MAX_TEXT: usize = 600;
/// Most words of a query that are looked at.
pub const MAX_WORDS: usize = 64;

/// Lower-cased words of a text. Dots, underscores, hyphens, apostrophes and blanks separate, and so does the hump of
/// a camel-case name (`createEvent`), because names come from many authors.
pub fn split(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut after_lower = false;
    for c in clip(text, MAX_TEXT).chars() {
        let hump = after_lower && c.is_uppercase();
        if !c.is_alphanumeric() || hump {
            if !word.is_empty() {
                words.push(std::mem::take(&mut word));
            }
            if words.len() == MAX_WORDS {
                return words;
            }
        }
        if c.is_alphanumeric() {
            word.extend(c.to_lowercase());
        }
        after_lower = c.is_lowercase() || c.is_numeric();
    }
    if !word.is_empty() {
        words.push(word);
    }
    words
}

/// The longest prefix of at most `bytes` bytes that ends at a character.
pub fn clip(text: &str, bytes: usize) -> &str {
    &text[..text.floor_char_boundary(bytes)]
}

/// Whether a word only holds a sentence together. Kept short on purpose: "on", "off", "up", "now" and "next" tell
/// tools apart.
pub fn is_stop_word(word: &str) -> bool {
    STOP_WORDS.binary_search(&word).is_ok()
}

/// Turns words into stems and into the class of words that sound alike.
pub struct Normaliser {
    stemmer: Stemmer,
    metaphone: DoubleMetaphone,
}

impl Normaliser {
    /// English, as the recogniser is told to expect.
    pub fn new() -> Normaliser {
        Normaliser {
            stemmer: Stemmer::create(Algorithm::English),
            metaphone: DoubleMetaphone::default(),
        }
    }

    /// The Snowball stem of a lower-cased word.
    pub fn stem(&self, word: &str) -> String {
        self.stemmer.stem(word).into_owned()
    }

    /// The double metaphone class of a word; empty for anything but plain letters, which have no English sound.
    pub fn sound(&self, word: &str) -> String {
        if word.bytes().all(|b| b.is_ascii_alphabetic()) {
            self.metaphone.encode(clip(word, 32))
        } else {
            String::new()
        }
    }
}

/// Sorted, for binary search. Function words, and the courtesies of talking to a machine.
const STOP_WORDS: &[&str] = &[
    "a", "about", "also", "am", "an", "and", "any", "are", "as", "at", "be", "been", "but", "by", "can",
    "could", "d", "did", "do", "does", "doing", "for", "from", "get", "give", "go", "going", "got", "had",
    "has", "have", "hello", "hey", "hi", "how", "i", "if", "im", "in", "is", "it", "its", "just", "kindly",
    "know", "let", "like", "ll", "m", "may", "me", "might", "mine", "must", "my", "need", "of", "okay", "or",
    "our", "out", "please", "re", "s", "shall", "she", "should", "so", "some", "t", "tell", "thank",
    "thanks", "that", "the", "their", "them", "then", "there", "these", "they", "this", "those", "to", "us",
    "ve", "very", "want", "was", "we", "were", "what", "when", "where", "which", "who", "whom", "whose",
    "will", "with", "would", "you", "your",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expect: &[&str]) {
        assert_eq!(split(text), expect, "{text:?}");
    }

    #[test]
    fn names_and_sentences_fall_into_words() {
        check("calendar.create_event", &["calendar", "create", "event"]);
        check("createEvent", &["create", "event"]);
        check("HTTPServer", &["httpserver"]);
        check("What's on, tomorrow?", &["what", "s", "on", "tomorrow"]);
        check("mp3Player 2GB", &["mp3", "player", "2", "gb"]);
        check("Ärger über Öl", &["ärger", "über", "öl"]);
        check(" \u{202e}\0.. ", &[]);
        assert_eq!(split(&"word ".repeat(500)).len(), MAX_WORDS);
        assert!(split(&"ü".repeat(5000))[0].len() <= MAX_TEXT);
    }

    #[test]
    fn stop_words_can_be_searched() {
        assert!(STOP_WORDS.is_sorted());
        assert!(is_stop_word("the") && !is_stop_word("now") && !is_stop_word("calendar"));
    }

    #[test]
    fn words_that_sound_alike_share_a_class() {
        let normal = Normaliser::new();
        assert_eq!(normal.sound("calender"), normal.sound("calendar"));
        assert_eq!(normal.sound("42"), "");
        assert_eq!(normal.stem("reminders"), normal.stem("reminder"));
    }
}
