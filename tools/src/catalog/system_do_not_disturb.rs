//! `system.do_not_disturb`: holds notifications back.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::{
    contract::{Ctx, Effect, Output, Tool, ToolError},
    system::desktop::settings::{self, Setting},
};

/// Holds notifications back.
pub struct This;

/// On or off.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Args {
    /// false to let them through again; true unless said
    on: Option<bool>,
}

impl Tool for This {
    type Args = Args;
    const NAME: &'static str = "system.do_not_disturb";
    const SUMMARY: &'static str = "Do not disturb: hold notifications back, or let them through again";
    const EFFECT: Effect = Effect::Write;
    const EXAMPLES: &'static [&'static str] = &[
        "turn on do not disturb",
        "do not disturb me",
        "no notifications please",
        "stop the notifications",
        "let notifications through again",
        "turn off do not disturb",
        "focus mode on",
        "silence notifications",
        "don't disturb",
    ];
    const CALLS: &'static [(&'static str, &'static str)] = &[
        ("no notifications please", r#"{"on": true}"#),
        ("let notifications through again", r#"{"on": false}"#),
    ];
    const PATTERNS: &'static [&'static str] = &[
        "(turn|switch) {on} do not disturb",
        "(turn|switch) do not disturb {on}",
        "do not disturb {on}",
        "do not disturb [me] -> on=true",
        "(enable|activate) do not disturb -> on=true",
        "(disable|deactivate) do not disturb -> on=false",
    ];
    const USE_WHEN: &'static str = "For notifications; system.mute silences the sound.";
    const LIMITS: &'static str = "What Tiro rings itself, such as alarms, is still heard.";

    fn preview(args: &Args, _ctx: &Ctx) -> Result<String, ToolError> {
        Ok(match args.on.unwrap_or(true) {
            true => "Hold notifications back",
            false => "Let notifications through",
        }
        .to_owned())
    }

    async fn run(args: Args, ctx: &Ctx) -> Result<Output, ToolError> {
        let on = args.on.unwrap_or(true);
        let before = settings::change(ctx, Setting::DoNotDisturb, settings::on_off(on)).await?;
        let state = if on { "on" } else { "off" };
        let already = if before == settings::on_off(on) {
            " already"
        } else {
            ""
        };
        Ok(Output::new(
            format!("Do not disturb is {state}{already}."),
            json!({ "on": on }),
        ))
    }
}
