//! Wyoming, the protocol by which Home Assistant and its satellites reach recognisers and voices: a remote one of either
//! in place of our own, and our own for others.
//!
//! One event is a line of JSON, more JSON, and sound, over plain TCP without any proof of who speaks. So nothing here is
//! on unless the config says so, what goes out stays on the person's own network unless the config says otherwise, and who
//! comes in is a guest.

mod wire;
mod line;
mod sound;
mod place;
mod describe;
mod asr;
mod tts;
mod speaker;
mod voice;
mod serve;
mod session;
mod manners;

pub use asr::{Recogniser, recogniser};
pub use describe::{Offer, Program};
pub use line::{Reader, Trouble, Writer};
pub use manners::shared;
pub use place::Place;
pub use serve::{Server, Services, listens_to, others_may, serving};
pub use sound::{Format, Sound};
pub use speaker::VoiceServer;
pub use tts::{RemoteVoice, Speaking};
pub use voice::{CommandVoice, Spoken, Voice};
pub use wire::{Decoder, Event, Wrong};
