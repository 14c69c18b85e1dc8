//! The clipboard of X11, Wayland and macOS.
//!
//! On the first two whoever copies must stay, because pasting asks them for the text. So a text is kept by a process of
//! its own (`system::helper`), which ends when something else is copied. Reading is done in one, too: whoever copied may
//! hand over gigabytes, and the whole is taken before its length is known.

use std::{io, os::unix::net::UnixStream, path::Path, time::Duration};

use arboard::{Clipboard, Error};
use x11rb::connection::Connection as _;

use super::helper;
use crate::contract::ToolError;

/// Most bytes that are read or written.
pub const MAX_TEXT: usize = 1 << 20;
/// How long whoever copied may take to hand the text over.
const PATIENCE: Duration = Duration::from_secs(5);

/// The text in the clipboard; nothing when it holds none.
///
/// # Errors
/// `Tell` where there is no clipboard, when whoever copied does not answer, and when it is too much.
pub fn read(program: Option<&Path>) -> Result<Option<String>, ToolError> {
    // On macOS the system itself keeps what is copied.
    if let Some(program) = program.filter(|_| !cfg!(target_os = "macos")) {
        let text = helper::paste(program, PATIENCE).map_err(ToolError::Tell)?;
        return Ok((!text.is_empty()).then_some(text));
    }
    // A program that copied and hangs must not hang us.
    let (sender, receiver) = std::sync::mpsc::channel();
    std::thread::spawn(move || sender.send(read_here()).is_ok());
    receiver.recv_timeout(PATIENCE).unwrap_or_else(|_| {
        Err(ToolError::tell(
            "The program that holds the clipboard does not answer.",
        ))
    })
}

/// The same in this process, the first `MAX_TEXT` bytes of it. Whoever copied decides how long that takes and how much
/// memory it needs.
///
/// # Errors
/// `Tell` where there is no clipboard.
pub fn read_here() -> Result<Option<String>, ToolError> {
    match Clipboard::new().and_then(|mut clipboard| clipboard.get_text()) {
        Ok(mut text) => {
            text.truncate(text.floor_char_boundary(MAX_TEXT));
            Ok(Some(text))
        }
        Err(Error::ContentNotAvailable | Error::ConversionFailure) => Ok(None),
        Err(error) => Err(nowhere(&error)),
    }
}

/// Puts a text into the clipboard.
///
/// # Errors
/// `Tell` where there is none.
pub fn write(text: &str, program: Option<&Path>) -> Result<(), ToolError> {
    // On macOS the system itself keeps what is copied.
    let own = cfg!(target_os = "macos");
    match program.filter(|_| !own) {
        Some(program) => helper::hold(program, text).map_err(|why| {
            tracing::debug!(why, "nothing was copied");
            ToolError::tell(NOWHERE)
        }),
        None => here(text.to_owned()),
    }
}

/// Keeps a text in the clipboard until something else is copied; calls back once it is there.
///
/// # Errors
/// Why it could not be put there.
pub fn hold(text: &str, held: impl FnOnce()) -> Result<(), String> {
    let mut clipboard = Clipboard::new().map_err(|e| e.to_string())?;
    clipboard.set_text(text).map_err(|e| e.to_string())?;
    held();
    #[cfg(all(unix, not(target_os = "macos")))]
    {
        use arboard::SetExtLinux as _;
        clipboard.set().wait().text(text).map_err(|e| e.to_string())?;
    }
    Ok(())
}

/// Waits until the display is gone, which whoever waits for the next text to be copied on X never hears. False at once
/// where there is none.
pub fn until_gone() -> bool {
    if cfg!(target_os = "macos") {
        return false;
    }
    // The X server of a Wayland desktop ends with it, and is not started for this.
    if let Some(mut desktop) = wayland() {
        // It says nothing to who says nothing.
        let _ = io::copy(&mut desktop, &mut io::sink());
        return true;
    }
    let Ok((server, _)) = x11rb::connect(None) else {
        return false;
    };
    // It sends nothing that was not asked for, but for a change of keys.
    while server.wait_for_event().is_ok() {}
    true
}

/// The Wayland desktop, if there is one.
fn wayland() -> Option<UnixStream> {
    let name = std::env::var_os("WAYLAND_DISPLAY").filter(|name| !name.is_empty())?;
    // An absolute name is the path.
    let folder = std::env::var_os("XDG_RUNTIME_DIR").unwrap_or_default();
    UnixStream::connect(Path::new(&folder).join(name)).ok()
}

/// Keeps it in this process, on a thread that ends with what is copied next.
fn here(text: String) -> Result<(), ToolError> {
    let (sender, receiver) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let told = sender.clone();
        if let Err(error) = hold(&text, || drop(told.send(Ok(())))) {
            // Nobody listens any more when it was there already.
            let _ = sender.send(Err(error));
        }
    });
    match receiver.recv_timeout(PATIENCE) {
        Ok(Ok(())) => Ok(()),
        Ok(Err(error)) => {
            tracing::debug!(error, "nothing was copied");
            Err(ToolError::tell(NOWHERE))
        }
        Err(_) => Err(ToolError::tell("The clipboard does not answer.")),
    }
}

const NOWHERE: &str = "I cannot reach a clipboard: there is no desktop session here.";

fn nowhere(error: &Error) -> ToolError {
    tracing::debug!(%error, "no clipboard");
    ToolError::tell(NOWHERE)
}
