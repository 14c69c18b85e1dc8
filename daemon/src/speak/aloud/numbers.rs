//! Numbers in words: counts, parts, years, rows of digits, and what is measured.

use tools::when::{CARDINALS as ONES, TENS};

use super::{Said, Token};

const GROUPS: [&str; 5] = ["", " thousand", " million", " billion", " trillion"];
/// A longer row of digits is no count that anybody could follow.
const MAX_DIGITS: usize = 15;

/// A number as it was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Number {
    negative: bool,
    /// Without separators.
    whole: String,
    /// What stands behind the point.
    part: String,
}

impl Number {
    /// "12", "-3.5", "1,234.50", "+49".
    pub fn of(text: &str) -> Option<Number> {
        let (negative, text) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let (whole, part) = match text.split_once('.') {
            Some((whole, part)) => (whole, Some(part)),
            None => (text, None),
        };
        let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        if part.is_some_and(|part| !digits(part)) {
            return None;
        }
        let mut groups = whole.split(',');
        let first = groups.next().filter(|first| digits(first))?;
        let mut all = first.to_owned();
        for group in groups {
            if group.len() != 3 || !digits(group) || first.len() > 3 {
                return None;
            }
            all.push_str(group);
        }
        Some(Number {
            negative,
            whole: all,
            part: part.unwrap_or_default().to_owned(),
        })
    }

    /// So many.
    pub fn is_one(&self) -> bool {
        self.part.is_empty() && self.whole == "1"
    }

    /// In words.
    pub fn words(&self) -> String {
        let mut words = match self.negative {
            true => "minus ".to_owned(),
            false => String::new(),
        };
        match self.count() {
            Some(count) => words.push_str(&cardinal(count)),
            None => words.push_str(&digits(&self.whole)),
        }
        if !self.part.is_empty() {
            words.push_str(" point ");
            words.push_str(&digits(&self.part));
        }
        words
    }

    /// The whole, if it is a count and no row of digits.
    pub fn count(&self) -> Option<u64> {
        let row = self.whole.len() > MAX_DIGITS || (self.whole.len() > 1 && self.whole.starts_with('0'));
        self.whole.parse().ok().filter(|_| !row)
    }

    /// What stands behind the point.
    pub fn part(&self) -> &str {
        &self.part
    }
}

/// Digit by digit.
pub fn digits(row: &str) -> String {
    let names: Vec<&str> = row
        .bytes()
        .filter_map(|byte| ONES.get(usize::from(byte.wrapping_sub(b'0'))).copied())
        .collect();
    names.join(" ")
}

/// "one hundred and five": as it is counted.
pub fn cardinal(number: u64) -> String {
    if number < 1000 {
        return hundreds(number);
    }
    let mut words = Vec::new();
    for group in (0..GROUPS.len()).rev() {
        let value = number / 1000u64.pow(group as u32) % 1000;
        if value > 0 {
            let and = group == 0 && value < 100;
            words.push(format!(
                "{}{}{}",
                if and { "and " } else { "" },
                hundreds(value),
                GROUPS[group]
            ));
        }
    }
    words.join(" ")
}

fn hundreds(number: u64) -> String {
    let (hundred, rest) = (number / 100, number % 100);
    match (hundred, rest) {
        (0, rest) => tens(rest),
        (_, 0) => format!("{} hundred", ONES[hundred as usize % 20]),
        _ => format!("{} hundred and {}", ONES[hundred as usize % 20], tens(rest)),
    }
}

/// A number below a hundred; of a larger one, its last two digits.
fn tens(number: u64) -> String {
    let number = number as usize % 100;
    match number {
        0..20 => ONES[number].to_owned(),
        _ if number.is_multiple_of(10) => TENS[number / 10 - 2].to_owned(),
        _ => format!("{}-{}", TENS[number / 10 - 2], ONES[number % 10]),
    }
}

/// "twenty-first".
pub fn ordinal(number: u64) -> String {
    let words = cardinal(number);
    let cut = words.rfind([' ', '-']).map_or(0, |at| at + 1);
    let (start, last) = words.split_at(cut);
    let last = match last {
        "one" => "first".to_owned(),
        "two" => "second".to_owned(),
        "three" => "third".to_owned(),
        "five" => "fifth".to_owned(),
        "eight" => "eighth".to_owned(),
        "nine" => "ninth".to_owned(),
        "twelve" => "twelfth".to_owned(),
        tens if tens.ends_with('y') => format!("{}ieth", &tens[..tens.len() - 1]),
        other => format!("{other}th"),
    };
    format!("{start}{last}")
}

/// "twenty twenty-six", "nineteen oh five", "two thousand and eight".
pub fn year(year: u64) -> String {
    let (century, rest) = (year / 100, year % 100);
    match (century, rest) {
        (20, 0..10) => cardinal(year),
        (10, 0..10) => cardinal(year),
        (_, 0) => format!("{} hundred", tens(century)),
        (_, 1..10) => format!("{} oh {}", tens(century), tens(rest)),
        _ => format!("{} {}", tens(century), tens(rest)),
    }
}

/// Words before a number that make it a year.
const YEARS: &[&str] = &[
    "in", "since", "until", "till", "before", "after", "year", "early", "late", "mid", "spring", "summer",
    "autumn", "fall", "winter", "circa",
];

/// Whether four digits are a year, by what stands before them.
pub fn is_year(word: &str, before: &str) -> Option<u64> {
    let number: u64 = word.parse().ok().filter(|_| word.len() == 4)?;
    let known =
        YEARS.iter().any(|year| before.eq_ignore_ascii_case(year)) || super::times::month(before).is_some();
    Some(number).filter(|number| known && (1100..2100).contains(number))
}

/// What is measured: how it is written, one of it, and more of it.
const UNITS: &[(&str, &str, &str)] = &[
    ("km/h", "kilometre an hour", "kilometres an hour"),
    ("mph", "mile an hour", "miles an hour"),
    ("m/s", "metre a second", "metres a second"),
    ("km", "kilometre", "kilometres"),
    ("m", "metre", "metres"),
    ("cm", "centimetre", "centimetres"),
    ("mm", "millimetre", "millimetres"),
    ("m²", "square metre", "square metres"),
    ("m³", "cubic metre", "cubic metres"),
    ("mi", "mile", "miles"),
    ("ft", "foot", "feet"),
    ("kg", "kilogram", "kilograms"),
    ("g", "gram", "grams"),
    ("mg", "milligram", "milligrams"),
    ("lb", "pound", "pounds"),
    ("lbs", "pound", "pounds"),
    ("oz", "ounce", "ounces"),
    ("l", "litre", "litres"),
    ("L", "litre", "litres"),
    ("ml", "millilitre", "millilitres"),
    ("mL", "millilitre", "millilitres"),
    ("B", "byte", "bytes"),
    ("kB", "kilobyte", "kilobytes"),
    ("KB", "kilobyte", "kilobytes"),
    ("KiB", "kibibyte", "kibibytes"),
    ("MB", "megabyte", "megabytes"),
    ("MiB", "mebibyte", "mebibytes"),
    ("GB", "gigabyte", "gigabytes"),
    ("GiB", "gibibyte", "gibibytes"),
    ("TB", "terabyte", "terabytes"),
    ("TiB", "tebibyte", "tebibytes"),
    ("Mbit/s", "megabit a second", "megabits a second"),
    ("h", "hour", "hours"),
    ("hr", "hour", "hours"),
    ("hrs", "hour", "hours"),
    ("min", "minute", "minutes"),
    ("mins", "minute", "minutes"),
    ("s", "second", "seconds"),
    ("sec", "second", "seconds"),
    ("secs", "second", "seconds"),
    ("ms", "millisecond", "milliseconds"),
    ("W", "watt", "watts"),
    ("kW", "kilowatt", "kilowatts"),
    ("kWh", "kilowatt hour", "kilowatt hours"),
    ("Wh", "watt hour", "watt hours"),
    ("V", "volt", "volts"),
    ("mA", "milliampere", "milliamperes"),
    ("mAh", "milliampere hour", "milliampere hours"),
    ("Hz", "hertz", "hertz"),
    ("kHz", "kilohertz", "kilohertz"),
    ("MHz", "megahertz", "megahertz"),
    ("GHz", "gigahertz", "gigahertz"),
    ("dB", "decibel", "decibels"),
    ("hPa", "hectopascal", "hectopascals"),
    ("mbar", "millibar", "millibars"),
    ("°C", "degree Celsius", "degrees Celsius"),
    ("°F", "degree Fahrenheit", "degrees Fahrenheit"),
    ("°", "degree", "degrees"),
    ("%", "percent", "percent"),
    ("x", "time", "times"),
];

/// How so many of a unit are called.
fn unit(number: &Number, unit: &str) -> Option<&'static str> {
    let (_, one, more) = UNITS.iter().find(|(written, _, _)| *written == unit)?;
    Some(if number.is_one() { one } else { more })
}

/// Where the number at the start of a word ends.
fn split(word: &str) -> (&str, &str) {
    let end = word
        .char_indices()
        .find(|(at, c)| {
            !(c.is_ascii_digit() || matches!(c, '.' | ',') || (*at == 0 && matches!(c, '-' | '+')))
        })
        .map_or(word.len(), |(at, _)| at);
    word.split_at(end)
}

/// A number with what belongs to it.
pub fn said(tokens: &[Token], at: usize, before: &str) -> Said {
    let token = tokens[at];
    let word = token.word;
    if let Some(number) = is_year(word, before) {
        // "in 2000 metres" is no year.
        let measured = tokens
            .get(at + 1)
            .is_some_and(|next| token.goes_on() && is_unit(next.word));
        if !measured {
            return Some((year(number), 1));
        }
    }
    if let Some(row) = phone(tokens, at) {
        return Some(row);
    }
    if let Some(number) = Number::of(word) {
        let next = tokens.get(at + 1).filter(|_| token.goes_on());
        if let Some(next) = next.filter(|next| next.before.is_empty())
            && let Some(unit) = unit(&number, next.word).filter(|_| next.word != "x")
        {
            return Some((format!("{} {unit}", number.words()), 2));
        }
        return Some((number.words(), 1));
    }
    if let Some(measured) = decade(word).or_else(|| measured(word)) {
        return Some((measured, 1));
    }
    let said = plain(word, before)?;
    // "10-15 km" are several.
    let next = tokens
        .get(at + 1)
        .filter(|next| token.goes_on() && next.before.is_empty());
    match next.and_then(|next| {
        UNITS
            .iter()
            .find(|(written, _, _)| *written == next.word && *written != "x")
    }) {
        Some((_, _, more)) => Some((format!("{said} {more}"), 2)),
        None => Some((said, 1)),
    }
}

fn is_unit(word: &str) -> bool {
    UNITS.iter().any(|(written, _, _)| *written == word)
}

/// "5km", "21°C", "1h30m", "50%".
fn measured(word: &str) -> Option<String> {
    let mut parts = Vec::new();
    let mut rest = word;
    while !rest.is_empty() {
        let (written, after) = split(rest);
        let number = Number::of(written)?;
        let end = after.find(|c: char| c.is_ascii_digit()).unwrap_or(after.len());
        // "1h30m" are minutes, and "30m" alone are metres.
        let name = match (&after[..end], parts.is_empty() && end == after.len()) {
            ("m", false) => "min",
            (name, _) => name,
        };
        parts.push(format!("{} {}", number.words(), unit(&number, name)?));
        rest = &after[end..];
    }
    Some(parts.join(" ")).filter(|said| !said.is_empty())
}

/// A number alone: "12", "3rd", "3-5", "1/2", "1.2.3", "3:1"; nothing when it is none.
pub fn plain(word: &str, before: &str) -> Option<String> {
    if let Some(number) = is_year(word, before) {
        return Some(year(number));
    }
    if let Some(number) = Number::of(word) {
        return Some(number.words());
    }
    if let Some(number) = word.strip_prefix('+').and_then(Number::of) {
        return Some(format!("plus {}", number.words()));
    }
    for ending in ["st", "nd", "rd", "th"] {
        if let Some(count) = word
            .strip_suffix(ending)
            .and_then(Number::of)
            .and_then(|n| n.count())
        {
            return Some(ordinal(count));
        }
    }
    match word {
        "1/2" | "½" => return Some("one half".to_owned()),
        "1/4" | "¼" => return Some("one quarter".to_owned()),
        "3/4" | "¾" => return Some("three quarters".to_owned()),
        "1/3" => return Some("one third".to_owned()),
        "2/3" => return Some("two thirds".to_owned()),
        "24/7" => return Some("twenty-four seven".to_owned()),
        _ => {}
    }
    for (mark, between) in [
        ('-', " to "),
        ('–', " to "),
        (':', " to "),
        ('/', " slash "),
        ('x', " by "),
        ('×', " by "),
    ] {
        if let Some((left, right)) = word.split_once(mark).filter(|(left, _)| !left.is_empty()) {
            let (_, unit) = split(right);
            let whole = &right[..right.len() - unit.len()];
            if let (Some(left), Some(number)) = (Number::of(left), Number::of(whole)) {
                let years = (is_year(&left.whole, "in"), is_year(&number.whole, "in"));
                if let ((Some(from), Some(to)), true) = (years, unit.is_empty() && mark != 'x') {
                    return Some(format!("{} to {}", year(from), year(to)));
                }
                let unit = match unit {
                    "" => String::new(),
                    unit => format!(" {}", self::unit(&number, unit)?),
                };
                return Some(format!("{}{between}{}{unit}", left.words(), number.words()));
            }
        }
    }
    // Versions and addresses of machines.
    let parts: Vec<&str> = word.split('.').collect();
    if parts.len() > 2 && parts.iter().all(|part| Number::of(part).is_some()) {
        let parts: Vec<String> = parts
            .iter()
            .filter_map(|part| Some(Number::of(part)?.words()))
            .collect();
        return Some(parts.join(" point "));
    }
    None
}

/// "1990s".
fn decade(word: &str) -> Option<String> {
    let digits = word
        .strip_suffix('s')
        .filter(|digits| digits.len() == 4 && digits.ends_with('0'))?;
    let words = year(is_year(digits, "in")?);
    Some(match words.strip_suffix('y') {
        Some(tens) => format!("{tens}ies"),
        None => format!("{words}s"),
    })
}

/// A telephone number: a plus or a nought, and groups of digits.
fn phone(tokens: &[Token], at: usize) -> Said {
    let grouped = |word: &str| {
        let bare: String = word
            .chars()
            .filter(|c| !matches!(c, '-' | '/' | '(' | ')'))
            .collect();
        Some(bare).filter(|bare| !bare.is_empty() && bare.bytes().all(|byte| byte.is_ascii_digit()))
    };
    let first = tokens[at].word;
    let plus = first.starts_with('+');
    let head = grouped(first.trim_start_matches('+'))?;
    let national = head.starts_with('0') && head.len() > 2;
    if !plus && !national {
        return None;
    }
    let mut rows = vec![digits(&head)];
    let (mut count, mut length) = (1, head.len());
    while count < 8 && tokens[at + count - 1].goes_on() {
        let Some(row) = tokens.get(at + count).and_then(|token| grouped(token.word)) else {
            break;
        };
        length += row.len();
        rows.push(digits(&row));
        count += 1;
    }
    let sign = if plus { "plus " } else { "" };
    (length >= 6).then(|| (format!("{sign}{}", rows.join(", ")), count))
}
