//! `notes.create`: a new note.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::{
    contract::{Ctx, Effect, Output, Tool, ToolError},
    system::{notes, plain},
};

/// Writes notes.
pub struct This;

/// What to write.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Args {
    /// What the note says
    text: String,
    /// Title, if the person gave one
    title: Option<String>,
}

impl Tool for This {
    type Args = Args;
    const NAME: &'static str = "notes.create";
    const SUMMARY: &'static str = "Write a new note: jot down or save a text";
    const EFFECT: Effect = Effect::Write;
    const WORDED: &'static [&'static str] = &["text"];
    const EXAMPLES: &'static [&'static str] = &[
        "take a note",
        "make a note that the plumber comes on Tuesday",
        "write this down: the code is in the drawer",
        "jot down an idea for the garden",
        "create a note called packing list with socks and charger",
        "note to self, call the bank",
    ];
    const CALLS: &'static [(&'static str, &'static str)] = &[
        (
            "make a note that the plumber comes on Tuesday",
            r#"{"text": "the plumber comes on Tuesday"}"#,
        ),
        (
            "create a note called packing list with socks and charger",
            r#"{"text": "socks and charger", "title": "packing list"}"#,
        ),
    ];
    const USE_WHEN: &'static str =
        "For text to keep; reminders.create is for something to be reminded of at a time.";

    fn preview(args: &Args, _ctx: &Ctx) -> Result<String, ToolError> {
        let text = plain::one_line(&args.text, 80);
        Ok(match &args.title {
            Some(title) => format!("Save the note \"{}\": {text}", plain::one_line(title, 60)),
            None => format!("Save the note: {text}"),
        })
    }

    async fn run(args: Args, ctx: &Ctx) -> Result<Output, ToolError> {
        let (folder, step) = (ctx.dirs.notes.clone(), ctx.step.clone());
        let write = move || notes::create(&step, &folder, args.title.as_deref(), &args.text);
        let work = tokio::task::spawn_blocking(write).await;
        let path = work.map_err(|e| ToolError::broken("save the note", e))??;
        let file = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        Ok(Output::new("I saved the note.", json!({"file": file})))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::testing::{ctx, run, said, told};

    #[tokio::test]
    async fn notes_are_saved_and_never_overwritten() {
        let home = tempfile::tempdir().unwrap();
        let ctx = ctx(home.path());
        for (args, file, content) in [
            (
                json!({"text": "socks", "title": "Packing list"}),
                "packing-list.md",
                "# Packing list\n\nsocks\n",
            ),
            (
                json!({"text": "charger", "title": "packing list"}),
                "packing-list-2.md",
                "# packing list\n\ncharger\n",
            ),
            (json!({"text": "../../x"}), "x.md", "../../x\n"),
        ] {
            let output = run("notes.create", args, &ctx).await.unwrap();
            assert_eq!(output.data["file"], file);
            assert_eq!(fs::read_to_string(ctx.dirs.notes.join(file)).unwrap(), content);
        }
        assert_eq!(
            said(run("notes.create", json!({"text": "x"}), &ctx).await),
            "I saved the note."
        );
    }

    #[tokio::test]
    async fn what_cannot_be_saved_is_told() {
        let home = tempfile::tempdir().unwrap();
        let ctx = ctx(home.path());
        assert!(told(run("notes.create", json!({"text": "  "}), &ctx).await).contains("empty"));
        assert!(told(run("notes.create", json!({"title": "x"}), &ctx).await).contains("do not fit"));
        assert!(!ctx.dirs.notes.exists());
    }

    #[test]
    fn the_preview_shows_what_will_be_saved() {
        let home = tempfile::tempdir().unwrap();
        let entry = crate::find("notes.create").unwrap();
        let preview = entry.preview(json!({"text": "a\nb\u{202e}", "title": "T"}), &ctx(home.path()));
        assert_eq!(preview.unwrap(), "Save the note \"T\": a b");
    }
}
