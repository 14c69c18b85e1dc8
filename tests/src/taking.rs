//! A key that is pressed while the microphone is open by itself: whoever presses it is the one who speaks, whatever woke it.

use std::{
    path::{Path, PathBuf},
    process::Child,
    sync::{Arc, atomic::Ordering},
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
    waking::{Asked, awake, hearing, waits},
};

/// Longer than the silence that ends what was woken.
const WHILE: Duration = Duration::from_secs(3);

fn scenario(name: &str, test: impl AsyncFnOnce(PathBuf, Pulse)) {
    alone_in("taking", name, test);
}

struct Scene {
    talk: Talk,
    /// What the recogniser was given.
    asked: Arc<Asked>,
    /// The television.
    player: Child,
    /// What the person asks for.
    request: PathBuf,
}

/// A television says the phrase and goes on, and Tiro listens to it. `None` where the recordings are not there.
async fn woken(folder: &Path, pulse: &Pulse) -> Option<Scene> {
    let television = sounds(folder, &[Pause(600), Said(0), Request, Request, Request])?;
    let request = sounds(folder, &[Request, Pause(300)])?;
    let (stt, asked) = hearing("Computer, what", &["What do I have tomorrow?"]);
    let talk = Talk::with(ScriptedLlm::replies([tomorrow()]), stt, awake).await;
    waits(&talk, pulse, 0).await;
    let mut command = pulse.command("paplay");
    let player = command.arg("--device=mic_in").arg(television).spawn().unwrap();
    talk.running.until("listening", |s| s.state == "listening").await;
    Some(Scene {
        talk,
        asked,
        player,
        request,
    })
}

#[test]
fn who_holds_the_key_is_heard_and_not_the_television_that_woke_it() {
    scenario(
        "who_holds_the_key_is_heard_and_not_the_television_that_woke_it",
        async |folder, pulse| {
            let Some(Scene {
                talk,
                asked,
                mut player,
                request,
            }) = woken(&folder, &pulse).await
            else {
                return;
            };
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
        let Some(Scene {
            mut talk,
            asked,
            mut player,
            request,
        }) = woken(&folder, &pulse).await
        else {
            return;
        };
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
