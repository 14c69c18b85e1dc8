//! Wyoming: whether the recogniser on another machine answers, who hears the person's voice, and who may ask Tiro.

use std::time::Duration;

use super::report::Section;
use crate::{
    config::{Config, SpeechVoice, SttBackend},
    wyoming,
};

/// Longest time for a server to say what it has.
const SERVER_TIME: Duration = Duration::from_secs(10);

/// Whether the recogniser answers.
pub async fn examine(section: &mut Section, config: &Config) {
    let recogniser = match wyoming::recogniser(config) {
        Ok(recogniser) => recogniser,
        Err(error) => {
            let todo = "Complete [stt.server] in the config.";
            return section.fail("stt", format!("{error:#}."), todo);
        }
    };
    let (place, wanted) = (&recogniser.place, &recogniser.model);
    let todo = "Start the server, or correct [stt.server] in the config.";
    match tokio::time::timeout(SERVER_TIME, recogniser.program()).await {
        Ok(Ok(program)) => {
            let names: Vec<&str> = program.models.iter().map(|(name, _)| name.as_str()).collect();
            match wanted.is_empty() || names.contains(&wanted.as_str()) {
                true => {
                    let model = if wanted.is_empty() {
                        names.first().copied()
                    } else {
                        Some(wanted.as_str())
                    };
                    let model = model.map_or_else(String::new, |model| format!(" and has {model}"));
                    section.ok(
                        "stt",
                        format!("The recogniser {} at {place} answers{model}.", program.name),
                    );
                }
                false => section.fail(
                    "stt",
                    format!(
                        "The recogniser at {place} has no model {wanted}. It has: {}.",
                        names.iter().take(5).copied().collect::<Vec<_>>().join(", ")
                    ),
                    "Correct stt.server.model.",
                ),
            }
        }
        Ok(Err(error)) => section.fail("stt", format!("The recogniser at {error:#}."), todo),
        Err(_) => section.fail(
            "stt",
            format!(
                "The recogniser at {place} does not answer within {} s.",
                SERVER_TIME.as_secs()
            ),
            todo,
        ),
    }
}

/// Who hears the person, and what Tiro says; whether there is anybody.
pub fn privacy(section: &mut Section, config: &Config) -> bool {
    let (heard, spoken) = (
        config.stt.backend == SttBackend::Wyoming,
        config.speech.voice == SpeechVoice::Wyoming,
    );
    if heard {
        let url = match config.stt.server.url.as_str() {
            "" => "nobody yet, since stt.server.url is empty",
            url => url,
        };
        match config.wake.settings().is_some() {
            false => section.info(
                "recogniser",
                format!(
                    "Your voice, and the names that it may say, goes unencrypted to {url}, where the recogniser runs."
                ),
            ),
            // It is the recogniser that knows whether the phrase was said.
            true => section.warn(
                "recogniser",
                format!(
                    "With the wake word on, the beginning of whatever is said near the microphone goes unencrypted to {url}, \
                     where the recogniser runs."
                ),
                "Set wake.enabled = false and use the key, or stt.backend = \"local\".",
            ),
        }
    }
    if spoken {
        let url = match config.speech.server.url.as_str() {
            "" => "nobody yet, since speech.server.url is empty",
            url => url,
        };
        section.info(
            "voice",
            format!("What Tiro says aloud goes unencrypted to {url}, where the voice is."),
        );
    }
    heard || spoken
}

/// Who may come in.
pub async fn served(section: &mut Section, config: &Config) {
    let place = match wyoming::listens_to(config) {
        Ok(Some(place)) => place,
        Ok(None) => return section.info("wyoming", "Off; nobody is served (wyoming.listen)."),
        Err(error) => {
            let todo = "Correct [wyoming] in the config.";
            return section.fail("wyoming", format!("{error:#}."), todo);
        }
    };
    let may = match (
        config.wyoming.conversation,
        config.wyoming.recogniser || !config.wyoming.voice.is_empty(),
    ) {
        (true, _) => "may ask Tiro without a password and hears the answer, your calendar and mail included",
        (false, true) => "may use the recogniser and the voice",
        (false, false) => "finds nothing there",
    };
    match wyoming::others_may(config) {
        true => section.warn(
            "wyoming",
            format!("Everybody who reaches {place} over the network {may}."),
            "If that is too much, listen on tcp://127.0.0.1:10700, set wyoming.conversation = false, or keep tools from \
             them with [[tools.rules]] and when = \"guest\".",
        ),
        false => section.info("wyoming", format!("Every program and user of this machine that reaches {place} {may}.")),
    }
}
