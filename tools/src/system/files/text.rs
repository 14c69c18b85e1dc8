//! The text of a file, as far as it can be read: plain text and Markdown in any common encoding, and PDFs.

use std::path::PathBuf;

use super::{Item, below, pdf, secret};
use crate::{
    contract::{Reach, ToolError},
    system::{plain, store::StoreError},
};

/// Most bytes of a text file that are read.
const MAX_TEXT: u64 = 1 << 20;
/// Largest PDF, in bytes.
const MAX_PDF: u64 = 32 << 20;
/// Bytes that are looked at to tell text from anything else.
const SNIFFED: usize = 8192;

/// What was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Text {
    /// The text, its lines kept, without characters that only steer a display.
    pub text: String,
    /// Whether there is more in the file.
    pub clipped: bool,
}

/// Why there is no text.
#[derive(Debug, thiserror::Error)]
pub enum TextError {
    /// The file cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// It is a key, whatever it is called.
    #[error("it holds a private key")]
    Secret,
    /// It is a picture, a program, an office document, ...
    #[error("it is no text")]
    NoText,
    /// A PDF that is too large, broken, encrypted, or pictures only.
    #[error("its text cannot be read: {0}")]
    Pdf(String),
}

impl TextError {
    /// As a tool's error, for this file.
    pub fn tool(self, item: &Item) -> ToolError {
        let name = plain::one_line(&item.name, 80);
        match self {
            TextError::Store(StoreError::NotAFile(_)) => ToolError::tell(format!("{name} is no plain file.")),
            TextError::Store(StoreError::Missing(_)) => ToolError::tell(format!("{name} is gone.")),
            TextError::Store(error) => error.tool("read that file"),
            TextError::Secret => ToolError::tell(format!("{name} holds a private key, so I do not read it.")),
            TextError::NoText => ToolError::tell(format!(
                "{name} is no text that I can read. I can open it with its program."
            )),
            TextError::Pdf(why) => ToolError::tell(format!("I cannot read the text of {name}: {why}.")),
        }
    }
}

/// Reads the text of a file; at most `max` bytes of it.
///
/// # Errors
/// As its variants say; nothing panics and nothing takes long, whatever is in the file.
pub fn read(item: &Item, max: u64, reach: &Reach) -> Result<Text, TextError> {
    let (head, _) = below::read(item, SNIFFED as u64)?;
    if head.starts_with(b"%PDF-") {
        let (bytes, whole) = below::read(item, MAX_PDF)?;
        if !whole {
            return Err(TextError::Pdf("it is too large".to_owned()));
        }
        let helper: Option<PathBuf> = reach.helper.clone();
        let text = pdf::text(bytes, helper.as_deref()).map_err(TextError::Pdf)?;
        // A printed key is a key.
        if secret::is_key(&text) {
            return Err(TextError::Secret);
        }
        let clipped = text.len() as u64 > max;
        return Ok(Text {
            text: plain::lines(cut(&text, max)),
            clipped,
        });
    }
    let (bytes, whole) = below::read(item, max.min(MAX_TEXT))?;
    let text = decode(bytes, whole)?;
    if secret::is_key(&text) {
        return Err(TextError::Secret);
    }
    Ok(Text {
        text: plain::lines(&text),
        clipped: !whole,
    })
}

/// Bytes as text: UTF-8, UTF-16 with its mark, else Latin-1 as old editors wrote it.
fn decode(bytes: Vec<u8>, whole: bool) -> Result<String, TextError> {
    for (mark, unit) in [
        ([0xff, 0xfe], u16::from_le_bytes as fn([u8; 2]) -> u16),
        ([0xfe, 0xff], u16::from_be_bytes),
    ] {
        if let Some(rest) = bytes.strip_prefix(&mark) {
            let units = rest.chunks_exact(2).map(|pair| unit([pair[0], pair[1]]));
            return Ok(char::decode_utf16(units)
                .map(|c| c.unwrap_or('\u{fffd}'))
                .collect());
        }
    }
    // Text has no such bytes, and everything else soon has one.
    let odd = |b: &u8| *b < 9 || (14..32).contains(b) && *b != 0x1b;
    if bytes.iter().take(SNIFFED).any(odd) {
        return Err(TextError::NoText);
    }
    match String::from_utf8(bytes) {
        Ok(text) => Ok(text),
        Err(error) => {
            let valid = error.utf8_error().valid_up_to();
            let bytes = error.into_bytes();
            // A character that was cut through at the end is no sign of another encoding.
            if !whole && bytes.len() - valid < 4 {
                return Ok(String::from_utf8_lossy(&bytes[..valid]).into_owned());
            }
            Ok(bytes.into_iter().map(char::from).collect())
        }
    }
}

/// The front of a text, at most so many bytes, cut between characters.
fn cut(text: &str, max: u64) -> &str {
    let mut end = usize::try_from(max).unwrap_or(usize::MAX).min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}
