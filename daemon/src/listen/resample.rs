//! Sound of any rate as it comes, brought to the 16 kHz that recognisers take.

use models::stt::SAMPLE_RATE;
use rubato::{Fft, FixedSync, Indexing, Resampler as _, audioadapter_buffers::direct::SequentialSlice};

/// Brings mono sound to 16 kHz piece by piece. Nothing is shifted: what is said at a second stays at that second.
pub struct Resampler {
    /// Nothing when the sound has that rate already.
    filter: Option<Filter>,
}

struct Filter {
    /// Samples a second of what comes in.
    rate: u32,
    fft: Fft<f32>,
    /// What does not fill a block yet.
    rest: Vec<f32>,
    output: Vec<f32>,
    /// What the filter's delay still puts in front of the sound.
    delay: usize,
    /// Samples that came in.
    taken: u64,
    /// Samples that went out.
    given: u64,
}

impl Resampler {
    /// From this rate, in Hz.
    ///
    /// # Errors
    /// When no filter can be made for it.
    pub fn new(rate: u32) -> anyhow::Result<Resampler> {
        if rate == SAMPLE_RATE {
            return Ok(Resampler { filter: None });
        }
        let (from, to) = (rate as usize, SAMPLE_RATE as usize);
        let fft = Fft::<f32>::new(from, to, block_of(from, to), 1, FixedSync::Both)?;
        Ok(Resampler {
            filter: Some(Filter {
                rate,
                rest: Vec::with_capacity(fft.input_frames_max()),
                output: vec![0.0; fft.output_frames_max()],
                // Half a block, which is cut from the front; as much silence is fed at the end.
                delay: fft.output_delay(),
                fft,
                taken: 0,
                given: 0,
            }),
        })
    }

    /// Takes the next samples, and puts behind `out` what is ready.
    ///
    /// # Errors
    /// When the filter fails, which leaves nothing to go on with.
    pub fn push(&mut self, mut samples: &[f32], out: &mut Vec<f32>) -> anyhow::Result<()> {
        let Some(filter) = &mut self.filter else {
            out.extend_from_slice(samples);
            return Ok(());
        };
        filter.taken += samples.len() as u64;
        while !samples.is_empty() {
            let needed = filter.fft.input_frames_next() - filter.rest.len();
            let (now, later) = samples.split_at(needed.min(samples.len()));
            filter.rest.extend_from_slice(now);
            samples = later;
            if now.len() == needed {
                filter.block(out)?;
            }
        }
        Ok(())
    }

    /// The sound is over: puts behind `out` all that is left of it.
    ///
    /// # Errors
    /// When the filter fails.
    pub fn finish(mut self, out: &mut Vec<f32>) -> anyhow::Result<()> {
        if let Some(filter) = &mut self.filter {
            while filter.given < filter.wanted() {
                filter.block(out)?;
            }
        }
        Ok(())
    }
}

impl Filter {
    /// Filters what has come together as one block, with silence where it is shorter.
    fn block(&mut self, out: &mut Vec<f32>) -> anyhow::Result<()> {
        let partial = Indexing::new().partial_len(self.rest.len());
        self.rest.resize(self.fft.input_frames_next(), 0.0);
        let input = SequentialSlice::new(&self.rest[..], 1, self.rest.len())?;
        let room = self.output.len();
        let mut target = SequentialSlice::new_mut(&mut self.output[..], 1, room)?;
        let (_, made) = self
            .fft
            .process_into_buffer(&input, &mut target, Some(&partial))?;
        self.rest.clear();
        let cut = self.delay.min(made);
        self.delay -= cut;
        let still = usize::try_from(self.wanted() - self.given).unwrap_or(usize::MAX);
        let ready = &self.output[cut..made];
        let ready = &ready[..ready.len().min(still)];
        // The filter overshoots at clipped peaks.
        out.extend(ready.iter().map(|s| s.clamp(-1.0, 1.0)));
        self.given += ready.len() as u64;
        Ok(())
    }

    /// How many samples are due for those that came.
    fn wanted(&self) -> u64 {
        (self.taken * u64::from(SAMPLE_RATE)).div_ceil(u64::from(self.rate))
    }
}

/// Frames of one block of the filter: 32 ms or more, long enough for a steep filter below the lower Nyquist
/// frequency. Blocks must fit both rates, and have an even length in both: the delay is half a block, and half of
/// an odd one would shift the sound by part of a sample.
fn block_of(from: usize, to: usize) -> usize {
    let (mut divisor, mut rest) = (from, to);
    while rest > 0 {
        (divisor, rest) = (rest, divisor % rest);
    }
    let unit = 2 * from / divisor;
    (from * 512 / to).div_ceil(unit) * unit
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A microphone delivers blocks of any length, and a file is read in others.
    #[test]
    fn pieces_of_any_length_give_the_same_as_the_whole() {
        for rate in [8000, 16_000, 44_100, 48_000, 96_000] {
            let sound: Vec<f32> = (0..rate as usize + 77)
                .map(|n| (n as f32 / rate as f32 * 440.0 * std::f32::consts::TAU).sin() * 0.5)
                .collect();
            let whole = resampled(rate, sound.chunks(sound.len()));
            assert_eq!(
                whole.len(),
                (sound.len() * 16_000).div_ceil(rate as usize),
                "{rate}"
            );
            for piece in [1, 160, 441, 4096, 12_000] {
                assert_eq!(resampled(rate, sound.chunks(piece)), whole, "{rate} by {piece}");
            }
        }
    }

    #[test]
    fn nothing_gives_nothing() {
        assert_eq!(resampled(44_100, [].chunks(1)), [0.0; 0]);
    }

    fn resampled<'s>(rate: u32, pieces: impl Iterator<Item = &'s [f32]>) -> Vec<f32> {
        let (mut resampler, mut out) = (Resampler::new(rate).unwrap(), Vec::new());
        for piece in pieces {
            resampler.push(piece, &mut out).unwrap();
        }
        resampler.finish(&mut out).unwrap();
        out
    }
}
