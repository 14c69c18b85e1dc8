//! Settings of the desktop that have a value before and after, so that "undo that" can set them back.
//!
//! The journal keeps a change of a setting as it keeps that of a file, under the path `setting/NAME`; no file has such a
//! path, because those of files are absolute.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use super::{Desk, bluetooth, brightness, profiles, quiet, scheme, sound, wifi};
use crate::contract::{Ctx, ToolError};

/// A setting. Its name is on disk, in the journal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Setting {
    /// How loud, as the sound server counts.
    Volume,
    /// Whether nothing is heard.
    Mute,
    /// How bright the screen is, as its driver counts.
    Brightness,
    /// Whether programs are dark.
    DarkMode,
    /// Whether notifications are held back.
    DoNotDisturb,
    /// How the machine trades speed for power.
    PowerProfile,
    /// Whether the wireless network is on.
    Wifi,
    /// Whether Bluetooth is on.
    Bluetooth,
}

use Setting::{Bluetooth, Brightness, DarkMode, DoNotDisturb, Mute, PowerProfile, Volume, Wifi};

const NAMES: [(Setting, &str); 8] = [
    (Volume, "volume"),
    (Mute, "mute"),
    (Brightness, "brightness"),
    (DarkMode, "dark mode"),
    (DoNotDisturb, "do not disturb"),
    (PowerProfile, "power profile"),
    (Wifi, "wifi"),
    (Bluetooth, "bluetooth"),
];

/// Longest that reading or setting one may take; several calls of a service are behind it.
const LIMIT: Duration = Duration::from_secs(8);

impl Setting {
    /// The path under which the journal knows it.
    pub fn path(self) -> PathBuf {
        let name = NAMES.iter().find(|(setting, _)| *setting == self);
        Path::new("setting").join(name.map_or("", |(_, name)| name))
    }

    /// The setting of such a path; nothing for a file.
    pub fn of(path: &Path) -> Option<Setting> {
        let name = path.strip_prefix("setting").ok()?;
        let known = NAMES.iter().find(|(_, known)| name == Path::new(known));
        known.map(|(setting, _)| *setting)
    }

    /// What it is now.
    ///
    /// # Errors
    /// `Tell` when this desktop does not have it.
    pub async fn read(self, desk: &Desk) -> Result<String, ToolError> {
        match self {
            Volume => sound::volume(desk).await.map(|raw| raw.to_string()),
            Mute => sound::muted(desk).await.map(on_off),
            Brightness => brightness::read(desk).await.map(|raw| raw.to_string()),
            DarkMode => scheme::is_dark(desk).await.map(on_off),
            DoNotDisturb => quiet::is_on(desk).await.map(on_off),
            PowerProfile => profiles::active(desk).await,
            Wifi => wifi::is_on(desk).await.map(on_off),
            Bluetooth => bluetooth::is_on(desk).await.map(on_off),
        }
    }

    /// Sets it.
    ///
    /// # Errors
    /// `Tell` when this desktop does not have it or does not allow it.
    pub async fn write(self, desk: &Desk, value: &str) -> Result<(), ToolError> {
        let number = || value.parse().map_err(|e| ToolError::broken("set that back", e));
        match self {
            Volume => sound::set_volume(desk, number()?).await,
            Mute => sound::set_muted(desk, value == ON).await,
            Brightness => brightness::write(desk, number()?).await,
            DarkMode => scheme::set_dark(desk, value == ON).await,
            DoNotDisturb => quiet::set(desk, value == ON).await,
            PowerProfile => profiles::set(desk, value).await,
            Wifi => wifi::set_on(desk, value == ON).await,
            Bluetooth => bluetooth::set_on(desk, value == ON).await,
        }
    }

    /// Whether two values are the same to the person: hardware rounds what it is told.
    pub fn same(self, a: &str, b: &str) -> bool {
        if a == b {
            return true;
        }
        let (Ok(a), Ok(b)) = (a.parse::<f64>(), b.parse::<f64>()) else {
            return false;
        };
        matches!(self, Volume | Brightness) && (a - b).abs() <= (0.02 * a.max(b)).max(1.0)
    }

    /// [`Setting::read`] where nothing can be awaited.
    ///
    /// # Errors
    /// The same.
    pub fn read_now(self, desk: &Desk) -> Result<String, ToolError> {
        super::wait(LIMIT, self.read(desk))
    }

    /// [`Setting::write`] where nothing can be awaited.
    ///
    /// # Errors
    /// The same.
    pub fn write_now(self, desk: &Desk, value: &str) -> Result<(), ToolError> {
        super::wait(LIMIT, self.write(desk, value))
    }
}

/// How a switch that is on is written.
pub const ON: &str = "on";

/// A switch as it is written.
pub fn on_off(on: bool) -> String {
    if on { ON } else { "off" }.to_owned()
}

/// Changes a setting so that it can be undone, and says what it was before.
///
/// # Errors
/// `Tell` when this desktop does not have it or does not allow it; the journal's.
pub async fn change(ctx: &Ctx, setting: Setting, to: String) -> Result<String, ToolError> {
    let before = setting.read(&ctx.desk).await?;
    if before == to {
        return Ok(before);
    }
    let (was, wanted) = (before.clone(), to.clone());
    let intent = ctx
        .blocking("change that", move |ctx| {
            ctx.step
                .intend(setting, &was, &wanted)
                .map_err(|e| e.tool("change that"))
        })
        .await?;
    if let Err(error) = setting.write(&ctx.desk, &to).await {
        ctx.blocking("change that", move |ctx| {
            ctx.step.withdraw(intent).map_err(|e| e.tool("change that"))
        })
        .await?;
        return Err(error);
    }
    Ok(before)
}
