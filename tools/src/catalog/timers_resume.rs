//! `timers.resume`: lets a paused timer go on.

use std::time::Duration;

use jiff::SignedDuration;
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

/// Resumes timers.
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
    const NAME: &'static str = "timers.resume";
    const SUMMARY: &'static str = "Let a paused timer run on";
    const EFFECT: Effect = Effect::Write;
    const NAMED: &'static [(&'static str, Kind)] = &[("timer", Kind::Timer)];
    const EXAMPLES: &'static [&'static str] = &[
        "resume the timer",
        "continue the egg timer",
        "let the timer run again",
        "unpause the timer",
        "start the paused timer again",
        "carry on with the countdown",
    ];
    const CALLS: &'static [(&'static str, &'static str)] = &[
        ("continue the egg timer", r#"{"timer": "egg"}"#),
        ("let the timer run again", "{}"),
    ];
    const PATTERNS: &'static [&'static str] = &["(resume|continue|unpause) (the|my) timer"];
    const USE_WHEN: &'static str = "For countdowns; music is paused by media.play.";

    fn preview(args: &Args, ctx: &Ctx) -> Result<String, ToolError> {
        let timers = these(ctx)?;
        let chosen = timers::choose(args.timer.as_deref(), &timers, &ctx.now)?;
        Ok(format!("Resume {}.", timers::named(&chosen)))
    }

    async fn run(args: Args, ctx: &Ctx) -> Result<Output, ToolError> {
        ctx.blocking("resume the timer", move |ctx| resume(&args, ctx))
            .await
    }
}

fn resume(args: &Args, ctx: &Ctx) -> Result<Output, ToolError> {
    let timers = these(ctx)?;
    let chosen = timers::choose(args.timer.as_deref(), &timers, &ctx.now)?;
    for timer in &chosen {
        let left = SignedDuration::try_from(Duration::from_secs(timer.left(&ctx.now))).unwrap_or_default();
        let rings = ctx.now.timestamp().checked_add(left);
        let rings = rings.map_err(|_| ToolError::tell("That is too long for a timer."))?;
        timers::change(&ctx.step, &ctx.dirs, timer, "resume the timer", |t| {
            (t.paused, t.rings) = (None, rings);
        })?;
    }
    let ids: Vec<u64> = chosen.iter().map(|t| t.id).collect();
    Ok(Output::new(
        timers::done("resumed", &chosen, &ctx.now),
        json!({"resumed": ids}),
    ))
}

/// Those that can be resumed.
fn these(ctx: &Ctx) -> Result<Vec<Timer>, ToolError> {
    timers::those(&ctx.dirs, "No timer is paused.", |t| t.paused.is_some())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::{
        system::timers,
        testing::{ctx, run, said, told},
    };

    #[tokio::test]
    async fn it_goes_on_with_what_was_left() {
        let root = tempfile::tempdir().unwrap();
        let ctx = ctx(root.path());
        said(
            run(
                "timers.set",
                json!({"duration": "six minutes", "label": "eggs"}),
                &ctx,
            )
            .await,
        );
        assert_eq!(
            told(run("timers.resume", json!({}), &ctx).await),
            "No timer is paused."
        );
        said(run("timers.pause", json!({}), &ctx).await);
        let later = crate::Ctx {
            now: ctx.now.checked_add(jiff::SignedDuration::from_hours(3)).unwrap(),
            ..ctx.clone()
        };
        assert_eq!(
            said(run("timers.resume", json!({"timer": "egg"}), &later).await),
            "I resumed the eggs timer. It has 6 minutes left."
        );
        let timer = &timers::all(&ctx.dirs).unwrap()[0];
        assert_eq!((timer.left(&later.now), timer.paused), (360, None));
        ctx.step.journal().undo(None).unwrap();
        assert_eq!(timers::all(&ctx.dirs).unwrap()[0].paused, Some(360));
    }
}
