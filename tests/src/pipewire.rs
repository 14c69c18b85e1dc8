//! The microphone of most desktops: PipeWire in the place of PulseAudio. What holds there holds here.

use std::path::PathBuf;

use crate::{
    capture::every_sample_arrives,
    microphone::{alone_on, server_dies, tap_becomes_a_turn},
    pulse::{Kind, Pulse},
    unwell::follows_the_desktop,
};

fn alone(name: &str, test: impl AsyncFnOnce(PathBuf, Pulse)) {
    alone_on(Kind::PipeWire, "pipewire", name, test);
}

#[test]
fn every_sample_arrives_from_pipewire() {
    alone("every_sample_arrives_from_pipewire", async |folder, pulse| {
        let name = pulse.name();
        assert!(name.contains("PipeWire"), "{name}");
        tokio::task::block_in_place(|| every_sample_arrives(&folder, &pulse));
    });
}

#[test]
fn a_tap_becomes_a_turn_with_pipewire() {
    alone("a_tap_becomes_a_turn_with_pipewire", async |_, pulse| {
        tap_becomes_a_turn(&pulse).await;
    });
}

#[test]
fn pipewire_dies_and_comes_back() {
    alone("pipewire_dies_and_comes_back", async |folder, pulse| {
        server_dies(&folder, pulse).await;
    });
}

#[test]
fn the_choice_of_a_desktop_with_pipewire_is_followed() {
    alone(
        "the_choice_of_a_desktop_with_pipewire_is_followed",
        async |folder, pulse| follows_the_desktop(&folder, &pulse).await,
    );
}
