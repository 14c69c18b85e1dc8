//! Desktop entries (freedesktop.org Desktop Entry Specification 1.5): just what starting a program needs, bounded.

use std::{
    collections::{BTreeMap, BTreeSet},
    ffi::OsString,
    path::{Path, PathBuf},
};

use super::{App, runnable};
use crate::system::{plain, store};

/// Largest entry, in bytes; translated ones of large programs have about 100 KiB.
const MAX_ENTRY: u64 = 512 * 1024;
/// Most lines of one entry.
const MAX_LINES: usize = 10_000;
/// Most arguments of a command.
const MAX_ARGUMENTS: usize = 64;
/// Longest name, in characters.
const MAX_NAME: usize = 80;
const BOUNDS: store::Bounds = store::Bounds {
    depth: 3,
    entries: 20_000,
    // Distributions and sandboxes publish their entries as links.
    file_links: true,
};

/// Where entries are looked for, and for whom.
#[derive(Debug, Clone, Default)]
pub struct Place {
    /// Folders with entries, nearest first: an entry hides those of the same id behind it.
    pub folders: Vec<PathBuf>,
    /// `de_DE.UTF-8`, as the environment has it; several with colons between, the best first.
    pub locale: String,
    /// `XDG_CURRENT_DESKTOP`: names separated by colons.
    pub desktop: String,
    /// `PATH`.
    pub path: OsString,
}

/// The programs that a menu would show here, sorted by name. Folders and files that cannot be read have none.
pub fn installed(place: &Place) -> Vec<App> {
    let mut seen = BTreeSet::new();
    let mut apps = Vec::new();
    for folder in &place.folders {
        let found = match store::walk(folder, BOUNDS) {
            Ok(found) => found.files,
            Err(error) => {
                tracing::warn!(%error, "a folder of programs was left out");
                continue;
            }
        };
        for path in found {
            let id = id(folder, &path);
            if path.extension().is_none_or(|e| e != "desktop") || !seen.insert(id.clone()) {
                continue;
            }
            let app = store::read_bounded(&path, MAX_ENTRY)
                .ok()
                .and_then(|bytes| String::from_utf8(bytes).ok())
                .and_then(|text| parse(&text, &path, place));
            apps.extend(app.map(|app| App {
                id: id.trim_end_matches(".desktop").to_owned(),
                ..app
            }));
        }
    }
    apps.sort_by(|a, b| a.name.cmp(&b.name));
    apps
}

/// The desktop file id: the path below the folder, with hyphens for slashes.
fn id(folder: &Path, path: &Path) -> String {
    let below = path.strip_prefix(folder).unwrap_or(path);
    below.to_string_lossy().replace('/', "-")
}

/// `None` for what is no program, is not to be shown here, or cannot be run.
fn parse(text: &str, path: &Path, place: &Place) -> Option<App> {
    let entry = group(text);
    let get = |key: &str| entry.get(key).map(|raw| unescape(raw));
    let list = |key: &str| entry.get(key).map(|raw| split_list(raw)).unwrap_or_default();
    let is = |key: &str| get(key).is_some_and(|v| v == "true");
    if get("Type")? != "Application" || is("NoDisplay") || is("Hidden") {
        return None;
    }
    let here: Vec<&str> = place.desktop.split(':').filter(|d| !d.is_empty()).collect();
    let names_here = |key: &str| list(key).iter().any(|d| here.contains(&d.as_str()));
    if (entry.contains_key("OnlyShowIn") && !names_here("OnlyShowIn")) || names_here("NotShowIn") {
        return None;
    }
    if get("TryExec").is_some_and(|program| !runnable(&program, &place.path)) {
        return None;
    }
    let localised = |key: &str| {
        localised_keys(key, &place.locale)
            .into_iter()
            .find_map(|k| get(&k))
    };
    let plain_name = plain::one_line(&get("Name")?, MAX_NAME);
    let name = plain::one_line(&localised("Name")?, MAX_NAME);
    if plain_name.is_empty() || name.is_empty() {
        return None;
    }
    let translated = localised_keys("Keywords", &place.locale)
        .into_iter()
        .map(|k| list(&k))
        .find(|l| !l.is_empty())
        .unwrap_or_default();
    let mut keywords: Vec<String> = Vec::new();
    for words in [translated, list("Keywords")] {
        for word in words.iter().take(40) {
            let word = plain::one_line(word, MAX_NAME);
            if !keywords.contains(&word) {
                keywords.push(word);
            }
        }
    }
    let kind = |name: Option<String>| plain::one_line(&name.unwrap_or_default(), MAX_NAME);
    let icon = get("Icon").unwrap_or_default();
    let mut command = arguments(&get("Exec")?, &name, &icon, path)?;
    let program = command.first()?.clone();
    if is("Terminal") {
        let terminal = ["xdg-terminal-exec", "x-terminal-emulator -e"]
            .into_iter()
            .find(|t| {
                t.split(' ')
                    .next()
                    .is_some_and(|program| runnable(program, &place.path))
            })?;
        command.splice(0..0, terminal.split(' ').map(str::to_owned));
    }
    Some(App {
        id: String::new(),
        program,
        name,
        plain_name,
        kind: kind(localised("GenericName")),
        plain_kind: kind(get("GenericName")),
        keywords,
        command,
        folder: get("Path").filter(|p| !p.is_empty()).map(PathBuf::from),
    })
}

/// The keys of the group `[Desktop Entry]` with raw values; the first of a key counts.
fn group(text: &str) -> BTreeMap<&str, &str> {
    let mut keys = BTreeMap::new();
    let mut inside = false;
    for line in text.lines().take(MAX_LINES) {
        let line = line.trim();
        if line.starts_with('[') {
            inside = line == "[Desktop Entry]";
        } else if inside
            && !line.starts_with('#')
            && let Some((key, value)) = line.split_once('=')
        {
            keys.entry(key.trim_end()).or_insert(value.trim_start());
        }
    }
    keys
}

/// The keys to try for these languages, best first (section "Localized values for keys"): `de_DE@euro`, `de_DE`,
/// `de@euro`, `de`, none. What has no translation is in English, so nothing is looked for behind that.
fn localised_keys(key: &str, locale: &str) -> Vec<String> {
    let mut keys = Vec::new();
    for locale in locale.split(':') {
        let (rest, modifier) = locale
            .split_once('@')
            .map_or((locale, None), |(r, m)| (r, Some(m)));
        let language_and_country = rest.split('.').next().unwrap_or_default();
        let language = language_and_country.split('_').next().unwrap_or_default();
        for part in [language_and_country, language] {
            if part.is_empty() || part == "C" || part == "POSIX" {
                continue;
            }
            keys.extend(modifier.map(|m| format!("{key}[{part}@{m}]")));
            keys.push(format!("{key}[{part}]"));
        }
        keys.dedup();
        if language == "en" {
            break;
        }
    }
    keys.push(key.to_owned());
    keys
}

/// `\s`, `\n`, `\t`, `\r` and `\\`; any other escape stays as it is.
fn unescape(raw: &str) -> String {
    let mut text = String::new();
    let mut chars = raw.chars();
    while let Some(c) = chars.next() {
        match (c, c == '\\') {
            (_, true) => match chars.next() {
                Some('s') => text.push(' '),
                Some('n') => text.push('\n'),
                Some('t') => text.push('\t'),
                Some('r') => text.push('\r'),
                Some('\\') => text.push('\\'),
                Some(other) => text.extend(['\\', other]),
                None => text.push('\\'),
            },
            (c, false) => text.push(c),
        }
    }
    text
}

/// Values separated by semicolons, `\;` being one that is meant.
fn split_list(raw: &str) -> Vec<String> {
    let mut items = vec![String::new()];
    let mut escaped = false;
    for c in raw.chars() {
        let last = items.len() - 1;
        match (c, escaped) {
            (';', false) => items.push(String::new()),
            (';', true) => {
                items[last].pop();
                items[last].push(';');
            }
            (c, _) => items[last].push(c),
        }
        escaped = c == '\\' && !escaped;
    }
    items
        .iter()
        .map(|i| unescape(i.trim()))
        .filter(|i| !i.is_empty())
        .collect()
}

/// Takes an `Exec` value apart (section "The Exec key"): blanks separate, double quotes hold together, a backslash in
/// quotes escapes. Field codes for files and addresses vanish, since none are given; no shell is involved.
/// `None` for unbalanced quotes, unknown codes and nothing to run.
fn arguments(exec: &str, name: &str, icon: &str, path: &Path) -> Option<Vec<String>> {
    let mut arguments: Vec<String> = Vec::new();
    let mut chars = exec.chars().peekable();
    while let Some(&c) = chars.peek() {
        if c.is_whitespace() {
            chars.next();
            continue;
        }
        let mut argument = String::new();
        // An empty argument is one only when it was written as one.
        let mut written = false;
        while let Some(c) = chars.next_if(|c| !c.is_whitespace()) {
            match c {
                '"' => {
                    written = true;
                    loop {
                        match chars.next()? {
                            '"' => break,
                            '\\' => argument.push(chars.next()?),
                            other => argument.push(other),
                        }
                    }
                }
                '%' => match chars.next()? {
                    '%' => argument.push('%'),
                    'c' => argument.push_str(name),
                    'k' => argument.push_str(&path.to_string_lossy()),
                    'i' if !icon.is_empty() => {
                        arguments.push("--icon".to_owned());
                        argument.push_str(icon);
                    }
                    'i' | 'f' | 'F' | 'u' | 'U' | 'd' | 'D' | 'n' | 'N' | 'v' | 'm' => {}
                    _ => return None,
                },
                other => argument.push(other),
            }
        }
        if written || !argument.is_empty() {
            arguments.push(argument);
        }
        if arguments.len() > MAX_ARGUMENTS {
            return None;
        }
    }
    let program = arguments.first()?;
    (!program.is_empty() && !program.contains('=')).then_some(arguments)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use proptest::prelude::*;

    use super::*;

    fn entry(text: &str) -> Option<App> {
        let place = Place {
            locale: "de_DE.UTF-8".into(),
            desktop: "GNOME:X".into(),
            path: "/usr/bin:/bin".into(),
            ..Place::default()
        };
        let text = format!("[Desktop Entry]\nType=Application\nName=App\nExec=app\n{text}");
        parse(&text, Path::new("/apps/app.desktop"), &place)
    }

    #[track_caller]
    fn exec(value: &str, expect: Option<&[&str]>) {
        let found = arguments(value, "My App", "icon", Path::new("/a/app.desktop"));
        let expect = expect.map(|e| e.iter().map(|a| (*a).to_owned()).collect::<Vec<_>>());
        assert_eq!(found, expect, "{value:?}");
    }

    #[test]
    fn exec_follows_the_specification() {
        exec("firefox %u", Some(&["firefox"]));
        exec(
            "env GDK_BACKEND=x11 app --new-window %F",
            Some(&["env", "GDK_BACKEND=x11", "app", "--new-window"]),
        );
        exec(
            r#""/opt/My App/run" "a \"b\" \$c \\d" %%"#,
            Some(&["/opt/My App/run", r#"a "b" $c \d"#, "%"]),
        );
        exec(
            "app %i --title %c --desktop=%k",
            Some(&[
                "app",
                "--icon",
                "icon",
                "--title",
                "My App",
                "--desktop=/a/app.desktop",
            ]),
        );
        exec("app \"\" x", Some(&["app", "", "x"]));
        exec("sh -c \"rm -rf ~; $(x)\"", Some(&["sh", "-c", "rm -rf ~; $(x)"]));
        for broken in [
            "",
            "  ",
            "%u",
            "app \"open",
            "app %",
            "app %z",
            "\"\" x",
            "A=b app",
            "app \"x\\",
        ] {
            exec(broken, None);
        }
        exec(&"x ".repeat(1000), None);
    }

    #[test]
    fn names_come_in_the_language_of_the_place() {
        let app = entry("Name[de]=Anwendung\nName[fr]=Appli\nGenericName=Tool\nKeywords=one;two\\;three;\n")
            .unwrap();
        assert_eq!(
            (app.name.as_str(), app.plain_name.as_str(), app.kind.as_str()),
            ("Anwendung", "App", "Tool")
        );
        assert_eq!(app.keywords, ["one", "two;three"]);
        let app =
            entry("GenericName=File Manager\nGenericName[de]=Dateiverwaltung\nKeywords=folder;disk;\nKeywords[de]=Ordner;disk;\n")
                .unwrap();
        assert_eq!(
            (app.kind.as_str(), app.plain_kind.as_str()),
            ("Dateiverwaltung", "File Manager")
        );
        assert_eq!(app.keywords, ["Ordner", "disk", "folder"]);
        for said in ["dateiverwaltung", "file manager", "ordner", "folder"] {
            assert_eq!(
                super::super::choose(said, std::slice::from_ref(&app))
                    .unwrap()
                    .name,
                "App"
            );
        }
        assert_eq!(
            localised_keys("N", "sr_YU@Latn"),
            ["N[sr_YU@Latn]", "N[sr_YU]", "N[sr@Latn]", "N[sr]", "N"]
        );
        assert_eq!(localised_keys("N", "C.UTF-8"), ["N"]);
        assert_eq!(localised_keys("N", "de:fr"), ["N[de]", "N[fr]", "N"]);
        assert_eq!(localised_keys("N", "en_US:de"), ["N[en_US]", "N[en]", "N"]);
    }

    #[test]
    fn what_a_menu_hides_is_hidden() {
        assert!(entry("").is_some());
        assert!(entry("OnlyShowIn=KDE;GNOME;\nTryExec=sh\nTryExec=none\n").is_some());
        for hidden in [
            "NoDisplay=true",
            "Hidden=true",
            "OnlyShowIn=KDE;",
            "NotShowIn=GNOME;",
            "TryExec=/nonexistent/x",
            "TryExec=no-such-program-here",
        ] {
            assert_eq!(entry(hidden), None, "{hidden}");
        }
        let place = Place::default();
        for broken in [
            "",
            "[Desktop Entry]\nType=Link\nName=x\nExec=x",
            "[Other]\nType=Application\nName=x\nExec=x",
        ] {
            assert_eq!(parse(broken, Path::new("x"), &place), None);
        }
    }

    #[test]
    fn nearer_folders_hide_farther_ones() {
        let home = tempfile::tempdir().unwrap();
        let (near, far) = (home.path().join("near"), home.path().join("far"));
        let put = |path: PathBuf, text: &str| {
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, format!("[Desktop Entry]\nType=Application\n{text}")).unwrap();
        };
        put(near.join("a.desktop"), "Name=Mine\nExec=mine\n");
        put(far.join("a.desktop"), "Name=Theirs\nExec=theirs\n");
        put(near.join("b.desktop"), "Name=Gone\nExec=x\nHidden=true\n");
        put(far.join("b.desktop"), "Name=Gone\nExec=x\n");
        put(far.join("kde/c.desktop"), "Name=Deep\nExec=deep\n");
        put(far.join("readme.txt"), "Name=No\nExec=no\n");
        let place = Place {
            folders: vec![near, far, home.path().join("none")],
            ..Place::default()
        };
        let names: Vec<String> = installed(&place).into_iter().map(|a| a.name).collect();
        assert_eq!(names, ["Deep", "Mine"]);
    }

    proptest! {
        #[test]
        fn any_entry_is_survived(text in "(\\PC|[\n=%\"\\\\;\\[\\]]){0,300}") {
            entry(&text);
            arguments(&text, "n", "i", Path::new("p"));
            split_list(&text);
        }
    }
}
