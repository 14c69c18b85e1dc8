//! `contacts.search`: who somebody is and how to reach them.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{
    contract::{Ctx, Effect, LoadPolicy, Output, Tool, ToolError},
    system::{
        contacts::{self, Contact, Labelled},
        heard, plain,
    },
};

/// Most candidates that are named.
const MAX_LISTED: usize = 8;

/// Looks people up.
pub struct This;

/// Whom, and what of them.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Args {
    /// Name, nickname or company; or a phone number or mail address to see whose it is
    name: String,
    /// What is asked for, if one thing only
    want: Option<Want>,
}

/// One thing about a person.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Want {
    Phone,
    Mail,
    Birthday,
    Address,
}

impl Tool for This {
    type Args = Args;
    const NAME: &'static str = "contacts.search";
    const SUMMARY: &'static str = "Look up a contact: phone number, mail address, birthday, address";
    const EFFECT: Effect = Effect::Read;
    const LOAD: LoadPolicy = LoadPolicy::Core;
    const EXAMPLES: &'static [&'static str] = &[
        "what is Anna's phone number",
        "do I have an email address for Peter Parker",
        "when is my sister's birthday",
        "where does Tom live",
        "find John Smith in my contacts",
        "whose number is 555 0101",
    ];
    const USE_WHEN: &'static str = "For how to reach a person, not for their messages or meetings.";

    async fn run(args: Args, ctx: &Ctx) -> Result<Output, ToolError> {
        let folder = ctx.dirs.contacts.clone();
        let read = tokio::task::spawn_blocking(move || contacts::read(&folder)).await;
        let (people, unreadable) = read.map_err(|e| ToolError::broken("read your contacts", e))??;
        if people.is_empty() {
            return Ok(Output::new("You have no contacts yet.", json!({"contacts": []})));
        }
        let asked = plain::one_line(&args.name, 80);
        if asked.is_empty() {
            return Err(ToolError::tell("Whom to look for is missing. Give a name."));
        }
        let found = find(&asked, &people);
        let shown: Vec<&Contact> = found.iter().take(MAX_LISTED).copied().collect();
        let mut data = json!({"contacts": shown.iter().map(|c| describe(c, args.want)).collect::<Vec<_>>()});
        if unreadable > 0 {
            data["unreadable"] = json!(unreadable);
        }
        let say = match shown.as_slice() {
            [] => format!("Nobody in your contacts is called {asked}."),
            [one] => answer(one, args.want),
            several => {
                let names: Vec<String> = several.iter().map(|c| distinct(c)).collect();
                let more = if found.len() > several.len() {
                    " and others"
                } else {
                    ""
                };
                format!(
                    "Several contacts fit: {}{more}. Which one?",
                    plain::listed(&names, "and")
                )
            }
        };
        Ok(Output::new(say, data))
    }
}

/// By mail address, by number, else by any of the names as heard; several only when they are equally likely.
fn find<'a>(asked: &str, people: &'a [Contact]) -> Vec<&'a Contact> {
    let lower = asked.to_lowercase();
    if lower.contains('@') {
        let has = |c: &&Contact| c.mails.iter().any(|m| m.value.to_lowercase() == lower);
        return people.iter().filter(has).collect();
    }
    let number = digits(asked);
    if number.len() >= 5 && !asked.chars().any(char::is_alphabetic) {
        let has = |c: &&Contact| c.phones.iter().any(|p| same_number(&digits(&p.value), &number));
        return people.iter().filter(has).collect();
    }
    let found = heard::pick(asked, people, |contact| {
        let mut names = vec![
            (contact.name.as_str(), 1.0),
            (contact.organisation.as_str(), 0.95),
        ];
        names.extend(contact.nicknames.iter().map(|n| (n.as_str(), 0.99)));
        names
    });
    found[..heard::contenders(&found)].iter().map(|f| f.1).collect()
}

fn digits(text: &str) -> String {
    text.chars().filter(char::is_ascii_digit).collect()
}

/// Country and trunk prefixes are written or not, so the ends are compared.
fn same_number(a: &str, b: &str) -> bool {
    let (short, long) = if a.len() < b.len() { (a, b) } else { (b, a) };
    let short = short.trim_start_matches('0');
    short.len() >= 5 && long.ends_with(short)
}

/// The answer for one person.
fn answer(contact: &Contact, want: Option<Want>) -> String {
    let name = &contact.name;
    match want {
        Some(Want::Phone) => one_kind(name, "a phone number", "phone numbers", &contact.phones),
        Some(Want::Mail) => one_kind(name, "a mail address", "mail addresses", &contact.mails),
        Some(Want::Address) => one_kind(name, "an address", "addresses", &contact.addresses),
        Some(Want::Birthday) => match contact.birthday {
            Some(day) => format!("{name}'s birthday is {}.", day.spoken()),
            None => format!("{name} is in your contacts, but without a birthday."),
        },
        None => {
            let mut parts: Vec<String> = Vec::new();
            for list in [&contact.phones, &contact.mails, &contact.addresses] {
                parts.extend(list.iter().take(2).map(with_label));
            }
            parts.extend(contact.birthday.map(|day| format!("born on {}", day.spoken())));
            match parts.is_empty() {
                true => format!("{name} is in your contacts, with nothing but the name."),
                false => format!("{name}: {}.", parts.join(", ")),
            }
        }
    }
}

/// `kind` is the noun with its article, `many` its plural.
fn one_kind(name: &str, kind: &str, many: &str, values: &[Labelled]) -> String {
    match values {
        [] => format!("{name} is in your contacts, but without {kind}."),
        [one] => {
            let noun = kind.split_once(' ').map_or(kind, |(_article, noun)| noun);
            format!("{name}'s {noun} is {}.", one.value)
        }
        several => {
            let all: Vec<String> = several.iter().take(3).map(with_label).collect();
            format!(
                "{name} has {} {many}: {}.",
                several.len(),
                plain::listed(&all, "and")
            )
        }
    }
}

fn with_label(value: &Labelled) -> String {
    match value.label {
        "" => value.value.clone(),
        label => format!("{label} {}", value.value),
    }
}

/// The name, with the company where that tells two apart.
fn distinct(contact: &Contact) -> String {
    match contact.organisation.as_str() {
        "" => contact.name.clone(),
        company if company == contact.name => company.to_owned(),
        company => format!("{} ({company})", contact.name),
    }
}

/// As data, without what is not there or was not asked for.
fn describe(contact: &Contact, want: Option<Want>) -> Value {
    let mut data = json!({"name": contact.name});
    let wanted = |kind: Want| want.is_none_or(|w| w == kind);
    let list = |values: &[Labelled]| values.iter().map(with_label).collect::<Vec<_>>();
    for (kind, key, values) in [
        (Want::Phone, "phones", list(&contact.phones)),
        (Want::Mail, "mails", list(&contact.mails)),
        (Want::Address, "addresses", list(&contact.addresses)),
    ] {
        if wanted(kind) && !values.is_empty() {
            data[key] = json!(values);
        }
    }
    if let Some(day) = contact.birthday.filter(|_| wanted(Want::Birthday)) {
        data["birthday"] = json!(day.iso());
    }
    data
}

#[cfg(test)]
mod tests {
    use std::{fs, path::Path};

    use super::*;
    use crate::testing::{ctx, run, said, told};

    const BOOK: &str = "BEGIN:VCARD\nVERSION:3.0\nFN:Anna Bell\nNICKNAME:Annie\nTEL;TYPE=CELL:+49 151 5550101\n\
        EMAIL:anna@example.org\nBDAY:1980-05-03\nEND:VCARD\n\
        BEGIN:VCARD\nVERSION:3.0\nFN:Anna Berg\nORG:Acme\nTEL;TYPE=HOME:030 123456\nTEL;TYPE=WORK:030 654321\nEND:VCARD\n\
        BEGIN:VCARD\nVERSION:4.0\nFN:Catherine Stone\nADR;TYPE=home:;;Main Street 1;Springfield;;;\nEND:VCARD\n";

    fn book(root: &Path) {
        fs::create_dir_all(root.join("contacts/default")).unwrap();
        fs::write(root.join("contacts/default/all.vcf"), BOOK).unwrap();
    }

    #[tokio::test]
    async fn people_are_found_as_said_and_as_heard() {
        let home = tempfile::tempdir().unwrap();
        book(home.path());
        let ctx = ctx(home.path());
        for (args, expect) in [
            (
                json!({"name": "Anna Bell", "want": "phone"}),
                "Anna Bell's phone number is +49 151 5550101.",
            ),
            (
                json!({"name": "annie", "want": "birthday"}),
                "Anna Bell's birthday is 3 May 1980.",
            ),
            (
                json!({"name": "Anna Berg", "want": "phone"}),
                "Anna Berg has 2 phone numbers: home 030 123456 and work 030 654321.",
            ),
            (
                json!({"name": "kathryn stone", "want": "address"}),
                "Catherine Stone's address is Main Street 1, Springfield.",
            ),
            (
                json!({"name": "Catherine", "want": "address"}),
                "Catherine Stone's address is Main Street 1, Springfield.",
            ),
            (
                json!({"name": "Catherine", "want": "mail"}),
                "Catherine Stone is in your contacts, but without a mail address.",
            ),
            (
                json!({"name": "Anna"}),
                "Several contacts fit: Anna Bell and Anna Berg (Acme). Which one?",
            ),
            (
                json!({"name": "0151 5550101"}),
                "Anna Bell: mobile +49 151 5550101, anna@example.org, born on 3 May 1980.",
            ),
            (
                json!({"name": "ANNA@example.org", "want": "phone"}),
                "Anna Bell's phone number is +49 151 5550101.",
            ),
            (
                json!({"name": "acme", "want": "mail"}),
                "Anna Berg is in your contacts, but without a mail address.",
            ),
            (
                json!({"name": "Bartholomew"}),
                "Nobody in your contacts is called Bartholomew.",
            ),
        ] {
            assert_eq!(
                said(run("contacts.search", args.clone(), &ctx).await),
                expect,
                "{args}"
            );
        }
    }

    #[tokio::test]
    async fn empty_broken_and_hostile_books_are_answered() {
        let home = tempfile::tempdir().unwrap();
        let ctx = ctx(home.path());
        assert_eq!(
            said(run("contacts.search", json!({"name": "x"}), &ctx).await),
            "You have no contacts yet."
        );
        book(home.path());
        fs::write(home.path().join("contacts/broken.vcf"), b"BEGIN:VCARD\n\xff\xfe").unwrap();
        fs::write(
            home.path().join("contacts/evil.vcf"),
            "BEGIN:VCARD\nVERSION:3.0\nFN:Mal\u{202e}lory\\nEvil\nEND:VCARD\n",
        )
        .unwrap();
        let output = run("contacts.search", json!({"name": "mallory"}), &ctx)
            .await
            .unwrap();
        assert_eq!(
            output.say,
            "Mallory Evil is in your contacts, with nothing but the name."
        );
        assert_eq!(output.data["unreadable"], 1);
        assert!(
            told(run("contacts.search", json!({"name": " \u{202e}"}), &ctx).await).contains("Give a name")
        );
        assert!(told(run("contacts.search", json!({"who": "x"}), &ctx).await).contains("do not fit"));
    }
}
