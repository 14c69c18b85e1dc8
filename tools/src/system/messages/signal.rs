//! signal-cli as a D-Bus service (its manual page signal-cli-dbus(5)): one object where it serves one account, else one
//! for each.

use zbus::OwnedObjectPath;

use super::Way;
use crate::system::session::{BusError, Session};

const NAME: &str = "org.asamk.Signal";
const PATH: &str = "/org/asamk/Signal";

/// The account that sends.
pub async fn account(bus: &Session) -> Option<Way> {
    if !bus.has(NAME).await {
        return None;
    }
    let control = (NAME, PATH, "org.asamk.SignalControl");
    let accounts: Vec<OwnedObjectPath> = bus.call(control, "listAccounts", &()).await.unwrap_or_default();
    let account = accounts
        .first()
        .map_or(PATH.to_owned(), |first| first.to_string());
    Some(Way::Signal { account })
}

/// Sends a message.
pub async fn send(bus: &Session, account: &str, number: &str, text: &str) -> Result<(), BusError> {
    let none: Vec<&str> = Vec::new();
    // The answer is the time stamp by which Signal knows the message.
    let _: i64 = bus
        .call((NAME, account, NAME), "sendMessage", &(text, none, number))
        .await?;
    Ok(())
}
