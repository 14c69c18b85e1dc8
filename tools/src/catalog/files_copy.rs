//! `files.copy`: a second one of a file or folder.

use std::{path::PathBuf, time::Duration};

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::{
    contract::{Ctx, Effect, Output, Tool, ToolError},
    system::{
        files::{self, Item, change, find},
        plain, speech,
    },
};

/// Copies files.
pub struct This;

/// What, and to where.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Args {
    /// Name or path of the file or folder
    file: String,
    /// Folder to put the copy in; without it beside the original
    to: Option<String>,
}

impl Tool for This {
    type Args = Args;
    const NAME: &'static str = "files.copy";
    const SUMMARY: &'static str = "Copy a file or folder, and keep the original";
    const EFFECT: Effect = Effect::Write;
    const TIMEOUT: Duration = Duration::from_secs(600);
    const EXAMPLES: &'static [&'static str] = &[
        "copy the report to the archive folder",
        "make a copy of my budget",
        "duplicate the presentation",
        "copy the hamburg folder to documents",
        "put a copy of the contract in taxes",
        "back up the pictures folder to backup",
        "copy invoice dot pdf into downloads",
        "make a second version of the letter",
    ];
    const USE_WHEN: &'static str =
        "Keeps the original; files.move takes it away. clipboard.write copies words.";

    fn preview(args: &Args, ctx: &Ctx) -> Result<String, ToolError> {
        let (item, to) = plan(args, ctx)?;
        let amount = change::amount(&item.path())?;
        Ok(format!(
            "Copy {} ({}) to {}.",
            files::spoken(&item),
            files::size(amount.bytes),
            change::spoken(&files::roots(&ctx.dirs)?, &to)
        ))
    }

    async fn run(args: Args, ctx: &Ctx) -> Result<Output, ToolError> {
        let wanted = change::Wanted::default();
        let stop = wanted.flag();
        let work = move |ctx: &Ctx| {
            let (item, to) = plan(&args, ctx)?;
            let amount = change::copy(ctx, &item.path(), &to, &stop)?;
            let shown = change::spoken(&files::roots(&ctx.dirs)?, &to);
            let what = match item.is_folder {
                true => format!(
                    "the folder {} with {}",
                    plain::one_line(&item.name, 80),
                    speech::count(amount.entries.saturating_sub(1), "thing in it", "things in it")
                ),
                false => plain::one_line(&item.name, 80),
            };
            Ok(Output::new(
                format!("I copied {what} to {shown}."),
                json!({"from": item.label(), "to": shown, "bytes": amount.bytes}),
            ))
        };
        let done = ctx.blocking("copy that", work).await;
        drop(wanted);
        done
    }
}

/// What is copied, and the path of the copy, which is free.
fn plan(args: &Args, ctx: &Ctx) -> Result<(Item, PathBuf), ToolError> {
    let item = find::meant(&ctx.dirs, &args.file, find::Want::Any)?;
    let home = change::home_of(&item)?;
    let folder = match args.to.as_deref().filter(|said| !said.trim().is_empty()) {
        Some(said) => find::meant(&ctx.dirs, said, find::Want::Folder)?.path(),
        None => home,
    };
    let path = item.path();
    let to = change::free(&folder, path.file_name().unwrap_or_default())?;
    Ok((item, to))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::testing::{ctx, run, said};

    #[tokio::test]
    async fn a_copy_never_overwrites_and_undo_removes_it() {
        let home = tempfile::tempdir().unwrap();
        let ctx = ctx(home.path());
        let root = home.path().join("files");
        fs::create_dir_all(root.join("Archive")).unwrap();
        fs::create_dir_all(root.join("Trip/sub")).unwrap();
        fs::write(root.join("report.txt"), "one").unwrap();
        fs::write(root.join("Archive/report.txt"), "old").unwrap();
        fs::write(root.join("Trip/sub/a.txt"), "a").unwrap();
        std::os::unix::fs::symlink("/etc/passwd", root.join("Trip/link")).unwrap();
        let copy = async |args| said(run("files.copy", args, &ctx).await);
        assert_eq!(
            copy(json!({"file": "files/report.txt", "to": "archive"})).await,
            "I copied report.txt to files/Archive/report (2).txt."
        );
        assert_eq!(
            fs::read_to_string(root.join("Archive/report (2).txt")).unwrap(),
            "one"
        );
        assert_eq!(
            fs::read_to_string(root.join("Archive/report.txt")).unwrap(),
            "old"
        );
        assert_eq!(
            copy(json!({"file": "trip folder"})).await,
            "I copied the folder Trip with three things in it to files/Trip (2)."
        );
        assert_eq!(fs::read_to_string(root.join("Trip (2)/sub/a.txt")).unwrap(), "a");
        assert!(
            root.join("Trip (2)/link").is_symlink(),
            "a link stays one and is not followed"
        );
        ctx.step.journal().undo(None).unwrap();
        assert!(!root.join("Trip (2)").exists() && root.join("Trip/sub/a.txt").exists());
        ctx.step.journal().undo(None).unwrap();
        assert!(!root.join("Archive/report (2).txt").exists());
        assert_eq!(ctx.step.journal().verify_invariants().unwrap(), [""; 0]);
    }

    #[tokio::test]
    async fn what_cannot_be_copied_is_told_and_leaves_nothing() {
        let home = tempfile::tempdir().unwrap();
        let ctx = ctx(home.path());
        let root = home.path().join("files");
        fs::create_dir_all(root.join("Trip/sub")).unwrap();
        fs::write(root.join("Trip/sub/a.txt"), "a").unwrap();
        for (args, expect) in [
            (json!({"file": "trip folder", "to": "trip folder"}), "into itself"),
            (json!({"file": "files"}), "stays as it is"),
            (json!({"file": "unicorn"}), "no file called"),
            (json!({"file": "a.txt", "to": "/etc"}), "outside"),
            (json!({"file": ""}), "Which file?"),
        ] {
            let error = run("files.copy", args.clone(), &ctx)
                .await
                .unwrap_err()
                .to_string();
            assert!(error.contains(expect), "{args}: {error}");
        }
        // It is no longer wanted when nobody waits for it.
        let wanted = change::Wanted::default();
        let stop = wanted.flag();
        drop(wanted);
        let to = root.join("Copy");
        assert!(
            change::copy(&ctx, &root.join("Trip"), &to, &stop)
                .unwrap_err()
                .to_string()
                .contains("I stopped")
        );
        assert_eq!(fs::read_dir(&root).unwrap().count(), 1);
        let entry = crate::find("files.copy").unwrap();
        assert_eq!(
            entry.preview(json!({"file": "a.txt"}), &ctx).unwrap(),
            "Copy a.txt in files/Trip/sub (one byte) to files/Trip/sub/a (2).txt."
        );
    }
}
