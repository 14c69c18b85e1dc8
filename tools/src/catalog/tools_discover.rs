//! `tools.discover`: finds tools that are not in the prompt yet and loads them in the same step, unless the person turned
//! that off: then it names what it found, and loads what is asked for by its whole name.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::{
    contract::{Ctx, Effect, LoadPolicy, Output, Search, Tool, ToolError},
    discover::{Doc, Index, Tier},
    system::plain,
};

const MAX_TOP_K: u32 = 10;
/// Searches in one call; more is no request of a person.
const MAX_QUERIES: usize = 5;
/// Tools that one call loads at most: the largest domain, and a limit to what a stranger's domain costs.
const MAX_LOADED: usize = 20;

/// Finds tools.
pub struct This;

/// What for. The arguments carry no words of their own: they stand in every prompt, and their names say it. `query` is what should
/// be done, or the name of a tool; `domain` one of the catalogue's; `top_k` how many tools each search loads.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Args {
    query: String,
    domain: Option<String>,
    #[schemars(range(min = 1))]
    top_k: Option<u32>,
}

impl Tool for This {
    type Args = Args;
    const NAME: &'static str = "tools.discover";
    const SUMMARY: &'static str = "Find and load tools for what these cannot do; several with ;";
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
        let (index, search) = (&ctx.index, &ctx.search);
        let domain = args.domain.as_deref().map(str::trim).filter(|d| !d.is_empty());
        let top_k = args.top_k.map(|k| k.clamp(1, MAX_TOP_K) as usize);
        let queries = args
            .query
            .split([';', '\n'])
            .map(str::trim)
            .filter(|q| !q.is_empty());
        let (mut names, mut load, mut open) = (Vec::new(), Vec::new(), Vec::new());
        let (mut without, mut left) = (Vec::new(), Vec::new());
        for (number, query) in queries.enumerate() {
            if number >= MAX_QUERIES {
                left.push(query);
                continue;
            }
            let hits = search
                .lens
                .search(index, query, domain, index.docs().len(), search.min_score);
            // The wrong door: what is asked for needs no search.
            let first = hits.first().filter(|best| search.is_core(&best.name));
            open.extend(first.map(|best| best.name.clone()));
            let found = first.is_some();
            let hits = hits.into_iter().filter(|hit| !search.is_core(&hit.name));
            let before = names.len();
            for hit in hits.take(top_k.unwrap_or(search.top_k)) {
                if search.auto_load || hit.tier == Tier::Exact {
                    load.push(hit.name.clone());
                }
                names.push(hit.name);
            }
            if names.len() == before && !found {
                without.push(query);
            }
        }
        // Nothing asked but a domain: the whole of it.
        if args.query.trim().is_empty() {
            let docs = index.docs().iter().filter(|d| domain == Some(d.domain()));
            let docs = docs.filter(|d| !search.is_core(&d.name) && !search.lens.hidden.contains(&d.name));
            names.extend(docs.map(|d| d.name.clone()).take(top_k.unwrap_or(MAX_LOADED)));
            if search.auto_load {
                load.clone_from(&names);
            }
        }
        for list in [&mut names, &mut load, &mut open] {
            let mut seen = BTreeSet::new();
            list.retain(|name| seen.insert(name.clone()));
            list.truncate(MAX_LOADED);
        }
        if names.is_empty() && !open.is_empty() {
            return Err(ToolError::tell(format!(
                "You have {} already. Call it, without a search.",
                plain::listed(&open, "and")
            )));
        }
        if names.is_empty() {
            return Err(ToolError::tell(format!(
                "No tool fits that. There are tools for {}. If none of these can help, say so.",
                domains(index, search)
            )));
        }
        let row = |doc: &Doc| {
            let mut row = json!({"name": doc.name, "summary": doc.summary});
            if !load.contains(&doc.name) {
                row["loaded"] = json!(false);
            }
            row
        };
        let docs = names
            .iter()
            .filter_map(|name| index.docs().iter().find(|d| d.name == *name));
        let mut data = json!({"tools": docs.map(row).collect::<Vec<_>>()});
        let only: Vec<String> = names
            .iter()
            .filter(|name| !load.contains(name))
            .cloned()
            .collect();
        let mut say = String::new();
        if !load.is_empty() {
            say = format!("Loaded: {}.", load.join(", "));
        }
        if !only.is_empty() {
            say.push_str(&format!(
                " Found: {}. To load one, ask for its name.",
                only.join(", ")
            ));
            data["next"] =
                json!("Call tools.discover with the name of one of these as the query to load it.");
        }
        if !open.is_empty() {
            data["have_already"] = json!(open);
        }
        for (key, queries, words) in [
            ("nothing_fits", without, "Nothing fits"),
            ("not_searched", left, "I did not search for"),
        ] {
            if !queries.is_empty() {
                let queries: Vec<String> = queries
                    .iter()
                    .take(MAX_LOADED)
                    .map(|query| plain::one_line(query, 60))
                    .collect();
                say.push_str(&format!(" {words} {}.", plain::listed(&queries, "or")));
                data[key] = json!(queries);
            }
        }
        let say = say.trim_start().to_owned();
        let mut output = Output::new(say, data);
        output.load = load;
        Ok(output)
    }
}

fn domains(index: &Index, search: &Search) -> String {
    let mut domains: Vec<&str> = index
        .docs()
        .iter()
        .filter(|d| !search.is_core(&d.name))
        .map(|d| d.domain())
        .collect();
    domains.sort_unstable();
    domains.dedup();
    domains.join(", ")
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

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
            assert!(output.load.len() <= 3 && output.load.iter().all(|n| !ctx.search.is_core(n)));
            assert_eq!(output.data["tools"].as_array().unwrap().len(), output.load.len());
        }
        let one = run("tools.discover", json!({"query": "create", "top_k": 1}), &ctx)
            .await
            .unwrap();
        assert_eq!(one.load.len(), 1);
    }

    #[tokio::test]
    async fn several_are_found_in_one_call_by_words_and_by_name() {
        let home = tempfile::tempdir().unwrap();
        let ctx = ctx(home.path());
        let find = async |query: &str| {
            let args = json!({"query": query, "top_k": 1});
            run("tools.discover", args, &ctx).await.unwrap()
        };
        let both = find("set a timer; take a note").await;
        assert_eq!(both.load, ["timers.set", "notes.create"]);
        assert_eq!(
            find("mail.send;media.pause").await.load,
            ["mail.send", "media.pause"]
        );
        assert_eq!(find("timers.set; start a timer").await.load, ["timers.set"]);
        let one = find("set a timer; order a pizza with anchovies").await;
        assert_eq!(one.load, ["timers.set"]);
        assert_eq!(one.data["nothing_fits"], json!(["order a pizza with anchovies"]));
        let many = find(&"set a timer; ".repeat(1000)).await;
        assert_eq!(many.load, ["timers.set"]);
    }

    #[tokio::test]
    async fn a_domain_alone_is_found_whole() {
        let home = tempfile::tempdir().unwrap();
        let ctx = ctx(home.path());
        let args = json!({"query": " ", "domain": "mail"});
        let mail = run("tools.discover", args, &ctx).await.unwrap();
        let all = ctx
            .index
            .docs()
            .iter()
            .filter(|d| d.domain() == "mail" && !ctx.search.is_core(&d.name));
        assert_eq!(mail.load.len(), all.count());
    }

    #[tokio::test]
    async fn what_needs_no_search_is_said_to_be_there() {
        let home = tempfile::tempdir().unwrap();
        let mut ctx = ctx(home.path());
        let both = json!({"query": "calendar.query; timers.set", "top_k": 1});
        let output = run("tools.discover", both, &ctx).await.unwrap();
        assert_eq!(output.data["have_already"], json!(["calendar.query"]));
        assert_eq!(output.data["nothing_fits"], Value::Null);
        // What the person took out of the prompt is not there, whatever the tool says of itself.
        ctx.search.core = Some(std::sync::Arc::new(["timers.set".to_owned()].into()));
        let output = run(
            "tools.discover",
            json!({"query": "calendar.query", "top_k": 1}),
            &ctx,
        )
        .await
        .unwrap();
        assert_eq!(output.load, ["calendar.query"]);
        assert_eq!(output.data["have_already"], Value::Null);
        // Seen through a lens that shows nothing else, what is there is all that there is to say.
        ctx.search.lens = std::sync::Arc::new(crate::discover::Lens {
            hidden: ctx
                .index
                .docs()
                .iter()
                .map(|d| d.name.clone())
                .filter(|n| n != "timers.set")
                .collect(),
            ..Default::default()
        });
        let text = told(run("tools.discover", json!({"query": "timers.set"}), &ctx).await);
        assert_eq!(text, "You have timers.set already. Call it, without a search.");
    }

    #[tokio::test]
    async fn what_is_too_much_for_one_call_is_said_to_be_left_out() {
        let home = tempfile::tempdir().unwrap();
        let ctx = ctx(home.path());
        let query = "timers.set; notes.create; mail.send; media.pause; files.open; web.search; clock.now";
        let output = run("tools.discover", json!({"query": query, "top_k": 1}), &ctx)
            .await
            .unwrap();
        assert_eq!(output.load.len(), MAX_QUERIES);
        assert_eq!(output.data["not_searched"], json!(["web.search", "clock.now"]));
        assert!(
            output
                .say
                .contains("I did not search for web.search or clock.now"),
            "{}",
            output.say
        );
    }

    #[tokio::test]
    async fn without_auto_load_a_search_names_and_a_name_loads() {
        let home = tempfile::tempdir().unwrap();
        let mut ctx = ctx(home.path());
        ctx.search.auto_load = false;
        let found = run("tools.discover", json!({"query": "set a timer"}), &ctx)
            .await
            .unwrap();
        assert!(
            found.load.is_empty() && found.say.starts_with("Found: timers.set"),
            "{}",
            found.say
        );
        let loaded = run("tools.discover", json!({"query": "timers.set"}), &ctx)
            .await
            .unwrap();
        assert_eq!(loaded.load, ["timers.set"]);
        let some = json!({"query": "timers.set; take a note", "top_k": 1});
        let some = run("tools.discover", some, &ctx).await.unwrap();
        assert_eq!(some.load, ["timers.set"]);
        assert!(some.say.contains("Found: notes.create"), "{}", some.say);
        assert_eq!(some.data["tools"][1]["loaded"], false);
        let whole = run("tools.discover", json!({"query": "", "domain": "timers"}), &ctx)
            .await
            .unwrap();
        assert!(whole.load.is_empty() && whole.data["tools"].as_array().unwrap().len() > 3);
    }

    #[tokio::test]
    async fn what_is_hidden_from_the_request_is_not_found() {
        let home = tempfile::tempdir().unwrap();
        let mut ctx = ctx(home.path());
        ctx.search.lens = std::sync::Arc::new(crate::discover::Lens {
            hidden: ["timers.set".to_owned()].into(),
            ..Default::default()
        });
        for args in [
            json!({"query": "timers.set"}),
            json!({"query": "set a timer"}),
            json!({"query": "", "domain": "timers"}),
        ] {
            let load = run("tools.discover", args.clone(), &ctx).await.map(|o| o.load);
            assert!(
                !load.unwrap_or_default().contains(&"timers.set".to_owned()),
                "{args}"
            );
        }
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
