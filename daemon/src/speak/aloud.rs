//! What is written becomes what is spoken: numbers, times, dates, units, money, addresses as people say them, in English; marks,
//! bullets and pictures are left out.
//!
//! Pure, bounded and linear in its text, which may come from anybody. What it does not know it leaves to the voice.

mod lines;
mod numbers;
mod money;
mod places;
mod times;

use numbers::Number;

/// The text as it is spoken, on one line, from at most so many characters of it.
pub fn aloud(text: &str, most: usize) -> String {
    let mut spoken = String::new();
    for line in lines::lines(text, most) {
        let line = words(&line);
        let Some(last) = line.chars().next_back() else {
            continue;
        };
        if !spoken.is_empty() {
            spoken.push(' ');
        }
        spoken.push_str(&line);
        // A line is a sentence of its own.
        if last.is_alphanumeric() || matches!(last, ')' | '"' | '\'') {
            spoken.push('.');
        }
    }
    spoken
}

/// Longest answer that is read out, in characters: about two minutes.
const ANSWER: usize = 1600;

/// Said in place of what is too long to listen to.
const MORE: &str = "There is more; I only show it.";

/// How much of an answer was said, sentence by sentence: the end of a long one is only shown.
#[derive(Debug, Default)]
pub struct Shown {
    /// Characters so far.
    said: usize,
    over: bool,
}

impl Shown {
    /// What is said in place of the next sentence; nothing once the rest is only shown.
    pub fn next<'s>(&mut self, sentence: &'s str) -> Option<&'s str> {
        let length = sentence.chars().count();
        if self.over || self.said > 0 && self.said + length > ANSWER {
            return (!std::mem::replace(&mut self.over, true)).then_some(MORE);
        }
        self.said += length + usize::from(self.said > 0);
        Some(sentence)
    }
}

/// The sentences of an answer, or of a stretch of one, that are said.
pub fn sentences(text: &str, shown: &mut Shown) -> Vec<String> {
    let spoken = aloud(text, 4 * ANSWER);
    let all = super::sentences::split(&spoken).into_iter();
    all.filter_map(|sentence| shown.next(&sentence).map(str::to_owned))
        .collect()
}

/// An answer, of which the end is only shown when it is too long to listen to.
pub fn answer(text: &str) -> String {
    sentences(text, &mut Shown::default()).join(" ")
}

/// A word and the marks around it.
#[derive(Debug, Clone, Copy)]
struct Token<'t> {
    before: &'t str,
    word: &'t str,
    after: &'t str,
}

impl<'t> Token<'t> {
    fn of(text: &'t str) -> Token<'t> {
        let inner = text.trim_start_matches(['(', '[', '{', '"', '\'']);
        let before = &text[..text.len() - inner.len()];
        let word = inner.trim_end_matches(['.', ',', ';', ':', '!', '?', ')', ']', '}', '"', '\'']);
        // "p.m." and "e.g." end with a full stop of their own.
        let dotted = word.contains('.')
            && word.split('.').all(|part| part.len() == 1)
            && inner[word.len()..].starts_with('.');
        let word = match dotted {
            true => &inner[..=word.len()],
            false => word,
        };
        Token {
            before,
            word,
            after: &inner[word.len()..],
        }
    }

    /// Whether the next word belongs to the same phrase.
    fn goes_on(&self) -> bool {
        self.after.is_empty()
    }
}

/// What some words become, and how many they are.
type Said = Option<(String, usize)>;

/// One line as it is spoken.
fn words(line: &str) -> String {
    let tokens: Vec<Token> = line.split_whitespace().map(Token::of).collect();
    let mut spoken = String::with_capacity(line.len());
    let mut at = 0;
    while at < tokens.len() {
        let (said, count) = said(&tokens, at).unwrap_or_else(|| (tokens[at].word.to_owned(), 1));
        let (first, last) = (&tokens[at], &tokens[at + count - 1]);
        at += count;
        let mut marks = marks(last.after);
        if count == 1 && DOTTED.contains(&last.word) && at < tokens.len() && marks.starts_with('.') {
            marks.remove(0);
        }
        let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
        if said.is_empty() {
            // What is left out leaves no gap before its comma.
            if !spoken.is_empty() && !spoken.ends_with(['.', ',', ';', ':', '!', '?']) {
                spoken.push_str(marks.trim_matches(['"', ')']));
            }
            continue;
        }
        if !spoken.is_empty() {
            spoken.push(' ');
        }
        spoken.push_str(&first.before.replace(['[', '{', '\''], ""));
        spoken.push_str(&said);
        spoken.push_str(&marks);
    }
    spoken
}

/// The marks behind a word, such as a voice reads them.
fn marks(after: &str) -> String {
    let mut marks = String::new();
    for mark in after.chars() {
        match mark {
            ']' | '}' | '\'' => {}
            // Many exclamation marks are one.
            mark if marks.ends_with(mark) => {}
            mark => marks.push(mark),
        }
    }
    marks
}

/// What the words here become; nothing when they stay as they are.
fn said(tokens: &[Token], at: usize) -> Said {
    let one = |said: String| Some((said, 1));
    let word = tokens[at].word;
    if word.is_empty() {
        return one(String::new());
    }
    let before = at.checked_sub(1).map_or("", |before| tokens[before].word);
    places::said(word)
        .and_then(one)
        .or_else(|| times::said(tokens, at))
        .or_else(|| money::said(tokens, at))
        .or_else(|| numbers::said(tokens, at, before))
        .or_else(|| short(word, tokens.get(at + 1)).map(|said| (said.to_owned(), 1)))
        .or_else(|| joined(word, before).and_then(one))
}

/// Short forms whose full stop ends nothing.
const DOTTED: &[&str] = &[
    "No", "Nr", "nr", "Dr", "Prof", "vs", "approx", "ca", "Mr", "Mrs", "Ms", "St",
];

/// Short forms and signs, in words.
fn short(word: &str, next: Option<&Token>) -> Option<&'static str> {
    let numbered = next.is_some_and(|next| Number::of(next.word).is_some());
    Some(match word {
        "e.g." | "e.g" => "for example",
        "i.e." | "i.e" => "that is",
        "etc" => "and so on",
        "approx" | "ca" if numbered => "about",
        "vs" => "versus",
        "Dr" => "Doctor",
        "Prof" => "Professor",
        "No" | "Nr" | "nr" if numbered => "number",
        "a.m." | "a.m" => "AM",
        "p.m." | "p.m" => "PM",
        "&" | "+" if !numbered => "and",
        "+" => "plus",
        "=" => "is",
        "~" | "≈" => "about",
        "<" => "less than",
        ">" => "more than",
        "<=" | "≤" => "at most",
        ">=" | "≥" => "at least",
        "->" | "→" | "=>" => "to",
        "×" => "times",
        "÷" => "divided by",
        "@" => "at",
        "%" => "percent",
        "°" => "degrees",
        "-" | "–" | "—" | "|" | "/" | "*" | "•" | "·" | "#" | "_" | "\\" | "--" => "",
        _ => return None,
    })
}

/// Words that hang together: "and/or", "20-minute", "#home".
fn joined(word: &str, before: &str) -> Option<String> {
    if word.chars().all(|c| !c.is_alphanumeric()) {
        return Some(String::new());
    }
    if let Some(tag) = word.strip_prefix('#') {
        let said = numbers::plain(tag, "").map(|number| format!("number {number}"));
        return Some(said.unwrap_or_else(|| format!("hashtag {}", tag.replace(['#', '_'], " "))));
    }
    let mark = ['/', '—', '–', '-', '_', '→', '=']
        .into_iter()
        .find(|mark| word.contains(*mark))?;
    let parts: Vec<&str> = word.split(mark).filter(|part| !part.is_empty()).collect();
    let numbers = parts
        .iter()
        .filter(|part| numbers::plain(part, before).is_some())
        .count();
    let between = match mark {
        // "A-320" and "well-known" are for the voice, "20-minute" is a number.
        '-' if numbers != 1 || parts.len() != 2 => return None,
        '-' => "-",
        '—' | '–' => ", ",
        '→' => " to ",
        '=' => " is ",
        _ => " ",
    };
    let parts = parts.into_iter().map(|part| {
        let number = numbers::plain(part, "");
        number.unwrap_or_else(|| part.trim_matches('_').to_owned())
    });
    Some(
        parts
            .filter(|part| !part.is_empty())
            .collect::<Vec<_>>()
            .join(between),
    )
}

#[cfg(test)]
mod tests;
