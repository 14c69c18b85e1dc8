//! `reminders.delete`: takes a reminder away, done or not.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::{
    contract::{Ctx, Effect, Output, Tool, ToolError},
    system::{calendar::Todo, known::Kind, plain, speech, todos, which},
};

/// Deletes reminders.
pub struct This;

/// Which.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Args {
    /// Which reminder, or "all"
    title: String,
    /// Only on this list
    list: Option<String>,
}

impl Tool for This {
    type Args = Args;
    const NAME: &'static str = "reminders.delete";
    const SUMMARY: &'static str = "Delete a reminder or to-do without doing it";
    const EFFECT: Effect = Effect::Write;
    const CONFIRM: bool = true;
    const NAMED: &'static [(&'static str, Kind)] = &[("title", Kind::Reminder), ("list", Kind::ReminderList)];
    const EXAMPLES: &'static [&'static str] = &[
        "delete the reminder about the plumber",
        "remove call mum from my reminders",
        "cancel my pills reminder",
        "forget about the reminder to pay rent",
        "I don't need to be reminded of the report any more",
        "clear all my reminders",
    ];
    const CALLS: &'static [(&'static str, &'static str)] = &[
        ("cancel my pills reminder", r#"{"title": "pills"}"#),
        (
            "forget about the reminder to pay rent",
            r#"{"title": "pay rent"}"#,
        ),
    ];
    const USE_WHEN: &'static str = "For taking one away undone; what was done is reminders.complete.";

    fn preview(args: &Args, ctx: &Ctx) -> Result<String, ToolError> {
        let todos = todos::open(&ctx.dirs.reminders, args.list.as_deref(), &ctx.now)?;
        let names: Vec<String> = meant(args, &todos, ctx)?
            .iter()
            .map(|t| todos::described(t, &ctx.now))
            .collect();
        Ok(format!("Delete {}.", speech::some_of(&names, 5)))
    }

    async fn run(args: Args, ctx: &Ctx) -> Result<Output, ToolError> {
        ctx.blocking("delete the reminder", move |ctx| delete(&args, ctx))
            .await
    }
}

fn delete(args: &Args, ctx: &Ctx) -> Result<Output, ToolError> {
    let todos = todos::open(&ctx.dirs.reminders, args.list.as_deref(), &ctx.now)?;
    let chosen = meant(args, &todos, ctx)?;
    for todo in &chosen {
        todos::remove(&ctx.step, &todo.path, &todo.uid)?;
    }
    let names: Vec<String> = chosen.iter().map(|t| plain::one_line(&t.title, 80)).collect();
    let uids: Vec<&str> = chosen.iter().map(|t| t.uid.as_str()).collect();
    Ok(Output::new(
        format!("I deleted {}.", speech::some_of(&names, 5)),
        json!({"deleted": uids}),
    ))
}

fn meant<'a>(args: &Args, todos: &'a [Todo], ctx: &Ctx) -> Result<Vec<&'a Todo>, ToolError> {
    let all = which::is_all(&args.title, todos::REMINDER);
    if all && !todos.is_empty() {
        return Ok(todos.iter().collect());
    }
    todos::choose(&args.title, todos, &ctx.now).map(|todo| vec![todo])
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::testing::{ctx, files, run, said, told};

    #[tokio::test]
    async fn what_is_meant_goes_and_undo_brings_all_of_it_back() {
        let root = tempfile::tempdir().unwrap();
        let ctx = ctx(root.path());
        let delete = async |title: &str| run("reminders.delete", json!({"title": title}), &ctx).await;
        assert_eq!(told(delete("all").await), "There are no reminders.");
        for title in ["Call mum", "Call the plumber", "Pay rent"] {
            said(run("reminders.create", json!({"title": title}), &ctx).await);
        }
        let before = files(&ctx.dirs.reminders);
        assert_eq!(
            told(delete("call").await),
            "Which reminder: Call mum or Call the plumber?"
        );
        assert!(told(delete("purple").await).contains("There is no reminder called"));
        for (title, expect) in [
            ("the rent reminder", "I deleted Pay rent."),
            ("plummer", "I deleted Call the plumber."),
            (
                "all of them",
                "I deleted Call mum, Call the plumber and Pay rent.",
            ),
        ] {
            assert_eq!(said(delete(title).await), expect);
            assert_ne!(files(&ctx.dirs.reminders), before);
            ctx.step.journal().undo(None).unwrap();
            assert_eq!(files(&ctx.dirs.reminders), before);
        }
    }
}
