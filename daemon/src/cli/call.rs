//! `tiro call`: run one tool directly. It goes through the same door as the model's calls.

use std::{io::IsTerminal as _, process::ExitCode};

use anyhow::Context as _;
use serde_json::Value;

use super::{app::App, exit_code, partner, say};
use crate::{
    act::{Circumstances, act, finish_writes},
    agent::{Call, Ending, Outcome},
    bus,
    reply::{Terminal, say_aside},
};

/// Runs a tool and prints its sentence, or its data with `--json`.
pub async fn run(app: &App, tool: &str, arguments: &str, json: bool, yes: bool) -> anyhow::Result<ExitCode> {
    let mut parts = app.parts();
    // A timer that is set here rings when a daemon runs.
    parts.daemon = bus::running(&app.paths.socket()?).await;
    let index = parts.index();
    let Some(entry) = tools::find(tool) else {
        let near = index.nearest(tool, 3).join(", ");
        anyhow::bail!("there is no tool {tool}; near it: {near}");
    };
    let arguments: Value = serde_json::from_str(arguments).context("the arguments are not JSON")?;
    anyhow::ensure!(
        arguments.is_object(),
        "the arguments must be a JSON object, such as {{\"query\": \"anna\"}}"
    );
    let mut call = Call {
        name: tool.to_owned(),
        arguments,
    };
    let interactive = std::io::stdin().is_terminal() && std::io::stderr().is_terminal();
    let mut front = Terminal {
        verbose: false,
        yes,
        interactive,
    };
    let patience = parts.limits.patience;
    let around = Circumstances {
        ctx: parts.ctx(&index),
        tainted: false,
        said: &[],
        patience,
        instead: None,
    };
    let outcome = tokio::select! {
        outcome = act(entry, &mut call, around, &mut front) => Some(outcome),
        _ = tokio::signal::ctrl_c() => None,
    };
    let Some(outcome) = outcome else {
        say_aside(&partner::stopped(finish_writes().await));
        return Ok(ExitCode::FAILURE);
    };
    let (text, end) = match outcome {
        Outcome::Done(output) => {
            say(&if json { output.data.to_string() } else { output.say })?;
            return Ok(ExitCode::SUCCESS);
        }
        Outcome::Tell(text) | Outcome::TellOthers(text) | Outcome::Misfit(text) | Outcome::Broken(text) => {
            (text, Ending::CouldNot)
        }
        Outcome::TakenBack { text, .. } => (text, Ending::CouldNot),
        Outcome::Declined => (prompts::words::declined(), Ending::NeedsConfirmation),
        Outcome::Unclear(text) => (text, Ending::NeedsConfirmation),
        Outcome::NeedsConfirmation(question) => (
            prompts::words::needs_confirmation(&question),
            Ending::NeedsConfirmation,
        ),
    };
    say_aside(&text);
    Ok(exit_code(end))
}
