//! `files.open`: shows a file in the program that the person chose for its kind.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::{
    contract::{Ctx, Effect, Output, Tool, ToolError},
    system::{
        files::{self, Item, below, find, kind},
        known::Kind,
        opener, plain,
    },
};

/// Opens files.
pub struct This;

/// Which one.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Args {
    /// Name or path of the file or folder
    file: String,
}

impl Tool for This {
    type Args = Args;
    const NAME: &'static str = "files.open";
    const SUMMARY: &'static str = "Open a file or folder on the screen with its usual program";
    /// A window is a change that the person sees and can close again.
    const EFFECT: Effect = Effect::Write;
    const NAMED: &'static [(&'static str, Kind)] = &[("file", Kind::File)];
    const EXAMPLES: &'static [&'static str] = &[
        "open the file report dot txt",
        "open my budget spreadsheet",
        "show me the picture from the harbour",
        "open the downloads folder",
        "pull up the rental contract",
        "play the holiday video file",
        "open the pdf about the heating",
        "display the presentation for monday",
    ];
    const CALLS: &'static [(&'static str, &'static str)] = &[
        ("open my budget spreadsheet", r#"{"file": "budget"}"#),
        ("show me the picture from the harbour", r#"{"file": "harbour"}"#),
    ];
    const USE_WHEN: &'static str =
        "For files and folders; system.open_app starts programs, files.read reads aloud.";

    fn preview(args: &Args, ctx: &Ctx) -> Result<String, ToolError> {
        let item = fit(args, ctx)?;
        Ok(format!("Open {}.", files::spoken(&item)))
    }

    async fn run(args: Args, ctx: &Ctx) -> Result<Output, ToolError> {
        let item = ctx.blocking("find that file", move |ctx| fit(&args, ctx)).await?;
        let name = plain::one_line(&item.name, 80);
        opener::open(ctx, &opener::target(&item.path()), &name).await?;
        ctx.step.beyond();
        Ok(Output::new(
            format!("I opened {name}."),
            json!({"opened": item.label()}),
        ))
    }
}

/// The file that is meant, unless opening it would run it.
fn fit(args: &Args, ctx: &Ctx) -> Result<Item, ToolError> {
    let item = find::meant(&ctx.dirs, &args.file, find::Want::Any)?;
    if !item.is_folder {
        let (head, _) = below::read(&item, 64).map_err(|e| e.tool("open that file"))?;
        if kind::is_program(&item.below, &head) {
            return Err(ToolError::tell(format!(
                "{} is a program, and opening it would run it. Start it yourself if you trust it.",
                plain::one_line(&item.name, 80)
            )));
        }
    }
    Ok(item)
}

#[cfg(test)]
pub(crate) mod tests {
    use std::{
        fs,
        os::unix::fs::PermissionsExt as _,
        path::Path,
        time::{Duration, Instant},
    };

    use super::*;
    use crate::testing::{ctx, run, said, told};

    /// A program that writes down what it was told to open, and how to read that.
    pub fn opener(ctx: &mut Ctx, root: &Path) -> impl Fn() -> String + use<> {
        let (program, out) = (root.join("opener"), root.join("opened"));
        fs::write(
            &program,
            format!(
                "#!/bin/sh\nprintf '%s\\n' \"$@\" > {0}.new && mv {0}.new {0}\n",
                out.display()
            ),
        )
        .unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        ctx.reach.opener = vec![program.to_string_lossy().into_owned()];
        move || {
            let start = Instant::now();
            loop {
                match fs::read_to_string(&out) {
                    Ok(text) => {
                        fs::remove_file(&out).unwrap();
                        return text.trim_end().to_owned();
                    }
                    Err(_) if start.elapsed() > Duration::from_secs(20) => panic!("nothing was opened"),
                    Err(_) => std::thread::sleep(Duration::from_millis(10)),
                }
            }
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn files_and_folders_go_to_their_programs() {
        let home = tempfile::tempdir().unwrap();
        let mut ctx = ctx(home.path());
        let opened = opener(&mut ctx, home.path());
        let root = home.path().join("files");
        fs::create_dir_all(root.join("Downloads")).unwrap();
        fs::write(root.join("my budget; rm -rf $HOME.ods"), "x").unwrap();
        let root = root.canonicalize().unwrap();
        assert_eq!(
            said(run("files.open", json!({"file": "budget"}), &ctx).await),
            "I opened my budget; rm -rf $HOME.ods."
        );
        assert_eq!(
            opened(),
            root.join("my budget; rm -rf $HOME.ods").to_string_lossy()
        );
        said(run("files.open", json!({"file": "downloads folder"}), &ctx).await);
        assert_eq!(opened(), root.join("Downloads").to_string_lossy());
        let undone = ctx.step.journal().undo(None).unwrap_err().to_string();
        assert!(undone.contains("nothing that I can undo"), "{undone}");
    }

    #[tokio::test]
    async fn programs_are_not_run_and_what_fails_is_told() {
        let home = tempfile::tempdir().unwrap();
        let ctx = ctx(home.path());
        let root = home.path().join("files");
        fs::create_dir_all(&root).unwrap();
        fs::write(root.join("invoice.pdf"), "#!/bin/sh\ntouch pwned\n").unwrap();
        fs::write(root.join("setup.desktop"), "[Desktop Entry]\nExec=x\n").unwrap();
        fs::write(root.join("letter.txt"), "x").unwrap();
        let ask = async |file: &str| told(run("files.open", json!({"file": file}), &ctx).await);
        assert!(ask("invoice").await.contains("is a program"));
        assert!(ask("setup").await.contains("is a program"));
        assert!(ask("letter").await.contains("letter.txt did not start"));
        assert!(ask("unicorn").await.contains("no file called"));
        let entry = crate::find("files.open").unwrap();
        assert_eq!(
            entry.preview(json!({"file": "letter"}), &ctx).unwrap(),
            "Open letter.txt in files."
        );
    }
}
