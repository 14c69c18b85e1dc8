//! Lengths: "20 minutes", "an hour and a half", "two and a half days", "a couple of weeks".

use jiff::Span;

use super::{When, cursor::Cursor, words::Unit};

/// A length by unit; fractions are as they were said.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Amount {
    pub years: f64,
    pub months: f64,
    pub days: f64,
    pub seconds: f64,
}

/// More than this of anything is not a time that people speak of, and keeps arithmetic far from its edges.
const MOST: f64 = 1e9;

impl Amount {
    pub fn of(count: f64, unit: Unit) -> Amount {
        let mut amount = Amount::default();
        match unit {
            Unit::Second => amount.seconds = count,
            Unit::Minute => amount.seconds = count * 60.0,
            Unit::Hour => amount.seconds = count * 3600.0,
            Unit::Day => amount.days = count,
            Unit::Week | Unit::Weekend | Unit::WorkWeek => amount.days = count * 7.0,
            Unit::Fortnight => amount.days = count * 14.0,
            Unit::Month => amount.months = count,
            Unit::Quarter => amount.months = count * 3.0,
            Unit::Year => amount.years = count,
            Unit::Decade => amount.years = count * 10.0,
            Unit::Century => amount.years = count * 100.0,
        }
        amount
    }

    pub fn of_span(span: &Span) -> Option<Amount> {
        if span.is_negative() {
            return None;
        }
        Some(Amount {
            years: f64::from(span.get_years()),
            months: f64::from(span.get_months()),
            days: f64::from(span.get_weeks()) * 7.0 + f64::from(span.get_days()),
            seconds: f64::from(span.get_hours()) * 3600.0
                + span.get_minutes() as f64 * 60.0
                + span.get_seconds() as f64,
        })
    }

    pub fn plus(self, other: Amount) -> Amount {
        Amount {
            years: self.years + other.years,
            months: self.months + other.months,
            days: self.days + other.days,
            seconds: self.seconds + other.seconds,
        }
    }

    /// Whether it is made of days and longer, so that it leads from a day to a day.
    pub fn whole_days(&self) -> bool {
        self.seconds == 0.0 && self.days.fract() == 0.0
    }

    /// In calendar units; a fraction of a year becomes months, of a month days (of 30), of a day seconds.
    pub fn span(&self) -> Option<Span> {
        let months = self.months + self.years.fract() * 12.0;
        let days = self.days + months.fract() * 30.0;
        let seconds = self.seconds + days.fract() * 86_400.0;
        if [self.years, months, days, seconds]
            .iter()
            .any(|n| !(0.0..MOST).contains(n))
        {
            return None;
        }
        Span::new()
            .try_years(self.years.trunc() as i64)
            .and_then(|s| s.try_months(months.trunc() as i64))
            .and_then(|s| s.try_days(days.trunc() as i64))
            .and_then(|s| s.try_seconds(seconds.round() as i64))
            .ok()
    }

    pub fn duration(&self) -> Option<When> {
        let nominal = self.years * 365.0 * 86_400.0
            + self.months * 30.0 * 86_400.0
            + self.days * 86_400.0
            + self.seconds;
        Some(When::Duration {
            span: self.span()?.fieldwise(),
            seconds: nominal.round() as i64,
        })
    }
}

/// One or more counts with their units.
pub fn amount(c: &mut Cursor) -> Option<Amount> {
    let mut total = c.attempt(counted)?;
    while let Some(more) = c.attempt(|c| {
        c.sign(&[',']);
        c.eat(&["and"]);
        counted(c)
    }) {
        total = total.plus(more);
    }
    Some(total)
}

/// A count with its unit, and a fraction said after it: "an hour and a half".
fn counted(c: &mut Cursor) -> Option<Amount> {
    let count = count(c)?;
    c.sign(&['-']);
    let unit = c.unit()?;
    let more = c.attempt(|c| {
        if !c.eat(&["and"]) {
            return None;
        }
        c.eat(&["a", "one"]);
        fraction(c).filter(|_| c.clone().unit().is_none() && !c.clone().eat(&["an", "a", "of"]))
    });
    Some(Amount::of(count + more.unwrap_or(0.0), unit))
}

/// How many: "20", "2.5", "two and a half", "a couple of", "half a", "three quarters of an".
pub fn count(c: &mut Cursor) -> Option<f64> {
    if c.eat(&["few", "some", "several"]) || c.eat_all(&["a", "few"]) {
        c.eat(&["more"]);
        return Some(3.0);
    }
    if c.eat(&["couple"]) || c.eat_all(&["a", "couple"]) {
        c.eat(&["of"]);
        return Some(2.0);
    }
    if c.eat(&["all", "whole"]) || c.eat_all(&["a", "whole"]) {
        return Some(1.0);
    }
    let part = c.attempt(|c| {
        c.eat(&["a"]);
        let parts = fraction(c)?;
        c.eat(&["of"]);
        c.eat(&["a", "an"]);
        Some(parts)
    });
    if part.is_some() {
        return part;
    }
    if c.eat(&["a", "an"]) {
        return Some(1.0);
    }
    let whole = c.number(|n| !n.ordinal)?;
    let decimals = c.attempt(|c| {
        c.sign(&['.', ',']).or_else(|| c.eat(&["point"]).then_some('.'))?;
        c.number(|n| !n.ordinal && n.value < 1000)
    });
    if let Some(decimals) = decimals {
        let digits = if decimals.digits == 0 {
            1
        } else {
            i32::from(decimals.digits)
        };
        return Some(f64::from(whole.value) + f64::from(decimals.value) / 10f64.powi(digits));
    }
    if let Some(quarters) = c.attempt(|c| {
        let quarters = c.eat(&["quarters"]).then_some(f64::from(whole.value) / 4.0)?;
        c.eat(&["of"]).then_some(())?;
        c.eat(&["a", "an"]).then_some(quarters)
    }) {
        return Some(quarters);
    }
    let more = c.attempt(|c| {
        c.eat(&["and"]).then_some(())?;
        c.eat(&["a", "one"]);
        fraction(c)
    });
    Some(f64::from(whole.value) + more.unwrap_or(0.0))
}

fn fraction(c: &mut Cursor) -> Option<f64> {
    c.word(|w| match w {
        "half" => Some(0.5),
        "quarter" => Some(0.25),
        _ => None,
    })
}
