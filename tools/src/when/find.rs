//! Whether a sentence names a time.

use std::ops::Range;

use super::{
    Hint,
    expr::{Expr, Parts},
    grammar,
    lexer::{self, Token},
};

/// More words of a sentence are not looked at.
const MAX_WORDS: usize = 40;
/// No time takes more words: "from a quarter past two until half past four on the first monday of next month".
const LONGEST: usize = 16;
/// Words that belong to a time when they stand with one, and alone mostly mean something else: "my day", "week by week",
/// "sat down", "who may", "about lunch".
const DOUBTFUL: &[&str] = &[
    "a",
    "about",
    "after",
    "at",
    "before",
    "breakfast",
    "by",
    "day",
    "days",
    "dinner",
    "during",
    "for",
    "from",
    "hour",
    "hours",
    "in",
    "lunch",
    "mar",
    "march",
    "may",
    "minute",
    "minutes",
    "mon",
    "month",
    "months",
    "now",
    "of",
    "on",
    "please",
    "sat",
    "second",
    "seconds",
    "sun",
    "the",
    "to",
    "wed",
    "week",
    "weeks",
    "within",
    "year",
    "years",
];

/// Whether a sentence says when: a day, a date, a stretch of time or a time of day. How long or how often something takes
/// place does not count, nor do words that could be a time and mostly are none.
pub fn names_a_time(sentence: &str) -> bool {
    let words = words(sentence);
    (0..words.len()).any(|from| {
        let longest = words.len().min(from + LONGEST);
        (from..longest).any(|last| is_a_time(&sentence[words[from].start..words[last].end]))
    })
}

/// Where the words of a sentence stand.
fn words(sentence: &str) -> Vec<Range<usize>> {
    let mut words = Vec::new();
    let mut start = None;
    for (i, c) in sentence.char_indices().chain([(sentence.len(), ' ')]) {
        match start {
            Some(from) if c.is_whitespace() => {
                words.push(from..i);
                start = None;
            }
            None if !c.is_whitespace() => start = Some(i),
            _ => {}
        }
        if words.len() == MAX_WORDS {
            break;
        }
    }
    words
}

/// Whether all these words are one time.
fn is_a_time(words: &str) -> bool {
    let words = words.trim_matches(|c: char| !c.is_alphanumeric());
    let Some(tokens) = lexer::tokens(words) else {
        return false;
    };
    if !tokens.iter().any(tells) {
        return false;
    }
    match grammar::parse(&tokens, Hint::Search) {
        Some(Expr::One(parts)) => says_when(&parts),
        Some(Expr::Between(..)) => true,
        Some(Expr::Again(_)) | None => false,
    }
}

/// Whether a token can make a time of what stands around it.
fn tells(token: &Token) -> bool {
    match token {
        Token::Word(word) => DOUBTFUL.binary_search(&word.as_str()).is_err(),
        // "The second one" and "the third time" count something else than days.
        Token::Number(number) => !number.ordinal || number.value > 3,
        Token::Sign(_) => false,
    }
}

/// Whether this says when, and not only how long.
fn says_when(parts: &Parts) -> bool {
    parts.day.is_some()
        || parts.period.is_some()
        || parts.clock.is_some()
        || parts.part.is_some()
        || parts.away.is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(expect: bool, sentences: &[&str]) {
        for sentence in sentences {
            assert_eq!(names_a_time(sentence), expect, "{sentence:?}");
        }
    }

    #[test]
    fn times_are_found_in_sentences() {
        check(
            true,
            &[
                "what do I have on my calendar tomorrow",
                "Am I free on Friday afternoon?",
                "any meetings between two and four",
                "what did Anna write yesterday, and who else",
                "is it going to rain this weekend in Paris",
                "what happened three days ago",
                "what is on the 23rd",
                "is there anything at six pm",
                "and in March 2027?",
            ],
        );
    }

    #[test]
    fn what_is_no_time_is_not_found() {
        check(
            false,
            &[
                "",
                "who may call me",
                "set a timer for ten minutes",
                "give me one second",
                "remind me every day",
                "read the second one",
                "what does my day look like",
                "where is the team lunch",
                "what is on my calendar",
                "ünïcode … “quotes” \u{202e}",
            ],
        );
        check(false, &[&"word ".repeat(10_000)]);
    }

    #[test]
    fn doubtful_words_can_be_searched() {
        assert!(DOUBTFUL.is_sorted());
    }
}
