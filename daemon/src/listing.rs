//! The shape of `tiro tools --json`: every tool with its schema and what it costs in tokens of the model.

use std::sync::Arc;

use models::{EngineError, llm::Llm};
use serde_json::{Value, json};
use tools::discover::Index;

use crate::{
    agent::{Settings, toolbox::Loading},
    room::{Parts, joined},
};

/// Lists the tools, counted by the model's own tokenizer; `eager` counts the core as if every tool stood in it.
///
/// # Errors
/// What keeps the model from counting.
pub async fn tools(
    llm: &dyn Llm,
    parts: &Parts,
    index: &Arc<Index>,
    eager: bool,
) -> Result<Value, EngineError> {
    let info = llm.info().await?;
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
        asked.push(joined(dialect.found(&[card]).into_pieces()));
        rows.push(json!({
            "name": entry.name, "domain": entry.domain(), "summary": entry.summary, "policy": entry.load,
            "effect": entry.effect, "parameters": entry.parameters(), "examples": entry.examples,
        }));
    }
    let counts = llm.count(&asked).await?;
    for (row, tokens) in rows.iter_mut().zip(counts) {
        row["tokens"] = tokens.into();
    }
    let prefix = async |lazy: bool, catalog: bool| -> Result<u32, EngineError> {
        let settings = Settings {
            loading: Loading {
                lazy,
                ..parts.settings.loading.clone()
            },
            ..parts.settings.clone()
        };
        let agent = Parts {
            settings,
            ..parts.clone()
        }
        .agent(&info, index);
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
    Ok(json!({"tools": rows, "totals": totals}))
}

/// All tools by their names.
pub fn sorted() -> Vec<&'static tools::Entry> {
    let mut all: Vec<_> = ::tools::ALL.iter().collect();
    all.sort_by_key(|e| e.name);
    all
}
