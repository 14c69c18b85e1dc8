//! The microphone: found by its name, open only while somebody is listened to, its channels mixed to one.
//!
//! Everything here may block, for as long as a sound server likes: it runs on the thread of one listening (`hearing`)
//! and never on the runtime.

#[cfg(target_os = "linux")]
mod pulse;

use std::{
    any::Any,
    fmt,
    sync::{Arc, atomic::AtomicBool},
    time::Duration,
};

use anyhow::{Context as _, bail};
use cpal::{
    Data, Device, ErrorKind, FromSample, Host, HostId, SampleFormat, SizedSample, StreamConfig,
    traits::{DeviceTrait as _, HostTrait as _, StreamTrait as _},
};
use tokio::sync::watch;

use super::pipe::Writer;

/// How long a sound server may take to answer, and a stream to come about.
const BUILDING: Duration = Duration::from_secs(3);

/// A microphone that is there, still closed.
pub struct Microphone {
    name: String,
    /// What leads to it: "pulseaudio", "PulseAudio (on PipeWire 1.4.2)", "ALSA".
    way: String,
    device: Closed,
}

enum Closed {
    #[cfg(target_os = "linux")]
    Source(pulse::Source),
    Device(Device, StreamConfig, SampleFormat),
}

/// An open microphone; dropping it closes it, which may block when the system does not answer any more.
pub struct Stream {
    /// What closes it.
    _open: Box<dyn Any>,
}

/// What is known of a microphone that stays open, beside its sound.
#[derive(Debug, Default)]
pub struct Care {
    /// Whether somebody is listened to: another microphone that the desktop chose waits until they have finished.
    pub in_use: AtomicBool,
    /// Whether it was lost because the desktop chose another one.
    pub changed: AtomicBool,
    /// Whether it is muted in the settings of the desktop, or turned down to nothing; where that can be told.
    pub muted: watch::Sender<bool>,
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
        let usual = ways.iter().find_map(|way| {
            let found = way.usual().filter(|found| !found.is_monitor())?;
            found.closed(way.name()).ok()
        });
        return usual
            .context("There is no microphone. Plug one in, or name one with listen.device in the config.");
    }
    let mut names = Vec::new();
    for way in &ways {
        for found in way.all() {
            if found.id == wanted || found.name.eq_ignore_ascii_case(wanted) {
                return found
                    .closed(way.name())
                    .with_context(|| format!("The microphone {wanted} cannot be used"));
            }
            if !found.is_monitor() && !names.contains(&found.name) {
                names.push(found.name);
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
    /// Samples a second of what it delivers.
    pub fn rate(&self) -> u32 {
        match &self.device {
            #[cfg(target_os = "linux")]
            Closed::Source(source) => source.rate(),
            Closed::Device(_, config, _) => config.sample_rate,
        }
    }

    fn channels(&self) -> u16 {
        match &self.device {
            #[cfg(target_os = "linux")]
            Closed::Source(source) => source.channels(),
            Closed::Device(_, config, _) => config.channels,
        }
    }

    /// Whether it was muted in the settings of the desktop, or turned down to nothing, when it was found; where that can be
    /// told.
    pub fn is_muted(&self) -> bool {
        match &self.device {
            #[cfg(target_os = "linux")]
            Closed::Source(source) => source.is_muted(),
            Closed::Device(..) => false,
        }
    }

    /// Opens it. Blocks for which there is no room are lost.
    ///
    /// # Errors
    /// What the system says against it.
    pub fn open(&self, writer: Writer) -> anyhow::Result<Stream> {
        self.open_for(writer, None)
    }

    /// Opens it to stay open. Where it was found because the desktop chose it, it is lost when that chooses another one.
    ///
    /// # Errors
    /// As `open`.
    pub fn open_to_stay(&self, writer: Writer, care: Arc<Care>) -> anyhow::Result<Stream> {
        self.open_for(writer, Some(care))
    }

    fn open_for(&self, writer: Writer, care: Option<Arc<Care>>) -> anyhow::Result<Stream> {
        let open: anyhow::Result<Box<dyn Any>> = match &self.device {
            #[cfg(target_os = "linux")]
            Closed::Source(source) => source.open(writer, care).map(|stream| Box::new(stream) as _),
            Closed::Device(device, config, format) => {
                open(device, config, *format, writer).map(|stream| Box::new(stream) as _)
            }
        };
        let open = open.with_context(|| format!("The microphone {} cannot be opened", self.name))?;
        Ok(Stream { _open: open })
    }
}

fn open(
    device: &Device,
    config: &StreamConfig,
    format: SampleFormat,
    mut writer: Writer,
) -> anyhow::Result<cpal::Stream> {
    let channels = usize::from(config.channels.max(1));
    let teller = writer.teller();
    let stream = device.build_input_stream_raw(
        *config,
        format,
        move |data, _| write(data, channels, &mut writer),
        move |error| match error.kind() {
            // It goes on.
            ErrorKind::DeviceChanged | ErrorKind::RealtimeDenied | ErrorKind::Xrun => {
                tracing::debug!(%error, "the microphone");
            }
            _ => teller.lost(error.to_string()),
        },
        Some(BUILDING),
    )?;
    stream.play().context("It does not start")?;
    Ok(stream)
}

impl fmt::Display for Microphone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let channels = match self.channels() {
            1 => "mono".to_owned(),
            n => format!("{n} channels"),
        };
        write!(
            f,
            "{} through {}, {} Hz, {channels}",
            self.name,
            self.way,
            self.rate()
        )
    }
}

/// A way to microphones.
enum Way {
    #[cfg(target_os = "linux")]
    Server(pulse::Server),
    Host(Host),
}

/// What a way leads to.
struct Found {
    /// What the system calls it.
    id: String,
    /// What it is called for people.
    name: String,
    kind: Kind,
}

enum Kind {
    #[cfg(target_os = "linux")]
    Source(pulse::Source),
    Device(Device),
}

impl Way {
    fn name(&self) -> String {
        match self {
            #[cfg(target_os = "linux")]
            Way::Server(server) => server.name.clone(),
            Way::Host(host) => host.id().name().to_owned(),
        }
    }

    fn usual(&self) -> Option<Found> {
        match self {
            #[cfg(target_os = "linux")]
            Way::Server(server) => server.usual().map(Found::source),
            Way::Host(host) => host.default_input_device().map(Found::device),
        }
    }

    fn all(&self) -> Vec<Found> {
        match self {
            #[cfg(target_os = "linux")]
            Way::Server(server) => server.all().map(Found::source).collect(),
            Way::Host(host) => host
                .input_devices()
                .into_iter()
                .flatten()
                .map(Found::device)
                .collect(),
        }
    }
}

impl Found {
    #[cfg(target_os = "linux")]
    fn source(source: pulse::Source) -> Found {
        Found {
            id: source.id(),
            name: source.name(),
            kind: Kind::Source(source),
        }
    }

    fn device(device: Device) -> Found {
        let id = device.id().map(|id| id.id().to_owned()).unwrap_or_default();
        let described = device.description().map(|d| d.name().to_owned());
        Found {
            name: described.unwrap_or_else(|_| id.clone()),
            id,
            kind: Kind::Device(device),
        }
    }

    /// Whether it is no microphone but what a speaker plays.
    fn is_monitor(&self) -> bool {
        match &self.kind {
            #[cfg(target_os = "linux")]
            Kind::Source(source) => source.is_monitor(),
            Kind::Device(_) => self.id.ends_with(".monitor"),
        }
    }

    fn closed(self, way: String) -> anyhow::Result<Microphone> {
        let device = match self.kind {
            #[cfg(target_os = "linux")]
            Kind::Source(source) => Closed::Source(source),
            Kind::Device(device) => {
                let usual = device.default_input_config()?;
                Closed::Device(device, usual.config(), usual.sample_format())
            }
        };
        Ok(Microphone {
            name: self.name,
            way,
            device,
        })
    }
}

/// What leads to microphones here, the best first, and why another does not.
#[cfg(target_os = "linux")]
fn ways() -> (Vec<Way>, Option<anyhow::Error>) {
    let (mut ways, mut unreached) = (Vec::new(), None);
    match pulse::Server::reach() {
        Ok(server) => ways.extend(server.map(Way::Server)),
        Err(error) => unreached = Some(error),
    }
    // Without a card and without a server somewhere else ALSA only complains on stderr.
    let cards = std::fs::read_to_string("/proc/asound/cards").unwrap_or_default();
    let card = |line: &str| line.trim_start().starts_with(|c: char| c.is_ascii_digit());
    let elsewhere = |address: std::ffi::OsString| !address.to_string_lossy().starts_with("unix:");
    if cards.lines().any(card) || std::env::var_os("PULSE_SERVER").is_some_and(elsewhere) {
        match cpal::host_from_id(HostId::Alsa) {
            Ok(host) => ways.push(Way::Host(host)),
            Err(error) => unreached = Some(error.into()),
        }
    }
    (ways, unreached)
}

#[cfg(not(target_os = "linux"))]
fn ways() -> (Vec<Way>, Option<anyhow::Error>) {
    match cpal::host_from_id(cpal::default_host().id()) {
        Ok(host) => (vec![Way::Host(host)], None),
        Err(error) => (Vec::new(), Some(error.into())),
    }
}

/// Writes the mean of the channels, -1 to 1.
fn write(data: &Data, channels: usize, writer: &mut Writer) {
    fn mean<T: SizedSample>(data: &Data, channels: usize, writer: &mut Writer)
    where
        f32: FromSample<T>,
    {
        let frames = data.as_slice::<T>().unwrap_or_default().chunks_exact(channels);
        let mean = |frame: &[T]| frame.iter().map(|s| sound(s.to_sample())).sum::<f32>() / channels as f32;
        writer.write(frames.map(mean));
    }
    match data.sample_format() {
        SampleFormat::F32 => mean::<f32>(data, channels, writer),
        SampleFormat::F64 => mean::<f64>(data, channels, writer),
        SampleFormat::I8 => mean::<i8>(data, channels, writer),
        SampleFormat::I16 => mean::<i16>(data, channels, writer),
        SampleFormat::I24 => mean::<cpal::I24>(data, channels, writer),
        SampleFormat::I32 => mean::<i32>(data, channels, writer),
        SampleFormat::U8 => mean::<u8>(data, channels, writer),
        SampleFormat::U16 => mean::<u16>(data, channels, writer),
        SampleFormat::U32 => mean::<u32>(data, channels, writer),
        // Nothing then, and the watchdog says so.
        _ => {}
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
