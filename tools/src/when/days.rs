//! Days: "tomorrow", "next tuesday", "the 3rd of may", "5/3", "the last friday of march".

use super::{
    amount::Amount,
    cursor::Cursor,
    expr::{Day, Direction, Period, Year},
    holidays,
    lexer::{Number, Token},
    periods,
    words::{self, Part, Rel, Unit},
};

/// A day by any name but its place in a period.
pub fn day(c: &mut Cursor) -> Option<Day> {
    c.eat(&["the"]);
    c.attempt(near)
        .or_else(|| c.attempt(holiday))
        .or_else(|| c.attempt(weekday))
        .or_else(|| c.attempt(dated))
        .or_else(|| c.attempt(day_of_month))
}

/// "the last friday of march", "the 15th day of june", "the first of next month".
pub fn nth(c: &mut Cursor) -> Option<(Day, Option<Part>)> {
    c.eat(&["on"]);
    c.eat(&["the"]);
    let nth = place(c)?;
    let weekday = c.word(words::weekday);
    let named = weekday.is_some() || c.eat(&["day"]);
    // "the first monday evening of next month".
    let part = c.word(words::part);
    c.eat(&["of", "in"]).then_some(())?;
    c.eat(&["the"]);
    let within = Box::new(c.attempt(periods::edgeless)?);
    // Nothing else is counted by its days alone: "the first of next month", "the last of the year".
    let by_days = matches!(
        *within,
        Period::Unit {
            unit: Unit::Month | Unit::Quarter | Unit::Year,
            ..
        }
    );
    (named || by_days).then_some(())?;
    let day = match weekday {
        Some(weekday) => Day::NthWeekday { nth, weekday, within },
        None => Day::NthOf { nth, within },
    };
    Some((day, part))
}

/// "first", "3rd", "last", "second to last".
pub fn place(c: &mut Cursor) -> Option<i32> {
    if c.eat(&["last"]) {
        return Some(-1);
    }
    let nth = i32::try_from(c.number(|n| n.ordinal && n.value > 0)?.value).ok()?;
    if c.eat_all(&["to", "last"])
        || c.attempt(|c| {
            c.sign(&['-'])?;
            c.eat(&["last"]).then_some(())
        })
        .is_some()
    {
        return Some(-nth);
    }
    Some(nth)
}

/// "christmas", "next easter", "thanksgiving 2027", "new year's eve of this year".
pub fn holiday(c: &mut Cursor) -> Option<Day> {
    c.eat(&["the"]);
    let rel = c.word(words::relation);
    let (holiday, shift) = holidays::holiday(c)?;
    let year = c.attempt(|c| {
        if c.clone().eat(&["this", "next", "last", "of", "in"]) {
            return periods::of_year(c);
        }
        following_year(c).map(Year::Number)
    });
    Some(Day::Holiday {
        holiday,
        rel,
        year,
        shift,
    })
}

fn near(c: &mut Cursor) -> Option<Day> {
    let shift = c.word(|w| {
        Some(match w {
            "today" | "today's" => 0,
            "tomorrow" | "tomorrows" | "tomorrow's" | "tmr" | "tmrw" => 1,
            "yesterday" => -1,
            _ => return None,
        })
    });
    if let Some(shift) = shift {
        return Some(weeks_on(c, Day::Shift(shift)));
    }
    let rel = c.word(words::relation);
    c.eat(&["day"]).then_some(())?;
    match rel {
        Some(Rel::Next | Rel::Coming) => return Some(Day::Shift(1)),
        Some(Rel::Last | Rel::Past) => return Some(Day::Shift(-1)),
        Some(Rel::This | Rel::Open) => return Some(Day::Shift(0)),
        None => {}
    }
    let step = c.word(|w| match w {
        "after" => Some(1),
        "before" => Some(-1),
        _ => None,
    });
    let Some(step) = step else {
        return Some(Day::Shift(0));
    };
    Some(match c.attempt(day) {
        Some(Day::Shift(shift)) => Day::Shift(shift + step),
        Some(other) => Day::Away {
            amount: Amount::of(1.0, Unit::Day),
            direction: if step > 0 {
                Direction::Ahead
            } else {
                Direction::Back
            },
            from: Box::new(other),
        },
        None => Day::Shift(step),
    })
}

/// "next tuesday", "friday the 13th", "tue may 9", "friday week".
fn weekday(c: &mut Cursor) -> Option<Day> {
    let rel = c.word(words::relation);
    let weekday = c.word(words::weekday)?;
    c.sign(&[',', '.']);
    if let Some(day) = c.attempt(|c| {
        c.eat(&["the"]);
        dated(c)
    }) {
        return Some(day);
    }
    let day = c.attempt(|c| {
        c.eat(&["the"]);
        // Up to twelve it may be an hour; and nobody says "monday 21 30" for a day.
        let number = c.number(|n| n.value <= 31 && (n.ordinal || n.value > 12))?;
        let then_minutes = !number.ordinal
            && matches!(c.peek(), Some(Token::Number(n)) if n.value < 60)
                | matches!(c.peek(), Some(Token::Sign(':' | '.')));
        (!then_minutes).then_some(number)
    });
    match day {
        Some(number) => Some(Day::Numbered {
            rel: None,
            weekday: Some(weekday),
            year: None,
            month: None,
            day: day_number(number)?,
        }),
        None if matches!(rel, Some(Rel::Last | Rel::Past)) => Some(Day::Weekday { rel, weekday }),
        None => Some(weeks_on(c, Day::Weekday { rel, weekday })),
    }
}

/// "monday week", "tomorrow fortnight": so long after the day before it.
fn weeks_on(c: &mut Cursor, day: Day) -> Day {
    let unit = c.attempt(|c| {
        let unit = c.word(|w| match w {
            "week" => Some(Unit::Week),
            "fortnight" => Some(Unit::Fortnight),
            _ => None,
        })?;
        // "monday, week 31", "friday of the week of may 4".
        let named = c
            .clone()
            .eat(&["of", "number", "beginning", "commencing", "starting", "from"])
            || c.clone().number(|_| true).is_some();
        (!named).then_some(unit)
    });
    match unit {
        Some(unit) => Day::Away {
            amount: Amount::of(1.0, unit),
            direction: Direction::Ahead,
            from: Box::new(day),
        },
        None => day,
    }
}

/// What an amount of weeks, months or years is counted from that stands before it: "a week on monday", "a fortnight today",
/// "a year tomorrow".
pub fn counted_from(c: &mut Cursor, amount: &Amount) -> Option<Day> {
    let weeks = amount.days % 7.0 == 0.0;
    (amount.whole_days() && weeks).then_some(())?;
    if let Some(shift) = c.word(|w| match w {
        "today" => Some(0),
        "tomorrow" => Some(1),
        _ => None,
    }) {
        return Some(Day::Shift(shift));
    }
    (amount.months == 0.0 && amount.years == 0.0).then_some(())?;
    c.eat(&["on"]);
    let rel = c.word(words::relation);
    let weekday = c.word(words::weekday)?;
    (!matches!(rel, Some(Rel::Last | Rel::Past))).then_some(Day::Weekday { rel, weekday })
}

/// A date with its month.
fn dated(c: &mut Cursor) -> Option<Day> {
    let rel = c.word(words::relation);
    let (year, month, day) = c
        .attempt(signed)
        .or_else(|| c.attempt(plain_numbers))
        .or_else(|| c.attempt(month_first))
        .or_else(|| c.attempt(day_first))?;
    Some(Day::Numbered {
        rel,
        weekday: None,
        year,
        month: Some(month),
        day,
    })
}

type Ymd = (Option<i16>, i8, i8);

/// "may 5", "may the 5th, 2026", "dec31".
fn month_first(c: &mut Cursor) -> Option<Ymd> {
    let month = c.word(words::month)?;
    c.sign(&['.', ',', '-']);
    c.eat(&["the"]);
    let day = day_number(c.number(|n| n.value <= 31 && n.digits <= 2)?)?;
    // "may 5:30" and "june 9 am" are not days.
    if c.clone().sign(&[':']).is_some() || c.clone().eat(&["am", "pm", "o'clock"]) {
        return None;
    }
    Some((c.attempt(following_year), month, day))
}

/// "5 may", "the 5th of may 2026", "15 april of 87".
fn day_first(c: &mut Cursor) -> Option<Ymd> {
    let day = day_number(c.number(|n| n.value <= 31 && n.digits <= 2)?)?;
    c.eat(&["day"]);
    c.eat(&["of"]);
    let month = c.word(words::month)?;
    Some((c.attempt(following_year), month, day))
}

/// A year after a date: "2026", ", 2026", "of 87", "in twenty twenty six".
fn following_year(c: &mut Cursor) -> Option<i16> {
    c.sign(&[',']);
    let announced = c.eat(&["of", "in"]);
    if let Some(year) = c.attempt(year) {
        return Some(year);
    }
    let short = c.number(|n| announced && n.digits == 2)?;
    century(short)
}

/// A year of four digits, or in words: "nineteen eighty six".
pub fn year(c: &mut Cursor) -> Option<i16> {
    if let Some(number) =
        c.number(|n| !n.ordinal && matches!(n.digits, 0 | 4) && (1000..3000).contains(&n.value))
    {
        return i16::try_from(number.value).ok();
    }
    let first = c.number(|n| n.digits == 0 && (16..=21).contains(&n.value))?;
    let second =
        c.number(|n| (n.digits == 0 && (10..100).contains(&n.value)) || (n.digits == 2 && n.value < 10))?;
    i16::try_from(first.value * 100 + second.value).ok()
}

/// Numbers and at most one month name with the same sign between them: "5/3", "2026-10-01", "5.12", "23/sep/2020".
fn signed(c: &mut Cursor) -> Option<Ymd> {
    enum Field {
        Number(Number),
        Month(i8),
    }
    use Field::{Month, Number as N};
    let field = |c: &mut Cursor| match c.number(|n| !n.ordinal && matches!(n.digits, 1 | 2 | 4)) {
        Some(number) => Some(N(number)),
        None => c.word(words::month).map(Month),
    };
    let first = field(c)?;
    let sign = c.sign(&['/', '-', '.'])?;
    let second = field(c)?;
    let third = c.attempt(|c| {
        c.sign(&[sign])?;
        field(c)
    });
    let full = |n: &Number| n.digits == 4;
    Some(match (first, second, third) {
        (N(y), N(m), Some(N(d))) if full(&y) => (Some(four(y)?), month_number(m)?, day_number(d)?),
        (N(y), Month(m), Some(N(d))) if full(&y) => (Some(four(y)?), m, day_number(d)?),
        (N(y), N(d), Some(Month(m))) if full(&y) => (Some(four(y)?), m, day_number(d)?),
        (N(a), N(b), Some(N(y))) => {
            let (month, day) = month_day(a, b)?;
            (Some(any_year(y)?), month, day)
        }
        (N(d), Month(m), Some(N(y))) | (Month(m), N(d), Some(N(y))) => {
            (Some(any_year(y)?), m, day_number(d)?)
        }
        (N(d), Month(m), None) if !full(&d) => (None, m, day_number(d)?),
        (Month(m), N(d), None) if !full(&d) => (None, m, day_number(d)?),
        // "10.30" and "16.30" are times of day: who writes dates with dots begins with the day.
        (N(a), N(b), None) if sign == '.' && a.value <= 24 && b.value > 12 && b.digits == 2 => return None,
        // "11-4" is from eleven to four.
        (N(a), N(b), None) if sign != '-' && !full(&a) && !full(&b) => {
            let (month, day) = month_day(a, b)?;
            (None, month, day)
        }
        _ => return None,
    })
}

/// "2016 10 16" and "20161016".
fn plain_numbers(c: &mut Cursor) -> Option<Ymd> {
    if let Some(number) = c.number(|n| n.digits == 8) {
        let part = |n: u32| i8::try_from(n).ok();
        let value = number.value;
        return Some((
            i16::try_from(value / 10_000).ok(),
            part(value / 100 % 100).filter(|m| (1..=12).contains(m))?,
            part(value % 100).filter(|d| (1..=31).contains(d))?,
        ));
    }
    let year = c.number(|n| n.digits == 4)?;
    let month = c.number(|n| !n.ordinal && matches!(n.digits, 1 | 2))?;
    let day = c.number(|n| !n.ordinal && matches!(n.digits, 1 | 2))?;
    Some((Some(four(year)?), month_number(month)?, day_number(day)?))
}

/// "the 5th": a day of a month that was not said.
fn day_of_month(c: &mut Cursor) -> Option<Day> {
    let rel = c.word(words::relation);
    let number = c.number(|n| n.ordinal && n.value <= 31)?;
    // "the second week" counts weeks.
    let counts = c.clone().unit().is_some() || c.clone().word(words::weekday).is_some();
    (!counts).then_some(())?;
    Some(Day::Numbered {
        rel,
        weekday: None,
        year: None,
        month: None,
        day: day_number(number)?,
    })
}

/// Month before day, as in the United States, unless only the other order is a date.
fn month_day(a: Number, b: Number) -> Option<(i8, i8)> {
    match (month_number(a), day_number(b)) {
        (Some(month), Some(day)) => Some((month, day)),
        _ => Some((month_number(b)?, day_number(a)?)),
    }
}

fn month_number(number: Number) -> Option<i8> {
    i8::try_from(number.value).ok().filter(|m| (1..=12).contains(m))
}

fn day_number(number: Number) -> Option<i8> {
    i8::try_from(number.value).ok().filter(|d| (1..=31).contains(d))
}

fn four(number: Number) -> Option<i16> {
    i16::try_from(number.value).ok()
}

/// A year of two or four digits.
pub fn any_year(number: Number) -> Option<i16> {
    if number.digits == 4 {
        four(number)
    } else {
        century(number)
    }
}

/// Two digits of a year: up to 39 this century, else the last (the pivot of Recognizers-Text).
fn century(number: Number) -> Option<i16> {
    let year = i16::try_from(number.value).ok()?;
    (number.digits == 2 || number.digits == 0).then_some(if year < 40 { 2000 + year } else { 1900 + year })
}
