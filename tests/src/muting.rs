//! The muted microphone: nothing opens it, and what was being said is dropped.

use daemon::{
    bus::Tiro1Proxy,
    reply::{Happening, State},
};
use models::scripted::{ScriptedLlm, ScriptedStt};
use prompts::words;

use crate::microphone::{COMMAND, Talk, alone_in, recording, tomorrow};

/// The state that this happening tells.
fn state(happening: Happening) -> Option<State> {
    match happening {
        Happening::State { state } => Some(state),
        _ => None,
    }
}

#[test]
fn a_muted_microphone_stays_closed_and_what_was_being_said_is_dropped() {
    alone_in(
        "muting",
        "a_muted_microphone_stays_closed_and_what_was_being_said_is_dropped",
        async |_, pulse| {
            let Some(command) = recording(COMMAND) else { return };
            let llm = ScriptedLlm::replies([tomorrow()]);
            let mut talk = Talk::with(llm, ScriptedStt::replies(["tomorrow"]), |_| ()).await;
            talk.open("start", &pulse).await;
            pulse.speak(&command);
            // Somebody else mutes it.
            let other = talk.running.client().await;
            let proxy = Tiro1Proxy::new(&other).await.unwrap();
            assert_eq!(proxy.listen("mute").await.unwrap(), "muted");
            pulse.until_recorders(0);
            talk.told("that it is muted", |h| state(h).filter(|s| *s == State::Muted))
                .await;
            for action in ["start", "toggle", "toggle", "start"] {
                assert_eq!(talk.listen(action).await, "muted");
            }
            assert_eq!(talk.notice().await, words::muted());
            for action in ["stop", "cancel", "mute"] {
                assert_eq!(talk.listen(action).await, "muted", "{action}");
            }
            let status = talk.running.status().await;
            assert!(status.muted && status.turns == 0, "{status:?}");
            assert_eq!(talk.heard().len(), 0, "the recogniser was not asked");
            assert_eq!(pulse.recorders(), 0);

            assert_eq!(talk.listen("unmute").await, "idle");
            talk.open("start", &pulse).await;
            pulse.speak(&command);
            assert_eq!(talk.listen("stop").await, "transcribing");
            assert!(talk.reply().await.contains("Dentist"));
        },
    );
}
