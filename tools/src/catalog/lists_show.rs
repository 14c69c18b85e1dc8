//! `lists.show`: what is on a list.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::{
    contract::{Ctx, Effect, Output, Tool, ToolError},
    system::{known::Kind, lists, plain, speech},
};

/// More are not listened to in one go.
const MAX_SPOKEN: usize = 12;
/// More are not shown to the model.
const MAX_SHOWN: usize = 50;

/// Reads a list out.
pub struct This;

/// Which.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Args {
    /// Which list; empty for the only one
    list: Option<String>,
}

impl Tool for This {
    type Args = Args;
    const NAME: &'static str = "lists.show";
    const SUMMARY: &'static str = "Read out what is on a list";
    const EFFECT: Effect = Effect::Read;
    const NAMED: &'static [(&'static str, Kind)] = &[("list", Kind::List)];
    const EXAMPLES: &'static [&'static str] = &[
        "what is on my shopping list",
        "read me the packing list",
        "show the contents of the grocery list",
        "what do I need to buy",
        "is milk on the shopping list",
        "tell me what is left on the list",
    ];
    const CALLS: &'static [(&'static str, &'static str)] = &[
        ("read me the packing list", r#"{"list": "packing"}"#),
        ("what is left on the list", "{}"),
    ];
    const PATTERNS: &'static [&'static str] = &[
        "what is on (my|the) {list:shopping|grocery|groceries|packing|wish} list",
        "(read|show) [me] (my|the) {list:shopping|grocery|groceries|packing|wish} list",
    ];
    const USE_WHEN: &'static str = "For what to buy or pack; things to do at a time are in reminders.list.";

    async fn run(args: Args, ctx: &Ctx) -> Result<Output, ToolError> {
        ctx.blocking("read the list", move |ctx| show(&args, ctx)).await
    }
}

fn show(args: &Args, ctx: &Ctx) -> Result<Output, ToolError> {
    let all = lists::all(ctx)?;
    let list = lists::choose(args.list.as_deref(), &all)?;
    let items: Vec<String> = lists::items(list, ctx)?
        .iter()
        .map(|item| plain::one_line(&item.title, 80))
        .collect();
    let say = match items.len() {
        0 => format!("The {} list is empty.", list.name),
        n => format!(
            "There {} {} on the {} list: {}.",
            if n == 1 { "is" } else { "are" },
            speech::count(n, "item", "items"),
            list.name,
            speech::some_of(&items, MAX_SPOKEN)
        ),
    };
    let shown = &items[..items.len().min(MAX_SHOWN)];
    Ok(Output::new(
        say,
        json!({"list": list.name, "found": items.len(), "items": shown}),
    ))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::testing::{ctx, run, said, told};

    #[tokio::test]
    async fn it_reads_the_list_that_is_meant() {
        let root = tempfile::tempdir().unwrap();
        let ctx = ctx(root.path());
        let show = async |list: &str| run("lists.show", json!({"list": list}), &ctx).await;
        assert!(told(show("").await).starts_with("There is no list yet."));
        said(run("lists.create", json!({"name": "packing"}), &ctx).await);
        assert_eq!(said(show("").await), "The packing list is empty.");
        said(run("lists.add", json!({"items": ["milk"], "list": "shopping"}), &ctx).await);
        for name in ["shopping", "my shopping list", "the shoping list"] {
            assert_eq!(
                said(show(name).await),
                "There is one item on the shopping list: milk."
            );
        }
        assert_eq!(told(show("").await), "Which list: packing or shopping?");
        assert!(
            told(show("garden").await)
                .contains("There is no list called \"garden\". There is packing and shopping.")
        );
    }
}
