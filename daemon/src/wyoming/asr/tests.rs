//! The client against servers that answer, complain, lie, are silent and go: real sockets, scripted peers.

use std::sync::{Arc, Mutex};

use serde_json::json;
use tokio::{
    io::AsyncWriteExt as _,
    net::{TcpListener, TcpStream, tcp::OwnedWriteHalf},
};

use super::*;
use crate::wyoming::line::Writer;

const LONG: Duration = Duration::from_secs(20);

/// What a scripted server does once it has everything.
#[derive(Clone)]
enum Does {
    /// Says these events.
    Says(Vec<Event>),
    /// Writes these bytes.
    Writes(Vec<u8>),
    /// Never anything.
    Hangs,
    /// Answers after the first chunk.
    AnswersEarly,
    /// Hangs up after the first chunk.
    Goes,
    /// Says what is wrong after the first chunk.
    Refuses,
}

/// A server, and what it heard.
async fn server(does: Does) -> (Place, Arc<Mutex<Vec<Event>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let place = Place::parse(&format!("tcp://{}", listener.local_addr().unwrap())).unwrap();
    let heard = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&heard);
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(attend(stream, does.clone(), Arc::clone(&log)));
        }
    });
    (place, heard)
}

async fn attend(stream: TcpStream, does: Does, log: Arc<Mutex<Vec<Event>>>) {
    let (ears, mut mouth) = stream.into_split();
    let mut ears = Reader::new(ears);
    while let Ok(event) = ears.next(LONG).await {
        log.lock().unwrap().push(event.clone());
        match (event.kind.as_str(), &does) {
            ("audio-chunk", Does::AnswersEarly) => say(&mut mouth, &transcript("early")).await,
            ("audio-chunk", Does::Goes) => return,
            ("audio-chunk", Does::Refuses) => {
                say(
                    &mut mouth,
                    &Event::new("error").with("text", "no model\nis loaded."),
                )
                .await;
            }
            ("audio-stop" | "describe", Does::Says(events)) => {
                for event in events {
                    say(&mut mouth, event).await;
                }
            }
            ("audio-stop", Does::Writes(bytes)) => {
                let _ = mouth.write_all(bytes).await;
                return;
            }
            _ => {}
        }
    }
}

async fn say(mouth: &mut OwnedWriteHalf, event: &Event) {
    let _ = Writer::new(mouth).send(event, LONG).await;
}

fn transcript(text: &str) -> Event {
    Event::new("transcript").with("text", text)
}

fn client(place: &Place, silence: Duration) -> Recogniser {
    Recogniser {
        place: place.clone(),
        far: false,
        model: String::new(),
        silence,
    }
}

fn request(samples: usize) -> Transcribe {
    Transcribe {
        samples: vec![0.25; samples],
        language: Some("en".into()),
        prompt: Some("Anneliese, Kubernetes".into()),
        ..Transcribe::default()
    }
}

async fn transcribe(does: Does) -> Result<Transcript, String> {
    let (place, _) = server(does).await;
    let heard = client(&place, Duration::from_millis(300))
        .transcribe(request(40_000), &mut |_| {})
        .await;
    heard.map_err(|error| error.to_string().replace(&place.to_string(), "PLACE"))
}

#[tokio::test]
async fn what_is_said_goes_there_whole_and_comes_back_as_text() {
    let before = [
        Event::new("transcript-start"),
        Event::new("transcript-chunk").with("text", "turn"),
    ];
    let answer = transcript(" Turn on\nthe [BLANK_AUDIO] light. ").with("language", "en");
    let (place, heard) = server(Does::Says([&before[..], &[answer]].concat())).await;
    let recogniser = Recogniser {
        model: "base".into(),
        ..client(&place, LONG)
    };
    let mut segments = Vec::new();
    let got = recogniser
        .transcribe(request(40_000), &mut |segment| segments.push(segment.clone()))
        .await
        .unwrap();
    assert_eq!(
        got.text.split_whitespace().collect::<Vec<_>>().join(" "),
        "Turn on the light."
    );
    assert_eq!((got.language.as_str(), got.segments[0].end), ("en", 2.5));
    assert_eq!(segments, got.segments);
    let heard = heard.lock().unwrap();
    let kinds: Vec<&str> = heard.iter().map(|event| event.kind.as_str()).collect();
    assert_eq!(kinds[..2], ["transcribe", "audio-start"]);
    assert_eq!(*kinds.last().unwrap(), "audio-stop");
    assert_eq!(
        json!(heard[0].data),
        json!({"language": "en", "name": "base", "transcript_names": ["Anneliese", "Kubernetes"]})
    );
    assert_eq!(heard[1].data["rate"], 16_000);
    let sound: Vec<u8> = heard.iter().flat_map(|event| event.payload.clone()).collect();
    assert_eq!(sound.len(), 80_000);
    assert!(
        sound.chunks(2).all(|sample| sample == 8_192i16.to_le_bytes()),
        "{:?}",
        &sound[..4]
    );
}

#[tokio::test]
async fn what_nobody_said_is_dropped_as_of_our_own() {
    let text = async |text: &str| transcribe(Does::Says(vec![transcript(text)])).await.unwrap();
    for ghost in ["[BLANK_AUDIO]", "(music)", "", "Anneliese, Kubernetes."] {
        let got = text(ghost).await;
        assert_eq!((got.text.as_str(), got.segments.len()), ("", 0), "{ghost}");
    }
    assert_eq!(text("Call Anneliese").await.text, "Call Anneliese");
    assert_eq!(text("Call Anneliese").await.language, "en");
}

#[tokio::test]
async fn a_server_that_hears_the_end_itself_may_answer_before_it_has_all() {
    assert_eq!(transcribe(Does::AnswersEarly).await.unwrap().text, "early");
}

#[tokio::test]
async fn whatever_goes_wrong_is_a_sentence_within_its_time() {
    let began = Instant::now();
    for (does, says) in [
        (Does::Hangs, "PLACE said nothing within 0.3 s"),
        (Does::Goes, "the connection"),
        (Does::Refuses, "PLACE says: no model is loaded"),
        (
            Does::Says(vec![Event::new("error")]),
            "PLACE says: it failed, and not why",
        ),
        (
            Does::Says(vec![Event::new("transcript")]),
            "PLACE sent a transcript without text",
        ),
        (
            Does::Says(vec![Event::new("transcript").with("text", 3)]),
            "without text",
        ),
        (
            Does::Says(vec![transcript(&"x".repeat(200_000))]),
            "that nobody can have said",
        ),
        (
            Does::Says(vec![Event::new("ping"); 1_200]),
            "PLACE says much and has no answer",
        ),
        (
            Does::Writes(b"HTTP/1.1 400 Bad Request\r\n\r\n".to_vec()),
            "does not speak Wyoming: a line is no JSON object",
        ),
        (
            Does::Writes(b"{\"type\": \"transcript\", \"data_length\": 900}\n{".to_vec()),
            "in the middle of an event",
        ),
        (
            Does::Writes(b"{\"type\": \"x\", \"payload_length\": 99999999999}\n".to_vec()),
            "at most 1048576 are taken",
        ),
        (Does::Writes(vec![b'x'; 100_000]), "more than 65536 bytes"),
    ] {
        let error = transcribe(does).await.unwrap_err();
        let parts: Vec<&str> = says.split("PLACE").collect();
        assert!(error.starts_with("the recogniser at PLACE"), "{error}");
        assert!(error.contains(parts.last().unwrap()), "{error} instead of {says}");
        assert!(!error.ends_with('.'), "{error}");
    }
    assert!(began.elapsed() < LONG, "{:?}", began.elapsed());
    let nobody = client(&Place::parse("tcp://127.0.0.1:1").unwrap(), LONG);
    let error = nobody
        .transcribe(request(10), &mut |_| {})
        .await
        .unwrap_err()
        .to_string();
    assert!(
        error.starts_with("the recogniser at tcp://127.0.0.1:1 cannot be reached: "),
        "{error}"
    );
    let long = nobody
        .transcribe(request(601 * 16_000), &mut |_| {})
        .await
        .unwrap_err()
        .to_string();
    assert!(long.contains("at most 600 s"), "{long}");
}

#[tokio::test]
async fn what_a_server_has_is_asked() {
    let info = |data: serde_json::Value| Event {
        data: data.as_object().unwrap().clone(),
        ..Event::new("info")
    };
    let models = json!({"asr": [{"name": "faster-whisper", "version": "3.8", "installed": true, "models": [
        {"name": "tiny", "languages": ["en"], "installed": true},
        {"name": "base", "languages": ["en", "de"], "installed": true}]}]});
    let (place, _) = server(Does::Says(vec![Event::new("pong"), info(models)])).await;
    let named = |model: &str| Recogniser {
        model: model.into(),
        ..client(&place, LONG)
    };
    let got = named("base").info().await.unwrap();
    assert_eq!(
        (got.name.as_str(), got.multilingual, got.binding.as_str()),
        ("base", true, "3.8")
    );
    assert_eq!(got.device, place.to_string());
    let got = named("").info().await.unwrap();
    assert_eq!((got.name.as_str(), got.multilingual), ("tiny", false));
    let (voices, _) = server(Does::Says(vec![info(json!({"tts": []}))])).await;
    let error = client(&voices, LONG).info().await.unwrap_err().to_string();
    assert!(error.ends_with("speaks Wyoming and has no recogniser"), "{error}");
}

#[test]
fn nothing_goes_anywhere_until_the_config_says_where_and_that_is_near() {
    #[track_caller]
    fn check(server: &str, expect: Result<(), &str>) {
        let config: Config =
            toml::from_str(&format!("[stt]\nbackend = \"wyoming\"\n[stt.server]\n{server}")).unwrap();
        match (recogniser(&config), expect) {
            (Ok(_), Ok(())) => {}
            (Err(error), Err(part)) => assert!(error.to_string().contains(part), "{error}"),
            (got, expect) => panic!("{server}: {got:?} instead of {expect:?}"),
        }
    }
    check("", Err("stt.server.url is empty"));
    check("url = \"tcp://192.168.1.20:10300\"", Ok(()));
    check("url = \"tcp://tower:10300\"", Ok(()));
    check(
        "url = \"tcp://stt.example.org:10300\"",
        Err("could hear what is said"),
    );
    check("url = \"tcp://stt.example.org:10300\"\nallow_far = true", Ok(()));
    check("url = \"tcp://tower:10300\"\ntimeout = \"0s\"", Err("0s"));
}
