//! Small programs of the desktop, run for their answer: bounded in time and size, never left behind.

use std::{path::Path, process::Stdio, time::Duration};

use tokio::{io::AsyncReadExt as _, process::Command};

use super::Desk;

/// Most of an answer that is read, in bytes.
const MAX_ANSWER: u64 = 1 << 20;

/// Why a program gave no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Failure {
    /// It is not installed, or cannot be started.
    Missing,
    /// It did not end in time, and was ended.
    Silent,
    /// It ended with an error: what it said about it.
    Failed(String),
}

/// Runs a program and gives back what it printed.
pub async fn output(desk: &Desk, program: &str, arguments: &[&str]) -> Result<String, Failure> {
    output_within(desk, program, arguments, desk.patience).await
}

/// The same with another time limit.
pub async fn output_within(
    desk: &Desk,
    program: &str,
    arguments: &[&str],
    limit: Duration,
) -> Result<String, Failure> {
    let path = desk.program(program).ok_or(Failure::Missing)?;
    let mut child = command(desk, &path, arguments)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .map_err(|_| Failure::Missing)?;
    let (out, err) = (child.stdout.take(), child.stderr.take());
    let work = async {
        let (mut said, mut complained) = (Vec::new(), Vec::new());
        let reading = async {
            if let Some(out) = out {
                let _ = out.take(MAX_ANSWER).read_to_end(&mut said).await;
            }
        };
        let listening = async {
            if let Some(err) = err {
                let _ = err.take(MAX_ANSWER).read_to_end(&mut complained).await;
            }
        };
        tokio::join!(reading, listening);
        let status = child.wait().await;
        (said, complained, status)
    };
    match tokio::time::timeout(limit, work).await {
        Ok((said, _, Ok(status))) if status.success() => Ok(String::from_utf8_lossy(&said).into_owned()),
        Ok((_, complained, _)) => Err(Failure::Failed(String::from_utf8_lossy(&complained).into_owned())),
        Err(_) => {
            // Killed and reaped here: nothing of it stays.
            let _ = child.kill().await;
            Err(Failure::Silent)
        }
    }
}

/// A program with the desktop's variables, that speaks no language and has no input.
pub fn command(desk: &Desk, program: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(program);
    command
        .args(arguments)
        .env("LC_ALL", "C")
        .envs(desk.env.iter().map(|(name, value)| (name, value)))
        .stdin(Stdio::null());
    if let Some(session) = &desk.session {
        command.env("DBUS_SESSION_BUS_ADDRESS", session);
    }
    command
}
