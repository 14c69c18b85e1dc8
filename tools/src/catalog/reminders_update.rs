//! `reminders.update`: another title, time, priority or list.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::{
    contract::{Ctx, Effect, Output, TimeRole, Tool, ToolError},
    system::{
        calendar::Todo,
        known::Kind,
        plain,
        todos::{self, Change, Timing},
        vdir,
    },
};

/// Changes reminders.
pub struct This;

/// Which, and what of it.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Args {
    /// Which reminder
    title: String,
    /// New time as said; "none" for no time
    due: Option<String>,
    /// New title
    new_title: Option<String>,
    /// "high", "medium", "low" or "none"
    priority: Option<String>,
    /// List to move it to
    list: Option<String>,
}

impl Tool for This {
    type Args = Args;
    const NAME: &'static str = "reminders.update";
    const SUMMARY: &'static str = "Change the time, title, priority or list of a reminder";
    const EFFECT: Effect = Effect::Write;
    const NAMED: &'static [(&'static str, Kind)] = &[("title", Kind::Reminder), ("list", Kind::ReminderList)];
    const TIMES: &'static [(&'static str, TimeRole)] = &[("due", TimeRole::At)];
    const EXAMPLES: &'static [&'static str] = &[
        "move the rent reminder to friday",
        "make the call mum reminder six pm instead",
        "change my pills reminder to every day at nine",
        "rename the plumber reminder to call the electrician",
        "give the report high priority",
        "move buy stamps to my work list",
        "take the time off the passport reminder",
    ];
    const CALLS: &'static [(&'static str, &'static str)] = &[
        (
            "move the rent reminder to friday",
            r#"{"title": "rent", "due": "friday"}"#,
        ),
        (
            "rename the plumber reminder to call the electrician",
            r#"{"title": "plumber", "new_title": "call the electrician"}"#,
        ),
        (
            "give the report high priority",
            r#"{"title": "report", "priority": "high"}"#,
        ),
    ];
    const USE_WHEN: &'static str = "For changing one that is there; for a little later use reminders.snooze.";

    fn preview(args: &Args, ctx: &Ctx) -> Result<String, ToolError> {
        let todos = todos::open(&ctx.dirs.reminders, None, &ctx.now)?;
        let todo = todos::choose(&args.title, &todos, &ctx.now)?;
        let change = resolve(args, todo, ctx)?;
        let now = todos::described(todo, &ctx.now);
        Ok(format!("Change {now}: {}.", described(todo, &change, ctx)))
    }

    async fn run(args: Args, ctx: &Ctx) -> Result<Output, ToolError> {
        ctx.blocking("change the reminder", move |ctx| update(&args, ctx))
            .await
    }
}

fn update(args: &Args, ctx: &Ctx) -> Result<Output, ToolError> {
    let todos = todos::open(&ctx.dirs.reminders, None, &ctx.now)?;
    let todo = todos::choose(&args.title, &todos, &ctx.now)?;
    let change = resolve(args, todo, ctx)?;
    todos::update(&ctx.step, todo, &change, &ctx.now)?;
    let title = plain::one_line(change.title.as_deref().unwrap_or(&todo.title), 80);
    Ok(Output::new(
        format!("I changed it: {}.", described(todo, &change, ctx)),
        json!({"uid": todo.uid, "title": title}),
    ))
}

fn resolve(args: &Args, todo: &Todo, ctx: &Ctx) -> Result<Change, ToolError> {
    let said = |text: &Option<String>| {
        text.as_deref()
            .map(str::trim)
            .filter(|t| !t.is_empty())
            .map(str::to_owned)
    };
    let timing = match said(&args.due) {
        Some(due) if ["none", "never", "no time", "nothing"].contains(&due.to_lowercase().as_str()) => {
            Some(Timing::default())
        }
        Some(due) => Some(todos::timing_instead(&due, todo.due.as_ref(), &ctx.now)?),
        None => None,
    };
    let list = match said(&args.list) {
        Some(wanted) => {
            let all = vdir::collections(&ctx.dirs.reminders).map_err(|e| e.tool("read your lists"))?;
            Some(
                vdir::choose(&wanted, "list", &all)
                    .map_err(ToolError::tell)?
                    .clone(),
            )
        }
        None => None,
    };
    let change = Change {
        title: said(&args.new_title).map(|t| plain::one_line(&t, 150)),
        timing,
        priority: todos::priority(args.priority.as_deref())?,
        list,
    };
    let nothing = change.title.is_none()
        && change.timing.is_none()
        && change.priority.is_none()
        && change.list.is_none();
    if nothing {
        return Err(ToolError::tell(
            "What shall be different? Say a new time, title, priority or list.",
        ));
    }
    Ok(change)
}

/// "Call dad on Friday 27 November, on Work".
fn described(todo: &Todo, change: &Change, ctx: &Ctx) -> String {
    let mut parts = vec![plain::one_line(
        change.title.as_deref().unwrap_or(&todo.title),
        80,
    )];
    if let Some(timing) = &change.timing {
        parts.extend(timing.rrule.as_deref().map(todos::again));
        parts.push(match &timing.due {
            Some(due) if timing.rrule.is_some() => format!("first {}", todos::at_words(due, &ctx.now)),
            Some(due) => todos::at_words(due, &ctx.now),
            None => "at no time".to_owned(),
        });
    }
    if let Some(priority) = change.priority {
        let word = match priority {
            0 => "no",
            1..=4 => "high",
            5 => "medium",
            _ => "low",
        };
        parts.push(format!("{word} priority"));
    }
    parts.extend(change.list.as_ref().map(|list| format!("on {}", list.name)));
    parts.join(", ")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::testing::{ctx, run, said, told};

    #[tokio::test]
    async fn what_is_said_is_changed_and_undo_changes_it_back() {
        let root = tempfile::tempdir().unwrap();
        let ctx = ctx(root.path());
        std::fs::create_dir_all(ctx.dirs.reminders.join("work")).unwrap();
        std::fs::create_dir_all(ctx.dirs.reminders.join("personal")).unwrap();
        for (title, due) in [("Call mum", "tomorrow"), ("Pills", "every day at ten am")] {
            said(run("reminders.create", json!({"title": title, "due": due}), &ctx).await);
        }
        let list = async || said(run("reminders.list", json!({}), &ctx).await);
        let before = list().await;
        for (args, expect, then) in [
            (
                json!({"title": "mum", "due": "friday at six pm"}),
                "I changed it: Call mum, on Friday 27 November at 18:00.",
                "Call mum on Friday 27 November at 18:00",
            ),
            // A time alone is one on the day that it is for, near the time that it has.
            (
                json!({"title": "mum", "due": "six"}),
                "I changed it: Call mum, tomorrow at 18:00.",
                "Call mum tomorrow at 18:00",
            ),
            (
                json!({"title": "pills", "due": "nine"}),
                "I changed it: Pills, today at 21:00.",
                "Pills today at 21:00",
            ),
            (
                json!({"title": "pills", "due": "eleven"}),
                "I changed it: Pills, today at 11:00.",
                "Pills today at 11:00",
            ),
            (
                json!({"title": "mum", "due": "end of the month"}),
                "I changed it: Call mum, on Monday 30 November.",
                "Call mum on Monday 30 November",
            ),
            (
                json!({"title": "mum", "due": "by friday"}),
                "I changed it: Call mum, on Friday 27 November.",
                "Call mum on Friday 27 November",
            ),
            (
                json!({"title": "mum", "due": "a fortnight today"}),
                "I changed it: Call mum, on Monday 7 December.",
                "Call mum on Monday 7 December",
            ),
            (
                json!({"title": "call mum", "new_title": "Call dad", "priority": "high"}),
                "I changed it: Call dad, high priority.",
                "Call dad tomorrow",
            ),
            (
                json!({"title": "mum", "due": "none"}),
                "I changed it: Call mum, at no time.",
                "and Call mum.",
            ),
            (
                json!({"title": "pills", "due": "nine pm"}),
                "I changed it: Pills, today at 21:00.",
                "Pills today at 21:00",
            ),
            (
                json!({"title": "pills", "due": "every monday at nine"}),
                "I changed it: Pills, every Monday, first on Monday 30 November at 09:00.",
                "Pills on Monday 30 November at 09:00",
            ),
        ] {
            assert_eq!(said(run("reminders.update", args, &ctx).await), expect);
            assert!(list().await.contains(then), "{}", list().await);
            ctx.step.journal().undo(None).unwrap();
            assert_eq!(list().await, before);
        }
        said(run("reminders.update", json!({"title": "mum", "list": "work"}), &ctx).await);
        assert_eq!(
            said(run("reminders.list", json!({"list": "work"}), &ctx).await),
            "You have one reminder on work: Call mum tomorrow."
        );
        ctx.step.journal().undo(None).unwrap();
        assert_eq!(list().await, before);
    }

    #[tokio::test]
    async fn what_is_missing_or_does_not_fit_is_asked_about() {
        let root = tempfile::tempdir().unwrap();
        let ctx = ctx(root.path());
        let update = async |args| told(run("reminders.update", args, &ctx).await);
        assert_eq!(
            update(json!({"title": "x", "due": "friday"})).await,
            "There are no reminders."
        );
        said(
            run(
                "reminders.create",
                json!({"title": "Pills", "due": "every day at ten am"}),
                &ctx,
            )
            .await,
        );
        for (args, expect) in [
            (json!({"due": "friday"}), "title"),
            (json!({"title": "pills"}), "What shall be different?"),
            (json!({"title": "pills", "due": "purple"}), "do not understand"),
            (
                json!({"title": "pills", "due": "on friday at nine"}),
                "It comes back every day.",
            ),
            (json!({"title": "pills", "list": "garden"}), "no list called"),
            (json!({"title": "purple", "due": "friday"}), "no reminder called"),
        ] {
            let text = update(args.clone()).await;
            assert!(text.contains(expect), "{args}: {text}");
        }
    }
}
