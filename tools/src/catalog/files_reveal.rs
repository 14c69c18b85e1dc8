//! `files.reveal`: shows where a file is, in the file manager.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::{
    contract::{Ctx, Effect, Output, Tool, ToolError},
    system::{
        desktop::bus::{At, Bus, On},
        files::{self, find},
        known::Kind,
        opener, plain,
    },
};

/// The file manager of the desktop (freedesktop.org, File Manager DBus Interface).
const MANAGER: At = At {
    name: "org.freedesktop.FileManager1",
    path: "/org/freedesktop/FileManager1",
    interface: "org.freedesktop.FileManager1",
};

/// Shows files in their folders.
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
    const NAME: &'static str = "files.reveal";
    const SUMMARY: &'static str = "Show in the file manager where a file is, selected in its folder";
    /// A window is a change that the person sees and can close again.
    const EFFECT: Effect = Effect::Write;
    const NAMED: &'static [(&'static str, Kind)] = &[("file", Kind::File)];
    const EXAMPLES: &'static [&'static str] = &[
        "show the report in its folder",
        "reveal the invoice in the file manager",
        "open the folder that the contract is in",
        "open the containing folder of budget",
        "show me where the picture is saved",
        "highlight the tax return in the files app",
        "take me to the file",
        "locate the itinerary in the file browser",
    ];
    const CALLS: &'static [(&'static str, &'static str)] = &[(
        "show me where the picture of the harbour is saved",
        r#"{"file": "harbour"}"#,
    )];
    const USE_WHEN: &'static str = "For the folder around a file; files.open opens the file itself.";

    fn preview(args: &Args, ctx: &Ctx) -> Result<String, ToolError> {
        let item = find::meant(&ctx.dirs, &args.file, find::Want::Any)?;
        Ok(format!("Show {} in the file manager.", files::spoken(&item)))
    }

    async fn run(args: Args, ctx: &Ctx) -> Result<Output, ToolError> {
        let find = move |ctx: &Ctx| find::meant(&ctx.dirs, &args.file, find::Want::Any);
        let item = ctx.blocking("find that file", find).await?;
        let name = plain::one_line(&item.name, 80);
        let shown = match Bus::open(&ctx.desk, On::Session).await {
            Ok(bus) => {
                bus.call::<_, ()>(MANAGER, "ShowItems", &(vec![opener::uri(&item.path())], ""))
                    .await
            }
            Err(trouble) => Err(trouble),
        };
        if let Err(trouble) = shown {
            tracing::debug!(?trouble, "the folder is opened instead");
            let path = item.path();
            let folder = path.parent().unwrap_or(&path);
            opener::open(ctx, &opener::target(folder), "The file manager").await?;
        }
        ctx.step.beyond();
        Ok(Output::new(
            format!("I showed {name} in its folder."),
            json!({"shown": item.label()}),
        ))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::{
        catalog::files_open::tests::opener,
        system::desktop::testing::World,
        testing::{ctx, run, said, told},
    };

    type Shown = std::sync::Arc<std::sync::Mutex<Vec<String>>>;

    struct Manager(Shown);

    #[zbus::interface(name = "org.freedesktop.FileManager1")]
    impl Manager {
        fn show_items(&self, items: Vec<String>, _startup: String) {
            self.0.lock().unwrap().extend(items);
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn the_file_manager_on_the_bus_is_asked_first() {
        let Some(world) = World::start().await else {
            return;
        };
        let ctx = world.ctx();
        let root = world.folder().join("files");
        fs::create_dir_all(&root).unwrap();
        fs::write(root.join("größe 1.txt"), "x").unwrap();
        let shown = Shown::default();
        let _manager = zbus::connection::Builder::address(world.address())
            .serve_at("/org/freedesktop/FileManager1", Manager(shown.clone()))
            .name("org.freedesktop.FileManager1")
            .build()
            .await
            .unwrap();
        said(run("files.reveal", json!({"file": "größe"}), &ctx).await);
        let expect = format!(
            "file://{}/gr%C3%B6%C3%9Fe%201.txt",
            root.canonicalize().unwrap().display()
        );
        assert_eq!(*shown.lock().unwrap(), [expect]);
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn without_a_file_manager_on_the_bus_the_folder_opens() {
        let home = tempfile::tempdir().unwrap();
        let mut ctx = ctx(home.path());
        let opened = opener(&mut ctx, home.path());
        let root = home.path().join("files");
        fs::create_dir_all(root.join("Hamburg")).unwrap();
        fs::write(root.join("Hamburg/itinerary.txt"), "x").unwrap();
        assert_eq!(
            said(run("files.reveal", json!({"file": "itinerary"}), &ctx).await),
            "I showed itinerary.txt in its folder."
        );
        assert_eq!(
            opened(),
            root.canonicalize().unwrap().join("Hamburg").to_string_lossy()
        );
        assert!(told(run("files.reveal", json!({"file": "unicorn"}), &ctx).await).contains("no file called"));
        let entry = crate::find("files.reveal").unwrap();
        assert_eq!(
            entry.preview(json!({"file": "itinerary"}), &ctx).unwrap(),
            "Show itinerary.txt in files/Hamburg in the file manager."
        );
    }
}
