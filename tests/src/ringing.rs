//! What rings, on a real private session bus: a notification server of the test's own shows it, and the person presses
//! its buttons. The loop of the daemon is the real one, and so is the clock.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use daemon::{
    bus::{self, Tiro1Proxy},
    reply::Happening,
    ring,
    room::{Clock, Room},
    run::{Daemon, Event},
};
use futures_util::StreamExt as _;
use models::scripted::{ScriptedLlm, ScriptedStt};
use tokio::sync::{mpsc, watch};
use tools::system::{rings, timers};
use zbus::Connection;

use crate::{
    desktop::{Bus, Desktop, Shown},
    home::Home,
};

const PATIENCE: Duration = Duration::from_secs(60);

/// A desktop, and a daemon that rings on it.
struct World {
    home: Home,
    desktop: Desktop,
    server: Connection,
    events: mpsc::Sender<Event>,
    ended: tokio::task::JoinHandle<()>,
    _serving: tokio::task::JoinHandle<()>,
    _bus: Bus,
}

impl World {
    async fn start() -> Option<World> {
        let home = Home::empty("2026-11-20T09:00[Europe/Berlin]");
        let bus = Bus::start(home.path())?;
        let desktop = Desktop::default();
        let server = desktop.serve(&bus).await;
        let mut parts = home.parts(daemon::agent::Settings::default());
        parts.clock = Clock::Real;
        parts.ring = ring::Settings {
            sound: false,
            snooze: Duration::from_secs(2),
            again: Duration::from_secs(2),
            bus: Some(bus.address.clone()),
            ..ring::Settings::default()
        };
        let llm = Arc::new(ScriptedLlm::replies::<&str>([]));
        let stt = Arc::new(ScriptedStt::replies::<&str>([]));
        let room = Room::new(llm, stt, parts.clone());
        let listener = bus::listen(&home.path().join("s")).await.unwrap();
        let (events, inbox) = mpsc::channel(64);
        let daemon = Daemon::new(room, parts, events.clone());
        Some(World {
            _serving: tokio::spawn(bus::serve(listener, events.clone())),
            ended: tokio::spawn(daemon.run(inbox)),
            home,
            desktop,
            server,
            events,
            _bus: bus,
        })
    }

    /// A timer of so many seconds; returns when it is to ring.
    fn timer(&self, seconds: u64, label: &str) -> jiff::Timestamp {
        let dirs = self.home.dirs();
        let step = tools::Journal::at(&dirs.state, tools::Retention::default()).step("test");
        let length = Duration::from_secs(seconds);
        timers::set(&step, &dirs, &jiff::Zoned::now(), length, Some(label.into()))
            .unwrap()
            .rings
    }

    /// Waits for the n-th notification.
    async fn shown(&self, n: usize) -> Shown {
        self.desktop.shown(n).await
    }

    async fn press(&self, id: u32, button: &str) {
        Desktop::press(&self.server, id, button).await;
    }

    async fn until(&self, what: &str, is_so: impl Fn(&World) -> bool) {
        let began = Instant::now();
        while !is_so(self) {
            assert!(began.elapsed() < PATIENCE, "never {what}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

#[tokio::test]
async fn a_notification_rings_snoozes_rings_again_and_stops() {
    let Some(world) = World::start().await else {
        return;
    };
    let client = bus::client(&world.home.path().join("s")).await.unwrap().unwrap();
    let proxy = Tiro1Proxy::new(&client).await.unwrap();
    let mut signals = proxy.receive_ringing().await.unwrap();
    // Answered once the daemon knows the client.
    proxy.status().await.unwrap();
    let due = world.timer(1, "eggs");

    let first = world.shown(0).await;
    assert_eq!(first.text, "Your eggs timer for 1 second is up.");
    assert_eq!(first.actions, ["snooze", "Snooze 1 min", "stop", "Stop"]);
    let late = first.at.duration_since(due);
    println!("rang {} ms after its time", late.as_millis());
    assert!((0..5000).contains(&late.as_millis()), "{late:?}");
    let signal = tokio::time::timeout(PATIENCE, signals.next())
        .await
        .unwrap()
        .unwrap();
    let args = signal.args().unwrap();
    let happening: Happening = serde_json::from_str(args.detail).unwrap();
    assert!(
        matches!(&happening, Happening::Rang { text, times: 1, missed: false, .. } if *text == first.text),
        "{happening:?}"
    );

    world.press(first.id, "snooze").await;
    // As servers do that close what was pressed.
    Desktop::goes(&world.server, first.id, 2).await;
    world
        .until("snoozed", |w| {
            let dirs = w.home.dirs();
            !timers::all(&dirs).unwrap().is_empty() && rings::open(&dirs).is_empty()
        })
        .await;
    let second = world.shown(1).await;
    assert_eq!(second.text, "Your eggs timer for 2 seconds is up.");

    // Nobody answers, so it rings once more in the same place; then it is stopped.
    let third = world.shown(2).await;
    assert_eq!((third.replaces, &third.text), (second.id, &second.text));
    world.press(third.id, "stop").await;
    world
        .until("stopped", |w| rings::open(&w.home.dirs()).is_empty())
        .await;
    tokio::time::sleep(Duration::from_secs(3)).await;
    assert_eq!(world.desktop.count(), 3, "what is stopped stays silent");
}

#[tokio::test]
async fn what_is_stopped_by_voice_leaves_the_desktop_and_what_was_missed_is_told_by_the_next_daemon() {
    let Some(world) = World::start().await else {
        return;
    };
    world.timer(1, "tea");
    let shown = world.shown(0).await;
    world
        .until("open", |w| !rings::open(&w.home.dirs()).is_empty())
        .await;
    // Another process stops it, as `tiro call timers.cancel {}` does.
    let journal = tools::Journal::at(&world.home.dirs().state, tools::Retention::default());
    rings::stop(
        &journal.step("timers.cancel"),
        &world.home.dirs(),
        &jiff::Zoned::now(),
        |_| true,
    )
    .unwrap();
    world
        .until("closed", |w| w.desktop.closed().contains(&shown.id))
        .await;

    // While no daemon runs a timer is due.
    world.events.send(Event::Stop).await.unwrap();
    let World { home, ended, .. } = world;
    ended.await.unwrap();
    let dirs = home.dirs();
    let step = tools::Journal::at(&dirs.state, tools::Retention::default()).step("test");
    let before = jiff::Zoned::now()
        .checked_sub(jiff::SignedDuration::from_hours(2))
        .unwrap();
    timers::set(
        &step,
        &dirs,
        &before,
        Duration::from_secs(60),
        Some("bread".into()),
    )
    .unwrap();

    let mut parts = home.parts(daemon::agent::Settings::default());
    parts.clock = Clock::Real;
    let (events, mut told) = mpsc::channel(64);
    let index = Arc::new(tools::discover::Index::of(&[]));
    let ringing = tokio::spawn(ring::run(
        parts,
        index,
        events,
        watch::Sender::new(false).subscribe(),
    ));
    let event = tokio::time::timeout(PATIENCE, told.recv())
        .await
        .unwrap()
        .unwrap();
    let Event::Rang(Happening::Rang { text, missed, .. }) = event else {
        panic!("something else happened");
    };
    assert!(missed);
    assert_eq!(
        text,
        "Your bread timer was due 1 hour 59 minutes ago, while I was not running."
    );
    ringing.abort();
}
