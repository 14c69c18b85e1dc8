//! `system.bluetooth`: Bluetooth and its devices.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use std::time::Duration;

use crate::{
    contract::{Ctx, Effect, Output, Tool, ToolError},
    system::{
        desktop::{
            self,
            bluetooth::{self, CONNECT, Device},
            settings::{self, Setting},
        },
        heard, plain, speech,
        which::{self, Kind},
    },
};

/// Looks after Bluetooth.
pub struct This;

/// What to do, and with what.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Args {
    /// What to do; status unless said
    action: Option<Action>,
    /// Which paired device, to connect or disconnect
    device: Option<String>,
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
    Connect,
    Disconnect,
}

const KIND: Kind = Kind {
    one: "device",
    many: "devices",
};
/// Most devices that are read out.
const MOST: usize = 6;

impl Tool for This {
    type Args = Args;
    const NAME: &'static str = "system.bluetooth";
    const SUMMARY: &'static str = "Bluetooth: on, off, list devices, connect or disconnect one";
    const EFFECT: Effect = Effect::Write;
    const TIMEOUT: Duration = Duration::from_secs(CONNECT.as_secs() + 10);
    const EXAMPLES: &'static [&'static str] = &[
        "turn on bluetooth",
        "switch bluetooth off",
        "connect my headphones",
        "disconnect the speaker",
        "which bluetooth devices are connected",
        "pair up with my earbuds again",
        "is bluetooth on",
        "connect to the blue tooth keyboard",
    ];
    const CALLS: &'static [(&'static str, &'static str)] = &[
        (
            "disconnect the speaker",
            r#"{"action": "disconnect", "device": "speaker"}"#,
        ),
        ("switch bluetooth off", r#"{"action": "off"}"#),
    ];
    const PATTERNS: &'static [&'static str] = &[
        "(turn|switch) {action:on|off} [the] bluetooth",
        "(turn|switch) [the] bluetooth {action:on|off}",
        "bluetooth {action:on|off}",
        "enable bluetooth -> action=on",
        "disable bluetooth -> action=off",
        "is bluetooth on -> action=status",
    ];
    const LIMITS: &'static str = "Only devices that are paired already; pair new ones in the settings.";

    fn preview(args: &Args, ctx: &Ctx) -> Result<String, ToolError> {
        Ok(match action(args) {
            Action::On => "Turn Bluetooth on".to_owned(),
            Action::Off => "Turn Bluetooth off".to_owned(),
            Action::List | Action::Status => "Look at Bluetooth".to_owned(),
            Action::Connect | Action::Disconnect => {
                let said = args.device.clone().unwrap_or_default();
                let verb = if action(args) == Action::Connect {
                    "Connect"
                } else {
                    "Disconnect"
                };
                let found = desktop::wait(Self::TIMEOUT, async {
                    let state = bluetooth::state(&ctx.desk).await?;
                    choose(&state.devices, &said, action(args)).map(|device| device.name.clone())
                })?;
                format!("{verb} {found}")
            }
        })
    }

    async fn run(args: Args, ctx: &Ctx) -> Result<Output, ToolError> {
        match action(&args) {
            Action::On => switch(ctx, true).await,
            Action::Off => switch(ctx, false).await,
            Action::List | Action::Status => status(ctx).await,
            Action::Connect => connect(ctx, args.device.as_deref(), true).await,
            Action::Disconnect => connect(ctx, args.device.as_deref(), false).await,
        }
    }
}

/// Who names a device and nothing else wants it connected.
fn action(args: &Args) -> Action {
    args.action.unwrap_or(match args.device {
        Some(_) => Action::Connect,
        None => Action::Status,
    })
}

async fn switch(ctx: &Ctx, on: bool) -> Result<Output, ToolError> {
    let before = settings::change(ctx, Setting::Bluetooth, settings::on_off(on)).await?;
    let already = if before == settings::on_off(on) {
        " already"
    } else {
        ""
    };
    let state = if on { "on" } else { "off" };
    Ok(Output::new(
        format!("Bluetooth is {state}{already}."),
        json!({ "on": on }),
    ))
}

async fn status(ctx: &Ctx) -> Result<Output, ToolError> {
    let state = bluetooth::state(&ctx.desk).await?;
    let names = |connected: bool| -> Vec<String> {
        let some = state
            .devices
            .iter()
            .filter(|device| device.connected == connected);
        some.map(|device| device.name.clone()).collect()
    };
    let (here, away) = (names(true), names(false));
    let mut say = match (state.on, here.is_empty()) {
        (false, _) => "Bluetooth is off.".to_owned(),
        (true, true) => "Bluetooth is on, and nothing is connected.".to_owned(),
        (true, false) => format!("Connected: {}.", speech::some_of(&here, MOST)),
    };
    if !away.is_empty() {
        say.push_str(&format!(" Also paired: {}.", speech::some_of(&away, MOST)));
    }
    let rows: Vec<_> = state
        .devices
        .iter()
        .map(|device| json!({"name": device.name, "connected": device.connected, "battery": device.battery}))
        .collect();
    let mut output = Output::new(say, json!({"on": state.on, "devices": rows}));
    output.untrusted = !state.devices.is_empty();
    Ok(output)
}

async fn connect(ctx: &Ctx, said: Option<&str>, on: bool) -> Result<Output, ToolError> {
    let state = bluetooth::state(&ctx.desk).await?;
    let wanted = if on { Action::Connect } else { Action::Disconnect };
    let device = choose(&state.devices, said.unwrap_or_default(), wanted)?;
    let name = &device.name;
    if on && !state.on {
        settings::change(ctx, Setting::Bluetooth, settings::on_off(true)).await?;
    }
    let say = match (on, device.connected) {
        (true, true) => format!("{name} is connected already."),
        (false, false) => format!("{name} is not connected."),
        (_, _) => {
            bluetooth::connect(&ctx.desk, device, on).await?;
            ctx.step.beyond();
            match on {
                true => format!("{name} is connected."),
                false => format!("{name} is disconnected."),
            }
        }
    };
    let mut output = Output::new(say, json!({"device": name, "connected": on}));
    output.untrusted = true;
    Ok(output)
}

/// The device that is meant. Where nothing was said: the only one that is paired, or the only one that is connected.
fn choose<'a>(devices: &'a [Device], said: &str, wanted: Action) -> Result<&'a Device, ToolError> {
    let said = which::bare(said, KIND);
    let which = |some: &[&Device]| {
        let names: Vec<String> = some.iter().take(5).map(|device| device.name.clone()).collect();
        ToolError::TellOthers(format!("Which device: {}?", plain::listed(&names, "or")))
    };
    if devices.is_empty() {
        return Err(ToolError::tell(
            "No Bluetooth device is paired with this computer.",
        ));
    }
    if said.is_empty() {
        let connected = wanted == Action::Disconnect;
        let fitting: Vec<&Device> = devices
            .iter()
            .filter(|device| device.connected == connected)
            .collect();
        return match fitting[..] {
            [only] => Ok(only),
            [] => match connected {
                true => Err(ToolError::tell("No Bluetooth device is connected.")),
                false => Err(ToolError::tell("All Bluetooth devices are connected already.")),
            },
            _ => Err(which(&fitting)),
        };
    }
    let found = heard::pick(&said, devices, |device| vec![(&device.name, 1.0)]);
    match (heard::contenders(&found), found.first()) {
        (1, Some((_, device))) => Ok(device),
        (0, _) | (_, None) => {
            let names: Vec<String> = devices.iter().take(5).map(|device| device.name.clone()).collect();
            Err(ToolError::TellOthers(format!(
                "No device called \"{}\" is paired. There is {}.",
                plain::one_line(&said, 40),
                plain::listed(&names, "and")
            )))
        }
        (several, _) => {
            let some: Vec<&Device> = found[..several].iter().map(|(_, device)| *device).collect();
            Err(which(&some))
        }
    }
}
