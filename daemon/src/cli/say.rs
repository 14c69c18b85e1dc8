//! `tiro say`: says a text aloud, as Tiro says its answers.

use std::{io::Read as _, process::ExitCode};

use anyhow::{Context as _, bail, ensure};
use tokio::signal::unix::{SignalKind, signal};

use super::app::App;
use crate::speak::{Speaker, Trouble};

/// Most bytes that are read from stdin: more than anybody listens to.
const MAX_BYTES: u64 = 1 << 20;

/// Says the words, or what stdin has when they are `-`; Ctrl-C stops it.
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
    tokio::select! {
        spoken = speaker.say(&text) => match spoken {
            Ok(()) => Ok(ExitCode::SUCCESS),
            Err(Trouble::Absent(why)) => bail!("{why} `tiro doctor` shows what there is."),
            Err(trouble) => bail!("{trouble}"),
        },
        _ = interrupts.recv() => Ok(ExitCode::FAILURE),
    }
}

fn read() -> anyhow::Result<String> {
    let mut bytes = Vec::new();
    std::io::stdin()
        .lock()
        .take(MAX_BYTES + 1)
        .read_to_end(&mut bytes)
        .context("stdin cannot be read")?;
    ensure!(
        bytes.len() as u64 <= MAX_BYTES,
        "There is more than 1 MiB of text. Say less."
    );
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
