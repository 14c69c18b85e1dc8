//! The voice that others are given: a program that reads text and writes a WAV, such as espeak-ng, whose sound goes on as it
//! is made.

use std::{process::Stdio, time::Duration};

use anyhow::{Context as _, bail, ensure};
use async_trait::async_trait;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    process::{Child, ChildStdout, Command},
    time::timeout,
};

use super::sound::Format;
use crate::speak::program::Group;

/// Longest time until a program writes something.
const SILENCE: Duration = Duration::from_secs(30);
/// Longest time for it to end once it has said all.
const END: Duration = Duration::from_secs(5);
/// Longest sound of one text, seconds.
const MAX_SECONDS: usize = 600;
/// Longest header of a WAV, bytes; others have 44.
const MAX_HEADER: usize = 64 << 10;
/// Bytes of one piece of sound, about a quarter of a second.
const PIECE: usize = 8_192;

/// Something that makes text sound.
#[async_trait]
pub trait Voice: Send + Sync {
    /// What it is called.
    fn name(&self) -> String;

    /// Begins to make this text sound. Dropping what it returns ends that.
    async fn speak(&self, text: &str) -> anyhow::Result<Box<dyn Spoken>>;
}

/// Sound of a text, as it is made.
#[async_trait]
pub trait Spoken: Send {
    /// How it is coded.
    fn format(&self) -> Format;

    /// The next piece, whole samples; `None` at the end.
    async fn next(&mut self) -> anyhow::Result<Option<Vec<u8>>>;
}

/// A program and its arguments. It reads the text from its input and writes a WAV to its output.
#[derive(Debug, Clone)]
pub struct CommandVoice(Vec<String>);

impl CommandVoice {
    /// Of a command as the config has it.
    ///
    /// # Errors
    /// When its quotes do not match, or there is none.
    pub fn parse(command: &str) -> anyhow::Result<CommandVoice> {
        let words =
            shell_words::split(command).with_context(|| format!("the quotes in {command:?} do not match"))?;
        ensure!(!words.is_empty(), "there is no command");
        Ok(CommandVoice(words))
    }

    /// The program.
    pub fn program(&self) -> &str {
        &self.0[0]
    }
}

/// A program at work. It is killed when this is dropped.
struct Making {
    child: Child,
    /// What it started itself, which ends with it.
    group: Group,
    out: ChildStdout,
    program: String,
    format: Format,
    /// Sound that came with the header, or half a sample.
    rest: Vec<u8>,
    /// Bytes of sound that may still come.
    left: usize,
    over: bool,
}

#[async_trait]
impl Voice for CommandVoice {
    fn name(&self) -> String {
        let name = std::path::Path::new(self.program()).file_name();
        name.map_or_else(String::new, |name| name.to_string_lossy().into_owned())
    }

    async fn speak(&self, text: &str) -> anyhow::Result<Box<dyn Spoken>> {
        let program = self.program();
        let mut child = Command::new(program)
            .args(&self.0[1..])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .process_group(0)
            .kill_on_drop(true)
            .spawn()
            .with_context(|| format!("{program} cannot be started"))?;
        let group = Group::of(&child);
        let (input, out) = (child.stdin.take(), child.stdout.take());
        let (Some(mut input), Some(mut out)) = (input, out) else {
            bail!("{program} has no input or no output")
        };
        // The text is no argument, which a program could take for an option.
        let text = format!("{}\n", text.trim());
        tokio::spawn(async move {
            // What does not read its input may sound all the same, or end; both are noticed below.
            let _ = timeout(SILENCE, input.write_all(text.as_bytes())).await;
        });
        let mut head = Vec::new();
        let (format, begins) = loop {
            match wav(&head).with_context(|| format!("{program} wrote what is no WAV"))? {
                Some(found) => break found,
                None if head.len() > MAX_HEADER => bail!("{program} wrote what is no WAV"),
                None => {}
            }
            let mut piece = [0; 4096];
            let got = timeout(SILENCE, out.read(&mut piece))
                .await
                .with_context(|| format!("{program} wrote nothing within {} s", SILENCE.as_secs()))?
                .with_context(|| format!("{program} cannot be read"))?;
            if got == 0 {
                let ended = timeout(END, child.wait()).await;
                let how = ended.ok().and_then(Result::ok).filter(|status| !status.success());
                match how {
                    Some(status) => bail!("{program} made no sound ({status})"),
                    None => bail!("{program} made no sound"),
                }
            }
            head.extend_from_slice(&piece[..got]);
        };
        Ok(Box::new(Making {
            child,
            group,
            out,
            program: program.to_owned(),
            format,
            rest: head.split_off(begins),
            left: MAX_SECONDS * format.second(),
            over: false,
        }))
    }
}

#[async_trait]
impl Spoken for Making {
    fn format(&self) -> Format {
        self.format
    }

    async fn next(&mut self) -> anyhow::Result<Option<Vec<u8>>> {
        let program = &self.program;
        let mut piece = std::mem::take(&mut self.rest);
        while !self.over && piece.len() < PIECE {
            let before = piece.len();
            piece.resize(PIECE, 0);
            let got = timeout(SILENCE, self.out.read(&mut piece[before..]))
                .await
                .with_context(|| format!("{program} wrote nothing within {} s", SILENCE.as_secs()))?
                .with_context(|| format!("{program} cannot be read"))?;
            piece.truncate(before + got);
            self.over = got == 0;
        }
        let whole = piece.len() - piece.len() % self.format.frame();
        // What is cut off in the middle of a sample at the very end is none.
        self.rest = piece.split_off(whole);
        let Some(left) = self.left.checked_sub(whole) else {
            bail!("{program} made more than {MAX_SECONDS} s of sound")
        };
        self.left = left;
        if whole > 0 {
            return Ok(Some(piece));
        }
        // Reaped here; if it hangs, when it is dropped.
        let _ = timeout(END, self.child.wait()).await;
        // Where nobody is left, its number may be somebody else's by the time that this is dropped.
        self.group.goes_on();
        Ok(None)
    }
}

/// The format of a WAV and where its sound begins, once its beginning has it. How long the sound is, a program that writes
/// into a pipe does not know when it writes that.
fn wav(head: &[u8]) -> anyhow::Result<Option<(Format, usize)>> {
    let start = |mark: &[u8], at: usize| head.len() < at + 4 || &head[at..at + 4] == mark;
    ensure!(
        start(b"RIFF", 0) && start(b"WAVE", 8),
        "It does not begin as one."
    );
    let (mut at, mut format) = (12, None);
    while let Some(chunk) = head.get(at..at + 8) {
        let length = u32::from_le_bytes([chunk[4], chunk[5], chunk[6], chunk[7]]) as usize;
        let inside = at + 8;
        match &chunk[..4] {
            b"data" => {
                let format = format.context("It does not say how its sound is coded.")?;
                return Ok(Some((format, inside)));
            }
            b"fmt " => {
                let Some(fields) = head.get(inside..inside + 16) else {
                    return Ok(None);
                };
                format = Some(format_of(fields)?);
            }
            _ => {}
        }
        // Chunks begin at even offsets.
        at = inside.saturating_add(length).saturating_add(length % 2);
    }
    Ok(None)
}

/// The `fmt ` chunk of integer PCM.
fn format_of(fields: &[u8]) -> anyhow::Result<Format> {
    let word = |at: usize| u16::from_le_bytes([fields[at], fields[at + 1]]);
    let rate = u32::from_le_bytes([fields[4], fields[5], fields[6], fields[7]]);
    let (tag, channels, bits) = (word(0), word(2), word(14));
    ensure!(tag == 1 && bits % 8 == 0, "Its sound is no plain PCM.");
    let stated = super::wire::Event::new("audio-start")
        .with("rate", rate)
        .with("width", bits / 8)
        .with("channels", channels);
    Ok(Format::of(&stated)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A header as espeak-ng writes it into a pipe.
    fn header(rate: u32, channels: u16, bits: u16) -> Vec<u8> {
        let frame = channels * bits / 8;
        let mut bytes = b"RIFF\x24\xf0\xff\x7fWAVEfmt \x10\0\0\0\x01\0".to_vec();
        bytes.extend(channels.to_le_bytes());
        bytes.extend(rate.to_le_bytes());
        bytes.extend((rate * u32::from(frame)).to_le_bytes());
        bytes.extend(frame.to_le_bytes());
        bytes.extend(bits.to_le_bytes());
        bytes.extend(b"data\0\xf0\xff\x7f");
        bytes
    }

    #[test]
    fn headers_are_read_as_they_come() {
        let whole = header(22_050, 1, 16);
        let format = Format {
            rate: 22_050,
            width: 2,
            channels: 1,
        };
        for length in 0..whole.len() {
            assert_eq!(wav(&whole[..length]).unwrap(), None, "{length}");
        }
        assert_eq!(wav(&whole).unwrap(), Some((format, 44)));
        let mut odd = whole[..12].to_vec();
        odd.extend(b"LIST\x03\0\0\0abc\0");
        odd.extend(&whole[12..]);
        assert_eq!(wav(&odd).unwrap(), Some((format, 56)));
        for wrong in [
            &b"ID3\x04"[..],
            b"RIFF\0\0\0\0AVI ",
            b"RIFF\0\0\0\0WAVEdata\0\0\0\0",
            &header(22_050, 1, 24),
            &header(96_000, 1, 16),
            &header(16_000, 0, 16),
            &header(16_000, 1, 12),
        ] {
            assert!(wav(wrong).is_err(), "{wrong:?}");
        }
    }

    async fn said(command: &str, text: &str) -> Result<(Format, Vec<u8>), String> {
        let said = async {
            let voice = CommandVoice::parse(command)?;
            let mut spoken = voice.speak(text).await?;
            let mut pcm = Vec::new();
            while let Some(piece) = spoken.next().await? {
                assert!(piece.len().is_multiple_of(spoken.format().frame()));
                pcm.extend(piece);
            }
            anyhow::Ok((spoken.format(), pcm))
        };
        said.await.map_err(|error| format!("{error:#}"))
    }

    #[tokio::test]
    async fn a_program_reads_text_and_its_sound_goes_on() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("head");
        std::fs::write(&file, header(16_000, 1, 16)).unwrap();
        let command = format!("sh -c 'cat {}; cat'", file.display());
        let (format, pcm) = said(&command, "  --help ").await.unwrap();
        assert_eq!(
            (format, pcm),
            (Format::SPEECH, b"--help".to_vec()),
            "and the newline is half a sample"
        );
        for (command, says) in [
            ("sh -c 'exit 3'", "sh made no sound (exit status: 3)"),
            ("sh -c 'cat >&2'", "sh made no sound"),
            ("sh -c 'echo hello there'", "sh wrote what is no WAV"),
            ("/nonexistent/voice", "/nonexistent/voice cannot be started"),
            ("\"", "quotes"),
            ("", "there is no command"),
        ] {
            let error = said(command, "hi").await.unwrap_err();
            assert!(error.contains(says), "{error}");
        }
    }

    #[tokio::test]
    async fn a_program_that_is_not_wanted_any_more_is_ended_with_all_that_it_started() {
        let folder = tempfile::tempdir().unwrap();
        let (file, pid) = (folder.path().join("head"), folder.path().join("pid"));
        std::fs::write(&file, header(16_000, 1, 16)).unwrap();
        // The one that is looked for is started by the program, as in `sh -c "piper | sox"`.
        let command = format!(
            "sh -c 'cat {}; sleep 600 & echo $! > {}; wait'",
            file.display(),
            pid.display()
        );
        let spoken = CommandVoice::parse(&command).unwrap().speak("hi").await.unwrap();
        let began = std::time::Instant::now();
        let number = loop {
            match std::fs::read_to_string(&pid)
                .unwrap_or_default()
                .trim()
                .parse::<i32>()
            {
                Ok(number) => break number,
                Err(_) => tokio::time::sleep(Duration::from_millis(5)).await,
            }
            assert!(began.elapsed() < SILENCE, "it never began");
        };
        drop(spoken);
        let number = rustix::process::Pid::from_raw(number).unwrap();
        // Who has ended and was not waited for by the system yet is a zombie.
        let stat = format!("/proc/{}/stat", number.as_raw_nonzero());
        let zombie = || std::fs::read_to_string(&stat).is_ok_and(|stat| stat.contains(") Z "));
        while rustix::process::test_kill_process(number).is_ok() && !zombie() {
            assert!(began.elapsed() < SILENCE, "it is still there");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}
