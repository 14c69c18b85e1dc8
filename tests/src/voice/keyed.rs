//! The same by push to talk: the wake word is off, and `tiro listen` is all that opens the microphone.

use std::time::{Duration, Instant};

use super::{CONFIG, Came, Scene, WHILE, world};
use crate::{
    program::kill,
    pulse::Pulse,
    speaking::ear::Ear,
    spoken::Sound::{self, Music, Noise, Pause, Read, Request, Say},
};

/// Somebody else than who asks for the time.
const OTHER: &str = "e40289-launch_firefox.wav";
/// Milliseconds from the press of the key, which starts a program, to the last sound of what was being said, at most. On a
/// machine that did much else they were 40.
const SILENT: usize = 500;

impl Scene<'_> {
    /// Presses the key and waits until the microphone is open.
    #[track_caller]
    fn opens(&self, action: &str) {
        self.tiro.run(["listen", action]).expect_code(0);
        // The ear is one, too.
        self.pulse.until_recorders(2);
    }

    #[track_caller]
    fn press(&self, action: &str) {
        self.tiro.run(["listen", action]).expect_code(0);
    }

    /// Says this after a tap and waits until it has been answered, aloud.
    fn taps(&self, parts: &[Sound]) -> Came {
        let turns = self.daemon.status().turns;
        self.opens("toggle");
        let from = self.ear.position();
        let ended = self.play(parts);
        self.answered(turns, from, ended)
    }

    /// The same while the key is held.
    fn holds(&self, parts: &[Sound]) -> Came {
        let turns = self.daemon.status().turns;
        self.opens("start");
        let from = self.ear.position();
        let ended = self.play(parts);
        self.press("stop");
        self.answered(turns, from, ended)
    }

    /// No request comes of this after a tap. What sounds like speech before it is recognised may be told to be nothing.
    fn is_no_request(&self, parts: &[Sound]) {
        let turns = self.daemon.status().turns;
        self.opens("toggle");
        let from = self.ear.position();
        self.play(parts);
        self.until_idle();
        self.pulse.until_recorders(1);
        let status = self.daemon.status();
        if status.turns == turns {
            assert_eq!(self.ear.begins(from), None, "nothing is said to it");
            return;
        }
        let report = self.last_report();
        println!("{parts:?} was recognised: {report}");
        assert_eq!(status.turns, turns + 1);
        assert_eq!(report["say"], "");
        assert_eq!(report["reply"], prompts::words::nothing_heard());
        assert_eq!(report["calls"], serde_json::json!([]));
    }

    /// Asks for something that takes a while to say, and waits until that sounds.
    fn is_spoken_to(&self) {
        let turns = self.daemon.status().turns;
        self.opens("toggle");
        let from = self.ear.position();
        self.play(&[Say("What do I have on my calendar this week?"), Pause(300)]);
        self.daemon
            .until("speaking", |s| s.turns > turns && s.state == "speaking");
        let began = Instant::now();
        while self.ear.begins(from).is_none() {
            assert!(
                began.elapsed() < WHILE,
                "it says that it speaks, and nothing sounds"
            );
            std::thread::sleep(Duration::from_millis(20));
        }
        // Into the middle of it.
        std::thread::sleep(Duration::from_millis(700));
        assert_eq!(self.daemon.status().state, "speaking");
    }

    /// Presses the key; what was being said is silent soon.
    fn silences(&self, action: &str) {
        let from = self.ear.position();
        self.press(action);
        std::thread::sleep(Duration::from_secs(2));
        let silent = self.ear.ends(from);
        println!("{action}: silent {silent} ms after the key");
        assert!(silent < SILENT, "{silent} ms");
    }
}

/// The scenes share one daemon: each leaves it idle, with the microphone closed.
#[test]
fn real_conversation_by_key() {
    let Some((tiro, pulse)) = world() else {
        return;
    };
    // The tones would be heard where nothing is to be heard.
    let config = CONFIG.replace("enabled = true", "enabled = false").replace(
        "[speech]",
        "[listen]\npatience_seconds = 3\n\n[speech]\nearcons = false",
    );
    std::fs::write(tiro.home().join("config.toml"), config).unwrap();
    let (daemon, _) = tiro.daemon_with(&[("PULSE_SERVER", &pulse.address())]);
    assert_eq!(pulse.recorders(), 0, "the microphone is closed");
    let mut scene = Scene::of(&tiro, daemon, pulse);

    println!("-- a tap and a question");
    let came = scene.taps(&[Pause(300), Request, Pause(300)]);
    came.called("clock.now");
    scene.is_heard(&came);
    scene.until_idle();

    println!("-- the key is held across a pause");
    let came = scene.holds(&[
        Say("What do I have on my calendar"),
        Pause(2500),
        Say("tomorrow?"),
        Pause(200),
    ]);
    came.called("calendar.query");
    let said = came.report["say"].as_str().unwrap();
    assert!(said.to_lowercase().contains("tomorrow"), "{said}");
    scene.is_heard(&came);
    scene.until_idle();

    println!("-- the key in the middle of an answer");
    scene.is_spoken_to();
    let turns = scene.daemon.status().turns;
    scene.silences("start");
    assert_eq!(scene.daemon.status().state, "listening");
    let from = scene.ear.position();
    let ended = scene.play(&[Request, Pause(200)]);
    scene.press("stop");
    let came = scene.answered(turns, from, ended);
    came.called("clock.now");
    scene.is_heard(&came);
    scene.until_idle();

    println!("-- cancelled in the middle of an answer");
    scene.is_spoken_to();
    let turns = scene.daemon.status().turns;
    scene.silences("cancel");
    scene.until_idle();
    assert_eq!(scene.daemon.status().turns, turns);

    println!("-- cancelled in the middle of a request");
    scene.opens("start");
    let from = scene.ear.position();
    scene.play(&[Request]);
    scene.press("cancel");
    scene.pulse.until_recorders(1);
    std::thread::sleep(WHILE);
    let status = scene.daemon.status();
    assert_eq!((status.turns, &*status.state), (turns, "idle"));
    assert_eq!(scene.ear.begins(from), None);

    println!("-- silence");
    scene.is_no_request(&[Pause(1000)]);
    assert_eq!(
        scene.daemon.status().turns,
        turns,
        "nobody is asked what silence says"
    );
    println!("-- noise");
    scene.is_no_request(&[Noise(5000)]);
    println!("-- music");
    scene.is_no_request(&[Music(5000), Pause(300)]);

    println!("-- two people, one after the other");
    let came = scene.taps(&[Request, Pause(300)]);
    came.called("clock.now");
    scene.is_heard(&came);
    let came = scene.taps(&[Read(OTHER), Pause(300)]);
    println!("{}", came.report);
    let said = came.report["say"].as_str().unwrap().to_lowercase();
    assert!(said.contains("firefox"), "{said}");
    assert_eq!(came.report["calls"][0]["name"], "system.open_app");
    scene.is_heard(&came);
    scene.until_idle();

    println!("-- the sound server dies while somebody speaks, and comes back");
    let turns = scene.daemon.status().turns;
    scene.opens("start");
    scene.play(&[Request]);
    scene.pulse.crash();
    scene.daemon.until("told", |s| {
        s.state == "idle" && s.problems.iter().any(|p| p.contains("microphone"))
    });
    assert_eq!(scene.daemon.status().turns, turns);
    scene.pulse = Pulse::start(tiro.home()).unwrap();
    scene.ear = Ear::open(&scene.pulse);
    let came = scene.taps(&[Pause(300), Request, Pause(300)]);
    came.called("clock.now");
    scene.is_heard(&came);
    scene.daemon.until("well", |s| s.problems.is_empty());
    scene.until_idle();

    println!("-- the recogniser dies while somebody speaks");
    let turns = scene.daemon.status().turns;
    let pid = scene.daemon.status().stt.pid.expect("the recogniser is loaded");
    scene.opens("start");
    let from = scene.ear.position();
    kill(pid);
    let ended = scene.play(&[Request, Pause(200)]);
    scene.press("stop");
    let came = scene.answered(turns, from, ended);
    // It is there again before it is asked, or is begun then: nobody has to say it twice.
    came.called("clock.now");
    scene.is_heard(&came);
    scene.until_idle();
    let again = scene.daemon.status().stt.pid;
    println!("{pid} became {again:?}");
    assert_ne!(again, Some(pid));
    let came = scene.taps(&[Pause(300), Request, Pause(300)]);
    came.called("clock.now");
    scene.is_heard(&came);
    scene.until_idle();
    assert_eq!(scene.pulse.recorders(), 1, "the microphone is closed");
    scene.were_heard();
}
