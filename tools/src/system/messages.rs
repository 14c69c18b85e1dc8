//! Messages through what runs on this computer: Signal through signal-cli's service, text messages through a phone that
//! is paired with KDE Connect. Tiro has no account of its own and keeps nothing of them.

mod signal;
mod phone;

use futures_util::future::join_all;
use jiff::Timestamp;
use phone::{Heard, Missing};

use super::{
    contacts::{self, Contact},
    desktop::{
        Desk,
        bus::{Bus, On, Trouble},
    },
    heard::Ear,
    memory, plain,
};
use crate::contract::{Ctx, Dirs, ToolError};

/// Longest message, in characters.
const MAX_TEXT: usize = 2000;

/// Something that sends messages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Way {
    /// signal-cli: the object of the account.
    Signal {
        /// Its path on the bus.
        account: String,
    },
    /// A phone behind KDE Connect.
    Phone {
        /// Its id there.
        device: String,
        /// As the person calls it.
        name: String,
    },
}

impl Way {
    /// How a message goes: "by Signal".
    pub fn spoken(&self) -> String {
        match self {
            Way::Signal { .. } => "by Signal".to_owned(),
            Way::Phone { name, .. } => format!("as a text message with {}", plain::one_line(name, 40)),
        }
    }

    /// What is known of a message that went this way. Signal's service has given it to the server when it answers; KDE
    /// Connect only has it then. A phone chooses its own name, so it is not in what is taken to be our words.
    pub fn sent(&self, to: &Recipient) -> String {
        match self {
            Way::Signal { .. } => format!("I sent the message to {} by Signal.", to.name),
            Way::Phone { .. } => format!(
                "I gave KDE Connect the message to {}, for your phone to send.",
                to.name
            ),
        }
    }
}

/// Whom a message goes to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recipient {
    /// From the contacts; the number itself for one that is in none.
    pub name: String,
    /// Digits, with a plus where the country is in it.
    pub number: String,
}

impl Recipient {
    /// "Anna Berg, +49 171 2345678".
    pub fn spoken(&self) -> String {
        match self.name == self.number {
            true => self.number.clone(),
            false => format!("{}, {}", self.name, self.number),
        }
    }
}

/// A message that came or went.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// The number of the other side; several in a group.
    pub numbers: Vec<String>,
    /// What it says, its lines kept.
    pub text: String,
    /// When.
    pub at: Timestamp,
    /// From whom, and whether it got there.
    pub going: Going,
    /// Whether nobody had read it when the phone first spoke of it.
    pub unread: bool,
    /// What comes with it, each in a word: "picture".
    pub attached: Vec<&'static str>,
}

/// Which way a message went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Going {
    /// To the person.
    In,
    /// From the person.
    Out,
    /// From the person, and the phone could not send it.
    Failed,
}

impl Message {
    /// What it says, in one line of at most so many characters; what only shows is named.
    pub fn spoken(&self, most: usize) -> String {
        let text = plain::one_line(&self.text, most);
        let attached: Vec<String> = self.attached.iter().map(|what| format!("a {what}")).collect();
        match (text.is_empty(), &attached[..]) {
            (_, []) => text,
            (true, some) => format!("({})", plain::listed(some, "and")),
            (false, some) => format!("{text} (with {})", plain::listed(some, "and")),
        }
    }
}

/// The ways that are there now, Signal first. What is asked for by name is the only one. `signal` is the number of the account
/// there that sends; empty where the config names none.
///
/// # Errors
/// `Tell` when there is none, and when Signal has several accounts and nobody says which.
pub async fn ways(desk: &Desk, signal: &str, wanted: Option<Service>) -> Result<(Bus, Vec<Way>), ToolError> {
    let bus = open(desk).await?;
    let mut ways = Vec::new();
    if wanted != Some(Service::Sms) {
        ways.extend(signal::account(&bus, signal).await?);
    }
    if wanted != Some(Service::Signal) {
        // With Signal there is a way already, so no phone is waited for.
        match phone::devices(&bus, ways.is_empty()).await {
            Ok(phones) => ways.extend(phones),
            Err(missing) if ways.is_empty() => return Err(nothing(missing, wanted)),
            Err(_) => {}
        }
    }
    match ways.is_empty() {
        false => Ok((bus, ways)),
        true => Err(ToolError::tell(
            "Signal is not reachable from here: it needs signal-cli running as a service.",
        )),
    }
}

async fn open(desk: &Desk) -> Result<Bus, ToolError> {
    Bus::open(desk, On::Session)
        .await
        .map_err(|trouble| match trouble {
            Trouble::Silent => ToolError::tell("The desktop session does not answer."),
            _ => ToolError::tell("I cannot reach a desktop session, and messages go through it."),
        })
}

/// What the person hears where there is neither Signal nor a phone.
fn nothing(missing: Missing, wanted: Option<Service>) -> ToolError {
    match (missing, wanted) {
        (Missing::Phone, None) => ToolError::tell(
            "Nothing here sends messages. I can use signal-cli as a service, or a phone that is paired with KDE Connect.",
        ),
        (missing, _) => missing.tell(),
    }
}

/// Which service was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
#[expect(
    missing_docs,
    reason = "the names say it; a doc comment would change the schema's shape"
)]
pub enum Service {
    Signal,
    Sms,
}

/// The contact or number that a message is for.
///
/// # Errors
/// `Tell`: nobody of that name, several, no number, or several numbers of which none is a mobile one.
pub fn recipient(dirs: &Dirs, said: &str) -> Result<Recipient, ToolError> {
    let said = plain::one_line(said, 80);
    if said.is_empty() {
        return Err(ToolError::tell("Who shall get the message?"));
    }
    let book = contacts::read(&dirs.contacts)?;
    if let Ok(number) = contacts::spoken_phone(&said) {
        let (_, found) = contacts::find(&book, &said, &[]);
        let number = dialled(&number);
        return Ok(match &found[..] {
            [one] => Recipient {
                name: plain::one_line(&one.name, 80),
                number,
            },
            // The person said the number, so it is theirs to choose.
            _ => Recipient {
                name: number.clone(),
                number,
            },
        });
    }
    // What is remembered only helps; a memory that cannot be read must not hide the contacts.
    let facts = memory::list(&dirs.memory).unwrap_or_default();
    let contact = contacts::one(&book, &said, &facts)?;
    number_of(&contact)
}

fn number_of(contact: &Contact) -> Result<Recipient, ToolError> {
    let name = plain::one_line(&contact.name, 80);
    let mobile: Vec<_> = contact
        .phones
        .iter()
        .filter(|phone| {
            phone.label.eq_ignore_ascii_case("mobile") || phone.label.eq_ignore_ascii_case("cell")
        })
        .collect();
    let number = match (&mobile[..], &contact.phones[..]) {
        ([one], _) => &one.value,
        (_, []) => {
            return Err(ToolError::tell(format!(
                "{name} has no phone number in your contacts."
            )));
        }
        (_, [one]) => &one.value,
        (_, several) => {
            let numbers: Vec<String> = several
                .iter()
                .take(5)
                .map(|phone| plain::one_line(&phone.value, 30))
                .collect();
            return Err(ToolError::tell(format!(
                "{name} has several numbers: {}. Which one? Say the number.",
                plain::listed(&numbers, "and")
            )));
        }
    };
    Ok(Recipient {
        name,
        number: dialled(number),
    })
}

/// A number without anything but its digits, and a plus for the country.
fn dialled(number: &str) -> String {
    let digits: String = number.chars().filter(char::is_ascii_digit).collect();
    match number.trim_start().strip_prefix('+') {
        Some(_) => format!("+{digits}"),
        None => match digits.strip_prefix("00") {
            Some(rest) => format!("+{rest}"),
            None => digits,
        },
    }
}

/// A text that can be sent.
///
/// # Errors
/// `Tell` for an empty one, and one that is too long.
pub fn text(said: &str) -> Result<String, ToolError> {
    let text = plain::lines(said).trim().to_owned();
    match text.chars().count() {
        0 => Err(ToolError::tell("What shall the message say?")),
        length if length > MAX_TEXT => Err(ToolError::tell(format!(
            "That is too long for a message: at most {MAX_TEXT} characters."
        ))),
        _ => Ok(text),
    }
}

/// The way that one message takes.
///
/// # Errors
/// `Tell` when there is none; `TellOthers`, which names phones, when several could send it.
pub async fn way(ctx: &Ctx, wanted: Option<Service>, to: &Recipient) -> Result<(Bus, Way), ToolError> {
    let (bus, ways) = ways(&ctx.desk, &ctx.reach.signal, wanted).await?;
    let abroad = to.number.starts_with('+');
    // Signal knows people by their number with the country only.
    let fits = |way: &&Way| abroad || !matches!(way, Way::Signal { .. });
    let usable: Vec<&Way> = ways.iter().filter(fits).collect();
    let phones: Vec<&Way> = usable
        .iter()
        .copied()
        .filter(|way| matches!(way, Way::Phone { .. }))
        .collect();
    match usable.first() {
        None => Err(ToolError::tell(format!(
            "Signal needs the number of {} with its country code, as in +49 171 2345678.",
            to.name
        ))),
        Some(way @ Way::Signal { .. }) => Ok((bus, (*way).clone())),
        Some(_) if phones.len() > 1 => {
            let names: Vec<String> = phones.iter().map(|way| way.spoken()).collect();
            Err(ToolError::TellOthers(format!(
                "Several phones are connected: {}. Disconnect all but one.",
                plain::listed(&names, "and")
            )))
        }
        Some(way) => Ok((bus, (*way).clone())),
    }
}

/// Sends one message.
///
/// # Errors
/// `Tell` with what the service says.
pub async fn send(bus: &Bus, way: &Way, to: &Recipient, text: &str) -> Result<(), ToolError> {
    let (service, sent) = match way {
        Way::Signal { account } => (signal::CALLED, signal::send(bus, account, &to.number, text).await),
        Way::Phone { device, .. } => (phone::CALLED, phone::send(bus, device, &to.number, text).await),
    };
    sent.map_err(|trouble| {
        // It may have gone out; saying that it did not would make the person send it twice.
        let unsure = matches!(trouble, Trouble::Silent | Trouble::Gone | Trouble::Garbage);
        let told = |why: String| match unsure {
            true => format!("I do not know whether the message to {} was sent. {why}", to.name),
            false => format!("The message to {} was not sent. {why}", to.name),
        };
        match (trouble, way) {
            // Its object goes with the phone, which was there when the person was asked.
            (Trouble::Unknown | Trouble::Absent, Way::Phone { name, .. }) => ToolError::TellOthers(told(
                format!("{} is not connected any more.", plain::one_line(name, 40)),
            )),
            (trouble, _) => match trouble.tell(service) {
                ToolError::TellOthers(why) => ToolError::TellOthers(told(why)),
                error => ToolError::Tell(told(error.to_string())),
            },
        }
    })
}

/// What phones know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recent {
    /// The newest message of each conversation, newest first.
    pub messages: Vec<Message>,
    /// Phones that did not answer now, of which only what they told before is here.
    pub silent: Vec<String>,
    /// Whether one was still telling when its time was over.
    pub cut: bool,
}

/// The newest message of each conversation that a phone knows, newest first.
///
/// # Errors
/// `Tell` when no phone is there (signal-cli keeps no messages that could be read later), and when it shows none.
pub async fn recent(desk: &Desk) -> Result<Recent, ToolError> {
    let bus = open(desk).await?;
    let phones = match phone::devices(&bus, true).await {
        Ok(phones) => phones,
        Err(Missing::Phone) if signal::is_there(&bus).await => {
            return Err(ToolError::tell(
                "Signal gives me no messages that came before. I can send one, or open the chat.",
            ));
        }
        Err(missing) => return Err(nothing(missing, None)),
    };
    // Together, because each may take most of the time that there is for all.
    let asked = phones.iter().filter_map(|way| match way {
        Way::Phone { device, name } => Some((plain::one_line(name, 40), device)),
        Way::Signal { .. } => None,
    });
    let bus = &bus;
    let told =
        join_all(asked.map(async |(name, device)| (name, phone::conversations(bus, device).await))).await;
    let (mut messages, mut silent, mut troubles, mut cut) = (Vec::new(), Vec::new(), Vec::new(), false);
    for (name, told) in told {
        match told {
            Ok((more, heard)) => {
                messages.extend(more);
                cut |= heard == Heard::Cut;
                if heard == Heard::Nothing {
                    silent.push(name);
                }
            }
            Err(trouble) => troubles.push((name, trouble)),
        }
    }
    if messages.is_empty() {
        match troubles.into_iter().next() {
            Some((name, Trouble::Unknown | Trouble::Absent)) => {
                return Err(ToolError::TellOthers(format!(
                    "{name} is not connected any more."
                )));
            }
            Some((_, trouble)) => return Err(trouble.tell(phone::CALLED)),
            // A phone without messages and one that may not read them look the same from here.
            None if !silent.is_empty() => {
                return Err(ToolError::TellOthers(format!(
                    "{} shows me no messages. If there are some, KDE Connect's app there must be allowed to read them.",
                    plain::listed(&silent, "and")
                )));
            }
            None => {}
        }
    } else {
        silent.extend(troubles.into_iter().map(|(name, _)| name));
    }
    messages.sort_by_key(|message| std::cmp::Reverse(message.at));
    Ok(Recent {
        messages,
        silent,
        cut,
    })
}

/// Who a number belongs to, as the contacts say; else the number.
pub fn called(book: &contacts::Book, number: &str) -> String {
    let (_, found) = contacts::find(book, number, &[]);
    match &found[..] {
        [one, ..] => plain::one_line(&one.name, 80),
        [] => plain::one_line(number, 40),
    }
}

/// Whether a message is from or to somebody, by name as heard or by number.
pub fn is_with(message: &Message, book: &contacts::Book, ear: &Ear, said: &str) -> bool {
    // A number is nobody's name: 0301 sounds much like 0309.
    if let Ok(said) = contacts::spoken_phone(said) {
        let is_it =
            |number: &String| contacts::same_number(&contacts::digits(number), &contacts::digits(&said));
        return message.numbers.iter().any(is_it);
    }
    let mut names = message.numbers.iter().map(|number| called(book, number));
    names.any(|name| ear.likeness(&name) >= super::heard::HEARD)
}

/// The address that opens a chat in the program for it: Signal's own where that is installed, else that of text messages.
///
/// # Errors
/// `Tell` where nothing here shows chats.
pub fn chat(ctx: &Ctx, to: &Recipient) -> Result<String, ToolError> {
    let apps = super::apps::installed(&super::apps::here(&ctx.dirs.applications));
    let has = |words: &[&str]| {
        apps.iter().any(|app| {
            let name = app.name.to_lowercase();
            words.iter().any(|word| name.contains(word))
        })
    };
    let abroad = to.number.starts_with('+');
    if abroad && has(&["signal"]) {
        return Ok(format!("sgnl://signal.me/#p/{}", to.number));
    }
    if has(&["kde connect", "chatty", "messages", "text messages", "sms"]) {
        return Ok(format!("sms:{}", to.number));
    }
    Err(ToolError::tell(
        "No program for chats is installed here. I know Signal, KDE Connect and Chatty.",
    ))
}

#[cfg(test)]
pub(crate) mod tests;
