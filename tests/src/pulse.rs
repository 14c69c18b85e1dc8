//! A sound server for one test, PulseAudio or PipeWire, in a folder of its own: a speaker that nobody hears, and a microphone
//! into which the test speaks.

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

/// Longest that anything may take, on a loaded machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// Which sound server it is. All of them are talked to as if they were PulseAudio.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// PulseAudio itself.
    PulseAudio,
    /// PipeWire in its place, with WirePlumber, as most desktops have it.
    PipeWire,
    /// PulseAudio behind a port, as it is for who sits in a container: programs reach it through ALSA alone.
    BehindAlsa,
}

/// A private sound server; ended when dropped.
pub struct Pulse {
    kind: Kind,
    /// The first one is what clients are connected with.
    servers: Vec<Child>,
    socket: PathBuf,
}

impl Pulse {
    /// `None` with a loud line where there is no sound server, which fails where real parts are required.
    pub fn start(folder: &Path) -> Option<Pulse> {
        Pulse::of(Kind::usual(), folder)
    }

    /// The same with another server.
    pub fn of(kind: Kind, folder: &Path) -> Option<Pulse> {
        let socket = kind.socket(folder);
        // A server that was killed leaves it.
        let _ = std::fs::remove_file(&socket);
        let started = match kind {
            Kind::PulseAudio => pulse_audio(folder, &socket, None),
            // The tests themselves have the socket, and nobody else.
            Kind::BehindAlsa => pulse_audio(folder, &socket, std::env::var("PULSE_SERVER").ok()),
            Kind::PipeWire => pipe_wire(folder),
        };
        let Ok(servers) = started else {
            let missing = format!("there is no {kind:?}; run `cargo xtask setup`");
            // `cargo xtask setup` leaves PulseAudio to a desktop on which that runs.
            let desktop = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
            let kept =
                kind == Kind::PipeWire && desktop.is_some_and(|folder| folder.join("pulse/native").exists());
            let required = std::env::var_os("TIRO_REQUIRE_REAL").is_some() && !kept;
            assert!(!required, "{missing}");
            println!("SKIPPED: {missing}");
            return None;
        };
        let mut pulse = Pulse {
            kind,
            servers,
            socket,
        };
        let began = Instant::now();
        pulse.wait("it answers", began, |pulse| match kind {
            // The socket is there before its modules are.
            Kind::PulseAudio | Kind::BehindAlsa => pulse.socket.exists() && pulse.lists("sources", "vmic"),
            // It says a placeholder until WirePlumber is there, which keeps what is set as the default.
            Kind::PipeWire => pulse.socket.exists() && pulse.said("get-default-sink") == "auto_null",
        });
        if kind == Kind::PipeWire {
            for module in MODULES {
                pulse.load(module);
            }
            pulse.pactl("set-default-sink speaker");
            pulse.pactl("set-default-source vmic");
            pulse.wait("the microphone is the default one", began, |pulse| {
                pulse.said("get-default-sink") == "speaker" && pulse.said("get-default-source") == "vmic"
            });
        }
        Some(pulse)
    }

    fn wait(&mut self, what: &str, began: Instant, is_so: impl Fn(&Pulse) -> bool) {
        while !is_so(self) {
            let alive = self.servers.iter_mut().all(|s| s.try_wait().unwrap().is_none());
            assert!(
                began.elapsed() < PATIENCE && alive,
                "{:?} does not start: never {what}",
                self.kind
            );
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// What `pactl` says to this.
    fn said(&self, words: &str) -> String {
        let out = self.command("pactl").arg(words).output().unwrap();
        String::from_utf8(out.stdout).unwrap().trim().to_owned()
    }

    /// Which one it is.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// Where it is, as PULSE_SERVER says it.
    pub fn address(&self) -> String {
        address(&self.socket)
    }

    /// What it calls itself: "pulseaudio", "PulseAudio (on PipeWire 1.4.2)".
    pub fn name(&self) -> String {
        let out = self.command("pactl").arg("info").env("LC_ALL", "C").output();
        let text = String::from_utf8(out.unwrap().stdout).unwrap();
        let mut lines = text.lines();
        let name = lines.find_map(|line| line.strip_prefix("Server Name: "));
        name.unwrap_or_else(|| panic!("{text}")).to_owned()
    }

    /// One of its programs.
    pub fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.env("PULSE_SERVER", self.address()).stderr(Stdio::null());
        command
    }

    /// Speaks this into the microphone, to the end.
    pub fn speak(&self, wav: &Path) {
        self.speak_into("mic_in", wav);
    }

    /// The same into what makes another one.
    pub fn speak_into(&self, sink: &str, wav: &Path) {
        let mut player = self.command("paplay");
        let status = player.arg(format!("--device={sink}")).arg(wav).status().unwrap();
        assert!(status.success(), "{} cannot be played", wav.display());
    }

    /// Loads a module; its number.
    pub fn load(&self, module: &str) -> String {
        let mut command = self.command("pactl");
        let out = command
            .arg("load-module")
            .args(module.split(' '))
            .output()
            .unwrap();
        assert!(out.status.success(), "{module}");
        String::from_utf8(out.stdout).unwrap().trim().to_owned()
    }

    /// Plugs in another microphone of this name; the number of what makes it. What is played to `NAME_in` is spoken into it.
    pub fn plug_in(&self, name: &str) -> String {
        self.load(&format!(
            "module-null-sink sink_name={name}_in rate=48000 channels=1 norewinds=1"
        ));
        self.load(&format!(
            "module-remap-source source_name={name} master={name}_in.monitor channels=1 \
             source_properties=device.description={name}"
        ))
    }

    /// The number of the module that makes the usual microphone.
    pub fn usual(&self) -> String {
        let modules = self.list("modules");
        let line = modules.lines().find(|line| line.contains("source_name=vmic"));
        line.unwrap().split('\t').next().unwrap().to_owned()
    }

    /// From now on what is played to the speaker is heard by the microphone, as in a room without headphones.
    pub fn echo(&self) {
        self.load("module-loopback source=speaker.monitor sink=mic_in latency_msec=20");
    }

    /// The same, softer: so many percent of the volume, as `pactl` counts it.
    pub fn soft_echo(&self, percent: u32) {
        let module = self.load("module-loopback source=speaker.monitor sink=mic_in latency_msec=20");
        let played = self.list("sink-inputs");
        let line = played.lines().find(|line| line.contains("module-loopback"));
        let number = line
            .unwrap_or_else(|| panic!("{module}: {played}"))
            .split('\t')
            .next();
        self.pactl(&format!("set-sink-input-volume {} {percent}%", number.unwrap()));
    }

    /// `pactl` with these words.
    pub fn pactl(&self, words: &str) {
        let status = self.command("pactl").args(words.split(' ')).status();
        assert!(status.unwrap().success(), "{words}");
    }

    /// How many have the microphone open.
    pub fn recorders(&self) -> usize {
        // The module that makes the microphone is one, too, but no client.
        let open = self.list("source-outputs");
        open.lines().filter(|line| is_of_client(line)).count()
    }

    /// Waits until one program, and no other, records the microphone of this name.
    #[track_caller]
    pub fn until_recorded(&self, name: &str) {
        let began = Instant::now();
        loop {
            let (open, sources) = (self.list("source-outputs"), self.list("sources"));
            let fields = |line: &str| line.split('\t').map(str::to_owned).collect::<Vec<_>>();
            let of: Vec<String> = (open.lines().filter(|line| is_of_client(line)))
                .filter_map(|line| fields(line).get(1).cloned())
                .collect();
            let number = sources.lines().map(fields).find(|fields| fields[1] == name);
            if number.is_some_and(|fields| of == [fields[0].clone()]) {
                return;
            }
            assert!(began.elapsed() < PATIENCE, "nobody records {name}: {open}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Waits until so many have.
    #[track_caller]
    pub fn until_recorders(&self, count: usize) {
        let began = Instant::now();
        while self.recorders() != count {
            assert!(
                began.elapsed() < PATIENCE,
                "{} have the microphone, never {count}",
                self.recorders()
            );
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Lets it hang.
    pub fn pause(&self) {
        self.signal(rustix::process::Signal::STOP);
    }

    /// Lets it go on.
    pub fn resume(&self) {
        self.signal(rustix::process::Signal::CONT);
    }

    fn signal(&self, signal: rustix::process::Signal) {
        for server in &self.servers {
            let pid = rustix::process::Pid::from_raw(server.id().try_into().unwrap()).unwrap();
            rustix::process::kill_process(pid, signal).unwrap();
        }
    }

    /// Kills it, as a crash would.
    pub fn kill(mut self) {
        self.crash();
    }

    /// The same for who goes on with another in its place.
    pub fn crash(&mut self) {
        for server in &mut self.servers {
            server.kill().unwrap();
            server.wait().unwrap();
        }
    }

    fn lists(&self, what: &str, name: &str) -> bool {
        self.list(what).contains(name)
    }

    fn list(&self, what: &str) -> String {
        let out = self.command("pactl").args(["list", "short", what]).output();
        String::from_utf8(out.unwrap().stdout).unwrap()
    }
}

impl Drop for Pulse {
    fn drop(&mut self) {
        for server in &mut self.servers {
            let _ = server.kill();
            let _ = server.wait();
        }
    }
}

/// A port of this machine, as PULSE_SERVER says it.
const LOOPBACK: &str = "tcp:127.0.0.1:";

/// A speaker that nobody hears, and a microphone into which the test speaks.
const MODULES: [&str; 3] = [
    // Without norewinds a null sink of PulseAudio loses the first seconds.
    "module-null-sink sink_name=speaker rate=48000 norewinds=1",
    "module-null-sink sink_name=mic_in rate=48000 channels=1 norewinds=1",
    "module-remap-source source_name=vmic master=mic_in.monitor channels=1 \
     source_properties=device.description=Desk-Microphone",
];

fn pulse_audio(folder: &Path, socket: &Path, port: Option<String>) -> std::io::Result<Vec<Child>> {
    let script = folder.join("pulse.pa");
    let mut modules = format!(
        "load-module module-native-protocol-unix socket={} auth-anonymous=1\n",
        socket.display()
    );
    if let Some(port) = port.and_then(|address| Some(address.strip_prefix(LOOPBACK)?.to_owned())) {
        modules += &format!(
            "load-module module-native-protocol-tcp listen=127.0.0.1 port={port} auth-anonymous=1\n"
        );
    }
    for module in MODULES {
        modules += &format!("load-module {module}\n");
    }
    modules += "set-default-sink speaker\nset-default-source vmic\n";
    std::fs::write(&script, modules).unwrap();
    let mut command = alone("pulseaudio", folder);
    command
        .args([
            "-n",
            "--daemonize=no",
            "--exit-idle-time=-1",
            "--use-pid-file=no",
            "-F",
        ])
        .arg(&script);
    Ok(vec![command.spawn()?])
}

/// What WirePlumber leaves alone: the devices of this machine are none of a test's. The first is how it is told up to 0.4, in
/// Lua, the other from 0.5 on.
const HANDS_OFF: [(&str, &str); 3] = [
    (
        "main.lua.d/51-alone.lua",
        "alsa_monitor.enabled = false\n\
         v4l2_monitor.enabled = false\n\
         libcamera_monitor.enabled = false\n\
         default_access.properties[\"enable-flatpak-portal\"] = false\n",
    ),
    ("bluetooth.lua.d/51-alone.lua", "bluez_monitor.enabled = false\n"),
    (
        "wireplumber.conf.d/51-alone.conf",
        "wireplumber.profiles = { main = { hardware.audio = disabled hardware.bluetooth = disabled \
         hardware.video-capture = disabled support.portal-permissionstore = disabled \
         support.reserve-device = disabled support.logind = disabled } }\n",
    ),
];

fn pipe_wire(folder: &Path) -> std::io::Result<Vec<Child>> {
    for (file, text) in HANDS_OFF {
        let path = folder.join("wireplumber").join(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    let socket = folder.join("pipewire-0");
    // A server that was killed leaves it, and the others would knock at it.
    let _ = std::fs::remove_file(&socket);
    let mut servers = vec![alone("pipewire", folder).spawn()?];
    let began = Instant::now();
    while !socket.exists() && began.elapsed() < PATIENCE {
        std::thread::sleep(Duration::from_millis(10));
    }
    for program in ["wireplumber", "pipewire-pulse"] {
        match alone(program, folder).spawn() {
            Ok(server) => servers.push(server),
            Err(error) => {
                servers.iter_mut().for_each(|server| _ = server.kill());
                return Err(error);
            }
        }
    }
    Ok(servers)
}

/// A server that knows nothing but its folder.
fn alone(program: &str, folder: &Path) -> Command {
    let mut command = Command::new(program);
    for place in [
        "HOME",
        "XDG_RUNTIME_DIR",
        "PIPEWIRE_RUNTIME_DIR",
        "XDG_CONFIG_HOME",
        "XDG_STATE_HOME",
    ] {
        command.env(place, folder);
    }
    command
        .env("DBUS_SESSION_BUS_ADDRESS", "unix:path=/nowhere/at/all")
        .env_remove("PULSE_SERVER")
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command
}

/// Whether a program records this, and no module of the server itself: its third field is the number of a client.
fn is_of_client(line: &str) -> bool {
    line.split('\t').nth(2).is_some_and(|client| client != "-")
}

impl Kind {
    /// What tests have that do not say which: PulseAudio, or PipeWire where it is all there is or `TIRO_TEST_PIPEWIRE` is set.
    pub fn usual() -> Kind {
        let asked = std::env::var_os("TIRO_TEST_PIPEWIRE").is_some();
        let there = |program: &str| {
            let path = std::env::var_os("PATH").unwrap_or_default();
            std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
        };
        match asked || (!there("pulseaudio") && there("pipewire-pulse")) {
            true => Kind::PipeWire,
            false => Kind::PulseAudio,
        }
    }

    fn socket(self, folder: &Path) -> PathBuf {
        folder.join(match self {
            Kind::PulseAudio | Kind::BehindAlsa => "pulse.socket",
            Kind::PipeWire => "pulse/native",
        })
    }

    /// The address of the server of this kind that a test in this folder starts.
    pub fn address_in(self, folder: &Path) -> String {
        match self {
            Kind::PulseAudio | Kind::PipeWire => address(&self.socket(folder)),
            Kind::BehindAlsa => {
                let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
                format!("{LOOPBACK}{}", free.local_addr().unwrap().port())
            }
        }
    }

    /// What a program must have in its environment to reach the server of this kind that a test in this folder starts.
    pub fn environment(self, folder: &Path) -> Vec<(&'static str, OsString)> {
        let mut all = vec![("PULSE_SERVER", self.address_in(folder).into())];
        if self == Kind::BehindAlsa {
            let file = folder.join("asound.conf");
            std::fs::write(
                &file,
                "</usr/share/alsa/alsa.conf>\npcm.!default { type pulse }\n",
            )
            .unwrap();
            all.push(("ALSA_CONFIG_PATH", file.into()));
        }
        all
    }
}

/// The address of the usual server that a test in this folder starts.
pub fn address_in(folder: &Path) -> String {
    Kind::usual().address_in(folder)
}

fn address(socket: &Path) -> String {
    format!("unix:{}", socket.display())
}
