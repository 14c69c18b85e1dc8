//! The keys of speaking, and what they are to the speaker.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::SpeechServer;
use crate::{
    speak::{self, Choice},
    wyoming::RemoteVoice,
};

section! {
    /// How Tiro speaks.
    Speech {
        /// What speaks: speech-dispatcher, espeak-ng, `say` of macOS, your own speech.command, or the server of speech.server
        /// ("wyoming"), behind which those here stand; "auto" takes the first that is here, and "off" is silent. `tiro doctor` shows
        /// which it is.
        voice: SpeechVoice = SpeechVoice::Auto,
        /// Whether answers to typed requests are spoken, too; those to spoken ones always are.
        always: bool = false,
        /// Which of its voices, such as "en-gb" for espeak-ng; empty leaves that to it.
        #[schemars(length(max = 200))]
        name: String = String::new(),
        /// How fast: 2 is twice as fast as usual. Your own command has its own speed.
        #[schemars(range(min = 0.5, max = 3.0))]
        rate: f64 = 1.0,
        /// How loud, from 0 to 1. `say` of macOS and a command that plays by itself are as loud as they are.
        #[schemars(range(min = 0.0, max = 1.0))]
        volume: f64 = 1.0,
        /// A program that reads a text and plays it, or writes it as a WAV file to its output, with its arguments, such as
        /// "piper --model ~/voices/en.onnx --output_file -". No shell reads it.
        #[schemars(length(max = 2000))]
        command: String = String::new(),
        /// Whether short tones say that Tiro begins to listen and that it has heard you.
        earcons: bool = true,
        /// What is left of the volume of music while you or Tiro speak; 1 leaves it alone.
        #[schemars(range(min = 0.0, max = 1.0))]
        duck: f64 = 0.3,
        /// A voice on a bigger machine, behind the Wyoming protocol, as Home Assistant's are. It has its own speed and loudness.
        server: SpeechServer = SpeechServer::default(),
    }
}

/// What speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[expect(missing_docs, reason = "the key's own words explain them")]
pub enum SpeechVoice {
    Auto,
    SpeechDispatcher,
    EspeakNg,
    Say,
    Command,
    Wyoming,
    Off,
}

impl Speech {
    /// What the speaker is told.
    pub fn settings(&self) -> speak::Settings {
        let words = shell_words::split(&self.command)
            .map_err(|_| "speech.command cannot be read: its quotes do not match.".to_owned());
        let at_home = |word: String| match word.strip_prefix("~/") {
            // No shell does it.
            Some(rest) => std::env::var("HOME").map_or(word.clone(), |home| format!("{home}/{rest}")),
            None => word,
        };
        speak::Settings {
            choice: match self.voice {
                SpeechVoice::Auto => Choice::Auto,
                SpeechVoice::SpeechDispatcher => Choice::SpeechDispatcher,
                SpeechVoice::EspeakNg => Choice::EspeakNg,
                SpeechVoice::Say => Choice::Say,
                SpeechVoice::Command => Choice::Command,
                SpeechVoice::Wyoming => Choice::Wyoming,
                SpeechVoice::Off => Choice::Off,
            },
            always: self.always,
            name: self.name.clone(),
            rate: self.rate as f32,
            volume: self.volume as f32,
            command: words.map(|words| words.into_iter().map(at_home).collect()),
            server: match self.voice {
                SpeechVoice::Wyoming => RemoteVoice::of(&self.server).map_err(|why| format!("{why:#}.")),
                _ => Err("No voice on a server is wanted (speech.voice).".to_owned()),
            },
            earcons: self.earcons,
            duck: self.duck as f32,
            socket: None,
            speaker: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_words_and_no_shell() {
        let command = |command: &str| Speech {
            command: command.to_owned(),
            ..Speech::default()
        };
        let words = command("piper -m 'my voice' $(id); rm")
            .settings()
            .command
            .unwrap();
        assert_eq!(words, ["piper", "-m", "my voice", "$(id);", "rm"]);
        let why = command("piper 'half").settings().command.unwrap_err();
        assert!(why.contains("speech.command") && why.contains("quotes"), "{why}");
        assert_eq!(Speech::default().settings(), speak::Settings::default());
    }
}
