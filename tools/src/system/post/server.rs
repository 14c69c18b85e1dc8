//! Where a mail server is: `imaps://host:port` and its relatives.

use std::net::IpAddr;

/// What is spoken there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    /// Reading (RFC 3501 and 9051).
    Imap,
    /// Sending (RFC 5321 and 6409).
    Smtp,
}

/// A server, and how it is spoken to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Server {
    /// Its name or address, an IPv6 address without brackets.
    pub host: String,
    /// Its port.
    pub port: u16,
    /// Whether TLS begins at once; else STARTTLS has to come before the password.
    pub tls: bool,
}

impl Server {
    /// Reads `imaps://host[:port]`, `imap://`, `smtps://` or `smtp://`. Ports default to 993, 143, 465 and 587 (RFC 8314).
    ///
    /// # Errors
    /// What is wrong with it, as a sentence.
    pub fn parse(url: &str, protocol: Protocol) -> Result<Server, String> {
        let (secure, plain, ports) = match protocol {
            Protocol::Imap => ("imaps", "imap", (993, 143)),
            Protocol::Smtp => ("smtps", "smtp", (465, 587)),
        };
        let wrong = |why: &str| Err(format!("The address {url:?} {why}."));
        let Some((scheme, rest)) = url.split_once("://") else {
            return wrong(&format!("should begin with {secure}:// or {plain}://"));
        };
        let tls = scheme.eq_ignore_ascii_case(secure);
        if !tls && !scheme.eq_ignore_ascii_case(plain) {
            return wrong(&format!("should begin with {secure}:// or {plain}://"));
        }
        if rest.contains('@') {
            return wrong("should not hold a user name or a password");
        }
        let rest = rest.strip_suffix('/').unwrap_or(rest);
        let (host, port) = match rest.strip_prefix('[') {
            Some(rest) => match rest.split_once(']') {
                Some((host, "")) => (host, None),
                Some((host, port)) => (host, port.strip_prefix(':').or(Some(""))),
                None => return wrong("names no server"),
            },
            None => match rest.split_once(':') {
                Some((host, port)) => (host, Some(port)),
                None => (rest, None),
            },
        };
        let fine = |c: char| c.is_alphanumeric() || "-._:".contains(c);
        if host.is_empty() || host.len() > 253 || !host.chars().all(fine) {
            return wrong("names no server");
        }
        let port = match port.map(str::parse) {
            None => match tls {
                true => ports.0,
                false => ports.1,
            },
            Some(Ok(port)) if port > 0 => port,
            Some(_) => return wrong("has no good port"),
        };
        Ok(Server {
            host: host.to_ascii_lowercase(),
            port,
            tls,
        })
    }

    /// Whether it is this machine, so that nobody is on the way.
    pub fn is_here(&self) -> bool {
        self.host == "localhost" || self.host.parse().is_ok_and(|ip: IpAddr| ip.is_loopback())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_servers() {
        #[track_caller]
        fn check(url: &str, protocol: Protocol, expect: Result<(&str, u16, bool), &str>) {
            match (Server::parse(url, protocol), expect) {
                (Ok(got), Ok((host, port, tls))) => {
                    assert_eq!((got.host.as_str(), got.port, got.tls), (host, port, tls), "{url}");
                }
                (Err(got), Err(part)) => assert!(got.contains(part), "{got}"),
                (got, expect) => panic!("{url}: {got:?} instead of {expect:?}"),
            }
        }
        use Protocol::{Imap, Smtp};
        check(
            "imaps://Mail.Example.org",
            Imap,
            Ok(("mail.example.org", 993, true)),
        );
        check("imap://localhost:10143/", Imap, Ok(("localhost", 10143, false)));
        check(
            "smtps://mail.example.org",
            Smtp,
            Ok(("mail.example.org", 465, true)),
        );
        check("SMTP://[::1]:25", Smtp, Ok(("::1", 25, false)));
        check("smtp://[::1]", Smtp, Ok(("::1", 587, false)));
        check("imaps://a@b", Imap, Err("user name"));
        check("smtp://a", Imap, Err("should begin with imaps://"));
        check("mail.example.org", Imap, Err("should begin with"));
        for url in [
            "imap://",
            "imap://a b",
            "imap://a/b",
            "imap://[::1",
            "imap://:143",
        ] {
            check(url, Imap, Err("names no server"));
        }
        for url in [
            "imap://a:0",
            "imap://a:x",
            "imap://a:",
            "imap://a:70000",
            "imap://[::1]x",
        ] {
            check(url, Imap, Err("port"));
        }
    }

    #[test]
    fn who_is_here() {
        let here = |host: &str| {
            Server {
                host: host.to_owned(),
                port: 1,
                tls: false,
            }
            .is_here()
        };
        assert!(here("localhost") && here("127.0.0.9") && here("::1"));
        assert!(!here("192.168.0.1") && !here("localhost.example.org"));
    }
}
