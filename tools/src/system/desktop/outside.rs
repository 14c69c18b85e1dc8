//! Starting what is the person's own outside of what holds Tiro itself: as a service of Tiro's own, it may not become
//! more than it is (`NoNewPrivileges` in `dist/tiro.service`), and every child of it inherits that; a terminal without
//! sudo, or a browser that cannot set up its sandbox, would be broken. So there the service manager starts it, as it does
//! for desktops (systemd.io/DESKTOP_ENVIRONMENTS), with its own variables.

use std::{
    ffi::{OsStr, OsString},
    path::{Path, PathBuf},
    process::Stdio,
    sync::atomic::{AtomicU32, Ordering},
    time::{Duration, Instant},
};

use zbus::{OwnedObjectPath, Variant};

use super::{
    super::apps,
    Desk, PATIENCE,
    bus::{At, Bus, On, Trouble},
    scopes::{MANAGER, escaped},
};

/// How often a program that starts is looked at.
const LOOK: Duration = Duration::from_millis(50);
/// Most of a child's status that is not its own: systemd could not run it (systemd.exec(5), "Process Exit Codes").
const NOT_RUN: std::ops::RangeInclusive<i32> = 200..=245;

/// Whether the service manager holds this process so that it must start what is the person's. Elsewhere (a container, a
/// shell) there is nobody who could.
pub fn is_held() -> bool {
    #[cfg(target_os = "linux")]
    let held = rustix::thread::no_new_privs().unwrap_or(false);
    #[cfg(not(target_os = "linux"))]
    let held = false;
    held && std::env::var_os("INVOCATION_ID").is_some()
}

/// Has the service manager start a program as a service named after the app, and watches it for `settle`. The error is why
/// it did not start.
///
/// # Errors
/// The outer one when there is no such manager: then nothing was started.
pub async fn start(
    desk: &Desk,
    id: &str,
    command: &[String],
    folder: Option<&Path>,
    settle: Duration,
) -> Result<Result<(), String>, Trouble> {
    let Some((name, arguments)) = command.split_first() else {
        return Ok(Err("its entry names no program".to_owned()));
    };
    let program = match name.contains('/') {
        true => Some(PathBuf::from(name)),
        false => desk.program(name),
    };
    let Some(program) = program.as_deref().and_then(Path::to_str) else {
        return Ok(Err(format!("{name} is not installed")));
    };
    let bus = Bus::open(desk, On::Session).await?;
    let unit = format!("app-tiro-{}@{}.service", escaped(id), unique());
    let argv: Vec<&str> = std::iter::once(program)
        .chain(arguments.iter().map(String::as_str))
        .collect();
    // Words of the command are what they are: no variables are put in.
    let exec = vec![(program, argv, vec!["no-env-expand"])];
    let env: Vec<String> = desk
        .env
        .iter()
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    // Before systemd 250 a service ended with its first process, and took with it what that had left running, such as the
    // browser that an opener started; there nothing but that first process is ended.
    let mut answer = Ok(());
    for lives in [("ExitType", "cgroup"), ("KillMode", "process")] {
        let mut properties = vec![
            (lives.0, Variant::from(lives.1)),
            ("Type", Variant::from("exec")),
            ("ExecStartEx", Variant::from(exec.clone())),
            ("Environment", Variant::from(env.clone())),
            ("StandardOutput", Variant::from("null")),
            ("StandardError", Variant::from("null")),
            ("CollectMode", Variant::from("inactive-or-failed")),
            ("Slice", Variant::from("app.slice")),
            // It can be asked how it went until this connection ends.
            ("AddRef", Variant::from(true)),
        ];
        if let Some(folder) = folder.and_then(Path::to_str) {
            properties.push(("WorkingDirectory", Variant::from(folder)));
        }
        let others: Vec<(&str, Vec<(&str, Variant<'_>)>)> = Vec::new();
        let asked = (unit.as_str(), "fail", properties, others);
        let job = bus.call::<_, OwnedObjectPath>(MANAGER, "StartTransientUnit", &asked);
        answer = job.await.map(drop);
        if !matches!(answer, Err(Trouble::Unknown | Trouble::Refused { .. })) {
            break;
        }
    }
    match answer {
        Ok(()) => Ok(watch(&bus, &unit, program, settle).await),
        // It may have begun all the same, and must not be started twice.
        Err(Trouble::Silent | Trouble::Gone) => Ok(Err("systemd does not answer".to_owned())),
        Err(Trouble::Garbage) => Ok(Err("systemd gave an answer that I do not understand".to_owned())),
        Err(trouble) => Err(trouble),
    }
}

/// Whether a service that begins is still there after `settle`, or has ended well.
async fn watch(bus: &Bus, unit: &str, program: &str, settle: Duration) -> Result<(), String> {
    let began = Instant::now();
    tokio::time::sleep(settle).await;
    loop {
        match state(bus, unit).await {
            Ok(State::Good) => return Ok(()),
            Ok(State::Failed(status)) if NOT_RUN.contains(&status) => {
                return Err(format!("{program} cannot be run"));
            }
            Ok(State::Failed(status)) => return Err(format!("it ended at once (exit status {status})")),
            Ok(State::Waits) if began.elapsed() < settle + PATIENCE => tokio::time::sleep(LOOK).await,
            Ok(State::Waits) => return Err("systemd does not get to it".to_owned()),
            Err(trouble) => {
                tracing::debug!(?trouble, unit, "nobody says how an app is");
                return Ok(());
            }
        }
    }
}

enum State {
    Good,
    Waits,
    Failed(i32),
}

async fn state(bus: &Bus, unit: &str) -> Result<State, Trouble> {
    let path: OwnedObjectPath = bus.call(MANAGER, "GetUnit", &unit).await?;
    let at = |interface| At {
        name: MANAGER.name,
        path: path.as_str(),
        interface,
    };
    let of_unit = at("org.freedesktop.systemd1.Unit");
    let active: String = bus.get(of_unit, "ActiveState").await?;
    Ok(match active.as_str() {
        "active" => State::Good,
        "failed" => {
            let of_service = at("org.freedesktop.systemd1.Service");
            State::Failed(bus.get(of_service, "ExecMainStatus").await?)
        }
        // It has ended well, unless its start still waits for its turn.
        "inactive" => match bus.get::<(u32, OwnedObjectPath)>(of_unit, "Job").await?.0 {
            0 => State::Good,
            _ => State::Waits,
        },
        _ => State::Waits,
    })
}

/// A command of the person's whose output is wanted, as it is to be run here: as it is, or by the service manager.
#[derive(Debug)]
pub struct Outside {
    /// Program and arguments.
    pub command: Vec<OsString>,
    /// The service of the service manager's; it ends when this is dropped before [`Outside::ended`].
    unit: Option<String>,
}

impl Outside {
    /// `longest` is how long it may take at most, whatever becomes of Tiro.
    pub fn of(program: &OsStr, arguments: &[&OsStr], longest: Duration) -> Outside {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let held = is_held() && apps::runnable("systemd-run", &path);
        Outside::held(held, program, arguments, longest)
    }

    fn held(held: bool, program: &OsStr, arguments: &[&OsStr], longest: Duration) -> Outside {
        let own = std::iter::once(program).chain(arguments.iter().copied());
        if !held {
            let command = own.map(OsStr::to_owned).collect();
            return Outside { command, unit: None };
        }
        let unit = format!("tiro-run-{}.service", unique());
        let mut command: Vec<OsString> = [
            "systemd-run",
            "--user",
            "--quiet",
            "--pipe",
            "--wait",
            "--collect",
            "--same-dir",
            "--service-type=exec",
            // What it leaves running in the background is its own business.
            "--property=KillMode=process",
        ]
        .map(OsString::from)
        .into();
        let most = longest.as_secs().saturating_add(2);
        command.push(format!("--property=RuntimeMaxSec={most}").into());
        command.push(format!("--unit={unit}").into());
        command.push("--".into());
        command.extend(own.map(without_variables));
        let unit = Some(unit);
        Outside { command, unit }
    }

    /// It has ended by itself.
    pub fn ended(mut self) {
        self.unit = None;
    }
}

impl Drop for Outside {
    fn drop(&mut self) {
        let Some(unit) = self.unit.take() else { return };
        let ended = std::process::Command::new("systemctl")
            .args(["--user", "kill", "--signal=KILL", &unit])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        match ended {
            // Waited for elsewhere, so that nothing of it stays and nobody waits here.
            Ok(mut child) => drop(std::thread::spawn(move || child.wait())),
            // RuntimeMaxSec ends it.
            Err(error) => tracing::debug!(%error, "a command was not ended"),
        }
    }
}

/// systemd puts variables into words of a command; two dollars are one that stays.
fn without_variables(word: &OsStr) -> OsString {
    use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
    let mut bytes = Vec::with_capacity(word.len());
    for byte in word.as_bytes() {
        bytes.push(*byte);
        if *byte == b'$' {
            bytes.push(b'$');
        }
    }
    OsString::from_vec(bytes)
}

/// No other unit of this process or another one has this in its name.
fn unique() -> String {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let now = jiff::Timestamp::now().as_millisecond();
    format!("{:x}{now:x}{count:x}", std::process::id())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_left_as_it_is_where_nothing_holds_it() {
        let outside = Outside::held(false, "pass".as_ref(), &["$1".as_ref()], Duration::from_secs(9));
        assert_eq!(outside.command, ["pass", "$1"]);
        assert!(outside.unit.is_none());
    }

    #[test]
    fn the_manager_gets_every_word_as_it_was_and_an_end() {
        let argument = ["a $HOME b".as_ref(), "-x".as_ref()];
        let outside = Outside::held(true, "/bin/pass".as_ref(), &argument, Duration::from_secs(9));
        let command: Vec<_> = outside
            .command
            .iter()
            .map(|word| word.to_str().unwrap())
            .collect();
        let at = command.iter().position(|word| *word == "--").unwrap();
        assert_eq!(command[at + 1..], ["/bin/pass", "a $$HOME b", "-x"]);
        assert!(
            command[..at].contains(&"--property=RuntimeMaxSec=11"),
            "{command:?}"
        );
        let other = Outside::held(true, "/bin/pass".as_ref(), &[], Duration::ZERO);
        assert_ne!(outside.unit.as_ref().unwrap(), other.unit.as_ref().unwrap());
        outside.ended();
        other.ended();
    }
}
