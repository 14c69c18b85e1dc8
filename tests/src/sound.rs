//! What rings is really heard: a private PulseAudio with a speaker that nobody hears, a daemon that plays on it, and a
//! recorder that listens to what the speaker plays.

use std::{
    f32::consts::TAU,
    io::Read as _,
    path::Path,
    process::{Child, Stdio},
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use daemon::{
    ring,
    room::Clock,
    run::{Event, Source},
};
use tokio::sync::{mpsc, watch};
use tools::system::{alarms, rings};

use crate::{home::Home, pulse::Pulse};

/// Longest that anything may take, on a loaded machine.
const PATIENCE: Duration = Duration::from_secs(60);
/// Samples a second of the recording.
const RATE: usize = 16_000;
/// The two tones of a ring, in hertz.
const TONES: [f32; 2] = [880.0, 1318.5];
/// A tenth of a second is looked at in one piece: the tones are longer, the pauses between bars, too.
const PIECE: usize = RATE / 10;

/// A sound server for this test alone, in a folder of its own.
struct Speaker {
    recorder: Child,
    server: Pulse,
    heard: Arc<Mutex<Vec<i16>>>,
}

impl Speaker {
    /// `None` with a loud line where there is no PulseAudio.
    fn start(folder: &Path) -> Option<Speaker> {
        let server = Pulse::start(folder)?;
        let mut recorder = server
            .command("parec")
            .args(["-d", "speaker.monitor", "--format=s16le", "--channels=1"])
            .args([format!("--rate={RATE}"), "--latency-msec=50".to_owned()])
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
        Some(Speaker {
            recorder,
            server,
            heard,
        })
    }

    /// How many samples were heard up to now.
    fn position(&self) -> usize {
        self.heard.lock().unwrap().len()
    }

    /// Which pieces since then hold a tone, after so many more seconds were heard.
    async fn tones(&self, since: usize, seconds: usize) -> Vec<Option<f32>> {
        let began = Instant::now();
        while self.position() < since + seconds * RATE {
            assert!(began.elapsed() < PATIENCE, "the recorder hears nothing");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        let heard = self.heard.lock().unwrap();
        heard[since..since + seconds * RATE]
            .chunks_exact(PIECE)
            .map(tone)
            .collect()
    }
}

impl Drop for Speaker {
    fn drop(&mut self) {
        let _ = self.recorder.kill();
        let _ = self.recorder.wait();
    }
}

/// The tone that a piece consists of (Goertzel), if it consists of one.
fn tone(piece: &[i16]) -> Option<f32> {
    let samples: Vec<f32> = piece
        .iter()
        .map(|s| f32::from(*s) / f32::from(i16::MAX))
        .collect();
    let energy: f32 = samples.iter().map(|s| s * s).sum();
    // Quieter than a hundredth of full scale is no ring.
    if energy < 0.0001 * samples.len() as f32 {
        return None;
    }
    TONES.into_iter().find(|pitch| {
        let turn = TAU * pitch / RATE as f32;
        let (mut real, mut imaginary) = (0.0, 0.0);
        for (n, sample) in samples.iter().enumerate() {
            real += sample * (turn * n as f32).cos();
            imaginary += sample * (turn * n as f32).sin();
        }
        // A pure tone has all its energy here: |X|^2 = N / 2 * energy.
        let share = (real * real + imaginary * imaginary) * 2.0 / (samples.len() as f32 * energy);
        share > 0.5
    })
}

#[test]
fn a_tone_is_told_from_noise_and_silence() {
    let wave = |pitch: f32, volume: f32| -> Vec<i16> {
        let sample = |n: usize| (TAU * pitch * n as f32 / RATE as f32).sin() * volume;
        (0..PIECE)
            .map(|n| (sample(n) * f32::from(i16::MAX)) as i16)
            .collect()
    };
    assert_eq!(tone(&wave(880.0, 0.5)), Some(880.0));
    assert_eq!(tone(&wave(1318.5, 0.1)), Some(1318.5));
    assert_eq!(tone(&wave(440.0, 0.5)), None);
    assert_eq!(tone(&wave(880.0, 0.001)), None);
    let noise: Vec<i16> = (0..PIECE as i64)
        .map(|n| ((n * n * 7919 + n * 104_729) % 65_536 - 32_768) as i16)
        .collect();
    assert_eq!(tone(&noise), None);
    assert_eq!(tone(&[0; PIECE]), None);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_alarm_is_heard_until_it_is_stopped() {
    let home = Home::empty("2026-11-20T09:00[Europe/Berlin]");
    let Some(speaker) = Speaker::start(home.path()) else {
        return;
    };
    let mut parts = home.parts(daemon::agent::Settings::default());
    parts.clock = Clock::Real;
    parts.ring = ring::Settings {
        sound: true,
        // Far longer than the test listens, so that only the stop can end it.
        length: Duration::from_secs(120),
        bus: Some("unix:path=/nowhere/at/all".to_owned()),
        speaker: Some(speaker.server.address()),
        ..ring::Settings::default()
    };
    let (dirs, journal) = (home.dirs(), parts.journal.clone());
    let (events, mut told) = mpsc::channel(64);
    let index = Arc::new(tools::discover::Index::of(&[]));
    let ringing = tokio::spawn(ring::run(
        parts,
        index,
        events,
        watch::Sender::new(false).subscribe(),
    ));

    // Nothing is heard before it is time.
    let silence = speaker.tones(speaker.position(), 1).await;
    assert!(silence.iter().all(Option::is_none), "{silence:?}");

    let now = jiff::Zoned::now();
    let new = alarms::NewAlarm {
        at: now.checked_add(jiff::SignedDuration::from_secs(2)).unwrap(),
        rrule: None,
        label: None,
    };
    alarms::set(&journal.step("alarms.set"), &dirs, &new, &now).unwrap();
    let rang = loop {
        let event = tokio::time::timeout(PATIENCE, told.recv())
            .await
            .unwrap()
            .unwrap();
        match event {
            Event::Rang(rang) => break rang,
            Event::Noticed {
                source: Source::Rings,
                texts,
            } => panic!("{texts:?}"),
            _ => {}
        }
    };
    println!("{rang:?}");

    // Both tones are heard, again and again; a bar lasts 1.2 seconds.
    let began = Instant::now();
    let from = speaker.position();
    while speaker.tones(from, 1).await.iter().all(Option::is_none)
        && speaker
            .tones(speaker.position(), 1)
            .await
            .iter()
            .all(Option::is_none)
    {
        assert!(began.elapsed() < PATIENCE, "no tone is heard");
    }
    let heard = speaker.tones(speaker.position(), 5).await;
    for pitch in TONES {
        let count = heard.iter().filter(|tone| **tone == Some(pitch)).count();
        println!("{pitch} Hz in {count} of {} tenths of a second", heard.len());
        assert!(count >= 2, "{pitch} Hz is not heard: {heard:?}");
    }
    assert!(heard.iter().any(Option::is_none), "there are pauses: {heard:?}");

    // It is stopped, as `tiro call alarms.cancel {}` does, and then it is silent.
    let stopped = rings::stop(&journal.step("alarms.cancel"), &dirs, &jiff::Zoned::now(), |_| {
        true
    });
    assert_eq!(stopped.unwrap().len(), 1);
    let began = Instant::now();
    while speaker
        .tones(speaker.position(), 3)
        .await
        .iter()
        .any(Option::is_some)
    {
        assert!(began.elapsed() < PATIENCE, "it does not stop");
    }
    println!(
        "silent {} ms after the stop, 3 s of silence included",
        began.elapsed().as_millis()
    );
    let silence = speaker.tones(speaker.position(), 3).await;
    assert!(silence.iter().all(Option::is_none), "{silence:?}");
    assert!(
        began.elapsed() < Duration::from_secs(110),
        "it ended by itself: {:?}",
        began.elapsed()
    );
    ringing.abort();
}
