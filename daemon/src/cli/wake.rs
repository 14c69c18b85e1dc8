//! `tiro wake test`: whether a phrase is heard in recordings, or from the microphone, so that a person can choose phrase
//! and sensitivity. The one place that shows what was recognised without a phrase, because the person asked for it.

mod live;

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::{Context as _, ensure};
use clap::{Args, Subcommand};
use models::{
    EngineError,
    stt::{SAMPLE_RATE, Stt},
};
use serde::Serialize;

use super::{app::App, say};
use crate::listen::{
    wake::{self, Candidate, Phrase, Phrases, Watch, phrases::PHRASES},
    wav,
};

/// What to do with the wake word.
#[derive(Debug, Subcommand)]
pub enum WakeVerb {
    /// Hear whether and where a phrase is said: in recordings, or from the microphone.
    Test(TestArgs),
}

/// Arguments of `tiro wake test`.
#[derive(Debug, Args)]
pub struct TestArgs {
    /// WAV files; without any it is listened to the microphone.
    pub files: Vec<PathBuf>,
    /// A phrase to listen for, in place of those in the config; may be given several times.
    #[arg(long = "phrase", value_name = "PHRASE")]
    pub phrases: Vec<Phrase>,
    /// How much is taken for a phrase, from 0 to 1, in place of wake.sensitivity in the config.
    #[arg(long, value_parser = sensitivity)]
    pub sensitivity: Option<f32>,
    /// How long it is listened to the microphone.
    #[arg(long, default_value_t = 30, value_parser = clap::value_parser!(u16).range(1..=3600))]
    pub seconds: u16,
    /// Print {"phrases","threshold","files"}, or a line of JSON for each thing that was said into the microphone.
    #[arg(long)]
    pub json: bool,
}

fn sensitivity(text: &str) -> Result<f32, String> {
    let number = text.parse().ok().filter(|n| (0.0..=1.0).contains(n));
    number.ok_or_else(|| "a number from 0 to 1 is wanted".to_owned())
}

/// One thing that was said.
#[derive(Debug, Serialize)]
struct Said {
    /// When it begins, seconds.
    at: f32,
    /// How long the clip is that was recognised, seconds.
    seconds: f32,
    /// What the recogniser heard.
    text: String,
    /// The phrase that its beginning is most like, however little.
    phrase: Option<String>,
    /// How much, 0 to 1.
    score: f32,
    /// Whether that would have woken Tiro.
    heard: bool,
    /// Why the clip was not recognised, where it was not.
    #[serde(skip_serializing_if = "Option::is_none")]
    missed: Option<String>,
}

#[derive(Debug, Serialize)]
struct Heard {
    file: PathBuf,
    /// Its length.
    seconds: f32,
    /// Whether a phrase was heard in it.
    heard: bool,
    said: Vec<Said>,
}

#[derive(Debug, Serialize)]
struct Answer {
    phrases: Vec<String>,
    /// The score from which on something is heard.
    threshold: f32,
    files: Vec<Heard>,
}

/// Tests; exit code 0 when a phrase was heard, in each of the files if there are any.
///
/// # Errors
/// When there is no phrase, a file cannot be used, the microphone or the recogniser fails.
pub async fn run(app: &App, verb: WakeVerb) -> anyhow::Result<ExitCode> {
    let WakeVerb::Test(args) = verb;
    let ear = Ear::new(app, &args)?;
    let heard = match args.files.is_empty() {
        true => live::run(app, &ear, &args).await?,
        false => files(&ear, &args).await?,
    };
    Ok(match heard {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    })
}

/// What it is listened with.
struct Ear {
    stt: std::sync::Arc<dyn Stt>,
    language: Option<String>,
    phrases: Phrases,
}

impl Ear {
    fn new(app: &App, args: &TestArgs) -> anyhow::Result<Ear> {
        let wake = &app.config.wake;
        let phrases = match args.phrases.is_empty() {
            true => wake.phrases.clone(),
            false => args.phrases.clone(),
        };
        ensure!(
            !phrases.is_empty(),
            "There is no phrase: wake.phrases in the config is empty. Give one with --phrase."
        );
        ensure!(
            phrases.len() <= PHRASES,
            "At most {PHRASES} phrases can be listened for."
        );
        let sensitivity = args.sensitivity.unwrap_or(wake.sensitivity as f32);
        Ok(Ear {
            stt: app.stt()?,
            language: app.config.stt.language.known().map(str::to_owned),
            phrases: Phrases::new(phrases, sensitivity),
        })
    }

    /// Recognises one clip, and tells the watch when nobody spoke in it. One that takes too long, or on which the recogniser
    /// ends, is missed, as the daemon misses it, and the next one may be heard.
    async fn judge(&self, clip: &Candidate, watch: &mut Watch) -> anyhow::Result<Said> {
        let words = wake::words_of(
            self.stt.as_ref(),
            clip,
            self.language.as_deref(),
            self.phrases.names(),
            wake::patience(self.stt.as_ref(), clip),
        )
        .await;
        let (text, missed) = match words {
            Ok(text) => (text, None),
            Err(why @ (EngineError::TimedOut(_) | EngineError::Crashed { .. })) => {
                (String::new(), Some(why.to_string()))
            }
            Err(why) => return Err(why.into()),
        };
        if missed.is_none() && wake::is_noise(&text) {
            watch.was_noise();
        }
        let nearest = self.phrases.closest(&text);
        Ok(Said {
            at: (clip.at as f32 + clip.onset as f32) / SAMPLE_RATE as f32,
            seconds: clip.samples.len() as f32 / SAMPLE_RATE as f32,
            heard: self.phrases.spot(&text, None).is_some(),
            score: nearest.as_ref().map_or(0.0, |spotted| spotted.score),
            phrase: nearest.map(|spotted| spotted.phrase),
            text,
            missed,
        })
    }

    fn names(&self) -> Vec<String> {
        self.phrases.iter().map(Phrase::to_string).collect()
    }
}

impl Said {
    fn line(&self) -> String {
        if let Some(missed) = &self.missed {
            return format!("{:>6.1} s  missed: {missed}", self.at);
        }
        let verdict = match (&self.phrase, self.heard) {
            (Some(phrase), true) => format!("{phrase}, {:.2}", self.score),
            (Some(phrase), false) => format!("not {phrase}, {:.2}", self.score),
            (None, _) => "nobody says a word".to_owned(),
        };
        format!("{:>6.1} s  {verdict}: \"{}\"", self.at, self.text)
    }
}

async fn files(ear: &Ear, args: &TestArgs) -> anyhow::Result<bool> {
    ear.stt.info().await?;
    let mut files = Vec::new();
    for file in &args.files {
        let heard = one_file(ear, file).await?;
        if !args.json {
            let found = if heard.heard { "heard" } else { "not heard" };
            say(&format!("{}: {found}", file.display()))?;
            for said in &heard.said {
                say(&said.line())?;
            }
        }
        files.push(heard);
    }
    let all = files.iter().all(|file| file.heard);
    let count = files.iter().filter(|file| file.heard).count();
    let (names, threshold) = (ear.names(), ear.phrases.threshold());
    match args.json {
        true => say(&serde_json::to_string(&Answer {
            phrases: names,
            threshold,
            files,
        })?)?,
        false => say(&format!(
            "{} heard in {count} of {} files; it takes a score of {threshold:.2}.",
            names.join(" or "),
            files.len()
        ))?,
    }
    Ok(all)
}

async fn one_file(ear: &Ear, file: &Path) -> anyhow::Result<Heard> {
    let path = file.to_owned();
    let samples = tokio::task::spawn_blocking(move || wav::read(&path))
        .await
        .context("reading failed")??;
    let mut watch = Watch::default();
    let mut said: Vec<Said> = Vec::new();
    // A recording may end with the word, and only a pause tells that it is over.
    let silence = vec![0.0; SAMPLE_RATE as usize];
    for block in samples.chunks(SAMPLE_RATE as usize / 50).chain([&*silence]) {
        let mut clips = Vec::new();
        watch.hear(block, |clip| clips.push(clip));
        for clip in clips {
            said.push(ear.judge(&clip, &mut watch).await?);
        }
    }
    Ok(Heard {
        file: file.to_owned(),
        seconds: samples.len() as f32 / SAMPLE_RATE as f32,
        heard: said.iter().any(|one| one.heard),
        said,
    })
}

#[cfg(test)]
mod tests {
    use std::{sync::Arc, time::Duration};

    use async_trait::async_trait;
    use models::{
        scripted::{Reply, ScriptedStt},
        stt::{OnSegment, SttInfo, Transcribe, Transcript},
    };

    use super::*;
    use crate::listen::{recordings, wake::PATIENCE, wavs};

    /// A recogniser with weights that are so heavy that it needs its time.
    struct Heavy;

    #[async_trait]
    impl Stt for Heavy {
        async fn info(&self) -> Result<SttInfo, EngineError> {
            Ok(SttInfo::default())
        }

        fn patience(&self, _samples: usize) -> Duration {
            8 * PATIENCE
        }

        async fn transcribe(&self, _: Transcribe, _: OnSegment<'_>) -> Result<Transcript, EngineError> {
            tokio::time::sleep(PATIENCE + Duration::from_millis(300)).await;
            Ok(Transcript {
                text: "Computer!".to_owned(),
                ..Transcript::default()
            })
        }
    }

    fn silence() -> Candidate {
        Candidate {
            at: 0,
            onset: 8_000,
            samples: vec![0.0; 16_000],
            early: false,
        }
    }

    /// As long as the daemon waits for it.
    #[tokio::test]
    async fn heavy_weights_have_their_time() {
        let ear = Ear {
            stt: Arc::new(Heavy),
            ..ear(ScriptedStt::replies::<&str>([]))
        };
        let said = ear.judge(&silence(), &mut Watch::default()).await.unwrap();
        assert!(said.heard, "{said:?}");
    }

    fn ear(stt: ScriptedStt) -> Ear {
        Ear {
            stt: Arc::new(stt),
            language: Some("en".to_owned()),
            phrases: Phrases::new(vec!["computer".parse().unwrap()], 0.5),
        }
    }

    #[tokio::test]
    async fn a_file_is_heard_as_the_daemon_would_hear_it() {
        let Some(folder) = recordings() else { return };
        let files = wavs(&folder.join("wake").join("computer"));
        let words = ["Computer!", "Come here", ""];
        let ear = ear(ScriptedStt::replies(words));
        let mut lines = Vec::new();
        for (file, heard) in files.iter().zip([true, false, false]) {
            let answer = one_file(&ear, file).await.unwrap();
            assert_eq!((answer.heard, answer.said.len()), (heard, 1), "{answer:?}");
            let said = &answer.said[0];
            assert!(said.at > 0.1 && said.at < answer.seconds, "{said:?}");
            lines.push(said.line());
        }
        assert!(lines[0].ends_with("computer, 1.00: \"Computer!\""), "{lines:?}");
        assert!(lines[1].contains("not computer, 0."), "{lines:?}");
        assert!(lines[2].contains("nobody says a word"), "{lines:?}");
    }

    /// A clip that takes too long, and one on which the recogniser ends, are missed and no end.
    #[tokio::test]
    async fn a_clip_that_is_missed_is_shown_and_the_next_one_is_heard() {
        let Some(folder) = recordings() else { return };
        let file = &wavs(&folder.join("wake").join("computer"))[0];
        let ear = ear(ScriptedStt::replies([
            Reply::Fail(EngineError::TimedOut(PATIENCE)),
            Reply::crash(),
            Reply::Text("Computer!".to_owned()),
            Reply::Fail(EngineError::NoModel {
                path: "base.bin".into(),
            }),
        ]));
        for (heard, line) in [(false, "missed:"), (false, "missed:"), (true, "computer, 1.00")] {
            let answer = one_file(&ear, file).await.unwrap();
            assert_eq!((answer.heard, answer.said.len()), (heard, 1), "{answer:?}");
            assert!(answer.said[0].line().contains(line), "{answer:?}");
        }
        // Without a recogniser none would be.
        let error = one_file(&ear, file).await.unwrap_err();
        assert!(format!("{error:#}").contains("base.bin"), "{error:#}");
    }

    /// What has no word in it is noise here, too, so that whoever speaks next is heard to begin.
    #[tokio::test]
    async fn marks_without_words_are_noise() {
        for (text, noise) in [("...", true), ("", true), ("Well...", false)] {
            assert_eq!(wake::is_noise(text), noise, "{text:?}");
            let said = ear(ScriptedStt::replies([text]))
                .judge(&silence(), &mut Watch::default())
                .await
                .unwrap();
            assert_eq!((said.text.as_str(), said.heard), (text, false));
        }
    }

    #[tokio::test]
    async fn a_file_that_is_none_is_an_error_with_its_name() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("empty.wav");
        std::fs::write(&file, "").unwrap();
        let error = one_file(&ear(ScriptedStt::replies::<&str>([])), &file)
            .await
            .unwrap_err();
        assert!(format!("{error:#}").contains("empty.wav"), "{error:#}");
    }

    #[test]
    fn sensitivity_has_a_range() {
        assert_eq!(sensitivity("0.5"), Ok(0.5));
        for wrong in ["", "1.1", "-0.1", "NaN", "high"] {
            assert!(sensitivity(wrong).is_err(), "{wrong}");
        }
    }
}
