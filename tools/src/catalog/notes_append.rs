//! `notes.append`: more text at the end of a note.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::{
    contract::{Ctx, Effect, Output, Tool, ToolError},
    system::{known::Kind, notes, plain},
};

/// Adds to notes.
pub struct This;

/// Which note, and what.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Args {
    /// Title of the note
    note: String,
    /// What to add
    text: String,
}

impl Tool for This {
    type Args = Args;
    const NAME: &'static str = "notes.append";
    const SUMMARY: &'static str = "Add a line or text to a note that is there already";
    const EFFECT: Effect = Effect::Write;
    const NAMED: &'static [(&'static str, Kind)] = &[("note", Kind::Note)];
    const WORDED: &'static [&'static str] = &["text"];
    const EXAMPLES: &'static [&'static str] = &[
        "add sunscreen to my packing list note",
        "append call the bank to the note about money",
        "write in my garden note that the roses need water",
        "put one more line in the meeting note: ask for the budget",
        "add to my note ideas, a bench under the tree",
        "in the recipe note, add two eggs at the end",
    ];
    const CALLS: &'static [(&'static str, &'static str)] = &[
        (
            "write in my garden note that the roses need water",
            r#"{"note": "garden", "text": "the roses need water"}"#,
        ),
        (
            "put one more line in the meeting note: ask for the budget",
            r#"{"note": "meeting", "text": "ask for the budget"}"#,
        ),
    ];
    const USE_WHEN: &'static str = "For a note that exists; notes.create makes one, lists.add is for lists.";

    fn preview(args: &Args, ctx: &Ctx) -> Result<String, ToolError> {
        let note = notes::choose(&notes::list(&ctx.dirs.notes)?, &args.note)?;
        let text = plain::one_line(&args.text, 80);
        Ok(format!("Add to the note \"{}\": {text}", note.title))
    }

    async fn run(args: Args, ctx: &Ctx) -> Result<Output, ToolError> {
        let (folder, step) = (ctx.dirs.notes.clone(), ctx.step.clone());
        let work = tokio::task::spawn_blocking(move || {
            let note = notes::choose(&notes::list(&folder)?, &args.note)?;
            notes::append(&step, &note, &args.text)?;
            Ok::<_, ToolError>(note)
        });
        let note = work
            .await
            .map_err(|e| ToolError::broken("add to the note", e))??;
        Ok(Output::new(
            format!("I added it to the note \"{}\".", note.title),
            json!({"title": note.title, "file": note.file}),
        ))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::testing::{ctx, run, said, told};

    #[tokio::test]
    async fn text_goes_to_the_end_and_undo_takes_it_back() {
        let home = tempfile::tempdir().unwrap();
        let ctx = ctx(home.path());
        let create = json!({"title": "Packing list", "text": "- socks"});
        run("notes.create", create, &ctx).await.unwrap();
        let add = json!({"note": "packing lists", "text": "sunscreen"});
        assert_eq!(
            said(run("notes.append", add, &ctx).await),
            "I added it to the note \"Packing list\"."
        );
        let file = ctx.dirs.notes.join("packing-list.md");
        assert_eq!(
            fs::read_to_string(&file).unwrap(),
            "# Packing list\n\n- socks\n- sunscreen\n"
        );
        ctx.step.journal().undo(None).unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), "# Packing list\n\n- socks\n");
    }

    #[tokio::test]
    async fn what_cannot_be_added_is_told_and_nothing_changes() {
        let home = tempfile::tempdir().unwrap();
        let ctx = ctx(home.path());
        let add = async |note: &str, text: &str| {
            told(run("notes.append", json!({"note": note, "text": text}), &ctx).await)
        };
        assert_eq!(add("x", "y").await, "You have no notes yet.");
        fs::create_dir(&ctx.dirs.notes).unwrap();
        for file in ["garden plan.md", "garden tools.md"] {
            fs::write(ctx.dirs.notes.join(file), "x\n").unwrap();
        }
        assert!(add("garden", "y").await.starts_with("Which note: garden "));
        assert!(add("money", "y").await.contains("no note called \"money\""));
        assert_eq!(add("garden plan", " \n").await, "Say what to add to the note.");
        assert!(add("garden plan", &"y".repeat(70_000)).await.contains("too long"));
        assert!(told(run("notes.append", json!({"note": "x"}), &ctx).await).contains("do not fit"));
        assert_eq!(
            fs::read_to_string(ctx.dirs.notes.join("garden plan.md")).unwrap(),
            "x\n"
        );
    }

    #[test]
    fn the_preview_names_the_note_that_is_meant() {
        let home = tempfile::tempdir().unwrap();
        let ctx = ctx(home.path());
        fs::create_dir(&ctx.dirs.notes).unwrap();
        fs::write(ctx.dirs.notes.join("garden-plan.md"), "x\n").unwrap();
        let entry = crate::find("notes.append").unwrap();
        let preview = |note: &str| entry.preview(json!({"note": note, "text": "a\nb"}), &ctx);
        assert_eq!(
            preview("gardan plan").unwrap(),
            "Add to the note \"garden plan\": a b"
        );
        assert!(preview("money").is_err());
    }
}
