//! `cargo xtask demo`: from nothing to three spoken questions and their answers, in a home of its own.
//! A second run finds everything in place and needs no network.

use std::{
    env, fs,
    io::{self, IsTerminal as _},
    os::unix::process::CommandExt as _,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context as _, Result, bail};

use crate::{
    place,
    run::{Steps, program, run},
    setup::{self, Use},
    test, voice,
};

/// Asked first: its tool is in the prompt, and the model chooses it and fills in what was asked.
const FIRST: &str = "When is my dentist appointment tomorrow?";
/// Asked second and third: its tool is not in the prompt and has to be discovered; then the same again on a cached prefix.
const DEFERRED: &str = "Please add milk and bread to the shopping list.";

/// Runs the demo.
pub fn demo(options: &[&str]) -> Result<()> {
    let home = match options {
        [] => match env::var_os("TIRO_HOME") {
            Some(home) => PathBuf::from(home),
            None => place::target()?.join("demo-home"),
        },
        ["--home", home] => PathBuf::from(home),
        other => bail!("`{}` is not understood; see `cargo xtask help`", other.join(" ")),
    };
    let tiro = Tiro {
        home: std::path::absolute(home)?,
        models: place::models()?,
        release: place::release()?,
    };
    let questions = tiro.home.join("questions");
    let first = questions.join("first.wav");
    let deferred = questions.join("deferred.wav");

    let mut steps = Steps::default();
    steps.step("setup", || {
        setup::ensure(&[Use::Daemon, Use::Build, Use::Voice, Use::Run])
    })?;
    steps.step("build tiro and its engines", || test::build_release(&[]))?;
    steps.step("models", || run(&mut tiro.command(&["models", "pull"])))?;
    steps.step("demo world", || {
        run(&mut tiro.command(&["world", "tests/worlds/demo.json"]))
    })?;
    let mut own = false;
    steps.step("a question, through the whole path", || {
        fs::create_dir_all(&questions).with_context(|| format!("making {}", questions.display()))?;
        own = voice::recorded(&first)?;
        if !own {
            voice::synthetic(FIRST, &first)?;
        }
        tiro.ask(&first, own)
    })?;
    steps.step("a request whose tool has to be discovered", || {
        voice::synthetic(DEFERRED, &deferred)?;
        tiro.ask(&deferred, false)
    })?;
    steps.step("the same request again: what is cached now", || {
        tiro.ask(&deferred, false)
    })?;
    steps.summary();

    let mut chat = tiro.command(&["chat"]);
    if io::stdin().is_terminal() && io::stdout().is_terminal() {
        eprintln!("\nNow it is your turn. Ctrl-D leaves.");
        // The chat takes our place: Ctrl-C is its own key from here on, and must not end us beneath it.
        return Err(chat.exec()).context("starting `tiro chat`");
    }
    eprintln!("\nThere is no terminal here to chat in. To talk to this demo world yourself:");
    eprintln!(
        "TIRO_HOME='{}' TIRO_MODELS='{}' '{}' chat",
        tiro.home.display(),
        tiro.models.display(),
        tiro.release.join("tiro").display()
    );
    Ok(())
}

/// The built `tiro` in the demo's home.
struct Tiro {
    home: PathBuf,
    models: PathBuf,
    release: PathBuf,
}

impl Tiro {
    fn command(&self, args: &[&str]) -> Command {
        let mut command = program(self.release.join("tiro"));
        command.args(args);
        command
            .env("TIRO_HOME", &self.home)
            .env("TIRO_MODELS", &self.models)
            .env("TIRO_ENGINES", &self.release);
        command
    }

    /// Our own questions must be answered; what a person asks may be more than Tiro can do.
    fn ask(&self, wav: &Path, own: bool) -> Result<()> {
        let asked = run(self.command(&["ask", "--verbose", "--wav"]).arg(wav));
        if own && let Err(error) = &asked {
            eprintln!("{error}");
            return Ok(());
        }
        asked
    }
}
