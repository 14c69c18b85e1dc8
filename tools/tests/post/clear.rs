//! Servers that know no encryption: on this machine they are spoken to, anywhere else neither a password nor a mail goes to
//! them unless the person allowed it. 0.0.0.0 is such an elsewhere that can be reached in a test: it leads here, and its
//! name does not say so.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use tools::system::{
    mail::outbox::State,
    post::{Access, Protocol, Secret, Smtp},
};

use crate::{
    Home, News, message, run, sender,
    servers::{Dovecot, Line, PASSWORD, Smtpd, USER, access},
    there,
};

const ELSEWHERE: &str = "0.0.0.0";
const NO: &str = "0.0.0.0 offers no encryption, so your password was not sent. Use imaps:// and smtps:// in the account \
                  \"home\", or set its allow_plain = true if the way is safe.";

fn imap(host: &str, line: &Line) -> Access {
    access(&format!("imap://{host}:{}", line.port), Protocol::Imap)
}

fn smtp(host: &str, line: &Line) -> Access {
    access(&format!("smtp://{host}:{}", line.port), Protocol::Smtp)
}

/// All that a password and a token are written as on the way.
fn secrets() -> Vec<String> {
    let words = format!("\0{USER}\0{PASSWORD}");
    let mut all = vec![
        PASSWORD.to_owned(),
        "good token".to_owned(),
        "XOAUTH2".to_owned(),
        "AUTH".to_owned(),
    ];
    all.extend(["secret", PASSWORD, USER, words.as_str()].map(|text| STANDARD.encode(text)));
    all
}

#[track_caller]
fn said_no_secret(line: &Line) {
    let heard = line.heard();
    assert!(
        heard.contains("STARTTLS") || heard.contains("EHLO"),
        "nobody asked for encryption: {heard}"
    );
    for secret in secrets() {
        assert!(!heard.contains(&secret), "{secret} went over the line: {heard}");
    }
}

#[test]
fn a_mailbox_without_encryption_is_read_on_this_machine_and_nowhere_else() {
    let Some(server) = Dovecot::without_tls() else {
        return;
    };
    server.add("INBOX", "", &message("one", "for nobody else"));
    let wrong_way = Line::to(server.plain);
    for secret in [
        Secret::Password(PASSWORD.to_owned()),
        Secret::Token("good token".to_owned()),
    ] {
        let home = Home::new();
        // The mail here is not for everybody on the way either.
        std::fs::create_dir_all(home.mail().join(".Drafts/cur")).unwrap();
        std::fs::write(
            home.mail().join(".Drafts/cur/1.draft:2,D"),
            message("draft", "mine"),
        )
        .unwrap();
        let mut there = imap(ELSEWHERE, &wrong_way);
        there.login.secret = secret;
        let report = home.sync(there.clone());
        assert_eq!(report.error.as_deref(), Some(NO));
        assert!(!report.offline, "it is said, not only tried again");
        assert_eq!(home.subjects(""), [""; 0]);
        let ended = News::of(there).ended();
        assert!(ended.sentence("home").starts_with(NO), "{ended}");
    }
    said_no_secret(&wrong_way);
    assert!(!wrong_way.heard().contains("mine"));
    // On this machine nobody is on the way.
    for host in ["localhost", "127.0.0.1"] {
        let home = Home::new();
        let line = Line::to(server.plain);
        home.in_step(imap(host, &line));
        assert_eq!(home.subjects(""), ["one"], "{host}");
        assert!(
            line.heard().contains(PASSWORD),
            "a line that hears would have heard it"
        );
    }
    // And where the person says that the way is safe.
    let home = Home::new();
    let mut allowed = imap(ELSEWHERE, &wrong_way);
    allowed.allow_plain = true;
    home.in_step(allowed);
    assert_eq!(home.subjects(""), ["one"]);
    assert_eq!(there(&server, ""), ["one"]);
}

#[test]
fn a_mail_without_encryption_goes_out_on_this_machine_and_nowhere_else() {
    let Some(server) = Smtpd::start("plain", "localhost.pem") else {
        return;
    };
    let wrong_way = Line::to(server.port);
    for secret in [
        Secret::Password(PASSWORD.to_owned()),
        Secret::Token("good token".to_owned()),
    ] {
        let home = Home::new();
        home.queue("one", &["bob@example.org"], "for nobody else");
        let mut there = smtp(ELSEWHERE, &wrong_way);
        there.login.secret = secret;
        assert_eq!(home.deliver(&sender(there.clone())), State::Queued);
        assert_eq!(home.why(), NO);
        assert!(
            home.outbox.problems().unwrap()[0].contains(NO),
            "and the person is told"
        );
        let checked = Smtp {
            account: "home".to_owned(),
            access: there,
        };
        assert_eq!(run(checked.check()), Err(NO.to_owned()));
    }
    said_no_secret(&wrong_way);
    for part in ["bob@example.org", "for nobody else", "MAIL FROM", "DATA"] {
        assert!(!wrong_way.heard().contains(part), "{part} went over the line");
    }
    assert_eq!(server.got().len(), 0);
    let home = Home::new();
    home.queue("here", &["bob@example.org"], "x");
    let line = Line::to(server.port);
    assert_eq!(home.deliver(&sender(smtp("127.0.0.1", &line))), State::Sent);
    let words = STANDARD.encode(format!("\0{USER}\0{PASSWORD}"));
    assert!(
        line.heard().contains(&words),
        "a line that hears would have heard it: {}",
        line.heard()
    );
    let home = Home::new();
    home.queue("allowed", &["bob@example.org"], "x");
    let mut allowed = smtp(ELSEWHERE, &wrong_way);
    allowed.allow_plain = true;
    assert_eq!(home.deliver(&sender(allowed)), State::Sent);
    assert_eq!(server.got().len(), 2);
}
