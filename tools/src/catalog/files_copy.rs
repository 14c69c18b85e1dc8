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
    const CALLS: &'static [(&'static str, &'static str)] = &[
        (
            "copy the hamburg folder to documents",
            r#"{"file": "hamburg", "to": "documents"}"#,
        ),
        ("duplicate the presentation", r#"{"file": "presentation"}"#),
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
        let work = move |ctx: &Ctx| {
            let (item, to) = plan(&args, ctx)?;
            let amount = change::copy(ctx, &item.path(), &to)?;
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
        ctx.blocking("copy that", work).await
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
    use crate::{
        system::progress::Progress,
        testing::{ctx, run, said},
    };

    #[tokio::test]
    async fn a_large_copy_says_how_far_it_is_and_stops_halfway_when_nobody_wants_it() {
        let home = tempfile::tempdir().unwrap();
        let ctx = ctx(home.path());
        let root = home.path().join("files");
        for folder in 0..20 {
            let folder = root.join(format!("Trip/{folder}"));
            fs::create_dir_all(&folder).unwrap();
            for file in 0..20 {
                fs::write(folder.join(format!("{file}.txt")), vec![b'x'; 5_000]).unwrap();
            }
        }
        let (mut percent, progress) = (ctx.progress.percent(), ctx.progress.clone());
        let watching = std::thread::spawn(move || {
            // Another thread, as that of whoever runs the call is.
            let (mut seen, begun) = (vec![0], std::time::Instant::now());
            while seen.last().is_some_and(|last| *last < 40) && begun.elapsed() < Duration::from_secs(60) {
                if percent.has_changed().unwrap() {
                    seen.push(*percent.borrow_and_update());
                }
                std::thread::yield_now();
            }
            progress.stop();
            seen
        });
        let error = run("files.copy", json!({"file": "trip folder"}), &ctx)
            .await
            .unwrap_err();
        assert_eq!(error.to_string(), "I stopped, and nothing was copied.");
        let seen = watching.join().unwrap();
        assert!(seen.is_sorted() && seen.len() > 2, "{seen:?}");
        assert!(ctx.progress.is_abandoned() && *ctx.progress.percent().borrow() < 100);
        assert_eq!(fs::read_dir(&root).unwrap().count(), 1, "nothing of it is left");
        assert_eq!(ctx.step.journal().verify_invariants().unwrap(), [""; 0]);
        // Who wants it after all gets all of it.
        let again = Ctx {
            progress: Progress::default(),
            step: ctx.step.journal().step("files.copy"),
            ..ctx.clone()
        };
        assert_eq!(
            said(run("files.copy", json!({"file": "trip folder"}), &again).await),
            "I copied the folder Trip with 420 things in it to files/Trip (2)."
        );
        assert_eq!(*again.progress.percent().borrow(), 100);
    }

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
        let stopped = Ctx {
            progress: Progress::default(),
            ..ctx.clone()
        };
        stopped.progress.stop();
        let to = root.join("Copy");
        assert!(
            change::copy(&stopped, &root.join("Trip"), &to)
                .unwrap_err()
                .to_string()
                .contains("I stopped")
        );
        assert!(stopped.progress.is_abandoned());
        assert_eq!(fs::read_dir(&root).unwrap().count(), 1);
        let entry = crate::find("files.copy").unwrap();
        assert_eq!(
            entry.preview(json!({"file": "a.txt"}), &ctx).unwrap(),
            "Copy a.txt in files/Trip/sub (one byte) to files/Trip/sub/a (2).txt."
        );
    }
}
