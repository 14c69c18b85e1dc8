//! Where the demo's spoken question comes from: a synthetic voice, or the person at the microphone.

use std::{
    fs,
    io::{self, IsTerminal as _, Write as _},
    path::Path,
    process::Command,
};

use anyhow::{Context as _, Result};

use crate::run::{output, program, run, works};

/// Seconds that a person gets to ask; no recorder needs to be stopped by hand.
const SECONDS: &str = "6";

/// Writes `text` as speech.
pub fn synthetic(text: &str, wav: &Path) -> Result<()> {
    eprintln!("This question is spoken by a synthetic voice (espeak-ng): \"{text}\"");
    run(program("espeak-ng")
        .args(["-v", "en-gb", "-s", "150", "-w"])
        .arg(wav)
        .arg(text))
}

/// Offers the microphone where there is one; false when the synthetic voice should ask.
pub fn recorded(wav: &Path) -> Result<bool> {
    let mut recorder = match recorder(wav) {
        Ok(recorder) => recorder,
        Err(why) => {
            eprintln!("You cannot ask by microphone here: {why}.");
            return Ok(false);
        }
    };
    eprint!("Press Enter and ask within {SECONDS} seconds, or type s and Enter for the synthetic voice: ");
    io::stderr().flush()?;
    let mut answer = String::new();
    if io::stdin().read_line(&mut answer)? == 0 || !answer.trim().is_empty() {
        return Ok(false);
    }
    eprintln!("Listening.");
    let status = recorder.status().context("starting the recorder")?;
    // `timeout` ends parecord and reports that as a failure; what counts is whether there is sound.
    let bytes = fs::metadata(wav).map_or(0, |file| file.len());
    if bytes < 1000 {
        eprintln!("Nothing was recorded ({status}).");
        return Ok(false);
    }
    Ok(true)
}

/// A command that records for some seconds, or why there is none.
fn recorder(wav: &Path) -> Result<Command, &'static str> {
    if !io::stdin().is_terminal() {
        return Err("the input is not a terminal");
    }
    let alsa = fs::read_to_string("/proc/asound/pcm").is_ok_and(|devices| devices.contains("capture"));
    let pulse = output("pactl", &["list", "short", "sources"]).is_some_and(|sources| {
        sources
            .lines()
            .any(|line| !line.is_empty() && !line.contains(".monitor"))
    });
    if !alsa && !pulse && cfg!(target_os = "linux") {
        return Err("no capture device was found");
    }
    if pulse && works("parecord", &["--version"]) && works("timeout", &["--version"]) {
        let mut parecord = program("timeout");
        parecord.args([
            "-s",
            "INT",
            SECONDS,
            "parecord",
            "--file-format=wav",
            "--channels=1",
            "--rate=16000",
        ]);
        parecord.arg(wav);
        Ok(parecord)
    } else if alsa && works("arecord", &["--version"]) {
        let mut arecord = program("arecord");
        arecord
            .args(["-q", "-f", "S16_LE", "-c", "1", "-r", "16000", "-d", SECONDS])
            .arg(wav);
        Ok(arecord)
    } else if works("rec", &["--version"]) {
        let mut rec = program("rec");
        rec.args(["-q", "-c", "1", "-r", "16000", "-b", "16"])
            .arg(wav)
            .args(["trim", "0", SECONDS]);
        Ok(rec)
    } else {
        Err("none of parecord, arecord and rec (sox) is installed")
    }
}
