//! What is said is recognised, and read by the model, before it is sure that the person has finished: push to talk on
//! a private sound server, with a recogniser and a model that follow a script.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use daemon::{
    agent::Settings,
    listen::Utterance,
    reply::Happening,
    report::Report,
    room::{Expecting, Foreseen, Parts, Room},
    turn::turn,
};
use models::scripted::{Reply, ScriptedLlm, ScriptedStt};

use crate::{
    home::Home,
    loading::Alone,
    microphone::{Talk, alone_in, tomorrow},
    spoken::{
        Sound::{Pause, Request},
        sounds,
    },
};

fn early(parts: &mut Parts) {
    parts.listen.early = true;
}

/// A recogniser that hears these words in ever longer stretches of what is said, and the last of them in all of it.
fn growing(words: &'static [&'static str]) -> (ScriptedStt, Arc<AtomicUsize>) {
    let asked = Arc::<AtomicUsize>::default();
    let counted = Arc::clone(&asked);
    let stt = ScriptedStt::answering(move |request| {
        counted.fetch_add(1, Ordering::Relaxed);
        // The recording has 1.1 s of speech.
        let said = request.samples.len() * words.len() / 24_000;
        Reply::Text(words[said.min(words.len() - 1)].to_owned())
    });
    (stt, asked)
}

#[test]
fn the_words_are_told_before_the_person_has_finished() {
    alone_in(
        "early",
        "the_words_are_told_before_the_person_has_finished",
        async |folder, pulse| {
            // Who speaks for longer is understood bit by bit.
            let Some(sound) = sounds(&folder, &[Request, Request, Pause(300)]) else {
                return;
            };
            let words = &["what", "what do I have", "what do I have tomorrow"];
            let (stt, asked) = growing(words);
            let llm = ScriptedLlm::answering(|_| Reply::Text(tomorrow()));
            let mut talk = Talk::with(llm, stt, |parts| {
                early(parts);
                // The index decides that something is to be called.
                parts.settings = Settings {
                    reflex: false,
                    ..Settings::default()
                };
            })
            .await;
            talk.open("toggle", &pulse).await;
            let player = pulse
                .command("paplay")
                .arg("--device=mic_in")
                .arg(&sound)
                .spawn()
                .unwrap();
            let mut so_far = Vec::new();
            let said = talk
                .told("what was said", |happening| match happening {
                    Happening::Hearing { text } => {
                        so_far.push(text);
                        None
                    }
                    Happening::Heard { text, .. } => Some(text),
                    _ => None,
                })
                .await;
            assert_eq!(said, words[2]);
            println!("{so_far:?}, asked {} times", asked.load(Ordering::Relaxed));
            assert!(so_far.len() >= 2, "{so_far:?}");
            assert_eq!(so_far.last().unwrap(), &said, "known at the pause");
            let reply = talk.reply().await;
            assert!(reply.contains("Dentist"), "{reply}");
            pulse.until_recorders(0);
            finish(player);
            // The model had read all of it when it was asked.
            assert_eq!(talk.running.llm.prompts().len(), 1, "it was asked once");
            talk.running.until("counted", |s| s.turns == 1).await;
            let tokens = talk.running.status().await.tokens;
            println!("{tokens:?}");
            assert!(
                tokens.prompt > 100 && tokens.prompt - tokens.cached <= 2,
                "{tokens:?}"
            );
        },
    );
}

#[test]
fn who_lets_the_key_go_in_mid_word_is_recognised_whole() {
    alone_in(
        "early",
        "who_lets_the_key_go_in_mid_word_is_recognised_whole",
        async |folder, pulse| {
            let Some(sound) = sounds(&folder, &[Request, Request]) else {
                return;
            };
            let (stt, asked) = growing(&["what", "what do I have", "what do I have tomorrow"]);
            let mut talk = Talk::with(ScriptedLlm::replies([tomorrow()]), stt, early).await;
            talk.open("start", &pulse).await;
            pulse.speak(&sound);
            talk.listen("stop").await;
            let reply = talk.reply().await;
            assert!(reply.contains("Dentist"), "{reply}");
            assert!(asked.load(Ordering::Relaxed) >= 1);
            let last = talk.heard().last().map(Vec::len).unwrap();
            assert!(last > 30_000, "{last} samples were recognised in the end");
        },
    );
}

#[test]
fn what_is_cancelled_in_mid_sentence_is_no_request() {
    alone_in(
        "early",
        "what_is_cancelled_in_mid_sentence_is_no_request",
        async |folder, pulse| {
            let Some(sound) = sounds(&folder, &[Request, Pause(2000)]) else {
                return;
            };
            let (stt, asked) = growing(&["what", "what do I have tomorrow"]);
            let talk = Talk::with(ScriptedLlm::replies([""; 0]), stt, early).await;
            talk.open("start", &pulse).await;
            pulse.speak(&sound);
            assert!(asked.load(Ordering::Relaxed) >= 1, "it was being recognised");
            assert_eq!(talk.listen("cancel").await, "idle");
            pulse.until_recorders(0);
            tokio::time::sleep(Duration::from_secs(1)).await;
            talk.running
                .until("idle", |s| s.state == "idle" && s.turns == 0)
                .await;
            assert!(talk.running.llm.prompts().is_empty());
        },
    );
}

#[test]
fn a_recogniser_that_fails_while_somebody_speaks_costs_nothing() {
    alone_in(
        "early",
        "a_recogniser_that_fails_while_somebody_speaks_costs_nothing",
        async |folder, pulse| {
            let Some(sound) = sounds(&folder, &[Request, Pause(300)]) else {
                return;
            };
            let mut failures = 2;
            let stt = ScriptedStt::answering(move |_| {
                if failures > 0 {
                    failures -= 1;
                    return Reply::crash();
                }
                Reply::Text("what do I have tomorrow".to_owned())
            });
            let mut talk = Talk::with(ScriptedLlm::replies([tomorrow()]), stt, early).await;
            talk.open("toggle", &pulse).await;
            pulse.speak(&sound);
            let reply = talk.reply().await;
            assert!(reply.contains("Dentist"), "{reply}");
        },
    );
}

#[test]
fn the_names_of_what_the_person_has_are_expected_in_the_first_words() {
    alone_in(
        "early",
        "the_names_of_what_the_person_has_are_expected_in_the_first_words",
        async |folder, pulse| {
            let Some(sound) = sounds(&folder, &[Request, Pause(300)]) else {
                return;
            };
            let names = Arc::<Mutex<Vec<String>>>::default();
            let told = Arc::clone(&names);
            let stt = ScriptedStt::answering(move |request| {
                told.lock().unwrap().extend(request.names.iter().cloned());
                Reply::Text("what do I have tomorrow".to_owned())
            });
            let llm = ScriptedLlm::replies([tomorrow()]);
            let mut talk = Talk::with(llm, stt, |parts| {
                early(parts);
                parts.limits.names = Expecting::some();
            })
            .await;
            talk.open("toggle", &pulse).await;
            pulse.speak(&sound);
            talk.reply().await;
            let names = names.lock().unwrap();
            let has = |name: &str| names.iter().any(|known| known.contains(name));
            assert!(has("Hern\u{e1}ndez") && has("Raman"), "{names:?}");
        },
    );
}

#[test]
fn a_whole_request_is_waited_for_less_than_others() {
    alone_in(
        "early",
        "a_whole_request_is_waited_for_less_than_others",
        async |folder, pulse| {
            let Some(sound) = sounds(&folder, &[Request]) else {
                return;
            };
            let (stt, said) = saying();
            let mut talk = Talk::with(ScriptedLlm::replies([tomorrow(), tomorrow()]), stt, |parts| {
                early(parts);
                parts.settings.reflex = true;
            })
            .await;
            let mut waits = Vec::new();
            // The first is a pattern of a tool, completely; of the others one needs the model, and one is not complete.
            for words in [
                "What time is it?",
                "I wonder what is on tomorrow.",
                "What time is it in",
            ] {
                *said.lock().unwrap() = words;
                talk.open("toggle", &pulse).await;
                pulse.speak(&sound);
                let played = Instant::now();
                let heard = talk
                    .told("what was said", |happening| match happening {
                        Happening::Heard { text, .. } => Some(text),
                        _ => None,
                    })
                    .await;
                waits.push(played.elapsed());
                assert_eq!(heard, words);
                talk.reply().await;
                talk.running.until("idle", |s| s.state == "idle").await;
            }
            println!("{waits:?} after what was played");
            let less = Duration::from_millis(200);
            assert!(
                waits[0] + less < waits[1] && waits[1] + less < waits[2],
                "{waits:?}"
            );
        },
    );
}

/// A recogniser that hears what is set, whenever it is asked.
fn saying() -> (ScriptedStt, Arc<Mutex<&'static str>>) {
    let said = Arc::new(Mutex::new(""));
    let heard = Arc::clone(&said);
    let stt = ScriptedStt::answering(move |_| Reply::Text((*heard.lock().unwrap()).to_owned()));
    (stt, said)
}

/// A room whose model asks for tomorrow, whatever is said.
fn room(settings: Settings) -> (Home, Arc<ScriptedLlm>, Room) {
    let home = Home::empty("2026-11-20T09:00[Europe/Berlin]");
    let llm = Arc::new(ScriptedLlm::answering(|_| Reply::Text(tomorrow())));
    let room = home.room(llm.clone(), settings);
    (home, llm, room)
}

const TOMORROW: &str = "Could you look what is on my calendar tomorrow evening?";

async fn asks(room: &mut Room, text: &str) -> Report {
    turn(room, Utterance::Text(text.to_owned()), &mut Alone).await
}

#[tokio::test]
async fn what_is_foreseen_is_read_and_neither_written_nor_done() {
    let (_home, llm, mut room) = room(Settings::default());
    assert_eq!(room.foresee(TOMORROW).await.unwrap(), Foreseen::Read);
    assert!(llm.requests().is_empty(), "nothing is written ahead");
    assert!(room.agent().said_words().is_empty(), "nothing was said yet");
    let report = asks(&mut room, TOMORROW).await;
    let tokens = report.tokens;
    assert_eq!((report.calls.len(), llm.requests().len()), (1, 1));
    assert!(
        tokens.prompt > 100 && tokens.prompt - tokens.cached <= 2,
        "{tokens:?}"
    );
}

#[tokio::test]
async fn nothing_is_foreseen_where_nobody_has_to_think() {
    let (_home, llm, mut room) = room(Settings::default());
    assert_eq!(room.foresee("What time is it?").await.unwrap(), Foreseen::Whole);
    assert_eq!(room.foresee("Order me a taxi.").await.unwrap(), Foreseen::Nothing);
    assert!(llm.requests().is_empty());
}

fn finish(mut player: std::process::Child) {
    assert!(player.wait().unwrap().success());
}
