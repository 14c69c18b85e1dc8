//! Bytes to a document. Lenient in what a line may hold, strict in how components nest: an edit must know where it is.

use super::{Bounds, Component, Document, Line, LineError, Node};

/// Reads a document.
pub fn document(bytes: &[u8], bounds: Bounds) -> Result<Document, LineError> {
    if bytes.len() > bounds.bytes {
        return Err(at(1, format!("the file has more than {} bytes", bounds.bytes)));
    }
    let mut document = Document {
        nodes: Vec::new(),
        ending: ending(bytes),
        latin: false,
    };
    let mut open: Vec<Component> = Vec::new();
    let mut physical = Physical {
        bytes,
        place: 0,
        number: 0,
    };
    let mut count = 0;
    while let Some((number, raw)) = logical(&mut physical) {
        count += 1;
        if count > bounds.lines {
            return Err(at(
                number,
                format!("the file has more than {} lines", bounds.lines),
            ));
        }
        let (content, latin) = unfolded(raw);
        document.latin |= latin;
        let line = Line::read(raw, &content, number);
        if line.is("BEGIN") && line.group().is_none() {
            if open.len() >= bounds.depth {
                return Err(at(
                    number,
                    format!("more than {} components in one another", bounds.depth),
                ));
            }
            open.push(Component {
                begin: line,
                nodes: Vec::new(),
                end: Line::new("END", ""),
            });
            continue;
        }
        let node = if line.is("END") && line.group().is_none() {
            let name = line.value().trim().to_owned();
            match open.pop() {
                Some(mut component) if component.is(&name) => {
                    component.end = line;
                    Node::Component(component)
                }
                Some(other) => {
                    let what = format!(
                        "END:{} where END:{} is due (BEGIN in line {})",
                        short(&name),
                        short(other.name()),
                        other.begin.number()
                    );
                    return Err(at(number, what));
                }
                None => return Err(at(number, format!("END:{} without its BEGIN", short(&name)))),
            }
        } else {
            Node::Line(line)
        };
        open.last_mut()
            .map_or(&mut document.nodes, |c| &mut c.nodes)
            .push(node);
    }
    match open.last() {
        Some(left) => Err(at(
            left.begin.number(),
            format!("BEGIN:{} without its END", short(left.name())),
        )),
        None => Ok(document),
    }
}

/// A line with its continuations.
fn logical<'a>(physical: &mut Physical<'a>) -> Option<(usize, &'a [u8])> {
    let start = physical.place;
    let number = physical.number + 1;
    let first = physical.next()?;
    // A blank line is not continued: what follows it with a blank in front is junk of its own.
    let blank = trimmed(first).is_empty();
    let printable = is_quoted_printable(first);
    loop {
        let so_far = &physical.bytes[start..physical.place];
        // Quoted-printable has line breaks of its own, marked by an equals sign at the end.
        let soft = printable && trimmed(so_far).ends_with(b"=");
        let folded = !blank && matches!(physical.bytes.get(physical.place), Some(b' ' | b'\t'));
        if !(soft || folded) || physical.next().is_none() {
            return Some((number, &physical.bytes[start..physical.place]));
        }
    }
}

/// Physical lines with their endings.
struct Physical<'a> {
    bytes: &'a [u8],
    place: usize,
    number: usize,
}

impl<'a> Iterator for Physical<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        let rest = self.bytes.get(self.place..).filter(|rest| !rest.is_empty())?;
        let length = rest
            .iter()
            .position(|b| *b == b'\n')
            .map_or(rest.len(), |at| at + 1);
        self.place += length;
        self.number += 1;
        Some(&rest[..length])
    }
}

/// Content without folds, soft breaks and endings, and whether it is Latin-1: what is not UTF-8 once unfolded (a fold
/// may stand within a letter) is taken letter for byte.
fn unfolded(raw: &[u8]) -> (String, bool) {
    let mut out: Vec<u8> = Vec::with_capacity(raw.len());
    let printable = is_quoted_printable(raw);
    for (index, line) in raw.split_inclusive(|b| *b == b'\n').enumerate() {
        let line = trimmed(line);
        if index > 0 && printable && out.ends_with(b"=") {
            out.pop();
            out.extend_from_slice(line);
        } else if index > 0 && matches!(line.first(), Some(b' ' | b'\t')) {
            out.extend_from_slice(&line[1..]);
        } else {
            out.extend_from_slice(line);
        }
    }
    if out.starts_with(b"\xef\xbb\xbf") {
        out.drain(..3);
    }
    match String::from_utf8(out) {
        Ok(text) => (text, false),
        Err(error) => (error.as_bytes().iter().map(|b| char::from(*b)).collect(), true),
    }
}

fn is_quoted_printable(raw: &[u8]) -> bool {
    let head = raw.split(|b| *b == b':').next().unwrap_or_default();
    let word = b"QUOTED-PRINTABLE";
    head.windows(word.len())
        .any(|part| part.eq_ignore_ascii_case(word))
}

/// Without the ending.
fn trimmed(line: &[u8]) -> &[u8] {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    let end = line.iter().rposition(|b| *b != b'\r').map_or(0, |at| at + 1);
    &line[..end]
}

fn ending(bytes: &[u8]) -> &'static str {
    let first = bytes.iter().position(|b| *b == b'\n');
    match first {
        Some(at) if at == 0 || bytes[at - 1] != b'\r' => "\n",
        _ => "\r\n",
    }
}

fn short(name: &str) -> String {
    crate::system::plain::one_line(name, 30)
}

fn at(line: usize, what: String) -> LineError {
    LineError { line, what }
}
