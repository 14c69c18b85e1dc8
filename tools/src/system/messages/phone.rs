//! Text messages of a phone that is paired with KDE Connect (its daemon's D-Bus interfaces, as `kdeconnect-cli` and
//! `kdeconnect-sms` use them; seen with kdeconnectd 22.12.3, and read in the source of 26.08).

use std::{collections::HashMap, num::NonZeroUsize, time::Duration};

use futures_util::{Stream, StreamExt as _, future::join_all};
use jiff::Timestamp;
use tokio::time::{Instant, sleep, timeout_at};
use zbus::{MatchRule, MessageStream, OwnedVariant, Structure, Variant, message};

use super::{Going, Message, Way};
use crate::{
    contract::ToolError,
    system::{
        desktop::bus::{At, Bus, Trouble},
        plain,
    },
};

const NAME: &str = "org.kde.kdeconnect";
const ROOT: &str = "/modules/kdeconnect";
const DAEMON: At = At {
    name: NAME,
    path: ROOT,
    interface: "org.kde.kdeconnect.daemon",
};
const DEVICE: &str = "org.kde.kdeconnect.device";
const SMS: &str = "org.kde.kdeconnect.device.sms";
const CONVERSATIONS: &str = "org.kde.kdeconnect.device.conversations";
/// The subject of a sentence.
pub const CALLED: &str = "KDE Connect";
/// Most devices that are looked at, whatever they are; then most phones, conversations, people in one, and things that
/// come with a message.
const MAX_KNOWN: usize = 64;
const MAX_DEVICES: usize = 8;
const MAX_CONVERSATIONS: usize = 500;
const MAX_PEOPLE: usize = 20;
const MAX_ATTACHED: usize = 10;
/// Longest text that is kept of a message, in characters.
const MAX_TEXT: usize = 2000;
/// How long a phone that is paired may take to come back, and how often we look.
const RETURN: Duration = Duration::from_secs(3);
const LOOK: Duration = Duration::from_millis(200);
/// How long a phone may take to show its first conversation, and all of them. It says of none that it is the last, so
/// nothing for a moment is the end.
const FIRST: Duration = Duration::from_secs(4);
const WAITS: Waits = Waits {
    first: FIRST,
    quiet: Duration::from_millis(700),
    all: Duration::from_secs(10),
};

/// How long a phone is listened to: for its first conversation, after each, and altogether.
#[derive(Debug, Clone, Copy)]
struct Waits {
    first: Duration,
    quiet: Duration,
    all: Duration,
}

/// How much a phone told when it was asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Heard {
    /// It did not answer.
    Nothing,
    /// It was still telling when the time was over.
    Cut,
    /// It fell silent after some.
    All,
}

/// Why there is no phone to send with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Missing {
    /// There is no KDE Connect, or no phone is paired with it.
    Phone,
    /// It is paired, but out of reach: its name, or those of several.
    Away(String),
    /// It is there, but does no text messages, or is not allowed to.
    Mute(String),
    /// KDE Connect itself fails.
    Daemon(Trouble),
}

impl Missing {
    /// What the person hears. Phones choose their names themselves.
    pub fn tell(self) -> ToolError {
        match self {
            Missing::Phone => ToolError::tell(
                "No phone is reachable: pair one with KDE Connect, and keep it on the same network.",
            ),
            Missing::Away(names) => ToolError::TellOthers(format!(
                "KDE Connect cannot reach {names} now. Is it on, and on the same network?"
            )),
            Missing::Mute(names) => ToolError::TellOthers(format!(
                "KDE Connect has no text messages of {names}: allow them in its app, and switch its SMS plugin on here."
            )),
            Missing::Daemon(trouble) => trouble.tell(CALLED),
        }
    }
}

/// Phones that are paired and in reach and do text messages. When none is in reach, those that are paired are called, and
/// may be waited for: the daemon may have been started by this very question, and a phone that slept comes back when it
/// hears it.
///
/// # Errors
/// Why there is none.
pub async fn devices(bus: &Bus, wait: bool) -> Result<Vec<Way>, Missing> {
    if !bus.offers(NAME).await {
        return Err(Missing::Phone);
    }
    let kinds = names(bus, false).await?.into_iter().map(async |(device, name)| {
        let kind: Result<String, _> = bus.get(at(&path(&device), DEVICE), "type").await;
        // Computers pair with each other, too, and none of them is a phone that is away.
        let computer = kind.is_ok_and(|kind| ["desktop", "laptop", "tv"].contains(&kind.as_str()));
        (!computer).then_some((device, name))
    });
    let paired: Vec<_> = join_all(kinds).await.into_iter().flatten().collect();
    if paired.is_empty() {
        return Err(Missing::Phone);
    }
    let mut there = reachable(bus, &paired).await?;
    if there.is_empty() && wait {
        // Where it cannot call them, they may come by themselves.
        let _: Result<(), Trouble> = bus.call(DAEMON, "forceOnNetworkChange", &()).await;
        let began = Instant::now();
        while there.is_empty() && began.elapsed() < RETURN {
            sleep(LOOK).await;
            there = reachable(bus, &paired).await?;
        }
    }
    if there.is_empty() {
        return Err(Missing::Away(called(paired)));
    }
    there.truncate(MAX_DEVICES);
    let plugins = there.iter().map(async |(device, _)| -> Result<bool, Trouble> {
        bus.call(at(&path(device), DEVICE), "hasPlugin", &("kdeconnect_sms",))
            .await
    });
    let (mut found, mut failed) = (Vec::new(), None);
    for ((device, name), has) in there.iter().zip(join_all(plugins).await) {
        match has {
            Ok(true) => found.push(Way::Phone {
                device: device.clone(),
                name: name.clone(),
            }),
            // One that was unpaired a moment ago has no object any more.
            Ok(false) | Err(Trouble::Unknown) => {}
            Err(trouble) => failed = Some(trouble),
        }
    }
    match (found.is_empty(), failed) {
        (false, _) => Ok(found),
        (true, Some(trouble)) => Err(Missing::Daemon(trouble)),
        (true, None) => Err(Missing::Mute(called(there))),
    }
}

/// Those of the paired ones that are in reach.
async fn reachable(bus: &Bus, paired: &[(String, String)]) -> Result<Vec<(String, String)>, Missing> {
    let mut there = names(bus, true).await?;
    there.retain(|(device, _)| paired.iter().any(|(known, _)| known == device));
    Ok(there)
}

/// The ids and names of paired devices, by id.
async fn names(bus: &Bus, reachable: bool) -> Result<Vec<(String, String)>, Missing> {
    let names: HashMap<String, String> = bus
        .call(DAEMON, "deviceNames", &(reachable, true))
        .await
        .map_err(|trouble| match trouble {
            Trouble::Absent => Missing::Phone,
            trouble => Missing::Daemon(trouble),
        })?;
    // The id becomes a part of a path. The daemon itself puts underscores for what may not stand there.
    let is_plain = |id: &str| !id.is_empty() && id.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
    let mut names: Vec<(String, String)> = names
        .into_iter()
        .filter(|(device, _)| is_plain(device))
        .map(|(device, name)| (device, plain::one_line(&name, 40)))
        .collect();
    names.sort();
    names.truncate(MAX_KNOWN);
    Ok(names)
}

fn called(devices: Vec<(String, String)>) -> String {
    let names: Vec<String> = devices
        .into_iter()
        .take(MAX_DEVICES)
        .map(|(_, name)| name)
        .collect();
    plain::listed(&names, "or")
}

/// Hands a text message to the daemon. Whether it reached the phone and went out, the daemon does not say.
pub async fn send(bus: &Bus, device: &str, number: &str, text: &str) -> Result<(), Trouble> {
    let path = format!("{}/sms", path(device));
    let addresses = vec![Variant::from(Structure::from((number,)))];
    let none: Vec<Variant<'_>> = Vec::new();
    bus.call(at(&path, SMS), "sendSms", &(addresses, text, none))
        .await
}

/// The newest message of each conversation, newest first, and how much the phone told just now. The daemon knows only
/// what the phone has told it since it came, and that is nothing until somebody asks.
pub async fn conversations(bus: &Bus, device: &str) -> Result<(Vec<Message>, Heard), Trouble> {
    let path = path(device);
    let told = listen(bus, &path).await?;
    let sms = format!("{path}/sms");
    let () = bus.call(at(&sms, SMS), "requestAllConversations", &()).await?;
    let heard = until_quiet(told, WAITS).await;
    let all: Vec<OwnedVariant> = bus
        .call(at(&path, CONVERSATIONS), "activeConversations", &())
        .await?;
    let mut all: Vec<Message> = all.iter().filter_map(|one| message(one)).collect();
    all.sort_by_key(|message| std::cmp::Reverse(message.at));
    all.truncate(MAX_CONVERSATIONS);
    Ok((all, heard))
}

/// What the daemon says each time when the phone has told it of a conversation, known or new.
async fn listen(bus: &Bus, path: &str) -> Result<MessageStream, Trouble> {
    let rule = MatchRule::builder()
        .msg_type(message::Type::Signal)
        .sender(NAME)
        .interface(CONVERSATIONS)
        .member("conversationLoaded")
        .path(path.to_owned())
        .build()
        .map_err(|_| Trouble::Garbage)?;
    let listening =
        MessageStream::for_match_rule(rule, bus.connection(), NonZeroUsize::new(MAX_CONVERSATIONS));
    timeout_at(Instant::now() + FIRST, listening)
        .await
        .map_err(|_| Trouble::Silent)?
        .map_err(|_| Trouble::Gone)
}

/// Waits for the phone's conversations to come in.
async fn until_quiet(mut told: impl Stream + Unpin, waits: Waits) -> Heard {
    let began = Instant::now();
    let last = began + waits.all;
    let (mut heard, mut end) = (Heard::Nothing, began + waits.first);
    loop {
        let news = timeout_at(end.min(last), told.next()).await;
        let now = Instant::now();
        match news {
            // What never stops is never waited for, so its time has to be looked at, too.
            Ok(Some(_)) if now < last => {
                heard = Heard::All;
                end = now + waits.quiet;
            }
            Ok(Some(_)) => return Heard::Cut,
            // It was not quiet for long enough.
            Ok(None) | Err(_) if heard == Heard::All && now < end => return Heard::Cut,
            Ok(None) | Err(_) => return heard,
        }
    }
}

fn path(device: &str) -> String {
    format!("{ROOT}/devices/{device}")
}

fn at<'a>(path: &'a str, interface: &'a str) -> At<'a> {
    At {
        name: NAME,
        path,
        interface,
    }
}

/// A message as it is on the bus, `(isa(s)xiixixa(xsss))`: events, text, addresses, time in milliseconds, type, read,
/// conversation, its own number, SIM, and what comes with it: number, MIME type, small picture, name. What has another
/// shape is passed over, and so are drafts, which nobody has sent.
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
        rest @ ..,
    ] = parts.fields()
    else {
        return None;
    };
    let going = going(*kind)?;
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
        going,
        unread: *read == 0 && going == Going::In,
        attached: attached(rest),
    })
}

/// Telephony's words for where a message is (`Telephony.TextBasedSmsColumns` of Android, 1 to 6); nothing for a draft.
fn going(kind: i32) -> Option<Going> {
    match kind {
        3 => None,
        // The daemon keeps a message as it was when it first saw it, so one that was on its way then may be there by now.
        2 | 4 | 6 => Some(Going::Out),
        5 => Some(Going::Failed),
        _ => Some(Going::In),
    }
}

/// What comes with a message, in words: "picture". Older daemons say nothing of it.
fn attached(rest: &[Variant<'_>]) -> Vec<&'static str> {
    let [_, _, _, Variant::Array(attached), ..] = rest else {
        return Vec::new();
    };
    let named = |one: &Variant<'_>| match one {
        Variant::Structure(parts) => match parts.fields() {
            [_, Variant::Str(mime), ..] => match mime.split('/').next() {
                Some("image") => "picture",
                Some("video") => "video",
                Some("audio") => "recording",
                _ => "file",
            },
            _ => "file",
        },
        _ => "file",
    };
    attached.iter().take(MAX_ATTACHED).map(named).collect()
}

#[cfg(test)]
mod tests {
    use futures_util::stream::{iter, repeat, unfold};

    use super::*;

    const SHORT: Waits = Waits {
        first: Duration::from_millis(400),
        quiet: Duration::from_millis(300),
        all: Duration::from_millis(1200),
    };

    /// So many signals, each so long after the one before, and then nothing more.
    async fn heard(many: usize, gap: Duration) -> Heard {
        let told = unfold(0, async |done| {
            if done == many {
                return std::future::pending().await;
            }
            sleep(gap).await;
            Some(((), done + 1))
        });
        until_quiet(Box::pin(told), SHORT).await
    }

    #[tokio::test]
    async fn a_phone_is_waited_for_until_it_is_quiet_or_takes_too_long() {
        let gap = Duration::from_millis(50);
        assert_eq!(heard(0, gap).await, Heard::Nothing);
        assert_eq!(heard(1, 2 * SHORT.first).await, Heard::Nothing);
        // Longer than the first may take, and shorter than all.
        assert_eq!(heard(10, gap).await, Heard::All);
        assert_eq!(heard(1000, gap).await, Heard::Cut);
        assert_eq!(until_quiet(repeat(()), SHORT).await, Heard::Cut);
        assert_eq!(until_quiet(iter(Vec::<()>::new()), SHORT).await, Heard::Nothing);
    }
}
