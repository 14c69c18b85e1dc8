//! Batteries, asked of UPower: that of the computer, and those of mice, keyboards and headphones.

use super::{
    Desk,
    bus::{At, Bus, On, Properties, Service, take},
    mac,
};
use crate::{contract::ToolError, system::plain};
use zbus::OwnedObjectPath;

const UPOWER: Service = Service {
    on: On::System,
    name: "org.freedesktop.UPower",
    called: "The battery service (UPower)",
};
const DEVICE: &str = "org.freedesktop.UPower.Device";
/// Most devices that are asked.
const MAX_DEVICES: usize = 32;

/// One battery.
#[derive(Debug, Clone, PartialEq)]
pub struct Battery {
    /// What it is in: "computer", or a device as it calls itself.
    pub name: String,
    /// What kind of device: "mouse".
    pub kind: &'static str,
    /// From 0 to 100.
    pub percent: u32,
    /// What it does, where it says so.
    pub doing: Option<Doing>,
    /// Until it is empty or full, in seconds, where that is known.
    pub seconds: Option<u64>,
}

/// What a battery does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the words say it")]
pub enum Doing {
    Charging,
    Discharging,
    Full,
}

/// The name of the computer's own battery.
pub const OWN: &str = "computer";

/// All batteries, the computer's first.
///
/// # Errors
/// `Tell` where they cannot be asked.
pub async fn all(desk: &Desk) -> Result<Vec<Battery>, ToolError> {
    if cfg!(target_os = "macos") {
        return Ok(mac::battery(desk).await?.into_iter().collect());
    }
    let fail = |trouble: super::bus::Trouble| trouble.tell(UPOWER.called);
    let bus = Bus::open(desk, UPOWER.on).await.map_err(fail)?;
    let at = |path| At {
        name: UPOWER.name,
        path,
        interface: UPOWER.name,
    };
    let paths: Vec<OwnedObjectPath> = bus
        .call(at("/org/freedesktop/UPower"), "EnumerateDevices", &())
        .await
        .map_err(fail)?;
    let mut found = Vec::new();
    // All batteries of the computer together; what UPower itself shows on a panel.
    let display = "/org/freedesktop/UPower/devices/DisplayDevice";
    let together = bus.all(device(display)).await.map_err(fail)?;
    found.extend(battery(together, true));
    for path in paths.iter().take(MAX_DEVICES) {
        // One device that went away hides no other.
        if let Ok(properties) = bus.all(device(path.as_str())).await {
            found.extend(battery(properties, false));
        }
    }
    Ok(found)
}

/// What there is, for `tiro doctor`.
pub async fn describe(desk: &Desk) -> Result<String, ToolError> {
    let all = all(desk).await?;
    match all.iter().find(|battery| battery.name == OWN) {
        Some(own) => Ok(format!("{} percent.", own.percent)),
        None => Err(none()),
    }
}

/// That there is none.
pub fn none() -> ToolError {
    ToolError::tell("This computer has no battery.")
}

fn device(path: &str) -> At<'_> {
    At {
        name: UPOWER.name,
        path,
        interface: DEVICE,
    }
}

/// `None` for what has no battery, and for the computer's own cells, which are looked at together.
fn battery(mut properties: Properties, together: bool) -> Option<Battery> {
    // Of the enumeration UpDeviceKind: the ones that people have.
    let kind = match take::<u32>(&mut properties, "Type")? {
        2 => "battery",
        5 => "mouse",
        6 => "keyboard",
        8 => "phone",
        10 => "tablet",
        12 => "controller",
        13 => "pen",
        14 => "touchpad",
        17 => "headset",
        18 => "speakers",
        19 => "headphones",
        _ => return None,
    };
    if !together && (kind == "battery" || take::<bool>(&mut properties, "PowerSupply") == Some(true)) {
        return None;
    }
    if take::<bool>(&mut properties, "IsPresent") == Some(false) {
        return None;
    }
    let percent = take::<f64>(&mut properties, "Percentage").filter(|p| (0.0..=100.0).contains(p))?;
    let doing = match take::<u32>(&mut properties, "State") {
        Some(1) => Some(Doing::Charging),
        Some(2) => Some(Doing::Discharging),
        Some(4) => Some(Doing::Full),
        _ => None,
    };
    let left = match doing {
        Some(Doing::Charging) => take::<i64>(&mut properties, "TimeToFull"),
        Some(Doing::Discharging) => take::<i64>(&mut properties, "TimeToEmpty"),
        _ => None,
    };
    let model = take::<String>(&mut properties, "Model").unwrap_or_default();
    let model = plain::one_line(&model, 40);
    Some(Battery {
        name: match (together, model.is_empty()) {
            (true, _) => OWN.to_owned(),
            (false, true) => kind.to_owned(),
            (false, false) => model,
        },
        kind,
        percent: percent.round() as u32,
        doing,
        // UPower says 0 for what it does not know.
        seconds: left
            .and_then(|left| u64::try_from(left).ok())
            .filter(|left| *left > 0),
    })
}
