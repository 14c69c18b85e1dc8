//! A client of ours against scripted engines and a scripted daemon: what it gets, what it is refused, and that it holds up
//! nobody.

use std::sync::Mutex;

use async_trait::async_trait;
use models::scripted::{Reply, ScriptedStt};
use serde_json::json;
use tokio::{
    io::{AsyncWriteExt as _, DuplexStream, ReadHalf, WriteHalf, duplex, split},
    sync::mpsc,
    task::JoinHandle,
};

use super::*;
use crate::wyoming::{
    describe::{Offer, first},
    sound::pcm,
    voice::{Spoken, Voice},
};

/// Far longer than anything takes.
const LONG: Duration = Duration::from_secs(20);
/// Some time that passes in a test.
const SHORT: Duration = Duration::from_millis(200);

/// As the config's defaults.
pub fn limits() -> Limits {
    Limits {
        budget: 1_000,
        max_tokens: 100,
        temperature: 0.0,
        generate: LONG,
        transcribe: LONG,
        patience: LONG,
        language: Some("en".into()),
        bias: Some("Anneliese".into()),
        names: Expecting::none(),
        read_ahead: None,
    }
}

/// A voice that makes one piece of sound a letter, and is stuck at an `!`.
struct Letters(Arc<Mutex<usize>>);
struct Spelling(Vec<char>, Arc<Mutex<usize>>);

#[async_trait]
impl Voice for Letters {
    fn name(&self) -> String {
        "letters".into()
    }

    async fn speak(&self, text: &str) -> anyhow::Result<Box<dyn Spoken>> {
        anyhow::ensure!(text != "fail", "at /home/ada/voice");
        *self.0.lock().unwrap() += 1;
        Ok(Box::new(Spelling(
            text.chars().rev().collect(),
            Arc::clone(&self.0),
        )))
    }
}

impl Drop for Spelling {
    fn drop(&mut self) {
        *self.1.lock().unwrap() -= 1;
    }
}

#[async_trait]
impl Spoken for Spelling {
    fn format(&self) -> Format {
        Format::SPEECH
    }

    async fn next(&mut self) -> anyhow::Result<Option<Vec<u8>>> {
        match self.0.pop() {
            Some('!') => std::future::pending().await,
            letter => Ok(letter.map(|letter| vec![letter as u8, 0])),
        }
    }
}

/// A client, and what stands behind the server.
struct Client {
    ears: Reader<ReadHalf<DuplexStream>>,
    mouth: WriteHalf<DuplexStream>,
    stt: Arc<ScriptedStt>,
    events: mpsc::Receiver<run::Event>,
    voices: Arc<Mutex<usize>>,
    services: Arc<Services>,
    session: JoinHandle<()>,
}

impl Client {
    fn new<T: Into<Reply>>(hears: impl IntoIterator<Item = T>) -> Client {
        Client::within(Times::default(), hears)
    }

    fn within<T: Into<Reply>>(times: Times, hears: impl IntoIterator<Item = T>) -> Client {
        let stt = Arc::new(ScriptedStt::replies(hears));
        let (voices, (inbox, events)) = (Arc::default(), mpsc::channel(8));
        let services = Services {
            stt: Some(stt.clone()),
            model: "whisper-base".into(),
            languages: vec!["en".into(), "de".into()],
            limits: limits(),
            voice: Some(Arc::new(Letters(Arc::clone(&voices)))),
            conversation: Some(inbox),
            hearing: Semaphore::new(1),
            answering: Semaphore::new(1),
            speaking: Semaphore::new(1),
            times,
        };
        let (near, far) = duplex(64 << 10);
        let ((ears, mouth), (their_ears, their_mouth)) = (split(near), split(far));
        let services = Arc::new(services);
        let who = "Wyoming client at 10.0.0.7".to_owned();
        let session = Session::new(their_ears, their_mouth, Arc::clone(&services), who);
        Client {
            ears: Reader::new(ears),
            mouth,
            stt,
            events,
            voices,
            services,
            session: tokio::spawn(session.run()),
        }
    }

    async fn say(&mut self, event: Event) {
        self.mouth.write_all(&event.encode()).await.unwrap();
    }

    async fn hear(&mut self) -> Event {
        self.ears.next(LONG).await.unwrap()
    }

    async fn ask(&mut self, event: Event) -> Event {
        self.say(event).await;
        self.hear().await
    }

    /// Sends sound as Home Assistant does.
    async fn speak(&mut self, transcribe: Event, samples: &[f32]) -> Event {
        self.say(transcribe).await;
        self.say(Format::SPEECH.start()).await;
        for piece in samples.chunks(1_024) {
            self.say(Format::SPEECH.chunk(pcm(piece))).await;
        }
        self.ask(Event::new("audio-stop")).await
    }

    /// What is asked of the daemon next.
    async fn asked(&mut self) -> run::Asking {
        match timeout(LONG, self.events.recv()).await.unwrap().unwrap() {
            run::Event::Ask(asking) => *asking,
            _ => panic!("something else is asked of the daemon"),
        }
    }

    /// The session has come to its end, and said this before.
    async fn parts(mut self, says: Option<&str>) {
        if let Some(says) = says {
            let last = self.hear().await;
            assert_eq!(last.kind, "error");
            assert!(
                last.text("text").unwrap().contains(says),
                "{last:?} instead of {says}"
            );
        }
        let end = self.ears.next(LONG).await;
        assert!(matches!(end, Err(Trouble::Closed)), "{end:?}");
        timeout(LONG, self.session).await.unwrap().unwrap();
    }
}

fn nobody() -> Client {
    Client::new::<&str>([])
}

/// Somebody speaks.
fn speech() -> Option<Vec<f32>> {
    let file = crate::listen::recordings()?.join("read/81e4d2-what_time_is_it.wav");
    Some(crate::listen::wav::read(&file).unwrap())
}

fn report(reply: &str, end: Ending) -> String {
    let report = Report {
        reply: reply.into(),
        end,
        ..Report::default()
    };
    serde_json::to_string(&report).unwrap()
}

#[tokio::test]
async fn it_says_what_it_has_and_that_it_is_there() {
    let mut client = nobody();
    let info = client.ask(Event::new("describe")).await;
    assert_eq!(info.kind, "info");
    for offer in [Offer::Recogniser, Offer::Voice, Offer::Conversation] {
        assert!(first(&info, offer).is_some(), "{info:?}");
    }
    client.say(Event::new("launch-rockets")).await;
    let pong = client.ask(Event::new("ping").with("text", "a")).await;
    assert_eq!(pong, Event::new("pong").with("text", "a"));
    let pong = client
        .ask(Event::new("ping").with("text", "a".repeat(5_000)))
        .await;
    assert_eq!(pong, Event::new("pong"));
}

#[tokio::test]
async fn speech_becomes_text_in_the_language_and_with_the_names_of_who_asks() {
    let Some(speech) = speech() else { return };
    let mut client = Client::new(["what time is it", "wie spät ist es", "what time is it"]);
    let got = client
        .speak(Event::new("transcribe").with("language", "en-GB"), &speech)
        .await;
    assert_eq!(
        (got.kind.as_str(), got.text("text")),
        ("transcript", Some("what time is it"))
    );
    let german = Event::new("transcribe")
        .with("language", "de")
        .with("transcript_names", json!(["Küche\n", 3, "", "x".repeat(90)]))
        .with("transcript_terms", json!(vec!["y".repeat(90); 9]));
    client.speak(german, &speech).await;
    // What was wanted once is not wanted for ever, and what is not offered is not done.
    client
        .speak(Event::new("transcribe").with("language", "xx"), &speech)
        .await;
    let requests = client.stt.requests();
    let wanted: Vec<_> = requests.iter().map(|r| r.language.as_deref()).collect();
    assert_eq!(wanted, [Some("en"), Some("de"), Some("en")]);
    // Nobody out there learns what the person's own names are by making the recogniser echo them.
    assert_eq!((&requests[0].prompt, &requests[2].prompt), (&None, &None));
    let names = requests[1].prompt.clone().unwrap();
    assert!(
        names.starts_with("Küche, xxx") && names.ends_with('y') && names.len() <= MAX_NAMES,
        "{names}"
    );
    assert!(requests[0].samples.len() > 8_000);
}

#[tokio::test]
async fn silence_and_nothing_are_no_speech() {
    let mut client = Client::new(["Thank you for watching."]);
    for samples in [0, 32_000] {
        let got = client.speak(Event::new("transcribe"), &vec![0.0; samples]).await;
        assert_eq!(got, Event::new("transcript").with("text", ""));
    }
    assert_eq!(client.stt.requests().len(), 0);
}

#[tokio::test]
async fn what_the_recogniser_lacks_is_said_without_where_its_files_are() {
    let Some(speech) = speech() else { return };
    let missing = EngineError::NoModel {
        path: "/home/ada/model".into(),
    };
    let mut client = Client::new([Reply::Fail(missing), Reply::from("again")]);
    let got = client.speak(Event::new("transcribe"), &speech).await;
    assert_eq!(got, Event::new("error").with("text", "The recogniser failed."));
    let got = client.speak(Event::new("transcribe"), &speech).await;
    assert_eq!(got.text("text"), Some("again"), "it is still served");
}

#[tokio::test]
async fn sound_that_cannot_be_used_ends_the_session() {
    let (fast, wide) = (
        Format {
            rate: 96_000,
            ..Format::SPEECH
        },
        Format {
            channels: 9,
            ..Format::SPEECH
        },
    );
    for (events, says) in [
        (vec![fast.start()], "96000 samples a second"),
        (vec![wide.chunk(vec![0; 18])], "9 channels"),
        (vec![Event::new("audio-chunk")], "no rate"),
        (vec![Format::SPEECH.chunk(vec![0])], "in the middle of a sample"),
        (
            vec![
                Format::SPEECH.start(),
                Format {
                    rate: 8_000,
                    ..Format::SPEECH
                }
                .chunk(vec![0, 0]),
            ],
            "changes its format",
        ),
        (
            vec![Format::SPEECH.chunk(vec![0; 30 * Format::SPEECH.second()]); 3],
            "longer than 60 s",
        ),
    ] {
        let mut client = nobody();
        let sending = async {
            for event in events {
                // What is too much is not taken to its end.
                if client.mouth.write_all(&event.encode()).await.is_err() {
                    break;
                }
            }
        };
        sending.await;
        client.parts(Some(says)).await;
    }
}

#[tokio::test]
async fn what_is_asked_is_asked_by_a_guest_and_the_answer_goes_back() {
    let mut client = nobody();
    for (json, kind, text) in [
        (Ok(report("It is nine.", Ending::Done)), "handled", "It is nine."),
        (
            Ok(report("I could not.", Ending::CouldNot)),
            "not-handled",
            "I could not.",
        ),
        (
            Ok(report("Nobody agreed.", Ending::NeedsConfirmation)),
            "not-handled",
            "Nobody agreed.",
        ),
        (
            Err("8 requests are waiting already".into()),
            "not-handled",
            "8 requests are waiting already",
        ),
        (
            Ok("no report".into()),
            "not-handled",
            "Sorry, something went wrong.",
        ),
    ] {
        client
            .say(Event::new("transcript").with("text", "what time is it"))
            .await;
        let asking = client.asked().await;
        assert_eq!(asking.text, "what time is it");
        assert_eq!(asking.guest.as_deref(), Some("Wyoming client at 10.0.0.7"));
        assert!(!asking.yes && !asking.interactive && asking.notify);
        assert!(asking.wav.is_none() && asking.now.is_none() && asking.connection.is_none());
        asking.reply.send(json).unwrap();
        assert_eq!(client.hear().await, Event::new(kind).with("text", text));
    }
    // The turn was stopped.
    client.say(Event::new("transcript").with("text", "wait")).await;
    drop(client.asked().await);
    assert_eq!(client.hear().await.text("text"), Some("That was stopped."));
    let long = client
        .ask(Event::new("transcript").with("text", "x".repeat(bus::MAX_TEXT + 1)))
        .await;
    assert_eq!(long.text("text"), Some("That is too long for me."));
}

#[tokio::test]
async fn who_hangs_up_has_withdrawn_what_it_asked() {
    let mut client = nobody();
    client
        .say(Event::new("transcript").with("text", "what time is it"))
        .await;
    let asking = client.asked().await;
    let Client {
        ears,
        mouth,
        mut events,
        session,
        ..
    } = client;
    drop((ears, mouth));
    timeout(LONG, session).await.unwrap().unwrap();
    match timeout(LONG, events.recv()).await.unwrap().unwrap() {
        run::Event::Cancel { client, any, .. } => assert_eq!((client, any), (asking.client, false)),
        _ => panic!("nothing was withdrawn"),
    }
}

#[tokio::test]
async fn an_answer_that_does_not_come_is_withdrawn() {
    let times = Times {
        answer: SHORT,
        ..Times::default()
    };
    let mut client = Client::within::<&str>(times, []);
    client
        .say(Event::new("transcript").with("text", "what time is it"))
        .await;
    let _asking = client.asked().await;
    let answer = client.hear().await;
    assert_eq!(
        (answer.kind.as_str(), answer.text("text")),
        ("not-handled", Some("That took too long, and I have stopped."))
    );
    let withdrawn = timeout(LONG, client.events.recv()).await.unwrap();
    assert!(matches!(withdrawn, Some(run::Event::Cancel { any: false, .. })));
}

#[tokio::test]
async fn text_becomes_sound_as_it_is_made() {
    let mut client = nobody();
    assert_eq!(
        client.ask(Event::new("synthesize").with("text", " abc ")).await,
        Format::SPEECH.start()
    );
    for letter in *b"abc" {
        assert_eq!(client.hear().await, Format::SPEECH.chunk(vec![letter, 0]));
    }
    assert_eq!(client.hear().await, Event::new("audio-stop"));
    assert_eq!(client.ask(Event::new("synthesize")).await, Format::SPEECH.start());
    assert_eq!(client.hear().await, Event::new("audio-stop"));
    let failed = client.ask(Event::new("synthesize").with("text", "fail")).await;
    assert_eq!(failed, Event::new("error").with("text", "The voice failed."));
    let long = client
        .ask(Event::new("synthesize").with("text", "x".repeat(MAX_SPOKEN + 1)))
        .await;
    assert!(
        long.text("text").unwrap().contains("more than 4000 bytes"),
        "{long:?}"
    );
}

#[tokio::test]
async fn who_hangs_up_ends_the_voice() {
    let mut client = nobody();
    client.ask(Event::new("synthesize").with("text", "a!")).await;
    assert_eq!(client.hear().await, Format::SPEECH.chunk(vec![b'a', 0]));
    assert_eq!(*client.voices.lock().unwrap(), 1);
    let Client {
        ears,
        mouth,
        voices,
        session,
        ..
    } = client;
    drop((ears, mouth));
    timeout(LONG, session).await.unwrap().unwrap();
    assert_eq!(*voices.lock().unwrap(), 0);
}

#[tokio::test]
async fn nobody_stays_for_ever() {
    let within = |times| Client::within::<&str>(times, []);
    let usual = Times::default();
    // Says nothing.
    within(Times { idle: SHORT, ..usual })
        .parts(Some("You said nothing within 0.2 s."))
        .await;
    // Begins to send sound, and stops.
    let mut client = within(Times {
        pause: SHORT,
        ..usual
    });
    client.say(Format::SPEECH.start()).await;
    client.say(Format::SPEECH.chunk(vec![0, 0])).await;
    client.parts(Some("You said nothing within 0.2 s.")).await;
    // Lets it drip in.
    let mut client = within(Times {
        sending: SHORT,
        ..usual
    });
    let refused = loop {
        client.say(Format::SPEECH.chunk(vec![0, 0])).await;
        if let Ok(event) = client.ears.next(SHORT / 4).await {
            break event;
        }
    };
    assert!(
        refused.text("text").unwrap().contains("takes too long to arrive"),
        "{refused:?}"
    );
    client.parts(None).await;
    // Wants a text spoken that takes for ever.
    let mut client = within(Times {
        speaking: SHORT,
        ..usual
    });
    client.say(Event::new("synthesize").with("text", "!")).await;
    assert_eq!(client.hear().await, Format::SPEECH.start());
    client.parts(None).await;
    // Does not take what it asked for.
    let mut client = within(Times { take: SHORT, ..usual });
    client
        .say(Event::new("synthesize").with("text", "x".repeat(MAX_SPOKEN)))
        .await;
    timeout(LONG, &mut client.session).await.unwrap().unwrap();
    assert_eq!(*client.voices.lock().unwrap(), 0);
    // Breaks the format.
    let mut client = nobody();
    client
        .mouth
        .write_all(b"{\"type\": \"x\", \"payload_length\": 9999999}\n")
        .await
        .unwrap();
    client.parts(Some("does not speak Wyoming")).await;
}

#[tokio::test]
async fn a_web_page_that_makes_a_browser_come_here_is_not_listened_to() {
    let mut client = nobody();
    let page = b"POST / HTTP/1.1\r\nContent-Length: 50\r\n\r\n{\"type\": \"transcript\", \"data\": {\"text\": \"x\"}}\n";
    client.mouth.write_all(page).await.unwrap();
    let end = client.ears.next(LONG).await;
    assert!(matches!(end, Err(Trouble::Closed)), "{end:?}");
    assert!(client.events.try_recv().is_err(), "it was asked");
}

#[tokio::test]
async fn who_waits_for_others_is_told_so() {
    let Some(speech) = speech() else { return };
    let times = Times {
        turn: SHORT,
        ..Times::default()
    };
    let mut client = Client::within(times, ["what time is it"]);
    // Others are at it.
    let services = Arc::clone(&client.services);
    let (_hearing, _answering) = (
        services.hearing.acquire().await,
        services.answering.acquire().await,
    );
    let _speaking = services.speaking.acquire().await;
    let busy = "I am busy with others. Please try again in a moment.";
    let got = client.speak(Event::new("transcribe"), &speech).await;
    assert_eq!(got, Event::new("error").with("text", busy));
    let got = client.ask(Event::new("synthesize").with("text", "a")).await;
    assert_eq!(got, Event::new("error").with("text", busy));
    let got = client.ask(Event::new("transcript").with("text", "a")).await;
    assert_eq!(got, Event::new("not-handled").with("text", busy));
    assert!(client.events.try_recv().is_err() && client.stt.requests().is_empty());
}
