//! The lines of a text without their markup: headings, bullets, links, code, tags, pictures. Long lists are cut.

use tools::system::plain;

/// As many items of a list are read out ...
const ITEMS: usize = 5;
/// ... unless so few more are left that it is shorter to read them.
const FEW: usize = 1;

/// The lines that are spoken, from at most so many characters.
pub fn lines(text: &str, most: usize) -> Vec<String> {
    let text: String = text.chars().take(most).collect();
    let text = plain::lines(&text);
    let mut lines = Vec::new();
    let (mut items, mut code) = (Vec::new(), false);
    for line in text.split(['\n', '\u{2028}', '\u{2029}']) {
        let line = line.trim();
        if line.starts_with("```") || line.starts_with("~~~") {
            code = !code;
            if code {
                list(&mut items, &mut lines);
                lines.push("There is some code".to_owned());
            }
            continue;
        }
        if code || is_rule(line) {
            continue;
        }
        let (line, item) = start(line);
        let line = inline(line);
        match item {
            _ if line.is_empty() => {}
            true => items.push(line),
            false => {
                list(&mut items, &mut lines);
                lines.push(line);
            }
        }
    }
    list(&mut items, &mut lines);
    lines
}

/// The items of a list that has come to its end.
fn list(items: &mut Vec<String>, lines: &mut Vec<String>) {
    let more = items.len().saturating_sub(ITEMS);
    if more > FEW {
        items.truncate(ITEMS);
        items.push(format!("And {more} more"));
    }
    lines.append(items);
}

/// A line that only draws: "---", "===", "|---|---|".
fn is_rule(line: &str) -> bool {
    line.len() > 2
        && line
            .chars()
            .all(|c| matches!(c, '-' | '=' | '*' | '_' | '|' | ':' | ' ' | '+' | '─'))
}

/// What stands behind the mark at the start of a line, and whether it is an item of a list.
fn start(line: &str) -> (&str, bool) {
    let line = line.trim_start_matches(['>', ' ']);
    let heading = line.trim_start_matches('#');
    if heading.len() < line.len() && heading.starts_with(' ') {
        return (heading.trim(), false);
    }
    let bullet = ["- ", "* ", "+ ", "• ", "· ", "– ", "‣ ", "◦ "]
        .iter()
        .find_map(|mark| line.strip_prefix(mark));
    if let Some(rest) = bullet {
        let boxes = ["[ ] ", "[x] ", "[X] "];
        let rest = rest.trim_start();
        return (
            boxes.iter().find_map(|b| rest.strip_prefix(b)).unwrap_or(rest),
            true,
        );
    }
    let digits = line.trim_start_matches(|c: char| c.is_ascii_digit());
    let number = line.len() - digits.len();
    let rest = digits.strip_prefix(". ").or_else(|| digits.strip_prefix(") "));
    match rest {
        Some(rest) if (1..=3).contains(&number) => (rest.trim_start(), true),
        _ => (line, false),
    }
}

/// The rest of a line without markup, with plain marks instead of fine ones. Without brackets, too: a voice of macOS takes orders
/// in those.
fn inline(line: &str) -> String {
    let mut text = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(c) = rest.chars().next() {
        if let Some(Markup { inner, gap, length }) = tag(rest).or_else(|| link(rest)) {
            // What one holds may hold the other, and marks. It is shorter each time.
            text.extend([gap, &inline(inner), gap]);
            rest = &rest[length..];
            continue;
        }
        match c {
            '*' | '`' => {
                // Between numbers it is no markup.
                let times = c == '*' && text.trim_end().ends_with(|c: char| c.is_ascii_digit()) && {
                    rest[1..].trim_start().starts_with(|c: char| c.is_ascii_digit())
                };
                if times {
                    text.push_str(" times ");
                }
            }
            '~' if rest.starts_with("~~") => {}
            '_' if !text.ends_with(char::is_alphanumeric)
                || !rest[1..].starts_with(char::is_alphanumeric) => {}
            '|' => text.push_str(if text.trim().is_empty() { "" } else { ", " }),
            '[' | ']' => text.push(' '),
            '…' => text.push('.'),
            '“' | '”' | '„' | '«' | '»' => text.push('"'),
            '‘' | '’' | '‚' => text.push('\''),
            '−' => text.push('-'),
            '—' => text.push_str(" - "),
            '\u{a0}' | '\u{202f}' | '\u{2009}' | '\t' => text.push(' '),
            c if is_picture(c) => text.push(' '),
            c => text.push(c),
        }
        rest = &rest[c.len_utf8()..];
    }
    text.trim().trim_end_matches([',', ' ']).to_owned()
}

/// What markup says, what stands around it, and how long all of it is, in bytes.
struct Markup<'t> {
    inner: &'t str,
    gap: &'static str,
    length: usize,
}

/// `<b>`, `</speak>`, `<break time="3s"/>` say nothing; an address in such brackets does.
fn tag(text: &str) -> Option<Markup<'_>> {
    let inner = text.strip_prefix('<')?;
    if !inner.starts_with(|c: char| c.is_ascii_alphabetic() || matches!(c, '/' | '!' | '?')) {
        return None;
    }
    // A tag is short; more would be looked through for each bracket.
    let end = inner
        .char_indices()
        .take(300)
        .find(|(_, c)| matches!(c, '<' | '>'))?;
    if end.1 != '>' {
        return None;
    }
    let inner = &inner[..end.0];
    let address =
        inner.contains('@') && !inner.contains(' ') || inner.contains("://") && !inner.contains('=');
    Some(Markup {
        inner: if address { inner } else { "" },
        gap: " ",
        length: end.0 + 2,
    })
}

/// `[words](address)` and `![picture](address)` say their words.
fn link(text: &str) -> Option<Markup<'_>> {
    let inner = text.strip_prefix("![").or_else(|| text.strip_prefix('['))?;
    let from = text.len() - inner.len();
    let (end, _) = inner.char_indices().take(300).find(|(_, c)| *c == ']')?;
    let address = inner[end..].strip_prefix("](")?;
    let (close, _) = address.char_indices().take(2000).find(|(_, c)| *c == ')')?;
    Some(Markup {
        inner: &inner[..end],
        gap: "",
        length: from + end + 2 + close + 1,
    })
}

/// Emoji and other pictures, and what modifies them.
fn is_picture(c: char) -> bool {
    matches!(
        c,
        '\u{1f000}'..='\u{1faff}'
            | '\u{2600}'..='\u{27bf}'
            | '\u{2b00}'..='\u{2bff}'
            | '\u{2300}'..='\u{23ff}'
            | '\u{25a0}'..='\u{25ff}'
            | '\u{fe00}'..='\u{fe0f}'
            | '\u{e000}'..='\u{f8ff}'
            | '\u{f0000}'..='\u{10ffff}'
            | '\u{200d}'
            | '\u{20e3}'
            | '\u{fffd}'
    )
}
