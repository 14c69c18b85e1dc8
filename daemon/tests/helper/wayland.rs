//! The clipboard of a real Wayland desktop: sway without a screen, whose data-control protocol is the one that tools like
//! ours have, and wl-clipboard as the other programs.

use super::*;

/// A desktop without a screen, which ends with its test.
struct Desktop {
    _folder: tempfile::TempDir,
    sway: Child,
    seat: Seat,
}

impl Desktop {
    /// `None` with a loud line where there is none and none is required.
    fn start() -> Option<Desktop> {
        if cfg!(target_os = "macos") {
            println!("SKIPPED: there is no Wayland on macOS");
            return None;
        }
        if !are_there(&[("sway", "--version"), ("wl-paste", "--version")]) {
            return None;
        }
        // Its socket is in it, so its path has to be short.
        let folder = tempfile::Builder::new().prefix("wl").tempdir().unwrap();
        let (sway, name) = sway::start(folder.path());
        let run = folder.path().to_str().unwrap().to_owned();
        let seat = Seat {
            set: vec![("XDG_RUNTIME_DIR", run), ("WAYLAND_DISPLAY", name)],
            unset: "DISPLAY",
            pastes: &["wl-paste", "--no-newline"],
            copies: &["wl-copy"],
        };
        Some(Desktop {
            _folder: folder,
            sway,
            seat,
        })
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
pub fn until_alive(home: &Path, count: usize) {
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
    let seat = &desktop.seat;
    let empty = seat.tiro(home, &["call", "clipboard.read"]);
    assert_eq!(empty.1, "There is no text in the clipboard.", "{}", empty.2);
    seat.keeps_what_is_copied(home);
    until_alive(home, 1);
    let read = seat.tiro(home, &["call", "clipboard.read"]);
    assert_eq!(read.1, "Grüße, ☕ and two lines", "{}", read.2);
    // Another program copies; who kept the first has nothing more to do.
    let other = tempfile::tempdir().unwrap();
    seat.copy(other.path(), "from another program");
    until_alive(home, 0);
    assert_eq!(
        seat.tiro(home, &["call", "clipboard.read"]).1,
        "from another program"
    );
    let again = seat.tiro(home, &["call", "clipboard.write", r#"{"text": "mine again"}"#]);
    assert!(again.0, "{}", again.2);
    assert_eq!(seat.paste(home), "mine again");
    until_alive(other.path(), 0);
    // With the desktop goes who kept something for it.
    until_alive(home, 1);
    desktop.end();
    until_alive(home, 0);
}

/// Desktops without that protocol (GNOME) have an X server beside it, and so has this person.
#[test]
fn where_wayland_gives_no_clipboard_that_of_x_is_used() {
    let Some(mut display) = Display::start() else {
        return;
    };
    let home = tempfile::tempdir().unwrap();
    let mut command = display.seat.command(TIRO, home.path());
    let copy = command
        .env("XDG_RUNTIME_DIR", home.path())
        .env("WAYLAND_DISPLAY", "wayland-nowhere")
        .args(["call", "clipboard.write", r#"{"text": "by way of X"}"#])
        .spawn();
    let copied = told(finish(copy.unwrap()));
    assert!(copied.0, "{} {}", copied.1, copied.2);
    assert_eq!(display.seat.paste(home.path()), "by way of X");
    until_alive(home.path(), 1);
    display.server.kill().unwrap();
    until_alive(home.path(), 0);
}
