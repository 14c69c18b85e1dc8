//! `contacts.update`: one change to a contact.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::contacts_create::when_born;
use crate::{
    contract::{Ctx, Effect, Output, Tool, ToolError},
    system::{
        contacts::{self, Change, Contact, How, Kind, Label},
        known, memory,
    },
};

/// Changes contacts.
pub struct This;

/// Who, and what changes.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Args {
    /// Whose contact
    name: String,
    /// What changes
    field: Kind,
    /// New value as said; when removing, which one
    value: Option<String>,
    /// Kind of number or address, if said
    label: Option<Label>,
    /// Add one more, replace, or remove; only if said
    how: Option<How>,
}

impl Tool for This {
    type Args = Args;
    const NAME: &'static str = "contacts.update";
    const SUMMARY: &'static str = "Change a contact: number, mail, address, birthday, relation";
    const EFFECT: Effect = Effect::Write;
    const NAMED: &'static [(&'static str, known::Kind)] = &[("name", known::Kind::Contact)];
    const EXAMPLES: &'static [&'static str] = &[
        "change Anna's phone number to oh one seven six two three four",
        "Peter has a new email, peter at example dot org",
        "add a work number for Tom Hill",
        "Eva's birthday is the third of May",
        "remember that Eva is my sister",
        "remove the home number of Anna Bell",
    ];
    const CALLS: &'static [(&'static str, &'static str)] = &[
        (
            "Peter has a new email, peter at example dot org",
            r#"{"name": "Peter", "field": "mail", "value": "peter at example dot org"}"#,
        ),
        (
            "remove the home number of Anna Bell",
            r#"{"name": "Anna Bell", "field": "phone", "label": "home", "how": "remove"}"#,
        ),
    ];
    const USE_WHEN: &'static str =
        "For somebody who is in the contacts; also for what they are to the person.";
    const LIMITS: &'static str = "One change at a time.";

    fn preview(args: &Args, ctx: &Ctx) -> Result<String, ToolError> {
        let change = change(args, ctx)?;
        let facts = memory::list(&ctx.dirs.memory).unwrap_or_default();
        let contact = contacts::one(&contacts::read(&ctx.dirs.contacts)?, &args.name, &facts)?;
        Ok(format!("{}.", described(&change, &contact, false)))
    }

    async fn run(args: Args, ctx: &Ctx) -> Result<Output, ToolError> {
        let change = change(&args, ctx)?;
        let (folder, memory, step) = (
            ctx.dirs.contacts.clone(),
            ctx.dirs.memory.clone(),
            ctx.step.clone(),
        );
        let work = tokio::task::spawn_blocking(move || {
            let facts = memory::list(&memory).unwrap_or_default();
            let contact = contacts::one(&contacts::read(&folder)?, &args.name, &facts)?;
            contacts::update(&step, &contact, &change)?;
            Ok::<_, ToolError>((contact, change))
        });
        let (contact, change) = work
            .await
            .map_err(|e| ToolError::broken("save the contact", e))??;
        Ok(Output::new(
            format!("{}.", described(&change, &contact, true)),
            json!({"name": contact.name}),
        ))
    }
}

fn change(args: &Args, ctx: &Ctx) -> Result<Change, ToolError> {
    let value = args.value.as_deref().unwrap_or_default();
    Change::new(args.field, value, args.label, args.how, |said| {
        when_born(said, ctx)
    })
}

fn described(change: &Change, contact: &Contact, done: bool) -> String {
    let verb = match (change.how(), done) {
        (Some(How::Remove), true) => "I removed",
        (Some(How::Remove), false) => "Remove",
        (_, true) => "I saved",
        (_, false) => "Save",
    };
    format!("{verb} for {}: {}", contact.name, change.described())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::testing::{ctx, run, said, told};

    const CARD: &str = "BEGIN:VCARD\r\nVERSION:3.0\r\nX-FOREIGN;X-A=\"b:c\":some\\,thing that is folded h\r\n ere\r\n\
        FN:Anna Bell\r\nN:Bell;Anna;;Dr.;\r\nTEL;TYPE=CELL,pref:0151 555\r\nitem1.TEL:030 1\r\n\
        item1.X-ABLabel:Assistant\r\nEMAIL;TYPE=HOME:a@example.org\r\nPHOTO;ENCODING=b:AAAA\r\nEND:VCARD\r\n";

    #[tokio::test]
    async fn one_line_changes_and_all_others_keep_their_bytes() {
        let home = tempfile::tempdir().unwrap();
        let ctx = ctx(home.path());
        fs::create_dir_all(&ctx.dirs.contacts).unwrap();
        let file = ctx.dirs.contacts.join("a.vcf");
        for (args, answer, old, new) in [
            (
                json!({"name": "anna bell", "field": "phone", "label": "mobile", "value": "oh one six oh nine"}),
                "I saved for Anna Bell: mobile number 01609.",
                "pref:0151 555",
                "pref:01609",
            ),
            (
                json!({"name": "anna", "field": "mail", "value": "b at example dot org"}),
                "I saved for Anna Bell: mail address b@example.org.",
                "HOME:a@example.org",
                "HOME:b@example.org",
            ),
            (
                json!({"name": "anna", "field": "mail", "label": "work", "value": "c@example.org"}),
                "I saved for Anna Bell: work mail address c@example.org.",
                "a@example.org\r\n",
                "a@example.org\r\nEMAIL;TYPE=WORK:c@example.org\r\n",
            ),
            (
                json!({"name": "anna", "field": "phone", "how": "remove", "value": "030 1"}),
                "I removed for Anna Bell: number 030 1.",
                "item1.TEL:030 1\r\nitem1.X-ABLabel:Assistant\r\n",
                "",
            ),
            (
                json!({"name": "anna", "field": "relation", "value": "my sister"}),
                "I saved for Anna Bell: relation: your sister.",
                "b:AAAA\r\n",
                "b:AAAA\r\nRELATED;TYPE=sibling;X-TIRO-IS=sister:me\r\n",
            ),
            (
                json!({"name": "anna", "field": "name", "value": "anna van berg"}),
                "I saved for Anna Bell: name Anna van Berg.",
                "FN:Anna Bell\r\nN:Bell;Anna;;Dr.;\r\n",
                "FN:Anna van Berg\r\nN:van Berg;Anna;;Dr.;\r\n",
            ),
            (
                json!({"name": "anna", "field": "birthday", "value": "3 may 1980"}),
                "I saved for Anna Bell: birthday 3 May 1980.",
                "b:AAAA\r\n",
                "b:AAAA\r\nBDAY:1980-05-03\r\n",
            ),
        ] {
            fs::write(&file, CARD).unwrap();
            assert_eq!(said(run("contacts.update", args, &ctx).await), answer);
            assert_eq!(fs::read_to_string(&file).unwrap(), CARD.replace(old, new));
            ctx.step.journal().undo(None).unwrap();
            assert_eq!(fs::read_to_string(&file).unwrap(), CARD);
        }
    }

    #[tokio::test]
    async fn doubt_and_nonsense_change_nothing() {
        let home = tempfile::tempdir().unwrap();
        let ctx = ctx(home.path());
        let update = async |args| run("contacts.update", args, &ctx).await;
        let args = json!({"name": "anna", "field": "phone", "value": "0151"});
        assert_eq!(told(update(args).await), "You have no contacts yet.");
        fs::create_dir_all(&ctx.dirs.contacts).unwrap();
        let text = format!("{CARD}BEGIN:VCARD\r\nVERSION:4.0\r\nFN:Anna Berg\r\nEND:VCARD\r\n");
        let file = ctx.dirs.contacts.join("a.vcf");
        fs::write(&file, &text).unwrap();
        for (args, expect) in [
            (
                json!({"name": "anna", "field": "phone", "value": "0151"}),
                "Which one?",
            ),
            (
                json!({"name": "zoe", "field": "phone", "value": "0151"}),
                "Nobody in your contacts",
            ),
            (
                json!({"name": "anna bell", "field": "phone", "value": "0151"}),
                "Which number: 0151 555 or 030 1?",
            ),
            (
                json!({"name": "anna bell", "field": "phone"}),
                "What is the number?",
            ),
            (
                json!({"name": "anna bell", "field": "mail", "value": "x"}),
                "is no mail address",
            ),
            (
                json!({"name": "anna berg", "field": "mail", "how": "remove"}),
                "There is no such mail address",
            ),
            (
                json!({"name": "anna berg", "field": "name", "how": "remove"}),
                "needs a name",
            ),
            (
                json!({"name": "anna berg", "field": "shoe", "value": "x"}),
                "do not fit",
            ),
        ] {
            let text = told(update(args.clone()).await);
            assert!(text.contains(expect), "{args}: {text}");
        }
        assert_eq!(fs::read_to_string(&file).unwrap(), text);
        let entry = crate::find("contacts.update").unwrap();
        let args = json!({"name": "anna berg", "field": "note", "value": "a\nEND:VCARD"});
        assert_eq!(
            entry.preview(args.clone(), &ctx).unwrap(),
            "Save for Anna Berg: note a END:VCARD."
        );
        said(update(args).await);
        let after = fs::read_to_string(&file).unwrap();
        assert_eq!(
            after,
            text.replace("FN:Anna Berg\r\n", "FN:Anna Berg\r\nNOTE:a END:VCARD\r\n")
        );
    }
}
