//! What a GGUF file says of itself, read without loading it and without trusting it.
//!
//! Format: ggml's `docs/gguf.md`. Whether llama.cpp can run the architecture shows only when it loads it.

use std::{io::ErrorKind, path::Path};

use crate::header::{BadFile, Header};

/// What is known of a GGUF file before it is loaded.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct GgufInfo {
    /// Format version, 2 or 3.
    pub version: u32,
    /// `general.architecture`: "qwen2", "llama", ...
    pub architecture: String,
    /// `general.name`.
    pub name: Option<String>,
    /// Tokens that it was trained for.
    pub context_length: Option<u64>,
    /// Layers.
    pub block_count: Option<u64>,
    /// Width of the hidden state.
    pub embedding_length: Option<u64>,
    /// Attention heads; the largest when layers differ.
    pub head_count: Option<u64>,
    /// Heads that keep keys and values; the largest when layers differ.
    pub head_count_kv: Option<u64>,
    /// Width of a key, when it is not `embedding_length / head_count`.
    pub key_length: Option<u64>,
    /// Width of a value, likewise.
    pub value_length: Option<u64>,
    /// `tokenizer.chat_template`, Jinja.
    pub chat_template: Option<String>,
    /// Number of tensors.
    pub tensors: u64,
    /// Bytes of weights.
    pub weights: u64,
    /// Bytes of the file.
    pub bytes: u64,
}

/// Most metadata entries and tensors that are believed; the largest models have some 60 and 3,000.
const MAX_ENTRIES: u64 = 1 << 16;
/// Longest key or tensor name, bytes: the format's own limit.
const MAX_NAME: u64 = u16::MAX as u64;
/// Longest text that is kept, bytes. Chat templates have up to some 20,000.
const MAX_TEXT: u64 = 1 << 20;
/// Deepest nesting of arrays.
const MAX_DEPTH: u8 = 4;

/// Reads the header of a GGUF file.
///
/// # Errors
/// Says what is wrong with the file and what to do: not a GGUF (and what else), other version or byte order, damaged,
/// cut short.
pub fn inspect(path: &Path) -> Result<GgufInfo, BadFile> {
    read(Header::open(path)?)
}

/// Memory for the weights, the KV cache of `context` tokens and some working space, bytes. `kv_bytes` is the size of
/// one number in the cache: 2 for f16, 1.0625 for q8_0. Exact for dense attention; above the truth for models with
/// sliding windows or recurrent layers, which keep less.
pub fn estimate_memory(info: &GgufInfo, context: u64, kv_bytes: f64) -> u64 {
    let heads = info.head_count.unwrap_or(0);
    let head = info.embedding_length.unwrap_or(0).checked_div(heads).unwrap_or(0);
    let widths = info
        .key_length
        .unwrap_or(head)
        .saturating_add(info.value_length.unwrap_or(head));
    let kv = [
        info.block_count.unwrap_or(0),
        info.head_count_kv.unwrap_or(heads),
        widths,
        context,
    ]
    .iter()
    .map(|factor| *factor as f64)
    .product::<f64>()
        * kv_bytes;
    // The compute buffer of a 512-token batch holds a few dozen activations of that width, in f32; the rest is the program.
    let activations = info.embedding_length.unwrap_or(0).saturating_mul(512 * 4 * 24);
    let program = 48 << 20;
    (kv as u64)
        .saturating_add(info.weights)
        .saturating_add(activations)
        .saturating_add(program)
}

fn read<R: std::io::Read + std::io::Seek>(mut header: Header<R>) -> Result<GgufInfo, BadFile> {
    let magic = header.u32().ok();
    if magic != Some(u32::from_le_bytes(*b"GGUF")) {
        return Err(BadFile::Foreign {
            wanted: "GGUF",
            looks: header.looks()?,
        });
    }
    let mut info = GgufInfo {
        bytes: header.length(),
        ..GgufInfo::default()
    };
    match fill(&mut header, &mut info) {
        Err(BadFile::Io(error)) if error.kind() == ErrorKind::UnexpectedEof => {
            Err(BadFile::Damaged("it goes on beyond the end of the file".into()))
        }
        other => other.map(|()| info),
    }
}

fn fill<R: std::io::Read + std::io::Seek>(
    header: &mut Header<R>,
    info: &mut GgufInfo,
) -> Result<(), BadFile> {
    info.version = header.u32()?;
    match info.version {
        2 | 3 => {}
        1 => return unsupported("it is GGUF version 1, which nothing reads any more; get a current file"),
        version if version.swap_bytes() <= 3 => {
            return unsupported("it is a big-endian GGUF file; get the ordinary, little-endian one");
        }
        version => {
            return unsupported(format!(
                "it is GGUF version {version}; versions 2 and 3 are understood"
            ));
        }
    }
    info.tensors = header.u64()?;
    let entries = header.u64()?;
    if info.tensors > MAX_ENTRIES || entries > MAX_ENTRIES {
        return damaged(format!(
            "it claims {} tensors and {entries} metadata entries",
            info.tensors
        ));
    }

    let mut alignment = 32;
    for _ in 0..entries {
        let key = text(header, MAX_NAME)?;
        let value = value(header)?;
        keep(info, &mut alignment, &key, value);
    }
    if info.architecture.is_empty() {
        return damaged("it does not say which architecture the model has");
    }
    if alignment == 0 || alignment > 1 << 16 {
        return damaged(format!("it claims an alignment of {alignment}"));
    }

    let mut end = 0;
    for _ in 0..info.tensors {
        end = end.max(tensor_end(header)?);
    }
    info.weights = end;
    let expected = header.position().next_multiple_of(alignment).saturating_add(end);
    if expected > info.bytes {
        return Err(BadFile::Truncated {
            missing: expected - info.bytes,
            expected,
        });
    }
    Ok(())
}

/// A metadata value as far as it is of use.
enum Value {
    Number(u64),
    Text(String),
    Other,
}

fn keep(info: &mut GgufInfo, alignment: &mut u64, key: &str, value: Value) {
    match (key, value) {
        ("general.architecture", Value::Text(text)) => info.architecture = text,
        ("general.name", Value::Text(text)) => info.name = Some(text),
        ("general.alignment", Value::Number(number)) => *alignment = number,
        ("tokenizer.chat_template", Value::Text(text)) => info.chat_template = Some(text),
        (key, Value::Number(number)) => {
            // These keys begin with the architecture's name, which need not have come before them.
            let field = match key.split_once('.').map(|(_, rest)| rest) {
                Some("context_length") => &mut info.context_length,
                Some("block_count") => &mut info.block_count,
                Some("embedding_length") => &mut info.embedding_length,
                Some("attention.head_count") => &mut info.head_count,
                Some("attention.head_count_kv") => &mut info.head_count_kv,
                Some("attention.key_length") => &mut info.key_length,
                Some("attention.value_length") => &mut info.value_length,
                _ => return,
            };
            *field = Some(number);
        }
        _ => {}
    }
}

const STRING: u32 = 8;
const ARRAY: u32 = 9;

fn value<R: std::io::Read + std::io::Seek>(header: &mut Header<R>) -> Result<Value, BadFile> {
    match header.u32()? {
        STRING => Ok(Value::Text(text(header, MAX_TEXT)?)),
        ARRAY => array(header, MAX_DEPTH),
        kind => number(header, kind),
    }
}

/// An array of numbers is kept as its largest (per-layer head counts); everything else in arrays is skipped.
fn array<R: std::io::Read + std::io::Seek>(header: &mut Header<R>, depth: u8) -> Result<Value, BadFile> {
    let kind = header.u32()?;
    let count = header.u64()?;
    let smallest = match kind {
        STRING => 8,
        ARRAY => 12,
        kind => width(kind)?,
    };
    if count
        .checked_mul(smallest)
        .is_none_or(|bytes| bytes > header.length() - header.position())
    {
        return damaged(format!("an array in it claims {count} elements"));
    }
    let mut largest = None;
    for _ in 0..count {
        match kind {
            STRING => {
                let length = header.u64()?;
                header.skip(length)?;
            }
            ARRAY if depth > 0 => drop(array(header, depth - 1)?),
            ARRAY => return damaged("arrays in it are nested too deep"),
            kind => {
                if let Value::Number(number) = number(header, kind)? {
                    largest = largest.max(Some(number));
                }
            }
        }
    }
    Ok(largest.map_or(Value::Other, Value::Number))
}

fn number<R: std::io::Read + std::io::Seek>(header: &mut Header<R>, kind: u32) -> Result<Value, BadFile> {
    let width = width(kind)?;
    if matches!(kind, 0 | 2 | 4 | 5 | 10 | 11) {
        let mut word = [0; 8];
        word[..width as usize].copy_from_slice(&header.bytes(width)?);
        return Ok(Value::Number(u64::from_le_bytes(word)));
    }
    header.skip(width)?;
    Ok(Value::Other)
}

/// Bytes of a plain value: u8, i8, u16, i16, u32, i32, f32, bool, (string), (array), u64, i64, f64.
fn width(kind: u32) -> Result<u64, BadFile> {
    match kind {
        0 | 1 | 7 => Ok(1),
        2 | 3 => Ok(2),
        4..=6 => Ok(4),
        10..=12 => Ok(8),
        kind => damaged(format!("a value in it has the unknown type {kind}")),
    }
}

fn text<R: std::io::Read + std::io::Seek>(header: &mut Header<R>, limit: u64) -> Result<String, BadFile> {
    let length = header.u64()?;
    if length > limit {
        return damaged(format!("a text in it claims {length} bytes"));
    }
    Ok(String::from_utf8_lossy(&header.bytes(length)?).into_owned())
}

/// Where a tensor ends, counted from the start of the data. Types that are newer than this program count as empty.
fn tensor_end<R: std::io::Read + std::io::Seek>(header: &mut Header<R>) -> Result<u64, BadFile> {
    let name = text(header, MAX_NAME)?;
    let rank = header.u32()?;
    if rank > 4 {
        return damaged(format!("its tensor {name} has {rank} dimensions"));
    }
    let mut elements = Some(1u64);
    for _ in 0..rank {
        let dim = header.u64()?;
        elements = elements.and_then(|product| product.checked_mul(dim));
    }
    let kind = header.u32()?;
    let offset = header.u64()?;
    let bytes = elements.and_then(|elements| tensor_bytes(kind, elements).or(Some(0)));
    match bytes.and_then(|bytes| bytes.checked_add(offset)) {
        Some(end) => Ok(end),
        None => damaged(format!("its tensor {name} has an impossible size")),
    }
}

/// Bytes of that many numbers in a ggml type; nothing for types that are not known. (ggml-common.h)
pub(crate) fn tensor_bytes(kind: u32, elements: u64) -> Option<u64> {
    let (block, bytes) = match kind {
        24 => (1, 1),
        1 | 25 | 30 => (1, 2),
        0 | 26 => (1, 4),
        27 | 28 => (1, 8),
        2 | 20 => (32, 18),
        3 => (32, 20),
        6 => (32, 22),
        7 => (32, 24),
        8 => (32, 34),
        9 => (32, 36),
        39 => (32, 17),
        40 => (64, 36),
        42 => (64, 18),
        41 => (128, 18),
        10 => (256, 84),
        11 | 21 => (256, 110),
        12 => (256, 144),
        13 => (256, 176),
        14 => (256, 210),
        15 => (256, 292),
        16 | 35 => (256, 66),
        17 => (256, 74),
        18 => (256, 98),
        19 => (256, 50),
        22 => (256, 82),
        23 => (256, 136),
        29 => (256, 56),
        34 => (256, 54),
        _ => return None,
    };
    elements.div_ceil(block).checked_mul(bytes)
}

fn unsupported<T>(what: impl Into<String>) -> Result<T, BadFile> {
    Err(BadFile::Unsupported(what.into()))
}

fn damaged<T>(what: impl Into<String>) -> Result<T, BadFile> {
    Err(BadFile::Damaged(what.into()))
}

#[cfg(test)]
mod tests;
