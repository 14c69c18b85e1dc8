//! One content line: `item1.TEL;TYPE=home,pref:+49 30 1234`.

/// Octets of a physical line without its ending (RFC 5545 3.1).
const FOLD: usize = 75;

/// A line, unfolded; it remembers its bytes until it is changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// With folds and ending; `None` for one that was made or changed.
    raw: Option<Box<[u8]>>,
    /// Everything before the colon that ends the parameters; empty for a line that is none.
    head: String,
    value: String,
    number: usize,
}

impl Line {
    /// A line whose value is in its final form. What cannot stand in a name is dropped, a line break in the value is
    /// escaped, so that no text becomes a second line.
    pub fn new(name: &str, value: &str) -> Line {
        let name = name
            .chars()
            .filter(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '.'));
        Line {
            raw: None,
            head: name.collect(),
            value: one_line(value),
            number: 0,
        }
    }

    /// A line whose value is text, which is escaped here.
    pub fn text(name: &str, text: &str) -> Line {
        Line::new(name, &escape(text))
    }

    /// The same with one more parameter, quoted and escaped as it needs (RFC 6868).
    #[must_use]
    pub fn with_param(mut self, name: &str, value: &str) -> Line {
        let name: String = name
            .chars()
            .filter(|c| c.is_ascii_alphanumeric() || *c == '-')
            .collect();
        let value: String = value
            .replace('^', "^^")
            .replace('"', "^'")
            .replace("\r\n", "\n")
            .replace('\n', "^n");
        let value: String = value.chars().filter(|c| !c.is_control()).collect();
        let quote = if value.contains([':', ';', ',']) { "\"" } else { "" };
        self.head.push_str(&format!(";{name}={quote}{value}{quote}"));
        self.raw = None;
        self
    }

    /// A line as it stands in a file; `content` is unfolded and without its ending.
    pub(super) fn read(raw: &[u8], content: &str, number: usize) -> Line {
        let (head, value) = match head_end(content) {
            Some(colon) => (&content[..colon], &content[colon + 1..]),
            None => ("", content),
        };
        Line {
            raw: Some(raw.into()),
            head: head.to_owned(),
            value: value.to_owned(),
            number,
        }
    }

    /// Its name without the group: `TEL`; empty for a line that is none.
    pub fn name(&self) -> &str {
        let full = self.full_name();
        full.rsplit_once('.').map_or(full, |(_, name)| name)
    }

    /// Whether it is called so, in whatever case.
    pub fn is(&self, name: &str) -> bool {
        self.name().eq_ignore_ascii_case(name)
    }

    /// `item1` of `item1.TEL`.
    pub fn group(&self) -> Option<&str> {
        self.full_name().rsplit_once('.').map(|(group, _)| group)
    }

    /// The value as it is written, unfolded.
    pub fn value(&self) -> &str {
        &self.value
    }

    /// The value as text.
    pub fn to_text(&self) -> String {
        unescape(&self.value)
    }

    /// Changes the value, already escaped where it must be; group and parameters stay.
    pub fn set_value(&mut self, value: &str) {
        let value = one_line(value);
        if self.value != value {
            self.value = value;
            self.raw = None;
        }
    }

    /// The first value of a parameter, without its quotes.
    pub fn param(&self, name: &str) -> Option<String> {
        self.param_values(name).into_iter().next()
    }

    /// All values of a parameter, also when it is repeated.
    pub fn param_values(&self, name: &str) -> Vec<String> {
        self.params()
            .filter(|(own, _)| own.eq_ignore_ascii_case(name))
            .flat_map(|(_, values)| values)
            .collect()
    }

    /// What a vCard line is for, in lower case: values of TYPE, and of 2.1 the parameters that are only a value
    /// (`TEL;HOME;VOICE`).
    pub fn types(&self) -> Vec<String> {
        self.params()
            .filter(|(name, _)| name.is_empty() || name.eq_ignore_ascii_case("TYPE"))
            .flat_map(|(_, values)| values)
            .flat_map(|value| value.split(',').map(str::to_lowercase).collect::<Vec<_>>())
            .collect()
    }

    /// Names and values of the parameters; the name of a bare one of vCard 2.1 is empty.
    pub fn params(&self) -> impl Iterator<Item = (&str, Vec<String>)> {
        unquoted(&self.head, ';')
            .into_iter()
            .skip(1)
            .map(|param| match param.split_once('=') {
                Some((name, values)) => (
                    name.trim(),
                    unquoted(values, ',').into_iter().map(param_text).collect(),
                ),
                None => ("", vec![param_text(param)]),
            })
    }

    /// Whether the value is quoted-printable (vCard 2.1).
    pub fn is_quoted_printable(&self) -> bool {
        self.params().any(|(name, values)| {
            (name.is_empty() || name.eq_ignore_ascii_case("ENCODING"))
                && values.iter().any(|v| v.eq_ignore_ascii_case("QUOTED-PRINTABLE"))
        })
    }

    /// Where it stood in its file, from 1; 0 for one that is new.
    pub fn number(&self) -> usize {
        self.number
    }

    /// Appends the line; a new one is folded at 75 octets, between characters.
    pub(super) fn write(&self, ending: &str, latin: bool, out: &mut Vec<u8>) {
        // The last line of a file may have no ending; what follows it now needs one.
        if out.last().is_some_and(|last| *last != b'\n') {
            out.extend_from_slice(ending.as_bytes());
        }
        if let Some(raw) = &self.raw {
            out.extend_from_slice(raw);
            return;
        }
        let colon = if self.head.is_empty() { "" } else { ":" };
        let text = format!("{}{colon}{}", self.head, self.value);
        let mut width = 0;
        for c in text.chars() {
            if width + c.len_utf8() > FOLD {
                out.extend_from_slice(ending.as_bytes());
                out.push(b' ');
                width = 1;
            }
            width += c.len_utf8();
            match u8::try_from(c) {
                Ok(byte) if latin => out.push(byte),
                _ => out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
            }
        }
        out.extend_from_slice(ending.as_bytes());
    }

    fn full_name(&self) -> &str {
        self.head.split(';').next().unwrap_or_default().trim()
    }
}

/// Text as a value: backslash, semicolon, comma and line breaks escaped; other control characters dropped.
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.replace("\r\n", "\n").chars() {
        match c {
            '\\' | ';' | ',' => out.extend(['\\', c]),
            '\n' | '\r' => out.push_str("\\n"),
            '\t' => out.push(c),
            c if c.is_control() => {}
            c => out.push(c),
        }
    }
    out
}

/// The text of a value; a backslash before anything else than what is escaped stays.
pub fn unescape(value: &str) -> String {
    let mut out = String::with_capacity(value.len());
    let mut chars = value.chars();
    while let Some(c) = chars.next() {
        match (c, chars.clone().next()) {
            ('\\', Some(next @ ('\\' | ';' | ',' | ':' | '"'))) => {
                out.push(next);
                chars.next();
            }
            ('\\', Some('n' | 'N')) => {
                out.push('\n');
                chars.next();
            }
            _ => out.push(c),
        }
    }
    out
}

/// The parts of a structured value (`N`, `ADR`) or of a list, still escaped.
pub fn split(value: &str, separator: char) -> Vec<&str> {
    let mut escaped = false;
    value
        .split(move |c| {
            let cuts = !escaped && c == separator;
            escaped = !escaped && c == '\\';
            cuts
        })
        .collect()
}

/// Where the value begins: the first colon outside of quotes, when what is before it looks like a name.
fn head_end(content: &str) -> Option<usize> {
    let name = content
        .find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '/' | ' ')))
        .unwrap_or(content.len());
    if name == 0 || content[..name].trim().is_empty() || !content[name..].starts_with([':', ';']) {
        return None;
    }
    let mut quoted = false;
    let colon = content.char_indices().find(|(_, c)| {
        quoted ^= *c == '"';
        *c == ':' && !quoted
    });
    // An unclosed quote would swallow the value.
    colon.map(|(at, _)| at).or_else(|| content.find(':'))
}

/// Parts between separators outside of quotes.
fn unquoted(text: &str, separator: char) -> Vec<&str> {
    let mut quoted = false;
    text.split(move |c| {
        quoted ^= c == '"';
        c == separator && !quoted
    })
    .collect()
}

/// A parameter's value without quotes and with RFC 6868 undone.
fn param_text(value: &str) -> String {
    let value = value.trim();
    let value = value
        .strip_prefix('"')
        .and_then(|v| v.strip_suffix('"'))
        .unwrap_or(value);
    let mut out = String::with_capacity(value.len());
    let mut chars = value.chars();
    while let Some(c) = chars.next() {
        let plain = match (c, chars.clone().next()) {
            ('^', Some('n')) => '\n',
            ('^', Some('\'')) => '"',
            ('^', Some('^')) => '^',
            _ => {
                out.push(c);
                continue;
            }
        };
        out.push(plain);
        chars.next();
    }
    out
}

fn one_line(value: &str) -> String {
    value
        .replace("\r\n", "\n")
        .replace(['\n', '\r'], "\\n")
        .chars()
        .filter(|c| !c.is_control() || *c == '\t')
        .collect()
}
