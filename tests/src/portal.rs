//! The key to talk, given by a desktop: the real xdg-desktop-portal with a backend of ours, and portals that misbehave.

use std::{
    collections::HashMap,
    path::Path,
    process::{Child, Command, Stdio},
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use daemon::hotkey::{Way, would_be};
use zbus::{
    Connection, ObjectPath, OwnedObjectPath, OwnedVariant, Variant, connection, fdo::DBusProxy, interface,
    object_server::SignalEmitter,
};

use crate::{
    daemon_loop::Running,
    desktop::{Bus, PATIENCE, skipped},
    hotkey::{patient, settings, stays_open},
    microphone::alone_in,
    screen::Screen,
};

const PATH: &str = "/org/freedesktop/portal/desktop";
const PORTAL: &str = "org.freedesktop.portal.Desktop";
const BACKEND: &str = "org.freedesktop.impl.portal.desktop.tirotest";
const SHORTCUTS: &str = "org.freedesktop.portal.GlobalShortcuts";

type Dict = HashMap<String, OwnedVariant>;

/// The desktop's side, and the person before it.
#[derive(Clone, Default)]
struct Backend(Arc<Mutex<Seen>>);

#[derive(Default)]
struct Seen {
    /// What the person answers: 0 yes, 1 no, 2 nothing that counts.
    answer: u32,
    session: Option<OwnedObjectPath>,
    /// The keys that were asked for.
    asked: Vec<String>,
}

impl Backend {
    async fn serve(&self, bus: &Bus) -> Connection {
        connection::Builder::address(bus.address.as_str())
            .name(BACKEND)
            .serve_at(PATH, self.clone())
            .build()
            .await
            .unwrap()
    }

    fn answers(answer: u32) -> Backend {
        let backend = Backend::default();
        backend.0.lock().unwrap().answer = answer;
        backend
    }

    fn asked(&self) -> Vec<String> {
        self.0.lock().unwrap().asked.clone()
    }

    /// The person presses the key, or lets it go.
    async fn key(&self, server: &Connection, down: bool) {
        let session = self.0.lock().unwrap().session.clone().unwrap();
        let emitter = SignalEmitter::new(server, PATH).unwrap();
        let none = HashMap::new();
        match down {
            true => Backend::activated(&emitter, session.into(), "talk", 0, none).await,
            false => Backend::deactivated(&emitter, session.into(), "talk", 0, none).await,
        }
        .unwrap();
    }

    /// Both.
    async fn tap(&self, server: &Connection) {
        self.key(server, true).await;
        self.key(server, false).await;
    }
}

/// The shortcut, on this key.
fn bound(key: &str) -> OwnedVariant {
    let words = HashMap::from([("trigger_description", Variant::from(key))]);
    Variant::from(vec![("talk", words)]).try_into().unwrap()
}

#[interface(name = "org.freedesktop.impl.portal.GlobalShortcuts")]
impl Backend {
    fn create_session(
        &self,
        _handle: OwnedObjectPath,
        session: OwnedObjectPath,
        _app: String,
        _options: Dict,
    ) -> (u32, Dict) {
        self.0.lock().unwrap().session = Some(session);
        // Version 1.16 of the portal takes it for granted.
        (0, HashMap::from([("shortcuts".to_owned(), bound(""))]))
    }

    fn bind_shortcuts(
        &self,
        _handle: OwnedObjectPath,
        _session: OwnedObjectPath,
        shortcuts: Vec<(String, Dict)>,
        _window: String,
        _options: Dict,
    ) -> (u32, Dict) {
        let mut seen = self.0.lock().unwrap();
        for (name, mut about) in shortcuts {
            assert_eq!(name, "talk");
            assert!(about.contains_key("description"));
            seen.asked
                .push(about.remove("preferred_trigger").unwrap().try_into().unwrap());
        }
        // The person has chosen another one.
        (
            seen.answer,
            HashMap::from([("shortcuts".to_owned(), bound("Meta+Space"))]),
        )
    }

    #[zbus(property, name = "version")]
    fn version(&self) -> u32 {
        1
    }

    #[zbus(signal)]
    async fn activated(
        emitter: &SignalEmitter<'_>,
        session: ObjectPath<'_>,
        shortcut: &str,
        timestamp: u64,
        options: HashMap<&str, Variant<'_>>,
    ) -> zbus::Result<()>;

    #[zbus(signal)]
    async fn deactivated(
        emitter: &SignalEmitter<'_>,
        session: ObjectPath<'_>,
        shortcut: &str,
        timestamp: u64,
        options: HashMap<&str, Variant<'_>>,
    ) -> zbus::Result<()>;

    #[zbus(signal)]
    async fn shortcuts_changed(
        emitter: &SignalEmitter<'_>,
        session: ObjectPath<'_>,
        shortcuts: Vec<(&str, HashMap<&str, Variant<'_>>)>,
    ) -> zbus::Result<()>;
}

/// The real portal; ended when dropped.
struct Frontend(Child);

impl Frontend {
    /// `None` with a loud line where it is not installed. It knows one backend, with these interfaces.
    async fn start(folder: &Path, bus: &Bus, interfaces: &str) -> Option<Frontend> {
        let places = ["/usr/libexec", "/usr/lib", "/usr/lib/xdg-desktop-portal"];
        let programs = places.map(|place| Path::new(place).join("xdg-desktop-portal"));
        let Some(program) = programs.iter().find(|program| program.is_file()) else {
            skipped("xdg-desktop-portal");
            return None;
        };
        let backend = format!(
            "[portal]\nDBusName={BACKEND}\nInterfaces=org.freedesktop.impl.portal.{interfaces}\nUseIn=tirotest\n"
        );
        std::fs::write(folder.join("tirotest.portal"), backend).unwrap();
        let child = Command::new(program)
            .env("DBUS_SESSION_BUS_ADDRESS", &bus.address)
            .env("XDG_DESKTOP_PORTAL_DIR", folder)
            .env("XDG_CURRENT_DESKTOP", "tirotest")
            .env("XDG_RUNTIME_DIR", folder)
            .env("HOME", folder)
            .env("GSETTINGS_BACKEND", "memory")
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let (frontend, client) = (Frontend(child), bus.client().await);
        let names = DBusProxy::new(&client).await.unwrap();
        let began = Instant::now();
        while !names.name_has_owner(PORTAL.try_into().unwrap()).await.unwrap() {
            assert!(began.elapsed() < PATIENCE, "the portal does not come");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        Some(frontend)
    }

    fn hang(&self) {
        let pid = rustix::process::Pid::from_raw(self.0.id().try_into().unwrap()).unwrap();
        rustix::process::kill_process(pid, rustix::process::Signal::STOP).unwrap();
    }
}

impl Drop for Frontend {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

async fn given(running: &Running) {
    running.until("given", |s| s.hotkey.way == Way::Portal).await;
}

/// Waits until there is no key, for this reason.
async fn none(running: &Running, why: &str) {
    let says = |s: &daemon::status::Status| s.hotkey.way == Way::None && s.hotkey.says.contains(why);
    running.until(why, says).await;
}

#[test]
fn the_desktop_gives_a_key_and_who_presses_it_is_listened_to() {
    alone_in(
        "portal",
        "the_desktop_gives_a_key_and_who_presses_it_is_listened_to",
        async |folder, pulse| {
            let Some(session) = Bus::start(&folder) else {
                return;
            };
            let backend = Backend::default();
            let server = backend.serve(&session).await;
            let Some(frontend) = Frontend::start(&folder, &session, "GlobalShortcuts").await else {
                return;
            };
            let talk = patient(0).await;
            let _keys = talk.running.keys(settings(Some(&session), None));
            given(&talk.running).await;
            let reach = talk.running.status().await.hotkey;
            assert!(reach.says.starts_with("Meta+Space"), "{reach:?}");
            assert_eq!(backend.asked(), ["CTRL+ALT+space"]);

            backend.key(&server, true).await;
            pulse.until_recorders(1);
            stays_open(&pulse).await;
            // A desktop whose keyboard repeats the key.
            backend.key(&server, true).await;
            stays_open(&pulse).await;
            backend.key(&server, false).await;
            pulse.until_recorders(0);

            backend.tap(&server).await;
            pulse.until_recorders(1);
            stays_open(&pulse).await;
            backend.tap(&server).await;
            pulse.until_recorders(0);

            // The person moves it to another key, or away from all.
            let at = backend.0.lock().unwrap().session.clone().unwrap();
            for (key, says) in [("F9", "F9, given"), ("", "not given Tiro a key yet")] {
                let emitter = SignalEmitter::new(&server, PATH).unwrap();
                let words = HashMap::from([("trigger_description", Variant::from(key))]);
                Backend::shortcuts_changed(&emitter, at.clone().into(), vec![("talk", words)])
                    .await
                    .unwrap();
                talk.running.until(says, |s| s.hotkey.says.contains(says)).await;
            }

            // Who is not the portal opens no microphone: not to all, and not to anybody by name.
            let stranger = session.client().await;
            let names = DBusProxy::new(&stranger)
                .await
                .unwrap()
                .list_names()
                .await
                .unwrap();
            let body = (&at, "talk", 0_u64, HashMap::<&str, Variant<'_>>::new());
            for name in names.iter().map(|name| Some(name.as_str())).chain([None]) {
                stranger
                    .emit_signal(name, PATH, SHORTCUTS, "Activated", &body)
                    .await
                    .unwrap();
            }
            // What is pressed after that is heard first.
            backend.tap(&server).await;
            pulse.until_recorders(1);
            stays_open(&pulse).await;

            // A portal that goes while the key is down: nobody will say that it came up.
            backend.tap(&server).await;
            pulse.until_recorders(0);
            backend.key(&server, true).await;
            pulse.until_recorders(1);
            drop(frontend);
            pulse.until_recorders(0);
            none(&talk.running, "There is no desktop portal.").await;
            // One that comes back is asked again.
            let _frontend = Frontend::start(&folder, &session, "GlobalShortcuts").await;
            given(&talk.running).await;
            backend.tap(&server).await;
            pulse.until_recorders(1);
        },
    );
}

#[test]
fn who_says_no_is_asked_once_and_the_key_is_grabbed_where_it_can_be() {
    alone_in(
        "portal",
        "who_says_no_is_asked_once_and_the_key_is_grabbed_where_it_can_be",
        async |folder, pulse| {
            let (Some(session), Some(screen)) = (Bus::start(&folder), Screen::start()) else {
                return;
            };
            let backend = Backend::answers(1);
            let _server = backend.serve(&session).await;
            let Some(frontend) = Frontend::start(&folder, &session, "GlobalShortcuts").await else {
                return;
            };
            let on_x = patient(0).await;
            let keys = on_x.running.keys(settings(Some(&session), Some(&screen)));
            on_x.running.until("grabbed", |s| s.hotkey.way == Way::X11).await;
            screen.xdotool(&["key", crate::hotkey::KEY]);
            pulse.until_recorders(1);
            keys.abort();

            let nowhere = patient(0).await;
            let _keys = nowhere.running.keys(settings(Some(&session), None));
            none(&nowhere.running, "told to give Tiro no key").await;
            // Not by the next portal either.
            drop(frontend);
            let _frontend = Frontend::start(&folder, &session, "GlobalShortcuts").await;
            tokio::time::sleep(Duration::from_secs(4)).await;
            assert_eq!(backend.asked().len(), 2, "once for each of the two daemons");
            none(&nowhere.running, "told to give Tiro no key").await;
        },
    );
}

#[tokio::test]
async fn a_portal_that_hangs_or_has_no_shortcuts_is_not_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    let Some(session) = Bus::start(folder.path()) else {
        return;
    };
    let backend = Backend::default();
    let _server = backend.serve(&session).await;
    let Some(frontend) = Frontend::start(folder.path(), &session, "Nothing").await else {
        return;
    };
    let running = Running::start(models::scripted::ScriptedLlm::replies::<&str>([])).await;
    let mut wanted = settings(Some(&session), None);
    let reach = would_be(&wanted).await;
    assert!(
        reach.way == Way::None && reach.says.contains("has no global shortcuts"),
        "{reach:?}"
    );
    let keys = running.keys(wanted.clone());
    none(&running, "has no global shortcuts").await;
    // One with shortcuts takes its place.
    drop(frontend);
    let frontend = Frontend::start(folder.path(), &session, "GlobalShortcuts")
        .await
        .unwrap();
    given(&running).await;
    assert_eq!(would_be(&wanted).await.way, Way::Portal);
    keys.abort();
    frontend.hang();
    wanted.patience = Duration::from_secs(3);
    let _keys = running.keys(wanted);
    none(&running, "does not answer").await;
    // And when it has gone, the next one.
    drop(frontend);
    let _frontend = Frontend::start(folder.path(), &session, "GlobalShortcuts").await;
    given(&running).await;
}

/// A portal that answers what it likes.
#[derive(Clone)]
struct Liar {
    /// What it does with a request.
    lie: &'static str,
    /// What it was asked.
    asked: Arc<Mutex<Vec<String>>>,
}

/// What the real portal from 1.21 on says to who is nobody.
#[derive(Debug, zbus::DBusError)]
#[zbus(prefix = "org.freedesktop.portal.Error")]
enum Refusal {
    #[zbus(error)]
    ZBus(zbus::Error),
    NotAllowed(String),
}

/// Where programs say who they are, from 1.19 on.
struct Registry(Liar);

#[interface(name = "org.freedesktop.host.portal.Registry")]
impl Registry {
    fn register(&self, app: String, _options: Dict) {
        self.0.asked.lock().unwrap().push(app);
    }
}

impl Liar {
    async fn respond(&self, connection: &Connection, request: &str) {
        let at = request.to_owned();
        let on = "org.freedesktop.portal.Request";
        let (all, emit) = (None::<&str>, "Response");
        match self.lie {
            "garbage" => connection.emit_signal(all, at, on, emit, &("no", 7)).await,
            "other" => {
                connection
                    .emit_signal(all, at, on, emit, &(2_u32, Dict::new()))
                    .await
            }
            "nothing" => {
                connection
                    .emit_signal(all, at, on, emit, &(0_u32, Dict::new()))
                    .await
            }
            "session" => {
                let handle: OwnedVariant = Variant::from("/elsewhere").try_into().unwrap();
                let results = Dict::from([("session_handle".to_owned(), handle)]);
                connection.emit_signal(all, at, on, emit, &(0_u32, results)).await
            }
            // The key is given, and taken away.
            "closes" => {
                let session = at
                    .replace("/request/", "/session/")
                    .replace("tiro_opens", "tiro_keys");
                let results = Dict::from([
                    (
                        "session_handle".to_owned(),
                        Variant::from(session.clone()).try_into().unwrap(),
                    ),
                    ("shortcuts".to_owned(), bound("F9")),
                ]);
                let given = at.ends_with("tiro_binds");
                let session = session.replace("tiro_binds", "tiro_keys");
                let answered = connection.emit_signal(all, at, on, emit, &(0_u32, results)).await;
                let on = "org.freedesktop.portal.Session";
                match given {
                    true => {
                        connection
                            .emit_signal(all, session, on, "Closed", &Dict::new())
                            .await
                    }
                    false => answered,
                }
            }
            _ => return,
        }
        .unwrap();
    }
}

#[interface(name = "org.freedesktop.portal.GlobalShortcuts")]
impl Liar {
    async fn create_session(
        &self,
        #[zbus(header)] header: zbus::message::Header<'_>,
        #[zbus(connection)] connection: &Connection,
        options: Dict,
    ) -> Result<OwnedObjectPath, Refusal> {
        self.asked.lock().unwrap().push("session".to_owned());
        if self.lie == "stranger" {
            return Err(Refusal::NotAllowed("An app id is required".to_owned()));
        }
        Ok(self.path(&header, connection, options).await)
    }

    async fn bind_shortcuts(
        &self,
        #[zbus(header)] header: zbus::message::Header<'_>,
        #[zbus(connection)] connection: &Connection,
        _session: OwnedObjectPath,
        _shortcuts: Vec<(String, Dict)>,
        _window: String,
        options: Dict,
    ) -> OwnedObjectPath {
        self.path(&header, connection, options).await
    }

    #[zbus(property, name = "version")]
    fn version(&self) -> u32 {
        2
    }
}

impl Liar {
    async fn path(
        &self,
        header: &zbus::message::Header<'_>,
        connection: &Connection,
        mut options: Dict,
    ) -> OwnedObjectPath {
        let token: String = options.remove("handle_token").unwrap().try_into().unwrap();
        let sender = header.sender().unwrap().trim_start_matches(':').replace('.', "_");
        let path = format!("{PATH}/request/{sender}/{token}");
        self.respond(connection, &path).await;
        path.try_into().unwrap()
    }
}

#[tokio::test]
async fn a_portal_that_answers_nonsense_is_asked_once() {
    let folder = tempfile::tempdir().unwrap();
    let Some(session) = Bus::start(folder.path()) else {
        return;
    };
    let running = Running::start(models::scripted::ScriptedLlm::replies::<&str>([])).await;
    for (lie, says) in [
        ("garbage", "does not understand"),
        ("other", "could not give"),
        ("nothing", "does not understand"),
        ("session", "does not understand"),
        ("silence", "does not answer"),
        ("stranger", "`tiro service install`"),
        ("closes", "took the key back"),
    ] {
        let liar = Liar {
            lie,
            asked: Arc::default(),
        };
        let server = connection::Builder::address(session.address.as_str())
            .name(PORTAL)
            .serve_at(PATH, liar.clone())
            .serve_at(PATH, Registry(liar.clone()))
            .build()
            .await
            .unwrap();
        let mut wanted = settings(Some(&session), None);
        if lie == "silence" {
            wanted.patience = Duration::from_secs(2);
        }
        let keys = running.keys(wanted);
        none(&running, says).await;
        // It tries again every 0.2 s and a pause, but not with this one.
        tokio::time::sleep(Duration::from_secs(4)).await;
        assert_eq!(*liar.asked.lock().unwrap(), ["org.tiro.Tiro", "session"], "{lie}");
        none(&running, says).await;
        keys.abort();
        let _ = keys.await;
        server.close().await.unwrap();
    }
}
