//! `media.previous`: goes back to what played before.

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

/// Goes back.
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
    const NAME: &'static str = "media.previous";
    const SUMMARY: &'static str = "Go back to the previous song or start this one over";
    const EFFECT: Effect = Effect::Write;
    const NAMED: &'static [(&'static str, Kind)] = &[("player", Kind::Player)];
    const EXAMPLES: &'static [&'static str] = &[
        "previous song",
        "go back one track",
        "play the last song again",
        "previous track",
        "back to the song before",
        "that was good, play the one before this",
        "last track again",
        "go back a song on Spotify",
    ];
    const CALLS: &'static [(&'static str, &'static str)] = &[
        ("go back a song on Spotify", r#"{"player": "Spotify"}"#),
        ("previous track", "{}"),
    ];
    const PATTERNS: &'static [&'static str] = &[
        "[go back to|go to|play] [the] previous (song|track)",
        "go back (one|a) (song|track)",
    ];
    const USE_WHEN: &'static str = "For the piece before; media.seek moves within this one.";

    fn preview(args: &Args, _ctx: &Ctx) -> Result<String, ToolError> {
        let on = args
            .player
            .as_deref()
            .map(|p| format!(" on {}", plain::one_line(p, 40)));
        Ok(format!("Previous track{}", on.unwrap_or_default()))
    }

    async fn run(args: Args, ctx: &Ctx) -> Result<Output, ToolError> {
        if cfg!(target_os = "macos") {
            mac::music(&ctx.desk, "previous track").await?;
            ctx.step.beyond();
            return Ok(Output::new("Back one.", json!({"player": "Music"})));
        }
        let players = Players::here(&ctx.desk).await?;
        let player = players.choose(args.player.as_deref())?;
        players.tell(player, "Previous").await?;
        ctx.step.beyond();
        Ok(Output::new("Back one.", json!({"player": player.name})))
    }
}
