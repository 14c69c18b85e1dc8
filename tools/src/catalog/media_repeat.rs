//! `media.repeat`: what is played again.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::{
    contract::{Ctx, Effect, Output, Tool, ToolError},
    system::{
        desktop::{mac, players::Players},
        known::Kind,
    },
};

/// Repeats.
pub struct This;

/// What, and where.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Args {
    /// This track, all of them, or off
    mode: Mode,
    /// Which player, only if the person named one
    player: Option<String>,
}

/// What is repeated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[expect(missing_docs, reason = "the words say it")]
pub enum Mode {
    Track,
    All,
    Off,
}

impl Tool for This {
    type Args = Args;
    const NAME: &'static str = "media.repeat";
    const SUMMARY: &'static str = "Repeat this song or the whole list again and again, or stop repeating";
    const EFFECT: Effect = Effect::Write;
    const NAMED: &'static [(&'static str, Kind)] = &[("player", Kind::Player)];
    const EXAMPLES: &'static [&'static str] = &[
        "repeat this song",
        "loop this track",
        "put the playlist on repeat",
        "turn repeat off",
        "stop repeating",
        "play this on repeat",
        "loop the whole album",
        "keep playing this song over and over",
    ];
    const CALLS: &'static [(&'static str, &'static str)] = &[
        ("stop repeating", r#"{"mode": "off"}"#),
        ("loop the whole album", r#"{"mode": "all"}"#),
        ("keep playing this song over and over", r#"{"mode": "track"}"#),
    ];
    const PATTERNS: &'static [&'static str] = &[
        "(repeat|loop) (this|the) (song|track) -> mode=track",
        "(repeat|loop) (this|the) (album|playlist) -> mode=all",
        "(turn|switch) repeat off -> mode=off",
        "(turn|switch) off repeat -> mode=off",
        "stop repeating -> mode=off",
    ];
    const USE_WHEN: &'static str =
        "To hear music again and again; assistant.repeat says the last answer again.";

    fn preview(args: &Args, _ctx: &Ctx) -> Result<String, ToolError> {
        Ok(match args.mode {
            Mode::Track => "Repeat this track",
            Mode::All => "Repeat everything",
            Mode::Off => "Turn repeat off",
        }
        .to_owned())
    }

    async fn run(args: Args, ctx: &Ctx) -> Result<Output, ToolError> {
        let (mode, apple, say) = match args.mode {
            Mode::Track => ("Track", "one", "This track repeats."),
            Mode::All => ("Playlist", "all", "Everything repeats."),
            Mode::Off => ("None", "off", "Repeat is off."),
        };
        if cfg!(target_os = "macos") {
            mac::music(&ctx.desk, &format!("set song repeat to {apple}")).await?;
        } else {
            let players = Players::here(&ctx.desk).await?;
            let player = players.choose(args.player.as_deref())?;
            players.set_repeat(player, mode).await?;
        }
        ctx.step.beyond();
        Ok(Output::new(say, json!({ "repeat": mode })))
    }
}
