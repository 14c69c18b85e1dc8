//! `cargo xtask idle`: what a daemon costs that nobody talks to, measured from outside (proc(5)): its processor time over a
//! minute and its resident memory. There are no weights in its home, so no engine is loaded.

use std::{
    fs,
    path::Path,
    process::{Child, Stdio},
    thread::sleep,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail, ensure};

use crate::{
    place,
    run::{output, program},
};

/// Highest share of one core.
const CPU: f64 = 0.005;
/// Highest resident memory, MiB.
const MEMORY: u64 = 60;
/// After this long the start is over.
const START: Duration = Duration::from_secs(10);

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
    // Engines that have nothing to load end at once, and are not started again until somebody asks.
    let none = home.join("none").display().to_string();
    let none = format!("[llm]\nmodel = {none:?}\n[stt]\nmodel = {none:?}\n");
    fs::write(home.join("config.toml"), none)?;
    let daemon = Ended(
        program(&tiro)
            .arg("daemon")
            .env("TIRO_HOME", &home)
            .stdin(Stdio::null())
            .spawn()
            .with_context(|| format!("starting {}", tiro.display()))?,
    );
    sleep(START);
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
