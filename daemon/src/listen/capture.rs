//! The microphone: found by its name, open only while somebody is listened to, its channels mixed to one.
//!
//! Everything here may block, for as long as a sound server likes: it runs on the thread of one listening (`hearing`)
//! and never on the runtime.

use std::{
    fmt,
    sync::{Mutex, MutexGuard, PoisonError, mpsc::SyncSender},
    time::Duration,
};

use anyhow::{Context as _, bail};
use cpal::{
    BufferSize, Data, Device, ErrorKind, FromSample, Host, HostId, SampleFormat, SizedSample, Stream,
    StreamConfig,
    traits::{DeviceTrait as _, HostTrait as _, StreamTrait as _},
};

/// How long a stream may take to come about.
const BUILDING: Duration = Duration::from_secs(3);

/// A microphone that is there, still closed.
pub struct Microphone {
    device: Device,
    /// What leads to it.
    way: Way,
    name: String,
    config: StreamConfig,
    format: SampleFormat,
}

/// What a microphone delivers.
#[derive(Debug)]
pub enum Block {
    /// The next samples, mono, at the rate of the microphone.
    Sound(Vec<f32>),
    /// It is gone; why, for the log.
    Lost(String),
}

/// The microphone with this name, or the one that the desktop chose when the name is empty.
///
/// # Errors
/// When there is none; says which there are.
pub fn find(wanted: &str) -> anyhow::Result<Microphone> {
    let (ways, unreached) = ways();
    if let (true, Some(error)) = (ways.is_empty(), unreached) {
        return Err(error).context("The sound server cannot be reached");
    }
    if wanted.is_empty() {
        let usual = ways.into_iter().find_map(|way| {
            // Where there is no microphone, PulseAudio offers what the speakers play.
            let device = way.usual().filter(|device| !is_monitor(device))?;
            Microphone::of(way, device).ok()
        });
        return usual
            .context("There is no microphone. Plug one in, or name one with listen.device in the config.");
    }
    let mut names = Vec::new();
    for way in ways {
        for device in way.all() {
            let (id, name) = (id_of(&device), name_of(&device));
            if id == wanted || name.eq_ignore_ascii_case(wanted) {
                return Microphone::of(way, device)
                    .with_context(|| format!("The microphone {wanted} cannot be used"));
            }
            if !is_monitor(&device) && !names.contains(&name) {
                names.push(name);
            }
        }
    }
    if names.is_empty() {
        bail!("There is no microphone {wanted} (listen.device in the config), nor any other.");
    }
    bail!(
        "There is no microphone {wanted} (listen.device in the config). There is: {}.",
        names.join(", ")
    )
}

impl Microphone {
    fn of(way: Way, device: Device) -> anyhow::Result<Microphone> {
        let usual = device.default_input_config()?;
        let mut config = usual.config();
        // Chosen by what the server does with it: PulseAudio loses sound when its buffer is one short piece, and
        // PipeWire fills pieces of two seconds when nothing is asked for.
        config.buffer_size = match way.name.contains("PipeWire") {
            true => BufferSize::Fixed(512),
            false => BufferSize::Default,
        };
        Ok(Microphone {
            name: name_of(&device),
            way,
            format: usual.sample_format(),
            device,
            config,
        })
    }

    /// Samples a second of what it delivers.
    pub fn rate(&self) -> u32 {
        self.config.sample_rate
    }

    /// Opens it. Blocks for which there is no room are lost; dropping the stream closes it, which may block when the
    /// server does not answer any more.
    ///
    /// # Errors
    /// What the system says against it.
    pub fn open(&self, blocks: SyncSender<Block>) -> anyhow::Result<Stream> {
        let channels = usize::from(self.config.channels.max(1));
        let lost = blocks.clone();
        let format = self.format;
        let stream = self.device.build_input_stream_raw(
            self.config,
            format,
            move |data, _| {
                if blocks.try_send(Block::Sound(mono(data, channels))).is_err() {
                    tracing::debug!("sound was lost");
                }
            },
            move |error| match error.kind() {
                // It goes on.
                ErrorKind::DeviceChanged | ErrorKind::RealtimeDenied | ErrorKind::Xrun => {
                    tracing::debug!(%error, "the microphone");
                }
                // When there is no room for this either, the silence that follows tells.
                _ => drop(lost.try_send(Block::Lost(error.to_string()))),
            },
            Some(BUILDING),
        );
        let stream = stream.with_context(|| format!("The microphone {} cannot be opened", self.name))?;
        stream
            .play()
            .with_context(|| format!("The microphone {} does not start", self.name))?;
        Ok(stream)
    }
}

impl fmt::Display for Microphone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (rate, channels) = (self.config.sample_rate, self.config.channels);
        let channels = match channels {
            1 => "mono".to_owned(),
            n => format!("{n} channels"),
        };
        write!(
            f,
            "{} through {}, {rate} Hz, {channels}",
            self.name, self.way.name
        )
    }
}

/// A way to microphones; a sound server stays connected when it is dropped, for the next one who looks. The client of
/// PulseAudio cannot be trusted to end with its connection: its thread then waits for ever for something to wake it.
struct Way {
    /// There until it is dropped.
    host: Option<Host>,
    /// What it is called: "pulseaudio", "PulseAudio (on PipeWire 1.4.2)", "ALSA".
    name: String,
}

/// The connection that nobody uses now.
static IDLE: Mutex<Option<(Host, String)>> = Mutex::new(None);

fn idle() -> MutexGuard<'static, Option<(Host, String)>> {
    IDLE.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Way {
    fn to(id: HostId) -> Result<Way, cpal::Error> {
        let host = cpal::host_from_id(id)?;
        Ok(Way {
            name: server_of(&host).unwrap_or_else(|| id.to_string()),
            host: Some(host),
        })
    }

    /// The one that was used before, if its server still answers.
    #[cfg(target_os = "linux")]
    fn known() -> Option<Way> {
        let (host, name) = idle().take()?;
        host.devices().ok()?;
        Some(Way {
            host: Some(host),
            name,
        })
    }

    fn usual(&self) -> Option<Device> {
        self.host.as_ref()?.default_input_device()
    }

    fn all(&self) -> impl Iterator<Item = Device> + use<> {
        let devices = self.host.as_ref().and_then(|host| host.input_devices().ok());
        devices.into_iter().flatten()
    }
}

impl Drop for Way {
    fn drop(&mut self) {
        if let Some(host) = self.host.take()
            && is_server(&host)
        {
            idle().get_or_insert((host, std::mem::take(&mut self.name)));
        }
    }
}

/// What leads to microphones here, the best first, and why another does not.
#[cfg(target_os = "linux")]
fn ways() -> (Vec<Way>, Option<cpal::Error>) {
    let (mut ways, mut unreached) = (Vec::new(), None);
    let mut add = |way: Result<Way, cpal::Error>| match way {
        Ok(way) => ways.push(way),
        Err(error) => unreached = Some(error),
    };
    if cpal::available_hosts().contains(&HostId::PulseAudio) {
        super::cookie::ensure();
        add(Way::known().map_or_else(|| Way::to(HostId::PulseAudio), Ok));
    }
    // Without a card and without a server somewhere else ALSA only complains on stderr.
    let cards = std::fs::read_to_string("/proc/asound/cards").unwrap_or_default();
    let card = |line: &str| line.trim_start().starts_with(|c: char| c.is_ascii_digit());
    let elsewhere = |address: std::ffi::OsString| !address.to_string_lossy().starts_with("unix:");
    if cards.lines().any(card) || std::env::var_os("PULSE_SERVER").is_some_and(elsewhere) {
        add(Way::to(HostId::Alsa));
    }
    (ways, unreached)
}

#[cfg(not(target_os = "linux"))]
fn ways() -> (Vec<Way>, Option<cpal::Error>) {
    match Way::to(cpal::default_host().id()) {
        Ok(way) => (vec![way], None),
        Err(error) => (Vec::new(), Some(error)),
    }
}

#[cfg(target_os = "linux")]
fn is_server(host: &Host) -> bool {
    host.id() == HostId::PulseAudio
}

#[cfg(not(target_os = "linux"))]
fn is_server(_: &Host) -> bool {
    false
}

/// What the sound server behind a host that has one calls itself.
#[cfg(target_os = "linux")]
fn server_of(host: &Host) -> Option<String> {
    if !is_server(host) {
        return None;
    }
    let client = pulseaudio::Client::from_env(c"tiro").ok()?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .ok()?;
    let info = runtime.block_on(async { tokio::time::timeout(BUILDING, client.server_info()).await });
    let name = info.ok()?.ok()?.server_name?;
    Some(name.to_string_lossy().into_owned())
}

#[cfg(not(target_os = "linux"))]
fn server_of(_: &Host) -> Option<String> {
    None
}

fn name_of(device: &Device) -> String {
    device
        .description()
        .map_or_else(|_| id_of(device), |d| d.name().to_owned())
}

fn id_of(device: &Device) -> String {
    device.id().map(|id| id.id().to_owned()).unwrap_or_default()
}

/// Whether it is no microphone but what a speaker plays.
fn is_monitor(device: &Device) -> bool {
    id_of(device).ends_with(".monitor")
}

/// The mean of the channels, -1 to 1.
fn mono(data: &Data, channels: usize) -> Vec<f32> {
    fn mean<T: SizedSample>(data: &Data, channels: usize) -> Vec<f32>
    where
        f32: FromSample<T>,
    {
        let frames = data.as_slice::<T>().unwrap_or_default().chunks_exact(channels);
        let mean = |frame: &[T]| frame.iter().map(|s| sound(s.to_sample())).sum::<f32>() / channels as f32;
        frames.map(mean).collect()
    }
    match data.sample_format() {
        SampleFormat::F32 => mean::<f32>(data, channels),
        SampleFormat::F64 => mean::<f64>(data, channels),
        SampleFormat::I8 => mean::<i8>(data, channels),
        SampleFormat::I16 => mean::<i16>(data, channels),
        SampleFormat::I24 => mean::<cpal::I24>(data, channels),
        SampleFormat::I32 => mean::<i32>(data, channels),
        SampleFormat::U8 => mean::<u8>(data, channels),
        SampleFormat::U16 => mean::<u16>(data, channels),
        SampleFormat::U32 => mean::<u32>(data, channels),
        // Nothing then, and the watchdog says so.
        _ => Vec::new(),
    }
}

/// What is not a number is silence, what is too loud is clipped.
fn sound(sample: f32) -> f32 {
    if sample.is_nan() {
        0.0
    } else {
        sample.clamp(-1.0, 1.0)
    }
}
