//! The mel filter bank that whisper was trained with: `librosa.filters.mel(sr=16000, n_fft=400, n_mels=...)`, Slaney's
//! scale and normalisation, to the bit.

/// Frequency bins of a 400-point transform.
pub(super) const BINS: usize = 201;

const SAMPLE_RATE: f64 = 16_000.0;

/// Weights, `bands` rows of [`BINS`] columns.
///
/// Computed in double precision in the order of operations of librosa, and rounded where it rounds: once for the
/// triangles, once more after the area normalisation.
pub(super) fn filter_bank(bands: usize) -> Vec<f32> {
    let step = 1.0 / ((BINS - 1) as f64 * 2.0 * (1.0 / SAMPLE_RATE));
    let edges = edges(bands);
    let mut weights = Vec::with_capacity(bands * BINS);
    for edge in edges.windows(3) {
        let area = 2.0 / (edge[2] - edge[0]);
        for bin in 0..BINS {
            let frequency = bin as f64 * step;
            let rise = -(edge[0] - frequency) / (edge[1] - edge[0]);
            let fall = (edge[2] - frequency) / (edge[2] - edge[1]);
            // Added to zero, because the very first corner is a negative zero and the published bank has a positive one.
            let triangle = rise.min(fall).max(0.0) as f32 + 0.0;
            weights.push((f64::from(triangle) * area) as f32);
        }
    }
    weights
}

/// Corner frequencies in Hz, evenly spaced in mels from 0 to the Nyquist frequency.
fn edges(bands: usize) -> Vec<f64> {
    let top = mel_of(SAMPLE_RATE / 2.0);
    let step = top / (bands + 1) as f64;
    let mut edges: Vec<f64> = (0..bands + 1).map(|i| hertz_of(i as f64 * step)).collect();
    edges.push(hertz_of(top));
    edges
}

/// Slaney: linear up to 1 kHz (15 mels), then logarithmic, 27 mels for a factor of 6.4.
const HERTZ_PER_MEL: f64 = 200.0 / 3.0;
const KNEE_HERTZ: f64 = 1_000.0;
const KNEE_MEL: f64 = KNEE_HERTZ / HERTZ_PER_MEL;

fn log_step() -> f64 {
    6.4_f64.ln() / 27.0
}

fn mel_of(hertz: f64) -> f64 {
    if hertz >= KNEE_HERTZ {
        KNEE_MEL + (hertz / KNEE_HERTZ).ln() / log_step()
    } else {
        hertz / HERTZ_PER_MEL
    }
}

fn hertz_of(mel: f64) -> f64 {
    if mel >= KNEE_MEL {
        KNEE_HERTZ * (log_step() * (mel - KNEE_MEL)).exp()
    } else {
        HERTZ_PER_MEL * mel
    }
}
