//! Speech as sound: what a program or a server made of a piece, played while the next one is being made.

use std::time::Duration;

use async_trait::async_trait;

use super::{Pieces, Trouble};
use crate::ring::sound;

/// Makes sound of pieces. Whoever does that is a `Voice` by `play_all`.
#[async_trait]
pub trait Maker: Send + Sync {
    /// What it is called.
    fn name(&self) -> &str;

    /// Where its sound is played, if not on the sound server of the environment.
    fn speaker(&self) -> Option<&str>;

    /// Makes sound of a piece, within a bound of its own. Nothing when the piece has been heard already, because what made it
    /// plays by itself. Dropping the future leaves nothing behind.
    ///
    /// # Errors
    /// Why there is no sound.
    async fn make(&self, text: &str) -> Result<Option<Clip>, Trouble>;
}

/// A WAV file that is whole.
#[derive(Debug, PartialEq)]
pub struct Clip {
    bytes: Vec<u8>,
    length: Duration,
    /// Where the samples begin, if they are whole numbers of 16 bits.
    samples: Option<usize>,
}

/// Slowest and fastest sampling, Hz.
const RATES: std::ops::RangeInclusive<u32> = 4_000..=384_000;

impl Clip {
    /// A WAV file as it was written into a pipe: who does that cannot know the sizes before the end and writes others, which are
    /// put right. `None` when it is no such file.
    pub fn of(mut bytes: Vec<u8>) -> Option<Clip> {
        if bytes.get(..4)? != b"RIFF" || bytes.get(8..12)? != b"WAVE" {
            return None;
        }
        let (mut at, mut format) = (12, None);
        loop {
            let length = le32(&bytes, at + 4)?;
            match bytes.get(at..at + 4)? {
                b"data" => break,
                b"fmt " => {
                    let plain = le16(&bytes, at + 8)? == 1 && le16(&bytes, at + 22)? == 16;
                    format = Some((le32(&bytes, at + 12)?, le16(&bytes, at + 20)?, plain));
                }
                _ => {}
            }
            // Chunks begin at even offsets.
            at = at.checked_add(8)?.checked_add(usize::try_from(length).ok()?)? + length as usize % 2;
        }
        let (rate, frame, plain) = format.filter(|(rate, frame, _)| RATES.contains(rate) && *frame > 0)?;
        let rest = bytes.len() - at - 8;
        let promised = le32(&bytes, at + 4)? as usize;
        let sound = match promised {
            0 => rest,
            promised => promised.min(rest),
        };
        let sound = sound - sound % usize::from(frame);
        bytes.truncate(at + 8 + sound);
        let (all, sound) = (u32::try_from(bytes.len() - 8).ok()?, u32::try_from(sound).ok()?);
        bytes[4..8].copy_from_slice(&all.to_le_bytes());
        bytes[at + 4..at + 8].copy_from_slice(&sound.to_le_bytes());
        let frames = f64::from(sound / u32::from(frame));
        let length = Duration::from_secs_f64(frames / f64::from(rate));
        Some(Clip {
            bytes,
            length,
            samples: plain.then_some(at + 8),
        })
    }

    /// The same, softer: 1 leaves it as it is, 0 is silence. Sound that is not of whole numbers of 16 bits, as nearly all voices
    /// write, stays as loud as it is.
    pub fn softened(mut self, volume: f32) -> Clip {
        if let (Some(from), true) = (self.samples, volume < 1.0) {
            let (samples, _) = self.bytes[from..].as_chunks_mut::<2>();
            for sample in samples {
                *sample = ((f32::from(i16::from_le_bytes(*sample)) * volume.max(0.0)) as i16).to_le_bytes();
            }
        }
        self
    }

    /// Plain samples, little endian, of so many a second, bytes and channels. `None` when there is no such sound.
    pub fn pcm(rate: u32, width: u16, channels: u16, samples: &[u8]) -> Option<Clip> {
        let frame = width.checked_mul(channels)?;
        let mut bytes = Vec::with_capacity(44 + samples.len());
        bytes.extend_from_slice(b"RIFF\0\0\0\0WAVEfmt ");
        bytes.extend_from_slice(&16u32.to_le_bytes());
        bytes.extend_from_slice(&1u16.to_le_bytes());
        bytes.extend_from_slice(&channels.to_le_bytes());
        bytes.extend_from_slice(&rate.to_le_bytes());
        bytes.extend_from_slice(&rate.checked_mul(u32::from(frame))?.to_le_bytes());
        bytes.extend_from_slice(&frame.to_le_bytes());
        bytes.extend_from_slice(&width.checked_mul(8)?.to_le_bytes());
        bytes.extend_from_slice(b"data\0\0\0\0");
        bytes.extend_from_slice(samples);
        Clip::of(bytes)
    }

    /// The file.
    pub fn wav(&self) -> &[u8] {
        &self.bytes
    }

    /// How long it is.
    pub fn length(&self) -> Duration {
        self.length
    }
}

fn le16(bytes: &[u8], at: usize) -> Option<u16> {
    bytes.get(at..)?.first_chunk().map(|b| u16::from_le_bytes(*b))
}

fn le32(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..)?.first_chunk().map(|b| u32::from_le_bytes(*b))
}

/// Says all pieces: the next one is made while one is heard.
///
/// # Errors
/// Why not all was heard.
pub async fn play_all(maker: &dyn Maker, pieces: &Pieces) -> Result<(), Trouble> {
    let Some(first) = pieces.next().await else {
        return Ok(());
    };
    let mut made = maker.make(&first).await?;
    loop {
        made = match made {
            Some(clip) => match play(maker, clip, pieces).await? {
                Some(next) => next,
                None => return Ok(()),
            },
            // It was heard already, and the next one would be heard through it.
            None => {
                pieces.spoken();
                match pieces.next().await {
                    Some(next) => maker.make(&next).await?,
                    None => return Ok(()),
                }
            }
        };
    }
}

/// Plays one, and has the next one made meanwhile; nothing when there is none.
async fn play(maker: &dyn Maker, clip: Clip, pieces: &Pieces) -> Result<Option<Option<Clip>>, Trouble> {
    let playing = async {
        let played = sound::play_wav(clip.bytes, clip.length, maker.speaker()).await;
        let heard =
            played.map_err(|silent| Trouble::Failed(format!("{} cannot be heard: {silent}.", maker.name())));
        if heard.is_ok() {
            pieces.spoken();
        }
        heard
    };
    let making = async {
        match pieces.next().await {
            Some(next) => maker.make(&next).await.map(Some),
            None => Ok(None),
        }
    };
    tokio::pin!(playing, making);
    tokio::select! {
        played = &mut playing => {
            played?;
            making.await
        }
        made = &mut making => {
            // What could be made is heard to its end, whatever comes then.
            playing.await?;
            made
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wav(samples: &[i16]) -> Vec<u8> {
        let bytes: Vec<u8> = samples.iter().flat_map(|s| s.to_le_bytes()).collect();
        Clip::pcm(16_000, 2, 1, &bytes).unwrap().bytes
    }

    #[test]
    fn sizes_that_a_pipe_could_not_know_are_put_right() {
        let whole = wav(&[7; 1600]);
        for (promised, riff) in [
            (0, 0),
            (u32::MAX, u32::MAX),
            (0x7fff_ffff, 0x7fff_f024),
            (3200, 9),
        ] {
            let mut piped = whole.clone();
            piped[4..8].copy_from_slice(&riff.to_le_bytes());
            piped[40..44].copy_from_slice(&promised.to_le_bytes());
            let clip = Clip::of(piped).unwrap();
            assert_eq!(clip.bytes, whole, "{promised}");
            assert_eq!(clip.length(), Duration::from_millis(100));
        }
        let reader = hound::WavReader::new(&whole[..]).unwrap();
        assert_eq!(reader.len(), 1600);
        // What stands behind the sound is none, and half a sample is none either.
        let mut more = whole.clone();
        more.extend_from_slice(b"LIST\x04\0\0\0abcd");
        assert_eq!(Clip::of(more).unwrap().bytes, whole);
        let mut odd = wav(&[7; 1600]);
        odd[40..44].copy_from_slice(&0u32.to_le_bytes());
        odd.push(1);
        assert_eq!(Clip::of(odd).unwrap().bytes, whole);
    }

    #[test]
    fn sound_is_made_softer_where_its_samples_are_known() {
        let loud = wav(&[100, -100, i16::MAX, i16::MIN, 0]);
        let soft = |volume| Clip::of(loud.clone()).unwrap().softened(volume).bytes;
        assert_eq!(soft(0.5), wav(&[50, -50, 16383, -16384, 0]));
        assert_eq!(soft(0.0), wav(&[0; 5]));
        assert_eq!(soft(1.0), loud);
        let samples: Vec<u8> = [0.5_f32, -0.5].iter().flat_map(|s| s.to_le_bytes()).collect();
        let mut float = Clip::pcm(16_000, 4, 1, &samples).unwrap().bytes;
        float[20] = 3;
        assert_eq!(Clip::of(float.clone()).unwrap().softened(0.5).bytes, float);
    }

    #[test]
    fn what_is_no_wav_file_is_none() {
        let whole = wav(&[7; 16]);
        for cut in 0..44 {
            assert_eq!(Clip::of(whole[..cut].to_vec()), None, "{cut}");
        }
        assert_eq!(Clip::of(b"Hello, I am a program.".to_vec()), None);
        for (at, bad) in [(20, 0), (24, 0), (32, 0)] {
            let mut wrong = whole.clone();
            wrong[at..at + 2].copy_from_slice(&u16::to_le_bytes(bad));
            // A tag of 0 is left to the player.
            assert_eq!(Clip::of(wrong).is_none(), at != 20, "{at}");
        }
        let mut endless = whole.clone();
        endless[16..20].copy_from_slice(&u32::MAX.to_le_bytes());
        assert_eq!(Clip::of(endless), None);
        assert_eq!(Clip::pcm(16_000, u16::MAX, 2, &[]), None);
        assert_eq!(Clip::pcm(0, 2, 1, &[]), None);
    }
}
