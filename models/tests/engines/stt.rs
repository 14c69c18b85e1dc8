//! The recogniser: short and long clips, silence, noise, prompts, languages, cancelling.

use std::{
    env,
    path::Path,
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

/// A clip of real speech as samples; the data folder holds 16 kHz mono files.
fn clip(name: &str) -> Option<Vec<f32>> {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/data");
    let data = env::var_os("TIRO_DATA").map_or(data, Into::into);
    let path = data.join("speech/read").join(name);
    let Ok(bytes) = std::fs::read(&path) else {
        eprintln!("SKIPPED: no recording at {}", path.display());
        return None;
    };
    let at = bytes.windows(4).position(|w| w == b"data").unwrap() + 8;
    let pcm = bytes[at..].chunks_exact(2);
    Some(
        pcm.map(|b| f32::from(i16::from_le_bytes([b[0], b[1]])) / 32_768.0)
            .collect(),
    )
}

const SHORT: &str = "fd98aa-sense_and_sensibility_01_austen_64kb-0930.wav";
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

#[tokio::test]
async fn real_a_language_is_detected() {
    let (Some(engine), Some(samples)) = (engine("ggml-base-q8_0.bin"), clip(LONGER)) else {
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
    let (Some(engine), Some(samples)) = (engine("ggml-base-q8_0.bin"), clip(LONGER)) else {
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
