//! Microphones of a sound server: PulseAudio, or PipeWire in its place.
//!
//! This speaks to the server itself and does not go through cpal, whose PulseAudio host offers two ways to record, both of
//! them bad. With its default buffer the server delivers as it likes: PulseAudio 50 to 250 ms at a time, PipeWire two
//! seconds. With a fixed one the server keeps no more than a single piece, and what comes while this program waits for the
//! processor is lost: 1,600 samples of 384,000 on a busy machine. What is wanted is small pieces and a large buffer behind
//! them, which the protocol has and cpal does not. So it comes 18 ms at a time, 32 at most, and every sample arrives, on
//! busy processors too and when nobody takes the sound for two seconds (`tests/src/capture.rs`). The microphone is open
//! 20 ms after it is asked for.

use std::{
    ffi::CStr,
    path::Path,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
        mpsc::{Receiver, RecvTimeoutError, channel},
    },
    thread,
    time::Duration,
};

use anyhow::{Context as _, bail};
use pulseaudio::{
    Client, ClientError, RecordStream,
    protocol::{
        Prop, Props, RecordStreamParams, SampleFormat, SampleSpec, SourceInfo, Volume,
        stream::{BufferAttr, StreamFlags},
    },
};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, sockopt};

use super::{BUILDING, Care, sound};
use crate::listen::pipe::{Teller, Writer};

/// How much sound the server sends at a time. The resampler works on 32 ms (`resample::block_of`), so less would come no
/// sooner to anybody and cost more.
const PIECE: Duration = Duration::from_millis(32);
/// How often an open microphone is looked after.
const LOOK: Duration = Duration::from_millis(250);
/// Each so many looks the server is asked which microphone the desktop wants: once a second.
const CHOICE: u32 = 4;

/// A server, and what it had when it was asked.
#[derive(Debug)]
pub(super) struct Server {
    client: Client,
    /// What it calls itself: "pulseaudio", "PulseAudio (on PipeWire 1.4.2)".
    pub(super) name: String,
    sources: Vec<SourceInfo>,
    /// The name of the one that the desktop chose.
    usual: Option<String>,
}

/// The connection, which stays for the next who looks: the client cannot be trusted to end with its last user, because its
/// thread then waits for something to wake it. Of a server that is gone or does not answer it is forgotten, and its
/// thread ends with the next thing that comes from there, be it the end.
static KNOWN: Mutex<Option<Client>> = Mutex::new(None);

impl Server {
    /// The server, if there is one that programs can find.
    ///
    /// # Errors
    /// When it does not answer.
    pub(super) fn reach() -> anyhow::Result<Option<Server>> {
        let Some(socket) = pulseaudio::socket_path_from_env() else {
            return Ok(None);
        };
        super::super::cookie::ensure();
        // Held meanwhile, so that nobody connects twice. All that is done here has an end.
        let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(client) = known.take()
            && let Ok(server) = Server::ask(client)
        {
            *known = Some(server.client.clone());
            return Ok(Some(server));
        }
        let server = Server::ask(connect(&socket)?)?;
        *known = Some(server.client.clone());
        Ok(Some(server))
    }

    fn ask(client: Client) -> anyhow::Result<Server> {
        let info = wait(client.server_info())?;
        let sources = wait(client.list_sources())?;
        Ok(Server {
            name: info.server_name.as_deref().map(text).unwrap_or_default(),
            usual: info.default_source_name.as_deref().map(text),
            sources,
            client,
        })
    }

    /// The microphone that the desktop chose. That may be what the speakers play, which is none: then the first there is.
    pub(super) fn usual(&self) -> Option<Source> {
        let microphones = || self.all().filter(|source| !source.is_monitor());
        let chosen = microphones().find(|source| Some(source.id()) == self.usual);
        let source = chosen.or_else(|| microphones().next())?;
        Some(Source {
            usual: true,
            ..source
        })
    }

    /// All that it can record.
    pub(super) fn all(&self) -> impl Iterator<Item = Source> {
        self.sources.iter().map(|source| Source {
            client: self.client.clone(),
            source: Box::new(source.clone()),
            usual: false,
        })
    }
}

/// A microphone of the server, still closed.
pub(super) struct Source {
    client: Client,
    source: Box<SourceInfo>,
    /// Whether it was taken because nobody asked for another.
    usual: bool,
}

/// An open one; dropping it closes it, at once and without waiting for the server.
pub(super) struct Stream {
    /// That this is gone tells whoever looks after it.
    _open: std::sync::mpsc::Sender<()>,
}

impl Source {
    /// What the server calls it.
    pub(super) fn id(&self) -> String {
        text(&self.source.name)
    }

    /// What it is called for people.
    pub(super) fn name(&self) -> String {
        text(self.source.description.as_ref().unwrap_or(&self.source.name))
    }

    /// Whether it is no microphone but what a speaker plays.
    pub(super) fn is_monitor(&self) -> bool {
        self.source.monitor_of_sink_index.is_some() || self.id().ends_with(".monitor")
    }

    /// Whether nothing but silence comes from it, because the person wanted that.
    pub(super) fn is_muted(&self) -> bool {
        let volumes = self.source.cvolume.channels();
        self.source.muted || !volumes.is_empty() && volumes.iter().all(|volume| *volume == Volume::MUTED)
    }

    /// Samples a second. What is asked for is what it has: servers bring it to another rate faster than well.
    pub(super) fn rate(&self) -> u32 {
        self.source.sample_spec.sample_rate
    }

    pub(super) fn channels(&self) -> u16 {
        self.source.channel_map.num_channels().into()
    }

    /// Opens it, and answers when sound comes. With `care` it is lost when the desktop chooses another one, and says so
    /// there.
    pub(super) fn open(&self, mut writer: Writer, care: Option<Arc<Care>>) -> anyhow::Result<Stream> {
        let pieces = Arc::new(AtomicUsize::new(0));
        let channels = usize::from(self.channels().max(1));
        let (came, teller) = (Arc::clone(&pieces), writer.teller());
        let hear = move |bytes: &[u8]| {
            came.fetch_add(1, Ordering::Relaxed);
            write(bytes, channels, &mut writer);
        };
        let begun = wait(self.client.create_record_stream(self.wanted(), hear))
            .and_then(|stream| wait(stream.started()).map(|()| stream));
        let stream = begun.inspect_err(|_| {
            // A server that answers later opens the microphone then; it closes it when the connection ends.
            KNOWN.lock().unwrap_or_else(PoisonError::into_inner).take();
        })?;
        tracing::debug!(buffer = ?stream.buffer_attr(), "recording");
        let (open, closed) = channel();
        let choice = care.map(|care| Choice {
            client: self.client.clone(),
            open: self.id(),
            usual: self.usual,
            care,
        });
        if let Some(choice) = &choice {
            choice.care.muted.send_replace(self.is_muted());
        }
        thread::Builder::new()
            .name("microphone-care".to_owned())
            .spawn(move || look_after(&stream, &pieces, &teller, &closed, choice.as_ref()))?;
        Ok(Stream { _open: open })
    }

    fn wanted(&self) -> RecordStreamParams {
        let spec = SampleSpec {
            format: SampleFormat::Float32Le,
            ..self.source.sample_spec
        };
        let frames = u128::from(spec.sample_rate) * PIECE.as_millis() / 1000;
        let bytes = frames * u128::from(spec.channels) * size_of::<f32>() as u128;
        let mut props = Props::new();
        props.set(Prop::MediaName, c"microphone");
        RecordStreamParams {
            sample_spec: spec,
            channel_map: self.source.channel_map,
            source_index: Some(self.source.index),
            buffer_attr: BufferAttr {
                fragment_size: u32::try_from(bytes).unwrap_or(u32::MAX),
                // As much as the server has room for, some megabytes: nothing is lost while this program has no processor.
                max_length: u32::MAX,
                ..BufferAttr::default()
            },
            flags: StreamFlags {
                // The source itself is asked to deliver as often; without, it keeps its own time and pieces are as large.
                adjust_latency: true,
                // Who unplugs a microphone did not choose the one that the server would go on with, which may be what the
                // speakers play.
                no_move: true,
                ..StreamFlags::default()
            },
            props,
            ..RecordStreamParams::default()
        }
    }
}

/// Holds the stream until nobody wants it any more. A server that takes a source away says so in a message that the client
/// does not understand: when no sound comes it is asked.
fn look_after(
    stream: &RecordStream,
    pieces: &AtomicUsize,
    teller: &Teller,
    closed: &Receiver<()>,
    choice: Option<&Choice>,
) {
    let (mut before, mut looks) = (0, 0_u32);
    while let Err(RecvTimeoutError::Timeout) = closed.recv_timeout(LOOK) {
        looks = looks.wrapping_add(1);
        if looks.is_multiple_of(CHOICE) && choice.is_some_and(Choice::is_due) {
            teller.lost("the desktop chose another one".to_owned());
            return;
        }
        let now = pieces.load(Ordering::Relaxed);
        if now != before {
            before = now;
            continue;
        }
        match asked(stream.timing_info()) {
            // It hangs, or has nothing to say: whoever listens sees how long that lasts.
            None | Some(Ok(_)) => {}
            Some(Err(error)) => {
                // Where there is another one, nobody has to be told that they lost this one.
                let another = choice.is_some_and(Choice::is_another);
                tracing::debug!(another, "the source is gone");
                teller.lost(error.to_string());
                return;
            }
        }
    }
}

/// Whether the desktop still wants the microphone that is open.
struct Choice {
    client: Client,
    /// What the server calls that.
    open: String,
    /// Whether it was taken because nobody asked for another.
    usual: bool,
    /// Told when it wants another one, and when it mutes this one.
    care: Arc<Care>,
}

impl Choice {
    /// Whether another one is to be opened now. Nobody is left in the middle of what they say for that.
    fn is_due(&self) -> bool {
        let Some(server) = Server::ask(self.client.clone()).ok() else {
            return false;
        };
        if let Some(open) = server.all().find(|source| source.id() == self.open) {
            let muted = open.is_muted();
            self.care
                .muted
                .send_if_modified(|before| std::mem::replace(before, muted) != muted);
        }
        !self.care.in_use.load(Ordering::Acquire) && self.is_another_of(&server)
    }

    /// Whether another microphone would be opened now. A server that does not answer has none.
    fn is_another(&self) -> bool {
        Server::ask(self.client.clone()).is_ok_and(|server| self.is_another_of(&server))
    }

    fn is_another_of(&self, server: &Server) -> bool {
        let usual = server.usual().filter(|_| self.usual);
        let another = usual.is_some_and(|usual| usual.id() != self.open);
        if another {
            self.care.changed.store(true, Ordering::Release);
        }
        another
    }
}

/// A connection to the server with this socket.
fn connect(path: &Path) -> anyhow::Result<Client> {
    let cookie = pulseaudio::cookie_path_from_env().and_then(|path| std::fs::read(path).ok());
    let kind = (AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC);
    let socket = rustix::net::socket_with(kind.0, kind.1, kind.2, None)?;
    // A server that hangs neither takes nor greets anybody. Afterwards the client waits in its own way.
    for timeout in [sockopt::Timeout::Send, sockopt::Timeout::Recv] {
        sockopt::set_socket_timeout(&socket, timeout, Some(BUILDING))?;
    }
    rustix::net::connect(&socket, &SocketAddrUnix::new(path)?)
        .with_context(|| format!("{} does not answer", path.display()))?;
    Ok(Client::new_unix(c"tiro", socket.into(), cookie)?)
}

/// The server's answer, if it comes in time.
fn wait<T>(answer: impl Future<Output = Result<T, ClientError>>) -> anyhow::Result<T> {
    match asked(answer) {
        Some(answer) => Ok(answer?),
        None => bail!("The sound server does not answer"),
    }
}

fn asked<T>(answer: impl Future<Output = T>) -> Option<T> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .ok()?;
    runtime.block_on(async { tokio::time::timeout(BUILDING, answer).await.ok() })
}

fn text(name: &CStr) -> String {
    name.to_string_lossy().into_owned()
}

/// Writes the mean of the channels, -1 to 1. A server cuts no frame in two.
fn write(bytes: &[u8], channels: usize, writer: &mut Writer) {
    let sample = |bytes: &[u8]| {
        bytes
            .try_into()
            .map_or(0.0, |bytes| sound(f32::from_le_bytes(bytes)))
    };
    let frames = bytes.chunks_exact(channels * size_of::<f32>());
    let mean = |frame: &[u8]| frame.chunks_exact(size_of::<f32>()).map(sample).sum::<f32>() / channels as f32;
    writer.write(frames.map(mean));
}
