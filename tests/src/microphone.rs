//! Push to talk on a real sound server: recordings of people are played into a virtual microphone, and the real loop of
//! the daemon listens to it, over its real socket. The engines follow a script, except in the tests on real models.

use std::{
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::Arc,
    time::{Duration, Instant},
};

use daemon::{
    bus::{self, Tiro1Proxy},
    listen::wav,
    reply::Happening,
    report::Report,
    room::Parts,
};
use futures_util::StreamExt as _;
use models::scripted::{Reply, ScriptedLlm, ScriptedStt};
use tokio::task::JoinHandle;
use zbus::{Connection, MessageStream};

use crate::{
    daemon_loop::{Running, ask, asking_tools, call, note},
    desktop::{Bus, Desktop},
    home::data,
    program::{Tiro, finish},
    pulse::{Kind, Pulse},
    session::{arrives, told},
    spoken::word_error_rate,
};

const PATIENCE: Duration = Duration::from_secs(60);

/// Says to a process of this test binary which folder its one test has; its sound server is there, because the
/// environment of a process is set before it starts and never after.
const FOLDER: &str = "TIRO_TEST_SOUND";

/// Runs a test in a process of its own whose sound server is the private one.
fn alone(name: &str, test: impl AsyncFnOnce(PathBuf, Pulse)) {
    alone_in("microphone", name, test);
}

/// The same for a test of another module.
pub fn alone_in(module: &str, name: &str, test: impl AsyncFnOnce(PathBuf, Pulse)) {
    alone_on(Kind::usual(), module, name, test);
}

/// The same with a sound server of this kind.
pub fn alone_on(kind: Kind, module: &str, name: &str, test: impl AsyncFnOnce(PathBuf, Pulse)) {
    if let Some(folder) = std::env::var_os(FOLDER).map(PathBuf::from) {
        let Some(pulse) = Pulse::of(kind, &folder) else {
            return;
        };
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .enable_all()
            .build()
            .unwrap();
        runtime.block_on(test(folder, pulse));
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let out = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "--nocapture"])
        .arg(format!("{module}::{name}"))
        .envs(kind.environment(folder.path()))
        .env(FOLDER, folder.path())
        .stderr(Stdio::inherit())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&out.stdout);
    print!("{said}");
    assert!(out.status.success(), "{}", out.status);
    // A name that is no test's is no failure to the test runner.
    assert!(
        said.contains("test result: ok. 1 passed"),
        "no test is called {name}"
    );
}

/// A recording of somebody, in the shared data; says so when it is not there.
pub fn recording(name: &str) -> Option<PathBuf> {
    data(&format!("speech/{name}"))
}

/// Somebody who asks for the time.
pub const COMMAND: &str = "read/81e4d2-what_time_is_it.wav";
const OTHER: &str = "read/fd98aa-sense_and_sensibility_01_austen_64kb-0930.wav";

/// No test shows anything on the desktop that it happens to run on.
fn nowhere(parts: &mut Parts) {
    parts.ring.bus = Some("unix:path=/nowhere/at/all".to_owned());
}

/// A daemon, a client of it, and what that is told.
pub struct Talk {
    /// The daemon.
    pub running: Running,
    stt: Arc<ScriptedStt>,
    pub client: Connection,
    pub signals: MessageStream,
}

impl Talk {
    /// Starts one.
    pub async fn with(llm: ScriptedLlm, stt: ScriptedStt, change: impl FnOnce(&mut Parts)) -> Talk {
        let stt = Arc::new(stt);
        let running = Running::start_hearing(llm, stt.clone(), |parts| {
            nowhere(parts);
            change(parts);
        })
        .await;
        let client = running.client().await;
        let signals = MessageStream::from(&client);
        // Whoever has been answered has joined.
        Tiro1Proxy::new(&client).await.unwrap().status().await.unwrap();
        Talk {
            running,
            stt,
            client,
            signals,
        }
    }

    pub async fn listen(&self, action: &str) -> String {
        let proxy = Tiro1Proxy::new(&self.client).await.unwrap();
        proxy.listen(action).await.unwrap()
    }

    /// Somebody else types.
    async fn type_in(&self, text: &'static str) -> JoinHandle<zbus::Result<Report>> {
        let client = self.running.client().await;
        tokio::spawn(async move { ask(&client, text).await })
    }

    /// Listens, and waits until the microphone is open.
    pub async fn open(&self, action: &str, pulse: &Pulse) {
        assert_eq!(self.listen(action).await, "listening");
        pulse.until_recorders(1);
    }

    /// The next happening for which this gives something.
    pub async fn told<T>(&mut self, what: &str, mut pick: impl FnMut(Happening) -> Option<T>) -> T {
        let next = async {
            loop {
                let message = self.signals.next().await.unwrap().unwrap();
                if let Some(found) = bus::happening(&message).and_then(&mut pick) {
                    return found;
                }
            }
        };
        tokio::time::timeout(PATIENCE, next)
            .await
            .unwrap_or_else(|_| panic!("never told {what}"))
    }

    pub async fn reply(&mut self) -> String {
        self.told("the reply", |h| match h {
            Happening::Replied { text } => Some(text),
            _ => None,
        })
        .await
    }

    pub async fn notice(&mut self) -> String {
        self.told("what is wrong", |h| match h {
            Happening::Noticed { text } => Some(text),
            _ => None,
        })
        .await
    }

    /// What the recogniser was given.
    pub fn heard(&self) -> Vec<Vec<f32>> {
        let requests = self.stt.requests();
        requests.into_iter().map(|r| r.samples).collect()
    }
}

/// What asks for tomorrow.
pub fn tomorrow() -> String {
    call("calendar.query", r#"{"when": "tomorrow"}"#)
}

/// How alike what was played and the part of what was heard are that is most like it: the normalised cross-correlation,
/// 1 for the same but for loudness and place.
fn likeness(played: &[f32], heard: &[f32]) -> f32 {
    let range = daemon::listen::vad::speech(played).unwrap();
    // Without the silence around it, of which there is as much as anybody likes.
    likeness_of(&played[range.start + 4000..range.end - 4000], heard)
}

/// The same of all of what was played.
pub fn likeness_of(played: &[f32], heard: &[f32]) -> f32 {
    let at = |lag: usize, step: usize| -> f32 {
        let (mut dot, mut a, mut b) = (0.0, 0.0, 0.0);
        for (x, y) in played.iter().zip(&heard[lag..]).step_by(step) {
            dot += x * y;
            a += x * x;
            b += y * y;
        }
        dot / (a * b).sqrt().max(f32::MIN_POSITIVE)
    };
    let lags = heard.len().saturating_sub(played.len());
    let rough = (0..lags).map(|lag| (lag, at(lag, 97)));
    let best = rough.max_by(|a, b| a.1.total_cmp(&b.1)).map(|(lag, _)| lag);
    let near = |lag: usize| lag.saturating_sub(8)..(lag + 8).min(lags);
    let all = best.into_iter().flat_map(near).map(|lag| at(lag, 1));
    all.fold(0.0, f32::max)
}

#[test]
fn what_is_said_after_a_tap_is_what_the_recogniser_gets_and_becomes_a_turn() {
    alone(
        "what_is_said_after_a_tap_is_what_the_recogniser_gets_and_becomes_a_turn",
        async |_, pulse| tap_becomes_a_turn(&pulse).await,
    );
}

/// Somebody taps the key and speaks, whatever the sound server is.
pub async fn tap_becomes_a_turn(pulse: &Pulse) {
    let Some(command) = recording(COMMAND) else { return };
    let llm = ScriptedLlm::replies([tomorrow()]);
    let stt = ScriptedStt::replies(["what do I have tomorrow"]);
    let mut talk = Talk::with(llm, stt, |_| ()).await;
    assert_eq!(pulse.recorders(), 0, "the microphone is closed");
    let began = Instant::now();
    talk.open("toggle", pulse).await;
    println!("the microphone is open after {} ms", began.elapsed().as_millis());
    talk.running.until("listening", |s| s.state == "listening").await;
    pulse.speak(&command);
    let spoken = Instant::now();
    let reply = talk.reply().await;
    println!(
        "answered {} ms after the recording ended",
        spoken.elapsed().as_millis()
    );
    assert!(reply.contains("Dentist"), "{reply}");
    pulse.until_recorders(0);
    let (heard, played) = (talk.heard(), wav::read(&command).unwrap());
    assert_eq!(heard.len(), 1);
    let like = likeness(&played, &heard[0]);
    println!("likeness {like}, {} s heard", heard[0].len() / 16_000);
    assert!(like > 0.9, "{like}");
    assert!(talk.running.llm.prompts()[0].contains("what do I have tomorrow"));
    talk.running
        .until("idle", |s| s.state == "idle" && s.turns == 1)
        .await;
}

#[test]
fn who_holds_the_key_is_heard_across_a_pause() {
    alone("who_holds_the_key_is_heard_across_a_pause", async |_, pulse| {
        let (Some(first), Some(second)) = (recording(OTHER), recording(COMMAND)) else {
            return;
        };
        let llm = ScriptedLlm::replies([tomorrow()]);
        let mut talk = Talk::with(llm, ScriptedStt::replies(["tomorrow"]), |_| ()).await;
        talk.open("start", &pulse).await;
        pulse.speak(&first);
        // Longer than what ends a tap.
        tokio::time::sleep(Duration::from_secs(3)).await;
        assert_eq!(
            talk.listen("start").await,
            "listening",
            "once more changes nothing"
        );
        pulse.speak(&second);
        assert_eq!(talk.listen("stop").await, "transcribing");
        talk.reply().await;
        let heard = talk.heard();
        assert_eq!(heard.len(), 1);
        for part in [&first, &second] {
            let like = likeness(&wav::read(part).unwrap(), &heard[0]);
            println!("likeness {like}");
            assert!(like > 0.9, "{like} of {}", part.display());
        }
        pulse.until_recorders(0);
    });
}

#[test]
fn silence_is_no_turn_and_what_is_cancelled_is_gone() {
    alone(
        "silence_is_no_turn_and_what_is_cancelled_is_gone",
        async |_, pulse| {
            let Some(command) = recording(COMMAND) else { return };
            let llm = ScriptedLlm::replies::<&str>([]);
            let mut talk = Talk::with(llm, ScriptedStt::replies::<&str>([]), |parts| {
                parts.listen.patience = Duration::from_secs(1);
            })
            .await;
            talk.open("toggle", &pulse).await;
            assert_eq!(talk.notice().await, prompts::words::nothing_heard());
            talk.running.until("idle", |s| s.state == "idle").await;
            pulse.until_recorders(0);

            // A key that was only touched.
            talk.open("start", &pulse).await;
            talk.listen("stop").await;
            assert_eq!(talk.notice().await, prompts::words::nothing_heard());

            talk.open("start", &pulse).await;
            pulse.speak(&command);
            assert_eq!(talk.listen("cancel").await, "idle");
            pulse.until_recorders(0);
            talk.running
                .until("idle", |s| s.state == "idle" && s.turns == 0)
                .await;
            assert_eq!(talk.heard(), [[0.0_f32; 0]; 0], "the recogniser was not asked");
            // Nothing listens, nothing runs: nothing to do.
            assert_eq!(talk.listen("stop").await, "idle");
            assert_eq!(talk.listen("cancel").await, "idle");
            let proxy = Tiro1Proxy::new(&talk.client).await.unwrap();
            let wrong = proxy.listen("loudly").await.unwrap_err().to_string();
            assert!(
                wrong.contains("start, stop, toggle, cancel, mute or unmute"),
                "{wrong}"
            );
        },
    );
}

#[test]
fn a_sound_server_that_dies_costs_one_sentence() {
    alone(
        "a_sound_server_that_dies_costs_one_sentence",
        async |folder, pulse| server_dies(&folder, pulse).await,
    );
}

/// A sound server of any kind dies and comes back.
pub async fn server_dies(folder: &Path, pulse: Pulse) {
    let Some(command) = recording(COMMAND) else { return };
    let llm = ScriptedLlm::replies([tomorrow(), tomorrow()]);
    let mut talk = Talk::with(llm, ScriptedStt::replies(["tomorrow"]), |_| ()).await;
    talk.open("start", &pulse).await;
    // Long enough for sound to come.
    tokio::time::sleep(Duration::from_secs(1)).await;
    let began = Instant::now();
    let kind = pulse.kind();
    pulse.kill();
    let sentence = talk.notice().await;
    println!("{} ms after it died: {sentence}", began.elapsed().as_millis());
    assert!(
        sentence.contains("microphone") && sentence.ends_with('.'),
        "{sentence}"
    );
    talk.running
        .until("told", |s| s.state == "idle" && s.problems == [sentence.clone()])
        .await;
    // There is none to be had, which is said, too.
    talk.listen("toggle").await;
    let none = talk.notice().await;
    println!("{none}");
    assert!(none.ends_with('.'), "{none}");
    assert!(
        none.contains("no microphone") || none.contains("cannot be reached"),
        "{none}"
    );
    let reply = ask(&talk.client, "what do I have tomorrow").await.unwrap().reply;
    assert!(reply.contains("Dentist"), "{reply}");

    let pulse = Pulse::of(kind, folder).unwrap();
    talk.reply().await;
    // Nobody taps the key again this fast.
    tokio::time::sleep(Duration::from_millis(800)).await;
    talk.open("toggle", &pulse).await;
    pulse.speak(&command);
    let reply = talk.reply().await;
    assert!(reply.contains("Dentist"), "{reply}");
    let like = likeness(&wav::read(&command).unwrap(), &talk.heard()[0]);
    assert!(like > 0.9, "{like}");
    talk.running.until("well", |s| s.problems.is_empty()).await;
}

#[test]
fn a_sound_server_that_hangs_is_left_behind() {
    alone("a_sound_server_that_hangs_is_left_behind", async |_, pulse| {
        let Some(command) = recording(COMMAND) else { return };
        let llm = ScriptedLlm::replies([tomorrow()]);
        let mut talk = Talk::with(llm, ScriptedStt::replies(["tomorrow"]), |_| ()).await;
        talk.open("start", &pulse).await;
        tokio::time::sleep(Duration::from_secs(1)).await;
        for (action, why) in [("", "no sound comes"), ("toggle", "sound server")] {
            let began = Instant::now();
            pulse.pause();
            // Once while it listens, and once before it does.
            if !action.is_empty() {
                assert_eq!(talk.listen(action).await, "listening");
            }
            let sentence = talk.notice().await;
            println!("{} ms after it hung: {sentence}", began.elapsed().as_millis());
            assert!(sentence.contains(why), "{sentence}");
            assert!(began.elapsed() < Duration::from_secs(20), "{sentence}");
            talk.running.until("idle", |s| s.state == "idle").await;
            pulse.resume();
        }
        // What hung lets go of the microphone as soon as it can.
        pulse.until_recorders(0);
        talk.open("toggle", &pulse).await;
        pulse.speak(&command);
        assert!(talk.reply().await.contains("Dentist"));
    });
}

#[test]
fn a_microphone_that_is_not_there_is_named_with_those_that_are() {
    alone(
        "a_microphone_that_is_not_there_is_named_with_those_that_are",
        async |_, _pulse| {
            let llm = ScriptedLlm::replies([Reply::Hang("Once upon".to_owned())]);
            let mut talk = Talk::with(llm, ScriptedStt::replies::<&str>([]), |parts| {
                parts.listen.device = "headset".to_owned();
            })
            .await;
            talk.listen("start").await;
            let sentence = talk.notice().await;
            println!("{sentence}");
            assert!(
                sentence.contains("no microphone headset") && sentence.contains("There is: Desk-Microphone."),
                "{sentence}"
            );
            talk.running.until("idle", |s| s.state == "idle").await;

            // Nobody can have said anything, so nothing is interrupted.
            let story = talk.type_in("tell me a story").await;
            talk.running.until_asked(1).await;
            talk.listen("start").await;
            assert_eq!(talk.notice().await, sentence);
            talk.running.until_asked(1).await;
            assert!(!story.is_finished());
            talk.listen("cancel").await;
            assert!(story.await.unwrap().is_err());
        },
    );
}

#[test]
fn who_speaks_interrupts_the_answer() {
    alone("who_speaks_interrupts_the_answer", async |_, pulse| {
        let Some(command) = recording(COMMAND) else { return };
        let llm = ScriptedLlm::replies([Reply::Hang("Once upon".to_owned()), Reply::Text(tomorrow())]);
        let mut talk = Talk::with(llm, ScriptedStt::replies(["tomorrow"]), |_| ()).await;
        let story = talk.type_in("tell me a story").await;
        talk.running.until_asked(1).await;
        talk.open("toggle", &pulse).await;
        let interrupted = story.await.unwrap().unwrap_err().to_string();
        assert!(interrupted.contains("cancelled"), "{interrupted}");
        pulse.speak(&command);
        let reply = talk.reply().await;
        assert!(reply.contains("Dentist"), "{reply}");
    });
}

#[test]
fn what_is_typed_waits_for_what_is_said() {
    alone("what_is_typed_waits_for_what_is_said", async |_, pulse| {
        let Some(command) = recording(COMMAND) else { return };
        let hang = Reply::Hang("Once upon".to_owned());
        let then = std::iter::repeat_with(|| Reply::Text(tomorrow())).take(4);
        let llm = ScriptedLlm::replies(std::iter::once(hang).chain(then));
        let mut talk = Talk::with(llm, ScriptedStt::replies(["spoken words"]), |_| ()).await;
        let story = talk.type_in("tell me a story").await;
        talk.running.until_asked(1).await;
        let before = talk.type_in("typed before").await;
        talk.running.until("waiting", |s| s.waiting == 1).await;
        talk.open("toggle", &pulse).await;
        assert!(story.await.unwrap().is_err());
        let meanwhile = talk.type_in("typed meanwhile").await;
        talk.running
            .until("both waiting", |s| s.waiting == 2 && s.state == "listening")
            .await;
        pulse.speak(&command);
        talk.reply().await;
        before.await.unwrap().unwrap();
        meanwhile.await.unwrap().unwrap();
        let prompts = talk.running.llm.prompts();
        assert_eq!(prompts.len(), 4);
        let order = ["spoken words", "typed before", "typed meanwhile"];
        for (n, prompt) in prompts[1..].iter().enumerate() {
            let said = order.map(|text| prompt.contains(text));
            assert_eq!(said, [true, n >= 1, n >= 2], "{prompt}");
        }

        // What waits begins when nothing comes of the listening, too.
        talk.open("start", &pulse).await;
        let typed = talk.type_in("typed again").await;
        talk.running.until("waiting", |s| s.waiting == 1).await;
        talk.listen("cancel").await;
        typed.await.unwrap().unwrap();
        pulse.until_recorders(0);
    });
}

#[test]
fn who_presses_again_at_once_is_heard_twice() {
    alone("who_presses_again_at_once_is_heard_twice", async |_, pulse| {
        let (Some(first), Some(second)) = (recording(COMMAND), recording(OTHER)) else {
            return;
        };
        let llm = ScriptedLlm::replies([tomorrow(), tomorrow()]);
        let stt = ScriptedStt::replies(["the first words", "the second words"]);
        let mut talk = Talk::with(llm, stt, |_| ()).await;
        talk.open("start", &pulse).await;
        pulse.speak(&first);
        // Nobody waits for the first to be closed: the events of the loop come one after the other.
        assert_eq!(talk.listen("stop").await, "transcribing");
        assert_eq!(talk.listen("start").await, "listening");
        tokio::time::sleep(Duration::from_secs(2)).await;
        pulse.speak(&second);
        assert_eq!(talk.listen("stop").await, "transcribing");
        for _ in 0..2 {
            talk.reply().await;
        }
        let prompts = talk.running.llm.prompts();
        assert!(!prompts[0].contains("the second words"), "{}", prompts[0]);
        assert!(prompts[1].contains("the second words"), "{}", prompts[1]);
        for (part, heard) in [first, second].iter().zip(talk.heard()) {
            let like = likeness(&wav::read(part).unwrap(), &heard);
            assert!(like > 0.9, "{like} of {}", part.display());
        }
        pulse.until_recorders(0);
    });
}

#[test]
fn who_waits_is_told_that_what_was_said_is_not_answered() {
    alone(
        "who_waits_is_told_that_what_was_said_is_not_answered",
        async |_, pulse| {
            let Some(command) = recording(COMMAND) else { return };
            let llm = ScriptedLlm::replies([Reply::Hang("Once upon".to_owned())]);
            let mut talk = Talk::with(llm, ScriptedStt::replies(["tell me a story"]), |_| ()).await;
            talk.open("start", &pulse).await;
            pulse.speak(&command);
            talk.listen("stop").await;
            talk.running.until_asked(1).await;
            let other = talk.running.client().await;
            Tiro1Proxy::new(&other)
                .await
                .unwrap()
                .listen("cancel")
                .await
                .unwrap();
            assert_eq!(talk.reply().await, prompts::words::cancelled());
        },
    );
}

#[test]
fn a_key_that_repeats_itself_is_tapped_once() {
    alone("a_key_that_repeats_itself_is_tapped_once", async |_, pulse| {
        let llm = ScriptedLlm::replies::<&str>([]);
        let talk = Talk::with(llm, ScriptedStt::replies::<&str>([]), |parts| {
            parts.listen.patience = PATIENCE;
        })
        .await;
        let mut last = Instant::now();
        assert_eq!(talk.listen("toggle").await, "listening");
        for n in 0..10 {
            // A keyboard waits before it repeats a key for the first time, on X 660 ms.
            let pause = if n == 0 { 660 } else { 30 };
            tokio::time::sleep_until((last + Duration::from_millis(pause)).into()).await;
            let began = Instant::now();
            let state = talk.listen("toggle").await;
            // On a machine that is this busy it may have been another tap.
            if last.elapsed() > Duration::from_millis(700) {
                return println!("SKIPPED: the machine is too busy");
            }
            assert_eq!(state, "listening");
            last = began;
        }
        pulse.until_recorders(1);
        tokio::time::sleep(Duration::from_millis(800)).await;
        assert_eq!(talk.listen("toggle").await, "transcribing");
        pulse.until_recorders(0);
    });
}

#[test]
fn a_key_is_enough_to_ask_and_to_answer_what_is_asked_back() {
    alone(
        "a_key_is_enough_to_ask_and_to_answer_what_is_asked_back",
        async |folder, pulse| {
            let Some(command) = recording(COMMAND) else { return };
            let Some(session) = Bus::start(&folder) else {
                return;
            };
            let desktop = Desktop::default();
            let _desktop = desktop.serve(&session).await;
            let llm = ScriptedLlm::replies([note("Buy milk")]);
            let stt =
                ScriptedStt::replies(["note that I need to buy milk", "What was that?", "Yes, please."]);
            let mut talk = Talk::with(llm, stt, |parts| {
                asking_tools(parts);
                parts.limits.patience = PATIENCE;
                parts.ring.bus = Some(session.address.clone());
            })
            .await;
            // Each press of the key is a client that is gone at once.
            let press = async || {
                let key = talk.running.client().await;
                Tiro1Proxy::new(&key)
                    .await
                    .unwrap()
                    .listen("toggle")
                    .await
                    .unwrap()
            };
            let steps = [
                ("confirming", "Buy milk"),
                ("confirming", "Please answer yes or no."),
                ("idle", "I saved the note."),
            ];
            for (n, (then, text)) in steps.into_iter().enumerate() {
                // The last time somebody waits.
                let state = match n {
                    2 => talk.listen("toggle").await,
                    _ => press().await,
                };
                assert_eq!(state, "listening");
                pulse.until_recorders(1);
                pulse.speak(&command);
                talk.running.until(then, |s| s.state == then).await;
                let shown = desktop.shown(n).await;
                println!("{shown:?}");
                assert!(
                    shown.text.contains(text) || shown.body.contains(text),
                    "{shown:?}"
                );
            }
            talk.running.until("done", |s| s.turns == 1).await;
            assert_eq!(talk.reply().await, "You said yes.");
            let notes = talk.running.home.dirs().notes;
            let kept = std::fs::read_dir(notes).unwrap().flatten();
            let mut kept = kept.map(|file| std::fs::read_to_string(file.path()).unwrap_or_default());
            assert!(kept.any(|text| text.contains("Buy milk")));
        },
    );
}

#[test]
fn who_is_only_on_the_bus_cannot_make_it_listen_and_hears_no_word() {
    alone(
        "who_is_only_on_the_bus_cannot_make_it_listen_and_hears_no_word",
        async |folder, pulse| {
            let Some(command) = recording(COMMAND) else { return };
            let Some(session) = Bus::start(&folder) else {
                return;
            };
            let llm = ScriptedLlm::replies([tomorrow()]);
            let talk = Talk::with(llm, ScriptedStt::replies(["tomorrow"]), |_| ()).await;
            let _attending = talk.running.attend(&session.address);
            let extension = session.client().await;
            arrives(&extension).await;
            let mut signals = MessageStream::from(&extension);
            let proxy = Tiro1Proxy::new(&extension).await.unwrap();
            let refused = proxy.listen("toggle").await.unwrap_err().to_string();
            assert!(refused.contains("socket"), "{refused}");
            assert_eq!(talk.running.status().await.state, "idle");
            talk.open("toggle", &pulse).await;
            pulse.speak(&command);
            talk.running
                .until("done", |s| s.turns == 1 && s.state == "idle")
                .await;
            let told = told(&mut signals, &extension).await;
            let state = |h: &Happening| matches!(h, Happening::State { .. });
            assert!(!told.is_empty() && told.iter().all(state), "{told:?}");
        },
    );
}

/// The built program, its engines, the virtual microphone: a key is pressed, somebody speaks, the answer is printed.
#[test]
fn real_speech_into_the_microphone_is_understood_and_answered() {
    let Some(tiro) = Tiro::in_the_demo_world() else {
        return;
    };
    let Some(pulse) = Pulse::start(tiro.home()) else {
        return;
    };
    let sentences = [
        ("toggle", COMMAND, "what time is it"),
        ("start", OTHER, "he might even have been made amiable himself"),
    ];
    let sentences = sentences.map(|(action, file, said)| Some((action, recording(file)?, said)));
    let [Some(command), Some(read)] = sentences else {
        return;
    };
    let (daemon, _) = tiro.daemon_with(&[("PULSE_SERVER", &pulse.address())]);
    for (action, file, said) in [command, read] {
        let began = Instant::now();
        let listening = tiro.command(["-v", "listen", "--wait", action]).spawn().unwrap();
        daemon.until("listening", |s| s.state == "listening");
        println!("{action}: listening within {} ms", began.elapsed().as_millis());
        pulse.until_recorders(1);
        pulse.speak(&file);
        let spoken = Instant::now();
        if action == "start" {
            tiro.run(["listen", "stop"]).expect_code(0);
        }
        let ran = finish(listening);
        println!("answered after {} ms: {ran:?}", spoken.elapsed().as_millis());
        let heard = ran
            .err
            .lines()
            .find_map(|line| line.strip_prefix("heard    \""))
            .unwrap();
        let heard = heard.split_once('"').unwrap().0;
        let rate = word_error_rate(said, heard);
        println!("{heard:?}: word error rate {rate:.2}");
        assert!(rate <= 0.25, "{heard:?}: {rate}");
        assert!(!ran.out.trim().is_empty());
    }
    pulse.until_recorders(0);
}

/// What a key binding costs.
#[test]
fn real_key_press_takes_no_time() {
    let Some(tiro) = Tiro::find() else { return };
    let off = tiro.run(["listen", "toggle"]);
    off.expect_code(1)
        .says(&["The daemon is not running; start it with `tiro daemon`."]);
    let Some(pulse) = Pulse::start(tiro.home()) else {
        return;
    };
    let (daemon, _) = tiro.daemon_with(&[("PULSE_SERVER", &pulse.address())]);
    let threads = || {
        let tasks = std::fs::read_dir(format!("/proc/{}/task", daemon.status().pid));
        tasks.map_or(0, Iterator::count)
    };
    let (mut times, mut before) = (Vec::new(), 0);
    for n in 0..10 {
        // The first ones leave threads to those that follow.
        if n == 2 {
            before = threads();
        }
        let began = Instant::now();
        tiro.run(["listen", "start"]).expect_code(0);
        times.push(began.elapsed().as_millis());
        pulse.until_recorders(1);
        tiro.run(["listen", "cancel"]).expect_code(0);
        pulse.until_recorders(0);
    }
    times.sort_unstable();
    let after = threads();
    println!("tiro listen start: {times:?} ms; {before} threads became {after}");
    // The whole program, from its start to its end, in a quiet moment of this machine.
    assert!(times[0] < 30, "{times:?} ms");
    assert!(after <= before + 2);

    // Who goes does not leave the microphone open.
    let waiting = tiro.command(["listen", "--wait", "start"]).spawn().unwrap();
    pulse.until_recorders(1);
    daemon.until("listening", |s| s.state == "listening");
    let pid = rustix::process::Pid::from_raw(waiting.id().try_into().unwrap()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    finish(waiting).expect_code(1);
    pulse.until_recorders(0);
    daemon.until("idle", |s| s.state == "idle");
}
