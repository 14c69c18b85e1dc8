//! `timers.set`: a countdown that rings.

use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::{
    contract::{Ctx, Effect, Output, TimeRole, Tool, ToolError},
    system::{plain, timers},
    when::{self, Hint, When},
};

/// Starts timers.
pub struct This;

/// How long, and what for.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Args {
    /// How long, as said: "ten minutes"
    duration: String,
    /// What it is for, if the person said so
    label: Option<String>,
}

/// A day: what takes longer is a reminder or an alarm.
const LONGEST: Duration = Duration::from_secs(24 * 3600);

impl Tool for This {
    type Args = Args;
    const NAME: &'static str = "timers.set";
    const SUMMARY: &'static str = "Start a countdown timer that rings when the time is up";
    const EFFECT: Effect = Effect::Write;
    const TIMES: &'static [(&'static str, TimeRole)] = &[("duration", TimeRole::Length)];
    const EXAMPLES: &'static [&'static str] = &[
        "set a timer for ten minutes",
        "start a five minute timer",
        "timer for an hour and a half",
        "tell me when twenty minutes are up",
        "egg timer, six minutes",
        "count down thirty seconds",
    ];
    const CALLS: &'static [(&'static str, &'static str)] = &[
        (
            "egg timer, six minutes",
            r#"{"duration": "six minutes", "label": "egg"}"#,
        ),
        (
            "timer for an hour and a half",
            r#"{"duration": "an hour and a half"}"#,
        ),
    ];
    const PATTERNS: &'static [&'static str] = &[
        "(set|start|create|make) [me] [a] timer (for|of) {duration:length}",
        "(set|start|create|make) [me] [a] {duration:length} timer",
        "[a] timer for {duration:length}",
        "[a] {duration:length} timer",
        "count down {duration:length}",
    ];
    const USE_WHEN: &'static str = "For a length of time from now; alarms.set is for a time of day.";
    const LIMITS: &'static str = "At most 24 hours.";

    fn preview(args: &Args, _ctx: &Ctx) -> Result<String, ToolError> {
        let length = length(args)?;
        Ok(format!(
            "Start {}.",
            name(length.as_secs(), label(args).as_deref())
        ))
    }

    async fn run(args: Args, ctx: &Ctx) -> Result<Output, ToolError> {
        let (length, label) = (length(&args)?, label(&args));
        let timer = ctx
            .blocking("set the timer", move |ctx| {
                timers::set(&ctx.step, &ctx.dirs, &ctx.now, length, label)
            })
            .await?;
        let rings = timer.rings.to_zoned(ctx.now.time_zone().clone());
        let mut say = format!(
            "I started {}. It rings at {}.",
            name(timer.seconds, timer.label.as_deref()),
            rings.strftime("%-H:%M")
        );
        if !ctx.daemon {
            say.push_str(" Start the daemon to hear it.");
        }
        Ok(Output::new(
            say,
            json!({"id": timer.id, "seconds": timer.seconds, "rings": rings.datetime().to_string()}),
        ))
    }
}

fn length(args: &Args) -> Result<Duration, ToolError> {
    // The moment does not matter for a length, so none is pinned.
    let now = jiff::Zoned::default();
    let ask = || {
        ToolError::tell(format!(
            "How long is \"{}\"? Say it as in ten minutes.",
            plain::one_line(&args.duration, 60)
        ))
    };
    let seconds = match when::resolve(&args.duration, &now, Hint::Length)
        .map_err(|_| ask())?
        .value
    {
        When::Duration { seconds, .. } => seconds,
        _ => return Err(ask()),
    };
    let length = Duration::from_secs(u64::try_from(seconds).map_err(|_| ask())?);
    if length.is_zero() {
        return Err(ToolError::tell("A timer needs at least one second."));
    }
    if length > LONGEST {
        return Err(ToolError::tell("A timer runs for at most 24 hours."));
    }
    Ok(length)
}

fn label(args: &Args) -> Option<String> {
    args.label
        .as_deref()
        .map(|l| plain::one_line(l, 80))
        .filter(|l| !l.is_empty())
}

/// "a timer for 10 minutes", "the eggs timer for 6 minutes".
fn name(seconds: u64, label: Option<&str>) -> String {
    let length = timers::spoken(seconds);
    match label {
        Some(label) => format!("the {label} timer for {length}"),
        None => format!("a timer for {length}"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::testing::{ctx, run, said, told};

    #[tokio::test]
    async fn it_says_how_long_and_when_it_rings() {
        let root = tempfile::tempdir().unwrap();
        let ctx = ctx(root.path());
        let set = async |args| said(run("timers.set", args, &ctx).await);
        assert_eq!(
            set(json!({"duration": "ten minutes"})).await,
            "I started a timer for 10 minutes. It rings at 9:40."
        );
        assert_eq!(
            set(json!({"duration": "an hour and a half", "label": "roast"})).await,
            "I started the roast timer for 1 hour 30 minutes. It rings at 11:00."
        );
        assert_eq!(
            set(json!({"duration": "PT45S"})).await,
            "I started a timer for 45 seconds. It rings at 9:30."
        );
        assert_eq!(crate::system::timers::all(&ctx.dirs).unwrap().len(), 3);
        ctx.step.journal().undo(None).unwrap();
        assert_eq!(crate::system::timers::all(&ctx.dirs).unwrap().len(), 2);
    }

    #[tokio::test]
    async fn what_is_no_length_is_asked_about_and_nothing_is_set() {
        let root = tempfile::tempdir().unwrap();
        let ctx = ctx(root.path());
        for (duration, expect) in [
            ("tomorrow", "How long is"),
            ("purple", "How long is"),
            ("", "How long is"),
            ("zero seconds", "at least one second"),
            ("three days", "at most 24 hours"),
        ] {
            let text = told(run("timers.set", json!({"duration": duration}), &ctx).await);
            assert!(text.contains(expect), "{duration}: {text}");
        }
        assert!(told(run("timers.set", json!({"label": "x"}), &ctx).await).contains("duration"));
        assert!(!ctx.dirs.state.exists());
    }

    #[tokio::test]
    async fn without_a_daemon_it_says_that_it_cannot_ring() {
        let root = tempfile::tempdir().unwrap();
        let ctx = crate::Ctx {
            daemon: false,
            ..ctx(root.path())
        };
        let text = said(run("timers.set", json!({"duration": "ten minutes"}), &ctx).await);
        assert!(text.contains("Start the daemon"), "{text}");
    }

    #[tokio::test]
    async fn a_label_cannot_smuggle_lines_into_what_is_said() {
        let root = tempfile::tempdir().unwrap();
        let ctx = ctx(root.path());
        let args = json!({"duration": "1 minute", "label": "tea\n\u{202e}now"});
        assert!(said(run("timers.set", args, &ctx).await).lines().count() == 1);
    }
}
