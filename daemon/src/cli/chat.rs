//! `tiro chat`: a conversation in the terminal, the text-mode front.

use std::{io::IsTerminal as _, process::ExitCode};

use anyhow::Context as _;
use rustyline::{DefaultEditor, error::ReadlineError};
use tokio::sync::{mpsc, oneshot};

use super::{
    app::App,
    partner::{Partner, Request},
    say,
};
use crate::reply::{Terminal, say_aside};

/// What the editor's thread read.
enum Line {
    Text(String),
    /// Ctrl-C at the prompt.
    Interrupt,
    /// Ctrl-D.
    End,
}

/// Reads lines and answers them until Ctrl-D. Ctrl-C while an answer is on its way stops it.
pub async fn run(app: &App) -> anyhow::Result<ExitCode> {
    let mut partner = Partner::find(app).await?;
    let interactive = std::io::stdin().is_terminal();
    if interactive {
        say_aside("Ask me something. Ctrl-C stops me, Ctrl-D leaves.");
    }
    if let Partner::Here(room) = &mut partner {
        room.ready().await?;
    }
    let mut front = Terminal {
        verbose: app.trace,
        yes: false,
        interactive,
    };
    let lines = editor(app)?;
    loop {
        let (tell, told) = oneshot::channel();
        if lines.send(tell).await.is_err() {
            break;
        }
        let text = match told.await {
            Ok(Line::Text(text)) if text.trim().is_empty() => continue,
            Ok(Line::Text(text)) => text,
            Ok(Line::Interrupt) => continue,
            Ok(Line::End) | Err(_) => break,
        };
        tokio::select! {
            report = partner.ask(Request::Text(text), app, false, &mut front) => {
                let report = report?;
                say(&report.reply)?;
                if app.trace {
                    say_aside(&report.summary());
                }
                continue;
            }
            _ = tokio::signal::ctrl_c() => {}
        }
        partner.cancel().await;
        say_aside(&prompts::words::cancelled());
    }
    Ok(ExitCode::SUCCESS)
}

/// The line editor blocks, so it lives on a thread of its own and reads a line when it is asked for one:
/// while an answer is on its way the terminal is in its usual mode and Ctrl-C is a signal.
fn editor(app: &App) -> anyhow::Result<mpsc::Sender<oneshot::Sender<Line>>> {
    let history = app.paths.state.join("chat-history");
    app.paths.create()?;
    let mut editor = DefaultEditor::new().context("this terminal cannot be used")?;
    // The first time there is no history.
    let _ = editor.load_history(&history);
    let (ask, mut asked) = mpsc::channel::<oneshot::Sender<Line>>(1);
    std::thread::spawn(move || {
        while let Some(tell) = asked.blocking_recv() {
            let line = match editor.readline("> ") {
                Ok(text) => {
                    if editor.add_history_entry(&text).is_ok_and(|added| added)
                        && let Err(error) = editor.save_history(&history)
                    {
                        tracing::warn!(%error, "the history was not saved");
                    }
                    Line::Text(text)
                }
                Err(ReadlineError::Interrupted) => Line::Interrupt,
                Err(_) => Line::End,
            };
            if tell.send(line).is_err() {
                break;
            }
        }
    });
    Ok(ask)
}
