//! The person's mailbox: a Maildir, read without locks and within bounds; only headers are looked at.

pub mod outbox;

use std::{
    fs::{self, File},
    io::{ErrorKind, Read},
    path::{Path, PathBuf},
    time::UNIX_EPOCH,
};

use jiff::{Timestamp, Zoned, tz::TimeZone};
use mail_parser::{HeaderName, MessageParser};

use super::plain;
use crate::contract::ToolError;

/// Most files of a mailbox that are looked at; of a larger one the newest by file time.
const MAX_MESSAGES: usize = 20_000;
/// Most of a message that is read when its header does not end before.
const MAX_HEADER: usize = 64 * 1024;
/// Longest sender or subject, in characters.
const MAX_TEXT: usize = 80;
/// How much later than its arrival a message may claim to be written: clocks and zones are off, spam is far off.
const FUTURE: i64 = 24 * 3600;

/// What the header of one message says. Everything in it was written by somebody else.
#[derive(Debug, Clone, PartialEq)]
pub struct Mail {
    /// Name of the sender, or the address.
    pub from: String,
    /// Address of the sender; may be empty.
    pub address: String,
    /// Subject; may be empty.
    pub subject: String,
    /// When it was written or, if that cannot be true, when it arrived.
    pub date: Timestamp,
    /// Whether it has not been opened.
    pub unread: bool,
}

impl Mail {
    /// The date in a zone.
    pub fn local(&self, zone: &TimeZone) -> Zoned {
        self.date.to_zoned(zone.clone())
    }
}

/// The messages of a Maildir's inbox, newest first. Deleted ones and drafts are left out; what cannot be read is
/// logged and left out.
///
/// # Errors
/// `Tell` when there is no Maildir; `Broken` when it cannot be listed.
pub fn inbox(folder: &Path) -> Result<Vec<Mail>, ToolError> {
    let mut files = Vec::new();
    let mut folders = 0;
    for (name, fresh) in [("new", true), ("cur", false)] {
        match fs::read_dir(folder.join(name)) {
            Ok(entries) => {
                folders += 1;
                files.extend(entries.flatten().filter_map(|e| candidate(&e, fresh)));
            }
            Err(e) if e.kind() == ErrorKind::NotFound => {}
            Err(e) => return Err(ToolError::broken("read your mail", e)),
        }
    }
    if folders == 0 {
        return Err(ToolError::tell(format!(
            "There is no mailbox at {}. Set the mail folder in the config.",
            folder.display()
        )));
    }
    if files.len() > MAX_MESSAGES {
        tracing::warn!(
            found = files.len(),
            max = MAX_MESSAGES,
            "the mailbox is larger than what is read"
        );
        files.sort_unstable_by_key(|f| std::cmp::Reverse(f.arrived));
        files.truncate(MAX_MESSAGES);
    }
    let mut mails: Vec<Mail> = files.iter().filter_map(read).collect();
    // Equal dates are kept in one order, so that the same mailbox always gives the same answer.
    mails.sort_by(|a, b| b.date.cmp(&a.date).then_with(|| a.subject.cmp(&b.subject)));
    Ok(mails)
}

/// What a header says. `arrived` is when the file was written, in seconds since 1970. `None` when it is no message.
pub fn parse(header: &[u8], arrived: i64, unread: bool) -> Option<Mail> {
    let message = MessageParser::default().parse_headers(header)?;
    // Any text parses; a message has at least one field that mail knows.
    if message
        .headers()
        .iter()
        .all(|h| matches!(h.name, HeaderName::Other(_)))
    {
        return None;
    }
    let sender = message
        .from()
        .or_else(|| message.sender())
        .and_then(|a| a.first());
    let address = sender.and_then(|s| s.address.as_deref()).unwrap_or_default();
    let address = plain::one_line(address, MAX_TEXT);
    let name = sender.and_then(|s| s.name.as_deref()).unwrap_or_default();
    let name = plain::one_line(name, MAX_TEXT);
    let subject = plain::one_line(message.subject().unwrap_or_default(), MAX_TEXT);
    let claimed = message.date().filter(|d| d.is_valid()).map(|d| d.to_timestamp());
    let seconds = claimed
        .filter(|&d| d > 0 && d <= arrived.saturating_add(FUTURE))
        .unwrap_or(arrived);
    Some(Mail {
        from: [name, address.clone(), "somebody unknown".to_owned()]
            .into_iter()
            .find(|n| !n.is_empty())?,
        address,
        subject,
        date: Timestamp::from_second(seconds).unwrap_or(Timestamp::UNIX_EPOCH),
        unread,
    })
}

/// A file that may be a message.
struct Candidate {
    path: PathBuf,
    arrived: i64,
    unread: bool,
}

/// Flags stand behind `:2,` in the name (`;` or `!` on file systems without colons): S seen, T trashed, D draft.
fn candidate(entry: &fs::DirEntry, fresh: bool) -> Option<Candidate> {
    let meta = entry.metadata().ok()?;
    let name = entry.file_name();
    let name = name.to_string_lossy();
    if !meta.is_file() || name.starts_with('.') {
        return None;
    }
    let flags = name
        .rsplit_once([':', ';', '!'])
        .and_then(|(_, info)| info.strip_prefix("2,"))
        .unwrap_or_default();
    if flags.contains(['T', 'D']) {
        return None;
    }
    let arrived = meta
        .modified()
        .ok()?
        .duration_since(UNIX_EPOCH)
        .map_or(0, |d| d.as_secs());
    Some(Candidate {
        path: entry.path(),
        arrived: i64::try_from(arrived).ok()?,
        unread: fresh || !flags.contains('S'),
    })
}

fn read(file: &Candidate) -> Option<Mail> {
    match header(&file.path) {
        Ok(bytes) => parse(&bytes, file.arrived, file.unread),
        // Another program moved it meanwhile; it will be there next time.
        Err(e) if e.kind() == ErrorKind::NotFound => None,
        Err(error) => {
            tracing::warn!(%error, "a mail was left out");
            None
        }
    }
}

/// The beginning of a file up to the empty line that ends a header, so that a large attachment costs nothing.
fn header(path: &Path) -> std::io::Result<Vec<u8>> {
    let mut file = File::open(path)?;
    let mut bytes = Vec::new();
    let mut block = [0; 4096];
    while bytes.len() < MAX_HEADER {
        let read = file.read(&mut block)?;
        let seen = bytes.len().saturating_sub(3);
        bytes.extend_from_slice(&block[..read]);
        let ended = bytes[seen..].windows(2).any(|w| w == b"\n\n")
            || bytes[seen..].windows(4).any(|w| w == b"\r\n\r\n");
        if read == 0 || ended {
            break;
        }
    }
    bytes.truncate(MAX_HEADER);
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const NOON: i64 = 1_790_000_000;

    #[track_caller]
    fn check(header: &str, from: &str, subject: &str, date: i64) {
        let mail = parse(header.as_bytes(), NOON, true).unwrap();
        assert_eq!(
            (mail.from.as_str(), mail.subject.as_str(), mail.date.as_second()),
            (from, subject, date),
            "{header:?}"
        );
    }

    #[test]
    fn headers_say_who_what_and_when() {
        check(
            "From: Anna Bell <anna@example.org>\nSubject: =?utf-8?q?Caf=C3=A9?= at\n noon\nDate: Mon, 1 Jun 2026 10:00:00 +0200\n\nbody",
            "Anna Bell",
            "Café at noon",
            1_780_300_800,
        );
        check(
            "From: bob@example.org\nSubject: Hi\n\n",
            "bob@example.org",
            "Hi",
            NOON,
        );
        check("Subject: only that\n\n", "somebody unknown", "only that", NOON);
    }

    #[test]
    fn impossible_dates_give_way_to_the_arrival() {
        for date in [
            "Fri, 1 Jan 2038 00:00:00 +0000",
            "Thu, 99 Foo 9999 99:99:99",
            "nonsense",
            "1 Jan 1901 00:00:00 +0000",
        ] {
            check(
                &format!("From: a@b\nSubject: s\nDate: {date}\n\n"),
                "a@b",
                "s",
                NOON,
            );
        }
    }

    #[test]
    fn hostile_headers_are_cleaned_and_capped() {
        check(
            "From: \"A\u{202e}nna\u{7}\" <a@b>\nSubject: x\u{202e}y\n\n",
            "Anna",
            "xy",
            NOON,
        );
        let long = format!("From: a@b\nSubject: {}\n\n", "x".repeat(50_000));
        assert_eq!(
            parse(long.as_bytes(), 0, false).unwrap().subject.chars().count(),
            MAX_TEXT + 1
        );
        assert_eq!(parse(b"", 0, false), None);
        assert_eq!(parse(&[0xff; 5000], 0, false), None);
    }

    #[test]
    fn maildir_flags_decide_what_is_unread() {
        let home = tempfile::tempdir().unwrap();
        for folder in ["new", "cur", "tmp"] {
            fs::create_dir(home.path().join(folder)).unwrap();
        }
        let put = |name: &str, subject: &str| {
            fs::write(
                home.path().join(name),
                format!("From: a@b\nSubject: {subject}\n\n"),
            )
            .unwrap();
        };
        put("new/1.M1.host", "fresh");
        put("cur/2.M2.host:2,", "seen by the server");
        put("cur/3.M3.host:2,RS", "read");
        put("cur/4.M4.host:2,ST", "deleted");
        put("cur/5.M5.host:2,DS", "draft");
        put("cur/.hidden", "hidden");
        put("tmp/6.M6.host", "half written");
        fs::create_dir(home.path().join("cur/folder")).unwrap();
        let mut mails: Vec<(String, bool)> = inbox(home.path())
            .unwrap()
            .into_iter()
            .map(|m| (m.subject, m.unread))
            .collect();
        mails.sort();
        assert_eq!(
            mails,
            [
                ("fresh".to_owned(), true),
                ("read".to_owned(), false),
                ("seen by the server".to_owned(), true),
            ]
        );
    }

    #[test]
    fn no_maildir_is_told() {
        let home = tempfile::tempdir().unwrap();
        assert!(matches!(
            inbox(&home.path().join("none")),
            Err(ToolError::Tell(_))
        ));
    }

    #[test]
    fn only_the_header_of_a_large_message_is_read() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("m");
        fs::write(
            &path,
            [b"From: a@b\r\n\r\n".as_slice(), &vec![b'x'; 1_000_000]].concat(),
        )
        .unwrap();
        assert_eq!(header(&path).unwrap().len(), 4096);
        fs::write(&path, vec![b'x'; 1_000_000]).unwrap();
        assert_eq!(header(&path).unwrap().len(), MAX_HEADER);
    }

    #[test]
    fn real_messages_are_read_or_refused() {
        let Some(data) = crate::testing::data("mail") else {
            return;
        };
        let (mut read, mut all) = (0, 0);
        for (_, bytes) in crate::testing::files(&data) {
            all += 1;
            if let Some(mail) = parse(&bytes[..bytes.len().min(MAX_HEADER)], NOON, true) {
                read += 1;
                assert!(!mail.from.is_empty());
                for text in [&mail.from, &mail.address, &mail.subject] {
                    assert_eq!(*text, plain::one_line(text, MAX_TEXT + 1));
                }
            }
        }
        assert!(read * 100 >= all * 97, "{read} of {all} messages are readable");
    }

    proptest! {
        #[test]
        fn any_bytes_are_survived(bytes in proptest::collection::vec(any::<u8>(), 0..600)) {
            parse(&bytes, NOON, true);
            parse(&[b"From: ".as_slice(), &bytes, b"\nDate: ", &bytes].concat(), NOON, true);
        }
    }
}
