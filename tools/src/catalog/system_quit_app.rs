//! `system.quit_app`: closes a program.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use std::time::Duration;

use crate::{
    contract::{Ctx, Effect, Output, Tool, ToolError},
    system::{
        apps::{self, App},
        desktop::mac,
        known::Kind,
        plain,
    },
};

/// Closes programs.
pub struct This;

/// Which one.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Args {
    /// Name or kind of program, as said
    name: String,
}

impl Tool for This {
    type Args = Args;
    const NAME: &'static str = "system.quit_app";
    const SUMMARY: &'static str = "Close an app: quit a program that is running";
    /// A closed program is a change that the person sees and can open again.
    const EFFECT: Effect = Effect::Write;
    const TIMEOUT: Duration = Duration::from_secs(20);
    const NAMED: &'static [(&'static str, Kind)] = &[("name", Kind::App)];
    const EXAMPLES: &'static [&'static str] = &[
        "close Firefox",
        "quit Spotify",
        "exit the text editor",
        "close the browser",
        "shut the calculator",
        "end LibreOffice",
        "get rid of the terminal window",
        "kill the music player app",
    ];
    const CALLS: &'static [(&'static str, &'static str)] = &[("close the browser", r#"{"name": "browser"}"#)];
    const USE_WHEN: &'static str =
        "For one program; system.shutdown turns the whole computer off, media.pause only stops the music.";
    const LIMITS: &'static str = "Asks the program to close and never forces it.";

    fn preview(args: &Args, ctx: &Ctx) -> Result<String, ToolError> {
        if cfg!(target_os = "macos") {
            return Ok(format!("Close {}", plain::one_line(&args.name, 80)));
        }
        choose(&args.name, ctx).map(|(app, _)| format!("Close {}", app.name))
    }

    async fn run(args: Args, ctx: &Ctx) -> Result<Output, ToolError> {
        let name = plain::one_line(&args.name, 80);
        if cfg!(target_os = "macos") {
            mac::quit(&ctx.desk, &name).await?;
            ctx.step.beyond();
            return Ok(closed(&name));
        }
        let (app, processes) = ctx
            .blocking("look at your programs", move |ctx| choose(&args.name, ctx))
            .await?;
        // From here on it may be gone, whatever it says.
        ctx.step.beyond();
        apps::quit(&ctx.desk, &app, &processes).await?;
        Ok(closed(&app.name))
    }
}

/// The running app that is meant, and its processes.
fn choose(said: &str, ctx: &Ctx) -> Result<(App, Vec<u32>), ToolError> {
    let installed = apps::installed(&apps::here(&ctx.dirs.applications));
    let running = apps::running(&installed, &ctx.desk);
    let open: Vec<App> = running.iter().map(|running| running.app.clone()).collect();
    let app = match apps::choose(said, &open) {
        Ok(app) => app,
        Err(doubt) => {
            return Err(match apps::choose(said, &installed) {
                // It is installed and none of the open ones is meant.
                Ok(app) if !open.contains(app) => ToolError::tell(format!("{} is not open.", app.name)),
                _ => doubt,
            });
        }
    };
    let processes = running
        .iter()
        .find(|running| running.app == app)
        .map(|running| running.processes.clone());
    Ok((app.clone(), processes.unwrap_or_default()))
}

fn closed(name: &str) -> Output {
    Output::new(format!("I closed {name}."), json!({ "closed": name }))
}
