//! What a whisper.cpp ggml file says of itself, read without loading it and without trusting it.

use std::{
    io::{ErrorKind, Read, Seek},
    path::Path,
};

use crate::{
    convert::{GGML_MAGIC, Hyper},
    gguf::tensor_bytes,
    header::{BadFile, Header},
};

/// What is known of a whisper model before it is loaded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GgmlWhisperInfo {
    /// "tiny.en", "base", "large", ... by its dimensions.
    pub name: String,
    /// Whether it knows other languages than English.
    pub multilingual: bool,
    /// Encoder positions; 1,500 are 30 seconds.
    pub audio_ctx: u32,
    /// Encoder layers.
    pub audio_layers: u32,
    /// Decoder layers.
    pub text_layers: u32,
    /// Mel bands, 80 or 128.
    pub mels: u32,
    /// How most weights are written: "f16", "q8_0", ...
    pub weights: String,
    /// Number of tensors.
    pub tensors: u32,
    /// Bytes of the file.
    pub bytes: u64,
}

/// Reads a ggml whisper file from end to end, skipping the weights.
///
/// # Errors
/// Says what is wrong with the file and what to do: not a ggml whisper file (and what else), damaged, cut short.
pub fn inspect(path: &Path) -> Result<GgmlWhisperInfo, BadFile> {
    read(Header::open(path)?)
}

fn read<R: Read + Seek>(mut header: Header<R>) -> Result<GgmlWhisperInfo, BadFile> {
    if header.u32().ok() != Some(GGML_MAGIC) {
        return Err(BadFile::Foreign {
            wanted: "whisper.cpp ggml",
            looks: header.looks()?,
        });
    }
    walk(&mut header).map_err(|error| match error {
        BadFile::Io(error) if error.kind() == ErrorKind::UnexpectedEof => {
            BadFile::Damaged("it ends in the middle of something".into())
        }
        other => other,
    })
}

fn walk<R: Read + Seek>(header: &mut Header<R>) -> Result<GgmlWhisperInfo, BadFile> {
    let hyper = Hyper {
        vocab: header.u32()?,
        audio_ctx: header.u32()?,
        audio_state: header.u32()?,
        audio_heads: header.u32()?,
        audio_layers: header.u32()?,
        text_ctx: header.u32()?,
        text_state: header.u32()?,
        text_heads: header.u32()?,
        text_layers: header.u32()?,
        mels: header.u32()?,
    };
    let weights = header.u32()?;
    if let Some(oddity) = hyper.oddity() {
        return damaged(oddity);
    }
    let (bands, bins) = (header.u32()?, header.u32()?);
    if (bands, bins) != (hyper.mels, 201) {
        return damaged(format!("its filter bank has {bands} x {bins} weights"));
    }
    header.skip(u64::from(bands) * u64::from(bins) * 4)?;
    let tokens = header.u32()?;
    if tokens > hyper.vocab {
        return damaged(format!("it claims {tokens} tokens"));
    }
    for _ in 0..tokens {
        let length = header.u32()?;
        header.skip(length.into())?;
    }
    let mut tensors = 0;
    while header.position() < header.length() {
        skip_tensor(header)?;
        tensors += 1;
    }
    // Outside the blocks 11; 15 in a block of the encoder and 24 in one of the decoder.
    let expected = 11 + 15 * hyper.audio_layers + 24 * hyper.text_layers;
    if tensors != expected {
        return damaged(format!("it has {tensors} of {expected} tensors"));
    }
    let multilingual = hyper.vocab >= 51_865;
    Ok(GgmlWhisperInfo {
        name: name(&hyper, multilingual),
        multilingual,
        audio_ctx: hyper.audio_ctx,
        audio_layers: hyper.audio_layers,
        text_layers: hyper.text_layers,
        mels: hyper.mels,
        weights: kind_of_weights(weights),
        tensors,
        bytes: header.length(),
    })
}

fn skip_tensor<R: Read + Seek>(header: &mut Header<R>) -> Result<(), BadFile> {
    let (rank, name, kind) = (header.u32()?, header.u32()?, header.u32()?);
    if !(1..=4).contains(&rank) || name > 256 {
        return damaged(format!(
            "a tensor in it claims {rank} dimensions and a name of {name} bytes"
        ));
    }
    let mut elements = Some(1u64);
    for _ in 0..rank {
        let dim = u64::from(header.u32()?);
        elements = elements.and_then(|product| product.checked_mul(dim));
    }
    header.skip(name.into())?;
    let Some(bytes) = elements.and_then(|elements| tensor_bytes(kind, elements)) else {
        return damaged(format!(
            "a tensor in it has the unknown type {kind} or an impossible size"
        ));
    };
    let end = header.position().saturating_add(bytes);
    if end > header.length() {
        return Err(BadFile::Truncated {
            missing: end - header.length(),
            expected: end,
        });
    }
    Ok(header.skip(bytes)?)
}

/// The published name for these dimensions.
fn name(hyper: &Hyper, multilingual: bool) -> String {
    let size = match (hyper.audio_layers, hyper.text_layers) {
        (4, _) => "tiny",
        (6, _) => "base",
        (12, _) => "small",
        (24, _) => "medium",
        (32, 4) => "large-v3-turbo",
        (32, 2) => "distil-large",
        (32, _) if hyper.mels == 128 => "large-v3",
        (32, _) => "large",
        _ => "whisper",
    };
    format!("{size}{}", if multilingual { "" } else { ".en" })
}

/// The name of a kind of weights, by its number in the head of the file: `ggml_ftype` of ggml.h, and thousands for the
/// version of the rounding.
fn kind_of_weights(number: u32) -> String {
    let name = match number % 1000 {
        0 => "f32",
        1 => "f16",
        2 => "q4_0",
        3 => "q4_1",
        7 => "q8_0",
        8 => "q5_0",
        9 => "q5_1",
        10 => "q2_k",
        11 => "q3_k",
        12 => "q4_k",
        13 => "q5_k",
        14 => "q6_k",
        _ => return format!("weights of kind {number}"),
    };
    name.to_owned()
}

fn damaged<T>(what: impl Into<String>) -> Result<T, BadFile> {
    Err(BadFile::Damaged(what.into()))
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use proptest::prelude::*;

    use super::*;

    /// tiny.en's head, without filter bank, tokens and tensors.
    fn head() -> Vec<u8> {
        [
            GGML_MAGIC, 51_864, 1_500, 384, 6, 4, 448, 384, 6, 4, 80, 1, 80, 201,
        ]
        .iter()
        .flat_map(|word| word.to_le_bytes())
        .collect()
    }

    fn parse(bytes: Vec<u8>) -> Result<GgmlWhisperInfo, BadFile> {
        read(Header::new(Cursor::new(bytes))?)
    }

    #[track_caller]
    fn check_refused(bytes: Vec<u8>, says: &str) {
        let error = parse(bytes).unwrap_err().to_string();
        assert!(error.contains(says), "{error:?} does not say {says:?}");
    }

    #[test]
    fn damage_is_named() {
        let filters = vec![0; 80 * 201 * 4];
        let no_tokens = [head(), filters.clone(), vec![0; 4]].concat();
        let tensor = |words: &[u32]| -> Vec<u8> {
            let words: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
            [no_tokens.clone(), words].concat()
        };
        check_refused(
            b"GGUF\x03".to_vec(),
            "not a whisper.cpp ggml file but a GGUF file",
        );
        check_refused(head(), "in the middle");
        check_refused(no_tokens.clone(), "0 of 167 tensors");
        check_refused(tensor(&[9, 1, 0]), "9 dimensions");
        check_refused(tensor(&[1, 0, 99, 1]), "unknown type 99");
        check_refused(
            tensor(&[4, 0, 0, u32::MAX, u32::MAX, u32::MAX, u32::MAX]),
            "impossible size",
        );
        check_refused(tensor(&[1, 0, 0, 1000]), "4000 of ");
        check_refused(
            [head(), filters.clone(), vec![255; 4]].concat(),
            "4294967295 tokens",
        );
        check_refused(
            [head(), filters, vec![1, 0, 0, 0, 255, 255, 255, 255]].concat(),
            "in the middle",
        );
        let mut odd = head();
        odd[12..16].copy_from_slice(&0u32.to_le_bytes());
        check_refused(odd, "audio state would be 0");
    }

    proptest! {
        #[test]
        fn nothing_panics(noise in prop::collection::vec(any::<u8>(), 0..400), at: usize, value: u8) {
            let mut bytes = [head(), vec![0; 80 * 201 * 4 + 4], noise.clone()].concat();
            let length = bytes.len();
            bytes[at % length] = value;
            prop_assert!(parse(bytes).is_err());
            prop_assert!(parse(noise).is_err());
        }
    }
}
