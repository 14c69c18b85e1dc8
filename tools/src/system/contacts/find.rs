//! Who is meant: by name as heard, by number, by address, by what they are to the person, by birthday.

use std::sync::Arc;

use jiff::civil::Date;

use super::{Birthday, Book, Contact, relations::Relation, spoken};
use crate::{
    contract::ToolError,
    discover::words,
    system::{
        heard::{Ear, HEARD, TOO_CLOSE},
        memory::{self, Fact},
        plain,
    },
};

/// Most candidates that are named when it is not clear who is meant.
const MOST: usize = 6;

/// What somebody was looked up by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Asked {
    /// A name, nickname or company.
    Name,
    /// A phone number, in its digits.
    Number,
    /// A mail address.
    Mail,
    /// What they are to the person.
    Relation(&'static str),
}

/// The contacts that are equally likely, best first, and how they were looked up. `facts` is what the person told Tiro
/// to remember: "Eva is my sister".
pub fn find(book: &Book, heard: &str, facts: &[Fact]) -> (Asked, Vec<Arc<Contact>>) {
    let said = plain::one_line(heard, 100);
    let (asked, found) = look_up(book, &said, facts);
    // "Sophias number", "the smiths": recognisers write no apostrophe. Whoever's name ends so was found before.
    if found.is_empty()
        && asked == Asked::Name
        && let Some(bare) = without_s(&said)
        && let (asked, found) = look_up(book, &bare, facts)
        && !found.is_empty()
    {
        return (asked, found);
    }
    (asked, found)
}

/// The words without the s of a possessive or plural, if one has it.
fn without_s(said: &str) -> Option<String> {
    let bare = |word: &str| {
        let name = word
            .strip_suffix(['s', 'S'])
            .map(|name| name.trim_end_matches(['\'', '’']));
        let name = name.filter(|name| name.chars().count() >= 3 && !name.ends_with(['s', 'S']));
        match name {
            Some(name) if !words::is_stop_word(&word.to_lowercase()) => name.to_owned(),
            _ => word.to_owned(),
        }
    };
    let words: Vec<String> = said.split_whitespace().map(bare).collect();
    let words = words.join(" ");
    (words != said.split_whitespace().collect::<Vec<_>>().join(" ")).then_some(words)
}

fn look_up(book: &Book, said: &str, facts: &[Fact]) -> (Asked, Vec<Arc<Contact>>) {
    let lower = said.to_lowercase();
    let with = |has: &dyn Fn(&Contact) -> bool| -> Vec<Arc<Contact>> {
        book.contacts.iter().filter(|c| has(c)).cloned().collect()
    };
    if let Some(address) = spoken::mail(said)
        .ok()
        .filter(|_| lower.contains('@') || lower.contains(" dot "))
    {
        let has = |c: &Contact| c.mails.iter().any(|m| m.value.eq_ignore_ascii_case(&address));
        return (Asked::Mail, with(&has));
    }
    if let Ok(number) = spoken::phone(said) {
        let number = digits(&number);
        let has = |c: &Contact| c.phones.iter().any(|p| same_number(&digits(&p.value), &number));
        return (Asked::Number, with(&has));
    }
    if let Some(relation) = Relation::of(said) {
        let related = related(book, relation, facts);
        let found = if related.is_empty() {
            named(book, said)
        } else {
            related
        };
        return (Asked::Relation(relation.word), found);
    }
    // "my plumber": a word that no table knows, as the person once gave it.
    if let Some(word) = lower.strip_prefix("my ") {
        let found = with(&|c: &Contact| c.is.iter().any(|is| is.eq_ignore_ascii_case(word)));
        if !found.is_empty() {
            return (Asked::Name, found);
        }
    }
    (Asked::Name, named(book, said))
}

/// The one contact that is meant.
///
/// # Errors
/// What to say when there is none or more than one such.
pub fn one(book: &Book, heard: &str, facts: &[Fact]) -> Result<Arc<Contact>, ToolError> {
    let said = plain::one_line(heard, 80);
    if said.is_empty() {
        return Err(ToolError::tell("Whom shall I look for? Say a name."));
    }
    if book.contacts.is_empty() {
        return Err(ToolError::tell("You have no contacts yet."));
    }
    let (asked, found) = find(book, heard, facts);
    match &found[..] {
        [one] => Ok(one.clone()),
        [] => Err(ToolError::tell(nobody(&asked, &said))),
        several => Err(ToolError::tell(which(several))),
    }
}

/// Nobody was found: says what would help.
pub fn nobody(asked: &Asked, said: &str) -> String {
    match asked {
        Asked::Name => format!("Nobody in your contacts is called {said}."),
        Asked::Number => format!("Nobody in your contacts has the number {said}."),
        Asked::Mail => format!("Nobody in your contacts has the address {said}."),
        Asked::Relation(word) => {
            format!("I do not know who your {word} is. Tell me, as in: Eva is my {word}.")
        }
    }
}

/// Several are equally likely: asks which.
pub fn which(found: &[Arc<Contact>]) -> String {
    let names: Vec<String> = found.iter().take(MOST).map(|c| distinct(c, found)).collect();
    let more = if found.len() > names.len() {
        " and others"
    } else {
        ""
    };
    format!(
        "Several contacts fit: {}{more}. Which one?",
        plain::listed(&names, "and")
    )
}

/// The name, with what tells two of that name apart.
fn distinct(contact: &Contact, among: &[Arc<Contact>]) -> String {
    let twin = among.iter().filter(|c| c.name == contact.name).count() > 1;
    let by = [
        contact.organisation.as_str(),
        contact.phones.first().map_or("", |p| p.value.as_str()),
        contact.mails.first().map_or("", |m| m.value.as_str()),
    ];
    match by.iter().find(|text| !text.is_empty() && **text != contact.name) {
        Some(company) if !contact.organisation.is_empty() || twin => format!("{} ({company})", contact.name),
        _ => contact.name.clone(),
    }
}

/// The next birthdays with the day on which they are, soonest first.
pub fn birthdays(book: &Book, today: Date) -> Vec<(Date, Arc<Contact>)> {
    let mut next: Vec<(Date, Arc<Contact>)> = book
        .contacts
        .iter()
        .filter_map(|contact| Some((next(contact.birthday?, today)?, contact.clone())))
        .collect();
    next.sort_by(|a, b| a.0.cmp(&b.0).then_with(|| a.1.name.cmp(&b.1.name)));
    next
}

/// Whoever was born on 29 February celebrates on the 28th in other years.
fn next(birthday: Birthday, today: Date) -> Option<Date> {
    let on = |year| {
        Date::new(year, birthday.month, birthday.day)
            .or_else(|_| Date::new(year, birthday.month, birthday.day - 1))
            .ok()
    };
    on(today.year())
        .filter(|day| *day >= today)
        .or_else(|| on(today.year() + 1))
}

fn related(book: &Book, relation: Relation, facts: &[Fact]) -> Vec<Arc<Contact>> {
    let by_card = book
        .contacts
        .iter()
        .filter(|c| c.is.iter().any(|word| relation.fits(word)));
    let mut found: Vec<Arc<Contact>> = by_card.cloned().collect();
    let own = book.contacts.iter().filter(|c| c.own).flat_map(|c| &c.relations);
    let mut names: Vec<String> = own
        .filter(|(label, _)| relation.fits(label))
        .map(|(_, name)| name.clone())
        .collect();
    names.extend(memory::related(facts, |word| relation.fits(word)));
    for name in names {
        let by_uid = book
            .contacts
            .iter()
            .find(|c| !c.uid.is_empty() && c.uid == name)
            .cloned();
        let new = by_uid.map_or_else(|| named(book, &name), |one| vec![one]);
        for contact in new {
            if !found.iter().any(|known| Arc::ptr_eq(known, &contact)) {
                found.push(contact);
            }
        }
    }
    found
}

fn named(book: &Book, said: &str) -> Vec<Arc<Contact>> {
    let ear = Ear::of_person(said, |word| match Relation::of(word) {
        Some(relation) => relation.synonyms().map(str::to_owned).collect(),
        None => Vec::new(),
    });
    let mut found: Vec<(f64, &Arc<Contact>)> = book
        .contacts
        .iter()
        .filter_map(|contact| {
            let worth = contact
                .names
                .iter()
                .map(|(name, worth)| ear.likeness_of(name) * worth);
            let best = worth.fold(0.0, f64::max);
            (best >= HEARD).then_some((best, contact))
        })
        .collect();
    found.sort_by(|a, b| b.0.total_cmp(&a.0));
    let best = found.first().map_or(0.0, |f| f.0);
    found
        .into_iter()
        .take_while(|(likeness, _)| best - likeness < TOO_CLOSE)
        .map(|(_, contact)| contact.clone())
        .collect()
}

/// The digits of a number.
pub(crate) fn digits(text: &str) -> String {
    text.chars().filter(char::is_ascii_digit).collect()
}

/// Country and trunk prefixes are written or not, so the ends are compared.
pub(crate) fn same_number(a: &str, b: &str) -> bool {
    let (short, long) = if a.len() < b.len() { (a, b) } else { (b, a) };
    let short = short.trim_start_matches('0');
    short.len() >= 5 && long.ends_with(short) || a == b && !a.is_empty()
}
