//! Sound that a test plays into the microphone: recordings of people, and a synthetic voice for what nobody recorded.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
    process::Command,
    sync::atomic::{AtomicUsize, Ordering},
};

use daemon::{
    listen::{vad, wav},
    speak::aloud,
};

use crate::microphone::{COMMAND, recording};

const RATE: usize = 16_000;

/// What is played, one after the other.
#[derive(Debug, Clone, Copy)]
pub enum Sound {
    /// A person says "computer": which of the recordings.
    Phrase(usize),
    /// A person asks for the time.
    Request,
    /// What a person says in this recording, one of those that are read.
    Read(&'static str),
    /// espeak-ng says this.
    Say(&'static str),
    /// Nothing, for so many milliseconds.
    Pause(usize),
    /// A kitchen, for so many milliseconds.
    Noise(usize),
    /// A melody, for so many milliseconds.
    Music(usize),
}

/// One stretch of sound, made of these, in a file of its own, and how much silence it ends with, in milliseconds. `None`
/// where the recordings are not there, which is said.
pub fn sounds(folder: &Path, parts: &[Sound]) -> Option<PathBuf> {
    let request = recording(COMMAND)?;
    let root = request.parent()?.parent()?.to_owned();
    let mut all = Vec::new();
    for part in parts {
        match part {
            Sound::Phrase(n) => {
                let computers = recordings(&root.join("wake/computer"));
                all.extend(spoken(&computers[n % computers.len()]));
            }
            Sound::Request => all.extend(spoken(&request)),
            Sound::Read(file) => all.extend(spoken(&recording(&format!("read/{file}"))?)),
            Sound::Say(text) => all.extend(spoken(&synthetic(folder, text))),
            Sound::Pause(ms) => all.extend(std::iter::repeat_n(0.0, ms * RATE / 1000)),
            Sound::Noise(ms) => {
                let noise = wav::read(&root.join("kitchen-noise.wav")).unwrap();
                all.extend(noise.iter().cycle().take(ms * RATE / 1000));
            }
            Sound::Music(ms) => all.extend((0..ms * RATE / 1000).map(melody)),
        }
    }
    Some(write(folder, &all))
}

/// A recording without what is around the speech in it.
fn spoken(path: &Path) -> Vec<f32> {
    let samples = wav::read(path).unwrap();
    let range = vad::speech(&samples).unwrap_or_else(|| panic!("nobody speaks in {}", path.display()));
    samples[range].to_vec()
}

/// The recordings in a folder, in order.
pub fn recordings(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().flatten();
    let mut found: Vec<PathBuf> = entries
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|e| e == "wav"))
        .collect();
    found.sort();
    found
}

/// How much of what was said was heard again: the share of its words of more than two letters, 0 to 1. Whether a number is
/// written as a word or in figures makes no difference.
pub fn share_of_words(said: &str, heard: &str) -> f32 {
    let words = |text: &str| -> BTreeSet<String> {
        let text = aloud::answer(&clock(text));
        let words = text.split(|c: char| !c.is_alphanumeric());
        words.filter(|w| w.len() > 2).map(str::to_lowercase).collect()
    };
    let (said, heard) = (words(said), words(heard));
    said.intersection(&heard).count() as f32 / said.len().max(1) as f32
}

/// "9.30am" as "9:30am", which is how everybody else writes it.
fn clock(text: &str) -> String {
    let letters: Vec<char> = text.chars().collect();
    let is_time = |n: usize| {
        let digit = |n: Option<usize>| n.and_then(|n| letters.get(n)).is_some_and(char::is_ascii_digit);
        letters[n] == '.' && digit(n.checked_sub(1)) && digit(Some(n + 1)) && digit(Some(n + 2))
    };
    let letter = |(n, letter): (usize, &char)| if is_time(n) { ':' } else { *letter };
    letters.iter().enumerate().map(letter).collect()
}

/// Word errors of what was recognised against what was said, as a share of the words that were said.
pub fn word_error_rate(said: &str, heard: &str) -> f64 {
    let (errors, words) = word_errors(said, heard);
    errors as f64 / words as f64
}

/// How many words of what was recognised are wrong, missing or too many, and how many were said.
pub fn word_errors(said: &str, heard: &str) -> (usize, usize) {
    let words = |text: &str| -> Vec<String> {
        let letters = |c: char| c.is_alphanumeric() || c.is_whitespace() || c == '\'';
        let text: String = text.to_lowercase().chars().filter(|c| letters(*c)).collect();
        text.split_whitespace().map(str::to_owned).collect()
    };
    let (said, heard) = (words(said), words(heard));
    let mut row: Vec<usize> = (0..=heard.len()).collect();
    for (i, a) in said.iter().enumerate() {
        let mut before = std::mem::replace(&mut row[0], i + 1);
        for (j, b) in heard.iter().enumerate() {
            let swap = before + usize::from(a != b);
            before = row[j + 1];
            row[j + 1] = swap.min(before + 1).min(row[j] + 1);
        }
    }
    (row[heard.len()], said.len())
}

fn synthetic(folder: &Path, text: &str) -> PathBuf {
    let path = name(folder);
    let status = Command::new("espeak-ng")
        .args(["-v", "en-us", "-s", "150", "-w"])
        .arg(&path)
        .arg(text)
        .status()
        .expect("espeak-ng is there; run `cargo xtask setup`");
    assert!(status.success());
    path
}

/// Plucked strings, half a second each, with their overtones.
fn melody(n: usize) -> f32 {
    let note = n / (RATE / 2);
    let time = (n % (RATE / 2)) as f32 / RATE as f32;
    let pitch = [220.0, 277.2, 329.6, 440.0, 329.6, 277.2][note % 6];
    let tones = [1.0, 2.0, 3.0_f32].map(|h| (std::f32::consts::TAU * pitch * h * time).sin() / h);
    tones.iter().sum::<f32>() * 0.2 * (-3.0 * time).exp()
}

fn name(folder: &Path) -> PathBuf {
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    folder.join(format!("sound-{}.wav", COUNT.fetch_add(1, Ordering::Relaxed)))
}

fn write(folder: &Path, samples: &[f32]) -> PathBuf {
    let path = name(folder);
    let spec = hound::WavSpec {
        channels: 1,
        sample_rate: RATE as u32,
        bits_per_sample: 16,
        sample_format: hound::SampleFormat::Int,
    };
    let mut file = hound::WavWriter::create(&path, spec).unwrap();
    for sample in samples {
        file.write_sample((sample.clamp(-1.0, 1.0) * f32::from(i16::MAX)) as i16)
            .unwrap();
    }
    file.finalize().unwrap();
    path
}

#[test]
fn words_are_counted_however_numbers_are_written() {
    let said = "You have one event tomorrow: Dentist, 09:30.";
    assert_eq!(share_of_words(said, said), 1.0);
    let heard = share_of_words(said, "you have 1 event tomorrow dentist nine thirty");
    assert!(heard > 0.99, "{heard}");
    let heard = share_of_words(said, "You have one event tomorrow, Dentist at 9.30am.");
    assert!(heard > 0.99, "{heard}");
    assert_eq!(share_of_words("It is noon", "It is"), 0.0);
    assert_eq!(share_of_words(said, ""), 0.0);
}

#[test]
fn word_errors_are_counted() {
    assert_eq!(word_error_rate("a b c d", "A, b c d."), 0.0);
    assert_eq!(word_error_rate("a b c d", "a x c d"), 0.25);
    assert_eq!(word_error_rate("a b c d", "a b c"), 0.25);
    assert_eq!(word_error_rate("a b", "a c b"), 0.5);
    assert_eq!(word_error_rate("a b", ""), 1.0);
}
