//! Questions of turns that nobody watches: on the desktop, with buttons, and in `tiro confirm`.

use std::{
    os::unix::fs::PermissionsExt as _,
    path::Path,
    process::{Command, ExitCode, Stdio},
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
    run::Event,
};
use futures_util::StreamExt as _;
use models::scripted::ScriptedLlm;
use tokio::task::JoinHandle;
use zbus::{Connection, MessageStream, fdo::DBusProxy};

use crate::{
    daemon_loop::{Running, ask_with, asking_tools, note},
    desktop::{Bus, Desktop, PATIENCE, Programs, Shown, screen, skipped},
    home::Home,
    session::arrives,
};

/// A daemon whose questions are shown on a desktop of its own.
struct World {
    running: Running,
    desktop: Desktop,
    server: Connection,
    bus: Bus,
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
            bus,
            _folder: folder,
        })
    }

    /// A turn of a key binding: nobody watches it.
    async fn ask(&self, text: &'static str) -> JoinHandle<Report> {
        let client = self.running.client().await;
        tokio::spawn(async move { ask_with(&client, text, &["notify"]).await.unwrap() })
    }

    /// A button, and the notification goes with it as if the person had taken it away.
    async fn press_and_go(&self, shown: &Shown, button: &str) {
        self.press(shown, button).await;
        Desktop::goes(&self.server, shown.id, 2).await;
    }

    /// A button.
    async fn press(&self, shown: &Shown, button: &str) {
        Desktop::press(&self.server, shown.id, button).await;
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

/// The number of a question.
fn number(question: &Shown) -> u64 {
    let yes = question.actions.first().expect("a button");
    yes.strip_prefix("yes-").unwrap().parse().unwrap()
}

fn yes(question: &Shown) -> String {
    format!("yes-{}", number(question))
}

fn no(question: &Shown) -> String {
    format!("no-{}", number(question))
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
    let notes = ["<b>milk</b> & more", "bread"];
    let Some(world) = World::start(Desktop::default(), &notes, LONG).await else {
        return;
    };
    let before = world.running.home.files();
    // None of these is an answer: neither a yes, nor a no.
    let others = async |question: &Shown| {
        let other = Shown {
            id: question.id + 1,
            ..question.clone()
        };
        world.press(&other, &yes(question)).await;
        world.press(&other, &no(question)).await;
        let next = format!("yes-{}", number(question) + 1);
        for button in ["default", "yes", "no", "yes-0", "undo", &next] {
            world.press(question, button).await;
        }
    };
    let turn = world.ask("note milk & more").await;
    let question = world.desktop.shown(0).await;
    others(&question).await;
    world.press(&question, &no(&question)).await;
    assert_eq!(turn.await.unwrap().calls[0].status, "declined");
    assert_eq!(world.running.home.files(), before, "nothing was written");
    let refused = world.desktop.shown(1).await;
    assert_eq!(refused.actions, [""; 0], "there is nothing to undo");

    let turn = world.ask("note bread").await;
    let question = world.desktop.shown(2).await;
    assert_eq!(question.text, "Shall I do this?");
    assert_eq!(question.actions, [&yes(&question), "Yes", &no(&question), "No"]);
    assert_eq!(question.expires, 0, "it stays until it is answered");
    others(&question).await;
    world.press(&question, &yes(&question)).await;
    let report = turn.await.unwrap();
    assert_eq!(
        (report.end, report.calls[0].status.as_str()),
        (Ending::Done, "ok")
    );

    let result = world.desktop.shown(3).await;
    assert_eq!((&result.body, result.replaces), (&report.reply, 0));
    assert_eq!(result.actions, ["undo", "Undo"]);
    assert!(world.desktop.closed().contains(&question.id));
    world.press(&question, "undo").await;
    assert_ne!(world.running.home.files(), before);
    world.press(&result, "undo").await;
    let undone = world.desktop.shown(4).await;
    assert_eq!(undone.replaces, result.id);
    assert!(undone.body.starts_with("Undone: "), "{}", undone.body);
    assert_eq!(undone.actions, [""; 0]);
    assert_eq!(world.running.home.files(), before);

    // What is over as soon as it is said goes by itself.
    let unclear = Event::Answered {
        client: 0,
        answer: None,
        counted: false,
    };
    world.running.happens(unclear).await;
    let mentioned = world.desktop.shown(5).await;
    assert_eq!(
        (mentioned.text.as_str(), mentioned.expires),
        ("Please answer yes or no.", -1)
    );
}

#[tokio::test]
async fn a_button_counts_also_where_the_notification_goes_with_it() {
    let notes = ["milk"; 12];
    let Some(world) = World::start(Desktop::default(), &notes, LONG).await else {
        return;
    };
    let before = world.running.home.files();
    for round in 0..notes.len() {
        let turn = world.ask("note milk").await;
        let question = world.desktop.shown(3 * round).await;
        world.press_and_go(&question, &yes(&question)).await;
        assert_eq!(turn.await.unwrap().calls[0].status, "ok", "{round}");
        let result = world.desktop.shown(3 * round + 1).await;
        world.press_and_go(&result, "undo").await;
        let undone = world.desktop.shown(3 * round + 2).await;
        assert!(undone.body.starts_with("Undone: "), "{round}: {}", undone.body);
        assert_eq!(world.running.home.files(), before, "{round}");
    }
}

#[tokio::test]
async fn who_takes_the_question_away_has_said_no_and_one_that_goes_by_itself_stays_open() {
    let notes = ["milk", "eggs", "bread"];
    let Some(world) = World::start(Desktop::default(), &notes, LONG).await else {
        return;
    };
    let before = world.running.home.files();
    let turn = world.ask("note milk").await;
    let question = world.desktop.shown(0).await;
    Desktop::goes(&world.server, question.id, 2).await;
    assert_eq!(turn.await.unwrap().calls[0].status, "declined");
    assert_eq!(world.running.home.files(), before);

    let turn = world.ask("note eggs").await;
    let question = world.desktop.shown(2).await;
    world.press(&question, &yes(&question)).await;
    assert_eq!(turn.await.unwrap().calls[0].status, "ok");
    let result = world.desktop.shown(3).await;

    let turn = world.ask("note bread").await;
    let question = world.desktop.shown(4).await;
    Desktop::goes(&world.server, question.id, 1).await;
    // Its number may belong to another notification by now.
    world.press(&question, &yes(&question)).await;
    // What was pressed before has been read when this one has been.
    world.press(&result, "undo").await;
    assert!(world.desktop.shown(5).await.body.starts_with("Undone: "));
    assert_eq!(world.running.status().await.state, "confirming");
    assert!(is(
        &world.confirm(Some(Answer::Yes), Some(number(&question))).await,
        0
    ));
    assert_eq!(turn.await.unwrap().calls[0].status, "ok");
}

#[tokio::test]
async fn what_a_program_on_the_bus_asks_for_is_put_to_the_person() {
    let Some(world) = World::start(Desktop::default(), &["milk", "bread"], LONG).await else {
        return;
    };
    let _attending = world.running.attend(&world.bus.address);
    let guest = world.bus.client().await;
    arrives(&guest).await;
    let asking = Tiro1Proxy::new(&guest).await.unwrap();
    let notify = ("notify".to_owned(), true.into());
    let turn = tokio::spawn(async move { asking.ask("note milk".into(), [notify].into()).await });
    let question = world.desktop.shown(0).await;
    let theirs = Tiro1Proxy::new(&guest).await.unwrap();
    let id: u64 = question.actions[0]
        .strip_prefix("no-")
        .expect("no button to agree")
        .parse()
        .unwrap();
    assert_eq!(question.actions, [format!("no-{id}"), "No".to_owned()]);
    // Who asks is named: this very program.
    let program = std::env::current_exe().unwrap();
    let program = program.file_name().unwrap().to_str().unwrap();
    let how = format!("\nSay yes or no.\nAgree with `tiro confirm yes {id}`.");
    assert!(
        question
            .body
            .contains(&format!("The program \"{program}\" asks for this.")),
        "{}",
        question.body
    );
    assert!(question.body.ends_with(&how), "{}", question.body);
    assert!(theirs.confirm(id, true).await.is_err());
    assert!(theirs.question().await.is_err());
    // Who has the server's name can send what it likes: a yes that was not offered is none.
    world.press(&question, &format!("yes-{id}")).await;
    assert_eq!(world.running.status().await.state, "confirming");
    assert!(is(&world.confirm(Some(Answer::Yes), Some(id)).await, 0));
    let report: Report = serde_json::from_str(&turn.await.unwrap().unwrap()).unwrap();
    assert_eq!(report.calls[0].status, "ok");
    world.press(&question, &format!("yes-{id}")).await;

    // No is no harm.
    let asking = Tiro1Proxy::new(&guest).await.unwrap();
    let notify = ("notify".to_owned(), true.into());
    let turn = tokio::spawn(async move { asking.ask("note bread".into(), [notify].into()).await });
    let question = world.desktop.shown(2).await;
    world.press(&question, &format!("yes-{}", id + 1)).await;
    world.press(&question, &format!("no-{}", id + 1)).await;
    let report: Report = serde_json::from_str(&turn.await.unwrap().unwrap()).unwrap();
    assert_eq!(report.calls[0].status, "declined");
}

#[tokio::test]
async fn a_server_in_a_sandbox_agrees_to_nothing_and_undoes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let Some(bus) = Bus::start(folder.path()) else {
        return;
    };
    let Some((_sandbox, door)) = bus.sandboxed() else {
        return;
    };
    let desktop = Desktop::default();
    let server = desktop.serve_at(&door).await;
    let running = Running::start_with(ScriptedLlm::replies([note("milk")]), |parts| {
        asking_tools(parts);
        parts.ring.bus = Some(bus.address.clone());
        parts.limits.patience = LONG;
    })
    .await;
    std::fs::create_dir_all(running.home.dirs().state).unwrap();
    let before = running.home.files();
    let client = running.client().await;
    let turn = tokio::spawn(async move { ask_with(&client, "note milk", &["notify"]).await.unwrap() });
    let question = desktop.shown(0).await;
    assert_eq!(question.actions.len(), 2, "there is only no: {question:?}");
    let id: u64 = question.actions[0].strip_prefix("no-").unwrap().parse().unwrap();
    for key in [format!("yes-{id}"), "default".to_owned()] {
        Desktop::press(&server, question.id, &key).await;
    }
    let person = running.client().await;
    let proxy = Tiro1Proxy::new(&person).await.unwrap();
    assert_eq!(running.status().await.state, "confirming");
    assert!(proxy.confirm(id, true).await.unwrap());
    assert_eq!(turn.await.unwrap().calls[0].status, "ok");
    let told = desktop.shown(1).await;
    assert_eq!(told.actions, [""; 0]);
    Desktop::press(&server, told.id, "undo").await;
    // The server has been read when its answer to the next one is there.
    Desktop::goes(&server, told.id, 2).await;
    running.until("over", |s| s.turns == 1).await;
    assert_ne!(running.home.files(), before, "it is still there");
}

/// Sends a signal to everybody on the bus one by one, with any words in it.
async fn forge<B>(from: &Connection, path: &str, interface: &str, member: &str, body: &B)
where
    B: serde::Serialize + zbus::DynamicType,
{
    let names = DBusProxy::new(from).await.unwrap().list_names().await.unwrap();
    for name in names.iter().filter(|name| name.starts_with(':')) {
        let signal = zbus::Message::signal(path, interface, member);
        let signal = signal.destination(name.as_str()).build(body).unwrap();
        from.send(&signal).await.unwrap();
    }
    // The bus has passed everything on by the time it answers.
    DBusProxy::new(from).await.unwrap().get_id().await.unwrap();
}

/// Everybody can send us what looks like the bus telling of a new server. zbus takes that from the bus alone; this holds it
/// to that.
#[tokio::test]
async fn who_only_says_that_it_is_the_server_is_not_believed() {
    let Some(world) = World::start(Desktop::default(), &["milk"], LONG).await else {
        return;
    };
    let turn = world.ask("note milk").await;
    let question = world.desktop.shown(0).await;
    let (forger, witness) = (world.bus.client().await, world.bus.client().await);
    let mut arrived = MessageStream::from(&witness);
    let me = forger.unique_name().unwrap().as_str();
    let (bus, name) = ("org.freedesktop.DBus", "org.freedesktop.Notifications");
    let (at, on) = ("/org/freedesktop/Notifications", name);
    let change = (name, "", me);
    forge(&forger, "/org/freedesktop/DBus", bus, "NameOwnerChanged", &change).await;
    let pressed = (question.id, yes(&question));
    forge(&forger, at, on, "ActionInvoked", &pressed).await;
    forge(&forger, at, on, "NotificationClosed", &(question.id, 2_u32)).await;
    let forged = async {
        let mut forged = Vec::new();
        while forged.len() < 3 {
            let message = arrived.next().await.unwrap().unwrap();
            let header = message.header();
            let mine = header.sender().is_some_and(|sender| sender == me);
            forged.extend(header.member().filter(|_| mine).map(ToString::to_string));
        }
        forged
    };
    let forged = tokio::time::timeout(PATIENCE, forged).await.expect("they arrive");
    assert_eq!(
        forged,
        ["NameOwnerChanged", "ActionInvoked", "NotificationClosed"]
    );
    // What the server itself says comes after all that, and counts.
    world.press(&question, "default").await;
    assert_eq!(world.running.status().await.state, "confirming");
    assert!(!turn.is_finished());
    world.press(&question, &yes(&question)).await;
    assert_eq!(turn.await.unwrap().calls[0].status, "ok");
    assert_eq!(world.desktop.shown(1).await.actions, ["undo", "Undo"]);
    assert_eq!(world.desktop.count(), 2, "the question was shown once");
}

#[tokio::test]
async fn a_question_is_shown_by_a_server_that_comes_later() {
    let folder = tempfile::tempdir().unwrap();
    let Some(bus) = Bus::start(folder.path()) else {
        return;
    };
    let running = Running::start_with(ScriptedLlm::replies([note("milk")]), |parts| {
        asking_tools(parts);
        parts.ring.bus = Some(bus.address.clone());
        parts.limits.patience = LONG;
    })
    .await;
    let client = running.client().await;
    let turn = tokio::spawn(async move { ask_with(&client, "note milk", &["notify"]).await.unwrap() });
    running.until("asking", |s| s.state == "confirming").await;
    let desktop = Desktop::default();
    let server = desktop.serve(&bus).await;
    let question = desktop.shown(0).await;
    Desktop::press(&server, question.id, &yes(&question)).await;
    assert_eq!(turn.await.unwrap().calls[0].status, "ok");
}

#[tokio::test]
async fn a_server_that_is_slow_shows_a_question_once_and_takes_it_away() {
    let desktop = Desktop::slow(Duration::from_secs(5));
    let Some(world) = World::start(desktop, &["milk", "bread"], LONG).await else {
        return;
    };
    let turn = world.ask("note milk").await;
    let question = world.desktop.shown(0).await;
    world.press(&question, &yes(&question)).await;
    assert_eq!(turn.await.unwrap().calls[0].status, "ok");
    assert_eq!(world.desktop.shown(1).await.actions, ["undo", "Undo"]);

    // It is over before the server has said which number it has.
    let turn = world.ask("note bread").await;
    let question = world.desktop.shown(2).await;
    let client = world.running.client().await;
    Tiro1Proxy::new(&client).await.unwrap().cancel().await.unwrap();
    assert!(turn.await.is_err(), "it was cancelled");
    let began = Instant::now();
    while !world.desktop.closed().contains(&question.id) {
        assert!(began.elapsed() < PATIENCE, "the question stays");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(world.desktop.count(), 3);
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
    let (_, how) = question
        .body
        .rsplit_once("\nAnswer with `tiro confirm yes ")
        .unwrap();
    let id: u64 = how.split_once('`').unwrap().0.parse().unwrap();
    assert_eq!(how, format!("{id}` or `tiro confirm no {id}`."));
    assert_eq!(question.actions, [""; 0]);
    assert!(is(&world.confirm(None, None).await, 2));
    assert!(
        is(&world.confirm(Some(Answer::Yes), None).await, 2),
        "yes to what?"
    );
    for other in [1, id - 1, id + 1] {
        let late = world.confirm(Some(Answer::Yes), Some(other)).await.unwrap_err();
        assert_eq!(late.to_string(), format!("question {other} is not open any more"));
    }
    assert_eq!(world.running.status().await.state, "confirming");
    assert!(is(&world.confirm(Some(Answer::Yes), Some(id)).await, 0));
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
    assert!(!asks.confirm(number(&first), true).await.unwrap());
}

/// Starts dunst on an X server of its own; its menu always takes the button that means yes, or the one that undoes.
/// `None` with a loud line where one of the two is not there.
async fn dunst(folder: &Path, bus: &Bus) -> Option<Programs> {
    let (mut programs, display) = screen()?;
    let (menu, config) = (folder.join("menu"), folder.join("dunstrc"));
    std::fs::write(&menu, "#!/bin/sh\nexec grep -m 1 -e Yes -e Undo\n").unwrap();
    std::fs::set_permissions(&menu, std::fs::Permissions::from_mode(0o700)).unwrap();
    let menu = menu.display();
    std::fs::write(&config, format!("[global]\n    dmenu = {menu}\n")).unwrap();
    let started = Command::new("dunst")
        .arg("-config")
        .arg(&config)
        .env("DISPLAY", &display)
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
    let names = DBusProxy::new(&client).await.unwrap();
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
