//! Writing mail: who it goes to, what it says, and handing it over. Nothing here talks to a server: a draft is a file in
//! the Maildir, and what is confirmed goes to the outbox.

use std::path::PathBuf;

use jiff::Zoned;
use mail_builder::{
    MessageBuilder,
    headers::{address::Address, content_type::ContentType, date::Date, message_id::MessageId},
    mime::MimePart,
};

use super::{
    folders::{self, Role},
    index::Entry,
    message::{Attachment, Head, Letter, MAX_TEXT, Person, contents, topic},
    outbox::{self, MAX_RECIPIENTS, Outbox, Outgoing, Ticket},
};
use crate::{
    contract::{Ctx, ToolError},
    system::{
        contacts::{self, Book, Contact},
        memory, plain, speech,
    },
};

/// Longest text that is written, in characters.
const MAX_WRITTEN: usize = 20_000;
/// Longest subject that is written, in characters.
const MAX_SUBJECT: usize = 200;
/// Most of an old mail that is quoted or passed on, in characters.
const MAX_QUOTED: usize = 100_000;
/// Most bytes of attachments that are passed on; base64 makes a third more of them.
const MAX_ATTACHED: usize = 20 << 20;
/// Earlier mails that a conversation's header names (RFC 5322, 3.6.4: the first and the last ones).
const MAX_REFERENCES: usize = 20;

/// Who a mail is from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sender {
    /// The account that sends it; empty where there is none.
    pub account: String,
    /// The person; both parts may be empty.
    pub person: Person,
    /// The Maildir that its drafts are kept in.
    pub maildir: PathBuf,
    /// Whether it can send.
    pub sends: bool,
}

/// A mail that is written.
#[derive(Debug, Clone)]
pub struct Draft {
    /// Who writes.
    pub from: Sender,
    /// To whom.
    pub to: Vec<Person>,
    /// Who gets a copy.
    pub cc: Vec<Person>,
    /// May be empty.
    pub subject: String,
    /// What the person said.
    pub text: String,
    /// What stands below it: the old mail.
    below: String,
    /// Message-IDs of the conversation, the mail that is answered or passed on last.
    references: Vec<String>,
    /// Whether it answers the last of them.
    answers: bool,
    /// Files of a mail that is passed on.
    attachments: Vec<(Attachment, Vec<u8>)>,
}

/// The account that somebody named, else the first one that sends. Without accounts it is the person's own card, which
/// does for a draft.
///
/// # Errors
/// `Tell` when there is no account of that name.
pub fn sender(ctx: &Ctx, account: Option<&str>) -> Result<Sender, ToolError> {
    let all = &ctx.mail.accounts;
    let said = account.map(|name| plain::one_line(name, 60).to_lowercase());
    let found = match said.as_deref().filter(|said| !said.is_empty()) {
        None => all.first(),
        Some(said) => {
            let named = all.iter().find(|account| {
                said.contains(&account.name.to_lowercase()) || account.address.eq_ignore_ascii_case(said)
            });
            if named.is_none() {
                let names: Vec<String> = all.iter().map(|account| account.name.clone()).collect();
                return Err(ToolError::tell(match names.is_empty() {
                    true => no_account(),
                    false => format!(
                        "There is no mail account called \"{said}\". There is {}.",
                        plain::listed(&names, "and")
                    ),
                }));
            }
            named
        }
    };
    Ok(match found {
        Some(account) => of_account(account),
        None => {
            let book = contacts::read(&ctx.dirs.contacts).unwrap_or_default();
            let own = book.contacts.iter().find(|contact| contact.own);
            Sender {
                account: String::new(),
                person: own
                    .map(|own| Person {
                        name: own.name.clone(),
                        address: own
                            .mails
                            .first()
                            .map(|mail| mail.value.clone())
                            .unwrap_or_default(),
                    })
                    .unwrap_or_default(),
                maildir: ctx.dirs.mail.clone(),
                sends: false,
            }
        }
    })
}

/// The account that a mail came to: the one whose Maildir it is in, else the one that it was addressed to.
///
/// # Errors
/// As [`sender`].
pub fn sender_of(ctx: &Ctx, entry: &Entry, letter: &Letter) -> Result<Sender, ToolError> {
    let all = &ctx.mail.accounts;
    let got = |address: &str| {
        let mut people = letter
            .head
            .to
            .iter()
            .chain(&letter.head.cc)
            .chain([&letter.head.from]);
        people.any(|person| person.address.eq_ignore_ascii_case(address))
    };
    let sends = || all.iter().filter(|account| account.sends);
    let here = |account: &&crate::MailAccount| account.maildir == entry.folder.root;
    let addressed = |account: &&crate::MailAccount| got(&account.address);
    // Accounts whose mail another program fetches may share the person's own Maildir.
    let both = sends().filter(here).find(addressed);
    match both
        .or_else(|| sends().find(here))
        .or_else(|| sends().find(addressed))
    {
        Some(account) => Ok(of_account(account)),
        None => sender(ctx, None),
    }
}

fn of_account(account: &crate::MailAccount) -> Sender {
    Sender {
        account: account.name.clone(),
        person: Person {
            name: account.sender.clone(),
            address: account.address.clone(),
        },
        maildir: account.maildir.clone(),
        sends: account.sends,
    }
}

fn no_account() -> String {
    "No mail account is set up, so I cannot send mail. Add one to the config as [[accounts.mail]].".to_owned()
}

/// The people that a mail shall go to: contacts by name as heard, or addresses as they were said. Nobody is guessed.
///
/// # Errors
/// `Tell`: nobody of that name, several, one without an address or with several; it asks for what is missing.
pub fn recipients(ctx: &Ctx, said: &[String]) -> Result<Vec<Person>, ToolError> {
    let book = contacts::read(&ctx.dirs.contacts)?;
    let facts = memory::list(&ctx.dirs.memory).unwrap_or_default();
    let mut people: Vec<Person> = Vec::new();
    for said in said.iter().take(MAX_RECIPIENTS + 1) {
        let said = plain::one_line(said, 200);
        if said.is_empty() {
            continue;
        }
        let person = match spelled(&said)? {
            Some(address) => known(&book, &address),
            None if matches!(said.to_lowercase().as_str(), "me" | "myself") => own(ctx)?,
            None => by_name(&book, &said, &facts)?,
        };
        if !people
            .iter()
            .any(|known| known.address.eq_ignore_ascii_case(&person.address))
        {
            people.push(person);
        }
    }
    if people.len() > MAX_RECIPIENTS {
        return Err(ToolError::tell(format!(
            "A mail goes to at most {MAX_RECIPIENTS} people."
        )));
    }
    Ok(people)
}

/// An address that was written or spelled; nothing for what is a name.
fn spelled(said: &str) -> Result<Option<String>, ToolError> {
    let lower = format!(" {} ", said.to_lowercase());
    // "anna at example dot org"; "Anna at work" is a name.
    let spelled = lower.contains(" at ") && lower.contains(" dot ");
    if !said.contains('@') && !spelled {
        return Ok(None);
    }
    // A model may write it as headers do: `Anna Bell <anna@example.org>`.
    let bare = match (said.rfind('<'), said.rfind('>')) {
        (Some(open), Some(close)) if open < close => &said[open + 1..close],
        _ => said,
    };
    let address = contacts::spoken_mail(bare).map_err(ToolError::tell)?;
    match outbox::is_address(&address) {
        true => Ok(Some(address)),
        false => Err(ToolError::tell(format!("\"{said}\" is no mail address."))),
    }
}

/// An address with the name that contacts know for it.
fn known(book: &Book, address: &str) -> Person {
    let has = |contact: &Contact| {
        contact
            .mails
            .iter()
            .any(|mail| mail.value.eq_ignore_ascii_case(address))
    };
    let contact = book.contacts.iter().find(|contact| has(contact));
    Person {
        name: contact.map(|contact| contact.name.clone()).unwrap_or_default(),
        address: address.to_owned(),
    }
}

fn own(ctx: &Ctx) -> Result<Person, ToolError> {
    let own = sender(ctx, None)?.person;
    match own.address.is_empty() {
        true => Err(ToolError::tell("I do not know your own mail address. Say it.")),
        false => Ok(own),
    }
}

fn by_name(book: &Book, said: &str, facts: &[memory::Fact]) -> Result<Person, ToolError> {
    let (name, label) = labelled(said);
    let (asked, found) = contacts::find(book, name, facts);
    let contact = match &found[..] {
        [one] => one,
        [] => {
            return Err(ToolError::tell(format!(
                "{} Say the address, as in anna at example dot org.",
                contacts::nobody(&asked, name)
            )));
        }
        several => return Err(ToolError::tell(contacts::which(several))),
    };
    let mails: Vec<_> = contact
        .mails
        .iter()
        .filter(|mail| label.is_none_or(|label| mail.label == label))
        .filter(|mail| outbox::is_address(&mail.value))
        .collect();
    match mails[..] {
        [one] => Ok(Person {
            name: contact.name.clone(),
            address: one.value.clone(),
        }),
        [] if label.is_some() && !contact.mails.is_empty() => Err(ToolError::tell(format!(
            "{} has no such mail address. Say which: {}.",
            contact.name,
            plain::listed(&addresses(contact), "or")
        ))),
        [] => Err(ToolError::tell(format!(
            "{} has no mail address in your contacts. Say it, as in anna at example dot org.",
            contact.name
        ))),
        _ => Err(ToolError::tell(format!(
            "Which address of {}: {}?",
            contact.name,
            plain::listed(&addresses(contact), "or")
        ))),
    }
}

fn addresses(contact: &Contact) -> Vec<String> {
    let shown = |mail: &contacts::Labelled| match mail.label {
        "" => mail.value.clone(),
        label => format!("{label} {}", mail.value),
    };
    contact.mails.iter().map(shown).collect()
}

/// "Anna at work", "Anna's home address": the name, and which of her addresses is meant.
fn labelled(said: &str) -> (&str, Option<&'static str>) {
    let mut name = said.trim();
    for word in [
        " email",
        " mail",
        " e-mail",
        " address",
        " email address",
        " mail address",
    ] {
        name = strip(name, word).unwrap_or(name);
    }
    for (word, label) in [
        (" work", "work"),
        (" office", "work"),
        (" home", "home"),
        (" private", "home"),
    ] {
        if let Some(rest) = strip(name, word) {
            let rest = strip(rest, " at")
                .or_else(|| strip(rest, " at the"))
                .unwrap_or(rest);
            let rest = rest.strip_suffix("'s").unwrap_or(rest);
            if !rest.is_empty() {
                return (rest, Some(label));
            }
        }
    }
    (said, None)
}

/// Without an ending, in whatever letters.
fn strip<'a>(text: &'a str, end: &str) -> Option<&'a str> {
    let at = text
        .len()
        .checked_sub(end.len())
        .filter(|at| text.is_char_boundary(*at))?;
    text[at..]
        .eq_ignore_ascii_case(end)
        .then(|| text[..at].trim_end())
}

/// What a mail shall say, as the person said it.
///
/// # Errors
/// `Tell` when there is nothing, or too much.
pub fn words(text: &str) -> Result<String, ToolError> {
    let text = plain::lines(text.trim());
    match text.chars().count() {
        0 => Err(ToolError::tell("What shall the mail say?")),
        n if n > MAX_WRITTEN => Err(ToolError::tell(format!(
            "That is too long for a mail from me: at most {MAX_WRITTEN} characters."
        ))),
        _ => Ok(speech::sentence(&text)),
    }
}

impl Draft {
    /// A new mail.
    pub fn new(from: Sender, to: Vec<Person>, cc: Vec<Person>, subject: &str, text: String) -> Draft {
        let cc = cc
            .into_iter()
            .filter(|copy| !to.iter().any(|p| p.address.eq_ignore_ascii_case(&copy.address)));
        Draft {
            cc: cc.collect(),
            subject: speech::sentence(&plain::one_line(subject, MAX_SUBJECT)),
            from,
            to,
            text,
            below: String::new(),
            references: Vec::new(),
            answers: false,
            attachments: Vec::new(),
        }
    }

    /// "Anna Bell (anna@example.org) and bob@example.org".
    pub fn readers(&self) -> String {
        let shown = |person: &Person| match person.name.as_str() {
            "" => person.address.clone(),
            name => format!("{name} ({})", person.address),
        };
        let mut text = plain::listed(&self.to.iter().map(shown).collect::<Vec<_>>(), "and");
        if !self.cc.is_empty() {
            let copies = plain::listed(&self.cc.iter().map(shown).collect::<Vec<_>>(), "and");
            text.push_str(&format!(", with a copy to {copies}"));
        }
        text
    }

    /// "Anna Bell and one other".
    pub fn readers_briefly(&self) -> String {
        let first = self.to.first().map_or("nobody", Person::shown).to_owned();
        match self.to.len() + self.cc.len() {
            0 | 1 => first,
            n => format!("{first} and {}", speech::count(n - 1, "other", "others")),
        }
    }

    /// " from your account work": said where there are several, so that nobody writes from the wrong one.
    pub fn by(&self, ctx: &Ctx) -> String {
        match ctx.mail.accounts.len() {
            0 | 1 => String::new(),
            _ => format!(" from your account {}", self.from.account),
        }
    }

    /// "about Lunch", "without a subject".
    pub fn about(&self) -> String {
        match self.subject.as_str() {
            "" => "without a subject".to_owned(),
            subject => format!("about {}", plain::one_line(subject, MAX_TEXT)),
        }
    }

    /// The whole message.
    ///
    /// # Errors
    /// `Broken` when it cannot be built.
    pub fn message(&self, now: &Zoned) -> Result<Vec<u8>, ToolError> {
        let host = self
            .from
            .person
            .address
            .rsplit_once('@')
            .map_or("localhost", |(_, host)| host);
        let list = |people: &[Person]| -> Address<'static> {
            Address::new_list(people.iter().map(address).collect())
        };
        let mut message = MessageBuilder::new()
            .message_id(format!("{}@{host}", folders::unique()))
            .date(Date::new(now.timestamp().as_second()))
            .subject(self.subject.clone());
        if !self.from.person.address.is_empty() {
            message = message.from(address(&self.from.person));
        }
        if !self.to.is_empty() {
            message = message.to(list(&self.to));
        }
        if !self.cc.is_empty() {
            message = message.cc(list(&self.cc));
        }
        if let Some(last) = self.references.last() {
            message = message.references(MessageId::new_list(self.references.iter().cloned()));
            if self.answers {
                message = message.in_reply_to(last.clone());
            }
        }
        let text = match self.below.is_empty() {
            true => format!("{}\n", self.text),
            false => format!("{}\n\n{}\n", self.text, self.below)
                .trim_start()
                .to_owned(),
        };
        let text = text.replace('\n', "\r\n");
        if self.attachments.is_empty() {
            message = message.text_body(text);
        } else {
            let mut parts = vec![MimePart::new("text/plain", text)];
            parts.extend(self.attachments.iter().map(attached));
            message = message.body(MimePart::new("multipart/mixed", parts));
        }
        message
            .write_to_vec()
            .map_err(|e| ToolError::broken("write the mail", e))
    }

    /// How many files go with it.
    pub fn files(&self) -> usize {
        self.attachments.len()
    }
}

fn address(person: &Person) -> Address<'static> {
    let name = (!person.name.is_empty()).then(|| person.name.clone());
    Address::new_address(name, person.address.clone())
}

fn attached((file, bytes): &(Attachment, Vec<u8>)) -> MimePart<'static> {
    let nested = file.kind == "message/rfc822";
    let (kind, raw) = match nested {
        // A message in a message may not be encoded (RFC 2046, 5.2.1); one that would have to be goes as a file.
        true if bytes.is_ascii() => (ContentType::new("message/rfc822"), true),
        true => (ContentType::new("application/octet-stream"), false),
        false if file.kind.starts_with("text/") => (
            ContentType::new(file.kind.clone()).attribute("charset", "utf-8"),
            false,
        ),
        // The parts of what holds parts are gone, so it is a file like any other.
        false if file.kind.starts_with("multipart/") => (ContentType::new("application/octet-stream"), false),
        false => (ContentType::new(file.kind.clone()), false),
    };
    let mut bytes = bytes.clone();
    let part = if raw {
        bytes.extend_from_slice(b"\r\n");
        MimePart::new(kind, bytes).transfer_encoding("7bit")
    } else {
        MimePart::new(kind, bytes)
    };
    part.attachment(file.name.clone())
}

/// An answer to a mail; to everybody who got it where `all` is set.
///
/// # Errors
/// `Tell` when there is nobody to answer to.
pub fn reply(ctx: &Ctx, entry: &Entry, letter: &Letter, text: String, all: bool) -> Result<Draft, ToolError> {
    let from = sender_of(ctx, entry, letter)?;
    let head = &letter.head;
    let mine = |person: &Person| {
        let own = |address: &str| person.address.eq_ignore_ascii_case(address);
        own(&from.person.address) || ctx.mail.accounts.iter().any(|account| own(&account.address))
    };
    // Who answers to what they wrote themselves goes on writing to the same people.
    let first: &[Person] = match (mine(&head.from), head.reply_to.is_empty()) {
        (true, _) => &head.to,
        (false, false) => &head.reply_to,
        (false, true) => std::slice::from_ref(&head.from),
    };
    let sound = |person: &&Person| outbox::is_address(&person.address);
    let mut to: Vec<Person> = first.iter().filter(sound).cloned().collect();
    if to.is_empty() {
        return Err(ToolError::tell(
            "That mail does not say where an answer would go.",
        ));
    }
    let mut cc: Vec<Person> = Vec::new();
    if all {
        let others = head.to.iter().chain(&head.cc).filter(sound);
        let new =
            others.filter(|p| !mine(p) && !to.iter().any(|t| t.address.eq_ignore_ascii_case(&p.address)));
        for person in new.take(MAX_RECIPIENTS) {
            if !cc
                .iter()
                .any(|known| known.address.eq_ignore_ascii_case(&person.address))
            {
                cc.push(person.clone());
            }
        }
    }
    to.truncate(MAX_RECIPIENTS.saturating_sub(cc.len()).max(1));
    let mut draft = Draft::new(from, to, cc, "", text);
    draft.subject = with_mark("Re", &head.subject);
    draft.below = quoted(letter, &ctx.now);
    draft.references = conversation(head);
    draft.answers = true;
    Ok(draft)
}

/// What belongs to the conversation of a mail, itself last.
fn conversation(head: &Head) -> Vec<String> {
    let mut all = head.references.clone();
    if !head.message_id.is_empty() {
        all.retain(|id| *id != head.message_id);
        all.push(head.message_id.clone());
    }
    if all.len() > MAX_REFERENCES {
        all.drain(1..=all.len() - MAX_REFERENCES);
    }
    all
}

/// A mail passed on with its files.
///
/// # Errors
/// `Tell` when its files are too large, or it cannot be read.
pub fn forward(
    ctx: &Ctx,
    entry: &Entry,
    letter: &Letter,
    to: Vec<Person>,
    text: String,
) -> Result<Draft, ToolError> {
    let files = contents(&entry.bytes()?)
        .map_err(|why| ToolError::tell(format!("I cannot pass that mail on. {why}")))?;
    let bytes: usize = files.iter().map(|(_, bytes)| bytes.len()).sum();
    if bytes > MAX_ATTACHED {
        return Err(ToolError::tell(format!(
            "The files of that mail are too large to be passed on: at most {} megabytes are possible.",
            MAX_ATTACHED >> 20
        )));
    }
    if letter.encrypted {
        return Err(ToolError::tell("That mail is encrypted, so I cannot pass it on."));
    }
    let mut draft = Draft::new(sender_of(ctx, entry, letter)?, to, Vec::new(), "", text);
    let head = &letter.head;
    draft.subject = with_mark("Fwd", &head.subject);
    let people = |people: &[Person]| plain::listed(&people.iter().map(full).collect::<Vec<_>>(), "and");
    let mut lines = vec![
        "---------- Forwarded message ----------".to_owned(),
        format!("From: {}", full(&head.from)),
        format!("Date: {}", date(letter, &ctx.now)),
        format!("Subject: {}", head.subject),
    ];
    if !head.to.is_empty() {
        lines.push(format!("To: {}", people(&head.to)));
    }
    lines.push(String::new());
    lines.push(super::cut(&letter.text, MAX_QUOTED).trim_end().to_owned());
    draft.below = lines.join("\n");
    draft.attachments = files;
    // It stays in the conversation of those who have that, and is no answer.
    draft.references = conversation(head);
    Ok(draft)
}

fn full(person: &Person) -> String {
    match (person.name.as_str(), person.address.as_str()) {
        ("", address) => address.to_owned(),
        (name, "") => name.to_owned(),
        (name, address) => format!("{name} <{address}>"),
    }
}

fn date(letter: &Letter, now: &Zoned) -> String {
    let at = letter.head.date.to_zoned(now.time_zone().clone());
    at.strftime("%A, %-d %B %Y at %H:%M").to_string()
}

/// The subject with its mark, never twice.
fn with_mark(mark: &str, subject: &str) -> String {
    let bare = topic(subject);
    // The topic is lower-cased; what was written ends with as many characters.
    let kept = subject.chars().count().saturating_sub(bare.chars().count());
    let rest: String = subject.chars().skip(kept).collect();
    format!("{mark}: {}", rest.trim()).trim_end().to_owned()
}

fn quoted(letter: &Letter, now: &Zoned) -> String {
    let text = super::cut(&letter.text, MAX_QUOTED);
    let lines: Vec<String> = text
        .trim_end()
        .lines()
        .map(|line| match line.starts_with('>') {
            true => format!(">{line}"),
            false => format!("> {line}").trim_end().to_owned(),
        })
        .collect();
    format!(
        "On {}, {} wrote:\n{}",
        date(letter, now),
        letter.head.from.shown(),
        lines.join("\n")
    )
}

/// Saves a mail among the drafts.
///
/// # Errors
/// When the folder takes no files.
pub fn draft(ctx: &Ctx, draft: &Draft) -> Result<(), ToolError> {
    const WHAT: &str = "save the draft";
    let message = draft.message(&ctx.now)?;
    let all = folders::folders(&ctx.dirs.mail).unwrap_or_default();
    let inbox = folders::default_of(&draft.from.maildir, &draft.from.account, Role::Inbox);
    let folder = folders::make(&all, &inbox, Role::Drafts).map_err(|e| e.tool(WHAT))?;
    let path = folder
        .path
        .join("cur")
        .join(format!("{}:2,DS", folders::unique()));
    // Files in a Maildir have the line ends of this system.
    let message = String::from_utf8_lossy(&message).replace("\r\n", "\n");
    ctx.step
        .create(&path, message.as_bytes())
        .map_err(|e| e.tool(WHAT))
}

/// Hands a mail that was confirmed to the outbox.
///
/// # Errors
/// `Tell` when no account can send; else as [`Outbox::queue`].
pub fn send(ctx: &Ctx, draft: &Draft) -> Result<Ticket, ToolError> {
    let outgoing = Outgoing {
        account: draft.from.account.clone(),
        from: draft.from.person.address.clone(),
        to: draft
            .to
            .iter()
            .chain(&draft.cc)
            .map(|person| person.address.clone())
            .collect(),
        message: draft.message(&ctx.now)?,
    };
    Outbox::at(&ctx.dirs.state).queue(&ctx.step, &outgoing, ctx.mail.recall)
}

impl Sender {
    /// This sender, if it can send.
    ///
    /// # Errors
    /// `Tell`: what is missing.
    pub fn that_sends(self) -> Result<Sender, ToolError> {
        match self.sends {
            true => Ok(self),
            false if self.account.is_empty() => Err(ToolError::tell(no_account())),
            false => Err(ToolError::tell(format!(
                "The mail account {} has no server for sending. Add smtp to it in the config.",
                self.account
            ))),
        }
    }
}

impl Draft {
    /// What is said when it was handed over.
    pub fn sent(&self, ctx: &Ctx) -> String {
        let what = format!("The mail to {} {}", self.readers_briefly(), self.about());
        let seconds = ctx.mail.recall.as_secs();
        match (ctx.daemon, seconds) {
            (false, _) => {
                format!("{what} is in the outbox. It goes out when Tiro runs; until then undo takes it back.")
            }
            (true, 0) => format!("{what} goes out now."),
            (true, n) => format!("{what} goes out in {n} seconds; say undo to take it back."),
        }
    }
}

#[cfg(test)]
mod tests;
