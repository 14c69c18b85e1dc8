//! From text to index terms: splitting, stop words, stems, sounds. Everything is bounded and nothing fails.

use std::{
    borrow::Cow,
    collections::HashMap,
    hash::{BuildHasherDefault, Hasher},
};

use rphonetic::{DoubleMetaphone, Encoder};
use rust_stemmers::{Algorithm, Stemmer};

use crate::reflex::POLITE;

/// Longest query that is looked at, in bytes; a request is a sentence, and what follows is ignored.
pub const MAX_TEXT: usize = 600;
/// Most words of a query that are looked at.
pub const MAX_WORDS: usize = 64;
/// So soon behind a question word "to" says what is to be done: "which of the files to move".
const DEED: usize = 5;

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

/// Whether a word only holds a sentence together. Kept short on purpose: "off", "up", "now" and "next" tell
/// tools apart.
pub fn is_stop_word(word: &str) -> bool {
    STOP_WORDS.binary_search(&word).is_ok()
}

/// Whether a sentence asks or orders, as a term: "do I have a meeting" and "make a meeting" share their content words
/// and nothing else. Nothing for a few words, which are neither.
pub fn form(words: &[String]) -> Option<&'static str> {
    if words.len() < 3 {
        return None;
    }
    let asks = words.iter().take(2).any(|w| asks(w));
    Some(if asks { "#ask" } else { "#order" })
}

/// Whether questions begin with this lower-cased word.
pub fn asks(word: &str) -> bool {
    const ASKING: &[&str] = &[
        "am", "any", "are", "did", "do", "does", "has", "have", "how", "is", "was", "were", "what", "whats",
        "when", "where", "which", "who", "whom", "whos", "whose", "why", "will",
    ];
    ASKING.binary_search(&word).is_ok()
}

/// The words of a request without "remind me" and what is polite before it where a question follows: "could you remind me who comes to
/// dinner" wants to be told, now. "Remind me when I am home" and "remind me what to buy" may also mean what they say, and stay.
pub fn asked(mut words: Vec<String>) -> Vec<String> {
    let reminds = |pair: &[String]| pair[0] == "remind" && ["me", "us"].contains(&&*pair[1]);
    let Some(at) = words.windows(2).position(reminds) else {
        return words;
    };
    let polite = |word: &&String| POLITE.contains(&&***word);
    let (before, behind) = (&words[..at], &words[at + 2..]);
    let idle = behind.iter().take_while(|word| polite(word) || *word == "again");
    let question = at + 2 + idle.count();
    // "Make a note to remind me what it costs" orders something else, and asks nothing; "I want you to ..." does.
    let ordered =
        before.ends_with(&["to".to_owned()]) && !before.ends_with(&["you".to_owned(), "to".to_owned()]);
    if ordered || !asks_for_words(&words[question..]) {
        return words;
    }
    let from = at - before.iter().rev().take_while(polite).count();
    words.drain(from..question);
    words
}

/// Whether these words ask for something that can be told. "Which of the files to move" is a thing to do, and "which files I have to
/// move" is not.
fn asks_for_words(words: &[String]) -> bool {
    const TELLING: &[&str] = &[
        "how", "hows", "what", "whats", "whens", "where", "wheres", "which", "who", "whom", "whos", "whose",
        "why",
    ];
    const VERBS: &[&str] = &["are", "did", "do", "does", "is", "s", "was", "were"];
    const SUBJECTS: &[&str] = &["he", "i", "it", "she", "there", "they", "we", "you"];
    let [first, behind @ ..] = words else {
        return false;
    };
    let is = |list: &[&str], word: &String| list.contains(&&**word);
    let to = behind.iter().take(DEED).position(|word| word == "to");
    match (first.as_str(), to) {
        ("when", _) => behind.first().is_some_and(|verb| is(VERBS, verb)),
        ("how", _) | (_, None) => is(TELLING, first),
        ("what" | "which" | "whose", Some(to)) => behind[..to]
            .iter()
            .any(|word| is(VERBS, word) || is(SUBJECTS, word)),
        (_, Some(to)) => to > 0 && is(TELLING, first),
    }
}

/// Whether a word stands for what was spoken of.
pub fn is_pointer(word: &str) -> bool {
    const POINTERS: &[&str] = &[
        "he", "her", "him", "his", "it", "its", "she", "that", "their", "them", "these", "they", "this",
        "those",
    ];
    POINTERS.contains(&word)
}

/// Whether what a request is about begins with this lower-cased word: "search my mail for ...", "open the file called ...".
pub fn leads_on(word: &str) -> bool {
    const LEADING_ON: &[&str] = &[
        "about", "at", "by", "called", "for", "from", "in", "named", "of", "on", "saying", "that", "titled",
        "to", "where", "which", "whose", "with",
    ];
    LEADING_ON.binary_search(&word).is_ok()
}

/// Turns words into stems and into the class of words that sound alike.
pub struct Normaliser {
    stemmer: Stemmer,
    metaphone: DoubleMetaphone,
}

impl Default for Normaliser {
    fn default() -> Normaliser {
        Normaliser::new()
    }
}

impl Normaliser {
    /// English, as the recogniser is told to expect.
    pub fn new() -> Normaliser {
        Normaliser {
            stemmer: Stemmer::create(Algorithm::English),
            metaphone: DoubleMetaphone::default(),
        }
    }

    /// The index term of a lower-cased word: its Snowball stem, or its class if the word is a value that another
    /// request would fill differently. That "friday" stands in an example says nothing about friday.
    pub fn stem(&self, word: &str) -> String {
        match class(word) {
            Some(class) => class.to_owned(),
            None => self.stemmer.stem(word).into_owned(),
        }
    }

    /// Both forms of a lower-cased word.
    pub fn forms(&self, word: &str) -> Forms {
        Forms {
            stem: self.stem(word).into(),
            sound: self.sound(word).into(),
        }
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

/// How a word is written in the index and how it sounds.
#[derive(Debug, Clone, PartialEq)]
pub struct Forms {
    /// As [`Normaliser::stem`].
    pub stem: Box<str>,
    /// As [`Normaliser::sound`].
    pub sound: Box<str>,
}

/// A normaliser that remembers the words it was shown: stemming and encoding were a quarter of a search, and most
/// words of a request stand somewhere in the catalogue.
#[derive(Default)]
pub struct Lexicon {
    normal: Normaliser,
    met: HashMap<Box<str>, Forms>,
}

impl Lexicon {
    /// The forms of a lower-cased word, which it remembers from now on.
    pub fn meet(&mut self, word: &str) -> &Forms {
        if !self.met.contains_key(word) {
            self.met.insert(word.into(), self.normal.forms(word));
        }
        &self.met[word]
    }

    /// The forms of a lower-cased word.
    pub fn forms(&self, word: &str) -> Cow<'_, Forms> {
        match self.met.get(word) {
            Some(forms) => Cow::Borrowed(forms),
            None => Cow::Owned(self.normal.forms(word)),
        }
    }

    /// What makes the forms.
    pub fn normal(&self) -> &Normaliser {
        &self.normal
    }
}

/// A map from hashes that are spread already: it mixes their bits instead of hashing them again, which was most of what
/// a lookup took. Not for keys that somebody else can choose freely.
pub type Spread<V> = HashMap<u32, V, BuildHasherDefault<Mixed>>;

/// The hasher of [`Spread`]: one multiplication by the golden ratio (Fibonacci hashing).
#[derive(Default)]
pub struct Mixed(u64);

impl Hasher for Mixed {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|b| self.write_u32(u32::from(*b)));
    }

    fn write_u32(&mut self, n: u32) {
        self.0 = (self.0 ^ u64::from(n)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
}

/// Numbers are one term and so are times; no stem can look like these names.
fn class(word: &str) -> Option<&'static str> {
    if is_number(word) {
        return Some("#number");
    }
    let word = word.strip_suffix('s').unwrap_or(word);
    TIMES.binary_search(&word).is_ok().then_some("#time")
}

/// Whether a lower-cased word is a number, in digits or as it is said.
pub fn is_number(word: &str) -> bool {
    word.bytes().any(|b| b.is_ascii_digit()) || NUMBERS.binary_search(&word).is_ok()
}

/// Sorted. Number words as a recogniser writes them.
const NUMBERS: &[&str] = &[
    "billion",
    "eight",
    "eighteen",
    "eighty",
    "eleven",
    "fifteen",
    "fifth",
    "fifty",
    "first",
    "five",
    "forty",
    "four",
    "fourteen",
    "fourth",
    "half",
    "hundred",
    "million",
    "nine",
    "nineteen",
    "ninety",
    "one",
    "point",
    "quarter",
    "second",
    "seven",
    "seventeen",
    "seventy",
    "six",
    "sixteen",
    "sixty",
    "ten",
    "third",
    "thirteen",
    "thirty",
    "thousand",
    "three",
    "twelve",
    "twenty",
    "two",
    "zero",
];

/// Sorted, without the plural. Times that a request may name; "day", "date", "time" and "now" are left out because
/// they are what is asked for as often as when.
const TIMES: &[&str] = &[
    "afternoon",
    "am",
    "april",
    "august",
    "december",
    "evening",
    "february",
    "friday",
    "january",
    "july",
    "june",
    "march",
    "midnight",
    "monday",
    "month",
    "morning",
    "night",
    "noon",
    "november",
    "october",
    "pm",
    "saturday",
    "september",
    "sunday",
    "thursday",
    "today",
    "tomorrow",
    "tonight",
    "tuesday",
    "wednesday",
    "week",
    "weekend",
    "year",
    "yesterday",
];

/// Sorted, for binary search. Function words, and the courtesies of talking to a machine.
const STOP_WORDS: &[&str] = &[
    "a", "about", "also", "am", "an", "and", "any", "are", "as", "at", "be", "been", "but", "by", "can",
    "could", "d", "did", "do", "does", "doing", "for", "from", "get", "give", "go", "going", "got", "had",
    "has", "have", "hello", "hey", "hi", "how", "i", "if", "im", "in", "is", "it", "its", "just", "kindly",
    "know", "let", "like", "ll", "m", "may", "me", "might", "mine", "must", "my", "need", "of", "okay", "on",
    "or", "our", "out", "please", "re", "s", "shall", "she", "should", "so", "some", "t", "tell", "thank",
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
    fn to_be_reminded_of_an_answer_is_to_ask() {
        for (said, expect) in [
            ("remind me who's coming", "who s coming"),
            ("could you please remind me what I owe Sam", "what i owe sam"),
            (
                "I am tired remind me which mails are new",
                "i am tired which mails are new",
            ),
            ("Remind me: which mails are new?", "which mails are new"),
            ("remind us again what we have to pay", "what we have to pay"),
            ("remind me when's the party", "when s the party"),
            (
                "sorry can you remind me when's the train to Paris",
                "sorry when s the train to paris",
            ),
            ("could you remind me who comes to dinner", "who comes to dinner"),
            (
                "remind me what I'm supposed to bring",
                "what i m supposed to bring",
            ),
            ("remind me how to get to the station", "how to get to the station"),
            (
                "going to Oslo, remind me what the weather is",
                "going to oslo what the weather is",
            ),
            ("I want you to remind me what is on", "i want you to what is on"),
            ("remind me when Will gets home", "remind me when will gets home"),
            ("remind me who to call", "remind me who to call"),
            ("remind me again", "remind me again"),
            ("remind me when I am home", "remind me when i am home"),
            ("remind me to ask what it costs", "remind me to ask what it costs"),
            (
                "note to remind me what it costs",
                "note to remind me what it costs",
            ),
            ("remind me what to buy", "remind me what to buy"),
            (
                "remind me which of the files to move",
                "remind me which of the files to move",
            ),
            ("remind him what to buy", "remind him what to buy"),
            ("remind me", "remind me"),
        ] {
            assert_eq!(asked(split(said)).join(" "), expect, "{said:?}");
        }
    }

    #[test]
    fn stop_words_can_be_searched() {
        for list in [STOP_WORDS, NUMBERS, TIMES] {
            assert!(list.is_sorted());
        }
        assert!(is_stop_word("the") && !is_stop_word("now") && !is_stop_word("calendar"));
    }

    #[test]
    fn words_that_sound_alike_share_a_class() {
        let normal = Normaliser::new();
        assert_eq!(normal.sound("calender"), normal.sound("calendar"));
        assert_eq!(normal.sound("42"), "");
        assert_eq!(normal.stem("reminders"), normal.stem("reminder"));
        assert_eq!(normal.stem("fridays"), normal.stem("tomorrow"));
        assert_eq!(normal.stem("7th"), normal.stem("seven"));
        assert_ne!(normal.stem("day"), normal.stem("today"));
    }

    #[test]
    fn a_word_that_was_met_has_the_same_forms() {
        let mut lexicon = Lexicon::default();
        for word in ["reminders", "friday", "42nd", "über", ""] {
            let before = lexicon.forms(word).into_owned();
            assert_eq!(*lexicon.meet(word), before, "{word}");
            assert!(
                matches!(lexicon.forms(word), Cow::Borrowed(f) if *f == before),
                "{word}"
            );
        }
    }
}
