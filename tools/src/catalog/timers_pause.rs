//! `timers.pause`: halts a timer; what is left of it waits.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::{
    contract::{Ctx, Effect, Output, Tool, ToolError},
    system::{
        known::Kind,
        timers::{self, Timer},
    },
};

/// Pauses timers.
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
    const NAME: &'static str = "timers.pause";
    const SUMMARY: &'static str = "Pause a running timer, keeping the time that is left";
    const EFFECT: Effect = Effect::Write;
    const NAMED: &'static [(&'static str, Kind)] = &[("timer", Kind::Timer)];
    const EXAMPLES: &'static [&'static str] = &[
        "pause the timer",
        "hold the egg timer",
        "pause my ten minute timer for a moment",
        "freeze the countdown",
        "put the timer on hold",
        "pause all timers",
    ];
    const CALLS: &'static [(&'static str, &'static str)] = &[
        ("hold the egg timer", r#"{"timer": "egg"}"#),
        ("freeze the countdown", "{}"),
    ];
    const PATTERNS: &'static [&'static str] = &[
        "pause (the|my) timer",
        "pause (the|my) {timer:length} timer",
        "pause all [my|the] timers -> timer=all",
    ];
    const USE_WHEN: &'static str = "For countdowns; music is paused by media.pause.";

    fn preview(args: &Args, ctx: &Ctx) -> Result<String, ToolError> {
        let timers = these(ctx)?;
        let chosen = timers::choose(args.timer.as_deref(), &timers, &ctx.now)?;
        Ok(format!("Pause {}.", timers::named(&chosen)))
    }

    async fn run(args: Args, ctx: &Ctx) -> Result<Output, ToolError> {
        ctx.blocking("pause the timer", move |ctx| pause(&args, ctx))
            .await
    }
}

fn pause(args: &Args, ctx: &Ctx) -> Result<Output, ToolError> {
    let timers = these(ctx)?;
    let chosen = timers::choose(args.timer.as_deref(), &timers, &ctx.now)?;
    for timer in &chosen {
        let left = timer.left(&ctx.now);
        timers::change(&ctx.step, &ctx.dirs, timer, "pause the timer", |t| {
            t.paused = Some(left)
        })?;
    }
    let ids: Vec<u64> = chosen.iter().map(|t| t.id).collect();
    Ok(Output::new(
        timers::done("paused", &chosen, &ctx.now),
        json!({"paused": ids}),
    ))
}

/// Those that can be paused.
fn these(ctx: &Ctx) -> Result<Vec<Timer>, ToolError> {
    timers::those(&ctx.dirs, "No timer is running.", |t| t.paused.is_none())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::{
        system::timers,
        testing::{ctx, run, said, told},
    };

    #[tokio::test]
    async fn it_halts_and_says_what_is_left_and_undo_lets_it_run() {
        let root = tempfile::tempdir().unwrap();
        let ctx = ctx(root.path());
        let pause = async |timer: &str| run("timers.pause", json!({"timer": timer}), &ctx).await;
        assert_eq!(told(pause("").await), "No timer is running.");
        said(
            run(
                "timers.set",
                json!({"duration": "six minutes", "label": "eggs"}),
                &ctx,
            )
            .await,
        );
        let running = timers::all(&ctx.dirs).unwrap();
        assert_eq!(
            said(pause("").await),
            "I paused the eggs timer. It has 6 minutes left."
        );
        assert_eq!(told(pause("").await), "No timer is running.");
        assert_eq!(timers::all(&ctx.dirs).unwrap()[0].paused, Some(360));
        ctx.step.journal().undo(None).unwrap();
        assert_eq!(timers::all(&ctx.dirs).unwrap(), running);
        said(
            run(
                "timers.set",
                json!({"duration": "ten minutes", "label": "pasta"}),
                &ctx,
            )
            .await,
        );
        assert!(told(pause("it").await).starts_with("Which timer: "));
        assert_eq!(
            said(pause("all").await),
            "I paused the eggs timer and the pasta timer."
        );
    }
}
