//! Trains the linear model of the discovery index from public requests, offline and to the same bits each time:
//!
//! ```text
//! cargo run --release -p tools --bin train_discovery            writes tools/data/discovery.bin
//! cargo run --release -p tools --bin train_discovery -- --check trains and compares, exit 1 when it differs
//! cargo run --release -p tools --bin train_discovery -- --cross cross-validates the model and the mix
//! ```
//! It reads `train/utterances.jsonl` of the evaluation data (`TIRO_DATA`, else beside the workspace), and `tools/data/requests.tsv` for the
//! tools that those lack. It never learns from `slurp/commands.jsonl` and the files `held-out` of `tools/data`: they are only looked at
//! to leave out requests that are the same but for punctuation.

mod cross;
mod fit;
mod random;
mod recogniser;

use std::{
    collections::BTreeSet,
    fs, io,
    io::Write as _,
    path::{Path, PathBuf},
    process::ExitCode,
};

use serde_json::Value;
use sha2::{Digest as _, Sha256};
use tools::discover::learned::{Head, Learned};

/// Requests that the quality of the index is measured with, so none of them is learned.
const HELD_OUT: [&str; 3] = [
    include_str!("../../../data/held-out.tsv"),
    include_str!("../../../data/held-out-none.tsv"),
    include_str!("../../../data/held-out-places.tsv"),
];

/// What stands for a tool where none does what was asked.
const NOTHING: &str = "-";

/// What a request that was written for this project counts beside one that somebody said: there are as many, and people
/// differ more than the authors do.
const OURS: f32 = 0.65;

type Failure = Box<dyn std::error::Error>;

/// One request of somebody and the tools that may serve it, sorted.
#[derive(Debug, Clone, PartialEq)]
struct Utterance {
    say: String,
    accept: Vec<String>,
    /// What it counts beside others.
    weight: f32,
}

/// What there is to learn from.
struct Corpus {
    utterances: Vec<Utterance>,
    sha256: String,
    left_out: usize,
}

fn main() -> Result<ExitCode, Failure> {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let data = std::env::var_os("TIRO_DATA").map_or_else(|| workspace.join("../shared/data"), PathBuf::from);
    let corpus = Corpus::read(&data, &workspace.join("tools/data/requests.tsv"))?;
    let mut out = io::stdout().lock();
    writeln!(
        out,
        "{} requests, {} left out because a test has them",
        corpus.utterances.len(),
        corpus.left_out
    )?;
    if std::env::args().any(|a| a == "--cross") {
        cross::report(&corpus.utterances, &mut out)?;
        return Ok(ExitCode::SUCCESS);
    }
    let bytes = train(&corpus)?;
    let file = workspace.join("tools/data/discovery.bin");
    writeln!(out, "{} bytes, SHA-256 {}", bytes.len(), hex(&bytes))?;
    if std::env::args().any(|a| a == "--check") {
        let same = fs::read(&file)? == bytes;
        writeln!(out, "{}", if same { "the same to the bit" } else { "DIFFERENT" })?;
        return Ok(ExitCode::from(u8::from(!same)));
    }
    fs::write(&file, bytes)?;
    Ok(ExitCode::SUCCESS)
}

/// The bytes of the model of a corpus.
fn train(corpus: &Corpus) -> Result<Vec<u8>, Failure> {
    let intents = intents(&corpus.utterances);
    let (bias, rows) = fit::fit(&corpus.utterances, &intents);
    let head = Head {
        intents,
        features: 0,
        trained_on: corpus.sha256.clone(),
        utterances: corpus.utterances.len(),
    };
    Ok(Learned::write(head, &bias, &rows)?)
}

impl Corpus {
    fn read(data: &Path, own: &Path) -> Result<Corpus, Failure> {
        let text = fs::read_to_string(data.join("train/utterances.jsonl"))?;
        let tests = fs::read_to_string(data.join("slurp/commands.jsonl"))?;
        let mut known = BTreeSet::new();
        for line in tests.lines() {
            let line: Value = serde_json::from_str(line)?;
            known.extend([&line["say"], &line["asr"]].map(|said| letters(said.as_str().unwrap_or_default())));
        }
        for line in HELD_OUT.iter().flat_map(|file| file.lines()) {
            let (_, say) = line.split_once('\t').ok_or("a line without a tab")?;
            known.insert(letters(say));
        }
        let mut utterances = Vec::new();
        for line in text.lines() {
            let line: Value = serde_json::from_str(line)?;
            let accept = line["accept"].as_array().ok_or("a line without accept")?;
            let mut accept: Vec<String> = accept
                .iter()
                .filter_map(Value::as_str)
                .map(str::to_owned)
                .collect();
            accept.sort();
            let say = line["say"].as_str().ok_or("a line without say")?.to_owned();
            utterances.push(Utterance {
                say,
                accept,
                weight: 1.0,
            });
        }
        let own = fs::read_to_string(own)?;
        for line in own.lines() {
            let (tool, say) = line.split_once('\t').ok_or("a line without a tab")?;
            utterances.push(Utterance {
                say: say.to_owned(),
                accept: (tool != NOTHING).then(|| tool.to_owned()).into_iter().collect(),
                weight: OURS,
            });
        }
        let all = utterances.len();
        utterances.retain(|u| !known.contains(&letters(&u.say)));
        Ok(Corpus {
            left_out: all - utterances.len(),
            sha256: hex(&[text.as_bytes(), own.as_bytes()].concat()),
            utterances,
        })
    }
}

/// Each set of tools that some request accepts, once.
fn intents(utterances: &[Utterance]) -> Vec<Vec<String>> {
    let once: BTreeSet<&Vec<String>> = utterances.iter().map(|u| &u.accept).collect();
    once.into_iter().cloned().collect()
}

/// What is left of a sentence without case, blanks and punctuation.
fn letters(text: &str) -> String {
    text.chars()
        .filter(|c| c.is_alphanumeric())
        .flat_map(char::to_lowercase)
        .collect()
}

fn hex(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|b| format!("{b:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use tools::discover::{
        learned::features,
        words::{self, Normaliser},
    };

    use super::*;

    /// A corpus that needs no file: commands with a different verb each.
    fn corpus() -> Corpus {
        let say = |n: usize| {
            let (verb, tool) = [("play", "media.play"), ("ring", "alarms.set"), ("sing", "")][n % 3];
            Utterance {
                say: format!(
                    "please {verb} number {} again",
                    ["abba", "bach", "cash", "dido"][n % 4]
                ),
                accept: Some(tool)
                    .filter(|t| !t.is_empty())
                    .map(str::to_owned)
                    .into_iter()
                    .collect(),
                weight: 1.0,
            }
        };
        Corpus {
            utterances: (0..60).map(say).collect(),
            sha256: hex(b""),
            left_out: 0,
        }
    }

    #[test]
    fn training_twice_gives_the_same_bits() {
        let first = train(&corpus()).unwrap();
        assert_eq!(first, train(&corpus()).unwrap());
        // Pinned, so that it is the same on every machine and with every compiler, too.
        assert_eq!(
            hex(&first),
            "2868627b158a81f6feab6f23b4d73e0845be6a956fe2145c15d3c0a8aa6aac56"
        );
    }

    #[test]
    fn what_it_learned_is_what_it_was_told() {
        let model = Learned::read(&train(&corpus()).unwrap()).unwrap();
        let best = |text: &str| {
            let p = model.log_probabilities(&features(&Normaliser::new(), &words::split(text)));
            let best = (0..p.len()).max_by(|a, b| p[*a].total_cmp(&p[*b])).unwrap();
            model.head().intents[best].join(" ")
        };
        assert_eq!(best("play abba"), "media.play");
        assert_eq!(best("ring bach"), "alarms.set");
        assert_eq!(best("sing dido"), "");
    }
}
