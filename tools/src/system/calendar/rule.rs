//! A recurrence rule (RFC 5545 3.3.10) to its wall times within a window.
//!
//! The `rrule` crate counts from DTSTART, looks at no clock, and may turn 100,000 times between two occurrences. Here a
//! rule without COUNT begins at the window, so that a daily event of ten years ago costs no more than one of yesterday, a
//! rule that fits no day costs what its window costs, and everything ends at a bound. Each period (year, month, week,
//! day) gives its set by itself, from which BYSETPOS picks.

use calcard::{
    common::CalendarScale,
    icalendar::{ICalendarFrequency as Freq, ICalendarRecurrenceRule, ICalendarSkip, ICalendarWeekday},
};
use jiff::{
    Span,
    civil::{Date, DateTime, Time, Weekday},
};

/// Occurrences that one rule gives.
const MAX_OCCURRENCES: usize = 1000;
/// Turns, days and times that one rule may make us look at: about 20 ms. Not a deadline, because what a rule gives must
/// not depend on what else the machine does.
const MAX_WORK: usize = 250_000;
/// Entries of one BYxxx list.
const MAX_LIST: usize = 400;
/// Times of day that one rule may name (BYHOUR x BYMINUTE x BYSECOND).
const MAX_TIMES: usize = 48;

/// Where a rule is to be followed; wall times of the event's zone.
#[derive(Debug, Clone, Copy)]
pub struct Stretch {
    /// DTSTART, from which the rule counts and takes what it leaves open.
    pub begin: DateTime,
    /// Whether the event is of whole days, which have no hours to repeat at.
    pub all_day: bool,
    /// The last moment that the rule may give, from its UNTIL.
    pub until: Option<DateTime>,
    /// What is before this is left out.
    pub after: DateTime,
    /// Exclusive.
    pub before: DateTime,
}

/// The wall times of a rule in order, and whether they are all.
///
/// # Errors
/// Why a rule is not followed: it is too large, too quick, or of another calendar than ours.
pub fn times(rule: &ICalendarRecurrenceRule, stretch: &Stretch) -> Result<(Vec<DateTime>, bool), String> {
    follow(rule, stretch, MAX_OCCURRENCES)
}

/// How many times a rule gives in a stretch; nothing when they are too many to be counted.
pub fn count(rule: &ICalendarRecurrenceRule, stretch: &Stretch) -> Option<usize> {
    match follow(rule, stretch, MAX_WORK) {
        Ok((times, true)) => Some(times.len()),
        _ => None,
    }
}

fn follow(
    rule: &ICalendarRecurrenceRule,
    stretch: &Stretch,
    most: usize,
) -> Result<(Vec<DateTime>, bool), String> {
    refuse(rule)?;
    let plan = Plan::new(rule, stretch);
    let mut left = rule.count;
    let mut out = Vec::new();
    let mut last = None;
    let mut work = 0;
    // A count must be counted from the start; anything else may begin where it is looked at.
    let mut turn = if left.is_some() {
        0
    } else {
        plan.turn_at(stretch.after)
    };
    while let Some(period) = plan.period(turn) {
        if period.first >= stretch.before || stretch.until.is_some_and(|until| period.first > until) {
            break;
        }
        work += plan.days_of_turn + period.times.len();
        if work > MAX_WORK {
            return Ok((out, false));
        }
        turn = period.next;
        for at in plan.picked(period.times) {
            if at < stretch.begin || last.is_some_and(|last| at <= last) {
                continue;
            }
            last = Some(at);
            if stretch.until.is_some_and(|until| at > until) || left == Some(0) || at >= stretch.before {
                return Ok((out, true));
            }
            left = left.map(|left| left - 1);
            if at >= stretch.after {
                out.push(at);
            }
            if out.len() >= most {
                return Ok((out, false));
            }
        }
    }
    Ok((out, true))
}

/// Rules that nobody makes for a calendar, and those that mean more than Gregorian days.
fn refuse(rule: &ICalendarRecurrenceRule) -> Result<(), String> {
    let scale = rule
        .rscale
        .as_ref()
        .is_none_or(|scale| *scale == CalendarScale::Gregorian);
    if !scale || rule.skip.is_some_and(|skip| skip != ICalendarSkip::Omit) {
        return Err(
            "it repeats by another calendar (RSCALE or SKIP); only its first time is shown".to_owned(),
        );
    }
    // Every second of certain minutes of certain hours is a list of times; every second of all is a bomb.
    let open = match rule.freq {
        Freq::Minutely => rule.byhour.is_empty() || rule.byminute.is_empty(),
        Freq::Secondly => rule.byhour.is_empty() || rule.byminute.is_empty() || rule.bysecond.is_empty(),
        _ => false,
    };
    if open && rule.count.is_none_or(|count| count > 1000) {
        return Err("it repeats every minute or second; only its first time is shown".to_owned());
    }
    let times = rule.byhour.len().max(1) * rule.byminute.len().max(1) * rule.bysecond.len().max(1);
    let longest = [
        rule.byday.len(),
        rule.bymonthday.len(),
        rule.byyearday.len(),
        rule.byweekno.len(),
        rule.bymonth.len(),
        rule.bysetpos.len(),
    ];
    if times > MAX_TIMES || longest.iter().any(|n| *n > MAX_LIST) {
        return Err("its rule for repeating is too large; only its first time is shown".to_owned());
    }
    Ok(())
}

/// A rule with what it leaves open filled in from DTSTART.
struct Plan<'a> {
    rule: &'a ICalendarRecurrenceRule,
    begin: DateTime,
    interval: i64,
    months: Vec<i8>,
    month_days: Vec<i8>,
    days: Vec<(i16, Weekday)>,
    /// The first day of a week.
    monday: Weekday,
    times: Vec<Time>,
    /// How many days each turn looks at.
    days_of_turn: usize,
}

/// The set of one turn.
struct Period {
    /// Not after any of `times`.
    first: DateTime,
    /// In order, each once.
    times: Vec<DateTime>,
    /// The next turn that may give something.
    next: i64,
}

impl<'a> Plan<'a> {
    fn new(rule: &'a ICalendarRecurrenceRule, stretch: &Stretch) -> Plan<'a> {
        let begin = stretch.begin;
        let mut plan = Plan {
            rule,
            begin,
            interval: i64::from(rule.interval.unwrap_or(1).max(1)),
            months: rule
                .bymonth
                .iter()
                .filter_map(|m| i8::try_from(m.month()).ok())
                .collect(),
            month_days: rule.bymonthday.clone(),
            days: rule
                .byday
                .iter()
                .map(|day| (day.ordwk.unwrap_or(0), weekday(day.weekday)))
                .collect(),
            monday: rule.wkst.map_or(Weekday::Monday, weekday),
            times: Vec::new(),
            days_of_turn: match rule.freq {
                Freq::Yearly => 366,
                Freq::Monthly => 31,
                Freq::Weekly => 7,
                _ => 1,
            },
        };
        let no_day = plan.month_days.is_empty() && rule.byyearday.is_empty() && plan.days.is_empty();
        match rule.freq {
            // "On the 29th" of a yearly rule is that of the month when it began, as other programs have it.
            Freq::Yearly if no_day || (plan.days.is_empty() && rule.byyearday.is_empty()) => {
                if !rule.byweekno.is_empty() {
                    plan.days = vec![(0, begin.weekday())];
                } else {
                    if plan.months.is_empty() {
                        plan.months = vec![begin.month()];
                    }
                    if no_day {
                        plan.month_days = vec![begin.day()];
                    }
                }
            }
            Freq::Monthly if no_day => plan.month_days = vec![begin.day()],
            Freq::Weekly if no_day => plan.days = vec![(0, begin.weekday())],
            _ => {}
        }
        plan.times = if stretch.all_day {
            vec![Time::midnight()]
        } else {
            plan.times_of_day()
        };
        plan
    }

    /// The turn in which a moment lies, or one before it.
    fn turn_at(&self, at: DateTime) -> i64 {
        let distance = match self.rule.freq {
            Freq::Yearly => i64::from(at.year()) - i64::from(self.begin.year()),
            Freq::Monthly => months(at.date()) - months(self.begin.date()),
            Freq::Weekly => days_between(self.begin.date(), at.date()) / 7,
            Freq::Daily => days_between(self.begin.date(), at.date()),
            Freq::Hourly | Freq::Minutely | Freq::Secondly => seconds_between(self.begin, at) / self.unit(),
        };
        (distance / self.interval - 2).max(0)
    }

    /// What a turn gives; nothing beyond the calendar.
    fn period(&self, turn: i64) -> Option<Period> {
        let steps = turn.checked_mul(self.interval)?;
        let mut dates = Vec::new();
        let first = match self.rule.freq {
            Freq::Yearly if !self.rule.byweekno.is_empty() => {
                let first = day_of(i16::try_from(i64::from(self.begin.year()) + steps).ok()?, 1)?;
                // A week that two years share belongs to both, so it counts for either.
                for year in first.year() - 1..=first.year() + 1 {
                    self.weeks(year, first, &mut dates)?;
                }
                later(first, -6)?
            }
            Freq::Yearly => {
                let first = day_of(i16::try_from(i64::from(self.begin.year()) + steps).ok()?, 1)?;
                for month in 1..=12 {
                    if self.months.is_empty() || self.months.contains(&month) {
                        self.month(day_of(first.year(), month)?, &mut dates);
                    }
                }
                first
            }
            Freq::Monthly => {
                let index = months(self.begin.date()) + steps;
                let month = i8::try_from(index.rem_euclid(12) + 1).ok()?;
                let first = day_of(i16::try_from(index.div_euclid(12)).ok()?, month)?;
                self.month(first, &mut dates);
                first
            }
            Freq::Weekly => {
                let first = later(self.week_start(self.begin.date())?, steps.checked_mul(7)?)?;
                self.span(first, 7, &mut dates);
                first
            }
            Freq::Daily => {
                let first = later(self.begin.date(), steps)?;
                self.span(first, 1, &mut dates);
                first
            }
            Freq::Hourly | Freq::Minutely | Freq::Secondly => return self.quick(turn, steps),
        };
        dates.sort();
        dates.dedup();
        let times = dates
            .iter()
            .flat_map(|date| self.times.iter().map(|time| date.to_datetime(*time)))
            .collect();
        Some(Period {
            first: first.at(0, 0, 0, 0),
            times,
            next: turn + 1,
        })
    }

    /// A turn of hours, minutes or seconds. One on a day or hour that the rule leaves out leaps to the next.
    fn quick(&self, turn: i64, steps: i64) -> Option<Period> {
        let unit = self.unit();
        let base = DateTime::from_parts(
            self.begin.date(),
            Time::new(
                self.begin.hour(),
                if unit < 3600 { self.begin.minute() } else { 0 },
                if unit < 60 { self.begin.second() } else { 0 },
                0,
            )
            .ok()?,
        );
        let first = base
            .checked_add(Span::new().try_seconds(steps.checked_mul(unit)?).ok()?)
            .ok()?;
        let leap = |to: Option<DateTime>| {
            let size = self.interval * unit;
            let turns = (seconds_between(base, to?) + size - 1).div_euclid(size);
            Some(Period {
                first,
                times: Vec::new(),
                next: turns.max(turn + 1),
            })
        };
        let (hours, minutes, seconds) = (&self.rule.byhour, &self.rule.byminute, &self.rule.bysecond);
        if !self.fits(first.date()) {
            return leap(first.date().tomorrow().ok().map(|day| day.at(0, 0, 0, 0)));
        }
        let holds =
            |list: &[u8], value: i8| list.is_empty() || list.iter().any(|n| i8::try_from(*n) == Ok(value));
        let left = |seconds: i64| first.checked_add(Span::new().try_seconds(seconds).ok()?).ok();
        if !holds(hours, first.hour()) {
            return leap(left(
                3600 - i64::from(first.minute()) * 60 - i64::from(first.second()),
            ));
        }
        if unit < 3600 && !holds(minutes, first.minute()) {
            return leap(left(60 - i64::from(first.second())));
        }
        let mut times: Vec<DateTime> = self
            .times
            .iter()
            .map(|time| first.date().to_datetime(*time))
            .filter(|at| {
                at.hour() == first.hour()
                    && (unit == 3600 || at.minute() == first.minute())
                    && (unit > 1 || at.second() == first.second())
            })
            .collect();
        if unit == 1 && times.is_empty() && holds(seconds, first.second()) {
            times.push(first);
        }
        Some(Period {
            first,
            times,
            next: turn + 1,
        })
    }

    /// The times of day that the rule names; of what is smaller than its period and not named, those of DTSTART.
    fn times_of_day(&self) -> Vec<Time> {
        let every = |list: &[u8], repeats: bool, own: i8, to: i8| -> Vec<i8> {
            match (list.is_empty(), repeats) {
                (false, _) => list.iter().filter_map(|n| i8::try_from(*n).ok()).collect(),
                (true, true) => (0..to).collect(),
                (true, false) => vec![own],
            }
        };
        let (freq, rule) = (self.rule.freq, self.rule);
        let quick = matches!(freq, Freq::Hourly | Freq::Minutely | Freq::Secondly);
        let hours = every(&rule.byhour, quick, self.begin.hour(), 24);
        let minutes = every(
            &rule.byminute,
            quick && freq != Freq::Hourly,
            self.begin.minute(),
            60,
        );
        // All seconds of a day would be a long list; a turn of seconds is one time anyway.
        let seconds = if freq == Freq::Secondly && rule.bysecond.is_empty() {
            Vec::new()
        } else {
            every(&rule.bysecond, false, self.begin.second(), 60)
        };
        let mut times: Vec<Time> = Vec::new();
        for hour in &hours {
            for minute in &minutes {
                times.extend(
                    seconds
                        .iter()
                        .filter_map(|second| Time::new(*hour, *minute, (*second).min(59), 0).ok()),
                );
            }
        }
        times.sort();
        times.dedup();
        times
    }

    /// Seconds of a quick rule's unit.
    fn unit(&self) -> i64 {
        match self.rule.freq {
            Freq::Hourly => 3600,
            Freq::Minutely => 60,
            _ => 1,
        }
    }

    /// What BYSETPOS leaves of a set.
    fn picked(&self, set: Vec<DateTime>) -> Vec<DateTime> {
        if self.rule.bysetpos.is_empty() {
            return set;
        }
        let place = |position: &i32| {
            let position = isize::try_from(*position).ok()?;
            let count = isize::try_from(set.len()).ok()?;
            usize::try_from(if position < 0 {
                count + position
            } else {
                position - 1
            })
            .ok()
        };
        let mut picked: Vec<DateTime> = self
            .rule
            .bysetpos
            .iter()
            .filter_map(|position| set.get(place(position)?).copied())
            .collect();
        picked.sort();
        picked.dedup();
        picked
    }

    fn month(&self, first: Date, out: &mut Vec<Date>) {
        self.span(first, i64::from(first.days_in_month()), out);
    }

    /// The days of a stretch that the rule takes.
    fn span(&self, first: Date, days: i64, out: &mut Vec<Date>) {
        let mut day = Some(first);
        for _ in 0..days {
            out.extend(day.filter(|day| self.fits(*day)));
            day = day.and_then(|day| day.tomorrow().ok());
        }
    }

    /// The days of the rule's weeks of a year that touch the one that begins then. A year's first week is the one that
    /// holds its fourth day.
    fn weeks(&self, year: i16, begins: Date, out: &mut Vec<Date>) -> Option<()> {
        let first = self.week_start(date_of(year, 1, 4)?)?;
        let count = days_between(first, self.week_start(date_of(year + 1, 1, 4)?)?) / 7;
        let touched = later(begins, -6)?..later(begins, i64::from(begins.days_in_year()))?;
        for week in &self.rule.byweekno {
            let week = i64::from(*week);
            let index = if week < 0 { count + week } else { week - 1 };
            let start = later(first, index * 7)?;
            if (0..count).contains(&index) && touched.contains(&start) {
                self.span(start, 7, out);
            }
        }
        Some(())
    }

    fn week_start(&self, day: Date) -> Option<Date> {
        later(day, -i64::from(self.monday.until(day.weekday())))
    }

    /// Whether the rule takes a day.
    fn fits(&self, day: Date) -> bool {
        let rule = self.rule;
        let (of_month, in_month) = (day.day(), day.days_in_month());
        if !self.months.is_empty() && !self.months.contains(&day.month()) {
            return false;
        }
        let is_day = |n: &i8| *n == of_month || *n == of_month - in_month - 1;
        if !self.month_days.is_empty() && !self.month_days.iter().any(is_day) {
            return false;
        }
        let week_day = day.weekday();
        if !self.days.is_empty() && !self.days.iter().any(|(_, name)| *name == week_day) {
            return false;
        }
        let (of_year, in_year) = (day.day_of_year(), day.days_in_year());
        let is_day = |n: &i16| *n == of_year || *n == of_year - in_year - 1;
        if !rule.byyearday.is_empty() && !rule.byyearday.iter().any(is_day) {
            return false;
        }
        // The third Monday is that of the month, or of a year when no month is named.
        let (at, of) = match rule.freq {
            Freq::Monthly => (i16::from(of_month), i16::from(in_month)),
            Freq::Yearly if !rule.byweekno.is_empty() => return true,
            Freq::Yearly if !rule.bymonth.is_empty() => (i16::from(of_month), i16::from(in_month)),
            Freq::Yearly => (of_year, in_year),
            _ => return true,
        };
        let nth = |n: i16| n == 0 || n == (at - 1) / 7 + 1 || n == -((of - at) / 7 + 1);
        self.days.is_empty() || self.days.iter().any(|(n, name)| *name == week_day && nth(*n))
    }
}

fn weekday(day: ICalendarWeekday) -> Weekday {
    match day {
        ICalendarWeekday::Monday => Weekday::Monday,
        ICalendarWeekday::Tuesday => Weekday::Tuesday,
        ICalendarWeekday::Wednesday => Weekday::Wednesday,
        ICalendarWeekday::Thursday => Weekday::Thursday,
        ICalendarWeekday::Friday => Weekday::Friday,
        ICalendarWeekday::Saturday => Weekday::Saturday,
        ICalendarWeekday::Sunday => Weekday::Sunday,
    }
}

/// Months since the year 0.
fn months(day: Date) -> i64 {
    i64::from(day.year()) * 12 + i64::from(day.month()) - 1
}

fn day_of(year: i16, month: i8) -> Option<Date> {
    date_of(year, month, 1)
}

fn date_of(year: i16, month: i8, day: i8) -> Option<Date> {
    Date::new(year, month, day).ok()
}

fn later(day: Date, days: i64) -> Option<Date> {
    day.checked_add(Span::new().try_days(days).ok()?).ok()
}

fn days_between(from: Date, to: Date) -> i64 {
    from.until(to).map_or(0, |span| i64::from(span.get_days()))
}

fn seconds_between(from: DateTime, to: DateTime) -> i64 {
    from.duration_until(to).as_secs()
}

#[cfg(test)]
mod tests {
    use jiff::{ToSpan, civil::date};
    use proptest::prelude::*;

    use super::*;

    /// The rule crate as a second opinion, on the rules that both read alike: it takes a yearly BYMONTHDAY as of every
    /// month, weeks by the calendar year, and begins a week of BYSETPOS at DTSTART.
    fn by_crate(rule: &str, begin: &str, most: u16) -> Vec<String> {
        let set: rrule::RRuleSet = format!("DTSTART:{begin}Z\nRRULE:{rule}").parse().unwrap();
        let dates = set.limit().all(most).dates;
        dates
            .iter()
            .map(|at| at.format("%Y%m%dT%H%M%S").to_string())
            .collect()
    }

    fn by_us(rule: &str, begin: &str, after: &str) -> Vec<String> {
        let text = format!("BEGIN:VCALENDAR\nBEGIN:VEVENT\nRRULE:{rule}\nEND:VEVENT\nEND:VCALENDAR\n");
        let file = super::super::parse::parse(&text);
        let component = &file.calendars[0].components[1];
        let calcard::icalendar::ICalendarValue::RecurrenceRule(rule) = &component.entries[0].values[0] else {
            panic!("{text}");
        };
        let stretch = Stretch {
            begin: begin.parse().unwrap(),
            all_day: false,
            until: None,
            after: after.parse().unwrap(),
            before: DateTime::MAX,
        };
        let (times, _) = times(rule, &stretch).unwrap();
        times
            .iter()
            .map(|at| at.strftime("%Y%m%dT%H%M%S").to_string())
            .collect()
    }

    fn list<T: std::fmt::Debug + 'static>(
        name: &'static str,
        of: impl Strategy<Value = T> + 'static,
    ) -> BoxedStrategy<String> {
        let lists = proptest::collection::vec(of, 1..4).prop_map(move |items| {
            let items: Vec<String> = items.iter().map(|i| format!("{i:?}").replace('"', "")).collect();
            format!(";{name}={}", items.join(","))
        });
        prop_oneof![3 => Just(String::new()), 1 => lists].boxed()
    }

    fn any_rule() -> impl Strategy<Value = String> {
        let week = || proptest::sample::select(vec!["MO", "TU", "WE", "TH", "FR", "SA", "SU"]);
        let nth = proptest::sample::select(vec!["1MO", "-1FR", "2TU", "5TH", "SU", "-3WE"]);
        let tail = (
            1_u8..5,
            1_u8..30,
            list("BYHOUR", 0_u8..24),
            list("BYMINUTE", 0_u8..60),
        );
        let month = || list("BYMONTH", 1_u8..13);
        let month_day = || list("BYMONTHDAY", prop_oneof![1_i8..32, -31_i8..0]);
        let body = prop_oneof![
            (month(), month_day(), list("BYDAY", week()))
                .prop_map(|(m, d, w)| format!("FREQ=DAILY{m}{d}{w}")),
            (month(), list("BYDAY", week())).prop_map(|(m, w)| format!("FREQ=WEEKLY{m}{w}")),
            (month(), month_day()).prop_map(|(m, d)| format!("FREQ=MONTHLY{m}{d}")),
            (month(), list("BYDAY", nth)).prop_map(|(m, w)| format!("FREQ=MONTHLY{m}{w}")),
            (1_u8..13, month_day()).prop_map(|(m, d)| format!("FREQ=YEARLY;BYMONTH={m}{d}")),
            list("BYYEARDAY", prop_oneof![1_i16..367, -366_i16..0]).prop_map(|d| format!("FREQ=YEARLY{d}")),
        ];
        (body, tail).prop_map(|(body, (interval, count, hours, minutes))| {
            format!("{body};INTERVAL={interval};COUNT={count}{hours}{minutes}")
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn the_crate_agrees(rule in any_rule(), day in 1_u8..29, month in 1_u8..13) {
            let begin = format!("2024{month:02}{day:02}T093000");
            let ours = by_us(&rule, &begin, &begin);
            let theirs = by_crate(&rule, &begin, 40);
            // Both stop searching somewhere; what both found must be the same.
            let both = ours.len().min(theirs.len());
            prop_assert_eq!(&ours[..both], &theirs[..both], "{}", rule);
            prop_assert!(ours.len() <= 40 && (both > 0 || theirs.is_empty() || ours.is_empty()));
        }

        /// What is asked for from some day on is the end of what is asked for from the beginning.
        #[test]
        fn a_later_window_is_the_rest(rule in any_rule(), skip in 0_i64..3000) {
            let rule = rule.split(";COUNT=").next().unwrap().to_owned();
            let begin: DateTime = date(2024, 2, 29).at(9, 30, 0, 0);
            let after = begin.checked_add(skip.days()).unwrap();
            let all = by_us(&rule, &begin.to_string(), &begin.to_string());
            let rest = by_us(&rule, &begin.to_string(), &after.to_string());
            let limit = after.strftime("%Y%m%dT%H%M%S").to_string();
            let expect: Vec<String> = all.into_iter().filter(|at| *at >= limit).collect();
            let both = expect.len().min(rest.len());
            prop_assert_eq!(&rest[..both], &expect[..both], "{}", rule);
        }
    }
}
