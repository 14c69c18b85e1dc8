//! `system.dark_mode`: dark or light programs.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::{
    contract::{Ctx, Effect, Output, Tool, ToolError},
    system::desktop::{
        scheme,
        settings::{self, Setting},
    },
};

/// Switches dark mode.
pub struct This;

/// Dark or light.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Args {
    /// true for dark, false for light; leave out for the other one
    on: Option<bool>,
}

impl Tool for This {
    type Args = Args;
    const NAME: &'static str = "system.dark_mode";
    const SUMMARY: &'static str = "Dark mode: make programs dark or light";
    const EFFECT: Effect = Effect::Write;
    const EXAMPLES: &'static [&'static str] = &[
        "turn on dark mode",
        "switch to light mode",
        "dark theme please",
        "make everything dark",
        "light theme",
        "toggle dark mode",
        "turn off the dark mode",
        "use the light colours again",
    ];
    const CALLS: &'static [(&'static str, &'static str)] = &[
        ("light theme", r#"{"on": false}"#),
        ("make everything dark", r#"{"on": true}"#),
    ];
    const PATTERNS: &'static [&'static str] = &[
        "(turn|switch) {on} [the] dark mode",
        "(turn|switch) [the] dark mode {on}",
        "dark mode {on}",
        "(switch|change) to [the] dark (mode|theme) -> on=true",
        "(switch|change) to [the] light (mode|theme) -> on=false",
        "(enable|activate) dark mode -> on=true",
        "(disable|deactivate) dark mode -> on=false",
    ];
    const USE_WHEN: &'static str =
        "For the colours of programs; system.set_brightness changes the light of the screen.";

    fn preview(args: &Args, _ctx: &Ctx) -> Result<String, ToolError> {
        Ok(match args.on {
            Some(true) => "Switch to dark mode",
            Some(false) => "Switch to light mode",
            None => "Switch between dark and light mode",
        }
        .to_owned())
    }

    async fn run(args: Args, ctx: &Ctx) -> Result<Output, ToolError> {
        let dark = match args.on {
            Some(dark) => dark,
            None => !scheme::is_dark(&ctx.desk).await?,
        };
        let before = settings::change(ctx, Setting::DarkMode, settings::on_off(dark)).await?;
        let already = if before == settings::on_off(dark) {
            " already"
        } else {
            ""
        };
        let state = if dark { "Dark" } else { "Light" };
        Ok(Output::new(
            format!("{state} mode is on{already}."),
            json!({ "dark": dark }),
        ))
    }
}
