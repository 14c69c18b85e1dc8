//! Whether each account can be used: its servers are asked, and left again at once. What waits in the outbox is here, too.

use std::time::Duration;

use tools::system::{
    mail::outbox::Outbox,
    post::{self as wire, Protocol, Smtp},
};

use super::report::Section;
use crate::{
    cli::app::App,
    config::{Config, MailAccount},
    dav, post,
};

/// Longest time for one server.
const SERVER_TIME: Duration = Duration::from_secs(20);

/// All accounts of the config.
pub async fn accounts(app: &App) -> Section {
    let mut section = Section::new("accounts");
    match dav::accounts(&app.config) {
        Ok(all) => {
            for account in all {
                let (name, url) = (account.name.as_str(), account.url.as_str());
                section.info("dav", format!("{name} at {url}; `tiro sync {name}` tries it."));
            }
        }
        Err(error) => section.fail("dav", format!("{error:#}"), "Complete it in the config."),
    }
    match post::accounts(&app.config) {
        Ok(all) => {
            for account in &all {
                mail(&mut section, account).await;
            }
        }
        Err(error) => section.fail("mail", format!("{error:#}"), "Complete it in the config."),
    }
    match Outbox::at(&app.paths.state).entries() {
        Ok(entries) => {
            for problem in entries.iter().filter_map(|entry| entry.problem()).take(20) {
                section.warn("outbox", problem, "`tiro outbox` shows everything that waits.");
            }
        }
        Err(error) => section.fail("outbox", format!("{error}."), "Make the folder readable for you."),
    }
    section
}

/// Says which servers of the person's own are told what. Whether there are any.
pub fn privacy(section: &mut Section, config: &Config) -> bool {
    let mail = config.accounts.mail.iter();
    let mail = mail.flat_map(|account| [account.imap.as_str(), account.smtp.as_str()]);
    let mut servers: Vec<&str> = mail.filter(|url| !url.is_empty()).collect();
    servers.extend(config.accounts.dav.iter().map(|account| account.url.as_str()));
    // An account often has one server for several things.
    let mut seen = std::collections::HashSet::new();
    servers.retain(|server| !server.is_empty() && seen.insert(*server));
    if !servers.is_empty() {
        let servers = servers.join(", ");
        section.info(
            "accounts",
            format!("Your mail, calendars and contacts are kept in step with the servers of your accounts: {servers}."),
        );
    }
    !servers.is_empty()
}

async fn mail(section: &mut Section, account: &MailAccount) {
    let name = account.name.as_str();
    for (url, protocol, what) in [
        (account.imap.as_str(), Protocol::Imap, "is read at"),
        (account.smtp.as_str(), Protocol::Smtp, "is sent by"),
    ] {
        if url.is_empty() {
            continue;
        }
        let tried = async {
            let access = post::access(account, url, protocol)
                .await
                .map_err(|e| format!("{e:#}."))?;
            match protocol {
                Protocol::Imap => wire::check(&access).await.map_err(|e| e.sentence(name)),
                Protocol::Smtp => {
                    let account = name.to_owned();
                    Smtp { account, access }.check().await
                }
            }
        };
        match tokio::time::timeout(SERVER_TIME, tried).await {
            Ok(Ok(())) => section.ok("mail", format!("{name} {what} {url}.")),
            // What is outside of this machine may be well tomorrow.
            Ok(Err(why)) => section.warn(
                "mail",
                format!("{name}: {why}"),
                "Correct the account in the config, or try again when you are online.",
            ),
            Err(_) => section.warn(
                "mail",
                format!("{name}: {url} does not answer."),
                "Try again later.",
            ),
        }
    }
}
