//! `contacts.delete`: a contact goes; the journal keeps it for "undo that".

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::{
    contract::{Ctx, Effect, Output, Tool, ToolError},
    system::{contacts, known::Kind},
};

/// Deletes contacts.
pub struct This;

/// Who.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Args {
    /// Whose contact
    name: String,
}

impl Tool for This {
    type Args = Args;
    const NAME: &'static str = "contacts.delete";
    const SUMMARY: &'static str = "Delete a whole contact from the address book";
    const EFFECT: Effect = Effect::Write;
    const CONFIRM: bool = true;
    const NAMED: &'static [(&'static str, Kind)] = &[("name", Kind::Contact)];
    const EXAMPLES: &'static [&'static str] = &[
        "delete the contact Anna Bell",
        "remove Peter Parker from my contacts",
        "take Tom Hill out of my address book",
        "erase the contact of my old landlord",
        "I don't need Maria's contact any more",
        "get rid of the contact Eva",
    ];
    const CALLS: &'static [(&'static str, &'static str)] = &[(
        "remove Peter Parker from my contacts",
        r#"{"name": "Peter Parker"}"#,
    )];
    const LIMITS: &'static str = "Deletes a person whole; contacts.update removes a single number.";

    fn preview(args: &Args, ctx: &Ctx) -> Result<String, ToolError> {
        let contact = contacts::one(&contacts::read(&ctx.dirs.contacts)?, &args.name, &[])?;
        let number = contact
            .phones
            .first()
            .map_or(String::new(), |p| format!(", {}", p.value));
        Ok(format!("Delete the contact {}{number}.", contact.name))
    }

    async fn run(args: Args, ctx: &Ctx) -> Result<Output, ToolError> {
        let (folder, step) = (ctx.dirs.contacts.clone(), ctx.step.clone());
        let work = tokio::task::spawn_blocking(move || {
            let contact = contacts::one(&contacts::read(&folder)?, &args.name, &[])?;
            contacts::delete(&step, &contact)?;
            Ok::<_, ToolError>(contact)
        });
        let contact = work
            .await
            .map_err(|e| ToolError::broken("delete the contact", e))??;
        Ok(Output::new(
            format!("I deleted the contact {}.", contact.name),
            json!({"name": contact.name}),
        ))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::testing::{ctx, run, said, told};

    fn card(name: &str) -> String {
        format!("BEGIN:VCARD\nVERSION:3.0\nFN:{name}\nX-KEEP: me \nEND:VCARD\n")
    }

    #[tokio::test]
    async fn a_card_goes_alone_and_comes_back() {
        let home = tempfile::tempdir().unwrap();
        let ctx = ctx(home.path());
        let delete = async |name: &str| run("contacts.delete", json!({"name": name}), &ctx).await;
        assert_eq!(told(delete("x").await), "You have no contacts yet.");
        fs::create_dir_all(&ctx.dirs.contacts).unwrap();
        let (single, several) = (ctx.dirs.contacts.join("a.vcf"), ctx.dirs.contacts.join("b.vcf"));
        fs::write(&single, card("Anna Bell")).unwrap();
        let all = format!("{}{}{}", card("Tom Hill"), card("Eva Hall"), card("Tom Berg"));
        fs::write(&several, &all).unwrap();
        assert_eq!(
            said(delete("anna bell").await),
            "I deleted the contact Anna Bell."
        );
        assert!(!single.exists());
        ctx.step.journal().undo(None).unwrap();
        assert_eq!(fs::read_to_string(&single).unwrap(), card("Anna Bell"));
        assert_eq!(said(delete("eva").await), "I deleted the contact Eva Hall.");
        assert_eq!(
            fs::read_to_string(&several).unwrap(),
            format!("{}{}", card("Tom Hill"), card("Tom Berg"))
        );
        ctx.step.journal().undo(None).unwrap();
        assert_eq!(fs::read_to_string(&several).unwrap(), all);
        assert!(told(delete("tom").await).ends_with("Which one?"));
        assert!(told(delete("zoe").await).contains("Nobody"));
        assert!(told(run("contacts.delete", json!({}), &ctx).await).contains("do not fit"));
        let entry = crate::find("contacts.delete").unwrap();
        assert!(entry.confirm);
        assert_eq!(
            entry.preview(json!({"name": "anna bell"}), &ctx).unwrap(),
            "Delete the contact Anna Bell."
        );
    }
}
