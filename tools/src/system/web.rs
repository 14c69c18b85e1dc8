//! Web addresses as people say them, and which of them may be opened.

use percent_encoding::{AsciiSet, CONTROLS, NON_ALPHANUMERIC, utf8_percent_encode};
use ureq::http::Uri;

use super::{contacts, plain};
use crate::contract::ToolError;

/// Longest address.
const MAX_ADDRESS: usize = 2000;
/// What stands as it is in the words of a search.
const KEPT: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'_')
    .remove(b'.')
    .remove(b'~');
/// What no address may have as it is; what stands for something in it stays.
const ODD: &AsciiSet = &CONTROLS
    .add(b' ')
    .add(b'"')
    .add(b'<')
    .add(b'>')
    .add(b'`')
    .add(b'{')
    .add(b'}')
    .add(b'|')
    .add(b'^');

/// An address that may be opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address {
    /// The whole of it, as a browser is given it.
    pub url: String,
    /// Where it leads: the host, or the mail address.
    pub host: String,
}

/// Reads an address as it was said or written: "wikipedia dot org slash wiki", "www.example.org", `https://...`.
///
/// # Errors
/// `Tell` for what is none, and for schemes other than http, https and mailto.
pub fn address(said: &str) -> Result<Address, ToolError> {
    let said = plain::one_line(said, MAX_ADDRESS);
    let shown = plain::one_line(&said, 80);
    let none = || {
        ToolError::tell(format!(
            "\"{shown}\" is no web address. Say it with its ending, as in example dot org, or let me search for it."
        ))
    };
    if said.is_empty() {
        return Err(ToolError::tell("Which web address?"));
    }
    if said.ends_with('…') {
        return Err(ToolError::tell("That address is too long."));
    }
    let text = spelled(&said);
    let lower = text.to_ascii_lowercase();
    if let Some(mail) = lower.strip_prefix("mailto:") {
        // A subject or a text would be put into the mail unseen.
        let address =
            contacts::spoken_mail(mail.split('?').next().unwrap_or_default()).map_err(|_| none())?;
        return Ok(Address {
            url: format!("mailto:{address}"),
            host: address,
        });
    }
    let full = match lower.split_once("://") {
        Some(("http" | "https", _)) => text,
        Some((scheme, _)) => return Err(refused(scheme)),
        None => {
            // "localhost:8080" has a port there, and "javascript:..." a scheme.
            if let Some((scheme, rest)) = lower.split_once(':')
                && !scheme.contains('.')
                && !rest.starts_with(|c: char| c.is_ascii_digit())
            {
                return Err(refused(scheme));
            }
            format!("https://{text}")
        }
    };
    let encoded = utf8_percent_encode(&full, ODD).to_string();
    let (scheme, rest) = encoded.split_once("://").ok_or_else(none)?;
    let host_ends = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    // A browser takes a backslash for a slash and what stands before an @ for a name, so another host would be shown
    // than the one that is opened.
    if rest[..host_ends].contains(['\\', '@', '%']) {
        return Err(none());
    }
    let (authority, tail) = (rest[..host_ends].to_ascii_lowercase(), &rest[host_ends..]);
    let slash = if tail.starts_with('/') { "" } else { "/" };
    let url = format!("{}://{authority}{slash}{tail}", scheme.to_ascii_lowercase());
    let uri: Uri = url.parse().map_err(|_| none())?;
    let host = uri.host().unwrap_or_default().to_owned();
    let local = host == "localhost" || host.starts_with('[') || host.parse::<std::net::Ipv4Addr>().is_ok();
    let labels = host.split('.').all(|part| !part.is_empty() && part.len() <= 63);
    let ending = host.rsplit('.').next().unwrap_or_default();
    let named = host.contains('.')
        && labels
        && ending.len() >= 2
        && ending.starts_with(|c: char| c.is_ascii_alphabetic());
    match local || named {
        true => Ok(Address { url, host }),
        false => Err(none()),
    }
}

/// Whether a template of the config can be searched with: an http address with `{}` where the words go.
pub fn is_template(template: &str) -> bool {
    template.matches("{}").count() == 1
        && template
            .split("{}")
            .next()
            .is_some_and(|front| front.len() > "https://a.b".len())
        && address(&template.replace("{}", "x")).is_ok_and(|address| !address.url.starts_with("mailto:"))
}

/// The address that searches for words.
///
/// # Errors
/// `Tell` when there are none, or the template of the config is none.
pub fn search(template: &str, words: &str) -> Result<Address, ToolError> {
    let words = plain::one_line(words, 500);
    if words.is_empty() {
        return Err(ToolError::tell("What shall I search the web for?"));
    }
    if !is_template(template) {
        return Err(ToolError::tell(
            "The search address in the config, web.search_url, has no {} for the words.",
        ));
    }
    address(&template.replace("{}", &utf8_percent_encode(&words, KEPT).to_string()))
}

/// Signs that were said as words become signs, where the text is no address yet.
fn spelled(said: &str) -> String {
    let said = said.trim_matches(|c: char| c.is_whitespace() || ".!?,\"'<>".contains(c));
    if !said.contains(' ') || said.contains("://") {
        return said.to_owned();
    }
    let mut text = String::new();
    for word in said.split(' ') {
        text.push_str(match word.to_ascii_lowercase().as_str() {
            "dot" | "point" => ".",
            "slash" => "/",
            "colon" => ":",
            "dash" | "hyphen" | "minus" => "-",
            "underscore" => "_",
            _ => word,
        });
    }
    text
}

fn refused(scheme: &str) -> ToolError {
    ToolError::tell(format!(
        "I open web addresses only, and no {} addresses.",
        plain::one_line(scheme, 20)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(said: &str, expect: Result<(&str, &str), &str>) {
        match (address(said), expect) {
            (Ok(address), Ok((url, host))) => {
                assert_eq!((&*address.url, &*address.host), (url, host), "{said}")
            }
            (Err(error), Err(part)) => assert!(error.to_string().contains(part), "{said}: {error}"),
            (result, _) => panic!("{said:?}: {result:?}"),
        }
    }

    #[test]
    fn addresses_are_read_as_said_and_as_written() {
        check("example.org", Ok(("https://example.org/", "example.org")));
        check(
            "Wikipedia dot org slash wiki",
            Ok(("https://wikipedia.org/wiki", "wikipedia.org")),
        );
        check(
            "www.example.org.",
            Ok(("https://www.example.org/", "www.example.org")),
        );
        check(
            "HTTP://Example.ORG/A?b=c d#e",
            Ok(("http://example.org/A?b=c%20d#e", "example.org")),
        );
        check("localhost:8080/x", Ok(("https://localhost:8080/x", "localhost")));
        check("http://192.168.1.1", Ok(("http://192.168.1.1/", "192.168.1.1")));
        check(
            "mailto:anna@example.org?body=x",
            Ok(("mailto:anna@example.org", "anna@example.org")),
        );
    }

    #[test]
    fn what_leads_elsewhere_is_refused() {
        for said in [
            "file:///etc/passwd",
            "javascript:alert(1)",
            "JavaScript:alert(1)",
            "data:text/html,x",
            "ftp://example.org",
            "smb://host/share",
            "about:config",
            "vbscript:x",
            "java\u{200b}script:alert(1)",
            "java\tscript:alert(1)",
        ] {
            let error = address(said).unwrap_err().to_string();
            assert!(error.contains("web address"), "{said}: {error}");
        }
        check("https://example.org@evil.example/", Err("no web address"));
        check("https://example.org\\@evil.example/", Err("no web address"));
        check("https://example.org%2eevil.example/", Err("no web address"));
        check("youtube", Err("no web address"));
        check("what is the weather", Err("no web address"));
        check("https://", Err("no web address"));
        check("--version", Err("no web address"));
        check("", Err("Which web address?"));
        check(&format!("example.org/{}", "x".repeat(3000)), Err("too long"));
        check("mailto:nobody", Err("no web address"));
    }

    #[test]
    fn searches_keep_their_words_and_nothing_else() {
        let template = "https://search.example/?q={}&t=tiro";
        let found = search(template, "cats & dogs #1/2 ü").unwrap();
        assert_eq!(
            found.url,
            "https://search.example/?q=cats%20%26%20dogs%20%231%2F2%20%C3%BC&t=tiro"
        );
        assert_eq!(found.host, "search.example");
        assert!(search(template, " ").is_err());
        for bad in [
            "https://search.example/",
            "file:///{}",
            "https://{}",
            "{}",
            "https://a.example/{}{}",
        ] {
            assert!(!is_template(bad), "{bad}");
            assert!(
                search(bad, "x")
                    .unwrap_err()
                    .to_string()
                    .contains("web.search_url")
            );
        }
    }
}
