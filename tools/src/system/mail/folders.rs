//! Maildirs: which accounts and folders there are, what each is for, and what the name of a message's file says.
//!
//! The embedded default is one Maildir++ (`cur`, `new`, `tmp`, subfolders as `.Name`). Accounts on servers are mirrored
//! into Maildirs of the same shape below it, `accounts/<name>`; programs that know Maildir++ pass over folders without a
//! leading dot.

use std::{
    fs,
    io::ErrorKind,
    path::{Path, PathBuf},
};

use crate::{
    contract::ToolError,
    system::{
        heard::{self, HEARD},
        plain,
        store::{self, StoreError},
    },
};

/// Most folders that are looked at, of all accounts.
const MAX_FOLDERS: usize = 500;
/// Longest name of a folder that is spoken, in characters.
const MAX_NAME: usize = 60;

/// Where the mirrors of accounts are, in the mail folder.
const ACCOUNTS: &str = "accounts";

/// What a folder is for. The numbers are in the index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Where mail arrives.
    Inbox = 0,
    /// What the person wrote.
    Sent = 1,
    /// What the person has begun to write.
    Drafts = 2,
    /// What is done with.
    Archive = 3,
    /// What was deleted.
    Trash = 4,
    /// What somebody took for spam.
    Junk = 5,
    /// Any other.
    Other = 6,
}

/// Names that programs and servers give to folders of a role, lower-cased.
const NAMES: [(Role, &[&str]); 5] = [
    (
        Role::Sent,
        &[
            "sent",
            "sent mail",
            "sent items",
            "sent messages",
            "gesendet",
            "gesendete objekte",
        ],
    ),
    (Role::Drafts, &["drafts", "draft", "entwürfe"]),
    (
        Role::Archive,
        &["archive", "archives", "all mail", "archiv", "done"],
    ),
    (
        Role::Trash,
        &[
            "trash",
            "bin",
            "deleted items",
            "deleted messages",
            "deleted",
            "papierkorb",
        ],
    ),
    (
        Role::Junk,
        &["junk", "spam", "junk e-mail", "junk email", "bulk mail"],
    ),
];

impl Role {
    const ALL: [Role; 7] = [
        Role::Inbox,
        Role::Sent,
        Role::Drafts,
        Role::Archive,
        Role::Trash,
        Role::Junk,
        Role::Other,
    ];

    /// The role of that number in the index.
    pub fn of_number(number: i64) -> Role {
        let role = Role::ALL.into_iter().find(|role| *role as i64 == number);
        role.unwrap_or(Role::Other)
    }

    /// Whether a search that names no folder looks here.
    pub fn is_searched(self) -> bool {
        !matches!(self, Role::Trash | Role::Junk | Role::Drafts)
    }

    fn of_name(name: &str) -> Role {
        let last = name.rsplit('/').next().unwrap_or(name).to_lowercase();
        let role = NAMES.iter().find(|(_, names)| names.contains(&last.as_str()));
        role.map_or(Role::Other, |(role, _)| *role)
    }

    /// The Maildir++ name of the folder that is made for this role where there is none.
    fn made(self) -> &'static str {
        match self {
            Role::Inbox | Role::Other => "",
            Role::Sent => ".Sent",
            Role::Drafts => ".Drafts",
            Role::Archive => ".Archive",
            Role::Trash => ".Trash",
            Role::Junk => ".Junk",
        }
    }
}

/// One folder of one account.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Folder {
    /// The account's name; empty for the embedded default.
    pub account: String,
    /// The account's Maildir.
    pub root: PathBuf,
    /// Where `cur`, `new` and `tmp` are.
    pub path: PathBuf,
    /// As people call it: `Inbox`, `Archive`, `Work/Projects`.
    pub name: String,
    /// What it is for.
    pub role: Role,
}

/// All folders of all accounts, the embedded default first, each account's inbox before its other folders.
///
/// # Errors
/// `Tell` when there is no mailbox at all; `Broken` when the mail folder cannot be listed.
pub fn folders(mail: &Path) -> Result<Vec<Folder>, ToolError> {
    let mut found = Vec::new();
    of_root(mail, "", &mut found)?;
    for (name, path) in list(&mail.join(ACCOUNTS))? {
        of_root(&path, &plain::one_line(&name, MAX_NAME), &mut found)?;
    }
    if found.is_empty() {
        return Err(ToolError::tell(format!(
            "There is no mailbox at {}. Set the mail folder in the config.",
            mail.display()
        )));
    }
    Ok(found)
}

/// The folder of a role in the same account, made when there is none.
///
/// # Errors
/// When it cannot be made.
pub fn make(all: &[Folder], of: &Folder, role: Role) -> Result<Folder, StoreError> {
    let folder = match all.iter().find(|f| f.root == of.root && f.role == role) {
        Some(folder) => folder.clone(),
        None => default_of(&of.root, &of.account, role),
    };
    for name in ["cur", "new", "tmp"] {
        store::make_folder(&folder.path.join(name))?;
    }
    Ok(folder)
}

/// The folder that is made for a role.
pub fn default_of(root: &Path, account: &str, role: Role) -> Folder {
    let made = role.made();
    Folder {
        account: account.to_owned(),
        root: root.to_owned(),
        path: if made.is_empty() {
            root.to_owned()
        } else {
            root.join(made)
        },
        name: name_of(made.trim_start_matches('.')),
        role,
    }
}

/// The folders that somebody named: by role ("the trash"), by name, by account ("work").
///
/// # Errors
/// `Tell`: there is none of that name; it says which there are.
pub fn named<'a>(all: &'a [Folder], said: &str) -> Result<Vec<&'a Folder>, ToolError> {
    let wanted = plain::one_line(said, MAX_NAME).to_lowercase();
    let wanted = wanted.trim_start_matches("my ").trim_start_matches("the ");
    let wanted = wanted
        .trim_end_matches(" folder")
        .trim_end_matches(" mail")
        .trim();
    let exact =
        |folder: &&Folder| folder.name.to_lowercase() == wanted || folder.account.to_lowercase() == wanted;
    let mut fits: Vec<&Folder> = all.iter().filter(exact).collect();
    if fits.is_empty() {
        let role = match wanted {
            "inbox" | "in box" | "in-box" => Role::Inbox,
            other => Role::of_name(other),
        };
        fits.extend(all.iter().filter(|f| role != Role::Other && f.role == role));
    }
    if fits.is_empty() {
        let ear = heard::Ear::new(wanted);
        let alike = |folder: &&Folder| ear.likeness(&folder.name).max(ear.likeness(&folder.account)) >= HEARD;
        fits.extend(all.iter().filter(alike));
    }
    if fits.is_empty() {
        let mut names: Vec<String> = all.iter().map(|f| f.name.clone()).collect();
        names.dedup();
        names.truncate(6);
        return Err(ToolError::tell(format!(
            "There is no mail folder called \"{}\". There is {}.",
            plain::one_line(said, MAX_NAME),
            plain::listed(&names, "and")
        )));
    }
    Ok(fits)
}

fn of_root(root: &Path, account: &str, found: &mut Vec<Folder>) -> Result<(), ToolError> {
    let folder = |path: PathBuf, name: String, role: Role| Folder {
        account: account.to_owned(),
        root: root.to_owned(),
        path,
        name,
        role,
    };
    if is_maildir(root) {
        found.push(folder(root.to_owned(), "Inbox".to_owned(), Role::Inbox));
    }
    for (name, path) in list(root)? {
        let Some(name) = name.strip_prefix('.') else {
            continue;
        };
        if found.len() >= MAX_FOLDERS {
            tracing::warn!(
                max = MAX_FOLDERS,
                "there are more mail folders than are looked at"
            );
            break;
        }
        // Courier and Dovecot leave folders of their own here that hold no mail.
        if is_maildir(&path) {
            let name = name_of(name);
            let role = Role::of_name(&name);
            found.push(folder(path, name, role));
        }
    }
    Ok(())
}

/// Entries that are folders, sorted. A folder that is not there has none.
fn list(folder: &Path) -> Result<Vec<(String, PathBuf)>, ToolError> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(e) if matches!(e.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => return Ok(Vec::new()),
        Err(e) => return Err(StoreError::of(folder, e).tool("read your mail")),
    };
    let mut found: Vec<(String, PathBuf)> = entries
        .flatten()
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
        .filter_map(|entry| Some((entry.file_name().into_string().ok()?, entry.path())))
        .collect();
    found.sort();
    Ok(found)
}

fn is_maildir(path: &Path) -> bool {
    path.join("cur").is_dir() || path.join("new").is_dir()
}

/// `Work.Projects` is "Work/Projects"; other scripts stand in modified UTF-7 (RFC 3501, 5.1.3).
fn name_of(name: &str) -> String {
    let name = name.strip_prefix("INBOX.").unwrap_or(name);
    plain::one_line(&decode(name).replace('.', "/"), MAX_NAME)
}

fn decode(name: &str) -> String {
    use base64::Engine as _;
    let mut text = String::new();
    let mut rest = name;
    while let Some((before, after)) = rest.split_once('&') {
        text.push_str(before);
        let Some((coded, behind)) = after.split_once('-') else {
            return name.to_owned();
        };
        rest = behind;
        if coded.is_empty() {
            text.push('&');
            continue;
        }
        let bytes = base64::engine::general_purpose::STANDARD_NO_PAD.decode(coded.replace(',', "/"));
        let units: Option<Vec<u16>> = bytes.ok().map(|bytes| {
            let pairs = bytes.chunks_exact(2);
            pairs.map(|pair| u16::from_be_bytes([pair[0], pair[1]])).collect()
        });
        match units.and_then(|units| String::from_utf16(&units).ok()) {
            Some(decoded) => text.push_str(&decoded),
            // It is no such coding, so it stands for itself.
            None => return name.to_owned(),
        }
    }
    text + rest
}

/// The name of a message's file in two parts: what stays as long as the message is there, and its flags, a letter each
/// (`S` seen, `R` replied, `P` passed on, `F` flagged, `T` trashed, `D` draft). Flags stand behind `:2,`; on file systems
/// without colons behind `;2,` or `!2,`.
pub fn split(name: &str) -> (&str, &str) {
    match name.rsplit_once([':', ';', '!']) {
        Some((base, info)) => match info.strip_prefix("2,") {
            Some(flags) => (base, flags),
            None => (name, ""),
        },
        None => (name, ""),
    }
}

/// A name with these flags, which are put in order.
pub fn join(base: &str, flags: &str, like: &str) -> String {
    let sign = like.strip_prefix(base).and_then(|info| info.chars().next());
    let sign = sign.unwrap_or(':');
    let mut letters: Vec<char> = flags.chars().collect();
    letters.sort_unstable();
    letters.dedup();
    format!("{base}{sign}2,{}", letters.into_iter().collect::<String>())
}

/// A name for a new message (cr.yp.to/proto/maildir.html): nobody else on any machine uses it.
pub fn unique() -> String {
    use std::sync::atomic::{AtomicU32, Ordering};
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let at = jiff::Timestamp::now();
    format!(
        "{}.M{}P{}Q{}.tiro",
        at.as_second(),
        at.subsec_microsecond(),
        std::process::id(),
        COUNT.fetch_add(1, Ordering::Relaxed)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accounts_and_folders_are_found() {
        let home = tempfile::tempdir().unwrap();
        for path in [
            "cur",
            ".Sent/cur",
            ".Work.Projects/new",
            ".Entw&APw-rfe/cur",
            ".dovecot",
            "accounts/office/cur",
            "accounts/office/.Trash/cur",
            "accounts/office/.INBOX.Spam/cur",
            "accounts/other/empty",
            "file",
        ] {
            fs::create_dir_all(home.path().join(path)).unwrap();
        }
        let all = folders(home.path()).unwrap();
        let found: Vec<_> = all
            .iter()
            .map(|f| (f.account.as_str(), f.name.as_str(), f.role))
            .collect();
        assert_eq!(
            found,
            [
                ("", "Inbox", Role::Inbox),
                ("", "Entwürfe", Role::Drafts),
                ("", "Sent", Role::Sent),
                ("", "Work/Projects", Role::Other),
                ("office", "Inbox", Role::Inbox),
                ("office", "Spam", Role::Junk),
                ("office", "Trash", Role::Trash),
            ]
        );
        let names = |said: &str| -> Vec<String> {
            let found = named(&all, said).unwrap();
            found
                .iter()
                .map(|f| format!("{}:{}", f.account, f.name))
                .collect()
        };
        assert_eq!(names("the trash"), ["office:Trash"]);
        assert_eq!(names("inbox"), [":Inbox", "office:Inbox"]);
        assert_eq!(
            names("my office mail"),
            ["office:Inbox", "office:Spam", "office:Trash"]
        );
        assert_eq!(names("bin"), ["office:Trash"]);
        assert_eq!(names("projects folder"), [":Work/Projects"]);
        assert_eq!(
            named(&all, "purple").unwrap_err().to_string(),
            "There is no mail folder called \"purple\". There is Inbox, Entwürfe, Sent, Work/Projects, Inbox and Spam."
        );
        let made = make(&all, &all[0], Role::Archive).unwrap();
        assert!(home.path().join(".Archive/cur").is_dir() && made.name == "Archive");
        assert!(folders(&home.path().join("none")).is_err());
    }

    #[test]
    fn names_of_files_say_the_flags() {
        for (name, base, flags) in [
            ("1.M2P3.host,S=4:2,RS", "1.M2P3.host,S=4", "RS"),
            ("1.host", "1.host", ""),
            ("1.host:2,", "1.host", ""),
            ("1.host:1,x", "1.host:1,x", ""),
            ("1.host;2,S", "1.host", "S"),
        ] {
            assert_eq!(split(name), (base, flags));
        }
        assert_eq!(join("1.host", "SRS", "1.host:2,"), "1.host:2,RS");
        assert_eq!(join("1.host", "S", "1.host;2,"), "1.host;2,S");
        assert_eq!(join("1.host", "", "1.host"), "1.host:2,");
        assert_ne!(unique(), unique());
    }

    #[test]
    fn names_in_modified_utf_7_are_decoded() {
        for (name, expect) in [
            ("Entw&APw-rfe", "Entwürfe"),
            ("R&-D", "R&D"),
            ("&ZeVnLIqe-", "日本語"),
            ("broken&APw", "broken&APw"),
            ("odd&!!-x", "odd&!!-x"),
        ] {
            assert_eq!(decode(name), expect);
        }
    }
}
