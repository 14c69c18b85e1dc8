//! `calendar.find_slots`: when there is time for something.

use jiff::{SignedDuration, Zoned, tz::TimeZone};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{
    contract::{Ctx, Effect, Output, TimeRole, Tool, ToolError, Work},
    system::{
        calendar::{self, Window},
        places, plain, speech,
    },
    when,
};

/// As many are offered unless another number is asked for, and at most.
const SLOTS: usize = 3;
const MAX_SLOTS: usize = 10;
/// How many days are looked through.
const MAX_DAYS: i32 = 62;
/// Slots begin at full and half hours, as people arrange to meet.
const STEP: SignedDuration = SignedDuration::from_mins(30);
/// A stretch up to this is a part of a day, which was meant as it was said, also outside of working hours.
const LONGEST_PART: SignedDuration = SignedDuration::from_hours(7);
/// Parts of days: the hour at which a search lets them begin, and the hours in which somebody can be met then.
const PARTS: [(&str, i8, [i8; 2]); 3] = [
    ("morning", 5, [8, 12]),
    ("afternoon", 12, [12, 18]),
    ("evening", 17, [17, 22]),
];

/// Finds free time.
pub struct This;

/// For what, and when.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Args {
    /// How long as said: "an hour"
    length: Option<String>,
    /// Where to look: "next week", "friday afternoon"
    when: Option<String>,
    /// City or zone of somebody who takes part
    zone: Option<String>,
    /// Free time to leave before and after: "15 minutes"
    buffer: Option<String>,
    /// How many to offer
    count: Option<u8>,
}

impl Tool for This {
    type Args = Args;
    const NAME: &'static str = "calendar.find_slots";
    const SUMMARY: &'static str = "Find free time for a meeting, in working hours and between events";
    const EFFECT: Effect = Effect::Read;
    const TIMED: bool = true;
    const TIMES: &'static [(&'static str, TimeRole)] = &[
        ("when", TimeRole::At),
        ("length", TimeRole::Length),
        ("buffer", TimeRole::Length),
    ];
    const EXAMPLES: &'static [&'static str] = &[
        "find an hour for a meeting next week",
        "when do I have time on friday afternoon",
        "what are my free slots tomorrow",
        "when could I meet somebody in New York for half an hour",
        "find me two free hours this week with a quarter of an hour around them",
        "is there a gap in my calendar for a call on monday",
    ];
    const CALLS: &'static [(&'static str, &'static str)] = &[
        (
            "find an hour for a meeting next week",
            r#"{"length": "an hour", "when": "next week"}"#,
        ),
        ("what are my free slots tomorrow", r#"{"when": "tomorrow"}"#),
    ];
    const USE_WHEN: &'static str =
        "For finding free time; whether one certain time is free is calendar.query.";
    const LIMITS: &'static str = "Knows only the person's own calendars, nobody else's.";

    async fn run(args: Args, ctx: &Ctx) -> Result<Output, ToolError> {
        let said = |text: Option<&String>| text.map(|t| t.trim().to_owned()).filter(|t| !t.is_empty());
        let now = &ctx.now;
        let length = match said(args.length.as_ref()) {
            Some(said) => calendar::length(&said, now)?,
            None => SignedDuration::from_hours(1),
        };
        let buffer = match said(args.buffer.as_ref()) {
            Some(said) => calendar::length(&said, now)?,
            None => SignedDuration::ZERO,
        };
        let zone = match said(args.zone.as_ref()) {
            Some(name) => places::one(&name, now)?.map(|place| place.zone),
            None => None,
        };
        let asked = said(args.when.as_ref());
        let (window, work) = look(asked.as_deref(), ctx)?;
        let part_of_day = window.from.duration_until(&window.to) <= LONGEST_PART;
        let window = within_bounds(window, now)?;
        let (root, look) = (ctx.dirs.calendars.clone(), window.clone());
        let reading = tokio::task::spawn_blocking(move || calendar::events(&root, &look.from, &look.to))
            .await
            .map_err(|e| ToolError::broken("read your calendar", e))?
            .map_err(|e| e.tool("read your calendar"))?;
        // Whole days (a birthday, a holiday) are busy where their author says so, which most programs do not.
        let busy: Vec<(Zoned, Zoned)> = reading
            .items
            .iter()
            .filter(|event| event.busy)
            .filter_map(|event| {
                Some((
                    event.start.checked_sub(buffer).ok()?,
                    event.end.checked_add(buffer).ok()?,
                ))
            })
            .collect();
        let most = usize::from(args.count.unwrap_or(0)).clamp(0, MAX_SLOTS);
        let most = if most == 0 { SLOTS } else { most };
        let free = open_hours(&window, &work, zone.as_ref(), part_of_day);
        let slots = slots(&free, &busy, length, most);
        let say = say(&slots, length, &window, zone.as_ref(), now);
        let shown: Vec<Value> = slots
            .iter()
            .map(|slot| data(slot, length, zone.as_ref()))
            .collect();
        let mut data = json!({"found": slots.len(), "slots": shown});
        if !reading.warnings.is_empty() {
            data["unread"] = json!(reading.warnings.iter().take(5).collect::<Vec<_>>());
        }
        Ok(Output::new(say, data))
    }
}

/// From now on, and not for ever.
fn within_bounds(window: Window, now: &Zoned) -> Result<Window, ToolError> {
    let from = window.from.max(now.clone());
    let last = from
        .checked_add(jiff::Span::new().days(MAX_DAYS))
        .map_err(|_| ToolError::tell("That is outside the calendar."))?;
    let to = window.to.min(last);
    if to <= from {
        return Err(ToolError::tell("That time is over already."));
    }
    Ok(Window { from, to })
}

/// Where to look, and within which hours of each day: of "next week in the afternoon" the afternoons.
fn look(said: Option<&str>, ctx: &Ctx) -> Result<(Window, Work), ToolError> {
    let now = &ctx.now;
    let Some(said) = said else {
        return Ok((Window::ahead(now, 7)?, ctx.work.clone()));
    };
    let whole = Window::said(said, now);
    let words: Vec<&str> = said.split_whitespace().collect();
    let is_part = |word: &str| {
        PARTS
            .iter()
            .find(|(name, ..)| word.to_lowercase().starts_with(name))
    };
    let part = words.iter().find_map(|word| is_part(word));
    let [from, to] = match (&whole, part) {
        (Err(_), Some((_, _, hours))) => *hours,
        (_, Some((_, begins, [from, _]))) => return Ok((of_part(whole?, *begins, *from), ctx.work.clone())),
        (_, None) => return Ok((whole?, ctx.work.clone())),
    };
    let rest: Vec<&str> = words
        .into_iter()
        .filter(|word| is_part(word).is_none() && !["in", "the", "during"].contains(word))
        .collect();
    let window = if rest.is_empty() {
        Window::ahead(now, 7)?
    } else {
        Window::said(&rest.join(" "), now)?
    };
    let work = Work {
        from: jiff::civil::time(from, 0, 0, 0),
        to: jiff::civil::time(to, 0, 0, 0),
        days: ctx.work.days.clone(),
    };
    Ok((window, work))
}

/// A window that begins when a part of a day does begins when somebody can be met; where other hours were said, they are meant.
fn of_part(window: Window, begins: i8, from: i8) -> Window {
    let from = window.from.date().at(from, 0, 0, 0);
    match from.to_zoned(window.from.time_zone().clone()) {
        Ok(from)
            if window.from.time() == jiff::civil::time(begins, 0, 0, 0)
                && window.from < from
                && from < window.to =>
        {
            Window { from, ..window }
        }
        _ => window,
    }
}

/// The stretches in which somebody may be met: working hours here and, where somebody is elsewhere, there. A stretch
/// that is a part of one day is taken as it was said: who asks for the evening means it.
fn open_hours(
    window: &Window,
    work: &Work,
    zone: Option<&TimeZone>,
    part_of_day: bool,
) -> Vec<(Zoned, Zoned)> {
    let here = if part_of_day {
        vec![(window.from.clone(), window.to.clone())]
    } else {
        hours(window, work, window.from.time_zone())
    };
    let Some(zone) = zone else {
        return here;
    };
    let there = hours(window, work, zone);
    let both = |a: &(Zoned, Zoned), b: &(Zoned, Zoned)| {
        let (from, to) = (a.0.clone().max(b.0.clone()), a.1.clone().min(b.1.clone()));
        (from < to).then_some((from.with_time_zone(a.0.time_zone().clone()), to))
    };
    here.iter()
        .flat_map(|a| there.iter().filter_map(move |b| both(a, b)))
        .collect()
}

/// The working hours of a zone within a window.
fn hours(window: &Window, work: &Work, zone: &TimeZone) -> Vec<(Zoned, Zoned)> {
    let mut out = Vec::new();
    let mut day = window.from.with_time_zone(zone.clone()).date();
    let last = window.to.with_time_zone(zone.clone()).date();
    while day <= last && out.len() <= 100 {
        if work.days.contains(&day.weekday())
            && let Some((from, _)) = when::in_zone(day.to_datetime(work.from), zone)
            && let Some((to, _)) = when::in_zone(day.to_datetime(work.to), zone)
        {
            let (from, to) = (from.max(window.from.clone()), to.min(window.to.clone()));
            if from < to {
                out.push((from, to));
            }
        }
        let Ok(next) = day.tomorrow() else {
            break;
        };
        day = next;
    }
    out
}

/// The first starts of free stretches that are long enough, at most one in a gap and two a day, so that an answer
/// offers a choice.
fn slots(
    free: &[(Zoned, Zoned)],
    busy: &[(Zoned, Zoned)],
    length: SignedDuration,
    most: usize,
) -> Vec<Zoned> {
    let mut out: Vec<Zoned> = Vec::new();
    for (open, close) in free {
        let mut at = rounded(open);
        while out.len() < most {
            let Ok(end) = at.checked_add(length) else {
                break;
            };
            if end > *close {
                break;
            }
            // Behind what is in the way; several may overlap.
            let blocked = busy
                .iter()
                .filter(|(from, to)| *from < end && *to > at)
                .map(|(_, to)| to)
                .max();
            match blocked {
                Some(to) => at = rounded(to),
                None => {
                    let same_day = out.iter().filter(|slot| slot.date() == at.date()).count();
                    if same_day >= 2 {
                        break;
                    }
                    out.push(at.clone());
                    // The next one behind the next event, else in the second half of the day.
                    let next = busy
                        .iter()
                        .filter(|(from, _)| *from >= end)
                        .map(|(_, to)| to)
                        .min();
                    let Some(next) = next.filter(|to| *to < close) else {
                        break;
                    };
                    at = rounded(next);
                }
            }
        }
    }
    out
}

/// The next full or half hour.
fn rounded(at: &Zoned) -> Zoned {
    let rounding = jiff::ZonedRound::new()
        .smallest(jiff::Unit::Minute)
        .increment(STEP.as_mins())
        .mode(jiff::RoundMode::Ceil);
    at.round(rounding).unwrap_or_else(|_| at.clone())
}

fn say(
    slots: &[Zoned],
    length: SignedDuration,
    window: &Window,
    zone: Option<&TimeZone>,
    now: &Zoned,
) -> String {
    let lasts = crate::system::timers::spoken(length.unsigned_abs().as_secs());
    let last = window
        .to
        .checked_sub(jiff::Span::new().nanoseconds(1))
        .unwrap_or_else(|_| window.to.clone());
    let where_to = if last.date() == window.from.date() {
        speech::on_day(last.date(), now)
    } else {
        format!(
            "from {} to {}",
            speech::day(window.from.date(), now),
            speech::day(last.date(), now)
        )
    };
    if slots.is_empty() {
        let both = if zone.is_some() {
            " that is in working hours at both places"
        } else {
            ""
        };
        return format!("I found no free {lasts}{both} {where_to}.");
    }
    let names: Vec<String> = slots.iter().map(|slot| spoken(slot, zone, now)).collect();
    format!("You are free for {lasts} {}.", plain::listed(&names, "or"))
}

/// "tomorrow at 10:00", with "(04:00 in New York)" where somebody is elsewhere.
fn spoken(slot: &Zoned, zone: Option<&TimeZone>, now: &Zoned) -> String {
    let at = format!(
        "{} at {}",
        speech::on_day(slot.date(), now),
        speech::time(slot.time())
    );
    let Some(zone) = zone else {
        return at;
    };
    let there = slot.with_time_zone(zone.clone());
    let day = if there.date() == slot.date() {
        String::new()
    } else {
        format!(" {}", speech::on_day(there.date(), now))
    };
    format!("{at} ({}{day} in {})", speech::time(there.time()), city(zone))
}

fn city(zone: &TimeZone) -> String {
    let name = zone.iana_name().unwrap_or("UTC");
    name.rsplit('/').next().unwrap_or(name).replace('_', " ")
}

fn data(slot: &Zoned, length: SignedDuration, zone: Option<&TimeZone>) -> Value {
    let shape = "%Y-%m-%dT%H:%M";
    let mut row = json!({"start": slot.strftime(shape).to_string()});
    if let Ok(end) = slot.checked_add(length) {
        row["end"] = json!(end.strftime(shape).to_string());
    }
    if let Some(zone) = zone {
        row["there"] = json!(slot.with_time_zone(zone.clone()).strftime(shape).to_string());
    }
    row
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::testing::{ctx, event, run, said, told};

    fn put(root: &Path, name: &str, lines: &str) {
        event(root, "work", name, lines);
    }

    /// The context is of Monday 23 November 2026, 09:30 in Berlin.
    #[tokio::test]
    async fn free_time_lies_between_events_in_working_hours() {
        let root = tempfile::tempdir().unwrap();
        let ctx = ctx(root.path());
        let zone = "DTSTART;TZID=Europe/Berlin:20261124T";
        put(root.path(), "a", &format!("{zone}090000\nDURATION:PT2H"));
        put(root.path(), "b", &format!("{zone}120000\nDURATION:PT1H15M"));
        put(
            root.path(),
            "c",
            &format!("{zone}150000\nDURATION:PT4H\nTRANSP:TRANSPARENT"),
        );
        put(
            root.path(),
            "d",
            &format!("{zone}150000\nDURATION:PT4H\nSTATUS:CANCELLED"),
        );
        put(
            root.path(),
            "e",
            "DTSTART;VALUE=DATE:20261125\nRRULE:FREQ=DAILY;COUNT=2",
        );
        let ask = async |args: Value| run("calendar.find_slots", args, &ctx).await;
        for (args, expect) in [
            (
                json!({"when": "tomorrow"}),
                "You are free for 1 hour tomorrow at 11:00 or tomorrow at 13:30.",
            ),
            (
                json!({"when": "tomorrow", "length": "two hours"}),
                "You are free for 2 hours tomorrow at 13:30.",
            ),
            (
                json!({"when": "tomorrow", "buffer": "30 minutes"}),
                "You are free for 1 hour tomorrow at 14:00.",
            ),
            (
                json!({"when": "tomorrow evening", "length": "half an hour", "count": 1}),
                "You are free for 30 minutes tomorrow at 17:00.",
            ),
            (
                json!({"when": "friday morning", "length": "half an hour", "count": 1}),
                "You are free for 30 minutes on Friday 27 November at 08:00.",
            ),
            (
                json!({"when": "friday between six and eleven in the morning", "count": 1}),
                "You are free for 1 hour on Friday 27 November at 06:00.",
            ),
            // Wednesday and Thursday are taken by whole days; the weekend is no working time.
            (
                json!({"when": "this week", "length": "7 hours", "count": 5}),
                "You are free for 7 hours today at 09:30 or on Friday 27 November at 09:00.",
            ),
            (
                json!({"when": "next week in the afternoon", "count": 2}),
                "You are free for 1 hour on Monday 30 November at 12:00 or on Tuesday 1 December at 12:00.",
            ),
            (
                json!({"when": "saturday"}),
                "I found no free 1 hour on Saturday 28 November.",
            ),
            (
                json!({"when": "friday", "zone": "new york"}),
                "You are free for 1 hour on Friday 27 November at 15:00 (09:00 in New York).",
            ),
            (
                json!({"when": "friday", "zone": "Auckland"}),
                "I found no free 1 hour that is in working hours at both places on Friday 27 November.",
            ),
        ] {
            assert_eq!(said(ask(args.clone()).await), expect, "{args}");
        }
        let output = ask(json!({"when": "friday", "zone": "new york"})).await.unwrap();
        assert_eq!(
            output.data["slots"][0],
            json!({"start": "2026-11-27T15:00", "end": "2026-11-27T16:00", "there": "2026-11-27T09:00"})
        );
    }

    #[tokio::test]
    async fn an_empty_store_is_free_and_bad_arguments_are_told() {
        let root = tempfile::tempdir().unwrap();
        let ctx = ctx(root.path());
        assert_eq!(
            said(run("calendar.find_slots", json!({}), &ctx).await),
            "You are free for 1 hour today at 09:30, tomorrow at 09:00 or on Wednesday 25 November at 09:00."
        );
        for (args, expect) in [
            (json!({"when": "yesterday"}), "over already"),
            (json!({"when": "purple"}), "do not understand the time"),
            (json!({"length": "purple"}), "no length of time"),
            (json!({"zone": "Qqqq"}), "do not know the time zone"),
            (json!({"who": "Anna"}), "who"),
        ] {
            let text = told(run("calendar.find_slots", args.clone(), &ctx).await);
            assert!(text.contains(expect), "{args}: {text}");
        }
    }
}
