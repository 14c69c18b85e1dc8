//! What tests of the desktop share: a bus of their own, mocks of services on it, services that behave badly, and a
//! speaker that nobody hears. Nothing of the machine that runs the tests is touched.

use std::{
    fs,
    path::Path,
    process::{Child, Command, Stdio},
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use futures_util::StreamExt as _;
use serde::{Serialize, de::DeserializeOwned};
use zbus::{Connection, DynamicType, MessageStream, Type, connection, message};

use super::Desk;
use crate::{Ctx, Journal, Retention};

/// Longest that anything may take, on a loaded machine.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// Says loudly that a test did nothing because a program is missing; `cargo xtask test` sets `TIRO_REQUIRE_REAL`, and
/// then its absence fails.
pub fn skipped(what: &str) {
    let required = std::env::var_os("TIRO_REQUIRE_REAL").is_some();
    assert!(!required, "{what} is not there; run `cargo xtask setup`");
    println!("SKIPPED: {what} is not there; run `cargo xtask setup`");
}

/// A bus of one test, in a folder of its own, with what was started on it.
pub struct World {
    folder: tempfile::TempDir,
    address: String,
    children: Vec<Child>,
    connection: Connection,
    desk: Desk,
}

impl World {
    /// `None` with a loud line where there is no dbus-daemon.
    pub async fn start() -> Option<World> {
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("bus");
        let config = folder.path().join("bus.conf");
        // No folders with services: nothing that is installed here is ever started.
        let text = format!(
            "<!DOCTYPE busconfig PUBLIC \"-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN\" \
             \"http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd\">\n\
             <busconfig><type>session</type><listen>unix:path={}</listen><auth>EXTERNAL</auth>\
             <policy context=\"default\"><allow send_destination=\"*\" eavesdrop=\"true\"/>\
             <allow eavesdrop=\"true\"/><allow own=\"*\"/></policy></busconfig>\n",
            socket.display()
        );
        fs::write(&config, text).unwrap();
        let started = Command::new("dbus-daemon")
            .arg("--nofork")
            .arg(format!("--config-file={}", config.display()))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        let Ok(child) = started else {
            skipped("dbus-daemon");
            return None;
        };
        let address = format!("unix:path={}", socket.display());
        let began = Instant::now();
        let connection = loop {
            match connection::Builder::address(address.as_str()).build().await {
                Ok(connection) => break connection,
                Err(error) => assert!(began.elapsed() < PATIENCE, "no bus: {error}"),
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        };
        let home = folder.path().join("home");
        fs::create_dir(&home).unwrap();
        let place = home.display().to_string();
        let env = [
            ("HOME", place.as_str()),
            ("XDG_RUNTIME_DIR", &place),
            ("XDG_CONFIG_HOME", &place),
            ("XDG_CURRENT_DESKTOP", "GNOME"),
            ("GSETTINGS_BACKEND", "keyfile"),
            ("WAYLAND_DISPLAY", ""),
            ("DISPLAY", ""),
        ];
        let desk = Desk {
            session: Some(address.clone()),
            system: Some(address.clone()),
            env: env
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .to_vec(),
            patience: Duration::from_secs(20),
            ..Desk::here()
        };
        Some(World {
            folder,
            address,
            children: vec![child],
            connection,
            desk,
        })
    }

    /// Where the bus is.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// The folder that is gone with it.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The desktop that tools see.
    pub fn desk(&mut self) -> &mut Desk {
        &mut self.desk
    }

    /// What a tool sees.
    pub fn ctx(&self) -> Ctx {
        let ctx = crate::testing::ctx(self.folder());
        let journal = Journal::at(&ctx.dirs.state, Retention::default()).on(self.desk.clone());
        Ctx {
            desk: self.desk.clone(),
            step: journal.step("test"),
            ..ctx
        }
    }

    /// Starts a mock of a service from the templates of python3-dbusmock. False with a loud line where that is missing.
    pub async fn mock(&mut self, template: &str, parameters: &str, name: &str) -> bool {
        let known = Command::new("/usr/bin/python3")
            .args(["-c", "import dbusmock"])
            .stderr(Stdio::null())
            .status();
        if !known.is_ok_and(|status| status.success()) {
            skipped("python3-dbusmock");
            return false;
        }
        let child = Command::new("/usr/bin/python3")
            .args([
                "-m",
                "dbusmock",
                "--template",
                template,
                "--parameters",
                parameters,
            ])
            .args(["--logfile", &self.log().display().to_string()])
            .env("DBUS_SESSION_BUS_ADDRESS", &self.address)
            .env("DBUS_SYSTEM_BUS_ADDRESS", &self.address)
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        self.children.push(child);
        self.wait_for(name).await;
        true
    }

    /// The calls that the mock was sent, one a line.
    pub fn log(&self) -> std::path::PathBuf {
        self.folder.path().join("mock.log")
    }

    /// Whether the mock was called so.
    pub fn was_called(&self, call: &str) -> bool {
        fs::read_to_string(self.log()).unwrap_or_default().contains(call)
    }

    /// Waits until somebody has a name.
    pub async fn wait_for(&self, name: &str) {
        let began = Instant::now();
        while !self.has(name).await {
            assert!(began.elapsed() < PATIENCE, "{name} never came");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Whether somebody has a name.
    pub async fn has(&self, name: &str) -> bool {
        let bus = "org.freedesktop.DBus";
        self.call(
            bus,
            "/org/freedesktop/DBus",
            "org.freedesktop.DBus.NameHasOwner",
            &(name,),
        )
        .await
    }

    /// Calls a method, its interface before its name; what comes back must fit.
    #[track_caller]
    pub fn call<B, R>(&self, name: &str, path: &str, method: &str, body: &B) -> impl Future<Output = R>
    where
        B: Serialize + DynamicType,
        R: DeserializeOwned + Type,
    {
        let (interface, method) = method.rsplit_once('.').unwrap();
        async move {
            let answer = self
                .connection
                .call_method(Some(name), path, Some(interface), method, body);
            answer.await.unwrap().body().deserialize().unwrap()
        }
    }

    /// Starts a program of the desktop's, with its variables.
    pub fn spawn(&mut self, program: &str, arguments: &[&str]) -> bool {
        let started = Command::new(program)
            .args(arguments)
            .env("DBUS_SESSION_BUS_ADDRESS", &self.address)
            .envs(self.desk.env.iter().map(|(name, value)| (name, value)))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        match started {
            Ok(child) => self.children.push(child),
            Err(_) => skipped(program),
        }
        Command::new(program).arg("--version").output().is_ok()
    }

    /// Has a service that behaves badly under a name until the test ends, or until it vanishes.
    pub async fn bad(&self, name: &'static str, manner: Manner) {
        let connection = connection::Builder::address(self.address.as_str())
            .build()
            .await
            .unwrap();
        let mut calls = MessageStream::from(&connection);
        connection.request_name(name).await.unwrap();
        tokio::spawn(async move {
            while let Some(Ok(call)) = calls.next().await {
                let header = call.header();
                if header.message_type() != message::Type::MethodCall {
                    continue;
                }
                match manner {
                    Manner::Hangs => {}
                    // The connection goes with this task.
                    Manner::Vanishes => break,
                    Manner::Garbage => connection.reply(&header, &("purple", 7_u8)).await.unwrap(),
                    Manner::Denies => {
                        let name = "org.freedesktop.DBus.Error.InteractiveAuthorizationRequired";
                        connection.reply_error(&header, name, &("no",)).await.unwrap();
                    }
                }
            }
            drop(calls);
            let _ = connection.close().await;
        });
    }

    /// Serves something of our own.
    pub async fn serve<I: zbus::object_server::Interface>(
        &self,
        name: &str,
        path: &str,
        service: I,
    ) -> Connection {
        let builder = connection::Builder::address(self.address.as_str());
        builder.name(name).serve_at(path, service).build().await.unwrap()
    }

    /// A program of the desktop's that writes down how it was called, one call a line, and then does `body`.
    pub fn program(&mut self, name: &str, body: &str) {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = self.folder.path().join("bin");
        fs::create_dir_all(&folder).unwrap();
        let file = folder.join(name);
        let log = self.folder.path().join("programs.log");
        fs::write(
            &file,
            format!("#!/bin/sh\necho \"{name} $*\" >> {}\n{body}\n", log.display()),
        )
        .unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
        let mut path = folder.into_os_string();
        path.push(":");
        path.push(std::env::var_os("PATH").unwrap_or_default());
        self.desk.path = path;
    }

    /// How the programs were called.
    pub fn programs(&self) -> String {
        fs::read_to_string(self.folder.path().join("programs.log")).unwrap_or_default()
    }

    /// A sound server with a speaker that nobody hears. `None` with a loud line where there is none.
    pub fn speaker(&mut self) -> Option<Speaker> {
        let speaker = Speaker::start(self)?;
        self.desk
            .env
            .push(("PULSE_SERVER".to_owned(), speaker.address.clone()));
        Some(speaker)
    }
}

impl Drop for World {
    fn drop(&mut self) {
        for child in self.children.iter_mut().rev() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// How a service behaves badly.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Manner {
    /// It never answers.
    Hangs,
    /// It goes away when it is called.
    Vanishes,
    /// It answers something else.
    Garbage,
    /// It wants a password.
    Denies,
}

/// Samples a second of what is heard.
const RATE: usize = 16_000;

/// What the speaker plays, listened to.
pub struct Speaker {
    /// Where the sound server is.
    pub address: String,
    heard: Arc<Mutex<Vec<i16>>>,
}

impl Speaker {
    fn start(world: &mut World) -> Option<Speaker> {
        let socket = world.folder().join("speaker.socket");
        let script = world.folder().join("speaker.pa");
        // Without norewinds a null sink loses the first seconds.
        let modules = format!(
            "load-module module-native-protocol-unix socket={} auth-anonymous=1\n\
             load-module module-null-sink sink_name=speaker rate=48000 norewinds=1\n\
             set-default-sink speaker\n",
            socket.display()
        );
        fs::write(&script, modules).unwrap();
        let arguments = [
            "-n",
            "--daemonize=no",
            "--exit-idle-time=-1",
            "--use-pid-file=no",
            "-F",
        ];
        let script = script.display().to_string();
        let arguments: Vec<&str> = arguments.into_iter().chain([script.as_str()]).collect();
        if !world.spawn("pulseaudio", &arguments) {
            return None;
        }
        let began = Instant::now();
        while !socket.exists() {
            assert!(began.elapsed() < PATIENCE, "pulseaudio does not start");
            std::thread::sleep(Duration::from_millis(20));
        }
        let address = format!("unix:{}", socket.display());
        let mut recorder = Command::new("parec")
            .args(["-d", "speaker.monitor", "--format=s16le", "--channels=1"])
            .args([format!("--rate={RATE}"), "--latency-msec=50".to_owned()])
            .env("PULSE_SERVER", &address)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("parec comes with pactl");
        let heard = Arc::new(Mutex::new(Vec::new()));
        let (mut out, into) = (recorder.stdout.take().unwrap(), Arc::clone(&heard));
        world.children.push(recorder);
        std::thread::spawn(move || {
            use std::io::Read as _;
            let mut bytes = [0; RATE / 10];
            while out.read_exact(&mut bytes).is_ok() {
                let samples = bytes.chunks_exact(2).map(|b| i16::from_le_bytes([b[0], b[1]]));
                into.lock().unwrap().extend(samples);
            }
        });
        Some(Speaker { address, heard })
    }

    /// How loud the next so many tenths of a second are: the root of the mean square, 0 to 32767.
    pub async fn loudness(&self, tenths: usize) -> f64 {
        let since = self.heard.lock().unwrap().len();
        let until = since + tenths * RATE / 10;
        let began = Instant::now();
        loop {
            if let Some(piece) = self.heard.lock().unwrap().get(since..until) {
                let squares: f64 = piece.iter().map(|s| f64::from(*s) * f64::from(*s)).sum();
                return (squares / piece.len() as f64).sqrt();
            }
            assert!(began.elapsed() < PATIENCE, "the recorder hears nothing");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Waits until it is as loud as that.
    pub async fn until(&self, what: &str, is: impl Fn(f64) -> bool) {
        let began = Instant::now();
        loop {
            let loudness = self.loudness(3).await;
            if is(loudness) {
                return;
            }
            assert!(began.elapsed() < PATIENCE, "{what}: {loudness}");
        }
    }
}

/// A recording of one tone, as loud as it gets.
pub fn tone(path: &Path, pitch: f32, seconds: usize) {
    let samples: Vec<u8> = (0..seconds * RATE)
        .flat_map(|n| {
            let sample = (std::f32::consts::TAU * pitch * n as f32 / RATE as f32).sin();
            ((sample * 32_000.0) as i16).to_le_bytes()
        })
        .collect();
    let (size, rate) = (u32::try_from(samples.len()).unwrap(), RATE as u32);
    let mut wav = Vec::new();
    wav.extend(b"RIFF");
    wav.extend((36 + size).to_le_bytes());
    wav.extend(b"WAVEfmt ");
    wav.extend(16_u32.to_le_bytes());
    wav.extend([1, 0, 1, 0]);
    wav.extend(rate.to_le_bytes());
    wav.extend((2 * rate).to_le_bytes());
    wav.extend([2, 0, 16, 0]);
    wav.extend(b"data");
    wav.extend(size.to_le_bytes());
    wav.extend(samples);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, wav).unwrap();
}
