//! `alarms.cancel`: takes an alarm away, skips its next time, or stops it while it rings.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::{
    contract::{Ctx, Effect, Output, Tool, ToolError},
    system::{
        alarms::{self, Alarm, Meant},
        plain,
        rings::{self, Kind, Ring},
        speech, which,
    },
};

/// Cancels alarms.
pub struct This;

/// Which.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Args {
    /// Time, name or "all"; empty for the one that rings
    alarm: Option<String>,
}

impl Tool for This {
    type Args = Args;
    const NAME: &'static str = "alarms.cancel";
    const SUMMARY: &'static str = "Cancel an alarm, or stop one that is ringing";
    const EFFECT: Effect = Effect::Write;
    const EXAMPLES: &'static [&'static str] = &[
        "cancel my alarm",
        "turn off the seven o'clock alarm",
        "delete all alarms",
        "I don't need the alarm tomorrow",
        "remove the gym alarm",
        "stop the alarm",
        "switch off my wake up call",
    ];
    const CALLS: &'static [(&'static str, &'static str)] = &[
        (
            "turn off the seven o'clock alarm",
            r#"{"alarm": "seven o'clock"}"#,
        ),
        ("stop the alarm", "{}"),
    ];
    const PATTERNS: &'static [&'static str] = &[
        "(cancel|delete|remove|turn off|switch off) all [of] [my|the] alarms -> alarm=all",
        "(cancel|turn off|switch off|stop) (the|my) alarm",
        "(cancel|delete|remove|turn off|switch off) (the|my) {alarm:moment} alarm",
    ];
    const USE_WHEN: &'static str =
        "For what rings at a time of day; countdowns are stopped by timers.cancel.";
    const LIMITS: &'static str = "Of one that repeats, naming a day skips that day only.";

    fn preview(args: &Args, ctx: &Ctx) -> Result<String, ToolError> {
        let ringing = ringing(args, ctx);
        if !ringing.is_empty() {
            return Ok(format!("Stop your {}.", names(&ringing)));
        }
        let alarms = alarms::all(&ctx.dirs, &ctx.now)?;
        Ok(match alarms::choose(args.alarm.as_deref(), &alarms, &ctx.now)? {
            Meant::All(chosen) => format!("Cancel {}.", named(&chosen, ctx)),
            Meant::Next(alarm) => format!("Skip {}.", skipped(alarm, ctx)),
        })
    }

    async fn run(args: Args, ctx: &Ctx) -> Result<Output, ToolError> {
        ctx.blocking("cancel the alarm", move |ctx| cancel(&args, ctx))
            .await
    }
}

fn cancel(args: &Args, ctx: &Ctx) -> Result<Output, ToolError> {
    let ringing = ringing(args, ctx);
    if !ringing.is_empty() {
        rings::stop(&ctx.step, &ctx.dirs, &ctx.now, |ring| ringing.contains(ring))
            .map_err(|e| e.tool("stop the alarm"))?;
        ctx.step.beyond();
        let name = names(&ringing);
        let output = Output::new(format!("I stopped your {name}."), json!({"stopped": name}));
        // An event's title may come from an invitation.
        let untrusted = ringing.iter().any(|ring| ring.kind == Kind::Event);
        return Ok(Output { untrusted, ..output });
    }
    let alarms = alarms::all(&ctx.dirs, &ctx.now)?;
    match alarms::choose(args.alarm.as_deref(), &alarms, &ctx.now)? {
        Meant::Next(alarm) => {
            alarms::skip(&ctx.step, alarm)?;
            let say = format!(
                "I skip {}. It still rings on the other days.",
                skipped(alarm, ctx)
            );
            Ok(Output::new(say, json!({"skipped": alarm.uid})))
        }
        Meant::All(chosen) => {
            for alarm in &chosen {
                alarms::cancel(&ctx.step, alarm)?;
            }
            let uids: Vec<&str> = chosen.iter().map(|a| a.uid.as_str()).collect();
            Ok(Output::new(
                format!("I cancelled {}.", named(&chosen, ctx)),
                json!({"cancelled": uids}),
            ))
        }
    }
}

/// What rings, where nothing else was named: alarms, else the alarms of calendar events.
fn ringing(args: &Args, ctx: &Ctx) -> Vec<Ring> {
    let said = args.alarm.as_deref().unwrap_or_default();
    if !which::bare(said, alarms::KIND).is_empty() {
        return Vec::new();
    }
    let open = rings::open(&ctx.dirs);
    let of = |kind: Kind| {
        let rings = open.iter().map(|o| &o.ring).filter(|ring| ring.kind == kind);
        rings.cloned().collect::<Vec<_>>()
    };
    let alarms = of(Kind::Alarm);
    if alarms.is_empty() {
        of(Kind::Event)
    } else {
        alarms
    }
}

fn names(rings: &[Ring]) -> String {
    let name = |ring: &Ring| match ring.kind {
        Kind::Event => format!("reminder of {}", ring.name()),
        _ => ring.name(),
    };
    plain::listed(&rings.iter().map(name).collect::<Vec<_>>(), "and your")
}

fn named(alarms: &[&Alarm], ctx: &Ctx) -> String {
    let names: Vec<String> = alarms.iter().map(|a| a.name(&ctx.now)).collect();
    speech::some_of(&names, 5)
}

/// "the alarm tomorrow at 07:00".
fn skipped(alarm: &Alarm, ctx: &Ctx) -> String {
    let label = alarm.label.as_ref().map(|l| format!("{l} ")).unwrap_or_default();
    format!("the {label}alarm {}", speech::moment(&alarm.next, &ctx.now))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::{
        system::{alarms, rings},
        testing::{ctx, run, said, told},
    };

    #[tokio::test]
    async fn it_cancels_by_time_name_or_all_and_undo_restores_it() {
        let root = tempfile::tempdir().unwrap();
        let ctx = ctx(root.path());
        let cancel = async |alarm: &str| run("alarms.cancel", json!({"alarm": alarm}), &ctx).await;
        assert_eq!(told(cancel("").await), "No alarm is set.");
        for args in [
            json!({"time": "every weekday at seven am"}),
            json!({"time": "tomorrow at 10 am", "label": "gym"}),
            json!({"time": "saturday at 9 am"}),
        ] {
            said(run("alarms.set", args, &ctx).await);
        }
        let before = alarms::all(&ctx.dirs, &ctx.now).unwrap();
        assert!(told(cancel("").await).starts_with("Which alarm: the alarm for 07:00 on weekdays, "));
        assert!(told(cancel("the five o'clock alarm").await).starts_with("No alarm is set for"));
        for (said_so, expect) in [
            ("seven am", "I cancelled the alarm for 07:00 on weekdays."),
            (
                "the seven o'clock alarm",
                "I cancelled the alarm for 07:00 on weekdays.",
            ),
            ("my gym alarm", "I cancelled the gym alarm for tomorrow at 10:00."),
            (
                "the alarm for saturday",
                "I cancelled the alarm for Saturday 28 November at 09:00.",
            ),
            (
                "tomorrow at seven am",
                "I skip the alarm tomorrow at 07:00. It still rings on the other days.",
            ),
            (
                "all alarms",
                "I cancelled the alarm for 07:00 on weekdays, the gym alarm for tomorrow at 10:00 and the alarm for Saturday 28 November at 09:00.",
            ),
        ] {
            assert_eq!(said(cancel(said_so).await), expect);
            assert_ne!(alarms::all(&ctx.dirs, &ctx.now).unwrap(), before);
            ctx.step.journal().undo(None).unwrap();
            assert_eq!(alarms::all(&ctx.dirs, &ctx.now).unwrap(), before);
        }
        said(cancel("tomorrow at seven am").await);
        let next = &alarms::all(&ctx.dirs, &ctx.now).unwrap()[1];
        assert_eq!(next.next.strftime("%d %H:%M").to_string(), "25 07:00");
    }

    /// The same at a later moment, when what is due was taken to ring.
    fn ring(ctx: &crate::Ctx, now: &str) -> crate::Ctx {
        let later = crate::Ctx {
            now: format!("{now}[Europe/Berlin]").parse().unwrap(),
            ..ctx.clone()
        };
        let agenda = rings::agenda(&ctx.dirs, &ctx.now, &later.now);
        let again = rings::Again {
            after: std::time::Duration::from_secs(60),
            times: 3,
        };
        rings::take(&ctx.dirs, &agenda, &later.now, again).unwrap();
        later
    }

    #[tokio::test]
    async fn one_that_rings_is_stopped_and_stays_for_the_next_day() {
        let root = tempfile::tempdir().unwrap();
        let ctx = ctx(root.path());
        said(run("alarms.set", json!({"time": "every day at ten am"}), &ctx).await);
        let later = ring(&ctx, "2026-11-23T10:00");
        assert_eq!(
            said(run("alarms.cancel", json!({}), &later).await),
            "I stopped your alarm."
        );
        assert_eq!(alarms::all(&ctx.dirs, &later.now).unwrap().len(), 1);
        let undone = ctx.step.journal().undo(None).unwrap_err().to_string();
        assert!(
            undone.starts_with("\"I stopped your alarm.\" is nothing that I can undo."),
            "{undone}"
        );
    }

    #[tokio::test]
    async fn one_that_rings_only_once_is_over_when_it_is_stopped() {
        let root = tempfile::tempdir().unwrap();
        let ctx = ctx(root.path());
        said(run("alarms.set", json!({"time": "ten am", "label": "gym"}), &ctx).await);
        let there = || std::fs::read_dir(&ctx.dirs.alarms).unwrap().count();
        let later = ring(&ctx, "2026-11-23T10:00");
        let list = async || said(run("alarms.list", json!({}), &later).await);
        assert_eq!(
            list().await,
            "No alarm is set.",
            "it rings, and does not wait any more"
        );
        assert_eq!(there(), 1);
        assert_eq!(
            said(run("alarms.cancel", json!({}), &later).await),
            "I stopped your gym alarm."
        );
        assert_eq!(there(), 0);
        assert_eq!(list().await, "No alarm is set.");
        // It can still be snoozed, and what was done can be undone, step by step.
        assert_eq!(
            said(run("reminders.snooze", json!({"until": "ten minutes"}), &later).await),
            "Snoozed until 10:10: gym alarm."
        );
        assert_eq!(list().await, "You have one alarm: gym today at 10:10.");
        ctx.step.journal().undo(None).unwrap();
        assert_eq!(list().await, "No alarm is set.");
        // One that was snoozed while it rang stays until it rings again.
        said(run("alarms.set", json!({"time": "11 am"}), &ctx).await);
        let later = ring(&ctx, "2026-11-23T11:00");
        said(run("reminders.snooze", json!({"until": "ten minutes"}), &later).await);
        assert_eq!(there(), 1);
        let later = ring(&later, "2026-11-23T11:10");
        said(run("alarms.cancel", json!({}), &later).await);
        assert_eq!(there(), 0);
    }
}
