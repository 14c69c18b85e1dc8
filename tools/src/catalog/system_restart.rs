//! `system.restart`: restarts the computer.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::{
    contract::{Ctx, Effect, Output, Tool, ToolError},
    system::desktop::{
        self,
        power::{self, Act},
    },
};

/// Restarts the computer.
pub struct This;

/// Nothing to say.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Args {}

impl Tool for This {
    type Args = Args;
    const NAME: &'static str = "system.restart";
    const SUMMARY: &'static str = "Restart or reboot the computer";
    const EFFECT: Effect = Effect::Irreversible;
    const EXAMPLES: &'static [&'static str] = &[
        "restart the computer",
        "reboot",
        "reboot my laptop",
        "restart the machine now",
        "do a restart",
        "turn it off and on again",
        "reboot the system please",
        "restart the pc",
    ];
    const PATTERNS: &'static [&'static str] =
        &["(restart|reboot) (the|my) (computer|laptop|pc|machine)", "reboot"];
    const USE_WHEN: &'static str = "To turn the computer off and on again; system.shutdown leaves it off.";

    fn preview(_args: &Args, ctx: &Ctx) -> Result<String, ToolError> {
        desktop::wait(Self::TIMEOUT, power::check(&ctx.desk, Act::Restart))?;
        Ok("Restart this computer. What is not saved is lost".to_owned())
    }

    async fn run(_args: Args, ctx: &Ctx) -> Result<Output, ToolError> {
        power::act(&ctx.desk, Act::Restart).await?;
        ctx.step.beyond();
        Ok(Output::new("Restarting.", json!({"done": true})))
    }
}
