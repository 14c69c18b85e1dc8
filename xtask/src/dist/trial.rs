//! `cargo xtask dist --try`: what is handed out, tried as a stranger's machine would have it. The package is installed in a
//! folder with nothing but the smallest Debian, where the doctor examines a new person's Tiro and systemd reads the unit.
//! The programs for older processors run on one that is emulated and has no AVX.

use std::{fs, os::unix::fs::PermissionsExt as _, path::Path};

use anyhow::{Context, Result, ensure};

use crate::{
    place,
    run::{program, run, works},
};

/// A processor of 2008: SSE4.2 and no AVX, which is what x86-64-v2 asks for.
const OLD: &str = "Nehalem";
/// What runs a program of this machine's kind on another processor.
const EMULATOR: &str = "qemu-x86_64";

/// What a new person does there, as themselves. The root of the clean system is no place for anything of ours but `/tmp`.
const FIRST_STEPS: &str = "\
mkdir -m 700 /tmp/run /tmp/trial
cd /tmp/trial
tiro doctor > doctor 2>&1
echo $? > code
systemd-analyze --user --man=no verify tiro.service > unit 2>&1 || echo 'tiro.service is refused' >> unit
for program in /usr/lib/tiro/*; do ldd $program; done > libraries 2>&1
";

/// Installs the package in a clean system and tries it there.
pub fn clean(deb: &Path, to: &Path) -> Result<()> {
    ensure!(
        works("mmdebstrap", &["--version"]),
        "mmdebstrap is not there; install it to try the package"
    );
    let release = fs::read_to_string("/etc/os-release").context("reading which Debian this is")?;
    let suite = release
        .lines()
        .find_map(|line| line.strip_prefix("VERSION_CODENAME="));
    let suite = suite.context("this system does not say which Debian it is")?;
    let found = to.join("trial");
    if found.exists() {
        fs::remove_dir_all(&found)?;
    }
    fs::create_dir_all(&found)?;
    let steps = to.join("first-steps");
    fs::write(&steps, FIRST_STEPS)?;
    let inside = "chroot \"$1\"";
    let person = format!(
        "{inside} setpriv --reuid=ada --regid=ada --clear-groups env -i PATH=/usr/bin:/bin HOME=/home/ada \
         XDG_RUNTIME_DIR=/tmp/run sh /tmp/first-steps"
    );
    let hooks = [
        format!("upload {} /tmp/tiro.deb", quoted(deb)?),
        format!("{inside} apt-get install --yes --quiet --no-install-recommends /tmp/tiro.deb"),
        format!("{inside} useradd --create-home ada"),
        format!("upload {} /tmp/first-steps", quoted(&steps)?),
        person,
        format!("copy-out /tmp/trial {}", quoted(to)?),
    ];
    let mut make = program("mmdebstrap");
    make.args([
        "--quiet",
        "--variant=minbase",
        "--include=systemd,dbus",
        "--format=null",
    ]);
    make.args(hooks.iter().map(|hook| format!("--customize-hook={hook}")));
    run(make.args([suite, "/dev/null"]))?;
    let read = |name: &str| fs::read_to_string(found.join(name)).with_context(|| format!("reading {name}"));
    let doctor = read("doctor")?;
    eprint!("{doctor}");
    judge(&doctor, &read("code")?, &read("unit")?, &read("libraries")?)?;
    eprintln!(
        "The package is whole: the doctor misses the weights and nothing else, and systemd takes the unit."
    );
    Ok(())
}

/// Whether that is how a new person's Tiro should be: only the weights are missing, which they are to pull.
fn judge(doctor: &str, code: &str, unit: &str, libraries: &str) -> Result<()> {
    for section in ["config", "folders", "engines", "daemon", "desktop", "privacy"] {
        ensure!(
            doctor.lines().any(|line| line == section),
            "the doctor says nothing of {section}"
        );
    }
    let failed = |line: &&str| line.trim_start().starts_with("FAIL ");
    let other = doctor
        .lines()
        .filter(failed)
        .find(|line| !line.contains(" is not in /home/ada/"));
    ensure!(other.is_none(), "{}", other.unwrap_or_default().trim());
    ensure!(
        code.trim() == "1" && doctor.lines().any(|line| failed(&line)),
        "the doctor found no weights missing where there are none"
    );
    let refused = unit.lines().find(|line| line.contains("tiro"));
    ensure!(refused.is_none(), "{}", refused.unwrap_or_default());
    let lacks = libraries.lines().find(|line| line.contains("not found"));
    ensure!(lacks.is_none(), "{}", lacks.unwrap_or_default().trim());
    ensure!(
        libraries.contains("libc.so"),
        "nobody says what the programs are linked to"
    );
    Ok(())
}

/// Runs the programs on the older processor: Tiro itself, and the recogniser where its weights are.
pub fn old(from: &Path, to: &Path) -> Result<()> {
    ensure!(
        works(EMULATOR, &["--version"]),
        "{EMULATOR} is not there; install qemu-user to try an older processor"
    );
    let home = to.join("old");
    if home.exists() {
        fs::remove_dir_all(&home)?;
    }
    let engines = home.join("engines");
    fs::create_dir_all(&engines)?;
    for name in ["tiro-llm", "tiro-stt"] {
        // Tiro starts its engines itself, and a program that is started leaves the emulator.
        let engine = engines.join(name);
        let program = from.join(name);
        fs::write(
            &engine,
            format!(
                "#!/bin/sh\nexec {EMULATOR} -cpu {OLD} {} \"$@\"\n",
                quoted(&program)?
            ),
        )?;
        fs::set_permissions(&engine, fs::Permissions::from_mode(0o755))?;
    }
    let tiro = |arguments: &[&str]| {
        let mut command = program(EMULATOR);
        command.args(["-cpu", OLD]).arg(from.join("tiro")).args(arguments);
        command.env("TIRO_HOME", &home).env("TIRO_ENGINES", &engines);
        command
    };
    run(&mut tiro(&["--version"]))?;
    run(&mut tiro(&["call", "clock.now", "{}"]))?;
    let models = place::models()?;
    let weights = models.join("ggml-base-q8_0.bin");
    if !weights.is_file() {
        eprintln!(
            "SKIPPED: the recogniser is not tried, {} is not there",
            weights.display()
        );
        return Ok(());
    }
    let spoken = place::root().join("tests/audio/calendar-tomorrow.wav");
    let mut hear = tiro(&["transcribe"]);
    hear.arg(&spoken).env("TIRO_MODELS", &models);
    run(&mut hear)
}

/// As a word of a shell's line.
fn quoted(path: &Path) -> Result<String> {
    let text = path.to_str().context("the folder's name is not UTF-8")?;
    Ok(format!("'{}'", text.replace('\'', r"'\''")))
}

#[cfg(test)]
mod tests {
    use super::*;

    const WHOLE: &str = "config\n  info file: none\nfolders\nmodels\n  FAIL llm: q is not in /home/ada/.cache/tiro/models.\n\
        engines\ndaemon\n  WARN hotkey: none\ndesktop\nprivacy\n";
    const LINKED: &str = "\tlibc.so.6 => /lib/libc.so.6 (0x1)\n";

    #[track_caller]
    fn check(doctor: &str, code: &str, unit: &str, libraries: &str, expect: Option<&str>) {
        let judged = judge(doctor, code, unit, libraries).map_err(|error| error.to_string());
        match expect {
            None => judged.unwrap(),
            Some(part) => assert!(judged.as_ref().is_err_and(|why| why.contains(part)), "{judged:?}"),
        }
    }

    #[test]
    fn only_weights_may_be_missing() {
        check(WHOLE, "1\n", "", LINKED, None);
        check(WHOLE, "1\n", "man.service: odd\n", LINKED, None);
        let broken = format!("{WHOLE}  FAIL home: no folder.\n");
        check(&broken, "1", "", LINKED, Some("FAIL home: no folder."));
        check(
            "Illegal instruction\n",
            "132",
            "",
            LINKED,
            Some("says nothing of config"),
        );
        check(WHOLE, "0", "", LINKED, Some("found no weights missing"));
        let unit = "tiro.service: Command /usr/bin/tiro is not executable\n";
        check(WHOLE, "1", unit, LINKED, Some("is not executable"));
        let lacks = format!("{LINKED}\tlibgomp.so.1 => not found\n");
        check(WHOLE, "1", "", &lacks, Some("libgomp.so.1 => not found"));
        check(WHOLE, "1", "", "", Some("linked to"));
    }
}
