//! The vocabulary: what single words mean. English; another language is another one of these files.

use jiff::civil::Weekday;

/// A unit of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    Second,
    Minute,
    Hour,
    Day,
    Week,
    Fortnight,
    Weekend,
    WorkWeek,
    Month,
    Quarter,
    Year,
    Decade,
    Century,
}

/// Which one, seen from now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rel {
    /// The one that now is in.
    This,
    /// The one after that.
    Next,
    /// The one before that.
    Last,
    /// The nearest one ahead.
    Coming,
    /// The nearest one that is over.
    Past,
    /// Not said ("the month"): the one that now is in, of which a piece that is over is that of the next one.
    Open,
}

/// A part of a day.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    Morning,
    Lunch,
    Afternoon,
    Evening,
    Night,
    Daytime,
    NightTime,
}

impl Part {
    /// First and last hour (exclusive; above 24 is the next day). The narrow hours are those that Microsoft's
    /// Recognizers-Text resolves to; the generous ones overlap, since a search should rather find too much.
    pub fn hours(self, generous: bool) -> (i8, i8) {
        match (self, generous) {
            (Part::Morning, false) => (8, 12),
            (Part::Morning, true) => (5, 12),
            (Part::Lunch, _) => (11, 13),
            (Part::Afternoon, false) => (12, 16),
            (Part::Afternoon, true) => (12, 18),
            (Part::Evening, false) => (16, 20),
            (Part::Evening, true) => (17, 24),
            (Part::Night, false) => (20, 24),
            (Part::Night, true) => (18, 28),
            (Part::Daytime, _) => (8, 18),
            (Part::NightTime, _) => (0, 8),
        }
    }
}

pub fn month(word: &str) -> Option<i8> {
    const NAMES: [&str; 12] = [
        "january",
        "february",
        "march",
        "april",
        "may",
        "june",
        "july",
        "august",
        "september",
        "october",
        "november",
        "december",
    ];
    let found = NAMES
        .iter()
        .position(|name| *name == word || (word.len() == 3 && name.starts_with(word)))
        .or((word == "sept").then_some(8))?;
    i8::try_from(found + 1).ok()
}

pub fn weekday(word: &str) -> Option<Weekday> {
    let word = word.strip_suffix("'s").unwrap_or(word);
    Some(match word {
        "monday" | "mon" | "mondays" => Weekday::Monday,
        "tuesday" | "tue" | "tues" | "tuesdays" => Weekday::Tuesday,
        "wednesday" | "wed" | "weds" | "wednesdays" => Weekday::Wednesday,
        "thursday" | "thu" | "thur" | "thurs" | "thursdays" => Weekday::Thursday,
        "friday" | "fri" | "fridays" => Weekday::Friday,
        "saturday" | "sat" | "saturdays" => Weekday::Saturday,
        "sunday" | "sun" | "sundays" => Weekday::Sunday,
        _ => return None,
    })
}

/// Words that name several weekdays at once.
pub fn weekday_set(word: &str) -> Option<Vec<Weekday>> {
    let from_monday = |days| Weekday::Monday.cycle_forward().take(days).collect();
    Some(match word {
        "weekday" | "weekdays" | "workday" | "workdays" => from_monday(5),
        "weekends" => vec![Weekday::Saturday, Weekday::Sunday],
        _ => return None,
    })
}

/// How often, in one word; with its interval.
pub fn adverb(word: &str) -> Option<(Unit, u32)> {
    Some(match word {
        "hourly" => (Unit::Hour, 1),
        "daily" | "nightly" => (Unit::Day, 1),
        "weekly" => (Unit::Week, 1),
        "biweekly" | "fortnightly" => (Unit::Week, 2),
        "monthly" => (Unit::Month, 1),
        "bimonthly" => (Unit::Month, 2),
        "quarterly" => (Unit::Month, 3),
        "yearly" | "annually" => (Unit::Year, 1),
        _ => return None,
    })
}

/// Whether a word says that something comes back.
pub fn recurs(word: &str) -> bool {
    const WEEKDAYS: &str = "mondays tuesdays wednesdays thursdays fridays saturdays sundays";
    matches!(
        word,
        "every" | "each" | "once" | "alternate" | "weekdays" | "workdays" | "weekends"
    ) || adverb(word).is_some()
        || WEEKDAYS.split(' ').any(|w| w == word)
}

pub fn unit(word: &str) -> Option<Unit> {
    let word = word.strip_suffix("'s").unwrap_or(word).trim_end_matches('\'');
    Some(match word {
        "second" | "seconds" | "sec" | "secs" => Unit::Second,
        "minute" | "minutes" | "min" | "mins" => Unit::Minute,
        "hour" | "hours" | "hr" | "hrs" => Unit::Hour,
        "day" | "days" | "night" | "nights" => Unit::Day,
        "week" | "weeks" | "wk" | "wks" => Unit::Week,
        "fortnight" | "fortnights" => Unit::Fortnight,
        "weekend" | "weekends" => Unit::Weekend,
        "workweek" => Unit::WorkWeek,
        "month" | "months" => Unit::Month,
        "quarter" | "quarters" => Unit::Quarter,
        "year" | "years" | "yr" | "yrs" => Unit::Year,
        "decade" | "decades" => Unit::Decade,
        "century" | "centuries" => Unit::Century,
        _ => return None,
    })
}

/// A unit written onto its number: "3h".
pub fn glued_unit(word: &str) -> Option<&'static str> {
    Some(match word {
        "h" => "hours",
        "d" => "days",
        "w" => "weeks",
        "m" => "minutes",
        "y" => "years",
        _ => return None,
    })
}

pub fn relation(word: &str) -> Option<Rel> {
    Some(match word {
        "this" | "current" | "same" | "that" => Rel::This,
        "next" | "following" => Rel::Next,
        "last" | "previous" => Rel::Last,
        "coming" | "upcoming" => Rel::Coming,
        "past" => Rel::Past,
        _ => return None,
    })
}

pub fn part(word: &str) -> Option<Part> {
    Some(match word {
        "morning" | "mornings" => Part::Morning,
        "lunch" | "lunchtime" => Part::Lunch,
        "afternoon" => Part::Afternoon,
        "evening" | "evenings" => Part::Evening,
        "night" => Part::Night,
        "daytime" => Part::Daytime,
        "nighttime" => Part::NightTime,
        _ => return None,
    })
}

/// The numbers from zero on, each at its place.
pub const CARDINALS: [&str; 20] = [
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
/// Twenty, thirty and so on.
pub const TENS: [&str; 8] = [
    "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety",
];

/// The value of a number word below a hundred, and whether it is ordinal.
pub fn number(word: &str) -> Option<(u32, bool)> {
    const ORDINALS: [&str; 20] = [
        "zeroth",
        "first",
        "second",
        "third",
        "fourth",
        "fifth",
        "sixth",
        "seventh",
        "eighth",
        "ninth",
        "tenth",
        "eleventh",
        "twelfth",
        "thirteenth",
        "fourteenth",
        "fifteenth",
        "sixteenth",
        "seventeenth",
        "eighteenth",
        "nineteenth",
    ];
    let at = |list: &[&str]| {
        list.iter()
            .position(|w| *w == word)
            .and_then(|i| u32::try_from(i).ok())
    };
    if let Some(value) = at(&CARDINALS) {
        return Some((value, false));
    }
    if let Some(value) = at(&ORDINALS) {
        return Some((value, true));
    }
    if let Some(value) = at(&TENS) {
        return Some(((value + 2) * 10, false));
    }
    match word {
        "fourty" => Some((40, false)),
        "twentieth" => Some((20, true)),
        "thirtieth" => Some((30, true)),
        _ => None,
    }
}

/// The number that a word sounds like, for where nothing but a number makes sense: recognisers write the more frequent word.
pub fn sounds_like(word: &str) -> Option<u32> {
    Some(match word {
        "won" => 1,
        "to" | "too" => 2,
        "tree" => 3,
        "for" | "fore" => 4,
        "sick" | "sicks" => 6,
        "ate" => 8,
        "nein" => 9,
        _ => return None,
    })
}

/// Of the words that sound like numbers those that sentences about times hold anyway: "for", "to".
pub fn holds_together(word: &str) -> bool {
    matches!(word, "to" | "for")
}

/// Of those the ones that seldom stand before a unit for themselves, as in "sick hours" and "won minutes".
pub fn counts_units(word: &str) -> bool {
    matches!(word, "ate" | "fore" | "too" | "tree")
}

/// Two words that a recogniser writes for one: the days, and what is put together with "day" and "night".
pub fn split_in_two(first: &str, second: &str) -> Option<&'static str> {
    Some(match (first, second) {
        ("mon", "day" | "days") => "monday",
        ("tues", "day" | "days") => "tuesday",
        ("wednes" | "wens", "day" | "days") => "wednesday",
        ("thurs", "day" | "days") | ("thirst", "day") => "thursday",
        ("fri", "day" | "days") | ("fry", "day") => "friday",
        ("satur", "day" | "days") => "saturday",
        ("sun", "day" | "days") => "sunday",
        ("day", "time") => "daytime",
        ("night", "time") => "nighttime",
        ("mid", "day") => "midday",
        ("mid", "night") => "midnight",
        ("to" | "too", "morrow") => "tomorrow",
        ("yester", "day") => "yesterday",
        ("fort", "night") => "fortnight",
        _ => return None,
    })
}

/// Words that carry nothing where no phrase claims them.
pub fn filler(word: &str) -> bool {
    matches!(
        word,
        "the"
            | "on"
            | "at"
            | "of"
            | "in"
            | "around"
            | "about"
            | "circa"
            | "approximately"
            | "roughly"
            | "exactly"
            | "please"
            | "for"
            | "ish"
            | "during"
    )
}
