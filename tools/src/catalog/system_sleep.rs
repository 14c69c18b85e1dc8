//! `system.sleep`: puts the computer to sleep.

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

/// Puts the computer to sleep.
pub struct This;

/// Nothing to say.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Args {}

impl Tool for This {
    type Args = Args;
    const NAME: &'static str = "system.sleep";
    const SUMMARY: &'static str = "Put the computer to sleep, or suspend it";
    /// Nothing that Tiro does wakes it up again.
    const EFFECT: Effect = Effect::Irreversible;
    const EXAMPLES: &'static [&'static str] = &[
        "go to sleep",
        "put the computer to sleep",
        "suspend the laptop",
        "sleep mode",
        "sleep now",
        "send the machine to sleep",
        "hibernate for now",
        "stand by",
    ];
    const PATTERNS: &'static [&'static str] = &[
        "(put|send) (the|my) (computer|laptop|pc) to sleep",
        "suspend (the|my) (computer|laptop|pc)",
    ];
    const USE_WHEN: &'static str =
        "For a rest from which everything goes on; system.lock only locks, system.shutdown ends all.";

    fn preview(_args: &Args, ctx: &Ctx) -> Result<String, ToolError> {
        desktop::wait(Self::TIMEOUT, power::check(&ctx.desk, Act::Sleep))?;
        Ok("Put this computer to sleep".to_owned())
    }

    async fn run(_args: Args, ctx: &Ctx) -> Result<Output, ToolError> {
        power::act(&ctx.desk, Act::Sleep).await?;
        ctx.step.beyond();
        Ok(Output::new("Good night.", json!({"done": true})))
    }
}
