//! The phrases that wake Tiro, and where a transcript begins with one.

use std::{fmt, ops::Range, str::FromStr};

use serde::{Deserialize, Serialize};

use super::sounds::Said;

/// What the config may say.
pub const PHRASE: &str =
    "one to four words of 4 to 40 letters together, such as \"hey tiro\" or \"computer\"";

/// Letters that a phrase has at least: shorter ones sound like a part of everything.
const LEAST: usize = 4;
/// Letters that it has at most; whoever says more has begun the request.
const MOST: usize = 40;
/// Words that it has at most.
const WORDS: usize = 4;
/// Phrases that there may be; each makes it likelier that something sounds like one.
pub const PHRASES: usize = 8;
/// What people say before a name to call somebody, or while they begin to speak.
const CALLS: [&str; 13] = [
    "hey", "hay", "hi", "hello", "ok", "okay", "oh", "ah", "um", "uh", "so", "and", "yo",
];
/// How many of these.
const MAX_CALLS: usize = 2;
/// How alike a phrase must be at least, in the middle of the scale of sensitivity ...
const USUAL: f32 = 0.75;
/// ... and how much that changes from there to either end.
const REACH: f32 = 0.2;
/// By how much less when it is known that the phrase was said, or asked whether Tiro itself may have said it.
const KNOWN: f32 = 0.10;
/// By how much more while Tiro itself speaks, of which the microphone hears something.
const SPEAKING: f32 = 0.10;
/// A transcript of which more is not looked at, bytes: ten times what somebody says in the seconds of a clip.
const LONGEST: usize = 1000;

/// A phrase as it was configured.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Phrase {
    text: String,
    said: Said,
    words: usize,
    /// What is called, where the phrase begins with a word that calls, and how many letters are before it.
    name: Option<(Said, usize)>,
}

impl Phrase {
    /// What the config has when nobody chose.
    pub fn usual() -> Vec<Phrase> {
        "hey tiro".parse().into_iter().collect()
    }
}

impl Phrase {
    /// As a recogniser writes a name: each word with a capital letter.
    fn name(&self) -> String {
        let capital = |word: &str| {
            let mut letters = word.chars();
            let first = letters.next().map(|c| c.to_uppercase().to_string());
            first.unwrap_or_default() + letters.as_str()
        };
        let words: Vec<String> = self.text.split(' ').map(capital).collect();
        words.join(" ")
    }
}

impl FromStr for Phrase {
    type Err = String;

    fn from_str(text: &str) -> Result<Phrase, String> {
        let wrong = |why: String| Err(format!("{text:?} is not {PHRASE}: {why}"));
        if text.len() > 4 * MOST {
            return wrong(format!("it has {} bytes", text.len()));
        }
        if let Some(odd) = text
            .chars()
            .find(|c| !c.is_alphabetic() && !matches!(c, ' ' | '\'' | '-'))
        {
            return wrong(format!("{odd:?} is no letter; write numbers as words"));
        }
        let words = words(text);
        let joined: String = words.iter().map(|word| letters(&text[word.clone()])).collect();
        let said = Said::new(&joined);
        let name = words.split_first().and_then(|(call, name)| {
            let call = letters(&text[call.clone()]);
            let name: String = name.iter().map(|word| letters(&text[word.clone()])).collect();
            let calls = CALLS.contains(&call.as_str()) && !name.is_empty();
            calls.then(|| (Said::new(&name), call.chars().count()))
        });
        match (said.len(), words.len()) {
            (n, _) if n < LEAST => wrong(format!("it has {n} letters, and much sounds like that")),
            (n, _) if n > MOST => wrong(format!("it has {n} letters")),
            (_, n) if n > WORDS => wrong(format!("it has {n} words")),
            (_, words) => Ok(Phrase {
                text: text.split_whitespace().collect::<Vec<_>>().join(" "),
                said,
                words,
                name,
            }),
        }
    }
}

impl fmt::Display for Phrase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// A phrase that was heard.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Spotted {
    /// As it was configured.
    pub phrase: String,
    /// How alike what was heard is, 0 to 1.
    pub score: f32,
    /// What of the transcript was taken for it, in bytes.
    pub end: usize,
    /// What was said after it; empty when nothing was.
    pub rest: String,
}

/// All of them.
#[derive(Debug, Clone, PartialEq)]
pub struct Phrases {
    phrases: Vec<Phrase>,
    /// How alike one must be to count.
    threshold: f32,
}

impl Phrases {
    /// Listens for these. A sensitivity of 1 takes nearly anything that sounds like one, 0 only what was heard to the
    /// letter or nearly so.
    pub fn new(phrases: Vec<Phrase>, sensitivity: f32) -> Phrases {
        let sensitivity = if sensitivity.is_nan() {
            0.5
        } else {
            sensitivity.clamp(0.0, 1.0)
        };
        Phrases {
            phrases,
            threshold: USUAL + REACH * (1.0 - 2.0 * sensitivity),
        }
    }

    /// How alike a phrase must be to count, 0 to 1.
    pub fn threshold(&self) -> f32 {
        self.threshold
    }

    /// As they were configured.
    pub fn iter(&self) -> impl Iterator<Item = &Phrase> {
        self.phrases.iter()
    }

    /// The phrases as a recogniser writes names.
    pub fn names(&self) -> Vec<String> {
        self.phrases.iter().map(Phrase::name).collect()
    }

    /// The phrase with which a transcript begins. `speaking` is what Tiro itself says at this moment, if it does: a
    /// phrase in that is its own, and any other must be heard more clearly.
    pub fn spot(&self, transcript: &str, speaking: Option<&str>) -> Option<Spotted> {
        let threshold = self.threshold + speaking.map_or(0.0, |_| SPEAKING);
        let own = |phrase: &Phrase| speaking.is_some_and(|text| self.is_within(phrase, text));
        self.nearest(transcript, |phrase| !own(phrase))
            .filter(|spotted| spotted.score >= threshold.min(1.0))
    }

    /// The phrase that the beginning of a transcript is most like, however little: for people who choose a phrase.
    pub fn closest(&self, transcript: &str) -> Option<Spotted> {
        self.nearest(transcript, |_| true)
    }

    /// What was said after the phrase in the transcript of a whole request. Whoever calls knows that it was said, so more
    /// passes for it; the transcript itself where nothing does.
    pub fn strip<'t>(&self, transcript: &'t str) -> &'t str {
        match self.closest(transcript) {
            Some(spotted) if spotted.score >= self.threshold - KNOWN => {
                transcript[spotted.end..].trim_start_matches(|c: char| !c.is_alphanumeric())
            }
            _ => transcript,
        }
    }

    fn nearest(&self, transcript: &str, counts: impl Fn(&Phrase) -> bool) -> Option<Spotted> {
        let text = head(transcript);
        let words = words(text);
        let mut best: Option<Spotted> = None;
        for phrase in self.phrases.iter().filter(|phrase| counts(phrase)) {
            for from in 0..=calls(text, &words) {
                if let Some((score, count)) = phrase.at(text, &words[from..])
                    && best.as_ref().is_none_or(|b| score > b.score)
                {
                    let end = phrase.repeated(text, &words[from + count..], self.threshold);
                    let end = words[from + count + end - 1].end;
                    best = Some(Spotted {
                        phrase: phrase.text.clone(),
                        score,
                        end,
                        rest: transcript[end..]
                            .trim_start_matches(|c: char| !c.is_alphanumeric())
                            .trim_end()
                            .to_owned(),
                    });
                }
            }
        }
        best
    }

    /// Whether somebody who says this text says the phrase, or something like it, anywhere.
    fn is_within(&self, phrase: &Phrase, text: &str) -> bool {
        let words = words(text);
        (0..words.len()).any(|from| {
            let to = words.len().min(from + WORDS + 3);
            phrase
                .at(text, &words[from..to])
                .is_some_and(|(score, _)| score >= self.threshold - KNOWN)
        })
    }
}

impl Phrase {
    /// How alike these words begin, and how many of them belong to it: a recogniser splits and joins words.
    fn at(&self, text: &str, words: &[Range<usize>]) -> Option<(f32, usize)> {
        let mut joined: Vec<char> = Vec::new();
        let mut first = 0;
        let mut best: Option<(f32, usize)> = None;
        for (n, word) in words.iter().take(self.words + 2).enumerate() {
            joined.extend(letters(&text[word.clone()]).chars().take(2 * MOST));
            if joined.len() > 2 * self.said.len() + 2 {
                break;
            }
            if n == 0 {
                first = joined.len();
            }
            let score = self.likeness(&joined, first);
            // "The computer" is no "computer": what is better without its first word does not begin with the phrase.
            if n > 0
                && self
                    .said
                    .likeness(&Said::new(&joined[first..].iter().collect::<String>()))
                    > score
            {
                continue;
            }
            if best.is_none_or(|(most, _)| score > most) {
                best = Some((score, n + 1));
            }
        }
        best
    }

    /// How alike some letters are, of which the first word has so many. "Hey" is said before every name: what is called
    /// counts once more, so that "hey Siri" is not "hey Tiro".
    fn likeness(&self, joined: &[char], first: usize) -> f32 {
        let text = |from: usize| joined[from.min(joined.len())..].iter().collect::<String>();
        let whole = self.said.likeness(&Said::new(&text(0)));
        let Some((name, call)) = &self.name else {
            return whole;
        };
        let called = |from| name.likeness(&Said::new(&text(from)));
        0.5 * whole + 0.5 * called(first).max(called(*call))
    }

    /// How many further words say it again: people do, and so does a recogniser whose window was narrow.
    fn repeated(&self, text: &str, words: &[Range<usize>], threshold: f32) -> usize {
        let mut more = 0;
        while let Some((score, count)) = self.at(text, &words[more..])
            && score >= threshold
        {
            more += count;
        }
        more
    }
}

/// What is looked at of a transcript.
fn head(text: &str) -> &str {
    let mut end = text.len().min(LONGEST);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// Where the words of a text stand.
fn words(text: &str) -> Vec<Range<usize>> {
    let mut words: Vec<Range<usize>> = Vec::new();
    for (at, c) in text.char_indices() {
        let end = at + c.len_utf8();
        match words.last_mut() {
            Some(word) if word.end == at && belongs(c) => word.end = end,
            _ if c.is_alphanumeric() => words.push(at..end),
            _ => {}
        }
    }
    words
}

fn belongs(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '\'' | '’')
}

/// A word as it is compared.
fn letters(word: &str) -> String {
    word.chars()
        .filter(|c| c.is_alphanumeric())
        .flat_map(char::to_lowercase)
        .collect()
}

/// How many words before the phrase are those with which one calls.
fn calls(text: &str, words: &[Range<usize>]) -> usize {
    words
        .iter()
        .take(MAX_CALLS)
        .take_while(|word| CALLS.contains(&letters(&text[(*word).clone()]).as_str()))
        .count()
}
