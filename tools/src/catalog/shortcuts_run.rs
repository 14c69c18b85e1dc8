//! `shortcuts.run`: one of the person's own programs.

use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::{
    contract::{Ctx, Effect, Output, Tool, ToolError},
    system::{
        known::Kind,
        plain,
        shortcuts::{self, PATIENCE},
    },
};

/// Most characters of its output that are spoken.
const SPOKEN: usize = 300;
/// Longest text that a program is given.
const MAX_TEXT: usize = 2000;

/// Runs shortcuts.
pub struct This;

/// Which, and what it is told.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Args {
    /// Name of the shortcut
    name: String,
    /// Words for it, if it takes any
    text: Option<String>,
}

impl Tool for This {
    type Args = Args;
    const NAME: &'static str = "shortcuts.run";
    const SUMMARY: &'static str = "Run one of your shortcuts: an own script, by its name";
    /// What it does is the person's own affair, and nobody can undo it.
    const EFFECT: Effect = Effect::Irreversible;
    const TIMEOUT: Duration = Duration::from_secs(PATIENCE.as_secs() + 5);
    const NAMED: &'static [(&'static str, Kind)] = &[("name", Kind::Shortcut)];
    const EXAMPLES: &'static [&'static str] = &[
        "run the shortcut water plants",
        "start my backup script",
        "run my good night routine",
        "execute the shortcut tea time",
        "do the movie night automation",
        "trigger the macro clean up",
        "run the short cut called sync photos",
        "launch my script for the printer",
    ];
    const CALLS: &'static [(&'static str, &'static str)] = &[
        ("run the shortcut water plants", r#"{"name": "water plants"}"#),
        ("start my backup script", r#"{"name": "backup"}"#),
    ];
    const USE_WHEN: &'static str = "For the person's own scripts; system.open_app starts installed programs.";

    fn preview(args: &Args, ctx: &Ctx) -> Result<String, ToolError> {
        let shortcut = shortcuts::choose(&ctx.dirs.shortcuts, &args.name)?;
        let about = match shortcut.about.is_empty() {
            true => String::new(),
            false => format!(" ({})", shortcut.about),
        };
        let text = match text(args)? {
            Some(text) => format!(" with \"{}\"", plain::one_line(text, 200)),
            None => String::new(),
        };
        Ok(format!("Run the shortcut {}{about}{text}.", shortcut.name))
    }

    async fn run(args: Args, ctx: &Ctx) -> Result<Output, ToolError> {
        let said = args.name.clone();
        let shortcut = ctx
            .blocking("look at your shortcuts", move |ctx| {
                shortcuts::choose(&ctx.dirs.shortcuts, &said)
            })
            .await?;
        let run = shortcuts::run(&shortcut, text(&args)?).await?;
        ctx.step.beyond();
        let name = &shortcut.name;
        let line = plain::one_line(run.output.trim(), SPOKEN);
        if run.code != Some(0) {
            let why = plain::one_line(run.errors.trim(), SPOKEN);
            let why = if why.is_empty() { line } else { why };
            let why = if why.is_empty() {
                String::new()
            } else {
                format!(" It says: {why}")
            };
            return Err(ToolError::TellOthers(format!("{name} ended with an error.{why}")));
        }
        let say = match line.is_empty() {
            true => format!("I ran {name}."),
            false => format!("{name} says: {line}"),
        };
        let mut output = Output::new(
            say,
            json!({"ran": name, "output": run.output, "errors": run.errors}),
        );
        // What it prints may come from anywhere.
        output.untrusted = !line.is_empty();
        Ok(output)
    }
}

fn text(args: &Args) -> Result<Option<&str>, ToolError> {
    match args
        .text
        .as_deref()
        .map(str::trim)
        .filter(|text| !text.is_empty())
    {
        Some(text) if text.len() > MAX_TEXT || text.contains('\0') => {
            Err(ToolError::tell("That is too long for a shortcut."))
        }
        // A program would take it for an option.
        Some(text) if text.starts_with('-') => {
            Err(ToolError::tell("Words for a shortcut cannot begin with a dash."))
        }
        text => Ok(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        system::shortcuts::tests::put,
        testing::{ctx, run, said, told},
    };

    #[tokio::test]
    async fn shortcuts_run_and_say_what_they_print() {
        let home = tempfile::tempdir().unwrap();
        let ctx = ctx(home.path());
        let folder = &ctx.dirs.shortcuts;
        let go = async |name: &str| run("shortcuts.run", json!({"name": name}), &ctx).await;
        assert_eq!(told(go("backup").await), "You have no shortcuts yet.");
        put(
            folder,
            "water-plants.sh",
            "# tiro: Waters the plants\necho watered; echo twice",
        );
        put(folder, "quiet", "exit 0");
        put(folder, "broken", "echo 'no disk' >&2; exit 4");
        assert_eq!(
            said(go("water the plants").await),
            "water plants says: watered twice"
        );
        assert_eq!(said(go("quiet").await), "I ran quiet.");
        let error = go("broken").await.unwrap_err();
        assert!(
            matches!(&error, ToolError::TellOthers(text) if text == "broken ended with an error. It says: no disk"),
            "{error:?}"
        );
        assert!(told(go("unicorn").await).contains("no shortcut called \"unicorn\""));
        let entry = crate::find("shortcuts.run").unwrap();
        assert!(entry.confirm);
        assert_eq!(
            entry
                .preview(json!({"name": "water plants", "text": "all"}), &ctx)
                .unwrap(),
            "Run the shortcut water plants (Waters the plants) with \"all\"."
        );
        assert!(
            entry
                .preview(json!({"name": "quiet", "text": "--force"}), &ctx)
                .is_err()
        );
        assert!(
            ctx.step
                .journal()
                .undo(None)
                .unwrap_err()
                .to_string()
                .contains("nothing that I can undo")
        );
    }
}
