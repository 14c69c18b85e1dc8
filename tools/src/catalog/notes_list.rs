//! `notes.list`: which notes there are, newest first.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::{
    contract::{Ctx, Effect, Output, Tool, ToolError},
    system::{notes, plain, speech},
};

/// Most titles that are read out, and that are given as data.
const SPOKEN: usize = 5;
const MOST: usize = 20;

/// Lists notes.
pub struct This;

/// How many.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Args {
    /// How many, if the person said
    count: Option<usize>,
}

impl Tool for This {
    type Args = Args;
    const NAME: &'static str = "notes.list";
    const SUMMARY: &'static str = "List the titles of the newest notes";
    const EFFECT: Effect = Effect::Read;
    const EXAMPLES: &'static [&'static str] = &[
        "what notes do I have",
        "list my notes",
        "show me my latest notes",
        "which notes did I write last",
        "what are my three newest notes",
        "how many notes are there",
    ];
    const CALLS: &'static [(&'static str, &'static str)] = &[
        ("what are my three newest notes", r#"{"count": 3}"#),
        ("what notes do I have", "{}"),
    ];
    const PATTERNS: &'static [&'static str] =
        &["(what|which) notes do i have", "(show|list) [me] [all] my notes"];
    const USE_WHEN: &'static str =
        "For which notes there are; notes.search finds by words, notes.read reads one.";

    async fn run(args: Args, ctx: &Ctx) -> Result<Output, ToolError> {
        let most = args.count.unwrap_or(SPOKEN).clamp(1, MOST);
        let folder = ctx.dirs.notes.clone();
        let work = tokio::task::spawn_blocking(move || notes::newest(&folder, most)).await;
        let (newest, count) = work.map_err(|e| ToolError::broken("read your notes", e))??;
        let zone = ctx.now.time_zone();
        let rows: Vec<_> = newest
            .iter()
            .map(|note| {
                let changed = note.modified.to_zoned(zone.clone());
                json!({
                    "title": note.title,
                    "file": note.file,
                    "changed": changed.strftime("%Y-%m-%dT%H:%M").to_string(),
                })
            })
            .collect();
        let titles: Vec<String> = newest.iter().map(|note| note.title.clone()).collect();
        let many = speech::count(count, "note", "notes");
        let say = match titles.len() {
            0 => "You have no notes yet.".to_owned(),
            shown if shown == count => format!("You have {many}: {}.", plain::listed(&titles, "and")),
            1 => format!("You have {many}. The newest is {}.", titles[0]),
            _ => format!(
                "You have {many}. The newest are {}.",
                plain::listed(&titles, "and")
            ),
        };
        Ok(Output::new(say, json!({"notes": rows, "count": count})))
    }
}

#[cfg(test)]
mod tests {
    use std::{
        fs::{self, File},
        time::{Duration, SystemTime},
    };

    use super::*;
    use crate::testing::{ctx, run, said, told};

    #[tokio::test]
    async fn the_newest_come_first() {
        let home = tempfile::tempdir().unwrap();
        let ctx = ctx(home.path());
        let ask = async |args| said(run("notes.list", args, &ctx).await);
        assert_eq!(ask(json!({})).await, "You have no notes yet.");
        fs::create_dir_all(ctx.dirs.notes.join("sub")).unwrap();
        for (age, file) in ["sub/b.md", "a.md", "c.md", "d.md", "e.md", "f.md"]
            .iter()
            .enumerate()
        {
            let file = File::create(ctx.dirs.notes.join(file)).unwrap();
            let age = Duration::from_secs(age as u64 * 60);
            file.set_modified(SystemTime::now() - age).unwrap();
        }
        assert_eq!(
            ask(json!({})).await,
            "You have six notes. The newest are b, a, c, d and e."
        );
        assert_eq!(
            ask(json!({"count": 1})).await,
            "You have six notes. The newest is b."
        );
        assert_eq!(
            ask(json!({"count": 100})).await,
            "You have six notes: b, a, c, d, e and f."
        );
        let output = run("notes.list", json!({}), &ctx).await.unwrap();
        assert_eq!(
            (&output.data["notes"][0]["file"], &output.data["count"]),
            (&json!("sub/b.md"), &json!(6))
        );
    }

    #[tokio::test]
    async fn hostile_titles_stay_one_line_and_bad_arguments_are_told() {
        let home = tempfile::tempdir().unwrap();
        let ctx = ctx(home.path());
        fs::create_dir(&ctx.dirs.notes).unwrap();
        fs::write(
            ctx.dirs.notes.join("x.md"),
            format!("# a\u{202e}b{}", "y".repeat(10_000)),
        )
        .unwrap();
        fs::write(ctx.dirs.notes.join("y.md"), [0xff; 100]).unwrap();
        let text = said(run("notes.list", json!({}), &ctx).await);
        assert!(text.len() < 300 && !text.contains('\u{202e}'), "{text}");
        assert!(told(run("notes.list", json!({"count": -1}), &ctx).await).contains("do not fit"));
    }
}
