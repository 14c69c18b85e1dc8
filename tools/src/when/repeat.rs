//! What comes back: "every monday at nine", "the last friday of every month", "daily until march".

use jiff::civil::Weekday;

use super::{
    Hint, amount, clock,
    cursor::Cursor,
    days,
    expr::{Day, Expr, Repeat},
    grammar,
    holidays::Rule,
    lexer::Token,
    periods, value,
    words::{self, Unit},
};

/// Words that open what a recurrence ends or begins with.
const BOUNDS: &[&str] = &[
    "until",
    "till",
    "from",
    "between",
    "starting",
    "beginning",
    "commencing",
    "since",
    "for",
    "except",
    "but",
    "excluding",
];

/// As many tokens as hours are said with: "from half past nine in the morning to a quarter to eleven".
const LONGEST_HOURS: usize = 14;

/// Parses all tokens as a recurrence. `None` when no word says that something comes back.
pub fn repeat(tokens: &[Token]) -> Option<Expr> {
    let recurs = |t: &Token| matches!(t, Token::Word(word) if words::recurs(word));
    if !tokens.iter().any(recurs) {
        return None;
    }
    let mut c = Cursor::new(tokens);
    let mut repeat = Repeat::default();
    while !c.done() {
        piece(&mut c, &mut repeat)?;
    }
    settle(&mut repeat)?;
    Some(Expr::Again(Box::new(repeat)))
}

/// Takes one piece into its slot.
fn piece(c: &mut Cursor, repeat: &mut Repeat) -> Option<()> {
    c.attempt(|c| every(c, repeat))
        .or_else(|| c.attempt(|c| adverb(c, repeat)))
        .or_else(|| c.attempt(|c| hours(c, repeat)))
        .or_else(|| c.attempt(|c| bounded(c, repeat)))
        .or_else(|| c.attempt(|c| times(c, repeat)))
        .or_else(|| c.attempt(|c| weekdays(c, repeat)))
        .or_else(|| c.attempt(|c| place(c, repeat)))
        .or_else(|| c.attempt(|c| dated(c, repeat)))
        .or_else(|| c.attempt(|c| time(c, repeat)))
        .or_else(|| c.attempt(|c| window(c, repeat)))
        .or_else(|| {
            let skipped = c
                .word(|w| (words::filler(w) || w == "and").then_some(()))
                .is_some();
            (skipped || c.sign(&[',', '-']).is_some()).then_some(())
        })
}

/// How often: "every other week", "each monday", "every 20 minutes", "once a month", "every third of may".
fn every(c: &mut Cursor, repeat: &mut Repeat) -> Option<()> {
    let once = c.eat(&["once"]);
    if once {
        c.eat(&["every", "each", "a", "an", "per", "in"]).then_some(())?;
    } else if c.eat(&["alternate"]) {
        repeat.interval = 2;
    } else {
        // "two times a week" names no days, so no rule says it.
        (c.eat(&["every", "each"]) || c.eat_all(&["all", "the"])).then_some(())?;
    }
    c.eat(&["single"]);
    if c.eat(&["other", "alternate"]) {
        repeat.interval = 2;
    }
    if let Some(count) = c.attempt(|c| {
        let count = c.number(|n| !n.ordinal && (1..1000).contains(&n.value))?;
        c.clone().unit().map(|_| count)
    }) {
        repeat.interval = count.value;
    }
    let before = *c;
    // "every second" counts seconds.
    let a_unit = c.clone().number(|n| n.second && n.digits == 0).is_some();
    if let Some(nth) = days::place(c) {
        c.eat(&["day"]);
        if c.eat(&["of", "in"]) || (c.done() && !a_unit) || c.clone().eat(BOUNDS) || c.clone().eat(&["at"]) {
            // "every 15th (of the month)", "every last day of the month", "every third of may".
            *c = before;
            return c
                .attempt(|c| dated(c, repeat))
                .or_else(|| c.attempt(|c| place(c, repeat)))
                .and_then(|()| {
                    let unit = if repeat.month.is_some() {
                        Unit::Year
                    } else {
                        Unit::Month
                    };
                    set_unit(repeat, unit)
                });
        }
        *c = before;
        let _ = days::place(c);
        // "every second week" counts weeks; "every first monday" is that of the month.
        if let Some(weekday) = c.word(words::weekday) {
            repeat.weekdays.push(weekday);
            repeat.nth = Some(nth);
            // The second tuesday of the month, or each tuesday but one.
            let of_month = c.attempt(|c| of_month(c, repeat)).is_some();
            repeat.counted = nth == 2 && !of_month;
            if repeat.month.is_some() {
                return set_unit(repeat, Unit::Year);
            }
            return set_unit(repeat, Unit::Month);
        }
        repeat.interval = u32::try_from(nth).ok()?;
    }
    if let Some(()) = c.attempt(|c| dated(c, repeat)) {
        return set_unit(repeat, Unit::Year);
    }
    if let Some(()) = c.attempt(|c| weekdays(c, repeat)) {
        return Some(());
    }
    if let Some(part) = c.word(words::part) {
        repeat.part = Some(part);
        return set_unit(repeat, Unit::Day);
    }
    let unit = c.unit()?;
    set_unit(repeat, unit)
}

fn adverb(c: &mut Cursor, repeat: &mut Repeat) -> Option<()> {
    let (unit, interval) = c.word(words::adverb)?;
    if interval > 1 {
        repeat.interval = interval;
    }
    set_unit(repeat, unit)
}

/// Where it ends or begins, and on which days it does not happen.
fn bounded(c: &mut Cursor, repeat: &mut Repeat) -> Option<()> {
    if c.eat(&["except", "but", "excluding"]) {
        c.eat(&["for"]);
        c.eat(&["on"]);
        let mut others = Repeat::default();
        weekdays(c, &mut others)?;
        repeat.without = others.weekdays;
        return Some(());
    }
    if let Some(()) = c.attempt(|c| {
        // "every day from monday to friday".
        c.eat(&["from"]).then_some(())?;
        weekdays(c, repeat)
    }) {
        return Some(());
    }
    let until = c.eat(&["until"]) || c.eat_all(&["through", "to"]) || c.eat(&["through", "ending"]);
    if !until {
        c.eat(&["starting", "beginning", "commencing", "since", "from"])
            .then_some(())?;
        c.eat(&["from"]);
    }
    c.eat(&["on", "in"]);
    let said = c.take_until(BOUNDS);
    let end = Some(grammar::plain(said, Hint::Schedule)?);
    let slot = if until {
        &mut repeat.until
    } else {
        &mut repeat.since
    };
    if slot.is_some() {
        return None;
    }
    *slot = end;
    // "from march 3 on".
    c.eat(&["on", "onwards"]);
    Some(())
}

/// "from nine to five", "between 9 and 10:30", "9-10": the hours of each day.
fn hours(c: &mut Cursor, repeat: &mut Repeat) -> Option<()> {
    let whole = *c;
    let rest = c.take_until(&[]);
    for length in (3..=rest.len().min(LONGEST_HOURS)).rev() {
        let said = &rest[..length];
        if let Some(Expr::Between(mut from, mut to)) = grammar::plain(said, Hint::Schedule)
            && from.only_hours()
            && to.only_hours()
        {
            (repeat.clock.is_none() && repeat.end.is_none()).then_some(())?;
            value::settle_bare(&mut from)?;
            value::settle_bare(&mut to)?;
            repeat.part = from.part.or(to.part);
            (repeat.clock, repeat.end) = (from.clock, to.clock);
            *c = whole;
            return c.skip(length);
        }
    }
    None
}

/// "ten times", "for three weeks", "for half an hour".
fn times(c: &mut Cursor, repeat: &mut Repeat) -> Option<()> {
    c.eat(&["for"]);
    c.eat(&["the", "next"]);
    c.eat(&["next"]);
    if let Some(count) = c.attempt(|c| {
        let count = c.number(|n| !n.ordinal && (1..10_000).contains(&n.value))?;
        c.eat(&["times", "occurrences"]).then_some(count.value)
    }) {
        // "three times a week" is no rule.
        if c.clone().eat(&["a", "an", "per", "each", "every"]) || repeat.count.is_some() {
            return None;
        }
        repeat.count = Some(count);
        return Some(());
    }
    let length = amount::amount(c)?;
    if repeat.length.is_some() {
        return None;
    }
    repeat.length = Some(length);
    Some(())
}

/// "monday", "tuesdays and thursdays", "monday to friday", "weekdays", "weekends".
fn weekdays(c: &mut Cursor, repeat: &mut Repeat) -> Option<()> {
    c.eat(&["on"]);
    c.eat(&["every", "each"]);
    if let Some(days) = c.word(words::weekday_set) {
        repeat.weekdays.extend(days);
        return set_unit(repeat, Unit::Week);
    }
    let first = c.word(words::weekday)?;
    repeat.weekdays.push(first);
    let through = c.attempt(|c| {
        (c.eat(&["to", "through", "thru", "until"]) || c.sign(&['-']).is_some()).then_some(())?;
        c.word(words::weekday)
    });
    if let Some(last) = through {
        let mut day = first;
        while day != last {
            day = day.next();
            repeat.weekdays.push(day);
        }
    }
    while let Some(day) = c.attempt(|c| {
        c.sign(&[',']);
        c.eat(&["and", "or"]);
        c.eat(&["on", "every"]);
        c.word(words::weekday)
    }) {
        repeat.weekdays.push(day);
    }
    if repeat.nth.is_some() {
        return Some(());
    }
    set_unit(repeat, Unit::Week)
}

/// "the first monday", "the last day", "the 15th", with "of the month" or of a named one.
fn place(c: &mut Cursor, repeat: &mut Repeat) -> Option<()> {
    c.eat(&["on"]);
    c.eat(&["the"]);
    if repeat.nth.is_some() || repeat.day.is_some() {
        return None;
    }
    let number = c.clone().number(|n| n.ordinal && n.value <= 31);
    let nth = days::place(c)?;
    if let Some(weekday) = c.word(words::weekday) {
        repeat.weekdays.push(weekday);
        repeat.nth = Some(nth);
    } else if c.eat(&["weekday", "workday"])
        || c.eat_all(&["business", "day"])
        || c.eat_all(&["working", "day"])
    {
        repeat.weekdays.extend(words::weekday_set("weekdays")?);
        repeat.nth = Some(nth);
        repeat.one_of = true;
    } else {
        let said = c.eat(&["day"]);
        (said || number.is_some()).then_some(())?;
        repeat.day = i8::try_from(nth).ok();
    }
    c.attempt(|c| of_month(c, repeat));
    Some(())
}

/// "of the month", "of every month" (whose "every" is left to itself), "of march".
fn of_month(c: &mut Cursor, repeat: &mut Repeat) -> Option<()> {
    c.eat(&["of", "in"]).then_some(())?;
    if c.eat_all(&["the", "month"]) || c.clone().eat(&["every", "each"]) {
        return Some(());
    }
    c.eat(&["the"]);
    repeat.month = Some(c.word(words::month)?);
    Some(())
}

/// "may 5", "the fifth of may"; a year makes it a day that comes once.
fn dated(c: &mut Cursor, repeat: &mut Repeat) -> Option<()> {
    c.eat(&["on"]);
    match days::day(c)? {
        Day::Numbered {
            rel: None,
            weekday: None,
            year: None,
            month: Some(month),
            day,
        } if repeat.day.is_none() => {
            (repeat.month, repeat.day) = (Some(month), Some(day));
            Some(())
        }
        Day::Holiday {
            holiday,
            rel: None,
            year: None,
            shift,
        } if repeat.day.is_none() && repeat.nth.is_none() => by_rule(*holiday.rules.first()?, shift, repeat),
        _ => None,
    }
}

/// A holiday that a rule can name; Easter's days cannot be.
fn by_rule(rule: Rule, shift: i32, repeat: &mut Repeat) -> Option<()> {
    match rule {
        Rule::Fixed(month, day) => {
            let day = i8::try_from(i32::from(day) + shift).ok().filter(|d| *d > 0)?;
            (repeat.month, repeat.day) = (Some(month), Some(day));
        }
        Rule::Nth(month, nth, weekday, 0) if shift == 0 => {
            (repeat.month, repeat.nth) = (Some(month), Some(i32::from(nth)));
            repeat.weekdays.push(weekday);
        }
        _ => return None,
    }
    Some(())
}

/// The time of day.
fn time(c: &mut Cursor, repeat: &mut Repeat) -> Option<()> {
    let clock = c
        .attempt(|c| {
            c.eat(&["at", "around", "about", "by"]).then_some(())?;
            c.eat(&["about", "around"]);
            clock::expected(c)
        })
        .or_else(|| clock::clear(c))
        .or_else(|| clock::spaced(c));
    if let Some(clock) = clock {
        if repeat.clock.is_some() {
            return None;
        }
        repeat.clock = Some(clock);
        return Some(());
    }
    c.eat(&["in", "at", "on"]);
    c.eat(&["the"]);
    let part = c.word(words::part)?;
    if repeat.part.is_some_and(|said| said != part) {
        return None;
    }
    repeat.part = Some(part);
    Some(())
}

/// "every day this week", "every monday in march": it happens within that.
fn window(c: &mut Cursor, repeat: &mut Repeat) -> Option<()> {
    c.eat(&["in", "of", "during", "for", "over"]);
    let period = periods::edgeless(c)?;
    if repeat.window.is_some() {
        return None;
    }
    repeat.window = Some(period);
    Some(())
}

fn set_unit(repeat: &mut Repeat, unit: Unit) -> Option<()> {
    let (unit, factor) = match unit {
        Unit::Fortnight => (Unit::Week, 2),
        Unit::Quarter => (Unit::Month, 3),
        Unit::Decade => (Unit::Year, 10),
        Unit::Century => (Unit::Year, 100),
        Unit::Weekend => {
            repeat.weekdays.extend([Weekday::Saturday, Weekday::Sunday]);
            (Unit::Week, 1)
        }
        Unit::WorkWeek => return None,
        other => (other, 1),
    };
    repeat.interval *= factor;
    match repeat.unit {
        None => repeat.unit = Some(unit),
        Some(same) if same == unit => {}
        // "daily on weekdays", "every day from monday to friday".
        Some(Unit::Day) if unit == Unit::Week => repeat.unit = Some(unit),
        Some(Unit::Week) if unit == Unit::Day && !repeat.weekdays.is_empty() => {}
        // "the first monday of every month".
        Some(Unit::Week) if repeat.nth.is_some() => repeat.unit = Some(unit),
        Some(_) => return None,
    }
    Some(())
}

/// Whether the pieces make a rule, and what they leave unsaid.
fn settle(repeat: &mut Repeat) -> Option<()> {
    let unit = repeat.unit?;
    if !repeat.without.is_empty() {
        matches!(unit, Unit::Day | Unit::Week).then_some(())?;
        if repeat.weekdays.is_empty() {
            (unit == Unit::Day && repeat.interval == 1).then_some(())?;
            repeat.weekdays = Weekday::Monday.cycle_forward().take(7).collect();
            repeat.unit = Some(Unit::Week);
        }
        let without = std::mem::take(&mut repeat.without);
        repeat.weekdays.retain(|day| !without.contains(day));
        (!repeat.weekdays.is_empty()).then_some(())?;
    }
    repeat.weekdays.sort_by_key(|day| day.to_monday_zero_offset());
    repeat.weekdays.dedup();
    let dated = repeat.day.is_some() || repeat.nth.is_some();
    let fits = match repeat.unit? {
        Unit::Second | Unit::Decade | Unit::Century => false,
        Unit::Minute | Unit::Hour => {
            let timed = repeat.clock.is_some() || repeat.part.is_some() || repeat.length.is_some();
            !dated && repeat.weekdays.is_empty() && !timed
        }
        Unit::Day => !dated && repeat.weekdays.is_empty(),
        Unit::Week => !dated,
        Unit::Month => repeat.month.is_none() && (repeat.weekdays.is_empty() || repeat.nth.is_some()),
        _ => {
            let placed = repeat.weekdays.is_empty() || repeat.nth.is_some();
            placed && (repeat.month.is_some() || repeat.day.is_none())
        }
    };
    fits.then_some(())
}
