//! The outbox: mail that was confirmed and has not gone out yet, on disk, one step at a time.
//!
//! A mail is two files: `ID.eml`, the finished message, and a ticket, which says from whom to whom. The ticket never
//! changes; how far the mail is stands in the ending of its name, so every step is one rename with a sync:
//!
//! ```text
//! queued -> claimed -> handed -> sent -> gone     the server took it, and a copy is among the sent mail
//!    ^         |          |----> failed            refused for good: waits for the person
//!    |---------+----------|                        refused for now, or cut before its end: tried again
//!                         |----> unsure            cut after its end: waits for the person, never sent again by itself
//! ```
//!
//! While it is `queued` "undo that" removes the ticket, however long it has waited; claiming takes the same turn as undo,
//! so one of them wins. After a kill `claimed` is queued again, because nothing of the message had left, and `handed` is
//! unsure.

use std::{
    fs::{self, File, OpenOptions},
    io,
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
    sync::atomic::{AtomicU32, Ordering},
    time::Duration,
};

use jiff::{SignedDuration, Timestamp};
use mail_parser::MessageParser;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::{
    contract::ToolError,
    system::{
        journal::Step,
        plain,
        store::{self, StoreError, Turn, kill},
    },
};

/// The largest message, in bytes: what the large providers take at most, and what base64 makes of it.
pub const MAX_MESSAGE: u64 = 36 << 20;
/// Most recipients of one message.
pub const MAX_RECIPIENTS: usize = 100;
/// Most mails that wait at once.
const MAX_WAITING: usize = 500;
/// Most files that are looked at.
const MAX_FILES: usize = 5000;
/// The largest ticket or note, in bytes.
const MAX_TICKET: u64 = 256 * 1024;
/// Longest address, in bytes (RFC 5321, 4.5.3.1).
const MAX_ADDRESS: usize = 320;
/// A message without a ticket is what a kill or an undo left; it is swept after this long.
const ORPHAN: SignedDuration = SignedDuration::from_hours(1);
/// What is being done, for the person.
const WHAT: &str = "put the mail into the outbox";

/// A mail that is ready to go.
#[derive(Debug, Clone)]
pub struct Outgoing {
    /// The account that sends it.
    pub account: String,
    /// The sender's bare address.
    pub from: String,
    /// The recipients' bare addresses, those of Cc and Bcc among them.
    pub to: Vec<String>,
    /// The finished message, with a Message-ID and without a Bcc field.
    pub message: Vec<u8>,
}

/// What is known of a mail in the outbox.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ticket {
    /// Its name in the outbox.
    pub id: String,
    /// The account that sends it.
    pub account: String,
    /// The sender's address.
    pub from: String,
    /// The recipients' addresses.
    pub to: Vec<String>,
    /// The Message-ID, without its brackets.
    pub message_id: String,
    /// Its subject; may be empty.
    pub subject: String,
    /// When it was confirmed.
    pub at: Timestamp,
    /// It does not go out before.
    pub after: Timestamp,
}

/// How far a mail is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// It waits, and can be taken back.
    Queued,
    /// The server is being asked.
    Claimed,
    /// The server is being given the message.
    Handed,
    /// The server took it; the copy among the sent mail is missing.
    Sent,
    /// The server refused it for good.
    Failed,
    /// Nobody knows whether the server took it.
    Unsure,
}

impl State {
    const ALL: [State; 6] = [
        State::Queued,
        State::Claimed,
        State::Handed,
        State::Sent,
        State::Failed,
        State::Unsure,
    ];

    /// Whether it is in the middle of a step that the next sender finishes or settles.
    pub fn is_unfinished(self) -> bool {
        matches!(self, State::Claimed | State::Handed | State::Sent)
    }

    /// The ending of the ticket's name.
    pub fn word(self) -> &'static str {
        match self {
            State::Queued => "queued",
            State::Claimed => "claimed",
            State::Handed => "handed",
            State::Sent => "sent",
            State::Failed => "failed",
            State::Unsure => "unsure",
        }
    }
}

/// What happened to a mail so far.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Note {
    /// How often it was tried.
    pub tries: u32,
    /// The next try is not before.
    pub next: Option<Timestamp>,
    /// Why it has not gone, as a sentence.
    pub why: String,
}

/// A mail in the outbox.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Entry {
    /// What it is.
    #[serde(flatten)]
    pub ticket: Ticket,
    /// How far it is.
    pub state: State,
    /// What happened so far.
    pub note: Note,
}

impl Entry {
    /// The mail in a few words, for the person.
    pub fn title(&self) -> String {
        let first = self.ticket.to.first().map_or("nobody", String::as_str);
        let more = match self.ticket.to.len() {
            0 | 1 => String::new(),
            n => format!(" and {} more", n - 1),
        };
        match self.ticket.subject.as_str() {
            "" => format!("The mail to {first}{more}"),
            subject => format!("The mail \"{subject}\" to {first}{more}"),
        }
    }

    /// What the person should know of it; nothing while all goes as it should.
    pub fn problem(&self) -> Option<String> {
        let (title, id, why) = (self.title(), &self.ticket.id, &self.note.why);
        match self.state {
            State::Failed => Some(format!(
                "{title} was not sent. {why} Run `tiro outbox retry {id}` or `tiro outbox drop {id}`."
            )),
            State::Unsure => Some(format!(
                "{title} may or may not have gone out. {why} Look whether it arrived, then run `tiro outbox sent {id}`, \
                 or `tiro outbox retry {id}` to send it once more."
            )),
            State::Queued if !why.is_empty() => Some(format!("{title} waits. {why}")),
            State::Queued | State::Claimed | State::Handed | State::Sent => None,
        }
    }
}

/// Why the outbox could not.
#[derive(Debug, thiserror::Error)]
pub enum OutboxError {
    /// A file.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A ticket that nothing can be made of.
    #[error("the ticket {name} in the outbox cannot be read")]
    Ticket {
        /// Its file.
        name: String,
    },
    /// No such mail, or it is too far for that.
    #[error("There is no mail {id} that waits for you in the outbox.")]
    Unknown {
        /// As it was given.
        id: String,
    },
}

/// The outbox of one person; cheap to clone. Nothing is made before the first mail.
#[derive(Debug, Clone)]
pub struct Outbox {
    state: PathBuf,
    folder: PathBuf,
}

impl Outbox {
    /// The outbox in the folder that Tiro keeps for itself.
    pub fn at(state: &Path) -> Outbox {
        Outbox {
            state: state.to_owned(),
            folder: state.join(FOLDER),
        }
    }

    /// Takes a mail that the person confirmed. It goes out when `recall` has passed; until then, and as long as no
    /// server was reached, undoing `step` takes it back. By the real clock, whatever moment the turn pretends. Bare line
    /// feeds become CRLF, as the protocols want it. Blocks: call it through `ctx.blocking`.
    ///
    /// # Errors
    /// `Tell` for an address or a message that cannot go, and when too many wait; else as [`Step::create`].
    pub fn queue(&self, step: &Step, mail: &Outgoing, recall: Duration) -> Result<Ticket, ToolError> {
        check(mail)?;
        let message = crlf(&mail.message);
        let header = MessageParser::default().parse_headers(&message);
        let header = header.ok_or_else(|| ToolError::broken(WHAT, "it is no message"))?;
        let message_id = header
            .message_id()
            .ok_or_else(|| ToolError::broken(WHAT, "the message has no Message-ID"))?;
        let waiting = self.entries().map_err(|e| ToolError::broken(WHAT, e))?.len();
        if waiting >= MAX_WAITING {
            return Err(ToolError::tell(format!(
                "{waiting} mails wait in the outbox already. See `tiro outbox`."
            )));
        }
        let at = Timestamp::now();
        let ticket = Ticket {
            id: new_id(at, &message),
            account: mail.account.clone(),
            from: mail.from.clone(),
            to: mail.to.clone(),
            message_id: message_id.to_owned(),
            subject: plain::one_line(header.subject().unwrap_or_default(), 80),
            at,
            after: at
                .checked_add(SignedDuration::try_from(recall).unwrap_or(SignedDuration::ZERO))
                .unwrap_or(at),
        };
        let text = serde_json::to_vec(&ticket).map_err(|e| ToolError::broken(WHAT, e))?;
        store::make_folder(&self.folder).map_err(|e| e.tool(WHAT))?;
        let eml = self.message_path(&ticket.id);
        store::create_new(&eml, &message).map_err(|e| e.tool(WHAT))?;
        step.create(&self.path(&ticket.id, State::Queued), &text)
            .map_err(|e| {
                // Without a ticket nothing sends it; should this fail, it is swept.
                let _ = fs::remove_file(&eml);
                e.tool(WHAT)
            })?;
        Ok(ticket)
    }

    /// All mails in it, the oldest first. Tickets that cannot be read are logged and left out.
    ///
    /// # Errors
    /// When the folder cannot be listed.
    pub fn entries(&self) -> Result<Vec<Entry>, OutboxError> {
        let mut found = Vec::new();
        for name in self.names()? {
            let Some((id, state)) = split(&name) else {
                continue;
            };
            match self.ticket(id, state) {
                Ok(ticket) => found.push(Entry {
                    note: self.note(id),
                    ticket,
                    state,
                }),
                // It went a step on meanwhile, or came to its end.
                Err(OutboxError::Store(StoreError::Missing(_))) => {}
                Err(error) => tracing::warn!(%error, "a mail in the outbox was left out"),
            }
        }
        found.sort_by(|a, b| (a.ticket.at, &a.ticket.id).cmp(&(b.ticket.at, &b.ticket.id)));
        // One that moves on while the folder is listed may be seen twice.
        found.dedup_by(|a, b| a.ticket.id == b.ticket.id);
        Ok(found)
    }

    /// What the person should know, as sentences.
    ///
    /// # Errors
    /// When the folder cannot be listed.
    pub fn problems(&self) -> Result<Vec<String>, OutboxError> {
        Ok(self.entries()?.iter().filter_map(Entry::problem).collect())
    }

    /// The message of a mail.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn message(&self, id: &str) -> Result<Vec<u8>, OutboxError> {
        Ok(store::read_bounded(&self.message_path(id), MAX_MESSAGE)?)
    }

    /// Sends it once more: one that was refused, or of which the person says that it did not arrive.
    ///
    /// # Errors
    /// `Unknown`, and what keeps files from being written.
    pub fn retry(&self, id: &str) -> Result<(), OutboxError> {
        self.decide(id, &[State::Failed, State::Unsure, State::Queued], |state| {
            remove(&self.note_path(id))?;
            self.step(id, state, State::Queued)
        })
    }

    /// Takes it out unsent.
    ///
    /// # Errors
    /// `Unknown`, and what keeps files from being written.
    pub fn discard(&self, id: &str) -> Result<(), OutboxError> {
        self.decide(id, &[State::Failed, State::Unsure, State::Queued], |state| {
            self.remove(id, state)
        })
    }

    /// The person says that it arrived.
    ///
    /// # Errors
    /// `Unknown`, and what keeps files from being written.
    pub fn arrived(&self, id: &str) -> Result<(), OutboxError> {
        self.decide(id, &[State::Unsure], |state| self.step(id, state, State::Sent))
    }

    /// The right to send, of which there is one for all processes; nothing when another one has it.
    ///
    /// # Errors
    /// When the folder takes no files.
    pub fn sender(&self) -> Result<Option<Sender<'_>>, OutboxError> {
        store::make_folder(&self.folder)?;
        let path = self.folder.join("lock");
        let lock = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .mode(0o600)
            .open(&path)
            .map_err(|e| StoreError::of(&path, e))?;
        match lock.try_lock() {
            Ok(()) => Ok(Some(Sender {
                outbox: self,
                _lock: lock,
            })),
            Err(fs::TryLockError::WouldBlock) => Ok(None),
            Err(fs::TryLockError::Error(e)) => Err(StoreError::of(&path, e).into()),
        }
    }

    fn decide(
        &self,
        id: &str,
        from: &[State],
        act: impl FnOnce(State) -> Result<(), OutboxError>,
    ) -> Result<(), OutboxError> {
        let unknown = || OutboxError::Unknown { id: id.to_owned() };
        if !is_id(id) {
            return Err(unknown());
        }
        let _turn = Turn::take(&self.state)?;
        let state = from.iter().find(|state| self.path(id, **state).exists());
        act(*state.ok_or_else(unknown)?)
    }

    fn names(&self) -> Result<Vec<String>, OutboxError> {
        let entries = match fs::read_dir(&self.folder) {
            Ok(entries) => entries,
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(e) => return Err(StoreError::of(&self.folder, e).into()),
        };
        Ok(entries
            .flatten()
            .take(MAX_FILES)
            .filter_map(|entry| entry.file_name().into_string().ok())
            .collect())
    }

    fn ticket(&self, id: &str, state: State) -> Result<Ticket, OutboxError> {
        let path = self.path(id, state);
        let bytes = store::read_bounded(&path, MAX_TICKET)?;
        let ticket: Option<Ticket> = serde_json::from_slice(&bytes).ok();
        ticket
            .filter(|ticket| ticket.id == id)
            .ok_or_else(|| OutboxError::Ticket {
                name: format!("{id}.{}", state.word()),
            })
    }

    /// A note that is missing or broken costs nothing but a try that comes earlier.
    fn note(&self, id: &str) -> Note {
        store::read_bounded(&self.note_path(id), MAX_TICKET)
            .ok()
            .and_then(|bytes| serde_json::from_slice(&bytes).ok())
            .unwrap_or_default()
    }

    fn write_note(&self, id: &str, note: &Note) -> Result<(), OutboxError> {
        let text = serde_json::to_vec(note).unwrap_or_default();
        Ok(store::replace(&self.note_path(id), &text)?)
    }

    fn step(&self, id: &str, from: State, to: State) -> Result<(), OutboxError> {
        match from == to {
            true => Ok(()),
            false => Ok(store::rename(&self.path(id, from), &self.path(id, to))?),
        }
    }

    /// The ticket goes first: a message without one is never sent.
    fn remove(&self, id: &str, state: State) -> Result<(), OutboxError> {
        for path in [self.path(id, state), self.message_path(id), self.note_path(id)] {
            remove(&path)?;
        }
        Ok(())
    }

    fn path(&self, id: &str, state: State) -> PathBuf {
        self.folder.join(format!("{id}.{}", state.word()))
    }

    fn message_path(&self, id: &str) -> PathBuf {
        self.folder.join(format!("{id}.eml"))
    }

    fn note_path(&self, id: &str) -> PathBuf {
        self.folder.join(format!("{id}.note"))
    }
}

/// The right to send. Each step is on the disk when it returns.
#[derive(Debug)]
pub struct Sender<'o> {
    outbox: &'o Outbox,
    _lock: File,
}

impl Sender<'_> {
    /// Settles what a killed process left: what had not left this machine is queued again, what may have is unsure.
    ///
    /// # Errors
    /// What keeps files from being read or written.
    pub fn settle(&self, now: Timestamp) -> Result<(), OutboxError> {
        let names = self.outbox.names()?;
        for name in &names {
            match split(name) {
                Some((id, State::Claimed)) => self.outbox.step(id, State::Claimed, State::Queued)?,
                Some((id, State::Handed)) => self.unsure(id, "Tiro was stopped while it was sent.")?,
                _ => {}
            }
        }
        for name in &names {
            let path = self.outbox.folder.join(name);
            // A file that was never finished is nothing but a copy of somebody's mail.
            if store::is_temporary(&path) && is_older(&path, now) {
                remove(&path)?;
            }
            let Some((id, _)) = name
                .rsplit_once('.')
                .filter(|(_, end)| matches!(*end, "eml" | "note"))
            else {
                continue;
            };
            if State::ALL.iter().all(|s| !self.outbox.path(id, *s).exists()) && is_older(&path, now) {
                remove(&path)?;
            }
        }
        Ok(())
    }

    /// Takes a mail that is due away from "undo that". False when it was taken back meanwhile.
    ///
    /// # Errors
    /// What keeps files from being written.
    pub fn claim(&self, id: &str) -> Result<bool, OutboxError> {
        let _turn = Turn::take(&self.outbox.state)?;
        match self.outbox.step(id, State::Queued, State::Claimed) {
            Err(OutboxError::Store(StoreError::Missing(_))) => Ok(false),
            other => other.map(|()| true),
        }
    }

    /// The message is about to be given to the server.
    ///
    /// # Errors
    /// What keeps files from being written; then it must not be given.
    pub fn handing(&self, id: &str) -> Result<(), OutboxError> {
        self.outbox.step(id, State::Claimed, State::Handed)
    }

    /// The server said that it has it, or it was found among the sent mail.
    ///
    /// # Errors
    /// What keeps files from being written.
    pub fn sent(&self, id: &str, from: State) -> Result<(), OutboxError> {
        self.outbox.step(id, from, State::Sent)
    }

    /// It certainly did not go, and may go later; it can be taken back again until then.
    ///
    /// # Errors
    /// What keeps files from being written.
    pub fn later(&self, id: &str, from: State, note: &Note) -> Result<(), OutboxError> {
        self.outbox.write_note(id, note)?;
        self.outbox.step(id, from, State::Queued)
    }

    /// The server refused it for good.
    ///
    /// # Errors
    /// What keeps files from being written.
    pub fn failed(&self, id: &str, from: State, why: &str) -> Result<(), OutboxError> {
        self.end(id, from, State::Failed, why)
    }

    /// Nobody knows whether the server took it.
    ///
    /// # Errors
    /// What keeps files from being written.
    pub fn unsure(&self, id: &str, why: &str) -> Result<(), OutboxError> {
        self.end(id, State::Handed, State::Unsure, why)
    }

    /// It has gone, and its copy is where it belongs: nothing of it stays here.
    ///
    /// # Errors
    /// What keeps files from being written.
    pub fn filed(&self, id: &str) -> Result<(), OutboxError> {
        self.outbox.remove(id, State::Sent)
    }

    fn end(&self, id: &str, from: State, to: State, why: &str) -> Result<(), OutboxError> {
        let note = Note {
            tries: self.outbox.note(id).tries.saturating_add(1),
            next: None,
            why: why.to_owned(),
        };
        self.outbox.write_note(id, &note)?;
        self.outbox.step(id, from, to)
    }
}

/// Why undoing the step that made this file is too late, as a sentence; nothing for a file that is no ticket.
pub fn too_late(state: &Path, path: &Path) -> Option<&'static str> {
    let outbox = Outbox::at(&std::path::absolute(state).ok()?);
    let name = path.file_name()?.to_str()?;
    let (id, _) = split(name).filter(|_| path.parent() == Some(&outbox.folder))?;
    let is = |state: &State| outbox.path(id, *state).exists();
    Some(match State::ALL.iter().find(|state| is(state)) {
        Some(State::Failed) => "It was not sent, and waits in the outbox: see `tiro outbox`.",
        Some(State::Unsure) => "It may have gone out already: see `tiro outbox`.",
        Some(State::Queued | State::Claimed | State::Handed) => "It is on its way already.",
        Some(State::Sent) | None => "It has gone out already.",
    })
}

/// The folder in the one that Tiro keeps for itself.
const FOLDER: &str = "outbox";

fn check(mail: &Outgoing) -> Result<(), ToolError> {
    for address in mail.to.iter().chain([&mail.from]) {
        if !is_address(address) {
            let shown = plain::one_line(address, 80);
            return Err(ToolError::tell(format!("\"{shown}\" is no mail address.")));
        }
    }
    if mail.to.is_empty() {
        return Err(ToolError::tell("The mail has no recipient."));
    }
    if mail.to.len() > MAX_RECIPIENTS {
        return Err(ToolError::tell(format!(
            "The mail has {} recipients; at most {MAX_RECIPIENTS} are possible.",
            mail.to.len()
        )));
    }
    if mail.message.len() as u64 > MAX_MESSAGE / 2 && crlf(&mail.message).len() as u64 > MAX_MESSAGE {
        return Err(ToolError::tell(format!(
            "The mail is too large; at most {} MiB are possible.",
            MAX_MESSAGE >> 20
        )));
    }
    Ok(())
}

/// Whether a bare address can stand in a command to a server: `local@domain`, nothing that ends or splits a line.
pub fn is_address(text: &str) -> bool {
    let Some((local, domain)) = text.rsplit_once('@') else {
        return false;
    };
    let forbidden = |c: char| c.is_control() || c.is_whitespace() || "<>(),;:\"\\[]".contains(c);
    !local.is_empty() && !domain.is_empty() && text.len() <= MAX_ADDRESS && !text.contains(forbidden)
}

/// A message with every line ended by CRLF.
pub fn crlf(message: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(message.len() + message.len() / 32);
    let mut rest = message.iter().copied().peekable();
    while let Some(byte) = rest.next() {
        match byte {
            b'\r' => {
                rest.next_if_eq(&b'\n');
                out.extend_from_slice(b"\r\n");
            }
            b'\n' => out.extend_from_slice(b"\r\n"),
            other => out.push(other),
        }
    }
    if !out.ends_with(b"\r\n") {
        out.extend_from_slice(b"\r\n");
    }
    out
}

/// Sorts by time; two of the same moment differ.
fn new_id(at: Timestamp, message: &[u8]) -> String {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let hash = Sha256::new()
        .chain_update(message)
        .chain_update(at.as_nanosecond().to_le_bytes())
        .chain_update(std::process::id().to_le_bytes())
        .chain_update(count.to_le_bytes())
        .finalize();
    let tail: String = hash.iter().take(4).map(|b| format!("{b:02x}")).collect();
    format!("{}-{tail}", at.as_millisecond())
}

fn is_id(text: &str) -> bool {
    (1..=40).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_hexdigit() || b == b'-')
}

fn split(name: &str) -> Option<(&str, State)> {
    let (id, end) = name.rsplit_once('.')?;
    let state = State::ALL.into_iter().find(|state| state.word() == end)?;
    is_id(id).then_some((id, state))
}

fn remove(path: &Path) -> Result<(), StoreError> {
    kill::point();
    match fs::remove_file(path) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => Err(StoreError::of(path, e)),
        _ => Ok(()),
    }
}

fn is_older(path: &Path, now: Timestamp) -> bool {
    let written = fs::metadata(path).and_then(|meta| meta.modified()).ok();
    let written = written.and_then(|time| Timestamp::try_from(time).ok());
    written.is_some_and(|time| now.duration_since(time) > ORPHAN)
}

#[cfg(test)]
mod tests;
