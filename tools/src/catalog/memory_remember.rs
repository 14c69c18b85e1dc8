//! `memory.remember`: a fact that the person tells Tiro to keep.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::{
    contract::{Ctx, Effect, Output, Tool, ToolError},
    system::memory::{self, Remembered},
};

/// Keeps facts.
pub struct This;

/// The fact.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Args {
    /// The fact in the person's words: "my locker code is 4411"
    fact: String,
}

impl Tool for This {
    type Args = Args;
    const NAME: &'static str = "memory.remember";
    const SUMMARY: &'static str = "Remember a small fact about the person for later questions";
    const EFFECT: Effect = Effect::Write;
    // A fact that a mail planted would steer every later answer.
    const OWN_WORDS: bool = true;
    const WORDED: &'static [&'static str] = &["fact"];
    const EXAMPLES: &'static [&'static str] = &[
        "remember that my locker code is 4411",
        "remember I parked on level three",
        "keep in mind that Eva is allergic to nuts",
        "don't forget that my shoe size is 43",
        "my license plate is B A 2 7, remember that",
        "please memorize my membership number, it is 70215",
    ];
    const CALLS: &'static [(&'static str, &'static str)] = &[(
        "keep in mind that Eva is allergic to nuts",
        r#"{"fact": "Eva is allergic to nuts"}"#,
    )];
    const USE_WHEN: &'static str =
        "For a fact to be asked for later; notes.create is for texts, reminders.create for things to do.";
    const LIMITS: &'static str = "Refused after mail, messages or web pages were read.";

    fn preview(args: &Args, _ctx: &Ctx) -> Result<String, ToolError> {
        let text = memory::to_you(&memory::sentence(&args.fact)?);
        Ok(format!("Remember: {text}"))
    }

    async fn run(args: Args, ctx: &Ctx) -> Result<Output, ToolError> {
        let (folder, step) = (ctx.dirs.memory.clone(), ctx.step.clone());
        let work = tokio::task::spawn_blocking(move || memory::remember(&step, &folder, &args.fact)).await;
        let (say, fact) = match work.map_err(|e| ToolError::broken("remember that", e))?? {
            Remembered::New(fact) => (format!("I will remember: {}", fact.to_you()), fact),
            Remembered::Known(fact) => (format!("I knew that: {}", fact.to_you()), fact),
            Remembered::Instead(fact, old) => {
                let was = memory::to_you(&old);
                (
                    format!("I will remember: {} Before it was: {was}", fact.to_you()),
                    fact,
                )
            }
        };
        let file = fact.path.file_name().unwrap_or_default().to_string_lossy();
        Ok(Output::new(say, json!({"fact": fact.text, "file": file})))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::testing::{ctx, run, said, told};

    #[tokio::test]
    async fn facts_are_kept_corrected_and_undone() {
        let home = tempfile::tempdir().unwrap();
        let ctx = ctx(home.path());
        let tell = async |fact: &str| said(run("memory.remember", json!({"fact": fact}), &ctx).await);
        assert_eq!(
            tell("my locker code is 4411").await,
            "I will remember: Your locker code is 4411."
        );
        assert_eq!(
            tell("that my locker code is 4411").await,
            "I knew that: Your locker code is 4411."
        );
        assert_eq!(
            tell("my locker code is 5522").await,
            "I will remember: Your locker code is 5522. Before it was: your locker code is 4411."
        );
        let file = ctx.dirs.memory.join("my-locker-code.md");
        assert_eq!(fs::read_to_string(&file).unwrap(), "My locker code is 5522.\n");
        ctx.step.journal().undo(None).unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), "My locker code is 4411.\n");
        ctx.step.journal().undo(None).unwrap();
        assert!(!file.exists());
    }

    #[tokio::test]
    async fn what_cannot_be_kept_is_told() {
        let home = tempfile::tempdir().unwrap();
        let ctx = ctx(home.path());
        for (fact, expect) in [
            (" \u{202e}", "Say what I should remember."),
            (&*"word ".repeat(200), "too long"),
        ] {
            let text = told(run("memory.remember", json!({"fact": fact}), &ctx).await);
            assert!(text.contains(expect), "{text}");
        }
        assert!(told(run("memory.remember", json!({}), &ctx).await).contains("do not fit"));
        assert!(!ctx.dirs.memory.exists());
    }

    #[test]
    fn only_the_persons_own_words_are_kept() {
        let home = tempfile::tempdir().unwrap();
        let entry = crate::find("memory.remember").unwrap();
        assert!(entry.own_words);
        let preview = entry.preview(json!({"fact": "I like tea\nand\u{202e} cake"}), &ctx(home.path()));
        assert_eq!(preview.unwrap(), "Remember: you like tea and cake.");
    }
}
