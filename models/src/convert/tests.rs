//! Bit-exactness, and models that lie about themselves. The real packages are converted in `pull`'s tests.

use std::io::Cursor;

use proptest::prelude::*;

use super::*;

#[test]
fn halves_widen_exactly() {
    for bits in 0..=u16::MAX {
        let (sign, exponent, fraction) = (
            if bits >> 15 == 0 { 1.0 } else { -1.0 },
            i32::from(bits >> 10 & 31),
            f64::from(bits & 1023),
        );
        let expected = match exponent {
            31 if fraction != 0.0 => f64::NAN,
            31 => f64::INFINITY * sign,
            0 => sign * fraction * 2f64.powi(-24),
            _ => sign * (1024.0 + fraction) * 2f64.powi(exponent - 25),
        };
        let got = f64::from(widen(bits));
        assert!(
            got == expected && got.is_sign_negative() == expected.is_sign_negative()
                || got.is_nan() && expected.is_nan(),
            "{bits:#06x}: {got} instead of {expected}"
        );
    }
}

#[test]
fn filter_bank_is_the_published_one() {
    use sha2::{Digest, Sha256};
    // The bytes of `mel_80` in openai-whisper's mel_filters.npz, which are also in every ggml file.
    let bytes: Vec<u8> = mel::filter_bank(80)
        .iter()
        .flat_map(|w| w.to_le_bytes())
        .collect();
    assert_eq!(bytes.len(), 80 * 201 * 4);
    let hash: String = Sha256::digest(&bytes)
        .iter()
        .map(|b| format!("{b:02x}"))
        .collect();
    assert_eq!(
        hash,
        "85818f156f7e189453901a515e4726d270d307f976e161cf9403e8caab405498"
    );
}

/// A model.bin with these variables.
fn file(version: u32, specification: &str, variables: &[(&str, &[u32], u8, &[u8])]) -> Vec<u8> {
    let mut bytes = version.to_le_bytes().to_vec();
    let string = |bytes: &mut Vec<u8>, text: &str| {
        bytes.extend((text.len() as u16 + 1).to_le_bytes());
        bytes.extend(text.as_bytes());
        bytes.push(0);
    };
    string(&mut bytes, specification);
    bytes.extend(3u32.to_le_bytes());
    bytes.extend((variables.len() as u32).to_le_bytes());
    for (name, dims, kind, data) in variables {
        string(&mut bytes, name);
        bytes.push(dims.len() as u8);
        dims.iter().for_each(|dim| bytes.extend(dim.to_le_bytes()));
        bytes.push(*kind);
        bytes.extend((data.len() as u32).to_le_bytes());
        bytes.extend(*data);
    }
    bytes
}

fn convert(bytes: Vec<u8>) -> Result<Vec<u8>, ConvertError> {
    let mut out = Vec::new();
    ctranslate2_whisper(Cursor::new(bytes), "", Weights::F16, &mut out, &mut |_| true)?;
    Ok(out)
}

#[track_caller]
fn check_refused(bytes: Vec<u8>, says: &str) {
    let error = convert(bytes).unwrap_err().to_string();
    assert!(error.contains(says), "{error:?} does not say {says:?}");
}

#[test]
fn liars_are_refused() {
    check_refused(Vec::new(), "ends too early");
    check_refused(b"PK\x03\x04 a zip file, not a model".to_vec(), "format version");
    check_refused(file(6, "TransformerSpec", &[]), "TransformerSpec");
    check_refused(file(6, "WhisperSpec", &[]), "no decoder/embeddings/weight");
    check_refused(file(6, "WhisperSpec", &[("x", &[3], 4, &[0; 4])]), "has 4 bytes");
    check_refused(
        file(6, "WhisperSpec", &[("x", &[u32::MAX; 4], 4, &[])]),
        "but has 0 bytes",
    );
    check_refused(
        file(6, "WhisperSpec", &[("x", &[1], 77, &[0])]),
        "unknown type 77",
    );
    let mut many = file(6, "WhisperSpec", &[]);
    let count = many.len() - 4;
    many[count..].copy_from_slice(&u32::MAX.to_le_bytes());
    check_refused(many, "4294967295 variables");
    let mut cut = file(6, "WhisperSpec", &[("x", &[50], 4, &[0; 100])]);
    cut.truncate(cut.len() - 1);
    check_refused(cut, "ends too early");
}

/// The smallest model that passes for whisper: 64 wide, one layer, vocabulary 50,257.
fn tiny(key_bias: u8) -> Vec<u8> {
    tiny_of(64, key_bias, 0)
}

/// The same of this width, with this byte in all weights that are no bias, norm or position.
fn tiny_of(width: u32, key_bias: u8, weight: u8) -> Vec<u8> {
    let hyper = Hyper {
        vocab: 50_257,
        audio_ctx: 2,
        audio_state: width,
        audio_heads: 1,
        audio_layers: 1,
        text_ctx: 2,
        text_state: width,
        text_heads: 1,
        text_layers: 1,
        mels: 80,
    };
    let mut variables: Vec<(String, Vec<u32>, Vec<u8>)> = Vec::new();
    for part in layout::parts(&hyper) {
        if variables.iter().all(|(name, ..)| *name != part.source) {
            let bytes = part.source_dims.iter().product::<u32>() as usize * 2;
            let fill = if part.source.ends_with("linear_0/bias") {
                key_bias
            } else if part.source.ends_with("/weight") {
                weight
            } else {
                0
            };
            variables.push((part.source.clone(), part.source_dims.clone(), vec![fill; bytes]));
        }
    }
    let mut all: Vec<(&str, &[u32], u8, &[u8])> = variables
        .iter()
        .map(|(name, dims, data)| (name.as_str(), dims.as_slice(), 4, data.as_slice()))
        .collect();
    all.push(("encoder/num_heads", &[], 2, &[1, 0]));
    all.push(("decoder/num_heads", &[], 2, &[1, 0]));
    file(6, "WhisperSpec", &all)
}

/// Converts it with words, and gives what was written and how many bytes of that were told.
fn written(model: Vec<u8>, weights: Weights) -> Result<(Vec<u8>, u64), ConvertError> {
    let words = "a\n".repeat(50_257);
    let (mut out, mut told) = (Vec::new(), 0);
    let mut count = |bytes| {
        told += bytes;
        true
    };
    ctranslate2_whisper(Cursor::new(model), &words, weights, &mut out, &mut count)?;
    Ok((out, told))
}

fn inspected(bytes: &[u8]) -> crate::ggml_whisper::GgmlWhisperInfo {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), bytes).unwrap();
    crate::ggml_whisper::inspect(file.path()).unwrap()
}

#[test]
fn a_whole_model_converts_and_a_key_bias_is_refused() {
    let (out, told) = written(tiny(0), Weights::F16).unwrap();
    let info = inspected(&out);
    assert_eq!((info.tensors, info.audio_layers, info.mels), (50, 1, 80));
    assert_eq!(info.weights, "f16");
    assert!(told > 50_257 * 64 * 2 && told < out.len() as u64);

    let error = written(tiny(1), Weights::F16).unwrap_err();
    assert!(error.to_string().contains("bias for the keys"), "{error}");
    let words = "a\n".repeat(50_257);
    let model = Cursor::new(tiny(0));
    let error = ctranslate2_whisper(model, &words, Weights::F16, io::sink(), &mut |_| false).unwrap_err();
    assert!(matches!(error, ConvertError::Cancelled));
}

/// Of the same model the one file differs from the other in nothing but its matrices.
#[test]
fn with_8_bit_weights_only_the_matrices_are_smaller() {
    // Each number is 0x3c3c, a little more than 1.
    let model = tiny_of(64, 0, 0x3c);
    let (wide, _) = written(model.clone(), Weights::F16).unwrap();
    let (narrow, told) = written(model, Weights::Q8).unwrap();
    let info = inspected(&narrow);
    assert_eq!((info.tensors, info.weights.as_str()), (50, "q8_0"));
    // Embeddings; six matrices of the encoder's block, and ten of the decoder's, of which four are four times as large.
    let numbers = 50_257 * 64 + (4 + 8 + 8 + 8) * 64 * 64;
    let saved = numbers * 2 - numbers / 32 * 34;
    assert_eq!(narrow.len(), wide.len() - saved);
    assert!(told < narrow.len() as u64 && told > (narrow.len() - 700_000) as u64);
    // The largest of a block is 127 of its factors, here each.
    let factor = q8_factor(widen(0x3c3c));
    let block: Vec<u8> = factor.into_iter().chain([127; 32]).collect();
    let at = find(&narrow, b"decoder.token_embedding.weight");
    assert_eq!(narrow[at..at + 34], block);
    // A convolution is no matrix, though it could be cut into blocks.
    let at = find(&narrow, b"encoder.conv2.weight");
    assert_eq!(narrow[at..at + 34], [0x3c; 34]);

    let error = written(tiny_of(80, 0, 0), Weights::Q8).unwrap_err();
    assert!(error.to_string().contains("rows of 80 numbers"), "{error}");
    written(tiny_of(80, 0, 0), Weights::F16).unwrap();
}

/// A half for a 127th of a number a little over 1: exponent -7, and a fraction rounded to ten bits.
fn q8_factor(number: f32) -> [u8; 2] {
    let factor = f64::from(number) / 127.0;
    let fraction = (factor * 128.0 - 1.0) * 1024.0;
    (((15 - 7) << 10) + fraction.round() as u16).to_le_bytes()
}

/// Where what is behind this name begins.
fn find(bytes: &[u8], name: &[u8]) -> usize {
    let at = bytes.windows(name.len()).position(|window| window == name);
    at.unwrap() + name.len()
}

proptest! {
    #[test]
    fn nothing_panics(cut in 0usize..4_000, at in 0usize..4_000, value: u8) {
        let mut bytes = tiny(0);
        let (at, cut) = (at % bytes.len(), cut % bytes.len());
        bytes[at] = value;
        let _ = convert(bytes.clone());
        bytes.truncate(cut);
        prop_assert!(convert(bytes).is_err());
    }
}
