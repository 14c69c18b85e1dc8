//! One file of vCards as contacts.

use std::{path::PathBuf, sync::Arc};

use calcard::{
    Entry, Parser,
    vcard::{VCard, VCardEntry, VCardParameterName, VCardProperty, VCardValue},
};

use super::{Birthday, Book, Contact, Labelled, MAX_CARDS, MAX_NOTE, MAX_TEXT, MAX_VALUES, Problem};
use crate::system::{heard, plain};

/// The cards of one file that name somebody, and the lines of those that do not. Each card is read on its own, so that
/// a broken one takes no neighbour along; broken lines in a card are skipped.
pub fn parse(bytes: &[u8]) -> Book {
    // Old exports are Latin-1; their letters map to the same code points.
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => text.to_owned(),
        Err(_) => bytes.iter().map(|&b| char::from(b)).collect(),
    };
    let mut book = Book::default();
    let problem = |line, what: &str| Problem {
        path: PathBuf::new(),
        line,
        what: what.to_owned(),
    };
    let cards = cards(&text);
    if cards.is_empty() {
        book.problems.push(problem(1, "no BEGIN:VCARD in this file"));
    }
    for (index, (line, card)) in cards.into_iter().enumerate().take(MAX_CARDS) {
        match Parser::new(card).entry() {
            Entry::VCard(parsed) => match contact(&parsed) {
                Some(mut contact) => {
                    contact.index = index;
                    book.contacts.push(Arc::new(contact));
                }
                None => book.problems.push(problem(line, "this card names nobody")),
            },
            _ => book.problems.push(problem(line, "this card cannot be read")),
        }
    }
    book
}

/// Each card with the number of its first line. One without an end goes to the next beginning; a card within a card
/// (`AGENT` of vCard 2.1) belongs to it.
fn cards(text: &str) -> Vec<(usize, &str)> {
    let mut cards = Vec::new();
    let mut open: Option<(usize, usize)> = None;
    let (mut at, mut depth) = (0, 0usize);
    let mut after_agent = false;
    for (number, line) in text.split_inclusive('\n').enumerate() {
        let word = line.trim().trim_start_matches('\u{feff}');
        if word.eq_ignore_ascii_case("BEGIN:VCARD") {
            match open {
                Some(_) if after_agent => depth += 1,
                Some((first, start)) => {
                    cards.push((first, &text[start..at]));
                    (open, depth) = (Some((number + 1, at)), 0);
                }
                None => open = Some((number + 1, at)),
            }
        } else if word.eq_ignore_ascii_case("END:VCARD") {
            if depth > 0 {
                depth -= 1;
            } else if let Some((first, start)) = open.take() {
                cards.push((first, &text[start..at + line.len()]));
            }
        }
        after_agent = word.get(..5).is_some_and(|w| w.eq_ignore_ascii_case("AGENT"));
        at += line.len();
    }
    if let Some((first, start)) = open {
        cards.push((first, &text[start..]));
    }
    cards
}

fn contact(card: &VCard) -> Option<Contact> {
    let mut contact = Contact {
        version: 30,
        ..Contact::default()
    };
    let mut structured = String::new();
    // Apple's pairs: the value in one line, its label in another of the same group.
    let mut labels: Vec<(&str, String)> = Vec::new();
    let mut related: Vec<(Option<&str>, String)> = Vec::new();
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
            VCardProperty::Title if contact.title.is_empty() => contact.title = joined(entry, ", "),
            VCardProperty::Tel => push(&mut contact.phones, entry, " "),
            VCardProperty::Email => push(&mut contact.mails, entry, " "),
            VCardProperty::Adr => push(&mut contact.addresses, entry, ", "),
            VCardProperty::Bday if contact.birthday.is_none() => contact.birthday = birthday(entry),
            VCardProperty::Note if contact.note.is_empty() => {
                let text: Vec<String> = entry.values.iter().map(|v| value(v, " ")).collect();
                contact.note = plain::one_line(&text.join(", "), MAX_NOTE);
            }
            VCardProperty::Uid => {
                let uid = joined(entry, "");
                contact.uid = uid.trim_start_matches("urn:uuid:").to_owned();
            }
            VCardProperty::Version => {
                contact.version = match joined(entry, "").as_str() {
                    "2.1" => 21,
                    "4.0" => 40,
                    _ => 30,
                };
            }
            VCardProperty::Categories => {
                let me = |c: &String| matches!(c.to_lowercase().as_str(), "me" | "myself");
                contact.own |= texts(entry).iter().any(me);
            }
            VCardProperty::Related => relate(&mut contact, entry),
            VCardProperty::Other(name) => match name.to_ascii_uppercase().as_str() {
                "X-ABLABEL" => labels.extend(entry.group.as_deref().map(|g| (g, joined(entry, " ")))),
                "X-ABRELATEDNAMES" => related.push((entry.group.as_deref(), joined(entry, " "))),
                "X-EVOLUTION-SPOUSE" | "X-SPOUSE" | "X-KADDRESSBOOK-X-SPOUSESNAME" => {
                    contact.relations.push(("spouse".to_owned(), joined(entry, " ")));
                }
                "X-EVOLUTION-MANAGER" | "X-MANAGER" | "X-KADDRESSBOOK-X-MANAGERSNAME" => {
                    contact.relations.push(("manager".to_owned(), joined(entry, " ")));
                }
                "X-EVOLUTION-ASSISTANT" | "X-ASSISTANT" | "X-KADDRESSBOOK-X-ASSISTANTSNAME" => {
                    contact
                        .relations
                        .push(("assistant".to_owned(), joined(entry, " ")));
                }
                _ => {}
            },
            _ => {}
        }
    }
    for (group, name) in related.into_iter().take(MAX_VALUES) {
        let label = labels.iter().find(|(of, _)| Some(*of) == group);
        let label = label.map_or_else(String::new, |(_, label)| label.clone());
        contact.relations.push((label, name));
    }
    contact.relations.truncate(2 * MAX_VALUES);
    let fallbacks = [
        structured.clone(),
        contact.organisation.clone(),
        contact.nicknames.first().cloned().unwrap_or_default(),
        contact.mails.first().map(|m| m.value.clone()).unwrap_or_default(),
    ];
    if contact.name.is_empty() {
        contact.name = fallbacks.into_iter().find(|f| !f.is_empty())?;
    }
    contact.names = vec![(heard::Name::new(&contact.name), 1.0)];
    // "Doe, John" is displayed, and "John Doe" is said.
    if !structured.is_empty() && structured != contact.name {
        contact.names.push((heard::Name::new(&structured), 0.995));
    }
    let nicknames = contact.nicknames.iter().map(|n| (heard::Name::new(n), 0.99));
    contact.names.extend(nicknames);
    if !contact.organisation.is_empty() && contact.organisation != contact.name {
        contact
            .names
            .push((heard::Name::new(&contact.organisation), 0.95));
    }
    Some(contact)
}

/// `RELATED` names somebody by UID or by name; its TYPE says what they are to this card's person.
fn relate(contact: &mut Contact, entry: &VCardEntry) {
    let mut kinds = Vec::new();
    for parameter in &entry.params {
        let text = parameter.value.as_text().unwrap_or_default();
        match &parameter.name {
            VCardParameterName::Type => {
                kinds.extend(text.split(',').map(|k| k.trim_matches('"').to_lowercase()))
            }
            VCardParameterName::Other(name) if name.eq_ignore_ascii_case("X-TIRO-IS") => {
                contact.is.push(plain::one_line(text, 40));
            }
            _ => {}
        }
    }
    contact.is.truncate(MAX_VALUES);
    contact.own |= kinds.iter().any(|k| k == "me");
    let value = joined(entry, " ");
    let value = value.trim_start_matches("urn:uuid:");
    contact.relations.extend(
        kinds
            .into_iter()
            .take(MAX_VALUES)
            .map(|kind| (kind, value.to_owned())),
    );
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
