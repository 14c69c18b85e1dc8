//! `clock.now`: the time and the date.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::contract::{Ctx, Effect, Output, Tool, ToolError};

/// Tells the time.
pub struct This;

/// It takes nothing.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Args {}

impl Tool for This {
    type Args = Args;
    const NAME: &'static str = "clock.now";
    const SUMMARY: &'static str = "Tell the current time and date";
    const EFFECT: Effect = Effect::Read;
    const EXAMPLES: &'static [&'static str] = &[
        "what time is it",
        "what's the date today",
        "which day of the week is it",
    ];
    const PATTERNS: &'static [&'static str] = &[
        "what time is it [now|right now]",
        "[what is] the time [now]",
        "tell me the time",
        "do you (know what time it is|have the time)",
        "(what|which) day (is it|of the week is it) [today]",
        "what date is it",
        "what is the date [today]",
        "what is (today's|todays) date",
    ];

    async fn run(_args: Args, ctx: &Ctx) -> Result<Output, ToolError> {
        let now = &ctx.now;
        Ok(Output::new(
            format!("It is {}.", now.strftime("%-H:%M on %A, %-d %B %Y")),
            json!({"now": now.datetime().to_string(), "zone": now.time_zone().iana_name()}),
        ))
    }
}
