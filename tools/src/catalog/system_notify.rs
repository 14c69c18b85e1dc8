//! `system.notify`: shows a notification.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::{
    contract::{Ctx, Effect, Output, Tool, ToolError},
    system::{desktop::notices, plain},
};

/// Notifies.
pub struct This;

/// What to show.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Args {
    /// What it says
    text: String,
    /// A title, if the person gave one
    title: Option<String>,
}

impl Tool for This {
    type Args = Args;
    const NAME: &'static str = "system.notify";
    const SUMMARY: &'static str = "Show a notification on this desktop right now";
    const EFFECT: Effect = Effect::Write;
    const WORDED: &'static [&'static str] = &["text"];
    const EXAMPLES: &'static [&'static str] = &[
        "show a notification saying dinner is ready",
        "notify me that the build is done",
        "pop up a message on the screen",
        "send a desktop notification",
        "put a note on my screen saying call mum",
        "display the message be right back",
        "show an alert that says stand up",
        "flash a message on the desktop",
    ];
    const CALLS: &'static [(&'static str, &'static str)] = &[
        (
            "show a notification saying dinner is ready",
            r#"{"text": "dinner is ready"}"#,
        ),
        (
            "show an alert that says stand up with the title break",
            r#"{"text": "stand up", "title": "break"}"#,
        ),
    ];
    const USE_WHEN: &'static str = "For now; reminders.create and timers.set tell the person later.";
    const LIMITS: &'static str = "Shows it on this computer only; messages.send reaches other people.";

    fn preview(args: &Args, _ctx: &Ctx) -> Result<String, ToolError> {
        let (title, text) = words(args)?;
        Ok(format!(
            "Show the notification {}",
            if text.is_empty() { title } else { text }
        ))
    }

    async fn run(args: Args, ctx: &Ctx) -> Result<Output, ToolError> {
        let (title, text) = words(&args)?;
        notices::show(&ctx.desk, &title, &text).await?;
        ctx.step.beyond();
        Ok(Output::new("I showed it.", json!({"title": title, "text": text})))
    }
}

/// Title and text; the text alone is the title, which no server takes for markup.
fn words(args: &Args) -> Result<(String, String), ToolError> {
    let text = plain::one_line(&args.text, 300);
    let title = args
        .title
        .as_deref()
        .map(|title| plain::one_line(title, 80))
        .filter(|title| !title.is_empty());
    match (title, text.is_empty()) {
        (None, true) => Err(ToolError::tell("What shall the notification say?")),
        (None, false) => Ok((text, String::new())),
        (Some(title), _) => Ok((title, text)),
    }
}
