//! `tiro discover`: rank tools for a query.

use std::{
    io::{BufRead as _, Write as _},
    process::ExitCode,
    time::Instant,
};

use serde_json::json;
use tools::discover::{Index, Match, Tier};

use super::{DiscoverArgs, app::App, say};

/// Longest query line that is read; more than anybody says in one breath.
const MAX_LINE: usize = 4096;

/// Ranks tools for one query, or for each line of stdin with `--batch`.
pub fn run(app: &App, args: &DiscoverArgs) -> anyhow::Result<ExitCode> {
    let index = Index::of(tools::ALL).reading(app.reader());
    if args.batch {
        let mut out = std::io::stdout().lock();
        for line in std::io::stdin().lock().lines() {
            let line = line?;
            anyhow::ensure!(line.len() <= MAX_LINE, "a query has more than {MAX_LINE} bytes");
            writeln!(out, "{}", rank(&index, &line, args).1)?;
        }
        return Ok(ExitCode::SUCCESS);
    }
    let query = args.query.as_deref().unwrap_or_default();
    let (hits, row) = rank(&index, query, args);
    if args.json {
        say(&row.to_string())?;
    } else {
        for hit in &hits {
            let why = if args.explain { &hit.why } else { "" };
            let row = format!("{:.2}  {:<24} {:<8} {why}", hit.score, hit.name, tier(hit.tier));
            say(row.trim_end())?;
        }
    }
    Ok(if hits.is_empty() {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    })
}

fn rank(index: &Index, query: &str, args: &DiscoverArgs) -> (Vec<Match>, serde_json::Value) {
    let started = Instant::now();
    let hits = index.search(query, args.domain.as_deref(), args.top_k.into(), 0.0);
    let micros = started.elapsed().as_micros() as u64;
    let rows: Vec<_> = hits
        .iter()
        .map(|h| {
            let mut row = json!({"name": h.name, "score": h.score, "tier": tier(h.tier)});
            if args.explain {
                row["why"] = json!(h.why);
            }
            row
        })
        .collect();
    let row = json!({"query": query, "hits": rows, "micros": micros});
    (hits, row)
}

fn tier(tier: Tier) -> &'static str {
    match tier {
        Tier::Exact => "exact",
        Tier::Name => "name",
        Tier::Keyword => "keyword",
        Tier::Learned => "learned",
        Tier::Bm25 => "bm25",
    }
}
