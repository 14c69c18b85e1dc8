//! Programs that speak well, badly, and not at all.

use std::{os::unix::fs::PermissionsExt as _, path::Path, time::Instant};

use super::*;

/// A program of these lines of shell, in a folder.
fn script(folder: &Path, lines: &str) -> Program {
    let path = folder.join("voice");
    std::fs::write(&path, format!("#!/bin/sh\n{lines}\n")).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    command(&Settings {
        command: Ok(vec![
            path.display().to_string(),
            "a b".to_owned(),
            "$(id)".to_owned(),
        ]),
        // Nobody listens there.
        speaker: Some("unix:/nowhere/at/all".to_owned()),
        ..Settings::default()
    })
}

#[tokio::test]
async fn a_program_reads_the_text_and_no_shell_does() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let voice = script(
        folder.path(),
        &format!(
            "printf '%s|' \"$1\" \"$2\" \"$#\" >> {0}; cat >> {0}",
            out.display()
        ),
    );
    voice
        .say(&Pieces::of(["-v $HOME; it's `x`", "--version"]))
        .await
        .unwrap();
    let read = std::fs::read_to_string(out).unwrap();
    assert_eq!(read, "a b|$(id)|2|-v $HOME; it's `x`\na b|$(id)|2|--version\n");
}

#[tokio::test]
async fn a_program_that_fails_is_quoted_in_one_line() {
    let folder = tempfile::tempdir().unwrap();
    #[track_caller]
    fn told(trouble: Trouble, expect: &str) {
        let Trouble::Failed(text) = trouble else {
            panic!("{trouble:?}");
        };
        assert!(text.contains(expect), "{text}");
    }
    let say = async |lines: &str| {
        let voice = script(folder.path(), lines);
        voice.say(&Pieces::of(["hello"])).await.unwrap_err()
    };
    told(
        say("echo first >&2; printf 'no \\033[31mmodel\\n\\n' >&2; exit 3").await,
        "no [31mmodel.",
    );
    told(say("exit 7").await, "exit status: 7");
    told(say("kill -9 $$").await, "signal: 9");
    told(say("echo I am no sound").await, "no WAV file");
    told(say("yes | head -c 60000000").await, "far more");
    // It speaks, and nobody hears it.
    let clip = "printf 'RIFF\\044\\0\\0\\0WAVEfmt \\020\\0\\0\\0\\001\\0\\001\\0\\200\\076\\0\\0\\0\\175\\0\\0\\002\\0\\020\\0data\\004\\0\\0\\0abcd'";
    told(say(clip).await, "cannot be heard");
    let absent = command(&Settings {
        command: Ok(vec!["/nonexistent/piper".to_owned()]),
        ..Settings::default()
    });
    let trouble = absent.say(&Pieces::of(["hello"])).await.unwrap_err();
    assert!(
        matches!(&trouble, Trouble::Absent(text) if text.contains("/nonexistent/piper")),
        "{trouble:?}"
    );
    assert_eq!(absent.there().await.unwrap_err(), trouble);
    let unset = command(&Settings::default());
    assert!(matches!(unset.there().await, Err(Trouble::Absent(text)) if text.contains("speech.command")));
}

#[tokio::test]
async fn a_program_that_is_stopped_ends_with_all_that_it_started() {
    let folder = tempfile::tempdir().unwrap();
    let pids = folder.path().join("pids");
    let voice = script(
        folder.path(),
        &format!("sleep 600 & echo $$ $! > {}; wait", pids.display()),
    );
    let pieces = Pieces::of(["hello"]);
    let pids = stopped(voice, pieces, &pids).await;
    assert_eq!(pids.len(), 2);
}

/// Stops a voice when it has written who it is and what it started; all of these end.
async fn stopped(voice: Program, pieces: Pieces, pids: &Path) -> Vec<String> {
    let mut saying = Box::pin(voice.say(&pieces));
    let began = Instant::now();
    let pids = loop {
        let short = Duration::from_millis(200);
        let goes_on = tokio::time::timeout(short, &mut saying).await.is_err();
        assert!(goes_on, "what it started is not at its end");
        let read = std::fs::read_to_string(pids).unwrap_or_default();
        if read.ends_with('\n') {
            break read.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        }
        assert!(began.elapsed() < Duration::from_secs(60), "it does not start");
    };
    let short = Duration::from_millis(300);
    assert!(tokio::time::timeout(short, &mut saying).await.is_err());
    drop(saying);
    let began = Instant::now();
    // What is left of a process that has ended and that nobody asked for yet is a zombie.
    let alive = |pid: &String| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        stat.rsplit(')')
            .next()
            .is_some_and(|rest| !rest.is_empty() && !rest.trim_start().starts_with('Z'))
    };
    while pids.iter().any(alive) {
        assert!(began.elapsed() < Duration::from_secs(5), "{pids:?} go on");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    pids
}

#[tokio::test]
async fn a_player_that_is_left_behind_is_stopped_and_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    let pids = folder.path().join("pids");
    // Nothing of it holds the pipes, and the program itself ends at once.
    let leaves = |seconds: f32| {
        let lines = format!(
            "cat > /dev/null; sleep {seconds} < /dev/null > /dev/null 2>&1 & echo $! > {}",
            pids.display()
        );
        script(folder.path(), &lines)
    };
    let left = stopped(leaves(600.0), Pieces::of(["hello"]), &pids).await;
    assert_eq!(left.len(), 1);
    // It is heard to its end before the next sentence begins.
    let began = Instant::now();
    leaves(0.6).say(&Pieces::of(["one", "two"])).await.unwrap();
    let took = began.elapsed().as_secs_f32();
    assert!((1.2..20.0).contains(&took), "{took} s");
}
