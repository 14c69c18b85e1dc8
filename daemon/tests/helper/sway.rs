//! sway without a screen, for tests of the daemon and of the whole.

use std::{
    fs,
    os::unix::{fs::PermissionsExt as _, net::UnixStream, process::CommandExt as _},
    path::Path,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

/// Nobody, where the tests run as root: sway refuses to.
const NOBODY: u32 = 65534;
/// Longest that it may take, on a loaded machine.
const LIMIT: Duration = Duration::from_secs(60);

/// Starts it with its socket in this folder; the name of that, as `WAYLAND_DISPLAY` has it.
pub fn start(folder: &Path) -> (Child, String) {
    fs::set_permissions(folder, fs::Permissions::from_mode(0o700)).unwrap();
    fs::write(folder.join("config"), "xwayland disable\n").unwrap();
    let mut sway = Command::new("sway");
    sway.arg("-c")
        .arg(folder.join("config"))
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("HOME", folder)
        .env("XDG_RUNTIME_DIR", folder)
        .env("WLR_BACKENDS", "headless")
        .env("WLR_RENDERER", "pixman")
        .env("WLR_LIBINPUT_NO_DEVICES", "1")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(fs::File::create(folder.join("log")).unwrap());
    if rustix::process::geteuid().is_root() {
        for path in [folder, &folder.join("config")] {
            std::os::unix::fs::chown(path, Some(NOBODY), Some(NOBODY)).unwrap();
        }
        sway.uid(NOBODY).gid(NOBODY);
    }
    let mut sway = sway.spawn().unwrap();
    let started = Instant::now();
    loop {
        let told = || fs::read_to_string(folder.join("log")).unwrap_or_default();
        assert_eq!(sway.try_wait().unwrap(), None, "{}", told());
        assert!(
            started.elapsed() < LIMIT,
            "the desktop does not start: {}",
            told()
        );
        let names = fs::read_dir(folder).unwrap().flatten();
        let names = names.filter_map(|entry| entry.file_name().into_string().ok());
        let socket = |name: &String| name.starts_with("wayland-") && !name.ends_with(".lock");
        let ready = |name: &String| UnixStream::connect(folder.join(name)).is_ok();
        match names.filter(socket).find(ready) {
            Some(name) => return (sway, name),
            None => std::thread::sleep(Duration::from_millis(10)),
        }
    }
}
