//! `clock.resolve`: which date or time an expression means.

use jiff::Zoned;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::{
    contract::{Ctx, Effect, Output, TimeRole, Tool, ToolError},
    system::{plain, speech},
    when::{self, Hint, Resolved, When},
};

/// Resolves a time expression.
pub struct This;

/// The expression.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Args {
    /// Only the words for the time: "the last friday of march"
    text: String,
}

impl Tool for This {
    type Args = Args;
    const NAME: &'static str = "clock.resolve";
    const SUMMARY: &'static str = "Tell which date a day, holiday or other time expression falls on";
    const EFFECT: Effect = Effect::Read;
    const TIMES: &'static [(&'static str, TimeRole)] = &[("text", TimeRole::At)];
    const EXAMPLES: &'static [&'static str] = &[
        "what date is next friday",
        "when is easter this year",
        "what day does christmas fall on",
        "which date is three weeks from tomorrow",
        "when is the last monday of may",
        "what was the date two weeks ago",
        "when is thanksgiving",
        "on which day of the week is july fourth",
    ];
    const CALLS: &'static [(&'static str, &'static str)] = &[
        (
            "when is the last monday of may",
            r#"{"text": "the last monday of may"}"#,
        ),
        (
            "on which day of the week is july fourth",
            r#"{"text": "july fourth"}"#,
        ),
    ];
    const PATTERNS: &'static [&'static str] = &[
        "(what|which) (day|date) is {text:date}",
        "when is {text:christmas|easter|halloween|thanksgiving}",
    ];
    const USE_WHEN: &'static str = "For the date of a day or holiday; calendar.query finds appointments.";

    async fn run(args: Args, ctx: &Ctx) -> Result<Output, ToolError> {
        let resolved =
            when::resolve(&args.text, &ctx.now, Hint::Future).map_err(|e| ToolError::tell(e.to_string()))?;
        let zoned = args.text.trim().parse::<jiff::Timestamp>().is_ok();
        let mut data = shape(&resolved.value, &resolved, zoned);
        let others = resolved
            .alternatives
            .iter()
            .map(|other| Value::Object(shape(other, &resolved, zoned)));
        data.insert("alternatives".to_owned(), others.collect());
        let say = format!(
            "{} is {}.",
            speech::sentence(&plain::one_line(&args.text, 80)),
            spoken(&resolved.value, &ctx.now)
        );
        Ok(Output::new(say, Value::Object(data)))
    }
}

/// The value as DESIGN section 6 writes it: local ISO 8601, without a zone unless one was said; whole days as dates,
/// and hours of no day that was said as times; ends are exclusive.
fn shape(value: &When, resolved: &Resolved, zoned: bool) -> Map<String, Value> {
    let moment = |at: &Zoned| match zoned {
        true => at.strftime("%Y-%m-%dT%H:%M:%S%:z").to_string(),
        false => at.strftime("%Y-%m-%dT%H:%M:%S").to_string(),
    };
    let fields = match value {
        When::Date(date) => json!({"kind": "date", "value": date.to_string()}),
        When::Time(time) => json!({"kind": "time", "value": time.strftime("%H:%M:%S").to_string()}),
        When::DateTime { at, .. } => json!({"kind": "datetime", "value": moment(at)}),
        When::Range { start, end } => {
            let days = [start, end].into_iter().flatten().all(starts_day);
            let side = |at: &Zoned| match (days, resolved.dayless) {
                (_, true) => at.strftime("%H:%M:%S").to_string(),
                (true, false) => at.date().to_string(),
                (false, false) => moment(at),
            };
            let mut fields = json!({"kind": "range"});
            for (name, at) in [("start", start), ("end", end)] {
                if let Some(at) = at {
                    fields[name] = side(at).into();
                }
            }
            fields
        }
        When::Duration { seconds, .. } => json!({"kind": "duration", "seconds": seconds}),
        When::Recurrence {
            rrule,
            first,
            all_day,
            seconds,
        } => {
            let start = if *all_day {
                first.date().to_string()
            } else {
                moment(first)
            };
            let mut fields = json!({"kind": "recurrence", "start": start, "rrule": rrule});
            if let Some(seconds) = seconds {
                fields["seconds"] = (*seconds).into();
            }
            fields
        }
    };
    match fields {
        Value::Object(fields) => fields,
        _ => Map::new(),
    }
}

fn starts_day(at: &Zoned) -> bool {
    at.start_of_day().is_ok_and(|start| start == *at)
}

fn spoken(value: &When, now: &Zoned) -> String {
    let date = |date: jiff::civil::Date| date.strftime("%A, %-d %B %Y").to_string();
    let moment = |at: &Zoned| format!("{} at {}", date(at.date()), speech::time(at.time()));
    match value {
        When::Date(day) => date(*day),
        When::Time(time) => speech::time(*time),
        When::DateTime { at, .. } => moment(at),
        When::Range { start, end } => {
            let days = [start, end].into_iter().flatten().all(starts_day);
            match (start, end) {
                (Some(start), Some(end)) => speech::stretch(start, end, days, now),
                (Some(start), None) => format!(
                    "from {} on",
                    if days { date(start.date()) } else { moment(start) }
                ),
                (None, Some(end)) => format!("until {}", if days { date(end.date()) } else { moment(end) }),
                (None, None) => "any time".to_owned(),
            }
        }
        When::Duration { span, .. } => format!("{:#}", span.0),
        When::Recurrence { first, all_day, .. } => {
            let first = if *all_day {
                date(first.date())
            } else {
                moment(first)
            };
            format!("again and again, first {first}")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{ctx, run, said, told};

    async fn resolve(text: &str) -> Result<Output, ToolError> {
        let home = tempfile::tempdir().unwrap();
        // A Monday, half past nine in Berlin.
        run("clock.resolve", json!({"text": text}), &ctx(home.path())).await
    }

    #[tokio::test]
    async fn the_shape_is_that_of_the_contract() {
        for (text, expect) in [
            ("christmas eve", json!({"kind": "date", "value": "2026-12-24"})),
            ("half past ten", json!({"kind": "time", "value": "10:30:00"})),
            (
                "tomorrow at 5 pm",
                json!({"kind": "datetime", "value": "2026-11-24T17:00:00"}),
            ),
            (
                "2026-12-01T12:00:00Z",
                json!({"kind": "datetime", "value": "2026-12-01T13:00:00+01:00"}),
            ),
            (
                "next week",
                json!({"kind": "range", "start": "2026-11-30", "end": "2026-12-07"}),
            ),
            ("before friday", json!({"kind": "range", "end": "2026-11-27"})),
            (
                "tomorrow morning",
                json!({"kind": "range", "start": "2026-11-24T08:00:00", "end": "2026-11-24T12:00:00"}),
            ),
            (
                "from 3 to 5 pm",
                json!({"kind": "range", "start": "15:00:00", "end": "17:00:00"}),
            ),
            (
                "two and a half hours",
                json!({"kind": "duration", "seconds": 9000}),
            ),
            (
                "every monday at nine am",
                json!({"kind": "recurrence", "start": "2026-11-30T09:00:00", "rrule": "FREQ=WEEKLY;BYDAY=MO"}),
            ),
            (
                "every tuesday from 9 to 10 am",
                json!({"kind": "recurrence", "start": "2026-11-24T09:00:00", "rrule": "FREQ=WEEKLY;BYDAY=TU", "seconds": 3600}),
            ),
            (
                "every month on the first",
                json!({"kind": "recurrence", "start": "2026-12-01", "rrule": "FREQ=MONTHLY;BYMONTHDAY=1"}),
            ),
        ] {
            let mut data = resolve(text).await.unwrap().data;
            let fields = data.as_object_mut().unwrap();
            assert!(fields.remove("alternatives").unwrap().is_array(), "{text}");
            assert_eq!(data, expect, "{text}");
        }
    }

    #[tokio::test]
    async fn other_readings_have_the_same_shape() {
        let data = resolve("at five").await.unwrap().data;
        assert_eq!(
            data,
            json!({"kind": "time", "value": "17:00:00", "alternatives": [{"kind": "time", "value": "05:00:00"}]})
        );
    }

    #[tokio::test]
    async fn it_says_the_day_in_full() {
        for (text, expect) in [
            ("christmas", "Christmas is Friday, 25 December 2026."),
            ("tomorrow", "Tomorrow is Tuesday, 24 November 2026."),
            (
                "next week",
                "Next week is from Monday 30 November to Sunday 6 December.",
            ),
            ("until friday", "Until friday is until Friday, 27 November 2026."),
            (
                "every friday at noon",
                "Every friday at noon is again and again, first Friday, 27 November 2026 at 12:00.",
            ),
        ] {
            assert_eq!(said(resolve(text).await), expect);
        }
    }

    #[tokio::test]
    async fn what_is_no_time_is_told() {
        for (text, part) in [
            ("", "do not understand"),
            ("my dentist", "do not understand"),
            ("february 30", "no such date"),
            ("this summer", "not the same for everybody"),
        ] {
            let text_told = told(resolve(text).await);
            assert!(text_told.contains(part), "{text}: {text_told}");
        }
        assert!(told(resolve(&"a".repeat(300)).await).contains("at most"));
    }
}
