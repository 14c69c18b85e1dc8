//! Access tokens of OAuth 2.0: a real Dovecot that asks an identity provider whether a token is good, and a real aiosmtpd,
//! both ways of showing one.

use std::{
    io::{Read as _, Write as _},
    net::{Ipv4Addr, TcpListener, TcpStream},
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use tools::system::{
    mail::outbox::State,
    post::{Access, Secret},
};

use crate::{
    Home, News, message, sender,
    servers::{Dovecot, Smtpd, USER},
    smtp,
};

/// Says which tokens are good (token introspection, RFC 7662). It lives as long as the test.
struct Issuer {
    port: u16,
    good: Arc<Mutex<String>>,
    /// How often it was asked.
    asked: Arc<AtomicUsize>,
}

impl Issuer {
    fn start(token: &str) -> Issuer {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let issuer = Issuer {
            port: listener.local_addr().unwrap().port(),
            good: Arc::new(Mutex::new(token.to_owned())),
            asked: Arc::default(),
        };
        let (good, asked) = (Arc::clone(&issuer.good), Arc::clone(&issuer.asked));
        std::thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                asked.fetch_add(1, Ordering::SeqCst);
                let token = good.lock().unwrap().clone();
                // Whoever asks may have gone; the next one has not.
                let _ = answer(client, &token);
            }
        });
        issuer
    }

    /// What was good is no longer; this is.
    fn issue(&self, token: &str) {
        token.clone_into(&mut self.good.lock().unwrap());
    }
}

fn answer(mut client: TcpStream, good: &str) -> std::io::Result<()> {
    client.set_read_timeout(Some(Duration::from_secs(20)))?;
    let (mut asked, mut block) = (String::new(), [0; 4096]);
    let whole = |asked: &str| {
        let (head, body) = asked.split_once("\r\n\r\n")?;
        let length = head.lines().find_map(|line| {
            let (name, value) = line.split_once(':')?;
            name.eq_ignore_ascii_case("content-length")
                .then(|| value.trim().parse::<usize>().ok())?
        });
        (body.len() >= length.unwrap_or(0)).then(|| body.contains(&format!("token={good}")))
    };
    let is_good = loop {
        if let Some(is_good) = whole(&asked) {
            break is_good;
        }
        match client.read(&mut block)? {
            0 => return Ok(()),
            read => asked.push_str(&String::from_utf8_lossy(&block[..read])),
        }
    };
    let body = match is_good {
        true => format!("{{\"active\":true,\"username\":\"{USER}\",\"scope\":\"mail\"}}"),
        false => "{\"active\":false}".to_owned(),
    };
    let head = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    client.write_all((head + &body).as_bytes())
}

fn with(mut access: Access, token: &str) -> Access {
    access.login.secret = Secret::Token(token.to_owned());
    access
}

#[test]
fn a_mailbox_is_read_with_a_token_until_it_runs_out() {
    for ways in ["xoauth2", "oauthbearer", "xoauth2 oauthbearer"] {
        let issuer = Issuer::start("first.token");
        let Some(server) = Dovecot::start_with("localhost.pem", ways, Some(issuer.port)) else {
            return;
        };
        let home = Home::new();
        server.add("INBOX", "", &message("one", "x"));
        home.in_step(with(server.tls_access(), "first.token"));
        assert_eq!(home.subjects(""), ["one"], "{ways}");
        assert!(
            issuer.asked.load(Ordering::SeqCst) > 0,
            "{ways}: nobody was asked"
        );
        // STARTTLS first, then the token.
        server.add("INBOX", "", &message("two", "x"));
        home.in_step(with(server.plain_access(), "first.token"));
        assert_eq!(home.subjects(""), ["one", "two"], "{ways}");

        // It has run out; nothing is lost, and the next one is as good as the first was.
        issuer.issue("second.token");
        server.add("INBOX", "", &message("three", "x"));
        let report = home.sync(with(server.tls_access(), "first.token"));
        let error = report.error.clone().unwrap();
        assert!(
            error.starts_with("Localhost refused the access token. Check the user of the account \"home\""),
            "{ways}: {error}"
        );
        assert!(
            !error.contains("first") && !report.offline,
            "{ways}: nobody is told the token: {error}"
        );
        assert_eq!(home.subjects("").len(), 2);
        home.in_step(with(server.tls_access(), "second.token"));
        assert_eq!(home.subjects(""), ["one", "three", "two"], "{ways}");

        // A password is still one, and a token for a password is none.
        home.in_step(server.tls_access());
        let mut wrong = server.tls_access();
        wrong.login.secret = Secret::Password("second.token".to_owned());
        let error = home.sync(wrong).error.unwrap();
        assert!(error.contains("refused the user name or the password"), "{error}");
    }
}

#[test]
fn the_inbox_says_when_something_comes_to_who_has_a_token() {
    let issuer = Issuer::start("a.token");
    let Some(mut server) = Dovecot::start_with("localhost.pem", "oauthbearer", Some(issuer.port)) else {
        return;
    };
    let news = News::of(with(server.tls_access(), "a.token"));
    news.until(1);
    // The token is no matter any more once the server knows us.
    issuer.issue("another.token");
    server.add("INBOX", "", &message("one", "x"));
    news.until(2);
    server.down();
    assert!(news.ended().is_offline());
}

#[test]
fn a_server_that_takes_no_tokens_is_named() {
    let (Some(server), Some(smtpd)) = (
        Dovecot::start("localhost.pem"),
        Smtpd::start("starttls", "localhost.pem"),
    ) else {
        return;
    };
    let home = Home::new();
    for access in [server.tls_access(), server.plain_access()] {
        let report = home.sync(with(access, "a.token"));
        assert_eq!(
            report.error.as_deref(),
            Some(
                "Localhost takes no access tokens. Use password_command or password_file in the account \"home\" instead of \
                 token_command."
            )
        );
    }
    home.queue("hello", &["bob@example.org"], "x");
    let state = home.deliver(&sender(with(smtp("smtp", smtpd.port), "a.token")));
    assert_eq!(state, State::Queued);
    assert!(
        home.why().starts_with("Localhost takes no access tokens."),
        "{}",
        home.why()
    );
    assert!(smtpd.got().is_empty());
    // It waits, and goes as soon as the account is mended.
    assert_eq!(
        home.deliver(&sender(smtp("smtp", smtpd.port))),
        State::Sent,
        "{:?}",
        home.outbox.entries()
    );
}

#[test]
fn mail_goes_out_with_a_token_once_it_is_a_good_one() {
    for way in ["XOAUTH2", "OAUTHBEARER"] {
        for (mode, scheme) in [("starttls", "smtp"), ("tls", "smtps")] {
            let Some(server) = Smtpd::start_with(mode, "localhost.pem", way) else {
                return;
            };
            server.takes("new.token");
            let home = Home::new();
            home.queue("hello", &["bob@example.org"], "x");
            let access = smtp(scheme, server.port);
            let state = home.deliver(&sender(with(access.clone(), "old.token")));
            assert_eq!(state, State::Queued, "{way} {mode}");
            assert!(
                home.why().starts_with(
                    "Localhost refused the access token. Check the user of the account \"home\""
                ),
                "{way} {mode}: {}",
                home.why()
            );
            // A password is nothing that this server takes.
            assert_eq!(
                home.deliver(&sender(access.clone())),
                State::Queued,
                "{way} {mode}"
            );
            assert!(
                home.why().contains("refused the user name or the password"),
                "{}",
                home.why()
            );
            let state = home.deliver(&sender(with(access, "new.token")));
            assert_eq!(state, State::Sent, "{way} {mode}: {:?}", home.outbox.entries());
            let got = server.got();
            assert_eq!((got.len(), got[0].tls), (1, true), "{way} {mode}");
        }
    }
}
