//! `system.battery`: how full the battery is.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::{
    contract::{Ctx, Effect, Output, Tool, ToolError},
    system::{
        desktop::battery::{self, Battery, Doing, OWN},
        heard, plain,
        which::{self, Kind},
    },
};

/// Tells the battery.
pub struct This;

/// Of what.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Args {
    /// Of which device, if not the computer: "mouse"
    device: Option<String>,
}

impl Tool for This {
    type Args = Args;
    const NAME: &'static str = "system.battery";
    const SUMMARY: &'static str = "How full the battery is and how long it lasts, also of a mouse or headset";
    const EFFECT: Effect = Effect::Read;
    const EXAMPLES: &'static [&'static str] = &[
        "how much battery is left",
        "battery level",
        "is the laptop charging",
        "how long will the battery last",
        "when is it fully charged",
        "how full are my headphones",
        "mouse battery",
        "what percent is the battery at",
    ];
    const CALLS: &'static [(&'static str, &'static str)] = &[
        ("how full are my headphones", r#"{"device": "headphones"}"#),
        ("how long will the battery last", "{}"),
    ];
    const PATTERNS: &'static [&'static str] = &[
        "how much battery is left",
        "how much battery do i have [left]",
        "[what is] the battery (level|percentage)",
        "battery (level|status|percentage)",
    ];

    async fn run(args: Args, ctx: &Ctx) -> Result<Output, ToolError> {
        let all = battery::all(&ctx.desk).await?;
        let said = args
            .device
            .as_deref()
            .map(|said| which::bare(said, KIND))
            .filter(|said| !is_own(said));
        let found = choose(said.as_deref(), &all)?;
        let mut output = Output::new(
            sentence(found),
            json!({"device": found.name, "percent": found.percent, "charging": found.doing == Some(Doing::Charging), "seconds": found.seconds}),
        );
        // Devices call themselves what their makers and owners like.
        output.untrusted = found.name != OWN;
        Ok(output)
    }
}

const KIND: Kind = Kind {
    one: "battery",
    many: "batteries",
};

fn is_own(said: &str) -> bool {
    ["", "laptop", "computer", "pc", "notebook", "machine"].contains(&said)
}

/// The battery that is meant; the computer's where nothing was said.
fn choose<'a>(said: Option<&str>, all: &'a [Battery]) -> Result<&'a Battery, ToolError> {
    let Some(said) = said else {
        let own = all.iter().find(|battery| battery.name == OWN);
        return own.ok_or_else(battery::none);
    };
    let found = heard::pick(said, all, |battery| {
        vec![(&battery.name, 1.0), (battery.kind, 0.98)]
    });
    match (heard::contenders(&found), found.first()) {
        (1, Some((_, battery))) => Ok(battery),
        (0, _) | (_, None) => Err(ToolError::tell(format!(
            "Nothing called \"{}\" tells me its battery.",
            plain::one_line(said, 40)
        ))),
        (several, _) => {
            let names: Vec<String> = found[..several].iter().map(|(_, b)| b.name.clone()).collect();
            Err(ToolError::TellOthers(format!(
                "Which one: {}?",
                plain::listed(&names, "or")
            )))
        }
    }
}

fn sentence(battery: &Battery) -> String {
    let percent = battery.percent;
    let whose = match battery.name.as_str() {
        OWN => "The battery".to_owned(),
        name => format!("The battery of {name}"),
    };
    let time = battery.seconds.map(span);
    match (battery.doing, time) {
        (Some(Doing::Full), _) => format!("{whose} is full."),
        (Some(Doing::Charging), Some(time)) => format!("{whose} is at {percent} percent and full in {time}."),
        (Some(Doing::Charging), None) => format!("{whose} is at {percent} percent and charging."),
        (Some(Doing::Discharging), Some(time)) => {
            format!("{whose} is at {percent} percent and lasts {time}.")
        }
        _ => format!("{whose} is at {percent} percent."),
    }
}

/// As exact as a battery is: to five minutes, and above three hours to half an hour.
fn span(seconds: u64) -> String {
    let minutes = seconds.div_ceil(60);
    match minutes {
        0..=9 => "a few minutes".to_owned(),
        10..=59 => format!("about {} minutes", minutes.div_ceil(5) * 5),
        60..=74 => "about an hour".to_owned(),
        75..=179 => format!("about {} hours", halves(minutes)),
        _ => format!("about {} hours", halves(minutes.min(6000))),
    }
}

fn halves(minutes: u64) -> String {
    let halves = (minutes + 15) / 30;
    match halves % 2 {
        0 => (halves / 2).to_string(),
        _ => format!("{} and a half", halves / 2),
    }
}
