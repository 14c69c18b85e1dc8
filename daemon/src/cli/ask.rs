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
    // Who asks for the desktop is not in front of a terminal.
    let interactive = !args.notify && std::io::stdin().is_terminal() && std::io::stderr().is_terminal();
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
    anyhow::ensure!(
        !args.notify || matches!(partner, Partner::Daemon(_)),
        "only the daemon can ask on the desktop; start it with `tiro daemon`"
    );
    let option = args.notify.then_some("notify");
    if args.new {
        partner.begin_anew().await?;
    }
    let asked = tokio::select! {
        asked = partner.ask_with(request, app, &mut front, option) => Some(asked?),
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
