//! `tiro status`: how the daemon is, and with `--follow` what happens in it from now on.
//!
//! With `--json` each line that is followed is also what status bars read: `text`, `alt`, `class` and `tooltip` (Waybar's
//! custom modules with `"return-type": "json"`). What others may have worded stands in the tooltip only.

use std::{io, path::Path, process::ExitCode, time::Duration};

use anyhow::Context as _;
use futures_util::StreamExt as _;
use serde_json::{Value, json};
use tokio::{
    signal::unix::{SignalKind, signal},
    time::Instant,
};
use tools::system::plain;
use zbus::{Connection, MessageStream};

use super::{app::App, say};
use crate::{
    bus::{self, Tiro1Proxy},
    reply::{Happening, state_words},
    status::Status,
};

/// How often a daemon that is not there is looked for.
const LOOK: Duration = Duration::from_secs(1);
/// How long a bar shows what rang or was noticed, before it shows the state again.
const SHOWN: Duration = Duration::from_secs(10);
/// Longest line about what rang or was noticed.
const MAX_LINE: usize = 1_000;
/// Longest tooltip.
const MAX_TOOLTIP: usize = 300;

/// Prints the state. Without a daemon that is an answer too, so it exits 0. What is followed ends with Ctrl-C or with the
/// reader; a daemon that goes is waited for.
pub async fn run(app: &App, json: bool, follow: bool) -> anyhow::Result<ExitCode> {
    let socket = app.paths.socket()?;
    if follow {
        let (mut int, mut term) = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
        let mut out =
            |line: &str| io::Write::write_all(&mut io::stdout().lock(), format!("{line}\n").as_bytes());
        tokio::select! {
            ended = self::follow(&socket, json, &mut out) => ended?,
            _ = int.recv() => {}
            _ = term.recv() => {}
        }
        return Ok(ExitCode::SUCCESS);
    }
    let status = match bus::client(&socket).await? {
        Some(connection) => ask(&connection).await?,
        None => Status::off(),
    };
    say(&match json {
        true => serde_json::to_string(&status)?,
        false => status.lines(),
    })?;
    Ok(ExitCode::SUCCESS)
}

/// How the daemon is that this leads to.
///
/// # Errors
/// When it does not answer, or is of another version.
pub async fn ask(connection: &Connection) -> anyhow::Result<Status> {
    let proxy = Tiro1Proxy::new(connection).await?;
    let text = tokio::time::timeout(Duration::from_secs(5), proxy.status())
        .await
        .context("the daemon does not answer")??;
    serde_json::from_str(&text).context("the daemon's answer cannot be read; are both of one version?")
}

/// Where lines go.
pub type Out<'a> = dyn FnMut(&str) -> io::Result<()> + Send + 'a;

/// Writes lines until nobody reads them any more, through all the daemons that come and go.
///
/// # Errors
/// When the lines cannot be written.
pub async fn follow(socket: &Path, json: bool, out: &mut Out<'_>) -> anyhow::Result<()> {
    let mut lines = Lines { json, out };
    match lines.follow(socket).await {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        other => Ok(other?),
    }
}

struct Lines<'a, 'b> {
    json: bool,
    out: &'a mut Out<'b>,
}

impl Lines<'_, '_> {
    async fn follow(&mut self, socket: &Path) -> io::Result<()> {
        let mut off = false;
        loop {
            match connect(socket).await {
                Ok(Some((connection, signals, status))) => {
                    off = false;
                    self.status(&status)?;
                    self.attend(signals, status.state).await?;
                    drop(connection);
                }
                Ok(None) => {}
                Err(error) => tracing::debug!(%error, "the daemon cannot be followed"),
            }
            if !std::mem::replace(&mut off, true) {
                self.status(&Status::off())?;
            }
            tokio::time::sleep(LOOK).await;
        }
    }

    /// One daemon, until it goes.
    async fn attend(&mut self, mut signals: MessageStream, mut state: String) -> io::Result<()> {
        let mut until: Option<Instant> = None;
        loop {
            let over = async {
                match until {
                    Some(until) => tokio::time::sleep_until(until).await,
                    None => std::future::pending().await,
                }
            };
            let message = tokio::select! {
                message = signals.next() => message,
                () = over => {
                    until = None;
                    self.put(&bar(json!({"kind": "state", "state": state}), &state, state_words(&state)))?;
                    continue;
                }
            };
            let Some(Ok(message)) = message else {
                return Ok(());
            };
            let Some(happening) = bus::happening(&message) else {
                continue;
            };
            if let Happening::State { state: entered } = &happening {
                state = entered.name().to_owned();
            }
            let shown = matches!(happening, Happening::Rang { .. } | Happening::Noticed { .. });
            until = (self.json && shown).then(|| Instant::now() + SHOWN);
            self.happening(&happening)?;
        }
    }

    fn status(&mut self, status: &Status) -> io::Result<()> {
        match self.json {
            true => self.put(&bar(json!(status), &status.state, state_words(&status.state))),
            false => (self.out)(&status.lines()),
        }
    }

    fn happening(&mut self, happening: &Happening) -> io::Result<()> {
        // What belongs to the turn of somebody else does not come here.
        let (alt, words, line) = match happening {
            Happening::State { state } => (state.name(), state_words(state.name()), state.name().to_owned()),
            Happening::Rang { text, .. } => ("ringing", text.clone(), text.clone()),
            Happening::Noticed { text } => ("noticed", text.clone(), format!("! {text}")),
            _ => return Ok(()),
        };
        match self.json {
            true => self.put(&bar(json!(happening), alt, words)),
            // Others may have worded it.
            false => (self.out)(&plain::one_line(&line, MAX_LINE)),
        }
    }

    fn put(&mut self, line: &Value) -> io::Result<()> {
        (self.out)(&line.to_string())
    }
}

/// What status bars read, and the fields of what it is about; the sentence of what rang or was noticed is the tooltip.
fn bar(about: Value, alt: &str, tooltip: String) -> Value {
    let mut line = json!({
        "text": alt,
        "alt": alt,
        "class": alt,
        "tooltip": plain::one_line(&tooltip, MAX_TOOLTIP),
    });
    if let (Value::Object(line), Value::Object(about)) = (&mut line, about) {
        line.extend(about.into_iter().filter(|(key, _)| key != "text"));
    }
    line
}

/// A connection with its signals from before the status was asked, so that nothing is lost in between.
async fn connect(socket: &Path) -> anyhow::Result<Option<(Connection, MessageStream, Status)>> {
    let Some(connection) = bus::client(socket).await? else {
        return Ok(None);
    };
    let signals = MessageStream::from(&connection);
    let status = ask(&connection).await?;
    Ok(Some((connection, signals, status)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_others_worded_is_one_line_without_control_characters() {
        let mut written = Vec::new();
        let mut out = |line: &str| {
            written.push(line.to_owned());
            Ok(())
        };
        let mut lines = Lines {
            json: false,
            out: &mut out,
        };
        let text = "Lunch\u{1b}[2J\nidle".to_owned();
        lines.happening(&Happening::Noticed { text }).unwrap();
        assert_eq!(written, ["! Lunch [2J idle"]);
    }
}
