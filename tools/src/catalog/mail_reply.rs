//! `mail.reply`: an answer to a mail.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::{
    contract::{Ctx, Effect, Output, TimeRole, Tool, ToolError},
    system::mail::{self, Asked, Draft, Entry, Letter, Need},
};

/// Answers mail.
pub struct This;

/// Which one and what.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Args {
    /// What the answer says
    text: String,
    /// Who wrote the mail
    from: Option<String>,
    /// Words of its subject or text
    about: Option<String>,
    /// When it came, as said
    when: Option<String>,
    /// Which one: latest, this, second of the list
    which: Option<String>,
    /// To everybody who got it
    all: Option<bool>,
}

impl Tool for This {
    type Args = Args;
    const NAME: &'static str = "mail.reply";
    const SUMMARY: &'static str = "Reply to a mail that came, to its sender or to all";
    const EFFECT: Effect = Effect::Egress;
    const UNTRUSTED: bool = true;
    const TIMEOUT: std::time::Duration = std::time::Duration::from_secs(20);
    const WORDED: &'static [&'static str] = &["text"];
    const TIMES: &'static [(&'static str, TimeRole)] = &[("when", TimeRole::Find)];
    const EXAMPLES: &'static [&'static str] = &[
        "reply to Anna that I will be there",
        "answer that email with yes",
        "write back to Bob that the invoice is paid",
        "reply to all, thanks everybody",
        "respond to the last mail from my boss and say I agree",
        "tell her by email that noon is fine",
        "answer the second one, see you tomorrow",
        "reply to the mail about the trip, I am in",
    ];
    const CALLS: &'static [(&'static str, &'static str)] = &[
        (
            "write back to Bob that the invoice is paid",
            r#"{"text": "the invoice is paid", "from": "Bob"}"#,
        ),
        (
            "reply to all on the mail about the trip, I am in",
            r#"{"text": "I am in", "about": "trip", "all": true}"#,
        ),
    ];
    const USE_WHEN: &'static str = "To answer a mail that came; mail.send writes a new one.";

    fn preview(args: &Args, ctx: &Ctx) -> Result<String, ToolError> {
        let (entry, letter, draft) = resolve(args, ctx)?;
        let mut question = format!(
            "Reply to {}{}, to the mail from {}: \"{}\"",
            draft.readers(),
            draft.by(ctx),
            mail::about(&entry, &ctx.now),
            draft.text
        );
        let wrote = &letter.head.from.address;
        // Where answers shall go is chosen by whoever wrote the mail, and need not be them.
        if !letter.head.reply_to.is_empty() && !draft.to.iter().any(|p| p.address.eq_ignore_ascii_case(wrote))
        {
            question.push_str(&format!(
                " The answer goes to that address, not to {wrote}, who wrote."
            ));
        }
        Ok(question)
    }

    async fn run(args: Args, ctx: &Ctx) -> Result<Output, ToolError> {
        ctx.blocking("send the answer", move |ctx| {
            let (_, _, draft) = resolve(&args, ctx)?;
            let ticket = mail::send(ctx, &draft)?;
            let data = json!({"to": ticket.to, "subject": draft.subject, "outbox": ticket.id});
            Ok(Output::new(draft.sent(ctx), data))
        })
        .await
    }
}

fn resolve(args: &Args, ctx: &Ctx) -> Result<(Entry, Letter, Draft), ToolError> {
    let text = mail::words(&args.text)?;
    let asked = Asked {
        from: args.from.as_deref(),
        about: args.about.as_deref(),
        when: args.when.as_deref(),
        which: args.which.as_deref(),
        unread: None,
    };
    let (_, chosen) = mail::choose(ctx, asked, Need::Sender)?;
    let [entry] = &chosen[..] else {
        return Err(ToolError::tell("I answer one mail at a time. Which one?"));
    };
    let letter = entry.letter()?;
    let mut draft = mail::reply(ctx, entry, &letter, text, args.all == Some(true))?;
    draft.from = draft.from.that_sends()?;
    Ok((entry.clone(), letter, draft))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        system::mail::outbox::Outbox,
        testing::{account, ctx, deliver, mailbox, run, said, told},
    };

    #[tokio::test]
    async fn an_answer_names_who_gets_it_and_hangs_on_the_mail() {
        let home = tempfile::tempdir().unwrap();
        mailbox(home.path());
        let mut ctx = ctx(home.path());
        account(&mut ctx);
        let tool = crate::find("mail.reply").unwrap();
        let args = json!({"from": "anna", "text": "noon is fine"});
        assert_eq!(
            tool.preview(args.clone(), &ctx).unwrap(),
            "Reply to Anna Bell (anna@example.org), to the mail from Anna Bell about Lunch, yesterday at 12:00: \"Noon is fine\""
        );
        assert_eq!(
            said(run("mail.reply", args, &ctx).await),
            "The mail to Anna Bell about Re: Lunch? goes out in 10 seconds; say undo to take it back."
        );
        let outbox = Outbox::at(&ctx.dirs.state);
        let ticket = outbox.entries().unwrap().remove(0).ticket;
        let message = String::from_utf8(outbox.message(&ticket.id).unwrap()).unwrap();
        assert!(
            message.contains("Noon is fine\r\n\r\nOn Sunday") && message.contains("\r\n> Shall we"),
            "{message}"
        );
        ctx.step.journal().undo(None).unwrap();
        assert!(outbox.entries().unwrap().is_empty());
        let date = "Mon, 23 Nov 2026 05:00:00 +0000";
        deliver(
            home.path(),
            "new/9.x",
            "Bank <bank@bank.example>",
            "Hi\nReply-To: eve@evil.example",
            date,
            "x",
        );
        assert_eq!(
            tool.preview(json!({"from": "bank", "text": "ok"}), &ctx).unwrap(),
            "Reply to eve@evil.example, to the mail from Bank about Hi, today at 06:00: \"Ok\" The answer goes to that \
             address, not to bank@bank.example, who wrote."
        );
    }

    #[tokio::test]
    async fn what_is_not_clear_is_asked() {
        let home = tempfile::tempdir().unwrap();
        mailbox(home.path());
        let mut ctx = ctx(home.path());
        let reply = async |ctx: &Ctx, args| run("mail.reply", args, ctx).await;
        assert!(
            told(reply(&ctx, json!({"from": "anna", "text": "x"})).await)
                .starts_with("No mail account is set up")
        );
        account(&mut ctx);
        for (args, expect) in [
            (
                json!({"text": "x"}),
                "Which mail? Say who wrote it, or what it is about.",
            ),
            (json!({"from": "zoe", "text": "x"}), "I found no mail from zoe."),
            (json!({"from": "anna", "text": ""}), "What shall the mail say?"),
            (
                json!({"from": "anna", "which": "all", "text": "x"}),
                "I answer one mail at a time. Which one?",
            ),
        ] {
            assert_eq!(told(reply(&ctx, args.clone()).await), expect, "{args}");
        }
        let several = reply(&ctx, json!({"when": "last month to today", "text": "x"})).await;
        assert!(several.is_err());
        assert!(Outbox::at(&ctx.dirs.state).entries().unwrap().is_empty());
    }
}
