//! Reading the head of a model file that may be cut short, damaged or made to hurt: nothing is allocated or skipped
//! that the file does not hold, and what is not the expected kind is named.

use std::{
    fs::{self, File},
    io::{self, BufReader, Read, Seek, SeekFrom},
    path::Path,
};

/// Why a model file cannot be used, as a sentence with what to do.
#[derive(Debug, thiserror::Error)]
pub enum BadFile {
    /// The disk said no.
    #[error("it cannot be read: {0}.")]
    Io(#[from] io::Error),
    /// No bytes at all.
    #[error("the file is empty. Pull or copy it again.")]
    Empty,
    /// Another kind of file.
    #[error("it is not a {wanted} file but {looks}.")]
    Foreign {
        /// What was expected.
        wanted: &'static str,
        /// What it seems to be, and what to do.
        looks: &'static str,
    },
    /// The right kind, in a form that nothing here reads.
    #[error("{0}.")]
    Unsupported(String),
    /// Bytes are missing at the end.
    #[error("it is cut short: {missing} of {expected} bytes are missing. Pull or copy it again.")]
    Truncated {
        /// Bytes that are not there.
        missing: u64,
        /// What its own header asks for.
        expected: u64,
    },
    /// The header contradicts itself.
    #[error("its header is damaged: {0}. Pull or copy it again.")]
    Damaged(String),
}

/// A reader that knows where the file ends.
pub(crate) struct Header<R> {
    reader: BufReader<R>,
    at: u64,
    length: u64,
}

impl Header<File> {
    /// Opens a regular file that is not empty.
    pub(crate) fn open(path: &Path) -> Result<Header<File>, BadFile> {
        Ok(Header::new(open(path)?)?)
    }
}

/// Opens a regular file that is not empty. It is looked at before, because to open a pipe waits for somebody at its other end.
pub(crate) fn open(path: &Path) -> Result<File, BadFile> {
    if !fs::metadata(path)?.is_file() {
        return Err(BadFile::Unsupported("it is not a regular file".into()));
    }
    let file = File::open(path)?;
    match file.metadata()?.len() {
        0 => Err(BadFile::Empty),
        _ => Ok(file),
    }
}

impl<R: Read + Seek> Header<R> {
    pub(crate) fn new(mut reader: R) -> io::Result<Header<R>> {
        let length = reader.seek(SeekFrom::End(0))?;
        reader.rewind()?;
        Ok(Header {
            reader: BufReader::new(reader),
            at: 0,
            length,
        })
    }

    /// Bytes read or skipped so far.
    pub(crate) fn position(&self) -> u64 {
        self.at
    }

    /// Bytes of the whole file.
    pub(crate) fn length(&self) -> u64 {
        self.length
    }

    pub(crate) fn u8(&mut self) -> io::Result<u8> {
        Ok(self.array::<1>()?[0])
    }

    pub(crate) fn u16(&mut self) -> io::Result<u16> {
        Ok(u16::from_le_bytes(self.array()?))
    }

    pub(crate) fn u32(&mut self) -> io::Result<u32> {
        Ok(u32::from_le_bytes(self.array()?))
    }

    pub(crate) fn u64(&mut self) -> io::Result<u64> {
        Ok(u64::from_le_bytes(self.array()?))
    }

    /// That many bytes; the caller has bounded the number, the file's end bounds it again.
    pub(crate) fn bytes(&mut self, count: u64) -> io::Result<Vec<u8>> {
        self.advance(count)?;
        let mut bytes = vec![0; usize::try_from(count).map_err(|_| ended())?];
        self.reader.read_exact(&mut bytes)?;
        Ok(bytes)
    }

    /// Skips that many bytes, which must be there.
    pub(crate) fn skip(&mut self, count: u64) -> io::Result<()> {
        self.advance(count)?;
        self.reader
            .seek_relative(i64::try_from(count).map_err(|_| ended())?)
    }

    /// What the first bytes look like, for a file of the wrong kind. Ends the reading.
    pub(crate) fn looks(mut self) -> io::Result<&'static str> {
        self.reader.rewind()?;
        let mut head = Vec::new();
        self.reader.take(512).read_to_end(&mut head)?;
        Ok(looks(&head))
    }

    fn array<const N: usize>(&mut self) -> io::Result<[u8; N]> {
        self.advance(N as u64)?;
        let mut bytes = [0; N];
        self.reader.read_exact(&mut bytes)?;
        Ok(bytes)
    }

    fn advance(&mut self, count: u64) -> io::Result<()> {
        match self.at.checked_add(count) {
            Some(at) if at <= self.length => {
                self.at = at;
                Ok(())
            }
            _ => Err(ended()),
        }
    }
}

fn ended() -> io::Error {
    io::ErrorKind::UnexpectedEof.into()
}

/// Names the kind of a file by its first bytes, as the end of "it is not a ... file but".
fn looks(head: &[u8]) -> &'static str {
    let text = String::from_utf8_lossy(head).trim_start().to_ascii_lowercase();
    let safetensors = head.len() > 8 && head[8] == b'{' && head[4..8] == [0; 4];
    match head {
        [b'G', b'G', b'U', b'F', ..] => "a GGUF file: a language model, not a recogniser",
        [b'l', b'm', b'g', b'g', ..] => "a whisper.cpp ggml file: a recogniser, not a language model",
        [b't' | b'f', b'm' | b'j', b'g', b'g', ..] => {
            "an old GGML model from before GGUF; get a current GGUF of the same model"
        }
        [b'P', b'K', 3 | 5, ..] => {
            "a zip archive, perhaps a PyTorch checkpoint; get the model in the right format instead"
        }
        [0x80, 2..=5, ..] => {
            "a Python pickle, perhaps a PyTorch checkpoint; get the model in the right format instead"
        }
        [0x1f, 0x8b, ..] => "a gzip archive; unpack it first",
        [b'R', b'I', b'F', b'F', ..] => "a WAV recording",
        _ if safetensors => "a safetensors file: an encoder, or weights that have to be converted",
        _ if text.starts_with("<!doctype html") || text.starts_with("<html") => {
            "a web page, probably an error page that was saved under this name; download it again"
        }
        _ if text.starts_with("version https://git-lfs") => {
            "a git-lfs pointer, not the model itself; fetch the real file with `git lfs pull`"
        }
        _ if text.starts_with(['{', '[']) => "JSON",
        _ if head.iter().all(|byte| *byte == 0) => "nothing but zeros; its download probably broke off",
        _ if head.iter().all(|byte| matches!(byte, 9..=13 | 32..=126)) => "plain text",
        _ => "something unknown",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_named() {
        let cases: [(&[u8], &str); 11] = [
            (b"GGUF\x03\0\0\0", "GGUF"),
            (b"lmgg", "whisper.cpp"),
            (b"tjgg", "old GGML"),
            (b"PK\x03\x04", "zip"),
            (b"\x80\x02\x8a", "pickle"),
            (b"\x10\x20\0\0\0\0\0\0{\"__metadata__\"", "safetensors"),
            (b"\n <!DOCTYPE html>", "web page"),
            (b"version https://git-lfs.github.com/spec/v1", "git-lfs"),
            (b"{\"error\":\"not found\"}", "JSON"),
            (&[0; 20], "zeros"),
            (b"\x7fELF", "unknown"),
        ];
        for (head, says) in cases {
            assert!(looks(head).contains(says), "{head:?}: {}", looks(head));
        }
    }

    #[test]
    fn nothing_beyond_the_end() {
        let mut header = Header::new(io::Cursor::new(vec![1; 10])).unwrap();
        assert_eq!(header.u16().unwrap(), 0x0101);
        assert!(header.bytes(u64::MAX).is_err());
        assert!(header.skip(9).is_err());
        header.skip(8).unwrap();
        assert!(header.u8().is_err());
    }
}
