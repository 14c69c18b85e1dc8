//! The wireless network, through NetworkManager. Passwords are never asked for, read or given.

use zbus::{OwnedObjectPath, Variant};

use super::{
    Desk,
    bus::{At, Bus, On, Trouble, take},
    mac,
};
use crate::{contract::ToolError, system::plain};

const NAME: &str = "org.freedesktop.NetworkManager";
const CALLED: &str = "NetworkManager";
const ROOT: &str = "/org/freedesktop/NetworkManager";
const WIRELESS: &str = "org.freedesktop.NetworkManager.Device.Wireless";
/// Most devices, and most access points of each, that are looked at.
const MAX_DEVICES: usize = 32;
const MAX_POINTS: usize = 100;

/// A network in reach.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Network {
    /// What its owner called it.
    pub name: String,
    /// From 0 to 100.
    pub strength: u8,
    /// Whether it wants a password.
    pub locked: bool,
    /// Whether this computer is in it.
    pub joined: bool,
}

/// Whether it is on.
///
/// # Errors
/// `Tell` where there is none.
pub async fn is_on(desk: &Desk) -> Result<bool, ToolError> {
    if cfg!(target_os = "macos") {
        return mac::wifi(desk).await;
    }
    let bus = open(desk).await?;
    radios(&bus).await?;
    bus.get(at(ROOT, NAME), "WirelessEnabled").await.map_err(fail)
}

/// Turns it on or off.
///
/// # Errors
/// `Tell` where there is none, where a switch of the machine holds it off, and what NetworkManager says.
pub async fn set_on(desk: &Desk, on: bool) -> Result<(), ToolError> {
    if cfg!(target_os = "macos") {
        return mac::set_wifi(desk, on).await;
    }
    let bus = open(desk).await?;
    radios(&bus).await?;
    let free: bool = bus
        .get(at(ROOT, NAME), "WirelessHardwareEnabled")
        .await
        .map_err(fail)?;
    if on && !free {
        return Err(ToolError::tell(
            "A switch or key of this computer holds the wifi off. Turn it on there.",
        ));
    }
    bus.set(at(ROOT, NAME), "WirelessEnabled", Variant::from(on))
        .await
        .map_err(fail)
}

/// The networks in reach, the strongest first, each name once.
///
/// # Errors
/// As [`is_on`].
pub async fn networks(desk: &Desk) -> Result<Vec<Network>, ToolError> {
    if cfg!(target_os = "macos") {
        return Err(ToolError::tell(
            "macOS does not tell other programs which networks are near.",
        ));
    }
    let bus = open(desk).await?;
    let mut found: Vec<Network> = Vec::new();
    for radio in radios(&bus).await? {
        let radio = at(&radio, WIRELESS);
        let active: Option<OwnedObjectPath> = bus.get(radio, "ActiveAccessPoint").await.ok();
        let points: Vec<OwnedObjectPath> = bus.call(radio, "GetAllAccessPoints", &()).await.map_err(fail)?;
        for point in points.iter().take(MAX_POINTS) {
            let here = at(point.as_str(), "org.freedesktop.NetworkManager.AccessPoint");
            // One that went out of reach meanwhile is in no list.
            let Ok(mut properties) = bus.all(here).await else {
                continue;
            };
            let name: Vec<u8> = take(&mut properties, "Ssid").unwrap_or_default();
            let name = plain::one_line(&String::from_utf8_lossy(&name), 32);
            // A network that hides its name cannot be spoken of.
            if name.is_empty() {
                continue;
            }
            let secured = ["WpaFlags", "RsnFlags"]
                .iter()
                .any(|flags| take::<u32>(&mut properties, flags).unwrap_or(0) != 0);
            let private = take::<u32>(&mut properties, "Flags").unwrap_or(0) & 1 != 0;
            let network = Network {
                name,
                strength: take::<u8>(&mut properties, "Strength").unwrap_or(0).min(100),
                locked: secured || private,
                joined: active.as_ref() == Some(point),
            };
            match found.iter_mut().find(|known| known.name == network.name) {
                Some(known) => {
                    known.joined |= network.joined;
                    known.strength = known.strength.max(network.strength);
                }
                None => found.push(network),
            }
        }
    }
    found.sort_by_key(|network| std::cmp::Reverse((network.joined, network.strength)));
    Ok(found)
}

/// What there is, for `tiro doctor`.
pub async fn describe(desk: &Desk) -> Result<String, ToolError> {
    let on = is_on(desk).await?;
    Ok(format!("It is {}.", if on { "on" } else { "off" }))
}

fn at<'a>(path: &'a str, interface: &'a str) -> At<'a> {
    At {
        name: NAME,
        path,
        interface,
    }
}

fn fail(trouble: Trouble) -> ToolError {
    trouble.tell(CALLED)
}

async fn open(desk: &Desk) -> Result<Bus, ToolError> {
    Bus::open(desk, On::System).await.map_err(fail)
}

/// The wireless cards; an error where there is none, because then nothing can be turned on.
async fn radios(bus: &Bus) -> Result<Vec<String>, ToolError> {
    let devices: Vec<OwnedObjectPath> = bus.call(at(ROOT, NAME), "GetDevices", &()).await.map_err(fail)?;
    let mut radios = Vec::new();
    for device in devices.iter().take(MAX_DEVICES) {
        let here = at(device.as_str(), "org.freedesktop.NetworkManager.Device");
        // 2 is a wireless card (NMDeviceType).
        match bus.get::<u32>(here, "DeviceType").await {
            Ok(2) => radios.push(device.as_str().to_owned()),
            Ok(_) | Err(Trouble::Unknown) => {}
            Err(trouble) => return Err(fail(trouble)),
        }
    }
    match radios.is_empty() {
        true => Err(ToolError::tell("This computer has no wifi.")),
        false => Ok(radios),
    }
}
