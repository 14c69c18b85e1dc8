//! Times of day: "9:30", "half past nine", "quarter to six", "five p m", "noon".

use super::{cursor::Cursor, words::Part};

/// A time of day as it was said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Clock {
    pub hour: i8,
    pub minute: i8,
    pub second: i8,
    /// Whether the half of the day is known; otherwise `hour` is 1 to 12.
    pub fixed: bool,
}

impl Clock {
    /// `None` unless the numbers make a time of day.
    pub fn new(hour: u32, minute: u32, second: u32) -> Option<Clock> {
        if hour > 24 || minute > 59 || second > 59 || (hour == 24 && minute + second > 0) {
            return None;
        }
        let small = |n: u32| i8::try_from(n).ok();
        Some(Clock {
            hour: small(hour % 24)?,
            minute: small(minute)?,
            second: small(second)?,
            fixed: hour == 0 || hour > 12,
        })
    }

    fn half(self, pm: bool) -> Option<Clock> {
        if self.fixed {
            // "13:30 pm" is said and means what it says; "13:30 am" is nothing.
            return (pm && self.hour >= 12).then_some(self);
        }
        Some(self.at_half(pm))
    }

    /// With the hour as it stands: counted from 0 to 24.
    fn as_written(self) -> Clock {
        Clock { fixed: true, ..self }
    }

    /// The reading in that half of the day.
    pub fn at_half(self, pm: bool) -> Clock {
        Clock {
            hour: self.hour % 12 + if pm { 12 } else { 0 },
            fixed: true,
            ..self
        }
    }

    /// The reading that a part of the day asks for.
    pub fn within(self, part: Part) -> Clock {
        if self.fixed {
            return self;
        }
        let pm = match part {
            Part::Morning => false,
            Part::Lunch => self.hour != 11,
            Part::Afternoon | Part::Evening => true,
            // At night, twelve and the hours after it are early; "five at night" nobody says.
            Part::Night | Part::NightTime => (5..12).contains(&self.hour),
            Part::Daytime => self.hour == 12 || self.hour < 7,
        };
        self.at_half(pm)
    }
}

/// A time that cannot be anything else.
pub fn clear(c: &mut Cursor) -> Option<Clock> {
    c.attempt(named)
        .or_else(|| c.attempt(|c| relative(c, false)))
        .or_else(|| c.attempt(digits))
        .or_else(|| c.attempt(oclock))
        .or_else(|| c.attempt(|c| of_24_hours(c, 1000)))
}

/// A time where one is expected, after "at": also "five to seven", "nine thirty", "6.45", "five".
pub fn expected(c: &mut Cursor) -> Option<Clock> {
    c.attempt(named)
        .or_else(|| c.attempt(|c| relative(c, true)))
        .or_else(|| c.attempt(digits))
        .or_else(|| c.attempt(oclock))
        .or_else(|| c.attempt(|c| of_24_hours(c, 100)))
        .or_else(|| c.attempt(dotted))
        .or_else(|| spaced(c))
        .or_else(|| c.attempt(compact))
        .or_else(|| c.attempt(bare))
}

/// Two numbers side by side: "9 30", "seven twenty-seven", "five-thirty".
pub fn spaced(c: &mut Cursor) -> Option<Clock> {
    c.attempt(|c| {
        let hour = c.number(|n| !n.ordinal && n.digits <= 2 && n.value <= 24)?;
        if hour.digits == 0 {
            c.sign(&['-']);
        }
        let minute =
            c.number(|n| !n.ordinal && n.value < 60 && (n.digits == 2 || (n.digits == 0 && n.value >= 10)))?;
        let clock = Clock::new(hour.value, minute.value, 0)?;
        if c.eat(HOURS) {
            return Some(clock.as_written());
        }
        meridiem(c, clock)
    })
}

/// "0730", "1600"; nobody writes a zero before the hour who counts only to twelve.
pub fn compact(c: &mut Cursor) -> Option<Clock> {
    let number = c.number(|n| !n.ordinal && n.digits == 4)?;
    let clock = Clock::new(number.value / 100, number.value % 100, 0)?;
    Some(if number.value < 1000 {
        clock.as_written()
    } else {
        clock
    })
}

/// What follows a time of day that is counted from 0 to 24.
const HOURS: &[&str] = &["hours", "hrs"];

/// "1600 hours", "oh eight hundred hours", "sixteen hundred hours"; in words from `least` on, since "a hundred hours" is a
/// length.
fn of_24_hours(c: &mut Cursor, least: u32) -> Option<Clock> {
    let number = c.number(|n| {
        !n.ordinal && (n.digits == 4 || (n.digits == 0 && n.value >= least && n.value % 100 == 0))
    })?;
    c.eat(HOURS).then_some(())?;
    Some(Clock::new(number.value / 100, number.value % 100, 0)?.as_written())
}

fn named(c: &mut Cursor) -> Option<Clock> {
    c.number(|n| n.value == 12);
    c.word(|w| match w {
        "noon" | "midday" => Some(12),
        "midnight" => Some(0),
        _ => None,
    })
    .map(|hour| Clock {
        hour,
        minute: 0,
        second: 0,
        fixed: true,
    })
}

/// "half past nine", "half nine", "quarter to six", "20 minutes past eight"; "five to seven" only when `sure` that a
/// time is said, since it is also from five to seven.
fn relative(c: &mut Cursor, sure: bool) -> Option<Clock> {
    c.eat(&["a"]);
    let (minutes, clear) = match c.word(|w| match w {
        "half" => Some(30),
        "quarter" => Some(15),
        _ => None,
    }) {
        Some(minutes) => (minutes, true),
        None => {
            let number = c.number(|n| !n.ordinal && (1..60).contains(&n.value))?;
            let said = c.eat(&["minutes", "minute", "mins", "min"]);
            // Nobody counts hours by twenties, so these are minutes without saying so.
            (number.value, said || matches!(number.value, 20 | 25))
        }
    };
    let before = match () {
        () if c.eat(&["past", "after", "passed"]) => false,
        () if c.eat(&["to", "before", "of", "til", "until"]) => {
            if !clear && !sure {
                return None;
            }
            true
        }
        () if minutes == 30 => false,
        () => return None,
    };
    let hour = c.number(|n| !n.ordinal && (1..=12).contains(&n.value));
    let base = match hour {
        Some(hour) => Clock::new(hour.value, 0, 0)?,
        None => named(c)?,
    };
    c.eat(&["o'clock"]);
    let of_day = i32::from(base.hour) * 60 + if before { -1 } else { 1 } * i32::try_from(minutes).ok()?;
    let of_day = u32::try_from(of_day.rem_euclid(24 * 60)).ok()?;
    let mut clock = Clock::new(of_day / 60, of_day % 60, 0)?;
    if !base.fixed {
        // A quarter to one is 12:45, of either half.
        clock.hour = if clock.hour == 0 { 12 } else { clock.hour };
        clock.fixed = false;
    } else {
        clock.fixed = true;
    }
    meridiem(c, clock)
}

/// "9:30", "7:56:30 pm", "9 am", "8.10 pm", "530 am".
fn digits(c: &mut Cursor) -> Option<Clock> {
    let hour = c.number(|n| !n.ordinal && n.digits <= 4)?;
    if c.sign(&[':']).is_some() {
        let minute = c.number(|n| n.digits == 2)?;
        let second = c.attempt(|c| {
            c.sign(&[':'])?;
            c.number(|n| n.digits == 2)
        });
        let clock = Clock::new(hour.value, minute.value, second.map_or(0, |s| s.value))?;
        if c.eat(HOURS) {
            return Some(clock.as_written());
        }
        c.eat(&["o'clock"]);
        return meridiem(c, clock);
    }
    let minute = c.attempt(|c| {
        let _ = c.sign(&['.']).is_some() || c.eat(&["and"]);
        c.number(|n| !n.ordinal && n.value < 60 && (n.digits == 2 || n.digits == 0))
    });
    c.sign(&['.']);
    // Five hundred and thirty is how a recogniser hears five thirty.
    let clock = if hour.value > 100 && minute.is_none() {
        Clock::new(hour.value / 100, hour.value % 100, 0)?
    } else {
        Clock::new(hour.value, minute.map_or(0, |m| m.value), 0)?
    };
    let pm = c.word(half_word)?;
    match pm {
        Some(pm) => clock.half(pm),
        None => Some(clock),
    }
}

fn oclock(c: &mut Cursor) -> Option<Clock> {
    let hour = c.number(|n| !n.ordinal && n.digits <= 2)?;
    let marked = c.eat(&["o'clock", "ish"]);
    marked.then_some(())?;
    meridiem(c, Clock::new(hour.value, 0, 0)?)
}

/// "6.45", "16.30 hours".
pub fn dotted(c: &mut Cursor) -> Option<Clock> {
    let hour = c.number(|n| !n.ordinal && matches!(n.digits, 1 | 2))?;
    c.sign(&['.'])?;
    let minute = c.number(|n| n.digits == 2)?;
    let clock = Clock::new(hour.value, minute.value, 0)?;
    Some(if c.eat(HOURS) { clock.as_written() } else { clock })
}

fn bare(c: &mut Cursor) -> Option<Clock> {
    let hour = c.number(|n| !n.ordinal && n.digits <= 2)?;
    Clock::new(hour.value, 0, 0)
}

fn meridiem(c: &mut Cursor, clock: Clock) -> Option<Clock> {
    match c.word(half_word) {
        Some(Some(pm)) => clock.half(pm),
        Some(None) | None => Some(clock),
    }
}

/// `Some(None)` is "am/pm" written out, as forms do: it says nothing.
fn half_word(word: &str) -> Option<Option<bool>> {
    match word {
        "am" => Some(Some(false)),
        "pm" => Some(Some(true)),
        "ampm" => Some(None),
        _ => None,
    }
}
