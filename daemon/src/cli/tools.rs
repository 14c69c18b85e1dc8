//! `tiro tools`: what Tiro can do, with schemas and token costs by the model's own tokenizer.

use std::process::ExitCode;

use super::{app::App, partner, say};
use crate::{
    bus::{self, Tiro1Proxy},
    listing,
};

/// Lists the tools. `--json` counts tokens, which needs the model: that of the daemon where one runs, because a second one beside it
/// would take its memory twice. The plain list needs none.
pub async fn run(app: &App, json: bool, eager: bool) -> anyhow::Result<ExitCode> {
    if !json {
        let mut domain = "";
        for entry in listing::sorted() {
            if entry.domain() != domain {
                domain = entry.domain();
                say(domain)?;
            }
            let confirm = if entry.confirm { " [confirm]" } else { "" };
            say(&format!("  {:<26} {}{confirm}", entry.name, entry.summary))?;
        }
        return Ok(ExitCode::SUCCESS);
    }
    let list = match bus::client(&app.paths.socket()?).await? {
        Some(connection) => {
            let proxy = Tiro1Proxy::new(&connection).await?;
            proxy.tools(eager).await.map_err(partner::plain)?
        }
        None => {
            let (llm, parts) = (app.llm()?, app.parts());
            let index = parts.index();
            listing::tools(&*llm, &parts, &index, eager).await?.to_string()
        }
    };
    say(&list)?;
    Ok(ExitCode::SUCCESS)
}
