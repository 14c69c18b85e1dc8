//! `tiro sync`: one run of the accounts, with progress; 0 when everything is in step.

use std::{
    io::{IsTerminal as _, Write},
    process::ExitCode,
    sync::Arc,
};

use anyhow::{bail, ensure};
use indicatif::ProgressBar;
use tools::system::{
    dav::{Report, Step, Synced},
    post::{Drained, Report as MailReport},
};

use super::{SyncArgs, app::App, say};
use crate::{
    dav::{self, Progress},
    post,
    reply::say_aside,
};

/// Synchronises the accounts that were named, or all.
///
/// # Errors
/// When there is no such account, or the config is not complete; what goes wrong in a run is in its report.
pub async fn run(app: &App, args: &SyncArgs) -> anyhow::Result<ExitCode> {
    let accounts = dav::accounts(&app.config)?;
    let posts = post::accounts(&app.config)?;
    let mut names: Vec<&str> = accounts.iter().map(|a| a.name.as_str()).collect();
    names.extend(posts.iter().map(|a| a.name.as_str()));
    if names.is_empty() {
        bail!(
            "There is no account. Add one below [[accounts.dav]] or [[accounts.mail]] in {}; `tiro config show` lists \
             their keys.",
            app.paths.config.display()
        );
    }
    names.sort_unstable();
    names.dedup();
    let wanted = args.accounts.iter().chain(&args.force);
    for name in wanted.clone() {
        ensure!(
            names.contains(&name.as_str()),
            "There is no account {name}. There is: {}.",
            names.join(", ")
        );
    }
    app.paths.create()?;
    let all = args.accounts.is_empty() && args.force.is_empty();
    let work = async {
        let is_wanted = |name: &str| all || wanted.clone().any(|n| n == name);
        let is_forced = |name: &str| args.force.iter().any(|n| n == name);
        let dirs = app.config.dirs(&app.paths);
        let mut reports = Vec::new();
        for account in accounts.iter().filter(|a| is_wanted(a.name.as_str())) {
            let name = account.name.as_str();
            let (bar, progress) = bar(name);
            let _clear = Clear(bar);
            let report = dav::run(account, &dirs, is_forced(name), progress).await;
            if !args.json {
                show(&report, &mut std::io::stdout().lock())?;
            }
            reports.push(report);
        }
        let posts: Vec<_> = posts
            .iter()
            .filter(|a| is_wanted(a.name.as_str()))
            .cloned()
            .collect();
        let mail = app.config.mail(&app.paths);
        let mut drained = Drained::default();
        let mut mails = Vec::new();
        if !posts.is_empty() {
            let _clear = Clear(bar("mail").0);
            let sending = post::accounts(&app.config)?;
            drained = post::send(&sending, &mail, &dirs, true).await?;
            for account in posts.iter().filter(|a| !a.imap.as_str().is_empty()) {
                mails.push(post::run(account, &mail, &dirs, is_forced(account.name.as_str())).await);
            }
        }
        if !args.json {
            let lines = mail_lines(drained, &mails);
            if !lines.is_empty() {
                say(&lines.join("\n"))?;
            }
        }
        anyhow::Ok((reports, mails, drained))
    };
    let (reports, mails, drained) = tokio::select! {
        done = work => done?,
        _ = tokio::signal::ctrl_c() => {
            say_aside("tiro: stopped; the next run goes on from there");
            return Ok(ExitCode::FAILURE);
        }
    };
    if args.json {
        let outbox = serde_json::json!({
            "sent": drained.sent, "later": drained.later, "stuck": drained.stuck,
        });
        say(&serde_json::json!({ "accounts": reports, "mail": mails, "outbox": outbox }).to_string())?;
    }
    let ok = reports.iter().all(Report::ok) && mails.iter().all(|mail| mail.ok());
    match ok && drained.later + drained.stuck == 0 {
        true => Ok(ExitCode::SUCCESS),
        false => Ok(ExitCode::FAILURE),
    }
}

/// Takes a bar away when it goes.
struct Clear(ProgressBar);

impl Drop for Clear {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}

/// A line for what was sent, and for each folder in which something was done.
fn mail_lines(drained: Drained, reports: &[MailReport]) -> Vec<String> {
    let mut lines = Vec::new();
    let outbox = counted(&[
        (drained.sent, "sent"),
        (drained.later, "to be tried again"),
        (drained.stuck, "waiting for you, see `tiro outbox`"),
    ]);
    lines.extend(outbox.map(|text| format!("outbox: {text}")));
    for report in reports {
        let account = &report.account;
        for folder in &report.folders {
            let done = counted(&[
                (folder.pulled, "taken"),
                (folder.pushed, "sent"),
                (folder.flagged, "marked"),
                (folder.moved, "moved on the server"),
                (folder.removed, "deleted here"),
            ]);
            let done = done.unwrap_or_else(|| "nothing was changed.".to_owned());
            lines.push(format!("{account}, {}: {done}", folder.name));
            lines.extend(folder.notes.iter().map(|note| format!("  {note}")));
            lines.extend(
                folder
                    .error
                    .iter()
                    .map(|error| format!("  Not finished. {error}")),
            );
        }
        match &report.error {
            Some(error) => lines.push(format!("{account}: {error}")),
            None if report.folders.is_empty() => lines.push(format!("{account}, mail: in step.")),
            None => {}
        }
    }
    lines
}

/// `2 taken, 1 sent.`, without what did not happen; nothing when nothing did.
fn counted(counts: &[(usize, &str)]) -> Option<String> {
    let happened = counts.iter().filter(|(count, _)| *count > 0);
    let parts: Vec<String> = happened.map(|(count, what)| format!("{count} {what}")).collect();
    (!parts.is_empty()).then(|| format!("{}.", parts.join(", ")))
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
    match counted(&counts) {
        Some(text) => text,
        None if synced.error.is_none() => "in step.".to_owned(),
        None => "nothing was changed.".to_owned(),
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
        let mail = MailReport {
            account: "b".into(),
            folders: vec![tools::system::post::Synced {
                name: "INBOX".into(),
                pulled: 2,
                flagged: 1,
                notes: vec!["A note.".into()],
                ..Default::default()
            }],
            ..MailReport::default()
        };
        let quiet = MailReport {
            account: "c".into(),
            ..MailReport::default()
        };
        let drained = Drained {
            sent: 1,
            later: 2,
            stuck: 0,
        };
        assert_eq!(
            mail_lines(drained, &[mail, quiet]),
            [
                "outbox: 1 sent, 2 to be tried again.",
                "b, INBOX: 2 taken, 1 marked.",
                "  A note.",
                "c, mail: in step.",
            ]
        );
        let mut out = Vec::new();
        show(&report, &mut out).unwrap();
        let expect = "a, Work: 3 taken, 1 kept twice.\n  A note.\na, Home: nothing was changed.\n  Not finished. Why.\n\
                      a, Quiet: in step.\na: The server is busy.\n";
        assert_eq!(String::from_utf8(out).unwrap(), expect);
    }
}
