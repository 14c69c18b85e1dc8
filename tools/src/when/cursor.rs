//! A place in the tokens: what the parsers walk with. Copying it is how they step back.

use super::{
    lexer::{Number, Token},
    words::{self, Unit},
};

/// A place in the tokens.
#[derive(Clone, Copy)]
pub struct Cursor<'a> {
    tokens: &'a [Token],
    at: usize,
}

impl<'a> Cursor<'a> {
    pub fn new(tokens: &'a [Token]) -> Cursor<'a> {
        Cursor { tokens, at: 0 }
    }

    pub fn done(&self) -> bool {
        self.at >= self.tokens.len()
    }

    pub fn peek(&self) -> Option<&'a Token> {
        self.tokens.get(self.at)
    }

    /// Runs a parser; when it fails the cursor is where it was.
    pub fn attempt<T>(&mut self, parser: impl FnOnce(&mut Cursor<'a>) -> Option<T>) -> Option<T> {
        let before = self.at;
        let value = parser(self);
        if value.is_none() {
            self.at = before;
        }
        value
    }

    /// Takes the next word when `of` knows it.
    pub fn word<T>(&mut self, of: impl FnOnce(&str) -> Option<T>) -> Option<T> {
        let Token::Word(word) = self.peek()? else {
            return None;
        };
        let value = of(word)?;
        self.at += 1;
        Some(value)
    }

    /// Takes the next word when it is one of these.
    pub fn eat(&mut self, any: &[&str]) -> bool {
        self.word(|w| any.contains(&w).then_some(())).is_some()
    }

    /// Takes these words in this order, or none of them.
    pub fn eat_all(&mut self, words: &[&str]) -> bool {
        self.attempt(|c| words.iter().all(|w| c.eat(&[w])).then_some(()))
            .is_some()
    }

    /// Takes everything up to one of these words.
    pub fn take_until(&mut self, stop: &[&str]) -> &'a [Token] {
        let rest = self.tokens.get(self.at..).unwrap_or_default();
        let stops = |t: &Token| matches!(t, Token::Word(word) if stop.contains(&word.as_str()));
        let end = rest.iter().position(stops).unwrap_or(rest.len());
        self.at += end;
        &rest[..end]
    }

    /// Leaves out so many tokens, if there are as many.
    pub fn skip(&mut self, count: usize) -> Option<()> {
        self.at = self.at.checked_add(count).filter(|at| *at <= self.tokens.len())?;
        Some(())
    }

    pub fn sign(&mut self, any: &[char]) -> Option<char> {
        let Token::Sign(sign) = self.peek()? else {
            return None;
        };
        if !any.contains(sign) {
            return None;
        }
        self.at += 1;
        Some(*sign)
    }

    pub fn number(&mut self, fits: impl FnOnce(&Number) -> bool) -> Option<Number> {
        match self.peek()? {
            Token::Number(number) if fits(number) => {
                self.at += 1;
                Some(*number)
            }
            _ => None,
        }
    }

    /// A unit; "second" also when the lexer took it for an ordinal.
    pub fn unit(&mut self) -> Option<Unit> {
        if self.number(|n| n.second && n.value == 2).is_some() {
            return Some(Unit::Second);
        }
        self.attempt(|c| {
            c.eat(&["calendar"]);
            c.word(words::unit)
        })
    }
}
