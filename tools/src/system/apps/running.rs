//! Which programs run, and asking one to end.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use super::App;
use crate::{
    contract::ToolError,
    system::{
        desktop::{Desk, ask_to_quit, unit_name},
        store,
    },
};

/// Most processes that are looked at.
const MAX_PROCESSES: usize = 20_000;
/// Largest file of one process that is read, in bytes; command lines may be as long as this.
const MAX_FILE: u64 = 256 << 10;
/// How long a program may take to end when it is asked politely, and after it was told.
const ASKED: Duration = Duration::from_millis(1500);
const TOLD: Duration = Duration::from_secs(4);
/// Programs that run other programs: their own name says nothing.
pub(super) const RUNNERS: [&str; 16] = [
    "sh", "bash", "dash", "env", "python", "python3", "perl", "ruby", "node", "java", "gjs", "mono",
    "flatpak", "snap", "xdg-open", "gio",
];

/// An app that runs.
#[derive(Debug, Clone, PartialEq)]
pub struct Running<'a> {
    /// Which.
    pub app: &'a App,
    /// Its processes.
    pub processes: Vec<u32>,
}

/// What of the installed apps runs as this user. Told by the systemd unit that desktops start an app in, else by the
/// program's own file.
pub fn running<'a>(apps: &'a [App], desk: &Desk) -> Vec<Running<'a>> {
    let mut found: BTreeMap<usize, Vec<u32>> = BTreeMap::new();
    for process in processes(desk) {
        if let Some(at) = whose(&process, apps) {
            found.entry(at).or_default().push(process.pid);
        }
    }
    let running = found.into_iter();
    running
        .map(|(at, processes)| Running {
            app: &apps[at],
            processes,
        })
        .collect()
}

/// The app that a process belongs to: that of its unit; else that of its program, and where several apps are the same
/// program with other arguments (pages that a browser shows as apps), the plain one.
fn whose(process: &Process, apps: &[App]) -> Option<usize> {
    let by_unit = apps.iter().position(|app| is_unit_of(&process.unit, &app.id));
    by_unit.or_else(|| {
        let same = apps.iter().enumerate().filter(|(_, app)| process.runs(app));
        same.min_by_key(|(_, app)| app.command.len()).map(|(at, _)| at)
    })
}

/// Ends an app: asks it over the bus, as its own menu does; what does not listen there is told by a signal, as a shell
/// that logs out does. Nothing is ever forced.
///
/// # Errors
/// `Tell` when it goes on: it may be asking whether to save.
pub async fn quit(desk: &Desk, app: &App, processes: &[u32]) -> Result<(), ToolError> {
    let open = watch(desk, app, processes);
    if ask_to_quit(desk, &app.id, processes).await && gone(&open, ASKED).await {
        return Ok(());
    }
    // Those that another one of them has started end with it, and in better order.
    for process in open.iter().filter(|process| !processes.contains(&process.parent)) {
        process.terminate();
    }
    match gone(&open, TOLD).await {
        true => Ok(()),
        false => Err(ToolError::tell(format!(
            "I asked {} to close and it is still open. It may be asking you something.",
            app.name
        ))),
    }
}

async fn gone(open: &[Watched], limit: Duration) -> bool {
    let began = Instant::now();
    loop {
        if open.iter().all(Watched::is_gone) {
            return true;
        }
        if began.elapsed() >= limit {
            return false;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// One process, as far as it is looked at.
struct Process {
    pid: u32,
    exe: PathBuf,
    words: Vec<String>,
    unit: String,
    parent: u32,
}

impl Process {
    fn read(proc: &Path, pid: u32) -> Option<Process> {
        let folder = proc.join(pid.to_string());
        let text = |name: &str| {
            let bytes = store::read_bounded(&folder.join(name), MAX_FILE).ok()?;
            Some(String::from_utf8_lossy(&bytes).into_owned())
        };
        let line = text("cmdline")?;
        let words: Vec<String> = line.split('\0').take(3).map(str::to_owned).collect();
        let group = text("cgroup").unwrap_or_default();
        // The parent stands second behind the name in brackets (proc_pid_stat(5)).
        let parent = text("stat").and_then(|stat| stat.rsplit_once(") ")?.1.split(' ').nth(1)?.parse().ok());
        Some(Process {
            pid,
            parent: parent.unwrap_or(0),
            exe: fs::read_link(folder.join("exe")).unwrap_or_default(),
            words,
            unit: group.trim_end().rsplit('/').next().unwrap_or_default().to_owned(),
        })
    }

    fn is_of(&self, app: &App) -> bool {
        is_unit_of(&self.unit, &app.id) || self.runs(app)
    }

    /// Whether it is the program of this app.
    fn runs(&self, app: &App) -> bool {
        let program = file_name(&app.program);
        if program.is_empty() || RUNNERS.contains(&program) {
            return false;
        }
        let own = self
            .exe
            .file_name()
            .and_then(|name| name.to_str())
            .unwrap_or_default();
        let first = self.words.first().map_or("", |word| file_name(word));
        // A script is run by something else, and named behind it.
        let second = match RUNNERS.iter().any(|runner| own.starts_with(runner)) {
            true => self.words.get(1).map_or("", |word| file_name(word)),
            false => "",
        };
        let named = [own, first, second].contains(&program);
        let elsewhere = app.program.contains('/') && own == program && self.exe != resolved(&app.program);
        named && !elsewhere
    }
}

/// A program's file behind all links.
fn resolved(program: &str) -> PathBuf {
    fs::canonicalize(program).unwrap_or_else(|_| PathBuf::from(program))
}

fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// `app-gnome-org.gnome.Maps-4711.scope`, `app-org.gnome.Maps@x.service`, `app-firefox\x2desr-1.scope`.
fn is_unit_of(unit: &str, id: &str) -> bool {
    if id.is_empty() {
        return false;
    }
    let name = unit_name(id);
    let rest = match unit.strip_prefix("app-") {
        Some(rest) => rest,
        None => return false,
    };
    let core = match (rest.strip_suffix(".scope"), rest.strip_suffix(".service")) {
        (Some(core), _) => core.rsplit_once('-').map_or(core, |(core, _)| core),
        (_, Some(core)) => core.split('@').next().unwrap_or(core),
        _ => return false,
    };
    core == name || core.split_once('-').is_some_and(|(_, core)| core == name)
}

/// The processes of this user, without our own.
fn processes(desk: &Desk) -> Vec<Process> {
    use std::os::unix::fs::MetadataExt as _;
    let proc = desk.root.join("proc");
    let Ok(entries) = fs::read_dir(&proc) else {
        return Vec::new();
    };
    let me = rustix::process::geteuid().as_raw();
    let own = std::process::id();
    entries
        .filter_map(Result::ok)
        .filter_map(|entry| {
            let pid: u32 = entry.file_name().to_str()?.parse().ok()?;
            (pid != own && entry.metadata().ok()?.uid() == me).then_some(pid)
        })
        .take(MAX_PROCESSES)
        .filter_map(|pid| Process::read(&proc, pid))
        .collect()
}

/// A process that is held on to, so that its number cannot come to mean another one.
struct Watched {
    parent: u32,
    #[cfg(target_os = "linux")]
    handle: rustix::fd::OwnedFd,
    #[cfg(not(target_os = "linux"))]
    pid: rustix::process::Pid,
}

/// Takes hold of the processes that are still the app's.
fn watch(desk: &Desk, app: &App, processes: &[u32]) -> Vec<Watched> {
    let proc = desk.root.join("proc");
    processes
        .iter()
        .filter_map(|pid| {
            let number = i32::try_from(*pid)
                .ok()
                .and_then(rustix::process::Pid::from_raw)?;
            let held = Watched::hold(number)?;
            // Looked at again while it is held: now it is certain which program that is.
            let process = Process::read(&proc, *pid).filter(|process| process.is_of(app))?;
            Some(Watched {
                parent: process.parent,
                ..held
            })
        })
        .collect()
}

#[cfg(target_os = "linux")]
impl Watched {
    fn hold(pid: rustix::process::Pid) -> Option<Watched> {
        let handle = rustix::process::pidfd_open(pid, rustix::process::PidfdFlags::empty()).ok()?;
        Some(Watched { parent: 0, handle })
    }

    fn terminate(&self) {
        if let Err(error) = rustix::process::pidfd_send_signal(&self.handle, rustix::process::Signal::TERM) {
            tracing::debug!(%error, "a process is gone already");
        }
    }

    /// A handle can be read once its process has ended, also when nobody has reaped it yet.
    fn is_gone(&self) -> bool {
        use rustix::event::{PollFd, PollFlags, Timespec, poll};
        let mut waiting = [PollFd::new(&self.handle, PollFlags::IN)];
        let now = Timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        !matches!(poll(&mut waiting, Some(&now)), Ok(0) | Err(_))
    }
}

#[cfg(not(target_os = "linux"))]
impl Watched {
    fn hold(pid: rustix::process::Pid) -> Option<Watched> {
        Some(Watched { parent: 0, pid })
    }

    fn terminate(&self) {
        let _ = rustix::process::kill_process(self.pid, rustix::process::Signal::TERM);
    }

    fn is_gone(&self) -> bool {
        rustix::process::test_kill_process(self.pid).is_err()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_name_their_apps() {
        for (unit, id, expect) in [
            ("app-gnome-org.gnome.Maps-4711.scope", "org.gnome.Maps", true),
            ("app-org.gnome.Maps-4711.scope", "org.gnome.Maps", true),
            ("app-tiro-firefox\\x2desr-1.scope", "firefox-esr", true),
            ("app-org.gnome.Maps@aa11.service", "org.gnome.Maps", true),
            ("app-org.kde.kate@autostart.service", "org.kde.kate", true),
            ("app-gnome-org.gnome.Maps-4711.scope", "Maps", false),
            ("session-2.scope", "session", false),
            ("app-.scope", "", false),
            ("", "x", false),
        ] {
            assert_eq!(is_unit_of(unit, id), expect, "{unit} {id}");
        }
    }

    #[test]
    fn the_browser_is_meant_and_no_page_of_it() {
        let app = |id: &str, command: &[&str]| App {
            id: id.into(),
            program: command[0].into(),
            command: command.iter().map(|word| (*word).to_owned()).collect(),
            ..App::default()
        };
        let apps = [
            app("docs", &["chromium", "--app-id=docs"]),
            app("chromium", &["chromium"]),
            app("mail", &["chromium", "--app-id=mail"]),
        ];
        let process = |unit: &str| Process {
            pid: 1,
            parent: 0,
            exe: "/usr/bin/chromium".into(),
            words: vec!["chromium".into()],
            unit: unit.into(),
        };
        assert_eq!(whose(&process("session-2.scope"), &apps), Some(1));
        assert_eq!(whose(&process("app-gnome-mail-77.scope"), &apps), Some(2));
        assert_eq!(whose(&process(""), &apps[..0]), None);
    }

    #[test]
    fn programs_are_known_by_their_files() {
        let process = |exe: &str, words: &[&str]| Process {
            pid: 1,
            exe: exe.into(),
            words: words.iter().map(|w| (*w).to_owned()).collect(),
            unit: String::new(),
            parent: 0,
        };
        let app = |program: &str| App {
            program: program.into(),
            ..App::default()
        };
        for (process, program, expect) in [
            (
                process("/usr/lib/firefox/firefox", &["/usr/lib/firefox/firefox"]),
                "firefox",
                true,
            ),
            (
                process("/usr/bin/python3.11", &["/usr/bin/python3", "/usr/bin/lollypop"]),
                "lollypop",
                true,
            ),
            (process("/usr/bin/vim", &["vim", "lollypop"]), "lollypop", false),
            (process("/usr/bin/bash", &["bash"]), "bash", false),
            (process("/opt/other/paint", &["paint"]), "/nowhere/paint", false),
            (process("/usr/bin/x", &["x"]), "", false),
        ] {
            assert_eq!(
                process.is_of(&app(program)),
                expect,
                "{program} {:?}",
                process.exe
            );
        }
    }
}
