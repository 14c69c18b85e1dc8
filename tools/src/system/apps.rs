//! Programs of this machine: which are installed, which one was meant, and starting it.

mod desktop;
mod running;

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
    process::Stdio,
    time::Duration,
};

pub use desktop::{Place, installed};
pub use running::{Running, quit, running};

use super::{
    desktop::{Desk, outside},
    heard,
};
use crate::contract::ToolError;

/// How long a program is watched for dying at once.
pub const SETTLE: Duration = Duration::from_millis(250);

/// A program that can be started.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct App {
    /// The desktop file id without its ending: `org.gnome.Maps`.
    pub id: String,
    /// The program itself, without the terminal that it may need.
    pub program: String,
    /// As it is displayed here.
    pub name: String,
    /// The name without translation, where that differs.
    pub plain_name: String,
    /// What kind of program it is: `Web Browser`.
    pub kind: String,
    /// The kind without translation, where that differs.
    pub plain_kind: String,
    /// Other words for it, translated ones first.
    pub keywords: Vec<String>,
    /// Program and arguments, ready to run.
    pub command: Vec<String>,
    /// Working directory, if the entry wants one.
    pub folder: Option<PathBuf>,
}

/// Which program was meant.
///
/// # Errors
/// `Tell` when none or several fit.
pub fn choose<'a>(heard: &str, apps: &'a [App]) -> Result<&'a App, ToolError> {
    let found = heard::pick(heard, apps, names);
    match found.as_slice() {
        [] => Err(ToolError::tell(format!(
            "No installed program is called \"{}\".",
            super::plain::one_line(heard, 60)
        ))),
        [(_, app)] => Ok(app),
        _ => match heard::contenders(&found) {
            1 => Ok(found[0].1),
            several => {
                let mut names: Vec<String> = found[..several].iter().map(|f| f.1.name.clone()).collect();
                names.sort();
                names.dedup();
                match names.len() {
                    // Two entries of one name are the same program to the person; the nearer folder comes first.
                    1 => Ok(found[0].1),
                    _ => {
                        names.truncate(5);
                        Err(ToolError::tell(format!(
                            "Several programs fit: {}. Ask which one.",
                            super::plain::listed(&names, "and")
                        )))
                    }
                }
            }
        },
    }
}

/// Starts a program and leaves it alone: its own process group and, where systemd runs the session, its own scope; no
/// terminal, reaped when it ends. A Tiro that is held has the service manager start it.
///
/// # Errors
/// `Tell` when it cannot be started or ends with an error at once.
pub async fn launch(desk: &Desk, app: &App) -> Result<(), ToolError> {
    let failed = |why: String| ToolError::tell(format!("{} did not start: {why}.", app.name));
    let Some((program, arguments)) = app.command.split_first() else {
        return Err(failed("its entry names no program".to_owned()));
    };
    let folder = app.folder.as_deref().filter(|f| f.is_dir());
    if desk.held {
        match outside::start(desk, &app.id, &app.command, folder, SETTLE).await {
            Ok(done) => return done.map_err(failed),
            // One that is held as Tiro is may still be of use.
            Err(trouble) => tracing::debug!(?trouble, "the service manager starts no app"),
        }
    }
    let mut command = tokio::process::Command::new(program);
    command
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .process_group(0)
        .kill_on_drop(false);
    if let Some(folder) = folder {
        command.current_dir(folder);
    }
    let mut child = command.spawn().map_err(|e| failed(e.to_string()))?;
    if let Some(pid) = child.id() {
        super::desktop::adopt(desk, &app.id, pid).await;
    }
    match tokio::time::timeout(SETTLE, child.wait()).await {
        Ok(Ok(status)) if !status.success() => Err(failed(format!("it ended at once ({status})"))),
        Ok(Ok(_)) => Ok(()),
        Ok(Err(error)) => Err(failed(error.to_string())),
        Err(_) => {
            tokio::spawn(async move { child.wait().await });
            Ok(())
        }
    }
}

/// Where to look, from the environment of this process.
pub fn here(folders: &[PathBuf]) -> Place {
    let text = |name: &str| std::env::var(name).ok().filter(|v| !v.is_empty());
    Place {
        folders: folders.to_vec(),
        locale: languages(text),
        desktop: text("XDG_CURRENT_DESKTOP").unwrap_or_default(),
        path: std::env::var_os("PATH").unwrap_or_default(),
    }
}

/// The languages of this session, as `LANGUAGE` has them: that one, which Plasma sets beside a `LANG` for the formats,
/// counts where the other ones say that there is a language at all (gettext manual, "The LANGUAGE variable").
fn languages(text: impl Fn(&str) -> Option<String>) -> String {
    let locale = ["LC_ALL", "LC_MESSAGES", "LANG"].into_iter().find_map(&text);
    let locale = locale.unwrap_or_default();
    match locale.split('.').next() {
        None | Some("" | "C" | "POSIX") => locale,
        Some(_) => text("LANGUAGE").unwrap_or(locale),
    }
}

/// Everything a program may be called, and what a match of it counts: its name more than its kind. Who speaks English to a
/// desktop in another language says the names that were not translated.
fn names(app: &App) -> Vec<(&str, f64)> {
    let mut names = vec![
        (app.name.as_str(), 1.0),
        (app.plain_name.as_str(), 1.0),
        (app.kind.as_str(), 0.96),
        (app.plain_kind.as_str(), 0.96),
    ];
    let program = app.program.rsplit('/').next().unwrap_or(&app.program);
    // What runs many programs is the name of none; Flatpak says which one it runs.
    match running::RUNNERS.contains(&program) {
        false => names.push((program, 0.96)),
        true => {
            let own = app
                .command
                .iter()
                .find_map(|word| word.strip_prefix("--command="));
            names.extend(own.map(|own| (own, 0.96)));
        }
    }
    names.extend(app.keywords.iter().map(|k| (k.as_str(), 0.92)));
    names
}

/// Whether there is a file that can be executed.
pub fn executable(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    path.metadata()
        .is_ok_and(|m| m.is_file() && m.permissions().mode() & 0o111 != 0)
}

/// Whether a program can be run: an absolute path, or a name that is found on the search path.
pub fn runnable(program: &str, search: &OsString) -> bool {
    match program.contains('/') {
        true => executable(Path::new(program)),
        false => {
            !program.is_empty()
                && std::env::split_paths(search).any(|folder| executable(&folder.join(program)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn app(name: &str, kind: &str, keywords: &[&str]) -> App {
        let program = format!("/usr/bin/{}", name.to_lowercase().replace(' ', "-"));
        App {
            id: name.to_lowercase(),
            name: name.into(),
            plain_name: name.into(),
            kind: kind.into(),
            keywords: keywords.iter().map(|k| (*k).to_owned()).collect(),
            command: vec![program.clone()],
            program,
            ..App::default()
        }
    }

    #[track_caller]
    fn check(heard: &str, expect: Result<&str, &str>) {
        let apps = [
            app("Firefox", "Web Browser", &["Internet", "WWW"]),
            app("Chromium", "Web Browser", &[]),
            app("LibreOffice Writer", "Word Processor", &["Letter"]),
            app("LibreOffice Calc", "Spreadsheet", &[]),
            app("Files", "File Manager", &["folder", "nautilus"]),
            app("GNU Image Manipulation Program", "Image Editor", &["GIMP"]),
            app("Terminal", "Terminal Emulator", &["shell"]),
        ];
        let chosen = choose(heard, &apps)
            .map(|a| a.name.clone())
            .map_err(|e| e.to_string());
        match expect {
            Ok(name) => assert_eq!(chosen.as_deref(), Ok(name), "{heard:?}"),
            Err(part) => assert!(
                chosen.as_ref().is_err_and(|e| e.contains(part)),
                "{heard:?}: {chosen:?}"
            ),
        }
    }

    #[test]
    fn programs_are_found_by_any_of_their_names() {
        check("firefox", Ok("Firefox"));
        check("fire fox", Ok("Firefox"));
        check("fierfox", Ok("Firefox"));
        check("the files", Ok("Files"));
        check("file manager", Ok("Files"));
        check("libre office writer", Ok("LibreOffice Writer"));
        check("spreadsheet", Ok("LibreOffice Calc"));
        check("gimp", Ok("GNU Image Manipulation Program"));
        check("cromium", Ok("Chromium"));
    }

    #[test]
    fn doubt_is_told_and_not_guessed() {
        check("web browser", Err("Chromium and Firefox"));
        check("libre office", Err("LibreOffice Calc and LibreOffice Writer"));
        check("photoshop", Err("No installed program"));
        check("", Err("No installed program"));
        check("\u{202e}; rm -rf", Err("No installed program"));
    }

    #[test]
    fn a_program_that_another_one_runs_is_known_by_its_own_name() {
        let run = |name: &str, command: &[&str]| App {
            program: command[0].into(),
            command: command.iter().map(|word| (*word).to_owned()).collect(),
            ..app(name, "", &[])
        };
        let apps = [
            run(
                "Painter",
                &["/usr/bin/flatpak", "run", "--command=gimp", "org.gimp.GIMP"],
            ),
            run("Player", &["/usr/bin/flatpak", "run", "org.x.Player"]),
        ];
        assert_eq!(choose("gimp", &apps).unwrap().name, "Painter");
        let told = choose("flatpak", &apps).unwrap_err().to_string();
        assert_eq!(told, "No installed program is called \"flatpak\".");
    }

    #[test]
    fn the_languages_of_the_session_are_those_that_gettext_takes() {
        #[track_caller]
        fn check(set: &[(&str, &str)], expect: &str) {
            let text = |name: &str| {
                let found = set.iter().find(|(known, _)| *known == name);
                found.map(|(_, value)| (*value).to_owned())
            };
            assert_eq!(languages(text), expect, "{set:?}");
        }
        check(&[], "");
        check(&[("LANG", "de_DE.UTF-8")], "de_DE.UTF-8");
        check(&[("LANG", "en_US.UTF-8"), ("LC_ALL", "fr_FR")], "fr_FR");
        check(&[("LANG", "en_US.UTF-8"), ("LANGUAGE", "de:en_US")], "de:en_US");
        check(&[("LANG", "C.UTF-8"), ("LANGUAGE", "de")], "C.UTF-8");
    }

    #[tokio::test]
    async fn what_cannot_start_is_told() {
        let mut app = app("Ghost", "", &[]);
        app.command = vec!["/nonexistent/ghost".into()];
        assert!(matches!(
            launch(&Desk::nowhere(), &app).await,
            Err(ToolError::Tell(_))
        ));
        app.command = vec!["false".into()];
        assert!(
            launch(&Desk::nowhere(), &app)
                .await
                .unwrap_err()
                .to_string()
                .contains("ended at once")
        );
        app.command = vec![];
        assert!(matches!(
            launch(&Desk::nowhere(), &app).await,
            Err(ToolError::Tell(_))
        ));
    }
}
