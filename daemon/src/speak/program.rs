//! Voices that are programs: they read a text and either play it themselves or write a WAV file, which we play. espeak-ng,
//! macOS's `say`, and whatever the person has (piper).
//!
//! The text goes in over stdin and never over the command line, where it could be an option; no shell reads it.

use std::{io, path::PathBuf, process::Stdio, time::Duration};

use async_trait::async_trait;
use rustix::process::{Pid, Signal, kill_process_group, test_kill_process_group};
use tokio::{
    io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _},
    process::{Child, Command},
};
use tools::system::plain;

use super::{
    Choice, Pieces, Settings, Trouble, Voice,
    clip::{Clip, Maker, play_all},
    voice::allowance,
};

/// Most bytes of one piece as sound: three minutes at 48 kHz in stereo.
const MAX_WAV: u64 = 40 << 20;
/// Most bytes of what a program complains about.
const MAX_COMPLAINT: u64 = 4 << 10;
/// How long a program may take to write a piece as sound. A large voice takes seconds to load.
const MAKING: Duration = Duration::from_secs(30);
/// How often it is looked whether what it left behind still plays.
const LOOK: Duration = Duration::from_millis(50);

/// A program that speaks.
pub struct Program {
    name: &'static str,
    /// The program and its arguments; or what is wrong with them.
    words: Result<Vec<String>, String>,
    /// Said when it is not there.
    absent: String,
    speaker: Option<String>,
    rate: f32,
    /// How much softer its sound is made, where it does not do that itself.
    volume: f32,
}

/// espeak-ng, as it is installed with most screen readers.
pub fn espeak(settings: &Settings) -> Program {
    // 175 words a minute and 100 are its own defaults.
    let speed = (175.0 * settings.rate).round().clamp(80.0, 450.0);
    let amplitude = (100.0 * settings.volume).round().clamp(0.0, 200.0);
    // Behind another voice the name is one of that.
    let voice = match settings.choice == Choice::EspeakNg && !settings.name.is_empty() {
        true => &settings.name,
        false => "en",
    };
    let words = [
        "espeak-ng",
        "--stdin",
        "--stdout",
        "-b",
        "1",
        "-s",
        &speed.to_string(),
        "-a",
        &amplitude.to_string(),
        "-v",
        voice,
    ];
    Program {
        name: "espeak-ng",
        words: Ok(words.map(str::to_owned).to_vec()),
        absent: "espeak-ng is not installed.".to_owned(),
        speaker: settings.speaker.clone(),
        rate: settings.rate,
        volume: 1.0,
    }
}

/// The voice of macOS.
pub fn say(settings: &Settings) -> Program {
    let speed = (175.0 * settings.rate).round().to_string();
    let mut words = ["say", "-r", &speed].map(str::to_owned).to_vec();
    if !settings.name.is_empty() {
        words.extend(["-v".to_owned(), settings.name.clone()]);
    }
    words.extend(["-f".to_owned(), "-".to_owned()]);
    Program {
        name: "say",
        words: Ok(words),
        absent: "There is no program `say`; it is a part of macOS.".to_owned(),
        speaker: settings.speaker.clone(),
        rate: settings.rate,
        volume: settings.volume,
    }
}

/// The person's own program.
pub fn command(settings: &Settings) -> Program {
    let words = match &settings.command {
        Ok(words) if words.is_empty() => Err("There is no speech.command in the config.".to_owned()),
        words => words.clone(),
    };
    let program = words.as_ref().ok().and_then(|words| words.first());
    let absent =
        program.map(|program| format!("speech.command cannot be run: there is no program {program}."));
    Program {
        name: "command",
        absent: absent.unwrap_or_default(),
        words,
        speaker: settings.speaker.clone(),
        rate: settings.rate,
        volume: settings.volume,
    }
}

#[async_trait]
impl Voice for Program {
    fn name(&self) -> &str {
        self.name
    }

    async fn there(&self) -> Result<String, Trouble> {
        let words = self.words.as_ref().map_err(|why| Trouble::Absent(why.clone()))?;
        let program = words.first().and_then(|program| find(program));
        let program = program.ok_or_else(|| Trouble::Absent(self.absent.clone()))?;
        Ok(format!("{}.", program.display()))
    }

    async fn say(&self, pieces: &Pieces) -> Result<(), Trouble> {
        play_all(self, pieces).await
    }
}

#[async_trait]
impl Maker for Program {
    fn name(&self) -> &str {
        self.name
    }

    fn speaker(&self) -> Option<&str> {
        self.speaker.as_deref()
    }

    async fn make(&self, text: &str) -> Result<Option<Clip>, Trouble> {
        let words = self.words.as_ref().map_err(|why| Trouble::Absent(why.clone()))?;
        let Some((program, arguments)) = words.split_first() else {
            return Err(Trouble::Absent(self.absent.clone()));
        };
        let mut command = Command::new(program);
        if let Some(speaker) = &self.speaker {
            command.env("PULSE_SERVER", speaker);
        }
        command
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            // What it starts itself ends with it.
            .process_group(0)
            .kill_on_drop(true);
        let child = match command.spawn() {
            Ok(child) => child,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(Trouble::Absent(self.absent.clone()));
            }
            Err(error) => return Err(self.failed(&error.to_string())),
        };
        let mut running = Running::new(child);
        // One that plays takes as long as that is, one that writes a file is faster.
        let most = MAKING + allowance(text).div_f32(self.rate.clamp(0.1, 1.0));
        let out = match tokio::time::timeout(most, running.feed(text)).await {
            Ok(out) => out.map_err(|why| self.failed(&why))?,
            Err(_) => return Err(self.failed("it does not come to an end")),
        };
        match out.is_empty() {
            true => Ok(None),
            false => match Clip::of(out) {
                Some(clip) => Ok(Some(clip.softened(self.volume))),
                None => Err(self.failed(
                    "it printed something that is no WAV file; it should play the text, or write one",
                )),
            },
        }
    }
}

impl Program {
    fn failed(&self, why: &str) -> Trouble {
        Trouble::Failed(format!("The voice {} could not speak: {why}.", self.name))
    }
}

/// A program that runs. Dropped, it ends, and so does what it started, whether or not it has ended itself.
struct Running {
    child: Child,
    group: Group,
}

/// The processes of a program that was started in a group of its own, as long as somebody is left in it: until then no other
/// process gets that number. Dropped, they all end.
pub(crate) struct Group(Option<Pid>);

impl Drop for Group {
    fn drop(&mut self) {
        if let Some(group) = self.0 {
            // It may have ended meanwhile.
            let _ = kill_process_group(group, Signal::KILL);
        }
    }
}

impl Group {
    /// Of a program that was started with `process_group(0)`.
    pub(crate) fn of(child: &Child) -> Group {
        let pid = child.id().and_then(|id| i32::try_from(id).ok());
        Group(pid.and_then(Pid::from_raw))
    }

    /// Whether something that the program started goes on after its end. What should outlive it has to leave its group.
    pub(crate) fn goes_on(&mut self) -> bool {
        self.0 = self.0.filter(|group| is_alive(*group));
        self.0.is_some()
    }
}

impl Running {
    fn new(child: Child) -> Running {
        let group = Group::of(&child);
        Running { child, group }
    }

    /// Gives it the text, and waits for what it prints and for its end; if it prints nothing, for the end of what it started,
    /// too, because that is what is heard.
    async fn feed(&mut self, text: &str) -> Result<Vec<u8>, String> {
        let child = &mut self.child;
        let (input, output, complaint) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let line = format!("{text}\n");
        let write = async {
            if let Some(mut input) = input {
                // One that does not read to the end says itself why.
                let _ = input.write_all(line.as_bytes()).await;
            }
        };
        let ((), out, complaint) = tokio::join!(write, read(output, MAX_WAV), read(complaint, MAX_COMPLAINT));
        let status = child.wait().await.map_err(|error| error.to_string())?;
        if !status.success() {
            let complaint = String::from_utf8_lossy(&complaint);
            let last = complaint.lines().rev().find(|line| !line.trim().is_empty());
            return Err(match last {
                Some(line) => plain::one_line(line, 200).trim_end_matches('.').to_owned(),
                None => format!("it ended with {status}"),
            });
        }
        while out.is_empty() && self.group.goes_on() {
            tokio::time::sleep(LOOK).await;
        }
        match out.len() as u64 > MAX_WAV {
            true => Err("it printed far more than that text takes".to_owned()),
            false => Ok(out),
        }
    }
}

/// Whether somebody in a process group has not ended.
fn is_alive(group: Pid) -> bool {
    // Who may not be asked is there.
    if test_kill_process_group(group) == Err(rustix::io::Errno::SRCH) {
        return false;
    }
    // Somebody may have ended whom nobody has waited for: that is counted, too, and may stay so for ever.
    let Ok(processes) = std::fs::read_dir("/proc") else {
        return true;
    };
    let mut seen = false;
    for process in processes.flatten() {
        let Ok(stat) = std::fs::read_to_string(process.path().join("stat")) else {
            continue;
        };
        seen = true;
        // Behind the name, which may hold anything: state, parent, group.
        let mut fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
        let (state, of) = (fields.next(), fields.nth(1).and_then(|id| id.parse().ok()));
        if of == Some(group.as_raw_nonzero().get()) && !matches!(state, Some("Z" | "X")) {
            return true;
        }
    }
    // Where there are no such files, what was asked first is all that is known.
    !seen
}

/// All that comes, one byte more than `most` at most of it. The rest is read and dropped, so that nobody waits for a pipe.
async fn read(from: Option<impl AsyncRead + Unpin>, most: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    if let Some(mut from) = from {
        // What cannot be read is not there.
        let _ = (&mut from).take(most + 1).read_to_end(&mut bytes).await;
        let _ = tokio::io::copy(&mut from, &mut tokio::io::sink()).await;
    }
    bytes
}

/// Where a program is.
pub(super) fn find(program: &str) -> Option<PathBuf> {
    if program.contains('/') {
        return Some(PathBuf::from(program)).filter(|path| path.is_file());
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut folders = std::env::split_paths(&path).map(|folder| folder.join(program));
    folders.find(|path| path.is_file())
}

#[cfg(test)]
mod tests;
