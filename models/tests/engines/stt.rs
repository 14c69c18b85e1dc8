//! The recogniser: short and long clips, silence, noise, prompts, languages, cancelling.

use std::{
    env,
    f32::consts::TAU,
    path::{Path, PathBuf},
    process::Command,
    time::{Duration, Instant},
};

use models::{
    EngineError,
    engine::SttEngine,
    stt::{Stt, Transcribe},
};

use super::{WHISPER, patient, stt};

fn engine(model: &str) -> Option<SttEngine> {
    let mut config = stt(model)?;
    config.limits = patient();
    Some(SttEngine::new(config))
}

/// The folder of recordings.
fn recordings() -> PathBuf {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/data");
    env::var_os("TIRO_DATA").map_or(data, Into::into).join("speech")
}

/// The samples of a recording of 16 kHz, mono, and their rate.
fn pcm(path: &Path) -> Option<(Vec<f32>, f32)> {
    let Ok(bytes) = std::fs::read(path) else {
        // Who names the folder of the data wants it used.
        assert!(
            env::var_os("TIRO_DATA").is_none(),
            "there is no {}",
            path.display()
        );
        eprintln!("SKIPPED: no recording at {}", path.display());
        return None;
    };
    let rate = u32::from_le_bytes(bytes[24..28].try_into().unwrap()) as f32;
    let at = bytes.windows(4).position(|w| w == b"data").unwrap() + 8;
    let samples = bytes[at..].chunks_exact(2);
    let samples = samples.map(|b| f32::from(i16::from_le_bytes([b[0], b[1]])) / 32_768.0);
    Some((samples.collect(), rate))
}

/// A clip of real speech as samples.
fn clip(name: &str) -> Option<Vec<f32>> {
    pcm(&recordings().join("read").join(name)).map(|(samples, _)| samples)
}

/// What a synthetic voice says, with some quiet around it; a real one says nothing of the kind in the recordings that we have.
fn spoken(voice: &str, text: &str) -> Option<Vec<f32>> {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("spoken.wav");
    let mut espeak = Command::new("espeak-ng");
    let espeak = espeak.args(["-v", voice, "-s", "140", "-w"]).arg(&file).arg(text);
    if !espeak.status().is_ok_and(|status| status.success()) {
        eprintln!("SKIPPED: no espeak-ng that speaks {voice}");
        return None;
    }
    let (samples, rate) = pcm(&file)?;
    let step = rate / 16_000.0;
    let moments = (0..(samples.len() as f32 / step) as usize).map(|i| i as f32 * step);
    let between = |at: f32| {
        let (before, after) = (at as usize, (at as usize + 1).min(samples.len() - 1));
        samples[before] + (samples[after] - samples[before]) * at.fract()
    };
    let quiet = vec![0.0; 4_000];
    Some([quiet.clone(), moments.map(between).collect(), quiet].concat())
}

const SHORT: &str = "fd98aa-sense_and_sensibility_01_austen_64kb-0930.wav";
const LOOPS: &str = "cfe0c6-spk1_snt4.wav";
const BASE: &str = "ggml-base-q8_0.bin";
const LONGER: &str = "3174ad-sense_and_sensibility_01_austen_64kb-0870.wav";

fn hear(samples: Vec<f32>) -> Transcribe {
    Transcribe {
        samples,
        language: Some("en".into()),
        ..Transcribe::default()
    }
}

#[tokio::test]
async fn real_speech_becomes_text() {
    let (Some(engine), Some(samples)) = (engine(WHISPER), clip(SHORT)) else {
        return;
    };
    let mut parts = Vec::new();
    let heard = engine
        .transcribe(hear(samples.clone()), &mut |s| parts.push(s.clone()))
        .await
        .unwrap();
    assert_eq!(heard.text, "He might even have been made amiable himself.");
    assert_eq!(parts, heard.segments);
    assert!(
        heard.load_ms > 0.0 && heard.decode_ms > 0.0 && heard.language == "en",
        "{heard:?}"
    );
    let whole = Transcribe {
        audio_ctx: Some(0),
        ..hear(samples)
    };
    let whole = engine.transcribe(whole, &mut |_| {}).await.unwrap();
    assert_eq!((whole.text, whole.load_ms), (heard.text, 0.0));
    let info = engine.info().await.unwrap();
    assert!(
        info.name == "tiny.en" && !info.multilingual && info.device.contains("CPU"),
        "{info:?}"
    );
    if cfg!(all(target_arch = "x86_64", target_feature = "avx2")) {
        assert!(
            info.device.contains("AVX2") && info.device.contains("FMA"),
            "{info:?}"
        );
        // As `models/native.cmake` says.
        assert!(
            info.device.contains("LLAMAFILE"),
            "ggml multiplies row by row; `cargo clean --release -p whisper-rs-sys`, and build again: {info:?}"
        );
    }
}

/// Words to expect are spelt as they were given; what was not said does not come of them.
#[tokio::test]
async fn real_words_to_expect_are_spelt_as_they_were_given() {
    let (Some(engine), Some(samples), Some(other)) = (engine(WHISPER), clip(LONGER), clip(SHORT)) else {
        return;
    };
    let plain = engine
        .transcribe(hear(samples.clone()), &mut |_| {})
        .await
        .unwrap();
    assert!(plain.text.starts_with("And Mr. John Dashwood had"), "{plain:?}");
    let expecting = |samples| Transcribe {
        prompt: Some("A letter of Jon Dashwoode.".into()),
        ..hear(samples)
    };
    let biased = engine.transcribe(expecting(samples), &mut |_| {}).await.unwrap();
    assert!(biased.text.starts_with("And Mr. Jon Dashwoode had"), "{biased:?}");
    let unmoved = engine.transcribe(expecting(other), &mut |_| {}).await.unwrap();
    assert_eq!(unmoved.text, "He might even have been made amiable himself.");
}

#[tokio::test]
async fn real_clips_beyond_the_window_work() {
    let (Some(engine), Some(a), Some(b)) = (engine(WHISPER), clip(SHORT), clip(LONGER)) else {
        return;
    };
    let pause = vec![0.0; 8_000];
    let mut samples = Vec::new();
    for _ in 0..4 {
        samples.extend([&a[..], &pause, &b[..], &pause].concat());
    }
    let seconds = samples.len() as f32 / 16_000.0;
    assert!(seconds > 40.0);
    let mut parts = Vec::new();
    let heard = engine
        .transcribe(hear(samples), &mut |s| parts.push(s.clone()))
        .await
        .unwrap();
    assert!(heard.text.matches("himself").count() >= 3, "{}", heard.text);
    assert!(heard.text.matches("Dashwood").count() >= 3, "{}", heard.text);
    assert!(
        parts.len() >= 4 && heard.segments.last().unwrap().end <= seconds + 0.1,
        "{parts:?}"
    );
}

#[tokio::test]
async fn real_nothing_is_heard_in_nothing() {
    let Some(engine) = engine(WHISPER) else { return };
    let odd = [f32::NAN, f32::INFINITY, -1e30].repeat(8_000);
    for samples in [vec![], vec![0.0; 100], vec![0.0; 48_000]] {
        assert_eq!(
            engine.transcribe(hear(samples), &mut |_| {}).await.unwrap().text,
            ""
        );
    }
    assert!(engine.transcribe(hear(odd), &mut |_| {}).await.is_ok());
    let names = Transcribe {
        prompt: Some("Anna Kowalska, Bert Jansen.\0".into()),
        ..hear(vec![0.002; 16_000])
    };
    let text = engine.transcribe(names, &mut |_| {}).await.unwrap().text;
    assert!(!text.contains("Kowalska"), "{text}");
    let unknown = Transcribe {
        language: Some("xx\0".into()),
        ..hear(vec![0.1; 16_000])
    };
    let error = engine.transcribe(unknown, &mut |_| {}).await.unwrap_err();
    assert!(
        matches!(&error, EngineError::Refused(why) if why.contains("language")),
        "{error}"
    );
    let endless = hear(vec![0.0; 20 * 60 * 16_000]);
    let error = engine.transcribe(endless, &mut |_| {}).await.unwrap_err();
    assert!(
        matches!(&error, EngineError::Refused(why) if why.contains("minutes")),
        "{error}"
    );
}

/// What is loud enough for a voice and none: stretches of a kitchen, in some of which the models write words; music; a cough.
fn voiceless() -> Vec<(&'static str, Vec<f32>)> {
    let mut sounds = Vec::new();
    if let Some((kitchen, _)) = pcm(&recordings().join("kitchen-noise.wav")) {
        let stretch = |part: usize, seconds: usize| {
            let at = part * kitchen.len() / 24;
            kitchen[at..at + seconds * 16_000].to_vec()
        };
        sounds.push(("a kitchen, \"and\"", stretch(10, 2)));
        sounds.push(("a kitchen, \"No.\"", stretch(16, 2)));
        let loud = stretch(21, 1)
            .iter()
            .map(|s| (s * 3.0).clamp(-1.0, 1.0))
            .collect();
        sounds.push(("a kitchen, \"You\"", loud));
    }
    let tone = |hertz: f32, at: usize| {
        let seconds = at as f32 / 16_000.0;
        0.1 * (TAU * hertz * seconds).sin() * (-1.5 * seconds).exp()
    };
    let chords = [
        [261.6, 329.6, 392.0],
        [220.0, 261.6, 329.6],
        [174.6, 220.0, 261.6],
        [196.0, 246.9, 293.7],
    ];
    let chord = |notes: [f32; 3]| (0..8_000).map(move |at| notes.iter().map(|note| tone(*note, at)).sum());
    sounds.push(("music", chords.into_iter().flat_map(chord).collect()));
    let mut seed = 7_u32;
    let mut noise = || {
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        f32::from((seed >> 16) as u16) / 32_768.0 - 1.0
    };
    let mut cough = vec![0.0; 24_000];
    for (begin, length, loud) in [(6_400, 1_440, 0.6), (7_840, 4_000, 0.2)] {
        for at in 0..length {
            cough[begin + at] = loud * noise() * (-6.0 * at as f32 / length as f32).exp();
        }
    }
    cough.iter_mut().for_each(|s| *s += 0.001 * noise());
    sounds.push(("a cough", cough));
    sounds
}

#[tokio::test]
async fn real_sounds_without_a_voice_say_nothing() {
    for model in [WHISPER, BASE] {
        let Some(engine) = engine(model) else { return };
        for (name, samples) in voiceless() {
            let heard = engine.transcribe(hear(samples), &mut |_| {}).await.unwrap();
            assert_eq!(heard.text, "", "{name}, {model}: {heard:?}");
        }
    }
}

/// The words that whisper is known to write where nobody speaks are heard of somebody who says them.
#[tokio::test]
async fn real_people_may_say_what_ghosts_say() {
    for model in [WHISPER, BASE] {
        let Some(engine) = engine(model) else { return };
        for (text, word) in [
            ("Thank you.", "thank"),
            ("Thank you very much.", "thank"),
            ("Bye.", "bye"),
            ("Thanks for watching.", "watching"),
        ] {
            let Some(samples) = spoken("en-us", text) else {
                return;
            };
            let heard = engine.transcribe(hear(samples), &mut |_| {}).await.unwrap();
            assert!(
                heard.text.to_lowercase().contains(word),
                "{text} {model}: {heard:?}"
            );
        }
    }
}

/// In the narrow window tiny writes this sentence again and again, and knows it for sure each time.
#[tokio::test]
async fn real_a_loop_is_looked_at_again() {
    let (Some(engine), Some(samples)) = (engine(WHISPER), clip(LOOPS)) else {
        return;
    };
    let heard = engine.transcribe(hear(samples), &mut |_| {}).await.unwrap();
    assert_eq!(heard.text, "A thin stripe runs down the middle.", "{heard:?}");
    assert!(heard.retried && heard.segments.len() == 1, "{heard:?}");
}

#[tokio::test]
async fn real_another_language_is_detected_and_a_given_one_kept() {
    let german = "Guten Morgen. Wie spät ist es jetzt, und wie wird das Wetter morgen in Berlin?";
    let (Some(engine), Some(samples)) = (engine(BASE), spoken("de", german)) else {
        return;
    };
    let hear = |language: Option<&str>| Transcribe {
        language: language.map(str::to_owned),
        ..hear(samples.clone())
    };
    let heard = engine.transcribe(hear(None), &mut |_| {}).await.unwrap();
    assert_eq!(heard.language, "de", "{heard:?}");
    assert!(
        heard.text.starts_with("Guten Morgen") && heard.text.contains("Berlin"),
        "{heard:?}"
    );
    for given in ["de", "nl"] {
        let heard = engine.transcribe(hear(Some(given)), &mut |_| {}).await.unwrap();
        assert_eq!(heard.language, given, "{heard:?}");
    }
}

#[tokio::test]
async fn real_a_language_is_detected() {
    let (Some(engine), Some(samples)) = (engine(BASE), clip(LONGER)) else {
        return;
    };
    let heard = engine
        .transcribe(
            Transcribe {
                language: None,
                ..hear(samples)
            },
            &mut |_| {},
        )
        .await
        .unwrap();
    assert_eq!(heard.language, "en");
    assert!(heard.text.contains("Dashwood"), "{}", heard.text);
}

#[tokio::test]
async fn real_dropping_a_transcription_frees_the_recogniser() {
    let (Some(engine), Some(samples)) = (engine(BASE), clip(LONGER)) else {
        return;
    };
    engine.info().await.unwrap();
    let mut on_segment = |_: &_| {};
    let long = engine.transcribe(hear(samples.repeat(10)), &mut on_segment);
    assert!(
        tokio::time::timeout(Duration::from_millis(300), long)
            .await
            .is_err()
    );
    let dropped = Instant::now();
    let nothing = engine.transcribe(hear(vec![]), &mut |_| {}).await.unwrap();
    assert_eq!(nothing.text, "");
    // whisper.cpp looks at the cancel between encoder passes: the rest of one, and not of the three that a minute takes.
    eprintln!("free {:?} after the cancel", dropped.elapsed());
    assert!(
        dropped.elapsed() < Duration::from_secs(20),
        "{:?}",
        dropped.elapsed()
    );
}
