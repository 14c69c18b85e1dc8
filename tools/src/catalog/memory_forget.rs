//! `memory.forget`: a remembered fact goes; the journal keeps it for "undo that".

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::{
    contract::{Ctx, Effect, Output, Tool, ToolError},
    system::memory,
};

/// Forgets facts.
pub struct This;

/// Which fact.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Args {
    /// What the fact is about, as said
    about: String,
}

impl Tool for This {
    type Args = Args;
    const NAME: &'static str = "memory.forget";
    const SUMMARY: &'static str = "Forget a fact that was remembered";
    const EFFECT: Effect = Effect::Write;
    const CONFIRM: bool = true;
    const EXAMPLES: &'static [&'static str] = &[
        "forget my locker code",
        "forget where I parked",
        "you can forget what I told you about Eva",
        "stop remembering my shoe size",
        "forget that I like tea",
        "erase my license plate from your memory",
    ];
    const CALLS: &'static [(&'static str, &'static str)] =
        &[("you can forget what I told you about Eva", r#"{"about": "Eva"}"#)];
    const LIMITS: &'static str = "Forgets one fact at a time.";

    fn preview(args: &Args, ctx: &Ctx) -> Result<String, ToolError> {
        let fact = memory::choose(&memory::list(&ctx.dirs.memory)?, &args.about)?;
        Ok(format!("Forget this: {}", fact.to_you()))
    }

    async fn run(args: Args, ctx: &Ctx) -> Result<Output, ToolError> {
        let (folder, step) = (ctx.dirs.memory.clone(), ctx.step.clone());
        let work = tokio::task::spawn_blocking(move || {
            let fact = memory::choose(&memory::list(&folder)?, &args.about)?;
            memory::forget(&step, &fact)?;
            Ok::<_, ToolError>(fact)
        });
        let fact = work.await.map_err(|e| ToolError::broken("forget that", e))??;
        let text = memory::to_you(&fact.text);
        Ok(Output::new(
            format!("I forgot this: {text}"),
            json!({"fact": fact.text}),
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{ctx, run, said, told};

    #[tokio::test]
    async fn one_fact_goes_and_comes_back() {
        let home = tempfile::tempdir().unwrap();
        let ctx = ctx(home.path());
        let forget = async |about: &str| run("memory.forget", json!({"about": about}), &ctx).await;
        assert_eq!(told(forget("my code").await), "I remember nothing about my code.");
        for fact in ["my locker code is 4411", "my door code is 9000", "I like tea"] {
            run("memory.remember", json!({"fact": fact}), &ctx).await.unwrap();
        }
        let doubt = told(forget("my code").await);
        assert!(doubt.starts_with("Which one: your "), "{doubt}");
        let entry = crate::find("memory.forget").unwrap();
        assert!(entry.confirm);
        assert_eq!(
            entry.preview(json!({"about": "my lokker code"}), &ctx).unwrap(),
            "Forget this: Your locker code is 4411."
        );
        assert_eq!(
            said(forget("my lokker code").await),
            "I forgot this: your locker code is 4411."
        );
        let left = memory::list(&ctx.dirs.memory).unwrap();
        assert_eq!(left.len(), 2);
        ctx.step.journal().undo(None).unwrap();
        assert_eq!(memory::list(&ctx.dirs.memory).unwrap().len(), 3);
        assert_eq!(told(forget(" ").await), "Say what I should forget.");
        assert!(told(run("memory.forget", json!({}), &ctx).await).contains("do not fit"));
    }
}
