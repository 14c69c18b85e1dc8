//! `cargo xtask test`: everything that CI runs, in the order in which it fails fastest.

use anyhow::{Result, bail};

use crate::{
    lint, place,
    run::{Steps, cargo, program, run},
    setup::{self, Use},
};

/// What the tests run on, by their names in `models/models.toml`: what people get by default, and the smallest of each kind.
const WEIGHTS: [&str; 6] = [
    "qwen2.5-coder-1.5b-instruct-q4_k_m",
    "whisper-base-q8_0",
    "qwen2.5-coder-0.5b-instruct-q4_k_m",
    "smollm2-135m-instruct-q4_1",
    "whisper-tiny.en",
    "all-minilm-l6-v2",
];

/// The program that trains the discovery index. Optimised, because the fit takes minutes otherwise.
const TRAINING: [&str; 2] = ["--bin", "train_discovery"];

/// Runs the checks and the tests.
pub fn test(options: &[&str]) -> Result<()> {
    let mut fast = false;
    let mut pull = true;
    for option in options {
        match *option {
            "--fast" => fast = true,
            "--no-pull" => pull = false,
            other => bail!("`{other}` is not understood; see `cargo xtask help`"),
        }
    }
    let uses: &[Use] = if fast {
        &[Use::Daemon, Use::Test]
    } else {
        &[Use::Daemon, Use::Build, Use::Voice, Use::Run, Use::Test]
    };
    let mut steps = Steps::default();
    steps.step("setup", || setup::ensure(uses))?;
    steps.step("formatting", || run(&mut cargo(&["fmt", "--all", "--check"])))?;
    steps.step("lints, and the build for the tests", lints)?;
    if !fast {
        steps.step("build tiro and its engines", || build_release(&TRAINING))?;
        // The fit has one thread, and so has much of what is compiled meanwhile. Whatever fails, it is waited for.
        std::thread::scope(|scope| {
            let trained = scope.spawn(training);
            steps.step("lints of the engines", engine_lints)?;
            if pull {
                steps.step("weights", weights)?;
            }
            steps.step("documentation tests", || {
                let mut test = lint::cargo(&["test", "--workspace", "--doc", "--locked", "--quiet"]);
                run(&mut test)
            })?;
            steps.step("what discovery was taught", || {
                trained.join().unwrap_or_else(|_| bail!("it panicked"))
            })
        })?;
        steps.step("licences and sources", || {
            run(&mut cargo(&[
                "deny",
                "--all-features",
                "--locked",
                "check",
                "licenses",
                "bans",
                "sources",
            ]))
        })?;
    }
    // Last, so that its summary closes the output. The tests prove the dependencies between rooms, too.
    let result = steps.step("tests", || tests(fast));
    steps.summary();
    result
}

/// What is built for use, always chosen together: features are unified over what is chosen, and what differs in one is compiled again
/// with all that stands on it. The engines' features reach `tiro`, too, and change nothing there, because the library of `models`
/// names no native crate (DESIGN section 1; `tests/src/real.rs` looks into what was built).
const CHOSEN: [&str; 8] = [
    "--package",
    "daemon",
    "--package",
    "models",
    "--package",
    "tools",
    "--features",
    "models/llm,models/stt",
];
/// The programs that link a native library.
const ENGINES: [&str; 4] = ["--bin", "tiro-llm", "--bin", "tiro-stt"];

/// Builds `tiro`, both engines and these further targets for use on this machine.
pub fn build_release(also: &[&str]) -> Result<()> {
    let mut build = cargo(&["build", "--release", "--locked", "--bin", "tiro"]);
    run(build.args(CHOSEN).args(ENGINES).args(also))
}

/// Everything that is tested or measured in the dev profile, linted as it is built, so that nothing is read twice.
fn lints() -> Result<()> {
    run(&mut lint::cargo(&[
        "build",
        "--workspace",
        "--all-targets",
        "--locked",
    ]))
}

/// In the release profile, because there the C++ has just been compiled; in the dev profile it would be again.
fn engine_lints() -> Result<()> {
    let mut clippy = cargo(&["clippy", "--release", "--locked"]);
    run(clippy
        .args(CHOSEN)
        .args(ENGINES)
        .args(["--", "--deny", "warnings"]))
}

/// Trains the discovery index again from its sources; what is shipped must come out to the bit.
fn training() -> Result<()> {
    if place::data().is_none() {
        eprintln!("SKIPPED: the evaluation data is not beside the workspace; set TIRO_DATA");
        return Ok(());
    }
    run(program(place::release()?.join("train_discovery")).arg("--check"))
}

fn weights() -> Result<()> {
    let mut pull = program(place::release()?.join("tiro"));
    pull.args(["models", "pull"]).args(WEIGHTS);
    run(pull.env("TIRO_MODELS", place::models()?))
}

fn tests(fast: bool) -> Result<()> {
    let mut nextest = lint::cargo(&["nextest", "run", "--workspace", "--locked"]);
    nextest.env("TIRO_TEST_PYTHON", place::python()?);
    // The evaluation data may be missing, but not in parts.
    if let Some(data) = place::data() {
        nextest.env("TIRO_DATA", std::path::absolute(data)?);
    }
    if !fast {
        // Engines and weights are there, so a test that needs them may not skip itself.
        nextest
            .env("TIRO_ENGINES", place::release()?)
            .env("TIRO_MODELS", place::models()?)
            .env("TIRO_REQUIRE_REAL", "1");
    }
    run(&mut nextest)
}
