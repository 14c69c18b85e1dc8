//! The sections about Wyoming: a recogniser or a voice on another machine, and ours for others.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Period, WyomingUrl};

section! {
    /// A recogniser on a bigger machine, behind the Wyoming protocol, as Home Assistant's are. Used with stt.backend = "wyoming".
    SttServer {
        /// Its address, such as "tcp://192.168.1.20:10300". The protocol has no encryption, so it is one on your own machine or
        /// network: "localhost", a private address, or a name that is one word or ends with ".local".
        url: WyomingUrl = WyomingUrl::default(),
        /// Whether it may be anywhere else, too. Everybody on the way can hear what you say then.
        allow_far: bool = false,
        /// What the server calls the model; empty leaves that to the server.
        #[schemars(length(max = 200))]
        model: String = String::new(),
        /// How long the server may be silent once it has heard all.
        timeout: Period = Period::seconds(30),
    }
}

section! {
    /// A voice on a bigger machine, behind the Wyoming protocol, as Home Assistant's are. Used with speech.voice = "wyoming".
    SpeechServer {
        /// Its address, such as "tcp://192.168.1.20:10200". The protocol has no encryption, so it is one on your own machine or
        /// network: "localhost", a private address, or a name that is one word or ends with ".local".
        url: WyomingUrl = WyomingUrl::default(),
        /// Whether it may be anywhere else, too. Everybody on the way can read what Tiro says then.
        allow_far: bool = false,
        /// What the server calls the voice; empty leaves that to the server.
        #[schemars(length(max = 200))]
        voice: String = String::new(),
        /// How long the server may be silent.
        timeout: Period = Period::seconds(10),
    }
}

section! {
    /// Tiro for others: Home Assistant, its satellites, and whatever else speaks Wyoming. The protocol knows no passwords: whoever
    /// reaches the address may ask Tiro, and hears the answer. What they ask for never changes anything without your consent.
    Wyoming {
        /// Where the daemon listens, such as "tcp://127.0.0.1:10700"; empty means nowhere.
        listen: WyomingUrl = WyomingUrl::default(),
        /// Whether that may be an address that other machines reach, such as "tcp://0.0.0.0:10700".
        allow_others: bool = false,
        /// Whether they may use the recogniser.
        recogniser: bool = true,
        /// Whether they may ask Tiro. Keep tools from them with [[tools.rules]] and when = "guest".
        conversation: bool = true,
        /// The command of the voice that they are given: it reads text and writes a WAV. Empty gives them none.
        #[schemars(length(max = 1000))]
        voice: String = "espeak-ng -b 1 --stdin --stdout".to_owned(),
    }
}

/// Where the recogniser runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[expect(missing_docs, reason = "the key's own words explain both")]
pub enum SttBackend {
    Local,
    Wyoming,
}
