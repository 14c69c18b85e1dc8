//! `lists.create`: a new list.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::{
    contract::{Ctx, Effect, Output, Tool, ToolError},
    system::{lists, todos},
};

/// Makes lists.
pub struct This;

/// Its name.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Args {
    /// What to call it: "packing"
    name: String,
}

impl Tool for This {
    type Args = Args;
    const NAME: &'static str = "lists.create";
    const SUMMARY: &'static str = "Make a new list, for shopping, packing or anything else";
    const EFFECT: Effect = Effect::Write;
    const EXAMPLES: &'static [&'static str] = &[
        "make a packing list",
        "create a new list called groceries",
        "start a list for the party",
        "I need a new shopping list",
        "begin a wish list",
        "help me start my kitchen list",
    ];
    const CALLS: &'static [(&'static str, &'static str)] =
        &[("make a packing list", r#"{"name": "packing"}"#)];
    const USE_WHEN: &'static str =
        "For a list without anything on it yet; lists.add makes the list it needs.";

    fn preview(args: &Args, ctx: &Ctx) -> Result<String, ToolError> {
        Ok(format!("Make a list called {}.", name(args, ctx)?))
    }

    async fn run(args: Args, ctx: &Ctx) -> Result<Output, ToolError> {
        ctx.blocking("make the list", move |ctx| {
            let name = name(&args, ctx)?;
            todos::make_list(&ctx.step, &ctx.dirs.lists, &name)?;
            Ok(Output::new(
                format!("I made a list called {name}."),
                json!({"list": name}),
            ))
        })
        .await
    }
}

fn name(args: &Args, ctx: &Ctx) -> Result<String, ToolError> {
    let name = lists::name(&args.name);
    if name.is_empty() {
        return Err(ToolError::tell("What shall the list be called?"));
    }
    match lists::all(ctx)?
        .iter()
        .find(|l| l.name.eq_ignore_ascii_case(&name))
    {
        Some(there) => Err(ToolError::tell(format!(
            "There is a list called {} already. What shall I put on it?",
            there.name
        ))),
        None => Ok(name),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::{
        system::lists,
        testing::{ctx, run, said, told},
    };

    #[tokio::test]
    async fn it_makes_one_list_of_a_name_and_undo_takes_it_back() {
        let root = tempfile::tempdir().unwrap();
        let ctx = ctx(root.path());
        let create = async |name: &str| run("lists.create", json!({"name": name}), &ctx).await;
        assert_eq!(
            said(create("my packing list").await),
            "I made a list called packing."
        );
        assert!(told(create("Packing").await).contains("called packing already"));
        assert_eq!(told(create("a list").await), "What shall the list be called?");
        assert_eq!(said(create("../../etc").await), "I made a list called ../../etc.");
        assert!(
            ctx.dirs.lists.join("etc/displayname").exists(),
            "a name is no path"
        );
        ctx.step.journal().undo(None).unwrap();
        let names: Vec<String> = lists::all(&ctx).unwrap().into_iter().map(|l| l.name).collect();
        assert_eq!(names, ["packing"]);
        assert_eq!(said(create("etc").await), "I made a list called etc.");
    }
}
