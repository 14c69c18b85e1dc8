//! Notifications (Desktop Notifications Specification 1.2).

use std::collections::HashMap;

use zbus::Variant;

use super::{
    Desk,
    bus::{At, Bus, On, Trouble},
    mac,
};
use crate::{contract::ToolError, system::plain};

/// The service that shows notifications; what holds them back lives there, too.
pub(super) const SERVER: At = At {
    name: "org.freedesktop.Notifications",
    path: "/org/freedesktop/Notifications",
    interface: "org.freedesktop.Notifications",
};
pub(super) const CALLED: &str = "The service that shows notifications";

/// Shows a notification.
///
/// # Errors
/// `Tell` where nothing shows any.
pub async fn show(desk: &Desk, title: &str, text: &str) -> Result<(), ToolError> {
    if cfg!(target_os = "macos") {
        return mac::notify(desk, title, text).await;
    }
    let fail = |trouble: Trouble| trouble.tell(CALLED);
    let bus = Bus::open(desk, On::Session).await.map_err(fail)?;
    let capabilities: Vec<String> = bus.call(SERVER, "GetCapabilities", &()).await.map_err(fail)?;
    // Only what takes markup must be kept from taking this for markup.
    let body = match capabilities.iter().any(|name| name == "body-markup") {
        true => text
            .replace('&', "&amp;")
            .replace('<', "&lt;")
            .replace('>', "&gt;"),
        false => text.to_owned(),
    };
    let hints: HashMap<&str, Variant<'_>> = HashMap::from([("urgency", Variant::from(1_u8))]);
    let actions: &[&str] = &[];
    let icon = "dialog-information-symbolic";
    let body = ("Tiro", 0_u32, icon, title, body.as_str(), actions, hints, -1_i32);
    let _id: u32 = bus.call(SERVER, "Notify", &body).await.map_err(fail)?;
    Ok(())
}

/// What the service calls itself: "gnome-shell", "dunst".
pub(super) async fn server(bus: &Bus) -> Result<String, Trouble> {
    let about: (String, String, String, String) = bus.call(SERVER, "GetServerInformation", &()).await?;
    Ok(about.0)
}

/// What there is, for `tiro doctor`.
pub async fn describe(desk: &Desk) -> Result<String, ToolError> {
    let bus = Bus::open(desk, On::Session).await.map_err(|t| t.tell(CALLED))?;
    let server = server(&bus).await.map_err(|t| t.tell(CALLED))?;
    Ok(format!("Shown by {}.", plain::one_line(&server, 40)))
}
