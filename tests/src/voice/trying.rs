//! `tiro wake test` at a microphone: what is said is shown, and whether it would have woken Tiro.

use std::{
    io::{BufRead as _, BufReader},
    process::Stdio,
    sync::mpsc,
};

use serde_json::Value;

use super::{Pause, Phrase, Request, WHILE, world};
use crate::{
    program::{Tiro, finish, interrupt},
    pulse::Pulse,
    spoken::sounds,
};

/// How long the program waits for words; who tries ends it sooner.
const LONG: &str = "120";

/// Somebody tries "computer". The lines come as they are said; the sender ends with the program.
fn trying(tiro: &Tiro, pulse: &Pulse) -> (std::process::Child, mpsc::Receiver<Value>) {
    let mut child = tiro
        .command([
            "wake",
            "test",
            "--phrase",
            "computer",
            "--seconds",
            LONG,
            "--json",
        ])
        .env("PULSE_SERVER", pulse.address())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let (give, lines) = mpsc::channel();
    let out = BufReader::new(child.stdout.take().unwrap());
    std::thread::spawn(move || {
        for line in out.lines().map_while(Result::ok) {
            if give.send(serde_json::from_str(&line).unwrap()).is_err() {
                return;
            }
        }
    });
    pulse.until_recorders(1);
    (child, lines)
}

#[test]
fn real_who_tries_a_phrase_is_shown_what_was_heard() {
    let Some((tiro, pulse)) = world() else { return };
    let play = |parts: &[_]| {
        let sound = sounds(tiro.home(), parts).expect("the recordings are there");
        pulse.speak(&sound);
    };
    let (child, lines) = trying(&tiro, &pulse);
    // A recorder is there a moment before the microphone is open.
    play(&[Pause(1500), Request, Pause(1000)]);
    let other = lines.recv_timeout(WHILE).unwrap();
    assert_eq!(other["heard"], false, "{other}");
    assert!(other["text"].as_str().unwrap().contains("time"), "{other}");
    play(&[Pause(300), Phrase(0), Pause(1000)]);
    let phrase = lines.recv_timeout(WHILE).unwrap();
    assert_eq!(
        (&phrase["heard"], &phrase["phrase"]),
        (&true.into(), &"computer".into()),
        "{phrase}"
    );
    assert!(phrase["at"].as_f64() > other["at"].as_f64(), "{other} {phrase}");
    interrupt(child.id());
    finish(child).expect_code(0);
    pulse.until_recorders(0);

    // Nobody says it this time, and the sound server ends.
    let (child, lines) = trying(&tiro, &pulse);
    play(&[Pause(1500), Request, Pause(1000)]);
    assert_eq!(lines.recv_timeout(WHILE).unwrap()["heard"], false);
    pulse.kill();
    let ran = finish(child);
    assert_ne!(ran.code, Some(0));
    ran.says(&["The microphone went away"]);
}
