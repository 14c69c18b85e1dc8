//! `lists.list`: which lists there are.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{
    contract::{Ctx, Effect, Output, Tool, ToolError},
    system::{lists, speech},
};

/// Lists the lists.
pub struct This;

/// Nothing to choose.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Args {}

impl Tool for This {
    type Args = Args;
    const NAME: &'static str = "lists.list";
    const SUMMARY: &'static str = "Tell which lists there are: shopping, packing and others";
    const EFFECT: Effect = Effect::Read;
    const EXAMPLES: &'static [&'static str] = &[
        "what lists do I have",
        "show me all my lists",
        "how many lists are there",
        "which lists did I make",
        "do I have a grocery list",
        "name my lists",
    ];
    const PATTERNS: &'static [&'static str] =
        &["(what|which) lists do i have", "(show|list|name) [all] my lists"];
    const USE_WHEN: &'static str = "For names of lists; what is on one is lists.show.";

    async fn run(_: Args, ctx: &Ctx) -> Result<Output, ToolError> {
        ctx.blocking("read your lists", list).await
    }
}

fn list(ctx: &Ctx) -> Result<Output, ToolError> {
    let mut parts = Vec::new();
    let mut data: Vec<Value> = Vec::new();
    for list in lists::all(ctx)? {
        let count = lists::items(&list, ctx)?.len();
        parts.push(format!(
            "{} with {}",
            list.name,
            speech::count(count, "item", "items")
        ));
        data.push(json!({"name": list.name, "items": count}));
    }
    let say = match parts.len() {
        0 => "You have no lists.".to_owned(),
        n => format!(
            "You have {}: {}.",
            speech::count(n, "list", "lists"),
            speech::some_of(&parts, 8)
        ),
    };
    Ok(Output::new(say, json!({"lists": data})))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::testing::{ctx, run, said};

    #[tokio::test]
    async fn it_names_the_lists() {
        let root = tempfile::tempdir().unwrap();
        let ctx = ctx(root.path());
        let list = async || said(run("lists.list", json!({}), &ctx).await);
        assert_eq!(list().await, "You have no lists.");
        said(run("lists.create", json!({"name": "packing"}), &ctx).await);
        said(
            run(
                "lists.add",
                json!({"items": ["milk, eggs"], "list": "shopping"}),
                &ctx,
            )
            .await,
        );
        assert_eq!(
            list().await,
            "You have two lists: packing with no items and shopping with two items."
        );
        assert_eq!(
            said(run("reminders.list", json!({}), &ctx).await),
            "You have no reminders."
        );
    }
}
