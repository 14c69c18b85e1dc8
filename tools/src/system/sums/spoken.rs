//! Reads a sum as people say it into tokens: numbers in words, phrases for operators, signs as they are.

use super::{NoSum, Token};
use crate::when;

/// A word, a number in digits, or a sign.
#[derive(Debug, Clone, PartialEq)]
enum Piece {
    Word(String),
    Digits(String),
    Sign(char),
}

/// The pieces of a text and how far they are read.
pub(super) struct Words {
    pieces: Vec<Piece>,
    at: usize,
    /// What "and", "to" and "by" mean after "the sum of", "add", "multiply".
    joiner: Option<char>,
    /// What is subtracted, when that is said first: "subtract four from ten".
    subtracted: Option<Vec<Token>>,
}

impl Words {
    pub(super) fn read(text: &str) -> Result<Words, NoSum> {
        let mut pieces = Vec::new();
        let chars: Vec<char> = text.to_lowercase().chars().collect();
        let mut i = 0;
        while let Some(&c) = chars.get(i) {
            let begins_number =
                c.is_ascii_digit() || (c == '.' && chars.get(i + 1).is_some_and(char::is_ascii_digit));
            if begins_number {
                let end = (i..chars.len())
                    .find(|&j| !(chars[j].is_ascii_digit() || is_inner(&chars, j)))
                    .unwrap_or(chars.len());
                pieces.push(Piece::Digits(number(&chars[i..end])?));
                i = end;
            } else if c.is_alphabetic() {
                let end = (i..chars.len())
                    .find(|&j| !chars[j].is_alphabetic())
                    .unwrap_or(chars.len());
                pieces.push(Piece::Word(chars[i..end].iter().collect()));
                i = end;
            } else {
                i += 1;
                match c {
                    '×' | '·' | '∙' => pieces.push(Piece::Sign('*')),
                    '÷' | ':' => pieces.push(Piece::Sign('/')),
                    '−' | '–' | '—' => pieces.push(Piece::Sign('-')),
                    '²' => pieces.push(Piece::Word("squared".to_owned())),
                    '³' => pieces.push(Piece::Word("cubed".to_owned())),
                    '√' => pieces.push(Piece::Word("sqrt".to_owned())),
                    '*' if chars.get(i) == Some(&'*') => {
                        i += 1;
                        pieces.push(Piece::Sign('^'));
                    }
                    '+' | '*' | '/' | '^' | '(' | ')' | '%' | '!' => pieces.push(Piece::Sign(c)),
                    // Between letters it joins words ("twenty-five"); anywhere else it subtracts.
                    '-' => {
                        let joins = i >= 2
                            && chars[i - 2].is_alphabetic()
                            && chars.get(i).is_some_and(|c| c.is_alphabetic());
                        if !joins {
                            pieces.push(Piece::Sign('-'));
                        }
                    }
                    // A currency changes nothing about the sum; punctuation and blanks separate.
                    ',' => pieces.push(Piece::Sign(',')),
                    '$' | '€' | '£' | '=' | '?' | '.' | ';' | '\'' | '’' => {}
                    c if c.is_whitespace() => {}
                    c => return Err(NoSum(format!("\"{}\" does not belong in it", c.escape_debug()))),
                }
            }
        }
        Ok(Words {
            pieces,
            at: 0,
            joiner: None,
            subtracted: None,
        })
    }

    pub(super) fn tokens(mut self) -> Result<Vec<Token>, NoSum> {
        let mut tokens = Vec::new();
        while let Some(piece) = self.pieces.get(self.at).cloned() {
            match piece {
                Piece::Sign(',') => {
                    self.at += 1;
                    // In "the sum of 3, 7 and 9" a comma joins like the "and" does; elsewhere it is a pause.
                    let joins = self.word(self.at) != "and" && self.at < self.pieces.len();
                    tokens.extend(self.joiner.filter(|_| joins).map(Token::Operator));
                }
                Piece::Sign(sign) => {
                    self.at += 1;
                    tokens.push(match sign {
                        '(' => Token::Open,
                        ')' => Token::Close,
                        '%' => Token::Percent,
                        '!' => Token::Behind("!"),
                        other => Token::Operator(other),
                    });
                }
                Piece::Digits(digits) => {
                    self.at += 1;
                    tokens.push(Token::Number(self.with_scale(digits)));
                }
                Piece::Word(word) => {
                    if let Some(number) = self.number_in_words() {
                        tokens.push(Token::Number(number));
                    } else if let Some((phrase, found)) = PHRASES.iter().find(|(p, _)| self.says(p)) {
                        self.at += phrase.split(' ').count();
                        self.phrase(found, &mut tokens)?;
                    } else if FILLERS.split(' ').any(|f| f == word) {
                        self.at += 1;
                    } else if let Some(number) = when::sounds_like(&word) {
                        // Nothing but a number makes sense there: "ate times twelve".
                        self.at += 1;
                        tokens.push(Token::Number(number.to_string()));
                    } else {
                        return Err(NoSum(format!("\"{word}\" does not belong in it")));
                    }
                }
            }
        }
        if let Some(subtracted) = self.subtracted {
            tokens.extend([Token::Operator('-'), Token::Open]);
            tokens.extend(subtracted);
            tokens.push(Token::Close);
        }
        if tokens.is_empty() {
            return Err(NoSum("there is nothing to calculate".to_owned()));
        }
        Ok(tokens)
    }

    fn phrase(&mut self, found: &Phrase, tokens: &mut Vec<Token>) -> Result<(), NoSum> {
        match found {
            Phrase::Token(token) => tokens.push(match token {
                Sign::Operator(c) => Token::Operator(*c),
                Sign::Function(name) => Token::Function(name),
                Sign::Behind(text) => Token::Behind(text),
                Sign::Percent => Token::Percent,
                Sign::Number(text) => Token::Number((*text).to_owned()),
            }),
            Phrase::Times(factor) => {
                tokens.push(Token::Number((*factor).to_owned()));
                tokens.push(Token::Operator('*'));
            }
            Phrase::Nothing => {}
            Phrase::Joins(operator) => self.joiner = Some(*operator),
            Phrase::From if self.joiner == Some('-') && self.subtracted.is_none() => {
                self.subtracted = Some(std::mem::take(tokens));
            }
            Phrase::From => {
                return Err(NoSum(
                    "\"from\" does not say what to do with the numbers".to_owned(),
                ));
            }
            Phrase::Join(word) => match self.joiner {
                Some(operator) => tokens.push(Token::Operator(operator)),
                None if *word == "by" => tokens.push(Token::Operator('*')),
                None => {
                    return Err(NoSum(format!(
                        "\"{word}\" does not say what to do with the numbers"
                    )));
                }
            },
        }
        Ok(())
    }

    fn word(&self, at: usize) -> &str {
        match self.pieces.get(at) {
            Some(Piece::Word(word)) => word,
            _ => "",
        }
    }

    fn says(&self, phrase: &str) -> bool {
        phrase
            .split(' ')
            .enumerate()
            .all(|(i, w)| self.word(self.at + i) == w)
    }

    /// Digits may be followed by a scale or a fraction: `2.5 million`, `3 and a half`, `2 thirds`.
    fn with_scale(&mut self, digits: String) -> String {
        let mut value = digits;
        while let Some(scale) = scale(self.word(self.at)) {
            value = format!("({value}*{scale})");
            self.at += 1;
        }
        self.fraction_behind(value)
    }

    /// Reads a number in words from here, if there is one: `two hundred and five`, `three point one four`,
    /// `three and a half`, `two thirds`, `half`.
    fn number_in_words(&mut self) -> Option<String> {
        let start = self.at;
        let mut total: u128 = 0;
        let mut group: u128 = 0;
        // The value that the next word must stay under, as in "twenty" and then "five".
        let mut room: u128 = 1000;
        let mut scale_room: u128 = u128::MAX;
        let mut seen = false;
        loop {
            let word = self.word(self.at);
            if let Some(value) = small(word).filter(|v| *v < room) {
                group += value;
                // After a ten comes a unit, after anything else nothing.
                room = if (20..100).contains(&value) { 10 } else { 0 };
            } else if word == "hundred" && group < 100 && room < 1000 {
                group = group.max(1) * 100;
                room = 100;
            } else if let Some(scale) = scale(word).filter(|s| seen && *s < scale_room && *s > 100) {
                total += group.max(1) * scale;
                (group, room, scale_room) = (0, 1000, scale);
            } else if matches!(word, "a" | "an") && !seen && scale(self.word(self.at + 1)).is_some() {
                group = 1;
                room = 10;
            } else if word == "and"
                && seen
                && self.joiner.is_none()
                && room >= 100
                && small(self.word(self.at + 1)).is_some()
            {
                // "two hundred and five"; with the sum of two numbers "and" stands between them.
            } else {
                break;
            }
            seen = true;
            self.at += 1;
        }
        let decimals = self.decimals();
        if seen || decimals.is_some() {
            let whole = (total + group).to_string();
            let value = match decimals {
                Some(decimals) => format!("{whole}.{decimals}"),
                None => whole,
            };
            return Some(self.with_scale(value));
        }
        // "half", "a third", "the quarter": one of it.
        let article = usize::from(matches!(self.word(self.at), "a" | "an"));
        if let Some(denominator) = denominator(self.word(self.at + article)) {
            self.at += article + 1;
            return Some(format!("(1/{denominator})"));
        }
        self.at = start;
        None
    }

    /// `point one four`, if that follows.
    fn decimals(&mut self) -> Option<String> {
        if self.word(self.at) != "point" {
            return None;
        }
        let mut digits = String::new();
        let mut at = self.at + 1;
        loop {
            match self.pieces.get(at) {
                Some(Piece::Word(word)) => match small(word) {
                    Some(value) => digits.push_str(&value.to_string()),
                    None => break,
                },
                Some(Piece::Digits(text)) if !text.contains('.') => digits.push_str(text),
                _ => break,
            }
            at += 1;
        }
        if digits.is_empty() {
            return None;
        }
        self.at = at;
        Some(digits)
    }

    /// `thirds` makes two of it a fraction; `and a half` adds one.
    fn fraction_behind(&mut self, value: String) -> String {
        if let Some(denominator) = denominator(self.word(self.at)).filter(|_| self.word(self.at) != "half") {
            self.at += 1;
            return format!("({value}/{denominator})");
        }
        if self.word(self.at) != "and" {
            return value;
        }
        let count = match self.word(self.at + 1) {
            "a" | "an" => Some(1),
            word => small(word),
        };
        match (count, denominator(self.word(self.at + 2))) {
            (Some(count), Some(denominator)) => {
                self.at += 3;
                format!("({value}+{count}/{denominator})")
            }
            _ => value,
        }
    }
}

/// A dot or comma inside a number.
fn is_inner(chars: &[char], at: usize) -> bool {
    matches!(chars[at], '.' | ',') && chars.get(at + 1).is_some_and(char::is_ascii_digit)
}

/// Commas must group by three; anything else could be a decimal comma or a list, and guessing is worse than asking.
fn number(chars: &[char]) -> Result<String, NoSum> {
    let text: String = chars.iter().collect();
    let (whole, decimals) = text
        .split_once('.')
        .map_or((text.as_str(), None), |(w, d)| (w, Some(d)));
    let mut groups = whole.split(',');
    let first = groups.next().unwrap_or_default();
    let grouped = !whole.contains(',') || (1..=3).contains(&first.len()) && groups.all(|g| g.len() == 3);
    if !grouped || decimals.is_some_and(|d| d.contains(['.', ','])) {
        return Err(NoSum(format!("\"{text}\" is not a clear number")));
    }
    let whole = match whole.replace(',', "") {
        empty if empty.is_empty() => "0".to_owned(),
        whole => whole,
    };
    Ok(decimals.map_or(whole.clone(), |d| format!("{whole}.{d}")))
}

/// What a phrase stands for.
enum Phrase {
    Token(Sign),
    /// A factor of what follows.
    Times(&'static str),
    /// Introduces a sum.
    Nothing,
    /// "subtract four from ten".
    From,
    /// Says what a later "and" means.
    Joins(char),
    /// Means what was said before.
    Join(&'static str),
}

/// A token that a constant can hold.
enum Sign {
    Operator(char),
    Function(&'static str),
    Behind(&'static str),
    Percent,
    Number(&'static str),
}

/// Longer phrases stand before shorter ones that they begin with.
const PHRASES: &[(&str, Phrase)] = &[
    ("raised to the power of", Phrase::Token(Sign::Operator('^'))),
    ("to the power of", Phrase::Token(Sign::Operator('^'))),
    ("raised to", Phrase::Token(Sign::Operator('^'))),
    ("multiplied by", Phrase::Token(Sign::Operator('*'))),
    ("divided by", Phrase::Token(Sign::Operator('/'))),
    ("square of", Phrase::Token(Sign::Function("square"))),
    ("cube of", Phrase::Token(Sign::Function("cube"))),
    ("square root of", Phrase::Token(Sign::Function("sqrt"))),
    ("square root", Phrase::Token(Sign::Function("sqrt"))),
    ("cube root of", Phrase::Token(Sign::Function("cbrt"))),
    ("root of", Phrase::Token(Sign::Function("sqrt"))),
    ("sqrt", Phrase::Token(Sign::Function("sqrt"))),
    ("absolute value of", Phrase::Token(Sign::Function("abs"))),
    ("take away", Phrase::Token(Sign::Operator('-'))),
    ("tip on", Phrase::Token(Sign::Operator('*'))),
    ("gratuity on", Phrase::Token(Sign::Operator('*'))),
    ("tax on", Phrase::Token(Sign::Operator('*'))),
    ("off of", Phrase::Token(Sign::Operator('o'))),
    ("off", Phrase::Token(Sign::Operator('o'))),
    ("per cent", Phrase::Token(Sign::Percent)),
    ("percent", Phrase::Token(Sign::Percent)),
    ("added to", Phrase::Token(Sign::Operator('+'))),
    ("plus", Phrase::Token(Sign::Operator('+'))),
    ("minus", Phrase::Token(Sign::Operator('-'))),
    ("negative", Phrase::Token(Sign::Operator('-'))),
    ("less", Phrase::Token(Sign::Operator('-'))),
    ("times", Phrase::Token(Sign::Operator('*'))),
    ("x", Phrase::Token(Sign::Operator('*'))),
    ("over", Phrase::Token(Sign::Operator('/'))),
    ("modulo", Phrase::Token(Sign::Operator('m'))),
    ("mod", Phrase::Token(Sign::Operator('m'))),
    ("squared", Phrase::Token(Sign::Behind("^2"))),
    ("cubed", Phrase::Token(Sign::Behind("^3"))),
    ("factorial", Phrase::Token(Sign::Behind("!"))),
    ("pi", Phrase::Token(Sign::Number("pi"))),
    ("sum of", Phrase::Joins('+')),
    ("product of", Phrase::Joins('*')),
    ("difference between", Phrase::Joins('-')),
    ("difference of", Phrase::Joins('-')),
    ("add", Phrase::Joins('+')),
    ("multiply", Phrase::Joins('*')),
    ("divide", Phrase::Joins('/')),
    ("total of", Phrase::Joins('+')),
    ("subtract", Phrase::Joins('-')),
    ("from", Phrase::From),
    ("answer to", Phrase::Nothing),
    ("answer of", Phrase::Nothing),
    ("result of", Phrase::Nothing),
    ("value of", Phrase::Nothing),
    ("twice", Phrase::Times("2")),
    ("double", Phrase::Times("2")),
    ("triple", Phrase::Times("3")),
    // "Split between six of us".
    ("split between", Phrase::Token(Sign::Operator('/'))),
    ("split among", Phrase::Token(Sign::Operator('/'))),
    ("shared between", Phrase::Token(Sign::Operator('/'))),
    ("shared among", Phrase::Token(Sign::Operator('/'))),
    ("divided between", Phrase::Token(Sign::Operator('/'))),
    ("divided among", Phrase::Token(Sign::Operator('/'))),
    ("between", Phrase::Token(Sign::Operator('/'))),
    ("among", Phrase::Token(Sign::Operator('/'))),
    ("split", Phrase::Joins('/')),
    ("share", Phrase::Joins('/')),
    ("of us", Phrase::Nothing),
    ("of them", Phrase::Nothing),
    ("of", Phrase::Token(Sign::Operator('*'))),
    ("and", Phrase::Join("and")),
    ("by", Phrase::Join("by")),
    ("to", Phrase::Join("to")),
];

/// Words around a sum that say nothing about it.
const FILLERS: &str = "what whats is s calculate compute evaluate how much many tell me please the value result answer \
     can could you work out do does make makes equals equal a an it are hey find solve equation get \
     when for i up dollars dollar euros euro pounds bucks people persons friends ways each apiece";

/// Whole numbers below a hundred that are one word.
fn small(word: &str) -> Option<u128> {
    const UNITS: &str = "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen \
        sixteen seventeen eighteen nineteen";
    const TENS: [&str; 8] = [
        "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety",
    ];
    if let Some(at) = UNITS.split(' ').position(|u| u == word) {
        return Some(at as u128);
    }
    match word {
        "oh" => Some(0),
        "fourty" => Some(40),
        _ => TENS
            .iter()
            .position(|t| *t == word)
            .map(|at| (at as u128 + 2) * 10),
    }
}

fn scale(word: &str) -> Option<u128> {
    match word {
        "hundred" => Some(100),
        "thousand" => Some(1000),
        "million" | "millions" => Some(1_000_000),
        "billion" | "billions" => Some(1_000_000_000),
        "trillion" | "trillions" => Some(1_000_000_000_000),
        "dozen" => Some(12),
        _ => None,
    }
}

fn denominator(word: &str) -> Option<u8> {
    const ORDINALS: [&str; 8] = [
        "third", "quarter", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth",
    ];
    if matches!(word, "half" | "halves") {
        return Some(2);
    }
    if matches!(word, "fourth" | "fourths") {
        return Some(4);
    }
    let one = word.strip_suffix('s').unwrap_or(word);
    ORDINALS
        .iter()
        .position(|o| *o == one)
        .and_then(|at| u8::try_from(at + 3).ok())
}
