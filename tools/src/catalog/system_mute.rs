//! `system.mute`: silences the computer.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::{
    contract::{Ctx, Effect, Output, Tool, ToolError},
    system::desktop::settings::{self, Setting},
};

/// Mutes.
pub struct This;

/// On or off.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Args {
    /// false to hear it again; true unless said
    on: Option<bool>,
}

impl Tool for This {
    type Args = Args;
    const NAME: &'static str = "system.mute";
    const SUMMARY: &'static str = "Mute the sound of the computer, or unmute it";
    const EFFECT: Effect = Effect::Write;
    const EXAMPLES: &'static [&'static str] = &[
        "mute",
        "mute the sound",
        "unmute",
        "turn the sound off",
        "silence the computer",
        "sound back on",
        "make it silent",
        "turn off mute",
    ];
    const CALLS: &'static [(&'static str, &'static str)] = &[
        ("make it silent", r#"{"on": true}"#),
        ("sound back on", r#"{"on": false}"#),
    ];
    const PATTERNS: &'static [&'static str] = &[
        "mute [the sound|the audio|the volume|the computer|the speakers|sound|audio] -> on=true",
        "unmute [the sound|the audio|the computer] -> on=false",
        "turn (the sound off|off the sound) -> on=true",
        "turn the sound back on -> on=false",
    ];
    const USE_WHEN: &'static str =
        "To silence everything; system.set_volume makes it quieter, media.pause stops the music.";

    fn preview(args: &Args, _ctx: &Ctx) -> Result<String, ToolError> {
        Ok(match args.on.unwrap_or(true) {
            true => "Mute the sound",
            false => "Turn the sound on again",
        }
        .to_owned())
    }

    async fn run(args: Args, ctx: &Ctx) -> Result<Output, ToolError> {
        let on = args.on.unwrap_or(true);
        let before = settings::change(ctx, Setting::Mute, settings::on_off(on)).await?;
        let say = match (on, before == settings::on_off(on)) {
            (true, false) => "The sound is muted.",
            (true, true) => "The sound is muted already.",
            (false, false) => "The sound is on again.",
            (false, true) => "The sound is on already.",
        };
        Ok(Output::new(say, json!({ "muted": on })))
    }
}
