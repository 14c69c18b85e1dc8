//! The built `tiro` and its engines, run as a person would: a home of its own, a time limit, exit code and both streams.

use std::{
    io::Read as _,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use daemon::{report::Report, status::Status};

use crate::home::root;

/// Longest any command here may take, on a loaded machine.
const LIMIT: Duration = Duration::from_secs(180);

/// `tiro` with a home of its own.
pub struct Tiro {
    home: tempfile::TempDir,
    /// Where its home is instead.
    elsewhere: Option<PathBuf>,
    program: PathBuf,
    models: PathBuf,
}

/// What a command left behind.
#[derive(Debug)]
pub struct Ran {
    /// Exit code; `None` after a signal.
    pub code: Option<i32>,
    /// Standard output.
    pub out: String,
    /// Standard error.
    pub err: String,
}

impl Tiro {
    /// The program in an empty home, or `None` with a loud line where it was not built. `cargo xtask test` builds it
    /// and sets `TIRO_REQUIRE_REAL`, and then its absence fails.
    pub fn find() -> Option<Tiro> {
        let engines = std::env::var_os("TIRO_ENGINES")
            .map(PathBuf::from)
            .unwrap_or(root().join("target/release"));
        let models = std::env::var_os("TIRO_MODELS").map(PathBuf::from);
        let needed = [
            engines.join("tiro"),
            engines.join("tiro-llm"),
            engines.join("tiro-stt"),
        ];
        let weights = |m: &PathBuf| m.join("qwen2.5-coder-1.5b-instruct-q4_k_m.gguf").exists();
        let there = needed.iter().all(|p| p.exists()) && models.as_ref().is_some_and(weights);
        if !there {
            let required = std::env::var_os("TIRO_REQUIRE_REAL").is_some();
            assert!(
                !required,
                "{needed:?} or the weights in TIRO_MODELS ({models:?}) are missing"
            );
            println!("SKIPPED: run `cargo xtask test`, which builds {needed:?} and pulls the weights");
            return None;
        }
        let models = std::path::absolute(models?).unwrap();
        let program = std::path::absolute(&needed[0]).unwrap();
        let home = tempfile::tempdir().unwrap();
        // What the engine keeps of its prompts is the same in every home, and reading all tools takes minutes.
        let states = program.with_file_name("states-of-tests");
        std::fs::create_dir_all(&states).unwrap();
        std::fs::create_dir(home.path().join("cache")).unwrap();
        std::os::unix::fs::symlink(states, home.path().join("cache/snapshots")).unwrap();
        Some(Tiro {
            home,
            elsewhere: None,
            program,
            models,
        })
    }

    /// The same in the demo world.
    pub fn in_the_demo_world() -> Option<Tiro> {
        let tiro = Tiro::find()?;
        tiro.run(["world", root().join("tests/worlds/demo.json").to_str().unwrap()])
            .expect_code(0);
        Some(tiro)
    }

    /// The same, and its engine knows nothing from elsewhere.
    pub fn knowing_nothing(self) -> Tiro {
        std::fs::remove_file(self.home.path().join("cache/snapshots")).unwrap();
        self
    }

    /// The same at home in another folder.
    pub fn at_home_in(self, folder: &Path) -> Tiro {
        Tiro {
            elsewhere: Some(folder.to_owned()),
            ..self
        }
    }

    /// The home.
    pub fn home(&self) -> &Path {
        self.elsewhere.as_deref().unwrap_or(self.home.path())
    }

    /// The program itself.
    pub fn program(&self) -> &Path {
        &self.program
    }

    /// Where the weights are.
    pub fn models(&self) -> &Path {
        &self.models
    }

    /// A command, not yet started.
    pub fn command<S: AsRef<std::ffi::OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Command {
        let mut command = Command::new(&self.program);
        command
            .args(args)
            .env("TIRO_HOME", self.home())
            .env("TIRO_MODELS", &self.models);
        command
            .env("TIRO_ENGINES", self.program.parent().unwrap())
            .env_remove("TIRO_LOG");
        command
            .current_dir(self.home())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    /// Runs a command to its end.
    pub fn run<S: AsRef<std::ffi::OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Ran {
        finish(self.command(args).spawn().unwrap())
    }

    /// `tiro ask --json` and its report.
    pub fn ask(&self, args: &[&str]) -> Report {
        let ran = self.run([&["ask", "--json"], args].concat());
        serde_json::from_str(&ran.out).unwrap_or_else(|e| panic!("{e}: {ran:?}"))
    }

    /// Starts the daemon and waits until the model is ready; returns it with the time that took.
    pub fn daemon(&self) -> (Daemon<'_>, Duration) {
        self.daemon_with(&[])
    }

    /// The same in another environment.
    pub fn daemon_with(&self, environment: &[(&str, &str)]) -> (Daemon<'_>, Duration) {
        let started = Instant::now();
        let child = self
            .command(["daemon"])
            .envs(environment.iter().copied())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let daemon = Daemon { tiro: self, child };
        daemon.until("ready", |status| status.prefix.is_some());
        let took = started.elapsed();
        (daemon, took)
    }
}

/// A running daemon; ended when dropped.
pub struct Daemon<'a> {
    tiro: &'a Tiro,
    child: Child,
}

impl Daemon<'_> {
    /// `tiro status --json`.
    pub fn status(&self) -> Status {
        let ran = self.tiro.run(["status", "--json"]);
        serde_json::from_str(&ran.out).unwrap_or_else(|e| panic!("{e}: {ran:?}"))
    }

    /// Waits until the daemon is as it should be.
    #[track_caller]
    pub fn until(&self, what: &str, is_so: impl Fn(&Status) -> bool) {
        let started = Instant::now();
        loop {
            let status = self.status();
            if is_so(&status) {
                return;
            }
            assert!(started.elapsed() < LIMIT, "never {what}: {status:?}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Ends it as the session does, and waits.
    pub fn stop(mut self) -> Option<i32> {
        terminate(self.child.id());
        wait(&mut self.child)
    }
}

impl Drop for Daemon<'_> {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Ran {
    /// Fails with everything there is to see when the exit code is another.
    #[track_caller]
    pub fn expect_code(&self, code: i32) -> &Ran {
        assert_eq!(self.code, Some(code), "{self:?}");
        assert!(!self.err.contains("panicked"), "{self:?}");
        self
    }

    /// Fails unless stderr says all of these.
    #[track_caller]
    pub fn says(&self, parts: &[&str]) -> &Ran {
        for part in parts {
            assert!(
                self.err.contains(part) || self.out.contains(part),
                "{part:?} is missing in {self:?}"
            );
        }
        self
    }
}

/// Sends SIGTERM.
pub fn terminate(pid: u32) {
    signal(pid, rustix::process::Signal::TERM);
}

/// Sends SIGINT, as Ctrl-C does.
pub fn interrupt(pid: u32) {
    signal(pid, rustix::process::Signal::INT);
}

/// Sends SIGKILL.
pub fn kill(pid: u32) {
    signal(pid, rustix::process::Signal::KILL);
}

/// Sends SIGSTOP: it hangs.
pub fn stop(pid: u32) {
    signal(pid, rustix::process::Signal::STOP);
}

fn signal(pid: u32, signal: rustix::process::Signal) {
    let pid = rustix::process::Pid::from_raw(pid.try_into().unwrap()).unwrap();
    rustix::process::kill_process(pid, signal).unwrap();
}

/// Waits for the end and reads both streams meanwhile, so that a full pipe cannot stop the child.
pub fn finish(child: Child) -> Ran {
    finish_within(LIMIT, child)
}

/// The same for a command that may take longer.
pub fn finish_within(limit: Duration, mut child: Child) -> Ran {
    let reader = |stream: Option<Box<dyn std::io::Read + Send>>| {
        std::thread::spawn(move || {
            let mut text = Vec::new();
            if let Some(mut stream) = stream {
                let _ = stream.read_to_end(&mut text);
            }
            String::from_utf8_lossy(&text).into_owned()
        })
    };
    let out = reader(
        child
            .stdout
            .take()
            .map(|s| Box::new(s) as Box<dyn std::io::Read + Send>),
    );
    let err = reader(
        child
            .stderr
            .take()
            .map(|s| Box::new(s) as Box<dyn std::io::Read + Send>),
    );
    let code = wait_for(limit, &mut child);
    Ran {
        code,
        out: out.join().unwrap(),
        err: err.join().unwrap(),
    }
}

/// Waits for the end of a child; gives its exit code.
pub fn wait(child: &mut Child) -> Option<i32> {
    wait_for(LIMIT, child)
}

fn wait_for(limit: Duration, child: &mut Child) -> Option<i32> {
    let started = Instant::now();
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return status.code();
        }
        if started.elapsed() > limit {
            let _ = child.kill();
            let _ = child.wait();
            panic!("a command took longer than {limit:?}");
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}
