//! `mail.unread_count`: how many mails wait to be read.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::{
    contract::{Ctx, Effect, Output, Tool, ToolError},
    system::{
        mail::{self, Depth, Index, Query},
        plain, speech,
    },
};

/// Senders that are named.
const MAX_SPOKEN: usize = 3;
/// Newest unread mails of which the senders are counted.
const MAX_COUNTED: usize = 500;

/// Counts unread mail.
pub struct This;

/// Of whom and where.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Args {
    /// Only from this person or address
    from: Option<String>,
    /// Folder or account; the inbox unless said
    folder: Option<String>,
}

impl Tool for This {
    type Args = Args;
    const NAME: &'static str = "mail.unread_count";
    const SUMMARY: &'static str = "Count unread mail: how many, and who most of it is from";
    const EFFECT: Effect = Effect::Read;
    const UNTRUSTED: bool = true;
    const TIMEOUT: std::time::Duration = std::time::Duration::from_secs(20);
    const EXAMPLES: &'static [&'static str] = &[
        "how many unread emails do I have",
        "how much new mail is there",
        "count my unread messages",
        "how many mails from Anna have I not read",
        "what's my unread count",
        "number of unread emails in the work account",
        "how full is my inbox with unread mail",
        "are there many emails waiting for me",
    ];
    const CALLS: &'static [(&'static str, &'static str)] = &[
        ("how many mails from Anna have I not read", r#"{"from": "Anna"}"#),
        ("how much new mail is there", "{}"),
    ];
    const PATTERNS: &'static [&'static str] = &["how many unread (mails|emails) do i have"];
    const USE_WHEN: &'static str = "For the number alone; mail.recent lists them.";

    async fn run(args: Args, ctx: &Ctx) -> Result<Output, ToolError> {
        ctx.blocking("count your mail", move |ctx| count(&args, ctx))
            .await
    }
}

fn count(args: &Args, ctx: &Ctx) -> Result<Output, ToolError> {
    let said = |text: &Option<String>| {
        text.as_deref()
            .map(|t| plain::one_line(t, 60))
            .filter(|t| !t.is_empty())
    };
    let (from, folder) = (said(&args.from), said(&args.folder));
    let mut query = Query {
        from: from.as_deref().map(|from| mail::who(ctx, from)),
        unread: Some(true),
        inbox: true,
        ..Query::default()
    };
    if let Some(folder) = &folder {
        let all = mail::folders(&ctx.dirs.mail)?;
        let named = mail::named(&all, folder)?;
        query.folders = Some(named.into_iter().map(|folder| folder.path.clone()).collect());
    }
    let index = Index::open(&ctx.dirs, Depth::Headers, mail::PATIENCE)?;
    let found = index.find(&query, MAX_COUNTED)?;
    mail::show(&index, &found.entries, &ctx.now);
    let mut senders: Vec<(String, usize)> = Vec::new();
    for entry in &found.entries {
        match senders.iter_mut().find(|(name, _)| name == entry.from.shown()) {
            Some((_, count)) => *count += 1,
            None => senders.push((entry.from.shown().to_owned(), 1)),
        }
    }
    senders.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let mut about = String::new();
    for (before, text) in [(" from ", &from), (" in ", &folder)] {
        if let Some(text) = text {
            about.push_str(before);
            about.push_str(text);
        }
    }
    let names: Vec<String> = senders
        .iter()
        .take(MAX_SPOKEN)
        .map(|(name, count)| match found.count {
            1 => name.clone(),
            _ => format!("{} from {name}", speech::count(*count, "", "").trim_end()),
        })
        .collect();
    let more = if senders.len() > MAX_SPOKEN {
        " and others"
    } else {
        ""
    };
    let last = if more.is_empty() { "and" } else { "then" };
    let by = match (&from, found.count) {
        (Some(_), _) | (_, 0) => String::new(),
        (None, 1) => format!(", from {}", plain::listed(&names, last)),
        (None, _) => format!(": {}{more}", plain::listed(&names, last)),
    };
    let mut say = match found.count {
        0 => format!("You have no unread mail{about}."),
        n => format!(
            "You have {}{about}{by}.",
            speech::count(n, "unread mail", "unread mails")
        ),
    };
    if index.left > 0 {
        say.push_str(" I have not looked at all of your mail yet.");
    }
    let senders: Vec<_> = senders
        .iter()
        .take(10)
        .map(|(name, count)| json!({"from": name, "unread": count}))
        .collect();
    Ok(Output::new(
        say,
        json!({"unread": found.count, "senders": senders}),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{ctx, deliver, mailbox, run, said, told};

    #[tokio::test]
    async fn unread_mail_is_counted() {
        let home = tempfile::tempdir().unwrap();
        let ctx = ctx(home.path());
        assert!(told(run("mail.unread_count", json!({}), &ctx).await).contains("no mailbox"));
        mailbox(home.path());
        let date = "Mon, 23 Nov 2026 05:00:00 +0000";
        deliver(
            home.path(),
            "new/8.x",
            "Bob Stone <bob@acme.example>",
            "a",
            date,
            "",
        );
        deliver(
            home.path(),
            "new/9.x",
            "Bob Stone <bob@acme.example>",
            "b",
            date,
            "",
        );
        for (args, expect) in [
            (
                json!({}),
                "You have three unread mails: two from Bob Stone and one from Anna Bell.",
            ),
            (json!({"from": "anna"}), "You have one unread mail from anna."),
            (json!({"from": "carl"}), "You have no unread mail from carl."),
            (
                json!({"folder": "the trash"}),
                "You have no unread mail in the trash.",
            ),
        ] {
            assert_eq!(
                said(run("mail.unread_count", args.clone(), &ctx).await),
                expect,
                "{args}"
            );
        }
        assert!(
            told(run("mail.unread_count", json!({"folder": "purple"}), &ctx).await)
                .contains("no mail folder")
        );
    }
}
