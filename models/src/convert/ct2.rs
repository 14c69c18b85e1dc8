//! Index over a CTranslate2 `model.bin`: where each variable lies. Data is read only when asked for.
//!
//! Little endian: u32 format version, string specification, u32 revision, u32 count, then for each variable: string
//! name, u8 rank, u32 dimensions, u8 type, u32 byte count, data. A string is a u16 length and that many bytes with a
//! NUL at the end. Aliases follow, which are not needed. (CTranslate2, `python/ctranslate2/specs/model_spec.py`.)

use std::{
    collections::HashMap,
    io::{self, Read, Seek, SeekFrom, Take},
};

use super::{ConvertError, unsuitable};
use crate::header::Header;

/// The file and what is in it.
pub(super) struct Model<R> {
    reader: R,
    variables: HashMap<String, Variable>,
}

struct Variable {
    dims: Vec<u32>,
    kind: u8,
    offset: u64,
    bytes: u64,
}

/// Limits, some ten times above the largest whisper model: 1,259 variables, rank 3.
const MAX_VARIABLES: u32 = 16_384;
const MAX_RANK: u8 = 4;
const MAX_NAME: u16 = 256;

const KIND_F16: u8 = 4;

impl<R: Read + Seek> Model<R> {
    /// Reads the headers of all variables and skips their data.
    pub(super) fn open(mut reader: R) -> Result<Model<R>, ConvertError> {
        let variables = index(&mut Header::new(&mut reader)?).map_err(|error| match error {
            ConvertError::Io(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                ConvertError::Unsuitable("it ends too early".into())
            }
            other => other,
        })?;
        Ok(Model { reader, variables })
    }

    /// Dimensions of a variable.
    pub(super) fn dims(&self, name: &str) -> Result<&[u32], ConvertError> {
        Ok(&self.get(name)?.dims)
    }

    /// Whether there is such a variable.
    pub(super) fn has(&self, name: &str) -> bool {
        self.variables.contains_key(name)
    }

    /// A scalar of one or two bytes, as CTranslate2 writes counts.
    pub(super) fn scalar(&mut self, name: &str) -> Result<u32, ConvertError> {
        let variable = self.get(name)?;
        let (offset, bytes) = (variable.offset, variable.bytes);
        if !variable.dims.is_empty() || !matches!(bytes, 1 | 2) {
            return unsuitable(format!("{name} is not a small number"));
        }
        let mut word = [0; 2];
        self.reader.seek(SeekFrom::Start(offset))?;
        self.reader.read_exact(&mut word[..bytes as usize])?;
        Ok(u16::from_le_bytes(word).into())
    }

    /// `len` bytes of a float16 variable of these dimensions, from `start`.
    pub(super) fn data(
        &mut self,
        name: &str,
        dims: &[u32],
        start: u64,
        len: u64,
    ) -> Result<Take<&mut R>, ConvertError> {
        let variable = self.get(name)?;
        if variable.dims != dims {
            return unsuitable(format!("{name} measures {:?}, expected {dims:?}", variable.dims));
        }
        if variable.kind != KIND_F16 {
            return unsuitable(format!(
                "{name} is not float16; quantised models are not converted"
            ));
        }
        if start.checked_add(len).is_none_or(|end| end > variable.bytes) {
            return unsuitable(format!("{name} is too short"));
        }
        let start = variable.offset + start;
        self.reader.seek(SeekFrom::Start(start))?;
        Ok(self.reader.by_ref().take(len))
    }

    fn get(&self, name: &str) -> Result<&Variable, ConvertError> {
        match self.variables.get(name) {
            Some(variable) => Ok(variable),
            None => unsuitable(format!("it has no {name}")),
        }
    }
}

fn index<R: Read + Seek>(header: &mut Header<R>) -> Result<HashMap<String, Variable>, ConvertError> {
    let version = header.u32()?;
    if version != 6 {
        return unsuitable(format!("its format version is {version}, 6 is understood"));
    }
    let specification = string_of(header)?;
    if specification != "WhisperSpec" {
        return unsuitable(format!("it is a {specification:?}, not a whisper model"));
    }
    let _revision = header.u32()?;
    let count = header.u32()?;
    if count > MAX_VARIABLES {
        return unsuitable(format!("it says that it has {count} variables"));
    }
    (0..count).map(|_| variable_of(header)).collect()
}

fn variable_of<R: Read + Seek>(header: &mut Header<R>) -> Result<(String, Variable), ConvertError> {
    let name = string_of(header)?;
    let rank = header.u8()?;
    if rank > MAX_RANK {
        return unsuitable(format!("{name} has {rank} dimensions"));
    }
    let dims = (0..rank).map(|_| header.u32()).collect::<io::Result<Vec<_>>>()?;
    let kind = header.u8()?;
    let bytes = u64::from(header.u32()?);
    // Bytes of one number: f32, i8, i16, i32, f16, bf16.
    let Some(width) = [4, 1, 2, 4, 2, 2].get(usize::from(kind)) else {
        return unsuitable(format!("{name} has the unknown type {kind}"));
    };
    let expected = dims
        .iter()
        .try_fold(*width, |product: u64, dim| product.checked_mul(u64::from(*dim)));
    if expected != Some(bytes) {
        return unsuitable(format!("{name} measures {dims:?} but has {bytes} bytes"));
    }
    let offset = header.position();
    header.skip(bytes)?;
    Ok((
        name,
        Variable {
            dims,
            kind,
            offset,
            bytes,
        },
    ))
}

fn string_of<R: Read + Seek>(header: &mut Header<R>) -> Result<String, ConvertError> {
    let length = header.u16()?;
    if length > MAX_NAME {
        return unsuitable(format!("a name in it has {length} bytes"));
    }
    match String::from_utf8(header.bytes(length.into())?) {
        Ok(text) if text.ends_with('\0') => Ok(text.trim_end_matches('\0').to_owned()),
        _ => unsuitable("a name in it is not text"),
    }
}
