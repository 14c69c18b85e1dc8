//! `timers.cancel`: stops a timer before it rings, or while it does.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::{
    contract::{Ctx, Effect, Output, Tool, ToolError},
    system::{
        known, plain,
        rings::{self, Kind, Ring},
        timers::{self, Timer},
    },
};

/// Cancels timers.
pub struct This;

/// Which.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Args {
    /// Name, length or "all"; empty for the only one
    timer: Option<String>,
}

impl Tool for This {
    type Args = Args;
    const NAME: &'static str = "timers.cancel";
    const SUMMARY: &'static str = "Cancel a running timer, or stop one that is ringing";
    const EFFECT: Effect = Effect::Write;
    const NAMED: &'static [(&'static str, known::Kind)] = &[("timer", known::Kind::Timer)];
    const EXAMPLES: &'static [&'static str] = &[
        "cancel the timer",
        "stop the egg timer",
        "cancel all timers",
        "turn off the ten minute timer",
        "forget the pasta timer",
        "stop the countdown",
    ];
    const CALLS: &'static [(&'static str, &'static str)] = &[
        ("stop the egg timer", r#"{"timer": "egg"}"#),
        ("cancel the timer", "{}"),
    ];
    const PATTERNS: &'static [&'static str] = &[
        "(cancel|stop|delete|turn off) (the|my) timer",
        "cancel (the|my) {timer:length} timer",
        "(cancel|stop|turn off) all [my|the] timers -> timer=all",
    ];
    const USE_WHEN: &'static str = "For countdowns; alarms.cancel is for what rings at a time of day.";

    fn preview(args: &Args, ctx: &Ctx) -> Result<String, ToolError> {
        if let Some(name) = ringing(args, &running(ctx)?, ctx) {
            return Ok(format!("Stop your {name}."));
        }
        let timers = running(ctx)?;
        Ok(format!(
            "Cancel {}.",
            named(&timers::choose(args.timer.as_deref(), &timers, &ctx.now)?)
        ))
    }

    async fn run(args: Args, ctx: &Ctx) -> Result<Output, ToolError> {
        ctx.blocking("cancel the timer", move |ctx| cancel(&args, ctx))
            .await
    }
}

fn cancel(args: &Args, ctx: &Ctx) -> Result<Output, ToolError> {
    let timers = running(ctx)?;
    if let Some(name) = ringing(args, &timers, ctx) {
        rings::stop(&ctx.step, &ctx.dirs, &ctx.now, |ring| ring.kind == Kind::Timer)
            .map_err(|e| e.tool("stop the timer"))?;
        ctx.step.beyond();
        return Ok(Output::new(
            format!("I stopped your {name}."),
            json!({"stopped": name}),
        ));
    }
    let chosen = timers::choose(args.timer.as_deref(), &timers, &ctx.now)?;
    let name = named(&chosen);
    for timer in &chosen {
        timers::cancel(&ctx.step, &ctx.dirs, timer)?;
    }
    let ids: Vec<u64> = chosen.iter().map(|t| t.id).collect();
    Ok(Output::new(
        format!("I cancelled {name}."),
        json!({"cancelled": ids}),
    ))
}

fn running(ctx: &Ctx) -> Result<Vec<Timer>, ToolError> {
    timers::all(&ctx.dirs).map_err(|e| e.tool("read the timers"))
}

/// The name of what rings, where that is meant: when nothing was named, or no other timer is there.
fn ringing(args: &Args, timers: &[Timer], ctx: &Ctx) -> Option<String> {
    let named = args
        .timer
        .as_deref()
        .is_some_and(|t| !crate::system::which::bare(t, timers::KIND).is_empty());
    let open = rings::open(&ctx.dirs);
    let names: Vec<String> = open
        .iter()
        .map(|o| &o.ring)
        .filter(|ring| ring.kind == Kind::Timer)
        .map(Ring::name)
        .collect();
    (!names.is_empty() && (!named || timers.is_empty())).then(|| plain::listed(&names, "and your"))
}

fn named(timers: &[&Timer]) -> String {
    let names: Vec<String> = timers.iter().map(|t| t.name()).collect();
    plain::listed(&names, "and")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::{
        system::{rings, timers},
        testing::{ctx, run, said, told},
    };

    #[tokio::test]
    async fn it_cancels_what_is_meant_asks_when_it_is_not_sure_and_undo_restores_it() {
        let root = tempfile::tempdir().unwrap();
        let ctx = ctx(root.path());
        let cancel = async |timer: &str| run("timers.cancel", json!({"timer": timer}), &ctx).await;
        assert_eq!(told(cancel("").await), "No timer is running.");
        for (duration, label) in [
            ("six minutes", Some("eggs")),
            ("ten minutes", Some("pasta")),
            ("ten minutes", None),
        ] {
            said(run("timers.set", json!({"duration": duration, "label": label}), &ctx).await);
        }
        assert!(told(cancel("").await).starts_with("Which timer: the eggs timer, 6 minutes left, "));
        assert!(told(cancel("the ten minute one").await).starts_with("Which timer: "));
        let before = timers::all(&ctx.dirs).unwrap();
        assert_eq!(said(cancel("the egg timer").await), "I cancelled the eggs timer.");
        assert_eq!(timers::all(&ctx.dirs).unwrap().len(), 2);
        ctx.step.journal().undo(None).unwrap();
        assert_eq!(timers::all(&ctx.dirs).unwrap(), before);
        assert_eq!(
            said(cancel("all my timers").await),
            "I cancelled the eggs timer, the pasta timer and the timer for 10 minutes."
        );
        ctx.step.journal().undo(None).unwrap();
        assert_eq!(timers::all(&ctx.dirs).unwrap(), before, "all of them in one step");
    }

    #[tokio::test]
    async fn one_that_rings_is_stopped() {
        let root = tempfile::tempdir().unwrap();
        let ctx = ctx(root.path());
        said(
            run(
                "timers.set",
                json!({"duration": "1 minute", "label": "tea"}),
                &ctx,
            )
            .await,
        );
        let later = crate::Ctx {
            now: ctx.now.checked_add(jiff::SignedDuration::from_mins(1)).unwrap(),
            ..ctx.clone()
        };
        let again = rings::Again {
            after: std::time::Duration::from_secs(60),
            times: 3,
        };
        rings::take(&ctx.dirs, &[], &later.now, again).unwrap();
        assert_eq!(rings::open(&ctx.dirs).len(), 1);
        assert_eq!(
            said(run("timers.cancel", json!({}), &later).await),
            "I stopped your tea timer."
        );
        assert_eq!(rings::open(&ctx.dirs), []);
        let undone = ctx.step.journal().undo(None).unwrap_err().to_string();
        assert!(
            undone.starts_with("\"I stopped your tea timer.\" is nothing that I can undo."),
            "{undone}"
        );
        assert_eq!(
            told(run("timers.cancel", json!({}), &later).await),
            "No timer is running."
        );
    }
}
