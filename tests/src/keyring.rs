//! Passwords in a real keyring: GNOME's own, on a bus of the test's, filled by the command that Tiro's own advice names.

use std::{
    io::Write as _,
    path::Path,
    process::{Command, Stdio},
    time::Instant,
};

use daemon::{config::Config, post, secret};
use serde_json::json;
use tools::system::post::{Protocol, Secret};
use zbus::{Connection, ObjectPath, OwnedObjectPath};

use crate::desktop::{Bus, PATIENCE, Programs, skipped};

/// No quote and no letter of another alphabet may get lost.
const PASSWORD: &str = "pä ss\"wörd $HOME";
const ASKS: &str = "TIRO_TEST_KEYRING_ASKS";

/// GNOME's keyring in a home of its own, unlocked; `None` with a loud line where there is none.
fn keyring(home: &Path, bus: &Bus) -> Option<Programs> {
    let mut daemon = Command::new("gnome-keyring-daemon");
    daemon
        .args(["--foreground", "--unlock", "--components=secrets"])
        .arg(format!("--control-directory={}", home.join("control").display()))
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let Ok(mut child) = at(&mut daemon, home, bus).spawn() else {
        skipped("gnome-keyring-daemon");
        return None;
    };
    // The password of the keyring itself ends with its input.
    child.stdin.take().unwrap().write_all(b"opens it").unwrap();
    Some(Programs(vec![child]))
}

fn at<'c>(command: &'c mut Command, home: &Path, bus: &Bus) -> &'c mut Command {
    for (name, below) in [
        ("HOME", ""),
        ("XDG_DATA_HOME", "data"),
        ("XDG_CONFIG_HOME", "config"),
        ("XDG_CACHE_HOME", "cache"),
        ("XDG_RUNTIME_DIR", ""),
    ] {
        command.env(name, home.join(below));
    }
    command.env("DBUS_SESSION_BUS_ADDRESS", &bus.address)
}

/// Stores a password by the command that the advice for a missing one ends with.
fn store(advice: &str, home: &Path, bus: &Bus) -> Option<()> {
    let (_, command) = advice.split_once("Store it with: ").unwrap();
    let mut words = command.split(' ');
    let mut tool = Command::new(words.next().unwrap());
    tool.args(words).stdin(Stdio::piped());
    let Ok(mut child) = at(&mut tool, home, bus).spawn() else {
        skipped("secret-tool");
        return None;
    };
    child
        .stdin
        .take()
        .unwrap()
        .write_all(PASSWORD.as_bytes())
        .unwrap();
    assert!(child.wait().unwrap().success());
    Some(())
}

/// As the daemon does it for an account without any word on its password, on the session bus.
#[tokio::test]
async fn an_account_asks_the_session_for_its_password() {
    if std::env::var_os(ASKS).is_none() {
        return;
    }
    let account = json!({"name": "work", "address": "ada@example.org", "imap": "imaps://localhost"});
    let config: Config = serde_json::from_value(json!({"accounts": {"mail": [account]}})).unwrap();
    let account = &post::accounts(&config).unwrap()[0];
    let access = post::access(account, account.imap.as_str(), Protocol::Imap)
        .await
        .unwrap();
    assert!(matches!(access.login.secret, Secret::Password(password) if password == PASSWORD));
}

#[tokio::test]
async fn a_password_comes_out_of_a_real_keyring() {
    let home = tempfile::tempdir().unwrap();
    let Some(bus) = Bus::start(home.path()) else {
        return;
    };
    let client = bus.client().await;
    let missing = secret::of_service(&client, "work").await.unwrap_err();
    assert!(
        missing.to_string().contains("no Secret Service answers"),
        "{missing}"
    );
    let Some(mut running) = keyring(home.path(), &bus) else {
        return;
    };
    let began = Instant::now();
    let advice = loop {
        match secret::of_service(&client, "work").await {
            Ok(password) => panic!("{password} came from nowhere"),
            Err(error) if error.to_string().contains("Store it with: ") => break error.to_string(),
            Err(error) => assert!(began.elapsed() < PATIENCE, "{error:#}"),
        }
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    };
    if store(&advice, home.path(), &bus).is_none() {
        return;
    }
    assert_eq!(secret::of_service(&client, "work").await.unwrap(), PASSWORD);
    let other = secret::of_service(&client, "wor").await.unwrap_err();
    assert!(other.to_string().contains("has none"), "{other}");
    let mut asks = Command::new(std::env::current_exe().unwrap());
    asks.args(["--exact", "keyring::an_account_asks_the_session_for_its_password"])
        .env(ASKS, "1")
        .stdout(Stdio::null());
    assert!(at(&mut asks, home.path(), &bus).status().unwrap().success());
    lock(&client).await;
    let locked = secret::of_service(&client, "work").await.unwrap_err();
    assert!(locked.to_string().contains("is locked. Unlock it"), "{locked}");
    let file = home.path().join("data/keyrings/login.keyring");
    let kept = std::fs::read(file).unwrap();
    assert!(
        !kept
            .windows(PASSWORD.len())
            .any(|some| some == PASSWORD.as_bytes()),
        "it was a real one"
    );
    running.0[0].kill().unwrap();
    running.0[0].wait().unwrap();
    let gone = secret::of_service(&client, "work").await.unwrap_err();
    assert!(gone.to_string().contains("no Secret Service answers"), "{gone}");
}

async fn lock(client: &Connection) {
    let login: OwnedObjectPath = ObjectPath::from_static_str("/org/freedesktop/secrets/collection/login")
        .unwrap()
        .into();
    let locked = client
        .call_method(
            Some("org.freedesktop.secrets"),
            "/org/freedesktop/secrets",
            Some("org.freedesktop.Secret.Service"),
            "Lock",
            &(vec![login],),
        )
        .await
        .unwrap();
    let (locked, _): (Vec<OwnedObjectPath>, OwnedObjectPath) = locked.body().deserialize().unwrap();
    assert_eq!(locked.len(), 1);
}
