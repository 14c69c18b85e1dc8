//! The brightness of the screen: read in sysfs, set through logind, which lets the person of the session do that.

use std::path::{Path, PathBuf};

use super::{
    Desk,
    bus::{At, Bus, On},
};
use crate::{contract::ToolError, system::store};

/// Longest content of one file in sysfs that is read, in bytes.
const MAX_VALUE: u64 = 64;

const SESSION: At = At {
    name: "org.freedesktop.login1",
    path: "/org/freedesktop/login1/session/auto",
    interface: "org.freedesktop.login1.Session",
};

/// A screen that can be dimmed.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Backlight {
    folder: PathBuf,
    name: String,
    full: u32,
}

/// How bright it is, as the driver counts.
///
/// # Errors
/// `Tell` where no screen can be dimmed.
pub async fn read(desk: &Desk) -> Result<u32, ToolError> {
    let light = find(desk)?;
    number(&light.folder.join("brightness")).ok_or_else(absent)
}

/// The brightest that there is, as the driver counts.
///
/// # Errors
/// As [`read`].
pub fn full(desk: &Desk) -> Result<u32, ToolError> {
    find(desk).map(|light| light.full)
}

/// Sets it.
///
/// # Errors
/// As [`read`]; what logind says.
pub async fn write(desk: &Desk, raw: u32) -> Result<(), ToolError> {
    let light = find(desk)?;
    let called = "The login service";
    let bus = Bus::open(desk, On::System).await.map_err(|t| t.tell(called))?;
    let body = ("backlight", light.name.as_str(), raw.min(light.full));
    bus.call(SESSION, "SetBrightness", &body)
        .await
        .map_err(|t| t.tell(called))
}

/// What there is, for `tiro doctor`.
pub async fn describe(desk: &Desk) -> Result<String, ToolError> {
    let (now, full) = (read(desk).await?, full(desk)?);
    Ok(format!("The screen is at {} percent.", percent(now, full)))
}

/// In percent of the brightest.
pub fn percent(raw: u32, full: u32) -> u32 {
    let percent = (u64::from(raw) * 100 + u64::from(full) / 2) / u64::from(full.max(1));
    u32::try_from(percent).unwrap_or(100).min(100)
}

/// Percent as the driver counts.
pub fn of_percent(percent: u32, full: u32) -> u32 {
    let raw = (u64::from(percent) * u64::from(full) + 50) / 100;
    u32::try_from(raw).unwrap_or(full).min(full)
}

/// The screen's own light: firmware knows best which that is, then the platform (sysfs-class-backlight).
fn find(desk: &Desk) -> Result<Backlight, ToolError> {
    let entries = std::fs::read_dir(desk.root.join("sys/class/backlight")).map_err(|_| absent())?;
    let mut lights: Vec<(usize, Backlight)> = entries
        .filter_map(Result::ok)
        .take(32)
        .filter_map(|entry| {
            let folder = entry.path();
            let full = number(&folder.join("max_brightness")).filter(|full| *full > 0)?;
            let kind = text(&folder.join("type")).unwrap_or_default();
            let rank = ["firmware", "platform", "raw"]
                .iter()
                .position(|k| *k == kind)
                .unwrap_or(3);
            let name = entry.file_name().to_str()?.to_owned();
            Some((rank, Backlight { folder, name, full }))
        })
        .collect();
    lights.sort_by(|a, b| (a.0, &a.1.name).cmp(&(b.0, &b.1.name)));
    lights
        .into_iter()
        .next()
        .map(|(_, light)| light)
        .ok_or_else(absent)
}

fn absent() -> ToolError {
    ToolError::tell("This computer has no screen whose brightness I can set.")
}

fn number(path: &Path) -> Option<u32> {
    text(path)?.parse().ok()
}

fn text(path: &Path) -> Option<String> {
    let bytes = store::read_bounded(path, MAX_VALUE).ok()?;
    Some(String::from_utf8(bytes).ok()?.trim().to_owned())
}
