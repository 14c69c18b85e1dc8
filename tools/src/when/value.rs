//! An expression to its values for a given now, the best first.

use jiff::{
    ToSpan, Zoned,
    civil::{Date, DateTime, Time},
};

use super::{
    Hint, When, calendar,
    clock::Clock,
    day_start,
    expr::{Bound, Day, Direction, Edge, Expr, Parts, Period},
    in_zone, rule, span,
    words::{Part, Unit},
};

/// What the values depend on.
pub struct Env<'a> {
    pub now: &'a Zoned,
    pub hint: Hint,
}

impl Env<'_> {
    pub fn today(&self) -> Date {
        self.now.date()
    }

    pub fn generous(&self) -> bool {
        self.hint == Hint::Search
    }

    /// Whether "to Wednesday" holds Wednesday, as people mean it; the form that programs use ends before it.
    pub fn inclusive(&self) -> bool {
        matches!(self.hint, Hint::Search | Hint::Schedule)
    }

    pub fn start_of(&self, date: Date) -> Option<Zoned> {
        day_start(date, self.now.time_zone())
    }

    pub fn moment(&self, civil: DateTime) -> Option<When> {
        let (at, shift) = in_zone(civil, self.now.time_zone())?;
        Some(When::DateTime { at, shift })
    }

    pub fn zoned(&self, civil: DateTime) -> Option<Zoned> {
        in_zone(civil, self.now.time_zone()).map(|(at, _)| at)
    }
}

/// All values that the words allow. `None` or empty when there is no such time.
pub fn evaluate(expression: &Expr, env: &Env) -> Option<Vec<When>> {
    match expression {
        Expr::One(parts) => one(parts, env),
        Expr::Between(start, end) => span::between(start, end, env),
        Expr::Again(repeat) => rule::readings(repeat, env),
    }
}

/// The values of one time.
pub fn one(parts: &Parts, env: &Env) -> Option<Vec<When>> {
    let mut parts = parts.clone();
    settle_bare(&mut parts)?;
    let mut values = base(&parts, env)?;
    if let Some(length) = &parts.length
        && !(values.len() == 1 && matches!(values[0], When::Duration { .. }))
    {
        let length = length.span()?;
        values = values
            .iter()
            .filter_map(|value| {
                let start = value.stretch(env.now)?.0?;
                let end = start.checked_add(length).ok()?;
                Some(When::Range {
                    start: Some(start),
                    end: Some(end),
                })
            })
            .collect();
    } else if let Some(bound) = parts.bound {
        // "before the end of december" is before its last moment, not before its second half.
        if matches!(bound, Bound::Before | Bound::Until)
            && let Some(Period::Edge { edge: Edge::End, .. }) = parts.period
        {
            values = values.into_iter().map(only_end).collect();
        }
        values = values
            .iter()
            .filter_map(|value| bounded(value, bound, env))
            .collect();
    }
    Some(values)
}

fn only_end(value: When) -> When {
    match value {
        When::Range { end, .. } => When::Range {
            start: end.clone(),
            end,
        },
        other => other,
    }
}

/// A number that did not say what it counts is an hour where an hour makes sense, else a day of the month.
pub fn settle_bare(parts: &mut Parts) -> Option<()> {
    let Some(number) = parts.bare.take() else {
        return Some(());
    };
    let dated = matches!(parts.day, Some(Day::Numbered { .. }));
    match Clock::new(number, 0, 0) {
        Some(clock) if !dated && parts.clock.is_none() => parts.clock = Some(clock),
        _ if parts.day.is_none() && parts.period.is_none() => {
            parts.day = Some(Day::Numbered {
                rel: None,
                weekday: None,
                year: None,
                month: None,
                day: i8::try_from(number).ok().filter(|d| *d > 0)?,
            });
        }
        _ => return None,
    }
    Some(())
}

fn base(parts: &Parts, env: &Env) -> Option<Vec<When>> {
    if parts.now {
        return Some(vec![When::DateTime {
            at: env.now.clone(),
            shift: None,
        }]);
    }
    if let Some((amount, direction)) = &parts.away
        && !amount.whole_days()
    {
        let span = amount.span()?;
        let at = match direction {
            Direction::Ahead => env.now.checked_add(span),
            Direction::Back => env.now.checked_sub(span),
        };
        return Some(vec![When::DateTime {
            at: at.ok()?,
            shift: None,
        }]);
    }
    let dates = dates(parts, env)?;
    if let Some(clock) = parts.clock {
        return Some(moments(parts, clock, dates.as_deref(), env));
    }
    if parts.day_end {
        let dates = dates.unwrap_or_else(|| vec![env.today()]);
        let last = |date: &Date| env.moment(date.at(23, 59, 59, 0));
        return Some(dates.iter().filter_map(last).collect());
    }
    if let Some(part) = parts.part {
        return Some(parts_of_days(part, parts.edge, dates, env));
    }
    if let Some(dates) = dates {
        return Some(match parts.edge {
            None => dates.into_iter().map(When::Date).collect(),
            Some(Edge::Later) => dates.iter().filter_map(|d| what_is_left(*d, env)).collect(),
            Some(edge) => {
                let (from, to) = if matches!(edge, Edge::Start | Edge::Earlier) {
                    (0, 12)
                } else {
                    (12, 24)
                };
                dates
                    .iter()
                    .filter_map(|d| hours(*d, from * 60, to * 60, env))
                    .collect()
            }
        });
    }
    if let Some(period) = &parts.period {
        let scheduled = env.hint == Hint::Schedule && parts.bound.is_none();
        if scheduled && let Some(days) = calendar::edge_days(period, env) {
            return Some(days.into_iter().map(When::Date).collect());
        }
        return period_ranges(period, env);
    }
    Some(vec![parts.length.as_ref()?.duration()?])
}

/// The days that were said, the best first; `Some(None)` when none was.
fn dates(parts: &Parts, env: &Env) -> Option<Option<Vec<Date>>> {
    if let Some((amount, direction)) = &parts.away {
        let away = Day::Away {
            amount: *amount,
            direction: *direction,
            from: Box::new(Day::Shift(0)),
        };
        let day = match &parts.day {
            None => away,
            Some(Day::Weekday { rel: None, weekday }) => Day::By {
                weekday: *weekday,
                day: Box::new(away),
            },
            Some(_) => return None,
        };
        return Some(Some(calendar::days(&day, env)?));
    }
    Some(match (&parts.day, &parts.period) {
        // "tuesday of last week", "monday next week".
        (Some(Day::Weekday { weekday, .. }), Some(period)) => {
            let (start, end) = *calendar::periods(period, env)?.first()?;
            let ahead = start.weekday().until(*weekday);
            let date = start.checked_add(i64::from(ahead).days()).ok()?;
            (date < end).then(|| vec![date])
        }
        (Some(_), Some(_)) => return None,
        (Some(day), None) => Some(calendar::days(day, env)?),
        (None, _) => None,
    })
}

/// Every reading of a clock time on these days, or with no day.
fn moments(parts: &Parts, clock: Clock, dates: Option<&[Date]>, env: &Env) -> Vec<When> {
    let Some(dates) = dates else {
        return times(clock, parts.part, env)
            .into_iter()
            .map(When::Time)
            .collect();
    };
    let mut out = Vec::new();
    for date in dates {
        let mut date = *date;
        let mut readings = on_day(clock, parts.part, date, env);
        // "friday at nine", said on a Friday at ten, is in a week.
        let over = |time: &Time| env.zoned(date.to_datetime(*time)).is_none_or(|at| at < *env.now);
        if env.hint != Hint::Past
            && date == env.today()
            && matches!(parts.day, Some(Day::Weekday { rel: None, .. }))
            && readings.iter().all(over)
            && let Ok(later) = date.checked_add(7.days())
        {
            date = later;
            readings = on_day(clock, parts.part, date, env);
        }
        for time in readings {
            // One at night belongs to the night that began the evening before.
            let after_midnight = parts.part == Some(Part::Night)
                && time.hour() < 5
                && (date != env.today() || env.now.hour() >= 5);
            let day = if after_midnight {
                date.tomorrow().unwrap_or(date)
            } else {
                date
            };
            out.extend(env.moment(day.to_datetime(time)));
        }
    }
    out
}

/// The readings of a clock time with no day, the next one to come first.
pub fn times(clock: Clock, part: Option<Part>, env: &Env) -> Vec<Time> {
    let mut out = halves(clock, part);
    out.sort_by_key(|time| (*time < env.now.time()) != (env.hint == Hint::Past));
    out
}

/// The readings on a day: of today the next to come, else the one when people are about, or get up.
pub fn on_day(clock: Clock, part: Option<Part>, date: Date, env: &Env) -> Vec<Time> {
    let mut out = halves(clock, part);
    let likely = if env.hint == Hint::Wake { 5..17 } else { 7..19 };
    out.sort_by_key(|time| {
        let over = date == env.today() && *time < env.now.time() && env.hint != Hint::Past;
        (over, !likely.contains(&time.hour()))
    });
    out
}

fn halves(clock: Clock, part: Option<Part>) -> Vec<Time> {
    let time = |clock: Clock| Time::new(clock.hour, clock.minute, clock.second, 0).ok();
    if clock.fixed {
        return time(clock).into_iter().collect();
    }
    if let Some(part) = part {
        return time(clock.within(part)).into_iter().collect();
    }
    [false, true]
        .into_iter()
        .filter_map(|pm| time(clock.at_half(pm)))
        .collect()
}

fn parts_of_days(part: Part, edge: Option<Edge>, dates: Option<Vec<Date>>, env: &Env) -> Vec<When> {
    let (from, to) = part.hours(env.generous() && edge.is_none());
    let (mut from, mut to) = (i64::from(from) * 60, i64::from(to) * 60);
    match edge {
        Some(Edge::Start | Edge::Earlier) => to = (from + to) / 2,
        Some(Edge::End | Edge::Later) => from = (from + to) / 2,
        Some(Edge::Middle) | None => {}
    }
    let bare = dates.is_none();
    let dates = dates.unwrap_or_else(|| vec![env.today()]);
    let mut out: Vec<When> = dates.iter().filter_map(|d| hours(*d, from, to, env)).collect();
    // "in the morning", said in the afternoon, is tomorrow's.
    if bare
        && env.hint != Hint::Past
        && let Some(When::Range { end: Some(end), .. }) = out.first()
        && end <= env.now
        && let Ok(tomorrow) = env.today().tomorrow()
        && let Some(range) = hours(tomorrow, from, to, env)
    {
        out.insert(0, range);
    }
    out
}

/// A day, today from now on.
fn what_is_left(date: Date, env: &Env) -> Option<When> {
    let start = env.start_of(date)?;
    Some(When::Range {
        start: Some(if date == env.today() {
            env.now.clone()
        } else {
            start
        }),
        end: Some(env.start_of(date.tomorrow().ok()?)?),
    })
}

/// From a minute of a day to another, which may lie in the next day.
fn hours(date: Date, from: i64, to: i64, env: &Env) -> Option<When> {
    let at = |minutes: i64| {
        env.zoned(
            date.to_datetime(Time::midnight())
                .checked_add(minutes.minutes())
                .ok()?,
        )
    };
    Some(When::Range {
        start: Some(at(from)?),
        end: Some(at(to)?),
    })
}

fn period_ranges(period: &Period, env: &Env) -> Option<Vec<When>> {
    let range = |start, end| When::Range {
        start: Some(start),
        end: Some(end),
    };
    if let Period::Span { amount, direction } = period
        && !amount.whole_days()
    {
        let span = amount.span()?;
        return Some(vec![match direction {
            Direction::Ahead => range(env.now.clone(), env.now.checked_add(span).ok()?),
            Direction::Back => range(env.now.checked_sub(span).ok()?, env.now.clone()),
        }]);
    }
    let stretches = calendar::periods(period, env)?;
    let today = env.today();
    // What is left of this week, for who looks for it, begins now.
    let from_now = matches!(
        period,
        Period::Edge {
            edge: Edge::Later,
            of
        } if matches!(**of, Period::Unit { unit: Unit::Week | Unit::Month | Unit::Year, .. })
    ) && env.inclusive();
    Some(
        stretches
            .into_iter()
            .filter_map(|(start, end)| {
                // Who looks at the end of the month has seen the days of it that are over.
                let begun = env.generous() && matches!(period, Period::Edge { edge: Edge::End, .. });
                let start = match () {
                    () if from_now => env.now.clone(),
                    () if begun && start < today && today < end => env.start_of(today)?,
                    () => env.start_of(start)?,
                };
                Some(range(start, env.start_of(end)?))
            })
            .collect(),
    )
}

/// The side of a time that "before", "after", "since" and "until" mean.
fn bounded(value: &When, bound: Bound, env: &Env) -> Option<When> {
    let (start, end) = value.stretch(env.now)?;
    let whole_day = matches!(value, When::Date(_));
    Some(match bound {
        Bound::Before => When::Range {
            start: None,
            end: Some(start?),
        },
        // "until friday" holds Friday for people; in the form that programs use, ends are exclusive.
        Bound::Until => When::Range {
            start: None,
            end: Some(if env.inclusive() || matches!(value, When::Range { .. }) {
                end?
            } else {
                start?
            }),
        },
        Bound::After => When::Range {
            start: Some(if whole_day && !env.generous() {
                start?
            } else {
                end?
            }),
            end: None,
        },
        Bound::Since => When::Range {
            start: Some(start?),
            end: None,
        },
    })
}
