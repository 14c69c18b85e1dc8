//! `reminders.snooze`: what rang last, or one reminder, once more in a while.

use jiff::{SignedDuration, Zoned};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::{
    contract::{Ctx, Effect, Output, TimeRole, Tool, ToolError},
    system::{
        known, plain,
        rings::{self, Kind, Ring},
        speech, todos, which,
    },
};

/// Snoozes.
pub struct This;

/// Which, and for how long.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Args {
    /// Which reminder; empty for what rang last
    title: Option<String>,
    /// How long or until when, as said: "ten minutes"
    until: Option<String>,
}

impl Tool for This {
    type Args = Args;
    const NAME: &'static str = "reminders.snooze";
    const SUMMARY: &'static str = "Snooze what is ringing, or be reminded again a little later";
    const EFFECT: Effect = Effect::Write;
    const NAMED: &'static [(&'static str, known::Kind)] = &[("title", known::Kind::Reminder)];
    const TIMES: &'static [(&'static str, TimeRole)] = &[("until", TimeRole::Until)];
    const EXAMPLES: &'static [&'static str] = &[
        "snooze",
        "snooze that for ten minutes",
        "remind me again in half an hour",
        "five more minutes",
        "snooze the alarm",
        "snooze the rent reminder until tomorrow",
        "ask me again later",
    ];
    const CALLS: &'static [(&'static str, &'static str)] = &[
        (
            "snooze the rent reminder until tomorrow",
            r#"{"title": "rent", "until": "tomorrow"}"#,
        ),
        ("remind me again in half an hour", r#"{"until": "half an hour"}"#),
    ];
    const PATTERNS: &'static [&'static str] = &[
        "snooze",
        "snooze [it|that] for {until:length}",
        "remind me again in {until:length}",
    ];
    const USE_WHEN: &'static str =
        "For alarms, timers and reminders that rang; a new time for good is reminders.update.";

    fn preview(args: &Args, ctx: &Ctx) -> Result<String, ToolError> {
        let (ring, until) = resolve(args, ctx)?;
        Ok(format!("Ring again {}: {}.", at(&until, ctx), ring.name()))
    }

    async fn run(args: Args, ctx: &Ctx) -> Result<Output, ToolError> {
        ctx.blocking("snooze it", move |ctx| {
            let (ring, until) = resolve(&args, ctx)?;
            rings::snooze(&ctx.step, &ctx.dirs, &ring, &until, &ctx.now)?;
            let output = Output::new(
                format!("Snoozed until {}: {}.", at(&until, ctx), ring.name()),
                json!({"what": ring.name(), "until": until.strftime("%Y-%m-%dT%H:%M:%S").to_string()}),
            );
            // An event's title may come from an invitation.
            let untrusted = ring.kind == Kind::Event;
            Ok(Output { untrusted, ..output })
        })
        .await
    }
}

/// "10:10", "tomorrow at 09:00".
fn at(until: &Zoned, ctx: &Ctx) -> String {
    let minute = until.strftime("%H:%M").to_string();
    match until.date() == ctx.now.date() {
        true => minute,
        false => format!("{} at {minute}", speech::day(until.date(), &ctx.now)),
    }
}

fn resolve(args: &Args, ctx: &Ctx) -> Result<(Ring, Zoned), ToolError> {
    let until = match args.until.as_deref().filter(|u| !u.trim().is_empty()) {
        Some(said) => rings::until(said, &ctx.now)?,
        None => {
            let length = SignedDuration::try_from(ctx.snooze).unwrap_or_default();
            ctx.now
                .checked_add(length)
                .map_err(|_| ToolError::tell("That is outside the calendar."))?
        }
    };
    Ok((meant(args, ctx)?, until))
}

/// What rang last, or what was named: first among what rang, then among all reminders.
fn meant(args: &Args, ctx: &Ctx) -> Result<Ring, ToolError> {
    let said = args.title.as_deref().unwrap_or_default();
    let bare = which::bare(said, todos::REMINDER);
    let latest = rings::latest(&ctx.dirs, &ctx.now).map(|open| open.ring);
    if bare.is_empty() || matches!(bare.as_str(), "alarm" | "timer" | "ring" | "them") {
        return latest.ok_or_else(|| ToolError::tell("Nothing rang just now. Which reminder do you mean?"));
    }
    let heard = |ring: &Ring| {
        !crate::system::heard::pick(&bare, &[ring.name()], |n| vec![(n.as_str(), 1.0)]).is_empty()
    };
    if let Some(ring) = latest.filter(heard) {
        return Ok(ring);
    }
    let todos = todos::open(&ctx.dirs.reminders, None, &ctx.now)?;
    let todo = todos::choose(said, &todos, &ctx.now)?;
    Ok(Ring {
        kind: Kind::Reminder,
        uid: todo.uid.clone(),
        title: Some(plain::one_line(&todo.title, 120)),
        at: ctx.now.timestamp(),
        seconds: 0,
        starts: None,
        all_day: false,
        path: todo.path.to_path_buf(),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::{
        Ctx,
        system::rings,
        testing::{ctx, files, run, said, told},
    };

    #[tokio::test]
    async fn what_rang_last_rings_again_and_undo_takes_that_back() {
        let root = tempfile::tempdir().unwrap();
        let ctx = ctx(root.path());
        let snooze = async |ctx: &Ctx, args| run("reminders.snooze", args, ctx).await;
        assert_eq!(
            told(snooze(&ctx, json!({})).await),
            "Nothing rang just now. Which reminder do you mean?"
        );
        said(
            run(
                "reminders.create",
                json!({"title": "Call mum", "due": "ten am"}),
                &ctx,
            )
            .await,
        );
        said(
            run(
                "reminders.create",
                json!({"title": "Pay rent", "due": "friday"}),
                &ctx,
            )
            .await,
        );
        let later = Ctx {
            now: "2026-11-23T10:00[Europe/Berlin]".parse().unwrap(),
            ..ctx.clone()
        };
        let agenda = rings::agenda(&ctx.dirs, &ctx.now, &later.now);
        let again = rings::Again {
            after: std::time::Duration::from_secs(60),
            times: 3,
        };
        rings::take(&ctx.dirs, &agenda, &later.now, again).unwrap();
        let before = files(&ctx.dirs.reminders);
        for (args, expect) in [
            (json!({}), "Snoozed until 10:09: Call mum."),
            (
                json!({"title": "that", "until": "ten minutes"}),
                "Snoozed until 10:10: Call mum.",
            ),
            (
                json!({"title": "call mum", "until": "until six pm"}),
                "Snoozed until 18:00: Call mum.",
            ),
            (
                json!({"title": "rent", "until": "tomorrow"}),
                "Snoozed until tomorrow at 09:00: Pay rent.",
            ),
        ] {
            assert_eq!(said(snooze(&later, args).await), expect);
            assert_ne!(files(&ctx.dirs.reminders), before);
            ctx.step.journal().undo(None).unwrap();
            assert_eq!(files(&ctx.dirs.reminders), before);
        }
        assert!(told(snooze(&later, json!({"until": "purple"})).await).contains("For how long?"));
        assert!(told(snooze(&later, json!({"title": "purple"})).await).contains("no reminder called"));
    }
}
