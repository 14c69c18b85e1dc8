//! Dates, times and lists as they are spoken, seen from now. One place, so that every tool speaks alike.

use jiff::{
    Zoned,
    civil::{Date, Time},
};

/// "09:30", and "09:30:15" only when the seconds say something.
pub fn time(time: Time) -> String {
    if time.second() == 0 {
        time.strftime("%H:%M").to_string()
    } else {
        time.strftime("%H:%M:%S").to_string()
    }
}

/// "today", "tomorrow", "yesterday", "Tuesday 1 December"; with the year when it is not the nearest such day.
pub fn day(date: Date, now: &Zoned) -> String {
    let today = now.date();
    let distance = today.until(date).map_or(i32::MAX, |span| span.get_days());
    match distance {
        0 => "today".to_owned(),
        1 => "tomorrow".to_owned(),
        -1 => "yesterday".to_owned(),
        -300..=300 => date.strftime("%A %-d %B").to_string(),
        _ => date.strftime("%A %-d %B %Y").to_string(),
    }
}

/// The same with its preposition: "tomorrow", "on Tuesday 1 December".
pub fn on_day(date: Date, now: &Zoned) -> String {
    let day = day(date, now);
    if day.starts_with(char::is_uppercase) {
        format!("on {day}")
    } else {
        day
    }
}

/// "tomorrow at 09:30".
pub fn moment(at: &Zoned, now: &Zoned) -> String {
    let at = at.with_time_zone(now.time_zone().clone());
    format!("{} at {}", day(at.date(), now), time(at.time()))
}

/// A stretch with its preposition: "tomorrow, 09:30 to 10:30", "on Tuesday 1 December, all day",
/// "from Monday 5 October to Wednesday 7 October". The end is exclusive.
pub fn stretch(start: &Zoned, end: &Zoned, all_day: bool, now: &Zoned) -> String {
    let zone = now.time_zone();
    let (start, end) = (
        start.with_time_zone(zone.clone()),
        end.with_time_zone(zone.clone()),
    );
    if all_day {
        let last = end.date().yesterday().unwrap_or(end.date()).max(start.date());
        return if last == start.date() {
            format!("{}, all day", on_day(last, now))
        } else {
            format!("from {} to {}", day(start.date(), now), day(last, now))
        };
    }
    let from = format!("{}, {}", on_day(start.date(), now), time(start.time()));
    if end <= start {
        from
    } else if end.date() == start.date() {
        format!("{from} to {}", time(end.time()))
    } else {
        format!("{from} to {}", moment(&end, now))
    }
}

/// "no events", "one event", "7 events"; small numbers as words.
pub fn count(number: usize, one: &str, many: &str) -> String {
    const WORDS: [&str; 11] = [
        "no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten",
    ];
    let name = if number == 1 { one } else { many };
    match WORDS.get(number) {
        Some(word) => format!("{word} {name}"),
        None => format!("{number} {name}"),
    }
}

/// The first `most` of the items, and how many more there are: "a, b and 3 more".
pub fn some_of(items: &[String], most: usize) -> String {
    if items.len() <= most {
        return super::plain::listed(items, "and");
    }
    format!("{} and {} more", items[..most].join(", "), items.len() - most)
}

/// With a capital letter at its front.
pub fn sentence(text: &str) -> String {
    let mut chars = text.chars();
    match chars.next() {
        Some(first) => first.to_uppercase().chain(chars).collect(),
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use jiff::{civil::DateTime, tz::TimeZone};

    use super::*;

    fn at(text: &str) -> Zoned {
        let zone = TimeZone::get("Europe/Berlin").unwrap();
        text.parse::<DateTime>().unwrap().to_zoned(zone).unwrap()
    }

    #[test]
    fn days_are_seen_from_now() {
        let now = at("2026-10-02T23:30");
        for (date, expect) in [
            ("2026-10-02", "today"),
            ("2026-10-03", "tomorrow"),
            ("2026-10-01", "yesterday"),
            ("2026-12-01", "on Tuesday 1 December"),
            ("2027-12-01", "on Wednesday 1 December 2027"),
            ("2025-12-01", "on Monday 1 December 2025"),
        ] {
            assert_eq!(on_day(date.parse().unwrap(), &now), expect);
        }
    }

    #[test]
    fn stretches_name_what_differs() {
        let now = at("2026-10-02T10:00");
        let check = |start: &str, end: &str, all_day, expect: &str| {
            assert_eq!(stretch(&at(start), &at(end), all_day, &now), expect);
        };
        check(
            "2026-10-03T09:30",
            "2026-10-03T10:30",
            false,
            "tomorrow, 09:30 to 10:30",
        );
        check("2026-10-03T09:30", "2026-10-03T09:30", false, "tomorrow, 09:30");
        check(
            "2026-10-03T22:00",
            "2026-10-04T01:00",
            false,
            "tomorrow, 22:00 to Sunday 4 October at 01:00",
        );
        check(
            "2026-10-05T00:00",
            "2026-10-06T00:00",
            true,
            "on Monday 5 October, all day",
        );
        check(
            "2026-10-05T00:00",
            "2026-10-08T00:00",
            true,
            "from Monday 5 October to Wednesday 7 October",
        );
    }

    #[test]
    fn lists_and_counts() {
        let items: Vec<String> = ["a", "b", "c", "d"].map(String::from).into();
        assert_eq!(some_of(&items, 4), "a, b, c and d");
        assert_eq!(some_of(&items, 2), "a, b and 2 more");
        assert_eq!(
            (count(1, "event", "events"), count(12, "event", "events")),
            ("one event".into(), "12 events".into())
        );
    }
}
