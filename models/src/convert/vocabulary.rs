//! `vocabulary.txt` as bytes: GPT-2 writes the 256 byte values as printable characters, and this reads them back.

/// Text tokens of every whisper vocabulary, GPT-2's and the multilingual one; the special ones after them are implied
/// by the vocabulary's size.
pub(crate) const TEXT_TOKENS: usize = 50_257;

/// The text tokens, one per line. `total` is what the model says of its vocabulary.
///
/// # Errors
/// What is wrong, as the end of a sentence.
pub(super) fn tokens(text: &str, total: usize) -> Result<Vec<Vec<u8>>, String> {
    let lines = text.lines().count();
    if lines != total {
        return Err(format!("its vocabulary has {lines} tokens and the model {total}"));
    }
    let bytes = text.lines().take(TEXT_TOKENS).enumerate().map(|(number, line)| {
        line.chars()
            .map(byte_of)
            .collect::<Option<_>>()
            .ok_or_else(|| format!("token {number} of its vocabulary, {line:?}, is not in GPT-2's form"))
    });
    bytes.collect()
}

/// Printable Latin-1 characters stand for themselves; the other 68 bytes are U+0100 and up, in order.
fn byte_of(character: char) -> Option<u8> {
    let code = u32::from(character);
    match code {
        0x21..=0x7e | 0xa1..=0xac | 0xae..=0xff => u8::try_from(code).ok(),
        0x100..=0x120 => u8::try_from(code - 0x100).ok(), // 0x00 to 0x20
        0x121..=0x142 => u8::try_from(code - 0x121 + 0x7f).ok(), // 0x7f to 0xa0
        0x143 => Some(0xad),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_has_one_character() {
        let mut found: Vec<u8> = ('\0'..='\u{200}').filter_map(byte_of).collect();
        found.sort_unstable();
        assert_eq!(found, (0..=255).collect::<Vec<u8>>());
    }

    #[test]
    fn known_tokens() {
        for (line, expected) in [
            ("Ġthe", &b" the"[..]),
            ("Ċ", b"\n"),
            ("åľº", "场".as_bytes()),
            ("", b""),
        ] {
            let bytes: Option<Vec<u8>> = line.chars().map(byte_of).collect();
            assert_eq!(bytes.as_deref(), Some(expected), "{line}");
        }
    }

    #[test]
    fn wrong_vocabularies_are_refused() {
        assert!(tokens("a\nb\n", 3).unwrap_err().contains("2 tokens"));
        assert!(tokens("a\nb c\n", 2).unwrap_err().contains("token 1"));
    }
}
