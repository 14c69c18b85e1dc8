//! How fast the discovery index answers and is built: `cargo bench -p tools --bench discovery`.
//!
//! Criterion gives the time of one round over all queries; the median and the 99th percentile of single searches are
//! printed first, since it does not say those.

use std::{
    hint::black_box,
    io::{self, Write as _},
    time::{Duration, Instant},
};

use criterion::{Criterion, criterion_group, criterion_main};
use tools::{
    ALL,
    discover::{Doc, Index, MIN_SCORE},
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
const ROUNDS: usize = 200;

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
    for n in [105, 5_000] {
        let index = Index::build(docs(n));
        percentiles(&index, n);
        c.bench_function(&format!("search/{n}, {} queries", QUERIES.len()), |b| {
            b.iter(|| {
                QUERIES
                    .iter()
                    .map(|q| index.search(black_box(q), None, 5, MIN_SCORE).len())
                    .sum::<usize>()
            });
        });
        c.bench_function(&format!("build/{n}"), |b| {
            b.iter_batched(|| docs(n), Index::build, criterion::BatchSize::LargeInput);
        });
    }
}

fn percentiles(index: &Index, n: usize) {
    let mut times: Vec<Duration> = Vec::with_capacity(ROUNDS * QUERIES.len());
    for query in QUERIES.iter().cycle().take(ROUNDS * QUERIES.len()) {
        let start = Instant::now();
        black_box(index.search(black_box(query), None, 5, MIN_SCORE));
        times.push(start.elapsed());
    }
    times.sort();
    let (median, high) = (times[times.len() / 2], times[times.len() * 99 / 100]);
    // A closed standard output is no reason to stop measuring.
    let _ = writeln!(
        io::stdout(),
        "{n} tools, one search: p50 {median:?}, p99 {high:?}"
    );
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(20);
    targets = discovery
}
criterion_main!(benches);
