//! What is put right in a message before it is parsed, because the parser would lose it.

use std::borrow::Cow;

use super::message::MAX_HEADER;

/// Longest text that divides parts (RFC 2046 allows 70), and most of them that are minded.
const MAX_BOUNDARY: usize = 200;
const MAX_BOUNDARIES: usize = 16;
/// Most pairs of dashes inside of lines that are looked at; a message with more has drawings in it.
const MAX_DASHES: usize = 200_000;
/// Keeps two dashes apart; it is no letter, so it is never shown.
const APART: u8 = 1;

/// A message whose header is UTF-8. Programs that know nothing of encoded words wrote names as they were, in Latin-1 mostly,
/// and a parser can only put question marks for that.
pub fn header(bytes: &[u8]) -> Cow<'_, [u8]> {
    let ends = |end: &[u8]| bytes.windows(end.len()).position(|w| w == end);
    let end = (bytes.iter().take(MAX_HEADER).any(|b| !b.is_ascii()))
        .then(|| [ends(b"\n\n"), ends(b"\r\n\r\n")].into_iter().flatten().min())
        .flatten();
    let Some((header, rest)) = end.and_then(|end| bytes.split_at_checked(end)) else {
        return Cow::Borrowed(bytes);
    };
    if std::str::from_utf8(header).is_ok() {
        return Cow::Borrowed(bytes);
    }
    let mut text = Vec::with_capacity(bytes.len() + 64);
    for line in header.split_inclusive(|b| *b == b'\n') {
        match std::str::from_utf8(line) {
            Ok(_) => text.extend_from_slice(line),
            // An encoded word says which letters its bytes are.
            Err(_) if line.windows(2).any(|w| w == b"=?") => text.extend_from_slice(line),
            Err(_) => text.extend(line.iter().copied().map(char::from).collect::<String>().bytes()),
        }
    }
    text.extend_from_slice(rest);
    Cow::Owned(text)
}

/// A message in which parts begin at the beginning of a line only, as RFC 2046 has it. The parser takes what divides them for
/// that in the middle of a line, too, and what somebody quotes there would end the text. What ends the last part may stand
/// there: some programs leave out the end of the line before it, and a part without an end would be lost.
pub fn boundaries(bytes: Cow<'_, [u8]>) -> Cow<'_, [u8]> {
    let known = named(&bytes);
    let mut inner = Vec::new();
    let (mut words, mut looked) = (false, 0);
    for (at, byte) in bytes.iter().enumerate() {
        match byte {
            b'\n' => words = false,
            b'-' => {
                let rest = bytes[at..]
                    .strip_prefix(b"--")
                    .filter(|_| words && looked < MAX_DASHES);
                looked += usize::from(rest.is_some());
                let begins = |rest: &[u8], boundary: &[u8]| {
                    rest.strip_prefix(boundary)
                        .is_some_and(|rest| !rest.starts_with(b"--"))
                };
                if rest.is_some_and(|rest| known.iter().any(|boundary| begins(rest, boundary))) {
                    inner.push(at + 1);
                }
            }
            // More dashes than there should be, or blanks before them, are forgiven.
            byte => words |= !byte.is_ascii_whitespace(),
        }
    }
    if inner.is_empty() {
        return bytes;
    }
    let mut apart = Vec::with_capacity(bytes.len() + inner.len());
    let mut from = 0;
    for at in inner {
        apart.extend_from_slice(&bytes[from..at]);
        apart.push(APART);
        from = at;
    }
    apart.extend_from_slice(&bytes[from..]);
    Cow::Owned(apart)
}

/// What the fields say that divides parts.
fn named(bytes: &[u8]) -> Vec<&[u8]> {
    const FIELD: &[u8] = b"boundary=";
    let mut known: Vec<&[u8]> = Vec::new();
    for (at, _) in bytes.iter().enumerate().filter(|(_, byte)| **byte == b'=') {
        let Some(field) = (at + 1).checked_sub(FIELD.len()) else {
            continue;
        };
        if !bytes[field..=at].eq_ignore_ascii_case(FIELD) {
            continue;
        }
        let rest = &bytes[at + 1..];
        let (rest, ends): (&[u8], &[u8]) = match rest.strip_prefix(b"\"") {
            Some(quoted) => (quoted, b"\"\r\n"),
            None => (rest, b"; \t\r\n"),
        };
        let length = rest
            .iter()
            .take(MAX_BOUNDARY)
            .take_while(|byte| !ends.contains(byte))
            .count();
        let boundary = &rest[..length];
        if length > 0 && !known.contains(&boundary) {
            known.push(boundary);
        }
        if known.len() == MAX_BOUNDARIES {
            break;
        }
    }
    known
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(message: &str, expect: &str) {
        let mended = boundaries(Cow::Borrowed(message.as_bytes()));
        assert_eq!(String::from_utf8_lossy(&mended), expect);
    }

    #[test]
    fn only_the_beginning_of_a_line_divides_parts() {
        let fields = "Content-Type: multipart/mixed; boundary=\"b 1\"\n\n";
        check(
            &format!("{fields}--b 1\nsays --b 1 here\n> --b 1\n --b 1\n---b 1\n--b 1--\n"),
            &format!("{fields}--b 1\nsays -\u{1}-b 1 here\n> -\u{1}-b 1\n --b 1\n---b 1\n--b 1--\n"),
        );
        let closed = format!("{fields}--b 1\n\nthe end--b 1--\n");
        check(&closed, &closed);
        check("a --b 1\n", "a --b 1\n");
        check("Boundary=x; y\na --x", "Boundary=x; y\na -\u{1}-x");
        check("boundary=\"\"\na --", "boundary=\"\"\na --");
        check("boundary=", "boundary=");
    }

    #[test]
    fn many_dashes_take_no_time() {
        let fields: String = (0..40)
            .map(|n| format!("boundary={}{n}\n", "-".repeat(60)))
            .collect();
        let message = format!("{fields}x {}", "-".repeat(4 << 20));
        let begun = std::time::Instant::now();
        boundaries(Cow::Borrowed(message.as_bytes()));
        assert!(begun.elapsed().as_secs() < 20, "{:?}", begun.elapsed());
    }
}
