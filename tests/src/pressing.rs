//! What a press of a key costs before the microphone is asked for: `tiro listen` is one call to the daemon, and a person
//! who presses a key does not wait for it.

use std::time::{Duration, Instant};

use models::scripted::{ScriptedLlm, ScriptedStt};

use crate::microphone::{Talk, alone_in};

/// The most that the daemon may take to answer a press.
const LONGEST: Duration = Duration::from_millis(30);
/// So many presses; the middle one counts, because a machine has other things to do at a moment.
const PRESSES: usize = 12;

#[test]
fn a_press_is_answered_at_once() {
    alone_in("pressing", "a_press_is_answered_at_once", async |_, pulse| {
        let (llm, stt) = (ScriptedLlm::replies::<&str>([]), ScriptedStt::replies::<&str>([]));
        let talk = Talk::with(llm, stt, |_| ()).await;
        let mut times = Vec::new();
        for _ in 0..PRESSES {
            let began = Instant::now();
            assert_eq!(talk.listen("start").await, "listening");
            times.push(began.elapsed());
            // The microphone is open, and no more was waited for.
            pulse.until_recorders(1);
            assert_eq!(talk.listen("cancel").await, "idle");
            pulse.until_recorders(0);
        }
        times.sort_unstable();
        println!("listen start: {times:?}");
        assert!(times[PRESSES / 2] < LONGEST, "{times:?}");
    });
}
