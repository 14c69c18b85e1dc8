//! The journal against a disk: undo in order, refusals, processes that are killed between any two instructions.

use std::{
    collections::BTreeMap,
    fs,
    os::unix::fs::PermissionsExt as _,
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use proptest::prelude::*;

use super::*;

fn journal(root: &Path) -> Journal {
    Journal::at(&root.join("state"), Retention::default())
}

/// One step that says what it did.
fn write(journal: &Journal, say: &str, work: impl FnOnce(&Step) -> Result<(), JournalError>) {
    let step = journal.step("notes.create");
    work(&step).unwrap();
    step.did(say, false);
}

#[track_caller]
fn sound(journal: &Journal) {
    assert_eq!(journal.verify_invariants().unwrap(), [""; 0]);
}

#[test]
fn steps_are_undone_one_after_the_other_after_a_restart_too() {
    let root = tempfile::tempdir().unwrap();
    let path = root.path().join("notes/a.md");
    let first = journal(root.path());
    write(&first, "made a", |step| step.create(&path, b"one"));
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
    write(&first, "changed a", |step| {
        step.replace(&path, b"one", b"two")?;
        step.replace(&path, b"two", b"three")
    });
    write(&first, "removed a", |step| step.remove(&path, b"three"));
    assert!(!path.exists());

    let later = journal(root.path());
    let said: Vec<_> = later
        .history(10)
        .unwrap()
        .into_iter()
        .map(|p| p.say.unwrap())
        .collect();
    assert_eq!(said, ["removed a", "changed a", "made a"]);
    assert_eq!(later.undo(None).unwrap().say.as_deref(), Some("removed a"));
    assert_eq!(fs::read(&path).unwrap(), b"three");
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o640);
    later.undo(None).unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"one", "both changes of the step");
    assert_eq!(later.undo(None).unwrap().files, std::slice::from_ref(&path));
    assert!(!path.exists());
    assert!(matches!(later.undo(None), Err(JournalError::Nothing)));
    assert!(later.history(10).unwrap().iter().all(|past| past.undone));
    sound(&later);
    let mode = fs::metadata(root.path().join("state/journal.db"))
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn what_something_else_changed_since_is_not_undone() {
    let root = tempfile::tempdir().unwrap();
    let (a, b) = (root.path().join("a"), root.path().join("b"));
    let journal = journal(root.path());
    write(&journal, "made both", |step| {
        step.create(&a, b"1")?;
        step.create(&b, b"1")
    });
    write(&journal, "changed a", |step| step.replace(&a, b"1", b"2"));
    fs::write(&a, "theirs").unwrap();
    assert_eq!(
        journal.undo(None).unwrap_err().to_string(),
        "I did not undo \"changed a\": a was changed since, and undoing would lose that change. \
         To take back the change before it, say undo again."
    );
    let history = journal.history(10).unwrap();
    assert_eq!(
        history.iter().map(|p| (p.passed, p.undone)).collect::<Vec<_>>(),
        [(true, false), (false, false)]
    );
    let (changed, both) = (history[0].id, history[1].id);
    assert_eq!(
        journal.undo(Some(both)).unwrap_err().to_string(),
        "I did not undo \"made both\": a was changed since, and undoing would lose that change."
    );
    assert_eq!(
        (fs::read(&a).unwrap(), fs::read(&b).unwrap()),
        (b"theirs".to_vec(), b"1".to_vec())
    );
    fs::write(&a, "2").unwrap();
    journal.undo(Some(changed)).unwrap();
    journal.undo(None).unwrap();
    assert!(!a.exists() && !b.exists());
    assert!(matches!(journal.undo(Some(999)), Err(JournalError::Nothing)));
    sound(&journal);
}

#[test]
fn a_step_that_cannot_be_undone_is_in_the_way_once() {
    let root = tempfile::tempdir().unwrap();
    let (old, new) = (root.path().join("old"), root.path().join("new"));
    let journal = journal(root.path());
    write(&journal, "made old", |step| step.create(&old, b"1"));
    type Spoil = fn(&Path) -> std::io::Result<()>;
    let spoils: [Spoil; 3] = [
        |path| fs::write(path, "theirs"),
        |path| fs::remove_file(path).and_then(|()| fs::create_dir(path)),
        |path| {
            fs::File::options()
                .write(true)
                .open(path)?
                .set_len(MAX_GUARDED + 1)
        },
    ];
    for (n, spoil) in spoils.into_iter().enumerate() {
        let path = new.join(n.to_string());
        write(&journal, "made new", |step| step.create(&path, b"2"));
        spoil(&path).unwrap();
    }
    for _ in spoils {
        assert!(matches!(
            journal.undo(None),
            Err(JournalError::Since { passed: true, .. })
        ));
    }
    assert_eq!(journal.undo(None).unwrap().say.as_deref(), Some("made old"));
    assert!(!old.exists());
    assert!(matches!(journal.undo(None), Err(JournalError::Nothing)));
    sound(&journal);
}

#[test]
fn what_changed_no_file_is_in_the_way_of_older_changes_once() {
    let root = tempfile::tempdir().unwrap();
    let path = root.path().join("a");
    let journal = journal(root.path());
    write(&journal, "made a", |step| step.create(&path, b"1"));
    write(&journal, "I opened Paint.", |step| {
        step.beyond();
        Ok(())
    });
    sound(&journal);
    let history = journal.history(10).unwrap();
    assert_eq!(history[0].say.as_deref(), Some("I opened Paint."));
    assert_eq!(
        journal.undo(Some(history[0].id)).unwrap_err().to_string(),
        "\"I opened Paint.\" is nothing that I can undo."
    );
    assert_eq!(
        journal.undo(None).unwrap_err().to_string(),
        "\"I opened Paint.\" is nothing that I can undo. To take back the change before it, say undo again."
    );
    assert!(path.exists());
    journal.undo(None).unwrap();
    assert!(!path.exists());
    sound(&journal);
}

#[test]
fn a_step_that_cannot_be_settled_keeps_nobody_from_writing() {
    let root = tempfile::tempdir().unwrap();
    let (bad, good) = (root.path().join("bad"), root.path().join("good"));
    let first = journal(root.path());
    write(&first, "made bad", |step| step.create(&bad, b"1"));
    write(&first, "made good", |step| step.create(&good, b"1"));
    drop(first);
    // As after a kill: both open, and of no process.
    let table = rusqlite::Connection::open(root.path().join("state").join(FILE)).unwrap();
    table.execute("UPDATE step SET state = 0, owner = 0", []).unwrap();
    fs::remove_file(&bad).unwrap();
    fs::create_dir(&bad).unwrap();

    let later = journal(root.path());
    assert_eq!(later.history(10).unwrap().len(), 2);
    write(&later, "made more", |step| {
        step.create(&root.path().join("more"), b"1")
    });
    assert_eq!(later.undo(None).unwrap().say.as_deref(), Some("made more"));
    later.undo(None).unwrap();
    assert!(!good.exists(), "what could be settled was");
    // What was in the way is gone, and the next opening settles the rest.
    fs::remove_dir(&bad).unwrap();
    fs::write(&bad, "1").unwrap();
    journal(root.path()).undo(None).unwrap();
    assert!(!bad.exists());
    sound(&later);
}

#[test]
fn what_was_not_written_leaves_no_trace() {
    let root = tempfile::tempdir().unwrap();
    let path = root.path().join("a");
    fs::write(&path, "theirs").unwrap();
    let journal = journal(root.path());
    let step = journal.step("notes.create");
    assert!(matches!(
        step.create(&path, b"x"),
        Err(JournalError::Store(StoreError::Exists(_)))
    ));
    assert!(matches!(
        step.replace(&path, b"mine", b"x"),
        Err(JournalError::Store(StoreError::Changed(_)))
    ));
    assert!(matches!(
        step.create(&root.path().join("big"), &vec![0; MAX_GUARDED as usize + 1]),
        Err(JournalError::Store(StoreError::TooBig { .. }))
    ));
    drop(step);
    assert_eq!(fs::read(&path).unwrap(), b"theirs");
    assert!(journal.history(10).unwrap().is_empty());
    sound(&journal);
}

#[test]
fn an_edit_takes_in_what_another_program_wrote_meanwhile() {
    let root = tempfile::tempdir().unwrap();
    let path = root.path().join("list");
    fs::write(&path, "milk\n").unwrap();
    let journal = journal(root.path());
    let mut interfere = true;
    let add = |before: &[u8]| {
        if std::mem::take(&mut interfere) {
            fs::write(&path, "milk\nbread\n").unwrap();
        }
        Ok([before, b"eggs\n"].concat())
    };
    journal
        .step("lists.add")
        .edit(&path, "add to the list", add)
        .unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), "milk\nbread\neggs\n");
    journal.undo(None).unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), "milk\nbread\n");
}

#[test]
fn retention_forgets_the_oldest() {
    let root = tempfile::tempdir().unwrap();
    let keep = Retention {
        days: 90,
        bytes: 2500,
    };
    let journal = Journal::at(&root.path().join("state"), keep);
    for n in 0..5 {
        let path = root.path().join(format!("{n}"));
        write(&journal, &format!("made {n}"), |step| {
            step.create(&path, &[b'x'; 1000])
        });
    }
    assert_eq!(journal.prune().unwrap(), 3);
    assert_eq!(journal.history(10).unwrap().len(), 2);
    let old = Retention { days: 0, ..keep };
    std::thread::sleep(Duration::from_millis(5));
    assert_eq!(
        Journal::at(&root.path().join("state"), old).prune().unwrap(),
        0,
        "pruned at the opening"
    );
    assert!(journal.history(10).unwrap().is_empty());
    sound(&journal);
}

#[test]
fn a_process_that_lives_long_forgets_what_is_old() {
    let root = tempfile::tempdir().unwrap();
    let hours = Arc::new(AtomicI64::new(0));
    let (start, passed) = (Timestamp::now(), Arc::clone(&hours));
    let clock = move || start + SignedDuration::from_hours(passed.load(Ordering::Relaxed));
    let keep = Retention {
        days: 2,
        bytes: 1 << 20,
    };
    let journal = Journal::by_clock(&root.path().join("state"), Some(keep), Arc::new(clock));
    let left = |after: i64| {
        hours.store(after, Ordering::Relaxed);
        journal.history(10).unwrap().len()
    };
    write(&journal, "made a", |step| {
        step.create(&root.path().join("a"), b"1")
    });
    assert_eq!((left(24), left(47)), (1, 1));
    write(&journal, "made b", |step| {
        step.create(&root.path().join("b"), b"1")
    });
    assert_eq!(left(49), 1, "only the old one went");
    // Writing is enough; nobody has to look.
    hours.store(120, Ordering::Relaxed);
    write(&journal, "made c", |step| {
        step.create(&root.path().join("c"), b"1")
    });
    let table = rusqlite::Connection::open(root.path().join("state").join(FILE)).unwrap();
    let steps = table.query_row("SELECT count(*) FROM step", [], |row| row.get::<_, i64>(0));
    assert_eq!(steps.unwrap(), 1);
    sound(&journal);
}

#[test]
fn a_broken_journal_is_put_aside_and_a_newer_one_is_left_alone() {
    let root = tempfile::tempdir().unwrap();
    let state = root.path().join("state");
    fs::create_dir(&state).unwrap();
    fs::write(state.join("journal.db"), vec![7; 9000]).unwrap();
    let broken = journal(root.path());
    write(&broken, "made a", |step| {
        step.create(&root.path().join("a"), b"1")
    });
    assert_eq!(broken.history(10).unwrap().len(), 1);
    let aside = fs::read_dir(&state).unwrap().filter(|e| {
        e.as_ref()
            .unwrap()
            .file_name()
            .to_string_lossy()
            .starts_with("journal.broken-")
    });
    assert_eq!(aside.count(), 1);
    drop(broken);

    let newer = rusqlite::Connection::open(state.join("journal.db")).unwrap();
    newer.pragma_update(None, "user_version", 99).unwrap();
    drop(newer);
    let error = journal(root.path()).history(10).unwrap_err().to_string();
    assert!(error.contains("newer Tiro"), "{error}");
}

#[test]
fn what_was_moved_goes_back_and_overwrites_nothing() {
    let root = tempfile::tempdir().unwrap();
    let at = |name: &str| root.path().join(name);
    let journal = journal(root.path());
    fs::create_dir_all(at("f/sub")).unwrap();
    fs::write(at("f/sub/a"), "1").unwrap();
    write(&journal, "moved f", |step| step.rename(&at("f"), &at("new/g")));
    write(&journal, "moved a", |step| {
        step.rename(&at("new/g/sub/a"), &at("a"))
    });
    assert!(!at("f").exists() && at("a").exists());
    // It may have been changed since: its place is what is undone.
    fs::write(at("a"), "22").unwrap();
    journal.undo(None).unwrap();
    assert_eq!(fs::read_to_string(at("new/g/sub/a")).unwrap(), "22");
    fs::write(at("f"), "theirs").unwrap();
    let error = journal.undo(None).unwrap_err();
    assert!(
        matches!(&error, JournalError::Since { path, .. } if *path == at("f")),
        "{error}"
    );
    assert_eq!(fs::read_to_string(at("f")).unwrap(), "theirs");
    let step = journal.step("files.move");
    for (from, expect) in [("new/g", "is there already"), ("none", "is not there")] {
        let error = step.rename(&at(from), &at("f")).unwrap_err().to_string();
        assert!(error.contains(expect), "{error}");
    }
    drop(step);
    assert_eq!(journal.history(10).unwrap().len(), 2, "what failed left no trace");
    sound(&journal);
}

#[test]
fn what_was_made_goes_again_unless_it_was_changed() {
    let root = tempfile::tempdir().unwrap();
    let at = |name: &str| root.path().join(name);
    let journal = journal(root.path());
    let folder = |temporary: &Path| {
        fs::create_dir(temporary).unwrap();
        fs::write(temporary.join("a"), "1").unwrap();
        Ok(())
    };
    let make = || write(&journal, "made f", |step| step.place(&at("f"), folder));
    make();
    assert!(matches!(
        journal.step("t").place(&at("f"), folder),
        Err(JournalError::Store(StoreError::Exists(_)))
    ));
    journal.undo(None).unwrap();
    make();
    fs::write(at("f/b"), "theirs").unwrap();
    assert!(matches!(journal.undo(None), Err(JournalError::Since { path, .. }) if path == at("f")));
    assert_eq!(fs::read_to_string(at("f/b")).unwrap(), "theirs");
    // What fails leaves nothing, neither half of it nor a trace.
    let fails = |temporary: &Path| {
        folder(temporary)?;
        Err(StoreError::Full(temporary.to_owned()))
    };
    assert!(journal.step("t").place(&at("g"), fails).is_err());
    let mut names: Vec<_> = fs::read_dir(root.path())
        .unwrap()
        .map(|e| e.unwrap().file_name())
        .collect();
    names.sort();
    assert_eq!(names, ["f", "state"]);
    assert_eq!(journal.history(10).unwrap().len(), 2);
    sound(&journal);
}

#[test]
fn a_journal_of_the_first_version_is_read_on() {
    let root = tempfile::tempdir().unwrap();
    let path = root.path().join("a");
    let first = journal(root.path());
    write(&first, "made a", |step| step.create(&path, b"1"));
    drop(first);
    let table = rusqlite::Connection::open(root.path().join("state").join(FILE)).unwrap();
    table
        .execute_batch(
            "ALTER TABLE change DROP COLUMN origin; ALTER TABLE change DROP COLUMN mark; PRAGMA user_version = 1;",
        )
        .unwrap();
    drop(table);
    let later = journal(root.path());
    write(&later, "moved a", |step| {
        step.rename(&path, &root.path().join("b"))
    });
    later.undo(None).unwrap();
    later.undo(None).unwrap();
    assert!(!path.exists());
    sound(&later);
}

/// A file, what it held before, and after.
type Edit = (u8, Option<Vec<u8>>, Option<Vec<u8>>);

/// What a write of the operations below is.
#[derive(Debug, Clone)]
enum Op {
    Create(u8, Vec<u8>),
    Replace(u8, Vec<u8>),
    Remove(u8),
    Foreign(u8, Vec<u8>),
    Undo,
    Reopen,
}

fn op() -> impl Strategy<Value = Op> {
    let bytes = || prop::collection::vec(any::<u8>(), 0..20);
    prop_oneof![
        3 => (0..4u8, bytes()).prop_map(|(n, b)| Op::Create(n, b)),
        3 => (0..4u8, bytes()).prop_map(|(n, b)| Op::Replace(n, b)),
        2 => (0..4u8).prop_map(Op::Remove),
        1 => (0..4u8, bytes()).prop_map(|(n, b)| Op::Foreign(n, b)),
        3 => Just(Op::Undo),
        1 => Just(Op::Reopen),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Against a model: a list of whole states of the folder, one for each step that stands.
    #[test]
    fn undo_walks_back_through_every_state(ops in prop::collection::vec(op(), 1..40)) {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("f");
        fs::create_dir(&folder).unwrap();
        let mut journal = journal(root.path());
        let mut files: BTreeMap<u8, Vec<u8>> = BTreeMap::new();
        let mut states: Vec<Edit> = Vec::new();
        let path = |n: u8| folder.join(n.to_string());
        for op in ops {
            match op {
                Op::Create(n, bytes) => {
                    let made = journal.step("t").create(&path(n), &bytes).is_ok();
                    prop_assert_eq!(made, !files.contains_key(&n));
                    if made {
                        states.push((n, None, Some(bytes.clone())));
                        files.insert(n, bytes);
                    }
                }
                Op::Replace(n, bytes) => if let Some(before) = files.get(&n).cloned() {
                    journal.step("t").replace(&path(n), &before, &bytes).unwrap();
                    if before != bytes {
                        states.push((n, Some(before), Some(bytes.clone())));
                        files.insert(n, bytes);
                    }
                },
                Op::Remove(n) => if let Some(before) = files.remove(&n) {
                    journal.step("t").remove(&path(n), &before).unwrap();
                    states.push((n, Some(before), None));
                },
                Op::Foreign(n, bytes) => {
                    fs::write(path(n), &bytes).unwrap();
                    files.insert(n, bytes);
                }
                Op::Undo => match states.last() {
                    None => prop_assert!(matches!(journal.undo(None), Err(JournalError::Nothing))),
                    Some((n, before, after)) if files.get(n) == after.as_ref() => {
                        journal.undo(None).unwrap();
                        match before {
                            Some(before) => files.insert(*n, before.clone()),
                            None => files.remove(n),
                        };
                        states.pop();
                    }
                    Some(_) => {
                        let refused = matches!(journal.undo(None), Err(JournalError::Since { passed: true, .. }));
                        prop_assert!(refused);
                        states.pop();
                    }
                },
                Op::Reopen => journal = Journal::at(&root.path().join("state"), Retention::default()),
            }
            let mut there = BTreeMap::new();
            for entry in fs::read_dir(&folder).unwrap() {
                let path = entry.unwrap().path();
                let n: u8 = path.file_name().unwrap().to_str().unwrap().parse().unwrap();
                there.insert(n, fs::read(path).unwrap());
            }
            prop_assert_eq!(&there, &files);
        }
        prop_assert_eq!(journal.verify_invariants().unwrap(), [""; 0]);
    }
}

const CHILD: &str = "TIRO_TEST_WRITES_IN";

/// The victim of the next test: without the variable it has nothing to do.
#[test]
fn victim_writes_until_it_is_killed() {
    let Some(root) = std::env::var_os(CHILD).map(PathBuf::from) else {
        return;
    };
    let journal = journal(&root);
    fs::write(root.join("ready"), b"").unwrap();
    let mut random = u64::from(std::process::id()) | 1;
    let mut next = move |below: u64| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        random % below
    };
    loop {
        let step = journal.step("test.write");
        for _ in 0..=next(3) {
            let path = root.join("files").join(format!("{}", next(8)));
            let new = whole(next(u64::MAX), next(4000) as usize);
            match (store::read_bounded(&path, MAX_GUARDED), next(4)) {
                (Ok(before), 0) => step.remove(&path, &before).unwrap(),
                (Ok(before), _) => step.replace(&path, &before, &new).unwrap(),
                (Err(_), _) => step.create(&path, &new).unwrap(),
            }
        }
        drop(step);
        let step = journal.step("test.move");
        // Names of their own: what a content is written back to has another time, and then it is not removed again.
        let mut pick = || root.join("files").join(format!("m{}", next(8)));
        let (from, to) = (pick(), pick());
        match (from.exists(), to.exists()) {
            (true, false) => step.rename(&from, &to).unwrap(),
            (false, false) => {
                let new = whole(next(u64::MAX), next(4000) as usize);
                let build =
                    |temporary: &Path| fs::write(temporary, &new).map_err(|e| StoreError::of(temporary, e));
                step.place(&to, build).unwrap();
            }
            _ => {}
        }
        drop(step);
        if next(5) == 0 {
            journal.undo(None).unwrap();
        }
    }
}

/// A content that shows when a part of it is missing.
fn whole(seed: u64, len: usize) -> Vec<u8> {
    let body = format!("{seed:016x}").repeat(len / 16 + 1);
    format!("{}\n{body}\nend", body.len()).into_bytes()
}

fn is_whole(bytes: &[u8]) -> bool {
    let text = String::from_utf8_lossy(bytes);
    let Some((len, rest)) = text.split_once('\n') else {
        return false;
    };
    rest.strip_suffix("\nend")
        .is_some_and(|body| len.parse() == Ok(body.len()))
}

#[test]
fn a_kill_at_any_moment_leaves_whole_files_and_a_journal_that_agrees() {
    let root = tempfile::tempdir().unwrap();
    let files = root.path().join("files");
    fs::create_dir(&files).unwrap();
    let (started, mut rounds, mut steps) = (Instant::now(), 0u64, 0);
    // A step is two writes in the mean: a thousand, unless the machine is slow.
    while rounds < 20 || (steps < 500 && started.elapsed() < Duration::from_secs(25)) {
        let mut victim = Command::new(std::env::current_exe().unwrap())
            .args([
                "--exact",
                "system::journal::tests::victim_writes_until_it_is_killed",
            ])
            .env(CHILD, root.path())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let (ready, waited) = (root.path().join("ready"), Instant::now());
        while fs::remove_file(&ready).is_err() {
            assert!(
                waited.elapsed() < Duration::from_secs(30),
                "the victim does not begin"
            );
            std::thread::sleep(Duration::from_millis(2));
        }
        std::thread::sleep(Duration::from_millis(5 + rounds * 37 % 300));
        assert!(victim.try_wait().unwrap().is_none(), "the victim died by itself");
        victim.kill().unwrap();
        victim.wait().unwrap();
        rounds += 1;

        let journal = journal(root.path());
        sound(&journal);
        steps = journal.history(usize::MAX).unwrap().len();
        for entry in fs::read_dir(&files).unwrap() {
            let path = entry.unwrap().path();
            assert!(
                !path.file_name().unwrap().to_string_lossy().starts_with(".tiro-"),
                "{path:?} stays"
            );
            assert!(is_whole(&fs::read(&path).unwrap()), "{path:?} is torn");
        }
        if rounds % 5 == 0 {
            journal.undo(None).unwrap();
        }
    }
    // The journal agrees with the files when undoing all of it, step by step, ends in the empty folder it began with.
    let journal = journal(root.path());
    let standing = journal
        .history(usize::MAX)
        .unwrap()
        .iter()
        .filter(|past| !past.undone)
        .count();
    println!("{rounds} kills, {steps} steps, {standing} of them stand");
    assert!(steps > 50 && standing > 10, "{steps} steps, {standing} stand");
    for _ in 0..standing {
        journal.undo(None).unwrap();
    }
    assert!(matches!(journal.undo(None), Err(JournalError::Nothing)));
    assert_eq!(fs::read_dir(&files).unwrap().count(), 0);
    sound(&journal);
}
