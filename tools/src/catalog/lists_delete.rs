//! `lists.delete`: a whole list, with all that is on it.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::{
    contract::{Ctx, Effect, Output, Tool, ToolError},
    system::{known::Kind, lists, speech, todos},
};

/// Deletes lists.
pub struct This;

/// Which.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Args {
    /// Which list
    list: String,
}

impl Tool for This {
    type Args = Args;
    const NAME: &'static str = "lists.delete";
    const SUMMARY: &'static str = "Delete a whole list with everything on it";
    const EFFECT: Effect = Effect::Write;
    const CONFIRM: bool = true;
    const NAMED: &'static [(&'static str, Kind)] = &[("list", Kind::List)];
    const EXAMPLES: &'static [&'static str] = &[
        "delete the packing list",
        "get rid of my old music list",
        "throw the party list away",
        "trash the current list",
        "I don't need the christmas list any more",
        "erase the whole shopping list",
    ];
    const CALLS: &'static [(&'static str, &'static str)] =
        &[("get rid of my old music list", r#"{"list": "music"}"#)];
    const USE_WHEN: &'static str = "For the list itself; single things on it go with lists.remove.";

    fn preview(args: &Args, ctx: &Ctx) -> Result<String, ToolError> {
        let all = lists::all(ctx)?;
        let list = lists::choose(Some(&args.list), &all)?;
        let count = lists::items(list, ctx)?.len();
        Ok(format!(
            "Delete the {} list with {}.",
            list.name,
            speech::count(count, "item", "items")
        ))
    }

    async fn run(args: Args, ctx: &Ctx) -> Result<Output, ToolError> {
        ctx.blocking("delete the list", move |ctx| {
            let all = lists::all(ctx)?;
            let list = lists::choose(Some(&args.list), &all)?;
            let count = lists::items(list, ctx)?.len();
            todos::remove_list(&ctx.step, list)?;
            Ok(Output::new(
                format!(
                    "I deleted the {} list with {}.",
                    list.name,
                    speech::count(count, "item", "items")
                ),
                json!({"list": list.name, "items": count}),
            ))
        })
        .await
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::testing::{ctx, files, run, said, told};

    #[tokio::test]
    async fn a_list_goes_and_comes_back_as_a_whole() {
        let root = tempfile::tempdir().unwrap();
        let ctx = ctx(root.path());
        let delete = async |list: &str| run("lists.delete", json!({"list": list}), &ctx).await;
        assert!(told(delete("shopping").await).contains("no list yet"));
        let items: Vec<String> = (0..20).map(|n| format!("thing {n}")).collect();
        said(run("lists.add", json!({"items": items, "list": "shopping"}), &ctx).await);
        said(run("lists.create", json!({"name": "packing"}), &ctx).await);
        let before = files(&ctx.dirs.lists);
        assert!(told(delete("garden").await).contains("There is no list called"));
        assert!(told(delete("").await).starts_with("Which list"));
        assert_eq!(
            said(delete("shoping list").await),
            "I deleted the shopping list with 20 items."
        );
        assert!(!ctx.dirs.lists.join("shopping").exists());
        ctx.step.journal().undo(None).unwrap();
        assert_eq!(files(&ctx.dirs.lists), before);
    }
}
