//! Text to tokens: numbers in digits and words, words, and the few signs that times are written with.

use super::words;

/// One token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Token {
    /// A number.
    Number(Number),
    /// A word in lower case.
    Word(String),
    /// One of `: . / - ,`.
    Sign(char),
}

/// A number and how it was said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Number {
    /// At most 99,999,999.
    pub value: u32,
    /// How many digits it was written with, leading zeros too; 0 when it was said in words.
    pub digits: u8,
    /// Whether it is a "third" rather than a "three".
    pub ordinal: bool,
    /// Whether its last word was "second", which is a unit, too.
    pub second: bool,
}

/// Splits a text. `None` when it holds what no time has: other signs or letters, or too large a number.
pub fn tokens(text: &str) -> Option<Vec<Token>> {
    let pieces = join_numbers(split(text)?);
    let mut tokens = join_words(pieces);
    hear_numbers(&mut tokens);
    Some(tokens)
}

fn split(text: &str) -> Option<Vec<Token>> {
    let text = text.to_lowercase();
    let mut chars = text.chars().peekable();
    let mut out: Vec<Token> = Vec::new();
    // Whether the piece before touches this one: "3h" against "3 h".
    let mut glued = false;
    while let Some(c) = chars.next() {
        match c {
            c if c.is_whitespace() => {
                glued = false;
                continue;
            }
            '0'..='9' => {
                let mut digits = String::from(c);
                while let Some(d) = chars.next_if(char::is_ascii_digit) {
                    digits.push(d);
                }
                if digits.len() > 8 {
                    return None;
                }
                out.push(Token::Number(Number {
                    value: digits.parse().ok()?,
                    digits: u8::try_from(digits.len()).ok()?,
                    ordinal: false,
                    second: false,
                }));
            }
            c if c.is_alphabetic() => {
                let mut word = String::from(c);
                while let Some(d) = chars.next_if(|d| d.is_alphabetic() || matches!(d, '\'' | '’')) {
                    word.push(if d == '’' { '\'' } else { d });
                }
                push_word(&mut out, word, glued);
            }
            ':' | '.' | '/' | '-' | ',' => out.push(Token::Sign(c)),
            '–' | '—' | '~' => out.push(Token::Sign('-')),
            // As models and forms write bounds: "> 2019", ">= 2019".
            '<' | '>' => out.push(Token::Word(if c == '<' { "before" } else { "after" }.to_owned())),
            '=' => match out.last_mut() {
                Some(Token::Word(bound)) if bound == "before" => *bound = "until".to_owned(),
                Some(Token::Word(bound)) if bound == "after" => *bound = "since".to_owned(),
                _ => return None,
            },
            '(' | ')' | '"' | '?' | '!' | ';' => {
                glued = false;
                continue;
            }
            _ => return None,
        }
        glued = true;
    }
    while matches!(out.last(), Some(Token::Sign('.' | ','))) {
        out.pop();
    }
    Some(out)
}

/// A word that touches the number before it means something else than the word alone.
fn push_word(out: &mut Vec<Token>, word: String, glued: bool) {
    if glued && let Some(Token::Number(number)) = out.last_mut() {
        match word.as_str() {
            "st" | "nd" | "rd" | "th" => {
                number.ordinal = true;
                return;
            }
            "a" => return out.push(Token::Word("am".into())),
            "p" => return out.push(Token::Word("pm".into())),
            _ => {
                if let Some(unit) = words::glued_unit(&word) {
                    return out.push(Token::Word(unit.into()));
                }
            }
        }
    }
    out.push(Token::Word(word));
}

/// Number words to numbers: "twenty five", "two thousand and five", "nineteen hundred ninety three", "a hundred", "oh five",
/// "oh eight hundred".
fn join_numbers(tokens: Vec<Token>) -> Vec<Token> {
    let mut out = Vec::with_capacity(tokens.len());
    let mut at = 0;
    while at < tokens.len() {
        if let Some((number, used)) = spoken(&tokens[at..]) {
            out.push(Token::Number(number));
            at += used;
        } else {
            out.push(tokens[at].clone());
            at += 1;
        }
    }
    out
}

fn spoken(tokens: &[Token]) -> Option<(Number, usize)> {
    let word = |at: usize| match tokens.get(at) {
        Some(Token::Word(word)) => Some(word.as_str()),
        _ => None,
    };
    let whole = |value, digits| Number {
        value,
        digits,
        ordinal: false,
        second: false,
    };
    if let Some(zero @ ("oh" | "o" | "zero")) = word(0)
        && let Some((value @ 1..=9, false)) = word(1).and_then(words::number)
    {
        if word(2) == Some("hundred") {
            return Some((whole(value * 100, 4), 3));
        }
        if zero != "zero" {
            return Some((whole(value, 2), 2));
        }
    }
    let (mut number, mut used) = match (word(0), word(1)) {
        (Some("a"), Some("hundred" | "thousand")) => (whole(1, 0), 1),
        _ => below_hundred(tokens)?,
    };
    for (name, factor) in [("hundred", 100), ("thousand", 1000)] {
        if number.ordinal || word(used) != Some(name) {
            continue;
        }
        used += 1;
        number.value *= factor;
        let and = usize::from(word(used) == Some("and"));
        if let Some((rest, more)) = tokens.get(used + and..).and_then(below_hundred) {
            number.value += rest.value;
            number.ordinal = rest.ordinal;
            used += and + more;
        }
    }
    Some((number, used))
}

fn below_hundred(tokens: &[Token]) -> Option<(Number, usize)> {
    let word = |at: usize| match tokens.get(at) {
        Some(Token::Word(word)) => words::number(word).map(|(value, ordinal)| Number {
            value,
            digits: 0,
            ordinal,
            second: word == "second",
        }),
        _ => None,
    };
    let first = word(0)?;
    if first.ordinal || first.value < 20 {
        return Some((first, 1));
    }
    let dash = usize::from(tokens.get(1) == Some(&Token::Sign('-')));
    match word(1 + dash) {
        Some(unit) if (1..10).contains(&unit.value) => {
            let value = first.value + unit.value;
            Some((Number { value, ..unit }, 2 + dash))
        }
        _ => Some((first, 1)),
    }
}

/// "a . m ." to "am"; "o ' clock", "night-time" and "sun day" to one word.
fn join_words(tokens: Vec<Token>) -> Vec<Token> {
    let mut out: Vec<Token> = Vec::with_capacity(tokens.len());
    let word = |at: usize| match tokens.get(at) {
        Some(Token::Word(word)) => Some(word.as_str()),
        _ => None,
    };
    let sign = |at: usize, c: char| usize::from(tokens.get(at) == Some(&Token::Sign(c)));
    let mut at = 0;
    while at < tokens.len() {
        let dot = sign(at + 1, '.');
        let dash = sign(at + 1, '-');
        let (joined, used) = match (word(at), word(at + 1 + dot), word(at + 1 + dash)) {
            (Some("a"), Some("m"), _) => ("am", 2 + dot + sign(at + 2 + dot, '.')),
            (Some("p"), Some("m"), _) => ("pm", 2 + dot + sign(at + 2 + dot, '.')),
            (Some("o"), _, Some("clock")) => ("o'clock", 2 + dash),
            (Some("oclock"), ..) => ("o'clock", 1),
            (Some("noonish"), ..) => ("noon", 1),
            (Some("till" | "til"), ..) => ("until", 1),
            (Some(first), _, second) => match second.and_then(|second| words::split_in_two(first, second)) {
                Some(whole) => (whole, 2 + dash),
                None => (first, 1),
            },
            (None, ..) => {
                out.push(tokens[at].clone());
                at += 1;
                continue;
            }
        };
        out.push(Token::Word(joined.to_owned()));
        at += used;
    }
    out
}

/// Numbers and hours that a recogniser wrote as another word, where nothing else makes sense.
fn hear_numbers(tokens: &mut [Token]) {
    for at in 0..tokens.len() {
        let Token::Word(word) = &tokens[at] else {
            continue;
        };
        if word == "our" && counted(&tokens[..at]) {
            tokens[at] = Token::Word("hour".to_owned());
        } else if let Some(value) = words::sounds_like(word)
            && stands_for_number(tokens, at, word)
        {
            tokens[at] = Token::Number(Number {
                value,
                digits: 0,
                ordinal: false,
                second: false,
            });
        }
    }
}

/// "at for pm", "sick thirty am", "ate minutes": a number stands before a half of the day or "o'clock", minutes between them or
/// not, and before a unit. "We ate 10 pm" has its hour; and what holds sentences together is a number only after "at".
fn stands_for_number(tokens: &[Token], at: usize, word: &str) -> bool {
    let is = |token: Option<&Token>, any: &[&str]| matches!(token, Some(Token::Word(word)) if any.contains(&word.as_str()));
    let before = at.checked_sub(1).and_then(|before| tokens.get(before));
    // "One too" and "twenty ate" are for others to guess.
    if matches!(before, Some(Token::Number(_))) {
        return false;
    }
    let minutes = match tokens.get(at + 1) {
        Some(Token::Number(n)) if n.value < 60 && (n.digits == 2 || n.value >= 10) => Some(n.value),
        _ => None,
    };
    let half = tokens.get(at + 1 + usize::from(minutes.is_some()));
    let of_day = is(half, &["am", "pm", "o'clock"]);
    if is(before, &["at"]) || words::holds_together(word) {
        return of_day && is(before, &["at"]);
    }
    let no_hour = minutes.is_none_or(|minutes| minutes > 12);
    (of_day && no_hour)
        || (words::counts_units(word) && is(tokens.get(at + 1), &["seconds", "minutes", "hours"]))
}

/// Whether what was said last is the beginning of an hour: "half an", "a half".
fn counted(before: &[Token]) -> bool {
    let said = |steps: usize| match before.len().checked_sub(steps).map(|at| &before[at]) {
        Some(Token::Word(word)) => word.as_str(),
        _ => "",
    };
    matches!((said(2), said(1)), (_, "an") | ("a", "half" | "quarter"))
}
