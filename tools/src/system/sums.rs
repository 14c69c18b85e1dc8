//! Sums as people say them, turned into a plain expression of digits, operators and roots: nothing else gets through,
//! so no unit, date, variable or function of the calculator behind can surprise.

mod spoken;
mod answer;

pub use answer::{Answer, LIMIT, evaluate, evaluate_in, in_time, spoken};
use spoken::Words;

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
    /// `+ - * / ^`, `m` for the remainder and `o` for "percent off".
    Operator(char),
    /// A function of the value that follows.
    Function(&'static str),
    /// What is written behind a value: `^2`, `^3`, `!`.
    Behind(&'static str),
    Percent,
    Open,
    Close,
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
            let sign = match self.operator(&['*', '/', 'm', 'o']) {
                Some(sign) => sign,
                // A bracket right behind a value multiplies.
                None if self.tokens.get(self.at) == Some(&Token::Open) => '*',
                None => return Ok(left),
            };
            let right = self.signed()?.value();
            if sign == 'o' {
                let Part::Percent(share) = left else {
                    return Err(NoSum("\"off\" needs a percentage before it".to_owned()));
                };
                left = Part::Value(format!("({right}*(1-{share}/100))"));
                continue;
            }
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
                Ok(match name {
                    "square" => format!("({argument}^2)"),
                    "cube" => format!("({argument}^3)"),
                    root => format!("{root}({argument})"),
                })
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
        check("what is the answer to two plus two", "(2+2)");
        check("the result of one hundred minus fifty", "(100-50)");
        check("subtract four plus one from ten", "(10-((4+1)))");
        check("the sum of 3, 7, 9, and 24", "(((3+7)+9)+24)");
        check("the square of 4", "(4^2)");
        check("what do you get when you multiply sixteen by nine", "(16*9)");
        check("two by two", "(2*2)");
        check("two times pi", "(2*pi)");
        check("three dozen", "(3*12)");
        check("186 euros between six of us, how much each", "(186/6)");
        check("split ninety between four", "(90/4)");
        check("split 120 by 5 people", "(120/5)");
        check("the difference between nine and four", "(9-4)");
        // As a recogniser writes it.
        check("ate times twelve", "(8*12)");
        check("nine plus won", "(9+1)");
    }

    #[test]
    fn percentages_mean_what_people_mean() {
        check("fifteen percent of two hundred", "((15/100)*200)");
        check("15% of $80", "((15/100)*80)");
        check("200 + 15%", "(200*(1+15/100))");
        check("200 minus ten percent", "(200*(1-10/100))");
        check("50%", "(50/100)");
        check("30% off 279", "(279*(1-30/100))");
        check("what is 60 percent off of 350 dollars", "(350*(1-60/100))");
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
        check("five off ten", "percentage");
        check("five from ten", "\"from\"");
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
