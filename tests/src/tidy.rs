//! The repository's own rules, as tests: rooms depend one way, files look as agreed, nothing unfinished is called done.
//! Formatting of what cargo knows, lints and licences are checked beside these, by `cargo xtask test`.

use std::{
    collections::{BTreeMap, BTreeSet},
    ffi::OsStr,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;

/// Longest Rust file, in lines; a longer one is two rooms.
const MAX_LINES: usize = 800;
/// Largest file under version control; weights of models and data sets do not belong there. The largest is what the discovery
/// index has learned, 1.99 MB.
const MAX_BYTES: u64 = 2 << 20;

#[test]
fn rooms_depend_one_way() -> Result<()> {
    let allowed: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::from([
        ("tools", BTreeSet::new()),
        ("models", BTreeSet::new()),
        ("prompts", BTreeSet::new()),
        ("xtask", BTreeSet::new()),
        ("daemon", BTreeSet::from(["tools", "models", "prompts"])),
        ("tests", BTreeSet::from(["tools", "models", "prompts", "daemon"])),
    ]);
    let mut problems = Vec::new();
    for (room, dependencies) in direct_dependencies()? {
        let Some(allowed_here) = allowed.get(room.as_str()) else {
            problems.push(format!("{room} is a new room; say here what it may know"));
            continue;
        };
        let others = dependencies
            .iter()
            .filter(|name| allowed.contains_key(name.as_str()));
        problems.extend(
            others
                .filter(|name| !allowed_here.contains(name.as_str()))
                .map(|name| format!("{room} knows {name}")),
        );
    }
    none(&problems)
}

/// What is absent from a room's whole dependency tree, without features.
#[test]
fn rooms_keep_their_distance() -> Result<()> {
    const NATIVE: [&str; 4] = ["llama-cpp-2", "llama-cpp-sys-2", "whisper-rs", "whisper-rs-sys"];
    const DAEMON_ONLY: [&str; 3] = ["clap", "rustyline", "indicatif"];
    // The tools of the desktop stand on it; what they say there stays inside that room.
    const NOT_OF_MODELS: [&str; 1] = ["zbus"];
    let mut problems = Vec::new();
    for room in ["tools", "prompts", "models", "daemon", "tests"] {
        let all = tree(room, "normal,build,dev")?;
        let built = tree(room, "normal,build")?;
        let native = NATIVE.iter().filter(|name| all.contains(**name));
        problems.extend(native.map(|name| format!("{room} needs the native crate {name}")));
        if room != "daemon" && room != "tests" {
            let bus = NOT_OF_MODELS.iter().filter(|_| room != "tools");
            let foreign = DAEMON_ONLY
                .iter()
                .chain(bus)
                .filter(|name| built.contains(**name));
            problems
                .extend(foreign.map(|name| format!("{room} reaches {name}, which is the daemon's business")));
        }
    }
    none(&problems)
}

/// A newcomer waits for xtask before anything else.
#[test]
fn xtask_stays_small() -> Result<()> {
    let tree = tree("xtask", "normal,build")?;
    ensure!(
        tree == BTreeSet::from(["xtask".to_owned(), "anyhow".to_owned()]),
        "xtask pulls in {tree:?}"
    );
    Ok(())
}

#[test]
fn rust_files_are_in_order() -> Result<()> {
    // Written in two halves, so that this file passes its own test.
    let unfinished = [
        concat!("TO", "DO"),
        concat!("FIX", "ME"),
        concat!("XX", "X"),
        concat!("HA", "CK"),
        concat!("to", "do!("),
        concat!("unimple", "mented!("),
        concat!("not yet imple", "mented"),
        concat!("#[ig", "nore"),
    ];
    let mut problems = Vec::new();
    for path in files()? {
        if path.extension() != Some(OsStr::new("rs")) {
            continue;
        }
        let text = read(&path)?;
        let shown = path.display();
        if !(text.starts_with("//!") || text.starts_with("#!")) {
            problems.push(format!("{shown} does not say in a first //! line what it is for"));
        }
        if text.lines().count() > MAX_LINES {
            problems.push(format!("{shown} has more than {MAX_LINES} lines"));
        }
        for (number, line) in text.lines().enumerate() {
            let found = unfinished.iter().filter(|word| has_word(line, word));
            problems.extend(found.map(|word| format!("{shown}:{}: {word}", number + 1)));
        }
    }
    none(&problems)
}

#[test]
fn no_host_and_no_machine_path_is_named() -> Result<()> {
    let patterns = [
        concat!("crates", ".io/"),
        concat!("pypi", ".org"),
        concat!("python", "hosted.org"),
        concat!("registry", ".npmjs"),
        concat!("deb", ".debian.org"),
        concat!("/wo", "rk/"),
        concat!("/fa", "rm/"),
        concat!("/tm", "p/w/"),
        concat!("/ro", "ot/"),
    ];
    let mut problems = Vec::new();
    for path in files()? {
        let bytes = fs::read(root()?.join(&path))?;
        if bytes.len() as u64 > MAX_BYTES {
            problems.push(format!("{} has more than {MAX_BYTES} bytes", path.display()));
        }
        // Cargo.lock names the registry of each package, which is its form.
        let (Ok(text), false) = (std::str::from_utf8(&bytes), path.ends_with("Cargo.lock")) else {
            continue;
        };
        for (number, line) in text.lines().enumerate() {
            let found = patterns.iter().filter(|pattern| line.contains(**pattern));
            problems.extend(found.map(|pattern| format!("{}:{}: {pattern}", path.display(), number + 1)));
        }
    }
    none(&problems)
}

/// Versions stand in one place, an exact one with its reason, and every room has the lints.
#[test]
fn manifests_are_in_order() -> Result<()> {
    let mut problems = Vec::new();
    for (number, line) in read(Path::new("Cargo.toml"))?.lines().enumerate() {
        if line.contains("\"=") && !line.contains('#') {
            problems.push(format!(
                "Cargo.toml:{}: an exact version without its reason",
                number + 1
            ));
        }
    }
    for room in direct_dependencies()?.keys() {
        let path = PathBuf::from(room).join("Cargo.toml");
        let text = read(&path).with_context(|| format!("{room} should lie in a folder of its name"))?;
        if !text.contains("[lints]\nworkspace = true\n") {
            problems.push(format!("{} does not take the workspace's lints", path.display()));
        }
        let mut dependencies = false;
        for (number, line) in text.lines().enumerate() {
            if line.starts_with('[') {
                dependencies = line.ends_with("dependencies]");
            } else if dependencies
                && line.contains('=')
                && !line.starts_with('#')
                && !line.contains("workspace = true")
            {
                problems.push(format!("{}:{}: a version of its own", path.display(), number + 1));
            }
        }
    }
    none(&problems)
}

/// `cargo fmt` finds files through `mod` lines, and the catalogue has none: its modules are generated.
#[test]
fn the_catalogue_is_formatted() -> Result<()> {
    let catalogue: Vec<_> = files()?
        .into_iter()
        .filter(|path| path.starts_with("tools/src/catalog"))
        .collect();
    ensure!(!catalogue.is_empty(), "the catalogue was not found");
    let mut rustfmt = Command::new("rustfmt");
    let output = rustfmt
        .args(["--check", "--edition", "2024"])
        .args(&catalogue)
        .current_dir(root()?)
        .output()?;
    let differences = String::from_utf8_lossy(&output.stdout);
    ensure!(
        output.status.success(),
        "run `rustfmt --edition 2024 tools/src/catalog/*.rs`:\n{differences}"
    );
    Ok(())
}

#[test]
fn the_readme_leads_in() -> Result<()> {
    let readme = read(Path::new("README.md"))?;
    let mut missing: Vec<_> = ["cargo xtask demo", "cargo xtask test"]
        .map(str::to_owned)
        .to_vec();
    missing.extend(direct_dependencies()?.keys().map(|room| format!("{room}/")));
    missing.retain(|words| !readme.contains(words.as_str()));
    ensure!(missing.is_empty(), "README.md does not name {missing:?}");
    // What it names in backticks exists: paths as files or folders, words with underscores as tests.
    let mut code = String::new();
    for path in files()?
        .iter()
        .filter(|path| path.extension() == Some(OsStr::new("rs")))
    {
        code += &read(path)?;
    }
    let mut problems = Vec::new();
    for named in readme.split('`').skip(1).step_by(2) {
        let plain = named
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "-_./".contains(c));
        if plain && named.contains('/') && !root()?.join(named).exists() {
            problems.push(format!("README.md names {named}, which is not there"));
        }
        let test =
            named.matches('_').count() > 1 && named.chars().all(|c| c.is_ascii_lowercase() || c == '_');
        if test && !code.contains(&format!("fn {named}(")) {
            problems.push(format!("README.md names the test {named}, which is not there"));
        }
    }
    none(&problems)
}

#[test]
fn ci_runs_what_people_run() -> Result<()> {
    let run = read(Path::new(".ci/run"))?;
    ensure!(
        run.contains("set -eu") && run.trim_end().ends_with("exec cargo xtask test"),
        "{run}"
    );
    Ok(())
}

/// A write past the undo journal cannot be taken back, and a kill may halve it. What Tiro keeps for itself may be
/// written directly: timers and rings that are over, what a server said.
#[test]
fn tools_write_through_the_journal() -> Result<()> {
    const WRITES: [&str; 9] = [
        "fs::write(",
        "fs::rename(",
        "fs::remove_file(",
        "fs::copy(",
        "File::create(",
        "store::replace(",
        "store::create_new(",
        "store::replace_known(",
        "store::remove_known(",
    ];
    const OWN: [&str; 5] = ["store", "journal", "dav", "timers.rs", "rings.rs"];
    // What these write is not the person's, or is brought in step with a server: indexes and what a service answered are
    // thrown away and made again, the outbox moves on when a server has answered, and the journal takes back its mail.
    const STATE: [&str; 8] = [
        "tools/src/system/desktop/music/elsewhere.rs",
        "tools/src/system/files/words.rs",
        "tools/src/system/mail/index/database.rs",
        "tools/src/system/mail/outbox.rs",
        "tools/src/system/post/sync.rs",
        "tools/src/system/weather.rs",
        "tools/src/system/ledger.rs",
        "tools/src/system/health.rs",
    ];
    let (mut read_files, mut problems) = (0, Vec::new());
    for path in files()? {
        let Ok(inside) = path.strip_prefix("tools/src") else {
            continue;
        };
        let below = inside.strip_prefix("system").ok().and_then(|p| p.iter().next());
        let own = below.is_some_and(|first| {
            OWN.iter()
                .any(|own| first == OsStr::new(own) || first == OsStr::new(&format!("{own}.rs")))
        });
        let name = path.file_stem().unwrap_or_default();
        // Whoever trains the index runs a program for that, and no tool.
        let program = inside.starts_with("bin");
        if own
            || program
            || STATE.iter().any(|state| path == Path::new(state))
            || ["tests", "matrix_tests", "measure", "testing"]
                .iter()
                .any(|test| name == OsStr::new(test))
        {
            continue;
        }
        let text = String::from_utf8_lossy(&fs::read(root()?.join(&path))?).into_owned();
        let code = text.split("#[cfg(test)]").next().unwrap_or_default();
        read_files += 1;
        for (number, line) in code.lines().enumerate() {
            if path.iter().all(|part| part != OsStr::new("tests"))
                && WRITES.iter().any(|write| line.contains(write))
            {
                problems.push(format!(
                    "{}:{} writes past the journal",
                    path.display(),
                    number + 1
                ));
            }
        }
    }
    ensure!(read_files > 50, "only {read_files} files were read");
    none(&problems)
}

/// What changes something runs only behind the question that consent asks. Beside that door tools are run to make and to look
/// at the worlds of the text-mode harness, which are nobody's, and where the types of a tool are erased.
#[test]
fn tools_are_run_behind_consent_and_nowhere_else() -> Result<()> {
    const DOORS: [&str; 3] = [
        "daemon/src/act.rs",
        "daemon/src/eval/stage.rs",
        "tools/src/contract.rs",
    ];
    let shipped = |path: &PathBuf| {
        let mut rooms = ["daemon", "models", "prompts", "tools"].iter();
        path.extension() == Some(OsStr::new("rs"))
            && rooms.any(|room| path.starts_with(Path::new(room).join("src")))
    };
    let sources: Vec<(PathBuf, String)> = files()?
        .into_iter()
        .filter(shipped)
        .map(|path| Ok((path.clone(), read(&path)?)))
        .collect::<Result<_>>()?;
    ensure!(sources.len() > 300, "only {} files were read", sources.len());
    let (mut code, mut of_tests) = (Vec::new(), BTreeSet::new());
    for (path, text) in sources {
        let (text, modules) = without_tests(&text);
        let folder = match path.file_stem().and_then(OsStr::to_str) {
            Some("lib" | "main") => path.with_file_name(""),
            _ => path.with_extension(""),
        };
        of_tests.extend(modules.iter().map(|module| folder.join(module)));
        code.push((path, text));
    }
    let mut found = Vec::new();
    for (path, text) in &code {
        if of_tests
            .iter()
            .all(|module| !path.with_extension("").starts_with(module))
        {
            found.extend(runs(text).map(|_| path.display().to_string()));
        }
    }
    found.sort();
    ensure!(found == DOORS, "tools are run in {found:?}");
    Ok(())
}

/// The code without the modules that only tests have, and the names of those of them that lie in files of their own.
fn without_tests(text: &str) -> (String, Vec<String>) {
    let (mut kept, mut elsewhere) = (String::new(), Vec::new());
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if line.trim() != "#[cfg(test)]" {
            kept.push_str(line);
            kept.push('\n');
            continue;
        }
        // More attributes may stand between.
        let item = lines.find(|line| {
            ["mod ", "fn ", "use ", "struct ", "impl "]
                .iter()
                .any(|of| line.contains(of))
        });
        let Some((_, module)) = item.unwrap_or_default().split_once("mod ") else {
            continue;
        };
        match module.strip_suffix(';') {
            Some(name) => elsewhere.push(name.to_owned()),
            None => {
                let end = line.replace("#[cfg(test)]", "}");
                lines.find(|line| *line == end);
            }
        }
    }
    (kept, elsewhere)
}

/// Where a tool is run: a method of two arguments (what else is run in the daemon takes fewer), or the function of a type.
fn runs(code: &str) -> impl Iterator<Item = usize> {
    code.match_indices("run").map(|(at, _)| at).filter(|at| {
        let (before, after) = (&code[..*at], &code[at + "run".len()..]);
        let of_type = before.strip_suffix("::").is_some_and(|path| {
            let name = path.rsplit(|c: char| !(c.is_alphanumeric() || c == '_')).next();
            path.ends_with('>') || name.is_some_and(|name| name.starts_with(char::is_uppercase))
        });
        let goes_on = after.starts_with(|c: char| c.is_alphanumeric() || c == '_');
        let method =
            before.ends_with('.') && after.strip_prefix('(').is_some_and(|rest| arguments(rest) >= 2);
        !goes_on && (of_type || method)
    })
}

/// How many arguments a call has, from behind its opening bracket.
fn arguments(code: &str) -> usize {
    let (mut depth, mut commas, mut empty, mut quoted) = (0, 0, true, false);
    let mut letters = code.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' => _ = letters.next(),
            '"' => quoted = !quoted,
            _ if quoted => {}
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' if depth == 0 => break,
            ')' | ']' | '}' => depth -= 1,
            // One that is followed by nothing but the end separates nothing.
            ',' if depth == 0 => {
                commas += usize::from(!empty);
                empty = true;
                continue;
            }
            _ => {}
        }
        empty &= letter.is_whitespace();
    }
    commas + usize::from(!empty)
}

#[test]
fn a_tool_that_is_run_is_seen() {
    let seen = |code: &str| runs(code).count();
    for code in [
        "entry.run(arguments, &ctx)",
        "tools::find(name).unwrap().run(\n    json!({\"a\": [1, 2]}),\n    &ctx,\n)",
        "let done = Entry::run(entry, arguments, &ctx).await;",
        "catalog::notes_create::This::run(args, &ctx)",
        "<This as Tool>::run(args, &ctx)",
        "let run = Entry::run;",
    ] {
        assert_eq!(seen(code), 1, "{code}");
    }
    for code in [
        "session.run().await",
        "daemon.run(inbox).await",
        "tiro.run([\"ask\", \"a, b\"])",
        "agent.run(wire.map(|()| &request.body[..], 1))",
        "ask::run(&app, args).await",
        "entry.running(arguments, &ctx)",
        "(self.run)(args, ctx)",
    ] {
        assert_eq!(seen(code), 0, "{code}");
    }
    let text = "fn a() {}\n#[cfg(test)]\nmod measure;\n#[cfg(test)]\n#[expect(x)]\n\
        pub(crate) mod tests {\n    fn b() {}\n}\nfn c() {}\n";
    assert_eq!(
        without_tests(text),
        ("fn a() {}\nfn c() {}\n".to_owned(), vec!["measure".to_owned()])
    );
}

/// A test whose weights nobody fetches passes where they happen to lie, and fails on every fresh machine.
#[test]
fn weights_of_the_tests_are_fetched_for_them() -> Result<()> {
    let fetched = read(Path::new("xtask/src/test.rs"))?;
    let registry = models::registry::Registry::builtin();
    let (mut named, mut problems) = (0, Vec::new());
    let tests = |path: &&PathBuf| path.starts_with("models/tests") || path.starts_with("tests/src");
    for path in files()?.iter().filter(tests) {
        let text = String::from_utf8_lossy(&fs::read(root()?.join(path))?).into_owned();
        for model in registry.models().iter().filter(|m| text.contains(&m.file)) {
            named += 1;
            if !fetched.contains(&format!("\"{}\"", model.id)) {
                problems.push(format!(
                    "{} needs {}, which xtask does not pull",
                    path.display(),
                    model.id
                ));
            }
        }
    }
    ensure!(
        named > 0,
        "no test names its weights any more; this one looks in the wrong place"
    );
    none(&problems)
}

/// Fails with all problems, one a line.
#[track_caller]
fn none(problems: &[String]) -> Result<()> {
    ensure!(problems.is_empty(), "\n{}", problems.join("\n"));
    Ok(())
}

/// Whether the word stands in the line, and not as a part of a longer one.
fn has_word(line: &str, word: &str) -> bool {
    let part = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    line.match_indices(word).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        let after = line[at + word.len()..].chars().next();
        let closed = !word.ends_with(|c: char| c.is_alphanumeric());
        !part(before) && (closed || !part(after))
    })
}

fn root() -> Result<PathBuf> {
    let room = Path::new(env!("CARGO_MANIFEST_DIR"));
    Ok(room.parent().context("the workspace was not found")?.to_owned())
}

fn read(path: &Path) -> Result<String> {
    fs::read_to_string(root()?.join(path)).with_context(|| format!("reading {}", path.display()))
}

/// Everything under version control, or about to be, relative to the workspace.
fn files() -> Result<Vec<PathBuf>> {
    let text = output(
        "git",
        &["ls-files", "-z", "--cached", "--others", "--exclude-standard"],
    )?;
    let root = root()?;
    // A file that was just deleted is still listed.
    let files = text
        .split_terminator('\0')
        .map(PathBuf::from)
        .filter(|path| root.join(path).is_file());
    Ok(files.collect())
}

/// Rooms, and the packages that each names for any purpose.
fn direct_dependencies() -> Result<BTreeMap<String, BTreeSet<String>>> {
    let text = output(
        &cargo(),
        &[
            "metadata",
            "--no-deps",
            "--offline",
            "--locked",
            "--format-version",
            "1",
        ],
    )?;
    let metadata: Value = serde_json::from_str(&text)?;
    let packages = metadata["packages"]
        .as_array()
        .context("cargo metadata lists no packages")?;
    let name = |value: &Value| value["name"].as_str().map(str::to_owned);
    let rooms = packages.iter().filter_map(|package| {
        let dependencies = package["dependencies"].as_array()?;
        Some((name(package)?, dependencies.iter().filter_map(name).collect()))
    });
    Ok(rooms.collect())
}

/// The names of everything that a room needs, by these kinds of edge, without features.
fn tree(room: &str, edges: &str) -> Result<BTreeSet<String>> {
    let args = [
        "tree",
        "--locked",
        "--package",
        room,
        "--edges",
        edges,
        "--prefix",
        "none",
        "--format",
        "{p}",
    ];
    let text = output(&cargo(), &args)?;
    Ok(text
        .lines()
        .filter_map(|line| line.split(' ').next())
        .map(str::to_owned)
        .collect())
}

fn cargo() -> String {
    std::env::var("CARGO").unwrap_or_else(|_| "cargo".into())
}

fn output(program: &str, args: &[&str]) -> Result<String> {
    let output = Command::new(program)
        .args(args)
        .current_dir(root()?)
        .output()
        .with_context(|| program.to_owned())?;
    let error = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{program} {}: {error}", args.join(" "));
    Ok(String::from_utf8(output.stdout)?)
}
