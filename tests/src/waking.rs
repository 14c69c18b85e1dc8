//! The wake word on a real sound server: recordings of people are played into a virtual microphone that stays open, and the
//! real loop of the daemon listens to it. The recogniser follows a script, which answers clips that may begin with the
//! phrase in another way than requests; `voice` has the same with real models.

use std::{
    collections::VecDeque,
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use daemon::{
    listen::{
        wake::{Phrase, Phrases},
        wav,
    },
    reply::{Happening, State},
    room::Parts,
    run::WakeSettings,
};
use models::scripted::{Reply, ScriptedLlm, ScriptedStt};
use tools::system::{rings, store, timers};

use crate::{
    daemon_loop::{asking_tools, note},
    microphone::{Talk, alone_in, likeness_of, tomorrow},
    pulse::Pulse,
    session::told,
    speaking::ear::Ear,
    spoken::{
        Sound::{Music, Noise, Pause, Phrase as Said, Request},
        sounds,
    },
};

pub const PATIENCE: Duration = Duration::from_secs(60);
/// Longer than any silence after which something is over.
const WHILE: Duration = Duration::from_secs(4);

/// What the recogniser was given.
#[derive(Default)]
pub struct Asked {
    pub clips: AtomicUsize,
    pub requests: AtomicUsize,
}

/// A recogniser that hears `clip` in each clip that may begin with the phrase, and these requests one after the other.
pub fn hearing(clip: &'static str, requests: &[&'static str]) -> (ScriptedStt, Arc<Asked>) {
    let asked = Arc::new(Asked::default());
    let (counted, mut requests) = (Arc::clone(&asked), VecDeque::from(requests.to_vec()));
    let stt = ScriptedStt::answering(move |request| {
        if request.audio_ctx.is_some() {
            counted.clips.fetch_add(1, Ordering::Relaxed);
            return Reply::Text(clip.to_owned());
        }
        counted.requests.fetch_add(1, Ordering::Relaxed);
        Reply::Text(
            requests
                .pop_front()
                .unwrap_or("There was nothing to recognise.")
                .to_owned(),
        )
    });
    (stt, asked)
}

/// Woken by "computer".
pub fn awake(parts: &mut Parts) {
    let phrases: Vec<Phrase> = vec!["computer".parse().unwrap()];
    parts.wake = Some(WakeSettings {
        phrases: Phrases::new(phrases, 0.5).into(),
        refractory: Duration::from_secs(1),
        follow_up: Duration::ZERO,
    });
}

fn going_on(parts: &mut Parts) {
    awake(parts);
    parts.wake.as_mut().unwrap().follow_up = Duration::from_secs(6);
}

/// The microphone is open, and nothing goes on.
pub async fn waits(talk: &Talk, pulse: &Pulse, turns: u64) {
    talk.running
        .until("waiting for the word", |s| s.state == "idle" && s.turns == turns)
        .await;
    pulse.until_recorders(1);
}

/// What so many turns end with.
pub async fn answer(talk: &Talk, turns: u64) -> String {
    talk.running.until("answered", |s| s.turns == turns).await;
    talk.running.look().answer
}

/// Waits until so many requests and answers were recognised.
async fn requests(asked: &Asked, count: usize) {
    let began = Instant::now();
    while asked.requests.load(Ordering::Relaxed) < count {
        assert!(began.elapsed() < PATIENCE, "never {count} of them");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

fn scenario(name: &str, test: impl AsyncFnOnce(PathBuf, Pulse)) {
    alone_in("waking", name, test);
}

#[test]
fn phrase_and_request_in_one_breath() {
    scenario("phrase_and_request_in_one_breath", async |folder, pulse| {
        let Some(sound) = sounds(&folder, &[Pause(600), Said(0), Request, Pause(300)]) else {
            return;
        };
        let (stt, asked) = hearing("Computer, what", &["Computer, what do I have tomorrow?"]);
        let talk = Talk::with(ScriptedLlm::replies([tomorrow()]), stt, awake).await;
        waits(&talk, &pulse, 0).await;
        pulse.speak(&sound);
        let reply = answer(&talk, 1).await;
        assert!(reply.contains("Dentist"), "{reply}");
        let prompt = &talk.running.llm.prompts()[0];
        assert!(prompt.contains("what do I have tomorrow?") && !prompt.contains("Computer"));
        // The whole utterance was heard, from before the phrase on.
        let heard = talk.heard().pop().unwrap();
        let played = wav::read(&sound).unwrap();
        assert!(
            heard.len() > played.len() / 2,
            "{} of {}",
            heard.len(),
            played.len()
        );
        assert_eq!(asked.requests.load(Ordering::Relaxed), 1);
        waits(&talk, &pulse, 1).await;
    });
}

#[test]
fn phrase_then_a_pause_then_the_request() {
    scenario("phrase_then_a_pause_then_the_request", async |folder, pulse| {
        let Some(sound) = sounds(&folder, &[Pause(600), Said(0), Pause(2500), Request, Pause(300)]) else {
            return;
        };
        let (stt, _) = hearing("Computer.", &["What do I have tomorrow?"]);
        let talk = Talk::with(ScriptedLlm::replies([tomorrow()]), stt, awake).await;
        waits(&talk, &pulse, 0).await;
        pulse.speak(&sound);
        let reply = answer(&talk, 1).await;
        assert!(reply.contains("Dentist"), "{reply}");
        waits(&talk, &pulse, 1).await;
    });
}

#[test]
fn only_the_phrase_where_more_was_expected() {
    scenario(
        "only_the_phrase_where_more_was_expected",
        async |folder, pulse| {
            let first = sounds(&folder, &[Pause(600), Said(0), Pause(300)]);
            let (Some(first), Some(request)) = (first, sounds(&folder, &[Request, Pause(300)])) else {
                return;
            };
            // The clip had more in it than there was: the person is listened to on, and nothing is made of the phrase.
            let (stt, _) = hearing("Computer, um", &["Computer.", "What do I have tomorrow?"]);
            let talk = Talk::with(ScriptedLlm::replies([tomorrow()]), stt, awake).await;
            waits(&talk, &pulse, 0).await;
            pulse.speak(&first);
            talk.running.until("listening", |s| s.state == "listening").await;
            tokio::time::sleep(Duration::from_secs(2)).await;
            pulse.speak(&request);
            let reply = answer(&talk, 1).await;
            assert!(reply.contains("Dentist"), "{reply}");
            waits(&talk, &pulse, 1).await;
        },
    );
}

#[test]
fn the_phrase_and_then_nothing() {
    scenario("the_phrase_and_then_nothing", async |folder, pulse| {
        let Some(sound) = sounds(&folder, &[Pause(600), Said(0), Pause(300)]) else {
            return;
        };
        let (stt, asked) = hearing("Computer.", &[]);
        let talk = Talk::with(ScriptedLlm::replies([""; 0]), stt, |parts| {
            awake(parts);
            parts.listen.patience = Duration::from_secs(2);
        })
        .await;
        waits(&talk, &pulse, 0).await;
        pulse.speak(&sound);
        talk.running.until("listening", |s| s.state == "listening").await;
        waits(&talk, &pulse, 0).await;
        assert_eq!(asked.requests.load(Ordering::Relaxed), 0);
    });
}

#[test]
fn talk_without_the_phrase() {
    scenario("talk_without_the_phrase", async |folder, pulse| {
        let parts = [Pause(600), Request, Pause(900), Request, Pause(900)];
        let Some(sound) = sounds(&folder, &parts) else {
            return;
        };
        let (stt, asked) = hearing("What time is it?", &[]);
        let talk = Talk::with(ScriptedLlm::replies([""; 0]), stt, awake).await;
        waits(&talk, &pulse, 0).await;
        pulse.speak(&sound);
        tokio::time::sleep(WHILE).await;
        assert!(asked.clips.load(Ordering::Relaxed) >= 1, "somebody was heard");
        assert_eq!(asked.requests.load(Ordering::Relaxed), 0, "and not listened to");
        waits(&talk, &pulse, 0).await;
    });
}

#[test]
fn noise_alone() {
    scenario("noise_alone", async |folder, pulse| {
        let Some(sound) = sounds(&folder, &[Noise(6000)]) else {
            return;
        };
        let (stt, asked) = hearing("Computer.", &[]);
        let talk = Talk::with(ScriptedLlm::replies([""; 0]), stt, awake).await;
        waits(&talk, &pulse, 0).await;
        pulse.speak(&sound);
        tokio::time::sleep(WHILE).await;
        assert_eq!(
            asked.clips.load(Ordering::Relaxed),
            0,
            "the recogniser is not asked about noise"
        );
        waits(&talk, &pulse, 0).await;
    });
}

#[test]
fn music_alone() {
    scenario("music_alone", async |folder, pulse| {
        let Some(sound) = sounds(&folder, &[Music(6000)]) else {
            return;
        };
        let (stt, asked) = hearing("", &[]);
        let talk = Talk::with(ScriptedLlm::replies([""; 0]), stt, awake).await;
        waits(&talk, &pulse, 0).await;
        pulse.speak(&sound);
        tokio::time::sleep(WHILE).await;
        // Strings may sound like somebody; in which nobody says a word.
        assert!(asked.clips.load(Ordering::Relaxed) <= 6);
        assert_eq!(asked.requests.load(Ordering::Relaxed), 0);
        waits(&talk, &pulse, 0).await;
    });
}

#[test]
fn the_answer_is_gone_on_from_without_the_phrase() {
    scenario(
        "the_answer_is_gone_on_from_without_the_phrase",
        async |folder, pulse| {
            let first = sounds(&folder, &[Pause(600), Said(0), Request, Pause(300)]);
            let (Some(first), Some(second)) = (first, sounds(&folder, &[Request, Pause(300)])) else {
                return;
            };
            let requests = [
                "Computer, what do I have tomorrow?",
                "And what do I have tomorrow?",
            ];
            let (stt, asked) = hearing("Computer, what", &requests);
            let llm = ScriptedLlm::replies([tomorrow(), tomorrow()]);
            let talk = Talk::with(llm, stt, going_on).await;
            waits(&talk, &pulse, 0).await;
            pulse.speak(&first);
            talk.running
                .until("listening on", |s| s.state == "listening" && s.turns == 1)
                .await;
            tokio::time::sleep(Duration::from_millis(700)).await;
            pulse.speak(&second);
            let reply = answer(&talk, 2).await;
            assert!(reply.contains("Dentist"), "{reply}");
            assert_eq!(asked.requests.load(Ordering::Relaxed), 2);
            // Nobody goes on any more: it waits for the phrase again, and says nothing about that.
            waits(&talk, &pulse, 2).await;
            assert_eq!(asked.requests.load(Ordering::Relaxed), 2);
        },
    );
}

#[test]
fn never_mind_is_no_request() {
    scenario("never_mind_is_no_request", async |folder, pulse| {
        let Some(sound) = sounds(&folder, &[Pause(600), Said(0), Request, Pause(300)]) else {
            return;
        };
        let (stt, asked) = hearing("Computer, never", &["Computer, never mind."]);
        let talk = Talk::with(ScriptedLlm::replies([""; 0]), stt, going_on).await;
        waits(&talk, &pulse, 0).await;
        pulse.speak(&sound);
        let began = Instant::now();
        while asked.requests.load(Ordering::Relaxed) == 0 {
            assert!(began.elapsed() < PATIENCE, "the request is never recognised");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        waits(&talk, &pulse, 0).await;
        assert!(talk.running.llm.prompts().is_empty(), "nobody is asked");
    });
}

#[test]
fn the_phrase_interrupts_what_tiro_does() {
    scenario("the_phrase_interrupts_what_tiro_does", async |folder, pulse| {
        let Some(sound) = sounds(&folder, &[Pause(600), Said(0), Request, Pause(300)]) else {
            return;
        };
        let requests = ["Computer, tell me a story.", "Computer, what do I have tomorrow?"];
        let (stt, _) = hearing("Computer, what", &requests);
        let mut replies = vec![Reply::Text(tomorrow()), Reply::Hang("Once".to_owned())];
        let llm = ScriptedLlm::answering(move |_| replies.pop().unwrap());
        let talk = Talk::with(llm, stt, awake).await;
        waits(&talk, &pulse, 0).await;
        pulse.speak(&sound);
        talk.running.until_asked(1).await;
        tokio::time::sleep(Duration::from_millis(1500)).await;
        pulse.speak(&sound);
        let reply = answer(&talk, 1).await;
        assert!(reply.contains("Dentist"), "{reply}");
        waits(&talk, &pulse, 1).await;
    });
}

#[test]
fn who_says_stop_to_what_they_interrupted_wants_nothing_more() {
    scenario(
        "who_says_stop_to_what_they_interrupted_wants_nothing_more",
        async |folder, pulse| {
            let Some(sound) = sounds(&folder, &[Pause(600), Said(0), Request, Pause(300)]) else {
                return;
            };
            let (stt, _) = hearing(
                "Computer, stop",
                &["Computer, tell me a story.", "Computer, stop."],
            );
            let llm = ScriptedLlm::answering(|_| Reply::Hang("Once".to_owned()));
            let talk = Talk::with(llm, stt, awake).await;
            waits(&talk, &pulse, 0).await;
            pulse.speak(&sound);
            talk.running.until_asked(1).await;
            tokio::time::sleep(Duration::from_millis(1500)).await;
            pulse.speak(&sound);
            talk.running.until("listening", |s| s.state == "listening").await;
            waits(&talk, &pulse, 0).await;
            assert_eq!(talk.running.llm.prompts().len(), 1, "\"stop\" was no request");
        },
    );
}

/// Somebody is answered and may go on without the phrase. Then a timer rings, and they say "Stop.".
#[test]
fn who_says_stop_after_an_answer_stops_what_rings() {
    scenario(
        "who_says_stop_after_an_answer_stops_what_rings",
        async |folder, pulse| {
            let first = sounds(&folder, &[Pause(600), Said(0), Request, Pause(300)]);
            let (Some(first), Some(second)) = (first, sounds(&folder, &[Request, Pause(300)])) else {
                return;
            };
            let (stt, _) = hearing("Computer, what", &["Computer, what do I have tomorrow?", "Stop."]);
            let talk = Talk::with(ScriptedLlm::replies([""; 0]), stt, |parts| {
                parts.settings.reflex = true;
                going_on(parts);
            })
            .await;
            answered(&talk, &pulse, &first).await;
            ring(&talk).await;
            pulse.speak(&second);
            let reply = answer(&talk, 2).await;
            assert_eq!(reply, "I stopped your tea timer.");
            assert_eq!(rings::open(&talk.running.home.dirs()), []);
            assert!(talk.running.llm.prompts().is_empty(), "the model is not asked");
        },
    );
}

/// What rings is silent while the microphone is open, and goes on when nobody meant it.
#[test]
fn what_rings_is_silent_while_somebody_speaks() {
    scenario(
        "what_rings_is_silent_while_somebody_speaks",
        async |folder, pulse| {
            let Some(sound) = sounds(&folder, &[Pause(600), Said(0), Request, Pause(300)]) else {
                return;
            };
            let (stt, _) = hearing("Computer, never", &["Computer, never mind."]);
            let talk = Talk::with(ScriptedLlm::replies([""; 0]), stt, |parts| {
                parts.ring.sound = true;
                awake(parts);
            })
            .await;
            waits(&talk, &pulse, 0).await;
            // It records, too, and who waits counts those who do.
            let ear = Ear::open(&pulse);
            ring(&talk).await;
            let until_heard = async |from: usize| {
                let began = Instant::now();
                while ear.begins(from).is_none() {
                    assert!(began.elapsed() < PATIENCE, "it is never heard to ring");
                    tokio::time::sleep(Duration::from_millis(20)).await;
                }
            };
            until_heard(0).await;
            let speaking = {
                let mut play = pulse.command("paplay");
                play.arg("--device=mic_in").arg(&sound);
                std::thread::spawn(move || play.status().unwrap())
            };
            talk.running.until("listening", |s| s.state == "listening").await;
            // The player is stopped, and what the server had of it is played out.
            tokio::time::sleep(Duration::from_millis(500)).await;
            let from = ear.position();
            talk.running.until("idle", |s| s.state == "idle").await;
            let during = ear.since(from);
            let loudest = during.iter().map(|sample| sample.unsigned_abs()).max();
            println!(
                "{} samples while the microphone was open, {loudest:?}",
                during.len()
            );
            assert!(during.len() > 1000 && loudest < Some(100));
            until_heard(ear.position()).await;
            assert_eq!(rings::open(&talk.running.home.dirs()).len(), 1);
            assert!(speaking.join().unwrap().success());
        },
    );
}

/// A timer of a minute is up, and rings for longer than any test takes.
async fn ring(talk: &Talk) {
    let dirs = talk.running.home.dirs();
    let before = talk.running.home.now();
    let before = before.checked_sub(jiff::SignedDuration::from_mins(1)).unwrap();
    let step = tools::Journal::at(&dirs.state, tools::Retention::default()).step("test");
    let length = Duration::from_secs(60);
    timers::set(&step, &dirs, &before, length, Some("tea".into())).unwrap();
    let began = Instant::now();
    while rings::open(&dirs).is_empty() {
        assert!(began.elapsed() < PATIENCE, "it never rings");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[test]
fn a_question_is_answered_without_the_phrase() {
    scenario(
        "a_question_is_answered_without_the_phrase",
        async |folder, pulse| {
            let first = sounds(&folder, &[Pause(600), Said(0), Request, Pause(300)]);
            let (Some(first), Some(yes)) = (first, sounds(&folder, &[Request, Pause(300)])) else {
                return;
            };
            // "Okay" may be anybody's, to somebody else: where no key was pressed it is no yes.
            let answers = ["Computer, note milk.", "Okay.", "Computer, yes."];
            let (stt, asked) = hearing("Computer, note", &answers);
            let mut talk = Talk::with(ScriptedLlm::replies([note("milk")]), stt, |parts| {
                asking_tools(parts);
                awake(parts);
            })
            .await;
            waits(&talk, &pulse, 0).await;
            let before = talk.running.home.files();
            pulse.speak(&first);
            // It asks, and then it listens.
            talk.told("the question", |h| {
                (h == Happening::State {
                    state: State::Confirming,
                })
                .then_some(())
            })
            .await;
            talk.running.until("listening", |s| s.state == "listening").await;
            tokio::time::sleep(Duration::from_millis(700)).await;
            pulse.speak(&yes);
            requests(&asked, 2).await;
            talk.running.until("listening", |s| s.state == "listening").await;
            assert_eq!(talk.running.home.files(), before, "nothing was agreed to");
            tokio::time::sleep(Duration::from_millis(700)).await;
            pulse.speak(&yes);
            waits(&talk, &pulse, 1).await;
            assert_ne!(talk.running.home.files(), before, "the note is there");
        },
    );
}

#[test]
fn silence_to_a_question_is_no() {
    scenario("silence_to_a_question_is_no", async |folder, pulse| {
        let Some(first) = sounds(&folder, &[Pause(600), Said(0), Request, Pause(300)]) else {
            return;
        };
        let (stt, _) = hearing("Computer, note", &["Computer, note milk."]);
        let talk = Talk::with(ScriptedLlm::replies([note("milk")]), stt, |parts| {
            asking_tools(parts);
            awake(parts);
            parts.listen.patience = Duration::from_secs(1);
            parts.limits.patience = Duration::from_secs(5);
        })
        .await;
        waits(&talk, &pulse, 0).await;
        let before = talk.running.home.files();
        pulse.speak(&first);
        waits(&talk, &pulse, 1).await;
        assert_eq!(talk.running.home.files(), before);
    });
}

#[test]
fn a_muted_microphone_is_closed_to_the_phrase_too() {
    scenario(
        "a_muted_microphone_is_closed_to_the_phrase_too",
        async |folder, pulse| {
            let Some(sound) = sounds(&folder, &[Pause(600), Said(0), Request, Pause(300)]) else {
                return;
            };
            let (stt, asked) = hearing("Computer, what", &["Computer, what do I have tomorrow?"]);
            let talk = Talk::with(ScriptedLlm::replies([tomorrow()]), stt, awake).await;
            waits(&talk, &pulse, 0).await;
            talk.listen("mute").await;
            pulse.until_recorders(0);
            pulse.speak(&sound);
            assert_eq!(asked.clips.load(Ordering::Relaxed), 0);
            talk.listen("unmute").await;
            pulse.until_recorders(1);
            pulse.speak(&sound);
            let reply = answer(&talk, 1).await;
            assert!(reply.contains("Dentist"), "{reply}");
        },
    );
}

#[test]
fn a_microphone_that_comes_back_is_listened_to_again() {
    scenario(
        "a_microphone_that_comes_back_is_listened_to_again",
        async |folder, pulse| {
            let Some(sound) = sounds(&folder, &[Pause(600), Said(0), Request, Pause(300)]) else {
                return;
            };
            let (stt, _) = hearing("Computer, what", &["Computer, what do I have tomorrow?"]);
            let mut talk = Talk::with(ScriptedLlm::replies([tomorrow()]), stt, awake).await;
            waits(&talk, &pulse, 0).await;
            pulse.kill();
            let notice = talk.notice().await;
            println!("{notice}");
            let Some(pulse) = Pulse::start(&folder) else {
                return;
            };
            let began = Instant::now();
            pulse.until_recorders(1);
            println!("open again after {} ms", began.elapsed().as_millis());
            tokio::time::sleep(Duration::from_millis(300)).await;
            pulse.speak(&sound);
            let reply = answer(&talk, 1).await;
            assert!(reply.contains("Dentist"), "{reply}");
        },
    );
}

#[test]
fn the_key_works_beside_the_phrase_and_loses_no_first_word() {
    scenario(
        "the_key_works_beside_the_phrase_and_loses_no_first_word",
        async |folder, pulse| {
            let Some(sound) = sounds(&folder, &[Request, Pause(300)]) else {
                return;
            };
            let (stt, asked) = hearing("What time is it?", &["What do I have tomorrow?"]);
            let mut talk = Talk::with(ScriptedLlm::replies([tomorrow()]), stt, awake).await;
            waits(&talk, &pulse, 0).await;
            // Somebody speaks a moment before they press the key: so late that the first word is over, and not so late that
            // it is forgotten, which on a busy machine may take more than once.
            let ear = Ear::at("mic_in", &pulse);
            let mut late = Duration::MAX;
            for _ in 0..5 {
                let from = ear.position();
                let mut player = pulse
                    .command("paplay")
                    .arg("--device=mic_in")
                    .arg(&sound)
                    .spawn()
                    .unwrap();
                ear.until_sound(from).await;
                let began = Instant::now();
                tokio::time::sleep(Duration::from_millis(250)).await;
                assert_eq!(talk.listen("toggle").await, "listening");
                late = began.elapsed();
                assert_eq!(pulse.recorders(), 2, "the same microphone, and the ear");
                player.wait().unwrap();
                if late < Duration::from_millis(400) {
                    break;
                }
                talk.listen("cancel").await;
            }
            drop(ear);
            let reply = talk.reply().await;
            assert!(reply.contains("Dentist"), "{reply}");
            assert_eq!(asked.requests.load(Ordering::Relaxed), 1);
            let heard = talk.heard().pop().unwrap();
            let played = wav::read(&sound).unwrap();
            let onset = played.iter().position(|sample| sample.abs() > 0.02).unwrap();
            let like = likeness_of(&played[onset..onset + 5600], &heard);
            println!(
                "the key was {} ms late; {:.2} s of {:.2} s were heard, likeness of the beginning {like}",
                late.as_millis(),
                heard.len() as f32 / 16e3,
                played.len() as f32 / 16e3
            );
            // Of what came after the key this is less than a third.
            assert!(like > 0.9, "{like}");
            waits(&talk, &pulse, 1).await;
        },
    );
}

#[test]
fn what_is_said_without_the_phrase_is_told_to_nobody() {
    scenario(
        "what_is_said_without_the_phrase_is_told_to_nobody",
        async |folder, pulse| {
            let Some(sound) = sounds(&folder, &[Pause(600), Request, Pause(900)]) else {
                return;
            };
            let (stt, asked) = hearing("A secret about Xanthippe.", &[]);
            let mut talk = Talk::with(ScriptedLlm::replies([""; 0]), stt, awake).await;
            waits(&talk, &pulse, 0).await;
            pulse.speak(&sound);
            tokio::time::sleep(WHILE).await;
            assert!(asked.clips.load(Ordering::Relaxed) >= 1);
            let told = format!("{:?}", told(&mut talk.signals, &talk.client).await);
            assert!(!told.contains("Xanthippe"), "{told}");
            let bounds = store::Bounds {
                depth: 8,
                entries: 100_000,
                file_links: false,
            };
            let all = store::walk(talk.running.home.path(), bounds).unwrap().files;
            assert!(!all.is_empty());
            for path in all {
                // Some come and go.
                let bytes = std::fs::read(&path).unwrap_or_default();
                assert!(!bytes.windows(9).any(|w| w == b"Xanthippe"), "{}", path.display());
            }
        },
    );
}

/// The answer to this was given, and it may be gone on from.
async fn answered(talk: &Talk, pulse: &Pulse, first: &std::path::Path) {
    waits(talk, pulse, 0).await;
    pulse.speak(first);
    talk.running
        .until("listening on", |s| s.state == "listening" && s.turns == 1)
        .await;
    tokio::time::sleep(Duration::from_millis(700)).await;
}

#[test]
fn a_cough_after_an_answer_is_nothing() {
    scenario("a_cough_after_an_answer_is_nothing", async |folder, pulse| {
        let first = sounds(&folder, &[Pause(600), Said(0), Request, Pause(300)]);
        let (Some(first), Some(cough)) = (first, sounds(&folder, &[Request, Pause(300)])) else {
            return;
        };
        // What sounds like speech and has no words.
        let (stt, asked) = hearing("Computer, what", &["Computer, what do I have tomorrow?", ""]);
        let talk = Talk::with(ScriptedLlm::replies([tomorrow()]), stt, going_on).await;
        answered(&talk, &pulse, &first).await;
        pulse.speak(&cough);
        requests(&asked, 2).await;
        waits(&talk, &pulse, 1).await;
        tokio::time::sleep(WHILE).await;
        waits(&talk, &pulse, 1).await;
    });
}

#[test]
fn who_presses_the_key_after_an_answer_is_heard() {
    scenario(
        "who_presses_the_key_after_an_answer_is_heard",
        async |folder, pulse| {
            let first = sounds(&folder, &[Pause(600), Said(0), Request, Pause(300)]);
            let (Some(first), Some(second)) = (first, sounds(&folder, &[Request, Pause(300)])) else {
                return;
            };
            let requests = ["Computer, what do I have tomorrow?", "What do I have tomorrow?"];
            let (stt, _) = hearing("Computer, what", &requests);
            let mut talk = Talk::with(ScriptedLlm::replies([tomorrow(), tomorrow()]), stt, going_on).await;
            answered(&talk, &pulse, &first).await;
            assert_eq!(talk.listen("start").await, "listening");
            pulse.speak(&second);
            // The key is held, so a pause ends nothing.
            tokio::time::sleep(Duration::from_secs(2)).await;
            talk.running.until("held", |s| s.state == "listening").await;
            assert_eq!(talk.listen("stop").await, "transcribing");
            let reply = talk.reply().await;
            assert!(reply.contains("Dentist"), "{reply}");
            waits(&talk, &pulse, 2).await;
        },
    );
}

#[test]
fn who_cancels_after_an_answer_has_quiet() {
    scenario("who_cancels_after_an_answer_has_quiet", async |folder, pulse| {
        let first = sounds(&folder, &[Pause(600), Said(0), Request, Pause(300)]);
        let (Some(first), Some(second)) = (first, sounds(&folder, &[Request, Pause(300)])) else {
            return;
        };
        let requests = Arc::new(AtomicUsize::new(0));
        let (counted, mut first_clip) = (Arc::clone(&requests), true);
        let stt = ScriptedStt::answering(move |request| {
            if request.audio_ctx.is_some() {
                let woken = std::mem::take(&mut first_clip);
                return Reply::Text(
                    if woken {
                        "Computer, what"
                    } else {
                        "What time is it?"
                    }
                    .to_owned(),
                );
            }
            counted.fetch_add(1, Ordering::Relaxed);
            Reply::Text("Computer, what do I have tomorrow?".to_owned())
        });
        let talk = Talk::with(ScriptedLlm::replies([tomorrow()]), stt, going_on).await;
        answered(&talk, &pulse, &first).await;
        talk.listen("cancel").await;
        waits(&talk, &pulse, 1).await;
        pulse.speak(&second);
        tokio::time::sleep(WHILE).await;
        waits(&talk, &pulse, 1).await;
        assert_eq!(requests.load(Ordering::Relaxed), 1);
    });
}

#[test]
fn what_was_said_to_the_key_is_not_heard_again_as_a_call() {
    scenario(
        "what_was_said_to_the_key_is_not_heard_again_as_a_call",
        async |folder, pulse| {
            let Some(sound) = sounds(&folder, &[Pause(300), Said(0), Request]) else {
                return;
            };
            let (stt, asked) = hearing("Computer, what", &["Computer, what do I have tomorrow?"]);
            let mut talk = Talk::with(ScriptedLlm::replies([tomorrow()]), stt, awake).await;
            waits(&talk, &pulse, 0).await;
            assert_eq!(talk.listen("start").await, "listening");
            pulse.speak(&sound);
            // The key comes up at once, so that the clip of the same words comes out after it.
            talk.listen("stop").await;
            let reply = talk.reply().await;
            assert!(reply.contains("Dentist"), "{reply}");
            tokio::time::sleep(WHILE).await;
            waits(&talk, &pulse, 1).await;
            assert_eq!(
                asked.requests.load(Ordering::Relaxed),
                1,
                "it was carried out once"
            );
        },
    );
}
