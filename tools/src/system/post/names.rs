//! What things are called on either side: files after the numbers of their messages, folders after their roles.

use std::{collections::BTreeSet, path::Path, time::SystemTime};

use sha2::{Digest as _, Sha256};

use super::{
    PostError,
    imap::{Body, Folder, Role},
    maildir,
};

/// What files of a folder are called.
pub struct Mine {
    /// Its row.
    pub id: i64,
    /// Tells it apart.
    pub tag: String,
    /// The server's word that its numbers still hold.
    pub validity: u32,
}

impl Mine {
    /// Writes a message under the name that its number gives it.
    pub fn store(&self, path: &Path, body: &Body) -> Result<String, PostError> {
        let when = body.when.unwrap_or_else(SystemTime::now);
        let seconds = when
            .duration_since(SystemTime::UNIX_EPOCH)
            .map_or(0, |d| d.as_secs());
        let base = format!("{seconds}.U{}V{}F{}.tiro", body.uid, self.validity, self.tag);
        maildir::put(path, &base, &body.flags, &body.bytes, Some(when))?;
        Ok(base)
    }

    /// The number in a name, if it was given in this folder and still holds.
    pub fn uid(&self, base: &str) -> Option<u32> {
        let end = format!("V{}F{}.tiro", self.validity, self.tag);
        let (_, rest) = base.split_once(".U")?;
        rest.strip_suffix(&end)?.parse().ok()
    }
}

/// Whether a name was given to a message that came from a server.
pub fn is_numbered(base: &str) -> bool {
    base.ends_with(".tiro") && base.contains(".U")
}

/// Tells folders apart in names of files.
pub fn tag(remote: &str) -> String {
    let hash = Sha256::digest(remote.as_bytes());
    hash.iter().take(4).map(|b| format!("{b:02x}")).collect()
}

/// What a folder of the server is called here, as Maildir++ has it.
pub fn local_name(folder: &Folder, taken: &BTreeSet<String>) -> String {
    let name = match folder.role.folder() {
        Some(name) => name.to_owned(),
        None => {
            let delimiter = folder.delimiter.as_deref().filter(|d| !d.is_empty());
            let mut parts: Vec<&str> = match delimiter {
                Some(delimiter) => folder.name.split(delimiter).collect(),
                None => vec![&folder.name],
            };
            if parts.len() > 1 && parts[0].eq_ignore_ascii_case("INBOX") {
                parts.remove(0);
            }
            let tame = |part: &&str| -> String {
                let tame = part.chars().map(|c| match c {
                    '/' | '.' | ':' => '_',
                    c if c.is_control() => '_',
                    c => c,
                });
                tame.take(60).collect()
            };
            format!(".{}", parts.iter().map(tame).collect::<Vec<_>>().join("."))
        }
    };
    let name: String = name.chars().take(180).collect();
    let mut free = (1..).map(|n| match n {
        1 => name.clone(),
        n => format!("{name}-{n}"),
    });
    // As many as there are folders are enough.
    free.find(|name| !taken.contains(name)).unwrap_or(name.clone())
}

/// What a folder of ours is called there: some servers keep all folders below the inbox.
pub fn new_name(name: &str, remote: &[Folder]) -> String {
    let others: Vec<&Folder> = remote.iter().filter(|f| f.role != Role::Inbox).collect();
    let below = |f: &&Folder| {
        f.delimiter
            .as_ref()
            .is_some_and(|d| f.name.starts_with(&format!("INBOX{d}")))
    };
    match others.first() {
        Some(first) if others.iter().all(below) => {
            format!("INBOX{}{name}", first.delimiter.as_deref().unwrap_or("."))
        }
        _ => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(name: &str, delimiter: &str, role: Role) -> Folder {
        Folder {
            name: name.to_owned(),
            delimiter: Some(delimiter.to_owned()),
            role,
        }
    }

    #[test]
    fn folders_have_names_here() {
        #[track_caller]
        fn check(name: &str, delimiter: &str, role: Role, expect: &str) {
            assert_eq!(
                local_name(
                    &folder(name, delimiter, role),
                    &BTreeSet::from([".Taken".to_owned()])
                ),
                expect
            );
        }
        check("INBOX", "/", Role::Inbox, "");
        check("Gesendete Objekte", "/", Role::Sent, ".Sent");
        check("Lists/Rust", "/", Role::Other, ".Lists.Rust");
        check("INBOX.Lists.Rust", ".", Role::Other, ".Lists.Rust");
        check("a.b/../c", "/", Role::Other, ".a_b.__.c");
        check("/etc/passwd", "|", Role::Other, "._etc_passwd");
        check("Taken", "/", Role::Other, ".Taken-2");
        assert!(local_name(&folder(&"x/".repeat(500), "/", Role::Other), &BTreeSet::new()).len() < 200);
    }

    #[test]
    fn new_folders_go_where_the_others_are() {
        let inbox = folder("INBOX", ".", Role::Inbox);
        let below = folder("INBOX.Sent", ".", Role::Sent);
        let beside = folder("Sent", "/", Role::Sent);
        assert_eq!(
            new_name("Archive", &[inbox.clone(), below.clone()]),
            "INBOX.Archive"
        );
        assert_eq!(new_name("Archive", &[inbox.clone(), below, beside]), "Archive");
        assert_eq!(new_name("Archive", &[inbox]), "Archive");
    }

    #[test]
    fn a_number_only_counts_where_it_was_given() {
        let mine = Mine {
            id: 1,
            tag: tag("INBOX"),
            validity: 7,
        };
        let base = format!("12.U34V7F{}.tiro", tag("INBOX"));
        assert_eq!(mine.uid(&base), Some(34));
        assert!(is_numbered(&base) && !is_numbered("12.tiro-34") && !is_numbered("1.M2.host"));
        for other in [
            format!("12.U34V8F{}.tiro", tag("INBOX")),
            format!("12.U34V7F{}.tiro", tag("Sent")),
            "12.Ux.tiro".to_owned(),
            "12.M34.host".to_owned(),
        ] {
            assert_eq!(mine.uid(&other), None, "{other}");
        }
    }
}
