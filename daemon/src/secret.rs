//! Passwords: from a command, from a file that nobody else may read, or from the system's keeper of passwords: the Secret
//! Service, on macOS the keychain. None is ever logged.

#[cfg(any(target_os = "macos", test))]
mod keychain;

use std::{
    collections::HashMap, ffi::OsStr, fs, io::Read as _, os::unix::fs::MetadataExt as _, path::Path,
    process::Stdio, time::Duration,
};

use anyhow::{Context as _, bail, ensure};
use tokio::{io::AsyncReadExt as _, process::Command};
use tools::system::desktop::outside::Outside;
use zbus::{Connection, ObjectPath, OwnedObjectPath, OwnedVariant, Variant};

use crate::config::FilePath;

/// No password and no token is longer.
const MAX: u64 = 64 * 1024;
/// How long a command or the system's keeper of passwords has: some ask the person first.
const PATIENCE: Duration = Duration::from_secs(60);
/// Who keeps passwords on this system.
const KEEPER: &str = if cfg!(target_os = "macos") {
    "keychain"
} else {
    "Secret Service"
};

/// Where the config says that an account's secret is. Without a word on it the system's keeper of passwords is asked.
#[derive(Debug, Clone, Copy)]
pub struct Place<'a> {
    /// The account.
    pub account: &'a str,
    /// Prints the password.
    pub password_command: &'a str,
    /// Holds the password.
    pub password_file: &'a FilePath,
    /// Prints an access token.
    pub token_command: &'a str,
}

/// What proves who somebody is.
#[derive(Clone)]
pub enum Secret {
    /// A password.
    Password(String),
    /// An access token.
    Token(String),
}

impl Place<'_> {
    /// Whether there is at most one.
    ///
    /// # Errors
    /// When there are several.
    pub fn check(&self) -> anyhow::Result<()> {
        let ways = [
            !self.password_command.is_empty(),
            self.password_file.path().is_some(),
            !self.token_command.is_empty(),
        ];
        ensure!(
            ways.iter().filter(|way| **way).count() <= 1,
            "The account {} may have one of password_command, password_file and token_command.",
            self.account
        );
        Ok(())
    }

    /// The secret.
    ///
    /// # Errors
    /// Which way was tried, and why it did not work.
    pub async fn secret(&self) -> anyhow::Result<Secret> {
        let name = self.account;
        if !self.token_command.is_empty() {
            let token = of_command(self.token_command, PATIENCE)
                .await
                .with_context(|| format!("The token_command of the account {name} did not work"))?;
            return Ok(Secret::Token(token));
        }
        if !self.password_command.is_empty() {
            let password = of_command(self.password_command, PATIENCE)
                .await
                .with_context(|| format!("The password_command of the account {name} did not work"))?;
            return Ok(Secret::Password(password));
        }
        if let Some(path) = self.password_file.path() {
            let password = of_file(&path)
                .with_context(|| format!("The password_file of the account {name} cannot be used"))?;
            return Ok(Secret::Password(password));
        }
        match tokio::time::timeout(PATIENCE, of_keeper(name)).await {
            Ok(password) => password
                .map(Secret::Password)
                .with_context(|| format!("There is no password for the account {name}")),
            Err(_) => {
                bail!("The {KEEPER} does not answer, so there is no password for the account {name}")
            }
        }
    }
}

/// The key of a model server: printed by a command, in a file, or kept by the system for this account. Nothing where
/// none of them is named.
///
/// # Errors
/// Which way was tried, and why it did not work.
pub async fn key(command: &str, file: &FilePath, account: Option<&str>) -> anyhow::Result<Option<String>> {
    if !command.is_empty() {
        let key = of_command(command, PATIENCE).await;
        return key.map(Some).context("llm.server.key_command did not work");
    }
    if let Some(path) = file.path() {
        let key = of_file(&path).context("llm.server.key_file cannot be used");
        return key.map(Some);
    }
    let Some(account) = account else {
        return Ok(None);
    };
    match tokio::time::timeout(PATIENCE, of_keeper(account)).await {
        Ok(key) => key.map(Some).context("There is no key for the model server"),
        Err(_) => bail!("The {KEEPER} does not answer, so there is no key for the model server"),
    }
}

/// What a command prints on its first line.
///
/// # Errors
/// When it cannot be started, fails, takes too long, or prints nothing or too much.
async fn of_command(line: &str, patience: Duration) -> anyhow::Result<String> {
    let words = shell_words::split(line).context("its quotes do not match")?;
    let (program, arguments) = words.split_first().context("it is empty")?;
    let arguments: Vec<&OsStr> = arguments.iter().map(OsStr::new).collect();
    // A keeper of passwords may be one that has more rights than who calls it.
    let outside = Outside::of(OsStr::new(program), &arguments, patience);
    let (runner, arguments) = outside.command.split_first().context("it is empty")?;
    let mut child = Command::new(runner)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        // What it says there may be a question for a terminal that nobody sees, or the password itself.
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .with_context(|| format!("{program} cannot be started"))?;
    let out = child.stdout.take().context("its output cannot be read")?;
    let work = async {
        let mut bytes = Vec::new();
        out.take(MAX + 1).read_to_end(&mut bytes).await?;
        ensure!(bytes.len() as u64 <= MAX, "{program} printed too much");
        let status = child.wait().await?;
        ensure!(status.success(), "{program} ended with {status}");
        first_line(bytes).with_context(|| format!("{program} printed no password"))
    };
    let done = tokio::time::timeout(patience, work).await;
    if done.is_err() {
        // Waits for its end too, so that nothing of it is left.
        child.kill().await?;
    } else {
        outside.ended();
    }
    done.unwrap_or_else(|_| bail!("{program} took longer than {} s", patience.as_secs()))
}

/// The first line of a file that belongs to us and that nobody else may read.
///
/// # Errors
/// When it is not there, is somebody else's, others may read it, or it is empty or too large.
fn of_file(path: &Path) -> anyhow::Result<String> {
    let shown = path.display();
    // Asked before opening: opening a named pipe would wait for somebody to write into it.
    let meta = fs::metadata(path).with_context(|| format!("{shown} cannot be read"))?;
    ensure!(meta.is_file(), "{shown} is not a file");
    let file = fs::File::open(path).with_context(|| format!("{shown} cannot be read"))?;
    // Of the file that is open, which may be another than the one that was asked about.
    let meta = file.metadata()?;
    ensure!(
        meta.uid() == rustix::process::geteuid().as_raw(),
        "{shown} belongs to somebody else"
    );
    ensure!(
        meta.mode() & 0o077 == 0,
        "{shown} can be read by others. Run `chmod 600 {shown}`"
    );
    let mut bytes = Vec::new();
    file.take(MAX + 1).read_to_end(&mut bytes)?;
    ensure!(bytes.len() as u64 <= MAX, "{shown} is too large for a password");
    first_line(bytes).with_context(|| format!("{shown} holds no password"))
}

/// What the system keeps for this account.
///
/// # Errors
/// When there is no keeper of passwords, no such password, or it is locked.
async fn of_keeper(account: &str) -> anyhow::Result<String> {
    #[cfg(target_os = "macos")]
    return keychain::ask(keychain::PROGRAM, account).await;
    #[cfg(not(target_os = "macos"))]
    {
        let bus = Connection::session()
            .await
            .context("there is no session bus; set a command or a file instead")?;
        of_service(&bus, account).await
    }
}

/// What the Secret Service on this bus keeps for an account, by its API, draft 0.2: OpenSession, SearchItems, GetSecret. The
/// session is plain, since the bus is this person's own.
///
/// # Errors
/// When there is no such service, no such password, or it is locked.
pub async fn of_service(bus: &Connection, account: &str) -> anyhow::Result<String> {
    const SERVICE: &str = "org.freedesktop.secrets";
    const ROOT: &str = "/org/freedesktop/secrets";
    const MAIN: Option<&str> = Some("org.freedesktop.Secret.Service");
    let none = "no Secret Service answers on the session bus; set a command or a file instead";
    let opened = bus
        .call_method(
            Some(SERVICE),
            ROOT,
            MAIN,
            "OpenSession",
            &("plain", Variant::from("")),
        )
        .await
        .context(none)?;
    let (_, session): (OwnedVariant, OwnedObjectPath) = opened.body().deserialize()?;
    let attributes = HashMap::from([("service", "tiro"), ("account", account)]);
    let found = bus
        .call_method(Some(SERVICE), ROOT, MAIN, "SearchItems", &(attributes,))
        .await?;
    let (open, locked): (Vec<OwnedObjectPath>, Vec<OwnedObjectPath>) = found.body().deserialize()?;
    let Some(item) = open.first() else {
        ensure!(
            locked.is_empty(),
            "the keyring that holds it is locked. Unlock it, then try again"
        );
        bail!(
            "the Secret Service has none. Store it with: secret-tool store --label Tiro service tiro account {account}"
        );
    };
    let session: &ObjectPath<'_> = &session;
    let secret = bus
        .call_method(
            Some(SERVICE),
            item.as_ref(),
            Some("org.freedesktop.Secret.Item"),
            "GetSecret",
            &(session,),
        )
        .await?;
    let ((_, _, value, _),): ((OwnedObjectPath, Vec<u8>, Vec<u8>, String),) = secret.body().deserialize()?;
    first_line(value).context("what the Secret Service has is no password")
}

fn first_line(bytes: Vec<u8>) -> anyhow::Result<String> {
    let text = String::from_utf8(bytes).ok().context("it is not text")?;
    let line = text.lines().next().unwrap_or_default();
    ensure!(!line.is_empty(), "it is empty");
    ensure!(
        !line.chars().any(char::is_control),
        "it holds what no password holds"
    );
    Ok(line.to_owned())
}

#[cfg(test)]
mod tests {
    use std::os::unix::{fs::PermissionsExt as _, net::UnixStream};

    use super::*;

    #[tokio::test]
    async fn commands() {
        #[track_caller]
        fn check(got: anyhow::Result<String>, expect: Result<&str, &str>) {
            match (got, expect) {
                (Ok(got), Ok(expect)) => assert_eq!(got, expect),
                (Err(got), Err(part)) => assert!(format!("{got:#}").contains(part), "{got:#}"),
                (got, expect) => panic!("{got:?} instead of {expect:?}"),
            }
        }
        // Only what never ends may be cut short: anything else takes its time on a machine with other work.
        let run = |line| of_command(line, Duration::from_secs(30));
        check(run("printf 'a b\\nsecond'").await, Ok("a b"));
        check(run("sh -c 'echo \"quoted word\"'").await, Ok("quoted word"));
        check(run("false").await, Err("false ended with"));
        check(run("true").await, Err("true printed no password"));
        check(run("no-such-program-here").await, Err("cannot be started"));
        let hangs = of_command("sleep 30", Duration::from_millis(500)).await;
        check(hangs, Err("took longer than"));
        check(run("sh 'x").await, Err("quotes"));
        check(run("").await, Err("empty"));
        check(run("yes").await, Err("printed too much"));
    }

    #[test]
    fn files_are_private() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("p");
        fs::write(&path, "secret\n").unwrap();
        for (mode, expect) in [
            (0o644, Some("can be read by others")),
            (0o640, Some("can be read")),
            (0o600, None),
        ] {
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            let got = of_file(&path);
            match expect {
                Some(part) => assert!(got.unwrap_err().to_string().contains(part)),
                None => assert_eq!(got.unwrap(), "secret"),
            }
        }
        assert!(
            of_file(home.path())
                .unwrap_err()
                .to_string()
                .contains("not a file")
        );
        fs::write(&path, "").unwrap();
        assert!(of_file(&path).unwrap_err().to_string().contains("no password"));
    }

    /// As much of a Secret Service as is asked.
    struct Service {
        locked: bool,
    }

    #[zbus::interface(name = "org.freedesktop.Secret.Service")]
    impl Service {
        fn open_session(&self, algorithm: &str, _input: Variant<'_>) -> (OwnedVariant, OwnedObjectPath) {
            assert_eq!(algorithm, "plain");
            (Variant::from("").try_to_owned().unwrap(), path("/session"))
        }

        fn search_items(
            &self,
            attributes: HashMap<String, String>,
        ) -> (Vec<OwnedObjectPath>, Vec<OwnedObjectPath>) {
            let known = attributes.get("account").map(String::as_str) == Some("home");
            let ours = attributes.get("service").map(String::as_str) == Some("tiro");
            let found: Vec<_> = (known && ours).then(|| path("/item")).into_iter().collect();
            if self.locked {
                (Vec::new(), found)
            } else {
                (found, Vec::new())
            }
        }
    }

    struct Item;

    #[zbus::interface(name = "org.freedesktop.Secret.Item")]
    impl Item {
        #[zbus(out_args("secret"))]
        fn get_secret(&self, session: ObjectPath<'_>) -> ((OwnedObjectPath, Vec<u8>, Vec<u8>, String),) {
            assert_eq!(session.as_str(), "/session");
            ((
                path("/session"),
                Vec::new(),
                b"from the service".to_vec(),
                "text/plain".into(),
            ),)
        }
    }

    fn path(path: &'static str) -> OwnedObjectPath {
        ObjectPath::from_static_str(path).unwrap().into()
    }

    #[tokio::test]
    async fn the_secret_service() {
        for locked in [false, true] {
            let (ours, theirs) = UnixStream::pair().unwrap();
            let guid = zbus::Guid::generate();
            let server = zbus::connection::Builder::unix_stream(theirs)
                .server(guid)
                .p2p()
                .serve_at("/org/freedesktop/secrets", Service { locked })
                .serve_at("/item", Item)
                .build();
            let client = zbus::connection::Builder::unix_stream(ours).p2p().build();
            let (_server, client) = tokio::try_join!(server, client).unwrap();
            let secret = of_service(&client, "home").await;
            match locked {
                false => assert_eq!(secret.unwrap(), "from the service"),
                true => assert!(secret.unwrap_err().to_string().contains("locked")),
            }
            let other = of_service(&client, "other").await.unwrap_err().to_string();
            assert!(
                other.contains("secret-tool store --label Tiro service tiro account other"),
                "{other}"
            );
        }
    }
}
