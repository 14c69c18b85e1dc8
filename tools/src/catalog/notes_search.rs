//! `notes.search`: notes by words in their title or text.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::{
    contract::{Ctx, Effect, Output, Tool, ToolError},
    system::{notes, plain, speech},
};

/// Most notes that are named.
const MOST: usize = 5;

/// Searches notes.
pub struct This;

/// What for.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Args {
    /// Words to look for
    words: String,
}

impl Tool for This {
    type Args = Args;
    const NAME: &'static str = "notes.search";
    const SUMMARY: &'static str = "Find notes by words in their title or text";
    const EFFECT: Effect = Effect::Read;
    const EXAMPLES: &'static [&'static str] = &[
        "find my note about the plumber",
        "search my notes for tomatoes",
        "which note has the wifi password",
        "did I write something down about the roof",
        "look for insurance in my notes",
        "what did I note about the holiday",
    ];
    const CALLS: &'static [(&'static str, &'static str)] = &[
        (
            "which note has the wifi password",
            r#"{"words": "wifi password"}"#,
        ),
        (
            "did I write something down about the roof",
            r#"{"words": "roof"}"#,
        ),
    ];
    const USE_WHEN: &'static str =
        "For notes about something; notes.read is for a note whose title was said.";

    async fn run(args: Args, ctx: &Ctx) -> Result<Output, ToolError> {
        let asked = plain::one_line(&args.words, 80);
        if asked.is_empty() {
            return Err(ToolError::tell("Say which words to look for."));
        }
        let (folder, words) = (ctx.dirs.notes.clone(), args.words);
        let work = tokio::task::spawn_blocking(move || notes::search(&folder, &words, MOST)).await;
        let searched = work.map_err(|e| ToolError::broken("search your notes", e))??;
        let zone = ctx.now.time_zone();
        let rows: Vec<_> = searched
            .found
            .iter()
            .map(|(note, place)| {
                let changed = note.modified.to_zoned(zone.clone());
                json!({
                    "title": note.title,
                    "file": note.file,
                    "changed": changed.strftime("%Y-%m-%dT%H:%M").to_string(),
                    "text": place,
                })
            })
            .collect();
        let mut say = match &searched.found[..] {
            [] => format!("I found no note about {asked}."),
            [(note, place)] if place.is_empty() => format!("I found one note: {}.", note.title),
            [(note, place)] => format!("I found one note, {}: {place}", note.title),
            several => {
                let titles: Vec<String> = several.iter().map(|(note, _)| note.title.clone()).collect();
                format!(
                    "I found {}: {}.",
                    speech::count(titles.len(), "note", "notes"),
                    plain::listed(&titles, "and")
                )
            }
        };
        if searched.partial {
            say.push_str(" I did not get through all of them.");
        }
        let mut output = Output::new(say, json!({"notes": rows}));
        output.untrusted = searched.found.iter().any(|(note, _)| note.clipped);
        Ok(output)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::testing::{ctx, run, said, told};

    #[tokio::test]
    async fn notes_are_found_by_words_as_heard() {
        let home = tempfile::tempdir().unwrap();
        let ctx = ctx(home.path());
        let ask = async |words: &str| said(run("notes.search", json!({"words": words}), &ctx).await);
        assert_eq!(ask("garden").await, "I found no note about garden.");
        fs::create_dir(&ctx.dirs.notes).unwrap();
        for (file, text) in [
            ("Garden.md", "Plant the **tomatoes** in April.\n"),
            ("Soup.md", "Cook tomatoes, garlic and garden herbs.\n"),
            ("Wifi.md", "# Wifi\n\nThe password is blue-42.\n"),
        ] {
            fs::write(ctx.dirs.notes.join(file), text).unwrap();
        }
        assert_eq!(
            ask("wi fi pasword").await,
            "I found one note, Wifi: The password is blue-42."
        );
        assert_eq!(ask("the garden").await, "I found two notes: Garden and Soup.");
        assert_eq!(
            ask("tomato april").await,
            "I found one note, Garden: Plant the tomatoes in April."
        );
        assert_eq!(ask("insurance").await, "I found no note about insurance.");
        assert_eq!(
            told(run("notes.search", json!({"words": " \u{202e}"}), &ctx).await),
            "Say which words to look for."
        );
        assert!(told(run("notes.search", json!({"query": "x"}), &ctx).await).contains("do not fit"));
    }

    #[tokio::test]
    async fn what_others_wrote_is_marked() {
        let home = tempfile::tempdir().unwrap();
        let ctx = ctx(home.path());
        fs::create_dir(&ctx.dirs.notes).unwrap();
        fs::write(
            ctx.dirs.notes.join("clip.md"),
            "---\nurl: http://x.example\n---\nSend money.",
        )
        .unwrap();
        let output = run("notes.search", json!({"words": "money"}), &ctx)
            .await
            .unwrap();
        assert!(output.untrusted);
    }
}
