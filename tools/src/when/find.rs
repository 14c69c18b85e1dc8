//! Times inside sentences.

use std::ops::Range;

use super::{
    Hint, MAX_CHARS,
    expr::{Expr, Parts},
    grammar,
    lexer::{self, Token},
    words as vocabulary,
};
use crate::discover::words::{asked, split};

/// More words of a sentence are not looked at.
const MAX_WORDS: usize = 40;
/// No time takes more words: "from a quarter past two until half past four on the first monday of next month".
const LONGEST: usize = 16;
/// Words that belong to a time when they stand with one, and alone mostly mean something else: "my day", "week by week",
/// "sat down", "who may", "about lunch", "with April", "the morning standup".
const DOUBTFUL: &[&str] = &[
    "a",
    "about",
    "after",
    "afternoon",
    "april",
    "at",
    "aug",
    "august",
    "before",
    "breakfast",
    "by",
    "day",
    "days",
    "dinner",
    "during",
    "evening",
    "for",
    "from",
    "hour",
    "hours",
    "in",
    "jan",
    "jun",
    "june",
    "lunch",
    "mar",
    "march",
    "may",
    "minute",
    "minutes",
    "mon",
    "month",
    "months",
    "morning",
    "night",
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

/// What a stretch of a sentence says of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// When: a day, a date, a stretch of time, a time of day.
    Time,
    /// When, again and again: "every monday at nine".
    Often,
    /// How long: "ten minutes".
    Length,
}

/// A stretch of a sentence that says something of time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mention {
    /// Where it stands, in bytes.
    pub place: Range<usize>,
    /// What it says.
    pub kind: Kind,
}

/// The times that a sentence names, as they were said and in order, each the longest at its place without words around it
/// that change nothing: days, dates, stretches of time and times of day. How long or how often something takes place does
/// not count, nor do words that could be a time and mostly are none.
pub fn mentions(sentence: &str) -> Vec<&str> {
    let found = Sentence::of(sentence).scan(&|sentence, at| Some((sentence.time_at(at)?, Kind::Time)));
    found.into_iter().map(|one| &sentence[one.place]).collect()
}

/// Everything that a sentence says of time, in order: what [`mentions`] finds, how often, and how long. A bare hour at the end
/// counts where it is a new time: "move it to three".
pub fn said_times(sentence: &str) -> Vec<Mention> {
    Sentence::of(sentence).scan(&|sentence, at| {
        let often = sentence.often_at(at).map(|place| (place, Kind::Often));
        let time = sentence
            .time_at(at)
            .or_else(|| sentence.hour_at(at))
            .map(|place| (place, Kind::Time));
        let length = sentence.length_at(at).map(|place| (place, Kind::Length));
        // "Half an hour on monday" says two things, "two weeks from monday" one.
        if let (Some((length, _)), Some((time, _))) = (&length, &time)
            && time.end > length.end
            && parsed(sentence.text(time), Hint::Search).is_some_and(has_length)
        {
            return Some((length.clone(), Kind::Length));
        }
        // What comes back has a time in it.
        let all = [length, time, often].into_iter().flatten();
        all.max_by_key(|(place, _)| place.end)
    })
}

/// What stands at a word, if anything: the words that it takes, and what they say.
type Finder<'f> = &'f dyn Fn(&Sentence<'_>, usize) -> Option<(Range<usize>, Kind)>;

/// A sentence in words.
struct Sentence<'a> {
    text: &'a str,
    words: Vec<Range<usize>>,
}

impl<'a> Sentence<'a> {
    fn of(text: &'a str) -> Sentence<'a> {
        Sentence {
            text,
            words: words(text),
        }
    }

    /// These words, without the signs around them.
    fn text(&self, place: &Range<usize>) -> &'a str {
        &self.text[self.bytes(place)]
    }

    fn bytes(&self, place: &Range<usize>) -> Range<usize> {
        let all = self.words[place.start].start..self.words[place.end - 1].end;
        let core = trimmed(&self.text[all.clone()]);
        let start = all.start + self.text[all].find(core).unwrap_or_default();
        start..start + core.len()
    }

    fn word(&self, at: usize) -> Option<String> {
        self.words
            .get(at)
            .map(|place| trimmed(&self.text[place.clone()]).to_lowercase())
    }

    /// What stands at a word, the longest first; the words go on behind it.
    fn scan(&self, one: Finder<'_>) -> Vec<Mention> {
        let (mut found, mut at) = (Vec::new(), 0);
        while at < self.words.len() {
            at = match one(self, at) {
                Some((place, kind)) => {
                    let end = place.end;
                    found.push(Mention {
                        place: self.bytes(&place),
                        kind,
                    });
                    end
                }
                None => at + 1,
            };
        }
        found
    }

    /// What may stand at a word, the longest first.
    fn places(&self, at: usize) -> impl Iterator<Item = Range<usize>> + use<> {
        let all = at..self.words.len().min(at + LONGEST);
        let behind = at.checked_sub(1).is_some_and(|before| self.points_at(before));
        let end = match behind {
            true => at,
            false => all.clone().find(|at| self.points_at(*at)).unwrap_or(all.end),
        };
        (at + 1..=end).rev().map(move |end| at..end)
    }

    fn time_at(&self, at: usize) -> Option<Range<usize>> {
        // "2000 hours", "four ten minutes" and "the 23rd week" are no year, no time of day and no day.
        let counts = |place: &Range<usize>| {
            self.word(place.end)
                .is_some_and(|next| vocabulary::unit(&next).is_some())
                && self.word(place.end - 1).is_some_and(|last| {
                    last.starts_with(|c: char| c.is_ascii_digit()) || super::whole_number(&last).is_some()
                })
        };
        // "Once a week on monday" comes back; by itself the end of it is a week from monday.
        let often = at > 0
            && self
                .word(at)
                .is_some_and(|this| ["a", "an", "per"].contains(&this.as_str()))
            && self
                .word(at - 1)
                .is_some_and(|before| ["once", "twice", "thrice", "times"].contains(&before.as_str()));
        if often {
            return None;
        }
        let (time_said, mut place) = self
            .places(at)
            .filter(|place| !counts(place))
            .find_map(|place| Some((time(self.text(&place))?, place)))?;
        // "Weekend" alone may be this one, too; what was said is kept as long as it says something.
        let idle = |word: usize| self.word(word).is_some_and(|word| is_doubtful(&word));
        let same =
            |place: &Range<usize>| !place.is_empty() && time(self.text(place)).as_ref() == Some(&time_said);
        while idle(place.end - 1) && same(&(place.start..place.end - 1)) {
            place.end -= 1;
        }
        while idle(place.start) && same(&(place.start + 1..place.end)) {
            place.start += 1;
        }
        Some(place)
    }

    /// Whether "the second one" begins with this word, which is one of several things and neither a day nor an hour.
    fn points_at(&self, at: usize) -> bool {
        let ordinal = self
            .word(at)
            .and_then(|word| vocabulary::number(&word))
            .is_some_and(|(_, ordinal)| ordinal);
        ordinal
            && self
                .word(at + 1)
                .is_some_and(|next| ["one", "ones"].contains(&next.as_str()))
    }

    /// "To three" and "until eleven" at the end.
    fn hour_at(&self, at: usize) -> Option<Range<usize>> {
        let leads = at.checked_sub(1).and_then(|before| self.word(before));
        let leads = leads.is_some_and(|word| ["to", "til", "till", "until"].contains(&word.as_str()));
        let last = self.words[at + 1..]
            .iter()
            .all(|place| ["instead", "please"].contains(&trimmed(&self.text[place.clone()])));
        let hour = leads
            && last
            && super::whole_number(self.text(&(at..at + 1))).is_some_and(|n| (1..=24).contains(&n));
        hour.then_some(at..at + 1)
    }

    /// "Every monday at nine", "on the fifteenth of every month". "Daily" alone may be part of a name ("the daily report").
    fn often_at(&self, at: usize) -> Option<Range<usize>> {
        let again = |place: &Range<usize>| {
            parsed(self.text(place), Hint::Schedule).filter(|time| matches!(time, Expr::Again(_)))
        };
        let (often, mut place) = self
            .places(at)
            .filter(|place| place.len() > 1)
            .find_map(|place| Some((again(&place)?, place)))?;
        let idle = |word: usize| {
            self.word(word)
                .is_some_and(|word| vocabulary::filler(&word) || word == "and")
        };
        while place.len() > 1
            && idle(place.end - 1)
            && again(&(place.start..place.end - 1)).as_ref() == Some(&often)
        {
            place.end -= 1;
        }
        while place.len() > 1
            && idle(place.start)
            && again(&(place.start + 1..place.end)).as_ref() == Some(&often)
        {
            place.start += 1;
        }
        let one_word = place.len() == 1
            && self
                .word(place.start)
                .is_some_and(|word| vocabulary::adverb(&word).is_some());
        (!one_word).then_some(place)
    }

    /// "Two hours", "an hour and ten" where the sentence ends.
    fn length_at(&self, at: usize) -> Option<Range<usize>> {
        let unit = |at: usize| {
            self.word(at).is_some_and(|word| {
                let bare = word.trim_start_matches(|c: char| c.is_ascii_digit());
                vocabulary::unit(bare).is_some()
                    || bare.len() < word.len() && vocabulary::glued_unit(bare).is_some()
                    // "Half an our": whether it is one is for the grammar to say.
                    || word == "our"
            })
        };
        let length = |place: &Range<usize>| {
            let told = place.clone().any(unit) && (unit(place.end - 1) || place.end == self.words.len());
            parsed(self.text(place), Hint::Length).filter(|time| told && is_length(time))
        };
        let (long, mut place) = self.places(at).find_map(|place| Some((length(&place)?, place)))?;
        // "For ten minutes please".
        while place.len() > 1 && length(&(place.start..place.end - 1)).as_ref() == Some(&long) {
            place.end -= 1;
        }
        while place.len() > 1 && length(&(place.start + 1..place.end)).as_ref() == Some(&long) {
            place.start += 1;
        }
        Some(place)
    }
}

fn parsed(words: &str, hint: Hint) -> Option<Expr> {
    // What is longer is no time to `resolve` either, and takes the longer to look at.
    match words.len() > MAX_CHARS {
        true => None,
        false => grammar::parse(&lexer::tokens(words)?, hint),
    }
}

fn has_length(time: Expr) -> bool {
    matches!(time, Expr::One(parts) if parts.length.is_some() && parts.away.is_none())
}

fn is_length(time: &Expr) -> bool {
    let only = |parts: &Parts| Parts {
        length: parts.length,
        ..Parts::default()
    };
    matches!(time, Expr::One(parts) if parts.length.is_some() && *parts == only(parts))
}

/// Words without the signs around them.
fn trimmed(words: &str) -> &str {
    words.trim_matches(|c: char| !c.is_alphanumeric())
}

/// Whether a sentence asks for a time: the one that it names may then be part of a name ("when is the christmas party"), and
/// says at least not where to look. Nor does it where what is overdue is asked for, which is a time of its own.
pub fn asks_when(sentence: &str) -> bool {
    let words = asked(split(sentence));
    let asks = |at: usize| match words[at].as_str() {
        "when" | "whens" => true,
        "what" | "which" => words
            .get(at + 1)
            .is_some_and(|next| ["date", "day", "time"].contains(&next.as_str())),
        _ => false,
    };
    // At the beginning, after no more than a word such as "and".
    (0..words.len().min(2)).any(asks) || words.iter().any(|word| word == "overdue")
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

/// The time that all these words are together.
fn time(words: &str) -> Option<Expr> {
    if words.len() > MAX_CHARS {
        return None;
    }
    let tokens = lexer::tokens(words)?;
    if tokens.iter().any(says_how_often)
        || !(tokens.iter().any(tells) || names_a_day(&tokens))
        || is_any_number(&tokens)
    {
        return None;
    }
    grammar::parse(&tokens, Hint::Search).filter(|time| match time {
        _ if time.unsettled() => false,
        Expr::One(parts) => says_when(parts),
        Expr::Between(..) => true,
        Expr::Again(_) => false,
    })
}

fn is_doubtful(word: &str) -> bool {
    DOUBTFUL.binary_search(&word).is_ok()
}

/// Whether a token can make a time of what stands around it.
fn tells(token: &Token) -> bool {
    match token {
        Token::Word(word) => !is_doubtful(word),
        // "The second one" and "the third time" count something else than days.
        Token::Number(number) => !number.ordinal || number.value > 3,
        Token::Sign(_) => false,
    }
}

/// "The first of the month", whose words tell a time only together.
fn names_a_day(tokens: &[Token]) -> bool {
    let word =
        |token: &Token, any: &[&str]| matches!(token, Token::Word(word) if any.contains(&word.as_str()));
    tokens.windows(4).any(|four| {
        matches!(four[0], Token::Number(number) if number.ordinal)
            && word(&four[1], &["of"])
            && word(&four[2], &["the"])
            && word(&four[3], &["month", "year"])
    })
}

/// "16.30" is also a price, and "1600 hours" a length: alone, or with no more than "in" or "for" beside it, neither is a
/// time in a sentence.
fn is_any_number(tokens: &[Token]) -> bool {
    let idle = |token: &Token| matches!(token, Token::Word(word) if vocabulary::filler(word) && word != "at");
    let first = tokens
        .iter()
        .position(|token| !idle(token))
        .unwrap_or(tokens.len());
    let last = tokens
        .iter()
        .rposition(|token| !idle(token))
        .map_or(first, |at| at + 1);
    match &tokens[first..last] {
        [Token::Number(_), Token::Sign('.'), Token::Number(_)] => true,
        [Token::Number(_), Token::Word(unit)] => matches!(unit.as_str(), "hours" | "hrs"),
        _ => false,
    }
}

/// Whether what has this word comes back; the weekdays in "on mondays" may also be one.
fn says_how_often(token: &Token) -> bool {
    let Token::Word(word) = token else {
        return false;
    };
    matches!(
        word.as_str(),
        "every" | "each" | "alternate" | "once" | "weekdays" | "workdays"
    ) || vocabulary::adverb(word).is_some()
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
    fn check(sentence: &str, expect: &[&str]) {
        assert_eq!(mentions(sentence), expect, "{sentence:?}");
    }

    #[test]
    fn times_are_found_in_sentences() {
        check("what do I have on my calendar tomorrow", &["tomorrow"]);
        check("Am I free on Friday afternoon?", &["Friday afternoon"]);
        check("any meetings between two and four", &["between two and four"]);
        check("today's mail, and what came yesterday", &["today's", "yesterday"]);
        check("is it going to rain this weekend in Paris", &["this weekend"]);
        check("what happened three days ago", &["three days ago"]);
        check("what is on the 23rd", &["23rd"]);
        check("is there anything at six pm", &["six pm"]);
        check("and in March 2027?", &["March 2027"]);
        check("what's on a week on Monday", &["a week on Monday"]);
        check("is there anything Monday week?", &["Monday week"]);
        check("am I free a fortnight today", &["a fortnight today"]);
        check(
            "what day is a hundred days from now",
            &["a hundred days from now"],
        );
        check("what is on the first of the month", &["first of the month"]);
        check("anything on at the end of the month?", &["end of the month"]);
        check("is anything on at 1600 hours", &["at 1600"]);
        check("what do I have tomorrow 16.30", &["tomorrow 16.30"]);
        check("am i busy to morrow", &["to morrow"]);
        check("a meeting with tom on monday at for pm", &["monday at for pm"]);
        check("do i half anything on sun day morning", &["sun day morning"]);
        check("call Ben too 10 am tomorrow", &["10 am tomorrow"]);
        check("plant the tree 10 am saturday", &["10 am saturday"]);
        check(
            "put it down at won o'clock on satur day",
            &["won o'clock on satur day"],
        );
    }

    #[test]
    fn what_is_no_time_is_not_found() {
        for sentence in [
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
            "it cost 16.30 in the shop",
            "I worked 1600 hours for them",
            "the flight took 2027 minutes",
            "install version 2.45",
            "a hundred people came",
            "what are you here for am I late",
            "change the mode to pm",
            "a week of it",
            "the first of the two",
            "we won days of it",
            "she was sick at our place",
            "a picture of the sun",
            "half our team is at lunch",
            "how many sick hours do I have",
            "we won our game",
            "open the one our teacher sent",
            "are these two ours",
            "my son days off work",
        ] {
            check(sentence, &[]);
        }
        check(&"word ".repeat(10_000), &[]);
    }

    #[test]
    fn what_comes_back_and_how_long_is_found_where_it_is_asked_for() {
        #[track_caller]
        fn check(sentence: &str, expect: &[(Kind, &str)]) {
            let found: Vec<(Kind, &str)> = said_times(sentence)
                .into_iter()
                .map(|one| (one.kind, &sentence[one.place]))
                .collect();
            assert_eq!(found, expect, "{sentence:?}");
        }
        use Kind::{Length, Often, Time};
        check("a timer for ten minutes please", &[(Length, "ten minutes")]);
        check(
            "start one for the laundry, an hour and ten",
            &[(Length, "an hour and ten")],
        );
        check("tea for an hour and ten guests", &[(Length, "an hour")]);
        check("a 90m timer", &[(Length, "90m")]);
        check(
            "a two hour workshop on monday at nine",
            &[(Length, "two hour"), (Time, "monday at nine")],
        );
        check("wake me in twenty minutes", &[(Time, "in twenty minutes")]);
        check(
            "put the bins out every monday at nine and",
            &[(Often, "every monday at nine")],
        );
        check(
            "on the fifteenth of every month at noon I need a nudge",
            &[(Often, "fifteenth of every month at noon")],
        );
        check(
            "yoga tomorrow and every tuesday",
            &[(Time, "tomorrow"), (Often, "every tuesday")],
        );
        check(
            "I need half an hour on Monday for a call",
            &[(Length, "half an hour"), (Time, "Monday")],
        );
        check("two weeks from monday", &[(Time, "two weeks from monday")]);
        check("move it to three please", &[(Time, "three")]);
        check("set the volume to three of ten", &[]);
        check("move the file to three folders", &[]);
        check("send the daily report to Anna", &[]);
        check("the second one", &[]);
        check("", &[]);
    }

    #[test]
    fn long_words_take_little_time() {
        let before = std::time::Instant::now();
        let dashes = format!("monday{}-xyz", "-the".repeat(4_000));
        let marks = "day?after?".repeat(1_600) + "monday";
        for hostile in [dashes.clone(), marks, format!("{}{dashes}", "the ".repeat(30))] {
            check(&hostile, &[]);
        }
        for words in [
            "every 9 to ",
            "a hundred ",
            "at for pm ",
            "16.30 ",
            "first of the month ",
            "monday week ",
        ] {
            let _ = mentions(&words.repeat(200));
            let _ = said_times(&words.repeat(200));
        }
        // Without the bound it is minutes.
        assert!(before.elapsed() < std::time::Duration::from_secs(20));
    }

    #[test]
    fn who_asks_for_the_time_may_name_an_event_by_one() {
        for (sentence, expect) in [
            ("when is the christmas party", true),
            ("When's my evening class?", true),
            ("what day is Anna's 30th birthday", true),
            ("what time does the fifth lecture begin on monday", true),
            ("and when do I meet June", true),
            ("which to-dos of last week are overdue", true),
            ("remind me what day the christmas party is", true),
            ("can you remind me when's the christmas party", true),
            ("remind me when I am home on friday", false),
            ("what do I have on my calendar tomorrow", false),
            ("what is on today", false),
            ("am I free when Anna is here on friday", false),
            ("", false),
        ] {
            assert_eq!(asks_when(sentence), expect, "{sentence:?}");
        }
    }

    #[test]
    fn doubtful_words_can_be_searched() {
        assert!(DOUBTFUL.is_sorted());
    }
}
