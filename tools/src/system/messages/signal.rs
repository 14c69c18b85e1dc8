//! signal-cli as a D-Bus service (its manual page signal-cli-dbus(5)): one object where it serves one account, else one
//! for each.

use zbus::OwnedObjectPath;

use super::Way;
use crate::system::desktop::bus::{At, Bus, Trouble};

const NAME: &str = "org.asamk.Signal";
const PATH: &str = "/org/asamk/Signal";
/// The subject of a sentence.
pub const CALLED: &str = "Signal";

/// The account that sends.
pub async fn account(bus: &Bus) -> Option<Way> {
    if !bus.offers(NAME).await {
        return None;
    }
    let control = At {
        name: NAME,
        path: PATH,
        interface: "org.asamk.SignalControl",
    };
    let accounts: Vec<OwnedObjectPath> = bus.call(control, "listAccounts", &()).await.unwrap_or_default();
    let account = accounts
        .first()
        .map_or(PATH.to_owned(), |first| first.to_string());
    Some(Way::Signal { account })
}

/// Sends a message.
pub async fn send(bus: &Bus, account: &str, number: &str, text: &str) -> Result<(), Trouble> {
    let none: Vec<&str> = Vec::new();
    // The answer is the time stamp by which Signal knows the message.
    let at = At {
        name: NAME,
        path: account,
        interface: NAME,
    };
    let _: i64 = bus.call(at, "sendMessage", &(text, none, number)).await?;
    Ok(())
}
