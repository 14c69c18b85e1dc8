//! `media.play`: lets music go on, or starts what was asked for.

use futures_util::future::join_all;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::{
    contract::{Ctx, Effect, Output, Tool, ToolError},
    system::{
        desktop::{
            mac,
            music::{self, Selection},
            players::{Player, Players},
        },
        known::Kind,
        plain,
    },
};

/// Plays.
pub struct This;

/// What, and where.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Args {
    /// What to play, as said; leave out to go on
    query: Option<String>,
    /// Which player, only if the person named one
    player: Option<String>,
}

impl Tool for This {
    type Args = Args;
    const NAME: &'static str = "media.play";
    const SUMMARY: &'static str = "Play music or a video, or let it go on after a pause";
    const EFFECT: Effect = Effect::Write;
    const NAMED: &'static [(&'static str, Kind)] = &[("player", Kind::Player)];
    const EXAMPLES: &'static [&'static str] = &[
        "play some music",
        "play Kind of Blue by Miles Davis",
        "resume",
        "continue playing",
        "unpause the video",
        "put on some jazz",
        "play my Queen album",
        "start the music again on Spotify",
        "carry on with the song",
        "play something by Nina Simone",
    ];
    const CALLS: &'static [(&'static str, &'static str)] = &[
        (
            "play Kind of Blue by Miles Davis",
            r#"{"query": "Kind of Blue by Miles Davis"}"#,
        ),
        ("start the music again on Spotify", r#"{"player": "Spotify"}"#),
    ];
    const PATTERNS: &'static [&'static str] = &[
        "resume",
        "resume [the] (music|song|video|playback)",
        "continue the (music|song)",
        "(continue|keep|go on|carry on) playing",
        "play [some|the|my] music",
    ];
    const USE_WHEN: &'static str =
        "For music and films; alarms and timers stop with alarms.cancel and timers.cancel.";
    const LIMITS: &'static str =
        "Finds what open players list and what is in the music folder; it searches no streaming service.";

    fn preview(args: &Args, _ctx: &Ctx) -> Result<String, ToolError> {
        let on = args
            .player
            .as_deref()
            .map(|p| format!(" on {}", plain::one_line(p, 40)));
        Ok(match &args.query {
            Some(query) => format!("Play {}{}", plain::one_line(query, 60), on.unwrap_or_default()),
            None => format!("Go on playing{}", on.unwrap_or_default()),
        })
    }

    async fn run(args: Args, ctx: &Ctx) -> Result<Output, ToolError> {
        let said = args.player.as_deref();
        let query = args
            .query
            .as_deref()
            .map(str::trim)
            .filter(|query| !query.is_empty());
        if cfg!(target_os = "macos") && query.is_none() {
            mac::music(&ctx.desk, "play").await?;
            ctx.step.beyond();
            return Ok(playing("Music"));
        }
        // Without a desktop session no player can be asked, and our own can still be started.
        let players = match Players::here(&ctx.desk).await {
            Ok(players) => Some(players),
            Err(error) if query.is_none() || said.is_some() => return Err(error),
            Err(_) => None,
        };
        let (query, said) = match (&players, query) {
            (Some(players), Some(asked)) if said.is_none() => apart(players, asked),
            _ => (query, said),
        };
        if let Some(players) = &players {
            let Some(query) = query else {
                return match players.choose(said) {
                    Ok(player) => go_on(players, player, ctx).await,
                    Err(error) if said.is_some() || !players.all.is_empty() => Err(error),
                    // Nothing runs that could go on: the person's own music, then.
                    Err(error) => match own(ctx, "").await {
                        Ok(selection) => start(ctx, &selection, true).await,
                        Err(_) => Err(error),
                    },
                };
            };
            // "Play Spotify" names a player and no music.
            if said.is_none()
                && let Ok(player) = players.named(query)
            {
                return go_on(players, player, ctx).await;
            }
            // "Play some music on Spotify" lets that go on with what it has.
            if said.is_some() && music::is_any(query) {
                let player = players.choose(said)?;
                match go_on(players, player, ctx).await {
                    Err(_) if player.opens => {}
                    done => return done,
                }
            }
            let lists: Vec<&Player> = match said {
                Some(_) => vec![players.choose(said)?],
                None => players.all.iter().collect(),
            };
            let looks = lists.iter().map(|player| players.find(player, query));
            let found = join_all(looks).await;
            let mut found = lists.into_iter().zip(found);
            let first = found.find_map(|(player, found)| Some((player, found?)));
            if let Some((player, (id, track))) = first {
                players.play_track(player, &id).await?;
                ctx.step.beyond();
                let mut output = playing(&track.title);
                output.untrusted = true;
                return Ok(output);
            }
        }
        let selection = own(ctx, query.unwrap_or_default()).await?;
        let elsewhere = match (&players, said) {
            (Some(players), Some(_)) => Some((players, players.choose(said)?)),
            // What is open takes the place of a player of our own only where there can be none.
            (Some(players), None) if !music::has_player(&ctx.desk) => {
                let taker = players.all.iter().find(|player| player.opens);
                taker.map(|player| (players, player))
            }
            _ => None,
        };
        let Some((players, player)) = elsewhere else {
            return start(ctx, &selection, false).await;
        };
        music::play_on(ctx, players, player, &selection.pieces).await?;
        ctx.step.beyond();
        let mut output = playing(&format!("{} on {}", selection.name, player.name));
        output.untrusted = true;
        Ok(output)
    }
}

/// "Kind of Blue on VLC" names a player behind what to play, where one of that name is open.
fn apart<'a>(players: &Players, asked: &'a str) -> (Option<&'a str>, Option<&'a str>) {
    let named = [" on ", " in ", " with "]
        .into_iter()
        .filter_map(|between| asked.rsplit_once(between))
        .find(|(_, player)| players.named(player).is_ok());
    match named {
        Some((what, player)) => (Some(what.trim()), Some(player)),
        None => (Some(asked), None),
    }
}

async fn go_on(players: &Players, player: &Player, ctx: &Ctx) -> Result<Output, ToolError> {
    players.tell(player, "Play").await?;
    ctx.step.beyond();
    Ok(playing(&player.name))
}

/// What of the person's own music was meant.
async fn own(ctx: &Ctx, query: &str) -> Result<Selection, ToolError> {
    let query = query.to_owned();
    ctx.blocking("look through your music", move |ctx| {
        music::select(&query, &music::library(&ctx.dirs)?)
    })
    .await
}

async fn start(ctx: &Ctx, selection: &Selection, shuffle: bool) -> Result<Output, ToolError> {
    music::play(&ctx.desk, &selection.pieces, shuffle).await?;
    ctx.step.beyond();
    let mut output = playing(&selection.name);
    // Names of files are what their makers chose.
    output.untrusted = true;
    Ok(output)
}

fn playing(what: &str) -> Output {
    Output::new(format!("Playing {what}."), json!({ "playing": what }))
}
