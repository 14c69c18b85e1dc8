//! `cargo xtask dist`: what is handed out. A tarball that runs where it is unpacked, and a Debian package.
//!
//! The programs run on every processor of their kind since about 2009 (x86-64-v2); beside each engine lies one for newer
//! processors (x86-64-v3: AVX2), of which Tiro takes the one that its machine can run. Nothing is built for the processor
//! that builds. With `--from` the programs are taken as they are; with `--try` they are tried as on a stranger's machine.

mod trial;

use std::{
    collections::BTreeSet,
    env, fs,
    os::unix::fs::{PermissionsExt as _, symlink},
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, bail, ensure};

use crate::{
    place,
    run::{Steps, cargo, output, program, run, works},
};

/// What is handed out, in every variant that there is of it.
const PROGRAMS: [&str; 3] = ["tiro", "tiro-llm", "tiro-stt"];
/// The end of the names of engines for newer processors; `models` looks for it.
const NEWER: &str = "-v3";
/// What people read.
const PAPERS: [&str; 4] = ["README.md", "docs/json.md", "LICENSE-MIT", "LICENSE-APACHE"];
/// Files of the package and what they are made from.
const SERVICE: [(&str, &str); 3] = [
    ("dist/tiro.service", "usr/lib/systemd/user/tiro.service"),
    (
        "dist/org.tiro.Tiro1.service",
        "usr/share/dbus-1/services/org.tiro.Tiro1.service",
    ),
    (
        "dist/org.tiro.Tiro.desktop",
        "usr/share/applications/org.tiro.Tiro.desktop",
    ),
];

/// How whisper.cpp is told for which processor it is built; llama.cpp follows rustc.
const OLD: [(&str, &str); 7] = [
    ("GGML_NATIVE", "OFF"),
    ("GGML_SSE42", "ON"),
    ("GGML_AVX", "OFF"),
    ("GGML_AVX2", "OFF"),
    ("GGML_FMA", "OFF"),
    ("GGML_F16C", "OFF"),
    ("GGML_BMI2", "OFF"),
];
const NEW: [(&str, &str); 7] = [
    ("GGML_NATIVE", "OFF"),
    ("GGML_SSE42", "ON"),
    ("GGML_AVX", "ON"),
    ("GGML_AVX2", "ON"),
    ("GGML_FMA", "ON"),
    ("GGML_F16C", "ON"),
    ("GGML_BMI2", "ON"),
];

/// Builds and packs.
pub fn dist(options: &[&str]) -> Result<()> {
    let (mut from, mut to, mut tried) = (None, place::target()?.join("dist"), false);
    let mut options = options.iter();
    while let Some(option) = options.next() {
        if *option == "--try" {
            tried = true;
            continue;
        }
        let folder = options
            .next()
            .with_context(|| format!("{option} names no folder"))?;
        let folder = std::path::absolute(folder)?;
        match *option {
            "--from" => from = Some(folder),
            "--to" => to = folder,
            other => bail!("`{other}` is not understood; see `cargo xtask help`"),
        }
    }
    let mut steps = Steps::default();
    let from = match from {
        Some(from) => from,
        None => {
            let built = to.join("programs");
            steps.step("build", || build(&to, &built))?;
            built
        }
    };
    fs::create_dir_all(&to)?;
    let third_party = to.join("THIRD-PARTY.txt");
    steps.step("licences", || licences(&third_party))?;
    let packing = Packing {
        from,
        to,
        third_party,
        version: env!("CARGO_PKG_VERSION").to_owned(),
    };
    steps.step("tarball", || {
        packing.tarball().map(|made| eprintln!("{}", made.display()))
    })?;
    let mut package = None;
    steps.step("Debian package", || {
        package = packing.deb()?;
        match &package {
            Some(made) => eprintln!("{}", made.display()),
            None => eprintln!("SKIPPED: there is no dpkg-deb here"),
        }
        Ok(())
    })?;
    if tried {
        let package = package.context("there is no package to try")?;
        steps.step("a clean system", || trial::clean(&package, &packing.to))?;
        if cfg!(target_arch = "x86_64") {
            steps.step("an older processor", || trial::old(&packing.from, &packing.to))?;
        }
    }
    steps.summary();
    Ok(())
}

/// Builds everything once for older processors, and the engines once more for newer ones.
fn build(to: &Path, built: &Path) -> Result<()> {
    fs::create_dir_all(built)?;
    let intel = cfg!(target_arch = "x86_64");
    let daemon = ["--package", "daemon", "--bin", "tiro"];
    let engines = ["--package", "models", "--features", "llm,stt", "--bins"];
    let old = to.join("build-old");
    let flags = if intel { "-C target-cpu=x86-64-v2" } else { "" };
    for arguments in [&daemon[..], &engines[..]] {
        compile(&old, flags, if intel { &OLD } else { &[] }, arguments)?;
    }
    for name in PROGRAMS {
        fs::copy(old.join("dist").join(name), built.join(name))?;
    }
    if intel {
        let new = to.join("build-new");
        compile(&new, "-C target-cpu=x86-64-v3", &NEW, &engines)?;
        for name in &PROGRAMS[1..] {
            fs::copy(new.join("dist").join(name), built.join(format!("{name}{NEWER}")))?;
        }
    }
    Ok(())
}

/// One build. RUSTFLAGS stands before what `.cargo/config.toml` says for builds of one's own.
fn compile(target: &Path, flags: &str, processor: &[(&str, &str)], arguments: &[&str]) -> Result<()> {
    let mut command = cargo(&["build", "--profile", "dist", "--locked"]);
    command.args(arguments).env("CARGO_TARGET_DIR", target);
    command.env("RUSTFLAGS", flags).envs(processor.iter().copied());
    run(&mut command)
}

/// What is packed, and where.
struct Packing {
    from: PathBuf,
    to: PathBuf,
    third_party: PathBuf,
    version: String,
}

impl Packing {
    /// The programs that are there; the first three must be.
    fn programs(&self) -> Result<Vec<String>> {
        for name in PROGRAMS {
            let path = self.from.join(name);
            ensure!(path.is_file(), "{} is not there", path.display());
        }
        let newer = PROGRAMS.map(|name| format!("{name}{NEWER}"));
        let newer = newer.into_iter().filter(|name| self.from.join(name).is_file());
        Ok(PROGRAMS.map(str::to_owned).into_iter().chain(newer).collect())
    }

    /// An empty folder.
    fn stage(&self, name: &str) -> Result<PathBuf> {
        let stage = self.to.join(name);
        if stage.exists() {
            fs::remove_dir_all(&stage)?;
        }
        fs::create_dir_all(&stage)?;
        Ok(stage)
    }

    fn tarball(&self) -> Result<PathBuf> {
        let name = format!("tiro-{}-{}-{}", self.version, env::consts::ARCH, env::consts::OS);
        let stage = self.stage(&name)?;
        for program in self.programs()? {
            put(&self.from.join(&program), &stage.join(&program), 0o755)?;
        }
        for paper in PAPERS {
            put(&place::root().join(paper), &stage.join(paper), 0o644)?;
        }
        put(&self.third_party, &stage.join("THIRD-PARTY.txt"), 0o644)?;
        let made = self.to.join(format!("{name}.tar.gz"));
        let mut tar = program("tar");
        if cfg!(target_os = "linux") {
            // The same files make the same bytes, whoever packs them and when.
            tar.args([
                "--sort=name",
                "--mtime=@0",
                "--owner=0",
                "--group=0",
                "--numeric-owner",
            ]);
        }
        tar.env("GZIP", "-n")
            .arg("-czf")
            .arg(&made)
            .arg("-C")
            .arg(&self.to)
            .arg(&name);
        run(&mut tar)?;
        fs::remove_dir_all(&stage)?;
        Ok(made)
    }

    /// The packages that the programs' libraries come from, as this machine has them.
    fn depends(&self) -> Result<String> {
        let mut depends = BTreeSet::from([libc()]);
        for program in self.programs()? {
            let path = self.from.join(program);
            // A script has none.
            let libraries = output("ldd", &[&path.to_string_lossy()]).unwrap_or_default();
            for library in libraries
                .lines()
                .filter_map(|line| line.split_once(" => ")?.1.split(' ').next())
            {
                // The folder may be a link, and dpkg knows the file by the name that its package gave it.
                let moved = library
                    .strip_prefix("/usr")
                    .map_or_else(|| format!("/usr{library}"), str::to_owned);
                let owner = output("dpkg", &["-S", library]).or_else(|| output("dpkg", &["-S", &moved]));
                let owner = owner.with_context(|| format!("asking dpkg who has {library}"))?;
                let package = owner.split(':').next().unwrap_or_default();
                if package != "libc6" {
                    depends.insert(either(package));
                }
            }
        }
        Ok(depends.into_iter().collect::<Vec<_>>().join(", "))
    }

    /// `None` where Debian's tool is not there.
    fn deb(&self) -> Result<Option<PathBuf>> {
        if !works("dpkg-deb", &["--version"]) {
            return Ok(None);
        }
        let architecture =
            output("dpkg", &["--print-architecture"]).context("asking dpkg for the architecture")?;
        let name = format!("tiro_{}_{architecture}", self.version);
        let stage = self.stage(&name)?;
        // The engines lie beside the program, where it looks first; a link leads there from the search path.
        for program in self.programs()? {
            put(
                &self.from.join(&program),
                &stage.join("usr/lib/tiro").join(&program),
                0o755,
            )?;
        }
        fs::create_dir_all(stage.join("usr/bin"))?;
        symlink("../lib/tiro/tiro", stage.join("usr/bin/tiro"))?;
        for (template, place) in SERVICE {
            let text = fs::read_to_string(place::root().join(template))?;
            write(
                &stage.join(place),
                &text.replace("@TIRO@", "/usr/bin/tiro"),
                0o644,
            )?;
        }
        let doc = stage.join("usr/share/doc/tiro");
        for paper in PAPERS {
            put(&place::root().join(paper), &doc.join(paper), 0o644)?;
        }
        put(&self.third_party, &doc.join("THIRD-PARTY.txt"), 0o644)?;
        write(&doc.join("copyright"), COPYRIGHT, 0o644)?;
        let control = control(&self.version, &architecture, size(&stage)?, &self.depends()?);
        write(&stage.join("DEBIAN/control"), &control, 0o644)?;
        let made = self.to.join(format!("{name}.deb"));
        let mut deb = program("dpkg-deb");
        deb.args(["--root-owner-group", "--build"]).arg(&stage).arg(&made);
        run(deb.env("SOURCE_DATE_EPOCH", "0"))?;
        fs::remove_dir_all(&stage)?;
        Ok(Some(made))
    }
}

/// Machine-readable, as Debian wants it (copyright-format 1.0).
const COPYRIGHT: &str = "\
Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: Tiro

Files: *
Copyright: The authors of Tiro
License: MIT or Apache-2.0
Comment: The texts stand in LICENSE-MIT and LICENSE-APACHE beside this file, those of what is linked in THIRD-PARTY.txt.
";

fn control(version: &str, architecture: &str, kib: u64, depends: &str) -> String {
    format!(
        "Package: tiro\n\
         Version: {version}\n\
         Architecture: {architecture}\n\
         Maintainer: The authors of Tiro <tiro@localhost>\n\
         Installed-Size: {kib}\n\
         Depends: {depends}\n\
         Recommends: dbus-user-session, pulseaudio-utils | pipewire-bin | alsa-utils, \
         speech-dispatcher-espeak-ng | espeak-ng, xdg-utils\n\
         Suggests: mpv, mpv-mpris, python3-pip\n\
         Section: utils\n\
         Priority: optional\n\
         Description: voice assistant that stays on this machine\n \
         Hears a request, recognises it with whisper.cpp, lets a model decide with\n \
         llama.cpp, and acts on your calendar, mail, files and desktop. Start it with\n \
         systemctl --user enable --now tiro.service, after tiro models pull.\n"
    )
}

/// A package by either of its names: Debian renamed some when their times became 64 bits wide, which changes nothing where
/// they were that before, and what is built on one side of that installs on the other.
fn either(package: &str) -> String {
    let renamed = ["libasound2"];
    match package.strip_suffix("t64") {
        Some(before) => format!("{package} | {before}"),
        None if renamed.contains(&package) => format!("{package}t64 | {package}"),
        None => package.to_owned(),
    }
}

/// The C library of this machine; an older one may lack what the programs were linked against.
fn libc() -> String {
    let version = output("getconf", &["GNU_LIBC_VERSION"]);
    match version.as_deref().and_then(|text| text.strip_prefix("glibc ")) {
        Some(version) => format!("libc6 (>= {version})"),
        None => "libc6".to_owned(),
    }
}

/// Copies a file, with this mode and what is missing of its folders.
fn put(from: &Path, to: &Path, mode: u32) -> Result<()> {
    make_folder(to)?;
    fs::copy(from, to).with_context(|| format!("copying {}", from.display()))?;
    Ok(fs::set_permissions(to, fs::Permissions::from_mode(mode))?)
}

fn write(to: &Path, text: &str, mode: u32) -> Result<()> {
    make_folder(to)?;
    fs::write(to, text).with_context(|| format!("writing {}", to.display()))?;
    Ok(fs::set_permissions(to, fs::Permissions::from_mode(mode))?)
}

/// The folder of a file, open to all whatever the umask of who packs is.
fn make_folder(file: &Path) -> Result<()> {
    let mut missing: Vec<&Path> = file
        .ancestors()
        .skip(1)
        .take_while(|folder| !folder.exists())
        .collect();
    while let Some(folder) = missing.pop() {
        fs::create_dir(folder)?;
        fs::set_permissions(folder, fs::Permissions::from_mode(0o755))?;
    }
    Ok(())
}

/// KiB of all files below.
fn size(folder: &Path) -> Result<u64> {
    let mut kib = 0;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let meta = entry.metadata()?;
        kib += match meta.is_dir() {
            true => size(&entry.path())?,
            false => meta.len().div_ceil(1024),
        };
    }
    Ok(kib)
}

/// Writes the licences of everything that is linked, each with its text as its authors ship it.
fn licences(to: &Path) -> Result<()> {
    let mut tree = cargo(&["tree", "--locked", "--package", "daemon", "--package", "models"]);
    tree.args([
        "--features",
        "models/llm,models/stt",
        "--edges",
        "normal",
        "--prefix",
        "none",
    ]);
    tree.args(["--format", "{p}|{l}"]);
    let listed = read(&mut tree)?;
    let sources = sources()?;
    let mut text = String::from("What is linked into Tiro, with the licences of its authors.\n");
    let mut texts = BTreeSet::new();
    for line in listed.lines().map(str::trim).collect::<BTreeSet<_>>() {
        let Some((package, licence)) = line.trim_end_matches(" (*)").split_once('|') else {
            continue;
        };
        let mut words = package.split(' ');
        let (Some(name), Some(version)) = (words.next(), words.next()) else {
            continue;
        };
        // Members of the workspace have a path behind their version.
        if words.any(|word| word.starts_with("(/")) {
            continue;
        }
        text.push_str(&format!("\n== {name} {version}: {licence}\n"));
        let folder = format!("{name}-{}", version.trim_start_matches('v'));
        for source in sources.iter().map(|all| all.join(&folder)).filter(|f| f.is_dir()) {
            for file in papers(&source)? {
                let paper = String::from_utf8_lossy(&fs::read(&file)?).into_owned();
                let shown = file.strip_prefix(&source).unwrap_or(&file).display().to_string();
                // Many have the same one, to the letter.
                match texts.insert(paper.clone()) {
                    true => text.push_str(&format!("-- {shown}\n{}\n", paper.trim_end())),
                    false => text.push_str(&format!("-- {shown}, as above\n")),
                }
            }
        }
    }
    ensure!(texts.len() > 10, "the sources of what is linked were not found");
    fs::write(to, text).with_context(|| format!("writing {}", to.display()))
}

/// What a command prints.
fn read(command: &mut Command) -> Result<String> {
    let output = command.output().context("starting cargo")?;
    ensure!(
        output.status.success(),
        "cargo tree: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Where cargo keeps the sources of packages.
fn sources() -> Result<Vec<PathBuf>> {
    let home = env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home
        .or_else(|| Some(env::home_dir()?.join(".cargo")))
        .context("there is no home folder")?;
    let registries = home.join("registry/src");
    let all = fs::read_dir(&registries).with_context(|| format!("reading {}", registries.display()))?;
    Ok(all.filter_map(|entry| Some(entry.ok()?.path())).collect())
}

/// The licences in a package, and those of the C++ that some bring along one folder below.
fn papers(source: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut folders = vec![source.to_owned()];
    folders.extend(["llama.cpp", "whisper.cpp", "sqlite3"].map(|below| source.join(below)));
    for folder in folders.iter().filter(|folder| folder.is_dir()) {
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            let name = path
                .file_name()
                .unwrap_or_default()
                .to_string_lossy()
                .to_uppercase();
            let paper = [
                "LICENSE",
                "LICENCE",
                "COPYING",
                "NOTICE",
                "COPYRIGHT",
                "UNLICENSE",
            ];
            if path.is_file() && paper.iter().any(|start| name.starts_with(start)) {
                found.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder that is gone with its test.
    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Folder {
            let folder = env::temp_dir().join(format!("tiro-dist-{name}-{}", std::process::id()));
            let _ = fs::remove_dir_all(&folder);
            fs::create_dir_all(&folder).unwrap();
            Folder(folder)
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    fn packing(folder: &Folder, programs: &[&str]) -> Packing {
        let from = folder.0.join("from");
        fs::create_dir_all(&from).unwrap();
        for program in programs {
            fs::write(from.join(program), format!("#!/bin/sh\necho {program}\n")).unwrap();
        }
        let third_party = folder.0.join("THIRD-PARTY.txt");
        fs::write(&third_party, "licences").unwrap();
        Packing {
            from,
            to: folder.0.join("to"),
            third_party,
            version: "1.2.3".to_owned(),
        }
    }

    fn said(name: &str, arguments: &[&str]) -> String {
        output(name, arguments).unwrap_or_else(|| panic!("{name} {arguments:?}"))
    }

    const ALL: [&str; 5] = ["tiro", "tiro-llm", "tiro-stt", "tiro-llm-v3", "tiro-stt-v3"];

    #[test]
    fn the_tarball_holds_the_programs_and_the_licences() {
        let folder = Folder::new("tarball");
        let made = packing(&folder, &ALL).tarball().unwrap();
        let made = made.to_str().unwrap();
        let listed = said("tar", &["-tzf", made]);
        for file in ALL.iter().chain(&PAPERS).chain(&["THIRD-PARTY.txt"]) {
            assert!(
                listed.lines().any(|line| line.ends_with(&format!("/{file}"))),
                "{file}: {listed}"
            );
        }
        assert!(
            listed.lines().all(|line| line.starts_with("tiro-1.2.3-")),
            "{listed}"
        );
        let out = folder.0.to_str().unwrap();
        said("tar", &["-xzf", made, "-C", out, "--strip-components=1"]);
        assert_eq!(
            said(folder.0.join("tiro-llm-v3").to_str().unwrap(), &[]),
            "tiro-llm-v3"
        );
    }

    #[test]
    fn what_is_missing_is_named() {
        let folder = Folder::new("missing");
        let error = packing(&folder, &["tiro", "tiro-llm"]).tarball().unwrap_err();
        assert!(error.to_string().ends_with("tiro-stt is not there"), "{error}");
    }

    #[test]
    fn the_package_has_the_service_under_usr() {
        let folder = Folder::new("deb");
        let Some(made) = packing(&folder, &ALL).deb().unwrap() else {
            eprintln!("SKIPPED: there is no dpkg-deb here");
            return;
        };
        let made = made.to_str().unwrap();
        let field = |name| said("dpkg-deb", &["-f", made, name]);
        assert_eq!(
            (field("Package"), field("Version")),
            ("tiro".to_owned(), "1.2.3".to_owned())
        );
        let depends = field("Depends");
        assert!(depends.starts_with("libc6"), "{depends}");
        assert!(!depends.contains(','), "a script needs nothing else: {depends}");
        let listed = said("dpkg-deb", &["-c", made]);
        assert!(listed.lines().all(|line| line.contains("root/root")), "{listed}");
        assert!(listed.contains("./usr/bin/tiro -> ../lib/tiro/tiro"), "{listed}");
        let root = folder.0.join("root");
        said("dpkg-deb", &["-x", made, root.to_str().unwrap()]);
        assert_eq!(said(root.join("usr/bin/tiro").to_str().unwrap(), &[]), "tiro");
        for (_, place) in SERVICE {
            let text = fs::read_to_string(root.join(place)).unwrap();
            // The one name of systemd's that has the sign; every other would be a place that nobody filled in.
            let filled = !text.replace("=@system-service", "").contains('@');
            assert!(text.contains("/usr/bin/tiro") && filled, "{place}: {text}");
        }
        for paper in ["copyright", "LICENSE-MIT", "LICENSE-APACHE", "THIRD-PARTY.txt"] {
            assert!(root.join("usr/share/doc/tiro").join(paper).is_file(), "{paper}");
        }
    }

    #[test]
    fn a_package_installs_on_both_sides_of_the_renaming() {
        assert_eq!(either("libasound2"), "libasound2t64 | libasound2");
        assert_eq!(either("libasound2t64"), "libasound2t64 | libasound2");
        assert_eq!(either("libgomp1"), "libgomp1");
    }

    #[test]
    fn the_licences_of_what_is_linked_are_found() {
        let folder = Folder::new("licences");
        let file = folder.0.join("all.txt");
        licences(&file).unwrap();
        let text = fs::read_to_string(file).unwrap();
        for part in [
            "== zbus v",
            "== llama-cpp-2 v",
            "== whisper-rs v",
            "llama.cpp/LICENSE",
            "Permission is hereby granted",
        ] {
            assert!(text.contains(part), "{part}");
        }
        assert!(!text.contains("== daemon"), "our own stand elsewhere");
    }
}
