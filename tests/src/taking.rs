//! A key that is pressed while the microphone is open by itself: whoever presses it is the one who speaks, whatever woke it.

use std::{
    path::{Path, PathBuf},
    process::Child,
    sync::atomic::Ordering,
    time::Duration,
};

use daemon::{hotkey::Happened, run::Event};
use models::scripted::ScriptedLlm;

use crate::{
    microphone::{Talk, alone_in, tomorrow},
    pulse::Pulse,
    spoken::{
        Sound::{Pause, Phrase as Said, Request},
        sounds,
    },
    waking::{awake, hearing, waits},
};

/// Longer than the silence that ends what was woken.
const WHILE: Duration = Duration::from_secs(3);

fn scenario(name: &str, test: impl AsyncFnOnce(PathBuf, Pulse)) {
    alone_in("taking", name, test);
}

/// A television says the phrase and goes on, and Tiro listens to it.
async fn woken(talk: &Talk, pulse: &Pulse, television: &Path) -> Child {
    waits(talk, pulse, 0).await;
    let mut command = pulse.command("paplay");
    let player = command.arg("--device=mic_in").arg(television).spawn().unwrap();
    talk.running.until("listening", |s| s.state == "listening").await;
    player
}

#[test]
fn who_holds_the_key_is_heard_and_not_the_television_that_woke_it() {
    scenario(
        "who_holds_the_key_is_heard_and_not_the_television_that_woke_it",
        async |folder, pulse| {
            let television = [Pause(600), Said(0), Request, Request, Request];
            let (Some(television), Some(request)) = (
                sounds(&folder, &television),
                sounds(&folder, &[Request, Pause(300)]),
            ) else {
                return;
            };
            let (stt, asked) = hearing("Computer, what", &["What do I have tomorrow?"]);
            let talk = Talk::with(ScriptedLlm::replies([tomorrow()]), stt, awake).await;
            let mut player = woken(&talk, &pulse, &television).await;
            talk.running.happens(Event::Hotkey(Happened::Pressed)).await;
            player.wait().unwrap();
            tokio::time::sleep(WHILE).await;
            let look = talk.running.status().await;
            assert_eq!(
                (look.state.as_str(), look.turns),
                ("listening", 0),
                "the key is held"
            );
            assert_eq!(
                asked.requests.load(Ordering::Relaxed),
                0,
                "nothing was made of the television"
            );
            pulse.speak(&request);
            talk.running
                .happens(Event::Hotkey(Happened::Released(WHILE)))
                .await;
            talk.running.until("answered", |s| s.turns == 1).await;
            assert!(talk.running.look().answer.contains("Dentist"));
            assert_eq!(asked.requests.load(Ordering::Relaxed), 1);
            waits(&talk, &pulse, 1).await;
        },
    );
}

#[test]
fn listen_start_holds_what_was_woken() {
    scenario("listen_start_holds_what_was_woken", async |folder, pulse| {
        let television = [Pause(600), Said(0), Request, Request, Request];
        let (Some(television), Some(request)) = (
            sounds(&folder, &television),
            sounds(&folder, &[Request, Pause(300)]),
        ) else {
            return;
        };
        let (stt, asked) = hearing("Computer, what", &["What do I have tomorrow?"]);
        let mut talk = Talk::with(ScriptedLlm::replies([tomorrow()]), stt, awake).await;
        let mut player = woken(&talk, &pulse, &television).await;
        assert_eq!(talk.listen("start").await, "listening");
        player.wait().unwrap();
        tokio::time::sleep(WHILE).await;
        assert_eq!(
            talk.running.status().await.state,
            "listening",
            "a pause ends nothing"
        );
        pulse.speak(&request);
        assert_eq!(talk.listen("stop").await, "transcribing");
        assert!(talk.reply().await.contains("Dentist"));
        assert_eq!(asked.requests.load(Ordering::Relaxed), 1);
    });
}
