//! `files.move`: a file or folder goes to another folder.

use std::{path::PathBuf, time::Duration};

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::{
    contract::{Ctx, Effect, Output, Tool, ToolError},
    system::{
        files::{self, Item, change, find},
        plain,
    },
};

/// Moves files.
pub struct This;

/// What, and to where.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Args {
    /// Name or path of the file or folder
    file: String,
    /// Folder to move it to
    to: String,
}

impl Tool for This {
    type Args = Args;
    const NAME: &'static str = "files.move";
    const SUMMARY: &'static str = "Move a file or folder to another folder";
    const EFFECT: Effect = Effect::Write;
    const CONFIRM: bool = true;
    const TIMEOUT: Duration = Duration::from_secs(600);
    const EXAMPLES: &'static [&'static str] = &[
        "move the report to the archive folder",
        "put the invoice into the taxes folder",
        "move my holiday pictures to pictures",
        "shift the contract over to documents",
        "move budget dot csv from downloads to documents",
        "file the letter under insurance",
        "drag the hamburg folder into travel",
        "move this presentation to the work folder",
    ];
    const CALLS: &'static [(&'static str, &'static str)] = &[
        (
            "move budget dot csv from downloads to documents",
            r#"{"file": "budget dot csv", "to": "documents"}"#,
        ),
        (
            "file the letter under insurance",
            r#"{"file": "letter", "to": "insurance"}"#,
        ),
    ];
    const USE_WHEN: &'static str =
        "To another folder; files.rename gives another name, files.trash throws away.";

    fn preview(args: &Args, ctx: &Ctx) -> Result<String, ToolError> {
        let (item, to) = plan(args, ctx)?;
        Ok(format!(
            "Move {} to {}.",
            files::spoken(&item),
            change::spoken(&files::roots(&ctx.dirs)?, &to)
        ))
    }

    async fn run(args: Args, ctx: &Ctx) -> Result<Output, ToolError> {
        let work = move |ctx: &Ctx| {
            let (item, to) = plan(&args, ctx)?;
            change::relocate(ctx, &item.path(), &to)?;
            let shown = change::spoken(&files::roots(&ctx.dirs)?, &to);
            Ok(Output::new(
                format!("I moved {} to {shown}.", plain::one_line(&item.name, 80)),
                json!({"from": item.label(), "to": shown}),
            ))
        };
        ctx.blocking("move that", work).await
    }
}

/// What is moved, and its new path, which is free.
fn plan(args: &Args, ctx: &Ctx) -> Result<(Item, PathBuf), ToolError> {
    let item = find::meant(&ctx.dirs, &args.file, find::Want::Any)?;
    let home = change::home_of(&item)?;
    let folder = find::meant(&ctx.dirs, &args.to, find::Want::Folder)?.path();
    if folder == home {
        return Err(ToolError::tell(format!(
            "{} is in that folder already.",
            plain::one_line(&item.name, 80)
        )));
    }
    let path = item.path();
    if folder.starts_with(&path) {
        return Err(ToolError::tell("A folder cannot be moved into itself."));
    }
    let to = change::free(&folder, path.file_name().unwrap_or_default())?;
    Ok((item, to))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::testing::{ctx, run, said};

    #[tokio::test]
    async fn a_file_moves_and_comes_back() {
        let home = tempfile::tempdir().unwrap();
        let ctx = ctx(home.path());
        let root = home.path().join("files");
        fs::create_dir_all(root.join("Archive")).unwrap();
        fs::create_dir_all(root.join("Trip/sub")).unwrap();
        fs::write(root.join("report.txt"), "one").unwrap();
        fs::write(root.join("Archive/budget.csv"), "old").unwrap();
        fs::write(root.join("budget.csv"), "new").unwrap();
        let go = async |args| said(run("files.move", args, &ctx).await);
        assert_eq!(
            go(json!({"file": "the reports", "to": "archives"})).await,
            "I moved report.txt to files/Archive/report.txt."
        );
        assert_eq!(
            go(json!({"file": "files/budget.csv", "to": "archive folder"})).await,
            "I moved budget.csv to files/Archive/budget (2).csv."
        );
        assert_eq!(
            fs::read_to_string(root.join("Archive/budget.csv")).unwrap(),
            "old"
        );
        assert_eq!(
            go(json!({"file": "trip", "to": "archive"})).await,
            "I moved Trip to files/Archive/Trip."
        );
        for _ in 0..3 {
            ctx.step.journal().undo(None).unwrap();
        }
        assert!(root.join("report.txt").exists() && root.join("Trip/sub").is_dir());
        assert_eq!(fs::read_to_string(root.join("budget.csv")).unwrap(), "new");
        assert!(crate::find("files.move").unwrap().confirm);
    }

    #[tokio::test]
    async fn what_cannot_be_moved_is_told_and_stays() {
        let home = tempfile::tempdir().unwrap();
        let ctx = ctx(home.path());
        let root = home.path().join("files");
        fs::create_dir_all(root.join("Trip/sub")).unwrap();
        fs::write(root.join("Trip/a.txt"), "a").unwrap();
        for (file, to, expect) in [
            ("trip", "files/Trip/sub", "into itself"),
            ("trip", "trip", "into itself"),
            ("files/Trip/a.txt", "trip", "in that folder already"),
            ("a.txt", "a.txt", "no folder called"),
            ("unicorn", "trip", "no file called"),
            ("a.txt", "~/.config", "outside"),
            ("a.txt", "", "Which folder?"),
        ] {
            let error = run("files.move", json!({"file": file, "to": to}), &ctx)
                .await
                .unwrap_err()
                .to_string();
            assert!(error.contains(expect), "{file} {to}: {error}");
        }
        assert!(root.join("Trip/a.txt").exists());
        let entry = crate::find("files.move").unwrap();
        fs::create_dir(root.join("Archive")).unwrap();
        assert_eq!(
            entry
                .preview(json!({"file": "trip", "to": "archive"}), &ctx)
                .unwrap(),
            "Move Trip in files to files/Archive/Trip."
        );
    }
}
