//! JSON as the models saw it in training: one line, `": "` and `", "`, nothing but ASCII control characters escaped.

use std::io;

use serde::Serialize;
use serde_json::{Serializer, Value, ser::Formatter};

/// Writes a value as `json.dumps(value, ensure_ascii=False)` does, which is the `tojson` of transformers.
pub fn spaced(value: &Value) -> String {
    let mut out = Vec::new();
    // Writing into memory fails for no `Value`: its keys are strings and its numbers finite.
    match value.serialize(&mut Serializer::with_formatter(&mut out, Spaced)) {
        Ok(()) => String::from_utf8(out).unwrap_or_default(),
        Err(_) => String::new(),
    }
}

struct Spaced;

impl Formatter for Spaced {
    fn begin_array_value<W: ?Sized + io::Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        if first { Ok(()) } else { writer.write_all(b", ") }
    }

    fn begin_object_key<W: ?Sized + io::Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        if first { Ok(()) } else { writer.write_all(b", ") }
    }

    fn begin_object_value<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        writer.write_all(b": ")
    }
}
