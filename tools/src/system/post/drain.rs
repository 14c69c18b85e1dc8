//! Emptying the outbox: each mail that is due goes to its server, once, and a copy of it to the sent mail.

use std::{path::PathBuf, time::Duration};

use futures_util::future::BoxFuture;
use jiff::{SignedDuration, Timestamp};

use super::{Delivery, Stop, Watch, maildir, smtp::Handing};
use crate::system::mail::outbox::{Entry, Note, Outbox, OutboxError, Sender, State, Ticket};

/// After so long a mail that could not be sent waits for the person.
const GIVE_UP: SignedDuration = SignedDuration::from_hours(48);
/// How long each try waits after the one before.
const PAUSES: [Duration; 5] = [
    Duration::from_secs(60),
    Duration::from_secs(2 * 60),
    Duration::from_secs(5 * 60),
    Duration::from_secs(15 * 60),
    Duration::from_secs(30 * 60),
];

/// An account that sends.
#[derive(Debug, Clone)]
pub struct Account {
    /// Its name.
    pub name: String,
    /// Its Maildir; the copy goes below it.
    pub maildir: PathBuf,
    /// Whether there is to be a copy.
    pub save_sent: bool,
}

/// Gives a message to the server of its account.
pub trait Deliver: Send + Sync {
    /// Says what became of it. `handing` is called right before the message is given.
    ///
    /// # Errors
    /// What `handing` says; then the message was not given.
    fn deliver<'d>(
        &'d self,
        ticket: &'d Ticket,
        message: &'d [u8],
        handing: Handing<'d>,
    ) -> BoxFuture<'d, Result<Delivery, OutboxError>>;
}

/// What was done.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Drained {
    /// Mails that went.
    pub sent: usize,
    /// Mails that wait for another try.
    pub later: usize,
    /// Mails that wait for the person.
    pub stuck: usize,
}

/// Sends what is due now; with `force` also what is to be tried later. The recall delay always holds. Nothing happens
/// while another process does the same.
///
/// # Errors
/// When the outbox cannot be read or written, and when `watch` stops it.
pub async fn drain(
    outbox: &Outbox,
    accounts: &[Account],
    server: &dyn Deliver,
    force: bool,
    watch: Watch<'_>,
) -> Result<Drained, DrainError> {
    let mut drained = Drained::default();
    let Some(sender) = outbox.sender()? else {
        return Ok(drained);
    };
    sender.settle(Timestamp::now())?;
    for entry in outbox.entries()? {
        let account = accounts.iter().find(|a| a.name == entry.ticket.account);
        match (entry.state, account) {
            (State::Sent, account) => {
                watch()?;
                file(outbox, &sender, &entry.ticket, account)?;
            }
            (State::Queued, Some(account)) if is_due(&entry, Timestamp::now(), force) => {
                watch()?;
                one(outbox, &sender, &entry, account, server, watch, &mut drained).await?;
            }
            (State::Queued, None) if is_due(&entry, Timestamp::now(), force) => {
                watch()?;
                let (id, account) = (&entry.ticket.id, &entry.ticket.account);
                let note = Note {
                    why: format!("There is no account \"{account}\" that sends."),
                    ..next_try(&entry)
                };
                if sender.claim(id)? {
                    sender.later(id, State::Claimed, &note)?;
                    drained.later += 1;
                }
            }
            _ => {}
        }
    }
    Ok(drained)
}

/// What was unsure and is among the server's sent mail has gone; its copy is there already. Nothing happens while another
/// process sends.
///
/// # Errors
/// When the outbox cannot be read or written.
pub fn settle_arrived(outbox: &Outbox, message_ids: &[String]) -> Result<(), OutboxError> {
    let Some(sender) = outbox.sender()? else {
        return Ok(());
    };
    for entry in outbox.entries()? {
        let (state, ticket) = (entry.state, entry.ticket);
        if state == State::Unsure && message_ids.contains(&ticket.message_id) {
            sender.sent(&ticket.id, state)?;
            sender.filed(&ticket.id)?;
        }
    }
    Ok(())
}

/// The moment at which the next mail is due, if one waits.
pub fn next_due(entries: &[Entry]) -> Option<Timestamp> {
    let queued = entries.iter().filter(|entry| entry.state == State::Queued);
    queued.map(due).min()
}

/// Why the outbox was not emptied.
#[derive(Debug, thiserror::Error)]
pub enum DrainError {
    /// The disk.
    #[error(transparent)]
    Outbox(#[from] OutboxError),
    /// It was told to stop.
    #[error(transparent)]
    Stopped(#[from] Stop),
}

async fn one(
    outbox: &Outbox,
    sender: &Sender<'_>,
    entry: &Entry,
    account: &Account,
    server: &dyn Deliver,
    watch: Watch<'_>,
    drained: &mut Drained,
) -> Result<(), DrainError> {
    let (ticket, id) = (&entry.ticket, entry.ticket.id.as_str());
    if !sender.claim(id)? {
        return Ok(());
    }
    watch()?;
    let message = match outbox.message(id) {
        Ok(message) => message,
        Err(error) => {
            sender.failed(
                id,
                State::Claimed,
                &format!("Its message cannot be read: {error}."),
            )?;
            drained.stuck += 1;
            return Ok(());
        }
    };
    let mut state = State::Claimed;
    let mut stopped = None;
    let mut handing = || {
        // Stopped at this step, the message must not go; the error says so to whoever would send it.
        if let Err(stop) = watch() {
            stopped = Some(stop);
            return Err(OutboxError::Unknown { id: id.to_owned() });
        }
        sender.handing(id)?;
        state = State::Handed;
        Ok(())
    };
    let delivered = server.deliver(ticket, &message, &mut handing).await;
    if let Some(stop) = stopped {
        return Err(stop.into());
    }
    // What became of it is written down whatever else is to end now.
    match delivered? {
        Delivery::Sent => {
            sender.sent(id, state)?;
            drained.sent += 1;
            watch()?;
            file(outbox, sender, ticket, Some(account))?;
        }
        Delivery::Later(why) if Timestamp::now().duration_since(ticket.at) > GIVE_UP => {
            sender.failed(id, state, &format!("It was tried for two days. {why}"))?;
            drained.stuck += 1;
        }
        Delivery::Later(why) => {
            let note = Note {
                why,
                ..next_try(entry)
            };
            sender.later(id, state, &note)?;
            drained.later += 1;
        }
        Delivery::Refused(why) => {
            sender.failed(id, state, &why)?;
            drained.stuck += 1;
        }
        Delivery::Unsure(why) => {
            sender.unsure(id, &why)?;
            drained.stuck += 1;
        }
    }
    Ok(())
}

/// Puts the copy among the sent mail, once, and forgets the mail. A copy that cannot be written keeps it, so that the
/// next run tries again.
fn file(
    outbox: &Outbox,
    sender: &Sender<'_>,
    ticket: &Ticket,
    account: Option<&Account>,
) -> Result<(), DrainError> {
    if let Some(account) = account.filter(|account| account.save_sent) {
        let message = outbox.message(&ticket.id)?;
        let base = format!("{}.tiro-{}", ticket.at.as_second(), ticket.id);
        maildir::put_once(&account.maildir.join(".Sent"), &base, "S", &message, None)
            .map_err(OutboxError::Store)?;
    }
    Ok(sender.filed(&ticket.id)?)
}

/// One try more, and when the next one is.
fn next_try(entry: &Entry) -> Note {
    let tries = entry.note.tries.saturating_add(1);
    let pause = PAUSES[(tries as usize - 1).min(PAUSES.len() - 1)];
    Note {
        tries,
        next: Timestamp::now().checked_add(pause).ok(),
        why: String::new(),
    }
}

fn is_due(entry: &Entry, now: Timestamp, force: bool) -> bool {
    now >= entry.ticket.after && (force || due(entry) <= now)
}

fn due(entry: &Entry) -> Timestamp {
    entry
        .note
        .next
        .map_or(entry.ticket.after, |next| next.max(entry.ticket.after))
}
