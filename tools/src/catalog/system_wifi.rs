//! `system.wifi`: the wireless network.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::{
    contract::{Ctx, Effect, Output, Tool, ToolError},
    system::{
        desktop::{
            settings::{self, Setting},
            wifi::{self, Network},
        },
        speech,
    },
};

/// Looks after the wifi.
pub struct This;

/// What to do.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Args {
    /// What to do; status unless said
    action: Option<Action>,
}

/// What to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[expect(missing_docs, reason = "the words say it")]
pub enum Action {
    Status,
    On,
    Off,
    List,
}

/// Most networks that are read out.
const MOST: usize = 6;

impl Tool for This {
    type Args = Args;
    const NAME: &'static str = "system.wifi";
    const SUMMARY: &'static str = "Wifi: turn it on or off, list networks, or say which one is connected";
    const EFFECT: Effect = Effect::Write;
    const EXAMPLES: &'static [&'static str] = &[
        "turn off the wifi",
        "turn wifi on",
        "am I connected to the internet",
        "which wifi am I on",
        "list wifi networks",
        "what networks are around",
        "disable wireless",
        "how strong is the wi fi signal",
        "is the wifi on",
    ];
    const CALLS: &'static [(&'static str, &'static str)] = &[
        ("disable wireless", r#"{"action": "off"}"#),
        ("what networks are around", r#"{"action": "list"}"#),
    ];
    const PATTERNS: &'static [&'static str] = &[
        "(turn|switch) {action:on|off} [the] (wifi|wi fi)",
        "(turn|switch) [the] (wifi|wi fi) {action:on|off}",
        "(wifi|wi fi) {action:on|off}",
        "enable [the] (wifi|wi fi) -> action=on",
        "disable [the] (wifi|wi fi) -> action=off",
        "is the (wifi|wi fi) on -> action=status",
        "(which|what) (wifi|wi fi) am i (on|connected to) -> action=status",
        "(list|show) [the] (wifi|wi fi) networks -> action=list",
    ];
    const LIMITS: &'static str = "Joins no new network and takes no passwords.";

    fn preview(args: &Args, _ctx: &Ctx) -> Result<String, ToolError> {
        Ok(match args.action.unwrap_or(Action::Status) {
            Action::On => "Turn the wifi on",
            Action::Off => "Turn the wifi off",
            Action::List => "List the wifi networks",
            Action::Status => "Look at the wifi",
        }
        .to_owned())
    }

    async fn run(args: Args, ctx: &Ctx) -> Result<Output, ToolError> {
        match args.action.unwrap_or(Action::Status) {
            Action::On => switch(ctx, true).await,
            Action::Off => switch(ctx, false).await,
            Action::List => list(ctx).await,
            Action::Status => status(ctx).await,
        }
    }
}

async fn switch(ctx: &Ctx, on: bool) -> Result<Output, ToolError> {
    let before = settings::change(ctx, Setting::Wifi, settings::on_off(on)).await?;
    let already = if before == settings::on_off(on) {
        " already"
    } else {
        ""
    };
    let state = if on { "on" } else { "off" };
    Ok(Output::new(
        format!("The wifi is {state}{already}."),
        json!({ "on": on }),
    ))
}

async fn list(ctx: &Ctx) -> Result<Output, ToolError> {
    if !wifi::is_on(&ctx.desk).await? {
        return Ok(off());
    }
    let networks = wifi::networks(&ctx.desk).await?;
    if networks.is_empty() {
        return Ok(Output::new("No wifi network is near.", json!({"networks": []})));
    }
    let names: Vec<String> = networks.iter().map(|network| network.name.clone()).collect();
    let many = speech::count(names.len(), "network", "networks");
    let mut output = Output::new(
        format!("There are {many}: {}.", speech::some_of(&names, MOST)),
        json!({"networks": networks.iter().map(row).collect::<Vec<_>>()}),
    );
    // Anybody may call a network anything.
    output.untrusted = true;
    Ok(output)
}

async fn status(ctx: &Ctx) -> Result<Output, ToolError> {
    if !wifi::is_on(&ctx.desk).await? {
        return Ok(off());
    }
    let networks = wifi::networks(&ctx.desk).await.unwrap_or_default();
    let Some(joined) = networks.iter().find(|network| network.joined) else {
        return Ok(Output::new(
            "The wifi is on and not connected.",
            json!({"on": true, "network": null}),
        ));
    };
    let mut output = Output::new(
        format!("Connected to {}, at {} percent.", joined.name, joined.strength),
        json!({"on": true, "network": row(joined)}),
    );
    output.untrusted = true;
    Ok(output)
}

fn off() -> Output {
    Output::new("The wifi is off.", json!({"on": false}))
}

fn row(network: &Network) -> serde_json::Value {
    json!({"name": network.name, "strength": network.strength, "locked": network.locked, "joined": network.joined})
}
