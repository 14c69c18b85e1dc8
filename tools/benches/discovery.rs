//! How fast the discovery index answers and is built, beside the plain `bm25` crate over the same texts in the same run:
//! `cargo bench -p tools --bench discovery`.
//!
//! First come the median and the 99th percentile of single searches, which criterion does not say, over the misheard
//! requests of slurp (`TIRO_DATA`, else beside the workspace; without them over a few of our own), and the median of
//! building. A ratio is our time over the crate's: what a slow or busy machine does to one it does to the other.

use std::{
    fs,
    hint::black_box,
    io::{self, Write as _},
    path::Path,
    time::{Duration, Instant},
};

use criterion::{Criterion, criterion_group, criterion_main};
use tools::{
    ALL,
    discover::{Doc, Index, MIN_SCORE},
    reflex::Reflexes,
};

/// What people say: long and short, clear and misheard, served and not.
const QUERIES: &[&str] = &[
    "wake me up at seven tomorrow morning",
    "what do i have on my calendar next friday afternoon after lunch",
    "set a timer for ten minutes",
    "please remind me to water the plants when i get home from work on thursday",
    "calender quary",
    "could you tell me who sang that song about the yellow submarine",
    "ad milk and eggs to the shopping lest",
    "undo that",
    "how many ounces are there in a pound and a half of butter",
    "tell me a joke",
];
/// At least so many searches are timed.
const SEARCHES: usize = 4_000;
const BUILDS: usize = 15;
/// The smaller index that is measured: our own tools.
const OURS: usize = ALL.len();
const MANY: usize = 5_000;

/// So many tools: ours, and beside them foreign ones with made up words of their own.
fn docs(n: usize) -> Vec<Doc> {
    let foreign = (ALL.len()..n).map(|i| {
        let verb = ["get", "list", "create", "update", "delete", "search"][i % 6];
        let thing = [
            "ticket", "page", "invoice", "commit", "flight", "patient", "stock", "recipe",
        ][i / 6 % 8];
        Doc {
            name: format!("server{}.{verb}_{thing}_{i}", i / 40),
            summary: format!(
                "{verb} a {thing} of project number {i} by its name, owner and time of the last change"
            ),
            parameters: vec![format!("{thing}_id"), "owner".to_owned(), format!("field{i}")],
            examples: Vec::new(),
        }
    });
    ALL.iter().map(Doc::from).chain(foreign).collect()
}

fn discovery(c: &mut Criterion) {
    let requests = requests();
    for n in [OURS, MANY] {
        let index = Index::build(docs(n));
        compare(&index, n, &requests);
        c.bench_function(&format!("search/{n}, {} queries", QUERIES.len()), |b| {
            b.iter(|| {
                QUERIES
                    .iter()
                    .map(|q| index.search(black_box(q), None, TOP, MIN_SCORE).len())
                    .sum::<usize>()
            });
        });
        c.bench_function(&format!("build/{n}"), |b| {
            b.iter_batched(|| docs(n), Index::build, criterion::BatchSize::LargeInput);
        });
    }
}

/// As many as the agent looks at.
const TOP: usize = 5;

/// Searches and builds by turns with the plain crate.
fn compare(index: &Index, n: usize, requests: &[String]) {
    let texts: Vec<String> = index.docs().iter().map(text).collect();
    let plain = bm25::SearchEngineBuilder::<u32>::with_corpus(bm25::Language::English, texts.clone()).build();
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for _ in 0..SEARCHES.div_ceil(requests.len()) {
        for request in requests {
            ours.push(timed(|| index.search(black_box(request), None, TOP, MIN_SCORE)));
            theirs.push(timed(|| plain.search(black_box(request), TOP)));
        }
    }
    let (mut built, mut plainly) = (Vec::new(), Vec::new());
    for _ in 0..BUILDS {
        let (docs, texts) = (docs(n), texts.clone());
        built.push(timed(|| Index::build(docs)));
        let builder = || bm25::SearchEngineBuilder::<u32>::with_corpus(bm25::Language::English, texts);
        plainly.push(timed(|| builder().build()));
    }
    let say = |what: &str, at: usize, ours: &mut [Duration], theirs: &mut [Duration]| {
        let at = |times: &mut [Duration]| {
            times.sort();
            times[times.len() * at / 100]
        };
        let (ours, theirs) = (at(ours), at(theirs));
        let ratio = ours.as_secs_f64() / theirs.as_secs_f64();
        // A closed standard output is no reason to stop measuring.
        let _ = writeln!(
            io::stdout(),
            "{n} tools, {what}: {ours:.1?}, the plain crate {theirs:.1?}, ratio {ratio:.2}"
        );
    };
    say("one search, p50", 50, &mut ours, &mut theirs);
    say("one search, p99", 99, &mut ours, &mut theirs);
    say("built, p50", 50, &mut built, &mut plainly);
}

fn timed<T>(work: impl FnOnce() -> T) -> Duration {
    let start = Instant::now();
    let made = black_box(work());
    let took = start.elapsed();
    // What it takes to give the memory back is nobody's waiting time.
    drop(made);
    took
}

/// How long it takes to see that a request needs no model, or that it needs one.
fn reflexes(c: &mut Criterion) {
    let (requests, reflexes) = (requests(), Reflexes::of(ALL));
    let mut at = 0;
    c.bench_function("reflex", |b| {
        b.iter(|| {
            at = (at + 1) % requests.len();
            black_box(reflexes.find(&requests[at]))
        });
    });
}

/// What the plain crate is given of a tool: all its words.
fn text(doc: &Doc) -> String {
    let name = doc.name.replace(['.', '_'], " ");
    let (parameters, examples) = (doc.parameters.join(" "), doc.examples.join(" "));
    format!("{name} {} {parameters} {examples}", doc.summary)
}

/// The misheard requests, or our own when they are not there.
fn requests() -> Vec<String> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/data");
    let data = std::env::var_os("TIRO_DATA").map_or(beside, Into::into);
    let text = fs::read_to_string(data.join("slurp/commands.jsonl")).unwrap_or_default();
    let said = |line: &str| {
        let line: serde_json::Value = serde_json::from_str(line).ok()?;
        line["asr"].as_str().map(str::to_owned)
    };
    let requests: Vec<String> = text.lines().filter_map(said).collect();
    match requests.is_empty() {
        true => QUERIES.iter().map(|q| (*q).to_owned()).collect(),
        false => requests,
    }
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(20);
    targets = discovery, reflexes
}
criterion_main!(benches);
