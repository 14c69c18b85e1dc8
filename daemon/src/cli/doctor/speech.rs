//! What Tiro would speak with. Nothing is said and nothing is started: nobody wants a doctor who talks.

use super::{BUS_TIME, Section};
use crate::{
    config::Config,
    speak::{Choice, Speaker, Voice},
};

/// The voice that answers are spoken with, and those behind it.
pub(super) async fn speech(config: &Config) -> Section {
    let mut section = Section::new("speech");
    let settings = config.speech.settings();
    let speaker = Speaker::of(settings.clone());
    if speaker.is_off() {
        section.info("voice", "Off; answers are only shown (speech.voice).");
        return section;
    }
    let mut missing = Vec::new();
    let mut found = false;
    for voice in speaker.voices() {
        match there(&**voice).await {
            Ok(says) if found => section.info("other voice", says),
            Ok(says) => {
                found = true;
                let says = match settings.choice {
                    Choice::Auto => {
                        format!("{says} `tiro say hello` tries it, and speech.voice chooses another.")
                    }
                    _ => format!("{says} `tiro say hello` tries it."),
                };
                section.ok("voice", says);
            }
            Err(why) => missing.push(why),
        }
    }
    if !found {
        section.warn(
            "voice",
            missing.join(" "),
            "Install speech-dispatcher with its espeak-ng module, or espeak-ng, or set speech.command. Answers are shown as long.",
        );
    }
    section
}

async fn there(voice: &dyn Voice) -> Result<String, String> {
    match tokio::time::timeout(BUS_TIME, voice.there()).await {
        Ok(there) => there.map_err(|trouble| trouble.to_string()),
        Err(_) => Err(format!("{} does not answer.", voice.name())),
    }
}
