//! `clock.convert`: the time somewhere else.

use jiff::{Zoned, tz::TimeZone};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{
    contract::{Ctx, Effect, Output, TimeRole, Tool, ToolError},
    system::{
        places::{self, Found, Place},
        speech,
    },
    when::{self, Hint, Shift, When},
};

/// Tells a time in another place.
pub struct This;

/// Which time, where, and for where.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Args {
    /// City, country or zone whose time is asked for; here if left out
    to: Option<String>,
    /// The time as said: "3 pm"; now if left out
    time: Option<String>,
    /// City, country or zone of that time; here if left out
    from: Option<String>,
}

impl Tool for This {
    type Args = Args;
    const NAME: &'static str = "clock.convert";
    const SUMMARY: &'static str = "Tell the time in another city or time zone";
    const EFFECT: Effect = Effect::Read;
    const TIMES: &'static [(&'static str, TimeRole)] = &[("time", TimeRole::Find)];
    const OF_TIME: &'static [(&'static str, &'static str)] = &[("from", "to")];
    const EXAMPLES: &'static [&'static str] = &[
        "what time is it in tokyo",
        "what's the time in new york right now",
        "when it's three pm in london what time is it here",
        "convert 9 am pacific time to berlin time",
        "how many hours ahead is sydney",
        "what is 5 pm utc in my time",
        "is it morning in los angeles",
    ];
    const CALLS: &'static [(&'static str, &'static str)] = &[
        ("what's the time in new york right now", r#"{"to": "new york"}"#),
        (
            "when it's three pm in london what time is it here",
            r#"{"time": "three pm", "from": "london"}"#,
        ),
    ];
    const PATTERNS: &'static [&'static str] = &[
        "what time is it [now|right now] in {to:place}",
        "what time is it in {to:place} [right] now",
        "what is the [current] time in {to:place} [now|right now]",
        "[current] time in {to:place}",
    ];
    const USE_WHEN: &'static str = "For the time in another place; clock.now tells the time here.";

    async fn run(args: Args, ctx: &Ctx) -> Result<Output, ToolError> {
        let asked = Asked::of(args, &ctx.now)?;
        let (at, shift) = asked.moment(&ctx.now)?;
        let there = at.with_time_zone(asked.to.zone(&ctx.now));
        let say = match asked.time {
            None => format!(
                "It is {} in {}, {}.",
                spoken(&there, &ctx.now),
                asked.to.name(),
                difference(&ctx.now, &there)
            ),
            Some(_) => format!(
                "{} {} is {} {}.{}",
                speech::sentence(&spoken(&at, &ctx.now)),
                asked.from.spoken(),
                spoken(&there, &ctx.now),
                asked.to.spoken(),
                jump(shift, &asked.from)
            ),
        };
        let data = json!({"from": clock(&asked.from, &at), "to": clock(&asked.to, &there)});
        Ok(Output::new(say, data))
    }
}

/// A side of the conversion.
enum Side {
    Here,
    There(Place),
}

impl Side {
    fn of(said: Option<&str>, now: &Zoned) -> Result<Side, ToolError> {
        let Some(said) = said else {
            return Ok(Side::Here);
        };
        Ok(places::one(said, now)?.map_or(Side::Here, Side::There))
    }

    fn zone(&self, now: &Zoned) -> TimeZone {
        match self {
            Side::Here => now.time_zone().clone(),
            Side::There(place) => place.zone.clone(),
        }
    }

    fn name(&self) -> &str {
        match self {
            Side::Here => "your zone",
            Side::There(place) => &place.name,
        }
    }

    fn spoken(&self) -> String {
        match self {
            Side::Here => "here".to_owned(),
            Side::There(place) => format!("in {}", place.name),
        }
    }
}

struct Asked {
    time: Option<String>,
    from: Side,
    to: Side,
}

impl Asked {
    fn of(args: Args, now: &Zoned) -> Result<Asked, ToolError> {
        let said = |text: Option<String>| text.filter(|t| !t.trim().is_empty());
        let (time, from, to) = (said(args.time), said(args.from), said(args.to));
        let (time, from) = match (time, from) {
            (Some(time), None) => split(&time, now),
            (time, from) => (time, from),
        };
        let mut from = Side::of(from.as_deref(), now)?;
        let mut to = Side::of(to.as_deref(), now)?;
        // "the time in tokyo" names one place, on whichever side.
        if time.is_none() && matches!(to, Side::Here) {
            std::mem::swap(&mut from, &mut to);
        }
        match (&from, &to) {
            (Side::Here, Side::Here) => Err(ToolError::tell(
                "Which city or time zone shall I tell the time of?",
            )),
            _ => Ok(Asked { time, from, to }),
        }
    }

    /// The moment in the zone that it was said for.
    fn moment(&self, now: &Zoned) -> Result<(Zoned, Option<Shift>), ToolError> {
        let there = now.with_time_zone(self.from.zone(now));
        let Some(said) = &self.time else {
            return Ok((there, None));
        };
        let resolved = when::resolve(said, &there, Hint::Future)
            .map_err(|e| ToolError::tell(format!("{e} Say it as in three pm.")))?;
        match resolved.value {
            When::DateTime { at, shift } => Ok((at, shift)),
            When::Time(time) => when::in_zone(there.date().to_datetime(time), there.time_zone())
                .ok_or_else(|| ToolError::tell("That is outside the calendar.")),
            _ => Err(ToolError::tell("Say one time of day, as in three pm.")),
        }
    }
}

/// "3 pm in New York" said as one time.
fn split(time: &str, now: &Zoned) -> (Option<String>, Option<String>) {
    if time.len() <= when::MAX_CHARS && when::resolve(time, now, Hint::Future).is_err() {
        for (at, _) in time.match_indices(' ') {
            let (head, tail) = (&time[..at], &time[at + 1..]);
            let known = || !matches!(places::find(tail, now), Found::Unknown | Found::Here);
            if when::resolve(head, now, Hint::Future).is_ok() && known() {
                return (Some(head.to_owned()), Some(tail.to_owned()));
            }
        }
    }
    (Some(time.to_owned()), None)
}

/// "15:00", with its day when that is not the day here.
fn spoken(at: &Zoned, now: &Zoned) -> String {
    let time = speech::time(at.time());
    if at.date() == now.date() {
        time
    } else {
        format!("{time} {}", speech::on_day(at.date(), now))
    }
}

/// How far that clock is from the one here.
fn difference(here: &Zoned, there: &Zoned) -> String {
    let minutes = (there.offset().seconds() - here.offset().seconds()) / 60;
    let (hours, rest) = (minutes.abs() / 60, minutes.abs() % 60);
    let plural = |count: i32, name: &str| format!("{count} {name}{}", if count == 1 { "" } else { "s" });
    let length = match (hours, rest) {
        (0, 0) => return "the same as here".to_owned(),
        (hours, 0) => plural(hours, "hour"),
        (0, rest) => plural(rest, "minute"),
        (hours, rest) => format!("{} {}", plural(hours, "hour"), plural(rest, "minute")),
    };
    format!("{length} {} you", if minutes > 0 { "ahead of" } else { "behind" })
}

fn jump(shift: Option<Shift>, side: &Side) -> String {
    match shift {
        Some(Shift::Skipped) => format!(
            " The clocks {} go forward then, so it is an hour later than you said.",
            side.spoken()
        ),
        Some(Shift::Twice) => format!(
            " That hour comes twice {} that night; I took the first.",
            side.spoken()
        ),
        None => String::new(),
    }
}

fn clock(side: &Side, at: &Zoned) -> Value {
    let dst = at.time_zone().to_offset_info(at.timestamp()).dst().is_dst();
    json!({
        "place": side.name(),
        "zone": at.time_zone().iana_name(),
        "time": at.datetime().to_string(),
        "offset": at.offset().to_string(),
        "summer_time": dst,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{ctx, run, said, told};

    async fn convert(now: &str, args: Value) -> Result<Output, ToolError> {
        let home = tempfile::tempdir().unwrap();
        let mut ctx = ctx(home.path());
        ctx.now = now.parse().unwrap();
        run("clock.convert", args, &ctx).await
    }

    /// A Monday in Berlin, winter time.
    const NOW: &str = "2026-11-23T09:30:00[Europe/Berlin]";

    #[tokio::test]
    async fn times_elsewhere() {
        for (args, expect) in [
            (
                json!({"to": "Tokyo"}),
                "It is 17:30 in Tokyo, 8 hours ahead of you.",
            ),
            (
                json!({"from": "tokyo"}),
                "It is 17:30 in Tokyo, 8 hours ahead of you.",
            ),
            (
                json!({"to": "new delhi"}),
                "It is 14:00 in New Delhi, 4 hours 30 minutes ahead of you.",
            ),
            (json!({"to": "paris"}), "It is 09:30 in Paris, the same as here."),
            (
                json!({"to": "Honolulu"}),
                "It is 22:30 yesterday in Honolulu, 11 hours behind you.",
            ),
            (
                json!({"time": "3 pm", "from": "New York"}),
                "15:00 in New York is 21:00 here.",
            ),
            (
                json!({"time": "3 pm in new york"}),
                "15:00 in New York is 21:00 here.",
            ),
            (json!({"time": "noon PST"}), "12:00 in PST is 21:00 here."),
            (
                json!({"time": "9 am", "from": "pacific time", "to": "london"}),
                "09:00 in Pacific is 17:00 in London.",
            ),
            (
                json!({"time": "11 pm", "to": "tokyo"}),
                "23:00 here is 07:00 tomorrow in Tokyo.",
            ),
            (
                json!({"time": "tomorrow at noon", "to": "utc+2"}),
                "12:00 tomorrow here is 13:00 tomorrow in UTC+2.",
            ),
        ] {
            assert_eq!(said(convert(NOW, args.clone()).await), expect, "{args}");
        }
    }

    #[tokio::test]
    async fn summer_time_is_that_of_the_day_in_question() {
        // New York goes back on 1 November, Berlin on 25 October: in between they are five hours apart.
        let say = said(convert("2026-10-28T12:00:00[Europe/Berlin]", json!({"to": "New York"})).await);
        assert_eq!(say, "It is 07:00 in New York, 5 hours behind you.");
        let output = convert(NOW, json!({"time": "july 1 2027 at noon", "from": "London"}))
            .await
            .unwrap();
        assert_eq!(output.data["from"]["summer_time"], true);
        assert_eq!(output.data["to"]["time"], "2027-07-01T13:00:00");
        let args = json!({"time": "march 14 2027 at 2:30 am", "from": "New York"});
        let say = said(convert(NOW, args).await);
        assert!(say.contains("go forward"), "{say}");
        let args = json!({"time": "november 7 2027 at 1:30 am", "from": "New York"});
        let say = said(convert(NOW, args).await);
        assert!(say.contains("comes twice"), "{say}");
    }

    #[tokio::test]
    async fn what_is_missing_or_doubtful_is_asked() {
        for (args, part) in [
            (json!({}), "Which city"),
            (json!({"time": "3 pm"}), "Which city"),
            (json!({"to": "here"}), "Which city"),
            (json!({"to": "IST"}), "Kolkata, Dublin or Jerusalem"),
            (json!({"to": "Springfield on the Moon"}), "do not know"),
            (json!({"time": "tomorrow", "to": "tokyo"}), "one time of day"),
            (json!({"time": "banana", "to": "tokyo"}), "do not understand"),
        ] {
            let text = told(convert(NOW, args.clone()).await);
            assert!(text.contains(part), "{args}: {text}");
        }
    }
}
