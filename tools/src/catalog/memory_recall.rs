//! `memory.recall`: what the person told Tiro to remember.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::{
    contract::{Ctx, Effect, Output, Tool, ToolError},
    discover::words,
    system::{
        memory::{self, Fact},
        plain, speech,
    },
};

/// Most facts that are said for a question, and when all are asked for.
const BEST: usize = 3;
const NEWEST: usize = 5;
/// Most facts that are given as data.
const MOST: usize = 20;

/// Recalls facts.
pub struct This;

/// What about.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Args {
    /// What is asked for, as said; leave out for everything
    about: Option<String>,
}

impl Tool for This {
    type Args = Args;
    const NAME: &'static str = "memory.recall";
    const SUMMARY: &'static str = "Say what the person asked to remember: codes, places, likings";
    const EFFECT: Effect = Effect::Read;
    const EXAMPLES: &'static [&'static str] = &[
        "what is my locker code",
        "where did I park",
        "what do you remember about Eva",
        "what did I tell you about the alarm system",
        "do you remember my shoe size",
        "what do you know about me",
    ];
    const CALLS: &'static [(&'static str, &'static str)] = &[
        ("where did I park", r#"{"about": "park"}"#),
        ("what is my locker code", r#"{"about": "locker code"}"#),
    ];
    const PATTERNS: &'static [&'static str] = &["what do you (know|remember) about me"];
    const USE_WHEN: &'static str =
        "For facts that the person told; contacts.search is for numbers and addresses of people.";

    async fn run(args: Args, ctx: &Ctx) -> Result<Output, ToolError> {
        let folder = ctx.dirs.memory.clone();
        let work = tokio::task::spawn_blocking(move || memory::list(&folder)).await;
        let facts = work.map_err(|e| ToolError::broken("read what I remember", e))??;
        let about = args.about.as_deref().map(|a| plain::one_line(a, 80));
        let about = about.filter(|about| !means_everything(about));
        let (say, shown) = match (&about, facts.len()) {
            (_, 0) => ("You have not told me to remember anything yet.".to_owned(), facts),
            (None, count) => {
                let newest: Vec<String> = facts.iter().take(NEWEST).map(Fact::to_you).collect();
                let opening = match count > newest.len() {
                    true => format!("I remember {count} things. The newest: "),
                    false => format!("I remember {}: ", speech::count(count, "thing", "things")),
                };
                (format!("{opening}{}", newest.join(" ")), facts)
            }
            (Some(about), _) => {
                let found: Vec<Fact> = memory::recall(&facts, about)
                    .into_iter()
                    .take(BEST)
                    .map(|f| f.1)
                    .collect();
                let said: Vec<String> = found.iter().map(Fact::to_you).collect();
                match said.is_empty() {
                    true => (
                        format!("I remember nothing about {}.", memory::to_you(about)),
                        found,
                    ),
                    false => (said.join(" "), found),
                }
            }
        };
        let texts: Vec<&str> = shown.iter().take(MOST).map(|f| f.text.as_str()).collect();
        Ok(Output::new(say, json!({"facts": texts})))
    }
}

/// "everything", "me", "what you know".
fn means_everything(about: &str) -> bool {
    words::split(about).iter().all(|word| {
        words::is_stop_word(word)
            || matches!(
                word.as_str(),
                "everything" | "all" | "anything" | "myself" | "fact" | "facts" | "thing" | "things"
            )
    })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::testing::{ctx, run, said, told};

    #[tokio::test]
    async fn facts_are_said_and_never_made_up() {
        let home = tempfile::tempdir().unwrap();
        let ctx = ctx(home.path());
        let ask = async |args| said(run("memory.recall", args, &ctx).await);
        assert_eq!(
            ask(json!({"about": "my locker code"})).await,
            "You have not told me to remember anything yet."
        );
        for fact in [
            "my locker code is 4411",
            "I parked on level three",
            "Eva is my sister",
        ] {
            run("memory.remember", json!({"fact": fact}), &ctx).await.unwrap();
        }
        for (about, expect) in [
            ("my locker code", "Your locker code is 4411."),
            ("where did I park", "You parked on level three."),
            ("eva", "Eva is your sister."),
            ("my shoe size", "I remember nothing about your shoe size."),
        ] {
            assert_eq!(ask(json!({"about": about})).await, expect);
        }
        for args in [
            json!({}),
            json!({"about": "me"}),
            json!({"about": "everything"}),
            json!({"about": "facts about me"}),
        ] {
            let text = ask(args).await;
            assert!(
                text.starts_with("I remember three things: ") && text.contains("Eva is your sister."),
                "{text}"
            );
        }
        assert!(told(run("memory.recall", json!({"what": "x"}), &ctx).await).contains("do not fit"));
    }

    #[tokio::test]
    async fn many_and_hostile_facts_are_bounded() {
        let home = tempfile::tempdir().unwrap();
        let ctx = ctx(home.path());
        fs::create_dir(&ctx.dirs.memory).unwrap();
        for n in 0..60 {
            let text = format!("Fact {n} {}\u{202e}\n", "x".repeat(100));
            fs::write(ctx.dirs.memory.join(format!("{n}.md")), text).unwrap();
        }
        fs::write(ctx.dirs.memory.join("bin.md"), [0xff; 50]).unwrap();
        let output = run("memory.recall", json!({}), &ctx).await.unwrap();
        assert!(
            output.say.len() < 1000 && !output.say.contains('\u{202e}'),
            "{}",
            output.say
        );
        assert!(output.data.to_string().len() < 4000);
        assert_eq!(
            said(run("memory.recall", json!({"about": "fact 17"}), &ctx).await)
                .matches("Fact 17 ")
                .count(),
            1
        );
    }
}
