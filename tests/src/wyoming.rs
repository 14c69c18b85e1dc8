//! Wyoming against its reference implementation, the Python package that Home Assistant uses: as a client of ours, and as a
//! server for ours.

use std::{
    io::{BufRead as _, BufReader, Write as _},
    net::SocketAddr,
    path::{Path, PathBuf},
    process::{Child, ChildStdout, Command, Stdio},
    sync::Arc,
    time::Duration,
};

use daemon::{
    bus::Tiro1Proxy,
    config::Config,
    listen::wav,
    run::Event,
    speak::{self, Choice, Speaker},
    wyoming::{Place, Recogniser, RemoteVoice, Server, Services, Spoken as _},
};
use models::{
    engine::{Limits as EngineLimits, SttConfig, SttEngine},
    scripted::{Reply, ScriptedLlm, ScriptedStt},
    stt::{Stt, Transcribe},
};
use serde_json::{Value, json};
use tokio::{sync::mpsc, task::JoinHandle};

use crate::{
    daemon_loop::{Running, asking_tools, call, note},
    home::{Home, root},
    microphone::recording,
    program::{Tiro, finish},
    pulse::Pulse,
    speaking::ear::Ear,
    wake::USUAL,
};

const PEER: &str = include_str!("wyoming/peer.py");

/// Longest time for anything here, on a loaded machine.
const PATIENCE: Duration = Duration::from_secs(120);

/// The Python with the package, or `None` with a loud line. `cargo xtask test` installs it and sets `TIRO_REQUIRE_REAL`, and
/// then its absence fails.
fn python() -> Option<PathBuf> {
    let venv = std::env::var_os("TIRO_TEST_PYTHON").map_or(root().join("target/test-python"), PathBuf::from);
    let python = venv.join("bin/python");
    let there = Command::new(&python)
        .args(["-c", "import wyoming"])
        .stderr(Stdio::null())
        .status();
    if there.is_ok_and(|status| status.success()) {
        return Some(python);
    }
    let required = std::env::var_os("TIRO_REQUIRE_REAL").is_some();
    assert!(!required, "wyoming is not in {}", venv.display());
    println!(
        "SKIPPED: run `cargo xtask setup`, which installs wyoming into {}",
        venv.display()
    );
    None
}

/// What the Python client got: one JSON a line.
async fn peer(python: &Path, to: SocketAddr, args: &[&str]) -> Vec<Value> {
    let child = Command::new(python)
        .args(["-c", PEER, &format!("tcp://{to}")])
        .args(args)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let ran = tokio::task::spawn_blocking(move || finish(child)).await.unwrap();
    ran.expect_code(0);
    ran.out
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// Our server on this machine; ended when dropped.
struct Serving {
    address: SocketAddr,
    task: JoinHandle<()>,
}

impl Drop for Serving {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn serving(config: &str, stt: Arc<dyn Stt>, events: Option<mpsc::Sender<Event>>) -> Serving {
    let config: Config = toml(config);
    let home = Home::empty("2026-11-20T09:00[Europe/Berlin]");
    let limits = daemon::room::Limits {
        transcribe: PATIENCE,
        ..home.parts(daemon::agent::Settings::default()).limits
    };
    let services = Services::of(&config, stt, limits, events).unwrap();
    // Whatever is free: the tests run beside each other.
    let place = Place::parse(&format!("tcp://127.0.0.1:{}", free())).unwrap();
    let server = Server::bind(&place, false).await.unwrap();
    let address = server.address().unwrap();
    Serving {
        address,
        task: tokio::spawn(server.run(Arc::new(services))),
    }
}

fn free() -> u16 {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().port()
}

fn toml(text: &str) -> Config {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("config.toml");
    std::fs::write(&file, text).unwrap();
    Config::load(&file).unwrap()
}

/// A voice that says a WAV that we have, for machines without espeak-ng.
fn voice_of(folder: &Path) -> String {
    let file = folder.join("voice.wav");
    let spec = hound::WavSpec {
        channels: 1,
        sample_rate: 22_050,
        bits_per_sample: 16,
        sample_format: hound::SampleFormat::Int,
    };
    let mut wav = hound::WavWriter::create(&file, spec).unwrap();
    for n in 0..44_100i32 {
        wav.write_sample((n % 100) as i16).unwrap();
    }
    wav.finalize().unwrap();
    format!("[wyoming]\nvoice = \"cat '{}'\"\n", file.display())
}

#[tokio::test]
async fn the_reference_client_is_told_what_there_is_and_gets_it() {
    let (Some(python), Some(speech)) = (python(), recording("read/81e4d2-what_time_is_it.wav")) else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let stt = Arc::new(ScriptedStt::replies(["what time is it", "wie spät ist es"]));
    let serving = serving(&voice_of(folder.path()), stt.clone(), None).await;
    let info = &peer(&python, serving.address, &["describe"]).await[0];
    assert_eq!(info["asr"][0]["models"][0]["name"], "whisper-base-q8_0");
    assert_eq!(info["asr"][0]["models"][0]["languages"][0], "en");
    assert_eq!(info["tts"][0]["voices"][0]["name"], "cat");
    assert_eq!(info["handle"], json!([]), "without a daemon nobody answers");

    let speech = speech.to_str().unwrap();
    for (language, text) in [("en", "what time is it"), ("de", "wie spät ist es")] {
        let got = peer(&python, serving.address, &["transcribe", speech, language]).await;
        assert_eq!(got, [json!({"text": text, "language": language})]);
    }
    let requests = stt.requests();
    assert_eq!(requests[1].language.as_deref(), Some("de"));
    // What arrived is what was recorded, but for the silence around it and the rounding to 16 bits.
    let recorded = wav::read(Path::new(speech)).unwrap();
    let heard = &requests[0].samples;
    let found = recorded
        .windows(heard.len())
        .any(|window| window.iter().zip(heard).all(|(a, b)| (a - b).abs() < 1e-3));
    assert!(found, "{} of {} samples", heard.len(), recorded.len());

    let said = &peer(&python, serving.address, &["synthesize", "Hello there."]).await[0];
    assert_eq!(said["format"], json!([22_050, 2, 1]));
    assert_eq!(
        (&said["bytes"], &said["sum"]),
        (&json!(88_200), &json!(441 * 4_950))
    );
    assert_eq!(
        peer(&python, serving.address, &["ping", "hello"]).await,
        [json!({"text": "hello"})]
    );
}

#[tokio::test]
async fn who_asks_over_the_network_gets_an_answer_and_changes_nothing_without_the_person() {
    let Some(python) = python() else { return };
    let script = [
        Reply::Text(call("calendar.query", r#"{"when": "tomorrow"}"#)),
        Reply::Text(note("milk")),
        Reply::Text(note("bread")),
    ];
    let running = Running::start_with(ScriptedLlm::replies(script), asking_tools).await;
    let deaf = Arc::new(ScriptedStt::replies::<&str>([]));
    let serving = serving("", deaf, Some(running.events())).await;
    let info = &peer(&python, serving.address, &["describe"]).await[0];
    assert_eq!(info["handle"][0]["models"][0]["languages"], json!(["en"]));

    let got = peer(&python, serving.address, &["handle", "what do I have tomorrow"]).await;
    assert_eq!(got[0]["type"], "handled", "{got:?}");
    assert!(got[0]["text"].as_str().unwrap().contains("Dentist"), "{got:?}");

    let before = running.home.files();
    for (text, yes, kind) in [
        ("note milk", false, "not-handled"),
        ("note bread", true, "handled"),
    ] {
        let asking = {
            let (python, to) = (python.clone(), serving.address);
            tokio::spawn(async move { peer(&python, to, &["handle", text]).await })
        };
        let person = running.client().await;
        let person = Tiro1Proxy::new(&person).await.unwrap();
        let began = std::time::Instant::now();
        let question: Value = loop {
            let question: Value = serde_json::from_str(&person.question().await.unwrap()).unwrap();
            if !question.is_null() {
                break question;
            }
            assert!(began.elapsed() < PATIENCE, "nobody was asked");
            assert!(
                !asking.is_finished(),
                "nobody was asked, and it says {:?}",
                asking.await
            );
            tokio::time::sleep(Duration::from_millis(20)).await;
        };
        let because = question["question"]["because"].to_string();
        assert!(because.contains("Wyoming client on this computer"), "{because}");
        assert!(running.home.files() == before, "it was not agreed to yet");
        person
            .confirm(question["id"].as_u64().unwrap(), yes)
            .await
            .unwrap();
        let got = asking.await.unwrap();
        assert_eq!(got[0]["type"], kind, "{got:?}");
        assert_eq!(running.home.files() == before, !yes);
    }
    running.stop().await;
}

#[tokio::test]
async fn a_client_that_goes_leaves_no_question_behind() {
    let Some(python) = python() else { return };
    let running = Running::start_with(
        ScriptedLlm::replies([Reply::Hang("Once upon".into()), Reply::from("Fine.")]),
        |_| (),
    )
    .await;
    let deaf = Arc::new(ScriptedStt::replies::<&str>([]));
    let serving = serving("", deaf, Some(running.events())).await;
    let mut child = Command::new(&python)
        .args([
            "-c",
            PEER,
            &format!("tcp://{}", serving.address),
            "handle",
            "tell me a story",
        ])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    running.until_asked(1).await;
    child.kill().unwrap();
    child.wait().unwrap();
    running
        .until("idle", |status| status.state == "idle" && status.waiting == 0)
        .await;
    running.stop().await;
}

/// A server of the reference implementation; ended when dropped.
struct Reference {
    child: Child,
    place: Place,
    _out: BufReader<ChildStdout>,
}

impl Reference {
    fn start() -> Option<Reference> {
        let mut child = Command::new(python()?)
            .args(["-c", PEER, &format!("tcp://127.0.0.1:{}", free()), "serve"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        out.read_line(&mut line).unwrap();
        let place = Place::parse(line.trim()).unwrap_or_else(|| panic!("it says {line:?}"));
        Some(Reference {
            child,
            place,
            _out: out,
        })
    }
}

impl Drop for Reference {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[tokio::test]
async fn our_client_hears_and_speaks_through_the_reference_server() {
    let Some(reference) = Reference::start() else {
        return;
    };
    let recogniser = Recogniser {
        place: reference.place.clone(),
        far: false,
        model: "large".into(),
        silence: PATIENCE,
    };
    let info = recogniser.info().await.unwrap();
    assert_eq!(
        (info.name.as_str(), info.multilingual, info.binding.as_str()),
        ("large", true, "7")
    );
    let request = Transcribe {
        samples: (0..40_000).map(|n| (n % 200) as f32 / 200.0).collect(),
        language: Some("de".into()),
        prompt: Some("Küche, Anna".into()),
        ..Transcribe::default()
    };
    // Twice: it has to be there for the next one, too.
    for _ in 0..2 {
        let got = recogniser.transcribe(request.clone(), &mut |_| {}).await.unwrap();
        assert_eq!(
            got.text,
            "40000 samples of 16000 Hz for large in de, expecting Küche and Anna"
        );
        assert_eq!(got.segments[0].end, 2.5);
    }
    let failing = Transcribe {
        language: Some("xx".into()),
        ..request
    };
    let error = recogniser
        .transcribe(failing, &mut |_| {})
        .await
        .unwrap_err()
        .to_string();
    assert!(error.ends_with("says: I know no xx"), "{error}");

    let voice = RemoteVoice {
        place: reference.place.clone(),
        far: false,
        voice: "amy".into(),
        silence: PATIENCE,
    };
    assert_eq!(voice.program().await.unwrap().models[0].0, "amy");
    let mut speaking = voice.synthesize("Grüß Gott").await.unwrap();
    let mut pcm = Vec::new();
    while let Some(piece) = speaking.next().await.unwrap() {
        pcm.extend(piece);
    }
    let format = speaking.format();
    assert_eq!((format.rate, format.width, format.channels), (22_050, 2, 1));
    // A tenth of a second for each letter.
    assert_eq!(pcm.len(), 9 * 2_205 * 2);
    let error = voice.synthesize("fail").await.err().unwrap().to_string();
    assert!(error.ends_with("says: no voice today"), "{error}");
    let began = std::time::Instant::now();
    let impatient = RemoteVoice {
        silence: Duration::from_millis(300),
        ..voice
    };
    let error = impatient.synthesize("hang").await.err().unwrap().to_string();
    assert!(error.ends_with("said nothing within 0.3 s"), "{error}");
    assert!(began.elapsed() < PATIENCE / 4);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reference_server_that_dies_in_the_middle_costs_a_sentence() {
    let Some(mut reference) = Reference::start() else {
        return;
    };
    let recogniser = Recogniser {
        place: reference.place.clone(),
        far: false,
        model: String::new(),
        silence: PATIENCE,
    };
    let request = Transcribe {
        samples: vec![0.1; 16_000],
        language: Some("hang".into()),
        ..Transcribe::default()
    };
    let asking = tokio::spawn(async move { recogniser.transcribe(request, &mut |_| {}).await });
    // It says when it has begun to think.
    let mut line = String::new();
    reference._out.read_line(&mut line).unwrap();
    assert_eq!(line.trim(), "hangs");
    reference.child.kill().unwrap();
    let error = asking.await.unwrap().unwrap_err().to_string();
    assert!(
        error.starts_with(&format!("the recogniser at {}", reference.place)),
        "{error}"
    );
    assert!(error.contains("the connection"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_voice_on_another_machine_is_heard_on_this_ones_speaker_and_replaced_when_it_goes() {
    let folder = tempfile::tempdir().unwrap();
    let (Some(reference), Some(pulse)) = (Reference::start(), Pulse::start(folder.path())) else {
        return;
    };
    let voice = RemoteVoice {
        place: reference.place.clone(),
        far: false,
        voice: "amy".into(),
        silence: PATIENCE,
    };
    let speaker = Speaker::of(speak::Settings {
        choice: Choice::Wyoming,
        server: Ok(voice),
        speaker: Some(pulse.address()),
        // Never the one of whoever runs the tests.
        socket: Some(folder.path().join("speechd.sock")),
        earcons: false,
        duck: 1.0,
        ..speak::Settings::default()
    });
    let there = speaker.voices()[0].there().await.unwrap();
    assert_eq!(there, format!("The voice reference at {}.", reference.place));
    let ear = Ear::open(&pulse);
    let from = ear.position();
    speaker.say("Hello there. It is nine.").await.unwrap();
    let (begins, ends) = (ear.begins(from).expect("it is heard"), ear.ends(from));
    // A tenth of a second a letter, both sentences.
    let length = ends - begins;
    assert!((2_000..4_000).contains(&length), "{begins} to {ends}");
    // The server goes, and a voice of this machine says the rest.
    drop(reference);
    if Command::new("espeak-ng").arg("--version").output().is_err() {
        return crate::desktop::skipped("espeak-ng");
    }
    let from = ear.position();
    speaker.say("Good bye.").await.unwrap();
    assert!(ear.begins(from).is_some(), "nobody says it");
}

/// The engine and the weights of the tests, or `None` with a loud line.
fn real_recogniser() -> Option<Arc<dyn Stt>> {
    let engines = std::env::var_os("TIRO_ENGINES").map_or(root().join("target/release"), PathBuf::from);
    let weights = std::env::var_os("TIRO_MODELS").map(|folder| PathBuf::from(folder).join(USUAL));
    let there = weights.filter(|weights| weights.exists() && engines.join("tiro-stt").exists());
    let Some(model) = there else {
        let required = std::env::var_os("TIRO_REQUIRE_REAL").is_some();
        assert!(
            !required,
            "tiro-stt in {engines:?} or the weights in TIRO_MODELS are missing"
        );
        println!("SKIPPED: run `cargo xtask test`, which builds tiro-stt and pulls the weights");
        return None;
    };
    let config = SttConfig {
        engines_dir: Some(std::path::absolute(engines).unwrap()),
        model: std::path::absolute(model).unwrap(),
        threads: None,
        gpu: false,
        limits: EngineLimits::default(),
    };
    Some(Arc::new(SttEngine::new(config)))
}

fn words(text: &str) -> String {
    let text = text.to_lowercase();
    let words = text
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join(" ")
}

#[tokio::test]
async fn real_speech_sent_by_the_reference_client_is_recognised() {
    let (Some(python), Some(stt)) = (python(), real_recogniser()) else {
        return;
    };
    let Some(speech) = recording("read/81e4d2-what_time_is_it.wav") else {
        return;
    };
    let serving = serving("", stt, None).await;
    let began = std::time::Instant::now();
    let got = peer(
        &python,
        serving.address,
        &["transcribe", speech.to_str().unwrap(), "en-US"],
    )
    .await;
    println!("{got:?} after {:?}", began.elapsed());
    assert_eq!(words(got[0]["text"].as_str().unwrap()), "what time is it");
    assert_eq!(got[0]["language"], "en");
    // What our voice says is heard again, through both services.
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("said.wav");
    if Command::new("espeak-ng").arg("--version").output().is_err() {
        assert!(
            std::env::var_os("TIRO_REQUIRE_REAL").is_none(),
            "espeak-ng is missing"
        );
        return println!("SKIPPED: espeak-ng is not here");
    }
    let file = file.to_str().unwrap();
    peer(
        &python,
        serving.address,
        &["synthesize", "Please turn on the kitchen light.", file],
    )
    .await;
    let got = peer(&python, serving.address, &["transcribe", file, "en"]).await;
    println!("{got:?}");
    let heard = words(got[0]["text"].as_str().unwrap());
    assert!(heard.contains("turn on the kitchen light"), "{heard}");
}

#[tokio::test]
async fn real_daemon_serves_home_assistant_and_another_tiro() {
    let (Some(python), Some(tiro), Some(other)) = (python(), Tiro::in_the_demo_world(), Tiro::find()) else {
        return;
    };
    let Some(speech) = recording("read/81e4d2-what_time_is_it.wav") else {
        return;
    };
    let address = SocketAddr::from(([127, 0, 0, 1], free()));
    let base = tiro.models().join(USUAL);
    let config = format!(
        "[stt]\nmodel = {base:?}\n[wyoming]\nlisten = \"tcp://{address}\"\n[[tools.rules]]\ndeny = [\"calendar.*\"]\nwhen = \"guest\"\n"
    );
    std::fs::write(tiro.home().join("config.toml"), config).unwrap();
    let doctor = tiro.run(["doctor"]);
    doctor.says(&[&format!(
        "Every program and user of this machine that reaches tcp://{address} may ask Tiro"
    )]);
    let (daemon, _) = tiro.daemon();
    let info = &peer(&python, address, &["describe"]).await[0];
    assert_eq!(info["asr"][0]["models"][0]["name"], "ggml-base-q8_0");
    let time = peer(&python, address, &["handle", "what time is it"]).await;
    println!("{time:?}");
    assert_eq!(time[0]["type"], "handled");
    // The person may ask that, guests may not.
    let question = "what do I have on my calendar tomorrow";
    assert!(tiro.ask(&[question]).reply.contains("Dentist"));
    let told = peer(&python, address, &["handle", question]).await;
    println!("{told:?}");
    assert!(!told[0]["text"].as_str().unwrap().contains("Dentist"), "{told:?}");

    // Another Tiro has no recogniser of its own.
    let config = format!(
        "[stt]\nbackend = \"wyoming\"\nmodel = \"/nonexistent\"\n[stt.server]\nurl = \"tcp://{address}\"\n"
    );
    std::fs::write(other.home().join("config.toml"), config).unwrap();
    let heard = other.run(["transcribe", speech.to_str().unwrap()]);
    heard.expect_code(0);
    assert_eq!(words(&heard.out), "what time is it");
    other.run(["doctor"]).says(&[
        &format!("The recogniser tiro at tcp://{address} answers and has ggml-base-q8_0."),
        &format!("goes unencrypted to tcp://{address}"),
    ]);
    assert_eq!(daemon.stop(), Some(0));
    let gone = other.run(["transcribe", speech.to_str().unwrap()]);
    gone.expect_code(1)
        .says(&[&format!("the recogniser at tcp://{address} cannot be reached")]);
}

/// A peer that is hostile in small ways holds up nobody.
#[tokio::test]
async fn clients_that_do_as_they_like_hold_up_nobody() {
    let Some(python) = python() else { return };
    let deaf = Arc::new(ScriptedStt::replies::<&str>([]));
    let serving = serving("", deaf, None).await;
    let connect = || std::net::TcpStream::connect(serving.address).unwrap();
    // As many as one address may have, less one: silent, in the middle of an event, with sound that never ends.
    let mut others = Vec::new();
    for n in 0..15 {
        let mut stream = connect();
        match n % 3 {
            0 => {}
            1 => stream.write_all(b"{\"type\": \"describe\", \"data_length\": 1000}\n{").unwrap(),
            _ => stream
                .write_all(b"{\"type\": \"audio-chunk\", \"data\": {\"rate\": 16000, \"width\": 2, \"channels\": 1}, \"payload_length\": 900000}\n")
                .unwrap(),
        }
        others.push(stream);
    }
    let began = std::time::Instant::now();
    let info = peer(&python, serving.address, &["describe"]).await;
    assert_eq!(info[0]["asr"][0]["name"], "tiro");
    assert!(began.elapsed() < PATIENCE / 4, "{:?}", began.elapsed());
}
