//! `media.pause`: pauses what plays.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::{
    contract::{Ctx, Effect, Output, Tool, ToolError},
    system::{
        desktop::{mac, players::Players},
        known::Kind,
        plain,
    },
};

/// Pauses.
pub struct This;

/// Where.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Args {
    /// Which player, only if the person named one
    player: Option<String>,
}

impl Tool for This {
    type Args = Args;
    const NAME: &'static str = "media.pause";
    const SUMMARY: &'static str = "Pause or stop the music or video that is playing";
    const EFFECT: Effect = Effect::Write;
    const NAMED: &'static [(&'static str, Kind)] = &[("player", Kind::Player)];
    const EXAMPLES: &'static [&'static str] = &[
        "pause",
        "pause the music",
        "stop the music",
        "stop playing",
        "hold the video",
        "be quiet, stop that song",
        "pause Spotify",
        "shut the music off",
    ];
    const CALLS: &'static [(&'static str, &'static str)] = &[
        ("pause Spotify", r#"{"player": "Spotify"}"#),
        ("stop the music", "{}"),
    ];
    const PATTERNS: &'static [&'static str] = &[
        "pause",
        "pause [the] (music|song|track|video|playback)",
        "pause this (song|track|video)",
        "stop [the|this] (music|song|playback)",
        "stop playing [music|the music]",
        "turn (the music off|off the music)",
    ];
    const USE_WHEN: &'static str =
        "For music and films; alarms.cancel stops what rings, system.mute silences the computer.";

    fn preview(args: &Args, _ctx: &Ctx) -> Result<String, ToolError> {
        Ok(match &args.player {
            Some(player) => format!("Pause {}", plain::one_line(player, 40)),
            None => "Pause what is playing".to_owned(),
        })
    }

    async fn run(args: Args, ctx: &Ctx) -> Result<Output, ToolError> {
        if cfg!(target_os = "macos") {
            mac::music(&ctx.desk, "pause").await?;
            ctx.step.beyond();
            return Ok(Output::new("Paused.", json!({"paused": ["Music"]})));
        }
        let players = Players::here(&ctx.desk).await?;
        // Who asks for silence means all that is heard.
        let meant: Vec<_> = match &args.player {
            Some(said) => vec![players.named(said)?],
            None => players.playing().collect(),
        };
        if meant.is_empty() {
            // Says that no player runs, where none does.
            players.choose(None)?;
            return Err(ToolError::tell("Nothing is playing."));
        }
        let mut paused = Vec::new();
        let mut failed = None;
        for player in meant {
            match players.tell(player, "Pause").await {
                Ok(()) => paused.push(player.name.clone()),
                Err(error) => failed = Some(error),
            }
        }
        if !paused.is_empty() {
            ctx.step.beyond();
        }
        match failed {
            Some(error) => Err(error),
            None => Ok(Output::new("Paused.", json!({ "paused": paused }))),
        }
    }
}
