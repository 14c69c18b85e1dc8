//! `files.create_folder`: a new empty folder.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::{
    contract::{Ctx, Effect, Output, Tool, ToolError},
    system::files::{self, change, find},
};

/// Makes folders.
pub struct This;

/// Which.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Args {
    /// Name of the new folder
    name: String,
    /// Folder to make it in
    r#in: Option<String>,
}

impl Tool for This {
    type Args = Args;
    const NAME: &'static str = "files.create_folder";
    const SUMMARY: &'static str = "Make a new empty folder for files";
    const EFFECT: Effect = Effect::Write;
    const EXAMPLES: &'static [&'static str] = &[
        "create a folder called taxes",
        "make a new folder holiday in pictures",
        "new folder invoices in my documents",
        "add a directory named backup",
        "make me a folder for the recipes",
        "create a subfolder 2026 in taxes",
        "set up a folder for the garden project",
        "I need a new folder named archive",
    ];
    const CALLS: &'static [(&'static str, &'static str)] = &[
        (
            "make a new folder holiday in pictures",
            r#"{"name": "holiday", "in": "pictures"}"#,
        ),
        ("create a folder called taxes", r#"{"name": "taxes"}"#),
    ];
    const USE_WHEN: &'static str = "For folders of files; lists.create is for lists, notes.create for notes.";

    fn preview(args: &Args, ctx: &Ctx) -> Result<String, ToolError> {
        let path = place(args, ctx)?;
        Ok(format!(
            "Make the folder {}.",
            change::spoken(&files::roots(&ctx.dirs)?, &path)
        ))
    }

    async fn run(args: Args, ctx: &Ctx) -> Result<Output, ToolError> {
        ctx.blocking("make the folder", move |ctx| {
            let path = place(&args, ctx)?;
            change::make_folder(ctx, &path)?;
            let shown = change::spoken(&files::roots(&ctx.dirs)?, &path);
            Ok(Output::new(
                format!("I made the folder {shown}."),
                json!({"folder": shown}),
            ))
        })
        .await
    }
}

fn place(args: &Args, ctx: &Ctx) -> Result<std::path::PathBuf, ToolError> {
    let name = change::name(&args.name)?;
    let folder = match args.r#in.as_deref().filter(|said| !said.trim().is_empty()) {
        Some(said) => find::meant(&ctx.dirs, said, find::Want::Folder)?.path(),
        // The first of the folders is the person's documents.
        None => files::roots(&ctx.dirs)?.swap_remove(0).path,
    };
    let path = folder.join(&name);
    match path.symlink_metadata() {
        Ok(_) => Err(ToolError::tell(format!(
            "There is something called {name} there already."
        ))),
        Err(_) => Ok(path),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::testing::{ctx, run, said, told};

    #[tokio::test]
    async fn a_folder_comes_and_goes() {
        let home = tempfile::tempdir().unwrap();
        let ctx = ctx(home.path());
        let root = home.path().join("files");
        fs::create_dir_all(&root).unwrap();
        let make = async |args| run("files.create_folder", args, &ctx).await;
        assert_eq!(
            said(make(json!({"name": "Taxes"})).await),
            "I made the folder files/Taxes."
        );
        assert_eq!(
            said(make(json!({"name": "2026", "in": "taxis"})).await),
            "I made the folder files/Taxes/2026."
        );
        assert!(root.join("Taxes/2026").is_dir());
        assert!(told(make(json!({"name": "Taxes"})).await).contains("there already"));
        // The outer one holds the inner, so it is not removed before it.
        ctx.step.journal().undo(None).unwrap();
        assert!(root.join("Taxes").is_dir() && !root.join("Taxes/2026").exists());
        fs::write(root.join("Taxes/mine"), "x").unwrap();
        assert!(ctx.step.journal().undo(None).is_err());
        assert!(root.join("Taxes/mine").exists());
    }

    #[tokio::test]
    async fn names_that_lead_elsewhere_are_refused() {
        let home = tempfile::tempdir().unwrap();
        let ctx = ctx(home.path());
        fs::create_dir_all(home.path().join("files")).unwrap();
        for (name, folder, expect) in [
            (" ", None, "What shall it be called?"),
            ("a/b", None, "cannot be a name"),
            ("../x", None, "cannot be a name"),
            ("..", None, "What shall it be called?"),
            ("secrets", None, "Choose another name"),
            ("x", Some("/etc"), "outside"),
            ("x", Some("../.."), "outside"),
            ("x", Some("unicorn"), "no folder called"),
        ] {
            let text = told(run("files.create_folder", json!({"name": name, "in": folder}), &ctx).await);
            assert!(text.contains(expect), "{name} {folder:?}: {text}");
        }
        assert_eq!(fs::read_dir(home.path().join("files")).unwrap().count(), 0);
    }
}
