//! `tiro outbox`: mail that has not gone out, and what the person decides about it. Needs no daemon: it is on disk.

use std::process::ExitCode;

use clap::Subcommand;
use tools::system::mail::outbox::{Entry, Outbox, State};

use super::{app::App, say};

/// What to do with a mail that waits.
#[derive(Debug, Subcommand)]
pub enum OutboxVerb {
    /// Show what waits.
    List,
    /// Send it once more.
    Retry {
        /// From `tiro outbox`.
        id: String,
    },
    /// Take it out unsent.
    Drop {
        /// From `tiro outbox`.
        id: String,
    },
    /// It arrived: do not send it again, and keep a copy among the sent mail.
    Sent {
        /// From `tiro outbox`.
        id: String,
    },
}

/// Does it.
///
/// # Errors
/// When there is no such mail, or the outbox cannot be read or written.
pub async fn run(app: &App, verb: Option<OutboxVerb>, json: bool) -> anyhow::Result<ExitCode> {
    let outbox = Outbox::at(&app.paths.state);
    let entries = tokio::task::spawn_blocking(move || {
        match &verb {
            None | Some(OutboxVerb::List) => {}
            Some(OutboxVerb::Retry { id }) => outbox.retry(id)?,
            Some(OutboxVerb::Drop { id }) => outbox.discard(id)?,
            Some(OutboxVerb::Sent { id }) => outbox.arrived(id)?,
        }
        outbox.entries()
    })
    .await??;
    if json {
        say(&serde_json::json!({ "mails": entries }).to_string())?;
    } else if entries.is_empty() {
        say("The outbox is empty.")?;
    }
    for entry in entries.iter().filter(|_| !json) {
        say(&line(entry))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn line(entry: &Entry) -> String {
    let how = match (entry.state, entry.problem()) {
        (_, Some(problem)) => problem,
        (State::Queued, None) => format!("{} goes out soon.", entry.title()),
        (State::Sent, None) => format!("{} has gone; its copy is being filed.", entry.title()),
        (_, None) => format!("{} is on its way.", entry.title()),
    };
    format!("{}: {how}", entry.ticket.id)
}
