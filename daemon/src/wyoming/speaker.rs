//! The voice on another machine as one of Tiro's own: it makes sound of a piece while the one before is heard.

use std::time::Duration;

use async_trait::async_trait;

use super::{tts::RemoteVoice, voice::Spoken as _};
use crate::speak::{
    Pieces, Settings, Trouble, Voice,
    clip::{Clip, Maker, play_all},
};

/// Longest time for one piece, a sentence: a voice on a small machine takes as long as saying it does.
const MAKING: Duration = Duration::from_secs(60);

/// A voice on another machine.
pub struct VoiceServer {
    voice: Result<RemoteVoice, String>,
    speaker: Option<String>,
}

impl VoiceServer {
    /// The one that the settings name.
    pub fn of(settings: &Settings) -> VoiceServer {
        VoiceServer {
            voice: settings.server.clone(),
            speaker: settings.speaker.clone(),
        }
    }

    fn voice(&self) -> Result<&RemoteVoice, Trouble> {
        self.voice.as_ref().map_err(|why| Trouble::Absent(why.clone()))
    }
}

#[async_trait]
impl Voice for VoiceServer {
    fn name(&self) -> &str {
        "wyoming"
    }

    async fn there(&self) -> Result<String, Trouble> {
        let voice = self.voice()?;
        let program = voice.program().await.map_err(failed)?;
        let names: Vec<&str> = program.models.iter().map(|(name, _)| name.as_str()).collect();
        let place = &voice.place;
        match names.contains(&voice.voice.as_str()) || voice.voice.is_empty() {
            true => Ok(format!("The voice {} at {place}.", program.name)),
            false => Err(Trouble::Failed(format!(
                "The voice at {place} has no {}. It has: {}.",
                voice.voice,
                names.iter().take(5).copied().collect::<Vec<_>>().join(", ")
            ))),
        }
    }

    async fn say(&self, pieces: &Pieces) -> Result<(), Trouble> {
        play_all(self, pieces).await
    }
}

#[async_trait]
impl Maker for VoiceServer {
    fn name(&self) -> &str {
        "wyoming"
    }

    fn speaker(&self) -> Option<&str> {
        self.speaker.as_deref()
    }

    async fn make(&self, text: &str) -> Result<Option<Clip>, Trouble> {
        let voice = self.voice()?;
        let making = async {
            let mut speaking = voice.synthesize(text).await?;
            let mut pcm = Vec::new();
            while let Some(piece) = speaking.next().await? {
                pcm.extend(piece);
            }
            anyhow::Ok((speaking.format(), pcm))
        };
        let made = tokio::time::timeout(MAKING, making).await;
        let took = || Trouble::Failed(format!("The voice at {} takes too long.", voice.place));
        let (format, pcm) = made.map_err(|_| took())?.map_err(failed)?;
        // Nothing to hear is nothing to play, and no reason for another voice.
        match pcm.is_empty() {
            true => Ok(None),
            false => Ok(Clip::pcm(format.rate, format.width, format.channels, &pcm)),
        }
    }
}

/// Why there is no sound, as a sentence.
fn failed(error: anyhow::Error) -> Trouble {
    Trouble::Failed(format!("The voice at {error:#}."))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::wyoming::{sound::Format, tts::tests::voice, wire::Event};

    const LONG: Duration = Duration::from_secs(20);

    /// A voice that says these events to whatever it is asked.
    async fn server(events: Vec<Event>) -> (VoiceServer, String) {
        let (voice, _) = voice(events, LONG).await;
        let place = voice.place.to_string();
        let settings = Settings {
            server: Ok(voice),
            ..Settings::default()
        };
        (VoiceServer::of(&settings), place)
    }

    #[tokio::test]
    async fn what_comes_is_a_clip_and_what_goes_wrong_a_sentence() {
        let stop = Event::new("audio-stop");
        let piece = Format::SPEECH.chunk(vec![1; 16_000]);
        let (voice, _) = server(vec![Format::SPEECH.start(), piece.clone(), piece, stop.clone()]).await;
        let clip = voice.make("Hello").await.unwrap().unwrap();
        assert_eq!(clip.length(), Duration::from_secs(1));
        let (voice, _) = server(vec![stop]).await;
        assert_eq!(voice.make("...").await, Ok(None));
        let (voice, place) = server(vec![Event::new("error").with("text", "no voice.")]).await;
        let trouble = Trouble::Failed(format!("The voice at {place} says: no voice."));
        assert_eq!(voice.make("Hello").await, Err(trouble));
        let nowhere = VoiceServer::of(&Settings::default());
        assert!(matches!(nowhere.make("Hello").await, Err(Trouble::Absent(_))));
    }

    #[tokio::test]
    async fn what_it_has_is_asked() {
        let info = |names: &[&str]| {
            let voices: Vec<_> = names
                .iter()
                .map(|name| json!({"name": name, "languages": ["en"]}))
                .collect();
            Event::new("info").with("tts", json!([{"name": "piper", "voices": voices}]))
        };
        let (voice, place) = server(vec![info(&["amy", "joe"])]).await;
        assert_eq!(voice.there().await, Ok(format!("The voice piper at {place}.")));
        let (voice, place) = server(vec![info(&["joe"])]).await;
        let trouble = Trouble::Failed(format!("The voice at {place} has no amy. It has: joe."));
        assert_eq!(voice.there().await, Err(trouble));
        let (voice, place) = server(vec![Event::new("info")]).await;
        let trouble = Trouble::Failed(format!("The voice at {place} speaks Wyoming and has no voice."));
        assert_eq!(voice.there().await, Err(trouble));
        assert!(matches!(
            VoiceServer::of(&Settings::default()).there().await,
            Err(Trouble::Absent(_))
        ));
    }
}
