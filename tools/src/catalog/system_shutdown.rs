//! `system.shutdown`: turns the computer off.

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

/// Turns the computer off.
pub struct This;

/// Nothing to say.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Args {}

impl Tool for This {
    type Args = Args;
    const NAME: &'static str = "system.shutdown";
    const SUMMARY: &'static str = "Shut the computer down: turn it off";
    const EFFECT: Effect = Effect::Irreversible;
    const EXAMPLES: &'static [&'static str] = &[
        "shut down the computer",
        "turn off the computer",
        "power off",
        "shut it down",
        "switch the laptop off",
        "shutdown please",
        "turn the pc off now",
        "power down the machine",
    ];
    const PATTERNS: &'static [&'static str] = &[
        "shut down (the|my) (computer|laptop|pc)",
        "shut (the|my) (computer|laptop|pc) down",
        "(turn|switch|power) off (the|my) (computer|laptop|pc)",
        "(turn|switch) (the|my) (computer|laptop|pc) off",
    ];
    const USE_WHEN: &'static str =
        "To turn the whole computer off; system.quit_app closes one program, system.sleep only rests.";

    fn preview(_args: &Args, ctx: &Ctx) -> Result<String, ToolError> {
        desktop::wait(Self::TIMEOUT, power::check(&ctx.desk, Act::ShutDown))?;
        Ok("Shut this computer down. What is not saved is lost".to_owned())
    }

    async fn run(_args: Args, ctx: &Ctx) -> Result<Output, ToolError> {
        power::act(&ctx.desk, Act::ShutDown).await?;
        ctx.step.beyond();
        Ok(Output::new("Shutting down.", json!({"done": true})))
    }
}
