//! `tiro say`: says a text aloud, as Tiro says its answers.

use std::{io::Read as _, process::ExitCode};

use anyhow::{Context as _, anyhow, ensure};
use tokio::signal::unix::{SignalKind, signal};

use super::{app::App, partner::plain};
use crate::{
    bus::{self, MAX_SAID, TOO_LONG, Tiro1Proxy},
    speak::Speaker,
};

/// Says the words, or what stdin has when they are `-`; Ctrl-C stops it. The daemon says them where one runs: it hears them, and
/// only what it says itself it knows as its own words.
///
/// # Errors
/// When there is no voice, or it cannot speak, or stdin cannot be read.
pub async fn run(app: &App, text: &[String]) -> anyhow::Result<ExitCode> {
    let speaker = Speaker::of(app.config.speech.settings());
    ensure!(
        !speaker.is_off(),
        "Tiro does not speak, because speech.voice is \"off\". Change that with `tiro config set speech.voice auto`."
    );
    // Before anything sounds, so that nothing can sound that Ctrl-C does not stop.
    let mut interrupts = signal(SignalKind::interrupt()).context("cannot wait for Ctrl-C")?;
    let text = match text {
        [dash] if dash == "-" => {
            let reading = tokio::task::spawn_blocking(read);
            tokio::select! {
                text = reading => text.context("reading failed")??,
                _ = interrupts.recv() => return Ok(ExitCode::FAILURE),
            }
        }
        words => words.join(" "),
    };
    ensure!(text.len() <= MAX_SAID, TOO_LONG);
    let saying = async {
        match bus::client(&app.paths.socket()?).await? {
            // When we leave, it stops.
            Some(connection) => {
                let daemon = Tiro1Proxy::new(&connection).await?;
                daemon.say(text).await.map_err(plain)
            }
            None => speaker
                .say(&text)
                .await
                .map_err(|trouble| anyhow!(trouble.advice())),
        }
    };
    tokio::select! {
        said = saying => said.map(|()| ExitCode::SUCCESS),
        _ = interrupts.recv() => Ok(ExitCode::FAILURE),
    }
}

fn read() -> anyhow::Result<String> {
    let mut bytes = Vec::new();
    std::io::stdin()
        .lock()
        .take(MAX_SAID as u64 + 1)
        .read_to_end(&mut bytes)
        .context("stdin cannot be read")?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
