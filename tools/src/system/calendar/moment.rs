//! Dates and times of iCalendar: days, wall times with and without a zone, UTC.

use calcard::{
    common::{PartialDateTime, timezone::Tz},
    icalendar::{
        ICalendar, ICalendarComponent, ICalendarComponentType, ICalendarEntry, ICalendarPeriod,
        ICalendarProperty, ICalendarValue,
    },
};
use jiff::{
    Zoned,
    civil::{Date, DateTime},
    tz::{Offset, TimeZone},
};

use crate::when;

/// Zones that one file may describe.
const MAX_ZONES: usize = 100;

/// A point as it was written.
#[derive(Debug, Clone, PartialEq)]
pub enum Moment {
    /// A whole day, wherever one is.
    Day(Date),
    /// A wall time in a zone; floating times are in the reader's own.
    Wall(DateTime, TimeZone),
}

impl Moment {
    /// The moment in the reader's zone.
    pub fn zoned(&self, local: &TimeZone) -> Option<Zoned> {
        match self {
            Moment::Day(date) => when::day_start(*date, local),
            Moment::Wall(civil, zone) => {
                let (at, _) = when::in_zone(*civil, zone)?;
                Some(at.with_time_zone(local.clone()))
            }
        }
    }

    /// The wall time, midnight for a day.
    pub fn civil(&self) -> DateTime {
        match self {
            Moment::Day(date) => date.at(0, 0, 0, 0),
            Moment::Wall(civil, _) => *civil,
        }
    }

    /// This moment as far away from itself as `to` is from `from`, in wall time where it has one.
    pub fn moved(&self, from: &Zoned, to: &Zoned, local: &TimeZone) -> Option<Moment> {
        let zone = self.zone(local);
        let wall = |at: &Zoned| at.with_time_zone(zone.clone()).datetime();
        let by = wall(from).duration_until(wall(to));
        let civil = self.civil().checked_add(by).ok()?;
        Some(match self {
            Moment::Day(_) => Moment::Day(civil.date()),
            Moment::Wall(_, zone) => Moment::Wall(civil, zone.clone()),
        })
    }

    /// The zone of the wall time.
    pub fn zone<'a>(&'a self, local: &'a TimeZone) -> &'a TimeZone {
        match self {
            Moment::Day(_) => local,
            Moment::Wall(_, zone) => zone,
        }
    }
}

/// Finds the zones that a file names.
pub struct Zones<'a> {
    defined: &'a [(String, TimeZone)],
    local: &'a TimeZone,
}

impl<'a> Zones<'a> {
    /// `defined` are the zones that the file describes.
    pub fn new(defined: &'a [(String, TimeZone)], local: &'a TimeZone) -> Zones<'a> {
        Zones { defined, local }
    }

    /// The reader's own zone.
    pub fn local(&self) -> &'a TimeZone {
        self.local
    }

    /// One that nobody knows counts as the reader's zone: mostly that is where the file was made.
    fn find(&self, id: &str) -> TimeZone {
        zone(id, self.defined).unwrap_or_else(|| self.local.clone())
    }

    /// The points of a property's values; what cannot be read is left out.
    pub fn moments(&self, entry: &ICalendarEntry) -> Vec<Moment> {
        let zone = entry.tz_id().map(|id| self.find(id));
        let of = |partial: &PartialDateTime| self.moment(partial, zone.as_ref());
        entry
            .values
            .iter()
            .filter_map(|value| match value {
                ICalendarValue::PartialDateTime(partial) => of(partial),
                ICalendarValue::Period(
                    ICalendarPeriod::Range { start, .. } | ICalendarPeriod::Duration { start, .. },
                ) => of(start),
                _ => None,
            })
            .collect()
    }

    /// One point; its own offset wins over the zone beside it.
    pub fn moment(&self, partial: &PartialDateTime, zone: Option<&TimeZone>) -> Option<Moment> {
        let small = |n: u8| i8::try_from(n).ok();
        let date = Date::new(
            i16::try_from(partial.year?).ok()?,
            small(partial.month?)?,
            small(partial.day?)?,
        )
        .ok()?;
        let Some(hour) = partial.hour else {
            return Some(Moment::Day(date));
        };
        // A leap second is read as the second before it.
        let second = small(partial.second.unwrap_or(0))?.min(59);
        let (day, hour) = if hour == 24 {
            (date.tomorrow().ok()?, 0)
        } else {
            (date, small(hour)?)
        };
        let time = jiff::civil::Time::new(hour, small(partial.minute.unwrap_or(0))?, second, 0).ok()?;
        let zone = match partial.tz_hour {
            Some(hours) => {
                let seconds = i32::from(hours) * 3600 + i32::from(partial.tz_minute.unwrap_or(0)) * 60;
                let offset = Offset::from_seconds(if partial.tz_minus { -seconds } else { seconds }).ok()?;
                if seconds == 0 {
                    TimeZone::UTC
                } else {
                    TimeZone::fixed(offset)
                }
            }
            None => zone.unwrap_or(self.local).clone(),
        };
        Some(Moment::Wall(day.to_datetime(time), zone))
    }
}

/// The point of a property that has one.
pub fn of(component: &ICalendarComponent, name: &ICalendarProperty, zones: &Zones) -> Option<Moment> {
    zones.moments(component.property(name)?).into_iter().next()
}

/// An IANA name, a name that the file defines, or a Windows name.
pub fn zone(id: &str, defined: &[(String, TimeZone)]) -> Option<TimeZone> {
    let described = || {
        defined
            .iter()
            .find(|(name, _)| name == id)
            .map(|(_, zone)| zone.clone())
    };
    TimeZone::get(id)
        .ok()
        .or_else(described)
        .or_else(|| named(id.parse().ok()?))
}

/// The zones that a file describes. Their components are emptied, since nothing else is read from them and they are
/// most of what a small file holds.
pub fn defined(calendar: &mut ICalendar) -> Vec<(String, TimeZone)> {
    let is_zone = |c: &ICalendarComponent| c.component_type == ICalendarComponentType::VTimezone;
    let zones = calendar
        .components
        .iter()
        .filter(|c| is_zone(c))
        .filter_map(|component| {
            let id = component
                .property(&ICalendarProperty::Tzid)?
                .values
                .first()?
                .as_text()?;
            // `timezone` knows X-LIC-LOCATION and the names of other programs; the rules are the last resort, since they
            // often are simpler than the truth.
            let zone = match component.timezone() {
                Some((_, zone)) => named(zone),
                None => described(component, calendar),
            };
            Some((id.to_owned(), zone?))
        });
    let zones = zones.take(MAX_ZONES).collect();
    let kinds = [
        ICalendarComponentType::VTimezone,
        ICalendarComponentType::Standard,
        ICalendarComponentType::Daylight,
    ];
    for component in &mut calendar.components {
        if kinds.contains(&component.component_type) {
            component.entries = Vec::new();
        }
    }
    zones
}

fn named(zone: Tz) -> Option<TimeZone> {
    match zone {
        Tz::Fixed(offset) => Offset::from_seconds(offset.local_minus_utc())
            .ok()
            .map(TimeZone::fixed),
        zone => TimeZone::get(&zone.name()?).ok(),
    }
}

/// A zone by its latest rules, as a POSIX zone: what it was before they came is not followed.
fn described(component: &ICalendarComponent, calendar: &ICalendar) -> Option<TimeZone> {
    let latest = |kind: ICalendarComponentType| {
        component
            .component_ids
            .iter()
            .filter_map(|id| calendar.components.get(usize::try_from(*id).ok()?))
            .filter(|c| c.component_type == kind)
            .filter_map(Observance::of)
            .max_by_key(|observance| observance.begins)
    };
    let standard = latest(ICalendarComponentType::Standard);
    let daylight = latest(ICalendarComponentType::Daylight);
    match (standard, daylight) {
        (Some(standard), Some(daylight)) => match (&standard.rule, &daylight.rule) {
            (Some(to_standard), Some(to_daylight)) => {
                let text = format!(
                    "<STD>{}<DST>{},{to_daylight},{to_standard}",
                    posix(standard.offset),
                    posix(daylight.offset)
                );
                TimeZone::posix(&text).ok()
            }
            _ => {
                let last = if daylight.begins > standard.begins {
                    daylight
                } else {
                    standard
                };
                Offset::from_seconds(last.offset).ok().map(TimeZone::fixed)
            }
        },
        (Some(only), None) | (None, Some(only)) => {
            Offset::from_seconds(only.offset).ok().map(TimeZone::fixed)
        }
        (None, None) => None,
    }
}

/// STANDARD or DAYLIGHT.
struct Observance {
    begins: DateTime,
    /// Seconds east of UTC.
    offset: i32,
    /// `M3.2.0/2`: when it begins each year, where a rule says that.
    rule: Option<String>,
}

impl Observance {
    fn of(component: &ICalendarComponent) -> Option<Observance> {
        let partial = |name| match component.property(&name)?.values.first()? {
            ICalendarValue::PartialDateTime(partial) => Some(partial.as_ref()),
            _ => None,
        };
        let utc = TimeZone::UTC;
        let zones = Zones::new(&[], &utc);
        let begins = zones.moment(partial(ICalendarProperty::Dtstart)?, None)?.civil();
        let to = partial(ICalendarProperty::Tzoffsetto)?;
        let seconds = i32::from(to.tz_hour?) * 3600
            + i32::from(to.tz_minute.unwrap_or(0)) * 60
            + i32::from(to.second.unwrap_or(0));
        let rule = component.property(&ICalendarProperty::Rrule).and_then(|entry| {
            let ICalendarValue::RecurrenceRule(rule) = entry.values.first()? else {
                return None;
            };
            let (month, day) = (rule.bymonth.first()?.month(), rule.byday.first()?);
            let week = match day.ordwk? {
                -1 | 5 => 5,
                week @ 1..=4 => week,
                _ => return None,
            };
            let weekday = day.weekday as u8;
            Some(format!(
                "M{month}.{week}.{weekday}/{}",
                begins.time().strftime("%-H:%M:%S")
            ))
        });
        Some(Observance {
            begins,
            offset: if to.tz_minus { -seconds } else { seconds },
            rule,
        })
    }
}

/// An offset as POSIX writes it: the hours to be added to reach UTC.
fn posix(seconds: i32) -> String {
    let sign = if seconds > 0 { "-" } else { "" };
    let seconds = seconds.unsigned_abs();
    format!(
        "{sign}{}:{:02}:{:02}",
        seconds / 3600,
        seconds / 60 % 60,
        seconds % 60
    )
}
