//! `reminders.complete`: a thing that was done.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::{
    contract::{Ctx, Effect, Output, Tool, ToolError},
    system::{
        calendar::{Due, Todo},
        known, plain,
        rings::{self, Kind},
        todos, which,
    },
};

/// Marks reminders as done.
pub struct This;

/// Which.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Args {
    /// What was done; empty for what rang last
    title: Option<String>,
    /// Which list, if the person named one
    list: Option<String>,
}

impl Tool for This {
    type Args = Args;
    const NAME: &'static str = "reminders.complete";
    const SUMMARY: &'static str = "Mark a reminder or to-do as done";
    const EFFECT: Effect = Effect::Write;
    const NAMED: &'static [(&'static str, known::Kind)] = &[
        ("title", known::Kind::Reminder),
        ("list", known::Kind::ReminderList),
    ];
    const EXAMPLES: &'static [&'static str] = &[
        "I called mum",
        "mark pay the rent as done",
        "check off the plumber",
        "the report is finished, tick it off",
        "complete my reminder to water the plants",
        "I have taken my pills",
        "done with the expenses",
    ];
    const CALLS: &'static [(&'static str, &'static str)] = &[
        ("the report is finished, tick it off", r#"{"title": "report"}"#),
        ("I have taken my pills", r#"{"title": "pills"}"#),
    ];
    const USE_WHEN: &'static str = "For things that were done; to take one away undone use reminders.delete.";

    fn preview(args: &Args, ctx: &Ctx) -> Result<String, ToolError> {
        let todos = todos::open(&ctx.dirs.reminders, args.list.as_deref(), &ctx.now)?;
        let todo = meant(args, &todos, ctx)?;
        Ok(format!("Mark {} as done.", todos::described(todo, &ctx.now)))
    }

    async fn run(args: Args, ctx: &Ctx) -> Result<Output, ToolError> {
        ctx.blocking("mark it as done", move |ctx| complete(&args, ctx))
            .await
    }
}

fn complete(args: &Args, ctx: &Ctx) -> Result<Output, ToolError> {
    let todos = todos::open(&ctx.dirs.reminders, args.list.as_deref(), &ctx.now)?;
    let todo = meant(args, &todos, ctx)?;
    let next = todos::complete(&ctx.step, todo, &ctx.now)?;
    // What is done need not ring any more.
    let stopped = rings::stop(&ctx.step, &ctx.dirs, &ctx.now, |ring| {
        ring.kind == Kind::Reminder && ring.uid == todo.uid
    });
    if let Err(error) = stopped {
        tracing::warn!(%error, "a reminder that is done may ring again");
    }
    let title = plain::one_line(&todo.title, 80);
    let mut data = json!({"uid": todo.uid, "title": title});
    let say = match next {
        Some(next) => {
            let due = match todo.due {
                Some(Due::Day(_)) => Due::Day(next.date()),
                _ => Due::At(next),
            };
            let next = todos::at_words(&due, &ctx.now);
            data["next"] = json!(next);
            format!("Done: {title}. It comes back {next}.")
        }
        None => format!("Done: {title}."),
    };
    Ok(Output::new(say, data))
}

/// The one that was named; without a name the one that rang last, or the only one.
fn meant<'a>(args: &Args, todos: &'a [Todo], ctx: &Ctx) -> Result<&'a Todo, ToolError> {
    let said = args.title.as_deref().unwrap_or_default();
    if which::bare(said, todos::REMINDER).is_empty()
        && let Some(latest) = rings::latest(&ctx.dirs, &ctx.now)
        && latest.ring.kind == Kind::Reminder
        && let Some(todo) = todos.iter().find(|t| t.uid == latest.ring.uid)
    {
        return Ok(todo);
    }
    todos::choose(said, todos, &ctx.now)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::testing::{ctx, run, said, told};

    #[tokio::test]
    async fn what_is_done_leaves_the_list_and_undo_brings_it_back() {
        let root = tempfile::tempdir().unwrap();
        let ctx = ctx(root.path());
        let done = async |title: &str| run("reminders.complete", json!({"title": title}), &ctx).await;
        assert_eq!(told(done("mum").await), "There are no reminders.");
        for (title, due) in [
            ("Call mum", "tomorrow"),
            ("Call the plumber", "today at noon"),
            ("Pills", "every day at ten am"),
        ] {
            said(run("reminders.create", json!({"title": title, "due": due}), &ctx).await);
        }
        let list = async || said(run("reminders.list", json!({}), &ctx).await);
        let all = list().await;
        assert_eq!(said(done("call mom").await), "Done: Call mum.");
        assert!(!list().await.contains("mum"));
        ctx.step.journal().undo(None).unwrap();
        assert_eq!(list().await, all);
        let text = told(done("call").await);
        assert!(
            text.starts_with("Which reminder: Call mum tomorrow or Call the plumber today at 12:00?"),
            "{text}"
        );
        assert!(told(done("purple").await).contains("no reminder called \"purple\""));
        assert_eq!(
            said(done("pills").await),
            "Done: Pills. It comes back tomorrow at 10:00."
        );
        assert!(list().await.contains("Pills tomorrow at 10:00"));
        ctx.step.journal().undo(None).unwrap();
        assert_eq!(list().await, all);
    }
}
