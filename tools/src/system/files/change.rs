//! Changes to files and folders: made, copied, moved, renamed. Nothing is overwritten, nothing is left half done, and
//! all of it is a step of the journal.

use std::{
    ffi::OsString,
    fs::{self, File, OpenOptions},
    io::{self, Read as _, Write as _},
    os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use rustix::fs::{Mode, OFlags};

use super::{Item, Root, secret, trash};
use crate::{
    contract::{Ctx, ToolError},
    system::{journal::JournalError, plain, store::StoreError},
};

/// Most files and folders that are copied at once.
const MAX_COPIED: usize = 50_000;
/// Longest name, in bytes; that of every common file system.
const MAX_NAME: usize = 255;
/// Numbers that are tried for a name that is taken.
const MAX_NUMBER: usize = 99;
/// How long one copy may take. The journal takes a step that is older than an hour for one that nobody works on.
const LONGEST: Duration = Duration::from_secs(30 * 60);
/// What is copied between two looks at whether it is still wanted, in bytes.
const PIECE: u64 = 1 << 20;
/// As much as a file or folder counts for besides its bytes, when it is told how far a copy is.
const PER_ENTRY: u64 = 64 << 10;

/// A name that a new or renamed file or folder may have.
///
/// # Errors
/// `Tell` for what is none, and for what would be hidden or taken for a secret.
pub fn name(said: &str) -> Result<String, ToolError> {
    let name = plain::one_line(said, MAX_NAME)
        .replace(" dot ", ".")
        .trim_matches(['.', ' '])
        .to_owned();
    if name.is_empty() {
        return Err(ToolError::tell("What shall it be called?"));
    }
    if name.len() > MAX_NAME || name.contains(['/', '\0', '\\']) {
        return Err(ToolError::tell(format!(
            "\"{}\" cannot be a name: it is too long or has a slash in it.",
            plain::one_line(&name, 60)
        )));
    }
    if secret::is_secret(Path::new(&name)) {
        return Err(ToolError::tell(format!(
            "Something called \"{}\" would be hidden from me afterwards. Choose another name.",
            plain::one_line(&name, 60)
        )));
    }
    Ok(name)
}

/// Where a file or folder goes: its own name in that folder, or that with a number where the name is taken.
///
/// # Errors
/// `Tell` when a hundred of that name are there.
pub fn free(folder: &Path, name: &std::ffi::OsStr) -> Result<PathBuf, ToolError> {
    let taken = |path: &Path| path.symlink_metadata().is_ok();
    let first = folder.join(name);
    if !taken(&first) {
        return Ok(first);
    }
    let (stem, ending) = (first.file_stem().unwrap_or(name), first.extension());
    for number in 2..=MAX_NUMBER {
        let mut next = OsString::from(stem);
        next.push(format!(" ({number})"));
        if let Some(ending) = ending {
            next.push(".");
            next.push(ending);
        }
        let path = folder.join(next);
        if !taken(&path) {
            return Ok(path);
        }
    }
    Err(ToolError::tell("There are too many of that name already."))
}

/// Makes an empty folder.
///
/// # Errors
/// As [`journal::Step::place`](crate::system::journal::Step::place), as a tool's error.
pub fn make_folder(ctx: &Ctx, path: &Path) -> Result<(), ToolError> {
    let made = ctx.step.place(path, |temporary| {
        // Open to whoever the person's mask lets in, as every program makes folders here.
        fs::DirBuilder::new()
            .mode(0o777)
            .create(temporary)
            .map_err(|e| StoreError::of(temporary, e))
    });
    made.map_err(|e| told(e, "make the folder"))
}

/// What a file or folder comes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Amount {
    /// Files and folders in it, itself among them.
    pub entries: usize,
    /// Bytes of all files together.
    pub bytes: u64,
}

/// How much there is to copy.
///
/// # Errors
/// `Tell` when it is too much, or something of it cannot be read.
pub fn amount(path: &Path) -> Result<Amount, ToolError> {
    let fail = |path: &Path, e| StoreError::of(path, e).tool("copy that");
    let mut amount = Amount::default();
    let mut pending = vec![path.to_owned()];
    while let Some(path) = pending.pop() {
        amount.entries += 1;
        if amount.entries > MAX_COPIED {
            return Err(ToolError::tell(format!(
                "That holds more than {MAX_COPIED} files, which is too much for me at once."
            )));
        }
        let meta = path.symlink_metadata().map_err(|e| fail(&path, e))?;
        if meta.is_dir() {
            for entry in path.read_dir().map_err(|e| fail(&path, e))? {
                pending.push(entry.map_err(|e| fail(&path, e))?.path());
            }
        } else {
            amount.bytes = amount
                .bytes
                .saturating_add(if meta.is_file() { meta.len() } else { 0 });
        }
    }
    Ok(amount)
}

/// Copies a file or folder to a path that is free, and tells how far it is. When nobody wants it any more it stops, and then
/// nothing is left of it.
///
/// # Errors
/// `Tell` when there is no room, it is too much, or it is no longer wanted; else what the disk says.
pub fn copy(ctx: &Ctx, from: &Path, to: &Path) -> Result<Amount, ToolError> {
    let progress = &ctx.progress;
    let amount = amount(from)?;
    let folder = to.parent().unwrap_or(Path::new("/"));
    if to.starts_with(from) {
        return Err(ToolError::tell("A folder cannot be copied into itself."));
    }
    if let Ok(disk) = rustix::fs::statvfs(folder)
        && disk.f_bavail.saturating_mul(disk.f_frsize) < amount.bytes
    {
        return Err(ToolError::tell(format!(
            "There is not enough room: that needs {}.",
            super::size(amount.bytes)
        )));
    }
    let started = Instant::now();
    let mut done = Amount::default();
    // A small file takes its time, too: it has to reach the disk before the next one begins.
    let weight = |amount: &Amount| amount.bytes + amount.entries as u64 * PER_ENTRY;
    let copied = ctx.step.place(to, |temporary| {
        tree(from, temporary, &mut |bytes| {
            done.bytes += bytes;
            done.entries += usize::from(bytes == 0);
            progress.tell(weight(&done), weight(&amount));
            match !progress.is_wanted() || started.elapsed() > LONGEST {
                true => Err(io::Error::from(io::ErrorKind::Interrupted)),
                false => Ok(()),
            }
        })
    });
    match copied {
        Err(_) if !progress.is_wanted() => {
            progress.abandon();
            Err(ToolError::tell("I stopped, and nothing was copied."))
        }
        Err(_) if started.elapsed() > LONGEST => Err(ToolError::tell(
            "That takes longer than half an hour, so I stopped, and nothing was copied.",
        )),
        other => other.map(|()| amount).map_err(|e| told(e, "copy that")),
    }
}

/// Moves a file or folder to a path that is free, also to another disk: then it is copied, and the original goes to the
/// trash.
///
/// # Errors
/// As [`copy`]; a step that fails half-way is taken back by whoever runs it.
pub fn relocate(ctx: &Ctx, from: &Path, to: &Path) -> Result<(), ToolError> {
    if to.starts_with(from) {
        return Err(ToolError::tell("A folder cannot be moved into itself."));
    }
    let device = |path: &Path| path.symlink_metadata().map(|meta| meta.dev());
    let folder = to.parent().unwrap_or(Path::new("/"));
    if matches!((device(from), device(folder)), (Ok(a), Ok(b)) if a != b) {
        copy(ctx, from, to)?;
        return trash::put(ctx, from);
    }
    ctx.step.rename(from, to).map_err(|e| told(e, "move that"))
}

/// Copies what is at a path: files with their times and permissions, links as links, and nothing of what is neither.
fn tree(from: &Path, to: &Path, tick: &mut impl FnMut(u64) -> io::Result<()>) -> Result<(), StoreError> {
    let mut pending = vec![(from.to_owned(), to.to_owned())];
    // Times and permissions of folders come last: writing into one changes the first and may need the second.
    let mut folders = Vec::new();
    while let Some((from, to)) = pending.pop() {
        tick(0).map_err(|e| StoreError::of(&from, e))?;
        let meta = from.symlink_metadata().map_err(|e| StoreError::of(&from, e))?;
        let fail = |e| StoreError::of(&to, e);
        if meta.is_dir() {
            fs::DirBuilder::new().mode(0o700).create(&to).map_err(fail)?;
            for entry in from.read_dir().map_err(|e| StoreError::of(&from, e))? {
                let name = entry.map_err(|e| StoreError::of(&from, e))?.file_name();
                pending.push((from.join(&name), to.join(name)));
            }
            folders.push((to, meta));
        } else if meta.is_symlink() {
            let target = fs::read_link(&from).map_err(|e| StoreError::of(&from, e))?;
            std::os::unix::fs::symlink(target, &to).map_err(fail)?;
        } else if meta.is_file() {
            file(&from, &to, &meta, tick)?;
        }
    }
    for (folder, meta) in folders.into_iter().rev() {
        let fail = |e| StoreError::of(&folder, e);
        fs::set_permissions(&folder, meta.permissions()).map_err(fail)?;
        File::open(&folder).and_then(|f| f.sync_all()).map_err(fail)?;
    }
    Ok(())
}

fn file(
    from: &Path,
    to: &Path,
    meta: &fs::Metadata,
    tick: &mut impl FnMut(u64) -> io::Result<()>,
) -> Result<(), StoreError> {
    let fail_from = |e| StoreError::of(from, e);
    let fail = |e| StoreError::of(to, e);
    // What was a file may be a pipe by now, and then opening it would wait.
    let careful = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let source = rustix::fs::open(from, careful, Mode::empty()).map_err(|e| fail_from(e.into()))?;
    let source = File::from(source);
    if !source.metadata().map_err(fail_from)?.is_file() {
        return Err(StoreError::NotAFile(from.to_owned()));
    }
    let mut target = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(to)
        .map_err(fail)?;
    loop {
        let copied = io::copy(&mut (&source).take(PIECE), &mut target).map_err(fail)?;
        if copied == 0 {
            break;
        }
        tick(copied).map_err(fail_from)?;
    }
    target.flush().map_err(fail)?;
    target.set_permissions(meta.permissions()).map_err(fail)?;
    if let Ok(modified) = meta.modified() {
        target.set_modified(modified).map_err(fail)?;
    }
    target.sync_all().map_err(fail)
}

/// The folder that an item is in, which is the root for what lies directly in it.
///
/// # Errors
/// `Tell` for a root: the folders that the person allowed stay where they are.
pub fn home_of(item: &Item) -> Result<PathBuf, ToolError> {
    let path = item.path();
    match path.parent() {
        Some(parent) if !item.below.as_os_str().is_empty() => Ok(parent.to_owned()),
        _ => Err(ToolError::tell(format!(
            "{} is one of the folders that I work in, so it stays as it is.",
            plain::one_line(&item.name, 80)
        ))),
    }
}

/// A path as people say it, for a place that an item goes to.
pub fn spoken(roots: &[Root], path: &Path) -> String {
    let root = roots.iter().find(|root| path.starts_with(&root.path));
    let label = match root {
        Some(root) => match path.strip_prefix(&root.path) {
            Ok(below) if below.as_os_str().is_empty() => root.name.clone(),
            Ok(below) => format!("{}/{}", root.name, below.display()),
            Err(_) => path.display().to_string(),
        },
        None => path.display().to_string(),
    };
    plain::one_line(&label, 200)
}

/// What went wrong with a step, for the person: that a name is taken or a file is gone is nothing for a log.
pub fn told(error: JournalError, what: &str) -> ToolError {
    let name = |path: &Path| {
        let name = path.file_name().unwrap_or(path.as_os_str());
        plain::one_line(&name.to_string_lossy(), 80)
    };
    match &error {
        JournalError::Store(StoreError::Exists(path)) => {
            ToolError::tell(format!("There is something called {} there already.", name(path)))
        }
        JournalError::Store(StoreError::Missing(path)) => ToolError::tell(format!("{} is gone.", name(path))),
        JournalError::Store(StoreError::NotAFile(path)) => {
            ToolError::tell(format!("{} is no plain file or folder.", name(path)))
        }
        _ => error.tool(what),
    }
}
