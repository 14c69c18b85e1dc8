//! Holidays by name, each with the rule that it is computed by. Where countries differ there are several rules, the one
//! that most English speakers mean first; feasts that are set by sighting or decree are left out rather than guessed.

use jiff::{
    ToSpan,
    civil::{Date, Weekday},
};

use super::{cursor::Cursor, lexer::Token};

/// A holiday: its names without apostrophes, and its rules.
#[derive(Debug, PartialEq)]
pub struct Holiday {
    names: &'static [&'static str],
    pub rules: &'static [Rule],
}

/// How a holiday's day in a year is found.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Rule {
    /// Month and day.
    Fixed(i8, i8),
    /// The nth weekday of a month, from its end when negative, and so many days after it.
    Nth(i8, i8, Weekday, i8),
    /// The last such weekday up to a month and day, and so many days after it.
    UpTo(i8, i8, Weekday, i8),
    /// So many days after western Easter Sunday.
    Easter(i8),
}

use Rule::{Easter, Fixed, Nth, UpTo};
use Weekday::{Monday, Sunday, Thursday};

/// Sources: 5 U.S.C. 6103 for the federal holidays of the United States, the Banking and Financial Dealings Act 1971 for
/// those of the United Kingdom, the Holidays Act for Canada's; the others are fixed or follow Easter.
const HOLIDAYS: &[Holiday] = &[
    of(&["new years eve", "new year eve", "silvester"], &[Fixed(12, 31)]),
    of(&["new years", "new year"], &[Fixed(1, 1)]),
    of(&["epiphany", "three kings"], &[Fixed(1, 6)]),
    of(
        &[
            "martin luther king jr",
            "martin luther king junior",
            "martin luther king",
            "mlk",
        ],
        &[Nth(1, 3, Monday, 0)],
    ),
    of(&["burns night"], &[Fixed(1, 25)]),
    of(&["australia day"], &[Fixed(1, 26)]),
    of(&["groundhog day"], &[Fixed(2, 2)]),
    of(
        &["saint valentines", "st valentines", "valentines", "valentine"],
        &[Fixed(2, 14)],
    ),
    of(
        &["presidents day", "president day", "washingtons birthday"],
        &[Nth(2, 3, Monday, 0)],
    ),
    of(
        &[
            "mardi gras",
            "shrove tuesday",
            "fat tuesday",
            "pancake day",
            "pancake tuesday",
        ],
        &[Easter(-47)],
    ),
    of(&["ash wednesday"], &[Easter(-46)]),
    of(&["international womens day", "womens day"], &[Fixed(3, 8)]),
    of(&["pi day"], &[Fixed(3, 14)]),
    of(
        &[
            "saint patricks",
            "st patricks",
            "saint patrick",
            "st patrick",
            "st paddys",
        ],
        &[Fixed(3, 17)],
    ),
    of(&["mothering sunday"], &[Easter(-21)]),
    of(&["palm sunday"], &[Easter(-7)]),
    of(&["maundy thursday", "holy thursday"], &[Easter(-3)]),
    of(&["good friday"], &[Easter(-2)]),
    of(&["holy saturday", "easter saturday"], &[Easter(-1)]),
    of(&["easter monday"], &[Easter(1)]),
    of(&["easter sunday", "easter"], &[Easter(0)]),
    of(&["ascension day", "ascension"], &[Easter(39)]),
    of(&["pentecost monday", "whit monday"], &[Easter(50)]),
    of(
        &["pentecost sunday", "pentecost", "whit sunday", "whitsun"],
        &[Easter(49)],
    ),
    of(&["corpus christi"], &[Easter(60)]),
    of(&["april fools", "all fools"], &[Fixed(4, 1)]),
    of(&["earth day"], &[Fixed(4, 22)]),
    of(&["saint georges", "st georges"], &[Fixed(4, 23)]),
    of(&["anzac day"], &[Fixed(4, 25)]),
    of(
        &[
            "international workers day",
            "international labour day",
            "workers day",
            "may day",
        ],
        &[Fixed(5, 1)],
    ),
    of(&["labour day"], &[Fixed(5, 1), Nth(9, 1, Monday, 0)]),
    of(
        &["early may bank holiday", "may bank holiday"],
        &[Nth(5, 1, Monday, 0)],
    ),
    of(&["cinco de mayo"], &[Fixed(5, 5)]),
    of(
        &["mothers day", "mother day"],
        &[Nth(5, 2, Sunday, 0), Easter(-21)],
    ),
    of(&["victoria day"], &[UpTo(5, 24, Monday, 0)]),
    of(&["memorial day"], &[Nth(5, -1, Monday, 0)]),
    of(&["spring bank holiday"], &[Nth(5, -1, Monday, 0)]),
    of(&["flag day"], &[Fixed(6, 14)]),
    of(
        &["fathers day", "father day"],
        &[Nth(6, 3, Sunday, 0), Nth(9, 1, Sunday, 0)],
    ),
    of(&["juneteenth"], &[Fixed(6, 19)]),
    of(&["canada day"], &[Fixed(7, 1)]),
    of(&["independence day"], &[Fixed(7, 4)]),
    of(&["bastille day"], &[Fixed(7, 14)]),
    of(
        &["summer bank holiday", "august bank holiday"],
        &[Nth(8, -1, Monday, 0)],
    ),
    of(&["labor day"], &[Nth(9, 1, Monday, 0), Fixed(5, 1)]),
    of(&["german unity day", "day of german unity"], &[Fixed(10, 3)]),
    of(
        &["indigenous peoples day", "columbus day"],
        &[Nth(10, 2, Monday, 0)],
    ),
    of(&["halloween", "all hallows eve"], &[Fixed(10, 31)]),
    of(&["all saints day", "all saints", "all hallows"], &[Fixed(11, 1)]),
    of(
        &["all souls day", "all souls", "day of the dead"],
        &[Fixed(11, 2)],
    ),
    of(
        &["guy fawkes night", "guy fawkes", "bonfire night"],
        &[Fixed(11, 5)],
    ),
    of(&["election day"], &[Nth(11, 1, Monday, 1)]),
    of(
        &["veterans day", "veteran day", "remembrance day", "armistice day"],
        &[Fixed(11, 11)],
    ),
    of(
        &["thanksgiving"],
        &[Nth(11, 4, Thursday, 0), Nth(10, 2, Monday, 0)],
    ),
    of(&["black friday"], &[Nth(11, 4, Thursday, 1)]),
    of(&["cyber monday"], &[Nth(11, 4, Thursday, 4)]),
    of(&["giving tuesday"], &[Nth(11, 4, Thursday, 5)]),
    of(&["saint andrews", "st andrews"], &[Fixed(11, 30)]),
    of(&["advent sunday", "advent"], &[UpTo(12, 24, Sunday, -21)]),
    of(&["saint nicholas", "st nicholas"], &[Fixed(12, 6)]),
    of(&["christmas", "xmas"], &[Fixed(12, 25)]),
    of(&["boxing day", "saint stephens", "st stephens"], &[Fixed(12, 26)]),
    of(&["kwanzaa"], &[Fixed(12, 26)]),
];

const fn of(names: &'static [&'static str], rules: &'static [Rule]) -> Holiday {
    Holiday { names, rules }
}

impl Rule {
    /// The day in a year.
    pub fn in_year(self, year: i16) -> Option<Date> {
        let (base, after) = match self {
            Fixed(month, day) => (Date::new(year, month, day).ok()?, 0),
            Nth(month, nth, weekday, after) => {
                let first = Date::new(year, month, 1).ok()?;
                (first.nth_weekday_of_month(nth, weekday).ok()?, after)
            }
            UpTo(month, day, weekday, after) => {
                let last = Date::new(year, month, day).ok()?;
                let back = i64::from(weekday.until(last.weekday()));
                (last.checked_sub(back.days()).ok()?, after)
            }
            Easter(after) => (easter(year)?, after),
        };
        base.checked_add(i64::from(after).days()).ok()
    }
}

/// Easter Sunday of the Gregorian calendar, by the anonymous algorithm (Meeus, Astronomical Algorithms, chapter 8).
fn easter(year: i16) -> Option<Date> {
    let y = i32::from(year);
    (y > 0).then_some(())?;
    let (a, b, c) = (y % 19, y / 100, y % 100);
    let g = (8 * b + 13) / 25;
    let h = (19 * a + b - b / 4 - g + 15) % 30;
    let l = (32 + 2 * (b % 4) + 2 * (c / 4) - h - c % 4) % 7;
    let m = (a + 11 * h + 22 * l) / 451;
    let n = h + l - 7 * m + 114;
    Date::new(year, i8::try_from(n / 31).ok()?, i8::try_from(n % 31 + 1).ok()?).ok()
}

/// The holiday whose name stands here, and by how many days an "eve" moves it.
pub fn holiday(c: &mut Cursor) -> Option<(&'static Holiday, i32)> {
    let eve_of = c.attempt(|c| {
        c.eat(&["eve"]).then_some(())?;
        c.eat(&["of"]).then_some(())
    });
    // The longest name: "easter monday" begins with "easter".
    let (words, holiday) = HOLIDAYS
        .iter()
        .flat_map(|holiday| holiday.names.iter().map(move |name| (*name, holiday)))
        .filter(|(name, _)| named(&mut c.clone(), name).is_some())
        .max_by_key(|(name, _)| name.len())?;
    named(c, words)?;
    c.eat(&["day"]);
    let eve = c.eat(&["eve"]);
    Some((holiday, if eve || eve_of.is_some() { -1 } else { 0 }))
}

/// Takes a name; apostrophes, and the dot of "St.", are written or not.
fn named(c: &mut Cursor, name: &str) -> Option<()> {
    for expected in name.split(' ') {
        c.word(|word| {
            let plain = word.replace('\'', "");
            (plain == expected).then_some(())
        })?;
        if expected == "st" {
            c.sign(&['.']);
        }
    }
    // "new year" is no holiday in "new year two thousand", but it is before "'s".
    match c.peek() {
        Some(Token::Word(word)) if word == "s" => c.skip(1),
        _ => Some(()),
    }
}
