//! `messages.recent`: the newest text messages of the phone.

use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::{
    contract::{Ctx, Effect, Output, Tool, ToolError},
    system::{
        contacts,
        heard::Ear,
        messages::{self, Going, Recent},
        plain, speech,
    },
};

/// Most that are read out, and that are given as data.
const SPOKEN: usize = 3;
const MOST: usize = 20;
/// Most characters of one that are spoken.
const SPOKEN_TEXT: usize = 160;

/// Reads messages.
pub struct This;

/// Whose.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Args {
    /// Only with this person
    from: Option<String>,
    /// Only unread ones
    unread: Option<bool>,
}

impl Tool for This {
    type Args = Args;
    const NAME: &'static str = "messages.recent";
    const SUMMARY: &'static str = "Read the newest text messages, SMS and chats of the phone";
    const EFFECT: Effect = Effect::Read;
    const UNTRUSTED: bool = true;
    const TIMEOUT: Duration = Duration::from_secs(30);
    const EXAMPLES: &'static [&'static str] = &[
        "do I have new messages",
        "read my text messages",
        "what did Anna write",
        "any new SMS",
        "show my latest chats",
        "did mom text me",
        "read me the last message",
        "who texted me today",
    ];
    const CALLS: &'static [(&'static str, &'static str)] = &[
        ("did mom text me", r#"{"from": "mom"}"#),
        ("any new SMS", r#"{"unread": true}"#),
    ];
    const PATTERNS: &'static [&'static str] =
        &["do i have [any] new text messages", "read [me] my text messages"];
    const USE_WHEN: &'static str = "For text messages and chats; mail.recent is for e-mail.";
    const LIMITS: &'static str = "Reads the last message of each conversation of a phone in KDE Connect.";

    async fn run(args: Args, ctx: &Ctx) -> Result<Output, ToolError> {
        let Recent {
            messages: mut all,
            silent,
            cut,
        } = messages::recent(&ctx.desk).await?;
        let book = ctx
            .blocking("read your contacts", |ctx| contacts::read(&ctx.dirs.contacts))
            .await?;
        let from = args
            .from
            .map(|from| plain::one_line(&from, 60))
            .filter(|from| !from.is_empty());
        if let Some(from) = &from {
            let ear = Ear::of_person(from, |_| Vec::new());
            all.retain(|message| messages::is_with(message, &book, &ear, from));
        }
        if args.unread == Some(true) {
            all.retain(|message| message.unread);
        }
        let unread = all.iter().filter(|message| message.unread).count();
        let who = |message: &messages::Message| {
            let names: Vec<String> = message
                .numbers
                .iter()
                .map(|number| messages::called(&book, number))
                .collect();
            plain::listed(&names, "and")
        };
        let zone = ctx.now.time_zone();
        let spoken: Vec<String> = all
            .iter()
            .take(SPOKEN)
            .map(|message| {
                let when = speech::moment(&message.at.to_zoned(zone.clone()), &ctx.now);
                let (who, text) = (who(message), message.spoken(SPOKEN_TEXT));
                match message.going {
                    Going::In => format!("{who}, {when}: {text}"),
                    Going::Out => format!("You to {who}, {when}: {text}"),
                    Going::Failed => format!("You to {who}, {when}, which the phone could not send: {text}"),
                }
            })
            .collect();
        let with = from.map(|from| format!(" with {from}")).unwrap_or_default();
        let say = match (&spoken[..], args.unread) {
            ([], Some(true)) => format!("You have no unread messages{with}."),
            ([], _) => format!("There are no messages{with}."),
            (some, _) => {
                let count = match unread {
                    0 => String::new(),
                    unread => format!(
                        "You have {}. ",
                        speech::count(unread, "unread message", "unread messages")
                    ),
                };
                let ended: Vec<String> = some
                    .iter()
                    .map(|line| match line.ends_with(['.', '!', '?', '…']) {
                        true => line.clone(),
                        false => format!("{line}."),
                    })
                    .collect();
                format!("{count}{}", ended.join(" "))
            }
        };
        let say = match &silent[..] {
            [] => say,
            silent => format!(
                "{} does not answer now, so this may be old. {say}",
                plain::listed(silent, "and")
            ),
        };
        let say = match cut {
            true => format!("{say} The phone was still telling me of some, so there may be more."),
            false => say,
        };
        let rows: Vec<_> = all
            .iter()
            .take(MOST)
            .map(|message| {
                let at = message.at.to_zoned(zone.clone()).strftime("%Y-%m-%dT%H:%M").to_string();
                json!({"with": who(message), "text": message.text, "at": at, "own": message.going != Going::In, "unread": message.unread, "failed": message.going == Going::Failed, "attached": message.attached})
            })
            .collect();
        Ok(Output::new(
            say,
            json!({"found": all.len(), "unread": unread, "messages": rows}),
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        system::{desktop::testing::World, messages::tests::phone},
        testing::{ctx, run, said, told},
    };

    #[tokio::test(flavor = "multi_thread")]
    async fn the_newest_message_of_each_conversation_is_read_with_its_name() {
        let home = tempfile::tempdir().unwrap();
        let bare = ctx(home.path());
        let recent = async |ctx: &Ctx, args: serde_json::Value| run("messages.recent", args, ctx).await;
        assert!(told(recent(&bare, json!({})).await).contains("desktop session"));
        let Some(world) = World::start().await else {
            return;
        };
        let ctx = world.ctx();
        let card = json!({"name": "Anna Berg", "phone": "0171 2345678"});
        said(run("contacts.create", card, &ctx).await);
        let (_kde, _) = phone(world.address()).await;
        let all = recent(&ctx, json!({})).await.unwrap();
        assert!(
            all.say
                .starts_with("You have one unread message. You to 0301234, "),
            "{}",
            all.say
        );
        assert!(
            all.say.contains(": See you (with a video). Anna Berg, ")
                && all.say.contains(": On my way. 0301 and 0302, "),
            "{}",
            all.say
        );
        assert!(all.say.ends_with(": (a picture and a file)."), "{}", all.say);
        assert_eq!(all.data["found"], 4);
        // Not 0301, which sounds like it.
        let lost = said(recent(&ctx, json!({"from": "0309"})).await);
        assert!(
            lost.starts_with("You to 0309, ") && lost.ends_with(", which the phone could not send: Lost."),
            "{lost}"
        );
        let anna = said(recent(&ctx, json!({"from": "ana berg", "unread": true})).await);
        assert!(
            anna.starts_with("You have one unread message. Anna Berg, "),
            "{anna}"
        );
        assert_eq!(
            said(recent(&ctx, json!({"from": "carl"})).await),
            "There are no messages with carl."
        );
    }
}
