//! A sound server for one test, in a folder of its own: a speaker that nobody hears, and a microphone into which the
//! test speaks.

use std::{
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

/// Longest that anything may take, on a loaded machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// A private PulseAudio; ended when dropped.
pub struct Pulse {
    server: Child,
    socket: PathBuf,
}

impl Pulse {
    /// `None` with a loud line where there is no PulseAudio, which fails where real parts are required.
    pub fn start(folder: &Path) -> Option<Pulse> {
        let socket = socket(folder);
        let script = folder.join("pulse.pa");
        // A server that was killed leaves it.
        let _ = std::fs::remove_file(&socket);
        // Without norewinds a null sink loses the first seconds.
        let modules = format!(
            "load-module module-native-protocol-unix socket={} auth-anonymous=1\n\
             load-module module-null-sink sink_name=speaker rate=48000 norewinds=1\n\
             load-module module-null-sink sink_name=mic_in rate=48000 channels=1 norewinds=1\n\
             load-module module-remap-source source_name=vmic master=mic_in.monitor \
             source_properties=device.description=Desk-Microphone\n\
             set-default-sink speaker\n\
             set-default-source vmic\n",
            socket.display()
        );
        std::fs::write(&script, modules).unwrap();
        let started = Command::new("pulseaudio")
            .args([
                "-n",
                "--daemonize=no",
                "--exit-idle-time=-1",
                "--use-pid-file=no",
                "-F",
            ])
            .arg(&script)
            .env("HOME", folder)
            .env("XDG_RUNTIME_DIR", folder)
            .env("XDG_CONFIG_HOME", folder)
            .env_remove("PULSE_SERVER")
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        let Ok(server) = started else {
            let required = std::env::var_os("TIRO_REQUIRE_REAL").is_some();
            assert!(!required, "there is no pulseaudio; run `cargo xtask setup`");
            println!("SKIPPED: there is no pulseaudio; run `cargo xtask setup`");
            return None;
        };
        let mut pulse = Pulse { server, socket };
        let began = Instant::now();
        // The socket is there before its modules are.
        while !pulse.socket.exists() || !pulse.lists("sources", "vmic") {
            let waited = began.elapsed() < PATIENCE && pulse.server.try_wait().unwrap().is_none();
            assert!(waited, "pulseaudio does not start");
            std::thread::sleep(Duration::from_millis(20));
        }
        Some(pulse)
    }

    /// Where it is, as PULSE_SERVER says it.
    pub fn address(&self) -> String {
        address(&self.socket)
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
            "module-remap-source source_name={name} master={name}_in.monitor source_properties=device.description={name}"
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
        open.lines()
            .filter(|line| line.contains("protocol-native"))
            .count()
    }

    /// Waits until one program, and no other, records the microphone of this name.
    #[track_caller]
    pub fn until_recorded(&self, name: &str) {
        let began = Instant::now();
        loop {
            let (open, sources) = (self.list("source-outputs"), self.list("sources"));
            let fields = |line: &str| line.split('\t').map(str::to_owned).collect::<Vec<_>>();
            let of: Vec<String> = (open.lines().filter(|line| line.contains("protocol-native")))
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
        let pid = rustix::process::Pid::from_raw(self.server.id().try_into().unwrap()).unwrap();
        rustix::process::kill_process(pid, signal).unwrap();
    }

    /// Kills it, as a crash would.
    pub fn kill(mut self) {
        self.server.kill().unwrap();
        self.server.wait().unwrap();
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
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

/// The address of the server that a test in this folder starts.
pub fn address_in(folder: &Path) -> String {
    address(&socket(folder))
}

fn socket(folder: &Path) -> PathBuf {
    folder.join("pulse.socket")
}

fn address(socket: &Path) -> String {
    format!("unix:{}", socket.display())
}
