//! `tiro chat` as a person uses it: the built program on a real terminal, a daemon behind it that follows a script.

use std::{
    fs::File,
    io::{Read as _, Write as _},
    os::fd::OwnedFd,
    process::{Child, Command, Stdio},
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use daemon::{
    reply::Happening,
    run::{Event, Source},
};
use models::scripted::{Reply, ScriptedLlm};
use prompts::words;
use rustix::{
    pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt},
    termios::{Termios, tcgetattr},
};
use tools::system::rings::Kind;

use crate::{
    daemon_loop::{Running, asking_tools, call, note},
    program::{Tiro, wait},
};

/// Longest that anything may take to appear, on a loaded machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// A terminal with a program in it. Linux keeps the modes of both ends in one place, so the modes that the program
/// sets are read here.
struct Terminal {
    end: File,
    shown: Arc<Mutex<String>>,
    /// How much of it was waited for already, bytes.
    seen: usize,
    child: Child,
}

impl Terminal {
    /// `setsid` makes the terminal the controlling one, which Ctrl-C needs.
    fn running(program: &Command) -> (Terminal, Termios) {
        let end = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
        grantpt(&end).unwrap();
        unlockpt(&end).unwrap();
        let name = ptsname(&end, Vec::new()).unwrap().into_string().unwrap();
        let before = tcgetattr(&end).unwrap();
        let other = || Stdio::from(File::options().read(true).write(true).open(&name).unwrap());
        let mut command = Command::new("setsid");
        command
            .arg("--ctty")
            .arg(program.get_program())
            .args(program.get_args());
        let set = program
            .get_envs()
            .filter_map(|(name, value)| Some((name, value?)));
        command.envs(set).env("TERM", "xterm");
        let child = command
            .stdin(other())
            .stdout(other())
            .stderr(other())
            .spawn()
            .unwrap();
        let shown = Arc::new(Mutex::new(String::new()));
        keep(end.try_clone().unwrap(), Arc::clone(&shown));
        let terminal = Terminal {
            end: end.into(),
            shown,
            seen: 0,
            child,
        };
        (terminal, before)
    }

    fn types(&mut self, keys: &str) {
        self.end.write_all(keys.as_bytes()).unwrap();
    }

    /// Waits until this is shown, after what was waited for before.
    #[track_caller]
    fn shows(&mut self, text: &str) {
        let started = Instant::now();
        loop {
            let shown = self.shown.lock().unwrap().clone();
            if let Some(at) = shown[self.seen..].find(text) {
                self.seen += at + text.len();
                return;
            }
            assert!(started.elapsed() < PATIENCE, "{text:?} is not shown: {shown:?}");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Types a line at the prompt.
    #[track_caller]
    fn asks(&mut self, line: &str) {
        self.shows("> ");
        self.types(line);
        self.types("\r");
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Keeps what is shown until the program has left the terminal.
fn keep(end: OwnedFd, shown: Arc<Mutex<String>>) {
    std::thread::spawn(move || {
        let (mut end, mut bytes) = (File::from(end), [0; 4096]);
        while let Ok(length @ 1..) = end.read(&mut bytes) {
            shown
                .lock()
                .unwrap()
                .push_str(&String::from_utf8_lossy(&bytes[..length]));
        }
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn real_chat_on_a_terminal() {
    let Some(tiro) = Tiro::find() else { return };
    let calendar = call("calendar.query", r#"{"when": "tomorrow"}"#);
    let script = ScriptedLlm::replies([
        Reply::Text(calendar.clone()),
        Reply::Text(note("milk")),
        Reply::Hang("Once upon".into()),
        Reply::Text(calendar),
    ]);
    let running = Running::start_with(script, |parts| {
        asking_tools(parts);
        parts.settings.loading.core.push("calendar.query".into());
    })
    .await;
    let notes = || std::fs::read_dir(running.home.dirs().notes).unwrap().count();
    let before = notes();
    let mut program = tiro.command(["chat"]);
    program.env("TIRO_HOME", running.home.path());
    let (mut terminal, modes) = Terminal::running(&program);

    terminal.asks("what do I have tomorrow");
    terminal.shows("Dentist");

    // Any word but a yes does nothing.
    terminal.asks("note milk");
    terminal.shows("[yes/no]");
    terminal.types("no\r");
    terminal.shows(&words::declined());
    assert_eq!(notes(), before);

    // Ctrl-C stops the turn and not the program.
    terminal.asks("tell me a story");
    running.until_asked(3).await;
    terminal.types("\x03");
    terminal.shows(&words::cancelled());
    running.until("idle", |s| s.state == "idle").await;

    // Three lines up is the first question again.
    terminal.asks("\x1b[A\x1b[A\x1b[A");
    terminal.shows("Dentist");
    let prompts = running.llm.prompts();
    let asked = prompts.last().unwrap().matches("what do I have tomorrow").count();
    assert_eq!((prompts.len(), asked), (4, 2), "{prompts:?}");

    // Ctrl-C at the prompt does nothing, Ctrl-D leaves.
    terminal.shows("> ");
    terminal.types("\x03");
    terminal.shows("> ");
    terminal.types("\x04");
    assert_eq!(wait(&mut terminal.child), Some(0));
    let after = tcgetattr(&terminal.end).unwrap();
    let flags = |t: &Termios| (t.input_modes, t.output_modes, t.local_modes, t.control_modes);
    assert_eq!(flags(&after), flags(&modes), "the terminal is as it was");
}

#[tokio::test(flavor = "multi_thread")]
async fn real_chat_shows_what_rings_above_the_prompt() {
    let Some(tiro) = Tiro::find() else { return };
    let script = ScriptedLlm::replies([Reply::Text(call("calendar.query", r#"{"when": "tomorrow"}"#))]);
    let running = Running::start_with(script, |parts| {
        parts.settings.loading.core.push("calendar.query".into());
    })
    .await;
    let mut program = tiro.command(["chat"]);
    program.env("TIRO_HOME", running.home.path());
    let (mut terminal, _) = Terminal::running(&program);
    terminal.shows("> ");
    // In the middle of a line, which stays as it is.
    terminal.types("what do I ");
    terminal.shows("what do I ");
    running.happens(rang("Your tea timer is up.")).await;
    terminal.shows("Your tea timer is up.");
    terminal.shows("> what do I ");
    terminal.types("have tomorrow\r");
    terminal.shows("Dentist");
    terminal.shows("> ");
    running
        .happens(Event::Noticed {
            source: Source::Rings,
            texts: vec!["The disk is full.".into()],
        })
        .await;
    terminal.shows("The disk is full.");
    terminal.types("\x04");
    assert_eq!(wait(&mut terminal.child), Some(0));
}

/// Something rings.
pub fn rang(text: &str) -> Event {
    Event::Rang(Happening::Rang {
        id: "timer/1@0".into(),
        what: Kind::Timer,
        text: text.into(),
        times: 1,
        missed: false,
    })
}
