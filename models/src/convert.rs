//! A CTranslate2 whisper model becomes the ggml file that whisper.cpp reads, to the byte the published one.
//!
//! The layout follows whisper.cpp's `convert-pt-to-ggml.py`: magic, eleven hyperparameters, mel filter bank, vocabulary,
//! tensors. The tensors stand in the order of OpenAI's checkpoints, which is why the outcome has the published sha256.
//! With 8-bit weights it is what whisper.cpp's `quantize` makes of that file, in one pass: the matrices are written in
//! blocks of `q8_0` as they come, and nothing is kept in memory or on disk between.

mod ct2;
mod layout;
mod mel;
mod q8;
mod vocabulary;

use std::io::{self, BufWriter, Read, Seek, Write};

use ct2::Model;
use layout::{Keep, Part};

pub(crate) use layout::Hyper;

/// First word of a whisper ggml file, "ggml" in ASCII, little endian.
pub(crate) const GGML_MAGIC: u32 = 0x6767_6d6c;

/// How the matrices of the outcome are written; all else is the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Weights {
    /// 16 bits a number, as they come.
    F16,
    /// 8 bits a number and a factor for each 32: ggml's `q8_0`.
    Q8,
}

/// Why a conversion failed.
#[derive(Debug, thiserror::Error)]
pub enum ConvertError {
    /// Reading the one file or writing the other.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The input is not a CTranslate2 whisper model of the kind that is understood.
    #[error("this CTranslate2 model cannot be converted: {0}")]
    Unsuitable(String),
    /// The caller cancelled.
    #[error("cancelled")]
    Cancelled,
}

/// Converts `model` (a whole `model.bin`) with `vocabulary` (its `vocabulary.txt`) into `out`, with `weights` of that kind.
///
/// Memory stays at a few hundred kilobytes whatever the input says of itself. `on_bytes` gets the bytes written since
/// its last call and answers whether to go on.
///
/// # Errors
/// `Unsuitable` for anything but a float16 whisper model of format version 6 whose tensors have the shapes that its
/// own dimensions ask for; `Cancelled` when `on_bytes` says so.
pub fn ctranslate2_whisper(
    model: impl Read + Seek,
    vocabulary: &str,
    weights: Weights,
    out: impl Write,
    on_bytes: &mut dyn FnMut(u64) -> bool,
) -> Result<(), ConvertError> {
    let mut model = Model::open(model)?;
    let hyper = Hyper::of(&mut model)?;
    let mut out = BufWriter::with_capacity(CHUNK, out);
    write_header(&mut out, &hyper, weights, vocabulary)?;
    for mut part in layout::parts(&hyper) {
        if weights == Weights::Q8 {
            part.quantise()?;
        }
        copy_tensor(&mut model, &part, &mut out, on_bytes)?;
    }
    out.flush()?;
    Ok(())
}

/// Bytes moved at a time; a multiple of 64, so that no block of 32 16-bit numbers is cut in two.
const CHUNK: usize = 1 << 16;

fn unsuitable<T>(why: impl Into<String>) -> Result<T, ConvertError> {
    Err(ConvertError::Unsuitable(why.into()))
}

fn write_header(
    out: &mut impl Write,
    hyper: &Hyper,
    weights: Weights,
    vocabulary: &str,
) -> Result<(), ConvertError> {
    let words = [
        GGML_MAGIC,
        hyper.vocab,
        hyper.audio_ctx,
        hyper.audio_state,
        hyper.audio_heads,
        hyper.audio_layers,
        hyper.text_ctx,
        hyper.text_state,
        hyper.text_heads,
        hyper.text_layers,
        hyper.mels,
        match weights {
            Weights::F16 => 1,
            // 7 is `q8_0`; the thousands say by which version of the rounding.
            Weights::Q8 => 2007,
        },
        hyper.mels,
        mel::BINS as u32,
    ];
    for word in words {
        out.write_all(&word.to_le_bytes())?;
    }
    for weight in mel::filter_bank(hyper.mels as usize) {
        out.write_all(&weight.to_le_bytes())?;
    }
    let tokens = vocabulary::tokens(vocabulary, hyper.vocab as usize).map_err(ConvertError::Unsuitable)?;
    out.write_all(&(tokens.len() as u32).to_le_bytes())?;
    for token in tokens {
        out.write_all(&(token.len() as u32).to_le_bytes())?;
        out.write_all(&token)?;
    }
    Ok(())
}

/// Writes one tensor: its header, then a row range of one variable, as it is (f16), widened (f32) or in blocks (q8_0).
fn copy_tensor<R: Read + Seek>(
    model: &mut Model<R>,
    part: &Part,
    out: &mut impl Write,
    on_bytes: &mut dyn FnMut(u64) -> bool,
) -> Result<(), ConvertError> {
    if part.keep != Keep::MustBeZero {
        let words = [
            part.dims.len() as u32,
            part.ggml.len() as u32,
            match part.keep {
                Keep::Single | Keep::MustBeZero => 0,
                Keep::Half => 1,
                Keep::Quantised => 8,
            },
        ];
        for word in words.iter().chain(part.dims.iter().rev()) {
            out.write_all(&word.to_le_bytes())?;
        }
        out.write_all(part.ggml.as_bytes())?;
    }
    let mut left = part.elements() * 2;
    let mut data = model.data(&part.source, &part.source_dims, part.first_element() * 2, left)?;
    let mut buffer = vec![0; CHUNK];
    let mut blocks = Vec::new();
    while left > 0 {
        let chunk = &mut buffer[..left.min(CHUNK as u64) as usize];
        data.read_exact(chunk)?;
        left -= chunk.len() as u64;
        let halves = chunk.chunks_exact(2).map(|h| u16::from_le_bytes([h[0], h[1]]));
        let written = match part.keep {
            Keep::Half => {
                out.write_all(chunk)?;
                chunk.len()
            }
            Keep::Single => {
                for half in halves {
                    out.write_all(&widen(half).to_le_bytes())?;
                }
                chunk.len() * 2
            }
            Keep::Quantised => {
                blocks.clear();
                let mut halves = halves;
                // A part is made of whole blocks, and so is a chunk of it.
                while halves.len() > 0 {
                    let mut numbers = [0.0; q8::BLOCK];
                    for (number, half) in numbers.iter_mut().zip(&mut halves) {
                        *number = widen(half);
                    }
                    q8::push_block(&numbers, &mut blocks);
                }
                out.write_all(&blocks)?;
                blocks.len()
            }
            Keep::MustBeZero => {
                if halves.into_iter().any(|half| half & 0x7fff != 0) {
                    return unsuitable(format!(
                        "{} has a bias for the keys, which whisper does not",
                        part.source
                    ));
                }
                0
            }
        };
        if !on_bytes(written as u64) {
            return Err(ConvertError::Cancelled);
        }
    }
    Ok(())
}

/// IEEE 754 half to single precision; exact for every value.
fn widen(half: u16) -> f32 {
    const SMALLEST: f32 = f32::from_bits(0x3380_0000); // 2^-24, the smallest half
    let sign = u32::from(half & 0x8000) << 16;
    let fraction = u32::from(half & 0x03ff);
    let rest = match u32::from(half >> 10) & 0x1f {
        0 => (fraction as f32 * SMALLEST).to_bits(),
        0x1f => 0x7f80_0000 | fraction << 13,
        exponent => (exponent + 112) << 23 | fraction << 13,
    };
    f32::from_bits(sign | rest)
}

#[cfg(test)]
mod tests;
