//! A new mail on a real Dovecot: the server says so, the daemon fetches and indexes it, and it is found. No interval is short
//! enough to have helped.

use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    sync::Arc,
    time::{Duration, Instant},
};

use daemon::{
    agent::Settings,
    config::Config,
    paths::Paths,
    post::{self, Post, keep_in_step},
};
use serde_json::json;
use tokio::sync::{mpsc, watch};
use tools::{
    discover::Index,
    system::mail::{self, Depth},
};

use crate::{
    home::Home,
    post_servers::{Dovecot, PASSWORD, USER},
};

/// Longest that anything may take, on a loaded machine; the account itself is asked once an hour.
const LIMIT: Duration = Duration::from_secs(300);

fn message(subject: &str, body: &str) -> String {
    format!(
        "From: Ada <ada@example.org>\nTo: bob@example.org\nSubject: {subject}\nMessage-ID: <{subject}@example.org>\n\
         Date: Fri, 20 Nov 2026 08:00:00 +0000\n\n{body}\n"
    )
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_new_mail_is_found_because_the_server_said_so() {
    let Some(server) = Dovecot::start("localhost.pem") else {
        return;
    };
    server.add("INBOX", "", &message("old", "a walrus"));
    let home = Home::empty("2026-11-20T09:00[Europe/Berlin]");
    let password = home.path().join("password");
    fs::write(&password, PASSWORD).unwrap();
    fs::set_permissions(&password, fs::Permissions::from_mode(0o600)).unwrap();
    let account = json!({
        "name": "home", "address": "ada@example.org", "user": USER, "interval": "1h", "password_file": password,
        "imap": format!("imap://localhost:{}", server.plain), "certificates": crate::post_servers::own("ca.pem"),
    });
    let config: Config = serde_json::from_value(json!({"accounts": {"mail": [account]}})).unwrap();
    let mut parts = home.parts(Settings::default());
    let paths = Paths::under(home.path());
    (parts.mail, parts.dirs) = (config.mail(&paths), config.dirs(&paths));
    let post = Post {
        accounts: post::accounts(&config).unwrap(),
        mail: parts.mail.clone(),
        dirs: parts.dirs.clone(),
    };
    let (stop, stopping) = watch::channel(false);
    let (events, _told) = mpsc::channel(64);
    let running = tokio::spawn(keep_in_step(post, events, stopping));
    let index = Arc::new(Index::of(tools::ALL));
    let search = async |words: &str| {
        let ctx = parts.ctx(&index);
        let found = tools::find("mail.search")
            .unwrap()
            .run(json!({"words": words}), &ctx);
        match found.await {
            Ok(output) => output.say,
            Err(error) => error.to_string(),
        }
    };
    let mut begun = Instant::now();
    while !search("walrus").await.contains("old") {
        assert!(begun.elapsed() < LIMIT, "{}", search("walrus").await);
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    // The first run is over and the daemon waits for the server to say something; nobody asks from here on.
    tokio::time::sleep(Duration::from_secs(25)).await;
    server.add("INBOX", "", &message("new", "a narwhal"));
    begun = Instant::now();
    let known = || {
        let dirs = parts.dirs.clone();
        // No time to read anything: what is found was in the index.
        let index = mail::Index::open(&dirs, Depth::Headers, Duration::ZERO).ok()?;
        let query = mail::Query {
            words: "narwhal".to_owned(),
            ..mail::Query::default()
        };
        Some(index.find(&query, 5).ok()?.count)
    };
    while known() != Some(1) {
        assert!(begun.elapsed() < LIMIT, "it was never indexed");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let took = begun.elapsed();
    assert!(
        search("narwhal").await.contains("new"),
        "{}",
        search("narwhal").await
    );
    println!("{took:?} from the server to the index");
    stop.send(true).unwrap();
    running.await.unwrap();
}
