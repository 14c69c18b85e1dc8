//! `cargo xtask test`: everything that CI runs, in the order in which it fails fastest.

use anyhow::{Result, bail};

use crate::{
    place,
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
const TRAINING: [&str; 4] = ["--package", "tools", "--example", "train_discovery"];

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
    steps.step("lints", lints)?;
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
                run(&mut cargo(&[
                    "test",
                    "--workspace",
                    "--doc",
                    "--locked",
                    "--quiet",
                ]))
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

/// Builds `tiro` and both engines for use on this machine. Two builds, because one would unify features and link
/// both native libraries into `tiro` (DESIGN section 1). What else is wanted is built with `tiro`, so that both stand on
/// the same features and nothing is compiled twice.
pub fn build_release(also: &[&str]) -> Result<()> {
    let build = [
        "build",
        "--release",
        "--locked",
        "--package",
        "daemon",
        "--bin",
        "tiro",
    ];
    run(cargo(&build).args(also))?;
    run(&mut cargo(&[
        "build",
        "--release",
        "--locked",
        "--package",
        "models",
        "--features",
        "llm,stt",
        "--bins",
    ]))
}

fn lints() -> Result<()> {
    run(&mut cargo(&[
        "clippy",
        "--workspace",
        "--all-targets",
        "--locked",
        "--",
        "--deny",
        "warnings",
    ]))
}

/// In the release profile, because there the C++ has just been compiled; in the dev profile it would be again.
fn engine_lints() -> Result<()> {
    let build = [
        "clippy",
        "--release",
        "--locked",
        "--package",
        "models",
        "--features",
        "llm,stt",
        "--bins",
    ];
    run(cargo(&build).args(["--", "--deny", "warnings"]))
}

/// Trains the discovery index again from its sources; what is shipped must come out to the bit.
fn training() -> Result<()> {
    if place::data().is_none() {
        eprintln!("SKIPPED: the evaluation data is not beside the workspace; set TIRO_DATA");
        return Ok(());
    }
    run(program(place::release()?.join("examples/train_discovery")).arg("--check"))
}

fn weights() -> Result<()> {
    let mut pull = program(place::release()?.join("tiro"));
    pull.args(["models", "pull"]).args(WEIGHTS);
    run(pull.env("TIRO_MODELS", place::models()?))
}

fn tests(fast: bool) -> Result<()> {
    let mut nextest = cargo(&["nextest", "run", "--workspace", "--locked"]);
    nextest.env("TIRO_TEST_PYTHON", place::python()?);
    if !fast {
        // Engines and weights are there, so a test that needs them may not skip itself.
        nextest
            .env("TIRO_ENGINES", place::release()?)
            .env("TIRO_MODELS", place::models()?)
            .env("TIRO_REQUIRE_REAL", "1");
    }
    run(&mut nextest)
}
