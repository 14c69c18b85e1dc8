//! `media.seek`: moves within what plays.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::{
    contract::{Ctx, Effect, Output, TimeRole, Tool, ToolError},
    system::{
        desktop::{mac, players::Players},
        known::Kind,
        plain,
    },
    when::{self, Hint, When},
};

/// Moves.
pub struct This;

/// Where to.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Args {
    /// Where to, as said: "two minutes thirty", "the start"
    to: Option<String>,
    /// How far from here, as said: "30 seconds"
    by: Option<String>,
    /// Back or forward, with `by`; forward unless said
    direction: Option<Direction>,
    /// Which player, only if the person named one
    player: Option<String>,
}

/// Which way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[expect(missing_docs, reason = "the two words say it")]
pub enum Direction {
    Forward,
    Back,
}

/// In microseconds.
const SECOND: i64 = 1_000_000;
/// Nothing that plays is longer than a day.
const LONGEST: i64 = 86_400;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Aim {
    At(i64),
    By(i64),
}

impl Tool for This {
    type Args = Args;
    const NAME: &'static str = "media.seek";
    const SUMMARY: &'static str = "Jump within a song or video: forward, back, or to a time in it";
    const EFFECT: Effect = Effect::Write;
    const TIMES: &'static [(&'static str, TimeRole)] = &[("by", TimeRole::Length)];
    const NAMED: &'static [(&'static str, Kind)] = &[("player", Kind::Player)];
    const EXAMPLES: &'static [&'static str] = &[
        "skip forward thirty seconds",
        "go back ten seconds",
        "rewind a minute",
        "jump to two minutes thirty",
        "start this song from the beginning",
        "fast forward the podcast five minutes",
        "back to the start of the video",
        "go to the middle of minute four",
    ];
    const CALLS: &'static [(&'static str, &'static str)] = &[
        ("rewind a minute", r#"{"by": "a minute", "direction": "back"}"#),
        (
            "skip ahead three quarters of a minute",
            r#"{"by": "three quarters of a minute", "direction": "forward"}"#,
        ),
        ("jump to two minutes thirty", r#"{"to": "two minutes thirty"}"#),
    ];
    const PATTERNS: &'static [&'static str] = &[
        "go forward [by] {by:length} -> direction=forward",
        "fast forward [by] {by:length} -> direction=forward",
        "(rewind|go back|skip back) [by] {by:length} -> direction=back",
    ];
    const USE_WHEN: &'static str =
        "To move within what plays; media.next and media.previous change what plays.";

    fn preview(args: &Args, _ctx: &Ctx) -> Result<String, ToolError> {
        Ok(match aim(args)? {
            Aim::At(seconds) => format!("Go to {}", span(seconds)),
            Aim::By(seconds) if seconds < 0 => format!("Go back {}", span(-seconds)),
            Aim::By(seconds) => format!("Go forward {}", span(seconds)),
        })
    }

    async fn run(args: Args, ctx: &Ctx) -> Result<Output, ToolError> {
        let aim = aim(&args)?;
        if cfg!(target_os = "macos") {
            let place = match aim {
                Aim::At(seconds) => format!("set player position to {seconds}"),
                Aim::By(seconds) => format!("set player position to (player position + ({seconds}))"),
            };
            mac::music(&ctx.desk, &place).await?;
            ctx.step.beyond();
            return Ok(done(aim));
        }
        let players = Players::here(&ctx.desk).await?;
        let player = players.choose(args.player.as_deref())?;
        match aim {
            Aim::At(seconds) => {
                let position = seconds * SECOND;
                if let Some(length) = player.track.length.filter(|length| position > *length) {
                    return Err(ToolError::tell(format!(
                        "It is only {} long.",
                        span(length / SECOND)
                    )));
                }
                players.go_to(player, position).await?;
            }
            Aim::By(seconds) => players.seek(player, seconds * SECOND).await?,
        }
        ctx.step.beyond();
        Ok(done(aim))
    }
}

/// What the arguments say, in seconds.
fn aim(args: &Args) -> Result<Aim, ToolError> {
    match (&args.to, &args.by) {
        (Some(_), Some(_)) => Err(ToolError::tell("Say where to go or how far, not both.")),
        (None, None) => match args.direction {
            // "Back a bit".
            Some(Direction::Back) => Ok(Aim::By(-10)),
            Some(Direction::Forward) => Ok(Aim::By(10)),
            None => Err(ToolError::tell("Where shall I go: how far, or to which time?")),
        },
        (Some(to), None) => match way(to) {
            Some((by, back)) => Ok(Aim::By(if back { -length(&by)? } else { length(&by)? })),
            None => place(to).map(Aim::At),
        },
        (None, Some(by)) => {
            let by = length(by)?;
            Ok(Aim::By(if args.direction == Some(Direction::Back) {
                -by
            } else {
                by
            }))
        }
    }
}

/// "A minute ahead" is no place but a length with its direction: that, and whether it goes back. "Back to the start" is a place.
fn way(said: &str) -> Option<(String, bool)> {
    const WAYS: [(&str, bool); 7] = [
        ("ahead", false),
        ("further", false),
        ("forward", false),
        ("forwards", false),
        ("back", true),
        ("backward", true),
        ("backwards", true),
    ];
    let words: Vec<&str> = said.split_whitespace().collect();
    let (first, last) = (words.first()?.to_lowercase(), words.last()?.to_lowercase());
    let is = |word: &str| WAYS.iter().find(|(way, _)| *way == word).map(|(_, back)| *back);
    let (rest, back) = match (is(&last), is(&first)) {
        (Some(back), _) => (&words[..words.len() - 1], back),
        (None, Some(back)) => (&words[1..], back),
        (None, None) => return None,
    };
    let rest = rest.join(" ");
    length(&rest).is_ok().then_some((rest, back))
}

/// A place in what plays: "the start", "1:30", "two minutes thirty".
fn place(said: &str) -> Result<i64, ToolError> {
    const STARTS: [&str; 4] = ["start", "beginning", "top", "zero"];
    let words = said.to_lowercase();
    if words
        .split(|c: char| !c.is_alphanumeric())
        .any(|word| STARTS.contains(&word))
    {
        return Ok(0);
    }
    let parts: Option<Vec<i64>> = words.trim().split(':').map(|part| part.parse().ok()).collect();
    match parts.as_deref() {
        Some([minutes @ 0..=1440, seconds @ 0..=59]) => Ok(minutes * 60 + seconds),
        Some([hours @ 0..=24, minutes @ 0..=59, seconds @ 0..=59]) => {
            Ok(hours * 3600 + minutes * 60 + seconds)
        }
        // "Two minutes thirty".
        _ => length(said).or_else(|error| length(&format!("{said} seconds")).map_err(|_| error)),
    }
}

fn length(said: &str) -> Result<i64, ToolError> {
    let ask = || {
        ToolError::tell(format!(
            "How long is \"{}\"? Say it as in thirty seconds.",
            plain::one_line(said, 60)
        ))
    };
    match when::resolve(said, &jiff::Zoned::default(), Hint::Length)
        .map_err(|_| ask())?
        .value
    {
        When::Duration {
            seconds: seconds @ 0..=LONGEST,
            ..
        } => Ok(seconds),
        _ => Err(ask()),
    }
}

fn span(seconds: i64) -> String {
    match (seconds / 60, seconds % 60) {
        (0, seconds) => format!("{seconds} seconds"),
        (minutes, 0) => format!("{minutes} minutes"),
        (minutes, seconds) => format!("{minutes} minutes {seconds} seconds"),
    }
}

fn done(aim: Aim) -> Output {
    match aim {
        Aim::At(0) => Output::new("From the start.", json!({"position": 0})),
        Aim::At(seconds) => Output::new(format!("At {}.", span(seconds)), json!({ "position": seconds })),
        Aim::By(seconds) if seconds < 0 => {
            Output::new(format!("Back {}.", span(-seconds)), json!({ "moved": seconds }))
        }
        Aim::By(seconds) => Output::new(format!("Forward {}.", span(seconds)), json!({ "moved": seconds })),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(to: &str, expect: Option<Aim>) {
        let args = Args {
            to: Some(to.to_owned()),
            by: None,
            direction: None,
            player: None,
        };
        assert_eq!(aim(&args).ok(), expect, "{to:?}");
    }

    #[test]
    fn a_length_with_a_direction_is_no_place() {
        check("a minute ahead", Some(Aim::By(60)));
        check("forward thirty seconds", Some(Aim::By(30)));
        check("Back two minutes", Some(Aim::By(-120)));
        check("back to the start", Some(Aim::At(0)));
        check("two minutes thirty", Some(Aim::At(150)));
        check("1:30", Some(Aim::At(90)));
        check("ahead", None);
        check("the chorus", None);
    }
}
