//! `assistant.repeat`: says the last answer again.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::contract::{Ctx, Effect, Output, Tool, ToolError};

/// Says it again.
pub struct This;

/// It takes nothing.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Args {}

impl Tool for This {
    type Args = Args;
    const NAME: &'static str = "assistant.repeat";
    const SUMMARY: &'static str = "Say the last answer once more";
    const EFFECT: Effect = Effect::Read;
    const EXAMPLES: &'static [&'static str] = &[
        "say that again",
        "repeat that please",
        "what did you say",
        "pardon, once more",
        "I didn't catch that",
        "could you repeat your answer",
    ];
    const PATTERNS: &'static [&'static str] = &["say that again", "repeat that", "what did you say"];
    const USE_WHEN: &'static str =
        "For what Tiro itself said; a song that plays over and over is media.repeat.";

    async fn run(_args: Args, ctx: &Ctx) -> Result<Output, ToolError> {
        let Some(last) = &ctx.last else {
            return Err(ToolError::tell("I have not said anything yet."));
        };
        let mut output = Output::new(last.text.clone(), json!({"text": last.text}));
        output.untrusted = last.untrusted;
        Ok(output)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        contract::Answered,
        testing::{ctx, run, told},
    };

    #[tokio::test]
    async fn the_last_answer_is_said_again_with_its_taint() {
        let root = tempfile::tempdir().unwrap();
        let mut ctx = ctx(root.path());
        assert_eq!(
            told(run("assistant.repeat", json!({}), &ctx).await),
            "I have not said anything yet."
        );
        for untrusted in [false, true] {
            let text = "It is nine.".to_owned();
            ctx.last = Some(Answered { text, untrusted });
            let output = run("assistant.repeat", json!({}), &ctx).await.unwrap();
            assert_eq!(
                (output.say.as_str(), output.untrusted),
                ("It is nine.", untrusted)
            );
        }
    }
}
