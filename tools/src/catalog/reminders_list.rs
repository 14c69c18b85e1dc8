//! `reminders.list`: what is still to be done.

use jiff::Zoned;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{
    contract::{Ctx, Effect, LoadPolicy, Output, TimeRole, Tool, ToolError},
    system::{
        calendar::{self, Due, Todo},
        known::Kind,
        plain, speech, vdir,
    },
    when::{self, Hint},
};

/// More are not listened to.
const MAX_SPOKEN: usize = 5;
/// More are not shown to the model, which would have to read them all.
const MAX_SHOWN: usize = 20;

/// Lists reminders.
pub struct This;

/// Which ones.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Args {
    /// As said, or "overdue"
    when: Option<String>,
    list: Option<String>,
}

impl Tool for This {
    type Args = Args;
    const NAME: &'static str = "reminders.list";
    const SUMMARY: &'static str = "List open reminders and to-dos";
    const EFFECT: Effect = Effect::Read;
    const TIMED: bool = true;
    const LOAD: LoadPolicy = LoadPolicy::Core;
    const NAMED: &'static [(&'static str, Kind)] = &[("list", Kind::ReminderList)];
    const TIMES: &'static [(&'static str, TimeRole)] = &[("when", TimeRole::Find)];
    const EXAMPLES: &'static [&'static str] = &[
        "what are my reminders",
        "what do I have to do today",
        "is there anything I should be reminded about",
        "which to-dos are overdue",
        "read me my work reminders for this week",
        "what's left on my to do list",
    ];
    const CALLS: &'static [(&'static str, &'static str)] = &[
        ("which to-dos are overdue", r#"{"when": "overdue"}"#),
        (
            "read me my work reminders for this week",
            r#"{"when": "this week", "list": "work"}"#,
        ),
    ];
    const PATTERNS: &'static [&'static str] = &[
        "what are my reminders",
        "(what|which) reminders do i have",
        "(read|list|tell) [me] [all] my reminders",
        "do i have any reminders",
    ];
    const USE_WHEN: &'static str = "For things to do; appointments are in calendar.query.";
    const LIMITS: &'static str = "Leaves out what is done.";

    async fn run(args: Args, ctx: &Ctx) -> Result<Output, ToolError> {
        let (root, now) = (ctx.dirs.reminders.clone(), ctx.now.clone());
        let reading = tokio::task::spawn_blocking(move || calendar::todos(&root, &now))
            .await
            .map_err(|e| ToolError::broken("read your reminders", e))?
            .map_err(|e| e.tool("read your reminders"))?;
        let mut todos = reading.items;
        let mut on = String::new();
        if let Some(wanted) = args.list.as_deref().filter(|l| !l.trim().is_empty()) {
            let all = vdir::collections(&ctx.dirs.reminders).map_err(|e| e.tool("read your lists"))?;
            let list = vdir::choose(wanted, "list", &all).map_err(ToolError::tell)?;
            todos.retain(|todo| *todo.list == *list.name);
            on = format!(" on {}", list.name);
        }
        let filter = Filter::of(args.when.as_deref(), &ctx.now)?;
        todos.retain(|todo| filter.holds(todo, &ctx.now));
        let mut say = say(&todos, &filter, &on, &ctx.now);
        let mut data = json!({
            "found": todos.len(),
            "reminders": todos.iter().take(MAX_SHOWN).map(|t| data(t, &ctx.now)).collect::<Vec<_>>(),
        });
        if !reading.warnings.is_empty() {
            say.push_str(" Some entries could not be read.");
            data["unread"] = json!(reading.warnings.iter().take(5).collect::<Vec<_>>());
        }
        Ok(Output::new(say, data))
    }
}

/// Which due times are asked for.
enum Filter {
    All,
    Overdue,
    /// Due within days; what is late counts as due today.
    Within {
        from: Zoned,
        to: Zoned,
    },
}

impl Filter {
    fn of(said: Option<&str>, now: &Zoned) -> Result<Filter, ToolError> {
        let said = said.unwrap_or_default().trim().to_lowercase();
        match said.as_str() {
            "" | "all" | "any" | "open" | "everything" => return Ok(Filter::All),
            "overdue" | "late" | "past due" => return Ok(Filter::Overdue),
            _ => {}
        }
        let resolved = when::resolve(&said, now, Hint::Search)
            .map_err(|e| ToolError::tell(format!("{e} Say it as in today, this week or overdue.")))?;
        let stretch = resolved.value.stretch(now);
        let (from, to) = stretch.ok_or_else(|| ToolError::tell("That is outside the calendar."))?;
        let from = from.unwrap_or_else(|| now.clone());
        Ok(match to {
            Some(to) => Filter::Within { from, to },
            None => Filter::All,
        })
    }

    fn holds(&self, todo: &Todo, now: &Zoned) -> bool {
        let Some(due) = &todo.due else {
            return matches!(self, Filter::All);
        };
        let late = is_late(due, now);
        match self {
            Filter::All => true,
            Filter::Overdue => late,
            Filter::Within { from, to } => {
                let zone = now.time_zone();
                let inside = match due {
                    Due::At(at) => at >= from && (at < to || at == from),
                    Due::Day(date) => {
                        due.end(zone).is_some_and(|end| end > *from)
                            && when::day_start(*date, zone).is_some_and(|start| start < *to || start == *from)
                    }
                };
                inside || (late && from.date() <= now.date() && now < to)
            }
        }
    }
}

fn is_late(due: &Due, now: &Zoned) -> bool {
    due.end(now.time_zone()).is_some_and(|end| end <= *now)
}

fn say(todos: &[Todo], filter: &Filter, on: &str, now: &Zoned) -> String {
    let due = match filter {
        Filter::All => String::new(),
        Filter::Overdue => " overdue".to_owned(),
        Filter::Within { from, to } => {
            let first = from.date();
            let last = to
                .checked_sub(jiff::Span::new().nanoseconds(1))
                .map_or(first, |at| at.date());
            if last <= first {
                format!(" due {}", speech::on_day(first, now))
            } else {
                format!(
                    " due from {} to {}",
                    speech::day(first, now),
                    speech::day(last, now)
                )
            }
        }
    };
    if todos.is_empty() {
        return format!("You have no reminders{on}{due}.");
    }
    let items: Vec<String> = todos.iter().map(|t| spoken(t, filter, now)).collect();
    format!(
        "You have {}{on}{due}: {}.",
        speech::count(todos.len(), "reminder", "reminders"),
        speech::some_of(&items, MAX_SPOKEN)
    )
}

/// "Call mum tomorrow at 09:00", "Pay rent, overdue since Friday 20 November".
fn spoken(todo: &Todo, filter: &Filter, now: &Zoned) -> String {
    let title = plain::one_line(&todo.title, 80);
    let Some(due) = &todo.due else {
        return title;
    };
    if is_late(due, now) {
        return match filter {
            Filter::Overdue => format!("{title}, since {}", speech::day(due.date(), now)),
            _ => format!("{title}, overdue since {}", speech::day(due.date(), now)),
        };
    }
    match due {
        Due::Day(date) => format!("{title} {}", speech::on_day(*date, now)),
        Due::At(at) => format!(
            "{title} {} at {}",
            speech::on_day(at.date(), now),
            speech::time(at.time())
        ),
    }
}

fn data(todo: &Todo, now: &Zoned) -> Value {
    let mut data = json!({
        "title": plain::one_line(&todo.title, 120),
        "list": &*todo.list,
        "uid": plain::one_line(&todo.uid, 120),
    });
    if let Some(due) = &todo.due {
        data["due"] = json!(match due {
            Due::Day(date) => date.to_string(),
            Due::At(at) => at.strftime("%Y-%m-%dT%H:%M").to_string(),
        });
        if is_late(due, now) {
            data["overdue"] = json!(true);
        }
    }
    data
}

#[cfg(test)]
mod tests {
    use std::{fs, path::Path};

    use super::*;
    use crate::testing::{ctx, run, said, told};

    fn put(root: &Path, list: &str, title: &str, lines: &str) {
        let folder = root.join("reminders").join(list);
        fs::create_dir_all(&folder).unwrap();
        let text = format!(
            "BEGIN:VCALENDAR\nVERSION:2.0\nBEGIN:VTODO\nUID:{title}\nSUMMARY:{title}\n{lines}\nEND:VTODO\nEND:VCALENDAR\n"
        );
        fs::write(folder.join(format!("{title}.ics")), text).unwrap();
    }

    /// The context is of Monday 23 November 2026, 09:30 in Berlin.
    fn world(root: &Path) {
        put(root, "home", "Call mum", "DUE;TZID=Europe/Berlin:20261124T090000");
        put(root, "home", "Pay rent", "DUE;VALUE=DATE:20261120");
        put(root, "home", "Water plants", "DUE;VALUE=DATE:20261123");
        put(root, "work", "Report", "DUE:20261127T110000Z");
        put(root, "work", "Tidy desk", "PRIORITY:9");
        put(root, "work", "Old", "STATUS:COMPLETED");
    }

    #[tokio::test]
    async fn it_tells_what_is_open() {
        let root = tempfile::tempdir().unwrap();
        world(root.path());
        let ctx = ctx(root.path());
        let ask = async |args| said(run("reminders.list", args, &ctx).await);
        for (args, expect) in [
            (
                json!({}),
                "You have five reminders: Pay rent, overdue since Friday 20 November, Water plants today, Call mum tomorrow at 09:00, Report on Friday 27 November at 12:00 and Tidy desk.",
            ),
            (
                json!({"when": "overdue"}),
                "You have one reminder overdue: Pay rent, since Friday 20 November.",
            ),
            (
                json!({"when": "today"}),
                "You have two reminders due today: Pay rent, overdue since Friday 20 November and Water plants today.",
            ),
            (
                json!({"when": "tomorrow"}),
                "You have one reminder due tomorrow: Call mum tomorrow at 09:00.",
            ),
            (
                json!({"when": "tomorrow afternoon"}),
                "You have no reminders due tomorrow.",
            ),
            (
                json!({"list": "work", "when": "this week"}),
                "You have one reminder on work due from today to Sunday 29 November: Report on Friday 27 November at 12:00.",
            ),
            (
                json!({"list": "work"}),
                "You have two reminders on work: Report on Friday 27 November at 12:00 and Tidy desk.",
            ),
        ] {
            assert_eq!(ask(args).await, expect);
        }
    }

    #[tokio::test]
    async fn an_empty_store_a_bad_time_and_an_unknown_list_are_told() {
        let root = tempfile::tempdir().unwrap();
        let ctx = ctx(root.path());
        assert_eq!(
            said(run("reminders.list", json!({}), &ctx).await),
            "You have no reminders."
        );
        assert!(told(run("reminders.list", json!({"list": "garden"}), &ctx).await).contains("no list yet"));
        world(root.path());
        let text = told(run("reminders.list", json!({"list": "garden"}), &ctx).await);
        assert_eq!(
            text,
            "There is no list called \"garden\". There is home and work."
        );
        assert!(
            told(run("reminders.list", json!({"when": "purple"}), &ctx).await).contains("do not understand")
        );
        assert!(told(run("reminders.list", json!({"due": "today"}), &ctx).await).contains("due"));
    }

    #[tokio::test]
    async fn hostile_files_stay_one_line() {
        let root = tempfile::tempdir().unwrap();
        put(
            root.path(),
            "home",
            "x",
            &format!(
                "DESCRIPTION:{}\nDUE:20269999T999999Z\nPRIORITY:-5",
                "y".repeat(100_000)
            ),
        );
        fs::write(root.path().join("reminders/home/junk.ics"), [0xff; 100]).unwrap();
        let output = run("reminders.list", json!({}), &ctx(root.path())).await.unwrap();
        assert_eq!(
            output.say,
            "You have one reminder: x. Some entries could not be read."
        );
        assert!(output.data.to_string().len() < 500);
    }
}
