//! Dates and times of iCalendar: days, wall times with and without a zone, UTC.

use calcard::{
    common::{PartialDateTime, timezone::Tz},
    icalendar::{ICalendarComponent, ICalendarEntry, ICalendarPeriod, ICalendarProperty, ICalendarValue},
};
use jiff::{
    Zoned,
    civil::{Date, DateTime},
    tz::{Offset, TimeZone},
};

use crate::when;

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
    defined: Vec<(&'a str, Tz)>,
    local: &'a TimeZone,
}

impl<'a> Zones<'a> {
    /// `defined` are the VTIMEZONE components of the file.
    pub fn new(defined: &'a [ICalendarComponent], local: &'a TimeZone) -> Zones<'a> {
        Zones {
            defined: defined.iter().filter_map(|c| c.timezone()).collect(),
            local,
        }
    }

    /// The reader's own zone.
    pub fn local(&self) -> &'a TimeZone {
        self.local
    }

    /// An IANA name, a name that the file defines by one (`X-LIC-LOCATION`), or a Windows name. One that nobody knows
    /// counts as the reader's zone: mostly that is where the file was made.
    fn find(&self, id: &str) -> TimeZone {
        if let Ok(zone) = TimeZone::get(id) {
            return zone;
        }
        let known = self
            .defined
            .iter()
            .find(|(name, _)| *name == id)
            .map(|(_, tz)| *tz);
        match known.or_else(|| id.parse::<Tz>().ok()) {
            Some(Tz::Fixed(offset)) => Offset::from_seconds(offset.local_minus_utc())
                .map_or_else(|_| self.local.clone(), TimeZone::fixed),
            Some(tz) => tz
                .name()
                .and_then(|name| TimeZone::get(&name).ok())
                .unwrap_or_else(|| self.local.clone()),
            None => self.local.clone(),
        }
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
