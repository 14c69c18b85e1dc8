//! `messages.send`: a chat or text message.

use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::{
    contract::{Ctx, Effect, Output, Tool, ToolError},
    system::{
        desktop,
        messages::{self, Service},
        plain,
    },
};

/// Sends messages.
pub struct This;

/// To whom, and what.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Args {
    /// Name of the person, or a number
    to: String,
    /// What it says, word for word
    text: String,
    /// Service, if the person said one
    via: Option<Service>,
}

impl Tool for This {
    type Args = Args;
    const NAME: &'static str = "messages.send";
    const SUMMARY: &'static str = "Send a text message, SMS or Signal chat message to somebody";
    const EFFECT: Effect = Effect::Egress;
    const TIMEOUT: Duration = Duration::from_secs(30);
    const WORDED: &'static [&'static str] = &["text"];
    const EXAMPLES: &'static [&'static str] = &[
        "text Anna that I am running late",
        "send a message to mom: happy birthday",
        "message Peter I'll be there at six",
        "send an SMS to Carl saying the door is open",
        "tell Anna on Signal that dinner is ready",
        "write Tom a text message, see you tomorrow",
        "shoot my sister a message that I arrived",
        "reply to Ben's text with okay",
    ];
    const CALLS: &'static [(&'static str, &'static str)] = &[
        (
            "text Anna that I am running late",
            r#"{"to": "Anna", "text": "I am running late"}"#,
        ),
        (
            "send a message to mom: happy birthday",
            r#"{"to": "mom", "text": "happy birthday"}"#,
        ),
    ];
    const USE_WHEN: &'static str = "For short messages to a phone; mail.send is for e-mail.";

    fn preview(args: &Args, ctx: &Ctx) -> Result<String, ToolError> {
        let text = messages::text(&args.text)?;
        let to = messages::recipient(&ctx.dirs, &args.to)?;
        let (_, way) = desktop::wait(4 * ctx.desk.patience, messages::way(ctx, args.via, &to))?;
        Ok(format!(
            "Send to {} {}: {}",
            to.spoken(),
            way.spoken(),
            plain::one_line(&text, 500)
        ))
    }

    async fn run(args: Args, ctx: &Ctx) -> Result<Output, ToolError> {
        let text = messages::text(&args.text)?;
        let said = args.to.clone();
        let look_up = move |ctx: &Ctx| messages::recipient(&ctx.dirs, &said);
        let to = ctx.blocking("read your contacts", look_up).await?;
        let (bus, way) = messages::way(ctx, args.via, &to).await?;
        messages::send(&bus, &way, &to, &text).await?;
        ctx.step.beyond();
        Ok(Output::new(
            way.sent(&to),
            json!({"to": to.name, "number": to.number}),
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        system::{
            desktop::testing::World,
            messages::tests::{phone, signal},
        },
        testing::{run, said, told},
    };

    #[tokio::test(flavor = "multi_thread")]
    async fn messages_go_the_way_that_is_there_and_only_to_whom_was_meant() {
        let Some(world) = World::start().await else {
            return;
        };
        let ctx = world.ctx();
        let card = json!({"name": "Anna Berg", "phone": "+49 171 2345678"});
        said(run("contacts.create", card, &ctx).await);
        let (_kde, texts) = phone(world.address()).await;
        let go = async |args: serde_json::Value| run("messages.send", args, &ctx).await;
        assert_eq!(
            said(go(json!({"to": "anna", "text": "I am late"})).await),
            "I gave KDE Connect the message to Anna Berg, for your phone to send."
        );
        assert_eq!(
            *texts.lock().unwrap(),
            [("+491712345678".to_owned(), "I am late".to_owned())]
        );
        let (_signal, chats) = signal(world.address()).await;
        assert_eq!(
            said(go(json!({"to": "anna", "text": "Hello;\n\"you\""})).await),
            "I sent the message to Anna Berg by Signal."
        );
        said(go(json!({"to": "anna", "text": "again", "via": "sms"})).await);
        assert_eq!((texts.lock().unwrap().len(), chats.lock().unwrap().len()), (2, 1));
        assert_eq!(chats.lock().unwrap()[0].1, "Hello;\n\"you\"");
        let entry = crate::find("messages.send").unwrap();
        let args = json!({"to": "anna", "text": "x\ny"});
        assert_eq!(
            entry.preview(args, &ctx).unwrap(),
            "Send to Anna Berg, +491712345678 by Signal: x y"
        );
        for (args, expect) in [
            (
                json!({"to": "zebulon", "text": "x"}),
                "Nobody in your contacts is called zebulon.",
            ),
            (json!({"to": "anna", "text": " "}), "What shall the message say?"),
            (json!({"to": "anna", "text": "x".repeat(2001)}), "too long"),
            (json!({"to": "anna", "text": "x", "via": "pigeon"}), "do not fit"),
        ] {
            let text = told(go(args).await);
            assert!(text.contains(expect), "{text}");
        }
        assert_eq!((texts.lock().unwrap().len(), chats.lock().unwrap().len()), (2, 1));
    }
}
