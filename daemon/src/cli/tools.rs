//! `tiro tools`: what Tiro can do, with schemas and token costs by the model's own tokenizer.

use std::{process::ExitCode, sync::Arc};

use serde_json::json;
use tools::discover::Index;

use super::{app::App, say};
use crate::{
    agent::{Settings, toolbox::Loading},
    room::joined,
};

/// Lists the tools. `--json` counts tokens, which loads the model; the plain list does not.
pub async fn run(app: &App, json: bool, eager: bool) -> anyhow::Result<ExitCode> {
    if !json {
        let mut domain = "";
        for entry in sorted() {
            if entry.domain() != domain {
                domain = entry.domain();
                say(domain)?;
            }
            let confirm = if entry.confirm { " [confirm]" } else { "" };
            say(&format!("  {:<26} {}{confirm}", entry.name, entry.summary))?;
        }
        return Ok(ExitCode::SUCCESS);
    }
    let (llm, parts) = (app.llm()?, app.parts());
    let info = llm.info().await?;
    let index = Arc::new(Index::of(parts.tools));
    let mut rows = Vec::new();
    let mut asked = Vec::new();
    for entry in sorted() {
        let card = prompts::Card {
            name: entry.name.to_owned(),
            summary: entry.summary.to_owned(),
            parameters: entry.parameters(),
            confirm: entry.confirm,
            calls: Vec::new(),
        };
        let dialect = prompts::detect(info.chat_template.as_deref(), &info.architecture);
        asked.push(joined(dialect.found(&[card])));
        rows.push(json!({
            "name": entry.name, "domain": entry.domain(), "summary": entry.summary, "policy": entry.load,
            "effect": entry.effect, "parameters": entry.parameters(), "examples": entry.examples,
        }));
    }
    let counts = llm.count(&asked).await?;
    for (row, tokens) in rows.iter_mut().zip(counts) {
        row["tokens"] = tokens.into();
    }
    let prefix = async |lazy: bool, catalog: bool| -> anyhow::Result<u32> {
        let settings = Settings {
            loading: Loading {
                lazy,
                ..parts.settings.loading.clone()
            },
            ..parts.settings.clone()
        };
        let agent = crate::room::Parts {
            settings,
            ..parts.clone()
        }
        .agent(&info, &index);
        let text = joined(if catalog {
            agent.prefix()
        } else {
            agent.core_prefix()
        });
        Ok(llm.count(&[text]).await?.iter().sum())
    };
    // The prompt's persona and frame cost the same in every layout, so the layouts are counted whole.
    let core = prefix(!eager, false).await?;
    let whole = prefix(!eager, true).await?;
    let all = prefix(false, true).await?;
    let totals = json!({"core": core, "catalog": whole - core.min(whole), "eager": all});
    say(&serde_json::to_string(&json!({"tools": rows, "totals": totals}))?)?;
    Ok(ExitCode::SUCCESS)
}

fn sorted() -> Vec<&'static tools::Entry> {
    let mut all: Vec<_> = tools::ALL.iter().collect();
    all.sort_by_key(|e| e.name);
    all
}
