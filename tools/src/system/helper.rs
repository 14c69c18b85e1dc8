//! Work in a process of its own, which is `tiro` once more: what may crash takes nothing with it, and what has to outlive
//! a short command does.

use std::{
    io::{Read, Write as _},
    os::unix::process::ExitStatusExt as _,
    path::Path,
    process::{Child, Command, ExitStatus, Stdio},
    sync::mpsc,
    time::Duration,
};

use rustix::process::{Resource, Rlimit, Signal, setrlimit, setsid};

use super::{clipboard, files::read_pdf_here};

/// The verb of `tiro`, and what it is asked to do.
pub const VERB: &str = "helper";
/// Reads a PDF from its input and prints the text.
const PDF: &str = "pdf";
/// Keeps the text from its input in the clipboard until something else is copied.
const CLIPBOARD: &str = "clipboard";
/// Prints the text that is in the clipboard.
const PASTE: &str = "paste";

/// Most bytes that are read from a helper's output.
const MAX_OUTPUT: u64 = 4 << 20;
/// Most bytes of a helper's input.
const MAX_INPUT: u64 = 64 << 20;
/// Most memory for a PDF: addresses, because what unpacks is mapped, too.
const FOR_PDF: (Resource, u64) = (Resource::As, 2 << 30);
/// Most memory for what another program copied. It is kept whole before its length is known, and may be announced with
/// gigabytes. Only data counts: the program itself is larger than this when it is built for tests.
const FOR_PASTE: (Resource, u64) = (Resource::Data, 192 << 20);
/// How long the clipboard may take to be taken.
const TAKE: Duration = Duration::from_secs(5);
/// Said when it is.
const HELD: &[u8] = b"held\n";

/// What the child does: reads its input, works, prints. Whether it could.
pub fn run(work: &str, mut input: impl Read, output: &mut dyn std::io::Write) -> bool {
    let mut bytes = Vec::new();
    if input.by_ref().take(MAX_INPUT).read_to_end(&mut bytes).is_err() {
        return false;
    }
    match work {
        PDF => {
            limit(FOR_PDF);
            let (text, fine) = match read_pdf_here(&bytes) {
                Ok(text) => (text, true),
                Err(why) => (why, false),
            };
            output.write_all(text.as_bytes()).is_ok() && fine
        }
        CLIPBOARD => {
            // Away from the terminal of whoever copied: closing that must not empty the clipboard.
            let _ = setsid();
            keep(String::from_utf8_lossy(&bytes).into_owned(), output)
        }
        PASTE => {
            limit(FOR_PASTE);
            let (text, fine) = match clipboard::read_here() {
                Ok(text) => (text.unwrap_or_default(), true),
                Err(why) => (why.to_string(), false),
            };
            output.write_all(text.as_bytes()).is_ok() && fine
        }
        _ => false,
    }
}

/// Keeps a text in the clipboard until something else is copied or the display is gone; says when it is there.
fn keep(text: String, output: &mut dyn std::io::Write) -> bool {
    let (sender, news) = mpsc::channel();
    let held = sender.clone();
    std::thread::spawn(move || {
        let over = clipboard::hold(&text, || drop(held.send(None)));
        held.send(Some(over)).is_ok()
    });
    // Nothing on the way is an error, for one of the two has a sender as long as it lives.
    while let Ok(news) = news.recv() {
        match news {
            None => {
                if output.write_all(HELD).and_then(|()| output.flush()).is_err() {
                    return false;
                }
                let sender = sender.clone();
                std::thread::spawn(move || clipboard::until_gone() && sender.send(Some(Ok(()))).is_ok());
            }
            Some(Ok(())) => return true,
            Some(Err(why)) => {
                let _ = output.write_all(why.as_bytes());
                return false;
            }
        }
    }
    false
}

/// Little memory and little time: what unpacks to gigabytes, or is as large already, ends this process and nothing else.
fn limit(memory: (Resource, u64)) {
    for (resource, most) in [memory, (Resource::Cpu, 20), (Resource::Core, 0)] {
        let limit = Rlimit {
            current: Some(most),
            maximum: Some(most),
        };
        if let Err(error) = setrlimit(resource, limit) {
            tracing::debug!(%error, "a limit cannot be set");
        }
    }
}

/// What a helper printed, and how it ended.
struct Done {
    text: String,
    status: ExitStatus,
}

/// Has a helper work on some bytes. `None` when that takes too long.
fn work(program: &Path, work: &str, bytes: &[u8], patience: Duration) -> Result<Option<Done>, String> {
    let mut child = start(program, work)?;
    feed(&mut child, bytes.to_owned());
    let (sender, receiver) = mpsc::channel();
    if let Some(output) = child.stdout.take() {
        std::thread::spawn(move || {
            let mut text = Vec::new();
            let read = output.take(MAX_OUTPUT).read_to_end(&mut text);
            // Nobody listens any more when it took too long.
            let _ = sender.send(read.map(|_| text));
        });
    }
    let output = receiver.recv_timeout(patience + Duration::from_secs(1));
    if output.is_err() {
        // It may have ended by itself; then there is nothing to kill.
        let _ = child.kill();
    }
    let status = child.wait().map_err(|e| e.to_string())?;
    match output {
        Ok(Ok(text)) => Ok(Some(Done {
            text: String::from_utf8_lossy(&text).into_owned(),
            status,
        })),
        Ok(Err(error)) => Err(error.to_string()),
        Err(_) => Ok(None),
    }
}

/// The text in the clipboard; empty when it holds none.
///
/// # Errors
/// Why there is none to be had, as a sentence.
pub fn paste(program: &Path, patience: Duration) -> Result<String, String> {
    match work(program, PASTE, b"", patience) {
        Ok(Some(done)) if done.status.success() => Ok(done.text),
        Ok(Some(done)) if starved(done.status) => {
            Err("The clipboard holds too much for me to read.".to_owned())
        }
        Ok(Some(done)) if done.status.code().is_some() && !done.text.is_empty() => Err(done.text),
        Ok(None) => Err("The program that holds the clipboard does not answer.".to_owned()),
        Ok(Some(_)) => Err("I cannot read the clipboard.".to_owned()),
        Err(why) => {
            tracing::debug!(why, "the clipboard was not read");
            Err("I cannot read the clipboard.".to_owned())
        }
    }
}

/// Whether it ended as a process does that gets no more memory: it aborts, or the system kills it. Another signal is a
/// fault of its own.
fn starved(status: ExitStatus) -> bool {
    let starved = [Signal::ABORT, Signal::KILL].map(Signal::as_raw);
    status.signal().is_some_and(|signal| starved.contains(&signal))
}

/// The text of a PDF.
///
/// # Errors
/// Why there is none, to be put behind a colon.
pub fn read_pdf(program: &Path, bytes: &[u8], patience: Duration) -> Result<String, String> {
    let Some(Done { text, status }) = work(program, PDF, bytes, patience)? else {
        return Err("that takes too long".to_owned());
    };
    match (status.success(), text.is_empty()) {
        (true, _) => Ok(text),
        (false, false) if status.code().is_some() && text.len() < 100 => Err(text),
        _ => Err("it is broken".to_owned()),
    }
}

/// Puts a text into the clipboard, where a process of its own keeps it.
///
/// # Errors
/// Why it could not, as a sentence without its full stop.
pub fn hold(program: &Path, text: &str) -> Result<(), String> {
    let mut child = start(program, CLIPBOARD)?;
    feed(&mut child, text.as_bytes().to_owned());
    let (sender, receiver) = mpsc::channel();
    if let Some(mut output) = child.stdout.take() {
        std::thread::spawn(move || {
            let mut said = vec![0; 300];
            let mut length = 0;
            while length < said.len() && !said[..length].starts_with(HELD) {
                match output.read(&mut said[length..]) {
                    Ok(0) | Err(_) => break,
                    Ok(more) => length += more,
                }
            }
            said.truncate(length);
            let _ = sender.send(said);
        });
    }
    let said = receiver.recv_timeout(TAKE);
    match said {
        Ok(said) if said == HELD => {
            // It ends when something else is copied, which may be hours from now.
            std::thread::spawn(move || child.wait());
            Ok(())
        }
        said => {
            let _ = child.kill();
            let _ = child.wait();
            match said {
                Ok(why) if !why.is_empty() => Err(String::from_utf8_lossy(&why).into_owned()),
                _ => Err("the clipboard cannot be reached".to_owned()),
            }
        }
    }
}

fn start(program: &Path, work: &str) -> Result<Child, String> {
    Command::new(program)
        .args([VERB, work])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|e| format!("{} cannot be started ({e})", program.display()))
}

/// On a thread, because a child that does not read would stop us.
fn feed(child: &mut Child, bytes: Vec<u8>) {
    if let Some(mut input) = child.stdin.take() {
        std::thread::spawn(move || input.write_all(&bytes).is_ok());
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn only_a_helper_without_memory_is_said_to_have_read_too_much() {
        let home = tempfile::tempdir().unwrap();
        let much = "The clipboard holds too much for me to read.";
        for (number, (does, expect)) in [
            ("kill -ABRT $$", much),
            ("kill -KILL $$", much),
            ("echo half; kill -SEGV $$", "I cannot read the clipboard."),
            ("kill -TERM $$", "I cannot read the clipboard."),
            ("printf 'It is locked.'; exit 1", "It is locked."),
            ("exit 1", "I cannot read the clipboard."),
        ]
        .into_iter()
        .enumerate()
        {
            let program = home.path().join(number.to_string());
            std::fs::write(&program, format!("#!/bin/sh\n{does}\n")).unwrap();
            std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
            let error = paste(&program, Duration::from_secs(10)).unwrap_err();
            assert_eq!(error, expect, "{does}");
        }
    }
}
