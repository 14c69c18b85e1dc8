//! Units of measure as people name them, and what the calculator calls them. Nothing that is not in the table reaches the
//! calculator, so none of its many other units, functions or currencies can surprise.

use super::{heard, sums};

const UNITS: &str = include_str!("units.tsv");
/// Money is no measure: its rates change, and none are known without the network.
const MONEY: &[&str] = &[
    "dollar",
    "euro",
    "pound sterling",
    "sterling",
    "quid",
    "buck",
    "cent",
    "yen",
    "yuan",
    "rupee",
    "franc",
    "peso",
    "ruble",
    "won",
    "lira",
    "krona",
    "real",
    "bitcoin",
    "usd",
    "eur",
    "gbp",
    "jpy",
    "cny",
    "inr",
    "chf",
    "aud",
    "cad",
    "btc",
    "$",
    "€",
    "£",
    "¥",
    "us dollar",
    "canadian dollar",
    "australian dollar",
    "british pound",
    "swiss franc",
    "indian rupee",
];

/// A unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unit {
    /// What it measures: "length".
    pub measures: &'static str,
    calculator: &'static str,
    factor: &'static str,
    /// Its name for one.
    pub one: &'static str,
    /// Its name for many.
    pub many: &'static str,
    names: &'static str,
}

/// The units that a name may mean, the usual one first; misheard names too. Empty when none is known.
pub fn find(said: &str) -> Vec<Unit> {
    let name = bare(said);
    let units = table();
    let named = |unit: &Unit| unit.all_names().any(|n| n.to_lowercase() == name);
    let exact: Vec<Unit> = units.iter().filter(|u| named(u)).copied().collect();
    // Two letters sound like too many things.
    if !exact.is_empty() || name.chars().count() < 4 {
        return exact;
    }
    // A mile is not a mile per hour that was heard in part.
    let words = name.split(' ').count();
    let heard = heard::pick(&name, &units, |u| {
        let names = [u.one, u.many].into_iter().chain(u.names.split('|'));
        names
            .filter(|n| n.split(' ').count() == words)
            .map(|n| (n, 1.0))
            .collect()
    });
    let best = heard::contenders(&heard);
    heard.into_iter().take(best).map(|(_, unit)| *unit).collect()
}

/// Whether this is a name of a unit, letter for letter.
pub fn is_name(said: &str) -> bool {
    let name = said.to_lowercase();
    table()
        .iter()
        .any(|unit| unit.all_names().any(|n| n.to_lowercase() == name))
}

/// Whether a name is that of money.
pub fn is_money(said: &str) -> bool {
    let name = bare(said);
    let one = name.strip_suffix('s').unwrap_or(&name);
    MONEY.iter().any(|money| *money == name || *money == one)
}

/// So much of one unit in another; the error is a part of a sentence. The units must measure the same.
///
/// # Errors
/// What the calculator cannot do, in words.
pub fn convert(amount: &str, from: Unit, to: Unit) -> Result<sums::Answer, String> {
    // What is no real number would look like one before a unit.
    sums::evaluate(amount)?;
    let scale = format!("(({amount})*{}/{})", from.factor, to.factor);
    sums::evaluate_in(&format!("{scale} {}", from.calculator), to.calculator)
}

impl Unit {
    fn all_names(&self) -> impl Iterator<Item = &'static str> {
        [self.one, self.many]
            .into_iter()
            .chain(self.names.split('|'))
            .filter(|n| !n.is_empty())
    }
}

fn table() -> Vec<Unit> {
    let unit = |line: &'static str| {
        let mut fields = line.split('\t');
        let mut next = || fields.next().unwrap_or_default();
        Unit {
            measures: next(),
            calculator: next(),
            factor: next(),
            one: next(),
            many: next(),
            names: next(),
        }
    };
    UNITS
        .lines()
        .filter(|line| !line.starts_with('#'))
        .map(unit)
        .collect()
}

fn bare(said: &str) -> String {
    let lower = said.trim().to_lowercase();
    let lower = lower.trim_end_matches(['.', '?']);
    let words = lower
        .split_whitespace()
        .filter(|w| !matches!(*w, "the" | "a" | "an" | "of" | "in"));
    let joined: Vec<&str> = words.collect();
    // "in" alone is inches.
    if joined.is_empty() {
        lower.to_owned()
    } else {
        joined.join(" ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_unit_of_the_table_is_one_of_the_calculator() {
        let units = table();
        assert!(units.len() > 70);
        for unit in &units {
            let same = convert("1", *unit, *unit).map(|a| a.digits);
            assert_eq!(same.as_deref(), Ok("1"), "{unit:?}");
            let first = units.iter().find(|u| u.measures == unit.measures).unwrap();
            assert!(convert("1", *unit, *first).is_ok(), "{unit:?}");
        }
    }

    #[test]
    fn names_are_found_as_said_and_as_heard() {
        let check = |said: &str, expect: &[&str]| {
            let found: Vec<&str> = find(said).iter().map(|u| u.many).collect();
            assert_eq!(found, expect, "{said:?}");
        };
        check("Kilometers", &["kilometres"]);
        check("a mile", &["miles"]);
        check("in", &["inches"]);
        check("killometers", &["kilometres"]);
        check("farenheit", &["degrees Fahrenheit"]);
        check("miless", &["miles"]);
        check("ounces", &["ounces", "US fluid ounces"]);
        check("gallons", &["US gallons", "imperial gallons"]);
        for stranger in ["bananas", "", "e", "\u{202e}", "roll d6", "version"] {
            check(stranger, &[]);
        }
        assert!(is_money("dollars") && is_money("EUR") && is_money("british pounds") && !is_money("pounds"));
    }
}
