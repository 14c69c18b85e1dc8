//! `mail.search`: mail found by people, words and days.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{
    contract::{Ctx, Effect, Output, TimeRole, Tool, ToolError},
    system::{
        mail::{self, Depth, Entry, Folder, Index, Query, Role},
        plain, speech,
    },
};

/// Found mails that the model sees.
const MAX_SHOWN: usize = 10;
/// More are not listened to.
const MAX_SPOKEN: usize = 3;

/// Searches mail.
pub struct This;

/// What for.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Args {
    /// Words of subject, text or attachments
    words: Option<String>,
    /// Who wrote it
    from: Option<String>,
    /// Who got it
    to: Option<String>,
    /// When it came, as said
    when: Option<String>,
    /// Only unread
    unread: Option<bool>,
    /// Only with attachments
    attachments: Option<bool>,
    /// Folder or account, if said
    folder: Option<String>,
}

impl Tool for This {
    type Args = Args;
    const NAME: &'static str = "mail.search";
    const SUMMARY: &'static str = "Search all mail by words, sender, recipient, day, attachment or folder";
    const EFFECT: Effect = Effect::Read;
    const UNTRUSTED: bool = true;
    const TIMEOUT: std::time::Duration = std::time::Duration::from_secs(20);
    const TIMES: &'static [(&'static str, TimeRole)] = &[("when", TimeRole::Find)];
    const EXAMPLES: &'static [&'static str] = &[
        "find the email about the invoice",
        "search my mail for the flight to lisbon",
        "did anyone write about the lease last week",
        "what did I send to Peter in march",
        "show me emails from my boss since monday",
        "which mails from Anna have an attachment",
        "look for unread messages in the projects folder",
        "find the mail with the contract as a pdf",
        "any email mentioning the dentist bill yesterday",
    ];
    const CALLS: &'static [(&'static str, &'static str)] = &[
        (
            "find the email about the invoice from Bob",
            r#"{"words": "invoice", "from": "Bob"}"#,
        ),
        (
            "what did I send to Peter in march",
            r#"{"to": "Peter", "when": "march"}"#,
        ),
    ];
    const USE_WHEN: &'static str =
        "To find mail by what it says, when it came or where it is; mail.recent shows what is new.";
    const LIMITS: &'static str = "Lists what it found; mail.read reads one out.";

    async fn run(args: Args, ctx: &Ctx) -> Result<Output, ToolError> {
        ctx.blocking("search your mail", move |ctx| search(&args, ctx))
            .await
    }
}

fn search(args: &Args, ctx: &Ctx) -> Result<Output, ToolError> {
    let said = |text: &Option<String>| {
        text.as_deref()
            .map(|t| plain::one_line(t, 100))
            .filter(|t| !t.is_empty())
    };
    let (words, mut from, to, when, mut folder) = (
        said(&args.words),
        said(&args.from),
        said(&args.to),
        said(&args.when),
        said(&args.folder),
    );
    let any = [&words, &from, &to, &when, &folder]
        .into_iter()
        .any(Option::is_some);
    if !any && args.unread.is_none() && args.attachments.is_none() {
        return Err(ToolError::tell(
            "What shall I look for? Say a word, a person or a day.",
        ));
    }
    // "Everything Garden Weekly ever sent me": no folder is called so, but somebody who wrote is.
    let unknown = match &folder {
        Some(folder) if from.is_none() && mail::named(&mail::folders(&ctx.dirs.mail)?, folder).is_err() => {
            mail::has_written(ctx, folder)?
        }
        _ => false,
    };
    if unknown {
        from = folder.take();
    }
    let mut query = Query {
        words: words.clone().unwrap_or_default(),
        from: from.as_deref().map(|from| mail::who(ctx, from)),
        to: to.as_deref().map(|to| mail::who(ctx, to)),
        unread: args.unread.filter(|unread| *unread),
        attachments: args.attachments.filter(|attachments| *attachments),
        ..Query::default()
    };
    if let Some(when) = &when {
        (query.since, query.before) = mail::span(when, &ctx.now)?;
    }
    if let Some(folder) = &folder {
        let all = mail::folders(&ctx.dirs.mail)?;
        let named = mail::named(&all, folder)?;
        query.folders = Some(
            named
                .into_iter()
                .map(|folder: &Folder| folder.path.clone())
                .collect(),
        );
    }
    let depth = match words.is_some() || args.attachments == Some(true) {
        true => Depth::Text,
        false => Depth::Headers,
    };
    let index = Index::open(&ctx.dirs, depth, mail::PATIENCE)?;
    let found = index.find(&query, MAX_SHOWN)?;
    mail::show(&index, &found.entries, &ctx.now);
    let mut about = String::new();
    for (before, text) in [
        (" from ", &from),
        (" to ", &to),
        (" about ", &words),
        (" of ", &when),
        (" in ", &folder),
    ] {
        if let Some(text) = text {
            about.push_str(before);
            about.push_str(text);
        }
    }
    let kind = match (query.unread.is_some(), query.attachments.is_some()) {
        (true, true) => ("unread mail with attachments", "unread mails with attachments"),
        (true, false) => ("unread mail", "unread mails"),
        (false, true) => ("mail with attachments", "mails with attachments"),
        (false, false) => ("mail", "mails"),
    };
    let listed: Vec<String> = found
        .entries
        .iter()
        .take(MAX_SPOKEN)
        .map(|e| named(e, ctx))
        .collect();
    let first = match found.count {
        n if n > MAX_SPOKEN => "The newest: ",
        _ => "",
    };
    let mut say = match (found.count, found.loose) {
        (0, _) => format!("I found no {}{about}.", kind.0),
        (_, true) => format!("Nothing has all of that. The closest: {}.", listed.join("; ")),
        (n, false) => format!(
            "I found {}{about}. {first}{}.",
            speech::count(n, kind.0, kind.1),
            listed.join("; ")
        ),
    };
    if index.left > 0 {
        say.push_str(&format!(
            " I have not read all of your mail yet, {} are left; ask again in a moment.",
            index.left
        ));
    }
    let mails: Vec<Value> = found.entries.iter().map(|entry| data(entry, ctx)).collect();
    Ok(Output::new(
        say,
        json!({"found": found.count, "loose": found.loose, "mails": mails}),
    ))
}

/// What the person wrote themselves is told by its folder, not by their name.
fn named(entry: &Entry, ctx: &Ctx) -> String {
    match entry.folder.role {
        Role::Sent => format!("one that you sent, {}", mail::about(entry, &ctx.now)),
        _ => mail::about(entry, &ctx.now),
    }
}

fn data(entry: &Entry, ctx: &Ctx) -> Value {
    json!({
        "from": entry.from.shown(),
        "subject": entry.subject,
        "date": entry.date.to_zoned(ctx.now.time_zone().clone()).strftime("%Y-%m-%d %H:%M").to_string(),
        "unread": entry.unread,
        "attachments": entry.attachments,
        "folder": entry.folder.name,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{ctx, deliver, mailbox, run, said, told};

    #[tokio::test]
    async fn mail_is_found_by_words_people_days_and_places() {
        let home = tempfile::tempdir().unwrap();
        mailbox(home.path());
        let ctx = ctx(home.path());
        for (args, expect) in [
            (
                json!({"words": "invoice"}),
                "I found one mail about invoice. Bob Stone about Invoice 42, Friday 20 November at 10:00.",
            ),
            (
                json!({"words": "the mail about invoyce"}),
                "I found one mail about the mail about invoyce. Bob Stone about Invoice 42, Friday 20 November at 10:00.",
            ),
            (json!({"from": "Ana"}), "I found two mails from Ana. "),
            (
                json!({"from": "anna", "when": "yesterday"}),
                "I found one mail from anna of yesterday. Anna Bell about Lunch",
            ),
            (
                json!({"from": "anna", "words": "budget"}),
                "I found one mail from anna about budget. Anna Bell about Report",
            ),
            (
                json!({"attachments": true}),
                "I found one mail with attachments. Anna Bell about Report",
            ),
            (
                json!({"words": "figures pdf"}),
                "I found one mail about figures pdf. Anna Bell about Report",
            ),
            (
                json!({"to": "carl"}),
                "I found one mail to carl. one that you sent, me about Plans",
            ),
            (
                json!({"folder": "trash"}),
                "I found one mail in trash. Spammer about Buy",
            ),
            // No folder is called so, but somebody who wrote is.
            (
                json!({"folder": "Bob Stone"}),
                "I found one mail from Bob Stone. ",
            ),
            (json!({"words": "buy"}), "I found no mail about buy."),
            (
                json!({"unread": true, "when": "last month"}),
                "I found no unread mail of last month.",
            ),
            (
                json!({"words": "invoice unicorn"}),
                "Nothing has all of that. The closest: Bob Stone about Invoice 42",
            ),
            (json!({"from": "zoe"}), "I found no mail from zoe."),
        ] {
            let say = said(run("mail.search", args.clone(), &ctx).await);
            assert!(say.starts_with(expect), "{args}: {say}");
        }
        for (args, expect) in [
            (json!({}), "What shall I look for?"),
            (json!({"words": " "}), "What shall I look for?"),
            (json!({"when": "purple"}), "I do not understand the time"),
            (
                json!({"folder": "purple"}),
                "There is no mail folder called \"purple\"",
            ),
        ] {
            let text = told(run("mail.search", args.clone(), &ctx).await);
            assert!(text.starts_with(expect), "{args}: {text}");
        }
    }

    #[tokio::test]
    async fn what_another_program_does_is_seen_at_once() {
        let home = tempfile::tempdir().unwrap();
        mailbox(home.path());
        let ctx = ctx(home.path());
        let found = async || {
            run("mail.search", json!({"words": "walrus"}), &ctx)
                .await
                .unwrap()
                .data
        };
        assert_eq!(found().await["found"], 0);
        deliver(
            home.path(),
            "new/900.x",
            "Eve <eve@example.org>",
            "Zoo",
            "Mon, 23 Nov 2026 08:00:00 +0000",
            "A walrus.",
        );
        assert_eq!(found().await["mails"][0]["unread"], true);
        let (new, cur) = (
            home.path().join("mail/new/900.x"),
            home.path().join("mail/cur/900.x:2,S"),
        );
        std::fs::rename(new, &cur).unwrap();
        assert_eq!(found().await["mails"][0]["unread"], false);
        std::fs::remove_file(cur).unwrap();
        assert_eq!(found().await["found"], 0);
    }

    #[tokio::test]
    async fn without_a_mailbox_it_says_so() {
        let home = tempfile::tempdir().unwrap();
        let text = told(run("mail.search", json!({"words": "x"}), &ctx(home.path())).await);
        assert!(text.contains("no mailbox"), "{text}");
    }
}
