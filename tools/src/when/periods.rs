//! Stretches of days: "this week", "march 2027", "the next three days", "the third week of january", "end of the year".

use super::{
    amount::{self, Amount},
    cursor::Cursor,
    days,
    expr::{Day, Direction, Edge, Period, Year},
    lexer::Token,
    words::{self, Rel, Unit},
};

/// Any period.
pub fn period(c: &mut Cursor) -> Option<Period> {
    c.attempt(nth)
        .or_else(|| c.attempt(edged))
        .or_else(|| c.attempt(edgeless))
}

/// A period that is not a piece of another.
pub fn edgeless(c: &mut Cursor) -> Option<Period> {
    c.eat(&["the"]);
    c.attempt(unsettled)
        .or_else(|| c.attempt(week_of))
        .or_else(|| c.attempt(slice))
        .or_else(|| c.attempt(month))
        .or_else(|| c.attempt(years))
        .or_else(|| c.attempt(unit))
}

/// "the next three days", "last 2 weeks", "5 past years", "within 5 minutes", "next hour".
pub fn counted(c: &mut Cursor) -> Option<Period> {
    c.eat(&["in", "over", "for"]);
    if c.eat(&["within"]) {
        c.eat(&["the"]);
        c.eat(&["next"]);
        let amount = amount::amount(c)?;
        return Some(Period::Span {
            amount,
            direction: Direction::Ahead,
        });
    }
    c.eat(&["the"]);
    if let Some(rel) = c.word(words::relation) {
        let direction = direction(rel)?;
        if let Some(period) = c.attempt(|c| aligned(c, direction)) {
            return Some(period);
        }
        if let Some(count) = c.attempt(business_days) {
            return Some(Period::Business { count, direction });
        }
        let amount = match c.attempt(amount::amount) {
            Some(amount) => amount,
            // "the last minute" is counted from now, "last week" is not.
            None => match c.unit()? {
                unit @ (Unit::Second | Unit::Minute | Unit::Hour) => Amount::of(1.0, unit),
                _ => return None,
            },
        };
        // "the last 3 weeks of this year" is counted from the year's end.
        if c.clone().eat(&["of"]) {
            return None;
        }
        return Some(Period::Span { amount, direction });
    }
    let count = amount::count(c)?;
    // "seven last night" counts no nights.
    if c.attempt(|c| {
        c.word(words::relation)?;
        c.word(words::part)
    })
    .is_some()
    {
        return None;
    }
    let direction = direction(c.word(words::relation)?)?;
    let amount = Amount::of(count, c.unit()?);
    Some(Period::Span { amount, direction })
}

/// "four business days".
pub fn business_days(c: &mut Cursor) -> Option<i32> {
    let count = c.number(|n| !n.ordinal && (1..=1000).contains(&n.value))?.value;
    c.eat(&["business", "working", "work"]).then_some(())?;
    c.eat(&["day", "days"]).then_some(())?;
    i32::try_from(count).ok()
}

/// "the last two quarters": those are counted whole, as the calendar has them.
fn aligned(c: &mut Cursor, direction: Direction) -> Option<Period> {
    let count = c.number(|n| !n.ordinal && (1..=100).contains(&n.value))?.value;
    let unit = c.unit()?;
    matches!(unit, Unit::Quarter | Unit::Decade | Unit::Century).then_some(())?;
    Some(Period::Whole {
        count: i16::try_from(count).ok()?,
        unit,
        direction,
    })
}

/// "third week of january", "first ten days of last year", "last month of the year".
pub fn nth(c: &mut Cursor) -> Option<Period> {
    c.eat(&["the"]);
    let nth = days::place(c)?;
    let count = c
        .number(|n| !n.ordinal && (1..=100).contains(&n.value))
        .map_or(1, |n| n.value);
    let unit = c.unit()?;
    c.eat(&["of", "in"]).then_some(())?;
    c.eat(&["the"]);
    let within = c.attempt(edgeless)?;
    Some(Period::Nth {
        nth,
        unit,
        count: i32::try_from(count).ok()?,
        within: Box::new(within),
    })
}

/// "end of march", "early may", "later this week", "earlier in the week".
pub fn edged(c: &mut Cursor) -> Option<Period> {
    c.eat(&["the"]);
    // "beginning january 7th" is since then.
    let noun = c
        .clone()
        .eat(&["end", "beginning", "start", "middle", "rest", "remainder"]);
    let edge = c.word(|w| {
        Some(match w {
            "end" | "late" => Edge::End,
            "beginning" | "start" | "early" => Edge::Start,
            "middle" | "mid" => Edge::Middle,
            "earlier" => Edge::Earlier,
            "later" | "rest" | "remainder" => Edge::Later,
            _ => return None,
        })
    })?;
    c.sign(&['-']);
    if !c.eat(&["of", "in"]) && noun {
        return None;
    }
    let of = c.attempt(edgeless)?;
    Some(Period::Edge {
        edge,
        of: Box::new(of),
    })
}

/// The year that a period is, for the month or quarter said beside it.
pub fn as_year(period: &Period) -> Option<Year> {
    match period {
        Period::Year(year) => Some(Year::Number(*year)),
        Period::Unit {
            rel,
            unit: Unit::Year,
        } => Some(Year::Rel(*rel)),
        _ => None,
    }
}

fn direction(rel: Rel) -> Option<Direction> {
    match rel {
        Rel::Next | Rel::Coming => Some(Direction::Ahead),
        Rel::Last | Rel::Past => Some(Direction::Back),
        Rel::This | Rel::Open => None,
    }
}

/// Seasons have dates, but not the same on both halves of the earth; other years begin where a school or firm says.
fn unsettled(c: &mut Cursor) -> Option<Period> {
    c.word(words::relation);
    let season = c.eat(&["spring", "summer", "autumn", "fall", "winter"]);
    if !season {
        c.eat(&["school", "academic", "fiscal", "financial", "tax"])
            .then_some(())?;
        c.eat(&["year", "quarter"]).then_some(())?;
    }
    c.attempt(of_year);
    Some(Period::Unsettled)
}

/// "labor day weekend", "christmas week".
pub fn by_holiday(c: &mut Cursor) -> Option<Period> {
    let mut day = days::holiday(c)?;
    let weekend = c.eat(&["weekend"]);
    (weekend || c.eat(&["week"])).then_some(())?;
    if let Day::Holiday {
        year: year @ None, ..
    } = &mut day
    {
        *year = c.attempt(of_year);
    }
    let day = Box::new(day);
    Some(if weekend {
        Period::WeekendOf(day)
    } else {
        Period::WeekOf(day)
    })
}

/// "less than three days after tomorrow", "within two weeks of easter": by its amount, direction and day.
pub fn near(amount: Amount, direction: Direction, from: Option<Day>) -> Period {
    if from.is_none() && !amount.whole_days() {
        return Period::Span { amount, direction };
    }
    Period::Near {
        amount,
        direction,
        from: from.map(Box::new),
    }
}

/// "the week of april 10th", "the weekend of halloween", "week 31".
fn week_of(c: &mut Cursor) -> Option<Period> {
    if let Some(day) = c.attempt(|c| {
        c.eat(&["weekend"]).then_some(())?;
        c.eat(&["of"]).then_some(())?;
        days::day(c)
    }) {
        return Some(Period::WeekendOf(Box::new(day)));
    }
    c.eat(&["week"]).then_some(())?;
    if c.eat(&["of", "beginning", "commencing", "starting", "from"]) {
        c.eat(&["on"]);
        return Some(Period::WeekOf(Box::new(c.attempt(days::day)?)));
    }
    c.eat(&["number"]);
    let week = c.number(|n| !n.ordinal && (1..=53).contains(&n.value))?.value;
    Some(Period::WeekNumber {
        week: i8::try_from(week).ok()?,
        year: c.attempt(of_year),
    })
}

/// "march", "next march", "march of 2027", "2027 march", "mar/2027", "12-2027".
fn month(c: &mut Cursor) -> Option<Period> {
    if let Some((month, year)) = c.attempt(|c| {
        let month = c.number(|n| matches!(n.digits, 1 | 2) && (1..=12).contains(&n.value))?;
        c.sign(&['-', '/'])?;
        Some((i8::try_from(month.value).ok()?, days::year(c)?))
    }) {
        return Some(Period::Month {
            rel: None,
            month,
            year: Some(Year::Number(year)),
        });
    }
    let year = c.attempt(|c| {
        let year = days::year(c)?;
        c.sign(&['-', '/']);
        Some(Year::Number(year))
    });
    let rel = c.word(words::relation);
    c.eat_all(&["month", "of"]);
    let month = c.word(words::month)?;
    let year = year.or_else(|| c.attempt(of_year));
    Some(Period::Month { rel, month, year })
}

/// "q1 2027", "2027-h2", "first quarter" with its year.
fn slice(c: &mut Cursor) -> Option<Period> {
    let year = c.attempt(|c| {
        let year = of_year(c)?;
        c.sign(&['-']);
        Some(year)
    });
    let (nth, of) = c
        .attempt(|c| {
            let of = c.word(|w| match w {
                "q" => Some(4),
                "h" => Some(2),
                _ => None,
            })?;
            Some((c.number(|n| n.digits == 1)?.value, of))
        })
        .or_else(|| {
            c.attempt(|c| {
                let nth = c.number(|n| n.ordinal)?.value;
                let of = c.word(|w| match w {
                    "quarter" => Some(4),
                    "half" => Some(2),
                    _ => None,
                })?;
                Some((nth, of))
            })
        })?;
    let nth = i8::try_from(nth).ok().filter(|n| (1..=of).contains(n))?;
    let year = year.or_else(|| c.attempt(of_year));
    Some(Period::Slice { nth, of, year })
}

/// A year said with something: "of 2027", "-2027", "of next year".
pub fn of_year(c: &mut Cursor) -> Option<Year> {
    c.sign(&[',', '-', '/']);
    c.eat(&["of", "in"]);
    c.eat(&["the"]);
    if let Some(year) = days::year(c) {
        return Some(Year::Number(year));
    }
    let rel = c.word(words::relation);
    c.eat(&["calendar"]);
    if !c.eat(&["year", "year's"]) {
        return None;
    }
    Some(Year::Rel(rel.unwrap_or(Rel::This)))
}

/// "2027", "year 2027", "the 1990s", "the 21st century".
fn years(c: &mut Cursor) -> Option<Period> {
    if let Some(nth) = c.attempt(|c| {
        let nth = c.number(|n| n.ordinal && (1..=29).contains(&n.value))?;
        c.eat(&["century"]).then_some(nth)
    }) {
        return Some(Period::Years {
            first: i16::try_from((nth.value - 1) * 100).ok()?,
            count: 100,
        });
    }
    if let Some(first) = c.attempt(|c| {
        let number = c.number(|n| matches!(n.digits, 2 | 4) && n.value % 10 == 0 && n.value < 3000)?;
        c.eat(&["s", "'s"]).then_some(())?;
        i16::try_from(if number.digits == 2 {
            1900 + number.value
        } else {
            number.value
        })
        .ok()
    }) {
        return Some(Period::Years { first, count: 10 });
    }
    if c.eat(&["cy"]) {
        let year = c.number(|n| matches!(n.digits, 2 | 4))?;
        return days::any_year(year).map(Period::Year);
    }
    c.eat(&["calendar"]);
    let named = c.eat(&["year"]);
    let in_pairs = matches!(c.peek(), Some(Token::Number(n)) if n.value < 100);
    let year = days::year(c)?;
    // A bare number is a year only where one may well be meant, and "seventeen thirty" is rather a time.
    let likely = (1600..2200).contains(&year) && (!in_pairs || year >= 2000 || year % 100 >= 60);
    (named || likely).then_some(Period::Year(year))
}

fn unit(c: &mut Cursor) -> Option<Period> {
    let rel = c.word(words::relation).unwrap_or(Rel::Open);
    let unit = c.unit()?;
    (!matches!(unit, Unit::Second | Unit::Minute | Unit::Hour | Unit::Day))
        .then_some(Period::Unit { rel, unit })
}
