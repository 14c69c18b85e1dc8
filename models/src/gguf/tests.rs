//! Headers made by hand, damaged in every way; the real files are looked at in `registry`'s tests.

use std::io::Cursor;

use proptest::prelude::*;

use super::*;

/// A GGUF file in the making.
struct Maker {
    version: u32,
    metadata: Vec<Vec<u8>>,
    tensors: Vec<Vec<u8>>,
    data: usize,
}

fn maker() -> Maker {
    let mut maker = Maker {
        version: 3,
        metadata: Vec::new(),
        tensors: Vec::new(),
        data: 0,
    };
    maker.text("general.architecture", "qwen2");
    maker
}

fn string(text: &str) -> Vec<u8> {
    [&(text.len() as u64).to_le_bytes(), text.as_bytes()].concat()
}

impl Maker {
    fn raw(&mut self, key: &str, kind: u32, value: &[u8]) -> &mut Maker {
        self.metadata
            .push([&string(key), &kind.to_le_bytes()[..], value].concat());
        self
    }

    fn text(&mut self, key: &str, value: &str) -> &mut Maker {
        self.raw(key, STRING, &string(value))
    }

    fn number(&mut self, key: &str, value: u32) -> &mut Maker {
        self.raw(key, 4, &value.to_le_bytes())
    }

    fn tensor(&mut self, name: &str, dims: &[u64], kind: u32, offset: u64) -> &mut Maker {
        let dims: Vec<u8> = dims.iter().flat_map(|dim| dim.to_le_bytes()).collect();
        let rank = (dims.len() / 8) as u32;
        let parts = [
            string(name),
            rank.to_le_bytes().to_vec(),
            dims,
            kind.to_le_bytes().to_vec(),
            offset.to_le_bytes().to_vec(),
        ];
        self.tensors.push(parts.concat());
        self
    }

    fn bytes(&self) -> Vec<u8> {
        let mut bytes = b"GGUF".to_vec();
        bytes.extend(self.version.to_le_bytes());
        bytes.extend((self.tensors.len() as u64).to_le_bytes());
        bytes.extend((self.metadata.len() as u64).to_le_bytes());
        bytes.extend(self.metadata.concat());
        bytes.extend(self.tensors.concat());
        bytes.resize(bytes.len().next_multiple_of(32) + self.data, 0);
        bytes
    }
}

fn parse(bytes: Vec<u8>) -> Result<GgufInfo, BadFile> {
    read(Header::new(Cursor::new(bytes))?)
}

#[track_caller]
fn check_refused(bytes: Vec<u8>, says: &str) {
    let error = parse(bytes).unwrap_err().to_string();
    assert!(error.contains(says), "{error:?} does not say {says:?}");
}

/// Like the 1.5B model's, with one tensor of 256 x 2 in q4_k.
fn usual() -> Maker {
    let mut maker = maker();
    maker
        .text("general.name", "Qwen")
        .number("qwen2.block_count", 28)
        .number("qwen2.context_length", 32_768)
        .number("qwen2.embedding_length", 1_536)
        .number("qwen2.attention.head_count", 12)
        .raw(
            "qwen2.attention.head_count_kv",
            ARRAY,
            &[
                &[4, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0],
                &[1, 0, 0, 0, 2, 0, 0, 0][..],
            ]
            .concat(),
        )
        .text("tokenizer.chat_template", "{{ messages }}")
        .raw(
            "tokenizer.ggml.tokens",
            ARRAY,
            &[
                &[8, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0][..],
                &string("a"),
                &string("b"),
            ]
            .concat(),
        )
        .tensor("token_embd.weight", &[256, 2], 12, 0);
    maker.data = 288;
    maker
}

#[test]
fn a_usual_header_is_read() {
    let info = parse(usual().bytes()).unwrap();
    let expected = GgufInfo {
        version: 3,
        architecture: "qwen2".into(),
        name: Some("Qwen".into()),
        context_length: Some(32_768),
        block_count: Some(28),
        embedding_length: Some(1_536),
        head_count: Some(12),
        head_count_kv: Some(2),
        chat_template: Some("{{ messages }}".into()),
        tensors: 1,
        weights: 288,
        bytes: usual().bytes().len() as u64,
        ..GgufInfo::default()
    };
    assert_eq!(info, expected);
}

#[test]
fn memory_is_weights_and_cache() {
    let info = GgufInfo {
        weights: 1_000_000_000,
        ..parse(usual().bytes()).unwrap()
    };
    // 28 layers x 2 heads x (128 + 128) x 2 bytes = 28,672 bytes a token, as llama.cpp prints for this model.
    let grown = estimate_memory(&info, 32_768, 2.0) - estimate_memory(&info, 0, 2.0);
    assert_eq!(grown, 28_672 * 32_768);
    let base = estimate_memory(&info, 0, 2.0);
    assert!((1_000_000_000..1_200_000_000).contains(&base), "{base}");
    assert!(estimate_memory(&GgufInfo::default(), u64::MAX, 2.0) < 100 << 20);
}

#[test]
fn other_files_are_named() {
    check_refused(
        b"<!DOCTYPE html><html>".to_vec(),
        "not a GGUF file but a web page",
    );
    check_refused(b"lmgg\0\0".to_vec(), "whisper.cpp");
    check_refused(b"GG".to_vec(), "not a GGUF file");
    let empty = tempfile::NamedTempFile::new().unwrap();
    assert!(matches!(inspect(empty.path()), Err(BadFile::Empty)));
    assert!(matches!(
        inspect(Path::new("/")),
        Err(BadFile::Unsupported(_) | BadFile::Io(_))
    ));
}

#[test]
fn damage_is_named() {
    let with = |edit: fn(&mut Maker)| {
        let mut maker = usual();
        edit(&mut maker);
        maker.bytes()
    };
    check_refused(with(|m| m.version = 1), "version 1");
    check_refused(with(|m| m.version = 4), "version 4");
    check_refused(with(|m| m.version = 3u32.swap_bytes()), "big-endian");
    check_refused(with(|m| m.data = 287), "1 of ");
    check_refused(
        with(|m| {
            m.tensor("far", &[1], 0, u64::MAX - 1);
        }),
        "impossible size",
    );
    check_refused(
        with(|m| {
            m.tensor("far", &[1], 0, 1 << 60);
        }),
        "cut short",
    );
    check_refused(
        with(|m| {
            m.tensor("wide", &[u64::MAX, u64::MAX], 0, 0);
        }),
        "impossible size",
    );
    check_refused(
        with(|m| {
            m.tensor("deep", &[1; 5], 0, 0);
        }),
        "5 dimensions",
    );
    check_refused(
        with(|m| {
            m.raw("x", 13, &[]);
        }),
        "unknown type 13",
    );
    check_refused(
        with(|m| {
            m.number("general.alignment", 0);
        }),
        "alignment",
    );
    check_refused(
        with(|m| {
            m.raw("x", STRING, &u64::MAX.to_le_bytes());
        }),
        "claims 18446744073709551615 bytes",
    );
    let endless = [&10u32.to_le_bytes()[..], &u64::MAX.to_le_bytes()].concat();
    check_refused(
        with(|m| {
            m.metadata.insert(
                0,
                [
                    string("x"),
                    9u32.to_le_bytes().to_vec(),
                    vec![4, 0, 0, 0],
                    vec![255; 8],
                ]
                .concat(),
            )
        }),
        "elements",
    );
    let mut maker = maker();
    maker.metadata.clear();
    check_refused(maker.raw("x", ARRAY, &endless).bytes(), "elements");
    check_refused(self::maker().bytes()[..40].to_vec(), "beyond the end");
    maker.metadata.clear();
    check_refused(maker.bytes(), "which architecture");
    let nested: Vec<u8> = (0..6)
        .flat_map(|_| [9, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0])
        .chain([0; 40])
        .collect();
    check_refused(self::maker().raw("x", ARRAY, &nested).bytes(), "nested too deep");
}

proptest! {
    #[test]
    fn noise_never_panics(noise in prop::collection::vec(any::<u8>(), 0..2_000)) {
        let _ = parse(noise.clone());
        let _ = parse([&b"GGUF\x03\0\0\0"[..], &noise].concat());
    }

    #[test]
    fn mutations_never_panic(edits in prop::collection::vec((any::<usize>(), any::<u8>()), 1..8), cut: usize) {
        let mut bytes = usual().bytes();
        let length = bytes.len();
        for (at, value) in edits {
            bytes[at % length] = value;
        }
        let _ = parse(bytes.clone());
        bytes.truncate(cut % length);
        let _ = parse(bytes);
    }
}
