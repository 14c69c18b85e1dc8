//! `tiro undo` and `tiro history`: what was changed, and taking it back. Both need no daemon: the journal is on disk.

use std::process::ExitCode;

use anyhow::Context as _;
use jiff::tz::TimeZone;
use serde_json::json;
use tools::Journal;

use super::{app::App, say};

/// Undoes the latest step that stands, or the one of that number.
///
/// # Errors
/// When there is nothing to undo, or something else changed it since.
pub async fn undo(app: &App, id: Option<i64>, json: bool) -> anyhow::Result<ExitCode> {
    let undone = with(app, move |journal| journal.undo(id)).await?;
    if json {
        say(&serde_json::to_string(&undone)?)?;
    } else {
        say(&prompts::words::undone(&undone.say.unwrap_or(undone.tool)))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Lists the latest steps, newest first.
///
/// # Errors
/// When the journal cannot be read.
pub async fn history(app: &App, limit: usize, json: bool) -> anyhow::Result<ExitCode> {
    let steps = with(app, move |journal| journal.history(limit)).await?;
    if json {
        say(&json!({ "steps": steps }).to_string())?;
        return Ok(ExitCode::SUCCESS);
    }
    if steps.is_empty() {
        say("Nothing was changed yet.")?;
    }
    for step in steps {
        let at = step.at.to_zoned(TimeZone::system()).strftime("%Y-%m-%d %H:%M");
        let what = step.say.unwrap_or_else(|| format!("{}, interrupted", step.tool));
        let undone = if step.undone { " (undone)" } else { "" };
        // One line a step, whatever somebody named an event.
        let what = tools::system::plain::one_line(&what, 200);
        say(&format!("{:>5}  {at}  {what}{undone}", step.id))?;
    }
    Ok(ExitCode::SUCCESS)
}

async fn with<T: Send + 'static>(
    app: &App,
    work: impl FnOnce(&Journal) -> Result<T, tools::system::journal::JournalError> + Send + 'static,
) -> anyhow::Result<T> {
    let journal = app.journal();
    let done = tokio::task::spawn_blocking(move || work(&journal)).await;
    Ok(done.context("the journal")??)
}
