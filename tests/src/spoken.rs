//! Sound that a test plays into the microphone: recordings of people, and a synthetic voice for what nobody recorded.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
    process::Command,
    sync::atomic::{AtomicUsize, Ordering},
};

use daemon::listen::{vad, wav};

use crate::microphone::{COMMAND, recording};

const RATE: usize = 16_000;

/// What is played, one after the other.
#[derive(Debug, Clone, Copy)]
pub enum Sound {
    /// A person says "computer": which of the recordings.
    Phrase(usize),
    /// A person asks for the time.
    Request,
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

/// How much of what was said was heard again: the share of its words of more than two letters, 0 to 1.
pub fn share_of_words(said: &str, heard: &str) -> f32 {
    let words = |text: &str| -> BTreeSet<String> {
        let words = text.split(|c: char| !c.is_alphanumeric());
        words.filter(|w| w.len() > 2).map(str::to_lowercase).collect()
    };
    let (said, heard) = (words(said), words(heard));
    said.intersection(&heard).count() as f32 / said.len().max(1) as f32
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
