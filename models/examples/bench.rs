//! Drives the engines for the benches in `models/bench/`: reads one JSON request a line, writes one JSON answer a line.
//!
//! `{"llm": FILE, "threads": n, "context": n}` and `{"stt": FILE, "threads": n}` choose the model. Then
//! `{"prompt": TEXT, "max": n, "grammar"?: TEXT, "fresh"?: true}` generates and `{"wav": FILE, "audio_ctx"?: n,
//! "language"?: CODE, "prompt_words"?: TEXT, "names"?: [TEXT]}` transcribes 16 kHz mono 16-bit files.
#![expect(clippy::print_stdout, reason = "answers go to standard output")]

use std::{error::Error, io::BufRead, path::Path};

use models::{
    engine::{LlmConfig, LlmEngine, SttConfig, SttEngine},
    llm::{Generate, Llm, Piece},
    stt::{Stt, Transcribe},
};
use serde_json::{Value, json};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut llm = None;
    let mut stt = None;
    for line in std::io::stdin().lock().lines() {
        let request: Value = serde_json::from_str(&line?)?;
        let text = |key: &str| request[key].as_str().map(str::to_owned);
        let number = |key: &str| request[key].as_u64().and_then(|n| u32::try_from(n).ok());
        let answer = if let Some(model) = text("llm") {
            let mut config = LlmConfig::new(model);
            config.threads = number("threads");
            config.context = number("context").unwrap_or(config.context);
            let engine = llm.insert(LlmEngine::new(config));
            json!({"info": engine.info().await?, "report": engine.report().await?, "stats": engine.stats()})
        } else if let Some(model) = text("stt") {
            let mut config = SttConfig::new(model);
            config.threads = number("threads");
            let engine = stt.insert(SttEngine::new(config));
            json!({"info": engine.info().await?, "stats": engine.stats()})
        } else if let (Some(prompt), Some(engine)) = (text("prompt"), &llm) {
            // A prefix that shares nothing empties the cache.
            if request["fresh"] == true {
                engine
                    .prepare(&[Piece {
                        text: "0".into(),
                        special: false,
                    }])
                    .await?;
            }
            let request = Generate {
                prompt: vec![Piece {
                    text: prompt,
                    special: true,
                }],
                grammar: text("grammar"),
                max_tokens: number("max").unwrap_or(32),
                ..Generate::default()
            };
            let generated = engine.generate(request, &mut |_| {}).await?;
            json!({"generated": generated, "stats": engine.stats()})
        } else if let (Some(file), Some(engine)) = (text("wav"), &stt) {
            let request = Transcribe {
                samples: samples(Path::new(&file))?,
                language: text("language"),
                prompt: text("prompt_words"),
                names: serde_json::from_value(request["names"].clone()).unwrap_or_default(),
                audio_ctx: number("audio_ctx"),
            };
            let seconds = request.samples.len() as f32 / models::stt::SAMPLE_RATE as f32;
            let start = std::time::Instant::now();
            let transcript = engine.transcribe(request, &mut |_| {}).await?;
            let wall_ms = start.elapsed().as_secs_f32() * 1000.0;
            json!({"transcript": transcript, "seconds": seconds, "wall_ms": wall_ms, "stats": engine.stats()})
        } else {
            return Err(format!("not understood: {request}").into());
        };
        println!("{answer}");
    }
    Ok(())
}

/// The data chunk of a 16 kHz mono 16-bit WAV file, as the bench scripts write them.
fn samples(path: &Path) -> Result<Vec<f32>, Box<dyn Error>> {
    let bytes = std::fs::read(path)?;
    let at = bytes
        .windows(4)
        .position(|w| w == b"data")
        .ok_or("no data chunk")?;
    let pcm = bytes.get(at + 8..).ok_or("no data")?;
    Ok(pcm
        .chunks_exact(2)
        .map(|b| f32::from(i16::from_le_bytes([b[0], b[1]])) / 32768.0)
        .collect())
}
