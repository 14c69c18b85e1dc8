//! The clipboard of a real Wayland desktop: sway without a screen, whose data-control protocol is the one that tools like
//! ours have, and wl-clipboard as the other programs.

use super::*;

use std::os::unix::{fs::PermissionsExt as _, process::CommandExt as _};

/// Nobody, where the tests run as root: sway refuses to.
const NOBODY: u32 = 65534;

/// A desktop without a screen, which ends with its test.
struct Desktop {
    folder: tempfile::TempDir,
    sway: Child,
    name: String,
}

impl Desktop {
    /// `None` with a loud line where there is none and none is required.
    fn start() -> Option<Desktop> {
        let there = |program: &str| {
            let quiet = Command::new(program)
                .arg("--version")
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .status();
            quiet.is_ok_and(|status| status.success())
        };
        if cfg!(target_os = "macos") || !(there("sway") && there("wl-paste")) {
            assert!(
                cfg!(target_os = "macos") || std::env::var_os("TIRO_REQUIRE_REAL").is_none(),
                "there is no sway or no wl-clipboard"
            );
            println!("SKIPPED: there is no sway or no wl-clipboard; run `cargo xtask setup`");
            return None;
        }
        // Its socket is in it, so its path has to be short.
        let folder = tempfile::Builder::new().prefix("wl").tempdir().unwrap();
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o700)).unwrap();
        fs::write(folder.path().join("config"), "xwayland disable\n").unwrap();
        let mut sway = Command::new("sway");
        sway.arg("-c")
            .arg(folder.path().join("config"))
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", folder.path())
            .env("XDG_RUNTIME_DIR", folder.path())
            .env("WLR_BACKENDS", "headless")
            .env("WLR_RENDERER", "pixman")
            .env("WLR_LIBINPUT_NO_DEVICES", "1")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(fs::File::create(folder.path().join("log")).unwrap());
        if rustix::process::geteuid().is_root() {
            for path in [folder.path(), &folder.path().join("config")] {
                std::os::unix::fs::chown(path, Some(NOBODY), Some(NOBODY)).unwrap();
            }
            sway.uid(NOBODY).gid(NOBODY);
        }
        let mut sway = sway.spawn().unwrap();
        let started = Instant::now();
        let name = loop {
            let told = || fs::read_to_string(folder.path().join("log")).unwrap_or_default();
            assert_eq!(sway.try_wait().unwrap(), None, "{}", told());
            assert!(
                started.elapsed() < LIMIT,
                "the desktop does not start: {}",
                told()
            );
            let names = fs::read_dir(folder.path()).unwrap().flatten();
            let names = names.filter_map(|entry| entry.file_name().into_string().ok());
            let socket = |name: &String| name.starts_with("wayland-") && !name.ends_with(".lock");
            let ready =
                |name: &String| std::os::unix::net::UnixStream::connect(folder.path().join(name)).is_ok();
            match names.filter(socket).find(ready) {
                Some(name) => break name,
                None => std::thread::sleep(Duration::from_millis(10)),
            }
        };
        Some(Desktop { folder, sway, name })
    }

    fn command(&self, program: &str, home: &Path) -> Command {
        let mut command = Command::new(program);
        command
            .env("XDG_RUNTIME_DIR", self.folder.path())
            .env("WAYLAND_DISPLAY", &self.name)
            .env_remove("DISPLAY")
            .env("TIRO_HOME", home)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    fn tiro(&self, home: &Path, args: &[&str]) -> (bool, String, String) {
        told(finish(self.command(TIRO, home).args(args).spawn().unwrap()))
    }

    /// What another program would paste.
    fn paste(&self, home: &Path) -> String {
        let paste = self.command("wl-paste", home).arg("--no-newline").spawn();
        let (fine, out, err) = told(finish(paste.unwrap()));
        assert!(fine, "{err}");
        out
    }

    /// What another program copies. It goes into the background and stays there until something else is copied.
    fn copy(&self, home: &Path, text: &str) {
        let mut copy = self.command("wl-copy", home);
        copy.stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let mut copy = copy.spawn().unwrap();
        copy.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
        copy.wait().unwrap();
    }

    fn end(&mut self) {
        let _ = self.sway.kill();
        let _ = self.sway.wait();
    }
}

impl Drop for Desktop {
    fn drop(&mut self) {
        self.end();
    }
}

/// Processes that were started with this home and still run.
fn alive(home: &Path) -> usize {
    let mark = format!("TIRO_HOME={}\0", home.display()).into_bytes();
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let environments = processes.filter_map(|entry| fs::read(entry.path().join("environ")).ok());
    environments
        .filter(|environment| environment.windows(mark.len()).any(|part| part == mark))
        .count()
}

#[track_caller]
fn until_alive(home: &Path, count: usize) {
    let started = Instant::now();
    while alive(home) != count {
        assert!(
            started.elapsed() < LIMIT,
            "{} processes instead of {count}",
            alive(home)
        );
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn on_wayland_what_is_copied_outlives_the_command_and_what_others_copy_is_read() {
    let Some(mut desktop) = Desktop::start() else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path();
    let empty = desktop.tiro(home, &["call", "clipboard.read"]);
    assert_eq!(empty.1, "There is no text in the clipboard.", "{}", empty.2);
    let text = r#"{"text": "Grüße, ☕ and\ntwo lines"}"#;
    let copied = desktop.tiro(home, &["call", "clipboard.write", text]);
    assert_eq!(
        (copied.0, &*copied.1),
        (true, "I copied Grüße, ☕ and two lines."),
        "{}",
        copied.2
    );
    for _ in 0..2 {
        assert_eq!(
            desktop.paste(home),
            "Grüße, ☕ and\ntwo lines",
            "it can be pasted again and again"
        );
    }
    until_alive(home, 1);
    let read = desktop.tiro(home, &["call", "clipboard.read"]);
    assert_eq!(read.1, "Grüße, ☕ and two lines", "{}", read.2);
    // Another program copies; who kept the first has nothing more to do.
    let other = tempfile::tempdir().unwrap();
    desktop.copy(other.path(), "from another program");
    until_alive(home, 0);
    assert_eq!(
        desktop.tiro(home, &["call", "clipboard.read"]).1,
        "from another program"
    );
    let again = desktop.tiro(home, &["call", "clipboard.write", r#"{"text": "mine again"}"#]);
    assert!(again.0, "{}", again.2);
    assert_eq!(desktop.paste(home), "mine again");
    until_alive(other.path(), 0);
    // With the desktop goes who kept something for it.
    until_alive(home, 1);
    desktop.end();
    until_alive(home, 0);
}

/// Desktops without that protocol (GNOME) have an X server beside it, and so has this person.
#[test]
fn where_wayland_gives_no_clipboard_that_of_x_is_used() {
    let Some(display) = Display::start() else { return };
    let home = tempfile::tempdir().unwrap();
    let mut command = display.command(TIRO, home.path());
    let copy = command
        .env("XDG_RUNTIME_DIR", home.path())
        .env("WAYLAND_DISPLAY", "wayland-nowhere")
        .args(["call", "clipboard.write", r#"{"text": "by way of X"}"#])
        .spawn();
    let copied = told(finish(copy.unwrap()));
    assert!(copied.0, "{} {}", copied.1, copied.2);
    assert_eq!(display.paste(home.path()), "by way of X");
}
