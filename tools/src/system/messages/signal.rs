//! signal-cli as a D-Bus service (its manual page signal-cli-dbus(5)): one object where it serves one account, else one
//! for each.

use zbus::OwnedObjectPath;

use super::Way;
use crate::{
    contract::ToolError,
    system::{
        desktop::bus::{At, Bus, Trouble},
        plain,
    },
};

const NAME: &str = "org.asamk.Signal";
const PATH: &str = "/org/asamk/Signal";
/// The subject of a sentence.
pub const CALLED: &str = "Signal";

/// Most accounts that are named when the person has to choose.
const MOST: usize = 5;

/// Whether it runs.
pub async fn is_there(bus: &Bus) -> bool {
    bus.offers(NAME).await
}

/// The account that sends: the one of this number, else the only one.
///
/// # Errors
/// `Tell` when there are several and no number says which, and when there is none of that number.
pub async fn account(bus: &Bus, wanted: &str) -> Result<Option<Way>, ToolError> {
    if !is_there(bus).await {
        return Ok(None);
    }
    let control = At {
        name: NAME,
        path: PATH,
        interface: "org.asamk.SignalControl",
    };
    let accounts: Vec<OwnedObjectPath> = bus.call(control, "listAccounts", &()).await.unwrap_or_default();
    let digits: String = wanted.chars().filter(char::is_ascii_digit).collect();
    let account = match &accounts[..] {
        // It was started for one account, which it does not name.
        [] => PATH.to_owned(),
        [one] if digits.is_empty() => one.to_string(),
        several if digits.is_empty() => {
            return Err(ToolError::tell(format!(
                "Signal has several accounts here: {}. Say which one sends with messages.signal in the config.",
                plain::listed(&numbers(several), "and")
            )));
        }
        all => match all.iter().find(|account| of(account) == Some(digits.as_str())) {
            Some(account) => account.to_string(),
            None => {
                return Err(ToolError::tell(format!(
                    "Signal has no account +{digits} here, which messages.signal in the config names. There is {}.",
                    plain::listed(&numbers(all), "and")
                )));
            }
        },
    };
    Ok(Some(Way::Signal { account }))
}

/// The digits of an account's number, by its object: `/org/asamk/Signal/_491712345678`.
fn of(account: &OwnedObjectPath) -> Option<&str> {
    let (_, digits) = account.as_str().rsplit_once("/_")?;
    Some(digits).filter(|digits| digits.bytes().all(|b| b.is_ascii_digit()))
}

fn numbers(accounts: &[OwnedObjectPath]) -> Vec<String> {
    let known = accounts.iter().filter_map(of).take(MOST);
    known.map(|digits| format!("+{digits}")).collect()
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
