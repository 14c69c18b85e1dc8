//! `system.set_brightness`: how bright the screen is.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::{
    contract::{Ctx, Effect, Output, Tool, ToolError},
    system::desktop::{
        brightness,
        level::{Direction, Level},
        settings::{self, Setting},
    },
};

/// Sets the brightness.
pub struct This;

/// How bright.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Args {
    /// 0 to 100; with `direction`, by how much
    percent: Option<u32>,
    /// Only when it shall be brighter or darker than now
    direction: Option<Direction>,
}

impl Tool for This {
    type Args = Args;
    const NAME: &'static str = "system.set_brightness";
    const SUMMARY: &'static str = "Set the brightness of the screen: brighter, darker, or a percentage";
    const EFFECT: Effect = Effect::Write;
    const EXAMPLES: &'static [&'static str] = &[
        "set the brightness to fifty percent",
        "make the screen brighter",
        "dim the screen",
        "turn the brightness down",
        "the display is too dark",
        "full brightness",
        "screen a little darker please",
        "lower the brightness by ten",
    ];
    const CALLS: &'static [(&'static str, &'static str)] = &[
        ("set the brightness to fifty percent", r#"{"percent": 50}"#),
        ("dim the screen", r#"{"direction": "down"}"#),
        (
            "lower the brightness by ten",
            r#"{"percent": 10, "direction": "down"}"#,
        ),
    ];
    const PATTERNS: &'static [&'static str] = &[
        "(set|turn|put|change) the [screen] brightness (to|at) {percent:0-100} [percent]",
        "turn the screen brightness {direction}",
        "turn {direction} the screen brightness",
        "screen brightness {direction}",
        "screen brightness [to|at] {percent:0-100} [percent]",
        "(increase|raise) the screen brightness -> direction=up",
        "(decrease|lower|reduce) the screen brightness -> direction=down",
        "make the (screen|display) brighter -> direction=up",
        "make the (screen|display) darker -> direction=down",
        "dim the (screen|display) -> direction=down",
        "(full|maximum) brightness -> percent=100",
    ];
    const USE_WHEN: &'static str =
        "For the light of the screen; system.dark_mode changes the colours of programs.";
    const LIMITS: &'static str = "Only a built-in screen, and never below 1 percent.";

    fn preview(args: &Args, _ctx: &Ctx) -> Result<String, ToolError> {
        let level = Level::of(args.percent, args.direction, WHAT)?;
        Ok(format!("Turn the brightness {}", level.words()))
    }

    async fn run(args: Args, ctx: &Ctx) -> Result<Output, ToolError> {
        let level = Level::of(args.percent, args.direction, WHAT)?;
        let full = brightness::full(&ctx.desk)?;
        let now = brightness::percent(brightness::read(&ctx.desk).await?, full);
        // A screen that is off cannot be seen to be turned on again.
        let percent = level.from(now).max(LEAST);
        if percent != now {
            let raw = brightness::of_percent(percent, full).max(1);
            settings::change(ctx, Setting::Brightness, raw.to_string()).await?;
        }
        Ok(Output::new(
            format!("The brightness is at {percent} percent."),
            json!({"percent": percent, "before": now}),
        ))
    }
}

const WHAT: &str = "the brightness";
/// In percent.
const LEAST: u32 = 1;
