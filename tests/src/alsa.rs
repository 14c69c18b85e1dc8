//! The microphone where there is no sound server of the machine's own: ALSA, here with its plugin for a server behind a port, since a
//! machine for tests has no sound card.

use std::path::PathBuf;

use daemon::listen::capture::find;

use crate::{
    microphone::{alone_on, server_dies, tap_becomes_a_turn},
    pulse::{Kind, Pulse},
};

fn alone(name: &str, test: impl AsyncFnOnce(PathBuf, Pulse)) {
    alone_on(Kind::BehindAlsa, "alsa", name, async |folder, pulse| {
        let microphone = tokio::task::block_in_place(|| find("")).unwrap().to_string();
        println!("{microphone}");
        assert!(microphone.contains(" through ALSA, "), "{microphone}");
        test(folder, pulse).await;
    });
}

#[test]
fn a_tap_becomes_a_turn_with_alsa() {
    alone("a_tap_becomes_a_turn_with_alsa", async |_, pulse| {
        tap_becomes_a_turn(&pulse).await;
    });
}

#[test]
fn a_device_of_alsa_goes_and_comes_back() {
    alone("a_device_of_alsa_goes_and_comes_back", async |folder, pulse| {
        server_dies(&folder, pulse).await;
    });
}
