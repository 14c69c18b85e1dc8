//! `media.shuffle`: random order on or off.

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

/// Shuffles.
pub struct This;

/// On or off, and where.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Args {
    /// false to stop shuffling; true unless said
    on: Option<bool>,
    /// Which player, only if the person named one
    player: Option<String>,
}

impl Tool for This {
    type Args = Args;
    const NAME: &'static str = "media.shuffle";
    const SUMMARY: &'static str = "Shuffle: mix the songs up, or play them one after the other again";
    const EFFECT: Effect = Effect::Write;
    const NAMED: &'static [(&'static str, Kind)] = &[("player", Kind::Player)];
    const EXAMPLES: &'static [&'static str] = &[
        "shuffle my music",
        "turn on shuffle",
        "play these at random",
        "turn shuffle off",
        "stop shuffling",
        "mix up the songs",
        "shuffle the playlist",
        "play them one after the other, no shuffle",
    ];
    const CALLS: &'static [(&'static str, &'static str)] = &[
        ("stop shuffling", r#"{"on": false}"#),
        ("play these at random", r#"{"on": true}"#),
    ];
    const PATTERNS: &'static [&'static str] = &[
        "(turn|switch) {on} shuffle",
        "(turn|switch) shuffle {on}",
        "shuffle {on}",
        "shuffle [the|my|this] (music|songs|playlist) -> on=true",
        "enable shuffle -> on=true",
        "disable shuffle -> on=false",
        "stop shuffling -> on=false",
    ];
    const USE_WHEN: &'static str = "To mix up what plays; media.repeat plays it again.";

    fn preview(args: &Args, _ctx: &Ctx) -> Result<String, ToolError> {
        let on = if args.on.unwrap_or(true) { "on" } else { "off" };
        Ok(format!("Turn shuffle {on}"))
    }

    async fn run(args: Args, ctx: &Ctx) -> Result<Output, ToolError> {
        let on = args.on.unwrap_or(true);
        if cfg!(target_os = "macos") {
            mac::music(&ctx.desk, &format!("set shuffle enabled to {on}")).await?;
        } else {
            let players = Players::here(&ctx.desk).await?;
            let player = players.choose(args.player.as_deref())?;
            players.set_shuffle(player, on).await?;
        }
        ctx.step.beyond();
        let say = if on { "Shuffle is on." } else { "Shuffle is off." };
        Ok(Output::new(say, json!({ "shuffle": on })))
    }
}
