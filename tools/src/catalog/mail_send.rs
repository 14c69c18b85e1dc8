//! `mail.send`: a new mail.

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

/// Sends mail.
pub struct This;

/// To whom and what.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Args {
    /// Names or addresses, as said
    to: Vec<String>,
    /// What it says
    text: String,
    /// What it is about
    subject: Option<String>,
    /// Who gets a copy
    cc: Option<Vec<String>>,
    /// Which of the person's accounts, if said
    account: Option<String>,
}

impl Tool for This {
    type Args = Args;
    const NAME: &'static str = "mail.send";
    const SUMMARY: &'static str = "Send a new mail to contacts or addresses";
    const EFFECT: Effect = Effect::Egress;
    const WORDED: &'static [&'static str] = &["text"];
    const NAMED: &'static [(&'static str, Kind)] = &[("to", Kind::Contact), ("cc", Kind::Contact)];
    const EXAMPLES: &'static [&'static str] = &[
        "send an email to Anna saying I will be late",
        "email my boss that I am sick today",
        "write a mail to Peter and Tom about the meeting tomorrow",
        "mail anna at example dot org the words see you at noon",
        "send mum an email and ask how she is",
        "compose an email to Bob with the subject invoice and tell him it is paid",
        "shoot Carl an email that the parcel has arrived",
        "email the plumber from my work account, please come on friday",
    ];
    const CALLS: &'static [(&'static str, &'static str)] = &[
        (
            "send an email to Anna saying I will be late",
            r#"{"to": ["Anna"], "text": "I will be late"}"#,
        ),
        (
            "compose an email to Bob with the subject invoice and tell him it is paid",
            r#"{"to": ["Bob"], "text": "it is paid", "subject": "invoice"}"#,
        ),
        (
            "mail anna at example dot org the words see you at noon",
            r#"{"to": ["anna at example dot org"], "text": "see you at noon"}"#,
        ),
    ];
    const USE_WHEN: &'static str =
        "For a new mail; mail.reply answers one that came, mail.draft only saves it.";
    const LIMITS: &'static str = "Goes only to contacts and to addresses that were said; attaches no files.";

    fn preview(args: &Args, ctx: &Ctx) -> Result<String, ToolError> {
        let draft = resolve(args, ctx)?;
        Ok(format!(
            "Send a mail to {}{} {}: \"{}\"",
            draft.readers(),
            draft.by(ctx),
            draft.about(),
            draft.text
        ))
    }

    async fn run(args: Args, ctx: &Ctx) -> Result<Output, ToolError> {
        ctx.blocking("send the mail", move |ctx| {
            let draft = resolve(&args, ctx)?;
            let ticket = mail::send(ctx, &draft)?;
            let data = json!({"to": ticket.to, "subject": draft.subject, "outbox": ticket.id});
            Ok(Output::new(draft.sent(ctx), data))
        })
        .await
    }
}

fn resolve(args: &Args, ctx: &Ctx) -> Result<Draft, ToolError> {
    let from = mail::sender(ctx, args.account.as_deref())?.that_sends()?;
    let to = mail::recipients(ctx, &args.to)?;
    if to.is_empty() {
        return Err(ToolError::tell(
            "To whom shall I send it? Say a name or an address.",
        ));
    }
    let cc = mail::recipients(ctx, args.cc.as_deref().unwrap_or_default())?;
    let text = mail::words(&args.text)?;
    Ok(Draft::new(
        from,
        to,
        cc,
        args.subject.as_deref().unwrap_or_default(),
        text,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        system::mail::outbox::Outbox,
        testing::{account, cards, ctx, run, said, told},
    };

    #[tokio::test]
    async fn a_mail_is_read_back_then_waits_in_the_outbox_and_can_be_recalled() {
        let home = tempfile::tempdir().unwrap();
        let mut ctx = ctx(home.path());
        cards(&ctx);
        account(&mut ctx);
        let args = json!({"to": ["ana"], "subject": "lunch", "text": "shall we meet at noon?"});
        let tool = crate::find("mail.send").unwrap();
        assert!(tool.confirm);
        assert_eq!(
            tool.preview(args.clone(), &ctx).unwrap(),
            "Send a mail to Anna Bell (anna@example.org) about Lunch: \"Shall we meet at noon?\""
        );
        let outbox = Outbox::at(&ctx.dirs.state);
        assert!(outbox.entries().unwrap().is_empty(), "asking changes nothing");
        assert_eq!(
            said(run("mail.send", args, &ctx).await),
            "The mail to Anna Bell about Lunch goes out in 10 seconds; say undo to take it back."
        );
        let waiting = outbox.entries().unwrap();
        assert_eq!(waiting.len(), 1);
        let ticket = &waiting[0].ticket;
        assert_eq!(
            (ticket.from.as_str(), &ticket.to[..]),
            ("me@example.org", ["anna@example.org".to_owned()].as_slice())
        );
        let message = String::from_utf8(outbox.message(&ticket.id).unwrap()).unwrap();
        assert!(
            message.contains("Shall we meet at noon?") && message.contains("Subject: Lunch"),
            "{message}"
        );
        ctx.step.journal().undo(None).unwrap();
        assert!(outbox.entries().unwrap().is_empty());
    }

    #[tokio::test]
    async fn what_is_missing_is_asked_and_nothing_is_sent() {
        let home = tempfile::tempdir().unwrap();
        let mut ctx = ctx(home.path());
        cards(&ctx);
        let send = async |ctx: &Ctx, args| told(run("mail.send", args, ctx).await);
        let args = json!({"to": ["anna"], "text": "hi"});
        assert!(
            send(&ctx, args.clone())
                .await
                .starts_with("No mail account is set up")
        );
        account(&mut ctx);
        for (args, expect) in [
            (
                json!({"to": ["peter"], "text": "hi"}),
                "Several contacts fit: Peter Pan and Peter Parker.",
            ),
            (
                json!({"to": ["bartholomew"], "text": "hi"}),
                "Nobody in your contacts is called bartholomew.",
            ),
            (json!({"to": [], "text": "hi"}), "To whom shall I send it?"),
            (json!({"to": ["anna"], "text": " "}), "What shall the mail say?"),
            (
                json!({"to": ["anna"], "text": "hi", "account": "moon"}),
                "There is no mail account called \"moon\". There is home.",
            ),
            (
                json!({"to": ["anna"], "cc": ["zoe"], "text": "hi"}),
                "Zoe Quiet has no mail address",
            ),
            (json!({"text": "hi"}), "The arguments of mail.send do not fit"),
        ] {
            let text = send(&ctx, args.clone()).await;
            assert!(text.starts_with(expect), "{args}: {text}");
        }
        ctx.mail.accounts[0].sends = false;
        assert!(
            send(&ctx, args)
                .await
                .starts_with("The mail account home has no server for sending.")
        );
        assert!(Outbox::at(&ctx.dirs.state).entries().unwrap().is_empty());
    }
}
