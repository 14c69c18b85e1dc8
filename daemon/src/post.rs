//! Mail accounts: who we are there, one run by request, and what the daemon does by itself.

mod indexing;
mod schedule;

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use anyhow::ensure;
use futures_util::future::BoxFuture;
use tokio::runtime::Handle;
use tools::{
    Dirs, Mail,
    system::{
        mail::outbox::{Outbox, OutboxError, State, Ticket},
        post::{
            self, Access, Deliver, Delivery, DrainError, Drained, Handing, Login, Protocol, Reading, Report,
            Sending, Server, Smtp, Stop,
        },
    },
};

pub use schedule::{Post, keep_in_step};

use crate::{
    config::{Config, MailAccount},
    secret::{self, Place},
};

/// The accounts of the config, each complete.
///
/// # Errors
/// Which account lacks what, and two of one name.
pub fn accounts(config: &Config) -> anyhow::Result<Vec<MailAccount>> {
    let mut seen: Vec<&str> = Vec::new();
    for (number, account) in config.accounts.mail.iter().enumerate() {
        let name = account.name.as_str();
        ensure!(
            !name.is_empty(),
            "Account {} below [[accounts.mail]] has no name.",
            number + 1
        );
        ensure!(
            !seen.contains(&name),
            "Two accounts below [[accounts.mail]] are called {name}."
        );
        ensure!(
            !account.address.as_str().is_empty(),
            "The account {name} has no address."
        );
        ensure!(
            !(account.imap.as_str().is_empty() && account.smtp.as_str().is_empty()),
            "The account {name} has neither imap nor smtp, so there is nothing to do with it."
        );
        ensure!(
            !account.user.chars().any(char::is_control) && !account.sender.chars().any(char::is_control),
            "The account {name} has a user or a sender with a character that no name may have."
        );
        place(account).check()?;
        seen.push(name);
    }
    Ok(config.accounts.mail.clone())
}

/// One run of one account that has an IMAP server. What goes wrong is in the report. What is found among the sent mail is
/// no longer unsure in the outbox. Dropping the future ends the run at its next step.
pub async fn run(account: &MailAccount, mail: &Mail, dirs: &Dirs, force: bool) -> Report {
    let name = account.name.as_str().to_owned();
    let failed = |error: String| Report {
        account: name.clone(),
        error: Some(error),
        ..Report::default()
    };
    let access = match access(account, account.imap.as_str(), Protocol::Imap).await {
        Ok(access) => access,
        Err(error) => return failed(format!("{error:#}")),
    };
    let Some(known) = mail.accounts.iter().find(|known| known.name == name) else {
        return failed("There is no such account.".to_owned());
    };
    let reading = Reading {
        name: name.clone(),
        access,
        maildir: known.maildir.clone(),
        messages: account.messages,
        max_size: u64::from(account.max_mib) << 20,
        force,
    };
    let dropped = Dropped(Arc::default());
    let (flag, state) = (Arc::clone(&dropped.0), dirs.state.clone());
    let work = tokio::task::spawn_blocking(move || {
        let watch = || match flag.load(Ordering::Relaxed) {
            true => Err(Stop),
            false => Ok(()),
        };
        let outbox = Outbox::at(&state);
        let unsure: Vec<String> = outbox
            .entries()
            .unwrap_or_default()
            .into_iter()
            .filter(|entry| entry.state == State::Unsure && entry.ticket.account == reading.name)
            .map(|entry| entry.ticket.message_id)
            .collect();
        let report = Handle::current().block_on(post::sync(&reading, &state, &unsure, &watch));
        if !report.arrived.is_empty()
            && let Err(error) = post::settle_arrived(&outbox, &report.arrived)
        {
            tracing::warn!(%error, "mail that has gone stays in the outbox");
        }
        report
    });
    work.await
        .unwrap_or_else(|_| failed("The run broke off. The next run goes on from there.".to_owned()))
}

/// Sends what waits in the outbox and is due; with `force` also what is to be tried again later.
///
/// # Errors
/// When the outbox cannot be read or written.
pub async fn send(
    accounts: &[MailAccount],
    mail: &Mail,
    dirs: &Dirs,
    force: bool,
) -> Result<Drained, DrainError> {
    let sending: Vec<Sending> = accounts
        .iter()
        .filter(|account| !account.smtp.as_str().is_empty())
        .filter_map(|account| {
            let known = mail.accounts.iter().find(|k| k.name == account.name.as_str())?;
            Some(Sending {
                name: known.name.clone(),
                maildir: known.maildir.clone(),
                save_sent: account.save_sent,
            })
        })
        .collect();
    let (servers, outbox) = (Servers(accounts.to_vec()), Outbox::at(&dirs.state));
    let dropped = Dropped(Arc::default());
    let flag = Arc::clone(&dropped.0);
    let work = tokio::task::spawn_blocking(move || {
        // A mail that is on its way is waited for when the program ends.
        let _writing = crate::act::Writing::begin();
        let watch = || match flag.load(Ordering::Relaxed) {
            true => Err(Stop),
            false => Ok(()),
        };
        Handle::current().block_on(post::drain(&outbox, &sending, &servers, force, &watch))
    });
    work.await.unwrap_or(Err(DrainError::Stopped(Stop)))
}

/// The accounts as the outbox sees them.
struct Servers(Vec<MailAccount>);

impl Deliver for Servers {
    fn deliver<'d>(
        &'d self,
        ticket: &'d Ticket,
        message: &'d [u8],
        handing: Handing<'d>,
    ) -> BoxFuture<'d, Result<Delivery, OutboxError>> {
        Box::pin(async move {
            let Some(account) = self.0.iter().find(|a| a.name.as_str() == ticket.account) else {
                return Ok(Delivery::Later("There is no such account any more.".to_owned()));
            };
            let access = match access(account, account.smtp.as_str(), Protocol::Smtp).await {
                Ok(access) => access,
                Err(error) => return Ok(Delivery::Later(format!("{error:#}."))),
            };
            let account = account.name.as_str().to_owned();
            Smtp { account, access }.deliver(ticket, message, handing).await
        })
    }
}

/// The way to one of an account's servers, its secret fetched anew: a token lives for an hour.
pub async fn access(account: &MailAccount, url: &str, protocol: Protocol) -> anyhow::Result<Access> {
    let server = Server::parse(url, protocol).map_err(anyhow::Error::msg)?;
    let user = match account.user.as_str() {
        "" => account.address.as_str(),
        user => user,
    };
    let secret = match place(account).secret().await? {
        secret::Secret::Password(password) => post::Secret::Password(password),
        secret::Secret::Token(token) => post::Secret::Token(token),
    };
    Ok(Access {
        server,
        login: Login {
            user: user.to_owned(),
            secret,
        },
        allow_plain: account.allow_plain,
        certificates: account.certificates.path(),
    })
}

fn place(account: &MailAccount) -> Place<'_> {
    Place {
        account: account.name.as_str(),
        password_command: &account.password_command,
        password_file: &account.password_file,
        token_command: &account.token_command,
    }
}

/// Raises the flag when it goes.
struct Dropped(Arc<AtomicBool>);

impl Drop for Dropped {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "[[accounts.mail]]\nname = 'home'\naddress = 'ada@example.org'\nimap = 'imaps://a'\nsmtp = 'smtps://a'\n";

    #[test]
    fn accounts_are_complete() {
        #[track_caller]
        fn check(toml: &str, expect: Result<usize, &str>) {
            let config: Config = toml::from_str(toml).unwrap();
            let got = accounts(&config).map(|all| all.len()).map_err(|e| e.to_string());
            assert_eq!(got, expect.map_err(str::to_owned));
        }
        check("", Ok(0));
        check(GOOD, Ok(1));
        check(
            &GOOD.repeat(2),
            Err("Two accounts below [[accounts.mail]] are called home."),
        );
        check(
            "[[accounts.mail]]\n",
            Err("Account 1 below [[accounts.mail]] has no name."),
        );
        check(
            &GOOD.replace("address", "# address"),
            Err("The account home has no address."),
        );
        check(&GOOD.replace("imap", "# imap"), Ok(1));
        check(
            &GOOD.replace("imap", "# imap").replace("smtp", "# smtp"),
            Err("The account home has neither imap nor smtp, so there is nothing to do with it."),
        );
        check(
            &format!("{GOOD}token_command = 'x'\npassword_file = '/x'"),
            Err("The account home may have one of password_command, password_file and token_command."),
        );
    }

    #[test]
    fn each_account_has_a_maildir_and_the_first_that_sends_comes_first() {
        let reads = GOOD.replace("home", "reads").replace("smtp", "# smtp");
        let sends = GOOD.replace("home", "sends").replace("imap", "# imap");
        let config: Config = toml::from_str(&format!("mail.recall = '3s'\n{reads}{sends}")).unwrap();
        let home = tempfile::tempdir().unwrap();
        let paths = crate::paths::Paths::under(home.path());
        let mail = config.mail(&paths);
        let own = config.dirs(&paths).mail;
        let seen: Vec<_> = mail
            .accounts
            .iter()
            .map(|a| (a.name.as_str(), a.sends, a.maildir.clone()))
            .collect();
        assert_eq!(
            seen,
            [
                ("sends", true, own.clone()),
                ("reads", false, own.join("accounts/reads"))
            ]
        );
        assert_eq!(mail.recall, std::time::Duration::from_secs(3));
    }

    #[tokio::test]
    async fn a_token_is_asked_for_each_time_because_it_runs_out() {
        let home = tempfile::tempdir().unwrap();
        let file = home.path().join("token");
        let toml = format!("{GOOD}token_command = \"cat '{}'\"\n", file.display());
        let config: Config = toml::from_str(&toml).unwrap();
        let account = &accounts(&config).unwrap()[0];
        for token in ["first", "second"] {
            std::fs::write(&file, format!("{token}\n")).unwrap();
            for (url, protocol) in [
                (account.imap.as_str(), Protocol::Imap),
                (account.smtp.as_str(), Protocol::Smtp),
            ] {
                let access = access(account, url, protocol).await.unwrap();
                assert_eq!(access.login.user, "ada@example.org");
                assert!(matches!(access.login.secret, post::Secret::Token(got) if got == token));
            }
        }
    }

    /// A block of the README that holds these words.
    fn shown(language: &str, words: &str) -> String {
        let readme = include_str!("../../README.md");
        let begins = format!("```{language}\n");
        let blocks = readme.split(&begins).skip(1);
        let mut blocks = blocks.filter_map(|rest| rest.split_once("```").map(|(block, _)| block));
        blocks.find(|block| block.contains(words)).unwrap().to_owned()
    }

    /// A provider of tokens (RFC 6749, section 6): answers each request with the next of these, and gives back what it was asked.
    fn provider(
        answers: Vec<(&'static str, &'static str)>,
    ) -> (String, std::thread::JoinHandle<Vec<String>>) {
        use std::io::{Read as _, Write as _};
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/token", listener.local_addr().unwrap());
        let asked = std::thread::spawn(move || {
            let mut asked = Vec::new();
            for (status, body) in answers {
                let (mut client, _) = listener.accept().unwrap();
                let patience = Some(std::time::Duration::from_secs(20));
                client.set_read_timeout(patience).unwrap();
                let (mut request, mut block) = (String::new(), [0; 4096]);
                while !request.contains("refresh_token=") {
                    let read = client.read(&mut block).unwrap();
                    assert!(read > 0, "{request}");
                    request.push_str(&String::from_utf8_lossy(&block[..read]));
                }
                let length = body.len();
                let head =
                    format!("HTTP/1.1 {status}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n");
                client.write_all((head + body).as_bytes()).unwrap();
                asked.push(request);
            }
            asked
        });
        (url, asked)
    }

    /// The README's own script and files, with real curl, between a real provider's form of answer and the account.
    #[tokio::test]
    async fn the_token_command_of_the_readme_prints_a_token() {
        if std::process::Command::new("curl")
            .arg("--version")
            .output()
            .is_err()
        {
            assert!(std::env::var_os("TIRO_REQUIRE_REAL").is_none(), "curl is missing");
            eprintln!("SKIPPED: curl is missing");
            return;
        }
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().to_str().unwrap();
        let (url, asked) = provider(vec![
            (
                "200 OK",
                "{\"token_type\":\"Bearer\",\"access_token\":\"ya29.one\",\"expires_in\":3599}",
            ),
            (
                "200 OK",
                "{\n  \"access_token\": \"ya29.two\",\n  \"expires_in\": 3599\n}\n",
            ),
            ("400 Bad Request", "{\"error\": \"invalid_grant\"}"),
        ]);
        let here = |text: String| text.replace("/home/ada/.config/tiro", folder);
        let script = here(shown("sh", "access_token")).replace("https://oauth2.example.org/token", &url);
        assert!(script.contains(&url));
        std::fs::write(home.path().join("token.sh"), script).unwrap();
        std::fs::write(home.path().join("token.curl"), shown("text", "refresh_token")).unwrap();
        let config: Config = toml::from_str(&here(shown("toml", "token_command"))).unwrap();
        let account = &accounts(&config).unwrap()[0];
        for token in ["ya29.one", "ya29.two"] {
            let access = access(account, account.imap.as_str(), Protocol::Imap)
                .await
                .unwrap();
            assert!(matches!(access.login.secret, post::Secret::Token(got) if got == token));
        }
        let error = format!(
            "{:#}",
            access(account, account.imap.as_str(), Protocol::Imap)
                .await
                .err()
                .unwrap()
        );
        assert!(
            error.contains("The token_command of the account work did not work"),
            "{error}"
        );
        for request in asked.join().unwrap() {
            assert!(
                request.ends_with("grant_type=refresh_token&client_id=tiro&refresh_token=1%2F%2F0example"),
                "{request}"
            );
        }
    }

    #[tokio::test]
    async fn what_cannot_begin_says_why() {
        let home = tempfile::tempdir().unwrap();
        let toml = "[[accounts.mail]]\nname = 'home'\naddress = 'ada@example.org'\nimap = 'imap://127.0.0.1:9'\n\
                    smtp = 'smtp://127.0.0.1:9'\npassword_command = 'false'\n";
        let mut config: Config = toml::from_str(toml).unwrap();
        let paths = crate::paths::Paths::under(home.path());
        let (mail, dirs) = (config.mail(&paths), config.dirs(&paths));
        let all = accounts(&config).unwrap();
        let report = run(&all[0], &mail, &dirs, false).await;
        assert!(
            report
                .error
                .unwrap()
                .contains("password_command of the account home did not work")
        );
        config.accounts.mail[0].password_command = "echo x".to_owned();
        let all = accounts(&config).unwrap();
        let report = run(&all[0], &mail, &dirs, false).await;
        assert!(report.offline && report.error.unwrap().contains("nothing listens there"));
        let drained = send(&all, &mail, &dirs, false).await.unwrap();
        assert_eq!(drained, Drained::default());
    }
}
