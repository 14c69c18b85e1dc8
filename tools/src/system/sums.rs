//! Sums as people say them, turned into a plain expression of digits, operators and roots: nothing else gets through,
//! so no unit, date, variable or function of the calculator behind can surprise.

/// Longest sum, in bytes.
const MAX_TEXT: usize = 400;
/// Deepest nesting.
const MAX_DEPTH: usize = 24;

/// Why a text is no sum, as a part of a sentence.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct NoSum(String);

/// The expression that a text means, fully in brackets: `fifteen percent of 200` becomes `((15/100)*200)`.
///
/// # Errors
/// [`NoSum`] names the first word that does not belong, or what is missing.
pub fn expression(text: &str) -> Result<String, NoSum> {
    if text.len() > MAX_TEXT {
        return Err(NoSum("it is too long".to_owned()));
    }
    let tokens = Words::read(text)?.tokens()?;
    let mut parser = Parser {
        tokens,
        at: 0,
        depth: 0,
    };
    let sum = parser.sum()?;
    match parser.tokens.get(parser.at) {
        None => Ok(sum.value()),
        Some(Token::Close) => Err(NoSum("a bracket is closed that was not opened".to_owned())),
        Some(_) => Err(NoSum("an operator is missing between two numbers".to_owned())),
    }
}

/// What an expression consists of.
#[derive(Debug, Clone, PartialEq)]
enum Token {
    Number(String),
    /// `+ - * / ^` and `m` for the remainder.
    Operator(char),
    /// A function of the value that follows.
    Function(&'static str),
    /// What is written behind a value: `^2`, `^3`, `!`.
    Behind(&'static str),
    Percent,
    Open,
    Close,
}

/// A word, a number in digits, or a sign.
#[derive(Debug, Clone, PartialEq)]
enum Piece {
    Word(String),
    Digits(String),
    Sign(char),
}

struct Words {
    pieces: Vec<Piece>,
    at: usize,
    /// What "and", "to" and "by" mean after "the sum of", "add", "multiply".
    joiner: Option<char>,
}

impl Words {
    fn read(text: &str) -> Result<Words, NoSum> {
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
                    '$' | '€' | '£' | '=' | '?' | '.' | ',' | ';' | '\'' | '’' => {}
                    c if c.is_whitespace() => {}
                    c => return Err(NoSum(format!("\"{}\" does not belong in it", c.escape_debug()))),
                }
            }
        }
        Ok(Words {
            pieces,
            at: 0,
            joiner: None,
        })
    }

    fn tokens(mut self) -> Result<Vec<Token>, NoSum> {
        let mut tokens = Vec::new();
        while let Some(piece) = self.pieces.get(self.at).cloned() {
            match piece {
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
                    } else if FILLERS.contains(&word.as_str()) {
                        self.at += 1;
                    } else {
                        return Err(NoSum(format!("\"{word}\" does not belong in it")));
                    }
                }
            }
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
            Phrase::Joins(operator) => self.joiner = Some(*operator),
            Phrase::Join(word) => match self.joiner {
                Some(operator) => tokens.push(Token::Operator(operator)),
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

/// Precedence climbing over tokens; writes the expression out with every bracket.
struct Parser {
    tokens: Vec<Token>,
    at: usize,
    depth: usize,
}

/// A part of the expression; a bare percentage means something else after a plus than elsewhere.
enum Part {
    Value(String),
    Percent(String),
}

impl Part {
    fn value(self) -> String {
        match self {
            Part::Value(text) => text,
            Part::Percent(text) => format!("({text}/100)"),
        }
    }
}

impl Parser {
    /// Sums and differences. `200 + 15 %` is 230, as every pocket calculator has it.
    fn sum(&mut self) -> Result<Part, NoSum> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(NoSum("it is nested too deeply".to_owned()));
        }
        let mut left = self.product()?;
        while let Some(sign) = self.operator(&['+', '-']) {
            let base = left.value();
            left = Part::Value(match self.product()? {
                Part::Percent(share) => format!("({base}*(1{sign}{share}/100))"),
                Part::Value(right) => format!("({base}{sign}{right})"),
            });
        }
        self.depth -= 1;
        Ok(left)
    }

    fn product(&mut self) -> Result<Part, NoSum> {
        let mut left = self.signed()?;
        loop {
            let sign = match self.operator(&['*', '/', 'm']) {
                Some(sign) => sign,
                // A bracket right behind a value multiplies.
                None if self.tokens.get(self.at) == Some(&Token::Open) => '*',
                None => return Ok(left),
            };
            let right = self.signed()?.value();
            let left_text = left.value();
            left = Part::Value(match sign {
                'm' => format!("({left_text} mod {right})"),
                sign => format!("({left_text}{sign}{right})"),
            });
        }
    }

    fn signed(&mut self) -> Result<Part, NoSum> {
        let mut negative = false;
        while let Some(sign) = self.operator(&['+', '-']) {
            negative ^= sign == '-';
        }
        let part = self.power()?;
        Ok(match (negative, part) {
            (false, part) => part,
            (true, Part::Value(text)) => Part::Value(format!("(-{text})")),
            (true, Part::Percent(text)) => Part::Percent(format!("(-{text})")),
        })
    }

    /// Powers bind to the right, and tighter than a sign before them.
    fn power(&mut self) -> Result<Part, NoSum> {
        let base = self.behind()?;
        if self.operator(&['^']).is_none() {
            return Ok(base);
        }
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(NoSum("it is nested too deeply".to_owned()));
        }
        let exponent = self.signed()?.value();
        self.depth -= 1;
        Ok(Part::Value(format!("({}^{exponent})", base.value())))
    }

    fn behind(&mut self) -> Result<Part, NoSum> {
        let mut part = Part::Value(self.atom()?);
        loop {
            match self.tokens.get(self.at) {
                Some(Token::Behind(text)) => part = Part::Value(format!("({}{text})", part.value())),
                Some(Token::Percent) => part = Part::Percent(part.value()),
                _ => return Ok(part),
            }
            self.at += 1;
        }
    }

    fn atom(&mut self) -> Result<String, NoSum> {
        let token = self.tokens.get(self.at).cloned();
        self.at += 1;
        match token {
            Some(Token::Number(text)) => Ok(text),
            Some(Token::Function(name)) => {
                self.depth += 1;
                if self.depth > MAX_DEPTH {
                    return Err(NoSum("it is nested too deeply".to_owned()));
                }
                let argument = match self.operator(&['-']) {
                    Some(_) => format!("-{}", self.atom()?),
                    None => self.atom()?,
                };
                self.depth -= 1;
                Ok(format!("{name}({argument})"))
            }
            Some(Token::Open) => {
                let inner = self.sum()?.value();
                if self.tokens.get(self.at) == Some(&Token::Close) {
                    self.at += 1;
                    Ok(format!("({inner})"))
                } else {
                    Err(NoSum("a bracket is not closed".to_owned()))
                }
            }
            _ => Err(NoSum("a number is missing".to_owned())),
        }
    }

    fn operator(&mut self, which: &[char]) -> Option<char> {
        match self.tokens.get(self.at) {
            Some(Token::Operator(c)) if which.contains(c) => {
                self.at += 1;
                Some(*c)
            }
            _ => None,
        }
    }
}

/// What a phrase stands for.
enum Phrase {
    Token(Sign),
    /// A factor of what follows.
    Times(&'static str),
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
    ("square root of", Phrase::Token(Sign::Function("sqrt"))),
    ("square root", Phrase::Token(Sign::Function("sqrt"))),
    ("cube root of", Phrase::Token(Sign::Function("cbrt"))),
    ("root of", Phrase::Token(Sign::Function("sqrt"))),
    ("sqrt", Phrase::Token(Sign::Function("sqrt"))),
    ("absolute value of", Phrase::Token(Sign::Function("abs"))),
    ("take away", Phrase::Token(Sign::Operator('-'))),
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
    ("twice", Phrase::Times("2")),
    ("double", Phrase::Times("2")),
    ("triple", Phrase::Times("3")),
    ("of", Phrase::Token(Sign::Operator('*'))),
    ("and", Phrase::Join("and")),
    ("by", Phrase::Join("by")),
    ("to", Phrase::Join("to")),
];

/// Words around a sum that say nothing about it.
const FILLERS: &[&str] = &[
    "what",
    "whats",
    "is",
    "s",
    "calculate",
    "compute",
    "evaluate",
    "how",
    "much",
    "many",
    "tell",
    "me",
    "please",
    "the",
    "value",
    "result",
    "answer",
    "can",
    "could",
    "you",
    "work",
    "out",
    "do",
    "does",
    "make",
    "makes",
    "equals",
    "equal",
    "a",
    "an",
    "it",
    "are",
    "hey",
    "dollars",
    "dollar",
    "euros",
    "euro",
    "pounds",
    "bucks",
];

/// Whole numbers below a hundred that are one word.
fn small(word: &str) -> Option<u128> {
    const UNITS: [&str; 20] = [
        "zero",
        "one",
        "two",
        "three",
        "four",
        "five",
        "six",
        "seven",
        "eight",
        "nine",
        "ten",
        "eleven",
        "twelve",
        "thirteen",
        "fourteen",
        "fifteen",
        "sixteen",
        "seventeen",
        "eighteen",
        "nineteen",
    ];
    const TENS: [&str; 8] = [
        "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety",
    ];
    if let Some(at) = UNITS.iter().position(|u| *u == word) {
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check(text: &str, expect: &str) {
        assert_eq!(expression(text).as_deref(), Ok(expect), "{text:?}");
    }

    #[test]
    fn signs_and_digits_pass_with_precedence() {
        check("0.1 + 0.2", "(0.1+0.2)");
        check("1 + 2 * 3", "(1+(2*3))");
        check("2^3^2", "(2^(3^2))");
        check("-2^2", "(-(2^2))");
        check("(1+2)(3)", "(((1+2))*(3))");
        check("1,234.5 × 2 ÷ 4 − 1", "(((1234.5*2)/4)-1)");
        check("what's 2 ** 10?", "(2^10)");
        check("5!", "(5!)");
        check("17 mod 5", "(17 mod 5)");
        check(".5 + √16", "(0.5+sqrt(16))");
        check("2 * -3", "(2*(-3))");
    }

    #[test]
    fn words_become_numbers_and_operators() {
        check("seven times eight", "(7*8)");
        check("what is twenty-five plus a hundred and one", "(25+101)");
        check(
            "two thousand three hundred and five minus one million",
            "(2305-1000000)",
        );
        check("two hundred thousand and six", "200006");
        check("three point one four times two", "(3.14*2)");
        check("point five plus zero point two five", "(0.5+0.25)");
        check("three and a half plus two", "((3+1/2)+2)");
        check("3 and three quarters", "(3+3/4)");
        check("two thirds of ninety", "((2/3)*90)");
        check("half of seventeen", "((1/2)*17)");
        check("a quarter of 2.5 million", "((1/4)*(2.5*1000000))");
        check("twice nine", "(2*9)");
        check("how much is five divided by two", "(5/2)");
        check("square root of 144", "sqrt(144)");
        check("the square root of 16 plus nine squared", "(sqrt(16)+(9^2))");
        check("two to the power of ten", "(2^10)");
        check("negative five cubed", "(-(5^3))");
        check("five factorial", "(5!)");
        check("the sum of three and four", "(3+4)");
        check("multiply six by seven", "(6*7)");
        check("add 5 and 6", "(5+6)");
        check("two times pi", "(2*pi)");
        check("three dozen", "(3*12)");
    }

    #[test]
    fn percentages_mean_what_people_mean() {
        check("fifteen percent of two hundred", "((15/100)*200)");
        check("15% of $80", "((15/100)*80)");
        check("200 + 15%", "(200*(1+15/100))");
        check("200 minus ten percent", "(200*(1-10/100))");
        check("50%", "(50/100)");
    }

    #[test]
    fn what_is_no_sum_is_named() {
        #[track_caller]
        fn check(text: &str, part: &str) {
            let error = expression(text).unwrap_err().to_string();
            assert!(error.contains(part), "{text:?}: {error}");
        }
        check("", "nothing to calculate");
        check("what is", "nothing to calculate");
        check("5 km in miles", "\"km\"");
        check("@today + 1", "\"@\"");
        check("x: x + 1; roll d6", "\"roll\"");
        check("version", "\"version\"");
        check("five six", "operator is missing");
        check("5 +", "number is missing");
        check("(5", "not closed");
        check("5)", "not opened");
        check("3,5 + 1", "clear number");
        check("1.2.3", "clear number");
        check("five and six", "\"and\"");
        check(&"1+".repeat(300), "too long");
        check(&"(".repeat(100), "nested");
        check(&"sqrt ".repeat(60), "nested");
        check(&format!("2{}", "^2".repeat(60)), "nested");
    }

    proptest! {
        #[test]
        fn nothing_but_plain_arithmetic_comes_out(text in "(\\PC|[0-9+*/^()%. -]| plus | half | hundred | and | point |square root of ){0,60}") {
            if let Ok(expression) = expression(&text) {
                let rest = ["sqrt", "cbrt", "abs", "mod", "pi"].iter().fold(expression, |e, word| e.replace(word, ""));
                prop_assert!(rest.chars().all(|c| c.is_ascii_digit() || "+-*/^()!. ".contains(c)), "{rest}");
            }
        }
    }
}
