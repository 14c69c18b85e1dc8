//! Opening files and addresses with the program that the person chose for them.

use std::{os::unix::ffi::OsStrExt as _, path::Path};

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_encode};

use super::apps::{self, App};
use crate::contract::{Ctx, Reach, ToolError};

/// What stands as it is in the path of a `file:` address.
const KEPT: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'/')
    .remove(b'-')
    .remove(b'_')
    .remove(b'.')
    .remove(b'~');

/// Programs that do it, the usual one first, with what stands before the file or address.
const OPENERS: [&[&str]; 3] = [&["xdg-open"], &["gio", "open"], &["exo-open"]];

/// Opens it and leaves it alone. `called` is what it is called, for the person.
///
/// # Errors
/// `Tell` when nothing here opens files, or that fails at once.
pub async fn open(ctx: &Ctx, target: &str, called: &str) -> Result<(), ToolError> {
    let mut command = command(&ctx.reach).ok_or_else(|| {
        ToolError::tell(
            "Nothing here opens files with their programs: install xdg-utils, or set applications.opener.",
        )
    })?;
    command.push(target.to_owned());
    let app = App {
        name: called.to_owned(),
        command,
        ..App::default()
    };
    apps::launch(&ctx.desk, &app).await
}

/// A file or folder as it is given to the opener: its path, or its `file:` address where the path is no UTF-8.
pub fn target(path: &Path) -> String {
    path.to_str().map_or_else(|| uri(path), str::to_owned)
}

/// The `file:` address of a path (RFC 8089).
pub fn uri(path: &Path) -> String {
    format!("file://{}", percent_encode(path.as_os_str().as_bytes(), KEPT))
}

/// A command of the config in its words; nothing for one whose quotes do not match.
pub fn words(command: &str) -> Option<Vec<String>> {
    shell_words::split(command).ok()
}

fn command(reach: &Reach) -> Option<Vec<String>> {
    if !reach.opener.is_empty() {
        return Some(reach.opener.clone());
    }
    if cfg!(target_os = "macos") {
        return Some(vec!["/usr/bin/open".to_owned()]);
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let there = |program: &str| apps::runnable(program, &path);
    let found = OPENERS.iter().find(|command| there(command[0]));
    found.map(|command| command.iter().map(|&part| part.to_owned()).collect())
}

/// Whether there is a program that opens things, for `tiro doctor`.
pub fn program(reach: &Reach) -> Option<String> {
    command(reach).map(|command| command.join(" "))
}
