//! Text of PDFs. The reader is a kept library that panics, recurses and loops on broken files, so it runs in a process
//! of its own where there is one: with little memory, little time, and nothing to lose.

use std::{
    fmt,
    path::Path,
    sync::{
        Arc,
        mpsc::{self, RecvTimeoutError},
    },
    time::{Duration, Instant},
};

use pdf_extract::{Document, PlainTextOutput, output_doc_page};

use crate::system::helper;

/// Most pages that are read.
const MAX_PAGES: usize = 100;
/// Most text that is kept, in bytes.
const MAX_TEXT: usize = 1 << 20;
/// How long a PDF is read.
const PATIENCE: Duration = Duration::from_secs(8);

/// The text of a PDF, or why there is none.
pub fn text(bytes: Vec<u8>, helper: Option<&Path>) -> Result<String, String> {
    let text = match helper {
        Some(program) => helper::read_pdf(program, &bytes, PATIENCE)?,
        None => here(bytes)?,
    };
    match text.trim().is_empty() {
        true => Err("it has no text in it, only pictures".to_owned()),
        false => Ok(text),
    }
}

/// Reads it on a thread, for where there is no other process. A reader that hangs keeps its thread.
fn here(bytes: Vec<u8>) -> Result<String, String> {
    let (sender, receiver) = mpsc::channel();
    let bytes = Arc::new(bytes);
    let work = std::thread::Builder::new()
        .name("pdf".to_owned())
        .stack_size(16 << 20)
        .spawn(move || sender.send(extract(&bytes)).is_ok());
    work.map_err(|e| e.to_string())?;
    match receiver.recv_timeout(PATIENCE) {
        Ok(result) => result,
        Err(RecvTimeoutError::Timeout) => Err("that takes too long".to_owned()),
        // The thread panicked.
        Err(RecvTimeoutError::Disconnected) => Err("it is broken".to_owned()),
    }
}

/// Reads page after page until the end, the bounds or a page that cannot be read. May panic.
pub fn extract(bytes: &[u8]) -> Result<String, String> {
    let started = Instant::now();
    let mut document = Document::load_mem(bytes).map_err(|_| "it is broken".to_owned())?;
    // Most encrypted PDFs only forbid printing, and open with an empty password.
    if document.is_encrypted() && document.decrypt("").is_err() {
        return Err("it wants a password".to_owned());
    }
    let mut text = Capped(String::new());
    let pages: Vec<u32> = document.get_pages().into_keys().take(MAX_PAGES).collect();
    for page in pages {
        let read = output_doc_page(
            &document,
            &mut PlainTextOutput::new(&mut text as &mut dyn std::io::Write),
            page,
        );
        if read.is_err() || text.0.len() >= MAX_TEXT || started.elapsed() > PATIENCE {
            break;
        }
        text.0.push('\n');
    }
    Ok(text.0)
}

/// Text that grows to its bound and no further.
struct Capped(String);

impl std::io::Write for Capped {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        if self.0.len() + bytes.len() > MAX_TEXT {
            return Err(std::io::Error::other("there is enough text"));
        }
        self.0.push_str(&String::from_utf8_lossy(bytes));
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl fmt::Debug for Capped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Capped({} bytes)", self.0.len())
    }
}
