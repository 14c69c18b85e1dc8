//! `files.search`: files by name, kind, age, folder and the words in them.

use std::{collections::HashSet, time::Duration};

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{
    contract::{Ctx, Effect, Output, TimeRole, Tool, ToolError},
    discover::words::{Normaliser, is_stop_word, split},
    system::{
        files::{self, Kind, find, text, words},
        plain, speech,
    },
};

/// Most files that are read out, and that are given as data.
const SPOKEN: usize = 4;
const MOST: usize = 20;
/// Files whose line with the words is looked up, and how much of each is read for it.
const QUOTED: usize = 5;
const QUOTE_BYTES: u64 = 256 << 10;

/// Searches files.
pub struct This;

/// What for.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Args {
    /// Words of the name or of what is in it
    words: Option<String>,
    /// Kind of file
    kind: Option<Kind>,
    /// When it was changed, as said
    when: Option<String>,
    /// Only in this folder
    folder: Option<String>,
}

impl Tool for This {
    type Args = Args;
    const NAME: &'static str = "files.search";
    const SUMMARY: &'static str = "Find files on this computer by name, kind, age or words in them";
    const EFFECT: Effect = Effect::Read;
    const UNTRUSTED: bool = true;
    /// The first search reads for a while, and one PDF of it may take its own.
    const TIMEOUT: Duration = Duration::from_secs(30);
    const TIMES: &'static [(&'static str, TimeRole)] = &[("when", TimeRole::Find)];
    const EXAMPLES: &'static [&'static str] = &[
        "find the file called budget",
        "where is my tax return",
        "search my documents for the rental contract",
        "look for pictures from last week",
        "which files mention the supplier",
        "do I have a pdf about the heating",
        "find the spreadsheet I changed yesterday",
        "show me all videos in downloads",
        "where did I save the invoice",
    ];
    const CALLS: &'static [(&'static str, &'static str)] = &[
        ("which files mention the supplier", r#"{"words": "supplier"}"#),
        (
            "look for pictures from last week",
            r#"{"kind": "picture", "when": "last week"}"#,
        ),
    ];
    const USE_WHEN: &'static str =
        "For files and documents; notes.search is for notes, files.recent for the newest.";

    async fn run(args: Args, ctx: &Ctx) -> Result<Output, ToolError> {
        ctx.blocking("search your files", move |ctx| search(&args, ctx))
            .await
    }
}

fn search(args: &Args, ctx: &Ctx) -> Result<Output, ToolError> {
    let mut asked = args
        .words
        .as_deref()
        .map(|words| plain::one_line(words, 100))
        .unwrap_or_default();
    if asked.is_empty() && args.kind.is_none() && args.when.is_none() && args.folder.is_none() {
        return Err(ToolError::tell(
            "What kind of file, or which words, shall I look for?",
        ));
    }
    let window = args
        .when
        .as_deref()
        .map(|when| files::changed(when, &ctx.now))
        .transpose()?;
    let mut no_folder = None;
    let folder = match &args.folder {
        Some(folder) => match find::meant(&ctx.dirs, folder, find::Want::Folder) {
            Ok(found) => Some(found.path()),
            // "The budget file": no folder is called so, and nothing else was named, so a file may be.
            Err(error @ ToolError::Tell(_)) if asked.is_empty() && !folder.contains(['/', '\\']) => {
                asked = plain::one_line(folder, 100);
                no_folder = Some(error);
                None
            }
            Err(error) => return Err(error),
        },
        None => None,
    };
    let all = files::list(&ctx.dirs)?;
    let fits = |item: &&files::Item| {
        let path = item.path();
        args.kind.map_or(!item.is_folder || !asked.is_empty(), |kind| {
            kind.takes(item.kind())
        }) && window.is_none_or(|(from, to)| from <= item.modified && item.modified < to)
            && folder
                .as_ref()
                .is_none_or(|folder| path != *folder && path.starts_with(folder))
    };
    let listing = files::Listing {
        items: all.items.iter().filter(fits).cloned().collect(),
        partial: all.partial,
    };
    let mut partial = listing.partial;
    let mut found: Vec<usize> = Vec::new();
    if asked.is_empty() {
        found.extend(0..listing.items.len());
    } else {
        let named = find::alike(listing.items.iter(), &asked);
        found.extend(named.into_iter().map(|(_, at)| at));
        // The index covers everything, whatever this search is narrowed to.
        match words::search(&ctx.dirs.cache, &all, &listing, &asked, &ctx.reach) {
            Ok(inside) => {
                partial |= inside.partial;
                found.extend(inside.items);
            }
            Err(error) => {
                tracing::warn!(%error, "only names of files were searched");
                partial = true;
            }
        }
        let mut seen = HashSet::new();
        found.retain(|at| seen.insert(*at));
    }
    if found.is_empty()
        && let Some(error) = no_folder
    {
        return Err(error);
    }
    let count = found.len();
    found.truncate(MOST);
    let rows: Vec<Value> = found
        .iter()
        .enumerate()
        .map(|(place, &at)| {
            let item = &listing.items[at];
            let mut row = item.data(&ctx.now);
            if place < QUOTED
                && !asked.is_empty()
                && let Some(line) = line_with(item, &asked, ctx)
            {
                row["line"] = json!(line);
            }
            row
        })
        .collect();
    let kind = args.kind.map_or("files", Kind::words);
    let about = if asked.is_empty() {
        String::new()
    } else {
        format!(" for {asked}")
    };
    let names: Vec<String> = found
        .iter()
        .map(|&at| files::spoken(&listing.items[at]))
        .collect();
    let mut say = match (count, &names[..]) {
        (0, _) => format!("I found no {kind}{about}."),
        (1, [one]) => match rows[0]["line"].as_str() {
            Some(line) => format!("I found {one}: {}", speech::sentence(line)),
            None => format!("I found {one}."),
        },
        (count, _) => {
            let kind = if count == 1 {
                kind.trim_end_matches('s')
            } else {
                kind
            };
            let shown = speech::some_of(&names[..names.len().min(SPOKEN)], SPOKEN);
            let more = count - names.len().min(SPOKEN);
            let more = if more > 0 {
                format!(", and {more} more")
            } else {
                String::new()
            };
            format!("I found {count} {kind}: {shown}{more}.")
        }
    };
    if partial {
        say.push_str(" I did not get through all of them.");
    }
    Ok(Output::new(
        say,
        json!({"found": count, "files": rows, "complete": !partial}),
    ))
}

/// The first line that has one of the words.
fn line_with(item: &files::Item, asked: &str, ctx: &Ctx) -> Option<String> {
    let readable = matches!(
        item.kind(),
        Kind::Document | Kind::Spreadsheet | Kind::Other | Kind::Pdf
    );
    let text = readable
        .then(|| text::read(item, QUOTE_BYTES, &ctx.reach).ok())
        .flatten()?
        .text;
    let normal = Normaliser::new();
    let wanted: Vec<String> = split(asked)
        .into_iter()
        .filter(|word| word.len() > 2 && !is_stop_word(word))
        // "suppliers" stands in a line with "supplier".
        .map(|word| {
            Some(normal.stem(&word))
                .filter(|stem| word.starts_with(stem.as_str()))
                .unwrap_or(word)
        })
        .collect();
    let hits = |line: &str| {
        let line = line.to_lowercase();
        wanted.iter().filter(|word| line.contains(word.as_str())).count()
    };
    let mut best: Option<(usize, &str)> = None;
    for line in text.lines().take(20_000) {
        let hits = hits(line);
        if hits > best.map_or(0, |best| best.0) {
            best = Some((hits, line));
        }
    }
    best.map(|(_, line)| plain::one_line(line, 160))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::testing::{ctx, run, said, told};

    #[tokio::test]
    async fn files_are_found_by_name_kind_age_and_words() {
        let home = tempfile::tempdir().unwrap();
        let mut ctx = ctx(home.path());
        ctx.now = jiff::Zoned::now();
        let root = home.path().join("files");
        fs::create_dir_all(root.join("Hamburg")).unwrap();
        for (file, text) in [
            (
                "report.txt",
                "Project report\n\nStatus: on time. Risk: the supplier is late with part 7.\n",
            ),
            ("budget.csv", "item,amount\ntravel,36000\n"),
            (
                "Hamburg/itinerary.txt",
                "08:04 departure, platform 7\n11:40 arrival\n",
            ),
            ("Hamburg/harbour.jpg", "\u{0}"),
            (".secret.txt", "the supplier"),
            ("passwords.txt", "the supplier"),
        ] {
            fs::write(root.join(file), text).unwrap();
        }
        let old = std::time::SystemTime::now() - Duration::from_secs(40 * 86_400);
        fs::File::options()
            .write(true)
            .open(root.join("budget.csv"))
            .unwrap()
            .set_modified(old)
            .unwrap();
        let ask = async |args: Value| said(run("files.search", args, &ctx).await);
        for (args, expect) in [
            (json!({"words": "budget"}), "I found budget.csv in files"),
            (
                json!({"words": "the itinery"}),
                "I found itinerary.txt in files/Hamburg",
            ),
            (
                json!({"words": "suppliers"}),
                "I found report.txt in files: Status: on time. Risk: the supplier is late",
            ),
            // The folder's own name is in it, too.
            (
                json!({"words": "hamburg itinerary"}),
                "I found 2 files: itinerary.txt in files/Hamburg and",
            ),
            (
                json!({"words": "the itinery for hamberg", "kind": "document"}),
                "I found itinerary.txt in files/Hamburg",
            ),
            (
                json!({"words": "hamburg budget", "kind": "spreadsheet"}),
                "I found no spreadsheets for hamburg budget.",
            ),
            (
                json!({"words": "departure platform"}),
                "I found itinerary.txt in files/Hamburg: 08:04 departure",
            ),
            (json!({"words": "suplier"}), "I found report.txt in files"),
            (json!({"words": "unicorn"}), "I found no files for unicorn."),
            (
                json!({"kind": "picture"}),
                "I found harbour.jpg in files/Hamburg.",
            ),
            (json!({"kind": "spreadsheet"}), "I found budget.csv in files."),
            (
                json!({"kind": "document", "when": "today"}),
                "I found 2 documents: ",
            ),
            (
                json!({"when": "this week", "words": "budget"}),
                "I found no files for budget.",
            ),
            (
                json!({"folder": "hamburg", "kind": "document"}),
                "I found itinerary.txt in files/Hamburg.",
            ),
            // No folder is called so, but a file is.
            (json!({"folder": "Budget"}), "I found budget.csv in files"),
            (json!({"words": "secret"}), "I found no files for secret."),
        ] {
            let text = ask(args.clone()).await;
            assert!(text.starts_with(expect), "{args}: {text}");
        }
        // What is changed or gone is found as it is now.
        fs::write(root.join("report.txt"), "All about unicorns.\n").unwrap();
        fs::remove_file(root.join("Hamburg/itinerary.txt")).unwrap();
        assert!(
            ask(json!({"words": "unicorn"}))
                .await
                .starts_with("I found report.txt")
        );
        assert_eq!(
            ask(json!({"words": "departure"})).await,
            "I found no files for departure."
        );
        assert!(crate::find("files.search").unwrap().untrusted);
    }

    #[tokio::test]
    async fn what_cannot_be_searched_is_told() {
        let home = tempfile::tempdir().unwrap();
        let ctx = ctx(home.path());
        let ask = async |args: Value| told(run("files.search", args, &ctx).await);
        assert!(ask(json!({"words": "x"})).await.contains("files.dirs"));
        fs::create_dir(home.path().join("files")).unwrap();
        assert!(ask(json!({})).await.contains("which words"));
        assert!(
            ask(json!({"when": "purple"}))
                .await
                .contains("I do not understand the time")
        );
        assert!(
            ask(json!({"folder": "nowhere"}))
                .await
                .contains("no folder called")
        );
        assert!(ask(json!({"folder": "../.."})).await.contains("outside"));
        assert!(ask(json!({"kind": "unicorn"})).await.contains("do not fit"));
    }
}
