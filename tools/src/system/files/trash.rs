//! The trash of the desktop (freedesktop.org, Trash specification 1.0): every file manager shows and restores what is
//! in it. It is written here and not by the `trash` crate, because that reads its place from the environment only, does
//! not say where it put a file, and so could not be journalled before it acts.

use std::{
    fs,
    io::ErrorKind,
    os::unix::{
        ffi::OsStrExt as _,
        fs::{DirBuilderExt as _, MetadataExt as _},
    },
    path::{Path, PathBuf},
};

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_encode};

use super::change::told;
use crate::{
    contract::{Ctx, ToolError},
    system::{
        journal::JournalError,
        store::{self, StoreError},
    },
};

/// What stands as it is in the path of a trashed file (RFC 2396, as the specification says).
const KEPT: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'/')
    .remove(b'-')
    .remove(b'_')
    .remove(b'.')
    .remove(b'~');
/// Names that are tried for a file that has the name of one in the trash.
const MAX_NUMBER: usize = 10_000;

/// Moves a file or folder to the trash, with the note that says where it was. Undoing brings it back.
///
/// # Errors
/// `Tell` for what is gone, for a disk that takes no trash, and what the disk says.
pub fn put(ctx: &Ctx, path: &Path) -> Result<(), ToolError> {
    if cfg!(target_os = "macos") {
        let name = path.file_name().unwrap_or_default();
        let to = super::change::free(&ctx.dirs.trash, name)?;
        return ctx
            .step
            .rename(path, &to)
            .map_err(|e| told(e, "move that to the trash"));
    }
    let fail = |error: JournalError| told(error, "move that to the trash");
    let (trash, shown) = of(ctx, path)?;
    let when = ctx.now.strftime("%Y-%m-%dT%H:%M:%S");
    let encoded = percent_encode(shown.as_os_str().as_bytes(), KEPT);
    let note = format!("[Trash Info]\nPath={encoded}\nDeletionDate={when}\n");
    let own = path.file_name().unwrap_or_default();
    for number in 1..=MAX_NUMBER {
        let mut name = own.to_owned();
        if number > 1 {
            name.push(format!(".{number}"));
        }
        if trash.join("files").join(&name).symlink_metadata().is_ok() {
            continue;
        }
        let mut info = name.clone();
        info.push(".trashinfo");
        // The note comes first: whoever has it has the name.
        match ctx.step.create(&trash.join("info").join(info), note.as_bytes()) {
            Err(JournalError::Store(StoreError::Exists(_))) => continue,
            other => other.map_err(fail)?,
        }
        return ctx
            .step
            .rename(path, &trash.join("files").join(name))
            .map_err(fail);
    }
    Err(ToolError::tell(
        "The trash is full of files of that name. Empty it first.",
    ))
}

/// The trash that a file goes to, and its path as that trash names it: absolute in the person's own, and from the top
/// of its disk in the one that a disk has for each of its users.
fn of(ctx: &Ctx, path: &Path) -> Result<(PathBuf, PathBuf), ToolError> {
    let fail = |path: &Path, e| StoreError::of(path, e).tool("move that to the trash");
    let own = &ctx.dirs.trash;
    store::make_folder(own).map_err(|e| e.tool("move that to the trash"))?;
    let device = |path: &Path| path.symlink_metadata().map(|meta| meta.dev());
    let disk = device(path).map_err(|e| match e.kind() {
        ErrorKind::NotFound => ToolError::tell("That is gone already."),
        _ => fail(path, e),
    })?;
    if disk == device(own).map_err(|e| fail(own, e))? {
        return Ok((own.clone(), path.to_owned()));
    }
    let same = |folder: &&Path| device(folder).is_ok_and(|other| other == disk);
    let top = path
        .ancestors()
        .skip(1)
        .take_while(same)
        .last()
        .ok_or_else(|| ToolError::tell("That disk has no trash, so I left it where it is."))?;
    let uid = rustix::process::getuid().as_raw();
    let trash = top.join(format!(".Trash-{uid}"));
    match fs::DirBuilder::new().mode(0o700).create(&trash) {
        Err(e) if e.kind() != ErrorKind::AlreadyExists => {
            return Err(ToolError::tell(
                "That disk has no trash, so I left it where it is.",
            ));
        }
        _ => {}
    }
    // A link could lead what is trashed to somebody else.
    let meta = trash.symlink_metadata().map_err(|e| fail(&trash, e))?;
    if !meta.is_dir() || meta.uid() != uid {
        return Err(ToolError::tell(
            "The trash of that disk is not yours, so I left it where it is.",
        ));
    }
    let shown = path.strip_prefix(top).unwrap_or(path).to_owned();
    Ok((trash, shown))
}
