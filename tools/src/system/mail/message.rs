//! One message: its header, its text, what is attached. Everything in it was written by somebody else, so all of it is
//! bounded and made harmless before anybody sees it.

use std::{
    borrow::Cow,
    panic::{AssertUnwindSafe, catch_unwind},
};

use jiff::Timestamp;
use mail_parser::{
    Address, HeaderName, HeaderValue, Message, MessageParser, MessagePart, MimeHeaders as _, PartType,
};

use super::{charset, mend, text, uuencode};
use crate::system::plain;

/// The largest message that is read whole, in bytes.
pub const MAX_MESSAGE: u64 = 40 << 20;
/// Most of a message that is read when its header does not end before.
pub const MAX_HEADER: usize = 64 * 1024;
/// Longest sender or subject, in characters.
pub const MAX_TEXT: usize = 80;
/// Longest text of one message, in bytes.
pub const MAX_BODY: usize = 256 * 1024;
/// Most lines that may begin a part, and most parts that may hold others: a bound on parts and on their depth that holds
/// before anything is parsed.
const MAX_PARTS: usize = 20_000;
const MAX_NESTING: usize = 500;
/// Most recipients, references and attachments that are kept.
const MAX_PEOPLE: usize = 200;
const MAX_REFERENCES: usize = 50;
const MAX_ATTACHMENTS: usize = 500;
/// How much later than its arrival a message may claim to be written: clocks and zones are off, spam is far off.
const FUTURE: i64 = 24 * 3600;

/// What a file is called that has no name, and its type where nothing says it.
const NAMELESS: &str = "a file without a name";
const UNKNOWN_KIND: &str = "application/octet-stream";

/// Somebody in a header.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Person {
    /// The display name; may be empty.
    pub name: String,
    /// The bare address; may be empty.
    pub address: String,
}

impl Person {
    /// The name, else the address, else "somebody unknown".
    pub fn shown(&self) -> &str {
        [self.name.as_str(), self.address.as_str()]
            .into_iter()
            .find(|text| !text.is_empty())
            .unwrap_or("somebody unknown")
    }
}

/// What a header says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Head {
    /// Who wrote it.
    pub from: Person,
    /// Where answers shall go, if not to the sender.
    pub reply_to: Vec<Person>,
    /// To whom.
    pub to: Vec<Person>,
    /// Who got a copy.
    pub cc: Vec<Person>,
    /// May be empty.
    pub subject: String,
    /// When it was written or, if that cannot be true, when it arrived.
    pub date: Timestamp,
    /// Without its brackets; may be empty.
    pub message_id: String,
    /// What it answers to, the oldest first, without brackets.
    pub references: Vec<String>,
}

/// Something that is attached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attachment {
    /// The file's name, or what it is where it has none.
    pub name: String,
    /// The MIME type, lower-cased.
    pub kind: String,
    /// Bytes, decoded.
    pub size: usize,
}

/// A whole message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Letter {
    /// Its header.
    pub head: Head,
    /// Its text, also where it is written in HTML, quotations and signature with it.
    pub text: String,
    /// What is attached, at most [`MAX_ATTACHMENTS`].
    pub attachments: Vec<Attachment>,
    /// Whether it is encrypted, so that its text cannot be read.
    pub encrypted: bool,
}

/// Why a message cannot be read, as a sentence for the person.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// No field that mail knows.
    #[error("It is no mail: nothing in it looks like a header.")]
    NoMail,
    /// More than [`MAX_MESSAGE`].
    #[error("It is larger than {} MB.", MAX_MESSAGE >> 20)]
    TooLarge,
    /// More parts, or parts in parts, than anybody sends.
    #[error("It has more parts than I read.")]
    TooManyParts,
    /// The parser gave up.
    #[error("It is broken in a way that I cannot read.")]
    Broken,
}

impl Head {
    /// What a header says. `arrived` is when the file was written, in seconds since 1970. Nothing when it is no message.
    pub fn read(header: &[u8], arrived: i64) -> Option<Head> {
        catch_unwind(AssertUnwindSafe(|| {
            let header = mend::header(header);
            let message = MessageParser::default().parse_headers(&*header)?;
            Head::of(&message, arrived)
        }))
        .ok()?
    }

    fn of(message: &Message<'_>, arrived: i64) -> Option<Head> {
        // Any text parses; a message has at least one field that mail knows.
        if message
            .headers()
            .iter()
            .all(|h| matches!(h.name, HeaderName::Other(_)))
        {
            return None;
        }
        // Where somebody has put in another one, the first counts, as for most programs.
        let mut senders = message.headers().iter().filter(|h| h.name == HeaderName::From);
        let first = senders.next().and_then(|h| h.value.as_address());
        let sender = first.or_else(|| message.sender());
        let claimed = message.date().filter(|d| d.is_valid()).map(|d| d.to_timestamp());
        let seconds = claimed
            .filter(|&d| d > 0 && d <= arrived.saturating_add(FUTURE))
            .unwrap_or(arrived);
        let mut references = ids(message.references());
        for id in ids(message.in_reply_to()) {
            if !references.contains(&id) {
                references.push(id);
            }
        }
        // Of a long chain the ends say most.
        if references.len() > MAX_REFERENCES {
            references.drain(1..=references.len() - MAX_REFERENCES);
        }
        Some(Head {
            from: people(sender).into_iter().next().unwrap_or_default(),
            reply_to: people(message.reply_to()),
            to: everybody(message, HeaderName::To),
            cc: everybody(message, HeaderName::Cc),
            subject: plain::one_line(message.subject().unwrap_or_default(), MAX_TEXT),
            date: Timestamp::from_second(seconds).unwrap_or(Timestamp::UNIX_EPOCH),
            message_id: id(message.message_id().unwrap_or_default()).unwrap_or_default(),
            references,
        })
    }
}

impl Letter {
    /// Reads a message.
    ///
    /// # Errors
    /// Why it cannot be read; never panics and never takes long.
    pub fn read(bytes: &[u8], arrived: i64) -> Result<Letter, Refused> {
        with(bytes, |message| {
            let head = Head::of(message, arrived).ok_or(Refused::NoMail)?;
            let (text, files) = body(message);
            let mut attachments: Vec<Attachment> = attached(message).map(attachment).collect();
            attachments.extend(files.iter().map(in_text));
            attachments.truncate(MAX_ATTACHMENTS);
            Ok(Letter {
                head,
                text,
                attachments,
                encrypted: is_encrypted(message),
            })
        })
    }
}

/// The attachments of a message with their contents, for passing them on. A mail that is attached gets a name of a file.
///
/// # Errors
/// Why it cannot be read.
pub fn contents(bytes: &[u8]) -> Result<Vec<(Attachment, Vec<u8>)>, Refused> {
    with(bytes, |message| {
        let in_text = body(message)
            .1
            .into_iter()
            .map(|file| (in_text(&file), file.bytes));
        Ok(attached(message)
            .map(|part| match &part.body {
                PartType::Message(inner) => {
                    let subject = plain::one_line(inner.subject().unwrap_or_default(), MAX_TEXT);
                    let subject = subject.replace(['/', '\\'], " ");
                    let file = Attachment {
                        name: format!("{}.eml", if subject.is_empty() { "mail" } else { &subject }),
                        kind: "message/rfc822".to_owned(),
                        size: part.len(),
                    };
                    let (from, to) = (part.offset_body as usize, part.offset_end as usize);
                    let raw = message.raw_message();
                    (file, raw.get(from..to).unwrap_or_default().to_vec())
                }
                _ => (attachment(part), held(part).into_owned()),
            })
            .chain(in_text)
            .take(MAX_ATTACHMENTS)
            .collect())
    })
}

/// Parses within bounds. A parser that panics on a hostile message must not take the daemon's turn with it.
fn with<T>(bytes: &[u8], read: impl FnOnce(&Message<'_>) -> Result<T, Refused>) -> Result<T, Refused> {
    if bytes.len() as u64 > MAX_MESSAGE {
        return Err(Refused::TooLarge);
    }
    check_parts(bytes)?;
    catch_unwind(AssertUnwindSafe(|| {
        let bytes = mend::boundaries(mend::header(bytes));
        let message = MessageParser::default().parse(&*bytes).ok_or(Refused::NoMail)?;
        read(&message)
    }))
    .unwrap_or_else(|_| {
        tracing::warn!("the parser of mail gave up on a message");
        Err(Refused::Broken)
    })
}

/// Every part begins with a line of two dashes, and every part in a part names a type that holds parts.
fn check_parts(bytes: &[u8]) -> Result<(), Refused> {
    let (mut parts, mut nesting) = (0, 0);
    let mut last = b'\n';
    for (at, byte) in bytes.iter().enumerate() {
        match byte {
            b'-' if last == b'\n' && bytes.get(at + 1) == Some(&b'-') => parts += 1,
            b'/' => {
                let before = &bytes[at.saturating_sub(9)..at];
                let is = |word: &[u8]| {
                    before.len() >= word.len()
                        && before[before.len() - word.len()..].eq_ignore_ascii_case(word)
                };
                nesting += usize::from(is(b"multipart") || is(b"message"));
            }
            _ => {}
        }
        last = *byte;
    }
    match parts > MAX_PARTS || nesting > MAX_NESTING {
        true => Err(Refused::TooManyParts),
        false => Ok(()),
    }
}

/// The text of a message, or that of the first message in it where it has none of its own; and the files that stand in
/// its own text.
fn body(message: &Message<'_>) -> (String, Vec<uuencode::File>) {
    let (mut all, mut files) = (String::new(), Vec::new());
    // A part may be listed twice where it stands for text and for HTML.
    let mut seen = Vec::new();
    for id in &message.text_body {
        if all.len() >= MAX_BODY || seen.contains(id) {
            continue;
        }
        seen.push(*id);
        let Some(part) = message.part(*id) else {
            continue;
        };
        match (&part.body, charset::text(message, part)) {
            (PartType::Html(_), Some(html)) => push(&mut all, &text::of_html(&html)),
            (_, Some(_)) if is_uuencoded(part) => {
                let bytes = held(part);
                let western = charset::bytes_as_western(&bytes);
                push(
                    &mut all,
                    &western.map_or_else(|| String::from_utf8_lossy(&bytes), Cow::Owned),
                );
            }
            (_, Some(text)) => {
                let (text, more) = uuencode::split(&text);
                push(&mut all, &text);
                files.extend(more);
            }
            (_, None) => {}
        }
    }
    if all.trim().is_empty() {
        let inner = message.attachments().find_map(|part| match &part.body {
            PartType::Message(inner) => Some(body(inner).0),
            PartType::Text(text) if part.attachment_name().is_none() => Some(text.to_string()),
            _ => None,
        });
        push(&mut all, &inner.unwrap_or_default());
    }
    (all, files)
}

/// Whether its bytes are written in the way of before MIME, which the parser leaves as it is.
fn is_uuencoded(part: &MessagePart<'_>) -> bool {
    let how = part
        .content_transfer_encoding()
        .unwrap_or_default()
        .to_ascii_lowercase();
    matches!(how.trim(), "x-uuencode" | "uuencode" | "x-uue" | "uue")
}

/// What a part holds, decoded.
fn held<'m>(part: &'m MessagePart<'_>) -> Cow<'m, [u8]> {
    let file = is_uuencoded(part)
        .then(|| uuencode::split(&String::from_utf8_lossy(part.contents())).1)
        .and_then(|files| files.into_iter().next());
    match file {
        Some(file) => Cow::Owned(file.bytes),
        None => Cow::Borrowed(part.contents()),
    }
}

fn push(all: &mut String, text: &str) {
    if !all.is_empty() && !all.ends_with('\n') {
        all.push('\n');
    }
    all.push_str(&plain::lines(super::cut(
        text,
        MAX_BODY.saturating_sub(all.len()),
    )));
}

/// Parts that people would call attachments: not a text that is shown, not the signature of a mail program.
fn attached<'m>(message: &'m Message<'_>) -> impl Iterator<Item = &'m MessagePart<'m>> {
    message
        .attachments()
        .filter(|part| {
            let named = part.attachment_name().is_some();
            let kind = kind(part);
            let signature = kind.ends_with("-signature") || kind.ends_with("pkcs7-signature");
            let shown = matches!(part.body, PartType::Text(_) | PartType::Html(_)) && !named;
            !signature && !shown
        })
        .take(MAX_ATTACHMENTS)
}

fn attachment(part: &MessagePart<'_>) -> Attachment {
    let kind = kind(part);
    let name = harmless(part.attachment_name().unwrap_or_default());
    let name = match (name.as_str(), &part.body) {
        ("" | "." | "..", PartType::Message(inner)) => {
            match plain::one_line(inner.subject().unwrap_or_default(), MAX_TEXT).as_str() {
                "" => "a mail".to_owned(),
                subject => format!("the mail \"{subject}\""),
            }
        }
        ("" | "." | "..", _) => match kind.split('/').next() {
            Some("image") => "a picture".to_owned(),
            Some("audio") => "a recording".to_owned(),
            Some("video") => "a video".to_owned(),
            _ => NAMELESS.to_owned(),
        },
        _ => name,
    };
    let size = match is_uuencoded(part) {
        true => held(part).len(),
        false => part.len(),
    };
    Attachment { name, kind, size }
}

/// A file that stands in the text. Its name is all that says what it is, and a name says nothing for certain.
fn in_text(file: &uuencode::File) -> Attachment {
    let name = harmless(&file.name);
    Attachment {
        name: match name.as_str() {
            "" | "." | ".." => NAMELESS.to_owned(),
            _ => name,
        },
        kind: UNKNOWN_KIND.to_owned(),
        size: file.bytes.len(),
    }
}

/// A name is no path, whatever it says.
fn harmless(name: &str) -> String {
    let name = plain::one_line(name, MAX_TEXT);
    let last = name.rsplit(['/', '\\']).next().unwrap_or_default();
    last.trim().to_owned()
}

fn kind(part: &MessagePart<'_>) -> String {
    let kind = part.content_type().map(|kind| match kind.subtype() {
        Some(subtype) => format!("{}/{subtype}", kind.ctype()),
        None => kind.ctype().to_owned(),
    });
    let kind = plain::one_line(&kind.unwrap_or_default(), MAX_TEXT).to_ascii_lowercase();
    match kind.split_once('/') {
        Some((a, b)) if !a.is_empty() && !b.is_empty() && !kind.contains(' ') => kind,
        _ => UNKNOWN_KIND.to_owned(),
    }
}

/// PGP/MIME (RFC 3156) and S/MIME (RFC 8551).
fn is_encrypted(message: &Message<'_>) -> bool {
    let Some(root) = message.parts.first() else {
        return false;
    };
    let Some(kind) = root.content_type() else {
        return false;
    };
    let is = |ctype: &str, subtype: &str| {
        kind.ctype().eq_ignore_ascii_case(ctype)
            && kind.subtype().is_some_and(|s| s.eq_ignore_ascii_case(subtype))
    };
    let enveloped = kind
        .attribute("smime-type")
        .is_none_or(|what| what.to_ascii_lowercase().contains("enveloped"));
    is("multipart", "encrypted")
        || (enveloped && (is("application", "pkcs7-mime") || is("application", "x-pkcs7-mime")))
}

/// The people of all fields of a name: there should be one of each, and some programs write one for each person.
fn everybody(message: &Message<'_>, name: HeaderName<'_>) -> Vec<Person> {
    let fields = message.header_values(name);
    let people = fields.flat_map(|field| people(field.as_address()));
    people.take(MAX_PEOPLE).collect()
}

fn people(address: Option<&Address<'_>>) -> Vec<Person> {
    let all = address.into_iter().flat_map(|address| address.iter());
    all.map(|one| Person {
        name: plain::one_line(one.name.as_deref().unwrap_or_default(), MAX_TEXT),
        address: plain::one_line(one.address.as_deref().unwrap_or_default(), 320),
    })
    .filter(|person| person.shown() != "somebody unknown")
    .take(MAX_PEOPLE)
    .collect()
}

fn ids(value: &HeaderValue<'_>) -> Vec<String> {
    match value {
        HeaderValue::Text(text) => id(text).into_iter().collect(),
        HeaderValue::TextList(list) => list.iter().filter_map(|text| id(text)).collect(),
        _ => Vec::new(),
    }
}

fn id(text: &str) -> Option<String> {
    let text = text.trim().trim_start_matches('<').trim_end_matches('>');
    let plain = |c: char| !c.is_whitespace() && !c.is_control() && c != '<' && c != '>';
    ((1..=400).contains(&text.len()) && text.chars().all(plain)).then(|| text.to_owned())
}

/// What a conversation is about: the subject without "Re:" and the like, lower-cased.
pub fn topic(subject: &str) -> String {
    let mut rest = subject.trim();
    loop {
        let lower = rest.to_lowercase();
        let mark = ["re:", "aw:", "fw:", "fwd:", "wg:", "sv:", "tr:", "antw:"]
            .into_iter()
            .find(|mark| lower.starts_with(mark));
        match mark {
            // Lower-casing may change the length of letters, never that of these marks.
            Some(mark) if rest.is_char_boundary(mark.len()) => rest = rest[mark.len()..].trim_start(),
            _ => return lower,
        }
    }
}
