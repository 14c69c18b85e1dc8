//! Listens to what the speaker of a private sound server plays.

use std::{
    io::Read as _,
    path::Path,
    process::{Child, Stdio},
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use crate::pulse::Pulse;

/// Samples a second of the recording.
pub const RATE: usize = 16_000;
/// What is looked at in one piece: 20 ms.
const PIECE: usize = RATE / 50;
/// Speech is louder than this, of full scale; the server adds no noise.
const LOUD: i16 = 300;
const PATIENCE: Duration = Duration::from_secs(60);

/// A recorder; ended when dropped.
pub struct Ear {
    recorder: Child,
    heard: Arc<Mutex<Vec<i16>>>,
}

impl Ear {
    /// Begins to listen to the speaker.
    pub fn open(pulse: &Pulse) -> Ear {
        Ear::at("speaker", pulse)
    }

    /// Begins to listen to what is played there.
    pub fn at(sink: &str, pulse: &Pulse) -> Ear {
        let mut recorder = pulse
            .command("parec")
            .args(["-d", &format!("{sink}.monitor"), "--format=s16le", "--channels=1"])
            .args([format!("--rate={RATE}"), "--latency-msec=20".to_owned()])
            .stdout(Stdio::piped())
            .spawn()
            .expect("parec comes with paplay");
        let heard = Arc::new(Mutex::new(Vec::new()));
        let (mut out, into) = (recorder.stdout.take().unwrap(), Arc::clone(&heard));
        std::thread::spawn(move || {
            let mut bytes = [0; 2 * PIECE];
            while out.read_exact(&mut bytes).is_ok() {
                let samples = bytes.chunks_exact(2).map(|b| i16::from_le_bytes([b[0], b[1]]));
                into.lock().unwrap().extend(samples);
            }
        });
        let ear = Ear { recorder, heard };
        let began = Instant::now();
        while ear.position() == 0 {
            assert!(began.elapsed() < PATIENCE, "nothing is recorded");
            std::thread::sleep(Duration::from_millis(5));
        }
        ear
    }

    /// How many samples were heard up to now.
    pub fn position(&self) -> usize {
        self.heard.lock().unwrap().len()
    }

    /// What was heard since then.
    pub fn since(&self, from: usize) -> Vec<i16> {
        self.heard.lock().unwrap()[from..].to_vec()
    }

    /// Milliseconds from then to the first sound; nothing while there is none.
    pub fn begins(&self, from: usize) -> Option<usize> {
        let heard = self.since(from);
        heard
            .chunks_exact(PIECE)
            .position(is_loud)
            .map(|piece| piece * 20)
    }

    /// Milliseconds from then to the end of the last sound.
    pub fn ends(&self, from: usize) -> usize {
        let heard = self.since(from);
        heard
            .chunks_exact(PIECE)
            .rposition(is_loud)
            .map_or(0, |piece| (piece + 1) * 20)
    }

    /// Waits until something sounds, and says after how many milliseconds of sound that was.
    pub async fn until_sound(&self, from: usize) -> usize {
        let began = Instant::now();
        loop {
            if let Some(at) = self.begins(from) {
                return at;
            }
            assert!(began.elapsed() < PATIENCE, "nothing is heard");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// Waits until so many more seconds were heard.
    pub async fn listen(&self, seconds: f32) {
        let until = self.position() + (seconds * RATE as f32) as usize;
        let began = Instant::now();
        while self.position() < until {
            assert!(began.elapsed() < PATIENCE, "the recorder hears nothing");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// Writes what was heard since then to a file.
    pub fn write(&self, from: usize, path: &Path) {
        let spec = hound::WavSpec {
            channels: 1,
            sample_rate: RATE as u32,
            bits_per_sample: 16,
            sample_format: hound::SampleFormat::Int,
        };
        let mut wav = hound::WavWriter::create(path, spec).unwrap();
        for sample in self.since(from) {
            wav.write_sample(sample).unwrap();
        }
        wav.finalize().unwrap();
    }
}

impl Drop for Ear {
    fn drop(&mut self) {
        let _ = self.recorder.kill();
        let _ = self.recorder.wait();
    }
}

fn is_loud(piece: &[i16]) -> bool {
    piece.iter().any(|sample| sample.saturating_abs() > LOUD)
}

#[test]
fn sound_is_told_from_silence() {
    assert!(!is_loud(&[0, 200, -200]) && is_loud(&[0, 0, -301]) && is_loud(&[i16::MIN]));
}
