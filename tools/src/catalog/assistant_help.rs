//! `assistant.help`: what Tiro can do, from its own catalogue.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::{
    contract::{Ctx, Effect, Output, Tool, ToolError},
    discover::{Doc, SHOW_SCORE},
    system::plain,
};

/// Tools whose words are said aloud when somebody asks about a topic; the rest is in the data.
const SPOKEN: usize = 5;
/// Examples that are said aloud.
const EXAMPLES: usize = 3;

/// Explains.
pub struct This;

/// About what.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Args {
    /// A topic, if one was named: "calendar"
    topic: Option<String>,
}

impl Tool for This {
    type Args = Args;
    const NAME: &'static str = "assistant.help";
    const SUMMARY: &'static str = "Explain what the assistant can do and how to ask for it";
    const EFFECT: Effect = Effect::Read;
    const EXAMPLES: &'static [&'static str] = &[
        "what can you do",
        "help me",
        "how do I use you",
        "what can I ask you about my calendar",
        "which commands do you know",
        "what are you able to do with timers",
    ];
    const CALLS: &'static [(&'static str, &'static str)] =
        &[("what can I ask you about my calendar", r#"{"topic": "calendar"}"#)];
    const PATTERNS: &'static [&'static str] = &["help [me]", "what can you do [for me]"];
    const USE_WHEN: &'static str = "When the person asks what is possible, not when they want it done.";

    async fn run(args: Args, ctx: &Ctx) -> Result<Output, ToolError> {
        let docs = ctx.index.docs();
        let Some(topic) = args.topic.filter(|topic| !topic.trim().is_empty()) else {
            return Ok(everything(docs));
        };
        let topic = plain::one_line(&topic, 60);
        let mut chosen: Vec<&Doc> = docs
            .iter()
            .filter(|doc| is_domain(&topic, doc.domain()))
            .collect();
        if chosen.is_empty() {
            // A person takes what is named here for an answer; a model would only have looked on.
            let enough = ctx.search.min_score.max(SHOW_SCORE);
            let hits = ctx.search.lens.search(&ctx.index, &topic, None, SPOKEN, enough);
            chosen = hits
                .iter()
                .filter_map(|hit| docs.iter().find(|doc| doc.name == hit.name))
                .collect();
        }
        if chosen.is_empty() {
            return Err(ToolError::tell(format!(
                "I can do nothing with {topic}. I can help with {}.",
                plain::listed(&domains(docs), "and")
            )));
        }
        Ok(about(&chosen))
    }
}

/// Whether the person named this domain, in one or many.
fn is_domain(topic: &str, domain: &str) -> bool {
    let plain = |word: &str| word.trim_end_matches('s').to_lowercase();
    topic
        .split(|c: char| !c.is_alphanumeric())
        .any(|word| !word.is_empty() && plain(word) == plain(domain))
}

fn domains(docs: &[Doc]) -> Vec<String> {
    // What concerns Tiro itself is no subject to ask for help with.
    let own = ["assistant", "tools"];
    let mut domains: Vec<String> = docs
        .iter()
        .map(|doc| doc.domain().to_owned())
        .filter(|domain| !own.contains(&domain.as_str()))
        .collect();
    domains.sort();
    domains.dedup();
    domains
}

fn everything(docs: &[Doc]) -> Output {
    let domains = domains(docs);
    // One example of each of the first subjects shows how to speak.
    let examples: Vec<String> = domains
        .iter()
        .filter_map(|domain| docs.iter().find(|doc| doc.domain() == domain)?.examples.first())
        .take(EXAMPLES)
        .map(|example| format!("\"{example}\""))
        .collect();
    let say = format!(
        "I can help with {}. Say, for example, {}. Ask what I can do with one of these to hear more.",
        plain::listed(&domains, "and"),
        plain::listed(&examples, "or")
    );
    let mut tools: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for doc in docs {
        tools.entry(doc.domain()).or_default().push(&doc.name);
    }
    Output::new(say, json!({ "domains": tools }))
}

fn about(chosen: &[&Doc]) -> Output {
    let spoken: Vec<String> = chosen
        .iter()
        .take(SPOKEN)
        .filter_map(|doc| Some(format!("\"{}\"", doc.examples.first()?)))
        .collect();
    let more = match chosen.len().saturating_sub(SPOKEN) {
        0 => String::new(),
        more => format!(" There are {more} more."),
    };
    let rows: Vec<_> = chosen
        .iter()
        .map(|doc| json!({"name": doc.name, "summary": doc.summary, "examples": doc.examples}))
        .collect();
    Output::new(
        format!("You can say {}.{more}", plain::listed(&spoken, "or")),
        json!({ "tools": rows }),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{ctx, run, said, told};

    #[tokio::test]
    async fn every_domain_is_named_and_a_topic_says_how_to_ask() {
        let root = tempfile::tempdir().unwrap();
        let ctx = ctx(root.path());
        let all = run("assistant.help", json!({}), &ctx).await.unwrap();
        for tool in crate::ALL
            .iter()
            .filter(|t| !["assistant", "tools"].contains(&t.domain()))
        {
            assert!(
                all.say.contains(tool.domain()),
                "{} is missing in {}",
                tool.domain(),
                all.say
            );
        }
        for topic in ["calendar", "my calendars", "Calendar"] {
            let help = run("assistant.help", json!({"topic": topic}), &ctx)
                .await
                .unwrap();
            let names = help.data["tools"].as_array().unwrap();
            assert!(
                names
                    .iter()
                    .all(|t| t["name"].as_str().unwrap().starts_with("calendar."))
            );
            assert!(help.say.starts_with("You can say \""), "{}", help.say);
        }
        let found = said(run("assistant.help", json!({"topic": "set a timer"}), &ctx).await);
        assert!(found.contains("timer"), "{found}");
        let none = told(run("assistant.help", json!({"topic": "quantum chromodynamics"}), &ctx).await);
        assert!(
            none.starts_with("I can do nothing with quantum chromodynamics."),
            "{none}"
        );
    }
}
