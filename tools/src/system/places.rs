//! The time zones of places: IANA names, cities, countries, abbreviations, offsets from UTC; as said and as misheard.

use jiff::{
    Zoned,
    tz::{self, Offset, TimeZone},
};

use super::{heard, plain};
use crate::contract::ToolError;

/// Names that are no zone names, with their zones: `name|name<TAB>Zone Zone`.
const PLACES: &str = include_str!("places.tsv");
/// Folders of the database that name zones a second time, by words that [`PLACES`] has with more care.
const SKIPPED: &[&str] = &[
    "Etc", "US", "Canada", "Mexico", "Brazil", "Chile", "SystemV", "posix", "right",
];
/// Longest name that is looked for, in characters.
const MAX_NAME: usize = 80;

/// A place and its clock.
#[derive(Debug, Clone)]
pub struct Place {
    /// As it is said: "Tokyo".
    pub name: String,
    /// Its zone.
    pub zone: TimeZone,
}

/// What a name means.
#[derive(Debug)]
pub enum Found {
    /// Where the person is.
    Here,
    /// One clock.
    One(Place),
    /// Several that differ; the names of their zones.
    Several(Vec<String>),
    /// Nothing that is known.
    Unknown,
}

/// The one clock that a name means; nothing for the person's own.
///
/// # Errors
/// `Tell`: it is unknown, or could be several.
pub fn one(said: &str, now: &Zoned) -> Result<Option<Place>, ToolError> {
    let name = plain::one_line(said, 60);
    match find(said, now) {
        Found::Here => Ok(None),
        Found::One(place) => Ok(Some(place)),
        Found::Several(zones) => Err(ToolError::tell(format!(
            "{name} could be the time of {}. Which one?",
            plain::listed(&zones, "or")
        ))),
        Found::Unknown => Err(ToolError::tell(format!(
            "I do not know the time zone of {name}. Name a large city near it."
        ))),
    }
}

/// Whether this is a name of a place or a zone that is known, letter for letter.
pub fn is_name(said: &str) -> bool {
    let all = || all().into_iter().any(|(name, _)| same(&name, said));
    said.chars().count() <= MAX_NAME && said.chars().any(char::is_alphabetic) && all()
}

/// The clock that a name means at this time of year.
pub fn find(said: &str, now: &Zoned) -> Found {
    if said.chars().count() > MAX_NAME {
        return Found::Unknown;
    }
    if let Some(place) = offset(said) {
        return Found::One(place);
    }
    let name = bare(said);
    if matches!(
        name.as_str(),
        "" | "here" | "my" | "local" | "home" | "mine" | "our" | "current"
    ) {
        return Found::Here;
    }
    let all = all();
    let exact: Vec<&(String, String)> = all
        .iter()
        .filter(|(n, zone)| same(n, &name) || zone.eq_ignore_ascii_case(said.trim()))
        .collect();
    // No place has a number in its name, and an offset that does not exist is not UTC.
    let numbered = name.contains(|c: char| c.is_ascii_digit() || c == '+');
    let found = if exact.is_empty() && numbered {
        Vec::new()
    } else if exact.is_empty() {
        let heard = heard::pick(&name, &all, |(n, _)| vec![(n.as_str(), 1.0)]);
        let count = heard::contenders(&heard);
        nearest(
            &name,
            heard.into_iter().take(count).map(|(_, item)| item).collect(),
        )
    } else {
        exact
    };
    let mut places: Vec<(&str, Place)> = Vec::new();
    for (name, zone) in found {
        let Ok(zone) = TimeZone::get(zone) else {
            continue;
        };
        let place = Place {
            name: name.clone(),
            zone,
        };
        if !places.iter().any(|(_, p)| alike(&p.zone, &place.zone, now)) {
            places.push((name, place));
        }
    }
    match places.len() {
        0 => Found::Unknown,
        1 => Found::One(places.remove(0).1),
        // One name for several clocks says nothing; their cities do.
        _ if places.iter().all(|(name, _)| same(name, places[0].0)) => {
            Found::Several(places.iter().map(|(_, p)| city(&p.zone)).collect())
        }
        _ => Found::Several(places.into_iter().map(|(_, p)| p.name).collect()),
    }
}

/// Of names that sound the same, those that also look it: "sidney" is Sydney rather than Sweden.
fn nearest<'a>(said: &str, names: Vec<&'a (String, String)>) -> Vec<&'a (String, String)> {
    let letters = |name: &(String, String)| strsim::jaro_winkler(said, &name.0.to_lowercase());
    let best = names.iter().map(|name| letters(name)).fold(0.0, f64::max);
    names
        .into_iter()
        .filter(|name| best - letters(name) < heard::TOO_CLOSE)
        .collect()
}

/// Every name with a zone; a name with several stands once for each.
fn all() -> Vec<(String, String)> {
    let mut names = Vec::new();
    for line in PLACES.lines().filter(|line| !line.starts_with('#')) {
        if let Some((said, zones)) = line.split_once('\t') {
            for name in said.split('|') {
                names.extend(zones.split(' ').map(|zone| (name.to_owned(), zone.to_owned())));
            }
        }
    }
    for zone in tz::db().available() {
        let zone = zone.as_str();
        let folder = zone.split('/').next().unwrap_or_default();
        if let Some((_, city)) = zone.rsplit_once('/')
            && !SKIPPED.contains(&folder)
        {
            names.push((city.replace('_', " "), zone.to_owned()));
        }
    }
    names
}

/// Without the words around a place: "in Tokyo", "Pacific standard time", "the New York time zone".
fn bare(said: &str) -> String {
    let lower = said.to_lowercase();
    let mut words: Vec<&str> = lower
        .split(|c: char| c.is_whitespace() || c == ',')
        .filter(|w| !w.is_empty())
        .collect();
    while words
        .first()
        .is_some_and(|w| matches!(*w, "in" | "the" | "at" | "for" | "of" | "to"))
    {
        words.remove(0);
    }
    while words.last().is_some_and(|w| {
        matches!(
            *w,
            "time" | "zone" | "timezone" | "standard" | "daylight" | "summer" | "now"
        )
    }) {
        words.pop();
    }
    words.join(" ").trim_end_matches(['.', '?', '!']).to_owned()
}

fn same(name: &str, said: &str) -> bool {
    let plain = |text: &str| -> String {
        text.chars()
            .filter(|c| c.is_alphanumeric())
            .flat_map(char::to_lowercase)
            .collect()
    };
    plain(name) == plain(said)
}

/// Whether two zones show the same clock now, half a year before and half a year later.
fn alike(a: &TimeZone, b: &TimeZone, now: &Zoned) -> bool {
    [-26, 0, 26].into_iter().all(|weeks| {
        let then = now
            .timestamp()
            .checked_add(jiff::SignedDuration::from_hours(weeks * 7 * 24));
        then.is_ok_and(|then| a.to_offset(then) == b.to_offset(then))
    })
}

/// "Buenos Aires" of `America/Argentina/Buenos_Aires`.
fn city(zone: &TimeZone) -> String {
    let name = zone.iana_name().unwrap_or("UTC");
    name.rsplit('/').next().unwrap_or(name).replace('_', " ")
}

/// "UTC+2", "GMT minus five", "+05:30".
fn offset(said: &str) -> Option<Place> {
    let lower = said.trim().to_lowercase();
    let rest = ["utc", "gmt"].iter().find_map(|name| lower.strip_prefix(name));
    let rest = rest.unwrap_or(&lower).trim();
    let (sign, rest) = [("+", 1), ("plus", 1), ("-", -1), ("−", -1), ("minus", -1)]
        .into_iter()
        .find_map(|(word, sign)| Some((sign, rest.strip_prefix(word)?)))?;
    let rest = rest.trim().trim_end_matches(" hours");
    let (hours, minutes) = match rest.split_once([':', '.']) {
        Some((hours, minutes)) => (
            hours,
            minutes.parse::<i32>().ok().filter(|m| (0..60).contains(m))?,
        ),
        None => (rest, 0),
    };
    const WORDS: &str =
        "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen";
    let hours = match WORDS.split(' ').position(|w| w == hours) {
        Some(hours) => i32::try_from(hours).ok()?,
        None => hours.parse().ok().filter(|h| (0..=14).contains(h))?,
    };
    let offset = Offset::from_seconds(sign * (hours * 3600 + minutes * 60)).ok()?;
    let shown = if minutes == 0 {
        hours.to_string()
    } else {
        format!("{hours}:{minutes:02}")
    };
    Some(Place {
        name: format!("UTC{}{shown}", if sign < 0 { '-' } else { '+' }),
        zone: offset.to_time_zone(),
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn now() -> Zoned {
        "2026-11-23T09:30:00[Europe/Berlin]".parse().unwrap()
    }

    #[track_caller]
    fn check(said: &str, expect: &str) {
        let found = match find(said, &now()) {
            Found::Here => "here".to_owned(),
            Found::One(place) => match place.zone.iana_name() {
                Some(zone) => zone.to_owned(),
                None => place.name,
            },
            Found::Several(names) => names.join(" or "),
            Found::Unknown => "unknown".to_owned(),
        };
        assert_eq!(found, expect, "{said:?}");
    }

    #[test]
    fn every_place_in_the_table_has_its_zones() {
        let lines = || PLACES.lines().filter(|line| !line.starts_with('#'));
        assert!(lines().count() > 300);
        for line in lines() {
            let (_, zones) = line.split_once('\t').unwrap();
            for zone in zones.split(' ') {
                assert!(TimeZone::get(zone).is_ok(), "{zone}");
            }
        }
    }

    #[test]
    fn places_are_found_as_said_and_as_heard() {
        check("Tokyo", "Asia/Tokyo");
        check("in new york", "America/New_York");
        check("san francisco", "America/Los_Angeles");
        check("buenos aires", "America/Argentina/Buenos_Aires");
        check("Europe/Berlin", "Europe/Berlin");
        check("japan", "Asia/Tokyo");
        check("the UK", "Europe/London");
        check("new deli", "Asia/Kolkata");
        check("tokio", "Asia/Tokyo");
        check("singapoor", "Asia/Singapore");
        check("sidney", "Australia/Sydney");
        check("pacific standard time", "America/Los_Angeles");
        check("PST", "America/Los_Angeles");
        check("central european time", "Europe/Berlin");
        check("my time", "here");
        check("here", "here");
    }

    #[test]
    fn offsets_are_read() {
        check("UTC+2", "UTC+2");
        check("gmt minus five", "UTC-5");
        check("+05:30", "UTC+5:30");
        check("UTC", "Etc/UTC");
        check("utc+99", "unknown");
        check("utc+5:75", "unknown");
    }

    #[test]
    fn doubtful_names_give_several_and_strangers_none() {
        check("IST", "Kolkata or Dublin or Jerusalem");
        check("Birmingham", "London or Chicago");
        check("Georgia", "Tbilisi or New York");
        check("America", "New York or Chicago or Denver or Los Angeles");
        for stranger in [
            "xyzzyx",
            "the moon base",
            "\u{202e}",
            "../../etc/passwd",
            &"a".repeat(200),
        ] {
            check(stranger, "unknown");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]
        #[test]
        fn nothing_panics(said in "(\\PC|utc|[+-]|[0-9:]){0,40}") {
            let _ = find(&said, &now());
        }
    }
}
