//! `mail.read`: what a mail says.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::{
    contract::{Ctx, Effect, Output, TimeRole, Tool, ToolError},
    system::{
        mail::{self, Asked, Attachment, Entry, Need},
        plain, speech,
    },
};

/// Characters of one part: what is listened to in a minute.
const PART: usize = 700;
/// Attachments that are named.
const MAX_SPOKEN: usize = 3;
const MAX_SHOWN: usize = 20;

/// Reads one mail.
pub struct This;

/// Which one.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Args {
    /// Who wrote it
    from: Option<String>,
    /// Words of its subject or text
    about: Option<String>,
    /// When it came, as said
    when: Option<String>,
    /// Which one: latest, this, next, second of the list
    which: Option<String>,
    /// Part of a long mail, from 1
    #[schemars(range(min = 1, max = 500))]
    part: Option<u32>,
}

impl Tool for This {
    type Args = Args;
    const NAME: &'static str = "mail.read";
    const SUMMARY: &'static str = "Read a mail aloud: what it says and what is attached";
    const EFFECT: Effect = Effect::Read;
    const UNTRUSTED: bool = true;
    const TIMEOUT: std::time::Duration = std::time::Duration::from_secs(20);
    const TIMES: &'static [(&'static str, TimeRole)] = &[("when", TimeRole::Find)];
    const EXAMPLES: &'static [&'static str] = &[
        "read me the latest email from Anna",
        "what does the mail about the invoice say",
        "read the second one",
        "open that email",
        "next mail please",
        "go on reading the email",
        "what did my boss write yesterday",
        "read my newest message out loud",
        "what is in the email from the bank",
    ];
    const CALLS: &'static [(&'static str, &'static str)] = &[
        (
            "what does the mail from Anna about the invoice say",
            r#"{"from": "Anna", "about": "invoice"}"#,
        ),
        ("read the second one", r#"{"which": "second"}"#),
    ];
    const USE_WHEN: &'static str = "For the text of one mail; mail.recent and mail.search list several.";
    const LIMITS: &'static str =
        "Leaves it unread or read as it is; long ones come in parts; opens no attachment.";

    async fn run(args: Args, ctx: &Ctx) -> Result<Output, ToolError> {
        ctx.blocking("read the mail", move |ctx| read(&args, ctx)).await
    }
}

fn read(args: &Args, ctx: &Ctx) -> Result<Output, ToolError> {
    let asked = Asked {
        from: args.from.as_deref(),
        about: args.about.as_deref(),
        when: args.when.as_deref(),
        which: args.which.as_deref(),
        unread: None,
    };
    let (index, chosen) = mail::choose(ctx, asked, Need::Newest)?;
    let Some(entry) = chosen.first() else {
        return Err(ToolError::tell("You have no mail."));
    };
    mail::focus(&index, entry, &ctx.now);
    let letter = entry.letter()?;
    let folded = mail::fold(&letter.text);
    let aloud = mail::aloud(&folded.text);
    let number = args.part.unwrap_or(1) as usize;
    let (part, parts) = mail::part(&aloud, number, PART);
    if number > parts {
        return Err(ToolError::tell(format!(
            "That mail has only {}.",
            speech::count(parts, "part", "parts")
        )));
    }
    let others = index.conversation(entry)?.len().saturating_sub(1);
    let mut say = Vec::new();
    if number == 1 {
        say.push(format!("{}.", mail::about(entry, &ctx.now)));
    }
    say.push(match part {
        "" if letter.encrypted => "It is encrypted, so I cannot read it.".to_owned(),
        "" if letter.attachments.is_empty() => "It has no text.".to_owned(),
        "" => "It has no text of its own.".to_owned(),
        text => text.to_owned(),
    });
    if number < parts {
        say.push(format!(
            "That was part {number} of {parts}; say go on for the next."
        ));
    } else if let Some(attached) = attached(&letter.attachments) {
        say.push(attached);
    }
    if number == 1 && others > 0 {
        let mails = speech::count(others, "other mail", "other mails");
        say.push(format!(
            "There {} {mails} in this conversation.",
            if others == 1 { "is" } else { "are" }
        ));
    }
    let files = letter.attachments.iter().take(MAX_SHOWN);
    let files: Vec<_> = files
        .map(|file| json!({"name": file.name, "type": file.kind, "bytes": file.size}))
        .collect();
    let people = |people: &[mail::Person]| -> Vec<String> {
        people
            .iter()
            .take(MAX_SHOWN)
            .map(|person| person.shown().to_owned())
            .collect()
    };
    let data = json!({
        "from": entry.from.shown(),
        "address": entry.from.address,
        "to": people(&letter.head.to),
        "cc": people(&letter.head.cc),
        "subject": entry.subject,
        "date": date(entry, ctx),
        "unread": entry.unread,
        "folder": entry.folder.name,
        "text": part,
        "part": number,
        "parts": parts,
        "quoted_lines": folded.quoted,
        "attachments": files,
        "attachment_count": letter.attachments.len(),
        "conversation": others + 1,
    });
    Ok(Output::new(say.join(" "), data))
}

fn date(entry: &Entry, ctx: &Ctx) -> String {
    let at = entry.date.to_zoned(ctx.now.time_zone().clone());
    at.strftime("%Y-%m-%d %H:%M").to_string()
}

/// "Attached: plan.pdf, 120 kilobytes."
fn attached(files: &[Attachment]) -> Option<String> {
    let named: Vec<String> = files
        .iter()
        .take(MAX_SPOKEN)
        .map(|file| format!("{}, {}", plain::one_line(&file.name, 60), size(file.size)))
        .collect();
    match files.len() {
        0 => None,
        n if n <= MAX_SPOKEN => Some(format!("Attached: {}.", named.join("; "))),
        n => Some(format!(
            "{n} files are attached, the first: {}.",
            named.join("; ")
        )),
    }
}

/// "120 kilobytes": decimal, one figure behind the point where it says something.
fn size(bytes: usize) -> String {
    let with = |unit: usize, name: &str| {
        let tenths = bytes.saturating_mul(10) / unit;
        match (tenths / 10, tenths % 10) {
            (whole, tenth) if whole >= 10 || tenth == 0 => format!("{whole} {name}"),
            (whole, tenth) => format!("{whole}.{tenth} {name}"),
        }
    };
    match bytes {
        0..1_000 => speech::count(bytes, "byte", "bytes"),
        1_000..1_000_000 => with(1_000, "kilobytes"),
        _ => with(1_000_000, "megabytes"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{ctx, deliver, files, mailbox, run, said, told};

    #[tokio::test]
    async fn mails_are_read_by_whichever_way_they_are_named() {
        let home = tempfile::tempdir().unwrap();
        mailbox(home.path());
        let ctx = ctx(home.path());
        let before = files(&ctx.dirs.mail);
        let lunch = "Anna Bell about Lunch, yesterday at 12:00. Shall we meet at noon? Anna.";
        let report = "Anna Bell about Report, Thursday 19 November at 09:00. The budget is fine. Attached: figures.pdf, 13 bytes.";
        let invoice = "Bob Stone about Invoice 42, Friday 20 November at 10:00. Please pay.";
        for (args, expect) in [
            (json!({}), lunch),
            (json!({"from": "anna"}), lunch),
            (json!({"from": "anna bell", "which": "second"}), report),
            (json!({"about": "budget"}), report),
            (json!({"which": "the invoice one"}), invoice),
            (json!({"when": "thursday"}), report),
            (json!({"from": "bob@acme.example"}), invoice),
        ] {
            assert_eq!(said(run("mail.read", args.clone(), &ctx).await), expect, "{args}");
        }
        assert_eq!(files(&ctx.dirs.mail), before, "reading changes nothing");
        for (args, expect) in [
            (json!({"from": "zoe"}), "I found no mail from zoe."),
            (
                json!({"from": "anna", "about": "unicorns"}),
                "I found no mail from anna about \"unicorns\".",
            ),
            (
                json!({"from": "anna", "which": "fifth"}),
                "There are only 2 of them.",
            ),
            (json!({"from": "anna", "part": 9}), "That mail has only one part."),
            (json!({"when": "purple"}), "I do not understand the time"),
        ] {
            let text = told(run("mail.read", args.clone(), &ctx).await);
            assert!(text.starts_with(expect), "{args}: {text}");
        }
    }

    #[tokio::test]
    async fn what_was_listed_is_known_by_its_place() {
        let home = tempfile::tempdir().unwrap();
        mailbox(home.path());
        let ctx = ctx(home.path());
        let read = async |which: &str| run("mail.read", json!({"which": which}), &ctx).await;
        assert!(told(read("the second one").await).starts_with("Which mail?"));
        said(run("mail.recent", json!({}), &ctx).await);
        assert!(said(read("the second one").await).starts_with("Bob Stone"));
        assert!(said(read("that one").await).starts_with("Bob Stone"));
        assert!(said(read("next").await).starts_with("Anna Bell about Report"));
        assert_eq!(told(read("next").await), "That was the last one.");
        assert!(said(read("number one").await).starts_with("Anna Bell about Lunch"));
        assert_eq!(told(read("previous").await), "That was the first one.");
        assert_eq!(told(read("ninth").await), "I listed only three mails.");
        // An hour later nobody knows what "the second one" was.
        let mut later = ctx.clone();
        later.now = ctx.now.checked_add(jiff::SignedDuration::from_mins(61)).unwrap();
        assert!(told(run("mail.read", json!({"which": "second"}), &later).await).starts_with("Which mail?"));
    }

    #[tokio::test]
    async fn long_mails_come_in_parts_and_conversations_are_counted() {
        let home = tempfile::tempdir().unwrap();
        let long: String = (0..60)
            .map(|n| format!("This is sentence number {n} of the story. "))
            .collect();
        let date = |hour: u8| format!("Mon, 23 Nov 2026 0{hour}:00:00 +0000");
        deliver(
            home.path(),
            "new/1.x",
            "Eve <eve@example.org>",
            "Story\nMessage-ID: <1@x>",
            &date(5),
            &long,
        );
        let answer = "Re: Story\nMessage-ID: <2@x>\nIn-Reply-To: <1@x>";
        deliver(
            home.path(),
            "new/2.x",
            "Anna <anna@example.org>",
            answer,
            &date(6),
            "Nice.\n\nOn Monday Eve wrote:\n> This is",
        );
        deliver(
            home.path(),
            "new/3.x",
            "Anna <anna@example.org>",
            "Other",
            &date(7),
            "",
        );
        let ctx = ctx(home.path());
        let read = async |args| run("mail.read", args, &ctx).await.unwrap();
        let first = read(json!({"from": "eve"})).await;
        assert_eq!(
            (&first.data["part"], &first.data["parts"]),
            (&json!(1), &json!(4))
        );
        assert!(
            first
                .say
                .ends_with("say go on for the next. There is one other mail in this conversation."),
            "{}",
            first.say
        );
        let last = read(json!({"which": "this", "part": 4})).await;
        assert!(last.say.ends_with("number 59 of the story."), "{}", last.say);
        let answer = read(json!({"about": "story", "from": "anna"})).await;
        assert_eq!(answer.data["text"], "Nice.");
        assert_eq!(
            (&answer.data["quoted_lines"], &answer.data["conversation"]),
            (&json!(1), &json!(2))
        );
        assert_eq!(
            read(json!({"about": "other"})).await.say,
            "Anna about Other, today at 08:00. It has no text."
        );
    }

    #[tokio::test]
    async fn two_hundred_attachments_are_counted() {
        let home = tempfile::tempdir().unwrap();
        let part = |n: usize| {
            let name = format!("file {n}.bin");
            format!(
                "--b\nContent-Type: application/octet-stream; name=\"{name}\"\nContent-Disposition: attachment; filename=\"{name}\"\nContent-Transfer-Encoding: base64\n\n{}\n",
                "QUJD".repeat(400)
            )
        };
        let parts: String = (1..=200).map(part).collect();
        let body = format!("--b\nContent-Type: text/plain\n\nAll of them.\n{parts}--b--\n");
        let subject = "Files\nMIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=b";
        deliver(
            home.path(),
            "new/1.x",
            "Eve <eve@example.org>",
            subject,
            "Mon, 23 Nov 2026 05:00:00 +0000",
            &body,
        );
        let output = run("mail.read", json!({}), &ctx(home.path())).await.unwrap();
        assert_eq!(output.data["attachment_count"], 200);
        assert_eq!(
            output.say,
            "Eve about Files, today at 06:00. All of them. 200 files are attached, the first: file 1.bin, 1.2 kilobytes; \
             file 2.bin, 1.2 kilobytes; file 3.bin, 1.2 kilobytes."
        );
    }

    #[tokio::test]
    async fn what_cannot_be_read_is_said_and_why() {
        let home = tempfile::tempdir().unwrap();
        let date = "Mon, 23 Nov 2026 05:00:00 +0000";
        let subject =
            "Secret\nContent-Type: multipart/encrypted; protocol=\"application/pgp-encrypted\"; boundary=b";
        deliver(
            home.path(),
            "new/1.x",
            "Eve <eve@example.org>",
            subject,
            date,
            "--b\nContent-Type: application/pgp-encrypted\n\nVersion: 1\n--b--\n",
        );
        let say = said(run("mail.read", json!({}), &ctx(home.path())).await);
        assert!(say.contains("It is encrypted, so I cannot read it."), "{say}");
        let parts = "--b\n\nx\n".repeat(30_000);
        deliver(
            home.path(),
            "new/2.x",
            "Bomb <bomb@example.org>",
            "Parts\nContent-Type: multipart/mixed; boundary=b",
            date,
            &parts,
        );
        let text = told(run("mail.read", json!({"from": "bomb"}), &ctx(home.path())).await);
        assert_eq!(text, "I cannot read that mail. It has more parts than I read.");
    }

    #[test]
    fn sizes_are_spoken() {
        for (bytes, expect) in [
            (1, "one byte"),
            (999, "999 bytes"),
            (1_250, "1.2 kilobytes"),
            (120_400, "120 kilobytes"),
            (2_000_000, "2 megabytes"),
        ] {
            assert_eq!(size(bytes), expect);
        }
    }
}
