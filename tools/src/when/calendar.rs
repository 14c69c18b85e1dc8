//! Days and periods to dates: the calendar arithmetic. Periods are first day and first day after.

use jiff::{
    ToSpan,
    civil::{Date, ISOWeekDate, Weekday},
};

use super::{
    Hint,
    expr::{Day, Direction, Edge, Period, Year},
    holidays::{Holiday, Rule},
    value::Env,
    words::{Rel, Unit},
};

/// First day and first day after.
pub type Stretch = (Date, Date);

/// A day's candidates, the best first. `None` or empty when there is no such day.
pub fn days(day: &Day, env: &Env) -> Option<Vec<Date>> {
    let today = env.today();
    Some(match day {
        Day::Shift(by) => vec![plus_days(today, i64::from(*by))?],
        Day::Weekday { rel, weekday } => weekdays(*rel, *weekday, env)?,
        Day::Numbered {
            rel,
            weekday,
            year: Some(year),
            month: Some(month),
            day,
        } => {
            let _ = (rel, weekday);
            vec![Date::new(*year, *month, *day).ok()?]
        }
        Day::Numbered {
            rel,
            weekday,
            year,
            month,
            day,
        } => numbered(*rel, *weekday, *year, *month, *day, env),
        Day::NthWeekday { nth, weekday, within } => {
            let pick = |stretch| nth_from(stretch, *nth, |d| d.weekday() == *weekday);
            pieces(within, env, pick, |date| *date < today)?
        }
        Day::NthOf { nth, within } => {
            let pick = |stretch| nth_from(stretch, *nth, |_| true);
            pieces(within, env, pick, |date| *date < today)?
        }
        Day::Holiday {
            holiday,
            rel,
            year,
            shift,
        } => holidays(holiday, *rel, *year, *shift, env),
        Day::By { weekday, day } => {
            let unit = by_unit(day);
            days(day, env)?
                .into_iter()
                .filter_map(|date| weekday_by(date, *weekday, unit))
                .collect()
        }
        Day::Business { count, from } => days(from, env)?
            .into_iter()
            .filter_map(|date| business_day(date, *count))
            .collect(),
        Day::Away {
            amount,
            direction,
            from,
        } => {
            let span = amount.span()?;
            days(from, env)?
                .into_iter()
                .filter_map(|date| match direction {
                    Direction::Ahead => date.checked_add(span).ok(),
                    Direction::Back => date.checked_sub(span).ok(),
                })
                .collect()
        }
    })
}

/// A period's candidates, the best first.
pub fn periods(period: &Period, env: &Env) -> Option<Vec<Stretch>> {
    let today = env.today();
    Some(match period {
        Period::Unit { rel, unit } => vec![unit_of(*rel, *unit, today)?],
        Period::Span { amount, direction } => {
            let span = amount.span()?;
            vec![match direction {
                // The next days begin tomorrow, but who asks what is on means today's rest, too.
                Direction::Ahead => {
                    let start = if env.generous() {
                        today
                    } else {
                        today.tomorrow().ok()?
                    };
                    (start, today.tomorrow().ok()?.checked_add(span).ok()?)
                }
                Direction::Back => (today.checked_sub(span).ok()?, today),
            }]
        }
        Period::Whole {
            count,
            unit,
            direction,
        } => {
            let (start, end) = unit_of(Rel::This, *unit, today)?;
            let months = i64::from(*count) * months_in(*unit);
            vec![match direction {
                Direction::Ahead => (end, plus_months(end, months)?),
                Direction::Back => (plus_months(start, -months)?, start),
            }]
        }
        Period::Month { rel, month, year } => months(*rel, *month, *year, env)?,
        Period::Unsettled => return None,
        Period::Year(year) => vec![years(*year, 1)?],
        Period::Slice { nth, of, year } => {
            let months = 12 / i64::from(*of);
            let first = Date::new(year_of(year.unwrap_or(Year::Rel(Rel::This)), today), 1, 1).ok()?;
            let start = plus_months(first, months * i64::from(*nth - 1))?;
            vec![(start, plus_months(start, months)?)]
        }
        Period::Years { first, count } => vec![years(*first, *count)?],
        Period::WeekNumber { week, year } => {
            let year = year_of(year.unwrap_or(Year::Rel(Rel::This)), today);
            let start = ISOWeekDate::new(year, *week, Weekday::Monday).ok()?.date();
            vec![(start, plus_days(start, 7)?)]
        }
        Period::WeekOf(day) => days(day, env)?.into_iter().filter_map(week_of).collect(),
        Period::WeekendOf(day) => days(day, env)?.into_iter().filter_map(weekend_of).collect(),
        Period::Business { count, direction } => {
            let end = match direction {
                Direction::Ahead => business_day(today, *count)?,
                Direction::Back => business_day(today, -*count)?,
            };
            vec![match direction {
                Direction::Ahead if env.generous() => (today, end.tomorrow().ok()?),
                Direction::Ahead => (today.tomorrow().ok()?, end.tomorrow().ok()?),
                Direction::Back => (end, today),
            }]
        }
        Period::Near {
            amount,
            direction,
            from,
        } => {
            let span = amount.span()?;
            let from = match from {
                Some(day) => days(day, env)?,
                None => vec![today],
            };
            from.into_iter()
                .filter_map(|date| match direction {
                    Direction::Ahead => Some((date, date.checked_add(span).ok()?)),
                    Direction::Back => Some((date.checked_sub(span).ok()?, date)),
                })
                .collect()
        }
        Period::Nth {
            nth,
            unit,
            count,
            within,
        } => {
            let pick = |stretch| nth_units(stretch, *nth, *unit, *count);
            pieces(within, env, pick, |stretch| stretch.1 <= today)?
        }
        Period::Edge { edge, of } => {
            // "earlier in the week" is over by its nature.
            let over = |stretch: &Stretch| !matches!(edge, Edge::Earlier | Edge::Later) && stretch.1 <= today;
            pieces(of, env, |stretch| piece(*edge, stretch, today), over)?
        }
    })
}

/// Pieces of a period. Where all are over, those of the next one come before them if it was not said which is meant: the
/// beginning of the month, on its last day, is that of the next.
fn pieces<T>(
    within: &Period,
    env: &Env,
    pick: impl Fn(Stretch) -> Option<T>,
    over: impl Fn(&T) -> bool,
) -> Option<Vec<T>> {
    let mut found: Vec<T> = periods(within, env)?.into_iter().filter_map(&pick).collect();
    if let Period::Unit { rel: Rel::Open, unit } = within
        // Who looks something up may as well look back.
        && !matches!(env.hint, Hint::Past | Hint::Search)
        && found.iter().all(over)
        && let Some(next) = unit_of(Rel::Next, *unit, env.today()).and_then(pick)
    {
        found.insert(0, next);
    }
    Some(found)
}

/// The day on which a period begins or ends, for who puts something down then: "the end of the month" is its last day, of
/// the week the last one that people work on, while that is to come. Nothing for other periods.
pub fn edge_days(period: &Period, env: &Env) -> Option<Vec<Date>> {
    let Period::Edge { edge, of } = period else {
        return None;
    };
    let today = env.today();
    let pick = |(start, end): Stretch| match edge {
        Edge::Start => Some(start),
        Edge::End => {
            let friday = plus_days(start, 4).filter(|d| plus_days(start, 7) == Some(end) && *d >= today);
            friday.or(end.yesterday().ok())
        }
        Edge::Middle | Edge::Earlier | Edge::Later => None,
    };
    let days = pieces(of, env, pick, |date| *date < today)?;
    (!days.is_empty()).then_some(days)
}

/// A holiday's days: by each rule the nearest ahead and behind.
fn holidays(holiday: &Holiday, rel: Option<Rel>, year: Option<Year>, shift: i32, env: &Env) -> Vec<Date> {
    let today = env.today();
    let in_year = |rule: &Rule, year: i16| plus_days(rule.in_year(year)?, i64::from(shift));
    let of_rule = |rule: &Rule| -> Vec<Date> {
        if let Some(year) = year.or((rel == Some(Rel::This)).then_some(Year::Rel(Rel::This))) {
            return in_year(rule, year_of(year, today)).into_iter().collect();
        }
        let near = |by: i16| in_year(rule, today.year().checked_add(by)?);
        let ahead = (-1..=2).filter_map(near).filter(|d| *d > today);
        let ahead: Vec<Date> = ahead.take(2).collect();
        let on = (0..=1).filter_map(near).find(|d| *d == today);
        let behind = (-2..=1).filter_map(near).rfind(|d| *d < today);
        match rel {
            // "next christmas", said in summer: some mean the one after the coming one.
            Some(Rel::Next) => ahead,
            Some(Rel::Coming) => ahead.into_iter().take(1).collect(),
            Some(Rel::Last | Rel::Past) => behind.into_iter().collect(),
            _ if env.hint == Hint::Past => behind.into_iter().chain(on).chain(ahead).take(2).collect(),
            _ => on.into_iter().chain(ahead).take(1).chain(behind).collect(),
        }
    };
    let readings: Vec<Vec<Date>> = holiday.rules.iter().map(of_rule).collect();
    let longest = readings.iter().map(Vec::len).max().unwrap_or(0);
    // What another country means by the name comes before what this one means in another year.
    (0..longest)
        .flat_map(|at| readings.iter().filter_map(move |dates| dates.get(at).copied()))
        .collect()
}

/// What an amount away was counted in.
fn by_unit(day: &Day) -> Unit {
    match day {
        Day::Away { amount, .. } if amount.years != 0.0 || amount.months != 0.0 => Unit::Month,
        Day::Away { amount, .. } if amount.days % 7.0 == 0.0 => Unit::Week,
        _ => Unit::Day,
    }
}

/// The weekday of the same week, the first after months, and the nearest to days.
fn weekday_by(date: Date, weekday: Weekday, unit: Unit) -> Option<Date> {
    let ahead = i64::from(date.weekday().until(weekday));
    match unit {
        Unit::Week => plus_days(week_of(date)?.0, i64::from(weekday.to_monday_zero_offset())),
        Unit::Month => plus_days(date, ahead),
        _ => plus_days(date, if ahead > 3 { ahead - 7 } else { ahead }),
    }
}

/// So many business days after a day, before it when negative. Holidays differ by country and are not left out.
fn business_day(date: Date, count: i32) -> Option<Date> {
    let step = i64::from(count.signum());
    let mut left = count.unsigned_abs();
    let mut date = date;
    while left > 0 {
        date = plus_days(date, step)?;
        if !matches!(date.weekday(), Weekday::Saturday | Weekday::Sunday) {
            left -= 1;
        }
    }
    Some(date)
}

/// The weekend by a day: with it where it lies beside one, or with one day between them.
fn weekend_of(date: Date) -> Option<Stretch> {
    let (first, length) = match date.weekday() {
        Weekday::Thursday => (0, 4),
        Weekday::Friday => (0, 3),
        Weekday::Saturday => (0, 2),
        Weekday::Sunday => (-1, 2),
        Weekday::Monday => (-2, 3),
        Weekday::Tuesday => (-3, 4),
        Weekday::Wednesday => (3, 2),
    };
    let start = plus_days(date, first)?;
    Some((start, plus_days(start, length)?))
}

fn weekdays(rel: Option<Rel>, weekday: Weekday, env: &Env) -> Option<Vec<Date>> {
    let today = env.today();
    let coming = plus_days(today, i64::from(today.weekday().until(weekday)))?;
    let later = if coming == today {
        plus_days(today, 7)?
    } else {
        coming
    };
    let past = plus_days(later, -7)
        .filter(|d| *d < today)
        .or(plus_days(today, -7))?;
    let monday = week_of(today)?.0;
    let in_week = |weeks: i64| plus_days(monday, weeks * 7 + i64::from(weekday.to_monday_zero_offset()));
    Some(match rel {
        None if env.hint == Hint::Past => vec![past, coming],
        None => vec![coming, past],
        Some(Rel::This | Rel::Open) => vec![in_week(0)?],
        // "next friday" is heard both ways; the one of next week is the reading of Recognizers-Text.
        Some(Rel::Next) => vec![in_week(1)?, later],
        Some(Rel::Last) => vec![in_week(-1)?, past],
        Some(Rel::Coming) => vec![later],
        Some(Rel::Past) => vec![past],
    })
}

/// Days by numbers where the year or the month is open: the nearest ahead and the nearest behind.
fn numbered(
    rel: Option<Rel>,
    weekday: Option<Weekday>,
    year: Option<i16>,
    month: Option<i8>,
    day: i8,
    env: &Env,
) -> Vec<Date> {
    let today = env.today();
    let fits = |date: &Date| weekday.is_none_or(|w| date.weekday() == w);
    // Eight years hold every 29 February, and every weekday on every day of a month.
    let step = |by: i16| -> Option<Date> {
        match month {
            Some(month) => Date::new(year.unwrap_or(today.year().checked_add(by)?), month, day).ok(),
            None => {
                let first = plus_months(today.first_of_month(), i64::from(by))?;
                Date::new(first.year(), first.month(), day).ok()
            }
        }
    };
    let reach = if month.is_some() { 8 } else { 96 };
    let ahead = (0..=reach).filter_map(step).find(|d| fits(d) && *d >= today);
    let behind = (0..=reach)
        .filter_map(|by| step(-by))
        .find(|d| fits(d) && *d < today);
    let order = match rel {
        Some(Rel::This | Rel::Open) => return step(0).into_iter().filter(fits).collect(),
        Some(Rel::Next | Rel::Coming) => [ahead.filter(|d| *d > today), None],
        Some(Rel::Last | Rel::Past) => [behind, None],
        None if env.hint == Hint::Past => [behind, ahead],
        None => [ahead, behind],
    };
    order.into_iter().flatten().collect()
}

fn months(rel: Option<Rel>, month: i8, year: Option<Year>, env: &Env) -> Option<Vec<Stretch>> {
    let today = env.today();
    let this = today.year();
    let of = |year: i16| {
        let start = Date::new(year, month, 1).ok()?;
        Some((start, plus_months(start, 1)?))
    };
    if let Some(year) = year {
        return Some(vec![of(year_of(year, today))?]);
    }
    let ahead = if month >= today.month() { this } else { this + 1 };
    let behind = if month < today.month() { this } else { this - 1 };
    Some(match rel {
        Some(Rel::This | Rel::Open) => vec![of(this)?],
        Some(Rel::Next | Rel::Coming) if month == today.month() => vec![of(this + 1)?],
        Some(Rel::Next | Rel::Coming) => vec![of(ahead)?],
        Some(Rel::Last | Rel::Past) => vec![of(behind)?],
        None if env.hint == Hint::Past => vec![of(behind)?, of(ahead)?],
        None => vec![of(ahead)?, of(behind)?],
    })
}

/// "this week", "next quarter": weeks begin on Monday (ISO 8601), a fortnight with this week.
fn unit_of(rel: Rel, unit: Unit, today: Date) -> Option<Stretch> {
    let by: i64 = match rel {
        Rel::This | Rel::Open => 0,
        Rel::Next | Rel::Coming => 1,
        Rel::Last | Rel::Past => -1,
    };
    let monday = plus_days(week_of(today)?.0, by * 7);
    let of_months = |start: Date, months: i64| {
        let start = plus_months(start, by * months)?;
        Some((start, plus_months(start, months)?))
    };
    let new_year = |year: i16| Date::new(year, 1, 1).ok();
    match unit {
        Unit::Week => Some((monday?, plus_days(monday?, 7)?)),
        Unit::WorkWeek => Some((monday?, plus_days(monday?, 5)?)),
        Unit::Weekend => Some((plus_days(monday?, 5)?, plus_days(monday?, 7)?)),
        Unit::Fortnight => {
            let start = plus_days(week_of(today)?.0, by * 14)?;
            Some((start, plus_days(start, 14)?))
        }
        Unit::Month => of_months(today.first_of_month(), 1),
        Unit::Quarter => {
            let first = today.month() - (today.month() - 1) % 3;
            of_months(Date::new(today.year(), first, 1).ok()?, 3)
        }
        Unit::Year => of_months(new_year(today.year())?, 12),
        Unit::Decade => of_months(new_year(today.year() - today.year().rem_euclid(10))?, 120),
        Unit::Century => of_months(new_year(today.year() - today.year().rem_euclid(100))?, 1200),
        Unit::Second | Unit::Minute | Unit::Hour | Unit::Day => None,
    }
}

/// Units counted within a stretch, from its end when `nth` is negative. A week belongs to the month and year that its
/// Thursday is in (ISO 8601).
fn nth_units((start, end): Stretch, nth: i32, unit: Unit, count: i32) -> Option<Stretch> {
    let days = match unit {
        Unit::Week => {
            let thursday = |nth| nth_from((start, end), nth, |d| d.weekday() == Weekday::Thursday);
            let first = if nth > 0 { nth } else { nth - (count - 1) };
            let monday = plus_days(thursday(first)?, -3)?;
            return Some((monday, plus_days(monday, 7 * i64::from(count))?));
        }
        Unit::Weekend => {
            let saturday = nth_from((start, end), nth, |d| d.weekday() == Weekday::Saturday)?;
            return Some((saturday, plus_days(saturday, 2)?));
        }
        Unit::Day => 1,
        Unit::Fortnight => 14,
        Unit::WorkWeek => 7,
        Unit::Month | Unit::Quarter | Unit::Year | Unit::Decade | Unit::Century => 0,
        Unit::Second | Unit::Minute | Unit::Hour => return None,
    };
    let months = months_in(unit);
    let shift = |date: Date, units: i64| plus_months(plus_days(date, units * days)?, units * months);
    let (nth, count) = (i64::from(nth), i64::from(count));
    let stretch = if nth > 0 {
        let first = shift(start, (nth - 1) * count)?;
        (first, shift(first, count)?)
    } else {
        let last = shift(end, (nth + 1) * count)?;
        (shift(last, -count)?, last)
    };
    (stretch.0 >= start && stretch.1 <= end).then_some(stretch)
}

fn months_in(unit: Unit) -> i64 {
    match unit {
        Unit::Month => 1,
        Unit::Quarter => 3,
        Unit::Year => 12,
        Unit::Decade => 120,
        Unit::Century => 1200,
        _ => 0,
    }
}

/// The nth day of a stretch that fits, from its end when negative.
fn nth_from((start, end): Stretch, nth: i32, fits: impl Fn(Date) -> bool) -> Option<Date> {
    let skip = usize::try_from(nth.unsigned_abs()).ok()?.checked_sub(1)?;
    // A stretch is at most a century, which bounds the walk.
    if nth > 0 {
        start
            .series(1.day())
            .take_while(|d| *d < end)
            .filter(|d| fits(*d))
            .nth(skip)
    } else {
        end.yesterday()
            .ok()?
            .series(-1.day())
            .take_while(|d| *d >= start)
            .filter(|d| fits(*d))
            .nth(skip)
    }
}

/// Halves, the middle third, or the side of today.
fn piece(edge: Edge, (start, end): Stretch, today: Date) -> Option<Stretch> {
    let days = i64::from(start.until(end).ok()?.get_days());
    let halfway = match days {
        // Years are halved in months, not in days.
        360.. => {
            let months = i64::from(end.year() - start.year()) * 12;
            plus_months(start, months / 2)?
        }
        _ => plus_days(start, days / 2)?,
    };
    let stretch = match edge {
        Edge::Start => (start, halfway),
        Edge::End => (halfway, end),
        Edge::Middle => (plus_days(start, days / 3)?, plus_days(start, days * 2 / 3)?),
        Edge::Earlier => (start, today.max(start).min(end)),
        Edge::Later => (today.max(start).min(end), end),
    };
    Some(stretch)
}

/// The middle of a stretch, for "from the middle of march".
pub fn middle((start, end): Stretch) -> Option<Date> {
    let days = i64::from(start.until(end).ok()?.get_days());
    plus_days(start, days / 2)
}

fn week_of(date: Date) -> Option<Stretch> {
    let monday = plus_days(date, -i64::from(date.weekday().to_monday_zero_offset()))?;
    Some((monday, plus_days(monday, 7)?))
}

fn years(first: i16, count: i16) -> Option<Stretch> {
    Some((
        Date::new(first, 1, 1).ok()?,
        Date::new(first.checked_add(count)?, 1, 1).ok()?,
    ))
}

fn year_of(year: Year, today: Date) -> i16 {
    match year {
        Year::Number(year) => year,
        Year::Rel(Rel::This | Rel::Open) => today.year(),
        Year::Rel(Rel::Next | Rel::Coming) => today.year() + 1,
        Year::Rel(Rel::Last | Rel::Past) => today.year() - 1,
    }
}

fn plus_days(date: Date, days: i64) -> Option<Date> {
    date.checked_add(jiff::Span::new().try_days(days).ok()?).ok()
}

fn plus_months(date: Date, months: i64) -> Option<Date> {
    date.checked_add(jiff::Span::new().try_months(months).ok()?).ok()
}
