//! `mail.delete`: mail moved to the trash.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::{
    contract::{Ctx, Effect, Output, TimeRole, Tool, ToolError},
    system::mail::{self, Asked, Entry, Role},
};

/// Mails that are named in the question.
const MAX_SPOKEN: usize = 3;

/// Deletes mail.
pub struct This;

/// Which ones.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Args {
    /// Who wrote it
    from: Option<String>,
    /// Words of its subject or text
    about: Option<String>,
    /// When it came, as said
    when: Option<String>,
    /// Which one: latest, this, second of the list, all
    which: Option<String>,
}

impl Tool for This {
    type Args = Args;
    const NAME: &'static str = "mail.delete";
    const SUMMARY: &'static str = "Delete mail: move it to the trash";
    const EFFECT: Effect = Effect::Write;
    const CONFIRM: bool = true;
    const UNTRUSTED: bool = true;
    const TIMEOUT: std::time::Duration = std::time::Duration::from_secs(30);
    const TIMES: &'static [(&'static str, TimeRole)] = &[("when", TimeRole::Find)];
    const EXAMPLES: &'static [&'static str] = &[
        "delete that email",
        "throw away the mail from the newsletter",
        "delete all messages from LinkedIn",
        "trash the second one",
        "remove the email about the sale",
        "get rid of the mail I just read",
        "bin yesterday's mail from the shop",
        "delete the latest email from Bob",
    ];
    const CALLS: &'static [(&'static str, &'static str)] = &[
        ("get rid of the email about the sale", r#"{"about": "sale"}"#),
        (
            "delete the latest email from Bob",
            r#"{"from": "Bob", "which": "latest"}"#,
        ),
    ];
    const USE_WHEN: &'static str = "To throw mail away; mail.archive keeps it outside the inbox.";

    fn preview(args: &Args, ctx: &Ctx) -> Result<String, ToolError> {
        let (_, chosen) = resolve(args, ctx)?;
        Ok(match &chosen[..] {
            [_] => format!("Move {} to the trash.", mail::called(&chosen, &ctx.now)),
            several => {
                let named: Vec<String> = several
                    .iter()
                    .take(MAX_SPOKEN)
                    .map(|e| mail::about(e, &ctx.now))
                    .collect();
                let first = if several.len() > MAX_SPOKEN {
                    "the newest: "
                } else {
                    ""
                };
                format!(
                    "Move {} to the trash, {first}{}.",
                    mail::called(several, &ctx.now),
                    named.join("; ")
                )
            }
        })
    }

    async fn run(args: Args, ctx: &Ctx) -> Result<Output, ToolError> {
        ctx.blocking("delete the mail", move |ctx| {
            let (index, chosen) = resolve(&args, ctx)?;
            let all = index.folders();
            for entry in &chosen {
                mail::move_to(&ctx.step, &all, entry, Role::Trash)?;
            }
            let say = format!("Moved {} to the trash.", mail::called(&chosen, &ctx.now));
            Ok(Output::new(say, json!({"deleted": chosen.len()})))
        })
        .await
    }
}

fn resolve(args: &Args, ctx: &Ctx) -> Result<(mail::Index, Vec<Entry>), ToolError> {
    let asked = Asked {
        from: args.from.as_deref(),
        about: args.about.as_deref(),
        when: args.when.as_deref(),
        which: args.which.as_deref(),
        unread: None,
    };
    mail::elsewhere(ctx, asked, Role::Trash, "trash")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{ReadOnly, ctx, files, mailbox, run, said, told, unprivileged};

    #[tokio::test]
    async fn deleted_mail_is_in_the_trash_and_can_come_back() {
        let home = tempfile::tempdir().unwrap();
        mailbox(home.path());
        let ctx = ctx(home.path());
        let before = files(&ctx.dirs.mail);
        let tool = crate::find("mail.delete").unwrap();
        assert!(tool.confirm);
        for (args, preview, say) in [
            (
                json!({"about": "invoice"}),
                "Move the mail from Bob Stone about Invoice 42, Friday 20 November at 10:00 to the trash.",
                "Moved the mail from Bob Stone about Invoice 42, Friday 20 November at 10:00 to the trash.",
            ),
            (
                json!({"from": "anna", "which": "both"}),
                "Move two mails to the trash, Anna Bell about Lunch, yesterday at 12:00; Anna Bell about Report, Thursday 19 November at 09:00.",
                "Moved two mails to the trash.",
            ),
        ] {
            assert_eq!(tool.preview(args.clone(), &ctx).unwrap(), preview);
            assert_eq!(files(&ctx.dirs.mail), before, "asking changes nothing");
            assert_eq!(said(run("mail.delete", args.clone(), &ctx).await), say);
            assert!(said(run("mail.search", args_of(&args), &ctx).await).starts_with("I found no mail"));
            ctx.step.journal().undo(None).unwrap();
            assert_eq!(files(&ctx.dirs.mail), before, "{args}");
        }
    }

    fn args_of(args: &serde_json::Value) -> serde_json::Value {
        match args.get("about") {
            Some(about) => json!({"words": about}),
            None => json!({"from": args["from"]}),
        }
    }

    #[tokio::test]
    async fn what_is_not_clear_is_asked() {
        let home = tempfile::tempdir().unwrap();
        mailbox(home.path());
        let ctx = ctx(home.path());
        let asked = run("mail.delete", json!({"from": "anna"}), &ctx).await;
        assert!(matches!(asked, Err(ToolError::TellOthers(_))), "{asked:?}");
        for (args, expect) in [
            (json!({}), "Which mail? Say who wrote it, or what it is about."),
            (
                json!({"about": "unicorns"}),
                "I found no mail about \"unicorns\".",
            ),
            (
                json!({"about": "invoice unicorns"}),
                "I found no mail about \"invoice unicorns\".",
            ),
            (
                json!({"from": "bob", "when": "purple"}),
                "I do not understand the time \"purple\".",
            ),
        ] {
            assert_eq!(
                told(run("mail.delete", args.clone(), &ctx).await),
                expect,
                "{args}"
            );
        }
    }

    #[test]
    fn a_mailbox_that_takes_no_writes_is_told() {
        let home = tempfile::tempdir().unwrap();
        mailbox(home.path());
        let mail = ctx(home.path()).dirs.mail;
        let before = files(&mail);
        let guard = ReadOnly::of(&mail);
        let result =
            unprivileged(async || run("mail.delete", json!({"from": "bob"}), &ctx(home.path())).await);
        drop(guard);
        let text = told(result);
        assert!(
            text.contains("no permission") && text.contains("then try again"),
            "{text}"
        );
        assert_eq!(files(&mail), before);
    }
}
