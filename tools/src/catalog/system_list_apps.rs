//! `system.list_apps`: which programs run or are installed.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::{
    contract::{Ctx, Effect, Output, Tool, ToolError},
    system::{apps, desktop::mac, speech},
};

/// Lists apps.
pub struct This;

/// Which.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Args {
    /// Running ones unless the person asks what is installed
    which: Option<Which>,
}

/// Which apps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[expect(missing_docs, reason = "the words say it")]
pub enum Which {
    Running,
    Installed,
}

/// Most apps that are read out.
const MOST: usize = 10;

impl Tool for This {
    type Args = Args;
    const NAME: &'static str = "system.list_apps";
    const SUMMARY: &'static str = "List the apps that are open, or all that are installed";
    const EFFECT: Effect = Effect::Read;
    const EXAMPLES: &'static [&'static str] = &[
        "which apps are open",
        "what programs are running",
        "list my installed apps",
        "what is running right now",
        "show the open applications",
        "which apps do I have",
        "list running programs",
        "what apps are installed here",
    ];
    const CALLS: &'static [(&'static str, &'static str)] = &[
        ("what programs are running", r#"{"which": "running"}"#),
        ("what apps are installed here", r#"{"which": "installed"}"#),
    ];
    const PATTERNS: &'static [&'static str] = &[
        "(which|what) (apps|programs|applications) are (open|running) -> which=running",
        "list [my|the|all] installed (apps|programs|applications) -> which=installed",
    ];

    async fn run(args: Args, ctx: &Ctx) -> Result<Output, ToolError> {
        let which = args.which.unwrap_or(Which::Running);
        let names = match cfg!(target_os = "macos") && which == Which::Running {
            true => mac::running(&ctx.desk).await?,
            false => {
                ctx.blocking("look at your programs", move |ctx| Ok(names(ctx, which)))
                    .await?
            }
        };
        let say = match (which, names.is_empty()) {
            (Which::Running, true) => "No app is open.".to_owned(),
            (Which::Installed, true) => "No app is installed.".to_owned(),
            (Which::Running, false) => format!("Open: {}.", speech::some_of(&names, MOST)),
            (Which::Installed, false) => {
                let many = speech::count(names.len(), "app is", "apps are");
                format!("{many} installed: {}.", speech::some_of(&names, MOST))
            }
        };
        Ok(Output::new(speech::sentence(&say), json!({ "apps": names })))
    }
}

fn names(ctx: &Ctx, which: Which) -> Vec<String> {
    let installed = apps::installed(&apps::here(&ctx.dirs.applications));
    let mut names: Vec<String> = match which {
        Which::Installed => installed.iter().map(|app| app.name.clone()).collect(),
        Which::Running => {
            let running = apps::running(&installed, &ctx.desk);
            running.iter().map(|running| running.app.name.clone()).collect()
        }
    };
    names.dedup();
    names
}
