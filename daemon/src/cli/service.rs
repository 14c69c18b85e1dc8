//! `tiro service`: Tiro as a service of the session, started at login, by the first call over the bus, and again when it
//! fails. systemd and D-Bus on Linux, launchd on macOS.

mod files;
mod manager;

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
    time::Duration,
};

use anyhow::{Context as _, ensure};
use clap::Subcommand;
use files::{AGENT, Found, Places, Planned, UNIT};
use manager::tell;
use zbus::fdo::DBusProxy;

use super::{app::App, say};
use crate::reply::say_aside;

/// What to do with the service.
#[derive(Debug, Clone, Copy, Subcommand)]
pub enum ServiceVerb {
    /// Start Tiro at login, and now.
    Install,
    /// Take that back, and stop it.
    Remove,
    /// Which files are there, and whether it runs.
    Status,
}

/// How long the bus has to read its files again.
const BUS: Duration = Duration::from_secs(3);

/// Installs, removes or shows it. Exit code 1 for a status with something missing.
///
/// # Errors
/// When a file is the person's own or cannot be written, or the service manager refuses.
pub async fn run(app: &App, verb: ServiceVerb) -> anyhow::Result<ExitCode> {
    ensure!(
        std::env::var_os("TIRO_HOME").is_none_or(|home| home.is_empty()),
        "the service has the folders of the person; unset TIRO_HOME"
    );
    let [files, elsewhere] = planned(app).await?;
    match verb {
        ServiceVerb::Install => install(&files).await,
        // What was installed when no service manager answered lies where this shell has it.
        ServiceVerb::Remove => remove(&[files, elsewhere].concat()).await,
        ServiceVerb::Status => status(&files).await,
    }
}

async fn install(files: &[Planned]) -> anyhow::Result<ExitCode> {
    let written = files::install(files)?;
    for path in &written {
        say(&format!("wrote {}", path.display()))?;
    }
    let loaded = match files {
        _ if !manager::answers().await => None,
        [agent] if cfg!(target_os = "macos") => Some(load(&agent.path).await),
        _ => Some(enable(!written.is_empty()).await),
    };
    read_bus_files_again().await;
    match loaded {
        Some(loaded) => {
            loaded?;
            say(match cfg!(target_os = "macos") || desktop_tells().await {
                true => "Tiro runs, and starts at login.",
                false => {
                    "Tiro runs. It starts with the first call over the bus, and at a login whose desktop starts \
                     graphical-session.target, which this one did not. To start it at every login, run\n  \
                     systemctl --user add-wants default.target tiro.service"
                }
            })?;
        }
        None => say_aside(match cfg!(target_os = "macos") {
            true => "launchd does not answer here. It starts Tiro at your next login.",
            false => {
                "The user's service manager does not answer here. In your session, run\n  \
                      systemctl --user daemon-reload && systemctl --user enable --now tiro.service"
            }
        }),
    }
    Ok(ExitCode::SUCCESS)
}

async fn remove(files: &[Planned]) -> anyhow::Result<ExitCode> {
    let mut installed = false;
    for file in files.iter().filter(|file| file.starts_it()) {
        installed |= matches!(files::look(file)?, Found::Same | Found::Older);
    }
    let answers = manager::answers().await;
    if installed && answers {
        let stopped = match files {
            [agent] if cfg!(target_os = "macos") => {
                tell("launchctl", &["unload", "-w", text(&agent.path)?]).await
            }
            _ => tell("systemctl", &["--user", "disable", "--now", UNIT]).await,
        };
        if let Err(error) = stopped {
            say_aside(&format!("tiro: {error:#}"));
        }
    }
    let (gone, kept) = files::remove(files)?;
    for path in &gone {
        say(&format!("removed {}", path.display()))?;
    }
    for path in &kept {
        say_aside(&format!(
            "{} is not as Tiro wrote it, so it stays.",
            path.display()
        ));
    }
    if gone.is_empty() && kept.is_empty() {
        say("Nothing was installed.")?;
    }
    if answers && !cfg!(target_os = "macos") {
        tell("systemctl", &["--user", "daemon-reload"]).await?;
    }
    read_bus_files_again().await;
    Ok(ExitCode::SUCCESS)
}

async fn status(files: &[Planned]) -> anyhow::Result<ExitCode> {
    let mut whole = true;
    for file in files {
        let found = files::look(file)?;
        if found == Found::Missing
            && let Some(packaged) = files::packaged(file, Path::new("/usr"))
        {
            say(&format!("{}: of the package", packaged.display()))?;
            continue;
        }
        whole &= found != Found::Missing;
        let word = match found {
            Found::Missing => "missing",
            Found::Same => "as installed",
            Found::Older => "of another version; `tiro service install` renews it",
            Found::Foreign => "changed by you",
        };
        say(&format!("{}: {word}", file.path.display()))?;
    }
    if manager::answers().await {
        let (program, arguments) = match cfg!(target_os = "macos") {
            true => ("launchctl", vec!["list", AGENT]),
            false => ("systemctl", vec!["--user", "is-active", UNIT]),
        };
        let runs = tell(program, &arguments).await.is_ok();
        whole &= runs;
        say(if runs { "It runs." } else { "It does not run." })?;
    } else {
        say("The user's service manager does not answer here.")?;
    }
    Ok(match whole {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    })
}

/// Enables it and starts it, again when its file is a new one.
async fn enable(renewed: bool) -> anyhow::Result<()> {
    tell("systemctl", &["--user", "daemon-reload"]).await?;
    tell("systemctl", &["--user", "enable", UNIT]).await?;
    let start = if renewed { "restart" } else { "start" };
    let started = tell("systemctl", &["--user", start, UNIT]).await;
    started.context("Tiro does not start; `tiro doctor` says what it lacks")?;
    Ok(())
}

/// Whether this session has the target that the unit waits for.
async fn desktop_tells() -> bool {
    let target = ["--user", "is-active", "graphical-session.target"];
    tell("systemctl", &target).await.is_ok()
}

async fn load(agent: &Path) -> anyhow::Result<()> {
    // One that is not loaded cannot be unloaded, and that is well.
    let _ = tell("launchctl", &["unload", text(agent)?]).await;
    tell("launchctl", &["load", "-w", text(agent)?]).await.map(drop)
}

/// dbus-broker looks at its folders only when it is told to; dbus-daemon sees what is new by itself.
async fn read_bus_files_again() {
    let again = async {
        let session = zbus::Connection::session().await?;
        DBusProxy::new(&session).await?.reload_config().await?;
        zbus::Result::Ok(())
    };
    if let Ok(Err(error)) = tokio::time::timeout(BUS, again).await {
        tracing::debug!(%error, "the bus was not told");
    }
}

/// The files as the service manager finds them, and where they differ, as this shell would have them found.
async fn planned(app: &App) -> anyhow::Result<[Vec<Planned>; 2]> {
    let above = |path: &Path, levels: usize| path.ancestors().nth(levels).map(Path::to_owned);
    let home = std::env::home_dir().context("no home folder is known; set HOME")?;
    let own = Places {
        config: above(&app.paths.config, 2).unwrap_or_else(|| home.join(".config")),
        data: above(&app.paths.data, 1).unwrap_or_else(|| home.join(".local/share")),
        home,
        variables: Vec::new(),
    };
    let program = program()?;
    let mut theirs = own.clone();
    if let Some(known) = manager::known().await {
        theirs.config = known.config().unwrap_or(theirs.config);
        theirs.data = known.data().unwrap_or(theirs.data);
        theirs.variables = known.lacks(&|name| std::env::var(name).ok());
    }
    let theirs = files::plan(&theirs, &program)?;
    let mut own = files::plan(&own, &program)?;
    own.retain(|file| theirs.iter().all(|other| other.path != file.path));
    Ok([theirs, own])
}

/// This program, as it can be started again.
fn program() -> anyhow::Result<PathBuf> {
    let program = std::env::current_exe().context("the path of tiro is not known")?;
    ensure!(
        program.is_file(),
        "{} was replaced while it runs; run it again",
        program.display()
    );
    Ok(program)
}

fn text(path: &Path) -> anyhow::Result<&str> {
    path.to_str().context("the path of the agent is not UTF-8")
}
