//! `mail.recent`: the newest mail.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::{
    contract::{Ctx, Effect, LoadPolicy, Output, Tool, ToolError},
    system::{
        mail::{self, Depth, Entry, Found, Index, Query},
        plain,
    },
};

const DEFAULT_COUNT: u32 = 5;
const MAX_COUNT: u32 = 20;
/// More are not listened to.
const MAX_SPOKEN: usize = 3;

/// Lists mail.
pub struct This;

/// Which and how many.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Args {
    from: Option<String>,
    unread: Option<bool>,
    /// 5 unless said
    #[schemars(range(min = 1))]
    count: Option<u32>,
}

impl Tool for This {
    type Args = Args;
    const NAME: &'static str = "mail.recent";
    const SUMMARY: &'static str = "List the newest or unread mail";
    const EFFECT: Effect = Effect::Read;
    const LOAD: LoadPolicy = LoadPolicy::Core;
    const UNTRUSTED: bool = true;
    const EXAMPLES: &'static [&'static str] = &[
        "do I have new mail",
        "check my email",
        "show my last ten emails",
        "is there any mail that I have not read",
        "did Anna write to me",
        "any messages from work in my inbox",
        "what's new in my inbox",
        "who has emailed me",
        "list my unread emails",
    ];
    const CALLS: &'static [(&'static str, &'static str)] = &[
        ("show my last ten emails", r#"{"count": 10}"#),
        ("did Anna write to me", r#"{"from": "Anna"}"#),
        ("what's new in my inbox", r#"{"unread": true}"#),
    ];
    const PATTERNS: &'static [&'static str] = &[
        "do i have [any] new (mail|mails|email|emails)",
        "check my (mail|mails|email|emails|inbox)",
        "any new (mail|mails|email|emails)",
        "show [me] my (latest|recent|newest) (mails|emails)",
        "show [me] my unread emails -> unread=true",
        "show [me] my (last|latest) {count:1-50} (mails|emails)",
    ];
    const USE_WHEN: &'static str =
        "For what is new; mail.search is for words and days, mail.read for what a mail says.";
    const LIMITS: &'static str = "Shows senders and subjects of the inbox, not what the mail says.";

    async fn run(args: Args, ctx: &Ctx) -> Result<Output, ToolError> {
        ctx.blocking("read your mail", move |ctx| {
            let from = args
                .from
                .map(|from| plain::one_line(&from, 60))
                .filter(|from| !from.is_empty());
            let index = Index::open(&ctx.dirs, Depth::Headers, mail::PATIENCE)?;
            let query = Query {
                from: from.as_deref().map(|from| mail::who(ctx, from)),
                unread: args.unread.filter(|unread| *unread),
                inbox: true,
                ..Query::default()
            };
            let count = args.count.unwrap_or(DEFAULT_COUNT).clamp(1, MAX_COUNT) as usize;
            let found = index.find(&query, count)?;
            mail::show(&index, &found.entries, &ctx.now);
            let mut say = say(&found, args.unread == Some(true), from.as_deref());
            if index.left > 0 {
                say.push_str(" I have not looked at all of your mail yet.");
            }
            let zone = ctx.now.time_zone();
            let mails: Vec<_> = found
                .entries
                .iter()
                .map(|entry| {
                    json!({
                        "from": entry.from.shown(),
                        "subject": entry.subject,
                        "date": entry.date.to_zoned(zone.clone()).strftime("%Y-%m-%d %H:%M").to_string(),
                        "unread": entry.unread,
                    })
                })
                .collect();
            let data = json!({"found": found.count, "unread": found.unread, "mails": mails});
            Ok(Output::new(say, data))
        })
        .await
    }
}

fn say(found: &Found, only_unread: bool, from: Option<&str>) -> String {
    let by = from.map(|from| format!(" from {from}")).unwrap_or_default();
    let Some(first) = found.entries.first() else {
        return match only_unread {
            true => format!("You have no unread mail{by}."),
            false => format!("You have no mail{by}."),
        };
    };
    let count = match found.unread {
        0 if found.count == 1 => format!("You have one mail{by}, already read."),
        0 => format!("You have no unread mail{by}."),
        1 => format!("You have one unread mail{by}."),
        n => format!("You have {n} unread mails{by}."),
    };
    let about = |entry: &Entry| match entry.subject.as_str() {
        "" => format!("{} without a subject", entry.from.shown()),
        subject => format!(
            "{} about {}",
            entry.from.shown(),
            subject.trim_end_matches(['.', '!', '?'])
        ),
    };
    match found.entries.len() {
        1 => format!("{count} It is {}.", about(first)),
        _ => {
            let named: Vec<String> = found.entries.iter().take(MAX_SPOKEN).map(about).collect();
            format!("{count} The newest: {}.", named.join(", "))
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{fs, path::Path, time::Instant};

    use super::*;
    use crate::testing::{ctx, run, said, told};

    fn deliver(root: &Path, name: &str, from: &str, subject: &str, date: &str) {
        let path = root.join("mail").join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(
            path,
            format!("From: {from}\nSubject: {subject}\nDate: {date}\n\nbody\n"),
        )
        .unwrap();
    }

    fn inbox(root: &Path) {
        deliver(
            root,
            "new/3.x",
            "Anna Bell <anna@example.org>",
            "Lunch?",
            "Mon, 1 Jun 2026 12:00:00 +0000",
        );
        deliver(
            root,
            "cur/2.x:2,S",
            "Bob <bob@acme.example>",
            "Invoice",
            "Mon, 1 Jun 2026 11:00:00 +0000",
        );
        deliver(
            root,
            "cur/1.x:2,",
            "carl@example.org",
            "",
            "Mon, 1 Jun 2026 10:00:00 +0000",
        );
    }

    #[tokio::test]
    async fn the_newest_come_first() {
        let home = tempfile::tempdir().unwrap();
        inbox(home.path());
        let ctx = ctx(home.path());
        for (args, expect) in [
            (
                json!({}),
                "You have 2 unread mails. The newest: Anna Bell about Lunch, Bob about Invoice, \
                 carl@example.org without a subject.",
            ),
            (
                json!({"count": 1}),
                "You have 2 unread mails. It is Anna Bell about Lunch.",
            ),
            (
                json!({"from": "ana bell"}),
                "You have one unread mail from ana bell. It is Anna Bell about Lunch.",
            ),
            (
                json!({"from": "acme"}),
                "You have one mail from acme, already read. It is Bob about Invoice.",
            ),
            (
                json!({"from": "bob@acme.example", "unread": true}),
                "You have no unread mail from bob@acme.example.",
            ),
            (json!({"from": "zoe"}), "You have no mail from zoe."),
        ] {
            assert_eq!(
                said(run("mail.recent", args.clone(), &ctx).await),
                expect,
                "{args}"
            );
        }
        let data = run("mail.recent", json!({"count": 100}), &ctx)
            .await
            .unwrap()
            .data;
        assert_eq!(data["mails"].as_array().unwrap().len(), 3);
        assert_eq!(data["mails"][0]["date"], "2026-06-01 14:00", "in the local zone");
    }

    #[tokio::test]
    async fn empty_missing_and_bad_are_answered() {
        let home = tempfile::tempdir().unwrap();
        let ctx = ctx(home.path());
        assert!(told(run("mail.recent", json!({}), &ctx).await).contains("no mailbox"));
        fs::create_dir_all(home.path().join("mail/new")).unwrap();
        assert_eq!(
            said(run("mail.recent", json!({}), &ctx).await),
            "You have no mail."
        );
        assert_eq!(
            said(run("mail.recent", json!({"unread": true}), &ctx).await),
            "You have no unread mail."
        );
        assert!(told(run("mail.recent", json!({"count": -1}), &ctx).await).contains("do not fit"));
    }

    #[tokio::test]
    async fn hostile_mail_cannot_break_the_line() {
        let home = tempfile::tempdir().unwrap();
        deliver(
            home.path(),
            "new/1",
            "\"Bank\u{202e}\u{1b}[2J\" <x@y>",
            &"spam ".repeat(5000),
            "never",
        );
        let say = said(run("mail.recent", json!({}), &ctx(home.path())).await);
        assert!(
            say.chars().count() < 250 && !say.contains(['\u{202e}', '\u{1b}', '\n']),
            "{say}"
        );
    }

    #[tokio::test]
    async fn ten_thousand_messages_stay_fast() {
        let home = tempfile::tempdir().unwrap();
        fs::create_dir_all(home.path().join("mail/cur")).unwrap();
        let body = "x".repeat(2000);
        for i in 0..10_000 {
            let text = format!(
                "From: a{i}@example.org\nSubject: {i}\nDate: Mon, 1 Jun 2026 12:00:00 +0000\n\n{body}"
            );
            fs::write(home.path().join(format!("mail/cur/{i}.x:2,S")), text).unwrap();
        }
        let start = Instant::now();
        let data = run("mail.recent", json!({}), &ctx(home.path()))
            .await
            .unwrap()
            .data;
        println!("10,000 messages: {:?}", start.elapsed());
        assert_eq!(data["found"], 10_000);
        assert!(start.elapsed().as_secs() < 8, "{:?}", start.elapsed());
    }
}
