//! `tiro listen`: push to talk. It is bound to a key, so it reads no config and loads nothing: one call to the daemon.

use std::{process::ExitCode, time::Duration};

use anyhow::Context as _;
use futures_util::StreamExt as _;
use zbus::MessageStream;

use super::say;
use crate::{
    bus::{self, Tiro1Proxy},
    paths::Paths,
    reply::{Happening, State, ask_aloud, describe, say_aside},
    run::Action,
    status::Status,
};

/// How long the daemon has to take the call; it answers at once.
const PATIENCE: Duration = Duration::from_secs(5);

/// Tells the daemon; with `wait` stays until what was said is answered, and prints the answer.
///
/// # Errors
/// When no daemon runs, or it does not answer.
pub async fn run(action: Action, wait: bool, verbose: bool) -> anyhow::Result<ExitCode> {
    let socket = Paths::from_env()?.socket()?;
    let Some(connection) = bus::client(&socket).await? else {
        say_aside(&Status::off().lines());
        return Ok(ExitCode::FAILURE);
    };
    // Before the call, so that nothing is missed.
    let mut signals = MessageStream::from(&connection);
    let call = async { Tiro1Proxy::new(&connection).await?.listen(action.name()).await };
    let state = tokio::time::timeout(PATIENCE, call)
        .await
        .context("the daemon does not answer")??;
    if verbose {
        say_aside(&state);
    }
    if !wait || state != State::Listening.name() {
        return Ok(ExitCode::SUCCESS);
    }
    while let Some(message) = signals.next().await {
        let message = message.context("the daemon went away")?;
        let Some(happening) = bus::happening(&message) else {
            continue;
        };
        if let (true, Some(line)) = (verbose, describe(&happening)) {
            say_aside(&line);
        }
        match happening {
            Happening::Replied { text } => {
                say(&text)?;
                return Ok(ExitCode::SUCCESS);
            }
            Happening::Noticed { text } => say_aside(&text),
            Happening::Asked { question, .. } => say_aside(&ask_aloud(&question)),
            // It was cancelled, or nobody spoke, or the microphone is gone.
            Happening::State { state: State::Idle } => return Ok(ExitCode::FAILURE),
            _ => {}
        }
    }
    anyhow::bail!("the daemon went away")
}
