//! The person's mail: Maildirs, the embedded default and mirrors of accounts on servers. Tools read and change these and
//! never talk to a server.
//!
//! `folders` says which Maildirs there are, `message` reads one message, `text` makes words of it, `index` finds messages
//! without opening them, `choose` finds the one that somebody means, `change` moves and marks, `compose` writes.

pub mod outbox;
mod folders;
mod text;
mod uuencode;
mod charset;
mod mend;
mod message;
mod index;
mod choose;
mod change;
mod compose;

pub use change::{mark, move_to};
pub use choose::{
    Asked, Need, PATIENCE, about, choose, elsewhere, focus, has_written, named as called, show, span, who,
};
pub use compose::{Draft, Sender, draft, forward, recipients, reply, send, sender, sender_of, words};
pub use folders::{Folder, Role, folders, named};
pub use index::{Depth, Entry, Found, Index, Query, Who, writers};
pub use message::{Attachment, Head, Letter, MAX_MESSAGE, MAX_TEXT, Person, Refused};
pub use text::{Folded, aloud, fold, part};

/// The beginning of a text, at most so many bytes, cut between characters.
fn cut(text: &str, bytes: usize) -> &str {
    crate::discover::words::clip(text, bytes)
}

#[cfg(test)]
mod tests;
