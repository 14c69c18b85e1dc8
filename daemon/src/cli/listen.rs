//! `tiro listen`: push to talk. It is bound to a key, so it reads no config and loads nothing: one call to the daemon.

use std::{process::ExitCode, time::Duration};

use anyhow::Context as _;
use futures_util::StreamExt as _;
use prompts::words;
use tokio::signal::unix::{SignalKind, signal};
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
    let mut interrupts = signal(SignalKind::interrupt()).context("cannot wait for Ctrl-C")?;
    let mut signals = MessageStream::from(&connection);
    let call = async { Tiro1Proxy::new(&connection).await?.listen(action.name()).await };
    let state = tokio::time::timeout(PATIENCE, call)
        .await
        .context("the daemon does not answer")??;
    if verbose {
        say_aside(&state);
    }
    if state == State::Muted.name() && matches!(action, Action::Start | Action::Toggle) {
        say_aside(&words::muted());
        return Ok(ExitCode::FAILURE);
    }
    if !wait || state != State::Listening.name() {
        return Ok(ExitCode::SUCCESS);
    }
    let (mut open, mut taken) = (false, false);
    loop {
        let message = tokio::select! {
            message = signals.next() => message,
            _ = interrupts.recv() => {
                // The microphone must not stay open for somebody who is gone.
                let call = async { Tiro1Proxy::new(&connection).await?.listen(Action::Cancel.name()).await };
                tokio::time::timeout(PATIENCE, call)
                    .await
                    .context("the daemon does not answer")??;
                return Ok(ExitCode::FAILURE);
            }
        };
        let message = message.context("the daemon went away")?;
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
            // What was said is taken, and there will be an answer. What the states tell from now on may be of others.
            Happening::State {
                state: State::Transcribing,
            } if open => taken = true,
            Happening::State {
                state: State::Listening,
            } => open = true,
            // It was cancelled, or nobody spoke, or the microphone is gone.
            Happening::State { .. } if open && !taken => return Ok(ExitCode::FAILURE),
            _ => {}
        }
    }
}
