//! What the daemon and an engine say to each other: typed frames over a socket.
//!
//! A frame is a `u32` length (little endian) and that many bytes of postcard. The first frame in each direction is a
//! [`Hello`]; its layout never changes, so that a mismatch of versions is found before anything else is read.

use std::{
    io::{ErrorKind, Read, Write},
    path::PathBuf,
};

use serde::{Deserialize, Serialize, de::DeserializeOwned};
use tokio::io::{AsyncRead, AsyncReadExt};

use crate::{
    EngineError,
    llm::{Generate, Generated, ModelInfo, Piece},
    stt::{Segment, SttInfo, Transcribe, Transcript},
};

/// Raised with every change of a type that crosses the socket.
pub const VERSION: u32 = 6;

/// Longest frame body, bytes. A request with 17 minutes of audio just fits.
pub const MAX_FRAME: usize = 64 << 20;

/// The first frame of both sides.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello {
    /// [`VERSION`] of the speaker.
    pub version: u32,
    /// `tiro-llm`, `tiro-stt`, or who connects.
    pub who: String,
}

/// Daemon to engine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum ToEngine<R> {
    /// Work. Requests are served one after the other, in order; ids only grow.
    Request {
        /// Names the request in events and in `Cancel`.
        id: u64,
        /// What to do.
        request: R,
    },
    /// Stop working on this one. An unknown or finished id is fine: the answer was under way.
    Cancel {
        /// The request.
        id: u64,
    },
    /// Are you there? Answered at once, also in the middle of work.
    Health,
    /// Leave, at once.
    Shutdown,
}

/// Engine to daemon.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum FromEngine<P, A> {
    /// A part of an answer, while the request is being worked on.
    Part {
        /// The request.
        id: u64,
        /// Text, a segment.
        part: P,
    },
    /// The answer; nothing follows for this id.
    Done {
        /// The request.
        id: u64,
        /// What came of it.
        answer: Result<A, EngineError>,
    },
    /// To `Health`.
    Alive,
}

/// The set of types that one kind of engine speaks.
pub trait Dialect: Send + Sync + 'static {
    /// Name of the program.
    const ENGINE: &'static str;
    /// What it is asked.
    type Request: Serialize + DeserializeOwned + Send + 'static;
    /// What it streams.
    type Part: Serialize + DeserializeOwned + Send + 'static;
    /// What it answers.
    type Answer: Serialize + DeserializeOwned + Send + 'static;
}

/// What `tiro-llm` speaks.
#[derive(Debug, Clone, Copy)]
pub struct LlmDialect;

impl Dialect for LlmDialect {
    const ENGINE: &'static str = "tiro-llm";
    type Request = LlmRequest;
    type Part = String;
    type Answer = LlmAnswer;
}

/// What `tiro-stt` speaks.
#[derive(Debug, Clone, Copy)]
pub struct SttDialect;

impl Dialect for SttDialect {
    const ENGINE: &'static str = "tiro-stt";
    type Request = SttRequest;
    type Part = Segment;
    type Answer = SttAnswer;
}

/// Work for `tiro-llm`. Everything but `Load` needs a loaded model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum LlmRequest {
    /// Load a model; what was loaded before goes. Answer: `Loaded`.
    Load(LlmLoad),
    /// Count the tokens of each stretch. Answer: `Counted`.
    Count(Vec<Piece>),
    /// Bring this prefix into the KV cache. Answer: `Prefilled`.
    Prefill(Vec<Piece>),
    /// Generate; parts are text. Answer: `Generated`.
    Generate(Generate),
    /// Write the state of what the KV cache holds to this file. Answer: `Saved`.
    Save {
        /// A new file in the snapshot folder.
        path: PathBuf,
    },
    /// Read the state of this prefix from a file that `Save` wrote. Answer: `Restored`.
    Restore {
        /// The file.
        path: PathBuf,
        /// What it must hold, exactly.
        prefix: Vec<Piece>,
    },
    /// Answer: `Report`.
    Stats,
    /// Give the memory of the model back. Answer: `Unloaded`.
    Unload,
}

/// What to load and how.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LlmLoad {
    /// A GGUF file.
    pub path: PathBuf,
    /// Window in tokens; lowered to what the model was trained for.
    pub context: u32,
    /// Threads; `None` is one for each physical core.
    pub threads: Option<u32>,
    /// Layers on the GPU; `None` is as many as fit its free memory.
    pub gpu_layers: Option<u32>,
    /// Element type of the KV cache.
    pub kv: KvType,
}

/// Element type of the KV cache.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KvType {
    /// 16-bit floats.
    #[default]
    F16,
    /// 8-bit blocks: half the memory.
    Q8_0,
}

/// Answers of `tiro-llm`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum LlmAnswer {
    /// To `Load`.
    Loaded(ModelInfo),
    /// To `Count`: tokens, one number a stretch.
    Counted(Vec<u32>),
    /// To `Prefill`.
    Prefilled {
        /// Tokens of the prefix.
        tokens: u32,
        /// How many of them were there already.
        cached: u32,
        /// Whether the cache holds the prefix and nothing behind it, so that it can be saved.
        exact: bool,
    },
    /// To `Generate`.
    Generated(Generated),
    /// To `Save`: bytes written.
    Saved(u64),
    /// To `Restore`: tokens of the prefix, now in the cache; `None` when the file holds something else.
    Restored(Option<u32>),
    /// To `Stats`.
    Report(LlmReport),
    /// To `Unload`.
    Unloaded,
}

/// What the language model engine holds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LlmReport {
    /// Tokens in the KV cache.
    pub held: u32,
    /// Window, tokens.
    pub context: u32,
    /// Tokens that the KV cache has room for now; it grows up to the window.
    pub room: u32,
    /// Weights, bytes.
    pub weights: u64,
    /// KV cache as it is now, bytes, by the model's dimensions.
    pub kv: u64,
}

/// Work for `tiro-stt`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum SttRequest {
    /// Load a model; what was loaded before goes. Answer: `Loaded`.
    Load(SttLoad),
    /// Recognise; parts are segments. Answer: `Transcript`.
    Transcribe(Transcribe),
    /// Answer: `Report`.
    Stats,
    /// Give the memory of the model back. Answer: `Unloaded`.
    Unload,
}

/// What to load and how.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SttLoad {
    /// A whisper.cpp ggml file.
    pub path: PathBuf,
    /// Threads; `None` is one for each physical core.
    pub threads: Option<u32>,
    /// Whether a GPU is used when the build has one.
    pub gpu: bool,
}

/// Answers of `tiro-stt`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum SttAnswer {
    /// To `Load`, with the milliseconds that it took.
    Loaded(SttInfo, f32),
    /// To `Transcribe`.
    Transcript(Transcript),
    /// To `Stats`: bytes of the loaded model's file, 0 when none is.
    Report(u64),
    /// To `Unload`.
    Unloaded,
}

/// A frame with its length before it.
///
/// # Errors
/// `Refused` when the message is longer than [`MAX_FRAME`].
pub fn encode<T: Serialize>(message: &T) -> Result<Vec<u8>, EngineError> {
    let mut frame = postcard::to_extend(message, vec![0; 4])
        .map_err(|e| EngineError::Protocol(format!("cannot be written: {e}")))?;
    let length = frame.len() - 4;
    match u32::try_from(length) {
        Ok(prefix) if length <= MAX_FRAME => {
            frame[..4].copy_from_slice(&prefix.to_le_bytes());
            Ok(frame)
        }
        _ => Err(EngineError::Refused(format!(
            "This is {} MiB; an engine takes {} MiB at once.",
            length >> 20,
            MAX_FRAME >> 20
        ))),
    }
}

/// The message of a frame body.
///
/// # Errors
/// `Protocol` for anything that is not exactly one message.
pub fn decode<T: DeserializeOwned>(body: &[u8]) -> Result<T, EngineError> {
    match postcard::take_from_bytes(body) {
        Ok((message, [])) => Ok(message),
        Ok((_, rest)) => Err(EngineError::Protocol(format!(
            "{} bytes too many in a frame",
            rest.len()
        ))),
        Err(e) => Err(EngineError::Protocol(format!("a frame makes no sense: {e}"))),
    }
}

/// Writes one frame.
///
/// # Errors
/// What [`encode`] says, or `Protocol` when the other side is gone.
pub fn write<T: Serialize>(to: &mut impl Write, message: &T) -> Result<(), EngineError> {
    to.write_all(&encode(message)?).map_err(gone)
}

/// Reads one frame; `None` when the other side closed between two frames.
///
/// # Errors
/// `Protocol` for a truncated, oversized or senseless frame.
pub fn read<T: DeserializeOwned>(from: &mut impl Read) -> Result<Option<T>, EngineError> {
    let mut prefix = [0; 4];
    let mut have = 0;
    while have < prefix.len() {
        match from.read(&mut prefix[have..]) {
            Ok(0) if have == 0 => return Ok(None),
            Ok(0) => return Err(truncated()),
            Ok(n) => have += n,
            Err(e) if e.kind() == ErrorKind::Interrupted => {}
            Err(e) => return Err(gone(e)),
        }
    }
    let length = checked_length(prefix)?;
    // The buffer grows with what really arrives: a length alone reserves nothing.
    let mut body = Vec::new();
    from.take(length as u64).read_to_end(&mut body).map_err(gone)?;
    if body.len() < length {
        return Err(truncated());
    }
    decode(&body).map(Some)
}

/// The same as [`read`], for the daemon.
///
/// # Errors
/// The same as [`read`].
pub async fn read_async<T: DeserializeOwned>(
    from: &mut (impl AsyncRead + Unpin),
) -> Result<Option<T>, EngineError> {
    let mut prefix = [0; 4];
    let mut have = 0;
    while have < prefix.len() {
        match from.read(&mut prefix[have..]).await.map_err(gone)? {
            0 if have == 0 => return Ok(None),
            0 => return Err(truncated()),
            n => have += n,
        }
    }
    let length = checked_length(prefix)?;
    let mut body = Vec::new();
    from.take(length as u64)
        .read_to_end(&mut body)
        .await
        .map_err(gone)?;
    if body.len() < length {
        return Err(truncated());
    }
    decode(&body).map(Some)
}

/// Whether the other side speaks our version.
///
/// # Errors
/// `Protocol`, naming both versions.
pub fn agree(theirs: &Hello) -> Result<(), EngineError> {
    if theirs.version == VERSION {
        return Ok(());
    }
    Err(EngineError::Protocol(format!(
        "{} speaks version {} and this Tiro speaks {VERSION}; build both from the same source with `cargo xtask setup`",
        theirs.who, theirs.version
    )))
}

fn checked_length(prefix: [u8; 4]) -> Result<usize, EngineError> {
    match usize::try_from(u32::from_le_bytes(prefix)) {
        Ok(length) if length <= MAX_FRAME => Ok(length),
        _ => Err(EngineError::Protocol(format!(
            "a frame of {} bytes; the limit is {MAX_FRAME}",
            u32::from_le_bytes(prefix)
        ))),
    }
}

fn truncated() -> EngineError {
    EngineError::Protocol("closed in the middle of a frame".into())
}

fn gone(error: std::io::Error) -> EngineError {
    EngineError::Protocol(format!("the other side is gone: {error}"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    type Down = FromEngine<String, LlmAnswer>;

    fn samples() -> Vec<ToEngine<SttRequest>> {
        vec![
            ToEngine::Health,
            ToEngine::Cancel { id: u64::MAX },
            ToEngine::Shutdown,
            ToEngine::Request {
                id: 3,
                request: SttRequest::Transcribe(Transcribe {
                    samples: vec![0.5, -1.0, f32::MIN_POSITIVE],
                    language: Some("en".into()),
                    prompt: None,
                    names: vec!["Anna".into()],
                    audio_ctx: Some(0),
                }),
            },
        ]
    }

    #[test]
    fn frames_follow_each_other_and_come_back_the_same() {
        let mut wire = Vec::new();
        for message in samples() {
            write(&mut wire, &message).unwrap();
        }
        let mut from = wire.as_slice();
        for message in samples() {
            assert_eq!(read(&mut from).unwrap(), Some(message));
        }
        assert_eq!(read::<ToEngine<SttRequest>>(&mut from).unwrap(), None);
    }

    #[track_caller]
    fn refuses(wire: &[u8], expect: &str) {
        let error = read::<ToEngine<LlmRequest>>(&mut &wire[..]).unwrap_err();
        assert!(error.to_string().contains(expect), "{error}");
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let same = runtime
            .block_on(read_async::<ToEngine<LlmRequest>>(&mut &wire[..]))
            .unwrap_err();
        assert_eq!(same.to_string(), error.to_string());
    }

    #[test]
    fn bad_frames_are_errors_that_say_why() {
        refuses(&[1], "in the middle of a frame");
        refuses(&[4, 0, 0, 0, 0], "in the middle of a frame");
        refuses(&[255, 255, 255, 255], "limit is 67108864");
        refuses(&[1, 0, 0, 0, 200], "makes no sense");
        refuses(&[0, 0, 0, 0], "makes no sense");
        refuses(&[2, 0, 0, 0, 2, 2], "1 bytes too many");
    }

    #[test]
    fn what_is_too_long_is_not_sent() {
        let error = encode(&vec![0_u8; MAX_FRAME + 1]).unwrap_err();
        assert!(matches!(error, EngineError::Refused(_)), "{error}");
    }

    #[test]
    fn versions_must_agree() {
        let hello = |version| Hello {
            version,
            who: "tiro-llm".into(),
        };
        agree(&hello(VERSION)).unwrap();
        let error = agree(&hello(VERSION + 1)).unwrap_err().to_string();
        let theirs = format!("tiro-llm speaks version {}", VERSION + 1);
        assert!(error.contains(&theirs), "{error}");
    }

    proptest! {
        #[test]
        fn no_byte_soup_panics(wire in proptest::collection::vec(any::<u8>(), 0..300)) {
            let mut framed = u32::try_from(wire.len()).unwrap().to_le_bytes().to_vec();
            framed.extend(&wire);
            for bytes in [&wire, &framed] {
                // Whatever is accepted must be a message: writing it again gives a frame that reads the same.
                if let Ok(Some(message)) = read::<ToEngine<LlmRequest>>(&mut bytes.as_slice()) {
                    let again = encode(&message).unwrap();
                    let back: ToEngine<LlmRequest> = read(&mut again.as_slice()).unwrap().unwrap();
                    prop_assert_eq!(encode(&back).unwrap(), again);
                }
                if let Ok(Some(message)) = read::<Down>(&mut bytes.as_slice()) {
                    prop_assert!(encode(&message).is_ok());
                }
            }
        }

        #[test]
        fn every_cut_of_a_frame_is_an_error(cut in 1_usize..40) {
            let message = ToEngine::Request { id: 7, request: LlmRequest::Count(vec![Piece {
                text: "What do I have on my calendar?".into(),
                special: false,
            }]) };
            let wire = encode(&message).unwrap();
            let short = &wire[..wire.len().saturating_sub(cut).max(1)];
            prop_assert!(read::<ToEngine<LlmRequest>>(&mut &short[..]).is_err());
        }
    }
}
