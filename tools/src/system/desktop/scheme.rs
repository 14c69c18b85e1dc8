//! Dark and light: read through the settings portal, which all desktops have, and set where the desktop keeps it.

use super::{
    Desk,
    bus::{At, Bus, On, Trouble},
    child::{Failure, output},
    mac,
};
use crate::contract::ToolError;
use zbus::{OwnedVariant, Variant};

const PORTAL: At = At {
    name: "org.freedesktop.portal.Desktop",
    path: "/org/freedesktop/portal/desktop",
    interface: "org.freedesktop.portal.Settings",
};

/// GNOME's key; the desktops that follow GNOME and every GTK program read it, too.
const SCHEMA: [&str; 2] = ["org.gnome.desktop.interface", "color-scheme"];

/// Whether programs are dark.
///
/// # Errors
/// `Tell` where no desktop says so.
pub async fn is_dark(desk: &Desk) -> Result<bool, ToolError> {
    if cfg!(target_os = "macos") {
        return mac::is_dark(desk).await;
    }
    // What is set is asked first: a portal without a backend answers "no preference" for ever.
    if !is_plasma(desk)
        && let Ok(value) = output(desk, "gsettings", &["get", SCHEMA[0], SCHEMA[1]]).await
    {
        return Ok(value.contains("prefer-dark"));
    }
    match portal(desk).await {
        // 0 is no preference, 1 dark and 2 light (org.freedesktop.appearance).
        Ok(scheme) => Ok(scheme == 1),
        Err(trouble) => Err(trouble.tell("The service for the desktop's settings")),
    }
}

/// Makes programs dark or light.
///
/// # Errors
/// `Tell` where this desktop has no such setting.
pub async fn set_dark(desk: &Desk, dark: bool) -> Result<(), ToolError> {
    if cfg!(target_os = "macos") {
        return mac::set_dark(desk, dark).await;
    }
    let done = match is_plasma(desk) {
        true => {
            let scheme = if dark { "BreezeDark" } else { "BreezeLight" };
            output(desk, "plasma-apply-colorscheme", &[scheme]).await
        }
        false => {
            let value = if dark { "prefer-dark" } else { "default" };
            output(desk, "gsettings", &["set", SCHEMA[0], SCHEMA[1], value]).await
        }
    };
    match done {
        Ok(_) => Ok(()),
        Err(Failure::Silent) => Err(ToolError::tell("The desktop's settings do not answer.")),
        Err(Failure::Missing | Failure::Failed(_)) => Err(ToolError::tell(
            "This desktop has no dark mode that I can switch.",
        )),
    }
}

/// What there is, for `tiro doctor`.
pub async fn describe(desk: &Desk) -> Result<String, ToolError> {
    let dark = is_dark(desk).await?;
    Ok(format!("It is {}.", if dark { "dark" } else { "light" }))
}

async fn portal(desk: &Desk) -> Result<u32, Trouble> {
    let bus = Bus::open(desk, On::Session).await?;
    let key = ("org.freedesktop.appearance", "color-scheme");
    let value: OwnedVariant = match bus.call(PORTAL, "ReadOne", &key).await {
        // Before version 2 there was only Read, which wraps the value twice.
        Err(Trouble::Unknown) => bus.call(PORTAL, "Read", &key).await?,
        other => other?,
    };
    number(&value).ok_or(Trouble::Garbage)
}

fn number(value: &Variant<'_>) -> Option<u32> {
    match value {
        Variant::U32(number) => Some(*number),
        Variant::Variant(inner) => number(inner),
        _ => None,
    }
}

fn is_plasma(desk: &Desk) -> bool {
    desk.var("XDG_CURRENT_DESKTOP")
        .is_some_and(|desktop| desktop.split(':').any(|name| name == "KDE"))
}
