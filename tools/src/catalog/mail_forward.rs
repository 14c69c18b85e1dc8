//! `mail.forward`: a mail passed on.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::{
    contract::{Ctx, Effect, Output, TimeRole, Tool, ToolError},
    system::{
        known::Kind,
        mail::{self, Asked, Draft, Entry, Need},
        speech,
    },
};

/// Forwards mail.
pub struct This;

/// Which one and to whom.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Args {
    /// Names or addresses, as said
    to: Vec<String>,
    /// Who wrote the mail
    from: Option<String>,
    /// Words of its subject or text
    about: Option<String>,
    /// When it came, as said
    when: Option<String>,
    /// Which one: latest, this, second of the list
    which: Option<String>,
    /// What is said above it
    text: Option<String>,
}

impl Tool for This {
    type Args = Args;
    const NAME: &'static str = "mail.forward";
    const SUMMARY: &'static str = "Forward a mail that came, with its attachments, to somebody else";
    const EFFECT: Effect = Effect::Egress;
    const UNTRUSTED: bool = true;
    const TIMEOUT: std::time::Duration = std::time::Duration::from_secs(20);
    const WORDED: &'static [&'static str] = &["text"];
    const NAMED: &'static [(&'static str, Kind)] = &[("to", Kind::Contact)];
    const TIMES: &'static [(&'static str, TimeRole)] = &[("when", TimeRole::Find)];
    const EXAMPLES: &'static [&'static str] = &[
        "forward that email to Anna",
        "pass the invoice mail on to my accountant",
        "send Bob the mail I got from the bank",
        "forward the second one to peter at example dot org",
        "forward the message about the trip to mum and say have a look",
        "let Carl have the email with the contract",
        "forward the latest mail from my boss to Tom",
        "share that message with Anna by email",
    ];
    const CALLS: &'static [(&'static str, &'static str)] = &[
        (
            "pass the invoice mail on to my accountant",
            r#"{"to": ["accountant"], "about": "invoice"}"#,
        ),
        (
            "forward the latest mail from my boss to Tom and say have a look",
            r#"{"to": ["Tom"], "from": "boss", "which": "latest", "text": "have a look"}"#,
        ),
        (
            "forward the second one to peter at example dot org",
            r#"{"to": ["peter at example dot org"], "which": "second"}"#,
        ),
    ];
    const USE_WHEN: &'static str = "To pass on a mail that came; mail.reply answers its sender.";

    fn preview(args: &Args, ctx: &Ctx) -> Result<String, ToolError> {
        let (entry, draft) = resolve(args, ctx)?;
        let files = match draft.files() {
            0 => String::new(),
            n => format!(" with {}", speech::count(n, "attachment", "attachments")),
        };
        let above = match draft.text.as_str() {
            "" => ".".to_owned(),
            text => format!(": \"{text}\""),
        };
        Ok(format!(
            "Forward the mail from {}{files}, to {}{}{above}",
            mail::about(&entry, &ctx.now),
            draft.readers(),
            draft.by(ctx)
        ))
    }

    async fn run(args: Args, ctx: &Ctx) -> Result<Output, ToolError> {
        ctx.blocking("forward the mail", move |ctx| {
            let (_, draft) = resolve(&args, ctx)?;
            let ticket = mail::send(ctx, &draft)?;
            let data = json!({"to": ticket.to, "subject": draft.subject, "outbox": ticket.id});
            Ok(Output::new(draft.sent(ctx), data))
        })
        .await
    }
}

fn resolve(args: &Args, ctx: &Ctx) -> Result<(Entry, Draft), ToolError> {
    let to = mail::recipients(ctx, &args.to)?;
    if to.is_empty() {
        return Err(ToolError::tell(
            "To whom shall I forward it? Say a name or an address.",
        ));
    }
    let text = match args.text.as_deref().map(str::trim) {
        None | Some("") => String::new(),
        Some(text) => mail::words(text)?,
    };
    let asked = Asked {
        from: args.from.as_deref(),
        about: args.about.as_deref(),
        when: args.when.as_deref(),
        which: args.which.as_deref(),
        unread: None,
    };
    let (_, chosen) = mail::choose(ctx, asked, Need::Sender)?;
    let [entry] = &chosen[..] else {
        return Err(ToolError::tell("I forward one mail at a time. Which one?"));
    };
    let letter = entry.letter()?;
    let mut draft = mail::forward(ctx, entry, &letter, to, text)?;
    draft.from = draft.from.that_sends()?;
    Ok((entry.clone(), draft))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        system::mail::outbox::Outbox,
        testing::{account, cards, ctx, mailbox, run, said, told},
    };

    #[tokio::test]
    async fn a_mail_goes_on_with_its_files() {
        let home = tempfile::tempdir().unwrap();
        mailbox(home.path());
        let mut ctx = ctx(home.path());
        cards(&ctx);
        account(&mut ctx);
        let args = json!({"to": ["peter parker"], "about": "budget", "text": "have a look"});
        assert_eq!(
            crate::find("mail.forward")
                .unwrap()
                .preview(args.clone(), &ctx)
                .unwrap(),
            "Forward the mail from Anna Bell about Report, Thursday 19 November at 09:00 with one attachment, to Peter \
             Parker (peter@example.org): \"Have a look\""
        );
        assert_eq!(
            said(run("mail.forward", args, &ctx).await),
            "The mail to Peter Parker about Fwd: Report goes out in 10 seconds; say undo to take it back."
        );
        let outbox = Outbox::at(&ctx.dirs.state);
        let ticket = outbox.entries().unwrap().remove(0).ticket;
        let message = String::from_utf8(outbox.message(&ticket.id).unwrap()).unwrap();
        for part in [
            "Have a look",
            "The budget is fine.",
            "figures.pdf",
            "From: Anna Bell <anna@example.org>",
        ] {
            assert!(message.contains(part), "{part}: {message}");
        }
        ctx.step.journal().undo(None).unwrap();
        assert!(outbox.entries().unwrap().is_empty());
    }

    #[tokio::test]
    async fn what_is_not_clear_is_asked() {
        let home = tempfile::tempdir().unwrap();
        mailbox(home.path());
        let mut ctx = ctx(home.path());
        cards(&ctx);
        account(&mut ctx);
        for (args, expect) in [
            (
                json!({"to": ["anna"]}),
                "Which mail? Say who wrote it, or what it is about.",
            ),
            (
                json!({"to": ["peter"], "from": "bob"}),
                "Several contacts fit: Peter Pan and Peter Parker. Which one?",
            ),
            (
                json!({"to": [" "], "from": "bob"}),
                "To whom shall I forward it? Say a name or an address.",
            ),
            (
                json!({"to": ["anna"], "from": "zoe"}),
                "I found no mail from zoe.",
            ),
        ] {
            assert_eq!(
                told(run("mail.forward", args.clone(), &ctx).await),
                expect,
                "{args}"
            );
        }
        assert!(Outbox::at(&ctx.dirs.state).entries().unwrap().is_empty());
    }
}
