//! `media.next`: skips what plays.

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

/// Skips.
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
    const NAME: &'static str = "media.next";
    const SUMMARY: &'static str = "Skip to the next song, track or episode";
    const EFFECT: Effect = Effect::Write;
    const NAMED: &'static [(&'static str, Kind)] = &[("player", Kind::Player)];
    const EXAMPLES: &'static [&'static str] = &[
        "next song",
        "skip this one",
        "next track please",
        "play the next one",
        "I don't like this song, skip it",
        "skip forward to the next episode",
        "go to the next song on Spotify",
        "another song",
    ];
    const CALLS: &'static [(&'static str, &'static str)] = &[
        ("go to the next song on Spotify", r#"{"player": "Spotify"}"#),
        ("next track please", "{}"),
    ];
    const PATTERNS: &'static [&'static str] = &[
        "[go to|skip to|play] [the] next (song|track)",
        "skip (this|the) (song|track)",
        "skip to the next (song|track)",
    ];
    const USE_WHEN: &'static str = "For the next piece; media.seek moves within this one.";

    fn preview(args: &Args, _ctx: &Ctx) -> Result<String, ToolError> {
        let on = args
            .player
            .as_deref()
            .map(|p| format!(" on {}", plain::one_line(p, 40)));
        Ok(format!("Next track{}", on.unwrap_or_default()))
    }

    async fn run(args: Args, ctx: &Ctx) -> Result<Output, ToolError> {
        if cfg!(target_os = "macos") {
            mac::music(&ctx.desk, "next track").await?;
            ctx.step.beyond();
            return Ok(Output::new("Next one.", json!({"player": "Music"})));
        }
        let players = Players::here(&ctx.desk).await?;
        let player = players.choose(args.player.as_deref())?;
        players.tell(player, "Next").await?;
        ctx.step.beyond();
        Ok(Output::new("Next one.", json!({"player": player.name})))
    }
}
