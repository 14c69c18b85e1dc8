//! `files.recent`: what was changed last.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::{
    contract::{Ctx, Effect, Output, Tool, ToolError},
    system::{
        files::{self, Item, Kind, find},
        plain, speech,
    },
};

/// How many without a number, and at most.
const USUAL: usize = 5;
const MOST: usize = 20;

/// Lists new files.
pub struct This;

/// Which.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Args {
    /// How many, if the person said
    count: Option<usize>,
    /// Kind of file
    kind: Option<Kind>,
    /// Only in this folder, such as downloads
    folder: Option<String>,
}

impl Tool for This {
    type Args = Args;
    const NAME: &'static str = "files.recent";
    const SUMMARY: &'static str = "List the files that were changed or downloaded last";
    const EFFECT: Effect = Effect::Read;
    const UNTRUSTED: bool = true;
    const EXAMPLES: &'static [&'static str] = &[
        "what files did I work on recently",
        "show my recent files",
        "what did I download last",
        "latest documents",
        "which pictures are new",
        "list the newest files in downloads",
        "what was the last thing I saved",
        "my last three spreadsheets",
    ];
    const CALLS: &'static [(&'static str, &'static str)] = &[
        (
            "my last three spreadsheets",
            r#"{"count": 3, "kind": "spreadsheet"}"#,
        ),
        ("list the newest files in downloads", r#"{"folder": "downloads"}"#),
    ];
    const PATTERNS: &'static [&'static str] = &["(show [me]|list) my recent files"];
    const USE_WHEN: &'static str = "For the newest files without any name; files.search is for certain ones.";

    async fn run(args: Args, ctx: &Ctx) -> Result<Output, ToolError> {
        ctx.blocking("look through your files", move |ctx| {
            let folder = match &args.folder {
                Some(folder) => Some(find::meant(&ctx.dirs, folder, find::Want::Folder)?),
                None => None,
            };
            let listing = files::list(&ctx.dirs)?;
            let inside = |item: &&Item| {
                folder
                    .as_ref()
                    .is_none_or(|folder| item.path().starts_with(folder.path()))
            };
            let wanted = |item: &&Item| match args.kind {
                Some(kind) => kind.takes(item.kind()),
                None => !item.is_folder,
            };
            let count = args.count.unwrap_or(USUAL).clamp(1, MOST);
            let newest: Vec<&Item> = listing
                .items
                .iter()
                .filter(wanted)
                .filter(inside)
                .take(count)
                .collect();
            let kind = args.kind.map_or("files", Kind::words);
            let place = folder
                .map(|folder| format!(" in {}", plain::one_line(&folder.name, 80)))
                .unwrap_or_default();
            let names: Vec<String> = newest.iter().map(|item| files::spoken(item)).collect();
            let day = |item: &Item| {
                speech::on_day(
                    item.modified.to_zoned(ctx.now.time_zone().clone()).date(),
                    &ctx.now,
                )
            };
            let say = match &newest[..] {
                [] => format!("There are no {kind}{place}."),
                [one] => format!("The last one is {}, changed {}.", names[0], day(one)),
                [first, ..] => format!(
                    "The newest {kind}{place} are {}; the first was changed {}.",
                    plain::listed(&names, "and"),
                    day(first)
                ),
            };
            let rows: Vec<_> = newest.iter().map(|item| item.data(&ctx.now)).collect();
            Ok(Output::new(say, json!({"files": rows})))
        })
        .await
    }
}

#[cfg(test)]
mod tests {
    use std::{
        fs,
        time::{Duration, SystemTime},
    };

    use super::*;
    use crate::testing::{ctx, run, said, told};

    #[tokio::test]
    async fn the_newest_come_first() {
        let home = tempfile::tempdir().unwrap();
        let mut ctx = ctx(home.path());
        ctx.now = jiff::Zoned::now();
        let root = home.path().join("files");
        assert!(told(run("files.recent", json!({}), &ctx).await).contains("files.dirs"));
        fs::create_dir_all(root.join("Downloads")).unwrap();
        assert_eq!(
            said(run("files.recent", json!({}), &ctx).await),
            "There are no files."
        );
        for (days, file) in [(1, "b.pdf"), (0, "a.txt"), (9, "Downloads/c.jpg")] {
            fs::write(root.join(file), "x").unwrap();
            let at = SystemTime::now() - Duration::from_secs(days * 86_400);
            fs::File::options()
                .write(true)
                .open(root.join(file))
                .unwrap()
                .set_modified(at)
                .unwrap();
        }
        let ask = async |args| said(run("files.recent", args, &ctx).await);
        let text = ask(json!({})).await;
        assert!(
            text.starts_with(
                "The newest files are a.txt in files, b.pdf in files and c.jpg in files/Downloads;"
            ),
            "{text}"
        );
        assert_eq!(
            ask(json!({"count": 1})).await,
            "The last one is a.txt in files, changed today."
        );
        assert!(
            ask(json!({"kind": "picture"}))
                .await
                .starts_with("The last one is c.jpg in files/Downloads")
        );
        assert!(
            ask(json!({"folder": "download"}))
                .await
                .starts_with("The last one is c.jpg")
        );
        assert_eq!(
            ask(json!({"kind": "video", "folder": "downloads"})).await,
            "There are no videos in Downloads."
        );
        assert_eq!(
            ask(json!({"kind": "pdf", "count": 0})).await,
            "The last one is b.pdf in files, changed yesterday."
        );
    }
}
