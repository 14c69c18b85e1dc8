//! `media.now_playing`: says what plays.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::{
    contract::{Ctx, Effect, Output, Tool, ToolError},
    system::{
        desktop::{
            mac,
            players::{Players, Status},
        },
        known::Kind,
    },
};

/// Tells what plays.
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
    const NAME: &'static str = "media.now_playing";
    const SUMMARY: &'static str = "What song, artist, album or video is playing now";
    const EFFECT: Effect = Effect::Read;
    /// Titles are what others called them; those of videos by anybody.
    const UNTRUSTED: bool = true;
    const NAMED: &'static [(&'static str, Kind)] = &[("player", Kind::Player)];
    const EXAMPLES: &'static [&'static str] = &[
        "what song is this",
        "what is playing",
        "who sings this",
        "what album is this from",
        "name of this track",
        "who is this by",
        "tell me the song that is on",
        "what am I listening to",
    ];
    const CALLS: &'static [(&'static str, &'static str)] = &[("what song is this", "{}")];
    const PATTERNS: &'static [&'static str] = &[
        "what is playing [now|right now]",
        "(what|which) song is (this|playing|on) [now]",
        "what is this song [called]",
        "who (sings|is singing) this [song]",
        "what is the name of this song",
        "what am i listening to",
    ];

    async fn run(args: Args, ctx: &Ctx) -> Result<Output, ToolError> {
        if cfg!(target_os = "macos") {
            return Ok(match mac::playing(&ctx.desk).await? {
                Some([title, artist, album]) => told(&title, &artist, &album, "Music", None),
                None => nothing(),
            });
        }
        let players = Players::here(&ctx.desk).await?;
        let player = match players.choose(args.player.as_deref()) {
            Ok(player) => player,
            Err(_) if players.all.is_empty() && args.player.is_none() => return Ok(nothing()),
            Err(error) => return Err(error),
        };
        let track = &player.track;
        if track.title.is_empty() {
            return Ok(match player.status {
                Status::Playing => Output::new(
                    format!("{} is playing and does not say what.", player.name),
                    json!({"player": player.name}),
                ),
                _ => nothing(),
            });
        }
        let state = match player.status {
            Status::Playing => None,
            Status::Paused => Some("paused"),
            Status::Stopped => Some("stopped"),
        };
        Ok(told(
            &track.title,
            &track.artist,
            &track.album,
            &player.name,
            state,
        ))
    }
}

fn told(title: &str, artist: &str, album: &str, player: &str, state: Option<&str>) -> Output {
    let mut say = title.to_owned();
    if !artist.is_empty() {
        say.push_str(&format!(" by {artist}"));
    }
    if !album.is_empty() && album != title {
        say.push_str(&format!(", from {album}"));
    }
    if let Some(state) = state {
        say.push_str(&format!(", is {state}"));
    }
    let data = json!({"title": title, "artist": artist, "album": album, "player": player, "state": state.unwrap_or("playing")});
    Output::new(format!("{say}."), data)
}

fn nothing() -> Output {
    Output::new("Nothing is playing.", json!({"state": "stopped"}))
}
