//! `files.trash`: a file or folder goes to the trash, from where the person and "undo that" bring it back.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::{
    contract::{Ctx, Effect, Output, Tool, ToolError},
    system::{
        files::{self, Item, change, find, trash},
        known::Kind,
        plain,
    },
};

/// Throws files away.
pub struct This;

/// Which.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Args {
    /// Name or path of the file or folder
    file: String,
}

impl Tool for This {
    type Args = Args;
    const NAME: &'static str = "files.trash";
    const SUMMARY: &'static str = "Delete a file or folder: move it to the trash";
    const EFFECT: Effect = Effect::Write;
    const CONFIRM: bool = true;
    const NAMED: &'static [(&'static str, Kind)] = &[("file", Kind::File)];
    const EXAMPLES: &'static [&'static str] = &[
        "delete the file report dot txt",
        "throw the old invoice away",
        "move the draft to the trash",
        "put the hamburg folder in the bin",
        "get rid of that screenshot file",
        "trash the second copy of the budget",
        "remove the document called minutes",
        "bin the downloaded installer",
    ];
    const CALLS: &'static [(&'static str, &'static str)] = &[
        ("throw the old invoice away", r#"{"file": "old invoice"}"#),
        ("delete the file report dot txt", r#"{"file": "report dot txt"}"#),
    ];
    const USE_WHEN: &'static str =
        "For files; notes, lists, events and mails are deleted by tools of their own.";

    fn preview(args: &Args, ctx: &Ctx) -> Result<String, ToolError> {
        let item = plan(args, ctx)?;
        let what = match item.is_folder {
            true => {
                let inside = change::amount(&item.path())?.entries.saturating_sub(1);
                format!(
                    "the folder {} with everything in it ({inside})",
                    files::spoken(&item)
                )
            }
            false => format!("{} ({})", files::spoken(&item), files::size(item.size)),
        };
        Ok(format!("Move {what} to the trash."))
    }

    async fn run(args: Args, ctx: &Ctx) -> Result<Output, ToolError> {
        ctx.blocking("move that to the trash", move |ctx| {
            let item = plan(&args, ctx)?;
            trash::put(ctx, &item.path())?;
            Ok(Output::new(
                format!("I moved {} to the trash.", plain::one_line(&item.name, 80)),
                json!({"trashed": item.label()}),
            ))
        })
        .await
    }
}

fn plan(args: &Args, ctx: &Ctx) -> Result<Item, ToolError> {
    let item = find::meant(&ctx.dirs, &args.file, find::Want::Any)?;
    change::home_of(&item)?;
    Ok(item)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::testing::{ctx, run, said};

    #[tokio::test]
    async fn what_is_trashed_can_be_restored_by_us_and_by_others() {
        let home = tempfile::tempdir().unwrap();
        let ctx = ctx(home.path());
        let (root, trash) = (home.path().join("files"), home.path().join("Trash"));
        fs::create_dir_all(root.join("Old trip")).unwrap();
        fs::write(root.join("Old trip/a.txt"), "a").unwrap();
        fs::write(root.join("größe 1.txt"), "g").unwrap();
        let go = async |file: &str| said(run("files.trash", json!({"file": file}), &ctx).await);
        assert_eq!(go("größe").await, "I moved größe 1.txt to the trash.");
        let info = fs::read_to_string(trash.join("info/größe 1.txt.trashinfo")).unwrap();
        let path = root.canonicalize().unwrap();
        assert_eq!(
            info,
            format!(
                "[Trash Info]\nPath={}/gr%C3%B6%C3%9Fe%201.txt\nDeletionDate=2026-11-23T09:30:00\n",
                path.display()
            )
        );
        // The same name again does not disturb the first.
        fs::write(root.join("größe 1.txt"), "h").unwrap();
        go("größe").await;
        assert_eq!(
            fs::read_to_string(trash.join("files/größe 1.txt.2")).unwrap(),
            "h"
        );
        assert_eq!(fs::read_to_string(trash.join("files/größe 1.txt")).unwrap(), "g");
        assert_eq!(go("old trip folder").await, "I moved Old trip to the trash.");
        assert!(!root.join("Old trip").exists());
        ctx.step.journal().undo(None).unwrap();
        assert_eq!(fs::read_to_string(root.join("Old trip/a.txt")).unwrap(), "a");
        ctx.step.journal().undo(None).unwrap();
        assert_eq!(fs::read_to_string(root.join("größe 1.txt")).unwrap(), "h");
        assert_eq!(fs::read_dir(trash.join("info")).unwrap().count(), 1);
        // Its place is taken, so the first stays in the trash.
        assert!(ctx.step.journal().undo(None).is_err());
        assert_eq!(fs::read_to_string(trash.join("files/größe 1.txt")).unwrap(), "g");
    }

    #[tokio::test]
    async fn doubt_and_what_is_not_the_persons_throw_nothing_away() {
        let home = tempfile::tempdir().unwrap();
        let ctx = ctx(home.path());
        let root = home.path().join("files");
        fs::create_dir_all(&root).unwrap();
        for file in ["plan one.txt", "plan two.txt"] {
            fs::write(root.join(file), "x").unwrap();
        }
        for (file, expect) in [
            ("plan", "Which file: plan "),
            ("unicorn", "no file called"),
            ("files", "stays as it is"),
            ("/etc/hostname", "outside"),
            ("files/../state", "outside"),
            ("", "Which file?"),
        ] {
            let error = run("files.trash", json!({"file": file}), &ctx)
                .await
                .unwrap_err()
                .to_string();
            assert!(error.contains(expect), "{file}: {error}");
        }
        assert_eq!(fs::read_dir(&root).unwrap().count(), 2);
        let entry = crate::find("files.trash").unwrap();
        assert_eq!(
            entry.preview(json!({"file": "plan one"}), &ctx).unwrap(),
            "Move plan one.txt in files (one byte) to the trash."
        );
        assert!(entry.confirm);
    }
}
