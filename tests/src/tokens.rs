//! What the prompt costs in the model's own tokens, counted by the real engine.

use serde::Deserialize;

use crate::program::Tiro;

/// What `tiro tools --json` prints, as far as it is needed here.
#[derive(Debug, Deserialize)]
struct Tools {
    tools: Vec<Row>,
    totals: Totals,
}

#[derive(Debug, Deserialize)]
struct Row {
    name: String,
    policy: String,
    /// Of its schema alone, between marks of its own.
    tokens: u32,
}

#[derive(Debug, Deserialize)]
struct Totals {
    core: u32,
    catalog: u32,
    eager: u32,
}

/// Tokens that persona, core tools and catalogue may take together: the whole static prefix.
const START: u32 = 900;

#[test]
fn real_prompt_keeps_to_its_tokens() {
    let Some(tiro) = Tiro::find() else { return };
    let ran = tiro.run(["tools", "--json"]);
    let counted: Tools = serde_json::from_str(&ran.expect_code(0).out).unwrap();
    let Totals { core, catalog, eager } = counted.totals;
    let start = core + catalog;

    let mut deferred: Vec<&Row> = counted
        .tools
        .iter()
        .filter(|row| row.policy == "deferred")
        .collect();
    deferred.sort_by_key(|row| std::cmp::Reverse(row.tokens));
    let largest = &deferred[..3];
    // Each is counted with marks of its own; the heading that they share in the prompt takes less than two pairs of them.
    let found = start + largest.iter().map(|row| row.tokens).sum::<u32>();
    let names: Vec<&str> = largest.iter().map(|row| row.name.as_str()).collect();
    println!(
        "start {start} tokens (core {core}, catalogue {catalog}), {:.1} % of the {eager} of everything; with {} {found}, {:.1} %",
        share(start, eager),
        names.join(", "),
        share(found, eager),
    );
    assert!(start <= START, "{start} tokens at the start, more than {START}");
    assert!(
        share(start, eager) <= 15.0,
        "{start} tokens of {eager} at the start"
    );
    assert!(
        share(found, eager) <= 20.0,
        "{found} tokens of {eager} with {names:?}"
    );
}

fn share(part: u32, whole: u32) -> f64 {
    100.0 * f64::from(part) / f64::from(whole)
}
