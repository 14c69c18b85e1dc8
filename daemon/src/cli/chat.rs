//! `tiro chat`: a conversation in the terminal, the text-mode front.

use std::{
    io::{BufRead as _, IsTerminal as _, Read as _},
    process::ExitCode,
};

use anyhow::Context as _;
use futures_util::StreamExt as _;
use rustyline::{DefaultEditor, ExternalPrinter, error::ReadlineError};
use tokio::{
    sync::{mpsc, oneshot},
    task::JoinHandle,
};
use tools::system::plain;
use zbus::MessageStream;

use super::{
    app::App,
    partner::{Partner, Request},
    say,
};
use crate::{
    bus::{self, MAX_TEXT},
    reply::{Happening, Terminal, say_aside},
};

/// What the thread that reads has read.
enum Line {
    Text(String),
    /// Ctrl-C at the prompt.
    Interrupt,
    /// Ctrl-D, or the end of what was piped in.
    End,
}

/// Somebody who wants the next line.
type Wanted = oneshot::Sender<anyhow::Result<Line>>;

/// Writes a line above the prompt, whatever the person has typed there.
type Aside = Box<dyn FnMut(&str) + Send>;

/// Reads lines and answers them until Ctrl-D; what rings meanwhile is shown between them. Ctrl-C while an answer is on
/// its way stops it; without a prompt, which takes Ctrl-C itself, Ctrl-C between two answers leaves.
pub async fn run(app: &App) -> anyhow::Result<ExitCode> {
    let mut partner = Partner::find(app).await?;
    let prompt = std::io::stdin().is_terminal() && std::io::stdout().is_terminal();
    if prompt {
        say_aside("Ask me something. Ctrl-C stops me, Ctrl-D leaves.");
    }
    if let Partner::Here(room) = &mut partner {
        room.ready().await?;
    }
    let mut front = Terminal {
        verbose: app.trace,
        yes: false,
        interactive: std::io::stdin().is_terminal() && std::io::stderr().is_terminal(),
    };
    let (lines, aside) = match prompt {
        true => edited(app)?,
        false => (piped(), Box::new(say_aside) as Aside),
    };
    let _ringing = partner.signals().map(|signals| Ringing::show(signals, aside));
    loop {
        let (tell, told) = oneshot::channel();
        if lines.send(tell).await.is_err() {
            break;
        }
        let line = tokio::select! {
            line = told => line,
            _ = tokio::signal::ctrl_c(), if !prompt => break,
        };
        let text = match line {
            Ok(Ok(Line::Text(text))) if text.trim().is_empty() => continue,
            Ok(Ok(Line::Text(text))) => text,
            Ok(Ok(Line::Interrupt)) => continue,
            Ok(Ok(Line::End)) | Err(_) => break,
            Ok(Err(error)) => return Err(error),
        };
        let asked = tokio::select! {
            asked = partner.ask(Request::Text(text), app, &mut front) => Some(asked),
            _ = tokio::signal::ctrl_c() => None,
        };
        match asked {
            Some(Ok(report)) => {
                say(&report.reply)?;
                if app.trace {
                    say_aside(&report.summary());
                }
            }
            Some(Err(error)) if partner.is_gone() => return Err(error),
            Some(Err(error)) => say_aside(&format!("tiro: {error:#}")),
            None => say_aside(&partner.cancel().await),
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// The line editor blocks, so it lives on a thread of its own and reads a line when it is asked for one:
/// while an answer is on its way the terminal is in its usual mode and Ctrl-C is a signal.
fn edited(app: &App) -> anyhow::Result<(mpsc::Sender<Wanted>, Aside)> {
    let history = app.paths.state.join("chat-history");
    app.paths.create()?;
    let mut editor = DefaultEditor::new().context("this terminal cannot be used")?;
    let aside: Aside = match editor.create_external_printer() {
        Ok(mut printer) => Box::new(move |line| {
            // A terminal that is gone ends the chat by itself.
            let _ = printer.print(format!("{line}\n"));
        }),
        Err(_) => Box::new(say_aside),
    };
    // The first time there is no history.
    let _ = editor.load_history(&history);
    let lines = reader(move || match editor.readline("> ") {
        Ok(text) => {
            if editor.add_history_entry(&text).is_ok_and(|added| added)
                && let Err(error) = editor.save_history(&history)
            {
                tracing::warn!(%error, "the history was not saved");
            }
            Ok(Line::Text(text))
        }
        Err(ReadlineError::Interrupted) => Ok(Line::Interrupt),
        Err(ReadlineError::Eof) => Ok(Line::End),
        Err(error) => Err(error).context("cannot read from the terminal"),
    });
    Ok((lines, aside))
}

/// Shows what rings and what the daemon notices, until it is dropped.
struct Ringing(JoinHandle<()>);

impl Ringing {
    fn show(mut signals: MessageStream, mut aside: Aside) -> Ringing {
        Ringing(tokio::spawn(async move {
            while let Some(Ok(message)) = signals.next().await {
                if let Some(Happening::Rang { text, .. } | Happening::Noticed { text }) =
                    bus::happening(&message)
                {
                    aside(&plain::lines(&text));
                }
            }
        }))
    }
}

impl Drop for Ringing {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Lines of a file or a pipe, without a prompt. One that never ends is not kept whole.
fn piped() -> mpsc::Sender<Wanted> {
    reader(|| {
        let mut text = String::new();
        let most = std::io::stdin()
            .lock()
            .take(MAX_TEXT as u64 + 2)
            .read_line(&mut text);
        if most.context("cannot read the input")? == 0 {
            return Ok(Line::End);
        }
        let line = text.trim_end_matches(['\r', '\n']);
        anyhow::ensure!(line.len() <= MAX_TEXT, "a line has more than {MAX_TEXT} bytes");
        Ok(Line::Text(line.to_owned()))
    })
}

fn reader(mut read: impl FnMut() -> anyhow::Result<Line> + Send + 'static) -> mpsc::Sender<Wanted> {
    let (ask, mut asked) = mpsc::channel::<Wanted>(1);
    std::thread::spawn(move || {
        while let Some(tell) = asked.blocking_recv() {
            if tell.send(read()).is_err() {
                break;
            }
        }
    });
    ask
}
