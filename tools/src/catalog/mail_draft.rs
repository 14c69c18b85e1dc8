//! `mail.draft`: a mail that is saved and not sent.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::{
    contract::{Ctx, Effect, Output, Tool, ToolError},
    system::{
        known::Kind,
        mail::{self, Draft},
    },
};

/// Saves drafts.
pub struct This;

/// To whom and what.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Args {
    /// What it says
    text: String,
    /// Names or addresses, as said
    to: Option<Vec<String>>,
    /// What it is about
    subject: Option<String>,
    /// Which of the person's accounts, if said
    account: Option<String>,
}

impl Tool for This {
    type Args = Args;
    const NAME: &'static str = "mail.draft";
    const SUMMARY: &'static str = "Save a mail among the drafts without sending it";
    const EFFECT: Effect = Effect::Write;
    const WORDED: &'static [&'static str] = &["text"];
    const NAMED: &'static [(&'static str, Kind)] = &[("to", Kind::Contact)];
    const EXAMPLES: &'static [&'static str] = &[
        "draft an email to Anna about the trip",
        "write a mail to my boss but do not send it yet",
        "save a draft that says thank you for the flowers",
        "prepare an email to the landlord, the heating is broken",
        "start a draft to Peter with the subject budget",
        "put this into my drafts, dear all, the meeting moves to friday",
        "make a draft email for later",
        "compose a message to Bob and keep it as a draft",
    ];
    const CALLS: &'static [(&'static str, &'static str)] = &[
        (
            "draft an email to Anna saying that the trip is on",
            r#"{"text": "the trip is on", "to": ["Anna"]}"#,
        ),
        (
            "start a draft to Peter with the subject budget, here are the numbers",
            r#"{"text": "here are the numbers", "to": ["Peter"], "subject": "budget"}"#,
        ),
    ];
    const USE_WHEN: &'static str = "For a mail that shall wait in the drafts; mail.send sends it.";
    const LIMITS: &'static str = "Sends nothing: a mail program opens the draft.";

    fn preview(args: &Args, ctx: &Ctx) -> Result<String, ToolError> {
        let draft = resolve(args, ctx)?;
        Ok(format!(
            "Save a draft{} {}: \"{}\"",
            to(&draft),
            draft.about(),
            draft.text
        ))
    }

    async fn run(args: Args, ctx: &Ctx) -> Result<Output, ToolError> {
        ctx.blocking("save the draft", move |ctx| {
            let draft = resolve(&args, ctx)?;
            mail::draft(ctx, &draft)?;
            let say = format!(
                "I saved the draft{} {}. It was not sent.",
                to(&draft),
                draft.about()
            );
            let to: Vec<&str> = draft.to.iter().map(|person| person.address.as_str()).collect();
            Ok(Output::new(say, json!({"to": to, "subject": draft.subject})))
        })
        .await
    }
}

fn to(draft: &Draft) -> String {
    match draft.to.is_empty() {
        true => String::new(),
        false => format!(" to {}", draft.readers()),
    }
}

fn resolve(args: &Args, ctx: &Ctx) -> Result<Draft, ToolError> {
    let from = mail::sender(ctx, args.account.as_deref())?;
    let to = mail::recipients(ctx, args.to.as_deref().unwrap_or_default())?;
    let text = mail::words(&args.text)?;
    Ok(Draft::new(
        from,
        to,
        Vec::new(),
        args.subject.as_deref().unwrap_or_default(),
        text,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{ReadOnly, account, cards, ctx, files, mailbox, run, said, told, unprivileged};

    #[tokio::test]
    async fn a_draft_is_saved_and_can_be_undone() {
        let home = tempfile::tempdir().unwrap();
        mailbox(home.path());
        let mut ctx = ctx(home.path());
        cards(&ctx);
        let before = files(&ctx.dirs.mail);
        for (args, expect) in [
            (
                json!({"text": "thank you"}),
                "I saved the draft without a subject. It was not sent.",
            ),
            (
                json!({"text": "thank you", "to": ["ana", "bob@example.org"], "subject": "flowers"}),
                "I saved the draft to Anna Bell (anna@example.org) and bob@example.org about Flowers. It was not sent.",
            ),
        ] {
            let tool = crate::find("mail.draft").unwrap();
            assert!(
                tool.preview(args.clone(), &ctx)
                    .unwrap()
                    .ends_with("\"Thank you\"")
            );
            assert_eq!(said(run("mail.draft", args.clone(), &ctx).await), expect);
            let found = run("mail.search", json!({"folder": "drafts"}), &ctx)
                .await
                .unwrap();
            assert_eq!(found.data["found"], 1, "{args}");
            let recent = run("mail.recent", json!({}), &ctx).await.unwrap();
            assert_eq!(recent.data["found"], 3, "a draft is no mail that came");
            ctx.step.journal().undo(None).unwrap();
            assert_eq!(files(&ctx.dirs.mail), before, "{args}");
        }
        account(&mut ctx);
        said(run("mail.draft", json!({"text": "x"}), &ctx).await);
        let drafts = files(&ctx.dirs.mail.join(".Drafts"));
        let text = String::from_utf8_lossy(&drafts[0].1).into_owned();
        assert!(
            text.contains("From: \"Me\" <me@example.org>\n") || text.contains("<me@example.org>"),
            "{text}"
        );
        assert!(!text.contains('\r'));
    }

    #[tokio::test]
    async fn what_is_not_clear_is_asked() {
        let home = tempfile::tempdir().unwrap();
        let ctx = ctx(home.path());
        cards(&ctx);
        for (args, expect) in [
            (json!({"text": ""}), "What shall the mail say?"),
            (
                json!({"text": "x", "to": ["peter"]}),
                "Several contacts fit: Peter Pan and Peter Parker.",
            ),
            (
                json!({"text": "x", "account": "work"}),
                "No mail account is set up",
            ),
            (json!({}), "The arguments of mail.draft do not fit"),
        ] {
            let text = told(run("mail.draft", args.clone(), &ctx).await);
            assert!(text.starts_with(expect), "{args}: {text}");
        }
        assert!(!ctx.dirs.mail.join(".Drafts").exists());
    }

    #[test]
    fn a_mailbox_that_takes_no_writes_is_told() {
        let home = tempfile::tempdir().unwrap();
        mailbox(home.path());
        let guard = ReadOnly::of(&ctx(home.path()).dirs.mail);
        let result = unprivileged(async || run("mail.draft", json!({"text": "x"}), &ctx(home.path())).await);
        drop(guard);
        let text = told(result);
        assert!(
            text.contains("no permission") && text.contains("then try again"),
            "{text}"
        );
    }
}
