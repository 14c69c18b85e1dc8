//! `clipboard.write`: a text to be pasted.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::{
    contract::{Ctx, Effect, Output, Tool, ToolError},
    system::{clipboard, plain},
};

/// Copies text.
pub struct This;

/// Which.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Args {
    /// Text to copy, word for word
    text: String,
}

impl Tool for This {
    type Args = Args;
    const NAME: &'static str = "clipboard.write";
    const SUMMARY: &'static str = "Copy a text to the clipboard, ready to be pasted";
    const EFFECT: Effect = Effect::Write;
    const WORDED: &'static [&'static str] = &["text"];
    const EXAMPLES: &'static [&'static str] = &[
        "copy my address to the clipboard",
        "put see you at eight in the clipboard",
        "copy that number so I can paste it",
        "put this text on the clip board: best regards",
        "copy the answer",
        "save that to the clipboard",
        "clipboard hello world",
        "copy the link for pasting",
    ];
    const CALLS: &'static [(&'static str, &'static str)] = &[(
        "put see you at eight in the clipboard",
        r#"{"text": "see you at eight"}"#,
    )];
    const USE_WHEN: &'static str = "For words to paste; files.copy copies files, notes.create keeps text.";
    const LIMITS: &'static str = "What was in the clipboard before is gone then.";

    fn preview(args: &Args, _ctx: &Ctx) -> Result<String, ToolError> {
        check(&args.text)?;
        Ok(format!(
            "Copy to the clipboard: {}",
            plain::one_line(&args.text, 200)
        ))
    }

    async fn run(args: Args, ctx: &Ctx) -> Result<Output, ToolError> {
        check(&args.text)?;
        let write =
            move |ctx: &Ctx| clipboard::write(&args.text, ctx.reach.helper.as_deref()).map(|()| args.text);
        let text = ctx.blocking("copy that", write).await?;
        ctx.step.beyond();
        let say = format!("I copied {}.", plain::one_line(&text, 60).trim_end_matches('.'));
        Ok(Output::new(say, json!({"characters": text.chars().count()})))
    }
}

fn check(text: &str) -> Result<(), ToolError> {
    match text.len() {
        _ if text.trim().is_empty() => Err(ToolError::tell("What shall I copy?")),
        length if length > clipboard::MAX_TEXT => Err(ToolError::tell("That is too long for the clipboard.")),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{ctx, run, told};

    #[tokio::test]
    async fn what_cannot_be_copied_is_told() {
        let home = tempfile::tempdir().unwrap();
        let ctx = ctx(home.path());
        let copy = async |text: &str| told(run("clipboard.write", json!({"text": text}), &ctx).await);
        assert_eq!(copy(" \n").await, "What shall I copy?");
        assert!(
            copy(&"x".repeat(clipboard::MAX_TEXT + 1))
                .await
                .contains("too long")
        );
        let entry = crate::find("clipboard.write").unwrap();
        assert_eq!(
            entry.preview(json!({"text": "a\nb"}), &ctx).unwrap(),
            "Copy to the clipboard: a b"
        );
    }
}
