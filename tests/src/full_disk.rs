//! The whole `tiro` on a disk that is full: what only reads still answers, what writes says why it cannot, and nothing is
//! half-written.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use serde_json::Value;

use crate::{home::root, program::Tiro};

/// A small file system of memory; taken away when dropped.
struct SmallDisk {
    at: tempfile::TempDir,
}

impl SmallDisk {
    /// `None` with a loud line where this user may not mount one.
    fn mount() -> Option<SmallDisk> {
        let at = tempfile::tempdir().unwrap();
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", "size=12m", "tmpfs"])
            .arg(at.path())
            .output()
            .is_ok_and(|done| done.status.success());
        let may = rustix::process::getuid().is_root() && std::env::var_os("TIRO_REQUIRE_REAL").is_some();
        assert!(mounted || !may, "the administrator may mount, but could not");
        if !mounted {
            println!("SKIPPED: this user may not mount a small file system");
        }
        mounted.then_some(SmallDisk { at })
    }

    fn filler(&self) -> PathBuf {
        self.at.path().join("filler")
    }

    /// Takes all that is left, to the last block.
    fn fill(&self) {
        let mut file = fs::File::create(self.filler()).unwrap();
        for block in [1 << 16, 4096, 1] {
            while std::io::Write::write_all(&mut file, &vec![0; block]).is_ok() {}
        }
    }

    fn make_room(&self) {
        fs::remove_file(self.filler()).unwrap();
    }

    /// Every file with its content, but the filler and what is no document: locks and the logs of databases.
    fn files(&self) -> Vec<(PathBuf, Vec<u8>)> {
        fn walk(folder: &Path, found: &mut Vec<(PathBuf, Vec<u8>)>) {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                let kind = fs::symlink_metadata(&path).unwrap().file_type();
                if kind.is_dir() {
                    walk(&path, found);
                } else if kind.is_file() {
                    found.push((path.clone(), fs::read(&path).unwrap()));
                }
            }
        }
        let mut found = Vec::new();
        for folder in ["data", "config.toml"].map(|name| self.at.path().join(name)) {
            match folder.is_dir() {
                true => walk(&folder, &mut found),
                false if folder.exists() => found.push((folder.clone(), fs::read(&folder).unwrap())),
                false => {}
            }
        }
        found.sort();
        found
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(self.at.path()).output();
    }
}

#[test]
fn real_a_full_disk_loses_nothing_and_is_said() {
    let Some(tiro) = Tiro::find() else { return };
    let Some(disk) = SmallDisk::mount() else { return };
    let tiro = tiro.at_home_in(disk.at.path());
    tiro.run(["world", root().join("tests/worlds/demo.json").to_str().unwrap()])
        .expect_code(0);
    tiro.run(["config", "set", "llm.max_tokens", "200"])
        .expect_code(0);
    tiro.run(["call", "notes.create", r#"{"text": "before"}"#])
        .expect_code(0);
    let before = disk.files();
    disk.fill();

    // What only reads still does, the model's snapshot or not.
    let answer = tiro.ask(&["what do I have on my calendar tomorrow"]);
    assert!(answer.reply.contains("Dentist"), "{answer:?}");
    for call in [
        ["notes.create", r#"{"text": "clay and glaze"}"#],
        ["notes.append", r#"{"note": "before", "text": "clay"}"#],
        [
            "calendar.create_event",
            r#"{"title": "Kiln", "start": "tomorrow at six"}"#,
        ],
        ["reminders.create", r#"{"title": "clay", "due": "tomorrow"}"#],
        ["lists.create", r#"{"name": "clay"}"#],
        ["contacts.create", r#"{"name": "Clay Potter"}"#],
    ] {
        let ran = tiro.run([&["call"], &call[..]].concat());
        ran.expect_code(1);
        assert!(
            ran.err.contains("space") || ran.err.contains("full"),
            "{call:?} does not say why: {ran:?}"
        );
        assert_eq!(ran.err.trim().lines().count(), 1, "one sentence: {ran:?}");
    }
    tiro.run(["config", "set", "llm.max_tokens", "300"])
        .expect_code(1)
        .says(&["config.toml", "space"]);
    let pulled = tiro
        .command(["models", "pull", "smollm2-135m-instruct-q4_1"])
        .env("TIRO_MODELS", disk.at.path().join("models"))
        .spawn()
        .unwrap();
    crate::program::finish(pulled)
        .expect_code(1)
        .says(&["too little room"]);
    assert!(disk.files() == before, "something was written, or lost");

    // A daemon starts, answers and stops there.
    let (daemon, _) = tiro.daemon();
    let answer = tiro.ask(&["what mail came in today"]);
    assert_eq!(answer.calls[0].status, "ok", "{answer:?}");
    tiro.run(["call", "notes.create", r#"{"text": "clay"}"#])
        .expect_code(1);
    assert_eq!(daemon.stop(), Some(0));
    assert!(disk.files() == before, "something was written, or lost");

    // With room again all is as it was, and goes on.
    disk.make_room();
    let history = tiro.run(["history", "--json"]);
    let history: Value = serde_json::from_str(&history.expect_code(0).out).unwrap();
    assert_eq!(history["steps"].as_array().unwrap().len(), 1, "{history}");
    tiro.run(["call", "notes.create", r#"{"text": "after"}"#])
        .expect_code(0);
    tiro.run(["undo"]).expect_code(0);
    tiro.run(["undo"]).expect_code(0);
    let names = |files: Vec<(PathBuf, Vec<u8>)>| files.into_iter().map(|(p, _)| p).collect::<Vec<_>>();
    let left = names(disk.files());
    let mut expected = names(before);
    expected.retain(|path| !path.ends_with("notes/before.md"));
    assert_eq!(left, expected);
}
