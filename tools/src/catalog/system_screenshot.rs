//! `system.screenshot`: a picture of the screen.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use std::{path::Path, time::Duration};

use crate::{
    contract::{Ctx, Effect, Output, Tool, ToolError},
    system::desktop::screenshot::{self, Taken},
};

/// Takes a picture.
pub struct This;

/// Nothing to say.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Args {}

impl Tool for This {
    type Args = Args;
    const NAME: &'static str = "system.screenshot";
    const SUMMARY: &'static str = "Take a screenshot: save a picture of the whole screen";
    const EFFECT: Effect = Effect::Write;
    const TIMEOUT: Duration = Duration::from_secs(40);
    const EXAMPLES: &'static [&'static str] = &[
        "take a screenshot",
        "screenshot",
        "capture the screen",
        "take a picture of my screen",
        "save what is on the screen",
        "screen shot please",
        "grab the screen",
        "snap the desktop",
    ];
    const PATTERNS: &'static [&'static str] = &[
        "take a (screenshot|screen shot)",
        "(screenshot|screen shot)",
        "capture (the|my) screen",
        "take a picture of (the|my) screen",
    ];
    const LIMITS: &'static str = "Takes the whole screen and cannot look at it.";

    fn preview(_args: &Args, _ctx: &Ctx) -> Result<String, ToolError> {
        Ok("Take a picture of the screen".to_owned())
    }

    async fn run(_args: Args, ctx: &Ctx) -> Result<Output, ToolError> {
        match screenshot::take_one(&ctx.desk).await? {
            Taken::Saved(path) => {
                ctx.step.beyond();
                Ok(saved(&path))
            }
            Taken::Bytes(bytes) => {
                ctx.blocking("save the picture", move |ctx| {
                    let name = ctx.now.strftime("Screenshot from %Y-%m-%d %H-%M-%S");
                    let mut path = ctx.dirs.pictures.join(format!("{name}.png"));
                    // Two in a second are two pictures.
                    for number in 2..10 {
                        if !path.exists() {
                            break;
                        }
                        path = ctx.dirs.pictures.join(format!("{name} {number}.png"));
                    }
                    ctx.step
                        .create(&path, &bytes)
                        .map_err(|e| e.tool("save the picture"))?;
                    Ok(saved(&path))
                })
                .await
            }
        }
    }
}

fn saved(path: &Path) -> Output {
    let folder = path.parent().and_then(Path::file_name).unwrap_or_default();
    Output::new(
        format!("I saved the screenshot in {}.", folder.to_string_lossy()),
        json!({"path": path.to_string_lossy()}),
    )
}
