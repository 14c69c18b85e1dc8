//! One integration binary: every module is one topic.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    reason = "all of this is a test, helpers too: it fails where something is not as it should be, and skips aloud"
)]

mod home;
mod program;
mod desktop;
mod pulse;
mod screen;
mod spoken;

mod chat;
mod daemon_loop;
mod making_way;
mod session;
mod service;
mod answers;
mod icon;
#[path = "../../daemon/tests/helper/sway.rs"]
mod sway;
mod waybar;
mod dialogue;
mod far;
mod llama_server;
mod wyoming;
mod dialogs;
mod keyring;
#[path = "../../tools/tests/post/servers.rs"]
#[expect(
    dead_code,
    reason = "what else the servers can do is for the tests of one room"
)]
mod post_servers;
mod arriving;
mod real;
mod verbs;
mod full_disk;
mod tokens;
mod ringing;
mod sound;
mod speaking;
mod overtime;
mod microphone;
mod capture;
mod pipewire;
mod alsa;
mod muting;
mod pressing;
mod answering;
mod early;
mod waking;
mod unwell;
mod taking;
mod echo;
mod voice;
mod hotkey;
mod wake;
mod people;
mod portal;
mod following;
mod second_opinion;
mod reading_ahead;
mod loading;
mod reflex;
mod scenarios;
mod consent;
mod recorded;
mod tidy;
