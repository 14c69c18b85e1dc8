//! How well the discovery index finds tools, beside what others do, in one run:
//!
//! ```text
//! cargo run --release -p tools --example discovery_quality
//! ```
//! It reads `slurp/commands.jsonl` and `livemcpbench/tools.json` of the evaluation data (`TIRO_DATA`, else beside the
//! workspace), and the requests of `tools/data/held-out.tsv`. The model learned from none of them (`src/bin/train_discovery`).

mod noise;
mod peers;

use std::{
    collections::BTreeSet,
    fs,
    io::{self, Write},
    path::{Path, PathBuf},
};

use peers::Ranker;
use serde_json::Value;
use tools::{
    ALL,
    discover::{ACT_SCORE, Doc, Index, MIN_SCORE, SHOW_SCORE},
};

type Failure = Box<dyn std::error::Error>;

/// A command as it was said and as a recogniser heard it, and the tools that may serve it.
struct Command {
    say: String,
    asr: String,
    accept: BTreeSet<String>,
}

fn main() -> Result<(), Failure> {
    let data = std::env::var_os("TIRO_DATA").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/data"),
        PathBuf::from,
    );
    let commands = commands(&data.join("slurp/commands.jsonl"))?;
    let docs: Vec<Doc> = ALL.iter().map(Doc::from).collect();
    let served: Vec<&Command> = commands.iter().filter(|c| !c.accept.is_empty()).collect();
    let mut out = io::stdout().lock();
    writeln!(
        out,
        "{} tools, {} commands of slurp: an accepted tool in the top 1, 3, 5, in %",
        docs.len(),
        served.len()
    )?;
    writeln!(out, "{:22} {:>20} {:>20}", "", "as heard", "as said")?;
    let ours = Ours(Index::build(docs.clone()));
    let mut rankers: Vec<Box<dyn Ranker>> = vec![Box::new(Ours(Index::build(docs.clone())))];
    rankers.extend(peers::all(&docs));
    for ranker in &rankers {
        let heard = hits(ranker.as_ref(), &docs, &served, |c| &c.asr);
        let said = hits(ranker.as_ref(), &docs, &served, |c| &c.say);
        writeln!(
            out,
            "{:22} {:>20} {:>20}",
            ranker.name(),
            percent(heard),
            percent(said)
        )?;
    }
    refusing(&ours.0, &commands, &mut out)?;

    let own = held_out()?;
    let own: Vec<&Command> = own.iter().collect();
    writeln!(
        out,
        "\n{} requests for the tools that public sets lack (tools/data/held-out.tsv)",
        own.len()
    )?;
    for ranker in &rankers {
        let found = hits(ranker.as_ref(), &docs, &own, |c| &c.say);
        writeln!(out, "{:22} {:>20}", ranker.name(), percent(found))?;
    }
    misses(&ours.0, &own, &mut out)?;
    names(&docs, &mut out)?;

    let mut crowded = docs.clone();
    crowded.extend(foreign(&data.join("livemcpbench/tools.json"))?);
    writeln!(out, "\namong {} foreign tools", crowded.len() - docs.len())?;
    let ours = Ours(Index::build(crowded.clone()));
    let heard = hits(&ours, &crowded, &served, |c| &c.asr);
    let said = hits(&ours, &crowded, &served, |c| &c.say);
    writeln!(
        out,
        "{:22} {:>20} {:>20}",
        "Tiro, slurp",
        percent(heard),
        percent(said)
    )?;
    let found = hits(&ours, &crowded, &own, |c| &c.say);
    writeln!(out, "{:22} {:>41}", "Tiro, held-out.tsv", percent(found))?;
    Ok(())
}

/// Whether to print what was not found.
fn wants_misses() -> bool {
    std::env::args().any(|a| a == "--misses")
}

/// What was said and found instead, when that is asked for.
fn misses(index: &Index, commands: &[&Command], out: &mut impl Write) -> io::Result<()> {
    for command in commands.iter().filter(|_| wants_misses()) {
        let found = index.search(&command.say, None, 3, 0.0);
        if !found
            .first()
            .is_some_and(|hit| command.accept.contains(&hit.name))
        {
            let found: Vec<String> = found
                .iter()
                .map(|hit| format!("{} {:.2}", hit.name, hit.score))
                .collect();
            writeln!(
                out,
                "  {:?} {:?}: {}",
                command.accept,
                command.say,
                found.join(", ")
            )?;
        }
    }
    Ok(())
}

struct Ours(Index);

impl Ranker for Ours {
    fn name(&self) -> &'static str {
        "Tiro"
    }

    fn rank(&self, query: &str, k: usize) -> Vec<usize> {
        let place = |name: &str| self.0.docs().iter().position(|d| d.name == name);
        self.0
            .search(query, None, k, 0.0)
            .iter()
            .filter_map(|hit| place(&hit.name))
            .collect()
    }
}

fn hits(ranker: &dyn Ranker, docs: &[Doc], commands: &[&Command], text: fn(&Command) -> &String) -> [f32; 3] {
    let mut hits = [0; 3];
    for command in commands {
        let found = ranker.rank(text(command), 5);
        let rank = found.iter().position(|d| command.accept.contains(&docs[*d].name));
        for (hits, k) in hits.iter_mut().zip([1, 3, 5]) {
            *hits += usize::from(rank.is_some_and(|r| r < k));
        }
    }
    hits.map(|h| share(h, commands.len()))
}

/// What the thresholds let through: of commands that nothing serves, and of those that something does.
fn refusing(index: &Index, commands: &[Command], out: &mut impl Write) -> io::Result<()> {
    writeln!(
        out,
        "as heard, best tool at least so good | served: right, wrong, none; top 5 lost | not served: none"
    )?;
    let mut thresholds = vec![("min", MIN_SCORE), ("show", SHOW_SCORE), ("act", ACT_SCORE)];
    thresholds.extend([0.1, 0.2, 0.3, 0.5, 0.6].map(|t| ("", t)));
    for (name, threshold) in thresholds {
        let (mut served, mut right, mut wrong, mut lost, mut nobody, mut silent) = (0, 0, 0, 0, 0, 0);
        for command in commands {
            let found = index.search(&command.asr, None, 5, 0.0);
            let confident = found.first().filter(|hit| hit.score >= threshold);
            if command.accept.is_empty() {
                nobody += 1;
                silent += usize::from(confident.is_none());
                continue;
            }
            let ok = |name: &String| command.accept.contains(name);
            served += 1;
            right += usize::from(confident.is_some_and(|hit| ok(&hit.name)));
            wrong += usize::from(confident.is_some_and(|hit| !ok(&hit.name)));
            lost += usize::from(confident.is_none() && found.iter().any(|hit| ok(&hit.name)));
        }
        let none = served - right - wrong;
        writeln!(
            out,
            "  {name:5} {threshold:.2} | {:5.1} {:5.1} {:5.1}; {:5.1} | {:5.1} of {nobody}",
            share(right, served),
            share(wrong, served),
            share(none, served),
            share(lost, served),
            share(silent, nobody)
        )?;
    }
    Ok(())
}

fn names(docs: &[Doc], out: &mut impl Write) -> io::Result<()> {
    let index = Index::build(docs.to_vec());
    let all: Vec<String> = docs.iter().map(|d| d.name.clone()).collect();
    let noisy = noise::noisy(&all);
    write!(out, "spoken names with noise, top 1:")?;
    for kind in noise::KINDS.into_iter().chain(["all"]) {
        let of = noisy.iter().filter(|n| kind == "all" || n.1 == kind);
        let (mut n, mut right) = (0, 0);
        for (tool, _, spoken) in of {
            n += 1;
            let found = index.search(spoken, None, 1, 0.0);
            let hit = found.first().is_some_and(|hit| hit.name == all[*tool]);
            right += usize::from(hit);
            if !hit && wants_misses() {
                writeln!(out, "  {} <- {spoken:?}: {found:?}", all[*tool])?;
            }
        }
        write!(out, " {kind} {:.1} of {n};", share(right, n))?;
    }
    writeln!(out)
}

fn commands(file: &Path) -> Result<Vec<Command>, Failure> {
    let mut all = Vec::new();
    for line in fs::read_to_string(file)?.lines() {
        let line: Value = serde_json::from_str(line)?;
        let text = |field: &str| line[field].as_str().unwrap_or_default().to_owned();
        let accept = line["accept"].as_array().ok_or("a line without accept")?;
        all.push(Command {
            say: text("say"),
            asr: text("asr"),
            accept: accept
                .iter()
                .filter_map(Value::as_str)
                .map(str::to_owned)
                .collect(),
        });
    }
    Ok(all)
}

/// Requests that we wrote for tools of which no public set has any.
fn held_out() -> Result<Vec<Command>, Failure> {
    let mut all = Vec::new();
    for line in include_str!("../../data/held-out.tsv").lines() {
        let (accept, say) = line.split_once('\t').ok_or("a line without a tab")?;
        all.push(Command {
            say: say.to_owned(),
            asr: say.to_owned(),
            accept: accept.split(',').map(str::to_owned).collect(),
        });
    }
    Ok(all)
}

/// The tools of other people's servers, as MCP would bring them.
fn foreign(file: &Path) -> Result<Vec<Doc>, Failure> {
    let servers: Value = serde_json::from_str(&fs::read_to_string(file)?)?;
    let mut docs = Vec::new();
    for server in servers.as_array().into_iter().flatten() {
        for (id, listed) in server["tools"].as_object().into_iter().flatten() {
            for tool in listed["tools"].as_array().into_iter().flatten() {
                let properties = tool["inputSchema"]["properties"].as_object();
                docs.push(Doc {
                    name: format!("{id}.{}", tool["name"].as_str().unwrap_or_default()),
                    summary: tool["description"].as_str().unwrap_or_default().to_owned(),
                    parameters: properties
                        .map(|p| p.keys().cloned().collect())
                        .unwrap_or_default(),
                    examples: Vec::new(),
                });
            }
        }
    }
    Ok(docs)
}

fn share(n: usize, of: usize) -> f32 {
    100.0 * n as f32 / of.max(1) as f32
}

fn percent(hits: [f32; 3]) -> String {
    hits.map(|h| format!("{h:5.1}")).join(" ")
}
