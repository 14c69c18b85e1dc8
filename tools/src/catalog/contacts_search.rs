//! `contacts.search`: who somebody is and how to reach them.

use std::sync::Arc;

use jiff::{Zoned, civil::Date};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{
    contract::{Ctx, Effect, LoadPolicy, Output, Tool, ToolError},
    discover::words,
    system::{
        contacts::{self, Birthday, Book, Contact, Labelled},
        known::Kind,
        memory, plain, speech,
    },
    when::{self, Hint},
};

/// Most candidates that are named.
const MAX_LISTED: usize = 8;

/// Looks people up.
pub struct This;

/// Whom, and what of them.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Args {
    /// Name, relation or number; for birthdays also "next"
    name: String,
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
    const SUMMARY: &'static str = "Look up a contact or birthday";
    const EFFECT: Effect = Effect::Read;
    const LOAD: LoadPolicy = LoadPolicy::Core;
    const NAMED: &'static [(&'static str, Kind)] = &[("name", Kind::Contact)];
    const EXAMPLES: &'static [&'static str] = &[
        "what is Anna's phone number",
        "do I have an email address for Peter Parker",
        "when is my sister's birthday",
        "where does Tom live",
        "find John Smith in my contacts",
        "whose number is 555 0101",
        "whose birthday is next",
        "what is my mom's email address",
    ];
    const CALLS: &'static [(&'static str, &'static str)] = &[
        (
            "what is my mom's email address",
            r#"{"name": "mom", "want": "mail"}"#,
        ),
        (
            "whose birthday is next",
            r#"{"name": "next", "want": "birthday"}"#,
        ),
        ("find John Smith in my contacts", r#"{"name": "John Smith"}"#),
    ];
    const USE_WHEN: &'static str = "For how to reach a person, not for their messages or meetings.";

    async fn run(args: Args, ctx: &Ctx) -> Result<Output, ToolError> {
        let (folder, memory) = (ctx.dirs.contacts.clone(), ctx.dirs.memory.clone());
        let asked = plain::one_line(&args.name, 80);
        let (now, want, name) = (ctx.now.clone(), args.want, args.name);
        let work = tokio::task::spawn_blocking(move || {
            let book = contacts::read(&folder)?;
            if book.contacts.is_empty() {
                return Ok(Output::new("You have no contacts yet.", json!({"contacts": []})));
            }
            if want == Some(Want::Birthday)
                && let Some(output) = birthdays(&book, &asked, &now)
            {
                return Ok(output);
            }
            if asked.is_empty() {
                return Err(ToolError::tell("Whom shall I look for? Say a name."));
            }
            // What is remembered only helps; a memory that cannot be read must not hide the contacts.
            let facts = memory::list(&memory).unwrap_or_default();
            let (by, found) = contacts::find(&book, &name, &facts);
            let shown: Vec<Value> = found.iter().take(MAX_LISTED).map(|c| describe(c, want)).collect();
            let mut data = json!({"contacts": shown});
            if !book.problems.is_empty() {
                data["unreadable"] = json!(book.problems.len());
            }
            let say = match &found[..] {
                [] => contacts::nobody(&by, &asked),
                [one] => answer(one, want),
                several => contacts::which(several),
            };
            Ok(Output::new(say, data))
        });
        work.await
            .map_err(|e| ToolError::broken("read your contacts", e))?
    }
}

/// Whose birthday is next, or in a time that was named; nothing when it is a person who was named.
fn birthdays(book: &Book, asked: &str, now: &Zoned) -> Option<Output> {
    let words = words::split(asked);
    let nobody = |word: &String| {
        words::is_stop_word(word)
            || matches!(
                word.as_str(),
                "next"
                    | "upcoming"
                    | "coming"
                    | "everyone"
                    | "anyone"
                    | "everybody"
                    | "anybody"
                    | "birthday"
                    | "birthdays"
                    | "soon"
            )
    };
    let until = if words.iter().all(nobody) {
        None
    } else {
        let (_, named) = contacts::find(book, asked, &[]);
        if !named.is_empty() {
            return None;
        }
        let (from, to) = when::resolve(asked, now, Hint::Search).ok()?.value.stretch(now)?;
        Some((from.map_or(now.date(), |at| at.date()), to?.date()))
    };
    let all = contacts::birthdays(book, now.date());
    let soonest = all.first().map(|(day, _)| *day);
    let fits = |day: &Date| match until {
        // The end is exclusive; a single day begins and ends on itself.
        Some((from, to)) => *day >= from && (*day < to || *day == from),
        None => Some(*day) == soonest,
    };
    let found: Vec<&(Date, Arc<Contact>)> =
        all.iter().filter(|(day, _)| fits(day)).take(MAX_LISTED).collect();
    let said: Vec<String> = found
        .iter()
        .map(|(day, contact)| {
            let turns = contact
                .birthday
                .and_then(|b| b.year)
                .map(|year| day.year() - year);
            let turns = turns.map_or(String::new(), |age| format!(" and turns {age}"));
            format!(
                "{} has a birthday {}{turns}",
                contact.name,
                speech::on_day(*day, now)
            )
        })
        .collect();
    let say = match said.is_empty() {
        true if until.is_some() => format!("I know of no birthday {asked}."),
        true => "No birthday is in your contacts.".to_owned(),
        false => format!("{}.", said.join(". ")),
    };
    let rows: Vec<Value> = found
        .iter()
        .map(|(day, contact)| json!({"name": contact.name, "birthday": contact.birthday.map(Birthday::iso), "next": day.to_string()}))
        .collect();
    Some(Output::new(say, json!({"contacts": rows})))
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
                json!({"name": "anna bells", "want": "phone"}),
                "Anna Bell's phone number is +49 151 5550101.",
            ),
            (
                json!({"name": "Catherines", "want": "address"}),
                "Catherine Stone's address is Main Street 1, Springfield.",
            ),
            (
                json!({"name": "the stones", "want": "address"}),
                "Catherine Stone's address is Main Street 1, Springfield.",
            ),
            (
                json!({"name": "Bartholomews"}),
                "Nobody in your contacts is called Bartholomews.",
            ),
            (json!({"name": "this"}), "Nobody in your contacts is called this."),
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
            (
                json!({"name": "oh one five one five five five oh one oh one"}),
                "Anna Bell: mobile +49 151 5550101, anna@example.org, born on 3 May 1980.",
            ),
            (
                json!({"name": "anna at example dot org", "want": "phone"}),
                "Anna Bell's phone number is +49 151 5550101.",
            ),
            (
                json!({"name": "cathy stone", "want": "mail"}),
                "Catherine Stone is in your contacts, but without a mail address.",
            ),
            (
                json!({"name": "my sister", "want": "phone"}),
                "I do not know who your sister is. Tell me, as in: Eva is my sister.",
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
            told(run("contacts.search", json!({"name": " \u{202e}"}), &ctx).await).contains("Say a name")
        );
        assert!(told(run("contacts.search", json!({"who": "x"}), &ctx).await).contains("do not fit"));
    }

    #[tokio::test]
    async fn relations_come_from_cards_and_from_what_was_remembered() {
        let home = tempfile::tempdir().unwrap();
        book(home.path());
        let ctx = ctx(home.path());
        fs::write(
            home.path().join("contacts/default/me.vcf"),
            "BEGIN:VCARD\nVERSION:3.0\nFN:Max Mill\nCATEGORIES:me\nX-EVOLUTION-MANAGER:Catherine Stone\n\
             item1.X-ABRELATEDNAMES:Anna Berg\nitem1.X-ABLABEL:_$!<Mother>!$_\nEND:VCARD\n",
        )
        .unwrap();
        run("memory.remember", json!({"fact": "Annie is my sister"}), &ctx)
            .await
            .unwrap();
        for (name, expect) in [
            ("my boss", "Catherine Stone"),
            ("my manager's", "Catherine Stone"),
            ("mom", "Anna Berg"),
            ("my sister", "Anna Bell"),
        ] {
            let output = run("contacts.search", json!({"name": name}), &ctx).await.unwrap();
            assert_eq!(
                output.data["contacts"][0]["name"], expect,
                "{name}: {}",
                output.say
            );
        }
    }

    #[tokio::test]
    async fn birthdays_are_found_by_time() {
        let home = tempfile::tempdir().unwrap();
        let ctx = ctx(home.path());
        fs::create_dir_all(&ctx.dirs.contacts).unwrap();
        let cards = [
            ("Anna Bell", "1980-05-03"),
            ("Tom Hill", "--1201"),
            ("Eva May", "2000-11-23"),
        ];
        let text: String = cards
            .iter()
            .map(|(name, day)| {
                format!(
                    "BEGIN:VCARD\nVERSION:4.0\nFN:{name}\nBDAY:{}\nEND:VCARD\n",
                    day.replace("--", "\u{1}").replace('-', "").replace('\u{1}', "--")
                )
            })
            .collect();
        fs::write(ctx.dirs.contacts.join("all.vcf"), text).unwrap();
        for (name, expect) in [
            ("next", "Eva May has a birthday today and turns 26."),
            ("in december", "Tom Hill has a birthday on Tuesday 1 December."),
            ("next week", "Tom Hill has a birthday on Tuesday 1 December."),
            ("in february", "I know of no birthday in february."),
            ("Anna", "Anna Bell's birthday is 3 May 1980."),
            ("eva may", "Eva May's birthday is 23 November 2000."),
        ] {
            let args = json!({"name": name, "want": "birthday"});
            assert_eq!(said(run("contacts.search", args, &ctx).await), expect, "{name}");
        }
    }
}
