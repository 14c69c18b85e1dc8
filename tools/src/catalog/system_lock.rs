//! `system.lock`: locks the screen.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::{
    contract::{Ctx, Effect, Output, Tool, ToolError},
    system::desktop::power::{self, Locked},
};

/// Locks.
pub struct This;

/// Nothing to say.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Args {}

impl Tool for This {
    type Args = Args;
    const NAME: &'static str = "system.lock";
    const SUMMARY: &'static str = "Lock the screen, so that it takes the password to go on";
    const EFFECT: Effect = Effect::Write;
    const EXAMPLES: &'static [&'static str] = &[
        "lock the screen",
        "lock my computer",
        "lock it",
        "I'm leaving, lock up",
        "lock the laptop",
        "lock this session",
        "secure the screen",
        "lock the pc",
    ];
    const PATTERNS: &'static [&'static str] = &["lock (the|my) (screen|computer|laptop|pc)", "lock screen"];
    const USE_WHEN: &'static str =
        "To lock the screen; system.sleep turns the computer off for a while, too.";

    fn preview(_args: &Args, _ctx: &Ctx) -> Result<String, ToolError> {
        Ok("Lock the screen".to_owned())
    }

    async fn run(_args: Args, ctx: &Ctx) -> Result<Output, ToolError> {
        let locked = power::lock(&ctx.desk).await?;
        ctx.step.beyond();
        let say = match locked {
            Locked::Surely => "The screen is locked.",
            Locked::Asked => "I asked the desktop to lock the screen. It does not say whether it did.",
        };
        Ok(Output::new(say, json!({"sure": locked == Locked::Surely})))
    }
}
