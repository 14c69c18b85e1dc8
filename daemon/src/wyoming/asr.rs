//! A recogniser on another machine in place of the local one: the same trait, so that nobody who hears with it can tell.

use std::time::{Duration, Instant};

use anyhow::{bail, ensure};
use async_trait::async_trait;
use models::{
    EngineError, ghosts,
    stt::{OnSegment, SAMPLE_RATE, Segment, Stt, SttInfo, Transcribe, Transcript},
};
use tokio::io::AsyncRead;

use super::{
    describe::{self, Offer, Program, short},
    line::{Reader, Trouble},
    place::Place,
    sound::{Format, pcm},
    wire::Event,
};
use crate::config::Config;

/// Samples of one chunk, a quarter of a second: as others send.
const CHUNK: usize = 4096;
/// Longest text that is believed, bytes; ten minutes of fast speech have a tenth of it.
const MAX_TEXT: usize = 128 << 10;
/// A server that says so much else has no answer.
const MAX_EVENTS: usize = 1_000;
/// Longest recording, as of a file (`listen::wav`).
const MAX_SECONDS: usize = 600;
/// Before everything was sent a server owes nothing.
const WHILE_SENDING: Duration = Duration::from_secs(24 * 3600);
/// How long is waited for the reason of a server that stopped listening.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// A recogniser on another machine.
#[derive(Debug, Clone)]
pub struct Recogniser {
    /// Where it is.
    pub place: Place,
    /// Whether it may be outside the person's network.
    pub far: bool,
    /// The model, as the server calls it; empty leaves that to the server.
    pub model: String,
    /// How long the server may be silent.
    pub silence: Duration,
}

/// The configured recogniser. Nothing is asked yet.
///
/// # Errors
/// What the config lacks, or why nothing may be sent there.
pub fn recogniser(config: &Config) -> anyhow::Result<Recogniser> {
    let server = &config.stt.server;
    Ok(Recogniser {
        place: allowed(
            "stt.server",
            server.url.as_str(),
            server.allow_far,
            server.timeout.get(),
        )?,
        far: server.allow_far,
        model: server.model.clone(),
        silence: server.timeout.get(),
    })
}

/// The place that a section names, if what is private may be sent there.
///
/// # Errors
/// What the section lacks, or why nothing may be sent there.
pub(super) fn allowed(section: &str, url: &str, far: bool, silence: Duration) -> anyhow::Result<Place> {
    ensure!(
        !url.is_empty(),
        "{section}.url is empty: write the server's address there, such as \"tcp://192.168.1.20:10300\""
    );
    let Some(place) = Place::parse(url) else {
        bail!("{section}.url is {url:?}, which is no address such as \"tcp://192.168.1.20:10300\"")
    };
    ensure!(
        far || place.is_near(),
        "{place} is not on this machine or network, and everybody on the way there could hear what is said, because the \
         protocol has no encryption. Set {section}.allow_far = true if the way is safe"
    );
    ensure!(
        !silence.is_zero(),
        "{section}.timeout is 0s, so no server could answer in time"
    );
    Ok(place)
}

impl Recogniser {
    /// What the server has; fails where it has no recogniser.
    ///
    /// # Errors
    /// Why it cannot be asked, in words that begin with the place.
    pub async fn program(&self) -> anyhow::Result<Program> {
        program(&self.place, self.far, self.silence, Offer::Recogniser).await
    }

    async fn ask(&self, request: &Transcribe) -> anyhow::Result<(String, Option<String>)> {
        let place = &self.place;
        ensure!(
            request.samples.len() <= MAX_SECONDS * SAMPLE_RATE as usize,
            "{place} is sent at most {MAX_SECONDS} s of sound at once"
        );
        let (mut ears, mut mouth) = place.connect(self.far).await?;
        let sending = async {
            mouth.send(&wanted(&self.model, request), self.silence).await?;
            mouth.send(&Format::SPEECH.start(), self.silence).await?;
            for piece in request.samples.chunks(CHUNK) {
                mouth
                    .send(&Format::SPEECH.chunk(pcm(piece)), self.silence)
                    .await?;
            }
            mouth.send(&Event::new("audio-stop"), self.silence).await
        };
        tokio::pin!(sending);
        let heard = tokio::select! {
            biased;
            // A server that listens for the end of speech itself may answer before it has all.
            heard = answer(&mut ears, WHILE_SENDING) => heard,
            sent = &mut sending => match sent {
                Ok(()) => answer(&mut ears, self.silence).await,
                Err(trouble) => match answer(&mut ears, LAST_WORDS).await {
                    Err(Failure::Line(_)) => Err(Failure::Line(trouble)),
                    other => other,
                },
            },
        };
        heard.map_err(|failure| failure.of(place))
    }
}

/// The program of this kind that a server has.
///
/// # Errors
/// Why it cannot be asked, or that it has none, in words that begin with the place.
pub(super) async fn program(
    place: &Place,
    far: bool,
    silence: Duration,
    offer: Offer,
) -> anyhow::Result<Program> {
    let (mut ears, mut mouth) = place.connect(far).await?;
    let asked = async {
        mouth.send(&Event::new("describe"), silence).await?;
        for _ in 0..MAX_EVENTS {
            let event = ears.next(silence).await?;
            match event.kind.as_str() {
                "info" => return Ok(event),
                "error" => return Err(Failure::Says(complaint(&event))),
                _ => {}
            }
        }
        Err(Failure::Talks)
    };
    let info = asked.await.map_err(|failure| failure.of(place))?;
    let Some(program) = describe::first(&info, offer) else {
        let what = match offer {
            Offer::Recogniser => "has no recogniser",
            Offer::Voice => "has no voice",
            Offer::Conversation => "answers no questions",
        };
        bail!("{place} speaks Wyoming and {what}")
    };
    Ok(program)
}

/// Why there is no answer.
#[derive(Debug)]
pub(super) enum Failure {
    /// The connection.
    Line(Trouble),
    /// The server says what is wrong.
    Says(String),
    /// The server talks about other things.
    Talks,
    /// What came makes no sense.
    Odd(&'static str),
}

impl From<Trouble> for Failure {
    fn from(trouble: Trouble) -> Failure {
        Failure::Line(trouble)
    }
}

impl Failure {
    /// As words that begin with the place.
    pub(super) fn of(self, place: &Place) -> anyhow::Error {
        match self {
            Failure::Line(trouble) => anyhow::anyhow!("{place} {trouble}"),
            Failure::Says(text) => anyhow::anyhow!("{place} says: {text}"),
            Failure::Talks => anyhow::anyhow!("{place} says much and has no answer"),
            Failure::Odd(what) => anyhow::anyhow!("{place} {what}"),
        }
    }
}

/// What an `error` says, for the person.
pub(super) fn complaint(event: &Event) -> String {
    let text = short(event.text("text").unwrap_or_default());
    let text = text.trim_end_matches('.');
    match text {
        "" => "it failed, and not why".to_owned(),
        text => text.to_owned(),
    }
}

/// Waits for the transcript: its text and its language.
async fn answer<R: AsyncRead + Unpin>(
    ears: &mut Reader<R>,
    silence: Duration,
) -> Result<(String, Option<String>), Failure> {
    for _ in 0..MAX_EVENTS {
        let event = ears.next(silence).await?;
        match event.kind.as_str() {
            "transcript" => {
                let text = event
                    .text("text")
                    .ok_or(Failure::Odd("sent a transcript without text"))?;
                if text.len() > MAX_TEXT {
                    return Err(Failure::Odd("sent a transcript that nobody can have said"));
                }
                let text = text
                    .chars()
                    .map(|c| if c.is_control() { ' ' } else { c })
                    .collect();
                return Ok((text, event.text("language").map(short)));
            }
            "error" => return Err(Failure::Says(complaint(&event))),
            _ => {}
        }
    }
    Err(Failure::Talks)
}

/// `transcribe`: which model and language, and which names to expect. Those are the person's own words in the config, and not
/// `Transcribe::names`: who is in their contacts is no matter of another machine.
fn wanted(model: &str, request: &Transcribe) -> Event {
    let names = request.prompt.iter().flat_map(|prompt| prompt.split(','));
    let names: Vec<&str> = names.map(str::trim).filter(|name| !name.is_empty()).collect();
    let event = Event::new("transcribe").with("language", request.language.clone());
    let event = match model {
        "" => event,
        model => event.with("name", model),
    };
    match names.is_empty() {
        true => event,
        false => event.with("transcript_names", names),
    }
}

#[async_trait]
impl Stt for Recogniser {
    async fn info(&self) -> Result<SttInfo, EngineError> {
        let program = self.program().await.map_err(trouble)?;
        let model = program.models.iter().find(|(name, _)| *name == self.model);
        let model = model.or(program.models.first());
        Ok(SttInfo {
            name: model.map_or(program.name, |(name, _)| name.clone()),
            multilingual: model.is_some_and(|(_, languages)| languages.iter().any(|l| !l.starts_with("en"))),
            bytes: 0,
            device: self.place.to_string(),
            sandbox: String::new(),
            binding: program.version,
        })
    }

    async fn transcribe(
        &self,
        request: Transcribe,
        on_segment: OnSegment<'_>,
    ) -> Result<Transcript, EngineError> {
        let began = Instant::now();
        let (text, language) = self.ask(&request).await.map_err(trouble)?;
        // Whatever it is, it may hear what nobody said, as our own would.
        let text = ghosts::without_directions(&text).trim().to_owned();
        let prompt = request.prompt.as_deref().unwrap_or_default();
        let text = match ghosts::echoes(&text, prompt) {
            true => String::new(),
            false => text,
        };
        let segment = (!text.is_empty()).then(|| Segment {
            start: 0.0,
            end: request.samples.len() as f32 / SAMPLE_RATE as f32,
            text: text.clone(),
        });
        if let Some(segment) = &segment {
            on_segment(segment);
        }
        Ok(Transcript {
            text,
            segments: segment.into_iter().collect(),
            language: language.or(request.language).unwrap_or_default(),
            load_ms: 0.0,
            decode_ms: began.elapsed().as_secs_f32() * 1e3,
            retried: false,
        })
    }
}

/// As an error of a recogniser.
fn trouble(error: anyhow::Error) -> EngineError {
    EngineError::Server(format!("the recogniser at {error:#}"))
}

#[cfg(test)]
mod tests;
