//! `messages.open_chat`: the conversation with somebody, in the program for it.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::{
    contract::{Ctx, Effect, Output, Tool, ToolError},
    system::{known::Kind, messages, opener},
};

/// Opens chats.
pub struct This;

/// With whom.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Args {
    /// Name of the person, or a number
    with: String,
}

impl Tool for This {
    type Args = Args;
    const NAME: &'static str = "messages.open_chat";
    const SUMMARY: &'static str = "Open the chat with somebody on the screen, to read or write there";
    /// A window is a change that the person sees and can close again.
    const EFFECT: Effect = Effect::Write;
    const NAMED: &'static [(&'static str, Kind)] = &[("with", Kind::Contact)];
    const EXAMPLES: &'static [&'static str] = &[
        "open the chat with Anna",
        "show my conversation with mom",
        "open Signal with Peter",
        "bring up the messages with Carl",
        "go to my chat with Tom",
        "show me the text thread with my sister",
        "open the message window for Ben",
        "start a chat with Eva",
    ];
    const CALLS: &'static [(&'static str, &'static str)] =
        &[("show my conversation with mom", r#"{"with": "mom"}"#)];
    const USE_WHEN: &'static str = "To see a chat; messages.send sends, messages.recent reads aloud.";

    fn preview(args: &Args, ctx: &Ctx) -> Result<String, ToolError> {
        let to = messages::recipient(&ctx.dirs, &args.with)?;
        messages::chat(ctx, &to)?;
        Ok(format!("Open the chat with {}.", to.spoken()))
    }

    async fn run(args: Args, ctx: &Ctx) -> Result<Output, ToolError> {
        let find = move |ctx: &Ctx| {
            let to = messages::recipient(&ctx.dirs, &args.with)?;
            let address = messages::chat(ctx, &to)?;
            Ok((to, address))
        };
        let (to, address) = ctx.blocking("find that chat", find).await?;
        opener::open(ctx, &address, "The chat program").await?;
        ctx.step.beyond();
        Ok(Output::new(
            format!("I opened the chat with {}.", to.name),
            json!({"with": to.name, "number": to.number}),
        ))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::{
        catalog::files_open::tests::opener,
        testing::{ctx, run, said, told},
    };

    #[tokio::test(flavor = "multi_thread")]
    async fn a_chat_opens_in_the_program_that_is_there() {
        let home = tempfile::tempdir().unwrap();
        let mut ctx = ctx(home.path());
        let open = async |ctx: &Ctx, with: &str| run("messages.open_chat", json!({"with": with}), ctx).await;
        assert_eq!(told(open(&ctx, "anna").await), "You have no contacts yet.");
        let card = json!({"name": "Anna Berg", "phone": "+49 171 2345678"});
        said(run("contacts.create", card, &ctx).await);
        assert!(told(open(&ctx, "anna").await).contains("No program for chats"));
        let install = |file: &str, name: &str| {
            fs::create_dir_all(&ctx.dirs.applications[0]).unwrap();
            let entry = format!("[Desktop Entry]\nType=Application\nName={name}\nExec=true\n");
            fs::write(ctx.dirs.applications[0].join(file), entry).unwrap();
        };
        install("chatty.desktop", "Chatty");
        let opened = opener(&mut ctx, home.path());
        assert_eq!(
            said(open(&ctx, "anna").await),
            "I opened the chat with Anna Berg."
        );
        assert_eq!(opened(), "sms:+491712345678");
        let entry = "[Desktop Entry]\nType=Application\nName=Signal\nExec=true\n";
        fs::write(ctx.dirs.applications[0].join("signal.desktop"), entry).unwrap();
        said(open(&ctx, "anna").await);
        assert_eq!(opened(), "sgnl://signal.me/#p/+491712345678");
        assert!(told(open(&ctx, "zebulon").await).contains("Nobody in your contacts"));
        let entry = crate::find("messages.open_chat").unwrap();
        assert_eq!(
            entry.preview(json!({"with": "anna"}), &ctx).unwrap(),
            "Open the chat with Anna Berg, +491712345678."
        );
    }
}
