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
    ctranslate2_whisper(Cursor::new(bytes), "", &mut out, &mut |_| true)?;
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
    let hyper = Hyper {
        vocab: 50_257,
        audio_ctx: 2,
        audio_state: 64,
        audio_heads: 1,
        audio_layers: 1,
        text_ctx: 2,
        text_state: 64,
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

#[test]
fn a_whole_model_converts_and_a_key_bias_is_refused() {
    let words = "a\n".repeat(50_257);
    let mut out = Vec::new();
    let mut told = 0;
    let mut count = |bytes| {
        told += bytes;
        true
    };
    ctranslate2_whisper(Cursor::new(tiny(0)), &words, &mut out, &mut count).unwrap();
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), &out).unwrap();
    let info = crate::ggml_whisper::inspect(file.path()).unwrap();
    assert_eq!((info.tensors, info.audio_layers, info.mels), (50, 1, 80));
    assert!(told > 50_257 * 64 * 2 && told < out.len() as u64);

    let error = ctranslate2_whisper(Cursor::new(tiny(1)), &words, io::sink(), &mut |_| true).unwrap_err();
    assert!(error.to_string().contains("bias for the keys"), "{error}");
    let error = ctranslate2_whisper(Cursor::new(tiny(0)), &words, io::sink(), &mut |_| false).unwrap_err();
    assert!(matches!(error, ConvertError::Cancelled));
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
