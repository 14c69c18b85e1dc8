//! Accounts on servers: who we are there, one run by request, and the runs that the daemon makes by itself.

mod schedule;

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use anyhow::ensure;
use tools::{
    Dirs,
    system::dav::{self, Account, Http, Kind, Login, Patience, Report, Step, Stop},
};

pub use schedule::keep_in_step;

use crate::{
    config::{Config, DavAccount},
    secret::{Place, Secret},
};

/// The accounts of the config, each complete.
///
/// # Errors
/// Which account lacks what, and two of one name.
pub fn accounts(config: &Config) -> anyhow::Result<Vec<DavAccount>> {
    let mut seen: Vec<&str> = Vec::new();
    for (number, account) in config.accounts.dav.iter().enumerate() {
        let name = account.name.as_str();
        ensure!(
            !name.is_empty(),
            "Account {} below [[accounts.dav]] has no name.",
            number + 1
        );
        ensure!(
            !seen.contains(&name),
            "Two accounts below [[accounts.dav]] are called {name}."
        );
        ensure!(!account.url.as_str().is_empty(), "The account {name} has no url.");
        ensure!(
            account.calendars || account.contacts,
            "The account {name} keeps neither calendars nor contacts in step."
        );
        place(account).check()?;
        ensure!(
            !account.user.is_empty() || !account.token_command.is_empty(),
            "The account {name} has no user."
        );
        ensure!(
            !account.user.contains(':') && !account.user.chars().any(char::is_control),
            "The user of the account {name} has a character that no user name may have."
        );
        seen.push(name);
    }
    Ok(config.accounts.dav.clone())
}

/// What is told while a run goes on.
pub type Progress = Arc<dyn Fn(&Step) + Send + Sync>;

/// One run of one account. What goes wrong is in the report. Dropping the future ends the run at its next step.
pub async fn run(account: &DavAccount, dirs: &Dirs, force: bool, progress: Progress) -> Report {
    let name = account.name.as_str().to_owned();
    let failed = |error: String| Report {
        account: name.clone(),
        error: Some(error),
        ..Report::default()
    };
    let login = match login(account).await {
        Ok(login) => login,
        Err(error) => return failed(format!("{error:#}")),
    };
    let (origin, path) = match Account::place(account.url.as_str()) {
        Ok(place) => place,
        Err(error) => return failed(error),
    };
    let kinds = [
        (account.calendars, Kind::Calendar),
        (account.contacts, Kind::Contacts),
    ];
    let wanted = Account {
        name: name.clone(),
        origin,
        path,
        kinds: kinds
            .into_iter()
            .filter_map(|(yes, kind)| yes.then_some(kind))
            .collect(),
        collections: account.collections.clone(),
        force,
        allow_http: account.allow_http,
    };
    let dropped = Dropped(Arc::default());
    let (flag, dirs) = (Arc::clone(&dropped.0), dirs.clone());
    let work = tokio::task::spawn_blocking(move || {
        let http = Http::new(&wanted.origin, &login, Patience::default());
        dav::sync(&wanted, &dirs, &http, &|step| {
            progress(step);
            match flag.load(Ordering::Relaxed) {
                true => Err(Stop),
                false => Ok(()),
            }
        })
    });
    work.await
        .unwrap_or_else(|_| failed("The run broke off. The next run goes on from there.".to_owned()))
}

/// Raises the flag when it goes.
struct Dropped(Arc<AtomicBool>);

impl Drop for Dropped {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

async fn login(account: &DavAccount) -> anyhow::Result<Login> {
    Ok(match place(account).secret().await? {
        Secret::Token(token) => Login::Bearer(token),
        Secret::Password(password) => Login::Basic {
            user: account.user.clone(),
            password,
        },
    })
}

fn place(account: &DavAccount) -> Place<'_> {
    Place {
        account: account.name.as_str(),
        password_command: &account.password_command,
        password_file: &account.password_file,
        token_command: &account.token_command,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accounts_are_complete() {
        #[track_caller]
        fn check(toml: &str, expect: Result<usize, &str>) {
            let config: Config = toml::from_str(toml).unwrap();
            match (accounts(&config), expect) {
                (Ok(all), Ok(count)) => assert_eq!(all.len(), count),
                (got, expect) => assert_eq!(
                    got.map(|a| a.len()).map_err(|e| e.to_string()),
                    expect.map_err(str::to_owned)
                ),
            }
        }
        const GOOD: &str = "[[accounts.dav]]\nname = 'home'\nurl = 'https://a'\nuser = 'ada'\n";
        check("", Ok(0));
        check(GOOD, Ok(1));
        check(
            &GOOD.repeat(2),
            Err("Two accounts below [[accounts.dav]] are called home."),
        );
        check(
            "[[accounts.dav]]\n",
            Err("Account 1 below [[accounts.dav]] has no name."),
        );
        check("[[accounts.dav]]\nname = 'x'\n", Err("The account x has no url."));
        check(
            &GOOD.replace("user", "# user"),
            Err("The account home has no user."),
        );
        check(
            &format!("{}token_command = 'x'", GOOD.replace("user", "# user")),
            Ok(1),
        );
        check(
            &format!("{GOOD}password_command = 'x'\npassword_file = '/x'"),
            Err("The account home may have one of password_command, password_file and token_command."),
        );
        check(
            &format!("{GOOD}calendars = false\ncontacts = false"),
            Err("The account home keeps neither calendars nor contacts in step."),
        );
    }

    #[tokio::test]
    async fn a_run_that_cannot_begin_says_why() {
        let home = tempfile::tempdir().unwrap();
        let file = home.path().join("password");
        std::fs::write(&file, "secret\n").unwrap();
        let toml = format!(
            "[[accounts.dav]]\nname = 'home'\nurl = 'http://127.0.0.1:9'\nuser = 'ada'\npassword_file = {:?}",
            file.display().to_string()
        );
        let config: Config = toml::from_str(&toml).unwrap();
        let account = &accounts(&config).unwrap()[0];
        let dirs = Dirs::under(home.path());
        let quiet: Progress = Arc::new(|_| ());
        let report = run(account, &dirs, false, Arc::clone(&quiet)).await;
        let error = report.error.clone().unwrap();
        assert!(
            error.contains("can be read by others") && error.contains("chmod 600"),
            "{error}"
        );
        std::fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
        let report = run(account, &dirs, false, quiet).await;
        assert!(report.offline && report.error.unwrap().contains("cannot be reached"));
    }
}
