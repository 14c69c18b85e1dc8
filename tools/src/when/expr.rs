//! What was said, before anybody looks at a clock.

use jiff::civil::Weekday;

use super::{
    amount::Amount,
    clock::Clock,
    holidays::Holiday,
    words::{Part, Rel, Unit},
};

/// A whole expression.
#[derive(Debug, Clone, PartialEq)]
pub enum Expr {
    /// One time or stretch of time.
    One(Parts),
    /// From one to the other.
    Between(Parts, Parts),
    /// Again and again.
    Again(Box<Repeat>),
}

/// What comes back, in the terms of RFC 5545.
#[derive(Debug, Clone, PartialEq)]
pub struct Repeat {
    /// Minute, hour, day, week, month or year.
    pub unit: Option<Unit>,
    pub interval: u32,
    pub weekdays: Vec<Weekday>,
    /// Weekdays that it leaves out; none once it is parsed.
    pub without: Vec<Weekday>,
    /// Which of the weekday in a month, from the end when negative.
    pub nth: Option<i32>,
    /// `nth` counts all of the weekdays together: "the last weekday of the month".
    pub one_of: bool,
    /// "every second tuesday" may count tuesdays rather than those of a month.
    pub counted: bool,
    pub month: Option<i8>,
    /// Day of the month, from the end when negative.
    pub day: Option<i8>,
    pub clock: Option<Clock>,
    /// When it ends on its day.
    pub end: Option<Clock>,
    pub part: Option<Part>,
    /// How long each takes, or, of whole days, for how long it goes on.
    pub length: Option<Amount>,
    pub count: Option<u32>,
    pub since: Option<Expr>,
    pub until: Option<Expr>,
    /// "this week": only what lies in it.
    pub window: Option<Period>,
}

impl Default for Repeat {
    fn default() -> Repeat {
        Repeat {
            unit: None,
            interval: 1,
            weekdays: Vec::new(),
            without: Vec::new(),
            nth: None,
            one_of: false,
            counted: false,
            month: None,
            day: None,
            clock: None,
            end: None,
            part: None,
            length: None,
            count: None,
            since: None,
            until: None,
            window: None,
        }
    }
}

/// The pieces of a time, in whatever order they were said.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Parts {
    pub day: Option<Day>,
    pub period: Option<Period>,
    pub clock: Option<Clock>,
    pub part: Option<Part>,
    /// "early", "late" before a part of the day.
    pub edge: Option<Edge>,
    /// How long it takes.
    pub length: Option<Amount>,
    /// "in 20 minutes", "an hour ago".
    pub away: Option<(Amount, Direction)>,
    pub now: bool,
    /// The last second of the day.
    pub day_end: bool,
    /// A number that says not what it counts.
    pub bare: Option<u32>,
    pub bound: Option<Bound>,
}

impl Parts {
    /// Whether nothing but a time of day was said.
    pub fn only_hours(&self) -> bool {
        let hours = Parts {
            clock: self.clock,
            bare: self.bare,
            part: self.part,
            ..Parts::default()
        };
        *self == hours && (self.clock.is_some() || self.bare.is_some())
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    Ahead,
    Back,
}

/// Which side of the time is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bound {
    Before,
    After,
    Since,
    Until,
}

/// Which piece of a stretch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Edge {
    Start,
    Middle,
    End,
    /// From its beginning to now.
    Earlier,
    /// From now to its end.
    Later,
}

/// A day.
#[derive(Debug, Clone, PartialEq)]
pub enum Day {
    /// So many days from today.
    Shift(i32),
    Weekday {
        rel: Option<Rel>,
        weekday: Weekday,
    },
    /// By numbers; what was not said is found out. A weekday beside a day of the month alone must agree with it.
    Numbered {
        rel: Option<Rel>,
        weekday: Option<Weekday>,
        year: Option<i16>,
        month: Option<i8>,
        day: i8,
    },
    /// "the last friday of march", counted from the end when negative.
    NthWeekday {
        nth: i32,
        weekday: Weekday,
        within: Box<Period>,
    },
    /// "the 15th day of june".
    NthOf {
        nth: i32,
        within: Box<Period>,
    },
    /// "christmas", "easter 2027", "last thanksgiving"; an eve is a day before.
    Holiday {
        holiday: &'static Holiday,
        rel: Option<Rel>,
        year: Option<Year>,
        shift: i32,
    },
    /// "in two months on a tuesday": the weekday by that day.
    By {
        weekday: Weekday,
        day: Box<Day>,
    },
    /// "in three business days": Monday to Friday.
    Business {
        count: i32,
        from: Box<Day>,
    },
    /// "three weeks from tomorrow".
    Away {
        amount: Amount,
        direction: Direction,
        from: Box<Day>,
    },
}

/// A stretch of days (or, for `Span`, of less).
#[derive(Debug, Clone, PartialEq)]
pub enum Period {
    /// "this week", "next month".
    Unit {
        rel: Rel,
        unit: Unit,
    },
    /// "the next three days".
    Span {
        amount: Amount,
        direction: Direction,
    },
    /// "the last two quarters", as the calendar has them.
    Whole {
        count: i16,
        unit: Unit,
        direction: Direction,
    },
    /// A month by name.
    Month {
        rel: Option<Rel>,
        month: i8,
        year: Option<Year>,
    },
    Year(i16),
    /// Quarters and halves: `of` 4 or 2.
    Slice {
        nth: i8,
        of: i8,
        year: Option<Year>,
    },
    /// So many years from a first one.
    Years {
        first: i16,
        count: i16,
    },
    WeekNumber {
        week: i8,
        year: Option<Year>,
    },
    WeekOf(Box<Day>),
    /// "this summer", "the fiscal year": known, but not the same for everybody.
    Unsettled,
    /// "labor day weekend": with the day off beside it.
    WeekendOf(Box<Day>),
    /// "the next four business days".
    Business {
        count: i32,
        direction: Direction,
    },
    /// "less than three days after tomorrow": between the day and so long before or after it.
    Near {
        amount: Amount,
        direction: Direction,
        from: Option<Box<Day>>,
    },
    /// "third week of january", "last 3 weeks of this year".
    Nth {
        nth: i32,
        unit: Unit,
        count: i32,
        within: Box<Period>,
    },
    /// "end of march", "later this week".
    Edge {
        edge: Edge,
        of: Box<Period>,
    },
}

impl Expr {
    /// Whether it names hours but no day.
    pub fn dayless(&self) -> bool {
        let of = |parts: &Parts| {
            let hours = parts.clock.is_some() || parts.part.is_some() || parts.bare.is_some();
            let day = parts.day.is_some() || parts.period.is_some() || parts.away.is_some();
            hours && !day && !parts.now
        };
        match self {
            Expr::One(parts) => of(parts),
            Expr::Between(start, end) => of(start) && of(end),
            Expr::Again(_) => false,
        }
    }

    /// Whether it names a stretch that begins at another day for everybody.
    pub fn unsettled(&self) -> bool {
        let of = |parts: &Parts| parts.period.as_ref().is_some_and(Period::unsettled);
        match self {
            Expr::One(parts) => of(parts),
            Expr::Between(start, end) => of(start) || of(end),
            Expr::Again(repeat) => [&repeat.since, &repeat.until]
                .into_iter()
                .flatten()
                .any(Expr::unsettled),
        }
    }
}

impl Period {
    fn unsettled(&self) -> bool {
        match self {
            Period::Unsettled => true,
            Period::Nth { within, .. } | Period::Edge { of: within, .. } => within.unsettled(),
            _ => false,
        }
    }
}

/// A year by number or by its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Year {
    Number(i16),
    Rel(Rel),
}
