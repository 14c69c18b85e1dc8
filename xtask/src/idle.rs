//! `cargo xtask idle`: what a daemon costs that nobody talks to, measured from outside (proc(5)): its processor time over a
//! minute and its resident memory. It is on a session bus of its own, and has its icon there. Where the weights are, it has
//! answered a spoken question before, and both engines have left again; what they leave behind counts.

use std::{
    fs,
    io::{BufRead as _, BufReader},
    path::Path,
    process::{Child, Command, Stdio},
    thread::sleep,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail, ensure};

use crate::{
    place,
    run::{output, program, run},
};

/// Highest share of one core.
const CPU: f64 = 0.005;
/// Highest resident memory, MiB.
const MEMORY: u64 = 60;
/// After this long the start is over.
const START: Duration = Duration::from_secs(10);
/// How long the engines may take to load, to answer and to leave.
const ENGINES: Duration = Duration::from_secs(300);
/// So many seconds they are away before they count as gone.
const AWAY: u32 = 20;
/// The question that they answer before.
const QUESTION: &str = "tests/audio/calendar-tomorrow.wav";

/// Measures; fails when it is too much.
pub fn idle(options: &[&str]) -> Result<()> {
    let (mut tiro, mut minute) = (place::release()?.join("tiro"), Duration::from_secs(60));
    let mut options = options.iter();
    while let Some(option) = options.next() {
        let value = options
            .next()
            .with_context(|| format!("{option} lacks a value"))?;
        match *option {
            "--program" => tiro = std::path::absolute(value)?,
            "--seconds" => minute = Duration::from_secs(value.parse().context("--seconds")?),
            other => bail!("`{other}` is not understood; see `cargo xtask help`"),
        }
    }
    ensure!(
        tiro.is_file(),
        "{} is not there; build it, or name another with --program",
        tiro.display()
    );
    let ticks = output("getconf", &["CLK_TCK"]).and_then(|text| text.parse::<f64>().ok());
    let ticks = ticks.context("asking for the length of a clock tick")?;
    let home = place::target()?.join("idle-home");
    if home.exists() {
        fs::remove_dir_all(&home)?;
    }
    fs::create_dir_all(&home)?;
    let models = place::models()?;
    let weights = ["qwen2.5-coder-1.5b-instruct-q4_k_m.gguf", "ggml-base-q8_0.bin"];
    let whole = weights.iter().all(|file| models.join(file).is_file());
    let config = match whole {
        true => "[llm]\nidle_unload = \"5s\"\n[stt]\nidle_unload = \"5s\"\n".to_owned(),
        // Engines that have nothing to load end at once, and are not started again until somebody asks.
        false => {
            let none = home.join("none").display().to_string();
            format!("[llm]\nmodel = {none:?}\n[stt]\nmodel = {none:?}\n")
        }
    };
    fs::write(home.join("config.toml"), config)?;
    let bus = bus()?;
    let tiro = |arguments: &[&str]| {
        let mut command = program(&tiro);
        command
            .args(arguments)
            .env("TIRO_HOME", &home)
            .env("TIRO_MODELS", &models);
        command.env_remove("DBUS_SESSION_BUS_ADDRESS");
        if let Some((_, address)) = &bus {
            command
                .env("TIRO_BUS", "session")
                .env("DBUS_SESSION_BUS_ADDRESS", address);
        }
        command
    };
    let daemon = tiro(&["daemon"])
        .stdin(Stdio::null())
        .spawn()
        .context("starting the daemon")?;
    let daemon = Ended(daemon);
    sleep(START);
    match whole {
        true => answered(&tiro)?,
        false => eprintln!(
            "There are no weights in {}, so no engine was loaded before.",
            models.display()
        ),
    }
    let (before, began) = (cpu(&daemon)?, Instant::now());
    sleep(minute);
    let used = (cpu(&daemon)? - before) / ticks / began.elapsed().as_secs_f64();
    let memory = memory(&daemon)?;
    eprintln!(
        "over {} s: {:.3} % of a core, {memory} MiB resident",
        minute.as_secs(),
        used * 100.0
    );
    ensure!(used < CPU, "more than {} % of a core", CPU * 100.0);
    ensure!(memory < MEMORY, "more than {MEMORY} MiB");
    Ok(())
}

/// A session bus that ends with us, and its address; nothing where there is none to be had.
fn bus() -> Result<Option<(Ended, String)>> {
    let started = program("dbus-daemon")
        .args(["--session", "--nofork", "--print-address"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn();
    let Ok(mut bus) = started else {
        eprintln!("There is no dbus-daemon, so the daemon is measured without a session bus.");
        return Ok(None);
    };
    let out = bus.stdout.take();
    let bus = Ended(bus);
    let mut address = String::new();
    BufReader::new(out.context("starting a bus")?).read_line(&mut address)?;
    Ok(Some((bus, address.trim().to_owned())))
}

/// Has both engines load and answer, and waits until they have left.
fn answered(tiro: &impl Fn(&[&str]) -> Command) -> Result<()> {
    until("the model is ready", tiro, |status| {
        status.contains("\"prefix\":{")
    })?;
    let question = place::root().join(QUESTION).display().to_string();
    run(&mut tiro(&["ask", "--wav", &question]))?;
    // One that is loaded again by then, to be ready for the next question, leaves as well.
    let mut seconds = 0;
    until("the engines have left", tiro, |status| {
        let left = status.matches("\"running\":false").count() == 2;
        seconds = if left { seconds + 1 } else { 0 };
        seconds > AWAY
    })
}

/// Waits until the daemon is so.
fn until(what: &str, tiro: &impl Fn(&[&str]) -> Command, mut is_so: impl FnMut(&str) -> bool) -> Result<()> {
    let began = Instant::now();
    loop {
        let status = tiro(&["status", "--json"])
            .output()
            .context("asking the daemon")?;
        if is_so(&String::from_utf8_lossy(&status.stdout)) {
            return Ok(());
        }
        ensure!(began.elapsed() < ENGINES, "waited in vain until {what}");
        sleep(Duration::from_secs(1));
    }
}

/// A program that does not outlive us.
struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Clock ticks that it has used, with those of children that have ended.
fn cpu(daemon: &Ended) -> Result<f64> {
    let stat = read(daemon, "stat")?;
    // The name of the program, in parentheses, may hold anything; utime is the twelfth field behind it.
    let fields: Vec<&str> = stat
        .rsplit(')')
        .next()
        .unwrap_or_default()
        .split_whitespace()
        .collect();
    let ticks = fields.get(11..15).context("reading proc")?.iter();
    Ok(ticks.map(|field| field.parse::<f64>()).sum::<Result<f64, _>>()?)
}

/// Resident memory, MiB.
fn memory(daemon: &Ended) -> Result<u64> {
    let status = read(daemon, "status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = line
        .and_then(|line| line.split_whitespace().next())
        .context("reading proc")?;
    Ok(kib.parse::<u64>()?.div_ceil(1024))
}

fn read(daemon: &Ended, file: &str) -> Result<String> {
    let path = Path::new("/proc").join(daemon.0.id().to_string()).join(file);
    fs::read_to_string(path).context("the daemon has ended, or this system has no /proc")
}
