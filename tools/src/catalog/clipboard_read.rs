//! `clipboard.read`: what was copied last.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::{
    contract::{Ctx, Effect, Output, Tool, ToolError},
    system::{clipboard, plain},
};

/// Most characters that are given as data, and that are spoken.
const MAX_DATA: usize = 6000;
const MAX_SPOKEN: usize = 500;

/// Reads the clipboard.
pub struct This;

/// Nothing to say.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Args {}

impl Tool for This {
    type Args = Args;
    const NAME: &'static str = "clipboard.read";
    const SUMMARY: &'static str = "Read aloud the text that was copied to the clipboard";
    const EFFECT: Effect = Effect::Read;
    /// It was copied from a page, a mail, anywhere.
    const UNTRUSTED: bool = true;
    const EXAMPLES: &'static [&'static str] = &[
        "read the clipboard",
        "what is in my clipboard",
        "what did I copy",
        "read out what I just copied",
        "tell me the copied text",
        "what would I paste now",
        "show the clipboard contents",
        "read me the text from the clip board",
    ];
    const PATTERNS: &'static [&'static str] = &[
        "read [me] (the|my) clipboard",
        "what is (in|on) (the|my) clipboard",
    ];
    const LIMITS: &'static str = "Reads text only, and only what was copied last.";

    async fn run(_args: Args, ctx: &Ctx) -> Result<Output, ToolError> {
        let read = |ctx: &Ctx| clipboard::read(ctx.reach.helper.as_deref());
        let text = ctx.blocking("read the clipboard", read).await?;
        Ok(answer(text))
    }
}

fn answer(text: Option<String>) -> Output {
    let text = text.map(|text| plain::lines(&text)).unwrap_or_default();
    let text = text.trim();
    if text.is_empty() {
        return Output::new("There is no text in the clipboard.", json!({"text": ""}));
    }
    let shown: String = text.chars().take(MAX_DATA).collect();
    let mut say = plain::one_line(text, MAX_SPOKEN);
    if text.chars().count() > MAX_SPOKEN {
        say.push_str(" That is not all of it.");
    }
    let complete = shown.len() == text.len();
    Output::new(say, json!({"text": shown, "complete": complete}))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{ctx, run, told};

    #[test]
    fn what_was_copied_is_said_in_one_line_and_capped() {
        for (copied, expect) in [
            (None, "There is no text in the clipboard."),
            (Some(" \n\u{200b}"), "There is no text in the clipboard."),
            (Some("Platform 7\r\n at noon\u{202e}"), "Platform 7 at noon"),
        ] {
            assert_eq!(answer(copied.map(str::to_owned)).say, expect);
        }
        let long = answer(Some("word ".repeat(5000)));
        assert!(long.say.ends_with(" That is not all of it."));
        assert_eq!(long.data["complete"], false);
        assert_eq!(long.data["text"].as_str().unwrap().len(), MAX_DATA);
    }

    #[tokio::test]
    async fn without_a_display_it_says_so() {
        if ["DISPLAY", "WAYLAND_DISPLAY"]
            .iter()
            .any(|name| std::env::var_os(name).is_some())
            || cfg!(target_os = "macos")
        {
            println!("SKIPPED: there is a display here, and this is about having none.");
            return;
        }
        let home = tempfile::tempdir().unwrap();
        let ctx = ctx(home.path());
        for (tool, args) in [
            ("clipboard.read", json!({})),
            ("clipboard.write", json!({"text": "x"})),
        ] {
            assert_eq!(
                told(run(tool, args, &ctx).await),
                "I cannot reach a clipboard: there is no desktop session here."
            );
        }
    }
}
