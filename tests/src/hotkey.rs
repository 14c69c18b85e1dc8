//! The key to talk on a real X server: xdotool presses it, and the real loop of the daemon listens to a real sound server.

use std::{
    path::Path,
    time::{Duration, Instant},
};

use daemon::hotkey::{Settings, Way, would_be};
use models::scripted::{ScriptedLlm, ScriptedStt};
use x11rb::{
    connection::Connection as _,
    protocol::{
        Event,
        xproto::{ConnectionExt as _, GrabMode, KeyButMask, ModMask},
    },
};

use crate::{
    daemon_loop::Running,
    desktop::{Bus, PATIENCE},
    microphone::{COMMAND, Talk, alone_in, recording, tomorrow},
    pulse::Pulse,
    screen::Screen,
};

/// The key of all these tests.
pub const KEY: &str = "ctrl+alt+space";
/// Longer than a tap.
pub const HELD: Duration = Duration::from_millis(700);

/// A key in the session of a test; what is not there cannot be reached.
pub fn settings(bus: Option<&Bus>, screen: Option<&Screen>) -> Settings {
    Settings {
        key: KEY.parse().unwrap(),
        bus: Some(bus.map_or("unix:path=/nowhere/at/all".to_owned(), |bus| bus.address.clone())),
        display: screen.map(|screen| screen.display.clone()),
        wayland: false,
        patience: PATIENCE,
        asking: PATIENCE,
        again: Duration::from_millis(200),
    }
}

/// A daemon that waits for speech longer than any test.
pub async fn patient(replies: usize) -> Talk {
    let llm = ScriptedLlm::replies(vec![tomorrow(); replies]);
    let stt = ScriptedStt::replies(vec!["what do I have tomorrow"; replies]);
    Talk::with(llm, stt, |parts| parts.listen.patience = 10 * PATIENCE).await
}

/// Runs a test in a process of its own, with a sound server and an X server.
fn on_x(name: &str, test: impl AsyncFnOnce(&Path, Pulse, Screen)) {
    alone_in("hotkey", name, async |folder, pulse| {
        if let Some(screen) = Screen::start() {
            test(&folder, pulse, screen).await;
        }
    });
}

/// Has the key, and then goes on for a while.
async fn taken_on_x(talk: &Talk) {
    talk.running.until("grabbed", |s| s.hotkey.way == Way::X11).await;
}

/// Whether the microphone stays open.
pub async fn stays_open(pulse: &Pulse) {
    let began = Instant::now();
    while began.elapsed() < HELD {
        assert_eq!(pulse.recorders(), 1, "it was closed");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[test]
fn whoever_holds_the_key_is_heard_and_whoever_taps_it_too() {
    on_x(
        "whoever_holds_the_key_is_heard_and_whoever_taps_it_too",
        async |_, pulse, screen| {
            let Some(command) = recording(COMMAND) else { return };
            let talk = patient(2).await;
            let keys = talk.running.keys(settings(None, Some(&screen)));
            taken_on_x(&talk).await;
            assert_eq!(pulse.recorders(), 0, "nobody has pressed it yet");

            screen.xdotool(&["keydown", KEY]);
            pulse.until_recorders(1);
            talk.running.until("listening", |s| s.state == "listening").await;
            pulse.speak(&command);
            stays_open(&pulse).await;
            screen.xdotool(&["keyup", KEY]);
            talk.running.until("answered", |s| s.turns == 1).await;
            pulse.until_recorders(0);

            // Silence ends what a tap began ...
            screen.xdotool(&["key", KEY]);
            pulse.until_recorders(1);
            pulse.speak(&command);
            talk.running.until("answered", |s| s.turns == 2).await;
            pulse.until_recorders(0);

            // ... or the next tap.
            screen.xdotool(&["key", KEY]);
            pulse.until_recorders(1);
            stays_open(&pulse).await;
            screen.xdotool(&["key", KEY]);
            pulse.until_recorders(0);
            talk.running
                .until("idle", |s| s.state == "idle" && s.turns == 2)
                .await;

            // Without the daemon the key is anybody's.
            keys.abort();
            let _ = keys.await;
            let (other, root) = screen.client();
            let began = Instant::now();
            while grabs(&other, root, ModMask::CONTROL | ModMask::M1, 65).is_err() {
                assert!(began.elapsed() < PATIENCE, "the key is not given back");
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        },
    );
}

/// The key of a muted microphone opens nothing; the same key works again when it is not.
#[test]
fn a_muted_microphone_stays_closed_under_the_key() {
    on_x(
        "a_muted_microphone_stays_closed_under_the_key",
        async |_, pulse, screen| {
            let talk = patient(1).await;
            let _keys = talk.running.keys(settings(None, Some(&screen)));
            taken_on_x(&talk).await;
            assert_eq!(talk.listen("mute").await, "muted");
            screen.xdotool(&["keydown", KEY]);
            tokio::time::sleep(HELD).await;
            assert_eq!(pulse.recorders(), 0, "it was opened");
            screen.xdotool(&["keyup", KEY]);
            let status = talk.running.status().await;
            assert!(status.muted && status.turns == 0, "{status:?}");

            // What was pressed while it was muted does not count when it no longer is.
            assert_eq!(talk.listen("unmute").await, "idle");
            tokio::time::sleep(HELD).await;
            assert_eq!(pulse.recorders(), 0);
            screen.xdotool(&["key", KEY]);
            pulse.until_recorders(1);
            // Muting closes what the key has opened.
            assert_eq!(talk.listen("mute").await, "muted");
            pulse.until_recorders(0);
        },
    );
}

/// Another program takes a key.
fn grabs(
    other: &x11rb::rust_connection::RustConnection,
    root: u32,
    beside: ModMask,
    code: u8,
) -> Result<(), x11rb::errors::ReplyError> {
    let mode = GrabMode::ASYNC;
    other.grab_key(false, root, beside, code, mode, mode)?.check()
}

#[test]
fn what_locks_does_not_keep_the_key_away() {
    on_x(
        "what_locks_does_not_keep_the_key_away",
        async |_, pulse, screen| {
            let talk = patient(0).await;
            let _keys = talk.running.keys(settings(None, Some(&screen)));
            taken_on_x(&talk).await;
            let (other, root) = screen.client();
            for (key, mask) in [("Caps_Lock", KeyButMask::LOCK), ("Num_Lock", KeyButMask::MOD2)] {
                screen.xdotool(&["key", key]);
                let state = other.query_pointer(root).unwrap().reply().unwrap().mask;
                assert_ne!(
                    u16::from(state) & u16::from(mask),
                    0,
                    "{key} is not on: {state:?}"
                );
                screen.xdotool(&["key", KEY]);
                pulse.until_recorders(1);
                screen.xdotool(&["key", KEY]);
                pulse.until_recorders(0);
            }
        },
    );
}

#[test]
fn a_key_that_repeats_itself_is_one_press() {
    on_x(
        "a_key_that_repeats_itself_is_one_press",
        async |_, pulse, screen| {
            // This keyboard does repeat, as a program sees that has another key.
            let (other, root) = screen.client();
            let f9 = 75;
            grabs(&other, root, ModMask::default(), f9).unwrap();
            screen.xdotool(&["keydown", "F9"]);
            tokio::time::sleep(Duration::from_millis(1500)).await;
            screen.xdotool(&["keyup", "F9"]);
            let mut presses = 0;
            while let Some(event) = other.poll_for_event().unwrap() {
                presses += usize::from(matches!(event, Event::KeyPress(press) if press.detail == f9));
            }
            println!("{presses} presses of a key that was held for 1.5 s");
            assert!(presses > 1, "this X server repeats no key");

            let talk = patient(0).await;
            let _keys = talk.running.keys(settings(None, Some(&screen)));
            taken_on_x(&talk).await;
            for _ in 0..2 {
                screen.xdotool(&["keydown", KEY]);
                pulse.until_recorders(1);
                stays_open(&pulse).await;
                stays_open(&pulse).await;
                screen.xdotool(&["keyup", KEY]);
                pulse.until_recorders(0);
            }
        },
    );
}

#[test]
fn a_key_that_another_program_has_is_said_and_taken_when_it_is_free() {
    on_x(
        "a_key_that_another_program_has_is_said_and_taken_when_it_is_free",
        async |_, pulse, screen| {
            let (other, root) = screen.client();
            // Only with NumLock: who has one of them has the key.
            grabs(&other, root, ModMask::CONTROL | ModMask::M1 | ModMask::M2, 65).unwrap();
            let talk = patient(0).await;
            let _keys = talk.running.keys(settings(None, Some(&screen)));
            talk.running
                .until("said", |s| {
                    s.hotkey.way == Way::None
                        && s.hotkey
                            .says
                            .contains("Another program has Ctrl+Alt+space already.")
                })
                .await;
            drop(other);
            taken_on_x(&talk).await;
            screen.xdotool(&["key", KEY]);
            pulse.until_recorders(1);
        },
    );
}

#[test]
fn the_key_is_followed_to_another_layout() {
    on_x(
        "the_key_is_followed_to_another_layout",
        async |_, pulse, screen| {
            let talk = patient(0).await;
            let mut wanted = settings(None, Some(&screen));
            wanted.key = "Ctrl+Alt+q".parse().unwrap();
            let _keys = talk.running.keys(wanted);
            taken_on_x(&talk).await;
            // The keys of q and a change places, as in France.
            let (other, root) = screen.client();
            for (code, symbol) in [(24, [0x61, 0x41]), (38, [0x71, 0x51])] {
                other
                    .change_keyboard_mapping(1, code, 2, &symbol)
                    .unwrap()
                    .check()
                    .unwrap();
            }
            let began = Instant::now();
            // Taken from us when it is ours again there.
            while grabs(&other, root, ModMask::CONTROL | ModMask::M1, 38).is_ok() {
                other
                    .ungrab_key(38, root, ModMask::CONTROL | ModMask::M1)
                    .unwrap()
                    .check()
                    .unwrap();
                assert!(began.elapsed() < PATIENCE, "the key is not followed");
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
            screen.xdotool(&["key", "ctrl+alt+q"]);
            pulse.until_recorders(1);
            screen.xdotool(&["key", "ctrl+alt+q"]);
            pulse.until_recorders(0);
        },
    );
}

#[test]
fn an_x_server_that_dies_takes_nobody_along() {
    on_x(
        "an_x_server_that_dies_takes_nobody_along",
        async |_, pulse, mut screen| {
            let talk = patient(0).await;
            let keys = talk.running.keys(settings(None, Some(&screen)));
            taken_on_x(&talk).await;
            screen.xdotool(&["keydown", KEY]);
            pulse.until_recorders(1);
            screen.kill();
            // Said before it is tried again: another test's server may have that display by then.
            talk.running
                .until("said", |s| {
                    s.hotkey.way == Way::None && s.hotkey.says.contains("X server")
                })
                .await;
            // Nobody will say that the key came up.
            pulse.until_recorders(0);
            keys.abort();
            talk.running.until("idle", |s| s.state == "idle").await;
        },
    );
}

#[tokio::test]
async fn an_x_server_that_hangs_is_not_waited_for() {
    let Some(screen) = Screen::start() else { return };
    let running = Running::start(ScriptedLlm::replies::<&str>([])).await;
    screen.pause();
    let _keys = running.keys(settings(None, Some(&screen)));
    running
        .until("said", |s| {
            s.hotkey.way == Way::None && s.hotkey.says.contains("does not answer")
        })
        .await;
    screen.resume();
    running.until("grabbed", |s| s.hotkey.way == Way::X11).await;
}

#[tokio::test]
async fn which_way_there_would_be_is_known_without_taking_the_key() {
    let Some(screen) = Screen::start() else { return };
    let mut wanted = settings(None, Some(&screen));
    let there = would_be(&wanted).await;
    assert_eq!(there.way, Way::X11, "{there:?}");
    let (other, root) = screen.client();
    grabs(&other, root, ModMask::CONTROL | ModMask::M1, 65).unwrap();
    wanted.wayland = true;
    let wayland = would_be(&wanted).await;
    assert_eq!(wayland.way, Way::None);
    assert!(wayland.says.contains("On Wayland"), "{wayland:?}");
    let nowhere = would_be(&settings(None, None)).await;
    assert_eq!(nowhere.way, Way::None);
    assert!(nowhere.says.contains("no X display"), "{nowhere:?}");
    let mut wrong = settings(None, None);
    for display in [":4711", "garbage", "", "unix:/nowhere"] {
        wrong.display = Some(display.to_owned());
        let reach = would_be(&wrong).await;
        assert_eq!(reach.way, Way::None, "{display:?}");
        assert!(reach.says.contains("cannot be reached"), "{reach:?}");
    }
}
