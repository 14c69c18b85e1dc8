//! `tiro status`: how the daemon is, and with `--follow` what happens in it from now on.

use std::{process::ExitCode, time::Duration};

use anyhow::Context as _;
use futures_util::StreamExt as _;
use tokio::signal::unix::{SignalKind, signal};
use zbus::{Connection, MessageStream};

use super::{app::App, say};
use crate::{
    bus::{self, Tiro1Proxy},
    reply::Happening,
    status::Status,
};

/// Prints the state. Without a daemon that is an answer too, so it exits 0. What is followed ends with Ctrl-C, with the
/// reader, and with the daemon.
pub async fn run(app: &App, json: bool, follow: bool) -> anyhow::Result<ExitCode> {
    let Some(connection) = bus::client(&app.paths.socket()?).await? else {
        show(&Status::off(), json)?;
        return Ok(ExitCode::SUCCESS);
    };
    // Listened to before it is asked, so that nothing is lost in between.
    let signals = follow.then(|| MessageStream::from(&connection));
    show(&ask(&connection).await?, json)?;
    if let Some(signals) = signals {
        self::follow(signals, json).await?;
    }
    Ok(ExitCode::SUCCESS)
}

async fn ask(connection: &Connection) -> anyhow::Result<Status> {
    let proxy = Tiro1Proxy::new(connection).await?;
    let text = tokio::time::timeout(Duration::from_secs(5), proxy.status())
        .await
        .context("the daemon does not answer")??;
    serde_json::from_str(&text).context("the daemon's answer cannot be read; are both of one version?")
}

async fn follow(mut signals: MessageStream, json: bool) -> anyhow::Result<()> {
    let (mut int, mut term) = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
    loop {
        let message = tokio::select! {
            message = signals.next() => message,
            _ = int.recv() => return Ok(()),
            _ = term.recv() => return Ok(()),
        };
        let Some(Ok(message)) = message else {
            // The daemon went.
            return show(&Status::off(), json);
        };
        let Some(happening) = bus::happening(&message) else {
            continue;
        };
        match json {
            true => say(&serde_json::to_string(&happening)?)?,
            false => {
                if let Some(line) = line(&happening) {
                    say(&line)?;
                }
            }
        }
    }
}

/// One line for people. What belongs to the turn of somebody else does not come here.
fn line(happening: &Happening) -> Option<String> {
    match happening {
        Happening::State { state } => Some(state.name().to_owned()),
        Happening::Rang { text, .. } => Some(text.clone()),
        Happening::Noticed { text } => Some(format!("! {text}")),
        _ => None,
    }
}

fn show(status: &Status, json: bool) -> anyhow::Result<()> {
    match json {
        true => say(&serde_json::to_string(status)?),
        false => say(&status.lines()),
    }
}
