//! `alarms.list`: which alarms are set, and when each rings next.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{
    contract::{Ctx, Effect, Output, Tool, ToolError},
    system::{
        alarms::{self, Alarm},
        speech, todos,
    },
};

/// More are not listened to.
const MAX_SPOKEN: usize = 5;
/// More are not shown to the model.
const MAX_SHOWN: usize = 20;

/// Lists alarms.
pub struct This;

/// Nothing to choose.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Args {}

impl Tool for This {
    type Args = Args;
    const NAME: &'static str = "alarms.list";
    const SUMMARY: &'static str = "Tell which alarms are set and when the next one rings";
    const EFFECT: Effect = Effect::Read;
    const EXAMPLES: &'static [&'static str] = &[
        "what alarms do I have",
        "when is my next alarm",
        "show me my alarms",
        "did I set an alarm for tomorrow",
        "what time am I getting up",
        "is there an alarm for seven",
    ];
    const PATTERNS: &'static [&'static str] = &[
        "(what|which) alarms do i have [set]",
        "(show|list|tell) [me] [all] my alarms",
        "do i have any alarms",
        "when is my next alarm",
    ];
    const USE_WHEN: &'static str = "For what rings at a time of day; countdowns are in timers.list.";

    async fn run(_: Args, ctx: &Ctx) -> Result<Output, ToolError> {
        ctx.blocking("read your alarms", list).await
    }
}

fn list(ctx: &Ctx) -> Result<Output, ToolError> {
    let alarms = alarms::all(&ctx.dirs, &ctx.now)?;
    let parts: Vec<String> = alarms.iter().map(|a| spoken(a, ctx)).collect();
    let say = match &alarms[..] {
        [] => "No alarm is set.".to_owned(),
        [_] => format!("You have one alarm: {}.", parts[0]),
        _ => format!(
            "You have {}: {}.",
            speech::count(alarms.len(), "alarm", "alarms"),
            speech::some_of(&parts, MAX_SPOKEN)
        ),
    };
    let data: Vec<Value> = alarms.iter().take(MAX_SHOWN).map(data).collect();
    Ok(Output::new(say, json!({"found": alarms.len(), "alarms": data})))
}

/// "gym tomorrow at 06:00", "07:00 on weekdays, next tomorrow at 07:00".
fn spoken(alarm: &Alarm, ctx: &Ctx) -> String {
    let next = speech::moment(&alarm.next, &ctx.now);
    let label = alarm.label.as_ref().map(|l| format!("{l} ")).unwrap_or_default();
    match &alarm.rrule {
        Some(rule) => format!(
            "{label}{} {}, next {next}",
            speech::time(alarm.time),
            todos::again(rule)
        ),
        None => format!("{label}{next}"),
    }
}

fn data(alarm: &Alarm) -> Value {
    let mut data = json!({
        "next": alarm.next.strftime("%Y-%m-%dT%H:%M").to_string(),
        "uid": alarm.uid,
    });
    if let Some(label) = &alarm.label {
        data["label"] = json!(label);
    }
    if let Some(rule) = &alarm.rrule {
        data["rrule"] = json!(rule);
    }
    data
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::{
        Ctx,
        testing::{ctx, run, said},
    };

    #[tokio::test]
    async fn it_says_what_rings_next() {
        let root = tempfile::tempdir().unwrap();
        let ctx = ctx(root.path());
        let list = async |ctx: &Ctx| said(run("alarms.list", json!({}), ctx).await);
        assert_eq!(list(&ctx).await, "No alarm is set.");
        said(run("alarms.set", json!({"time": "every weekday at seven am"}), &ctx).await);
        assert_eq!(
            list(&ctx).await,
            "You have one alarm: 07:00 on weekdays, next tomorrow at 07:00."
        );
        said(run("alarms.set", json!({"time": "ten pm", "label": "medicine"}), &ctx).await);
        assert_eq!(
            list(&ctx).await,
            "You have two alarms: medicine today at 22:00 and 07:00 on weekdays, next tomorrow at 07:00."
        );
        let friday = Ctx {
            now: "2026-11-27T08:00[Europe/Berlin]".parse().unwrap(),
            ..ctx.clone()
        };
        assert_eq!(
            list(&friday).await,
            "You have one alarm: 07:00 on weekdays, next Monday 30 November at 07:00."
        );
    }
}
