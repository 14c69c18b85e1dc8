//! Waybar on a Wayland desktop without a screen: it takes the lines of `tiro status --follow --json` as its own module, the
//! class of each gives its colour, and it shows the status icon. What is on the screen is looked at.

use std::{
    fs,
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use crate::{
    desktop::{Bus, PATIENCE, Programs, skipped},
    program::Tiro,
    sway,
};

/// The module as docs/json.md gives it to people.
fn module() -> String {
    let docs = fs::read_to_string(crate::home::root().join("docs/json.md")).unwrap();
    let from = docs.find("\"custom/tiro\": {").expect("the module for Waybar");
    let to = docs[from..].find("}\n").unwrap() + from;
    docs[from..=to].to_owned()
}

const STYLE: &str = "* { min-height: 0; } #custom-tiro { min-width: 200px; }\n\
    #custom-tiro.off { background: rgb(200, 0, 1); } #custom-tiro.idle { background: rgb(2, 200, 3); }\n";

#[tokio::test]
async fn real_waybar_shows_the_state_and_the_icon() {
    let Some(tiro) = Tiro::find() else { return };
    for program in ["sway", "waybar", "grim"] {
        let asked = if program == "grim" { "-h" } else { "--version" };
        if Command::new(program).arg(asked).output().is_err() {
            return skipped(program);
        }
    }
    // Its socket is in it, so its path has to be short.
    let folder = tempfile::Builder::new().prefix("wl").tempdir().unwrap();
    let Some(bus) = Bus::start(tiro.home()) else {
        return;
    };
    let (screen, name) = sway::start(folder.path());
    let mut programs = Programs(vec![screen]);
    let session = [
        ("XDG_RUNTIME_DIR", folder.path().display().to_string()),
        ("WAYLAND_DISPLAY", name),
        ("DBUS_SESSION_BUS_ADDRESS", bus.address.clone()),
        ("XDG_CURRENT_DESKTOP", "sway".to_owned()),
        ("TIRO_BUS", "session".to_owned()),
        (
            "PATH",
            format!(
                "{}:{}",
                tiro.program().parent().unwrap().display(),
                std::env::var("PATH").unwrap()
            ),
        ),
    ];
    let in_session = |mut command: Command| {
        command
            .env_remove("DISPLAY")
            .env("TIRO_HOME", tiro.home())
            .envs(session.clone());
        command
    };
    fs::write(
        tiro.home().join("config.toml"),
        "[llm]\nmodel = \"/nonexistent.gguf\"\n[stt]\nmodel = \"/nonexistent.bin\"\n",
    )
    .unwrap();
    let doctor = || {
        let ran = in_session(tiro.command(["doctor"])).output().unwrap();
        String::from_utf8_lossy(&ran.stdout).into_owned()
    };
    let without = doctor();
    assert!(
        without.contains("info status icon: None: nothing here shows status icons."),
        "{without}"
    );

    let (config, style, log) = (
        tiro.home().join("bar.json"),
        tiro.home().join("bar.css"),
        tiro.home().join("bar.log"),
    );
    let bar = format!(
        "{{\"height\": 40, \"modules-left\": [\"custom/tiro\"], \"modules-right\": [\"tray\"], {}}}",
        module()
    );
    fs::write(&config, bar).unwrap();
    fs::write(&style, STYLE).unwrap();
    let mut waybar = in_session(Command::new("waybar"));
    waybar
        .arg("-c")
        .arg(&config)
        .arg("-s")
        .arg(&style)
        .env("HOME", tiro.home());
    let said = fs::File::create(&log).unwrap();
    waybar
        .stdin(Stdio::null())
        .stdout(said.try_clone().unwrap())
        .stderr(said);
    programs.0.push(waybar.spawn().unwrap());
    let until = |what: &str, colour: [u8; 3]| {
        let began = Instant::now();
        loop {
            let grim = in_session(Command::new("grim"))
                .args(["-t", "ppm", "-g", "150,20 1x1", "-"])
                .output()
                .unwrap();
            if grim.stdout.ends_with(&colour) {
                return;
            }
            let log = fs::read_to_string(&log).unwrap();
            assert!(
                began.elapsed() < PATIENCE,
                "never {what}: {:?}, {log}",
                grim.stdout.last_chunk::<3>()
            );
            std::thread::sleep(Duration::from_millis(100));
        }
    };
    until("off", [200, 0, 1]);
    assert!(
        doctor().contains("ok   status icon: Your bar shows one while the daemon runs."),
        "{}",
        doctor()
    );
    let mut daemon = Programs(vec![
        in_session(tiro.command(["daemon"]))
            .stderr(Stdio::null())
            .spawn()
            .unwrap(),
    ]);
    until("idle", [2, 200, 3]);
    let began = Instant::now();
    while !doctor().contains("ok   status icon: Your bar has it") {
        assert!(began.elapsed() < PATIENCE, "{}", doctor());
    }
    daemon.0[0].kill().unwrap();
    until("off again", [200, 0, 1]);
    let log = fs::read_to_string(&log).unwrap();
    assert!(
        !log.contains("[error]") && !log.contains("[warning] custom"),
        "{log}"
    );
}
