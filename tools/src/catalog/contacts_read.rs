//! `contacts.read`: everything that is known of one person.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::{
    contract::{Ctx, Effect, Output, Tool, ToolError},
    system::{
        contacts::{self, Contact, Labelled},
        known::Kind,
        memory, plain,
    },
};

/// Longest part of a note that is read out, in characters.
const MAX_NOTE: usize = 200;

/// Reads one contact.
pub struct This;

/// Whose.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Args {
    /// Name, nickname or relation of the person
    name: String,
}

impl Tool for This {
    type Args = Args;
    const NAME: &'static str = "contacts.read";
    const SUMMARY: &'static str = "Read out everything about one contact";
    const EFFECT: Effect = Effect::Read;
    const NAMED: &'static [(&'static str, Kind)] = &[("name", Kind::Contact)];
    const EXAMPLES: &'static [&'static str] = &[
        "show me everything about Anna Bell",
        "read out the contact of Peter Parker",
        "what do you have on my dentist",
        "give me all the details of Tom Hill",
        "open the contact card of my boss",
        "tell me all about the contact Eva",
    ];
    const CALLS: &'static [(&'static str, &'static str)] =
        &[("what do you have on my dentist", r#"{"name": "dentist"}"#)];
    const USE_WHEN: &'static str =
        "For a whole contact; contacts.search is for one thing, such as the number.";

    async fn run(args: Args, ctx: &Ctx) -> Result<Output, ToolError> {
        let (folder, memory) = (ctx.dirs.contacts.clone(), ctx.dirs.memory.clone());
        let work = tokio::task::spawn_blocking(move || {
            let facts = memory::list(&memory).unwrap_or_default();
            contacts::one(&contacts::read(&folder)?, &args.name, &facts)
        });
        let contact = work
            .await
            .map_err(|e| ToolError::broken("read your contacts", e))??;
        Ok(Output::new(aloud(&contact), data(&contact)))
    }
}

fn aloud(contact: &Contact) -> String {
    let mut parts = Vec::new();
    let text = |what: &str, value: &str| (!value.is_empty()).then(|| format!("{what}{value}"));
    parts.extend(text("", &contact.title));
    parts.extend(text("at ", &contact.organisation));
    parts.extend(contact.is.first().map(|is| format!("your {is}")));
    parts.extend(text("also called ", &plain::listed(&contact.nicknames, "and")));
    for list in [&contact.phones, &contact.mails, &contact.addresses] {
        parts.extend(list.iter().map(with_label));
    }
    parts.extend(contact.birthday.map(|day| format!("born on {}", day.spoken())));
    parts.extend(text("note: ", &plain::one_line(&contact.note, MAX_NOTE)));
    match parts.is_empty() {
        true => format!("{} is in your contacts, with nothing but the name.", contact.name),
        false => format!("{}: {}.", contact.name, parts.join(", ").trim_end_matches('.')),
    }
}

fn with_label(value: &Labelled) -> String {
    match value.label {
        "" => value.value.clone(),
        label => format!("{label} {}", value.value),
    }
}

/// Everything that is there, under the names that the other tools use.
fn data(contact: &Contact) -> Value {
    let list = |values: &[Labelled]| json!(values.iter().map(with_label).collect::<Vec<_>>());
    let related: Vec<String> = contact
        .relations
        .iter()
        .map(|(label, name)| format!("{label}: {name}"))
        .collect();
    let mut data = Map::new();
    for (key, value) in [
        ("name", json!(contact.name)),
        ("nicknames", json!(contact.nicknames)),
        ("company", json!(contact.organisation)),
        ("title", json!(contact.title)),
        ("relations", json!(contact.is)),
        ("phones", list(&contact.phones)),
        ("mails", list(&contact.mails)),
        ("addresses", list(&contact.addresses)),
        ("birthday", json!(contact.birthday.map(contacts::Birthday::iso))),
        ("related", json!(related)),
        ("note", json!(contact.note)),
    ] {
        let empty = value.is_null() || value == "" || value.as_array().is_some_and(Vec::is_empty);
        if !empty {
            data.insert(key.to_owned(), value);
        }
    }
    Value::Object(data)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::testing::{ctx, run, said, told};

    #[tokio::test]
    async fn a_contact_is_read_in_full() {
        let home = tempfile::tempdir().unwrap();
        let ctx = ctx(home.path());
        let ask = async |name: &str| run("contacts.read", json!({"name": name}), &ctx).await;
        assert_eq!(told(ask("anna").await), "You have no contacts yet.");
        fs::create_dir_all(&ctx.dirs.contacts).unwrap();
        let cards = "BEGIN:VCARD\nVERSION:4.0\nFN:Anna Bell\nNICKNAME:Annie\nORG:Acme\nTITLE:Engineer\n\
            TEL;TYPE=cell:0151 555\nEMAIL:anna@example.org\nBDAY:--0503\nNOTE:Likes tea.\\nAnd cake.\n\
            RELATED;VALUE=text;TYPE=sibling;X-TIRO-IS=sister:me\nEND:VCARD\n\
            BEGIN:VCARD\nVERSION:4.0\nFN:Anna Berg\nEND:VCARD\n";
        fs::write(ctx.dirs.contacts.join("a.vcf"), cards).unwrap();
        let output = ask("annie").await.unwrap();
        assert_eq!(
            output.say,
            "Anna Bell: Engineer, at Acme, your sister, also called Annie, mobile 0151 555, anna@example.org, \
             born on 3 May, note: Likes tea. And cake."
        );
        assert_eq!(output.data["phones"], json!(["mobile 0151 555"]));
        assert_eq!(said(ask("my sister").await), output.say);
        assert_eq!(
            said(ask("anna berg").await),
            "Anna Berg is in your contacts, with nothing but the name."
        );
        assert!(told(ask("anna").await).ends_with("Which one?"));
        assert_eq!(told(ask("zoe").await), "Nobody in your contacts is called zoe.");
        assert!(told(ask(" ").await).contains("Say a name"));
        assert!(told(run("contacts.read", json!({}), &ctx).await).contains("do not fit"));
    }
}
