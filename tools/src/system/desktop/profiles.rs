//! Power profiles: power-profiles-daemon, and what took its place and its interface.

use std::collections::HashMap;

use zbus::{OwnedVariant, Variant};

use super::{
    Desk,
    bus::{At, Bus, On, Trouble},
};
use crate::{contract::ToolError, system::plain};

const CALLED: &str = "The service for power profiles";
/// Its name since 0.20, and the one before it.
const NAMES: [(&str, &str); 2] = [
    (
        "org.freedesktop.UPower.PowerProfiles",
        "/org/freedesktop/UPower/PowerProfiles",
    ),
    ("net.hadess.PowerProfiles", "/net/hadess/PowerProfiles"),
];

/// The profile that is in force.
///
/// # Errors
/// `Tell` where there are none.
pub async fn active(desk: &Desk) -> Result<String, ToolError> {
    let (bus, at) = open(desk).await?;
    bus.get(at, "ActiveProfile").await.map_err(|t| t.tell(CALLED))
}

/// The profiles that this machine has.
///
/// # Errors
/// As [`active`].
pub async fn all(desk: &Desk) -> Result<Vec<String>, ToolError> {
    let (bus, at) = open(desk).await?;
    let rows: OwnedVariant = bus.get(at, "Profiles").await.map_err(|t| t.tell(CALLED))?;
    let rows =
        Vec::<HashMap<String, OwnedVariant>>::try_from(rows).map_err(|_| Trouble::Garbage.tell(CALLED))?;
    let names = rows.into_iter().take(16).filter_map(|mut row| {
        let name = String::try_from(row.remove("Profile")?).ok()?;
        Some(plain::one_line(&name, 40))
    });
    Ok(names.collect())
}

/// Puts one in force.
///
/// # Errors
/// As [`active`]; what the service says.
pub async fn set(desk: &Desk, profile: &str) -> Result<(), ToolError> {
    let (bus, at) = open(desk).await?;
    bus.set(at, "ActiveProfile", Variant::from(profile))
        .await
        .map_err(|t| t.tell(CALLED))
}

/// What there is, for `tiro doctor`.
pub async fn describe(desk: &Desk) -> Result<String, ToolError> {
    Ok(format!("It is {}.", plain::one_line(&active(desk).await?, 40)))
}

async fn open(desk: &Desk) -> Result<(Bus, At<'static>), ToolError> {
    let bus = Bus::open(desk, On::System).await.map_err(|t| t.tell(CALLED))?;
    for (name, path) in NAMES {
        let at = At {
            name,
            path,
            interface: name,
        };
        // Asking for a property starts the service where it is not running yet.
        match bus.get::<String>(at, "ActiveProfile").await {
            Ok(_) => return Ok((bus, at)),
            Err(Trouble::Absent) => {}
            Err(other) => return Err(other.tell(CALLED)),
        }
    }
    Err(Trouble::Absent.tell(CALLED))
}
