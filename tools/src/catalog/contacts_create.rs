//! `contacts.create`: a new contact.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::{
    contract::{Ctx, Effect, Output, Tool, ToolError},
    system::{
        contacts::{self, Change, Kind, New},
        plain,
    },
    when,
};

/// Makes contacts.
pub struct This;

/// Who, and what is known of them.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Args {
    /// Full name
    name: String,
    /// Phone number as said
    phone: Option<String>,
    /// Mail address as said
    mail: Option<String>,
    /// Birthday as said
    birthday: Option<String>,
    /// The rest as "company: Acme"; also address, nickname, note, relation
    other: Option<Vec<String>>,
    /// True if the person wants a second contact of that name
    second: Option<bool>,
}

impl Tool for This {
    type Args = Args;
    const NAME: &'static str = "contacts.create";
    const SUMMARY: &'static str = "Add a new person to the contacts, with number, mail, birthday";
    const EFFECT: Effect = Effect::Write;
    const EXAMPLES: &'static [&'static str] = &[
        "add a new contact Anna Bell, her number is oh one seven six two three four",
        "save Peter Parker with the email peter at example dot org",
        "create a contact for my dentist Doctor Stone",
        "put Tom Hill into my address book, born on the third of May",
        "new contact Eva from Acme",
        "save this number as Maria, five five five oh one oh one",
    ];
    const CALLS: &'static [(&'static str, &'static str)] = &[
        (
            "save Peter Parker with the email peter at example dot org",
            r#"{"name": "Peter Parker", "mail": "peter at example dot org"}"#,
        ),
        (
            "save this number as Maria, five five five oh one oh one, born on the third of May",
            r#"{"name": "Maria", "phone": "five five five oh one oh one", "birthday": "the third of May"}"#,
        ),
    ];
    const USE_WHEN: &'static str =
        "For somebody who is not in the contacts yet; contacts.update changes one.";

    fn preview(args: &Args, ctx: &Ctx) -> Result<String, ToolError> {
        let new = new(args, ctx)?;
        refuse_twin(&contacts::read(&ctx.dirs.contacts)?, &new, args)?;
        Ok(format!("Add the contact {}.", described(&new)))
    }

    async fn run(args: Args, ctx: &Ctx) -> Result<Output, ToolError> {
        let new = new(&args, ctx)?;
        let said = described(&new);
        let name = new.name.clone();
        let (folder, step) = (ctx.dirs.contacts.clone(), ctx.step.clone());
        let work = tokio::task::spawn_blocking(move || {
            let book = contacts::read(&folder)?;
            refuse_twin(&book, &new, &args)?;
            contacts::create(&step, &folder, &book, &new)
        });
        work.await
            .map_err(|e| ToolError::broken("save the contact", e))??;
        Ok(Output::new(format!("I added {said}."), json!({"name": name})))
    }
}

fn new(args: &Args, ctx: &Ctx) -> Result<New, ToolError> {
    let change = |kind, said: &str| Change::new(kind, said, None, None, |said| when_born(said, ctx));
    let mut changes = Vec::new();
    for (kind, said) in [
        (Kind::Phone, &args.phone),
        (Kind::Mail, &args.mail),
        (Kind::Birthday, &args.birthday),
    ] {
        if let Some(said) = said {
            changes.push(change(kind, said)?);
        }
    }
    for other in args.other.iter().flatten().take(20) {
        let line = plain::one_line(other, 1000);
        let (kind, value) = line.split_once(':').unwrap_or(("note", &line));
        let kind = match kind.trim().to_lowercase().as_str() {
            "company" | "org" | "organisation" | "organization" => Kind::Company,
            "address" | "adr" => Kind::Address,
            "nickname" => Kind::Nickname,
            "relation" | "related" => Kind::Relation,
            "phone" | "number" => Kind::Phone,
            "mail" | "email" => Kind::Mail,
            "birthday" => Kind::Birthday,
            "note" | "notes" => Kind::Note,
            unknown => {
                return Err(ToolError::tell(format!(
                    "\"{unknown}\" cannot be kept. There is company, address, nickname, note and relation."
                )));
            }
        };
        changes.push(change(kind, value)?);
    }
    let name = Change::new(Kind::Name, &args.name, None, None, |_| Err(ToolError::tell("")))?;
    Ok(New::named(&name, changes))
}

/// A day of birth as it was said; without a year unless one was said.
pub(super) fn when_born(said: &str, ctx: &Ctx) -> Result<contacts::Birthday, ToolError> {
    let ask = || {
        ToolError::tell(format!(
            "Which day is \"{}\"? Say it as in the third of May 1980.",
            plain::one_line(said, 60)
        ))
    };
    let resolved = when::resolve(said, &ctx.now, when::Hint::Past).map_err(|_| ask())?;
    let (start, _) = resolved.value.stretch(&ctx.now).ok_or_else(ask)?;
    let day = start.ok_or_else(ask)?.date();
    let digits = said
        .split(|c: char| !c.is_ascii_digit())
        .any(|run| run.len() == 4 || run.len() == 8);
    let year = (digits || day.year() < ctx.now.year() - 1).then_some(day.year());
    contacts::Birthday::new(year, day.month(), day.day()).ok_or_else(ask)
}

fn refuse_twin(book: &contacts::Book, new: &New, args: &Args) -> Result<(), ToolError> {
    if args.second == Some(true) {
        return Ok(());
    }
    match &contacts::twins(book, new)[..] {
        [] => Ok(()),
        [one, ..] => Err(ToolError::tell(format!(
            "{} is in your contacts already{}. Shall I change that contact, or add a second one?",
            one.name,
            one.phones
                .first()
                .map_or(String::new(), |p| format!(", with {}", p.value))
        ))),
    }
}

/// "Anna Bell, number 0176 234, mail address anna@example.org".
fn described(new: &New) -> String {
    let mut parts = vec![new.name.clone()];
    parts.extend(new.changes.iter().map(Change::described));
    parts.join(", ")
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::testing::{ctx, files, run, said, told};

    #[tokio::test]
    async fn what_was_said_becomes_a_card_and_undo_takes_it_back() {
        let home = tempfile::tempdir().unwrap();
        let ctx = ctx(home.path());
        let args = json!({
            "name": "anna bell", "phone": "oh one seven six double two three", "mail": "anna at example dot org",
            "birthday": "the third of May 1980",
            "other": ["company: Acme", "address: 1 Main Street, Springfield", "nickname: Annie", "relation: my sister", "note: likes tea"],
        });
        assert_eq!(
            said(run("contacts.create", args.clone(), &ctx).await),
            "I added Anna Bell, number 0176223, mail address anna@example.org, birthday 3 May 1980, company Acme, \
             address 1 Main Street, Springfield, nickname Annie, relation: your sister, note likes tea."
        );
        let written = files(&ctx.dirs.contacts);
        let text = String::from_utf8(written[0].1.clone()).unwrap();
        let uid = written[0].0.file_stem().unwrap().to_str().unwrap();
        assert_eq!(
            text,
            format!(
                "BEGIN:VCARD\r\nVERSION:4.0\r\nUID:urn:uuid:{uid}\r\nFN:Anna Bell\r\nN:Bell;Anna;;;\r\nTEL:0176223\r\n\
                 EMAIL:anna@example.org\r\nBDAY:19800503\r\nORG:Acme\r\nADR:;;1 Main Street;Springfield;;;\r\n\
                 NICKNAME:Annie\r\nRELATED;TYPE=sibling;X-TIRO-IS=sister;VALUE=text:me\r\nNOTE:likes tea\r\nEND:VCARD\r\n"
            )
        );
        assert_eq!(
            said(
                run(
                    "contacts.search",
                    json!({"name": "my sister", "want": "phone"}),
                    &ctx
                )
                .await
            ),
            "Anna Bell's phone number is 0176223."
        );
        let again = told(run("contacts.create", args, &ctx).await);
        assert!(
            again.starts_with("Anna Bell is in your contacts already, with 0176223."),
            "{again}"
        );
        ctx.step.journal().undo(None).unwrap();
        assert!(!written[0].0.exists());
    }

    #[tokio::test]
    async fn doubles_are_noticed_by_number_and_a_second_is_made_when_wanted() {
        let home = tempfile::tempdir().unwrap();
        let ctx = ctx(home.path());
        let book = ctx.dirs.contacts.join("family");
        fs::create_dir_all(&book).unwrap();
        let card = "BEGIN:VCARD\nVERSION:3.0\nFN:Tom Hill\nTEL:+49 151 5550101\nEND:VCARD\n";
        fs::write(book.join("tom.vcf"), card).unwrap();
        let create = async |args| run("contacts.create", args, &ctx).await;
        let text = told(create(json!({"name": "Thomas", "phone": "0151 555 0101"})).await);
        assert!(text.starts_with("Tom Hill is in your contacts already"), "{text}");
        assert_eq!(
            said(create(json!({"name": "tom hill", "birthday": "3rd of may", "second": true})).await),
            "I added Tom Hill, birthday 3 May."
        );
        let new = files(&book).into_iter().map(|f| String::from_utf8(f.1).unwrap());
        let new = new.filter(|text| text.contains("UID:")).collect::<String>();
        // The book's other card is of version 3.0, so this one is, too.
        assert!(
            new.contains("VERSION:3.0\r\n") && new.contains("BDAY;X-APPLE-OMIT-YEAR=1604:1604-05-03"),
            "{new}"
        );
    }

    #[tokio::test]
    async fn what_cannot_be_kept_is_told_and_nothing_is_written() {
        let home = tempfile::tempdir().unwrap();
        let ctx = ctx(home.path());
        for (args, expect) in [
            (json!({"name": " "}), "What is the name?"),
            (json!({"name": "A", "phone": "many"}), "is no phone number"),
            (json!({"name": "A", "mail": "nowhere"}), "is no mail address"),
            (json!({"name": "A", "birthday": "purple"}), "Which day is"),
            (
                json!({"name": "A", "other": ["shoe size: 43"]}),
                "\"shoe size\" cannot be kept",
            ),
            (json!({"phone": "0151 555"}), "do not fit"),
        ] {
            let text = told(run("contacts.create", args.clone(), &ctx).await);
            assert!(text.contains(expect), "{args}: {text}");
        }
        assert!(!ctx.dirs.contacts.exists());
        let entry = crate::find("contacts.create").unwrap();
        let preview = entry.preview(
            json!({"name": "eva\u{202e} hall\nTEL:1", "phone": "555 01"}),
            &ctx,
        );
        assert_eq!(preview.unwrap(), "Add the contact eva hall TEL:1, number 555 01.");
        assert!(!ctx.dirs.contacts.exists());
    }
}
