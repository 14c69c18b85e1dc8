//! The wire format, pure: events to bytes, and bytes in pieces of any size to events. Whatever comes, what is kept is
//! bounded, and what breaks the format is an error that says how.
//!
//! `{"type", "version", "data"?, "data_length"?, "payload_length"?}\n`, then so many bytes of JSON, whose fields are
//! added to `data`, then so many bytes of payload (the README of the Python package `wyoming`, 1.10.2).

use serde_json::{Map, Value};

/// Longest first line, bytes, its end included.
pub const MAX_HEADER: usize = 64 << 10;
/// Longest data, bytes.
pub const MAX_DATA: usize = 1 << 20;
/// Longest payload, bytes; senders have chunks of some kilobytes.
pub const MAX_PAYLOAD: usize = 1 << 20;
/// Longest type, bytes.
const MAX_KIND: usize = 100;
/// The version of the package whose format this is.
const VERSION: &str = "1.10.2";

/// One event.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Event {
    /// What happens, such as `audio-chunk`.
    pub kind: String,
    /// Its fields.
    pub data: Map<String, Value>,
    /// Sound.
    pub payload: Vec<u8>,
}

/// What is not the protocol. The peer's own text is not repeated: this may be logged.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Wrong {
    /// The first line does not end.
    #[error("a line has more than {MAX_HEADER} bytes")]
    LongHeader,
    /// The first line is no JSON object.
    #[error("a line is no JSON object")]
    NoHeader,
    /// It has no type, or an odd one.
    #[error("an event has no type")]
    NoType,
    /// A field of the first line is of another kind.
    #[error("{0} of an event is not what it should be")]
    Field(&'static str),
    /// A length is over its bound.
    #[error("{what} of an event has {bytes} bytes; at most {most} are taken")]
    TooLong {
        /// The data or the payload.
        what: &'static str,
        /// As announced.
        bytes: u64,
        /// The bound.
        most: usize,
    },
    /// The data is no JSON object.
    #[error("the data of an event is no JSON object")]
    BadData,
}

impl Event {
    /// An event without fields.
    pub fn new(kind: &str) -> Event {
        Event {
            kind: kind.to_owned(),
            ..Event::default()
        }
    }

    /// The same with a field. What is `null` is left out, as the readers of others expect.
    pub fn with(mut self, field: &str, value: impl Into<Value>) -> Event {
        let value = value.into();
        if !value.is_null() {
            self.data.insert(field.to_owned(), value);
        }
        self
    }

    /// A field that is a text; `None` when it is not.
    pub fn text(&self, field: &str) -> Option<&str> {
        self.data.get(field).and_then(Value::as_str)
    }

    /// The bytes that stand for it.
    pub fn encode(&self) -> Vec<u8> {
        let mut header = Map::new();
        header.insert("type".into(), Value::from(self.kind.as_str()));
        header.insert("version".into(), Value::from(VERSION));
        let data = match self.data.is_empty() {
            true => String::new(),
            false => Value::from(self.data.clone()).to_string(),
        };
        if !data.is_empty() {
            header.insert("data_length".into(), Value::from(data.len()));
        }
        if !self.payload.is_empty() {
            header.insert("payload_length".into(), Value::from(self.payload.len()));
        }
        let mut bytes = Value::from(header).to_string().into_bytes();
        bytes.push(b'\n');
        bytes.extend_from_slice(data.as_bytes());
        bytes.extend_from_slice(&self.payload);
        bytes
    }
}

/// Takes bytes as they come and gives events. After an error it gives nothing more: where the next event begins, nobody
/// knows.
#[derive(Debug, Default)]
pub struct Decoder {
    bytes: Vec<u8>,
    /// So many bytes hold no end of a line.
    searched: usize,
    head: Option<Head>,
    failed: Option<Wrong>,
}

/// A first line that was read.
#[derive(Debug)]
struct Head {
    kind: String,
    data: Map<String, Value>,
    data_length: usize,
    payload_length: usize,
}

impl Decoder {
    /// Takes more bytes. What waits is bounded by who calls `next` after each time: one event and what was fed last.
    pub fn feed(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// Bytes that wait.
    pub fn waiting(&self) -> usize {
        self.bytes.len()
    }

    /// Whether an event has begun that is not here whole.
    pub fn in_the_middle(&self) -> bool {
        self.head.is_some() || !self.bytes.is_empty()
    }

    /// The next event, if it is here whole.
    ///
    /// # Errors
    /// What is wrong with it, now and for ever.
    pub fn next_event(&mut self) -> Result<Option<Event>, Wrong> {
        if let Some(wrong) = &self.failed {
            return Err(wrong.clone());
        }
        let got = self.advance();
        if let Err(wrong) = &got {
            self.failed = Some(wrong.clone());
            self.bytes = Vec::new();
        }
        got
    }

    fn advance(&mut self) -> Result<Option<Event>, Wrong> {
        if self.head.is_none() {
            let Some(line) = self.line()? else { return Ok(None) };
            self.head = Some(head(&line)?);
        }
        let Some(head) = self
            .head
            .take_if(|head| self.bytes.len() >= head.data_length + head.payload_length)
        else {
            return Ok(None);
        };
        let mut data = head.data;
        if head.data_length > 0 {
            let more: Value =
                serde_json::from_slice(&self.bytes[..head.data_length]).map_err(|_| Wrong::BadData)?;
            let Value::Object(more) = more else {
                return Err(Wrong::BadData);
            };
            data.extend(more);
        }
        let whole = head.data_length + head.payload_length;
        let payload = self.bytes[head.data_length..whole].to_vec();
        self.bytes.drain(..whole);
        Ok(Some(Event {
            kind: head.kind,
            data,
            payload,
        }))
    }

    /// The next line, if it is here whole.
    fn line(&mut self) -> Result<Option<Vec<u8>>, Wrong> {
        let end = self.bytes[self.searched..].iter().position(|b| *b == b'\n');
        match end.map(|end| self.searched + end + 1) {
            Some(end) if end <= MAX_HEADER => {
                self.searched = 0;
                Ok(Some(self.bytes.drain(..end).collect()))
            }
            None if self.bytes.len() < MAX_HEADER => {
                self.searched = self.bytes.len();
                Ok(None)
            }
            _ => Err(Wrong::LongHeader),
        }
    }
}

fn head(line: &[u8]) -> Result<Head, Wrong> {
    // Whoever speaks HTTP to this port, such as a web page in the person's own browser, ends here with its first line.
    let Ok(Value::Object(mut fields)) = serde_json::from_slice(line) else {
        return Err(Wrong::NoHeader);
    };
    let kind = match fields.remove("type") {
        Some(Value::String(kind)) if (1..=MAX_KIND).contains(&kind.len()) => kind,
        _ => return Err(Wrong::NoType),
    };
    let data = match fields.remove("data") {
        None | Some(Value::Null) => Map::new(),
        Some(Value::Object(data)) => data,
        Some(_) => return Err(Wrong::Field("the data")),
    };
    Ok(Head {
        kind,
        data,
        data_length: length(&fields, "data_length", "the data", MAX_DATA)?,
        payload_length: length(&fields, "payload_length", "the payload", MAX_PAYLOAD)?,
    })
}

fn length(
    fields: &Map<String, Value>,
    field: &'static str,
    what: &'static str,
    most: usize,
) -> Result<usize, Wrong> {
    let bytes = match fields.get(field) {
        None | Some(Value::Null) => return Ok(0),
        Some(value) => value.as_u64().ok_or(Wrong::Field(field))?,
    };
    match usize::try_from(bytes) {
        Ok(bytes) if bytes <= most => Ok(bytes),
        _ => Err(Wrong::TooLong { what, bytes, most }),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    /// What comes out when the bytes arrive in pieces of this size: events, and the error that ended it.
    fn decode(bytes: &[u8], piece: usize) -> (Vec<Event>, Option<Wrong>) {
        let (mut decoder, mut events) = (Decoder::default(), Vec::new());
        for piece in bytes.chunks(piece.max(1)) {
            decoder.feed(piece);
            loop {
                match decoder.next_event() {
                    Ok(Some(event)) => events.push(event),
                    Ok(None) => break,
                    Err(wrong) => {
                        assert_eq!(decoder.next_event(), Err(wrong.clone()), "it does not recover");
                        return (events, Some(wrong));
                    }
                }
            }
            assert!(decoder.waiting() <= MAX_HEADER + MAX_DATA + MAX_PAYLOAD + piece.len());
        }
        (events, None)
    }

    #[test]
    fn an_event_is_written_as_the_python_package_reads_it() {
        let event = Event {
            payload: vec![1, 2, 3],
            ..Event::new("audio-chunk")
                .with("rate", 16_000)
                .with("note", Value::Null)
        };
        assert_eq!(
            event.encode(),
            b"{\"type\":\"audio-chunk\",\"version\":\"1.10.2\",\"data_length\":14,\"payload_length\":3}\n{\"rate\":16000}\x01\x02\x03"
        );
        assert_eq!(
            Event::new("describe").encode(),
            b"{\"type\":\"describe\",\"version\":\"1.10.2\"}\n"
        );
    }

    #[test]
    fn what_others_write_is_read() {
        #[track_caller]
        fn check(bytes: &[u8], kind: &str, data: Value, payload: &[u8]) {
            let (events, wrong) = decode(bytes, 7);
            assert_eq!(wrong, None);
            let expect = Event {
                kind: kind.into(),
                data: data.as_object().unwrap().clone(),
                payload: payload.to_vec(),
            };
            assert_eq!(events, [expect]);
        }
        check(b"{\"type\": \"describe\"}\n", "describe", json!({}), b"");
        check(
            b"{\"type\": \"describe\", \"data\": null}\r\n",
            "describe",
            json!({}),
            b"",
        );
        // Older senders have all data in the line, and what comes after it counts more.
        check(
            b"{\"type\": \"t\", \"data\": {\"a\": 1, \"b\": 2}, \"data_length\": 8, \"payload_length\": 2}\n{\"b\": 3}xy",
            "t",
            json!({"a": 1, "b": 3}),
            b"xy",
        );
        check(
            "{\"type\": \"transcript\", \"data_length\": 17}\n{\"text\": \"ärö\"}".as_bytes(),
            "transcript",
            json!({"text": "ärö"}),
            b"",
        );
    }

    #[test]
    fn what_breaks_the_format_is_said() {
        #[track_caller]
        fn check(bytes: &[u8], expect: Wrong) {
            for piece in [1, 1000] {
                assert_eq!(decode(bytes, piece), (Vec::new(), Some(expect.clone())));
            }
        }
        check(
            b"POST / HTTP/1.1\r\nHost: x\r\n\r\n{\"type\": \"transcript\"}\n",
            Wrong::NoHeader,
        );
        check(b"\n", Wrong::NoHeader);
        check(b"[1]\n", Wrong::NoHeader);
        check(b"{\"type\": \"\xff\"}\n", Wrong::NoHeader);
        check(b"{}\n", Wrong::NoType);
        check(b"{\"type\": 3}\n", Wrong::NoType);
        check(b"{\"type\": \"\"}\n", Wrong::NoType);
        check(
            format!("{{\"type\": \"{}\"}}\n", "x".repeat(101)).as_bytes(),
            Wrong::NoType,
        );
        check(b"{\"type\": \"x\", \"data\": [1]}\n", Wrong::Field("the data"));
        for odd in ["-1", "1.5", "\"3\"", "true", "[]"] {
            let line = |field: &str| format!("{{\"type\": \"x\", \"{field}\": {odd}}}\n");
            check(line("data_length").as_bytes(), Wrong::Field("data_length"));
            check(line("payload_length").as_bytes(), Wrong::Field("payload_length"));
        }
        for bytes in [MAX_PAYLOAD as u64 + 1, u64::MAX] {
            let line = format!("{{\"type\": \"x\", \"payload_length\": {bytes}}}\n");
            let most = MAX_PAYLOAD;
            check(
                line.as_bytes(),
                Wrong::TooLong {
                    what: "the payload",
                    bytes,
                    most,
                },
            );
        }
        let line = format!("{{\"type\": \"x\", \"data_length\": {}}}\n", MAX_DATA + 1);
        let (bytes, most) = (MAX_DATA as u64 + 1, MAX_DATA);
        check(
            line.as_bytes(),
            Wrong::TooLong {
                what: "the data",
                bytes,
                most,
            },
        );
        check(b"{\"type\": \"x\", \"data_length\": 3}\n[1]", Wrong::BadData);
        check(b"{\"type\": \"x\", \"data_length\": 3}\n{{{", Wrong::BadData);
        // Deeper than any reader should follow.
        let deep = format!(
            "{{\"type\": \"x\", \"data\": {}{}}}\n",
            "[".repeat(9000),
            "]".repeat(9000)
        );
        check(deep.as_bytes(), Wrong::NoHeader);
    }

    #[test]
    fn a_line_without_end_is_not_kept() {
        let (events, wrong) = decode(&vec![b'a'; 4 * MAX_HEADER], 4096);
        assert_eq!((events.len(), wrong), (0, Some(Wrong::LongHeader)));
        let mut longest = br#"{"type": "x"}"#.to_vec();
        longest.resize(MAX_HEADER - 1, b' ');
        longest.push(b'\n');
        assert_eq!(decode(&longest, 999).0.len(), 1);
        longest.insert(13, b' ');
        assert_eq!(decode(&longest, 999).1, Some(Wrong::LongHeader));
    }

    #[test]
    fn what_is_announced_and_does_not_come_takes_no_room() {
        let mut decoder = Decoder::default();
        decoder.feed(format!("{{\"type\": \"x\", \"payload_length\": {MAX_PAYLOAD}}}\n").as_bytes());
        assert_eq!(decoder.next_event(), Ok(None));
        assert!(decoder.in_the_middle());
        assert!(decoder.bytes.capacity() < 1024, "{}", decoder.bytes.capacity());
    }

    fn value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            "\\PC{0,12}".prop_map(Value::from),
        ];
        leaf.prop_recursive(3, 16, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::btree_map("[a-z]{1,6}", inner, 0..4)
                    .prop_map(|map| map.into_iter().collect::<Map<_, _>>().into()),
            ]
        })
    }

    fn event() -> impl Strategy<Value = Event> {
        let data = prop::collection::btree_map("\\PC{1,8}", value(), 0..5);
        let payload = prop::collection::vec(any::<u8>(), 0..300);
        ("[a-z-]{1,20}", data, payload).prop_map(|(kind, data, payload)| Event {
            kind,
            data: data.into_iter().collect(),
            payload,
        })
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_back_whatever_the_pieces(
            events in prop::collection::vec(event(), 0..6), piece in 1usize..500,
        ) {
            let bytes: Vec<u8> = events.iter().flat_map(Event::encode).collect();
            prop_assert_eq!(decode(&bytes, piece), (events, None));
        }

        #[test]
        fn any_bytes_are_events_or_an_error_whatever_the_pieces(
            bytes in prop::collection::vec(any::<u8>(), 0..400), piece in 1usize..50,
        ) {
            prop_assert_eq!(decode(&bytes, piece), decode(&bytes, usize::MAX));
        }

        #[test]
        fn events_that_were_damaged_are_read_alike_whatever_the_pieces(
            events in prop::collection::vec(event(), 1..4),
            harm in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
            cut in any::<prop::sample::Index>(), piece in 1usize..60,
        ) {
            let mut bytes: Vec<u8> = events.iter().flat_map(Event::encode).collect();
            for (at, byte) in harm {
                let at = at.index(bytes.len());
                bytes[at] = byte;
            }
            bytes.truncate(cut.index(bytes.len()) + 1);
            prop_assert_eq!(decode(&bytes, piece), decode(&bytes, usize::MAX));
        }
    }
}
