//! Moments in the lines of an event, and how they move.

use jiff::{SignedDuration, Timestamp, Zoned, tz::TimeZone};

use super::super::moment;
use crate::system::lines::{Component, Line};

/// A moment in the form of another line.
pub(super) fn point(
    name: &str,
    like: Option<&Line>,
    at: &Zoned,
    all_day: bool,
    zones: &[(String, TimeZone)],
) -> Line {
    if all_day {
        return Line::new(name, &at.strftime("%Y%m%d").to_string()).with_param("VALUE", "DATE");
    }
    let wall = |at: &Zoned| at.strftime("%Y%m%dT%H%M%S").to_string();
    let id = like.and_then(|line| line.param("TZID"));
    if let Some((zone, id)) = id.and_then(|id| Some((moment::zone(&id, zones)?, id))) {
        return Line::new(name, &wall(&at.with_time_zone(zone))).with_param("TZID", &id);
    }
    match like {
        Some(line) if !line.value().ends_with('Z') && !is_day(Some(line)) => Line::new(name, &wall(at)),
        _ => Line::new(name, &utc(at)),
    }
}

pub(super) fn is_day(line: Option<&Line>) -> bool {
    line.is_some_and(|line| line.value().trim().len() == 8)
}

/// The moment of a line in the zone of `local`; its first where it has several.
pub(super) fn read_point(line: &Line, zones: &[(String, TimeZone)], local: &Zoned) -> Option<Zoned> {
    read_value(line.value().split(',').next()?, line, zones, local)
}

pub(super) fn read_value(
    value: &str,
    line: &Line,
    zones: &[(String, TimeZone)],
    local: &Zoned,
) -> Option<Zoned> {
    let value = value.trim();
    if value.len() == 8 {
        let day = jiff::civil::Date::strptime("%Y%m%d", value).ok()?;
        return crate::when::day_start(day, local.time_zone());
    }
    if let Some(civil) = value.strip_suffix('Z') {
        let civil = jiff::civil::DateTime::strptime("%Y%m%dT%H%M%S", civil).ok()?;
        let at: Timestamp = civil.to_zoned(TimeZone::UTC).ok()?.timestamp();
        return Some(at.to_zoned(local.time_zone().clone()));
    }
    let civil = jiff::civil::DateTime::strptime("%Y%m%dT%H%M%S", value).ok()?;
    let zone = line.param("TZID").and_then(|id| moment::zone(&id, zones));
    let (at, _) = crate::when::in_zone(civil, zone.as_ref().unwrap_or(local.time_zone()))?;
    Some(at.with_time_zone(local.time_zone().clone()))
}

/// How far wall clocks move: nine stays nine over a clock change.
pub(super) fn shift(from: &Zoned, to: &Zoned) -> SignedDuration {
    from.datetime().duration_until(to.datetime())
}

pub(super) fn later(at: &Zoned, by: SignedDuration) -> Option<Zoned> {
    let civil = at.datetime().checked_add(by).ok()?;
    crate::when::in_zone(civil, at.time_zone()).map(|(at, _)| at)
}

/// Moves the dates of some lines; one that cannot be read stays.
pub(super) fn move_points(
    component: &mut Component,
    names: &[&str],
    by: SignedDuration,
    zones: &[(String, TimeZone)],
    local: &Zoned,
) {
    if by.is_zero() {
        return;
    }
    for line in component
        .lines_mut()
        .filter(|line| names.iter().any(|name| line.is(name)))
    {
        let moved: Vec<String> = line
            .value()
            .split(',')
            .map(|value| moved_value(value, line, by, zones, local).unwrap_or_else(|| value.to_owned()))
            .collect();
        line.set_value(&moved.join(","));
    }
}

pub(super) fn moved_value(
    value: &str,
    line: &Line,
    by: SignedDuration,
    zones: &[(String, TimeZone)],
    local: &Zoned,
) -> Option<String> {
    let at = later(&read_value(value, line, zones, local)?, by)?;
    let all_day = value.trim().len() == 8;
    Some(point("X", Some(line), &at, all_day, zones).value().to_owned())
}

/// Keeps the dates of a list that `keep` wants.
pub(super) fn retain_points(
    component: &mut Component,
    name: &str,
    zones: &[(String, TimeZone)],
    local: &Zoned,
    keep: impl Fn(&Zoned) -> bool,
) {
    for line in component.lines_mut().filter(|line| line.is(name)) {
        let kept: Vec<String> = line
            .value()
            .split(',')
            .filter(|value| {
                // A period (RFC 5545, 3.8.5.2) is where it begins.
                let begin = value.split('/').next().unwrap_or(value);
                read_value(begin, line, zones, local).is_none_or(|at| keep(&at))
            })
            .map(str::to_owned)
            .collect();
        line.set_value(&kept.join(","));
    }
    component.retain_lines(|line| !(line.is(name) && line.value().is_empty()));
}

/// The zone that a line is in.
pub(super) fn zone_of(line: &Line, zones: &[(String, TimeZone)], local: &TimeZone) -> TimeZone {
    if line.value().ends_with('Z') {
        return TimeZone::UTC;
    }
    line.param("TZID")
        .and_then(|id| moment::zone(&id, zones))
        .unwrap_or_else(|| local.clone())
}

/// A moment as UTC is written.
pub(super) fn utc(at: &Zoned) -> String {
    at.timestamp().strftime("%Y%m%dT%H%M%SZ").to_string()
}
