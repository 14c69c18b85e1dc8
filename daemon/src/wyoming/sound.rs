//! Sound as the protocol has it, plain PCM of a stated rate, width and number of channels, and as recognisers take it.

use models::stt::SAMPLE_RATE;
use serde_json::Value;

use super::wire::Event;
use crate::listen::resample::Resampler;

/// Samples a second.
const RATES: std::ops::RangeInclusive<u64> = 8_000..=48_000;
/// Most channels.
const CHANNELS: std::ops::RangeInclusive<u64> = 1..=8;

/// How sound is coded: little-endian integers, signed but for one byte, which is unsigned as in WAV.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Format {
    /// Samples a second, 8,000 to 48,000.
    pub rate: u32,
    /// Bytes of a sample: 1, 2 or 4.
    pub width: u16,
    /// 1 to 8.
    pub channels: u16,
}

/// What is wrong with sound, as a sentence.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Unfit(String);

impl Format {
    /// What recognisers take: 16 kHz, 16 bits, mono.
    pub const SPEECH: Format = Format {
        rate: SAMPLE_RATE,
        width: 2,
        channels: 1,
    };

    /// The format that an `audio-start` or an `audio-chunk` states.
    ///
    /// # Errors
    /// What it lacks, or what is not taken.
    pub fn of(event: &Event) -> Result<Format, Unfit> {
        let number = |field: &str| {
            let number = event.data.get(field).and_then(Value::as_u64);
            number.ok_or_else(|| Unfit(format!("The sound has no {field}.")))
        };
        let (rate, width, channels) = (number("rate")?, number("width")?, number("channels")?);
        let taken = |fits: bool, says: String| match fits {
            true => Ok(()),
            false => Err(Unfit(says)),
        };
        taken(
            RATES.contains(&rate),
            format!(
                "The sound has {rate} samples a second; {} to {} are taken.",
                RATES.start(),
                RATES.end()
            ),
        )?;
        taken(
            matches!(width, 1 | 2 | 4),
            format!("The sound has {width} bytes a sample; 1, 2 and 4 are taken."),
        )?;
        taken(
            CHANNELS.contains(&channels),
            format!(
                "The sound has {channels} channels; {} to {} are taken.",
                CHANNELS.start(),
                CHANNELS.end()
            ),
        )?;
        Ok(Format {
            rate: rate as u32,
            width: width as u16,
            channels: channels as u16,
        })
    }

    /// `audio-start` of sound like this.
    pub fn start(self) -> Event {
        self.state(Event::new("audio-start")).with("timestamp", 0)
    }

    /// `audio-chunk` of sound like this.
    pub fn chunk(self, pcm: Vec<u8>) -> Event {
        Event {
            payload: pcm,
            ..self.state(Event::new("audio-chunk"))
        }
    }

    fn state(self, event: Event) -> Event {
        event
            .with("rate", self.rate)
            .with("width", self.width)
            .with("channels", self.channels)
    }

    /// Bytes of one moment.
    pub fn frame(self) -> usize {
        usize::from(self.width) * usize::from(self.channels)
    }

    /// Bytes of one second.
    pub fn second(self) -> usize {
        self.frame() * self.rate as usize
    }
}

/// Sound that comes in, brought to mono and 16 kHz as it does.
#[derive(Default)]
pub struct Sound {
    format: Option<(Format, Resampler)>,
    samples: Vec<f32>,
}

impl Sound {
    /// Says how the sound will be coded.
    ///
    /// # Errors
    /// When it is coded in another way already.
    pub fn begin(&mut self, format: Format) -> anyhow::Result<()> {
        match &self.format {
            Some((before, _)) if *before == format => Ok(()),
            Some(_) => Err(Unfit("The sound changes its format in the middle.".to_owned()).into()),
            None => {
                self.format = Some((format, Resampler::new(format.rate)?));
                Ok(())
            }
        }
    }

    /// Takes a chunk. Some peers send no `audio-start`; then the first chunk says how it is coded.
    ///
    /// # Errors
    /// When it is coded in another way than before, is cut off in the middle of a sample, or makes the whole longer than
    /// `most` seconds.
    pub fn push(&mut self, format: Format, pcm: &[u8], most: u32) -> anyhow::Result<()> {
        self.begin(format)?;
        let (Some((_, resampler)), frame) = (&mut self.format, format.frame()) else {
            return Ok(());
        };
        if !pcm.len().is_multiple_of(frame) {
            return Err(Unfit("A piece of sound ends in the middle of a sample.".to_owned()).into());
        }
        let seconds = |part: usize, second: usize| part as f32 / second as f32;
        let before = seconds(self.samples.len(), SAMPLE_RATE as usize);
        if before + seconds(pcm.len(), format.second()) > most as f32 {
            return Err(Unfit(format!("The sound is longer than {most} s.")).into());
        }
        let mono: Vec<f32> = pcm.chunks_exact(frame).map(|frame| mean(frame, format)).collect();
        resampler.push(&mono, &mut self.samples)
    }

    /// The whole of it: mono, 16 kHz, -1 to 1.
    ///
    /// # Errors
    /// When the filter fails.
    pub fn finish(mut self) -> anyhow::Result<Vec<f32>> {
        if let Some((_, resampler)) = self.format {
            resampler.finish(&mut self.samples)?;
        }
        Ok(self.samples)
    }
}

/// The mean of the channels at one moment.
fn mean(frame: &[u8], format: Format) -> f32 {
    let sum: f32 = frame.chunks_exact(usize::from(format.width)).map(sample).sum();
    sum / f32::from(format.channels)
}

fn sample(bytes: &[u8]) -> f32 {
    match *bytes {
        [a] => (f32::from(a) - 128.0) / 128.0,
        [a, b] => f32::from(i16::from_le_bytes([a, b])) / 32_768.0,
        [a, b, c, d] => i32::from_le_bytes([a, b, c, d]) as f32 / 2_147_483_648.0,
        _ => 0.0,
    }
}

/// Mono samples, -1 to 1, as 16-bit PCM.
pub fn pcm(samples: &[f32]) -> Vec<u8> {
    let sample = |s: &f32| ((s.clamp(-1.0, 1.0) * 32_767.0).round() as i16).to_le_bytes();
    samples.iter().flat_map(sample).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn stated(
        rate: impl Into<Value>,
        width: impl Into<Value>,
        channels: impl Into<Value>,
    ) -> Result<Format, Unfit> {
        let event = Event::new("audio-start").with("rate", rate).with("width", width);
        Format::of(&event.with("channels", channels))
    }

    #[test]
    fn formats_outside_the_bounds_are_refused() {
        assert_eq!(stated(16_000, 2, 1), Ok(Format::SPEECH));
        assert!(stated(48_000, 4, 8).is_ok() && stated(8_000, 1, 1).is_ok());
        for (got, says) in [
            (stated(7_999, 2, 1), "7999 samples a second"),
            (stated(48_001, 2, 1), "48001 samples a second"),
            (stated(0, 2, 1), "0 samples"),
            (stated(u64::MAX, 2, 1), "samples a second"),
            (stated(16_000, 3, 1), "3 bytes a sample"),
            (stated(16_000, 0, 1), "0 bytes a sample"),
            (stated(16_000, 2, 0), "0 channels"),
            (stated(16_000, 2, 9), "9 channels"),
            (stated(-1, 2, 1), "no rate"),
            (stated("16000", 2, 1), "no rate"),
            (stated(16_000.5, 2, 1), "no rate"),
            (stated(Value::Null, 2, 1), "no rate"),
            (stated(16_000, 2, Value::Null), "no channels"),
        ] {
            let says_what = got.unwrap_err().to_string();
            assert!(says_what.contains(says), "{says_what}");
        }
        let start = Format::SPEECH.start();
        assert_eq!(Format::of(&start), Ok(Format::SPEECH));
        assert_eq!(Format::of(&Format::SPEECH.chunk(vec![0, 0])), Ok(Format::SPEECH));
    }

    #[test]
    fn widths_and_channels_become_one() {
        #[track_caller]
        fn check(width: u16, channels: u16, pcm: &[u8], expect: &[f32]) {
            let mut sound = Sound::default();
            let format = Format {
                rate: SAMPLE_RATE,
                width,
                channels,
            };
            sound.push(format, pcm, 60).unwrap();
            let samples = sound.finish().unwrap();
            assert_eq!(samples.len(), expect.len());
            for (got, expect) in samples.iter().zip(expect) {
                assert!((got - expect).abs() < 1e-4, "{samples:?}");
            }
        }
        check(1, 1, &[128, 255, 0], &[0.0, 127.0 / 128.0, -1.0]);
        check(2, 1, &[0, 0, 0, 0x40, 0, 0x80], &[0.0, 0.5, -1.0]);
        check(4, 1, &[0, 0, 0, 0x40], &[0.5]);
        check(2, 2, &[0, 0x40, 0, 0xc0, 0, 0x40, 0, 0x40], &[0.0, 0.5]);
    }

    #[test]
    fn other_rates_are_brought_to_ours() {
        for rate in [8_000u32, 22_050, 44_100, 47_999, 48_000] {
            let tone = |n: u32| (n as f32 * 440.0 * std::f32::consts::TAU / rate as f32).sin() * 0.5;
            let bytes = pcm(&(0..rate).map(tone).collect::<Vec<_>>());
            let format = Format {
                rate,
                width: 2,
                channels: 1,
            };
            let mut sound = Sound::default();
            for piece in bytes.chunks(2_048) {
                sound.push(format, piece, 60).unwrap();
            }
            let samples = sound.finish().unwrap();
            assert_eq!(samples.len(), SAMPLE_RATE as usize, "{rate}");
            let power = samples.iter().map(|s| s * s).sum::<f32>() / samples.len() as f32;
            assert!((power - 0.125).abs() < 0.01, "{rate}: {power}");
        }
    }

    #[test]
    fn what_changes_or_never_ends_is_refused() {
        let other = Format {
            rate: 8_000,
            ..Format::SPEECH
        };
        let mut sound = Sound::default();
        sound.begin(Format::SPEECH).unwrap();
        let says = sound.push(other, &[0, 0], 60).unwrap_err().to_string();
        assert!(says.contains("changes its format"), "{says}");
        let says = sound.push(Format::SPEECH, &[0], 60).unwrap_err().to_string();
        assert!(says.contains("middle of a sample"), "{says}");
        let second = vec![0; Format::SPEECH.second()];
        for _ in 0..4 {
            sound.push(Format::SPEECH, &second, 4).unwrap();
        }
        let says = sound.push(Format::SPEECH, &second, 4).unwrap_err().to_string();
        assert!(says.contains("longer than 4 s"), "{says}");
        assert!(Sound::default().finish().unwrap().is_empty());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn any_bytes_are_sound_or_refused(
            pieces in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..200), 0..6),
            rate in prop::sample::select(vec![8_000u32, 11_025, 16_000, 22_050, 47_999]), width in prop::sample::select(vec![1u16, 2, 4]), channels in 1u16..=8,
        ) {
            let format = Format { rate, width, channels };
            let mut sound = Sound::default();
            let mut frames = 0;
            for piece in &pieces {
                let whole = piece.len() % format.frame() == 0;
                prop_assert_eq!(sound.push(format, piece, 60).is_ok(), whole);
                frames += if whole { piece.len() / format.frame() } else { 0 };
            }
            let samples = sound.finish().unwrap();
            let expect = (frames as u64 * 16_000).div_ceil(u64::from(rate));
            prop_assert_eq!(samples.len() as u64, if pieces.is_empty() { 0 } else { expect });
            prop_assert!(samples.iter().all(|s| s.is_finite()));
        }
    }
}
