//! Tiro under a real user manager of systemd: installed into its folders, started, held by its unit, restarted, activated by
//! the bus, and taken away again. The manager runs in a mount namespace and a control group of its own, so that it is one
//! beside whatever started this machine.

use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use daemon::{bus::Tiro1Proxy, status::Status};

use crate::{
    desktop::{PATIENCE, skipped},
    program::{Ran, Tiro, finish, kill, stop, wait},
    pulse::Pulse,
    speaking::ear::Ear,
    spoken::{
        Sound::{Pause, Request},
        share_of_words, sounds,
    },
};

/// Makes a system that looks as if systemd had started it, runs the manager there until its input ends, and leaves nothing.
const MANAGER: &str = r#"
set -e
mkdir -p /run/systemd
mount -t tmpfs tmpfs /run/systemd
mkdir /run/systemd/system
umount -R /sys/fs/cgroup 2>/dev/null || true
mount -t cgroup2 cgroup2 /sys/fs/cgroup
group=/sys/fs/cgroup/$1
mkdir "$group"
(
  exec 0</dev/null
  sh -c 'echo $PPID' > "$group/cgroup.procs"
  exec unshare --cgroup --mount sh -c 'umount /sys/fs/cgroup && mount -t cgroup2 cgroup2 /sys/fs/cgroup && exec "$1" --user --log-target=null' sh "$2"
) &
cat > /dev/null
kill -TERM $! 2>/dev/null || true
for tick in 1 2 3 4 5 6 7 8 9 10; do kill -0 $! 2>/dev/null || break; sleep 0.1; done
echo 1 > "$group/cgroup.kill"
wait || true
for tick in 1 2 3 4 5 6 7 8 9 10; do find "$group" -depth -type d -exec rmdir {} + 2>/dev/null && break; sleep 0.1; done
"#;
/// The session bus as `dbus-user-session` has it.
const BUS_SOCKET: &str = "[Socket]\nListenStream=%t/bus\n";
const BUS_SERVICE: &str = "[Unit]\nRequires=dbus.socket\n[Service]\nType=notify\nNotifyAccess=main\n\
    ExecStart=/usr/bin/dbus-daemon --session --address=systemd: --nofork --nopidfile --systemd-activation --syslog-only\n";

struct Manager {
    child: Child,
    folder: tempfile::TempDir,
    models: PathBuf,
}

impl Manager {
    /// `None` with a loud line where there is no systemd, or where nobody may make such a system.
    fn start(tiro: &Tiro) -> Option<Manager> {
        let systemd = "/usr/lib/systemd/systemd";
        if !Path::new(systemd).exists() {
            skipped("systemd");
            return None;
        }
        let folder = tempfile::tempdir().unwrap();
        let units = folder.path().join("run/systemd/user");
        fs::create_dir_all(units.join("sockets.target.wants")).unwrap();
        for made in ["home", "theirs", "mine"] {
            fs::create_dir(folder.path().join(made)).unwrap();
        }
        fs::set_permissions(folder.path().join("run"), fs::Permissions::from_mode(0o700)).unwrap();
        fs::write(units.join("dbus.socket"), BUS_SOCKET).unwrap();
        fs::write(units.join("dbus.service"), BUS_SERVICE).unwrap();
        std::os::unix::fs::symlink("../dbus.socket", units.join("sockets.target.wants/dbus.socket")).unwrap();
        let group = folder
            .path()
            .file_name()
            .unwrap()
            .to_str()
            .unwrap()
            .replace('.', "tiro-test-");
        let mut unshare = Command::new("unshare");
        unshare.args([
            "--mount",
            "--propagation",
            "private",
            "sh",
            "-c",
            MANAGER,
            "sh",
            &group,
            systemd,
        ]);
        unshare.env_clear().env("PATH", std::env::var_os("PATH").unwrap());
        // It was started by a login, and not by the shell that installs.
        unshare.env("XDG_CONFIG_HOME", folder.path().join("theirs"));
        unshare.env("XDG_DATA_HOME", folder.path().join("theirs/data"));
        unshare.envs(session(folder.path()));
        let errors = fs::File::create(folder.path().join("errors")).unwrap();
        let child = unshare
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(errors)
            .spawn();
        let mut manager = Manager {
            child: child.unwrap(),
            folder,
            models: tiro.models().to_owned(),
        };
        let began = Instant::now();
        while manager.systemctl(&["show", "--property=Version"]).code != Some(0) {
            if manager.child.try_wait().unwrap().is_some() {
                let why = fs::read_to_string(manager.folder.path().join("errors")).unwrap();
                // No package could give these rights to a test.
                assert!(why.contains("not permitted") || why.contains("denied"), "{why}");
                println!("SKIPPED: no user manager can be started here: {why}");
                return None;
            }
            assert!(began.elapsed() < PATIENCE, "the user manager does not come");
            std::thread::sleep(Duration::from_millis(50));
        }
        manager.systemctl(&["start", "sockets.target"]).expect_code(0);
        Some(manager)
    }

    fn at(&self, path: &str) -> PathBuf {
        self.folder.path().join(path)
    }

    /// A program as the person's shell would run it.
    fn run(&self, program: impl AsRef<std::ffi::OsStr>, arguments: &[&str]) -> Ran {
        // systemctl leaves to the manager what it does only where it sees that systemd started the system.
        let mut command = Command::new("nsenter");
        command
            .arg(format!("--target={}", self.child.id()))
            .arg("--mount")
            .arg(format!("--wd={}", self.at("home").display()))
            .arg("--")
            .arg(program.as_ref())
            .args(arguments)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap());
        command
            .envs(session(self.folder.path()))
            .env("TIRO_MODELS", &self.models);
        for (name, folder) in [("XDG_CONFIG_HOME", "mine/config"), ("XDG_DATA_HOME", "mine/data")] {
            command.env(name, self.at(folder));
        }
        let piped = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        finish(piped.spawn().unwrap())
    }

    fn systemctl(&self, arguments: &[&str]) -> Ran {
        self.run("systemctl", &[&["--user"], arguments].concat())
    }

    fn pid(&self) -> u32 {
        let ran = self.systemctl(&["show", "--property=MainPID", "--value", "tiro.service"]);
        ran.out.trim().parse().unwrap()
    }

    fn status(&self, tiro: &Tiro) -> Status {
        let ran = self.run(tiro.program(), &["status", "--json"]);
        serde_json::from_str(&ran.out).unwrap_or_else(|error| panic!("{error}: {ran:?}"))
    }

    /// Waits until the daemon is as it should be.
    #[track_caller]
    fn until(&self, tiro: &Tiro, what: &str, is_so: impl Fn(&Status) -> bool) {
        let began = Instant::now();
        loop {
            let status = self.status(tiro);
            if is_so(&status) {
                return;
            }
            assert!(began.elapsed() < 3 * PATIENCE, "never {what}: {status:?}");
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    /// Waits until Tiro runs as another process than this one.
    fn other_than(&self, old: u32) -> u32 {
        let began = Instant::now();
        loop {
            let active = self.systemctl(&["is-active", "tiro.service"]).code == Some(0);
            match self.pid() {
                new if active && new != 0 && new != old => return new,
                _ => assert!(began.elapsed() < PATIENCE, "Tiro does not come back"),
            }
            std::thread::sleep(Duration::from_millis(100));
        }
    }
}

impl Drop for Manager {
    fn drop(&mut self) {
        // What ends its input ends it, also where this process is killed.
        drop(self.child.stdin.take());
        wait(&mut self.child);
    }
}

fn session(folder: &Path) -> [(&'static str, String); 3] {
    let run = folder.join("run").display().to_string();
    [
        ("HOME", folder.join("home").display().to_string()),
        ("DBUS_SESSION_BUS_ADDRESS", format!("unix:path={run}/bus")),
        ("XDG_RUNTIME_DIR", run),
    ]
}

fn field(pid: u32, name: &str) -> String {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
    line.trim_start_matches(':').trim().to_owned()
}

fn script(path: &Path, body: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, format!("#!/bin/sh\n{body}\n")).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o700)).unwrap();
}

/// The model is loaded by the service itself, behind everything that the unit takes away.
#[tokio::test]
async fn real_a_user_manager_runs_tiro_held_and_starts_it_again() {
    let Some(tiro) = Tiro::find() else { return };
    let Some(manager) = Manager::start(&tiro) else {
        return;
    };
    let program = tiro.program().display().to_string();
    manager
        .run(&program, &["service", "install"])
        .expect_code(0)
        .says(&["Tiro runs"]);
    assert!(
        manager.at("theirs/systemd/user/tiro.service").is_file(),
        "where the manager looks"
    );
    assert!(
        !manager.at("mine/config/systemd").exists(),
        "where only this shell would look"
    );
    let bus_file = manager.at("theirs/data/dbus-1/services/org.tiro.Tiro1.service");
    assert!(bus_file.is_file(), "where the bus looks");
    manager
        .run(&program, &["service", "status"])
        .expect_code(0)
        .says(&["as installed", "It runs."]);
    let pid = manager.pid();
    assert_eq!(
        (field(pid, "NoNewPrivs"), field(pid, "Seccomp")),
        ("1".to_owned(), "2".to_owned())
    );
    assert!(
        manager.at("mine/data/tiro").is_dir(),
        "the folders are those of the shell that installed it"
    );

    manager.until(&tiro, "the model", |status| !status.model.is_empty());
    assert_eq!(manager.status(&tiro).pid, pid);
    manager.run(&program, &["ask", "what time is it"]).expect_code(0);

    kill(pid);
    let second = manager.other_than(pid);
    manager.systemctl(&["stop", "tiro.service"]).expect_code(0);
    assert_eq!(manager.pid(), 0);
    let address = format!("unix:path={}", manager.at("run/bus").display());
    let client = zbus::connection::Builder::address(address.as_str())
        .build()
        .await
        .unwrap();
    let answer = Tiro1Proxy::new(&client).await.unwrap().status().await.unwrap();
    let activated: Status = serde_json::from_str(&answer).unwrap();
    assert_eq!(
        activated.pid,
        manager.other_than(second),
        "by the service manager and not beside it"
    );

    manager.run(&program, &["service", "remove"]).expect_code(0);
    assert!(!bus_file.exists() && !manager.at("theirs/systemd/user/tiro.service").exists());
    assert_eq!(
        manager.systemctl(&["is-active", "tiro.service"]).out.trim(),
        "inactive"
    );
}

/// What Tiro opens and runs for the person is not held as Tiro is, does not end with it, and is watched all the same.
#[test]
fn real_what_is_opened_under_a_user_manager_is_free() {
    let Some(tiro) = Tiro::find() else { return };
    let Some(manager) = Manager::start(&tiro) else {
        return;
    };
    let entry = |id: &str, name: &str, body: &str| {
        let program = manager.at(id);
        script(&program, body);
        let file = manager.at("mine/data/applications").join(format!("{id}.desktop"));
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        let exec = program.display();
        fs::write(
            file,
            format!("[Desktop Entry]\nType=Application\nName={name}\nExec={exec} $HOME %%\n"),
        )
        .unwrap();
    };
    let seen = manager.at("seen");
    let look = format!(
        "{{ echo \"$@\"; grep NoNewPrivs /proc/self/status; cat /proc/self/cgroup; }} > {}",
        seen.display()
    );
    entry("planner", "Garden Planner", &format!("{look}\nsleep 300"));
    entry(
        "opener",
        "Harbour Opener",
        &format!("sleep 301 & echo $! > {}", seen.display()),
    );
    entry("broken", "Broken Editor", "exit 7");
    script(
        &manager.at("mine/config/tiro/shortcuts/rights.sh"),
        "grep NoNewPrivs /proc/self/status; echo \"$1\"",
    );
    let program = tiro.program().display().to_string();
    // As the daemon is by its unit.
    let held = |arguments: &[&str]| {
        let as_unit = [
            "--user",
            "--quiet",
            "--pipe",
            "--wait",
            "--collect",
            "--property=NoNewPrivileges=yes",
        ];
        let folders = ["XDG_CONFIG_HOME", "XDG_DATA_HOME"].map(|name| format!("--setenv={name}"));
        let folders = folders.each_ref().map(String::as_str);
        manager.run(
            "systemd-run",
            &[&as_unit, &folders[..], &[program.as_str(), "call"], arguments].concat(),
        )
    };
    let open = |name: &str| held(&["system.open_app", &format!("{{\"name\": \"{name}\"}}")]);
    let until = |what: &str| {
        let began = Instant::now();
        loop {
            let text = fs::read_to_string(&seen).unwrap_or_default();
            if text.contains(what) {
                return text;
            }
            assert!(began.elapsed() < PATIENCE, "{text:?} has no {what:?}");
            std::thread::sleep(Duration::from_millis(20));
        }
    };

    open("garden planner").expect_code(0);
    let text = until("app-tiro-planner");
    assert!(
        text.starts_with("$HOME %\n") && text.contains("NoNewPrivs:\t0"),
        "{text}"
    );
    assert!(text.contains("app.slice"), "{text}");
    open("broken editor")
        .expect_code(1)
        .says(&["Broken Editor did not start", "exit status 7"]);
    fs::remove_file(&seen).unwrap();
    open("harbour opener").expect_code(0);
    let left: u32 = until("\n").trim().parse().unwrap();
    std::thread::sleep(Duration::from_secs(1));
    assert!(
        Path::new(&format!("/proc/{left}")).exists(),
        "what an opener starts outlives it"
    );
    let ran = held(&[
        "shortcuts.run",
        "{\"name\": \"rights\", \"text\": \"$HOME is $1\"}",
        "--yes",
    ]);
    ran.expect_code(0).says(&["NoNewPrivs: 0 $HOME is $1"]);
}

/// A daemon that hangs is ended and started again, one that is well is left alone.
#[test]
fn real_a_daemon_that_hangs_is_started_again() {
    let Some(tiro) = Tiro::find() else { return };
    let Some(manager) = Manager::start(&tiro) else {
        return;
    };
    // A minute is what the unit gives; the test has less.
    let quick = manager.at("theirs/systemd/user/tiro.service.d");
    fs::create_dir_all(&quick).unwrap();
    fs::write(
        quick.join("quick.conf"),
        "[Service]\nWatchdogSec=4\nTimeoutAbortSec=5\nLimitCORE=0\n",
    )
    .unwrap();
    manager
        .run(tiro.program(), &["service", "install"])
        .expect_code(0);
    let well = manager.pid();
    std::thread::sleep(Duration::from_secs(10));
    assert_eq!(manager.pid(), well, "it was ended although it is well");
    stop(well);
    let again = manager.other_than(well);
    let restarts = manager.systemctl(&["show", "--property=NRestarts", "--value", "tiro.service"]);
    assert_eq!(restarts.out.trim(), "1");
    assert_eq!(manager.status(&tiro).pid, again);
}

/// The microphone and the speaker are reached through all that the unit takes away.
#[test]
fn real_the_service_hears_and_speaks() {
    let Some(tiro) = Tiro::find() else { return };
    let Some(manager) = Manager::start(&tiro) else {
        return;
    };
    let folder = manager.at("sound");
    fs::create_dir(&folder).unwrap();
    let Some(pulse) = Pulse::start(&folder) else {
        return;
    };
    let Some(question) = sounds(&folder, &[Pause(500), Request, Pause(500)]) else {
        return;
    };
    let config = manager.at("mine/config/tiro/config.toml");
    fs::create_dir_all(config.parent().unwrap()).unwrap();
    let settings = "[speech]\nvoice = \"espeak-ng\"\n[privacy]\ntrace = true\n[desktop]\nicon = false\n";
    fs::write(config, settings).unwrap();
    let server = format!("PULSE_SERVER={}", pulse.address());
    manager.systemctl(&["set-environment", &server]).expect_code(0);
    let program = tiro.program();
    manager.run(program, &["service", "install"]).expect_code(0);
    let pid = manager.pid();
    assert_eq!(
        (field(pid, "NoNewPrivs"), field(pid, "Seccomp")),
        ("1".to_owned(), "2".to_owned())
    );
    manager.until(&tiro, "ready", |status| status.prefix.is_some());
    manager.run(program, &["listen", "start"]).expect_code(0);
    pulse.until_recorders(1);
    let ear = Ear::open(&pulse);
    let from = ear.position();
    pulse.speak(&question);
    manager.run(program, &["listen", "stop"]).expect_code(0);
    manager.until(&tiro, "answered", |status| {
        status.turns == 1 && status.state == "idle"
    });
    assert!(ear.begins(from).is_some(), "nothing is heard of the answer");
    let answer = folder.join("answer.wav");
    ear.write(from, &answer);
    let folder = manager.at("home/.local/state/tiro/trace");
    let trace = fs::read_dir(&folder).unwrap().next().unwrap().unwrap().path();
    let trace = fs::read_to_string(trace).unwrap();
    let report: serde_json::Value = serde_json::from_str(trace.lines().last().unwrap()).unwrap();
    assert_eq!(report["calls"][0]["name"], "clock.now", "{report}");
    let heard = manager.run(program, &["transcribe", answer.to_str().unwrap()]);
    heard.expect_code(0);
    let reply = report["reply"].as_str().unwrap();
    let share = share_of_words(reply, &heard.out);
    println!(
        "said {reply:?}, heard {:?}: {share:.2} of its words",
        heard.out.trim()
    );
    assert!(share >= 0.3, "{reply:?} was heard as {:?}", heard.out);
    assert_eq!(manager.pid(), pid, "nothing of it ended the daemon");
}
