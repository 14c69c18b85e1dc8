//! Asking an app over the bus to end, as its own menu and its media keys do.

use std::collections::HashMap;

use zbus::Variant;

use super::{
    Desk,
    bus::{At, Bus, On},
    players::Players,
};

/// Asks the app of this id, and the media players among its processes. Whether anything was there to be asked.
pub async fn ask_to_quit(desk: &Desk, id: &str, processes: &[u32]) -> bool {
    let mut asked = false;
    if let Ok(bus) = Bus::open(desk, On::Session).await
        && id.contains('.')
        && bus.has(id).await == Ok(true)
    {
        // The path is the id with slashes (Desktop Entry Specification, "D-Bus activation").
        let path = format!("/{}", id.replace('.', "/").replace('-', "_"));
        let at = At {
            name: id,
            path: &path,
            interface: "org.freedesktop.Application",
        };
        let nothing: Vec<Variant<'_>> = Vec::new();
        let about: HashMap<&str, Variant<'_>> = HashMap::new();
        asked = bus
            .call::<_, ()>(at, "ActivateAction", &("quit", nothing, about))
            .await
            .is_ok();
    }
    if let Ok(players) = Players::here(desk).await {
        for player in &players.all {
            let pid = players.process(player).await;
            if pid.is_some_and(|pid| processes.contains(&pid)) {
                asked |= players.quit(player).await;
            }
        }
    }
    asked
}
