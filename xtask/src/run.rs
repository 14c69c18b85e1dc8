//! Starting other programs: what runs is said first, what it prints is shown, and a failure has a name.

use std::{
    env,
    ffi::OsStr,
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail};

use crate::place;

/// Cargo, the very one that started us, in the workspace.
pub fn cargo(args: &[&str]) -> Command {
    let mut command = program(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(args);
    // Who asked for us is no matter of what we build. `ring` is built again when the package's name in its surroundings changes, and
    // all that stands on it, each time that somebody goes from `cargo xtask` to cargo and back.
    for (name, _) in env::vars_os() {
        let package = name.to_string_lossy();
        if package.starts_with("CARGO_PKG_") || package.starts_with("CARGO_MANIFEST_") {
            command.env_remove(&name);
        }
    }
    // What is kept for the next build of our own crates, and what a debugger is told of them, is for somebody who changes them. And who
    // builds once to test once does not get back what optimising across the parts of each crate takes, as cargo does unasked: `tools` and
    // `daemon` take 6.3 minutes on two cores with that, and less than 3.7 without.
    if env::var_os("CI").is_some() {
        for (name, value) in [
            ("CARGO_INCREMENTAL", "0"),
            ("CARGO_PROFILE_DEV_DEBUG", "none"),
            ("CARGO_PROFILE_RELEASE_DEBUG", "none"),
            ("CARGO_PROFILE_DEV_LTO", "off"),
            ("CARGO_PROFILE_RELEASE_LTO", "off"),
        ] {
            command.env(name, value);
        }
    }
    command
}

/// A program, started in the workspace. It stays in our process group, so that Ctrl-C ends it with us.
pub fn program(name: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(name);
    command.current_dir(place::root());
    command
}

/// Runs it with its output shown.
pub fn run(command: &mut Command) -> Result<()> {
    let line = shown(command);
    eprintln!("$ {line}");
    let status = command.status().with_context(|| format!("starting `{line}`"))?;
    if !status.success() {
        bail!("`{line}` ended with {status}");
    }
    Ok(())
}

/// Whether it runs and says that all is well; its output is not shown.
pub fn works(name: &str, args: &[&str]) -> bool {
    quiet(program(name).args(args))
}

/// The same for a command that is there already.
pub fn quiet(command: &mut Command) -> bool {
    let command = command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

/// What it prints, or nothing when it fails or is not there.
pub fn output(name: &str, args: &[&str]) -> Option<String> {
    let output = program(name)
        .args(args)
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output()
        .ok()?;
    let text = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    output.status.success().then_some(text)
}

/// Named steps, one after the other, with their times.
#[derive(Default)]
pub struct Steps {
    done: Vec<(&'static str, Duration)>,
}

impl Steps {
    /// Runs one step; its name is in the error when it fails.
    pub fn step(&mut self, name: &'static str, body: impl FnOnce() -> Result<()>) -> Result<()> {
        eprintln!("\n== {name}");
        let start = Instant::now();
        body().with_context(|| format!("the step \"{name}\" failed"))?;
        self.done.push((name, start.elapsed()));
        Ok(())
    }

    /// Says how long each step took.
    pub fn summary(&self) {
        eprintln!("\nSteps:");
        for (name, time) in &self.done {
            eprintln!("{:9.1} s  {name}", time.as_secs_f64());
        }
        let all: Duration = self.done.iter().map(|(_, time)| *time).sum();
        eprintln!("{:9.1} s  in all", all.as_secs_f64());
    }
}

fn shown(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    let words: Vec<_> = words.map(|word| quoted(&word.to_string_lossy())).collect();
    words.join(" ")
}

/// Quotes a word where a shell would split it, so that the line can be copied.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,+@".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}
