//! `timers.list`: which timers run and how much is left of each.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{
    contract::{Ctx, Effect, Output, Tool, ToolError},
    system::{
        known::Kind,
        speech,
        timers::{self, Timer},
    },
};

/// Lists timers.
pub struct This;

/// Which.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Args {
    /// One timer by name or length; else all
    timer: Option<String>,
}

impl Tool for This {
    type Args = Args;
    const NAME: &'static str = "timers.list";
    const SUMMARY: &'static str = "Tell which timers are running and how much time is left";
    const EFFECT: Effect = Effect::Read;
    const NAMED: &'static [(&'static str, Kind)] = &[("timer", Kind::Timer)];
    const EXAMPLES: &'static [&'static str] = &[
        "how long is left on the timer",
        "what timers are running",
        "how much time is left on the egg timer",
        "check the timer",
        "is the timer still going",
        "when does my ten minute timer go off",
    ];
    const CALLS: &'static [(&'static str, &'static str)] = &[
        ("how much time is left on the egg timer", r#"{"timer": "egg"}"#),
        ("what timers are running", "{}"),
    ];
    const PATTERNS: &'static [&'static str] = &[
        "how (long|much time) is left on (the|my) timer",
        "(what|which) timers (are running|do i have)",
        "(show|list) [me] [all] my timers",
        "check (the|my) timer",
    ];
    const USE_WHEN: &'static str = "For countdowns; what rings at a time of day is in alarms.list.";

    async fn run(args: Args, ctx: &Ctx) -> Result<Output, ToolError> {
        ctx.blocking("read the timers", move |ctx| list(&args, ctx)).await
    }
}

fn list(args: &Args, ctx: &Ctx) -> Result<Output, ToolError> {
    let timers = timers::all(&ctx.dirs).map_err(|e| e.tool("read the timers"))?;
    let said = args.timer.as_deref().filter(|t| !t.trim().is_empty());
    let shown: Vec<&Timer> = match said {
        Some(_) => timers::choose(said, &timers, &ctx.now)?,
        None => timers.iter().collect(),
    };
    let say = match shown[..] {
        [] => "No timer is running.".to_owned(),
        [one] => format!("{}.", speech::sentence(&left(one, ctx))),
        _ => {
            let parts: Vec<String> = shown.iter().map(|t| left(t, ctx)).collect();
            let count = speech::count(shown.len(), "timer", "timers");
            format!("You have {count}: {}.", speech::some_of(&parts, 5))
        }
    };
    let data: Vec<Value> = shown.iter().map(|t| data(t, ctx)).collect();
    Ok(Output::new(say, json!({"timers": data})))
}

/// "the eggs timer has 4 minutes left".
fn left(timer: &Timer, ctx: &Ctx) -> String {
    let left = timers::spoken(timer.left(&ctx.now));
    let paused = if timer.paused.is_some() {
        " and is paused"
    } else {
        ""
    };
    format!("{} has {left} left{paused}", timer.name())
}

fn data(timer: &Timer, ctx: &Ctx) -> Value {
    let mut data = json!({
        "id": timer.id,
        "seconds": timer.seconds,
        "left": timer.left(&ctx.now),
        "paused": timer.paused.is_some(),
    });
    if let Some(label) = &timer.label {
        data["label"] = json!(label);
    }
    data
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::{
        Ctx,
        testing::{ctx, run, said, told},
    };

    #[tokio::test]
    async fn it_says_what_is_left() {
        let root = tempfile::tempdir().unwrap();
        let ctx = ctx(root.path());
        let ask = async |ctx: &Ctx, args| run("timers.list", args, ctx).await;
        assert_eq!(said(ask(&ctx, json!({})).await), "No timer is running.");
        assert_eq!(
            told(ask(&ctx, json!({"timer": "eggs"})).await),
            "No timer is running."
        );
        for (duration, label) in [("six minutes", Some("eggs")), ("ten minutes", None)] {
            said(run("timers.set", json!({"duration": duration, "label": label}), &ctx).await);
        }
        let later = Ctx {
            now: ctx.now.checked_add(jiff::SignedDuration::from_secs(90)).unwrap(),
            ..ctx.clone()
        };
        assert_eq!(
            said(ask(&later, json!({})).await),
            "You have two timers: the eggs timer has 4 minutes 30 seconds left and the timer for 10 minutes has 8 minutes 30 seconds left."
        );
        for said_so in ["the ten minute one", "10 minutes", "the second one"] {
            assert_eq!(
                said(ask(&later, json!({"timer": said_so})).await),
                "The timer for 10 minutes has 8 minutes 30 seconds left."
            );
        }
        assert!(told(ask(&later, json!({"timer": "bread"})).await).contains("no timer called \"bread\""));
        assert!(told(ask(&later, json!({"name": "eggs"})).await).contains("name"));
    }
}
