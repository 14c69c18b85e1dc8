//! `tiro transcribe`: a recording as text.

use std::{io::Write, path::Path, sync::Arc};

use anyhow::Context as _;
use models::stt::{SAMPLE_RATE, Segment, Stt, Transcribe, Transcript};
use serde::Serialize;

use crate::{
    config,
    listen::{vad, wav},
};

/// What `--json` prints.
#[derive(Debug, Serialize)]
struct Answer {
    /// The whole text; empty when nobody speaks.
    text: String,
    /// Its parts, with seconds from the start of the file.
    segments: Vec<Segment>,
    /// ISO 639-1; empty when nobody speaks and none was given.
    language: String,
    /// Times.
    ms: Milliseconds,
    /// Real-time factor: time to recognise over length of the recording.
    rtf: f32,
}

#[derive(Debug, Serialize)]
struct Milliseconds {
    /// To start the recogniser and load its model; 0 when it was loaded.
    load: f32,
    /// To recognise.
    decode: f32,
}

/// Recognises a WAV file and prints the text, or with `json` everything known of it.
///
/// # Errors
/// When the file cannot be used, the recogniser fails, or the answer cannot be written.
pub async fn run(
    file: &Path,
    json: bool,
    stt: Arc<dyn Stt>,
    settings: &config::Stt,
    out: &mut dyn Write,
) -> anyhow::Result<()> {
    let path = file.to_owned();
    let samples = tokio::task::spawn_blocking(move || wav::read(&path))
        .await
        .context("reading failed")??;
    let answer = recognise(&samples, stt.as_ref(), settings).await?;
    let line = if json {
        serde_json::to_string(&answer)?
    } else {
        answer.text
    };
    match writeln!(out, "{line}") {
        Err(e) if e.kind() != std::io::ErrorKind::BrokenPipe => Err(e.into()),
        _ => Ok(()),
    }
}

async fn recognise(samples: &[f32], stt: &dyn Stt, settings: &config::Stt) -> anyhow::Result<Answer> {
    let language = settings.language.known().map(str::to_owned);
    // Where nobody speaks the recogniser would invent something, so it is not asked.
    let (transcript, skipped) = match vad::speech(samples) {
        Some(spoken) => {
            let request = Transcribe {
                samples: samples[spoken.clone()].to_vec(),
                language,
                prompt: Some(settings.prompt.clone()).filter(|words| !words.is_empty()),
                ..Transcribe::default()
            };
            (stt.transcribe(request, &mut |_| {}).await?, seconds(spoken.start))
        }
        None => {
            let language = language.unwrap_or_default();
            (
                Transcript {
                    language,
                    ..Transcript::default()
                },
                0.0,
            )
        }
    };
    let later = |segment: Segment| Segment {
        start: segment.start + skipped,
        end: segment.end + skipped,
        ..segment
    };
    Ok(Answer {
        text: transcript.text,
        segments: transcript.segments.into_iter().map(later).collect(),
        language: transcript.language,
        ms: Milliseconds {
            load: transcript.load_ms,
            decode: transcript.decode_ms,
        },
        rtf: transcript.decode_ms / 1000.0 / seconds(samples.len()),
    })
}

fn seconds(samples: usize) -> f32 {
    samples as f32 / SAMPLE_RATE as f32
}

#[cfg(test)]
mod tests {
    use models::scripted::ScriptedStt;

    use super::*;
    use crate::{config::Config, listen::recordings};

    async fn transcribe(file: &Path, json: bool, stt: Arc<ScriptedStt>) -> anyhow::Result<String> {
        let mut out = Vec::new();
        run(file, json, stt, &Config::default().stt, &mut out).await?;
        Ok(String::from_utf8(out)?)
    }

    #[tokio::test]
    async fn silence_is_not_put_to_the_recogniser() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("silence.wav");
        let mut bytes =
            b"RIFF\0\0\0\0WAVEfmt \x10\0\0\0\x01\0\x01\0\x80\x3e\0\0\0\x7d\0\0\x02\0\x10\0data\0\x7d\0\0"
                .to_vec();
        bytes.resize(bytes.len() + 32_000, 0);
        std::fs::write(&file, bytes).unwrap();
        let stt = Arc::new(ScriptedStt::replies(["Thank you for watching."]));
        assert_eq!(
            transcribe(&file, true, stt.clone()).await.unwrap(),
            "{\"text\":\"\",\"segments\":[],\"language\":\"en\",\"ms\":{\"load\":0.0,\"decode\":0.0},\"rtf\":0.0}\n"
        );
        assert_eq!(stt.requests().len(), 0);
        std::fs::write(&file, "").unwrap();
        let error = format!("{:#}", transcribe(&file, true, stt).await.unwrap_err());
        assert!(
            error.contains("silence.wav cannot be used: It is empty"),
            "{error}"
        );
    }

    #[tokio::test]
    async fn only_speech_is_put_to_it_and_times_are_those_of_the_file() {
        let Some(folder) = recordings() else { return };
        let file = folder.join("commands/0704c731-9895-4eb1-b93c-427c95ce8316.wav");
        let stt = Arc::new(ScriptedStt::replies(["a coffee", "a coffee"]));
        let json: serde_json::Value =
            serde_json::from_str(&transcribe(&file, true, stt.clone()).await.unwrap()).unwrap();
        let samples = stt.requests()[0].samples.len();
        let (start, end) = (
            json["segments"][0]["start"].as_f64().unwrap(),
            json["segments"][0]["end"].as_f64().unwrap(),
        );
        assert!(
            start > 1.0 && end < 6.0 && samples < 5 * 16_000,
            "{json} {samples}"
        );
        assert_eq!(json["text"], "a coffee");
        assert_eq!(transcribe(&file, false, stt).await.unwrap(), "a coffee\n");
    }
}
