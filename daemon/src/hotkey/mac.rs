//! The key on macOS, where Carbon's hot keys are the one way that asks the person for no rights. They reach only a process
//! whose first thread runs the loop of an application, and the daemon's is the daemon's: so a child has the key, which is
//! `tiro` once more. It says one letter for each thing that happens, and ends with its input.

use std::{
    path::Path,
    process::Stdio,
    time::{Duration, Instant},
};

use tokio::{
    io::{AsyncReadExt as _, BufReader},
    process::{Child, ChildStdout, Command},
};

use super::Key;

/// What stands before the key in the work of the helper.
pub const WORK: &str = "hotkey=";
/// How long the child has to take the key.
const PATIENCE: Duration = Duration::from_secs(10);
/// Longest reason that is shown.
const MAX_WHY: u64 = 300;

/// The child has it.
const READY: u8 = b'r';
/// It went down.
const DOWN: u8 = b'd';
/// It came up.
const UP: u8 = b'u';

/// A key that is ours while this lives.
#[derive(Debug)]
pub struct Carbon {
    _child: Child,
    says: BufReader<ChildStdout>,
    down: Option<Instant>,
}

/// What the child says.
#[derive(Debug, PartialEq)]
pub enum Said {
    /// The key went down.
    Pressed,
    /// It came up after so long.
    Released(Duration),
    /// The child has ended.
    Over,
}

impl Carbon {
    /// Takes the key. The error is why not, as a sentence.
    pub async fn of(program: &Path, key: &Key) -> Result<Carbon, String> {
        let failed = |error| format!("Tiro's helper for {key} does not start ({error}).");
        let mut child = Command::new(program)
            .args(["helper", &format!("{WORK}{key}")])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .map_err(failed)?;
        let says = child.stdout.take();
        let mut says = BufReader::new(says.ok_or("Tiro's helper for the key says nothing.")?);
        let taken = async {
            let mut why = String::new();
            match says.read_u8().await {
                Ok(READY) => return Ok(()),
                Ok(first) => why.push(char::from(first)),
                Err(_) => {}
            }
            let mut rest = Vec::new();
            let _ = (&mut says).take(MAX_WHY).read_to_end(&mut rest).await;
            why.push_str(&String::from_utf8_lossy(&rest));
            Err(format!("macOS does not give {key} to Tiro. {}", why.trim())
                .trim_end()
                .to_owned())
        };
        match tokio::time::timeout(PATIENCE, taken).await {
            Ok(Ok(())) => Ok(Carbon {
                _child: child,
                says,
                down: None,
            }),
            Ok(Err(why)) => Err(why),
            Err(_) => Err(format!("Tiro's helper for {key} does not answer.")),
        }
    }

    /// The next thing that happens.
    pub async fn next(&mut self) -> Said {
        loop {
            match self.says.read_u8().await {
                Ok(DOWN) if self.down.is_none() => {
                    self.down = Some(Instant::now());
                    return Said::Pressed;
                }
                Ok(UP) if let Some(since) = self.down.take() => return Said::Released(since.elapsed()),
                Ok(DOWN | UP) => {}
                Ok(_) | Err(_) => return Said::Over,
            }
        }
    }
}

/// What the child does; it does not come back while it has the key.
#[cfg(target_os = "macos")]
pub fn hold(key: &str) -> Result<(), String> {
    use std::io::{Read as _, Write as _};

    use global_hotkey::{GlobalHotKeyEvent, GlobalHotKeyManager, HotKeyState, hotkey::HotKey};
    use objc2::MainThreadMarker;
    use objc2_app_kit::{NSApplication, NSApplicationActivationPolicy};

    fn tell(letter: u8) {
        let mut out = std::io::stdout().lock();
        if out.write_all(&[letter]).and_then(|()| out.flush()).is_err() {
            // Nobody listens any more.
            std::process::exit(0);
        }
    }

    let key: Key = key.parse()?;
    let wanted = carbon(&key)
        .parse::<HotKey>()
        .map_err(|error| format!("{error}."))?;
    let first = MainThreadMarker::new().ok_or("It was not asked on the first thread.")?;
    let app = NSApplication::sharedApplication(first);
    // No icon in the Dock, no menu.
    app.setActivationPolicy(NSApplicationActivationPolicy::Prohibited);
    let manager = GlobalHotKeyManager::new().map_err(|error| format!("{error}."))?;
    manager.register(wanted).map_err(|error| format!("{error}."))?;
    GlobalHotKeyEvent::set_event_handler(Some(|event: GlobalHotKeyEvent| {
        tell(match event.state() {
            HotKeyState::Pressed => DOWN,
            HotKeyState::Released => UP,
        });
    }));
    std::thread::spawn(|| {
        let _ = std::io::stdin().read_to_end(&mut Vec::new());
        std::process::exit(0);
    });
    tell(READY);
    app.run();
    drop(manager);
    Ok(())
}

/// The key as global-hotkey reads it: with the names of the W3C's UI Events for the keys of a US keyboard.
fn carbon(key: &Key) -> String {
    let mut text = String::new();
    let held = [
        (key.ctrl, "Control+"),
        (key.alt, "Alt+"),
        (key.shift, "Shift+"),
        (key.logo, "Super+"),
    ];
    held.iter()
        .filter(|(held, _)| *held)
        .for_each(|(_, name)| text.push_str(name));
    let named = CODES.iter().find(|(name, _)| *name == key.name());
    match (named, key.name().as_bytes()) {
        (Some((_, code)), _) => text.push_str(code),
        (None, [letter @ b'a'..=b'z']) => {
            text.extend(["Key", &char::from(letter.to_ascii_uppercase()).to_string()])
        }
        (None, [digit @ b'0'..=b'9']) => text.extend(["Digit", &char::from(*digit).to_string()]),
        // Function keys have one name everywhere. What a Mac does not have (Pause, Menu) is refused by name.
        (None, _) => text.push_str(key.name()),
    }
    text
}

/// Keys whose names differ: xkbcommon's and that of UI Events (KeyboardEvent.code).
const CODES: [(&str, &str); 22] = [
    ("space", "Space"),
    ("apostrophe", "Quote"),
    ("comma", "Comma"),
    ("minus", "Minus"),
    ("period", "Period"),
    ("slash", "Slash"),
    ("semicolon", "Semicolon"),
    ("equal", "Equal"),
    ("bracketleft", "BracketLeft"),
    ("backslash", "Backslash"),
    ("bracketright", "BracketRight"),
    ("grave", "Backquote"),
    ("BackSpace", "Backspace"),
    ("Return", "Enter"),
    ("Scroll_Lock", "ScrollLock"),
    ("Left", "ArrowLeft"),
    ("Up", "ArrowUp"),
    ("Right", "ArrowRight"),
    ("Down", "ArrowDown"),
    ("Page_Up", "PageUp"),
    ("Page_Down", "PageDown"),
    ("Print", "PrintScreen"),
];

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::PermissionsExt as _};

    use super::*;

    /// A helper that is a script.
    async fn taken(body: &str) -> Result<Carbon, String> {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("tiro");
        fs::write(&program, format!("#!/bin/sh\n{body}\n")).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o700)).unwrap();
        let key = "Ctrl+Alt+space".parse().unwrap();
        // A script that another test's child has open for writing cannot be run yet (ETXTBSY).
        for _ in 0..50 {
            match Carbon::of(&program, &key).await {
                Err(why) if why.contains("busy") => tokio::time::sleep(Duration::from_millis(20)).await,
                taken => return taken,
            }
        }
        panic!("the script stays busy");
    }

    #[tokio::test]
    async fn the_child_says_when_it_goes_down_and_comes_up() {
        let mut carbon = taken("printf 'r%s' uddu; sleep 0.1; printf du").await.unwrap();
        for _ in 0..2 {
            assert_eq!(carbon.next().await, Said::Pressed);
            assert!(matches!(carbon.next().await, Said::Released(_)));
        }
        assert_eq!(carbon.next().await, Said::Over);
    }

    #[tokio::test]
    async fn why_there_is_no_key_is_said_and_nonsense_ends_it() {
        let why = taken("printf '%s' \"$2 is taken.\"").await.unwrap_err();
        assert_eq!(
            why,
            "macOS does not give Ctrl+Alt+space to Tiro. hotkey=Ctrl+Alt+space is taken."
        );
        assert!(taken("exit 1").await.unwrap_err().ends_with("to Tiro."));
        let mut carbon = taken("printf rx; sleep 9").await.unwrap();
        assert_eq!(carbon.next().await, Said::Over);
        let key = "F9".parse().unwrap();
        let none = Carbon::of(Path::new("/nonexistent"), &key).await.unwrap_err();
        assert!(none.contains("does not start"), "{none}");
    }

    #[test]
    fn keys_have_the_names_of_ui_events() {
        #[track_caller]
        fn check(key: &str, expect: &str) {
            assert_eq!(carbon(&key.parse().unwrap()), expect);
        }
        check("Ctrl+Alt+space", "Control+Alt+Space");
        check("Super+Shift+t", "Shift+Super+KeyT");
        check("Super+7", "Super+Digit7");
        check("F13", "F13");
        check("Alt+Return", "Alt+Enter");
        check("Ctrl+Tab", "Control+Tab");
        check("Ctrl+grave", "Control+Backquote");
    }
}
