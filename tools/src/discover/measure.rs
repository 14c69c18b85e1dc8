//! How good the index is on commands as a real recogniser heard them, and the properties it must always have.

use std::{collections::BTreeSet, fs, time::Instant};

use serde_json::Value;

use super::*;
use crate::{ALL, testing};

/// A command with the tools that may serve it, among those that exist.
struct Command {
    text: String,
    accept: BTreeSet<String>,
}

/// Reads commands. Those that only a tool of the future serves together with one of today count with what is there;
/// those that nothing here serves must find nothing.
fn commands(file: &str, field: &str) -> Option<Vec<Command>> {
    let text = fs::read_to_string(testing::data(file)?).unwrap();
    let commands = text.lines().map(|line| {
        let line: Value = serde_json::from_str(line).unwrap();
        let accept = line["accept"]
            .as_array()
            .unwrap()
            .iter()
            .map(|a| a.as_str().unwrap().to_owned());
        Command {
            text: line[field].as_str().unwrap().to_owned(),
            accept: accept.filter(|name| crate::find(name).is_some()).collect(),
        }
    });
    Some(commands.collect())
}

/// Shares, 0 to 1.
#[derive(Debug)]
struct Quality {
    served: usize,
    hit_at: [f32; 3],
    /// Of those that nothing serves, how many find nothing.
    abstained: f32,
    /// Of those that something serves, how many find nothing.
    missed: f32,
}

fn measure(index: &Index, commands: &[Command], floor: f32) -> Quality {
    let (mut served, mut hits, mut missed, mut abstained) = (0, [0; 3], 0, 0);
    for command in commands {
        let found = index.search(&command.text, None, 5, floor);
        if command.accept.is_empty() {
            abstained += usize::from(found.is_empty());
            continue;
        }
        served += 1;
        missed += usize::from(found.is_empty());
        let rank = found.iter().position(|hit| command.accept.contains(&hit.name));
        for (hits, k) in hits.iter_mut().zip([1, 3, 5]) {
            *hits += usize::from(rank.is_some_and(|r| r < k));
        }
    }
    let share = |n: usize, of: usize| n as f32 / of.max(1) as f32;
    Quality {
        served,
        hit_at: hits.map(|h| share(h, served)),
        abstained: share(abstained, commands.len() - served),
        missed: share(missed, served),
    }
}

#[test]
fn misheard_commands_find_their_tools() {
    let Some(commands) = commands("slurp/commands.jsonl", "asr") else {
        return;
    };
    let index = Index::of(ALL);
    let all = measure(&index, &commands, 0.0);
    let floored = measure(&index, &commands, MIN_SCORE);
    println!(
        "{} commands over {} tools\n  no floor: {all:?}\n  floor {MIN_SCORE}: {floored:?}",
        commands.len(),
        ALL.len()
    );
    for floor in [0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.55, 0.6] {
        println!("  {floor}: {:?}", measure(&index, &commands, floor));
    }
}

#[test]
fn training_sweep() {
    let Some(commands) = commands("train/utterances.jsonl", "say") else {
        return;
    };
    let index = Index::of(ALL);
    for floor in [0.0, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.55, 0.6] {
        println!("  {floor}: {:?}", measure(&index, &commands, floor));
    }
}
