//! `lists.add`: things onto a list, several in one sentence.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::{
    contract::{Ctx, Effect, Output, Tool, ToolError},
    system::{
        lists, plain, speech,
        todos::{self, NewTodo},
        vdir::{self, Collection},
    },
};

/// Puts things on lists.
pub struct This;

/// What, and on which.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Args {
    /// What to add, each thing one entry
    items: Vec<String>,
    /// Which list; shopping if none was named
    list: Option<String>,
}

/// The list that is meant when none is named and none is there.
const FIRST: &str = "shopping";
/// More in one go is a mistake of who fills the arguments.
const MAX_AT_ONCE: usize = 50;

impl Tool for This {
    type Args = Args;
    const NAME: &'static str = "lists.add";
    const SUMMARY: &'static str = "Put one or more things on a list, such as groceries to buy";
    const EFFECT: Effect = Effect::Write;
    const EXAMPLES: &'static [&'static str] = &[
        "add milk, eggs and bread to the shopping list",
        "put sunscreen on my packing list",
        "we need more coffee",
        "add bananas to my grocery list",
        "I have to buy detergent",
        "put batteries and tape on the hardware store list",
    ];
    const CALLS: &'static [(&'static str, &'static str)] = &[
        (
            "add milk, eggs and bread to the shopping list",
            r#"{"items": ["milk", "eggs", "bread"], "list": "shopping"}"#,
        ),
        ("I have to buy detergent", r#"{"items": ["detergent"]}"#),
    ];
    const USE_WHEN: &'static str = "For things to buy or pack; a thing to do is reminders.create.";
    const LIMITS: &'static str = "Makes the list when there is none of that name.";

    fn preview(args: &Args, ctx: &Ctx) -> Result<String, ToolError> {
        let (items, target) = resolve(args, ctx)?;
        Ok(format!(
            "Put {} on the {} list.",
            plain::listed(&items, "and"),
            target.name()
        ))
    }

    async fn run(args: Args, ctx: &Ctx) -> Result<Output, ToolError> {
        ctx.blocking("add to the list", move |ctx| add(&args, ctx)).await
    }
}

/// Where things go.
enum Target {
    There(Collection),
    New(String),
}

impl Target {
    fn name(&self) -> &str {
        match self {
            Target::There(list) => &list.name,
            Target::New(name) => name,
        }
    }
}

fn add(args: &Args, ctx: &Ctx) -> Result<Output, ToolError> {
    let (items, target) = resolve(args, ctx)?;
    let new = matches!(target, Target::New(_));
    let list = match target {
        Target::There(list) => list,
        Target::New(name) => todos::make_list(&ctx.step, &ctx.dirs.lists, &name)?,
    };
    let mut there: Vec<String> = lists::items(&list, ctx)?.into_iter().map(|t| t.title).collect();
    if there.len() + items.len() > lists::MAX_ITEMS {
        return Err(ToolError::tell(format!(
            "A list holds at most {} things.",
            lists::MAX_ITEMS
        )));
    }
    let (mut added, mut known) = (Vec::new(), Vec::new());
    for item in items {
        if there.iter().any(|t| lists::same(t, &item)) {
            known.push(item);
            continue;
        }
        let todo = NewTodo {
            title: item.clone(),
            ..NewTodo::default()
        };
        todos::create(&ctx.step, &list, &todo, &ctx.now)?;
        there.push(item.clone());
        added.push(item);
    }
    let mut say = Vec::new();
    if !added.is_empty() {
        let made = if new { "a new list called" } else { "the" };
        let suffix = if new { "" } else { " list" };
        say.push(format!(
            "I put {} on {made} {}{suffix}.",
            speech::some_of(&added, 8),
            list.name
        ));
    }
    if !known.is_empty() {
        let verb = if known.len() == 1 { "is" } else { "are" };
        let names = speech::sentence(&speech::some_of(&known, 8));
        say.push(format!("{names} {verb} on the {} list already.", list.name));
    }
    Ok(Output::new(
        say.join(" "),
        json!({"list": list.name, "added": added, "already": known}),
    ))
}

fn resolve(args: &Args, ctx: &Ctx) -> Result<(Vec<String>, Target), ToolError> {
    let items = lists::split(&args.items);
    if items.is_empty() {
        return Err(ToolError::tell("What shall I put on the list?"));
    }
    if items.len() > MAX_AT_ONCE {
        return Err(ToolError::tell(format!(
            "That is more than {MAX_AT_ONCE} things at once. Say them in parts."
        )));
    }
    let wanted = lists::name(args.list.as_deref().unwrap_or_default());
    let all = lists::all(ctx)?;
    let target = match (wanted.is_empty(), &all[..]) {
        (true, []) => Target::New(FIRST.to_owned()),
        (true, [only]) => Target::There(only.clone()),
        // Of several lists, "we need milk" means the one for shopping.
        (true, _) => match all.iter().find(|l| l.name.to_lowercase().contains(FIRST)) {
            Some(list) => Target::There(list.clone()),
            None => Target::There(lists::choose(None, &all)?.clone()),
        },
        (false, _) => match vdir::choose(&wanted, "list", &all) {
            Ok(list) => Target::There(list.clone()),
            Err(which) if which.starts_with("Which") => return Err(ToolError::tell(which)),
            Err(_) => Target::New(wanted),
        },
    };
    Ok((items, target))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::testing::{ctx, run, said, told};

    #[tokio::test]
    async fn several_things_are_several_entries_and_one_step() {
        let root = tempfile::tempdir().unwrap();
        let ctx = ctx(root.path());
        let add = async |items: &[&str], list: Option<&str>| {
            run("lists.add", json!({"items": items, "list": list}), &ctx).await
        };
        let show = async || said(run("lists.show", json!({"list": "shopping"}), &ctx).await);
        assert_eq!(
            said(add(&["milk, eggs and bread"], None).await),
            "I put milk, eggs and bread on a new list called shopping."
        );
        assert_eq!(
            show().await,
            "There are three items on the shopping list: bread, eggs and milk."
        );
        assert_eq!(
            said(add(&["Milk", "an egg", "tea"], Some("the shopping list")).await),
            "I put tea on the shopping list. Milk and egg are on the shopping list already."
        );
        assert_eq!(
            said(add(&["tea"], Some("shoping")).await),
            "Tea is on the shopping list already."
        );
        ctx.step.journal().undo(None).unwrap();
        assert!(!show().await.contains("tea"));
        ctx.step.journal().undo(None).unwrap();
        assert!(told(run("lists.show", json!({"list": "shopping"}), &ctx).await).contains("no list yet"));
    }

    #[tokio::test]
    async fn what_is_missing_or_unclear_is_asked_about() {
        let root = tempfile::tempdir().unwrap();
        let ctx = ctx(root.path());
        for (args, expect) in [
            (json!({"items": []}), "What shall I put on the list?"),
            (json!({"items": [" and "]}), "What shall I put on the list?"),
            (json!({"list": "shopping"}), "items"),
            (json!({"items": vec!["x"; 51]}), "more than 50 things"),
        ] {
            let text = told(run("lists.add", args.clone(), &ctx).await);
            assert!(text.contains(expect), "{args}: {text}");
        }
        assert!(!ctx.dirs.lists.exists());
        for name in ["party food", "party music"] {
            said(run("lists.create", json!({"name": name}), &ctx).await);
        }
        let party = json!({"items": ["cake"], "list": "party"});
        assert_eq!(
            told(run("lists.add", party, &ctx).await),
            "Which list: party food or party music?"
        );
        assert_eq!(
            told(run("lists.add", json!({"items": ["cake"]}), &ctx).await),
            "Which list: party food or party music?"
        );
    }
}
