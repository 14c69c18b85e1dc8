//! The clipboard of X11, Wayland and macOS.
//!
//! On the first two whoever copies must stay, because pasting asks them for the text. So a text is kept by a process of
//! its own (`system::helper`), which ends when something else is copied.

use std::{path::Path, time::Duration};

use arboard::{Clipboard, Error};

use super::helper;
use crate::contract::ToolError;

/// Most bytes that are read or written.
pub const MAX_TEXT: usize = 1 << 20;
/// How long whoever copied may take to hand the text over.
const PATIENCE: Duration = Duration::from_secs(5);

/// The text in the clipboard; nothing when it holds none.
///
/// # Errors
/// `Tell` where there is no clipboard.
pub fn read() -> Result<Option<String>, ToolError> {
    let read = || match Clipboard::new().and_then(|mut clipboard| clipboard.get_text()) {
        Ok(text) => Ok(Some(text)),
        Err(Error::ContentNotAvailable | Error::ConversionFailure) => Ok(None),
        Err(error) => Err(nowhere(&error)),
    };
    // A program that copied and hangs must not hang us.
    let (sender, receiver) = std::sync::mpsc::channel();
    std::thread::spawn(move || sender.send(read()).is_ok());
    receiver.recv_timeout(PATIENCE).unwrap_or_else(|_| {
        Err(ToolError::tell(
            "The program that holds the clipboard does not answer.",
        ))
    })
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
