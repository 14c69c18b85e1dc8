//! A desktop of the tests' own: a private session bus, and a notification server on it whose buttons the test presses.

use std::{
    collections::HashMap,
    io::{BufRead as _, BufReader},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use zbus::{Connection, OwnedVariant, connection, interface, object_server::SignalEmitter};

/// Longest that anything may take, on a loaded machine.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// Says loudly that a test did nothing because a program is missing; `cargo xtask test` sets `TIRO_REQUIRE_REAL`, and
/// then its absence fails.
pub fn skipped(what: &str) {
    let required = std::env::var_os("TIRO_REQUIRE_REAL").is_some();
    assert!(!required, "{what} is not there; run `cargo xtask setup`");
    println!("SKIPPED: {what} is not there; run `cargo xtask setup`");
}

/// Programs that do not outlive their test.
pub struct Programs(pub Vec<Child>);

impl Drop for Programs {
    fn drop(&mut self) {
        for child in &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// An X server without a screen, and its name; `None` with a loud line where there is none.
pub fn screen() -> Option<(Programs, String)> {
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
    let programs = Programs(vec![x]);
    said.unwrap();
    Some((programs, format!(":{}", display.trim())))
}

/// A sandbox with the system's programs and nothing of the person's.
pub fn sandbox() -> Command {
    let mut command = Command::new("bwrap");
    for folder in ["/usr", "/bin", "/lib", "/lib64", "/etc"] {
        command.args(["--ro-bind-try", folder, folder]);
    }
    command.args(["--proc", "/proc", "--dev", "/dev", "--die-with-parent"]);
    command
}

/// Passes on what comes in at a door to the bus, and back.
const RELAY: &str = r#"
import socket, sys, threading
def copy(a, b):
    while data := a.recv(65536):
        b.sendall(data)
    b.shutdown(socket.SHUT_WR)
door = socket.socket(socket.AF_UNIX)
door.bind(sys.argv[1])
door.listen()
while True:
    guest, _ = door.accept()
    bus = socket.socket(socket.AF_UNIX)
    bus.connect("/bus")
    for pair in ((guest, bus), (bus, guest)):
        threading.Thread(target=copy, args=pair, daemon=True).start()
"#;

/// A session bus for one test alone.
pub struct Bus {
    daemon: Child,
    /// Where it is.
    pub address: String,
    /// Its folder of service files.
    pub services: PathBuf,
}

impl Bus {
    /// `None` with a loud line where there is no dbus-daemon.
    pub fn start(folder: &Path) -> Option<Bus> {
        Bus::start_with(folder, &[])
    }

    /// The same; what it starts has this environment.
    pub fn start_with(folder: &Path, env: &[(&str, &Path)]) -> Option<Bus> {
        let (socket, config, services) = (
            folder.join("bus"),
            folder.join("bus.conf"),
            folder.join("services"),
        );
        let address = format!("unix:path={}", socket.display());
        std::fs::create_dir_all(&services).unwrap();
        // Nothing that is installed here is ever started.
        let text = format!(
            "<!DOCTYPE busconfig PUBLIC \"-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN\" \
             \"http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd\">\n\
             <busconfig><type>session</type><listen>{address}</listen><auth>EXTERNAL</auth>\
             <servicedir>{}</servicedir><policy context=\"default\"><allow send_destination=\"*\"/>\
             <allow receive_sender=\"*\"/><allow own=\"*\"/></policy></busconfig>\n",
            services.display()
        );
        std::fs::write(&config, text).unwrap();
        let started = Command::new("dbus-daemon")
            .arg("--nofork")
            .arg(format!("--config-file={}", config.display()))
            .envs(env.iter().copied())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        let Ok(daemon) = started else {
            skipped("dbus-daemon");
            return None;
        };
        let bus = Bus {
            daemon,
            address,
            services,
        };
        let began = Instant::now();
        while std::os::unix::net::UnixStream::connect(&socket).is_err() {
            assert!(began.elapsed() < PATIENCE, "the bus does not start");
            std::thread::sleep(Duration::from_millis(10));
        }
        Some(bus)
    }

    /// Somebody on it.
    pub async fn client(&self) -> Connection {
        connection::Builder::address(self.address.as_str())
            .build()
            .await
            .unwrap()
    }

    /// Its address for programs in a sandbox, which has this bus before it and nothing of the person's: what is connected
    /// there goes through a process in it. `None` with a loud line where there are no sandboxes.
    pub fn sandboxed(&self) -> Option<(Programs, String)> {
        let socket = self.address.strip_prefix("unix:path=").unwrap();
        let folder = Path::new(socket).parent().unwrap().join("sandbox");
        std::fs::create_dir(&folder).unwrap();
        let door = folder.join("door");
        let mut command = sandbox();
        command
            .args(["--ro-bind", socket, "/bus", "--bind"])
            .args([&folder, &folder])
            .args(["python3", "-c", RELAY])
            .arg(&door);
        let Ok(relay) = command.stdout(Stdio::null()).spawn() else {
            skipped("a sandbox (bwrap)");
            return None;
        };
        let (mut programs, began) = (Programs(vec![relay]), Instant::now());
        while !door.exists() {
            if programs.0[0].try_wait().unwrap().is_some() {
                skipped("a sandbox (bwrap, python3)");
                return None;
            }
            assert!(began.elapsed() < PATIENCE, "the sandbox has no door");
            std::thread::sleep(Duration::from_millis(10));
        }
        Some((programs, format!("unix:path={}", door.display())))
    }

    /// Kills it.
    pub fn kill(&mut self) {
        let _ = self.daemon.kill();
        let _ = self.daemon.wait();
    }
}

impl Drop for Bus {
    fn drop(&mut self) {
        self.kill();
    }
}

/// What the desktop shows.
#[derive(Debug, Clone)]
pub struct Shown {
    /// Its number.
    pub id: u32,
    /// Which one it replaces.
    pub replaces: u32,
    /// The title.
    pub text: String,
    /// What stands below.
    pub body: String,
    /// Keys and labels of the buttons.
    pub actions: Vec<String>,
    /// How long it is to be shown: 0 until it is closed, -1 as long as the server likes.
    pub expires: i32,
    /// When it came.
    pub at: jiff::Timestamp,
}

/// A notification server.
#[derive(Clone)]
pub struct Desktop {
    capabilities: &'static [&'static str],
    shown: Arc<Mutex<Vec<Shown>>>,
    closed: Arc<Mutex<Vec<u32>>>,
    /// How long it takes to say which number one has.
    slow: Duration,
}

impl Default for Desktop {
    fn default() -> Desktop {
        Desktop::that(&["actions", "body", "body-markup"])
    }
}

impl Desktop {
    /// A server that can do this.
    pub fn that(capabilities: &'static [&'static str]) -> Desktop {
        Desktop {
            capabilities,
            shown: Arc::default(),
            closed: Arc::default(),
            slow: Duration::ZERO,
        }
    }

    /// One that takes so long to answer.
    pub fn slow(slow: Duration) -> Desktop {
        Desktop {
            slow,
            ..Desktop::default()
        }
    }

    /// Serves it on a bus.
    pub async fn serve(&self, bus: &Bus) -> Connection {
        self.serve_at(&bus.address).await
    }

    /// The same for a bus at this address.
    pub async fn serve_at(&self, address: &str) -> Connection {
        connection::Builder::address(address)
            .name("org.freedesktop.Notifications")
            .serve_at("/org/freedesktop/Notifications", self.clone())
            .build()
            .await
            .unwrap()
    }

    /// How many were shown.
    pub fn count(&self) -> usize {
        self.shown.lock().unwrap().len()
    }

    /// Those that were taken away.
    pub fn closed(&self) -> Vec<u32> {
        self.closed.lock().unwrap().clone()
    }

    /// Waits for the n-th notification.
    pub async fn shown(&self, n: usize) -> Shown {
        let began = Instant::now();
        loop {
            if let Some(shown) = self.shown.lock().unwrap().get(n) {
                return shown.clone();
            }
            assert!(began.elapsed() < PATIENCE, "notification {n} does not come");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// The person presses a button.
    pub async fn press(server: &Connection, id: u32, button: &str) {
        let emitter = SignalEmitter::new(server, "/org/freedesktop/Notifications").unwrap();
        Desktop::action_invoked(&emitter, id, button).await.unwrap();
    }

    /// A notification goes: 1 by itself, 2 by the person.
    pub async fn goes(server: &Connection, id: u32, reason: u32) {
        let emitter = SignalEmitter::new(server, "/org/freedesktop/Notifications").unwrap();
        Desktop::notification_closed(&emitter, id, reason).await.unwrap();
    }
}

#[interface(name = "org.freedesktop.Notifications")]
impl Desktop {
    #[expect(clippy::too_many_arguments, reason = "the specification has as many")]
    async fn notify(
        &self,
        _app: String,
        replaces: u32,
        _icon: String,
        summary: String,
        body: String,
        actions: Vec<String>,
        _hints: HashMap<String, OwnedVariant>,
        expires: i32,
    ) -> u32 {
        let id = {
            let mut shown = self.shown.lock().unwrap();
            let id = if replaces > 0 {
                replaces
            } else {
                u32::try_from(shown.len()).unwrap() + 1
            };
            shown.push(Shown {
                id,
                replaces,
                text: summary,
                body,
                actions,
                expires,
                at: jiff::Timestamp::now(),
            });
            id
        };
        tokio::time::sleep(self.slow).await;
        id
    }

    fn close_notification(&self, id: u32) {
        self.closed.lock().unwrap().push(id);
    }

    fn get_capabilities(&self) -> Vec<String> {
        self.capabilities.iter().map(|c| (*c).to_owned()).collect()
    }

    #[zbus(signal)]
    async fn action_invoked(emitter: &SignalEmitter<'_>, id: u32, action_key: &str) -> zbus::Result<()>;

    #[zbus(signal)]
    async fn notification_closed(emitter: &SignalEmitter<'_>, id: u32, reason: u32) -> zbus::Result<()>;
}
