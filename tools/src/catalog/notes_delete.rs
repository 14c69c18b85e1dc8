//! `notes.delete`: a note goes; the journal keeps it for "undo that".

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::{
    contract::{Ctx, Effect, Output, Tool, ToolError},
    system::{known::Kind, notes, speech},
};

/// Deletes notes.
pub struct This;

/// Which note.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Args {
    /// Title of the note
    note: String,
}

impl Tool for This {
    type Args = Args;
    const NAME: &'static str = "notes.delete";
    const SUMMARY: &'static str = "Delete a whole note";
    const EFFECT: Effect = Effect::Write;
    const CONFIRM: bool = true;
    const NAMED: &'static [(&'static str, Kind)] = &[("note", Kind::Note)];
    const EXAMPLES: &'static [&'static str] = &[
        "delete the note about the plumber",
        "remove my packing list note",
        "throw away the note called ideas",
        "get rid of my old garden note",
        "erase the meeting note",
        "I don't need the recipe note any more",
    ];
    const CALLS: &'static [(&'static str, &'static str)] =
        &[("delete the note about the plumber", r#"{"note": "plumber"}"#)];
    const LIMITS: &'static str = "Deletes one note at a time, and no single lines of it.";

    fn preview(args: &Args, ctx: &Ctx) -> Result<String, ToolError> {
        let note = notes::choose(&notes::list(&ctx.dirs.notes)?, &args.note)?;
        let changed = note.modified.to_zoned(ctx.now.time_zone().clone());
        Ok(format!(
            "Delete the note \"{}\", last changed {}.",
            note.title,
            speech::on_day(changed.date(), &ctx.now)
        ))
    }

    async fn run(args: Args, ctx: &Ctx) -> Result<Output, ToolError> {
        let (folder, step) = (ctx.dirs.notes.clone(), ctx.step.clone());
        let work = tokio::task::spawn_blocking(move || {
            let note = notes::choose(&notes::list(&folder)?, &args.note)?;
            notes::remove(&step, &note)?;
            Ok::<_, ToolError>(note)
        });
        let note = work
            .await
            .map_err(|e| ToolError::broken("delete the note", e))??;
        Ok(Output::new(
            format!("I deleted the note \"{}\".", note.title),
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
    async fn a_note_goes_and_comes_back() {
        let home = tempfile::tempdir().unwrap();
        let ctx = ctx(home.path());
        assert_eq!(
            told(run("notes.delete", json!({"note": "x"}), &ctx).await),
            "You have no notes yet."
        );
        fs::create_dir_all(ctx.dirs.notes.join("Home")).unwrap();
        let file = ctx.dirs.notes.join("Home/Plumber.md");
        fs::write(&file, "---\ntags: [a]\n---\nTuesday\r\n").unwrap();
        assert_eq!(
            said(run("notes.delete", json!({"note": "the plummer note"}), &ctx).await),
            "I deleted the note \"Plumber\"."
        );
        assert!(!file.exists());
        ctx.step.journal().undo(None).unwrap();
        assert_eq!(
            fs::read_to_string(&file).unwrap(),
            "---\ntags: [a]\n---\nTuesday\r\n"
        );
    }

    #[tokio::test]
    async fn doubt_and_strangers_delete_nothing() {
        let home = tempfile::tempdir().unwrap();
        let ctx = ctx(home.path());
        fs::create_dir(&ctx.dirs.notes).unwrap();
        for file in ["Garden plan.md", "Garden tools.md"] {
            fs::write(ctx.dirs.notes.join(file), "x").unwrap();
        }
        for (note, expect) in [
            ("garden", "Which note: "),
            ("money", "no note called"),
            ("", "Which note? Say its title."),
        ] {
            let text = told(run("notes.delete", json!({"note": note}), &ctx).await);
            assert!(text.contains(expect), "{note}: {text}");
        }
        assert!(ctx.dirs.notes.join("Garden plan.md").exists());
    }

    #[test]
    fn the_question_says_which_note_and_how_old() {
        let home = tempfile::tempdir().unwrap();
        let mut ctx = ctx(home.path());
        ctx.now = jiff::Zoned::now();
        fs::create_dir(&ctx.dirs.notes).unwrap();
        fs::write(ctx.dirs.notes.join("plumber.md"), "x").unwrap();
        let entry = crate::find("notes.delete").unwrap();
        assert_eq!(
            entry.preview(json!({"note": "plumber"}), &ctx).unwrap(),
            "Delete the note \"plumber\", last changed today."
        );
        assert!(entry.confirm);
    }
}
