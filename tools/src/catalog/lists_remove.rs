//! `lists.remove`: things off a list.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::{
    contract::{Ctx, Effect, Output, Tool, ToolError},
    system::{calendar::Todo, known::Kind, lists, plain, speech, todos, vdir::Collection, which},
};

/// Takes things off lists.
pub struct This;

/// What, and off which.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Args {
    /// What to take off, each thing one entry; or "all"
    items: Vec<String>,
    /// Which list; empty for the one it is on
    list: Option<String>,
}

impl Tool for This {
    type Args = Args;
    const NAME: &'static str = "lists.remove";
    const SUMMARY: &'static str = "Take things off a list, because they are bought or not needed";
    const EFFECT: Effect = Effect::Write;
    const NAMED: &'static [(&'static str, Kind)] = &[("items", Kind::Item), ("list", Kind::List)];
    const EXAMPLES: &'static [&'static str] = &[
        "take milk off the shopping list",
        "remove eggs and bread from my grocery list",
        "I bought the coffee",
        "cross the tent off the packing list",
        "delete the last item on the list",
        "clear the shopping list",
    ];
    const CALLS: &'static [(&'static str, &'static str)] = &[
        (
            "remove eggs and bread from my grocery list",
            r#"{"items": ["eggs", "bread"], "list": "grocery"}"#,
        ),
        ("cross the tent off", r#"{"items": ["tent"]}"#),
    ];
    const USE_WHEN: &'static str = "For things on a list; a whole list goes with lists.delete.";

    fn preview(args: &Args, ctx: &Ctx) -> Result<String, ToolError> {
        let all = lists::all(ctx)?;
        let (list, items) = resolve(args, &all, ctx)?;
        Ok(format!("Take {} off the {} list.", named(&items), list.name))
    }

    async fn run(args: Args, ctx: &Ctx) -> Result<Output, ToolError> {
        ctx.blocking("take it off the list", move |ctx| remove(&args, ctx))
            .await
    }
}

fn remove(args: &Args, ctx: &Ctx) -> Result<Output, ToolError> {
    let all = lists::all(ctx)?;
    let (list, items) = resolve(args, &all, ctx)?;
    for item in &items {
        todos::remove(&ctx.step, &item.path, &item.uid)?;
    }
    let titles: Vec<String> = items.iter().map(|i| plain::one_line(&i.title, 80)).collect();
    Ok(Output::new(
        format!("I took {} off the {} list.", named(&items), list.name),
        json!({"list": list.name, "removed": titles}),
    ))
}

fn resolve<'a>(
    args: &Args,
    all: &'a [Collection],
    ctx: &Ctx,
) -> Result<(&'a Collection, Vec<Todo>), ToolError> {
    let wanted = lists::split(&args.items);
    let Some(first) = wanted.first() else {
        return Err(ToolError::tell("What shall I take off the list?"));
    };
    let named = args.list.as_deref().filter(|l| !lists::name(l).is_empty());
    let list = match named {
        Some(_) => lists::choose(named, all)?,
        None => holding(first, all, ctx)?,
    };
    let items = lists::items(list, ctx)?;
    if items.is_empty() {
        return Err(ToolError::tell(format!("The {} list is empty.", list.name)));
    }
    if which::is_every(first, lists::ITEM) {
        return Ok((list, items));
    }
    let mut chosen: Vec<Todo> = Vec::new();
    for said in &wanted {
        let item = which::one(
            said,
            lists::ITEM,
            &items,
            |i| &i.title,
            |i| plain::one_line(&i.title, 80),
        )?;
        if !chosen.contains(item) {
            chosen.push(item.clone());
        }
    }
    Ok((list, chosen))
}

/// The one list that holds the thing, else the one that is meant without a name.
fn holding<'a>(item: &str, all: &'a [Collection], ctx: &Ctx) -> Result<&'a Collection, ToolError> {
    let mut holding = Vec::new();
    for list in all {
        if lists::items(list, ctx)?
            .iter()
            .any(|i| lists::same(&i.title, item))
        {
            holding.push(list);
        }
    }
    match holding[..] {
        [one] => Ok(one),
        _ => lists::choose(None, all),
    }
}

fn named(items: &[Todo]) -> String {
    let names: Vec<String> = items.iter().map(|i| plain::one_line(&i.title, 80)).collect();
    speech::some_of(&names, 8)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::testing::{ctx, files, run, said, told};

    #[tokio::test]
    async fn what_is_heard_goes_and_undo_brings_all_of_it_back() {
        let root = tempfile::tempdir().unwrap();
        let ctx = ctx(root.path());
        let remove = async |items: &[&str], list: &str| {
            run("lists.remove", json!({"items": items, "list": list}), &ctx).await
        };
        assert!(told(remove(&["milk"], "").await).contains("no list yet"));
        let add = json!({"items": ["milk, oat milk, eggs, bread"], "list": "shopping"});
        said(run("lists.add", add, &ctx).await);
        said(run("lists.add", json!({"items": ["tent"], "list": "packing"}), &ctx).await);
        let before = files(&ctx.dirs.lists);
        for (items, list, expect) in [
            (&["milk"][..], "shopping", "I took milk off the shopping list."),
            (
                &["egg", "the bred"],
                "shopping list",
                "I took eggs and bread off the shopping list.",
            ),
            (&["tent"], "", "I took tent off the packing list."),
            (
                &["the last item"],
                "shopping",
                "I took oat milk off the shopping list.",
            ),
            (
                &["everything"],
                "shopping",
                "I took bread, eggs, milk and oat milk off the shopping list.",
            ),
        ] {
            assert_eq!(said(remove(items, list).await), expect);
            assert_ne!(files(&ctx.dirs.lists), before);
            ctx.step.journal().undo(None).unwrap();
            assert_eq!(files(&ctx.dirs.lists), before);
        }
        assert!(told(remove(&["purple"], "shopping").await).contains("There is no item called"));
        assert!(told(remove(&["milk"], "garden").await).contains("There is no list called"));
        assert!(told(remove(&[], "shopping").await).contains("What shall I take off"));
        assert!(told(remove(&["purple"], "").await).starts_with("Which list"));
        assert_eq!(files(&ctx.dirs.lists), before);
    }
}
