//! The person's own programs in one folder, run by name. Each is an executable file that only they can change; the line
//! that describes it stands in its comments: `# tiro: Waters the plants`.

use std::{
    ffi::OsStr,
    fs::{self, File},
    io::Read as _,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
    process::Stdio,
    time::Duration,
};

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::{AsyncRead, AsyncReadExt as _};

use super::{desktop::outside::Outside, plain, which, which::Kind};
use crate::contract::ToolError;

/// Most shortcuts, and most files that are looked at for them.
const MAX_SHORTCUTS: usize = 200;
const MAX_ENTRIES: usize = 2000;
/// How much of a file is read for its description.
const HEAD: u64 = 4096;
/// Longest description, in characters.
const MAX_ABOUT: usize = 120;
/// How long one may run.
pub const PATIENCE: Duration = Duration::from_secs(60);
/// Most output that is kept of each stream, in bytes; more is read and thrown away, so that nothing stops writing.
const MAX_OUTPUT: usize = 16 << 10;

/// How shortcuts are talked about.
pub const KIND: Kind = Kind {
    one: "shortcut",
    many: "shortcuts",
};

/// One that can be run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shortcut {
    /// As it is said: its file name without ending, blanks for dashes.
    pub name: String,
    /// What it says of itself; may be empty.
    pub about: String,
    /// The file.
    pub path: PathBuf,
}

/// What is there, and which files were left out and why, as sentences.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Shelf {
    /// By name.
    pub shortcuts: Vec<Shortcut>,
    /// "backup.sh can be changed by others."
    pub refused: Vec<String>,
}

/// What a run came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Run {
    /// What it printed, as far as it is kept.
    pub output: String,
    /// What it complained about.
    pub errors: String,
    /// Its exit code; nothing when a signal ended it.
    pub code: Option<i32>,
}

/// Looks through the folder. One that is not there holds none.
///
/// # Errors
/// `Tell` when others can change the folder: then none of it is the person's own.
pub fn list(folder: &Path) -> Result<Shelf, ToolError> {
    let mut shelf = Shelf::default();
    let Ok(meta) = fs::metadata(folder) else {
        return Ok(shelf);
    };
    if !is_own(&meta) {
        return Err(ToolError::tell(format!(
            "Others can write in the folder of your shortcuts, so I run nothing of it. Close it with chmod go-w {}.",
            plain::one_line(&folder.display().to_string(), 200)
        )));
    }
    let entries = folder
        .read_dir()
        .map_err(|e| ToolError::broken("look at your shortcuts", e))?;
    let mut paths: Vec<PathBuf> = entries
        .take(MAX_ENTRIES)
        .filter_map(|e| Some(e.ok()?.path()))
        .collect();
    paths.sort();
    for path in paths {
        let file = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        // A link may lead to what others can change; the file that it leads to is not looked for.
        let Ok(meta) = path.symlink_metadata() else {
            continue;
        };
        if file.starts_with('.') || !meta.is_file() || meta.mode() & 0o111 == 0 {
            continue;
        }
        if !is_own(&meta) {
            let file = plain::one_line(&file, 60);
            shelf.refused.push(format!("{file} can be changed by others."));
            continue;
        }
        if shelf.shortcuts.len() < MAX_SHORTCUTS {
            let stem = file.rsplit_once('.').map_or(file.as_str(), |(stem, _)| stem);
            shelf.shortcuts.push(Shortcut {
                name: plain::one_line(&stem.replace(['-', '_'], " "), 60),
                about: about(&path),
                path,
            });
        }
    }
    Ok(shelf)
}

/// The one that is meant.
///
/// # Errors
/// `Tell`: there is none, none of that name, or several fit.
pub fn choose(folder: &Path, said: &str) -> Result<Shortcut, ToolError> {
    let shelf = list(folder)?;
    if shelf.shortcuts.is_empty() {
        let why = shelf
            .refused
            .first()
            .map(|why| format!(" {why}"))
            .unwrap_or_default();
        return Err(ToolError::tell(format!("You have no shortcuts yet.{why}")));
    }
    which::one(
        said,
        KIND,
        &shelf.shortcuts,
        |one| &one.name,
        |one| one.name.clone(),
    )
    .cloned()
}

/// Runs one: no shell in between, a process group of its own, an end after [`PATIENCE`]. When this is dropped the whole
/// group ends, too.
///
/// # Errors
/// `Tell` when it cannot be started, is no longer the person's own, or takes too long.
pub async fn run(shortcut: &Shortcut, text: Option<&str>) -> Result<Run, ToolError> {
    run_within(shortcut, text, PATIENCE).await
}

async fn run_within(shortcut: &Shortcut, text: Option<&str>, patience: Duration) -> Result<Run, ToolError> {
    let name = &shortcut.name;
    let own = fs::symlink_metadata(&shortcut.path).is_ok_and(|meta| meta.is_file() && is_own(&meta));
    if !own {
        return Err(ToolError::tell(format!(
            "{name} was changed meanwhile, so I did not run it."
        )));
    }
    let text: Vec<&OsStr> = text.map(OsStr::new).into_iter().collect();
    let outside = Outside::of(shortcut.path.as_os_str(), &text, patience);
    let mut command = tokio::process::Command::new(&outside.command[0]);
    if let Some(folder) = std::env::home_dir().filter(|folder| folder.is_dir()) {
        command.current_dir(folder);
    }
    let mut child = command
        .args(&outside.command[1..])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .kill_on_drop(true)
        .spawn()
        .map_err(|e| ToolError::tell(format!("{name} did not start: {e}.")))?;
    let mut group = Group(child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?)));
    let (output, errors) = (child.stdout.take(), child.stderr.take());
    let all = async {
        // What it leaves running may keep its output open for ever; its own end is the end.
        let (mut said, mut complained) = (Vec::new(), Vec::new());
        let status = {
            let reading = async { tokio::join!(keep(output, &mut said), keep(errors, &mut complained)) };
            tokio::pin!(reading);
            tokio::select! {
                status = child.wait() => {
                    let _ = tokio::time::timeout(Duration::from_millis(200), &mut reading).await;
                    status
                }
                _ = &mut reading => child.wait().await,
            }
        };
        (status, said, complained)
    };
    let finished = tokio::time::timeout(patience, all).await;
    match finished {
        Err(_) => {
            drop(group);
            Err(ToolError::tell(format!(
                "{name} took longer than {} seconds, so I stopped it.",
                patience.as_secs()
            )))
        }
        Ok((Err(error), ..)) => Err(ToolError::broken(format!("run {name}"), error)),
        Ok((Ok(status), output, errors)) => {
            // What it started in the background and left is its own business.
            group.0 = None;
            outside.ended();
            Ok(Run {
                output: plain::lines(&String::from_utf8_lossy(&output)),
                errors: plain::lines(&String::from_utf8_lossy(&errors)),
                code: status.code(),
            })
        }
    }
}

/// Reads a stream to its end and keeps the front of it.
async fn keep(stream: Option<impl AsyncRead + Unpin>, kept: &mut Vec<u8>) {
    let Some(mut stream) = stream else { return };
    let mut piece = [0; 4096];
    while let Ok(length @ 1..) = stream.read(&mut piece).await {
        let room = MAX_OUTPUT.saturating_sub(kept.len());
        kept.extend_from_slice(&piece[..length.min(room)]);
    }
}

/// A process group that ends with this.
struct Group(Option<Pid>);

impl Drop for Group {
    fn drop(&mut self) {
        if let Some(group) = self.0 {
            // It may be gone already.
            let _ = kill_process_group(group, Signal::KILL);
        }
    }
}

/// Whether only the person, or the administrator, can change it.
fn is_own(meta: &fs::Metadata) -> bool {
    let me = rustix::process::geteuid().as_raw();
    (meta.uid() == me || meta.uid() == 0) && meta.mode() & 0o022 == 0
}

/// What a file says of itself: the line with `tiro:` in its comments, else its first comment.
fn about(path: &Path) -> String {
    let mut head = Vec::new();
    let read = File::open(path).and_then(|file| file.take(HEAD).read_to_end(&mut head));
    if read.is_err() || head.contains(&0) {
        return String::new();
    }
    let text = String::from_utf8_lossy(&head).into_owned();
    let comments: Vec<&str> = text
        .lines()
        .filter(|line| !line.starts_with("#!"))
        .filter_map(|line| {
            let line = line.trim();
            let mark = ["#", "//", "--", ";"]
                .into_iter()
                .find(|mark| line.starts_with(mark))?;
            Some(line.trim_start_matches(mark).trim())
        })
        .filter(|line| line.chars().any(char::is_alphanumeric))
        .collect();
    let named = comments.iter().find_map(|line| line.strip_prefix("tiro:"));
    let line = named.or(comments.first().copied()).unwrap_or_default();
    plain::one_line(line, MAX_ABOUT).trim_end_matches('.').to_owned()
}

#[cfg(test)]
pub(crate) mod tests {
    use std::{os::unix::fs::PermissionsExt as _, time::Instant};

    use super::*;

    /// A shortcut with this body.
    pub fn put(folder: &Path, file: &str, body: &str) -> PathBuf {
        fs::create_dir_all(folder).unwrap();
        fs::set_permissions(folder, fs::Permissions::from_mode(0o700)).unwrap();
        let path = folder.join(file);
        fs::write(&path, format!("#!/bin/sh\n{body}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o700)).unwrap();
        path
    }

    #[test]
    fn only_the_persons_own_programs_count() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("shortcuts");
        assert_eq!(list(&folder).unwrap(), Shelf::default());
        put(
            &folder,
            "water-plants.sh",
            "# A comment.\n# tiro: Waters the plants.\necho done",
        );
        put(&folder, "tea_time", "# Says when tea is ready\n");
        let open = put(&folder, "open.sh", "");
        fs::set_permissions(&open, fs::Permissions::from_mode(0o770)).unwrap();
        let data = put(&folder, "notes.txt", "");
        fs::set_permissions(&data, fs::Permissions::from_mode(0o600)).unwrap();
        put(&folder, ".hidden", "");
        std::os::unix::fs::symlink("/bin/true", folder.join("link")).unwrap();
        fs::create_dir(folder.join("sub")).unwrap();
        let shelf = list(&folder).unwrap();
        let shown: Vec<(&str, &str)> = shelf.shortcuts.iter().map(|s| (&*s.name, &*s.about)).collect();
        assert_eq!(
            shown,
            [
                ("tea time", "Says when tea is ready"),
                ("water plants", "Waters the plants")
            ]
        );
        assert_eq!(shelf.refused, ["open.sh can be changed by others."]);
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o777)).unwrap();
        assert!(list(&folder).unwrap_err().to_string().contains("chmod go-w"));
    }

    #[tokio::test]
    async fn what_takes_too_long_ends_with_all_that_it_started() {
        let home = tempfile::tempdir().unwrap();
        let pid = home.path().join("pid");
        put(
            home.path(),
            "slow",
            &format!(
                "sleep 300 & echo $! > {0}.new; mv {0}.new {0}; wait",
                pid.display()
            ),
        );
        let slow = choose(home.path(), "slow").unwrap();
        let error = run_within(&slow, None, Duration::from_secs(3))
            .await
            .unwrap_err()
            .to_string();
        assert!(error.contains("took longer"), "{error}");
        let child = fs::read_to_string(pid).unwrap();
        let started = Instant::now();
        let gone = || match fs::read_to_string(Path::new("/proc").join(child.trim()).join("stat")) {
            // Whoever adopts it may take a while to reap it.
            Ok(stat) => stat
                .rsplit_once(") ")
                .is_some_and(|(_, rest)| rest.starts_with('Z')),
            Err(_) => true,
        };
        while !gone() {
            assert!(
                started.elapsed() < Duration::from_secs(20),
                "its child still runs"
            );
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    #[tokio::test]
    async fn output_is_bounded_and_never_stops_the_program() {
        let home = tempfile::tempdir().unwrap();
        put(
            home.path(),
            "loud",
            "i=0; while [ $i -lt 3000 ]; do echo 'a line of forty characters, more or less'; i=$((i+1)); done; exit 3",
        );
        let loud = choose(home.path(), "loud").unwrap();
        let run = run(&loud, None).await.unwrap();
        assert_eq!((run.output.len(), run.code), (MAX_OUTPUT, Some(3)));
    }

    #[tokio::test]
    async fn what_is_said_is_one_argument_and_no_command() {
        let home = tempfile::tempdir().unwrap();
        put(home.path(), "echo it", "printf '%s|' \"$@\"");
        let echo = choose(home.path(), "echo it").unwrap();
        let run = run(&echo, Some("a b; touch pwned $(id)")).await.unwrap();
        assert_eq!(run.output, "a b; touch pwned $(id)|");
    }
}
