//! Mail on servers: the outbox goes out by SMTP, and Maildirs are kept in step by IMAP.
//!
//! `wire` is a connection that is bounded in time and size, encrypted unless the server is on this machine; `token` is how an
//! access token is shown on it. `smtp` hands
//! one message over and says what became of it; `drain` empties the outbox with it. `imap` is one session; `plan`
//! decides what a run does in a folder, on data alone; `sync` carries it out; `memory` remembers what both sides agreed
//! on.

mod drain;
mod imap;
mod maildir;
mod memory;
mod names;
mod plan;
mod server;
mod smtp;
mod sync;
mod token;
mod wire;

use std::path::PathBuf;

use serde::Serialize;

use super::{ledger::LedgerError, mail::outbox::OutboxError, store::StoreError};
pub use drain::{Account as Sending, Deliver, DrainError, Drained, drain, next_due, settle_arrived};
pub use imap::{check, wait_for_news};
pub use server::{Protocol, Server};
pub use smtp::{Delivery, Handing, Smtp};
pub use sync::{Account as Reading, sync};

/// How somebody says who they are.
#[derive(Clone)]
pub struct Login {
    /// The name on the server.
    pub user: String,
    /// What proves it.
    pub secret: Secret,
}

/// What proves who somebody is.
#[derive(Clone)]
pub enum Secret {
    /// A password.
    Password(String),
    /// An OAuth2 access token.
    Token(String),
}

impl std::fmt::Debug for Login {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Login(..)")
    }
}

/// How a server is reached.
#[derive(Debug, Clone)]
pub struct Access {
    /// Where.
    pub server: Server,
    /// Who we are there.
    pub login: Login,
    /// Send the password unencrypted to another machine.
    pub allow_plain: bool,
    /// Certificates (PEM) to trust besides the system's.
    pub certificates: Option<PathBuf>,
}

/// Before each step; an error ends the run there, with everything whole.
pub type Watch<'w> = &'w (dyn Fn() -> Result<(), Stop> + Send + Sync);

/// The run is to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("it was stopped")]
pub struct Stop;

/// What one run of one account did.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Report {
    /// The account.
    pub account: String,
    /// Each folder in which something was done or went wrong.
    pub folders: Vec<Synced>,
    /// Why the account as a whole could not be synchronised, as a sentence.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Whether that is only that the server cannot be reached.
    pub offline: bool,
    /// Message-IDs of those asked about that the server has among the sent mail.
    #[serde(skip)]
    pub arrived: Vec<String>,
}

impl Report {
    /// Whether everything is in step.
    pub fn ok(&self) -> bool {
        self.error.is_none() && self.folders.iter().all(|f| f.error.is_none())
    }
}

/// What was done in one folder.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Synced {
    /// Its name on the server.
    pub name: String,
    /// Messages that came.
    pub pulled: usize,
    /// Messages that were sent there.
    pub pushed: usize,
    /// Messages whose flags were brought together.
    pub flagged: usize,
    /// Messages moved on the server, because they were moved here.
    pub moved: usize,
    /// Messages taken away here, because they are gone there.
    pub removed: usize,
    /// What the person should know, as sentences.
    pub notes: Vec<String>,
    /// Why it could not be finished, as a sentence.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

impl Synced {
    fn is_quiet(&self) -> bool {
        let counts = self.pulled + self.pushed + self.flagged + self.moved + self.removed;
        counts == 0 && self.notes.is_empty() && self.error.is_none()
    }
}

/// Why mail could not be taken or sent.
#[derive(Debug, thiserror::Error)]
pub enum PostError {
    /// No answer, or none any more.
    #[error("{server} cannot be reached ({why})")]
    Unreachable {
        /// Who.
        server: String,
        /// Why.
        why: String,
    },
    /// It is not who it says.
    #[error("the certificate of {server} {why}")]
    Certificate {
        /// Who.
        server: String,
        /// What is wrong with it.
        why: String,
    },
    /// The certificates of the config.
    #[error("the certificates in {} cannot be used: {why}", .path.display())]
    Certificates {
        /// The file.
        path: PathBuf,
        /// Why.
        why: String,
    },
    /// Everybody on the way could read the password.
    #[error("{server} offers no encryption, so your password was not sent")]
    Clear {
        /// Who.
        server: String,
    },
    /// It does not know us.
    #[error("{server} refused the user name or the password")]
    Login {
        /// Who.
        server: String,
    },
    /// It does not take our access token: it has run out, or is for somebody else.
    #[error("{server} refused the access token")]
    Token {
        /// Who.
        server: String,
    },
    /// It takes no access tokens at all.
    #[error("{server} takes no access tokens")]
    NoTokens {
        /// Who.
        server: String,
    },
    /// It said no.
    #[error("{server} refused: {said}")]
    Refused {
        /// Who.
        server: String,
        /// What it said.
        said: String,
    },
    /// An answer that cannot be understood.
    #[error("{server} answered what cannot be read ({why})")]
    Garbled {
        /// Who.
        server: String,
        /// Why.
        why: String,
    },
    /// Too much is gone at once.
    #[error("{}", shrunk(*.here, *.lost, *.of))]
    Lost {
        /// On which side.
        here: bool,
        /// How many.
        lost: usize,
        /// Of how many.
        of: usize,
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
    /// The outbox.
    #[error(transparent)]
    Outbox(#[from] OutboxError),
    /// The memory.
    #[error("what is remembered of this account cannot be used: {0}")]
    Memory(#[from] rusqlite::Error),
    /// It was told to stop.
    #[error("it was stopped")]
    Stopped,
}

fn shrunk(here: bool, lost: usize, of: usize) -> String {
    match here {
        true => format!("{lost} of its {of} messages are gone here"),
        false => format!("the server has lost {lost} of the {of} messages here"),
    }
}

impl From<Stop> for PostError {
    fn from(_: Stop) -> PostError {
        PostError::Stopped
    }
}

impl From<LedgerError> for PostError {
    fn from(error: LedgerError) -> PostError {
        match error {
            LedgerError::Running => PostError::Running,
            LedgerError::Newer(path) => PostError::Newer { path },
            LedgerError::Store(error) => error.into(),
            LedgerError::Base(error) => error.into(),
        }
    }
}

impl PostError {
    /// The error and what the person can do, as sentences.
    pub fn sentence(&self, account: &str) -> String {
        let text = self.to_string();
        let mut chars = text.chars();
        let first = chars.next().map(|c| c.to_uppercase().to_string());
        let advice = self.advice(account);
        format!("{}{}. {advice}", first.unwrap_or_default(), chars.as_str())
    }

    /// Whether it is only that the server cannot be reached.
    pub fn is_offline(&self) -> bool {
        matches!(self, PostError::Unreachable { .. })
    }

    /// Whether the other folders of the account will not do better.
    fn is_of_account(&self) -> bool {
        !matches!(
            self,
            PostError::Refused { .. } | PostError::Lost { .. } | PostError::Store(_)
        )
    }

    fn advice(&self, account: &str) -> String {
        match self {
            PostError::Unreachable { .. } => "It is tried again later.".to_owned(),
            PostError::Certificate { .. } => format!(
                "If the server is yours, name its certificate in the key certificates of the account \"{account}\"."
            ),
            PostError::Certificates { .. } => format!("Check the account \"{account}\"."),
            PostError::Clear { .. } => format!(
                "Use imaps:// and smtps:// in the account \"{account}\", or set its allow_plain = true if the way is safe."
            ),
            PostError::Login { .. } => format!("Check user and password of the account \"{account}\"."),
            PostError::Token { .. } => format!(
                "Check the user of the account \"{account}\" and what its token_command prints; you may have to sign in again."
            ),
            PostError::NoTokens { .. } => format!(
                "Use password_command or password_file in the account \"{account}\" instead of token_command."
            ),
            PostError::Lost { .. } => {
                format!(
                    "Nothing was deleted. If they are meant to be gone, run `tiro sync --force {account}`."
                )
            }
            PostError::Running => "Try again later.".to_owned(),
            PostError::Newer { .. } => "Use that version.".to_owned(),
            PostError::Memory(_) => {
                "Delete that file in state/mail; the next run compares everything and loses nothing."
                    .to_owned()
            }
            PostError::Garbled { .. } => {
                format!("Check the addresses of the servers of the account \"{account}\".")
            }
            PostError::Refused { .. } | PostError::Store(_) | PostError::Outbox(_) => {
                "Nothing more was changed.".to_owned()
            }
            PostError::Stopped => "The next run goes on from there.".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests;
