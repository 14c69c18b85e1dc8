//! `tiro ask`: one turn by text or by voice.

use std::{io::IsTerminal as _, process::ExitCode};

use super::{
    AskArgs,
    app::App,
    exit_code,
    partner::{Partner, Request},
    say,
};
use crate::reply::{Terminal, say_aside};

/// Runs one turn and prints its answer, or all of it with `--json`.
pub async fn run(app: &App, args: AskArgs) -> anyhow::Result<ExitCode> {
    let interactive = std::io::stdin().is_terminal() && std::io::stderr().is_terminal();
    let mut front = Terminal {
        verbose: app.trace,
        yes: args.yes,
        interactive,
    };
    let request = match args.wav {
        Some(path) => Request::Wav(path),
        None => Request::Text(args.text.join(" ")),
    };
    let mut partner = Partner::find(app).await?;
    if args.new {
        partner.begin_anew().await?;
    }
    let asked = tokio::select! {
        asked = partner.ask(request, app, &mut front) => Some(asked?),
        _ = tokio::signal::ctrl_c() => None,
    };
    let Some(report) = asked else {
        say_aside(&partner.cancel().await);
        return Ok(ExitCode::FAILURE);
    };
    if app.trace {
        say_aside(&report.summary());
    }
    match args.json {
        true => say(&serde_json::to_string(&report)?)?,
        false => say(&report.reply)?,
    }
    Ok(exit_code(report.end))
}
