//! A WAV file of any rate, channels and sample format as what recognisers take: mono, 16 kHz, -1 to 1.
//!
//! The chunks are walked here and not by hound, which refuses files that are in use (an odd chunk with its pad
//! byte, 32-bit samples in a plain header, 64-bit floats, a wrong byte rate) and cannot say how much is missing.

use std::{
    fs::{self, File},
    io::{BufReader, Read, Seek, SeekFrom},
    path::Path,
};

use anyhow::{Context as _, bail, ensure};
use models::stt::SAMPLE_RATE;

use super::resample::Resampler;

/// Longest recording, seconds.
pub const MAX_SECONDS: u64 = 600;
/// Largest file, bytes.
pub const MAX_BYTES: u64 = 200 << 20;
/// Slowest and fastest sampling, Hz.
const RATES: std::ops::RangeInclusive<u32> = 4_000..=384_000;
const MAX_CHANNELS: u16 = 64;
/// Frames that are read in one go.
const BLOCK: usize = 4096;

/// Reads a WAV file as mono, 16 kHz, -1 to 1, every sample a finite number.
///
/// # Errors
/// When it cannot be read, is not a WAV, holds no sound, is cut off, is too long, or is coded in another way; each
/// says what is wrong with which file and what to do.
pub fn read(path: &Path) -> anyhow::Result<Vec<f32>> {
    let name = path.display();
    let meta = fs::metadata(path).with_context(|| format!("The file {name} cannot be read"))?;
    // Asked before opening: opening a named pipe would wait for somebody to write into it.
    ensure!(meta.is_file(), "{name} is not a file.");
    let file = File::open(path).with_context(|| format!("The file {name} cannot be read"))?;
    decode(BufReader::new(file), meta.len()).with_context(|| format!("The sound file {name} cannot be used"))
}

/// Decodes a WAV of `size` bytes.
///
/// # Errors
/// As `read`, without the name of the file.
pub fn decode(mut source: impl Read + Seek, size: u64) -> anyhow::Result<Vec<f32>> {
    ensure!(size > 0, "It is empty (0 bytes). Record it again.");
    ensure!(
        size <= MAX_BYTES,
        "It has {} MiB and at most {} are taken. Cut it.",
        size >> 20,
        MAX_BYTES >> 20
    );
    let (format, bytes) = header(&mut source, size)?;
    let frame = u64::from(format.channels) * format.coding.bytes() as u64;
    let frames = bytes / frame;
    ensure!(frames > 0, "It holds no sound (0 samples). Record it again.");
    let seconds = frames / u64::from(format.rate);
    ensure!(
        seconds < MAX_SECONDS,
        "It is {} minutes long and at most {} are taken. Cut it.",
        seconds / 60,
        MAX_SECONDS / 60
    );
    convert(source, format, frames as usize)
}

/// How a file holds its samples.
#[derive(Debug, Clone, Copy)]
struct Format {
    /// Samples a second in each channel, Hz.
    rate: u32,
    channels: u16,
    coding: Coding,
}

/// How one sample is written, little endian.
#[derive(Debug, Clone, Copy)]
enum Coding {
    U8,
    I16,
    I24,
    I32,
    F32,
    F64,
}

impl Coding {
    fn bytes(self) -> usize {
        match self {
            Coding::U8 => 1,
            Coding::I16 => 2,
            Coding::I24 => 3,
            Coding::I32 | Coding::F32 => 4,
            Coding::F64 => 8,
        }
    }

    /// One sample, -1 to 1. What is not a number is silence, what is too loud is clipped.
    fn sample(self, b: &[u8]) -> f32 {
        let value = match (self, b) {
            (Coding::U8, &[a]) => (f32::from(a) - 128.0) / 128.0,
            (Coding::I16, &[a, b]) => f32::from(i16::from_le_bytes([a, b])) / 32_768.0,
            (Coding::I24, &[a, b, c]) => i32::from_le_bytes([0, a, b, c]) as f32 / 2_147_483_648.0,
            (Coding::I32, &[a, b, c, d]) => i32::from_le_bytes([a, b, c, d]) as f32 / 2_147_483_648.0,
            (Coding::F32, &[a, b, c, d]) => f32::from_le_bytes([a, b, c, d]),
            (Coding::F64, &[a, b, c, d, e, f, g, h]) => f64::from_le_bytes([a, b, c, d, e, f, g, h]) as f32,
            _ => 0.0,
        };
        if value.is_nan() {
            0.0
        } else {
            value.clamp(-1.0, 1.0)
        }
    }
}

/// Walks the chunks up to the samples: their format and their length in bytes.
fn header(source: &mut (impl Read + Seek), size: u64) -> anyhow::Result<(Format, u64)> {
    let mut head = [0; 12];
    let got = fill(source, &mut head)?;
    ensure!(
        &head[..4] == b"RIFF" && &head[8..] == b"WAVE",
        "It is {}.",
        looks_like(&head[..got])
    );
    let riff = u64::from(le32(&head[4..8]));
    let mut at = 12;
    let mut format = None;
    loop {
        let mut chunk = [0; 8];
        let got = fill(source, &mut chunk)?;
        ensure!(
            got == 8,
            "It ends at byte {} before its sound begins: the copy or the recording was cut off.",
            at + got as u64
        );
        at += 8;
        let length = u64::from(le32(&chunk[4..]));
        let rest = size.saturating_sub(at);
        match &chunk[..4] {
            b"data" => {
                let Some(format) = format else {
                    bail!("It does not say how its sound is coded.")
                };
                // A program that writes into a pipe cannot know the length and writes the largest number.
                if length == u64::from(u32::MAX) && riff == length {
                    return Ok((format, rest));
                }
                ensure!(
                    length <= rest,
                    "It promises {length} bytes of sound and holds {rest}: the copy or the recording was cut off."
                );
                return Ok((format, length));
            }
            b"fmt " => {
                let mut bytes = [0; 40];
                let wanted = bytes.len().min(length as usize);
                let got = fill(source, &mut bytes[..wanted])?;
                format = Some(format_of(&bytes[..got])?);
            }
            _ => {}
        }
        // Chunks begin at even offsets.
        at = at.saturating_add(length + length % 2);
        source.seek(SeekFrom::Start(at)).context("Reading failed")?;
    }
}

/// The `fmt ` chunk: WAVEFORMAT, WAVEFORMATEX or WAVEFORMATEXTENSIBLE (mmreg.h of the Windows SDK).
fn format_of(chunk: &[u8]) -> anyhow::Result<Format> {
    ensure!(chunk.len() >= 16, "Its description of the sound is cut off.");
    let (mut tag, channels, rate) = (le16(chunk), le16(&chunk[2..]), le32(&chunk[4..]));
    let block = le16(&chunk[12..]);
    if tag == 0xfffe {
        ensure!(chunk.len() >= 26, "Its description of the sound is cut off.");
        // The first two bytes of the sub-format's GUID are the tag that a plain header would have.
        tag = le16(&chunk[24..]);
    }
    ensure!(
        (1..=MAX_CHANNELS).contains(&channels),
        "It says that it has {channels} channels; 1 to {MAX_CHANNELS} are taken."
    );
    ensure!(
        RATES.contains(&rate),
        "It says that it has {rate} samples a second; {} to {} are taken.",
        RATES.start(),
        RATES.end()
    );
    // The container counts, not the valid bits: those stand at its upper end.
    let coding = match (tag, block / channels, block % channels) {
        (1, 1, 0) => Coding::U8,
        (1, 2, 0) => Coding::I16,
        (1, 3, 0) => Coding::I24,
        (1, 4, 0) => Coding::I32,
        (3, 4, 0) => Coding::F32,
        (3, 8, 0) => Coding::F64,
        (1 | 3, _, _) => {
            bail!("It says that {channels} samples take {block} bytes, which is no format of WAV.")
        }
        _ => bail!("Its sound is coded as {}. Convert it to plain PCM.", codec(tag)),
    };
    Ok(Format {
        rate,
        channels,
        coding,
    })
}

/// Mixes to mono and resamples, block by block, so that only the result is held in memory.
fn convert(mut source: impl Read, format: Format, frames: usize) -> anyhow::Result<Vec<f32>> {
    let mut resampler = Resampler::new(format.rate)?;
    let wanted = (frames as u64 * u64::from(SAMPLE_RATE)).div_ceil(u64::from(format.rate)) as usize;
    let mut samples = Vec::with_capacity(wanted);
    let mut block = vec![0.0; frames.min(BLOCK)];
    let mut left = frames;
    while left > 0 {
        let block = &mut block[..left.min(BLOCK)];
        mix(&mut source, format, block)?;
        resampler.push(block, &mut samples)?;
        left -= block.len();
    }
    resampler.finish(&mut samples)?;
    Ok(samples)
}

/// Fills `mono` with the mean of the channels.
fn mix(source: &mut impl Read, format: Format, mono: &mut [f32]) -> anyhow::Result<()> {
    let width = format.coding.bytes();
    let frame = width * usize::from(format.channels);
    let mut bytes = vec![0; frame * mono.len().min(BLOCK)];
    for block in mono.chunks_mut(BLOCK) {
        let bytes = &mut bytes[..frame * block.len()];
        source
            .read_exact(bytes)
            .context("It became shorter while it was read")?;
        for (sample, frame) in block.iter_mut().zip(bytes.chunks_exact(frame)) {
            let sum: f32 = frame.chunks_exact(width).map(|b| format.coding.sample(b)).sum();
            *sample = sum / f32::from(format.channels);
        }
    }
    Ok(())
}

/// Reads until the buffer is full or the file ends.
fn fill(source: &mut impl Read, buffer: &mut [u8]) -> anyhow::Result<usize> {
    let mut taken = source.take(buffer.len() as u64);
    let mut got = 0;
    while got < buffer.len() {
        match taken.read(&mut buffer[got..]).context("Reading failed")? {
            0 => break,
            n => got += n,
        }
    }
    Ok(got)
}

fn le16(bytes: &[u8]) -> u16 {
    bytes.first_chunk().map_or(0, |b| u16::from_le_bytes(*b))
}

fn le32(bytes: &[u8]) -> u32 {
    bytes.first_chunk().map_or(0, |b| u32::from_le_bytes(*b))
}

/// What a file is that does not begin as a WAV, and what to do.
fn looks_like(head: &[u8]) -> String {
    let known: &[(&[u8], &str)] = &[
        (b"ID3", "an MP3"),
        (b"OggS", "an Ogg file"),
        (b"fLaC", "a FLAC"),
        (b"RF64", "an RF64 file"),
        (b"BW64", "a BW64 file"),
        (b"RIFX", "a big-endian WAV"),
        (b"FORM", "an AIFF"),
        (b"caff", "a CAF file"),
        (b".snd", "an AU file"),
        (b"\x1aE\xdf\xa3", "a WebM or Matroska file"),
        (b"#!AMR", "an AMR file"),
        (b"RIFF", "a RIFF file of another kind"),
    ];
    let kind = known
        .iter()
        .find(|(magic, _)| head.starts_with(magic))
        .map(|(_, kind)| *kind);
    let mpeg = head.len() > 1 && head[0] == 0xff && head[1] & 0xe0 == 0xe0;
    let kind = match kind {
        _ if head.len() < 12 => "",
        Some(kind) => kind,
        None if head.get(4..8) == Some(b"ftyp") => "an M4A or MP4",
        // Eleven set bits begin an MPEG frame; the layer bits tell AAC (none) from MP3.
        None if mpeg && head[1] & 0x06 == 0 => "an AAC",
        None if mpeg => "an MP3",
        None => "",
    };
    match kind {
        "" if head.len() < 12 => format!("only {} bytes long, too short for a WAV", head.len()),
        "" => "not a WAV".to_owned(),
        kind => format!("{kind}, not a WAV; convert it first, for example with ffmpeg"),
    }
}

/// Names of the codecs that people meet (mmreg.h).
fn codec(tag: u16) -> String {
    match tag {
        2 => "Microsoft ADPCM",
        6 => "A-law",
        7 => "mu-law",
        0x11 => "IMA ADPCM",
        0x31 => "GSM 6.10",
        0x50 | 0x55 => "MPEG",
        0xff | 0x1600 | 0x1610 => "AAC",
        0x161 | 0x162 => "Windows Media Audio",
        _ => return format!("format {tag:#06x}, which is not known here"),
    }
    .to_owned()
}

#[cfg(test)]
mod tests;
