//! Undoing steps, and settling those that a killed process left open.

use std::{
    fs,
    os::unix::fs::{MetadataExt as _, PermissionsExt as _},
    path::{Path, PathBuf},
    sync::LazyLock,
};

use jiff::{SignedDuration, Timestamp};
use rustix::{
    io::Errno,
    process::{Pid, test_kill_process},
};
use serde::Serialize;

use super::{
    JournalError,
    table::{Change, Content, Head, Move, Table, own_pid},
};
use crate::system::{
    desktop::{Desk, settings::Setting},
    store::{self, MAX_GUARDED, StoreError, Turn},
};

/// On which side of a change the disk is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    /// It was not made.
    Before,
    /// It was made.
    After,
    /// Both sides are the same.
    Either,
    /// Something else changed it since.
    Neither,
}

/// A step that was undone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Undone {
    /// Its number.
    pub id: i64,
    /// When it was done.
    pub at: Timestamp,
    /// The tool that did it.
    pub tool: String,
    /// What it said it did.
    pub say: Option<String>,
    /// Whether that quotes somebody else's words.
    pub others: bool,
    /// The files that are as before now, and the settings.
    pub files: Vec<PathBuf>,
}

/// Undoes a step: looks at every file first, then writes. The caller has the turn.
pub fn undo(table: &mut Table, id: Option<i64>, desk: &Desk) -> Result<Undone, JournalError> {
    let head = table.undoable(id)?.ok_or(JournalError::Nothing)?;
    let what = head.say.clone().unwrap_or_else(|| head.tool.clone());
    if head.beyond {
        // It was only there to be told once.
        let passed = id.is_none();
        if passed {
            table.forget(head.id)?;
        }
        return Err(JournalError::Beyond { what, passed });
    }
    let changes = table.changes(head.id)?.into_iter().map(|(_, change)| change);
    let backwards = inverse(changes.collect());
    for change in &backwards {
        let is_as_left = match side(change, desk) {
            Ok(side) => matches!(side, Side::Before | Side::Either),
            // It was no folder and not as large when Tiro left it.
            Err(JournalError::Store(StoreError::NotAFile(_) | StoreError::TooBig { .. })) => false,
            Err(error) => return Err(error),
        };
        if !is_as_left || !is_what_was_made(change) {
            // Else the same step would be refused for ever, and nothing older could be reached by "undo that".
            let passed = id.is_none();
            if passed {
                table.pass_over(head.id)?;
            }
            return Err(JournalError::Since {
                what,
                path: place(change).to_owned(),
                passed,
            });
        }
    }
    let undoing = table.begin_undo(head.id, &backwards, Timestamp::now())?;
    for change in &backwards {
        if let Err(error) = apply(change, desk) {
            return Err(abandon(table, undoing, &backwards, desk, error));
        }
    }
    table.close_undo(undoing, head.id, &what)?;
    Ok(Undone {
        id: head.id,
        at: head.at,
        tool: head.tool,
        say: head.say,
        others: head.others,
        files: backwards.iter().map(|change| place(change).to_owned()).collect(),
    })
}

/// Puts back what an undo that failed half-way has changed. What cannot be put back stays in the journal as an open
/// step, which the next opening finishes.
fn abandon(
    table: &mut Table,
    undoing: i64,
    changes: &[Change],
    desk: &Desk,
    error: JournalError,
) -> JournalError {
    for change in changes.iter().rev() {
        let Ok(side) = side(change, desk) else {
            return error;
        };
        if side == Side::After && apply(&reversed(change), desk).is_err() {
            return error;
        }
    }
    let withdrawn = table.changes(undoing).and_then(|rows| {
        rows.into_iter().try_for_each(|(row, _)| table.withdraw(row))?;
        table.close(undoing, None)
    });
    if let Err(error) = withdrawn {
        tracing::warn!(%error, "an undo that failed stays in the journal");
    }
    error
}

/// Puts back what an unfinished step has changed, the last first, and strikes it out. The caller has the turn.
pub fn take_back(table: &mut Table, step: i64, desk: &Desk) -> Result<(), JournalError> {
    for (row, change) in table.changes(step)?.into_iter().rev() {
        if matches!(side(&change, desk)?, Side::After | Side::Either) {
            apply(&reversed(&change), desk)?;
            table.withdraw(row)?;
        }
    }
    Ok(())
}

/// Settles steps whose process is gone. A write that did not happen is struck out; one that did stands and can be
/// undone. An undo is finished. What cannot be settled is left to the next opening, because one file that cannot be read
/// must not keep the person from all others.
pub fn settle(table: &mut Table, state: &Path, desk: &Desk) -> rusqlite::Result<()> {
    let gone = |table: &mut Table| -> rusqlite::Result<Vec<Head>> {
        Ok(table
            .open_steps()?
            .into_iter()
            .filter(|head| !is_alive(head))
            .collect())
    };
    if gone(table)?.is_empty() {
        return Ok(());
    }
    let _turn = match Turn::take(state) {
        Ok(turn) => turn,
        Err(error) => {
            tracing::warn!(%error, "steps stay open in the journal");
            return Ok(());
        }
    };
    // Read again, because another process may have settled them while we waited.
    for head in gone(table)? {
        let step = head.id;
        if let Err(error) = settle_one(table, head, desk) {
            tracing::warn!(step, %error, "a step stays open in the journal");
        }
    }
    Ok(())
}

fn settle_one(table: &mut Table, head: Head, desk: &Desk) -> Result<(), JournalError> {
    let changes = table.changes(head.id)?;
    sweep(&changes);
    match head.undoes {
        Some(undone) => {
            for (row, change) in changes {
                match side(&change, desk)? {
                    Side::Before => apply(&change, desk)?,
                    Side::After | Side::Either => discard_temporary(&change)?,
                    // Something else wrote there since; its version stays.
                    Side::Neither => table.withdraw(row)?,
                }
            }
            let what = head.say.unwrap_or(head.tool);
            table.close_undo(head.id, undone, &what)?;
        }
        None => {
            // Writes come one after the other, so only the last can be missing.
            // A setting that was not made yet is undone by setting what is there; the desktop need not be asked.
            if let Some((row, last)) = changes.last()
                && setting(last).is_none()
                && (side(last, desk)? == Side::Before || !is_begun(last))
            {
                discard_temporary(&reversed(last))?;
                table.withdraw(*row)?;
            }
            table.close(head.id, None)?;
        }
    }
    Ok(())
}

/// Makes a change if the file is as it was before.
pub fn apply(change: &Change, desk: &Desk) -> Result<(), JournalError> {
    let change = match change {
        Change::Content(content) => content,
        Change::Move(Move { from, to, .. }) => {
            if let Some(folder) = to.parent() {
                store::make_folder(folder)?;
            }
            store::rename_new(from, to)?;
            return discard_temporary(change);
        }
    };
    let path = &change.path;
    if let (Some(setting), Some(value)) = (Setting::of(path), &change.after) {
        return Ok(setting.write_now(desk, &String::from_utf8_lossy(value))?);
    }
    match (&change.before, &change.after) {
        (None, Some(after)) => {
            if let Some(folder) = path.parent() {
                store::make_folder(folder)?;
            }
            store::create_new(path, after)?;
            if let Some(mode) = change.mode {
                let mode = fs::Permissions::from_mode(mode);
                fs::set_permissions(path, mode).map_err(|e| StoreError::of(path, e))?;
            }
        }
        (Some(before), Some(after)) => store::replace_known(path, before, after)?,
        (Some(before), None) => store::remove_known(path, before)?,
        (None, None) => {}
    }
    Ok(())
}

/// The setting of the desktop that a change is about, if it is no file.
fn setting(change: &Change) -> Option<Setting> {
    match change {
        Change::Content(content) => Setting::of(&content.path),
        Change::Move(_) => None,
    }
}

/// Whether a thing that was made for its place is there at all, under either of its names.
fn is_begun(change: &Change) -> bool {
    match change {
        Change::Content(_) => true,
        Change::Move(Move { from, to, .. }) => exists(from) || exists(to),
    }
}

/// Removes for good what has gone back to the temporary name under which it was made.
fn discard_temporary(change: &Change) -> Result<(), JournalError> {
    if let Change::Move(Move { to, .. }) = change
        && store::is_temporary(to)
    {
        store::discard(to)?;
    }
    Ok(())
}

/// Whether what is to be removed is still what was made.
fn is_what_was_made(change: &Change) -> bool {
    match change {
        Change::Move(Move { from, to, mark }) if store::is_temporary(to) => {
            mark.is_some() && store::mark_of(from).ok() == *mark
        }
        _ => true,
    }
}

fn side(change: &Change, desk: &Desk) -> Result<Side, JournalError> {
    let (before, after) = match change {
        Change::Content(Content {
            path, before, after, ..
        }) => {
            let now = current(path, desk)?;
            (is_same(path, &now, before), is_same(path, &now, after))
        }
        Change::Move(Move { from, to, .. }) => {
            let (from, to) = (exists(from), exists(to));
            (from && !to, to && !from)
        }
    };
    Ok(match (before, after) {
        (true, false) => Side::Before,
        (false, true) => Side::After,
        (true, true) => Side::Either,
        (false, false) => Side::Neither,
    })
}

/// Where the person sees the change: never under a temporary name.
fn place(change: &Change) -> &Path {
    match change {
        Change::Content(content) => &content.path,
        Change::Move(Move { from, to, .. }) if store::is_temporary(to) => from,
        Change::Move(Move { to, .. }) => to,
    }
}

fn exists(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok()
}

/// The permissions of a file that is there.
pub fn mode(path: &Path) -> Option<u32> {
    let meta = fs::symlink_metadata(path).ok()?;
    meta.is_file().then(|| meta.mode() & 0o777)
}

/// What undoes these changes: the last first, and several changes of one file as one.
fn inverse(changes: Vec<Change>) -> Vec<Change> {
    let mut backwards: Vec<Change> = Vec::new();
    for change in changes.into_iter().rev() {
        let reversed = reversed(&change);
        if let Change::Content(new) = &reversed
            && let Some(known) = backwards.iter_mut().find_map(|known| match known {
                Change::Content(known) if known.path == new.path => Some(known),
                _ => None,
            })
        {
            known.after = new.after.clone();
            known.mode = new.mode;
            continue;
        }
        backwards.push(reversed);
    }
    backwards
}

fn reversed(change: &Change) -> Change {
    match change {
        Change::Content(content) => Change::Content(Content {
            path: content.path.clone(),
            before: content.after.clone(),
            after: content.before.clone(),
            mode: content.mode,
        }),
        Change::Move(Move { from, to, mark }) => Change::Move(Move {
            from: to.clone(),
            to: from.clone(),
            mark: mark.clone(),
        }),
    }
}

fn current(path: &Path, desk: &Desk) -> Result<Option<Vec<u8>>, JournalError> {
    if let Some(setting) = Setting::of(path) {
        return Ok(Some(setting.read_now(desk)?.into_bytes()));
    }
    match store::read_bounded(path, MAX_GUARDED) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(StoreError::Missing(_)) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Whether this is what was left there; settings are rounded by what has them.
fn is_same(path: &Path, now: &Option<Vec<u8>>, left: &Option<Vec<u8>>) -> bool {
    match (Setting::of(path), now, left) {
        (Some(setting), Some(now), Some(left)) => {
            setting.same(&String::from_utf8_lossy(now), &String::from_utf8_lossy(left))
        }
        _ => now == left,
    }
}

/// When this process first had a journal.
static STARTED: LazyLock<i64> = LazyLock::new(|| Timestamp::now().as_millisecond());

/// Remembers that steps of this process begin from now on.
pub fn note_start() {
    LazyLock::force(&STARTED);
}

/// Whether the step's process may still write. Numbers of processes are given anew, so the time is looked at as well:
/// ours cannot have begun before we did, and no tool runs for an hour.
fn is_alive(head: &Head) -> bool {
    if head.owner == own_pid() {
        return head.at.as_millisecond() >= *STARTED;
    }
    let old = Timestamp::now().duration_since(head.at) > SignedDuration::from_hours(1);
    let pid = i32::try_from(head.owner).ok().and_then(Pid::from_raw);
    !old && pid.is_some_and(|pid| test_kill_process(pid) != Err(Errno::SRCH))
}

/// Removes temporary files that a kill left beside these. One that holds anything else than what was to be written
/// or replaced may be another program's work, and stays.
fn sweep(changes: &[(i64, Change)]) {
    let contents = || {
        changes.iter().filter_map(|(_, change)| match change {
            Change::Content(content) if Setting::of(&content.path).is_none() => Some(content),
            _ => None,
        })
    };
    let mut folders: Vec<&Path> = contents().filter_map(|c| c.path.parent()).collect();
    folders.sort();
    folders.dedup();
    let known = |bytes: &[u8]| {
        let sides = contents().flat_map(|c| [c.before.as_deref(), c.after.as_deref()]);
        sides.flatten().any(|side| side.starts_with(bytes))
    };
    for folder in folders {
        if let Err(error) = store::sweep(folder, known) {
            tracing::warn!(%error, "temporary files stay");
        }
    }
}
