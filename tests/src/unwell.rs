//! What keeps the wake word from being heard is told, and is over when it is over: a recogniser that does not work, a
//! microphone that was changed, unplugged or turned off in the desktop's settings.

use std::{
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use daemon::reply::Happening;
use models::{
    EngineError,
    scripted::{Reply, ScriptedLlm, ScriptedStt},
};
use prompts::words;

use crate::{
    microphone::{COMMAND, Talk, alone_in, recording, tomorrow},
    pulse::Pulse,
    session::told,
    spoken::{
        Sound::{Pause, Phrase as Said, Request},
        sounds,
    },
    waking::{answer, awake, hearing, waits},
};

fn scenario(name: &str, test: impl AsyncFnOnce(PathBuf, Pulse)) {
    alone_in("unwell", name, test);
}

fn no_model() -> EngineError {
    EngineError::NoModel {
        path: "/nowhere/whisper.bin".into(),
    }
}

#[test]
fn a_recogniser_that_fails_twice_is_told_until_it_works() {
    scenario(
        "a_recogniser_that_fails_twice_is_told_until_it_works",
        async |folder, pulse| {
            let call = [Pause(600), Said(0), Request, Pause(900)];
            let (Some(call), Some(other)) = (
                sounds(&folder, &call),
                sounds(&folder, &[Pause(600), Request, Pause(900)]),
            ) else {
                return;
            };
            let asked = Arc::new(AtomicUsize::new(0));
            let counted = Arc::clone(&asked);
            let stt = ScriptedStt::answering(move |request| {
                if counted.fetch_add(1, Ordering::Relaxed) < 2 {
                    return Reply::Fail(no_model());
                }
                Reply::Text(
                    match request.audio_ctx {
                        Some(_) => "Computer, what",
                        None => "Computer, what do I have tomorrow?",
                    }
                    .to_owned(),
                )
            });
            let mut talk = Talk::with(ScriptedLlm::replies([tomorrow()]), stt, awake).await;
            waits(&talk, &pulse, 0).await;
            pulse.speak(&other);
            pulse.speak(&other);
            let notice = talk.notice().await;
            assert!(
                notice.contains("wake word") && notice.contains("tiro models pull"),
                "{notice}"
            );
            talk.running
                .until("shown", |s| s.problems == [notice.clone()])
                .await;
            pulse.speak(&call);
            let reply = answer(&talk, 1).await;
            assert!(reply.contains("Dentist"), "{reply}");
            talk.running.until("well", |s| s.problems.is_empty()).await;
        },
    );
}

#[test]
fn a_recogniser_without_its_model_is_told_before_anybody_calls() {
    scenario(
        "a_recogniser_without_its_model_is_told_before_anybody_calls",
        async |_, pulse| {
            let stt = ScriptedStt::replies::<&str>([]).without_model(no_model());
            let talk = Talk::with(ScriptedLlm::replies([""; 0]), stt, awake).await;
            pulse.until_recorders(1);
            talk.running
                .until("told", |s| {
                    matches!(&s.problems[..], [problem] if problem.contains("no model at /nowhere/whisper.bin"))
                })
                .await;
            assert!(talk.heard().is_empty(), "nobody spoke");
        },
    );
}

#[test]
fn the_microphone_that_the_desktop_chooses_is_the_one_that_listens() {
    scenario(
        "the_microphone_that_the_desktop_chooses_is_the_one_that_listens",
        async |folder, pulse| follows_the_desktop(&folder, &pulse).await,
    );
}

/// The same on a sound server of any kind.
pub async fn follows_the_desktop(folder: &Path, pulse: &Pulse) {
    let Some(call) = sounds(folder, &[Pause(600), Said(0), Request, Pause(900)]) else {
        return;
    };
    let (stt, _) = hearing("Computer, what", &["Computer, what do I have tomorrow?"; 2]);
    let mut talk = Talk::with(ScriptedLlm::replies([tomorrow(), tomorrow()]), stt, awake).await;
    waits(&talk, pulse, 0).await;
    pulse.until_recorded("vmic");
    // A headset is plugged in and chosen, and then unplugged. Who is in the middle of a sentence is heard to its end.
    tokio::time::sleep(Duration::from_millis(500)).await;
    assert_eq!(talk.listen("start").await, "listening");
    let headset = pulse.plug_in("headset");
    pulse.pactl("set-default-source headset");
    tokio::time::sleep(Duration::from_secs(3)).await;
    pulse.until_recorded("vmic");
    assert_eq!(talk.listen("cancel").await, "idle");
    pulse.until_recorded("headset");
    talk.running.until("open", |s| s.state == "idle").await;
    pulse.speak_into("headset_in", &call);
    assert!(answer(&talk, 1).await.contains("Dentist"));
    pulse.pactl(&format!("unload-module {headset}"));
    pulse.until_recorded("vmic");
    pulse.speak(&call);
    assert!(answer(&talk, 2).await.contains("Dentist"));
    let told = told(&mut talk.signals, &talk.client).await;
    let noticed = |h: &&Happening| matches!(h, Happening::Noticed { .. });
    assert_eq!(told.iter().find(noticed), None, "nobody had to be told");
    // The last one goes: what the speakers play is no microphone.
    pulse.pactl(&format!("unload-module {}", pulse.usual()));
    talk.running
        .until("told", |s| {
            s.problems
                .iter()
                .any(|p| p.starts_with("There is no microphone."))
        })
        .await;
    assert_eq!(pulse.recorders(), 0, "nothing else is recorded in its place");
}

#[test]
fn a_microphone_that_the_desktop_has_muted_is_told() {
    scenario(
        "a_microphone_that_the_desktop_has_muted_is_told",
        async |_, pulse| {
            pulse.pactl("set-source-mute vmic 1");
            let stt = ScriptedStt::replies::<&str>([]);
            let mut talk = Talk::with(ScriptedLlm::replies([""; 0]), stt, |parts| {
                awake(parts);
                parts.listen.patience = Duration::from_secs(1);
            })
            .await;
            talk.running
                .until("told", |s| s.problems == [words::turned_off()])
                .await;
            waits(&talk, &pulse, 0).await;
            // What was told of the open microphone is not what is told of the press.
            told(&mut talk.signals, &talk.client).await;
            talk.listen("toggle").await;
            assert_eq!(talk.notice().await, words::turned_off());
            talk.running
                .until("still told", |s| {
                    s.state == "idle" && s.problems == [words::turned_off()]
                })
                .await;
            pulse.pactl("set-source-mute vmic 0");
            talk.running.until("over", |s| s.problems.is_empty()).await;
            talk.listen("toggle").await;
            assert_eq!(talk.notice().await, words::nothing_heard());
            // A laptop has a key for it.
            pulse.pactl("set-source-mute vmic 1");
            talk.running
                .until("told again", |s| s.problems == [words::turned_off()])
                .await;
        },
    );
}

#[test]
fn a_recogniser_that_hangs_costs_seconds_and_an_apology() {
    scenario(
        "a_recogniser_that_hangs_costs_seconds_and_an_apology",
        async |_, pulse| {
            let Some(command) = recording(COMMAND) else { return };
            let stt = ScriptedStt::answering(|_| Reply::Hang(String::new()));
            let mut talk = Talk::with(ScriptedLlm::replies([""; 0]), stt, |parts| {
                parts.limits.transcribe = Duration::from_secs(300);
            })
            .await;
            talk.open("start", &pulse).await;
            pulse.speak(&command);
            talk.listen("stop").await;
            let began = Instant::now();
            // Three seconds of sound are given twenty.
            assert_eq!(talk.reply().await, words::timed_out("answer that"));
            assert!(began.elapsed() < Duration::from_secs(40), "{:?}", began.elapsed());
            talk.running
                .until("over", |s| s.state == "idle" && s.turns == 1)
                .await;
        },
    );
}

#[test]
fn who_speaks_for_too_long_is_told_that_the_end_is_missing() {
    scenario(
        "who_speaks_for_too_long_is_told_that_the_end_is_missing",
        async |folder, pulse| {
            let Some(long) = sounds(&folder, &[Request, Request, Request, Request]) else {
                return;
            };
            let stt = ScriptedStt::replies(["What do I have tomorrow"]);
            let mut talk = Talk::with(ScriptedLlm::replies([tomorrow()]), stt, |parts| {
                parts.listen.longest = Duration::from_secs(2);
            })
            .await;
            talk.open("start", &pulse).await;
            pulse.speak(&long);
            assert_eq!(talk.notice().await, words::cut_off(2));
            assert!(
                talk.reply().await.contains("Dentist"),
                "what was heard is answered"
            );
        },
    );
}
