//! `alarms.set`: something that rings at a time of day, once or again and again.

use jiff::Zoned;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::{
    contract::{Ctx, Effect, Output, TimeRole, Tool, ToolError},
    system::{
        alarms::{self, NewAlarm},
        plain, speech, todos,
    },
    when::{self, Hint, Shift, When},
};

/// Sets alarms.
pub struct This;

/// When, and what for.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Args {
    /// Time as said: "seven am", "every weekday at six"
    time: String,
    /// Days it repeats on, if not in time: "weekdays"
    repeat: Option<String>,
    /// What it is for, if the person said so
    label: Option<String>,
}

impl Tool for This {
    type Args = Args;
    const NAME: &'static str = "alarms.set";
    const SUMMARY: &'static str = "Set an alarm that rings at a time of day, once or on certain days";
    const EFFECT: Effect = Effect::Write;
    const TIMES: &'static [(&'static str, TimeRole)] = &[("time", TimeRole::At)];
    const EXAMPLES: &'static [&'static str] = &[
        "wake me up at seven",
        "set an alarm for six thirty am",
        "set an alarm for every weekday at half past six",
        "alarm tomorrow at five am for the airport",
        "wake me at eight on saturday",
        "set a daily alarm for nine pm called medicine",
        "get me up at a quarter to six",
    ];
    const CALLS: &'static [(&'static str, &'static str)] = &[
        (
            "set an alarm for every weekday at half past six",
            r#"{"time": "every weekday at half past six"}"#,
        ),
        (
            "alarm tomorrow at five am for the airport",
            r#"{"time": "tomorrow at five am", "label": "airport"}"#,
        ),
    ];
    const PATTERNS: &'static [&'static str] = &[
        "(set|create|make|add) [me] [an] alarm (for|at) {time:moment}",
        "alarm (for|at) {time:moment}",
        "wake me [up] {time:moment}",
        "wake me [up] at {time:moment}",
    ];
    const USE_WHEN: &'static str =
        "For ringing at a time of day; a length of time is timers.set, a thing to do is reminders.create.";

    fn preview(args: &Args, ctx: &Ctx) -> Result<String, ToolError> {
        Ok(format!(
            "Set {}.",
            described(&resolve(args, &ctx.now)?.0, &ctx.now)
        ))
    }

    async fn run(args: Args, ctx: &Ctx) -> Result<Output, ToolError> {
        ctx.blocking("set the alarm", move |ctx| set(&args, ctx)).await
    }
}

fn set(args: &Args, ctx: &Ctx) -> Result<Output, ToolError> {
    let (new, shift) = resolve(args, &ctx.now)?;
    let there = alarms::all(&ctx.dirs, &ctx.now)?;
    let same = there
        .iter()
        .any(|a| a.next == new.at && a.rrule == new.rrule && (new.label.is_none() || a.label == new.label));
    let said = described(&new, &ctx.now);
    if same {
        return Ok(Output::new(
            format!("There is {said} already."),
            json!({"already": true}),
        ));
    }
    if there.len() >= alarms::MAX_ALARMS {
        return Err(ToolError::tell(format!(
            "{} alarms are set already. Cancel some first.",
            alarms::MAX_ALARMS
        )));
    }
    let uid = alarms::set(&ctx.step, &ctx.dirs, &new, &ctx.now)?;
    let mut say = format!("I set {said}.");
    match shift {
        Some(Shift::Skipped) => {
            say.push_str(" The clocks go forward then, so it is an hour later than you said.")
        }
        Some(Shift::Twice) => say.push_str(" That hour comes twice that night; I took the first."),
        None => {}
    }
    if !ctx.daemon {
        say.push_str(" Start the daemon to hear it.");
    }
    let data = json!({
        "uid": uid,
        "rings": new.at.strftime("%Y-%m-%dT%H:%M").to_string(),
        "rrule": new.rrule,
        "label": new.label,
    });
    Ok(Output::new(say, data))
}

/// "an alarm for tomorrow at 07:00", "an alarm called gym for 06:00 on weekdays, first tomorrow".
fn described(new: &NewAlarm, now: &Zoned) -> String {
    let label = new
        .label
        .as_ref()
        .map(|l| format!(" called {l}"))
        .unwrap_or_default();
    match &new.rrule {
        Some(rule) => format!(
            "an alarm{label} for {} {}, first {}",
            speech::time(new.at.time()),
            todos::again(rule),
            speech::on_day(new.at.date(), now)
        ),
        None => format!("an alarm{label} for {}", speech::moment(&new.at, now)),
    }
}

fn resolve(args: &Args, now: &Zoned) -> Result<(NewAlarm, Option<Shift>), ToolError> {
    let resolved = value(args, now)?;
    let at_what_time = || ToolError::tell("At what time? Say it as in seven am.");
    let mut rrule = None;
    let at = match resolved.value {
        When::Time(_) | When::DateTime { .. } => resolved
            .value
            .stretch(now)
            .and_then(|(start, _)| start)
            .ok_or_else(|| ToolError::tell("That is outside the calendar."))?,
        When::Duration { span, .. } => now
            .checked_add(span.0)
            .map_err(|_| ToolError::tell("That is outside the calendar."))?,
        When::Recurrence { all_day: true, .. } => return Err(at_what_time()),
        When::Recurrence {
            rrule: rule, first, ..
        } => {
            rrule = Some(rule);
            first
        }
        When::Date(_) | When::Range { .. } => return Err(at_what_time()),
    };
    if at <= *now {
        return Err(ToolError::tell(format!(
            "{} is over already. When shall it ring?",
            speech::sentence(&speech::moment(&at, now))
        )));
    }
    let label = args.label.as_deref().map(|l| plain::one_line(l, 80));
    let label = label.filter(|l| !l.is_empty());
    Ok((NewAlarm { at, rrule, label }, resolved.shift))
}

/// The time, with the days where they were said apart.
fn value(args: &Args, now: &Zoned) -> Result<when::Resolved, ToolError> {
    let time = args.time.trim();
    let repeat = args.repeat.as_deref().map_or("", str::trim);
    let said = |text: &str| when::resolve(text, now, Hint::Wake);
    let simple = said(time).map_err(|e| ToolError::tell(format!("{e} Say it as in seven am.")))?;
    let once = ["", "none", "no", "never", "once"].contains(&repeat.to_lowercase().as_str());
    if once || matches!(simple.value, When::Recurrence { .. }) {
        return Ok(simple);
    }
    let tries = [
        format!("{repeat} at {time}"),
        format!("every {repeat} at {time}"),
        format!("{repeat} {time}"),
    ];
    tries
        .iter()
        .filter_map(|text| said(text).ok())
        .find(|r| matches!(r.value, When::Recurrence { .. }))
        .ok_or_else(|| {
            ToolError::tell(format!(
                "On which days is \"{}\"? Say it as in every weekday.",
                plain::one_line(repeat, 60)
            ))
        })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::{
        Output, ToolError,
        system::alarms,
        testing::{ctx, run, said, told},
    };

    /// The context is of Monday 23 November 2026, 09:30 in Berlin.
    async fn set(root: &std::path::Path, args: Value) -> Result<Output, ToolError> {
        run("alarms.set", args, &ctx(root)).await
    }

    #[tokio::test]
    async fn it_says_when_it_will_ring() {
        for (args, expect) in [
            (
                json!({"time": "seven am"}),
                "I set an alarm for tomorrow at 07:00.",
            ),
            (
                json!({"time": "tomorrow at half past six am", "label": "airport"}),
                "I set an alarm called airport for tomorrow at 06:30.",
            ),
            (
                json!({"time": "every weekday at seven am"}),
                "I set an alarm for 07:00 on weekdays, first tomorrow.",
            ),
            (
                json!({"time": "six tomorrow"}),
                "I set an alarm for tomorrow at 06:00.",
            ),
            (
                json!({"time": "half five", "repeat": "every weekday"}),
                "I set an alarm for 05:30 on weekdays, first tomorrow.",
            ),
            (
                json!({"time": "tomorrow at six pm"}),
                "I set an alarm for tomorrow at 18:00.",
            ),
            (
                json!({"time": "seven am", "repeat": "weekdays"}),
                "I set an alarm for 07:00 on weekdays, first tomorrow.",
            ),
            (
                json!({"time": "10 am", "repeat": "daily"}),
                "I set an alarm for 10:00 every day, first today.",
            ),
            (
                json!({"time": "8 am", "repeat": "saturday and sunday"}),
                "I set an alarm for 08:00 at weekends, first on Saturday 28 November.",
            ),
        ] {
            let root = tempfile::tempdir().unwrap();
            assert_eq!(said(set(root.path(), args).await), expect);
            let ctx = ctx(root.path());
            assert_eq!(alarms::all(&ctx.dirs, &ctx.now).unwrap().len(), 1);
            ctx.step.journal().undo(None).unwrap();
            assert_eq!(alarms::all(&ctx.dirs, &ctx.now).unwrap(), []);
        }
    }

    #[tokio::test]
    async fn what_is_no_time_is_asked_about_and_the_same_alarm_is_not_set_twice() {
        let root = tempfile::tempdir().unwrap();
        for (args, expect) in [
            (json!({"time": "tomorrow"}), "At what time?"),
            (json!({"time": "purple"}), "do not understand"),
            (json!({"time": ""}), "do not understand"),
            (json!({"time": "yesterday at nine"}), "over already"),
            (json!({"time": "nine", "repeat": "purple"}), "On which days"),
            (json!({"time": "every monday"}), "At what time?"),
            (json!({"label": "x"}), "time"),
        ] {
            let text = told(set(root.path(), args.clone()).await);
            assert!(text.contains(expect), "{args}: {text}");
        }
        assert!(!root.path().join("alarms").exists());
        said(set(root.path(), json!({"time": "seven am"})).await);
        assert_eq!(
            said(set(root.path(), json!({"time": "tomorrow at 7 am"})).await),
            "There is an alarm for tomorrow at 07:00 already."
        );
    }
}
