//! Bluetooth, through BlueZ: the adapter on and off, and devices that are paired already.

use std::{collections::HashMap, time::Duration};

use zbus::{OwnedObjectPath, OwnedVariant, Variant};

use super::{
    Desk,
    bus::{At, Bus, On, Properties, Trouble, take},
};
use crate::{contract::ToolError, system::plain};

const NAME: &str = "org.bluez";
const CALLED: &str = "The Bluetooth service (BlueZ)";
const ADAPTER: &str = "org.bluez.Adapter1";
const DEVICE: &str = "org.bluez.Device1";
/// Most objects that are looked at; a crowded train has hundreds of beacons.
const MAX_OBJECTS: usize = 2000;
/// How long a device may take to be found and to answer.
pub const CONNECT: Duration = Duration::from_secs(20);

/// A paired device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Device {
    path: String,
    /// What its owner called it.
    pub name: String,
    /// Whether it is connected.
    pub connected: bool,
    /// From 0 to 100, where it says so.
    pub battery: Option<u8>,
}

/// The adapter and what is paired with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct State {
    adapter: String,
    /// Whether it is on.
    pub on: bool,
    /// What is paired with it, connected ones first.
    pub devices: Vec<Device>,
}

/// What there is.
///
/// # Errors
/// `Tell` where there is no Bluetooth.
pub async fn state(desk: &Desk) -> Result<State, ToolError> {
    if cfg!(target_os = "macos") {
        return Err(ToolError::tell(
            "macOS does not let other programs switch Bluetooth.",
        ));
    }
    look(&open(desk).await?).await
}

/// Whether it is on.
///
/// # Errors
/// As [`state`].
pub async fn is_on(desk: &Desk) -> Result<bool, ToolError> {
    Ok(state(desk).await?.on)
}

/// Turns it on or off.
///
/// # Errors
/// As [`state`]; what BlueZ says.
pub async fn set_on(desk: &Desk, on: bool) -> Result<(), ToolError> {
    let bus = open(desk).await?;
    let state = look(&bus).await?;
    bus.set(at(&state.adapter, ADAPTER), "Powered", Variant::from(on))
        .await
        .map_err(|trouble| match &trouble {
            Trouble::Refused { name, .. } if name.ends_with(".Blocked") => blocked(),
            Trouble::Refused { words, .. } if words.contains("rfkill") => blocked(),
            _ => fail(trouble),
        })
}

/// Connects a paired device, or lets it go.
///
/// # Errors
/// As [`state`]; that the device cannot be reached.
pub async fn connect(desk: &Desk, device: &Device, on: bool) -> Result<(), ToolError> {
    let bus = open(desk).await?.patient(CONNECT);
    let method = if on { "Connect" } else { "Disconnect" };
    match bus.call(at(&device.path, DEVICE), method, &()).await {
        Ok(()) => Ok(()),
        // Somebody else was faster.
        Err(Trouble::Refused { name, .. })
            if name.ends_with(".AlreadyConnected") || name.ends_with(".NotConnected") =>
        {
            Ok(())
        }
        Err(Trouble::Refused { .. } | Trouble::Silent | Trouble::Unknown) if on => Err(
            ToolError::TellOthers(format!("{} cannot be reached. Is it on and near?", device.name)),
        ),
        Err(trouble) => Err(fail(trouble)),
    }
}

/// What there is, for `tiro doctor`.
pub async fn describe(desk: &Desk) -> Result<String, ToolError> {
    let state = state(desk).await?;
    let on = if state.on { "on" } else { "off" };
    Ok(format!(
        "It is {on}, with {} paired devices.",
        state.devices.len()
    ))
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

fn blocked() -> ToolError {
    ToolError::tell("A switch or flight mode holds Bluetooth off. Turn that off first.")
}

async fn open(desk: &Desk) -> Result<Bus, ToolError> {
    Bus::open(desk, On::System).await.map_err(fail)
}

type Objects = HashMap<OwnedObjectPath, HashMap<String, HashMap<String, OwnedVariant>>>;

async fn look(bus: &Bus) -> Result<State, ToolError> {
    let manager = at("/", "org.freedesktop.DBus.ObjectManager");
    let objects: Objects = bus.call(manager, "GetManagedObjects", &()).await.map_err(fail)?;
    let mut adapters = Vec::new();
    let mut devices = Vec::new();
    for (path, mut interfaces) in objects.into_iter().take(MAX_OBJECTS) {
        let path = path.as_str().to_owned();
        let power = interfaces.remove("org.bluez.Battery1");
        if let Some(mut adapter) = interfaces.remove(ADAPTER) {
            adapters.push((
                path.clone(),
                take::<bool>(&mut adapter, "Powered").unwrap_or(false),
            ));
        }
        if let Some(device) = interfaces.remove(DEVICE) {
            devices.extend(paired(path, device, power));
        }
    }
    adapters.sort();
    devices.sort_by(|a: &Device, b| (!a.connected, &a.name).cmp(&(!b.connected, &b.name)));
    match adapters.into_iter().next() {
        Some((adapter, on)) => Ok(State { adapter, on, devices }),
        None => Err(ToolError::tell("This computer has no Bluetooth.")),
    }
}

/// Only what the person has paired: names of strangers' devices around are none of ours.
fn paired(path: String, mut device: Properties, power: Option<Properties>) -> Option<Device> {
    if take::<bool>(&mut device, "Paired") != Some(true) {
        return None;
    }
    let name: String = take(&mut device, "Alias").or_else(|| take(&mut device, "Name"))?;
    let name = plain::one_line(&name, 60);
    (!name.is_empty()).then(|| Device {
        path,
        name,
        connected: take(&mut device, "Connected").unwrap_or(false),
        battery: power
            .and_then(|mut power| take::<u8>(&mut power, "Percentage"))
            .filter(|p| *p <= 100),
    })
}
