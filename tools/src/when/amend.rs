//! What a time becomes when a part of it is said anew: "thursday at one", and then "I meant friday".

use super::{
    Hint, MAX_CHARS,
    expr::{Expr, Parts},
    grammar,
    lexer::{self, Token},
};

/// The halves of the day and how they are said behind an hour.
const HALVES: &[(&str, &str)] = &[
    ("am", "am"),
    ("pm", "pm"),
    ("morning", "in the morning"),
    ("afternoon", "in the afternoon"),
    ("evening", "in the evening"),
    ("night", "at night"),
];

/// The time that somebody means who said `old` and says `new` now: all of what is new, and of the old what the new
/// leaves open. `None` when one of the two is no time, or when they have nothing to do with each other: "for an hour" and
/// "friday".
///
/// ```
/// use tools::when::amended;
/// assert_eq!(amended("thursday at one", "friday").as_deref(), Some("friday at one"));
/// assert_eq!(amended("thursday at one", "at four").as_deref(), Some("thursday at four"));
/// assert_eq!(amended("ten minutes", "twelve").as_deref(), Some("twelve minutes"));
/// assert_eq!(amended("tomorrow", "the day after that").as_deref(), Some("the day after tomorrow"));
/// assert_eq!(amended("tomorrow at nine", "the next day").as_deref(), Some("the day after tomorrow at nine"));
/// assert_eq!(amended("an hour", "friday"), None);
/// ```
pub fn amended(old: &str, new: &str) -> Option<String> {
    let (old, new) = (trimmed(old), trimmed(new));
    if let Some(beside) = beside(old, new) {
        return Some(beside);
    }
    let said = Pieces::of(new)?;
    let again = |text| {
        matches!(
            grammar::parse(&lexer::tokens(text)?, Hint::Schedule),
            Some(Expr::Again(_))
        )
        .then_some(())
    };
    let is_later = new
        .split_whitespace()
        .any(|word| ["earlier", "later", "sooner"].contains(&word.to_lowercase().as_str()));
    // "An hour later" counts from the old time, not from now, and "every day" leaves its hour open: neither can be put together
    // here.
    if (is_later || again(new).is_some())
        && (iso(old).is_some() || Pieces::of(old).is_some_and(|was| was.hours && !was.whole))
    {
        return None;
    }
    if said.whole || (said.day && said.hours) {
        return Some(new.to_owned());
    }
    if let Some((day, hours)) = iso(old) {
        return match said {
            Pieces { hours: true, .. } => Some(format!("{day} {}", hour(new))),
            Pieces { day: true, .. } => Some(format!("{new} at {hours}")),
            _ => None,
        };
    }
    let was = Pieces::of(old)?;
    if was.length {
        return match said {
            Pieces { length: true, .. } => Some(new.to_owned()),
            Pieces { bare: true, .. } => counted(old, new),
            _ => None,
        };
    }
    if said.length {
        return None;
    }
    let kept = |keep: fn(&Pieces) -> bool| longest(old, keep);
    match (said.hours, said.day) {
        (true, _) if was.day => {
            let day = kept(|part| part.day && !part.hours && !part.whole)?;
            Some(format!("{day} {}", hour(&with_half(old, new))))
        }
        (true, _) if was.hours => Some(with_half(old, new)),
        (_, true) if was.hours => {
            let hours = kept(|part| part.hours && !part.day && !part.whole)?;
            Some(format!("{new} {}", hour(hours)))
        }
        (_, true) if was.day => Some(new.to_owned()),
        _ => None,
    }
}

/// The day before or after another one: "the day after that".
fn beside(old: &str, new: &str) -> Option<String> {
    const AFTER: [&str; 4] = [
        "the day after",
        "the day after that",
        "the following day",
        "the next day",
    ];
    const BEFORE: [&str; 3] = ["the day before", "the day before that", "the previous day"];
    let new = new.to_lowercase();
    let beside = match new.as_str() {
        new if AFTER.contains(&new) => "the day after",
        new if BEFORE.contains(&new) => "the day before",
        _ => return None,
    };
    let day = longest(old, |part| part.day && !part.hours && !part.whole && !part.length)?;
    let beside = match Pieces::of(old)?.hours {
        true => {
            let hours = longest(old, |part| part.hours && !part.day && !part.whole)?;
            format!("{beside} {day} {}", hour(hours))
        }
        false => format!("{beside} {day}"),
    };
    Some(beside).filter(|both| is_time(both))
}

/// Whether all these words are a time or a length.
pub fn is_time(words: &str) -> bool {
    Pieces::of(trimmed(words)).is_some_and(|pieces| !pieces.bare)
}

/// A day and a time of day that were said apart, together: "tomorrow" and "at ten". `None` when one is not just the one, and the
/// other just the other.
///
/// ```
/// use tools::when::joined;
/// assert_eq!(joined("tomorrow", "at ten").as_deref(), Some("tomorrow at ten"));
/// assert_eq!(joined("half ten", "on friday").as_deref(), Some("on friday at half ten"));
/// assert_eq!(joined("tomorrow", "friday at ten"), None);
/// ```
pub fn joined(one: &str, other: &str) -> Option<String> {
    let (one, other) = (trimmed(one), trimmed(other));
    let (first, second) = (Pieces::of(one)?, Pieces::of(other)?);
    let only_day = |part: &Pieces| part.day && !part.hours && !part.whole && !part.length;
    let only_hours = |part: &Pieces| part.hours && !part.day && !part.whole && !part.length;
    let (day, hours) = match () {
        () if only_day(&first) && only_hours(&second) => (one, other),
        () if only_hours(&first) && only_day(&second) => (other, one),
        () => return None,
    };
    Some(format!("{day} {}", hour(hours))).filter(|both| is_time(both))
}

/// Whether words say at what time of day: "tonight at eight", not "friday".
pub fn names_hours(words: &str) -> bool {
    Pieces::of(trimmed(words)).is_some_and(|pieces| pieces.hours)
}

/// Whether two texts are the same time, however they are written.
pub fn same(one: &str, other: &str, hint: Hint) -> bool {
    let parsed = |text: &str| match text.len() > MAX_CHARS {
        true => None,
        false => grammar::parse(&lexer::tokens(trimmed(text))?, hint),
    };
    parsed(one).is_some_and(|time| parsed(other) == Some(time))
}

/// The number that all these words are, in digits or in words.
pub fn count(words: &str) -> Option<u32> {
    match lexer::tokens(words)?[..] {
        [Token::Number(number)] => Some(number.value),
        _ => None,
    }
}

/// Which pieces of a time were said.
struct Pieces {
    day: bool,
    hours: bool,
    length: bool,
    /// Nothing but a number.
    bare: bool,
    /// From one to the other, or again and again, or so far from now: no part of it can be put into another.
    whole: bool,
}

impl Pieces {
    fn of(text: &str) -> Option<Pieces> {
        // What is longer is no time to `resolve` either.
        if text.is_empty() || text.len() > MAX_CHARS {
            return None;
        }
        let parsed = grammar::parse(&lexer::tokens(text)?, Hint::Schedule);
        let parts = match parsed.filter(|parsed| !parsed.unsettled())? {
            Expr::One(parts) => parts,
            Expr::Between(..) | Expr::Again(_) => Parts {
                now: true,
                ..Parts::default()
            },
        };
        Some(Pieces {
            day: parts.day.is_some() || parts.period.is_some(),
            hours: parts.clock.is_some() || parts.part.is_some() || parts.bare.is_some(),
            length: parts.length.is_some() && parts.day.is_none() && parts.clock.is_none(),
            bare: parts
                == Parts {
                    bare: parts.bare,
                    ..Parts::default()
                },
            whole: parts.now || parts.away.is_some() || parts.day_end || parts.bound.is_some(),
        })
    }
}

/// Words without the signs around them.
fn trimmed(words: &str) -> &str {
    words.trim_matches(|c: char| !c.is_alphanumeric())
}

/// The day and the time of day of a moment as machines write it; grammars of sentences do not know it.
fn iso(text: &str) -> Option<(&str, &str)> {
    let (day, hours) = text.split_once('T')?;
    let (hour, minute) = (hours.get(..2)?, hours.get(3..5)?);
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let is = day.parse::<jiff::civil::Date>().is_ok() && digits(hour) && digits(minute);
    is.then(|| (day, &hours[..5]))
}

/// The longest stretch of words that is such a part of a time.
fn longest(text: &str, keep: fn(&Pieces) -> bool) -> Option<&str> {
    let mut at = 0;
    let words: Vec<(usize, usize)> = text
        .split_inclusive(char::is_whitespace)
        .map(|word| {
            let start = at;
            at += word.len();
            (start, start + word.trim_end().len())
        })
        .collect();
    let lengths = (1..=words.len()).rev();
    lengths
        .flat_map(|length| words.windows(length))
        .map(|window| trimmed(&text[window[0].0..window[window.len() - 1].1]))
        .filter(|part| part.split_whitespace().last().is_none_or(|last| !opens(last)))
        .find(|part| Pieces::of(part).is_some_and(|pieces| keep(&pieces)))
}

/// Whether a word leads up to a time.
fn opens(word: &str) -> bool {
    [
        "at", "on", "in", "around", "about", "from", "by", "before", "after", "for", "the",
    ]
    .contains(&word.to_lowercase().as_str())
}

/// A time of day as it stands behind a day: "four" alone may be the fourth.
fn hour(said: &str) -> String {
    match said.split_whitespace().next() {
        Some(first) if opens(first) => format!("{}{}", first.to_lowercase(), &said[first.len()..]),
        // "Morning" is no hour, and nobody says "at morning".
        _ if Pieces::of(&format!("at {said}")).is_some() => format!("at {said}"),
        _ => said.to_owned(),
    }
}

/// The new hour in the half of the day in which the old one was, where nothing else is said.
fn with_half(old: &str, new: &str) -> String {
    let halves = |token| match token {
        Token::Word(word) => HALVES
            .iter()
            .find(|(half, _)| *half == word)
            .map(|(_, said)| *said),
        _ => None,
    };
    let half = lexer::tokens(old).into_iter().flatten().find_map(halves);
    let open = |text: &str| {
        let parsed = lexer::tokens(text).and_then(|tokens| grammar::parse(&tokens, Hint::Schedule));
        matches!(parsed, Some(Expr::One(parts)) if parts.part.is_none()
            && (parts.bare.is_some_and(|hour| (1..=12).contains(&hour))
                || parts.clock.is_some_and(|clock| !clock.fixed)))
    };
    match half {
        Some(half) if open(new) && near(old, new, half) => format!("{new} {half}"),
        _ => new.to_owned(),
    }
}

/// Whether the new hour in this half of the day is nearer to the old one than in the other: who moves eleven in the morning to
/// one means one in the afternoon.
fn near(old: &str, new: &str, half: &str) -> bool {
    let hour = |text: &str| {
        let parsed = grammar::parse(&lexer::tokens(text)?, Hint::Schedule)?;
        let Expr::One(parts) = parsed else {
            return None;
        };
        let clock = parts.clock.map(|clock| i64::from(clock.hour));
        Some(parts.bare.map(i64::from).or(clock)? % 12)
    };
    let together = format!("{new} {half}");
    Pieces::of(&together).is_some()
        && match (hour(old), hour(new)) {
            (Some(was), Some(is)) => (is - was).abs() <= 6,
            _ => true,
        }
}

/// Another number of what was counted.
fn counted(old: &str, new: &str) -> Option<String> {
    let unit = old.split_whitespace().last()?;
    let amended = format!("{new} {unit}");
    Pieces::of(&amended)?.length.then_some(amended)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(old: &str, new: &str, expect: Option<&str>) {
        assert_eq!(amended(old, new).as_deref(), expect, "{old:?}, {new:?}");
    }

    #[test]
    fn what_is_said_anew_goes_in_the_place_of_what_it_corrects() {
        check("Thursday at one", "Friday", Some("Friday at one"));
        check("at one on Thursday", "Friday", Some("Friday at one"));
        check("tomorrow", "Friday", Some("Friday"));
        check("tomorrow at ten", "at four", Some("tomorrow at four"));
        check("tomorrow at ten", "four", Some("tomorrow at four"));
        check(
            "next tuesday at half past nine",
            "quarter to ten",
            Some("next tuesday at quarter to ten"),
        );
        check("Thursday at one", "Friday at two", Some("Friday at two"));
        check("six pm", "seven", Some("seven pm"));
        check("six pm", "seven in the morning", Some("seven in the morning"));
        check("tomorrow at six pm", "seven", Some("tomorrow at seven pm"));
        check("six pm", "18:30", Some("18:30"));
        check("at six", "tomorrow", Some("tomorrow at six"));
        check(
            "six tomorrow morning",
            "at half past six",
            Some("tomorrow at half past six in the morning"),
        );
        check("2026-11-26T13:00", "Friday", Some("Friday at 13:00"));
        check("2026-11-26T13:00:00", "at four", Some("2026-11-26 at four"));
        check("at three", "in twenty minutes", Some("in twenty minutes"));
        check("ten minutes", "twelve minutes", Some("twelve minutes"));
        check("ten minutes", "twelve", Some("twelve minutes"));
        check("tomorrow", "from two to four", Some("from two to four"));
    }

    #[test]
    fn what_is_no_time_or_another_kind_of_time_amends_nothing() {
        check("ten minutes", "Friday", None);
        check("Friday", "ten minutes", None);
        check("the dentist", "Friday", None);
        check("Friday", "the dentist", None);
        check("Friday", "", None);
        check("", "Friday", None);
        check("Friday", &"at ".repeat(1_000), None);
        check("2026-99-99T99:99", "Friday", None);
        check("T", "Friday", None);
        check("2026-11-26Té0:00", "Friday", None);
    }

    #[test]
    fn a_number_alone_is_no_time() {
        for (words, expect) in [
            ("Friday", true),
            ("at four", true),
            ("twenty minutes", true),
            ("four", false),
            ("the second one", false),
            ("Anna", false),
            ("", false),
        ] {
            assert_eq!(is_time(words), expect, "{words:?}");
        }
    }
}
