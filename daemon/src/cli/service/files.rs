//! The files that make Tiro a service of the session: made from the templates in `dist/`, and known again by a line that
//! holds the hash of the rest, so that a file which the person changed is left alone.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, bail, ensure};
use sha2::{Digest as _, Sha256};
use tools::system::store;

/// A file of the service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Planned {
    /// Where it goes.
    pub path: PathBuf,
    /// What it holds.
    pub text: String,
}

/// What stands where a file goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Found {
    /// Nothing.
    Missing,
    /// Exactly what would be written.
    Same,
    /// What another version of Tiro wrote, or one that lies elsewhere.
    Older,
    /// Something of the person's, or of another program.
    Foreign,
}

/// Folders that the files go to.
#[derive(Debug, Clone)]
pub struct Places {
    /// `$XDG_CONFIG_HOME`.
    pub config: PathBuf,
    /// `$XDG_DATA_HOME`.
    pub data: PathBuf,
    /// The home folder.
    pub home: PathBuf,
    /// Variables that the service is given, because its manager does not have them.
    pub variables: Vec<(&'static str, String)>,
}

impl Planned {
    /// Whether this is the one that starts Tiro.
    pub fn starts_it(&self) -> bool {
        self.path.ends_with(UNIT) || self.path.extension().is_some_and(|end| end == "plist")
    }
}

/// The name of the unit.
pub const UNIT: &str = "tiro.service";
/// The label of the agent.
pub const AGENT: &str = "org.tiro.Tiro";

/// The line by which a file is known again, without the hash.
const MARK: &str =
    "Written by `tiro service install`; `tiro service remove` takes it away unless it was changed. ";
/// Longer than any of them; what is longer is none of ours.
const MAX_BYTES: u64 = 64 << 10;

const SERVICE: &str = include_str!("../../../../dist/tiro.service");
const BUS_SERVICE: &str = include_str!("../../../../dist/org.tiro.Tiro1.service");
const DESKTOP: &str = include_str!("../../../../dist/org.tiro.Tiro.desktop");
const PLIST: &str = include_str!("../../../../dist/org.tiro.Tiro.plist");

/// The files for a program at this place.
///
/// # Errors
/// When the path of the program cannot be written into them.
pub fn plan(places: &Places, program: &Path) -> anyhow::Result<Vec<Planned>> {
    let program = program.to_str().context("the path of tiro is not UTF-8")?;
    // systemd takes no program with any of these in its path.
    let odd = |c: char| c.is_control() || "\"'\\".contains(c);
    ensure!(
        program.starts_with('/') && !program.chars().any(odd),
        "the path of tiro, {program:?}, cannot be written into a service file"
    );
    if cfg!(target_os = "macos") {
        let path = places
            .home
            .join("Library/LaunchAgents")
            .join(format!("{AGENT}.plist"));
        return Ok(vec![Planned {
            path,
            text: marked_xml(&PLIST.replace("@TIRO@", &xml(program))),
        }]);
    }
    let mut unit = SERVICE.to_owned();
    for (name, value) in &places.variables {
        ensure!(
            !value.chars().any(char::is_control),
            "{name} is {value:?}, which cannot be written into a service file"
        );
        let word = escaped(&format!("{name}={value}"), "\\\"").replace('%', "%%");
        unit = unit.replacen("[Service]\n", &format!("[Service]\nEnvironment=\"{word}\"\n"), 1);
    }
    let own = |path: PathBuf, template: &str, program: String| Planned {
        path,
        text: marked(&template.replace("@TIRO@", &program)),
    };
    Ok(vec![
        own(
            places.config.join("systemd/user").join(UNIT),
            &unit,
            systemd(program),
        ),
        own(
            places.data.join("dbus-1/services/org.tiro.Tiro1.service"),
            BUS_SERVICE,
            dbus(program),
        ),
        own(
            places.data.join("applications/org.tiro.Tiro.desktop"),
            DESKTOP,
            desktop(program),
        ),
    ])
}

/// What stands there now.
///
/// # Errors
/// When it cannot be read.
pub fn look(planned: &Planned) -> anyhow::Result<Found> {
    let there = match fs::symlink_metadata(&planned.path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Found::Missing),
        Ok(meta) if !meta.is_file() || meta.len() > MAX_BYTES => return Ok(Found::Foreign),
        _ => fs::read(&planned.path).with_context(|| format!("cannot read {}", planned.path.display()))?,
    };
    Ok(match String::from_utf8(there) {
        Ok(text) if text == planned.text => Found::Same,
        Ok(text) if is_ours(&text) => Found::Older,
        _ => Found::Foreign,
    })
}

/// Where a package put the same file, below `/usr`.
pub fn packaged(planned: &Planned, usr: &Path) -> Option<PathBuf> {
    let name = planned.path.file_name()?;
    ["lib/systemd/user", "share/dbus-1/services", "share/applications"]
        .map(|folder| usr.join(folder).join(name))
        .into_iter()
        .find(|path| path.is_file())
}

/// Writes what is missing or older; nothing at all when one of them is the person's. Returns what was written.
///
/// # Errors
/// When one of them is the person's or cannot be written.
pub fn install(files: &[Planned]) -> anyhow::Result<Vec<&Path>> {
    let mut stale = Vec::new();
    for file in files {
        match look(file)? {
            Found::Foreign => bail!(
                "{} is not as Tiro wrote it, so it is left alone. Move it away and run `tiro service install` again.",
                file.path.display()
            ),
            Found::Missing | Found::Older => stale.push(file),
            Found::Same => {}
        }
    }
    for file in &stale {
        if let Some(folder) = file.path.parent() {
            fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
        }
        store::replace(&file.path, file.text.as_bytes())
            .with_context(|| format!("cannot write {}", file.path.display()))?;
    }
    Ok(stale.into_iter().map(|file| file.path.as_path()).collect())
}

/// Takes ours away. Returns what was taken away, and what is not ours and stays.
///
/// # Errors
/// When one cannot be read or taken away.
pub fn remove(files: &[Planned]) -> anyhow::Result<(Vec<&Path>, Vec<&Path>)> {
    let (mut gone, mut kept) = (Vec::new(), Vec::new());
    for file in files {
        match look(file)? {
            Found::Missing => {}
            Found::Foreign => kept.push(file.path.as_path()),
            Found::Same | Found::Older => {
                fs::remove_file(&file.path)
                    .with_context(|| format!("cannot remove {}", file.path.display()))?;
                gone.push(file.path.as_path());
            }
        }
    }
    Ok((gone, kept))
}

/// With a first line that holds the hash of the rest.
fn marked(text: &str) -> String {
    format!("# {MARK}{}\n{text}", hash(text))
}

/// The same at the end of an XML file, which has a first line of its own.
fn marked_xml(text: &str) -> String {
    format!("{text}<!-- {MARK}{} -->\n", hash(text))
}

/// Whether we wrote this, in whatever version, and nobody changed it since.
fn is_ours(text: &str) -> bool {
    let first = text.split_once('\n').and_then(|(line, rest)| {
        let known = line.strip_prefix("# ")?.strip_prefix(MARK)?;
        Some(known == hash(rest))
    });
    let last = text.rfind("<!-- ").and_then(|at| {
        let known = text[at..].strip_prefix("<!-- ")?.strip_prefix(MARK)?;
        Some(known.strip_suffix(" -->\n")? == hash(&text[..at]))
    });
    first.or(last).unwrap_or(false)
}

fn hash(text: &str) -> String {
    let digest = Sha256::digest(text.as_bytes());
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A word of `ExecStart=` (systemd.service(5), "Command lines"): the program's own path is not searched for variables.
fn systemd(program: &str) -> String {
    format!("\"{}\"", escaped(program, "\\\"").replace('%', "%%"))
}

/// A word of `Exec=` in a D-Bus service file, which is read as a shell reads it (D-Bus specification, "Message Bus
/// Starting Services").
fn dbus(program: &str) -> String {
    format!("\"{}\"", escaped(program, "\\\"$`"))
}

/// A word of `Exec=` in a desktop entry: quoted, then escaped once more as every string there (Desktop Entry
/// Specification, "The Exec key").
fn desktop(program: &str) -> String {
    let quoted = format!("\"{}\"", escaped(program, "\\\"$`"));
    quoted.replace('\\', "\\\\").replace('%', "%%")
}

fn xml(program: &str) -> String {
    program
        .replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

/// With a backslash before each of these characters.
fn escaped(text: &str, special: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if special.contains(c) {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    fn places(home: &Path) -> Places {
        Places {
            config: home.join("config"),
            data: home.join("data"),
            home: home.to_owned(),
            variables: Vec::new(),
        }
    }

    #[test]
    fn the_files_of_a_package_are_found() {
        let usr = tempfile::tempdir().unwrap();
        let file = |name: &str| Planned {
            path: usr.path().join("home").join(name),
            text: String::new(),
        };
        let unit = usr.path().join("lib/systemd/user").join(UNIT);
        fs::create_dir_all(unit.parent().unwrap()).unwrap();
        fs::write(&unit, "").unwrap();
        assert_eq!(packaged(&file(UNIT), usr.path()), Some(unit));
        assert_eq!(packaged(&file("org.tiro.Tiro.desktop"), usr.path()), None);
    }

    #[test]
    fn programs_are_quoted_for_each_reader() {
        #[track_caller]
        fn check(program: &str, unit: &str, bus: &str, entry: &str) {
            assert_eq!(systemd(program), unit);
            assert_eq!(dbus(program), bus);
            assert_eq!(desktop(program), entry);
        }
        check(
            "/usr/bin/tiro",
            r#""/usr/bin/tiro""#,
            r#""/usr/bin/tiro""#,
            r#""/usr/bin/tiro""#,
        );
        check(
            "/a b/100%",
            r#""/a b/100%%""#,
            r#""/a b/100%""#,
            r#""/a b/100%%""#,
        );
        check(r#"/a"b"#, r#""/a\"b""#, r#""/a\"b""#, r#""/a\\"b""#);
        check(r"/a\b", r#""/a\\b""#, r#""/a\\b""#, r#""/a\\\\b""#);
        check("/a$b`", r#""/a$b`""#, r#""/a\$b\`""#, r#""/a\\$b\\`""#);
        assert_eq!(xml("/a<b>&c"), "/a&lt;b&gt;&amp;c");
    }

    #[test]
    fn what_cannot_be_written_into_a_line_is_refused() {
        let places = places(Path::new("/home/ada"));
        for program in ["tiro", "/a\nExecStart=/bin/sh", "/a\"b", "/a\\b", ""] {
            assert!(plan(&places, Path::new(program)).is_err(), "{program:?}");
        }
    }

    #[test]
    fn ours_is_replaced_and_removed_and_the_persons_is_not() {
        let home = tempfile::tempdir().unwrap();
        let places = places(home.path());
        let (old, new) = (
            plan(&places, Path::new("/old/tiro")).unwrap(),
            plan(&places, Path::new("/new/tiro")).unwrap(),
        );
        let found = |files: &[Planned]| files.iter().map(|f| look(f).unwrap()).collect::<Vec<_>>();
        assert!(found(&new).iter().all(|f| *f == Found::Missing));
        assert_eq!(install(&old).unwrap().len(), old.len());
        assert!(found(&old).iter().all(|f| *f == Found::Same));
        assert!(found(&new).iter().all(|f| *f == Found::Older));
        assert!(install(&old).unwrap().is_empty(), "nothing to do");
        assert_eq!(install(&new).unwrap().len(), new.len());
        assert!(found(&new).iter().all(|f| *f == Found::Same));

        let mine = format!("{}# mine\n", new[0].text);
        fs::write(&new[0].path, &mine).unwrap();
        assert_eq!(look(&new[0]).unwrap(), Found::Foreign);
        let refused = install(&old).unwrap_err().to_string();
        assert!(refused.contains("is left alone"), "{refused}");
        assert!(
            found(&new)[1..].iter().all(|f| *f == Found::Same),
            "all or nothing"
        );
        let (gone, kept) = remove(&new).unwrap();
        assert_eq!((gone.len(), kept), (new.len() - 1, vec![new[0].path.as_path()]));
        assert_eq!(fs::read_to_string(&new[0].path).unwrap(), mine);
        // A link leads to what is not ours, whatever it holds.
        fs::write(home.path().join("elsewhere"), &new[0].text).unwrap();
        fs::remove_file(&new[0].path).unwrap();
        std::os::unix::fs::symlink(home.path().join("elsewhere"), &new[0].path).unwrap();
        assert_eq!(look(&new[0]).unwrap(), Found::Foreign);
    }

    #[test]
    fn an_agent_is_known_again() {
        let text = marked_xml(&PLIST.replace("@TIRO@", "/usr/bin/tiro"));
        assert!(is_ours(&text));
        assert!(!is_ours(&text.replace("/usr/bin", "/opt/bin")));
        assert!(!is_ours(PLIST) && !is_ours("") && !is_ours("# \n"));
    }

    /// The programs that read these files say what they think of them, with a path that is hard to quote.
    #[test]
    #[cfg(target_os = "linux")]
    fn the_readers_of_the_files_take_them() {
        let home = tempfile::tempdir().unwrap();
        let program = home.path().join("a b; $c `d` 100%");
        std::os::unix::fs::symlink(std::env::current_exe().unwrap(), &program).unwrap();
        let files = plan(&places(home.path()), &program).unwrap();
        install(&files).unwrap();
        for (tool, arguments, file) in [
            (
                "systemd-analyze",
                ["--user", "--man=no", "verify"].as_slice(),
                &files[0],
            ),
            ("desktop-file-validate", [].as_slice(), &files[2]),
        ] {
            let ran = Command::new(tool)
                .args(arguments)
                .arg(&file.path)
                .env("XDG_RUNTIME_DIR", home.path())
                .output();
            let Ok(ran) = ran else {
                let required = std::env::var_os("TIRO_REQUIRE_REAL").is_some();
                assert!(!required, "{tool} is not there; run `cargo xtask setup`");
                println!("SKIPPED: {tool} is not there; run `cargo xtask setup`");
                continue;
            };
            let says = String::from_utf8_lossy(&[ran.stdout, ran.stderr].concat()).into_owned();
            assert!(ran.status.success(), "{tool}: {says}");
            let ours: Vec<&str> = says.lines().filter(|line| line.contains("tiro")).collect();
            assert!(ours.is_empty(), "{tool}: {ours:?}");
        }
    }

    /// What systemd makes of the unit's rights, from 0 (closed) to 10. It counts what no user manager can take away, such as
    /// namespaces and capabilities, so a unit of a user does not come much lower; without any of it this one has 9.8.
    #[test]
    #[cfg(target_os = "linux")]
    fn the_unit_gives_away_what_a_users_service_can() {
        let home = tempfile::tempdir().unwrap();
        let files = plan(&places(home.path()), &std::env::current_exe().unwrap()).unwrap();
        install(&files).unwrap();
        let ran = Command::new("systemd-analyze")
            .args([
                "--user",
                "--no-pager",
                "--offline=true",
                "--threshold=70",
                "security",
            ])
            .arg(&files[0].path)
            .env("XDG_RUNTIME_DIR", home.path())
            .output();
        let Ok(ran) = ran else {
            let required = std::env::var_os("TIRO_REQUIRE_REAL").is_some();
            assert!(!required, "systemd-analyze is not there; run `cargo xtask setup`");
            println!("SKIPPED: systemd-analyze is not there; run `cargo xtask setup`");
            return;
        };
        let says = String::from_utf8_lossy(&[ran.stdout, ran.stderr].concat()).into_owned();
        assert!(ran.status.success(), "{says}");
        let score = says.lines().find(|line| line.contains("Overall exposure level"));
        println!("{}", score.unwrap_or_default());
        assert!(score.is_some(), "{says}");
    }

    #[test]
    fn the_unit_has_the_folders_that_its_manager_lacks() {
        let mut places = places(Path::new("/home/ada"));
        places.variables = vec![("XDG_DATA_HOME", "/srv/a \"b\" 5%".to_owned())];
        let files = plan(&places, Path::new("/usr/bin/tiro")).unwrap();
        let line = r#"[Service]
Environment="XDG_DATA_HOME=/srv/a \"b\" 5%%"
Type=notify"#;
        assert!(files[0].text.contains(line), "{}", files[0].text);
        places.variables[0].1.push('\n');
        assert!(plan(&places, Path::new("/usr/bin/tiro")).is_err());
    }
}
