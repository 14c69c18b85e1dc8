//! The person's address book: vCards 2.1, 3.0 and 4.0 in vdir folders, read leniently and within bounds.

use std::path::Path;

use calcard::{
    Entry, Parser,
    vcard::{VCard, VCardEntry, VCardParameterName, VCardProperty, VCardValue},
};

use super::{plain, store};
use crate::contract::ToolError;

/// Largest file, in bytes: an exported book with photos.
const MAX_FILE: u64 = 16 * 1024 * 1024;
/// Most cards that are held.
const MAX_CARDS: usize = 20_000;
/// Most values of one kind in one card.
const MAX_VALUES: usize = 10;
/// Longest value, in characters.
const MAX_TEXT: usize = 120;
const BOUNDS: store::Bounds = store::Bounds {
    depth: 3,
    entries: 50_000,
    file_links: true,
};

/// One person or organisation.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Contact {
    /// As it is displayed.
    pub name: String,
    /// Other names that people use.
    pub nicknames: Vec<String>,
    /// Company.
    pub organisation: String,
    /// Numbers with their kind.
    pub phones: Vec<Labelled>,
    /// Addresses with their kind.
    pub mails: Vec<Labelled>,
    /// Postal addresses in one line, with their kind.
    pub addresses: Vec<Labelled>,
    /// Day of birth.
    pub birthday: Option<Birthday>,
}

/// A value and what it is for: `mobile`, `home`, `work`, or nothing.
#[derive(Debug, Clone, PartialEq)]
pub struct Labelled {
    /// `mobile`, `home`, `work` or empty.
    pub label: &'static str,
    /// As it stands in the card.
    pub value: String,
}

/// A day of birth; many cards leave the year out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Birthday {
    /// Calendar year, if known.
    pub year: Option<i16>,
    /// 1 to 12.
    pub month: i8,
    /// 1 to 31.
    pub day: i8,
}

/// Reads every card under a folder, sorted by name. Files that cannot be read are counted, not fatal: one broken card
/// must not hide the others.
///
/// # Errors
/// When the folder itself cannot be read. A folder that is not there is an empty book.
pub fn read(folder: &Path) -> Result<(Vec<Contact>, usize), ToolError> {
    let what = "read your contacts";
    let found = store::walk(folder, BOUNDS).map_err(|e| e.tool(what))?;
    let mut contacts = Vec::new();
    let mut unreadable = 0;
    for path in found.files {
        if !path.extension().is_some_and(|e| e.eq_ignore_ascii_case("vcf")) {
            continue;
        }
        let cards = match store::read_bounded(&path, MAX_FILE) {
            Ok(bytes) => parse(&bytes),
            Err(error) => {
                tracing::warn!(%error, "a contact was left out");
                Vec::new()
            }
        };
        unreadable += usize::from(cards.is_empty());
        contacts.extend(cards);
        if contacts.len() >= MAX_CARDS {
            tracing::warn!(max = MAX_CARDS, "the address book is larger than what is read");
            contacts.truncate(MAX_CARDS);
            break;
        }
    }
    contacts.sort_by(|a, b| a.name.cmp(&b.name));
    Ok((contacts, unreadable))
}

/// The cards of one file that name somebody. Broken lines are skipped, a broken card ends the file.
pub fn parse(bytes: &[u8]) -> Vec<Contact> {
    // Old exports are Latin-1; their letters map to the same code points.
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => text.to_owned(),
        Err(_) => bytes.iter().map(|&b| char::from(b)).collect(),
    };
    let mut parser = Parser::new(&text);
    let mut contacts = Vec::new();
    while contacts.len() < MAX_CARDS {
        match parser.entry() {
            Entry::VCard(card) => contacts.extend(contact(&card)),
            Entry::Eof | Entry::TooManyComponents | Entry::UnterminatedComponent(_) => break,
            _ => {}
        }
    }
    contacts
}

impl Birthday {
    /// `3 May 1980`, or without the year when that is unknown.
    pub fn spoken(self) -> String {
        const MONTHS: [&str; 12] = [
            "January",
            "February",
            "March",
            "April",
            "May",
            "June",
            "July",
            "August",
            "September",
            "October",
            "November",
            "December",
        ];
        let month = MONTHS[usize::from((self.month - 1).unsigned_abs()) % 12];
        match self.year {
            Some(year) => format!("{} {month} {year}", self.day),
            None => format!("{} {month}", self.day),
        }
    }

    /// `1980-05-03`, or `--05-03` as vCard writes it without the year.
    pub fn iso(self) -> String {
        match self.year {
            Some(year) => format!("{year:04}-{:02}-{:02}", self.month, self.day),
            None => format!("--{:02}-{:02}", self.month, self.day),
        }
    }

    /// Checks the day against the month; year 1604 is how Apple writes "no year".
    fn new(year: Option<i16>, month: i8, day: i8) -> Option<Birthday> {
        let year = year.filter(|y| *y > 1604);
        jiff::civil::Date::new(year.unwrap_or(2000), month, day).ok()?;
        Some(Birthday { year, month, day })
    }
}

fn contact(card: &VCard) -> Option<Contact> {
    let mut contact = Contact::default();
    let mut structured = String::new();
    for entry in &card.entries {
        match &entry.name {
            VCardProperty::Fn if contact.name.is_empty() => contact.name = joined(entry, " "),
            VCardProperty::N if structured.is_empty() => structured = given_first(entry),
            VCardProperty::Nickname => {
                contact
                    .nicknames
                    .extend(texts(entry).into_iter().take(MAX_VALUES));
                contact.nicknames.truncate(MAX_VALUES);
            }
            VCardProperty::Org if contact.organisation.is_empty() => {
                contact.organisation = joined(entry, ", ")
            }
            VCardProperty::Tel => push(&mut contact.phones, entry, " "),
            VCardProperty::Email => push(&mut contact.mails, entry, " "),
            VCardProperty::Adr => push(&mut contact.addresses, entry, ", "),
            VCardProperty::Bday if contact.birthday.is_none() => contact.birthday = birthday(entry),
            _ => {}
        }
    }
    let fallbacks = [
        structured,
        contact.organisation.clone(),
        contact.nicknames.first().cloned().unwrap_or_default(),
        contact.mails.first().map(|m| m.value.clone()).unwrap_or_default(),
    ];
    if contact.name.is_empty() {
        contact.name = fallbacks.into_iter().find(|f| !f.is_empty())?;
    }
    Some(contact)
}

fn push(list: &mut Vec<Labelled>, entry: &VCardEntry, separator: &str) {
    let value = joined(entry, separator);
    let value = value
        .strip_prefix("tel:")
        .or(value.strip_prefix("mailto:"))
        .unwrap_or(&value);
    if value.is_empty() || list.len() >= MAX_VALUES || list.iter().any(|l| l.value == value) {
        return;
    }
    list.push(Labelled {
        label: label(entry),
        value: value.to_owned(),
    });
}

/// The kind that people name. vCard 2.1 writes the types as bare parameters, later versions as `TYPE=`.
fn label(entry: &VCardEntry) -> &'static str {
    let mut found = "";
    for parameter in &entry.params {
        let text = match &parameter.name {
            VCardParameterName::Type => parameter.value.as_text().unwrap_or_default(),
            VCardParameterName::Other(bare) => bare,
            _ => continue,
        };
        for kind in text.split(',') {
            match kind.trim_matches('"').to_ascii_lowercase().as_str() {
                "cell" | "mobile" | "iphone" => return "mobile",
                "home" => found = "home",
                "work" => found = "work",
                _ => {}
            }
        }
    }
    found
}

/// Family, given, middle, prefix, suffix (RFC 6350 section 6.2.2), as a name is spoken.
fn given_first(entry: &VCardEntry) -> String {
    let parts: Vec<String> = entry.values.iter().map(|v| value(v, " ")).collect();
    let at = |i: usize| parts.get(i).map_or("", String::as_str);
    let name = [at(3), at(1), at(2), at(0), at(4)].join(" ");
    plain::one_line(&name, MAX_TEXT)
}

fn joined(entry: &VCardEntry, separator: &str) -> String {
    plain::one_line(&texts(entry).join(separator), MAX_TEXT)
}

fn texts(entry: &VCardEntry) -> Vec<String> {
    entry
        .values
        .iter()
        .take(MAX_VALUES)
        .map(|v| plain::one_line(&value(v, " "), MAX_TEXT))
        .filter(|text| !text.is_empty())
        .collect()
}

fn value(value: &VCardValue, separator: &str) -> String {
    match value {
        VCardValue::Component(parts) => parts.join(separator),
        other => other.as_text().unwrap_or_default().to_owned(),
    }
}

fn birthday(entry: &VCardEntry) -> Option<Birthday> {
    match entry.values.first()? {
        VCardValue::PartialDateTime(date) => Birthday::new(
            date.year.and_then(|y| i16::try_from(y).ok()),
            i8::try_from(date.month?).ok()?,
            i8::try_from(date.day?).ok()?,
        ),
        VCardValue::Text(text) => {
            let digits: Vec<i16> = text
                .split('T')
                .next()?
                .split(['-', '/', '.'])
                .filter_map(|part| part.trim().parse().ok())
                .collect();
            match digits[..] {
                [year, month, day] => {
                    Birthday::new(Some(year), i8::try_from(month).ok()?, i8::try_from(day).ok()?)
                }
                [month, day] => Birthday::new(None, i8::try_from(month).ok()?, i8::try_from(day).ok()?),
                _ => None,
            }
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn card(text: &str) -> Contact {
        let mut cards = parse(text.as_bytes());
        assert_eq!(cards.len(), 1, "{text}");
        cards.remove(0)
    }

    #[test]
    fn a_card_of_each_version_says_the_same() {
        let v4 = card(
            "BEGIN:VCARD\r\nVERSION:4.0\r\nFN:Anna Bell\r\nN:Bell;Anna;;;\r\nNICKNAME:Annie,Nan\r\n\
             TEL;VALUE=uri;TYPE=\"voice,cell\":tel:+49-151-5550101\r\nEMAIL;TYPE=work:anna@example.org\r\n\
             BDAY:--0503\r\nEND:VCARD\r\n",
        );
        assert_eq!(v4.name, "Anna Bell");
        assert_eq!(v4.nicknames, ["Annie", "Nan"]);
        assert_eq!(
            (v4.phones[0].label, v4.phones[0].value.as_str()),
            ("mobile", "+49-151-5550101")
        );
        assert_eq!(
            (v4.mails[0].label, v4.mails[0].value.as_str()),
            ("work", "anna@example.org")
        );
        assert_eq!(v4.birthday.unwrap().spoken(), "3 May");
        let v3 = card(
            "BEGIN:VCARD\nVERSION:3.0\nN:Bell;Anna;;Dr.;\nTEL;TYPE=CELL:+49 151 5550101\nBDAY:1980-05-03\n\
             ADR;TYPE=HOME:;;Main Street 1;Springfield;;12345;USA\nEND:VCARD\n",
        );
        assert_eq!(v3.name, "Dr. Anna Bell");
        assert_eq!(v3.phones[0].label, "mobile");
        assert_eq!(v3.birthday.unwrap().iso(), "1980-05-03");
        assert_eq!(v3.addresses[0].value, "Main Street 1, Springfield, 12345, USA");
        let v2 = card(
            "BEGIN:VCARD\nVERSION:2.1\nFN;CHARSET=UTF-8;ENCODING=QUOTED-PRINTABLE:J=C3=BCrgen\nTEL;CELL;VOICE:123456\n\
             BDAY:19800503\nEND:VCARD\n",
        );
        assert_eq!((v2.name.as_str(), v2.phones[0].label), ("Jürgen", "mobile"));
        assert_eq!(v2.birthday.unwrap().iso(), "1980-05-03");
    }

    #[test]
    fn hostile_cards_are_bounded() {
        let long = format!(
            "BEGIN:VCARD\nVERSION:3.0\nFN:{}\nEND:VCARD\n",
            "x".repeat(100_000)
        );
        assert_eq!(card(&long).name.chars().count(), MAX_TEXT + 1);
        let many = format!(
            "BEGIN:VCARD\nVERSION:3.0\nFN:A\n{}END:VCARD\n",
            "TEL:1\nTEL:2\n".repeat(1000)
        );
        assert_eq!(card(&many).phones.len(), 2);
        let bidi = card("BEGIN:VCARD\nVERSION:3.0\nFN:A\u{202e}nna\\nBell\nBDAY:2000-02-31\nEND:VCARD\n");
        assert_eq!((bidi.name.as_str(), bidi.birthday), ("Anna Bell", None));
        assert_eq!(parse(b"BEGIN:VCARD\nFN:never ended")[0].name, "never ended");
        assert_eq!(parse(b"\xff\xfe BEGIN VCARD\n:::;;;\n"), []);
        assert_eq!(
            parse(b"BEGIN:VCARD\nVERSION:3.0\nEND:VCARD\n"),
            [],
            "nobody is named"
        );
    }

    #[test]
    fn latin_1_is_read_as_such() {
        let cards = parse(b"BEGIN:VCARD\nVERSION:3.0\nFN:J\xfcrgen\nEND:VCARD\n");
        assert_eq!(cards[0].name, "Jürgen");
    }

    #[test]
    fn real_exports_are_read() {
        let Some(data) = crate::testing::data("vcf") else {
            return;
        };
        for (path, bytes) in crate::testing::files(&data) {
            let cards = parse(&bytes);
            assert!(!cards.is_empty(), "{}", path.display());
            assert!(cards.iter().all(|c| !c.name.is_empty()), "{}", path.display());
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_survived(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
            let mut text = b"BEGIN:VCARD\nVERSION:3.0\n".to_vec();
            text.extend(bytes);
            text.extend(b"\nEND:VCARD\n");
            parse(&text);
        }
    }
}
