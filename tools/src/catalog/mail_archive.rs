//! `mail.archive`: mail moved out of the inbox.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::{
    contract::{Ctx, Effect, Output, TimeRole, Tool, ToolError},
    system::mail::{self, Asked, Entry, Role},
};

/// Archives mail.
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
    const NAME: &'static str = "mail.archive";
    const SUMMARY: &'static str = "Archive mail: move it out of the inbox and keep it";
    const EFFECT: Effect = Effect::Write;
    const UNTRUSTED: bool = true;
    const TIMEOUT: std::time::Duration = std::time::Duration::from_secs(30);
    const TIMES: &'static [(&'static str, TimeRole)] = &[("when", TimeRole::Find)];
    const EXAMPLES: &'static [&'static str] = &[
        "archive that email",
        "archive the mail from Anna about lunch",
        "put this message into the archive",
        "file the second one away",
        "archive all mails from the newsletter",
        "get the invoice email out of my inbox but keep it",
        "clear yesterday's mail out of the inbox",
        "move the mail from my boss to the archive",
    ];
    const CALLS: &'static [(&'static str, &'static str)] = &[
        (
            "archive the mail from Anna about lunch",
            r#"{"from": "Anna", "about": "lunch"}"#,
        ),
        ("file the second one away", r#"{"which": "second"}"#),
    ];
    const USE_WHEN: &'static str = "To keep mail outside the inbox; mail.delete throws it away.";

    fn preview(args: &Args, ctx: &Ctx) -> Result<String, ToolError> {
        Ok(format!(
            "Archive {}.",
            mail::called(&resolve(args, ctx)?.1, &ctx.now)
        ))
    }

    async fn run(args: Args, ctx: &Ctx) -> Result<Output, ToolError> {
        ctx.blocking("archive the mail", move |ctx| {
            let (index, chosen) = resolve(&args, ctx)?;
            let all = index.folders();
            for entry in &chosen {
                mail::move_to(&ctx.step, &all, entry, Role::Archive)?;
            }
            let say = format!("Archived {}.", mail::called(&chosen, &ctx.now));
            Ok(Output::new(say, json!({"archived": chosen.len()})))
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
    mail::elsewhere(ctx, asked, Role::Archive, "archive")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{ctx, files, mailbox, run, said, told};

    #[tokio::test]
    async fn archived_mail_leaves_the_inbox_and_comes_back() {
        let home = tempfile::tempdir().unwrap();
        mailbox(home.path());
        let ctx = ctx(home.path());
        let before = files(&ctx.dirs.mail);
        let say = said(run("mail.archive", json!({"from": "bob"}), &ctx).await);
        assert_eq!(
            say,
            "Archived the mail from Bob Stone about Invoice 42, Friday 20 November at 10:00."
        );
        assert!(ctx.dirs.mail.join(".Archive/cur/2.x:2,S").is_file());
        let found = run("mail.search", json!({"from": "bob", "folder": "archive"}), &ctx).await;
        assert_eq!(found.unwrap().data["found"], 1);
        assert_eq!(
            told(run("mail.archive", json!({"from": "bob"}), &ctx).await),
            "That is in the archive already."
        );
        let all = said(run("mail.archive", json!({"from": "anna", "which": "all"}), &ctx).await);
        assert_eq!(all, "Archived two mails.");
        ctx.step.journal().undo(None).unwrap();
        ctx.step.journal().undo(None).unwrap();
        assert_eq!(files(&ctx.dirs.mail), before);
    }

    #[tokio::test]
    async fn who_nobody_is_may_be_what_it_is_about() {
        let home = tempfile::tempdir().unwrap();
        mailbox(home.path());
        let ctx = ctx(home.path());
        let say = said(run("mail.archive", json!({"from": "Invoice", "about": "42"}), &ctx).await);
        assert_eq!(
            say,
            "Archived the mail from Bob Stone about Invoice 42, Friday 20 November at 10:00."
        );
        // Whoever has written is who is meant, and who has not is not guessed at.
        assert_eq!(
            told(run("mail.archive", json!({"from": "anna", "about": "invoice"}), &ctx).await),
            "I found no mail from anna about \"invoice\"."
        );
        assert_eq!(
            told(run("mail.archive", json!({"from": "Zoe"}), &ctx).await),
            "I found no mail from Zoe."
        );
    }

    #[tokio::test]
    async fn what_is_not_clear_is_asked() {
        let home = tempfile::tempdir().unwrap();
        mailbox(home.path());
        let ctx = ctx(home.path());
        let asked = run("mail.archive", json!({"from": "anna"}), &ctx).await;
        assert!(matches!(asked, Err(ToolError::TellOthers(_))), "{asked:?}");
        assert_eq!(
            told(run("mail.archive", json!({}), &ctx).await),
            "Which mail? Say who wrote it, or what it is about."
        );
    }
}
