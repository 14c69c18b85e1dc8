//! `calendar.list_calendars`: which calendars there are.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{
    contract::{Ctx, Effect, Output, Tool, ToolError},
    system::{calendar, plain, speech, vdir},
};

/// More are not listened to.
const MAX_SPOKEN: usize = 10;
/// More are not shown to the model.
const MAX_SHOWN: usize = 50;

/// Lists calendars.
pub struct This;

/// Nothing to say.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Args {}

impl Tool for This {
    type Args = Args;
    const NAME: &'static str = "calendar.list_calendars";
    const SUMMARY: &'static str = "List the calendars with colour, number of entries and whether read-only";
    const EFFECT: Effect = Effect::Read;
    const EXAMPLES: &'static [&'static str] = &[
        "which calendars do I have",
        "list my calendars",
        "what are the names of my calendars",
        "how many calendars are there",
        "which of my calendars can I write to",
        "is there a work calendar",
    ];
    const PATTERNS: &'static [&'static str] = &[
        "(what|which) calendars do i have",
        "(list|show) [me] [all] my calendars",
    ];
    const USE_WHEN: &'static str = "For the calendars themselves; what is in them is calendar.query.";

    async fn run(_: Args, ctx: &Ctx) -> Result<Output, ToolError> {
        let root = ctx.dirs.calendars.clone();
        let what = "read your calendars";
        let all = tokio::task::spawn_blocking(move || -> Result<Vec<Value>, ToolError> {
            let collections = vdir::collections(&root).map_err(|e| e.tool(what))?;
            Ok(collections
                .iter()
                .map(|collection| {
                    let mut row = json!({"name": collection.name, "entries": calendar::count(collection)});
                    if let Some(color) = &collection.color {
                        row["color"] = json!(color);
                    }
                    if collection.is_read_only() {
                        row["read_only"] = json!(true);
                    }
                    row
                })
                .collect())
        })
        .await
        .map_err(|e| ToolError::broken(what, e))??;
        let names: Vec<String> = all.iter().map(spoken).collect();
        let say = match names.len() {
            0 => "There is no calendar yet. The first event makes one.".to_owned(),
            n => format!(
                "You have {}: {}.",
                speech::count(n, "calendar", "calendars"),
                speech::some_of(&names, MAX_SPOKEN)
            ),
        };
        let shown: Vec<&Value> = all.iter().take(MAX_SHOWN).collect();
        Ok(Output::new(say, json!({"found": all.len(), "calendars": shown})))
    }
}

/// "Work with 12 entries, read-only".
fn spoken(row: &Value) -> String {
    let entries = usize::try_from(row["entries"].as_u64().unwrap_or(0)).unwrap_or(0);
    let read_only = if row["read_only"] == true {
        ", which is read-only"
    } else {
        ""
    };
    format!(
        "{} with {}{read_only}",
        plain::one_line(row["name"].as_str().unwrap_or_default(), 60),
        speech::count(entries, "entry", "entries")
    )
}

#[cfg(test)]
mod tests {
    use std::fs;

    use serde_json::json;

    use crate::testing::{ReadOnly, ctx, run, said, told, unprivileged};

    #[tokio::test]
    async fn calendars_are_named_with_colours_and_counts() {
        let root = tempfile::tempdir().unwrap();
        let ctx = ctx(root.path());
        let list = async || run("calendar.list_calendars", json!({}), &ctx).await;
        assert_eq!(
            said(list().await),
            "There is no calendar yet. The first event makes one."
        );
        for folder in ["work", "home"] {
            fs::create_dir_all(ctx.dirs.calendars.join(folder)).unwrap();
        }
        fs::write(ctx.dirs.calendars.join("home/displayname"), "Family").unwrap();
        fs::write(ctx.dirs.calendars.join("home/color"), "#00ff7f").unwrap();
        let event =
            "BEGIN:VCALENDAR\nBEGIN:VEVENT\nUID:1\nDTSTART:20261201T120000Z\nEND:VEVENT\nEND:VCALENDAR\n";
        fs::write(ctx.dirs.calendars.join("home/1.ics"), event).unwrap();
        fs::write(ctx.dirs.calendars.join("home/2.ics"), "junk").unwrap();
        let output = list().await.unwrap();
        assert_eq!(
            output.say,
            "You have two calendars: Family with one entry and work with no entries."
        );
        assert_eq!(
            output.data["calendars"][0],
            json!({"name": "Family", "entries": 1, "color": "#00ff7f"})
        );
        assert!(told(run("calendar.list_calendars", json!({"x": 1}), &ctx).await).contains("x"));
    }

    #[test]
    fn a_folder_that_takes_no_writes_is_said_to_be_read_only() {
        let root = tempfile::tempdir().unwrap();
        let ctx = ctx(root.path());
        let folder = ctx.dirs.calendars.join("holidays");
        fs::create_dir_all(&folder).unwrap();
        let _guard = ReadOnly::of(&folder);
        let output = unprivileged(async || run("calendar.list_calendars", json!({}), &ctx).await);
        let say = said(output);
        assert!(say.contains("which is read-only"), "{say}");
    }
}
