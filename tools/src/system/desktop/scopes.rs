//! A systemd scope for each app that is opened, as desktops give their own: it is no part of Tiro then, and outlives it.

use zbus::{OwnedObjectPath, Variant};

use super::{
    Desk,
    bus::{At, Bus, On, Trouble},
};
use crate::contract::ToolError;

/// The user's service manager.
pub const MANAGER: At = At {
    name: "org.freedesktop.systemd1",
    path: "/org/freedesktop/systemd1",
    interface: "org.freedesktop.systemd1.Manager",
};

/// Moves a process into a scope named after the app (systemd.io/DESKTOP_ENVIRONMENTS). Without a user manager the
/// process stays where it is, and nothing else changes.
pub async fn adopt(desk: &Desk, id: &str, pid: u32) {
    if let Err(trouble) = try_adopt(desk, id, pid).await {
        tracing::debug!(?trouble, "an app has no scope of its own");
    }
}

async fn try_adopt(desk: &Desk, id: &str, pid: u32) -> Result<(), Trouble> {
    let bus = Bus::open(desk, On::Session).await?;
    let name = format!("app-tiro-{}-{pid}.scope", escaped(id));
    let properties = vec![
        ("PIDs", Variant::from(vec![pid])),
        ("CollectMode", Variant::from("inactive-or-failed")),
        ("Slice", Variant::from("app.slice")),
    ];
    let others: Vec<(&str, Vec<(&str, Variant<'_>)>)> = Vec::new();
    let _job: OwnedObjectPath = bus
        .call(
            MANAGER,
            "StartTransientUnit",
            &(name.as_str(), "fail", properties, others),
        )
        .await?;
    Ok(())
}

/// What there is, for `tiro doctor`.
pub async fn describe(desk: &Desk) -> Result<String, ToolError> {
    let called = "The user's service manager (systemd)";
    let bus = Bus::open(desk, On::Session).await.map_err(|t| t.tell(called))?;
    match bus.has(MANAGER.name).await {
        Ok(true) => Ok("Apps are opened in one each.".to_owned()),
        Ok(false) => Err(Trouble::Absent.tell(called)),
        Err(trouble) => Err(trouble.tell(called)),
    }
}

/// As names of units write other characters, the hyphen among them, because it separates the parts here.
pub fn escaped(id: &str) -> String {
    let mut name = String::new();
    for (at, byte) in id.bytes().take(100).enumerate() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b':' | b'_' => name.push(char::from(byte)),
            b'.' if at > 0 => name.push('.'),
            _ => name.push_str(&format!("\\x{byte:02x}")),
        }
    }
    name
}

#[cfg(test)]
mod tests {
    #[test]
    fn names_of_units_are_escaped() {
        for (id, expect) in [
            ("org.gnome.Maps", "org.gnome.Maps"),
            ("firefox-esr", "firefox\\x2desr"),
            ("../x y", "\\x2e.\\x2fx\\x20y"),
            ("ü", "\\xc3\\xbc"),
        ] {
            assert_eq!(super::escaped(id), expect, "{id}");
        }
    }
}
