//! `mail.mark_read`: mail marked as read or unread.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::{
    contract::{Ctx, Effect, Output, TimeRole, Tool, ToolError},
    system::mail::{self, Asked, Need},
};

/// Marks mail.
pub struct This;

/// Which ones and how.
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
    /// True to mark it as unread instead
    unread: Option<bool>,
}

impl Tool for This {
    type Args = Args;
    const NAME: &'static str = "mail.mark_read";
    const SUMMARY: &'static str = "Mark mail as read or as unread";
    const EFFECT: Effect = Effect::Write;
    const UNTRUSTED: bool = true;
    const TIMEOUT: std::time::Duration = std::time::Duration::from_secs(30);
    const TIMES: &'static [(&'static str, TimeRole)] = &[("when", TimeRole::Find)];
    const EXAMPLES: &'static [&'static str] = &[
        "mark that email as read",
        "mark all mails from the newsletter as read",
        "keep the message from Anna as unread",
        "set the second one to unread",
        "I have seen the email about the invoice, mark it read",
        "mark everything from yesterday as read",
        "flag this mail as not read",
        "mark them all as read",
    ];
    const CALLS: &'static [(&'static str, &'static str)] = &[
        (
            "I have seen the email about the invoice, mark it read",
            r#"{"about": "invoice"}"#,
        ),
        (
            "keep the message from Anna as unread",
            r#"{"from": "Anna", "unread": true}"#,
        ),
    ];

    fn preview(args: &Args, ctx: &Ctx) -> Result<String, ToolError> {
        let (_, chosen) = mail::choose(ctx, asked(args), Need::Clear)?;
        Ok(format!(
            "Mark {} as {}.",
            mail::called(&chosen, &ctx.now),
            how(args)
        ))
    }

    async fn run(args: Args, ctx: &Ctx) -> Result<Output, ToolError> {
        ctx.blocking("mark the mail", move |ctx| {
            let (_, chosen) = mail::choose(ctx, asked(&args), Need::Clear)?;
            let mut marked = Vec::new();
            for entry in chosen.iter() {
                if mail::mark(&ctx.step, entry, args.unread != Some(true))? {
                    marked.push(entry.clone());
                }
            }
            let say = match marked.is_empty() {
                true => format!(
                    "Marked as {} already: {}.",
                    how(&args),
                    mail::called(&chosen, &ctx.now)
                ),
                false => format!("Marked as {}: {}.", how(&args), mail::called(&marked, &ctx.now)),
            };
            Ok(Output::new(say, json!({"marked": marked.len()})))
        })
        .await
    }
}

fn asked(args: &Args) -> Asked<'_> {
    Asked {
        from: args.from.as_deref(),
        about: args.about.as_deref(),
        when: args.when.as_deref(),
        which: args.which.as_deref(),
        // Only what is not so already can be meant.
        unread: Some(args.unread != Some(true)),
    }
}

fn how(args: &Args) -> &'static str {
    if args.unread == Some(true) {
        "unread"
    } else {
        "read"
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{ctx, deliver, files, mailbox, run, said, told};

    #[tokio::test]
    async fn mail_is_marked_and_the_mark_can_be_undone() {
        let home = tempfile::tempdir().unwrap();
        mailbox(home.path());
        let ctx = ctx(home.path());
        let before = files(&ctx.dirs.mail);
        for (args, expect, unread) in [
            (
                json!({"about": "lunch"}),
                "Marked as read: the mail from Anna Bell about Lunch, yesterday at 12:00.",
                0,
            ),
            (
                json!({"from": "anna"}),
                "Marked as read: the mail from Anna Bell about Lunch, yesterday at 12:00.",
                0,
            ),
            (
                json!({"which": "everything"}),
                "Marked as read: the mail from Anna Bell about Lunch",
                0,
            ),
            (
                json!({"from": "bob", "unread": true}),
                "Marked as unread: the mail from Bob Stone about Invoice 42, Friday 20 November at 10:00.",
                2,
            ),
            (
                json!({"from": "anna", "which": "all", "unread": true}),
                "Marked as unread: the mail from Anna Bell about Report",
                2,
            ),
        ] {
            let say = said(run("mail.mark_read", args.clone(), &ctx).await);
            assert!(say.starts_with(expect), "{args}: {say}");
            let count = run("mail.unread_count", json!({}), &ctx).await.unwrap().data;
            assert_eq!(count["unread"], unread, "{args}");
            ctx.step.journal().undo(None).unwrap();
            assert_eq!(files(&ctx.dirs.mail), before, "{args}");
        }
    }

    #[tokio::test]
    async fn what_is_not_clear_is_asked() {
        let home = tempfile::tempdir().unwrap();
        mailbox(home.path());
        let date = "Wed, 18 Nov 2026 08:00:00 +0000";
        deliver(
            home.path(),
            "new/7.x",
            "Anna Bell <anna@example.org>",
            "Trip",
            date,
            "x",
        );
        let ctx = ctx(home.path());
        let asked = run("mail.mark_read", json!({"from": "anna"}), &ctx).await;
        assert!(
            matches!(&asked, Err(ToolError::TellOthers(text)) if text.starts_with("Which mail: Anna Bell about Lunch, yesterday at 12:00; or Anna Bell about Trip")),
            "{asked:?}"
        );
        for (args, expect) in [
            (json!({}), "Which mail? Say who wrote it, or what it is about."),
            (json!({"from": "zoe"}), "I found no unread mail from zoe."),
            (
                json!({"about": "lunch", "unread": true}),
                "I found no mail that is read about \"lunch\".",
            ),
        ] {
            assert_eq!(
                told(run("mail.mark_read", args.clone(), &ctx).await),
                expect,
                "{args}"
            );
        }
    }
}
