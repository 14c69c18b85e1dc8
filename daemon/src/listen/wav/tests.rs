//! Files of every format and rate, written by an independent writer or by hand; real recordings; broken ones.

use std::{f64::consts::TAU, io::Cursor};

use hound::{SampleFormat, WavSpec, WavWriter};
use proptest::prelude::*;

use super::*;

/// A WAV of so many frames; `wave` gives the value at a second, -1 to 1, for each channel.
fn wav(
    rate: u32,
    channels: u16,
    bits: u16,
    float: bool,
    frames: u32,
    wave: impl Fn(f64, u16) -> f64,
) -> Vec<u8> {
    let sample_format = if float {
        SampleFormat::Float
    } else {
        SampleFormat::Int
    };
    let spec = WavSpec {
        channels,
        sample_rate: rate,
        bits_per_sample: bits,
        sample_format,
    };
    let mut bytes = Cursor::new(Vec::new());
    let mut writer = WavWriter::new(&mut bytes, spec).unwrap();
    for frame in 0..frames {
        for channel in 0..channels {
            let value = wave(f64::from(frame) / f64::from(rate), channel);
            if float {
                writer.write_sample(value as f32).unwrap();
            } else {
                writer
                    .write_sample((value * 2f64.powi(i32::from(bits) - 1)).round() as i32)
                    .unwrap();
            }
        }
    }
    writer.finalize().unwrap();
    bytes.into_inner()
}

/// A WAV by hand: tag, channels, rate, block, then chunks as they stand.
fn by_hand(tag: u16, channels: u16, rate: u32, block: u16, chunks: &[(&[u8; 4], u32, &[u8])]) -> Vec<u8> {
    let mut bytes = b"RIFF\0\0\0\0WAVEfmt \x10\0\0\0".to_vec();
    bytes.extend(tag.to_le_bytes());
    bytes.extend(channels.to_le_bytes());
    bytes.extend(rate.to_le_bytes());
    // A wrong byte rate on purpose: programs write it, nobody needs it.
    bytes.extend(7u32.to_le_bytes());
    bytes.extend(block.to_le_bytes());
    bytes.extend((block / channels.max(1) * 8).to_le_bytes());
    for (id, length, content) in chunks {
        bytes.extend(*id);
        bytes.extend(length.to_le_bytes());
        bytes.extend(*content);
    }
    bytes
}

fn decoded(bytes: &[u8]) -> anyhow::Result<Vec<f32>> {
    decode(Cursor::new(bytes), bytes.len() as u64)
}

/// Amplitude and phase of a tone in `samples`, by projection on sine and cosine.
fn tone(samples: &[f32], hertz: f64) -> (f64, f64) {
    let (mut sin, mut cos) = (0.0, 0.0);
    for (n, sample) in samples.iter().enumerate() {
        let angle = TAU * hertz * n as f64 / f64::from(SAMPLE_RATE);
        sin += f64::from(*sample) * angle.sin();
        cos += f64::from(*sample) * angle.cos();
    }
    let scale = 2.0 / samples.len() as f64;
    ((sin * scale).hypot(cos * scale), cos.atan2(sin))
}

#[test]
fn every_rate_and_format_keeps_level_pitch_and_place() {
    #[track_caller]
    fn check(rate: u32, channels: u16, bits: u16, float: bool, tolerance: f64) {
        let hertz = 1000.0;
        // Half a second, and not a whole number of blocks.
        let frames = rate / 2 + 3;
        let file = wav(rate, channels, bits, float, frames, |t, _| {
            0.5 * (TAU * hertz * t).sin()
        });
        let samples = decoded(&file).unwrap();
        let seconds = f64::from(frames) / f64::from(rate);
        assert!(
            (samples.len() as f64 - seconds * f64::from(SAMPLE_RATE)).abs() <= 1.0,
            "{} samples",
            samples.len()
        );
        // The edges ring; what counts lies between them, a whole number of periods.
        let inner = &samples[1600..][..(samples.len() - 3200) / 16 * 16];
        let (level, phase) = tone(inner, hertz);
        assert!((level - 0.5).abs() < tolerance, "level {level}");
        // 0.02 rad of 1 kHz are 3 microseconds, a twentieth of a sample.
        assert!(phase.abs() < 0.02, "phase {phase}");
        let rest: f64 = inner.iter().map(|s| f64::from(*s).powi(2)).sum::<f64>() / inner.len() as f64;
        assert!(
            (rest - 0.125).abs() < tolerance,
            "something else than the tone is in it: {rest}"
        );
    }
    for rate in [
        8000, 11_025, 12_000, 16_000, 22_050, 24_000, 32_000, 44_100, 48_000, 88_200, 96_000, 176_400,
        192_000,
    ] {
        for channels in [1, 2, 6] {
            check(rate, channels, 16, false, 1e-3);
        }
    }
    for (bits, float, tolerance) in [
        (8, false, 1e-2),
        (16, false, 1e-4),
        (24, false, 1e-6),
        (32, false, 1e-6),
        (32, true, 1e-6),
    ] {
        check(16_000, 2, bits, float, tolerance);
        // The filter itself is flat to 0.004 dB.
        check(44_100, 2, bits, float, tolerance.max(5e-4));
    }
    // Rates with no common divisor.
    check(15_991, 1, 16, false, 1e-3);
    check(47_999, 1, 16, false, 1e-3);
}

#[test]
fn what_16_khz_cannot_hold_is_gone_and_not_folded() {
    let file = wav(48_000, 1, 16, false, 48_000, |t, _| {
        0.5 * (TAU * 11_000.0 * t).sin()
    });
    let samples = decoded(&file).unwrap();
    let inner = &samples[1600..samples.len() - 1600];
    let (level, _) = tone(inner, 5000.0);
    let loudest = inner.iter().fold(0f32, |m, s| m.max(s.abs()));
    assert!(level < 1e-4 && loudest < 1e-3, "{level} {loudest}");
}

#[test]
fn a_click_stays_where_it_was() {
    let file = wav(48_000, 1, 16, false, 48_000, |t, _| {
        if (t - 0.25).abs() < 5e-6 { 0.9 } else { 0.0 }
    });
    let samples = decoded(&file).unwrap();
    let loudest = (0..samples.len())
        .max_by(|a, b| samples[*a].abs().total_cmp(&samples[*b].abs()))
        .unwrap();
    assert_eq!(loudest, 4000);
}

#[test]
fn channels_are_averaged() {
    let file = wav(
        16_000,
        2,
        16,
        false,
        100,
        |_, channel| if channel == 0 { 0.5 } else { 0.0 },
    );
    assert!(decoded(&file).unwrap().iter().all(|s| (s - 0.25).abs() < 1e-3));
}

#[test]
fn samples_are_finite_and_within_bounds() {
    let values = [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, 7.0, -7.0, 1e-40, 0.25];
    let data: Vec<u8> = values
        .iter()
        .cycle()
        .take(7000)
        .flat_map(|v| v.to_le_bytes())
        .collect();
    for rate in [16_000, 44_100] {
        let file = by_hand(3, 1, rate, 4, &[(b"data", data.len() as u32, &data)]);
        let samples = decoded(&file).unwrap();
        assert!(samples.iter().all(|s| s.is_finite() && s.abs() <= 1.0));
        assert!(samples.iter().any(|s| *s > 0.2));
    }
    let file = by_hand(3, 1, 16_000, 4, &[(b"data", 28, &data[..28])]);
    assert_eq!(decoded(&file).unwrap(), [0.0, 1.0, -1.0, 1.0, -1.0, 1e-40, 0.25]);
}

#[test]
fn headers_as_they_occur() {
    #[track_caller]
    fn check(what: &str, file: &[u8]) {
        let samples = decoded(file).unwrap_or_else(|e| panic!("{what}: {e:#}"));
        assert_eq!(samples, [0.5, -0.5], "{what}");
    }
    let pcm: &[u8] = &[0, 0x40, 0, 0xc0];
    check("plain", &by_hand(1, 1, 16_000, 2, &[(b"data", 4, pcm)]));
    check(
        "an odd chunk with its pad byte",
        &by_hand(1, 1, 16_000, 2, &[(b"LIST", 3, b"abc\0"), (b"data", 4, pcm)]),
    );
    check(
        "chunks behind the sound",
        &by_hand(1, 1, 16_000, 2, &[(b"data", 4, pcm), (b"LIST", 900, b"cut")]),
    );
    check(
        "half a frame at the end",
        &by_hand(1, 1, 16_000, 2, &[(b"data", 5, &[0, 0x40, 0, 0xc0, 9])]),
    );
    check(
        "32 bits in a plain header",
        &by_hand(1, 1, 16_000, 4, &[(b"data", 8, &[0, 0, 0, 0x40, 0, 0, 0, 0xc0])]),
    );
    let doubles: Vec<u8> = [0.5f64, -0.5].iter().flat_map(|v| v.to_le_bytes()).collect();
    check(
        "64-bit floats",
        &by_hand(3, 1, 16_000, 8, &[(b"data", 16, &doubles)]),
    );
    let mut streamed = by_hand(1, 1, 16_000, 2, &[(b"data", u32::MAX, pcm)]);
    streamed[4..8].fill(0xff);
    check("a length that the writer could not know", &streamed);
    // WAVEFORMATEXTENSIBLE: 22 more bytes of format, the tag at the head of the GUID.
    let mut extensible = by_hand(0xfffe, 1, 16_000, 2, &[(b"data", 4, pcm)]);
    extensible[16] = 40;
    let more = [
        22, 0, 16, 0, 4, 0, 0, 0, 1, 0, 0, 0, 0, 0, 16, 0, 0x80, 0, 0, 0xaa, 0, 0x38, 0x9b, 0x71,
    ];
    extensible.splice(36..36, more);
    check("extensible", &extensible);
}

#[test]
fn what_cannot_be_used_says_why_and_what_to_do() {
    #[track_caller]
    fn check(file: &[u8], expect: &str) {
        let error = format!("{:#}", decoded(file).unwrap_err());
        assert!(error.contains(expect), "{error:?} lacks {expect:?}");
    }
    let data = [0u8; 64];
    let pcm = |length: u32| by_hand(1, 1, 16_000, 2, &[(b"data", length, &data)]);
    check(b"", "empty (0 bytes)");
    check(b"RIFF", "only 4 bytes");
    check(b"hello, this is only text", "not a WAV");
    check(b"ID3\x04\0\0\0\0\0\0\0\0\0", "an MP3, not a WAV; convert");
    check(b"\xff\xfb\x90\x64\0\0\0\0\0\0\0\0\0", "an MP3");
    check(b"\xff\xf1\x50\x80\0\0\0\0\0\0\0\0\0", "an AAC");
    check(b"OggS\0\0\0\0\0\0\0\0\0", "an Ogg file");
    check(b"fLaC\0\0\0\0\0\0\0\0\0", "a FLAC");
    check(b"\0\0\0\x20ftypM4A \0\0\0\0", "an M4A or MP4");
    check(b"RIFF\x10\0\0\0AVI LIST\0\0\0\0", "a RIFF file of another kind");
    check(&pcm(1000), "promises 1000 bytes of sound and holds 64");
    check(&pcm(u32::MAX), "promises 4294967295 bytes");
    check(&pcm(0), "no sound (0 samples)");
    check(&pcm(1), "no sound (0 samples)");
    check(&pcm(64)[..30], "description of the sound is cut off");
    check(&pcm(64)[..40], "ends at byte 40 before its sound begins");
    check(
        &by_hand(1, 1, 16_000, 2, &[(b"LIST", 99_999, &data)]),
        "before its sound begins",
    );
    check(
        b"RIFF\0\0\0\0WAVEdata\x04\0\0\0abcd",
        "does not say how its sound is coded",
    );
    check(
        &by_hand(6, 1, 8000, 1, &[(b"data", 64, &data)]),
        "coded as A-law. Convert",
    );
    check(&by_hand(7, 1, 8000, 1, &[(b"data", 64, &data)]), "mu-law");
    check(
        &by_hand(2, 1, 8000, 256, &[(b"data", 64, &data)]),
        "Microsoft ADPCM",
    );
    check(&by_hand(0x11, 1, 8000, 256, &[(b"data", 64, &data)]), "IMA ADPCM");
    check(
        &by_hand(0xabcd, 1, 8000, 1, &[(b"data", 64, &data)]),
        "format 0xabcd",
    );
    check(
        &by_hand(1, 1, 16_000, 5, &[(b"data", 64, &data)]),
        "samples take 5 bytes",
    );
    check(&by_hand(1, 0, 16_000, 2, &[(b"data", 64, &data)]), "0 channels");
    check(
        &by_hand(1, 999, 16_000, 2, &[(b"data", 64, &data)]),
        "999 channels",
    );
    check(
        &by_hand(1, 1, 0, 2, &[(b"data", 64, &data)]),
        "0 samples a second",
    );
    check(
        &by_hand(1, 1, u32::MAX, 2, &[(b"data", 64, &data)]),
        "samples a second",
    );
    let long = vec![0; 8000 * 601];
    check(
        &by_hand(1, 1, 8000, 1, &[(b"data", long.len() as u32, &long)]),
        "10 minutes long",
    );
    let error = decode(Cursor::new(pcm(64)), MAX_BYTES + 1)
        .unwrap_err()
        .to_string();
    assert!(error.contains("at most 200"), "{error}");
}

#[test]
fn errors_name_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.wav");
    let error = || format!("{:#}", read(&path).unwrap_err());
    assert!(error().contains("x.wav cannot be read"), "{}", error());
    fs::write(&path, "").unwrap();
    assert!(
        error().contains("x.wav cannot be used: It is empty"),
        "{}",
        error()
    );
    assert!(format!("{:#}", read(folder.path()).unwrap_err()).contains("is not a file"));
}

#[test]
fn real_recordings_are_read() {
    let Some(folder) = crate::listen::recordings() else {
        return;
    };
    let mut seen = 0;
    for path in crate::listen::wavs(&folder) {
        let samples = read(&path).unwrap_or_else(|e| panic!("{e:#}"));
        let reader = hound::WavReader::open(&path).unwrap();
        let seconds = f64::from(reader.duration()) / f64::from(reader.spec().sample_rate);
        assert!(
            (samples.len() as f64 / 16_000.0 - seconds).abs() < 1e-3,
            "{}",
            path.display()
        );
        seen += 1;
    }
    assert!(seen > 150, "only {seen} recordings");
}

/// A small valid file to damage.
fn valid() -> Vec<u8> {
    wav(22_050, 2, 16, false, 600, |t, _| (TAU * 300.0 * t).sin())
}

proptest! {
    #[test]
    fn damaged_files_never_panic(
        hits in prop::collection::vec((0usize..80, any::<u8>()), 0..6),
        cut in 0usize..2500,
    ) {
        let mut file = valid();
        for (at, byte) in hits {
            file[at] = byte;
        }
        file.truncate(cut.max(1));
        if let Ok(samples) = decoded(&file) {
            prop_assert!(!samples.is_empty());
            prop_assert!(samples.iter().all(|s| s.is_finite() && s.abs() <= 1.0));
        }
    }

    #[test]
    fn any_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let mut file = b"RIFF\0\0\0\0WAVE".to_vec();
        file.extend(&bytes);
        let _ = decoded(&bytes);
        let _ = decoded(&file);
    }
}
