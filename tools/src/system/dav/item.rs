//! An item's text: what synchronising needs to know of it, and the one change that it makes to it.
//!
//! On lines instead of a parsed object, so that every property that nobody here understands stays as it was.
//! RFC 5545 and RFC 6350, section 3.1 and 3.2: content lines, folded at 75 bytes.

use sha2::{Digest as _, Sha256};

use super::plan::{Hash, Place};

/// What is put behind the title of a copy.
pub const SUFFIX: &str = " (conflicted copy)";

/// The SHA-256 of some bytes.
pub fn hash(bytes: &[u8]) -> Hash {
    Sha256::digest(bytes).into()
}

/// An item whose frame is whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    /// The text, with CRLF at the end of each line.
    pub text: String,
    /// Where such an item belongs.
    pub place: Place,
    /// Its UID; vCards may lack one.
    pub uid: Option<String>,
}

/// Reads an item.
///
/// # Errors
/// What is wrong with it, as the end of a sentence: "is not text".
pub fn read(bytes: &[u8]) -> Result<Item, &'static str> {
    let text = std::str::from_utf8(bytes).map_err(|_| "is not UTF-8 text")?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    if text.contains('\0') {
        return Err("is not text");
    }
    let lines = logical(text);
    let mut open: Vec<&str> = Vec::new();
    let (mut place, mut uid) = (None, None);
    for line in &lines {
        let (name, _, value) = line.parts();
        if name.eq_ignore_ascii_case("BEGIN") {
            let here = match value.trim().to_ascii_uppercase().as_str() {
                "VCARD" if open.is_empty() => Some(Place::Cards),
                "VEVENT" | "VJOURNAL" | "VFREEBUSY" if open.len() == 1 => Some(Place::Events),
                "VTODO" if open.len() == 1 => Some(Place::Todos),
                _ => None,
            };
            place = place.or(here);
            open.push(value.trim());
        } else if name.eq_ignore_ascii_case("END") {
            match open.pop() {
                Some(begun) if begun.eq_ignore_ascii_case(value.trim()) => {}
                _ => return Err("ends something that did not begin"),
            }
        } else if open.is_empty() {
            return Err("is neither a calendar item nor a contact");
        } else if uid.is_none() && has_uid(&open) && name.eq_ignore_ascii_case("UID") {
            uid = Some(value.trim().to_owned()).filter(|uid| !uid.is_empty());
        }
        if open.len() > MAX_DEPTH {
            return Err("is nested too deeply");
        }
    }
    if !open.is_empty() {
        return Err("ends in the middle");
    }
    let place = place.ok_or("is neither a calendar item nor a contact")?;
    if place != Place::Cards && uid.is_none() {
        return Err("has no UID");
    }
    Ok(Item {
        text: canonical(text),
        place,
        uid,
    })
}

impl Item {
    /// Whether two items say the same. Servers reorder lines, fold elsewhere, sign with their own PRODID and add zones;
    /// that is no reason to keep two of them.
    pub fn says_the_same(&self, other: &Item) -> bool {
        self.text == other.text || meaning(&self.text) == meaning(&other.text)
    }

    /// What the person calls it.
    pub fn title(&self) -> String {
        let title = if self.place == Place::Cards {
            "FN"
        } else {
            "SUMMARY"
        };
        let line = logical(&self.text)
            .into_iter()
            .find(|line| line.parts().0.eq_ignore_ascii_case(title));
        line.map_or_else(
            || "untitled".to_owned(),
            |line| line.parts().2.replace("\\,", ","),
        )
    }

    /// A copy with a UID of its own that says in its title what it is. Made from the same item it is the same again,
    /// so that an interrupted run does not make two.
    pub fn conflicted_copy(&self) -> (String, Item) {
        let digest = hash(self.text.as_bytes());
        let uid = uuid(&digest);
        let mut open: Vec<String> = Vec::new();
        let mut text = String::with_capacity(self.text.len() + 100);
        for line in logical(&self.text) {
            let (name, head, value) = line.parts();
            if name.eq_ignore_ascii_case("BEGIN") {
                open.push(value.trim().to_ascii_uppercase());
            } else if name.eq_ignore_ascii_case("END") {
                open.pop();
            }
            let names: Vec<&str> = open.iter().map(String::as_str).collect();
            let title = match self.place {
                Place::Cards => "FN",
                Place::Events | Place::Todos => "SUMMARY",
            };
            if has_uid(&names) && name.eq_ignore_ascii_case("UID") {
                fold(&mut text, &format!("{head}:{uid}"));
            } else if has_uid(&names) && name.eq_ignore_ascii_case(title) {
                fold(&mut text, &format!("{head}:{value}{SUFFIX}"));
            } else if has_uid(&names) && SCHEDULED.iter().any(|s| name.eq_ignore_ascii_case(s)) {
                fold(&mut text, &format!("X-TIRO-{head}:{value}"));
            } else {
                text.push_str(line.raw);
                text.push_str("\r\n");
            }
        }
        let copy = Item {
            text,
            place: self.place,
            uid: self.uid.as_ref().map(|_| uid.clone()),
        };
        (uid, copy)
    }
}

/// Who has to do with an event. Under these names a server would invite everybody to a new UID (RFC 6638, section 3.2.1),
/// so a copy has them under names that mean nothing to it.
const SCHEDULED: [&str; 2] = ["ORGANIZER", "ATTENDEE"];

/// Real items have four levels: calendar, event, alarm, location.
const MAX_DEPTH: usize = 16;

/// Whether a UID in this component names the item: in a card, and in an event, but not in its alarm or in a zone.
fn has_uid<T: AsRef<str>>(open: &[T]) -> bool {
    match open {
        [card] => card.as_ref().eq_ignore_ascii_case("VCARD"),
        [_, part] => ["VEVENT", "VTODO", "VJOURNAL", "VFREEBUSY"]
            .iter()
            .any(|kind| part.as_ref().eq_ignore_ascii_case(kind)),
        _ => false,
    }
}

/// One content line, and how it stands in the text.
struct Line<'t> {
    raw: &'t str,
    unfolded: std::borrow::Cow<'t, str>,
}

impl Line<'_> {
    /// The name; all before the colon, so group, name and parameters; the value.
    fn parts(&self) -> (&str, &str, &str) {
        let mut quoted = false;
        let colon = self.unfolded.find(|c| {
            quoted ^= c == '"';
            c == ':' && !quoted
        });
        let (head, value) = match colon {
            Some(at) => (&self.unfolded[..at], &self.unfolded[at + 1..]),
            None => (&*self.unfolded, ""),
        };
        let end = head.find(';').unwrap_or(head.len());
        // `item1.FN` is a name in a group (RFC 6350, section 3.3).
        let name = head[..end].rsplit('.').next().unwrap_or_default();
        (name, head, value)
    }
}

/// The content lines; blank ones are left out.
fn logical(text: &str) -> Vec<Line<'_>> {
    let mut lines: Vec<(usize, usize)> = Vec::new();
    let mut at = 0;
    for raw in text.split_inclusive('\n') {
        let (start, end) = (at, at + raw.trim_end_matches(['\r', '\n']).len());
        at += raw.len();
        match lines.last_mut() {
            Some(last) if raw.starts_with([' ', '\t']) => last.1 = end,
            _ if start == end => {}
            _ => lines.push((start, end)),
        }
    }
    let whole = |(start, end)| {
        let raw: &str = &text[start..end];
        let unfolded = match raw.contains('\n') {
            false => raw.into(),
            true => {
                let mut pieces = raw.split('\n').map(|piece| piece.trim_end_matches('\r'));
                let first = pieces.next().unwrap_or_default().to_owned();
                pieces
                    .fold(first, |line, piece| {
                        line + piece.strip_prefix([' ', '\t']).unwrap_or(piece)
                    })
                    .into()
            }
        };
        Line { raw, unfolded }
    };
    lines.into_iter().map(whole).collect()
}

/// The same text with CRLF at the end of each line: XML turns them into LF on the way.
fn canonical(text: &str) -> String {
    let mut whole = String::with_capacity(text.len() + text.len() / 40);
    for line in text.split_terminator('\n') {
        whole.push_str(line.strip_suffix('\r').unwrap_or(line));
        whole.push_str("\r\n");
    }
    whole
}

/// What an item says, in an order of its own: each line under the path of components that it stands in.
fn meaning(text: &str) -> Vec<String> {
    const SIGNATURES: [&str; 5] = ["PRODID", "CALSCALE", "VERSION", "DTSTAMP", "X-RADICALE-NAME"];
    let mut open: Vec<Vec<String>> = vec![Vec::new()];
    let mut skipped = 0usize;
    for line in logical(text) {
        let (name, head, value) = line.parts();
        let zone = value.trim().eq_ignore_ascii_case("VTIMEZONE");
        if name.eq_ignore_ascii_case("BEGIN") {
            skipped += usize::from(zone);
            open.push(vec![value.trim().to_ascii_uppercase()]);
        } else if name.eq_ignore_ascii_case("END") {
            skipped = skipped.saturating_sub(usize::from(zone));
            let mut done = open.pop().unwrap_or_default();
            done.sort();
            if let (Some(outer), false) = (open.last_mut(), zone || skipped > 0) {
                outer.push(done.join("\n"));
            }
        } else if !SIGNATURES.iter().any(|s| name.eq_ignore_ascii_case(s)) {
            let mut head: Vec<&str> = head.split(';').collect();
            head.sort_unstable();
            if let Some(inner) = open.last_mut() {
                inner.push(format!("{}:{value}", head.join(";")));
            }
        }
    }
    let mut all = open.pop().unwrap_or_default();
    all.sort();
    all
}

/// Writes a content line, folded so that no line has more than 75 bytes.
fn fold(text: &mut String, line: &str) {
    let mut length = 0;
    for c in line.chars() {
        if length + c.len_utf8() > 75 {
            text.push_str("\r\n ");
            length = 1;
        }
        text.push(c);
        length += c.len_utf8();
    }
    text.push_str("\r\n");
}

/// A UUID of version 8 (RFC 9562, section 5.8) from a digest.
fn uuid(digest: &Hash) -> String {
    let hex: String = digest.iter().take(16).map(|b| format!("{b:02x}")).collect();
    format!(
        "{}-{}-8{}-a{}-{}",
        &hex[..8],
        &hex[8..12],
        &hex[13..16],
        &hex[17..20],
        &hex[20..32]
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const EVENT: &str = "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:x\r\nBEGIN:VEVENT\r\nUID:a@b\r\nDTSTAMP:20260101T000000Z\r\n\
        SUMMARY;LANGUAGE=en:Dent\r\n ist\r\nX-FOREIGN;A=\"x:y\":kept\r\nBEGIN:VALARM\r\nUID:alarm\r\nSUMMARY:inner\r\nEND:VALARM\r\n\
        END:VEVENT\r\nEND:VCALENDAR\r\n";
    const CARD: &str = "BEGIN:VCARD\nVERSION:4.0\nUID:c1\nitem1.FN:Ada\nN:Lovelace;Ada;;;\nEND:VCARD\n";

    #[test]
    fn items_are_told_apart() {
        #[track_caller]
        fn check(bytes: &[u8], expect: Result<(Place, Option<&str>), &str>) {
            let got = read(bytes);
            let got = got.as_ref().map(|i| (i.place, i.uid.as_deref())).map_err(|e| *e);
            assert_eq!(got, expect);
        }
        check(EVENT.as_bytes(), Ok((Place::Events, Some("a@b"))));
        check(CARD.as_bytes(), Ok((Place::Cards, Some("c1"))));
        check(
            EVENT.replace("VEVENT", "VTODO").as_bytes(),
            Ok((Place::Todos, Some("a@b"))),
        );
        check(
            format!("\u{feff}{CARD}").as_bytes(),
            Ok((Place::Cards, Some("c1"))),
        );
        check(b"\xff\xfe", Err("is not UTF-8 text"));
        check(b"", Err("is neither a calendar item nor a contact"));
        check(b"hello", Err("is neither a calendar item nor a contact"));
        check(b"BEGIN:VCARD\nFN:x\0\nEND:VCARD", Err("is not text"));
        check(&EVENT.as_bytes()[..120], Err("ends in the middle"));
        check(
            b"BEGIN:VCARD\nEND:VCALENDAR",
            Err("ends something that did not begin"),
        );
        check(EVENT.replace("UID:a@b\r\n", "").as_bytes(), Err("has no UID"));
        check("BEGIN:X\n".repeat(50).as_bytes(), Err("is nested too deeply"));
    }

    #[test]
    fn a_copy_has_its_own_uid_and_says_so() {
        let item = read(EVENT.as_bytes()).unwrap();
        let (uid, copy) = item.conflicted_copy();
        assert_eq!(uid.len(), 36);
        let expect = EVENT.replace("UID:a@b", &format!("UID:{uid}")).replace(
            "SUMMARY;LANGUAGE=en:Dent\r\n ist",
            "SUMMARY;LANGUAGE=en:Dentist (conflicted copy)",
        );
        assert_eq!(copy.text, expect);
        assert_eq!(read(copy.text.as_bytes()).unwrap(), copy);
        assert_eq!(
            item.conflicted_copy(),
            (uid, copy),
            "an interrupted run makes the same one"
        );
        let people = "ORGANIZER;CN=\"A: da\":mailto:ada@example.com\r\nattendee;PARTSTAT=ACCEPTED:mailto:b@example.com\r\n";
        let shared = EVENT.replace("BEGIN:VALARM", &format!("{people}BEGIN:VALARM"));
        let copy = read(shared.as_bytes()).unwrap().conflicted_copy().1;
        let kept = "X-TIRO-ORGANIZER;CN=\"A: da\":mailto:ada@example.com\r\n\
             X-TIRO-attendee;PARTSTAT=ACCEPTED:mailto:b@example.com\r\n";
        assert!(copy.text.contains(kept), "{}", copy.text);
        assert!(
            copy.text
                .lines()
                .all(|line| !SCHEDULED.iter().any(|s| line.to_uppercase().starts_with(s))),
            "{}",
            copy.text
        );
        let card = read(CARD.as_bytes()).unwrap().conflicted_copy().1;
        assert!(
            card.text.contains("item1.FN:Ada (conflicted copy)\r\n"),
            "{}",
            card.text
        );
        assert!(card.text.contains("N:Lovelace;Ada;;;\r\n"));
    }

    #[test]
    fn long_titles_are_folded_between_characters() {
        let item = read(EVENT.replace("Dent", &"ü".repeat(80)).as_bytes()).unwrap();
        let (_, copy) = item.conflicted_copy();
        assert!(copy.text.lines().all(|l| l.len() <= 75 || !l.contains("SUMMARY")));
        assert!(
            copy.text
                .replace("\r\n ", "")
                .contains(&format!("{}ist{SUFFIX}", "ü".repeat(80)))
        );
    }

    #[test]
    fn what_servers_rewrite_is_no_difference() {
        #[track_caller]
        fn check(a: &str, b: &str, same: bool) {
            let (a, b) = (read(a.as_bytes()).unwrap(), read(b.as_bytes()).unwrap());
            assert_eq!((a.says_the_same(&b), b.says_the_same(&a)), (same, same));
        }
        check(EVENT, EVENT, true);
        check(EVENT, &EVENT.replace("\r\n", "\n"), true);
        check(EVENT, &EVENT.replace("PRODID:x", "PRODID:y"), true);
        check(EVENT, &EVENT.replace("Dent\r\n ist", "De\r\n ntist"), true);
        let zone = "BEGIN:VTIMEZONE\r\nTZID:x\r\nBEGIN:STANDARD\r\nTZNAME:y\r\nEND:STANDARD\r\nEND:VTIMEZONE\r\nBEGIN:VEVENT";
        check(EVENT, &EVENT.replacen("BEGIN:VEVENT", zone, 1), true);
        check(EVENT, &EVENT.replace("Dent", "Rent"), false);
        check(EVENT, &EVENT.replace("SUMMARY:inner", "SUMMARY:other"), false);
        check(EVENT, &EVENT.replace("X-FOREIGN", "X-FOREIGNER"), false);
        // The same lines in other components say something else.
        check(
            EVENT,
            &EVENT.replace(
                "SUMMARY:inner\r\nEND:VALARM\r\n",
                "END:VALARM\r\nSUMMARY:inner\r\n",
            ),
            false,
        );
    }
}
