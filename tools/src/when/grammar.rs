//! Tokens to an expression. The pieces of a time come in any order, so each is looked for at each place, the most
//! telling first; a piece that contradicts one before it makes the whole fail, and then it may be a range.

use super::{
    Hint,
    amount::{self, Amount},
    clock,
    cursor::Cursor,
    days,
    expr::{Bound, Day, Direction, Edge, Expr, Parts, Period},
    lexer::Token,
    periods, repeat,
    words::{self, Part, Rel},
};

/// Parses all tokens.
pub fn parse(tokens: &[Token], hint: Hint) -> Option<Expr> {
    repeat::repeat(tokens).or_else(|| plain(tokens, hint))
}

/// Parses all tokens as something that happens once.
pub fn plain(tokens: &[Token], hint: Hint) -> Option<Expr> {
    if hint == Hint::Length
        && let Some(amount) = length(tokens)
    {
        return Some(Expr::One(Parts {
            length: Some(amount),
            ..Parts::default()
        }));
    }
    let opener = tokens.iter().position(|t| is_word(t, &["from", "between"]));
    if let Some(at) = opener
        && let Some(range) = range(
            &tokens[..at],
            &tokens[at + 1..],
            is_word(&tokens[at], &["between"]),
        )
    {
        return Some(range);
    }
    if let Some(parts) = parts(tokens).filter(|p| agree(p, false)) {
        return Some(Expr::One(parts));
    }
    range(&[], tokens, false)
}

/// A length on its own; where only a length is expected, "thirty second" is one and a bare number is minutes.
fn length(tokens: &[Token]) -> Option<Amount> {
    let mut c = Cursor::new(tokens);
    c.eat(&["for", "in"]);
    let seconds = c.attempt(|c| {
        let number = c.number(|n| n.second && n.value % 10 == 2 && n.value > 2)?;
        c.done()
            .then(|| Amount::of(f64::from(number.value - 2), words::Unit::Second))
    });
    if seconds.is_some() {
        return seconds;
    }
    if let Some(amount) = c.attempt(amount::amount) {
        if c.done() {
            return Some(amount);
        }
        // "An hour and ten" leaves the minutes unsaid.
        let hours = tokens
            .iter()
            .rev()
            .nth(2)
            .is_some_and(|unit| is_word(unit, &["hour", "hours", "hr", "hrs"]));
        c.eat(&["and"]).then_some(())?;
        let minutes = c.number(|n| hours && !n.ordinal && (1..60).contains(&n.value))?;
        let minutes = Amount::of(f64::from(minutes.value), words::Unit::Minute);
        return c.done().then(|| amount.plus(minutes));
    }
    let count = amount::count(&mut c)?;
    c.done().then(|| Amount::of(count, words::Unit::Minute))
}

/// "A to B", with what was said before: "tomorrow from 3 to 5".
fn range(shared: &[Token], rest: &[Token], between: bool) -> Option<Expr> {
    let only_fillers = shared
        .iter()
        .all(|t| matches!(t, Token::Word(word) if words::filler(word)));
    let shared = if only_fillers {
        Parts::default()
    } else {
        parts(shared)?
    };
    for (at, token) in rest.iter().enumerate() {
        let connects = *token == Token::Sign('-')
            || is_word(token, &["to", "until", "through", "thru"])
            || (between && is_word(token, &["and"]));
        if !connects {
            continue;
        }
        // "and": not the half of "an hour and a half"; "to": not that of "quarter to six". Those do not parse on both sides.
        let (Some(left), Some(right)) = (parts(&rest[..at]), end(&rest[at + 1..])) else {
            continue;
        };
        let (Some(left), Some(right)) = (fill(left, &shared), fill(right, &shared)) else {
            continue;
        };
        if agree(&left, true) && agree(&right, true) {
            return Some(Expr::Between(left, right));
        }
    }
    None
}

/// The later side of a range: "to date" is to now.
fn end(tokens: &[Token]) -> Option<Parts> {
    match tokens {
        [only] if is_word(only, &["date"]) => Some(Parts {
            now: true,
            ..Parts::default()
        }),
        _ => parts(tokens),
    }
}

/// Whether the pieces can be one time; `side` of a range, a bare number may be completed by the other side.
fn agree(parts: &Parts, side: bool) -> bool {
    let weekday = matches!(parts.day, Some(Day::Weekday { .. }));
    if parts.period.is_some()
        && (parts.clock.is_some() || parts.part.is_some() || parts.day.is_some())
        && !weekday
    {
        return false;
    }
    if parts.bare.is_some() && !side {
        let dated = matches!(parts.day, Some(Day::Numbered { .. }));
        return parts.clock.is_none() && parts.period.is_none() && !dated;
    }
    true
}

/// Adds what was said for both sides; contradicting it is no time.
fn fill(mut parts: Parts, shared: &Parts) -> Option<Parts> {
    if shared.clock.is_some() || shared.length.is_some() || shared.away.is_some() || shared.now {
        return None;
    }
    let mut shared = shared.clone();
    if let Some(number) = shared.bare {
        // "the 17 between 2 and 4": nothing but a day of the month is shared by two hours.
        let day = Day::Numbered {
            rel: None,
            weekday: None,
            year: None,
            month: None,
            day: i8::try_from(number).ok().filter(|d| *d > 0)?,
        };
        put(&mut shared.day, day)?;
    }
    if parts.day.is_none() && parts.period.is_none() {
        parts.day = shared.day;
        parts.period = shared.period;
    }
    parts.part = parts.part.or(shared.part);
    Some(parts)
}

/// The pieces of one time. `None` when a token belongs to no piece, or nothing was said.
fn parts(tokens: &[Token]) -> Option<Parts> {
    let mut c = Cursor::new(tokens);
    let mut parts = Parts::default();
    while !c.done() {
        piece(&mut c, &mut parts)?;
    }
    (parts != Parts::default()).then_some(parts)
}

/// Takes one piece into its slot.
fn piece(c: &mut Cursor, parts: &mut Parts) -> Option<()> {
    if let Some(period) = c.attempt(periods::by_holiday) {
        return put(&mut parts.period, period);
    }
    if let Some((far, amount, direction, from)) = c.attempt(compared) {
        if !far {
            return put(&mut parts.period, periods::near(amount, direction, from));
        }
        let bound = match direction {
            Direction::Ahead => Bound::After,
            Direction::Back => Bound::Before,
        };
        put(&mut parts.bound, bound)?;
        return put_away(parts, amount, direction, from);
    }
    if let Some(day) = c.attempt(business) {
        return put_day(parts, day);
    }
    if let Some(period) = c.attempt(periods::edged) {
        return put(&mut parts.period, period);
    }
    if let Some(bound) = bound(c) {
        return put(&mut parts.bound, bound);
    }
    if c.eat_all(&["right", "now"])
        || c.eat(&["now"])
        || c.eat_all(&["at", "present"])
        || c.eat_all(&["at", "this", "time"])
        || c.eat_all(&["at", "the", "moment"])
        || c.eat_all(&["at", "the", "minute"])
        || c.eat_all(&["to", "date"])
        || (parts.bound.is_some() && c.eat(&["date"]))
    {
        parts.now = true;
        return Some(());
    }
    if c.attempt(day_end).is_some() {
        parts.day_end = true;
        return Some(());
    }
    if let Some((amount, direction, from)) = c.attempt(away) {
        return put_away(parts, amount, direction, from);
    }
    if let Some(period) = c.attempt(periods::counted) {
        return put(&mut parts.period, period);
    }
    if let Some((day, part)) = c.attempt(days::nth) {
        if let Some(part) = part {
            put(&mut parts.part, part)?;
        }
        return put(&mut parts.day, day);
    }
    if let Some(period) = c.attempt(periods::nth) {
        return put(&mut parts.period, period);
    }
    if let Some(clock) = c
        .attempt(|c| {
            c.eat(&["at", "around", "about", "circa", "by"]).then_some(())?;
            c.eat(&["about", "around"]);
            let clock = clock::expected(c)?;
            // "around 5 may", "by 5/12", "by 2027-01-01": the number was the beginning of a date.
            let dated = c.clone().sign(&['/']).is_some()
                || c.clone().word(words::month).is_some()
                || c.attempt(|c| {
                    c.sign(&['-'])?;
                    c.number(|n| n.digits == 2)
                })
                .is_some();
            (!dated).then_some(clock)
        })
        .or_else(|| clock::clear(c))
    {
        return put(&mut parts.clock, clock);
    }
    if let Some(day) = c.attempt(days::day) {
        return put_day(parts, day);
    }
    if let Some((rel, part)) = c.attempt(part_of_day) {
        if let Some(shift) = rel
            && parts.day.is_none()
        {
            parts.day = Some(Day::Shift(shift));
        }
        if parts.part == Some(part) {
            return Some(());
        }
        return put(&mut parts.part, part);
    }
    if let Some(period) = c.attempt(periods::period) {
        return put_period(parts, period);
    }
    if let Some(length) = c.attempt(|c| {
        c.eat(&["for"]);
        amount::amount(c)
    }) {
        return put(&mut parts.length, length);
    }
    if let Some(clock) = clock::spaced(c) {
        return put(&mut parts.clock, clock);
    }
    if let Some(clock) = c.attempt(|c| {
        c.clone().number(|n| n.digits == 4 && n.value < 1000)?;
        clock::compact(c)
    }) {
        return put(&mut parts.clock, clock);
    }
    if let Some(clock) = c.attempt(|c| {
        let clock = clock::dotted(c)?;
        // "2.30 weeks" and the number of a version are none.
        let more = c.clone().unit().is_some() || c.clone().sign(&['.']).is_some();
        (!more).then_some(clock)
    }) {
        return put(&mut parts.clock, clock);
    }
    if let Some(number) = c.number(|n| !n.ordinal && n.value <= 31) {
        return put(&mut parts.bare, number.value);
    }
    if c.attempt(|c| {
        c.eat(&["the"]);
        c.eat(&["rest", "remainder"]).then_some(())?;
        c.eat(&["of"]).then_some(())
    })
    .is_some()
    {
        return put(&mut parts.edge, Edge::Later);
    }
    if let Some(edge) = c.word(|w| match w {
        "early" | "earlier" => Some(Edge::Start),
        "late" | "later" => Some(Edge::End),
        _ => None,
    }) {
        // "early in the day on wednesday".
        c.eat_all(&["in", "the", "day"]);
        return put(&mut parts.edge, edge);
    }
    let skipped = c.word(|w| words::filler(w).then_some(())).is_some() || c.sign(&[',', '-']).is_some();
    skipped.then_some(())
}

fn put<T>(slot: &mut Option<T>, value: T) -> Option<()> {
    if slot.is_some() {
        return None;
    }
    *slot = Some(value);
    Some(())
}

fn put_away(parts: &mut Parts, amount: Amount, direction: Direction, from: Option<Day>) -> Option<()> {
    match from {
        Some(from) => put_day(
            parts,
            Day::Away {
                amount,
                direction,
                from: Box::new(from),
            },
        ),
        None => put(&mut parts.away, (amount, direction)),
    }
}

/// "more than two weeks before easter", "less than an hour ago"; the first says whether it is farther off.
fn compared(c: &mut Cursor) -> Option<(bool, Amount, Direction, Option<Day>)> {
    let no = c.eat(&["no"]);
    let far = if c.eat_all(&["at", "least"]) || c.eat(&["over"]) {
        true
    } else if c.eat_all(&["at", "most"]) || c.eat(&["under", "within"]) {
        false
    } else {
        let more = c.word(|w| match w {
            "more" | "longer" => Some(true),
            "less" | "fewer" => Some(false),
            _ => None,
        })?;
        c.eat(&["than"]).then_some(more != no)?
    };
    let (amount, direction, from) = away(c)?;
    Some((far, amount, direction, from))
}

/// "in three business days", "five working days after easter", "two business days ago".
fn business(c: &mut Cursor) -> Option<Day> {
    let announced = c.eat(&["in"]);
    let count = periods::business_days(c)?;
    let today = Box::new(Day::Shift(0));
    if c.eat(&["ago", "back"]) {
        return Some(Day::Business {
            count: -count,
            from: today,
        });
    }
    let sign = c.word(|w| match w {
        "from" | "after" => Some(1),
        "before" => Some(-1),
        _ => None,
    });
    let Some(sign) = sign else {
        let later = c.eat(&["later", "hence"]) || announced;
        return later.then_some(Day::Business { count, from: today });
    };
    let from = if c.eat(&["now"]) {
        today
    } else {
        Box::new(days::day(c)?)
    };
    Some(Day::Business {
        count: sign * count,
        from,
    })
}

/// "tue may 9": the date says more than the weekday beside it.
fn put_day(parts: &mut Parts, day: Day) -> Option<()> {
    match (&parts.day, &day) {
        (Some(Day::Weekday { .. }), Day::Numbered { .. } | Day::Holiday { .. }) => parts.day = Some(day),
        (Some(Day::Holiday { .. }), Day::Weekday { rel: None, .. }) => {}
        // "sunday three weeks after january 15th", "two months from today on a tuesday".
        (Some(Day::Weekday { rel: None, weekday }), Day::Away { .. }) => {
            parts.day = Some(Day::By {
                weekday: *weekday,
                day: Box::new(day),
            });
        }
        (Some(Day::Away { .. }), Day::Weekday { rel: None, weekday }) => {
            let weekday = *weekday;
            let away = parts.day.take()?;
            parts.day = Some(Day::By {
                weekday,
                day: Box::new(away),
            });
        }
        (Some(Day::Numbered { .. } | Day::Shift(_)), Day::Weekday { rel: None, .. }) => {}
        _ => return put(&mut parts.day, day),
    }
    Some(())
}

/// "march ... next year": a year completes the month said before.
fn put_period(parts: &mut Parts, period: Period) -> Option<()> {
    if let Some(before) = &mut parts.period {
        let year = periods::as_year(&period);
        return match before {
            Period::Month {
                year: slot @ None, ..
            }
            | Period::Slice {
                year: slot @ None, ..
            } => {
                *slot = Some(year?);
                Some(())
            }
            _ => None,
        };
    }
    parts.period = Some(period);
    Some(())
}

fn bound(c: &mut Cursor) -> Option<Bound> {
    c.attempt(|c| {
        c.eat(&["and", "or"]).then_some(())?;
        c.word(|w| match w {
            "later" | "after" | "onwards" => Some(Bound::Since),
            "earlier" | "before" => Some(Bound::Until),
            _ => None,
        })
    })
    .or_else(|| {
        c.attempt(|c| {
            let no = c.eat(&["no"]);
            let later = c.word(|w| match w {
                "later" | "greater" | "more" => Some(true),
                "earlier" | "sooner" | "less" => Some(false),
                _ => None,
            })?;
            c.eat(&["than"]).then_some(())?;
            // "more than two hours" is a length.
            c.clone().attempt(amount::amount).is_none().then_some(())?;
            Some(match (no, later) {
                (true, true) => Bound::Until,
                (true, false) => Bound::Since,
                (false, true) => Bound::After,
                (false, false) => Bound::Before,
            })
        })
    })
    .or_else(|| {
        c.attempt(|c| {
            c.eat(&["as"]).then_some(())?;
            let late = c.word(|w| match w {
                "late" => Some(true),
                "early" | "soon" => Some(false),
                _ => None,
            })?;
            c.eat(&["as"]).then_some(())?;
            Some(if late { Bound::Until } else { Bound::Since })
        })
    })
    .or_else(|| {
        c.word(|w| match w {
            "before" => Some(Bound::Before),
            "after" => Some(Bound::After),
            "since" | "from" | "starting" | "beginning" | "commencing" => Some(Bound::Since),
            "until" | "by" => Some(Bound::Until),
            _ => None,
        })
        .inspect(|_| {
            c.eat(&["on"]);
        })
    })
}

/// "in 20 minutes", "3 weeks from tomorrow", "a week on monday", "two days before yesterday", "an hour ago".
fn away(c: &mut Cursor) -> Option<(Amount, Direction, Option<Day>)> {
    let ahead = c.attempt(|c| {
        c.eat(&["in"]).then_some(())?;
        c.eat(&["the", "another"]);
        let amount = amount::amount(c)?;
        // "in two hours", but not "in 3 days from friday".
        (!c.clone().eat(&["from", "after", "before", "since", "of"])).then_some(amount)
    });
    if let Some(amount) = ahead {
        c.eat(&["time"]);
        return Some((amount, Direction::Ahead, None));
    }
    c.eat(&["in"]);
    let amount = amount::amount(c)?;
    if c.eat(&["later", "hence"]) {
        return Some((amount, Direction::Ahead, None));
    }
    if c.eat(&["ago", "earlier", "back"]) {
        return Some((amount, Direction::Back, None));
    }
    if let Some(from) = c.attempt(|c| days::counted_from(c, &amount)) {
        return Some((amount, Direction::Ahead, Some(from)));
    }
    let direction = c.word(|w| match w {
        "from" | "after" | "past" => Some(Direction::Ahead),
        "before" => Some(Direction::Back),
        _ => None,
    })?;
    c.eat(&["the"]);
    if c.eat(&["now"]) {
        return Some((amount, direction, None));
    }
    let from = days::day(c)?;
    amount.whole_days().then_some((amount, direction, Some(from)))
}

fn day_end(c: &mut Cursor) -> Option<()> {
    if c.eat(&["eod"]) {
        return Some(());
    }
    c.eat(&["end"]).then_some(())?;
    c.eat(&["of"]).then_some(())?;
    c.eat(&["the"]);
    if c.eat(&["day"]) {
        return Some(());
    }
    // "end of today", "end of sunday": the day itself is the next piece.
    c.clone().attempt(days::day).map(drop)
}

/// A part of the day, with the day that "this" and "last" before it say.
fn part_of_day(c: &mut Cursor) -> Option<(Option<i32>, Part)> {
    if c.eat(&["tonight", "tonite"]) {
        return Some((Some(0), Part::Night));
    }
    c.eat(&["in", "at", "on"]);
    c.eat(&["the"]);
    let rel = c.word(words::relation);
    let part = c.word(words::part)?;
    let shift = rel.map(|rel| match rel {
        Rel::This | Rel::Open => 0,
        Rel::Next | Rel::Coming => 1,
        Rel::Last | Rel::Past => -1,
    });
    Some((shift, part))
}

fn is_word(token: &Token, any: &[&str]) -> bool {
    matches!(token, Token::Word(word) if any.contains(&word.as_str()))
}
