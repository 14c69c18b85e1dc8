//! `cargo xtask setup`: installs what is missing and touches nothing that is there.
//!
//! There is no stamp that says "done": each run asks the tools themselves, all at once, which takes well under a second.

mod needs;

use std::{fs, process::Command, thread};

use anyhow::{Result, bail};
use needs::NEEDS;

use crate::{
    place,
    run::{cargo, output, program, run, works},
};

/// What a thing is needed for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    /// Building the daemon, which needs no C++.
    Daemon,
    /// Building the engines, and fetching weights.
    Build,
    /// The demo's synthetic voice.
    Voice,
    /// Everything that Tiro itself uses when it runs.
    Run,
    /// The test runner and the lints.
    Test,
}

/// Makes sure that everything for these uses is here: says what it will run, runs it, and checks again.
pub fn ensure(uses: &[Use]) -> Result<()> {
    let missing = missing(uses);
    if missing.is_empty() {
        eprintln!("Everything that is needed is here.");
        return Ok(());
    }
    eprintln!("Missing:");
    for need in &missing {
        eprintln!("  {}: {}", need.name, need.why);
    }
    let plan = plan(&missing, manager(), privilege())?;
    eprintln!("I will run:");
    for line in &plan {
        eprintln!("  {}", line.join(" "));
    }
    install_all(&plan)?;
    let still = self::missing(uses);
    if !still.is_empty() {
        let names: Vec<_> = still.iter().map(|need| need.name).collect();
        bail!(
            "still missing after the installation: {}. Please install them by hand.",
            names.join(", ")
        );
    }
    eprintln!("Everything that is needed is here now.");
    Ok(())
}

/// One thing that this machine must have.
#[derive(Debug)]
struct Need {
    name: &'static str,
    why: &'static str,
    used: Use,
    present: fn() -> bool,
    how: How,
}

/// How it is installed.
#[derive(Debug)]
enum How {
    /// Names of packages by manager; an empty list means that it comes with the system there.
    Packages {
        apt: &'static [&'static str],
        dnf: &'static [&'static str],
        pacman: &'static [&'static str],
        brew: &'static [&'static str],
    },
    /// Arguments of the cargo that started us; compiles from source.
    Cargo(&'static [&'static str]),
    /// A part of the Rust toolchain.
    Rustup(&'static str),
    /// A package of the Python index, into an environment of the tests' own; nothing of Tiro needs it.
    Python(&'static str),
}

/// What is not here. The checks run side by side, since each starts a program.
fn missing(uses: &[Use]) -> Vec<&'static Need> {
    thread::scope(|scope| {
        let wanted = NEEDS.iter().filter(|need| uses.contains(&need.used));
        let checks: Vec<_> = wanted.map(|need| (need, scope.spawn(need.present))).collect();
        let absent = checks.into_iter().filter_map(|(need, check)| match check.join() {
            Ok(true) => None,
            Ok(false) | Err(_) => Some(need),
        });
        absent.collect()
    })
}

/// A package manager that we can drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Manager {
    Apt,
    Dnf,
    Pacman,
    Brew,
}

fn manager() -> Option<Manager> {
    let known = [
        ("brew", Manager::Brew, cfg!(target_os = "macos")),
        ("apt-get", Manager::Apt, cfg!(target_os = "linux")),
        ("dnf", Manager::Dnf, cfg!(target_os = "linux")),
        ("pacman", Manager::Pacman, cfg!(target_os = "linux")),
    ];
    known
        .into_iter()
        .find(|(name, _, here)| *here && works(name, &["--version"]))
        .map(|(_, manager, _)| manager)
}

/// How we may change the system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Privilege {
    Root,
    Sudo,
    Neither,
}

fn privilege() -> Privilege {
    if output("id", &["-u"]).as_deref() == Some("0") {
        Privilege::Root
    } else if works("sudo", &["--version"]) {
        Privilege::Sudo
    } else {
        Privilege::Neither
    }
}

/// The commands that install what is missing: at most one for the package manager, cargo's and rustup's, and two for what Python has.
fn plan(missing: &[&Need], manager: Option<Manager>, privilege: Privilege) -> Result<Vec<Vec<String>>> {
    let mut wanted: Vec<&str> = Vec::new();
    let mut by_hand: Vec<&str> = Vec::new();
    let mut own: Vec<Vec<String>> = Vec::new();
    let mut python: Vec<&str> = Vec::new();
    for need in missing {
        match &need.how {
            How::Packages {
                apt,
                dnf,
                pacman,
                brew,
            } => {
                let names = match manager {
                    Some(Manager::Apt) => apt,
                    Some(Manager::Dnf) => dnf,
                    Some(Manager::Pacman) => pacman,
                    Some(Manager::Brew) => brew,
                    None => {
                        by_hand.push(need.name);
                        continue;
                    }
                };
                let new = names
                    .iter()
                    .filter(|name| !wanted.contains(name))
                    .copied()
                    .collect::<Vec<_>>();
                wanted.extend(new);
            }
            How::Cargo(args) => own.push(words(&[&["cargo"], *args].concat())),
            How::Python(package) => python.push(package),
            How::Rustup(part) => own.push(words(&["rustup", "component", "add", part])),
        }
    }
    if !by_hand.is_empty() {
        bail!(
            "I know apt-get, dnf, pacman and brew, and none of them is here. Please install by hand: {}.",
            by_hand.join(", ")
        );
    }
    let mut plan = Vec::new();
    if let (Some(manager), false) = (manager, wanted.is_empty()) {
        let mut line = match manager {
            Manager::Apt => words(&["apt-get", "install", "-y", "--no-install-recommends"]),
            Manager::Dnf => words(&["dnf", "install", "-y", "--setopt=install_weak_deps=False"]),
            Manager::Pacman => words(&["pacman", "-S", "--noconfirm", "--needed"]),
            Manager::Brew => words(&["brew", "install"]),
        };
        line.extend(words(&wanted));
        match (manager, privilege) {
            (Manager::Brew, _) | (_, Privilege::Root) => {}
            (_, Privilege::Sudo) => line.insert(0, "sudo".into()),
            (_, Privilege::Neither) => {
                bail!(
                    "this needs root and there is no sudo. Please run as root: {}",
                    line.join(" ")
                )
            }
        }
        plan.push(line);
    }
    plan.extend(own);
    if !python.is_empty() {
        let folder = place::python()?.display().to_string();
        plan.push(words(&["python3", "-m", "venv", &folder]));
        let program = format!("{folder}/bin/python");
        let mut line = words(&[&program, "-m", "pip", "install", "--quiet"]);
        line.extend(words(&python));
        plan.push(line);
    }
    Ok(plan)
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

/// Runs the plan. What cargo compiles needs nothing that the others fetch, and the processor while they wait for the network and the
/// disk, so it is compiled beside them. Whatever fails, both are waited for.
fn install_all(plan: &[Vec<String>]) -> Result<()> {
    let (compiled, fetched): (Vec<_>, Vec<_>) = plan
        .iter()
        .partition(|line| line.first().is_some_and(|word| word == "cargo"));
    let all = |lines: &[&Vec<String>]| lines.iter().try_for_each(|line| install(line));
    thread::scope(|scope| {
        let beside = scope.spawn(|| all(&compiled));
        let here = all(&fetched);
        let beside = beside.join().unwrap_or_else(|_| bail!("compiling panicked"));
        here.and(beside)
    })
}

/// Runs one line of the plan. A fresh machine has no package lists, or old ones: they are fetched once and it is tried again.
fn install(line: &[String]) -> Result<()> {
    let first = run(&mut command(line));
    let Some(refresh) = refresh(line, lists_are_there()) else {
        return first;
    };
    if first.is_err() {
        eprintln!("That did not work with the package lists that are here, so I fetch new ones.");
        run(&mut command(&refresh))?;
        return run(&mut command(line));
    }
    Ok(())
}

/// What fetches the lists of the package manager of this line, where that is safe. Arch supports no new lists without
/// an upgrade of everything, which is not ours to begin; where there are no lists yet, nothing can be older than they are.
fn refresh(line: &[String], pacman_has_lists: bool) -> Option<Vec<String>> {
    let at = line
        .iter()
        .position(|word| word == "apt-get" || word == "pacman")?;
    let update = match line[at].as_str() {
        "apt-get" => "update",
        _ if pacman_has_lists => return None,
        _ => "-Sy",
    };
    let mut refresh = line[..=at].to_vec();
    refresh.push(update.into());
    Some(refresh)
}

/// Whether pacman ever fetched its lists here.
fn lists_are_there() -> bool {
    let lists = fs::read_dir("/var/lib/pacman/sync");
    lists.is_ok_and(|lists| {
        lists
            .flatten()
            .any(|list| list.path().extension().is_some_and(|kind| kind == "db"))
    })
}

fn command(line: &[String]) -> Command {
    let mut command = match line {
        [first, rest @ ..] if first == "cargo" => {
            let mut command = cargo(&[]);
            command.args(rest);
            command
        }
        // sudo drops the environment, so the setting travels as an argument.
        [first, rest @ ..] if first == "sudo" => {
            let mut command = program("sudo");
            command.args(["env", "DEBIAN_FRONTEND=noninteractive"]).args(rest);
            command
        }
        [first, rest @ ..] => {
            let mut command = program(first);
            command.args(rest);
            command
        }
        [] => program("true"),
    };
    command.env("DEBIAN_FRONTEND", "noninteractive");
    command
}

#[cfg(test)]
mod tests;
