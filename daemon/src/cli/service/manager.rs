//! The service manager of this person, systemd's or launchd: whether it answers, what it is told, and which folders it
//! looks into. It was started before this shell, and may know other variables.

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    process::Stdio,
    time::Duration,
};

use anyhow::{Context as _, ensure};
use tokio::process::Command;

/// How long the service manager has; stopping Tiro waits for what is being written.
const PATIENCE: Duration = Duration::from_secs(90);
/// Variables by which Tiro finds its folders.
const FOLDERS: [&str; 5] = [
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "XDG_CACHE_HOME",
    "XDG_STATE_HOME",
    "TIRO_MODELS",
];

/// Whether there is a service manager of this person.
pub async fn answers() -> bool {
    let (program, arguments) = match cfg!(target_os = "macos") {
        true => ("launchctl", ["list", ""].as_slice()),
        // Answers also where some unit of the session has failed.
        false => ("systemctl", ["--user", "show", "--property=Version"].as_slice()),
    };
    let arguments: Vec<&str> = arguments.iter().copied().filter(|a| !a.is_empty()).collect();
    tell(program, &arguments).await.is_ok()
}

/// Runs a program to its end; what it prints.
pub async fn tell(program: &str, arguments: &[&str]) -> anyhow::Result<String> {
    let line = format!("{program} {}", arguments.join(" "));
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null()).kill_on_drop(true);
    let ran = tokio::time::timeout(PATIENCE, command.output());
    let ran = ran
        .await
        .with_context(|| format!("`{line}` does not come to an end"))?;
    let ran = ran.with_context(|| format!("cannot run `{line}`"))?;
    let says = String::from_utf8_lossy(&ran.stderr).trim().to_owned();
    ensure!(ran.status.success(), "`{line}` failed: {says}");
    Ok(String::from_utf8_lossy(&ran.stdout).into_owned())
}

/// What systemd's manager of this person knows.
#[derive(Debug, Default)]
pub struct Known {
    units: Vec<PathBuf>,
    variables: HashMap<String, String>,
}

/// Nothing where there is none.
pub async fn known() -> Option<Known> {
    if cfg!(target_os = "macos") {
        return None;
    }
    let units = tell("systemctl", &["--user", "show", "--property=UnitPath", "--value"]);
    let variables = tell("systemctl", &["--user", "show-environment"]);
    let (units, variables) = tokio::try_join!(units, variables).ok()?;
    Some(Known::read(&units, &variables))
}

impl Known {
    fn read(units: &str, variables: &str) -> Known {
        let line = |line: &str| {
            let (name, value) = line.split_once('=')?;
            // Only values without anything to quote are written bare, and folders are seldom otherwise.
            (!value.starts_with("$'")).then(|| (name.to_owned(), value.to_owned()))
        };
        Known {
            units: units.split_whitespace().map(PathBuf::from).collect(),
            variables: variables.lines().filter_map(line).collect(),
        }
    }

    /// The folder of the person's config, in which units of theirs are.
    pub fn config(&self) -> Option<PathBuf> {
        // It stands before those of the system, and those that end with the session are apart.
        let units = self.units.iter().find(|path| {
            path.ends_with("systemd/user")
                && !["/etc", "/usr", "/run"]
                    .iter()
                    .any(|system| path.starts_with(system))
                && !self
                    .folder("XDG_RUNTIME_DIR")
                    .is_some_and(|run| path.starts_with(run))
        })?;
        units.ancestors().nth(2).map(Path::to_owned)
    }

    /// The folder of the person's data, in which the bus looks for services.
    pub fn data(&self) -> Option<PathBuf> {
        let usual = || Some(self.folder("HOME")?.join(".local/share"));
        self.folder("XDG_DATA_HOME").or_else(usual)
    }

    /// Which of this shell's variables for folders a service would not have, with their values.
    pub fn lacks(&self, here: &dyn Fn(&str) -> Option<String>) -> Vec<(&'static str, String)> {
        let own = FOLDERS.into_iter().filter_map(|name| Some((name, here(name)?)));
        own.filter(|(name, value)| Path::new(value).is_absolute() && self.variables.get(*name) != Some(value))
            .collect()
    }

    fn folder(&self, name: &str) -> Option<PathBuf> {
        let folder = PathBuf::from(self.variables.get(name)?);
        folder.is_absolute().then_some(folder)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const UNITS: &str = "/home/ada/.conf/systemd/user.control /run/user/1000/systemd/user.control \
                         /run/user/1000/systemd/transient /home/ada/.conf/systemd/user /etc/systemd/user \
                         /run/user/1000/systemd/user /run/systemd/user /usr/lib/systemd/user";

    #[test]
    fn the_folders_are_those_of_the_manager() {
        let known = Known::read(
            UNITS,
            "HOME=/home/ada\nXDG_DATA_HOME=/srv/ada\nODD=$'a\\nb'\nXDG_RUNTIME_DIR=/run/user/1000\n",
        );
        assert_eq!(known.config(), Some("/home/ada/.conf".into()));
        assert_eq!(known.data(), Some("/srv/ada".into()));
        let usual = Known::read("/etc/systemd/user", "HOME=/home/ada\n");
        assert_eq!(
            usual.config(),
            None,
            "nothing is written into the system's folders"
        );
        assert_eq!(usual.data(), Some("/home/ada/.local/share".into()));
        assert_eq!(Known::default().data(), None);
        let temporary = Known::read(
            "/tmp/run/systemd/user /tmp/c/systemd/user",
            "XDG_RUNTIME_DIR=/tmp/run\n",
        );
        assert_eq!(temporary.config(), Some("/tmp/c".into()));
    }

    #[test]
    fn a_service_gets_the_folders_of_the_shell_that_it_would_not_have() {
        let known = Known::read(UNITS, "XDG_DATA_HOME=/srv/ada\nXDG_CACHE_HOME=/old\n");
        let here = |name: &str| match name {
            "XDG_DATA_HOME" => Some("/srv/ada".to_owned()),
            "XDG_CACHE_HOME" => Some("/new".to_owned()),
            "XDG_STATE_HOME" => Some("relative".to_owned()),
            _ => None,
        };
        assert_eq!(known.lacks(&here), [("XDG_CACHE_HOME", "/new".to_owned())]);
    }
}
