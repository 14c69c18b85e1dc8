//! Times and dates as people say them: "14:30" is two thirty PM, "2026-11-20" the twentieth of November.

use super::{
    Said, Token,
    numbers::{cardinal, is_year, ordinal, year},
};

const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
const DAYS: [&str; 7] = [
    "Monday",
    "Tuesday",
    "Wednesday",
    "Thursday",
    "Friday",
    "Saturday",
    "Sunday",
];

/// A time of day.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Clock {
    hour: u64,
    minute: u64,
    second: u64,
}

impl Clock {
    /// "9:30", "14:05:30", "24:00".
    fn of(text: &str) -> Option<Clock> {
        let mut parts = text.split(':');
        let (hour, minute) = (parts.next()?, parts.next()?);
        let second = parts.next();
        let two = |part: &str| part.len() == 2;
        let fits =
            (1..=2).contains(&hour.len()) && two(minute) && second.is_none_or(two) && parts.next().is_none();
        let clock = Clock {
            hour: number(hour)?,
            minute: number(minute)?,
            second: second.map_or(Some(0), number)?,
        };
        let midnight = clock.hour == 24 && clock.minute == 0 && clock.second == 0;
        let holds = (clock.hour < 24 || midnight) && clock.minute < 60 && clock.second < 60;
        (fits && holds).then_some(clock)
    }

    /// In this half of the day, where somebody said which: "9 pm".
    fn in_half(self, afternoon: Option<bool>) -> Clock {
        let hour = match (self.hour, afternoon) {
            (12, Some(false)) => 0,
            (1..12, Some(true)) => self.hour + 12,
            (hour, _) => hour,
        };
        Clock { hour, ..self }
    }

    fn half(self) -> &'static str {
        if (12..24).contains(&self.hour) { "PM" } else { "AM" }
    }

    /// Twelve o'clock has names of its own.
    fn is_twelve(self) -> bool {
        self.hour.is_multiple_of(12) && self.minute == 0 && self.second == 0
    }

    fn words(self, half: bool) -> String {
        if self.is_twelve() {
            return if self.hour == 12 { "noon" } else { "midnight" }.to_owned();
        }
        let hour = match self.hour % 12 {
            0 => 12,
            hour => hour,
        };
        let mut words = cardinal(hour);
        match self.minute {
            0 => {}
            minute @ 1..10 => words.push_str(&format!(" oh {}", cardinal(minute))),
            minute => words.push_str(&format!(" {}", cardinal(minute))),
        }
        if half {
            words.push(' ');
            words.push_str(self.half());
        }
        match self.second {
            0 => {}
            1 => words.push_str(" and one second"),
            second => words.push_str(&format!(" and {} seconds", cardinal(second))),
        }
        words
    }
}

/// From then to then.
fn range(from: Clock, to: Clock) -> String {
    let same = from.half() == to.half() && !to.is_twelve();
    format!("{} to {}", from.words(!same), to.words(true))
}

fn number(text: &str) -> Option<u64> {
    let digits = !text.is_empty() && text.len() <= 4 && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|_| digits)
}

/// A time or a date.
pub fn said(tokens: &[Token], at: usize) -> Said {
    let word = tokens[at].word;
    if !word.starts_with(|c: char| c.is_ascii_digit() || c.is_ascii_uppercase()) {
        return None;
    }
    clock(tokens, at)
        .or_else(|| iso(word).map(|said| (said, 1)))
        .or_else(|| slashes(word).map(|said| (said, 1)))
        .or_else(|| day_first(tokens, at))
        .or_else(|| month_first(tokens, at))
        .or_else(|| weekday(tokens, at).map(|said| (said.to_owned(), 1)))
}

fn clock(tokens: &[Token], at: usize) -> Said {
    let word = tokens[at].word;
    if let Some((from, to)) = word.split_once(['-', '–'])
        && let (Some(from), Some(to)) = (Clock::of(from), Clock::of(to))
    {
        return Some((range(from, to), 1));
    }
    let (from, count) = one(tokens, at)?;
    let between = tokens
        .get(at + count)
        .filter(|_| tokens[at + count - 1].goes_on());
    if let Some(between) = between
        && matches!(between.word, "to" | "-" | "–" | "until")
        && between.goes_on()
        && let Some((to, more)) = one(tokens, at + count + 1)
    {
        let said = match between.word {
            "until" => format!("{} until {}", from.words(true), to.words(true)),
            _ => range(from, to),
        };
        return Some((said, count + 1 + more));
    }
    Some((from.words(true), count))
}

/// A time at these words, and how many they are: "14:30", "9:30 am", "9pm".
fn one(tokens: &[Token], at: usize) -> Option<(Clock, usize)> {
    let token = tokens.get(at)?;
    let next = tokens
        .get(at + 1)
        .filter(|_| token.goes_on())
        .and_then(|next| half(next.word));
    let lower = token.word.to_ascii_lowercase();
    let attached = ["am", "pm", "a.m.", "p.m."]
        .iter()
        .find_map(|end| Some((lower.strip_suffix(end)?, half(end)?)));
    let (text, half, count) = match (attached, next) {
        (Some((text, half)), _) => (text, Some(half), 1),
        (None, Some(half)) => (&*lower, Some(half), 2),
        (None, None) => (&*lower, None, 1),
    };
    let clock = match (Clock::of(text), number(text)) {
        (Some(clock), _) => clock,
        // A number is a time only where it is said so.
        (None, Some(hour @ 1..=12)) if half.is_some() => Clock {
            hour,
            minute: 0,
            second: 0,
        },
        _ => return None,
    };
    Some((clock.in_half(half), count))
}

/// Whether it says which half of the day, and whether that is the second.
fn half(word: &str) -> Option<bool> {
    match word {
        "am" | "AM" | "a.m." | "a.m" | "A.M." => Some(false),
        "pm" | "PM" | "p.m." | "p.m" | "P.M." => Some(true),
        _ => None,
    }
}

/// "2026-11-20", "2026-11-20T14:30:00+01:00".
fn iso(word: &str) -> Option<String> {
    let (date, time) = match word.split_once('T') {
        Some((date, time)) => (date, Some(time)),
        None => (word, None),
    };
    let mut parts = date.split('-');
    let (year, month, day) = (parts.next()?, parts.next()?, parts.next()?);
    if year.len() != 4 || month.len() != 2 || day.len() != 2 || parts.next().is_some() {
        return None;
    }
    let said = dated(number(day)?, number(month)?, Some(number(year)?))?;
    let Some(time) = time else {
        return Some(said);
    };
    // An offset is for machines.
    let end = time
        .find(|c: char| !(c.is_ascii_digit() || c == ':'))
        .unwrap_or(time.len());
    let mut clock = Clock::of(&time[..end])?;
    clock.second = 0;
    Some(format!("{said} at {}", clock.words(true)))
}

/// "the twentieth of November twenty twenty-six".
fn dated(day: u64, month: u64, in_year: Option<u64>) -> Option<String> {
    let name = MONTHS.get(usize::try_from(month).ok()?.checked_sub(1)?)?;
    if !(1..=31).contains(&day) {
        return None;
    }
    let said = format!("the {} of {name}", ordinal(day));
    Some(match in_year {
        Some(in_year) => format!("{said} {}", year(in_year)),
        None => said,
    })
}

/// "20/11/2026" and "11/20/2026". Which is which cannot always be told, and then it is not said: "the first of the second".
fn slashes(word: &str) -> Option<String> {
    let parts: Vec<u64> = word.split('/').map(number).collect::<Option<_>>()?;
    let [first, second, in_year] = parts[..] else {
        return None;
    };
    match (first, second) {
        _ if in_year < 1000 => None,
        (1..=12, 1..=12) if first != second => Some(format!(
            "the {} of the {}, {}",
            ordinal(first),
            ordinal(second),
            year(in_year)
        )),
        (_, 1..=12) => dated(first, second, Some(in_year)),
        (1..=12, _) => dated(second, first, Some(in_year)),
        _ => None,
    }
}

/// The month of this name.
pub fn month(word: &str) -> Option<&'static str> {
    let short = word.len() == 3 || word == "Sept";
    MONTHS
        .into_iter()
        .find(|month| *month == word || short && month.starts_with(word))
}

/// Whether the next word belongs to this one: a short form has a full stop that ends nothing.
fn leads(token: &Token) -> bool {
    token.goes_on() || token.after == "." && token.word.len() <= 4
}

/// "20 Nov 2026", "20th of November".
fn day_first(tokens: &[Token], at: usize) -> Said {
    let word = tokens[at].word;
    let day = match word.find(|c: char| c.is_ascii_alphabetic()) {
        Some(end) if matches!(&word[end..], "st" | "nd" | "rd" | "th") => number(&word[..end])?,
        Some(_) => return None,
        None => number(word)?,
    };
    let after = tokens[at].after;
    if !(1..=31).contains(&day) || !matches!(after, "" | ".") {
        return None;
    }
    let of = tokens.get(at + 1).is_some_and(|next| next.word == "of") as usize;
    let name = tokens.get(at + 1 + of)?;
    let month = month(name.word).filter(|_| name.before.is_empty())?;
    let article = match at.checked_sub(1).map(|before| tokens[before].word) {
        Some("the" | "The") => "",
        _ => "the ",
    };
    let said = format!("{article}{} of {month}", ordinal(day));
    let (said, more) = with_year(said, tokens, at + 1 + of);
    Some((said, 2 + of + more))
}

/// "Nov 20", "November 20th, 2026", "Nov 2026".
fn month_first(tokens: &[Token], at: usize) -> Said {
    let month = month(tokens[at].word).filter(|_| leads(&tokens[at]))?;
    let next = tokens.get(at + 1).filter(|next| next.before.is_empty())?;
    let day = next.word.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    match number(day).filter(|day| (1..=31).contains(day)) {
        Some(day) => {
            let said = format!("{month} {}", ordinal(day));
            let (said, more) = with_year(said, tokens, at + 1);
            Some((said, 2 + more))
        }
        None => {
            let (said, more) = with_year(month.to_owned(), tokens, at);
            (more > 0).then_some((said, 1 + more))
        }
    }
}

/// With the year that stands behind this word, if one does.
fn with_year(said: String, tokens: &[Token], last: usize) -> (String, usize) {
    let leads = leads(&tokens[last]) || tokens[last].after == ",";
    let next = tokens
        .get(last + 1)
        .filter(|next| leads && next.before.is_empty());
    match next.and_then(|next| is_year(next.word, "in")) {
        Some(number) => (format!("{said} {}", year(number)), 1),
        None => (said, 0),
    }
}

/// "Fri" before a date.
fn weekday(tokens: &[Token], at: usize) -> Option<&'static str> {
    let word = tokens[at].word;
    let next = tokens.get(at + 1)?.word;
    let dated = next.starts_with(|c: char| c.is_ascii_digit()) || month(next).is_some();
    let day = DAYS
        .into_iter()
        .find(|day| (3..=4).contains(&word.len()) && day.starts_with(word));
    day.filter(|_| dated)
}
