//! The file of the encoder: safetensors, a length, that many bytes of JSON, and the numbers. Hostile until it is parsed.
//!
//! Its matrices are read when they are needed and forgotten again. They are 43 MB, which the system keeps in memory as long as it
//! has nothing better to do with it, and reading them from there takes a few milliseconds; the daemon would be twice its size for good.

use std::{
    fs::File,
    io::{Read, Seek},
    os::unix::fs::FileExt as _,
    path::{Path, PathBuf},
};

use ndarray::{Array1, Array2, ArrayView2};
use safetensors::{Dtype, tensor::Metadata};

use super::ReaderError;
use crate::header::{self, BadFile, Header};

#[cfg(target_endian = "big")]
compile_error!("the numbers of the file are little endian, and are taken as they are");

/// Longest JSON, bytes; that of an encoder has about 11 kB.
const MAX_HEADER: u64 = 1 << 20;

/// Tensors of 32-bit floats by their names.
pub(super) struct Weights {
    path: PathBuf,
    file: File,
    head: Metadata,
    /// Where the numbers begin in the file.
    start: u64,
}

/// How many tensors the file has.
///
/// # Errors
/// Says what is wrong with the file and what to do: not a safetensors file (and what else), damaged, cut short.
pub(crate) fn inspect(path: &Path) -> Result<usize, BadFile> {
    Ok(head(Header::open(path)?)?.0.tensors().len())
}

/// What a file says of itself, and where its numbers begin.
fn head<R: Read + Seek>(mut header: Header<R>) -> Result<(Metadata, u64), BadFile> {
    let length = header.u64().ok().filter(|length| *length <= MAX_HEADER);
    let Some(length) = length.filter(|_| header.u8().is_ok_and(|first| first == b'{')) else {
        return Err(BadFile::Foreign {
            wanted: "safetensors",
            looks: header.looks()?,
        });
    };
    let (rest, there) = (length.saturating_sub(1), header.length() - header.position());
    if rest > there {
        return Err(BadFile::Truncated {
            missing: rest - there,
            expected: length + 8,
        });
    }
    let json = [b"{", header.bytes(rest)?.as_slice()].concat();
    let head: Metadata = serde_json::from_slice(&json).map_err(|e| BadFile::Damaged(e.to_string()))?;
    let numbers = u64::try_from(head.data_len()).unwrap_or(u64::MAX);
    let start = header.position();
    let expected = start.saturating_add(numbers);
    match expected.cmp(&header.length()) {
        std::cmp::Ordering::Greater => Err(BadFile::Truncated {
            missing: expected - header.length(),
            expected,
        }),
        std::cmp::Ordering::Less => Err(BadFile::Damaged("more bytes follow than it names".to_owned())),
        std::cmp::Ordering::Equal => Ok((head, start)),
    }
}

impl Weights {
    /// Reads what the file says of itself.
    ///
    /// # Errors
    /// `Bad` when it is no safetensors file, or not all of it is there.
    pub(super) fn open(path: &Path) -> Result<Weights, ReaderError> {
        let bad = |reason| ReaderError::Bad {
            path: path.to_owned(),
            reason,
        };
        // Opened once: what its head says is said of these numbers, whatever takes its name meanwhile.
        let file = header::open(path).map_err(bad)?;
        let begun = Header::new(&file).map_err(BadFile::from);
        let (head, start) = begun.and_then(head).map_err(bad)?;
        Ok(Weights {
            path: path.to_owned(),
            file,
            head,
            start,
        })
    }

    /// A matrix of this shape, read into `room`, which grows to the largest that it was given for.
    ///
    /// # Errors
    /// `Bad` when the file has none, or cannot be read.
    pub(super) fn matrix<'room>(
        &self,
        name: &str,
        shape: [usize; 2],
        room: &'room mut Vec<f32>,
    ) -> Result<ArrayView2<'room, f32>, ReaderError> {
        let count = shape[0] * shape[1];
        if room.len() < count {
            room.resize(count, 0.0);
        }
        let room = &mut room[..count];
        self.numbers(name, &shape, 0, room)?;
        ArrayView2::from_shape(shape, room).map_err(|e| self.bad(name, &e.to_string()))
    }

    /// So many rows of a matrix of this shape.
    ///
    /// # Errors
    /// As [`Weights::matrix`], and `Bad` when it has no such rows.
    pub(super) fn rows(
        &self,
        name: &str,
        shape: [usize; 2],
        first: usize,
        count: usize,
    ) -> Result<Array2<f32>, ReaderError> {
        if first.checked_add(count).is_none_or(|end| end > shape[0]) {
            return Err(self.bad(name, &format!("has no row {first}")));
        }
        let mut numbers = vec![0.0; count * shape[1]];
        self.numbers(name, &shape, first * shape[1], &mut numbers)?;
        Array2::from_shape_vec((count, shape[1]), numbers).map_err(|e| self.bad(name, &e.to_string()))
    }

    /// A vector of this length.
    ///
    /// # Errors
    /// As [`Weights::matrix`].
    pub(super) fn vector(&self, name: &str, length: usize) -> Result<Array1<f32>, ReaderError> {
        let mut numbers = vec![0.0; length];
        self.numbers(name, &[length], 0, &mut numbers)?;
        Ok(Array1::from_vec(numbers))
    }

    /// Reads as many numbers as there is room for, from the `first` on.
    fn numbers(
        &self,
        name: &str,
        shape: &[usize],
        first: usize,
        room: &mut [f32],
    ) -> Result<(), ReaderError> {
        let tensor = self.head.info(name);
        let tensor = tensor.filter(|tensor| tensor.shape == shape && tensor.dtype == Dtype::F32);
        let tensor = tensor.ok_or_else(|| self.bad(name, &format!("is not there in the shape {shape:?}")))?;
        let bytes: &mut [u8] = bytemuck::cast_slice_mut(room);
        let (from, to) = tensor.data_offsets;
        let at = from + first * 4;
        if at + bytes.len() > to {
            return Err(self.bad(name, "is shorter than its shape"));
        }
        let at = self.start + at as u64;
        let read = self.file.read_exact_at(bytes, at);
        read.map_err(|cause| ReaderError::Bad {
            path: self.path.clone(),
            reason: cause.into(),
        })
    }

    /// What is wrong with a tensor.
    pub(super) fn bad(&self, name: &str, why: &str) -> ReaderError {
        ReaderError::Bad {
            path: self.path.clone(),
            reason: BadFile::Unsupported(format!("its tensor {name} {why}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use proptest::prelude::*;

    use super::*;

    /// A file of two tensors.
    fn file() -> Vec<u8> {
        let head = br#"{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"b":{"dtype":"F32","shape":[1,1],"data_offsets":[8,12]}}"#;
        let mut file = (head.len() as u64).to_le_bytes().to_vec();
        file.extend(head);
        file.extend([0; 12]);
        file
    }

    fn reads(bytes: &[u8]) -> Result<usize, BadFile> {
        Ok(head(Header::new(Cursor::new(bytes))?)?.0.tensors().len())
    }

    #[test]
    fn a_whole_file_is_known_and_a_cut_one_noticed() {
        let file = file();
        assert_eq!(reads(&file).unwrap(), 2);
        for cut in 0..file.len() {
            assert!(reads(&file[..cut]).is_err(), "{cut}");
        }
        assert!(matches!(
            reads(&file[..file.len() - 5]),
            Err(BadFile::Truncated { missing: 5, .. })
        ));
        assert!(matches!(
            reads(&[&file[..], b"x"].concat()),
            Err(BadFile::Damaged(_))
        ));
    }

    #[test]
    fn what_is_something_else_is_named() {
        assert!(matches!(
            reads(b"GGUF\x03\0\0\0 and more"),
            Err(BadFile::Foreign { .. })
        ));
        let mut long = file();
        long[..8].copy_from_slice(&u64::MAX.to_le_bytes());
        assert!(reads(&long).is_err());
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn no_bytes_break_it(
            length in prop_oneof![0..200_u64, any::<u64>()],
            sizes in prop::collection::vec(any::<u64>(), 0..6),
            tail in prop::collection::vec(any::<u8>(), 0..40),
        ) {
            let tensors = sizes.chunks(2).enumerate().map(|(n, size)| {
                format!("\"{n}\":{{\"dtype\":\"U8\",\"shape\":[{}],\"data_offsets\":[{},{}]}}", size[0], size[0], size[size.len() - 1])
            });
            let json = format!("{{{}}}", tensors.collect::<Vec<_>>().join(","));
            let said = if length < 200 { json.len() as u64 } else { length };
            drop(reads(&[&said.to_le_bytes()[..], json.as_bytes(), &tail].concat()));
        }
    }
}
