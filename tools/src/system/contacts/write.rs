//! Contacts made, changed and removed, through the journal. What other programs wrote into a card keeps its bytes.

use std::{
    hash::{BuildHasher as _, RandomState},
    path::Path,
    sync::Arc,
};

use schemars::JsonSchema;
use serde::Deserialize;

use super::{
    Birthday, Book, Contact, MAX_FILE, MAX_NOTE, MAX_TEXT, find, parse, relations::Relation, spoken,
};
use crate::{
    contract::ToolError,
    system::{
        journal::Step,
        lines::{Bounds, Component, Document, Line, escape, split},
        plain,
        store::{self, StoreError},
        vdir::{self, Collection},
    },
};

/// What of a contact is changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[expect(
    missing_docs,
    reason = "the names say it; a doc comment would change the schema's shape"
)]
pub enum Kind {
    Name,
    Phone,
    Mail,
    Address,
    Birthday,
    Company,
    Nickname,
    Note,
    Relation,
}

/// What a number or address is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[expect(
    missing_docs,
    reason = "the names say it; a doc comment would change the schema's shape"
)]
pub enum Label {
    Mobile,
    Home,
    Work,
}

/// What is done with the value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[expect(
    missing_docs,
    reason = "the names say it; a doc comment would change the schema's shape"
)]
pub enum How {
    Add,
    Replace,
    Remove,
}

/// One change, its value in the form in which it is stored.
#[derive(Debug, Clone, PartialEq)]
pub struct Change {
    kind: Kind,
    label: Option<Label>,
    how: Option<How>,
    /// Empty when it only says what goes.
    value: String,
    birthday: Option<Birthday>,
}

/// A contact to be made: its name and what else is known.
#[derive(Debug, Clone, PartialEq)]
pub struct New {
    /// As it is displayed.
    pub name: String,
    /// What else.
    pub changes: Vec<Change>,
}

impl New {
    /// A contact of that name.
    pub fn named(name: &Change, changes: Vec<Change>) -> New {
        New {
            name: name.value.clone(),
            changes,
        }
    }
}

impl Change {
    /// Reads a value as it was said. `birthday` turns words into a day.
    ///
    /// # Errors
    /// `Tell` when it is not what its kind asks for.
    pub fn new(
        kind: Kind,
        said: &str,
        label: Option<Label>,
        how: Option<How>,
        birthday: impl Fn(&str) -> Result<Birthday, ToolError>,
    ) -> Result<Change, ToolError> {
        let mut change = Change {
            kind,
            label,
            how,
            value: String::new(),
            birthday: None,
        };
        let line = plain::one_line(said, if kind == Kind::Note { MAX_NOTE } else { MAX_TEXT });
        if line.is_empty() {
            return match how {
                Some(How::Remove) => Ok(change),
                _ => Err(ToolError::tell(format!("What is the {}?", kind.noun()))),
            };
        }
        change.value = match kind {
            Kind::Phone => spoken::phone(&line).map_err(ToolError::Tell)?,
            Kind::Mail => spoken::mail(&line).map_err(ToolError::Tell)?,
            Kind::Name => spoken::name(&line),
            Kind::Birthday => {
                let day = birthday(&line)?;
                change.birthday = Some(day);
                day.spoken()
            }
            Kind::Relation => match Relation::of(&line) {
                Some(relation) => relation.word.to_owned(),
                None => line.to_lowercase().trim_start_matches("my ").to_owned(),
            },
            Kind::Address | Kind::Company | Kind::Nickname | Kind::Note => line,
        };
        Ok(change)
    }

    /// "mobile number 0176 2345", "birthday 3 May".
    pub fn described(&self) -> String {
        let label = match self.label {
            Some(Label::Mobile) => "mobile ",
            Some(Label::Home) => "home ",
            Some(Label::Work) => "work ",
            None => "",
        };
        match (self.kind, self.value.as_str()) {
            (Kind::Relation, value) => format!("relation: your {value}"),
            (kind, "") => format!("{label}{}", kind.noun()),
            (kind, value) => format!("{label}{} {value}", kind.noun()),
        }
    }

    /// What is done with the value, where the person said so.
    pub fn how(&self) -> Option<How> {
        self.how
    }
}

impl Kind {
    fn noun(self) -> &'static str {
        match self {
            Kind::Name => "name",
            Kind::Phone => "number",
            Kind::Mail => "mail address",
            Kind::Address => "address",
            Kind::Birthday => "birthday",
            Kind::Company => "company",
            Kind::Nickname => "nickname",
            Kind::Note => "note",
            Kind::Relation => "relation",
        }
    }

    fn property(self) -> &'static str {
        match self {
            Kind::Name => "FN",
            Kind::Phone => "TEL",
            Kind::Mail => "EMAIL",
            Kind::Address => "ADR",
            Kind::Birthday => "BDAY",
            Kind::Company => "ORG",
            Kind::Nickname => "NICKNAME",
            Kind::Note => "NOTE",
            Kind::Relation => "RELATED",
        }
    }

    /// Whether a card has several of it.
    fn is_many(self) -> bool {
        matches!(
            self,
            Kind::Phone | Kind::Mail | Kind::Address | Kind::Nickname | Kind::Relation
        )
    }
}

/// Contacts that are probably the same person: of the same name, number or mail address.
pub fn twins(book: &Book, new: &New) -> Vec<Arc<Contact>> {
    let is = |contact: &Contact| {
        let value = |change: &Change| match change.kind {
            Kind::Phone => {
                let number = find::digits(&change.value);
                contact
                    .phones
                    .iter()
                    .any(|p| find::same_number(&find::digits(&p.value), &number))
            }
            Kind::Mail => contact
                .mails
                .iter()
                .any(|m| m.value.eq_ignore_ascii_case(&change.value)),
            _ => false,
        };
        contact.name.to_lowercase() == new.name.to_lowercase() || new.changes.iter().any(value)
    };
    book.contacts.iter().filter(|c| is(c)).cloned().collect()
}

/// Books that people keep for themselves, by the names that programs give them.
const OWN: [&str; 5] = ["personal", "default", "home", "contacts", "addressbook"];

/// Makes a card in a file of its own, in the version that the book's other cards have.
///
/// # Errors
/// For a store that takes no writes.
pub fn create(step: &Step, root: &Path, book: &Book, new: &New) -> Result<(), ToolError> {
    const WHAT: &str = "save the contact";
    let all = vdir::collections(root).map_err(|e| e.tool(WHAT))?;
    let own = |c: &&Collection| OWN.contains(&c.name.to_lowercase().as_str());
    let folder = match all.iter().find(own).or(all.first()) {
        Some(collection) => collection.path.clone(),
        None => root.join("personal"),
    };
    let beside = book.contacts.iter().filter(|c| c.path.parent() == Some(&folder));
    let (mut three, mut four) = (0, 0);
    for contact in beside {
        match contact.version {
            40 => four += 1,
            _ => three += 1,
        }
    }
    let version = if three > four { 30 } else { 40 };
    let uid = new_uid();
    let mut card = Component::new("VCARD");
    card.add(Line::new("VERSION", if version == 40 { "4.0" } else { "3.0" }));
    let prefix = if version == 40 { "urn:uuid:" } else { "" };
    card.add(Line::new("UID", &format!("{prefix}{uid}")));
    set_name(&mut card, &new.name);
    for change in &new.changes {
        apply(&mut card, version, change)?;
    }
    let path = folder.join(format!("{uid}.vcf"));
    store::make_folder(&folder).map_err(|e| e.tool(WHAT))?;
    step.create(&path, &Document::of(card).to_bytes())
        .map_err(|e| e.tool(WHAT))
}

/// Changes one card and leaves everything else in its file as it is.
///
/// # Errors
/// `Tell` when it is not clear which of several values is meant, or the file is not sound; what [`Step::edit`] says.
pub fn update(step: &Step, contact: &Contact, change: &Change) -> Result<(), ToolError> {
    edit(step, contact, "save the contact", |document| {
        let card = nth(document, contact.index).ok_or_else(|| moved(contact))?;
        apply(card, contact.version, change)
    })
}

/// Removes one card; its file too, if it was the only one in it.
///
/// # Errors
/// As [`update`].
pub fn delete(step: &Step, contact: &Contact) -> Result<(), ToolError> {
    const WHAT: &str = "delete the contact";
    let before = store::read_bounded(&contact.path, MAX_FILE).map_err(|e| e.tool(WHAT))?;
    let book = parse(&before);
    if book.contacts.len() + book.problems.len() == 1 {
        same_card(contact, &book)?;
        return step.remove(&contact.path, &before).map_err(|e| e.tool(WHAT));
    }
    edit(step, contact, WHAT, |document| {
        let mut at = 0;
        document.retain(|component| {
            let is_card = component.is("VCARD");
            at += usize::from(is_card);
            !(is_card && at == contact.index + 1)
        });
        Ok(())
    })
}

/// Edits the file of a contact. Another program may have written it since it was read, so the card is compared first;
/// and the cards beside it must come out as they went in.
fn edit(
    step: &Step,
    contact: &Contact,
    what: &str,
    change: impl Fn(&mut Document) -> Result<(), ToolError>,
) -> Result<(), ToolError> {
    step.edit(&contact.path, what, |before| {
        let old = parse(before);
        same_card(contact, &old)?;
        let name = contact.path.file_name().unwrap_or_default().to_string_lossy();
        let mut document = Document::parse(before, Bounds::default()).map_err(|e| {
            ToolError::tell(format!(
                "I could not {what}: {name} is broken at {e}. Mend it first."
            ))
        })?;
        change(&mut document)?;
        let after = document.to_bytes();
        let new = parse(&after);
        let others = |book: &Book| -> Vec<Contact> {
            let others = book.contacts.iter().filter(|c| c.index != contact.index);
            others
                .map(|c| Contact {
                    index: 0,
                    ..Contact::clone(c)
                })
                .collect()
        };
        let kept = if new.contacts.len() == old.contacts.len() {
            others(&new)
        } else {
            new.contacts
                .iter()
                .map(|c| Contact {
                    index: 0,
                    ..Contact::clone(c)
                })
                .collect()
        };
        if kept != others(&old) {
            return Err(ToolError::broken(
                what,
                "the edit would have changed other contacts",
            ));
        }
        Ok(after)
    })
}

fn same_card(contact: &Contact, book: &Book) -> Result<(), ToolError> {
    let there = book.contacts.iter().find(|c| c.index == contact.index);
    match there {
        Some(there) if there.name == contact.name && there.uid == contact.uid => Ok(()),
        _ => Err(moved(contact)),
    }
}

fn moved(contact: &Contact) -> ToolError {
    StoreError::Changed(contact.path.clone()).tool("change the contact")
}

fn nth(document: &mut Document, index: usize) -> Option<&mut Component> {
    document.components_mut().filter(|c| c.is("VCARD")).nth(index)
}

fn apply(card: &mut Component, version: u8, change: &Change) -> Result<(), ToolError> {
    let property = change.kind.property();
    match change.kind {
        Kind::Name if change.how == Some(How::Remove) => {
            return Err(ToolError::tell(
                "A contact needs a name. Delete the contact instead.",
            ));
        }
        Kind::Name => {
            set_name(card, &change.value);
            return Ok(());
        }
        Kind::Note if change.how == Some(How::Add) && card.get(property).is_some() => {
            let old = card.get(property).filter(|line| !line.is_quoted_printable());
            let text = match old {
                Some(line) => format!("{}\n{}", line.to_text(), change.value),
                None => change.value.clone(),
            };
            if old.is_some() {
                card.set_value(property, &escape(&text));
            } else {
                card.add(fresh(version, change));
            }
            return Ok(());
        }
        _ => {}
    }
    let fits: Vec<usize> = card
        .lines()
        .enumerate()
        .filter(|(_, line)| line.is(property) && meant(line, change))
        .map(|(at, _)| at)
        .collect();
    match (change.how, &fits[..]) {
        (Some(How::Remove), []) => Err(ToolError::tell(format!(
            "There is no such {} in that contact.",
            change.kind.noun()
        ))),
        (Some(How::Remove), [one]) => {
            remove_line(card, *one);
            Ok(())
        }
        (Some(How::Add), _) if change.kind.is_many() => {
            card.add(fresh(version, change));
            Ok(())
        }
        // A nickname or a relation is one more unless the person says otherwise.
        (None, _) if matches!(change.kind, Kind::Nickname | Kind::Relation) => {
            let known = card
                .all(property)
                .any(|line| line.to_text().eq_ignore_ascii_case(&change.value));
            if !known {
                card.add(fresh(version, change));
            }
            Ok(())
        }
        (_, []) => {
            card.add(fresh(version, change));
            Ok(())
        }
        (_, [one]) => {
            replace_line(card, *one, version, change);
            Ok(())
        }
        (_, several) => {
            let values: Vec<String> = card
                .lines()
                .enumerate()
                .filter(|(at, _)| several.contains(at))
                .take(4)
                .map(|(_, line)| plain::one_line(&line.to_text(), 60))
                .collect();
            Err(ToolError::tell(format!(
                "Which {}: {}? Say home, work or mobile, or say to add one.",
                change.kind.noun(),
                plain::listed(&values, "or")
            )))
        }
    }
}

/// Whether a line is one that the change may mean.
fn meant(line: &Line, change: &Change) -> bool {
    let types = line.types();
    let labelled = match change.label {
        Some(Label::Mobile) => types
            .iter()
            .any(|t| t == "cell" || t == "mobile" || t == "iphone"),
        Some(Label::Home) => types.iter().any(|t| t == "home"),
        Some(Label::Work) => types.iter().any(|t| t == "work"),
        None => true,
    };
    // A fax is no number that anybody means.
    let fax = types.iter().any(|t| t == "fax" || t == "pager");
    let same = match (change.how, change.kind, change.value.as_str()) {
        (Some(How::Remove), _, "") => true,
        (Some(How::Remove), Kind::Phone, value) => {
            find::same_number(&find::digits(line.value()), &find::digits(value))
        }
        (Some(How::Remove), Kind::Birthday, _) => true,
        (Some(How::Remove), Kind::Relation, value) => line
            .param("X-TIRO-IS")
            .is_some_and(|is| is.eq_ignore_ascii_case(value)),
        (Some(How::Remove), _, value) => line.to_text().to_lowercase().contains(&value.to_lowercase()),
        // Only what Tiro wrote is a relation to the person; other RELATED lines are theirs.
        (_, Kind::Relation, _) => line.param("X-TIRO-IS").is_some(),
        _ => true,
    };
    labelled && same && !(fax && change.kind == Kind::Phone)
}

/// Takes a line out, and what Apple writes beside it in the same group.
fn remove_line(card: &mut Component, at: usize) {
    let group = card
        .lines()
        .nth(at)
        .and_then(|line| line.group())
        .map(str::to_owned);
    let mut index = 0;
    // Blank lines are kept without being asked about, so the count goes over all lines first.
    let gone: Vec<bool> = card
        .lines()
        .map(|line| {
            index += 1;
            let beside =
                group.is_some() && line.group() == group.as_deref() && line.name().starts_with("X-AB");
            index - 1 == at || beside
        })
        .collect();
    let named: Vec<bool> = card.lines().map(|line| !line.name().is_empty()).collect();
    let mut of_named = gone
        .iter()
        .zip(named)
        .filter(|(_, named)| *named)
        .map(|(gone, _)| *gone);
    card.retain_lines(|_| !of_named.next().unwrap_or(false));
}

/// Changes the value and leaves group and parameters, except where the old value was encoded.
fn replace_line(card: &mut Component, at: usize, version: u8, change: &Change) {
    let new = fresh(version, change);
    if let Some(line) = card.lines_mut().nth(at) {
        let uri = line.value().starts_with("tel:");
        if line.is_quoted_printable() || change.kind == Kind::Birthday || change.kind == Kind::Relation {
            *line = new;
        } else if uri {
            let digits: String = change
                .value
                .chars()
                .filter(|c| c.is_ascii_digit() || *c == '+')
                .collect();
            line.set_value(&format!("tel:{digits}"));
        } else {
            line.set_value(new.value());
        }
    }
}

/// A new line for a value.
fn fresh(version: u8, change: &Change) -> Line {
    let property = change.kind.property();
    let value = &change.value;
    let line = match change.kind {
        Kind::Address => {
            // Street, then the rest: more cannot be told apart in what somebody says.
            let (street, rest) = value.split_once(',').unwrap_or((value, ""));
            let adr = format!(";;{};{};;;", escape(street.trim()), escape(rest.trim()));
            Line::new(property, &adr)
        }
        Kind::Birthday => match (version, change.birthday) {
            (40, Some(Birthday { year, month, day })) => {
                let year = year.map_or("--".to_owned(), |year| format!("{year:04}"));
                Line::new(property, &format!("{year}{month:02}{day:02}"))
            }
            // vCard 3.0 has no day without a year; this is how Apple writes it, and others read it.
            (
                _,
                Some(Birthday {
                    year: None,
                    month,
                    day,
                }),
            ) => Line::new(property, &format!("1604-{month:02}-{day:02}"))
                .with_param("X-APPLE-OMIT-YEAR", "1604"),
            (_, Some(day)) => Line::new(property, &day.iso()),
            (_, None) => Line::new(property, ""),
        },
        Kind::Relation => {
            let inverse = Relation::of(value).map_or("contact", |relation| relation.inverse);
            let line = Line::new(property, "me")
                .with_param("TYPE", inverse)
                .with_param("X-TIRO-IS", value);
            if version == 40 {
                line.with_param("VALUE", "text")
            } else {
                line
            }
        }
        _ => Line::text(property, value),
    };
    let line = if version == 21 && !value.is_ascii() {
        line.with_param("CHARSET", "UTF-8")
    } else {
        line
    };
    let kind = match change.label {
        Some(Label::Mobile) => "cell",
        Some(Label::Home) => "home",
        Some(Label::Work) => "work",
        None => return line,
    };
    if version == 40 {
        line.with_param("TYPE", kind)
    } else {
        line.with_param("TYPE", &kind.to_uppercase())
    }
}

/// Sets `FN`, and `N` with what it has of prefixes and suffixes.
fn set_name(card: &mut Component, name: &str) {
    let (family, given) = spoken::parts(name);
    card.set_value("FN", &escape(name));
    let rest = match card.value("N").map(|n| split(n, ';')) {
        Some(parts) if parts.len() > 3 => format!(";;{}", parts[3..].join(";")),
        _ => ";;;".to_owned(),
    };
    card.set_value("N", &format!("{};{}{rest}", escape(&family), escape(&given)));
}

/// Random, in the form of UUID version 4 (RFC 9562 section 5.4).
fn new_uid() -> String {
    let random = || RandomState::new().hash_one((std::process::id(), std::time::SystemTime::now()));
    let (high, low) = (random(), random());
    let (high, low) = (high & !0xf000 | 0x4000, low & !(0b11 << 62) | 1 << 63);
    format!(
        "{:08x}-{:04x}-{:04x}-{:04x}-{:012x}",
        high >> 32,
        high >> 16 & 0xffff,
        high & 0xffff,
        low >> 48,
        low & 0xffff_ffff_ffff
    )
}
