//! `shortcuts.list`: which own programs the person can run by name.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::{
    contract::{Ctx, Effect, Output, Tool, ToolError},
    system::{plain, shortcuts, speech},
};

/// Most that are read out.
const SPOKEN: usize = 8;

/// Lists shortcuts.
pub struct This;

/// Nothing to say.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Args {}

impl Tool for This {
    type Args = Args;
    const NAME: &'static str = "shortcuts.list";
    const SUMMARY: &'static str = "List your shortcuts: own scripts that can be run by name";
    const EFFECT: Effect = Effect::Read;
    const EXAMPLES: &'static [&'static str] = &[
        "what shortcuts do I have",
        "list my shortcuts",
        "which scripts can you run",
        "show me my automations",
        "what are my own commands",
        "which short cuts are there",
        "name my macros",
        "what routines did I set up",
    ];
    const PATTERNS: &'static [&'static str] = &[
        "(what|which) shortcuts do i have",
        "(show|list) [me] [all] my shortcuts",
    ];
    const USE_WHEN: &'static str = "For the person's own scripts; assistant.help says what else can be done.";

    async fn run(_args: Args, ctx: &Ctx) -> Result<Output, ToolError> {
        let shelf = ctx
            .blocking("look at your shortcuts", |ctx| {
                shortcuts::list(&ctx.dirs.shortcuts)
            })
            .await?;
        let named: Vec<String> = shelf
            .shortcuts
            .iter()
            .map(|one| match one.about.is_empty() {
                true => one.name.clone(),
                false => format!("{}, {}", one.name, one.about),
            })
            .collect();
        let mut say = match &named[..] {
            [] => format!(
                "You have no shortcuts yet. Put a program into {}.",
                plain::one_line(&ctx.dirs.shortcuts.display().to_string(), 200)
            ),
            [one] => format!("You have one shortcut: {one}."),
            several => format!(
                "You have {}: {}.",
                speech::count(several.len(), "shortcut", "shortcuts"),
                several
                    .iter()
                    .take(SPOKEN)
                    .cloned()
                    .collect::<Vec<_>>()
                    .join("; ")
            ),
        };
        if let Some(why) = shelf.refused.first() {
            say.push(' ');
            say.push_str(why);
        }
        let rows: Vec<_> = shelf
            .shortcuts
            .iter()
            .map(|one| json!({"name": one.name, "about": one.about}))
            .collect();
        Ok(Output::new(
            say,
            json!({"shortcuts": rows, "refused": shelf.refused}),
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        system::shortcuts::tests::put,
        testing::{ctx, run, said},
    };

    #[tokio::test]
    async fn shortcuts_are_listed_with_what_they_do() {
        let home = tempfile::tempdir().unwrap();
        let ctx = ctx(home.path());
        let list = async || said(run("shortcuts.list", json!({}), &ctx).await);
        assert!(
            list()
                .await
                .starts_with("You have no shortcuts yet. Put a program into ")
        );
        put(
            &ctx.dirs.shortcuts,
            "water-plants.sh",
            "# tiro: Waters the plants",
        );
        assert_eq!(
            list().await,
            "You have one shortcut: water plants, Waters the plants."
        );
        put(&ctx.dirs.shortcuts, "backup", "");
        assert_eq!(
            list().await,
            "You have two shortcuts: backup; water plants, Waters the plants."
        );
    }
}
