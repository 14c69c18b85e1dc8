//! `system.power_profile`: speed against power.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::{
    contract::{Ctx, Effect, Output, Tool, ToolError},
    system::{
        desktop::{
            profiles,
            settings::{self, Setting},
        },
        heard, plain,
    },
};

/// Sets the power profile.
pub struct This;

/// Which.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Args {
    /// As said: "power saver", "balanced", "performance"; leave out to ask which is on
    profile: Option<String>,
}

impl Tool for This {
    type Args = Args;
    const NAME: &'static str = "system.power_profile";
    const SUMMARY: &'static str = "Power profile: save battery, balanced or full performance";
    const EFFECT: Effect = Effect::Write;
    const EXAMPLES: &'static [&'static str] = &[
        "turn on power saving",
        "switch to performance mode",
        "balanced power profile",
        "battery saver on",
        "which power mode am I in",
        "save energy please",
        "full power",
        "go back to normal power mode",
    ];
    const CALLS: &'static [(&'static str, &'static str)] = &[
        ("switch to performance mode", r#"{"profile": "performance"}"#),
        ("go back to normal power mode", r#"{"profile": "normal"}"#),
    ];
    const PATTERNS: &'static [&'static str] = &[
        "(turn on|switch to) (power saving|power saver|battery saver) [mode] -> profile=power saver",
        "switch to {profile:performance|balanced} mode",
    ];
    const LIMITS: &'static str = "Changes speed and power use; system.battery says how full the battery is.";

    fn preview(args: &Args, _ctx: &Ctx) -> Result<String, ToolError> {
        Ok(match &args.profile {
            Some(profile) => format!("Switch to the power profile {}", plain::one_line(profile, 40)),
            None => "Look at the power profile".to_owned(),
        })
    }

    async fn run(args: Args, ctx: &Ctx) -> Result<Output, ToolError> {
        let all = profiles::all(&ctx.desk).await?;
        let Some(said) = args
            .profile
            .as_deref()
            .map(str::trim)
            .filter(|said| !said.is_empty())
        else {
            let active = profiles::active(&ctx.desk).await?;
            let others: Vec<String> = all
                .iter()
                .filter(|name| **name != active)
                .map(|name| spoken(name))
                .collect();
            return Ok(Output::new(
                format!(
                    "The power profile is {}. There is also {}.",
                    spoken(&active),
                    plain::listed(&others, "and")
                ),
                json!({"profile": active, "others": others}),
            ));
        };
        let profile = choose(said, &all)?;
        let before = settings::change(ctx, Setting::PowerProfile, profile.clone()).await?;
        let already = if before == *profile { " already" } else { "" };
        Ok(Output::new(
            format!("The power profile is {}{already}.", spoken(profile)),
            json!({"profile": profile, "before": before}),
        ))
    }
}

/// What people call the profiles that there are everywhere.
const CALLED: [(&str, &[&str]); 3] = [
    (
        "power-saver",
        &[
            "power saver",
            "battery saver",
            "power saving",
            "energy saving",
            "save battery",
            "save power",
            "eco",
            "low power",
            "quiet",
        ],
    ),
    (
        "balanced",
        &["balanced", "normal", "default", "medium", "standard"],
    ),
    (
        "performance",
        &[
            "performance",
            "high performance",
            "full power",
            "fast",
            "maximum",
            "turbo",
            "full speed",
        ],
    ),
];

fn choose<'a>(said: &str, all: &'a [String]) -> Result<&'a String, ToolError> {
    let said = said.to_lowercase().replace("mode", "").replace("profile", "");
    let found = heard::pick(&said, all, |name| {
        let called = CALLED.iter().find(|(known, _)| *known == name.as_str());
        let also = called.map_or(&[][..], |(_, names)| names);
        std::iter::once((name.as_str(), 1.0))
            .chain(also.iter().map(|name| (*name, 0.99)))
            .collect()
    });
    match (heard::contenders(&found), found.first()) {
        (1, Some((_, name))) => Ok(name),
        _ => {
            let names: Vec<String> = all.iter().map(|name| spoken(name)).collect();
            Err(ToolError::tell(format!(
                "Which power profile: {}?",
                plain::listed(&names, "or")
            )))
        }
    }
}

fn spoken(name: &str) -> String {
    name.replace('-', " ")
}
