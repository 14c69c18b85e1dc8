//! Text at the edge of the tokenizer: bytes that become characters, stop strings, and markers that must stay text.

/// Turns the bytes of tokens into text that may be shown at once. Held back: the first bytes of an unfinished
/// character, and whatever may be the beginning of a stop string.
#[derive(Debug, Default)]
pub struct Stream {
    stops: Vec<String>,
    bytes: Vec<u8>,
    held: String,
    stopped: bool,
}

impl Stream {
    /// A stream that ends at any of these strings; empty ones are ignored.
    pub fn new(stops: &[String]) -> Stream {
        Stream {
            stops: stops.iter().filter(|s| !s.is_empty()).cloned().collect(),
            ..Stream::default()
        }
    }

    /// Takes the bytes of one token and gives what is certain.
    pub fn push(&mut self, bytes: &[u8]) -> String {
        if self.stopped {
            return String::new();
        }
        self.bytes.extend_from_slice(bytes);
        let whole = whole_characters(&self.bytes);
        let text = String::from_utf8_lossy(&self.bytes[..whole]).into_owned();
        self.bytes.drain(..whole);
        self.held.push_str(&text);
        if let Some(at) = self.stops.iter().filter_map(|s| self.held.find(s)).min() {
            self.stopped = true;
            self.held.truncate(at);
            return std::mem::take(&mut self.held);
        }
        let certain = self.held.len() - self.maybe_stop();
        let rest = self.held.split_off(certain);
        std::mem::replace(&mut self.held, rest)
    }

    /// Whether a stop string was seen.
    pub fn stopped(&self) -> bool {
        self.stopped
    }

    /// What is still held when no more tokens come.
    pub fn finish(mut self) -> String {
        if !self.stopped && !self.bytes.is_empty() {
            self.held.push_str(&String::from_utf8_lossy(&self.bytes));
        }
        self.held
    }

    /// Bytes at the end of `held` that begin a stop string.
    fn maybe_stop(&self) -> usize {
        let starts = |stop: &String| {
            (1..stop.len().min(self.held.len() + 1))
                .rev()
                .find(|n| self.held.as_bytes().ends_with(&stop.as_bytes()[..*n]))
                .unwrap_or(0)
        };
        let mut hold = self.stops.iter().map(starts).max().unwrap_or(0);
        while !self.held.is_char_boundary(self.held.len() - hold) {
            hold += 1;
        }
        hold
    }
}

/// Bytes up to which every character is complete (or can never become one).
fn whole_characters(bytes: &[u8]) -> usize {
    let mut at = 0;
    loop {
        match std::str::from_utf8(&bytes[at..]) {
            Ok(_) => return bytes.len(),
            Err(e) => match e.error_len() {
                Some(bad) => at += e.valid_up_to() + bad,
                None => return at + e.valid_up_to(),
            },
        }
    }
}

/// Cuts a text inside every occurrence of a marker, so that no part holds it and the parts joined are the text.
/// A marker of one character cannot be cut; it carries no markup either.
pub fn cut_marker<'a>(text: &'a str, marker: &str) -> Vec<&'a str> {
    let Some(first) = marker.chars().next().map(char::len_utf8) else {
        return vec![text];
    };
    if first == marker.len() {
        return vec![text];
    }
    let mut parts = Vec::new();
    let (mut start, mut from) = (0, 0);
    while let Some(found) = text[from..].find(marker) {
        from += found + first;
        parts.push(&text[start..from]);
        start = from;
    }
    parts.push(&text[start..]);
    parts
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn streams(tokens: &[&[u8]], stops: &[&str], parts: &[&str], rest: &str) {
        let stops: Vec<String> = stops.iter().map(ToString::to_string).collect();
        let mut stream = Stream::new(&stops);
        let got: Vec<String> = tokens.iter().map(|t| stream.push(t)).collect();
        assert_eq!(got, parts);
        assert_eq!(stream.finish(), rest);
    }

    #[test]
    fn half_characters_and_half_stops_wait() {
        streams(&[b"caf\xc3", b"\xa9"], &[], &["caf", "é"], "");
        streams(&[b"\xf0\x9f", b"\x98", b"\x80!"], &[], &["", "", "😀!"], "");
        streams(&[b"a\xff", b"b"], &[], &["a\u{fffd}", "b"], "");
        streams(&[b"a\xc3"], &[], &["a"], "\u{fffd}");
        streams(&[b"one</to", b"ol>two"], &["</tool>"], &["one", ""], "");
        streams(&[b"one</to", b"re>two"], &["</tool>"], &["one", "</tore>two"], "");
        streams(&[b"one</to"], &["</tool>"], &["one"], "</to");
        streams(&[b"a b c"], &["c", "b"], &["a "], "");
        streams(&[b"x", b"y"], &[""], &["x", "y"], "");
        streams(&[b"x\xc3", b"\xa9y"], &["éy"], &["x", ""], "");
    }

    #[test]
    fn after_a_stop_nothing_comes() {
        let mut stream = Stream::new(&["\n".into()]);
        assert_eq!(stream.push(b"yes\nno"), "yes");
        assert!(stream.stopped());
        assert_eq!(stream.push(b"more"), "");
        assert_eq!(stream.finish(), "");
    }

    #[track_caller]
    fn cuts(text: &str, marker: &str, parts: &[&str]) {
        assert_eq!(cut_marker(text, marker), parts);
    }

    #[test]
    fn markers_are_cut_inside() {
        cuts("a <tool> b", "<tool>", &["a <", "tool> b"]);
        cuts("<tool><tool>", "<tool>", &["<", "tool><", "tool>"]);
        cuts("aaa", "aa", &["a", "a", "a"]);
        cuts("nothing", "<tool>", &["nothing"]);
        cuts("x|x", "|", &["x|x"]);
        cuts("", "<tool>", &[""]);
        cuts("x", "", &["x"]);
    }

    proptest! {
        #[test]
        fn streaming_loses_nothing(text in "[a-c<é😀]{0,40}", sizes in proptest::collection::vec(1_usize..5, 1..60)) {
            let mut stream = Stream::new(&["<<<<<<".into()]);
            let mut got = String::new();
            let mut bytes = text.as_bytes();
            for size in sizes.iter().cycle() {
                if bytes.is_empty() { break; }
                let (token, rest) = bytes.split_at((*size).min(bytes.len()));
                got += &stream.push(token);
                bytes = rest;
            }
            let stopped = stream.stopped();
            got += &stream.finish();
            match text.find("<<<<<<") {
                Some(at) => prop_assert!(stopped && got == text[..at]),
                None => prop_assert_eq!(got, text),
            }
        }

        #[test]
        fn cut_parts_join_to_the_text_and_hold_no_marker(text in "[<>at]{0,30}", marker in "[<>at]{2,4}") {
            let parts = cut_marker(&text, &marker);
            prop_assert_eq!(parts.concat(), text.as_str());
            prop_assert!(parts.iter().all(|p| !p.contains(&marker)));
        }
    }
}
