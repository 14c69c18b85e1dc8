//! `assistant.undo`: takes back what Tiro changed.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::{
    contract::{Ctx, Effect, Output, Tool, ToolError},
    system::{
        journal::{Journal, JournalError, Past, Undone},
        plain,
    },
};

/// Most steps that are taken back at once; more is hardly meant.
const MAX_STEPS: u32 = 20;

/// Takes changes back.
pub struct This;

/// How many.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Args {
    /// How many changes, 1 unless said
    #[schemars(range(min = 1, max = 20))]
    steps: Option<u32>,
}

impl Tool for This {
    type Args = Args;
    const NAME: &'static str = "assistant.undo";
    const SUMMARY: &'static str = "Undo the last change that was made for the person";
    const EFFECT: Effect = Effect::Write;
    const EXAMPLES: &'static [&'static str] = &[
        "undo that",
        "take that back",
        "no, put it back the way it was",
        "revert the last two changes",
        "that was wrong, undo it",
        "bring back what you just deleted",
    ];
    const CALLS: &'static [(&'static str, &'static str)] = &[
        ("revert the last two changes", r#"{"steps": 2}"#),
        ("take that back", "{}"),
    ];
    const PATTERNS: &'static [&'static str] = &[
        "undo",
        "undo (that|it|the last change)",
        "take that back",
        "undo the last {steps} changes",
    ];
    const USE_WHEN: &'static str = "To take back a change that was made in this or an earlier conversation.";
    const LIMITS: &'static str = "Cannot take back what was sent, or what something else changed since.";

    fn preview(args: &Args, ctx: &Ctx) -> Result<String, ToolError> {
        let steps = steps(args)?;
        let standing = standing(ctx.step.journal(), steps)?;
        Ok(format!(
            "Undo: {}",
            listed(standing.iter().map(|past| words(&past.say, &past.tool)))
        ))
    }

    async fn run(args: Args, ctx: &Ctx) -> Result<Output, ToolError> {
        let (steps, journal) = (steps(&args)?, ctx.step.journal().clone());
        tokio::task::spawn_blocking(move || undo(&journal, steps))
            .await
            .map_err(|e| ToolError::broken(WHAT, e))?
    }
}

const WHAT: &str = "undo that";

fn steps(args: &Args) -> Result<usize, ToolError> {
    match args.steps.unwrap_or(1) {
        steps @ 1..=MAX_STEPS => Ok(steps as usize),
        other => Err(ToolError::tell(format!(
            "I can undo 1 to {MAX_STEPS} changes at once, not {other}."
        ))),
    }
}

fn standing(journal: &Journal, steps: usize) -> Result<Vec<Past>, ToolError> {
    let history = journal.history(usize::MAX).map_err(|e| e.tool(WHAT))?;
    let standing: Vec<Past> = history
        .into_iter()
        .filter(|past| !past.undone && !past.passed)
        .take(steps)
        .collect();
    match standing.is_empty() {
        true => Err(JournalError::Nothing.tool(WHAT)),
        false => Ok(standing),
    }
}

fn undo(journal: &Journal, steps: usize) -> Result<Output, ToolError> {
    let mut undone: Vec<Undone> = Vec::new();
    let mut stopped = None;
    for _ in 0..steps {
        match journal.undo(None) {
            Ok(step) => undone.push(step),
            Err(error) if undone.is_empty() => return Err(error.tool(WHAT)),
            // What was taken back is said, together with what kept the rest.
            Err(error) => {
                stopped = Some(error.tool(WHAT).to_string());
                break;
            }
        }
    }
    let mut say = format!(
        "Undone: {}",
        listed(undone.iter().map(|step| words(&step.say, &step.tool)))
    );
    if let Some(reason) = stopped {
        say.push(' ');
        say.push_str(&reason);
    }
    let rows: Vec<_> = undone
        .iter()
        .map(|step| json!({"id": step.id, "tool": step.tool, "said": step.say, "at": step.at.to_string()}))
        .collect();
    let mut output = Output::new(say, json!({ "undone": rows }));
    output.untrusted = undone.iter().any(|step| step.others);
    Ok(output)
}

/// What a step said it did; its tool when it was interrupted.
fn words(say: &Option<String>, tool: &str) -> String {
    match say {
        Some(say) => plain::one_line(say, 200),
        None => format!("{tool}, which was interrupted."),
    }
}

fn listed(steps: impl Iterator<Item = String>) -> String {
    steps.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::testing::{ctx, run, said, told};

    async fn undo(args: Value, ctx: &Ctx) -> Result<Output, ToolError> {
        run("assistant.undo", args, ctx).await
    }

    async fn note(ctx: &Ctx, title: &str) {
        run("notes.create", json!({"title": title, "text": "x"}), ctx)
            .await
            .unwrap();
    }

    #[tokio::test]
    async fn changes_are_taken_back_in_their_order() {
        let root = tempfile::tempdir().unwrap();
        let ctx = ctx(root.path());
        for title in ["a", "b", "c"] {
            note(&ctx, title).await;
        }
        let names = || crate::testing::files(&ctx.dirs.notes).len();
        assert_eq!(said(undo(json!({}), &ctx).await), "Undone: I saved the note.");
        assert_eq!(names(), 2);
        let output = undo(json!({"steps": 2}), &ctx).await.unwrap();
        assert_eq!(output.data["undone"].as_array().unwrap().len(), 2);
        assert_eq!(std::fs::read_dir(&ctx.dirs.notes).unwrap().count(), 0);
        assert_eq!(told(undo(json!({}), &ctx).await), "There is nothing to undo.");
        assert!(told(undo(json!({"steps": 0}), &ctx).await).contains("1 to 20"));
    }

    #[tokio::test]
    async fn an_event_that_was_added_goes_and_what_others_changed_stays() {
        let root = tempfile::tempdir().unwrap();
        let ctx = ctx(root.path());
        note(&ctx, "mine").await;
        let args = json!({"title": "Dentist", "start": "tomorrow at nine"});
        run("calendar.create_event", args, &ctx).await.unwrap();
        let entry = crate::find("assistant.undo").unwrap();
        let expect = "Added Dentist tomorrow, 09:00 to 10:00, to Personal.";
        assert_eq!(entry.preview(json!({}), &ctx).unwrap(), format!("Undo: {expect}"));
        assert_eq!(said(undo(json!({}), &ctx).await), format!("Undone: {expect}"));
        std::fs::write(ctx.dirs.notes.join("mine.md"), "theirs").unwrap();
        assert!(told(undo(json!({}), &ctx).await).contains("mine.md was changed since"));
        assert_eq!(told(undo(json!({}), &ctx).await), "There is nothing to undo.");
        assert!(entry.preview(json!({}), &ctx).is_err());
    }

    #[tokio::test]
    async fn nothing_is_said_plainly() {
        let root = tempfile::tempdir().unwrap();
        let ctx = ctx(root.path());
        let entry = crate::find("assistant.undo").unwrap();
        assert_eq!(
            entry.preview(json!({}), &ctx).unwrap_err().to_string(),
            "There is nothing to undo."
        );
    }
}
