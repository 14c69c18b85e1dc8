//! Requests that need no model: words that are, from the first to the last, a pattern which a tool declares in its own
//! file, with typed slots for what may differ ("set a timer for {duration:length}").
//!
//! Anything less than complete is nothing: a word too many, a value that is not surely of its type, two readings that
//! differ. Then the model decides, which is slow and can weigh words. What a pattern looks like is in `pattern`, what
//! may stand in a slot in `slots`.
//!
//! Patterns are no examples: the index is not taught them, so that adding one does not change what is found.

mod pattern;
mod slots;
#[cfg(test)]
mod tests;

use serde_json::{Map, Value};

use crate::contract::Entry;
use pattern::{Part, Reading};
pub use pattern::{PatternError, synonyms};

/// Words around a request that say nothing about it.
pub const POLITE: &[&str] = &[
    "can", "could", "hey", "kindly", "ok", "okay", "please", "thank", "thanks", "would", "you",
];

/// Longer requests are no command by heart. A bound on the work, too.
const MAX_WORDS: usize = 24;

/// What is said in one word though it stands for two; recognisers and people write either.
const SHORT: &[(&str, &str)] = &[
    ("hows", "how"),
    ("thats", "that"),
    ("whats", "what"),
    ("wheres", "where"),
    ("whens", "when"),
    ("whos", "who"),
];

/// A call that the words alone decide.
#[derive(Debug, Clone, PartialEq)]
pub struct Reflex {
    /// `domain.verb`.
    pub name: &'static str,
    /// An object; every value is of the type that the schema has for it.
    pub arguments: Value,
}

/// The patterns of some tools.
#[derive(Debug, Clone, Default)]
pub struct Reflexes {
    readings: Vec<Reading>,
}

impl Reflexes {
    /// The patterns of these tools. One that cannot be read is left out and logged; a test keeps that from happening.
    pub fn of(entries: &[Entry]) -> Reflexes {
        let mut readings = Vec::new();
        for entry in entries.iter().filter(|entry| !entry.patterns.is_empty()) {
            let schema = entry.parameters();
            for pattern in entry.patterns {
                match pattern::readings(entry.name, pattern, &schema) {
                    Ok(more) => readings.extend(more),
                    Err(error) => {
                        tracing::error!(tool = entry.name, pattern, %error, "a pattern is of no use")
                    }
                }
            }
        }
        Reflexes { readings }
    }

    /// The call that these words are, if they are one completely and nothing else.
    pub fn find(&self, text: &str) -> Option<Reflex> {
        let all = words(text)?;
        let said = without_politeness(&all);
        let mut found: Vec<(usize, Reflex)> = Vec::new();
        for reading in &self.readings {
            let name = reading.tool;
            let known = reading.known();
            let calls = reading.matches(said).into_iter();
            found.extend(calls.map(|arguments| (known, Reflex { name, arguments })));
        }
        let (most, best) = found.iter().max_by_key(|(known, _)| *known)?;
        // Who knows more of the words by heart has not mistaken one for a part of a value: "at seven" for a time. What
        // can be understood in two ways for all that is weighed by the model.
        let other =
            |(known, call): &(usize, Reflex)| call.name != best.name || (known == most && call != best);
        match found.iter().any(other) {
            true => None,
            false => Some(best.clone()),
        }
    }
}

impl Reading {
    /// How many words it knows by heart.
    fn known(&self) -> usize {
        let words = self.parts.iter().filter(|part| matches!(part, Part::Word(_)));
        words.count()
    }

    /// The arguments of every way in which these words are this reading.
    fn matches(&self, said: &[String]) -> Vec<Value> {
        let mut found = Vec::new();
        // Most readings fail at their first or last word, which costs nothing.
        let last = match (self.parts.last(), said.last()) {
            (Some(Part::Word(word)), Some(last)) => word == last,
            (Some(Part::Slot { .. }), Some(_)) => true,
            _ => false,
        };
        if last && said.len() >= self.parts.len() {
            self.go(&self.parts, said, &mut self.fixed.clone(), &mut found);
        }
        found
    }

    fn go(&self, parts: &[Part], said: &[String], given: &mut Map<String, Value>, found: &mut Vec<Value>) {
        match parts.split_first() {
            None if said.is_empty() => found.push(Value::Object(given.clone())),
            None => {}
            Some((Part::Word(word), rest)) => {
                if let Some((first, after)) = said.split_first()
                    && first == word
                {
                    self.go(rest, after, given, found);
                }
            }
            Some((Part::Slot { name, kind }, rest)) => {
                // Each part that follows takes a word at least.
                for taken in 1..=said.len().saturating_sub(rest.len()) {
                    let (value, after) = said.split_at(taken);
                    if !possible(rest, after) {
                        continue;
                    }
                    if let Some(value) = kind.read(value) {
                        given.insert(name.clone(), value);
                        self.go(rest, after, given, found);
                        given.shift_remove(name);
                    }
                }
            }
        }
    }
}

/// Whether the word that follows a slot is there, so that what stands in it need not be read in vain.
fn possible(parts: &[Part], said: &[String]) -> bool {
    match (parts.first(), said.first()) {
        (Some(Part::Word(word)), Some(first)) => word == first,
        (Some(Part::Word(_)), None) => false,
        (None, first) => first.is_none(),
        (Some(Part::Slot { .. }), _) => true,
    }
}

/// The words of a request in lower case, without the signs around them; "what's" is two, "30%" is two.
/// Nothing when there are none, or more than a command has.
fn words(text: &str) -> Option<Vec<String>> {
    let mut all = Vec::new();
    for word in text.split_whitespace() {
        if all.len() > MAX_WORDS {
            return None;
        }
        let word = word.to_lowercase().replace('’', "'");
        let word =
            word.trim_matches(|c| matches!(c, '.' | ',' | '!' | '?' | ';' | ':' | '"' | '(' | ')' | '…'));
        let number = word
            .strip_suffix('%')
            .filter(|number| number.ends_with(|c: char| c.is_ascii_digit()));
        let short = word
            .strip_suffix("'s")
            .and_then(|start| {
                SHORT
                    .iter()
                    .find(|(_, long)| *long == start)
                    .map(|(_, long)| long)
            })
            .or_else(|| {
                SHORT
                    .iter()
                    .find(|(short, _)| *short == word)
                    .map(|(_, long)| long)
            });
        match (number, short) {
            (Some(number), _) => all.extend([number.to_owned(), "percent".to_owned()]),
            (None, Some(long)) => all.extend([(*long).to_owned(), "is".to_owned()]),
            // "Wi-fi" and "twenty-five" are written with a blank as well; a range of figures is not.
            (None, None) if word.contains('-') && word.chars().all(|c| c.is_alphabetic() || c == '-') => {
                all.extend(word.split('-').filter(|part| !part.is_empty()).map(str::to_owned));
            }
            (None, None) if word.is_empty() => {}
            (None, None) => all.push(word.to_owned()),
        }
    }
    (!all.is_empty() && all.len() <= MAX_WORDS).then_some(all)
}

/// The words between those that are only polite.
fn without_politeness(all: &[String]) -> &[String] {
    let polite = |word: &String| POLITE.contains(&word.as_str());
    let start = all.iter().position(|word| !polite(word)).unwrap_or(all.len());
    let end = all
        .iter()
        .rposition(|word| !polite(word))
        .map_or(start, |last| last + 1);
    &all[start..end]
}
