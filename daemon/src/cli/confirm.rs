//! `tiro confirm`: answers the question that is open in the daemon, whoever asked for its turn.
//!
//! A yes names the question that was shown: by its number, or by being given to the question on this terminal.

use std::{io::IsTerminal as _, process::ExitCode, time::Duration};

use anyhow::Context as _;
use clap::ValueEnum;
use serde::Deserialize;
use tools::system::plain;

use super::{app::App, partner::tell, say};
use crate::{
    bus::{self, Tiro1Proxy},
    consent::Question,
    reply::{Confirmation, Front as _, Terminal, ask_line, say_aside},
};

/// An answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Answer {
    /// Do it.
    Yes,
    /// Do not.
    No,
}

/// The open question, as the daemon tells it.
#[derive(Debug, Deserialize)]
struct Open {
    id: u64,
    question: Question,
}

/// How long the daemon has for an answer.
const PATIENCE: Duration = Duration::from_secs(5);

/// Answers, or shows what is open. Exit code 1 without such a question, 2 for a yes that does not say to what.
///
/// # Errors
/// When the daemon is not there or does not answer.
pub async fn run(app: &App, answer: Option<Answer>, id: Option<u64>, json: bool) -> anyhow::Result<ExitCode> {
    let connection = bus::client(&app.paths.socket()?).await?;
    let connection = connection.context("the daemon is not running, so nothing is asked")?;
    let proxy = Tiro1Proxy::new(&connection).await?;
    let text = tokio::time::timeout(PATIENCE, proxy.question());
    let text = text.await.context("the daemon does not answer")??;
    if json {
        say(&text)?;
        return Ok(ExitCode::SUCCESS);
    }
    let open: Option<Open> = serde_json::from_str(&text)
        .context("the daemon's answer cannot be read; are both of one version?")?;
    let (id, answer) = match (answer, id, open) {
        (Some(Answer::Yes), Some(id), _) => (id, Confirmation::Yes),
        (Some(Answer::No), Some(id), _) => (id, Confirmation::No),
        (_, _, None) => anyhow::bail!("no question is open"),
        // Whatever it is, it is not done.
        (Some(Answer::No), None, Some(open)) => (open.id, Confirmation::No),
        (_, _, Some(open)) => match ask(&open).await? {
            Some(answer) => (open.id, answer),
            None => return Ok(ExitCode::from(2)),
        },
    };
    let counted = tokio::time::timeout(PATIENCE, tell(&proxy, id, answer));
    anyhow::ensure!(
        counted.await.context("the daemon does not answer")??,
        "question {id} is not open any more"
    );
    Ok(ExitCode::SUCCESS)
}

/// Shows the question and waits for the answer; nothing where nobody can give one.
async fn ask(open: &Open) -> anyhow::Result<Option<Confirmation>> {
    if !std::io::stdin().is_terminal() || !std::io::stderr().is_terminal() {
        let id = open.id;
        say(&plain::lines(&format!("{id}: {}", ask_line(&open.question))))?;
        say_aside(&format!(
            "Answer with `tiro confirm yes {id}` or `tiro confirm no {id}`."
        ));
        return Ok(None);
    }
    let mut terminal = Terminal {
        verbose: false,
        yes: false,
        interactive: true,
    };
    Ok(Some(terminal.confirm(&open.question).await))
}
