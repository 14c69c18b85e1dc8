//! Addresses of the web, of mail and of files, in the part of them that says something.

/// Longest name that is read out, in characters.
const MAX_NAME: usize = 60;
/// Words from this length on may be nothing but a code.
const CODE: usize = 32;

/// What an address becomes; nothing when it is none.
pub fn said(word: &str) -> Option<String> {
    let word = word.strip_prefix("mailto:").unwrap_or(word);
    let path = word.strip_prefix("file://").unwrap_or(word);
    if (path.starts_with('/') || path.starts_with("~/")) && path.len() > 2 {
        let name = path.trim_end_matches('/').rsplit('/').next()?;
        return Some(bounded(&dots(name)));
    }
    if let Some((scheme, rest)) = word.split_once("://") {
        let known = !scheme.is_empty() && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric());
        return known.then(|| host(rest));
    }
    if let Some((local, domain)) = word.rsplit_once('@') {
        let mail = !local.is_empty() && !local.contains('@') && is_domain(domain);
        return mail.then(|| bounded(&format!("{} at {}", dots(local), dots(domain))));
    }
    let name = word.split(['/', '?', '#']).next()?;
    if is_domain(name) {
        return Some(host(word));
    }
    is_code(word).then(|| "a long code".to_owned())
}

/// Where a web address leads. Who stands before an "@" in it is not where it leads.
fn host(rest: &str) -> String {
    let authority = rest.split(['/', '?', '#', '\\']).next().unwrap_or_default();
    let host = authority.rsplit('@').next().unwrap_or_default();
    let host = match host.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => host,
        _ => host,
    };
    let host = host.strip_prefix("www.").unwrap_or(host);
    match host.is_empty() {
        true => "a link".to_owned(),
        false => bounded(&dots(host)),
    }
}

/// "example.org", "report.pdf".
fn is_domain(name: &str) -> bool {
    let Some((rest, last)) = name.rsplit_once('.') else {
        return false;
    };
    let letters = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    let ends = (2..=10).contains(&last.len())
        && last.chars().all(letters)
        && last.starts_with(|c: char| c.is_ascii_lowercase());
    let labels = rest.split('.').all(|label| {
        let fits = label
            .chars()
            .all(|c| c.is_alphanumeric() || matches!(c, '-' | '_'));
        !label.is_empty() && fits
    });
    ends && labels && rest.chars().any(char::is_alphabetic)
}

/// A hash, a key, an id: letters and figures that mean nothing to anybody.
fn is_code(word: &str) -> bool {
    let code = |byte: u8| byte.is_ascii_alphanumeric() || b"-_+/=.:".contains(&byte);
    let count = |kind: fn(&u8) -> bool| word.bytes().filter(kind).count();
    word.len() >= CODE
        && word.bytes().all(code)
        && count(u8::is_ascii_digit) >= 6
        && count(u8::is_ascii_alphabetic) >= 1
}

fn dots(name: &str) -> String {
    let mut said = String::with_capacity(name.len() + 16);
    for c in name.chars() {
        match c {
            '.' if said.is_empty() => said.push_str("dot "),
            '.' => said.push_str(" dot "),
            '_' => said.push(' '),
            '+' => said.push_str(" plus "),
            c if c.is_alphanumeric() || matches!(c, '-' | ' ') => said.push(c),
            _ => said.push(' '),
        }
    }
    said.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn bounded(name: &str) -> String {
    match name.chars().count() > MAX_NAME {
        true => "a long address".to_owned(),
        false => name.to_owned(),
    }
}
