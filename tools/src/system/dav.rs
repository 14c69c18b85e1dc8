//! CalDAV and CardDAV: keeps the vdir folders that the tools work on in step with collections on a server.
//!
//! Tools only ever read and write files here. A run of [`sync`] brings both sides together: what changed there is
//! taken, what changed here is sent, and what changed on both sides is kept twice. Being offline needs nothing of its
//! own: what was not sent yet is still different from what is remembered, and goes out with the next run.
//!
//! `plan` decides, on data alone; `run` carries out; `client` speaks to the server; `memory` remembers. What is decided:
//! what the server's changes take away or replace here is in the journal, where its number takes it back; a change wins
//! over a deletion; when both sides changed an item the server's version keeps its UID and ours becomes a
//! copy that says so; a side that is empty all at once, and a server that lost more than half of many items, stop the
//! run until it is forced; a collection that may not be
//! changed keeps the changes that were made here, tells them once, and does not send them; a new name or colour comes
//! from the server and is not sent there.

mod client;
mod http;
mod item;
mod memory;
mod names;
mod plan;
mod run;
mod xml;

#[cfg(test)]
mod tests;

use std::path::PathBuf;

use serde::Serialize;

use super::{journal::JournalError, ledger::LedgerError, store::StoreError, vdir::MAX_FILE};
pub use {
    http::{Http, Login, NetError, Patience, Request, Response, Transport, is_near},
    names::slug,
    run::sync,
};

/// What kind of collection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Calendars and to-do lists.
    Calendar,
    /// Address books.
    Contacts,
}

impl Kind {
    /// One word for it, as it is stored.
    pub fn word(self) -> &'static str {
        match self {
            Kind::Calendar => "calendar",
            Kind::Contacts => "contacts",
        }
    }
}

/// One account.
#[derive(Debug, Clone)]
pub struct Account {
    /// What the person calls it: lower-case letters, digits and `-`.
    pub name: String,
    /// `https://host:port`.
    pub origin: String,
    /// Where to look there; "/" lets the server say.
    pub path: String,
    /// What to look for.
    pub kinds: Vec<Kind>,
    /// Names of the collections to synchronise, or the last part of their address; all when empty.
    pub collections: Vec<String>,
    /// Go on although one side is empty all at once.
    pub force: bool,
    /// Send the password unencrypted to a server that is not on the person's own network.
    pub allow_http: bool,
}

impl Account {
    /// Splits `https://host:port/path` into origin and path.
    ///
    /// # Errors
    /// What is wrong with it, as a sentence.
    pub fn place(url: &str) -> Result<(String, String), String> {
        let wrong = |why: &str| Err(format!("The address {url:?} {why}."));
        let Some((scheme, rest)) = url.split_once("://") else {
            return wrong("should begin with https://");
        };
        let scheme = scheme.to_ascii_lowercase();
        if scheme != "https" && scheme != "http" {
            return wrong("should begin with https://");
        }
        let end = rest.find('/').unwrap_or(rest.len());
        let host = &rest[..end];
        if host.is_empty()
            || host.len() > 300
            || host
                .chars()
                .any(|c| c.is_whitespace() || c.is_control() || "?#\\".contains(c))
        {
            return wrong("names no server");
        }
        if host.contains('@') {
            return wrong("should not hold a user name or a password");
        }
        let origin = format!("{scheme}://{}", host.to_ascii_lowercase());
        match names::path(&rest[end..], &origin, "/") {
            Ok(path) => Ok((origin, path)),
            Err(why) => wrong(why),
        }
    }
}

/// What one run did.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Report {
    /// The account.
    pub account: String,
    /// Each collection.
    pub collections: Vec<Synced>,
    /// Why the account as a whole could not be synchronised, as a sentence.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Whether that is only that the server cannot be reached; what changed here goes out later.
    pub offline: bool,
}

/// What was done in one collection.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Synced {
    /// What the person calls it.
    pub name: String,
    /// The folder that it is in.
    pub folder: String,
    /// Items that came or changed here.
    pub pulled: usize,
    /// Items that were sent.
    pub pushed: usize,
    /// Items deleted here, because they were deleted there.
    pub removed_here: usize,
    /// Items deleted there, because they were deleted here.
    pub removed_there: usize,
    /// Items that both sides changed, so that there are two now.
    pub conflicts: usize,
    /// What the person should know, as sentences.
    pub notes: Vec<String>,
    /// Why it could not be finished, as a sentence.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

impl Report {
    /// Whether everything is in step.
    pub fn ok(&self) -> bool {
        self.error.is_none() && self.collections.iter().all(|c| c.error.is_none())
    }
}

/// Said before each step; an error ends the run there, with everything whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// A question to the server.
    Ask,
    /// A file is about to be written or removed, or a change is about to be sent; the person sees these counted.
    Change {
        /// The collection's name.
        collection: String,
        /// How many before it in this round.
        done: usize,
        /// How many there are.
        all: usize,
    },
    /// Something is about to be remembered.
    Remember,
}

/// The run is to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stop;

/// Who is told of each step, and may end the run.
pub type Watch<'w> = &'w dyn Fn(&Step) -> Result<(), Stop>;

/// Why something could not be synchronised.
#[derive(Debug, thiserror::Error)]
pub enum DavError {
    /// No answer.
    #[error(transparent)]
    Net(#[from] NetError),
    /// It does not know us.
    #[error("the server refused the user name or the password")]
    Login,
    /// Later.
    #[error("the server is busy")]
    Busy,
    /// An answer that does not help.
    #[error("the server answered with status {status} for {path}")]
    Answer {
        /// The status.
        status: u16,
        /// Where.
        path: String,
    },
    /// An answer that cannot be understood.
    #[error("the server's answer cannot be used: {why}")]
    Garbled {
        /// Why.
        why: String,
    },
    /// No collection at all.
    #[error("there is neither a calendar nor an address book")]
    Nothing,
    /// It points to another host.
    #[error("the server points to {to}, which {why}")]
    Elsewhere {
        /// Where.
        to: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// More items than a store may hold.
    #[error("there are more than {max} items")]
    TooMany {
        /// The bound.
        max: usize,
    },
    /// Everybody on the way could read the password.
    #[error("{origin} would get your password unencrypted, for everybody on the way to read")]
    Clear {
        /// The server.
        origin: String,
    },
    /// Another process is at it.
    #[error("another program synchronises this account at the moment")]
    Running,
    /// Made by a newer Tiro.
    #[error("{} was written by a newer version of Tiro", .path.display())]
    Newer {
        /// The file.
        path: PathBuf,
    },
    /// The disk.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The undo journal: without it nothing is taken away here.
    #[error(transparent)]
    Journal(JournalError),
    /// The memory.
    #[error("what is remembered of this account cannot be used: {0}")]
    Memory(#[from] rusqlite::Error),
    /// One side is empty.
    #[error("{}", empty(.here, *.items))]
    Empty {
        /// Which side.
        here: bool,
        /// How many items there were.
        items: usize,
    },
    /// Too much is gone there at once.
    #[error("the server has lost {lost} of the {items} items here")]
    Lost {
        /// How many.
        lost: usize,
        /// Of how many.
        items: usize,
    },
    /// It was told to stop.
    #[error("it was stopped")]
    Stopped,
}

fn empty(here: &bool, items: usize) -> String {
    match here {
        true => format!("its folder here is empty or gone, but the server has {items} items of it"),
        false => format!("the server shows it empty, but there are {items} items here"),
    }
}

impl From<JournalError> for DavError {
    fn from(error: JournalError) -> DavError {
        match error {
            JournalError::Store(error) => DavError::Store(error),
            other => DavError::Journal(other),
        }
    }
}

impl From<Stop> for DavError {
    fn from(_: Stop) -> DavError {
        DavError::Stopped
    }
}

impl From<LedgerError> for DavError {
    fn from(error: LedgerError) -> DavError {
        match error {
            LedgerError::Running => DavError::Running,
            LedgerError::Newer(path) => DavError::Newer { path },
            LedgerError::Store(error) => error.into(),
            LedgerError::Base(error) => error.into(),
        }
    }
}

impl DavError {
    /// What the person can do, as a sentence.
    fn advice(&self, account: &str) -> String {
        match self {
            DavError::Net(NetError::Unreachable { .. }) => {
                "What changed here is kept and goes out with the next run.".to_owned()
            }
            DavError::Net(NetError::Certificate { .. }) => {
                "If the server is yours, add its certificate authority to this system's trusted ones."
                    .to_owned()
            }
            DavError::Login => format!("Check user and password of the account \"{account}\"."),
            DavError::Clear { .. } => format!(
                "Use https:// in the url of the account \"{account}\", or set its allow_http = true if the way is safe."
            ),
            DavError::Busy | DavError::Running => "Try again later.".to_owned(),
            DavError::Elsewhere { .. } => {
                format!("If you trust that place, set it as the url of the account \"{account}\".")
            }
            DavError::Empty { .. } => {
                format!("Nothing was deleted. If it is meant to be empty, run `tiro sync --force {account}`.")
            }
            DavError::Lost { .. } => {
                format!(
                    "Nothing was deleted. If they are meant to be gone, run `tiro sync --force {account}`."
                )
            }
            DavError::Newer { .. } => "Use that version.".to_owned(),
            DavError::Memory(_) => {
                "Delete that file in state/dav; the next run compares everything and loses nothing."
                    .to_owned()
            }
            DavError::Store(_) | DavError::Journal(_) | DavError::TooMany { .. } => {
                "Nothing more was changed.".to_owned()
            }
            DavError::Stopped => "The next run goes on from there.".to_owned(),
            DavError::Net(_) | DavError::Nothing | DavError::Answer { .. } | DavError::Garbled { .. } => {
                format!("Check the url of the account \"{account}\".")
            }
        }
    }

    /// Whether the other collections of the account will not do better.
    fn is_of_account(&self) -> bool {
        matches!(
            self,
            DavError::Net(NetError::Unreachable { .. } | NetError::Certificate { .. })
                | DavError::Login
                | DavError::Busy
                | DavError::Memory(_)
                | DavError::Stopped
        )
    }
}

/// An item larger than this is neither taken nor sent.
const MAX_ITEM: u64 = MAX_FILE;
