//! Texts whose letters are others than their message says. Programs that know nothing of it send Latin-1 under the name of
//! UTF-8 or under none, and a parser can only put question marks for that; other mail programs show such texts as they
//! were meant, so this does, too.

use std::borrow::Cow;

use mail_parser::{
    Encoding, Message, MessagePart, MimeHeaders as _, PartType,
    decoders::{
        base64::base64_decode, charsets::map::charset_decoder, quoted_printable::quoted_printable_decode,
    },
};

/// What stands for bytes that are no letters.
const UNKNOWN: char = '\u{fffd}';
/// The letters of Western Europe: those of Latin-1 and what Windows has put into its gaps.
const WESTERN: &[u8] = b"windows-1252";

/// The text of a part, plain or HTML; nothing for any other part.
pub fn text<'m>(message: &Message<'_>, part: &'m MessagePart<'_>) -> Option<Cow<'m, str>> {
    let (PartType::Text(text) | PartType::Html(text)) = &part.body else {
        return None;
    };
    Some(
        match text.contains(UNKNOWN).then(|| western(message, part)).flatten() {
            Some(meant) => Cow::Owned(meant),
            None => Cow::Borrowed(text),
        },
    )
}

/// The text read as Western letters, where it can be no UTF-8 and nobody says what else it is.
fn western(message: &Message<'_>, part: &MessagePart<'_>) -> Option<String> {
    let named = part.content_type().and_then(|kind| kind.attribute("charset"));
    let known = named.filter(|name| charset_decoder(name.as_bytes()).is_some());
    if known.is_some_and(|name| !matches!(name.to_ascii_lowercase().as_str(), "utf-8" | "utf8")) {
        return None;
    }
    let raw = message
        .raw_message()
        .get(part.offset_body as usize..part.offset_end as usize)?;
    let bytes = match part.encoding {
        Encoding::None => Cow::Borrowed(raw),
        Encoding::QuotedPrintable => Cow::Owned(quoted_printable_decode(raw)?),
        Encoding::Base64 => Cow::Owned(base64_decode(raw)?),
    };
    bytes_as_western(&bytes)
}

/// Nothing where it is UTF-8 after all, of which some was lost.
pub fn bytes_as_western(bytes: &[u8]) -> Option<String> {
    let (mut letters, mut broken) = (0, 0);
    for chunk in bytes.utf8_chunks() {
        letters += chunk.valid().chars().filter(|c| !c.is_ascii()).count();
        broken += usize::from(!chunk.invalid().is_empty());
    }
    (broken > letters).then(|| charset_decoder(WESTERN).map(|decode| decode(bytes)))?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(bytes: &[u8], expect: Option<&str>) {
        assert_eq!(bytes_as_western(bytes).as_deref(), expect);
    }

    #[test]
    fn western_letters_are_told_from_damaged_ones() {
        check(b"Gr\xfc\xdfe \x80 5", Some("Grüße € 5"));
        check(b"plain", None);
        check("Grüße".as_bytes(), None);
        // A character was cut in the middle.
        check(b"Gr\xc3\xbc\xc3\x9fe \xc3", None);
        check(b"\xff\xfe", Some("ÿþ"));
    }
}
