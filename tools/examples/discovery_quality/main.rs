//! How well the discovery index finds tools, beside what others do, in one run:
//!
//! ```text
//! cargo run --release -p tools --example discovery_quality
//! ```
//! It reads `slurp/commands.jsonl` and `livemcpbench/tools.json` of the evaluation data (`TIRO_DATA`, else beside the
//! workspace). Nothing here was tuned on: the model and the mix come from `examples/train_discovery`.

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

/// The tools of DESIGN section 4 that the catalogue lacks so far: name and one line, nothing else.
const PLANNED: &str = include_str!("planned.tsv");

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
    let today: Vec<Doc> = ALL.iter().map(Doc::from).collect();
    let planned = PLANNED.lines().filter_map(|l| l.split_once('\t'));
    let mut full = today.clone();
    full.extend(
        planned
            .filter(|p| tools::find(p.0).is_none())
            .map(|(name, summary)| Doc {
                name: name.to_owned(),
                summary: summary.to_owned(),
                parameters: Vec::new(),
                examples: Vec::new(),
            }),
    );
    let mut out = io::stdout().lock();
    for (label, docs) in [
        ("(a) today's tools, commands all of whose tools exist", &today),
        (
            "(b) the full list; tools that do not exist yet have a name and one line",
            &full,
        ),
    ] {
        writeln!(out, "\n{label}: {} tools", docs.len())?;
        let known = |name: &String| docs.iter().any(|d| d.name == *name);
        let served: Vec<&Command> = commands
            .iter()
            .filter(|c| !c.accept.is_empty() && c.accept.iter().all(known))
            .collect();
        let mut rankers: Vec<Box<dyn Ranker>> = vec![Box::new(Ours(Index::build(docs.clone())))];
        rankers.extend(peers::all(docs));
        writeln!(
            out,
            "{:22} {:>20} {:>20}   ({} commands; top 1, 3, 5 in %)",
            "",
            "as heard",
            "as said",
            served.len()
        )?;
        for ranker in &rankers {
            let heard = hits(ranker.as_ref(), docs, &served, |c| &c.asr);
            let said = hits(ranker.as_ref(), docs, &served, |c| &c.say);
            writeln!(
                out,
                "{:22} {:>20} {:>20}",
                ranker.name(),
                percent(heard),
                percent(said)
            )?;
        }
        refusing(&Index::build(docs.clone()), &commands, &mut out)?;
        names(docs, &mut out)?;
    }
    let mut crowded = full.clone();
    crowded.extend(foreign(&data.join("livemcpbench/tools.json"))?);
    writeln!(
        out,
        "\n(c) the full list among {} foreign tools",
        crowded.len() - full.len()
    )?;
    let served: Vec<&Command> = commands.iter().filter(|c| !c.accept.is_empty()).collect();
    let ours = Ours(Index::build(crowded.clone()));
    let heard = hits(&ours, &crowded, &served, |c| &c.asr);
    let said = hits(&ours, &crowded, &served, |c| &c.say);
    writeln!(out, "{:22} {:>20} {:>20}", "Tiro", percent(heard), percent(said))?;
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
    let known = |name: &String| index.docs().iter().any(|d| d.name == *name);
    writeln!(
        out,
        "thresholds, as heard: best tool at least so good | served: right, wrong, none | not served: none"
    )?;
    let mut thresholds = vec![("min", MIN_SCORE), ("show", SHOW_SCORE), ("act", ACT_SCORE)];
    thresholds.extend([0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6].map(|t| ("", t)));
    for (name, threshold) in thresholds {
        let (mut served, mut right, mut wrong, mut nobody, mut silent) = (0, 0, 0, 0, 0);
        for command in commands {
            let found = index.search(&command.asr, None, 1, threshold);
            // Some of the tools exist, some do not: whether to act cannot be judged.
            match command.accept.iter().filter(|n| known(n)).count() {
                0 => {
                    nobody += 1;
                    silent += usize::from(found.is_empty());
                }
                n if n == command.accept.len() => {
                    served += 1;
                    let ok = found.first().map(|hit| command.accept.contains(&hit.name));
                    right += usize::from(ok == Some(true));
                    wrong += usize::from(ok == Some(false));
                }
                _ => {}
            }
        }
        let none = served - right - wrong;
        writeln!(
            out,
            "  {name:5} {threshold:.2} | {:5.1} {:5.1} {:5.1} | {:5.1} of {nobody}",
            share(right, served),
            share(wrong, served),
            share(none, served),
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
            if !hit && std::env::args().any(|a| a == "--misses") {
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
