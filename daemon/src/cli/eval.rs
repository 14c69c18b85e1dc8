//! `tiro eval`: plays scenario files and says how much was right, how long it took and what it cost.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    process::ExitCode,
    sync::Arc,
    time::Duration,
};

use anyhow::{Context as _, ensure};
use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};
use models::scripted::ScriptedStt;
use serde_json::json;
use tools::system::store;

use super::{app::App, say};
use crate::{
    eval::{
        Player, Prompting, html,
        judge::Row,
        rehearsal::{self, Lines},
        scenario::{Reader, Scenario, Words},
        spoken::Spoken,
        summary::{Outcome, Summary},
    },
    reply::say_aside,
    world::World,
};

/// Arguments of `tiro eval`.
#[derive(Debug, Args)]
pub struct EvalArgs {
    /// Scenario files, one JSON object a line; see docs/eval.md.
    #[arg(required = true)]
    pub files: Vec<PathBuf>,
    /// Print {"summary","rows","beside"}.
    #[arg(long)]
    pub json: bool,
    /// Write a page with plots.
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Add one line of numbers to this file.
    #[arg(long, value_name = "FILE")]
    pub log: Option<PathBuf>,
    /// What that line is about: a commit, say.
    #[arg(long, value_name = "TEXT", requires = "log")]
    pub label: Option<String>,
    /// Exit 1 when fewer turns get the right tool; a fraction.
    #[arg(long, value_name = "SHARE", value_parser = fraction)]
    pub min: Option<f64>,
    /// Exit 1 when fewer turns get the right arguments.
    #[arg(long, value_name = "SHARE", value_parser = fraction)]
    pub min_arguments: Option<f64>,
    /// Exit 1 when a tool acts in more of the turns in which none may.
    #[arg(long, value_name = "SHARE", value_parser = fraction)]
    pub max_false_actions: Option<f64>,
    /// Take what is said from this field: `asr` for what a recogniser made of it.
    #[arg(long, default_value = "say")]
    pub field: String,
    /// Only scenarios whose id holds this.
    #[arg(long, value_name = "TEXT")]
    pub only: Option<String>,
    /// Only so many scenarios, spread evenly over all.
    #[arg(long, value_name = "COUNT")]
    pub sample: Option<usize>,
    /// What the folders hold in scenarios that do not say.
    #[arg(long, value_name = "FILE")]
    pub world: Option<PathBuf>,
    /// Play the same with these ways to bring tools into the prompt, too.
    #[arg(long, value_delimiter = ',', value_name = "WAY")]
    pub beside: Vec<Prompting>,
    /// Say each request with a synthetic voice (espeak-ng) and hear that; beside it the same in writing.
    #[arg(long)]
    pub spoken: bool,
    /// Check the files with a model that always does what they want: no weights, no claim about quality.
    #[arg(long, conflicts_with_all = ["beside", "spoken"])]
    pub rehearse: bool,
}

fn fraction(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(share) if (0.0..=1.0).contains(&share) => Ok(share),
        _ => Err("write a fraction from 0 to 1, such as 0.85".to_owned()),
    }
}

/// Plays the scenarios and reports.
pub async fn run(app: &App, args: &EvalArgs) -> anyhow::Result<ExitCode> {
    let written = read(args)?;
    let spoken = match args.spoken {
        true => Some(Spoken::of(&written).await?),
        false => None,
    };
    let scenarios = spoken.as_ref().map_or(&*written, Spoken::scenarios);
    let mut done = BTreeMap::new();
    let mut finished = true;
    let named = |way: Prompting| (way.name(), way, scenarios);
    let beside = args.beside.iter().filter(|way| **way != Prompting::Tiro);
    let mut runs = vec![named(Prompting::Tiro)];
    runs.extend(beside.map(|way| named(*way)));
    runs.extend(spoken.as_ref().map(|_| ("written", Prompting::Tiro, &*written)));
    for (name, way, scenarios) in runs {
        let (rows, summary, end) = play(app, scenarios, (name, way), args.rehearse).await?;
        done.insert(name, (rows, summary));
        if let Err(error) = end {
            say_aside(&format!("tiro: {error:#}"));
            finished = false;
            break;
        }
    }
    let (rows, summary) = done.remove(Prompting::Tiro.name()).unwrap_or_default();
    let beside = done
        .into_iter()
        .map(|(name, (_, summary))| (name.to_owned(), summary))
        .collect();
    let outcome = Outcome {
        summary,
        rows,
        beside,
    };
    report(args, &outcome, app.trace)?;
    let good = finished && good_enough(args, &outcome.summary);
    Ok(if good {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

fn read(args: &EvalArgs) -> anyhow::Result<Vec<Scenario>> {
    let mut reader = Reader::new(&args.field, tools::ALL);
    let mut scenarios = Vec::new();
    for file in &args.files {
        scenarios.extend(reader.read(file)?);
    }
    if !reader.left_out.is_empty() {
        let names: Vec<&str> = reader.left_out.iter().map(String::as_str).collect();
        say_aside(&format!("Fields that mean nothing here: {}.", names.join(", ")));
    }
    if let Some(only) = &args.only {
        scenarios.retain(|scenario| scenario.id.contains(only));
    }
    if let Some(count) = args.sample.filter(|count| *count < scenarios.len()) {
        let all = scenarios.len();
        let mut at = 0;
        scenarios.retain(|_| {
            let keep = (at * count) / all != ((at + 1) * count) / all;
            at += 1;
            keep
        });
    }
    ensure!(!scenarios.is_empty(), "there is no scenario to play");
    if let Some(file) = &args.world {
        let world = World::load(file)?;
        for scenario in &mut scenarios {
            scenario.world.get_or_insert_with(|| world.clone());
        }
    }
    Ok(scenarios)
}

type Run = (Vec<Row>, Summary, anyhow::Result<()>);

/// Plays every scenario in one way. What was played is reported even when it stops early.
async fn play(
    app: &App,
    scenarios: &[Scenario],
    (name, way): (&'static str, Prompting),
    rehearse: bool,
) -> anyhow::Result<Run> {
    let mut parts = app.parts();
    let lines = Lines::default();
    let index = parts.index();
    let player = match rehearse {
        true => {
            parts.settings = rehearsal::settings(parts.settings);
            Player {
                llm: Arc::new(lines.model()),
                stt: Arc::new(ScriptedStt::replies::<&str>([])),
                parts,
                index,
                lines: Some(lines.clone()),
            }
        }
        false => {
            parts.settings = way.settings(parts.settings);
            Player {
                llm: app.llm()?,
                stt: app.stt()?,
                parts,
                index,
                lines: None,
            }
        }
    };
    let first = scenarios.first().context("there is no scenario to play")?;
    let reading = ProgressBar::new_spinner().with_message("reads the tools, once");
    reading.enable_steady_tick(Duration::from_millis(200));
    let load = tokio::select! {
        load = player.warm_up(first, || reading.inc(1)) => load?,
        _ = tokio::signal::ctrl_c() => anyhow::bail!("stopped"),
    };
    reading.finish_and_clear();
    let turns = || scenarios.iter().flat_map(|scenario| &scenario.turns);
    if turns().any(|turn| matches!(turn.words, Words::Wav(_))) {
        player.stt.info().await?;
    }
    let model = player.llm.info().await?.name;
    let bar = ProgressBar::new(scenarios.len() as u64);
    if let Ok(style) = ProgressStyle::with_template("{prefix} {bar:30} {pos}/{len} {msg} {eta}") {
        bar.set_style(style);
    }
    bar.set_prefix(name);
    bar.enable_steady_tick(Duration::from_millis(200));
    let (mut rows, mut right, mut asked) = (Vec::new(), 0, 0);
    let mut end = Ok(());
    for scenario in scenarios {
        lines.learn(scenario);
        let played = tokio::select! {
            played = player.play(scenario) => played,
            _ = tokio::signal::ctrl_c() => Err(anyhow::anyhow!("stopped")),
        };
        match played.with_context(|| format!("scenario {}", scenario.id)) {
            Ok(played) => rows.extend(played),
            Err(error) => {
                end = Err(error);
                break;
            }
        }
        for row in rows.iter().skip(asked) {
            right += usize::from(row.passed);
        }
        asked = rows.len();
        bar.set_message(format!("{right} right"));
        bar.inc(1);
    }
    bar.finish_and_clear();
    let summary = Summary::of(&rows, &model, load);
    Ok((rows, summary, end))
}

fn report(args: &EvalArgs, outcome: &Outcome, all: bool) -> anyhow::Result<()> {
    if let Some(file) = &args.html {
        store::replace(&std::path::absolute(file)?, html::page(outcome).as_bytes())?;
    }
    if let Some(file) = &args.log {
        append(file, args, outcome)?;
    }
    if args.json {
        return say(&serde_json::to_string(outcome)?);
    }
    for row in outcome.rows.iter().filter(|row| all || !row.passed) {
        let verdict = if row.passed { "right" } else { "WRONG" };
        say(&format!("{verdict} {} {}: {}", row.id, row.turn, row.say))?;
        for call in &row.calls {
            say(&format!(
                "      {} {} ({})",
                call.name, call.arguments, call.status
            ))?;
        }
        say(&format!("      \"{}\"", row.reply))?;
        for problem in &row.problems {
            say(&format!("      - {problem}"))?;
        }
    }
    say(outcome.summary.table(&outcome.beside).trim_end())
}

/// One line of numbers, so that a repository can keep one for each commit.
fn append(file: &Path, args: &EvalArgs, outcome: &Outcome) -> anyhow::Result<()> {
    use std::io::Write as _;
    let summary = &outcome.summary;
    let line = json!({
        "date": jiff::Zoned::now().date().to_string(),
        "label": args.label,
        "files": args.files.iter().filter_map(|file| file.file_name()?.to_str()).collect::<Vec<_>>(),
        "field": if args.spoken { "spoken" } else { args.field.as_str() },
        "model": summary.model,
        "n": summary.n,
        "passed": [summary.passed, summary.scenarios],
        "tool": summary.tool_accuracy.map(rounded),
        "arguments": summary.argument_accuracy.map(rounded),
        "times": summary.time_accuracy.map(rounded),
        "false_actions": summary.false_actions.map(rounded),
        "round_trips": summary.round_trips.map(rounded),
        "reflex": [summary.reflex.share.map(rounded), summary.reflex.tool_accuracy.map(rounded)],
        "evaluated": [summary.evaluated.p50, summary.evaluated.p95],
        "ms": [summary.ms.p50.round(), summary.ms.p95.round()],
    });
    let mut log = std::fs::OpenOptions::new().create(true).append(true).open(file)?;
    // One write: two runs that end at once do not tear each other's lines.
    log.write_all(format!("{line}\n").as_bytes())
        .with_context(|| format!("cannot write {}", file.display()))
}

fn rounded(share: f64) -> f64 {
    (share * 1000.0).round() / 1000.0
}

/// Whether the numbers are as good as was asked for. Nothing to measure is not good enough.
fn good_enough(args: &EvalArgs, summary: &Summary) -> bool {
    let least =
        |min: Option<f64>, share: Option<f64>| min.is_none_or(|min| share.is_some_and(|share| share >= min));
    least(args.min, summary.tool_accuracy)
        && least(args.min_arguments, summary.argument_accuracy)
        && args
            .max_false_actions
            .is_none_or(|max| summary.false_actions.is_some_and(|share| share <= max))
        && (!args.rehearse || summary.passed == summary.scenarios)
}
