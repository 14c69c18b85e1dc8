//! Text of others made fit to be shown and spoken: one line, no control characters, no tricks with direction, capped.

/// One line of at most `max` characters. Line breaks and control characters become blanks; characters that only steer
/// the display (bidirectional overrides, invisible tags, zero-width marks) are dropped, since they make text look like
/// what it is not. What is cut off is marked by an ellipsis.
pub fn one_line(text: &str, max: usize) -> String {
    let mut line = String::new();
    let mut length = 0;
    let mut blank = false;
    for c in text.chars().filter(|c| !is_steering(*c)) {
        if c.is_whitespace() || c.is_control() {
            blank = length > 0;
            continue;
        }
        if length + usize::from(blank) >= max {
            line.push('…');
            return line;
        }
        if std::mem::take(&mut blank) {
            line.push(' ');
            length += 1;
        }
        line.push(c);
        length += 1;
    }
    line
}

/// The same for text that keeps its lines: only line breaks and tabs survive of the control characters.
pub fn lines(text: &str) -> String {
    text.replace("\r\n", "\n")
        .chars()
        .filter(|c| !is_steering(*c) && (!c.is_control() || matches!(c, '\n' | '\t')))
        .collect()
}

/// Several names as people list them: `Anna, Bob and Carl`.
pub fn listed(names: &[String], last: &str) -> String {
    match names {
        [] => String::new(),
        [one] => one.clone(),
        [most @ .., end] => format!("{} {last} {end}", most.join(", ")),
    }
}

/// Marks, overrides and isolates of Unicode bidirectional text (UAX 9), zero-width characters other than the joiners
/// that scripts need, the byte order mark, and the invisible tag block.
fn is_steering(c: char) -> bool {
    matches!(
        c,
        '\u{ad}'
            | '\u{61c}'
            | '\u{200b}'
            | '\u{200e}'
            | '\u{200f}'
            | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{feff}'
            | '\u{fff9}'..='\u{fffb}'
            | '\u{e0000}'..='\u{e007f}'
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, max: usize, expect: &str) {
        assert_eq!(one_line(text, max), expect, "{text:?}");
    }

    #[test]
    fn hostile_text_becomes_one_harmless_line() {
        check("  Lunch\r\n\tat  noon ", 40, "Lunch at noon");
        check("invoice\u{202e}fdp.exe", 40, "invoicefdp.exe");
        check("a\0b\u{1b}[31mc", 40, "a b [31mc");
        check("\u{e0041}\u{200b}\u{feff}", 40, "");
        check("نامه‌ها", 40, "نامه‌ها");
    }

    #[test]
    fn long_text_is_cut_at_characters() {
        check("üüüüü", 5, "üüüüü");
        check("üüüüüü", 5, "üüüüü…");
        check("ab cd", 2, "ab…");
        check(&"x".repeat(10_000), 3, "xxx…");
    }

    #[test]
    fn lines_survive_where_wanted() {
        assert_eq!(lines("a\r\nb\tc\u{7}\u{202e}d"), "a\nb\tcd");
    }

    #[test]
    fn lists_read_like_speech() {
        let names = ["A", "B", "C"].map(str::to_owned);
        assert_eq!(listed(&names, "and"), "A, B and C");
        assert_eq!(listed(&names[..1], "or"), "A");
        assert_eq!(listed(&[], "or"), "");
    }
}
