//! What `tiro` gives away to a process of its own: the clipboard, which outlives the command that copied, and PDFs, of
//! which the worst takes nothing with it. With the program itself, and a display without a screen where that is here.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "this is a test; clippy knows only functions under #[test] as such"
)]

#[path = "helper/sway.rs"]
mod sway;
#[path = "helper/wayland.rs"]
mod wayland;

use std::{
    fs,
    io::{Read as _, Write as _},
    path::Path,
    process::{Child, Command, Output, Stdio},
    time::{Duration, Instant},
};

const TIRO: &str = env!("CARGO_BIN_EXE_tiro");

/// Longest any command here may take, on a loaded machine.
const LIMIT: Duration = Duration::from_secs(60);

/// Where programs copy and paste: the variables that lead there, and the programs of others that do it.
struct Seat {
    set: Vec<(&'static str, String)>,
    unset: &'static str,
    pastes: &'static [&'static str],
    copies: &'static [&'static str],
}

impl Seat {
    fn command(&self, program: &str, home: &Path) -> Command {
        let mut command = Command::new(program);
        command
            .env_remove(self.unset)
            .envs(self.set.iter().map(|(name, value)| (name, value)))
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
        let mut paste = self.command(self.pastes[0], home);
        let (fine, out, err) = told(finish(paste.args(&self.pastes[1..]).spawn().unwrap()));
        assert!(fine, "{err}");
        out
    }

    /// What another program copies. It goes into the background and stays there until something else is copied.
    fn copy(&self, home: &Path, text: &str) {
        let mut copy = self.command(self.copies[0], home);
        copy.args(&self.copies[1..])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let mut copy = copy.spawn().unwrap();
        copy.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
        copy.wait().unwrap();
    }

    /// Copies a text that is hard to write down, and pastes it elsewhere.
    #[track_caller]
    fn keeps_what_is_copied(&self, home: &Path) {
        let text = r#"{"text": "Grüße, ☕ and\ntwo lines"}"#;
        let copied = self.tiro(home, &["call", "clipboard.write", text]);
        assert_eq!(
            (copied.0, &*copied.1),
            (true, "I copied Grüße, ☕ and two lines."),
            "{}",
            copied.2
        );
        for _ in 0..2 {
            assert_eq!(
                self.paste(home),
                "Grüße, ☕ and\ntwo lines",
                "it can be pasted again and again"
            );
        }
    }
}

/// Whether all of these programs answer; said aloud where one does not, and then it fails where they are required.
fn are_there(programs: &[(&str, &str)]) -> bool {
    let answers = |(program, argument): &(&str, &str)| {
        let quiet = Command::new(program)
            .arg(argument)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status();
        quiet.is_ok_and(|status| status.success())
    };
    let missing = programs.iter().find(|program| !answers(program));
    if let Some((missing, _)) = missing {
        let required = std::env::var_os("TIRO_REQUIRE_REAL").is_some();
        assert!(!required, "there is no {missing}");
        println!("SKIPPED: there is no {missing}; run `cargo xtask setup`");
    }
    missing.is_none()
}

/// A display without a screen, which ends with its test.
struct Display {
    server: Child,
    seat: Seat,
}

impl Display {
    /// `None` with a loud line where there is none and none is required.
    fn start() -> Option<Display> {
        if !are_there(&[("Xvfb", "-help"), ("xclip", "-version")]) {
            return None;
        }
        // The server chooses a free number and says which.
        let mut server = Command::new("Xvfb")
            .args([
                "-displayfd",
                "1",
                "-screen",
                "0",
                "640x480x24",
                "-nolisten",
                "tcp",
            ])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut number = String::new();
        let mut output = server.stdout.take().unwrap();
        let mut byte = [0];
        while output.read(&mut byte).unwrap() == 1 && byte[0] != b'\n' {
            number.push(char::from(byte[0]));
        }
        assert!(!number.is_empty(), "the display does not start");
        let seat = Seat {
            set: vec![("DISPLAY", format!(":{number}"))],
            unset: "WAYLAND_DISPLAY",
            pastes: &["xclip", "-selection", "clipboard", "-o"],
            copies: &["xclip", "-selection", "clipboard", "-i"],
        };
        Some(Display { server, seat })
    }
}

impl Drop for Display {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

fn told(output: Output) -> (bool, String, String) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim_end_matches('\n').to_owned();
    (
        output.status.success(),
        text(&output.stdout),
        text(&output.stderr),
    )
}

/// Its output, once it ends; it is killed when it does not.
fn finish(mut child: Child) -> Output {
    let started = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if started.elapsed() > LIMIT {
            child.kill().unwrap();
            panic!("it does not end");
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    child.wait_with_output().unwrap()
}

#[test]
fn what_is_copied_outlives_the_command_and_what_others_copy_is_read() {
    let Some(display) = Display::start() else { return };
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    let display = &display.seat;
    display.keeps_what_is_copied(home);
    let read = display.tiro(home, &["call", "clipboard.read"]);
    assert_eq!(read.1, "Grüße, ☕ and two lines", "{}", read.2);
    display.copy(home, "from another program");
    assert_eq!(
        display.tiro(home, &["call", "clipboard.read"]).1,
        "from another program"
    );
    // And over what another program copied; whoever kept the first is gone by then.
    assert!(
        display
            .tiro(home, &["call", "clipboard.write", r#"{"text": "mine again"}"#])
            .0
    );
    assert_eq!(display.paste(home), "mine again");
}

#[test]
fn an_empty_clipboard_and_an_absent_display_are_said_plainly() {
    let home = tempfile::tempdir().unwrap();
    let absent = Command::new(TIRO)
        .args(["call", "clipboard.write", r#"{"text": "x"}"#])
        .env_remove("DISPLAY")
        .env_remove("WAYLAND_DISPLAY")
        .env("TIRO_HOME", home.path())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let (fine, out, err) = told(finish(absent));
    if cfg!(target_os = "linux") {
        assert!(!fine);
        assert!(
            format!("{out}{err}").contains("I cannot reach a clipboard: there is no desktop session here."),
            "{out} {err}"
        );
    }
    let Some(display) = Display::start() else { return };
    let empty = display.seat.tiro(home.path(), &["call", "clipboard.read"]);
    assert_eq!(empty.1, "There is no text in the clipboard.", "{}", empty.2);
}

#[test]
fn a_clipboard_that_holds_too_much_is_refused() {
    let Some(display) = Display::start() else { return };
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    // More than a helper may take, and the most that it may print.
    let (huge, long) = (300 << 20, 3 << 20);
    display.seat.copy(home, &"x".repeat(huge));
    let started = Instant::now();
    let (fine, out, err) = display.seat.tiro(home, &["call", "clipboard.read"]);
    assert!(
        !fine && format!("{out}{err}").contains("The clipboard holds too much"),
        "{out} {err}"
    );
    assert!(started.elapsed() < LIMIT / 2);
    display.seat.copy(home, &"ü".repeat(long / 2));
    let (fine, out, err) = display.seat.tiro(home, &["call", "clipboard.read"]);
    assert!(fine && out.ends_with("That is not all of it."), "{out} {err}");
}

#[test]
fn who_keeps_the_clipboard_ends_with_its_display() {
    let Some(mut display) = Display::start() else {
        return;
    };
    let home = tempfile::tempdir().unwrap();
    let write = ["call", "clipboard.write", r#"{"text": "kept"}"#];
    assert!(display.seat.tiro(home.path(), &write).0);
    assert_eq!(display.seat.paste(home.path()), "kept");
    wayland::until_alive(home.path(), 1);
    display.server.kill().unwrap();
    wayland::until_alive(home.path(), 0);
}

/// Objects as a PDF file.
fn pdf(objects: &[String]) -> Vec<u8> {
    let mut file = b"%PDF-1.4\n".to_vec();
    let mut places = Vec::new();
    for (number, object) in objects.iter().enumerate() {
        places.push(file.len());
        file.extend(format!("{} 0 obj\n{object}\nendobj\n", number + 1).into_bytes());
    }
    let (start, size) = (file.len(), objects.len() + 1);
    file.extend(format!("xref\n0 {size}\n0000000000 65535 f \n").into_bytes());
    for place in places {
        file.extend(format!("{place:010} 00000 n \n").into_bytes());
    }
    file.extend(format!("trailer\n<< /Size {size} /Root 1 0 R >>\nstartxref\n{start}\n%%EOF\n").into_bytes());
    file
}

/// A file with one page that draws `content`.
fn page(content: &str, more: &[&str]) -> Vec<u8> {
    let mut objects = vec![
        "<< /Type /Catalog /Pages 2 0 R >>".to_owned(),
        "<< /Type /Pages /Kids [3 0 R] /Count 1 >>".to_owned(),
        "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> /XObject << /X 6 0 R >> >> >>".to_owned(),
        format!("<< /Length {} >>\nstream\n{content}\nendstream", content.len()),
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>".to_owned(),
    ];
    objects.extend(more.iter().map(|&object| object.to_owned()));
    pdf(&objects)
}

fn read(home: &Path, bytes: &[u8]) -> (bool, String, Duration) {
    let folder = home.join("data/files");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("paper.pdf"), bytes).unwrap();
    let started = Instant::now();
    let child = Command::new(TIRO)
        .args(["call", "files.read", r#"{"file": "paper"}"#])
        .env("TIRO_HOME", home)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let (fine, out, err) = told(finish(child));
    (fine, format!("{out}{err}"), started.elapsed())
}

#[test]
fn a_pdf_is_read_and_the_worst_of_them_takes_nothing_with_it() {
    let home = tempfile::tempdir().unwrap();
    let text = "BT /F1 24 Tf 72 700 Td (Platform seven) Tj ET";
    let (fine, said, _) = read(home.path(), &page(text, &[]));
    assert!(fine && said.starts_with("Platform seven"), "{said}");
    let itself = "<< /Type /XObject /Subtype /Form /BBox [0 0 9 9] /Resources << /XObject << /X 6 0 R >> >> /Length 4 >>\nstream\n/X Do\nendstream";
    let worst: [(&str, Vec<u8>); 7] = [
        ("draws itself", page("/X Do", &[itself])),
        ("nothing", b"%PDF-1.7\n".to_vec()),
        ("half", page(text, &[])[..300].to_vec()),
        (
            "noise",
            [
                b"%PDF-1.4\n".to_vec(),
                (0..200_000u32)
                    .map(|n| (n.wrapping_mul(2_654_435_761) >> 13) as u8)
                    .collect(),
            ]
            .concat(),
        ),
        (
            "deep",
            [b"%PDF-1.4\n1 0 obj\n".to_vec(), b"[".repeat(1_000_000)].concat(),
        ),
        ("no pages", pdf(&["<< /Type /Catalog >>".to_owned()])),
        (
            "pages of themselves",
            pdf(&[
                "<< /Type /Catalog /Pages 2 0 R >>".to_owned(),
                "<< /Type /Pages /Kids [2 0 R] /Count 1 >>".to_owned(),
            ]),
        ),
    ];
    for (name, bytes) in worst {
        let (fine, said, took) = read(home.path(), &bytes);
        assert!(
            !fine && said.contains("I cannot read the text of paper.pdf"),
            "{name}: {said}"
        );
        assert!(took < LIMIT / 2, "{name}: {took:?}");
    }
}
