//! `tools.discover`: finds tools that are not in the prompt yet and loads them in the same step.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::{
    contract::{Ctx, Effect, LoadPolicy, Output, Tool, ToolError},
    discover::Index,
};

const MAX_TOP_K: u32 = 10;

/// Finds tools.
pub struct This;

/// What for.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Args {
    /// What should be done, in a few words
    query: String,
    /// Domain of the catalogue, if known
    domain: Option<String>,
    /// Most tools to load, 3 unless said
    #[schemars(range(min = 1, max = 10))]
    top_k: Option<u32>,
}

impl Tool for This {
    type Args = Args;
    const NAME: &'static str = "tools.discover";
    const SUMMARY: &'static str = "Find and load a tool for a request that the loaded tools cannot serve";
    const EFFECT: Effect = Effect::Read;
    const LOAD: LoadPolicy = LoadPolicy::Core;
    const EXAMPLES: &'static [&'static str] = &[
        "find a tool that can set a timer",
        "search for a capability to send mail",
        "discover which tools control music",
        "load the tool for creating notes",
        "is there a tool for the weather",
    ];
    const USE_WHEN: &'static str =
        "Before a catalogue tool whose arguments are not shown; once for each capability.";

    async fn run(args: Args, ctx: &Ctx) -> Result<Output, ToolError> {
        let top_k = args
            .top_k
            .map_or(ctx.search.top_k, |k| k.clamp(1, MAX_TOP_K) as usize);
        let index = &ctx.index;
        let domain = args.domain.as_deref().map(str::trim).filter(|d| !d.is_empty());
        let mut names: Vec<String> = index
            .search(&args.query, domain, index.docs().len(), ctx.search.min_score)
            .into_iter()
            .map(|hit| hit.name)
            .filter(|name| !is_core(name))
            .collect();
        // Nothing asked but a domain: the whole of it.
        if names.is_empty() && args.query.trim().is_empty() {
            let docs = index.docs().iter().filter(|d| domain == Some(d.domain()));
            names.extend(docs.map(|d| d.name.clone()).filter(|name| !is_core(name)));
        }
        names.truncate(top_k);
        if names.is_empty() {
            return Err(ToolError::tell(format!(
                "No tool fits that. There are tools for {}. If none of these can help, say so.",
                domains(index)
            )));
        }
        let found: Vec<_> = index
            .docs()
            .iter()
            .filter(|d| names.contains(&d.name))
            .map(|d| json!({"name": d.name, "summary": d.summary}))
            .collect();
        let mut output = Output::new(format!("Loaded: {}.", names.join(", ")), json!({"tools": found}));
        output.load = names;
        Ok(output)
    }
}

/// Core tools are in the prompt from the start; finding them again would only cost tokens.
fn is_core(name: &str) -> bool {
    crate::find(name).is_some_and(|e| e.load == LoadPolicy::Core)
}

fn domains(index: &Index) -> String {
    let mut domains: Vec<&str> = index
        .docs()
        .iter()
        .filter(|d| !is_core(&d.name))
        .map(|d| d.domain())
        .collect();
    domains.sort_unstable();
    domains.dedup();
    domains.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{ctx, run, told};

    #[tokio::test]
    async fn what_is_found_is_loaded() {
        let home = tempfile::tempdir().unwrap();
        let ctx = ctx(home.path());
        for (args, first) in [
            (json!({"query": "set a timer"}), "timers.set"),
            (json!({"query": "timers.set"}), "timers.set"),
            (json!({"query": "take a note", "domain": "notes"}), "notes.create"),
            (json!({"query": "", "domain": "calc"}), "calc.convert_units"),
        ] {
            let output = run("tools.discover", args.clone(), &ctx).await.unwrap();
            assert_eq!(output.load[0], first, "{args}");
            assert!(output.load.len() <= 3 && output.load.iter().all(|n| !is_core(n)));
            assert_eq!(output.data["tools"].as_array().unwrap().len(), output.load.len());
        }
        let one = run("tools.discover", json!({"query": "create", "top_k": 1}), &ctx)
            .await
            .unwrap();
        assert_eq!(one.load.len(), 1);
    }

    #[tokio::test]
    async fn nothing_found_names_the_domains() {
        let home = tempfile::tempdir().unwrap();
        let ctx = ctx(home.path());
        for query in ["order a pizza with anchovies", "", "\u{202e}\0", "asdf qwer"] {
            let text = told(run("tools.discover", json!({"query": query}), &ctx).await);
            assert!(
                text.contains("calc, ") && text.contains("notes, "),
                "{query:?}: {text}"
            );
        }
        assert!(told(run("tools.discover", json!({"query": 3}), &ctx).await).contains("do not fit"));
    }
}
