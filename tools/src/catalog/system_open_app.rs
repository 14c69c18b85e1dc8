//! `system.open_app`: starts a program.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::{
    contract::{Ctx, Effect, LoadPolicy, Output, Tool, ToolError},
    system::{apps, known::Kind},
};

/// Starts programs.
pub struct This;

/// Which one.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Args {
    name: String,
}

impl Tool for This {
    type Args = Args;
    const NAME: &'static str = "system.open_app";
    const SUMMARY: &'static str = "Open an app by name or kind";
    /// A running program is a change that the person sees and can close again.
    const EFFECT: Effect = Effect::Write;
    const LOAD: LoadPolicy = LoadPolicy::Core;
    const NAMED: &'static [(&'static str, Kind)] = &[("name", Kind::App)];
    const EXAMPLES: &'static [&'static str] = &[
        "open Firefox",
        "launch the calculator app",
        "start the text editor",
        "bring up the terminal",
        "run LibreOffice Writer",
        "open my web browser",
        "fire up the music player app",
        "can you start the camera",
        "open lib re office calc",
    ];
    const CALLS: &'static [(&'static str, &'static str)] = &[
        ("fire up the music player app", r#"{"name": "music player"}"#),
        ("open Firefox", r#"{"name": "Firefox"}"#),
    ];
    const LIMITS: &'static str = "Opens installed programs only, no files and no web pages.";

    fn preview(args: &Args, ctx: &Ctx) -> Result<String, ToolError> {
        find(&args.name, ctx).map(|name| format!("Open {name}"))
    }

    #[cfg(not(target_os = "macos"))]
    async fn run(args: Args, ctx: &Ctx) -> Result<Output, ToolError> {
        let place = apps::here(&ctx.dirs.applications);
        let list = tokio::task::spawn_blocking(move || apps::installed(&place)).await;
        let list = list.map_err(|e| ToolError::broken("look up your programs", e))?;
        let app = apps::choose(&args.name, &list)?;
        apps::launch(&ctx.desk, app).await?;
        ctx.step.beyond();
        Ok(Output::new(
            format!("I opened {}.", app.name),
            json!({"opened": app.name}),
        ))
    }

    /// Launch Services knows the programs of a Mac, and starts them apart from us.
    #[cfg(target_os = "macos")]
    async fn run(args: Args, ctx: &Ctx) -> Result<Output, ToolError> {
        let name = crate::system::plain::one_line(&args.name, 80);
        let app = apps::App {
            name: name.clone(),
            command: vec!["/usr/bin/open".into(), "-a".into(), name.clone()],
            ..apps::App::default()
        };
        apps::launch(&ctx.desk, &app).await?;
        ctx.step.beyond();
        Ok(Output::new(format!("I opened {name}."), json!({"opened": name})))
    }
}

#[cfg(not(target_os = "macos"))]
fn find(name: &str, ctx: &Ctx) -> Result<String, ToolError> {
    let list = apps::installed(&apps::here(&ctx.dirs.applications));
    apps::choose(name, &list).map(|app| app.name.clone())
}

#[cfg(target_os = "macos")]
fn find(name: &str, _ctx: &Ctx) -> Result<String, ToolError> {
    Ok(crate::system::plain::one_line(name, 80))
}

#[cfg(test)]
#[cfg(not(target_os = "macos"))]
mod tests {
    use std::{
        fs,
        os::unix::fs::PermissionsExt,
        path::Path,
        time::{Duration, Instant},
    };

    use super::*;
    use crate::testing::{ctx, run, said, told};

    /// A program that writes its process id and its arguments and then waits, and the entry that starts it.
    fn install(root: &Path, body: &str) {
        let apps = root.join("applications");
        fs::create_dir_all(&apps).unwrap();
        let program = root.join("my program");
        fs::write(&program, format!("#!/bin/sh\n{body}\n")).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        let entry =
            |name: &str, exec: &str| format!("[Desktop Entry]\nType=Application\nName={name}\nExec={exec}\n");
        let exec = format!("\"{}\" --title \"$(touch pwned)\" %U", program.display());
        fs::write(apps.join("test.desktop"), entry("Test Program", &exec)).unwrap();
        fs::write(apps.join("ghost.desktop"), entry("Ghost", "/nonexistent/ghost")).unwrap();
        fs::write(apps.join("one.desktop"), entry("Paint One", "true")).unwrap();
        fs::write(apps.join("two.desktop"), entry("Paint Two", "true")).unwrap();
    }

    fn wait_for(path: &Path) -> String {
        let start = Instant::now();
        loop {
            match fs::read_to_string(path) {
                Ok(text) if text.ends_with('\n') => return text,
                _ if start.elapsed() > Duration::from_secs(10) => panic!("{} never came", path.display()),
                _ => std::thread::sleep(Duration::from_millis(20)),
            }
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_program_starts_detached_without_a_shell() {
        let home = tempfile::tempdir().unwrap();
        let out = home.path().join("out");
        install(
            home.path(),
            &format!("echo \"$$ $*\" > {}; sleep 1", out.display()),
        );
        let ctx = ctx(home.path());
        let said = said(run("system.open_app", json!({"name": "test programme"}), &ctx).await);
        assert_eq!(said, "I opened Test Program.");
        let undone = ctx.step.journal().undo(None).unwrap_err().to_string();
        assert!(
            undone.starts_with("\"I opened Test Program.\" is nothing that I can undo."),
            "{undone}"
        );
        let text = wait_for(&out);
        let (pid, arguments) = text.trim_end().split_once(' ').unwrap();
        assert_eq!(arguments, "--title $(touch pwned)");
        // The process group stands third behind the name in brackets (proc_pid_stat(5)).
        let stat = fs::read_to_string(Path::new("/proc").join(pid).join("stat")).unwrap();
        let group = stat.rsplit_once(") ").unwrap().1.split(' ').nth(2);
        assert_eq!(group, Some(pid), "it leads a process group of its own");
        // It is reaped once it ends: no zombie stays with us.
        let start = Instant::now();
        while Path::new("/proc").join(pid).exists() {
            assert!(start.elapsed() < Duration::from_secs(10), "it was not reaped");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    #[tokio::test]
    async fn doubt_and_failure_are_told() {
        let home = tempfile::tempdir().unwrap();
        let context = ctx(home.path());
        assert!(
            told(run("system.open_app", json!({"name": "x"}), &context).await)
                .contains("No installed program")
        );
        install(home.path(), "exit 3");
        for (name, part) in [
            ("ghost", "Ghost did not start"),
            ("test program", "ended at once"),
            ("paint", "Paint One and Paint Two"),
            ("", "No installed program"),
            ("\u{202e}\0", "No installed program"),
        ] {
            let text = told(run("system.open_app", json!({"name": name}), &context).await);
            assert!(text.contains(part), "{name:?}: {text}");
        }
        assert!(told(run("system.open_app", json!({}), &context).await).contains("do not fit"));
    }

    #[test]
    fn the_preview_names_the_program_and_starts_nothing() {
        let home = tempfile::tempdir().unwrap();
        install(home.path(), "touch started");
        let entry = crate::find("system.open_app").unwrap();
        let preview = entry
            .preview(json!({"name": "test program"}), &ctx(home.path()))
            .unwrap();
        assert_eq!(preview, "Open Test Program");
        assert!(!home.path().join("started").exists());
    }
}
