//! A voice on another machine: text goes there, and sound comes back in pieces while the rest is still being made.

use std::time::Duration;

use anyhow::{bail, ensure};
use async_trait::async_trait;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};

use super::{
    asr::{Failure, allowed, complaint, program},
    describe::{Offer, Program},
    line::{Reader, Writer},
    place::Place,
    sound::Format,
    voice::Spoken,
    wire::Event,
};
use crate::config::SpeechServer;

/// Longest sound of one text, seconds.
const MAX_SECONDS: usize = 600;
/// A server that says so much else has nothing to say.
const MAX_EVENTS: usize = 1_000;

/// A voice on another machine.
#[derive(Debug, Clone, PartialEq)]
pub struct RemoteVoice {
    /// Where it is.
    pub place: Place,
    /// Whether it may be outside the person's network.
    pub far: bool,
    /// The voice, as the server calls it; empty leaves that to the server.
    pub voice: String,
    /// How long the server may be silent.
    pub silence: Duration,
}

/// Sound of a text, as it comes. Dropping it hangs up.
pub struct Speaking {
    ears: Reader<OwnedReadHalf>,
    // Closing it would tell the server that nobody listens.
    _mouth: Writer<OwnedWriteHalf>,
    place: Place,
    silence: Duration,
    format: Format,
    /// The first piece, where it said the format.
    first: Option<Vec<u8>>,
    /// Bytes that may still come.
    left: usize,
    over: bool,
}

impl RemoteVoice {
    /// The configured voice. Nothing is asked yet.
    ///
    /// # Errors
    /// What the config lacks, or why nothing may be sent there.
    pub fn of(server: &SpeechServer) -> anyhow::Result<RemoteVoice> {
        Ok(RemoteVoice {
            place: allowed(
                "speech.server",
                server.url.as_str(),
                server.allow_far,
                server.timeout.get(),
            )?,
            far: server.allow_far,
            voice: server.voice.clone(),
            silence: server.timeout.get(),
        })
    }

    /// What the server has; fails where it has no voice.
    ///
    /// # Errors
    /// Why it cannot be asked, in words that begin with the place.
    pub async fn program(&self) -> anyhow::Result<Program> {
        program(&self.place, self.far, self.silence, Offer::Voice).await
    }

    /// Begins to make this text sound.
    ///
    /// # Errors
    /// Why there is no sound, in words that begin with the place.
    pub async fn synthesize(&self, text: &str) -> anyhow::Result<Speaking> {
        let (ears, mut mouth) = self.place.connect(self.far).await?;
        let event = Event::new("synthesize").with("text", text);
        let event = match self.voice.as_str() {
            "" => event,
            voice => event.with("voice", serde_json::json!({"name": voice})),
        };
        mouth
            .send(&event, self.silence)
            .await
            .map_err(|trouble| Failure::Line(trouble).of(&self.place))?;
        let mut speaking = Speaking {
            ears,
            _mouth: mouth,
            place: self.place.clone(),
            silence: self.silence,
            format: Format::SPEECH,
            first: None,
            left: 0,
            over: false,
        };
        speaking.begin().await?;
        Ok(speaking)
    }
}

impl Speaking {
    async fn begin(&mut self) -> anyhow::Result<()> {
        let event = self.event().await?;
        if event.kind == "audio-stop" {
            self.over = true;
            return Ok(());
        }
        self.format = self.format_of(&event)?;
        self.left = MAX_SECONDS * self.format.second();
        if event.kind == "audio-chunk" {
            self.first = Some(self.sound(event)?);
        }
        Ok(())
    }

    /// The next event about sound.
    async fn event(&mut self) -> anyhow::Result<Event> {
        let place = &self.place;
        for _ in 0..MAX_EVENTS {
            let event = self.ears.next(self.silence).await;
            let event = event.map_err(|trouble| Failure::Line(trouble).of(place))?;
            match event.kind.as_str() {
                "audio-start" | "audio-chunk" | "audio-stop" => return Ok(event),
                "error" => return Err(Failure::Says(complaint(&event)).of(place)),
                _ => {}
            }
        }
        Err(Failure::Talks.of(place))
    }

    fn format_of(&self, event: &Event) -> anyhow::Result<Format> {
        Format::of(event)
            .map_err(|unfit| anyhow::anyhow!("{} sent sound that cannot be used. {unfit}", self.place))
    }

    fn sound(&mut self, event: Event) -> anyhow::Result<Vec<u8>> {
        let (place, pcm) = (&self.place, event.payload);
        ensure!(
            pcm.len().is_multiple_of(self.format.frame()),
            "{place} sent sound that ends in the middle of a sample"
        );
        let Some(left) = self.left.checked_sub(pcm.len()) else {
            bail!("{place} sent more than {MAX_SECONDS} s of sound")
        };
        self.left = left;
        Ok(pcm)
    }
}

#[async_trait]
impl Spoken for Speaking {
    fn format(&self) -> Format {
        self.format
    }

    async fn next(&mut self) -> anyhow::Result<Option<Vec<u8>>> {
        if let Some(first) = self.first.take() {
            return Ok(Some(first));
        }
        // Pieces without sound are no reason to go on for ever.
        for _ in 0..MAX_EVENTS {
            if self.over {
                return Ok(None);
            }
            let event = self.event().await?;
            if event.kind == "audio-stop" {
                self.over = true;
                continue;
            }
            let format = self.format_of(&event)?;
            ensure!(
                format == self.format,
                "{} changes the format of its sound in the middle",
                self.place
            );
            if event.kind == "audio-chunk" && !event.payload.is_empty() {
                return self.sound(event).map(Some);
            }
        }
        Err(Failure::Talks.of(&self.place))
    }
}

#[cfg(test)]
pub(super) mod tests {
    use std::sync::{Arc, Mutex};

    use tokio::net::TcpListener;

    use super::*;

    const LONG: Duration = Duration::from_secs(20);

    /// A voice, and what it heard, that says these events to whatever it is asked, and then is silent with an open line.
    pub async fn voice(events: Vec<Event>, silence: Duration) -> (RemoteVoice, Arc<Mutex<Vec<Event>>>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let place = Place::parse(&format!("tcp://{}", listener.local_addr().unwrap())).unwrap();
        let heard = Arc::new(Mutex::new(Vec::new()));
        let log = Arc::clone(&heard);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (ears, mouth) = stream.into_split();
                let (mut ears, mut mouth) = (Reader::new(ears), Writer::new(mouth));
                while let Ok(event) = ears.next(LONG).await {
                    log.lock().unwrap().push(event);
                    for event in &events {
                        if mouth.send(event, LONG).await.is_err() {
                            break;
                        }
                    }
                }
            }
        });
        let voice = RemoteVoice {
            place,
            far: false,
            voice: "amy".into(),
            silence,
        };
        (voice, heard)
    }

    const PIPER: Format = Format {
        rate: 22_050,
        width: 2,
        channels: 1,
    };

    /// Everything that comes, or what went wrong.
    async fn all(events: Vec<Event>) -> Result<(Format, Vec<u8>), String> {
        let (voice, _) = voice(events, Duration::from_millis(300)).await;
        let said = async {
            let mut speaking = voice.synthesize("Hello").await?;
            let mut pcm = Vec::new();
            while let Some(piece) = speaking.next().await? {
                pcm.extend(piece);
            }
            assert_eq!(speaking.next().await?, None, "it stays over");
            anyhow::Ok((speaking.format(), pcm))
        };
        said.await
            .map_err(|error| error.to_string().replace(&voice.place.to_string(), "PLACE"))
    }

    #[tokio::test]
    async fn what_a_voice_says_comes_piece_by_piece() {
        let stop = Event::new("audio-stop");
        let whole = vec![
            PIPER.start(),
            PIPER.chunk(vec![1, 0]),
            PIPER.chunk(Vec::new()),
            PIPER.chunk(vec![2, 0, 3, 0]),
            stop.clone(),
        ];
        assert_eq!(all(whole.clone()).await, Ok((PIPER, vec![1, 0, 2, 0, 3, 0])));
        assert_eq!(
            all(whole[1..].to_vec()).await,
            Ok((PIPER, vec![1, 0, 2, 0, 3, 0])),
            "without a start"
        );
        assert_eq!(all(vec![stop]).await, Ok((Format::SPEECH, Vec::new())));
        let (voice, heard) = voice(whole, LONG).await;
        voice.synthesize("Guten Tag").await.unwrap();
        let heard = heard.lock().unwrap();
        assert_eq!(
            (heard[0].kind.as_str(), heard[0].text("text")),
            ("synthesize", Some("Guten Tag"))
        );
        assert_eq!(heard[0].data["voice"]["name"], "amy");
    }

    #[tokio::test]
    async fn a_voice_that_lies_or_stops_is_a_sentence() {
        let start = PIPER.start();
        let other = Format { rate: 8_000, ..PIPER };
        for (events, says) in [
            (vec![], "PLACE said nothing within 0.3 s"),
            (
                vec![start.clone(), PIPER.chunk(vec![0, 0])],
                "PLACE said nothing within 0.3 s",
            ),
            (
                vec![Event::new("error").with("text", "no voice")],
                "PLACE says: no voice",
            ),
            (
                vec![start.clone(), Event::new("error").with("text", "broke.")],
                "PLACE says: broke",
            ),
            (
                vec![Event::new("audio-start")],
                "PLACE sent sound that cannot be used. The sound has no rate.",
            ),
            (
                vec![start.clone(), PIPER.chunk(vec![0])],
                "PLACE sent sound that ends in the middle of a sample",
            ),
            (
                vec![start.clone(), other.chunk(vec![0, 0])],
                "PLACE changes the format of its sound in the middle",
            ),
            (
                vec![Event::new("pong"); 1_001],
                "PLACE says much and has no answer",
            ),
            (
                [vec![start.clone()], vec![PIPER.chunk(Vec::new()); 1_001]].concat(),
                "PLACE says much and has no answer",
            ),
        ] {
            assert_eq!(all(events).await.unwrap_err(), says);
        }
    }

    #[tokio::test]
    async fn endless_sound_ends() {
        let loud = Format {
            rate: 8_000,
            width: 1,
            channels: 1,
        };
        let minute = loud.chunk(vec![128; 60 * loud.second()]);
        let error = all(vec![minute; 11]).await.unwrap_err();
        assert_eq!(error, "PLACE sent more than 600 s of sound");
    }
}
