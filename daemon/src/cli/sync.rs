//! `tiro sync`: one run of the accounts, with progress; 0 when everything is in step.

use std::{
    io::{IsTerminal as _, Write},
    process::ExitCode,
    sync::Arc,
};

use anyhow::{bail, ensure};
use indicatif::ProgressBar;
use tools::system::dav::{Report, Step, Synced};

use super::{SyncArgs, app::App, say};
use crate::{
    dav::{self, Progress},
    reply::say_aside,
};

/// Synchronises the accounts that were named, or all.
///
/// # Errors
/// When there is no such account, or the config is not complete; what goes wrong in a run is in its report.
pub async fn run(app: &App, args: &SyncArgs) -> anyhow::Result<ExitCode> {
    let accounts = dav::accounts(&app.config)?;
    let names: Vec<&str> = accounts.iter().map(|a| a.name.as_str()).collect();
    if accounts.is_empty() {
        bail!(
            "There is no account. Add one below [[accounts.dav]] in {}; `tiro config show` lists its keys.",
            app.paths.config.display()
        );
    }
    let wanted = args.accounts.iter().chain(&args.force);
    for name in wanted.clone() {
        ensure!(
            names.contains(&name.as_str()),
            "There is no account {name}. There is: {}.",
            names.join(", ")
        );
    }
    app.paths.create()?;
    let dirs = app.config.dirs(&app.paths);
    let all = args.accounts.is_empty() && args.force.is_empty();
    let mut reports = Vec::new();
    for account in accounts {
        let name = account.name.as_str();
        if !all && !wanted.clone().any(|n| n == name) {
            continue;
        }
        let force = args.force.iter().any(|n| n == name);
        let (bar, progress) = bar(name);
        let report = tokio::select! {
            report = dav::run(&account, &dirs, force, progress) => report,
            _ = tokio::signal::ctrl_c() => {
                bar.finish_and_clear();
                say_aside("tiro: stopped; the next run goes on from there");
                return Ok(ExitCode::FAILURE);
            }
        };
        bar.finish_and_clear();
        if !args.json {
            show(&report, &mut std::io::stdout().lock())?;
        }
        reports.push(report);
    }
    if args.json {
        say(&serde_json::json!({ "accounts": reports }).to_string())?;
    }
    match reports.iter().all(Report::ok) {
        true => Ok(ExitCode::SUCCESS),
        false => Ok(ExitCode::FAILURE),
    }
}

fn bar(account: &str) -> (ProgressBar, Progress) {
    let bar = match std::io::stderr().is_terminal() {
        true => ProgressBar::new_spinner(),
        false => ProgressBar::hidden(),
    };
    bar.set_message(format!("{account}: asking the server"));
    let (shown, account) = (bar.clone(), account.to_owned());
    let progress: Progress = Arc::new(move |step| {
        if let Step::Change {
            collection,
            done,
            all,
        } = step
        {
            shown.set_message(format!("{account}: {collection}, {} of {all}", done + 1));
        }
        shown.tick();
    });
    (bar, progress)
}

/// A line for each collection, and what the person should know below it.
fn show(report: &Report, out: &mut dyn Write) -> anyhow::Result<()> {
    let mut lines = Vec::new();
    for synced in &report.collections {
        lines.push(format!(
            "{}, {}: {}",
            report.account,
            synced.name,
            summary(synced)
        ));
        lines.extend(synced.notes.iter().map(|note| format!("  {note}")));
        lines.extend(
            synced
                .error
                .iter()
                .map(|error| format!("  Not finished. {error}")),
        );
    }
    lines.extend(
        report
            .error
            .iter()
            .map(|error| format!("{}: {error}", report.account)),
    );
    match writeln!(out, "{}", lines.join("\n")) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => Err(error.into()),
        _ => Ok(()),
    }
}

fn summary(synced: &Synced) -> String {
    let counts = [
        (synced.pulled, "taken"),
        (synced.pushed, "sent"),
        (synced.removed_here, "deleted here"),
        (synced.removed_there, "deleted on the server"),
        (synced.conflicts, "kept twice"),
    ];
    let parts: Vec<String> = counts
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| format!("{count} {what}"))
        .collect();
    match parts.is_empty() {
        true if synced.error.is_none() => "in step.".to_owned(),
        true => "nothing was changed.".to_owned(),
        false => format!("{}.", parts.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_is_a_few_lines() {
        let synced = Synced {
            name: "Work".into(),
            pulled: 3,
            conflicts: 1,
            notes: vec!["A note.".into()],
            ..Synced::default()
        };
        let failed = Synced {
            name: "Home".into(),
            error: Some("Why.".into()),
            ..Synced::default()
        };
        let report = Report {
            account: "a".into(),
            collections: vec![
                synced,
                failed,
                Synced {
                    name: "Quiet".into(),
                    ..Synced::default()
                },
            ],
            error: Some("The server is busy.".into()),
            offline: false,
        };
        let mut out = Vec::new();
        show(&report, &mut out).unwrap();
        let expect = "a, Work: 3 taken, 1 kept twice.\n  A note.\na, Home: nothing was changed.\n  Not finished. Why.\n\
                      a, Quiet: in step.\na: The server is busy.\n";
        assert_eq!(String::from_utf8(out).unwrap(), expect);
    }
}
