//! `reminders.create`: a thing to do, with or without a time.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::{
    contract::{Ctx, Effect, Output, TimeRole, Tool, ToolError},
    system::{
        calendar::Due,
        known::Kind,
        plain,
        todos::{self, NewTodo, Timing},
        vdir::{self, Collection},
    },
};

/// Makes reminders.
pub struct This;

/// What and when.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Args {
    /// What to do: "call mum"
    title: String,
    /// When as said: "tomorrow at five", "every monday"
    due: Option<String>,
    /// Which list, if the person named one
    list: Option<String>,
    /// "high", "medium" or "low"
    priority: Option<String>,
}

/// The list that the first reminder makes.
const FIRST: &str = "Personal";

impl Tool for This {
    type Args = Args;
    const NAME: &'static str = "reminders.create";
    const SUMMARY: &'static str = "Remember a thing to do and remind the person of it at a time";
    const EFFECT: Effect = Effect::Write;
    const WORDED: &'static [&'static str] = &["title"];
    const NAMED: &'static [(&'static str, Kind)] = &[("list", Kind::ReminderList)];
    const TIMES: &'static [(&'static str, TimeRole)] = &[("due", TimeRole::At)];
    const EXAMPLES: &'static [&'static str] = &[
        "remind me to call mum tomorrow at five",
        "remind me in twenty minutes to take the pizza out",
        "add a to do to pay the rent on the first of december",
        "I need to remember to buy stamps",
        "remind me every monday at nine to put the bins out",
        "set a reminder for my pills every day at eight pm",
        "put renewing the passport on my work to do list with high priority",
    ];
    const CALLS: &'static [(&'static str, &'static str)] = &[
        (
            "remind me to call mum tomorrow at five",
            r#"{"title": "call mum", "due": "tomorrow at five"}"#,
        ),
        (
            "put renewing the passport on my work to do list with high priority",
            r#"{"title": "renewing the passport", "list": "work", "priority": "high"}"#,
        ),
    ];
    const USE_WHEN: &'static str =
        "For a thing to do; an appointment is calendar.create_event, groceries are lists.add.";

    fn preview(args: &Args, ctx: &Ctx) -> Result<String, ToolError> {
        let (todo, list) = resolve(args, ctx)?;
        let on = list.map_or(FIRST.to_owned(), |l| l.name);
        Ok(format!("Remind you: {}, on {on}.", described(&todo, ctx)))
    }

    async fn run(args: Args, ctx: &Ctx) -> Result<Output, ToolError> {
        ctx.blocking("save the reminder", move |ctx| create(&args, ctx))
            .await
    }
}

fn create(args: &Args, ctx: &Ctx) -> Result<Output, ToolError> {
    let (todo, list) = resolve(args, ctx)?;
    let list = match list {
        Some(list) => list,
        None => todos::make_list(&ctx.step, &ctx.dirs.reminders, FIRST)?,
    };
    let uid = todos::create(&ctx.step, &list, &todo, &ctx.now)?;
    let mut say = match todo.timing.due {
        Some(_) => format!("I will remind you: {}.", described(&todo, ctx)),
        None => format!("I put it down: {}, on {}.", todo.title, list.name),
    };
    if !ctx.daemon && todo.timing.due.is_some() {
        say.push_str(" Start the daemon to hear it.");
    }
    let mut data = json!({"uid": uid, "title": todo.title, "list": list.name});
    match &todo.timing.due {
        Some(Due::Day(date)) => data["due"] = json!(date.to_string()),
        Some(Due::At(at)) => data["due"] = json!(at.strftime("%Y-%m-%dT%H:%M").to_string()),
        None => {}
    }
    if let Some(rrule) = &todo.timing.rrule {
        data["rrule"] = json!(rrule);
    }
    Ok(Output::new(say, data))
}

/// Everything resolved; no list when there is none yet.
fn resolve(args: &Args, ctx: &Ctx) -> Result<(NewTodo, Option<Collection>), ToolError> {
    let title = plain::one_line(&args.title, 150);
    if title.is_empty() {
        return Err(ToolError::tell("What shall I remind you of?"));
    }
    let timing = match args.due.as_deref().filter(|due| !due.trim().is_empty()) {
        Some(due) => todos::timing(due, &ctx.now)?,
        None => Timing::default(),
    };
    let priority = todos::priority(args.priority.as_deref())?.unwrap_or(0);
    let todo = NewTodo {
        title,
        timing,
        priority,
    };
    let all = vdir::collections(&ctx.dirs.reminders).map_err(|e| e.tool("read your lists"))?;
    let list = match args.list.as_deref().filter(|list| !list.trim().is_empty()) {
        Some(wanted) => Some(
            vdir::choose(wanted, "list", &all)
                .map_err(ToolError::tell)?
                .clone(),
        ),
        None => todos::own(all),
    };
    Ok((todo, list))
}

/// "Call mum tomorrow at 17:00", "Bins every Monday, first on Monday 30 November at 09:00".
fn described(todo: &NewTodo, ctx: &Ctx) -> String {
    let when = todo.timing.due.as_ref().map(|due| todos::at_words(due, &ctx.now));
    match (&todo.timing.rrule, when) {
        (Some(rule), Some(when)) => format!("{} {}, first {when}", todo.title, todos::again(rule)),
        (_, Some(when)) => format!("{} {when}", todo.title),
        (_, None) => todo.title.clone(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::testing::{ctx, files, run, said, told};

    #[tokio::test]
    async fn it_says_when_it_will_remind_and_undo_takes_it_back() {
        for (args, expect, list) in [
            (
                json!({"title": "call mum", "due": "tomorrow at five"}),
                "I will remind you: call mum tomorrow at 17:00.",
                "You have one reminder: call mum tomorrow at 17:00.",
            ),
            (
                json!({"title": "pizza", "due": "in twenty minutes", "priority": "high"}),
                "I will remind you: pizza today at 09:50.",
                "You have one reminder: pizza today at 09:50.",
            ),
            (
                json!({"title": "bins", "due": "every monday at nine"}),
                "I will remind you: bins every Monday, first on Monday 30 November at 09:00.",
                "You have one reminder: bins on Monday 30 November at 09:00.",
            ),
            (
                json!({"title": "stamps; \"big\", one"}),
                "I put it down: stamps; \"big\", one, on Personal.",
                "You have one reminder: stamps; \"big\", one.",
            ),
            (
                json!({"title": "rent", "due": "the first of december"}),
                "I will remind you: rent on Tuesday 1 December.",
                "You have one reminder: rent on Tuesday 1 December.",
            ),
        ] {
            let root = tempfile::tempdir().unwrap();
            let ctx = ctx(root.path());
            assert_eq!(said(run("reminders.create", args, &ctx).await), expect);
            assert_eq!(said(run("reminders.list", json!({}), &ctx).await), list);
            for (path, bytes) in files(&ctx.dirs.reminders) {
                let text = String::from_utf8_lossy(&bytes);
                let rings = text.contains("BEGIN:VALARM");
                assert_eq!(rings, text.contains("DUE"), "{}: {text}", path.display());
            }
            ctx.step.journal().undo(None).unwrap();
            assert_eq!(
                said(run("reminders.list", json!({}), &ctx).await),
                "You have no reminders."
            );
        }
    }

    #[tokio::test]
    async fn what_is_missing_wrong_or_over_is_asked_about_and_nothing_is_written() {
        let root = tempfile::tempdir().unwrap();
        let ctx = ctx(root.path());
        for (args, expect) in [
            (json!({"title": " "}), "What shall I remind you of?"),
            (json!({"due": "tomorrow"}), "title"),
            (json!({"title": "x", "due": "purple"}), "do not understand"),
            (json!({"title": "x", "due": "yesterday"}), "is over already"),
            (json!({"title": "x", "list": "garden"}), "no list yet"),
            (json!({"title": "x", "priority": "purple"}), "high, medium or low"),
        ] {
            let text = told(run("reminders.create", args.clone(), &ctx).await);
            assert!(text.contains(expect), "{args}: {text}");
        }
        assert!(!ctx.dirs.reminders.exists());
    }
}
