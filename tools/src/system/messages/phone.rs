//! Text messages of a phone that is paired with KDE Connect (its daemon's D-Bus interfaces, as `kdeconnect-cli` uses
//! them).

use std::collections::HashMap;

use jiff::Timestamp;
use zbus::{OwnedVariant, Structure, Variant};

use super::{Message, Way};
use crate::system::{
    desktop::bus::{At, Bus, Trouble},
    plain,
};

const NAME: &str = "org.kde.kdeconnect";
const ROOT: &str = "/modules/kdeconnect";
/// The subject of a sentence.
pub const CALLED: &str = "The phone";
/// Most devices, conversations, and people in one.
const MAX_DEVICES: usize = 8;
const MAX_CONVERSATIONS: usize = 500;
const MAX_PEOPLE: usize = 20;
/// Longest text that is kept of a message, in characters.
const MAX_TEXT: usize = 2000;
/// Telephony's word for a message that the person wrote (`MessageType` of Android).
const SENT: i32 = 2;

/// Phones that are paired and in reach and do text messages.
pub async fn devices(bus: &Bus) -> Vec<Way> {
    if !bus.offers(NAME).await {
        return Vec::new();
    }
    let daemon = at(ROOT, "org.kde.kdeconnect.daemon");
    let names: HashMap<String, String> = bus
        .call(daemon, "deviceNames", &(true, true))
        .await
        .unwrap_or_default();
    let mut names: Vec<(String, String)> = names.into_iter().collect();
    names.sort();
    let mut found = Vec::new();
    for (device, name) in names.into_iter().take(MAX_DEVICES) {
        // It becomes a part of a path.
        let plain = !device.is_empty() && device.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
        let path = format!("{ROOT}/devices/{device}");
        let has = ("kdeconnect_sms",);
        if plain
            && bus
                .call(at(&path, "org.kde.kdeconnect.device"), "hasPlugin", &has)
                .await
                .unwrap_or(false)
        {
            found.push(Way::Phone { device, name });
        }
    }
    found
}

/// Sends a text message.
pub async fn send(bus: &Bus, device: &str, number: &str, text: &str) -> Result<(), Trouble> {
    let path = format!("{ROOT}/devices/{device}/sms");
    let addresses = vec![Variant::from(Structure::from((number,)))];
    let none: Vec<Variant<'_>> = Vec::new();
    bus.call(
        at(&path, "org.kde.kdeconnect.device.sms"),
        "sendSms",
        &(addresses, text, none),
    )
    .await
}

/// The newest message of each conversation.
pub async fn conversations(bus: &Bus, device: &str) -> Result<Vec<Message>, Trouble> {
    let path = format!("{ROOT}/devices/{device}");
    let at = at(&path, "org.kde.kdeconnect.device.conversations");
    let all: Vec<OwnedVariant> = bus.call(at, "activeConversations", &()).await?;
    Ok(all
        .iter()
        .take(MAX_CONVERSATIONS)
        .filter_map(|one| message(one))
        .collect())
}

fn at<'a>(path: &'a str, interface: &'a str) -> At<'a> {
    At {
        name: NAME,
        path,
        interface,
    }
}

/// A message as it is on the bus: event, text, addresses, time in milliseconds, type, read, ... What has another shape
/// is passed over.
fn message(value: &Variant<'_>) -> Option<Message> {
    let Variant::Structure(parts) = value else {
        return None;
    };
    let [
        _,
        Variant::Str(text),
        Variant::Array(addresses),
        Variant::I64(at),
        Variant::I32(kind),
        Variant::I32(read),
        ..,
    ] = parts.fields()
    else {
        return None;
    };
    let numbers: Vec<String> = addresses
        .iter()
        .take(MAX_PEOPLE)
        .filter_map(|address| match address {
            Variant::Structure(parts) => match parts.fields() {
                [Variant::Str(number), ..] => Some(plain::one_line(number, 60)),
                _ => None,
            },
            _ => None,
        })
        .collect();
    let text: String = plain::lines(text).trim().chars().take(MAX_TEXT).collect();
    (!numbers.is_empty()).then_some(Message {
        numbers,
        text,
        at: Timestamp::from_millisecond(*at).ok()?,
        own: *kind == SENT,
        unread: *read == 0 && *kind != SENT,
    })
}
