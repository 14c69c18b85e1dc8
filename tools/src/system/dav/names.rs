//! Addresses on the server and names of files: both come from outside, so neither is believed.

use super::item;

/// An address longer than this is not kept; RFC 9110, section 4.1 asks for 8000.
const MAX_HREF: usize = 2000;
/// The longest stem of a file; file systems take 255 bytes with what temporary names add.
const MAX_STEM: usize = 120;

/// The path of an address in one spelling, so that `%40` and `@` are the same item. Takes a path or a whole URL of
/// the server at `origin`; relative references are resolved against `base`.
///
/// # Errors
/// What is wrong with it, as the end of a sentence.
pub fn path(href: &str, origin: &str, base: &str) -> Result<String, &'static str> {
    if href.len() > MAX_HREF {
        return Err("is too long");
    }
    let href = href.trim();
    if href.chars().any(|c| c.is_control() || c == '\\') {
        return Err("holds what no address holds");
    }
    let rest = match href.split_once("://") {
        Some((scheme, rest)) if !scheme.contains('/') => {
            let end = rest.find('/').unwrap_or(rest.len());
            let authority = rest[..end].to_ascii_lowercase();
            if !same_origin(&format!("{}://{authority}", scheme.to_ascii_lowercase()), origin) {
                return Err("leads to another server");
            }
            &rest[end..]
        }
        _ => href,
    };
    if rest.starts_with("//") {
        return Err("leads to another server");
    }
    let rest = rest.split(['?', '#']).next().unwrap_or_default();
    let whole = match rest.starts_with('/') {
        true => rest.to_owned(),
        false if rest.is_empty() => "/".to_owned(),
        false => format!("{}{rest}", &base[..=base.rfind('/').unwrap_or(0)]),
    };
    let mut parts = Vec::new();
    for part in whole.split('/') {
        let plain = decode(part).ok_or("is not valid")?;
        // A segment that means "up" would leave the collection on any server that resolves it.
        if plain == b"." || plain == b".." || plain.contains(&0) {
            return Err("leads out of its folder");
        }
        parts.push(encode(&plain));
    }
    Ok(parts.join("/"))
}

/// Whether two origins (`https://host:port`) are one server.
pub fn same_origin(a: &str, b: &str) -> bool {
    full(a) == full(b)
}

/// The item's own part of an address, when the address lies right inside the collection.
pub fn inside<'h>(href: &'h str, collection: &str) -> Option<&'h str> {
    let rest = href.strip_prefix(collection)?;
    (!rest.is_empty() && !rest.contains('/')).then_some(rest)
}

/// A name for a file that is safe anywhere, and looks like what the server calls it. `plain` is whether it is exactly
/// that, so that nothing else can have the same.
pub fn file(segment: &str, extension: &str) -> (String, bool) {
    let decoded = decode(segment).unwrap_or_default();
    let text = String::from_utf8_lossy(&decoded);
    let stem = match text.rsplit_once('.') {
        Some((stem, end)) if end.eq_ignore_ascii_case(extension) => stem,
        _ => &text,
    };
    let safe = slug(stem, MAX_STEM);
    let plain = format!("{safe}.{extension}") == *text;
    match plain {
        true => (format!("{safe}.{extension}"), true),
        false => (marked(&safe, segment, extension), false),
    }
}

/// The name for an item whose own name is taken: still the same on every run.
pub fn other_file(segment: &str, extension: &str) -> String {
    let (name, _) = file(segment, extension);
    let stem = name.strip_suffix(&format!(".{extension}")).unwrap_or(&name);
    marked(stem, format!("{segment} again"), extension)
}

/// A text as a part of a file's name: letters, digits and a few marks, no leading dot, not empty.
pub fn slug(text: &str, max: usize) -> String {
    let mut safe = String::new();
    for c in text.chars() {
        let c = match c {
            c if c.is_alphanumeric() || "-_.@+=,".contains(c) => c,
            _ => '-',
        };
        if safe.len() + c.len_utf8() > max {
            break;
        }
        safe.push(c);
    }
    let safe = safe.trim_start_matches('.').trim_end_matches(['.', '-']);
    match safe {
        "" => "item".to_owned(),
        safe => safe.to_owned(),
    }
}

/// A name of ours as a part of an address.
pub fn segment(name: &str) -> String {
    encode(name.as_bytes())
}

/// An address for a new file whose own is taken by another item.
pub fn other_segment(name: &str, extension: &str) -> String {
    let stem = name.strip_suffix(&format!(".{extension}")).unwrap_or(name);
    encode(marked(stem, name, extension).as_bytes())
}

/// A name for a copy of a file with these bytes.
pub fn copy(name: &str, bytes: &[u8], extension: &str) -> String {
    let stem = name.strip_suffix(&format!(".{extension}")).unwrap_or(name);
    marked(slug(stem, MAX_STEM).as_str(), bytes, extension)
}

fn marked(stem: &str, of: impl AsRef<[u8]>, extension: &str) -> String {
    let mark: String = item::hash(of.as_ref())
        .iter()
        .take(4)
        .map(|b| format!("{b:02x}"))
        .collect();
    format!("{stem}-{mark}.{extension}")
}

fn full(origin: &str) -> String {
    let port = match origin.split_once("://") {
        Some(("https", _)) => ":443",
        Some(("http", _)) => ":80",
        _ => "",
    };
    let origin = origin.to_ascii_lowercase();
    origin.strip_suffix(port).unwrap_or(&origin).to_owned()
}

/// RFC 3986, section 2.1.
fn decode(part: &str) -> Option<Vec<u8>> {
    let mut bytes = part.bytes();
    let mut plain = Vec::with_capacity(part.len());
    while let Some(byte) = bytes.next() {
        match byte {
            b'%' => {
                let digit = |byte: Option<u8>| (byte? as char).to_digit(16);
                let (high, low) = (digit(bytes.next())?, digit(bytes.next())?);
                plain.push(u8::try_from(high * 16 + low).ok()?);
            }
            byte => plain.push(byte),
        }
    }
    Some(plain)
}

/// What a segment may hold unencoded, RFC 3986, section 3.3 (pchar). A slash inside a name stays encoded.
fn encode(plain: &[u8]) -> String {
    let mut text = String::with_capacity(plain.len());
    for byte in plain {
        match byte {
            b if b.is_ascii_alphanumeric() || b"-._~!$&'()*+,;=:@".contains(b) => text.push(char::from(*b)),
            b => text.push_str(&format!("%{b:02X}")),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn addresses_have_one_spelling_and_stay_inside() {
        #[track_caller]
        fn check(href: &str, expect: Result<&str, &str>) {
            let got = path(href, "https://dav.example.com", "/u/cal/");
            assert_eq!(got.as_deref().map_err(|e| *e), expect, "{href}");
        }
        check("/u/cal/a%40b.ics", Ok("/u/cal/a@b.ics"));
        check("/u/cal/a@b.ics", Ok("/u/cal/a@b.ics"));
        check("/u/cal/a b.ics", Ok("/u/cal/a%20b.ics"));
        check("/u/cal/%e4.ics", Ok("/u/cal/%E4.ics"));
        check("/u/cal/ä.ics", Ok("/u/cal/%C3%A4.ics"));
        check("/u/cal/a%2Fb.ics", Ok("/u/cal/a%2Fb.ics"));
        check("b.ics", Ok("/u/cal/b.ics"));
        check("https://dav.example.com/u/cal/a.ics", Ok("/u/cal/a.ics"));
        check("https://DAV.example.com:443/u/", Ok("/u/"));
        check("http://dav.example.com/u/", Err("leads to another server"));
        check(
            "https://dav.example.com.evil.org/u/",
            Err("leads to another server"),
        );
        check("https://user@evil.org/u/", Err("leads to another server"));
        check("//evil.org/u/", Err("leads to another server"));
        check("/u/cal/../../etc", Err("leads out of its folder"));
        check("/u/cal/%2e%2E/x", Err("leads out of its folder"));
        check("/u/cal/a%00.ics", Err("leads out of its folder"));
        check("/u/cal/a%zz", Err("is not valid"));
        check("/u/cal\\..\\a", Err("holds what no address holds"));
        check(&format!("/{}", "a".repeat(3000)), Err("is too long"));
        assert_eq!(inside("/u/cal/a.ics", "/u/cal/"), Some("a.ics"));
        assert_eq!(inside("/u/cal/", "/u/cal/"), None);
        assert_eq!(inside("/u/cal/x/a.ics", "/u/cal/"), None);
        assert_eq!(inside("/u/cal2/a.ics", "/u/cal/"), None);
    }

    #[test]
    fn names_are_safe_and_stable() {
        #[track_caller]
        fn check(segment: &str, expect: &str, plain: bool) {
            assert_eq!(file(segment, "ics"), (expect.to_owned(), plain), "{segment}");
        }
        check("a.ics", "a.ics", true);
        check("a@b.ics", "a@b.ics", true);
        check("a", "a-ca978112.ics", false);
        check("a%2Fb.ics", "a-b-dcf5ee95.ics", false);
        let long = "x".repeat(900);
        for hostile in [
            "..%2F..%2Fetc%2Fpasswd",
            ".hidden.ics",
            "%00.ics",
            "",
            "CON.ics",
            ".ics",
            long.as_str(),
            "a%0Ab.ics",
        ] {
            let (name, _) = file(hostile, "ics");
            assert!(
                name.len() < 160 && !name.starts_with('.') && !name.contains(['/', '\0', '\n']),
                "{name}"
            );
            assert!(name.ends_with(".ics") && name.len() > 4, "{name}");
            assert_eq!(file(hostile, "ics").0, name);
        }
        assert_ne!(other_file("a.ics", "ics"), "a.ics");
        assert_ne!(other_segment("a.ics", "ics"), "a.ics");
    }

    proptest! {
        #[test]
        fn any_segment_makes_a_safe_name(segment in ".{0,300}") {
            let (name, _) = file(&segment, "vcf");
            prop_assert!(!name.starts_with('.') && name.ends_with(".vcf") && name.len() <= 255);
            prop_assert!(!name.contains(['/', '\\', '\0']));
            prop_assert!(std::path::Path::new(&name).components().count() == 1);
        }

        #[test]
        fn a_path_has_one_spelling(href in "/[ -~]{0,60}") {
            if let Ok(once) = path(&href, "https://a", "/") {
                let again = path(&once, "https://a", "/");
                prop_assert_eq!(again.as_ref(), Ok(&once));
            }
        }
    }
}
