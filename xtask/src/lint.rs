//! Lints that cost no pass of their own.
//!
//! `cargo clippy` checks all dependencies first, and nothing that is built afterwards takes anything from that: five minutes of two cores
//! in a fresh clone. Clippy's driver is the compiler with more lints, so our own crates are built by it instead, as `cargo clippy`
//! has it check them.

use std::{env, path::PathBuf, process::Command};

use crate::run;

/// Behind each argument in the variable from which the driver takes them.
const END: &str = "__CLIPPY_HACKERY__";

/// Cargo whose builds are linted: a warning is an error. Whoever wants to find again what such a build made asks this one for it.
pub fn cargo(args: &[&str]) -> Command {
    let mut command = run::cargo(args);
    let denied = ["--deny", "warnings"].map(|argument| format!("{argument}{END}"));
    command
        .env("RUSTC_WORKSPACE_WRAPPER", driver())
        .env("CLIPPY_ARGS", denied.concat());
    command
}

/// The driver of the toolchain whose cargo started us.
fn driver() -> PathBuf {
    let beside = env::var_os("CARGO").map(|cargo| PathBuf::from(cargo).with_file_name("clippy-driver"));
    beside
        .filter(|driver| driver.exists())
        .unwrap_or_else(|| "clippy-driver".into())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// Builds a crate of its own with this in it.
    fn build(text: &str) -> (bool, String) {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("src")).unwrap();
        fs::write(folder.path().join("src/lib.rs"), text).unwrap();
        let manifest = "[package]\nname = \"linted\"\nedition = \"2024\"\n[workspace]\n";
        fs::write(folder.path().join("Cargo.toml"), manifest).unwrap();
        let mut build = cargo(&["build", "--offline", "--quiet"]);
        build
            .current_dir(folder.path())
            .env("CARGO_TARGET_DIR", folder.path().join("target"));
        let out = build.output().unwrap();
        (
            out.status.success(),
            String::from_utf8_lossy(&out.stderr).into_owned(),
        )
    }

    /// How the driver is told what to deny is between it and `cargo clippy`, so it is tried.
    #[test]
    fn a_warning_of_either_kind_fails_the_build() {
        assert_eq!(build("//! Nothing.\n"), (true, String::new()));
        let (built, said) = build("//! Of clippy's.\npub fn one() -> u8 {\n    return 1;\n}\n");
        assert!(!built && said.contains("needless_return"), "{said}");
        let (built, said) = build("//! Of the compiler's.\nfn nobody_calls_this() {}\n");
        assert!(!built && said.contains("never used"), "{said}");
    }
}
