//! Music steps back while Tiro speaks: players on a bus of the tests' own, and mpv as people have it.

use std::{
    path::Path,
    process::{Command, Stdio},
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use daemon::{
    speak::{Settings, Speaker, duck::Ducking},
    stop::Sounding,
};
use models::scripted::{ScriptedLlm, ScriptedStt};
use tools::{
    Dirs,
    system::desktop::{Desk, players::Mixer},
};
use zbus::{Connection, connection, interface};

use super::Puppet;
use crate::{
    daemon_loop::ask,
    desktop::{Bus, Programs, skipped},
    microphone::{Talk, alone_in, tomorrow},
};

const PATIENCE: Duration = Duration::from_secs(60);

/// A player that plays, and what it was told.
#[derive(Clone)]
struct Player {
    volume: Arc<Mutex<f64>>,
    told: Arc<Mutex<Vec<f64>>>,
    status: &'static str,
    /// As many volumes as it knows; some have hundred, old ones ten.
    steps: f64,
}

#[interface(name = "org.mpris.MediaPlayer2.Player")]
impl Player {
    #[zbus(property)]
    fn playback_status(&self) -> &'static str {
        self.status
    }

    #[zbus(property)]
    fn can_control(&self) -> bool {
        true
    }

    #[zbus(property)]
    fn volume(&self) -> f64 {
        *self.volume.lock().unwrap()
    }

    #[zbus(property)]
    fn set_volume(&mut self, volume: f64) {
        self.told.lock().unwrap().push(volume);
        *self.volume.lock().unwrap() = (volume * self.steps).round() / self.steps;
    }
}

/// One that cannot be turned down.
struct Fixed;

#[interface(name = "org.mpris.MediaPlayer2.Player")]
impl Fixed {
    #[zbus(property)]
    fn playback_status(&self) -> &'static str {
        "Playing"
    }

    #[zbus(property)]
    fn can_control(&self) -> bool {
        true
    }
}

impl Player {
    fn that(status: &'static str, volume: f64, steps: f64) -> Player {
        Player {
            volume: Arc::new(Mutex::new(volume)),
            told: Arc::default(),
            status,
            steps,
        }
    }

    fn volume_now(&self) -> f64 {
        *self.volume.lock().unwrap()
    }

    async fn serve(&self, bus: &Bus, name: &str) -> Connection {
        serve(bus, name, self.clone()).await
    }

    async fn until(&self, what: &str, is_so: impl Fn(f64) -> bool) {
        let began = Instant::now();
        while !is_so(self.volume_now()) {
            assert!(began.elapsed() < PATIENCE, "never {what}: {}", self.volume_now());
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}

async fn serve(bus: &Bus, name: &str, player: impl zbus::object_server::Interface) -> Connection {
    connection::Builder::address(bus.address.as_str())
        .name(format!("org.mpris.MediaPlayer2.{name}"))
        .serve_at("/org/mpris/MediaPlayer2", player)
        .build()
        .await
        .unwrap()
}

fn desk(bus: &Bus) -> Desk {
    Desk {
        session: Some(bus.address.clone()),
        patience: Duration::from_secs(1),
        ..Desk::nowhere()
    }
}

fn near(volume: f64) -> impl Fn(f64) -> bool {
    move |now| (now - volume).abs() < 0.001
}

/// What is written down until it is restored.
fn noted(state: &Path) -> bool {
    state.join("turned-down.json").exists()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_plays_is_turned_down_and_restored_exactly() {
    let home = tempfile::tempdir().unwrap();
    let Some(bus) = Bus::start(home.path()) else {
        return;
    };
    let state = home.path().join("state");
    let (plays, coarse, paused, soft) = (
        Player::that("Playing", 0.8, 1000.0),
        Player::that("Playing", 1.0, 10.0),
        Player::that("Paused", 0.5, 1000.0),
        Player::that("Playing", 0.03, 1000.0),
    );
    let mut served = Vec::new();
    for (name, player) in [
        ("fine", &plays),
        ("coarse", &coarse),
        ("paused", &paused),
        ("soft", &soft),
    ] {
        served.push(player.serve(&bus, name).await);
    }
    served.push(serve(&bus, "fixed", Fixed).await);
    let ducking = Ducking::start(desk(&bus), &state, 0.25);
    for _ in 0..2 {
        ducking.quiet(true);
        plays.until("turned down", near(0.2)).await;
        coarse.until("turned down", near(0.3)).await;
        assert!(noted(&state));
        ducking.quiet(false);
        plays.until("restored", near(0.8)).await;
        coarse.until("restored", near(1.0)).await;
        let began = Instant::now();
        while noted(&state) {
            assert!(began.elapsed() < PATIENCE);
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
    for left in [&paused, &soft] {
        assert_eq!(*left.told.lock().unwrap(), [0.0; 0]);
    }

    // Between listening and speaking nothing is made loud.
    ducking.quiet(true);
    plays.until("turned down", near(0.2)).await;
    let before = plays.told.lock().unwrap().len();
    ducking.quiet(false);
    tokio::time::sleep(Duration::from_millis(300)).await;
    ducking.quiet(true);
    tokio::time::sleep(Duration::from_millis(2500)).await;
    assert_eq!(plays.told.lock().unwrap().len(), before);

    // Somebody turns it up meanwhile: that is how they want it.
    *plays.volume.lock().unwrap() = 0.6;
    ducking.end().await;
    assert!(
        near(0.6)(plays.volume_now()) && near(1.0)(coarse.volume_now()),
        "{} {}",
        plays.volume_now(),
        coarse.volume_now()
    );
    assert!(!noted(&state));
}

/// The loop turns players down itself: while somebody is listened to, and while Tiro speaks.
#[test]
fn the_loop_turns_music_down_while_it_listens_and_while_it_speaks() {
    alone_in(
        "speaking::players",
        "the_loop_turns_music_down_while_it_listens_and_while_it_speaks",
        async |folder, pulse| {
            let Some(bus) = Bus::start(&folder) else { return };
            let player = Player::that("Playing", 0.8, 1000.0);
            let _served = player.serve(&bus, "music").await;
            let puppet = Puppet::that_says(0);
            let settings = Settings {
                always: true,
                earcons: false,
                duck: 0.25,
                ..Settings::default()
            };
            let speaker = Speaker::with(settings, vec![Arc::new(puppet.clone())]);
            let (llm, stt) = (
                ScriptedLlm::replies([tomorrow()]),
                ScriptedStt::replies::<&str>([]),
            );
            let talk = Talk::with(llm, stt, |parts| {
                parts.desk = desk(&bus);
                parts.speak = speaker;
            })
            .await;
            talk.open("start", &pulse).await;
            player.until("turned down", near(0.2)).await;
            talk.listen("cancel").await;
            player.until("restored", near(0.8)).await;
            ask(&talk.client, "what is on tomorrow").await.unwrap();
            puppet.until_given(1).await;
            player.until("turned down", near(0.2)).await;
            puppet.may.add_permits(100);
            player.until("restored", near(0.8)).await;
        },
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_killed_daemon_turned_down_the_next_one_restores() {
    let home = tempfile::tempdir().unwrap();
    let Some(bus) = Bus::start(home.path()) else {
        return;
    };
    let state = home.path().join("state");
    let (here, gone) = (
        Player::that("Playing", 0.8, 1000.0),
        Player::that("Playing", 0.9, 1000.0),
    );
    let _here = here.serve(&bus, "here").await;
    let away = gone.serve(&bus, "gone").await;
    let killed = Ducking::start(desk(&bus), &state, 0.5);
    killed.quiet(true);
    here.until("turned down", near(0.4)).await;
    gone.until("turned down", near(0.45)).await;
    let began = Instant::now();
    // It is written down what the players made of it.
    while !std::fs::read_to_string(state.join("turned-down.json")).is_ok_and(|text| text.contains("0.45")) {
        assert!(began.elapsed() < PATIENCE);
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    tokio::time::sleep(Duration::from_millis(300)).await;
    drop(killed);
    away.close().await.unwrap();
    let next = Ducking::start(desk(&bus), &state, 0.5);
    here.until("restored", near(0.8)).await;
    next.end().await;
    assert!(noted(&state), "one is still to be restored");
    let _back = gone.serve(&bus, "gone").await;
    // Also by one that turns nothing down itself.
    let last = Ducking::start(desk(&bus), &state, 1.0);
    last.quiet(true);
    gone.until("restored", near(0.9)).await;
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert!(near(0.8)(here.volume_now()), "{}", here.volume_now());
    last.end().await;
    assert!(!noted(&state));
    // Whatever stands there later is no reason to do anything.
    for text in [
        "",
        "[",
        r#"[{"player":"x"}]"#,
        r#"[{"player":"org.mpris.MediaPlayer2.here","before":1e300,"now":0.8,"at":0}]"#,
    ] {
        std::fs::write(state.join("turned-down.json"), text).unwrap();
        let odd = Ducking::start(desk(&bus), &state, 0.5);
        odd.end().await;
        assert!(near(0.8)(here.volume_now()), "{text}");
    }
}

/// A player that knows ten volumes only is told 0.25 and makes 0.2 or 0.3 of it. Who is killed before that is known restores it.
#[tokio::test(flavor = "multi_thread")]
async fn who_is_killed_while_a_player_is_turned_down_restores_it() {
    let home = tempfile::tempdir().unwrap();
    let Some(bus) = Bus::start(home.path()) else {
        return;
    };
    let state = home.path().join("state");
    let player = Player::that("Playing", 0.8, 10.0);
    let _here = player.serve(&bus, "here").await;
    let killed = Ducking::start(desk(&bus), &state, 0.31);
    killed.quiet(true);
    player.until("turned down", |volume| volume < 0.7).await;
    drop(killed);
    let lower = player.volume_now();
    assert!(!near(0.248)(lower), "{lower} is no other volume than it was told");
    let next = Ducking::start(desk(&bus), &state, 0.31);
    player.until("restored", near(0.8)).await;
    next.end().await;
    assert!(!noted(&state));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_real_player_is_turned_down_and_restored_and_is_what_stop_means() {
    let home = tempfile::tempdir().unwrap();
    let Some(bus) = Bus::start(home.path()) else {
        return;
    };
    let (dirs, desk) = (Dirs::under(home.path()), desk(&bus));
    let since = jiff::Timestamp::now();
    let meant = async |text: &str| {
        Sounding::if_meant(text, &dirs, &desk, since)
            .await
            .request(text, false)
    };
    assert_eq!(meant("Stop.").await, None, "nothing plays");
    let scripts = [
        "/etc/mpv/scripts/mpris.so",
        "/usr/lib/mpv-mpris/mpris.so",
        "/usr/lib64/mpv/mpris.so",
    ];
    let script = scripts.into_iter().find(|script| Path::new(script).exists());
    let mpv = script.and_then(|script| {
        Command::new("mpv")
            .args([
                "--no-config",
                "--no-video",
                "--ao=null",
                "--loop=inf",
                "--volume=80",
            ])
            .arg(format!("--script={script}"))
            .arg("av://lavfi:sine=frequency=440:duration=3600")
            .env("DBUS_SESSION_BUS_ADDRESS", &bus.address)
            .env("HOME", home.path())
            .env("XDG_RUNTIME_DIR", home.path())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .ok()
    });
    let Some(mpv) = mpv else {
        return skipped("mpv with MPRIS");
    };
    let _mpv = Programs(vec![mpv]);
    let mixer = Mixer::open(&desk).await.unwrap();
    let until = async |expect: f64| {
        let began = Instant::now();
        loop {
            let playing = mixer.playing().await;
            if let [(_, volume)] = &playing[..]
                && (volume - expect).abs() < 0.005
            {
                return;
            }
            assert!(began.elapsed() < PATIENCE, "never {expect}: {playing:?}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    until(0.8).await;
    assert_eq!(meant("Stop.").await.as_deref(), Some("stop the music"));
    assert_eq!(meant("What is this song?").await, None);
    let ducking = Ducking::start(desk.clone(), &home.path().join("state"), 0.3);
    ducking.quiet(true);
    until(0.24).await;
    ducking.end().await;
    until(0.8).await;
}
