//! Real voices, heard on the speaker of a real sound server: when they begin, that they stop, and that what is heard are the words.

use std::{
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use daemon::speak::{Choice, Settings, Speaker, Trouble, earcon::Earcon};

use super::ear::Ear;
use crate::{
    desktop::skipped,
    program::{Tiro, finish},
    pulse::{Pulse, address_in},
};

const PATIENCE: Duration = Duration::from_secs(60);
/// Longest from a text to its first sound, in milliseconds of sound, on a loaded machine.
const BEGINS: usize = 8000;
/// Longest that a voice sounds after it was stopped, in milliseconds; the recorder itself is a few pieces behind.
const STOPS: usize = 300 + 60;
const LONG: &str = "This is a long sentence, which goes on and on about nothing at all, and which will be stopped long \
                    before it comes to its end, because nobody wants to listen to it any more.";

/// A speech-dispatcher of the test's own; ended when dropped.
struct Server {
    process: Child,
    socket: PathBuf,
}

/// Whether speech-dispatcher has its usual voice; says loudly when not.
fn has_module() -> bool {
    let places = [
        "/usr/lib",
        "/usr/lib64",
        "/usr/libexec",
        "/usr/lib/x86_64-linux-gnu",
    ];
    let module = "speech-dispatcher-modules/sd_espeak-ng";
    let has = places.iter().any(|place| Path::new(place).join(module).is_file());
    if !has {
        skipped("speech-dispatcher's espeak-ng module");
    }
    has
}

impl Server {
    /// `None` with a loud line where there is none, or no voice for it.
    fn start(folder: &Path, pulse: &Pulse) -> Option<Server> {
        if !has_module() {
            return None;
        }
        let (config, socket) = (folder.join("speechd"), folder.join("speechd.sock"));
        for place in ["modules", "log", "run"] {
            std::fs::create_dir_all(config.join(place)).unwrap();
        }
        std::fs::write(config.join("modules/espeak-ng.conf"), "Debug 0\n").unwrap();
        let text = "Timeout 0\nAudioOutputMethod \"pulse\"\nAddModule \"espeak-ng\" \"sd_espeak-ng\" \"espeak-ng.conf\"\n\
                    DefaultModule espeak-ng\nLanguageDefaultModule \"en\" \"espeak-ng\"\n";
        std::fs::write(config.join("speechd.conf"), text).unwrap();
        let started = Command::new("speech-dispatcher")
            .args(["--run-single", "--log-level", "1", "--config-dir"])
            .arg(&config)
            .args(["--communication-method", "unix_socket", "--socket-path"])
            .arg(&socket)
            .arg("--pid-file")
            .arg(config.join("pid"))
            .arg("--log-dir")
            .arg(config.join("log"))
            .env("PULSE_SERVER", pulse.address())
            .env("HOME", folder)
            .env("XDG_RUNTIME_DIR", config.join("run"))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        let Ok(process) = started else {
            skipped("speech-dispatcher");
            return None;
        };
        let mut server = Server { process, socket };
        let began = Instant::now();
        while std::os::unix::net::UnixStream::connect(&server.socket).is_err() {
            let waited = began.elapsed() < PATIENCE && server.process.try_wait().unwrap().is_none();
            assert!(waited, "speech-dispatcher does not start");
            std::thread::sleep(Duration::from_millis(10));
        }
        Some(server)
    }

    fn pause(&self) {
        let pid = rustix::process::Pid::from_raw(self.process.id().try_into().unwrap()).unwrap();
        rustix::process::kill_process(pid, rustix::process::Signal::STOP).unwrap();
    }

    fn kill(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.kill();
    }
}

fn there(program: &str) -> bool {
    let found = Command::new(program)
        .arg("--version")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    let there = found.is_ok_and(|status| status.success());
    if !there {
        skipped(program);
    }
    there
}

fn settings(choice: Choice, pulse: &Pulse) -> Settings {
    Settings {
        choice,
        speaker: Some(pulse.address()),
        ..Settings::default()
    }
}

/// Says this to the end, which is heard; milliseconds until it begins.
async fn is_heard(speaker: &Speaker, ear: &Ear, text: &str) -> usize {
    let from = ear.position();
    speaker.say(text).await.unwrap();
    let begins = ear.begins(from).expect("nothing was heard");
    assert!(begins < BEGINS, "it begins after {begins} ms");
    begins
}

/// Stops a long text in its middle, after which nothing is heard.
async fn stops(speaker: &Speaker, ear: &Ear) {
    let from = ear.position();
    let saying = tokio::spawn({
        let speaker = speaker.clone();
        async move { speaker.say(LONG).await }
    });
    let begins = ear.until_sound(from).await;
    ear.listen(0.5).await;
    assert!(!saying.is_finished() && speaker.speaking());
    let stopped = ear.position();
    saying.abort();
    ear.listen(3.0).await;
    let ends = ear.ends(stopped);
    println!("first sound after {begins} ms, silent {ends} ms after it was stopped");
    assert!(ends <= STOPS, "it goes on for {ends} ms");
    assert!(!speaker.speaking());
}

#[tokio::test(flavor = "multi_thread")]
async fn speech_dispatcher_is_heard_and_stops() {
    let folder = tempfile::tempdir().unwrap();
    let Some(pulse) = Pulse::start(folder.path()) else {
        return;
    };
    let Some(mut server) = Server::start(folder.path(), &pulse) else {
        return;
    };
    let ear = Ear::open(&pulse);
    let speaker = Speaker::of(Settings {
        socket: Some(server.socket.clone()),
        ..settings(Choice::SpeechDispatcher, &pulse)
    });
    let there = speaker.voices()[0].there().await.unwrap();
    assert!(there.contains("espeak-ng"), "{there}");
    println!(
        "heard after {} ms",
        is_heard(&speaker, &ear, "Good morning. You have mail.").await
    );
    // What looks like an order is text.
    is_heard(&speaker, &ear, ".\r\nQUIT\r\n. Still here.").await;
    stops(&speaker, &ear).await;
    is_heard(&speaker, &ear, "And again.").await;

    // It is killed in the middle of a sentence.
    let from = ear.position();
    let saying = tokio::spawn({
        let speaker = speaker.clone();
        async move { speaker.say(LONG).await }
    });
    ear.until_sound(from).await;
    server.kill();
    let trouble = tokio::time::timeout(Duration::from_secs(5), saying)
        .await
        .expect("soon")
        .unwrap()
        .unwrap_err();
    assert!(
        matches!(&trouble, Trouble::Failed(text) if text.contains("went away")),
        "{trouble:?}"
    );
    let trouble = speaker.say("Hello?").await.unwrap_err();
    println!("{trouble}");
}

/// Says to a process of this test binary which folder is its runtime folder; there is no speech-dispatcher yet.
const FOLDER: &str = "TIRO_TEST_SPEECH";

#[test]
fn a_server_that_nobody_has_started_is_started() {
    if let Some(folder) = std::env::var_os(FOLDER).map(PathBuf::from) {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .enable_all()
            .build()
            .unwrap();
        return runtime.block_on(starts(&folder));
    }
    if !has_module() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let out = Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "--nocapture",
            "speaking::voices::a_server_that_nobody_has_started_is_started",
        ])
        .env("PULSE_SERVER", address_in(folder.path()))
        .env("HOME", folder.path())
        .env("XDG_RUNTIME_DIR", folder.path())
        .env_remove("SPEECHD_ADDRESS")
        .env(FOLDER, folder.path())
        .stderr(Stdio::inherit())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&out.stdout);
    print!("{said}");
    assert!(
        out.status.success() && said.contains("test result: ok. 1 passed"),
        "{}",
        out.status
    );
}

async fn starts(folder: &Path) {
    let Some(pulse) = Pulse::start(folder) else { return };
    let ear = Ear::open(&pulse);
    let speaker = Speaker::of(settings(Choice::SpeechDispatcher, &pulse));
    let there = speaker.voices()[0].there().await.unwrap();
    assert!(there.contains("starts when it is needed"), "{there}");
    println!(
        "started and heard after {} ms",
        is_heard(&speaker, &ear, "Good morning.").await
    );
    // It ends by itself some seconds after its last client.
    let there = speaker.voices()[0].there().await.unwrap();
    assert!(there.contains("espeak-ng"), "{there}");
}

#[tokio::test(flavor = "multi_thread")]
async fn another_voice_takes_over_when_the_server_dies() {
    let folder = tempfile::tempdir().unwrap();
    let Some(pulse) = Pulse::start(folder.path()) else {
        return;
    };
    let Some(mut server) = Server::start(folder.path(), &pulse) else {
        return;
    };
    if !there("espeak-ng") {
        return;
    }
    let ear = Ear::open(&pulse);
    let speaker = Speaker::of(Settings {
        socket: Some(server.socket.clone()),
        ..settings(Choice::Auto, &pulse)
    });
    let from = ear.position();
    let saying = tokio::spawn({
        let speaker = speaker.clone();
        async move {
            speaker
                .say("The first sentence is said by a server that dies in it. The second one is not.")
                .await
        }
    });
    ear.until_sound(from).await;
    server.kill();
    // What its voice has left to play.
    ear.listen(0.5).await;
    let killed = ear.position();
    saying.await.unwrap().unwrap();
    let (begins, ends) = (ear.begins(killed).unwrap(), ear.ends(killed));
    println!("the other voice is heard from {begins} to {ends} ms after that");
    assert!(ends > 3000, "the sentence is said again, and the second one");
}

#[tokio::test(flavor = "multi_thread")]
async fn another_voice_takes_over_when_the_server_hangs() {
    let folder = tempfile::tempdir().unwrap();
    let Some(pulse) = Pulse::start(folder.path()) else {
        return;
    };
    let Some(server) = Server::start(folder.path(), &pulse) else {
        return;
    };
    if !there("espeak-ng") {
        return;
    }
    let ear = Ear::open(&pulse);
    let speaker = Speaker::of(Settings {
        socket: Some(server.socket.clone()),
        ..settings(Choice::Auto, &pulse)
    });
    server.pause();
    println!("heard after {} ms", is_heard(&speaker, &ear, "Hello.").await);
    // It is not tried again at once.
    let began = Instant::now();
    let again = is_heard(&speaker, &ear, "Hello.").await;
    println!("heard after {again} ms");
    assert!(
        began.elapsed() < Duration::from_secs(30) && again < 2900,
        "{again}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn espeak_is_heard_and_stops_and_so_do_its_players() {
    let folder = tempfile::tempdir().unwrap();
    let Some(pulse) = Pulse::start(folder.path()) else {
        return;
    };
    if !there("espeak-ng") {
        return;
    }
    let ear = Ear::open(&pulse);
    let speaker = Speaker::of(settings(Choice::EspeakNg, &pulse));
    println!(
        "heard after {} ms",
        is_heard(&speaker, &ear, "--version. Good morning.").await
    );
    stops(&speaker, &ear).await;
    // A voice that cannot be heard is one that failed.
    let nowhere = Speaker::of(Settings {
        speaker: Some("unix:/nowhere/at/all".to_owned()),
        ..settings(Choice::EspeakNg, &pulse)
    });
    let trouble = nowhere.say("Hello.").await.unwrap_err();
    assert!(trouble.to_string().contains("cannot be heard"), "{trouble}");
}

#[tokio::test(flavor = "multi_thread")]
async fn any_program_speaks_whether_it_plays_or_writes() {
    let folder = tempfile::tempdir().unwrap();
    let Some(pulse) = Pulse::start(folder.path()) else {
        return;
    };
    if !there("espeak-ng") {
        return;
    }
    let ear = Ear::open(&pulse);
    for command in [
        vec!["espeak-ng", "--stdin", "--stdout"],
        vec!["espeak-ng", "--stdin"],
    ] {
        let speaker = Speaker::of(Settings {
            command: Ok(command.iter().map(|word| (*word).to_owned()).collect()),
            ..settings(Choice::Command, &pulse)
        });
        is_heard(&speaker, &ear, "One. Two. Three.").await;
        stops(&speaker, &ear).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn each_tone_is_heard() {
    let folder = tempfile::tempdir().unwrap();
    let Some(pulse) = Pulse::start(folder.path()) else {
        return;
    };
    let ear = Ear::open(&pulse);
    let speaker = Speaker::of(settings(Choice::Off, &pulse));
    for earcon in [Earcon::Begins, Earcon::Ends, Earcon::Nothing] {
        let from = ear.position();
        let began = Instant::now();
        speaker.earcon(earcon);
        assert!(
            began.elapsed() < Duration::from_millis(100),
            "nobody waits for it"
        );
        let begins = ear.until_sound(from).await;
        ear.listen(1.0).await;
        let length = ear.ends(from) - begins;
        println!("{earcon:?} is heard after {begins} ms for {length} ms");
        // A loaded machine stutters.
        assert!((100..3000).contains(&length), "{length}");
    }
}

/// `tiro say`, as people use it.
#[tokio::test(flavor = "multi_thread")]
async fn real_say_speaks_and_says_what_is_missing() {
    let Some(tiro) = Tiro::find() else { return };
    let folder = tempfile::tempdir().unwrap();
    let Some(pulse) = Pulse::start(folder.path()) else {
        return;
    };
    if !there("espeak-ng") {
        return;
    }
    let ear = Ear::open(&pulse);
    let say = |text: &str| {
        let mut command = tiro.command(["say", text]);
        command.env("PULSE_SERVER", pulse.address()).stdin(Stdio::piped());
        command
    };
    tiro.run(["say"]).expect_code(2);
    tiro.run(["config", "set", "speech.voice", "off"]).expect_code(0);
    finish(say("Hello.").spawn().unwrap())
        .expect_code(1)
        .says(&["speech.voice"]);
    tiro.run(["config", "set", "speech.voice", "espeak-ng"])
        .expect_code(0);
    let from = ear.position();
    finish(say("Hello there.").spawn().unwrap()).expect_code(0);
    assert!(ear.begins(from).is_some());
    let from = ear.position();
    let mut reads = say("-").spawn().unwrap();
    std::io::Write::write_all(&mut reads.stdin.take().unwrap(), b"Hello again.").unwrap();
    finish(reads).expect_code(0);
    assert!(ear.begins(from).is_some());
    finish(say("Hello.").env("PATH", "/nonexistent").spawn().unwrap())
        .expect_code(1)
        .says(&["espeak-ng", "installed", "tiro doctor"]);

    // Ctrl-C
    let from = ear.position();
    let long = say(LONG).spawn().unwrap();
    ear.until_sound(from).await;
    let pid = rustix::process::Pid::from_raw(long.id().try_into().unwrap()).unwrap();
    let stopped = ear.position();
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    finish(long).expect_code(1);
    ear.listen(2.0).await;
    println!("silent {} ms after Ctrl-C", ear.ends(stopped));
    assert!(ear.ends(stopped) <= 2 * STOPS, "{} ms", ear.ends(stopped));
}

/// The answer, as somebody hears it who is in the room.
#[tokio::test(flavor = "multi_thread")]
async fn real_speech_is_understood_again() {
    let Some(tiro) = Tiro::find() else { return };
    let folder = tempfile::tempdir().unwrap();
    let Some(pulse) = Pulse::start(folder.path()) else {
        return;
    };
    let Some(server) = Server::start(folder.path(), &pulse) else {
        return;
    };
    if !there("espeak-ng") {
        return;
    }
    let ear = Ear::open(&pulse);
    let file = folder.path().join("heard.wav");
    for choice in [Choice::SpeechDispatcher, Choice::EspeakNg] {
        let speaker = Speaker::of(Settings {
            socket: Some(server.socket.clone()),
            rate: 0.9,
            ..settings(choice, &pulse)
        });
        let from = ear.position();
        speaker
            .say("Tomorrow at 14:30 you have a meeting with your doctor. Friday is the 20 Nov.")
            .await
            .unwrap();
        ear.listen(0.5).await;
        ear.write(from, &file);
        let ran = tiro.run(["transcribe", file.to_str().unwrap()]);
        let heard = ran.expect_code(0).out.to_lowercase();
        println!("{choice:?}: {}", heard.trim());
        for word in ["tomorrow", "meeting", "friday", "november"] {
            assert!(heard.contains(word), "no {word} in {heard}");
        }
        // As the recogniser writes it.
        let times = ["2:30", "2.30", "two thirty", "half past two"];
        assert!(times.iter().any(|time| heard.contains(time)), "{heard}");
    }
}
