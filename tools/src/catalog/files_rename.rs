//! `files.rename`: another name for a file or folder, in the same folder.

use std::path::{Path, PathBuf};

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

/// Renames files.
pub struct This;

/// What, and how.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Args {
    /// Name or path of the file or folder
    file: String,
    /// New name
    name: String,
}

impl Tool for This {
    type Args = Args;
    const NAME: &'static str = "files.rename";
    const SUMMARY: &'static str = "Give a file or folder another name";
    const EFFECT: Effect = Effect::Write;
    const CONFIRM: bool = true;
    const EXAMPLES: &'static [&'static str] = &[
        "rename the report to final report",
        "call the file budget from now on budget 2026",
        "change the name of the hamburg folder to harbour trip",
        "rename scan one to rental contract",
        "give the picture another name, sunset",
        "the invoice file should be called invoice may",
        "rename draft dot txt to letter dot txt",
        "change the file name of the presentation to kickoff",
    ];
    const CALLS: &'static [(&'static str, &'static str)] = &[
        (
            "call the file budget from now on budget 2026",
            r#"{"file": "budget", "name": "budget 2026"}"#,
        ),
        (
            "rename scan one to rental contract",
            r#"{"file": "scan one", "name": "rental contract"}"#,
        ),
    ];
    const USE_WHEN: &'static str = "For another name in the same folder; files.move is for another folder.";

    fn preview(args: &Args, ctx: &Ctx) -> Result<String, ToolError> {
        let (item, to) = plan(args, ctx)?;
        Ok(format!("Rename {} to {}.", files::spoken(&item), last(&to)))
    }

    async fn run(args: Args, ctx: &Ctx) -> Result<Output, ToolError> {
        ctx.blocking("rename that", move |ctx| {
            let (item, to) = plan(&args, ctx)?;
            ctx.step
                .rename(&item.path(), &to)
                .map_err(|e| change::told(e, "rename that"))?;
            Ok(Output::new(
                format!("I renamed {} to {}.", plain::one_line(&item.name, 80), last(&to)),
                json!({"from": item.label(), "to": change::spoken(&files::roots(&ctx.dirs)?, &to)}),
            ))
        })
        .await
    }
}

/// What is renamed, and its new path, which is free.
fn plan(args: &Args, ctx: &Ctx) -> Result<(Item, PathBuf), ToolError> {
    let item = find::meant(&ctx.dirs, &args.file, find::Want::Any)?;
    let folder = change::home_of(&item)?;
    let mut name = change::name(&args.name)?;
    // Nobody says the ending, and without it no program would open the file any more.
    if let Some(ending) = item.below.extension().filter(|_| !item.is_folder)
        && Path::new(&name)
            .extension()
            .is_none_or(|e| e.len() > 5 || e.to_string_lossy().contains(' '))
    {
        name = format!("{name}.{}", ending.to_string_lossy());
    }
    let to = folder.join(&name);
    match to.symlink_metadata() {
        Ok(_) if to == item.path() => Err(ToolError::tell(format!("{name} is its name already."))),
        Ok(_) => Err(ToolError::tell(format!(
            "There is something called {name} there already."
        ))),
        Err(_) => Ok((item, to)),
    }
}

fn last(path: &Path) -> String {
    plain::one_line(&path.file_name().unwrap_or_default().to_string_lossy(), 80)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::testing::{ctx, run, said};

    #[tokio::test]
    async fn names_change_and_keep_their_endings() {
        let home = tempfile::tempdir().unwrap();
        let ctx = ctx(home.path());
        let root = home.path().join("files");
        fs::create_dir_all(root.join("Trip")).unwrap();
        for file in ["report.txt", "budget.csv"] {
            fs::write(root.join(file), file).unwrap();
        }
        let go = async |file: &str, name: &str| {
            run("files.rename", json!({"file": file, "name": name}), &ctx).await
        };
        assert_eq!(
            said(go("the report", "final report").await),
            "I renamed report.txt to final report.txt."
        );
        assert_eq!(
            said(go("budget", "plan dot tsv").await),
            "I renamed budget.csv to plan.tsv."
        );
        assert_eq!(
            said(go("trip folder", "Harbour v1.2 trip").await),
            "I renamed Trip to Harbour v1.2 trip."
        );
        for (file, name, expect) in [
            ("plan", "final report.txt", "there already"),
            ("plan", "plan.tsv", "is its name already"),
            ("plan", "a/b", "cannot be a name"),
            ("plan", ".hidden/..", "cannot be a name"),
            ("plan", "passwords", "Choose another name"),
            ("files", "x", "stays as it is"),
            ("unicorn", "x", "no file called"),
        ] {
            let error = go(file, name).await.unwrap_err().to_string();
            assert!(error.contains(expect), "{file} {name}: {error}");
        }
        for _ in 0..3 {
            ctx.step.journal().undo(None).unwrap();
        }
        assert_eq!(fs::read_to_string(root.join("report.txt")).unwrap(), "report.txt");
        assert!(root.join("Trip").is_dir());
        let entry = crate::find("files.rename").unwrap();
        assert_eq!(
            entry
                .preview(json!({"file": "budget", "name": "plan"}), &ctx)
                .unwrap(),
            "Rename budget.csv in files to plan.csv."
        );
    }
}
