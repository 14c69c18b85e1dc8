//! Do not disturb: each desktop's own switch, told apart by what its notification service calls itself.

use zbus::Variant;

use super::{
    Desk,
    bus::{At, Bus, On, Trouble},
    child::{Failure, output},
    mac, notices,
};
use crate::contract::ToolError;

/// Where the switch is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Switch {
    /// GNOME's key, shown as "Do Not Disturb" in its menu; Cinnamon and Budgie have the same key under other names.
    Gsettings([&'static str; 2]),
    /// `org.dunstproject.cmd0.paused`.
    Dunst,
    /// A mode of mako that its config gives a meaning.
    Mako,
    /// `org.erikreider.swaync.cc`.
    Swaync,
    /// Plasma keeps until when; a moment far away is "until it is turned off".
    Plasma,
    /// `/do-not-disturb` of xfce4-notifyd.
    Xfce,
}

const DUNST: At = At {
    name: "org.freedesktop.Notifications",
    path: "/org/freedesktop/Notifications",
    interface: "org.dunstproject.cmd0",
};
const SWAYNC: At = At {
    name: "org.erikreider.swaync.cc",
    path: "/org/erikreider/swaync/cc",
    interface: "org.erikreider.swaync.cc",
};
const MAKO_MODE: &str = "do-not-disturb";
const PLASMA: [&str; 6] = [
    "--file",
    "plasmanotifyrc",
    "--group",
    "DoNotDisturb",
    "--key",
    "Until",
];
const XFCE: [&str; 4] = ["-c", "xfce4-notifyd", "-p", "/do-not-disturb"];

/// Whether notifications are held back.
///
/// # Errors
/// `Tell` where this desktop has no such switch.
pub async fn is_on(desk: &Desk) -> Result<bool, ToolError> {
    if cfg!(target_os = "macos") {
        return mac::no_focus();
    }
    let (bus, switch) = find(desk).await?;
    let fail = |trouble: Trouble| trouble.tell(notices::CALLED);
    match switch {
        Switch::Gsettings([schema, key]) => {
            let shown = run(desk, "gsettings", &["get", schema, key]).await?;
            Ok(shown.trim() == "false")
        }
        Switch::Dunst => bus.get(DUNST, "paused").await.map_err(fail),
        Switch::Mako => {
            let modes = run(desk, "makoctl", &["mode"]).await?;
            Ok(modes.lines().any(|mode| mode.trim() == MAKO_MODE))
        }
        Switch::Swaync => bus.call(SWAYNC, "GetDnd", &()).await.map_err(fail),
        Switch::Plasma => {
            let until = run(desk, &kde(desk, "kreadconfig"), &PLASMA).await?;
            Ok(lasts(&until, &jiff::Zoned::now()))
        }
        Switch::Xfce => Ok(run(desk, "xfconf-query", &XFCE).await?.trim() == "true"),
    }
}

/// Holds notifications back, or lets them through again.
///
/// # Errors
/// As [`is_on`].
pub async fn set(desk: &Desk, on: bool) -> Result<(), ToolError> {
    if cfg!(target_os = "macos") {
        return mac::no_focus().map(drop);
    }
    let (bus, switch) = find(desk).await?;
    let fail = |trouble: Trouble| trouble.tell(notices::CALLED);
    match switch {
        Switch::Gsettings([schema, key]) => {
            let shown = if on { "false" } else { "true" };
            run(desk, "gsettings", &["set", schema, key, shown]).await?;
        }
        Switch::Dunst => bus.set(DUNST, "paused", Variant::from(on)).await.map_err(fail)?,
        Switch::Mako => {
            let change = if on { "-a" } else { "-r" };
            run(desk, "makoctl", &["mode", change, MAKO_MODE]).await?;
        }
        Switch::Swaync => bus.call(SWAYNC, "SetDnd", &(on,)).await.map_err(fail)?,
        Switch::Plasma => {
            let until = if on { "2099,1,1,0,0,0" } else { "" };
            let arguments: Vec<&str> = PLASMA.into_iter().chain(["--notify", until]).collect();
            run(desk, &kde(desk, "kwriteconfig"), &arguments).await?;
        }
        Switch::Xfce => {
            let value = if on { "true" } else { "false" };
            let arguments: Vec<&str> = XFCE
                .into_iter()
                .chain(["-n", "-t", "bool", "-s", value])
                .collect();
            run(desk, "xfconf-query", &arguments).await?;
        }
    }
    Ok(())
}

/// What there is, for `tiro doctor`.
pub async fn describe(desk: &Desk) -> Result<String, ToolError> {
    let on = is_on(desk).await?;
    Ok(format!("It is {}.", if on { "on" } else { "off" }))
}

async fn find(desk: &Desk) -> Result<(Bus, Switch), ToolError> {
    let fail = |trouble: Trouble| trouble.tell(notices::CALLED);
    let bus = Bus::open(desk, On::Session).await.map_err(fail)?;
    let server = notices::server(&bus).await.map_err(fail)?;
    let switch = match server.to_lowercase().as_str() {
        "gnome-shell" => Switch::Gsettings(["org.gnome.desktop.notifications", "show-banners"]),
        "cinnamon" => Switch::Gsettings(["org.cinnamon.desktop.notifications", "display-notifications"]),
        "dunst" => Switch::Dunst,
        "mako" => Switch::Mako,
        "swaync" | "swaynotificationcenter" => Switch::Swaync,
        "plasma" => Switch::Plasma,
        "xfce notify daemon" | "xfce4-notifyd" => Switch::Xfce,
        _ => {
            return Err(ToolError::tell(
                "This desktop has no do not disturb that I can switch.",
            ));
        }
    };
    Ok((bus, switch))
}

/// Whether a moment as KConfig writes it (year, month, day, hour, minute and seconds with commas between, in local time) is
/// still to come: Plasma leaves one there that has passed. What is no moment that can be read lasts, as anything did before.
fn lasts(until: &str, now: &jiff::Zoned) -> bool {
    let until = until.trim();
    let part = |n: usize| until.split(',').nth(n)?.trim().parse::<i16>().ok();
    let small = |n: usize| i8::try_from(part(n)?).ok();
    let moment = || {
        let second = until
            .split(',')
            .nth(5)?
            .trim()
            .split('.')
            .next()?
            .parse::<i8>()
            .ok()?;
        jiff::civil::DateTime::new(part(0)?, small(1)?, small(2)?, small(3)?, small(4)?, second, 0).ok()
    };
    !until.is_empty() && moment().is_none_or(|moment| moment > now.datetime())
}

/// The tool of the Plasma that is installed.
fn kde(desk: &Desk, name: &str) -> String {
    let six = format!("{name}6");
    match desk.program(&six) {
        Some(_) => six,
        None => format!("{name}5"),
    }
}

async fn run(desk: &Desk, program: &str, arguments: &[&str]) -> Result<String, ToolError> {
    output(desk, program, arguments)
        .await
        .map_err(|failure| match failure {
            Failure::Missing => ToolError::tell(format!(
                "I cannot switch do not disturb: {program} is not installed."
            )),
            Failure::Silent => ToolError::tell(format!("{program} does not answer.")),
            Failure::Failed(words) => {
                tracing::debug!(words, program, "no do not disturb");
                ToolError::tell("This desktop has no do not disturb that I can switch.")
            }
        })
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_moment_that_has_passed_holds_nothing_back() {
        let now: jiff::Zoned = "2026-11-23T09:30:00[Europe/Berlin]".parse().unwrap();
        for (until, expect) in [
            ("", false),
            ("\n", false),
            ("2099,1,1,0,0,0\n", true),
            ("2026,11,23,9,30,1", true),
            ("2026,11,23,10,0,12.345", true),
            ("2026,11,23,9,29,59.999", false),
            ("2025,12,31,23,59,59", false),
            ("2026,13,1,0,0,0", true),
            ("soon", true),
        ] {
            assert_eq!(super::lasts(until, &now), expect, "{until:?}");
        }
    }
}
