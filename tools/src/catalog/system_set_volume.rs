//! `system.set_volume`: how loud the computer is.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::{
    contract::{Ctx, Effect, Output, Tool, ToolError},
    system::desktop::{
        level::{Direction, Level},
        settings::{self, Setting},
        sound,
    },
};

/// Sets the volume.
pub struct This;

/// How loud.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Args {
    /// 0 to 100; with `direction`, by how much
    percent: Option<u32>,
    /// Only when it shall be louder or quieter than now
    direction: Option<Direction>,
}

impl Tool for This {
    type Args = Args;
    const NAME: &'static str = "system.set_volume";
    const SUMMARY: &'static str = "Set the volume: louder, quieter, or to a percentage";
    const EFFECT: Effect = Effect::Write;
    const EXAMPLES: &'static [&'static str] = &[
        "set the volume to thirty percent",
        "turn it up",
        "make it louder",
        "volume down",
        "quieter please",
        "turn the sound down a bit",
        "volume at maximum",
        "lower the volume by twenty",
        "crank it up to eighty",
    ];
    const CALLS: &'static [(&'static str, &'static str)] = &[
        ("put the sound at forty percent", r#"{"percent": 40}"#),
        ("make it louder", r#"{"direction": "up"}"#),
        (
            "lower the volume by twenty",
            r#"{"percent": 20, "direction": "down"}"#,
        ),
    ];
    const PATTERNS: &'static [&'static str] = &[
        "(set|turn|put|change) [the] volume (to|at) {percent:0-100} [percent]",
        "volume [to|at] {percent:0-100} [percent]",
        "turn [the] (volume|sound) {direction}",
        "turn {direction} the (volume|sound)",
        "volume {direction}",
        "[make it] louder -> direction=up",
        "[make it] quieter -> direction=down",
        "(increase|raise) the volume -> direction=up",
        "(decrease|lower|reduce) the volume -> direction=down",
        "(increase|raise) the volume by {percent:1-100} [percent] -> direction=up",
        "(decrease|lower|reduce) the volume by {percent:1-100} [percent] -> direction=down",
        "(increase|raise) the volume to {percent:0-100} [percent]",
        "(decrease|lower|reduce) the volume to {percent:0-100} [percent]",
        "(full|maximum) volume -> percent=100",
    ];
    const USE_WHEN: &'static str = "For how loud it is; system.mute silences it altogether.";

    fn preview(args: &Args, _ctx: &Ctx) -> Result<String, ToolError> {
        let level = Level::of(args.percent, args.direction, WHAT)?;
        Ok(format!("Turn the volume {}", level.words()))
    }

    async fn run(args: Args, ctx: &Ctx) -> Result<Output, ToolError> {
        let level = Level::of(args.percent, args.direction, WHAT)?;
        let now = sound::percent(sound::volume(&ctx.desk).await?);
        let percent = level.from(now);
        if percent != now {
            settings::change(ctx, Setting::Volume, sound::of_percent(percent).to_string()).await?;
        }
        // Who asks for a volume wants to hear something.
        if percent > 0 && !matches!(level, Level::Down(_)) && sound::muted(&ctx.desk).await? {
            settings::change(ctx, Setting::Mute, settings::on_off(false)).await?;
        }
        Ok(Output::new(
            format!("The volume is at {percent} percent."),
            json!({"percent": percent, "before": now}),
        ))
    }
}

const WHAT: &str = "the volume";
