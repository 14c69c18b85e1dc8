//! Questions of turns that nobody watches: on the desktop, with buttons, and in `tiro confirm`.

use std::{
    io::{BufRead as _, BufReader},
    os::unix::fs::PermissionsExt as _,
    path::Path,
    process::{Child, Command, ExitCode, Stdio},
    time::{Duration, Instant},
};

use daemon::{
    agent::Ending,
    bus::Tiro1Proxy,
    cli::{
        app::App,
        confirm::{self, Answer},
    },
    config::Config,
    paths::Paths,
    report::Report,
    room::Clock,
};
use models::scripted::ScriptedLlm;
use tokio::task::JoinHandle;
use zbus::Connection;

use crate::{
    daemon_loop::{Running, ask_with, asking_tools, note},
    desktop::{Bus, Desktop, PATIENCE, Shown, skipped},
    home::Home,
};

/// A daemon whose questions are shown on a desktop of its own.
struct World {
    running: Running,
    desktop: Desktop,
    server: Connection,
    _bus: Bus,
    _folder: tempfile::TempDir,
}

impl World {
    /// With a notification server that can do this, and a model that notes these one by one. Silence is no after so long.
    async fn start(desktop: Desktop, notes: &[&str], patience: Duration) -> Option<World> {
        let folder = tempfile::tempdir().unwrap();
        let bus = Bus::start(folder.path())?;
        let server = desktop.serve(&bus).await;
        let script: Vec<String> = notes.iter().map(|text| note(text)).collect();
        let running = Running::start_with(ScriptedLlm::replies(script), |parts| {
            asking_tools(parts);
            parts.ring.bus = Some(bus.address.clone());
            parts.limits.patience = patience;
        })
        .await;
        Some(World {
            running,
            desktop,
            server,
            _bus: bus,
            _folder: folder,
        })
    }

    /// A turn of a key binding: nobody watches it.
    async fn ask(&self, text: &'static str) -> JoinHandle<Report> {
        let client = self.running.client().await;
        tokio::spawn(async move { ask_with(&client, text, &["notify"]).await.unwrap() })
    }

    /// A button.
    async fn press(&self, shown: &Shown, button: &str) {
        Desktop::press(&self.server, shown.id, button).await;
    }

    async fn asks_on(&self) {
        // What was pressed has come through when the server was asked once more.
        self.running.until("asking on", |s| s.state == "confirming").await;
        tokio::time::sleep(Duration::from_millis(100)).await;
        self.running.until("asking on", |s| s.state == "confirming").await;
    }

    /// `tiro confirm` without a terminal.
    async fn confirm(&self, answer: Option<Answer>, id: Option<u64>) -> anyhow::Result<ExitCode> {
        let app = App {
            paths: Paths::under(self.running.home.path()),
            config: Config::default(),
            clock: Clock::Real,
            daemon: false,
            trace: false,
            now: None,
        };
        confirm::run(&app, answer, id, false).await
    }
}

/// Longer than any test here takes.
const LONG: Duration = Duration::from_secs(600);

fn is(code: &anyhow::Result<ExitCode>, expect: u8) -> bool {
    let expect = ExitCode::from(expect);
    code.as_ref()
        .is_ok_and(|code| format!("{code:?}") == format!("{expect:?}"))
}

#[tokio::test]
async fn a_button_says_yes_and_another_one_takes_it_back() {
    let Some(world) = World::start(Desktop::default(), &["<b>milk</b> & more"], LONG).await else {
        return;
    };
    let before = world.running.home.files();
    let turn = world.ask("note milk").await;
    let question = world.desktop.shown(0).await;
    assert_eq!(question.text, "Shall I do this?");
    assert!(
        question.body.contains("&lt;b&gt;milk&lt;/b&gt; &amp; more"),
        "{}",
        question.body
    );
    assert_eq!(question.actions, ["yes-1", "Yes", "no-1", "No"]);

    let other = Shown {
        id: question.id + 1,
        ..question.clone()
    };
    world.press(&other, "yes-1").await;
    for button in ["default", "yes", "yes-2", "yes-0", "undo"] {
        world.press(&question, button).await;
    }
    world.asks_on().await;
    assert_eq!(world.running.home.files(), before, "nothing was written");
    world.press(&question, "yes-1").await;
    let report = turn.await.unwrap();
    assert_eq!(
        (report.end, report.calls[0].status.as_str()),
        (Ending::Done, "ok")
    );

    let result = world.desktop.shown(1).await;
    assert_eq!((&result.body, result.replaces), (&report.reply, 0));
    assert_eq!(result.actions, ["undo", "Undo"]);
    assert_eq!(world.desktop.closed(), [question.id]);
    world.press(&question, "undo").await;
    assert_ne!(world.running.home.files(), before);
    world.press(&result, "undo").await;
    let undone = world.desktop.shown(2).await;
    assert_eq!(undone.replaces, result.id);
    assert!(undone.body.starts_with("Undone: "), "{}", undone.body);
    assert_eq!(undone.actions, [""; 0]);
    assert_eq!(world.running.home.files(), before);
}

#[tokio::test]
async fn who_takes_the_question_away_has_said_no_and_one_that_goes_by_itself_stays_open() {
    let Some(world) = World::start(Desktop::default(), &["milk", "bread"], LONG).await else {
        return;
    };
    let before = world.running.home.files();
    let turn = world.ask("note milk").await;
    let question = world.desktop.shown(0).await;
    Desktop::goes(&world.server, question.id, 2).await;
    assert_eq!(turn.await.unwrap().calls[0].status, "declined");
    let result = world.desktop.shown(1).await;
    assert_eq!(result.actions, [""; 0], "there is nothing to undo");
    assert_eq!(world.running.home.files(), before);

    let turn = world.ask("note bread").await;
    let question = world.desktop.shown(2).await;
    Desktop::goes(&world.server, question.id, 1).await;
    world.asks_on().await;
    // Its number may belong to another notification by now.
    world.press(&question, "yes-2").await;
    world.asks_on().await;
    assert!(is(&world.confirm(Some(Answer::Yes), Some(2)).await, 0));
    assert_eq!(turn.await.unwrap().calls[0].status, "ok");
}

#[tokio::test]
async fn a_yes_in_the_terminal_names_its_question_and_a_no_need_not() {
    let desktop = Desktop::that(&["body"]);
    let Some(world) = World::start(desktop, &["<b>milk</b>", "bread"], LONG).await else {
        return;
    };
    let nothing = world.confirm(None, None).await.unwrap_err();
    assert_eq!(nothing.to_string(), "no question is open");
    let turn = world.ask("note milk").await;
    let question = world.desktop.shown(0).await;
    assert!(question.body.contains("<b>milk</b>"), "{}", question.body);
    assert!(
        question
            .body
            .ends_with("Answer with `tiro confirm yes 1` or `tiro confirm no 1`."),
        "{}",
        question.body
    );
    assert_eq!(question.actions, [""; 0]);
    assert!(is(&world.confirm(None, None).await, 2));
    assert!(
        is(&world.confirm(Some(Answer::Yes), None).await, 2),
        "yes to what?"
    );
    let late = world.confirm(Some(Answer::Yes), Some(7)).await.unwrap_err();
    assert_eq!(late.to_string(), "question 7 is not open any more");
    world.asks_on().await;
    assert!(is(&world.confirm(Some(Answer::Yes), Some(1)).await, 0));
    assert_eq!(turn.await.unwrap().calls[0].status, "ok");

    let turn = world.ask("note bread").await;
    world.desktop.shown(2).await;
    assert!(is(&world.confirm(Some(Answer::No), None).await, 0));
    assert_eq!(turn.await.unwrap().calls[0].status, "declined");

    // A client that sees the question itself says yes to what it saw.
    let client = world.running.client().await;
    assert_eq!(
        Tiro1Proxy::new(&client).await.unwrap().question().await.unwrap(),
        "null"
    );
}

#[tokio::test]
async fn silence_is_no_also_where_the_desktop_is_stuck_or_absent() {
    let home = Home::empty("2026-11-20T09:00[Europe/Berlin]");
    let Some(bus) = Bus::start(home.path()) else {
        return;
    };
    // Has the name and never answers.
    let stuck = bus.client().await;
    stuck.request_name("org.freedesktop.Notifications").await.unwrap();
    for address in [bus.address.as_str(), "unix:path=/nowhere/at/all"] {
        let running = Running::start_with(ScriptedLlm::replies([note("milk")]), |parts| {
            asking_tools(parts);
            parts.ring.bus = Some(address.to_owned());
            parts.limits.patience = Duration::from_secs(1);
        })
        .await;
        let before = running.home.files();
        let client = running.client().await;
        let report = ask_with(&client, "note milk", &["notify"]).await.unwrap();
        assert_eq!(report.calls[0].status, "declined", "{address}");
        assert_eq!(running.home.files(), before);
    }
}

#[tokio::test]
async fn a_question_goes_with_its_turn_and_comes_back_with_a_new_server() {
    let Some(world) = World::start(Desktop::default(), &["milk"], LONG).await else {
        return;
    };
    let turn = world.ask("note milk").await;
    let first = world.desktop.shown(0).await;
    world
        .server
        .release_name("org.freedesktop.Notifications")
        .await
        .unwrap();
    world
        .server
        .request_name("org.freedesktop.Notifications")
        .await
        .unwrap();
    let again = world.desktop.shown(1).await;
    assert_eq!((&again.body, &again.actions), (&first.body, &first.actions));
    let client = world.running.client().await;
    let asks = Tiro1Proxy::new(&client).await.unwrap();
    asks.cancel().await.unwrap();
    assert!(turn.await.is_err(), "it was cancelled");
    let began = Instant::now();
    while !world.desktop.closed().contains(&again.id) {
        assert!(began.elapsed() < PATIENCE, "the question stays");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert!(!asks.confirm(1, true).await.unwrap());
}

/// Programs that do not outlive their test.
struct Programs(Vec<Child>);

impl Drop for Programs {
    fn drop(&mut self) {
        for child in &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Starts dunst on an X server of its own; its menu always takes the button that means yes, or the one that undoes.
/// `None` with a loud line where one of the two is not there.
async fn dunst(folder: &Path, bus: &Bus) -> Option<Programs> {
    let x = Command::new("Xvfb")
        .args([
            "-displayfd",
            "1",
            "-screen",
            "0",
            "640x480x24",
            "-nolisten",
            "tcp",
        ])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn();
    let Ok(mut x) = x else {
        skipped("Xvfb");
        return None;
    };
    let mut display = String::new();
    let said = BufReader::new(x.stdout.take().unwrap()).read_line(&mut display);
    let mut programs = Programs(vec![x]);
    said.unwrap();
    let (menu, config) = (folder.join("menu"), folder.join("dunstrc"));
    std::fs::write(&menu, "#!/bin/sh\nexec grep -m 1 -e Yes -e Undo\n").unwrap();
    std::fs::set_permissions(&menu, std::fs::Permissions::from_mode(0o700)).unwrap();
    let menu = menu.display();
    std::fs::write(&config, format!("[global]\n    dmenu = {menu}\n")).unwrap();
    let started = Command::new("dunst")
        .arg("-config")
        .arg(&config)
        .env("DISPLAY", format!(":{}", display.trim()))
        .env("DBUS_SESSION_BUS_ADDRESS", &bus.address)
        .env("XDG_RUNTIME_DIR", folder)
        .env_remove("WAYLAND_DISPLAY")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    let Ok(dunst) = started else {
        skipped("dunst");
        return None;
    };
    programs.0.push(dunst);
    let (began, client) = (Instant::now(), bus.client().await);
    let names = zbus::fdo::DBusProxy::new(&client).await.unwrap();
    let name = || "org.freedesktop.Notifications".try_into().unwrap();
    while !names.name_has_owner(name()).await.unwrap() {
        assert!(began.elapsed() < PATIENCE, "dunst does not come");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    Some(programs)
}

#[tokio::test]
async fn the_buttons_of_a_real_notification_server_are_pressed() {
    let folder = tempfile::tempdir().unwrap();
    let Some(bus) = Bus::start(folder.path()) else {
        return;
    };
    let Some(_programs) = dunst(folder.path(), &bus).await else {
        return;
    };
    let running = Running::start_with(ScriptedLlm::replies([note("milk")]), |parts| {
        asking_tools(parts);
        parts.ring.bus = Some(bus.address.clone());
        parts.limits.patience = LONG;
    })
    .await;
    let before = running.home.files();
    let client = running.client().await;
    let turn = tokio::spawn(async move { ask_with(&client, "note milk", &["notify"]).await.unwrap() });
    running.until("asking", |s| s.state == "confirming").await;
    let client = bus.client().await;
    // What `dunstctl context` does: the menu with the buttons of what is shown.
    let press = async || {
        let at = "/org/freedesktop/Notifications";
        let on = "org.dunstproject.cmd0";
        let menu = client.call_method(
            Some("org.freedesktop.Notifications"),
            at,
            Some(on),
            "ContextMenuCall",
            &(),
        );
        menu.await.unwrap();
        tokio::time::sleep(Duration::from_millis(200)).await;
    };
    let began = Instant::now();
    while !turn.is_finished() {
        assert!(began.elapsed() < PATIENCE, "the question is not answered");
        press().await;
    }
    assert_eq!(turn.await.unwrap().calls[0].status, "ok");
    while running.home.files() != before {
        assert!(began.elapsed() < 2 * PATIENCE, "it is not undone");
        press().await;
    }
}
