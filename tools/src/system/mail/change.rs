//! Moving and marking mail. Both are a new name for the message's file, which every program that reads the Maildir sees at
//! once, and which goes through the journal.

use std::path::PathBuf;

use super::{
    folders::{self, Folder, Role},
    index::Entry,
};
use crate::{
    contract::ToolError,
    system::{
        journal::{JournalError, Step},
        store::StoreError,
    },
};

/// Marks a message as read or unread. Says whether it was not so already.
///
/// # Errors
/// `Tell` when another program moved it meanwhile, or the folder takes no writes.
pub fn mark(step: &Step, entry: &Entry, read: bool) -> Result<bool, ToolError> {
    if entry.unread != read {
        return Ok(false);
    }
    let mut flags = entry.flags.replace('S', "");
    if read {
        flags.push('S');
    }
    // Only what nobody has looked at stays in `new`.
    let to = place(&entry.folder, entry, &flags);
    rename(step, entry, to, "mark the mail")?;
    Ok(true)
}

/// Moves a message to the folder of a role in the same account, which is made when there is none.
///
/// # Errors
/// As [`mark`].
pub fn move_to(step: &Step, all: &[Folder], entry: &Entry, role: Role) -> Result<Folder, ToolError> {
    let what = match role {
        Role::Trash => "delete the mail",
        Role::Archive => "archive the mail",
        _ => "move the mail",
    };
    let folder = folders::make(all, &entry.folder, role).map_err(|e| e.tool(what))?;
    // What was marked for deletion elsewhere would be gone at once where programs tidy up.
    let flags = entry.flags.replace('T', "");
    rename(step, entry, place(&folder, entry, &flags), what)?;
    Ok(folder)
}

fn place(folder: &Folder, entry: &Entry, flags: &str) -> PathBuf {
    let name = entry.path.file_name().unwrap_or_default().to_string_lossy();
    folder
        .path
        .join("cur")
        .join(folders::join(&entry.base, flags, &name))
}

fn rename(step: &Step, entry: &Entry, to: PathBuf, what: &str) -> Result<(), ToolError> {
    step.rename(&entry.path, &to).map_err(|error| match error {
        JournalError::Store(StoreError::Changed(_) | StoreError::Missing(_)) => ToolError::tell(format!(
            "I did not {what}: another program moved it meanwhile. Try again."
        )),
        other => other.tool(what),
    })
}
