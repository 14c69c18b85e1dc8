//! What the rows add up to: the numbers of `tiro eval`, as JSON and as a table.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
};

use serde::{Deserialize, Serialize};

use super::judge::Row;

/// The report of a run: `tiro eval --json`. Its shape is stable (`docs/json.md`).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// What it adds up to.
    pub summary: Summary,
    /// Every turn.
    pub rows: Vec<Row>,
    /// The same scenarios with other ways of prompting, in the same run.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub beside: BTreeMap<String, Summary>,
}

/// What the rows add up to. Accuracies and shares are fractions; `null` where there is nothing to divide by.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// Turns.
    pub n: usize,
    /// Scenarios.
    pub scenarios: usize,
    /// Scenarios of which every turn was right in everything.
    pub passed: usize,
    /// Of the turns for which there is a right tool, those that called it.
    pub tool_accuracy: Option<f64>,
    /// Of the turns that say what the arguments are, those with the right tool and right arguments.
    pub argument_accuracy: Option<f64>,
    /// Of the times among the arguments, those that were right.
    pub time_accuracy: Option<f64>,
    /// Of the turns in which no tool may act, those in which one did.
    pub false_actions: Option<f64>,
    /// Of all turns, those with a world as it should be.
    pub state_accuracy: Option<f64>,
    /// Of the turns whose right tools are deferred, those that looked for it after the model had begun.
    pub round_trips: Option<f64>,
    /// Mean tokens of a turn.
    pub tokens: MeanTokens,
    /// Prompt tokens of a turn that were evaluated and not cached.
    pub evaluated: Spread,
    /// Milliseconds from the words, or the end of the recording, to the answer.
    pub ms: Spread,
    /// Milliseconds of recognition; `null` without recordings.
    pub hearing_ms: Option<Spread>,
    /// Mean generations of a turn.
    pub steps: f64,
    /// Milliseconds to load the model and its prefix, before the first turn.
    pub load_ms: f32,
    /// The model.
    pub model: String,
    /// The turns that were carried out without asking the model.
    #[serde(default)]
    pub reflex: Part,
    /// The turns in which the model was asked.
    #[serde(default)]
    pub asked: Part,
    /// By domain of the right tool; `none` where no tool may act.
    pub domains: BTreeMap<String, Domain>,
}

/// Mean tokens of a turn.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct MeanTokens {
    /// Prompt tokens of all generations.
    pub prompt: f64,
    /// Of which the KV cache held.
    pub cached: f64,
    /// Written.
    pub generated: f64,
}

/// The middle and the slow end.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Spread {
    /// Half of the turns take no more.
    pub p50: f64,
    /// 95 of 100 turns take no more.
    pub p95: f64,
}

/// Some of the turns.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Part {
    /// How many.
    pub n: usize,
    /// Their share of all.
    pub share: Option<f64>,
    /// With the right tool, or none where none may act; a fraction of them.
    pub tool_accuracy: Option<f64>,
    /// Right in everything; a fraction of them.
    pub passed: Option<f64>,
    /// Milliseconds from the words to the answer.
    pub ms: Spread,
}

impl Part {
    fn of(rows: &[Row], belongs: impl Fn(&Row) -> bool) -> Part {
        let part: Vec<&Row> = rows.iter().filter(|row| belongs(row)).collect();
        let of_them =
            |right: fn(&Row) -> bool| share(part.iter().filter(|row| right(row)).count(), part.len());
        Part {
            n: part.len(),
            share: share(part.len(), rows.len()),
            tool_accuracy: of_them(|row| row.tool),
            passed: of_them(|row| row.passed),
            ms: Spread::of(part.iter().map(|row| f64::from(row.ms.total - row.ms.stt))),
        }
    }
}

/// One domain.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Domain {
    /// Turns.
    pub n: usize,
    /// With the right tool, or none where none may act.
    pub tool: usize,
    /// Right in everything.
    pub passed: usize,
}

impl Summary {
    /// Adds rows up.
    pub fn of(rows: &[Row], model: &str, load_ms: f32) -> Summary {
        let asked = || rows.iter().filter(|row| !row.accept.is_empty());
        let idle = || rows.iter().filter(|row| row.accept.is_empty());
        let filled = || {
            rows.iter()
                .filter_map(|row| row.arguments.map(|right| right && row.tool))
        };
        let deferred = || rows.iter().filter(|row| row.deferred);
        let (right_times, times) = rows
            .iter()
            .fold((0, 0), |sum, row| (sum.0 + row.times.0, sum.1 + row.times.1));
        let failed: BTreeSet<&str> = rows
            .iter()
            .filter(|row| !row.passed)
            .map(|row| row.id.as_str())
            .collect();
        let scenarios: BTreeSet<&str> = rows.iter().map(|row| row.id.as_str()).collect();
        let heard: Vec<f64> = rows
            .iter()
            .map(|row| f64::from(row.ms.stt))
            .filter(|ms| *ms > 0.0)
            .collect();
        let mean = |of: &dyn Fn(&Row) -> u32| {
            rows.iter().map(|row| f64::from(of(row))).sum::<f64>() / rows.len().max(1) as f64
        };
        let mut domains: BTreeMap<String, Domain> = BTreeMap::new();
        for row in rows {
            let domain = domains.entry(domain(row).to_owned()).or_default();
            domain.n += 1;
            domain.tool += usize::from(row.tool);
            domain.passed += usize::from(row.passed);
        }
        Summary {
            n: rows.len(),
            scenarios: scenarios.len(),
            passed: scenarios.len() - failed.len(),
            tool_accuracy: share(asked().filter(|row| row.tool).count(), asked().count()),
            argument_accuracy: share(filled().filter(|right| *right).count(), filled().count()),
            time_accuracy: share(right_times, times),
            false_actions: share(idle().filter(|row| !row.tool).count(), idle().count()),
            state_accuracy: share(rows.iter().filter(|row| row.state).count(), rows.len()),
            round_trips: share(
                deferred().filter(|row| row.round_trip).count(),
                deferred().count(),
            ),
            tokens: MeanTokens {
                prompt: mean(&|row| row.tokens.prompt),
                cached: mean(&|row| row.tokens.cached),
                generated: mean(&|row| row.tokens.generated),
            },
            evaluated: Spread::of(rows.iter().map(|row| f64::from(row.evaluated))),
            ms: Spread::of(rows.iter().map(|row| f64::from(row.ms.total))),
            hearing_ms: (!heard.is_empty()).then(|| Spread::of(heard)),
            steps: mean(&|row| row.steps),
            load_ms,
            model: model.to_owned(),
            reflex: Part::of(rows, |row| row.reflex),
            asked: Part::of(rows, |row| row.steps > 0),
            domains,
        }
    }

    /// A table for people.
    pub fn table(&self, beside: &BTreeMap<String, Summary>) -> String {
        let mut columns = vec![("tiro", self)];
        columns.extend(beside.iter().map(|(name, summary)| (name.as_str(), summary)));
        let mut out = String::new();
        if columns.len() > 1 {
            let _ = write!(out, "{:<34}", "");
            for (name, _) in &columns {
                let _ = write!(out, "{name:>16}");
            }
            out.push('\n');
        }
        let mut line = |name: &str, cell: &dyn Fn(&Summary) -> String| {
            let _ = write!(out, "{name:<34}");
            for (_, summary) in &columns {
                let _ = write!(out, "{:>16}", cell(summary));
            }
            out.push('\n');
        };
        line("scenarios right in everything", &|s| {
            format!("{} of {}", s.passed, s.scenarios)
        });
        line("right tool", &|s| percent(s.tool_accuracy));
        line("right arguments", &|s| percent(s.argument_accuracy));
        line("right times", &|s| percent(s.time_accuracy));
        line("acted where no tool may", &|s| percent(s.false_actions));
        line("world as it should be", &|s| percent(s.state_accuracy));
        line("deferred: round trip", &|s| percent(s.round_trips));
        line("new prompt tokens, p50 / p95", &|s| spread(s.evaluated));
        line("milliseconds, p50 / p95", &|s| spread(s.ms));
        line("  of which hearing", &|s| {
            s.hearing_ms.map_or("-".to_owned(), spread)
        });
        line("by reflex, without the model", &|s| percent(s.reflex.share));
        line("  right tool", &|s| percent(s.reflex.tool_accuracy));
        line("  milliseconds, p50 / p95", &|s| fine(s.reflex.ms));
        line("asked the model", &|s| percent(s.asked.share));
        line("  right tool", &|s| percent(s.asked.tool_accuracy));
        line("  milliseconds, p50 / p95", &|s| spread(s.asked.ms));
        out
    }
}

impl Spread {
    /// Of these values, by nearest rank.
    pub fn of(values: impl IntoIterator<Item = f64>) -> Spread {
        let mut all: Vec<f64> = values.into_iter().collect();
        all.sort_by(f64::total_cmp);
        let at = |share: f64| {
            let rank = (share * all.len() as f64).ceil().max(1.0) as usize;
            all.get(rank - 1).copied().unwrap_or_default()
        };
        Spread {
            p50: at(0.5),
            p95: at(0.95),
        }
    }
}

/// The domain that a row is counted for.
pub fn domain(row: &Row) -> &str {
    let first = row.accept.first();
    first.map_or("none", |name| name.split('.').next().unwrap_or(name))
}

/// A fraction; `None` of nothing.
fn share(part: usize, of: usize) -> Option<f64> {
    (of > 0).then(|| part as f64 / of as f64)
}

/// A fraction for people.
pub fn percent(share: Option<f64>) -> String {
    share.map_or("-".to_owned(), |share| format!("{:.1} %", share * 100.0))
}

fn spread(spread: Spread) -> String {
    format!("{:.0} / {:.0}", spread.p50, spread.p95)
}

/// What takes a few milliseconds wants a decimal.
fn fine(spread: Spread) -> String {
    format!("{:.1} / {:.1}", spread.p50, spread.p95)
}
