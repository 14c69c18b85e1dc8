//! Files that stand in a text as letters (uuencode, POSIX), as mail programs wrote them before MIME and some still do: found,
//! taken out of the text and decoded.
//!
//! A sentence may begin with "begin", so only what is well-formed from the first line to the last is a file; anything else
//! stays text. A file is hardly longer than the text that it stands in, and each line is looked at twice at most.

use std::ops::Range;

/// How the first line of a file begins.
const BEGIN: &str = "begin ";
/// Most bytes that one line may hold: what its first letter can say.
const MAX_LINE: usize = 63;
/// Letters that some programs put behind a line as its checksum.
const CHECKSUM: usize = 2;
/// Most files of one text; what follows stays text.
const MAX_FILES: usize = 500;

/// How much longer than its letters a file may be: a line may lack the blanks at its end, and a hostile one all of them.
const MAX_LOST: usize = 64 * 1024;

/// A file in a text.
#[derive(Debug, PartialEq, Eq)]
pub struct File {
    /// As its first line says; may be empty, and is no path whatever it says.
    pub name: String,
    /// What it holds.
    pub bytes: Vec<u8>,
}

/// The text without the files in it, and the files.
pub fn split(text: &str) -> (String, Vec<File>) {
    let (mut rest, mut files) = (String::new(), Vec::new());
    let (mut at, mut kept) = (0, 0);
    while let Some(found) = text[at..].find(BEGIN).filter(|_| files.len() < MAX_FILES) {
        at += found;
        if at > 0 && text.as_bytes()[at - 1] != b'\n' {
            at += BEGIN.len();
            continue;
        }
        let line = line_at(text, at);
        match begin(&text[line.clone()]).and_then(|name| Some((name, body(text, line.end)?))) {
            Some((name, (bytes, end))) => {
                rest.push_str(&text[kept..at]);
                files.push(File {
                    name: name.to_owned(),
                    bytes,
                });
                (at, kept) = (end, end);
            }
            None => at = line.end,
        }
    }
    rest.push_str(&text[kept..]);
    (rest, files)
}

/// The line that begins there, with its end.
fn line_at(text: &str, at: usize) -> Range<usize> {
    let end = text[at..].find('\n').map_or(text.len(), |end| at + end + 1);
    at..end
}

/// The name in "begin 644 name".
fn begin(line: &str) -> Option<&str> {
    let (mode, name) = line.strip_prefix(BEGIN)?.split_once(' ')?;
    let octal = mode.bytes().all(|digit| (b'0'..=b'7').contains(&digit));
    ((3..=4).contains(&mode.len()) && octal).then(|| name.trim())
}

/// What stands between "begin" and "end", and where the text goes on.
fn body(text: &str, mut at: usize) -> Option<(Vec<u8>, usize)> {
    let (mut bytes, begun) = (Vec::new(), at);
    let mut ended = false;
    while at < text.len() && bytes.len() <= at - begun + MAX_LOST {
        let range = line_at(text, at);
        at = range.end;
        let line = text[range].trim_end_matches(['\r', '\n']);
        if line.trim_end() == "end" {
            return Some((bytes, at));
        }
        ended = decode(line, &mut bytes, ended)?;
    }
    None
}

/// One line: how many bytes, then four letters for each three of them. Says whether it is the empty line at the end, after
/// which none with bytes comes.
fn decode(line: &str, bytes: &mut Vec<u8>, ended: bool) -> Option<bool> {
    let value = |letter: u8| (b' '..=b'`').contains(&letter).then(|| (letter - b' ') & 63);
    let (first, letters) = match line.as_bytes() {
        // A blank stands for zero, and blanks at the end of a line are lost on the way.
        [] => (0, &[][..]),
        [first, letters @ ..] => (usize::from(value(*first)?), letters),
    };
    let needed = first.div_ceil(3) * 4;
    if first > MAX_LINE || letters.len() > needed + CHECKSUM || (first > 0 && ended) {
        return None;
    }
    let end = bytes.len() + first;
    let mut all = letters.iter().map(|letter| value(*letter));
    for _ in 0..first.div_ceil(3) {
        let mut four = [0u8; 4];
        for place in &mut four {
            *place = all.next().unwrap_or(Some(0))?;
        }
        let [a, b, c, d] = four;
        bytes.extend([a << 2 | b >> 4, b << 4 | c >> 2, c << 6 | d]);
    }
    bytes.truncate(end);
    all.all(|checksum| checksum.is_some()).then_some(first == 0)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn encode(bytes: &[u8], zero: u8) -> String {
        let letter = |six: u8| {
            if six == 0 {
                char::from(zero)
            } else {
                char::from(six + b' ')
            }
        };
        let mut text = String::new();
        for line in bytes.chunks(45) {
            text.push(letter(line.len() as u8));
            for three in line.chunks(3) {
                let [a, b, c] = [0, 1, 2].map(|at| three.get(at).copied().unwrap_or(0));
                text.extend([a >> 2, (a << 4 | b >> 4) & 63, (b << 2 | c >> 6) & 63, c & 63].map(letter));
            }
            text.push('\n');
        }
        text.push(letter(0));
        text.push('\n');
        text
    }

    #[test]
    fn files_leave_the_text() {
        let text = "Hello,\n\nbegin 644 cat.txt\n#0V%T\n`\nend\nand\nbegin 0600 \n#0V%T\nend\nbye";
        let file = |name: &str| File {
            name: name.to_owned(),
            bytes: b"Cat".to_vec(),
        };
        let rest = "Hello,\n\nand\nbye".to_owned();
        assert_eq!(split(text), (rest.clone(), vec![file("cat.txt"), file("")]));
        assert_eq!(
            split(&text.replace('\n', "\r\n")),
            (rest.replace('\n', "\r\n"), vec![file("cat.txt"), file("")])
        );
    }

    #[test]
    fn what_only_looks_like_a_file_stays_text() {
        for text in [
            "",
            "begin",
            "begin 644",
            "begin 644 name",
            "begin 644 name\nend of the story\n",
            "begin 644 cat.txt\n#0V%T\n",
            "begin 644 cat.txt\n#0V%T\nHello there\nend\n",
            "begin 644 cat.txt\n#0V%T\n`\n#0V%T\nend\n",
            "begin 644 cat.txt\n#0V%T0V%T\nend\n",
            "begin 888 cat.txt\n#0V%T\nend\n",
            "begin with 644 apples\n#0V%T\nend\n",
            " begin 644 cat.txt\n#0V%T\nend\n",
            "begin 644 cät.txt\n#0Vä\nend\n",
            "> begin 644 cat.txt\n> #0V%T\n> end\n",
        ] {
            assert_eq!(split(text), (text.to_owned(), Vec::new()), "{text:?}");
        }
    }

    #[test]
    fn many_beginnings_take_no_longer_than_the_text_is_long() {
        let begun = std::time::Instant::now();
        let text = "begin 644 x\n".repeat(1 << 20);
        assert_eq!(split(&text).1, []);
        let text = format!("begin 644 x\n{}", "#0V%T\n".repeat(1 << 20)).repeat(2);
        assert_eq!(split(&text).1, []);
        assert!(begun.elapsed().as_secs() < 20, "{:?}", begun.elapsed());
        // Each of these lines says that it is 45 bytes.
        let text = format!("begin 644 x\n{}end\n", "M\n".repeat(100_000));
        assert_eq!(split(&text).1, []);
        let text = "begin 644 x\n#0V%T\nend\n".repeat(MAX_FILES + 7);
        let (rest, files) = split(&text);
        assert_eq!((rest.lines().count(), files.len()), (7 * 3, MAX_FILES));
    }

    proptest! {
        #[test]
        fn what_was_encoded_comes_back(bytes in proptest::collection::vec(any::<u8>(), 0..400), stripped: bool) {
            for zero in [b'`', b' '] {
                let mut body = encode(&bytes, zero);
                if stripped {
                    body = body.lines().map(|line| format!("{}\n", line.trim_end())).collect();
                }
                let text = format!("before\nbegin 644 a b.bin\n{body}end\nafter\n");
                let file = File { name: "a b.bin".to_owned(), bytes: bytes.clone() };
                prop_assert_eq!(split(&text), ("before\nafter\n".to_owned(), vec![file]));
            }
        }

        #[test]
        fn any_text_is_survived(text in "(begin 644 x\n|end\n|#0V%T\n|`\n|\n|\r|[ -é]{0,6}){0,40}") {
            let (rest, files) = split(&text);
            let bytes: usize = files.iter().map(|file| file.bytes.len()).sum();
            prop_assert!(rest.len() <= text.len() && bytes <= text.len() + MAX_LOST);
        }
    }
}
